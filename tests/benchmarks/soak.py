"""The server under fire: `python -m tests.benchmarks.soak [SECONDS]` (180).

32 clients ask, describe, copy, page, cancel, disconnect midway and send nonsense, at random. The server must answer the
whole time and hold no more memory at the end than after the first third. Each statement has a number of its own, in a
comment, which stands in the ledger too: those whose notice says that they were charged must be there once, those that
were stored or only described not at all, those that were cut off at most once, and nothing else. Exits with 1 where
anything of that isn't so.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]

from dpsql.ledger import Ledger
from dpsql.session import system_user
from dpsql.wire import messages as m
from tests.benchmarks.wire import POLICY, connect, resident, serving
from tests.wire import client

CLIENTS = 32
SQL = "SELECT /* statement {} */ city, COUNT(*) FROM people WHERE age > $1 GROUP BY city"
VALUES = 10_000
"""So many questions there are: some of them are asked again, and stored by then."""
GROWTH = 20.0
"""Megabytes."""
PATIENCE = 60.0
"""Seconds in which anything is answered, however busy the machine is."""


@dataclass
class Soak:
    """What the clients did. `charged` and `free`: the numbers of statements whose notice says so; `cut`: of those that
    may have been charged; the others cost nothing.
    """

    port: int
    going: Callable[[], bool]
    done: Counter[str] = field(default_factory=Counter)
    charged: set[int] = field(default_factory=set)
    free: set[int] = field(default_factory=set)
    cut: set[int] = field(default_factory=set)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def run(self, clients: int = CLIENTS) -> None:
        await asyncio.gather(*(self._client(random.Random(number)) for number in range(clients)))

    async def _client(self, chance: random.Random) -> None:
        ways = [
            self._ask, self._ask, self._ask, self._copy, self._page, self._describe, self._cancel, self._leave,
            self._nonsense,
        ]  # fmt: skip
        while self.going():
            way = chance.choice(ways)
            await asyncio.wait_for(way(chance), PATIENCE)
            self.done[way.__name__] += 1

    async def _ask(self, chance: random.Random) -> None:
        connection, notices = await self._connected()
        for _ in range(chance.randint(1, 5)):
            number = next(self.numbers)
            assert len(await connection.fetch(SQL.format(number), chance.randrange(VALUES))) == 2
            self._told(number, notices)
        await connection.close()

    async def _copy(self, chance: random.Random) -> None:
        connection, notices = await self._connected()
        number = next(self.numbers)
        with open(os.devnull, "wb") as nothing:
            query = SQL.format(number).replace("$1", str(chance.randrange(VALUES)))
            assert await connection.copy_from_query(query, output=nothing) == "COPY 2"
        self._told(number, notices)
        await connection.close()

    async def _page(self, chance: random.Random) -> None:
        """A portal that is fetched row by row is one answer."""
        connection, notices = await self._connected()
        number = next(self.numbers)
        async with connection.transaction():
            cursor = await connection.cursor(SQL.format(number), chance.randrange(VALUES))
            for _ in range(chance.randint(1, 2)):
                assert await cursor.fetchrow() is not None
        self._told(number, notices)
        await connection.close()

    async def _describe(self, chance: random.Random) -> None:
        connection, _ = await self._connected()
        number = next(self.numbers)
        await connection.prepare(SQL.format(number))
        with contextlib.suppress(asyncpg.PostgresError):
            await connection.prepare("SELECT nosuch FROM people")
        await connection.close()

    async def _cancel(self, chance: random.Random) -> None:
        connection, notices = await self._connected()
        number = next(self.numbers)
        try:
            await connection.fetch(SQL.format(number), chance.randrange(VALUES), timeout=chance.random() / 10)
            self._told(number, notices)
        except (TimeoutError, asyncpg.QueryCanceledError):
            self.cut.add(number)
        connection.terminate()

    async def _leave(self, chance: random.Random) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        number = next(self.numbers)
        self.cut.add(number)
        query = m.Query(SQL.format(number).replace("$1", str(chance.randrange(VALUES))))
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

    async def _connected(self) -> tuple[asyncpg.Connection, list[str]]:
        """A connection, and the list that gets its notices."""
        connection = await connect(self.port)
        notices: list[str] = []
        connection.add_log_listener(lambda _, notice: notices.append(notice.message))
        return connection, notices

    def _told(self, number: int, notices: list[str]) -> None:
        """The server's one notice says what the statement cost."""
        (notice,) = notices
        notices.clear()
        (self.charged if notice.startswith("charged ε 1") else self.free).add(number)

    def wrong(self, ledger: Ledger) -> list[str]:
        """What is wrong with the ledger after that."""
        charges = list(ledger.charges())
        found = Counter(int(re.findall(r"/\* statement ([0-9]+) \*/", charge.query)[0]) for charge in charges)
        totals = ledger.totals()
        checks = {
            "a statement was charged twice": [number for number, times in found.items() if times > 1],
            "a charge that a client was told of is missing": self.charged - found.keys(),
            "what was said to be free was charged": self.free & found.keys(),
            "what nobody asked was charged": found.keys() - self.charged - self.cut,
            "the sum is another": [] if totals.everyone.epsilon == len(charges) == totals.count else [totals],
            "failures were recorded": totals.failures,
        }
        return [f"{problem}: {list(which)[:5]}" for problem, which in checks.items() if which]


async def _sampled(soak: Soak, memory: Callable[[], float]) -> list[float]:
    """Runs it; the server's megabytes every second."""
    samples: list[float] = []

    async def sample() -> None:
        while True:
            samples.append(memory())
            await asyncio.sleep(1)

    sampling = asyncio.create_task(sample())
    await soak.run()
    sampling.cancel()
    return samples


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 180.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "people.csv").write_text("age,city\n" + "".join(f"{i},Oslo\n" for i in range(10_000)))
        path = folder / "policy.yaml"
        path.write_text(POLICY)
        Ledger.create(folder / "the.ledger").close()
        with serving(path) as (port, process):
            until = time.monotonic() + seconds
            soak = Soak(port, lambda: time.monotonic() < until)
            samples = asyncio.run(_sampled(soak, lambda: resident(process)))
            alive = process.poll() is None
        with Ledger.open(folder / "the.ledger") as ledger:
            wrong = soak.wrong(ledger)
            count = ledger.totals().count
    third = len(samples) // 3
    growth = max(samples[2 * third :]) - max(samples[: third + 1])
    print(f"{sum(soak.done.values())} conversations: {dict(sorted(soak.done.items()))}")
    print(f"{count} charges: {len(soak.charged)} told, {len(soak.free)} answers were free, {len(soak.cut)} cut off")
    print(f"memory every 10 s: {', '.join(f'{sample:.0f}' for sample in samples[::10])} MB; {growth:+.1f} MB")
    if growth > GROWTH:
        wrong.append(f"memory grows by {growth:.1f} MB; at most {GROWTH} are allowed")
    if not alive:
        wrong.append("the server has ended")
    print("\n".join(wrong) or "all is well")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
