"""How often intervals at 95 % hold the number without noise, before it is clamped to anything."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpsql.errors import Error
from dpsql.privacy.noise import NoiseSource
from dpsql.query import interval_names, number_name
from tests.benchmarks.accuracy import data, measure
from tests.benchmarks.accuracy.recorded import names_of

LEAST, MOST, LEVEL = 0.94, 0.97, 0.95
SECONDS = 20.0
"""For the releases of one statement."""
ROWS = (20, 100, 1000, None)
EPSILONS = (Fraction(1, 10), Fraction(1))
QUERIES = (
    "COUNT(*)",
    "SUM(income)",
    "AVG(income)",
    "AVG(age)",
    "VARIANCE(age)",
    "STDDEV(age)",
    "COUNT(*), SUM(income), AVG(income), AVG(age)",
)
RANKED = {"MEDIAN(income)": ("income", 0.5), "MEDIAN(age)": ("age", 0.5), "QUANTILE_CONT(age, 0.9)": ("age", 0.9)}
"""Quantiles, of which the rank is known to within so many rows: by the column and the fraction."""


@dataclass(frozen=True, slots=True)
class Covered:
    """The share of `draws` intervals of a number that hold what it should be.

    narrower  that of intervals that are shorter by one at both ends, where numbers are whole: how often a width that is
              one less would do
    """

    data: str
    rows: int
    mechanism: str
    epsilon: Fraction
    query: str
    number: str
    share: float
    narrower: float | None
    draws: int

    @property
    def is_missed(self) -> bool:
        """Too rarely; or too often, though shorter ones would do."""
        if self.share < LEAST:
            return True
        return self.share > MOST and (self.narrower is None or self.narrower >= LEVEL)

    def __str__(self) -> str:
        where = "" if self.query == self.number else " beside others"
        return (
            f"{self.number}{where} of {self.rows} rows of {self.data}, {self.mechanism}, ε {float(self.epsilon):g}: "
            f"{self.share:.3f}"
        )


def coverage(
    draws: int,
    mechanisms: tuple[str, ...] = data.MECHANISMS,
    queries: tuple[str, ...] = QUERIES,
    noise: NoiseSource | None = None,
) -> Iterator[Covered]:
    """Of every number that has an interval."""
    with tempfile.TemporaryDirectory() as name:
        for each in data.DATA_SETS:
            for rows in ROWS:
                if each is data.PUMS and rows == 1000:  # all that there are
                    continue
                source = each.write(Path(name) / f"{each.name}{rows or ''}.csv", rows)
                for mechanism in mechanisms:
                    yield from _covered(each, source, mechanism, draws, queries, noise)


def _covered(
    each: data.DataSet,
    source: Path,
    mechanism: str,
    draws: int,
    queries: tuple[str, ...],
    noise: NoiseSource | None,
) -> Iterator[Covered]:
    (rows,) = data.exact(source, "COUNT(*)")
    with data.opened(each, source, mechanism) as session:
        for epsilon in EPSILONS:
            for query in queries:
                names = names_of(query)
                asked = (f"{name} AS n{i}, DP_INTERVAL_LOW(n{i}) AS a{i}" for i, name in enumerate(names))
                try:
                    fetched = measure.fetched(session, f"SELECT {', '.join(asked)} FROM people", epsilon)
                except Error:  # no such aggregate, or no interval
                    continue
                exact = data.exact(source, query)
                shares, narrower, made = _shares(fetched, exact, draws, noise)
                for name, share, less in zip(names, shares, narrower, strict=True):
                    yield Covered(each.name, int(rows), mechanism, epsilon, query, name, share, less, made)
            for query in RANKED if queries == QUERIES else ():
                share, made = _ranked(measure.fetched(session, f"SELECT {query} FROM people", epsilon), query, source,
                                      draws, noise)  # fmt: skip
                name = f"rank of {query}"  # for any data, so more often for most: none is too wide
                yield Covered(each.name, int(rows), mechanism, epsilon, name, name, share, 0.0, made)


def _shares(
    fetched: measure.Fetched, exact: tuple[float, ...], draws: int, noise: NoiseSource | None
) -> tuple[list[float], list[float | None], int]:
    held = np.zeros((2, len(exact)))
    whole = [False] * len(exact)
    made = 0
    for columns in fetched.released(draws, noise, SECONDS):
        made += len(columns[number_name(0)])
        for index, value in enumerate(exact):
            low, high = (columns[name] for name in interval_names(index))
            whole[index] = low.dtype == np.int64
            for less in (0, 1):
                held[less, index] += np.count_nonzero((low + less <= value) & (value <= high - less))
    shares = held / made
    return list(shares[0]), [float(s) if w else None for s, w in zip(shares[1], whole, strict=True)], made


def _ranked(
    fetched: measure.Fetched, query: str, source: Path, draws: int, noise: NoiseSource | None
) -> tuple[float, int]:
    """How often a quantile's rank is within what is said of it, and of how many releases."""
    column, fraction = RANKED[query]
    values = np.sort(data.column(source, column))
    rank = fetched.plan.rank_of(fetched.plan.numbers[0], LEVEL)
    assert rank is not None and rank.half_width is not None
    target, held, made = fraction * len(values), 0, 0
    for columns in fetched.released(draws, noise, SECONDS):
        answers = columns[number_name(0)]
        below, through = (np.searchsorted(values, answers, side) for side in ("left", "right"))
        held += np.count_nonzero(np.maximum(below - target, target - through) <= rank.half_width)
        made += len(answers)
    return held / made, made
