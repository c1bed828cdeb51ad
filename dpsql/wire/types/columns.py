"""The columns of an answer as PostgreSQL writes their values, a whole column at a time.

Text is exactly PostgreSQL's (DateStyle ISO, extra_float_digits 1): the shortest decimal number that only this float is
nearest to, dates as 2020-01-01, booleans as t and f.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpsql.display import plain
from dpsql.result import Array, ResultColumn, Values
from dpsql.wire.types import arrays, oids

Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
_NULL = np.array(None)
_DTYPES = {oids.BOOL: "bool", oids.INT2: "int16", oids.INT4: "int32", oids.INT8: "int64", oids.OID: "uint32",
           oids.FLOAT8: "float64", oids.DATE: "datetime64[D]", oids.TIMESTAMP: "datetime64[us]"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """A column in its type on the wire: `values` is typed, but for text, which is Python's; `null` marks NULLs."""

    name: str
    oid: int
    values: Array
    null: Mask

    def __len__(self) -> int:
        return len(self.values)

    @property
    def size(self) -> int:
        """Bytes that its values take."""
        texts = sum(map(sys.getsizeof, self.values.tolist())) if self.values.dtype.hasobject else 0
        return int(self.values.nbytes + self.null.nbytes) + texts

    def part(self, start: int, end: int) -> Column:
        """Some of its rows."""
        return Column(self.name, self.oid, self.values[start:end], self.null[start:end])


@dataclass(frozen=True, slots=True)
class Cells:
    """The bytes of a column's values, one behind the other. `sizes` has 0 for NULL."""

    data: Bytes
    sizes: npt.NDArray[np.int64]
    null: Mask


def columns(heads: Sequence[ResultColumn], values: Values, of: Callable[[str], int] = oids.of_answer) -> list[Column]:
    """The columns of an answer; `of` gives the type on the wire of an SQL type."""
    return [_column(head.name, head.type, values.column(index), of(head.type)) for index, head in enumerate(heads)]


def _column(name: str, sql_type: str, values: Array, oid: int) -> Column:
    if isinstance(values, np.ma.MaskedArray):
        null, values = np.ma.getmaskarray(values), values.data
    else:
        null = np.equal(values, _NULL) if values.dtype == object else np.zeros(len(values), dtype=np.bool_)
    null = null.astype(np.bool_)
    if oid not in _DTYPES:
        if oid == oids.TEXT and sql_type != "VARCHAR":
            values = np.array([None if v is None else plain(v) for v in values.tolist()] + [None], dtype=object)[:-1]
        empty = "" if oid in _TEXTS else b"" if oid == oids.BYTEA else None
        return Column(name, oid, _filled(values, null, empty), null)
    if null.any():
        values = np.where(null, np.array(_ZEROS.get(oid, 0), dtype=object), values)
    return Column(name, oid, _typed(values, oid, zoned=sql_type == "TIMESTAMP WITH TIME ZONE"), null)


_TEXTS = (oids.TEXT, oids.JSON)


def _filled(values: Array, null: Mask, empty: object) -> Array:
    """The values with `empty` where NULL is."""
    if not null.any():
        return values
    filled = values.copy()
    filled[null] = empty
    return filled


_ZEROS: dict[int, object] = {oids.DATE: dt.date(2000, 1, 1), oids.TIMESTAMP: dt.datetime(2000, 1, 1)}


def _typed(values: Array, oid: int, *, zoned: bool) -> Array:
    dtype = np.dtype(_DTYPES[oid])
    try:
        if not (zoned and values.dtype.hasobject):
            return values.astype(dtype)
    except (TypeError, ValueError):  # a year that Python's dates lack: DuckDB gives text
        if dtype.kind != "M":
            raise
    return np.array([_moment(value) for value in values.tolist()], dtype=dtype)


_BEFORE_CHRIST = re.compile(r"([0-9]+)(-.*) \(BC\)(.*)")


def _moment(value: object) -> object:
    if isinstance(value, dt.datetime):
        return value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(value, str) and (match := _BEFORE_CHRIST.fullmatch(value)):
        return np.datetime64(f"{1 - int(match[1]):05d}{match[2]}{match[3]}".removesuffix("+00"))
    return np.datetime64(value.removesuffix("+00")) if isinstance(value, str) else value


