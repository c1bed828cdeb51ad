"""Stored answers: the same question gets the same numbers, free, and no other question does."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import logging
import math
import os
import re
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import dpsql
import dpsql.dbapi
from dpsql import stored
from dpsql.answers import Answer, Answers, Question, questions, store
from dpsql.answers.record import decode, encode
from dpsql.cli import main
from dpsql.errors import AnalystLocked, BudgetExhausted, EngineError, Error, LedgerError
from dpsql.ledger import Ledger
from dpsql.policy import load
from dpsql.privacy.noise import SystemNoise
from dpsql.release import NoisyRows
from dpsql.result import Result
from dpsql.session import Session, open_session
from tests import grammar, released_grammar, test_layouts
from tests.harness import Bench, OpenSession, bench, examples, make_policy
from tests.processes import Forked
from tests.test_generated import CITIES, TABLES

pytestmark = pytest.mark.slow

POLICY = """\
dpsql: 1
privacy: {{epsilon: 1, delta: 1e-6, min_epsilon: 1e-9, counts: raw}}
budget: {{epsilon: 100, delta: 1e-3, analysts: {{none: {{epsilon: 0}}, poor: {{epsilon: 1}}, "*": {{epsilon: 90}}}}}}
ledger: the.ledger
{more}
tables:
  people:
    source: people.csv
    unit: row
    columns:
      age: {{type: integer, bounds: {bounds}}}
      pay: {{type: double, bounds: [0, 100], grain: 0.5, nullable: true}}
      sex: {{type: text, keys: [f, m, null], nullable: true}}
      ward: {{type: text}}
      born: {{type: date, bounds: [2020-01-01, 2020-12-31]}}
  wards:
    source: wards.csv
    public: true
