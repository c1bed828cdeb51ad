"""Group keys: their public domain, their code in SQL, and which rows have none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from dpsql.errors import MissingBounds
from dpsql.expressions import Compiler, Shown, Typed, refuse
from dpsql.expressions.literals import DATE, INTEGER, double_sql, literal_sql, paren, try_cast
from dpsql.expressions.narrowing import unparenthesised
from dpsql.expressions.numbers import unbounded_error
from dpsql.policy import Kind
from dpsql.query import Key, KeyDomain
from dpsql.valueset import INT64, Interval, Literal, ValueSet, number

MAX_CELLS = 4_000_000
MAX_LISTED_KEYS = 100_000
MAX_PRIVATE_DIGITS = 15
"""Of decimals as private keys: a key's code is computed as a DOUBLE."""
_PRIVATE_HINT = "or the policy can allow keys that aren't public: privacy.delta"


def key_of(
    compiler: Compiler, node: exp.Expr, text: Shown, where: Sequence[exp.Expr] = (), *, private: bool = False
) -> Key:
    """A GROUP BY expression with its public domain, or a refusal where the domain isn't finite.

    `where` are the query's filters: one that lists the values of the very expression gives its domain. The list is the
    query's own, so it tells nothing. Where keys may be `private`, one without a finite domain is.

    A bare column drops the rows whose value is outside its value set. Inside an expression the values are clipped to
    their sets first, so that it can't fail; a row is dropped where the expression's value isn't in the domain.
    """
    leaves = {c.name: compiler.columns[c.name] for c in node.find_all(exp.Column) if c.name in compiler.columns}
    if not leaves:
        compiler.value(node)
        raise refuse(node, f"the group key {text} is the same for every row", "leave it out of GROUP BY")
    as_key = compiler.with_columns({**compiler.columns, **{n: _key_leaf(s) for n, s in leaves.items()}})
    typed = compiler.value(node)
    keyed = as_key.value(node).set  # knows where NULL is no key, and takes no grain from a floating-point column
    typed = Typed(typed.sql, replace(typed.set, nullable=keyed.nullable, grain=keyed.grain), typed.raw)
    size = typed.set.domain_size()
    if size is None and (values := _listed(compiler, node, where)):
        typed = replace(typed, set=replace(typed.set.restricted(values), nullable=False))
        size = typed.set.domain_size()
    whole = typed.kind is not Kind.DOUBLE or (typed.set.grain is not None and typed.set.grain.denominator == 1)
    if (size is None or size > MAX_CELLS) and private and whole:
        return _private_key(compiler, node, text)
    if size is None or size > MAX_CELLS:
        raise _infinite_key(as_key, node, text, typed.set, size)
    domain = _domain(node, text, typed.set)
    bare = isinstance(node, exp.Column) and node.name not in compiler.moved
    raw = bare and typed.kind in (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN)
    # That a code is in the domain is checked after the aggregation; only a clipped column must be looked at before.
    guards = (_inside(node.name, typed.set),) if bare and not raw else ()
    value = exp.column(node.name, quoted=True) if raw else typed.sql
    return Key(text, _code(value, domain), guards, domain, typed.set, _origin(node, compiler))


def _private_key(compiler: Compiler, node: exp.Expr, text: Shown) -> Key:
    """A key whose values are found in the data. NULL is one of them only where the policy says that it may occur."""
    typed = compiler.value(node)
    value_set = typed.set
    digits = value_set.type.precision or 0
    if value_set.kind is Kind.DECIMAL and digits > MAX_PRIVATE_DIGITS:
        raise refuse(node, f"the group key {text} has up to {digits} digits", "cast it to an integer, or to text")
    if value_set.kind is Kind.INTEGER and not (-INT64 <= value_set.machine.lower <= value_set.machine.upper < INT64):
        raise refuse(node, f"the group key {text} takes values beyond 64 bits", "group by something smaller")
    step = Fraction(1, 10 ** (value_set.type.scale or 0))
    if value_set.kind is Kind.DOUBLE and value_set.grain is not None:
        step = value_set.grain
    domain = KeyDomain(value_set.kind, None, step=step, null=value_set.nullable, private=True)
    raw = (
        isinstance(node, exp.Column) and value_set.kind in (Kind.TEXT, Kind.INTEGER) and node.name not in compiler.moved
    )
    value = exp.column(node.name, quoted=True) if raw else typed.sql
    return Key(text, _code(value, domain), (), domain, value_set, "the data: shown if enough units have it")


