"""The black box: what an analyst sees through the DB-API tells neighbouring databases apart by no more than ε.

Everything is real: policy, Parquet files, DuckDB, ledger, `cursor.execute`. Only the bytes of the noise are seeded, by
the Session's constructor; the product has no other way to do that. `tests/blackbox.py` says how answers are judged.

The claim is tested at ε 1 and 2, where a fault needs the fewest samples; that scales follow ε is shown exactly
elsewhere. A wrong scale of a sum by 10 % would not be seen here: that is the part of record and replay. What is seen is
whatever happens in reality, planned or not. FAULTS are planted one at a time, to show that each would be found.

With --hypothesis-profile=nightly there are 20 times as many answers, of a new seed, which is printed.
"""

from __future__ import annotations

import dataclasses
import math
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
import pytest
from sqlglot import exp

from dpsql import columns, dbapi, plan, release, session
from dpsql.aggregates import aggregate
from dpsql.engines import open_engine
from dpsql.engines.duckdb import DuckDBTransaction
from dpsql.expressions.literals import func
from dpsql.ledger import Ledger
from dpsql.policy import Limit, Policy, load
from dpsql.privacy.mechanisms.truncated_geometric import KeySelection
from dpsql.privacy.noise import SystemNoise
from dpsql.query import number_name
from dpsql.rewrite import bound, inner
from dpsql.session import Session
from tests.blackbox import Sample, Samples, Verdict, ask, at_least, at_most, by_group, judge, whole
from tests.harness import examples
from tests.seeded import SeededBytes

pytestmark = pytest.mark.slow

CELLS = 160
"""Groups of one answer, each a sample: a statement of many groups costs little more than one of few."""
BLOCK = 4
"""Groups over which one unit's rows are scattered."""
MORE = examples(1_000).max_examples / 1_000
"""How many times the statements of CI are asked."""
NEW_SEED = secrets.randbits(32) if MORE > 1 else None

POLICY = f"""dpsql: 1
privacy: {{epsilon: 1, delta: 0.001}}
budget: {{epsilon: 1000000000, delta: 0.9}}
ledger: the.ledger
tables:
  people:
    source: people.parquet
    unit: row
    columns:
      k: {{type: integer, keys: {list(range(CELLS))}, nullable: true}}
      age: {{type: integer, bounds: [0, 100], nullable: true}}
      income: {{type: double, bounds: [-5000, 1000], nullable: true}}
      note: {{type: text, nullable: true}}
      rare: {{type: boolean, nullable: true}}
  visits:
    source: visits.parquet
    unit: {{column: uid, max_rows: 3}}
    columns:
      uid: {{type: integer}}
      k: {{type: integer, keys: {list(range(CELLS))}}}
      cost: {{type: integer, bounds: [0, 100]}}
  customers:
    source: customers.parquet
    unit: {{column: uid}}
    columns:
      uid: {{type: integer, unique: true}}
      cell: {{type: integer, keys: {list(range(CELLS))}}}
  notes:
    source: notes.parquet
    unit: {{column: uid, max_rows: 1}}
    columns:
      uid: {{type: integer}}
      word: {{type: integer, nullable: true}}
      x: {{type: integer, bounds: [0, 10]}}
"""

NO_PROCESS = -1
"""In a connection's key: its session is not one that connections share, so it isn't given back to them."""

# ---------------------------------------------------------------------------------------------- databases

PEOPLE = f"SELECT k, 40 AS age, 100::DOUBLE AS income, '7' AS note, FALSE AS rare FROM range({CELLS}) AS c(k), range(3)"
VISITS = f"SELECT 10 * k + i AS uid, k, 50 AS cost FROM range({CELLS}) AS c(k), range(3) AS r(i)"
CUSTOMERS = f"SELECT 10 * k + i AS uid, k AS cell FROM range({CELLS}) AS c(k), range(4) AS r(i)"
NOTES = "SELECT -1 AS uid, 900 AS word, 0 AS x"
TABLES = {"people": PEOPLE, "visits": VISITS, "customers": CUSTOMERS, "notes": NOTES}
"""The rows that both databases have: alike in every group."""


