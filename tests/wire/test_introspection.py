"""What clients find out of tables: what PostgreSQL 15 says of the same ones.

The statements are our own, in the ways in which clients ask. With DPSQL_CORPUS naming the directory that holds the
recorded statements of many clients, all of those are asked too. Two deployments: one that those clients saw, and one
with other tables, types, schemas, keys and comments.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dpsql.session import open_session
from dpsql.wire import messages as m
from dpsql.wire.catalogue import Catalogue
from tests.programs import need
from tests.wire import introspection, postgres
from tests.wire.client import Row, errors
from tests.wire.clinic import connect, opened
from tests.wire.introspection import CLINIC, DEPLOYMENTS, Deployment, Server, Statement, Told

OURS = ("relowner", "reltoastrelid", "relfrozenxid", "relminmxid", "nspowner", "typowner")
"""Columns in which dpsql differs: who owns tables, and how PostgreSQL keeps them."""
UNTOLD = (
    "Size", "total_rel_size", "rel_size", "index_rel_size", "cardinality", "pages", "estimated_row_count", "reltuples",
    "relpages",
)  # fmt: skip
"""Columns with numbers of rows and pages: they are the same for every table here."""

STATEMENTS = Path(__file__).with_name("introspection.sql").read_text(encoding="utf-8").split("\n--\n")


@pytest.fixture(scope="module", params=DEPLOYMENTS, ids=[deployment.database for deployment in DEPLOYMENTS])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, port: int
) -> Iterator[tuple[Deployment, Server, Server]]:
    deployment: Deployment = request.param
    with ExitStack() as stack:
        ours = stack.enter_context(introspection.dpsql(tmp_path_factory.mktemp(deployment.database), deployment))
        yield deployment, ours, stack.enter_context(introspection.postgres(port, deployment))


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    need("postgresql-15", postgres.PROGRAMS)
    with postgres.running() as found:
        yield found


@pytest.mark.slow
def test_the_objects_are_the_same(both: tuple[Deployment, Server, Server]) -> None:
    """Tables, types, indexes, constraints and schemas; dpsql's own schema aside."""
    _, ours, theirs = both
    assert ours.numbers.keys() - {"schema dpsql"} == theirs.numbers.keys()


@pytest.mark.slow
@pytest.mark.parametrize("sql", STATEMENTS)
def test_what_postgres_says(both: tuple[Deployment, Server, Server], sql: str) -> None:
    deployment, ours, theirs = both
    schema, name = deployment.table.split(".")
    asked = [
        Statement(sql.format(table=deployment.table, schema=schema, name=name, oid=server.numbers[deployment.table]))
        for server in (ours, theirs)
    ]
    compare(deployment, ours, theirs, *asked)


def compare(deployment: Deployment, ours: Server, theirs: Server, one: Statement, other: Statement) -> None:
    """Ask both, and compare the rows about the deployment's tables."""
    found, right = ours.named(ours.ask(one)), theirs.named(theirs.ask(other))
    assert found.sqlstate == right.sqlstate, (one.sql, found.message, right.message)
    assert found.columns == right.columns, one.sql
    names = [name.split(".")[-1] for name in theirs.numbers if "." in name]
    shown, expected = (introspection.about(_comparable(told), names) for told in (found, right))
    for row in [row for row in shown if "<schema dpsql>" in row]:
        del shown[row]
    assert shown == expected, one.sql


def _comparable(told: Told) -> Told:
    left = [i for i, name in enumerate(told.columns) if name not in (*OURS, *UNTOLD)]
    return Told(tuple(told.columns[i] for i in left), tuple(tuple(row[i] for i in left) for row in told.rows))


# ---------------------------------------------------------------------------------------------- recorded statements


