"""The servers that clients talk to: `dpsql serve` as a process, and PostgreSQL 15 over the same data, where it is.

Both are encrypted, have the same users with the same verifiers, and a way to keep private tables waiting. ε is so large
that noise is 0 in practice (P[noise ≠ 0] < e^-1000, far below α = 1e-6): what dpsql answers must be PostgreSQL's.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import yaml
from psycopg import sql

from dpsql.ledger import Ledger
from dpsql.ledger.head import head_path
from dpsql.passwords import make_verifier
from dpsql.policy import Column, load
from dpsql.policy.shown import column_comment, table_comment
from dpsql.session import open_session
from dpsql.wire.catalogue.contents import OWNER_NAME
from tests.readme.product import copy_policies
from tests.wire import postgres
from tests.wire.live import certify

CHARGED = 2
"""How many queries each analyst's budget allows."""
_EPSILON = 10**9
KINDS = {
    "code": "integer", "name": "text", "ratio": "double", "flag": "boolean", "day": "date", "moment": "timestamp",
}  # fmt: skip
"""A public table with a column of each type that answers have."""
ROWS = [
    ["1", "Åse", "0.5", "true", "2024-02-29", "2024-01-01 01:02:03.5"],
    ["2", 'it\'s "two", \\ and\ttabs', "-1e-7", "false", "1900-01-01", "1999-12-31 23:59:59.999999"],
    ["-9007199254740993", "none", "1e300", "true", "2024-03-01", "2024-01-01 00:00:00"],
    ["4", None, None, None, None, None],
]


@dataclass(frozen=True)
class Address:
    """Where a server is, and how to log in there."""

    kind: str
    port: int
    user: str
    password: str
    database: str
    certificate: Path
    wait: Callable[[], AbstractContextManager[None]]
    """While a block lasts, who asks for private tables waits."""


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    kind: str
    port: int
    certificate: Path
    wait: Callable[[], AbstractContextManager[None]]
    policy: Path

    def address(self, user: str) -> Address:
        """The address for a user."""
        return Address(self.kind, self.port, user, _password(user), "pums", self.certificate, self.wait)

    def charged(self, user: str) -> list[str]:
        """The statements that a user was charged for, by dpsql."""
        with Ledger.open(load(self.policy).ledger) as ledger:
            return [charge.query for charge in ledger.charges(user)]


def _password(user: str) -> str:
    return f"{user}-pencil"


class Deployment:
    """`config/server.yaml` for these users, with a public table of all types more, and its data; in a folder."""

    def __init__(self, folder: Path, users: Sequence[str]) -> None:
        self.path = copy_policies(folder).with_name("server.yaml")
        self.certificate, self.key = certify(self.path.parent)
        self.verifiers = {user: make_verifier(_password(user)) for user in users}
        written = yaml.safe_load(self.path.read_text(encoding="utf-8"))
        written["privacy"] = {"epsilon": _EPSILON}
        analysts = {user: {"epsilon": CHARGED * _EPSILON} for user in users}
        written["budget"] = {"epsilon": (len(users) + 1) * CHARGED * _EPSILON, "analysts": analysts}
        written["server"]["users"] = {user: str(verifier) for user, verifier in self.verifiers.items()}
        columns = {name: {"type": kind, "nullable": name != "code"} for name, kind in KINDS.items()}
        written["tables"]["kinds"] = {"source": "kinds.csv", "public": True, "columns": columns}
        self.sources = {name: str(table["source"]) for name, table in written["tables"].items()}
        self.path.write_text(yaml.safe_dump(written, sort_keys=False, allow_unicode=True), encoding="utf-8")
        self.path.with_name("kinds.csv").write_text(_csv([list(KINDS), *ROWS]), encoding="utf-8")

    @contextmanager
    def dpsql(self) -> Iterator[Served]:
        """`dpsql serve` over it."""
        open_session(load(self.path), create_ledger=True).close()
        process = subprocess.Popen(
            [sys.executable, "-m", "dpsql", "serve", str(self.path), "--port", "0"],
            stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert "listening on 127.0.0.1, port " in line, line + process.stderr.read()
            port = int(line.split("port ")[1].split(",")[0])
            yield Served("dpsql", port, self.certificate, self._locked, self.path)
        finally:
            process.terminate()
            try:
                _, rest = process.communicate(timeout=60)
            finally:  # none stays behind, whatever kept it
                process.kill()
        assert process.returncode == 0, (process.returncode, rest)
        assert rest == "ending: statements under way are answered\n", rest

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nothing is charged while this process holds the ledger's lock, as one that charges does."""
        with head_path(load(self.path).ledger).open("rb") as head:
            fcntl.flock(head, fcntl.LOCK_EX)
            yield

    @contextmanager
    def postgres(self) -> Iterator[Served]:
        """PostgreSQL over it; as in dpsql's catalogue, dpsql owns the tables."""
        with postgres.running(OWNER_NAME, (self.certificate, self.key)) as port:
            with _owner(port, "postgres") as connection:
                connection.execute("CREATE DATABASE pums")
            with _owner(port, "pums") as connection:
                self._fill(connection)

                @contextmanager
                def locked() -> Iterator[None]:
                    with connection.transaction():
                        connection.execute("LOCK TABLE people IN ACCESS EXCLUSIVE MODE")
                        yield

                yield Served("postgres", port, self.certificate, locked, self.path)

    def _fill(self, connection: psycopg.Connection[Any]) -> None:
        """The users, tables and comments."""
        run: Any = connection.execute
        run("CREATE SCHEMA dpsql")
        run("SET search_path = public")
        run("ALTER SCHEMA public OWNER TO dpsql")
        for user, verifier in self.verifiers.items():
            run(f"CREATE ROLE \"{user}\" LOGIN PASSWORD '{verifier}'")
        for name, table in load(self.path).tables.items():
            columns = [_column(column) for column in table.columns.values()] or _REGIONS
            run(f"CREATE TABLE {name} ({', '.join(columns)})")
            run(f"GRANT SELECT ON {name} TO PUBLIC")
            run(sql.SQL("COMMENT ON TABLE {} IS {}").format(sql.Identifier(name), table_comment(table)))
            for column in table.columns.values():
                place = sql.Identifier(name, column.name)
                run(sql.SQL("COMMENT ON COLUMN {} IS {}").format(place, column_comment(table, column)))
            with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv, HEADER)") as copy:
                copy.write((self.path.parent / self.sources[name]).read_bytes())
            run(f"REVOKE ALL ON {name} FROM dpsql")


def _column(column: Column) -> str:
    """How PostgreSQL declares a column of the policy."""
    declared = {"integer": "bigint", "double": "double precision"}.get(str(column.type), str(column.type))
    return f"{column.name} {declared}{'' if column.nullable else ' NOT NULL'}"


_REGIONS = ["region text", "state text", "population bigint"]
"""The columns of the one table whose policy names none, with the types that are in its file."""


def _csv(rows: Iterable[Sequence[str | None]]) -> str:
    """Cells in quotes; none where there is none."""
    cells = (["" if cell is None else '"' + cell.replace('"', '""') + '"' for cell in row] for row in rows)
    return "".join(",".join(row) + "\n" for row in cells)


def _owner(port: int, database: str) -> psycopg.Connection[Any]:
    return psycopg.connect(host="127.0.0.1", port=port, user=OWNER_NAME, dbname=database, autocommit=True)