def victims(columns: str) -> str:
    """One row for each group, from expressions over its key k."""
    return f"SELECT {columns} FROM range({CELLS}) AS c(k)"


MANY_VISITS = f"SELECT 10000 + k AS uid, k, 1000000 AS cost FROM range({CELLS}) AS c(k), range(12)"
"""Of each group a unit with 12 rows in it, out of bounds; at most 3 count in full."""
SCATTERED = f"SELECT 10000 + k // {BLOCK} AS uid, k, 100 AS cost FROM range({CELLS}) AS c(k), range(3)"
"""Of each block of groups a unit with 3 rows in each of them."""


def words(units: int) -> str:
    """That many units for each of the words."""
    return f"SELECT 1000 * i + k AS uid, k AS word, 10 AS x FROM range({CELLS}) AS c(k), range({units}) AS r(i)"


# ---------------------------------------------------------------------------------------------- pairs

GROUPS = by_group([[k] for k in range(CELLS)])
BLOCKS = by_group([range(i, i + BLOCK) for i in range(0, CELLS, BLOCK)])


@dataclass(frozen=True)
class Pair:
    """A statement, and what the second database has more: rows for tables by name, of one unit for each sample."""

    sql: str
    more: dict[str, str]
    samples: Samples = GROUPS
    statements: int = 16
    """In CI, on each side."""
    epsilon: int = 1
    delta: float = 0.0
    base: dict[str, str] = dataclasses.field(default_factory=dict)
    mechanism: Literal["laplace", "auto"] = "laplace"


HIGH = {"people": victims("k, 1000 AS age, 1e300 AS income, '9' AS note, TRUE AS rare")}
LOW = {"people": victims("k, -5 AS age, -1e300 AS income, '-9' AS note, TRUE AS rare")}
NAN = {"people": victims("k, NULL AS age, 'NaN'::DOUBLE AS income, 'secret' AS note, NULL AS rare")}
NULL = {"people": victims("k, NULL AS age, NULL AS income, NULL AS note, TRUE AS rare")}
ONE = {"people": f"{HIGH['people']} WHERE k = 7"}
UNKNOWN = {"people": "SELECT 777 AS k, 40 AS age, 100::DOUBLE AS income, 'secret' AS note, TRUE AS rare"}
NOBODY = {"people": "SELECT NULL AS k, 40 AS age, 100::DOUBLE AS income, NULL AS note, TRUE AS rare"}
TOTALS = "SELECT uid, k, COUNT(*) AS n, SUM(cost) AS c FROM visits GROUP BY uid, k"
TWICE = "SELECT k, age FROM people UNION ALL SELECT k, age FROM people"
PARTNER = "EXISTS (SELECT 1 FROM visits WHERE visits.uid = customers.uid AND cost > 60)"

