"""DuckDB as the private engine: CSV and Parquet files in memory, or the tables of a .duckdb file.

One locked instance per data version. It is in memory: CSV files are loaded into it, Parquet files are scanned
in place through views, a .duckdb file is attached read-only as `source` for each burst of queries and let go
after one idle second, so that a loader can write. Public tables are read whole.

The row form: what inner SQL should look like for the least CPU on DuckDB 2.0.1. 5M rows, 20 text keys, 2 %
NULL, far outliers; ratio of process CPU to the raw `SELECT region, COUNT(*), SUM(amount), AVG(age) GROUP BY
region`, amount DOUBLE; median of 7 pairs, run to run +-0.08:

                                                             .duckdb file    not compressed, in memory
    both clips by CASE, the cast outside                     2.67            1.46
    CASE for the double, arithmetic for an INTEGER           2.39            1.42
    arithmetic for the double, CASE for a BIGINT             2.31            1.42
    arithmetic for both                                      2.02            1.31

A table loaded here is like the file: CHECKPOINT compresses it, and both queries then need a third of the CPU.

    double x, bounds L and U on the grid, s = 1/g     w = x - U;  z = (w - abs(w)) + 2(U-L)
                                                      i = TRY_CAST((z + abs(z)) * (s/4) AS BIGINT)
    INTEGER or narrower x (by physical type)          b = CAST(x AS BIGINT);  d = abs(b - L) - abs(b - U)
                                                      SUM(i) = (COALESCE(SUM(d), 0) + N * COUNT(d)) >> 1
    BIGINT x                                          the CASE form: b - L could overflow

w, z and b each in a subquery level of their own, or they are computed twice. Why i is in [0, N] for every x:
w - abs(w) is 2 min(w, 0), exactly 0 where x >= U; so z <= 2(U-L), as rounding is monotone; z + abs(z) is
exactly 0 where z <= 0 and at most 4(U-L) elsewhere, and s is a power of two: so the product is at most N and
at least 0, exactly, and within N * 2^-51 of the unrounded index. NaN, both infinities and x below -2^1023
(where w - abs(w) overflows) end as NaN, for which TRY_CAST gives NULL: they count as NULL, also in COUNT(i).
It takes |L|, |U| < 2^960, 2^-900 < s < 2^900, N < 2^51. A failing TRY_CAST costs 0.6 us: a column half full
of NaN is 30 times slower than a clean one (CSV cells are cleansed when loaded); the CASE form has no such
weakness. d is 2i - N exactly, in integers that can't overflow; a NULL adds nothing to either sum.

Undeclared keys are best dropped after the aggregation, at no cost per row, in a form that the optimiser can't
push down: `WHERE CASE WHEN n >= 0 THEN k IN (...) ELSE FALSE END` with n the group's COUNT(*). `WHERE k IN
(20 keys)` in the scan costs 0.6 of the raw query, and an outer WHERE on the key alone becomes just that. The
groups dropped are those which the raw query makes too. For 1e6 integer keys, BETWEEN in the scan and the
filter afterwards cost the same: 1.02 to 1.07 and 1.01 of the raw query.
"""

from __future__ import annotations

import csv
import datetime as dt
import glob
import hashlib
import logging
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NoReturn, TypeVar

import duckdb
from sqlglot import exp

from dpsql.engines import PublicTable, TableReport, declared
from dpsql.engines.declared import literal, quoted
from dpsql.engines.exact_rows import ExactRows, join_limbs, key_column, whole
from dpsql.errors import EngineError, InterfaceError, InternalError, PolicyError
from dpsql.policy import Column, Key, Kind, Policy, Table

MAX_PUBLIC_ROWS = 1_000_000
STATEMENT_SECONDS = 300.0
IDLE_SECONDS = 1.0
_TICK = 0.1
BUSY_SECONDS = 5.0
SMALL_BYTES = 16 << 20
"""Sources smaller than this are queried by one thread: a second one makes a query over 1000 rows 20 % slower.
"""

_SOURCE = "source"
_NAMED = "database_name = ? AND lower(schema_name) = ? AND lower(table_name) = ?"
_WAL = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}
_FAULTS = (duckdb.Error, RuntimeError, MemoryError, OSError, ValueError, TypeError)
_log = logging.getLogger("dpsql.engine")
_T = TypeVar("_T")


def open_engine(policy: Policy) -> DuckDBEngine:
    """Load what the policy names. Raises PolicyError for the first thing that doesn't fit the data."""
    return DuckDBEngine(policy)


