"""Broken messages in every state of the protocol: `python -m tests.wire.fuzz [ROUNDS] [SEED]`.

Each case brings a connection to the server into a state, sends one message of some kind that is broken in some way, and
closes its side. The server must answer in whole messages, none of them a fault, and close: in time, with nothing in its
log and nothing charged. Prints what went wrong, with the bytes that show it, and exits with 1 where anything did.
"""

from __future__ import annotations

import logging
import random
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpsql.passwords import MECHANISM, make_verifier
from dpsql.policy import Server as Settings
from dpsql.session import Session, system_user
from dpsql.wire import messages as m
from tests.wire.client import framed, opening, replies, request, text
from tests.wire.clinic import charges, opened
from tests.wire.live import certify, serving
from tests.wire.test_scram import Scram

SECONDS = 10.0
"""What the server gets to answer and close."""
FREE, LONG = "SELECT code FROM codes", "SELECT a.code FROM codes a, codes b, codes c, codes d"
_ME = m.Startup(0, {"user": system_user()})
_LOGIN = opening(_ME)
_MECHANISM = framed(b"p", text(MECHANISM) + struct.pack("!i", len(Scram("x").first())) + Scram("x").first())
_PARSE = request(m.Parse("s", "SELECT code FROM codes WHERE code = $1", (20,)))
_BIND = request(m.Bind("p", "s", (), (b"1",), ()))


def _query(sql: str) -> bytes:
    return request(m.Query(sql))


STATES: Mapping[str, tuple[str, tuple[bytes, ...]]] = {
    "at first": ("open", ()),
    "encryption refused": ("open", (opening(m.SslRequest()),)),
    "both refused": ("open", (opening(m.SslRequest()), opening(m.GssRequest()))),
    "the handshake": ("encrypted", (opening(m.SslRequest()),)),
    "encrypted at once": ("encrypted", (b"\x16\x03\x01",)),
    "choosing a mechanism": ("locked", (_LOGIN,)),
    "proving": ("locked", (_LOGIN + _MECHANISM,)),
    "logging in": ("open", (_LOGIN,)),
    "ready": ("open", (_LOGIN + _query("SELECT 1"),)),
    "parsed": ("open", (_LOGIN + _PARSE,)),
    "bound": ("open", (_LOGIN + _PARSE + _BIND,)),
    "suspended": ("open", (_LOGIN + _query("BEGIN") + request(m.Parse("", FREE)) + request(m.Bind("", ""))
                           + request(m.Execute("", 1)),)),
    "flushed": ("open", (_LOGIN + _PARSE + request(m.Flush()),)),
    "skipping": ("open", (_LOGIN + request(m.Execute("nosuch", 0)),)),
    "in a block": ("open", (_LOGIN + _query("BEGIN"),)),
    "in a failed block": ("open", (_LOGIN + _query("BEGIN; nonsense"),)),
    "with a cursor": ("open", (_LOGIN + _query(f"BEGIN; DECLARE c CURSOR FOR {FREE}; FETCH 1 FROM c"),)),
    "after a copy": ("open", (_LOGIN + _query(f"COPY ({FREE}) TO STDOUT"),)),
    "while answering": ("open", (_LOGIN + _query(LONG) + _query(LONG),)),
}  # fmt: skip
"""Which server, and what is sent before; between two parts the server's answer is waited for."""
WHOLE: Mapping[str, bytes] = {
    "Query": _query(f"{FREE}; SHOW ALL"), "Parse": request(m.Parse("t", FREE, (20, 25))),
    "Bind": request(m.Bind("q", "s", (0,), (b"1",), (1,))), "Describe": request(m.Describe("S", "s")),
    "Execute": request(m.Execute("p", 1)), "Close": request(m.Close("P", "p")), "Flush": request(m.Flush()),
    "Sync": request(m.Sync()), "Terminate": request(m.Terminate()), "Password": _MECHANISM,
    "CopyData": framed(b"d", b"1\n"), "CopyDone": framed(b"c", b""), "CopyFail": framed(b"f", b"why\0"),
    "FunctionCall": framed(b"F", struct.pack("!ihhih", 1, 0, 0, -1, 0)), "an answer": framed(b"Z", b"I"),
    "Startup": _LOGIN, "SSLRequest": opening(m.SslRequest()), "GSSENCRequest": opening(m.GssRequest()),
    "CancelRequest": opening(m.CancelRequest(1, b"1234")), "bytes": b"\x00\xff GET / HTTP/1.1\r\n\r\n",
}  # fmt: skip
_LENGTHS = (0, 1, 3, 4, 5, 7, 8, 2**16, 2**20, 2**20 + 1, 2**31 - 1, -1, -(2**31))
WAYS = ("whole", "cut", "length", "longer", "shorter", "flipped", "content", "noise", "twice")


