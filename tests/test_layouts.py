"""From which noisy sums numbers come: shared counts, blocks, cubes, shares of ε; and their errors by the exact law."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sqlglot import exp

from dpsql import layouts, plan
from dpsql.audit.replay import RecordingNoise, Violated, compare, realised_loss, record
from dpsql.columns import released
from dpsql.disjoint import disjoint, understood
from dpsql.errors import Error
from dpsql.layouts import LEAST_STEPS, Block, Layout
from dpsql.plan import ReleasePlan, alternative
from dpsql.policy import MechanismChoice, Policy
from dpsql.privacy.mechanisms import cube, laplace
from dpsql.privacy.noise import SystemNoise
from dpsql.privacy.sensitivity import ContributionBound
from dpsql.query import number_name
from dpsql.release import release
from tests.growth import work
from tests.harness import Bench, ZeroNoise, bench, make_policy
from tests.seeded import SeededBytes

TABLES = """  t:
    source: t.parquet
    unit: row
    columns:
      g: {type: integer, keys: [0, 1]}
      age: {type: integer, bounds: [0, 120]}
      income: {type: integer, bounds: [0, 200000]}
      score: {type: double, bounds: [-1, 1]}
      maybe: {type: integer, bounds: [100, 110], nullable: true}
      word: {type: text, nullable: true}
      yes: {type: boolean, nullable: true}
  u:
    source: t.parquet
    unit: {column: person, max_rows: 3}
    columns:
      person: {type: integer}
      g: {type: integer, keys: [0, 1]}
      age: {type: integer, bounds: [0, 120]}
      income: {type: integer, bounds: [0, 200000]}
      maybe: {type: integer, bounds: [100, 110], nullable: true}
