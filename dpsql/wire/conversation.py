"""The requests of one connection, answered one after the other; jobs run in threads.

At most one job of a connection runs at a time. A job whose result nobody waits for any more (its statement was
cancelled or took too long) is left to end: what it charged stands, its answer is dropped, and the connection's next
job begins after it. So no engine is stopped midway, which would count as a failure, and neither whether nor when a
statement is cut short depends on anything but the clock and the client (THREATS F5, F6). A job that hasn't begun never
does.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from typing import Any

from dpsql.errors import Cancelled
from dpsql.wire.backend import Backend, Job, Steps
from dpsql.wire.connection import Asked, Connection
from dpsql.wire.line import AT_ONCE, Gone, Line
from dpsql.wire.refusals import STOPPED, Farewell

TURN = 0.001
"""Seconds for which one connection is answered before others are."""
READING_SECONDS = 300.0
"""What a client gets to read some 64 kB: one that reads nothing keeps no answer in memory for ever."""
STANDS = "a charge that was made stands: SELECT * FROM dpsql.charges shows it"


class Conversation:
    """Answers what a client asks, until it goes.

    seconds  what a statement gets
    idle     seconds that it may send nothing, None: for ever
    """

    def __init__(
        self, line: Line, connection: Connection, backend: Backend, pool: concurrent.futures.Executor, *,
        seconds: float, idle: float | None,
    ) -> None:  # fmt: skip
        self._line = line
        self._connection = connection
        self._backend = backend
        self._pool = pool
        self._seconds = seconds
        self._idle = idle
        self._out = bytearray()
        self._stop: asyncio.Future[None] | None = None
        self._left: asyncio.Future[Any] | None = None
        self._ending = False
        self._reading: asyncio.Timeout | None = None
        self._turn = 0.0

    async def run(self, greeting: bytes) -> None:
        """Talk. Raises Gone."""
        self._out += greeting
        data = b""
        while True:
            for event in self._connection.receive(data):
                if not isinstance(event, Asked):
                    await self._flush()
                    return
                await self._answer(self._backend.answer(event.request))
            await self._flush()
            if self._ending:
                return await self._part(*STOPPED)
            try:
                async with asyncio.timeout(self._idle) as self._reading:
                    data = await self._line.read()
            except TimeoutError:
                if not self._ending:
                    return await self._part("57P05", "the connection was idle for too long")
                data = b""
            else:
                if not data:
                    return
            finally:
                self._reading = None

    def cancel(self) -> None:
        """Cut short what is waited for now, if anything is."""
        if self._stop is not None and not self._stop.done():
            self._stop.set_result(None)

    def end(self) -> None:
        """Say goodbye, after what is being answered."""
        self._ending = True
        if self._reading is not None and not self._reading.expired():
            self._reading.reschedule(asyncio.get_running_loop().time())

    async def _part(self, sqlstate: str, message: str) -> None:
        self._connection.end(Farewell(sqlstate, message, hint="connect again"))
        await self._flush()

    async def _flush(self) -> None:
        data = bytes(self._out) + self._connection.outgoing()
        self._out.clear()
        try:
            async with asyncio.timeout(READING_SECONDS):
                await self._line.write(data)
        except TimeoutError:
            raise Gone from None

    async def _answer(self, steps: Steps) -> None:
        """Answer a request. Others get their turn after a millisecond of it and of those before it: nothing else waits
        where a client sends faster than it is answered.
        """
        result: Any = None
        failed: Exception | None = None
        while True:
            if time.monotonic() >= self._turn:
                await asyncio.sleep(0)
                self._turn = time.monotonic() + TURN
            try:
                step = steps.send(result) if failed is None else steps.throw(failed)
            except StopIteration:
                return
            result = failed = None
            if isinstance(step, bytes):
                self._out += step
                if len(self._out) >= AT_ONCE:
                    await self._flush()
                continue
            try:
                result = await self._done(step)
            except Exception as error:  # noqa: BLE001 - it belongs to whoever asked for the job
                failed = error

    async def _done(self, job: Job) -> Any:
        """The job's result. Raises what it raises, and Cancelled."""
        loop = asyncio.get_running_loop()
        self._stop = loop.create_future()
        deadline = loop.time() + min(job.seconds or self._seconds, self._seconds)
        try:
            if self._left is not None:
                await self._wait(self._left, deadline)
                self._left = None
            if job.pause:
                pause = asyncio.ensure_future(asyncio.sleep(job.pause))
                try:
                    await self._wait(pause, deadline)
                finally:
                    pause.cancel()
            submitted = self._pool.submit(job.run)
            running = asyncio.wrap_future(submitted)
            try:
                await self._wait(running, deadline)
            except Cancelled:
                if not submitted.cancel():
                    self._left = running
                    running.add_done_callback(_dropped)
                raise
            return running.result()
        finally:
            self._stop = None

    async def _wait(self, running: asyncio.Future[Any], deadline: float) -> None:
        assert self._stop is not None
        seconds = deadline - asyncio.get_running_loop().time()
        await asyncio.wait((running, self._stop), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return
        if self._stop.done():
            raise Cancelled("canceling statement due to user request", hint=STANDS)
        raise Cancelled("canceling statement due to statement timeout", hint=STANDS)


def _dropped(running: asyncio.Future[Any]) -> None:
    """Nobody asks for the result, nor for what was raised instead."""
    if not running.cancelled():
        running.exception()
