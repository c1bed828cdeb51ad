"""Public tables' columns as the policy has columns: typed, and with value sets from the data where it declares none."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import duckdb

from dpsql.engines import declared
from dpsql.engines.declared import quoted
from dpsql.engines.duckdb_sources.public_tables import as_key
from dpsql.policy import Bound, Column, Kind, Table

MAX_KEYS = 1000
"""A column with more distinct values has bounds in place of keys."""

_NEITHER = (Kind.BOOLEAN, Kind.TEXT)
_CALENDAR = {
    Kind.DATE: "{0} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
    Kind.TIMESTAMP: "{0} BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'",
}
"""What Python has values for: neither infinities nor years before 1 or beyond 9999."""


def read(connection: duckdb.DuckDBPyConnection, relation: str, table: Table) -> dict[str, Column]:
    """The columns of a public table in their order, by lower-case name; those of types that dpsql doesn't know are left
    out.

    A declared column is as it is declared, others have what the data say. A column is nullable if it is declared so or
    the data have NULLs (doubles that aren't finite are). Without declared keys or bounds it gets its distinct values in
    order as keys, up to MAX_KEYS of them; beyond, and for doubles, the least and the greatest value as bounds (finite,
    and of the years 1 to 9999). Text then gets neither, and a boolean needs none.
    """
    described = connection.execute(f"DESCRIBE FROM {relation}").fetchall()
    found = [column for row in described if (column := _typed(table, str(row[0]), str(row[1]))) is not None]
    if not found:
        return {}
    facts = ", ".join(_facts(column) for column in found)
    row = iter(connection.execute(f"SELECT {facts} FROM {relation}").fetchall()[0])
    columns: dict[str, Column] = {}
    few: list[str] = []
    for column in found:
        nulls, left_out, distinct, least, greatest = (next(row) for _ in range(5))
        name = column.name.lower()
        columns[name] = replace(column, nullable=column.nullable or nulls > 0)
        if column.keys is not None or column.bounds is not None or column.keys_from is not None:
            continue
        if column.type.kind not in _NEITHER and least is not None:
            columns[name] = replace(columns[name], bounds=(_bound(least), _bound(greatest)))
        # The number is an estimate: with twice as many there are certainly more than MAX_KEYS.
        if column.type.kind not in (Kind.BOOLEAN, Kind.DOUBLE) and not left_out and distinct <= 2 * MAX_KEYS:
            few.append(name)
    return columns | _with_keys(connection, relation, {name: columns[name] for name in few})


def _typed(table: Table, name: str, stored: str) -> Column | None:
    """The column without what the data say; None where nothing can be said."""
    if name.lower() in table.columns:
        return table.columns[name.lower()]
    type_ = declared.column_type(stored)
    # Inner SQL has names in lower case, and DuckDB tells capitals beyond A to Z from small letters.
    if type_ is None or (not name.isascii() and name != name.lower()):
        return None
    return Column(name, type_, line=table.line)


def _facts(column: Column) -> str:
    """SQL: how many NULLs, how many values that can be no bound, about how many distinct values, the least and greatest
    value.
    """
    name, null, kind = quoted(column.name), declared.null(column), column.type.kind
    proper = f"NOT ({null})" + (f" AND {_CALENDAR[kind].format(name)}" if kind in _CALENDAR else "")
    return (
        f"COUNT(*) FILTER (WHERE {null}), COUNT(*) FILTER (WHERE NOT ({null}) AND NOT ({proper})), "
        f"approx_count_distinct({name}), MIN({name}) FILTER (WHERE {proper}), MAX({name}) FILTER (WHERE {proper})"
    )


def _with_keys(connection: duckdb.DuckDBPyConnection, relation: str, columns: dict[str, Column]) -> dict[str, Column]:
    """The columns with their values as keys instead of bounds, those with more than MAX_KEYS as they are."""
    if not columns:
        return {}
    listed = ", ".join(f"list_sort(list(DISTINCT {quoted(column.name)}))" for column in columns.values())
    row = connection.execute(f"SELECT {listed} FROM {relation}").fetchall()[0]
    result = dict(columns)
    for (name, column), values in zip(columns.items(), row, strict=True):
        keys = tuple(as_key(value) for value in values or () if value is not None)
        if len(keys) <= MAX_KEYS:
            result[name] = replace(column, keys=keys, bounds=None)
    return result


def _bound(value: int | float | Decimal | dt.date) -> Bound:
    return value if isinstance(value, dt.date) else Fraction(value)