@pytest.mark.slow
@pytest.mark.asked_for("DPSQL_CORPUS")
def test_what_clients_send(both: tuple[Deployment, Server, Server]) -> None:
    """Every statement about the catalogue that any client sent: as it is, and with other names in it."""
    deployment, ours, theirs = both
    recorded = list(_recorded())
    assert len(recorded) > 180
    wrong = []
    for statement in recorded:
        try:
            compare(deployment, ours, theirs, *(_adapted(statement, deployment, s) for s in (ours, theirs)))
        except AssertionError as error:
            wrong.append(f"{statement.sql[:300]}\n{error}")
    assert not wrong, "\n\n".join(wrong)


RECORDED = b"16386"
"""The number of the table visits where the statements were recorded."""


def _recorded() -> Iterator[Statement]:
    written = json.loads((Path(os.environ["DPSQL_CORPUS"]) / "pg_client_queries.json").read_text(encoding="utf-8"))
    seen = set()
    for client in written["clients"].values():
        parsed: dict[str, dict[str, object]] = {}
        for message in client["sequence"]:
            statement = _statement(message, parsed)
            if statement is not None and statement not in seen:
                seen.add(statement)
                yield statement
    yield from (Statement(item["sql"]) for item in written["bi_from_source"] if item["class"] == "catalog")


def _statement(message: dict[str, object], parsed: dict[str, dict[str, object]]) -> Statement | None:
    if message["msg"] == "Query" and message["class"] == "catalog":
        return Statement(str(message["sql"]))
    if message["msg"] == "Parse":
        parsed[str(message["stmt"])] = message
    found = parsed.get(str(message.get("stmt"))) if message["msg"] == "Bind" else None
    if found is None or found["class"] != "catalog":
        return None
    values, formats, types = message["params"], message["param_formats"], found["param_oids"]
    assert isinstance(values, list) and isinstance(formats, list) and isinstance(types, list)
    count = len(values)
    return Statement(
        str(found["sql"]),
        tuple(None if value is None else value.encode("latin-1") for value in values),
        (*types, *(0,) * (count - len(types))),
        tuple(formats * count if len(formats) == 1 else formats or (0,) * count),
    )


def _adapted(statement: Statement, deployment: Deployment, server: Server) -> Statement:
    """The statement about the deployment's table instead of the one that it was recorded with."""
    schema, name = deployment.table.split(".")
    number = server.numbers[deployment.table]
    words = (("visits", name), ("clinic", deployment.database), ("public", schema))

    def adapt(text: str) -> str:
        for old, new in words if deployment is not CLINIC else ():
            text = text.replace(old, new)
        return text.replace(RECORDED.decode(), number)

    def value(data: bytes | None) -> bytes | None:
        if data is not None and len(data) in (2, 4, 8) and int.from_bytes(data, "big") == int(RECORDED):
            return int(number).to_bytes(len(data), "big")
        return None if data is None else adapt(data.decode("latin-1")).encode("latin-1")

    return Statement(adapt(statement.sql), tuple(map(value, statement.values)), statement.types, statement.formats)


# ---------------------------------------------------------------------------------------------- without PostgreSQL


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda d: d.database)
def test_comments_tell_descriptions_bounds_keys_and_units(deployment: Deployment, tmp_path: Path) -> None:
    """The comments that the deployment's SQL has, which is what PostgreSQL is compared by."""
    with introspection.dpsql(tmp_path, deployment) as server:
        found = server.ask(Statement("SELECT description FROM pg_description WHERE objoid >= 16384")).rows
    texts = [text.replace("'", "''") for (text,) in found if text is not None]
    assert len(texts) == deployment.sql.count("COMMENT ON")
    assert all(f"'{text}'" in deployment.sql for text in texts)


