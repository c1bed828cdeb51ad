"""The server under fire: `python -m tests.benchmarks.soak [SECONDS]` (180).

Clients ask, describe, copy, page, cancel, disconnect midway and send nonsense, at random. The server must answer the
whole time, hold no more memory at the end than after the first third, and have charged each answer once. Exits with 1
where that isn't so.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]

from dpsql.ledger import Ledger
from dpsql.session import system_user
from dpsql.wire import messages as m
from tests.benchmarks.wire import POLICY, resident, serving
from tests.wire import client

CLIENTS = 32
SQL = "SELECT city, COUNT(*) FROM people WHERE age > $1 GROUP BY city"
GROWTH = 40.0
"""Megabytes."""


class Soak:
    """What the clients did. `sent` statements may have been charged, `answered` ones must have been."""

    def __init__(self, port: int, seconds: float) -> None:
        self.port = port
        self.until = time.monotonic() + seconds
        self.done: Counter[str] = Counter()
        self.sent = self.answered = 0

    async def run(self) -> None:
        await asyncio.gather(*(self._client(random.Random(number)) for number in range(CLIENTS)))

    async def _client(self, chance: random.Random) -> None:
        ways = [self._ask, self._ask, self._ask, self._copy, self._describe, self._cancel, self._leave, self._nonsense]
        while time.monotonic() < self.until:
            way = chance.choice(ways)
            await asyncio.wait_for(way(chance), 60)
            self.done[way.__name__] += 1

    async def _connected(self) -> asyncpg.Connection:
        return await asyncpg.connect(host="127.0.0.1", port=self.port, user=system_user(), ssl=False)

    async def _ask(self, chance: random.Random) -> None:
        connection = await self._connected()
        for _ in range(chance.randint(1, 5)):
            self.sent += 1
            assert len(await connection.fetch(SQL, chance.randrange(10**5))) == 2
            self.answered += 1
        await connection.close()

    async def _copy(self, chance: random.Random) -> None:
        connection = await self._connected()
        self.sent += 1
        with open(os.devnull, "wb") as nothing:
            query = SQL.replace("$1", str(chance.randrange(10**5)))
            assert await connection.copy_from_query(query, output=nothing) == "COPY 2"
        self.answered += 1
        await connection.close()

    async def _describe(self, chance: random.Random) -> None:
        connection = await self._connected()
        await connection.prepare(SQL)
        with contextlib.suppress(asyncpg.PostgresError):
            await connection.prepare("SELECT nosuch FROM people")
        await connection.close()

    async def _cancel(self, chance: random.Random) -> None:
        connection = await self._connected()
        self.sent += 1
        try:
            await connection.fetch(SQL, chance.randrange(10**5), timeout=chance.random() / 10)
            self.answered += 1
        except (TimeoutError, asyncpg.QueryCanceledError):
            pass
        connection.terminate()

    async def _leave(self, chance: random.Random) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.sent += 1
        query = m.Query(SQL.replace("$1", str(chance.randrange(10**5))))
        writer.write(client.opening(m.Startup(0, {"user": system_user()})) + client.request(query))
        await asyncio.sleep(chance.random() / 10)
        writer.transport.abort()

    async def _nonsense(self, chance: random.Random) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        if chance.random() < 0.7:
            writer.write(client.opening(m.Startup(0, {"user": system_user()})))
        for _ in range(chance.randint(1, 4)):
            body = chance.randbytes(chance.randrange(200))
            known = bytes([chance.choice(b"QPBDECHSpdcfF")])
            writer.write(client.framed(known, body) if chance.random() < 0.7 else body)
        with contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait_for(reader.read(1_000), 0.2)
        writer.transport.abort()


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 180.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "people.csv").write_text("age,city\n" + "".join(f"{i},Oslo\n" for i in range(10_000)))
        path = folder / "policy.yaml"
        path.write_text(POLICY)
        Ledger.create(folder / "the.ledger").close()
        with serving(path) as (port, process):
            first = Soak(port, seconds / 3)
            asyncio.run(first.run())
            before = resident(process)
            second = Soak(port, seconds * 2 / 3)
            asyncio.run(second.run())
            after = resident(process)
            alive = process.poll() is None
        with Ledger.open(folder / "the.ledger") as ledger:
            charged = ledger.totals().count
    sent, answered = first.sent + second.sent, first.answered + second.answered
    print(f"{dict(first.done + second.done)}")
    print(f"memory {before:.0f} MB, then {after:.0f} MB; charged {charged}: of {sent} sent, {answered} were answered")
    return 0 if alive and after - before < GROWTH and answered <= charged <= sent else 1


if __name__ == "__main__":
    sys.exit(main())