@dataclass(frozen=True, slots=True)
class Case:
    """What is sent: `broken` last."""

    state: str
    message: str
    way: str
    broken: bytes


def cases(chance: random.Random, ways: int) -> Iterator[Case]:
    """Each message in each state, broken in so many ways."""
    for state in STATES:
        for message, whole in WHOLE.items():
            for way in chance.sample(WAYS, ways):
                yield Case(state, message, way, _broken(whole, way, chance))


def _broken(whole: bytes, way: str, chance: random.Random) -> bytes:
    at = 0 if whole[:1] == b"\0" else 1  # where its length stands
    length = int.from_bytes(whole[at : at + 4], "big")
    match way:
        case "cut":
            return whole[: chance.randrange(len(whole))]
        case "length":
            return whole[:at] + struct.pack("!i", chance.choice(_LENGTHS)) + whole[at + 4 :]
        case "longer":
            return whole[:at] + struct.pack("!I", length + chance.randint(1, 9)) + whole[at + 4 :] + chance.randbytes(9)
        case "shorter":
            return whole[:at] + struct.pack("!I", max(0, length - chance.randint(1, 9))) + whole[at + 4 :]
        case "flipped":
            found = bytearray(whole)
            for _ in range(chance.randint(1, 3)):
                found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
            return bytes(found)
        case "content":
            content = chance.randbytes(chance.randrange(60))
            return whole[:at] + struct.pack("!i", len(content) + 4) + content
        case "noise":
            return chance.randbytes(chance.randint(1, 60))
        case "twice":
            return whole + whole[: chance.randrange(len(whole))] + whole
    return whole


class Servers:
    """A server without passwords, one with, one that encrypts: their session and ports."""

    def __init__(self, session: Session, ports: Mapping[str, int]) -> None:
        self.session = session
        self._ports = ports

    def wrong(self, case: Case) -> str | None:
        """What the server does wrong with a case."""
        server, prefix = STATES[case.state]
        with socket.create_connection(("127.0.0.1", self._ports[server]), timeout=SECONDS) as line:
            data = b""
            try:
                for part in prefix:
                    line.sendall(part)
                    if len(part) == 8:  # a wish for encryption, answered by one byte
                        assert line.recv(1) in (b"S", b"N")
                line.sendall(case.broken)
                line.shutdown(socket.SHUT_WR)
                while more := line.recv(65_536):
                    data += more
            except TimeoutError:
                return "it hangs"
            except OSError:  # it has closed with bytes unread, which resets the connection
                return None
        if server == "encrypted":
            return None if len(data) < 200 else "it says much in the handshake"
        try:
            found = replies(data.lstrip(b"NS") if case.state in _PLAIN else data)
        except (AssertionError, KeyError, struct.error, ValueError) as error:
            return f"its answer can't be read: {error!r}"
        faults = [r for r in found if isinstance(r, m.ErrorResponse) and r.sqlstate == "XX000"]
        return f"a fault: {faults[0]}" if faults else None


_PLAIN = ("at first", "encryption refused", "both refused")
"""States in which single bytes answer wishes for encryption."""


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """All three, until the block ends."""
    users = {"alice": make_verifier("pencil")}
    certificate, key = certify(folder)
    settings = {
        "open": Settings(max_connections=1_000),
        "locked": Settings(users=users),
        "encrypted": Settings(users=users, certificate=certificate, key=key),
    }
    with ExitStack() as stack:
        session = stack.enter_context(opened(folder))
        ports = {name: stack.enter_context(serving(session, each)).port for name, each in settings.items()}
        yield Servers(session, ports)


class _Log(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


@contextmanager
def logged() -> Iterator[list[str]]:
    """What the server and asyncio log meanwhile, from WARNING on."""
    handler = _Log()
    names = ("dpsql", "asyncio")
    for name in names:
        logging.getLogger(name).addHandler(handler)
    try:
        yield handler.found
    finally:
        for name in names:
            logging.getLogger(name).removeHandler(handler)


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    done, bad, began = 0, 0, time.monotonic()
    with tempfile.TemporaryDirectory() as name, servers(Path(name)) as made, logged() as log:
        for number in range(seed, seed + rounds):
            for case in cases(random.Random(number), len(WAYS)):
                done += 1
                wrong = made.wrong(case)
                if wrong is not None or log:
                    bad += 1
                    print(f"seed {number}: {case}: {wrong or log}")
                    log.clear()
        charged = charges(made.session)
    print(f"{done} cases in {time.monotonic() - began:.0f} s: {bad} wrong, {charged} charges")
    return int(bool(bad or charged))


if __name__ == "__main__":
    sys.exit(main())
