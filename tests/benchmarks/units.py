"""Speed of queries over tables whose rows belong to units, as ratios to the raw query in the same run.

    python -m tests.benchmarks.units [--rows 50000000] [--units 2000000] [--only histogram]

5,000,000 rows of 200,000 units, Zipf-skewed; `max_rows` at which 4 % of the units are over. Prints CPU ratios (see
tests.benchmarks.queries) with their targets, the peak memory of a process that runs each query, and that of one whose
engine may use 1 GB and must spill what is beyond; exits with status 1 where a target is missed. With other --rows or
--units all of it is measured for those too, and the growth: raw, dpsql, and dpsql's over the raw one's.

Raw queries run with DuckDB's own settings. The engine's differ (see dpsql.engines.duckdb_sources.data: arrays): a raw
query that groups by unit takes half as long with them.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from dpsql.engines.duckdb_sources.driver import CONFIG
from dpsql.ledger import Ledger
from tests.benchmarks.queries import Report, measured, open_session, peak_kilobytes

ROWS = 5_000_000
UNITS = 200_000
ROWS_OF_ORDER = 4
OVER = 0.04
"""The share of units with more than `max_rows` rows."""
GROWTH = 1.3
"""The most that a query's growth may be, over the raw query's."""
MEMORY = "1GB"
MOST_MB = 1_200
"""With MEMORY for the engine, what the process may take: Python and its libraries have some too."""
CHUNK = 5_000_000

Ints = npt.NDArray[np.int64]
People = Callable[[int], Ints]
"""Draws so many units."""


@dataclass(frozen=True, slots=True)
class Case:
    """A statement, the most it may cost (times raw CPU), and what it is compared with if not with itself.

    A table without a column of the unit is compared with the join that leads to one.
    """

    sql: str
    target: float
    raw: str = ""

    @property
    def compared(self) -> str:
        return self.raw or self.sql


CASES = {
    "histogram": Case("SELECT region, COUNT(*), SUM(amount), AVG(age) FROM visit GROUP BY region", 5),
    "no groups": Case("SELECT COUNT(*), SUM(amount), AVG(age) FROM visit", 11),
    "count of units": Case("SELECT region, COUNT(DISTINCT cust) FROM visit GROUP BY region", 1.5),
    "groups and rows per group": Case(
        "SELECT region, COUNT(*), SUM(amount) FROM visit_by_region GROUP BY region", 16,
        "SELECT region, COUNT(*), SUM(amount) FROM visit GROUP BY region",
    ),
    "per-unit sum": Case(
        "SELECT AVG(total) FROM (SELECT cust, SUM(amount) AS total FROM visit GROUP BY cust) AS q", 6
    ),
    "foreign key": Case(
        "SELECT priority, COUNT(*), SUM(price) FROM orders JOIN item ON order_id = id GROUP BY priority", 4
    ),
    "unit of the parent": Case(
        "SELECT flag, COUNT(*), SUM(price) FROM item GROUP BY flag", 4,
        "SELECT flag, COUNT(*), SUM(price) FROM item JOIN orders ON order_id = id GROUP BY flag",
    ),
    "public key": Case("SELECT kind, COUNT(*), SUM(amount) FROM visit JOIN product ON product = id GROUP BY kind", 7),
}  # fmt: skip

POLICY = """
dpsql: 1
engine: duckdb:///units.duckdb
privacy: {{epsilon: 1, max_epsilon: 1000}}
budget: {{epsilon: 1e12}}
ledger: units.ledger
tables:
  visit:
    source: visit
    unit: {{column: cust, max_rows: {visits}}}
    columns:
      cust: {{type: integer}}
      region: {{type: text, keys: [{regions}]}}
      amount: {{type: double, bounds: [0, 1000], nullable: true}}
      age: {{type: integer, bounds: [0, 100]}}
      product: {{type: integer}}
  visit_by_region:
    source: visit
    unit: {{column: cust, max_rows: {visits}, max_groups: 3, max_rows_per_key: 5}}
    columns:
      cust: {{type: integer}}
      region: {{type: text, keys: [{regions}]}}
      amount: {{type: double, bounds: [0, 1000], nullable: true}}
  orders:
    source: orders
    unit: {{column: cust, max_rows: {orders}}}
    primary_key: id
    columns:
      id: {{type: integer}}
      cust: {{type: integer}}
      priority: {{type: text, keys: [p0, p1, p2, p3, p4]}}
  item:
    source: item
    unit: {{via: {{order_id: orders.id}}, max_rows: {items}}}
    columns:
      order_id: {{type: integer}}
      flag: {{type: text, keys: [f0, f1, f2]}}
      price: {{type: double, bounds: [0, 1000], nullable: true}}
  product:
    source: product
    public: true
    primary_key: id
