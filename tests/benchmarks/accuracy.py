"""The error of answers: `python -m tests.benchmarks.accuracy [--releases 400] [--epsilon 1] [--mechanism auto]`.

Prints the root of the mean squared error of real releases through a session, over a throwaway ledger, beside the exact
number: on census data, and on 10,000 made-up rows. README's comparison has these figures at ε 1. Here the policy says
that no column has NULL, which is so, as it does for the others.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from dpsql.engines import open_engine
from dpsql.ledger import Ledger
from dpsql.policy import load
from dpsql.privacy.noise import SystemNoise
from dpsql.session import Session

ROOT = Path(__file__).parents[2]
CENSUS = ROOT / "dpsql" / "demo" / "PUMS.csv"
POLICY = """
dpsql: 1
engine: duckdb
privacy: {{epsilon: 1, mechanism: {mechanism}}}
budget: {{epsilon: 1000000000}}
ledger: ledger
answers: off
tables:
  people:
    source: {source}
    unit: row
    columns:
      income: {{type: double, bounds: [0, {income}], grain: 1}}
      age: {{type: integer, bounds: [0, {age}]}}
"""
BOUNDS = {"PUMS": (500_000, 100), "inc10k": (200_000, 120)}
QUERIES = (
    "COUNT(*)",
    "SUM(income)",
    "AVG(income)",
    "AVG(age)",
    "VARIANCE(age)",
    "COUNT(*), AVG(income), AVG(age)",
    "COUNT(*), SUM(income), AVG(income), AVG(age)",
)


def inc10k(path: Path) -> None:
    """10,000 made-up rows: lognormal incomes up to 200,000, and ages."""
    random = np.random.default_rng(1)
    income = np.clip(random.lognormal(10.63, 0.7, 10_000), 0, 200_000).round()
    age = np.clip(random.normal(46.5, 14, 10_000), 0, 120).round().astype(int)
    rows = "\n".join(f"{i:.0f},{a}" for i, a in zip(income, age, strict=True))
    path.write_text(f"income,age\n{rows}\n", encoding="utf-8")


def errors(session: Session, numbers: str, exact: tuple[float, ...], releases: int, epsilon: str) -> Iterator[float]:
    """The root mean squared error of each number of a query."""
    squares = [0.0] * len(exact)
    for _ in range(releases):
        result = session.execute(f"SELECT {numbers} FROM people", epsilon=epsilon, analyst="benchmark")
        for index, value in enumerate(result.rows[0]):
            squares[index] += (float(value) - exact[index]) ** 2
    return (math.sqrt(total / releases) for total in squares)


def measure(name: str, mechanism: str, releases: int, epsilon: str) -> None:
    """Print the errors on one data set."""
    with tempfile.TemporaryDirectory() as directory:
        source = CENSUS
        if name != "PUMS":
            source = Path(directory) / f"{name}.csv"
            inc10k(source)
        path = Path(directory) / "policy.yaml"
        income, age = BOUNDS[name]
        text = POLICY.format(mechanism=mechanism, source=source, income=income, age=age)
        path.write_text(text, encoding="utf-8")
        policy = load(path)
        policy = replace(policy, privacy=replace(policy.privacy, min_epsilon=Fraction(1, 10**9)))
        Ledger.create(policy.ledger).close()
        with open_engine(policy) as engine, Ledger.open(policy.ledger) as ledger:
            session = Session(policy, engine, ledger, SystemNoise())
            for numbers in QUERIES:
                exact = duckdb.execute(f"SELECT {numbers} FROM read_csv('{source}')").fetchone()
                assert exact is not None
                found = errors(session, numbers, exact, releases, epsilon)
                print(f"{name} {mechanism:8}{numbers}: {' / '.join(f'{error:.3g}' for error in found)}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=400, help="of each query (default: 400)")
    parser.add_argument("--epsilon", default="1", help="of each query (default: 1)")
    parser.add_argument("--mechanism", choices=["laplace", "auto"], help="of the policy (default: both)")
    options = parser.parse_args(arguments)
    for name in BOUNDS:
        for mechanism in [options.mechanism] if options.mechanism else ["laplace", "auto"]:
            measure(name, mechanism, options.releases, options.epsilon)


if __name__ == "__main__":
    main()