"""
TYPES = {
    "t": {"g": "INTEGER", "age": "INTEGER", "income": "BIGINT", "score": "DOUBLE", "maybe": "INTEGER",
          "word": "VARCHAR", "yes": "BOOLEAN"},
    "u": {"person": "INTEGER", "g": "INTEGER", "age": "INTEGER", "income": "BIGINT", "maybe": "INTEGER"},
}  # fmt: skip


def policy(mechanism: MechanismChoice) -> Policy:
    made = make_policy(TABLES)
    return dataclasses.replace(made, privacy=dataclasses.replace(made.privacy, mechanism=mechanism))


def made(mechanism: MechanismChoice, noise: Any = None) -> Bench:
    return bench(policy(mechanism), TYPES, noise or ZeroNoise())


@pytest.fixture(scope="module")
def auto() -> Bench:
    return made("auto")


@pytest.fixture(scope="module")
def plain() -> Bench:
    return made("laplace")


def planned(asked: Bench, numbers: str, epsilon: object = 1, table: str = "t") -> ReleasePlan:
    whole = asked.session.plan(f"SELECT {numbers} FROM {table}", epsilon=epsilon).plan
    return whole.releases[0]


def bases(release: ReleasePlan) -> list[str]:
    return [basis.basis.value for basis in release.bases]


# ---------------------------------------------------------------------------------------------- which sums


@pytest.mark.parametrize(
    ("numbers", "with_laplace", "with_all"),
    [
        ("COUNT(*)", ["rows"], ["rows"]),
        ("SUM(income)", ["sum"], ["sum"]),
        ("AVG(income)", ["endpoints"], ["endpoints"]),
        ("COUNT(*), SUM(income), AVG(income)", ["endpoints"], ["endpoints"]),
        ("VARIANCE(age)", ["Bernstein"], ["total", "moments"]),
        ("STDDEV(maybe)", ["Bernstein"], ["total", "moments and nulls"]),
        ("AVG(age), AVG(income)", ["centre", "endpoints"], ["total", "centre", "centre"]),
        ("SUM(age), SUM(income)", ["centre", "endpoints"], ["total", "centre", "centre"]),
        ("SUM(score), SUM(score + 1)", ["sum", "sum"], ["sum", "sum"]),
        ("SUM(score), SUM(-score)", ["sum", "sum"], ["sum", "sum"]),
        ("COUNT(*), AVG(maybe), AVG(age)", ["endpoints and nulls", "centre"], ["total", "centre and nulls", "centre"]),
        ("COUNT(*), COUNT(word), AVG(age)", ["present and nulls", "centre"], ["total", "valued", "centre"]),
        ("COUNT(DISTINCT age), AVG(income), COUNT(*)", ["present", "endpoints"], ["present", "endpoints"]),
        ("COUNT(DISTINCT age), VARIANCE(income)", ["present", "Bernstein"], ["total", "moments", "present"]),
        ("COUNT(*), COUNT(*) FILTER (WHERE age > 3)", ["rows", "rows"], ["total", "valued"]),
        ("COUNT(*) FILTER (WHERE g = 0), COUNT(*) FILTER (WHERE age > 3)", ["rows", "rows"],
         ["total", "valued", "valued"]),
        ("SUM(age) FILTER (WHERE g = 0), COUNT(*) FILTER (WHERE g = 0), AVG(income)",
         ["centre", "endpoints", "endpoints"], ["centre", "centre", "total", "total"]),
        ("SUM(3), AVG(age)", ["present", "centre"], ["total", "present", "centre"]),
    ],
)  # fmt: skip
def test_which_sums_numbers_come_from(
    plain: Bench, auto: Bench, numbers: str, with_laplace: list[str], with_all: list[str]
) -> None:
    assert sorted(bases(planned(plain, numbers))) == sorted(with_laplace)
    assert sorted(bases(planned(auto, numbers))) == sorted(with_all)
    assert all(basis.mechanism is laplace.MECHANISM for basis in planned(plain, numbers).bases)


@pytest.mark.parametrize(
    "numbers", ["COUNT(*)", "AVG(age)", "COUNT(DISTINCT age), COUNT(*)", "VARIANCE(age), SUM(income)"]
)
def test_auto_is_never_less_exact_than_laplace(plain: Bench, auto: Bench, numbers: str) -> None:
    """By the widths that EXPLAIN shows, of values that are spread evenly: their squares, added up."""

    def total(release: ReleasePlan) -> float:
        found = 0.0
        for number in release.numbers:
            law, grid = release.law(number), release.bases[number.basis].grid
            unit = float(max(grid.magnitude * grid.grain, 1))
            if number.way.over_rows is not None:
                width = float(grid.upper - grid.lower) / 2
                unit = width * width if number.call.aggregate == "variance" else width
                found += (number.way.over_rows(law, grid, 0.68)[0] / unit) ** 2
            elif number.way.half_width is not None:
                found += (number.way.half_width(law, grid, 0.68) / (unit if number.call.aggregate == "sum" else 1)) ** 2
        return found

    assert total(planned(auto, numbers)) <= total(planned(plain, numbers)) * 1.001


def test_a_shared_count_is_the_same_for_all(auto: Bench) -> None:
    release = planned(auto, "COUNT(*), AVG(age), AVG(income), SUM(income), COUNT(age)")
    assert bases(release) == ["total", "centre", "centre"]
    assert {count for number in release.numbers for count in number.counts} == {0}
    assert [number.basis for number in release.numbers] == [0, 1, 2, 2, 0]
    assert {basis.sums for basis in release.bases} == {3}


@pytest.mark.parametrize("mechanism", ["laplace", "auto"])
@pytest.mark.parametrize("table", ["t", "u"])
def test_without_noise_numbers_are_those_of_duckdb(mechanism: MechanismChoice, table: str) -> None:
    """Whatever they are computed from."""
    asked = made(mechanism)
    rows = [(g, a, i) for g in (0, 1) for a, i in ((5, 1000), (7, 150_000), (90, 3), (120, 200_000), (33, 77))]
    texts = [(str(g), str(a), str(i)) for g, a, i in rows]
    maybe = ["104" if a > 6 else "NULL" for _, a, _ in rows]
    if table == "t":
        asked.engine.set_rows("t", [(*text, "0.5", m, "NULL", "NULL") for text, m in zip(texts, maybe, strict=True)])
    else:
        people = enumerate(zip(texts, maybe, strict=True))
        asked.engine.set_rows("u", [(str(n // 2), *text, m) for n, (text, m) in people])
    numbers = (
        "COUNT(*)",
        "SUM(age)",
        "AVG(age)",
        "VARIANCE(age)",
        "AVG(income)",
        "SUM(income)",
        "AVG(maybe)",
        "COUNT(maybe)",
        "COUNT(*) FILTER (WHERE age > 6)",
    )
    for some in [numbers, *list(itertools.combinations(numbers, 3))[::17]]:
        sql = f"SELECT g, {', '.join(some)} FROM {table} GROUP BY g ORDER BY g"
        answer, exact = asked.ask(sql, 1000).rows, asked.engine.plain(sql)
        for row, true in zip(answer, exact, strict=True):
            assert row == pytest.approx(tuple(map(float, true)), rel=1e-3, abs=0.02), some


# ---------------------------------------------------------------------------------------------- privacy


VICTIMS = [
    ("0", "0", "0", "-1", "NULL", "NULL", "TRUE"), ("1", "120", "200000", "1", "100", "'a'", "FALSE"),
    ("1", "9999", "-5", "'NaN'::DOUBLE", "110", "NULL", "NULL"), ("NULL",) * 7,
    ("0", "60", "100000", "0", "105", "''", "TRUE"),
]  # fmt: skip
LISTS = (
    "COUNT(*), SUM(income), AVG(income), AVG(age)", "VARIANCE(age)", "VARIANCE(maybe), COUNT(maybe), SUM(maybe)",
    "AVG(score), VARIANCE(score), AVG(maybe) FILTER (WHERE age > 3), COUNT(*)", "SUM(score), SUM(-score)",
    "COUNT(word), SUM(3), AVG(income), COUNT(DISTINCT age)", "COUNT(*), COUNT(*) FILTER (WHERE age > 3)",
    "AVG(age), COUNT_IF(g = 0), COUNT(*) FILTER (WHERE income > 5 AND g = 1)",
    "SUM(maybe), AVG(maybe), STDDEV(maybe), AVG(score)",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("numbers", LISTS)
@pytest.mark.parametrize("epsilon", ["1", "0.001", "7"])
def test_no_row_moves_a_block_by_more_than_its_share(numbers: str, epsilon: str) -> None:
    asked = made("auto", RecordingNoise())
    most = Fraction(0)
    for group in ("", " GROUP BY g"):
        sql = f"SELECT {numbers} FROM t{group}"
        whole = asked.session.plan(sql, epsilon=epsilon).plan
        assert whole.releases[0].loss <= whole.epsilon == Fraction(epsilon)
        asked.engine.set_rows("t", VICTIMS[3:])
        without = record(asked, sql, epsilon)
        for victim in VICTIMS:
            asked.engine.set_rows("t", [*VICTIMS[3:], victim])
            run = record(asked, sql, epsilon)
            assert (run.answer, run.sql) == (without.answer, without.sql)
            loss = realised_loss(whole, without, run)
            assert loss <= whole.epsilon
            most = max(most, loss)
    assert most > Fraction(epsilon) * Fraction(1, 2), "the bound is nearly reached"


@pytest.mark.parametrize("numbers", ["COUNT(*), SUM(income), AVG(age)", "VARIANCE(age), AVG(maybe)"])
def test_no_unit_moves_a_block_by_more_than_its_share(numbers: str) -> None:
    asked = made("auto", RecordingNoise())
    sql = f"SELECT g, {numbers} FROM u GROUP BY g"
    whole = asked.session.plan(sql, epsilon=1).plan
    assert bases(whole.releases[0])[0] == "total"
    others = [("1", "0", "30", "5000", "NULL"), ("2", "1", "NULL", "7", "104")]
    asked.engine.set_rows("u", others)
    without = record(asked, sql)
    losses = []
    for count in (1, 3, 40):
        rows = [("9", str(i % 2), "120", "200000", "110") for i in range(count)]
        asked.engine.set_rows("u", [*others, *rows])
        losses.append(realised_loss(whole, without, record(asked, sql)))
    assert losses[0] <= Fraction(1, 2) and all(Fraction(99, 100) < loss <= 1 for loss in losses[1:])


def test_a_cube_is_drawn_once(auto: Bench) -> None:
    """All its sums together: apart, each of them would lose all of ε."""
    asked = made("auto", RecordingNoise())
    asked.ask("SELECT COUNT(*), AVG(income), AVG(age) FROM t")
    assert [draw.together for draw in asked.noise.draws] == [3, 3, 3]
    whole = asked.session.plan("SELECT COUNT(*), AVG(income), AVG(age) FROM t", epsilon=1).plan
    run = record(asked, "SELECT COUNT(*), AVG(income), AVG(age) FROM t")
    apart = dataclasses.replace(run, draws=tuple(dataclasses.replace(d, together=1) for d in run.draws))
    other = dataclasses.replace(
        run, draws=tuple(dataclasses.replace(d, mechanism="discrete Laplace") for d in run.draws)
    )
    for wrong in (apart, other):
        with pytest.raises(Violated, match="noise"):
            realised_loss(whole, wrong, wrong)


def test_a_release_whose_blocks_lose_more_than_it_says_is_not_made(auto: Bench) -> None:
    release = planned(auto, "COUNT(*), AVG(income), AVG(age)")
    assert release.loss <= release.epsilon
    assert float(release.loss) > 0.999
    with pytest.raises(AssertionError, match="lose more"):
        dataclasses.replace(release, epsilon=Fraction(99, 100))
    apart = tuple(dataclasses.replace(b, block=i) for i, b in enumerate(release.bases))
    with pytest.raises(AssertionError, match="lose more"):
        dataclasses.replace(release, bases=apart)
    for wrong in (
        dataclasses.replace(release.bases[0], epsilon=Fraction(1, 2)),
        dataclasses.replace(release.bases[0], bound=dataclasses.replace(release.bases[0].bound, rows=2)),
        dataclasses.replace(release.bases[0], mechanism=laplace.MECHANISM),
    ):
        with pytest.raises(AssertionError, match="one mechanism"):
            dataclasses.replace(release, bases=(wrong, *release.bases[1:]))
    finer = tuple(dataclasses.replace(p, unit=2 * p.unit, rows=2 * p.rows) for p in release.bases[0].parts)
    with pytest.raises(AssertionError, match="one scale"):
        dataclasses.replace(release, bases=(dataclasses.replace(release.bases[0], parts=finer), *release.bases[1:]))


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-6", "0.37", "1", "1000000"])
@pytest.mark.parametrize("table", ["t", "u"])
def test_the_sums_of_a_cube_have_one_scale_which_fits(auto: Bench, epsilon: str, table: str) -> None:
    numbers = "COUNT(*), VARIANCE(income), AVG(age), COUNT(maybe)" + (", VARIANCE(score)" if table == "t" else "")
    try:
        release = planned(auto, numbers, epsilon, table)
    except Error as error:
        assert float(epsilon) < 1e-8 and "too small" in error.message
        return
    if release.bases[0].mechanism is not cube.MECHANISM:
        assert float(epsilon) < 1e-5, "where it doesn't fit"
        return
    scales = {basis.scale(part) for basis in release.bases for part in basis.parts}
    assert len(scales) == 1
    (scale,) = scales
    assert scale >= 4096 and cube.MECHANISM.fits(scale, release.bases[0].sums)
    for basis in release.bases:
        for part in basis.parts:
            most = cube.MECHANISM.bound((part,), basis.grid.cells)
            assert Fraction(999, 1000) <= most <= 1


# ---------------------------------------------------------------------------------------------- shares of ε


def layout(*loads: float, parts: Sequence[int] = ()) -> Layout:
    """Blocks of these loads, of which the first ones are of these parts of a partition."""

    class Loaded(Layout):
        def _loads(self, *, even: bool = False) -> list[float]:
            return list(loads)

    of_blocks = [(0, part) for part in parts] + [None] * (len(loads) - len(parts))
    blocks = (Block(laplace.MECHANISM, (), ContributionBound(1), part=part) for part in of_blocks)
    return Loaded(tuple(blocks), (), ())


def test_blocks_share_epsilon_by_the_two_thirds_power_of_their_noise() -> None:
    """By c^(2/3), where loads are c²: then Σ c² / e² is least."""
    assert layout(5.0, 5.0, 5.0).shares() == (Fraction(1, 3),) * 3
    shares = layout(2.0, 54.0).shares()
    assert shares[1] / shares[0] == pytest.approx(27 ** (1 / 3), rel=2e-3)
    assert layout(0.0, 0.0).shares() == (Fraction(1, 2),) * 2
    assert layout(0.0, 8.0).shares() == (Fraction(LEAST_STEPS, 1000 + LEAST_STEPS), Fraction(1000, 1000 + LEAST_STEPS))
    for loads in ([1.0, 7.0, 3.5, 0.2], [1e-3, 1.0], [2.0], [3.0] * 50):
        found = layout(*loads).shares()
        assert sum(found) == 1 and min(found) > 0
        least = sum(load / float(e) ** 2 for load, e in zip(loads, found, strict=True))
        for i, j in itertools.permutations(range(len(loads)), 2):
            moved = [float(e) for e in found]
            moved[i], moved[j] = moved[i] + 0.05 * moved[j], moved[j] * 0.95
            assert least <= sum(load / e**2 for load, e in zip(loads, moved, strict=True)) * 1.001
            if len(loads) > 10:
                break
    assert layout(2.0, 6.0, 8.0, parts=(0, 1)).shares() == (Fraction(1, 2),) * 3, "each part has the partition's share"
    assert layout(1.0, 1.0, 8.0, parts=(0, 0)).shares() == (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))


@pytest.mark.parametrize("mechanism", ["laplace", "auto"])
@pytest.mark.parametrize("epsilon", ["1", "0.3", "0.123456789"])
def test_the_shares_of_blocks_add_up_to_epsilon_exactly(mechanism: MechanismChoice, epsilon: str) -> None:
    asked = made(mechanism)
    for numbers in LISTS:
        release = planned(asked, numbers, epsilon)
        apart = {bases[0].part: bases[0].epsilon for bases in release.blocks if bases[0].part is not None}
        shared = sum(bases[0].epsilon for bases in release.blocks if bases[0].part is None)
        assert shared + max(apart.values(), default=0) == release.epsilon == Fraction(epsilon)


@pytest.mark.parametrize(
    ("numbers", "rows"),
    [
        ("COUNT(*), COUNT(DISTINCT person)", (3, 1)),
        ("COUNT(*), COUNT(DISTINCT age)", (3, 3)),
        ("COUNT(DISTINCT person), MEDIAN(age)", (1, 3)),
    ],
)
def test_blocks_share_epsilon_by_the_noise_for_a_unit(plain: Bench, numbers: str, rows: tuple[int, int]) -> None:
    """A unit counts with so many rows in each: no other shares make the sum of the squared errors less."""
    release = planned(plain, numbers, table="u")
    shares = [release.bases[number.basis].epsilon for number in release.numbers]
    assert sum(shares) == 1
    squares = [2 * (k / float(e)) ** 2 for k, e in zip(rows, shares, strict=True)]
    least = min(2 * (rows[0] / e) ** 2 + 2 * (rows[1] / (1 - e)) ** 2 for e in np.linspace(0.001, 0.999, 999))
    assert sum(squares) <= least * 1.0001


def weighted(asked: Bench, weights: str, numbers: str = "COUNT(*) AS n, COUNT(DISTINCT age) AS d") -> list[Fraction]:
    """The shares of the blocks of a query with these weights."""
    sql = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(weights = ({weights})) {numbers} FROM t"
    (release,) = asked.session.plan(sql, epsilon=1).plan.releases
    return [release.bases[number.basis].epsilon for number in release.numbers]


def test_weights_say_by_how_much_an_error_counts(plain: Bench) -> None:
    """Shares are ∝ (weight · c)^(2/3): with a weight of 8, four times as much where the noise is alike."""
    assert weighted(plain, "n: 1") == [Fraction(1, 2)] * 2
    assert weighted(plain, "n: 8, d: 1") == [Fraction(4, 5), Fraction(1, 5)] == weighted(plain, "n: 2, d: 0.25")
    assert weighted(plain, "d: 8") == [Fraction(1, 5), Fraction(4, 5)]
    assert weighted(plain, "r: 8", "1.0 * COUNT(*) / 2 AS r, COUNT(DISTINCT age)") == [Fraction(4, 5), Fraction(1, 5)]
    assert weighted(plain, "count: 8", "COUNT(*), COUNT(DISTINCT age) AS d") == [Fraction(4, 5), Fraction(1, 5)]


def test_a_weight_may_make_another_layout_better(auto: Bench) -> None:
    """Where one number counts for nearly all, ε goes to it, and no cube is made for the others' sake."""
    names = "SUM(income) AS s, VARIANCE(age) AS v"
    assert weighted(auto, "s: 1", names) == [1, 1], "together in a cube"
    alone, other = weighted(auto, "s: 1000", names)
    assert alone > Fraction(9, 10) and alone + other == 1