PAIRS = {
    "count": Pair("SELECT k, COUNT(*) FROM people GROUP BY k", HIGH),
    "count at ε 2": Pair("SELECT k, COUNT(*) FROM people GROUP BY k", HIGH, epsilon=2),
    "sum of a value above its bounds": Pair("SELECT k, SUM(income) FROM people GROUP BY k", HIGH),
    "sum of a value below its bounds": Pair("SELECT k, SUM(income) FROM people GROUP BY k", LOW),
    "three aggregates": Pair("SELECT k, COUNT(*), SUM(age), AVG(income) FROM people GROUP BY k", LOW),
    "sums in a cube": Pair("SELECT k, COUNT(*), SUM(age), SUM(income) FROM people GROUP BY k", HIGH, mechanism="auto"),
    "means and a filter in a cube": Pair(
        "SELECT k, COUNT(*) FILTER (WHERE rare), AVG(age), VARIANCE(income) FROM people GROUP BY k", LOW,
        mechanism="auto",
    ),
    "a unit with many rows in a cube": Pair(
        "SELECT k, COUNT(*), SUM(cost), VARIANCE(cost) FROM visits GROUP BY k", {"visits": MANY_VISITS},
        mechanism="auto",
    ),
    "an epsilon of its own": Pair(
        "SELECT k, COUNT(*, epsilon => 0.3), SUM(age, epsilon => 0.5), AVG(income) FROM people GROUP BY k", HIGH
    ),
    "average of an empty filter": Pair("SELECT k, AVG(age), SUM(income) FROM people WHERE rare GROUP BY k", HIGH),
    "NaN": Pair("SELECT k, SUM(income), COUNT(income), COUNT(*) FROM people GROUP BY k", NAN),
    "NULL alone": Pair("SELECT k, SUM(income), COUNT(age) FROM people WHERE rare GROUP BY k", NULL),
    "text that is no number": Pair("SELECT k, COUNT(*) FROM people WHERE CAST(note AS INTEGER) > 5 GROUP BY k", NAN),
    "empty groups": Pair("SELECT k, COUNT(*) FROM people WHERE rare GROUP BY k", HIGH),
    "HAVING": Pair("SELECT k, COUNT(*) AS n FROM people GROUP BY k HAVING n > 3", HIGH),
    "ORDER BY and LIMIT": Pair(
        "SELECT k, COUNT(*) AS n FROM people GROUP BY k ORDER BY n DESC, k LIMIT 3", ONE, whole, 200, 2
    ),
    "a key that is not declared": Pair("SELECT k, COUNT(*) FROM people GROUP BY k", UNKNOWN, statements=10),
    "a key that is NULL": Pair("SELECT k, COUNT(*) FROM people GROUP BY k", NOBODY, statements=10),
    "one answer of an empty filter": Pair(
        "SELECT AVG(income), VARIANCE(age), SUM(age) FROM people WHERE note = 'secret'", UNKNOWN, whole, 200, 2
    ),
    "rows twice": Pair(f"SELECT k, COUNT(*), SUM(age) FROM ({TWICE}) AS q GROUP BY k", HIGH),
    "a unit with many rows": Pair(
        "SELECT k, COUNT(*), SUM(cost) FROM visits GROUP BY k", {"visits": MANY_VISITS}
    ),
    "a unit in many groups": Pair(
        "SELECT k, COUNT(*) FROM visits GROUP BY k", {"visits": SCATTERED}, BLOCKS, 50
    ),
    "units counted": Pair("SELECT k, COUNT(DISTINCT uid) FROM visits GROUP BY k", {"visits": MANY_VISITS}),
    "totals of units": Pair(
        f"SELECT k, COUNT(*), SUM(LEAST(n, 9)) FROM ({TOTALS}) AS q WHERE n > 5 GROUP BY k", {"visits": MANY_VISITS}
    ),
    "join": Pair(
        "SELECT cell, COUNT(*), SUM(cost) FROM customers JOIN visits USING (uid) GROUP BY cell",
        {"visits": MANY_VISITS, "customers": victims("10000 + k AS uid, k AS cell")},
    ),
    "EXISTS": Pair(
        f"SELECT cell, COUNT(*) FROM customers WHERE {PARTNER} GROUP BY cell",
        {"visits": MANY_VISITS, "customers": victims("10000 + k AS uid, k AS cell")},
    ),
    "private keys of nobody else": Pair(
        "SELECT word, COUNT(*) FROM notes GROUP BY word", {"notes": words(1)}, delta=0.001
    ),
    "private keys near the threshold": Pair(
        "SELECT word, COUNT(*), SUM(x) FROM notes GROUP BY word",
        {"notes": victims("50000 + k AS uid, k AS word, 10 AS x")},
        epsilon=2, delta=0.001, base={"notes": words(7)},
    ),
}  # fmt: skip


