"""Requests and their answers, without sockets: simple and extended queries, portals, cursors, copies, transactions."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.session import Session
from dpsql.wire import backend as limits
from dpsql.wire import messages as m
from dpsql.wire.catalogue import Catalogue
from dpsql.wire.refusals import Farewell
from dpsql.wire.types import oids
from tests.harness import examples
from tests.wire.client import Client, Reply, Row, errors, kinds
from tests.wire.clinic import charges, connect, opened

COUNTS = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
BY_AGE = "SELECT city, COUNT(*) AS n FROM visits WHERE age > $1 AND city <> $2 GROUP BY city"
NOTICE = "charged ε 1000000, 999000000 of 1000000000 left; ± at 95 %: n 0"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with opened(tmp_path_factory.mktemp("clinic")) as made:
        yield made


@pytest.fixture(scope="module")
def catalogue(session: Session) -> Iterator[Catalogue]:
    made = Catalogue(session)
    yield made
    made.close()


@pytest.fixture
def client(session: Session, catalogue: Catalogue) -> Client:
    return connect(session, catalogue=catalogue)


def values(found: list[Reply]) -> list[tuple[bytes | None, ...]]:
    return [reply.values for reply in found if isinstance(reply, Row)]


def ready(found: list[Reply]) -> str:
    last = found[-1]
    assert isinstance(last, m.ReadyForQuery)
    return last.status


# ---------------------------------------------------------------------------------------------- simple queries


def test_a_simple_query(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        assert connect(session).query(COUNTS) == [
            m.RowDescription((m.Field("city", oids.TEXT, -1), m.Field("n", oids.INT8, 8))),
            Row((b"Oslo", b"2")),
            Row((b"Bergen", b"2")),
            m.NoticeResponse(NOTICE),
            m.CommandComplete("SELECT 2"),
            m.ReadyForQuery("I"),
        ]


@pytest.mark.parametrize("sql", ["", ";;", " -- nothing\n"])
def test_an_empty_query(client: Client, sql: str) -> None:
    assert client.query(sql) == [m.EmptyQueryResponse(), m.ReadyForQuery("I")]
    found = client.send(m.Parse("", sql), m.Bind("", ""), m.Describe("P", ""), m.Execute(""), m.Sync())
    assert kinds(found) == ["ParseComplete", "BindComplete", "NoData", "EmptyQueryResponse", "ReadyForQuery"]


def test_statements_after_one_another_until_one_fails(client: Client, session: Session) -> None:
    before = charges(session)
    sql = f"SELECT 1; {COUNTS}; SELECT nosuch FROM visits; {COUNTS}"
    found = client.query(sql)
    assert [r.tag for r in found if isinstance(r, m.CommandComplete)] == ["SELECT 1", "SELECT 2"]
    (error,) = errors(found)
    assert (error.sqlstate, error.position) == ("42703", sql.index("nosuch") + 1)
    assert ready(found) == "I" and charges(session) == before + 1


def test_free_statements_have_no_notice(client: Client) -> None:
    for sql in ("SELECT 1", "SELECT * FROM codes", "EXPLAIN SELECT COUNT(*) FROM visits", "SELECT version()"):
        assert not any(isinstance(r, m.NoticeResponse) for r in client.query(sql))


def test_notices_may_be_turned_off(client: Client) -> None:
    client.query("SET client_min_messages = warning")
    assert not any(isinstance(r, m.NoticeResponse) for r in client.query(COUNTS))


def test_explain_gives_rows(client: Client, session: Session) -> None:
    before = charges(session)
    rows = client.rows(f"EXPLAIN {COUNTS}")
    assert rows[0][0] is not None and rows[0][0].startswith("epsilon 1e+06, charged 1e+06")
    assert charges(session) == before


def test_a_refusal_tells_where_and_what_instead(client: Client) -> None:
    found = client.query("  SELECT age FROM visits")
    assert found == [
        m.ErrorResponse(
            "42501",
            "this query returns rows of the private table visits; only aggregates of them can be released",
            "ask for an aggregate: SELECT COUNT(*) FROM visits",
            10,
        ),
        m.ReadyForQuery("I"),
    ]


# ---------------------------------------------------------------------------------------------- extended queries


def test_an_extended_query_with_binary_values(client: Client) -> None:
    found = client.send(
        m.Parse("s", BY_AGE, (oids.INT4, 0)),
        m.Describe("S", "s"),
        m.Bind("", "s", (1, 0), (struct.pack("!i", 30), b"Bergen"), (0, 1)),
        m.Describe("P", ""),
        m.Execute(""),
        m.Sync(),
    )
    fields = (m.Field("city", oids.TEXT, -1), m.Field("n", oids.INT8, 8))
    assert found[:4] == [
        m.ParseComplete(),
        m.ParameterDescription((oids.INT4, oids.TEXT)),
        m.RowDescription(fields),
        m.BindComplete(),
    ]
    assert found[4] == m.RowDescription((fields[0], m.Field("n", oids.INT8, 8, 1)))
    assert values(found) == [(b"Oslo", struct.pack("!q", 1)), (b"Bergen", struct.pack("!q", 0))]
    assert found[-2:] == [m.CommandComplete("SELECT 2"), m.ReadyForQuery("I")]


@pytest.mark.parametrize(
    ("sql", "types"),
    [
        (BY_AGE, (oids.INT8, oids.TEXT)),
        (f"{COUNTS} LIMIT $1 OFFSET $2", (oids.INT8, oids.INT8)),
        ("SELECT COUNT(*) FROM visits WHERE visited >= $1 AND charge > $2 AND smoker = $3",
         (oids.DATE, oids.NUMERIC, oids.BOOL)),
        ("SELECT COUNT(*) FROM visits WHERE age BETWEEN $1::int AND $2::smallint", (oids.INT4, oids.INT2)),
        ("SELECT COUNT(*) FROM visits WHERE city IN ($1,$2)", (oids.TEXT, oids.TEXT)),
        ("SELECT n FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) q WHERE n > $1", (oids.INT8,)),
        ("SELECT code FROM codes WHERE name LIKE $1 AND code = $2", (oids.TEXT, oids.INT8)),
        ("SELECT SUM(CASE WHEN age > $1 THEN 1 ELSE 0 END) FROM visits", (oids.INT8,)),
        ("SELECT COUNT(*) FROM visits WHERE age + $1 > $2", (oids.INT8, oids.INT8)),
        ("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n, $1) FROM visits", (oids.FLOAT8,)),
        ("SELECT PERCENTILE_CONT($1) WITHIN GROUP (ORDER BY age) FROM visits", (oids.FLOAT8,)),
        ("SELECT QUANTILE_CONT(age, $1), QUANTILE_DISC(charge, $2) FROM visits", (oids.FLOAT8, oids.FLOAT8)),
        ("SELECT DATE_TRUNC($1, visited) AS d, COUNT(*) FROM visits GROUP BY d", (oids.TEXT,)),
        ("SELECT COUNT(*) FROM visits WHERE age > $1::text::int", (oids.TEXT,)),
        ("SELECT $1", (oids.TEXT,)), ("SELECT CAST($1 AS double precision)", (oids.FLOAT8,)),
        ("SELECT version() WHERE 1 = $1", (oids.INT4,)),
    ],
)  # fmt: skip
def test_types_are_found_where_the_client_gives_none(client: Client, sql: str, types: tuple[int, ...]) -> None:
    found = client.send(m.Parse("", sql), m.Describe("S", ""), m.Sync())
    assert m.ParameterDescription(types) in found
    assert not errors(found), found


def test_a_declared_type_wins(client: Client) -> None:
    found = client.send(m.Parse("", BY_AGE, (oids.NUMERIC, oids.VARCHAR)), m.Describe("S", ""), m.Sync())
    assert m.ParameterDescription((oids.NUMERIC, oids.VARCHAR)) in found


def test_requests_that_fail_are_skipped_until_sync(client: Client, session: Session) -> None:
    before = charges(session)
    found = client.send(
        m.Parse("", "SELECT COUNT(*) FROM nosuch"), m.Bind("", ""), m.Execute(""), m.Query(COUNTS),
        m.Parse("", COUNTS), m.Bind("", ""), m.Execute(""), m.Sync(), m.Query("SELECT 1"),
    )  # fmt: skip
    assert kinds(found) == [
        "ErrorResponse", "ReadyForQuery", "RowDescription", "Row", "CommandComplete", "ReadyForQuery",
    ]  # fmt: skip
    assert charges(session) == before


def test_a_pipeline_is_answered_in_order(client: Client) -> None:
    one = [m.Parse("", "SELECT code FROM codes WHERE code = $1", (oids.INT4,)),
           m.Bind("", "", (), (b"2",)), m.Execute("")]  # fmt: skip
    found = client.send(*one, *one, m.Sync(), *one, m.Sync())
    assert [len(values(found)), kinds(found).count("ReadyForQuery")] == [3, 2]


WRONG_REQUESTS: list[tuple[list[m.Request], str]] = [
    ([m.Bind("", "nosuch")], "26000"),
    ([m.Describe("S", "nosuch")], "26000"),
    ([m.Describe("P", "nosuch")], "34000"),
    ([m.Execute("nosuch")], "34000"),
    ([m.Parse("", "SELECT 1; SELECT 2")], "42601"),
    ([m.Parse("", "SELECT (")], "42601"),
    ([m.Parse("a", "SELECT 1"), m.Parse("a", "SELECT 1")], "42P05"),
    ([m.Parse("", "SELECT 1"), m.Bind("a", ""), m.Bind("a", "")], "42P03"),
    ([m.Parse("", BY_AGE), m.Bind("", "", (), (b"1",))], "08P01"),
    ([m.Parse("", "SELECT 1"), m.Bind("", "", (), (b"1",))], "08P01"),
    ([m.Parse("", BY_AGE), m.Bind("", "", (0, 0, 0), (b"1", b"x"))], "08P01"),
    ([m.Parse("", BY_AGE), m.Bind("", "", (), (b"x", b"x"))], "22P02"),
    ([m.Parse("", BY_AGE), m.Bind("", "", (1,), (b"x", b"x"))], "22P03"),
    ([m.Parse("", "SELECT COUNT(*) FROM visits WHERE age > $1", (oids.UUID,))], "0A000"),
    ([m.Parse("", "SELECT COUNT(*) FROM visits WHERE age > $1", (oids.BYTEA,))], "0A000"),
    ([m.Parse("", "SELECT 1", (oids.INT4,))], "42P18"),
    ([m.Parse("", COUNTS), m.Bind("", "", (), (), (0, 0, 0)), m.Execute("")], "08P01"),
    ([m.Unreadable("B", "08P01", "it ends too early")], "08P01"),
    ([m.Password(b"x")], "08P01"),
    ([m.Parse("", "PREPARE a AS SELECT 1")], "0A000"),
    ([m.Parse("", "SET x")], "42601"),
]


@pytest.mark.parametrize(("requests", "sqlstate"), WRONG_REQUESTS)
def test_wrong_requests(client: Client, session: Session, requests: list[m.Request], sqlstate: str) -> None:
    before = charges(session)
    found = client.send(*requests, m.Sync())
    (error,) = errors(found)
    assert error.sqlstate == sqlstate and ready(found) == "I"
    assert charges(session) == before
    assert client.rows("SELECT 1") == [("1",)]


def test_what_needs_no_sync_is_ready_at_once(client: Client) -> None:
    for request in (m.Unexpected("F"), m.Unreadable("Q", "08P01", "a text in it has no end")):
        assert kinds(client.send(request)) == ["ErrorResponse", "ReadyForQuery"]
    assert client.send(m.Unexpected("d"), m.Unexpected("c"), m.Unexpected("f"), m.Flush()) == []


def test_closing(client: Client) -> None:
    client.send(m.Parse("a", "SELECT 1"), m.Bind("p", "a"))
    found = client.send(m.Close("P", "p"), m.Close("S", "a"), m.Close("S", "nosuch"), m.Execute("p"), m.Sync())
    assert kinds(found)[:3] == ["CloseComplete"] * 3 and errors(found)[0].sqlstate == "34000"
    client.send(m.Parse("a", "SELECT 1"), m.Sync())
    client.query("DEALLOCATE a")
    assert errors(client.query("DEALLOCATE a"))[0].sqlstate == "26000"


def test_portals_end_with_their_transaction(client: Client) -> None:
    prepare = [m.Parse("", "SELECT code FROM codes"), m.Bind("p", ""), m.Execute("p", 1)]
    assert errors(client.send(*prepare, m.Sync(), m.Execute("p"), m.Sync()))[0].sqlstate == "34000"
    client.query("BEGIN")
    assert values(client.send(*prepare, m.Sync(), m.Execute("p", 1), m.Sync())) == [(b"1",), (b"2",)]
    client.query("COMMIT")
    assert errors(client.send(m.Execute("p"), m.Sync()))[0].sqlstate == "34000"


def test_a_statement_that_gives_other_columns_than_it_said_is_refused_before_the_charge(
    client: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.send(m.Parse("s", COUNTS), m.Describe("S", "s"), m.Sync())
    statement = client.backend._statements["s"]
    assert statement.described is not None
    other = limits._Statement(statement.sql, None, (), False, statement.described[:1])
    client.backend._statements["s"] = other
    before = charges(session)
    found = client.send(m.Bind("", "s"), m.Execute(""), m.Sync())
    assert errors(found)[0].sqlstate == "0A000" and charges(session) == before


# ---------------------------------------------------------------------------------------------- cursors, copies


def test_a_cursor(client: Client, session: Session) -> None:
    before = charges(session)
    client.query("BEGIN")
    declared = client.query(f"DECLARE c CURSOR FOR {COUNTS}")
    assert m.CommandComplete("DECLARE CURSOR") in declared and kinds(declared)[0] == "NoticeResponse"
    assert client.rows("FETCH c") == [("Oslo", "2")]
    found = client.query("FETCH ALL FROM c; FETCH c")
    assert [r.tag for r in found if isinstance(r, m.CommandComplete)] == ["FETCH 1", "FETCH 0"]
    assert errors(client.query("FETCH BACKWARD 1 FROM c"))[0].sqlstate == "55000"
    assert charges(session) == before + 1
    client.query("ROLLBACK")
    assert errors(client.query("FETCH c"))[0].sqlstate == "34000"


def test_cursors_in_detail(client: Client) -> None:
    assert errors(client.query("DECLARE c CURSOR FOR SELECT 1"))[0].sqlstate == "25P01"
    client.query("DECLARE h CURSOR WITH HOLD FOR SELECT code FROM codes ORDER BY code")
    assert [r.tag for r in client.query("MOVE 1 FROM h") if isinstance(r, m.CommandComplete)] == ["MOVE 1"]
    assert client.rows("FETCH ABSOLUTE 3 FROM h") == [("3",)]
    assert errors(client.query("FETCH ABSOLUTE 1 FROM h"))[0].sqlstate == "55000"
    assert errors(client.query("DECLARE h CURSOR WITH HOLD FOR SELECT 1"))[0].sqlstate == "42P03"
    found = client.send(m.Describe("P", "h"), m.Sync())  # psycopg asks so which columns a cursor has
    assert found[0] == m.RowDescription((m.Field("code", oids.INT8, 8),))
    client.query("CLOSE h")
    assert errors(client.query("CLOSE h"))[0].sqlstate == "34000"
    client.query("DECLARE b BINARY CURSOR WITH HOLD FOR SELECT 7")
    assert values(client.query("FETCH b")) == [(struct.pack("!q", 7),)]
    client.query("CLOSE ALL")
    assert errors(client.query("FETCH b"))[0].sqlstate == "34000"
    error = errors(client.query("BEGIN; DECLARE c CURSOR FOR SELECT nosuch FROM visits"))[0]
    assert error.position == len("BEGIN; DECLARE c CURSOR FOR SELECT ") + 1


def test_a_cursor_with_values_over_the_extended_protocol(client: Client) -> None:
    client.query("BEGIN")
    declare = f"DECLARE c CURSOR FOR {BY_AGE}"
    found = client.send(
        m.Parse("", declare), m.Describe("S", ""), m.Bind("", "", (), (b"30", b"Bergen")), m.Execute(""), m.Sync(),
        m.Parse("f", "FETCH ALL FROM c"), m.Describe("S", "f"), m.Bind("", "f", (), (), (1,)), m.Execute(""), m.Sync(),
    )  # fmt: skip
    assert not errors(found)
    assert m.ParameterDescription((oids.INT8, oids.TEXT)) in found and m.NoData() in found
    assert values(found) == [(b"Oslo", struct.pack("!q", 1)), (b"Bergen", struct.pack("!q", 0))]


def test_copies(client: Client, session: Session) -> None:
    before = charges(session)
    found = client.query(f"COPY ({COUNTS}) TO STDOUT")
    assert kinds(found) == [
        "CopyOutResponse", "CopyData", "CopyData", "CopyDone", "NoticeResponse", "CommandComplete", "ReadyForQuery",
    ]  # fmt: skip
    assert found[:3] == [m.CopyOutResponse(0, 2), m.CopyData(b"Oslo\t2\n"), m.CopyData(b"Bergen\t2\n")]
    assert found[-2] == m.CommandComplete("COPY 2") and charges(session) == before + 1
    binary = client.send(
        m.Parse("", "COPY (SELECT code FROM codes) TO STDOUT (FORMAT binary)"), m.Bind("", ""), m.Describe("P", ""),
        m.Execute(""), m.Sync(),
    )  # fmt: skip
    data = [r.data for r in binary if isinstance(r, m.CopyData)]
    assert data[0].startswith(b"PGCOPY\n") and len(data) == 4 and data[-1] == b"\xff\xff"
    assert m.NoData() in binary and m.CopyOutResponse(1, 1) in binary
    empty = client.query("COPY (SELECT code FROM codes WHERE code > 9) TO STDOUT (FORMAT binary)")
    assert [r.data for r in empty if isinstance(r, m.CopyData)] == [b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\xff\xff"]
    sql = "COPY (SELECT nosuch FROM visits) TO STDOUT"
    assert errors(client.query(sql))[0].position == sql.index("nosuch") + 1


def test_many_rows_are_written_in_parts(client: Client) -> None:
    found = client.query(f"SELECT a.code + i.code AS x FROM {', '.join(f'codes {name}' for name in 'abcdefghi')}")
    assert len(values(found)) == 3**9 and m.CommandComplete(f"SELECT {3**9}") in found
    assert len(client.jobs) >= 1 + 3**9 // limits.CHUNK


# ---------------------------------------------------------------------------------------------- transactions, settings


def test_transaction_blocks(client: Client) -> None:
    assert ready(client.query("BEGIN")) == "T"
    warned = client.query("BEGIN")
    assert warned[0] == m.NoticeResponse("there is already a transaction in progress", "WARNING", "25001")
    assert ready(client.query("SELECT nosuch FROM visits")) == "E"
    for request in ([m.Query("SELECT 1")], [m.Parse("", "SELECT 1"), m.Sync()], [m.Query("SHOW ALL")]):
        (error,) = errors(client.send(*request))
        assert error.sqlstate == "25P02"
    found = client.send(m.Parse("", "COMMIT"), m.Bind("", ""), m.Execute(""), m.Sync())
    assert m.CommandComplete("ROLLBACK") in found and ready(found) == "I"
    assert client.query("COMMIT")[0] == m.NoticeResponse("there is no transaction in progress", "WARNING", "25P01")
    found = client.query("BEGIN; SAVEPOINT a; SELECT nosuch FROM visits")
    assert ready(found) == "E"
    found = client.query("ROLLBACK TO a; RELEASE a; SELECT 1; COMMIT")
    assert not errors(found) and ready(found) == "I"


def test_an_extended_error_fails_the_block(client: Client) -> None:
    client.query("BEGIN")
    assert ready(client.send(m.Parse("", "SELECT ("), m.Sync())) == "E"


def test_settings(client: Client) -> None:
    assert client.rows("SHOW extra_float_digits") == [("1",)]
    assert client.query("SET DateStyle = 'ISO, DMY'; SET extra_float_digits = 2; show transaction_isolation") == [
        m.CommandComplete("SET"),
        m.CommandComplete("SET"),
        m.RowDescription((m.Field("transaction_isolation", oids.TEXT, -1),)),
        Row((b"repeatable read",)),
        m.CommandComplete("SHOW"),
        m.ParameterStatus("DateStyle", "ISO, DMY"),
        m.ReadyForQuery("I"),
    ]
    assert client.query("RESET ALL")[1] == m.ParameterStatus("DateStyle", "ISO, MDY")
    unknown = errors(client.query("SHOW tables"))[0]
    assert unknown.sqlstate == "42704" and "SELECT * FROM dpsql.tables" in (unknown.hint or "")
    assert len(client.rows("SHOW ALL")) > 30
    found = client.send(m.Parse("", "SHOW TimeZone"), m.Bind("", ""), m.Describe("P", ""), m.Execute(""), m.Sync())
    assert found[2] == m.RowDescription((m.Field("TimeZone", oids.TEXT, -1),)) and values(found) == [(b"UTC",)]


@pytest.mark.parametrize(
    ("sql", "tag"),
    [
        ("SET application_name = 'x'", "SET"), ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "SET"),
        ("RESET application_name", "RESET"), ("DISCARD ALL", "DISCARD ALL"), ("DISCARD PLANS", "DISCARD PLANS"),
        ("DEALLOCATE ALL", "DEALLOCATE ALL"), ("CLOSE ALL", "CLOSE CURSOR ALL"), ("UNLISTEN *", "UNLISTEN"),
        ("BEGIN", "BEGIN"), ("START TRANSACTION", "BEGIN"), ("END", "COMMIT"), ("ABORT", "ROLLBACK"),
    ],
)  # fmt: skip
def test_tags(client: Client, sql: str, tag: str) -> None:
    assert m.CommandComplete(tag) in client.query(sql)
    found = client.send(m.Parse("", sql), m.Bind("", ""), m.Describe("P", ""), m.Execute(""), m.Sync())
    assert m.NoData() in found and m.CommandComplete(tag) in found


def test_discard_all(client: Client) -> None:
    client.send(m.Parse("a", "SELECT 1"), m.Sync())
    client.query("SET application_name = 'x'; DISCARD ALL")
    assert client.rows("SHOW application_name") == [("",)]
    assert errors(client.send(m.Bind("", "a"), m.Sync()))[0].sqlstate == "26000"
    assert errors(client.query("BEGIN; DISCARD ALL"))[0].sqlstate == "25001"


def test_startup_settings_that_cannot_be_end_the_connection(session: Session, catalogue: Catalogue) -> None:
    for parameters in ({"options": "-c nosuch=1"}, {"dpsql.epsilon": "-1"}, {"client_encoding": "latin1"}, {"x": "1"}):
        with pytest.raises(Farewell):
            connect(session, catalogue=catalogue, **parameters)


def test_the_greeting(client: Client) -> None:
    from tests.wire.client import replies

    found = replies(client.backend.greeting(7, b"1234"))
    assert found[-2:] == [m.BackendKeyData(7, b"1234"), m.ReadyForQuery("I")]
    told = {r.name: r.value for r in found if isinstance(r, m.ParameterStatus)}
    assert told["client_encoding"] == "UTF8" and told["DateStyle"] == "ISO, MDY" and told["is_superuser"] == "off"


# ---------------------------------------------------------------------------------------------- limits, faults


def test_a_job_that_is_cut_short_is_an_error_like_others(client: Client) -> None:
    client.cancel = lambda job: True
    client.query("BEGIN")
    found = client.query(COUNTS)
    assert errors(found)[0].sqlstate == "57014" and ready(found) == "E"
    client.cancel = lambda job: False
    client.query("ROLLBACK")
    assert client.rows("SELECT 1") == [("1",)]


def test_a_statement_s_own_time_limit_reaches_its_job(client: Client) -> None:
    client.query("SET statement_timeout = '2s'")
    client.query("SELECT 1")
    assert client.jobs[-1].seconds == 2.0


def test_a_fault_is_one_generic_error(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("secret-4711")

    monkeypatch.setattr("dpsql.wire.backend.data_rows", broken)
    found = client.query("SELECT 1")
    (error,) = errors(found)
    assert error.sqlstate == "XX000" and "secret-4711" not in str(found)
    monkeypatch.undo()
    assert client.rows("SELECT 1") == [("1",)]


def test_what_a_connection_may_hold_is_limited(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_STATEMENTS", 2)
    monkeypatch.setattr(limits, "MOST_PORTALS", 2)
    monkeypatch.setattr(limits, "MOST_KEPT", 20)
    monkeypatch.setattr(limits, "MOST_TEXT", 100)
    found = client.send(m.Parse("a", "SELECT 1"), m.Parse("b", "SELECT 1"), m.Parse("c", "SELECT 1"), m.Sync())
    assert errors(found)[0].sqlstate == "54000"
    found = client.send(m.Close("S", "b"), m.Parse("", "SELECT 1" + " " * 90), m.Sync())
    assert errors(found)[0].sqlstate == "53200"
    client.query("BEGIN")
    found = client.send(m.Bind("a", "a"), m.Bind("b", "a"), m.Bind("c", "a"), m.Sync())
    assert errors(found)[0].sqlstate == "54000"
    client.query("ROLLBACK; BEGIN; DECLARE a CURSOR FOR SELECT code FROM codes")
    assert errors(client.query("DECLARE b CURSOR FOR SELECT 1"))[0].sqlstate == "53200"


def test_the_types_of_a_statement_take_room(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short text may have 65,535 parameters."""
    monkeypatch.setattr(limits, "MOST_TEXT", 1_000)
    assert not errors(client.send(m.Parse("a", "SELECT code FROM codes WHERE code = $100"), m.Sync()))
    found = client.send(m.Parse("b", "SELECT code FROM codes WHERE code = $100"), m.Sync())
    assert errors(found)[0].sqlstate == "53200"
    assert not errors(client.send(m.Close("S", "a"), m.Parse("b", "SELECT $100"), m.Sync()))


