"""Intervals of arithmetic on several noisy numbers: from the law of the plan's noise, covering, the same each time."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sqlglot import parse_one
from sqlglot.errors import ParseError

from dpsql.errors import UnsupportedQuery
from dpsql.monte_carlo import drawn_ends, draws_of
from dpsql.privacy.fixed_draws import fixed_draws, fixed_selection_draws
from dpsql.privacy.mechanisms import found
from dpsql.privacy.mechanisms.truncated_geometric import KeySelection
from dpsql.privacy.noise import SystemNoise
from dpsql.rewrite.intervals import errors_of
from dpsql.rewrite.lineage import lineage
from dpsql.rewrite.outer import AGGREGATE_FUNCTIONS
from dpsql.wire.feedback import notice
from tests.harness import Bench, ZeroNoise, bench, make_policy
from tests.releases import exact_release, exact_value, many_releases
from tests.seeded import SeededBytes

LEVEL = Fraction(95, 100)
TABLES = """
  people:
    source: t.parquet
    unit: row
    columns:
      age: {type: integer, bounds: [0, 100]}
      income: {type: integer, bounds: [0, 1000], nullable: true}
      married: {type: boolean}
      city: {type: text, keys: [A, B]}
  visits:
    source: t.csv
    unit: {column: person, max_rows: 3}
    columns:
      person: {type: integer}
      cost: {type: double, bounds: [-10, 90]}
      ward: {type: text}
