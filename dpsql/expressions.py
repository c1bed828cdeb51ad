"""Expressions over private columns: the allow-list, the types, the value sets, and SQL that can't fail.

`Compiler.value` turns an analyst's expression over the columns of one private table into a `Typed`: DuckDB SQL that
gives a value on every row, whatever the row holds, with its value set. What has no handler here is refused.

Why it can't fail (an error on one row would tell that the row exists):
- every leaf column is clipped to its value set before anything is computed from it, NaN read as NULL, so the range of
  each operation is known from the policy and the query alone (`ValueSet.machine`);
- integers are added and multiplied in BIGINT where that range fits, else in HUGEINT, else the query is refused;
  decimals in a DECIMAL of proven width, else in DOUBLE, which never raises;
- casts are TRY_CAST, divisors NULLIF(…, 0), and only functions that are total over their whole argument type are here.

A comparison of a column with a constant reads the raw value: it computes nothing that could fail.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from dpsql.errors import DatabaseError, MissingBounds, NotReleasable, UnknownColumn, UnsupportedQuery
from dpsql.policy import ColumnType, Kind
from dpsql.valueset import (
    DAY_MICROSECONDS,
    EPOCH,
    HUGEINT_SAFE,
    INT64,
    Interval,
    Literal,
    Number,
    ValueSet,
    common_grain,
    constant,
    joined,
    machine_range,
    natural_grain,
    number,
)

BOOLEAN, INTEGER, DOUBLE = ColumnType(Kind.BOOLEAN), ColumnType(Kind.INTEGER), ColumnType(Kind.DOUBLE)
TEXT, DATE, TIMESTAMP = ColumnType(Kind.TEXT), ColumnType(Kind.DATE), ColumnType(Kind.TIMESTAMP)
TRUTH = Interval(Fraction(0), Fraction(1))
MAX_DIGITS = 38
MAX_LITERAL_CHARACTERS = 10_000
MAX_PATTERN_WILDCARDS = 5


@dataclass(frozen=True, slots=True)
class Typed:
    """Total SQL with what is known of its values. `raw`: the bare column, where the expression is one."""

    sql: exp.Expression
    set: ValueSet
    raw: exp.Expression | None = None

    @property
    def source(self) -> exp.Expression:
        """What to read where the reader clips for itself: the bare column, else the total expression."""
        return self.sql if self.raw is None else self.raw

    @property
    def kind(self) -> Kind:
        return self.set.kind

    @property
    def is_constant(self) -> bool:
        return self.set.values is not None and not any(self.sql.find_all(exp.Column))


Handler = Callable[["Compiler", exp.Expression], Typed]
_HANDLERS: dict[type[exp.Expression], tuple[Handler, frozenset[str]]] = {}


def _handles(*classes: type[exp.Expression], args: str = "this expression") -> Callable[[Handler], Handler]:
    """Register a handler for node classes and the arguments that such a node may carry: any other is refused."""

    def register(handler: Handler) -> Handler:
        for cls in classes:
            _HANDLERS[cls] = handler, frozenset(args.split())
        return handler

    return register


def supported() -> tuple[type[exp.Expression], ...]:
    """The node classes of the allow-list, for documentation and tests."""
    return tuple(_HANDLERS)


def position_of(node: exp.Expression) -> int | None:
    """Offset in the SQL text of the first token that the parser tied to this node or to one below it."""
    starts = [n.meta["start"] for n in node.walk() if "start" in n.meta]
    return min(starts, default=None)


def refuse(
    node: exp.Expression, message: str, hint: str | None = None, error: type[DatabaseError] = UnsupportedQuery
) -> DatabaseError:
    return error(message, hint=hint, position=position_of(node))


def show(node: exp.Expression, limit: int = 60) -> str:
    """The analyst's expression, shortened, for a message."""
    text = node.sql("duckdb")
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ---------------------------------------------------------------------------------------------- literals in SQL


def literal_sql(value: Literal, kind: ColumnType) -> exp.Expression:
    """A model literal as DuckDB SQL of its type."""
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    match kind.kind:
        case Kind.DATE:
            return exp.cast(exp.Literal.string((EPOCH + dt.timedelta(days=int(value))).isoformat()), "DATE")
        case Kind.TIMESTAMP:
            moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(value))
            return exp.cast(exp.Literal.string(moment.isoformat(sep=" ")), "TIMESTAMP")
        case Kind.DOUBLE:
            return double_sql(Fraction(value))
        case _:
            return decimal_sql(Fraction(value))


def double_sql(value: Number) -> exp.Expression:
    """A DOUBLE literal: the exponent makes DuckDB read it as one."""
    return _signed(f"{float(abs(value)):.17e}" if value else "0e0", negative=value < 0)


