"""A bounded value as an index on its public grid.

The index of x is round((x − L) / g), an integer in [0, cells], or NULL where x is NULL or NaN. The clip is part of the
form: comparisons pick the arm, and the cast stands outside on numbers that lie in [0, cells] whatever the row holds.
So it can't fail, in any order of evaluation, and NULL adds nothing to any sum: neither to the index sum nor to the
count of values (PROOFS P1: the zero belongs to the summand).
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from dpsql.aggregates.aggregate import Grid
from dpsql.expressions import Typed
from dpsql.expressions.literals import case_when, cast, decimal_sql, double_sql, literal_sql_at, paren
from dpsql.expressions.numbers import decimal_width, integer_store
from dpsql.policy import Kind
from dpsql.valueset import Interval

INFINITY = "Infinity"


def index_sql(value: Typed, grid: Grid) -> exp.Expr:
    """The index of a numeric value on a grid with at least one cell."""
    match value.kind:
        case Kind.INTEGER:
            return _integer_index(value, grid)
        case Kind.DECIMAL if (width := decimal_width(value.set)) and width + _digits(grid) <= 36:
            return _decimal_index(value, grid, width)
        case Kind.DECIMAL:
            return _double_index(cast(value.source, "DOUBLE"), grid)
    return _double_index(value.source, grid)


def _digits(grid: Grid) -> int:
    return len(str((1 / grid.grain).numerator)) if grid.grain < 1 else 0


def _double_index(x: exp.Expr, grid: Grid) -> exp.Expr:
    """DOUBLE arithmetic never raises; NaN is above infinity, so it meets no arm and becomes NULL."""
    lower, upper = double_sql(grid.lower), double_sql(grid.upper)
    offset = paren(exp.Sub(this=paren(x.copy()), expression=lower)) if grid.lower else paren(x.copy())
    scaled = offset if grid.grain == 1 else exp.Mul(this=offset, expression=double_sql(1 / grid.grain))
    infinity = cast(exp.Literal.string(INFINITY), "DOUBLE")
    steps = case_when(
        (exp.LT(this=paren(x.copy()), expression=lower.copy()), double_sql(Fraction(0))),
        (exp.LTE(this=paren(x.copy()), expression=upper), scaled),
        (exp.LTE(this=paren(x.copy()), expression=infinity), double_sql(Fraction(grid.cells))),
    )
    return cast(steps, "INTEGER" if grid.cells < 2**31 else "BIGINT")


def _integer_index(value: Typed, grid: Grid) -> exp.Expr:
    x = value.source
    clipped = _clipped(value, x, grid)
    span = Interval(min(grid.lower, Fraction(0)), max(grid.upper, grid.upper - grid.lower) + grid.grain)
    store = integer_store(span) or "HUGEINT"
    if grid.lower == 0 and grid.grain == 1:
        return clipped
    offset: exp.Expr = cast(clipped, store)
    if grid.lower:
        offset = exp.Sub(this=offset, expression=decimal_sql(grid.lower))
    if grid.grain > 1:
        half = exp.Add(this=paren(offset), expression=decimal_sql(Fraction(int(grid.grain) // 2)))
        offset = exp.IntDiv(this=paren(half), expression=decimal_sql(grid.grain))
    return offset


def _clipped(value: Typed, x: exp.Expr, grid: Grid) -> exp.Expr:
    bounds = value.set.bounds
    lower, upper = (literal_sql_at(end, value.set.type) for end in (bounds.lower, bounds.upper))
    return case_when(
        (exp.LT(this=paren(x.copy()), expression=lower), lower.copy()),
        (exp.GT(this=paren(x.copy()), expression=upper), upper.copy()),
        default=x.copy(),
    )


def _decimal_index(value: Typed, grid: Grid, width: int) -> exp.Expr:
    """Exact: the clipped value fits DECIMAL(width, scale), and the products below fit 38 digits."""
    scale = value.set.type.scale or 0
    clipped = cast(_clipped(value, value.source, grid), f"DECIMAL({width}, {scale})")
    offset: exp.Expr = clipped
    if grid.lower:
        offset = exp.Sub(this=offset, expression=decimal_sql(grid.lower))
    if grid.grain < 1:
        offset = exp.Mul(this=paren(offset), expression=decimal_sql(1 / grid.grain))
    elif grid.grain > 1:
        offset = exp.Div(this=paren(offset), expression=decimal_sql(grid.grain))
    return cast(paren(offset), "BIGINT")
