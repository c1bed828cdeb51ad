"""What the proofs stand on: a session over rows made in the test, with a noise source that records.

Nothing here reads a file of data: rows are SQL literals, put into a DuckDB table of chosen physical types, so that
they may be anything that such a table can hold (NaN, infinities, dates beyond year 9999).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
from hypothesis import settings
from sqlglot import exp

from dpsql.engines import PublicTable
from dpsql.engines.duckdb import DuckDBTransaction
from dpsql.engines.duckdb_sources import public_columns, public_tables
from dpsql.engines.exact_rows import ExactRows
from dpsql.errors import EngineError
from dpsql.plan import BasisPlan, Plan
from dpsql.policy import Column, Key, Policy, Table, load
from dpsql.result import Result
from dpsql.session import Session

Row = Sequence[str]
"""One row as SQL literals."""


# ---------------------------------------------------------------------------------------------- policies


def make_policy(tables: str, *, dialect: str = "duckdb", counts: str = "raw", extra: str = "") -> Policy:
    """A policy from the YAML text of its tables; their sources are empty files."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-test-"))
    for name in ("t.parquet", "t.csv", "cities.csv"):
        (directory / name).write_bytes(b"")
    text = (
        f"dpsql: 1\nengine: duckdb\ndialect: {dialect}\n"
        f"privacy: {{epsilon: 1, min_epsilon: 0.000001, counts: {counts}}}\n"
        f"budget: {{epsilon: 1000000}}\nledger: ledger\n{extra}tables:\n{tables}"
    )
    path = directory / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path)


# ---------------------------------------------------------------------------------------------- engines


class MemoryEngine:
    """The engine protocol over one in-memory DuckDB whose rows the test sets.

    `public` gives each public table by name as a query; `unique` the sets of columns that the engine guarantees to be
    unique, by private table. Nothing checks that they are.
    """

    version = "1"

    def __init__(
        self,
        policy: Policy,
        types: Mapping[str, Mapping[str, str]],
        public: Mapping[str, str] | None = None,
        unique: Mapping[str, Sequence[frozenset[str]]] | None = None,
    ) -> None:
        self.policy = policy
        self.connection = duckdb.connect(config={"python_enable_replacements": "false"})
        self.connection.execute("SET threads = 1")
        self.connection.execute("SET TimeZone = 'UTC'")
        self.types = {name: dict(columns) for name, columns in types.items()}
        self.unique = dict(unique or {})
        self.executed: list[str] = []
        self.public: dict[str, PublicTable] = {}
        for name, query in (public or {}).items():
            self._make_public(name, query)
        for name in types:
            listed = ", ".join(f'"{column}" {type_}' for column, type_ in types[name].items())
            self.connection.execute(f'CREATE TABLE "{name}" ({listed})')

    def _make_public(self, name: str, query: str) -> None:
        file = Path(tempfile.mkdtemp(prefix="dpsql-test-")) / "public.duckdb"
        self.connection.execute(f"ATTACH '{file}' AS public_copy")
        self.connection.execute(f'CREATE TABLE public_copy.main."{name}" AS {query}')
        self.connection.execute(f'CREATE TABLE memory.main."{name}" AS FROM public_copy.main."{name}"')
        described = self.connection.execute(f'DESCRIBE memory.main."{name}"').fetchall()
        self.connection.execute("DETACH public_copy")
        columns = {str(row[0]): str(row[1]) for row in described}
        self.public[name] = PublicTable(name, tuple(columns.items()), 0, file)
        self.types[name.lower()] = {column.lower(): type_ for column, type_ in columns.items()}

    def set_rows(self, table: str, rows: Sequence[Row]) -> None:
        self.connection.execute(f'DELETE FROM "{table}"')
        self.add_rows(table, rows)

    def add_rows(self, table: str, rows: Sequence[Row]) -> None:
        if rows:
            values = ", ".join("(" + ", ".join(row) + ")" for row in rows)
            self.connection.execute(f'INSERT INTO "{table}" VALUES {values}')

    def plain(self, sql: str) -> list[tuple[Any, ...]]:
        """What DuckDB itself answers."""
        return self.connection.execute(sql).fetchall()

    def relation(self, table: Table) -> exp.Table:
        return exp.table_(table.name, db="main", catalog="memory", quoted=True)

    def physical_types(self, table: Table) -> Mapping[str, str]:
        return self.types[table.name.lower()]

    def unique_columns(self, table: Table) -> tuple[frozenset[str], ...]:
        return table.unique if table.public else tuple(self.unique.get(table.name.lower(), ()))

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        inner = DuckDBTransaction(self.connection, self.version)
        executed, connection = self.executed, self.connection

        class Recorded:
            version = self.version

            def fetch(self, sql: str, *sizes: Any) -> ExactRows:
                executed.append(sql)
                executed.extend(repr(constants) for constants in sizes[3:] if constants)
                try:
                    return inner.fetch(sql, *sizes)
                except EngineError:
                    connection.execute(
                        sql, *(s for s in sizes[3:] if s)
                    )  # shows the engine's own words, and the test fails
                    raise

        yield Recorded()

    def public_table(self, table: Table) -> PublicTable:
        return self.public[table.name]

    def public_columns(self, table: Table) -> Mapping[str, Column]:
        return public_columns.read(self.connection, self.relation(table).sql("duckdb"), table)

    def distinct_public(self, table: Table, column: str) -> tuple[Key, ...]:
        return public_tables.distinct(self.connection, self.policy, table, self.public[table.name], column)

    def report(self) -> tuple[Any, ...]:
        return ()

    def close(self) -> None:
        self.connection.close()