def _listed(compiler: Compiler, node: exp.Expr, where: Sequence[exp.Expr]) -> tuple[Literal, ...]:
    """The values that a filter `node IN (…)` lists."""
    for condition in where:
        if isinstance(condition, exp.In) and condition.expressions and unparenthesised(condition.this) == node:
            found = [compiler.constant(value) for value in condition.expressions]
            return tuple(c[0] for c in found if c is not None and c[0] is not None) if all(found) else ()
    return ()


def _key_leaf(value_set: ValueSet) -> ValueSet:
    """A column's value set inside a group key: NULL only where it is a key, and floating-point values on no grain."""
    grain = None if value_set.kind is Kind.DOUBLE else value_set.grain
    return replace(value_set, nullable=value_set.null_key, grain=grain)


def _inside(name: str, value_set: ValueSet) -> exp.Expr:
    """The raw column inside its value set, or NULL."""
    column = exp.column(name, quoted=True)
    lower, upper = (_plain(Fraction(end)) for end in (value_set.bounds.lower, value_set.bounds.upper))
    between = exp.Between(this=column, low=literal_sql(lower, value_set.type), high=literal_sql(upper, value_set.type))
    return exp.Paren(this=exp.or_(between, exp.Is(this=column.copy(), expression=exp.Null())))


def _plain(value: Fraction) -> int | Fraction:
    return int(value) if value.denominator == 1 else value


