"""The Python module: PEP 249, and what differs because answers are noisy and charged."""

from __future__ import annotations

import datetime as dt
import gc
import shutil
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import dbapi20  # type: ignore[import-untyped]
import numpy as np
import pytest

import dpsql
from dpsql import dbapi
from dpsql.ledger import Ledger
from dpsql.parse import literal
from dpsql.result import ResultColumn

POLICY = """\
dpsql: 1
privacy: {epsilon: 1e6}
budget: {epsilon: 1e15, analysts: {poor: {epsilon: 1}}}
ledger: var/the.ledger
answers: off  # so that each query is charged, whatever tests asked before
tables:
  people:
    source: people.csv
    unit: row
    columns:
      name: {type: text, keys: [Ann, Bob, Cid]}
      age: {type: integer, bounds: [0, 100]}
      pay: {type: "decimal(10,2)", bounds: [0, 1000], nullable: true}
  drinks:
    source: drinks.csv
    public: true
"""
"""At ε = 1e6 no count is moved: the chance of any noise at all is below e^-1000000."""
PEOPLE = "name,age,pay\nAnn,30,10.50\nBob,40,\nAnn,50,20.25\n"
DRINKS = "drink,price,since,rare\ntea,1.5,2020-01-31,false\nwine,,2021-02-28,true\nale,3.25,2019-12-31,false\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dbapi")
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "drinks.csv").write_text(DRINKS)
    dpsql.connect(folder / "policy.yaml", create_ledger=True).close()
    return folder


@pytest.fixture(scope="module")
def kept(folder: Path):
    """Holds the session open, so that each test's connection shares it."""
    with dpsql.connect(folder / "policy.yaml") as connection:
        yield connection


@pytest.fixture
def connection(folder: Path, kept: dpsql.Connection):
    with dpsql.connect(folder / "policy.yaml", analyst="alice") as connection:
        yield connection


@pytest.fixture
def cursor(connection: dpsql.Connection) -> dpsql.Cursor:
    return connection.cursor()


# ---------------------------------------------------------------------------------------------- compliance


class TestCompliance(dbapi20.DatabaseAPI20Test):
    """The part of dbapi-compliance that makes no tables; the tests below do the rest with aggregates."""

    driver = dpsql

    @pytest.fixture(autouse=True)
    def _arguments(self, folder: Path, kept: dpsql.Connection) -> None:
        self.connect_args = (folder / "policy.yaml",)

    def tearDown(self) -> None:
        pass  # no tables to drop

    test_non_idempotent_close = None  # obsolete: closing twice is fine (PEP 249 says nothing)
    test_cursor_isolation = None
    test_description = None
    test_rowcount = None
    test_execute = None
    test_executemany = None
    test_fetchone = None
    test_fetchmany = None
    test_fetchall = None
    test_mixedfetch = None
    test_setinputsizes = None
    test_setoutputsize = None
    test_setoutputsize_basic = None
    test_None = None

    def test_nextset(self) -> None:
        """Drivers must override it."""
        with self._connect() as connection:
            assert connection.cursor().execute("SELECT 1").nextset() is None


def test_compliance_runs_all_that_needs_no_tables() -> None:
    names = [name for name in dir(TestCompliance) if name.startswith("test") and getattr(TestCompliance, name)]
    assert len(names) == 22


# ---------------------------------------------------------------------------------------------- statements


def test_two_lines(tmp_path: Path) -> None:
    shutil.copytree(Path(dbapi.__file__).parent / "demo", tmp_path / "demo")
    policy = tmp_path / "demo" / "pums.yaml"
    rows = dpsql.connect(policy, create_ledger=True).cursor().execute("SELECT COUNT(*) FROM people").fetchall()
    assert len(rows) == 1 and abs(rows[0][0] - 1000) < 60


def test_execute_returns_the_cursor_and_iterates(cursor: dpsql.Cursor) -> None:
    assert cursor.execute("SELECT name, COUNT(*) FROM people GROUP BY name") is cursor
    assert list(cursor) == [("Ann", 2), ("Bob", 1), ("Cid", 0)]
    assert list(cursor) == []


