"""VARIANCE(x), STDDEV(x) and their kin: of a sample (VAR_SAMP, STDDEV_SAMP) or of a population (…_POP)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpsql.aggregates.aggregate import Aggregate, Basis, CallShape, Grid, Noisy, Way, one_argument
from dpsql.aggregates.numbers import bernstein_double, bernstein_total
from dpsql.aggregates.sum import bounded_number
from dpsql.expressions import Compiler, Typed


def _population(noisy: Noisy, grid: Grid) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The variance in squares of the bounds' distance, in [0, 1/4], and the number of rows; at least one is assumed.

    With N = low + middle + high, D = middle + 2·high and u the place of x between its bounds, E[u] = D / 2N and
    E[u²] = high / N: so the variance of u is (4·high·N − D²) / 4N². In integers, since the difference cancels.
    """
    unit = grid.cells**2
    total, double, high = (
        array.astype(object) for array in (bernstein_total(noisy), bernstein_double(noisy), noisy["high"])
    )
    rows = np.maximum(total, unit)
    shares = (4 * high * rows - double * double) / (4 * rows * rows)  # integers of any size, rounded once
    return np.clip(shares.astype(np.float64), 0.0, 0.25), (rows / unit).astype(np.float64)


def _variance(noisy: Noisy, grid: Grid, sample: bool) -> npt.NDArray[np.float64]:
    """Of a sample of n rows n / (n − 1) times that of a population, n taken as at least 2."""
    variance, rows = _population(noisy, grid)
    width = float(grid.upper - grid.lower)
    corrected = variance * np.where(rows > 2, rows / np.maximum(rows - 1, 1), 2.0) if sample else variance
    return corrected * width * width


def _constant(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
    return np.zeros(len(noisy["present"]))


def _aggregate(name: str, nodes: tuple[type[exp.Expr], ...], sample: bool, root: bool) -> Aggregate:
    def read(node: exp.Expr) -> CallShape:
        return one_argument(node, name, name.upper())

    def accept(compiler: Compiler, node: exp.Expr, typed: Typed) -> Typed:
        return bounded_number(compiler, node, typed, name.upper())

    def combine(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
        variance = _variance(noisy, grid, sample)
        return np.sqrt(variance) if root else variance

    return Aggregate(name, nodes, read, accept, _ways(combine), lambda _: "DOUBLE")


def _ways(combine: Callable[[Noisy, Grid], npt.NDArray[Any]]) -> Callable[[Typed | None, Grid], tuple[Way, ...]]:
    def ways(argument: Typed | None, grid: Grid) -> tuple[Way, ...]:
        if not grid.cells:
            return (Way(Basis.PRESENT, 0.0, _constant, lambda scale, grid, level: 0.0),)
        return tuple(Way(basis, 20.0, combine, None) for basis in (Basis.BERNSTEIN, Basis.BERNSTEIN_AND_NULLS))

    return ways


AGGREGATES = (
    _aggregate("variance", (exp.Variance,), sample=True, root=False),
    _aggregate("var_pop", (exp.VariancePop,), sample=False, root=False),
    _aggregate("stddev", (exp.Stddev, exp.StddevSamp), sample=True, root=True),
    _aggregate("stddev_pop", (exp.StddevPop,), sample=False, root=True),
)
