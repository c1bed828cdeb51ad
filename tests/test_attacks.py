"""What an attacker with SQL only once found, each as a test: leaks, excess loss, runaway work."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import numpy as np
import pytest

from dpsql import postprocess
from dpsql.audit.replay import RecordingNoise, realised_loss, record
from dpsql.errors import Cancelled, Error, MissingBounds, PolicyError
from dpsql.policy import load
from dpsql.release import narrowest
from dpsql.session import Session, open_session
from dpsql.valueset import Interval
from tests import grammar
from tests.harness import ZeroNoise, bench, make_policy

BIG = "1e9"


def opened(folder: Path, tables: str, **files: str) -> Session:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    path = folder / "policy.yaml"
    path.write_text(f"dpsql: 1\nbudget: {{epsilon: 1e15}}\nledger: the.ledger\ntables:\n{tables}")
    return open_session(load(path), create_ledger=True)


PAY = """
  t:
    source: t.csv
    unit: row
    columns:
      n: {type: integer, bounds: [0, 10]}
      pay: {type: "decimal(9,2)", bounds: [0, 100000]}
"""
TINY = "0." + "0" * 34 + "1"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT COUNT(*) FROM t WHERE CASE WHEN n = 5 THEN CASE WHEN pay > {TINY} THEN pay + 0 > 1 END END",
        f"SELECT COUNT(*) FROM (SELECT n, pay AS s FROM t WHERE pay > {TINY}) q WHERE CASE WHEN n = 5 THEN s > 1 END",
        f"SELECT SUM(pay) FROM t WHERE pay > {TINY} AND n = 5",
        f"SELECT SUM(pay) FROM t WHERE pay BETWEEN {TINY} AND 99999.{'9' * 30} AND n = 5",
    ],
)
def test_a_literal_of_many_digits_is_no_oracle(tmp_path: Path, sql: str) -> None:
    """It once widened the column beyond 38 digits, which fails on a large value."""
    session = opened(tmp_path, PAY, t="n,pay\n1,5000\n5,20000\n")
    assert session.execute(sql, epsilon=BIG, analyst="eve").rows in ([(1,)], [(20000.0,)])


@pytest.mark.parametrize("kind", ["TIMESTAMP_NS", "TIMESTAMP"])
def test_nanoseconds_are_converted_before_anything_is_compared(tmp_path: Path, kind: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT 5 AS n, TIMESTAMP '2020-01-01'::{kind} AS a, DATE '9999-01-01' AS d) "
            f"TO '{tmp_path}/t.parquet'"
        )
    session = opened(
        tmp_path,
        "  t:\n    source: t.parquet\n    unit: row\n    columns:\n      n: {type: integer, bounds: [0, 10]}\n"
        "      a: {type: timestamp}\n      d: {type: date}\n",
    )
    for condition in ("n = 5 AND a > TIMESTAMP '0001-01-01 00:00:00'", "a < d", "GREATEST(a, d) = d", "a IS NOT NULL"):
        sql = f"SELECT COUNT(*) FROM t WHERE {condition}"
        assert session.execute(sql, epsilon=BIG, analyst="eve").rows == [(1,)]


def test_a_sum_is_rounded_by_its_noisy_value_alone() -> None:
    """Whether the exact sums fitted int64 must not show in the last bits of what is made of the noisy ones."""
    values = [2**62, 2**53 + 1, -5]
    same = narrowest(np.array(values, dtype=object))
    assert same.dtype == np.int64 and same.tolist() == values
    assert narrowest(np.array([2**63, 1], dtype=object)).dtype == object


def test_an_open_quote_does_not_swallow_other_rows(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="never closed"):
        opened(tmp_path, PAY, t='n,pay\n1,5000\n5,"2\n1,1\n')


def test_a_private_file_is_not_public_under_another_name(tmp_path: Path) -> None:
    tables = f"{PAY}  other:\n    source: ./x/../t.csv\n    public: true\n"
    (tmp_path / "x").mkdir()
    with pytest.raises(PolicyError, match="reads the source of the private"):
        opened(tmp_path, tables, t="n,pay\n1,2\n")


BOMBS = {
    "sums": "SELECT COUNT(*) FROM t WHERE " + " + ".join(["n"] * 40) + " > 3",
    "nested": "SELECT SUM(" + "(n - " * 20 + "n" + ")" * 20 + ") FROM t",
    "substitution": f"SELECT COUNT(*) FROM (SELECT COALESCE(n{', 1' * 900}) AS q FROM t) z WHERE "
    f"COALESCE(q{', q' * 300}) > 1",
    "doubling": "WITH c0 AS (SELECT 1 AS x)"
    + "".join(f", c{i + 1} AS (SELECT x FROM c{i} UNION ALL SELECT x FROM c{i})" for i in range(20))
    + " SELECT COUNT(*) FROM c20",
    "minutes": "SELECT DATE_TRUNC('minute', ts), COUNT(*) FROM t GROUP BY 1",
    "tiny": "SELECT SUM(n) FROM t",
    "terms": "SELECT COUNT(*) FROM t WHERE " + " OR ".join(["n > 1"] * 900),
}


@pytest.mark.parametrize("name", BOMBS)
def test_compiling_is_quick(tmp_path: Path, name: str) -> None:
    tables = PAY + '      ts: {type: timestamp, bounds: ["2020-01-01 00:00:00", "2027-01-01 00:00:00"]}\n'
    session = opened(tmp_path, tables, t="n,pay,ts\n1,2,2020-01-01 00:00:00\n")
    start = time.monotonic()
    try:
        session.explain(BOMBS[name], epsilon="1e-25" if name == "tiny" else 1, analyst="eve")
    except Error as error:
        assert error.sqlstate != "XX000"
    assert time.monotonic() - start < 5


def test_a_runaway_outer_query_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postprocess, "SECONDS", 0.5)
    session = opened(
        tmp_path,
        PAY + "  wide:\n    source: wide.csv\n    public: true\n",
        t="n,pay\n1,2\n",
        wide="x\n" + "\n".join(map(str, range(500))) + "\n",
    )
    sql = "SELECT COUNT(*) FROM wide a, wide b, wide c, wide d, wide e WHERE a.x + b.x + c.x + d.x + e.x = 7"
    start = time.monotonic()
    with pytest.raises(Cancelled):
        session.execute(sql, analyst="eve")
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("name", ["current_timestamp", "CURRENT_USER", "localtime", "current_schema"])
def test_names_that_the_engine_reads_as_functions_are_refused(tmp_path: Path, name: str) -> None:
    session = opened(tmp_path, PAY, t="n,pay\n1,2\n")
    for sql in (f'SELECT "{name}"', f'SELECT COUNT(*), (SELECT "{name}") FROM t', f"SELECT {name}"):
        with pytest.raises(Error):
            session.execute(sql, analyst="eve")


def test_counts_beside_logarithms(tmp_path: Path) -> None:
    """LN(0) is no value: COUNT(LN(n)) leaves it out, COUNT(*) doesn't."""
    session = opened(tmp_path, PAY, t="n,pay\n0,1\n1,1\n2,1\n")
    result = session.execute("SELECT COUNT(*), COUNT(LN(n)) FROM t", epsilon=BIG, analyst="eve")
    assert result.rows == [(3, 2)]