"""


def make(folder: Path, rows: int, units: int = UNITS) -> Path:
    """A .duckdb file with `rows` visits and as many items of orders, and a policy for it."""
    random = np.random.default_rng(1)
    mass = np.cumsum(1 / np.arange(1, units + 1))
    ids = random.permutation(units)

    def people(size: int) -> Ints:
        return ids[np.searchsorted(mass, random.random(size) * mass[-1], side="right")]

    with duckdb.connect(str(folder / "units.duckdb")) as connection:
        visits = _visits(connection, random, people, rows, units)
        orders, items = _orders(connection, random, people, rows, units)
        connection.execute(
            "CREATE TABLE product AS SELECT i AS id, format('kind_{}', i % 10) AS kind FROM range(1000) AS r(i)"
        )
    numbers = {"visits": _most(visits), "orders": _most(orders), "items": _most(items)}
    path = folder / "units.yaml"
    path.write_text(POLICY.format(regions=", ".join(f"region_{i:02}" for i in range(20)), **numbers))
    Ledger.create(folder / "units.ledger").close()
    return path


def _most(rows_of_units: Ints) -> int:
    return int(np.quantile(rows_of_units[rows_of_units > 0], 1 - OVER))


def _visits(
    connection: duckdb.DuckDBPyConnection, random: np.random.Generator, people: People, rows: int, units: int
) -> Ints:
    """Visits in no order, 70 % of a unit's in one region."""
    connection.execute("CREATE TABLE visit (cust BIGINT, region VARCHAR, amount DOUBLE, age INTEGER, product BIGINT)")
    home = random.integers(0, 20, units)
    found = np.zeros(units, dtype=np.int64)
    for first in range(0, rows, CHUNK):
        size = min(CHUNK, rows - first)
        cust = people(size)
        found += np.bincount(cust, minlength=units)
        chunk = {
            "cust": cust,
            "region": np.where(random.random(size) < 0.7, home[cust], (20 * random.random(size) ** 2).astype(np.int64)),
            "amount": _amounts(random, size),
            "age": random.integers(18, 89, size, dtype=np.int32),
            "product": (1000 * random.random(size) ** 2).astype(np.int64),
        }
        connection.register("chunk", chunk)
        connection.execute(
            "INSERT INTO visit SELECT cust, format('region_{:02d}', region), IF(isnan(amount), NULL, amount), age, "
            "product FROM chunk"
        )
    return found


