"""The ledger: the durable record of what was charged, and with it the budget.

The file is the budget. Every charge in it counts, whatever policy, table, data version or process wrote it;
the limits come from the policy that is in force when a query is charged. Charges are only ever added: there
is no refund and no deletion, not for errors, cancelled queries, rolled back transactions or crashes, because
a refund would tell what went wrong.

Privacy: `Ledger.charge` returns only after the charge is durable (synced), and a query reads private rows
only after it returned. So at any instant, also after `kill -9` or a power cut, the charges in the file are at
least those of the answers given, and their sum, by composition, bounds the privacy loss. If the ledger is
absent, damaged, older than its head, read-only or the disk is full, `charge` raises LedgerError and nothing
is read: it fails closed, free.

A query that fails after its charge (a timeout, no memory) tells that it failed, which may depend on private
values: at most one bit that no charge pays for. So such a failure is a record too, in the same chain, and an
analyst with `MAX_FAILURES` of them is refused until the owner has looked and unlocks them (`reading`, `failures`,
`unlock`). Queries that were charged before the last of these failures still end: the bits are at most MAX_FAILURES
and one for each query then under way. Those of a process that is killed are recorded when the ledger is opened
next, see under_way.py.

What it does not do: the head notices that an older copy of the ledger was put back, but not if ledger *and*
head were; and who may write the files can forge them. Both files need a local disk: SQLite's log and flock do
not work on NFS.

To back up while it is in use: copy the head first, then the ledger with SQLite's `.backup`; so the head is
never ahead.
"""

from __future__ import annotations

import datetime as dt
import logging
import os
import unicodedata
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from types import TracebackType

from dpsql.errors import Error, InvalidParameter, LedgerError
from dpsql.ledger import store
from dpsql.ledger.export import charges_csv, charges_json
from dpsql.ledger.faults import faults
from dpsql.ledger.limits import MAX_FAILURES, Remaining, check_entitled, check_unlocked
from dpsql.ledger.record import Charge, Failure, Record, Unlock, storable
from dpsql.ledger.under_way import collect
from dpsql.ledger.writer import WantedCharge, WantedFailure, WantedUnlock, Writer, left
from dpsql.policy import Budget
from dpsql.privacy.loss import PrivacyLoss

__all__ = [
    "MAX_FAILURES",
    "Charge",
    "Failure",
    "Ledger",
    "Receipt",
    "Remaining",
    "Totals",
    "Unlock",
    "charges_csv",
    "charges_json",
]