class DataTouched(AssertionError):
    """A statement got as far as the data."""


class ForbiddenEngine(MemoryEngine):
    """An engine whose data nobody may touch: what is refused is refused before any access."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        raise DataTouched
        yield  # pragma: no cover


class FreeLedger:
    """A ledger without a limit that remembers what was charged."""

    def __init__(self) -> None:
        self.charges: list[Fraction] = []

    def charge(self, loss: Any, **_: object) -> Any:
        self.charges.append(loss.epsilon)
        return SimpleNamespace(loss=loss, remaining=self.remaining())

    def remaining(self, *_: object) -> Any:
        return SimpleNamespace(epsilon=None, delta=None)

    def close(self) -> None:
        pass


# ---------------------------------------------------------------------------------------------- noise


class ZeroNoise:
    """No noise at all. It exists in the tests and nowhere else."""

    def laplace(self, scale: Fraction, size: int) -> np.ndarray:
        assert scale > 0
        return np.zeros(size, dtype=np.int64)


@dataclass(slots=True)
class Draw:
    """One call of the mechanism: its parameters and the exact integers that met the noise."""

    scale: Fraction
    size: int
    exact: list[int] = field(default_factory=list)


class _Probe(np.ndarray):
    """An array of noise that sees what it is added to, and answers with a sum that doesn't depend on it."""

    draw: Draw | None = None
    frozen: np.ndarray | None = None

    def __array_finalize__(self, source: Any) -> None:
        self.draw = getattr(source, "draw", None)
        self.frozen = getattr(source, "frozen", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, np.ndarray) else x for x in inputs]
        if ufunc is np.add and method == "__call__":
            draw, frozen = self.draw, self.frozen
            assert draw is not None and frozen is not None
            assert not draw.exact, "one draw was used for two sums"
            other = next(p for p, x in zip(plain, inputs, strict=True) if not isinstance(x, _Probe))
            draw.exact = [int(v) for v in other]
            assert len(draw.exact) == draw.size
            return frozen
        return getattr(ufunc, method)(*plain, **options)


class RecordingNoise:
    """Records each draw, and freezes the noisy sums: they are the same whatever the exact ones are.

    So everything that happens after the noise must come out byte for byte the same on neighbouring databases.
    """

    def __init__(self) -> None:
        self.draws: list[Draw] = []

    def laplace(self, scale: Fraction, size: int) -> np.ndarray:
        draw = Draw(scale, size)
        self.draws.append(draw)
        probe = np.zeros(size, dtype=np.int64).view(_Probe)
        probe.draw = draw
        probe.frozen = (np.arange(size, dtype=np.int64) * 7919 + 104_729 * len(self.draws)) % 97 - 11
        return probe


# ---------------------------------------------------------------------------------------------- sessions


class OpenSession(Session):
    """A session whose faults come out as they are, not as InternalError."""

    def execute(self, sql: str, parameters: Any = (), *, epsilon: object = None, analyst: str) -> Result:
        return self._execute(sql, parameters, epsilon, analyst)


@dataclass(slots=True, repr=False)
class Bench:
    """A session over one table, with all that a test wants to look at."""

    policy: Policy
    engine: MemoryEngine
    session: Session
    ledger: FreeLedger
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
    ledger = FreeLedger()
    return Bench(policy, made, OpenSession(policy, made, ledger, noise), ledger, noise)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that one execution shows or does."""

    sql: tuple[str, ...]
    draws: tuple[Draw, ...]
    answer: str


def record(made: Bench, sql: str, epsilon: object = 1) -> Run:
    """Execute a statement with the recording noise."""
    made.engine.executed.clear()
    made.noise.draws.clear()
    result = made.ask(sql, epsilon)
    return Run(tuple(made.engine.executed), tuple(made.noise.draws), repr((result.columns, result.rows)))


def bases_of(plan: Plan) -> list[BasisPlan]:
    """The bases in the order in which they are released."""
    return [release.bases[i] for release in plan.releases for bases in release.passes for i in bases]


def realised_loss(plan: Plan, one: Run, other: Run) -> Fraction:
    """The privacy loss between two runs: Σ |difference of the exact sums| / scale. Also checks basis by basis."""
    draws = iter(zip(one.draws, other.draws, strict=True))
    total = Fraction(0)
    for basis in bases_of(plan):
        moved = Fraction(0)
        for part in basis.parts:
            a, b = next(draws)
            assert (a.scale, a.size) == (b.scale, b.size) == (basis.scale(part), a.size)
            moved += sum(abs(x - y) for x, y in zip(a.exact, b.exact, strict=True)) / a.scale
        assert moved <= basis.epsilon, f"one unit moved a basis by {float(moved / basis.epsilon)} of its bound"
        total += moved
    assert next(draws, None) is None
    return total


def examples(number: int) -> settings:
    """So many examples in CI; as many as the profile says under another one."""
    profile = settings.default
    return settings(max_examples=number if profile is None or profile.derandomize else profile.max_examples)