@cache
def _place() -> tuple[Path, Policy, dict[str, str], duckdb.DuckDBPyConnection]:
    """A folder for the data of one database at a time, its policy, which rows are in each table's file now, and what
    writes them.
    """
    folder = Path(tempfile.mkdtemp(prefix="dpsql-test-"))
    for name in TABLES:
        (folder / f"{name}.parquet").touch()
    (folder / "policy.yaml").write_text(POLICY)
    return folder, load(folder / "policy.yaml"), {}, duckdb.connect(config={"threads": 1})


@contextmanager
def connected(folder: Path, pair: Pair, with_victims: bool, seed: int) -> Iterator[dbapi.Connection]:
    """A connection to one of a pair's databases, with a ledger of its own. One at a time: they share their files."""
    folder.mkdir()
    place, policy, written, maker = _place()
    for name, rows in TABLES.items():
        parts = [rows, *(more[name] for more in (pair.base, pair.more if with_victims else {}) if name in more)]
        query = " UNION ALL BY NAME ".join(parts)
        if written.get(name) != query:
            maker.execute(f"COPY ({query}) TO '{place}/{name}.parquet'")
            written[name] = query
    limit = Limit(epsilon=Fraction(10**12), delta=Fraction(10**6))  # more than a policy may grant
    budget, privacy = policy.budget, policy.privacy
    policy = dataclasses.replace(
        policy,
        ledger=folder / "the.ledger",
        budget=dataclasses.replace(budget, everyone=limit),
        privacy=dataclasses.replace(privacy, mechanism=pair.mechanism),
    )
    noise = SystemNoise(SeededBytes(seed))
    opened = Session(policy, open_engine(policy), Ledger.create(policy.ledger), noise)
    try:
        yield dbapi.Connection(opened, ("", "", NO_PROCESS), "eve", None)
    finally:
        opened.close()


def samples(folder: Path, pair: Pair, with_victims: bool, seed: int, statements: int) -> list[Sample]:
    found = []
    with connected(folder, pair, with_victims, seed) as connection:
        cursor = connection.cursor()
        for _ in range(statements):
            found += ask(cursor, pair.sql, pair.samples, pair.epsilon)
    return found


def verdict(folder: Path, pair: Pair, seed: int, statements: int) -> Verdict:
    one = samples(folder / "without", pair, False, 2 * seed, statements)
    other = samples(folder / "with", pair, True, 2 * seed + 1, statements)
    return judge(one, other, pair.delta)


# ---------------------------------------------------------------------------------------------- the statistic


@pytest.mark.parametrize(("hits", "of"), [(0, 9), (1, 9), (5, 9), (8, 9), (9, 9), (3, 60), (59, 60)])
def test_clopper_pearson_is_exact(hits: int, of: int) -> None:
    """At its end of the interval the tail of the binomial law, summed in fractions, is α."""
    for alpha in (1e-6 / 12, 0.05):
        low, high = at_least(hits, of, alpha), at_most(hits, of, alpha)
        assert low <= hits / of <= high
        for end, tail in ((low, range(hits, of + 1)), (high, range(hits + 1))):
            p = Fraction(end)
            exact = sum(math.comb(of, k) * p**k * (1 - p) ** (of - k) for k in tail)
            assert float(exact) == pytest.approx(alpha, rel=1e-6) if 0 < p < 1 else exact == 1


def test_clopper_pearson_of_many() -> None:
    """All hits or none have closed forms; and the interval shrinks to the share."""
    assert at_least(10_000, 10_000, 1e-6) == pytest.approx(1e-6 ** (1 / 10_000), rel=1e-9)
    assert at_most(0, 10_000, 1e-6) == pytest.approx(1 - 1e-6 ** (1 / 10_000), rel=1e-9)
    assert at_least(300_000, 1_000_000, 1e-6) == pytest.approx(0.3, abs=0.003)