_LONGEST_ANALYST = 200
_LARGEST_CHARGE = 10**40
_YEARS = range(1970, 9000)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of a durable charge.

    Its number in the ledger, the loss as charged (rounded up to units), its time (UTC), what it left the
    analyst.
    """

    number: int
    loss: PrivacyLoss
    time: dt.datetime
    remaining: Remaining


@dataclass(frozen=True, slots=True)
class Totals:
    """All that was ever charged: how many charges, their sum, and the sum of each analyst, by name.

    `failures`: how many each analyst has since the last unlock, of those who have any; who has MAX_FAILURES is locked.
    """

    count: int
    everyone: PrivacyLoss
    analysts: dict[str, PrivacyLoss]
    failures: dict[str, int]


class Ledger:
    """An open ledger. Any number of threads may use one, and any number of processes may have the same file
    open.

    Made by `create` or `open`; a context manager. A ledger that is open when the process forks serves both.
    """

    def __init__(self, path: Path) -> None:
        """Not for callers: `create` and `open` check the file."""
        self._path = path
        self._writer = Writer(path)
        self._genesis = ""
        self._finalizer = weakref.finalize(self, self._writer.close)

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Ledger:
        """Make an empty ledger and open it.

        Raises LedgerError where there is one already, or where only the head of a ledger that was charged is
        left.
        """
        place = _resolved(path)
        with faults(place):
            store.create(place)
        return cls.open(place)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Open the ledger at `path` and check every record in it.

        Raises LedgerError: absent, damaged, older than its head, read-only.
        """
        ledger = cls(_resolved(path))
        try:
            ledger._genesis = ledger._writer.read(_checked_genesis)  # the long check: keeps no other process waiting
            ledger._writer.probe()
            ledger._collect()
        except BaseException:
            ledger.close()
            raise
        return ledger

    @property
    def path(self) -> Path:
        """Where the file is, symbolic links resolved."""
        return self._path

    @property
    def identity(self) -> str:
        """What tells this ledger from every other, for as long as it exists: 64 random hexadecimal digits.

        Who may not read the file can't guess them. Raises LedgerError.
        """
        return self._writer.read(_checked_genesis)

    def charge(
        self, loss: PrivacyLoss, *, analyst: str, budget: Budget, query: str, now: dt.datetime | None = None
    ) -> Receipt:
        """Charge `loss` to `analyst`, durably, if `budget` leaves that much: before any row is read.

        `query` is the SQL text, for the record; `now` is the present moment (default: the clock) and needs a
        time zone.

        Raises BudgetExhausted, AnalystLocked and InvalidParameter: nothing was charged. Raises LedgerError:
        nothing may be answered, and in rare cases (a disk that fails during the commit) the charge stands; so
        it may where Ctrl-C interrupts the wait.
        """
        units = (loss.epsilon_units, loss.delta_units)
        if not any(units):
            raise InvalidParameter("a charge needs a privacy loss greater than 0")
        if max(units) > _LARGEST_CHARGE:
            raise InvalidParameter("the privacy loss is too large for the ledger", hint="ask for less epsilon")
        wanted = WantedCharge(units, _analyst(analyst), budget, storable(query), _version(), _moment(now))
        if not self._writer.under_way.is_prepared:  # the process may be one of many that are forked and die
            self._collect()
        with faults(self._path):
            self._writer.under_way.prepare(self._genesis)
        charge, remaining = self._writer.charge(wanted)
        return Receipt(charge.number, charge.loss, charge.time, remaining)

    @contextmanager
    def reading(self, charge: Receipt, analyst: str) -> Iterator[None]:
        """Private rows are read for this charge in here, and only here.

        Whatever ends it but its own end (an error, Ctrl-C, the death of the process) is a failure of the analyst's.
        Raises LedgerError, before anything is read.
        """
        under_way = self._writer.under_way
        with faults(self._path):
            place = under_way.begin(charge.number)
        try:
            yield
        except BaseException:
            try:
                self.record_failure(charge, analyst)
            except Error:  # the note stays: whoever opens the ledger next records it
                logging.getLogger("dpsql").error("the failure of charge %s could not be recorded", charge.number)
            else:
                under_way.end(place)
            raise
        under_way.end(place)

    def _collect(self) -> None:
        """Record the failures of processes that died while they read private rows."""

        def record(number: int) -> None:
            analyst = self._writer.read(lambda file: file.charged(number))
            if analyst is not None:
                self.record_failure(number, analyst)

        with faults(self._path):
            collect(self._path, self._genesis, record)

    def record_failure(self, charge: Receipt | int, analyst: str, *, now: dt.datetime | None = None) -> None:
        """Note, durably, that the query of this charge failed after it. `charge` is its receipt or number.

        Raises InvalidParameter, LedgerError: it may not be noted.
        """
        number = charge.number if isinstance(charge, Receipt) else charge
        self._writer.record(WantedFailure(number, _analyst(analyst), _version(), _moment(now)))

    def failures(self, analyst: str) -> int:
        """How many of the analyst's queries failed after their charge since the last unlock. Raises LedgerError."""
        name = _analyst(analyst)

        def task(file: store.Store) -> int:
            file.refresh()
            return file.state.failed(name)

        return self._writer.read(task)

    def unlock(self, analyst: str, *, now: dt.datetime | None = None) -> None:
        """Let the analyst's failures so far count no more: only for the owner, who has looked into them.

        Raises InvalidParameter for an analyst without failures (a misspelt name), LedgerError.
        """
        self._writer.record(WantedUnlock(_analyst(analyst), _version(), _moment(now)))

    def remaining(self, analyst: str, budget: Budget, *, now: dt.datetime | None = None) -> Remaining:
        """What `budget` leaves `analyst` now. Free; raises as `charge` does, but for BudgetExhausted and
        AnalystLocked.
        """
        name, moment = _analyst(analyst), _moment(now)

        def task(file: store.Store) -> Remaining:
            file.refresh()
            return left(budget, name, file.state, moment)

        return self._writer.read(task)

    def admit(self, analyst: str, budget: Budget, *, now: dt.datetime | None = None) -> Remaining:
        """What `budget` leaves an analyst who wants an answer that was paid for before: also where nothing is left.

        Raises AnalystLocked, and BudgetExhausted for an analyst whom the policy gives no budget at all; else as
        `remaining`.
        """
        name, moment = _analyst(analyst), _moment(now)
        check_entitled(name, budget)

        def task(file: store.Store) -> Remaining:
            file.refresh()
            check_unlocked(name, file.state.failed(name))
            return left(budget, name, file.state, moment)

        return self._writer.read(task)

    def charges(self, analyst: str | None = None, since: dt.datetime | None = None) -> Iterator[Charge]:
        """The charges in their order, each checked against the chain: all, or those of an analyst, or since a
        moment.

        Raises LedgerError, also midway.
        """
        for record in self._records(analyst, since):
            if isinstance(record, Charge):
                yield record

    def events(self, analyst: str | None = None, since: dt.datetime | None = None) -> Iterator[Failure | Unlock]:
        """The failures and unlocks, as `charges` gives the charges. For the owner."""
        for record in self._records(analyst, since):
            if not isinstance(record, Charge):
                yield record

    def _records(self, analyst: str | None, since: dt.datetime | None) -> Iterator[Record]:
        name = None if analyst is None else _analyst(analyst)
        moment = None if since is None else _moment(since)
        number, digest = 0, self._writer.read(_checked_genesis)
        while page := self._writer.read(lambda file: file.records(number, digest)):  # noqa: B023 - runs at once
            number, digest = page[-1].number, page[-1].hash
            for record in page:
                if (name is None or record.analyst == name) and (moment is None or record.time >= moment):
                    yield record

    def totals(self) -> Totals:
        """The sums of all charges, of all time. Raises LedgerError."""

        def task(file: store.Store) -> Totals:
            file.refresh()
            state = file.state
            analysts = {name: tally.total for name, tally in sorted(state.analysts.items())}
            failures = {name: count for name, count in sorted(state.failures.items()) if count}
            return Totals(state.charges, state.everyone.total, analysts, failures)

        return self._writer.read(task)

    def close(self) -> None:
        """Close the ledger; charges that are under way are finished. Closing twice is fine."""
        self._finalizer()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _checked_genesis(file: store.Store) -> str:
    file.refresh()
    return file.genesis


