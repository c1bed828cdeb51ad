"""Arithmetic on noisy integers: exact, in int64 where it fits and in Python integers where it doesn't."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpsql.aggregates.aggregate import FINE, INT64_MAX, Grid, Integers, Noisy, finer

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


def whole_half_width(half_width: float) -> float:
    """The half-width of a number that is rounded to a whole one: the least w with w + 1/2 not below the given one."""
    return float(max(0, math.ceil(half_width - 0.5)))


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
    """low + high: the noisy number of rows with a value, times cells."""
    return weighted(1, noisy["low"], 1, noisy["high"])


def row_count(noisy: Noisy, grid: Grid) -> Integers:
    return rounded_quotient(*row_total(noisy, grid))


def bernstein_total(noisy: Noisy) -> Integers:
    """low + middle + high: the noisy number of rows with a value, times cells²."""
    return weighted(1, weighted(1, noisy["low"], 1, noisy["middle"]), 1, noisy["high"])


def bernstein_double(noisy: Noisy) -> Integers:
    """middle + 2·high: twice the noisy sum of indices, times cells."""
    return weighted(1, noisy["middle"], 2, noisy["high"])


def row_total(noisy: Noisy, grid: Grid) -> tuple[Integers, int]:
    """The noisy number of rows with a value in units, and the unit."""
    if "count" in noisy:
        if "valued" in noisy:
            return weighted(1, noisy["count"], 1, noisy["valued"]), 2 * FINE
        return noisy["count"], FINE
    for name in ("rows", "present"):
        if name in noisy:
            return noisy[name], 1
    if "middle" in noisy:
        return bernstein_total(noisy), grid.cells**2
    return endpoint_total(noisy), grid.cells


def shared_count(noisy: Noisy, grid: Grid) -> Integers:
    """The noisy number of rows, with a value or without, in steps of 1/FINE: for numbers of other columns."""
    total, unit = row_total(noisy, grid)
    if "nulls" in noisy:
        total = weighted(1, total, unit, noisy["nulls"])
    if unit == FINE:
        return total
    return rounded_quotient(weighted(FINE, total, 0, total), unit)


def endpoint_sum(noisy: Noisy, grid: Grid) -> Integers:
    """(L·low + U·high) in grains, times cells."""
    return weighted(grid.low_steps, noisy["low"], grid.high_steps, noisy["high"])


def bernstein_sum(noisy: Noisy, grid: Grid) -> Integers:
    """(L·low + (L + U)/2·middle + U·high) in grains, times 2·cells²."""
    low, high = grid.low_steps, grid.high_steps
    return weighted(1, weighted(2 * low, noisy["low"], low + high, noisy["middle"]), 2 * high, noisy["high"])


def centred_sum(noisy: Noisy, grid: Grid) -> tuple[Integers, int]:
    """(L + U)/2·rows + (U − L)/2·centre in grains, in units, and the unit."""
    total, unit = row_total(noisy, grid)
    both, fine = grid.low_steps + grid.high_steps, finer(grid.cells)
    return weighted(both * fine, total, unit, noisy["centre"]), 2 * unit * fine
