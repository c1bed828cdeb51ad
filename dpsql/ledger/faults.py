"""Every fault of file or database becomes a LedgerError: nothing is answered, no text of SQLite's leaves."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, ENOSPC, EROFS
from pathlib import Path

from dpsql.errors import LedgerError
from dpsql.ledger.head import HeadMissing, head_path, read_head
from dpsql.ledger.record import Damaged
from dpsql.ledger.store import LedgerAbsent, LedgerExists, Replaced

_log = logging.getLogger("dpsql.ledger")
_log.addHandler(logging.NullHandler())  # silent until the operator asks
_CREATE = "dpsql budget CONFIG --create"
_RESTORE = "put back the newest copies of the ledger and its head, made at the same time"

_SQLITE = {
    "SQLITE_FULL": ("can't be written: the disk is full", "make room on the disk"),
    "SQLITE_READONLY": ("can't be written: it is read-only", "make the ledger and its directory writable"),
    "SQLITE_CANTOPEN": ("can't be opened", "make the ledger and its directory readable and writable"),
    "SQLITE_PERM": ("can't be opened", "make the ledger and its directory readable and writable"),
    "SQLITE_BUSY": ("is locked by another program", "close the other program that has the ledger open"),
    "SQLITE_CORRUPT": ("is damaged", _RESTORE),
    "SQLITE_NOTADB": ("is damaged: it is not an SQLite file", _RESTORE),
}
_CAUSES = (
    *(sqlite3.Error, UnicodeDecodeError, OSError),  # SQLite tells of a spoilt name in bytes that may be no text
    *(LedgerAbsent, LedgerExists, HeadMissing, Damaged, Replaced),
)


@contextmanager
def faults(path: Path) -> Iterator[None]:
    """Turn what may go wrong with the ledger at `path` into LedgerError. The log gets the cause."""
    try:
        yield
    except _CAUSES as cause:
        what, hint = _explanation(cause, path)
        _log.error("ledger %s: %s (%s: %s)", path, what, type(cause).__name__, cause)
        raise LedgerError(f"the ledger {path.name} {what}", hint=hint) from None


def _explanation(cause: Exception, path: Path) -> tuple[str, str]:
    match cause:
        case LedgerAbsent() | LedgerExists() | Damaged() if not path.exists() and was_charged(path):
            return "does not exist, but it was charged", _begin_anew(path)
        case HeadMissing() if path.exists():
            return f"has lost its head, the file {head_path(path).name}", _RESTORE
        case LedgerAbsent() | HeadMissing():
            return "does not exist", f"make it once with: {_CREATE}"
        case LedgerExists():
            return "exists, or existed and was charged", "a ledger is made once; its charges stand for good"
        case Damaged():
            return f"is refused: {cause}", _RESTORE
        case Replaced():
            return "was replaced by another file while it was open", "try again: the new file is then checked"
        case UnicodeDecodeError():
            return _SQLITE["SQLITE_CORRUPT"]
        case sqlite3.Error():
            return _of_sqlite(cause)
    return _of_system(cause)


def was_charged(path: Path) -> bool:
    """Whether the head knows of charges, or can't be read."""
    try:
        return read_head(head_path(path)).count > 0
    except HeadMissing:
        return False
    except (Damaged, OSError):
        return True


def _begin_anew(path: Path) -> str:
    return (
        f"the head {head_path(path).name} of a charged ledger is still there: restore the ledger from a backup; "
        "to begin anew, which forgets earlier charges, remove the head"
    )


def _of_sqlite(cause: sqlite3.Error) -> tuple[str, str]:
    name = getattr(cause, "sqlite_errorname", "") or ""
    for kind, explanation in _SQLITE.items():
        if name.startswith(kind):
            return explanation
    return "can't be read or written", "look at the operator's log, the disk and the file's permissions"


def _of_system(cause: Exception) -> tuple[str, str]:
    number = getattr(cause, "errno", None)
    if number in (ENOSPC, EDQUOT, EFBIG):
        return _SQLITE["SQLITE_FULL"]
    if number == EROFS or isinstance(cause, PermissionError):
        return _SQLITE["SQLITE_READONLY"]
    return "can't be read or written", "look at the operator's log, the disk and the file's permissions"
