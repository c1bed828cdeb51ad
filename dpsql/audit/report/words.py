"""Sentences and figures of an audit that its text and its page share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from dpsql.audit.findings import TENTHS, Audit, Case, Coverage, QueryAudit, TableAudit
from dpsql.policy.problems import printable
from dpsql.privacy.loss import decimal_text

_LONGEST = 2_000

MEANINGS = (
    (
        "A case",
        "is a statement asked twice, of made-up rows with and without those of one privacy unit. The same SQL must "
        "run, the same groups and columns come back, and the exact sums may differ by no more than the noise is for.",
    ),
    (
        "The privacy loss of a case",
        "is the sum of those differences, each divided by the scale of its noise. The statement was charged ε; a loss "
        "up to ε is what was promised.",
    ),
    (
        "The tightest case",
        "is the one with the largest loss for its ε. 100 % means that a unit reached just what was charged, so the "
        "test would have seen a bound that is too small by any amount. Far below 100 % the test is blunt.",
    ),
    (
        "Coverage",
        "is how often an interval held the number without noise. Its level is how often it should, or more often; less "
        "often, but for a chance of one in a million, means that the noise is not what was declared.",
    ),
)
"""What the words of a report mean."""

LIMITS = (
    "Cases are made by chance: that none shows a fault is evidence, not proof. Other seeds and more cases add to it.",
    "The rows are made up from the policy; no private data is read. Whether bounds, keys and units of the policy fit "
    "the data, dpsql check tells; whether they are wise, only their owner can know.",
    "The law of the noise itself is tested by coverage alone here; dpsql's own tests examine it closely.",
    "Time, memory and other side channels are not measured.",
    "What the policy calls public is shown as it is, and is not part of the promise.",
)
"""What an audit can't show."""


def verdict(audit: Audit) -> str:
    """The first line: whether everything held, and in how many cases."""
    low = sum(not coverage.held for table in audit.tables for coverage in table.coverage)
    violations = len(list(audit.violations))
    if violations:
        more = f", and {many(low, 'interval')} held too seldom" if low else ""
        return f"NOT PRIVATE as declared: {many(violations, 'violation')} in {many(audit.cases, 'case')}{more}."
    if low:
        return f"NOT as declared: {many(low, 'interval')} held too seldom, though sensitivities did."
    if not audit.cases:
        return "Nothing was tested: there is no case."
    own = f" and {many(len(audit.queries), 'statement')} of yours" if audit.queries else ""
    tables = many(len(audit.tables), "table")
    return f"Every declared sensitivity held, in {many(audit.cases, 'case')} of {tables}{own}."


def many(count: int, what: str) -> str:
    """`1 case`, `2,000 cases`."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def percent(share: float) -> str:
    """A share of ε: rounded down up to 100 %, so that this means all of it, and up above."""
    tenths = share * 1000
    rounded = math.floor(tenths + 1e-9) if share <= 1 else math.ceil(tenths - 1e-9)
    return f"{rounded / 10:g} %"


def epsilon(value: Fraction) -> str:
    return f"ε {decimal_text(value)}"


def of_epsilon(case: Case | None) -> str:
    """`99.8 % of ε 1`."""
    return "no case" if case is None else f"{percent(case.share)} of {epsilon(case.epsilon)}"


def spread(audit: Audit) -> list[tuple[str, int]]:
    """How many cases of all tables needed how much of their ε; none where they weren't counted."""
    counts = [sum(each) for each in zip(*(table.spread for table in audit.tables if table.spread), strict=True)]
    step = 100 // TENTHS
    names = [*(f"{part * step}–{(part + 1) * step}" for part in range(TENTHS)), "100"]
    return list(zip(names, counts, strict=True)) if counts else []


def bounds(table: TableAudit) -> str:
    return ", ".join(f"{name} {value:,}" for name, value in table.bounds)


def keys(table: TableAudit) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in table.keys)


def keys_in_short(table: TableAudit) -> str:
    """The same where there is little room."""
    return keys(table) if len(table.keys) < 2 else f"of {len(table.keys)} columns"


def held(table: TableAudit) -> str:
    """What became of a table."""
    if table.violations:
        return "NO"
    return "yes" if table.held else "intervals too seldom"


def outcome(query: QueryAudit) -> str:
    """What became of one of the owner's statements."""
    if query.refused is not None:
        return f"refused: {query.refused}"
    return "held" if query.held else "NOT as charged"


def covered(coverage: Coverage) -> str:
    """`95.4 % of 2,000`."""
    return f"{coverage.share * 100:.1f} % of {coverage.draws:,}"


def often(coverage: Coverage) -> str:
    """Whether the intervals held the number as often as they should."""
    return "often enough" if coverage.held else "too seldom"


def level(coverage: Coverage) -> str:
    return f"{coverage.level * 100:g} %"


def clean(text: str) -> str:
    """A text in one line, with what can't be shown escaped."""
    return printable(text, _LONGEST)


def lines(text: str) -> Iterator[str]:
    """The lines of a text, with what can't be shown escaped."""
    return (clean(line.rstrip("\r")) for line in text.split("\n"))


def first_line(sql: str, longest: int) -> str:
    """The statement in one line, cut where it is long."""
    line = " ".join(sql.split())
    return printable(line if len(line) <= longest else line[: longest - 1] + "…", longest)


def tightest(parts: Sequence[TableAudit | QueryAudit]) -> Iterable[tuple[str, Case]]:
    """The tightest case of each table, and of each statement that has one."""
    for part in parts:
        if part.tightest is not None:
            yield (part.name if isinstance(part, TableAudit) else f"line {part.line}"), part.tightest
