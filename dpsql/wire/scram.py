"""The server's side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677), as PostgreSQL speaks it.

Who logs in is the `user` of the startup message: the name inside of SCRAM is ignored, as PostgreSQL does. The server
proves that it knows the verifier, too. A user who doesn't exist gets the same messages with a salt that stays the same
for a name, so that nobody learns who exists.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from dpsql.passwords import ITERATIONS, MECHANISM, SALT_BYTES, Verifier, keyed
from dpsql.wire.refusals import Farewell

PLUS = f"{MECHANISM}-PLUS"
BINDING = "tls-server-end-point"
_NONCE_BYTES = 18


@dataclass(frozen=True, slots=True)
class Users:
    """Who may log in, by name. `secret` makes the salts of those who may not: it should outlive the server."""

    verifiers: Mapping[str, Verifier]
    secret: bytes = field(repr=False)

    def find(self, name: str) -> tuple[Verifier, bool]:
        """The user's verifier, or one that no password fits, and whether the user exists."""
        found = self.verifiers.get(name)
        return (found, True) if found is not None else (self._mock(name), False)

    def _mock(self, name: str) -> Verifier:
        """Looks like one of the others: their salt's length, their iterations."""
        digest = keyed(self.secret, name.encode("utf-8", "surrogateescape"))
        others = sorted(self.verifiers.values(), key=lambda v: (v.iterations, v.salt))
        like = others[digest[-1] % len(others)] if others else None
        salt, iterations = (len(like.salt), like.iterations) if like else (SALT_BYTES, ITERATIONS)
        stretched = b"".join(keyed(digest, bytes([i])) for i in range(-(-salt // 32)))
        return Verifier(iterations, stretched[:salt], secrets.token_bytes(32), secrets.token_bytes(32))


def mechanisms(binding: bytes | None) -> tuple[str, ...]:
    """What is offered; `binding` is the hash of the server's certificate where the connection is encrypted."""
    return (PLUS, MECHANISM) if binding is not None else (MECHANISM,)


class Exchange:
    """One login: the client's first message, the server's question, the client's proof, the server's own."""

    def __init__(self, user: str, users: Users, binding: bytes | None, nonce: str | None = None) -> None:
        self._user = user
        self._verifier, self._exists = users.find(user)
        self._binding = binding
        self._nonce = secrets.token_urlsafe(_NONCE_BYTES) if nonce is None else nonce
        self._header = b""
        self._first_bare = ""
        self._question = ""

    def first(self, mechanism: str, data: bytes) -> bytes:
        """The client's first message to the server's. Raises Farewell."""
        if mechanism not in mechanisms(self._binding):
            raise Farewell("08P01", "the client chose a way to log in that was not offered")
        flag, authzid, bare = _split_first(data)
        self._check_binding(flag, mechanism == PLUS)
        if authzid:
            raise Farewell("0A000", "the client asks to act for somebody else, which isn't supported")
        self._header, self._first_bare = f"{flag},,".encode(), bare
        attributes = bare.split(",")
        if len(attributes) < 2 or not attributes[0].startswith("n=") or not attributes[1].startswith("r="):
            raise _malformed()
        theirs = attributes[1][2:]
        if not theirs or not all(0x21 <= ord(c) <= 0x7E for c in theirs):
            raise _malformed()
        self._nonce = theirs + self._nonce
        salt = base64.b64encode(self._verifier.salt).decode("ascii")
        self._question = f"r={self._nonce},s={salt},i={self._verifier.iterations}"
        return self._question.encode("ascii")

    def _check_binding(self, flag: str, plus: bool) -> None:
        """The client's word on channel binding fits the mechanism, and nobody between hid that it was offered."""
        if plus and flag != f"p={BINDING}":
            raise Farewell("08P01", "the client's channel binding isn't supported", hint=f"use {BINDING}")
        if not plus and flag not in ("n", "y"):
            raise _malformed()
        if flag == "y" and self._binding is not None:
            raise Farewell(
                "28000", "the client believes that the server lacks channel binding, but it was offered",
                hint="somebody may listen in between; check the server's certificate",
            )  # fmt: skip

    def last(self, data: bytes) -> bytes:
        """The client's proof to the server's. Raises Farewell: the password is wrong, or there is no such user."""
        text = _ascii(data)
        without_proof, comma, proof_text = text.rpartition(",p=")
        attributes = without_proof.split(",")
        if not comma or len(attributes) < 2 or not attributes[0].startswith("c="):
            raise _malformed()
        expected = self._header + (self._binding or b"" if self._header.startswith(b"p=") else b"")
        if not hmac.compare_digest(_decoded(attributes[0][2:]), expected):
            raise Farewell("28000", "the channel binding doesn't fit", hint="somebody may listen in between")
        if not hmac.compare_digest(attributes[1].encode(), f"r={self._nonce}".encode()):
            raise _malformed()
        proof = _decoded(proof_text)
        message = f"{self._first_bare},{self._question},{without_proof}".encode()
        signature = keyed(self._verifier.stored_key, message)
        if len(proof) != len(signature):
            raise _malformed()
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        same = hmac.compare_digest(hashlib.sha256(client_key).digest(), self._verifier.stored_key)
        if not (same and self._exists):
            raise Farewell("28P01", f'password authentication failed for user "{self._user}"')
        return b"v=" + base64.b64encode(keyed(self._verifier.server_key, message))


def _split_first(data: bytes) -> tuple[str, str, str]:
    """The channel binding's flag, the name of whom to act for, and the rest."""
    try:
        parts = data.decode("utf-8").split(",", 2)
    except UnicodeDecodeError:
        raise _malformed() from None
    if len(parts) != 3:
        raise _malformed()
    return parts[0], parts[1], parts[2]


def _ascii(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError:
        raise _malformed() from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _malformed() from None


def _malformed() -> Farewell:
    return Farewell("08P01", "a message of the login is malformed")
