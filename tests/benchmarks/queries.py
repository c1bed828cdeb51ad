"""Speed of answered queries, as ratios to the raw query in the same run.

    python -m tests.benchmarks.queries [--rows 5000000]

Prints one line for each figure with its target, and exits with status 1 where a target is missed. CPU is process
time over all threads; ratios are medians over pairs that alternate which side goes first.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb

from dpsql.engines import open_engine
from dpsql.ledger import Ledger
from dpsql.policy import load
from dpsql.privacy.noise import SystemNoise
from dpsql.session import Session

PAIRS = 7
REGIONS = 20
WIDE_KEYS = 1_000_000
GROUPED = "SELECT region, COUNT(*), SUM(amount), AVG(age) FROM t GROUP BY region"
VARIANCES = "SELECT region, VARIANCE(amount), VARIANCE(age) FROM t GROUP BY region"
DISTINCT = "SELECT region, COUNT(DISTINCT age), SUM(DISTINCT age) FROM t GROUP BY region"
MEDIAN = "SELECT MEDIAN(amount) FROM t"
QUANTILES = "SELECT QUANTILE_CONT(amount, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]) FROM t"
MEDIANS = "SELECT region, MEDIAN(amount) FROM t GROUP BY region"
EXTREMES = "SELECT MIN(amount), MAX(amount) FROM t"
WIDE = "SELECT k, COUNT(*) FROM t GROUP BY k"
PUMS = "SELECT sex, COUNT(*) AS n, AVG(income) AS mean FROM people GROUP BY sex"

POLICY = """
dpsql: 1
engine: duckdb:///big.duckdb
privacy: {{epsilon: 1, max_epsilon: 1000}}
budget: {{epsilon: 1e12}}
ledger: big.ledger
tables:
  t:
    source: t
    unit: row
    columns:
      region: {{type: text, keys: [{regions}]}}
      amount: {{type: double, bounds: [0, 1000], nullable: true}}
      age: {{type: integer, bounds: [0, 100]}}
      k: {{type: integer, bounds: [0, {last}]}}
"""


def make(folder: Path, rows: int) -> Path:
    """A .duckdb file of `rows` rows: 20 regions, log-normal amounts with NULLs and outliers, ages, 1e6 keys."""
    with duckdb.connect(str(folder / "big.duckdb")) as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            f"""CREATE TABLE t AS SELECT
                format('region_{{:02d}}', CAST(floor(random() * random() * {REGIONS}) AS INTEGER)) AS region,
                CASE WHEN random() < 0.02 THEN NULL WHEN random() < 0.001 THEN random() * 1e6
                     WHEN random() < 0.0002 THEN random() * -1e5
                     ELSE exp(4 + random() + random() + random() - 1.5) END AS amount,
                CAST(18 + random() * 70 AS INTEGER) AS age,
                CAST(floor(random() * {WIDE_KEYS}) AS INTEGER) AS k
            FROM range({rows})"""
        )
    regions = ", ".join(f"region_{i:02}" for i in range(REGIONS))
    path = folder / "big.yaml"
    path.write_text(POLICY.format(regions=regions, last=WIDE_KEYS - 1))
    Ledger.create(folder / "big.ledger").close()
    return path


def open_session(path: Path) -> Session:
    policy = load(path)
    return Session(policy, open_engine(policy), Ledger.open(policy.ledger), SystemNoise())


def cpu(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def measured(ours: Callable[[], object], raw: Callable[[], object]) -> Iterator[tuple[float, float]]:
    """CPU seconds of both, in pairs of alternating order, after one warm-up of each."""
    ours(), raw()
    for pair in range(PAIRS):
        if pair % 2:
            first = cpu(ours)
            yield first, cpu(raw)
        else:
            second = cpu(raw)
            yield cpu(ours), second


def ratio(ours: Callable[[], object], raw: Callable[[], object]) -> float:
    """Median of the pairs' ratios."""
    return statistics.median(a / b for a, b in measured(ours, raw))


