"""The Laplace mechanism for numbers of any kind: exact in, exact noise, rounded once on the way out.

**Why it is private.** Let neighbouring databases give arrays x and y of d entries with sum |x_i - y_i| <=
sensitivity. Both are rounded onto the integers of a public grid, r(x) = floor(x / g + 1/2). Rounding moves
an entry by at most 1/2, so |r(x_i) - r(y_i)| <= |x_i - y_i| / g + 1 and the integers differ by at most D =
sensitivity / g + d in all. Independent discrete Laplace noise of scale D / epsilon on each then gives
epsilon-differential privacy (`dpsql.privacy.mechanisms.laplace`), for the numbers as they are computed: grid and scale
depend on d, epsilon and sensitivity alone, rounding and sum are integer arithmetic without overflow, and
the one rounding to a float64 comes after the noise.

**Why it is accurate.** g is at most 2^-40 of the textbook scale sensitivity / epsilon, so the grid is not
seen, and d g at most 2^-20 of the sensitivity, so the noise is less than a millionth larger than the
textbook's.

Refusals (NaN, infinity, a wrong type) are a caller's mistakes and ValueErrors; they do depend on the values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from dpsql.privacy.mechanisms.laplace import discrete_laplace, fits_int64, wide_laplace
from dpsql.privacy.random_bytes import best_source

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpsql.privacy.random_bytes import ByteSource

    Floats = npt.NDArray[np.float64]
    Fractions = npt.NDArray[np.object_]

Number: TypeAlias = Union[int, float, Fraction, Decimal, "np.integer[Any]", "np.floating[Any]"]

LARGEST = int(sys.float_info.max)
"""The largest finite float64; entries beyond it count as infinite."""

SAFE = 2.0**62
"""Two integers below this add up in an int64."""


def laplace_mechanism(
    query_result: Number | Sequence[Any] | npt.NDArray[Any], epsilon: Number, sensitivity: Number
) -> float | npt.NDArray[np.float64]:
    """`query_result` with independent Laplace noise of scale sensitivity / epsilon on each entry.

    `query_result` is a number (int, float, Fraction, Decimal or of numpy), a list of them, nested or not,
    or an array; what comes back is a float for a number, else a float64 array of the same shape.
    `sensitivity` is how far one privacy unit moves the *whole* array, in L1: the sum over all entries.
    What comes back is epsilon-differentially private as computed, not only in real numbers.
    Every result is an integer multiple of a public power of two, correctly rounded to a float64 (to an
    infinity where it lies beyond the largest).

    ValueError: epsilon or sensitivity is not a finite number above 0; an entry is NaN, infinite, bool,
    complex or no number.
    """
    return add_laplace(
        query_result,
        epsilon=_positive(epsilon, "epsilon"),
        sensitivity=_positive(sensitivity, "sensitivity"),
        source=best_source(),
    )


def add_laplace(
    query_result: object, *, epsilon: Fraction, sensitivity: Fraction, source: ByteSource
) -> float | npt.NDArray[np.float64]:
    """`laplace_mechanism` with checked parameters and a given source of bytes."""
    entries = _entries(query_result)
    exponent = grid_exponent(entries.size, epsilon=epsilon, sensitivity=sensitivity)
    scale = (sensitivity / Fraction(2) ** exponent + entries.size) / epsilon
    flat = entries.reshape(-1)
    add = _add_int64 if fits_int64(scale) else _add_wide
    noisy = add(flat, exponent, scale, source)
    is_number = entries.ndim == 0 and not isinstance(query_result, np.ndarray)
    return float(noisy[0]) if is_number else noisy.reshape(entries.shape)


def grid_exponent(entries: int, *, epsilon: Fraction, sensitivity: Fraction) -> int:
    """The largest k with 2^k <= 2^-40 sensitivity / epsilon and entries 2^k <= 2^-20 sensitivity."""
    limit = min(sensitivity / epsilon / 2**40, sensitivity / max(entries, 1) / 2**20)
    k = limit.numerator.bit_length() - limit.denominator.bit_length()  # 2^(k-1) < limit < 2^(k+1)
    return k if Fraction(2) ** k <= limit else k - 1


def _positive(value: object, name: str) -> Fraction:
    ratio = Fraction(*_ratio(value, name))
    if ratio <= 0:
        raise ValueError(f"{name} must be above 0")
    return ratio


def _ratio(value: object, what: str) -> tuple[int, int]:
    """A finite number, exactly, as numerator and denominator."""
    if isinstance(value, (bool, np.bool_, np.timedelta64)):
        raise ValueError(f"{what} must be a number, not {type(value).__name__}")
    if isinstance(value, (int, np.integer)):
        return int(value), 1
    if not isinstance(value, (float, Fraction, Decimal, np.floating)):
        raise ValueError(f"{what} must be a number, not {type(value).__name__}")
    try:
        return value.as_integer_ratio()
    except (ValueError, OverflowError):
        raise ValueError(f"{what} must be finite, not NaN or infinite") from None


def _entries(query_result: object) -> Floats | Fractions:
    """The entries in their shape, exactly: as float64 where every one of them is one, else as Fractions."""
    array = query_result if isinstance(query_result, np.ndarray) else np.array(query_result, dtype=object)
    array = _native(np.asarray(array))
    if array.dtype.kind not in "iufO":
        raise ValueError(f"an array of numbers was expected, not of {array.dtype}")
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        if not np.isfinite(array).all():
            raise ValueError("an entry of the query result is NaN or infinite")
        return array.astype(np.float64)
    if array.dtype.kind in "iu" and array.size and max(abs(int(array.min())), int(array.max())) <= 2**53:
        return array.astype(np.float64)
    fractions = np.empty(array.shape, dtype=object)
    for i, value in enumerate(array.flat):
        fractions.flat[i] = fraction = Fraction(*_ratio(value, "an entry of the query result"))
        if abs(fraction) > LARGEST:
            raise ValueError("an entry of the query result is beyond the range of float64")
    return fractions


def _native(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An object array of nothing but floats, or nothing but integers of 64 bits, as one of numpy's own."""
    types = set(map(type, array.flat)) if array.dtype.kind == "O" else set()
    try:
        return array.astype(np.float64 if types == {float} else np.int64 if types == {int} else array.dtype)
    except OverflowError:
        return array


