"""`dpsql budget`: the ledger's charges and what is left of the budget."""

from __future__ import annotations

import argparse
import io
import math
import unicodedata
from collections import deque
from collections.abc import Iterator
from fractions import Fraction

from dpsql.answers import Answers, answers_path
from dpsql.cli.errors import OK
from dpsql.cli.output import Output
from dpsql.ledger import MAX_FAILURES, Charge, Failure, Ledger, Totals, charges_csv, charges_json
from dpsql.policy import Budget, Limit, Policy, load
from dpsql.privacy.loss import DELTA_PLACES, PrivacyLoss, decimal_text
from dpsql.table import Head, Style, table

_LONGEST_QUERY = 60
LAST = 20
"""Charges in a table, unless it is said how many."""
_NOTHING = PrivacyLoss(Fraction(0))


def budget(arguments: argparse.Namespace) -> int:
    """Make the ledger, or show it."""
    policy = load(arguments.config)
    with Output(arguments.output) as output:
        if arguments.create:
            Ledger.create(policy.ledger).close()
            output.write(f"made the ledger {policy.ledger.name}: no charges yet\n")
            return OK
        with Ledger.open(policy.ledger) as ledger:
            if arguments.unlock is not None:
                ledger.unlock(arguments.unlock)
                output.write(f"unlocked {arguments.unlock}: the failures so far count no more\n")
                return OK
            output.write(_shown(arguments, policy, ledger, output.style))
    return OK


def _shown(arguments: argparse.Namespace, policy: Policy, ledger: Ledger, style: Style) -> str:
    charges = ledger.charges(arguments.analyst)
    if arguments.format != "table":
        if arguments.last is not None:
            charges = iter(deque(charges, maxlen=arguments.last))
        file = io.StringIO()
        (charges_csv if arguments.format == "csv" else charges_json)(charges, file)
        return file.getvalue()
    return "\n".join(
        part
        for part in (
            budget_table(policy, ledger, style, arguments.analyst),
            _charges(charges, LAST if arguments.last is None else arguments.last, style),
            _failures(ledger, arguments.analyst, style),
            "" if arguments.analyst else _stored(ledger),
        )
        if part
    )


# ---------------------------------------------------------------------------------------------- limits


def budget_table(
    policy: Policy, ledger: Ledger | None, style: Style, only: str | None = None, *, nothing_charged: bool = False
) -> str:
    """Each limit, what was charged under it in all, what it leaves now; of `only` one analyst, named in the policy or
    not. Without a ledger the limits alone, and that nothing was charged where this is known.
    """
    totals = Totals(0, _NOTHING, {}, {}) if ledger is None else ledger.totals()
    if only is not None:
        only = unicodedata.normalize("NFC", only)
    limits = [row for row in _rows(policy.budget, ledger, totals, only) if only in (None, row.who)]
    if ledger is None and not nothing_charged:
        for row in limits:
            row.charged = None
    with_delta = any(row.limit.delta is not None for row in limits)
    heads = [
        Head("who"),
        Head("ε limit", True),
        Head("per"),
        Head("ε charged in all", True),
        Head("ε left", True),
    ]
    if with_delta:
        heads.insert(4, Head("δ charged in all", True))
        heads.insert(2, Head("δ limit", True))
    return table(heads, [_cells(row, with_delta) for row in limits], style)


class _Row:
    """A line of the budget: whose limit, and how it stands."""

    __slots__ = ("charged", "left", "limit", "who")

    def __init__(self, who: str, limit: Limit, charged: PrivacyLoss | None, left: str) -> None:
        self.who = who
        self.limit = limit
        self.charged = charged
        self.left = left


def _rows(budget: Budget, ledger: Ledger | None, totals: Totals, only: str | None) -> Iterator[_Row]:
    everyone = Budget(budget.everyone)
    yield _Row("(everyone)", budget.everyone, totals.everyone, _left(ledger, "everyone", everyone))
    others = budget.analysts.get("*", Limit())
    named = [name for name in budget.analysts if name != "*"]
    asked = [] if only is None else [only]
    for name in dict.fromkeys([*named, *totals.analysts, *asked]):
        limit = budget.analysts.get(name, others)
        locked = totals.failures.get(name, 0) >= MAX_FAILURES
        left = "locked" if locked else _left(ledger, name, budget)
        yield _Row(name, limit, totals.analysts.get(name, _NOTHING), left)
    if "*" in budget.analysts:
        yield _Row("(anyone else)", others, None, "")


def _left(ledger: Ledger | None, analyst: str, budget: Budget) -> str:
    if ledger is None:
        return ""
    left = ledger.remaining(analyst, budget)
    if left.epsilon is None:
        return "no limit"
    renews = f", renews {left.renews:%Y-%m-%d}" if left.renews else ""
    return decimal_text(left.epsilon) + renews


def _cells(row: _Row, with_delta: bool) -> list[str]:
    limit = row.limit
    cells = [
        row.who,
        "no limit" if limit.epsilon is None else decimal_text(limit.epsilon),
        limit.per or "",
        "" if row.charged is None else decimal_text(row.charged.epsilon),
        row.left,
    ]
    if with_delta:
        charged = "" if row.charged is None else decimal_text(row.charged.delta, DELTA_PLACES)
        cells.insert(4, charged)
        cells.insert(2, "" if limit.delta is None else decimal_text(limit.delta, DELTA_PLACES))
    return cells


# ---------------------------------------------------------------------------------------------- charges


def _charges(charges: Iterator[Charge], last: int, style: Style) -> str:
    newest: deque[Charge] = deque(maxlen=last)
    count = 0
    for charge in charges:
        newest.append(charge)
        count += 1
    if not count:
        return "no charges\n"
    heads = [Head("charge", True), Head("time (UTC)"), Head("analyst"), Head("ε", True), Head("query")]
    rows = [
        [
            str(charge.number),
            f"{charge.time:%Y-%m-%d %H:%M:%S}",
            charge.analyst,
            decimal_text(charge.loss.epsilon),
            _one_line(charge.query),
        ]
        for charge in newest
    ]
    if any(charge.loss.delta for charge in newest):
        heads.insert(4, Head("δ", True))
        for row, charge in zip(rows, newest, strict=True):
            row.insert(4, decimal_text(charge.loss.delta, DELTA_PLACES))
    more = "" if count <= last else f"the newest {len(newest)} of {count} charges; --format csv has all\n"
    return table(heads, rows, style) + more


def _failures(ledger: Ledger, analyst: str | None, style: Style) -> str:
    """Queries that failed after their charge, and unlocks; nothing where there are none."""
    rows = [
        [
            f"{event.time:%Y-%m-%d %H:%M:%S}",
            event.analyst,
            f"charge {event.charge} failed" if isinstance(event, Failure) else "unlocked",
        ]
        for event in ledger.events(analyst)
    ]
    return table([Head("time (UTC)"), Head("analyst"), Head("what")], rows, style) if rows else ""


def _stored(ledger: Ledger) -> str:
    """How many answers are stored, and where; nothing where there are none."""
    answers = Answers(answers_path(ledger.path))
    try:
        count, size = answers.size()
    finally:
        answers.close()
    place = answers_path(ledger.path).name
    return f"stored answers: {count:,} ({math.ceil(size / 1024):,} KiB) in {place}\n" if count else ""


def _one_line(sql: str) -> str:
    line = " ".join(sql.split())
    return line if len(line) <= _LONGEST_QUERY else line[: _LONGEST_QUERY - 1] + "…"
