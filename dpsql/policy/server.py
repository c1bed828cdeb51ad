"""The server section: where it listens, how connections are encrypted, who may log in."""

from __future__ import annotations

import unicodedata
from ipaddress import ip_address
from pathlib import Path

from dpsql.passwords import Verifier, verifier
from dpsql.policy.document import Node, Scalar
from dpsql.policy.model import Server
from dpsql.policy.problems import Problems, quoted
from dpsql.policy.section import Section, text_of
from dpsql.policy.sources import absolute

_EXAMPLE = "SCRAM-SHA-256$4096:…"
_TLS = "tls: {certificate: server.crt, key: server.key}"
_USERS = f"users: {{alice: {_EXAMPLE}}}"
_LONGEST_NAME = 200


def read_server(top: Section, base: str, problems: Problems) -> Server:
    """The section, or what holds where there is none."""
    section = top.section("server", "server", "server: {listen: 127.0.0.1, port: 5432}")
    if section is None:
        return Server()
    default = Server()
    certificate, key = _read_tls(section, base)
    server = Server(
        listen=_read_address(section) or default.listen,
        port=_whole(section, "port", "5432", 1, 65_535) or default.port,
        certificate=certificate,
        key=key,
        users=_read_users(section, problems),
        max_connections=_whole(section, "max_connections", "100", 1, 100_000) or default.max_connections,
        statement_timeout=_seconds(section, "statement_timeout", "60") or default.statement_timeout,
        idle_timeout=_seconds(section, "idle_timeout", "3600"),
        max_connections_per_analyst=_whole(section, "max_connections_per_analyst", "20", 1, 100_000),
        tls_line=section.line_of("tls"),
    )
    if server.exposed and "tls" not in section and "users" not in section:
        missing, safe = "without tls and without users", f"{_TLS} and {_USERS}"
    elif server.exposed and "tls" not in section:
        missing, safe = "without tls", _TLS
    elif server.exposed and "users" not in section:
        missing, safe = "without users", _USERS
    else:
        return server
    section.problem(
        "listen",
        f"server.listen {quoted(server.listen)} is reachable from other machines, {missing}",
        f"write {safe}; or listen: 127.0.0.1",
    )
    return server


def _read_address(section: Section) -> str | None:
    text = section.text("listen", "127.0.0.1")
    if text is None:
        return None
    try:
        return str(ip_address("127.0.0.1" if text == "localhost" else text))
    except ValueError:
        section.problem(
            "listen",
            f"server.listen must be an IP address, found the text {quoted(text)}",
            "write 127.0.0.1 for this machine alone, 0.0.0.0 or :: for all of its addresses",
        )
        return None


def _read_tls(section: Section, base: str) -> tuple[Path | None, Path | None]:
    tls = section.section("tls", "tls", _TLS)
    if tls is None:
        return None, None
    found: list[Path | None] = []
    for name in ("certificate", "key"):
        text = tls.text(name, f"server.{name[:3]}") if tls.require(name, f"write {_TLS}") else None
        found.append(None if text is None else Path(absolute(base, text)))
    return found[0], found[1]


def _read_users(section: Section, problems: Problems) -> dict[str, Verifier]:
    users: dict[str, Verifier] = {}
    node = section.mapping("users", f"users: {{alice: {_EXAMPLE}}}")
    for name, value in node.items if node else ():
        known = _read_user(name, value, problems)
        if known is None:
            continue
        user = unicodedata.normalize("NFC", name.text)
        if user in users:
            problems.add(name.line, f"the user {quoted(name.written)} is written twice", "keep one of the two")
        users[user] = known
    return users


def _read_user(name: Scalar, value: Node, problems: Problems) -> Verifier | None:
    """A user's verifier. What stands in its place is not shown: it may be a password."""
    text = name.text
    if not text.strip() or text != text.strip() or not text.isprintable() or text == "*" or len(text) > _LONGEST_NAME:
        problems.add(name.line, f"{quoted(name.written)} can't be the name of a user", "write the analyst's name")
        return None
    where = f"server.users.{quoted(name.written)[1:-1]}"
    written = text_of(value, where, f"{text}: {_EXAMPLE}", problems)
    found = None if written is None else verifier(written)
    if written is not None and found is None:
        problems.add(
            value.line,
            f"{where} must be the verifier of a password, not the password",
            f"write what `dpsql password` prints: {_EXAMPLE}",
        )
    return found


def _whole(section: Section, key: str, example: str, low: int, high: int) -> int | None:
    number = section.number(key, example)
    if number is None:
        return None
    if number.denominator != 1 or not low <= number <= high:
        section.problem(
            key,
            f"{section.where(key)} must be a whole number from {low} to {high}",
            f"write for example {key}: {example}",
        )
        return None
    return int(number)


def _seconds(section: Section, key: str, example: str) -> float | None:
    number = section.number(key, example)
    if number is None:
        return None
    if not 0 < number <= 10**7:
        section.problem(
            key,
            f"{section.where(key)} must be above 0 and at most 10000000 seconds",
            f"write for example {key}: {example}",
        )
        return None
    return float(number)
