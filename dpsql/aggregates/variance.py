"""VARIANCE(x), STDDEV(x) and their kin: of a sample (VAR_SAMP, STDDEV_SAMP) or of a population (…_POP)."""

from __future__ import annotations

import math
from collections.abc import Callable
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
from dpsql.aggregates.avg import in_rows, plausible
from dpsql.aggregates.numbers import bernstein_double, bernstein_total, row_total
from dpsql.aggregates.sum import bounded_number
from dpsql.expressions import Compiler, Typed
from dpsql.privacy.fixed_draws import fixed_draws

Doubles = npt.NDArray[np.float64]
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
    unit = grid.cells**2 * grid.fine
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


_VARIANCES = np.linspace(0.0, 0.5, 9)
_AT_ONCE = 4_096
"""Variances whose intervals are worked out together."""


def _interval(sample: bool, root: bool, loads: Loads) -> Callable[[Noisy, Law, Grid, float], Ends]:
    """The ends of the variances θ that the noise makes plausible, in squares of the bounds' distance, of values u in
    [0, 1]. With N, A, B the noisy number of rows, Σ u and Σ u²,

        T(μ, θ) = Σ (u − μ)² − θ·(n − k), noisy = B − 2μA + μ²N − θ·(N − k)        (k = 1 of a sample, else 0)

    is pure noise at the true mean and variance, whatever the data: with a known mean, the θ for which T lies between
    two quantiles of its noise would be an exact interval (Fieller 1954). The mean isn't known. So this is a generalised
    confidence interval (Weerahandi 1993): noise of the same law is taken off N, A and B again and again, which gives
    sums that may have been the exact ones, with their mean μ'. In some share p(θ) of the draws they have
    Σ (u − μ')² > θ·(n − k), and the interval is

        {θ : (1 − level)/2 ≤ p(θ) ≤ (1 + level)/2}.

    For many rows that is Fieller's, since μ' is close to the true mean. For no more rows than the noise is worth, μ'
    would be hardly more than noise, and is drawn only as far as their number is firm: see `_drawn_means`.

    What it holds of possible variances grows with the level: the quantiles lie further out. That it holds the exact
    number in `level` of all releases is measured, not proved. At 0.95 it is 0.94 to 0.97 for people's ages and incomes,
    for any n·ε from 2 upward; of other data 0.915 is the least that was found, where half of few values lie at either
    bound.

    It is an interval of the number before that is clamped. What no variance can be is cut off; but where noise took
    all of it there, so that cutting would leave a single point that looks certain, it is given as it is.
    """

    def interval(noisy: Noisy, law: Law, grid: Grid, level: float) -> Ends:
        of_scale = law.in_units(law.scale)
        limits = _limits(of_scale, level, loads)
        worth = float(law.scale) * _noise(of_scale, loads)[0]
        sums = [number / worth for number in _power_sums(noisy, grid)]
        width = float(grid.upper - grid.lower) ** 2
        ends = [np.zeros(0)], [np.zeros(0)]
        for start in range(0, len(sums[0]), _AT_ONCE):
            n, a, b = (number[start : start + _AT_ONCE] for number in sums)
            for found, end in zip(ends, _plausible_variances(n, a, b, 1 / worth, sample, limits), strict=True):
                found.append(width * end)
        low, high = np.concatenate(ends[0]), np.concatenate(ends[1])
        return (_signed_root(low), _signed_root(high)) if root else (low, high)

    return interval


def _signed_root(number: Doubles) -> Doubles:
    """√x, and −√−x below 0: as an end of an interval that lies beyond what a deviation can be."""
    found: Doubles = np.copysign(np.sqrt(np.abs(number)), number)
    return found


