"""What can be read free: the budget, one's own charges, tables and columns, and what the server says of itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pytest

from dpsql.errors import ParseError
from dpsql.session import Session
from dpsql.wire import messages as m
from dpsql.wire.catalogue import Catalogue
from dpsql.wire.catalogue.rewrite import read
from tests.wire.client import errors
from tests.wire.clinic import charges, connect, opened

COUNT = "SELECT COUNT(*) FROM visits"


@pytest.fixture(
    scope="module",
    params=[
        "duckdb",
        "postgres",
        *(pytest.param(dialect, marks=pytest.mark.slow) for dialect in ("bigquery", "spark")),
    ],
)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with opened(tmp_path_factory.mktemp("clinic"), request.param) as made:
        yield made


def test_the_budget_and_one_s_own_charges(session: Session) -> None:
    """The first test of a session: nobody has asked yet."""
    alice, bob = connect(session, "alice"), connect(session)
    for client in (alice, bob, bob):
        client.rows(COUNT)
    (row,) = alice.rows("SELECT * FROM dpsql.budget")
    now = dt.datetime.now(dt.UTC)
    renews = dt.datetime(now.year + now.month // 12, now.month % 12 + 1, 1)
    assert row == ("alice", "4000000", "month", "1000000", "3000000", "0", str(renews))
    assert alice.rows("SHOW dpsql.budget") == [("3000000 of 4000000 left this month",)]
    assert bob.rows("SHOW dpsql.budget") == [("998000000 of 1000000000 left",)]
    mine = alice.rows("SELECT charge, epsilon, query FROM dpsql.charges")
    assert mine == [("1", "1000000", COUNT)]
    assert [r[0] for r in bob.rows("SELECT charge FROM dpsql.charges ORDER BY charge")] == ["2", "3"]
    assert connect(session, "new").rows("SELECT epsilon_charged FROM dpsql.budget") == [("0",)]
    assert connect(session, "new").rows("SELECT * FROM dpsql.charges") == []
    assert charges(session) == 3


def test_tables_and_columns(session: Session) -> None:
    client = connect(session)
    assert client.rows("SELECT * FROM dpsql.tables ORDER BY name") == [
        ("codes", "public", None),
        ("visits", "row", "one row per visit"),
    ]
    rows = client.rows("SELECT * FROM dpsql.columns WHERE table_name = 'visits'")
    assert rows[:3] == [
        ("visits", "age", "integer", "0", "100", None, "f", "in years"),
        ("visits", "city", "text", None, None, "Oslo, Bergen", "f", None),
        ("visits", "charge", "decimal(10,2)", "0", "1000", None, "t", None),
    ]
    joined = client.rows(
        "SELECT t.name, COUNT(*) AS n FROM dpsql.tables t JOIN dpsql.columns c ON c.table_name = t.name GROUP BY t.name"
    )
    assert joined == [("visits", "5")]


def test_the_settings_are_those_of_the_connection(session: Session) -> None:
    one, other = connect(session, "alice"), connect(session, "alice")
    assert one.rows("SELECT setting FROM pg_catalog.pg_settings WHERE name = 'max_index_keys'") == [("32",)]
    assert one.rows("SELECT s.name FROM pg_settings AS s WHERE s.name = 'TimeZone' AND NOT s.pending_restart")
    one.query("SET application_name = 'one'")
    for client, expected in ((one, "one"), (other, "")):
        sql = "SELECT setting, unit FROM pg_settings WHERE name = 'application_name'"
        assert client.rows(sql) == [(expected, None)]
        assert ("application_name", expected) in client.rows("SELECT * FROM dpsql.settings")


def test_no_count_of_rows_is_anywhere(session: Session) -> None:
    """Not even of a public table: what isn't there can't leak."""
    client = connect(session)
    for table in ("dpsql.tables", "dpsql.columns", "dpsql.budget"):
        found = client.query(f"SELECT * FROM {table}")
        names = [field.name for reply in found for field in getattr(reply, "fields", ())]
        assert not [name for name in names if "rows" in name or "count" in name or "size" in name]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT version()", "PostgreSQL 15.0 (dpsql)"),
        ("select pg_catalog.version()", "PostgreSQL 15.0 (dpsql)"),
        ("select current_schema()", "public"),
        ("SELECT current_database()", "clinic"),
        ("SELECT current_user", "bob"),
        ("SELECT session_user", "bob"),
        ("SELECT current_setting('server_version')", "15.0"),
        ("SELECT pg_is_in_recovery()", "f"),
        ("SELECT pg_advisory_unlock_all()", None),
    ],
)
def test_what_the_server_says_of_itself(session: Session, sql: str, expected: str | None) -> None:
    client = connect(session)
    assert client.rows(sql) == [(expected,)]
    assert client.rows(f"{sql} AS x") == [(expected,)]


def test_the_time_is_asked_for_by_monitors(session: Session) -> None:
    client, before = connect(session), dt.datetime.now(dt.UTC).replace(tzinfo=None)
    for sql in ("SELECT now()", "select CURRENT_TIMESTAMP", "SELECT pg_catalog.now()"):
        ((text,),) = client.rows(sql)
        assert text is not None
        assert before <= dt.datetime.fromisoformat(text) <= dt.datetime.now(dt.UTC).replace(tzinfo=None)


@pytest.mark.parametrize("arguments", ["'visits'::regclass", "'visits'::regclass, 'pg_class'"])
def test_the_comment_of_a_table(session: Session, arguments: str) -> None:
    ((comment,),) = connect(session).rows(f"SELECT obj_description({arguments})")
    assert comment is not None
    assert comment.startswith("one row per visit")


@pytest.mark.parametrize("relation", ["information_schema.tables", "pg_class", "pg_catalog.pg_class", "dpsql.budget"])
def test_the_catalogue_is_not_read_together_with_tables_of_the_policy(session: Session, relation: str) -> None:
    (error,) = errors(connect(session).query(f"SELECT COUNT(*) FROM visits, {relation} AS t"))
    assert error.message == (
        f"{relation.removeprefix('pg_catalog.')} is of the catalogue, which can't be read together with tables of the "
        "policy"
    )


def test_what_asyncpg_sends_when_a_pool_takes_a_connection_back(session: Session) -> None:
    client = connect(session)
    found = client.query("SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;")
    assert not errors(found)


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("SELECT * FROM dpsql.nosuch", "42P01"),
        ("SELECT nosuch FROM dpsql.budget", "42703"),
        ("SELECT * FROM pg_catalog.pg_authid", "42P01"),
        ("SELECT * FROM information_schema.nosuch", "42P01"),
        ("SELECT * FROM dpsql.tables, pg_catalog.pg_nosuch", "42P01"),
        ("SELECT current_setting('nosuch')", "42704"),
        ("EXPLAIN SELECT * FROM dpsql.budget", "42P01"),
        ("SELECT * FROM dpsql.tables LIMIT -1", None),
        (
            "SELECT quote_ident(DISTINCT name, to_months(true ORDER BY 1) WITHIN GROUP (ORDER BY 1)) FROM dpsql.tables",
            "0A000",
        ),
        (f"SELECT {', '.join(['quote_ident(name)'] * 41)} FROM dpsql.tables", "54001"),
        ("SELECT name::nosuch[] FROM dpsql.tables", "42704"),
        ('SELECT name::"no such"[] FROM dpsql.tables', "42704"),
        ("SELECT name <> ALL () FROM dpsql.tables", "42601"),
        ("SELECT name <> ALL ('{a}', '{b}') FROM dpsql.tables", "42601"),
    ],
)
def test_errors_leave_the_connection_usable(session: Session, sql: str, sqlstate: str | None) -> None:
    client = connect(session)
    (error,) = errors(client.query(sql))
    assert error.sqlstate == sqlstate or sqlstate is None
    assert client.rows("SELECT 1") == [("1",)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visits, dpsql.budget",
        "SELECT * FROM dpsql.budget WHERE 1 < (SELECT COUNT(*) FROM visits)",
        "SELECT version(), COUNT(*) FROM visits",
        "SELECT current_user FROM codes",
    ],
)
def test_what_names_a_table_of_the_policy_goes_to_the_session(session: Session, sql: str) -> None:
    with_catalogue = Catalogue(session)  # whose engine is only made when it is asked
    assert not with_catalogue.answers(sql)
    with_catalogue.close()
    before = charges(session)
    connect(session).query(sql)
    assert charges(session) == before


@pytest.mark.parametrize(
    "call",
    [
        "read_csv('/etc/passwd')",
        "getenv('HOME')",
        "duckdb_settings()",
        "current_setting('x')",
        "range(10)",
        "pragma_version()",
        "query('SELECT 1')",
    ],
)
def test_the_catalogue_s_engine_reads_nothing_else(session: Session, call: str) -> None:
    for sql in (f"SELECT {call}, version()", f"SELECT * FROM {call}, dpsql.budget"):
        assert errors(connect(session).query(sql)), sql


@pytest.mark.parametrize("name", ["_dpsql_catalogue_charges", "duckdb_tables", "sqlite_master", "duckdb_views"])
def test_a_with_that_is_out_of_reach_names_nothing_of_the_engine(session: Session, name: str) -> None:
    """All statements here run in one thread, whose cursor keeps what the one before it has read."""
    carol, bob = connect(session, "carol"), connect(session)
    carol.rows(COUNT)
    assert carol.rows("SELECT query FROM dpsql.charges")
    (error,) = errors(bob.query(f"SELECT * FROM {name}, (WITH {name} AS (SELECT 1) SELECT version() AS v) AS t"))
    assert error.sqlstate == "0A000"
    assert name not in error.message


@pytest.mark.slow
def test_a_long_chain_of_conditions(session: Session) -> None:
    chain = " OR ".join(f"oid = {number}" for number in range(2200, 4200))
    assert connect(session).rows(f"SELECT nspname FROM pg_namespace WHERE {chain}") == [("public",)]


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        (f"SELECT replace(version(), 'P', '{'b' * 1000}')", "54000"),
        (f"SELECT regexp_replace(replace(version(), 'P', '{'b' * 40}'), 'b', '{'c' * 40}', 'g')", "54000"),
        (f"SELECT format('{'%s' * 1001}', version())", "54000"),
        ("SELECT replace(name, 'P', name) FROM dpsql.tables", "0A000"),
        ("SELECT format(name, 'x'), version() FROM dpsql.tables", "0A000"),
        ("SELECT replace(replace(current_user, 'b', ''), 'o', '\"\"'), format('%I.%I', current_user, 'x')", None),
        ("SELECT regexp_replace(current_user, 'b'), replace(current_user, 'b', 'c'::text)", None),
    ],
)
def test_replacing_makes_no_text_much_longer(session: Session, sql: str, sqlstate: str | None) -> None:
    found = errors(connect(session).query(sql))
    assert [error.sqlstate for error in found] == ([] if sqlstate is None else [sqlstate])


INJECTED = """'DAY FROM DATE ''2020-01-01''), (SELECT MAX("query") FROM "_dpsql_catalogue_charges"), EXTRACT(DAY'"""


@pytest.mark.parametrize("unit", [INJECTED, '"' + INJECTED[1:-1].replace("''", "'").replace('"', '""') + '"'])
def test_a_text_is_never_read_as_sql(session: Session, unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser makes a bare word of what stands before the comma. That is refused when it is read, and once more
    before it is run.
    """
    carol, bob = connect(session, "carol"), connect(session)
    carol.rows(COUNT)
    assert carol.rows("SELECT query FROM dpsql.charges")
    sql = f"SELECT DATE_PART({unit}, DATE '2020-01-01') FROM dpsql.budget"
    with pytest.raises(ParseError, match="is no word of SQL"):
        read(sql)
    assert errors(bob.query(sql))
    monkeypatch.setattr("dpsql.parse._check_bare_words", lambda tree: None)
    (error,) = errors(bob.query(sql))
    assert "is no word of SQL" in error.message


