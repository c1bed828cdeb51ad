"""Deployments that PostgreSQL holds too, and how the answers of both about their tables are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import pq

from dpsql.policy import load
from dpsql.session import open_session, system_user
from tests.wire.live import serving

Row = tuple[str | None, ...]


@dataclass(frozen=True)
class Deployment:
    """A policy, its data, and the same tables in PostgreSQL's SQL. `database` is what clients call it."""

    database: str
    table: str
    """One of its tables, with its schema."""
    policy: str
    files: Mapping[str, str]
    sql: str


CLINIC = Deployment(
    "clinic", "public.visits",
    """\
dpsql: 1
dialect: postgres
privacy: {epsilon: 1}
budget: {epsilon: 10}
ledger: the.ledger
tables:
  visits:
    source: visits.csv
    unit: row
    description: one row per visit
    columns:
      id: {type: integer}
      patient_id: {type: integer, nullable: true}
      age: {type: integer, bounds: [0, 100], description: age in years}
      city: {type: text, keys: [Oslo, Bergen], nullable: true}
      charge: {type: "decimal(10,2)", nullable: true}
      score: {type: double, nullable: true}
      smoker: {type: boolean, nullable: true}
      visited: {type: date, nullable: true}
      at: {type: timestamp, nullable: true}
      note: {type: text, nullable: true}
""",
    {"visits.csv": "id,patient_id,age,city,charge,score,smoker,visited,at,note\n"},
    """
CREATE TABLE visits (id bigint NOT NULL, patient_id bigint, age bigint NOT NULL, city text, charge numeric(10,2),
  score double precision, smoker boolean, visited date, at timestamp, note text);
COMMENT ON TABLE visits IS 'one row per visit; privacy unit: each row';
COMMENT ON COLUMN visits.age IS 'age in years; bounds 0 to 100';
COMMENT ON COLUMN visits.city IS 'keys Oslo, Bergen';
""",
)  # fmt: skip
SHOP = Deployment(
    "shop", "sales.orders",
    """\
dpsql: 1
dialect: duckdb
privacy: {epsilon: 1}
budget: {epsilon: 10}
ledger: the.ledger
tables:
  sales.orders:
    source: orders.csv
    unit: {column: buyer, max_rows: 20}
    primary_key: order_id
    columns:
      order_id: {type: integer}
      buyer: {type: integer}
      "unit price": {type: "decimal(12,4)", bounds: [0, 99], nullable: true, description: "before 'tax'"}
      Paid: {type: boolean}
      placed: {type: date, bounds: [2020-01-01, 2021-01-01]}
      shelf: {type: text, unique: true}
  sales.order_lines:
    source: lines.csv
    unit: {via: sales.orders.order_id, max_rows: 60}
    description: what was ordered
    columns:
      order_id: {type: integer}
      Größe: {type: text, keys: [S, M], nullable: true}
  countries:
    source: countries.csv
    public: true
""",
    {
        "orders.csv": "order_id,buyer,unit price,Paid,placed,shelf\n1,1,2,true,2020-02-02,a\n",
        "lines.csv": "order_id,Größe\n1,S\n",
        "countries.csv": "code,people,share,since\nNorway,5,0.5,1905-06-07\n",
    },
    """
CREATE SCHEMA sales;
CREATE TABLE sales.orders (order_id bigint CONSTRAINT orders_pkey PRIMARY KEY, buyer bigint NOT NULL,
  "unit price" numeric(12,4), paid boolean NOT NULL, placed date NOT NULL, shelf text NOT NULL UNIQUE);
CREATE TABLE sales.order_lines (order_id bigint NOT NULL REFERENCES sales.orders, "größe" text);
CREATE TABLE countries (code text, people bigint, share double precision, since date);
COMMENT ON TABLE sales.orders IS 'privacy unit: buyer, about 20 rows of each count in full';
COMMENT ON TABLE sales.order_lines IS
  'what was ordered; privacy unit: via sales.orders, about 60 rows of each count in full';
COMMENT ON TABLE countries IS 'public: answered exactly, at no cost';
COMMENT ON COLUMN sales.orders.buyer IS 'names the privacy unit';
COMMENT ON COLUMN sales.orders."unit price" IS 'before ''tax''; bounds 0 to 99';
COMMENT ON COLUMN sales.orders.placed IS 'bounds 2020-01-01 to 2021-01-01';
COMMENT ON COLUMN sales.order_lines."größe" IS 'keys S, M';
ALTER DATABASE shop SET search_path = public, sales;
""",
)  # fmt: skip
DEPLOYMENTS = (CLINIC, SHOP)