def decimal_sql(value: Fraction) -> exp.Expression:
    """An integer or decimal literal, exact. Values that are no finite decimal are written as DOUBLE."""
    scale = _decimal_scale(value)
    if scale is None:
        return double_sql(value)
    digits = str(abs(value.numerator) * 10**scale // value.denominator).rjust(scale + 1, "0")
    return _signed(f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits, negative=value < 0)


def _signed(text: str, *, negative: bool) -> exp.Expression:
    literal = exp.Literal.number(text)
    return exp.Paren(this=exp.Neg(this=literal)) if negative else literal


def _decimal_scale(value: Fraction) -> int | None:
    """Digits after the point of a finite decimal, None where it has too many."""
    for scale in range(MAX_DIGITS):
        if (value * 10**scale).denominator == 1:
            return scale
    return None


def case_when(*branches: tuple[exp.Expression, exp.Expression], default: exp.Expression | None = None) -> exp.Case:
    ifs = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(ifs=ifs, default=default)


def func(name: str, *args: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=[a.copy() for a in args])


def paren(node: exp.Expression) -> exp.Expression:
    return exp.Paren(this=node) if isinstance(node, (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Is)) else node


def try_cast(node: exp.Expression, to: str) -> exp.Expression:
    return exp.TryCast(this=node, to=exp.DataType.build(to, dialect="duckdb"))


def cast(node: exp.Expression, to: str) -> exp.Expression:
    """A cast that is known not to fail."""
    return exp.Cast(this=node, to=exp.DataType.build(to, dialect="duckdb"))


def clip(column: exp.Expression, value_set: ValueSet) -> exp.Expression:
    """A leaf column moved into its machine range, NULL where it is NULL or NaN; can't fail in any evaluation order."""
    interval = value_set.machine
    if value_set.kind in (Kind.TEXT, Kind.BOOLEAN):
        return column
    if value_set.kind is Kind.DOUBLE:
        return _clip_double(column, value_set)
    if interval == machine_range(value_set.type) and value_set.kind in (Kind.INTEGER, Kind.DECIMAL):
        return column
    lower, upper = literal_sql_at(interval.lower, value_set.type), literal_sql_at(interval.upper, value_set.type)
    return case_when(
        (exp.LT(this=column.copy(), expression=lower), lower.copy()),
        (exp.GT(this=column.copy(), expression=upper), upper.copy()),
        default=column,
    )


def literal_sql_at(value: Number, kind: ColumnType) -> exp.Expression:
    return literal_sql(int(value) if Fraction(value).denominator == 1 else Fraction(value), kind)


def _clip_double(column: exp.Expression, value_set: ValueSet) -> exp.Expression:
    interval = value_set.machine
    branches: list[tuple[exp.Expression, exp.Expression]] = []
    if not math.isinf(interval.lower):
        low = double_sql(interval.lower)
        branches.append((exp.LT(this=column.copy(), expression=low), low.copy()))
    if math.isinf(interval.upper):
        top: exp.Expression = cast(exp.Literal.string("Infinity"), "DOUBLE")
        branches.append((exp.LTE(this=column.copy(), expression=top), column))
        return case_when(*branches)  # NaN sorts above infinity: no branch, so NULL
    high = double_sql(interval.upper)
    branches.append((exp.LTE(this=column.copy(), expression=high), column))
    top = cast(exp.Literal.string("Infinity"), "DOUBLE")
    branches.append((exp.LTE(this=column.copy(), expression=top), high.copy()))
    return case_when(*branches)


# ---------------------------------------------------------------------------------------------- the compiler


@dataclass(frozen=True, slots=True)
class Compiler:
    """Compiles expressions over one private table's columns.

    columns   value set of each column by lower-case name, as narrowed by the query's filters
    table     the table's name, for messages
    today     what CURRENT_DATE means
    """

    columns: Mapping[str, ValueSet]
    table: str
    today: dt.date

    def value(self, node: exp.Expression) -> Typed:
        """The total SQL and value set of an expression, or a refusal."""
        entry = _HANDLERS.get(type(node))
        if entry is None:
            raise _unsupported(node)
        handler, allowed = entry
        for name, argument in node.args.items():
            if argument and name not in allowed:
                raise refuse(node, f"{show(node)} has an option that isn't supported over private rows")
        return handler(self, node)

    def predicate(self, node: exp.Expression) -> exp.Expression:
        """A condition as total SQL, NULL where it is unknown."""
        typed = self.value(node)
        if typed.kind is not Kind.BOOLEAN:
            raise refuse(node, f"{show(node)} is used as a condition but is not boolean", "compare it with a value")
        return typed.sql

    def with_columns(self, columns: Mapping[str, ValueSet]) -> Compiler:
        return replace(self, columns=columns)

    def constant(self, node: exp.Expression) -> tuple[Literal, ColumnType] | None:
        """The value of an expression without columns where it is known here, else None."""
        if any(node.find_all(exp.Column)):
            return None
        try:
            typed = self.value(node)
        except DatabaseError:
            return None
        values = typed.set.values
        if values is None or len(values) > 1:
            return None
        return (values[0] if values else None), typed.set.type


def _unsupported(node: exp.Expression) -> DatabaseError:
    if isinstance(node, (exp.Subquery, exp.Select, exp.Exists)):
        return refuse(node, "a subquery inside an expression over private rows isn't supported", None)
    if isinstance(node, exp.AggFunc):
        return refuse(
            node,
            f"{show(node)} stands where a value of one row is needed",
            "compute the aggregate in a subquery in FROM, and use it outside",
        )
    if isinstance(node, exp.Window):
        return refuse(
            node,
            f"the window function {show(node)} would read private rows",
            "aggregate in a subquery, then use the window function on its result",
        )
    if isinstance(node, exp.Star):
        return refuse(
            node, "* stands for private rows, which are never returned", "name columns inside COUNT, SUM or AVG",
            NotReleasable,
        )  # fmt: skip
    name = node.name if isinstance(node, exp.Anonymous) else show(node)
    what = f"the function {name}" if isinstance(node, exp.Func) else name
    return refuse(node, f"{what} isn't on the list of expressions allowed over private rows", SUPPORTED_HINT)


SUPPORTED_HINT = (
    "over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, "
    "ROUND, FLOOR, CEIL, LEAST, GREATEST, SQRT, LN, EXP, CAST, EXTRACT, DATE_TRUNC, LOWER, UPPER, LENGTH"
)


# ---------------------------------------------------------------------------------------------- leaves


@_handles(exp.Column, args="this table")
def _column(compiler: Compiler, node: exp.Expression) -> Typed:
    value_set = _column_set(compiler, node)
    column = exp.column(node.name, quoted=True)
    return Typed(clip(column, value_set), value_set, column)


def _column_set(compiler: Compiler, node: exp.Expression) -> ValueSet:
    value_set = compiler.columns.get(node.name)
    if value_set is None:
        raise UnknownColumn(f"column {node.name} does not exist in {compiler.table}", position=position_of(node))
    return value_set


@_handles(exp.Literal, args="this is_string")
def _literal(_: Compiler, node: exp.Expression) -> Typed:
    text = node.name
    if len(text) > MAX_LITERAL_CHARACTERS:
        raise refuse(node, "a literal is too long")
    if node.args.get("is_string"):
        return Typed(exp.Literal.string(text), constant(text, TEXT))
    return _number_literal(node, text)


def _number_literal(node: exp.Expression, text: str) -> Typed:
    lowered = text.lower()
    if not all(c in "0123456789.e+-" for c in lowered) or len(text) > 400:
        raise refuse(node, f"the number {text[:20]} isn't written in plain decimal digits")
    if "e" in lowered:
        if math.isinf(float(text)):
            raise refuse(node, f"the number {text} is too large")
        return Typed(double_sql(Fraction(float(text))), constant(Fraction(float(text)), DOUBLE))
    whole, _, part = text.partition(".")
    value = Fraction(text if whole else "0" + text) if text != "." else Fraction(0)
    if len(whole.lstrip("0")) + len(part) > MAX_DIGITS - 1:
        raise refuse(node, f"the number {text[:20]}… has too many digits", "use at most 37 digits, or an exponent")
    kind = ColumnType(Kind.DECIMAL, MAX_DIGITS, len(part)) if part else INTEGER
    sql = exp.Literal.number(text if whole else "0" + text)
    return Typed(sql, constant(int(value) if value.denominator == 1 else value, kind))


@_handles(exp.Boolean, args="this")
def _boolean(_: Compiler, node: exp.Expression) -> Typed:
    value = bool(node.this)
    return Typed(exp.Boolean(this=value), constant(value, BOOLEAN))


@_handles(exp.Null, args="")
def _null(_: Compiler, node: exp.Expression) -> Typed:
    return Typed(exp.Null(), constant(None, INTEGER))


@_handles(exp.CurrentDate, args="")
def _current_date(compiler: Compiler, node: exp.Expression) -> Typed:
    value = (compiler.today - EPOCH).days
    return Typed(literal_sql(value, DATE), constant(value, DATE))


@_handles(exp.Paren, args="this")
def _paren(compiler: Compiler, node: exp.Expression) -> Typed:
    inner = compiler.value(node.this)
    return Typed(paren(inner.sql), inner.set)


def is_null(typed: Typed) -> bool:
    return typed.set.values == ()


# ---------------------------------------------------------------------------------------------- numbers


def _numbers(compiler: Compiler, node: exp.Expression, *operands: exp.Expression) -> list[Typed]:
    """The operands, each a number (booleans become 0 and 1)."""
    result = []
    for operand in operands:
        typed = compiler.value(operand)
        if typed.kind is Kind.BOOLEAN:
            typed = _boolean_as_integer(typed)
        if not typed.set.numeric:
            raise refuse(operand, f"{show(operand)} is {typed.kind.value}, where {show(node)} needs a number")
        result.append(typed)
    return result


def as_number(typed: Typed) -> Typed:
    """A boolean as 0 and 1; anything else as it is."""
    return _boolean_as_integer(typed) if typed.kind is Kind.BOOLEAN else typed


def _boolean_as_integer(typed: Typed) -> Typed:
    new = replace(typed.set, type=INTEGER, values=None, bounds=TRUTH, machine=TRUTH, grain=Fraction(1))
    return Typed(cast(typed.sql, "INTEGER"), new)


def _digits(value: Number) -> int:
    return len(str(math.floor(abs(value))))


def decimal_width(value_set: ValueSet) -> int | None:
    """Digits of the DECIMAL(width, scale) that holds every value, None where there is none."""
    scale = value_set.type.scale or 0
    if not value_set.machine.bounded:
        return None
    width = max(_digits(value_set.machine.magnitude) + scale, scale + 1)
    return width if width <= MAX_DIGITS else None


def _as_decimal(typed: Typed, width: int) -> exp.Expression:
    return cast(typed.sql, f"DECIMAL({width}, {typed.set.type.scale or 0})")


def _as_double(typed: Typed) -> Typed:
    if typed.kind is Kind.DOUBLE:
        return typed
    return Typed(cast(typed.sql, "DOUBLE"), replace(typed.set, type=DOUBLE))


def integer_store(machine: Interval) -> str | None:
    """The DuckDB integer type in which a result of this range can't overflow, None where there is none."""
    if -INT64 < machine.lower and machine.upper < INT64:
        return "BIGINT"
    if machine.magnitude < HUGEINT_SAFE:
        return "HUGEINT"
    return None


Operation = Callable[[Interval, Interval], Interval]


def _arithmetic(
    compiler: Compiler, node: exp.Expression, operation: Operation, grain: Callable[[Fraction, Fraction], Fraction]
) -> Typed:
    """+, - or * in the type that holds the result, whatever the data."""
    left, right = _numbers(compiler, node, node.this, node.expression)
    bounds = operation(left.set.bounds, right.set.bounds)
    machine = operation(left.set.machine, right.set.machine)
    step = _step(left, right, grain)
    nullable = left.set.nullable or right.set.nullable
    kinds = {left.kind, right.kind}
    if kinds == {Kind.INTEGER}:
        store = integer_store(machine)
        if store is None:
            raise _too_wide(compiler, node)
        a, b = cast(left.sql, store), cast(right.sql, store)
        return Typed(_binary(node, a, b), ValueSet(INTEGER, bounds, machine, None, step, nullable))
    if Kind.DOUBLE not in kinds and (exact := _exact_decimals(node, left, right)):
        sql, scale = exact
        kind = ColumnType(Kind.DECIMAL, MAX_DIGITS, scale)
        return Typed(sql, ValueSet(kind, bounds, machine, None, step, nullable))
    left, right = _as_double(left), _as_double(right)
    return Typed(_binary(node, left.sql, right.sql), ValueSet(DOUBLE, bounds, machine, None, step, nullable))


def _step(left: Typed, right: Typed, grain: Callable[[Fraction, Fraction], Fraction]) -> Fraction | None:
    if left.set.grain is None or right.set.grain is None:
        return None
    return grain(left.set.grain, right.set.grain)


def _exact_decimals(node: exp.Expression, left: Typed, right: Typed) -> tuple[exp.Expression, int] | None:
    """A decimal operation of two operands whose widths leave room for the exact result, with the result's scale."""
    a, b = decimal_width(left.set), decimal_width(right.set)
    s, t = left.set.type.scale or 0, right.set.type.scale or 0
    if a is None or b is None:
        return None
    product = isinstance(node, exp.Mul)
    width = a + b if product else max(a - s, b - t) + max(s, t) + 1
    if width > MAX_DIGITS:
        return None
    return _binary(node, _as_decimal(left, a), _as_decimal(right, b)), s + t if product else max(s, t)


def _binary(node: exp.Expression, left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return type(node)(this=paren(left), expression=paren(right))


def _too_wide(compiler: Compiler, node: exp.Expression) -> DatabaseError:
    return unbounded_error(compiler, node, f"{show(node)} could overflow")


def unbounded_error(compiler: Compiler, node: exp.Expression, what: str) -> DatabaseError:
    """A refusal that names the column without bounds and the two ways to give them."""
    for column in node.find_all(exp.Column):
        value_set = compiler.columns.get(column.name)
        if value_set and value_set.kind not in (Kind.TEXT, Kind.BOOLEAN) and not value_set.bounds.bounded:
            return _bounds_error(compiler, column, what, value_set)
    return refuse(
        node,
        f"{what}: no bounds follow from the policy for {show(node)}",
        f"clip it in the query: LEAST(GREATEST({show(node)}, 0), 100)",
        MissingBounds,
    )


def _bounds_error(compiler: Compiler, column: exp.Column, what: str, value_set: ValueSet) -> DatabaseError:
    name = column.name
    if value_set.kind in (Kind.DATE, Kind.TIMESTAMP):
        clip_hint = f"WHERE {name} BETWEEN DATE '2020-01-01' AND DATE '2029-12-31'"
    else:
        clip_hint = f"LEAST(GREATEST({name}, 0), 100), or WHERE {name} BETWEEN 0 AND 100"
    return refuse(
        column,
        f"{what}: column {name} of {compiler.table} has no bounds",
        f"the policy can set tables.{compiler.table}.columns.{name}.bounds, or clip in the query: {clip_hint}",
        MissingBounds,
    )


@_handles(exp.Add)
def _add(compiler: Compiler, node: exp.Expression) -> Typed:
    return _temporal_shift(compiler, node, 1) or _arithmetic(
        compiler, node, Interval.__add__, lambda a, b: common_grain(a, b) or a
    )


@_handles(exp.Sub)
def _sub(compiler: Compiler, node: exp.Expression) -> Typed:
    return _temporal_shift(compiler, node, -1) or _arithmetic(
        compiler, node, Interval.__sub__, lambda a, b: common_grain(a, b) or a
    )


@_handles(exp.Mul)
def _mul(compiler: Compiler, node: exp.Expression) -> Typed:
    return _arithmetic(compiler, node, Interval.__mul__, lambda a, b: a * b)


@_handles(exp.Neg, args="this")
def _neg(compiler: Compiler, node: exp.Expression) -> Typed:
    if isinstance(node.this, exp.Literal):
        typed = compiler.value(node.this)
        value = typed.set.values[0] if typed.set.values else None
        if value is None or isinstance(value, str):
            raise refuse(node, f"{show(node)} is not a number")
        flipped = constant(-value, typed.set.type)
        return Typed(exp.Paren(this=exp.Neg(this=typed.sql)), flipped)
    zero = exp.Sub(this=exp.Literal.number(0), expression=node.this.copy())
    return _arithmetic(compiler, zero, Interval.__sub__, lambda a, b: b)


@_handles(exp.Div, args="this expression typed safe")
def _div(compiler: Compiler, node: exp.Expression) -> Typed:
    """DuckDB's /: always DOUBLE; by zero gives an infinity or NaN, never an error."""
    if node.args.get("typed"):
        raise refuse(node, f"{show(node)} can't be typed", "cast the operands")
    left, right = (_as_double(t) for t in _numbers(compiler, node, node.this, node.expression))
    bounds, machine = left.set.bounds / right.set.bounds, left.set.machine / right.set.machine
    divisor = right.set.values[0] if right.is_constant and right.set.values else None
    step = left.set.grain / abs(number(divisor)) if left.set.grain and divisor else None
    nullable = left.set.nullable or right.set.nullable or right.set.machine.contains(0)
    return Typed(_binary(node, left.sql, right.sql), ValueSet(DOUBLE, bounds, machine, None, step, nullable))


def _integers(compiler: Compiler, node: exp.Expression) -> tuple[Typed, Typed]:
    left, right = _numbers(compiler, node, node.this, node.expression)
    if {left.kind, right.kind} != {Kind.INTEGER}:
        raise refuse(node, f"{show(node)} needs integers on both sides", "use FLOOR(a / b) for other numbers")
    return left, right


def _guarded(node: exp.Expression, left: Typed, right: Typed) -> exp.Expression:
    """// and % raise where the divisor is 0, and where the smallest integer meets -1: neither can happen here."""
    wide = left.set.machine.lower <= -INT64 or right.set.machine.lower <= -INT64
    store = "HUGEINT" if wide or integer_store(left.set.machine) != "BIGINT" else "BIGINT"
    divisor = cast(right.sql, store)
    if right.set.machine.contains(0):
        divisor = exp.Nullif(this=divisor, expression=exp.Literal.number(0))
    return _binary(node, cast(left.sql, store), divisor)


@_handles(exp.IntDiv)
def _int_div(compiler: Compiler, node: exp.Expression) -> Typed:
    left, right = _integers(compiler, node)
    zero_possible = right.set.machine.contains(0)

    def quotient(a: Interval, b: Interval) -> Interval:
        if b.contains(0):
            return Interval(-a.magnitude, a.magnitude)
        return (a / b).map(lambda x: Fraction(math.trunc(x)))

    bounds, machine = (quotient(a, b) for a, b in _pairs(left, right))
    nullable = left.set.nullable or right.set.nullable or zero_possible
    return Typed(_guarded(node, left, right), ValueSet(INTEGER, bounds, machine, None, Fraction(1), nullable))


def _pairs(left: Typed, right: Typed) -> tuple[tuple[Interval, Interval], tuple[Interval, Interval]]:
    return (left.set.bounds, right.set.bounds), (left.set.machine, right.set.machine)


@_handles(exp.Mod)
def _mod(compiler: Compiler, node: exp.Expression) -> Typed:
    """The remainder has the dividend's sign and is smaller than the divisor."""
    left, right = _integers(compiler, node)

    def remainder(a: Interval, b: Interval) -> Interval:
        largest = min(max(b.magnitude - 1, Fraction(0)), a.magnitude)
        return Interval(-largest if a.lower < 0 else Fraction(0), largest if a.upper > 0 else Fraction(0))

    bounds, machine = (remainder(a, b) for a, b in _pairs(left, right))
    nullable = left.set.nullable or right.set.nullable or right.set.machine.contains(0)
    return Typed(_guarded(node, left, right), ValueSet(INTEGER, bounds, machine, None, Fraction(1), nullable))


@_handles(exp.Abs, args="this")
def _abs(compiler: Compiler, node: exp.Expression) -> Typed:
    (inner,) = _numbers(compiler, node, node.this)

    def absolute(i: Interval) -> Interval:
        return Interval(Fraction(0) if i.contains(0) else min(abs(i.lower), abs(i.upper)), i.magnitude)

    new = replace(inner.set, bounds=absolute(inner.set.bounds), machine=absolute(inner.set.machine), values=None)
    sql = inner.sql
    if inner.kind is Kind.INTEGER:  # ABS of the smallest BIGINT raises
        store = integer_store(new.machine)
        if store is None:
            raise _too_wide(compiler, node)
        sql = cast(sql, store)
    return Typed(func("abs", sql), new)


def _round_half_away(x: Number) -> Number:
    return Fraction(math.floor(abs(x) + Fraction(1, 2))) * (1 if x >= 0 else -1)


def _rounded(
    compiler: Compiler, node: exp.Expression, name: str, rule: Callable[[Number], Number], digits: int = 0
) -> Typed:
    """ROUND, FLOOR, CEIL, TRUNC in DOUBLE, on the grain 10^-digits."""
    (number_,) = _numbers(compiler, node, node.this)
    if number_.kind is Kind.INTEGER and digits >= 0 and name == "round":
        return number_
    inner = _as_double(number_)
    power = Fraction(10) ** digits

    def scaled(x: Number) -> Number:
        return Fraction(rule(x * power)) / power

    new = ValueSet(
        DOUBLE, inner.set.bounds.map(scaled), inner.set.machine.map(scaled), None, 1 / power, inner.set.nullable
    )
    arguments = [inner.sql, *([decimal_sql(Fraction(digits))] if digits else [])]
    return Typed(func(name, *arguments), new)


@_handles(exp.Round, args="this decimals")
def _round(compiler: Compiler, node: exp.Expression) -> Typed:
    digits = 0
    if node.args.get("decimals"):
        found = compiler.constant(node.args["decimals"])
        if found is None or not isinstance(found[0], int) or not -15 <= found[0] <= 15:
            raise refuse(node, f"the digits of {show(node)} must be a whole number from -15 to 15")
        digits = found[0]
    return _rounded(compiler, node, "round", _round_half_away, digits)


@_handles(exp.Floor, args="this")
def _floor(compiler: Compiler, node: exp.Expression) -> Typed:
    return _rounded(compiler, node, "floor", lambda x: Fraction(math.floor(x)))


@_handles(exp.Ceil, args="this")
def _ceil(compiler: Compiler, node: exp.Expression) -> Typed:
    return _rounded(compiler, node, "ceil", lambda x: Fraction(math.ceil(x)))


@_handles(exp.Trunc, args="this")
def _trunc(compiler: Compiler, node: exp.Expression) -> Typed:
    return _rounded(compiler, node, "trunc", lambda x: Fraction(math.trunc(x)))


@_handles(exp.Sign, args="this")
def _sign(compiler: Compiler, node: exp.Expression) -> Typed:
    (inner,) = _numbers(compiler, node, node.this)

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
    compiler: Compiler, node: exp.Expression, name: str, function: Callable[[float], float], domain: Interval
) -> Typed:
    """SQRT, LN, EXP: NaN (read as NULL) outside the domain."""
    (number_,) = _numbers(compiler, node, node.this)
    inner = _as_double(number_)
    image = _outward(function)

    def mapped(i: Interval) -> Interval:
        inside = i.intersect(domain)
        if inside.empty:
            return Interval()
        lower = image(inside.lower, -1) if not math.isinf(inside.lower) else _limit(name)
        upper = image(inside.upper, 1) if not math.isinf(inside.upper) else math.inf
        return Interval(lower, upper)

    nullable = inner.set.nullable or not (domain.lower <= inner.set.machine.lower)
    new = ValueSet(DOUBLE, mapped(inner.set.bounds), mapped(inner.set.machine), None, None, nullable)
    guard = exp.GTE if name == "sqrt" else exp.GT
    if math.isinf(domain.lower):
        return Typed(func(name, inner.sql), new)
    condition = guard(this=inner.sql.copy(), expression=double_sql(0))
    return Typed(case_when((condition, func(name, inner.sql))), new)


def _limit(name: str) -> Number:
    return Fraction(0) if name == "exp" else -math.inf


@_handles(exp.Sqrt, args="this")
def _sqrt(compiler: Compiler, node: exp.Expression) -> Typed:
    return _monotone(compiler, node, "sqrt", math.sqrt, Interval(Fraction(0), math.inf))


@_handles(exp.Ln, args="this")
def _ln(compiler: Compiler, node: exp.Expression) -> Typed:
    return _monotone(compiler, node, "ln", math.log, Interval(Fraction(0), math.inf))


@_handles(exp.Exp, args="this")
def _exp(compiler: Compiler, node: exp.Expression) -> Typed:
    return _monotone(compiler, node, "exp", math.exp, Interval())


@_handles(exp.Pow)
def _pow(compiler: Compiler, node: exp.Expression) -> Typed:
    """x to a constant whole power from 0 to 8, as a product in DOUBLE (what DuckDB's POW gives, up to rounding)."""
    found = compiler.constant(node.expression)
    if found is None or not isinstance(found[0], int) or not 1 <= found[0] <= 8:
        raise refuse(node, f"the exponent of {show(node)} must be a whole number from 1 to 8", "multiply instead")
    (number_,) = _numbers(compiler, node, node.this)
    inner = _as_double(number_)
    bounds, machine = inner.set.bounds, inner.set.machine
    for _ in range(found[0] - 1):
        bounds, machine = bounds * inner.set.bounds, machine * inner.set.machine
    if found[0] % 2 == 0:
        positive = Interval(Fraction(0), math.inf)
        bounds, machine = bounds.intersect(positive), machine.intersect(positive)
    step = inner.set.grain ** found[0] if inner.set.grain else None
    new = ValueSet(DOUBLE, bounds, machine, None, step, inner.set.nullable)
    return Typed(func("pow", inner.sql, double_sql(Fraction(found[0]))), new)


# ---------------------------------------------------------------------------------------------- choices


def _unified(compiler: Compiler, node: exp.Expression, operands: Iterable[exp.Expression | Typed]) -> list[Typed]:
    """Operands brought to one type: integers and decimals to the widest, with a double everything to DOUBLE."""
    typed = [o if isinstance(o, Typed) else compiler.value(o) for o in operands]
    kinds = {t.kind for t in typed if not is_null(t)}
    if len(kinds) == 2 and Kind.TEXT in kinds:
        other = next(t.set.type for t in typed if t.kind is not Kind.TEXT)
        typed = [_literal_as(node, t, other) for t in typed]
        kinds = {t.kind for t in typed if not is_null(t)}
    if len(kinds) <= 1 and Kind.DECIMAL not in kinds:
        kind = next((t.set.type for t in typed if not is_null(t)), INTEGER)
        return [_null_as(t, kind) if is_null(t) else t for t in typed]
    if kinds <= {Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE, Kind.BOOLEAN}:
        return _unified_numbers(typed, kinds)
    if kinds == {Kind.DATE, Kind.TIMESTAMP}:
        return [_as_timestamp(t) for t in typed]
    names = " and ".join(sorted(k.value for k in kinds))
    raise refuse(node, f"{show(node)} mixes {names}", "cast one side")


def _null_as(typed: Typed, kind: ColumnType) -> Typed:
    return Typed(typed.sql, replace(typed.set, type=kind))


def _unified_numbers(typed: list[Typed], kinds: set[Kind]) -> list[Typed]:
    typed = [_boolean_as_integer(t) if t.kind is Kind.BOOLEAN else t for t in typed]
    if Kind.DOUBLE not in kinds:
        scale = max(t.set.type.scale or 0 for t in typed)
        kind = ColumnType(Kind.DECIMAL, MAX_DIGITS, scale)
        widened = [replace(t.set, type=kind) for t in typed]
        if Kind.DECIMAL not in kinds:
            return typed
        if all(decimal_width(s) is not None for s in widened):
            width = max(decimal_width(s) or 1 for s in widened)
            return [Typed(cast(t.sql, f"DECIMAL({width}, {scale})"), s) for t, s in zip(typed, widened, strict=True)]
    return [_null_as(t, DOUBLE) if is_null(t) else _as_double(t) for t in typed]


def _as_timestamp(typed: Typed) -> Typed:
    if typed.kind is Kind.TIMESTAMP or is_null(typed):
        return typed

    def scaled(i: Interval) -> Interval:
        return i.map(lambda x: x * DAY_MICROSECONDS)

    old = typed.set
    values = None if old.values is None else tuple(int(number(v)) * DAY_MICROSECONDS for v in old.values)
    new = replace(
        old, type=TIMESTAMP, bounds=scaled(old.bounds), machine=scaled(old.machine), values=values,
        grain=Fraction(DAY_MICROSECONDS) * (old.grain or 1),
    )  # fmt: skip
    return Typed(cast(typed.sql, "TIMESTAMP"), new)


def _literal_as(node: exp.Expression, typed: Typed, kind: ColumnType) -> Typed:
    """A text literal beside another type is read as that type, here, so that the engine never casts private text."""
    if typed.kind is not Kind.TEXT:
        return typed
    if not typed.is_constant or not typed.set.values:
        raise refuse(node, f"{show(node)} compares text with {kind.kind.value}", "cast one side")
    value = parse_text(str(typed.set.values[0]), kind)
    if value is None:
        raise refuse(node, f"'{typed.set.values[0]}' in {show(node)} is not a valid {kind.kind.value}")
    exact = ColumnType(Kind.DECIMAL, MAX_DIGITS, _decimal_scale(Fraction(value)) or 0)
    literal_kind = exact if kind.kind is Kind.DECIMAL and not isinstance(value, (str, bool)) else kind
    return Typed(literal_sql(value, literal_kind), constant(value, literal_kind))


def parse_text(text: str, kind: ColumnType) -> Literal:
    """A text literal as a value of a type, None where it is none."""
    text = text.strip()
    try:
        match kind.kind:
            case Kind.INTEGER:
                return int(text) if len(text) <= 19 and text.isascii() and "_" not in text else None
            case Kind.DECIMAL | Kind.DOUBLE:
                value = float(text)
                if not math.isfinite(value) or len(text) > 40 or "_" in text:
                    return None
                return Fraction(text) if kind.kind is Kind.DECIMAL else Fraction(value)
            case Kind.BOOLEAN:
                return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}.get(text.lower())
            case Kind.DATE:
                return (dt.date.fromisoformat(text) - EPOCH).days
            case Kind.TIMESTAMP:
                moment = dt.datetime.fromisoformat(text)
                if moment.tzinfo is not None:
                    moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
                delta = moment - dt.datetime(1970, 1, 1)
                return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
            case _:
                return text
    except (ValueError, ArithmeticError):
        return None