"""
TINY = Fraction(1, 10**8)
"""With so little ε two counts are the same by chance in fewer than one of 10^8 cases."""
COUNT = "SELECT COUNT(*) AS n FROM people WHERE age > 30"
GROUPED = "SELECT sex, COUNT(*) AS n, AVG(pay) AS mean FROM people GROUP BY sex"
WARDS = "SELECT ward, COUNT(*) AS n, SUM(pay) FROM people GROUP BY ward"
TWO = "SELECT (SELECT COUNT(*) FROM people) AS a, (SELECT COUNT(*) FROM people WHERE age > 30) AS b"
ABOVE = "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)"


def write(folder: Path, more: str = "", bounds: str = "[0, 100]") -> Path:
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(more=more, bounds=bounds), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{20 + i % 60},{i % 90 + 0.5},{'fm'[i % 2]},{'ab'[i % 2]},2020-0{1 + i % 9}-10" for i in range(400)]
    (tmp_path / "people.csv").write_text("\n".join(["age,pay,sex,ward,born", *rows, "50,,,a,2020-01-01", ""]))
    (tmp_path / "wards.csv").write_text("name\na\nb\n")
    write(tmp_path)
    Ledger.create(tmp_path / "the.ledger").close()
    return tmp_path


@contextmanager
def asking(folder: Path) -> Iterator[Session]:
    """A session of its own, as a new process has one."""
    session = open_session(load(folder / "policy.yaml"))
    try:
        yield session
    finally:
        session.close()


def seen(result: Result) -> str:
    """All that an answer shows, to the last bit."""
    return repr((result.columns, result.rows))


def cost(session: Session, sql: str, parameters: Any = (), *, epsilon: object = None, analyst: str = "ann") -> Fraction:
    return session.execute(sql, parameters, epsilon=epsilon, analyst=analyst).privacy.epsilon_charged


class Untouched:
    """An engine without data, and noise without draws: a stored answer needs neither."""

    def __init__(self, session: Session) -> None:
        self._real = session.engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def transaction(self) -> Any:
        raise AssertionError("the data was touched")

    def laplace(self, *_: object) -> Any:
        raise AssertionError("noise was drawn")

    cube = truncated = laplace


# ---------------------------------------------------------------------------------------------- the same again


@pytest.mark.parametrize(
    "sql",
    [
        COUNT,
        GROUPED,
        WARDS,
        TWO,
        ABOVE,
        "SELECT born > DATE '2020-06-01' AS late, SUM(age), STDDEV(age), COUNT(pay) FROM people GROUP BY 1",
        "SELECT sex, AVG(pay) AS m, DP_INTERVAL_LOW(m, 0.8) AS low, DP_INTERVAL_HIGH(m) AS high FROM people GROUP BY 1",
        "SELECT name, n FROM wards LEFT JOIN (SELECT ward, COUNT(*) AS n FROM people GROUP BY 1) AS q ON name = ward",
        "WITH q AS (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) SELECT SUM(n), MAX(sex), NULL FROM q",
    ],
)
def test_the_same_question_again(folder: Path, sql: str) -> None:
    """Same bytes, no cost, no data read, no noise drawn; in the same process and in another one."""
    with asking(folder) as session:
        fresh = session.execute(sql, analyst="ann")
        charges = session.ledger.totals().count
        assert fresh.privacy.epsilon_charged == 1 and fresh.privacy.stored is None
        untouched = Untouched(session)
        session.engine = session._noise = untouched  # type: ignore[assignment]
        for _ in range(2):
            again = session.execute(sql, analyst="ann")
            assert seen(again) == seen(fresh)
            assert again.privacy.epsilon_charged == again.privacy.delta_charged == 0
            assert again.privacy.stored is not None and again.privacy.epsilon_left == fresh.privacy.epsilon_left
            assert dt.datetime.now(dt.UTC) - again.privacy.stored < dt.timedelta(minutes=10)
        session.engine = untouched._real
        assert session.ledger.totals().count == charges
    with asking(folder) as session:
        session._noise = untouched  # type: ignore[assignment]
        again = session.execute(sql, analyst="ann")
        assert seen(again) == seen(fresh) and again.privacy.stored is not None
        assert session.ledger.totals().count == charges


def test_another_process_finds_it(folder: Path) -> None:
    """Whatever its hashes are seeded with."""
    code = (
        "import sys, dpsql\n"
        "with dpsql.connect(sys.argv[1], analyst='ann') as connection:\n"
        "    cursor = connection.cursor().execute(sys.argv[2])\n"
        "    print(cursor.fetchall(), cursor.privacy.half_widths, cursor.privacy.epsilon_charged)\n"
    )
    printed = []
    for seed in ("1", "2"):
        command = [sys.executable, "-c", code, str(folder / "policy.yaml"), GROUPED]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        printed.append(done.stdout.rsplit(maxsplit=1))
    assert printed[0][0] == printed[1][0] and [cost for _, cost in printed] == ["1", "0"]


@pytest.mark.parametrize(
    "sql",
    [
        "select\n  count( * )   from PEOPLE  -- how many\n where AGE > 30",
        "SELECT COUNT(1) * 2 AS twice FROM people WHERE (age > 30)",
        "SELECT n FROM (SELECT COUNT(*) AS n FROM people WHERE age > 30) AS q WHERE n > 5 ORDER BY n DESC LIMIT 3",
        "WITH q AS (SELECT COUNT(*) AS n FROM people AS p WHERE p.age > 30) SELECT n FROM q",
        "SELECT COUNT(*) AS m, DP_INTERVAL_LOW(m, 0.5) FROM people WHERE age > 30",
    ],
)
def test_how_it_is_written_does_not_matter(folder: Path, sql: str) -> None:
    with asking(folder) as session:
        assert cost(session, COUNT) == 1
        assert cost(session, sql) == 0
        assert cost(session, "SELECT COUNT(*) FROM people WHERE age > ?", (30,)) == 0


@pytest.mark.parametrize(
    "other",
    [
        lambda session: cost(session, COUNT, epsilon="0.5"),
        lambda session: cost(session, COUNT, epsilon="2"),
        lambda session: cost(session, COUNT, analyst="bob"),
        lambda session: cost(session, COUNT, analyst="Ann"),
        lambda session: cost(session, COUNT.replace("30", "31")),
        lambda session: cost(session, COUNT.replace(">", ">=")),
        lambda session: cost(session, COUNT.replace("COUNT(*)", "COUNT(age)") + " AND sex = 'f'"),
        lambda session: cost(session, COUNT.replace("COUNT(*)", "SUM(age)")),
        lambda session: cost(session, "SELECT COUNT(*) FROM people WHERE age > ?", (29,)),
        lambda session: cost(session, COUNT.replace("AS n", "AS n, AVG(pay)")),
        lambda session: cost(session, COUNT + " GROUP BY sex"),
    ],
)
def test_another_question_is_charged(folder: Path, other: Callable[[Session], Fraction]) -> None:
    with asking(folder) as session:
        assert cost(session, COUNT) == 1
        assert other(session) > 0
        assert cost(session, COUNT) == 0


def _bounds(folder: Path) -> None:
    write(folder, bounds="[0, 99]")


def _more_data(folder: Path) -> None:
    with (folder / "people.csv").open("a") as file:
        file.write("44,1,f,a,2020-01-01\n")


def _same_size(folder: Path) -> None:
    """Another file of the same name, size and time."""
    people = folder / "people.csv"
    times = people.stat()
    other = folder / "other.csv"
    other.write_text(people.read_text().replace("20,0.5", "21,0.5"))
    os.replace(other, people)
    os.utime(people, ns=(times.st_atime_ns, times.st_mtime_ns))


def _public_data(folder: Path) -> None:
    (folder / "wards.csv").write_text("name\na\nb\nc\n")


def _version(folder: Path) -> None:
    write(folder, 'data_version: "2026-12"')


@pytest.mark.parametrize("change", [_bounds, _more_data, _same_size, _public_data, _version])
def test_another_policy_or_version_of_the_data_is_another_question(
    folder: Path, change: Callable[[Path], None]
) -> None:
    sql = "SELECT SUM(age) FROM people"
    with asking(folder) as session:
        assert cost(session, sql) == 1
    change(folder)
    with asking(folder) as session:
        assert cost(session, sql) == 1
        assert cost(session, sql) == 0


def test_data_that_change_while_the_session_is_open(folder: Path) -> None:
    with asking(folder) as session:
        assert [cost(session, COUNT), cost(session, COUNT)] == [1, 0]
        _more_data(folder)
        assert [cost(session, COUNT), cost(session, COUNT)] == [1, 0]


def test_comments_and_budgets_of_the_policy_change_no_question(folder: Path) -> None:
    with asking(folder) as session:
        assert cost(session, COUNT) == 1
    path = write(folder, "# all is well\ndialect: postgres")
    text = path.read_text().replace("epsilon: 100", "epsilon: 99").replace("counts: raw", "counts: clamp")
    path.write_text(text.replace("    unit: row\n", "    unit: row\n    description: one row each\n"))
    with asking(folder) as session:
        assert cost(session, COUNT) == 0


def test_the_owner_s_version_of_the_data(folder: Path) -> None:
    """It holds until the owner changes it, whatever happens to the files: the old numbers are given until then."""
    write(folder, 'data_version: "1"')
    with asking(folder) as session:
        fresh = session.execute(COUNT, analyst="ann")
    _more_data(folder)
    with asking(folder) as session:
        again = session.execute(COUNT, analyst="ann")
        assert again.privacy.epsilon_charged == 0 and seen(again) == seen(fresh)
    write(folder, 'data_version: "2"')
    with asking(folder) as session:
        assert cost(session, COUNT) == 1


def test_another_file_under_the_same_version_is_another_question(folder: Path) -> None:
    path = write(folder, 'data_version: "1"')
    with asking(folder) as session:
        assert cost(session, COUNT) == 1
    (folder / "others.csv").write_text((folder / "people.csv").read_text())
    path.write_text(path.read_text().replace("people.csv", "others.csv"))
    with asking(folder) as session:
        assert cost(session, COUNT) == 1


def test_the_day_is_part_of_the_question(folder: Path) -> None:
    """CURRENT_DATE over private rows is a literal of the SQL that runs; over released numbers it changes nothing."""
    with asking(folder) as session:
        data = session._current()

        def question(sql: str, day: int) -> Question:
            return session._compiled(data, sql, (), Fraction(1), Fraction(1, 2), dt.date(2020, 5, day)).questions[0]

        inside = "SELECT COUNT(*) FROM people WHERE born < CURRENT_DATE"
        assert question(inside, 1) == question(inside, 1) != question(inside, 2)
        outside = "SELECT COUNT(*), CURRENT_DATE FROM people"
        assert question(outside, 1) == question(outside, 2)


# ---------------------------------------------------------------------------------------------- who, and at what price


def test_asking_a_thousand_times_gives_one_number(folder: Path) -> None:
    with asking(folder) as session:
        answers = {session.execute(COUNT, analyst="ann").rows[0] for _ in range(1000)}
        assert len(answers) == 1
        assert session.ledger.totals().everyone.epsilon == 1


def test_what_another_analyst_asked_stays_unseen(folder: Path) -> None:
    """The second to ask pays as the first, gets noise of their own, and their data is read: no faster, no cheaper."""
    with asking(folder) as session:
        ann = session.execute(TWO, analyst="ann")
        bob = session.execute(TWO, analyst="bob")
        assert bob.privacy.epsilon_charged == 1 and bob.privacy.stored is None
        explained = session.explain(TWO, analyst="carol")
        assert explained.startswith("epsilon 1, charged 1;") and "stored" not in explained
        assert session.execute(TWO, analyst="ann").rows == ann.rows
        assert session.execute(TWO, analyst="bob").rows == bob.rows


def test_shared_answers(folder: Path) -> None:
    write(folder, "answers: shared")
    with asking(folder) as session:
        ann = session.execute(GROUPED, analyst="ann")
        bob = session.execute(GROUPED, analyst="bob")
        assert bob.privacy.epsilon_charged == 0 and seen(bob) == seen(ann)
        with pytest.raises(BudgetExhausted, match="may not ask"):
            session.execute(GROUPED, analyst="none")
    write(folder, "answers: per_analyst")
    with asking(folder) as session:
        assert cost(session, GROUPED, analyst="bob") == 1


def test_no_answers_are_stored(folder: Path) -> None:
    write(folder, "answers: off")
    with asking(folder) as session:
        assert [cost(session, COUNT), cost(session, COUNT)] == [1, 1]
    assert not list(folder.glob("*.answers*"))


def test_an_analyst_s_name_in_two_unicode_forms(folder: Path) -> None:
    with asking(folder) as session:
        assert cost(session, COUNT, analyst="Zo\u00eb") == 1
        assert cost(session, COUNT, analyst="Zoe\u0308") == 0


def test_an_exhausted_budget_still_reads_what_it_paid(folder: Path) -> None:
    with asking(folder) as session:
        fresh = session.execute(COUNT, analyst="poor")
        assert fresh.privacy.epsilon_left == 0
        with pytest.raises(BudgetExhausted):
            session.execute(GROUPED, analyst="poor")
        again = session.execute(COUNT, analyst="poor")
        assert seen(again) == seen(fresh) and again.privacy.epsilon_left == 0


def test_who_is_locked_or_may_not_ask_gets_no_stored_answer(folder: Path) -> None:
    with asking(folder) as session:
        assert cost(session, COUNT) == 1
        for _ in range(3):
            session.ledger.record_failure(1, "ann")
        with pytest.raises(AnalystLocked):
            session.execute(COUNT, analyst="ann")
        session.ledger.unlock("ann")
        assert cost(session, COUNT) == 0
    path = write(folder)
    path.write_text(path.read_text().replace("none: {", "ann: {epsilon: 0}, none: {"))
    with asking(folder) as session, pytest.raises(BudgetExhausted, match="ann may not ask"):
        session.execute(COUNT, analyst="ann")


@pytest.mark.parametrize("who", ["none", "locked"])
@pytest.mark.parametrize("how", ["explain", "execute"])
def test_who_gets_no_stored_answer_learns_nothing_of_it(folder: Path, how: str, who: str) -> None:
    """Not by its cost, nor by whether a number that depends on it is stored, or can be computed."""
    write(folder, "answers: shared")
    half = _HALF.format(where="")
    with asking(folder) as session:
        ((n,),) = session.execute(f"SELECT n FROM {half} AS q", analyst="ann").rows
        receipt = session.ledger.charges("ann").__next__()
        for _ in range(3):
            session.ledger.record_failure(receipt.number, "locked")
        told = set()
        for guess in (n, n + 1):  # one of the two fails over the stored number, for those who may have it
            overflow = f"CASE WHEN n >= {guess} THEN n * 100000000000000000 ELSE 0 END"
            sql = f"SELECT COUNT(*) FROM people WHERE age > (SELECT {overflow} FROM {half} AS q)"
            with pytest.raises(EngineError) if guess == n else nullcontext():
                session.explain(sql, analyst="ann")
            if how == "explain":
                told.add(session.explain(sql, analyst=who).replace(str(guess), "guess"))
            else:
                with pytest.raises((AnalystLocked, BudgetExhausted)) as refused:
                    session.execute(sql, analyst=who)
                told.add(str(refused.value))
        assert len(told) == 1
        shown = json.loads(session.explain(f"SELECT n FROM {half} AS q", analyst=who, form="json"))
        assert shown["epsilon_charged"] and not shown["affordable"] and who in shown["refused"]
        assert json.loads(session.explain("SELECT 1", analyst=who, form="json"))["refused"] is None


# ---------------------------------------------------------------------------------------------- several releases

_HALF = "(SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) AS n FROM people{where})"


def test_only_fresh_releases_are_charged(folder: Path) -> None:
    with asking(folder) as session:
        one = session.execute(f"SELECT n FROM {_HALF.format(where='')} AS q", analyst="ann")
        assert one.privacy.epsilon_charged == Fraction(1, 2)
        both = session.execute(
            f"SELECT a.n, b.n FROM {_HALF.format(where='')} AS a, {_HALF.format(where=' WHERE age > 30')} AS b",
            analyst="ann",
        )
        assert both.privacy.epsilon_charged == Fraction(1, 2)
        assert both.privacy.stored is not None and "partly" in str(dpsql.dbapi._privacy(both))
        assert both.rows[0][0] == one.rows[0][0]
        assert session.ledger.totals().everyone.epsilon == 1


def test_delta_is_charged_for_fresh_releases_alone(folder: Path) -> None:
    """Each key selection of a statement has its share of δ, so it is the same release with the same share alone."""
    options = "WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, delta = 1e-7)"
    part = f"(SELECT {options} ward, COUNT(*) AS n FROM people{{}} GROUP BY ward)"
    with asking(folder) as session:
        first = session.execute(f"SELECT SUM(n) FROM {part.format('')} AS q", analyst="ann")
        assert first.privacy.delta_charged == Fraction(1, 10**7)
        both = session.execute(
            f"SELECT SUM(a.n) FROM {part.format('')} AS a JOIN {part.format(' WHERE age > 30')} AS b USING (ward)",
            analyst="ann",
        )
        assert both.privacy.delta_charged == Fraction(1, 10**7) and both.privacy.epsilon_charged == Fraction(1, 2)


def test_the_floor_of_a_charge_holds_for_what_is_fresh(folder: Path) -> None:
    path = write(folder)
    path.write_text(path.read_text().replace("min_epsilon: 1e-9", "min_epsilon: 0.75"))
    with asking(folder) as session:
        assert cost(session, f"SELECT n FROM {_HALF.format(where='')} AS q") == Fraction(3, 4)
        sql = f"SELECT a.n, b.n FROM {_HALF.format(where='')} AS a, {_HALF.format(where=' WHERE age > 30')} AS b"
        assert cost(session, sql) == Fraction(3, 4)
        assert cost(session, sql) == 0


def test_equal_releases_of_one_statement_have_noise_of_their_own(folder: Path) -> None:
    """And keep it: each is charged once, and none stands in for another."""
    twice = "SELECT (SELECT COUNT(*) FROM people), (SELECT COUNT(*) FROM people)"
    thrice = twice + ", (SELECT COUNT(*) FROM people)"
    with asking(folder) as session:
        fresh = session.execute(twice, epsilon=2 * TINY, analyst="ann")
        assert fresh.privacy.epsilon_charged == 2 * TINY and len(set(fresh.rows[0])) == 2
        assert session.execute(twice, epsilon=2 * TINY, analyst="ann").rows == fresh.rows
        more = session.execute(thrice, epsilon=3 * TINY, analyst="ann")
        assert more.privacy.epsilon_charged == TINY
        assert more.rows[0][:2] == fresh.rows[0] and len(set(more.rows[0])) == 3


def test_a_release_that_uses_a_released_number(folder: Path) -> None:
    """The second is stored for the very number of the first: without the first, both are fresh and both are charged."""
    with asking(folder) as session:
        fresh = session.execute(ABOVE, epsilon=TINY, analyst="ann")
        assert fresh.privacy.epsilon_charged == TINY
        assert session.execute(ABOVE, epsilon=TINY, analyst="ann").rows == fresh.rows
        with sqlite3.connect(folder / "the.ledger.answers") as connection:
            connection.execute("DELETE FROM answer WHERE rowid = 1")
        connection.close()
    with asking(folder) as session:
        assert "charged 1e-08;" in session.explain(ABOVE, epsilon=TINY, analyst="ann")
        anew = session.execute(ABOVE, epsilon=TINY, analyst="ann")
        assert anew.privacy.epsilon_charged == TINY
        again = session.execute(ABOVE, epsilon=TINY, analyst="ann")
        assert again.privacy.epsilon_charged == 0 and again.rows == anew.rows


def test_a_question_that_is_known_late_has_its_one_answer(folder: Path) -> None:
    """Where a released number turns out to be one that was used before, the release that uses it is there already."""
    fixed = "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) * 0 + 5 FROM people WHERE age > {})"
    with asking(folder) as session:
        first = session.execute(fixed.format(1), epsilon=TINY, analyst="ann")
        second = session.execute(fixed.format(2), epsilon=TINY, analyst="ann")
        assert second.privacy.epsilon_charged == TINY and second.privacy.stored is not None
        assert second.rows == first.rows == session.execute(fixed.format(2), epsilon=TINY, analyst="ann").rows
        other = session.execute(fixed.format(2).replace("+ 5", "+ 6"), epsilon=TINY, analyst="ann")
        assert other.privacy.epsilon_charged == TINY / 2 and other.rows != second.rows


@pytest.mark.parametrize("fault", [EngineError("the engine failed"), MemoryError(), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_failure_does_not_tell_which_release_failed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, which: int, fault: BaseException
) -> None:
    """It may depend on private values, and is worth one bit: so nothing is stored of the releases before it."""
    sql = TWO + ", (SELECT COUNT(*) FROM people WHERE age > 40) AS c"
    with asking(folder) as session:
        real = dpsql.session.release
        calls: list[object] = []

        def failing(*arguments: Any) -> NoisyRows:
            calls.append(1)
            if len(calls) == which + 1:
                raise fault
            return real(*arguments)

        with monkeypatch.context() as patched:
            patched.setattr(dpsql.session, "release", failing)
            with pytest.raises((Error, KeyboardInterrupt)):
                session.execute(sql, analyst="ann")
        assert len(calls) == which + 1 and session.ledger.failures("ann") == 1
        assert session.answers is not None and session.answers.size() == (0, 0)
        assert json.loads(session.explain(sql, analyst="ann", form="json"))["epsilon_charged"] == 1
        assert cost(session, sql) == 1


def test_what_was_released_is_stored_though_what_follows_from_it_fails(folder: Path) -> None:
    """A constant that can't be computed from noisy numbers tells nothing that they don't tell."""
    sql = "SELECT COUNT(*) FROM people WHERE age > (SELECT COUNT(*) * 1000000000000000000 FROM people)"
    with asking(folder) as session:
        with pytest.raises(EngineError, match="over the noisy rows failed"):
            session.execute(sql, analyst="ann")
        assert session.ledger.failures("ann") == 0
        assert session.answers is not None and session.answers.size()[0] == 1


# ---------------------------------------------------------------------------------------------- shown


def test_explain_says_what_is_stored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(folder / "policy.yaml")
    with dpsql.connect(config, analyst="ann") as connection:
        cursor = connection.cursor()
        assert cursor.explain(COUNT).startswith("epsilon 1, charged 1; 90 left, 89 after")
        cursor.execute(COUNT)
        assert cursor.privacy is not None and cursor.privacy.stored is None
        text = cursor.explain(COUNT)
        assert text.startswith("epsilon 1, charged 0; 89 left, 89 after")
        assert "  stored 20" in text and "given again, it costs nothing" in text
        facts = json.loads(cursor.explain(TWO + " --", epsilon=2, format="json"))
        assert [bool(release["stored"]) for release in facts["releases"]] == [False, True]
        assert facts["epsilon_charged"] == 1
        cursor.execute("EXPLAIN " + COUNT)
        assert any("costs nothing" in row[0] for row in cursor.fetchall())
        cursor.execute(COUNT)
        assert cursor.privacy.stored is not None and cursor.privacy.stored.tzinfo is dt.UTC
        assert str(cursor.privacy).startswith("nothing charged (stored 20") and str(cursor.privacy).endswith(
            " UTC), 89 left"
        )
        assert cursor.df().attrs["privacy"]["stored"].endswith("+00:00")
    for form in ("table", "csv", "json", "markdown"):
        assert main(["query", config, COUNT, "--as", "ann", "--format", form]) == 0
        out, err = capsys.readouterr()
        assert "nothing charged (stored 20" in out + err
        if form == "json":
            assert json.loads(out)["privacy"]["stored"].endswith("+00:00")


def test_the_owner_sees_how_many_there_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(folder / "policy.yaml")
    assert main(["budget", config]) == 0
    assert "stored answers" not in capsys.readouterr().out
    with asking(folder) as session:
        for sql in (COUNT, COUNT, TWO):
            session.execute(sql, analyst="ann")
        assert session.answers is not None and session.answers.size()[0] == 3
    assert main(["budget", config]) == 0
    assert re.search(r"\nstored answers: 3 \([1-9] KiB\) in the\.ledger\.answers\n$", capsys.readouterr().out)
    assert main(["budget", config, "--as", "ann"]) == 0
    assert "stored answers" not in capsys.readouterr().out


# ---------------------------------------------------------------------------------------------- the file


def test_the_file_is_the_owner_s_alone(folder: Path) -> None:
    with asking(folder) as session:
        session.execute(COUNT, analyst="ann")
        session.execute(GROUPED, analyst="ann")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.glob("the.ledger.answers*")}
        assert modes and set(modes.values()) == {0o600}


def test_what_is_stored_are_the_released_integers_and_their_law(folder: Path) -> None:
    sql = "SELECT sex, ward, AVG(pay) FROM people GROUP BY sex, ward"
    with asking(folder) as session:
        session.execute(sql, analyst="ann")
    with sqlite3.connect(folder / "the.ledger.answers") as connection:
        ((asker, charge, record),) = connection.execute("SELECT asker, charge, record FROM answer").fetchall()
    connection.close()
    text, noisy = decode(record)
    facts = json.loads(text)
    assert (asker, charge) == ("ann", 1)
    assert noisy.selected == (("a",), ("b",))
    assert [basis["mechanism"] for basis in facts["bases"]] == ["truncated discrete Laplace", "discrete Laplace"]
    means = facts["bases"][1]
    assert (means["lower"], means["grain"], means["cells"]) == ("0", "1/2", 200)
    assert [part["scale"] for part in means["parts"]] == ["400"] * 2 + ["2"] * (len(means["parts"]) - 2)
    assert all(len(values) == 6 and values.dtype == np.int64 for values in noisy.sums[1].values())


def test_a_damaged_record_is_not_an_answer(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with asking(folder) as session:
        fresh = session.execute(COUNT, epsilon=TINY, analyst="ann")
    with sqlite3.connect(folder / "the.ledger.answers") as connection:
        ((record,),) = connection.execute("SELECT record FROM answer").fetchall()
        connection.execute("UPDATE answer SET record = ?", (record[:-1] + bytes([record[-1] ^ 1]),))
    connection.close()
    with asking(folder) as session, caplog.at_level(logging.ERROR, "dpsql"):
        again = session.execute(COUNT, epsilon=TINY, analyst="ann")
        assert again.privacy.epsilon_charged == TINY and again.privacy.stored is None
        assert "damaged" in caplog.text
        assert session.execute(COUNT, epsilon=TINY, analyst="ann").rows == again.rows
    assert fresh.rows != again.rows


@pytest.mark.parametrize("column", ["asker", "time", "charge", "digest"])
def test_an_edited_record_is_not_an_answer(folder: Path, column: str) -> None:
    with asking(folder) as session:
        session.execute(COUNT, analyst="ann")
    value = {"asker": "'bob'", "time": "'2020-01-01T00:00:00.000000+00:00'", "charge": "7", "digest": "x'00'"}[column]
    with sqlite3.connect(folder / "the.ledger.answers") as connection:
        connection.execute(f"UPDATE answer SET {column} = {value}")
    connection.close()
    with asking(folder) as session:
        assert cost(session, COUNT, analyst="bob") == 1
        assert cost(session, COUNT, analyst="ann") == 1


@pytest.mark.parametrize("content", [b"not a database, and long enough to be looked at" * 100, b"", None])
def test_a_file_that_cannot_be_read_is_refused_free(folder: Path, content: bytes | None) -> None:
    """What is in it was paid for, so its owner decides: nobody pays again without knowing why."""
    path = folder / "the.ledger.answers"
    if content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE other (x)")
        connection.close()
    else:
        path.write_bytes(content)
    with asking(folder) as session:
        for ask in (session.execute, session.explain):
            with pytest.raises(LedgerError, match=r"the stored answers the\.ledger\.answers can't be read") as caught:
                ask(COUNT, analyst="ann")
            assert "remove the file the.ledger.answers" in str(caught.value)
        assert session.ledger.totals().count == 0 and session.ledger.failures("ann") == 0
        path.unlink()
        assert [cost(session, COUNT), cost(session, COUNT)] == [1, 0]


@pytest.mark.parametrize("all_of_it", [True, False])
def test_the_file_may_be_removed_at_any_time(folder: Path, all_of_it: bool) -> None:
    with asking(folder) as session, asking(folder) as other:

        def ask(which: Session, sql: str) -> tuple[Fraction, list[Any]]:
            result = which.execute(sql, epsilon=TINY, analyst="ann")
            return result.privacy.epsilon_charged, result.rows

        before = ask(session, COUNT)
        assert before[0] == TINY and ask(other, COUNT) == (0, before[1])
        for path in folder.glob("the.ledger.answers*" if all_of_it else "the.ledger.answers"):
            path.unlink()
        count, grouped = ask(session, COUNT), ask(other, GROUPED)
        assert count[0] == grouped[0] == TINY and count != before
        assert ask(other, COUNT) == ask(session, COUNT) == (0, count[1])
        assert ask(session, GROUPED) == (0, grouped[1])
    with asking(folder) as session:
        assert (ask(session, COUNT), ask(session, GROUPED)) == ((0, count[1]), (0, grouped[1]))


def test_the_first_to_store_an_answer_wins(folder: Path) -> None:
    question = Question("what?")
    one, other = Answers(folder / "some.answers"), Answers(folder / "some.answers")
    for answers, number in ((one, 1), (other, 2)):
        noisy = NoisyRows(({"rows": np.array([number])},))
        answers.keep("ann", [(question, noisy)], charge=number, moment=dt.datetime.now(dt.UTC))
    for answers in (one, other):
        found = answers.find("ann", question)
        assert found is not None and (found.noisy.sums[0]["rows"].tolist(), found.charge) == ([1], 1)
        answers.close()


def test_an_answer_that_cannot_be_stored_is_given(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with asking(folder) as session, caplog.at_level(logging.ERROR, "dpsql"):
        with monkeypatch.context() as patched:
            patched.setattr(Answers, "_insert", full)
            assert [cost(session, COUNT), cost(session, COUNT)] == [1, 1]
        assert "an answer was not stored" in caplog.text
        assert [cost(session, COUNT), cost(session, COUNT)] == [1, 0]


def test_an_answer_under_way_while_the_session_closes_is_given(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = dpsql.session.release

    def closing(*arguments: Any) -> NoisyRows:
        session.close()
        return real(*arguments)

    with asking(folder) as session:
        monkeypatch.setattr(dpsql.session, "release", closing)
        assert cost(session, COUNT) == 1


def test_what_is_unused_for_longest_is_dropped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was used keeps its place, also where the process that used it has ended."""
    monkeypatch.setattr(store, "_DROPPED_AT_ONCE", 1)
    with asking(folder) as session:
        for age in range(3):
            session.execute(f"SELECT COUNT(*) FROM people WHERE age > {age}", analyst="ann")
    with asking(folder) as session:
        assert cost(session, "SELECT COUNT(*) FROM people WHERE age > 0") == 0
    with sqlite3.connect(folder / "the.ledger.answers") as connection:
        ((used,),) = connection.execute("SELECT bytes FROM total").fetchall()
    connection.close()
    monkeypatch.setattr(store, "MAX_BYTES", used + 30)  # records of other numbers are some bytes longer or shorter
    with asking(folder) as session:
        session.execute("SELECT COUNT(*) FROM people WHERE age > 3", analyst="ann")
        assert [cost(session, f"SELECT COUNT(*) FROM people WHERE age > {age}") for age in (0, 2, 3)] == [0, 0, 0]
        assert cost(session, "SELECT COUNT(*) FROM people WHERE age > 1") == 1