"""
TYPES = {
    "people": {"age": "BIGINT", "income": "BIGINT", "married": "BOOLEAN", "city": "VARCHAR"},
    "visits": {"person": "BIGINT", "cost": "DOUBLE", "ward": "VARCHAR"},
}
ROWS, RELEASES = 400, 1_000


def made(privacy: str = "", counts: str = "raw", noise: object = None) -> Bench:
    policy = make_policy(TABLES, privacy=privacy, counts=counts)
    policy = replace(policy, privacy=replace(policy.privacy, delta=Fraction(1, 1000)))
    one = bench(policy, TYPES, noise or SystemNoise(SeededBytes(8)))
    one.engine.set_rows("people", [
        (str(20 + i % 60), "NULL" if i % 9 == 0 else str(i % 700), str(i % 3 == 0), f"'{'AB'[i % 2]}'")
        for i in range(ROWS)
    ])  # fmt: skip
    one.engine.set_rows("visits", [(str(i // 2), str(i % 80), f"'{i % 2}'") for i in range(ROWS)])
    return one


@pytest.fixture(scope="module")
def laplace() -> Bench:
    return made()


@pytest.fixture(scope="module")
def auto() -> Bench:
    return made(", mechanism: auto")


# ---------------------------------------------------------------------------------------------- coverage


EXPRESSIONS = [
    "SUM(age) / COUNT(*)",
    "AVG(age) - AVG(income)",
    "100.0 * COUNT(*) FILTER (WHERE married) / COUNT(*)",
    "COUNT(*) * 2 + 1",
    "SUM(income) + SUM(age)",
    "ROUND(AVG(age), 6)",
    "STDDEV(age) / AVG(age)",
    "CASE WHEN COUNT(*) > 0 THEN SUM(income) ELSE 0 END",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "mechanism"), [*((sql, "laplace") for sql in EXPRESSIONS), *((sql, "auto") for sql in EXPRESSIONS[::2])]
)
def test_an_expression_is_covered_as_promised(sql: str, mechanism: str, laplace: Bench, auto: Bench) -> None:
    """In 95 % of releases, within five standard errors of 1,000; linear or not, by Laplace or by cube noise."""
    one = laplace if mechanism == "laplace" else auto
    statement = f"SELECT {sql} AS e FROM people"
    compiled = one.session.plan(statement, epsilon=1)
    plan, errors = compiled.plan.releases[0], errors_of(compiled.plan)
    assert errors is not None
    ((_, tree),) = errors.expressions
    exact = exact_release(one, compiled)
    truth = exact_value(tree, plan, exact)
    ((low, high),) = drawn_ends(many_releases(plan, exact, RELEASES), plan, [tree], LEVEL, np.arange(RELEASES))
    covered = float(np.mean((low <= truth) & (truth <= high)))
    most = 0.999 if sql.startswith("COUNT(*) *") else 0.9845  # whole numbers: as many as the least that covers
    assert 0.9155 <= covered <= most, covered


# ---------------------------------------------------------------------------------------------- the draws


@pytest.mark.parametrize("name", sorted(found()))
def test_draws_have_the_law_of_the_mechanism_and_no_bias(name: str) -> None:
    """Variances within five standard errors of 40,000 draws; the same again, others of another stream."""
    mechanism, scale, count = found()[name], Fraction(1000), 40_000
    draws = fixed_draws(mechanism, [scale] * 3, count, stream=1)
    for part in draws:
        assert len(part) == count and part.sum() == 0
        variance = float(np.mean(part.astype(float) ** 2)) / float(scale) ** 2
        assert variance == pytest.approx(mechanism.variance(3), rel=0.06)
        assert np.mean(np.abs(part) > float(scale) * mechanism.half_width([1.0], 3, 0.95)) == pytest.approx(
            0.05, abs=0.008
        )
    again, other = (fixed_draws(mechanism, [scale] * 3, count, stream=stream) for stream in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(draws, again, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(draws, other, strict=True))
    joint = np.mean(np.abs(draws[0].astype(float)) * np.abs(draws[1].astype(float))) / float(scale) ** 2
    apart = np.mean(np.abs(draws[0].astype(float))) * np.mean(np.abs(draws[1].astype(float))) / float(scale) ** 2
    assert (joint > 1.05 * apart) == (name == "cube"), "the sums of a cube share a radius, those of Laplace nothing"


def test_draws_of_a_selection_stay_within_its_bound() -> None:
    selection = KeySelection(Fraction(1, 2), Fraction(1, 100))
    draws = fixed_selection_draws(selection, 20_000, stream=0)
    assert draws.max() == selection.bound == -draws.min()
    assert draws.sum() == 0 and len(draws) == 20_000


def test_how_many_draws_are_made() -> None:
    assert draws_of(1, LEVEL) == draws_of(1_000, LEVEL) == 4_000
    assert draws_of(5_000, LEVEL) == 800 and draws_of(10_000, LEVEL) == 400 and draws_of(10_001, LEVEL) == 0
    assert draws_of(1, Fraction(99999, 100000)) == 2_000_000 and draws_of(3, Fraction(99999, 100000)) == 0
    assert draws_of(0, LEVEL) == 4_000


# ---------------------------------------------------------------------------------------------- in answers


def test_an_expression_has_the_interval_that_sql_gives_it_and_always_the_same(laplace: Bench) -> None:
    sql = """SELECT city, SUM(age) / COUNT(*) AS r, DP_INTERVAL_LOW(r) AS low, DP_INTERVAL_HIGH(r, 0.95) AS high,
        DP_INTERVAL_LOW(r, 0.5) AS half FROM people GROUP BY city ORDER BY r"""
    answer = laplace.ask(sql)
    column = answer.columns[1]
    assert column.half_width is None and column.intervals is not None and column.half_widths is not None
    assert column.intervals.pairs == tuple((low, high) for _, _, low, high, _ in answer.rows)
    for (_, ratio, low, high, half), width in zip(answer.rows, column.half_widths, strict=True):
        assert low < half < ratio < high
        assert width == max(ratio - low, high - ratio)
    assert [made().ask(sql).rows for _ in range(2)] == [made().ask(sql).rows] * 2, "the same noise, the same draws"


def test_half_widths_of_linear_expressions_are_those_of_their_formula(laplace: Bench) -> None:
    """At ε = 1/2 the numbers have noise of scale 2, or 200 in the unit of a sum: 4,000 draws know it to 8 %."""
    answer = laplace.ask("SELECT COUNT(*) AS n, COUNT(*) * -3.0 AS m, city FROM people GROUP BY city", "0.01")
    assert answer.columns[0].half_width is not None and answer.columns[1].half_widths is not None
    for width in answer.columns[1].half_widths:
        assert width == pytest.approx(3 * answer.columns[0].half_width, rel=0.08)


def test_rows_keep_their_intervals_wherever_they_go(laplace: Bench) -> None:
    numbers = "married, city, AVG(age) AS a, STDDEV(age) AS s, AVG(age) - 1 AS b, COUNT(*) AS n"
    groups = "FROM people GROUP BY married, city"
    plain = made().ask(f"SELECT {numbers} {groups}")
    sorted_ = made().ask(f"SELECT {numbers} {groups} HAVING COUNT(*) > 100 ORDER BY n DESC, 2")
    known = {row[:2]: index for index, row in enumerate(plain.rows)}
    places = [known[row[:2]] for row in sorted_.rows]
    assert places and places != sorted(places)
    for before, after in zip(plain.columns[2:], sorted_.columns[2:], strict=True):
        assert before.intervals is not None and after.intervals is not None
        assert after.intervals.pairs == tuple(before.intervals.pairs[place] for place in places)
        if before.half_widths is not None:
            assert after.half_widths == tuple(before.half_widths[place] for place in places)


def test_the_mean_of_nobody_is_in_its_interval() -> None:
    one = made()
    for _ in range(100):
        ((mean, low, high),) = one.ask(
            "SELECT AVG(income) AS m, DP_INTERVAL_LOW(m), DP_INTERVAL_HIGH(m) FROM people WHERE age = 99", "0.5"
        ).rows
        assert low <= mean <= high


def test_the_day_may_be_part_of_an_expression_whose_interval_is_asked_for(laplace: Bench) -> None:
    """It is a literal everywhere over noisy numbers: also in subqueries whose value rows are compared with."""
    sql = """SELECT city, SUM(age) / COUNT(*) AS r, DP_INTERVAL_LOW(r) AS l,
        SUM(age) / COUNT(*) + DATE_DIFF('day', DATE '2026-01-01', CURRENT_DATE) AS d, DP_INTERVAL_LOW(d),
        DP_INTERVAL_HIGH(d), DATE_DIFF('day', DATE '2026-01-01', CURRENT_DATE) AS days FROM people GROUP BY city"""
    answer = laplace.ask(sql)
    assert answer.columns[3].intervals is not None
    for row, pair in zip(answer.rows, answer.columns[3].intervals.pairs, strict=True):
        _, ratio, low, moved, moved_low, moved_high, days = row
        assert (moved, moved_low) == pytest.approx((ratio + days, low + days))
        assert pair == (moved_low, moved_high)
    after = "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) + DATE_DIFF('day', CURRENT_DATE, {}) FROM people)"
    (everyone,), (nobody,) = (laplace.ask(after.format(f"DATE '{year}-01-01'"), 50).rows[0] for year in (1900, 3000))
    assert abs(nobody) < 9 < ROWS - 9 < everyone


def test_a_release_that_uses_another_has_its_own_intervals(laplace: Bench) -> None:
    sql = "SELECT AVG(age) AS a, STDDEV(age) AS s FROM people WHERE age < (SELECT AVG(age) + 5 FROM people)"
    answer = laplace.ask(sql, 20)
    for value, column in zip(answer.rows[0], answer.columns, strict=True):
        assert column.intervals is not None
        ((low, high),) = column.intervals.pairs  # type: ignore[misc]
        assert low < value < high < low + 10


def test_a_clamped_count_has_the_interval_of_the_raw_one() -> None:
    one = made(counts="clamp")
    one.engine.set_rows("people", [])
    answers = [one.ask("SELECT COUNT(*) AS n, COUNT(*) + 0 AS m FROM people") for _ in range(30)]
    seen = {(row.rows[0][0], *(column.intervals.pairs[0] for column in row.columns)) for row in answers}  # type: ignore[union-attr]
    assert any(n == 0 and low + 3 < 0 for n, (low, _), _ in seen)
    assert all(whole == drawn for _, whole, drawn in seen)


def test_an_end_that_may_be_anything_is_not_known_and_the_other_is() -> None:
    """A count of nobody is 0 in many draws: what is divided by it has no upper end. What is NULL itself has none."""
    one = made(noise=ZeroNoise())
    nobody = "COUNT(*) FILTER (WHERE age > 99)"
    sql = f"SELECT 1.0 / {nobody} AS some, LN({nobody}) AS log, NULLIF(COUNT(*) * 0, 0) AS null_ FROM people"
    some, log, null = (column.intervals for column in one.ask(sql).columns)
    assert some is not None and log is not None and null is not None
    ((low, none),), ((no, high),) = some.pairs, log.pairs  # type: ignore[misc]
    assert low == -1 and none is no is None and high is not None and 0 < high < 3
    assert null.pairs == (None,) and some.half_widths == log.half_widths == null.half_widths == (None,)
    asked = one.ask(f"SELECT LN({nobody}) AS c, DP_INTERVAL_LOW(c) AS l, DP_INTERVAL_HIGH(c) AS h FROM people")
    assert asked.rows[0][1] is None and asked.rows[0][2] > 0


@pytest.mark.parametrize(("value", "ends"), [("age - 0", (0, None)), ("-age", (None, 0)), ("age + 1", (0, 9))])
def test_what_is_divided_by_a_mean_that_may_be_0_is_open_on_its_side(value: str, ends: tuple[object, ...]) -> None:
    """0 / 0 is taken for 0 over the least that the mean can be."""
    one = made(noise=ZeroNoise())
    one.engine.set_rows("people", [("0", "1", "true", "'A'")] * 3)
    (column,) = one.ask(f"SELECT STDDEV(age) / AVG({value}) FROM people").columns
    assert column.intervals is not None and column.intervals.pairs[0] is not None
    low, high = column.intervals.pairs[0]
    assert (low is None, high is None) == (ends[0] is None, ends[1] is None)
    assert 0 in (low, high)


def test_a_number_is_shown_where_draws_of_it_are_too_large() -> None:
    """What is charged is answered: 400 times this is a BIGINT, 403 times isn't."""
    one = made(noise=ZeroNoise())
    result = one.ask("SELECT COUNT(*) * 22900000000000000 AS large, COUNT(*) / 2 AS half FROM people")
    assert result.rows == [(400 * 22_900_000_000_000_000, 200.0)]
    large, half = (column.half_widths for column in result.columns)
    assert large == (None,) and half == (1.5,)


