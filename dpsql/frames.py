"""Answers as NumPy arrays, pandas and polars data frames, and Arrow.

Each function takes a result, the first row that is wanted, and which columns each noisy number is followed by: see
`Added`. Values are exact: decimals and integers beyond 64 bits stay Python objects in NumPy and pandas, and
are decimals in Arrow and polars. pandas, polars and pyarrow are imported when they are needed.
"""

from __future__ import annotations

import datetime as dt
import importlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpsql.display import has_error
from dpsql.errors import DataError, InterfaceError, NotSupportedError
from dpsql.result import Array, Result, ResultColumn

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import polars
    import pyarrow  # type: ignore[import-untyped]

_Known = TypeVar("_Known")

METADATA = b"dpsql.privacy"
"""The key of the privacy facts, as JSON, in the metadata of an Arrow schema."""

_TYPES = {
    '"NULL"': ("object", "null"),
    "BOOLEAN": ("bool", "bool"),
    "TINYINT": ("int8", "int8"),
    "SMALLINT": ("int16", "int16"),
    "INTEGER": ("int32", "int32"),
    "BIGINT": ("int64", "int64"),
    "UTINYINT": ("uint8", "uint8"),
    "USMALLINT": ("uint16", "uint16"),
    "UINTEGER": ("uint32", "uint32"),
    "UBIGINT": ("uint64", "uint64"),
    "HUGEINT": ("object", "DECIMAL(38,0)"),
    "UHUGEINT": ("object", "DECIMAL(38,0)"),
    "FLOAT": ("float32", "float"),
    "DOUBLE": ("float64", "double"),
    "DATE": ("datetime64[D]", "date32"),
    "TIME": ("object", "time64[us]"),
    "TIMESTAMP": ("datetime64[us]", "timestamp[us]"),
    "TIMESTAMP_S": ("datetime64[us]", "timestamp[us]"),
    "TIMESTAMP_MS": ("datetime64[us]", "timestamp[us]"),
    "TIMESTAMP_NS": ("datetime64[us]", "timestamp[us]"),
    "TIMESTAMP WITH TIME ZONE": ("datetime64[us]", "timestamp[us, UTC]"),
    "INTERVAL": ("timedelta64[us]", "duration[us]"),
    "VARCHAR": ("object", "string"),
    "ENUM": ("object", "string"),
    "JSON": ("object", "string"),
    "UUID": ("object", "string"),
    "BIT": ("object", "string"),
    "BIGNUM": ("object", "string"),
    "TIME WITH TIME ZONE": ("object", "string"),
    "BLOB": ("object", "binary"),
}
"""Of each SQL type the dtype and the Arrow type. Others are objects, and have no Arrow type but as lists of these."""
_ZONED = "TIMESTAMP WITH TIME ZONE"
_TEXTS = ("VARCHAR", "ENUM", "JSON", "BIT", "BIGNUM")
"""Types whose values are text in Python too."""
_NULL = np.array(None)
_MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Added:
    """What follows each column with an error: `<name>_half_width`; `<name>_low` and `<name>_high`, its interval."""

    half_widths: bool = False
    intervals: bool = False


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a frame: `values` of the dtype of its SQL type, masked if NULL is among them."""

    name: str
    type: str
    values: Array

    @property
    def mask(self) -> Array | None:
        """Where NULL is; None where there is none."""
        return np.ma.getmaskarray(self.values) if isinstance(self.values, np.ma.MaskedArray) else None


# ---------------------------------------------------------------------------------------------- frames


def numpy_arrays(result: Result, start: int, added: Added) -> dict[str, Array]:
    """An array for each column, masked if NULL is among its values."""
    columns = _columns(result, start, added)
    _check_names(columns, "a dictionary of arrays")
    return {column.name: column.values for column in columns}


def pandas_frame(result: Result, start: int, added: Added) -> pandas.DataFrame:
    """A pandas DataFrame, the privacy facts in its `attrs`."""
    pd = package("pandas", "pandas")
    columns = _columns(result, start, added)
    frame = pd.DataFrame({i: _pandas_column(pd, column) for i, column in enumerate(columns)})
    frame.columns = [column.name for column in columns]
    frame.attrs["privacy"] = privacy_facts(result)
    return frame


def arrow_table(result: Result, start: int, added: Added) -> pyarrow.Table:
    """A pyarrow Table, the privacy facts in the metadata of its schema."""
    return _arrow_table(package("pyarrow", "arrow"), result, _columns(result, start, added))


def polars_frame(result: Result, start: int, added: Added) -> polars.DataFrame:
    """A polars DataFrame, made by way of Arrow."""
    pl, pa = package("polars", "polars"), package("pyarrow", "polars")
    columns = _columns(result, start, added)
    _check_names(columns, "a polars DataFrame")
    frame: polars.DataFrame = pl.DataFrame(_arrow_table(pa, result, columns))
    return frame


def privacy_facts(result: Result) -> dict[str, Any]:
    """What frames say of their privacy: plain values, of which JSON can be made. Of ranks where something is known.

    Half-widths that differ from row to row are not among them: they would be copied with the facts at each step, and
    stay as they are when rows are left out or sorted.
    """
    privacy = result.privacy
    widths = _by_name(result, lambda column: column.half_width)
    ranks = _by_name(result, lambda column: None if column.rank is None else column.rank.facts(privacy.level))
    return {
        "analyst": privacy.analyst,
        "epsilon_charged": float(privacy.epsilon_charged),
        "delta_charged": float(privacy.delta_charged),
        "epsilon_left": None if privacy.epsilon_left is None else float(privacy.epsilon_left),
        "level": privacy.level,
        "stored": None if privacy.stored is None else privacy.stored.isoformat(timespec="seconds"),
        "half_widths": widths,
    } | ({"ranks": ranks} if ranks else {})


def _by_name(result: Result, known: Callable[[ResultColumn], _Known | None]) -> dict[str, _Known]:
    """What is known of columns, by their names; not of those that share one and differ in it."""
    found: dict[str, list[_Known | None]] = {}
    for column in result.columns:
        found.setdefault(column.name, []).append(known(column))
    return {name: one for name, (one, *others) in found.items() if one is not None and others == [one] * len(others)}


def package(name: str, extra: str) -> Any:
    """The module of that name. Raises InterfaceError where it is missing, with the extra that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InterfaceError(
            f"the package {name}, which this needs, can't be imported", hint=f"pip install 'dpsql[{extra}]'"
        ) from None


