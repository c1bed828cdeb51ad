"""The server on the loopback interface, with real clients: psycopg, asyncpg, psql where it is installed."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import psycopg
import pytest

from dpsql.errors import OperationalError, PolicyError
from dpsql.passwords import make_verifier
from dpsql.policy import Server as Settings
from dpsql.session import Session, system_user
from dpsql.wire import connection as login
from dpsql.wire import conversation, messages, server
from dpsql.wire import line as lines
from dpsql.wire.asking import Asker
from dpsql.wire.backend import Backend
from dpsql.wire.catalogue import Catalogue
from tests.programs import need
from tests.wire import client as wire
from tests.wire.clinic import charges, opened
from tests.wire.live import Running, certify, serving

pytestmark = pytest.mark.slow

ME = system_user()
COUNT = "SELECT COUNT(*) FROM visits"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with opened(tmp_path_factory.mktemp("clinic")) as made:
        yield made


@pytest.fixture(scope="module")
def running(session: Session) -> Iterator[Running]:
    with serving(session) as made:
        yield made


def connect(running: Running, **options: Any) -> psycopg.Connection[Any]:
    return psycopg.connect(host="127.0.0.1", port=running.port, user=ME, autocommit=True, **options)


def raw(running: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", running.port), timeout=10)


def received(line: socket.socket) -> bytes:
    """Everything until the server closes."""
    found = b""
    while data := line.recv(65_536):
        found += data
    return found


def until(line: socket.socket, letter: bytes) -> list[wire.Reply]:
    """The answers up to the first of a kind."""
    found = b""
    while True:
        at = 0
        while len(found) >= at + 5 and len(found) > at + int.from_bytes(found[at + 1 : at + 5], "big"):
            size = int.from_bytes(found[at + 1 : at + 5], "big")
            if found[at : at + 1] == letter:
                return wire.replies(found[: at + 1 + size])
            at += 1 + size
        data = line.recv(65_536)
        assert data, found
        found += data


# ---------------------------------------------------------------------------------------------- psycopg


def test_psycopg(running: Running) -> None:
    notices: list[str] = []
    with connect(running) as connection:
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        query = (
            "SELECT city, COUNT(*) AS n, AVG(charge) AS mean FROM visits WHERE age > %s AND city <> %s GROUP BY city"
        )
        assert connection.execute(query, (35, "Oslo")).fetchall() == [("Oslo", 0, 0.0), ("Bergen", 2, 25.0)]
        assert len(notices) == 1 and notices[0].startswith("charged ε 1000000, 99")
        assert connection.info.parameter_status("server_version") == "15.0"
        cursor = connection.cursor(binary=True)
        cursor.execute(
            "SELECT code, name, true AS t, DATE '2020-02-29' AS d, TIMESTAMP '2020-01-01 01:02:03.5' AS m, "
            "1.5 AS x FROM codes WHERE code >= %s ORDER BY code LIMIT %s",
            (2, 2),
        )
        moment = dt.datetime(2020, 1, 1, 1, 2, 3, 500_000)
        assert cursor.fetchall() == [
            (2, "two", True, dt.date(2020, 2, 29), moment, 1.5),
            (3, None, True, dt.date(2020, 2, 29), moment, 1.5),
        ]


@pytest.mark.parametrize(
    ("where", "value", "expected"),
    [
        ("age > %s", 45, 2),
        ("age > %s", Decimal("45.5"), 2),
        ("age > %s", 45.5, 2),
        ("age > %s", "45", 2),
        ("charge >= %s", Decimal("20.00"), 2),
        ("charge >= %s", 20, 2),
        ("smoker = %s", True, 2),
        ("smoker = %s", "no", 2),
        ("visited <= %s", dt.date(2024, 1, 2), 3),
        ("visited <= %s", "2024-01-01", 1),
        ("city = %s", "Oslo", 2),
        ("city = %s", None, 0),
        ("age > %s", None, 0),
    ],
)
def test_values_of_every_type(running: Running, where: str, value: object, expected: int) -> None:
    with connect(running) as connection:
        for binary in ("s", "b", "t"):
            sql = f"SELECT COUNT(*) FROM visits WHERE {where.replace('%s', f'%{binary}')}"
            if binary == "b" and isinstance(value, str):
                continue
            assert connection.execute(sql, (value,)).fetchone() == (expected,)


@pytest.mark.parametrize(
    ("sql", "values", "kind"),
    [
        ("SELECT nosuch FROM visits", (), psycopg.errors.UndefinedColumn),
        ("SELECT 1 FROM nosuch", (), psycopg.errors.UndefinedTable),
        ("SELECT age FROM visits", (), psycopg.errors.InsufficientPrivilege),
        ("SELECT MODE(age) FROM visits", (), psycopg.errors.FeatureNotSupported),
        ("SELECT (", (), psycopg.errors.SyntaxError),
        ("SELECT COUNT(*) FROM visits WHERE age > %s", ("x",), psycopg.errors.InvalidTextRepresentation),
        ("SELECT COUNT(*) FROM visits WHERE age > %s", ("9" * 30,), psycopg.errors.NumericValueOutOfRange),
        ("SELECT COUNT(*) FROM visits WHERE visited > %s", ("2024-13-01",), psycopg.errors.DatetimeFieldOverflow),
        ("SET noise = off", (), psycopg.errors.UndefinedObject),
        ("INSERT INTO visits VALUES (1)", (), psycopg.errors.FeatureNotSupported),
    ],
)
def test_errors(
    running: Running, session: Session, sql: str, values: tuple[object, ...], kind: type[Exception]
) -> None:
    before = charges(session)
    with connect(running) as connection:
        with pytest.raises(kind):
            connection.execute(sql, values)  # type: ignore[call-overload]
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert charges(session) == before


def test_connecting_is_free(running: Running, session: Session) -> None:
    before = charges(session)
    with connect(running) as connection, connection.transaction():
        assert connection.execute("SELECT 1").fetchone() == (1,)

    async def talk() -> None:
        connection = await asyncpg.connect(host="127.0.0.1", port=running.port, user=ME, ssl=False)
        await connection.execute("SELECT 1")
        await connection.reset()
        await connection.close()

    asyncio.run(talk())
    assert charges(session) == before


def test_cursors_copies_and_pipelines(running: Running) -> None:
    with connect(running) as connection:
        with connection.transaction(), connection.cursor("c") as named:
            named.execute("SELECT code FROM codes WHERE code < %s ORDER BY code", (9,))
            assert named.fetchmany(2) == [(1,), (2,)] and named.fetchall() == [(3,)]
        with connection.cursor().copy("COPY (SELECT code, name FROM codes ORDER BY code) TO STDOUT") as rows:
            assert list(rows.rows()) == [("1", "one"), ("2", "two"), ("3", None)]
        with connection.cursor().copy("COPY (SELECT code, name FROM codes) TO STDOUT (FORMAT binary)") as rows:
            rows.set_types(["int8", "text"])
            assert sorted(rows.rows()) == [(1, "one"), (2, "two"), (3, None)]
        with connection.pipeline():
            found = [connection.execute("SELECT code FROM codes WHERE code = %s", (n,)) for n in (1, 2, 3)]
            assert [cursor.fetchone() for cursor in found] == [(1,), (2,), (3,)]


def test_a_failed_transaction(running: Running) -> None:
    with connect(running) as connection:
        connection.execute("BEGIN")
        with pytest.raises(psycopg.errors.UndefinedColumn):
            connection.execute("SELECT nosuch FROM visits")
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.execute("ROLLBACK")
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_many_rows_in_text_and_binary(running: Running) -> None:
    sql = f"SELECT a.code + i.code AS x, a.name FROM {', '.join(f'codes {name}' for name in 'abcdefghi')}"
    with connect(running) as connection:
        plain, binary = (connection.cursor(binary=b).execute(sql).fetchall() for b in (False, True))
    assert len(plain) == 3**9 and sorted(plain, key=repr) == sorted(binary, key=repr)


def test_pauses_keep_no_thread_and_can_be_cut_short(running: Running) -> None:
    """As many connections as there are threads wait at once, and others are answered."""

    async def talk() -> None:
        dsn = f"postgresql://{ME}@127.0.0.1:{running.port}/x?sslmode=disable"
        waiting = [await asyncpg.connect(dsn) for _ in range(12)]
        tasks = [asyncio.ensure_future(connection.fetchval("SELECT pg_sleep(600)")) for connection in waiting]
        other = await asyncpg.connect(dsn)
        assert await other.fetchval("SELECT code FROM codes WHERE code = 2") == 2
        assert await other.fetchval("SELECT pg_sleep(0.001)") == ""
        await other.execute("SET statement_timeout = 50")
        with pytest.raises(asyncpg.exceptions.QueryCanceledError, match="timeout"):
            await other.fetchval("SELECT pg_sleep(600)")
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in (*waiting, other):
            assert await connection.fetchval("SELECT 1") == 1
            await connection.close()

    asyncio.run(talk())


# ---------------------------------------------------------------------------------------------- asyncpg, psql


def test_asyncpg(running: Running) -> None:
    async def talk() -> None:
        notices: list[str] = []
        connection = await asyncpg.connect(
            host="127.0.0.1", port=running.port, user=ME, ssl=False, server_settings={"dpsql.epsilon": "500000"}
        )
        connection.add_log_listener(lambda _, notice: notices.append(notice.message))
        query = "SELECT city, COUNT(*) AS n FROM visits WHERE age > $1 AND visited < $2 GROUP BY city LIMIT $3"
        rows = await connection.fetch(query, 30, dt.date(2024, 1, 3), 5)
        assert [tuple(row) for row in rows] == [("Oslo", 1), ("Bergen", 1)]
        async with connection.transaction():
            codes = [row["code"] async for row in connection.cursor("SELECT code FROM codes ORDER BY code", prefetch=1)]
        assert codes == [1, 2, 3]
        lists = "SELECT COUNT(*) FROM visits WHERE city = ANY($1) AND age <> ALL($2)"
        assert (await connection.fetch(lists, ["Oslo", "elsewhere"], [30, 99]))[0][0] == 1
        named = (
            "SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0"
        )
        assert (await connection.fetchval(named, "visits"))[:2] == ["age", "city"]
        with pytest.raises(asyncpg.exceptions.InsufficientPrivilegeError):
            await connection.fetch("SELECT age FROM visits")
        assert await connection.fetchval("SELECT 1") == 1
        await connection.reset()
        await connection.close()
        assert notices[0].startswith("charged ε 500000, ")
        async with asyncpg.create_pool(
            host="127.0.0.1", port=running.port, user=ME, ssl=False, min_size=1, max_size=3
        ) as pool:
            found = await asyncio.gather(
                *(pool.fetchval("SELECT code FROM codes WHERE code = $1", n) for n in (1, 2, 3))
            )
            assert found == [1, 2, 3]

    asyncio.run(talk())


def test_psql(running: Running) -> None:
    need("postgresql-client-15", "psql")

    def psql(*commands: str, **environ: str) -> subprocess.CompletedProcess[str]:
        arguments = [part for command in commands for part in ("-c", command)]
        return subprocess.run(
            ["psql", "-X", "-h", "127.0.0.1", "-p", str(running.port), "-U", ME, "-At", *arguments],
            env={**os.environ, **environ},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    done = psql(COUNT, PGOPTIONS="-c dpsql.epsilon=250000")
    assert done.stdout == "4\n" and done.stderr.startswith("NOTICE:  charged ε 250000, ")
    assert psql("SELECT 1; SELECT name FROM codes WHERE code = 2").stdout == "1\ntwo\n"
    assert psql("\\set FETCH_COUNT 2", "SELECT code FROM codes ORDER BY code").stdout == "1\n2\n3\n"
    assert psql("\\copy (SELECT code, name FROM codes ORDER BY 1) TO STDOUT CSV").stdout == "1,one\n2,two\n3,\n"
    wrong = psql("SELECT nosuch FROM visits")
    assert wrong.returncode == 1 and "LINE 1: SELECT nosuch FROM visits\n               ^\nHINT:" in wrong.stderr


# ---------------------------------------------------------------------------------------------- encryption, passwords


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certify(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def safe(session: Session, certificate: tuple[Path, Path]) -> Iterator[Running]:
    users = {"alice": make_verifier("pencil"), "bob": make_verifier("crayon")}
    with serving(session, Settings(certificate=certificate[0], key=certificate[1], users=users)) as made:
        yield made


def encrypted(safe: Running, certificate: tuple[Path, Path], **options: Any) -> psycopg.Connection[Any]:
    chosen = {"user": "alice", "password": "pencil", "sslmode": "verify-full", "sslrootcert": str(certificate[0])}
    return psycopg.connect(host="localhost", hostaddr="127.0.0.1", port=safe.port, **{**chosen, **options})


def test_verified_encryption_and_passwords(safe: Running, certificate: tuple[Path, Path]) -> None:
    for binding in ("disable", "prefer", "require"):
        with encrypted(safe, certificate, channel_binding=binding) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute("SELECT current_user").fetchone() == ("alice",)
    with encrypted(safe, certificate, user="bob", password="crayon") as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("bob",)


def test_direct_encryption(safe: Running, certificate: tuple[Path, Path]) -> None:
    if psycopg.pq.version() >= 170000:
        with encrypted(safe, certificate, sslnegotiation="direct") as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    for protocols, answered in ((["postgresql"], True), ([], False), (["http/1.1"], False)):
        context = ssl.create_default_context(cafile=str(certificate[0]))
        context.set_alpn_protocols(protocols)
        try:
            with context.wrap_socket(raw(safe), server_hostname="localhost") as line:
                line.sendall(wire.opening(messages.Startup(0, {"user": "alice"})))
                found = line.recv(1_000)
        except (ssl.SSLError, OSError):
            found = b""
        assert found.startswith(b"R") is answered


def test_an_encrypted_connection_ends_with_goodbye(safe: Running, certificate: tuple[Path, Path]) -> None:
    """Without it libpq 17 takes an encrypted CancelRequest for one that failed."""
    context = ssl.create_default_context(cafile=str(certificate[0]))
    context.set_alpn_protocols(["postgresql"])
    with context.wrap_socket(raw(safe), server_hostname="localhost", suppress_ragged_eofs=False) as line:
        line.sendall(wire.opening(messages.CancelRequest(1, b"1234")))
        assert line.recv(1) == b""
    if psycopg.pq.version() >= 170000:
        with encrypted(safe, certificate) as connection:
            connection.cancel_safe()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"password": "wrong"}, 'password authentication failed for user "alice"'),
        ({"user": "nobody"}, 'password authentication failed for user "nobody"'),
        ({"sslmode": "disable"}, "this server takes encrypted connections only"),
        ({"password": ""}, "password"),
    ],
)
def test_who_is_not_let_in(
    safe: Running, certificate: tuple[Path, Path], options: dict[str, str], message: str
) -> None:
    with pytest.raises(psycopg.OperationalError, match=message):
        encrypted(safe, certificate, **options)


def test_bytes_that_are_no_handshake_end_the_connection(safe: Running) -> None:
    with raw(safe) as line:
        line.sendall(wire.opening(messages.SslRequest()))
        assert line.recv(1) == b"S"
        line.sendall(b"GET / HTTP/1.1\r\n\r\n")
        received(line)
    with raw(safe) as line:
        line.sendall(b"\x16\x03\x01\x00\x05hello")
        received(line)


def test_a_server_without_encryption_takes_no_direct_encryption(running: Running) -> None:
    with raw(running) as line:
        line.sendall(b"\x16\x03\x01\x00\x05hello")
        assert received(line) == b""


def test_what_is_exposed_is_not_served(session: Session, certificate: tuple[Path, Path]) -> None:
    users = {"alice": make_verifier("pencil")}
    for settings in (Settings("0.0.0.0"), Settings("::", users=users),
                     Settings("0.0.0.0", certificate=certificate[0], key=certificate[1])):  # fmt: skip
        with pytest.raises(PolicyError, match="reachable from other machines"):
            server.Server(session, settings)
    assert not replace(settings, users=users).exposed and not Settings("127.8.8.8").exposed


def test_certificates_that_cannot_be_used(session: Session, certificate: tuple[Path, Path], tmp_path: Path) -> None:
    other = certify(tmp_path)
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing")
    certificate_name = certificate[0].name
    for pair, reason in (
        ((certificate[0], other[1]), "key values mismatch"),
        ((nothing, nothing), r"nothing\.pem holds no certificate, or nothing\.pem no private key"),
        ((certificate[0], certificate[0]), f"{certificate_name} holds no certificate, or {certificate_name} no"),
        ((certificate[0], tmp_path / "gone"), "gone: no such file or directory"),
    ):
        with pytest.raises(PolicyError, match=rf"server\.tls can't be used: {reason}"):
            server.Server(session, Settings(certificate=pair[0], key=pair[1]))


# ---------------------------------------------------------------------------------------------- cancelling, time


class Slow:
    """Makes asking wait until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, session: Session) -> None:
        self.began, self.go_on, self.ended = threading.Event(), threading.Event(), threading.Event()
        answer: Callable[..., Any] = session.answer

        self.entered = 0

        def slow(*arguments: Any, **options: Any) -> Any:
            self.entered += 1
            self.began.set()
            assert self.go_on.wait(20)
            try:
                return answer(*arguments, **options)
            finally:
                self.ended.set()

        monkeypatch.setattr(session, "answer", slow)