def test_a_cte_that_reads_an_outer_one_of_its_name_has_its_intervals(laplace: Bench) -> None:
    below = "WITH c AS (SELECT city, COUNT(*) AS n FROM people GROUP BY city)"
    (plain,) = laplace.ask(f"{below} SELECT n * 2 AS m FROM c").columns
    (named,) = laplace.ask(f"{below} SELECT m FROM (WITH c AS (SELECT n * 2 AS m FROM c) SELECT m FROM c) AS d").columns
    assert named.half_widths == plain.half_widths != (None, None)


def test_keys_that_are_selected_have_intervals_too() -> None:
    one = made()
    answer = one.ask(
        "SELECT ward, COUNT(DISTINCT person) AS n, SUM(cost) / COUNT(*) AS c FROM visits GROUP BY ward", 20
    )
    assert [row[0] for row in answer.rows] == ["0", "1"]
    units, ratio = (column.intervals for column in answer.columns[1:])
    assert units is not None and ratio is not None
    for (_, _, value), (low, high) in zip(answer.rows, ratio.pairs, strict=True):  # type: ignore[misc]
        assert low < value < high < low + 5


def test_numbers_of_units_near_the_threshold_are_covered_as_promised() -> None:
    """Of the keys that are shown, nearly all because their noise was high: by themselves, and in an expression."""
    one = made()
    ask = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1) ward, COUNT(DISTINCT person) AS n, "
    ask += "100 - 2 * COUNT(DISTINCT person) AS rest, DP_INTERVAL_LOW(n) AS low FROM visits GROUP BY ward"
    people = [(f"{7 * ward + person}", "1", f"'w{ward}'") for ward in range(2000) for person in range(7)]
    one.engine.set_rows("visits", people)
    answer = one.ask(ask, 0.8)
    units, rest = (column.intervals for column in answer.columns[1:3])
    assert units is not None and rest is not None
    shown = len(answer.rows)
    assert answer.privacy.threshold is not None and answer.privacy.threshold > 7 and shown > 100
    assert [low for low, _ in units.pairs] == [row[3] for row in answer.rows]  # type: ignore[misc]
    for truth, intervals in ((7, units), (86, rest)):
        covered = sum(low <= truth <= high for low, high in intervals.pairs)  # type: ignore[misc]
        assert covered / shown >= 0.95 - 5 * math.sqrt(0.05 * 0.95 / shown)
    assert answer.columns[1].half_width is None, "it isn't the same for all"
    assert "at 95 %, more near the threshold" in one.session.explain(ask, epsilon=1, analyst="a")