def _answers(scale: float, centre: int, seed: int, shape: str = "") -> list[Sample]:
    draws = np.random.default_rng(seed).laplace(centre, scale, 20_000)
    return [Sample(shape, (round(x),)) for x in draws.tolist()]


@pytest.mark.parametrize(("factor", "wrong"), [(1.0, False), (1 / 1.5, True), (0.5, True)])
def test_a_known_law_is_judged_rightly(factor: float, wrong: bool) -> None:
    found = judge(_answers(factor, 0, 1), _answers(factor, 1, 2))
    assert found.exceeds(1) is wrong
    assert found.loss > 0.7  # of 1: a verdict that always acquits would be no test


def test_answers_alike_prove_nothing_and_answers_apart_prove_much() -> None:
    assert judge(_answers(1, 0, 1), _answers(1, 0, 2)).loss < 0.05
    assert judge(_answers(1, 0, 1), _answers(1, 0, 2, shape="another")).loss > 5


def test_delta_is_taken_off() -> None:
    """What happens with probability δ on one database alone is no proof; what happens more often is."""
    usual, rare = Sample("usual"), Sample("rare")
    seldom = [rare if i % 200 < 2 else usual for i in range(20_000)]  # in both halves with probability 0.01
    assert judge([usual] * 20_000, seldom, delta=0).exceeds(1)
    assert not judge([usual] * 20_000, seldom, delta=0.01).exceeds(1)


# ---------------------------------------------------------------------------------------------- the product


@pytest.mark.parametrize("name", PAIRS)
def test_no_pair_is_told_apart(tmp_path: Path, name: str) -> None:
    pair = PAIRS[name]
    seed = list(PAIRS).index(name) + 1 if NEW_SEED is None else NEW_SEED
    found = verdict(tmp_path, pair, seed, round(pair.statements * MORE))
    print(f"{name}: loss at least {found.loss:.3f} of {pair.epsilon} by {found.samples} samples, seed {seed}")
    assert not found.exceeds(pair.epsilon), found


# ---------------------------------------------------------------------------------------------- planted faults

Fault = Callable[[pytest.MonkeyPatch], None]
FAULTS: dict[str, tuple[str, Fault]] = {}
"""What a system might do wrong, and the pair that shows it."""


def shown_by(pair: str) -> Callable[[Fault], Fault]:
    def add(fault: Fault) -> Fault:
        FAULTS[fault.__name__.replace("_", " ")] = (pair, fault)
        return fault

    return add


def _noise(patch: pytest.MonkeyPatch, factor: Fraction) -> None:
    real = SystemNoise.laplace
    patch.setattr(SystemNoise, "laplace", lambda self, scale, size: real(self, scale * factor, size))


def _released(patch: pytest.MonkeyPatch, change: Callable[[dict[str, Any], Sequence[int], Any], None]) -> None:
    """Change the columns of a release, given the exact counts of its cells and the keys that came back."""
    noisy, shown = release.release, columns.released
    exact_rows: list[Any] = []

    def released(exact: Any, *rest: Any) -> release.NoisyRows:
        exact_rows[:] = exact
        return noisy(exact, *rest)

    def changed(*arguments: Any, **options: Any) -> columns.Released:
        found = shown(*arguments, **options)
        keys = exact_rows[0].keys[0].values.astype(int).tolist()
        counts = dict(zip(keys, exact_rows[0].sums[0].tolist(), strict=True))
        change(found.columns, [counts.get(k, 0) for k in range(CELLS)], keys)
        return found

    patch.setattr(session, "release", released)
    patch.setattr(session, "released", changed)


@shown_by("count")
def epsilon_is_doubled(patch: pytest.MonkeyPatch) -> None:
    _noise(patch, Fraction(1, 2))


@shown_by("sums in a cube")
def each_sum_of_a_cube_gets_as_much_epsilon_again(patch: pytest.MonkeyPatch) -> None:
    real = SystemNoise.cube
    patch.setattr(SystemNoise, "cube", lambda self, scale, d, size: real(self, scale / d, d, size))


