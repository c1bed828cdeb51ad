"""One connection, free of I/O: bytes in, events and bytes out.

It begins in the clear or already encrypted, may ask for encryption, cancel another connection's statement, or log in;
from then on its bytes are requests. Nothing but login is possible before login, and nothing that was sent in the clear
survives the beginning of encryption (CVE-2021-23222).

Identity: the analyst is who has logged in by SCRAM, or where there are no passwords, on the loopback interface alone,
the one whom the gate admits: the operating system's user that runs the server. No setting of the client changes it.
"""

from __future__ import annotations

import enum
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dpsql.wire import codec
from dpsql.wire import messages as m
from dpsql.wire.refusals import Farewell, response
from dpsql.wire.scram import Exchange, Users, mechanisms


@dataclass(frozen=True, slots=True)
class Gate:
    """Who is let in, and how.

    users    who may log in by password; None: nobody needs one
    only     without passwords: the one user
    encrypt  whether encryption is offered, and required
    """

    users: Users | None
    only: str = ""
    encrypt: bool = False


# ---------------------------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class StartTls:
    """Send what is there to send, then encrypt, then call `encrypted`."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel what another connection waits for, and end this one."""

    process: int
    key: bytes


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """The login is complete. `parameters` are the startup message's, `minor` the protocol's version agreed on."""

    analyst: str
    parameters: Mapping[str, str]
    minor: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A request."""

    request: m.Request


@dataclass(frozen=True, slots=True)
class Ended:
    """Send what is there to send, then close."""


Event = StartTls | Cancel | LoggedIn | Asked | Ended


class State(enum.Enum):
    """What a connection waits for."""

    OPENING = "its first message, or the next after a refused encryption"
    TLS = "encryption"
    MECHANISM = "the first message of a login"
    PROOF = "the last message of a login"
    OPEN = "requests"
    CLOSED = "nothing"


class Connection:
    """See above. `binding` is the channel binding of a connection that begins encrypted."""

    def __init__(self, gate: Gate, *, encrypted: bool = False, binding: bytes | None = None) -> None:
        self.state = State.OPENING
        self._gate = gate
        self._encrypted = encrypted
        self._binding = binding
        self._in = bytearray()
        self._out = bytearray()
        self._asked: set[type[m.Opening]] = set()
        self._startup: m.Startup | None = None
        self._exchange: Exchange | None = None

    def receive(self, data: bytes) -> Iterator[Event]:
        """What the client's bytes mean. The events are to be dealt with one by one, before the next is taken."""
        self._in += data
        while self.state not in (State.CLOSED, State.TLS):
            try:
                event = self._next()
            except codec.Unframed as error:
                event = self._end(Farewell("08P01", error.message))
            except Farewell as error:
                event = self._end(error)
            if event is None:
                return
            yield event

    def outgoing(self) -> bytes:
        """Take the bytes that are to be sent."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def encrypted(self, binding: bytes | None) -> None:
        """From here on bytes come and go encrypted."""
        self.state, self._encrypted, self._binding = State.OPENING, True, binding

    def end(self, error: Farewell) -> None:
        """End the connection for a reason that the client is told."""
        if self.state is not State.CLOSED:
            self._end(error)

    # ------------------------------------------------------------------------------------------ steps

    def _next(self) -> Event | None:
        """The next event, None where more bytes are needed."""
        while True:
            if self.state is State.OPENING:
                opening = codec.take_opening(self._in)
                if opening is None:
                    return None
                event = self._open(opening)
            else:
                longest = codec.LONGEST_MESSAGE if self.state is State.OPEN else codec.LONGEST_STARTUP
                request = codec.take_request(self._in, longest)
                if request is None:
                    return None
                event = self._ask(request)
            if event is not None:
                return event

    def _open(self, opening: m.Opening) -> Event | None:
        match opening:
            case m.CancelRequest(process, key):
                self.state = State.CLOSED
                return Cancel(process, key)
            case m.Startup():
                return self._log_in(opening)
        if type(opening) in self._asked or self._encrypted:
            raise Farewell("08P01", "encryption was asked for before")
        self._asked.add(type(opening))
        if isinstance(opening, m.GssRequest) or not self._gate.encrypt:
            self._out += b"N"
            return None
        if self._in:
            raise Farewell("08P01", "bytes came after the wish for encryption and before it began")
        self._out += b"S"
        self.state = State.TLS
        return StartTls()

    def _log_in(self, startup: m.Startup) -> Event | None:
        user = startup.parameters.get("user", "")
        if not user:
            raise Farewell("28000", "the client gives no user name", hint="connect with a user name: -U NAME")
        if self._gate.encrypt and not self._encrypted:
            raise Farewell("28000", "this server takes encrypted connections only", hint="connect with sslmode=require")
        if startup.parameters.get("replication", "false").lower() not in ("false", "off", "no", "0"):
            raise Farewell("0A000", "this server has nothing to replicate", hint="connect without replication")
        self._startup = startup
        unknown = tuple(name for name in startup.parameters if name.startswith("_pq_."))
        if startup.minor > codec.LATEST_MINOR or unknown:
            self._say(m.NegotiateProtocolVersion(min(startup.minor, codec.LATEST_MINOR), unknown))
        if self._gate.users is None:
            if user != self._gate.only:
                raise Farewell(
                    "28000",
                    f'without passwords only the user "{self._gate.only}", who runs this server, may connect',
                    hint=f"connect as {self._gate.only}, or give server.users passwords in the policy",
                )
            return self._admit()
        # One name in Unicode's form NFC, so that it can't be written in two ways; the ledger does the same.
        self._exchange = Exchange(unicodedata.normalize("NFC", user), self._gate.users, self._binding)
        self._say(m.AuthenticationSasl(mechanisms(self._binding)))
        self.state = State.MECHANISM
        return None

    def _ask(self, request: m.Request) -> Event | None:
        if self.state is State.OPEN:
            if isinstance(request, m.Terminate):
                self.state = State.CLOSED
                return Ended()
            return Asked(request)
        if isinstance(request, m.Terminate):
            self.state = State.CLOSED
            return Ended()
        if not isinstance(request, m.Password):
            raise Farewell("08P01", "the login isn't complete")
        assert self._exchange is not None
        if self.state is State.MECHANISM:
            mechanism, data = _initial(request.data)
            self._say(m.AuthenticationSaslContinue(self._exchange.first(mechanism, data)))
            self.state = State.PROOF
            return None
        self._say(m.AuthenticationSaslFinal(self._exchange.last(request.data)))
        return self._admit()

    def _admit(self) -> Event:
        assert self._startup is not None
        self._say(m.AuthenticationOk())
        self.state = State.OPEN
        self._exchange = None
        parameters = self._startup.parameters
        user = unicodedata.normalize("NFC", parameters["user"])
        return LoggedIn(user, parameters, min(self._startup.minor, codec.LATEST_MINOR))

    def _say(self, answer: m.Answer) -> None:
        self._out += codec.encode(answer)

    def _end(self, error: Farewell) -> Event:
        self._say(response(error))
        self.state = State.CLOSED
        self._in.clear()
        return Ended()


def _initial(data: bytes) -> tuple[str, bytes]:
    """The mechanism that the client chose, and its first message."""
    name, end, rest = data.partition(b"\0")
    size = int.from_bytes(rest[:4], "big", signed=True)
    if not end or len(rest) < 4 or size != len(rest) - 4:
        raise Farewell("08P01", "a message of the login is malformed")
    return name.decode("ascii", "replace"), rest[4:]
