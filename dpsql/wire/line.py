"""A socket's two directions, encrypted once that has begun."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from ipaddress import IPv6Address, ip_address

from dpsql.wire.tls import Tls

AT_ONCE = 1 << 16
"""Bytes that are read, or gathered before they are sent."""


CLOSING_SECONDS = 5.0
"""What a client gets to take what is on its way to it, once the connection ends."""


class Gone(Exception):
    """The client is no longer there, or speaks no TLS where it should."""


def network(peer: object) -> str:
    """Whose address it is: of IPv6 the first half, since who has one such address has all of that half."""
    if not isinstance(peer, tuple):
        return ""
    address = ip_address(str(peer[0]).partition("%")[0])
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))
    return str(address)


class Line:
    """Reads what the client means and writes what is meant for it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._tls: Tls | None = None
        self._meant = b""
        self.network = network(writer.get_extra_info("peername"))
        """Where it comes from, as `network` has it."""
        found: socket.socket | None = writer.get_extra_info("socket")
        if found is not None:
            with suppress(OSError):  # who has connected may be gone
                found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    async def read(self) -> bytes:
        """What the client sends next; b"" once it has gone."""
        while not self._meant:
            data = await self._received()
            if not data or self._tls is None:
                return data
            self._meant = await self._decrypted(data)
        meant, self._meant = self._meant, b""
        return meant

    async def encrypt(self, context: ssl.SSLContext, begun: bytes = b"") -> str | None:
        """Go through the handshake, whose beginning may have come. Gives the protocol that the client named in it."""
        self._tls = Tls(context)
        data = begun
        while not self._tls.is_open:
            data = data or await self._received()
            if not data:
                raise Gone
            self._meant += await self._decrypted(data)
            data = b""
        return self._tls.protocol

    async def write(self, data: bytes) -> None:
        """Send, and wait while the client takes its time."""
        await self._send(data if self._tls is None else self._tls.send(data))

    async def close(self) -> None:
        """Let the socket go, and what the client doesn't take in time."""
        if self._tls is not None:
            self._writer.write(self._tls.end())
        self._writer.close()
        try:
            async with asyncio.timeout(CLOSING_SECONDS):
                await self._writer.wait_closed()
        except TimeoutError:
            self._writer.transport.abort()
        except OSError:
            pass

    async def _received(self) -> bytes:
        try:
            return await self._reader.read(AT_ONCE)
        except OSError:
            return b""

    async def _decrypted(self, data: bytes) -> bytes:
        """What encrypted bytes mean; what TLS wants to answer is sent."""
        assert self._tls is not None
        try:
            meant = self._tls.receive(data)
        except ssl.SSLError:
            await self._send(self._tls.send(b""))
            raise Gone from None
        await self._send(self._tls.send(b""))
        return meant

    async def _send(self, data: bytes) -> None:
        if not data:
            return
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            raise Gone from None
