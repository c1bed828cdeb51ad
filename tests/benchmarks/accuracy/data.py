"""The data sets, and sessions over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from dpsql.engines import open_engine
from dpsql.ledger import Ledger
from dpsql.policy import load
from dpsql.privacy.noise import SystemNoise
from dpsql.session import Session

CENSUS = Path(__file__).parents[3] / "dpsql" / "demo" / "PUMS.csv"
MECHANISMS = ("auto", "laplace")
POLICY = """
dpsql: 1
engine: duckdb
privacy: {{epsilon: 1, mechanism: {mechanism}, counts: raw}}
budget: {{epsilon: 1000000000}}
ledger: ledger
answers: off
tables:
  people:
    source: {source}
    unit: row
    columns:
      income: {{type: double, bounds: [0, {data.income}], grain: 1}}
      age: {{type: integer, bounds: [0, {data.age}]}}
"""
"""Each row is a unit. That no column has NULL is so, and the others take it to be so too."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """Rows of an income and an age, each from 0 to the given bound."""

    name: str
    income: int
    age: int

    def write(self, path: Path, rows: int | None = None) -> Path:
        """A CSV file of all its rows, or of so many."""
        if self is PUMS:
            limit = "" if rows is None else f" LIMIT {rows}"
            duckdb.execute(f"COPY (SELECT income, age FROM read_csv('{CENSUS}'){limit}) TO '{path}' (HEADER)")
            return path
        incomes, ages = made_up()
        lines = (f"{i:.0f},{a:.0f}\n" for i, a in zip(incomes[:rows], ages[:rows], strict=True))
        path.write_text("income,age\n" + "".join(lines), encoding="utf-8")
        return path


PUMS = DataSet("PUMS", 500_000, 100)
"""1000 people of the US census, as in dpsql's demo."""
INC10K = DataSet("inc10k", 200_000, 120)
"""10,000 made-up rows. The record tells no more of them than bounds, number and that incomes are lognormal, clipped to
their bounds: what was measured then isn't at hand. Mean and spread are chosen so that the targets, which follow from
them, are those of the record: those of AVG(income) and VARIANCE(age) say where income and age lie in their bounds. The
error of a median hangs on the few values next to it, so that the record's are of other values."""
DATA_SETS = (PUMS, INC10K)


def made_up() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    income = np.clip(random.lognormal(10.63, 0.7, 10_000), 0, INC10K.income).round()
    return income, np.clip(random.normal(46.5, 14, 10_000), 0, INC10K.age).round()


def column(path: Path, name: str) -> npt.NDArray[np.float64]:
    """All values of a column."""
    return np.asarray(duckdb.execute(f"SELECT {name}::DOUBLE AS v FROM read_csv('{path}')").fetchnumpy()["v"])


def exact(path: Path, numbers: str) -> tuple[float, ...]:
    """The numbers without noise."""
    row = duckdb.execute(f"SELECT {numbers} FROM read_csv('{path}')").fetchone()
    assert row is not None
    return tuple(map(float, row))


@contextmanager
def opened(data: DataSet, source: Path, mechanism: str, noise: SystemNoise | None = None) -> Iterator[Session]:
    """A session over a file of the data set's rows, with a real ledger beside it."""
    path = source.with_suffix(f".{mechanism}.yaml")
    text = POLICY.format(mechanism=mechanism, source=source, data=data).replace(
        "ledger: ledger", f"ledger: {path.stem}"
    )
    path.write_text(text, encoding="utf-8")
    policy = load(path)
    policy = replace(policy, privacy=replace(policy.privacy, min_epsilon=Fraction(1, 10**9)))
    if not policy.ledger.exists():
        Ledger.create(policy.ledger).close()
    with open_engine(policy) as engine, Ledger.open(policy.ledger) as ledger:
        yield Session(policy, engine, ledger, SystemNoise() if noise is None else noise)