def test_aggregates_with_an_epsilon_of_their_own_are_blocks_of_their_own() -> None:
    asked = made("auto", RecordingNoise())
    sql = "SELECT COUNT(*, epsilon => 0.1), VARIANCE(age, epsilon => 0.2), AVG(age), AVG(income), AVG(score) FROM t"
    whole = asked.session.plan(sql, epsilon=1).plan
    (release,) = whole.releases
    assert [float(bases[0].epsilon) for bases in release.blocks] == [0.1, 0.2, 0.7]
    assert [sum(len(b.parts) for b in bases) for bases in release.blocks] == [1, 3, 4]
    assert Fraction(99, 100) < release.loss <= 1
    asked.engine.set_rows("t", VICTIMS[3:])
    without = record(asked, sql)
    for victim in VICTIMS:
        asked.engine.set_rows("t", [*VICTIMS[3:], victim])
        run = record(asked, sql)
        assert run.answer == without.answer
        assert realised_loss(whole, without, run) <= 1
    assert [draw.together for draw in asked.noise.draws] == [1, 3, 3, 3, 4, 4, 4, 4]


# ---------------------------------------------------------------------------------------------- partitions


@pytest.mark.parametrize(
    ("numbers", "sums", "counted"),
    [
        ("COUNT_IF(yes), COUNT_IF(NOT yes)", ["rows", "rows"], 1),
        ("AVG(age) FILTER (WHERE yes), AVG(age) FILTER (WHERE NOT yes)", ["endpoints", "endpoints"], 1),
        ("AVG(age) FILTER (WHERE yes), COUNT(*)", ["endpoints", "rows"], 2),
        ("SUM(income) FILTER (WHERE g = 1), COUNT(*)", ["endpoints", "rows"], 2),
        ("COUNT(*), COUNT_IF(g = 0), COUNT_IF(g = 1)", ["rows", "rows", "rows"], 3),
        ("COUNT(*), COUNT_IF(age < 30), COUNT_IF(age >= 30)", ["rows", "rows"], 2),
        ("MEDIAN(age) FILTER (WHERE g = 0), COUNT(DISTINCT word) FILTER (WHERE g = 1)", ["cells", "present"], 1),
    ],
)
def test_numbers_under_disjoint_filters_have_all_of_epsilon_each(
    plain: Bench, numbers: str, sums: list[str], counted: int
) -> None:
    release = planned(plain, numbers)
    assert sorted(bases(release)) == sorted(sums)
    assert [basis.epsilon for basis in release.bases] == [1] * len(sums) and release.loss == 1
    assert max([1, *(len(number.counts) for number in release.numbers)]) == counted
    assert {release.parts_of(number) for number in release.numbers} == {len(sums)}


