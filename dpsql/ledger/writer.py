"""The thread that writes records: all requests that wait are committed together, with one sync.

It is a thread of its own because Ctrl-C reaches only the main thread: a commit is never cut in half by it. It
takes the lock between processes first and the lock between threads second, so readers never wait for another
process.

Forks: before a fork the connection is closed while no thread is inside SQLite; afterwards parent and child
each open their own when they next need one. The child starts without thread, requests and head: those are the
parent's.
"""

from __future__ import annotations

import datetime as dt
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from dpsql.errors import (
    AnalystLocked,
    BudgetExhausted,
    Error,
    InterfaceError,
    InternalError,
    InvalidParameter,
    LedgerError,
)
from dpsql.ledger.faults import faults
from dpsql.ledger.head import Head, HeadLock, head_path
from dpsql.ledger.limits import Remaining, Standings, check, check_unlocked, remaining, standings
from dpsql.ledger.record import Charge, Failure, Record, Unlock, sealed
from dpsql.ledger.store import State, Store
from dpsql.ledger.under_way import UnderWay
from dpsql.policy import Budget

T = TypeVar("T")
PATIENCE = 30.0
"""Seconds that a caller waits for its record before it gives up."""
_FAREWELL = 5.0
"""Seconds that `close` waits for records under way: they are waited for by their callers already."""
_LARGEST_BATCH = 256


def _locked() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(frozen=True, slots=True)
class WantedCharge:
    """A charge that an analyst asks for."""

    units: tuple[int, int]
    """ε in 1e-9 and δ in 1e-18, rounded up."""
    analyst: str
    budget: Budget
    query: str
    version: str
    now: dt.datetime


@dataclass(frozen=True, slots=True)
class WantedFailure:
    """The failure of a charged query. It is written also when its caller has given up waiting."""

    charge: int
    analyst: str
    version: str
    now: dt.datetime


@dataclass(frozen=True, slots=True)
class WantedUnlock:
    """The owner's wish to let an analyst go on."""

    analyst: str
    version: str
    now: dt.datetime


Wanted = WantedCharge | WantedFailure | WantedUnlock


@dataclass(slots=True)
class _Request:
    """A record that waits (None: only check that the ledger can be written), and what became of it."""

    wanted: Wanted | None
    answered: threading.Lock = field(default_factory=_locked)
    given_up: bool = False
    record: Record | None = None
    left: Standings | None = None
    error: Error | None = None