def test_cancelling(running: Running, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    before = charges(session)
    with connect(running) as connection:
        slow = Slow(monkeypatch, session)
        threading.Thread(target=lambda: (slow.began.wait(10), connection.cancel_safe())).start()
        with pytest.raises(psycopg.errors.QueryCanceled, match="user request"):
            connection.execute(COUNT)
        assert charges(session) == before  # not yet: it still runs
        slow.go_on.set()
        assert slow.ended.wait(10)
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert charges(session) == before + 1  # what was charged stands


@pytest.mark.parametrize("key", [b"1234", b"12345678", bytes(32)])
def test_a_wrong_key_cancels_nothing_and_tells_nothing(
    running: Running, session: Session, monkeypatch: pytest.MonkeyPatch, key: bytes
) -> None:
    with connect(running) as connection:
        slow = Slow(monkeypatch, session)
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(connection.execute(COUNT).fetchone()))
        thread.start()
        assert slow.began.wait(10)
        for process in (connection.info.backend_pid, 999_999):
            with raw(running) as line:
                line.sendall(wire.opening(messages.CancelRequest(process, key)))
                assert received(line) == b""
        slow.go_on.set()
        thread.join(10)
        assert found == [(4,)]


def test_keys_are_long_in_protocol_3_2(running: Running) -> None:
    for minor, size in ((0, 4), (2, 32)):
        with raw(running) as line:
            line.sendall(wire.opening(messages.Startup(minor, {"user": ME})))
            (key,) = [r.key for r in until(line, b"Z") if isinstance(r, messages.BackendKeyData)]
            assert len(key) == size