def test_names_of_with(session: Session) -> None:
    client = connect(session)
    own = "WITH charges AS (SELECT name FROM dpsql.tables), More AS (SELECT charges.name FROM charges)"
    assert client.rows(f"{own} SELECT more.name FROM more ORDER BY name") == [("codes",), ("visits",)]
    inner = "SELECT t.x FROM (WITH budget AS (SELECT name AS x FROM dpsql.tables) SELECT * FROM budget) AS t"
    assert client.rows(f"{inner}, dpsql.budget ORDER BY x") == [("codes",), ("visits",)]


def test_what_would_make_the_parser_guess_is_not_parsed(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed(*arguments: object, **options: object) -> None:
        pytest.fail("the statement was parsed")

    monkeypatch.setattr("sqlglot.parser.Parser.parse", parsed)
    catalogue = Catalogue(session)
    assert not catalogue.answers("SELECT version() FROM a" + " LEFT JOIN b" * 30)
    assert not catalogue.answers("SELECT version(), '" + "a" * 100_000 + "'")
    catalogue.close()


def test_a_setting_is_set_by_a_function(session: Session) -> None:
    """As asyncpg does before it looks types up; what can't be set stays, and so does what is only described."""
    client = connect(session)
    assert client.rows("SELECT current_setting('jit') AS cur, set_config('jit', 'on', false) AS new") == [("off", "on")]
    assert client.rows("SHOW jit") == [("on",)]
    for name, value, sqlstate in (
        ("dpsql.epsilon", "-1", "22P02"),
        ("server_version", "9", "55P02"),
        ("x", "1", "42704"),
    ):
        (error,) = errors(client.query(f"SELECT set_config('{name}', '{value}', false)"))
        assert error.sqlstate == sqlstate, error
    client.send(m.Parse("s", "SELECT set_config('jit', $1, false)"), m.Describe("S", "s"), m.Sync())
    assert client.rows("SHOW jit") == [("on",)]
    client.query("BEGIN; SELECT set_config('dpsql.epsilon', '0.5', true)")
    assert client.rows("SHOW dpsql.epsilon") == [("0.5",)]
    client.query("COMMIT")
    assert client.rows("SHOW dpsql.epsilon") == [("1000000",)]


@pytest.mark.parametrize(
    "sql", ["SELECT region, COUNT(*) FROM visits GROUP BY region", "SELECT AVG(user_id) FROM visits"]
)
def test_ordinary_statements_are_not_read_for_the_catalogue(
    session: Session, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words in names that only begin like its own: each statement would be parsed twice."""
    monkeypatch.setattr("dpsql.wire.catalogue.rewrite.read", lambda sql: pytest.fail("it was read"))
    catalogue = Catalogue(session)
    assert not catalogue.answers(sql)
    catalogue.close()
