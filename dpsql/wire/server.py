"""The server: one event loop that listens, lets in whom the policy names, and keeps limits; threads for long work."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import secrets
import ssl
from collections import Counter
from collections.abc import Callable
from typing import Any

from dpsql.errors import OperationalError, PolicyError
from dpsql.policy import Server as Settings
from dpsql.policy import at_line
from dpsql.session import Session, system_user
from dpsql.wire import tls
from dpsql.wire.asking import Asker
from dpsql.wire.backend import Backend
from dpsql.wire.catalogue import Catalogue
from dpsql.wire.connection import Cancel, Connection, Gate, LoggedIn, StartTls
from dpsql.wire.conversation import Conversation
from dpsql.wire.line import Gone, Line
from dpsql.wire.refusals import STOPPED, Farewell
from dpsql.wire.scram import Users

LOGIN_SECONDS = 30.0
"""From connecting to the end of the login."""
LOGGING_IN = 64
"""Connections that have not logged in: where one more comes, of those from the address that has most the one that has
taken longest gives way. So whoever only connects keeps out others of that address for as long as it goes on connecting
faster than they log in, and nobody elsewhere.
"""
THREADS = min(16, 2 * (os.cpu_count() or 1) + 4)
"""Statements of one analyst that run at a time: each analyst has threads of their own, so nobody's long statements take
all that there are.
"""
CLOSING_SECONDS = 30.0
"""What statements under way get when the server is told to end; and, once all connections are, those that nobody waits
for any more.
"""
_BACKLOG = 1_024
_LONG_KEY, _SHORT_KEY = 32, 4
"""Bytes that a CancelRequest must name: by protocol 3.2, and before it."""


class _Threads(concurrent.futures.ThreadPoolExecutor):
    """The threads of one analyst; `under_way` are the jobs that haven't ended."""

    def __init__(self) -> None:
        super().__init__(THREADS, thread_name_prefix="dpsql-wire")
        self.under_way: set[concurrent.futures.Future[Any]] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        job = super().submit(fn, *args, **kwargs)
        self.under_way.add(job)
        job.add_done_callback(self.under_way.discard)
        return job