def test_description(cursor: dpsql.Cursor) -> None:
    assert cursor.description is None
    cursor.execute("SELECT name, COUNT(*), AVG(pay), CAST(1 AS DECIMAL(7,3)) AS d FROM people GROUP BY name")
    assert cursor.description is not None
    assert all(len(column) == 7 for column in cursor.description)
    assert [column[0] for column in cursor.description] == ["name", "count", "avg", "d"]
    assert [column[1] for column in cursor.description] == ["VARCHAR", "BIGINT", "DOUBLE", "DECIMAL(7,3)"]
    kinds = [dpsql.STRING, dpsql.NUMBER, dpsql.NUMBER, dpsql.NUMBER]
    assert [column[1] for column in cursor.description] == kinds
    assert cursor.description[3][4:6] == (7, 3)
    assert cursor.description[0][1] != dpsql.DATETIME


def test_description_of_lists_of_decimals() -> None:
    described = dbapi._described(ResultColumn("v", "DECIMAL(3,1)[]"))
    assert described == ("v", "DECIMAL(3,1)[]", None, None, None, None, None)


def test_type_objects() -> None:
    assert dpsql.DATETIME == "TIMESTAMP WITH TIME ZONE" and dpsql.DATETIME == "date"
    assert dpsql.BINARY == "BLOB" and dpsql.STRING != "BLOB"
    assert dpsql.NUMBER != "VARCHAR"
    assert dpsql.STRING == dpsql.STRING and dpsql.STRING != dpsql.NUMBER and dpsql.STRING != 5
    assert {dpsql.STRING, dpsql.NUMBER, dpsql.STRING} == {dpsql.STRING, dpsql.NUMBER}
    assert repr(dpsql.ROWID) == "dpsql.ROWID"


def test_constructors() -> None:
    assert dpsql.Date(2002, 12, 25) == dt.date(2002, 12, 25)
    assert dpsql.TimestampFromTicks(0).date() == dpsql.DateFromTicks(0)
    assert dpsql.TimestampFromTicks(0).time() == dpsql.TimeFromTicks(0)
    assert dpsql.Binary(b"x") == b"x"


def test_rowcount_and_rownumber(cursor: dpsql.Cursor) -> None:
    assert (cursor.rowcount, cursor.rownumber) == (-1, None)
    cursor.execute("SELECT name, COUNT(*) FROM people GROUP BY name")
    assert (cursor.rowcount, cursor.rownumber) == (3, 0)
    cursor.fetchone()
    assert (cursor.rowcount, cursor.rownumber) == (3, 1)


def test_fetching_mixed(cursor: dpsql.Cursor) -> None:
    cursor.execute("SELECT drink FROM drinks ORDER BY drink")
    assert cursor.arraysize == 1
    assert cursor.fetchmany() == [("ale",)]
    assert cursor.fetchone() == ("tea",)
    assert cursor.fetchmany(size=0) == []
    assert cursor.fetchmany(size=5) == [("wine",)]
    assert cursor.fetchone() is None and cursor.fetchmany(3) == [] and cursor.fetchall() == []
    cursor.arraysize = 2
    assert len(cursor.execute("SELECT drink FROM drinks").fetchmany()) == 2
    assert len(cursor.fetchall()) == 1
    with pytest.raises(dpsql.InterfaceError):
        cursor.fetchmany(-1)


def test_null_and_types(cursor: dpsql.Cursor) -> None:
    cursor.execute("SELECT price, since, rare FROM drinks WHERE drink = 'wine'")
    assert cursor.fetchall() == [(None, dt.date(2021, 2, 28), True)]


@pytest.mark.parametrize("method", ["fetchone", "fetchmany", "fetchall", "nextset", "__next__"])
def test_fetching_before_execute_is_an_error(cursor: dpsql.Cursor, method: str) -> None:
    with pytest.raises(dpsql.Error, match="nothing was executed"):
        getattr(cursor, method)()