@pytest.mark.parametrize(
    ("numbers", "sums", "added"),
    [
        ("AVG(age), AVG(age) FILTER (WHERE g = 1)", "endpoints", [1, 0]),
        ("AVG(age), COUNT(*), AVG(age) FILTER (WHERE g = 0), AVG(age) FILTER (WHERE g = 1)", "endpoints", [2, 0, 0, 0]),
        ("SUM(score), SUM(score) FILTER (WHERE age < 9)", "sum", [1, 0]),
        ("COUNT(maybe), COUNT(maybe) FILTER (WHERE yes)", "present", [1, 0]),
        ("COUNT(*), AVG(maybe), SUM(maybe) FILTER (WHERE yes)", "endpoints and nulls", [0, 1, 0]),
        ("AVG(age), VARIANCE(age), STDDEV(age) FILTER (WHERE g = 1)", "Bernstein", [1, 1, 0]),
    ],
)
def test_numbers_of_all_rows_are_added_up_from_parts(plain: Bench, numbers: str, sums: str, added: list[int]) -> None:
    """So each sum has all of ε, and the error of k parts is √k times that of one."""
    release = planned(plain, numbers)
    assert {(basis.basis.value, basis.epsilon, basis.grid) for basis in release.bases} == {
        (sums, 1, release.bases[0].grid)
    }
    assert [len(number.added) for number in release.numbers] == added and release.loss == 1
    for number in release.numbers:
        assert [law.scale for law in release.law(number).blocks] == [1] * (1 + len(number.added))
        own = [number.basis, *number.added]
        assert len({release.bases[basis].part for basis in own}) == len(own), "of different parts"
    text = plain.session.explain(f"SELECT {numbers} FROM t", epsilon=1, analyst="anyone")
    assert text.count("parts of the rows, added up") == sum(n > 0 for n in added) + ("COUNT(*)" in numbers)


@pytest.mark.parametrize(
    ("numbers", "added"),
    [
        ("VARIANCE(age), VARIANCE(age) FILTER (WHERE g = 1)", [1, 0]),
        ("COUNT(*), AVG(age), AVG(income), COUNT_IF(g = 1), AVG(age) FILTER (WHERE g = 1)", [1, 1, 1, 0, 0]),
        ("SUM(age), SUM(income), SUM(age) FILTER (WHERE yes), SUM(income) FILTER (WHERE NOT yes)", [2, 2, 0, 0]),
    ],
)
def test_cubes_of_parts_are_added_up(auto: Bench, numbers: str, added: list[int]) -> None:
    """The count of all rows, too: no error is above that with Laplace noise."""
    release = planned(auto, numbers)
    assert {basis.mechanism for basis in release.bases} == {cube.MECHANISM}
    assert [len(number.added) for number in release.numbers] == added
    assert {basis.epsilon for basis in release.bases} == {1} and Fraction(99, 100) < release.loss <= 1
    for number in release.numbers:
        blocks = release.law(number).blocks
        assert len(blocks) == 1 + len(number.added)
        counted = [len(block.count_scales) for block in blocks]
        assert counted == [1 if number.counts else 0] * len(blocks), "each part has its own count"
    for own, other in zip(facts(auto, numbers), facts(made("laplace"), numbers), strict=True):
        for name in ("half_width", "half_width_times_rows_even"):
            assert own[name] is None or own[name] <= other[name]


def test_cubes_whose_sums_can_t_be_added_give_way_to_laplace_noise(auto: Bench) -> None:
    """Where one would need a coarser grid than the other."""
    column, kinds = "income * 10000000", set()
    numbers = f"AVG({column}), AVG(age), AVG({column}) FILTER (WHERE g = 1), COUNT(DISTINCT age) FILTER (WHERE g = 1)"
    for epsilon in (Fraction(1), *(Fraction(n, 10**6) for n in range(1, 30, 3))):
        release = planned(auto, numbers, epsilon)
        kinds |= {release.bases[number.basis].mechanism.name for number in release.numbers if number.added}
    assert kinds == {"cube", "discrete Laplace"}


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ("SUM(DISTINCT age), SUM(age) FILTER (WHERE g = 1)", "each part would count a value"),
        ("MEDIAN(age), MEDIAN(age) FILTER (WHERE g = 1)", "what is chosen isn't added"),
        ("VARIANCE(age), " + ", ".join(f"AVG(age) FILTER (WHERE g = {n})" for n in range(9)), "too many noisy sums"),
    ],
)
def test_what_is_not_added_up_from_parts(plain: Bench, numbers: str, why: str) -> None:
    release = planned(plain, numbers)
    assert not any(len(n.added) == release.parts_of(n) - 1 > 0 for n in release.numbers), why