class Server:
    """Serves a session to whom its policy's server section lets in."""

    def __init__(self, session: Session, settings: Settings, *, login_seconds: float = LOGIN_SECONDS) -> None:
        """Raises PolicyError for a certificate that can't be used, or settings that would expose it; LedgerError."""
        if settings.exposed:
            raise PolicyError(
                f"server.listen {settings.listen} is reachable from other machines, without tls or without users",
                hint="give the server section both, or listen: 127.0.0.1",
            )
        self._session = session
        self._settings = settings
        self._login_seconds = login_seconds
        self._context: ssl.SSLContext | None = None
        self._binding: bytes | None = None
        if settings.certificate is not None and settings.key is not None:
            place = at_line(session.policy.shown, settings.tls_line)
            self._context = tls.context(settings.certificate, settings.key, place)
            self._binding = tls.binding(settings.certificate)
        users = Users(settings.users, session.ledger.identity.encode()) if settings.users else None
        self._gate = Gate(users, only=system_user(), encrypt=self._context is not None)
        self._catalogue = Catalogue(session)
        self._pools: dict[str, _Threads] = {}
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._logging_in: dict[asyncio.Timeout, str] = {}
        """The time limit of each connection that has not logged in, and where it comes from; the oldest first."""
        self._ending = False
        self._conversations: dict[int, tuple[bytes, Conversation, str]] = {}
        self._last = 0

    async def start(self) -> tuple[str, int]:
        """Listen; the address that it listens on. Raises OperationalError where that can't be."""
        host, port = self._settings.listen, self._settings.port
        try:
            self._server = await asyncio.start_server(self._accept, host, port, backlog=_BACKLOG)
        except OSError as error:
            raise OperationalError(
                f"the server can't listen on {host}, port {port}: {os.strerror(error.errno or 0)}",
                hint="choose another server.port, or end what listens there",
            ) from None
        address = self._server.sockets[0].getsockname()
        return str(address[0]), int(address[1])

    async def stop(self) -> bool:
        """Let nobody in any more, let requests under way end, say goodbye to all. No connection is left.

        Whether no job is either: a thread can't be ended from outside, and may take longer than one should wait.
        """
        self._ending = True
        if self._server is not None:
            self._server.close()
        for limit in self._logging_in:
            _end_now(limit)
        for _, conversation, _ in list(self._conversations.values()):
            conversation.end()
        if self._tasks:  # no others come: see `_accept`
            _, late = await asyncio.wait(self._tasks, timeout=CLOSING_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        under_way = {job for pool in self._pools.values() for job in list(pool.under_way)}
        _, left = await asyncio.to_thread(concurrent.futures.wait, under_way, CLOSING_SECONDS)
        if not left:
            self._catalogue.close()
        return not left

    # ------------------------------------------------------------------------------------------ connections

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Have a task talk with whoever has connected. It is known from its beginning, so that `stop` finds it."""
        if self._ending:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(Line(reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, line: Line) -> None:
        try:
            await self._talk(line)
        except Gone:
            pass
        except Exception as error:  # noqa: BLE001 - the boundary: a connection ends, the server doesn't
            logging.getLogger("dpsql").error("a connection failed: %s", type(error).__name__)
        finally:
            await line.close()

    async def _talk(self, line: Line) -> None:
        if self._ending:  # since it has connected
            return
        while len(self._logging_in) >= LOGGING_IN:
            self._give_way()
        try:
            async with asyncio.timeout(self._login_seconds) as limit:
                self._logging_in[limit] = line.network
                try:
                    found = await self._log_in(line)
                finally:
                    self._logging_in.pop(limit, None)
        except TimeoutError:
            return
        if found is not None:
            await self._converse(line, *found)

    def _give_way(self) -> None:
        """End the login that has taken longest, of those from where most come."""
        most, _ = Counter(self._logging_in.values()).most_common(1)[0]
        oldest = next(limit for limit, network in self._logging_in.items() if network == most)
        del self._logging_in[oldest]
        _end_now(oldest)

    async def _log_in(self, line: Line) -> tuple[Connection, LoggedIn] | None:
        """Everything before the first request; None where it leads to none."""
        connection = Connection(self._gate)
        data = await line.read()
        if data[:1] == tls.HELLO:  # without asking first: then the client must name the protocol
            if self._context is None or await line.encrypt(self._context, data) != tls.PROTOCOL:
                return None
            connection = Connection(self._gate, encrypted=True, binding=self._binding)
            data = await line.read()
        while data:
            for event in connection.receive(data):
                match event:
                    case StartTls():
                        assert self._context is not None
                        await line.write(connection.outgoing())
                        await line.encrypt(self._context)
                        connection.encrypted(self._binding)
                    case Cancel(process, key):
                        self._cancel(process, key)
                        return None
                    case LoggedIn():
                        return connection, event
                    case _:
                        await line.write(connection.outgoing())
                        return None
            await line.write(connection.outgoing())
            data = await line.read()
        return None

    def _cancel(self, process: int, key: bytes) -> None:
        """Whoever names the key may; whether there is such a connection is not told."""
        expected, conversation, _ = self._conversations.get(process, (b"", None, ""))
        if conversation is not None and secrets.compare_digest(expected, key):
            conversation.cancel()

    async def _converse(self, line: Line, connection: Connection, user: LoggedIn) -> None:
        settings = self._settings
        try:
            if self._ending:
                raise Farewell(*STOPPED, hint="connect again")
            self._check_room(user.analyst)
            database = user.parameters.get("database") or user.analyst
            backend = Backend(Asker(self._session, self._catalogue, user.analyst, database), user.parameters)
        except Farewell as farewell:
            connection.end(farewell)
            await line.write(connection.outgoing())
            return
        conversation = Conversation(
            line, connection, backend, self._threads(user.analyst),
            seconds=settings.statement_timeout, idle=settings.idle_timeout,
        )  # fmt: skip
        process, key = self._number(), secrets.token_bytes(_LONG_KEY if user.minor >= 2 else _SHORT_KEY)
        self._conversations[process] = key, conversation, user.analyst
        try:
            await conversation.run(connection.outgoing() + backend.greeting(process, key))
        finally:
            del self._conversations[process]

    def _check_room(self, analyst: str) -> None:
        """Refuse one connection too many, of all or, where others may come, of one analyst. Raises Farewell."""
        most = self._settings.max_connections
        if len(self._conversations) >= most:
            raise Farewell("53300", f"there are {most} connections already", hint="try again later")
        of_one = self._settings.of_one
        if sum(who == analyst for _, _, who in self._conversations.values()) >= of_one:
            raise Farewell(
                "53300", f'"{analyst}" has {of_one} connections already, which is all that one analyst gets',
                hint="close one, or ask the owner to raise server.max_connections_per_analyst",
            )  # fmt: skip

    def _threads(self, analyst: str) -> concurrent.futures.Executor:
        if analyst not in self._pools:
            self._pools[analyst] = _Threads()
        return self._pools[analyst]

    def _number(self) -> int:
        """A number that no connection has."""
        while True:
            self._last = self._last % (2**31 - 1) + 1
            if self._last not in self._conversations:
                return self._last


def _end_now(limit: asyncio.Timeout) -> None:
    """Let a time limit be over, if it isn't anyway."""
    if not limit.expired():
        limit.reschedule(asyncio.get_running_loop().time())
