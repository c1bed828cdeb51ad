"""Public tables: read whole into main, copied to a file for the scratch engine, their values as keys."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb

from dpsql.engines import PublicTable
from dpsql.engines.declared import literal, quoted
from dpsql.engines.duckdb_sources.catalogue import wrong
from dpsql.engines.duckdb_sources.driver import quietly
from dpsql.errors import PolicyError
from dpsql.policy import Key, Policy, Table
from dpsql.policy.problems import similar

MAX_PUBLIC_ROWS = 1_000_000


def limited(select: str) -> str:
    """The query, cut at one row more than a public table may have."""
    return f"{select} LIMIT {MAX_PUBLIC_ROWS + 1}"


def loaded(connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, file: Path) -> PublicTable:
    """The public table that was read into main and will be copied to `file`. Raises PolicyError: too many rows."""
    relation = f"main.{quoted(table.name)}"
    counted = connection.execute(f"SELECT COUNT(*) FROM {relation}").fetchone()
    rows = int(counted[0]) if counted else 0
    if rows > MAX_PUBLIC_ROWS:
        raise wrong(
            policy,
            table.line,
            f"table {table.name}: a public table has at most {MAX_PUBLIC_ROWS} rows, this has more",
            "leave out the rows that no query needs",
        )
    described = connection.execute(f"DESCRIBE {relation}").fetchall()
    columns = tuple((str(row[0]), str(row[1])) for row in described)
    return PublicTable(table.name, columns, rows, file)


def write(connection: duckdb.DuckDBPyConnection, tables: Iterable[PublicTable], file: Path) -> None:
    """Copy the tables from main to a new .duckdb file."""
    connection.execute(f"ATTACH {literal(str(file))} AS public_copy")
    for table in tables:
        name = quoted(table.name)
        connection.execute(f"CREATE TABLE public_copy.main.{name} AS FROM memory.main.{name}")
    connection.execute("DETACH public_copy")


def distinct(
    cursor: duckdb.DuckDBPyConnection, policy: Policy, table: Table, known: PublicTable, column: str
) -> tuple[Key, ...]:
    """The distinct values of a column, in order of value, without NULL; decimals as fractions.

    Raises PolicyError for a column that isn't there or whose values can't be keys (doubles, lists, …).
    """
    type_ = next((stored for name, stored in known.columns if name.lower() == column.lower()), None)
    if type_ is None:
        raise _lacking(policy, table, known, column)
    name, relation = quoted(column), f"memory.main.{quoted(table.name)}"
    sql = f"SELECT DISTINCT {name} FROM {relation} WHERE {name} IS NOT NULL ORDER BY 1"
    values = [as_key(row[0]) for row in quietly(lambda: cursor.execute(sql).fetchall())]
    if any(value is None for value in values):
        raise wrong(
            policy,
            table.line,
            f"table {table.name}: the values of column {column} ({type_}) can't be keys",
            "take a column of integers, decimals, booleans, text, dates or timestamps",
        )
    return tuple(values)


def _lacking(policy: Policy, table: Table, known: PublicTable, column: str) -> PolicyError:
    """The error for `keys: {from: …}` that names no column; at the first column that has it."""
    asking = ((t, c) for t in policy.tables.values() for c in t.columns.values())
    wanted = (table.name.lower(), column.lower())
    user = next(((t.name, c) for t, c in asking if c.keys_from == wanted), None)
    names = [name for name, _ in known.columns]
    meant = similar(column, names)
    return wrong(
        policy,
        user[1].line if user else table.line,
        (f"{user[0]}.{user[1].name}: keys come from {table.name}.{column}, but " if user else "")
        + f"table {table.name} has no column {column}",
        f"did you mean {meant}?" if meant else f"its columns are: {', '.join(names)}",
    )


def as_key(value: object) -> Key:
    """A public value as a key, or None if it can't be one."""
    if isinstance(value, Decimal):
        return Fraction(value)
    return value if isinstance(value, bool | int | str | dt.date | dt.datetime) else None