def _resolved(path: str | os.PathLike[str]) -> Path:
    """One name for one file: two names would have two heads."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        hint = "correct `ledger` in the policy"
        raise LedgerError("the path of the ledger can't be used", hint=hint) from None


def _analyst(name: str) -> str:
    """The name in Unicode's form NFC, so that it can't be written in two ways. Raises InvalidParameter."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidParameter("the analyst has no name", hint="name the analyst with analyst= or --as")
    name = unicodedata.normalize("NFC", name)
    if len(name) > _LONGEST_ANALYST:
        raise InvalidParameter(f"the analyst's name has more than {_LONGEST_ANALYST} characters")
    if name == "*" or any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in name):
        raise InvalidParameter(
            "the analyst's name is * or holds a control character",
            hint="name the analyst with letters and digits",
        )
    return name


def _moment(now: dt.datetime | None) -> dt.datetime:
    if now is None:
        return dt.datetime.now(dt.UTC)
    if now.tzinfo is None:
        raise InvalidParameter("a time without a time zone was given", hint="give a datetime in UTC")
    try:
        moment = now.astimezone(dt.UTC)
    except OverflowError:
        moment = dt.datetime.min
    if moment.year not in _YEARS:
        raise InvalidParameter(f"the time lies outside of the years {_YEARS.start} to {_YEARS.stop - 1}")
    return moment


@cache
def _version() -> str:
    try:
        return metadata.version("dpsql")
    except metadata.PackageNotFoundError:
        return "unknown"