def test_nobody_s_answers_are_dropped_for_what_another_asks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_DROPPED_AT_ONCE", 1)
    with asking(folder) as session:
        assert session.answers is not None
        session.execute(COUNT, analyst="bob")
        for age in range(2):
            session.execute(f"SELECT COUNT(*) FROM people WHERE age > {age}", analyst="eve")
        monkeypatch.setattr(store, "MAX_BYTES", session.answers.size()[1])
        for age in range(2, 7):
            session.execute(f"SELECT COUNT(*) FROM people WHERE age > {age}", analyst="eve")
        assert session.answers.size()[0] < 4
        assert cost(session, COUNT, analyst="bob") == 0
        assert cost(session, "SELECT COUNT(*) FROM people WHERE age > 0", analyst="eve") == 1


def test_little_is_kept_at_hand(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "REMEMBERED_BYTES", 1)
    with asking(folder) as session:
        assert [cost(session, COUNT), cost(session, COUNT), cost(session, COUNT)] == [1, 0, 0]
        assert session.answers is not None and not session.answers._remembered


# ---------------------------------------------------------------------------------------------- at the same time

_ASKING = """
import os, dpsql
begin, go = os.pipe()
for _ in range(8):
    if os.fork() == 0:
        with dpsql.connect(policy, analyst="ann") as connection:
            cursor = connection.cursor()
            os.close(go)
            os.read(begin, 1)
            lines = []
            for age in [*range(10), *range(10)]:
                cursor.execute("SELECT COUNT(*) FROM people WHERE age > ?", (age,), epsilon="0.001")
                lines.append(f"{age} {cursor.fetchall()[0][0]} {cursor.privacy.epsilon_charged * 1000}")
        os.write(1, ("\\n".join(lines) + "\\n").encode())
        os._exit(0)
os.close(go)
print([os.wait()[1] for _ in range(8)])
"""


