"""Without noise each answer is DuckDB's own, but for the differences that are meant.

The differences: groups are the declared keys in their order, empty ones included; NaN counts as NULL; SUM of no rows
is 0 and AVG of no rows lies inside its bounds; an integer SUM is BIGINT. Sums and averages may be off by half a grain
for each row, since values are rounded to the grid.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import event, given

from dpsql.errors import Error, InternalError
from dpsql.plan import ReleasePlan
from tests import grammar
from tests.harness import Bench, ZeroNoise, bench, examples, make_policy

NO_NOISE = 10**9


@pytest.fixture(scope="module")
def made() -> Bench:
    # DuckDB's own arithmetic on a DECIMAL(38,2) rounds: store the declared type
    return bench(make_policy(grammar.TABLES), {"t": {**grammar.TYPES["t"], "c": "DECIMAL(10,2)"}}, ZeroNoise())


def _number(value: Any) -> Any:
    return Fraction(value) if isinstance(value, (int, float, Decimal)) and math.isfinite(value) else value


def _key(row: tuple[Any, ...], width: int) -> tuple[Any, ...]:
    return tuple(_number(v) if not isinstance(v, bool) else v for v in row[:width])


def check_against_duckdb(made: Bench, statement: grammar.Statement, rows: list) -> str:
    """Compare one statement on rows inside their bounds; says what came of it."""
    if any(f"{name}(" in statement.sql() for name in ("LN", "SQRT", "LOG", "LOG2", "LOG10")):
        return "skipped: outside their domain they give NULL, not NaN or an infinity that later steps compare"
    try:
        compiled = made.session.plan(statement.sql(), epsilon=NO_NOISE)
    except InternalError:
        raise
    except Error:
        return "refused"
    made.engine.set_rows("t", rows)
    answer = made.ask(statement.sql(), NO_NOISE)
    try:
        plain = made.engine.plain(statement.sql(plain=True))
    except duckdb.Error:
        return "DuckDB raises"
    width = len(statement.keys)
    expected = {_key(row, width): row[width:] for row in plain}
    assert len(expected) == len(plain)
    release = compiled.plan.releases[0]
    seen = set()
    for row in answer.rows:
        key = _key(row, width)
        assert key not in seen, "a key came twice"
        seen.add(key)
        wanted = expected.get(key)
        for index, call in enumerate(statement.aggregates):
            value = row[width + index]
            bound = _tolerance(release, call, len(rows))
            _check_value(call, value, None if wanted is None else wanted[index], bound, compiled)
    assert {k for k in expected if None not in k} <= seen, "a group is missing"
    return "compared"


def _tolerance(release: ReleasePlan, call: grammar.Aggregate, rows: int) -> Fraction:
    """Half a grain for each row of a sum, half a grain for a mean; and the rounding of doubles."""
    widest = max((basis.grid.grain for basis in release.bases if basis.grid.cells), default=Fraction(0))
    largest = max((max(abs(b.grid.lower), abs(b.grid.upper)) for b in release.bases), default=Fraction(0))
    per_row = widest / 2 + largest * Fraction(1, 2**44)
    if call.function not in ("COUNT", "SUM", "AVG"):
        return 4 * (largest + 1) * per_row  # of a variance; a deviation is compared by its square
    return per_row if call.function == "AVG" else per_row * (rows + 1)


def _check_value(call: grammar.Aggregate, value: Any, wanted: Any, tolerance: Fraction, compiled: Any) -> None:
    assert value is not None
    if call.function == "COUNT":
        assert value == (wanted or 0) and type(value) is int
    elif wanted is None:
        assert value == 0 or call.function not in ("COUNT", "SUM")
        assert math.isfinite(value)
    elif call.function.startswith("STDDEV") and math.isfinite(wanted):
        assert abs(Fraction(value) ** 2 - Fraction(wanted) ** 2) <= tolerance, (value, wanted)
    elif math.isfinite(wanted):
        assert abs(Fraction(value) - Fraction(wanted)) <= tolerance, (value, wanted)


@pytest.mark.slow
@given(random=grammar.randoms)
@examples(75)
def test_generated_statements_answer_as_duckdb_does(made: Bench, random: Random) -> None:
    statement = grammar.statement(random, tails=False, choices=False)
    rows = [grammar.modest_row(random) for _ in range(random.choice((0, 1, 5, 12)))]
    if rows and random.random() < 0.3:
        rows += [rows[0]] * 3
    event(check_against_duckdb(made, statement, rows))


@pytest.mark.slow
@pytest.mark.parametrize("key", grammar.KEYS)
def test_every_key_groups_as_duckdb_does(made: Bench, key: str) -> None:
    random = Random(key)
    rows = [grammar.modest_row(random) for _ in range(40)]
    calls = (grammar.Aggregate("COUNT"), grammar.Aggregate("SUM", "m"), grammar.Aggregate("AVG", "y"))
    assert check_against_duckdb(made, grammar.Statement((key,), calls), rows) == "compared"


@pytest.mark.parametrize("key", ["m", "m + 1", "FLOOR(x / 1000)", "ROUND(y)", "bn", "DATE_TRUNC('day', ts)", "city"])
def test_null_is_a_group_of_what_is_nullable_and_has_bounds(made: Bench, key: str) -> None:
    """It is one by what the policy declares, the last, and so without any row, too."""
    sql = f"SELECT {key} AS found, COUNT(*) FROM t GROUP BY found"
    random = Random(key)
    made.engine.set_rows("t", [grammar.modest_row(random) for _ in range(60)])
    known = dict(made.engine.plain(sql))
    assert made.ask(sql, NO_NOISE).rows[-1] == (None, known[None])
    made.engine.set_rows("t", [])
    assert made.ask(sql, NO_NOISE).rows[-1] == (None, 0)


@pytest.mark.parametrize("key", ["n", "FLOOR(n / 2)", "COALESCE(m, 0)", "k"])
def test_null_is_no_group_of_what_is_not_nullable(made: Bench, key: str) -> None:
    sql = f"SELECT {key} AS found, COUNT(*) FROM t GROUP BY found"
    assert None not in [row[0] for row in made.ask(sql, NO_NOISE).rows]


TELLING = """
SELECT COUNT(*) AS a FROM t WHERE n * 2 >= 10
SELECT COUNT(*) AS a, SUM(n) AS b FROM t WHERE 10 - n >= 4 AND n + 1 > 3
SELECT COUNT(*) AS a FROM t WHERE x / 2 <= 100 AND NOT (x < 0)
SELECT SUM(0) AS a, AVG(5) AS b, SUM(3) AS c, COUNT(*) AS d FROM t
SELECT SUM(n * 0) AS a, AVG(m) AS b FROM t WHERE m = 3
SELECT COUNT(*) AS a, SUM(CASE WHEN m > 5 THEN 0 ELSE m END) AS b FROM t
SELECT COUNT(*) AS a, AVG(CASE WHEN NOT (m > 5) THEN m ELSE 1 END) AS b FROM t
SELECT COUNT(*) AS a, SUM(LEAST(GREATEST(z, -5), 5)) AS b FROM t WHERE z IS NOT NULL
SELECT COUNT(*) AS a FROM t WHERE n = 1.5
SELECT COUNT(*) AS a FROM t WHERE n IN (1.5, 3) OR n = 1e0
SELECT COUNT(*) AS a FROM t WHERE dn < TIMESTAMP '2020-01-01 00:00:00'
SELECT COUNT(*) AS a, COUNT(big) AS b, COUNT(m) AS c FROM t
SELECT SUM(c * c * c) AS a, SUM(e * e * e) AS b FROM t
SELECT COUNT(*) AS a FROM t WHERE c > 1.23456 AND c + 1 > e
SELECT SUM(CAST(b AS INTEGER)) AS a, AVG(CASE WHEN b THEN x ELSE 0 END) AS b FROM t
SELECT SUM(n) FILTER (WHERE m > 0) AS a, COUNT(*) FILTER (WHERE m > 0) AS b, AVG(n) FILTER (WHERE m > 0) AS c FROM t
SELECT SUM(q) AS a FROM (SELECT n * 2 AS q FROM (SELECT n FROM t WHERE n > 2) AS u WHERE n < 9) AS v WHERE q <> 8
WITH u AS (SELECT n AS x, x AS n FROM t), v AS (SELECT * FROM u WHERE x > 2) SELECT SUM(x) AS a, AVG(n) AS b FROM v
SELECT a + b AS c, a * 1.0 / b AS d FROM (SELECT COUNT(*) AS a, SUM(n) AS b FROM t) AS q
SELECT COUNT(*) - (SELECT COUNT(*) FROM t WHERE b) AS a FROM t
SELECT SUM(i) AS a FROM (SELECT n, COUNT(*) AS i FROM t GROUP BY n HAVING COUNT(*) > 2) AS q
SELECT p.k, p.a, r.a AS r FROM (SELECT k, COUNT(*) AS a FROM t GROUP BY k) AS p JOIN (SELECT k, SUM(n) AS a FROM t GROUP BY k) AS r USING (k)
SELECT k, a, SUM(a) OVER (ORDER BY k) AS s, RANK() OVER (ORDER BY a DESC, k) AS r FROM (SELECT k, COUNT(*) AS a FROM t GROUP BY k) AS q
SELECT k, COUNT(*) AS a FROM t GROUP BY k UNION ALL SELECT 9, COUNT(*) FROM t
SELECT DISTINCT COUNT(*) > 3 AS a FROM t
SELECT k AS "K", COUNT(*) AS a FROM t GROUP BY "K" ORDER BY a DESC, 1 LIMIT 2
SELECT k % 2 AS odd, SUM(a) AS a FROM (SELECT k, COUNT(*) AS a FROM t GROUP BY k) AS q GROUP BY odd ORDER BY odd
SELECT 10 - 5 + 2 AS a, COUNT(*) AS b FROM t
SELECT COUNT(*) FILTER (WHERE ROUND(e * c, 2) = 449.96) AS a, SUM(FLOOR(c * 100)) AS b, SUM(CEIL(e) + TRUNC(e)) AS d FROM t
SELECT 'all' AS label, k, COUNT(*) AS a FROM t GROUP BY ALL
SELECT k, b, SUM(a) AS a, XOR(SUM(a)::BIGINT, 3) AS c FROM (SELECT k, b, COUNT(*) AS a FROM t GROUP BY k, b) AS q GROUP BY ROLLUP (k, b)
SELECT k, b, SUM(a) AS a FROM (SELECT k, b, COUNT(*) AS a FROM t GROUP BY k, b) AS q GROUP BY CUBE (k, b)
SELECT k, b, SUM(a) AS a FROM (SELECT k, b, COUNT(*) AS a FROM t GROUP BY k, b) AS q GROUP BY GROUPING SETS ((k), (b), ())
SELECT COUNT(*) AS a FROM t WHERE n BETWEEN 1.5 AND '5' AND x IN ('0', 3.7, 5000) AND d < '2020-03-01'
SELECT CASE WHEN COUNT(*) > 5 THEN 'many' ELSE 'few' END AS a FROM t
""".strip().splitlines()  # noqa: E501


def _comparable(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    def cell(value: Any) -> Any:
        if isinstance(value, (float, Decimal)):
            return f"{float(value):.5g}"
        return repr(value)

    return sorted(tuple(cell(v) for v in row) for row in rows)


@pytest.mark.parametrize("sql", TELLING)
def test_telling_statements_answer_as_duckdb_does(made: Bench, sql: str) -> None:
    random = Random(7)
    made.engine.set_rows("t", [grammar.modest_row(random) for _ in range(60)])
    assert _comparable(made.ask(sql, NO_NOISE).rows) == _comparable(made.engine.plain(sql))


def test_the_differences_that_are_meant(made: Bench) -> None:
    made.engine.set_rows("t", [])
    answer = made.ask("SELECT city, COUNT(*), SUM(n), SUM(x), AVG(y) FROM t GROUP BY city", NO_NOISE)
    assert [row[0] for row in answer.rows] == ["A", "b", "é", None]
    assert [column.type for column in answer.columns] == ["VARCHAR", "BIGINT", "BIGINT", "DOUBLE", "DOUBLE"]
    for row in answer.rows:
        assert row[1:4] == (0, 0, 0.0)
        assert 100 <= row[4] <= 110
    row = dict(zip(grammar.COLUMNS, grammar.modest_row(Random(1)), strict=True))
    nan = {**row, "y": "'NaN'::DOUBLE"}
    made.engine.set_rows("t", [tuple({**row, "y": "105"}.values()), tuple(nan.values())])
    assert made.ask("SELECT SUM(y), AVG(y), COUNT(y), COUNT(*) FROM t", NO_NOISE).rows == [(105.0, 105.0, 1, 2)]


# ---------------------------------------------------------------------------------------------- dialects

D = dt.date
DIALECTS = [
    ("duckdb", "SELECT 7 / 2 AS v, COUNT(*) FROM t", 3.5),
    ("postgres", "SELECT 7 / 2 AS v, COUNT(*) FROM t", 3),
    ("bigquery", "SELECT 7 / 2 AS v, COUNT(*) FROM t", 3.5),
    ("spark", "SELECT 7 / 2 AS v, COUNT(*) FROM t", 3.5),
    # over private rows: one row with n = 7, m = -5, x = 2.5, tier = 'Gold', d = 2020-01-31, b true
    ("duckdb", "SELECT SUM(n / 2) AS v FROM t", 3.5),
    ("postgres", "SELECT SUM(n / 2) AS v FROM t", 3),
    ("bigquery", "SELECT SUM(n / 2) AS v FROM t", 3.5),
    ("spark", "SELECT SUM(n / 2) AS v FROM t", 3.5),
    ("postgres", "SELECT SUM(n / 2.0) AS v FROM t", 3.5),
    ("postgres", "SELECT SUM(x / 2) AS v FROM t", 1.25),
    ("postgres", "SELECT SUM(m % 3) AS v FROM t", -2),
    ("spark", "SELECT SUM(m % 3) AS v FROM t", -2),
    ("bigquery", "SELECT SUM(MOD(m, 3)) AS v FROM t", -2),
    ("duckdb", "SELECT SUM(m // 2) AS v FROM t", -2),
    ("postgres", "SELECT SUM(m / 2) AS v FROM t", -2),
    ("bigquery", "SELECT SUM(DIV(m, 2)) AS v FROM t", -2),
    ("spark", "SELECT SUM(m DIV 2) AS v FROM t", -2),
    ("postgres", "SELECT SUM(n::double precision / 2) AS v FROM t", 3.5),
    ("postgres", "SELECT COUNT(*) FILTER (WHERE tier = 'Gold' AND b) AS v FROM t", 1),
    ("bigquery", "SELECT COUNTIF(tier = 'Gold') AS v FROM t", 1),
    ("spark", "SELECT COUNT_IF(tier = 'Gold') AS v FROM t", 1),
    ("postgres", "SELECT SUM(ROUND(c)) AS v FROM t", 13),
    ("duckdb", "SELECT SUM(ROUND(c)) AS v FROM t", 13),
    ("postgres", "SELECT SUM(CAST(c AS integer)) AS v FROM t", 13),
    ("postgres", "SELECT SUM(EXTRACT(MONTH FROM d)) AS v FROM t", 1),
    ("bigquery", "SELECT SUM(EXTRACT(MONTH FROM d)) AS v FROM t", 1),
    ("spark", "SELECT SUM(MONTH(d)) AS v FROM t", 1),
    ("postgres", "SELECT SUM(n) / COUNT(*) * 2 AS v FROM t", 14),
    ("postgres", "SELECT COUNT(*) / 2 AS v FROM t", 0),
    ("bigquery", "SELECT COUNT(*) / 2 AS v FROM t", 0.5),
    ("spark", "SELECT COUNT(*) / 2 AS v FROM t", 0.5),
    ("postgres", "SELECT COALESCE(MAX(v), 0) AS v FROM (SELECT tier, COUNT(*) AS v FROM t GROUP BY tier) AS q", 1),
    ("bigquery", "SELECT SUM(IF(b, 2, 3)) AS v FROM t", 2),
    ("bigquery", "SELECT SUM(LOG(n + 1, 2)) AS v FROM t", 3.0),
    ("bigquery", "SELECT SUM(LOG2(n + 1)) AS v FROM t", 3.0),
    ("postgres", "SELECT SUM(LOG(2, n + 1)) AS v FROM t", 3.0),
    ("duckdb", "SELECT SUM(LOG(n + 93)) AS v FROM t", 2.0),
    ("spark", "SELECT SUM(LOG(n + 1)) AS v FROM t", 2.0794415),
    ("duckdb", "SELECT SUM(LOG(2e0, n + 1) + LOG(4, n + 9)) AS v FROM t", 5.0),
    ("spark", "SELECT SUM(IF(b, 2, 3)) AS v FROM t", 2),
    ("bigquery", "SELECT SUM(SAFE_CAST(x AS INT64)) AS v FROM t", 3),
]  # fmt: skip


@pytest.fixture(scope="module")
def dialects() -> dict[str, Bench]:
    return {d: bench(make_policy(grammar.TABLES, dialect=d), grammar.TYPES, ZeroNoise()) for d in
            ("duckdb", "postgres", "bigquery", "spark")}  # fmt: skip


@pytest.mark.parametrize(("dialect", "sql", "expected"), DIALECTS)
def test_a_statement_means_what_it_means_in_its_dialect(dialects: dict, dialect: str, sql: str, expected: Any) -> None:
    made = dialects[dialect]
    row = dict(zip(grammar.COLUMNS, grammar.modest_row(Random(1)), strict=True))
    row |= {"n": "7", "m": "-5", "x": "2.5", "tier": "'Gold'", "d": "DATE '2020-01-31'", "b": "TRUE", "c": "12.5"}
    made.engine.set_rows("t", [tuple(row.values())])
    answer = made.ask(sql, NO_NOISE)
    value = answer.rows[0][[c.name for c in answer.columns].index("v")]
    assert value == pytest.approx(expected, abs=1e-5), answer.rows
    assert isinstance(value, float) == isinstance(expected, float) or expected == 13
