"""The .duckdb file: where it is, how it is attached and let go, and its tables."""

from __future__ import annotations

from pathlib import Path

import duckdb
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from dpsql.engines import declared
from dpsql.engines.declared import literal, quoted
from dpsql.engines.duckdb_sources.catalogue import NAMED, check_type, stored_types, wrong
from dpsql.errors import PolicyError
from dpsql.policy import Policy, Table
from dpsql.policy.problems import similar
from dpsql.policy.sources import schema_and_name, table_source

ATTACHED = "source"
"""The name under which the file is attached."""


def located(policy: Policy) -> Path | None:
    """The .duckdb file of `duckdb:///x.duckdb` (relative to the policy) or `duckdb:////x.duckdb`; None in
    memory.
    """
    _, colon, rest = policy.engine.partition(":")
    if not colon or rest in {"", "//", "///"}:
        return None
    if not rest.startswith("///"):
        raise wrong(policy, 0, f"engine is {policy.engine!r}", "write `engine: duckdb:///file.duckdb`")
    return (policy.path.parent / rest[3:]).resolve()


def attach(connection: duckdb.DuckDBPyConnection, file: Path) -> bool:
    """Attach the file, read-only. False if another process holds it for writing."""
    try:
        connection.execute(f"ATTACH {literal(str(file))} AS {ATTACHED} (READ_ONLY)")
    except duckdb.IOException as fault:
        if "Could not set lock" in str(fault):
            return False
        raise
    return True


def detach(connection: duckdb.DuckDBPyConnection) -> None:
    """Let the file go."""
    connection.execute(f"DETACH {ATTACHED}")


def relation(table: Table) -> exp.Table:
    """How SQL names a table of the file."""
    schema, name = schema_and_name(table.source.location)
    return exp.table_(name, db=schema, catalog=ATTACHED, quoted=True)


def select(connection: duckdb.DuckDBPyConnection, table: Table) -> str:
    """SQL that reads a table of the file, its text without collations: keys are compared byte by byte."""
    schema, name = schema_and_name(table.source.location)
    wanted = ", ".join(quoted(column.name) for column in table.columns.values()) or "*"
    collated = [] if table.columns else _collated_text(connection, schema, name)
    if collated:
        plain = ", ".join(f"decode(encode({quoted(column)})) AS {quoted(column)}" for column in collated)
        wanted = f"* REPLACE ({plain})"
    return f"SELECT {wanted} FROM {ATTACHED}.{quoted(schema)}.{quoted(name)}"


def _collated_text(connection: duckdb.DuckDBPyConnection, schema: str, name: str) -> list[str]:
    """The columns that have a collation, of any table that exists; CREATE TABLE ... AS keeps it."""
    listed = f"SELECT column_name FROM duckdb_columns() WHERE data_type = 'VARCHAR' AND {NAMED}"
    names = [str(row[0]) for row in connection.execute(listed, [ATTACHED, schema.lower(), name.lower()]).fetchall()]
    collated = declared.collated(_create_table(connection, schema, name) or "", names)
    return [column for column in names if column.lower() in collated]


def unique_columns(connection: duckdb.DuckDBPyConnection, table: Table) -> tuple[frozenset[str], ...]:
    """The sets of declared columns that a table of the file keeps unique by its constraints and indexes, NULL aside."""
    schema, name = schema_and_name(table.source.location)
    which = [ATTACHED, schema.lower(), name.lower()]
    constraints = connection.execute(
        "SELECT constraint_column_names FROM duckdb_constraints() "
        f"WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE') AND {NAMED}",
        which,
    ).fetchall()
    indexes = connection.execute(f"SELECT sql FROM duckdb_indexes() WHERE is_unique AND {NAMED}", which).fetchall()
    found = [*(map(str, names) for (names,) in constraints), *(_indexed(str(sql)) for (sql,) in indexes)]
    keys = {frozenset(_lower(column) for column in names) for names in found}
    return tuple(sorted((key for key in keys if key and key <= table.columns.keys()), key=sorted))