class Writer:
    """The store of one ledger, its locks and its thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._store = Store(path)
        self.under_way = UnderWay(path)
        self._reset()
        with _fork_lock:
            _writers.add(self)

    def _reset(self) -> None:
        self._head = HeadLock(head_path(self._path))
        self._store_lock = threading.Lock()
        self._lock = threading.Lock()
        self._requests: SimpleQueue[_Request | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def read(self, task: Callable[[Store], T]) -> T:
        """Run `task` while no other thread uses the store."""
        with self._store_lock, faults(self._path):
            if self._closed:
                raise InterfaceError("the ledger is closed")
            return task(self._store)

    def probe(self) -> None:
        """Check that the ledger could be charged. Raises LedgerError."""
        self._wait_for(_Request(None))

    def charge(self, wanted: WantedCharge) -> tuple[Charge, Remaining]:
        """The durable charge and what it left. Raises BudgetExhausted, AnalystLocked, LedgerError."""
        request = _Request(wanted)
        self._wait_for(request)
        assert isinstance(request.record, Charge) and request.left is not None
        return request.record, remaining(request.left)

    def record(self, wanted: WantedFailure | WantedUnlock) -> None:
        """Write a durable record that charges nothing. Raises InvalidParameter, LedgerError."""
        self._wait_for(_Request(wanted))

    def _wait_for(self, request: _Request) -> None:
        with self._lock:
            if self._closed:
                raise InterfaceError("the ledger is closed")
            if self._thread is None:
                self._thread = self._start()
            self._requests.put(request)
        if not request.answered.acquire(timeout=PATIENCE):
            request.given_up = not isinstance(request.wanted, WantedFailure)
            raise LedgerError(
                f"the ledger {self._path.name} was locked by another process for {PATIENCE:.0f} s",
                hint="look for a stopped process that uses this ledger",
            )
        if request.error is not None:
            raise request.error

    def _start(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, name="dpsql-ledger", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            hint = "raise the limit on threads, or try again"
            raise LedgerError("the ledger could not start a thread", hint=hint) from None
        return thread

    def close(self) -> None:
        """Write what waits, then close the file. What is asked for later is refused."""
        with self._lock:
            self._closed = True
            thread = self._thread
            self._requests.put(None)
        if thread is None:
            self._let_go()
        elif thread is not threading.current_thread():  # garbage is collected in any thread
            thread.join(_FAREWELL)

    def _let_go(self) -> None:
        with self._store_lock:
            self._store.close()
        self._head.close()
        self.under_way.close()

    # In the thread.

    def _run(self) -> None:
        while (first := self._requests.get()) is not None:
            batch = [first]
            try:
                self._write(batch)
            except Error as error:
                _fail(batch, error)
            except BaseException:  # noqa: BLE001 - the thread must live on, and no caller may wait for ever
                _fail(batch, InternalError("the ledger failed unexpectedly; nothing is answered"))
            for request in batch:
                request.answered.release()
        self._let_go()

    def _write(self, batch: list[_Request]) -> None:
        """Answer the batch, to which all is added that waits by the time that the lock is ours."""
        with faults(self._path), self._head.held():
            self._gather(batch)
            with self._store_lock:
                self._write_locked([request for request in batch if not request.given_up])

    def _gather(self, batch: list[_Request]) -> None:
        with suppress(Empty):
            while len(batch) < _LARGEST_BATCH:
                request = self._requests.get_nowait()
                if request is None:
                    self._requests.put(None)  # the end: for `_run` to see
                    return
                batch.append(request)

    def _write_locked(self, batch: Sequence[_Request]) -> None:
        """The transaction: see the protocol in head.py."""
        head = self._head.read()
        self._store.begin(head)
        state = self._store.state
        draft = state.draft()
        try:
            if head.count < state.count:  # someone died before writing it; if this fails too: no record
                self._head.write(Head(state.count, state.hash))
            if any(request.wanted is None for request in batch):
                self._store.touch()
            records = [record for request in batch if (record := _decide(request, draft)) is not None]
        except BaseException:
            self._store.abandon()
            raise
        if not records:
            self._store.abandon()
            return
        self._store.write(records)
        state.adopt(draft)
        self._head.write(Head(state.count, state.hash))


def _fail(batch: Sequence[_Request], error: Error) -> None:
    for request in batch:  # an error of its own for each thread that will raise it
        request.error = type(error)(error.message, hint=error.hint)


def _decide(request: _Request, draft: State) -> Record | None:
    """Add the record to the draft if it may be written; else note in the request why not."""
    wanted = request.wanted
    if wanted is None:
        return None
    time = max(wanted.now, draft.newest)  # a clock that went back is read as the newest record's time
    record: Record
    try:
        match wanted:
            case WantedCharge():
                record, request.left = _charge(wanted, draft, time)
            case WantedFailure():
                record = _failure(wanted, draft, time)
            case WantedUnlock():  # pragma: no branch - there is no other kind
                record = _unlock(wanted, draft, time)
    except (AnalystLocked, BudgetExhausted, InvalidParameter) as refused:
        request.error = refused
        return None
    draft.add(record)
    request.record = record
    return record


def _charge(wanted: WantedCharge, draft: State, time: dt.datetime) -> tuple[Charge, Standings]:
    """The next charge, if analyst and budget allow it, and what it leaves."""
    units, analyst = wanted.units, wanted.analyst
    check_unlocked(analyst, draft.failed(analyst))
    limits = _limits(wanted.budget, analyst, draft, time)
    check(*units, analyst, limits)
    charge = Charge(draft.count + 1, time, analyst, *units, wanted.query, wanted.version, "")
    return sealed(charge, draft.hash), (limits[0].less(*units), limits[1].less(*units))


def _failure(wanted: WantedFailure, draft: State, time: dt.datetime) -> Failure:
    if not 0 < wanted.charge <= draft.count:
        raise InvalidParameter(f"the ledger has no charge {wanted.charge}")
    failure = Failure(draft.count + 1, time, wanted.analyst, wanted.charge, wanted.version, "")
    return sealed(failure, draft.hash)


def _unlock(wanted: WantedUnlock, draft: State, time: dt.datetime) -> Unlock:
    if not draft.failed(wanted.analyst):
        raise InvalidParameter(
            f"the analyst {wanted.analyst} has no failures since the last unlock",
            hint="check the name: dpsql budget CONFIG lists who is locked",
        )
    return sealed(Unlock(draft.count + 1, time, wanted.analyst, wanted.version, ""), draft.hash)


def left(budget: Budget, analyst: str, state: State, now: dt.datetime) -> Remaining:
    """What the budget leaves the analyst at `now`, or at the newest record's time if that is later."""
    return remaining(_limits(budget, analyst, state, max(now, state.newest)))


def _limits(budget: Budget, analyst: str, state: State, time: dt.datetime) -> Standings:
    return standings(budget, analyst, state.everyone, state.of(analyst), time.date())


_writers: weakref.WeakSet[Writer] = weakref.WeakSet()
_fork_lock = threading.Lock()
_held: list[Writer] = []


def _before_fork() -> None:
    _fork_lock.acquire()
    _held.extend(sorted(_writers, key=id))
    for writer in _held:
        writer._store_lock.acquire()
        writer._store.close()
        writer.under_way.lock.acquire()


def _after_fork_in_parent() -> None:
    while _held:
        writer = _held.pop()
        writer.under_way.lock.release()
        writer._store_lock.release()
    _fork_lock.release()


def _after_fork_in_child() -> None:  # pragma: no cover - runs in the child, see test_forks
    global _fork_lock
    for writer in _held:
        closed = writer._closed
        writer._head.close()
        writer.under_way.abandon()
        writer._reset()
        writer._closed = closed
    _held.clear()
    _fork_lock = threading.Lock()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
