"""CSV files: read as text, each cell converted as its column is declared."""

from __future__ import annotations

import csv
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb

from dpsql.engines import TableReport, declared
from dpsql.engines.declared import quoted
from dpsql.engines.duckdb_sources.catalogue import missing, wrong
from dpsql.engines.duckdb_sources.driver import CONFIG, quietly
from dpsql.policy import Column, Policy, Table


def select(policy: Policy, table: Table) -> str:
    """SQL that reads a table's file. Raises PolicyError where its header lacks a declared column."""
    path = Path(table.source.location)
    if not table.columns:
        return f"FROM {declared.sniffed_csv(path)}"
    names = _header(policy, table, path)
    wanted = ", ".join(
        f"{declared.cell(cell, table.columns[name])} AS {quoted(table.columns[name].name)}"
        for name, cell in _cells(policy, table, names).items()
    )
    return f"SELECT {wanted} FROM {declared.read_csv(path, len(names))}"


def report(policy: Policy, table: Table) -> TableReport:
    """Read a file once more and count what doesn't fit: exact counts, for the owner only."""
    path = Path(table.source.location)
    names = _header(policy, table, path)
    cells = _cells(policy, table, names)
    counts = ", ".join(
        f"COUNT({cell}) - COUNT({declared.fitting(cell, table.columns[name])})" for name, cell in cells.items()
    )
    sql = f"SELECT COUNT(*), {counts} FROM {declared.read_csv(path, len(names), rejects=True)}"

    def count() -> tuple[Any, int]:
        with duckdb.connect(config=CONFIG) as connection:
            row = connection.execute(sql).fetchall()[0]  # to the end: only then are the rejects noted
            unreadable = connection.execute("SELECT COUNT(DISTINCT line) FROM reject_errors").fetchone()
            return row, int(unreadable[0]) if unreadable else 0

    row, unreadable = quietly(count)
    misfits = {table.columns[name].name: int(n) for name, n in zip(cells, row[1:], strict=True) if n}
    return TableReport(table.name, int(row[0]), MappingProxyType(misfits), unreadable)


def _header(policy: Policy, table: Table, path: Path) -> list[str]:
    try:
        names = declared.header(path)
    except (OSError, UnicodeError, csv.Error):
        names = None
    if names is None:
        raise wrong(
            policy,
            table.line,
            f"table {table.name}: {path} can't be read as a CSV file",
            "check the path; the file must be UTF-8 with a header line",
        )
    return names


def _cells(policy: Policy, table: Table, names: list[str]) -> dict[str, str]:
    """For each declared column, by lower-case name, the column of read_csv that holds its cells."""
    return {name: f"c{_position(policy, table, column, names)}" for name, column in table.columns.items()}


def _position(policy: Policy, table: Table, column: Column, names: list[str]) -> int:
    """Where a declared column stands in the file; names match without case."""
    places = [index for index, name in enumerate(names) if name.strip().lower() == column.name.lower()]
    if not places:
        missing(policy, table, column, names)
    if len(places) > 1:
        raise wrong(
            policy,
            column.line,
            f"table {table.name}: {table.source.location} has {len(places)} columns named {column.name}",
            "rename all but one in the file's header",
        )
    return places[0]