def test_eight_processes_ask_the_same_at_once(folder: Path) -> None:
    """Each number that anyone sees was paid for, and afterwards there is one for each question."""
    printed, code = Forked(exec, _ASKING, {"policy": str(folder / "policy.yaml")}).ended()
    *answers, codes = printed.splitlines()
    assert (code, codes) == (0, str([0] * 8)), printed
    lines = [line.split() for line in answers]
    assert len(lines) == 160
    paid = [(age, number) for age, number, charged in lines if charged == "1"]
    assert {(age, number) for age, number, _ in lines} == set(paid)
    again = [line for i, line in enumerate(lines) if i % 20 >= 10]
    assert all(charged == "0" for *_, charged in again)
    assert len({number for age, number, _ in again if age == "7"}) == 1
    with asking(folder) as session:
        assert session.ledger.totals().everyone.epsilon == Fraction(len(paid), 1000)
        for age in range(10):
            sql = "SELECT COUNT(*) FROM people WHERE age > ?"
            result = session.execute(sql, (age,), epsilon="0.001", analyst="ann")
            assert result.privacy.epsilon_charged == 0
            assert [str(age), str(result.rows[0][0]), "0"] in again


def test_threads_share_answers(folder: Path) -> None:
    answers: list[tuple[int, Fraction]] = []
    with asking(folder) as session:

        def ask() -> None:
            for _ in range(5):
                result = session.execute(COUNT, epsilon="0.001", analyst="ann")
                answers.append((result.rows[0][0], result.privacy.epsilon_charged))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        paid = [number for number, charged in answers if charged]
        assert len(answers) == 40 and {number for number, _ in answers} == set(paid)
        assert session.ledger.totals().everyone.epsilon == Fraction(len(paid), 1000)


