"""The error of answers on census data: `python -m tests.benchmarks.accuracy [--releases 400] [--epsilon 1]`.

Prints the root of the mean squared error of real releases through a session, over a throwaway ledger, beside the exact
number; README's comparison has these figures at ε 1.
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

from dpsql.engines import open_engine
from dpsql.ledger import Ledger
from dpsql.policy import Budget, Limit, load
from dpsql.privacy.noise import SystemNoise
from dpsql.session import Session

ROOT = Path(__file__).parents[2]
QUERIES = (
    "COUNT(*)",
    "SUM(income)",
    "AVG(income)",
    "AVG(age)",
    "VARIANCE(age)",
    "COUNT(*), AVG(income), AVG(age)",
)


def errors(session: Session, numbers: str, exact: tuple[float, ...], releases: int, epsilon: str) -> Iterator[float]:
    """The root mean squared error of each number of a query."""
    squares = [0.0] * len(exact)
    for _ in range(releases):
        result = session.execute(f"SELECT {numbers} FROM people", epsilon=epsilon, analyst="benchmark")
        for index, value in enumerate(result.rows[0]):
            squares[index] += (float(value) - exact[index]) ** 2
    return (math.sqrt(total / releases) for total in squares)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=400, help="of each query (default: 400)")
    parser.add_argument("--epsilon", default="1", help="of each query (default: 1)")
    options = parser.parse_args(arguments)
    data = ROOT / "dpsql" / "demo" / "PUMS.csv"
    with tempfile.TemporaryDirectory() as name:
        policy = load(ROOT / "config" / "pums.yaml")
        policy = replace(policy, ledger=Path(name) / "ledger", budget=Budget(Limit(Fraction(10**9))))
        Ledger.create(policy.ledger).close()
        with open_engine(policy) as engine, Ledger.open(policy.ledger) as ledger:
            session = Session(policy, engine, ledger, SystemNoise())
            for numbers in QUERIES:
                exact = duckdb.execute(f"SELECT {numbers} FROM read_csv('{data}')").fetchone()
                assert exact is not None
                found = errors(session, numbers, exact, options.releases, options.epsilon)
                print(f"{numbers}: {' / '.join(f'{error:.3g}' for error in found)}")


if __name__ == "__main__":
    main()
