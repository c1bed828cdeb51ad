"""Numbers: + - * / // %, rounding, ABS, SIGN, SQRT, logarithms, EXP, POWER, in types that hold every result."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from dpsql.errors import DatabaseError, MissingBounds
from dpsql.expressions.compiler import Compiler, Typed, handles, handles_function, refuse, show
from dpsql.expressions.literals import (
    DOUBLE,
    INTEGER,
    MAX_DIGITS,
    TRUTH,
    case_when,
    cast,
    decimal_sql,
    double_sql,
    func,
    paren,
)
from dpsql.policy import ColumnType, Kind
from dpsql.valueset import (
    HUGEINT_SAFE,
    INT64,
    POINT_ZERO,
    Interval,
    Number,
    ValueSet,
    constant,
    number,
)

INT64_DIGITS = 18
"""A DECIMAL of at most so many digits is stored in 64 bits."""


def number_operands(compiler: Compiler, node: exp.Expr, *operands: exp.Expr | Typed) -> list[Typed]:
    """The operands, each a number (booleans become 0 and 1)."""
    result = []
    for operand in operands:
        typed = operand if isinstance(operand, Typed) else compiler.value(operand)
        if typed.kind is Kind.BOOLEAN:
            typed = boolean_as_integer(typed)
        if not typed.set.numeric:
            operand = node if isinstance(operand, Typed) else operand
            raise refuse(operand, f"{show(operand)} is {typed.kind.value}, where {show(node)} needs a number")
        result.append(typed)
    return result


def as_number(typed: Typed) -> Typed:
    """A boolean as 0 and 1; anything else as it is."""
    return boolean_as_integer(typed) if typed.kind is Kind.BOOLEAN else typed


def boolean_as_integer(typed: Typed) -> Typed:
    new = replace(typed.set, type=INTEGER, values=None, bounds=TRUTH, machine=TRUTH, grain=Fraction(1))
    return Typed(cast(typed.sql, "INTEGER"), new)


def digit_count(value: Number) -> int:
    return len(str(math.floor(max(value, -value))))


def decimal_width(value_set: ValueSet) -> int | None:
    """Digits of the DECIMAL(width, scale) that holds every value, None where there is none."""
    scale = value_set.type.scale or 0
    if not value_set.machine.bounded:
        return None
    width = max(digit_count(value_set.machine.magnitude) + scale, scale + 1)
    return width if width <= MAX_DIGITS else None


def _as_decimal(typed: Typed, width: int) -> exp.Expr:
    return cast(typed.sql, f"DECIMAL({width}, {typed.set.type.scale or 0})")


def as_double(typed: Typed) -> Typed:
    if typed.kind is Kind.DOUBLE:
        return typed
    return Typed(cast(typed.sql, "DOUBLE"), replace(typed.set, type=DOUBLE))


def integer_store(machine: Interval) -> str | None:
    """The DuckDB integer type that holds every integer of this range, None where there is none."""
    if machine.lower > -INT64 and machine.upper < INT64:
        return "BIGINT"
    if machine.magnitude < HUGEINT_SAFE:
        return "HUGEINT"
    return None


Operation = Callable[[Interval, Interval], Interval]


def arithmetic(
    compiler: Compiler,
    node: exp.Expr,
    operation: Operation,
    grain: Callable[[Fraction, Fraction], Fraction],
    *operands: Typed,
) -> Typed:
    """+, - or * in the type that holds the result and both operands, whatever the data."""
    left, right = number_operands(compiler, node, *(operands or (node.this, node.expression)))
    bounds = operation(left.set.bounds, right.set.bounds)
    machine = operation(left.set.machine, right.set.machine)
    step = _step(left, right, grain)
    nullable = left.set.nullable or right.set.nullable
    kinds = {left.kind, right.kind}
    if kinds == {Kind.INTEGER}:
        # an operand can be wider than the result, as in n * 2^63 * 0; its cast would fail on a large row
        store = integer_store(machine.hull(left.set.machine).hull(right.set.machine))
        if store is None:
            raise too_wide(compiler, node)
        a, b = cast(left.sql, store), cast(right.sql, store)
        return Typed(binary(node, a, b), ValueSet(INTEGER, bounds, machine, None, step, nullable))
    if Kind.DOUBLE not in kinds and (exact := _exact_decimals(node, left, right)):
        sql, scale = exact
        kind = ColumnType(Kind.DECIMAL, MAX_DIGITS, scale)
        return Typed(sql, ValueSet(kind, bounds, machine, None, step, nullable))
    left, right = as_double(left), as_double(right)
    return Typed(binary(node, left.sql, right.sql), ValueSet(DOUBLE, bounds, machine, None, step, nullable))


def _step(left: Typed, right: Typed, grain: Callable[[Fraction, Fraction], Fraction]) -> Fraction | None:
    if left.set.grain is None or right.set.grain is None:
        return None
    return grain(left.set.grain, right.set.grain)


def _exact_decimals(node: exp.Expr, left: Typed, right: Typed) -> tuple[exp.Expr, int] | None:
    """A decimal operation of two operands whose widths leave room for the exact result, with the result's scale."""
    a, b = decimal_width(left.set), decimal_width(right.set)
    s, t = left.set.type.scale or 0, right.set.type.scale or 0
    if a is None or b is None:
        return None
    product = isinstance(node, exp.Mul)
    width = a + b if product else max(a - s, b - t) + max(s, t) + 1
    if width > MAX_DIGITS:
        return None
    if width > INT64_DIGITS:
        a = max(a, INT64_DIGITS + 1)  # else DuckDB keeps a result of two narrow operands in 64 bits, and raises
    return binary(node, _as_decimal(left, a), _as_decimal(right, b)), s + t if product else max(s, t)