def test_parts_with_other_shares_of_epsilon_are_added(plain: Bench) -> None:
    """One has numbers of its own besides; EXPLAIN gives the range, and the error is that of both noises."""
    numbers = "AVG(income), AVG(income) FILTER (WHERE g = 1), COUNT(DISTINCT age) FILTER (WHERE g = 1)"
    release = planned(plain, numbers)
    number = release.numbers[0]
    shares = [release.bases[index].epsilon for index in (number.basis, *number.added)]
    assert shares[0] < shares[1] == 1
    assert [law.scale for law in release.law(number).blocks] == [1 / share for share in shares]
    text = plain.session.explain(f"SELECT {numbers} FROM t", epsilon=1, analyst="anyone")
    assert f"basis endpoints, epsilon {float(shares[0]):g} to 1 in each of 2 parts of the rows, added up" in text


def test_sums_on_other_grids_are_not_added(plain: Bench) -> None:
    release = planned(plain, "AVG(age), AVG(age) FILTER (WHERE g = 1)")
    own, other = release.bases
    coarser = dataclasses.replace(other, grid=dataclasses.replace(other.grid, grain=Fraction(2)))
    with pytest.raises(AssertionError, match="of one kind"):
        dataclasses.replace(release, bases=(own, coarser))


def test_sums_that_are_added_have_the_grid_on_which_all_noise_fits(plain: Bench) -> None:
    """At an ε so small that the noise of the smaller share fits a coarser one alone."""
    column = "income * 10000000"
    numbers = f"AVG({column}), AVG({column}) FILTER (WHERE g = 1), COUNT(DISTINCT age) FILTER (WHERE g = 1)"
    others = 0
    for millionths in range(1, 9):
        release = planned(plain, numbers, Fraction(millionths, 10**6))
        number = release.numbers[0]
        added = [release.bases[index] for index in (number.basis, *number.added)]
        assert len({basis.grid for basis in added}) == 1
        apart = [dataclasses.replace(basis, grid=plan.grid_of(basis.measure)) for basis in added]
        others += len({plan._fitted(basis).grid for basis in apart}) > 1
    assert others


def test_a_nullable_column_parts_the_rows(plain: Bench) -> None:
    release = planned(plain, "COUNT(*), COUNT(word)")
    assert bases(release) == ["present and nulls"] and release.loss == 1
    assert [number["half_width"] for number in facts(plain, "COUNT(*), COUNT(word)")] == [4, 3]


def test_explain_says_of_which_part_of_the_rows_a_number_is(plain: Bench, auto: Bench) -> None:
    sql = "SELECT COUNT(*), AVG(age) FILTER (WHERE yes) FROM t"
    text = plain.session.explain(sql, epsilon=1, analyst="anyone")
    assert "COUNT(*): ±5 at 95 %; discrete Laplace, basis rows, epsilon 1 in each of 2 parts of the rows, added" in text
    assert "basis endpoints, epsilon 1 for one of 2 parts of the rows\n" in text
    assert "instead with cube noise: ±457.975/n" in text
    assert "parts of the rows" not in plain.session.explain("SELECT COUNT(*) FROM t", epsilon=1, analyst="anyone")


def test_parts_may_have_cubes(auto: Bench) -> None:
    numbers = "AVG(age) FILTER (WHERE yes), AVG(income) FILTER (WHERE yes), AVG(age) FILTER (WHERE NOT yes)"
    release = planned(auto, numbers)
    assert [(b.basis.value, b.mechanism.name, b.epsilon) for b in release.bases] == [
        ("total", "cube", 1), ("centre", "cube", 1), ("centre", "cube", 1), ("endpoints", "discrete Laplace", 1)
    ]  # fmt: skip


def test_what_is_not_apart_is_no_partition(plain: Bench) -> None:
    """A plan can't be made that says so: neither of overlapping filters, nor of units' distinct values."""
    release = planned(plain, "COUNT_IF(yes), COUNT_IF(NOT yes)")
    one, other = release.bases
    for wrong in (
        dataclasses.replace(other, measure=dataclasses.replace(one.measure)),
        dataclasses.replace(other, measure=dataclasses.replace(other.measure, by_unit=True)),
        dataclasses.replace(other, bound=ContributionBound(2), epsilon=Fraction(1, 2)),
    ):
        with pytest.raises(AssertionError, match="other part"):
            dataclasses.replace(release, bases=(one, wrong))
    with pytest.raises(AssertionError, match="lose more"):
        dataclasses.replace(release, bases=(one, dataclasses.replace(other, part=None)))
    for numbers in ("COUNT_IF(g = 0), COUNT_IF(age > 3)", "COUNT_IF(yes), COUNT_IF(yes IS NOT FALSE)"):
        assert all(basis.part is None for basis in planned(plain, numbers).bases)
    distinct = "COUNT(DISTINCT age) FILTER (WHERE g = 0), COUNT(DISTINCT age) FILTER (WHERE g = 1)"
    assert [b.epsilon for b in planned(plain, distinct, table="u").bases] == [Fraction(1, 2)] * 2
    assert [b.epsilon for b in planned(plain, distinct).bases] == [1, 1]


PARTED = (
    "AVG(age), COUNT(*), SUM(age) FILTER (WHERE g = 1), AVG(age) FILTER (WHERE g = 0)",
    "VARIANCE(age), VARIANCE(age) FILTER (WHERE g = 1)",
    "COUNT(*), AVG(age) FILTER (WHERE g = 1), SUM(income) FILTER (WHERE g = 0)",
    "MEDIAN(age) FILTER (WHERE maybe > 104), AVG(age) FILTER (WHERE NOT maybe > 104)",
)


@pytest.mark.parametrize("numbers", PARTED)
@pytest.mark.parametrize("table", ["t", "u"])
@pytest.mark.parametrize("mechanism", ["laplace", "auto"])
def test_no_unit_moves_all_parts_together_by_more_than_epsilon(
    numbers: str, table: str, mechanism: MechanismChoice
) -> None:
    """Whichever parts its rows are in, and however many they are."""
    asked = made(mechanism, RecordingNoise())
    sql = f"SELECT {numbers} FROM {table}"
    whole = asked.session.plan(sql, epsilon=1).plan
    assert {basis.epsilon for basis in whole.releases[0].bases} == {1}

    def row(unit: int, g: str, maybe: str) -> tuple[str, ...]:
        values = (g, "120", "200000")
        return (*values, "0", maybe, "NULL", "NULL") if table == "t" else (str(unit), *values, maybe)

    others = [row(1, "0", "101"), row(2, "NULL", "NULL"), row(3, "1", "110")]
    asked.engine.set_rows(table, others)
    without = record(asked, sql)
    losses = []
    for parts in ([(1, 110)], [("NULL", "NULL")], [(1, 110), (0, 101), (7, "NULL")], [(0, 101), (1, 110)] * 9):
        if len(parts) == 1 or table == "u":
            asked.engine.set_rows(table, [*others, *(row(9, str(g), str(maybe)) for g, maybe in parts)])
            run = record(asked, sql)
            losses.append(compare(whole, without, run))
    assert max(losses) > (Fraction(2, 5) if "MEDIAN" in numbers else Fraction(99, 100)), "the bound is nearly reached"


