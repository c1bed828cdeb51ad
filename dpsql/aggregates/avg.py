"""AVG(x)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpsql.aggregates.aggregate import (
    Aggregate,
    Basis,
    CallShape,
    Ends,
    Grid,
    Law,
    Noisy,
    OverRows,
    Way,
    finer,
    one_argument,
)
from dpsql.aggregates.numbers import bernstein_double, bernstein_total, endpoint_total, largest, row_total
from dpsql.aggregates.sum import bounded_number
from dpsql.expressions import Compiler, Typed
from dpsql.privacy.interval import laplace_sum_half_width, two_laplace_quantile
from dpsql.result import LEVEL


def _read(node: exp.Expr) -> CallShape:
    return one_argument(node, "avg", "AVG")


def _accept(compiler: Compiler, node: exp.Expr, typed: Typed) -> Typed:
    return bounded_number(compiler, node, typed, "AVG")


def _share(noisy: Noisy, grid: Grid) -> npt.NDArray[np.float64]:
    """The mean's place between the bounds, in [0, 1]; at least one row is assumed.

    high / (low + high) of endpoints; (middle/2 + high) / (low + middle + high) of Bernstein parts; of a centred sum
    (1 + centre / rows) / 2.
    """
    if "centre" in noisy:
        places: npt.NDArray[np.float64] = _centre(noisy, grid) / np.maximum(in_rows(noisy, grid), 1.0)
        return np.clip((1.0 + places) / 2, 0.0, 1.0)
    if "middle" in noisy:
        rows = np.maximum(bernstein_total(noisy), grid.cells**2 * grid.fine).astype(np.float64)
        return np.clip(bernstein_double(noisy).astype(np.float64) / (2 * rows), 0.0, 1.0)
    total, one = endpoint_total(noisy), grid.cells * grid.fine
    if largest(total) >= 2**53:
        at_least_one = [max(int(t), one) for t in total]
        shares = [float(Fraction(int(h), t)) for h, t in zip(noisy["high"], at_least_one, strict=True)]
        return np.clip(np.array(shares, dtype=np.float64), 0.0, 1.0)
    return np.clip(noisy["high"] / np.maximum(total, one).astype(np.float64), 0.0, 1.0)


def in_rows(noisy: Noisy, grid: Grid) -> npt.NDArray[np.float64]:
    """The noisy number of rows with a value."""
    total, unit = row_total(noisy, grid)
    rows = total.astype(np.float64)
    rows /= unit
    return rows


def _centre(noisy: Noisy, grid: Grid) -> npt.NDArray[np.float64]:
    """Σ t, in [−1, 1] for each row."""
    centre = np.array(noisy["centre"], dtype=np.float64)
    centre /= finer(grid.cells) * grid.cells
    return centre


def _combine(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
    share = _share(noisy, grid)
    low, high = float(grid.lower), float(grid.upper)
    return np.clip(low * (1.0 - share) + high * share, low, high)


@lru_cache(maxsize=64)
def _quantiles(
    level: float, middle: bool, added: tuple[Fraction, ...]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Quantiles of |sX + (1 − s)Y|, with a `middle` part of |sX + (1/2 − s)Z + (1 − s)Y|, on a grid of s in [0, 1];
    with more of the same of the scales `added`.

    Close enough to interpolate linearly.
    """
    if middle or added:
        half = np.linspace(0.0, 0.5, 33)
        own = [(s, 0.5 - s, 1.0 - s) if middle else (s, 1.0 - s) for s in half.tolist()]
        scales = (1.0, *map(float, added))
        widths = np.array([laplace_sum_half_width([c * b for b in scales for c in each], level) for each in own])
        return np.concatenate((half, 1.0 - half[-2::-1])), np.concatenate((widths, widths[-2::-1]))
    steps = np.linspace(0.0, 1.0, 129)
    return steps, np.array([two_laplace_quantile(float(s), float(1.0 - s), level) for s in steps])


_AT_ONCE = 1_024
"""Means whose intervals are worked out together: each takes a row of the grid, and all fit into a CPU's cache."""


