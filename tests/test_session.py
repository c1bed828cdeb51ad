"""The spine: what an analyst may learn from a query that fails after its charge is limited."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.engines.duckdb import DuckDBEngine
from dpsql.engines.exact_rows import ExactRows
from dpsql.errors import (
    AnalystLocked,
    BudgetExhausted,
    EngineError,
    Error,
    InternalError,
    LedgerError,
    NotReleasable,
    UnsupportedQuery,
)
from dpsql.ledger import Failure, Ledger
from dpsql.policy import Budget, Column, ColumnType, Kind, Limit, Policy, PrivacySettings, Source, Table, load
from dpsql.privacy.noise import SystemNoise
from dpsql.session import ATTEMPTS, FAILED, Session, open_session

QUERY = "SELECT COUNT(*) AS n FROM people"
ONE = Fraction(1)


class FailingTransaction:
    """A transaction whose reads fail."""

    def __init__(self, version: str, fault: Exception) -> None:
        self.version = version
        self._fault = fault

    def fetch(self, *_: object) -> ExactRows:
        raise self._fault


class FailingEngine(DuckDBEngine):
    """An engine whose reads fail while `fault` is set."""

    fault: Exception | None = None

    @contextmanager
    def transaction(self) -> Iterator[object]:  # type: ignore[override]
        with super().transaction() as transaction:
            yield transaction if self.fault is None else FailingTransaction(transaction.version, self.fault)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    source = tmp_path / "people.csv"
    source.write_text("age\n30\n40\n")
    age = Column(name="age", type=ColumnType(Kind.INTEGER))
    people = Table("people", Source("csv", str(source)), "row", {"age": age})
    policy = Policy(
        path=tmp_path / "policy.yaml",
        engine="duckdb",
        dialect="duckdb",
        privacy=PrivacySettings(),
        budget=Budget(Limit(Fraction(100))),
        ledger=tmp_path / "x.ledger",
        tables={"people": people},
    )
    session = Session(policy, FailingEngine(policy), Ledger.create(policy.ledger), SystemNoise())
    yield session
    session.close()


def fail(session: Session, fault: Exception | None) -> None:
    assert isinstance(session.engine, FailingEngine)
    session.engine.fault = fault


FAULTS = [
    EngineError("the engine failed; the operator's log has it under 1234"),
    InternalError("a limb is missing"),
    ValueError("SECRET"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_failure_after_the_charge_stands_and_counts(session: Session, fault: Exception) -> None:
    fail(session, fault)
    for count in (1, 2, 3):
        with pytest.raises(Error) as caught:
            session.execute(QUERY, epsilon=ONE, analyst="alice")
        assert "SECRET" not in str(caught.value)
        assert type(caught.value) is (type(fault) if isinstance(fault, Error) else InternalError)
        assert caught.value.hint == FAILED
        assert session.ledger.failures("alice") == count
        assert session.ledger.totals().everyone.epsilon == count
    fail(session, None)
    with pytest.raises(AnalystLocked):
        session.execute(QUERY, epsilon=ONE, analyst="alice")
    assert session.ledger.totals().everyone.epsilon == 3
    assert [each.charge for each in session.ledger.events() if isinstance(each, Failure)] == [1, 3, 5]
    assert len(session.execute(QUERY, epsilon=ONE, analyst="bob").rows) == 1
    session.ledger.unlock("alice")
    assert len(session.execute(QUERY, epsilon=ONE, analyst="alice").rows) == 1


def test_a_failed_release_counts(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsql.session.release", lambda *_, **__: 1 / 0)
    with pytest.raises(InternalError):
        session.execute(QUERY, epsilon=ONE, analyst="alice")
    assert session.ledger.failures("alice") == 1


def test_a_failure_over_noisy_rows_does_not_count(session: Session) -> None:
    """It depends on noisy numbers alone, which the analyst may have anyway. (Over the sample, a 1, it works.)"""
    with pytest.raises(EngineError, match="the charge stands"):
        session.execute("SELECT 9223372036854775806 + COUNT(*) FROM people", epsilon=Fraction(50), analyst="alice")
    assert session.ledger.totals().everyone.epsilon == 50
    assert session.ledger.failures("alice") == 0


def test_refusals_do_not_count(session: Session) -> None:
    for query in ("SELECT age FROM people", "SELECT COUNT(*) FROM nobody"):
        with pytest.raises(Error):
            session.execute(query, epsilon=ONE, analyst="alice")
    assert session.ledger.failures("alice") == 0


def test_a_failure_that_cannot_be_recorded_is_logged(
    session: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def record_failure(*_: object) -> None:
        raise LedgerError("The ledger can't be written.")

    monkeypatch.setattr(session.ledger, "record_failure", record_failure)
    fail(session, FAULTS[0])
    with caplog.at_level(logging.ERROR, "dpsql"), pytest.raises(EngineError, match="1234"):
        session.execute(QUERY, epsilon=ONE, analyst="alice")
    assert "the failure of charge 1 could not be recorded" in caplog.text


def test_a_cancelled_statement_stays_charged(session: Session) -> None:
    fail(session, KeyboardInterrupt())  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        session.execute(QUERY, epsilon=ONE, analyst="alice")
    assert session.ledger.totals().everyone.epsilon == 1


def test_what_the_budget_refuses_reads_nothing(session: Session) -> None:
    fail(session, ValueError("read"))
    with pytest.raises(BudgetExhausted, match=r"would charge epsilon = 101, and 100 is left"):
        session.execute(QUERY, epsilon=Fraction(101), analyst="alice")
    assert session.ledger.totals().count == 0


def test_asking_again_and_again_ends(session: Session) -> None:
    answers = []
    for _ in range(30):
        try:
            answers.append(session.execute(QUERY, epsilon=Fraction(10), analyst="alice").rows)
        except BudgetExhausted:
            break
    assert len(answers) == 10 and session.ledger.totals().everyone.epsilon == 100


def test_one_budget_for_all_tables_and_all_versions_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        "dpsql: 1\nbudget: {epsilon: 2}\nledger: x.ledger\ntables:\n"
        "  people: {source: people.csv, unit: row, columns: {age: {type: integer}}}\n"
        "  visits: {source: visits.csv, unit: row, columns: {age: {type: integer}}}\n"
    )
    for name in ("people", "visits"):
        (tmp_path / f"{name}.csv").write_text("age\n30\n")
    session = open_session(load(tmp_path / "policy.yaml"), create_ledger=True)
    assert session.execute(QUERY, epsilon=ONE, analyst="alice").privacy.epsilon_left == 1
    (tmp_path / "people.csv").write_text("age\n30\n40\n")
    assert session.execute("SELECT COUNT(*) FROM visits", epsilon=ONE, analyst="bob").privacy.epsilon_left == 0
    session.close()
    (tmp_path / "people.csv").write_text("age\n50\n")
    session = open_session(load(tmp_path / "policy.yaml"), create_ledger=True)
    for table in ("people", "visits"):
        with pytest.raises(BudgetExhausted):
            session.execute(f"SELECT COUNT(*) FROM {table}", epsilon=ONE, analyst="carol")
    session.close()


class ChangingEngine(DuckDBEngine):
    """An engine whose source is another one after every read."""

    reads = 0

    @contextmanager
    def transaction(self) -> Iterator[object]:  # type: ignore[override]
        with super().transaction() as transaction:
            engine = self

            class Changing:
                version = transaction.version

                def fetch(self, *arguments: object) -> ExactRows:
                    rows = transaction.fetch(*arguments)  # type: ignore[arg-type]
                    engine.reads += 1
                    source = engine._policy.path.parent / "people.csv"
                    source.write_text("age\n" + "50\n" * 100 * engine.reads)
                    return rows

            yield Changing()


def test_all_numbers_of_a_statement_are_of_one_version_of_the_data(session: Session) -> None:
    policy = session.policy
    engine = ChangingEngine(policy)
    changing = Session(policy, engine, session.ledger, SystemNoise())
    sql = "SELECT (SELECT COUNT(*) FROM people WHERE age > 20), (SELECT COUNT(*) FROM people WHERE age > 10)"
    assert changing.execute(sql, epsilon=Fraction(60), analyst="alice").rows == [(2, 2)]
    assert engine.reads == 2
    assert changing.execute(QUERY, epsilon=Fraction(30), analyst="alice").rows == [(200,)]
    engine.close()


def test_no_log_holds_exact_numbers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Not the sum before the noise, no value of a row, none of the noise: only what an analyst may see too."""
    (tmp_path / "people.csv").write_text("age,pay\n30,7318251\n")
    (tmp_path / "policy.yaml").write_text(
        "dpsql: 1\nbudget: {epsilon: 1e9}\nledger: x.ledger\ntables:\n  people:\n    source: people.csv\n"
        "    unit: row\n    columns: {age: {type: integer}, pay: {type: integer, bounds: [0, 10000000]}}\n"
    )
    with caplog.at_level(logging.DEBUG):
        session = open_session(load(tmp_path / "policy.yaml"), create_ledger=True)
        for sql in ("SELECT SUM(pay) FROM people", "SELECT pay FROM people", "SELECT AVG(pay) / 0 FROM people"):
            with suppress(Error):
                session.execute(sql, epsilon=ONE, analyst="alice")
        session.close()
    assert "7318251" not in caplog.text


