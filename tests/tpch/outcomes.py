"""What the product says to each query of TPC-H: `python -m tests.tpch.outcomes` writes it to outcomes.csv.

Each query is asked as it is written in the specification, with its validation parameters. Where it is refused, and
`q00.changed.sql` stands beside it, that is asked too: its first line is a comment that says what was changed and
quotes the hint that names the change, if one does. An answer counts where it equals plain DuckDB's over the same data,
with an ε so large that the noise is nothing and caps so loose that every row counts.

The words in the column `why` are written by hand; whoever writes the file anew keeps them.
"""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

import duckdb

from dpsql.errors import Error
from dpsql.policy import load
from dpsql.result import Result
from dpsql.session import Session, open_session
from tests.corpus import plain, rows
from tests.tpch import generate

FOLDER = Path(__file__).parent
PATH = FOLDER / "outcomes.csv"
POLICY = FOLDER.parents[1] / "config" / "tpch.yaml"
NUMBERS = tuple(range(1, 23))
EPSILON = 10**9
NOISE = 5e-5
"""So far a number that is no count may be off for the noise that is left: a share of the largest one of its column."""

OUTCOMES = {
    "answered": "answered as written",
    "changed": "answered after the change that the hint names",
    "rewritten": "answered in another form, which no hint names",
    "public": "answered free: it reads public tables alone",
    "refused": "refused",
}
LISTS_UNITS = (3, 10, 18)
"""The queries whose rows are single customers or orders: they must be refused."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One query: what became of it, why in our words, and the refusal that it meets as it is written."""

    query: int
    outcome: str
    why: str = ""
    sqlstate: str = ""
    message: str = ""
    hint: str = ""


def read() -> list[Outcome]:
    """The checked-in table."""
    with PATH.open(encoding="utf-8", newline="") as file:
        return [Outcome(**{**row, "query": int(row["query"])}) for row in csv.DictReader(file)]  # type: ignore[arg-type]


def text(number: int) -> str:
    """The query as it is written in the specification."""
    return (FOLDER / "queries" / f"q{number:02}.sql").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Change:
    """A changed query: what was changed, the hint that names the change (empty if none does), and the SQL."""

    what: str
    hint: str
    sql: str


def change(number: int) -> Change | None:
    """The changed query, where there is one."""
    path = FOLDER / "queries" / f"q{number:02}.changed.sql"
    if not path.exists():
        return None
    first, _, sql = path.read_text(encoding="utf-8").partition("\n")
    what, _, hint = first.removeprefix("-- ").partition("; hint: ")
    return Change(what, hint, sql)


# ---------------------------------------------------------------------------------------------- asking


@dataclass(frozen=True, slots=True)
class Tables:
    """The product on one side, plain DuckDB on the other, over the same data."""

    session: Session
    duckdb: duckdb.DuckDBPyConnection

    def ask(self, sql: str) -> Result:
        return self.session.execute(sql, epsilon=EPSILON, analyst="tpch")

    def charges(self) -> int:
        """How many charges the ledger holds."""
        return self.session.ledger.totals().count

    def difference(self, sql: str, as_written: str) -> str | None:
        """What is wrong with the answer to `sql`, which means what `as_written` does; None if nothing is."""
        wanted = plain.expected(self.duckdb, plain.shape(as_written, "duckdb"))
        assert wanted is not None
        return rows.difference(self.ask(sql).rows, replace(wanted, noise=NOISE))


def loose(policy: str) -> str:
    """The policy with caps that no customer reaches, and without limits to what is asked."""
    policy = re.sub(r"max_rows: \d+", "max_rows: 150", policy)
    policy = re.sub(r"max_epsilon: \d+", f"max_epsilon: {EPSILON}", policy)
    policy = re.sub(r"(budget:\n  epsilon:) \d+", rf"\1 {10**14}", policy)
    return policy.replace("ledger: var/tpch", "ledger: var/loose")


@contextmanager
def tables(directory: Path) -> Iterator[Tables]:
    """Data at a small scale in a directory, as config/tpch.yaml expects them, and the loose policy over them."""
    generate.write(directory / "data", scale=0.01)
    path = directory / "loose.yaml"
    path.write_text(loose(POLICY.read_text(encoding="utf-8")), encoding="utf-8")
    session = open_session(load(path), create_ledger=True)
    connection = duckdb.connect(str(directory / "data" / "tpch.duckdb"), read_only=True)
    try:
        yield Tables(session, connection)
    finally:
        connection.close()
        session.close()


def outcome(made: Tables, number: int) -> Outcome:
    """What becomes of a query now. Raises AssertionError where it is answered wrong, or its change is."""
    sql, changed = text(number), change(number)
    before = made.charges()
    try:
        wrong = made.difference(sql, sql)
    except Error as error:
        refusal = Outcome(number, "refused", "", error.sqlstate, error.message, error.hint or "")
    else:
        assert wrong is None, f"Q{number}: {wrong}"
        assert changed is None, f"Q{number} is answered as written: its changed form can go"
        return Outcome(number, "answered" if made.charges() > before else "public")
    assert made.charges() == before, f"Q{number}: a refusal was charged"
    if changed is None:
        return refusal
    assert changed.hint in ("", refusal.hint), f"Q{number}: the hint that names the change is now: {refusal.hint}"
    wrong = made.difference(changed.sql, sql)
    assert wrong is None, f"Q{number}, changed: {wrong}"
    assert made.charges() == before + 1, f"Q{number}, changed: it was not charged"
    return replace(refusal, outcome="changed" if changed.hint else "rewritten", why=changed.what)


def main() -> None:
    """Write the table anew, with the words that are there."""
    why = {o.query: o.why for o in read()} if PATH.exists() else {}
    with tempfile.TemporaryDirectory(prefix="dpsql-tpch-") as directory, tables(Path(directory)) as made:
        found = [outcome(made, number) for number in NUMBERS]
    with PATH.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Outcome)])
        for one in found:
            kept = why.get(one.query, "") if one.outcome == "refused" else one.why
            writer.writerow(astuple(replace(one, why=kept)))


if __name__ == "__main__":
    main()
