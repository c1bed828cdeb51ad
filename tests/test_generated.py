"""Hundreds of generated statements answer as DuckDB does, over data that is not the happy path.

The statements are chosen by what they cover: `features.required()` finds by scan all that the product accepts, and
each of it is used in 6 compared statements at least, at night in 10. Without noise (ε = 1e9) every number is compared
with plain DuckDB's. A statement over private rows is one that test_differential's docstring says how to compare; one
over noisy numbers has exact numbers and groups that occur, so DuckDB is asked the very same text.

    python -m tests.test_generated

prints how often each feature was used. With --hypothesis-profile=nightly there are many more statements, and new ones.
"""

from __future__ import annotations

import datetime as dt
import itertools
import secrets
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from unittest import mock

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from dpsql import columns, release, session
from dpsql.aggregates import avg, variance
from dpsql.analyze import aggregation
from dpsql.errors import Error, InternalError
from dpsql.expressions import compiler, dates, numbers
from dpsql.rewrite import inner, outer
from dpsql.session import Compiled
from tests import compare, features, grammar, released_grammar
from tests.compare import Differs
from tests.features import Feature
from tests.guided import Counts, Guided
from tests.harness import NIGHTLY, Bench, ZeroNoise, bench, examples, make_policy

NO_NOISE = 10**9
CHUNKS = 2
STATEMENTS = 330
"""Compared statements of each chunk, by day."""
QUOTA = 5 if NIGHTLY else 3
"""How many of them use each feature: so 10 in all chunks, or 6 by day."""
MANY, FEW = 12, 2
"""Expressions of a statement: while many features are lacking that it could use, and once none are."""
ACCEPTED = 0.9
"""Which share of the generated statements is compared, at least: the product accepts and DuckDB answers it."""
MET = 0.75
"""In which share of these some row or group is in both answers, at least."""

CITIES = (
    "SELECT * FROM (VALUES ('A', 'North', 2), ('b', 'North', 5), ('é', 'South', 1), ('D', NULL, 9)) "
    "AS v(name, country, size)"
)
TABLES = grammar.TABLES + "  cities: {source: cities.csv, public: true}\n"
DECLARED = {
    **dict.fromkeys(("n", "m", "s", "big", "k"), "BIGINT"), **dict.fromkeys("xyzf", "DOUBLE"), "c": "DECIMAL(10,2)",
}  # fmt: skip
"""The declared types of the columns whose stored types are narrower."""
MACROS = (
    *(f"CREATE MACRO {f}(x) AS CASE WHEN x {above} 0 THEN system.main.{f}(x) END"
      for f, above in (("sqrt", ">="), ("ln", ">"), ("log2", ">"), ("log10", ">"))),
    "CREATE MACRO log(x) AS CASE WHEN x > 0 THEN system.main.log(x) END, "
    "(b, x) AS CASE WHEN x > 0 THEN system.main.log(b, x) END",
    "CREATE MACRO clip(x, low, high) AS CASE WHEN x < low THEN low WHEN x > high THEN high ELSE x END",
)  # fmt: skip
"""SQRT and logarithms give NULL outside of their domain, as documented; DuckDB has no CLIP."""
TODAY = dt.date(2020, 2, 20)
"""The day of every run, so that each has the same statements and answers."""


# ---------------------------------------------------------------------------------------------- data

Rows = Sequence[Sequence[str]]


def _mixture(seed: int, size: int) -> Rows:
    random = Random(seed)
    return [grammar.modest_row(random) for _ in range(size)]


def _nulls(row: Sequence[str], share: float, random: Random) -> Sequence[str]:
    nullable = [("NULL" in grammar.WITHIN[name]) for name in grammar.COLUMNS]
    return [("NULL" if yes and random.random() < share else v) for v, yes in zip(row, nullable, strict=True)]


def _extremes() -> Rows:
    """Rows of the first, the second, … value that is known of each column: bounds and zeros among them."""
    longest = max(map(len, grammar.WITHIN.values()))
    return [[values[i % len(values)] for values in grammar.WITHIN.values()] for i in range(longest)]


def _strangers() -> Rows:
    """Some texts are not declared: groups of bare columns that are not there."""
    undeclared = {"city": "'Zz'", "tier": "'zinc'"}
    mixture = _mixture(5, 24)
    return [
        [undeclared.get(name, v) if i % 3 == 0 else v for name, v in zip(grammar.COLUMNS, row, strict=True)]
        for i, row in enumerate(mixture)
    ]


