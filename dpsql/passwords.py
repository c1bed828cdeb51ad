"""Passwords as PostgreSQL stores them: verifiers of SCRAM-SHA-256 (RFC 5802, RFC 7677), from which nobody can log in.

    SCRAM-SHA-256$4096:salt$StoredKey:ServerKey

A verifier lets a password be guessed, slowly, by whoever reads it; it doesn't let them in.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 4096
"""PostgreSQL's default, and RFC 7677's minimum."""
MOST_ITERATIONS = 10_000_000
SALT_BYTES = 16
_FORM = re.compile(r"SCRAM-SHA-256\$([0-9]{1,8}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]{44}):([A-Za-z0-9+/=]{44})")


@dataclass(frozen=True, slots=True)
class Verifier:
    """What the server knows of a password."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __str__(self) -> str:
        """PostgreSQL's format, of pg_authid.rolpassword."""
        salt, stored, server = (_base64(part) for part in (self.salt, self.stored_key, self.server_key))
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"

    def __repr__(self) -> str:
        """Without its contents: nothing that a log may keep."""
        return "<Verifier>"


def verifier(text: str) -> Verifier | None:
    """The verifier that the text is in PostgreSQL's format; None where it is none."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    try:
        salt, stored, server = (base64.b64decode(part, validate=True) for part in match.groups()[1:])
    except binascii.Error:
        return None
    iterations = int(match[1])
    right = ITERATIONS <= iterations <= MOST_ITERATIONS and salt and len(stored) == len(server) == 32
    return Verifier(iterations, salt, stored, server) if right else None


def make_verifier(password: str, *, salt: bytes | None = None, iterations: int = ITERATIONS) -> Verifier:
    """A verifier of the password, with a fresh random salt unless one is given."""
    salt = secrets.token_bytes(SALT_BYTES) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password), salt, iterations)
    stored = hashlib.sha256(keyed(salted, b"Client Key")).digest()
    return Verifier(iterations, salt, stored, keyed(salted, b"Server Key"))


def keyed(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA-256."""
    return hmac.digest(key, message, "sha256")


def prepared(password: str) -> bytes:
    """The password's bytes by SASLprep (RFC 4013); as they are where that forbids them, as PostgreSQL does."""
    mapped = "".join(" " if stringprep.in_table_c12(c) else c for c in password if not stringprep.in_table_b1(c))
    normal = unicodedata.normalize("NFKC", mapped)
    return (normal if normal and _allowed(normal) else password).encode("utf-8", "surrogateescape")


_FORBIDDEN = (
    stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3, stringprep.in_table_c4,
    stringprep.in_table_c5, stringprep.in_table_c6, stringprep.in_table_c7, stringprep.in_table_c8,
    stringprep.in_table_c9, stringprep.in_table_a1,
)  # fmt: skip


def _allowed(text: str) -> bool:
    if any(table(character) for table in _FORBIDDEN for character in text):
        return False
    if not any(map(stringprep.in_table_d1, text)):
        return True
    ends = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
    return ends and not any(map(stringprep.in_table_d2, text))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