def test_a_process_forks(folder: Path) -> None:
    with asking(folder) as session:
        assert cost(session, COUNT) == 1
        child = os.fork()
        if child == 0:  # pragma: no cover - the child
            ok = session.answers is not None and session.answers._connection is None
            ok = ok and cost(session, COUNT) == 0 and cost(session, GROUPED) == 1
            os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [cost(session, COUNT), cost(session, GROUPED)] == [0, 0]


_KILLED = """
import os, signal, dpsql
from dpsql.answers import Answers
keep = Answers.keep
def killed(self, *arguments, **more):
    if moment == "after":
        keep(self, *arguments, **more)
    os.kill(os.getpid(), signal.SIGKILL)
Answers.keep = killed
with dpsql.connect(policy, analyst="ann") as connection:
    connection.cursor().execute(sql)
"""


@pytest.mark.parametrize(("moment", "again"), [("before", 1), ("after", 0)])
def test_killed_around_storing(folder: Path, moment: str, again: int) -> None:
    """The charge stands; an answer that was stored is not lost with the process, one that wasn't is charged again."""
    names = {"policy": str(folder / "policy.yaml"), "moment": moment, "sql": COUNT}
    assert Forked(exec, _KILLED, names).ended() == ("", -9)
    with asking(folder) as session:
        assert session.ledger.totals().count == 1
        assert cost(session, COUNT) == again


