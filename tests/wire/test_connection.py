"""A connection until it may ask, in bytes: encryption, login, versions, and whatever comes in the wrong place."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.passwords import MECHANISM, make_verifier
from dpsql.wire import messages as m
from dpsql.wire.connection import Asked, Cancel, Connection, Ended, Event, Gate, LoggedIn, StartTls, State
from dpsql.wire.scram import BINDING, PLUS, Users
from tests.harness import examples
from tests.wire import client
from tests.wire.client import Reply, framed, opening, replies, request
from tests.wire.test_scram import Scram

USERS = Users({"alice": make_verifier("pencil", salt=b"salt of 16 bytes")}, b"secret")
OPEN = Gate(None, only="alice")
LOCKED = Gate(USERS)
ENCRYPTED = Gate(USERS, encrypt=True)
CERTIFICATE = hashlib.sha256(b"certificate").digest()
STARTUP = m.Startup(0, {"user": "alice", "database": "clinic"})


def sent(connection: Connection, data: bytes) -> tuple[list[Event], list[Reply]]:
    return list(connection.receive(data)), replies(connection.outgoing())


def fatal(found: list[Reply]) -> m.ErrorResponse:
    """The one error, which ends the connection."""
    error = found[-1]
    assert isinstance(error, m.ErrorResponse) and error.severity == "FATAL"
    return error


def mechanism(name: str, data: bytes) -> bytes:
    return framed(b"p", client.text(name) + len(data).to_bytes(4, "big") + data)


def log_in(connection: Connection, startup: m.Startup = STARTUP, scram: Scram | None = None,
           chosen: str = MECHANISM) -> tuple[list[Event], list[Reply]]:  # fmt: skip
    scram = scram or Scram("pencil")
    events, found = sent(connection, opening(startup))
    assert events == [] and isinstance(found[-1], m.AuthenticationSasl)
    events, question = sent(connection, mechanism(chosen, scram.first()))
    assert events == [] and isinstance(question[0], m.AuthenticationSaslContinue)
    return sent(connection, framed(b"p", scram.last(question[0].data)))


def test_a_login_without_passwords() -> None:
    connection = Connection(OPEN)
    events, found = sent(connection, opening(STARTUP))
    assert events == [LoggedIn("alice", STARTUP.parameters, 0)]
    assert found == [m.AuthenticationOk()]
    assert sent(connection, request(m.Sync()) + request(m.Query("SELECT 1"))) == (
        [Asked(m.Sync()), Asked(m.Query("SELECT 1"))], [],
    )  # fmt: skip
    assert sent(connection, request(m.Terminate())) == ([Ended()], [])
    assert sent(connection, request(m.Query("SELECT 1"))) == ([], [])


def test_without_passwords_only_who_runs_the_server_is_let_in() -> None:
    events, found = sent(Connection(OPEN), opening(m.Startup(0, {"user": "bob"})))
    assert events == [Ended()]
    assert fatal(found).sqlstate == "28000" and 'only the user "alice"' in fatal(found).message


def test_a_login_by_password() -> None:
    events, found = log_in(Connection(LOCKED))
    assert events == [LoggedIn("alice", STARTUP.parameters, 0)]
    assert client.kinds(found) == ["AuthenticationSaslFinal", "AuthenticationOk"]


@pytest.mark.parametrize("who", [("alice", "wrong"), ("bob", "pencil")])
def test_wrong_logins(who: tuple[str, str]) -> None:
    user, password = who
    events, found = log_in(Connection(LOCKED), m.Startup(0, {"user": user}), Scram(password))
    assert events == [Ended()]
    assert fatal(found).sqlstate == "28P01"


def test_settings_never_say_who_asks() -> None:
    parameters = {"user": "alice", "application_name": "bob", "options": "-c role=bob", "session_authorization": "bob"}
    events, _ = log_in(Connection(LOCKED), m.Startup(0, parameters))
    assert isinstance(events[0], LoggedIn) and events[0].analyst == "alice"


def test_a_name_that_can_be_written_in_two_ways_is_one_name() -> None:
    gate = Gate(Users({"Zo\u00eb": make_verifier("pencil")}, b"secret"))
    events, _ = log_in(Connection(gate), m.Startup(0, {"user": "Zoe\u0308"}))
    assert isinstance(events[0], LoggedIn) and events[0].analyst == "Zo\u00eb"


def test_nothing_can_be_asked_before_login() -> None:
    for message in (m.Query("SELECT 1"), m.Parse("", "SELECT 1"), m.Sync(), m.Flush()):
        connection = Connection(LOCKED)
        sent(connection, opening(STARTUP))
        events, found = sent(connection, request(message))
        assert events == [Ended()] and fatal(found).sqlstate == "08P01"


def test_what_follows_a_refusal_is_not_read() -> None:
    connection = Connection(LOCKED)
    sent(connection, opening(STARTUP))
    events, found = sent(connection, request(m.Query("SELECT 1")) + request(m.Query("SELECT 2")))
    assert events == [Ended()] and len(found) == 1 and connection.state is State.CLOSED


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (mechanism("SCRAM-SHA-1", b"n,,n=,r=abc"), "not offered"),
        (mechanism(PLUS, b"p=tls-server-end-point,,n=,r=abc"), "not offered"),
        (framed(b"p", b"SCRAM-SHA-256"), "malformed"),
        (framed(b"p", b"SCRAM-SHA-256\0\0\0\0\x09n,,n="), "malformed"),
        (framed(b"p", b""), "malformed"),
        (b"p\0\0\x40\0", "16384 bytes"),
    ],
)
def test_a_login_that_makes_no_sense(data: bytes, problem: str) -> None:
    connection = Connection(LOCKED)
    sent(connection, opening(STARTUP))
    events, found = sent(connection, data)
    assert events == [Ended()] and problem in fatal(found).message


@pytest.mark.parametrize(
    ("parameters", "sqlstate"),
    [({}, "28000"), ({"user": ""}, "28000"), ({"user": "alice", "replication": "database"}, "0A000")],
)
def test_startup_messages_that_lead_nowhere(parameters: dict[str, str], sqlstate: str) -> None:
    events, found = sent(Connection(OPEN), opening(m.Startup(0, parameters)))
    assert events == [Ended()] and fatal(found).sqlstate == sqlstate


@pytest.mark.parametrize(
    ("minor", "extra", "expected"),
    [
        (0, {}, None), (2, {}, None),
        (3, {}, m.NegotiateProtocolVersion(2, ())), (9999, {}, m.NegotiateProtocolVersion(2, ())),
        (0, {"_pq_.x": "1"}, m.NegotiateProtocolVersion(0, ("_pq_.x",))),
    ],
)  # fmt: skip
def test_versions_are_agreed_on(minor: int, extra: dict[str, str], expected: m.NegotiateProtocolVersion | None) -> None:
    startup = m.Startup(minor, {"user": "alice", **extra})
    events, found = sent(Connection(OPEN), opening(startup))
    assert found == [*([expected] if expected else []), m.AuthenticationOk()]
    assert isinstance(events[0], LoggedIn) and events[0].minor == min(minor, 2)


# ---------------------------------------------------------------------------------------------- encryption


def test_encryption_that_is_not_offered_is_declined_and_login_follows() -> None:
    connection = Connection(OPEN)
    for message in (m.GssRequest(), m.SslRequest()):
        assert list(connection.receive(opening(message))) == []
        assert connection.outgoing() == b"N"
    assert isinstance(sent(connection, opening(STARTUP))[0][0], LoggedIn)


@pytest.mark.parametrize("message", [m.SslRequest(), m.GssRequest()])
def test_encryption_is_asked_for_once(message: m.Opening) -> None:
    connection = Connection(OPEN)
    list(connection.receive(opening(message)))
    connection.outgoing()
    events, found = sent(connection, opening(message))
    assert events == [Ended()] and fatal(found).sqlstate == "08P01"


def test_encryption_begins_and_is_needed() -> None:
    connection = Connection(ENCRYPTED)
    assert list(connection.receive(opening(m.SslRequest()))) == [StartTls()]
    assert connection.outgoing() == b"S"
    assert list(connection.receive(opening(STARTUP))) == []  # nothing passes until it is encrypted
    connection = Connection(ENCRYPTED)
    events, found = sent(connection, opening(STARTUP))
    assert events == [Ended()] and "encrypted connections only" in fatal(found).message


def test_bytes_that_came_in_the_clear_are_not_taken_for_encrypted_ones() -> None:
    connection = Connection(ENCRYPTED)
    events, found = sent(connection, opening(m.SslRequest()) + opening(STARTUP))
    assert events == [Ended()] and fatal(found).sqlstate == "08P01"


def test_an_encrypted_login_with_channel_binding() -> None:
    connection = Connection(ENCRYPTED)
    list(connection.receive(opening(m.SslRequest())))
    connection.outgoing()
    connection.encrypted(CERTIFICATE)
    scram = Scram("pencil", flag=f"p={BINDING}")
    scram.binding = CERTIFICATE
    events, _ = log_in(connection, scram=scram, chosen=PLUS)
    assert isinstance(events[0], LoggedIn)
    direct = Connection(ENCRYPTED, encrypted=True, binding=CERTIFICATE)
    assert isinstance(log_in(direct)[0][0], LoggedIn)


def test_encryption_within_encryption_is_refused() -> None:
    connection = Connection(ENCRYPTED, encrypted=True, binding=CERTIFICATE)
    events, found = sent(connection, opening(m.SslRequest()))
    assert events == [Ended()] and fatal(found).sqlstate == "08P01"


def test_a_cancel_request_ends_its_own_connection_without_a_word() -> None:
    for gate in (OPEN, LOCKED, ENCRYPTED):
        connection = Connection(gate)
        assert sent(connection, opening(m.CancelRequest(7, b"1234"))) == ([Cancel(7, b"1234")], [])
        assert connection.state is State.CLOSED


# ---------------------------------------------------------------------------------------------- any bytes


def at(state: State, gate: Gate) -> Connection:
    connection = Connection(gate)
    if state is not State.OPENING:
        list(connection.receive(opening(STARTUP)))
    if state is State.PROOF:
        list(connection.receive(mechanism(MECHANISM, Scram("pencil").first())))
    connection.outgoing()
    assert connection.state is state
    return connection


STATES = [(State.OPENING, LOCKED), (State.MECHANISM, LOCKED), (State.PROOF, LOCKED), (State.OPEN, OPEN)]


@pytest.mark.parametrize(("state", "gate"), STATES)
@given(st.lists(st.binary(max_size=40), max_size=4))
@examples(150)
def test_any_bytes_in_any_state_are_answered_or_end_the_connection(
    state: State, gate: Gate, parts: list[bytes]
) -> None:
    connection = at(state, gate)
    for part in parts:
        for event in connection.receive(part):
            assert not isinstance(event, LoggedIn)
        found = replies(connection.outgoing().removeprefix(b"N").removeprefix(b"N"))
        assert all(isinstance(r, m.ErrorResponse) for r in found)
        assert bool(found) <= (connection.state is State.CLOSED)


@given(st.lists(st.integers(0, 300), max_size=12), st.integers(0, 2**32))
@examples(60)
def test_a_login_may_come_in_any_pieces(cuts: list[int], seed: int) -> None:
    connection = Connection(LOCKED)
    scram = Scram("pencil")
    events: list[Event] = []
    for data in (opening(STARTUP), mechanism(MECHANISM, scram.first()), None, request(m.Sync())):
        if data is None:
            found = replies(connection.outgoing())
            assert isinstance(found[-1], m.AuthenticationSaslContinue)
            data = framed(b"p", scram.last(found[-1].data))
        places = sorted({0, len(data), *(c % (len(data) + 1) for c in cuts)})
        for start, end in pairwise(places):
            events += connection.receive(data[start:end])
    assert [type(event) for event in events] == [LoggedIn, Asked]
