"""The file of stored answers: SQLite, beside the ledger. It may be removed at any time: then all is asked anew.

Only released numbers are in it, so it tells no more than analysts know, but for their names and questions: it has mode
0600, as the ledger.

Nothing in it is needed for privacy: what is lost, damaged or too old is not found, is charged again, and has noise of
its own. So commits are not synced (a power cut may lose the newest answers, and nothing else), each record carries a
check sum, and where there are too many those unused for longest are dropped, of whoever has the most.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import hashlib
import logging
import os
import sqlite3
import tempfile
import threading
import time
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dpsql.answers.question import Question
from dpsql.answers.record import decode, encode
from dpsql.errors import InterfaceError, LedgerError
from dpsql.release import NoisyRows

MAX_BYTES = 256 << 20
"""Of all records together."""
REMEMBERED_BYTES = 64 << 20
"""Of records, as they are in the file, that a process keeps at hand."""
_APPLICATION_ID = 0x6470_7361  # "dpsa"
_FORMAT = 1
_BUSY_SECONDS = 5.0
_DROPPED_AT_ONCE = 64
_SCHEMA = """
CREATE TABLE answer (
    asker TEXT NOT NULL,  -- the analyst who may have it; '' where everyone may
    question BLOB NOT NULL,  -- SHA-256
    time TEXT NOT NULL, charge INTEGER NOT NULL,  -- when it was released, for which charge of the ledger
    record BLOB NOT NULL, size INTEGER NOT NULL,
    digest BLOB NOT NULL,  -- SHA-256 of all of these
    used INTEGER NOT NULL,  -- ns since 1970
    UNIQUE (asker, question));
CREATE INDEX by_use ON answer (asker, used, size);
CREATE TABLE total (bytes INTEGER NOT NULL);
INSERT INTO total VALUES (0);
CREATE TRIGGER more AFTER INSERT ON answer BEGIN UPDATE total SET bytes = bytes + NEW.size; END;
CREATE TRIGGER less AFTER DELETE ON answer BEGIN UPDATE total SET bytes = bytes - OLD.size; END;
"""
_log = logging.getLogger("dpsql.answers")
_log.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Answer:
    """A stored release: its noisy integers, when it was released (UTC), and the number of the charge that paid it."""

    noisy: NoisyRows
    time: dt.datetime
    charge: int


_Place = tuple[str, bytes]
"""Who may have an answer, and the digest of its question."""


class Answers:
    """The stored answers beside one ledger. Threads and processes may share them.

    The file is made when the first answer is kept.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None
        self._closed = False
        self._remembered: OrderedDict[_Place, tuple[Answer, int]] = OrderedDict()
        self._remembered_bytes = 0
        self._used: dict[_Place, int] = {}
        with _fork_lock:
            _open.add(self)

    def find(self, asker: str, question: Question) -> Answer | None:
        """The answer that was kept for this asker and question, None where there is none.

        Raises LedgerError where the file is there and can't be read: what is in it was paid for.
        """
        place = (asker, question.digest)
        with self._lock, self._faults():
            connection = self._connected()
            if connection is None:
                return None
            if (known := self._remembered.get(place)) is not None:
                self._remembered.move_to_end(place)
                self._used[place] = time.time_ns()
                return known[0]
            row = connection.execute(
                "SELECT time, charge, record, digest FROM answer WHERE asker = ? AND question = ?", place
            ).fetchone()
            if row is None:
                return None
            answer = _checked(place, question, row)
            if answer is None:
                _log.error("%s: an answer is damaged: it is dropped, and charged anew when it is asked for", self._path)
                connection.execute("DELETE FROM answer WHERE asker = ? AND question = ?", place)
                return None
            self._used[place] = time.time_ns()
            self._remember(place, answer, len(row[2]))
            return answer

    def any_of(self, asker: str) -> bool:
        """Whether any answer is kept for this asker. Raises LedgerError as `find` does."""
        with self._lock, self._faults():
            connection = self._connected()
            if connection is None:
                return False
            return connection.execute("SELECT 1 FROM answer WHERE asker = ? LIMIT 1", (asker,)).fetchone() is not None

    def keep(
        self, asker: str, released: Sequence[tuple[Question, NoisyRows]], *, charge: int, moment: dt.datetime
    ) -> None:
        """Store what was released for a charge, before it is given. An answer that is there already stays.

        Where it can't be stored the log says why: the answer was paid for and is given all the same.
        """
        try:
            with self._lock, self._faults():
                self._create()
                connection = self._connected()
                assert connection is not None
                with _transaction(connection):
                    for question, noisy in released:
                        self._insert(connection, (asker, question.digest), encode(question, noisy), charge, moment)
                    self._note_use(connection)
                    _drop_unused(connection)
        except (InterfaceError, LedgerError) as error:
            _log.error("an answer was not stored: %s", error.message)

    def size(self) -> tuple[int, int]:
        """How many answers there are, and how many bytes they take. Raises LedgerError."""
        with self._lock, self._faults():
            connection = self._connected()
            if connection is None:
                return 0, 0
            count, size = connection.execute("SELECT COUNT(*), (SELECT bytes FROM total) FROM answer").fetchone()
            return count, size

    def close(self) -> None:
        """Note what was used, and let the file go. Closing twice is fine."""
        with self._lock:
            if self._connection is not None and self._used:
                with suppress(sqlite3.Error), _transaction(self._connection):
                    self._note_use(self._connection)
            self._disconnect()
            self._closed = True

    # Under the lock.

    def _insert(
        self, connection: sqlite3.Connection, place: _Place, record: bytes, charge: int, moment: dt.datetime
    ) -> None:
        when = moment.isoformat(timespec="microseconds")
        connection.execute(
            "INSERT OR IGNORE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*place, when, charge, record, len(record), _digest(place, when, charge, record), time.time_ns()),
        )

    def _note_use(self, connection: sqlite3.Connection) -> None:
        connection.executemany(
            "UPDATE answer SET used = ? WHERE asker = ? AND question = ?",
            [(used, *place) for place, used in self._used.items()],
        )
        self._used.clear()

    def _remember(self, place: _Place, answer: Answer, size: int) -> None:
        self._remembered[place] = answer, size
        self._remembered_bytes += size
        while self._remembered_bytes > REMEMBERED_BYTES:
            _, (_, dropped) = self._remembered.popitem(last=False)
            self._remembered_bytes -= dropped

    def _connected(self) -> sqlite3.Connection | None:
        """The connection to the file that has the name now; None where there is none."""
        if self._closed:
            raise InterfaceError("the stored answers are closed")
        try:
            file = os.stat(self._path)
        except FileNotFoundError:
            self._disconnect()
            return None
        if self._connection is None or self._file is None or not os.path.samestat(file, self._file):
            self._disconnect()
            self._connection, self._file = _connect(self._path), file
            _check_format(self._connection)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection, self._file = self._connection, None, None
        self._remembered.clear()
        self._remembered_bytes = 0
        self._used.clear()
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _create(self) -> None:
        """Make the file, if it isn't there: it gets its name when it is whole."""
        if self._path.exists():
            return
        directory = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)  # two creators take turns
            if self._path.exists():
                return
            for suffix in ("-wal", "-shm"):  # of a file that was removed without them: they don't belong to the new one
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)
            with tempfile.TemporaryDirectory(dir=self._path.parent, prefix=".dpsql-") as workplace:
                made = Path(workplace, "answers")
                os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
                connection = _connect(made)
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {_FORMAT}")
                    connection.executescript(_SCHEMA)
                finally:
                    connection.close()
                os.replace(made, self._path)
        finally:
            os.close(directory)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Whatever is wrong with the file becomes a LedgerError; the log gets the cause."""
        try:
            yield
        except (sqlite3.Error, OSError, Damaged) as cause:
            self._disconnect()
            _log.error("%s: %s: %s", self._path, type(cause).__name__, cause)
            raise LedgerError(
                f"the stored answers {self._path.name} can't be read or written",
                hint=f"the operator's log says why; to go on without them remove the file {self._path.name}: "
                "then what was asked before is charged anew",
            ) from None


class Damaged(Exception):
    """The file holds something else than answers. Never leaves this package."""


def _checked(place: _Place, question: Question, row: tuple[object, ...]) -> Answer | None:
    """The answer in a row, None where it isn't what was stored, or is to another question."""
    when, charge, record, digest = row
    if not (isinstance(when, str) and isinstance(charge, int) and isinstance(record, bytes)):
        return None
    if digest != _digest(place, when, charge, record):
        return None
    try:
        text, noisy = decode(record)
    except (ValueError, LookupError, zlib.error):
        return None
    return Answer(noisy, dt.datetime.fromisoformat(when), charge) if text == question.text else None


