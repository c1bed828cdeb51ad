"""How a source fits the policy: exact counts, for the owner and nobody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import duckdb

from dpsql.engines import TableReport, declared
from dpsql.engines.duckdb_sources import csv_files
from dpsql.engines.duckdb_sources.driver import quietly
from dpsql.engines.duckdb_sources.uniqueness import repeated
from dpsql.policy import Key, Policy, Table, Unit


def report(
    cursor: duckdb.DuckDBPyConnection,
    policy: Policy,
    table: Table,
    relation_of: Callable[[Table], str],
    keys: Mapping[str, tuple[Key, ...] | None],
) -> TableReport:
    """Count the values of a table, as dpsql reads them, and the cells of CSV files; `keys` are those of each column by
    lower-case name.
    """
    relation = relation_of(table)
    names = [column.name for column in table.columns.values()]
    nulls = [declared.null(column) for column in table.columns.values()]
    outside = [declared.outside(column, keys[name]) for name, column in table.columns.items()]
    counts = ", ".join(f"COUNT(*) FILTER (WHERE {condition})" for condition in (*nulls, *outside))
    rows, *found = quietly(lambda: cursor.execute(f"SELECT COUNT(*), {counts} FROM {relation}").fetchall()[0])
    units, beyond = 0, 0
    if (sizes := _rows_of_units(policy, table, relation_of)) is not None and isinstance(table.unit, Unit):
        count = f"SELECT COUNT(*), COUNT(*) FILTER (WHERE n > {table.unit.max_rows}) FROM ({sizes})"
        units, beyond = quietly(lambda: cursor.execute(count).fetchall()[0])
    unique = {} if table.public else {", ".join(sorted(key)): repeated(relation, key) for key in table.unique}
    times = quietly(lambda: [cursor.execute(f"SELECT COUNT(*) FROM ({r})").fetchall()[0][0] for r in unique.values()])
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
        repeated=_some(list(unique), times),
        units=int(units),
        beyond=int(beyond),
    )


def _rows_of_units(policy: Policy, table: Table, relation_of: Callable[[Table], str]) -> str | None:
    """SQL: the number n of rows of each unit that the table has rows of, along the foreign keys that lead to it."""
    source, place = f"{relation_of(table)} AS t0", 0
    while isinstance(table.unit, Unit) and (via := table.unit.via) is not None:
        table = policy.tables[via.parent]
        pairs = zip(via.columns, via.parent_columns, strict=True)
        equal = " AND ".join(
            f"t{place}.{declared.quoted(own)} = t{place + 1}.{declared.quoted(other)}" for own, other in pairs
        )
        place += 1
        source += f" JOIN {relation_of(table)} AS t{place} ON {equal}"
    if not isinstance(table.unit, Unit) or table.unit.column is None:
        return None  # each row is a unit; or a part of a policy that is tried by itself
    unit = f"t{place}.{declared.quoted(table.unit.column)}"
    return f"SELECT COUNT(*) AS n FROM {source} WHERE {unit} IS NOT NULL GROUP BY {unit}"


def _some(names: list[str], counts: list[int]) -> Mapping[str, int]:
    return MappingProxyType({name: int(count) for name, count in zip(names, counts, strict=True) if count})