@shown_by("a unit with many rows")
def noise_for_one_row_where_a_unit_has_three(patch: pytest.MonkeyPatch) -> None:
    _noise(patch, Fraction(1, 3))


@shown_by("a unit with many rows")
def rows_of_a_unit_are_not_capped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(bound, "func", lambda name, *args: args[-1] if name == "greatest" else func(name, *args))


@shown_by("empty groups")
def empty_groups_get_no_noise(patch: pytest.MonkeyPatch) -> None:
    real = release._add
    patch.setattr(release, "_add", lambda a, b: np.where(a == 0, 0, real(a, b)))


@shown_by("three aggregates")
def noise_is_kept_and_used_again(patch: pytest.MonkeyPatch) -> None:
    real, kept = SystemNoise.laplace, {}

    def again(self: SystemNoise, scale: Fraction, size: int) -> Any:
        return kept.setdefault((scale, size), real(self, scale, size))

    patch.setattr(SystemNoise, "laplace", again)


@shown_by("sum of a value below its bounds")
def the_upper_bound_alone_is_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(aggregate.Grid, "magnitude", property(lambda grid: abs(grid.high_steps)))
    patch.setattr(plan.BasisPlan, "moved", property(lambda self: self.epsilon))


@shown_by("average of an empty filter")
def values_are_clipped_to_wider_bounds(patch: pytest.MonkeyPatch) -> None:
    real = inner.summand

    def wider(value: Any, grid: aggregate.Grid, *rest: Any) -> Any:
        return real(value, dataclasses.replace(grid, cells=grid.cells * 8), *rest)

    patch.setattr(inner, "summand", wider)


@shown_by("empty groups")
def a_number_of_no_rows_is_NULL(patch: pytest.MonkeyPatch) -> None:
    def masked(shown: dict[str, Any], counts: Sequence[int], keys: Any) -> None:
        shown[number_name(0)] = np.ma.masked_array(shown[number_name(0)], mask=[not count for count in counts])

    _released(patch, masked)


@shown_by("HAVING")
def groups_are_filtered_by_exact_counts(patch: pytest.MonkeyPatch) -> None:
    def kept(shown: dict[str, Any], counts: Sequence[int], keys: Any) -> None:
        for name in shown:
            shown[name] = shown[name][np.array(counts) > 3]

    _released(patch, kept)


@shown_by("a key that is not declared")
def keys_are_those_of_the_data(patch: pytest.MonkeyPatch) -> None:
    def all_of_them(shown: dict[str, Any], counts: Sequence[int], keys: Any) -> None:
        for key in set(keys) - set(range(CELLS)):
            for name, column in shown.items():
                shown[name] = np.append(column, key)

    _released(patch, all_of_them)
    patch.setattr(inner, "_declared", lambda key, code: exp.true())


@shown_by("text that is no number")
def a_cast_may_fail(patch: pytest.MonkeyPatch) -> None:
    real = DuckDBTransaction.fetch
    patch.setattr(
        DuckDBTransaction, "fetch", lambda self, sql, *rest: real(self, sql.replace("TRY_CAST(", "CAST("), *rest)
    )


@shown_by("private keys of nobody else")
def private_keys_have_no_threshold(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KeySelection, "threshold", property(lambda selection: -selection.bound))


@shown_by("private keys near the threshold")
def private_keys_are_selected_by_exact_counts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SystemNoise, "truncated", lambda self, scale, bound, size: np.zeros(size, dtype=np.int64))


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pair, plant = FAULTS[name]
    plant(monkeypatch)
    found = verdict(tmp_path, PAIRS[pair], 1, 16)
    print(f"{name}: loss at least {found.loss:.3f} of {PAIRS[pair].epsilon} by {found.event}")
    assert found.exceeds(PAIRS[pair].epsilon), found