def test_fractional_keys_of_a_case_are_refused(tmp_path: Path) -> None:
    session = opened(tmp_path, PAY, t="n,pay\n0,1\n")
    with pytest.raises(Error, match="fractional"):
        session.execute("SELECT CASE WHEN n > 1 THEN 0e0 ELSE 1.5e0 END AS k, COUNT(*) FROM t GROUP BY k", analyst="e")


def test_floating_steps_are_not_undone_too_exactly(tmp_path: Path) -> None:
    session = opened(tmp_path, PAY, t="n,pay\n3,1\n4,1\n")
    sql = "SELECT SUM(n) FROM t WHERE n * 0.1e0 >= 0.30000000000000004e0"
    assert session.execute(sql, epsilon=BIG, analyst="eve").rows == [(7,)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "condition",
    [
        "n = 9223372036854775808 - 9223372036854775803", "n % 9223372036854775808 > 0", "n // 9223372036854775808 = 0",
        "big * 3 * 0 = 0", "(big + 9223372036854775807) % 9223372036854775808 >= 0", "x < 9223372036854775808 - 1",
        "n + 9223372036854775808 - 9223372036854775808 = n", "0 * (big - 9223372036854775807) = 0",
    ],
)  # fmt: skip
@pytest.mark.parametrize("guard", ["TRUE", "n = 5", "big > 9223372036854775800"])
def test_operands_wider_than_their_result_are_no_oracle(condition: str, guard: str) -> None:
    """They were cast to the type of the result, which failed where a row got that far: `guard` was answered exactly."""
    made = bench(make_policy(grammar.TABLES), grammar.TYPES, ZeroNoise())
    sql = f"SELECT COUNT(*) FROM t WHERE CASE WHEN {guard} THEN {condition} END"
    made.engine.set_rows("t", list(grammar.all_extremes()))
    assert made.ask(sql).rows[0][0] >= 0


HUGE = "*".join(["x"] * 60)