def _lower(name: str) -> str:
    """The name as the policy knows it: DuckDB tells capitals beyond A to Z from small letters."""
    return name.lower() if name.isascii() else name


def _indexed(create_index: str) -> list[str]:
    """The columns of a unique index, given its CREATE INDEX text; none if it is over anything else."""
    try:
        tree = parse_one(create_index, dialect="duckdb")
    except SqlglotError:
        return []
    index = tree.this if isinstance(tree, exp.Create) and tree.args.get("unique") else None
    parameters = index.args.get("params") if isinstance(index, exp.Index) else None
    if parameters is None or parameters.args.get("where"):
        return []
    columns = [part.this if isinstance(part, exp.Ordered) else part for part in parameters.args.get("columns") or ()]
    if not all(isinstance(column, exp.Column) for column in columns):
        return []
    return [column.name for column in columns]


def check(connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, file: Path | None) -> dict[str, str]:
    """Compare a declared table with the attached file's catalogue, and give its types.

    Only base tables whose columns are stored and compared byte by byte: a view may hold anything, a
    generated column may raise on one row's values, a collation makes different keys equal. Raises
    PolicyError.
    """
    if file is None:
        raise wrong(
            policy,
            table.line,
            f"table {table.name}: the engine in memory has no table {table.source.location}",
            "write a file as source, or `engine: duckdb:///file.duckdb`",
        )
    schema, name = schema_and_name(table.source.location)
    create_table = _create_table(connection, schema, name)
    if create_table is None:
        raise _no_table(connection, policy, table, file)
    types = stored_types(connection, ATTACHED, schema, name)
    _check_columns(policy, table, types, create_table)
    return {name: types[name] for name in table.columns} if table.columns else types


def _create_table(connection: duckdb.DuckDBPyConnection, schema: str, name: str) -> str | None:
    """The CREATE TABLE text of a base table of the file; None if there is none."""
    sql = f"SELECT sql FROM duckdb_tables() WHERE {NAMED}"
    found = connection.execute(sql, [ATTACHED, schema.lower(), name.lower()]).fetchone()
    return None if found is None else str(found[0])


def _no_table(connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, file: Path) -> PolicyError:
    """The error for a source that is no base table of the file: a view of it, or nothing at all."""
    schema, name = schema_and_name(table.source.location)
    written = table_source(schema, name)
    view = "SELECT 1 FROM duckdb_views() WHERE database_name = ? AND lower(schema_name) = ? AND lower(view_name) = ?"
    if connection.execute(view, [ATTACHED, schema.lower(), name.lower()]).fetchone():
        return wrong(
            policy,
            table.line,
            f"table {table.name}: {written} of {file} is a view, and a view may hold anything",
            f"declare the table that it reads, or make it a table: "
            f"CREATE TABLE {table_source(schema, name + '_table')} AS FROM {written}",
        )
    listed = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? AND NOT internal"
    tables = {t: table_source(s, t) for s, t in connection.execute(listed, [ATTACHED]).fetchall()}
    near = similar(name, tables)
    meant = tables[near] if near else None
    return wrong(
        policy,
        table.line,
        f"table {table.name}: {file} has no table {written}",
        f"did you mean {meant}?" if meant else "write the name of a table of the file",
    )


def _check_columns(policy: Policy, table: Table, types: dict[str, str], create_table: str) -> None:
    collated = declared.collated(create_table, table.columns)
    for column in table.columns.values():
        check_type(policy, table, column, types)
        if not column.name.isascii() and column.name != column.name.lower():
            raise wrong(
                policy,
                column.line,
                f"table {table.name}: DuckDB tells the capitals of {column.name} beyond A to Z from small letters",
                "rename the column in the database to small letters",
            )
        if column.name.lower() in collated:
            raise wrong(
                policy,
                column.line,
                f"table {table.name}: column {column.name} has a collation",
                "store it without COLLATE, so that keys are compared byte by byte",
            )
