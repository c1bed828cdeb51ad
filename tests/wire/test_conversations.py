"""Conversations that PostgreSQL 15 answered in the same words: which messages, rows, tags, states and SQLSTATEs.

`conversations.json` holds what it said, of a table codes as tests/wire/clinic.py has one.
`python -m tests.wire.test_conversations PORT` asks a PostgreSQL on this machine anew and writes it.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dpsql.session import Session
from dpsql.wire import messages as m
from dpsql.wire.messages import Bind, Close, Describe, Execute, Parse, Query, Request, Sync
from tests.wire import client
from tests.wire.client import Reply, Row
from tests.wire.clinic import connect, opened

ANSWERS = Path(__file__).with_name("conversations.json")
TABLE = """DROP TABLE IF EXISTS codes; CREATE TABLE codes (code bigint, name text);
INSERT INTO codes VALUES (1, 'one'), (2, 'two'), (3, NULL)"""
ROWS = "SELECT code, name FROM codes ORDER BY code"
ONE = "SELECT name FROM codes WHERE code = $1"
RUN = (Bind("", ""), Execute(""), Sync())
WHOLE = (Describe("S", ""), Bind("", ""), Describe("P", ""), Execute(""), Sync())

CONVERSATIONS: dict[str, Sequence[Sequence[Request]]] = {
    "a query": [[Query(ROWS)]],
    "nothing": [[Query("")], [Query(";;")], [Parse("", ""), *WHOLE]],
    "statements until one fails": [[Query("SELECT 1; SELECT nosuch; SELECT 2")]],
    "an extended query": [[Parse("", ROWS), Bind("", ""), Describe("P", ""), Execute(""), Sync()]],
    "row by row": [[Parse("", ROWS), Bind("", ""), *(Execute("", 1) for _ in range(4)), Execute(""), Sync()]],
    "exactly all rows": [[Parse("", ROWS), Bind("", ""), Execute("", 3), Sync()]],
    "more than all rows": [[Parse("", ROWS), Bind("", ""), Execute("", 4), Execute(""), Sync()]],
    "a portal after Sync": [
        [Parse("a", ROWS), Describe("S", "a"), Bind("p", "a"), Execute("p", 1), Sync()], [Execute("p"), Sync()],
    ],
    "a portal in a block": [
        [Query("BEGIN")], [Parse("", ROWS), Bind("p", ""), Execute("p", 1), Sync()], [Execute("p"), Sync()],
        [Query("COMMIT")], [Execute("p"), Sync()],
    ],
    "a failed block": [
        [Query("BEGIN")], [Query("SELECT nosuch")], [Query("SELECT 1")], [Parse("", "SELECT 1"), Sync()],
        [Parse("", "ROLLBACK"), *RUN],
    ],
    "savepoints": [
        [Query(sql)] for sql in ("BEGIN", "BEGIN", "SAVEPOINT a", "SELECT nosuch", "ROLLBACK TO a", "RELEASE a",
                                 "RELEASE a", "END")
    ],
    "without a block": [
        [Query(sql)] for sql in ("COMMIT", "ROLLBACK", "SAVEPOINT x", "RELEASE x", f"DECLARE c CURSOR FOR {ROWS}",
                                 "SET LOCAL application_name = 'x'", "BEGIN AND CHAIN")
    ],
    "a cursor": [
        [Query(sql)] for sql in ("BEGIN", f"DECLARE c CURSOR FOR {ROWS}", "FETCH c", "MOVE 1 FROM c",
                                 "FETCH ALL FROM c", "FETCH c", "CLOSE c", "CLOSE c", "ROLLBACK")
    ],
    "a held cursor": [
        [Query(f"DECLARE h CURSOR WITH HOLD FOR {ROWS}")], [Query("FETCH 2 FROM h")], [Describe("P", "h"), Sync()],
        [Execute("h", 1), Sync()], [Query("CLOSE ALL")], [Query("FETCH h")], [Query("FETCH 1 FROM nosuch")],
    ],
    "to a row of a cursor": [
        [Query(f"BEGIN; DECLARE c CURSOR FOR {ROWS}; FETCH ABSOLUTE 2 FROM c; FETCH 0 FROM c; COMMIT")]
    ],
    "copies": [
        [Query(f"COPY ({ROWS}) TO STDOUT")], [Query(f"COPY ({ROWS}) TO STDOUT (FORMAT csv, HEADER)")],
        [Query("COPY (SELECT name FROM codes ORDER BY code) TO STDOUT (FORMAT binary)")],
        [Query("COPY (SELECT name FROM codes WHERE code > 9) TO STDOUT (FORMAT binary)")],
        [Parse("", f"COPY ({ROWS}) TO STDOUT"), *WHOLE],
    ],
    "a copy that fails in a block": [[Query("BEGIN")], [Query("COPY (SELECT nosuch) TO STDOUT")], [Query("COMMIT")]],
    "settings": [
        [Query("SHOW nosuch")], [Query("SET nosuch = 1")], [Query("SET extra_float_digits = 9")],
        [Parse("", "SHOW DateStyle"), *WHOLE], [Query("BEGIN")], [Query("SET application_name = 'q'")],
        [Query("ROLLBACK")], [Query("SHOW application_name")], [Query("RESET ALL")], [Query("UNLISTEN *")],
    ],
    "a parameter": [
        [Parse("", ONE), Describe("S", ""), Bind("", "", (0,), (b"2",)), Execute(""), Sync()],
        [Parse("", ONE), Bind("", "", (0,), (b"x",)), Execute(""), Sync()], [Parse("", ONE), *RUN],
    ],
    "names": [
        [Parse("a", "SELECT 1"), Parse("a", "SELECT 1"), Sync()], [Bind("", "nosuch"), Sync()],
        [Describe("S", "no"), Sync()], [Execute("no"), Sync()], [Close("S", "no"), Close("P", "no"), Sync()],
        [Parse("z", ROWS), Sync()], [Query("DEALLOCATE z")], [Query("DEALLOCATE z")], [Query("DISCARD ALL")],
    ],
    "what can't be prepared": [[Parse("", "SELECT 1; SELECT 2"), Sync()], [Parse("", "SELECT ("), Sync()]],
    "chains": [[Query("BEGIN")], [Query("COMMIT AND CHAIN")], [Query("ROLLBACK AND NO CHAIN")]],
    "a portal that is there": [
        [Query("BEGIN")], [Parse("p", ROWS), Bind("p", "p"), Execute("p", 1), Bind("p", "p"), Sync()],
        [Query("ROLLBACK")],
    ],
}  # fmt: skip


def told(found: Sequence[Reply]) -> list[str]:
    """The answers in short: of errors and notices the SQLSTATE, of columns how many there are."""
    shown = []
    for reply in found:
        match reply:
            case m.ErrorResponse(sqlstate):
                shown.append(f"error {sqlstate}")
            case m.NoticeResponse(_, severity, sqlstate):
                shown.append(f"{severity} {sqlstate}")
            case m.RowDescription(fields):
                shown.append(f"columns {', '.join(field.name for field in fields)}")
            case m.ParameterStatus(name, value):
                shown.append(f"{name} {value}")
            case Row(values):
                shown.append(f"row {values}")
            case _:
                shown.append(str(reply))
    return shown


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with opened(tmp_path_factory.mktemp("clinic")) as made:
        yield made


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_conversations(session: Session, name: str) -> None:
    answers = json.loads(ANSWERS.read_text(encoding="utf-8"))
    assert list(answers) == list(CONVERSATIONS)
    asking = connect(session)
    assert [told(asking.send(*part)) for part in CONVERSATIONS[name]] == answers[name]


# ---------------------------------------------------------------------------------------------- recording


def _answers(line: socket.socket, ends: int) -> list[Reply]:
    """The answers up to so many ReadyForQuery."""
    data = b""
    while True:
        at, seen = 0, 0
        while len(data) > at + 4 and len(data) > at + int.from_bytes(data[at + 1 : at + 5], "big"):
            seen += data[at : at + 1] == b"Z"
            at += 1 + int.from_bytes(data[at + 1 : at + 5], "big")
        if seen >= ends and at == len(data):
            return [r for r in map(_read, _split(data)) if r is not None]
        data += line.recv(65_536)


def _split(data: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at + 1 : at + 5], "big")
        found.append((data[at : at + 1], data[at + 5 : at + 1 + size]))
        at += 1 + size
    return found


def _read(message: tuple[bytes, bytes]) -> Reply | None:
    """As the client of the tests reads it; of errors and columns PostgreSQL says more than this server."""
    letter, content = message
    if letter in b"EN":
        fields = {part[:1].decode(): part[1:].decode() for part in content[:-2].split(b"\0")}
        return m.ErrorResponse(fields["C"], "") if letter == b"E" else m.NoticeResponse("", fields["V"], fields["C"])  # type: ignore[arg-type]
    if letter == b"T":
        names, at = [], 2
        for _ in range(int.from_bytes(content[:2], "big")):
            end = content.index(b"\0", at)
            names.append(content[at:end].decode())
            at = end + 19
        return m.RowDescription(tuple(m.Field(name, 0, 0) for name in names))
    return client.reply(letter, content)


def record(port: int) -> None:
    """Ask PostgreSQL."""
    answers: dict[str, list[list[str]]] = {}
    for name, parts in CONVERSATIONS.items():
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(client.opening(m.Startup(0, {"user": "postgres", "database": "postgres"})))
            _answers(line, 1)
            line.sendall(client.request(Query(TABLE)))
            _answers(line, 1)
            answers[name] = []
            for part in parts:
                line.sendall(b"".join(map(client.request, part)))
                ends = sum(isinstance(request, (Query, Sync)) for request in part)
                answers[name].append(told(_answers(line, ends)))
    ANSWERS.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record(int(sys.argv[1]))