@pytest.mark.slow
def test_the_catalogue_is_the_same_whatever_the_data_are(tmp_path: Path) -> None:
    """No number of rows or pages, of private or public tables, nor whether there are any (THREATS H11)."""
    shown = []
    for folder, rows in (("few", 1), ("many", 5_000)):
        (tmp_path / folder).mkdir()
        with opened(tmp_path / folder, answers="off") as session:
            lines = ["age,city,charge,visited,smoker", *["30,Oslo,10.50,2024-01-01,true"] * rows]
            (tmp_path / folder / "visits.csv").write_text("\n".join(lines) + "\n")
            (tmp_path / folder / "codes.csv").write_text("code,name\n" + "1,one\n" * rows)
            session.close()
            again = open_session(session.policy)
            client = connect(again)
            shown.append([client.rows(sql) for sql in NUMBERS])
            again.close()
    assert shown[0] == shown[1]
    assert all(rows for rows in shown[0][:3])


NUMBERS = (
    "SELECT relname, reltuples, relpages, pg_table_size(oid), pg_total_relation_size(oid), pg_relation_size(oid) "
    "FROM pg_class WHERE relkind IN ('r', 'i') AND oid >= 16384",
    "SELECT * FROM pg_class WHERE oid >= 16384", "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_stat_user_tables", "SELECT * FROM pg_stat_activity", "SELECT pg_database_size('clinic')",
    "SELECT * FROM dpsql.tables", "SELECT * FROM dpsql.columns",
)  # fmt: skip


