"""What SQLAlchemy's suite connects to: a database whose tables can be made and filled, read by dpsql alone.

dpsql writes nothing, and the suite makes its own tables. So CREATE, INSERT and the like go to the DuckDB that dpsql's
session has its public tables in, and each query goes the whole way through the product: the dialect's compiler,
`Cursor.execute`, the parser, the analysis, the outer SQL, and back through the product's cursor and types. The tables
are public tables of a policy, which is made from the catalogue whenever they change; reflection reads that policy.
There are no transactions.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
from sqlalchemy.sql.compiler import DDLCompiler

from dpsql import dbapi
from dpsql.answers import declarations
from dpsql.audit.laboratory import Unlimited
from dpsql.dbapi import *  # noqa: F403 - a DB-API module, as far as this one says nothing else
from dpsql.engines import PublicTable
from dpsql.engines.declared import column_type
from dpsql.errors import *  # noqa: F403
from dpsql.errors import IntegrityError, NotSupportedError, ProgrammingError
from dpsql.parse import Parser
from dpsql.policy import Budget, Column, Policy, PrivacySettings, Source, Table
from dpsql.postprocess import Scratch
from dpsql.session import Data, Session, _types
from dpsql.sqlalchemy import DpsqlDialect

_WRITES = re.compile(
    r"\s*(CREATE|DROP|ALTER|INSERT|UPDATE|DELETE|COMMENT|WITH\b.*\b(INSERT INTO|UPDATE|DELETE FROM))\b", re.S | re.I
)
_CHANGES_TABLES = re.compile(r"\s*(CREATE|DROP|ALTER|COMMENT)\b", re.I)


class Database:
    """A DuckDB with tables, and the policy that calls all of them public. In the place of an engine."""

    def __init__(self) -> None:
        self.scratch = Scratch()
        self.writes = 0
        self._public: dict[str, PublicTable] = {}
        self.policy = self._policy()

    @property
    def version(self) -> str:
        return str(self.writes)

    def write(self, sql: str, parameters: Any) -> None:
        """Run a statement that is no query."""
        if "RETURNING" in sql:
            raise NotSupportedError("the dialect says that nothing returns rows but queries")
        try:
            self.scratch._cursor().execute(sql, list(parameters) or None)
        except duckdb.ConstraintException as error:
            raise IntegrityError(str(error)) from None
        except duckdb.Error as error:
            raise ProgrammingError(str(error)) from None
        self.writes += 1
        if _CHANGES_TABLES.match(sql):
            self.policy = self._policy()

    def _ask(self, sql: str) -> list[Any]:
        return self.scratch._cursor().execute(sql).fetchall()

    def _policy(self) -> Policy:
        columns: dict[str, list[tuple[str, str, bool, str]]] = {}
        asked = "table_name, column_name, data_type, is_nullable, comment"
        for table, *column in self._ask(
            f"SELECT {asked} FROM duckdb_columns() WHERE NOT internal ORDER BY column_index"
        ):
            columns.setdefault(table, []).append(tuple(column))
        keys = {
            (kind, table): tuple(name.lower() for name in names)
            for kind, table, names in self._ask(
                "SELECT constraint_type, table_name, constraint_column_names FROM duckdb_constraints()"
            )
        }
        comments = dict(self._ask("SELECT table_name, comment FROM duckdb_tables()"))
        self._public = {
            table.lower(): PublicTable(table, tuple((c[0], c[1]) for c in found), 0, Path())
            for table, found in columns.items()
        }
        tables = {}
        for table, found in columns.items():
            known = {
                name.lower(): Column(
                    name, type_, nullable=null, description=comment or "", unique=_is(keys, table, name)
                )
                for name, stored, null, comment in found
                if (type_ := column_type(stored)) is not None
            }
            key = keys.get(("PRIMARY KEY", table), ())
            source = Source("table", table)
            tables[table.lower()] = Table(
                table, source, None, known, description=comments.get(table) or "", primary_key=key
            )
        return Policy(Path("suite"), "duckdb", "duckdb", PrivacySettings(), Budget(), Path("ledger"), tables)

    def physical_types(self, table: Table) -> dict[str, str]:
        return {name.lower(): type_ for name, type_ in self.public_table(table).columns}

    def public_table(self, table: Table) -> PublicTable:
        return self._public[table.name.lower()]

    def public_columns(self, table: Table) -> dict[str, Column]:
        return table.columns

    def unique_columns(self, table: Table) -> tuple[frozenset[str], ...]:
        return table.unique


def _is(keys: dict[tuple[str, str], tuple[str, ...]], table: str, column: str) -> bool:
    return keys.get(("UNIQUE", table)) == (column.lower(),)


class _Session(Session):
    """Asks of the tables as they are now."""

    database = Database()

    def __init__(self) -> None:
        super().__init__(self.policy, self.database, Unlimited(), None)  # type: ignore[arg-type]

    @property
    def policy(self) -> Policy:  # type: ignore[override]
        return self.database.policy

    @policy.setter
    def policy(self, value: Policy) -> None:
        pass

    def _current(self) -> Data:
        policy, version = self.policy, self.database.version
        parser = Parser(policy.dialect, _types(policy, self.engine))
        declared = declarations(policy, version)
        return Data(version, policy, self._catalogue(), parser, declared, self.database.scratch)


SESSION = _Session()


class Cursor(dbapi.Cursor):
    """The product's, except that what is no query is written."""

    lastrowid = None

    def execute(self, sql: str, parameters: Any = (), **options: object) -> dbapi.Cursor:
        if not _WRITES.match(sql):
            return super().execute(sql, parameters, **options)
        self._session()
        self._result, self._position = None, 0
        SESSION.database.write(sql, parameters)
        return self

    def executemany(self, sql: str, parameters: Any) -> None:
        for each in parameters:
            self.execute(sql, each)


class Connection(dbapi.Connection):
    """The product's, to the suite's database."""

    def __init__(self) -> None:
        self.analyst, self.epsilon, self.level = "suite", None, None
        self._session: Session | None = SESSION

    def cursor(self) -> Cursor:
        self.session  # noqa: B018
        return Cursor(self)

    def close(self) -> None:
        self._session = None


def connect() -> Connection:
    return Connection()


class _Tables(DDLCompiler):
    """Without foreign keys: DuckDB refuses to delete rows in an order that the suite relies on."""

    def visit_foreign_key_constraint(self, constraint: Any, **kw: Any) -> None:  # type: ignore[override]
        return None


class SuiteDialect(DpsqlDialect):
    """The product's dialect, with the suite's database in the place of dpsql."""

    driver = "suite"
    supports_statement_cache = True
    ddl_compiler = _Tables

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        from tests.sqlalchemy.suite import passthrough

        return passthrough

    def create_connect_args(self, url: Any) -> tuple[list[str], dict[str, Any]]:
        return [], {}

    def get_table_comment(self, *args: Any, **kw: Any) -> Any:
        """What the suite wrote, without what a policy says of each public table."""
        text = super().get_table_comment(*args, **kw)["text"]
        return {"text": text.removesuffix("public: answered exactly, at no cost").removesuffix("; ") or None}