def test_a_refused_statement_leaves_no_rows(cursor: dpsql.Cursor) -> None:
    cursor.execute("SELECT COUNT(*) FROM people")
    with pytest.raises(dpsql.NotReleasable):
        cursor.execute("SELECT age FROM people")
    assert cursor.description is None and cursor.rowcount == -1 and cursor.privacy is None
    with pytest.raises(dpsql.InterfaceError):
        cursor.fetchall()


def test_the_rest_of_pep_249(cursor: dpsql.Cursor) -> None:
    cursor.setinputsizes((25,))
    cursor.setoutputsize(1000)
    cursor.setoutputsize(2000, 0)
    cursor.execute("SELECT 1")
    assert cursor.nextset() is None
    assert cursor.connection.cursor().connection is cursor.connection


# ---------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("SELECT COUNT(*) FROM people WHERE age > ? AND name = ?", (35, "Ann")),
        ("SELECT COUNT(*) FROM people WHERE age > ? AND name = ?", [Decimal("35"), "Ann"]),
        ("SELECT COUNT(*) FROM people WHERE name = $2 AND age > $1", (35.0, "Ann")),
        ("SELECT COUNT(*) FROM people WHERE age > :age AND name = :who", {"age": 35, "who": "Ann"}),
        ("SELECT COUNT(*) FROM people WHERE age > 35 AND name = 'Ann'", None),
    ],
)
def test_parameters(cursor: dpsql.Cursor, sql: str, parameters: object) -> None:
    assert cursor.execute(sql, parameters).fetchall() == [(1,)]  # type: ignore[arg-type]


@pytest.mark.parametrize("parameters", ["x", b"x", 5, {1}, (), (1, 2), {"a": 1}, (object(),), (float("nan"),)])
def test_wrong_parameters_are_refused_free(cursor: dpsql.Cursor, parameters: object) -> None:
    before = _charged(cursor)
    with pytest.raises(dpsql.InvalidParameter):
        cursor.execute("SELECT COUNT(*) FROM people WHERE age > ?", parameters)  # type: ignore[arg-type]
    assert _charged(cursor) == before


@pytest.mark.parametrize("sql", [None, b"SELECT 1", 1])
def test_statements_are_text(cursor: dpsql.Cursor, sql: object) -> None:
    with pytest.raises(dpsql.ProgrammingError, match="not text"):
        cursor.execute(sql)  # type: ignore[arg-type]


def test_executemany_is_refused_free(cursor: dpsql.Cursor) -> None:
    before = _charged(cursor)
    with pytest.raises(dpsql.NotSupportedError, match="executemany"):
        cursor.executemany("SELECT COUNT(*) FROM people WHERE age > ?", [(1,), (2,)])
    assert _charged(cursor) == before


# ---------------------------------------------------------------------------------------------- privacy


def _charged(cursor: dpsql.Cursor) -> int:
    return cursor.connection.session.ledger.totals().count


def test_privacy_of_an_answer(cursor: dpsql.Cursor) -> None:
    assert cursor.privacy is None
    cursor.execute("SELECT name, COUNT(*), AVG(age), COUNT(*) * 2 AS twice FROM people GROUP BY name", epsilon="0.5")
    privacy = cursor.privacy
    assert privacy is not None and privacy.analyst == "alice" and privacy.level == 0.95
    assert privacy.epsilon_charged == Fraction(1, 2)
    name, count, mean, twice = privacy.half_widths
    assert name is None and isinstance(twice, tuple) and len(twice) == 3
    assert isinstance(count, float) and count > 0
    assert isinstance(mean, tuple) and len(mean) == 3
    assert str(privacy).startswith("charged ε 0.5, ")
    unknown, counts, means, doubled = privacy.intervals
    assert unknown is None and counts is not None and means is not None and doubled is not None
    for (*_, two), (low, high), whole in zip(cursor.fetchall(), doubled, counts, strict=True):  # type: ignore[misc]
        assert low <= two <= high or (two == 0 and high < 0)  # the interval is of the count before it is shown as 0
        assert all(isinstance(end, int) for end in whole or ())
    assert all(pair is not None and pair[0] <= pair[1] for pair in means)


