"""The rules of the protocol that privacy needs (THREATS H5, H8 to H13): what is charged, and what no byte tells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dpsql.audit.replay import RecordingNoise
from dpsql.policy import load
from dpsql.session import Session, open_session
from dpsql.wire import messages as m
from dpsql.wire.asking import Asker
from dpsql.wire.backend import Backend
from dpsql.wire.catalogue import Catalogue
from dpsql.wire.types import oids
from tests.harness import bench, make_policy
from tests.wire.client import Client, Reply, Row, errors
from tests.wire.clinic import charges, connect, opened, write

COUNTS = "SELECT city, COUNT(*) AS n, AVG(age) AS mean FROM visits GROUP BY city"
BY_AGE = "SELECT city, COUNT(*) AS n FROM visits WHERE age > $1 GROUP BY city"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with opened(tmp_path) as made:
        yield made


@pytest.fixture
def client(session: Session) -> Client:
    """Its answers are noisy: no two of them are equal but by chance of some 1e-6."""
    made = connect(session)
    made.query("SET dpsql.epsilon = 0.001")
    return made


def rows(found: list[Reply]) -> list[tuple[bytes | None, ...]]:
    assert not errors(found), found
    return [reply.values for reply in found if isinstance(reply, Row)]


@contextmanager
def untouched(session: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing reads data or charges."""
    before = charges(session)

    def touched(*_: object, **__: object) -> None:
        raise AssertionError("the data was read")

    with monkeypatch.context() as patch:
        patch.setattr(session.engine, "transaction", touched)
        patch.setattr(session.ledger, "charge", touched)
        yield
    assert charges(session) == before


# ---------------------------------------------------------------------------------------------- H8