@dataclass(frozen=True)
class Statement:
    """A statement as a client sends it: values, their types (0: not told) and formats as in the protocol."""

    sql: str
    values: tuple[bytes | None, ...] = ()
    types: tuple[int, ...] = ()
    formats: tuple[int, ...] = ()


@dataclass(frozen=True)
class Told:
    """What a server said: the names of columns, and rows; or a SQLSTATE."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    sqlstate: str | None = None
    message: str = ""


class Server:
    """A server with a deployment's tables, and the numbers that it gave them."""

    def __init__(self, port: int, deployment: Deployment, user: str) -> None:
        self._connection = psycopg.connect(
            host="127.0.0.1", port=port, user=user, dbname=deployment.database, autocommit=True
        )
        listed = self.ask(Statement(
            "SELECT c.oid, n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'dpsql') UNION ALL "
            "SELECT t.oid, 'type ' || t.typname FROM pg_type t WHERE t.oid >= 16384 AND t.typnamespace <> 11 UNION ALL "
            "SELECT k.oid, 'constraint ' || k.conname FROM pg_constraint k WHERE k.oid >= 16384 UNION ALL "
            "SELECT n.oid, 'schema ' || n.nspname FROM pg_namespace n WHERE n.oid >= 16384"
        )).rows  # fmt: skip
        self.numbers = {str(name): str(oid) for oid, name in listed if not str(name).startswith("type pg_")}
        self._names = {oid: f"<{name}>" for name, oid in self.numbers.items()}

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()

    def ask(self, statement: Statement) -> Told:
        """What it says to a statement, as text."""
        raw = self._connection.pgconn
        if statement.values or statement.types:
            result = raw.exec_params(
                statement.sql.encode(), statement.values, statement.types or None, statement.formats or None, 0
            )
        else:
            result = raw.exec_(statement.sql.encode())
        if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            state = result.error_field(pq.DiagnosticField.SQLSTATE) or b""
            return Told((), (), state.decode(), result.error_message.decode())
        columns = tuple((result.fname(i) or b"").decode() for i in range(result.nfields))
        rows = tuple(tuple(_text(result.get_value(r, c)) for c in range(result.nfields)) for r in range(result.ntuples))
        return Told(columns, rows)

    def named(self, told: Told) -> Told:
        """The same with the server's own numbers of the deployment's objects replaced by their names."""
        rows = tuple(tuple(self._names.get(c, c) if c is not None else None for c in row) for row in told.rows)
        return Told(told.columns, rows, told.sqlstate, told.message)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


@contextmanager
def dpsql(folder: Path, deployment: Deployment) -> Iterator[Server]:
    """dpsql with the deployment."""
    for name, text in {**deployment.files, "policy.yaml": deployment.policy}.items():
        (folder / name).write_text(text, encoding="utf-8")
    session = open_session(load(folder / "policy.yaml"), create_ledger=True)
    try:
        with serving(session) as running:
            server = Server(running.port, deployment, system_user())
            yield server
            server.close()
    finally:
        session.close()


@contextmanager
def postgres(port: int, deployment: Deployment) -> Iterator[Server]:
    """PostgreSQL with the deployment."""
    with psycopg.connect(host="127.0.0.1", port=port, user="postgres", autocommit=True) as connection:
        run: Any = connection.execute
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'dpsql'").fetchone():
            run("CREATE ROLE dpsql SUPERUSER LOGIN")
        run(f"CREATE DATABASE {deployment.database} OWNER dpsql")
    with psycopg.connect(
        host="127.0.0.1", port=port, user="dpsql", dbname=deployment.database, autocommit=True
    ) as connection:
        run = connection.execute
        run(deployment.sql)
        run("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        for schema in dict.fromkeys(["public", deployment.table.split(".")[0]]):
            run(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO PUBLIC")
            run(f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM dpsql")
    server = Server(port, deployment, "dpsql")
    yield server
    server.close()


def about(told: Told, names: Sequence[str]) -> Counter[Row]:
    """The rows that name one of the deployment's objects."""
    wanted = set(names)
    return Counter(row for row in told.rows if any(c is not None and (c in wanted or c[:1] == "<") for c in row))