def _add_int64(entries: Floats | Fractions, exponent: int, scale: Fraction, source: ByteSource) -> Floats:
    """Entries plus noise where the noise fits int64: vectorised for entries that do as well."""
    noise = discrete_laplace(scale).sample(entries.size, source)
    may_round_twice = not -1022 <= exponent <= 900  # the last ldexp: to a subnormal number or an infinity
    if entries.dtype == object or may_round_twice:
        return _sum_exactly(entries, noise, exponent)
    with np.errstate(over="ignore", under="ignore"):
        # exact, but for numbers so small that they round to 0 anyway or so large that they do not `fit`
        in_grid: Floats = np.ldexp(entries, -exponent)
    fit = (np.abs(in_grid) < SAFE) & (np.abs(noise) < SAFE)
    noisy = np.empty(entries.size)
    total = _round_half_up(in_grid[fit]) + noise[fit]
    noisy[fit] = np.ldexp(total.astype(np.float64), exponent)
    noisy[~fit] = _sum_exactly(entries[~fit], noise[~fit], exponent)
    return noisy


def _add_wide(entries: Floats | Fractions, exponent: int, scale: Fraction, source: ByteSource) -> Floats:
    """Entries plus noise where the noise needs more than 63 bits."""
    return _sum_exactly(entries, wide_laplace(scale, entries.size, source), exponent)


def _round_half_up(numbers: Floats) -> npt.NDArray[np.int64]:
    """floor(x + 1/2) for |x| < 2^62. x - floor(x) is exact but for -1/2 < x < 0, where it stays >= 1/2."""
    below = np.floor(numbers)
    return below.astype(np.int64) + (numbers - below >= 0.5)


def _sum_exactly(entries: Floats | Fractions, noise: npt.NDArray[Any], exponent: int) -> Floats:
    """Entries plus noise in Python's integers."""
    pairs = (entry.as_integer_ratio() for entry in entries.tolist())
    up, down = max(-exponent, 0), max(exponent, 0)
    sums = (
        _to_float(((numerator << up + 1) + (denominator << down)) // (denominator << down + 1) + z, exponent)
        for (numerator, denominator), z in zip(pairs, noise.tolist(), strict=True)
    )
    return np.fromiter(sums, dtype=np.float64, count=entries.size)


def _to_float(number: int, exponent: int) -> float:
    """number 2^exponent, correctly rounded: Python's int to float and int / int both are."""
    try:
        return float(number << exponent) if exponent >= 0 else number / (1 << -exponent)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
