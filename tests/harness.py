"""What the proofs stand on: a session over rows made in the test, with a noise source that records.

Nothing here reads a file of data: rows are SQL literals, put into a DuckDB table of chosen physical types, so that
they may be anything that such a table can hold (NaN, infinities, dates beyond year 9999).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from hypothesis import settings

from dpsql.audit.laboratory import Unlimited
from dpsql.engines import PublicTable
from dpsql.engines.exact_rows import ExactRows
from dpsql.engines.twin import Row, TwinEngine
from dpsql.errors import EngineError
from dpsql.policy import Policy, load
from dpsql.privacy.mechanisms.exponential import Cuts
from dpsql.result import Intervals, Result
from dpsql.session import Session, _level

# ---------------------------------------------------------------------------------------------- policies


def make_policy(
    tables: str, *, dialect: str = "duckdb", counts: str = "raw", privacy: str = "", extra: str = ""
) -> Policy:
    """A policy from the YAML text of its tables, and what else its `privacy` says; their sources are empty files."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-test-"))
    for name in ("t.parquet", "t.csv", "cities.csv"):
        (directory / name).write_bytes(b"")
    text = (
        f"dpsql: 1\nengine: duckdb\ndialect: {dialect}\n"
        f"privacy: {{epsilon: 1, min_epsilon: 0.000001, counts: {counts}{privacy}}}\n"
        f"budget: {{epsilon: 1000000}}\nledger: ledger\n{extra}tables:\n{tables}"
    )
    path = directory / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path)


# ---------------------------------------------------------------------------------------------- engines


class MemoryEngine(TwinEngine):
    """A twin whose public tables are given by name as queries, and whose engine's own words show where it fails."""

    def __init__(
        self,
        policy: Policy,
        types: Mapping[str, Mapping[str, str]],
        public: Mapping[str, str] | None = None,
        unique: Mapping[str, Sequence[frozenset[str]]] | None = None,
    ) -> None:
        super().__init__(policy, types, [_public_table(*table) for table in (public or {}).items()], unique)

    def set_rows(self, table: str, rows: Sequence[Row]) -> None:
        self.connection.execute(f'DELETE FROM "{table}"')
        self.insert(table, rows)

    def plain(self, sql: str) -> list[tuple[Any, ...]]:
        """What DuckDB itself answers."""
        return self.connection.execute(sql).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        with super().transaction() as inner:
            connection = self.connection

            class Telling:
                version = self.version

                def fetch(self, sql: str, *sizes: Any) -> ExactRows:
                    try:
                        return inner.fetch(sql, *sizes)
                    except EngineError:
                        connection.execute(sql, *(s for s in sizes[3:] if s))
                        raise

            yield Telling()


@cache
def _public_table(name: str, query: str) -> PublicTable:
    """The table in a file, which engines only read."""
    file = Path(tempfile.mkdtemp(prefix="dpsql-test-")) / "public.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(f'CREATE TABLE "{name}" AS {query}')
        described = connection.execute(f'DESCRIBE "{name}"').fetchall()
    return PublicTable(name, tuple((str(row[0]), str(row[1])) for row in described), 0, file)


class DataTouched(AssertionError):
    """A statement got as far as the data."""


class ForbiddenEngine(MemoryEngine):
    """An engine whose data nobody may touch: what is refused is refused before any access."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        raise DataTouched
        yield  # pragma: no cover


# ---------------------------------------------------------------------------------------------- noise


class ZeroNoise:
    """No noise at all. It exists in the tests and nowhere else."""

    def laplace(self, scale: Fraction, size: int) -> np.ndarray:
        assert scale > 0
        return np.zeros(size, dtype=np.int64)

    def cube(self, scale: Fraction, dimensions: int, size: int) -> list[np.ndarray]:
        return [self.laplace(scale, size) for _ in range(dimensions)]

    def truncated(self, scale: Fraction, bound: int, size: int) -> np.ndarray:
        assert bound > 0
        return self.laplace(scale, size)

    def geometric(self, scale: Fraction, size: int) -> np.ndarray:
        return self.laplace(scale, size)

    def below(self, limits: np.ndarray) -> np.ndarray:
        return np.zeros_like(limits)

    def cut(self, cuts: Cuts, scale: Fraction) -> tuple[int, int]:
        """The nearest to the rank of the best."""
        assert scale > 0
        cell = int(np.lexsort((replace(cuts, slack=0).reach()[0], cuts.reach()[0]))[0])
        places = range(max(1, int(cuts.rows[cell])))
        nearest = min(max(-int(cuts.first[cell]) // cuts.step, 0), places[-1])
        return cell, min(places[nearest : nearest + 2], key=lambda below: abs(cuts.beyond(cell, below)))


# ---------------------------------------------------------------------------------------------- sessions


class OpenSession(Session):
    """A session whose faults come out as they are, not as InternalError."""

    def execute(
        self, sql: str, parameters: Any = (), *, epsilon: object = None, level: object = None, analyst: str
    ) -> Result:
        return self._answer(self._compile(sql, parameters, self.epsilon(epsilon), _level(level), analyst), analyst)


@dataclass(slots=True, repr=False)
class Bench:
    """A session over one table, with all that a test wants to look at."""

    policy: Policy
    engine: MemoryEngine
    session: Session
    ledger: Unlimited
    noise: Any

    def ask(self, sql: str, epsilon: object = 1, parameters: Any = ()) -> Result:
        return self.session.execute(sql, parameters, epsilon=epsilon, analyst="anyone")


def bench(
    policy: Policy,
    types: Mapping[str, Mapping[str, str]],
    noise: Any,
    engine: type = MemoryEngine,
    public: Mapping[str, str] | None = None,
    unique: Mapping[str, Sequence[frozenset[str]]] | None = None,
) -> Bench:
    made = engine(policy, types, public, unique)
    ledger = Unlimited()
    return Bench(policy, made, OpenSession(policy, made, ledger, noise), ledger, noise)  # type: ignore[arg-type]


_PROFILE = settings.default
NIGHTLY = _PROFILE is not None and not _PROFILE.derandomize
"""Whether tests try what is new in every run, and more of it than CI has time for."""


def examples(number: int) -> settings:
    """So many examples in CI; as many as the profile says under another one."""
    return settings(max_examples=_PROFILE.max_examples if NIGHTLY and _PROFILE else number)


def intervals(values: Sequence[float], half_widths: Sequence[float]) -> Intervals:
    """Intervals of these values whose longer sides are these."""
    found, widths = np.array(values, dtype=np.float64), np.array(half_widths, dtype=np.float64)
    return Intervals(lambda: (found - widths, found + widths / 2), lambda: found)