def test_intervals_outlive_the_connection(folder: Path, kept: dpsql.Connection) -> None:
    """They are worked out when they are looked at, in an engine of their own."""
    with dpsql.connect(folder / "policy.yaml", analyst="alice", epsilon="0.5") as connection:
        privacy = connection.cursor().execute("SELECT COUNT(*) + 1 AS n FROM people").privacy
    assert privacy is not None
    ((pair,),) = privacy.intervals  # type: ignore[misc]
    assert pair[0] < pair[1]


def test_level_of_statement_and_connection(folder: Path, kept: dpsql.Connection) -> None:
    sql = "SELECT COUNT(*) FROM people"
    with dpsql.connect(folder / "policy.yaml", analyst="alice", epsilon="0.5", level=0.5) as connection:
        (low,), (high,) = (
            connection.cursor().execute(sql, level=level).privacy.half_widths for level in (None, "0.99")
        )
        assert low < high
        assert connection.cursor().execute(sql).privacy.level == 0.5
    with pytest.raises(dpsql.InvalidParameter):
        dpsql.connect(folder / "policy.yaml", level=2)


def test_public_answers_are_free(cursor: dpsql.Cursor) -> None:
    before = _charged(cursor)
    cursor.execute("SELECT COUNT(*) FROM drinks")
    assert cursor.fetchall() == [(3,)]
    assert cursor.privacy is not None and cursor.privacy.epsilon_charged == 0
    assert cursor.privacy.half_widths == (None,)
    assert _charged(cursor) == before


def test_epsilon_of_statement_connection_and_policy(folder: Path, kept: dpsql.Connection) -> None:
    def charged(connection: dpsql.Connection, epsilon: object) -> Fraction:
        privacy = connection.cursor().execute("SELECT COUNT(*) FROM people", epsilon=epsilon).privacy
        assert privacy is not None
        return privacy.epsilon_charged

    with (
        dpsql.connect(folder / "policy.yaml", epsilon=0.1) as own,
        dpsql.connect(folder / "policy.yaml") as policys,
    ):
        assert charged(own, None) == Fraction(1, 10)
        assert charged(own, "0.25") == Fraction(1, 4)
        assert charged(policys, None) == 10**6


def test_explain_is_free(cursor: dpsql.Cursor) -> None:
    before = _charged(cursor)
    text = cursor.explain("SELECT COUNT(*) FROM people WHERE age > ?", (5,), epsilon=2)
    assert "discrete Laplace" in text and "charged 2" in text
    assert '"epsilon_charged": 2' in cursor.explain("SELECT COUNT(*) FROM people", epsilon=2, format="json")
    assert cursor.execute("EXPLAIN SELECT COUNT(*) FROM people").rowcount > 1
    assert _charged(cursor) == before
    with pytest.raises(dpsql.InvalidParameter):
        cursor.explain("SELECT 1", format="xml")  # type: ignore[arg-type]


def test_commit_and_rollback_refund_nothing(cursor: dpsql.Cursor) -> None:
    before = _charged(cursor)
    cursor.execute("SELECT COUNT(*) FROM people", epsilon=1000)
    cursor.connection.rollback()
    cursor.connection.commit()
    assert _charged(cursor) == before + 1
    assert cursor.fetchall() == [(3,)]


def test_budget_exhausted(folder: Path, kept: dpsql.Connection) -> None:
    with dpsql.connect(folder / "policy.yaml", analyst="poor") as connection:
        with pytest.raises(dpsql.BudgetExhausted) as caught:
            connection.cursor().execute("SELECT COUNT(*) FROM people", epsilon=2)
        assert isinstance(caught.value, dpsql.OperationalError) and caught.value.sqlstate == "53400"
        assert caught.value.hint is not None


def test_cursors_keep_only_noisy_rows(cursor: dpsql.Cursor) -> None:
    def kept() -> int:
        gc.collect()
        return sum(type(item).__name__ == "ExactRows" for item in gc.get_objects())

    before = kept()  # of exceptions that other tests keep, with the frames that they passed
    cursor.execute("SELECT COUNT(*) FROM people")
    assert kept() == before


