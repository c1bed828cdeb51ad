"""What storing answers costs, and what a stored one costs: `python -m tests.benchmarks.answers [DIRECTORY]`.

The same small query through the DB-API, each time with another ε, with `answers: off` and with `per_analyst`, in turns;
then again and again with the same ε. Exits with 1 where a target is missed: storing adds at most a quarter to the
median, or 0.3 ms; at least 600 stored answers are given in a second of CPU time (each is explained once, too).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import dpsql

ROUNDS, EACH = 6, 50
DEMO = Path(dpsql.__file__).parent / "demo"
QUERY = "SELECT married, COUNT(*), AVG(income) FROM people WHERE age > 30 GROUP BY married"
POLICY = """
dpsql: 1
privacy: {{max_epsilon: 1000}}
budget: {{epsilon: 1e9}}
ledger: {answers}.ledger
answers: {answers}
tables:
  people:
    source: {demo}/PUMS.csv
    unit: row
    columns:
      age: {{type: integer, bounds: [0, 100]}}
      married: {{type: boolean}}
      income: {{type: double, bounds: [0, 500000], grain: 1}}
"""


def connect(folder: Path, answers: str) -> dpsql.Connection:
    policy = folder / f"{answers}.yaml"
    policy.write_text(POLICY.format(answers=answers, demo=DEMO))
    return dpsql.connect(policy, analyst="bench", create_ledger=True)


def timed(cursor: dpsql.Cursor, epsilons: list[str]) -> list[float]:
    """Milliseconds of each answer. Plans are made beforehand."""
    for epsilon in epsilons:
        cursor.explain(QUERY, epsilon=epsilon)
    taken = []
    for epsilon in epsilons:
        began = time.perf_counter()
        cursor.execute(QUERY, epsilon=epsilon).fetchall()
        taken.append((time.perf_counter() - began) * 1e3)
    return taken


def main(folder: Path) -> int:
    """Print the figures; 1 where a target is missed."""
    with connect(folder, "off") as off, connect(folder, "per_analyst") as stored:
        without: list[float] = []
        kept: list[float] = []
        for number in range(ROUNDS):
            epsilons = [f"{1 + number}.{1000 + i}" for i in range(EACH)]
            without += timed(off.cursor(), epsilons)
            kept += timed(stored.cursor(), epsilons)
        before, after = statistics.median(without), statistics.median(kept)
        print(f"fresh, answers off         p50 {before:7.3f} ms")
        print(f"fresh, answers per_analyst p50 {after:7.3f} ms   {after / before:.2f} times")
        began = time.process_time()
        again = timed(stored.cursor(), ["1.1000"] * 1000)
        rate = len(again) / (time.process_time() - began)
        print(f"stored                     p50 {statistics.median(again):7.3f} ms   {rate:7.0f}/s")
    return int(after > max(1.25 * before, before + 0.3) or rate < 600)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as made:
        sys.exit(main(Path(made)))