# ---------------------------------------------------------------------------------------------- anything at all

_INTEGERS = st.integers(-(2**130), 2**130)
_COLUMNS = st.lists(_INTEGERS, max_size=5).map(
    lambda values: np.array(values, dtype=object if any(abs(v) >= 2**63 for v in values) else np.int64)
)
_CODES = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.text())


@given(
    text=st.text(),
    sums=st.lists(st.dictionaries(st.sampled_from(["low", "high", "sum"]), _COLUMNS, max_size=3), max_size=3),
    selected=st.none() | st.lists(st.tuples(_CODES, _CODES), max_size=3).map(tuple),
)
@examples(100)
def test_records_hold_what_was_released(text: str, sums: Any, selected: Any) -> None:
    noisy = NoisyRows(tuple(sums), selected)
    found_text, found = decode(encode(Question(text), noisy))
    assert found_text == text and found.selected == selected
    assert repr(found.sums) == repr(noisy.sums)
    assert [v.dtype for p in found.sums for v in p.values()] == [v.dtype for p in sums for v in p.values()]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("answers") / "x.ledger.answers"


_numbers = itertools.count()


class Charged:
    """A ledger that numbers its charges, and limits nothing."""

    def __init__(self) -> None:
        self.charged = Fraction(0)

    def charge(self, loss: Any, **_: object) -> Any:
        self.charged += loss.epsilon
        return type("Receipt", (), {"number": 1, "loss": loss, "time": dt.datetime.now(dt.UTC), "remaining": self})

    epsilon = None

    def remaining(self, *_: object) -> Any:
        return self

    admit = remaining

    def reading(self, *_: object) -> Any:
        return nullcontext()