class Report:
    """Collects figures, prints them, remembers misses."""

    def __init__(self) -> None:
        self.missed = False

    def add(self, what: str, figure: float, target: float, unit: str, *, at_least: bool = False) -> None:
        good = figure >= target if at_least else figure <= target
        self.missed |= not good
        word = "at least" if at_least else "at most"
        print(f"{'ok  ' if good else 'MISS'} {what}: {figure:.3g} {unit} ({word} {target:g})", flush=True)


def big(report: Report, folder: Path, rows: int) -> None:
    path = make(folder, rows)
    session = open_session(path)
    raw = duckdb.connect(str(folder / "big.duckdb"), read_only=True)
    for label, sql, plain, target in (
        ("5M rows, 20 groups", GROUPED, GROUPED, 2.2),
        ("5M rows, variances", VARIANCES, VARIANCES, 3.3),
        ("5M rows, distinct values", DISTINCT, DISTINCT, 2.2),
        ("1e6 keys", WIDE, WIDE, 1.6),
        ("5M rows, a median", MEDIAN, MEDIAN, 0.9),
        ("5M rows, 9 quantiles", QUANTILES, QUANTILES, 0.5),
        ("5M rows, medians of 20 groups", MEDIANS, MEDIANS, 2),
        ("5M rows, the smallest and the greatest, to a median", EXTREMES, MEDIAN, 2.6),
    ):
        figure = ratio(
            lambda sql=sql: session.execute(sql, analyst="bench"),
            lambda plain=plain: raw.execute(plain).fetchall(),
        )
        report.add(f"{label}, CPU", figure, target, "x raw")
    raw.close()
    session.close()
    ours = peak("ours", path)
    plain = peak("raw", path)
    report.add("5M rows, 20 groups, peak memory over raw", ours - plain, 100, "MB")


def peak(side: str, path: Path) -> float:
    """Peak memory (MB) of a process that runs the grouped query three times."""
    command = [sys.executable, "-m", "tests.benchmarks.queries", "--peak", side, str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def run_peak(side: str, path: Path) -> None:
    if side == "ours":
        session = open_session(path)
        for _ in range(3):
            session.execute(GROUPED, analyst="bench")
    else:
        raw = duckdb.connect(str(path.parent / "big.duckdb"), read_only=True)
        for _ in range(3):
            raw.execute(GROUPED).fetchall()
    print(peak_kilobytes() / 1024)


def peak_kilobytes() -> int:
    """This process's own high-water mark (getrusage would include what it was before exec)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def small(report: Report, folder: Path) -> None:
    """PUMS, warm session, durable charges."""
    source = Path(__file__).parents[2] / "dpsql" / "demo"
    text = (source / "pums.yaml").read_text()
    for name in ("PUMS.csv", "regions.csv"):
        (folder / name).write_bytes((source / name).read_bytes())
    head, _, tail = text.partition("budget:")
    path = folder / "pums.yaml"
    path.write_text(head + "budget: {epsilon: 1e12}\nledger: pums.ledger\ntables:" + tail.partition("\ntables:")[2])
    Ledger.create(folder / "pums.ledger").close()
    session = open_session(path)
    session.execute(PUMS, analyst="bench")
    report.add("PUMS, plan compiled, median", median_ms(lambda _: session.execute(PUMS, analyst="bench")), 2.5, "ms")
    fresh = median_ms(lambda i: session.execute(PUMS.replace("AS n", f"AS n_{i}"), analyst="bench"))
    report.add("PUMS, plan not compiled, median", fresh, 5, "ms")
    report.add("PUMS, 8 threads", per_second(session), 300, "queries/s", at_least=True)
    session.close()


def median_ms(action: Callable[[int], object], times: int = 200) -> float:
    durations = []
    for i in range(times):
        start = time.perf_counter()
        action(i)
        durations.append(time.perf_counter() - start)
    return statistics.median(durations) * 1e3


def per_second(session: Session, threads: int = 8, each: int = 150) -> float:
    def work() -> None:
        for _ in range(each):
            session.execute(PUMS, analyst="bench")

    workers = [threading.Thread(target=work) for _ in range(threads)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * each / (time.perf_counter() - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        run_peak(arguments.peak[0], Path(arguments.peak[1]))
        return 0
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        small(report, Path(folder))
        big(report, Path(folder), arguments.rows)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
