"""DuckDB as the private engine: CSV and Parquet files in memory, or the tables of a .duckdb file.

One locked instance per data version. It is in memory: CSV files are loaded into it, Parquet files are scanned
in place through views, a .duckdb file is attached read-only as `source` for each burst of queries and let go
after one idle second, so that a loader can write. Public tables are read whole.

How each kind of source is read is in dpsql.engines.duckdb_sources; the form of inner SQL that costs DuckDB
least, with figures, in dpsql.rewrite.clip.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from types import MappingProxyType, TracebackType

import duckdb
from sqlglot import exp

from dpsql.engines import PublicTable, TableReport
from dpsql.engines.duckdb_sources import database_file, public_tables, reports
from dpsql.engines.duckdb_sources.catalogue import Unreadable, wrong
from dpsql.engines.duckdb_sources.data import Data, relation
from dpsql.engines.duckdb_sources.driver import FAULTS, quietly
from dpsql.engines.duckdb_sources.fingerprint import fingerprint
from dpsql.engines.exact_rows import ExactRows, join_limbs, key_column, whole
from dpsql.errors import EngineError, InterfaceError, InternalError, PolicyError
from dpsql.policy import Column, Key, Policy, Table

STATEMENT_SECONDS = 300.0
IDLE_SECONDS = 1.0
_TICK = 0.1
BUSY_SECONDS = 5.0
_log = logging.getLogger("dpsql.engine")


def open_engine(policy: Policy) -> DuckDBEngine:
    """Load what the policy names. Raises PolicyError for the first thing that doesn't fit the data."""
    return DuckDBEngine(policy)


@lru_cache(maxsize=512)
def _parsed(sql: str) -> duckdb.Statement:
    """The parsed statement, to be bound and run any number of times: parsing costs a third of a small query."""
    (statement,) = duckdb.extract_statements(sql)
    return statement


class DuckDBTransaction:
    """One read transaction on a cursor of its own. See dpsql.engines.Transaction."""

    __slots__ = ("_cursor", "_deadline", "_version")

    def __init__(self, cursor: duckdb.DuckDBPyConnection, version: str) -> None:
        self._cursor = cursor
        self._version = version
        self._deadline: float | None = None

    @property
    def cursor(self) -> duckdb.DuckDBPyConnection:
        """For the owner's report."""
        return self._cursor

    @property
    def version(self) -> str:
        """The data version that is read."""
        return self._version

    def fetch(
        self, sql: str, keys: int, sums: int, counts: int = 0, constants: Mapping[str, object] | None = None
    ) -> ExactRows:
        """Run one inner query and put its sums together exactly.

        Raises EngineError for any failure of the engine; InternalError if the query returns something other
        than `keys` key columns, `counts` counts and 2 * `sums` limbs without NULL.
        """
        self._deadline = time.monotonic() + STATEMENT_SECONDS
        try:
            columns = list(quietly(lambda: self._cursor.execute(_parsed(sql), constants or None).fetchnumpy()).values())
        finally:
            self._deadline = None
        if len(columns) != keys + counts + 2 * sums:
            raise InternalError("the inner query returned another number of columns than planned")
        limbs = columns[keys + counts :]
        return ExactRows(
            keys=tuple(key_column(column) for column in columns[:keys]),
            sums=(
                *(whole(column) for column in columns[keys : keys + counts]),
                *(join_limbs(high, low) for high, low in zip(limbs[::2], limbs[1::2], strict=True)),
            ),
        )

    def stop_if_overdue(self) -> None:
        """Interrupt the statement under way once its time is over: `max_execution_time` does not (2.0.1)."""
        deadline = self._deadline  # read once: the statement may end meanwhile, and its cursor be closed
        if deadline is not None and time.monotonic() >= deadline:
            with suppress(*FAULTS):
                self._cursor.interrupt()

    def end(self) -> None:
        """Roll back and give the cursor back."""
        with suppress(*FAULTS):
            self._cursor.execute(_parsed("ROLLBACK"))
        with suppress(*FAULTS):
            self._cursor.close()


