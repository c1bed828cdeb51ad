"""One charge, and the hash that ties it to all charges before it.

hash(n) = SHA-256(JSON of [hash(n - 1), number, time, analyst, ε units, δ units, query, version]), and hash(0)
comes from the ledger's random id. So the hash of the last charge vouches for every charge: no row can be
edited, taken out, put in or swapped, nor can a row of another ledger be used, without changing it. The hash
has no key: it finds accidents and clumsy edits, not a forger who may write both files and recomputes them.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from dpsql.privacy.loss import PrivacyLoss

LONGEST_QUERY = 10_000
"""Characters of the SQL text that a charge keeps."""
COLUMNS = ("number", "time", "analyst", "epsilon", "delta", "query", "version", "hash")
"""A row of the file. epsilon and delta are units as decimal text: a column of integers would end at 2**63."""
_LONGEST_UNITS = 64


class Damaged(Exception):
    """The file doesn't hold what a ledger holds. Never leaves this package: see faults.py."""


@dataclass(frozen=True, slots=True)
class Charge:
    """One deduction from the budget, as it stands in the file.

    `epsilon_units` (1e-9) and `delta_units` (1e-18) are the loss, rounded up; `time` is UTC; `query` is the
    SQL text, cut after 10,000 characters; `version` is that of the dpsql which charged; `hash` ties it to the
    charges before it.
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


def genesis(ledger_id: str) -> str:
    """The hash before the first charge."""
    return hashlib.sha256(b"dpsql ledger " + ledger_id.encode()).hexdigest()


def new_charge(
    previous: str,
    *,
    number: int,
    time: dt.datetime,
    analyst: str,
    epsilon_units: int,
    delta_units: int,
    query: str,
    version: str,
) -> Charge:
    """The charge that follows the one with hash `previous`."""
    fields = (number, _time_text(time), analyst, str(epsilon_units), str(delta_units), query, version)
    return Charge(number, time, analyst, epsilon_units, delta_units, query, version, _hash(previous, fields))


def to_row(charge: Charge) -> tuple[object, ...]:
    """The row of the file that holds `charge`."""
    units = (str(charge.epsilon_units), str(charge.delta_units))
    time = _time_text(charge.time)
    return (charge.number, time, charge.analyst, *units, charge.query, charge.version, charge.hash)


def from_row(row: Sequence[object], previous: str, number: int) -> Charge:
    """The charge that a row holds, if it is charge `number` and follows the one with hash `previous`.

    Raises Damaged if not: the number, the hash or a type is wrong.
    """
    found, time, analyst, epsilon, delta, query, version, digest = row
    if found != number or _hash(previous, row[:-1]) != digest:
        raise Damaged(f"charge {number} was edited, or charges before it are missing")
    units = (_units(epsilon), _units(delta))
    return Charge(number, _time(time), str(analyst), *units, str(query), str(version), str(digest))


def storable(query: str) -> str:
    """The SQL text as the file keeps it: cut, and without the lone surrogates that UTF-8 can't write."""
    return query[:LONGEST_QUERY].encode("utf-8", "backslashreplace").decode("utf-8")


def _hash(previous: str, fields: Sequence[object]) -> str:
    try:
        return hashlib.sha256(json.dumps([previous, *fields]).encode()).hexdigest()
    except (TypeError, ValueError):  # a BLOB where text belongs
        raise Damaged("a charge holds something else than numbers and text") from None


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
        raise Damaged("a charge has a time that can't be read") from None
    if time.tzinfo != dt.UTC:
        raise Damaged("a charge has a time that is not UTC")
    return time
