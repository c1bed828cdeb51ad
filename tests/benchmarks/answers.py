"""What storing answers costs, and what a stored one costs: `python -m tests.benchmarks.answers [DIRECTORY]`.

The same small query through the DB-API, each time with another ε, with `answers: off` and with `per_analyst`, in turns;
then again and again with the same ε. Exits with 1 where a target is missed: storing adds at most a quarter to the
median, or 0.3 ms; at least 600 stored answers are given in a second of CPU time.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import dpsql

PAIRS, HITS = 300, 2000
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


def timed(cursor: dpsql.Cursor, epsilon: str) -> float:
    """Milliseconds of one answer. The plan is made beforehand."""
    cursor.explain(QUERY, epsilon=epsilon)
    began = time.perf_counter()
    cursor.execute(QUERY, epsilon=epsilon).fetchall()
    return (time.perf_counter() - began) * 1e3


def main(folder: Path) -> int:
    """Print the figures; 1 where a target is missed."""
    with connect(folder, "off") as off, connect(folder, "per_analyst") as stored:
        cursors = off.cursor(), stored.cursor()
        taken: tuple[list[float], list[float]] = ([], [])
        for number in range(PAIRS):
            for side in (0, 1) if number % 2 else (1, 0):
                taken[side].append(timed(cursors[side], f"1.{1000 + number}"))
        before, after = map(statistics.median, taken)
        print(f"fresh, answers off         p50 {before:7.3f} ms")
        print(f"fresh, answers per_analyst p50 {after:7.3f} ms   {after / before:.2f} times")
        began = time.process_time()
        for _ in range(HITS):
            cursors[1].execute(QUERY, epsilon="1.1000").fetchall()
        rate = HITS / (time.process_time() - began)
        print(f"stored                     {rate:.0f} in a second of CPU time")
    return int(after > max(1.25 * before, before + 0.3) or rate < 600)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as made:
        sys.exit(main(Path(made)))
