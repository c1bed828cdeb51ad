"""Statements that are no queries, as values. `commands` reads them; nothing of them reaches an engine."""

from __future__ import annotations

from dataclasses import dataclass

from dpsql.wire.copying import Form

ALL = 1 << 62
"""How many rows `FETCH ALL` wants."""


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN, START TRANSACTION."""


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT, END."""

    chain: bool = False


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK, ABORT."""

    chain: bool = False


@dataclass(frozen=True, slots=True)
class Savepoint:
    """SAVEPOINT name."""

    name: str


@dataclass(frozen=True, slots=True)
class Release:
    """RELEASE name."""

    name: str


@dataclass(frozen=True, slots=True)
class RollbackTo:
    """ROLLBACK TO name."""

    name: str


@dataclass(frozen=True, slots=True)
class Set:
    """SET name = value; None: DEFAULT."""

    name: str
    value: str | None
    local: bool = False


@dataclass(frozen=True, slots=True)
class SetTransaction:
    """SET TRANSACTION …, SET SESSION CHARACTERISTICS …: there is but one kind of transaction."""


@dataclass(frozen=True, slots=True)
class Reset:
    """RESET name; None: ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW name; None: ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Discard:
    """DISCARD ALL, PLANS, TEMP, SEQUENCES."""

    what: str


@dataclass(frozen=True, slots=True)
class Deallocate:
    """DEALLOCATE name; None: ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Declare:
    """DECLARE name CURSOR FOR query. `start` is where the query begins."""

    name: str
    query: str
    start: int
    binary: bool = False
    hold: bool = False


@dataclass(frozen=True, slots=True)
class Fetch:
    """FETCH or MOVE: `count` rows further, or to row `count` (absolute), of a cursor."""

    name: str
    count: int
    move: bool = False
    absolute: bool = False


@dataclass(frozen=True, slots=True)
class CloseCursor:
    """CLOSE name; None: ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Copy:
    """COPY (query) TO STDOUT. `start` is where the query begins."""

    query: str
    start: int
    form: Form


@dataclass(frozen=True, slots=True)
class Nothing:
    """UNLISTEN: there is nothing to stop."""

    tag: str


Utility = (
    Begin | Commit | Rollback | Savepoint | Release | RollbackTo | Set | SetTransaction | Reset | Show | Discard
    | Deallocate | Declare | Fetch | CloseCursor | Copy | Nothing
)  # fmt: skip