@pytest.mark.parametrize(
    "item",
    ["RANK() OVER (ORDER BY COUNT(*))", "SUM(COUNT(*)) OVER ()", "COUNT(*) > 5", "CAST(COUNT(*) AS VARCHAR)",
     "COUNT(*) + (SELECT COUNT(*) FROM people)", "city", "UPPER(city)", "1"],
)  # fmt: skip
def test_what_has_no_interval_has_none(item: str, laplace: Bench) -> None:
    answer = laplace.ask(f"SELECT {item} AS i, COUNT(*) FROM people GROUP BY city")
    assert answer.columns[0].intervals is None and answer.columns[0].half_widths is None
    assert answer.columns[1].intervals is not None


G = "WITH g AS (SELECT city, COUNT(*) AS c, SUM(age) AS s FROM people GROUP BY city) "


@pytest.fixture(scope="module")
def exact() -> Bench:
    return made(noise=ZeroNoise())


@pytest.mark.parametrize(
    ("direct", "through"),
    [
        ("city, COUNT(*) AS c, SUM(age) AS s", "SELECT * FROM g LIMIT 1000"),
        ("COUNT(*) AS c, city AS t", "SELECT q.c, t FROM (SELECT c, city AS t FROM g ORDER BY 1 LIMIT 9) q WHERE c>1"),
        ("SUM(age) / COUNT(*) AS m", "SELECT x / y AS m FROM (SELECT * FROM (SELECT * FROM g) AS q) AS h(w, y, x)"),
        ("COUNT(*) AS d, 2 * COUNT(*) AS e", "SELECT c AS d, 2 * d AS e FROM g"),
        ("COUNT(*) AS c, DP_INTERVAL_LOW(c, 0.9) AS low", "SELECT c, DP_INTERVAL_LOW(c, 0.9) AS low FROM g"),
        ("2 * COUNT(*) AS d, DP_INTERVAL_HIGH(d) AS high",
         "SELECT *, DP_INTERVAL_HIGH(d) AS high FROM (SELECT 2 * c AS d FROM g WHERE DP_INTERVAL_LOW(c) < 1e9) AS q"),
        ("COUNT(*) AS c", "SELECT c FROM g WHERE c < (SELECT SUM(c) FROM (SELECT * FROM g, (SELECT 1 AS o) o) u)"),
    ],
)  # fmt: skip
def test_a_subquery_s_columns_have_the_intervals_that_they_have_in_the_select_of_the_aggregates(
    direct: str, through: str, exact: Bench
) -> None:
    mine, other = exact.ask(f"SELECT {direct}, COUNT(*), SUM(age) FROM people GROUP BY city"), exact.ask(G + through)
    assert sorted(row[:-2] for row in mine.rows) == sorted(other.rows)
    for one, same in zip(mine.columns[:-2], other.columns, strict=True):
        assert one == same  # name, type, half-width, whether it is noisy
        assert (one.intervals is None) == (same.intervals is None)
        if one.intervals is not None and same.intervals is not None:
            assert sorted(one.intervals.pairs) == sorted(same.intervals.pairs)  # type: ignore[type-var]