def _domain(node: exp.Expr, text: Shown, value_set: ValueSet) -> KeyDomain:
    null, kind = value_set.nullable, value_set.kind
    step = value_set.grain or Fraction(1)
    if kind is not Kind.TEXT and value_set.bounds.magnitude >= INT64:
        raise refuse(node, f"the group key {text} takes values beyond 64 bits", "group by something smaller")
    if kind is not Kind.TEXT and value_set.bounds.magnitude * 10 ** (value_set.type.scale or 0) >= INT64:
        raise refuse(node, f"the group key {text} takes values with too many digits", "group by something coarser")
    listed = value_set.values or ()
    if kind is Kind.DOUBLE and (step.denominator != 1 or any(number(v).denominator != 1 for v in listed)):
        raise refuse(
            node,
            f"the group key {text} takes fractional floating-point values",
            "use FLOOR to get whole numbers",
        )
    if value_set.values is not None:
        if len(value_set.values) > MAX_LISTED_KEYS:
            raise refuse(node, f"the group key {text} has too many values to list", "group by a bounded integer")
        if kind is Kind.TEXT:
            return KeyDomain(kind, value_set.values, count=len(value_set.values), null=null)
        step = Fraction(1, 10 ** (value_set.type.scale or 0))
        return KeyDomain(kind, value_set.values, 0, step, len(value_set.values), null)
    size = value_set.domain_size() or 0
    if kind not in (Kind.INTEGER, Kind.DOUBLE) and size > MAX_LISTED_KEYS:
        coarser = f"FLOOR({text} / 10)" if kind is Kind.DECIMAL else f"DATE_TRUNC('month', {text})"
        raise refuse(
            node, f"the group key {text} has {size:,} values; at most {MAX_LISTED_KEYS:,} {kind.value}s can be listed",
            f"group by something coarser, such as {coarser}",
        )  # fmt: skip
    first = -(-Fraction(value_set.bounds.lower) // step)
    return KeyDomain(kind, None, int(first), step, size, null)


def _code(value: exp.Expr, domain: KeyDomain) -> exp.Expr:
    """A key as an integer in units of the domain's step; text as it is. Total: NULL where there is no such number."""
    match domain.kind:
        case Kind.TEXT:
            return value
        case Kind.DATE:
            return _in_steps(exp.Sub(this=paren(value), expression=literal_sql(0, DATE)), domain)
        case Kind.TIMESTAMP:
            return _in_steps(exp.Anonymous(this="epoch_us", expressions=[value]), domain)
        case Kind.INTEGER:
            return _in_steps(value, domain)
        case Kind.DECIMAL | Kind.DOUBLE:
            in_steps = exp.Div(this=paren(value), expression=double_sql(domain.step))
            return try_cast(in_steps, "BIGINT")
    return value


def _in_steps(value: exp.Expr, domain: KeyDomain) -> exp.Expr:
    """An integer in units of the domain's step, of which it is a multiple."""
    if domain.step == 1:
        return value
    return try_cast(exp.IntDiv(this=paren(value), expression=literal_sql(int(domain.step), INTEGER)), "BIGINT")


def _origin(node: exp.Expr, compiler: Compiler) -> str:
    """Where a key's values come from, for EXPLAIN."""
    if isinstance(node, exp.Column):
        value_set = compiler.columns[node.name]
        if value_set.kind is Kind.BOOLEAN:
            return "boolean"
        return "listed values" if value_set.values is not None else "bounds"
    return "value set of the expression"


def _width(bounds: Interval) -> str:
    """How wide bins may be so that ten to a hundred fit into the bounds: a power of ten."""
    if not bounds.bounded or not 10 <= bounds.upper - bounds.lower < 10**15:
        return "1000"
    return "1" + "0" * (len(str(int(bounds.upper - bounds.lower))) - 2)


def _infinite_key(compiler: Compiler, node: exp.Expr, text: Shown, value_set: ValueSet, size: int | None) -> Exception:
    if size is not None:
        operand = f"({text})" if isinstance(node, exp.Binary) else text
        coarser = f"DATE_TRUNC('day', {text})" if value_set.kind is Kind.TIMESTAMP else f"FLOOR({operand} / 1000)"
        return refuse(node, f"the group key {text} has {size:,} values; at most {MAX_CELLS:,} are allowed",
                      f"group by something coarser, such as {coarser}")  # fmt: skip
    if isinstance(node, exp.Column) and value_set.kind in (Kind.TEXT, Kind.DOUBLE):
        table, name = compiler.origin(node.name)
        if value_set.kind is Kind.DOUBLE:
            width = _width(value_set.bounds)
            return refuse(node, f"column {name} of {table} holds floating-point numbers, which can't be group keys",
                          f"group by bins: FLOOR({name} / {width}) * {width}")  # fmt: skip
        return refuse(
            node, f"the values of column {name} of {table} are private, so they can't be group keys",
            f"the policy can list tables.{table}.columns.{name}.keys, or list them in the query: "
            f"WHERE {name} IN ('a', 'b'); {_PRIVATE_HINT}", MissingBounds,
        )  # fmt: skip
    for column in node.find_all(exp.Column):
        leaf = compiler.columns[column.name]
        if leaf.kind not in (Kind.TEXT, Kind.BOOLEAN) and not leaf.bounds.bounded:
            error = unbounded_error(compiler, node, f"the group key {text} has no finite set of values")
            error.hint = f"{error.hint}; {_PRIVATE_HINT}"
            return error
    return refuse(node, f"the group key {text} has no finite set of values that follows from the policy",
                  "use FLOOR(x / n) * n, DATE_TRUNC, CASE with literals, or a column with declared keys"
                  + ("" if value_set.kind is Kind.DOUBLE else f"; {_PRIVATE_HINT}"))  # fmt: skip
