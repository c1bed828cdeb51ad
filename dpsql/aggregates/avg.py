"""AVG(x)."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpsql.aggregates.aggregate import Aggregate, Basis, CallShape, Grid, Noisy, Way, one_argument
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


@cache
def _quantiles(level: float, middle: bool) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Quantiles of |sX + (1 − s)Y|, with a `middle` part of |sX + (1/2 − s)Z + (1 − s)Y|, on a grid of s in [0, 1].

    Close enough to interpolate linearly.
    """
    steps = np.linspace(0.0, 1.0, 65 if middle else 129)
    if middle:
        scales = [(float(s), abs(0.5 - float(s)), 1.0 - float(s)) for s in steps]
        return steps, np.array([laplace_sum_half_width(each, level) for each in scales])
    return steps, np.array([two_laplace_quantile(float(s), float(1.0 - s), level) for s in steps])


def _half_widths(noisy: Noisy, scale: Fraction, grid: Grid, level: float) -> npt.NDArray[np.float64]:
    """q(θ)/n at the answer θ, q the quantile of |(θ − L)X + (U − θ)Y| for two Laplace(1/ε): see interval.py.

    Never more than the bounds are apart: beyond that, and where there seems to be no row, it says nothing.
    """
    share = _share(noisy, grid)
    total, unit = row_total(noisy, grid)
    rows = total.astype(np.float64) / unit
    width = float(grid.upper - grid.lower)
    widths: npt.NDArray[np.float64] = (
        width * float(scale) * np.interp(share, *_quantiles(level, "middle" in noisy)) / np.maximum(rows, 1.0)
    )
    return np.where(rows < 1.0, width, np.minimum(widths, width))


def _constant(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
    return np.full(len(noisy["present"]), float(grid.lower))


def _ways(argument: Typed | None, grid: Grid) -> tuple[Way, ...]:
    if not grid.cells:
        return (Way(Basis.PRESENT, 0.0, _constant, lambda scale, grid, level: 0.0),)
    return (
        *(Way(basis, 8.0, _combine, None, _half_widths) for basis in (Basis.ENDPOINTS, Basis.ENDPOINTS_AND_NULLS)),
        *(Way(basis, 10.0, _combine, None, _half_widths) for basis in (Basis.BERNSTEIN, Basis.BERNSTEIN_AND_NULLS)),
    )


AGGREGATE = Aggregate("avg", (exp.Avg,), _read, _accept, _ways, lambda _: "DOUBLE")
