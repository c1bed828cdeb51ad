"""Exact rows: what an engine returns, before any noise.

The privacy line is a type. Everything in here is private and un-noised; only `release` may look inside. So
that a value cannot slip out through a log or a traceback, the repr shows the shape only; so that no rounding
can slip in (law 1: integers between clip and noise), a sum column that is not an integer column is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.errors import InternalError

Array = npt.NDArray[Any]

_LIMB_BITS = 63
_NOT_INTEGERS = "a sum column left the engine as {}, not as integers"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KeyColumn:
    """One group key column: `values` (int64, bool, or object for text and the rest) and where it is NULL.

    `null` is None if no row is NULL. Where it is true, `values` holds a filler that means nothing.
    """

    values: Array
    null: npt.NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        return f"KeyColumn({len(self.values)} rows)"

    def tolist(self) -> list[Any]:
        """The keys as Python values, NULL as None. For few rows: it makes one object per row."""
        values: list[Any] = self.values.tolist()
        if self.null is None:
            return values
        return [None if null else value for value, null in zip(values, self.null.tolist(), strict=True)]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ExactRows:
    """Group keys and exact integer sums (counts first), column by column, in no particular order of rows.

    Each sum column is int64, or an object array of Python ints where some sum does not fit.
    """

    keys: tuple[KeyColumn, ...]
    sums: tuple[Array, ...]

    def __post_init__(self) -> None:
        """Raises InternalError for a sum that is not made of integers and for columns of unequal length."""
        for column in self.sums:
            _require_integers(column)
        lengths = {len(key.values) for key in self.keys} | {len(column) for column in self.sums}
        if len(lengths) > 1:
            raise InternalError("the columns of exact rows differ in length")

    def __len__(self) -> int:
        columns = self.sums or tuple(key.values for key in self.keys)
        return len(columns[0]) if columns else 0

    def __repr__(self) -> str:
        return f"ExactRows({len(self)} rows, {len(self.keys)} keys, {len(self.sums)} sums)"


def _require_integers(column: Array) -> None:
    if column.dtype == np.int64:
        return
    if column.dtype == object and all(type(value) is int for value in column):
        return
    raise InternalError(_NOT_INTEGERS.format(column.dtype))


def join_limbs(high: Array, low: Array) -> Array:
    """The exact sums s from their limbs, high = s >> 63 and low = s & (2^63 - 1).

    A driver turns 128-bit integers into float64, so a sum leaves the engine as two BIGINTs. s = high * 2^63 +
    low holds for negative s too. The result is int64 if every high limb is 0 (then s = low, below 2^63), else
    Python ints in an object array. Raises InternalError if a limb is not int64: a float or a NULL must not
    become a sum.
    """
    high, low = whole(high), whole(low)
    if not high.any():
        return low
    return np.asarray(high.astype(object) * 2**_LIMB_BITS + low.astype(object), dtype=object)


def whole(column: Array) -> Array:
    """A column of BIGINT without NULL as the driver gave it. Raises InternalError for anything else."""
    if column.dtype != np.int64 or (isinstance(column, np.ma.MaskedArray) and np.ma.getmaskarray(column).any()):
        raise InternalError(_NOT_INTEGERS.format(column.dtype))
    return np.ma.getdata(column)


def key_column(values: Array) -> KeyColumn:
    """A key column as the driver gave it (a masked array if it may hold NULL). Narrow integers become int64.

    Raises InternalError for floats: keys are exact.
    """
    if values.dtype.kind == "f":
        raise InternalError("a key column left the engine as floats")
    null: npt.NDArray[np.bool_] | None = None
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        null = mask if mask.any() else None
        values = np.ma.getdata(values)
    if values.dtype.kind in "iu" and values.dtype != np.uint64:
        values = values.astype(np.int64, copy=False)
    return KeyColumn(values, null)
