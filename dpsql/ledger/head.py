"""The head: a small file beside the ledger that holds number and hash of the last record, and is the lock.

It is there to notice an older copy of the ledger: such a copy has fewer records than the head says, or
others.

Protocol. Whoever writes holds the lock (flock) from before the transaction begins until the head is written:

    lock → begin → read new records, compare with head → insert → COMMIT (durable) → write head → unlock

So the head never runs ahead of the ledger. A process that dies between COMMIT and the write leaves a head
that is behind; so may a power cut, since the head is not synced. A head that is behind is not a fault as long
as the ledger's chain passes through it (record number `count` has its `hash`): then the ledger holds all that
the head vouches for and more, and the next to write brings the head up to date before anything else. All
else is refused. The lock is the kernel's and goes with the process that holds it, so a killed process blocks
nobody.

The file is two lines of fixed length, written in turn and each with a check sum: a torn write spoils at most
the newer one, and the older one is behind but true.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dpsql.ledger.record import Damaged

_LINE = 128


@dataclass(frozen=True, slots=True)
class Head:
    """Number of records, and the hash of the last one."""

    count: int
    hash: str


class HeadMissing(Exception):
    """There is no head. Never leaves this package."""


def head_path(ledger: Path) -> Path:
    """Where the head of a ledger is."""
    return ledger.with_name(ledger.name + ".head")


def read_head(path: Path) -> Head:
    """The newest head that the file holds. Raises HeadMissing, Damaged, OSError."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise HeadMissing from None
    return _newest(raw)[1]


def first_head(head: Head) -> bytes:
    """The file of a new ledger: both lines."""
    return _encode(head) * 2


class HeadLock:
    """The head as the one thread that writes uses it: locked, read, written. Raises as `read_head`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._read: bytes = b""
        self._newest: tuple[int, Head] = (0, Head(0, ""))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock against other processes; waits as long as it takes."""
        file = self._acquire()
        try:
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)

    def read(self) -> Head:
        """The head as it stands."""
        raw = os.pread(self._opened(), 2 * _LINE + 1, 0)
        if raw != self._read:
            self._newest = _newest(raw)
            self._read = raw
        return self._newest[1]

    def write(self, head: Head) -> None:
        """Write `head` over the older of the two lines that `read` found."""
        line, data = 1 - self._newest[0], _encode(head)
        lines = [self._read[:_LINE], self._read[_LINE:]]
        lines[line] = data
        if os.pwrite(self._opened(), data, _LINE * line) != _LINE:
            raise OSError("short write")
        self._read, self._newest = b"".join(lines), (line, head)

    def close(self) -> None:
        """Let go of the file, and so of the lock if this process is the only one to hold the file."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                os.close(file)

    def _acquire(self) -> int:
        while True:
            file = self._opened()
            fcntl.flock(file, fcntl.LOCK_EX)
            if self._is_current(file):
                return file
            self.close()  # someone put another file in its place: lock that one

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._path))
        except FileNotFoundError:
            self.close()
            raise HeadMissing from None

    def _opened(self) -> int:
        if self._file is None:
            try:
                self._file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                raise HeadMissing from None
        return self._file


def _encode(head: Head) -> bytes:
    text = f"dpsql head 1 {head.count} {head.hash}"
    return f"{text} {zlib.crc32(text.encode()):08x}".ljust(_LINE - 1).encode() + b"\n"


def _decode(line: bytes) -> Head | None:
    """The head in one line, or None where the line is not exactly what `_encode` writes."""
    words = line.decode("ascii", "replace").split()
    if len(words) != 6 or len(words[3]) > 19 or not (words[3].isascii() and words[3].isdigit()):
        return None
    head = Head(int(words[3]), words[4])
    return head if _encode(head) == line else None


def _newest(raw: bytes) -> tuple[int, Head]:
    """The line that holds the newest head, and that head."""
    lines = [_decode(raw[:_LINE]), _decode(raw[_LINE:])]
    known = [(head.count, line, head) for line, head in enumerate(lines) if head is not None]
    if not known:
        raise Damaged("its head can't be read")
    _, line, head = max(known, key=lambda each: each[:2])
    return line, head