def _spaced(random: Random, sql: str) -> str:
    """The statement with a comment and, where nothing is quoted, other blanks."""
    if "'" not in sql and '"' not in sql:
        sql = "".join(word + random.choice((" ", "  ", "\n", "\t")) for word in sql.split(" "))
    return f"/* again */ {sql} -- end"


@pytest.fixture(scope="module")
def made() -> Bench:
    types = {**grammar.TYPES["t"], "c": "DECIMAL(10,2)"}
    return bench(make_policy(TABLES), {"t": types}, SystemNoise(), public={"cities": CITIES})


@given(random=grammar.randoms)
@examples(14)
def test_generated_statements_asked_again(made: Bench, place: Path, random: Random) -> None:
    """Over restarts and with other blanks the same bytes for nothing; with another ε, analyst or version, a charge."""
    private = random.random() < 0.5
    sql = grammar.statement(random).sql() if private else released_grammar.statement(random, 2).sql
    made.engine.set_rows("t", [grammar.modest_row(random) for _ in range(5)])

    def opened() -> OpenSession:
        return OpenSession(made.policy, made.engine, Charged(), SystemNoise(), Answers(place))  # type: ignore[arg-type]

    def ask(text: str, analyst: str, *, epsilon: str = "1", version: str = "1") -> tuple[str, Fraction]:
        made.engine.version = version
        before = session.ledger.charged  # type: ignore[attr-defined]
        result = session.execute(text, epsilon=epsilon, analyst=analyst)
        charged = session.ledger.charged - before  # type: ignore[attr-defined]
        assert result.privacy.epsilon_charged == charged
        return seen(result), charged

    session = opened()
    try:
        charge = session.plan(sql, epsilon=1).plan.charge.epsilon
    except Error:
        event("refused")
        return
    event("charged" if charge else "free")
    ann, bob = (f"{name} {next(_numbers)}" for name in ("ann", "bob"))
    fresh, price = ask(sql, ann)
    assert price == charge
    assert ask(sql, ann) == (fresh, 0)
    assert session.answers is not None
    session.answers.close()
    session = opened()
    assert ask(_spaced(random, sql), ann) == (fresh, 0)
    assert ask(sql, bob)[1] == charge
    more = session.plan(sql, epsilon=2).plan
    if more.epsilon != session.plan(sql, epsilon=1).plan.epsilon:
        assert 0 < ask(sql, ann, epsilon="2")[1] <= more.charge.epsilon
    assert ask(sql, ann) == (fresh, 0)
    assert ask(sql, ann, version="2")[1] == charge
    session.answers.close()


QUESTIONS = {
    ("laplace", "SELECT COUNT(*) FROM t"): "3bd0b2aeec7e04cb",
    ("laplace", "SELECT SUM(income) FROM t WHERE g = 1"): "31ea2d6765caa825",
    ("laplace", "SELECT g, AVG(age) FROM t GROUP BY g"): "92d614f981bdaf96",
    ("laplace", "SELECT VARIANCE(score) FROM t"): "37ff0ebc6d3186a8",
    ("laplace", "SELECT MEDIAN(age), MAX(income) FROM u"): "df557a681141a9ad",
    ("laplace", "SELECT COUNT(DISTINCT person), COUNT(*) FROM u"): "776dd123e233e061",
    ("auto", "SELECT COUNT(*), AVG(age), AVG(income) FROM t"): "252521439bcc8814",
}


def test_questions_stay_from_version_to_version() -> None:
    """Where one changes, what analysts paid for isn't found any more and is charged anew: only for a good reason."""
    made = {mechanism: test_layouts.made(mechanism) for mechanism in ("laplace", "auto")}
    for (mechanism, sql), digest in QUESTIONS.items():
        compiled = made[mechanism].session.plan(sql, epsilon=1)
        (question,) = questions(compiled.plan, compiled.inner, {})
        assert question.digest.hex()[:16] == digest, question.text


# ---------------------------------------------------------------------------------------------- errors by stored counts


def explained(session: Session, sql: str, analyst: str = "ann") -> list[Any]:
    """The stored numbers of rows that EXPLAIN goes by."""
    facts = json.loads(session.explain(sql, analyst=analyst, epsilon=1, form="json"))
    return [number["rows_stored"] for release in facts["releases"] for number in release["numbers"]]