def binary(node: exp.Expr, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return type(node)(this=paren(left), expression=paren(right))


def too_wide(compiler: Compiler, node: exp.Expr) -> DatabaseError:
    return unbounded_error(compiler, node, f"{show(node)} could overflow")


def unbounded_error(compiler: Compiler, node: exp.Expr, what: str) -> DatabaseError:
    """A refusal that names the column without bounds and the two ways to give them."""
    for column in node.find_all(exp.Column):
        value_set = compiler.columns.get(column.name)
        if value_set and value_set.kind not in (Kind.TEXT, Kind.BOOLEAN) and not value_set.bounds.bounded:
            return _bounds_error(compiler, column, what, value_set)
    return refuse(
        node,
        f"{what}: no bounds follow from the policy for {show(node)}",
        f"clip it in the query: CLIP({show(node)}, 0, 100), {_YOUR_OWN}",
        MissingBounds,
    )


_YOUR_OWN = "for 0 and 100 the least and the greatest value that you expect"


def _bounds_error(compiler: Compiler, column: exp.Column, what: str, value_set: ValueSet) -> DatabaseError:
    table, name = compiler.origin(column.name)
    if value_set.kind in (Kind.DATE, Kind.TIMESTAMP):
        clip_hint = f"WHERE {name} BETWEEN DATE '2020-01-01' AND DATE '2029-12-31'"
    else:
        clip_hint = f"CLIP({name}, 0, 100), or WHERE {name} BETWEEN 0 AND 100, {_YOUR_OWN}"
    return refuse(
        column,
        f"{what}: column {name} of {table} has no bounds",
        f"the policy can set tables.{table}.columns.{name}.bounds, or clip in the query: {clip_hint}",
        MissingBounds,
    )


@handles(exp.Mul)
def _mul(compiler: Compiler, node: exp.Expr) -> Typed:
    return arithmetic(compiler, node, Interval.__mul__, lambda a, b: a * b)


@handles(exp.Neg, args="this")
def _neg(compiler: Compiler, node: exp.Expr) -> Typed:
    if isinstance(node.this, exp.Literal):
        typed = compiler.value(node.this)
        value = typed.set.values[0] if typed.set.values else None
        if value is None or isinstance(value, str):
            raise refuse(node, f"{show(node)} is not a number")
        flipped = constant(-value, typed.set.type)
        return Typed(exp.Paren(this=exp.Neg(this=typed.sql)), flipped)
    zero = exp.Sub(this=exp.Literal.number(0), expression=node.this.copy())
    return arithmetic(compiler, zero, Interval.__sub__, lambda a, b: b)


@handles(exp.Div, args="this expression typed safe")
def _div(compiler: Compiler, node: exp.Expr) -> Typed:
    """DuckDB's /: always DOUBLE; by zero gives an infinity or NaN, never an error."""
    if node.args.get("typed"):
        raise refuse(node, f"{show(node)} can't be typed", "cast the operands")
    left, right = (as_double(t) for t in number_operands(compiler, node, node.this, node.expression))
    bounds, machine = left.set.bounds / right.set.bounds, left.set.machine / right.set.machine
    divisor = right.set.values[0] if right.is_constant and right.set.values else None
    step = left.set.grain / abs(number(divisor)) if left.set.grain and divisor else None
    nullable = left.set.nullable or right.set.nullable or right.set.machine.contains(0)
    return Typed(binary(node, left.sql, right.sql), ValueSet(DOUBLE, bounds, machine, None, step, nullable))


def _integers(compiler: Compiler, node: exp.Expr) -> tuple[Typed, Typed]:
    left, right = number_operands(compiler, node, node.this, node.expression)
    if {left.kind, right.kind} != {Kind.INTEGER}:
        raise refuse(node, f"{show(node)} needs integers on both sides", "use FLOOR(a / b) for other numbers")
    return left, right


def _guarded(node: exp.Expr, left: Typed, right: Typed) -> exp.Expr:
    """// and % raise where the divisor is 0, and where the smallest integer meets -1: neither can happen here."""
    store = integer_store(left.set.machine.hull(right.set.machine)) or "HUGEINT"
    divisor = cast(right.sql, store)
    if right.set.machine.contains(0):
        divisor = exp.Nullif(this=divisor, expression=exp.Literal.number(0))
    return binary(node, cast(left.sql, store), divisor)


@handles(exp.IntDiv)
def _int_div(compiler: Compiler, node: exp.Expr) -> Typed:
    left, right = _integers(compiler, node)
    bounds, machine = (_whole_quotient(a, b) for a, b in _pairs(left, right))
    nullable = left.set.nullable or right.set.nullable or right.set.machine.contains(0)
    return Typed(_guarded(node, left, right), ValueSet(INTEGER, bounds, machine, None, Fraction(1), nullable))


def _whole_quotient(a: Interval, b: Interval) -> Interval:
    """Of integers, rounded towards 0. A divisor of 0 gives NULL, so every other is at least 1 from it."""
    below, above = Interval(b.lower, min(b.upper, Fraction(-1))), Interval(max(b.lower, Fraction(1)), b.upper)
    found = [(a / side).map(lambda x: Fraction(math.trunc(x))) for side in (below, above) if not side.empty]
    return functools.reduce(Interval.hull, found) if found else POINT_ZERO


def _pairs(left: Typed, right: Typed) -> tuple[tuple[Interval, Interval], tuple[Interval, Interval]]:
    return (left.set.bounds, right.set.bounds), (left.set.machine, right.set.machine)


@handles(exp.Mod)
def _mod(compiler: Compiler, node: exp.Expr) -> Typed:
    """The remainder has the dividend's sign and is smaller than the divisor."""
    left, right = _integers(compiler, node)

    def remainder(a: Interval, b: Interval) -> Interval:
        largest = min(max(b.magnitude - 1, Fraction(0)), a.magnitude)
        return Interval(-largest if a.lower < 0 else Fraction(0), largest if a.upper > 0 else Fraction(0))

    bounds, machine = (remainder(a, b) for a, b in _pairs(left, right))
    nullable = left.set.nullable or right.set.nullable or right.set.machine.contains(0)
    return Typed(_guarded(node, left, right), ValueSet(INTEGER, bounds, machine, None, Fraction(1), nullable))


@handles(exp.Abs, args="this")
def _abs(compiler: Compiler, node: exp.Expr) -> Typed:
    (inner,) = number_operands(compiler, node, node.this)

    def absolute(i: Interval) -> Interval:
        return Interval(Fraction(0) if i.contains(0) else max(i.lower, -i.upper), i.magnitude)

    new = replace(inner.set, bounds=absolute(inner.set.bounds), machine=absolute(inner.set.machine), values=None)
    sql = inner.sql
    if inner.kind is Kind.INTEGER:  # ABS of the smallest BIGINT raises
        store = integer_store(new.machine)
        if store is None:
            raise too_wide(compiler, node)
        sql = cast(sql, store)
    return Typed(func("abs", sql), new)


def round_half_away(x: Number) -> Number:
    return Fraction(math.floor(max(x, -x) + Fraction(1, 2))) * (1 if x >= 0 else -1)


def _rounded(compiler: Compiler, node: exp.Expr, name: str, rule: Callable[[Number], Number], digits: int = 0) -> Typed:
    """ROUND, FLOOR, CEIL, TRUNC on the grain 10^-digits, as DOUBLE; a decimal is rounded before it becomes one."""
    (number_,) = number_operands(compiler, node, node.this)
    if number_.kind is Kind.INTEGER and digits >= 0 and name == "round":
        return number_
    inner = as_double(number_)
    power = Fraction(10) ** digits

    def scaled(x: Number) -> Number:
        return Fraction(rule(x * power)) / power

    new = ValueSet(
        DOUBLE,
        inner.set.bounds.map(scaled),
        inner.set.machine.map(scaled),
        None,
        1 / power,
        inner.set.nullable,
    )
    rest = [decimal_sql(Fraction(digits))] if digits else []
    width = decimal_width(number_.set) if number_.kind is Kind.DECIMAL else None
    if width is None or width >= MAX_DIGITS or name == "round_even":
        return Typed(func(name, inner.sql, *rest), new)
    return Typed(cast(func(name, _as_decimal(number_, width + 1), *rest), "DOUBLE"), new)


@handles(exp.Round, args="this decimals")
def _round(compiler: Compiler, node: exp.Expr) -> Typed:
    digits = 0
    if node.args.get("decimals"):
        found = compiler.constant(node.args["decimals"])
        if found is None or not isinstance(found[0], int) or not -15 <= found[0] <= 15:
            raise refuse(node, f"the digits of {show(node)} must be a whole number from -15 to 15")
        digits = found[0]
    return _rounded(compiler, node, "round", round_half_away, digits)


@handles_function("round_even", "roundbankers")
def _round_even(compiler: Compiler, node: exp.Expr) -> Typed:
    """Halves to the even neighbour: what ROUND of a double is in PostgreSQL."""
    if len(node.expressions) != 2 or compiler.constant(node.expressions[1]) != (0, INTEGER):
        raise refuse(node, f"{show(node)} isn't supported", "write ROUND_EVEN(x, 0)")
    rounded_ = exp.Floor(this=node.expressions[0])
    typed = _rounded(compiler, rounded_, "round_even", lambda x: Fraction(round(x)))
    return Typed(func("round_even", *typed.sql.expressions, exp.Literal.number(0)), typed.set)


@handles(exp.Floor, args="this")
def _floor(compiler: Compiler, node: exp.Expr) -> Typed:
    return _rounded(compiler, node, "floor", lambda x: Fraction(math.floor(x)))


@handles(exp.Ceil, args="this")
def _ceil(compiler: Compiler, node: exp.Expr) -> Typed:
    return _rounded(compiler, node, "ceil", lambda x: Fraction(math.ceil(x)))


@handles(exp.Trunc, args="this")
def _trunc(compiler: Compiler, node: exp.Expr) -> Typed:
    return _rounded(compiler, node, "trunc", lambda x: Fraction(math.trunc(x)))


@handles(exp.Sign, args="this")
def _sign(compiler: Compiler, node: exp.Expr) -> Typed:
    (inner,) = number_operands(compiler, node, node.this)

    def sign(x: Number) -> Number:
        return Fraction((x > 0) - (x < 0))

    full = Interval(Fraction(-1), Fraction(1))
    bounds = Interval(sign(inner.set.bounds.lower), sign(inner.set.bounds.upper))
    new = ValueSet(INTEGER, bounds, full, None, Fraction(1), inner.set.nullable)
    return Typed(cast(func("sign", inner.sql), "INTEGER"), new)


def _outward(function: Callable[[float], float]) -> Callable[[Number, int], Number]:
    """A float function evaluated with its result pushed one step towards `direction`: never inside the true image."""

    def apply(x: Number, direction: int) -> Number:
        try:
            value = function(float(x))
        except (OverflowError, ValueError):
            return math.inf * direction
        stepped = math.nextafter(value, math.inf * direction)
        return stepped if math.isinf(stepped) else Fraction(stepped)

    return apply


def _monotone(
    compiler: Compiler, node: exp.Expr, name: str, function: Callable[[float], float], domain: Interval
) -> Typed:
    """SQRT, EXP and logarithms: NaN (read as NULL) outside the domain."""
    (number_,) = number_operands(compiler, node, node.this)
    inner = as_double(number_)
    image = _outward(function)

    def mapped(i: Interval) -> Interval:
        inside = i.intersect(domain)
        if inside.empty:
            return Interval()
        lower = image(inside.lower, -1) if not math.isinf(inside.lower) else _limit(name)
        upper = image(inside.upper, 1) if not math.isinf(inside.upper) else math.inf
        return Interval(lower, upper)

    inside = Interval(domain.lower, math.inf).contains(inner.set.machine.lower)
    at_end = name.startswith("l") and inner.set.machine.lower == 0  # the logarithm of 0 is no number
    nullable = inner.set.nullable or not inside or at_end
    new = ValueSet(DOUBLE, mapped(inner.set.bounds), mapped(inner.set.machine), None, None, nullable)
    guard = exp.GTE if name == "sqrt" else exp.GT
    if math.isinf(domain.lower):
        return Typed(func(name, inner.sql), new)
    condition = guard(this=inner.sql.copy(), expression=double_sql(0))
    return Typed(case_when((condition, func(name, inner.sql))), new)


def _limit(name: str) -> Number:
    return Fraction(0) if name == "exp" else -math.inf


@handles(exp.Sqrt, args="this")
def _sqrt(compiler: Compiler, node: exp.Expr) -> Typed:
    return _monotone(compiler, node, "sqrt", math.sqrt, Interval(Fraction(0), math.inf))


@handles(exp.Ln, args="this")
def _ln(compiler: Compiler, node: exp.Expr) -> Typed:
    return _monotone(compiler, node, "ln", math.log, Interval(Fraction(0), math.inf))


@handles(exp.Log, args="this expression")
def _log(compiler: Compiler, node: exp.Expr) -> Typed:
    """LOG(x) and LOG10(x), LOG2(x), and LOG(b, x), which DuckDB computes as LOG10(x) / LOG10(b)."""
    x = node.args.get("expression")
    base = (10, None) if x is None else compiler.constant(node.this)
    argument = exp.Ln(this=node.this if x is None else x)
    above_zero = Interval(Fraction(0), math.inf)
    if base is not None and base[0] == 10:
        return _monotone(compiler, argument, "log10", math.log10, above_zero)
    if base is not None and base[0] == 2:
        return _monotone(compiler, argument, "log2", math.log2, above_zero)
    if base is None or not isinstance(base[0], (int, Fraction)) or not 1 < base[0] < 10**30:
        raise refuse(node, f"the base of {show(node)} must be a number above 1", "write LN(x), LOG10(x) or LOG(2, x)")
    scale = exp.Literal.number(f"{math.log10(base[0]):.17e}")
    return compiler.value(exp.Div(this=exp.Log(this=argument.this), expression=scale))


@handles(exp.Exp, args="this")
def _exp(compiler: Compiler, node: exp.Expr) -> Typed:
    return _monotone(compiler, node, "exp", math.exp, Interval())


@handles(exp.Pow)
def _pow(compiler: Compiler, node: exp.Expr) -> Typed:
    """x to a constant whole power from 0 to 8, as a product in DOUBLE (what DuckDB's POW gives, up to rounding)."""
    found = compiler.constant(node.expression)
    if found is None or not isinstance(found[0], int) or not 1 <= found[0] <= 8:
        raise refuse(node, f"the exponent of {show(node)} must be a whole number from 1 to 8", "multiply instead")
    (number_,) = number_operands(compiler, node, node.this)
    inner = as_double(number_)
    bounds, machine = inner.set.bounds, inner.set.machine
    for _ in range(found[0] - 1):
        bounds, machine = bounds * inner.set.bounds, machine * inner.set.machine
    if found[0] % 2 == 0:
        positive = Interval(Fraction(0), math.inf)
        bounds, machine = bounds.intersect(positive), machine.intersect(positive)
    step = None if inner.set.grain is None else inner.set.grain ** found[0]
    new = ValueSet(DOUBLE, bounds, machine, None, step, inner.set.nullable)
    return Typed(func("pow", inner.sql, double_sql(Fraction(found[0]))), new)
