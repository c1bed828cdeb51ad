"""Encryption over buffers: what the client sent to what it meant, what is meant for it to what is sent.

Buffers and not sockets: so a connection may begin encrypted ("direct TLS") or go over to it, and no byte that came in
the clear can pass for one that came encrypted.
"""

from __future__ import annotations

import hashlib
import ssl
from contextlib import suppress
from pathlib import Path

from dpsql.errors import PolicyError

PROTOCOL = "postgresql"
"""Its name in TLS (ALPN)."""
HELLO = b"\x16"
"""The first byte of a TLS handshake; no message of PostgreSQL's protocol begins so."""
_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


def context(certificate: Path, key: Path, place: str) -> ssl.SSLContext:
    """What the server needs to encrypt. Raises PolicyError for files that don't fit, named at `place`."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    made.set_alpn_protocols([PROTOCOL])
    try:
        for file in (certificate, key):
            file.open("rb").close()
        made.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:
        raise PolicyError(
            f"{place}: server.tls can't be used: {_reason(error, certificate, key)}",
            hint="certificate and key are files in PEM format that belong together; the key has no passphrase",
        ) from None
    return made


def _reason(error: OSError | ValueError, certificate: Path, key: Path) -> str:
    """What is wrong with the files. OpenSSL has no words for one that holds something else than it should."""
    if isinstance(error, ssl.SSLError):
        known = (error.reason or "").replace("_", " ").lower()
        return known or f"{certificate.name} holds no certificate, or {key.name} no private key"
    if isinstance(error, OSError):
        return f"{Path(error.filename or certificate).name}: {(error.strerror or 'it can not be read').lower()}"
    return str(error)


def _no_password() -> str:
    raise ValueError("the key has a passphrase")


def binding(certificate: Path) -> bytes | None:
    """The channel binding tls-server-end-point (RFC 5929): a hash of the server's certificate, by the hash function of
    its signature, SHA-256 for those that are too weak. None where the signature has no hash of its own.
    """
    text = certificate.read_text(encoding="ascii", errors="replace")
    begin = text.find(_BEGIN)
    der = ssl.PEM_cert_to_DER_cert(text[begin : text.find(_END, begin) + len(_END)])
    name = _HASHES.get(_signature_algorithm(der))
    return None if name is None else hashlib.new(name, der).digest()


_HASHES = {
    bytes.fromhex("2a864886f70d010104"): "sha256",  # md5WithRSAEncryption
    bytes.fromhex("2a864886f70d010105"): "sha256",  # sha1WithRSAEncryption
    bytes.fromhex("2a864886f70d01010b"): "sha256",
    bytes.fromhex("2a864886f70d01010c"): "sha384",
    bytes.fromhex("2a864886f70d01010d"): "sha512",
    bytes.fromhex("2a864886f70d01010e"): "sha224",
    bytes.fromhex("2a8648ce3d0401"): "sha256",  # ecdsa-with-SHA1
    bytes.fromhex("2a8648ce3d040302"): "sha256",
    bytes.fromhex("2a8648ce3d040303"): "sha384",
    bytes.fromhex("2a8648ce3d040304"): "sha512",
}
"""Of the object identifiers of signatures (RFC 8017, RFC 5758), as DER has them."""


def _signature_algorithm(der: bytes) -> bytes:
    """The object identifier in Certificate ::= SEQUENCE { tbsCertificate, SEQUENCE { OID, … }, … }."""
    inside, _ = _opened(der, 0)
    _, behind = _opened(der, inside)
    algorithm, _ = _opened(der, behind)
    start, end = _opened(der, algorithm)
    return der[start:end]


def _opened(der: bytes, at: int) -> tuple[int, int]:
    """Where the content of the item at `at` begins and ends."""
    size, start = der[at + 1], at + 2
    if size & 0x80:
        count = size & 0x7F
        size = int.from_bytes(der[start : start + count], "big")
        start += count
    return start, start + size


class Tls:
    """The server's side of one encrypted connection."""

    def __init__(self, made: ssl.SSLContext) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = made.wrap_bio(self._in, self._out, server_side=True)
        self._open = False

    @property
    def protocol(self) -> str | None:
        """The protocol that was agreed on in the handshake, if one was."""
        return self._object.selected_alpn_protocol()

    @property
    def is_open(self) -> bool:
        """Whether the handshake is complete."""
        return self._open

    def receive(self, data: bytes) -> bytes:
        """What the client meant. Raises ssl.SSLError for what is no TLS, or was tampered with."""
        self._in.write(data)
        parts = []
        try:
            if not self._open:
                self._object.do_handshake()
                self._open = True
            while part := self._object.read(65_536):
                parts.append(part)
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        return b"".join(parts)

    def send(self, data: bytes) -> bytes:
        """What is to be sent so that the client gets `data`, and whatever else TLS has to say."""
        if data:
            self._object.write(data)
        return self._out.read()

    def end(self) -> bytes:
        """What is to be sent last (close_notify): it tells the client that nothing was cut off. libpq's encrypted
        cancelling wants it. The client's own is not waited for.
        """
        if self._open:
            with suppress(ssl.SSLError):
                self._object.unwrap()
        return self._out.read()