def _power_sums(noisy: Noisy, grid: Grid) -> tuple[Doubles, Doubles, Doubles]:
    """The noisy number of rows with a value, Σ u and Σ u²."""
    rows = in_rows(noisy, grid)
    if "square" in noisy:
        centre = noisy["centre"].astype(np.float64) / (finer(grid.cells) * grid.cells)
        square = noisy["square"].astype(np.float64) / (finer(grid.cells**2) * grid.cells**2)
        return rows, (rows + centre) / 2, (3 * rows + 4 * centre + square) / 8
    unit = float(grid.cells**2 * grid.fine)
    return rows, bernstein_double(noisy).astype(np.float64) / (2 * unit), noisy["high"].astype(np.float64) / unit


def _plausible_variances(n: Doubles, a: Doubles, b: Doubles, row: float, sample: bool, limits: Doubles) -> Ends:
    """The ends for noisy N, A and B, counted in what the noise is worth; a row is `row` of that.

    Beyond _VARIANCES limits are what they are at their ends, and there is a row at least.
    """
    means = _means(n, a)
    freedom = n - row if sample else n
    middle = (b - 2 * means * a + means * means * n)[:, None] - freedom[:, None] * _VARIANCES
    below, above = _at(limits, n, a)
    low, high = plausible(middle, _VARIANCES, below, above)
    most = 0.5 if sample else 0.25
    nowhere = high < low
    end = np.where(middle[:, 0] > above[:, 0], len(_VARIANCES) - 1, 0)[:, None]  # the one that it lies beyond
    here, least, greatest = (np.take_along_axis(of, end, 1)[:, 0] for of in (middle, below, above))
    slope = np.maximum(freedom, row)
    low = np.where(nowhere, _VARIANCES[end[:, 0]] + (here - greatest) / slope, low)
    high = np.where(nowhere, _VARIANCES[end[:, 0]] + (here - least) / slope, high)
    return low, np.where(low < most, np.minimum(high, most), high)


_ROWS = np.array([-5, -3, -1.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 36, 64, 128])
"""N for which limits are worked out. Beyond them they are the same: for many rows they depend on the mean alone."""
_MARGIN = 4.0
"""Noise seldom takes A further than that beyond 0 or N."""
_PLACES = np.linspace(0.0, 1.0, 25)
"""Places of A, from −_MARGIN to N + _MARGIN, for which they are. Between all these they are about linear."""
_SPARSE = np.array([0, 1, 2, 4, 8])
"""Those of _VARIANCES, too."""
_DRAWS = 2**14
_BEYOND = 10
"""So many of the draws lie beyond each limit. At higher levels the limits grow as those of T's noise do."""
_LOOSE = 2.0
"""With so many rows a drawn mean counts half. Intervals cover as they should from 1 to 2 (measured)."""


def _means(n: Doubles, a: Doubles) -> Doubles:
    """About a / n, but in [0, 1] and without a jump at n = 0, wherever noise took the two: T is worked out there."""
    return np.clip((a + 0.2) / (np.maximum(n, 0.0) + 0.4), 0.0, 1.0)


def _drawn_means(n: Doubles, a: Doubles, mean: float) -> Doubles:
    """The means μ' of drawn sums: a / n in [0, 1], moved towards that of the noisy sums where n is small.

    With few rows T hardly depends on the mean, so any is better than one that moves with the noise of A and N: taken
    together with it, T would look much more uncertain than it is.
    """
    rows = np.maximum(n, 1e-9)
    drawn: Doubles = mean + (np.clip(a / rows, 0.0, 1.0) - mean) * rows / (rows + _LOOSE)
    return drawn