@lru_cache(maxsize=64)
def _centred_limits(law: Law, level: float, nulls: bool) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Half-widths of (centre − (2s − 1)·rows)/2 for s in [0, 1]; with `nulls`, rows is (count + valued)/2."""
    half = np.linspace(0.0, 1.0, 33)
    widths = []
    for place in half.tolist():  # of 2s − 1, whose sign doesn't matter
        own, count = ([0.5, place / 4], place / 4) if nulls else ([0.5], place / 2)
        widths.append(law.half_width(own, level, count=count))
    return np.concatenate((0.5 - half[:0:-1] / 2, 0.5 + half / 2)), np.array(widths[:0:-1] + widths)


def _interval(noisy: Noisy, law: Law, grid: Grid, level: float) -> Ends:
    """The ends of the means that the noise makes plausible, and of the answer, which is: see `_plausible`, `_answer`.

    The answer moves these ends at other levels than the usual one alone, and hardly ever.
    """
    low, high = _plausible(noisy, law, grid, level)
    if level == float(LEVEL):
        return low, high
    answer = _answer(noisy, law, grid)
    return np.minimum(low, answer), np.maximum(high, answer)


def _answer(noisy: Noisy, law: Law, grid: Grid) -> npt.NDArray[np.float64]:
    """The mean, moved to the nearest one that is plausible at the usual level.

    It isn't plausible where noise left less than one row, or took the sum beyond what it can be: seldom, where rows are
    more than the noise is worth. (Widening the interval instead would let it cover more than it says: 0.973 for 20
    incomes at ε = 0.1. Moved, their root mean square error is 4 % larger, and that from 10 n·ε on is as it was.)
    Privacy: post-processing.
    """
    answer = _combine(noisy, grid)
    lower, upper = float(grid.lower), float(grid.upper)
    (unsure,) = np.nonzero((in_rows(noisy, grid) < 1) | (answer <= lower) | (answer >= upper))
    if len(unsure):
        ends = _plausible({name: sums[unsure] for name, sums in noisy.items()}, law, grid, float(LEVEL))
        answer[unsure] = np.clip(answer[unsure], *ends)
    return answer


def _plausible(noisy: Noisy, law: Law, grid: Grid, level: float) -> Ends:
    low, high = places(noisy, law, grid, level)
    lower, width = float(grid.lower), float(grid.upper) - float(grid.lower)
    return lower + width * low, lower + width * high


_WIDER = 0.99
"""The level of what is plausible where nothing is: to say that any mean is would hold more often than a level says."""


def places(noisy: Noisy, law: Law, grid: Grid, level: float) -> Ends:
    """The ends of {s : |Σ of (u − s) over the rows, noisy| ≤ q(s)}, u in [0, 1] a value's place between its bounds.

    With N the noisy number of rows and B that of the upper bound, the noisy sum is B − s·N in units of the bounds'
    distance. At the true mean it is pure noise, so it exceeds its own quantile q(s) in 1 − level of all releases,
    whatever the data (Fieller 1954). Where nothing is, they are those of what is plausible at a level of 0.99; where
    that is nothing either, or there is no row, the bounds.
    """
    rows = in_rows(noisy, grid)
    if "centre" in noisy:
        steps, limits = _centred_limits(law, level, "valued" in noisy)
        upper = (_centre(noisy, grid) + rows) / 2
    else:
        of_scale = tuple(block.scale / law.scale for block in law.added)
        steps, quantiles = _quantiles(level, "middle" in noisy, of_scale)
        limits = float(law.scale) * quantiles
        unit = row_total(noisy, grid)[1]
        upper = bernstein_double(noisy).astype(np.float64) / (2 * unit) if "middle" in noisy else noisy["high"] / unit
    ends = [np.zeros(0)], [np.zeros(0)]
    for start in range(0, len(rows), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        middle = upper[part, None].astype(np.float64) - rows[part, None] * steps
        low, high = plausible(middle, steps, -limits, limits)
        ends[0].append(low)
        ends[1].append(high)
    low, high = np.concatenate(ends[0]), np.concatenate(ends[1])
    (nowhere,) = np.nonzero(high < low)
    if len(nowhere):
        low[nowhere], high[nowhere] = 0.0, 1.0
        if level < _WIDER:
            wider = places({name: sums[nowhere] for name, sums in noisy.items()}, law, grid, _WIDER)
            low[nowhere], high[nowhere] = wider
    return low, high


def plausible(
    middle: npt.NDArray[np.float64],
    steps: npt.NDArray[np.float64],
    below: npt.NDArray[np.float64],
    above: npt.NDArray[np.float64],
) -> Ends:
    """The least and the greatest s with below(s) ≤ middle(s) ≤ above(s), all linear between the steps; +∞ and −∞ for
    none.

    Each is an end of the steps, if that is such an s, or where middle(s) meets a limit. The last axis of `middle` and
    the limits is that of the steps.
    """
    least, greatest = np.full(middle.shape[:-1], np.inf), np.full(middle.shape[:-1], -np.inf)
    for edge in (above, below):
        gap = middle - edge
        over = gap > 0
        found = np.nonzero(over[..., :-1] != over[..., 1:])
        row, place = found[:-1], found[-1]
        before, after = gap[found], gap[(*row, place + 1)]
        where = steps[place] + (steps[1] - steps[0]) * before / (before - after)
        np.minimum.at(least, row, where)
        np.maximum.at(greatest, row, where)
    first_last = [0, -1]
    ends = middle[..., first_last]
    inside = (below[..., first_last] <= ends) & (ends <= above[..., first_last])
    least = np.where(inside[..., 0], steps[0], np.where(inside[..., 1], np.minimum(least, steps[-1]), least))
    greatest = np.where(inside[..., 1], steps[-1], np.where(inside[..., 0], np.maximum(greatest, steps[0]), greatest))
    return least, greatest


def _over_rows(even: tuple[float, ...], worst: tuple[float, ...], count: float = 0.0) -> OverRows:
    """From the coefficients of the error in bounds' distances: of a mean in their middle, and of one at an end of them.

    There the error is that of the sum, counted from the other end. `count` is the worst mean's coefficient of the rows.
    """

    def over_rows(law: Law, grid: Grid, level: float) -> tuple[float, float]:
        width = float(grid.upper - grid.lower)
        return width * law.half_width(even, level), width * law.half_width(worst, level, count=count)

    return over_rows


def _constant(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
    return np.full(len(noisy["present"]), float(grid.lower))


def _ways(argument: Typed | None, grid: Grid) -> tuple[Way, ...]:
    if not grid.cells:
        return (Way(Basis.PRESENT, 0.0, _constant, lambda law, grid, level: 0.0),)
    endpoints = _over_rows((0.5, 0.5), (1.0,))
    bernstein = _over_rows((0.5, 0.5), (1.0, 0.5))
    centred = _over_rows((0.5,), (0.5,), 0.5)
    centred_and_nulls = _over_rows((0.5,), (0.5, 0.25), 0.25)
    return (
        Way(Basis.ENDPOINTS, 8.0, _combine, None, _interval, 4.0, over_rows=endpoints, answer=_answer),
        Way(Basis.ENDPOINTS_AND_NULLS, 8.0, _combine, None, _interval, 4.0, over_rows=endpoints, answer=_answer),
        Way(Basis.BERNSTEIN, 10.0, _combine, None, _interval, 4.0, over_rows=bernstein, answer=_answer),
        Way(Basis.BERNSTEIN_AND_NULLS, 10.0, _combine, None, _interval, 4.0, over_rows=bernstein, answer=_answer),
        Way(Basis.CENTRE, 2.0, _combine, None, _interval, 2.0, 1.0, 0.0, centred, answer=_answer),
        Way(Basis.MOMENTS, 2.0, _combine, None, _interval, 2.0, 1.0, 0.0, centred, answer=_answer),
        Way(Basis.CENTRE_AND_NULLS, 2.5, _combine, None, _interval, 2.0, 0.25, 0.0, centred_and_nulls, answer=_answer),
        Way(Basis.MOMENTS_AND_NULLS, 2.5, _combine, None, _interval, 2.0, 0.25, 0.0, centred_and_nulls, answer=_answer),
    )


AGGREGATE = Aggregate("avg", (exp.Avg,), _read, _accept, _ways, lambda _: "DOUBLE")