def test_counts_of_parts_add_up(plain: Bench) -> None:
    """Without noise a partition gives what DuckDB does, with NULLs among the rows."""
    asked = made("laplace")
    rows = [(g, a, "NULL" if a % 3 == 0 else str(a % 2 == 0)) for g in ("0", "1", "NULL") for a in range(7)]
    asked.engine.set_rows("t", [(g, str(a), "5", "0", "NULL", "NULL", yes) for g, a, yes in rows])
    for numbers in (
        "COUNT(*), COUNT_IF(yes), COUNT_IF(NOT yes)",
        "COUNT(*), SUM(age) FILTER (WHERE g = 1)",
        "SUM(age), COUNT(*), SUM(age) FILTER (WHERE g = 1)",
        "AVG(age), AVG(age) FILTER (WHERE yes), AVG(age) FILTER (WHERE NOT yes)",
        "COUNT(age), COUNT(age) FILTER (WHERE g = 0)",
        "VAR_POP(age), STDDEV(age), AVG(age) FILTER (WHERE g = 0), VARIANCE(age) FILTER (WHERE g = 0)",
    ):
        assert planned(asked, numbers).parts_of(planned(asked, numbers).numbers[0]) > 1
        sql = f"SELECT {numbers} FROM t"
        assert asked.ask(sql).rows[0] == pytest.approx(asked.engine.plain(sql)[0], rel=1e-12)


CONDITIONS = [
    ("yes", "NOT yes", True), ("yes IS TRUE", "NOT yes", True), ("yes", "yes IS NULL", True),
    ("yes IS TRUE", "yes IS NOT TRUE", True), ("yes IS NOT TRUE", "NOT yes", False), ("yes <> TRUE", "yes", True),
    ("yes IS NOT DISTINCT FROM TRUE", "yes = FALSE", True), ("yes", "yes", False), ("yes", "g = 1", False),
    ("age < 30", "age >= 30", True), ("age < 30", "NOT age < 30", True), ("age < 30", "age > 29", False),
    ("30 > age", "age > 30", True), ("30 >= age", "age >= 30", False), ("age = -1", "age = 1", True),
    ("age BETWEEN 3 AND 5", "age IN (1, 2)", True), ("age BETWEEN 3 AND 5", "age IN (2, 5)", False),
    ("age = 2.5", "age = 2.6", True), ("age = 2.5", "age = 2.55", False), ("age = 5", "age IS NULL", True),
    ("score < 0.5", "score > 0.75", True), ("score < 0.30000000000000001", "score >= 0.3", False),
    ("score < 0", "score IS NULL", True), ("CASE WHEN maybe < 5 THEN maybe END IS NULL", "maybe > 5", False),
    ("CASE WHEN maybe IS NULL THEN 5 ELSE maybe END IS NULL", "maybe IS NOT DISTINCT FROM NULL", False),
    ("score < 0.1", "score >= 0.1", True),
    ("word = 'a'", "word = 'b'", True), ("word = 'a'", "word = 'A'", False), ("word = 'a'", "word = 'á'", False),
    ("word = 'a'", "word <> 'a'", True), ("word < 'a'", "word > 'a'", False), ("word = 'a b'", "word = 'ab'", False),
    ("word LIKE 'a%'", "NOT word LIKE 'a%'", True), ("word LIKE 'a%'", "word LIKE 'b%'", False),
    ("word IN ('a', 'b')", "word IS DISTINCT FROM 'a'", False),
    ("yes AND age < 30", "age BETWEEN 20 AND 40 AND NOT yes", True), ("yes AND g = 1", "NOT (yes AND g = 1)", True),
    ("yes AND g = 1", "age > 3 OR NOT yes", False), ("NOT (age < 30 OR age > 40)", "age > 40", True),
    ("(age < 30) = FALSE", "NOT ((age < 40) = FALSE)", False), ("(age < 30) = FALSE", "NOT ((age < 30) = FALSE)", True),
    ("NOT ((g IS NOT DISTINCT FROM 3) IS NULL)", "g IS NULL", False), ("(age < 30) IS NULL", "age < 40", True),
    ("(yes AND g = 1) IS TRUE", "NOT yes", True), ("yes IS FALSE", "yes", True),
    ("CASE WHEN yes THEN 1 ELSE 0 END = 1", "CASE WHEN yes THEN 1 ELSE 0 END = 0", True),
]  # fmt: skip


def test_conditions_are_disjoint_where_that_is_certain(plain: Bench) -> None:
    """And never where DuckDB finds a row that meets both, of all sorts of values."""
    values = [
        ("0", "1", "NULL"), ("-1", "1", "2", "5", "29", "30", "40"), ("0",), ("-1", "0.3", "'NaN'::DOUBLE", "NULL"),
        ("NULL",), ("'a'", "'A'", "'b'", "NULL"), ("TRUE", "FALSE", "NULL"),
    ]  # fmt: skip
    plain.engine.set_rows("t", list(itertools.product(*values)))
    filters = {
        text: understood(planned(plain, f"COUNT_IF({text})").numbers[0].call.measure.filter)
        for one, other, _ in CONDITIONS
        for text in (one, other)
    }
    wrong = [(a, b) for a, b, known in CONDITIONS if disjoint(filters[a], filters[b]) is not known]
    assert wrong == []
    apart = [(a, b) for a, b in itertools.combinations(filters, 2) if disjoint(filters[a], filters[b])]
    both = ", ".join(f"COUNT(*) FILTER (WHERE ({a}) AND ({b}))" for a, b in apart)
    assert set(plain.engine.plain(f"SELECT {both} FROM t")[0]) == {0}
    assert not disjoint(None, filters["yes"])


