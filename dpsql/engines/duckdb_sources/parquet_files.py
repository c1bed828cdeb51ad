"""Parquet files: scanned in place through a view."""

from __future__ import annotations

import glob
from collections.abc import Callable
from typing import Any

import duckdb

from dpsql.engines import declared
from dpsql.engines.duckdb_sources.catalogue import check_type, unreadable, wrong
from dpsql.engines.duckdb_sources.driver import read_source
from dpsql.engines.duckdb_sources.fingerprint import matches
from dpsql.errors import PolicyError
from dpsql.policy import Column, Policy, Table

MILLISECONDS = "TIMESTAMP_MS"


def found(policy: Policy, table: Table) -> list[str]:
    """The table's files. Raises PolicyError where there is none, or one whose name DuckDB takes for a pattern."""
    files = matches(table.source.location)
    if not files:
        raise unreadable(policy, table, table.source.location)
    pattern = next((file for file in files if glob.has_magic(file)), None)
    if pattern is not None:
        raise wrong(
            policy,
            table.line,
            f"table {table.name}: the path of {pattern} has one of * ? [, and DuckDB would read other files too",
            "rename the Parquet file, or its folder",
        )
    return files


def stored_types(run: Callable[[str], list[Any]], file: str) -> dict[str, str]:
    """The columns of a file and their types, from its footer; MILLISECONDS where DuckDB would say TIMESTAMP.

    A column that DuckDB calls by another name than the footer, since two differ only in case, is left out: what the
    footer says of it can't be found. `run` runs SQL.
    """
    schema = "SELECT name, coalesce(logical_type, '') || coalesce(converted_type, '') FROM parquet_schema({})"
    kinds = run(schema.format(declared.literal(file)))
    coarse = {str(name) for name, kind in kinds if "TimestampType" in kind and "MILLIS=MilliSeconds" in kind}
    described = [(str(row[0]), str(row[1])) for row in run(f"DESCRIBE FROM {declared.read_parquet([file])}")]
    own = {str(name) for name, _ in kinds}
    return {name: MILLISECONDS if name in coarse else type_ for name, type_ in described if name in own}


def _too_coarse(policy: Policy, table: Table, column: Column) -> PolicyError:
    """The reader fails on a millisecond that is no TIMESTAMP: one row would make every query fail."""
    return wrong(
        policy,
        column.line,
        f"table {table.name}: {column.name} is stored in milliseconds, which can hold moments that DuckDB can't read",
        "write the file with timestamps in microseconds",
    )


def _mixed(policy: Policy, table: Table, column: Column, types: tuple[str, str]) -> PolicyError:
    """One type of timestamps is converted to the other, which fails on moments that this can't hold: one row would make
    every query fail.
    """
    return wrong(
        policy,
        column.line,
        f"table {table.name}: {column.name} is {types[0]} in some files and {types[1]} in others",
        "write all files with the same type of timestamps",
    )


def select(connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, files: list[str]) -> str:
    """SQL that reads the files. Raises PolicyError where one of them doesn't fit the declared columns."""
    stored: dict[str, str] = {}
    for file in files:
        found = stored_types(lambda sql, file=file: read_source(connection, policy, table, sql, file), file)  # type: ignore[misc]
        types = {name.lower(): type_ for name, type_ in found.items()}
        for name, column in table.columns.items():
            if types.get(name) == MILLISECONDS:
                raise _too_coarse(policy, table, column)
            check_type(policy, table, column, types, zoned=True)
            earlier = stored.get(name, types[name])
            if earlier != types[name] and {earlier, types[name]} & declared.SCANNED_TIMESTAMPS:
                raise _mixed(policy, table, column, (earlier, types[name]))
        stored = types
    wanted = ", ".join(
        declared.parquet_column(column, stored[column.name.lower()]) for column in table.columns.values()
    )
    return f"SELECT {wanted or '*'} FROM {declared.read_parquet(files)}"