MIXTURES = {"mixture 1": _mixture(1, 40), "mixture 2": _mixture(2, 60)}
ODD = {
    "no rows": [],
    "one row": _mixture(3, 1),
    "one row of NULLs": [_nulls(_mixture(4, 1)[0], 1, Random(0))],
    "many NULLs": [_nulls(row, 0.8, Random(i)) for i, row in enumerate(_mixture(6, 30))],
    "duplicates": [row for row, times in zip(_mixture(7, 4), (9, 5, 2, 1), strict=True) for _ in range(times)],
    "ends of bounds": _extremes(),
}
STRANGERS = {"undeclared texts": _strangers()}
DATA: dict[str, Rows] = {**MIXTURES, **ODD, **STRANGERS}


# ---------------------------------------------------------------------------------------------- asking


def _table(types: Mapping[str, str], rows: Rows) -> duckdb.DuckDBPyConnection:
    """A database of its own with the rows in t."""
    connection = duckdb.connect(config={"threads": 1, "python_enable_replacements": "false"})
    connection.execute(f"CREATE TABLE t ({', '.join(f'{name} {type_}' for name, type_ in types.items())})")
    if rows:
        connection.execute("INSERT INTO t VALUES " + ", ".join(f"({', '.join(row)})" for row in rows))
    return connection


@dataclass
class Laboratory:
    """The product without noise, and DuckDB, over the same rows.

    DuckDB has its columns in their declared types, `//` and `%` by 0 give NULL, and so do SQRT and logarithms outside
    of their domain: all documented.

    wanted  what the scan finds, and the kinds of group keys and of data that there are
    """

    bench: Bench = field(init=False)
    wanted: frozenset[Feature] = field(init=False)
    stored: dict[str, duckdb.DuckDBPyConnection] = field(default_factory=dict)
    plain: dict[str, duckdb.DuckDBPyConnection] = field(default_factory=dict)

    def __post_init__(self) -> None:
        types = {**grammar.TYPES["t"], "c": "DECIMAL(10,2)"}
        self.bench = bench(make_policy(TABLES), {"t": types}, ZeroNoise(), public={"cities": CITIES})
        for name, rows in DATA.items():
            self.stored[name] = _table(types, rows)
            plain = self.plain[name] = _table({**types, **DECLARED}, rows)
            plain.execute(f"CREATE TABLE cities AS {CITIES}")
            plain.execute("SET error_on_division_by_zero = false")
            plain.execute("PRAGMA disable_optimizer")
            for macro in MACROS:
                plain.execute(macro)
        self.wanted = (
            (features.required() - features.chosen()) | self._kinds_of_keys() | {("data", name) for name in DATA}
        )

    def _kinds_of_keys(self) -> set[Feature]:
        """Those that the grammar's keys have by themselves."""
        plans = [self.bench.session.plan(f"SELECT {key}, COUNT(*) FROM t GROUP BY 1").plan for key in grammar.KEYS]
        return set().union(*map(features.kinds_of_keys, plans))

    def compile(self, sql: str) -> Compiled | None:
        """The compiled statement, None where it is refused. A fault is no refusal."""
        try:
            return self.bench.session.plan(sql, epsilon=NO_NOISE)
        except InternalError:
            raise
        except Error:
            return None

    def answer(self, sql: str, data: str) -> list[tuple[Any, ...]]:
        self.bench.engine.connection = self.stored[data]
        return self.bench.ask(sql, NO_NOISE).rows


class Raised(Exception):
    """DuckDB can't answer: nothing to compare with."""


# ---------------------------------------------------------------------------------------------- statements


@dataclass(frozen=True)
class Case:
    """A statement with the data it is asked of, and how its answer is compared: to how many rows were in both."""

    sql: str
    data: tuple[str, ...]
    check: Callable[[Laboratory, Compiled, str], int]