def _check_names(columns: list[_Column], frame: str) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise InterfaceError(
                f"two columns have the name {column.name}, and {frame} would lose one",
                hint="fetchall(), df() and arrow() keep both; in the next query, give names: SELECT COUNT(*) AS n",
            )
        seen.add(column.name)


# ---------------------------------------------------------------------------------------------- columns


def _columns(result: Result, start: int, added: Added) -> list[_Column]:
    columns: list[_Column] = []
    for index, column in enumerate(result.columns):
        values = result.values.column(index, start)
        columns.append(_Column(column.name, column.type, _typed(column.name, column.type, values)))
        if added.half_widths and has_error(column):
            columns.append(_Column(f"{column.name}_half_width", "DOUBLE", _widths(column, start, len(values))))
        if added.intervals and column.intervals is not None:
            for end, found in zip(("low", "high"), column.intervals.ends, strict=True):
                whole = "BIGINT" if found.dtype == np.int64 else "DOUBLE"
                columns.append(_Column(f"{column.name}_{end}", whole, _known(found[start:])))
    return columns


def _widths(column: ResultColumn, start: int, rows: int) -> Array:
    widths = column.half_widths
    return np.full(rows, column.half_width) if widths is None else _known(np.array(widths[start:], dtype=np.float64))


def _known(errors: Array) -> Array:
    """Errors of which NaN, where none is known, is NULL."""
    mask = np.isnan(errors)
    return np.ma.masked_array(np.where(mask, 0, errors), mask) if mask.any() else errors


