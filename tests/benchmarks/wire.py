"""What the PostgreSQL server costs: `python -m tests.benchmarks.wire`.

One client's time for a small answer beside the module's in process; answers per second of 32 clients; a long answer;
the memory of idle connections. The server runs in a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]
import psycopg

import dpsql
from dpsql.session import system_user

KEYS, CLIENTS, EACH, IDLE = 100_000, 32, 40, 1_000
POLICY = """\
dpsql: 1
dialect: postgres
privacy: {epsilon: 1}
budget: {epsilon: 1e9}
ledger: the.ledger
server: {max_connections: 2000}
tables:
  people:
    source: people.csv
    unit: row
    columns:
      age: {type: integer, bounds: [0, 99999]}
      city: {type: text, keys: [Oslo, Bergen]}
"""
SMALL = "SELECT city, COUNT(*) FROM people WHERE age > {} GROUP BY city"
LONG = "SELECT age, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY age"


def median(run: Callable[[int], object], times: int) -> float:
    """Milliseconds of one run."""
    found = []
    for index in range(times):
        began = time.perf_counter()
        run(index)
        found.append(time.perf_counter() - began)
    return statistics.median(found) * 1000


@contextlib.contextmanager
def serving(path: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "dpsql", "serve", str(path), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")
    assert process.stderr is not None
    try:
        yield int(process.stderr.readline().split("port ")[1].split(",")[0]), process
    finally:
        process.terminate()
        process.communicate()


def resident(process: subprocess.Popen[str]) -> float:
    """Megabytes in memory."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


async def _many(port: int, clients: int, each: int) -> float:
    """Answers per second of clients that ask at once, each answer fresh."""
    connections = [
        await asyncpg.connect(host="127.0.0.1", port=port, user=system_user(), ssl=False) for _ in range(clients)
    ]

    async def ask(number: int, connection: asyncpg.Connection) -> None:
        for index in range(each):
            await connection.fetch(SMALL.format("$1"), number * each + index)

    await asyncio.gather(*(connection.fetch(SMALL.format("$1"), 0) for connection in connections))
    began = time.perf_counter()
    await asyncio.gather(*(ask(number, connection) for number, connection in enumerate(connections)))
    seconds = time.perf_counter() - began
    for connection in connections:
        await connection.close()
    return clients * each / seconds


async def _idle(port: int, process: subprocess.Popen[str]) -> float:
    """Megabytes that idle connections add."""
    before = resident(process)
    connections = [
        await asyncpg.connect(host="127.0.0.1", port=port, user=system_user(), ssl=False) for _ in range(IDLE)
    ]
    found = resident(process) - before
    for connection in connections:
        connection.terminate()
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = "".join(f"{i % KEYS},{'Oslo' if i % 3 else 'Bergen'}\n" for i in range(200_000))
        (folder / "people.csv").write_text("age,city\n" + rows)
        path = folder / "policy.yaml"
        path.write_text(POLICY)
        with dpsql.connect(path, create_ledger=True) as inside, serving(path) as (port, process):
            cursor = inside.cursor()
            here = median(lambda i: cursor.execute(SMALL.format(i)).fetchall(), 100)
            long = median(lambda i: cursor.execute(LONG).fetchall(), 5)
            with psycopg.connect(f"host=127.0.0.1 port={port}", autocommit=True) as outside:
                there = median(lambda i: outside.execute(SMALL.format(1000 + i)).fetchall(), 100)
                free = median(lambda i: outside.execute("SHOW TimeZone").fetchall(), 200)
                text = median(lambda i: outside.execute(LONG).fetchall(), 5)
                binary = outside.cursor(binary=True)
                packed = median(lambda i: binary.execute(LONG).fetchall(), 5)
            print(f"small answer: {here:.1f} ms in process, {there:.1f} ms over the wire; SHOW {free:.2f} ms")
            print(f"{KEYS:,} rows: {long:.0f} ms in process, {text:.0f} ms as text, {packed:.0f} ms in binary")
            print(f"{CLIENTS} clients: {asyncio.run(_many(port, CLIENTS, EACH)):.0f} fresh answers a second")
            print(f"{IDLE:,} idle connections: {asyncio.run(_idle(port, process)):.0f} MB")


if __name__ == "__main__":
    main()
