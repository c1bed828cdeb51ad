"""Declared columns in DuckDB's terms: how a CSV cell becomes a value, and which stored types fit a declared
one.

Pure text: nothing here touches data or a driver.
"""

from __future__ import annotations

import csv
import datetime as dt
import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from dpsql.policy import Column, ColumnType, Key, Kind

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})
_DOUBLES = frozenset({"FLOAT", "DOUBLE"})
ZONED = "TIMESTAMP WITH TIME ZONE"
NANOSECONDS = "TIMESTAMP_NS"
_TIMESTAMPS = frozenset({"TIMESTAMP"})
"""Not seconds, milliseconds or nanoseconds: comparing them with a TIMESTAMP converts one to the other, which fails for
moments that the other can't hold. One such row would make a query fail."""
SCANNED_TIMESTAMPS = frozenset({ZONED, NANOSECONDS})
"""Types that a view over a file turns into TIMESTAMP; either holds fewer moments than TIMESTAMP."""

_NARROW = 2**30

_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"


def quoted(name: str) -> str:
    """A quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def stored_type(column: Column) -> str:
    """The DuckDB type in which a CSV column is stored: a function of the policy alone.

    Never of the values: a type chosen from private values would be a fact about them. An integer column is
    INTEGER where its declared bounds and keys are well inside 32 bits (clipping it costs less, see
    dpsql.rewrite.clip), else BIGINT.
    """
    if column.type.kind is not Kind.INTEGER:
        return _sql_type(column.type)
    named = [*(column.bounds or ()), *(column.keys or ())]
    numbers = [Fraction(value) for value in named if isinstance(value, int | Fraction)]
    return "INTEGER" if numbers and all(abs(number) <= _NARROW for number in numbers) else "BIGINT"


def _sql_type(type_: ColumnType) -> str:
    match type_.kind:
        case Kind.BOOLEAN:
            return "BOOLEAN"
        case Kind.INTEGER:
            return "BIGINT"
        case Kind.DECIMAL:
            return f"DECIMAL({18 if type_.precision is None else type_.precision},{type_.scale or 0})"
        case Kind.DOUBLE:
            return "DOUBLE"
        case Kind.TEXT:
            return "VARCHAR"
        case Kind.DATE:
            return "DATE"
        case Kind.TIMESTAMP:
            return "TIMESTAMP"


def fits(declared: ColumnType, stored: str) -> bool:
    """Whether a column stored as `stored` may be declared so: no value changes its meaning on the way."""
    match declared.kind:
        case Kind.INTEGER:
            return stored in _INTEGERS
        case Kind.DOUBLE:
            return stored in _DOUBLES
        case Kind.TIMESTAMP:
            return stored in _TIMESTAMPS
        case Kind.DECIMAL:
            found = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", stored)
            return found is not None and int(found[2]) == (declared.scale or 0)
        case _:
            return stored == _sql_type(declared)


def written(stored: str) -> str | None:
    """What to write in the policy as type of a column stored as `stored`; None if no declared type fits."""
    found = column_type(stored)
    if found is None:
        return None
    return f"decimal({found.precision},{found.scale})" if found.kind is Kind.DECIMAL else str(found.kind.value)


def column_type(stored: str) -> ColumnType | None:
    """The declared type of a column stored as `stored`; None if none fits."""
    decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", stored)
    if decimal:
        return ColumnType(Kind.DECIMAL, int(decimal[1]), int(decimal[2]))
    types = (ColumnType(kind) for kind in Kind if kind is not Kind.DECIMAL)
    return next((type_ for type_ in types if fits(type_, stored)), None)


def cell(text: str, column: Column) -> str:
    """SQL that reads the CSV cell `text` (a VARCHAR expression) as the column is stored; NULL if it does not
    fit.

    Total: no cell raises. Spaces around anything but text are ignored. An integer is digits only ('12.7' and
    '1e3' do not fit); a decimal has no more digits than its scale, but for zeros; a double is finite (NaN and
    infinities count as NULL everywhere in dpsql, and each costs the engine a slow failing cast if kept); a
    boolean is 0, 1, t, f, true, false; dates and timestamps are ISO 8601, without zone or with Z. In a column
    stored as INTEGER, a number beyond 32 bits becomes the nearest such integer: it is outside the column's
    bounds and clipped anyway.
    """
    value = _value(text, column.type)
    if stored_type(column) == "INTEGER":
        low, high = -(2**31), 2**31 - 1
        value = f"CASE WHEN {value} > {high} THEN {high} WHEN {value} < {low} THEN {low} ELSE {value} END"
        return f"CAST({value} AS INTEGER)"
    return value


def fitting(text: str, column: Column) -> str:
    """SQL that is NULL where a CSV cell is empty or is not kept as it is."""
    value = _value(text, column.type)
    return f"TRY_CAST({value} AS INTEGER)" if stored_type(column) == "INTEGER" else value


def _value(text: str, type_: ColumnType) -> str:
    if type_.kind is Kind.TEXT:
        return text
    trimmed = f"trim({text})"
    if type_.kind is Kind.BOOLEAN:
        lower = f"lower({trimmed})"
        return f"CASE WHEN {lower} IN ('1', 't', 'true') THEN TRUE WHEN {lower} IN ('0', 'f', 'false') THEN FALSE END"
    value = f"TRY_CAST({trimmed} AS {_sql_type(type_)})"
    if type_.kind is Kind.DOUBLE:
        value = f"CASE WHEN isfinite({value}) THEN {value} END"
    return f"CASE WHEN regexp_full_match({trimmed}, {literal(_pattern(type_))}) THEN {value} END"


def _pattern(type_: ColumnType) -> str:
    match type_.kind:
        case Kind.INTEGER:
            return "[+-]?[0-9]+"
        case Kind.DECIMAL:
            scale = type_.scale or 0
            return rf"[+-]?[0-9]*(\.[0-9]{{0,{scale}}}0*)?"
        case Kind.DATE:
            return _DATE
        case Kind.TIMESTAMP:
            return f"{_DATE}([ T]{_TIME})?Z?"
        case _:
            return _NUMBER


def separator(path: Path) -> str:
    """A file's cell separator, by its name: never guessed from private data."""
    return "\t" if path.suffix.lower() == ".tsv" else ","