@lru_cache(maxsize=512)
def _parsed(sql: str) -> duckdb.Statement:
    """The parsed statement, to be bound and run any number of times: parsing costs a third of a small query."""
    (statement,) = duckdb.extract_statements(sql)
    return statement


def _quietly(call: Callable[[], _T]) -> _T:
    """Run `call`; whatever the driver raises becomes an EngineError that says nothing about it.

    A driver's message may quote a private value. So the log gets the kind of the exception and a reference,
    the caller the reference; and the error is raised outside the handler, so that not even its context holds
    the cause.
    """
    try:
        return call()
    except _FAULTS as fault:
        kind = type(fault).__name__
    reference = secrets.token_hex(4)
    _log.error("engine failure %s: %s", reference, kind)
    raise EngineError(f"the engine failed; the operator's log has it under {reference}")


class DuckDBTransaction:
    """One read transaction on a cursor of its own. See dpsql.engines.Transaction."""

    __slots__ = ("_cursor", "_deadline", "_version")

    def __init__(self, cursor: duckdb.DuckDBPyConnection, version: str) -> None:
        self._cursor = cursor
        self._version = version
        self._deadline: float | None = None

    @property
    def version(self) -> str:
        """The data version that is read."""
        return self._version

    def fetch(self, sql: str, keys: int, sums: int, counts: int = 0) -> ExactRows:
        """Run one inner query and put its sums together exactly.

        Raises EngineError for any failure of the engine; InternalError if the query returns something other
        than `keys` key columns, `counts` counts and 2 * `sums` limbs without NULL.
        """
        self._deadline = time.monotonic() + STATEMENT_SECONDS
        try:
            columns = list(_quietly(lambda: self._cursor.execute(_parsed(sql)).fetchnumpy()).values())
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
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._cursor.interrupt()

    def end(self) -> None:
        """Roll back and give the cursor back."""
        with suppress(*_FAULTS):
            self._cursor.execute("ROLLBACK")
        with suppress(*_FAULTS):
            self._cursor.close()