def test_rows_that_are_no_rows_of_a_release_have_no_intervals(exact: Bench) -> None:
    several = ["SELECT SUM(c) AS c FROM g", "SELECT c FROM g UNION ALL SELECT c FROM g", "SELECT favg(c) FROM g",
               "SELECT a.c FROM g AS a JOIN g AS b USING (city)", "SELECT DISTINCT c + 1 FROM g",
               "SELECT SUM(c) OVER () FROM g", "SELECT (SELECT MAX(c) FROM g) FROM g"]  # fmt: skip
    doubling = "SELECT c FROM g"
    for _ in range(12):
        doubling = f"SELECT c + c AS c FROM ({doubling}) AS q"
    for sql in (*several, doubling):
        assert exact.ask(G + sql).columns[0].intervals is None, sql


@pytest.mark.parametrize("arguments", ["c", "c, c", "c, 0.5"])
def test_each_aggregate_of_released_numbers_is_taken_for_one(arguments: str) -> None:
    release = 'SELECT "_dpsql_number_0" AS c FROM "_dpsql_release_0"'
    assert lineage(parse_one(f"SELECT ABS(c) AS x FROM ({release}) AS q", dialect="duckdb")) is not None
    for name in AGGREGATE_FUNCTIONS:
        with suppress(ParseError):
            tree = parse_one(f"SELECT 1 + {name}({arguments}) AS x FROM ({release}) AS q", dialect="duckdb")
            assert lineage(tree) is None, name


def test_intervals_that_take_too_many_draws_are_refused_and_cost_nothing(laplace: Bench) -> None:
    charged = len(laplace.ledger.charges)
    sql = "SELECT age, income, COUNT(*) + 1 AS n, DP_INTERVAL_LOW(n) AS l FROM people GROUP BY age, income"
    with pytest.raises(UnsupportedQuery, match=r"takes too many draws: at level 0\.95, for 101,202 groups"):
        laplace.ask(sql)
    with pytest.raises(UnsupportedQuery, match=r"too many draws: at level 0\.9999999, for 1 group"):
        laplace.ask("SELECT COUNT(*) + 1 AS n, DP_INTERVAL_LOW(n, 0.9999999) AS l FROM people")
    assert len(laplace.ledger.charges) == charged
    answer = laplace.ask("SELECT age, income, COUNT(*) + 1 AS n FROM people GROUP BY age, income LIMIT 3")
    assert None not in answer.columns[2].intervals.pairs, "only those of the rows that are shown are drawn"  # type: ignore[union-attr]