def _orders(
    connection: duckdb.DuckDBPyConnection, random: np.random.Generator, people: People, rows: int, units: int
) -> tuple[Ints, Ints]:
    """Orders with 1 to 7 items each, which stand in the order of their orders."""
    connection.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, cust BIGINT, priority VARCHAR)")
    connection.execute("CREATE TABLE item (order_id BIGINT, flag VARCHAR, price DOUBLE)")
    orders, items = np.zeros(units, dtype=np.int64), np.zeros(units, dtype=np.int64)
    last, wanted = 0, rows // ROWS_OF_ORDER
    while last < wanted:
        size = min(CHUNK // ROWS_OF_ORDER, wanted - last)
        cust, many = people(size), random.integers(1, 2 * ROWS_OF_ORDER, size)
        orders += np.bincount(cust, minlength=units)
        items += np.bincount(cust, weights=many, minlength=units).astype(np.int64)
        id_ = np.arange(last, last + size)
        connection.register("chunk", {"id": id_, "cust": cust, "priority": random.integers(0, 5, size)})
        connection.execute("INSERT INTO orders SELECT id, cust, format('p{}', priority) FROM chunk")
        total = int(many.sum())
        connection.register("chunk", {
            "order_id": np.repeat(id_, many), "flag": random.integers(0, 3, total), "price": _amounts(random, total),
        })  # fmt: skip
        connection.execute(
            "INSERT INTO item SELECT order_id, format('f{}', flag), IF(isnan(price), NULL, price) FROM chunk"
        )
        last += size
    return orders, items


def _amounts(random: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
    """Most are within the bounds; 2 % are NaN, 0.02 % far below and 0.08 % far above the bounds."""
    found = np.exp(4 + random.random(size) + random.random(size))
    kind = random.random(size)
    found[kind < 0.021] *= 1e6
    found[kind < 0.0202] *= -1
    found[kind < 0.02] = np.nan
    return found


@dataclass(frozen=True, slots=True)
class Figure:
    """Medians over pairs: CPU seconds, and the ratio."""

    raw: float
    ours: float
    ratio: float


def measure(ours: Callable[[], object], raw: Callable[[], object]) -> Figure:
    """See `Figure`."""
    pairs = [(b, a, a / b) for a, b in measured(ours, raw)]
    return Figure(*(statistics.median(figures) for figures in zip(*pairs, strict=True)))


def measure_all(path: Path, only: str) -> dict[str, Figure]:
    """The figures of the cases whose names have `only` in them."""
    found: dict[str, Figure] = {}
    session = open_session(path)
    raw = duckdb.connect(str(path.parent / "units.duckdb"), read_only=True)
    for name, case in CASES.items():
        if only not in name:
            continue
        found[name] = measure(
            lambda sql=case.sql: session.execute(sql, analyst="bench"),
            lambda sql=case.compared: raw.execute(sql).fetchall(),
        )
    raw.close()
    session.close()
    return found


def in_process(side: str, name: str, path: Path) -> list[float]:
    """What a process of its own prints that runs one case: see run_side."""
    command = [sys.executable, "-m", "tests.benchmarks.units", "--side", side, name, str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return [float(number) for number in done.stdout.split()] if done.returncode == 0 else [math.inf, math.inf]


def run_side(side: str, name: str, path: Path) -> None:
    """Print the peak memory of one case and what it spilled, in MB. `side`: ours, raw, or ours with little memory."""
    if side == "raw":
        connection = duckdb.connect(str(path.parent / "units.duckdb"), read_only=True)
        connection.execute(CASES[name].compared).fetchall()
        print(peak_kilobytes() / 1024, 0)
        return
    if side == "limited":
        CONFIG["memory_limit"] = MEMORY
    session = open_session(path)
    spill = session.engine._data.directory / "spill"
    most, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            with suppress(OSError):
                most[0] = max(most[0], sum(file.stat().st_size for file in spill.glob("*")))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        session.execute(CASES[name].sql, analyst="bench")
    finally:
        done.set()
        watcher.join()
    print(peak_kilobytes() / 1024, most[0] / 2**20)


def report_all(report: Report, path: Path, rows: int, only: str) -> dict[str, Figure]:
    """Measure and print: ratios and memory."""
    figures = measure_all(path, only)
    for name, figure in figures.items():
        report.add(f"{rows} rows, {name}, CPU", figure.ratio, CASES[name].target, "x raw")
    for name in figures:
        (ours, _), (raw, _), (limited, spilled) = (in_process(side, name, path) for side in ("ours", "raw", "limited"))
        print(f"---- {rows} rows, {name}, peak memory: {ours:.0f} MB, raw {raw:.0f} MB, spilled {spilled:.0f} MB")
        report.add(f"{rows} rows, {name}, peak memory where it may use {MEMORY}", limited, MOST_MB, "MB")
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--units", type=int, default=UNITS, help="in the tables of --rows rows")
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    parser.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        side, name, path = arguments.side
        run_side(side, name, Path(path))
        return 0
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        first = report_all(report, make(Path(folder), ROWS), ROWS, arguments.only)
    if arguments.rows != ROWS or arguments.units != UNITS:
        with tempfile.TemporaryDirectory() as folder:
            path = make(Path(folder), arguments.rows, arguments.units)
            growth(report, first, report_all(report, path, arguments.rows, arguments.only))
    return 1 if report.missed else 0


def growth(report: Report, first: dict[str, Figure], then: dict[str, Figure]) -> None:
    """How many times the CPU time that more rows take, beside the raw query's."""
    for name, after in then.items():
        before = first[name]
        raw, ours = after.raw / before.raw, after.ours / before.ours
        print(f"---- {name}: raw takes {raw:.3g} times the CPU, dpsql {ours:.3g} times")
        report.add(f"{name}, growth", ours / raw, GROWTH, "x raw's")


if __name__ == "__main__":
    sys.exit(main())