def test_preparing_and_describing_read_nothing_and_are_free(
    client: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with untouched(session, monkeypatch):
        for sql, values in ((COUNTS, ()), (BY_AGE, (b"30",)), (f"COPY ({COUNTS}) TO STDOUT", ()),
                            (f"DECLARE c CURSOR FOR {BY_AGE}", (b"30",))):  # fmt: skip
            found = client.send(
                m.Parse("s", sql), m.Describe("S", "s"), m.Bind("p", "s", (), values), m.Describe("P", "p"),
                m.Describe("P", "p"), m.Flush(), m.Close("P", "p"), m.Close("S", "s"), m.Sync(),
            )  # fmt: skip
            assert not errors(found), found
    assert rows(client.query(COUNTS))


def test_a_portal_is_one_release_however_it_is_fetched(client: Client, session: Session) -> None:
    client.query("BEGIN")
    found = client.send(
        m.Parse("s", COUNTS), m.Bind("p", "s"), m.Describe("P", "p"), m.Execute("p", 1), m.Sync(),
        m.Describe("P", "p"), m.Execute("p", 1), m.Sync(), m.Execute("p", 1), m.Execute("p"), m.Sync(),
    )  # fmt: skip
    assert [row[0] for row in rows(found)] == [b"Oslo", b"Bergen"]
    tags = [r.tag if isinstance(r, m.CommandComplete) else "…" for r in found
            if isinstance(r, (m.CommandComplete, m.PortalSuspended))]  # fmt: skip
    assert tags == ["…", "…", "SELECT 0", "SELECT 0"]
    assert len([r for r in found if isinstance(r, m.NoticeResponse)]) == 1
    assert charges(session) == 1


def test_a_cursor_is_one_release_by_whatever_it_is_fetched(client: Client, session: Session) -> None:
    client.query(f"BEGIN; DECLARE c CURSOR WITH HOLD FOR {COUNTS}")
    first = rows(client.query("FETCH 1 FROM c"))
    second = rows(client.send(m.Execute("c", 1), m.Sync()))
    client.query("COMMIT")
    assert [r[0] for r in first + second] == [b"Oslo", b"Bergen"]
    assert rows(client.query("FETCH ALL FROM c")) == []
    assert charges(session) == 1


def test_a_portal_gives_the_same_release_in_any_format(client: Client, session: Session) -> None:
    """A held cursor, read in text and in binary from the start of each row: one number, twice."""
    client.query(f"BEGIN; DECLARE c CURSOR FOR {COUNTS}")
    (text,) = rows(client.query("FETCH 1 FROM c"))
    (binary,) = rows(client.send(m.Parse("", "FETCH 1 FROM c"), m.Bind("", "", (), (), (1,)), m.Execute(""), m.Sync()))
    assert text[0] == b"Oslo" and binary[0] == b"Bergen" and binary[1] is not None and len(binary[1]) == 8
    assert charges(session) == 1


def test_describing_and_then_copying_charges_once(client: Client, session: Session) -> None:
    """What ADBC and connectorx do: prepare and describe the query, then copy it."""
    found = client.send(m.Parse("", COUNTS), m.Describe("S", ""), m.Sync())
    assert not errors(found) and charges(session) == 0
    copy = f"COPY ({COUNTS}) TO STDOUT (FORMAT binary)"
    found = client.send(m.Parse("", copy), m.Bind("", ""), m.Execute(""), m.Sync())
    assert not errors(found) and charges(session) == 1


def test_what_is_refused_is_refused_before_the_charge(
    client: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with untouched(session, monkeypatch):
        for requests in (
            [m.Query("SELECT * FROM visits")],
            [m.Query("COPY (SELECT age FROM visits) TO STDOUT")],
            [m.Query("BEGIN; DECLARE c CURSOR FOR SELECT age FROM visits")],
            [m.Parse("", COUNTS), m.Bind("", "", (), (), (0, 1)), m.Execute(""), m.Sync()],
            [m.Query(f"COPY ({COUNTS}) TO STDOUT (FORMAT csv, DELIMITER 'xy')")],
        ):
            assert errors(client.send(*requests))
            client.query("ROLLBACK")


# ---------------------------------------------------------------------------------------------- H9

CHATTER = [
    "BEGIN", "BEGIN READ ONLY;", "begin transaction", "SELECT 1", "select pg_catalog.version()", "SELECT version();",
    "select current_schema()", "show transaction isolation level", "SHOW standard_conforming_strings",
    'SAVEPOINT "_pg3_1"', 'RELEASE "_pg3_1"', "COMMIT", "SET extra_float_digits = 3", "SET TIMEZONE = UTC",
    "SET application_name = 'PostgreSQL JDBC Driver'", "SET SESSION search_path TO 'public'", "show time zone",
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SHOW server_version_num",
    "SET DateStyle = 'ISO';SET extra_float_digits = 2;show transaction_isolation", "", "SET client_encoding TO 'UTF8'",
    "SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;", "SELECT CURRENT_DATABASE()",
    "DISCARD ALL", "SELECT current_setting('server_version_num')", "SELECT pg_is_in_recovery()", "show search_path",
    "SHOW dpsql.budget", "SELECT * FROM dpsql.budget", "SELECT * FROM dpsql.charges", "SELECT * FROM dpsql.columns",
    f"EXPLAIN {COUNTS}", f"SELECT * FROM ({COUNTS}) q LIMIT 0", f"SELECT * FROM ({COUNTS}) AS q WHERE 1 = 0 LIMIT 0",
]  # fmt: skip


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session that nothing is asked of."""
    with opened(tmp_path_factory.mktemp("quiet")) as made:
        yield made


@pytest.mark.parametrize("sql", CHATTER)
def test_what_drivers_and_tools_ask_by_themselves_is_free(
    quiet: Session, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    client, session = connect(quiet), quiet
    if "_pg3_1" in sql:
        client.query('BEGIN; SAVEPOINT "_pg3_1"')
    with untouched(session, monkeypatch):
        assert not errors(client.query(sql)), client.query(sql)
        if ";" not in sql.rstrip(";"):
            found = client.send(m.Parse("", sql), m.Describe("S", ""), m.Bind("", ""), m.Execute(""), m.Sync())
            assert not errors(found) or "RELEASE" in sql


def test_no_rows_are_asked_for_and_none_read(client: Client, session: Session) -> None:
    found = client.query(f"SELECT * FROM ({COUNTS}) q LIMIT 0")
    assert found[0] == m.RowDescription((m.Field("city", 25, -1), m.Field("n", 20, 8), m.Field("mean", 701, 8)))
    assert found[1:] == [m.CommandComplete("SELECT 0"), m.ReadyForQuery("I")] and charges(session) == 0


def test_a_dry_run_is_free(client: Client, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    client.query("SET dpsql.dry_run = on")
    with untouched(session, monkeypatch):
        found = client.query(COUNTS)
        assert rows(found)[0][0] == b"epsilon 0.001, charged 0.001; 1e+09 left, 1e+09 after"
        assert found[0] == m.RowDescription((m.Field("QUERY PLAN", 25, -1),))
        extended = client.send(
            m.Parse("", BY_AGE), m.Describe("S", ""), m.Bind("", "", (), (b"3",)), m.Execute(""), m.Sync()
        )
        assert b"COUNT(*)" in b"".join(r[0] or b"" for r in rows(extended))
    client.query("RESET dpsql.dry_run")
    assert [row[0] for row in rows(client.query(COUNTS))] == [b"Oslo", b"Bergen"] and charges(session) == 1


# ---------------------------------------------------------------------------------------------- H10


@pytest.mark.parametrize(
    "sql",
    [
        f"BEGIN; {COUNTS}; ROLLBACK", f"BEGIN; SAVEPOINT s; {COUNTS}; ROLLBACK TO s; COMMIT",
        f"BEGIN; {COUNTS}; SELECT nosuch FROM visits; COMMIT", f"{COUNTS}; SELECT nosuch FROM visits",
        f"BEGIN; DECLARE c CURSOR FOR {COUNTS}; CLOSE c; ROLLBACK", f"BEGIN; COPY ({COUNTS}) TO STDOUT; ABORT",
    ],
)  # fmt: skip
def test_no_end_of_a_transaction_refunds(client: Client, session: Session, sql: str) -> None:
    left = session.ledger.remaining("bob", session.policy.budget).epsilon
    client.query(sql)
    client.query("ROLLBACK")
    after = session.ledger.remaining("bob", session.policy.budget).epsilon
    assert left is not None and after is not None and left - after == session.epsilon("0.001")
    assert charges(session) == 1


def test_a_statement_that_is_cancelled_while_it_runs_stays_charged(client: Client, session: Session) -> None:
    def late(job: Any) -> bool:
        asks = "answer" in repr(job.run)
        if asks:
            job.run()  # it ends, and nobody waits for its answer any more
        return asks

    client.cancel = late
    assert errors(client.query(COUNTS))[0].sqlstate == "57014" and charges(session) == 1


# ---------------------------------------------------------------------------------------------- H11

NEIGHBOURS = """  people:
    source: t.parquet
    unit: row
    columns:
      age: {type: integer, bounds: [0, 100]}
      city: {type: text, keys: [Oslo, Bergen]}
      note: {type: text}
"""
COLUMNS = {"people": {"age": "INTEGER", "city": "VARCHAR", "note": "VARCHAR"}}
GROUPS = "SELECT city, COUNT(*) AS n, SUM(age) AS years, AVG(age) AS mean FROM people GROUP BY city"
CONVERSATION: list[m.Request] = [
    m.Query(GROUPS), m.Query(f"SELECT city FROM ({GROUPS}) q WHERE n > 20"), m.Query(f"COPY ({GROUPS}) TO STDOUT"),
    m.Query("SELECT COUNT(*) FROM people WHERE note = 'victim-4711' AND age > 30"),
    m.Query("BEGIN"), m.Query(f"DECLARE c CURSOR FOR {GROUPS} ORDER BY n DESC"), m.Query("FETCH 1 FROM c; FETCH ALL c"),
    m.Parse("s", GROUPS), m.Bind("p", "s", (), (), (1,)), m.Describe("P", "p"), m.Execute("p", 1), m.Execute("p"),
    m.Sync(),
    m.Query("COMMIT"), m.Query("SELECT age FROM people"), m.Query(f"EXPLAIN {GROUPS}"), m.Query("SHOW dpsql.budget"),
    m.Query("SELECT * FROM dpsql.tables"), m.Query("SELECT * FROM dpsql.columns"), m.Query("SELECT * FROM pg_class"),
    m.Query("SELECT nosuch FROM people"),
    m.Query(f"COPY ({GROUPS}) TO STDOUT (FORMAT binary)"), m.Query("SELECT SUM(CAST(note AS INTEGER)) FROM people"),
]  # fmt: skip


@pytest.mark.slow
def test_on_neighbouring_data_every_byte_is_the_same() -> None:
    """Noise that freezes the noisy numbers leaves nothing else to differ: rows, tags, notices, errors, descriptions."""
    people = [["40", "'Oslo'", "'7'"]] * 30
    shown = []
    for victim in ([], [["1000000", "'Bergen'", "'victim-4711'"]], [["NULL", "'elsewhere'", "NULL"]]):
        made = bench(make_policy(NEIGHBOURS, dialect="postgres"), COLUMNS, RecordingNoise())
        made.engine.set_rows("people", [*people, *victim])
        catalogue = Catalogue(made.session)
        client = Client(Backend(Asker(made.session, catalogue, "anyone", "clinic"), {"user": "anyone"}))
        shown.append([client.send(request) for request in CONVERSATION])
        catalogue.close()
    assert shown[0] == shown[1] == shown[2]
    text = repr(shown[0])
    assert "CommandComplete(tag='SELECT 2')" in text and "CopyData" in text and "PortalSuspended" in text
    assert [e.sqlstate for found in shown[0] for e in errors(found)] == ["42501", "42703", "22023"]


def test_tags_count_noisy_rows(client: Client) -> None:
    found = client.query(f"SELECT city FROM ({COUNTS}) q WHERE n > 1000000000")
    assert m.CommandComplete("SELECT 0") in found
    found = client.query(f"COPY (SELECT city FROM ({COUNTS}) q WHERE n >= 0) TO STDOUT")
    assert m.CommandComplete("COPY 2") in found


# ---------------------------------------------------------------------------------------------- H5, faults


def test_what_an_engine_says_never_reaches_a_client(
    client: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Transaction:
        version = session.engine.version

        def fetch(self, *_: object) -> None:
            raise ValueError("Could not convert string 'canary-4711' to INT32")

    @contextmanager
    def failing() -> Iterator[Transaction]:
        yield Transaction()

    monkeypatch.setattr(session.engine, "transaction", failing)
    for request in ([m.Query(COUNTS)], [m.Query(f"COPY ({COUNTS}) TO STDOUT")],
                    [m.Parse("", COUNTS), m.Bind("", ""), m.Execute(""), m.Sync()]):  # fmt: skip
        found = client.send(*request)
        (error,) = errors(found)
        assert error.sqlstate == "XX000" and "canary" not in repr(found) and "INT32" not in repr(found)
    (error,) = errors(client.query(COUNTS))
    assert error.sqlstate == "55000"  # locked, as everywhere, after three failures


def test_an_exhausted_budget(session: Session) -> None:
    poor = connect(session, "poor")
    (error,) = errors(poor.query(COUNTS))
    assert error.sqlstate == "53400" and charges(session) == 0
    poor.query("SET dpsql.epsilon = 0.25")
    for _ in range(4):
        poor.query(BY_AGE.replace("$1", str(charges(session))))
    assert errors(poor.query(COUNTS))[0].sqlstate == "53400" and charges(session) == 4
    assert poor.rows("SHOW dpsql.budget") == [("0 of 1 left",)]


# ---------------------------------------------------------------------------------------------- H12, H13


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    ["SET SESSION AUTHORIZATION alice", "SET ROLE alice", "SET session_authorization = alice", "SET role = alice",
     "SET user = alice", "SET dpsql.analyst = alice", "SET application_name = 'alice'"],
)  # fmt: skip
def test_no_statement_changes_who_is_charged(client: Client, session: Session, sql: str) -> None:
    client.query(sql)
    assert rows(client.query(COUNTS))
    assert (charges(session, "bob"), charges(session, "alice")) == (1, 0)
    assert client.rows("SELECT current_user") == [("bob",)]


@pytest.mark.parametrize("name", ["role", "user", "session_authorization", "dpsql.analyst", "noise", "seed"])
def test_no_setting_of_the_startup_changes_who_is_charged_or_how(session: Session, name: str) -> None:
    from dpsql.wire.refusals import Farewell

    with pytest.raises(Farewell):
        connect(session, options=f"-c {name}=alice")
    made = Client(Backend(Asker(session, Catalogue(session), "bob", "x"), {"user": "alice"}))
    made.query(COUNTS)
    assert (charges(session, "bob"), charges(session, "alice")) == (1, 0)


def test_an_analyst_reads_nobody_else_s_charges(session: Session) -> None:
    connect(session, "alice").query(COUNTS)
    bob = connect(session)
    assert bob.rows("SELECT * FROM dpsql.charges") == []
    assert bob.rows("SELECT epsilon_charged FROM dpsql.budget") == [("0",)]
    assert bob.rows("SELECT * FROM dpsql.charges WHERE query LIKE '%visits%' OR 1 = 1") == []


@pytest.fixture
def storing(tmp_path: Path) -> Iterator[Session]:
    """A session that stores its answers."""
    with opened(tmp_path, answers="per_analyst") as made:
        yield made


def test_a_statement_that_is_sent_twice_is_charged_once(storing: Session) -> None:
    """A pooler sends a statement again, on another connection, another way, in other words that mean the same."""
    found = []
    for sql in (COUNTS, COUNTS.replace(" FROM", "\n  FROM"), f"{COUNTS} -- again"):
        asking = connect(storing)
        asking.query("SET dpsql.epsilon = 0.001")
        found.append(rows(asking.query(sql)))
        found.append(rows(asking.send(m.Parse("", sql), m.Bind("", ""), m.Execute(""), m.Sync())))
    assert len({tuple(answer) for answer in found}) == 1 and charges(storing) == 1
    notices = [r.message for r in asking.query(COUNTS) if isinstance(r, m.NoticeResponse)]
    assert notices[0].startswith("nothing charged (stored ")


def test_a_query_and_its_copy_are_charged_once(storing: Session) -> None:
    """As connectorx does that describes by running, and whoever looks at rows before copying them."""
    asking = connect(storing)
    asking.query("SET dpsql.epsilon = 0.001")
    shown = rows(asking.query(COUNTS))
    copied = [r.data for r in asking.query(f"COPY ({COUNTS}) TO STDOUT") if isinstance(r, m.CopyData)]
    assert copied == [b"\t".join(v or b"" for v in row) + b"\n" for row in shown] and charges(storing) == 1
    asking.query("SET dpsql.epsilon = 0.002")
    asking.query(COUNTS)
    assert charges(storing) == 2


def test_nobody_gets_another_s_stored_answer(storing: Session) -> None:
    for analyst in ("alice", "bob"):
        asking = connect(storing, analyst)
        asking.query("SET dpsql.epsilon = 0.001")
        asking.query(COUNTS)
    assert (charges(storing, "alice"), charges(storing, "bob")) == (1, 1)


# ---------------------------------------------------------------------------------------------- errors


def test_error_columns_are_described_and_sent(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "policy.yaml"
    path.write_text(path.read_text().replace("privacy: {epsilon: 1e6", "privacy: {error_columns: true, epsilon: 1"))
    session = open_session(load(path), create_ledger=True)
    client = connect(session)
    sql = "SELECT city, COUNT(*) AS n, 1.0 * SUM(age) / COUNT(*) AS r FROM visits GROUP BY city ORDER BY 2"
    found = client.send(m.Parse("s", sql), m.Describe("S", "s"), m.Bind("p", "s", (), ()), m.Execute("p", 0), m.Sync())
    (described,) = (reply for reply in found if isinstance(reply, m.RowDescription))
    assert [(f.name, f.type) for f in described.fields] == [
        ("city", oids.TEXT), *[(name, oids.INT8) for name in ("n", "n_low", "n_high")],
        *[(name, oids.FLOAT8) for name in ("r", "r_low", "r_high")],
    ]  # fmt: skip
    for _, *numbers in rows(found):
        n, low, high, ratio, least, most = (float(number or "nan") for number in numbers)
        assert low < n < high and not (ratio < least or most < ratio)
    session.close()


def test_notices_draw_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes many draws is not worked out for a notice that nobody may read."""

    def drawn(*_: object) -> None:
        raise AssertionError("it was drawn")

    monkeypatch.setattr("dpsql.session.drawn_ends", drawn)
    with opened(tmp_path) as session:
        found = connect(session).query("SELECT COUNT(*) AS n, AVG(age) AS m, COUNT(*) + 1 AS c FROM visits")
    (notice,) = (reply for reply in found if isinstance(reply, m.NoticeResponse))
    assert "n " in notice.message and "m " in notice.message and "c " not in notice.message.partition("%")[2]
