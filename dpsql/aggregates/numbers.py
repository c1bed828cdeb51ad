"""Arithmetic on noisy integers: exact, in int64 where it fits and in Python integers where it doesn't."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.aggregates.aggregate import FINE, INT64_MAX, Grid, Integers, Law, Noisy, finer

FEW = 64


def largest(values: Integers) -> int:
    """The largest absolute value of an array, as a Python int (0 for an empty one)."""
    if values.size <= FEW:  # plain integers are quicker than two reductions
        return max(map(abs, values.tolist()), default=0)
    return max(abs(int(values.max())), abs(int(values.min())))


def weighted(a: int, x: Integers, b: int, y: Integers) -> Integers:
    """a·x + b·y, exact."""
    if abs(a) * max(largest(x), 1) + abs(b) * max(largest(y), 1) > INT64_MAX:
        x, y = x.astype(object), y.astype(object)
    total: Integers = a * x + b * y
    return total


def rounded_quotient(x: Integers, divisor: int) -> Integers:
    """x / divisor to the nearest integer, halves upward."""
    if divisor == 1:
        return x
    if 2 * largest(x) + 2 * divisor > INT64_MAX:
        x = x.astype(object)
    return (2 * x + divisor) // (2 * divisor)


def as_bigint(values: Integers) -> npt.NDArray[np.int64]:
    """Whole numbers as BIGINT, moved to its ends where they don't fit (they are noisy: nothing is learned)."""
    if values.dtype == np.int64:
        return values
    clipped = [min(max(int(v), -INT64_MAX), INT64_MAX) for v in values]
    return np.array(clipped, dtype=np.int64)


def whole_half_width(half_width: float, law: Law, coefficient: float = 1.0) -> float:
    """The half-width of a number that is rounded to a whole one, from that before it is rounded; `coefficient`: of a
    part of the number's own basis in it, the larger the better.

    An exact number that is whole is missed by more than w where the noise is above w + 1/2. One of weighted rows may be
    any: just above a whole number, it is missed with noise beyond w − 1/2 on one side, beyond w + 1/2 on the other.
    Half of P(|Z| > w − 1/2) and of P(|Z| > w + 1/2) is P(|Z| > w) cosh(1 / 2b) for Z Laplace of scale b. The tail of a
    sum falls no faster than that of any of its terms, that of cube noise no faster either. So w must be larger by
    b ln cosh(1 / 2b), at most 1/2.
    """
    if not law.weighted:
        return float(max(0, math.ceil(half_width - 0.5)))
    scale = float(law.scale) * coefficient
    half = 1 / (2 * scale)
    return float(math.ceil(half_width + scale * (half + math.log1p(math.exp(-2 * half)) - math.log(2))))


def whole_number(total: Integers, unit: int, grid: Grid) -> npt.NDArray[Any]:
    """total / unit to the nearest whole number, where whole numbers are wanted."""
    return as_bigint(rounded_quotient(total, unit)) if grid.whole else as_double(total, Fraction(1, unit))


def as_double(values: Integers, unit: Fraction) -> npt.NDArray[np.float64]:
    """values·unit in DOUBLE."""
    if values.dtype == object:
        return np.array([_float(Fraction(v) * unit) for v in values], dtype=np.float64)
    if unit.numerator == 1:
        return values / float(unit.denominator)
    return values * float(unit)


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def endpoint_total(noisy: Noisy) -> Integers:
    """low + high: the noisy number of rows with a value, times cells·fine."""
    return weighted(1, noisy["low"], 1, noisy["high"])


def bernstein_total(noisy: Noisy) -> Integers:
    """low + middle + high: the noisy number of rows with a value, times cells²·fine."""
    return weighted(1, weighted(1, noisy["low"], 1, noisy["middle"]), 1, noisy["high"])


def bernstein_double(noisy: Noisy) -> Integers:
    """middle + 2·high: twice the noisy sum of indices, times cells·fine."""
    return weighted(1, noisy["middle"], 2, noisy["high"])


def row_total(noisy: Noisy, grid: Grid) -> tuple[Integers, int]:
    """The noisy number of rows with a value in units, and the unit."""
    if "count" in noisy:
        if "valued" in noisy:
            return weighted(1, noisy["count"], 1, noisy["valued"]), 2 * FINE
        return noisy["count"], FINE
    for name in ("rows", "present"):
        if name in noisy:
            return noisy[name], grid.fine
    if "middle" in noisy:
        return bernstein_total(noisy), grid.cells**2 * grid.fine
    return endpoint_total(noisy), grid.cells * grid.fine


def total_with_nulls(noisy: Noisy, grid: Grid) -> tuple[Integers, int]:
    """The same of the rows with a value or without, where these are counted."""
    total, unit = row_total(noisy, grid)
    return (weighted(1, total, unit // grid.fine, noisy["nulls"]) if "nulls" in noisy else total), unit


def shared_count(noisy: Noisy, grid: Grid) -> Integers:
    """The noisy number of rows, with a value or without, in steps of 1/FINE: for numbers of other columns."""
    total, unit = total_with_nulls(noisy, grid)
    if unit == FINE:
        return total
    return rounded_quotient(weighted(FINE, total, 0, total), unit)


def endpoint_sum(noisy: Noisy, grid: Grid) -> Integers:
    """(L·low + U·high) in grains, times cells·fine."""
    return weighted(grid.low_steps, noisy["low"], grid.high_steps, noisy["high"])


def bernstein_sum(noisy: Noisy, grid: Grid) -> Integers:
    """(L·low + (L + U)/2·middle + U·high) in grains, times 2·cells²·fine."""
    low, high = grid.low_steps, grid.high_steps
    return weighted(1, weighted(2 * low, noisy["low"], low + high, noisy["middle"]), 2 * high, noisy["high"])


def centred_sum(noisy: Noisy, grid: Grid) -> tuple[Integers, int]:
    """(L + U)/2·rows + (U − L)/2·centre in grains, in units, and the unit."""
    total, unit = row_total(noisy, grid)
    both, fine = grid.low_steps + grid.high_steps, finer(grid.cells)
    return weighted(both * fine, total, unit, noisy["centre"]), 2 * unit * fine