class _Data:
    """One data version: a locked in-memory instance. The engine's lock guards every attribute."""

    def __init__(self, policy: Policy, file: Path | None) -> None:
        self._policy = policy
        self.file = file
        self.directory = Path(tempfile.mkdtemp(prefix="dpsql-"))  # mode 0700
        self._remove = weakref.finalize(self, shutil.rmtree, self.directory, ignore_errors=True)
        self.connection = duckdb.connect(config=_CONFIG)
        self.version = ""
        self.running: set[DuckDBTransaction] = set()
        self.attached = False
        self.retired = False
        self.last_use = 0.0
        self.public: dict[str, PublicTable] = {}
        self.types: dict[str, dict[str, str]] = {}
        self._parquet: list[str] = []

    # -- loading

    def load(self) -> None:
        """Load every declared table, then lock. Expects the .duckdb file, if any, to be attached."""
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute(f"SET temp_directory = {literal(str(self.directory / 'spill'))}")
        for table in self._policy.tables.values():
            self._load_table(table)
        self._write_public()
        self.connection.execute("CHECKPOINT")  # compresses what was loaded: queries need a third of the CPU
        self._lock()

    def _load_table(self, table: Table) -> None:
        relation, types = {"csv": self._open_csv, "parquet": self._open_parquet, "table": self._open_table}[
            table.source.kind
        ](table)
        if table.source.kind == "table" and not table.public:
            self.types[table.name.lower()] = types
            return
        kind = "VIEW" if table.source.kind == "parquet" and not table.public else "TABLE"
        limit = f" LIMIT {MAX_PUBLIC_ROWS + 1}" if table.public else ""
        self._reading(table, f"CREATE {kind} main.{quoted(table.name)} AS {relation}{limit}")
        self.types[table.name.lower()] = self._stored_types("memory", "main", table.name)
        if table.public:
            self._note_public(table)

    def _open_csv(self, table: Table) -> tuple[str, dict[str, str]]:
        path = Path(table.source.location)
        if not table.columns:
            return f"FROM {declared.sniffed_csv(path)}", {}
        names = _csv_header(self._policy, table, path)
        wanted = ", ".join(
            f"{declared.cell(cell, table.columns[name])} AS {quoted(table.columns[name].name)}"
            for name, cell in _cells(self._policy, table, names).items()
        )
        return f"SELECT {wanted} FROM {declared.read_csv(path, len(names))}", {}

    def _open_parquet(self, table: Table) -> tuple[str, dict[str, str]]:
        files = _matches(table.source.location)
        if not files:
            raise _wrong(self._policy, table.line, f"table {table.name}: no file matches {table.source.location}")
        stored: dict[str, str] = {}
        for file in files:
            described = self._reading(table, f"DESCRIBE FROM {declared.read_parquet([file])}")
            stored = {str(row[0]).lower(): str(row[1]) for row in described}
            for column in table.columns.values():
                _check_type(self._policy, table, column, stored, zoned=True)
        self._parquet += files
        wanted = ", ".join(
            declared.parquet_column(column, stored[column.name.lower()]) for column in table.columns.values()
        )
        return f"SELECT {wanted or '*'} FROM {declared.read_parquet(files)}", stored

    def _open_table(self, table: Table) -> tuple[str, dict[str, str]]:
        """A base table of the attached file, and its types."""
        schema, name = _schema_and_name(table)
        if self.file is None:
            raise _wrong(
                self._policy,
                table.line,
                f"table {table.name}: the engine in memory has no table {table.source.location}",
                "write a file as source, or `engine: duckdb:///file.duckdb`",
            )
        types = self.check_table(table)
        wanted = ", ".join(quoted(column.name) for column in table.columns.values()) or "*"
        return f"SELECT {wanted} FROM {_SOURCE}.{quoted(schema)}.{quoted(name)}", types

    def check_table(self, table: Table) -> dict[str, str]:
        """Compare a declared table with the attached file's catalogue, and give its types.

        Only base tables whose columns are stored and compared byte by byte: a view may hold anything, a
        generated column may raise on one row's values, a collation makes different keys equal. Raises
        PolicyError.
        """
        schema, name = _schema_and_name(table)
        found = self.connection.execute(
            f"SELECT sql FROM duckdb_tables() WHERE {_NAMED}",
            [_SOURCE, schema.lower(), name.lower()],
        ).fetchone()
        if found is None:
            raise _wrong(
                self._policy,
                table.line,
                f"table {table.name}: {self.file} has no base table {table.source.location}",
                "write the name of a table of the file; a view can't be a source",
            )
        types = self._stored_types(_SOURCE, schema, name)
        collated = declared.collated(str(found[0]), table.columns.values())
        for column in table.columns.values():
            _check_type(self._policy, table, column, types)
            if column.name.lower() in collated:
                raise _wrong(
                    self._policy,
                    column.line,
                    f"table {table.name}: column {column.name} has a collation",
                    "store it without COLLATE, so that keys are compared byte by byte",
                )
        return {name: types[name] for name in table.columns} if table.columns else types

    def _stored_types(self, database: str, schema: str, name: str) -> dict[str, str]:
        rows = self.connection.execute(
            "SELECT column_name, CASE WHEN is_generated THEN 'GENERATED ' ELSE '' END || data_type "
            f"FROM duckdb_columns() WHERE {_NAMED} ORDER BY column_index",
            [database, schema.lower(), name.lower()],
        ).fetchall()
        return {str(column).lower(): str(type_) for column, type_ in rows}

    def _note_public(self, table: Table) -> None:
        relation = f"main.{quoted(table.name)}"
        counted = self.connection.execute(f"SELECT COUNT(*) FROM {relation}").fetchone()
        rows = int(counted[0]) if counted else 0
        if rows > MAX_PUBLIC_ROWS:
            raise _wrong(
                self._policy,
                table.line,
                f"table {table.name}: a public table has at most {MAX_PUBLIC_ROWS} rows, this has more",
                "leave out the rows that no query needs",
            )
        described = self.connection.execute(f"DESCRIBE {relation}").fetchall()
        columns = tuple((str(row[0]), str(row[1])) for row in described)
        self.public[table.name.lower()] = PublicTable(table.name, columns, rows, self.directory / "public.duckdb")

    def _write_public(self) -> None:
        if not self.public:
            return
        self.connection.execute(f"ATTACH {literal(str(self.directory / 'public.duckdb'))} AS public_copy")
        for table in self.public.values():
            name = quoted(table.name)
            self.connection.execute(f"CREATE TABLE public_copy.main.{name} AS FROM memory.main.{name}")
        self.connection.execute("DETACH public_copy")

    def _lock(self) -> None:
        """From here on the instance reads its own sources and nothing else, and keeps its settings.

        This is the second wall, not the first: inner SQL is generated from an allow-list.
        """
        paths = [str(self.file) + suffix for suffix in _WAL] if self.file else []
        listed = ", ".join(literal(path) for path in paths + self._parquet)
        if _bytes_of(self._policy, self.file) < SMALL_BYTES:
            self.connection.execute("SET threads = 1")
        self.connection.execute(f"SET allowed_paths = [{listed}]")
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def _reading(self, table: Table, sql: str) -> list[Any]:
        """Run SQL that reads a source; a source that can't be read is the policy's fault. Quotes nothing of
        it.
        """
        try:
            return self.connection.execute(sql).fetchall()
        except _FAULTS as fault:
            kind = type(fault).__name__
        _log.error("table %s can't be read: %s", table.name, kind)
        raise _wrong(
            self._policy,
            table.line,
            f"table {table.name}: {table.source.location} can't be read as {table.source.kind}",
            "check the path, the file's format and its permissions",
        )

    # -- the .duckdb file

    def attach(self) -> bool:
        """Attach the .duckdb file. False if another process holds it for writing."""
        if self.file is None or self.attached:
            return True
        try:
            self.connection.execute(f"ATTACH {literal(str(self.file))} AS {_SOURCE} (READ_ONLY)")
        except duckdb.IOException as fault:
            if "lock" in str(fault):
                return False
            raise
        self.attached = True
        return True

    def detach(self) -> None:
        """Let the file go."""
        if self.attached:
            self.attached = False
            self.connection.execute(f"DETACH {_SOURCE}")

    def close(self) -> None:
        """Forget everything of this data version."""
        with suppress(*_FAULTS):
            self.connection.close()
        self.attached = False
        self._remove()