@pytest.mark.slow
@pytest.mark.parametrize(
    "expression",
    [
        "CLIP(x, 1e-300, 1)", "CLIP(x, -1e-200, 1e-200) + 0.5", HUGE, f"1 / ({HUGE.replace('x', '(x + 1001)')})",
        f"SQRT({HUGE})", f"ROUND({HUGE})", f"CAST({HUGE} AS BIGINT)", f"CASE WHEN n > 1 THEN {HUGE} ELSE 3 END",
        "POW(" * 12 + "f" + ", 8)" * 12, "CLIP(x * 1e264, 1e269, 1.0000000000000001e269)", "EXP(EXP(n))",
    ],
)  # fmt: skip
def test_numbers_beyond_doubles_are_no_fault(expression: str) -> None:
    """Exact ends of value sets grew without limit, or met floats that don't hold them: a fault, or minutes of work."""
    made = bench(make_policy(grammar.TABLES), grammar.TYPES, RecordingNoise())
    victims = list(grammar.all_extremes())[:6]
    for call in ("SUM", "VARIANCE"):
        sql = f"SELECT {call}({expression}) AS r FROM t"
        try:
            compiled = made.session.plan(sql, epsilon=1)
        except MissingBounds:
            continue
        made.engine.set_rows("t", [])
        without = record(made, sql)
        for victim in victims:
            made.engine.set_rows("t", [victim])
            assert realised_loss(compiled.plan, without, record(made, sql)) <= 1


def test_aliases_that_are_names_of_the_release_s_own() -> None:
    """HAVING and ORDER BY read the release's column of that name, not what the analyst called so."""
    made = bench(make_policy(grammar.TABLES), grammar.TYPES, ZeroNoise())
    plain = dict(zip(grammar.COLUMNS, grammar.modest_row(Random(1)), strict=True))
    made.engine.set_rows("t", [tuple({**plain, "n": str(n)}.values()) for n in (0, 1, 2, 3, 4, 5, 6)])
    keys = made.ask("SELECT n % 2 AS key_1, n % 3 AS key_0, COUNT(*) FROM t GROUP BY 1, 2 HAVING key_0 = 1", 10**6)
    assert sorted(keys.rows) == [(0, 1, 1), (1, 1, 1)]
    sql = "SELECT COUNT(*) AS number_1, SUM(n) AS number_0 FROM t HAVING number_0 > 20"
    assert made.ask(sql, 10**6).rows == [(7, 21)]
    ordered = "SELECT k AS number_0, COUNT(*) AS key_0 FROM t GROUP BY k ORDER BY key_0 + 0 DESC"
    assert made.ask(ordered, 10**6).rows[0][1] == 7


def test_distinct_values_are_counted_alike_whatever_stands_beside() -> None:
    made = bench(make_policy(grammar.TABLES), grammar.TYPES, ZeroNoise())
    plain = dict(zip(grammar.COLUMNS, grammar.modest_row(Random(1)), strict=True))
    made.engine.set_rows("t", [tuple({**plain, "n": str(n), "x": f"{n}e9"}.values()) for n in range(40)])
    for column in ("n", "x"):
        count = f"COUNT(DISTINCT {column})"
        for more in ("", f", SUM(DISTINCT {column})", f", AVG(DISTINCT {column})", f", VARIANCE(DISTINCT {column})",
                     f", AVG(DISTINCT {column}), COUNT(*)", f", SUM(DISTINCT {column}) FILTER (WHERE b)"):  # fmt: skip
            assert made.ask(f"SELECT {count}{more} FROM t", 10**9).rows[0][0] == 40, more


POWERS_NEAR_ONE = f"SELECT COUNT(*) FROM t WHERE {'POW(' * 12}n / 1000000000 + 1{', 8)' * 12} > 1"
FOUND = {
    "powers": POWERS_NEAR_ONE,
    "small powers": POWERS_NEAR_ONE.replace("n / 1000000000 + 1", "1 / (pay + 3.7)"),
    "not in": "SELECT COUNT(*) FROM t WHERE n " + "NOT IN (1) " * 30,
    "not null": "SELECT COUNT(*) FROM t WHERE n " + "NOTNULL " * 30,
    "structs": "SELECT " + "STRUCT(" * 24 + "1" + ")" * 24,
    "types": "SELECT " + "n::DECIMAL((" * 12 + "1" + "))" * 12,
    "joins": "SELECT COUNT(*) FROM t " + "JOIN t " * 40,
    "number": "SELECT COUNT(*) FROM t WHERE n / 1e9+1 > 1",
    "no exponent": "SELECT COUNT(*) FROM t WHERE n > 1e",
    "no size": "SELECT COUNT(CAST(pay AS DECIMAL(a0 10, 2))) FROM t",
}


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "bigquery", "spark"])
@pytest.mark.parametrize("name", FOUND)
def test_what_took_for_ever_or_failed_inside(tmp_path: Path, name: str, dialect: str) -> None:
    """Fractions of millions of digits between two near ends, trees that translation makes deeper, odd numbers."""
    (tmp_path / "t.csv").write_text("n,pay\n1,2\n")
    (tmp_path / "policy.yaml").write_text(
        f"dpsql: 1\ndialect: {dialect}\nbudget: {{epsilon: 1e15}}\nledger: the.ledger\ntables:\n{PAY}"
    )
    session = open_session(load(tmp_path / "policy.yaml"), create_ledger=True)
    try:
        session.execute(FOUND[name], analyst="eve")
    except Error as error:
        assert error.sqlstate != "XX000"


