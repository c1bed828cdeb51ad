"""Aggregates whose answer is one of the values that a column may have: quantiles, the smallest and the greatest.

The values lie on a public grid. Its cells, or ranges of cells, are the candidates; the private engine counts the rows
of each, and a mechanism chooses (`dpsql.privacy.mechanisms.permute_and_flip`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpsql.aggregates.aggregate import INT64_MAX, Basis, Choice, Ends, Grid, Integers, Law, Noisy, Way
from dpsql.aggregates.numbers import as_double
from dpsql.aggregates.sum import bounded_number
from dpsql.expressions import Compiler, Typed, show
from dpsql.expressions.literals import DATE, INTEGER, cast, func, literal_sql, paren
from dpsql.expressions.numbers import unbounded_error
from dpsql.policy import Kind
from dpsql.privacy.mechanisms.permute_and_flip import Extreme, LadderEnd, Quantiles, end_name
from dpsql.valueset import ValueSet, natural_grain

STEPS_OF_OCTAVE = 8
"""Candidates for an extreme lie 2^(1/8), 2^(2/8), … cells from where the values are smallest: 9 % apart."""
FEW_CELLS = 2**7
"""Up to so many, as ages have, each cell is a candidate for an extreme. Of more, the candidates are so many that the
rows that lie beyond cost more than the steps of the ladder do: with 1,000 values of 0 to 4,000, evenly spread, and an ε
of 1, an error of 84 among all cells, of less than 1 on the ladder; log-normal ones 1,190 and 500. At 100 cells they are
alike.
"""
EVEN_CELLS = 2**14
"""The most cells of a grid whose cells are the candidates for an extreme of dates or times."""
TEMPORAL = {Kind.DATE: "DATE", Kind.TIMESTAMP: "TIMESTAMP"}


def accepting(name: str) -> Callable[[Compiler, exp.Expr, Typed], Typed]:
    """What takes an aggregate's argument: a bounded number; a date as days, a time as microseconds, since 1970."""

    def accept(compiler: Compiler, node: exp.Expr, typed: Typed) -> Typed:
        if typed.kind not in TEMPORAL:
            return bounded_number(compiler, node, typed, name, wanted="a number or a date")
        found, value = typed.set, typed.sql.copy()
        if not found.bounds.bounded:
            raise unbounded_error(compiler, node, f"{name}({show(node)}) needs bounds")
        if typed.kind is Kind.DATE:
            value = cast(exp.Paren(this=exp.Sub(this=paren(value), expression=literal_sql(0, DATE))), "BIGINT")
        else:
            value = func("epoch_us", value)
        new = ValueSet(INTEGER, found.bounds, found.machine, None, Fraction(1), found.nullable, found.null_key)
        return Typed(value, new)

    return accept


def result_type(choice: Choice, typed: Typed) -> str:
    """The SQL type of what is chosen: that of the values; of a quantile between them, DOUBLE."""
    if typed.kind in TEMPORAL:
        return TEMPORAL[typed.kind]
    whole = typed.kind in (Kind.INTEGER, Kind.BOOLEAN) and not choice.between
    return "BIGINT" if whole else "DOUBLE"


def way(choice: Choice, argument: Typed, sql_type: str, levels: tuple[Fraction, ...]) -> Way:
    """How the number is computed from what was chosen, and its interval of those levels."""
    bounds = argument.set.bounds
    lower, upper = Fraction(bounds.lower), Fraction(bounds.upper)

    def values_of(indices: Integers, grid: Grid) -> npt.NDArray[Any]:
        match sql_type:
            case "DOUBLE":
                steps = (indices.astype(object) if grid.magnitude > INT64_MAX else indices) + grid.low_steps
                return np.clip(as_double(steps, grid.grain), float(lower), float(upper))
            case "BIGINT":  # moved to its ends where the values themselves don't fit
                most = min(upper, Fraction(INT64_MAX))
                whole = [_whole(int(i), grid, max(lower, Fraction(-INT64_MAX - 1)), most) for i in indices]
                return np.array(whole, dtype=np.int64)
        unit = "D" if sql_type == "DATE" else "us"
        moments = [_whole(int(i), grid, lower, upper) for i in indices]
        return np.array(moments, dtype=np.int64).astype(f"datetime64[{unit}]").astype("datetime64[us]")

    def combine(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
        return values_of(noisy[choice.name], grid)

    def interval(noisy: Noisy, law: Law, grid: Grid, level: float) -> Ends:
        """The ends that were chosen for this level, moved outward to the quantile if it lies beyond.

        Values were moved to the grid, by half a grain at most, and so may the quantile have been: the ends allow for
        it.
        """
        assert choice.fraction is not None
        chosen = combine(noisy, grid)
        if level not in map(float, levels):
            unknown = np.full(len(chosen), np.nan if chosen.dtype.kind != "M" else np.datetime64("NaT", "us"))
            return unknown, unknown
        low, high = (noisy[end_name(choice.fraction, end, level)] for end in ("lower", "upper"))
        if grid.grain == natural_grain(argument.set.type):
            low, high = values_of(low, grid), values_of(high, grid)
        else:
            halves = Grid(grid.lower, grid.grain / 2, 2 * grid.cells)
            low, high = values_of(2 * low - 1, halves), values_of(2 * high + 1, halves)
        return np.minimum(low, chosen), np.maximum(high, chosen)

    return Way(Basis.CELLS, _variance(choice), combine, None, interval if levels else None)


def _whole(index: int, grid: Grid, lower: Fraction, upper: Fraction) -> int:
    return int(min(max(grid.lower + index * grid.grain, lower), upper))


def _variance(choice: Choice) -> float:
    """Of the rank, about, at ε = 1: the error in rank is of the scale 2D, half of it where the median is asked for."""
    if choice.fraction is None:
        return 8.0
    return 2.0 * float(2 * max(choice.fraction, 1 - choice.fraction)) ** 2


# ---------------------------------------------------------------------------------------------- candidates


@lru_cache(maxsize=256)
def ladder(low_steps: int, cells: int) -> tuple[int, ...]:
    """The first cell of each range of cells that is a candidate for an extreme.

    The ranges grow by a factor of 2^(1/8) with the distance from the cell whose values are the smallest: that of 0, or
    the nearest to it.
    """
    origin = min(max(-low_steps, 0), cells)
    edges = {0}
    exponent = 0
    while (edge := _power(exponent)) <= cells:
        edges.add(edge)
        exponent += 1
    starts = {0, *(origin + edge for edge in edges), *(origin - edge + 1 for edge in edges)}
    return tuple(sorted(start for start in starts if 0 <= start <= cells))


def _power(exponent: int) -> int:
    """2^(exponent/8), rounded up: exact."""
    power = 1 << exponent
    root = math.isqrt(math.isqrt(math.isqrt(power)))
    return root + int(root**STEPS_OF_OCTAVE < power)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is chosen among, and how.

    starts  the first cell of each candidate, a range of cells of the grid; none: each cell is one
    """

    mechanism: Quantiles | Extreme | LadderEnd
    grid: Grid
    starts: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        return len(self.starts) or self.grid.cells + 1

    def indices(self, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The grid indices of the values that candidates stand for: of an extreme, its range's far end."""
        if not self.starts:
            return chosen
        if isinstance(self.mechanism, Extreme) and self.mechanism.smallest:
            return np.array(self.starts, dtype=np.int64)[chosen]
        return np.array((*self.starts[1:], self.grid.cells + 1), dtype=np.int64)[chosen] - 1
