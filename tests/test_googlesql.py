"""GoogleSQL's clause and bounds: each release has the ε that it asks for, and no other; the rest is refused by name."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpsql.audit.replay import RecordingNoise, realised_loss, record
from dpsql.errors import Error, InvalidParameter
from tests import grammar
from tests.harness import Bench, ZeroNoise, bench, make_policy

DIALECTS = ("duckdb", "postgres", "bigquery", "spark")
ROWS = [{"k": "1", "n": "7", "big": "-50"}, {"k": "2", "n": "3", "big": "40"}, {"k": "1", "n": "9", "big": "NULL"}]


def _row(**values: str) -> tuple[str, ...]:
    plain = {name: options[-1] for name, options in grammar.WITHIN.items()}
    return tuple({**plain, **values}[name] for name in grammar.COLUMNS)


@pytest.fixture(scope="module", params=DIALECTS)
def made(request: pytest.FixtureRequest) -> Bench:
    found = bench(make_policy(grammar.TABLES, dialect=request.param), grammar.TYPES, ZeroNoise())
    found.engine.set_rows("t", [_row(**row) for row in ROWS])
    return found


CLAUSE = "SELECT WITH DIFFERENTIAL_PRIVACY"


@pytest.mark.parametrize(
    ("sql", "charged"),
    [
        (f"{CLAUSE} COUNT(*) FROM t", "2"),
        (f"{CLAUSE} OPTIONS() COUNT(*) FROM t", "2"),
        (f"{CLAUSE} OPTIONS(epsilon = NULL) COUNT(*) FROM t", "2"),
        (f"{CLAUSE} OPTIONS(epsilon = .25) COUNT(*) FROM t", "0.25"),
        (f"{CLAUSE} OPTIONS(EPSILON=1e-1, delta=0.5) COUNT(*) FROM t", "0.1"),
        (f"{CLAUSE} OPTIONS(epsilon = 0.5) COUNT(*) FROM t UNION ALL SELECT COUNT(*) FROM t", "2.5"),
        (f"{CLAUSE} OPTIONS(epsilon = 0.5) COUNT(*), (SELECT COUNT(*) FROM t), (SELECT SUM(n) FROM t) FROM t", "2.5"),
        (f"WITH q AS ({CLAUSE} OPTIONS(epsilon = 3) COUNT(*) AS c FROM t) SELECT c + 1, c FROM q", "3"),
        (
            f"{CLAUSE} OPTIONS(epsilon = 1) COUNT(*) FROM t WHERE n > 1 AND (n < 9 OR n > "
            f"({CLAUSE} OPTIONS(epsilon = 0.5) AVG(n) FROM t WHERE n > 2))",
            "1.5",
        ),
        (f"{CLAUSE} OPTIONS(epsilon = 3) k FROM t GROUP BY k", "0"),
        ("SELECT COUNT(*, epsilon => 0.25), SUM(n, epsilon => 0.5) FROM t", "0.75"),
        ("SELECT COUNT(*, epsilon => 0.25), SUM(n) FROM t", "2"),
        (f"{CLAUSE} OPTIONS(epsilon = 5) COUNT(*, Epsilon=>1e-1), AVG(n) FROM t", "5"),
        (f"{CLAUSE} OPTIONS(epsilon = 5) COUNT(*, epsilon => 0.1) FROM t", "0.1"),
        ("SELECT k, SUM(n, epsilon => 0.3) AS s FROM t GROUP BY k HAVING SUM(n) > 3 ORDER BY SUM(n, epsilon => 0.3)",
         "0.3"),
        ("SELECT (SELECT COUNT(*, epsilon => 0.5) FROM t), COUNT(*) FROM t", "2"),
        ("SELECT SUM(n, epsilon => 2) FROM t", "2"),
    ],
)  # fmt: skip
def test_a_release_is_charged_what_it_asks_for(made: Bench, sql: str, charged: str) -> None:
    plan = made.session.plan(sql, epsilon=2).plan
    assert plan.epsilon == sum((release.epsilon for release in plan.releases), Fraction(0)) == Fraction(charged)
    before = len(made.ledger.charges)
    made.ask(sql, 2)
    assert made.ledger.charges[before:] == ([Fraction(charged)] if Fraction(charged) else [])


def test_the_noise_of_each_release_is_that_of_its_epsilon(made: Bench) -> None:
    sql = (
        f"SELECT a, b FROM ({CLAUSE} OPTIONS(epsilon = 4) COUNT(*) AS a FROM t) AS p "
        "CROSS JOIN (SELECT SUM(n) AS b FROM t) AS q "
        f"CROSS JOIN ({CLAUSE} OPTIONS(epsilon = 0.5) COUNT(*) AS c FROM t WHERE n > 2) AS r"
    )
    plan = made.session.plan(sql, epsilon="0.2").plan
    scales = [r.bases[0].scale(r.bases[0].parts[0]) for r in plan.releases]
    assert scales == [Fraction(1, 4), Fraction(10) / Fraction("0.2"), Fraction(2)]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT SUM(big, contribution_bounds_per_row => (-10, 20)) FROM t", [(10,)]),
        ("SELECT SUM(n, CONTRIBUTION_BOUNDS_PER_ROW => (0, 5)), COUNT(n) FROM t", [(13, 3)]),
        ("SELECT SUM(DISTINCT n, contribution_bounds_per_row => (0, 5)) FROM t", [(8,)]),
        ("SELECT AVG(big, contribution_bounds_per_row => (-10, 20)) FROM t", [(5.0,)]),
        (f"{CLAUSE} k, SUM(n, contribution_bounds_per_row => (0, 8)) AS s FROM t GROUP BY 1 ORDER BY 1",
         [(1, 15), (2, 3), (3, 0)]),
        (f"{CLAUSE} k, SUM(n) AS s FROM t WHERE n > 5 OR n < 0 GROUP BY k HAVING SUM(n) > 3", [(1, 16)]),
        ("SELECT SUM(n, contribution_bounds_per_group => (0, 5)) AS s FROM t", [(13,)]),
        ("SELECT COUNT(*, contribution_bounds_per_group => (0, 1)), COUNT(big, contribution_bounds_per_row=>(-1, 5)), "
         "SUM(n, contribution_bounds_per_row => (0, (5))) FROM t", [(3, 2, 13)]),
        ("SELECT SUM(CLIP(n * 2, 0, 15)) FROM t", [(35,)]),
        ("SELECT COUNT(CLIP(big, 0, 1)) FROM t", [(2,)]),
    ],
)  # fmt: skip
def test_bounds_move_each_value(made: Bench, sql: str, rows: list) -> None:
    assert made.ask(sql, 10**6).rows == [pytest.approx(row) for row in rows]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT SUM(n, epsilon => 900000) FILTER (WHERE n > 5 OR n < 0), COUNT(*) FROM t", [(16, 3)]),
        ("SELECT SUM(big, epsilon => 1000, contribution_bounds_per_row => (-10, 20)) FROM t", [(10,)]),
        ("SELECT SUM(n, contribution_bounds_per_row => (0, 5), epsilon => 1000), COUNT(DISTINCT k, epsilon => 9000) "
         "FROM t", [(13, 2)]),
        ("SELECT ABS(SUM(n, epsilon => 1000)) + 1, COUNT(*, epsilon => 1000) AS c FROM t", [(20, 3)]),
        ("SELECT k, AVG(n, epsilon => 1000) AS s FROM t GROUP BY k HAVING AVG(n, epsilon => 1000) > 5", [(1, 8.0)]),
    ],
)  # fmt: skip
def test_an_epsilon_of_its_own_changes_nothing_else(made: Bench, sql: str, rows: list) -> None:
    assert made.ask(sql, 10**6).rows == [pytest.approx(row, rel=1e-3) for row in rows]


def test_an_aggregate_has_the_noise_of_its_own_epsilon(made: Bench) -> None:
    """One without is the same number as one that was asked for with an ε before."""
    sql = "SELECT AVG(n), COUNT(*, epsilon => 0.25) AS c, AVG(n, epsilon => 0.5) AS s, COUNT(*) FROM t"
    (release,) = made.session.plan(sql, epsilon=2).plan.releases
    of_each = [release.bases[number.basis].epsilon for number in release.numbers]
    assert of_each == [Fraction(5, 4), Fraction(1, 4), Fraction(1, 2)]
    assert release.loss <= release.epsilon == 2
    assert sum(bases[0].epsilon for bases in release.blocks) == 2


@pytest.mark.parametrize(("condition", "rows"), [("? = '7'", 0), ("? = '0'", 0), ("NOT ? = '0'", 3)])
def test_a_parameter_that_spells_the_mark_is_a_text(made: Bench, condition: str, rows: int) -> None:
    """Where a translation needs its value, the statement is refused."""
    sql = f"{CLAUSE} OPTIONS(epsilon = 1000000) COUNT(*) FROM t WHERE {condition} AND n IS NOT NULL"
    if made.policy.dialect in ("duckdb", "bigquery"):
        assert made.ask(sql, 1, ("_dpsql_options",)).rows == [(rows,)]
    if made.policy.dialect == "bigquery":
        with pytest.raises(Error, match="reserved"):
            made.ask(f"{sql} AND n > 1 + ?", 1, ("_dpsql_options", 3))
        assert made.ask("SELECT COUNT(*) FROM t WHERE ? = '0'", 10**6, ("_dpsql_options",)).rows == [(0,)]
        with pytest.raises(Error, match="reserved"):
            sql = f"SELECT COUNT(*, epsilon => 0.5) FROM t WHERE {condition} AND n > 1 + ?"
            made.ask(sql, 1, ("_dpsql_epsilon", 3))


def test_bounds_may_be_parameters(made: Bench) -> None:
    sql = "SELECT SUM(big, contribution_bounds_per_row => (?, ?)) FROM t WHERE n > ?"
    if made.policy.dialect in ("duckdb", "bigquery"):
        assert made.ask(sql, 10**6, (-10, 20, 1)).rows == [(10,)]


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        (f"{CLAUSE} OPTIONS(foo = 0) COUNT(*) FROM t", "foo"),
        (f"{CLAUSE} OPTIONS(min_privacy_units_per_group = 3) COUNT(*) FROM t", "min_privacy_units_per_group"),
        (f"{CLAUSE} OPTIONS(group_selection_strategy = LAPLACE_THRESHOLD) COUNT(*) FROM t", "LAPLACE_THRESHOLD"),
        (f"{CLAUSE} OPTIONS(epsilon = 1, Epsilon = 1) COUNT(*) FROM t", "Epsilon"),
        (f"{CLAUSE} OPTIONS(epsilon = 0) COUNT(*) FROM t", "epsilon"),
        (f"{CLAUSE} OPTIONS(epsilon = -1) COUNT(*) FROM t", "epsilon"),
        (f"{CLAUSE} OPTIONS(epsilon = 1 + 1) COUNT(*) FROM t", "epsilon"),
        (f"{CLAUSE} OPTIONS(epsilon = n) COUNT(*) FROM t", "epsilon"),
        (f"{CLAUSE} OPTIONS(epsilon = 1 2) COUNT(*) FROM t", "1 2 is not a number"),
        (f"{CLAUSE} OPTIONS(epsilon = 1 .5) COUNT(*) FROM t", "is not a number"),
        ("SELECT SUM(n, contribution_bounds_per_row => (0, 1), contribution_bounds_per_row => (0, 2)) FROM t", "twice"),
        (f"{CLAUSE} OPTIONS(epsilon = '1') COUNT(*) FROM t", "epsilon"),
        (f"{CLAUSE} OPTIONS(epsilon = 1e-12) COUNT(*) FROM t", "1e-9"),
        (f"{CLAUSE} OPTIONS(delta = 2) COUNT(*) FROM t", "delta"),
        (f"{CLAUSE} OPTIONS(max_groups_contributed = 0) COUNT(*) FROM t", "max_groups_contributed"),
        (f"{CLAUSE} OPTIONS(max_groups_contributed = 1, max_rows_contributed = 1) COUNT(*) FROM t", "max_rows"),
        (f"{CLAUSE} OPTIONS(privacy_unit_column = nothing) COUNT(*) FROM t", "nothing"),
        (f"{CLAUSE} OPTIONS(privacy_unit_column = k) COUNT(*) FROM t", "k"),
        (f"{CLAUSE} OPTIONS(privacy_unit_column = big + 1) COUNT(*) FROM t", "privacy_unit_column"),
        (f"{CLAUSE} OPTIONS(privacy_unit_column = q) COUNT(*) FROM (SELECT n + 1 AS q FROM t) AS u", "q"),
        (f"{CLAUSE} OPTIONS(epsilon) COUNT(*) FROM t", "name = value"),
        (f"{CLAUSE} OPTIONS(, ) COUNT(*) FROM t", "name = value"),
        (f"{CLAUSE} OPTIONS(epsilon = 1 COUNT(*) FROM t", "bracket"),
        (f"{CLAUSE} OPTIONS(epsilon = 1)", "valid SQL|no columns"),
        (f"{CLAUSE} FROM t", "no columns"),
        (f"{CLAUSE} n FROM t", "aggregates no private table"),
        (f"{CLAUSE} 1", "aggregates no private table"),
        (f"{CLAUSE} SUM(c) FROM (SELECT COUNT(*) AS c FROM t) AS q", "aggregates no private table"),
        (f"SELECT SUM(a) FROM ({CLAUSE} n AS a FROM t) AS q", "aggregates no private table"),
        (f"{CLAUSE} COUNT(*) AS _dpsql_options_0 FROM t", "reserved"),
        (f"{CLAUSE} COUNT(*) FROM t WHERE '_dpsql_options' = '0'", "reserved"),
        ("SELECT SUM(n, contribution_bounds_per_group => 3) FROM t", "contribution_bounds_per_group"),
        ("SELECT COUNT(*, contribution_bounds_per_group => (2, 3)) FROM t", "holds no 1"),
        ("SELECT COUNT(*, contribution_bounds_per_group => (0, n)) FROM t", "not a number"),
        ("SELECT SUM(n, report_format => 'JSON') FROM t", "report_format"),
        ("SELECT SUM(n, foo => 3) FROM t", "foo"),
        ("SELECT SUM(n, contribution_bounds_per_row => 3) FROM t", "pair of bounds"),
        ("SELECT SUM(n, contribution_bounds_per_row => (1, 2, 3)) FROM t", "pair of bounds"),
        ("SELECT SUM(contribution_bounds_per_row => (1, 2)) FROM t", "pair of bounds"),
        ("SELECT SUM(n, contribution_bounds_per_row => (3, 1)) FROM t", "above the upper"),
        ("SELECT SUM(n, contribution_bounds_per_row => (n, 10)) FROM t", "written out"),
        ("SELECT SUM(note, contribution_bounds_per_row => (0, 10)) FROM t", "compares text"),
        ("SELECT SUM(CLIP(n, 1)) FROM t", "three arguments"),
        ("SELECT foo => 1 FROM t", "foo"),
        ("SELECT COUNT(*, epsilon => 0) FROM t", "epsilon: 0 is not above 0"),
        ("SELECT COUNT(*, epsilon => n) FROM t", "epsilon: n is not a number"),
        ("SELECT COUNT(*, epsilon => $1) FROM t", r"epsilon: \$1 is not a number"),
        ("SELECT COUNT(*, epsilon => 1 + 1) FROM t", "is not a number"),
        ("SELECT COUNT(*, epsilon => ) FROM t", "is not a number"),
        ("SELECT COUNT(*, epsilon => 1, epsilon => 1) FROM t", "two epsilons"),
        (f"SELECT {', '.join(['COUNT(*, epsilon => 1)'] * 201)} FROM t", "more than 200 named"),
        ("SELECT COUNT(epsilon => 1) FROM t", "behind a value"),
        ("SELECT epsilon => 1 FROM t", "behind a value"),
        ("SELECT COUNT(*, epsilon => 2), SUM(n) FROM t", r"ask for 2 of 1: nothing is left for SUM\(n\)"),
        ("SELECT COUNT(*, epsilon => 3) FROM t", "ask for epsilon 3, and the query for 1"),
        ("SELECT COUNT(*, epsilon => 0.5), (SELECT SUM(n, epsilon => 0.6) FROM t) FROM t", "ask for epsilon 1.1, and"),
        ("SELECT COUNT(*, epsilon => 1), (SELECT SUM(n) FROM t) FROM t", "nothing for the other SELECTs"),
        ("SELECT COUNT(*, epsilon => 1e-12) FROM t", "1e-9"),
        (f"{CLAUSE} OPTIONS(epsilon = 1) COUNT(*, epsilon => 2), SUM(n, epsilon => 1) FROM t", "their SELECT for 1"),
        ("SELECT SUM(c, epsilon => 1) FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) AS q", "isn't released"),
        ("SELECT ABS(3, epsilon => 1), COUNT(*) FROM t", "isn't released"),
        ("SELECT COUNT(*) FILTER (WHERE '_dpsql_epsilon' = '0'), SUM(n, epsilon => 1) FROM t", "reserved"),
        (f"{CLAUSE} OPTIONS(weights = (m: 2)) COUNT(*) AS c FROM t", "weights names m"),
        (f"{CLAUSE} OPTIONS(weights = (k: 2)) k, COUNT(*) AS c FROM t GROUP BY k", "weights names k"),
        (f"{CLAUSE} OPTIONS(weights = (c: 0)) COUNT(*) AS c FROM t", "0 is not a weight from 1e-30 to 1000"),
        (f"{CLAUSE} OPTIONS(weights = (c: 1e-300)) COUNT(*) AS c FROM t", "weights: 1e-300 is not a weight from 1e-30"),
        (f"{CLAUSE} OPTIONS(weights = (c: 0e7)) COUNT(*) AS c FROM t", "0e7 is not a weight"),
        (
            f"{CLAUSE} OPTIONS(delta = 1e-40) COUNT(*) AS c FROM t",
            "delta: 1e-40 is not 0, nor a number from 1e-30 to 1",
        ),
        (f"{CLAUSE} OPTIONS(max_rows = 1e40) COUNT(*) AS c FROM t", "max_rows: 1e40 is not a whole number from 1 to"),
        (f"{CLAUSE} OPTIONS(epsilon = 1e-40) COUNT(*) AS c FROM t", "epsilon: 1e-40 is not a number from 1e-30"),
        (f"{CLAUSE} OPTIONS(epsilon = {'9' * 200}) COUNT(*) AS c FROM t", f"epsilon: {'9' * 40}… is not a number"),
        (f"{CLAUSE} OPTIONS(weights = (c: 1001)) COUNT(*) AS c FROM t", "1001 is not a weight"),
        (f"{CLAUSE} OPTIONS(weights = (c: 1, C: 2)) COUNT(*) AS c FROM t", "weighted twice"),
        (f"{CLAUSE} OPTIONS(weights = ()) COUNT(*) AS c FROM t", "no weight|its weight"),
        (f"{CLAUSE} OPTIONS(weights = 2) COUNT(*) AS c FROM t", "list in brackets"),
        (f"{CLAUSE} OPTIONS(weights = (c = 2)) COUNT(*) AS c FROM t", "its weight"),
        (f"{CLAUSE} OPTIONS(weights = (c: 2)) COUNT(*, epsilon => 1) AS c FROM t", "epsilon of its own"),
    ],
)
def test_what_is_not_known_is_refused_by_name(made: Bench, sql: str, named: str) -> None:
    before = len(made.ledger.charges)
    with pytest.raises(Error, match=named) as refused:
        made.ask(sql)
    assert refused.value.sqlstate not in ("XX000", "58000")
    assert refused.value.position is None or 0 <= refused.value.position <= len(sql)
    assert len(made.ledger.charges) == before


def test_a_unit_column_that_could_tell_rows_apart_is_right(made: Bench) -> None:
    assert made.ask(f"{CLAUSE} OPTIONS(privacy_unit_column = big) COUNT(*) FROM t").rows == [(3,)]
    assert made.ask(f"{CLAUSE} OPTIONS(privacy_unit_column = q.b) COUNT(*) FROM (SELECT big AS b FROM t) AS q").rows


def test_all_together_stay_below_the_ceiling() -> None:
    policy = make_policy(grammar.TABLES)
    object.__setattr__(policy.privacy, "max_epsilon", Fraction(3))
    made = bench(policy, grammar.TYPES, ZeroNoise())
    half = f"{CLAUSE} OPTIONS(epsilon = 1.5) COUNT(*) FROM t"
    made.ask(f"{half} UNION ALL {half}", 1)
    assert made.ledger.charges == [3]
    for more in (f"{half} UNION ALL {half} UNION ALL SELECT COUNT(*) FROM t", half.replace("1.5", "3.1")):
        with pytest.raises(InvalidParameter, match="max_epsilon 3"):
            made.ask(more, 1)
    assert made.ledger.charges == [3]


def test_explain_shows_each_release_with_its_epsilon(made: Bench) -> None:
    bounded = "SUM(n, contribution_bounds_per_row => (0, 3))"
    sql = f"SELECT COUNT(*) FROM t UNION ALL {CLAUSE} OPTIONS(epsilon = 0.5) {bounded} FROM t"
    text = "\n".join(row[0] for row in made.ask(f"EXPLAIN {sql}", 1).rows)
    assert "epsilon 1.5, charged 1.5" in text
    assert "release 1 of t: 1 group, epsilon 0.5" in text
    assert "SUM(CLIP(n, 0, 3)): ±18 at 95 %, bounds [0, 3]" in text


def test_no_row_moves_a_release_by_more_than_its_own_epsilon() -> None:
    made = bench(make_policy(grammar.TABLES), grammar.TYPES, RecordingNoise())
    sql = (
        f"{CLAUSE} OPTIONS(epsilon = 0.5) SUM(big, contribution_bounds_per_row => (100, 110)), COUNT(*) FROM t "
        f"UNION ALL {CLAUSE} OPTIONS(epsilon = 0.25) AVG(z, contribution_bounds_per_row => (-3, 7)), COUNT(z) FROM t"
    )
    plan = made.session.plan(sql, epsilon=9).plan
    made.engine.set_rows("t", [])
    without = record(made, sql, 9)
    for victim in grammar.all_extremes():
        made.engine.set_rows("t", [victim])
        assert realised_loss(plan, without, record(made, sql, 9)) <= Fraction("0.75")