def header(path: Path) -> list[str]:
    """The column names in a CSV file's first line, whatever stands below it.

    Raises OSError, UnicodeError or csv.Error if there are none.
    """
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        names = next(csv.reader(file, delimiter=separator(path), strict=True), [])
    "".join(names).encode()  # raises for a name that is not UTF-8
    return names


def file_literal(path: Path) -> str:
    """A SQL string literal that names one file: DuckDB takes *, ? and [ in a name for a pattern."""
    return literal(re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", str(path)))


def read_csv(path: Path, columns: int, *, delimiter: str, rejects: bool = False) -> str:
    """SQL that reads a CSV file as text, its columns named c0, c1, … Rows of another shape are left out.

    Nothing is sniffed: how a file is read must not turn on its rows. With `rejects`, the rows left out are
    noted in the connection's table reject_errors.
    """
    names = ", ".join(f"'c{index}': 'VARCHAR'" for index in range(columns))
    return (
        f"read_csv({file_literal(path)}, auto_detect = false, header = true, "
        f"""delim = {literal(delimiter)}, quote = '"', escape = '"', """
        f"columns = {{{names}}}, ignore_errors = true"
        f"{', store_rejects = true, rejects_limit = 0' if rejects else ''})"
    )


def sniffed_csv(paths: Iterable[Path]) -> str:
    """SQL that reads public CSV files with the same columns, their types taken from their values."""
    listed = [(file_literal(path), separator(path)) for path in paths]
    return (
        f"read_csv([{', '.join(file for file, _ in listed)}], header = true, delim = {literal(listed[0][1])}, "
        """quote = '"', escape = '"', sample_size = -1, union_by_name = true)"""
    )


def read_parquet(files: Iterable[str]) -> str:
    """SQL that reads Parquet files in place."""
    listed = ", ".join(literal(file) for file in files)
    return f"read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"


def parquet_column(column: Column, stored: str) -> str:
    """SQL of one declared column in the view over Parquet files; an instant is read as its UTC time."""
    name, known = quoted(column.name), quoted(column.name.lower())
    if stored == NANOSECONDS:
        return f"CAST({name} AS TIMESTAMP) AS {known}"
    return f"timezone('UTC', {name}) AS {known}" if stored == ZONED else f"{name} AS {known}"


def collated(create_table: str, columns: Iterable[str]) -> set[str]:
    """Which of the columns have a collation, given the table's CREATE TABLE text, by lower-case name.

    Under a collation 'A' = 'a' may hold, so keys would not be compared byte by byte. A text that can't be
    parsed counts as collated where it has the word at all.
    """
    names = {name.lower() for name in columns}
    if "collate" not in create_table.lower():
        return set()
    try:
        tree = parse_one(create_table, dialect="duckdb")
    except SqlglotError:
        return names
    found = {
        definition.name.lower()
        for definition in tree.find_all(exp.ColumnDef)
        if definition.find(exp.CollateColumnConstraint, exp.Collate) is not None
    }
    return found & names


def null(column: Column) -> str:
    """SQL: whether a stored value is NULL for dpsql; a double that is not finite is."""
    name = quoted(column.name)
    return f"NOT coalesce(isfinite({name}), FALSE)" if column.type.kind is Kind.DOUBLE else f"{name} IS NULL"


def outside(column: Column, keys: Iterable[Key] | None) -> str:
    """SQL: whether a stored value is outside of the column's bounds, or none of its keys."""
    name = quoted(column.name)
    if keys is not None:
        listed = ", ".join(value(key, column) for key in keys if key is not None)
        return f"coalesce({name} NOT IN ({listed}), FALSE)" if listed else f"{name} IS NOT NULL"
    if column.bounds is None:
        return "FALSE"
    lower, upper = (value(bound, column) for bound in column.bounds)
    return f"coalesce(({name} < {lower} OR {name} > {upper}) AND NOT {null(column)}, FALSE)"


def value(key: Key, column: Column) -> str:
    """A key or bound of the column as a SQL literal."""
    match key:
        case bool():
            return str(key).upper()
        case str():
            return literal(key)
        case dt.datetime():
            return f"TIMESTAMP {literal(key.isoformat(sep=' '))}"
        case dt.date():
            return f"DATE {literal(key.isoformat())}"
        case int() | Fraction() if column.type.kind is Kind.DOUBLE:
            return f"CAST({literal(repr(float(key)))} AS DOUBLE)"
        case int() | Fraction():
            return _decimal(Fraction(key), column.type.scale or 0)
    return "NULL"


def _decimal(number: Fraction, scale: int) -> str:
    """The number, which has at most `scale` decimals, as a literal. Bounds of integers may have more: cut."""
    units = abs(number.numerator) * 10**scale // number.denominator
    whole, rest = divmod(units, 10**scale)
    return f"{'-' if number < 0 else ''}{whole}" + (f".{rest:0{scale}d}" if scale else "")
