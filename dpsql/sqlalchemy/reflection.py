"""Reflection: what the policy declares. Nothing here reads a row, and nothing is charged.

A table's name may begin with a schema in the policy (`sales.orders`); those without one are in `public`. A name is
looked up as a query would: without case, and `orders` finds `sales.orders` where no other table ends so.
"""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import exc
from sqlalchemy.engine import Connection, default, reflection
from sqlalchemy.engine.interfaces import (
    ReflectedColumn,
    ReflectedForeignKeyConstraint,
    ReflectedIndex,
    ReflectedPrimaryKeyConstraint,
    ReflectedTableComment,
    ReflectedUniqueConstraint,
)

from dpsql import dbapi
from dpsql.names import declared_table
from dpsql.policy import Column, Table
from dpsql.policy.shown import column_comment, table_comment
from dpsql.session import Session
from dpsql.sqlalchemy.kinds import declared_type, stored_type

SCHEMA = "public"


class Reflection(default.DefaultDialect):
    """The half of the dialect that `sqlalchemy.inspect` asks."""

    default_schema_name = SCHEMA

    def _get_default_schema_name(self, connection: Connection) -> str:
        return SCHEMA

    @reflection.cache
    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:
        return sorted({SCHEMA} | {_parted(t)[0] for t in session_of(connection).policy.tables.values()})

    @reflection.cache
    def get_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        parted = [_parted(table) for table in session_of(connection).policy.tables.values()]
        return [name for found, name in parted if found.lower() == (schema or SCHEMA).lower()]

    @reflection.cache
    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        return _found(session_of(connection), table_name, schema) is not None

    @reflection.cache
    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedColumn]:
        table = self._table(connection, table_name, schema)
        declared = [_column(table, column) for column in table.columns.values()]
        if not table.public:
            return declared
        stored = session_of(connection).engine.public_table(table).columns
        by_name = {column["name"].lower(): column for column in declared}
        return [by_name.get(name.lower()) or _stored(name, type_) for name, type_ in stored]

    @reflection.cache
    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> ReflectedPrimaryKeyConstraint:
        table = self._table(connection, table_name, schema)
        return {"name": None, "constrained_columns": _names(table, table.primary_key)}

    @reflection.cache
    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedUniqueConstraint]:
        table = self._table(connection, table_name, schema)
        return [{"name": None, "column_names": [c.name]} for c in table.columns.values() if c.unique]

    @reflection.cache
    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedForeignKeyConstraint]:
        """The key that leads to the table's unit: a policy knows no other."""
        table = self._table(connection, table_name, schema)
        via = table.via
        if via is None:
            return []
        parent = session_of(connection).policy.tables[via.parent]
        found, name = _parted(parent)
        return [
            {
                "name": None,
                "constrained_columns": _names(table, via.columns),
                "referred_schema": None if schema is None and found == SCHEMA else found,
                "referred_table": name,
                "referred_columns": _names(parent, via.parent_columns),
                "options": {},
            }
        ]

    @reflection.cache
    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedIndex]:
        self._table(connection, table_name, schema)
        return []

    @reflection.cache
    def get_check_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """None: bounds and keys are in the comments. They say what counts, not what the rows hold."""
        self._table(connection, table_name, schema)
        return []

    @reflection.cache
    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> ReflectedTableComment:
        return {"text": table_comment(self._table(connection, table_name, schema))}

    @reflection.cache
    def get_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return []

    @reflection.cache
    def get_view_definition(self, connection: Connection, view_name: str, schema: str | None = None, **kw: Any) -> str:
        raise exc.NoSuchTableError(view_name)

    @reflection.cache
    def get_sequence_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return []

    def _table(self, connection: Connection, name: str, schema: str | None) -> Table:
        table = _found(session_of(connection), name, schema)
        if table is None:
            raise exc.NoSuchTableError(f"{schema}.{name}" if schema else name)
        return table


def session_of(connection: Connection) -> Session:
    """The session behind a connection of SQLAlchemy's."""
    return cast(dbapi.Connection, connection.connection.dbapi_connection).session


def _found(session: Session, name: str, schema: str | None) -> Table | None:
    tables = session.policy.tables
    known = declared_table((f"{schema}.{name}" if schema else name).lower(), tables)
    return None if known is None else tables[known]


def _parted(table: Table) -> tuple[str, str]:
    """Schema and name of a table."""
    schema, _, name = table.name.rpartition(".")
    return schema or SCHEMA, name


def _names(table: Table, columns: tuple[str, ...]) -> list[str]:
    """The columns as they are written: those of a public table may be declared nowhere."""
    return [table.columns[c].name if c in table.columns else c for c in columns]


def _column(table: Table, column: Column) -> ReflectedColumn:
    return {
        "name": column.name,
        "type": declared_type(column.type),
        "nullable": column.holds_null,
        "default": None,
        "comment": column_comment(table, column),
    }


def _stored(name: str, type_: str) -> ReflectedColumn:
    return {"name": name, "type": stored_type(type_), "nullable": True, "default": None, "comment": None}