def test_the_time_limit_of_a_statement(running: Running, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(running) as connection:
        slow = Slow(monkeypatch, session)
        connection.execute("SET statement_timeout = 100")
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(COUNT)
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(COUNT)
        assert slow.entered == 1  # the second waited for the first, and never began
        slow.go_on.set()
        connection.execute("RESET statement_timeout")
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_limits_of_time_and_number(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LOGGING_IN", 2)
    settings = Settings(max_connections=2, idle_timeout=0.3)
    with serving(session, settings, login_seconds=2.0) as running:
        with raw(running) as oldest:
            while not running.server._logging_in:
                time.sleep(0.01)
            with raw(running) as waiting:
                while len(running.server._logging_in) < 2:
                    time.sleep(0.01)
                with raw(running) as another:
                    another.sendall(wire.opening(messages.Startup(0, {"user": ME})))
                    until(another, b"Z")  # there is room for it, because
                    assert received(oldest) == b""  # this one gave way
                assert received(waiting) == b""  # its time is over
        one, two = connect(running), connect(running)
        with pytest.raises(psycopg.OperationalError, match="there are 2 connections already"):
            connect(running)
        time.sleep(0.6)
        for connection in (one, two):
            with pytest.raises(psycopg.OperationalError, match="idle for too long"):
                connection.execute("SELECT 1")
            connection.close()
        with connect(running) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_who_only_connects_keeps_nobody_out_who_connects_from_elsewhere(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "LOGGING_IN", 3)
    with serving(session) as running, ExitStack() as stack:

        def arrived(address: str) -> socket.socket:
            before, target = len(running.server._logging_in), ("127.0.0.1", running.port)
            line = stack.enter_context(socket.create_connection(target, 10, source_address=(address, 0)))
            while len(running.server._logging_in) <= before < 3:
                time.sleep(0.01)
            return line

        elsewhere, first, _ = arrived("127.0.0.2"), arrived("127.0.0.1"), arrived("127.0.0.1")
        assert list(running.server._logging_in.values()) == ["127.0.0.2", "127.0.0.1", "127.0.0.1"]
        arrived("127.0.0.1")
        assert received(first) == b""
        elsewhere.sendall(wire.opening(messages.Startup(0, {"user": ME})))
        until(elsewhere, b"Z")


@pytest.mark.parametrize(
    ("peer", "found"),
    [
        (("10.0.0.7", 5), "10.0.0.7"),
        (("2001:db8:1:2:3:4:5:6", 5, 0, 0), "2001:db8:1:2::"),
        (("fe80::1%eth0", 5, 0, 2), "fe80::"),
        (("::ffff:10.0.0.7", 5, 0, 0), "10.0.0.7"),
        (None, ""),
    ],
)
def test_whose_address_it_is(peer: object, found: str) -> None:
    assert lines.network(peer) == found


@pytest.fixture
def shared(session: Session) -> Iterator[Running]:
    users = {name: make_verifier(name) for name in ("alice", "bob")}
    with serving(session, Settings(users=users, max_connections=3)) as made:
        yield made


def enter(running: Running, name: str) -> psycopg.Connection[Any]:
    return psycopg.connect(host="127.0.0.1", port=running.port, user=name, password=name, autocommit=True)


def test_one_analyst_leaves_room_for_others(shared: Running) -> None:
    with enter(shared, "alice"), enter(shared, "alice"):
        with pytest.raises(
            psycopg.OperationalError, match=r'"alice" has 2 connections[^\n]*\n.*server\.max_connections_per'
        ):
            enter(shared, "alice")
        with enter(shared, "bob") as bob:
            assert bob.execute("SELECT 1").fetchone() == (1,)
            with pytest.raises(psycopg.OperationalError, match="there are 3 connections already"):
                enter(shared, "bob")


def test_one_analyst_s_long_statements_leave_threads_for_others(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "THREADS", 1)
    users = {name: make_verifier(name) for name in ("alice", "bob")}
    with (
        serving(session, Settings(users=users)) as running,
        enter(running, "alice") as alice,
        enter(running, "bob") as bob,
    ):
        slow = Slow(monkeypatch, session)
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(alice.execute(COUNT).fetchone()))
        thread.start()
        assert slow.began.wait(10)
        bob.execute("SET statement_timeout = '5s'")
        assert bob.execute("SHOW dpsql.budget").fetchone()
        slow.go_on.set()
        thread.join(10)
        assert found == [(4,)]


def test_a_long_message_ends_the_connection(running: Running) -> None:
    with raw(running) as line:
        line.sendall(wire.opening(messages.Startup(0, {"user": ME})))
        until(line, b"Z")
        line.sendall(b"Q\x7f\xff\xff\xff")
        (error,) = wire.replies(received(line))
        assert isinstance(error, messages.ErrorResponse) and error.severity == "FATAL"


def test_stopping_lets_statements_end_and_says_goodbye(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(session) as running, connect(running) as busy, raw(running) as idle:
        idle.sendall(wire.opening(messages.Startup(0, {"user": ME})))
        until(idle, b"Z")
        slow = Slow(monkeypatch, session)
        found: list[Any] = []
        asking = threading.Thread(target=lambda: found.append(busy.execute(COUNT).fetchone()))
        asking.start()
        assert slow.began.wait(10)
        stopping = threading.Thread(target=running.stop)
        stopping.start()
        (error,) = wire.replies(received(idle))
        assert isinstance(error, messages.ErrorResponse) and (error.sqlstate, error.severity) == ("57P01", "FATAL")
        with pytest.raises(psycopg.OperationalError):
            connect(running)
        slow.go_on.set()
        asking.join(10)
        stopping.join(10)
        assert found == [(4,)]


def test_stopping_waits_for_nobody_who_has_not_logged_in(session: Session) -> None:
    """Nor for who connects meanwhile; and nothing of them is left, of which something would be told afterwards."""
    with serving(session) as running:
        with raw(running) as silent, raw(running) as half:
            half.sendall(wire.opening(messages.Startup(0, {"user": ME}))[:9])
            while len(running.server._logging_in) < 2:
                time.sleep(0.01)
            begun = time.monotonic()
            running.stop()
            assert time.monotonic() - begun < 10 < server.LOGIN_SECONDS
            assert received(silent) == received(half) == b""
        assert not running.server._tasks


def test_who_logs_in_while_the_server_stops_is_told(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_end_now", lambda limit: None)
    with serving(session) as running, raw(running) as line:
        while not running.server._logging_in:
            time.sleep(0.01)
        stopping = threading.Thread(target=running.stop)
        stopping.start()
        while not running.server._ending:
            time.sleep(0.01)
        line.sendall(wire.opening(messages.Startup(0, {"user": ME})))
        error = wire.replies(received(line))[-1]
        assert isinstance(error, messages.ErrorResponse) and (error.sqlstate, error.severity) == ("57P01", "FATAL")
        stopping.join(10)
        assert not stopping.is_alive()


def test_a_time_limit_that_is_over_is_not_ended_again() -> None:
    async def late() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0) as limit:
                while not limit.expired():
                    await asyncio.sleep(0)
        server._end_now(limit)

    asyncio.run(late())


def test_a_client_that_reads_nothing_is_left(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "READING_SECONDS", 0.3)
    monkeypatch.setattr(lines, "CLOSING_SECONDS", 0.3)
    many = f"SELECT a.code + k.code AS x FROM {', '.join(f'codes {name}' for name in 'abcdefghijk')}"
    with raw(running) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        line.sendall(wire.opening(messages.Startup(0, {"user": ME})))
        until(line, b"Z")
        line.sendall(b"".join(wire.request(messages.Query(many)) for _ in range(8)))
        deadline = time.monotonic() + 30
        while running.server._tasks and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not running.server._conversations
        assert not running.server._tasks  # its socket is closed, too, and what waited there forgotten


class Never:
    """A line that never makes anybody wait."""

    def __init__(self, data: bytes) -> None:
        self.data = [data, b""]

    async def read(self) -> bytes:
        return self.data.pop(0)

    async def write(self, data: bytes) -> None:
        pass


@pytest.mark.parametrize("message", [messages.Flush(), messages.Query("BEGIN; COMMIT")])
def test_a_client_that_sends_all_the_time_leaves_others_their_turn(
    session: Session, message: messages.Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "TURN", 0.0)
    gate = login.Connection(login.Gate(None, ME))
    assert list(gate.receive(wire.opening(messages.Startup(0, {"user": ME}))))
    asker = Asker(session, Catalogue(session), ME, ME)
    turns = 0

    async def talk() -> None:
        line: Any = Never(wire.request(message) * 100)
        with ThreadPoolExecutor(1) as pool:
            made = conversation.Conversation(line, gate, Backend(asker, {}), pool, seconds=10, idle=None)
            await made.run(b"")

    async def run() -> None:
        nonlocal turns
        talking = asyncio.create_task(talk())
        while not talking.done():
            turns += 1
            await asyncio.sleep(0)

    asyncio.run(run())
    assert turns >= 100


def test_an_address_that_is_taken(session: Session, running: Running) -> None:
    made = server.Server(session, Settings(port=running.port))
    with pytest.raises(OperationalError, match=f"can't listen on 127.0.0.1, port {running.port}"):
        asyncio.run(made.start())
    asyncio.run(made.stop())


def test_clients_that_go_away_leave_nothing(running: Running, session: Session) -> None:
    before = charges(session)
    for _ in range(20):
        with raw(running) as line:
            line.sendall(wire.opening(messages.Startup(0, {"user": ME})) + wire.request(messages.Query(COUNT)))
    deadline = time.monotonic() + 10
    while (running.server._tasks or charges(session) == before) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not running.server._conversations and not running.server._logging_in
    with connect(running) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert before <= charges(session) <= before + 20
    assert conversation.STANDS
