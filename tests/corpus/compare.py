"""Run the yardstick's queries: `python -m tests.corpus.compare DIRECTORY [--write]`.

DIRECTORY holds the query files. Each query goes through the product as an analyst's would, with an ε so large that the
noise is nothing, and is compared with plain DuckDB over the same data. What came of it is compared with the checked-in
table; `--write` writes the table instead. Exit code 1 if anything differs or a target is missed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb

from dpsql.errors import Error, ParseError
from dpsql.privacy.noise import SystemNoise
from dpsql.result import Result
from dpsql.session import Session, open_session
from tests.corpus import data, plain, queries, reasons, rows, table
from tests.corpus.googlesql import without_privacy
from tests.corpus.plain import Shape
from tests.corpus.queries import Query
from tests.corpus.table import Outcome

EPSILON = 10**9


class Tables:
    """One policy with its data: the product on one side, plain DuckDB on the other."""

    def __init__(self, directory: Path, name: str) -> None:
        self.policy = data.write(directory, name)
        self._first = open_session(self.policy, create_ledger=True)
        self._sessions = {self.policy.dialect: self._first}
        self.plain: duckdb.DuckDBPyConnection = plain.engine(self.policy)

    def ask(self, sql: str, dialect: str) -> Result:
        """The product's answer, as if the policy said that its analysts write this dialect."""
        if dialect not in self._sessions:
            first = self._first
            policy = replace(self.policy, dialect=dialect)
            self._sessions[dialect] = Session(policy, first.engine, first.ledger, SystemNoise())
        return self._sessions[dialect].execute(sql, epsilon=EPSILON, analyst="corpus")

    def charges(self) -> int:
        """How many charges the ledger holds."""
        return self._first.ledger.totals().count

    def close(self) -> None:
        self.plain.close()
        self._first.ledger.close()
        self._first.engine.close()


@contextmanager
def tables(name: str) -> Iterator[Tables]:
    """A policy's tables in a directory that goes away afterwards."""
    with tempfile.TemporaryDirectory(prefix="dpsql-corpus-") as directory:
        made = Tables(Path(directory), name)
        try:
            yield made
        finally:
            made.close()


def judge(made: Tables, query: Query, judged: str | None) -> Outcome:
    """Ask one query. `judged` is what its label means, where that is judged by hand."""
    text = without_privacy(query.sql)
    dialect = plain.dialect_of(text, query.dialects)
    shape = None if dialect is None else plain.shape(text, dialect)
    wanted = None if shape is None else plain.expected(made.plain, shape)
    meaning = judged or "?" if query.label == "reject" else _meaning(shape, wanted)
    verdict = ""
    try:
        answer = _asked(made, query, text, dialect or query.dialects[0], meaning)
    except Error as error:
        outcome, reason = _refusal(query.sql, error)
        if query.label == "accept":
            verdict = "right" if meaning == "rows" else reason.verdict
        why = reason.text
    else:
        wrong = None if wanted is None else rows.difference(answer.rows, wanted)
        outcome = "wrong" if wrong else "answered"
        why = wrong or _how(answer, wanted)
    return Outcome(query.origin, outcome, query.label, meaning, verdict, why, query.index, query.digest)


def _asked(made: Tables, query: Query, text: str, dialect: str, meaning: str) -> Result:
    """The answer. What is refused for privacy must be refused without GoogleSQL's words too: they may be the cause."""
    try:
        return made.ask(query.sql, dialect)
    except Error:
        if text == query.sql or meaning != table.PRIVACY:
            raise
    return made.ask(text, dialect)


def _meaning(shape: Shape | None, wanted: rows.Expected | None) -> str:
    if shape is None:
        return "not parsed"
    if not shape.aggregated:
        return "rows"
    if not shape.single:
        return "several tables"
    return table.AGGREGATE if wanted is not None else "no certain value"


def _refusal(sql: str, error: Error) -> tuple[str, reasons.Reason]:
    if isinstance(error, ParseError):
        return "not expressible", reasons.not_expressible(sql)
    if "is not a query" in error.message:
        return "not expressible", reasons.NOT_A_QUERY
    unknown = reasons.Reason(f"nobody has judged yet: {error.sqlstate} {error.message}", "gap")
    return "refused", reasons.refused(error) or unknown


def _how(answer: Result, wanted: rows.Expected | None) -> str:
    if wanted is None:
        return "DuckDB itself can't run it"
    if answer.privacy.epsilon_charged:
        return "the right value"
    return "public tables or declared groups alone, free"


def run(directory: Path) -> list[Outcome]:
    """What becomes of each query now."""
    known = {(o.query, o.digest): o.meaning for o in table.read()} if table.PATH.exists() else {}
    found = []
    asked = queries.read(directory)
    for name in dict.fromkeys(query.policy for query in asked):
        with tables(name) as made:
            for query in asked:
                if query.policy == name:
                    judged = known.get(((query.origin, query.index), query.digest))
                    found.append(judge(made, query, judged))
    return sorted(found)


def differences(now: list[Outcome], before: list[Outcome]) -> list[str]:
    """What differs from the checked-in table, a line for each query."""
    old, new = {o.query: o for o in before}, {o.query: o for o in now}
    lines = []
    for query in sorted(old.keys() | new.keys()):
        was, is_ = old.get(query), new.get(query)
        if was != is_:
            lines.append(f"{query[0]} {query[1]}: was {_told(was)}; is {_told(is_)}")
    return lines


def _told(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not there"
    return f"{outcome.label} ({outcome.meaning}), {outcome.outcome} {outcome.verdict} ({outcome.reason})"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.compare", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the query files are")
    parser.add_argument("--write", action="store_true", help="write tests/corpus/outcomes.csv")
    chosen = parser.parse_args(arguments)
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of statements that it doesn't know
    now = run(chosen.directory)
    print(table.summary(now))
    problems = table.missed(now)
    problems += [f"{o.origin} {o.index}: its label isn't judged" for o in now if o.meaning == "?"]
    problems += [f"{o.origin} {o.index}: {o.reason}" for o in now if o.reason.startswith("nobody has judged")]
    if chosen.write:
        table.write(now)
    else:
        problems += differences(now, table.read())
    print("".join(f"{problem}\n" for problem in problems), end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