class DuckDBEngine:
    """See dpsql.engines.Engine. Safe for threads: a lock for opening and closing, none while a query runs."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._file = database_file.located(policy)
        self._changed = threading.Condition()
        self._closed = False
        self._keeping = False
        self._loading = False
        self._retired: list[Data] = []
        with self._changed:
            self._data = self._load()
            self._keep()
        self._types, self._unique = self._data.types, self._data.unique  # pinned: plans are made for these

    # -- what a plan needs to know

    @property
    def version(self) -> str:
        """The data version: path, inode, size, mtime of each source, looked at now."""
        return fingerprint(self._policy, self._file)

    def relation(self, table: Table) -> exp.Table:
        """The name of a table in inner SQL; see dpsql.engines.duckdb_sources.data.relation."""
        return relation(table)

    def physical_types(self, table: Table) -> Mapping[str, str]:
        """DuckDB's types of the columns. If they change while this engine is open, it refuses."""
        return MappingProxyType(self._types[table.name.lower()])

    def unique_columns(self, table: Table) -> tuple[frozenset[str], ...]:
        """What a .duckdb file enforces of a private table, and the policy declares of a public one. If that is gone
        while this engine is open, it refuses.
        """
        return table.unique if table.public else self._unique.get(table.name.lower(), ())

    # -- transactions

    @contextmanager
    def transaction(self) -> Iterator[DuckDBTransaction]:
        """One read transaction on the current data; see dpsql.engines.Engine.transaction."""
        data, transaction = self._begin()
        try:
            yield transaction
        finally:
            self._end(data, transaction)

    def _begin(self) -> tuple[Data, DuckDBTransaction]:
        with self._changed:
            data = self._current()
            cursor = quietly(data.connection.cursor)
            quietly(lambda: cursor.execute(_parsed("BEGIN TRANSACTION READ ONLY")))
            transaction = DuckDBTransaction(cursor, data.version)
            data.running.add(transaction)
            self._keep()
            return data, transaction

    def _end(self, data: Data, transaction: DuckDBTransaction) -> None:
        transaction.end()
        with self._changed:
            data.running.discard(transaction)
            data.last_use = time.monotonic()
            if data.retired and not data.running:
                self._discard(data)
            self._changed.notify_all()

    def _current(self) -> Data:
        """The data as they are now, attached; reloaded if a source changed. Holds the lock but while waiting.

        A .duckdb file is attached *before* its version is looked at: from then on no other process can write
        it.
        """
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            if self._closed:
                raise InterfaceError("the engine is closed")
            data = self._data
            if self._loading or not self._attached(data):
                self._wait(deadline)
            elif self.version == data.version:
                self._check_readable(data)
                data.last_use = time.monotonic()
                return data
            elif self._file is not None and data.running:
                self._wait(deadline)  # one instance at a time holds the file's lock, see _reload
            else:
                self._reload(data)

    def _check_readable(self, data: Data) -> None:
        """Raises EngineError where a file that is scanned in place can no longer be read, so that it costs nothing."""
        for file in data.scanned:
            if not os.access(file, os.R_OK):
                _log.error("%s can't be opened: no permission", file)
                raise _unopened()

    def _attached(self, data: Data) -> bool:
        """Attach the .duckdb file; False if it is being written. Raises EngineError for drift."""
        if data.attached or self._file is None:
            return True
        try:
            if not quietly(data.attach):
                return False
        except EngineError as fault:
            _log.error("%s can't be opened: %s", self._file, fault.message)
            raise _unopened() from None
        if self.version == data.version:
            try:
                self._check_catalogue(data)
            except EngineError:
                data.detach()
                raise
        return True

    def _wait(self, deadline: float) -> None:
        if time.monotonic() >= deadline:
            raise _busy()
        self._changed.wait(0.05)

    def _reload(self, old: Data) -> None:
        """Swap in the new data version; transactions on the old one end in peace.

        File locks belong to a process: closing a file drops the lock on it that another instance of the same
        process holds. So the old instance lets its .duckdb file go before the new one takes it.
        """
        quietly(old.detach)
        self._loading = True
        try:
            new = self._load()
        except Unreadable as found:
            _log.error("%s", found.message)
            raise _unopened() from None
        except PolicyError as found:
            raise _drift(found.message) from None
        finally:
            self._loading = False
        try:
            self._check_pinned(new)
        except EngineError:
            new.close()
            raise
        self._data = new
        self._retire(old)

    def _check_pinned(self, new: Data) -> None:
        """Raises EngineError where the new data have other types, or no longer the constraints that plans rely on."""
        if new.types != self._types:
            raise _drift("a column has another type than when the data were opened")
        for name, unique in self._unique.items():
            _check_unique(self._policy.tables[name], unique, new.unique[name])

    def _retire(self, data: Data) -> None:
        data.retired = True
        self._retired.append(data)
        if not data.running:
            self._discard(data)

    def _discard(self, data: Data) -> None:
        self._retired.remove(data)
        data.close()

    def _load(self) -> Data:
        """Load a data version that did not change meanwhile. Raises PolicyError, EngineError if it can't."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            data = quietly(lambda: Data(self._policy, self._file))
            try:
                while not self._attach_first(data):
                    self._wait(deadline)
                data.version = self.version
                quietly(data.load)
                if data.version == self.version:
                    data.last_use = time.monotonic()
                    return data
            except BaseException:
                data.close()
                raise
            data.close()
            self._wait(deadline)

    def _attach_first(self, data: Data) -> bool:
        if self._file is not None and not self._file.is_file():
            found = wrong(self._policy, 0, f"engine: there is no file {self._file}", "write the path of a .duckdb file")
            raise Unreadable(found.message, hint=found.hint)
        try:
            return quietly(data.attach)
        except EngineError:
            found = wrong(
                self._policy,
                0,
                f"engine: {self._file} can't be opened as a DuckDB database",
                "check that it is one, that it is not encrypted, and that this user may read it",
            )
        raise Unreadable(found.message, hint=found.hint)

    def _check_catalogue(self, data: Data) -> None:
        """The declared columns of the file just attached still have the types that plans were made for."""
        for table in self._policy.tables.values():
            if table.source.kind != "table" or table.public:
                continue
            try:
                types = quietly(lambda table=table: data.check_table(table))  # type: ignore[misc]
                unique = quietly(lambda table=table: data.unique_columns(table))  # type: ignore[misc]
            except PolicyError as found:
                raise _drift(found.message) from None
            if types != self._types[table.name.lower()]:
                raise _drift(f"table {table.name}: a column has another type than when the data were opened")
            _check_unique(table, self._unique[table.name.lower()], unique)

    # -- the keeper: a thread that lives as long as there is something to watch

    def _keep(self) -> None:
        if not self._keeping:
            self._keeping = True
            threading.Thread(target=self._keeper, name="dpsql-keeper", daemon=True).start()

    def _keeper(self) -> None:
        """Stop statements that take too long; let the .duckdb file go once it has been idle for a second;
        end.
        """
        while True:
            with self._changed:
                running = [t for data in (self._data, *self._retired) for t in data.running]
                idle = time.monotonic() - self._data.last_use
                if not running and (self._closed or idle >= IDLE_SECONDS):
                    self._keeping = False
                    with suppress(*FAULTS):
                        self._data.detach()
                    return
                for transaction in running:
                    transaction.stop_if_overdue()
            time.sleep(_TICK)

    # -- public tables, the owner's report

    def public_table(self, table: Table) -> PublicTable:
        """A public table of the data version loaded last."""
        with self._changed:
            return self._data.public[table.name.lower()]

    def distinct_public(self, table: Table, column: str) -> tuple[Key, ...]:
        """The distinct values of a public table's column, in order of value, without NULL; decimals as
        fractions.

        Raises PolicyError for a column that isn't there or whose values can't be keys (doubles, lists, …).
        """
        known = self.public_table(table)
        with self._changed:
            cursor = quietly(self._data.connection.cursor)
        return public_tables.distinct(cursor, self._policy, table, known, column)

    def public_columns(self, table: Table) -> Mapping[str, Column]:
        """A public table's columns, with value sets from the data version loaded last."""
        with self._changed:
            data = self._data
            if table.name.lower() not in data.public:
                raise KeyError(table.name)
            cursor = quietly(data.connection.cursor)
        return MappingProxyType(quietly(lambda: data.public_columns(table, cursor)))

    def report(self) -> tuple[TableReport, ...]:
        """How each source with declared columns fits the policy: exact counts, for the owner only."""
        data, transaction = self._begin()
        try:
            return tuple(
                reports.report(
                    transaction.cursor,
                    self._policy,
                    table,
                    lambda one: self.relation(one).sql("duckdb"),
                    {name: self._keys(column) for name, column in table.columns.items()},
                )
                for table in self._policy.tables.values()
                if table.columns
            )
        finally:
            self._end(data, transaction)

    def _keys(self, column: Column) -> tuple[Key, ...] | None:
        """The column's keys, also where they are the values of a public column."""
        if column.keys_from is None:
            return column.keys
        table, name = column.keys_from
        return self.distinct_public(self._policy.tables[table], name)

    def close(self) -> None:
        """Let everything go; a transaction under way keeps its data until it ends."""
        with self._changed:
            if not self._closed:
                self._closed = True
                self._retire(self._data)
            self._changed.notify_all()

    def __enter__(self) -> DuckDBEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_unique(table: Table, before: Iterable[frozenset[str]], now: Container[frozenset[str]]) -> None:
    for key in before:
        if key not in now:
            raise _drift(
                f"table {table.name}: {', '.join(sorted(key))} no longer has a PRIMARY KEY or UNIQUE constraint"
            )


def _drift(found: str) -> EngineError:
    _log.error("the data no longer fit the policy: %s", found)
    return EngineError(
        "the data no longer fit the policy",
        hint="nothing was charged; the owner must look: the operator's log says where",
    )


def _unopened() -> EngineError:
    return EngineError(
        "the data source can't be opened", hint="nothing was charged; the operator's log says which one and why"
    )


def _busy() -> EngineError:
    return EngineError("the database is being written", hint="nothing was charged; try again in a moment")
