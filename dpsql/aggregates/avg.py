"""AVG(x)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpsql.aggregates.aggregate import Aggregate, Basis, CallShape, Ends, Grid, Noisy, Way, one_argument
from dpsql.aggregates.numbers import bernstein_double, bernstein_total, endpoint_total, largest, row_total
from dpsql.aggregates.sum import bounded_number
from dpsql.expressions import Compiler, Typed
from dpsql.privacy.interval import laplace_sum_half_width, two_laplace_quantile


def _read(node: exp.Expr) -> CallShape:
    return one_argument(node, "avg", "AVG")


def _accept(compiler: Compiler, node: exp.Expr, typed: Typed) -> Typed:
    return bounded_number(compiler, node, typed, "AVG")


def _share(noisy: Noisy, grid: Grid) -> npt.NDArray[np.float64]:
    """The mean's place between the bounds, in [0, 1]; at least one row is assumed.

    high / (low + high) of endpoints; (middle/2 + high) / (low + middle + high) of Bernstein parts.
    """
    if "middle" in noisy:
        rows = np.maximum(bernstein_total(noisy), grid.cells**2).astype(np.float64)
        return np.clip(bernstein_double(noisy).astype(np.float64) / (2 * rows), 0.0, 1.0)
    total = endpoint_total(noisy)
    if largest(total) >= 2**53:
        at_least_one = [max(int(t), grid.cells) for t in total]
        shares = [float(Fraction(int(h), t)) for h, t in zip(noisy["high"], at_least_one, strict=True)]
        return np.clip(np.array(shares, dtype=np.float64), 0.0, 1.0)
    return np.clip(noisy["high"] / np.maximum(total, grid.cells).astype(np.float64), 0.0, 1.0)


def _combine(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
    share = _share(noisy, grid)
    low, high = float(grid.lower), float(grid.upper)
    return np.clip(low * (1.0 - share) + high * share, low, high)


@lru_cache(maxsize=64)
def _quantiles(level: float, middle: bool) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Quantiles of |sX + (1 − s)Y|, with a `middle` part of |sX + (1/2 − s)Z + (1 − s)Y|, on a grid of s in [0, 1].

    Close enough to interpolate linearly.
    """
    steps = np.linspace(0.0, 1.0, 65 if middle else 129)
    if middle:
        scales = [(float(s), abs(0.5 - float(s)), 1.0 - float(s)) for s in steps]
        return steps, np.array([laplace_sum_half_width(each, level) for each in scales])
    return steps, np.array([two_laplace_quantile(float(s), float(1.0 - s), level) for s in steps])


_AT_ONCE = 1_024
"""Means whose intervals are worked out together: each takes a row of the grid, and all fit into a CPU's cache."""


def _interval(noisy: Noisy, scale: Fraction, grid: Grid, level: float) -> Ends:
    """The ends of the means θ that the noise makes plausible: {θ : |Σ of (x − θ) over the rows, noisy| ≤ q(θ)}.

    With s the place of θ between the bounds, N the noisy number of rows and B that of the upper bound, the noisy sum
    is B − s·N in units of the bounds' distance. At the true mean it is pure noise, so it exceeds its own quantile
    q(s) in 1 − level of all releases, whatever the data (Fieller 1954). Where nothing is plausible, or no row, the
    ends are the bounds.
    """
    steps, quantiles = _quantiles(level, "middle" in noisy)
    total, unit = row_total(noisy, grid)
    rows = total.astype(np.float64) / unit
    upper = bernstein_double(noisy).astype(np.float64) / (2 * unit) if "middle" in noisy else noisy["high"] / unit
    limits = float(scale) * quantiles
    found = [
        _plausible(rows[i : i + _AT_ONCE], upper[i : i + _AT_ONCE].astype(np.float64), steps, limits)
        for i in range(0, len(rows), _AT_ONCE)
    ] or [(rows, rows)]
    low, high = (np.concatenate(ends) for ends in zip(*found, strict=True))
    lower, width = float(grid.lower), float(grid.upper) - float(grid.lower)
    return lower + width * low, lower + width * high


def _plausible(
    rows: npt.NDArray[np.float64],
    upper: npt.NDArray[np.float64],
    steps: npt.NDArray[np.float64],
    limits: npt.NDArray[np.float64],
) -> Ends:
    """The least and the greatest s in [0, 1] with |upper − s·rows| ≤ limit(s), limit linear between the steps.

    Each is 0 or 1, if that is such an s, or where upper − s·rows meets limit(s) or −limit(s).
    """
    middle = upper[:, None] - rows[:, None] * steps
    least, greatest = np.full(len(rows), 2.0), np.full(len(rows), -1.0)
    inside = np.abs(middle[:, [0, -1]]) <= limits[[0, -1]]
    least[inside[:, 0]], greatest[inside[:, 0]] = 0.0, 0.0
    least[inside[:, 1]], greatest[inside[:, 1]] = np.minimum(least[inside[:, 1]], 1.0), 1.0
    for edge in (limits, -limits):
        above = middle > edge
        row, place = np.divmod(np.flatnonzero(above[:, :-1] != above[:, 1:]), len(steps) - 1)
        before, after = middle[row, place] - edge[place], middle[row, place + 1] - edge[place + 1]
        where = steps[place] + (steps[1] - steps[0]) * before / (before - after)
        np.minimum.at(least, row, where)
        np.maximum.at(greatest, row, where)
    nowhere = greatest < least
    return np.where(nowhere, 0.0, least), np.where(nowhere, 1.0, greatest)


def _constant(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
    return np.full(len(noisy["present"]), float(grid.lower))


def _ways(argument: Typed | None, grid: Grid) -> tuple[Way, ...]:
    if not grid.cells:
        return (Way(Basis.PRESENT, 0.0, _constant, lambda scale, grid, level: 0.0),)
    return (
        *(Way(basis, 8.0, _combine, None, _interval) for basis in (Basis.ENDPOINTS, Basis.ENDPOINTS_AND_NULLS)),
        *(Way(basis, 10.0, _combine, None, _interval) for basis in (Basis.BERNSTEIN, Basis.BERNSTEIN_AND_NULLS)),
    )


AGGREGATE = Aggregate("avg", (exp.Avg,), _read, _accept, _ways, lambda _: "DOUBLE")
