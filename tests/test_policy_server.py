"""The server section of the policy: what it means, and every way to be wrong, with its line, message and hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpsql.passwords import make_verifier
from dpsql.policy import Server, load, load_all_errors
from tests.test_policy import valid

HEAD = """\
dpsql: 1
budget: {epsilon: 20}
ledger: a.ledger
tables:
  people: {source: people.csv, public: true}
"""
VERIFIER = str(make_verifier("pencil", salt=b"0123456789abcdef"))
SAFE = f"tls: {{certificate: a.crt, key: b/a.key}}, users: {{alice: {VERIFIER}}}"


def written(folder: Path, text: str) -> Path:
    (folder / "people.csv").write_text("a\n1\n")
    path = folder / "policy.yaml"
    path.write_text(HEAD + text)
    return path


def test_without_the_section(tmp_path: Path) -> None:
    found = load(written(tmp_path, "")).server
    assert found == Server()
    assert (found.listen, found.port, found.users, found.exposed) == ("127.0.0.1", 5432, {}, False)


def test_everything_in_it(tmp_path: Path) -> None:
    text = f"""\
server:
  listen: 0.0.0.0
  port: 5433
  tls:
    certificate: a.crt
    key: b/a.key
  users:
    alice: {VERIFIER}
    "Zoe\u0308": '{VERIFIER}'
  max_connections: 7
  statement_timeout: 2.5
  idle_timeout: 60
  max_connections_per_analyst: 5
