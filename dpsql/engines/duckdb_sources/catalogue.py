"""What the data store against what the policy declares: types, and the errors where they differ."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from typing import NoReturn

import duckdb

from dpsql.engines import declared
from dpsql.errors import PolicyError
from dpsql.policy import Column, Kind, Policy, Table, at_line

NAMED = "database_name = ? AND lower(schema_name) = ? AND lower(table_name) = ?"
"""The condition that picks one table in DuckDB's catalogue functions."""


def wrong(policy: Policy, line: int, found: str, hint: str | None = None) -> PolicyError:
    """The error for a line of the policy that doesn't fit the data."""
    return PolicyError(f"{at_line(policy.shown or str(policy.path), line)}: {found}", hint=hint)


class Unreadable(PolicyError):
    """A source that can't be opened or read at all."""


def unreadable(policy: Policy, table: Table, file: str, otherwise: str | None = None) -> Unreadable:
    """The error for a source file that can't be read: what is wrong with it, by name and permissions, if not
    `otherwise`.
    """
    reason, hint = _reason(file) or (
        otherwise or f"is not a {'CSV' if table.source.kind == 'csv' else 'Parquet'} file",
        _FORMATS[table.source.kind],
    )
    said = reason.replace("{}", file) if "{}" in reason else f"{file} {reason}"
    found = wrong(policy, table.line, f"table {table.name}: {said}", hint)
    return Unreadable(found.message, hint=found.hint)


_FORMATS = {
    "csv": "a CSV file is UTF-8 text: a line with the columns' names, then one line for each row, commas between cells",
    "parquet": "write the file anew, as Parquet",
    "table": "look at the database file",
}


def _reason(file: str) -> tuple[str, str] | None:
    """Why a file can't be opened, and what to do; None where it can."""
    if glob.has_magic(file) and not os.path.exists(file):
        if next(glob.iglob(file, recursive=True), None) is not None:
            return None
        return "no file matches {}", "correct `source`; it is relative to the policy"
    if not os.path.exists(file):
        return "does not exist", "correct `source`; it is relative to the policy"
    if not os.path.isfile(file):
        return "is not a regular file", "write the path of a file as `source`"
    if not os.access(file, os.R_OK):
        return "is not readable for this user", "give this user the permission to read it"
    return None


def missing(policy: Policy, table: Table, column: Column, names: list[str], file: str = "") -> NoReturn:
    """Raise the error for a declared column that the source (or one `file` of it) lacks."""
    raise wrong(
        policy,
        column.line,
        f"table {table.name}: {file or table.source.location} has no column {column.name}",
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
    if declared.fits(column.type, type_) or (
        zoned and type_ in declared.SCANNED_TIMESTAMPS and column.type.kind is Kind.TIMESTAMP
    ):
        return
    fitting = declared.written(type_)
    raise wrong(
        policy,
        column.line,
        f"table {table.name}: {column.name} is declared {column.type.kind.value}, the data have {type_}",
        f"write `type: {fitting}`" if fitting else "store the column as a type that dpsql knows, or leave it out",
    )