def _typed(name: str, type_: str, values: Array) -> Array:
    """A copy of the values in the dtype of their SQL type, masked if NULL is among them."""
    dtype = np.dtype(_TYPES.get(type_, ("object", ""))[0])
    if isinstance(values, np.ma.MaskedArray):
        mask, values = np.ma.getmaskarray(values), values.data
    else:
        mask = np.equal(values, _NULL) if values.dtype == object else np.zeros(len(values), dtype=np.bool_)
    with _converting(name, type_):
        if type_ == _ZONED:
            values = np.array([v if v is None else _utc(v) for v in values.tolist()], dtype=object)
        if type_ == "INTERVAL":  # NumPy would wrap around what overflows
            values = np.array([v if v is None else v // _MICROSECOND for v in values.tolist()], dtype=object)
        if mask.any() and dtype.kind in "biuf":
            values = np.where(mask, 0, values)
        typed = values.astype(dtype)
    return np.ma.masked_array(typed, mask) if mask.any() else typed


def _utc(moment: object) -> dt.datetime:
    """A moment as NumPy wants it: of no time zone, which stands for UTC."""
    if not isinstance(moment, dt.datetime):
        raise ValueError  # beyond Python's years 1 to 9999: the engine gives text
    return moment.astimezone(dt.UTC).replace(tzinfo=None)


@contextmanager
def _converting(name: str, type_: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, OverflowError, NotImplementedError):
        raise DataError(
            f"a value of the column {name} is beyond what a frame holds for its type {type_}",
            hint="fetchall() gives it as a Python value; in the next query, cast it to VARCHAR",
        ) from None


# ---------------------------------------------------------------------------------------------- pandas


def _pandas_column(pd: Any, column: _Column) -> Any:
    """NULL among integers and booleans makes the column one of pandas' nullable types, and is a missing value else."""
    data, mask = np.ma.getdata(column.values), column.mask  # under the mask are NaT and None, or zeros
    if column.type.split("(")[0] in _TEXTS:
        return pd.array(data, dtype=pd.StringDtype(na_value=np.nan))
    if column.type == _ZONED:
        return pd.Series(data).dt.tz_localize("UTC")
    if data.dtype == object:
        return pd.Series(data, dtype=object)
    if mask is None:
        return data
    match data.dtype.kind:
        case "b":
            return pd.arrays.BooleanArray(data, mask)
        case "i" | "u":
            return pd.arrays.IntegerArray(data, mask)
        case "f":
            return np.where(mask, data.dtype.type(np.nan), data)
    return data


# ---------------------------------------------------------------------------------------------- Arrow

_LIST = re.compile(r"(?P<item>.*)\[(?P<length>\d*)\]")
_DECIMAL = re.compile(r"DECIMAL\((?P<precision>\d+),(?P<scale>\d+)\)")


def _arrow_table(pa: Any, result: Result, columns: list[_Column]) -> Any:
    arrays = [_arrow_column(pa, column) for column in columns]
    fields = [pa.field(column.name, array.type) for column, array in zip(columns, arrays, strict=True)]
    metadata = {METADATA: json.dumps(privacy_facts(result), ensure_ascii=False).encode()}
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata))


def _arrow_column(pa: Any, column: _Column) -> Any:
    type_ = _arrow_type(pa, column.type)
    if type_ is None:
        raise NotSupportedError(
            f"the column {column.name} has the type {column.type}, which Arrow has no place for",
            hint="fetchall(), fetchnumpy() and df() have it as Python values",
        )
    with _converting(column.name, column.type):
        if column.values.dtype != object:
            return pa.array(np.ma.getdata(column.values), type_, mask=column.mask)
        values = np.ma.getdata(column.values).tolist()
        if type_ == pa.string():  # UUIDs, and times with a zone
            values = [v if v is None else str(v) for v in values]
        return pa.array(values, type_)


def _arrow_type(pa: Any, sql_type: str) -> Any:
    """The Arrow type of a SQL type; None if there is none."""
    nested = _LIST.fullmatch(sql_type)
    if nested is not None:
        item = _arrow_type(pa, nested["item"])
        return None if item is None else pa.list_(item, int(nested["length"] or -1))
    base = sql_type.split("(")[0]
    name = sql_type if base == "DECIMAL" else _TYPES.get(base, ("", ""))[1]
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None:
        return pa.decimal128(int(decimal["precision"]), int(decimal["scale"]))
    if name == "timestamp[us, UTC]":
        return pa.timestamp("us", "UTC")
    return pa.type_for_alias(name) if name else None