def _ask(plain: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    try:
        return plain.execute(sql).fetchall()
    except duckdb.Error as error:
        raise Raised(str(error)) from None


def private_case(random: Random, size: int) -> Case:
    """A statement over private rows with so many aggregates at least."""
    statement = grammar.telling_statement(random, 1 + size // 4)

    def check(laboratory: Laboratory, compiled: Compiled, data: str) -> int:
        text = statement.sql(plain=True).replace("CURRENT_DATE", f"DATE '{TODAY}'")
        plain = _ask(laboratory.plain[data], text)
        answer = laboratory.answer(statement.sql(), data)
        return compare.same_groups(statement, compiled, answer, plain, len(DATA[data]))

    return Case(statement.sql(), (random.choice(tuple(MIXTURES)), random.choice((*ODD, *STRANGERS))), check)


def released_case(random: Random, size: int) -> Case:
    """A statement over noisy numbers with lists of so many items."""
    statement = released_grammar.statement(random, size)

    def check(laboratory: Laboratory, compiled: Compiled, data: str) -> int:
        plain = _ask(laboratory.plain[data], statement.sql)
        return compare.same_rows(laboratory.answer(statement.sql, data), plain, ordered=statement.ordered)

    other = tuple(MIXTURES) if statement.complete else tuple(ODD)
    return Case(statement.sql, (random.choice(tuple(MIXTURES)), random.choice(other)), check)


MAKERS = (private_case, released_case)


# ---------------------------------------------------------------------------------------------- covering


@dataclass
class Coverage(Counts):
    """What one run of the generator compared.

    compared  statements; `met` of them with a row or group in both answers; each over two sets of data
    refused   by the product; `raised`: by DuckDB
    """

    statements: set[str] = field(default_factory=set)
    compared: int = 0
    met: int = 0
    refused: list[str] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)

    def note(self, used: set[Feature], case: Case, met: int) -> None:
        self.compared += 1
        self.met += met > 0
        self.counts.update(used)
        self.counts.update(("data", name) for name in case.data)


def compared(laboratory: Laboratory, watch: features.Watch, case: Case, coverage: Coverage) -> set[Feature] | None:
    """Compare a case over its data: the features that it uses, None where there is no answer. Raises Differs."""
    watch.clear()
    if case.sql in coverage.statements:
        return None
    coverage.statements.add(case.sql)
    compiled = laboratory.compile(case.sql)
    if compiled is None:
        coverage.refused.append(case.sql)
        return None
    used = watch.used(case.sql, compiled.plan)
    met = 0
    try:
        for data in case.data:
            met += case.check(laboratory, compiled, data)
    except Raised as error:
        coverage.raised.append(f"{case.sql}\n    {error}")
        return None
    except Differs as error:
        raise Differs(f"{case.sql}\nover {data}: {error}") from None
    coverage.note(used, case, met)
    return used


def cover(
    laboratory: Laboratory,
    seed: int,
    statements: int,
    quota: int,
    makers: Sequence[Callable[[Random, int], Case]] = MAKERS,
) -> Coverage:
    """Compare so many statements, or some more until they used each feature so often; or give up."""
    coverage = Coverage(laboratory.wanted)
    random = Guided(seed, coverage.counts, quota)
    could_use: dict[object, set[Feature]] = {maker: set() for maker in makers}
    with features.watching() as watch, mock.patch.object(session, "dt", mock.Mock(wraps=dt)) as clock:
        clock.datetime.now.return_value = dt.datetime.combine(TODAY, dt.time(12), dt.UTC)
        for maker in itertools.islice(itertools.cycle(makers), 2 * statements):
            lacking = coverage.lacking(quota)
            if coverage.compared >= statements and not lacking:
                break
            elsewhere = set().union(*(used for other, used in could_use.items() if other is not maker))
            needed = lacking - (elsewhere - could_use[maker])
            size = min(MANY, max(FEW, len(needed) // 3))
            used = compared(laboratory, watch, maker(random, size), coverage)
            random.learn(used, lacking)
            could_use[maker] |= used or set()
    return coverage


def table(coverages: Sequence[Coverage]) -> str:
    """How often each feature was used, by family."""
    counts = sum((c.counts for c in coverages), Counter[Feature]())
    total = {name: sum(getattr(c, name) for c in coverages) for name in ("compared", "met")}
    refused, raised = (sum(len(getattr(c, name)) for c in coverages) for name in ("refused", "raised"))
    lines = [
        f"{total['compared']} statements compared over two sets of data each, {total['met']} of them with rows; "
        f"refused {refused}, raised by DuckDB {raised}"
    ]
    for family in sorted({family for family, _ in counts}):
        names = {name: number for (of, name), number in counts.items() if of == family}
        listed = ", ".join(f"{name} {number}" for name, number in sorted(names.items()))
        lines += textwrap.wrap(f"{family} ({len(names)}): {listed}", 118, subsequent_indent="    ")
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------- tests


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    return Laboratory()


def _seed(chunk: int) -> int:
    """The same in every run of CI."""
    return secrets.randbits(32) if NIGHTLY else chunk


def test_there_are_enough_statements() -> None:
    assert CHUNKS * examples(STATEMENTS).max_examples >= (20_000 if NIGHTLY else 650)
    assert (10 if NIGHTLY else 6) <= CHUNKS * QUOTA


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_generated_statements_answer_as_duckdb_does(laboratory: Laboratory, chunk: int) -> None:
    seed, statements = _seed(chunk), examples(STATEMENTS).max_examples
    coverage = cover(laboratory, seed, statements, QUOTA)
    print(f"\nchunk {chunk}, seed {seed}\n{table([coverage])}")
    assert coverage.lacking(QUOTA) == set(), "the grammars have too little of these; or they are always refused"
    assert coverage.compared >= statements
    assert coverage.met >= statements * MET
    tried = coverage.compared + len(coverage.refused) + len(coverage.raised)
    assert coverage.compared >= ACCEPTED * tried, coverage.refused + coverage.raised


@pytest.mark.parametrize("feature", features.NEVER, ids=": ".join)
def test_what_is_never_used_is_refused(laboratory: Laboratory, feature: Feature) -> None:
    with pytest.raises(Error):
        laboratory.bench.session.plan(features.NEVER[feature], epsilon=1)


@pytest.mark.parametrize("feature", features.ELSEWHERE, ids=": ".join)
def test_what_other_dialects_have_is_read_as_something_else_here(feature: Feature) -> None:
    tree = sqlglot.parse_one(features.ELSEWHERE[feature], read="duckdb")
    assert tree.args["to"].this.value != feature[1]


def test_a_new_feature_is_lacking_until_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    known = features.required()
    monkeypatch.setitem(compiler._HANDLERS, exp.Repeat, compiler._HANDLERS[exp.Upper])
    monkeypatch.setattr(outer, "FUNCTIONS", outer.FUNCTIONS | {"repeat"})
    monkeypatch.setitem(dates._PARTS, "century", None)
    new = {("private node", "Repeat"), ("function over noisy numbers", "repeat"), ("part of a date", "century"),
           ("part of a date in a group key", "century")}  # fmt: skip
    assert features.required() == known | new
    assert new <= Coverage(features.required()).lacking(1)


# ---------------------------------------------------------------------------------------------- planted faults

Fault = tuple[Any, str, Callable[[Any], Any]]
FAULTS: dict[str, Fault] = {
    "AVG a grain too high": (avg, "_combine", lambda real: lambda noisy, grid: real(noisy, grid) + float(grid.grain)),
    "every sum one too high": (release, "_part", lambda real: lambda *args: real(*args) + 1),
    "VARIANCE of a population": (variance, "_variance", lambda real: lambda noisy, grid, _: real(noisy, grid, False)),
    "WHERE is dropped": (aggregation, "filters", lambda real: lambda *args: []),
    "FILTER is dropped": (inner._Builder, "_filtered", lambda real: lambda self, aggregate, term: aggregate),
    "DISTINCT is dropped": (inner, "_counted", lambda real: lambda value, term: value),
    "labels of groups swapped": (columns, "_labels", lambda real: lambda domain: real(domain)[::-1]),
    "rows of the last group lost": (
        release, "_places", lambda real: lambda domain, column: (p := real(domain, column)) - (p == domain.size - 1),
    ),
    "FLOOR rounds up": (
        numbers, "func", lambda real: lambda name, *args: real({"floor": "ceil"}.get(name, name), *args),
    ),
    "DESC is dropped": (session, "render", lambda real: lambda tree: real(tree).replace(" DESC", "")),
    "LEFT JOIN is inner": (session, "render", lambda real: lambda tree: real(tree).replace("LEFT JOIN", "JOIN")),
    "UNION keeps duplicates": (
        session, "render", lambda real: lambda tree: real(tree).replace("UNION SELECT", "UNION ALL SELECT"),
    ),
    ">= is >": (session, "render", lambda real: lambda tree: real(tree).replace(">=", ">")),
}  # fmt: skip


_RARE = tuple(name for name, (module, _, _) in FAULTS.items() if module is session)
"""Faults that few statements show."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module, attribute, fault = FAULTS[name]
    monkeypatch.setattr(module, attribute, fault(getattr(module, attribute)))
    laboratory.bench.session._plans.clear()
    try:
        with pytest.raises(Differs):
            cover(laboratory, 0, 150, QUOTA, (released_case,) if name in _RARE else MAKERS)
    finally:
        laboratory.bench.session._plans.clear()


if __name__ == "__main__":
    laboratory_ = Laboratory()
    print(table([cover(laboratory_, seed, STATEMENTS, QUOTA) for seed in range(CHUNKS)]))