@_handles(exp.Case, args="this ifs default")
def _case(compiler: Compiler, node: exp.Expression) -> Typed:
    subject = node.args.get("this")
    conditions, values = [], []
    remaining = compiler
    for branch in node.args["ifs"]:
        condition = branch.this
        if subject is not None:
            condition = exp.EQ(this=subject.copy(), expression=condition.copy())
        conditions.append(compiler.predicate(condition))
        values.append(remaining.with_columns(narrow(remaining, condition)).value(branch.args["true"]))
        remaining = remaining.with_columns(narrow(remaining, condition, negate=True))
    default = node.args.get("default")
    values.append(remaining.value(default) if default is not None else Typed(exp.Null(), constant(None, INTEGER)))
    unified = _unified(compiler, node, values)
    kind = next((t.set.type for t in unified if not is_null(t)), INTEGER)
    real = [t.set for t in unified if not is_null(t)] or [unified[0].set]
    new = joined(real, kind)
    if len(real) < len(unified):
        new = replace(new, nullable=True)
    sql = case_when(*zip(conditions, (t.sql for t in unified[:-1]), strict=True), default=unified[-1].sql)
    return Typed(sql, replace(new, null_key=new.nullable))


@_handles(exp.If, args="this true false")
def _if(compiler: Compiler, node: exp.Expression) -> Typed:
    branch = exp.If(this=node.this, true=node.args["true"])
    return _case(compiler, exp.Case(ifs=[branch], default=node.args.get("false")))