def test_long_ends_move_outward_and_stay_then() -> None:
    for end in (Fraction(10) ** 400, Fraction(1, 3**900), Fraction(5e-324), Fraction(7, 3**700), Fraction(1, 10**400)):
        for signed in (end, -end):
            moved = Interval(signed, signed)
            assert moved.lower <= signed <= moved.upper
            assert Interval(moved.lower, moved.upper) == moved
            assert all(math.isinf(x) or Fraction(float(x)) == x for x in (moved.lower, moved.upper))


@pytest.mark.parametrize(
    "condition",
    ["TIMESTAMP '0001-01-15 00:00:00' - INTERVAL 1 MONTH < ts", "DATE '0001-01-01' - 40 < dn",
     "CAST(DATE '0001-01-01' AS TIMESTAMP) - INTERVAL 1 MONTH < tn"],
)  # fmt: skip
def test_moments_before_the_calendar_are_no_fault(condition: str) -> None:
    made = bench(make_policy(grammar.TABLES), grammar.TYPES, ZeroNoise())
    made.engine.set_rows("t", list(grammar.all_extremes()))
    assert made.ask(f"SELECT COUNT(*) FROM t WHERE {condition}").rows[0][0] >= 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [("YEAR(d + INTERVAL 9000 YEAR)", 9999), ("YEAR(d - INTERVAL 9000 YEAR)", 1), ("YEAR(d + 3660000)", 9999),
     ("YEAR(DATE_TRUNC('month', ts - INTERVAL 9000 YEAR))", 1)],
)  # fmt: skip
def test_moments_moved_past_the_calendar_stay_at_its_end(value: str, expected: int) -> None:
    made = bench(make_policy(grammar.TABLES), grammar.TYPES, ZeroNoise())
    row = dict(zip(grammar.COLUMNS, grammar.modest_row(Random(1)), strict=True))
    row |= {"d": "DATE '2020-01-05'", "ts": "TIMESTAMP '2020-01-02 03:04:05'"}
    made.engine.set_rows("t", [tuple(row.values())])
    assert made.ask(f"SELECT AVG(CLIP({value}, 0, 20000)) AS a FROM t", 10**9).rows == [(expected,)]


def test_no_noisy_number_makes_the_outer_query_fail(tmp_path: Path) -> None:
    """It would tell nothing more, but the answer is paid for."""
    session = opened(tmp_path, PAY, t="n,pay\n1,2\n5,6\n")
    for expression in ("m // (m - 2)", "m % (m - 2)", "CAST('x' || m AS INTEGER)", "m // CAST('x' AS INTEGER)"):
        sql = f"SELECT {expression} FROM (SELECT COUNT(*) AS m FROM t) AS q"
        assert session.execute(sql, epsilon=BIG, analyst="eve").rows == [(None,)]
    assert session.execute("SELECT COUNT(*) // 2 FROM t", epsilon=BIG, analyst="eve").rows == [(1,)]


@pytest.mark.parametrize("name", ["_secret", "__all", "secret_", "s3cret"])
def test_a_function_of_any_name_is_checked(tmp_path: Path, name: str) -> None:
    session = opened(tmp_path, PAY, t="n,pay\n1,2\n")
    with pytest.raises(Error, match="isn't on the list of functions"):
        session.execute(f"SELECT {name}(COUNT(*)) FROM t", analyst="eve")


def test_ctes_that_double_are_refused(tmp_path: Path) -> None:
    """Ten of them read a release a thousand times: the engine's planner would not come back."""
    session = opened(tmp_path, PAY, t="n,pay\n1,2\n")
    doubling = ", ".join(f"c{i + 1} AS (SELECT m FROM c{i} UNION ALL SELECT m FROM c{i})" for i in range(10))
    with pytest.raises(Error, match="counting its CTEs where they are used"):
        session.execute(f"WITH c0 AS (SELECT COUNT(*) AS m FROM t), {doubling} SELECT SUM(m) FROM c10", analyst="eve")
