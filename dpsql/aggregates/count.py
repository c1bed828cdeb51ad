"""COUNT(*), COUNT(x), COUNT(x, y): rows where neither is NULL, COUNT_IF(p)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy.typing as npt
from sqlglot import exp

from dpsql.aggregates.aggregate import Aggregate, Basis, CallShape, Ends, Grid, Law, Noisy, Way, one_argument
from dpsql.aggregates.numbers import as_bigint, row_total, total_with_nulls, whole_half_width, whole_number
from dpsql.expressions import Compiler, Typed
from dpsql.expressions.literals import not_null
from dpsql.privacy.interval import laplace_half_width


def _read(node: exp.Expr) -> CallShape:
    if isinstance(node, exp.CountIf):
        return CallShape("count", None, node.this)
    argument = node.this
    if isinstance(argument, exp.Distinct):
        if len(argument.expressions) > 1 and not argument.args.get("on"):
            unknown = [exp.Is(this=e.copy(), expression=exp.Null()) for e in argument.expressions]
            whole = exp.Tuple(expressions=[e.copy() for e in argument.expressions])
            ifs = [exp.If(this=exp.or_(*unknown, copy=False), true=exp.Null())]
            return CallShape("count", exp.Case(ifs=ifs, default=whole), distinct=True)
        return one_argument(node, "count", "COUNT")
    if node.args.get("expressions"):
        known = [not_null(e.copy()) for e in (argument, *node.expressions)]
        return CallShape("count", None, exp.and_(*known, copy=False))
    if argument is None or isinstance(argument, (exp.Star, exp.Literal, exp.Boolean)):
        return CallShape("count", None)
    return CallShape("count", argument)


def _accept(compiler: Compiler, node: exp.Expr, typed: Typed) -> Typed:
    return typed


def _part(name: str, basis: Basis | None = None) -> Way:
    """The count that is a part of a basis; by default of the one of that name."""

    def combine(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
        return whole_number(noisy[name], grid.fine, grid)

    def half_width(law: Law, grid: Grid, level: float) -> float:
        if law.is_single:
            return float(laplace_half_width(law.scale, level))
        return whole_half_width(law.half_width([1.0], level), law)

    return Way(basis or Basis(name), 2.0, combine, half_width)


def _of_selected_units() -> Way:
    """The units of a key that isn't public: shown because noise took it above the threshold, which intervals know."""

    def combine(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
        return as_bigint(noisy["units"])

    def half_width(law: Law, grid: Grid, level: float) -> float:
        assert law.selection is not None
        return float(law.selection.half_width(level))

    def interval(noisy: Noisy, law: Law, grid: Grid, level: float) -> Ends:
        assert law.selection is not None
        return law.selection.interval(combine(noisy, grid), level)

    return Way(Basis.UNITS, 2.0, combine, half_width, interval)


def _with_values(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
    return whole_number(*row_total(noisy, grid), grid)


def _with_nulls(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
    return whole_number(*total_with_nulls(noisy, grid), grid)


def _half_width_of(terms: int) -> Any:
    def half_width(law: Law, grid: Grid, level: float) -> float:
        return whole_half_width(law.half_width([1.0] * terms, level), law)

    return half_width


def _half_of_both(law: Law, grid: Grid, level: float) -> float:
    return whole_half_width(law.half_width([0.5], level, count=0.5), law, 0.5)


def _all_parts(law: Law, grid: Grid, level: float) -> float:
    return whole_half_width(law.half_width([], level, count=1.0), replace(law, scale=max(law.count_scales)))


TOTAL_WAY = Way(Basis.TOTAL, 2.0, _with_values, _half_width_of(1))
VALUED_WAYS = tuple(
    Way(basis, 0.5, _with_values, _half_of_both, of_count=0.25)
    for basis in (Basis.VALUED, Basis.CENTRE_AND_NULLS, Basis.MOMENTS_AND_NULLS)
)
"""Half of all rows and what those with a value are more than those without."""
PRESENT_WAYS = (
    _part("present"),
    _part("present", Basis.PRESENT_AND_NULLS),
    Way(Basis.ENDPOINTS, 4.0, _with_values, _half_width_of(2)),
    Way(Basis.ENDPOINTS_AND_NULLS, 4.0, _with_values, _half_width_of(2)),
    Way(Basis.BERNSTEIN, 6.0, _with_values, _half_width_of(3)),
    Way(Basis.BERNSTEIN_AND_NULLS, 6.0, _with_values, _half_width_of(3)),
)
ROW_WAY = _part("rows")
UNIT_WAY = _of_selected_units()
PARTS_WAY = Way(Basis.ROWS, 0.0, _with_values, _all_parts, of_count=1.0)
"""The rows of all parts of a partition, added up."""
ROWS_FROM_NULLABLE = {
    Basis.PRESENT_AND_NULLS: Way(Basis.PRESENT_AND_NULLS, 4.0, _with_nulls, _half_width_of(2)),
    Basis.ENDPOINTS_AND_NULLS: Way(Basis.ENDPOINTS_AND_NULLS, 6.0, _with_nulls, _half_width_of(3)),
    Basis.BERNSTEIN_AND_NULLS: Way(Basis.BERNSTEIN_AND_NULLS, 8.0, _with_nulls, _half_width_of(4)),
}
"""COUNT(*) beside a column that may be NULL."""


def _ways(argument: Typed | None, grid: Grid) -> tuple[Way, ...]:
    if argument is None:
        return ROW_WAY, TOTAL_WAY
    return (*PRESENT_WAYS, *VALUED_WAYS) if grid.cells else (*PRESENT_WAYS[:2], VALUED_WAYS[0])


AGGREGATE = Aggregate("count", (exp.Count, exp.CountIf), _read, _accept, _ways, lambda _: "BIGINT")
