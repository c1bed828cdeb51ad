"""Bytes to the messages of clients, messages of the server to bytes.

Nothing that a client sends is trusted: each read is checked against the message's length, text must be UTF-8, and what
is left over is an error.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from dpsql.wire import messages as m

LONGEST_STARTUP = 10_000
"""Bytes of a message before the session, as PostgreSQL has it."""
LONGEST_MESSAGE = 1 << 20
"""Bytes of a request: more than twice the longest statement that is parsed."""
LATEST_MINOR = 2
"""Of the protocol: 3.2 has longer keys for CancelRequest."""
_MAJOR = 3
_SSL, _GSS, _CANCEL = 80877103, 80877104, 80877102


class Unframed(Exception):
    """The bytes can't be split into messages: the connection must end."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class _Bad(Exception):
    def __init__(self, sqlstate: str, problem: str) -> None:
        super().__init__(problem)
        self.sqlstate, self.problem = sqlstate, problem


class _Reader:
    """Reads a message's content, never beyond its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise _Bad("08P01", "it ends too early")
        self._at, start = end, self._at
        return self._data[start:end]

    def byte(self) -> int:
        return self.take(1)[0]

    def int16(self) -> int:
        return int.from_bytes(self.take(2), "big", signed=True)

    def count(self) -> int:
        """A number of items. PostgreSQL's numbers of parameters are unsigned."""
        return int.from_bytes(self.take(2), "big")

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def oid(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def text(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise _Bad("08P01", "a text in it has no end")
        data = self.take(end - self._at)
        self._at += 1
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise _Bad("22021", "a text in it is not UTF-8") from None

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    def end(self) -> None:
        if self._at != len(self._data):
            raise _Bad("08P01", "it is longer than its content")


# ---------------------------------------------------------------------------------------------- reading


def take_opening(buffer: bytearray) -> m.Opening | None:
    """Take the first message of a connection off the buffer; None where it isn't all there yet. Raises Unframed."""
    if len(buffer) < 4:
        return None
    size = int.from_bytes(buffer[:4], "big", signed=True)
    if not 8 <= size <= LONGEST_STARTUP:
        raise Unframed("the first message has an impossible length: this is PostgreSQL's protocol")
    if len(buffer) < size:
        return None
    reader = _Reader(bytes(buffer[4:size]))
    del buffer[:size]
    try:
        return _opening(reader)
    except _Bad as bad:
        raise Unframed(f"the first message can't be read: {bad.problem}") from None


def _opening(reader: _Reader) -> m.Opening:
    code = reader.int32()
    found: m.Opening
    if code == _SSL:
        found = m.SslRequest()
    elif code == _GSS:
        found = m.GssRequest()
    elif code == _CANCEL:
        process, key = reader.int32(), reader.rest()
        if not 4 <= len(key) <= 256:
            raise _Bad("08P01", "a key has 4 to 256 bytes")
        found = m.CancelRequest(process, key)
    elif code >> 16 == _MAJOR:
        found = m.Startup(code & 0xFFFF, _parameters(reader))
    else:
        raise Unframed(f"protocol {code >> 16}.{code & 0xFFFF} is not spoken here: only 3.0 to 3.{LATEST_MINOR} are")
    reader.end()
    return found


def _parameters(reader: _Reader) -> dict[str, str]:
    found: dict[str, str] = {}
    while name := reader.text():
        found[name] = reader.text()
    return found


def take_request(buffer: bytearray, longest: int = LONGEST_MESSAGE) -> m.Request | None:
    """Take the next request off the buffer; None where it isn't all there yet. Raises Unframed."""
    if not buffer:
        return None
    letter = chr(buffer[0])
    if letter not in _READERS and letter not in _UNEXPECTED:
        raise Unframed("a message has a type that does not exist")
    if len(buffer) < 5:
        return None
    size = int.from_bytes(buffer[1:5], "big", signed=True)
    if not 4 <= size <= longest:
        raise Unframed(f"a message has {size} bytes; from 4 to {longest} are allowed")
    if len(buffer) <= size:
        return None
    content = bytes(buffer[5 : size + 1])
    del buffer[: size + 1]
    if letter in _UNEXPECTED:
        return m.Unexpected(letter)
    reader = _Reader(content)
    try:
        found = _READERS[letter](reader)
        reader.end()
    except _Bad as bad:
        return m.Unreadable(letter, bad.sqlstate, bad.problem)
    return found


def _parse(reader: _Reader) -> m.Request:
    name, sql = reader.text(), reader.text()
    return m.Parse(name, sql, tuple(reader.oid() for _ in range(reader.count())))


def _bind(reader: _Reader) -> m.Request:
    portal, statement = reader.text(), reader.text()
    formats = tuple(_format(reader) for _ in range(reader.count()))
    values = tuple(_value(reader) for _ in range(reader.count()))
    return m.Bind(portal, statement, formats, values, tuple(_format(reader) for _ in range(reader.count())))


def _format(reader: _Reader) -> int:
    code = reader.int16()
    if code not in (0, 1):
        raise _Bad("22023", f"{code} is no format; 0 is text, 1 is binary")
    return code


def _value(reader: _Reader) -> bytes | None:
    size = reader.int32()
    if size < -1:
        raise _Bad("08P01", "a value has a negative length")
    return None if size == -1 else reader.take(size)


def _kind(reader: _Reader) -> m.Kind:
    match reader.byte():
        case 0x53:
            return "S"
        case 0x50:
            return "P"
    raise _Bad("08P01", "it names neither a statement (S) nor a portal (P)")


def _execute(reader: _Reader) -> m.Request:
    portal, rows = reader.text(), reader.int32()
    return m.Execute(portal, max(rows, 0))


_READERS: dict[str, Callable[[_Reader], m.Request]] = {
    "Q": lambda r: m.Query(r.text()),
    "P": _parse,
    "B": _bind,
    "D": lambda r: m.Describe(_kind(r), r.text()),
    "E": _execute,
    "C": lambda r: m.Close(_kind(r), r.text()),
    "H": lambda r: m.Flush(),
    "S": lambda r: m.Sync(),
    "X": lambda r: m.Terminate(),
    "p": lambda r: m.Password(r.rest()),
}
_UNEXPECTED = frozenset("dcfF")
"""A copy's rows, end and failure; a function call."""


# ---------------------------------------------------------------------------------------------- writing


def encode(answer: m.Answer) -> bytes:
    """A message of the server."""
    letter, content = _content(answer)
    return letter + struct.pack("!i", len(content) + 4) + content


def _content(answer: m.Answer) -> tuple[bytes, bytes]:
    match answer:
        case m.ReadyForQuery(status):
            return b"Z", status.encode()
        case m.CommandComplete(tag):
            return b"C", _text(tag)
        case m.RowDescription(fields):
            return b"T", struct.pack("!H", len(fields)) + b"".join(map(_field, fields))
        case m.ParameterDescription(types):
            return b"t", struct.pack(f"!H{len(types)}I", len(types), *types)
        case m.CopyOutResponse(form, columns):
            return b"H", struct.pack(f"!BH{columns}H", form, columns, *[form] * columns)
        case m.CopyData(data):
            return b"d", data
        case m.ErrorResponse():
            return b"E", _notice(answer.severity, answer.sqlstate, answer.message, answer.hint, answer.position)
        case m.NoticeResponse():
            return b"N", _notice(answer.severity, answer.sqlstate, answer.message)
        case m.ParameterStatus(name, value):
            return b"S", _text(name) + _text(value)
        case m.BackendKeyData(process, key):
            return b"K", struct.pack("!i", process) + key
        case m.NegotiateProtocolVersion(minor, options):
            version = _MAJOR << 16 | minor
            return b"v", struct.pack("!ii", version, len(options)) + b"".join(map(_text, options))
        case m.AuthenticationOk():
            return b"R", struct.pack("!i", 0)
        case m.AuthenticationSasl(mechanisms):
            return b"R", struct.pack("!i", 10) + b"".join(map(_text, mechanisms)) + b"\0"
        case m.AuthenticationSaslContinue(data):
            return b"R", struct.pack("!i", 11) + data
        case m.AuthenticationSaslFinal(data):
            return b"R", struct.pack("!i", 12) + data
    return _EMPTY[type(answer)], b""


_EMPTY: dict[type[m.Answer], bytes] = {
    m.NoData: b"n",
    m.ParseComplete: b"1",
    m.BindComplete: b"2",
    m.CloseComplete: b"3",
    m.PortalSuspended: b"s",
    m.EmptyQueryResponse: b"I",
    m.CopyDone: b"c",
}


def _text(text: str) -> bytes:
    """A text and its end. What can't stand in one (NUL, half a surrogate pair) never reaches a client."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace") + b"\0"


def _field(field: m.Field) -> bytes:
    return _text(field.name) + struct.pack("!IhIhih", 0, 0, field.type, field.size, -1, field.format)


def _notice(severity: str, sqlstate: str, message: str, hint: str | None = None, position: int | None = None) -> bytes:
    fields = [("S", severity), ("V", severity), ("C", sqlstate), ("M", message)]
    if hint:
        fields.append(("H", hint))
    if position is not None:
        fields.append(("P", str(position)))
    return b"".join(code.encode() + _text(text) for code, text in fields) + b"\0"
