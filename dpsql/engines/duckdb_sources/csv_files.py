"""CSV files: read as text, each cell converted as its column is declared. Several files are one table."""

from __future__ import annotations

import csv
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from dpsql.engines import declared
from dpsql.engines.declared import quoted
from dpsql.engines.duckdb_sources.catalogue import missing, unreadable, wrong
from dpsql.engines.duckdb_sources.driver import CONFIG, quietly
from dpsql.engines.duckdb_sources.fingerprint import matches
from dpsql.engines.duckdb_sources.line_ends import has_open_quote, with_one_line_end
from dpsql.policy import Column, ColumnType, Kind, Policy, Table

_OTHER_KINDS = (Kind.INTEGER, Kind.DOUBLE, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP, Kind.TEXT)
"""In which order a type is looked for that fits cells which the declared one doesn't fit."""


@dataclass(frozen=True, slots=True)
class Cells:
    """How the files' cells fit: see dpsql.engines.TableReport."""

    misfits: dict[str, int]
    unfit: dict[str, tuple[int, str]]
    unreadable: int


def select(policy: Policy, table: Table, directory: Path) -> str:
    """SQL that reads a table's files. `directory` is private, for copies. Raises PolicyError where one can't be read
    or its header lacks a declared column.
    """
    files = _files(policy, table)
    headers = [_header(policy, table, file) for file in files]
    places = [_places(policy, table, file, names) for file, names in zip(files, headers, strict=True)]
    plain = [_plain(policy, table, file, directory) for file in files]
    if not table.columns:
        return f"FROM {declared.sniffed_csv(plain)}"
    parts = []
    for file, names, cells in zip(plain, headers, places, strict=True):
        wanted = ", ".join(
            f"{declared.cell(cell, table.columns[name])} AS {quoted(name)}" for name, cell in cells.items()
        )
        source = declared.read_csv(file, len(names), delimiter=declared.separator(files[0]))
        parts.append(f"SELECT {wanted} FROM {source}")
    return " UNION ALL ".join(parts)


def cells(policy: Policy, table: Table) -> Cells:
    """Read the files once more and count what doesn't fit: exact counts, for the owner only."""
    columns = table.columns
    filled: Counter[str] = Counter()
    misfits: Counter[str] = Counter()
    rejected = 0
    for file in _files(policy, table):
        counts, more = _counted(policy, table, file, {n: (column,) for n, column in columns.items()})
        rejected += more
        for name, (full, fitting) in counts.items():
            filled[columns[name].name] += full
            misfits[columns[name].name] += full - fitting
    bad = {n: c for n, c in columns.items() if filled[c.name] and misfits[c.name] == filled[c.name]}
    return Cells({n: k for n, k in misfits.items() if k}, _other_types(policy, table, bad), rejected)


def _other_types(policy: Policy, table: Table, columns: dict[str, Column]) -> dict[str, tuple[int, str]]:
    """For each of the columns the first type that all its cells fit."""
    if not columns:
        return {}
    kinds = {
        name: tuple(replace(column, type=ColumnType(kind), bounds=None, keys=None) for kind in _OTHER_KINDS)
        for name, column in columns.items()
    }
    sums = {name: [0] * (1 + len(_OTHER_KINDS)) for name in columns}
    for file in _files(policy, table):
        for name, counts in _counted(policy, table, file, kinds)[0].items():
            sums[name] = [a + b for a, b in zip(sums[name], counts, strict=True)]
    return {
        columns[name].name: (full, next(k.value for k, n in zip(_OTHER_KINDS, fitting, strict=True) if n == full))
        for name, (full, *fitting) in sums.items()
    }


def _counted(
    policy: Policy, table: Table, file: Path, columns: dict[str, tuple[Column, ...]]
) -> tuple[dict[str, list[int]], int]:
    """For each name: the filled cells and those that fit each of its columns; and the rows that can't be read."""
    names = _header(policy, table, file)
    places = _places(policy, table, file, names)
    counts = ", ".join(
        f"COUNT({places[name]}), " + ", ".join(f"COUNT({declared.fitting(places[name], as_)})" for as_ in candidates)
        for name, candidates in columns.items()
    )

    def count() -> tuple[Any, int]:
        with tempfile.TemporaryDirectory(prefix="dpsql-") as place, duckdb.connect(config=CONFIG) as connection:
            plain = _plain(policy, table, file, Path(place))
            source = declared.read_csv(plain, len(names), delimiter=declared.separator(file), rejects=True)
            row = connection.execute(f"SELECT {counts} FROM {source}").fetchall()[0]  # to the end: then all is noted
            rejected = connection.execute("SELECT COUNT(DISTINCT line) FROM reject_errors").fetchone()
            return row, int(rejected[0]) if rejected else 0

    row, rejected = quietly(count)
    numbers = iter(row)
    return {name: [int(next(numbers)) for _ in range(1 + len(c))] for name, c in columns.items()}, rejected


def _files(policy: Policy, table: Table) -> list[Path]:
    files = matches(table.source.location)
    if not files:
        raise unreadable(policy, table, table.source.location)
    return [Path(file) for file in files]


def _plain(policy: Policy, table: Table, file: Path, directory: Path) -> Path:
    """The file, or a copy whose lines all end alike: DuckDB refuses a mixture.

    Privacy: with an open quote one row would make all rows behind it disappear, so such a file is refused whole.
    """
    reason = None
    try:
        if not has_open_quote(file):
            return with_one_line_end(file, directory)
        reason = "has a quote that is opened and never closed"
    except OSError:
        pass
    raise unreadable(policy, table, str(file), reason)


def _header(policy: Policy, table: Table, file: Path) -> list[str]:
    """The names in a file's first line."""
    reason = None
    try:
        return declared.header(file)
    except UnicodeError:
        reason = "is not UTF-8 text"
    except csv.Error:
        reason = "is not a CSV file"
    except OSError:
        pass
    raise unreadable(policy, table, str(file), reason)


def _places(policy: Policy, table: Table, file: Path, names: list[str]) -> dict[str, str]:
    """For each declared column, by lower-case name, the column of read_csv that holds its cells."""
    return {name: f"c{_position(policy, table, file, column, names)}" for name, column in table.columns.items()}


def _position(policy: Policy, table: Table, file: Path, column: Column, names: list[str]) -> int:
    """Where a declared column stands in the file; names match without case."""
    places = [index for index, name in enumerate(names) if name.strip().lower() == column.name.lower()]
    if not places:
        missing(policy, table, column, names, str(file))
    if len(places) > 1:
        raise wrong(
            policy,
            column.line,
            f"table {table.name}: {file} has {len(places)} columns named {column.name}",
            "rename all but one in the file's header",
        )
    return places[0]
