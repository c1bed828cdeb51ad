"""Passwords: RFC 7677's own example, PostgreSQL's format, and every way to be wrong in a login."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.passwords import MECHANISM, Verifier, keyed, make_verifier, prepared, verifier
from dpsql.wire.refusals import Farewell
from dpsql.wire.scram import BINDING, PLUS, Exchange, Users, mechanisms
from tests.harness import examples

SECRET = b"a secret of the deployment"
EXAMPLE = make_verifier("pencil", salt=base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))


def users(**verifiers: Verifier) -> Users:
    return Users(verifiers, SECRET)


class Scram:
    """A client's side, written apart from the server's."""

    def __init__(self, password: str, *, flag: str = "n", name: str = "", nonce: str = "rOprNGfwEbeRWgbNEkqO") -> None:
        self.password, self.header = password.encode(), f"{flag},,"
        self.bare = f"n={name},r={nonce}"
        self.binding = b""

    def first(self) -> bytes:
        return (self.header + self.bare).encode()

    def last(self, question: bytes) -> bytes:
        fields = dict(part.split("=", 1) for part in question.decode().split(","))
        salted = hashlib.pbkdf2_hmac("sha256", self.password, base64.b64decode(fields["s"]), int(fields["i"]))
        key = keyed(salted, b"Client Key")
        channel = base64.b64encode(self.header.encode() + self.binding).decode()
        without = f"c={channel},r={fields['r']}"
        message = f"{self.bare},{question.decode()},{without}".encode()
        signature = keyed(hashlib.sha256(key).digest(), message)
        self.expected = b"v=" + base64.b64encode(keyed(keyed(salted, b"Server Key"), message))
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return f"{without},p={base64.b64encode(proof).decode()}".encode()


def log_in(client: Scram, known: Users, user: str = "user", *, mechanism: str = MECHANISM,
           binding: bytes | None = None) -> None:  # fmt: skip
    exchange = Exchange(user, known, binding)
    assert exchange.last(client.last(exchange.first(mechanism, client.first()))) == client.expected


def test_the_example_of_rfc_7677() -> None:
    exchange = Exchange("user", users(user=EXAMPLE), None, nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    question = exchange.first(MECHANISM, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert question == (b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    proof = (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert exchange.last(proof) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize("name", ["", "somebody else"])
def test_a_login_whatever_name_the_driver_puts_inside(name: str) -> None:
    log_in(Scram("pencil", name=name), users(user=EXAMPLE))


def test_channel_binding() -> None:
    certificate = hashlib.sha256(b"certificate").digest()
    client = Scram("pencil", flag=f"p={BINDING}")
    client.binding = certificate
    log_in(client, users(user=EXAMPLE), mechanism=PLUS, binding=certificate)
    log_in(Scram("pencil", flag="n"), users(user=EXAMPLE), binding=certificate)
    log_in(Scram("pencil", flag="y"), users(user=EXAMPLE))
    client.binding = hashlib.sha256(b"another").digest()
    with pytest.raises(Farewell, match="channel binding doesn't fit"):
        log_in(client, users(user=EXAMPLE), mechanism=PLUS, binding=certificate)
    with pytest.raises(Farewell, match="believes that the server lacks"):
        log_in(Scram("pencil", flag="y"), users(user=EXAMPLE), binding=certificate)
    with pytest.raises(Farewell, match="isn't supported"):
        log_in(Scram("pencil", flag="p=tls-unique"), users(user=EXAMPLE), mechanism=PLUS, binding=certificate)
    with pytest.raises(Farewell, match="not offered"):
        log_in(client, users(user=EXAMPLE), mechanism=PLUS)
    assert mechanisms(None) == (MECHANISM,) and mechanisms(certificate) == (PLUS, MECHANISM)


def test_a_wrong_password_and_a_wrong_name_look_the_same() -> None:
    known = users(user=EXAMPLE, other=make_verifier("x", salt=b"another salt 123"))
    shown: dict[str, list[Mapping[str, str]]] = {}
    for user in ("user", "nobody"):
        for _ in range(2):
            client, exchange = Scram("pen"), Exchange(user, known, None)
            question = exchange.first(MECHANISM, client.first())
            shown.setdefault(user, []).append(dict(p.split("=", 1) for p in question.decode().split(",")))
            with pytest.raises(Farewell) as failed:
                exchange.last(client.last(question))
            assert (failed.value.sqlstate, failed.value.message) == (
                "28P01", f'password authentication failed for user "{user}"'
            )  # fmt: skip
    for first, second in shown.values():
        assert (first["s"], first["i"]) == (second["s"], second["i"])  # the same at each attempt
        assert first["r"] != second["r"]
    assert len(base64.b64decode(shown["nobody"][0]["s"])) == len(base64.b64decode(shown["user"][0]["s"]))
    assert shown["nobody"][0]["s"] != shown["user"][0]["s"]


def test_no_proof_fits_a_user_who_does_not_exist() -> None:
    """Not even that of whoever knows what the server makes up."""
    exchange = Exchange("nobody", users(user=EXAMPLE), None)
    client = Scram("pencil")
    question = exchange.first(MECHANISM, client.first())
    made_up = make_verifier("pencil", salt=exchange._verifier.salt)
    exchange._verifier = made_up
    with pytest.raises(Farewell, match="failed"):
        exchange.last(client.last(question))


def test_salts_of_unknown_users_depend_on_the_secret_and_the_name() -> None:
    def salt(secret: bytes, name: str) -> bytes:
        return Users({}, secret).find(name)[0].salt

    assert salt(b"a", "x") == salt(b"a", "x")
    assert len({salt(b"a", "x"), salt(b"b", "x"), salt(b"a", "y")}) == 3


@pytest.mark.parametrize(
    "data",
    [b"", b"n,,", b"n,,n=,r=", b"x,,n=,r=abc", b"n,,r=abc", b"n,,m=x,n=,r=abc", b"\xff,,n=,r=abc", b"n,,n=,r=a b",
     "n,,n=,r=ä".encode()],
)  # fmt: skip
def test_malformed_first_messages(data: bytes) -> None:
    with pytest.raises(Farewell) as failed:
        Exchange("user", users(user=EXAMPLE), None).first(MECHANISM, data)
    assert failed.value.sqlstate == "08P01"


def test_nobody_acts_for_somebody_else() -> None:
    with pytest.raises(Farewell, match="act for somebody else"):
        Exchange("user", users(user=EXAMPLE), None).first(MECHANISM, b"n,a=admin,n=,r=abc")


@pytest.mark.parametrize("change", ["proof", "nonce", "header", "no proof", "short proof", "ascii", "base64"])
def test_a_changed_last_message(change: str) -> None:
    client, exchange = Scram("pencil"), Exchange("user", users(user=EXAMPLE), None)
    data = client.last(exchange.first(MECHANISM, client.first()))
    changed = {
        "proof": data[:-5] + bytes([data[-5] ^ 1]) + data[-4:],
        "nonce": data.replace(b"r=rO", b"r=rP"),
        "header": data.replace(b"c=biws", b"c=eSws"),
        "no proof": data.partition(b",p=")[0],
        "short proof": data.partition(b",p=")[0] + b",p=AAAA",
        "ascii": data.replace(b"c=", b"c=\xff"),
        "base64": data.partition(b",p=")[0] + b",p=*",
    }[change]
    with pytest.raises(Farewell) as failed:
        exchange.last(changed)
    assert failed.value.sqlstate in ("28P01", "08P01", "28000")


@given(st.binary(max_size=80), st.binary(max_size=80))
@examples(300)
def test_any_bytes_in_a_login_are_refused(first: bytes, last: bytes) -> None:
    exchange = Exchange("user", users(user=EXAMPLE), None)
    with pytest.raises(Farewell):
        exchange.first(MECHANISM, first)
    exchange = Exchange("user", users(user=EXAMPLE), None)
    exchange.first(MECHANISM, Scram("pencil").first())
    with pytest.raises(Farewell):
        exchange.last(last)


# ---------------------------------------------------------------------------------------------- verifiers


def test_a_verifier_in_postgresql_s_format() -> None:
    """PostgreSQL 15 made it of the password `secret`."""
    theirs = (
        "SCRAM-SHA-256$4096:Y6qfDrz6DZYJFF54XTe0kQ==$lphxNOFu02QFSpFqWLHqPT3zWbtdcuYnqwksRwjQHCY=:"
        "zVYkpMelo10vB4K3oDYpozrT8tAzSTzLCieFiQK7ygw="
    )
    read = verifier(theirs)
    assert read is not None and str(read) == theirs
    assert read == make_verifier("secret", salt=read.salt)


@pytest.mark.parametrize(
    "text",
    [
        "", "secret", "md5abc", str(EXAMPLE)[:-1], str(EXAMPLE) + "=", str(EXAMPLE).replace("4096", "4095"),
        str(EXAMPLE).replace("4096", "99999999"), str(EXAMPLE).replace("SHA-256", "SHA-1"),
        str(EXAMPLE).replace("$4096:", "$4096:*"), str(EXAMPLE).replace("W22ZaJ0SNY7soEsUEjb6gQ==", "W22"),
    ],
)  # fmt: skip
def test_what_is_no_verifier(text: str) -> None:
    assert verifier(text) is None


def test_verifiers_are_salted_and_show_nothing() -> None:
    one, two = make_verifier("secret"), make_verifier("secret")
    assert one != two and repr(one) == "<Verifier>"
    assert "secret" not in str(one)


@pytest.mark.parametrize(
    ("password", "expected"),
    [
        ("I\u00adX", "IX"), ("user", "user"), ("USER", "USER"), ("\u00aa", "a"), ("\u2168", "IX"),
        ("a\u00a0b", "a b"), ("\u0007", "\u0007"), ("\u06271", "\u06271"), ("\u0627b\u0627", "\u0627b\u0627"),
        ("\u0627\u0628", "\u0627\u0628"), ("", ""),
    ],
)  # fmt: skip
def test_passwords_are_prepared_as_rfc_4013_has_it(password: str, expected: str) -> None:
    """Its examples; what it forbids stays as it is, as PostgreSQL does."""
    assert prepared(password) == expected.encode()