class DuckDBEngine:
    """See dpsql.engines.Engine. Safe for threads: a lock for opening and closing, none while a query runs."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._file = _database_file(policy)
        self._changed = threading.Condition()
        self._closed = False
        self._keeping = False
        self._loading = False
        self._retired: list[_Data] = []
        with self._changed:
            self._data = self._load()
            self._keep()
        self._types = self._data.types  # pinned: plans are made for these

    # -- what a plan needs to know

    @property
    def version(self) -> str:
        """The data version: path, size, mtime (inode of a .duckdb) of each source, looked at now."""
        return _fingerprint(self._policy, self._file)

    def relation(self, table: Table) -> exp.Table:
        """The name of a table in inner SQL, quoted and with its catalogue: it can't mean anything else."""
        if table.source.kind == "table" and not table.public:
            schema, name = _schema_and_name(table)
            return exp.table_(name, db=schema, catalog=_SOURCE, quoted=True)
        return exp.table_(table.name, db="main", catalog="memory", quoted=True)

    def physical_types(self, table: Table) -> Mapping[str, str]:
        """DuckDB's types of the columns. If they change while this engine is open, it refuses."""
        return MappingProxyType(self._types[table.name.lower()])

    # -- transactions

    @contextmanager
    def transaction(self) -> Iterator[DuckDBTransaction]:
        """One read transaction on the current data; see dpsql.engines.Engine.transaction."""
        data, transaction = self._begin()
        try:
            yield transaction
        finally:
            self._end(data, transaction)

    def _begin(self) -> tuple[_Data, DuckDBTransaction]:
        with self._changed:
            data = self._current()
            cursor = _quietly(data.connection.cursor)
            _quietly(lambda: cursor.execute("BEGIN TRANSACTION READ ONLY"))
            transaction = DuckDBTransaction(cursor, data.version)
            data.running.add(transaction)
            self._keep()
            return data, transaction

    def _end(self, data: _Data, transaction: DuckDBTransaction) -> None:
        transaction.end()
        with self._changed:
            data.running.discard(transaction)
            data.last_use = time.monotonic()
            if data.retired and not data.running:
                self._discard(data)
            self._changed.notify_all()

    def _current(self) -> _Data:
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
                data.last_use = time.monotonic()
                return data
            elif self._file is not None and data.running:
                self._wait(deadline)  # one instance at a time holds the file's lock, see _reload
            else:
                self._reload(data)

    def _attached(self, data: _Data) -> bool:
        """Attach the .duckdb file; False if it is being written. Raises EngineError for drift."""
        if data.attached or self._file is None:
            return True
        if not _quietly(data.attach):
            return False
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

    def _reload(self, old: _Data) -> None:
        """Swap in the new data version; transactions on the old one end in peace.

        File locks belong to a process: closing a file drops the lock on it that another instance of the same
        process holds. So the old instance lets its .duckdb file go before the new one takes it.
        """
        _quietly(old.detach)
        self._loading = True
        try:
            new = self._load()
        except PolicyError as found:
            raise _drift(found.message) from None
        finally:
            self._loading = False
        if new.types != self._types:
            new.close()
            raise _drift("a column has another type than when the data were opened")
        self._data = new
        self._retire(old)

    def _retire(self, data: _Data) -> None:
        data.retired = True
        self._retired.append(data)
        if not data.running:
            self._discard(data)

    def _discard(self, data: _Data) -> None:
        self._retired.remove(data)
        data.close()

    def _load(self) -> _Data:
        """Load a data version that did not change meanwhile. Raises PolicyError, EngineError if it can't."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            data = _quietly(lambda: _Data(self._policy, self._file))
            try:
                while not self._attach_first(data):
                    self._wait(deadline)
                data.version = self.version
                _quietly(data.load)
                if data.version == self.version:
                    data.last_use = time.monotonic()
                    return data
            except BaseException:
                data.close()
                raise
            data.close()
            self._wait(deadline)

    def _attach_first(self, data: _Data) -> bool:
        if self._file is not None and not self._file.is_file():
            raise _wrong(self._policy, 0, f"engine: there is no file {self._file}", "write the path of a .duckdb file")
        return _quietly(data.attach)

    def _check_catalogue(self, data: _Data) -> None:
        """The declared columns of the file just attached still have the types that plans were made for."""
        for table in self._policy.tables.values():
            if table.source.kind != "table" or table.public:
                continue
            try:
                types = _quietly(lambda table=table: data.check_table(table))  # type: ignore[misc]
            except PolicyError as found:
                raise _drift(found.message) from None
            if types != self._types[table.name.lower()]:
                raise _drift(f"table {table.name}: a column has another type than when the data were opened")

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
                    with suppress(*_FAULTS):
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
        type_ = next((stored for name, stored in known.columns if name.lower() == column.lower()), None)
        if type_ is None:
            raise _wrong(self._policy, table.line, f"table {table.name} has no column {column}")
        with self._changed:
            cursor = _quietly(self._data.connection.cursor)
        name, relation = quoted(column), f"memory.main.{quoted(table.name)}"
        sql = f"SELECT DISTINCT {name} FROM {relation} WHERE {name} IS NOT NULL ORDER BY 1"
        values = [_key(row[0]) for row in _quietly(lambda: cursor.execute(sql).fetchall())]
        if any(value is None for value in values):
            raise _wrong(
                self._policy,
                table.line,
                f"table {table.name}: the values of column {column} ({type_}) can't be keys",
                "take a column of integers, decimals, booleans, text, dates or timestamps",
            )
        return tuple(values)

    def report(self) -> tuple[TableReport, ...]:
        """How each CSV file with declared columns fits the policy: exact counts, for the owner only."""
        tables = [t for t in self._policy.tables.values() if t.source.kind == "csv" and t.columns]
        return tuple(_report(self._policy, table) for table in tables)

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


# -- errors


def _wrong(policy: Policy, line: int, found: str, hint: str | None = None) -> PolicyError:
    where = f"{policy.path}, line {line}" if line else str(policy.path)
    return PolicyError(f"{where}: {found}", hint=hint)


def _drift(found: str) -> EngineError:
    return EngineError(f"the data no longer fit the policy: {found}", hint="nothing was charged; the owner must look")


def _busy() -> EngineError:
    return EngineError("the database is being written", hint="nothing was charged; try again in a moment")


def _check_type(
    policy: Policy, table: Table, column: Column, stored: Mapping[str, str], *, zoned: bool = False
) -> None:
    """Raises PolicyError if the data lack a declared column or store it as a type that its declaration can't
    mean.
    """
    type_ = stored.get(column.name.lower())
    if type_ is None:
        _missing(policy, table, column, list(stored))
    if declared.fits(column.type, type_) or (zoned and type_ == declared.ZONED and column.type.kind is Kind.TIMESTAMP):
        return
    fitting = declared.written(type_)
    raise _wrong(
        policy,
        column.line,
        f"table {table.name}: {column.name} is declared {column.type.kind.value}, the data have {type_}",
        f"write `type: {fitting}`" if fitting else "store the column as a type that dpsql knows, or leave it out",
    )


def _missing(policy: Policy, table: Table, column: Column, names: list[str]) -> NoReturn:
    raise _wrong(
        policy,
        column.line,
        f"table {table.name}: {table.source.location} has no column {column.name}",
        f"its columns are: {', '.join(names)}" if names else "the file is empty",
    )


# -- sources


def _database_file(policy: Policy) -> Path | None:
    """The .duckdb file of `duckdb:///x.duckdb` (relative to the policy) or `duckdb:////x.duckdb`; None in
    memory.
    """
    _, colon, rest = policy.engine.partition(":")
    if not colon or rest in {"", "//", "///"}:
        return None
    if not rest.startswith("///"):
        raise _wrong(policy, 0, f"engine is {policy.engine!r}", "write `engine: duckdb:///file.duckdb`")
    return (policy.path.parent / rest[3:]).resolve()


def _schema_and_name(table: Table) -> tuple[str, str]:
    schema, dot, name = table.source.location.rpartition(".")
    return (schema, name) if dot else ("main", name)


def _matches(location: str) -> list[str]:
    if Path(location).is_file():
        return [location]
    return sorted(path for path in glob.glob(location, recursive=True) if Path(path).is_file())


def _source_files(policy: Policy, file: Path | None) -> Iterator[tuple[str, bool]]:
    """Each file of the data, and whether it is the .duckdb."""
    if file is not None:
        yield from ((str(file) + suffix, True) for suffix in _WAL[:2])
    for table in policy.tables.values():
        if table.source.kind != "table":
            yield from ((path, False) for path in _matches(table.source.location))


def _fingerprint(policy: Policy, file: Path | None) -> str:
    """A hash of path, size and mtime of each source file, and the inode of a .duckdb. A missing file counts
    too.
    """
    seen: list[str] = []
    for path, database in _source_files(policy, file):
        try:
            stat = Path(path).stat()
        except OSError:
            continue
        seen.append(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ino if database else ''}")
    return hashlib.sha256("\1".join(seen).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _bytes_of(policy: Policy, file: Path | None) -> int:
    total = 0
    for path, _ in _source_files(policy, file):
        with suppress(OSError):
            total += Path(path).stat().st_size
    return total


def _csv_header(policy: Policy, table: Table, path: Path) -> list[str]:
    try:
        names = declared.header(path)
    except (OSError, UnicodeError, csv.Error):
        names = None
    if names is None:
        raise _wrong(
            policy,
            table.line,
            f"table {table.name}: {path} can't be read as a CSV file",
            "check the path; the file must be UTF-8 with a header line",
        )
    return names


def _position(policy: Policy, table: Table, column: Column, names: list[str]) -> int:
    """Where a declared column stands in the file; names match without case."""
    places = [index for index, name in enumerate(names) if name.strip().lower() == column.name.lower()]
    if not places:
        _missing(policy, table, column, names)
    if len(places) > 1:
        raise _wrong(
            policy,
            column.line,
            f"table {table.name}: {table.source.location} has {len(places)} columns named {column.name}",
            "rename all but one in the file's header",
        )
    return places[0]


def _cells(policy: Policy, table: Table, names: list[str]) -> dict[str, str]:
    """For each declared column, by lower-case name, the column of read_csv that holds its cells."""
    return {name: f"c{_position(policy, table, column, names)}" for name, column in table.columns.items()}


def _report(policy: Policy, table: Table) -> TableReport:
    """Read a CSV file once more and count what doesn't fit."""
    path = Path(table.source.location)
    names = _csv_header(policy, table, path)
    cells = _cells(policy, table, names)
    counts = ", ".join(
        f"COUNT({cell}) - COUNT({declared.fitting(cell, table.columns[name])})" for name, cell in cells.items()
    )
    sql = f"SELECT COUNT(*), {counts} FROM {declared.read_csv(path, len(names), rejects=True)}"

    def count() -> tuple[Any, int]:
        with duckdb.connect(config=_CONFIG) as connection:
            row = connection.execute(sql).fetchall()[0]  # to the end: only then are the rejects noted
            unreadable = connection.execute("SELECT COUNT(DISTINCT line) FROM reject_errors").fetchone()
            return row, int(unreadable[0]) if unreadable else 0

    row, unreadable = _quietly(count)
    misfits = {table.columns[name].name: int(n) for name, n in zip(cells, row[1:], strict=True) if n}
    return TableReport(table.name, int(row[0]), MappingProxyType(misfits), unreadable)


def _key(value: object) -> Key:
    """A public value as a key, or None if it can't be one."""
    if isinstance(value, Decimal):
        return Fraction(value)
    return value if isinstance(value, bool | int | str | dt.date | dt.datetime) else None
