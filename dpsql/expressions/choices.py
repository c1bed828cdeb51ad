"""Choices: CASE, IF, COALESCE, NULLIF, GREATEST, LEAST, and how operands come to one type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from dpsql.expressions.compiler import Compiler, Typed, handles, handles_function, is_null, refuse, show
from dpsql.expressions.literals import (
    DOUBLE,
    INTEGER,
    MAX_DIGITS,
    TIMESTAMP,
    case_when,
    cast,
    decimal_scale,
    func,
    literal_sql,
    paren,
    parse_text,
)
from dpsql.expressions.narrowing import narrow
from dpsql.expressions.numbers import as_double, boolean_as_integer, decimal_width
from dpsql.policy import ColumnType, Kind
from dpsql.valueset import (
    DAY_MICROSECONDS,
    Interval,
    constant,
    joined,
    number,
)


def unified(compiler: Compiler, node: exp.Expr, operands: Iterable[exp.Expr | Typed]) -> list[Typed]:
    """Operands brought to one type: integers and decimals to the widest, with a double everything to DOUBLE."""
    typed = [o if isinstance(o, Typed) else compiler.value(o) for o in operands]
    kinds = {t.kind for t in typed if not is_null(t)}
    if Kind.TEXT in kinds and (other := _widest(typed)) is not None:
        typed = [literal_as(node, t, other) for t in typed]
        kinds = {t.kind for t in typed if not is_null(t)}
    if len(kinds) <= 1 and Kind.DECIMAL not in kinds:
        kind = next((t.set.type for t in typed if not is_null(t)), INTEGER)
        return [null_as(t, kind) if is_null(t) else t for t in typed]
    if kinds <= {Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE, Kind.BOOLEAN}:
        return _unified_numbers(typed, kinds)
    if kinds == {Kind.DATE, Kind.TIMESTAMP}:
        return [as_timestamp(t) for t in typed]
    names = " and ".join(sorted(k.value for k in kinds))
    raise refuse(node, f"{show(node)} mixes {names}", _mixed_hint(kinds))


_WIDENING = ((Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE), (Kind.DATE, Kind.TIMESTAMP), (Kind.BOOLEAN,))


def _widest(typed: list[Typed]) -> ColumnType | None:
    """The type that a text literal beside these others is read as, None where there is none or they don't mix."""
    others = {t.kind: t.set.type for t in typed if t.kind is not Kind.TEXT and not is_null(t)}
    for widening in _WIDENING:
        if others and others.keys() <= set(widening):
            return others[max(others, key=widening.index)]
    return None


def null_as(typed: Typed, kind: ColumnType) -> Typed:
    return Typed(typed.sql, replace(typed.set, type=kind))


def _unified_numbers(typed: list[Typed], kinds: set[Kind]) -> list[Typed]:
    typed = [boolean_as_integer(t) if t.kind is Kind.BOOLEAN else t for t in typed]
    if Kind.DOUBLE not in kinds:
        scale = max(t.set.type.scale or 0 for t in typed)
        kind = ColumnType(Kind.DECIMAL, MAX_DIGITS, scale)
        widened = [replace(t.set, type=kind) for t in typed]
        if Kind.DECIMAL not in kinds:
            return typed
        if all(decimal_width(s) is not None for s in widened):
            width = max(decimal_width(s) or 1 for s in widened)
            return [Typed(cast(t.sql, f"DECIMAL({width}, {scale})"), s) for t, s in zip(typed, widened, strict=True)]
    return [null_as(t, DOUBLE) if is_null(t) else as_double(t) for t in typed]


def as_timestamp(typed: Typed) -> Typed:
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


_WRITTEN = {
    Kind.BOOLEAN: "write true or false",
    Kind.INTEGER: "write a whole number, such as 42",
    Kind.DECIMAL: "write a number, such as 1.25",
    Kind.DOUBLE: "write a number, such as 1.25",
    Kind.TEXT: "write a text in single quotes, such as 'a'",
    Kind.DATE: "write a date as '2024-12-31'",
    Kind.TIMESTAMP: "write a timestamp as '2024-12-31 23:59:00'",
}