def test_values_take_room_until_their_portal_ends(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_BOUND", 200)
    name = "SELECT code FROM codes WHERE name = $1"
    bind = [m.Bind(portal, "s", (), (b"x" * 80,), ()) for portal in "abc"]
    client.query("BEGIN")
    found = client.send(m.Parse("s", name), *bind, m.Sync())
    assert kinds(found).count("BindComplete") == 2 and errors(found)[0].sqlstate == "53200"
    assert not errors(client.send(m.Sync()))
    client.query("ROLLBACK; BEGIN")
    assert not errors(client.send(bind[0], bind[1], m.Close("P", "a"), bind[2], m.Sync()))
    found = client.send(m.Bind("", "s", (), (b"",), (0,) * 30), m.Sync())
    assert errors(found)[0].sqlstate == "53200"


@pytest.mark.parametrize(
    ("sql", "least"), [("SELECT code FROM codes", 3 * 9), ("SELECT 'xxxxxxxxxx' || code FROM codes", 3 * 60)]
)
def test_answers_know_their_size(client: Client, sql: str, least: int) -> None:
    client.query(f"BEGIN; DECLARE a CURSOR FOR {sql}")
    answer = client.backend._portals["a"].answer
    assert answer is not None and least <= answer.size < 1_000


@pytest.mark.parametrize("size", [255, 256])
def test_names_that_are_kept_are_short(client: Client, size: int) -> None:
    name = "n" * size
    for requests in (
        [m.Parse(name, "SELECT 1")],
        [m.Parse("", "SELECT 1"), m.Bind(name, "")],
        [m.Query(f"SAVEPOINT {name}")],
        [m.Query(f'DECLARE "{name}" CURSOR FOR SELECT 1')],
    ):
        client.query("BEGIN")
        found = client.send(*requests, m.Sync())
        assert [e.sqlstate for e in errors(found)] == ([] if size == 255 else ["42622"])
        client.query("ROLLBACK")


def test_rows_of_long_texts_are_written_in_smaller_pieces(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for sql in ("SELECT name FROM codes ORDER BY code", "COPY (SELECT name FROM codes ORDER BY code) TO STDOUT"):
        monkeypatch.setattr(limits, "WRITTEN", 3)
        before = len(client.jobs)
        found = client.query(sql)
        in_pieces = len(client.jobs) - before
        monkeypatch.setattr(limits, "WRITTEN", 1_000)
        before = len(client.jobs)
        assert client.query(sql) == found and not errors(found)
        assert in_pieces > len(client.jobs) - before


def test_long_statements_are_read_in_jobs(client: Client) -> None:
    """Where they are answered, other connections wait."""
    before = len(client.jobs)
    assert not errors(client.query("SET application_name = x" + " " * limits.SHORT))
    assert len(client.jobs) == before + 2  # it is split, then read
    client.send(m.Parse("", "SHOW application_name" + " " * limits.SHORT), m.Sync())
    assert len(client.jobs) == before + 4


# ---------------------------------------------------------------------------------------------- any requests

NAMES = st.sampled_from(["", "a", "b"])
STATEMENTS = st.sampled_from([
    "SELECT 1", "SELECT code FROM codes WHERE code = $1", COUNTS, "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s",
    "ROLLBACK TO s", "DECLARE a CURSOR FOR SELECT code FROM codes", "FETCH 1 FROM a", "CLOSE a", "SHOW TimeZone",
    "COPY (SELECT code FROM codes) TO STDOUT", "SET application_name = 'x'", "DISCARD ALL", "SELECT nosuch FROM visits",
    "", "SELECT (", "DEALLOCATE a", "FETCH ALL FROM b", "SELECT 1; SELECT code FROM codes; nonsense", "MOVE 1 FROM a",
])  # fmt: skip
FORMATS = st.lists(st.sampled_from([0, 1]), max_size=2).map(tuple)
VALUES = st.lists(st.none() | st.binary(max_size=8), max_size=1).map(tuple)
ANYTHING = st.one_of(
    st.builds(m.Query, STATEMENTS),
    st.builds(m.Parse, NAMES, STATEMENTS, st.lists(st.sampled_from([0, 20, 23, 25, 2950]), max_size=1).map(tuple)),
    st.builds(m.Bind, NAMES, NAMES, FORMATS, VALUES, FORMATS),
    st.builds(m.Describe, st.sampled_from(["S", "P"]), NAMES),
    st.builds(m.Execute, NAMES, st.integers(0, 2)),
    st.builds(m.Close, st.sampled_from(["S", "P"]), NAMES),
    st.builds(m.Sync), st.builds(m.Flush), st.builds(m.Password, st.binary(max_size=3)),
    st.builds(m.Unexpected, st.sampled_from(["d", "c", "f", "F"])),
    st.builds(m.Unreadable, st.sampled_from(["Q", "B"]), st.just("08P01"), st.just("it ends too early")),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(ANYTHING, max_size=14))
@examples(150)
def test_any_requests_are_answered(session: Session, catalogue: Catalogue, requests: list[m.Request]) -> None:
    """Whatever comes in whatever order: every answer can be read, none is a fault, and the connection stays usable."""
    client = connect(session, "eve", catalogue)
    for request in requests:
        found = client.send(request)
        assert all(error.sqlstate != "XX000" for error in errors(found)), found
        waits = isinstance(request, (m.Sync, m.Query)) and not client.backend._skipping
        if waits:
            assert kinds(found).count("ReadyForQuery") == 1
    client.send(m.Sync())
    client.query("ROLLBACK")
    assert client.rows("SELECT 1") == [("1",)]


def test_a_session_s_level(tmp_path: Path) -> None:
    with opened(tmp_path, extra="") as session:
        client = connect(session, options="-c dpsql.level=0.5")
        low = str(client.query("SELECT COUNT(*) AS n FROM visits"))
        client.query("SET dpsql.level = 0.95")
        usual = str(client.query("SELECT COUNT(*) AS n FROM visits"))
        assert "± at 50 %: n " in low and "± at 95 %: n " in usual
        for wrong in ("0", "1", "x", "95"):
            (error,) = errors(client.query(f"SET dpsql.level = '{wrong}'"))
            assert (error.sqlstate, error.hint) == ("22023", "SET dpsql.level = 0.95")
        assert client.rows("SHOW dpsql.level") == [("0.95",)]


def test_a_session_s_epsilon(tmp_path: Path) -> None:
    with opened(tmp_path, extra="") as session:
        client = connect(session, options="-c dpsql.epsilon=0.5")
        assert client.rows("SHOW dpsql.epsilon") == [("0.5",)]
        client.query("SELECT COUNT(*) FROM visits")
        client.query("BEGIN; SET LOCAL dpsql.epsilon = 0.25; SELECT COUNT(*) FROM visits; COMMIT")
        client.query("SET dpsql.epsilon TO '0.125'; SELECT COUNT(*) FROM visits; RESET dpsql.epsilon")
        client.send(m.Parse("", "SELECT COUNT(*) FROM visits"), m.Bind("", ""), m.Execute(""), m.Sync())
        assert [float(c.loss.epsilon) for c in session.ledger.charges()] == [0.5, 0.25, 0.125, 0.5]
        assert connect(session).rows("SHOW dpsql.epsilon") == [("1000000",)]
        for wrong in ("0", "-1", "x", "1e-40", "NaN", "inf"):
            assert errors(client.query(f"SET dpsql.epsilon = '{wrong}'")), wrong
            with pytest.raises(Farewell):
                connect(session, **{"dpsql.epsilon": wrong})
        assert client.rows("SHOW dpsql.epsilon") == [("0.5",)]
        assert "dpsql.epsilon, dpsql.level, dpsql.dry_run" in str(errors(client.query("SET dpsql.epsilom = 1"))[0].hint)


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("city = ANY($1)", "city IN ('Oslo', 'x')"), ("NOT city = ANY($1)", "city NOT IN ('Oslo', 'x')"),
        ("city <> ALL($1)", "city NOT IN ('Oslo', 'x')"), ("city = ANY(ARRAY['Oslo', 'x'])", "city IN ('Oslo', 'x')"),
    ],
)  # fmt: skip
def test_a_list_of_values_is_one_parameter(client: Client, condition: str, meant: str) -> None:
    """As psycopg, asyncpg and JDBC send it; over no values ANY is false and ALL true, for NULL too."""
    count = "SELECT COUNT(*) FROM visits WHERE "
    values = (b"{Oslo,x}",) if "$1" in condition else ()
    requests = m.Parse("", count + condition), m.Bind("", "", (), values), m.Execute(""), m.Sync()
    (row,) = [reply.values for reply in client.send(*requests) if isinstance(reply, Row)]
    assert [row[0].decode() if row[0] else None] == list(client.rows(count + meant)[0])
    if "$1" in condition:
        requests = m.Parse("", count + condition), m.Bind("", "", (), (b"{}",)), m.Execute(""), m.Sync()
        (row,) = [reply.values for reply in client.send(*requests) if isinstance(reply, Row)]
        assert row == ((b"0",) if condition.startswith("city = ANY") else (b"4",))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("YYYY-MM", "2020-01"), ("DD.MM.YYYY HH24:MI:SS", "02.01.2020 03:04:05"), ("YY/MM", "20/01"), ("Mon", None),
        ("DDD", "002"), ("HH12 o''clock", None), ("Day", None), ("Month", None), ("Q", None), ("D", None), ("MS", None),
        ("TZ", None), ("IW", None), ("999", None), ("", None),
    ],
)  # fmt: skip
def test_patterns_of_to_char_mean_what_postgres_means_or_are_refused(
    client: Client, pattern: str, text: str | None
) -> None:
    """Over public values, where nothing else would look at them, and over the catalogue."""
    for suffix in ("FROM codes LIMIT 1", "FROM pg_database"):
        found = client.query(f"SELECT TO_CHAR(TIMESTAMP '2020-01-02 03:04:05', '{pattern}') AS x {suffix}")
        if text is None:
            assert [error.sqlstate for error in errors(found)] == ["0A000"], found
        else:
            assert values(found) == [(text.encode(),)], found
