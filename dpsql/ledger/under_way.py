"""The charges for which private rows are being read right now, so that a process that dies meanwhile is noticed.

A process that is killed (no memory, `kill -9`) can't record that its query failed, and that it was killed may depend on
private rows. So each process that charges has a small file beside the ledger, locked for as long as it lives. The
number of a charge stands in it from before the first row is read until the noisy rows are there or the failure is
recorded. Whoever opens the ledger looks at these files: one that nobody holds locked was left by a process that is
gone, and each number in it is a failure.

Nothing is synced: what a process has written outlives it, since the kernel has it. After a power cut a number may be
missing, or may be there though its query was answered: then a failure is counted too many, and the owner can unlock.

The lock is the kernel's, as that of the head, and goes with the process, and with the children that it forks: these
close the file at once.
"""

from __future__ import annotations

import fcntl
import glob
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_SLOT = 8
_DIGITS = 16
"""Of a file's name: no other name, such as another ledger's, is taken for one."""
_HEADER = 64
"""The genesis hash of the ledger: numbers in a file of another one mean nothing here."""


class UnderWay:
    """The file of this process, made when it is first needed. For many threads. Raises OSError."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self.reset()

    def reset(self) -> None:
        """Begin anew without the file, which is another process's: this one was forked from it."""
        self.lock = threading.Lock()  # held over a fork, so that the child knows of each file that it got
        self._path: Path | None = None
        self._file: int | None = None
        self._slots: list[int] = []

    @property
    def is_prepared(self) -> bool:
        """Whether this process has its file."""
        return self._file is not None

    def prepare(self, genesis: str) -> None:
        """Make the file, before anything is charged: if it can't be made, that costs nothing."""
        with self.lock:
            while self._file is None:
                self._make(genesis)

    def _make(self, genesis: str) -> None:
        path = self._ledger.with_name(f"{self._ledger.name}.open-{secrets.token_hex(_DIGITS // 2)}")
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_named(file, path):  # else someone took it for a dead process's before it was locked
                os.pwrite(file, genesis.encode(), 0)
                self._path, self._file = path, file
        finally:
            if self._file is None:
                os.close(file)

    def begin(self, charge: int) -> int:
        """Note that rows are about to be read for a charge; returns the place, for `end`."""
        with self.lock:
            assert self._file is not None
            place = self._slots.index(0) if 0 in self._slots else len(self._slots)
            if os.pwrite(self._file, charge.to_bytes(_SLOT), _HEADER + _SLOT * place) != _SLOT:
                raise OSError("short write")
            self._slots[place : place + 1] = [charge]
            return place

    def end(self, place: int) -> None:
        """Note that they were read, or that the failure is recorded."""
        with self.lock:
            if self._file is not None:
                os.pwrite(self._file, bytes(_SLOT), _HEADER + _SLOT * place)
                self._slots[place] = 0

    def close(self) -> None:
        """Let the file go, and remove it unless a number still stands in it."""
        with self.lock:
            path, file = self._path, self._file
            self._path = self._file = None
            if path is None or file is None:
                return
            with suppress(OSError):
                if not any(self._slots):
                    path.unlink()
            os.close(file)

    def abandon(self) -> None:
        """In a forked child: close the parent's file, whose lock stays the parent's."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
        self.reset()


def collect(ledger: Path, genesis: str, record: Callable[[int], None]) -> None:
    """Hand on each charge that a process which is gone was reading for, and remove its file once they are recorded."""
    for name in sorted(glob.glob(f"{glob.escape(str(ledger))}.open-{'[0-9a-f]' * _DIGITS}")):
        path = Path(name)
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_named(file, path):
                    for charge in _charges(os.pread(file, os.fstat(file).st_size, 0), genesis):
                        record(charge)
                    path.unlink()
        finally:
            os.close(file)


def _charges(raw: bytes, genesis: str) -> list[int]:
    if raw[:_HEADER] != genesis.encode():
        return []
    numbers = (int.from_bytes(raw[i : i + _SLOT]) for i in range(_HEADER, len(raw), _SLOT))
    return [number for number in numbers if number]


def _is_named(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False
