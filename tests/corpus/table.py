"""The checked-in table: what became of each query, and the figures that follow from it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from tests.corpus.reasons import INTERNAL

PATH = Path(__file__).parent / "outcomes.csv"

OUTCOMES = ("answered", "wrong", "refused", "not expressible")
AGGREGATE = "aggregate of one table"
PRIVACY = "privacy"
MEANINGS = {
    "accept": (AGGREGATE, "several tables", "rows", "no certain value", "not parsed"),
    "reject": (PRIVACY, "grammar", "names", "options", "peer", "nothing private"),
}
"""What a label says about privacy.

accept, by the text and plain DuckDB alone:
    aggregate of one table  it names one table once, its outermost rows are aggregates or groups, DuckDB can run it
    several tables          it names more than one, or one more than once, or joins one with something
    rows                    it returns rows: the label is about something else than privacy
    no certain value        DuckDB can't run it, or its value is random
    not parsed              none of the dialects can parse it
reject, judged by hand:
    privacy                 an answer would tell of single rows, or could not be bounded
    grammar                 it is malformed, or their parser doesn't know the construct
    names                   a table or column that isn't there, or is ambiguous
    options                 an option that GoogleSQL doesn't take
    peer                    a limit of that project: it can be answered soundly
    nothing private         it reads no private row, or only declared groups
"""
VERDICTS = ("", "right", "later", "gap")
TARGET = 0.9


@dataclass(frozen=True, slots=True, order=True)
class Outcome:
    """One line: a query by its origin and place, its label, and what became of it.

    digest   a short hash of its text
    verdict  of a query that is labelled accept and not answered: right, later or gap
    """

    origin: str
    outcome: str
    label: str
    meaning: str
    verdict: str
    reason: str
    index: int
    digest: str

    @property
    def query(self) -> tuple[str, int]:
        return self.origin, self.index

    @property
    def counted(self) -> bool:
        return self.label == "accept" and self.meaning == AGGREGATE

    @property
    def forbidden(self) -> bool:
        """Whether it should be refused for a privacy reason and is answered."""
        return self.label == "reject" and self.meaning == PRIVACY and self.outcome in ("answered", "wrong")


def read() -> list[Outcome]:
    """The checked-in table."""
    with PATH.open(encoding="utf-8", newline="") as file:
        return [Outcome(**{**row, "index": int(row["index"])}) for row in csv.DictReader(file)]  # type: ignore[arg-type]


def write(outcomes: Iterable[Outcome]) -> None:
    """Write the table, like things together."""
    with PATH.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Outcome)])
        writer.writerows(astuple(outcome) for outcome in sorted(outcomes))


def share(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """Of the single-table aggregates labelled accept: how many are answered with the right value, and how many are."""
    counted = [o for o in outcomes if o.counted]
    return sum(o.outcome == "answered" for o in counted), len(counted)


def missed(outcomes: Sequence[Outcome]) -> list[str]:
    """The targets that are missed."""
    answered, counted = share(outcomes)
    problems = []
    if answered < TARGET * counted:
        problems.append(f"of {counted} single-table aggregates only {answered} are answered with the right value")
    problems += [
        f"{o.origin} {o.index} must be refused for privacy and is {o.outcome}" for o in outcomes if o.forbidden
    ]
    problems += [f"{o.origin} {o.index}: a wrong answer: {o.reason}" for o in outcomes if o.outcome == "wrong"]
    problems += [f"{o.origin} {o.index}: {o.reason}" for o in outcomes if o.reason == INTERNAL.text]
    return problems


def summary(outcomes: Sequence[Outcome]) -> str:
    """Totals by origin, the figures that count, and why queries are not answered."""
    lines = [f"{'':12}" + "".join(f"{name:>17}" for name in OUTCOMES)]
    for origin in sorted({o.origin for o in outcomes}):
        counts = Counter(o.outcome for o in outcomes if o.origin == origin)
        lines.append(f"{origin:12}" + "".join(f"{counts[name]:17}" for name in OUTCOMES))
    answered, counted = share(outcomes)
    percent = 100 * answered / max(counted, 1)
    private = [o for o in outcomes if o.label == "reject" and o.meaning == PRIVACY]
    lines += [
        "",
        f"single-table aggregates labelled accept: {counted}, answered right {answered} ({percent:.1f} %)",
        f"labelled reject for a privacy reason: {len(private)}, answered {sum(o.forbidden for o in private)}",
        "",
        "labelled accept and not answered:",
    ]
    left = Counter(
        (o.counted, o.verdict, o.reason) for o in outcomes if o.label == "accept" and o.outcome != "answered"
    )
    for (aggregate, verdict, reason), number in sorted(left.items(), key=lambda item: (not item[0][0], -item[1])):
        lines.append(f"{number:5}  {'aggregate' if aggregate else '':10} {verdict:6} {reason}")
    return "\n".join(lines) + "\n"
