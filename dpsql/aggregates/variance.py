"""VARIANCE(x), STDDEV(x) and their kin: of a sample (VAR_SAMP, STDDEV_SAMP) or of a population (…_POP)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpsql.aggregates.aggregate import (
    Aggregate,
    Basis,
    CallShape,
    Grid,
    Law,
    Noisy,
    OverRows,
    Way,
    finer,
    one_argument,
)
from dpsql.aggregates.numbers import bernstein_double, bernstein_total, row_total
from dpsql.aggregates.sum import bounded_number
from dpsql.expressions import Compiler, Typed


def _population(noisy: Noisy, grid: Grid) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The variance in squares of the bounds' distance, in [0, 1/4], and the number of rows; at least one is assumed.

    Of moments: a quarter of E[t²] − E[t]², where 2 Σ t² = rows + Σ (2t² − 1). Of Bernstein parts: with N = low + middle
    + high, D = middle + 2·high and u the place of x between its bounds, E[u] = D / 2N and E[u²] = high / N: so the
    variance of u is (4·high·N − D²) / 4N². In integers, since the difference cancels.
    """
    if "square" in noisy:
        return _from_moments(noisy, grid)
    unit = grid.cells**2
    total, double, high = (
        array.astype(object) for array in (bernstein_total(noisy), bernstein_double(noisy), noisy["high"])
    )
    rows = np.maximum(total, unit)
    shares = (4 * high * rows - double * double) / (4 * rows * rows)  # integers of any size, rounded once
    return np.clip(shares.astype(np.float64), 0.0, 0.25), (rows / unit).astype(np.float64)


def _from_moments(noisy: Noisy, grid: Grid) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    counted, unit = row_total(noisy, grid)
    total, centre, square = (array.astype(object) for array in (counted, noisy["centre"], noisy["square"]))
    rows = np.maximum(total, unit)
    fine, finer_square = finer(grid.cells), finer(grid.cells**2)
    whole = fine * grid.cells * rows  # E[t] is centre·unit / whole
    squares = (fine * grid.cells) ** 2 * finer_square * total + fine * fine * square * unit  # 2 Σ t², on that scale
    shares = (rows * squares - 2 * finer_square * (centre * unit) ** 2) / (8 * finer_square * whole * whole)
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

    return Aggregate(name, nodes, read, accept, _ways(combine, root), lambda _: "DOUBLE")


def _over_rows(coefficients: Callable[[float, float], tuple[float, ...]]) -> OverRows:
    """The half-widths times the rows for values that are spread evenly, and for the worst.

    The error of a variance is about a linear combination of the noises, over n, in squares of the bounds' distance. Its
    coefficients are linear in E[u²], so the worst is looked for where E[u²] = E[u]² or E[u], and by symmetry where
    E[u] ≥ 1/2.
    """
    places = [place for u in (0.5, 0.625, 0.75, 0.875, 1.0) for place in ((u, u * u), (u, u))]

    def over_rows(law: Law, grid: Grid, level: float) -> tuple[float, float]:
        even, *widths = (_half_width(law, coefficients(*place), level) for place in ((1 / 2, 1 / 3), *places))
        square = float(grid.upper - grid.lower) ** 2
        return square * even, square * max(widths)

    return over_rows


def _half_width(law: Law, coefficients: tuple[float, ...], level: float) -> float:
    *own, count = coefficients
    return law.half_width(own, level, count=count)


def _bernstein_loads(mean: float, square: float) -> tuple[float, ...]:
    """d(H / N − (D / 2N)²): of low, middle and high; none of a count."""
    low = 2 * mean * mean - square
    return low, low - mean, low + 1 - 2 * mean, 0.0


def _moment_loads(mean: float, square: float) -> tuple[float, ...]:
    """d(E[t²] − E[t]²) / 4: of centre and square, and of the count of the rows with a value."""
    place, second = 2 * mean - 1, 2 * (4 * square - 4 * mean + 1) - 1
    return -place / 2, 1 / 8, place * place / 2 - second / 8


def _moment_and_null_loads(mean: float, square: float) -> tuple[float, ...]:
    *own, count = _moment_loads(mean, square)
    return *own, count / 2, count / 2


def _ways(combine: Callable[[Noisy, Grid], npt.NDArray[Any]], root: bool) -> Callable[..., tuple[Way, ...]]:
    def ways(argument: Typed | None, grid: Grid) -> tuple[Way, ...]:
        if not grid.cells:
            return (Way(Basis.PRESENT, 0.0, _constant, lambda law, grid, level: 0.0),)
        over = [None if root else _over_rows(f) for f in (_bernstein_loads, _moment_loads, _moment_and_null_loads)]
        return (
            *(
                Way(basis, 32.0, combine, None, even=16 / 3, over_rows=over[0])
                for basis in (Basis.BERNSTEIN, Basis.BERNSTEIN_AND_NULLS)
            ),
            Way(
                Basis.MOMENTS, 8.5, combine, None, even=0.5,
                of_count=2.25, even_of_count=1 / 36, over_rows=over[1],
            ),
            Way(
                Basis.MOMENTS_AND_NULLS, 9.625, combine, None, even=0.5 + 1 / 72,
                of_count=0.5625, even_of_count=1 / 144, over_rows=over[2],
            ),
        )  # fmt: skip

    return ways


AGGREGATES = (
    _aggregate("variance", (exp.Variance,), sample=True, root=False),
    _aggregate("var_pop", (exp.VariancePop,), sample=False, root=False),
    _aggregate("stddev", (exp.Stddev, exp.StddevSamp), sample=True, root=True),
    _aggregate("stddev_pop", (exp.StddevPop,), sample=False, root=True),
)
