"""The records of a ledger (charges, failures, unlocks), and the hash that ties each to all before it.

hash(n) = SHA-256(JSON of [hash(n - 1), every other column of row n]), and hash(0) comes from the ledger's
random id. So the hash of the last record vouches for every record: no row can be edited, taken out, put in or
swapped, nor can a row of another ledger be used, without changing it. The hash has no key: it finds accidents
and clumsy edits, not a forger who may write both files and recomputes them.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from dpsql.privacy.loss import PrivacyLoss

LONGEST_QUERY = 10_000
"""Characters of the SQL text that a charge keeps."""
COLUMNS = ("number", "time", "kind", "analyst", "epsilon", "delta", "query", "charge", "version", "hash")
"""A row of the file. epsilon and delta are units as decimal text: a column of integers would end at 2**63."""
_NO_LOSS = ("0", "0", "")
"""epsilon, delta and query of a record that charges nothing."""
_LONGEST_UNITS = 64


class Damaged(Exception):
    """The file doesn't hold what a ledger holds. Never leaves this package: see faults.py."""


@dataclass(frozen=True, slots=True)
class Charge:
    """One deduction from the budget, as it stands in the file.

    `epsilon_units` (1e-9) and `delta_units` (1e-18) are the loss, rounded up; `time` is UTC; `query` is the
    SQL text, cut after 10,000 characters; `version` is that of the dpsql which charged; `hash` ties it to the
    records before it. Numbers count all records, so those of charges may have gaps.
    """

    number: int
    time: dt.datetime
    analyst: str
    epsilon_units: int
    delta_units: int
    query: str
    version: str
    hash: str

    @property
    def loss(self) -> PrivacyLoss:
        """What was charged."""
        return PrivacyLoss.from_units(self.epsilon_units, self.delta_units)


@dataclass(frozen=True, slots=True)
class Failure:
    """A query that failed after it was charged. `charge` is the number of that charge."""

    number: int
    time: dt.datetime
    analyst: str
    charge: int
    version: str
    hash: str


@dataclass(frozen=True, slots=True)
class Unlock:
    """The owner looked at the analyst's failures: they count no more."""

    number: int
    time: dt.datetime
    analyst: str
    version: str
    hash: str


Record = Charge | Failure | Unlock
_R = TypeVar("_R", Charge, Failure, Unlock)


def genesis(ledger_id: str) -> str:
    """The hash before the first record."""
    return hashlib.sha256(b"dpsql ledger " + ledger_id.encode()).hexdigest()


def sealed(record: _R, previous: str) -> _R:
    """The record with its hash, as it follows the one with hash `previous`."""
    return replace(record, hash=_hash(previous, _fields(record)))


def to_row(record: Record) -> tuple[object, ...]:
    """The row of the file that holds the record."""
    return (*_fields(record), record.hash)


def from_row(row: Sequence[object], previous: str, number: int) -> Record:
    """The record that a row holds, if it has this number and follows the one with hash `previous`.

    Raises Damaged if not: the number, the hash or a type is wrong.
    """
    if row[0] != number or _hash(previous, row[:-1]) != row[-1]:
        raise Damaged(f"record {number} was edited, or records before it are missing")
    _, time, kind, analyst, epsilon, delta, query, charge, version, digest = row
    what = (number, _time(time), str(analyst))
    ends = (str(version), str(digest))
    if kind == "charge" and charge is None:
        return Charge(*what, _units(epsilon), _units(delta), str(query), *ends)
    if kind == "failure" and isinstance(charge, int) and 0 < charge < number and (epsilon, delta, query) == _NO_LOSS:
        return Failure(*what, charge, *ends)
    if kind == "unlock" and charge is None and (epsilon, delta, query) == _NO_LOSS:
        return Unlock(*what, *ends)
    raise Damaged(f"record {number} is neither a charge nor a failure nor an unlock")


def _fields(record: Record) -> tuple[object, ...]:
    """The row without the hash."""
    details: tuple[object, ...]
    match record:
        case Charge():
            kind, details = "charge", (str(record.epsilon_units), str(record.delta_units), record.query, None)
        case Failure():
            kind, details = "failure", (*_NO_LOSS, record.charge)
        case Unlock():  # pragma: no branch - there is no other kind
            kind, details = "unlock", (*_NO_LOSS, None)
    return (record.number, _time_text(record.time), kind, record.analyst, *details, record.version)


def storable(query: str) -> str:
    """The SQL text as the file keeps it: cut, and without the lone surrogates that UTF-8 can't write."""
    return query[:LONGEST_QUERY].encode("utf-8", "backslashreplace").decode("utf-8")


def _hash(previous: str, fields: Sequence[object]) -> str:
    try:
        return hashlib.sha256(json.dumps([previous, *fields]).encode()).hexdigest()
    except (TypeError, ValueError):  # a BLOB where text belongs
        raise Damaged("a record holds something else than numbers and text") from None


def _units(text: object) -> int:
    if not isinstance(text, str) or len(text) > _LONGEST_UNITS or not (text.isascii() and text.isdigit()):
        raise Damaged("a charge has an amount that is not a whole number of units")
    return int(text)


def _time_text(time: dt.datetime) -> str:
    return time.isoformat(timespec="microseconds")


def _time(text: object) -> dt.datetime:
    try:
        time = dt.datetime.fromisoformat(str(text))
    except ValueError:
        raise Damaged("a record has a time that can't be read") from None
    if time.tzinfo != dt.UTC:
        raise Damaged("a record has a time that is not UTC")
    return time