def test_many_numbers_of_all_rows_are_not_added_up_from_many_parts(
    plain: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where they are few, times the parts: the rest included, of which each is laid out in each part."""
    numbers = "COUNT_IF(age < 9), COUNT_IF(age > 9), SUM(age), AVG(age), VARIANCE(age)"
    for most, parts in ((8, set()), (9, {3})):
        monkeypatch.setattr(layouts, "MAX_IN_PARTS", most)
        release = planned(plain, numbers, Fraction(1, most))
        assert {1 + len(number.added) for number in release.numbers if number.added} == parts


def test_conditions_that_take_too_long_to_compare_are_no_parts(plain: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it takes is known before any are compared."""
    numbers = ", ".join(f"COUNT_IF(age IN ({3 * age}, {3 * age + 1}))" for age in range(10))
    calls = planned(plain, numbers).query.calls
    conditions = [understood(call.measure.filter) for call in calls]
    assert [each and each.size for each in conditions] == [4] * 10  # one node, of two subjects, and two literals
    for most, parts in ((10 * 40 - 1, 1), (10 * 40, 10)):
        monkeypatch.setattr(layouts, "MAX_COMPARED", most)
        release = planned(plain, numbers, Fraction(1, most))
        assert len({basis.part for basis in release.bases}) == parts


# ---------------------------------------------------------------------------------------------- the error, by law


def deviation(release: ReleasePlan, loads: dict[tuple[str, str], float]) -> float:
    """The standard deviation of Σ load·noise by the exact law, of parts by argument and name, in their units."""
    variance, used = 0.0, set()
    for basis in release.bases:
        for part in basis.parts:
            scale, argument = float(basis.scale(part)), basis.measure.argument
            key = ("*" if argument is None else argument.sql.find(exp.Column).name, part.name)
            if basis.mechanism is cube.MECHANISM:
                of_steps = (basis.sums + 1) * (basis.sums + 2) / 3 * scale**2
            else:
                a = math.exp(-1 / scale)
                of_steps = 2 * a / (1 - a) ** 2
            variance += loads.get(key, 0.0) ** 2 * of_steps / part.unit**2
            used.add(key)
    assert set(loads) <= used, (set(loads), used)
    return math.sqrt(variance)


ROWS, AGE, INCOME = 10_000, 40.0, 34_000.0
T_AGE, T_INCOME = (AGE - 60) / 60, (INCOME - 100_000) / 100_000
FOUR = "COUNT(*), SUM(income), AVG(income), AVG(age)"


@pytest.mark.parametrize(
    ("mechanism", "numbers", "loads", "target"),
    [
        ("auto", "COUNT(*)", {("*", "rows"): 1}, 1.357),
        ("auto", "SUM(income)", {("income", "sum"): 200_000}, 2.83e5),
        ("auto", "AVG(income)", {("income", "low"): 10 * (1 + T_INCOME), ("income", "high"): 10 * (1 - T_INCOME)},
         20 * math.sqrt(1 + T_INCOME**2)),
        ("auto", FOUR, {("*", "count"): 1}, 2.582),
        ("auto", FOUR, {("*", "count"): 100_000, ("income", "centre"): 100_000}, 3.65e5),
        ("auto", FOUR, {("*", "count"): 10 * T_INCOME, ("income", "centre"): 10}, 25.82 * math.sqrt(1 + T_INCOME**2)),
        ("auto", FOUR, {("*", "count"): 0.006 * T_AGE, ("age", "centre"): 0.006}, 0.01549 * math.sqrt(1 + T_AGE**2)),
        ("laplace", "VARIANCE(age)", {("age", "low"): 0.36, ("age", "middle"): -0.24, ("age", "high"): 0.16},
         math.sqrt(2 * (0.36**2 + 0.24**2 + 0.16**2))),
        ("auto", "VARIANCE(age)", {("*", "count"): -0.125, ("age", "square"): 0.125}, math.sqrt(20 / 3 / 32)),
    ],
)  # fmt: skip
def test_the_error_by_the_exact_law_is_the_one_aimed_at(
    mechanism: MechanismChoice, numbers: str, loads: dict[tuple[str, str], float], target: float
) -> None:
    """Within 2 %. With the loads of each number's error on the noises: worked out by hand, not by the product."""
    assert deviation(planned(made(mechanism), numbers), loads) == pytest.approx(target, rel=0.02)


INCOMES = [500 * (i % 250) for i in range(2000)]
AGES = [20 + i % 61 for i in range(2000)]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["laplace", "auto"])
def test_the_error_of_answers_is_that_of_the_law(mechanism: MechanismChoice) -> None:
    """Of real noise, through everything that follows it: within 3 standard errors and 2 %."""
    asked = made(mechanism, SystemNoise(SeededBytes(23)))
    asked.engine.set_rows(
        "t", [("0", str(a), str(i), "0", "NULL", "NULL", "NULL") for a, i in zip(AGES, INCOMES, strict=True)]
    )
    exact = asked.engine.plain("SELECT COUNT(*), SUM(income), AVG(income), AVG(age), VAR_SAMP(age) FROM t")[0]
    count, mean, age, variance = len(AGES), float(exact[2]), float(exact[3]), float(exact[4])
    t_income, t_age = (mean - 100_000) / 100_000, (age - 60) / 60
    square = 2 * (variance / 3600 + t_age**2) - 1
    hub = {"auto": {("*", "count"): 1.0}, "laplace": {("income", "low"): 1.0, ("income", "high"): 1.0}}[mechanism]
    loads: dict[str, list[dict[tuple[str, str], float]]] = {}
    if mechanism == "auto":
        income = {("income", "centre"): 1.0}
        loads[FOUR] = [
            hub, {("*", "count"): 1e5, ("income", "centre"): 1e5}, _scaled(1e5 / count, income, -t_income, hub),
            _scaled(60 / count, {("age", "centre"): 1.0}, -t_age, hub),
        ]  # fmt: skip
        loads["VARIANCE(age)"] = [
            {("*", "count"): 3600 / count * (2 * t_age**2 - square / 2), ("age", "centre"): 3600 / count * 2 * t_age,
             ("age", "square"): 1800 / count},
        ]  # fmt: skip
    else:
        place = mean / 200_000
        loads[FOUR] = [
            hub, {("income", "high"): 2e5},
            {("income", "low"): 2e5 * place / count, ("income", "high"): 2e5 * (1 - place) / count},
            _scaled(60 / count, {("age", "centre"): 1.0}, -t_age, hub),
        ]  # fmt: skip
        u, uu = age / 120, variance / 14_400 + (age / 120) ** 2
        low = 2 * u * u - uu
        unit = 14_400 / count
        loads["VARIANCE(age)"] = [
            {("age", "low"): low * unit, ("age", "middle"): (low - u) * unit, ("age", "high"): (low + 1 - 2 * u) * unit}
        ]
    draws = 1000
    for numbers, of_each in loads.items():
        made_of = planned(asked, numbers)
        truth = exact if numbers == FOUR else (variance,)
        answers = _released(asked, f"SELECT {numbers} FROM t", draws)
        errors = np.sqrt(((answers - np.array(truth[: len(of_each)], dtype=float)) ** 2).mean(axis=0))
        for error, each in zip(errors, of_each, strict=True):
            wanted = deviation(made_of, each)
            assert abs(error / wanted - 1) < 0.02 + 3 * math.sqrt(5 / 4 / draws), (numbers, error, wanted)


def _released(asked: Bench, sql: str, draws: int) -> np.ndarray:
    """The numbers of so many releases of what the engine gave once."""
    compiled = asked.session.plan(sql, epsilon=1)
    (part,), (queries,) = compiled.plan.releases, compiled.inner
    with asked.engine.transaction() as transaction:
        exact = tuple(transaction.fetch(q.sql, q.keys, q.sums, q.counts, {}) for q in queries)
    found = []
    for _ in range(draws):
        columns = released(release(exact, part, queries, asked.noise), part, counts="raw").columns
        found.append([float(columns[number_name(i)][0]) for i in range(len(part.numbers))])
    return np.array(found)


