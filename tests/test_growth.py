"""The work on a statement grows no faster than its length, up to the longest that is read; or it is refused."""

from __future__ import annotations

import pytest

from dpsql.expressions import compiler
from dpsql.parse import MAX_CHARACTERS
from tests.growth import DIALECTS, FAMILIES, Work, besieged, made, of_length, work
from tests.harness import NIGHTLY, Bench, ForbiddenEngine, ZeroNoise, bench, make_policy

pytestmark = pytest.mark.slow

FACTOR = 6.5
"""By how much the work may grow where the length grows fourfold: 4 is linear, 16 quadratic."""
SETUP = 20_000
"""Calls that are no more for a long text than for a short one."""
BOUNDED = {
    "CTEs in turn": (8_000_000, 64), "CTEs that double": (8_000_000, 8), "CTEs that filter": (13_000_000, 256),
}  # fmt: skip
"""Families whose work does grow faster, as each part repeats those before it: what is too large is refused, after so
many calls at most (a million is half a second, without counting). And the number to try where there is little time.
"""
SHARE = 1 if NIGHTLY else 128
"""Which part of the longest text that is read is the longest here."""
LONGER = {
    "IN doubles": 8, "all columns of a subquery": 2, "FILTERs of IN lists": 16, "FILTERs of texts": 16,
    "FILTERs of ORs": 8, "FILTERs of ANDs": 4,
}  # fmt: skip
"""How many times longer, where less shows nothing."""


@pytest.fixture(scope="module")
def benches() -> dict[str, Bench]:
    found = {dialect: made(dialect) for dialect in DIALECTS}
    for each in found.values():
        work(each, "SELECT COUNT(*) FROM t WHERE n > 1")  # fills caches
    return found


def _cases() -> list[tuple[str, str]]:
    """All families in DuckDB's dialect, and each sixteenth in each other one; all in all of them at night."""
    other = [
        (name, dialect)
        for start, dialect in enumerate(DIALECTS[1:])
        for name in list(FAMILIES)[0 if NIGHTLY else start :: 1 if NIGHTLY else 16]
    ]
    return [*((name, "duckdb") for name in FAMILIES), *other]


@pytest.mark.parametrize(("name", "dialect"), _cases(), ids=lambda part: part)
def test_work_grows_no_faster_than_length(benches: dict[str, Bench], name: str, dialect: str) -> None:
    family = FAMILIES[name]
    top = max(of_length(family, MAX_CHARACTERS) * (1 if NIGHTLY else LONGER.get(name, 1)) // SHARE, 16)
    if name in BOUNDED:
        most, number = BOUNDED[name]
        for each in (number, top // 4, top) if NIGHTLY else (number,):
            assert work(benches[dialect], family(each)).calls.total() < most
        return
    shorter, longer = (work(benches[dialect], family(number)) for number in (top // 4, top))
    assert longer.calls.total() <= FACTOR * shorter.calls.total() + SETUP, _grown(shorter, longer)


def _grown(shorter: Work, longer: Work) -> str:
    """Which functions were called so much more often."""
    more = longer.calls - shorter.calls
    listed = [f"{shorter.calls[name]} → {longer.calls[name]} {name}" for name, _ in more.most_common(12)]
    return "\n".join([f"{shorter.calls.total()} → {longer.calls.total()} calls; {longer.outcome}", *listed])


def test_partitions_are_not_searched_for_ever(benches: dict[str, Bench]) -> None:
    """Of a hundred such releases, which fit into a statement, each would take seconds."""
    numbers = [f"COUNT(*) FILTER (WHERE {column} = {i})" for column in "nmb" for i in range(12)]
    numbers += [f"{name}(n + {i})" for i in range(16) for name in ("SUM", "AVG", "VARIANCE")]
    done = work(benches["duckdb"], f"SELECT {', '.join(numbers)} FROM t")
    assert done.outcome == "" and done.calls.total() < 3_000_000


CENTURIES = """  t:
    source: t.parquet
    unit: row
    columns:
      day: {type: date, bounds: [1990-01-01, 2989-12-31]}
      hour: {type: timestamp, bounds: ["2000-01-01 00:00:00", "2001-05-14 23:59:59"]}
"""
"""Some 12,000 months, and as many hours."""


@pytest.mark.parametrize(
    ("pattern", "once"),
    [
        ("STRFTIME(hour, '#%Y-%m-%d %H') = '#'", "STRFTIME(hour, '%Y-%m-%d %H') = '#'"),
        ("DATE_TRUNC('month', LEAST(day, DATE '29#-01-01')) < DATE '2000-01-01'",
         "DATE_TRUNC('month', day) < DATE '20#-01-01'"),
    ],
)  # fmt: skip
def test_long_lists_of_values_are_made_once_and_not_too_often(
    monkeypatch: pytest.MonkeyPatch, pattern: str, once: str
) -> None:
    """Of more than so many together the statement is refused."""
    monkeypatch.setattr(compiler, "MAX_STEPS", 5_000)
    where = bench(make_policy(CENTURIES), {"t": {"day": "DATE", "hour": "TIMESTAMP"}}, ZeroNoise(), ForbiddenEngine)

    def asked(condition: str, number: int) -> Work:
        conditions = " OR ".join(condition.replace("#", f"{i:02}") for i in range(number))
        return work(where, f"SELECT COUNT(*) FROM t WHERE {conditions}")

    one, several, many = (asked(pattern, number) for number in (1, 4, 32))
    assert one.calls.total() > 12_000 and one.outcome == several.outcome == ""
    assert many.outcome == "the query's expressions are too large"
    assert many.calls.total() < 13 * one.calls.total()
    repeated = asked(once, 12)
    assert repeated.outcome == "" and repeated.calls.total() < 6 * one.calls.total()


@pytest.mark.parametrize("dialect", DIALECTS if NIGHTLY else DIALECTS[:1])
def test_deep_and_long_statements_end_no_thread_and_fill_no_memory(dialect: str) -> None:
    """Python's stack, DuckDB's and the kernel's: what is compiled in a thread with little stack doesn't overflow it."""
    numbers = (24, 64, 100, 256) if NIGHTLY else (64,)
    names = [
        name for name in FAMILIES if NIGHTLY or name.startswith(("CTEs over", "UNIONs", "nested", "deep", "JOINs of r"))
    ]
    texts = [FAMILIES[name](number) for name in names for number in numbers]
    longest = [] if not NIGHTLY else [FAMILIES[name](of_length(FAMILIES[name], MAX_CHARACTERS)) for name in FAMILIES]
    found, megabytes = besieged(dialect, [*texts, FAMILIES["CTEs over one release"](900), *longest])
    assert max(each.seconds for each in found) < 10  # a guard against what hangs
    assert megabytes < 500


@pytest.mark.parametrize("name", ["JOINs of releases", "outer IN subqueries", "outer cross joins"])
def test_the_planner_of_the_engine_is_not_asked_to_order_hundreds_of_joins(
    benches: dict[str, Bench], name: str
) -> None:
    """It takes the cube of their number, and can't be interrupted in that."""
    refused = work(benches["duckdb"], FAMILIES[name](128)).outcome
    assert refused.startswith("the query reads more than 100 tables")


def test_chains_of_ctes_are_refused_before_the_engine_recurses_over_them(benches: dict[str, Bench]) -> None:
    """A stack that overflows there ends the process."""
    refused = work(benches["duckdb"], FAMILIES["CTEs over one release"](100)).outcome
    assert refused == "the query nests too deep, counting its CTEs where they are used"