@lru_cache(maxsize=16)
def _noise(law: Law, loads: Loads) -> tuple[float, Doubles]:
    """How many rows the noise of scale 1 is worth, and draws of that of N, A and B, in this unit.

    It is the largest standard deviation of the noise of N, A and N − A. T's noise is that of B − 2μA + (2μ² − E[u²])·N,
    so `loads` says what the noise of each part adds to N, A and B.
    """
    of_b = np.array(loads(0.0, 0.0))
    of_n = of_b - loads(0.0, 1.0)
    of_a = (of_b + 2 * of_n - loads(1.0, 0.0)) / 2
    every = np.array([of_n, of_a, of_b])
    own, count = every[:, :-1], every[:, -1:]
    noise, variances = np.zeros((3, _DRAWS)), np.zeros(3)
    for number, block in enumerate(law.blocks):
        coefficients = np.hstack((own * float(block.scale), *(count * float(scale) for scale in block.count_scales)))
        sums = max(block.sums, coefficients.shape[1])
        drawn = fixed_draws(law.mechanism, [Fraction(2**20)] * sums, _DRAWS, stream=number)[: coefficients.shape[1]]
        noise += coefficients @ (np.array(drawn) / 2.0**20)
        rows, values = coefficients[:2]
        variances += [law.mechanism.variance(block.sums) * float(c @ c) for c in (rows, values, rows - values)]
    worth = math.sqrt(max(variances))
    return worth, noise / worth


def _limits(law: Law, level: float, loads: Loads) -> Doubles:
    """The least and the greatest T that is plausible, for each of _ROWS, _PLACES, and _VARIANCES as the last axis."""
    drawn_level = min(level, 1 - 2 * _BEYOND / _DRAWS)
    found = _drawn_limits(law, drawn_level, loads)
    if drawn_level == level:
        return found
    of_level, of_drawn = (_half_width(law, loads(0.5, 0.25), each) for each in (level, drawn_level))
    return found * (of_level / of_drawn)


@lru_cache(maxsize=64)
def _drawn_limits(law: Law, level: float, loads: Loads) -> Doubles:
    """They are quantiles of T(μ, θ) − T(μ', θ), the latter of what a draw x, y, z of the noise of N, A and B leaves of
    these: N − x, A − y and B − z. So B cancels.

    The noise is symmetric, and T of 1 − u for 1 − μ is that of u for μ: so limits at N − A are those at A.
    """
    x, y, z = _noise(law, loads)[1]
    first = int((1 - level) / 2 * _DRAWS)
    ends = [first, _DRAWS - 1 - first]
    sparse = np.empty((len(_ROWS), len(_PLACES), 2, len(_SPARSE)))
    half = len(_PLACES) // 2
    for i, n in enumerate(_ROWS):
        for j, a in enumerate(_PLACES[: half + 1] * (n + 2 * _MARGIN) - _MARGIN):
            mean = float(_means(n, a))
            means = _drawn_means(n - x, a - y, mean)
            difference = z + means * (2 * (a - y) - means * (n - x)) - mean * (2 * a - mean * n)
            for k, variance in enumerate(_VARIANCES[_SPARSE]):
                sparse[i, j, :, k] = np.partition(difference - variance * x, ends)[ends]
    sparse[:, half + 1 :] = sparse[:, half - 1 :: -1]
    found: Doubles = np.apply_along_axis(lambda at: np.interp(_VARIANCES, _VARIANCES[_SPARSE], at), -1, sparse)
    return found


def _at(limits: Doubles, n: Doubles, a: Doubles) -> tuple[Doubles, Doubles]:
    """The lower and the upper limits at N and A, for each of _VARIANCES as the last axis."""
    rows = np.clip(n, _ROWS[0], _ROWS[-1])
    sums = a * (_ROWS[-1] / np.maximum(n, _ROWS[-1]))
    i = np.clip(np.searchsorted(_ROWS, rows, side="right") - 1, 0, len(_ROWS) - 2)
    f = ((rows - _ROWS[i]) / (_ROWS[i + 1] - _ROWS[i]))[:, None, None]
    steps = np.clip((sums + _MARGIN) / (rows + 2 * _MARGIN), 0.0, 1.0) * (len(_PLACES) - 1)
    j = np.minimum(steps.astype(np.int64), len(_PLACES) - 2)
    g = (steps - j)[:, None, None]
    found = (limits[i, j] * (1 - f) + limits[i + 1, j] * f) * (1 - g)
    found += (limits[i, j + 1] * (1 - f) + limits[i + 1, j + 1] * f) * g
    return found[:, 0], found[:, 1]


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