@_handles(exp.Coalesce, args="this expressions")
def _coalesce(compiler: Compiler, node: exp.Expression) -> Typed:
    unified = _unified(compiler, node, [node.this, *node.expressions])
    real = [t.set for t in unified if not is_null(t)] or [unified[0].set]
    new = joined(real, real[0].type)
    new = replace(new, nullable=all(s.nullable for s in real), null_key=all(s.null_key for s in real))
    return Typed(exp.Coalesce(this=unified[0].sql, expressions=[t.sql for t in unified[1:]]), new)


@_handles(exp.Nullif)
def _nullif(compiler: Compiler, node: exp.Expression) -> Typed:
    left, right = _unified(compiler, node, [node.this, node.expression])
    sql = exp.Nullif(this=left.sql, expression=right.sql)
    return Typed(sql, replace(left.set, nullable=True, null_key=True))


@_handles(exp.Greatest, args="this expressions ignore_nulls")
def _greatest(compiler: Compiler, node: exp.Expression) -> Typed:
    return _extreme(compiler, node, "greatest", max)


@_handles(exp.Least, args="this expressions ignore_nulls")
def _least(compiler: Compiler, node: exp.Expression) -> Typed:
    return _extreme(compiler, node, "least", min)


def _extreme(compiler: Compiler, node: exp.Expression, name: str, pick: Callable[..., Number]) -> Typed:
    """GREATEST and LEAST skip NULL, so an operand that may be NULL doesn't tighten its side."""
    unified = _unified(compiler, node, [node.this, *node.expressions])
    if not (unified[0].set.numeric or unified[0].kind in (Kind.DATE, Kind.TIMESTAMP)):
        raise refuse(node, f"{show(node)} needs numbers or dates")

    def combined(sets: list[Interval], certain: list[Interval]) -> Interval:
        ends = [(i.lower, i.upper) for i in sets]
        sure = [(i.lower, i.upper) for i in certain]
        if name == "greatest":
            return Interval(max((e[0] for e in sure), default=min(e[0] for e in ends)), max(e[1] for e in ends))
        return Interval(min(e[0] for e in ends), min((e[1] for e in sure), default=max(e[1] for e in ends)))

    # Only a literal is surely not NULL in the data; a column may break its declaration.
    literals = [t.set.machine for t in unified if t.is_constant and not is_null(t)]
    present = [t.set.bounds for t in unified if not t.set.nullable]
    new = joined([t.set for t in unified], unified[0].set.type)
    new = replace(
        new,
        bounds=combined([t.set.bounds for t in unified], present),
        machine=combined([t.set.machine for t in unified], literals),
        values=None,
        nullable=all(t.set.nullable for t in unified),
    )
    return Typed(func(name, *(t.sql for t in unified)), new)