def _mixed_hint(kinds: set[Kind]) -> str:
    if Kind.TEXT in kinds:
        return "write text in single quotes ('5'), or cast the text: CAST(x AS INTEGER)"
    temporal = next((kind for kind in (Kind.DATE, Kind.TIMESTAMP) if kind in kinds), None)
    return "cast one side" if temporal is None else _WRITTEN[temporal]


def literal_as(node: exp.Expr, typed: Typed, kind: ColumnType) -> Typed:
    """A text literal beside another type is read as that type, here, so that the engine never casts private text."""
    if typed.kind is not Kind.TEXT:
        return typed
    if not typed.is_constant or not typed.set.values:
        raise refuse(node, f"{show(node)} compares text with {kind.kind.value}", _mixed_hint({Kind.TEXT, kind.kind}))
    value = parse_text(str(typed.set.values[0]), kind)
    if value is None:
        text = typed.set.values[0]
        raise refuse(node, f"'{text}' in {show(node)} is not a valid {kind.kind.value}", _WRITTEN[kind.kind])
    exact = ColumnType(Kind.DECIMAL, MAX_DIGITS, decimal_scale(Fraction(value)) or 0)
    literal_kind = exact if kind.kind is Kind.DECIMAL and not isinstance(value, (str, bool)) else kind
    return Typed(literal_sql(value, literal_kind), constant(value, literal_kind))


@handles(exp.Case, args="this ifs default")
def _case(compiler: Compiler, node: exp.Expr) -> Typed:
    subject = node.args.get("this")
    conditions, values = [], []
    remaining = compiler
    for branch in node.args["ifs"]:
        condition = branch.this
        if subject is not None:
            condition = exp.EQ(this=subject.copy(), expression=condition.copy())
        conditions.append(compiler.predicate(condition))
        values.append(remaining.with_columns(narrow(remaining, condition)).value(branch.args["true"]))
        remaining = _otherwise(remaining, condition)
    default = node.args.get("default")
    values.append(remaining.value(default) if default is not None else Typed(exp.Null(), constant(None, INTEGER)))
    operands = unified(compiler, node, values)
    kind = next((t.set.type for t in operands if not is_null(t)), INTEGER)
    real = [t.set for t in operands if not is_null(t)] or [operands[0].set]
    new = joined(real, kind)
    if len(real) < len(operands):
        new = replace(new, nullable=True)
    sql = case_when(*zip(conditions, (t.sql for t in operands[:-1]), strict=True), default=operands[-1].sql)
    return Typed(sql, replace(new, null_key=new.nullable))


def _otherwise(compiler: Compiler, condition: exp.Expr) -> Compiler:
    """What holds of rows where a condition is false or unknown: a column may still be NULL."""
    narrowed = narrow(compiler, condition, negate=True)
    kept = {
        name: replace(new, nullable=compiler.columns[name].nullable, null_key=compiler.columns[name].null_key)
        for name, new in narrowed.items()
    }
    return compiler.with_columns(kept)


@handles(exp.If, args="this true false")
def _if(compiler: Compiler, node: exp.Expr) -> Typed:
    branch = exp.If(this=node.this, true=node.args["true"])
    return _case(compiler, exp.Case(ifs=[branch], default=node.args.get("false")))


@handles(exp.Coalesce, args="this expressions")
def _coalesce(compiler: Compiler, node: exp.Expr) -> Typed:
    operands = unified(compiler, node, [node.this, *node.expressions])
    real = [t.set for t in operands if not is_null(t)] or [operands[0].set]
    new = joined(real, real[0].type)
    new = replace(new, nullable=all(s.nullable for s in real), null_key=all(s.null_key for s in real))
    return Typed(exp.Coalesce(this=operands[0].sql, expressions=[t.sql for t in operands[1:]]), new)


