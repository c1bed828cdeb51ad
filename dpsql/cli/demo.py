"""`dpsql demo`: four telling queries on census data."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from dpsql.cli.answer import answer, cost
from dpsql.cli.errors import OK, error_text
from dpsql.cli.output import Output
from dpsql.errors import Error
from dpsql.policy import load
from dpsql.session import Session, open_session
from dpsql.table import Style

POLICY = Path(__file__).parent.parent / "demo" / "pums.yaml"
ANALYST = "alice"
INTRODUCTION = f"""\
1000 people of the US census (PUMS), each row one person whom the answers protect. The policy
{POLICY.name} allows alice ε 5 a month; each query here asks for ε 0.5.
±: the exact number lies within answer ± that in 95 % of all answers. Noise is fresh in every run.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A query, and what it shows."""

    title: str
    sql: str


STEPS = (
    Step("A count", "SELECT COUNT(*) AS pensioners\nFROM people\nWHERE age >= 65"),
    Step(
        "A histogram: every group of the policy's bounds is shown, whether anyone is in it or not",
        "SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS people\nFROM people\nGROUP BY decade\nORDER BY decade",
    ),
    Step(
        "Sums and means by group: one pass, and the mean costs nothing more",
        "SELECT married, SUM(income) AS total, AVG(income) AS mean\nFROM people\nGROUP BY married",
    ),
    Step(
        "Refused, free: these would be people, not numbers about people",
        "SELECT age, income\nFROM people\nWHERE income > 300000",
    ),
)


def demo(arguments: argparse.Namespace) -> int:
    """Run the queries with a ledger of their own, which is gone afterwards."""
    with Output(None) as output, tempfile.TemporaryDirectory(prefix="dpsql-demo-") as directory:
        policy = replace(load(POLICY), ledger=Path(directory, "demo.ledger"))
        session = open_session(policy, create_ledger=True)
        try:
            output.write(INTRODUCTION)
            for number, step in enumerate(STEPS, 1):
                output.write(f"\n{number}. {step.title}\n\n{_indented(step.sql)}\n\n")
                output.write(_answer(session, step, output.style))
        finally:
            session.close()
    return OK


def _answer(session: Session, step: Step, style: Style) -> str:
    try:
        result = session.execute(step.sql, epsilon="0.5", analyst=ANALYST)
    except Error as error:
        left = session.ledger.remaining(ANALYST, session.policy.budget).epsilon
        return error_text(error, step.sql) + f"nothing charged, {float(left or 0):g} left\n"
    return answer(result, "table", style) + cost(result.privacy) + "\n"


def _indented(sql: str) -> str:
    return "".join(f"    {line}\n" for line in sql.split("\n")).rstrip("\n")