@pytest.mark.parametrize(
    "query", ["SELECT DISTINCT age > 35 AS older FROM people", "SELECT age > 35 FROM people GROUP BY 1"]
)
def test_listing_the_groups_reads_and_charges_nothing(session: Session, query: str) -> None:
    fail(session, ValueError("read"))
    assert session.execute(query, epsilon=ONE, analyst="alice").rows == [(False,), (True,)]
    assert session.ledger.totals().count == 0


def test_groups_listed_beside_a_release(session: Session) -> None:
    query = "SELECT DISTINCT age > 35 AS older FROM people ORDER BY (SELECT COUNT(*) FROM people), older DESC"
    result = session.execute(query, epsilon=ONE, analyst="alice")
    assert result.rows == [(True,), (False,)] and result.privacy.epsilon_charged == 1
    fail(session, ValueError("read"))
    with pytest.raises(InternalError):
        session.execute(query, epsilon=ONE, analyst="alice")


def test_a_changed_public_table_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("ward\na\nb\nb\n")
    wards = tmp_path / "wards.csv"
    wards.write_text("name\na\n")
    (tmp_path / "policy.yaml").write_text(
        "dpsql: 1\nbudget: {epsilon: 1e9}\nledger: x.ledger\ntables:\n"
        "  people:\n    source: people.csv\n    unit: row\n"
        "    columns:\n      ward: {type: text, keys: {from: wards.name}}\n"
        "  wards:\n    source: wards.csv\n    public: true\n"
    )
    session = open_session(load(tmp_path / "policy.yaml"), create_ledger=True)
    for names in (["a"], ["a", "b"]):
        wards.write_text("\n".join(["name", *names, ""]))
        assert session.execute("SELECT name FROM wards", analyst="alice").rows == [(n,) for n in names]
        groups = session.execute("SELECT ward, COUNT(*) FROM people GROUP BY ward", epsilon="1000", analyst="alice")
        assert [row[0] for row in groups.rows] == names
    session.close()