"""
    known = make_verifier("pencil", salt=b"0123456789abcdef")
    assert valid(HEAD + text)
    found = load(written(tmp_path, text)).server
    assert found == Server(
        "0.0.0.0", 5433, tmp_path / "a.crt", tmp_path / "b/a.key", {"alice": known, "Zo\u00eb": known}, 7, 2.5, 60.0, 5
    )
    assert not found.exposed
    assert VERIFIER not in repr(found)


@pytest.mark.parametrize(
    ("connections", "users", "own", "of_one"),
    [
        (100, 0, None, 100), (100, 1, None, 100), (100, 3, None, 33), (100, 10, None, 10), (100, 50, None, 10),
        (3, 2, None, 2), (1, 5, None, 1), (12, 4, None, 6), (100, 3, 2, 2),
    ],
)  # fmt: skip
def test_how_many_connections_one_analyst_may_have(connections: int, users: int, own: int | None, of_one: int) -> None:
    known = {str(number): make_verifier("x", salt=b"0123456789abcdef") for number in range(users)}
    server = Server(users=known, max_connections=connections, max_connections_per_analyst=own)
    assert server.of_one == of_one


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_this_machine_s_own_addresses_need_nothing(tmp_path: Path, address: str) -> None:
    assert not load(written(tmp_path, f"server: {{listen: '{address}'}}\n")).server.exposed


def test_verifiers_from_the_environment(tmp_path: Path) -> None:
    path = written(tmp_path, "server:\n  users:\n    alice: ${ALICE}\n")
    assert load(path, environ={"ALICE": VERIFIER}).server.users["alice"] == make_verifier(
        "pencil", salt=b"0123456789abcdef"
    )
    _, errors = load_all_errors(path, environ={"ALICE": "hunter2"})
    assert "must be the verifier" in errors[0].message and "hunter2" not in str(errors[0])


WRONG = [
    ("server: 5", "server must be a mapping, found 5", "server: {listen: 127.0.0.1"),
    ("server: {}", "server must be a mapping, found nothing", "server: {listen: 127.0.0.1"),
    ("server: {lisen: 127.0.0.1}", "server has an unknown key 'lisen'", "did you mean 'listen'?"),
    ("server: {listen: 5}", "server.listen must be a text, found 5", "quotes"),
    (
        "server: {listen: example.org}",
        "server.listen must be an IP address, found the text 'example.org'",
        "0.0.0.0 or ::",
    ),
    (
        "server: {listen: 0.0.0.0}",
        "'0.0.0.0' is reachable from other machines, without tls and without users",
        "tls: {certificate",
    ),
    (
        f"server: {{listen: '::', users: {{alice: {VERIFIER}}}}}",
        "'::' is reachable from other machines, without tls",
        "write tls: {certificate: server.crt, key: server.key}; or listen: 127.0.0.1",
    ),
    ("server: {listen: 10.0.0.1, tls: {certificate: a, key: b}}", "without users", "write users: {alice:"),
    ("server: {port: 0}", "server.port must be a whole number from 1 to 65535", "port: 5432"),
    ("server: {port: 70000}", "server.port must be a whole number", "port: 5432"),
    ("server: {port: 5432.5}", "server.port must be a whole number", "port: 5432"),
    ("server: {port: '5432'}", "server.port must be a number, found the text '5432'", "without quotes"),
    (
        "server: {tls: {certificate: a.crt}}",
        "server.tls has no 'key'",
        "tls: {certificate: server.crt, key: server.key}",
    ),
    ("server: {tls: {key: a.key}}", "server.tls has no 'certificate'", "tls: {certificate: server.crt"),
    ("server: {tls: {certificate: a, key: 5}}", "server.tls.key must be a text, found 5", "quotes"),
    ("server: {tls: true}", "server.tls must be a mapping, found true", "tls: {certificate"),
    ("server: {users: {}}", "server.users must be a mapping, found nothing", "users: {alice: SCRAM-SHA-256$4096"),
    ("server: {users: [alice]}", "server.users must be a mapping, found a list", "users: {alice"),
    (
        "server: {users: {alice: hunter2}}",
        "server.users.alice must be the verifier of a password, not the password",
        "`dpsql password` prints",
    ),
    ("server: {users: {alice: 5}}", "server.users.alice must be a text, found 5", "quotes"),
    (f"server: {{users: {{'*': {VERIFIER}}}}}", "'*' can't be the name of a user", "the analyst's name"),
    (f"server: {{users: {{' a': {VERIFIER}}}}}", "' a' can't be the name of a user", "the analyst's name"),
    (f"server: {{users: {{'Zo\u00eb': {VERIFIER}, 'Zoe\u0308': {VERIFIER}}}}}", "is written twice", "keep one"),
    (
        "server: {max_connections: 0}",
        "server.max_connections must be a whole number from 1 to 100000",
        "max_connections: 100",
    ),
    (
        "server: {max_connections_per_analyst: 1.5}",
        "server.max_connections_per_analyst must be a whole number from 1 to 100000",
        "max_connections_per_analyst: 20",
    ),
    ("server: {statement_timeout: 0}", "server.statement_timeout must be above 0", "statement_timeout: 60"),
    ("server: {idle_timeout: -1}", "server.idle_timeout must be above 0", "idle_timeout: 3600"),
    ("server: {idle_timeout: .inf}", "server.idle_timeout must be finite", "3600"),
]


@pytest.mark.parametrize(("text", "message", "hint"), WRONG)
def test_wrong_servers(tmp_path: Path, text: str, message: str, hint: str) -> None:
    policy, errors = load_all_errors(written(tmp_path, f"{text}\n"))
    assert policy is None and len(errors) == 1, errors
    assert f"policy.yaml:6: {message.split(' ')[0]}" in errors[0].message or message in errors[0].message
    assert message in errors[0].message and "policy.yaml:6: " in errors[0].message
    assert hint in (errors[0].hint or "")
    assert "hunter2" not in str(errors[0])


BEYOND_THE_SCHEMA = ("reachable", "IP address", "without users", "name of a user", "twice", "finite", "must be above 0")


@pytest.mark.parametrize(
    "text", [text for text, message, _ in WRONG if not any(b in message for b in BEYOND_THE_SCHEMA)]
)
def test_the_schema_sees_what_is_wrong_in_form(text: str) -> None:
    assert not valid(f"{HEAD}{text}\n")


def test_the_schema_takes_what_loads(tmp_path: Path) -> None:
    text = f"server: {{listen: 0.0.0.0, {SAFE}}}\n"
    assert valid(HEAD + text) and not load(written(tmp_path, text)).server.exposed