@handles(exp.Nullif)
def _nullif(compiler: Compiler, node: exp.Expr) -> Typed:
    left, right = unified(compiler, node, [node.this, node.expression])
    sql = exp.Nullif(this=left.sql, expression=right.sql)
    return Typed(sql, replace(left.set, nullable=True, null_key=True))


_CLIP_EXAMPLE = "write CLIP(x, 0, 100)"


@handles_function("clip")
def _clip(compiler: Compiler, node: exp.Expr) -> Typed:
    """CLIP(x, l, u): x moved into [l, u]; NULL stays NULL. What contribution_bounds_per_row means."""
    if len(node.expressions) != 3:
        raise refuse(node, f"{show(node)} needs three arguments", _CLIP_EXAMPLE)
    written = [found[0] for end in node.expressions[1:] if (found := compiler.constant(end)) is not None]
    numbers = [end for end in written if isinstance(end, (int, Fraction)) and not isinstance(end, bool)]
    if len(numbers) != 2:
        raise refuse(node, f"the bounds of {show(node)} must be numbers that are written out", _CLIP_EXAMPLE)
    if numbers[0] > numbers[1]:
        raise refuse(node, f"the lower bound of {show(node)} is above the upper one", _CLIP_EXAMPLE)
    x, low, high = unified(compiler, node, node.expressions)
    if not x.set.numeric:
        raise refuse(node, f"{show(node)} needs a number, not {x.kind.value}", _CLIP_EXAMPLE)
    bounds = x.set.bounds.moved_into(Interval(low.set.bounds.lower, high.set.bounds.upper))
    machine = x.set.machine.moved_into(Interval(low.set.machine.lower, high.set.machine.upper))
    new = joined([x.set, low.set, high.set], x.set.type)
    new = replace(
        new, bounds=bounds, machine=machine, values=None, nullable=x.set.nullable, null_key=x.set.null_key
    )  # fmt: skip
    below = exp.LT(this=paren(x.sql.copy()), expression=low.sql.copy())
    above = exp.GT(this=paren(x.sql.copy()), expression=high.sql.copy())
    return Typed(case_when((below, low.sql), (above, high.sql), default=x.sql), new)


@handles(exp.Greatest, args="this expressions ignore_nulls")
def _greatest(compiler: Compiler, node: exp.Expr) -> Typed:
    return _extreme(compiler, node, "greatest")


@handles(exp.Least, args="this expressions ignore_nulls")
def _least(compiler: Compiler, node: exp.Expr) -> Typed:
    return _extreme(compiler, node, "least")


def _extreme(compiler: Compiler, node: exp.Expr, name: str) -> Typed:
    """GREATEST and LEAST skip NULL, so an operand that may be NULL doesn't tighten its side."""
    operands = unified(compiler, node, [node.this, *node.expressions])
    if not (operands[0].set.numeric or operands[0].kind in (Kind.DATE, Kind.TIMESTAMP)):
        raise refuse(node, f"{show(node)} needs numbers or dates")

    def combined(sets: list[Interval], certain: list[Interval]) -> Interval:
        ends = [(i.lower, i.upper) for i in sets]
        sure = [(i.lower, i.upper) for i in certain]
        if name == "greatest":
            return Interval(max((e[0] for e in sure), default=min(e[0] for e in ends)), max(e[1] for e in ends))
        return Interval(min(e[0] for e in ends), min((e[1] for e in sure), default=max(e[1] for e in ends)))

    # Only a literal is surely not NULL in the data; a column may break its declaration.
    literals = [t.set.machine for t in operands if t.is_constant and not is_null(t)]
    present = [t.set.bounds for t in operands if not t.set.nullable]
    new = joined([t.set for t in operands], operands[0].set.type)
    new = replace(
        new,
        bounds=combined([t.set.bounds for t in operands], present),
        machine=combined([t.set.machine for t in operands], literals),
        values=None,
        nullable=all(t.set.nullable for t in operands),
    )
    return Typed(func(name, *(t.sql for t in operands)), new)
