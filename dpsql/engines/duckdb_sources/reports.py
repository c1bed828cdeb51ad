"""How a source fits the policy: exact counts, for the owner and nobody else."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import duckdb

from dpsql.engines import TableReport, declared
from dpsql.engines.duckdb_sources import csv_files
from dpsql.engines.duckdb_sources.driver import quietly
from dpsql.policy import Key, Policy, Table


def report(
    cursor: duckdb.DuckDBPyConnection,
    policy: Policy,
    table: Table,
    relation: str,
    keys: Mapping[str, tuple[Key, ...] | None],
) -> TableReport:
    """Count the values of `relation`, as dpsql reads them, and the cells of CSV files; `keys` are those of each column
    by lower-case name.
    """
    names = [column.name for column in table.columns.values()]
    nulls = [declared.null(column) for column in table.columns.values()]
    outside = [declared.outside(column, keys[name]) for name, column in table.columns.items()]
    counts = ", ".join(f"COUNT(*) FILTER (WHERE {condition})" for condition in (*nulls, *outside))
    rows, *found = quietly(lambda: cursor.execute(f"SELECT COUNT(*), {counts} FROM {relation}").fetchall()[0])
    is_csv = table.source.kind == "csv"
    cells = csv_files.cells(policy, table) if is_csv else csv_files.Cells({}, {}, 0)
    return TableReport(
        table=table.name,
        rows=int(rows),
        nulls=_some(names, found[: len(names)]),
        outside=_some(names, found[len(names) :]),
        misfits=MappingProxyType(cells.misfits),
        unfit=MappingProxyType(cells.unfit),
        unreadable=cells.unreadable,
    )


def _some(names: list[str], counts: list[int]) -> Mapping[str, int]:
    return MappingProxyType({name: int(count) for name, count in zip(names, counts, strict=True) if count})