# ---------------------------------------------------------------------------------------------- connections


def test_closed_connections_and_cursors(connection: dpsql.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("SELECT 1")
    cursor.close()
    cursor.close()
    for use in (cursor.fetchall, lambda: cursor.execute("SELECT 1"), lambda: cursor.setinputsizes(())):
        with pytest.raises(dpsql.InterfaceError):
            use()
    other = connection.cursor()
    connection.close()
    connection.close()
    for use in (connection.cursor, connection.commit, connection.rollback, lambda: other.execute("SELECT 1")):
        with pytest.raises(dpsql.InterfaceError):
            use()
    assert "closed" in repr(connection)


def test_context_managers(folder: Path, kept: dpsql.Connection) -> None:
    with dpsql.connect(folder / "policy.yaml", analyst="bob") as connection, connection.cursor() as cursor:
        assert cursor.execute("SELECT 1").fetchone() == (1,)
        assert repr(connection) == "<dpsql.Connection of 'bob', open>"
    with pytest.raises(dpsql.InterfaceError):
        cursor.fetchone()
    with pytest.raises(dpsql.InterfaceError):
        connection.cursor()


def test_connections_share_a_session_until_the_last_closes(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    policy = tmp_path / "copy" / "policy.yaml"
    one, two = dpsql.connect(policy), dpsql.connect(str(policy), analyst="bob")
    session = one.session
    assert two.session is session
    one.close()
    assert two.cursor().execute("SELECT COUNT(*) FROM people").fetchall() == [(3,)]
    del two
    gc.collect()
    assert all(shared.session is not session for shared in dbapi._sessions.values())
    with dpsql.connect(policy) as three:
        assert three.session is not session
        policy.write_text(POLICY.replace("epsilon: 1e6", "epsilon: 1e5"))
        with dpsql.connect(policy) as four:
            assert four.session is not three.session


def test_threads_share_a_connection(connection: dpsql.Connection) -> None:
    answers: list[object] = []

    def ask() -> None:
        cursor = connection.cursor()
        for _ in range(5):
            answers.append(cursor.execute("SELECT COUNT(*) FROM people WHERE age > 35").fetchone())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(2,)] * 40


def test_the_default_analyst_is_the_systems_user(
    folder: Path, kept: dpsql.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody-else")
    with dpsql.connect(folder / "policy.yaml") as connection:
        assert connection.analyst and connection.analyst != "somebody-else"


@pytest.mark.parametrize("arguments", [{"epsilon": "none"}, {"epsilon": -1}, {"analyst": ""}, {"analyst": "*"}])
def test_wrong_arguments_of_connect(folder: Path, kept: dpsql.Connection, arguments: dict[str, object]) -> None:
    with pytest.raises(dpsql.InvalidParameter):
        dpsql.connect(folder / "policy.yaml", **arguments)  # type: ignore[arg-type]


def test_what_connect_refuses(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(dpsql.PolicyError):
        dpsql.connect(tmp_path / "absent.yaml")
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.replace("age: {type: integer", "agee: {type: integer"))
    shutil.copy(folder / "people.csv", tmp_path)
    shutil.copy(folder / "drinks.csv", tmp_path)
    with pytest.raises(dpsql.PolicyError, match="no column agee"):
        dpsql.connect(policy, create_ledger=True)
    policy.write_text(POLICY)
    with pytest.raises(dpsql.LedgerError) as caught:
        dpsql.connect(policy)
    assert "--create" in str(caught.value)
    dpsql.connect(policy, create_ledger=True).close()
    dpsql.connect(policy, create_ledger=True).close()
    with Ledger.open(tmp_path / "var" / "the.ledger") as ledger:
        assert ledger.totals().count == 0


def test_numpy_scalars_are_parameters() -> None:
    for value in (np.int64(5), np.float64(0.5), np.bool_(True), np.str_("a")):
        assert literal(value) == literal(value.item())
    with pytest.raises(dpsql.InvalidParameter):
        literal(np.datetime64("2024-01-01", "ns"))  # its item is a number
