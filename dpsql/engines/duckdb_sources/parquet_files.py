"""Parquet files: scanned in place through a view."""

from __future__ import annotations

import duckdb

from dpsql.engines import declared
from dpsql.engines.duckdb_sources.catalogue import check_type, unreadable, wrong
from dpsql.engines.duckdb_sources.driver import read_source
from dpsql.engines.duckdb_sources.fingerprint import matches
from dpsql.errors import PolicyError
from dpsql.policy import Column, Policy, Table


def found(policy: Policy, table: Table) -> list[str]:
    """The table's files. Raises PolicyError where there is none."""
    files = matches(table.source.location)
    if not files:
        raise unreadable(policy, table, table.source.location)
    return files


def _milliseconds(connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, file: str) -> set[str]:
    """The columns that a file stores as timestamps in milliseconds."""
    literal = declared.literal(file)
    sql = f"SELECT name, coalesce(logical_type, '') || coalesce(converted_type, '') FROM parquet_schema({literal})"
    rows = read_source(connection, policy, table, sql, file)
    return {str(name).lower() for name, kind in rows if "TimestampType" in kind and "MILLIS=MilliSeconds" in kind}


def _too_coarse(policy: Policy, table: Table, column: Column) -> PolicyError:
    """The reader fails on a millisecond that is no TIMESTAMP: one row would make every query fail."""
    return wrong(
        policy,
        column.line,
        f"table {table.name}: {column.name} is stored in milliseconds, which can hold moments that DuckDB can't read",
        "write the file with timestamps in microseconds",
    )


def select(connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, files: list[str]) -> str:
    """SQL that reads the files. Raises PolicyError where one of them doesn't fit the declared columns."""
    stored: dict[str, str] = {}
    for file in files:
        described = read_source(connection, policy, table, f"DESCRIBE FROM {declared.read_parquet([file])}", file)
        stored = {str(row[0]).lower(): str(row[1]) for row in described}
        coarse = _milliseconds(connection, policy, table, file)
        for column in table.columns.values():
            check_type(policy, table, column, stored, zoned=True)
            if column.name.lower() in coarse:
                raise _too_coarse(policy, table, column)
    wanted = ", ".join(
        declared.parquet_column(column, stored[column.name.lower()]) for column in table.columns.values()
    )
    return f"SELECT {wanted or '*'} FROM {declared.read_parquet(files)}"