# ---------------------------------------------------------------------------------------------- error columns


@pytest.fixture(scope="module")
def plotted() -> Bench:
    return made(", error_columns: true", counts="clamp")


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT COUNT(*) AS n, city FROM people GROUP BY city", "n n_low n_high city"),
        ("SELECT city, AVG(age), SUM(age) / COUNT(*) AS r FROM people GROUP BY 1",
         "city avg avg_low avg_high r r_low r_high"),
        ("SELECT COUNT(*) AS n, AVG(age) AS n_low, VARIANCE(age) AS v FROM people",
         "n n_high n_low n_low_low n_low_high v v_low v_high"),
        ("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n, 0.5) AS N_LOW, DP_INTERVAL_HIGH(n) AS n_high FROM people",
         "n N_LOW n_high"),
        ("SELECT COUNT(*) AS n, COUNT(*) AS n FROM people", "n n_low n_high n"),
        ("SELECT 1 AS one, RANK() OVER (ORDER BY COUNT(*)) AS r, COUNT(*) > 2 AS b FROM people", "one r b"),
        ("SELECT DISTINCT COUNT(*) AS n FROM people", "n"),
        ("SELECT * FROM (SELECT n, n + 1 AS m FROM (SELECT COUNT(*) AS n FROM people) AS q) AS r ORDER BY 2",
         "n n_low n_high m m_low m_high"),
        ("SELECT n FROM (SELECT COUNT(*) AS n FROM people) AS q, (SELECT 1 AS one) AS r", "n"),
        ("SELECT 1 AS n", "n"),
    ],
)  # fmt: skip
def test_error_columns_follow_theirs_but_where_a_name_is_taken(sql: str, names: str, plotted: Bench) -> None:
    assert [column.name for column in plotted.ask(sql).columns] == names.split()


def test_error_columns_are_the_ends_of_the_interval_at_the_level_of_the_answer(plotted: Bench) -> None:
    sql = "SELECT city, COUNT(*) AS n, AVG(age) AS a, COUNT(*) / 2 AS h FROM people GROUP BY city ORDER BY 3 DESC, 1"
    answer = plotted.session.execute(sql, epsilon=1, level=0.5, analyst="a")
    types = [column.type for column in answer.columns]
    assert types == ["VARCHAR", *["BIGINT"] * 3, *["DOUBLE"] * 6]
    assert [row[4] for row in answer.rows] == sorted((row[4] for row in answer.rows), reverse=True)
    for index in (1, 4, 7):
        intervals = answer.columns[index].intervals
        assert intervals is not None
        assert intervals.pairs == tuple((row[index + 1], row[index + 2]) for row in answer.rows)
        assert answer.columns[index + 1].intervals is None
        assert not intervals.drawn, "what stands in the row isn't drawn again"
    told = notice(answer, plotted.session.policy.budget)
    assert told is not None and all(f"{name} " in told for name in "nah")
    wide = plotted.session.execute(sql, epsilon=1, analyst="a")
    assert all(b - a < d - c for (*_, a, b), (*_, c, d) in zip(answer.rows, wide.rows, strict=True))


def test_error_columns_add_nothing_to_what_is_released(plotted: Bench, laplace: Bench) -> None:
    sql = "SELECT city, COUNT(*) AS n, SUM(age) / COUNT(*) AS r FROM people GROUP BY city"
    with_, without = (one.session.plan(sql, epsilon=1) for one in (plotted, laplace))
    assert with_.plan.charge == without.plan.charge
    assert [inner.sql for inner in with_.inner[0]] == [inner.sql for inner in without.inner[0]]
    assert with_.plan.releases[0].bases == without.plan.releases[0].bases


def test_error_columns_of_many_groups_leave_expressions_out(plotted: Bench) -> None:
    sql = "SELECT age, income, COUNT(*) AS n, COUNT(*) + 1 AS m FROM people GROUP BY age, income LIMIT 1"
    assert [c.name for c in plotted.ask(sql).columns] == ["age", "income", "n", "n_low", "n_high", "m"]