def test_nobody_s_name_is_shown_to_others(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        catalogue = Catalogue(session)
        for who in ("alice", "poor"):
            client = connect(session, who, catalogue)
            assert {name for (name,) in client.rows("SELECT rolname FROM pg_roles")} == {"dpsql", who}
            assert client.rows("SELECT usename FROM pg_user") == [(who,)]
            assert client.rows("SELECT role_name FROM information_schema.enabled_roles") == [(who,)]
            assert client.rows("SELECT datname FROM pg_database") == [("clinic",)]
        catalogue.close()


REFUSED = [
    ("SELECT * FROM pg_authid", "42P01"),
    ("SELECT * FROM pg_nosuch", "42P01"),
    ("SELECT * FROM _dpsql_pg_catalog.pg_class, pg_type", "42P01"),
    ("SELECT 'nosuch'::regclass", "42P01"),
    ("SELECT oid::nosuch FROM pg_class", "42704"),
    ("SELECT * FROM pg_class, read_csv('/etc/passwd')", "42883"),
    ("SELECT getvariable('_dpsql_analyst') FROM pg_class", "0A000"),
    ("SELECT duckdb_settings() FROM pg_class", "0A000"),
    ("SELECT _dpsql_fn_pg_get_userbyid(10) FROM (SELECT version()) v, duckdb_tables", None),
    ("SELECT relname FROM pg_class WHERE relkind = ANY ('r')", "22P02"),
    ("SELECT relname FROM pg_class WHERE oid = ANY ('{a}')", "22P02"),
    (f"SELECT {', '.join(['pg_table_is_visible(oid)'] * 81)} FROM pg_class", "54001"),
    ("SELECT quote_ident(quote_ident(quote_ident(quote_ident(quote_ident(relname))))) FROM pg_class", "54001"),
    ("SELECT current_setting(relname) FROM pg_class", "0A000"),
    ("SELECT generate_series(1, 300000000), version()", "0A000"),
    ("SELECT * FROM pg_attribute a, pg_attribute b", "58000"),
    ("DELETE FROM pg_class", None),
    ("SELECT relname FROM pg_class FOR UPDATE", None),
    ("SELECT rolname INTO x FROM pg_roles", None),
]


@pytest.mark.parametrize(("sql", "sqlstate"), REFUSED)
def test_what_the_catalogue_refuses(clinic: Server, sql: str, sqlstate: str | None) -> None:
    told = clinic.ask(Statement(sql))
    assert told.sqlstate is not None and not told.rows, told
    assert sqlstate in (None, told.sqlstate), told
    assert "_dpsql" not in told.message or "_dpsql" in sql


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with introspection.dpsql(tmp_path_factory.mktemp("clinic"), CLINIC) as server:
        yield server


def test_statements_are_described_before_their_values_are_known(tmp_path: Path) -> None:
    """What a client says with its values may be no relation and no setting: that shows only then."""
    sql = "SELECT attname, current_setting($2) FROM pg_attribute WHERE attrelid = $1::regclass AND attname = ANY($3)"
    with opened(tmp_path) as session:
        client = connect(session)
        found = client.send(m.Parse("s", sql), m.Describe("S", "s"), m.Sync())
        assert m.ParameterDescription((25, 25, 1009)) in found
        (described,) = [reply for reply in found if isinstance(reply, m.RowDescription)]
        assert [field.type for field in described.fields] == [25, 25]
        for relation, sqlstate in (("public.visits", None), ("nosuch", "42P01")):
            values = (relation.encode(), b"search_path", b'{age,"city"}')
            found = client.send(m.Bind("", "s", (), values), m.Execute(""), m.Sync())
            rows = [reply.values for reply in found if isinstance(reply, Row)]
            assert [error.sqlstate for error in errors(found)] == ([] if sqlstate is None else [sqlstate])
            assert sorted(rows) == ([] if sqlstate else [(b"age", b"public"), (b"city", b"public")])


@pytest.mark.parametrize(
    ("sql", "oid", "binary"),
    [
        ("SELECT oid FROM pg_class WHERE oid = 1259", 26, b"\0\0\x04\xeb"),
        ("SELECT typlen FROM pg_type WHERE typname = 'int8'", 21, b"\0\x08"),
        ("SELECT 7", 20, b"\0\0\0\0\0\0\0\x07"),
        ("SELECT atttypmod FROM pg_attribute WHERE attname = 'charge'", 23, b"\0\x0a\0\x06"),
        ("SELECT ARRAY(SELECT oid FROM pg_class WHERE oid = 1259)", 1028,
         b"\0\0\0\x01\0\0\0\0\0\0\0\x1a\0\0\0\x01\0\0\0\x01\0\0\0\x04\0\0\x04\xeb"),
        ("SELECT ARRAY(SELECT oid FROM pg_class WHERE oid = 1)", 1028, b"\0\0\0\0\0\0\0\0\0\0\0\x1a"),
        ("SELECT current_schemas(false)", 1009, b"\0\0\0\x01\0\0\0\0\0\0\0\x19\0\0\0\x01\0\0\0\x01\0\0\0\x06public"),
        ("SELECT typtype::bytea FROM pg_type WHERE typname = 'int8'", 17, b"b"),
    ],
)  # fmt: skip
def test_types_of_results(clinic: Server, sql: str, oid: int, binary: bytes) -> None:
    found = clinic._connection.pgconn.exec_params(sql.encode(), None, None, None, 1)
    assert (found.ftype(0), found.get_value(0, 0)) == (oid, binary), found.error_message


def test_the_engine_of_the_catalogue_has_less_time_and_memory(tmp_path: Path) -> None:
    """A join without end is ended, and the connection goes on."""
    with opened(tmp_path) as session:
        catalogue = Catalogue(session)
        catalogue._scratch._seconds = 0.2
        client = connect(session, "bob", catalogue)
        big = "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c WHERE"
        sql = f"{big} a.attname || b.attname < c.attname"
        (error,) = errors(client.query(sql))
        assert error.sqlstate == "57014"
        (error,) = errors(client.query(f"{big} a.attname || c.attname < b.attname || c.attnum ORDER BY random()"))
        assert error.sqlstate == "0A000"
        (error,) = errors(client.query("SELECT array_agg(i) FROM generate_series(1, 100000000) AS i, pg_database"))
        assert (error.sqlstate, error.message) == ("58000", "the query over the released numbers takes too much memory")
        assert client.rows("SELECT count(*) FROM pg_database") == [("1",)]
        catalogue.close()