# ---------------------------------------------------------------------------------------------- text


def text(column: Column) -> Cells:
    """The column's values as text."""
    return _joined(_with_ends(column), column.null)


def _with_ends(column: Column) -> str:
    """The column's values as text, each followed by a NUL."""
    values = column.values
    if not len(values):
        return ""
    match column.oid:
        case oids.BOOL:
            return "\0".join(np.where(values, "t", "f").tolist()) + "\0"
        case oids.INT2 | oids.INT4 | oids.INT8 | oids.OID:
            return "\0".join(map(str, values.tolist())) + "\0"
        case oids.FLOAT8:
            return _floats(values)
        case oids.TEXT | oids.JSON:
            return "\0".join(_without_nul(values.tolist())) + "\0"
        case oids.BYTEA:
            return "\0".join(rf"\x{value.hex()}" for value in values.tolist()) + "\0"
    if column.oid in oids.ELEMENTS:
        lists = [arrays.written(map(_element, value)) if value is not None else "" for value in values.tolist()]
        return "\0".join(_without_nul(lists)) + "\0"
    texts = "\0".join(np.datetime_as_string(values).tolist()) + "\0"
    if column.oid == oids.TIMESTAMP:
        texts = re.sub(r"(?:\.|(\.[0-9]*[1-9]))0*\0", r"\1\0", texts.replace("T", " "))
    return re.sub(r"-([0-9]+)(-[^\0]*)", _before_christ, texts) if (values < _YEAR_1).any() else texts


def _element(value: object) -> str | None:
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, float):
        return _floats(np.array([value])).removesuffix("\0")
    if isinstance(value, dt.datetime) and value.microsecond and value.tzinfo is None:
        return plain(value).rstrip("0")
    return None if value is None else plain(value)


_YEAR_1 = np.datetime64("0001-01-01")


def _before_christ(match: re.Match[str]) -> str:
    """NumPy counts the years before 1 from 0 downwards, PostgreSQL from 1 BC on."""
    return f"{int(match[1]) + 1:04d}{match[2]} BC"


def _without_nul(texts: list[str]) -> list[str]:
    """PostgreSQL's text has no NUL, and a lone surrogate is no character: both are shown as a replacement."""
    together = "".join(texts)
    if "\0" not in together and together.isprintable():
        return texts
    return [t.replace("\0", "\ufffd").encode("utf-8", "replace").decode() for t in texts]


def _floats(values: Array) -> str:
    """Python's own shortest representation, without `.0`; of whole numbers from 1e15 on PostgreSQL's."""
    large = np.abs(values) >= 1e15
    texts: Iterable[str] = map(repr, values.tolist())
    if large.any():
        texts = (float_text(v) if big else repr(v) for v, big in zip(values.tolist(), large.tolist(), strict=True))
    return ("\0".join(texts) + "\0").replace(".0\0", "\0").replace("nan\0", "NaN\0")


_EXACT = Context(prec=1_000)
"""Enough for the difference of any two numbers that floats or their texts are."""


def _is_midway(shown: Decimal, value: float) -> bool:
    """Whether a number that is read as a float is midway between it and one of its neighbours."""
    twice = _EXACT.multiply(_EXACT.subtract(shown, Decimal(value)), 2)
    return twice in (Decimal(math.ulp(value)), Decimal(math.nextafter(value, 0) - value))


@lru_cache(maxsize=1_000)
def _with_more_digits(shown: Decimal, value: float) -> Decimal:
    """PostgreSQL's choice where the shortest text is midway: it has more digits, and may be the higher one."""
    exact = Fraction(value)
    low = exact - (exact - Fraction(math.nextafter(value, 0))) / 2
    high = exact + Fraction(math.ulp(value)) / 2
    precision = len(shown.as_tuple().digits)
    while not low < Fraction(shown) < high:
        precision += 1
        nearest = Decimal(f"{value:.{precision - 1}e}")
        step = Decimal((0, (1,), nearest.adjusted() - precision + 1))
        shown = min((nearest, nearest - step, nearest + step), key=lambda n: abs(Fraction(n) - exact))
    return shown