# ---------------------------------------------------------------------------------------------- conditions


def _condition(sql: exp.Expression, nullable: bool) -> Typed:
    new = ValueSet(BOOLEAN, TRUTH, TRUTH, (False, True), Fraction(1), nullable, null_key=nullable)
    return Typed(exp.Paren(this=sql), new)


def connector_terms(node: exp.Expression, cls: type[exp.Expression]) -> list[exp.Expression]:
    """The terms of a chain of AND or OR, in order, whatever its depth."""
    terms, stack = [], [node]
    while stack:
        top = stack.pop()
        if isinstance(top, cls):
            stack += [top.args["expression"], top.this]
        else:
            terms.append(top)
    return terms


@_handles(exp.And, exp.Or)
def _connector(compiler: Compiler, node: exp.Expression) -> Typed:
    typed = [compiler.value(term) for term in connector_terms(node, type(node))]
    for term, t in zip(connector_terms(node, type(node)), typed, strict=True):
        if t.kind is not Kind.BOOLEAN and not is_null(t):
            raise refuse(term, f"{show(term)} is used as a condition but is not boolean", "compare it with a value")
    combine = exp.and_ if isinstance(node, exp.And) else exp.or_
    return _condition(combine(*(t.sql for t in typed)), any(t.set.nullable for t in typed))


@_handles(exp.Not, args="this")
def _not(compiler: Compiler, node: exp.Expression) -> Typed:
    inner = compiler.value(node.this)
    if inner.kind is not Kind.BOOLEAN:
        raise refuse(node, f"{show(node.this)} is used as a condition but is not boolean", "compare it with a value")
    return _condition(exp.Not(this=paren(inner.sql)), inner.set.nullable)


def _compared(compiler: Compiler, node: exp.Expression, operands: list[exp.Expression]) -> list[Typed]:
    """Operands of a comparison, a bare integer, decimal, text or temporal column read raw beside constants.

    Doubles keep their clip unless unbounded, since NaN must read as NULL. Exact and floating numbers of different
    types meet in DOUBLE or in a DECIMAL that holds both, so that no implicit cast can overflow.
    """
    typed = [compiler.value(o) for o in operands]
    constants = [t.is_constant or is_null(t) for t in typed]
    raw = []
    for operand, t in zip(operands, typed, strict=True):
        others = all(c for c, o in zip(constants, operands, strict=True) if o is not operand)
        raw.append(_raw(compiler, operand, t) if others else t)
    return _unified(compiler, node, raw)


def _raw(compiler: Compiler, operand: exp.Expression, typed: Typed) -> Typed:
    while isinstance(operand, exp.Paren):
        operand = operand.this
    if not isinstance(operand, exp.Column):
        return typed
    column = exp.column(operand.name, quoted=True)
    full = replace(typed.set, machine=machine_range(typed.set.type))
    return Typed(clip(column, full) if typed.kind is Kind.DOUBLE else column, full)