def test_explain_goes_by_a_stored_count_of_the_very_rows(folder: Path) -> None:
    """The analyst's own, under the same condition and groups; of a column that may be NULL, of its values."""
    sql = "SELECT AVG(age), VARIANCE(age), AVG(pay), COUNT(*) FROM people WHERE age > 30"
    with asking(folder) as session:
        assert explained(session, sql) == [None] * 4
        (n,) = session.execute(COUNT, analyst="ann").rows[0]
        assert explained(session, sql) == [[n, n], [n, n], None, None]
        text = session.explain(sql, analyst="ann")
        assert f"by the stored noisy number of rows, {n}: ±" in text
        (values,) = session.execute("SELECT COUNT(pay) FROM people WHERE age > 30", analyst="ann").rows[0]
        assert explained(session, sql)[2] == [values, values]
        for other in ("SELECT AVG(age) FROM people", "SELECT AVG(age) FROM people WHERE age > 31", GROUPED):
            assert set(map(str, explained(session, other))) == {"None"}
        assert explained(session, sql, "bob") == [None] * 4
        assert explained(session, sql, "none") == [None] * 4
        counts = [n for _, n in session.execute("SELECT sex, COUNT(*) FROM people GROUP BY sex", analyst="ann").rows]
        grouped = "SELECT sex, AVG(age) FROM people GROUP BY sex"
        assert explained(session, grouped) == [[max(min(counts), 1), max(counts)]]
        assert " of a group: ±" in session.explain(grouped, analyst="ann")
    assert explained_without_answers(folder, sql) == [None] * 4


def test_explain_looks_for_so_many_stored_counts_and_no_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is free, and a count is a question of its own: each is asked once, in vain never, and all together are few."""
    asked: list[str] = []
    find = Answers.find

    def counted(answers: Answers, asker: str, question: Question) -> Answer | None:
        asked.append(asker)
        return find(answers, asker, question)

    monkeypatch.setattr(Answers, "find", counted)

    def look_ups(sql: str) -> int:
        del asked[:]
        session.explain(sql, analyst="ann", epsilon=1)
        return len(asked)

    some = "SELECT AVG(age), VARIANCE(age), STDDEV(age), AVG(age + 1), AVG(age) FILTER (sex = 'f') FROM people"
    many = ", ".join(f"AVG(age) FILTER (pay > {n})" for n in range(99))
    with asking(folder) as session:
        only = look_ups("SELECT COUNT(*) FROM people WHERE age > 99")
        assert look_ups(some) == only, "nothing is stored"
        session.execute("SELECT COUNT(*) FROM people", analyst="ann")
        assert look_ups("SELECT AVG(age), VARIANCE(age), AVG(age + 1) FROM people") == only + 1
        assert look_ups(some) == only + 3, "of all rows, of those that pass the filter, and the deviation"
        assert look_ups(f"SELECT sex, {many} FROM people GROUP BY sex") == only + 99
        monkeypatch.setattr(stored, "MOST_LOOKED_UP", 3 * stored.LEAST_LOOKED_UP)
        assert look_ups(f"SELECT sex, {many} FROM people GROUP BY sex") == only + 3
        monkeypatch.setattr(stored, "LEAST_LOOKED_UP", 1)
        monkeypatch.setattr(stored, "MOST_LOOKED_UP", 11)
        assert look_ups(f"SELECT sex, {many} FROM people GROUP BY sex") == only + 4, "of three groups each"


def explained_without_answers(folder: Path, sql: str) -> list[Any]:
    write(folder, more="answers: off")
    with asking(folder) as session:
        session.execute(COUNT, analyst="ann")
        return explained(session, sql)


def test_explain_goes_by_a_stored_deviation_of_the_very_rows(folder: Path) -> None:
    """Beside a stored count: first the most that it can be, then by the deviation itself, or the variance."""

    def told(number: str, groups: str = "") -> dict[str, Any]:
        sql = f"SELECT {number}, SUM(pay) FROM people {groups}"
        numbers: list[dict[str, Any]] = json.loads(session.explain(sql, analyst="ann", form="json"))["releases"][0][
            "numbers"
        ]
        return numbers[0]

    with asking(folder) as session:
        assert told("STDDEV(age)")["half_width_stored"] is None
        (n,) = session.execute("SELECT COUNT(*) FROM people", analyst="ann").rows[0]
        (width, _), counted = told("VARIANCE(age)")["half_width_stored"], told("STDDEV(age)")
        assert (counted["rows_stored"], counted["itself_stored"]) == ([n, n], None)
        assert counted["half_width_stored"] == pytest.approx([math.sqrt(width)] * 2)
        text = session.explain("SELECT STDDEV(age), SUM(pay) FROM people", analyst="ann")
        by_s = f"{counted['half_width_times_rows_and_itself'] / n:.1f}"[:-2]
        assert re.search(rf"number of rows, {n}: ±{by_s}\S*/s, at most ±", text)

        (variance,) = session.execute("SELECT VARIANCE(age) FROM people", analyst="ann").rows[0]
        known = told("STDDEV(age)")
        assert known["itself_stored"] == pytest.approx([math.sqrt(variance)] * 2)
        low, high = (math.sqrt(max(variance + sign * width, 0)) for sign in (-1, 1))
        root = math.sqrt(variance)
        assert known["half_width_stored"] == pytest.approx([max(root - low, high - root)] * 2)
        assert known["half_width_stored"] < counted["half_width_stored"]
        assert told("STDDEV_POP(age)")["itself_stored"] != known["itself_stored"], "it is of a population"

        for number in ("COUNT(*)", "STDDEV(age)"):
            session.execute(f"SELECT sex, {number} FROM people GROUP BY sex", analyst="ann")
        of_groups = told("STDDEV(age)", "GROUP BY sex")
        least, most = of_groups["half_width_stored"]
        assert of_groups["itself_stored"] != known["itself_stored"] and least < most
        text = session.explain("SELECT STDDEV(age), SUM(pay) FROM people GROUP BY sex", analyst="ann")
        assert re.search(r"number of rows, 1 to \d+ of a group, and s, \S+ to \S+: ±\S+ to ±\S+\n", text)
        assert " and s, " in session.explain("SELECT STDDEV(age) FROM people", analyst="ann", epsilon=3)


def test_no_stored_count_is_looked_for_that_can_t_be(folder: Path) -> None:
    """At the policy's ε, where its noise would not fit."""
    path = folder / "policy.yaml"
    text = path.read_text(encoding="utf-8").replace("epsilon: 1, delta", "epsilon: 1e-9, delta")
    path.write_text(text.replace("unit: row", "unit: {column: ward, max_rows: 1000000000}"), encoding="utf-8")
    with asking(folder) as session:
        with pytest.raises(Error, match="too small"):
            session.plan("SELECT COUNT(*) FROM people")
        assert "/(n·s)" in session.explain("SELECT STDDEV(age) FROM people", analyst="ann", epsilon=1)
