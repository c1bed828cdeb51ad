"""What the data store against what the policy declares: types, and the errors where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import duckdb

from dpsql.engines import declared
from dpsql.errors import PolicyError
from dpsql.policy import Column, Kind, Policy, Table

NAMED = "database_name = ? AND lower(schema_name) = ? AND lower(table_name) = ?"
"""The condition that picks one table in DuckDB's catalogue functions."""


def wrong(policy: Policy, line: int, found: str, hint: str | None = None) -> PolicyError:
    """The error for a line of the policy that doesn't fit the data."""
    where = f"{policy.path}:{line}" if line else str(policy.path)
    return PolicyError(f"{where}: {found}", hint=hint)


def missing(policy: Policy, table: Table, column: Column, names: list[str]) -> NoReturn:
    """Raise the error for a declared column that the source lacks."""
    raise wrong(
        policy,
        column.line,
        f"table {table.name}: {table.source.location} has no column {column.name}",
        f"its columns are: {', '.join(names)}" if names else "the file is empty",
    )


def stored_types(connection: duckdb.DuckDBPyConnection, database: str, schema: str, name: str) -> dict[str, str]:
    """The types of a table's columns, by lower-case name."""
    rows = connection.execute(
        "SELECT column_name, CASE WHEN is_generated THEN 'GENERATED ' ELSE '' END || data_type "
        f"FROM duckdb_columns() WHERE {NAMED} ORDER BY column_index",
        [database, schema.lower(), name.lower()],
    ).fetchall()
    return {str(column).lower(): str(type_) for column, type_ in rows}


def check_type(policy: Policy, table: Table, column: Column, stored: Mapping[str, str], *, zoned: bool = False) -> None:
    """Raises PolicyError if the data lack a declared column or store it as a type that its declaration can't
    mean.
    """
    type_ = stored.get(column.name.lower())
    if type_ is None:
        missing(policy, table, column, list(stored))
    if declared.fits(column.type, type_) or (zoned and type_ == declared.ZONED and column.type.kind is Kind.TIMESTAMP):
        return
    fitting = declared.written(type_)
    raise wrong(
        policy,
        column.line,
        f"table {table.name}: {column.name} is declared {column.type.kind.value}, the data have {type_}",
        f"write `type: {fitting}`" if fitting else "store the column as a type that dpsql knows, or leave it out",
    )