def test_times_are_utc_wherever_the_machine_is() -> None:
    code = (
        "from dpsql.postprocess import Outer, Scratch\n"
        "sql = \"SELECT CAST(CAST('2020-01-31 02:00:00+00' AS TIMESTAMPTZ) AS VARCHAR)\"\n"
        "print(Scratch().run(Outer(sql, None, ('v',), ('VARCHAR',)), {}).rows)"
    )
    environment = {**os.environ, "TZ": "America/New_York"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[('2020-01-31 02:00:00+00',)]"


def test_rows_that_are_read_off_are_those_of_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of every kind, with and without NULL, counts, sums and means."""
    (tmp_path / "t.csv").write_text("i,b,s,d,x\n1,true,a,2020-01-01,0.5\n")
    (tmp_path / "policy.yaml").write_text(
        "dpsql: 1\nbudget: {epsilon: 1e15}\nledger: x.ledger\ntables:\n  t:\n    source: t.csv\n    unit: row\n"
        "    columns:\n      i: {type: integer, keys: [1, 2, null]}\n      b: {type: boolean, nullable: true}\n"
        "      s: {type: text, keys: [a, b, null]}\n      x: {type: double, bounds: [0, 1], grain: 0.5}\n"
        '      d: {type: date, bounds: ["2020-01-01", "2020-01-03"]}\n'
    )
    session = open_session(load(tmp_path / "policy.yaml"), create_ledger=True)
    queries = [
        f"SELECT {k}, COUNT(*) AS n, SUM(x) AS total, AVG(x) AS m FROM t GROUP BY 1" for k in ("i", "b", "s", "d")
    ]
    queries += ["SELECT COUNT(*), SUM(i) FROM t", "SELECT FLOOR(x) AS f, i, b, COUNT(*) FROM t GROUP BY ALL"]
    for query in queries:
        compiled = session.plan(query, epsilon="1e12")
        assert compiled.outer.plain is not None
        fast = session.execute(query, epsilon="1e12", analyst="alice")
        slow = session.execute(f"SELECT * FROM ({query}) AS q", epsilon="1e12", analyst="alice")
        assert repr(fast.rows) == repr(slow.rows)
        assert [(c.name, c.type) for c in fast.columns] == [(c.name, c.type) for c in slow.columns]
    session.close()


def test_a_plan_is_kept_for_who_asked_alone(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a statement takes doesn't tell whether another analyst has asked it."""
    compiled: list[str] = []
    real = Session._compiled
    monkeypatch.setattr(
        Session, "_compiled", lambda self, data, sql, *rest: compiled.append(sql) or real(self, data, sql, *rest)
    )
    for analyst, number in (("alice", 1), ("alice", 1), ("bob", 2), ("alice", 2)):
        session.explain("SELECT COUNT(*) FROM people", analyst=analyst)
        assert len(compiled) == number


def test_plans_are_kept_while_they_are_few_and_small(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def kept(*numbers: int) -> set[str]:
        for number in numbers:
            session.plan(f"SELECT COUNT(*) FROM people WHERE age > {number}")
        return {found.inner[0][0].sql.rpartition("> ")[2][:2] for found, _ in session._plans.values()}

    assert kept(10, 11, 12) == {"10", "11", "12"}
    ((_, size), *_) = session._plans.values()
    monkeypatch.setattr("dpsql.session.CACHED_CHARACTERS", 2 * size)
    assert kept(10, 13) == {"10", "13"}, "those that were asked for least lately go"
    monkeypatch.setattr("dpsql.session.CACHED_CHARACTERS", size - 1)
    assert kept(14) == set(), "what is too large by itself isn't kept at all"
    monkeypatch.setattr("dpsql.session.CACHED_CHARACTERS", 100 * size)
    monkeypatch.setattr("dpsql.session.CACHED_PLANS", 1)
    assert kept(15, 16) == {"16"}


def test_a_kept_plan_is_that_of_its_epsilon(session: Session) -> None:
    """The same text again, at another ε, has the noise and the price of that one."""
    for asked in ("1", "0.25", "1", "2"):
        result = session.execute(QUERY, epsilon=asked, analyst="eve")
        assert result.privacy.epsilon == result.privacy.epsilon_charged == Fraction(asked)
    assert session.ledger.totals().everyone.epsilon == Fraction("4.25")


@pytest.mark.parametrize("changes", [1, 2, ATTEMPTS])
def test_a_plan_is_run_on_the_data_that_it_was_made_for(
    session: Session, monkeypatch: pytest.MonkeyPatch, changes: int
) -> None:
    """Data that change between compiling and opening them: it is compiled anew, and charged once or not at all."""
    real, compiled = session._compile, []
    source = Path(session.policy.tables["people"].source.location)

    def compiling(*arguments: object) -> object:
        found = real(*arguments)  # type: ignore[arg-type]
        compiled.append(found)
        if len(compiled) <= changes:
            source.write_text(source.read_text() + "50\n")
        return found

    monkeypatch.setattr(session, "_compile", compiling)
    if changes < ATTEMPTS:
        session.execute(QUERY, epsilon=1, analyst="eve")
        assert (len(compiled), session.ledger.totals().count) == (changes + 1, 1)
    else:
        with pytest.raises(EngineError, match="nothing was charged"):
            session.execute(QUERY, epsilon=1, analyst="eve")
        assert session.ledger.totals().count == 0


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT 1 AS x EXCEPT (SELECT 2 UNION SELECT 1)", []),
        ("SELECT 1 AS x UNION ALL (SELECT 2 EXCEPT SELECT 1)", [(1,), (2,)]),
        ("(SELECT 1 AS x UNION SELECT 2) INTERSECT (SELECT 2 UNION SELECT 3)", [(2,)]),
        ("(SELECT 5 AS x ORDER BY x) UNION ALL (SELECT 2 AS x ORDER BY x) ORDER BY x", [(2,), (5,)]),
        ("(WITH q AS (SELECT 3 AS x) SELECT x FROM q) UNION ALL (WITH q AS (SELECT 4 AS x) FROM q)", [(3,), (4,)]),
        ("SELECT COUNT(*) >= 0 FROM people EXCEPT (SELECT FALSE UNION SELECT COUNT(*) >= 0 FROM people)", []),
    ],
)  # fmt: skip
def test_brackets_in_set_operations_hold(session: Session, query: str, rows: list[tuple[int]]) -> None:
    assert sorted(session.execute(query, epsilon=ONE, analyst="alice").rows) == rows


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM people WHERE 1 = 0", "SELECT age FROM people WHERE (0 = 1) AND age > 3 ORDER BY age",
        "SELECT * FROM people LIMIT 0", "SELECT * FROM (SELECT age FROM people) AS q WHERE FALSE",
        "WITH q AS (SELECT * FROM people LIMIT 0) SELECT * FROM q WHERE age > 3", "SELECT * FROM people WHERE 1 <> 1",
    ],
)  # fmt: skip
def test_private_rows_of_which_there_are_none(session: Session, query: str) -> None:
    """So programs ask for the columns: it is answered from the policy, and free."""
    fail(session, ValueError("read"))
    found = session.execute(query, epsilon=ONE, analyst="alice")
    assert found.rows == [] and [(c.name, c.type) for c in found.columns] == [("age", "BIGINT")]
    assert found.privacy.epsilon_charged == 0 and session.ledger.totals().count == 0


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM people WHERE 1 = 1", "SELECT * FROM people WHERE 1 = 1.0", "SELECT * FROM people WHERE TRUE",
        "SELECT * FROM people WHERE 1 = 0 OR age > 3", "SELECT * FROM people WHERE NOT (1 = 0)",
        "SELECT * FROM people WHERE 1 = '1'", "SELECT * FROM people WHERE 1e99999999 = 1",
        "SELECT * FROM people WHERE 1 = 0 AND age > (SELECT COUNT(*) FROM people)", "SELECT * FROM people LIMIT 00",
        "SELECT * FROM people LIMIT 1", "SELECT * FROM people LIMIT 0 OFFSET 1",
    ],
)  # fmt: skip
def test_private_rows_of_which_there_may_be_some(session: Session, query: str) -> None:
    with pytest.raises((NotReleasable, UnsupportedQuery)):
        session.execute(query, epsilon=ONE, analyst="alice")
    assert session.ledger.totals().count == 0


def test_the_types_of_columns_without_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("i,b,s,d,x,c,m\n")
    (tmp_path / "policy.yaml").write_text(
        "dpsql: 1\nbudget: {epsilon: 1}\nledger: x.ledger\ntables:\n  t:\n    source: t.csv\n    unit: row\n"
        "    columns: {i: {type: integer}, b: {type: boolean}, s: {type: text}, d: {type: date}, x: {type: double},\n"
        '      c: {type: "decimal(7,3)"}, m: {type: timestamp}}\n'
    )
    session = open_session(load(tmp_path / "policy.yaml"), create_ledger=True)
    found = session.execute("SELECT *, i + 1, x > 1 AS more FROM t WHERE 1 = 0", analyst="alice")
    assert [(c.name, c.type) for c in found.columns] == [
        ("i", "BIGINT"), ("b", "BOOLEAN"), ("s", "VARCHAR"), ("d", "DATE"), ("x", "DOUBLE"), ("c", "DECIMAL(7,3)"),
        ("m", "TIMESTAMP"), ("?column?", "BIGINT"), ("more", "BOOLEAN"),
    ]  # fmt: skip
    session.close()