@_handles(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
def _comparison(compiler: Compiler, node: exp.Expression) -> Typed:
    left, right = _compared(compiler, node, [node.this, node.expression])
    nullable = left.set.nullable or right.set.nullable
    return _condition(_binary(node, left.sql, right.sql), nullable)


@_handles(exp.NullSafeEQ, exp.NullSafeNEQ)
def _distinct_from(compiler: Compiler, node: exp.Expression) -> Typed:
    left, right = _compared(compiler, node, [node.this, node.expression])
    return _condition(_binary(node, left.sql, right.sql), False)


@_handles(exp.Between, args="this low high")
def _between(compiler: Compiler, node: exp.Expression) -> Typed:
    value, low, high = _compared(compiler, node, [node.this, node.args["low"], node.args["high"]])
    nullable = value.set.nullable or low.set.nullable or high.set.nullable
    return _condition(exp.Between(this=paren(value.sql), low=low.sql, high=high.sql), nullable)


@_handles(exp.In, args="this expressions")
def _in(compiler: Compiler, node: exp.Expression) -> Typed:
    if not node.expressions:
        raise _unsupported(exp.Exists(this=exp.Null()))
    value, *items = _compared(compiler, node, [node.this, *node.expressions])
    nullable = value.set.nullable or any(i.set.nullable for i in items)
    return _condition(exp.In(this=paren(value.sql), expressions=[i.sql for i in items]), nullable)


@_handles(exp.Is)
def _is(compiler: Compiler, node: exp.Expression) -> Typed:
    inner, right = compiler.value(node.this), node.expression
    negated = isinstance(right, exp.Not)
    target = right.this if negated else right
    if isinstance(target, exp.Null):
        sql: exp.Expression = exp.Is(this=paren(inner.sql), expression=exp.Null())
    elif isinstance(target, exp.Boolean) and inner.kind is Kind.BOOLEAN:
        sql = exp.NullSafeEQ(this=paren(inner.sql), expression=exp.Boolean(this=target.this))
    else:
        raise refuse(node, f"{show(node)} isn't supported", "use IS NULL, IS NOT NULL, IS TRUE or IS FALSE")
    return _condition(exp.Not(this=exp.Paren(this=sql)) if negated else sql, False)


@_handles(exp.IsNan, args="this")
def _is_nan(compiler: Compiler, node: exp.Expression) -> Typed:
    raise refuse(node, f"{show(node)} isn't needed: dpsql reads NaN as NULL", f"write {show(node.this)} IS NULL")


@_handles(exp.Like, exp.ILike, args="this expression negate")
def _like(compiler: Compiler, node: exp.Expression) -> Typed:
    (text,) = _texts(compiler, node, node.this)
    pattern = compiler.constant(node.expression)
    if pattern is None or not isinstance(pattern[0], str):
        raise refuse(node, f"the pattern of {show(node)} must be a text literal")
    if pattern[0].count("%") > MAX_PATTERN_WILDCARDS:
        raise refuse(node, f"the pattern of {show(node)} has more than {MAX_PATTERN_WILDCARDS} wildcards")
    sql: exp.Expression = type(node)(this=paren(text.sql), expression=exp.Literal.string(pattern[0]))
    if node.args.get("negate"):
        sql = exp.Not(this=sql)
    return _condition(sql, text.set.nullable)


# ---------------------------------------------------------------------------------------------- text


def _texts(compiler: Compiler, node: exp.Expression, *operands: exp.Expression) -> list[Typed]:
    typed = [compiler.value(o) for o in operands]
    for operand, t in zip(operands, typed, strict=True):
        if t.kind is not Kind.TEXT:
            raise refuse(operand, f"{show(operand)} is {t.kind.value}, where {show(node)} needs text")
    return typed


def _mapped_text(source: ValueSet, function: Callable[[str], str]) -> ValueSet:
    """The value set of a text function: mapped value by value where all are ASCII (so that engines agree)."""
    values = None
    if source.values is not None and all(isinstance(v, str) and v.isascii() for v in source.values):
        values = tuple(dict.fromkeys(function(str(v)) for v in source.values))
    return ValueSet(TEXT, values=values, nullable=source.nullable, null_key=source.null_key)


@_handles(exp.Lower, args="this")
def _lower(compiler: Compiler, node: exp.Expression) -> Typed:
    (text,) = _texts(compiler, node, node.this)
    return Typed(func("lower", text.sql), _mapped_text(text.set, str.lower))


@_handles(exp.Upper, args="this")
def _upper(compiler: Compiler, node: exp.Expression) -> Typed:
    (text,) = _texts(compiler, node, node.this)
    return Typed(func("upper", text.sql), _mapped_text(text.set, str.upper))


@_handles(exp.Trim, args="this")
def _trim(compiler: Compiler, node: exp.Expression) -> Typed:
    (text,) = _texts(compiler, node, node.this)
    return Typed(func("trim", text.sql), _mapped_text(text.set, lambda v: v.strip(" ")))


@_handles(exp.Length, args="this")
def _length(compiler: Compiler, node: exp.Expression) -> Typed:
    (text,) = _texts(compiler, node, node.this)
    bounds = Interval(Fraction(0), math.inf)
    if text.set.values:
        lengths = [len(str(v)) for v in text.set.values]
        bounds = Interval(Fraction(min(lengths)), Fraction(max(lengths)))
    machine = Interval(Fraction(0), Fraction(2**40))
    new = ValueSet(INTEGER, bounds, machine, None, Fraction(1), text.set.nullable, text.set.null_key)
    return Typed(cast(func("length", text.sql), "BIGINT"), new)


def _small_integer(compiler: Compiler, node: exp.Expression, argument: exp.Expression, lowest: int) -> int:
    found = compiler.constant(argument)
    if found is None or not isinstance(found[0], int) or not lowest <= found[0] <= 1_000_000:
        raise refuse(node, f"{show(argument)} in {show(node)} must be a whole number from {lowest} to 1000000")
    return found[0]


@_handles(exp.Substring, args="this start length")
def _substring(compiler: Compiler, node: exp.Expression) -> Typed:
    (text,) = _texts(compiler, node, node.this)
    start = _small_integer(compiler, node, node.args["start"], 1)
    arguments, stop = [text.sql, exp.Literal.number(start)], None
    if node.args.get("length"):
        length = _small_integer(compiler, node, node.args["length"], 0)
        arguments.append(exp.Literal.number(length))
        stop = start - 1 + length
    return Typed(func("substring", *arguments), _mapped_text(text.set, lambda v: v[start - 1 : stop]))


@_handles(exp.Left, exp.Right)
def _left_right(compiler: Compiler, node: exp.Expression) -> Typed:
    (text,) = _texts(compiler, node, node.this)
    count = _small_integer(compiler, node, node.expression, 0)
    left = isinstance(node, exp.Left)

    def part(v: str) -> str:
        return v[:count] if left else v[max(0, len(v) - count) :]

    sql = func("left" if left else "right", text.sql, exp.Literal.number(count))
    return Typed(sql, _mapped_text(text.set, part))


@_handles(exp.StartsWith, exp.EndsWith, exp.Contains, args="this expression")
def _text_test(compiler: Compiler, node: exp.Expression) -> Typed:
    text, other = _texts(compiler, node, node.this, node.expression)
    names = {exp.StartsWith: "starts_with", exp.EndsWith: "ends_with", exp.Contains: "contains"}
    sql = func(names[type(node)], text.sql, other.sql)
    return _condition(sql, text.set.nullable or other.set.nullable)


# ---------------------------------------------------------------------------------------------- casts

_CAST_TYPES: dict[exp.DType, tuple[ColumnType, int | None]] = {
    exp.DType.BOOLEAN: (BOOLEAN, None),
    exp.DType.TINYINT: (INTEGER, 8),
    exp.DType.SMALLINT: (INTEGER, 16),
    exp.DType.INT: (INTEGER, 32),
    exp.DType.BIGINT: (INTEGER, 64),
    exp.DType.FLOAT: (DOUBLE, None),
    exp.DType.DOUBLE: (DOUBLE, None),
    exp.DType.TEXT: (TEXT, None),
    exp.DType.VARCHAR: (TEXT, None),
    exp.DType.DATE: (DATE, None),
    exp.DType.TIMESTAMP: (TIMESTAMP, None),
    exp.DType.DATETIME: (TIMESTAMP, None),
}


@_handles(exp.Cast, exp.TryCast, args="this to safe")
def _cast(compiler: Compiler, node: exp.Expression) -> Typed:
    target = node.args["to"]
    if target.this in (exp.DType.DECIMAL, exp.DType.UDECIMAL):
        return _cast_to_decimal(compiler, node, target)
    entry = _CAST_TYPES.get(target.this)
    if entry is None or (target.expressions and entry[0] != TEXT):
        raise refuse(
            node, f"a cast to {target.sql('duckdb')} isn't supported over private rows",
            "cast to BOOLEAN, INTEGER, BIGINT, DECIMAL, DOUBLE, DATE or TIMESTAMP",
        )  # fmt: skip
    kind, bits = entry
    inner = compiler.value(node.this)
    if is_null(inner):
        return _null_as(inner, kind)
    if inner.kind is Kind.TEXT and inner.is_constant and kind.kind is not Kind.TEXT:
        return _literal_as(node, inner, kind)
    caster = _CASTERS.get((inner.kind, kind.kind))
    if caster is None:
        raise refuse(node, f"{show(node)} casts {inner.kind.value} to {kind.kind.value}, which isn't supported")
    return caster(inner, kind, bits)


Caster = Callable[[Typed, ColumnType, int | None], Typed]


def _same(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    return inner


def _to_integer(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    """Half to even from DOUBLE, half away from zero from DECIMAL: either way inside the rounded-outward interval."""
    half = Fraction(bits or 64)
    limit = Interval(Fraction(-(2 ** (int(half) - 1))), Fraction(2 ** (int(half) - 1) - 1))

    def whole(i: Interval) -> Interval:
        if inner.kind is Kind.INTEGER:
            return i
        return Interval(
            i.lower if math.isinf(i.lower) else Fraction(round(i.lower) if inner.kind is Kind.DOUBLE
                                                         else _round_half_away(i.lower)),
            i.upper if math.isinf(i.upper) else Fraction(round(i.upper) if inner.kind is Kind.DOUBLE
                                                         else _round_half_away(i.upper)),
        )  # fmt: skip

    machine = whole(inner.set.machine)
    fits = limit.contains(machine.lower) and limit.contains(machine.upper)
    bounds = whole(inner.set.bounds)
    grain = inner.set.grain if inner.set.grain and inner.set.grain.denominator == 1 else Fraction(1)
    new = ValueSet(
        INTEGER, bounds, machine.intersect(limit), inner.set.values if inner.kind is Kind.INTEGER else None,
        grain, inner.set.nullable or not fits, inner.set.null_key or not fits,
    )  # fmt: skip
    names = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}
    return Typed(try_cast(inner.sql, names[int(half)]), new)


def _to_double(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    return _as_double(inner)


def _to_boolean(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    return _condition(exp.NEQ(this=paren(inner.sql), expression=exp.Literal.number(0)), inner.set.nullable)


def _from_boolean(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    number_ = _boolean_as_integer(inner)
    return number_ if kind == INTEGER else _as_double(number_)


def _from_text(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    """Private text that doesn't read as the type is NULL."""
    names = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}
    name = names[bits] if bits else kind.kind.value.upper()
    raw = try_cast(inner.sql, name)
    new = ValueSet(
        kind, Interval(), machine_range(kind), None, natural_grain(kind), nullable=True, null_key=True
    )
    return Typed(clip(raw, new), new)


def _to_date(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    def days(i: Interval) -> Interval:
        return i.map(lambda x: Fraction(math.floor(x / DAY_MICROSECONDS)))

    new = replace(
        inner.set, type=DATE, bounds=days(inner.set.bounds), machine=days(inner.set.machine), values=None,
        grain=Fraction(1),
    )  # fmt: skip
    return Typed(cast(inner.sql, "DATE"), new)


def _to_timestamp(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    return _as_timestamp(inner)


_CASTERS: dict[tuple[Kind, Kind], Caster] = {
    **{(k, Kind.INTEGER): _to_integer for k in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)},
    **{(k, Kind.DOUBLE): _to_double for k in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)},
    **{(k, Kind.BOOLEAN): _to_boolean for k in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)},
    **{(Kind.BOOLEAN, k): _from_boolean for k in (Kind.INTEGER, Kind.DOUBLE)},
    **{(Kind.TEXT, k): _from_text for k in (Kind.INTEGER, Kind.DOUBLE, Kind.DATE, Kind.TIMESTAMP)},
    **{(k, k): _same for k in (Kind.BOOLEAN, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP)},
    (Kind.TIMESTAMP, Kind.DATE): _to_date,
    (Kind.DATE, Kind.TIMESTAMP): _to_timestamp,
}


def _cast_to_decimal(compiler: Compiler, node: exp.Expression, target: exp.Expression) -> Typed:
    sizes = [int(p.name) for p in target.expressions] or [18, 3]
    width, scale = sizes[0], sizes[1] if len(sizes) > 1 else 0
    if not (0 < width <= MAX_DIGITS and 0 <= scale <= width):
        raise refuse(node, f"{target.sql('duckdb')} is not a valid type")
    (inner,) = _numbers(compiler, node, node.this)
    kind = ColumnType(Kind.DECIMAL, width, scale)
    step = Fraction(1, 10**scale)

    def snapped(i: Interval) -> Interval:
        return i.map(lambda x: Fraction(_round_half_away(x / step)) * step)

    machine, limit = snapped(inner.set.machine), machine_range(kind)
    fits = limit.contains(machine.lower) and limit.contains(machine.upper)
    nullable = inner.set.nullable or not fits
    new = ValueSet(kind, snapped(inner.set.bounds), machine.intersect(limit), None, step, nullable, nullable)
    return Typed(try_cast(inner.sql, f"DECIMAL({width}, {scale})"), new)


# ---------------------------------------------------------------------------------------------- dates and times

_PARTS: dict[str, tuple[int, int] | None] = {
    "year": None,
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "dow": (0, 6),
    "isodow": (1, 7),
    "dayofyear": (1, 366),
    "doy": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
_TIME_PARTS = ("hour", "minute", "second")


def _as_day(value: Number, kind: Kind) -> dt.date:
    days = math.floor(value) if kind is Kind.DATE else math.floor(value / DAY_MICROSECONDS)
    return EPOCH + dt.timedelta(days=days)


def _temporal(compiler: Compiler, node: exp.Expression, operand: exp.Expression) -> Typed:
    """A date or timestamp; a text literal is read as one."""
    typed = compiler.value(operand)
    if typed.kind is Kind.TEXT and typed.is_constant:
        typed = _literal_as(node, typed, TIMESTAMP)
    if typed.kind not in (Kind.DATE, Kind.TIMESTAMP):
        raise refuse(operand, f"{show(operand)} is {typed.kind.value}, where {show(node)} needs a date")
    return typed


def _part(compiler: Compiler, node: exp.Expression, part: str, operand: exp.Expression) -> Typed:
    part = part.lower()
    if part not in _PARTS:
        raise refuse(node, f"the date part {part} isn't supported", f"use one of {', '.join(_PARTS)}")
    typed = _temporal(compiler, node, operand)
    if part in _TIME_PARTS and typed.kind is Kind.DATE:
        typed = _as_timestamp(typed)
    span = _PARTS[part]
    if span is not None:
        bounds = machine = Interval(Fraction(span[0]), Fraction(span[1]))
    else:
        bounds, machine = (
            i.map(lambda x: Fraction(_as_day(x, typed.kind).year)) for i in (typed.set.bounds, typed.set.machine)
        )
    new = ValueSet(INTEGER, bounds, machine, None, Fraction(1), typed.set.nullable, typed.set.null_key)
    return Typed(cast(func("date_part", exp.Literal.string(part), typed.sql), "BIGINT"), new)


@_handles(exp.Extract)
def _extract(compiler: Compiler, node: exp.Expression) -> Typed:
    return _part(compiler, node, node.this.name, node.expression)


@_handles(
    exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear, exp.Hour,
    exp.Minute, exp.Second, args="this",
)  # fmt: skip
def _named_part(compiler: Compiler, node: exp.Expression) -> Typed:
    name = {"dayofmonth": "day"}.get(type(node).__name__.lower(), type(node).__name__.lower())
    return _part(compiler, node, name, node.this)


@_handles(exp.Anonymous, args="this expressions")
def _anonymous(compiler: Compiler, node: exp.Expression) -> Typed:
    name = node.name.lower()
    if name in ("date_part", "datepart") and len(node.expressions) == 2:
        part = node.expressions[0]
        if isinstance(part, exp.Literal) and part.is_string:
            return _part(compiler, node, part.name, node.expressions[1])
    raise _unsupported(node)


_TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour", "minute")


def _truncate(day: dt.date, unit: str) -> dt.date:
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=3 * ((day.month - 1) // 3) + 1, day=1)
        case "month":
            return day.replace(day=1)
        case _:
            # the week of year 1's first days starts before year 1 has begun
            return max(dt.date.min, day - dt.timedelta(days=day.weekday())) if day.toordinal() > 7 else dt.date.min


MAX_PERIODS = 100_000


@_handles(exp.TimestampTrunc, exp.DateTrunc, args="this unit zone input_type_preserved")
def _date_trunc(compiler: Compiler, node: exp.Expression) -> Typed:
    unit = node.args["unit"].name.lower()
    if node.args.get("zone") or unit not in _TRUNCATIONS:
        raise refuse(node, f"{show(node)} isn't supported", f"truncate to one of {', '.join(_TRUNCATIONS)}")
    typed = _temporal(compiler, node, node.this)
    if unit in ("hour", "minute"):
        typed = _as_timestamp(typed)
    per_day = Fraction(1) if typed.kind is Kind.DATE else Fraction(DAY_MICROSECONDS)
    seconds = {"hour": 3600, "minute": 60}.get(unit)

    def floor(x: Number) -> Number:
        if seconds:
            return Fraction(math.floor(x / (seconds * 10**6)) * seconds * 10**6)
        return Fraction((_truncate(_as_day(x, typed.kind), unit) - EPOCH).days) * per_day

    bounds, machine = typed.set.bounds.map(floor), typed.set.machine.map(floor)
    values, grain = None, per_day
    if seconds:
        grain = Fraction(seconds * 10**6)
    elif unit != "day" and bounds.bounded:
        values = _periods(bounds, unit, typed.kind, per_day)
    new = ValueSet(typed.set.type, bounds, machine, values, grain, typed.set.nullable, typed.set.null_key)
    truncated = func("date_trunc", exp.Literal.string(unit), typed.sql)
    return Typed(cast(truncated, typed.kind.value.upper()), new)


def _periods(bounds: Interval, unit: str, kind: Kind, per_day: Fraction) -> tuple[Literal, ...] | None:
    """The starts of all periods in the bounds."""
    first, last = _as_day(bounds.lower, kind), _as_day(bounds.upper, kind)
    step = {"year": 366, "quarter": 92, "month": 31, "week": 7}[unit]
    if (last - first).days // step > MAX_PERIODS:
        return None
    starts, day = [], _truncate(first, unit)
    while day <= last:
        starts.append(int((day - EPOCH).days * per_day))
        if (dt.date.max - day).days <= step:
            break
        day = _truncate(day + dt.timedelta(days=step), unit)
    return tuple(starts)


@_handles(exp.DateDiff, args="this expression unit date_part_boundary big_int")
def _date_diff(compiler: Compiler, node: exp.Expression) -> Typed:
    """Boundaries of a unit between two moments; like DuckDB, counted from the second argument of the node."""
    unit = node.args["unit"].name.lower() if node.args.get("unit") else "day"
    index = _UNIT_INDEX.get(unit)
    if index is None:
        raise refuse(node, f"{show(node)} isn't supported", f"use one of {', '.join(_UNIT_INDEX)}")
    end, start = _temporal(compiler, node, node.this), _temporal(compiler, node, node.expression)

    def indexed(typed: Typed, i: Interval) -> Interval:
        return i.map(lambda x: Fraction(index(_as_day(x, typed.kind))))

    bounds = indexed(end, end.set.bounds) - indexed(start, start.set.bounds)
    machine = indexed(end, end.set.machine) - indexed(start, start.set.machine)
    nullable = end.set.nullable or start.set.nullable
    sql = func("date_diff", exp.Literal.string(unit), _as_timestamp(start).sql, _as_timestamp(end).sql)
    return Typed(sql, ValueSet(INTEGER, bounds, machine, None, Fraction(1), nullable, nullable))


_UNIT_INDEX: dict[str, Callable[[dt.date], int]] = {
    "day": lambda d: d.toordinal(),
    "month": lambda d: d.year * 12 + d.month,
    "quarter": lambda d: d.year * 4 + (d.month - 1) // 3,
    "year": lambda d: d.year,
}

_INTERVAL_DAYS: dict[str, tuple[int, int]] = {
    "day": (1, 1), "week": (7, 7), "month": (28, 31), "quarter": (89, 92), "year": (365, 366),
}  # fmt: skip
MAX_INTERVAL = 10_000


def _temporal_shift(compiler: Compiler, node: exp.Expression, sign: int) -> Typed | None:
    """date - date, date ± days, date ± INTERVAL; None where neither side is temporal."""
    left_node, right_node = node.this, node.expression
    if isinstance(left_node, exp.Interval) and sign == 1:
        left_node, right_node = right_node, left_node
    if isinstance(right_node, exp.Interval):
        return _plus_interval(compiler, node, left_node, right_node, sign)
    left, right = compiler.value(left_node), compiler.value(right_node)
    if left.kind not in (Kind.DATE, Kind.TIMESTAMP):
        return None
    if left.kind is right.kind is Kind.DATE and sign == -1:
        bounds, machine = left.set.bounds - right.set.bounds, left.set.machine - right.set.machine
        nullable = left.set.nullable or right.set.nullable
        sql = cast(_binary(node, left.sql, right.sql), "BIGINT")
        return Typed(sql, ValueSet(INTEGER, bounds, machine, None, Fraction(1), nullable, nullable))
    days = right.set.values[0] if right.is_constant and right.set.values else None
    if left.kind is Kind.DATE and isinstance(days, int) and abs(days) <= 366 * MAX_INTERVAL:
        return _shifted(node, left, sign * days, sign * days, exp.Literal.number(abs(days)), days < 0)
    raise refuse(node, f"{show(node)} isn't supported", "subtract two dates, or add INTERVAL n DAY")


def _shifted(
    node: exp.Expression, typed: Typed, low: int, high: int, amount: exp.Expression, negative: bool = False
) -> Typed:
    unit = 1 if typed.kind is Kind.DATE else DAY_MICROSECONDS
    shift = Interval(Fraction(min(low, high) * unit), Fraction(max(low, high) * unit))
    full = machine_range(typed.set.type)
    bounds, machine = (typed.set.bounds + shift), (typed.set.machine + shift)
    if typed.is_constant and low == high and typed.set.values:
        value = int(number(typed.set.values[0])) + low * unit
        if full.contains(Fraction(value)):
            return Typed(literal_sql(value, typed.set.type), constant(value, typed.set.type))
    if negative:
        node = exp.Sub() if isinstance(node, exp.Add) else exp.Add()
    raw = _binary(node, typed.sql, amount)
    new = ValueSet(
        typed.set.type, bounds.intersect(full), machine.intersect(full), None, Fraction(unit), typed.set.nullable,
        typed.set.null_key,
    )  # fmt: skip
    sql = cast(raw, typed.kind.value.upper())
    return Typed(clip(sql, new) if machine != new.machine else sql, new)


def _plus_interval(
    compiler: Compiler, node: exp.Expression, operand: exp.Expression, interval: exp.Interval, sign: int
) -> Typed:
    typed = _temporal(compiler, node, operand)
    amount = compiler.constant(interval.this) if interval.this is not None else None
    text = str(amount[0]) if amount and amount[0] is not None else ""
    unit = interval.args["unit"].name.lower().removesuffix("s") if interval.args.get("unit") else ""
    days = _INTERVAL_DAYS.get(unit)
    if days is None or not text.lstrip("-").isdigit() or abs(int(text)) > MAX_INTERVAL:
        raise refuse(
            node, f"{show(interval)} isn't supported", "write INTERVAL 30 DAY (or WEEK, MONTH, QUARTER, YEAR)"
        )
    count = int(text)
    literal = exp.Interval(this=exp.Literal.string(str(abs(count))), unit=exp.Var(this=unit.upper()))
    total = sign * count
    if typed.is_constant and unit in ("month", "quarter", "year") and typed.set.values:
        months = total * {"month": 1, "quarter": 3, "year": 12}[unit]
        moved = _add_months(_as_day(number(typed.set.values[0]), typed.kind), months)
        if moved is not None and typed.kind is Kind.DATE:
            value = (moved - EPOCH).days
            return Typed(literal_sql(value, DATE), constant(value, DATE))
    return _shifted(node, typed, total * days[0], total * days[1], literal, count < 0)


def _add_months(day: dt.date, months: int) -> dt.date | None:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        return None
    for last in (day.day, 30, 29, 28):
        try:
            return dt.date(year, month + 1, min(day.day, last))
        except ValueError:
            continue
    return None


# ---------------------------------------------------------------------------------------------- narrowing


def narrow(compiler: Compiler, node: exp.Expression, *, negate: bool = False) -> Mapping[str, ValueSet]:
    """The columns' value sets on the rows where a condition is true (or, negated, false).

    Knowledge for accuracy only: nothing rests on it that the SQL doesn't enforce. Conditions it can't read change
    nothing.
    """
    while isinstance(node, (exp.Paren, exp.Not)):
        negate ^= isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, exp.Or if negate else exp.And):
        for term in connector_terms(node, type(node)):
            compiler = compiler.with_columns(narrow(compiler, term, negate=negate))
        return compiler.columns
    if isinstance(node, (exp.And, exp.Or)):
        terms = connector_terms(node, type(node))
        return _either([narrow(compiler, term, negate=negate) for term in terms])
    return _narrow_atom(compiler, node, negate)


def _either(alternatives: list[Mapping[str, ValueSet]]) -> Mapping[str, ValueSet]:
    result = dict(alternatives[0])
    for other in alternatives[1:]:
        for name, value_set in other.items():
            if value_set != result[name]:
                mine = result[name]
                merged = joined([mine, value_set], value_set.type)
                result[name] = replace(merged, null_key=mine.null_key or value_set.null_key)
    return result


_MIRROR: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip
_NEGATION: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.LT: exp.GTE, exp.LTE: exp.GT, exp.GT: exp.LTE, exp.GTE: exp.LT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
}  # fmt: skip


def _narrow_atom(compiler: Compiler, node: exp.Expression, negate: bool) -> Mapping[str, ValueSet]:
    columns = compiler.columns
    if isinstance(node, exp.Column) and node.name in columns and columns[node.name].kind is Kind.BOOLEAN:
        return _put(columns, node.name, columns[node.name].restricted((not negate,)).not_null())
    if isinstance(node, exp.Is) and isinstance(node.this, exp.Column) and node.this.name in columns:
        is_not_null = isinstance(node.expression, exp.Not) and isinstance(node.expression.this, exp.Null)
        is_null_test = isinstance(node.expression, exp.Null)
        if (is_not_null and not negate) or (is_null_test and negate):
            return _put(columns, node.this.name, columns[node.this.name].not_null())
        return columns
    if isinstance(node, exp.Between) and not negate:
        lower = exp.GTE(this=node.this, expression=node.args["low"])
        upper = exp.LTE(this=node.this, expression=node.args["high"])
        return narrow(compiler.with_columns(narrow(compiler, lower)), upper)
    if isinstance(node, exp.In) and node.expressions and not negate:
        return _narrow_in(compiler, node)
    if type(node) in _MIRROR:
        return _narrow_comparison(compiler, node, negate)
    return columns


def _put(columns: Mapping[str, ValueSet], name: str, value_set: ValueSet) -> Mapping[str, ValueSet]:
    return {**columns, name: value_set}


def _narrow_in(compiler: Compiler, node: exp.In) -> Mapping[str, ValueSet]:
    found = [compiler.constant(item) for item in node.expressions]
    if not isinstance(node.this, exp.Column) or any(f is None for f in found):
        return compiler.columns
    value_set = compiler.columns.get(node.this.name)
    if value_set is None:
        return compiler.columns
    values = [_comparable(f, value_set) for f in found if f is not None and f[0] is not None]
    if any(v is None for v in values):
        return compiler.columns
    ordered = tuple(dict.fromkeys(values))
    return _put(compiler.columns, node.this.name, value_set.restricted(ordered).not_null())


def _comparable(found: tuple[Literal, ColumnType], value_set: ValueSet) -> Literal:
    """A constant as a value of the column's type, None where that can't be said."""
    value, kind = found
    if isinstance(value, str) and value_set.kind is not Kind.TEXT:
        return parse_text(value, value_set.type)
    if isinstance(value, str) or value is None:
        return value
    if value_set.kind is Kind.TEXT:
        return None
    if kind.kind is Kind.DATE and value_set.kind is Kind.TIMESTAMP:
        return int(value) * DAY_MICROSECONDS
    if kind.kind is Kind.TIMESTAMP and value_set.kind is Kind.DATE:
        return Fraction(int(value), DAY_MICROSECONDS)
    if value_set.kind is Kind.BOOLEAN:
        return bool(value) if value in (0, 1) else None
    return value


def _narrow_comparison(compiler: Compiler, node: exp.Expression, negate: bool) -> Mapping[str, ValueSet]:
    operator = _NEGATION[type(node)] if negate else type(node)
    left, right = node.this, node.expression
    value = compiler.constant(right)
    if value is None:
        value, left, operator = compiler.constant(left), right, _MIRROR[operator]
    if value is None or value[0] is None:
        return compiler.columns
    if operator is exp.EQ and isinstance(left, exp.Column) and left.name in compiler.columns:
        allowed = _comparable(value, compiler.columns[left.name])
        if allowed is not None:
            value_set = compiler.columns[left.name].restricted((allowed,)).not_null()
            return _put(compiler.columns, left.name, value_set)
    return _narrow_inverted(compiler, left, operator, value)


def _narrow_inverted(
    compiler: Compiler, node: exp.Expression, operator: type[exp.Expression], value: tuple[Literal, ColumnType]
) -> Mapping[str, ValueSet]:
    """Undo monotone steps (± constant, * or / constant, parentheses) down to a column, then cut its interval."""
    if operator is exp.NEQ:
        return compiler.columns
    interval: Interval | None = None
    while not isinstance(node, exp.Column):
        if isinstance(node, exp.Paren):
            node = node.this
            continue
        interval = interval or _half_line(operator, value)
        step = _undo(compiler, node, interval) if interval else None
        if step is None:
            return compiler.columns
        node, interval = step
        operator = exp.LTE  # the interval carries the direction from here on
    value_set = compiler.columns.get(node.name)
    if value_set is None or value_set.kind is Kind.TEXT:
        return compiler.columns
    if interval is None:
        point = _comparable(value, value_set)
        if point is None or isinstance(point, str):
            return compiler.columns
        interval = _half_line(operator, (point, value_set.type), strict_step=_whole_step(value_set, point))
    if interval is None:
        return compiler.columns
    if value_set.kind in (Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP):
        lower = interval.lower if math.isinf(interval.lower) else Fraction(math.ceil(interval.lower))
        upper = interval.upper if math.isinf(interval.upper) else Fraction(math.floor(interval.upper))
        interval = Interval(lower, upper)
    return _put(compiler.columns, node.name, value_set.narrowed(interval).not_null())


def _whole_step(value_set: ValueSet, point: Literal) -> Fraction:
    """How far a strict comparison moves the end: one step where values and constant are on a natural grain."""
    step = natural_grain(value_set.type)
    return step if step is not None and number(point) % step == 0 else Fraction(0)


def _half_line(
    operator: type[exp.Expression], value: tuple[Literal, ColumnType], strict_step: Fraction = Fraction(0)
) -> Interval | None:
    if isinstance(value[0], str) or value[0] is None:
        return None
    x = number(value[0])
    match operator:
        case exp.EQ:
            return Interval(x, x)
        case exp.LT:
            return Interval(-math.inf, x - strict_step)
        case exp.LTE:
            return Interval(-math.inf, x)
        case exp.GT:
            return Interval(x + strict_step, math.inf)
        case exp.GTE:
            return Interval(x, math.inf)
    return None


def _undo(compiler: Compiler, node: exp.Expression, interval: Interval) -> tuple[exp.Expression, Interval] | None:
    if isinstance(node, exp.Neg):
        return node.this, -interval
    if not isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div)):
        return None
    left, right = compiler.constant(node.this), compiler.constant(node.expression)
    found = right or left
    if (left is None) == (right is None) or found is None or not isinstance(found[0], (int, Fraction)):
        return None
    if found[1].kind not in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE):
        return None
    c = Interval(number(found[0]), number(found[0]))
    other = node.this if right is not None else node.expression
    match node:
        case exp.Add():
            return other, interval - c
        case exp.Sub():
            return other, (interval + c if right is not None else c - interval)
        case exp.Mul() if c.lower != 0:
            return other, interval / c
        case exp.Div() if right is not None and c.lower != 0:
            return other, interval * c
    return None