def _digest(place: _Place, when: str, charge: int, record: bytes) -> bytes:
    asker, question = place
    head = f"{asker}\0{when}\0{charge}\0".encode("utf-8", "surrogatepass")
    return hashlib.sha256(head + question + record).digest()


def _drop_unused(connection: sqlite3.Connection) -> None:
    """Drop what was unused for longest until the rest fits: always of whoever has the most stored.

    So nobody's answers are dropped for what others ask: they would have to pay for them again, and could tell from that
    how much others ask.
    """
    while connection.execute("SELECT bytes FROM total").fetchone()[0] > MAX_BYTES:
        most = "SELECT asker FROM answer GROUP BY asker ORDER BY SUM(size) DESC LIMIT 1"
        unused = f"SELECT rowid FROM answer WHERE asker = ({most}) ORDER BY used LIMIT ?"
        connection.execute(f"DELETE FROM answer WHERE rowid IN ({unused})", (_DROPPED_AT_ONCE,))


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS
    )
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_format(connection: sqlite3.Connection) -> None:
    kind = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if (kind, version) != (_APPLICATION_ID, _FORMAT):
        raise Damaged(f"it is not a file of answers, or of another format: {kind:#x}, {version}")


# Before a fork the connections are closed while no thread is inside SQLite; parent and child open their own.

_open: weakref.WeakSet[Answers] = weakref.WeakSet()
_fork_lock = threading.Lock()
_held: list[Answers] = []


def _before_fork() -> None:
    _fork_lock.acquire()
    _held.extend(sorted(_open, key=id))
    for answers in _held:
        answers._lock.acquire()
        answers._disconnect()


def _after_fork() -> None:
    while _held:
        _held.pop()._lock.release()
    _fork_lock.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
