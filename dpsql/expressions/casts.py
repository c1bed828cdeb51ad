"""Casts: all of them TRY_CAST, or proven not to fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from dpsql.expressions.choices import as_timestamp, literal_as, null_as
from dpsql.expressions.compiler import Compiler, Typed, handles, is_null, quotient_of, refuse, show
from dpsql.expressions.conditions import truth
from dpsql.expressions.literals import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    MAX_DIGITS,
    TEXT,
    TIMESTAMP,
    cast,
    clip,
    paren,
    try_cast,
)
from dpsql.expressions.numbers import as_double, boolean_as_integer, number_operands, round_half_away
from dpsql.policy import ColumnType, Kind
from dpsql.valueset import (
    DAY_MICROSECONDS,
    Interval,
    ValueSet,
    machine_range,
    natural_grain,
    number,
)

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
    exp.DType.TIMESTAMPNTZ: (TIMESTAMP, None),
}


@handles(exp.Cast, exp.TryCast, args="this to safe")
def _cast(compiler: Compiler, node: exp.Expr) -> Typed:
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
    inner = compiler.value(quotient_of(node) or node.this)
    if is_null(inner):
        return null_as(inner, kind)
    if inner.kind is Kind.TEXT and inner.is_constant and kind.kind is not Kind.TEXT:
        return literal_as(node, inner, kind)
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
                                                         else round_half_away(i.lower)),
            i.upper if math.isinf(i.upper) else Fraction(round(i.upper) if inner.kind is Kind.DOUBLE
                                                         else round_half_away(i.upper)),
        )  # fmt: skip

    machine = whole(inner.set.machine)
    fits = limit.contains(machine.lower) and limit.contains(machine.upper)
    bounds = _within(whole(inner.set.bounds), limit)
    grain = inner.set.grain if inner.set.grain and inner.set.grain.denominator == 1 else Fraction(1)
    new = ValueSet(
        INTEGER, bounds, machine.intersect(limit), inner.set.values if inner.kind is Kind.INTEGER else None,
        grain, inner.set.nullable or not fits, inner.set.null_key or not fits,
    )  # fmt: skip
    names = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}
    return Typed(try_cast(inner.sql, names[int(half)]), new)


FEW_VALUES = 2**16
"""A type that reaches no farther bounds what is cast to it: a TINYINT, a SMALLINT, a DECIMAL(4, 2)."""


def _within(bounds: Interval, limit: Interval) -> Interval:
    """What doesn't fit becomes NULL, so it bounds nothing.

    The ends of a wide type are no bounds that anybody meant, and noise for them would hide every number: a side that
    reaches beyond them has none.
    """
    if limit.magnitude > FEW_VALUES:
        lower = bounds.lower if limit.contains(bounds.lower) else -math.inf
        return Interval(lower, bounds.upper if limit.contains(bounds.upper) else math.inf)
    both = bounds.intersect(limit)
    return limit if both.empty else both


def _to_double(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    return as_double(inner)


def _to_boolean(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    return truth(exp.NEQ(this=paren(inner.sql), expression=exp.Literal.number(0)), inner.set.nullable)


def _from_boolean(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    number_ = boolean_as_integer(inner)
    return number_ if kind == INTEGER else as_double(number_)


def _from_text(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    """Private text that doesn't read as the type is NULL."""
    names = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}
    name = names[bits] if bits else kind.kind.value.upper()
    raw = try_cast(inner.sql, name)
    new = ValueSet(kind, Interval(), machine_range(kind), None, natural_grain(kind), nullable=True, null_key=True)
    return Typed(clip(raw, new), new)


def _to_date(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    def days(i: Interval) -> Interval:
        return i.map(lambda x: Fraction(math.floor(x / DAY_MICROSECONDS)))

    old, values = inner.set, None
    if old.values is not None:
        values = tuple(dict.fromkeys(int(number(v)) // DAY_MICROSECONDS for v in old.values))
    new = replace(old, type=DATE, bounds=days(old.bounds), machine=days(old.machine), values=values, grain=Fraction(1))
    return Typed(cast(inner.sql, "DATE"), new)


def _to_timestamp(inner: Typed, kind: ColumnType, bits: int | None) -> Typed:
    return as_timestamp(inner)


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


def _cast_to_decimal(compiler: Compiler, node: exp.Expr, target: exp.Expr) -> Typed:
    sizes = [int(p.name) if p.name.isascii() and p.name.isdigit() else -1 for p in target.expressions] or [18, 3]
    width, scale = sizes[0], sizes[1] if len(sizes) > 1 else 0
    if not (0 < width <= MAX_DIGITS and 0 <= scale <= width):
        raise refuse(node, f"{target.sql('duckdb')} is not a valid type", "write DECIMAL(10, 2)")
    (inner,) = number_operands(compiler, node, node.this)
    kind = ColumnType(Kind.DECIMAL, width, scale)
    step = Fraction(1, 10**scale)

    def snapped(i: Interval) -> Interval:
        return i.map(lambda x: Fraction(round_half_away(x / step)) * step)

    machine, limit = snapped(inner.set.machine), machine_range(kind)
    fits = limit.contains(machine.lower) and limit.contains(machine.upper)
    nullable = inner.set.nullable or not fits
    bounds = _within(snapped(inner.set.bounds), limit)
    new = ValueSet(kind, bounds, machine.intersect(limit), None, step, nullable, nullable)
    return Typed(try_cast(inner.sql, f"DECIMAL({width}, {scale})"), new)
