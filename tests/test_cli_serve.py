"""`dpsql serve` and `dpsql password` as processes."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from dpsql.cli import main
from dpsql.passwords import make_verifier, verifier
from dpsql.session import open_session, system_user
from tests.wire.clinic import load, write
from tests.wire.live import certify


def start(path: Path, *options: str) -> tuple[subprocess.Popen[str], int]:
    """A server that listens, and its port."""
    return started([sys.executable, "-m", "dpsql", "serve", str(path), "--port", "0", *options])


def started(command: list[str]) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "listening on 127.0.0.1, port " in line, line + process.stderr.read()
    return process, int(line.split("port ")[1].split(",")[0])


@pytest.mark.slow
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_serving_until_told_to_end(tmp_path: Path, told: signal.Signals) -> None:
    path = write(tmp_path)
    open_session(load(path), create_ledger=True).close()
    process, port = start(path)
    connection = psycopg.connect(host="127.0.0.1", port=port, user=system_user(), autocommit=True)
    try:
        assert connection.execute("SELECT COUNT(*) FROM visits").fetchone() == (4,)
    finally:
        process.send_signal(told)
        _, written = process.communicate(timeout=20)
        connection.close()
    assert (process.returncode, written) == (0, "ending: statements under way are answered\n")


ENDLESS = """
import sys, time
from dpsql.cli import main
from dpsql.session import Session
from dpsql.wire import server
server.CLOSING_SECONDS = 0.2
compiled = Session.prepare
def endless(session, sql, *arguments, **options):
    while "visits" in sql:
        time.sleep(0.01)
    return compiled(session, sql, *arguments, **options)
Session.prepare = endless
sys.exit(main(["serve", sys.argv[1], "--port", "0"]))
"""
"""A server whose statements take for ever, and which lets them have little time to end in."""


@pytest.mark.slow
def test_no_statement_keeps_the_server_from_ending(tmp_path: Path) -> None:
    """Nor is it charged: it has not been compiled."""
    path = write(tmp_path)
    open_session(load(path), create_ledger=True).close()
    process, port = started([sys.executable, "-c", ENDLESS, str(path)])
    connection = psycopg.connect(host="127.0.0.1", port=port, user=system_user(), autocommit=True)
    try:
        connection.execute("SET statement_timeout = '100ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT COUNT(*) FROM visits")
    finally:
        process.terminate()
        _, written = process.communicate(timeout=20)
        connection.close()
    assert process.returncode == 0
    assert written.splitlines()[1:] == ["ending: statements that take longer are left"]
    session = open_session(load(path))
    try:
        assert list(session.ledger.charges()) == [] and session.ledger.failures(system_user()) == 0
    finally:
        session.close()


@pytest.mark.slow
def test_users_log_in_with_passwords(tmp_path: Path) -> None:
    path = write(tmp_path, extra=f"server: {{users: {{alice: {make_verifier('pencil')}}}}}\n")
    open_session(load(path), create_ledger=True).close()
    process, port = start(path)
    try:
        with psycopg.connect(host="127.0.0.1", port=port, user="alice", password="pencil") as connection:
            assert connection.execute("SELECT current_user").fetchone() == ("alice",)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(host="127.0.0.1", port=port, user="alice", password="pen")
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.mark.parametrize(
    ("extra", "create", "code", "words"),
    [
        ("", False, 5, "dpsql budget"),
        ("server: {listen: 0.0.0.0}\n", True, 3, "policy.yaml:LINE: server.listen '0.0.0.0' is reachable"),
        (
            "server: {tls: {certificate: gone.crt, key: gone.key}}\n",
            True,
            3,
            "policy.yaml:LINE: server.tls can't be used: gone.crt: no such file",
        ),
        ("server: {listen: 127.0.0.1, port: 1}\n", True, 6, "can't listen on 127.0.0.1, port 1"),
    ],
)
def test_what_is_wrong_shows_before_the_first_connection(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    extra: str, create: bool, code: int, words: str,
) -> None:  # fmt: skip
    path = write(tmp_path, extra=extra)
    if create:
        (tmp_path / "good").mkdir()
        good = load(write(tmp_path / "good"))
        open_session(good, create_ledger=True).close()
        for file in (tmp_path / "good").glob("the.ledger*"):
            file.rename(tmp_path / file.name)
    if "port: 1" in extra:
        monkeypatch.setattr("asyncio.start_server", _taken)
    assert main(["serve", str(path)]) == code
    expected = words.replace("LINE", _line(path, "server:")) if extra else words
    assert expected in capsys.readouterr().err


def _line(path: Path, begins: str) -> str:
    """The number of the line that begins so."""
    lines = path.read_text().splitlines()
    return str(next(number for number, line in enumerate(lines, 1) if line.strip().startswith(begins)))


async def _taken(*_: object, **__: object) -> None:
    raise OSError(98, "Address already in use")


def test_a_wrong_port(capsys: pytest.CaptureFixture[str]) -> None:
    for port in ("x", "70000", "-1"):
        assert main(["serve", "policy.yaml", "--port", port]) == 2
    assert "from 0 to 65535" in capsys.readouterr().err


def test_a_password_s_verifier(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("pencil\r\nmore\n"))
    assert main(["password"]) == 0
    found = verifier(capsys.readouterr().out.strip())
    assert found is not None and found == make_verifier("pencil", salt=found.salt)


def test_a_password_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    for answers, code in ((["pencil", "pencil"], 0), (["pencil", "pen"], 2), (["", ""], 2)):
        given = iter(answers)
        monkeypatch.setattr("getpass.getpass", lambda _, given=given: next(given))
        assert main(["password"]) == code
    monkeypatch.setattr("getpass.getpass", lambda _: input())  # Ctrl-D
    assert main(["password"]) == 2
    shown = capsys.readouterr()
    assert "internal error" not in shown.err and shown.err.count("there is no password") == 2
    assert "the passwords differ" in shown.err and "there is no password" in shown.err
    assert verifier(shown.out.strip()) is not None and "pencil" not in shown.out + shown.err


@pytest.mark.parametrize("text", ["", "\n", "x" * 2000, "a\0b\n"])
def test_passwords_that_cannot_be(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["password"]) == 2


def test_a_password_that_is_no_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n"), encoding="utf-8"))
    assert main(["password"]) == 2
    assert "not UTF-8" in capsys.readouterr().err


def test_check_looks_at_the_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, extra="server:\n  port: 5433\n  tls: {certificate: server.crt, key: server.key}\n")
    assert main(["check", str(path)]) == 3
    where = f"policy.yaml:{_line(path, 'tls:')}: "
    assert f"{where}server.tls can't be used: server.crt: no such file or directory" in capsys.readouterr().err
    certify(tmp_path)
    assert main(["check", str(path)]) == 0
