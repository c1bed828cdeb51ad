"""An engine in memory over made-up rows: what record and replay works on.

It runs the very inner SQL that the product runs, in the transaction that the product has, and notes it. Nothing private
is ever in it: the rows are those that it is given, as SQL literals, so that they may be anything that a column of their
type can hold (NaN, infinities, dates beyond year 9999).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType

import duckdb
from sqlglot import exp

from dpsql.engines import PublicTable, Transaction
from dpsql.engines.declared import literal, quoted
from dpsql.engines.duckdb import DuckDBTransaction
from dpsql.engines.duckdb_sources import public_columns, public_tables
from dpsql.engines.exact_rows import ExactRows
from dpsql.policy import Column, Key, Policy, Table

Row = Sequence[str]
"""One row as SQL literals."""
Database = Mapping[str, Sequence[Row]]
"""Rows by lower-case table name."""


class TwinEngine:
    """See dpsql.engines.Engine. Not for several threads.

    types    the type of each column, by private table and column in lower case
    public   the public tables as another engine has read them
    unique   the sets of columns that it says it keeps unique, by private table: nothing checks that they are
    """

    version = "1"

    def __init__(
        self,
        policy: Policy,
        types: Mapping[str, Mapping[str, str]],
        public: Iterable[PublicTable] = (),
        unique: Mapping[str, Sequence[frozenset[str]]] | None = None,
    ) -> None:
        self.policy = policy
        self.connection = duckdb.connect(config={"python_enable_replacements": "false"})
        self.connection.execute("SET threads = 1")
        self.connection.execute("SET TimeZone = 'UTC'")
        self.types = {name: dict(columns) for name, columns in types.items()}
        self.unique = dict(unique or {})
        self.executed: list[str] = []
        """The inner queries since this was cleared, with the constants of each."""
        self._kept: dict[tuple[str, str], ExactRows] | None = None
        self.public: dict[str, PublicTable] = {}
        for name, columns in types.items():
            listed = ", ".join(f"{quoted(column)} {type_}" for column, type_ in columns.items())
            self.connection.execute(f"CREATE TABLE {quoted(name)} ({listed})")
        for table in public:
            self._copy(table)

    def _copy(self, table: PublicTable) -> None:
        self.connection.execute(f"ATTACH {literal(str(table.file))} AS public_copy (READ_ONLY)")
        self.connection.execute(
            f"CREATE TABLE memory.main.{quoted(table.name)} AS FROM public_copy.main.{quoted(table.name)}"
        )
        self.connection.execute("DETACH public_copy")
        self.public[table.name.lower()] = table
        self.types[table.name.lower()] = {name.lower(): type_ for name, type_ in table.columns}

    # ------------------------------------------------------------------------------------------ rows

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Add rows to a private table."""
        if rows:
            values = ", ".join("(" + ", ".join(row) + ")" for row in rows)
            self.connection.execute(f"INSERT INTO {quoted(table)} VALUES {values}")

    def load(self, database: Database) -> None:
        """Make these all the rows there are."""
        for name in self.types:
            if name not in self.public:
                self.connection.execute(f"DELETE FROM {quoted(name)}")
                self.insert(name, database.get(name, ()))

    @contextmanager
    def adding(self, database: Database) -> Iterator[None]:
        """With these rows more, until the end of the block."""
        self.connection.execute("BEGIN")
        try:
            for name, rows in database.items():
                self.insert(name, rows)
            yield
        finally:
            self.connection.execute("ROLLBACK")

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Nobody changes the rows until the end of the block: each inner query runs once."""
        self._kept = {}
        try:
            yield
        finally:
            self._kept = None

    # ------------------------------------------------------------------------------------------ the protocol

    def relation(self, table: Table) -> exp.Table:
        return exp.table_(table.name, db="main", catalog="memory", quoted=True)

    def physical_types(self, table: Table) -> Mapping[str, str]:
        return self.types[table.name.lower()]

    def unique_columns(self, table: Table) -> tuple[frozenset[str], ...]:
        return table.unique if table.public else tuple(self.unique.get(table.name.lower(), ()))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        yield _Noted(DuckDBTransaction(self.connection, self.version), self.executed, self._kept)

    def public_table(self, table: Table) -> PublicTable:
        return self.public[table.name.lower()]

    def public_columns(self, table: Table) -> Mapping[str, Column]:
        return public_columns.read(self.connection, self.relation(table).sql("duckdb"), table)

    def distinct_public(self, table: Table, column: str) -> tuple[Key, ...]:
        return public_tables.distinct(self.connection, self.policy, table, self.public[table.name.lower()], column)

    def report(self) -> tuple[()]:
        return ()

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> TwinEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Noted:
    """A transaction that notes what it is asked, and looks up what is kept."""

    def __init__(
        self, transaction: DuckDBTransaction, executed: list[str], kept: dict[tuple[str, str], ExactRows] | None
    ) -> None:
        self._transaction = transaction
        self._executed = executed
        self._kept = kept

    @property
    def version(self) -> str:
        return self._transaction.version

    def fetch(
        self, sql: str, keys: int, sums: int, counts: int = 0, constants: Mapping[str, object] | None = None
    ) -> ExactRows:
        self._executed.append(sql)
        if constants:
            self._executed.append(repr(constants))
        question = sql, repr(constants)
        found = self._kept.get(question) if self._kept is not None else None
        if found is None:
            found = self._transaction.fetch(sql, keys, sums, counts, constants)
            if self._kept is not None:
                for numbers in found.sums:
                    numbers.flags.writeable = False
                self._kept[question] = found
        return found