def float_text(value: float) -> str:
    """PostgreSQL's text of a float from 1e15 on: always with an exponent, and never a number that is midway between two
    floats, which Python takes where it would be read back as the same.
    """
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    shown = Decimal(repr(abs(value)))
    if _is_midway(shown, abs(value)):
        shown = _with_more_digits(shown, abs(value))
    digits = "".join(map(str, shown.as_tuple().digits)).rstrip("0")
    decimals = f".{digits[1:]}" if digits[1:] else ""
    return f"{'-' if value < 0 else ''}{digits[0]}{decimals}e+{shown.adjusted():02d}"


def _joined(texts: str, null: Mask) -> Cells:
    """The cells of texts that each end with a NUL."""
    data = np.frombuffer(texts.encode("utf-8"), dtype=np.uint8)
    ends = np.flatnonzero(data == 0)
    sizes = np.diff(ends, prepend=-1) - 1
    return _without_nulls(data[data != 0], sizes.astype(np.int64), null)


def _without_nulls(data: Bytes, sizes: npt.NDArray[np.int64], null: Mask) -> Cells:
    """Without the bytes that stand where NULL is."""
    if not null.any():
        return Cells(data, sizes, null)
    return Cells(data[np.repeat(~null, sizes)], np.where(null, 0, sizes), null)


# ---------------------------------------------------------------------------------------------- binary

_FORMS = {
    oids.BOOL: "u1",
    oids.INT2: ">i2",
    oids.INT4: ">i4",
    oids.OID: ">u4",
    oids.INT8: ">i8",
    oids.FLOAT8: ">f8",
    oids.DATE: ">i4",
    oids.TIMESTAMP: ">i8",
}
_ORIGINS = {oids.DATE: np.datetime64("2000-01-01", "D"), oids.TIMESTAMP: np.datetime64("2000-01-01", "us")}


def binary(column: Column) -> Cells:
    """The column's values in PostgreSQL's binary format."""
    if column.oid in _TEXTS:
        return text(column)
    values = column.values
    if column.oid == oids.BYTEA or column.oid in oids.ELEMENTS:
        of = oids.ELEMENTS.get(column.oid)
        written = [bytes(v) if of is None else _binary_array(v, of) if v is not None else b"" for v in values.tolist()]
        sizes = np.array([len(value) for value in written], dtype=np.int64)
        return Cells(np.frombuffer(b"".join(written), dtype=np.uint8), sizes, column.null)
    if column.oid in _ORIGINS:
        values = (values - _ORIGINS[column.oid]).astype(np.int64)
    packed = values.astype(_FORMS[column.oid])
    sizes = np.full(len(column), packed.itemsize, dtype=np.int64)
    return _without_nulls(packed.view(np.uint8), sizes, column.null)


def _binary_array(values: list[object], element: int) -> bytes:
    """An array of one dimension, of none if it is empty (see dpsql.wire.types.inputs)."""
    if not values:
        return struct.pack("!iii", 0, 0, element)
    (column,) = columns((ResultColumn("", ""),), Values([(value,) for value in values]), lambda _: element)
    found = binary(column)
    ends = np.cumsum(found.sizes).tolist()
    parts = [struct.pack("!iiiii", 1, int(column.null.any()), element, len(values), 1)]
    for start, end, null in zip([0, *ends], ends, column.null.tolist(), strict=False):
        parts.append(struct.pack("!i", -1 if null else end - start) + found.data[start:end].tobytes())
    return b"".join(parts)


def cells(column: Column, form: int) -> Cells:
    """The column's values in text (0) or binary (1)."""
    return binary(column) if form else text(column)


# ---------------------------------------------------------------------------------------------- for copies


def escaped(column: Column, escape: Sequence[tuple[str, str]]) -> Cells:
    """The column's values as text, each text of `escape` replaced, in this order."""
    texts = _with_ends(column)
    if column.oid == oids.TEXT or column.oid in oids.ELEMENTS:
        for found, written in escape:
            texts = texts.replace(found, written)
    return _joined(texts, column.null)
