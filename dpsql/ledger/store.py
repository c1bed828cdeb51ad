"""The ledger's file: SQLite, one table that only grows.

Durability: WAL with synchronous=FULL syncs the log before COMMIT returns. The connection is never open across
a fork (SQLite's locks do not survive one) and never shared between threads at a time: the caller holds its
own lock.

The sums are kept in memory and nowhere in the file, so no sum can disagree with the records. They are made
from all records, each checked against the chain, when the ledger is opened; later only records that are new
are read, so a charge costs the same however long the ledger is.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import os
import secrets
import sqlite3
import tempfile
from collections import ChainMap
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpsql.ledger.head import Head, HeadMissing, first_head, head_path, read_head
from dpsql.ledger.limits import NOTHING, Tally
from dpsql.ledger.record import COLUMNS, Charge, Damaged, Failure, Record, Unlock, from_row, genesis, to_row

_APPLICATION_ID = 0x6470_7371  # "dpsq"
_FORMAT = 2
_SCHEMA = """
CREATE TABLE ledger (id TEXT NOT NULL);
CREATE TABLE record (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL,
    kind TEXT NOT NULL,  -- charge, failure or unlock
    analyst TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL,  -- whole units of 1e-9 and 1e-18
    query TEXT NOT NULL,
    charge INTEGER,  -- of a failure: the number of the charge
    version TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER records_stand BEFORE DELETE ON record
BEGIN SELECT RAISE(ABORT, 'a record is never taken back'); END;
CREATE TRIGGER records_stay BEFORE UPDATE ON record
BEGIN SELECT RAISE(ABORT, 'a record is never changed'); END;
"""
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM record"
_LONG_AGO = dt.datetime.min.replace(tzinfo=dt.UTC)
_BUSY_SECONDS = 5.0


class LedgerAbsent(Exception):
    """There is no ledger file. Never leaves this package."""


class LedgerExists(Exception):
    """There is a ledger, or the head of one that was charged. Never leaves this package."""


class Replaced(Exception):
    """Another file took the place of the ledger that was open. Never leaves this package."""


@dataclass(slots=True)
class State:
    """What the records read so far add up to: `count` of them, `charges` of these charges.

    `failures` are those since the analyst's last unlock.
    """

    hash: str
    count: int = 0
    charges: int = 0
    newest: dt.datetime = _LONG_AGO
    everyone: Tally = NOTHING
    analysts: MutableMapping[str, Tally] = field(default_factory=dict)
    failures: MutableMapping[str, int] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Count the next record."""
        if record.time < self.newest:
            raise Damaged(f"record {record.number} is older than the one before it")
        match record:
            case Charge():
                self._add_charge(record)
            case Failure():
                self.failures[record.analyst] = self.failed(record.analyst) + 1
            case Unlock():  # pragma: no branch - there is no other kind
                self.failures[record.analyst] = 0
        self.count, self.hash, self.newest = record.number, record.hash, record.time

    def _add_charge(self, charge: Charge) -> None:
        day, loss = charge.time.date(), (charge.epsilon_units, charge.delta_units)
        self.everyone = self.everyone.plus(day, *loss)
        self.analysts[charge.analyst] = self.of(charge.analyst).plus(day, *loss)
        self.charges += 1

    def of(self, analyst: str) -> Tally:
        """The tally of one analyst."""
        return self.analysts.get(analyst, NOTHING)

    def failed(self, analyst: str) -> int:
        """The failures of one analyst since the last unlock."""
        return self.failures.get(analyst, 0)

    def draft(self) -> State:
        """A state to add records to that may yet fail to be written."""
        return replace(self, analysts=ChainMap({}, self.analysts), failures=ChainMap({}, self.failures))

    def adopt(self, draft: State) -> None:
        """The records of the draft are written."""
        assert isinstance(draft.analysts, ChainMap) and isinstance(draft.failures, ChainMap)
        self.analysts.update(draft.analysts.maps[0])
        self.failures.update(draft.failures.maps[0])
        self.hash, self.count, self.charges, self.newest = draft.hash, draft.count, draft.charges, draft.newest
        self.everyone = draft.everyone


class Store:
    """One ledger file. Not for two threads at once. Raises what faults.py lists."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None
        self._state: State | None = None

    @property
    def state(self) -> State:
        """The sums of the records as last read."""
        assert self._state is not None
        return self._state

    def refresh(self) -> None:
        """Read the records that are new, without any lock, and check them against the head."""
        with self._reading():
            connection = self._connected()
            head = read_head(head_path(self._path))  # before the snapshot, so never ahead of it
            connection.execute("BEGIN")
            self._catch_up(connection)
            self._check(connection, head)
            connection.execute("COMMIT")

    def begin(self, head: Head) -> None:
        """Begin to write: the caller holds the lock, has read `head`, and calls `write` or `abandon`."""
        with self._reading():
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            self._catch_up(connection)
            self._check(connection, head)

    def touch(self) -> None:
        """Find out whether the file can be written: BEGIN IMMEDIATE alone succeeds on a read-only one."""
        with self._reading():
            self._connected().execute("UPDATE ledger SET id = id")

    def write(self, records: Sequence[Record]) -> None:
        """Make the records durable, and end the transaction."""
        with self._reading():
            self._insert(records)
            self._commit()

    def _insert(self, records: Sequence[Record]) -> None:
        sql = f"INSERT INTO record ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
        self._connected().executemany(sql, map(to_row, records))

    def _commit(self) -> None:
        self._connected().execute("COMMIT")

    def abandon(self) -> None:
        """End the transaction, if there still is one, without a record."""
        if self._connection is not None and self._connection.in_transaction:
            with self._reading():
                self._connection.execute("ROLLBACK")

    def records(self, after: int, previous: str) -> list[Record]:
        """The next records in the file (at most 1000) after number `after`, whose hash is `previous`."""
        with self._reading():
            rows = self._connected().execute(f"{_SELECT} WHERE number > ? ORDER BY number LIMIT 1000", (after,))
            page: list[Record] = []
            for row in rows:
                page.append(from_row(row, previous, after + len(page) + 1))
                previous = page[-1].hash
            return page

    def charged(self, number: int) -> str | None:
        """The analyst of a charge; None where there is no charge of that number."""
        with self._reading():
            row = (
                self._connected()
                .execute("SELECT analyst FROM record WHERE number = ? AND kind = 'charge'", (number,))
                .fetchone()
            )
            return None if row is None else str(row[0])

    @property
    def genesis(self) -> str:
        """The hash before the first record."""
        with self._reading():
            return _genesis(self._connected())

    def close(self) -> None:
        """Close the connection; the next use opens it again and checks that the records read are in it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except BaseException:  # whatever it was (also Ctrl-C): no transaction stays open
            self.close()
            raise

    def _connected(self) -> sqlite3.Connection:
        """The connection, to the file that has the ledger's name now."""
        try:
            file = os.stat(self._path)
        except FileNotFoundError:
            self.close()
            raise LedgerAbsent from None
        if self._connection is not None and self._file is not None and os.path.samestat(file, self._file):
            return self._connection
        if self._connection is not None:
            raise Replaced
        self._connection = connection = _connect(self._path)
        self._file = file
        _check_format(connection)
        first = _genesis(connection)
        if self._state is None:
            self._state = State(first)
        return connection

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Read the last record known again, and all that follow it, and count those."""
        state = self.state
        rows = connection.execute(f"{_SELECT} WHERE number >= ? ORDER BY number", (state.count,))
        if state.count:
            known = rows.fetchone()
            if known is None or known[0] != state.count or known[-1] != state.hash:
                raise Damaged("records that were in it are gone: it may be an older copy")
        elif _genesis(connection) != state.hash:
            raise Damaged("it is another ledger than the one that was open")
        for row in rows:
            state.add(from_row(row, state.hash, state.count + 1))

    def _check(self, connection: sqlite3.Connection, head: Head) -> None:
        """The chain must pass through the head."""
        state = self.state
        if (head.count, head.hash) == (state.count, state.hash):
            return
        if head.count >= state.count:
            raise Damaged(f"it holds {state.count} records and its head knows {head.count}: it may be an older copy")
        if head.count == 0:
            found = _genesis(connection)
        else:
            row = connection.execute("SELECT hash FROM record WHERE number = ?", (head.count,)).fetchone()
            found = row and row[0]
        if found != head.hash:
            raise Damaged(f"record {head.count} is not the one that its head knows: its head is another's")


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",  # rw: never makes a file
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=_BUSY_SECONDS,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone leaves data in the disk's cache
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_format(connection: sqlite3.Connection) -> None:
    kind = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if kind != _APPLICATION_ID:
        raise Damaged("it is not a ledger of dpsql")
    if version != _FORMAT or journal != "wal":
        raise Damaged(f"it has format {version} ({journal}), and this dpsql knows format {_FORMAT} (wal)")


def _genesis(connection: sqlite3.Connection) -> str:
    row = connection.execute("SELECT id FROM ledger").fetchone()
    if row is None or not isinstance(row[0], str):
        raise Damaged("it has no id")
    return genesis(row[0])


def create(path: Path) -> None:
    """Make an empty ledger and its head, both of mode 0600, and the directory they are in.

    The files get their names when they are whole: first the head, then the ledger, so a crash leaves either
    no ledger or a whole one. A head without a ledger blocks only if it knows of charges: then the ledger was
    lost, not unborn. Raises LedgerExists, OSError, sqlite3.Error.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    directory = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)  # two creators take turns
        _refuse_existing(path)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".dpsql-") as workplace:
            ledger, head = Path(workplace, "ledger"), Path(workplace, "head")
            _write_synced(head, first_head(Head(0, _make_database(ledger))))
            os.replace(head, head_path(path))
            os.replace(ledger, path)
        os.fsync(directory)
    finally:
        os.close(directory)


def _refuse_existing(path: Path) -> None:
    if os.path.lexists(path):
        raise LedgerExists
    with suppress(HeadMissing):
        if read_head(head_path(path)).count:
            raise LedgerExists


def _make_database(path: Path) -> str:
    """Write an empty ledger; returns its genesis hash."""
    _write_synced(path, b"")
    ledger_id = secrets.token_hex(16)
    connection = _connect(path)
    try:
        connection.execute("PRAGMA page_size = 1024")  # a commit writes whole pages: 4096 costs a third more
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        connection.executescript(_SCHEMA)
        connection.execute("INSERT INTO ledger VALUES (?)", (ledger_id,))
    finally:
        connection.close()  # the last to close: moves the log into the file, synced
    return genesis(ledger_id)


def _write_synced(path: Path, data: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, data)
        os.fsync(file)
    finally:
        os.close(file)
