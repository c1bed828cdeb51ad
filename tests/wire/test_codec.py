"""Messages and bytes: each is read as it was written, and whatever else comes is a message, an error, or the end."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.wire import codec
from dpsql.wire import messages as m
from tests.harness import examples
from tests.wire import client

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
OID = st.integers(0, 2**32 - 1)
FORMATS = st.lists(st.sampled_from([0, 1]), max_size=4).map(tuple)
KIND = st.sampled_from(["S", "P"])
REQUESTS = st.one_of(
    st.builds(m.Query, TEXT),
    st.builds(m.Parse, TEXT, TEXT, st.lists(OID, max_size=4).map(tuple)),
    st.builds(m.Bind, TEXT, TEXT, FORMATS, st.lists(st.none() | st.binary(max_size=9), max_size=4).map(tuple), FORMATS),
    st.builds(m.Describe, KIND, TEXT),
    st.builds(m.Execute, TEXT, st.integers(0, 2**31 - 1)),
    st.builds(m.Close, KIND, TEXT),
    st.builds(m.Flush),
    st.builds(m.Sync),
    st.builds(m.Terminate),
    st.builds(m.Password, st.binary(max_size=20)),
)
OPENINGS = st.one_of(
    st.builds(m.SslRequest),
    st.builds(m.GssRequest),
    st.builds(m.CancelRequest, st.integers(-(2**31), 2**31 - 1), st.binary(min_size=4, max_size=256)),
    st.builds(m.Startup, st.integers(0, 999), st.dictionaries(TEXT.filter(bool), TEXT, max_size=4)),
)
SQLSTATE = st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=5, max_size=5)
ANSWERS = st.one_of(
    st.builds(m.AuthenticationOk),
    st.builds(m.AuthenticationSasl, st.lists(TEXT.filter(bool), min_size=1, max_size=3).map(tuple)),
    st.builds(m.AuthenticationSaslContinue, st.binary(max_size=30)),
    st.builds(m.AuthenticationSaslFinal, st.binary(max_size=30)),
    st.builds(m.NegotiateProtocolVersion, st.integers(0, 2), st.lists(TEXT, max_size=3).map(tuple)),
    st.builds(m.BackendKeyData, st.integers(0, 2**31 - 1), st.binary(min_size=4, max_size=32)),
    st.builds(m.ParameterStatus, TEXT, TEXT),
    st.builds(m.ReadyForQuery, st.sampled_from("ITE")),
    st.builds(
        m.RowDescription,
        st.lists(st.builds(m.Field, TEXT, OID, st.integers(-1, 8), st.sampled_from([0, 1])), max_size=4).map(tuple),
    ),
    st.builds(m.ParameterDescription, st.lists(OID, max_size=4).map(tuple)),
    st.builds(m.CommandComplete, TEXT),
    st.builds(m.CopyOutResponse, st.sampled_from([0, 1]), st.integers(0, 20)),
    st.builds(m.CopyData, st.binary(max_size=30)),
    st.builds(m.ErrorResponse, SQLSTATE, TEXT, st.none() | TEXT.filter(bool), st.none() | st.integers(1, 10**6),
              st.sampled_from(["ERROR", "FATAL"])),
    st.builds(m.NoticeResponse, TEXT, st.sampled_from(["NOTICE", "WARNING"]), SQLSTATE),
    *(st.builds(kind) for kind in (m.NoData, m.ParseComplete, m.BindComplete, m.CloseComplete, m.PortalSuspended,
                                   m.EmptyQueryResponse, m.CopyDone)),
)  # fmt: skip


@given(REQUESTS)
@examples(300)
def test_a_request_is_read_as_it_was_written(message: m.Request) -> None:
    buffer = bytearray(client.request(message) + b"\1rest")
    assert codec.take_request(buffer) == message
    assert buffer == b"\1rest"


@given(OPENINGS)
@examples(150)
def test_a_first_message_is_read_as_it_was_written(message: m.Opening) -> None:
    buffer = bytearray(client.opening(message) + b"rest")
    assert codec.take_opening(buffer) == message
    assert buffer == b"rest"


@given(ANSWERS)
@examples(300)
def test_an_answer_is_written_as_a_client_reads_it(message: m.Answer) -> None:
    assert client.replies(codec.encode(message)) == [message]


@given(REQUESTS, st.data())
@examples(150)
def test_a_part_of_a_message_waits_for_the_rest(message: m.Request, data: st.DataObject) -> None:
    whole = client.request(message)
    cut = data.draw(st.integers(0, len(whole) - 1))
    buffer = bytearray(whole[:cut])
    assert codec.take_request(buffer) is None
    assert buffer == whole[:cut]


@given(st.binary(max_size=60), st.sampled_from([*(bytes([b]) for b in b"QPBDECHSXpdcfF"), b""]))
@examples(600)
def test_any_bytes_are_a_message_or_wait_or_end_the_connection(data: bytes, letter: bytes) -> None:
    """With a right length behind a known letter they are read to the end: what they hold is a value or unreadable."""
    buffer = bytearray(letter + struct.pack("!i", len(data) + 4) + data if letter else data)
    before = len(buffer)
    try:
        found = codec.take_request(buffer)
    except codec.Unframed:
        assert not letter
        return
    if letter:
        assert found is not None and not buffer
        assert isinstance(found, m.Unreadable) or client_reads_back(found, letter, data)
    else:
        assert found is not None or len(buffer) == before


def client_reads_back(found: m.Request, letter: bytes, data: bytes) -> bool:
    """What was read stands for all of the bytes; a negative number of rows means all."""
    if isinstance(found, m.Unexpected):
        return found.letter.encode() == letter
    if isinstance(found, m.Execute) and found.max_rows == 0:
        return True
    return client.request(found) == client.framed(letter, data)


@given(st.binary(max_size=80))
@examples(300)
def test_any_bytes_at_first_are_a_message_or_wait_or_end_the_connection(data: bytes) -> None:
    buffer = bytearray(data)
    with contextlib.suppress(codec.Unframed):
        assert codec.take_opening(buffer) is None or len(buffer) < len(data)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"Q\0\0\0\x03", "3 bytes"),
        (b"Q\xff\xff\xff\xff", "-1 bytes"),
        (b"Q\x00\x20\x00\x00", "2097152 bytes"),
        (b"\x01", "does not exist"),
        (b"R\0\0\0\x04", "does not exist"),
    ],
)
def test_what_is_no_message_ends_the_connection(data: bytes, problem: str) -> None:
    with pytest.raises(codec.Unframed, match=problem):
        codec.take_request(bytearray(data))


@pytest.mark.parametrize(
    ("message", "sqlstate", "problem"),
    [
        (client.framed(b"Q", b"SELECT 1"), "08P01", "has no end"),
        (client.framed(b"Q", b"SELECT 1\0x"), "08P01", "longer"),
        (client.framed(b"Q", b"\xff\0"), "22021", "UTF-8"),
        (client.framed(b"D", b"X\0"), "08P01", "neither a statement"),
        (client.framed(b"S", b"x"), "08P01", "longer"),
        (client.framed(b"B", b"\0\0\0\1\0\2"), "22023", "no format"),
        (client.framed(b"B", b"\0\0\0\0\0\1\xff\xff\xff\xfe\0\0"), "08P01", "negative length"),
        (client.framed(b"B", b"\0\0\0\0\0\1\x7f\xff\xff\xff\0\0"), "08P01", "too early"),
        (client.framed(b"P", b"\0\0\xff\xff\0\0\0\1"), "08P01", "too early"),
        (client.framed(b"E", b"\0\0\0"), "08P01", "too early"),
    ],
)
def test_what_a_message_holds_is_checked(message: bytes, sqlstate: str, problem: str) -> None:
    buffer = bytearray(message)
    found = codec.take_request(buffer)
    assert isinstance(found, m.Unreadable)
    assert found.sqlstate == sqlstate and problem in found.problem and found.letter == message[:1].decode()
    assert not buffer  # so the next message can be read


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (struct.pack("!ii", 8, 0x20000), "2.0 is not spoken"),
        (struct.pack("!ii", 8, 0x40001), "4.1 is not spoken"),
        (struct.pack("!ii", 8, 0x30000), "no end"),
        (b"\0\0\x27\x11", "impossible length"),
        (b"GET / HTTP/1.1\r\n", "impossible length"),
        (struct.pack("!iiii", 16, 80877103, 1, 2), "longer"),
        (struct.pack("!iiih", 14, 80877102, 1, 2), "4 to 256"),
        (struct.pack("!ii", 12, 0x30000) + b"a\xff\0\0", "UTF-8"),
    ],
)
def test_wrong_first_messages_end_the_connection(data: bytes, problem: str) -> None:
    with pytest.raises(codec.Unframed, match=problem):
        codec.take_opening(bytearray(data))


def test_what_no_text_can_hold_never_reaches_a_client() -> None:
    assert client.replies(codec.encode(m.CommandComplete("a\0b\ud800"))) == [m.CommandComplete("a\ufffdb?")]