def _scaled(
    by: float, own: dict[tuple[str, str], float], count: float, hub: dict[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    return {key: by * load for key, load in own.items()} | {key: by * count * load for key, load in hub.items()}


# ---------------------------------------------------------------------------------------------- EXPLAIN


def facts(asked: Bench, numbers: str) -> list[dict[str, Any]]:
    text = asked.session.explain(f"SELECT {numbers} FROM t", epsilon=1, analyst="anyone", form="json")
    found: list[dict[str, Any]] = json.loads(text)["releases"][0]["numbers"]
    return found


def test_explain_says_how_mechanisms_are_compared(plain: Bench, auto: Bench) -> None:
    """Where the policy has them compared, and there is another for some number."""
    compared = "mechanisms are compared by the errors of all numbers together, for values spread evenly"
    for asked, numbers, said in (
        (auto, "AVG(age), COUNT(*)", True), (plain, "AVG(age), COUNT(*)", False), (auto, "MAX(age)", False),
    ):  # fmt: skip
        text = asked.session.explain(f"SELECT {numbers} FROM t", epsilon=1, analyst="anyone")
        assert (compared in text) is said
        shown = json.loads(asked.session.explain(f"SELECT {numbers} FROM t", epsilon=1, analyst="anyone", form="json"))
        assert shown["mechanism"] == ("auto" if asked is auto else "laplace")


def test_explain_names_the_mechanism_and_what_the_other_would_do(plain: Bench, auto: Bench) -> None:
    for asked, other in ((plain, auto), (auto, plain)):
        for number, instead in zip(facts(asked, FOUR), facts(other, FOUR), strict=True):
            alternative_ = number["alternative"]
            assert alternative_["mechanism"] == instead["mechanism"] != number["mechanism"]
            for name in ("half_width", "half_width_times_rows", "half_width_times_rows_even"):
                assert alternative_[name] == instead[name]
    text = auto.session.explain(f"SELECT {FOUR} FROM t", epsilon=1, analyst="anyone")
    assert "COUNT(*): ±5 at 95 %; cube, basis total, epsilon 1" in text
    assert "instead with discrete Laplace noise: ±6 at 95 %" in text
    kept = "SELECT COUNT(DISTINCT age), SUM(age), SUM(income) FROM t"
    text = plain.session.explain(kept, epsilon="0.1", analyst="anyone")
    assert re.search(r"DISTINCT.*\n +instead with cube noise for other numbers, epsilon 0.0\d+ for this one: ±", text)


def test_explain_says_of_which_column_values_are_counted_for_rows(plain: Bench, auto: Bench) -> None:
    """Where they are all rows by the policy alone; not where the count of a cube is of rows that meet a condition."""
    assert [number["counted_by"] for number in facts(plain, "COUNT(*), AVG(age)")] == ["AVG(age)", None]
    text = plain.session.explain("SELECT COUNT(*), AVG(age) FROM t", epsilon=1, analyst="anyone")
    assert "counts the rows with a value, as AVG(age) does: all of them, by the policy" in text
    overlapping = ", ".join(f"COUNT(*) FILTER (WHERE age > {age})" for age in (5, 10, 15))
    for asked in (plain, auto):
        found = facts(asked, f"{overlapping}, COUNT(CASE WHEN age > 5 THEN TRUE END)")
        assert [number["counted_by"] for number in found] == [None] * 4
    assert {basis.basis.value for basis in planned(auto, overlapping).bases} == {"total", "valued"}


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ("AVG(age)", ["instead with cube noise: the same"]),
        ("COUNT(*)", ["instead with cube noise: the same"]),
        ("SUM(income)", ["instead with cube noise: the same"]),
        ("COUNT(DISTINCT age)", ["no other mechanism for it"]),
        ("MEDIAN(age), MAX(age)", ["no other mechanism for it"] * 2),
        (
            "MAX(age), COUNT(*)",
            ["instead with cube noise for other numbers: the same", "instead with cube noise: the same"],
        ),
        (
            "COUNT(DISTINCT age), SUM(age)",
            ["instead with cube noise for other numbers: the same", "instead with cube noise: the same"],
        ),
    ],
)
def test_explain_says_where_the_other_error_is_the_same_or_there_is_none(
    auto: Bench, numbers: str, told: list[str]
) -> None:
    text = auto.session.explain(f"SELECT {numbers} FROM t", epsilon=1, analyst="anyone")
    assert [line.strip() for line in text.splitlines() if re.match(" +(instead|no other)", line)] == told
    others = [number["alternative"] for number in facts(auto, numbers)]
    assert all((other is None) == line.startswith("no other") for other, line in zip(others, told, strict=True))


def test_explain_names_the_mechanism_that_other_numbers_would_have(auto: Bench) -> None:
    assert alternative(planned(auto, "COUNT(DISTINCT age)")) is None
    assert "instead with cube noise: ±" in auto.session.explain("SELECT AVG(maybe) FROM t", epsilon=1, analyst="anyone")
    text = auto.session.explain("SELECT COUNT(DISTINCT age), SUM(age), SUM(income) FROM t", epsilon=1, analyst="anyone")
    assert "instead with discrete Laplace noise for other numbers, epsilon 0.35908 for this one: ±8 at 95 %" in text


def test_the_error_of_a_variance_is_a_formula_in_n(plain: Bench, auto: Bench) -> None:
    """Of the worst values, and of those that are spread evenly, times the number of rows."""
    (laplace_,), (cube_,) = facts(plain, "VARIANCE(age)"), facts(auto, "VARIANCE(age)")
    assert laplace_["half_width_times_rows"] == pytest.approx(14_400 * math.log(20), rel=1e-6)
    even = cube.MECHANISM.half_width([1 / 8, 1 / 24], 3, 0.95) * 14_400
    assert cube_["half_width_times_rows_even"] == pytest.approx(even)
    assert cube_["half_width_times_rows_even"] < laplace_["half_width_times_rows_even"]
    assert cube_["half_width"] is None


# ---------------------------------------------------------------------------------------------- the choice


def test_the_choice_is_of_sql_and_policy_alone(auto: Bench) -> None:
    """The same plan whatever rows there are, and whatever was asked before."""

    shown = []
    for rows in ([], VICTIMS, VICTIMS * 30):
        fresh = made("auto")
        fresh.engine.set_rows("t", rows)
        fresh.ask("SELECT COUNT(*) FROM t")
        found = fresh.session.plan(f"SELECT {FOUR}, VARIANCE(age) FROM t", epsilon=1).plan
        shown.append([(b.basis, b.parts, b.epsilon, b.mechanism, b.block) for b in found.releases[0].bases])
    assert shown[0] == shown[1] == shown[2]


def test_where_a_cube_would_not_fit_there_is_laplace_noise(auto: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = planned(auto, FOUR, 2, "u")

    def too_small(plans: object) -> object:
        raise plan.TooSmall("too small")

    monkeypatch.setattr(plan, "_on_one_scale", too_small)
    assert {basis.mechanism.name for basis in usual.bases} == {"cube"}
    release = planned(auto, FOUR, 3, "u")
    assert {basis.mechanism.name for basis in release.bases} == {"discrete Laplace"}
    assert alternative(release) is None


@pytest.mark.parametrize("epsilon", ["1e-8", "1e-6", "1e-3"])
def test_however_small_epsilon_is_a_shared_count_fits(plain: Bench, epsilon: str) -> None:
    release = planned(plain, "COUNT(*), AVG(age), AVG(income)", epsilon, "u")
    assert "centre" in bases(release)
    assert float(release.loss / release.epsilon) > 0.99


def test_many_variances_of_a_cube_are_planned_at_once(auto: Bench) -> None:
    """Each basis goes to coarser grids, one step at a time: what the others have isn't worked out again for each."""
    sql = f"SELECT {', '.join(f'VARIANCE(score * {k})' for k in range(1, 31))} FROM t"
    assert work(auto, sql).calls.total() < 4_000_000
