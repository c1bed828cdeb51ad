"""VARIANCE(x), STDDEV(x) and their kin: of a sample (VAR_SAMP, STDDEV_SAMP) or of a population (…_POP)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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
from dpsql.aggregates.avg import in_rows, places, plausible
from dpsql.aggregates.numbers import bernstein_double, bernstein_total, row_total
from dpsql.aggregates.sum import bounded_number
from dpsql.expressions import Compiler, Typed

Loads = Callable[[float, float], tuple[float, ...]]
"""(E[u], E[u²]) to the coefficients of each part's noise in Σ (u − E[u])² − n·(E[u²] − E[u]²), the count's last."""


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


_MEANS = np.linspace(0.0, 1.0, 33)
_VARIANCES = np.linspace(0.0, 0.5, 9)
_OF_MEAN = np.linspace(0.0, 1.0, 9)
_AT_ONCE = 256
"""Variances whose intervals are worked out together."""


def _interval(sample: bool, root: bool, loads: Loads) -> Callable[[Noisy, Law, Grid, float], Ends]:
    """The ends of the variances θ that the noise makes plausible, in squares of the bounds' distance, of values u in
    [0, 1]:

        {θ : |Σ (u − μ)² − θ·(n − k), noisy| ≤ q(μ, θ) for some plausible mean μ}        (k = 1 of a sample, else 0)

    with the noisy N, A, B of the rows, Σ u and Σ u² put in: B − 2μA + μ²N − θ·(N − k). At the true μ and θ this is pure
    noise, a linear combination of what was added to the parts, so it exceeds its own quantile q(μ, θ) in 1 − level of
    all releases, whatever the data (Fieller 1954). The mean isn't known, so each one is tried that is plausible at the
    same level (`avg.places`). By Berger and Boos (1994) θ is missed in at most 2 (1 − level) of releases. In fact it
    is in about 1 − level, and less where n·ε is small: the sum is least at the noisy mean, where its derivative is 0,
    so it differs from that at the true one by no more than the square of the mean's error times n, which falls with
    n·ε, and to the side of holding more.

    The value shown lies inside: a variance is at most 1/4, and is shown as that where the noise says more.
    """

    def interval(noisy: Noisy, law: Law, grid: Grid, level: float) -> Ends:
        lowest, highest = places(noisy, law, grid, level)
        of_scale = replace(law, scale=Fraction(1), count_scale=law.count_scale / law.scale)
        limits = float(law.scale) * _limits(of_scale, level, loads)
        rows, first, second = _power_sums(noisy, grid)
        width, most = float(grid.upper - grid.lower) ** 2, 0.5 if sample else 0.25
        ends = [np.zeros(0)], [np.zeros(0)]
        for start in range(0, len(rows), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            means = lowest[part, None] + (highest - lowest)[part, None] * _OF_MEAN
            n, a, b = (number[part, None] for number in (rows, first, second))
            middle = (b - 2 * means * a + means * means * n)[..., None] - (n - sample)[..., None] * _VARIANCES
            low, high = plausible(middle, _VARIANCES, _at(means, limits))
            low, high = low.min(1), high.max(1)
            nowhere = high < low
            ends[0].append(np.where(nowhere, 0.0, np.minimum(low, 0.25)))
            ends[1].append(np.where(nowhere, most, np.minimum(high, most)))
        least, greatest = width * np.concatenate(ends[0]), width * np.concatenate(ends[1])
        return (np.sqrt(least), np.sqrt(greatest)) if root else (least, greatest)

    return interval


def _power_sums(noisy: Noisy, grid: Grid) -> tuple[npt.NDArray[np.float64], ...]:
    """The noisy number of rows with a value, Σ u and Σ u²."""
    rows = in_rows(noisy, grid)
    if "square" in noisy:
        centre = noisy["centre"].astype(np.float64) / (finer(grid.cells) * grid.cells)
        square = noisy["square"].astype(np.float64) / (finer(grid.cells**2) * grid.cells**2)
        return rows, (rows + centre) / 2, (3 * rows + 4 * centre + square) / 8
    unit = float(grid.cells**2)
    return rows, bernstein_double(noisy).astype(np.float64) / (2 * unit), noisy["high"].astype(np.float64) / unit


@lru_cache(maxsize=64)
def _limits(law: Law, level: float, loads: Loads) -> npt.NDArray[np.float64]:
    """q(μ, θ): the half-width of the noise of Σ (u − μ)² − θ·n, for each of _MEANS and _VARIANCES.

    Close enough to interpolate linearly. It is that of 1 − μ too: the noise of each part is symmetric.
    """
    half = [
        [_half_width(law, loads(mean, mean * mean + variance), level) for variance in _VARIANCES.tolist()]
        for mean in _MEANS[: len(_MEANS) // 2 + 1].tolist()
    ]
    return np.array(half + half[-2::-1])


def _at(means: npt.NDArray[np.float64], limits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The limits at these means, for each of _VARIANCES, as a last axis."""
    steps = means * (len(_MEANS) - 1)
    below = np.minimum(steps.astype(np.int64), len(_MEANS) - 2)
    found: npt.NDArray[np.float64] = limits[below] + (steps - below)[..., None] * (limits[below + 1] - limits[below])
    return found


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

    return Aggregate(name, nodes, read, accept, _ways(combine, sample, root), lambda _: "DOUBLE")


def _over_rows(coefficients: Loads) -> OverRows:
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


def _ways(
    combine: Callable[[Noisy, Grid], npt.NDArray[Any]], sample: bool, root: bool
) -> Callable[..., tuple[Way, ...]]:
    def ways(argument: Typed | None, grid: Grid) -> tuple[Way, ...]:
        if not grid.cells:
            return (Way(Basis.PRESENT, 0.0, _constant, lambda law, grid, level: 0.0),)
        every = (_bernstein_loads, _moment_loads, _moment_and_null_loads)
        over = [_over_rows(loads) for loads in every]
        interval = [_interval(sample, root, loads) for loads in every]
        return (
            *(
                Way(basis, 32.0, combine, None, interval[0], even=16 / 3, over_rows=over[0], of_root=root)
                for basis in (Basis.BERNSTEIN, Basis.BERNSTEIN_AND_NULLS)
            ),
            Way(
                Basis.MOMENTS, 8.5, combine, None, interval[1], even=0.5,
                of_count=2.25, even_of_count=1 / 36, over_rows=over[1], of_root=root,
            ),
            Way(
                Basis.MOMENTS_AND_NULLS, 9.625, combine, None, interval[2], even=0.5 + 1 / 72,
                of_count=0.5625, even_of_count=1 / 144, over_rows=over[2], of_root=root,
            ),
        )  # fmt: skip

    return ways


AGGREGATES = (
    _aggregate("variance", (exp.Variance,), sample=True, root=False),
    _aggregate("var_pop", (exp.VariancePop,), sample=False, root=False),
    _aggregate("stddev", (exp.Stddev, exp.StddevSamp), sample=True, root=True),
    _aggregate("stddev_pop", (exp.StddevPop,), sample=False, root=True),
)
