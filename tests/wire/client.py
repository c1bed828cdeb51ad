"""A client's side of the protocol, written apart from the server's: requests to bytes, bytes to answers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dpsql.errors import Cancelled
from dpsql.wire import messages as m
from dpsql.wire.backend import Backend, Job


@dataclass(frozen=True)
class Row:
    """A DataRow."""

    values: tuple[bytes | None, ...]


Reply = m.Answer | Row

# ---------------------------------------------------------------------------------------------- requests to bytes


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def framed(letter: bytes, content: bytes) -> bytes:
    return letter + struct.pack("!i", len(content) + 4) + content


def opening(message: m.Opening) -> bytes:
    match message:
        case m.SslRequest():
            content = struct.pack("!i", 80877103)
        case m.GssRequest():
            content = struct.pack("!i", 80877104)
        case m.CancelRequest(process, key):
            content = struct.pack("!ii", 80877102, process) + key
        case m.Startup(minor, parameters):
            pairs = b"".join(text(name) + text(value) for name, value in parameters.items())
            content = struct.pack("!i", 0x30000 + minor) + pairs + b"\0"
    return struct.pack("!i", len(content) + 4) + content


def request(message: m.Request) -> bytes:
    match message:
        case m.Query(sql):
            return framed(b"Q", text(sql))
        case m.Parse(name, sql, types):
            return framed(b"P", text(name) + text(sql) + struct.pack(f"!H{len(types)}I", len(types), *types))
        case m.Bind(portal, statement, formats, values, result_formats):
            packed = b"".join(struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v for v in values)
            content = text(portal) + text(statement) + struct.pack(f"!H{len(formats)}h", len(formats), *formats)
            content += struct.pack("!H", len(values)) + packed
            return framed(
                b"B", content + struct.pack(f"!H{len(result_formats)}h", len(result_formats), *result_formats)
            )
        case m.Describe(kind, name):
            return framed(b"D", kind.encode() + text(name))
        case m.Execute(portal, rows):
            return framed(b"E", text(portal) + struct.pack("!i", rows))
        case m.Close(kind, name):
            return framed(b"C", kind.encode() + text(name))
        case m.Flush():
            return framed(b"H", b"")
        case m.Sync():
            return framed(b"S", b"")
        case m.Terminate():
            return framed(b"X", b"")
        case m.Password(data):
            return framed(b"p", data)
    raise AssertionError(message)


# ---------------------------------------------------------------------------------------------- bytes to answers


def replies(data: bytes) -> list[Reply]:
    """All messages in the bytes, which must be whole."""
    found = []
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at + 1 : at + 5], "big")
        content = data[at + 5 : at + size + 1]
        assert len(content) == size - 4, "a message is cut short"
        found.append(reply(data[at : at + 1], content))
        at += size + 1
    return found


def reply(letter: bytes, content: bytes) -> Reply:
    match letter:
        case b"R":
            return _authentication(int.from_bytes(content[:4], "big"), content[4:])
        case b"v":
            version, count = struct.unpack("!ii", content[:8])
            assert version >> 16 == 3
            return m.NegotiateProtocolVersion(version & 0xFFFF, _texts(content[8:], count))
        case b"K":
            return m.BackendKeyData(int.from_bytes(content[:4], "big"), content[4:])
        case b"S":
            return m.ParameterStatus(*_texts(content, 2))
        case b"Z":
            assert len(content) == 1
            return m.ReadyForQuery(content.decode())  # type: ignore[arg-type]
        case b"T":
            return _row_description(content)
        case b"t":
            return m.ParameterDescription(struct.unpack(f"!{(len(content) - 2) // 4}I", content[2:]))
        case b"D":
            return _row(content)
        case b"C":
            return m.CommandComplete(*_texts(content, 1))
        case b"H":
            form, count = struct.unpack("!BH", content[:3])
            assert struct.unpack(f"!{count}h", content[3:]) == (form,) * count
            return m.CopyOutResponse(form, count)
        case b"d":
            return m.CopyData(content)
        case b"E" | b"N":
            return _notice(letter, content)
    assert not content
    return {
        b"n": m.NoData, b"1": m.ParseComplete, b"2": m.BindComplete, b"3": m.CloseComplete, b"s": m.PortalSuspended,
        b"I": m.EmptyQueryResponse, b"c": m.CopyDone,
    }[letter]()  # fmt: skip


def _texts(content: bytes, count: int) -> tuple[Any, ...]:
    *found, rest = content.split(b"\0")
    assert rest == b"" and len(found) == count
    return tuple(part.decode() for part in found)


def _authentication(code: int, rest: bytes) -> Reply:
    if code == 0:
        assert not rest
        return m.AuthenticationOk()
    if code == 10:
        assert rest.endswith(b"\0\0")
        return m.AuthenticationSasl(tuple(name.decode() for name in rest[:-2].split(b"\0")))
    return {11: m.AuthenticationSaslContinue, 12: m.AuthenticationSaslFinal}[code](rest)


def _row_description(content: bytes) -> Reply:
    count, at = int.from_bytes(content[:2], "big"), 2
    fields = []
    for _ in range(count):
        end = content.index(b"\0", at)
        name = content[at:end].decode()
        table, number, oid, size, modifier, form = struct.unpack("!IhIhih", content[end + 1 : end + 19])
        assert (table, number, modifier) == (0, 0, -1)
        fields.append(m.Field(name, oid, size, form))
        at = end + 19
    assert at == len(content)
    return m.RowDescription(tuple(fields))


def _row(content: bytes) -> Row:
    count, at = int.from_bytes(content[:2], "big"), 2
    values: list[bytes | None] = []
    for _ in range(count):
        size = int.from_bytes(content[at : at + 4], "big", signed=True)
        at += 4
        values.append(None if size < 0 else content[at : at + size])
        at += max(size, 0)
    assert at == len(content)
    return Row(tuple(values))


def _notice(letter: bytes, content: bytes) -> Reply:
    assert content.endswith(b"\0\0")
    fields = {part[:1].decode(): part[1:].decode() for part in content[:-2].split(b"\0")}
    assert fields["S"] == fields["V"]
    if letter == b"N":
        return m.NoticeResponse(fields["M"], fields["S"], fields["C"])  # type: ignore[arg-type]
    position = int(fields["P"]) if "P" in fields else None
    return m.ErrorResponse(fields["C"], fields["M"], fields.get("H"), position, fields["S"])  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------- a conversation


@dataclass
class Client:
    """Talks to a backend without sockets or threads: jobs run at once, or are cancelled where `cancel` says so."""

    backend: Backend
    cancel: Callable[[Job], bool] = lambda job: False
    jobs: list[Job] = field(default_factory=list)

    def send(self, *requests: m.Request) -> list[Reply]:
        """The answers to requests."""
        return replies(b"".join(part for message in requests for part in self._answer(message)))

    def query(self, sql: str) -> list[Reply]:
        return self.send(m.Query(sql))

    def rows(self, sql: str) -> list[tuple[str | None, ...]]:
        """The rows of a simple query, as text; it must not fail."""
        found = self.query(sql)
        assert not errors(found), found
        return [tuple(None if v is None else v.decode() for v in r.values) for r in found if isinstance(r, Row)]

    def _answer(self, message: m.Request) -> Iterator[bytes]:
        steps = self.backend.answer(message)
        result: Any = None
        failed: Exception | None = None
        while True:
            try:
                step = steps.send(result) if failed is None else steps.throw(failed)
            except StopIteration:
                return
            result = failed = None
            if isinstance(step, bytes):
                yield step
                continue
            self.jobs.append(step)
            if self.cancel(step):
                failed = Cancelled("canceling statement due to user request")
                continue
            try:
                result = step.run()
            except Exception as error:  # noqa: BLE001 - it belongs to whoever asked for the job
                failed = error


def errors(found: list[Reply]) -> list[m.ErrorResponse]:
    return [r for r in found if isinstance(r, m.ErrorResponse)]


def kinds(found: list[Reply]) -> list[str]:
    """The answers' kinds, for comparing a whole conversation."""
    return [type(r).__name__ for r in found]
