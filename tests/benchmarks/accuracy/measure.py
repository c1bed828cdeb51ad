"""Errors, measured: of releases of exact sums that are fetched once, and of statements through a session."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from sqlglot import exp

from dpsql.columns import released
from dpsql.engines.exact_rows import ExactRows, KeyColumn
from dpsql.expressions import Shown
from dpsql.expressions.literals import INTEGER
from dpsql.plan import MAX_DRAWS, ReleasePlan, draws_of_group
from dpsql.policy import Kind
from dpsql.privacy.noise import NoiseSource, SystemNoise
from dpsql.query import Key, KeyDomain, number_name
from dpsql.release import release
from dpsql.rewrite.inner import Inner
from dpsql.session import Session
from dpsql.valueset import ValueSet

AT_ONCE = 1_000_000
"""Rows of copied exact sums that are released together."""
SECONDS = 120
"""For the releases of one statement."""
Columns = dict[str, np.ndarray]
Numbers = np.ndarray
"""Of answers, one row each."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The root of a mean squared error, and its standard error."""

    error: float
    deviation: float
    draws: int

    def __str__(self) -> str:
        return shown(self.error)


def shown(number: float, digits: int = 3) -> str:
    """So many digits."""
    rounded = float(f"{number:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:.{digits}g}"


def measured(values: Sequence[float] | np.ndarray, exact: float) -> Measured:
    """The error of numbers that should be `exact`."""
    squares = (np.asarray(values, dtype=np.float64) - exact) ** 2
    error = math.sqrt(squares.mean())
    deviation = float(squares.std(ddof=1)) / (2 * error * math.sqrt(squares.size)) if error else 0.0
    return Measured(error, deviation, squares.size)


@dataclass(frozen=True, slots=True)
class Fetched:
    """One release of a statement: its plan, and the exact sums that the engine gave for it, once."""

    plan: ReleasePlan
    inner: tuple[Inner, ...]
    rows: tuple[ExactRows, ...]

    @property
    def at_once(self) -> int:
        """How many copies are released together: a release may not choose in more groups than so many."""
        return min(AT_ONCE // sum(map(len, self.rows)), MAX_DRAWS // max(1, draws_of_group(self.plan.bases)))

    def released(self, copies: int, noise: NoiseSource | None = None, seconds: float = SECONDS) -> Iterator[Columns]:
        """So many releases of the very same exact sums, each with noise of its own, some in each piece; fewer where
        they take longer.

        They are made as one release of so many groups that all have these sums: a release draws the noise of each
        group anew, of a law that groups don't change.
        """
        noise = SystemNoise() if noise is None else noise
        step = min(copies, self.at_once)
        end = time.monotonic() + seconds
        for start in range(0, copies, step):
            if time.monotonic() > end:
                return
            number = min(step, copies - start)
            plan = _copied(self.plan, number)
            rows = tuple(_repeated(each, number) for each in self.rows)
            yield released(release(rows, plan, self.inner, noise), plan, counts="raw").columns

    def numbers(self, copies: int, noise: NoiseSource | None = None) -> Numbers:
        """The numbers of so many releases, one row each."""
        names = [number_name(index) for index in range(len(self.plan.numbers))]
        pieces = (np.stack([columns[name] for name in names], axis=1) for columns in self.released(copies, noise))
        return np.concatenate([piece.astype(np.float64) for piece in pieces])


def fetched(session: Session, sql: str, epsilon: Fraction) -> Fetched:
    """The only release of a statement, read once. Raises dpsql.Error where it is refused."""
    compiled = session.plan(sql, epsilon=epsilon)
    (plan,), (inner,) = compiled.plan.releases, compiled.inner
    with session.engine.transaction() as transaction:
        rows = tuple(transaction.fetch(q.sql, q.keys, q.sums, q.counts, {}) for q in inner)
    return Fetched(plan, inner, rows)


def _copied(plan: ReleasePlan, copies: int) -> ReleasePlan:
    """The same release of so many groups, by the number of a copy."""
    domain = KeyDomain(Kind.INTEGER, None, first=0, count=copies)
    column = exp.column("copy")
    key = Key(Shown(column), column, (), domain, ValueSet(INTEGER), "copies")
    return replace(plan, query=replace(plan.query, keys=(key, *plan.query.keys)))


def _repeated(rows: ExactRows, copies: int) -> ExactRows:
    number = KeyColumn(np.repeat(np.arange(copies, dtype=np.int64), len(rows)))
    keys = (
        KeyColumn(np.tile(k.values, copies), None if k.null is None else np.tile(k.null, copies)) for k in rows.keys
    )
    return ExactRows((number, *keys), tuple(np.tile(column, copies) for column in rows.sums))


def asked(session: Session, sql: str, epsilon: Fraction, statements: int) -> Numbers:
    """The numbers of so many answers to a statement, one row each."""
    answers = (session.execute(sql, epsilon=epsilon, analyst="benchmark").rows[0] for _ in range(statements))
    return np.array([[float(value) for value in row] for row in answers])
