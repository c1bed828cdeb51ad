"""The counterexamples of PROOFS.md to earlier designs: each breaks privacy, or an answer, if it is built as it was.

`tests/threats.py` says which test answers which of them; here are those that no other file holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlglot import parse_one

from dpsql.audit.replay import RecordingNoise, Run, realised_loss, record
from dpsql.errors import BudgetExhausted, Error
from dpsql.ledger import Ledger
from dpsql.plan import BasisPlan
from dpsql.policy import Budget, Limit
from dpsql.privacy.loss import PrivacyLoss
from tests.harness import Bench, MemoryEngine, ZeroNoise, bench, make_policy
from tests.people import (
    UNIQUE,
    Database,
    compare_neighbours,
    people,
    person,
    set_database,
    strays,
    united,
)
from tests.test_private_keys import NOTE_TYPES, NOTES, ROWS, NoNoise, granting
from tests.test_units import JOINS, MODEST, ORDER, SUBQUERIES

pytestmark = pytest.mark.slow

CUSTOMER = ["99", "1", "'A'", "110"]


@pytest.fixture(scope="module")
def recording() -> Bench:
    return people(RecordingNoise())


@pytest.fixture(scope="module")
def exact() -> Bench:
    return people(ZeroNoise())


def bases(made: Bench, sql: str) -> tuple[BasisPlan, ...]:
    (release,) = made.session.plan(sql, epsilon=1).plan.releases
    return release.bases


def moved(one: Run, other: Run) -> list[int]:
    pairs = [zip(a.exact, b.exact, strict=True) for a, b in zip(one.draws, other.draws, strict=True)]
    return [b - a for pair in pairs for a, b in pair]


# ---------------------------------------------------------------------------------------------- P3: sums


@pytest.mark.parametrize("unit", ["row", "{column: u, max_rows: 1000}"])
@pytest.mark.parametrize("call", ["SUM(x)", "VARIANCE(x)", "COUNT(*), SUM(x), AVG(x)"])
@pytest.mark.parametrize("grouped", [False, True])
def test_many_rows_at_the_upper_bound_do_not_overflow(unit: str, call: str, grouped: bool) -> None:
    """How many there are is private, so none of these sums is taken to fit 64 bits; each leaves the engine exactly."""
    columns = (
        "u: {type: integer}, k: {type: integer, bounds: [0, 1]}, x: {type: integer, bounds: [0, 4503599627370496]}"
    )
    policy = make_policy(f"  t: {{source: t.parquet, unit: {unit}, columns: {{{columns}}}}}\n")
    made = bench(policy, {"t": {"u": "BIGINT", "k": "INTEGER", "x": "BIGINT"}}, RecordingNoise())
    rows, most = 20_000, 2**52
    made.engine.connection.execute(f"INSERT INTO t SELECT i, 1, {most} FROM range({rows}) AS v(i)")
    sql = f"SELECT {call} FROM t" if not grouped else f"SELECT k, {call} FROM t GROUP BY k"
    run = record(made, sql, 1000)
    exact = [value for draw in run.draws for value in draw.exact]
    expected = []
    for basis in made.session.plan(sql, epsilon=1000).plan.releases[0].bases:
        for part in basis.parts:
            total = part.of_row(1, basis.grid.cells) * basis.bound.steps * rows
            expected += [0, total] if grouped else [total]
    assert exact == expected
    assert max(exact) > 2**63


# ---------------------------------------------------------------------------------------------- P4: rows that repeat

CODES = """  t:
    source: t.parquet
    unit: row
    columns:
      n: {type: integer, bounds: [0, 9]}
      s: {type: text}
  code:
    source: cities.csv
    public: true
    columns:
      key: {type: text, unique: true}
      name: {type: text}
      other: {type: text, unique: true}
"""


@pytest.mark.parametrize("on", [
    "t.n = code.key", "t.n = CAST(code.key AS INTEGER)", "CAST(t.n AS TEXT) = code.key", "TRIM(code.key) = t.s",
    "t.s = LOWER(code.key)", "t.s = code.key OR t.s = code.other", "t.s = code.name", "t.s LIKE code.key",
    "t.s = code.key || ''", "NOT t.s <> code.key", "t.s >= code.key AND t.s <= code.key",
])  # fmt: skip
def test_a_key_is_unique_as_it_is_stored_alone(on: str) -> None:
    """As integers '1', '01' and ' 1' are one, and OR meets two rows: a private row would stand in the join thrice."""
    public = {
        "code": "SELECT * FROM (VALUES ('1', 'a', 'x'), ('01', 'b', 'y'), (' 1', 'c', 'z')) AS v(key, name, other)"
    }
    made = bench(make_policy(CODES), {"t": {"n": "INTEGER", "s": "VARCHAR"}}, RecordingNoise(), public=public)
    for sql in (f"SELECT COUNT(*) FROM t JOIN code ON {on}", f"SELECT COUNT(*) FROM t LEFT JOIN code ON {on}",
                f"SELECT COUNT(*) FROM t, code WHERE {on}"):  # fmt: skip
        with pytest.raises(Error, match="the whole of its key"):
            made.ask(sql)
    good = "SELECT COUNT(*) FROM t JOIN code ON t.s = code.key"
    made.engine.set_rows("t", [])
    without = record(made, good)
    made.engine.set_rows("t", [["1", "'1'"]])
    assert moved(without, record(made, good)) == [1]


@pytest.mark.parametrize(("sql", "rows", "victim"), [
    ("SELECT COUNT(*) FROM (SELECT cust FROM customer UNION ALL SELECT cust FROM customer) AS q", 2, 1),
    ("SELECT COUNT(*) FROM (SELECT cust FROM customer UNION ALL SELECT cust FROM orders) AS q", 4, 3),
    ("SELECT COUNT(*) FROM customer JOIN orders USING (cust)", 3, 3),
    ("SELECT COUNT(*) FROM customer LEFT JOIN orders USING (cust)", 3, 9),
    ("SELECT COUNT(*) FROM orders JOIN customer ON customer.cust = orders.cust", 3, 9),
    ("SELECT COUNT(*) FROM customer AS a JOIN customer AS b USING (cust)", 1, 1),
    ("SELECT COUNT(*) FROM customer", 1, 1),
])  # fmt: skip
def test_what_is_unique_in_a_table_is_not_in_a_relation(sql: str, rows: int, victim: int) -> None:
    made = people(RecordingNoise(), unique=UNIQUE)
    assert [basis.bound.rows for basis in bases(made, sql)] == [rows]
    ((one, other),) = compare_neighbours(made, sql, MODEST, [{"customer": [CUSTOMER], "orders": [ORDER] * victim}])
    (basis,) = bases(made, sql)
    assert 0.99 < sum(moved(one, other)) / basis.bound.total <= 1


# ---------------------------------------------------------------------------------------------- P5: NOT IN


@pytest.mark.parametrize("condition", [
    "cust NOT IN (SELECT CASE WHEN total > 0 THEN cust END FROM orders)", "cust NOT IN (SELECT cust + 0 FROM orders)",
    "cust + 0 NOT IN (SELECT cust FROM orders)", "nation NOT IN (SELECT priority FROM orders)",
    "cust NOT IN (SELECT id FROM orders)", "nation NOT IN (SELECT cust FROM orders)",
    "cust NOT IN (SELECT NULL FROM orders)", "(cust, nation) NOT IN (SELECT cust, priority FROM orders)",
    "EXISTS (SELECT 1 FROM orders)", "EXISTS (SELECT 1 FROM orders WHERE priority = nation)",
    "EXISTS (SELECT 1 FROM orders o WHERE o.cust <> customer.cust)", "cust > ALL (SELECT cust FROM orders)",
])  # fmt: skip
@pytest.mark.parametrize("around", ["{}", "NOT ({})", "balance > 100 OR {}"])
def test_no_row_decides_for_other_units(exact: Bench, condition: str, around: str) -> None:
    with pytest.raises(
        Error, match=r"must compare privacy units|on the privacy unit|has 2 columns|ALL .* isn't supported"
    ):
        exact.ask(f"SELECT COUNT(*) FROM customer WHERE {around.format(condition)}")


@pytest.mark.parametrize("sql", [
    "SELECT COUNT(*) FROM nation WHERE key IN (SELECT nation FROM customer)",
    "SELECT name FROM nation WHERE EXISTS (SELECT 1 FROM customer WHERE customer.nation = nation.key)",
    "SELECT n FROM (SELECT COUNT(*) AS n FROM orders) AS q WHERE n IN (SELECT cust FROM customer)",
])  # fmt: skip
def test_no_private_row_filters_public_or_released_ones(exact: Bench, sql: str) -> None:
    with pytest.raises(Error):
        exact.ask(sql)


# ---------------------------------------------------------------------------------------------- P10, P11: values


@pytest.mark.parametrize(("calls", "number"), [
    ("COUNT(DISTINCT priority), COUNT(DISTINCT day)", 2), ("COUNT(DISTINCT priority)", 1),
    ("COUNT(DISTINCT priority), COUNT(DISTINCT priority) FILTER (WHERE total > 0)", 2),
    ("COUNT(DISTINCT priority), COUNT(DISTINCT priority + 1)", 2),
])  # fmt: skip
def test_other_distinct_values_are_another_release(recording: Bench, calls: str, number: int) -> None:
    sql = f"SELECT status, {calls} FROM orders GROUP BY status"
    assert [basis.epsilon for basis in bases(recording, sql)] == [Fraction(1, number)] * number
    days = [f"DATE '2020-01-0{i}'" for i in range(1, 8)]
    rows = [["7", "99", f"'{s}'", "5", day, str(p)] for s in "FOP" for day, p in zip(days, range(7), strict=True)]
    compare_neighbours(recording, sql, MODEST, [{"orders": rows}])


@pytest.mark.parametrize("hashed", ["0", '-"unit"', '"value_0"'])
def test_the_choice_of_values_does_not_rest_on_the_hash(exact: Bench, hashed: str) -> None:
    """Where all hashes are the same, and with any other function of a unit's own values, no more of them are kept."""
    pairs = [(status, p) for status in "FOP" for p in range(1, 6)]
    rows = [["1", str(unit), f"'{status}'", "1", "NULL", str(p)] for unit in (8, 9) for status, p in pairs]
    set_database(exact, {"orders": rows * 2})
    sql = "SELECT status, COUNT(DISTINCT priority) FROM orders GROUP BY status"
    ((query,),) = exact.session.plan(sql, epsilon=1).inner
    assert "RANDOM" not in query.sql.upper()
    start = query.sql.index("HASH(HASH(")
    end = query.sql.index("))", start) + 2
    replaced = query.sql[:start] + hashed + query.sql[end:]
    ((kept,),) = exact.engine.plain(f"SELECT SUM(sum_0) FROM ({replaced}) AS q")
    assert 3 <= kept <= 6


# ---------------------------------------------------------------------------------------------- P16: order of rows


def shuffled(random: Random, database: Database) -> dict[str, list[Any]]:
    return {table: random.sample(list(rows), len(rows)) for table, rows in database.items()}


@pytest.mark.parametrize("sql", [*SUBQUERIES, *JOINS[::3]])
def test_the_order_of_rows_does_not_show(recording: Bench, sql: str) -> None:
    random = Random(sql)
    database = united(*(person(random, i) for i in range(1, 8)), strays(random))
    runs = []
    for _ in range(2):
        set_database(recording, shuffled(random, database))
        runs.append(record(recording, sql))
    assert runs[0] == runs[1]


def test_threads_do_not_show() -> None:
    """DuckDB's own sum of these doubles differs from one run to the next."""
    made = people(RecordingNoise())
    made.engine.connection.execute("SET threads = 4")
    made.engine.connection.execute(
        "INSERT INTO orders SELECT i, i % 50, 'F', sqrt(i * 7919 % 30011) * pi() / 3 - 50, NULL, 1 "
        "FROM range(400000) AS v(i)"
    )
    sql = (
        "SELECT AVG(s), SUM(a), AVG(m) FROM (SELECT cust, SUM(total) AS s, AVG(total) AS a, MIN(total) AS m FROM orders"
    )
    runs = [record(made, f"{sql} GROUP BY cust) AS q") for _ in range(4)]
    assert all(run == runs[0] for run in runs)


# ---------------------------------------------------------------------------------------------- A2, A3: bounds


def test_the_order_of_rows_does_not_show_in_that_of_private_keys() -> None:
    made = bench(granting(NOTES), NOTE_TYPES, NoNoise())
    answers = set()
    for seed in range(5):
        made.engine.set_rows("note", Random(seed).sample(ROWS, len(ROWS)))
        answers.add(repr(made.ask("SELECT word, b, code, COUNT(*), SUM(x) FROM note GROUP BY ALL", 10).rows))
    assert len(answers) == 1 and "'a'" in answers.pop()


@pytest.mark.parametrize(("rows", "bound"), [
    ("orders", 3), ("orders JOIN item ON id = order_id", 5), ("item JOIN orders ON id = order_id", 5),
    ("customer JOIN orders USING (cust)", 3), ("orders JOIN customer USING (cust)", 3),
    ("orders LEFT JOIN item ON id = order_id", 7), ("item LEFT JOIN orders ON id = order_id", 5),
    ("(SELECT cust FROM orders UNION ALL SELECT cust FROM visit UNION ALL SELECT cust FROM customer) AS q", 16),
    ("(SELECT cust, COUNT(*) AS n FROM orders GROUP BY cust) AS q", 1),
    ("(SELECT cust, status, COUNT(*) AS n FROM orders GROUP BY cust, status) AS q", 3),
    ("(SELECT DISTINCT cust FROM visit) AS q", 1),
    ("visit JOIN (SELECT cust, COUNT(*) AS n FROM orders GROUP BY cust) AS o USING (cust)", 12),
    ("orders WHERE cust IN (SELECT cust FROM visit)", 3), ("item JOIN product ON product = product.id", 5),
])  # fmt: skip
def test_how_many_rows_of_a_unit_a_relation_has(recording: Bench, rows: str, bound: int) -> None:
    sql = f"SELECT COUNT(*) FROM {rows}"
    assert [basis.bound.rows for basis in bases(recording, sql)] == [bound]
    random = Random(rows)
    compare_neighbours(recording, sql, MODEST, [person(random, 99, most=20) for _ in range(3)])


# ---------------------------------------------------------------------------------------------- A5, A6: keys, clips


class Leaky(MemoryEngine):
    """An engine that gives all groups, also those whose key isn't declared."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        with super().transaction() as inner:

            class All:
                version = inner.version

                def fetch(self, sql: str, *sizes: Any) -> Any:
                    tree = parse_one(sql, dialect="duckdb")
                    assert tree.args.pop("where") is not None
                    return inner.fetch(tree.sql("duckdb"), *sizes)

            yield All()


@pytest.mark.parametrize("key", ["status", "priority", "DATE_TRUNC('month', day)"])
def test_groups_that_are_not_declared_are_ignored_once_more(exact: Bench, key: str) -> None:
    leaky = people(ZeroNoise(), engine=Leaky)
    odd = [["7", str(9 + i), status, "1", day, priority] for i, (status, day, priority) in enumerate([
        ("'?'", "NULL", "-7"), ("NULL", "DATE '1999-01-01'", "77"), ("'F '", "DATE '9999-12-31'", "2147483647"),
        ("'f'", "DATE '2020-04-01'", "0"), ("''", "DATE '2019-12-31'", "6"),
    ])]  # fmt: skip
    answers = []
    for made in (exact, leaky):
        set_database(made, united(MODEST, {"orders": odd}))
        answers.append(made.ask(f"SELECT {key} AS k, COUNT(*), SUM(total) FROM orders GROUP BY k", 10**9).rows)
    assert answers[0] == answers[1]


@pytest.mark.parametrize(("physical", "extremes"), [
    ("TINYINT", ("-128", "127")), ("UTINYINT", ("0", "255")), ("SMALLINT", ("-32768", "32767")),
    ("INTEGER", ("-2147483648", "2147483647")), ("UINTEGER", ("0", "4294967295")),
    ("BIGINT", ("(-9223372036854775807 - 1)", "9223372036854775807")),
])  # fmt: skip
@pytest.mark.parametrize("bounds", [(1, 5), (-1000, 70000)])
def test_values_are_clipped_whatever_the_policy_says_of_them(
    physical: str, extremes: tuple[str, str], bounds: tuple[int, int]
) -> None:
    """The form that subtracts is for types that can't overflow: by the engine's own word, not the policy's bounds."""
    low, high = bounds
    table = f"  t: {{source: t.parquet, unit: row, columns: {{x: {{type: integer, bounds: [{low}, {high}]}}}}}}\n"
    made = bench(make_policy(table), {"t": {"x": physical}}, ZeroNoise())
    for value in extremes:
        made.engine.set_rows("t", [[value]])
        (stored,) = made.engine.plain("SELECT x FROM t")[0]
        assert made.ask("SELECT SUM(x) FROM t", 10**9).rows == [(min(max(stored, low), high),)]
    ((query,),) = made.session.plan("SELECT SUM(x), COUNT(*) FROM t", epsilon=1).inner
    assert ("ABS(" in query.sql) == (physical != "BIGINT")


# ---------------------------------------------------------------------------------------------- A7 to A10


@pytest.mark.parametrize("condition", [
    "1 < (SELECT COUNT(*) FROM orders o WHERE o.cust = c.cust)",
    "balance > (SELECT SUM(total) FROM orders WHERE id = c.cust)",
    "balance > (SELECT total FROM orders LIMIT 1)", "balance > (SELECT total FROM orders)",
    "balance > (SELECT AVG(total) FROM orders GROUP BY status)", "balance > (SELECT MODE(total) FROM orders)",
])  # fmt: skip
def test_subqueries_that_are_no_released_number_are_refused(exact: Bench, condition: str) -> None:
    exact.ledger.charges.clear()
    with pytest.raises(Error, match=r"row around it|not one number|many rows|isn't supported"):
        exact.ask(f"SELECT COUNT(*) FROM customer c WHERE {condition}")
    assert not exact.ledger.charges


@pytest.mark.parametrize(("calls", "number"), [
    ("COUNT(total), SUM(total), AVG(total)", 1), ("COUNT(*), SUM(total), AVG(total)", 1),
    ("COUNT(*), SUM(priority)", 1),
    ("COUNT(*), SUM(total) FILTER (WHERE status = 'F')", 2),
    ("COUNT(total) FILTER (WHERE priority > 2), SUM(total)", 2),
    ("SUM(total) FILTER (WHERE priority > 2), AVG(total) FILTER (WHERE priority > 2)", 1),
    ("SUM(total), SUM(COALESCE(total, 0))", 2),
])  # fmt: skip
def test_only_the_same_rows_share_their_noise(recording: Bench, calls: str, number: int) -> None:
    """SUM and COUNT of one expression cost once: under one FILTER, and with the rows without a value apart."""
    sql = f"SELECT {calls} FROM orders"
    assert len(bases(recording, sql)) == number
    victims: list[Database] = [
        {"orders": [["7", "99", status, total, "NULL", priority]] * 3}
        for status in ("'F'", "'O'") for total in ("NULL", "200", "-50") for priority in ("1", "5")
    ]  # fmt: skip
    compare_neighbours(recording, sql, MODEST, victims)


@pytest.mark.parametrize("rows", [
    "SELECT DISTINCT segment FROM customer", "SELECT segment FROM customer GROUP BY segment",
    "SELECT segment FROM customer UNION SELECT status FROM orders",
    "SELECT cust FROM customer UNION SELECT cust FROM visit",
    "SELECT cust FROM customer EXCEPT SELECT cust FROM visit",
    "SELECT cust FROM customer INTERSECT SELECT cust FROM visit",
    "SELECT cust + 1 AS c FROM orders GROUP BY cust + 1", "SELECT cust % 2 AS c, COUNT(*) AS n FROM orders GROUP BY c",
    "SELECT DISTINCT cust + 1 AS c FROM orders", "SELECT DISTINCT ON (cust) total FROM orders",
])  # fmt: skip
def test_rows_that_units_would_share_are_refused(exact: Bench, rows: str) -> None:
    """A row that stands for several units can neither be given to one nor to none of them."""
    with pytest.raises(Error, match=r"names the privacy unit|isn't supported|lists the groups"):
        exact.ask(f"SELECT COUNT(*) FROM ({rows}) AS q")


@pytest.mark.parametrize(("sql", "number"), [
    ("SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.cust = c.cust", 5),
    ("SELECT COUNT(*), COUNT(o.cust) FROM customer c LEFT JOIN orders o ON o.cust = c.cust AND o.total > 1e6", 4),
    ("SELECT segment, COUNT(*) FROM customer LEFT JOIN orders USING (cust) GROUP BY segment", 5),
    ("SELECT COUNT(*) FROM orders LEFT JOIN item ON order_id = id", 5),
    ("SELECT COUNT(*) FROM item LEFT JOIN product ON product = product.id", 4),
])  # fmt: skip
def test_an_outer_join_keeps_the_unit_of_the_rows_that_it_keeps(exact: Bench, sql: str, number: int) -> None:
    """Rows without a unit are dropped, those without a partner aren't: they have the unit of the side that is kept."""
    for database in (MODEST, united(MODEST, strays(Random(1)))):
        set_database(exact, database)
        rows = exact.ask(sql, 10**9).rows
        assert sum(row["segment" in sql] for row in rows) == number


# ---------------------------------------------------------------------------------------------- P6, P7: composition

LARGE = "(SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) COUNT(*) FROM orders WHERE priority {} 3)"


def test_releases_of_disjoint_rows_add(recording: Bench) -> None:
    """A unit with rows in both moves both: what one statement releases twice costs twice, also of disjoint rows."""
    sql = f"SELECT {LARGE.format('<')} AS a, {LARGE.format('>=')} AS b"
    plan = recording.session.plan(sql, epsilon=1).plan
    victim: Database = {"orders": [[str(i), "99", "'F'", "1", "NULL", p] for i, p in enumerate("111555")]}
    ((without, with_victim),) = compare_neighbours(recording, sql, {}, [victim])
    assert realised_loss(plan, without, with_victim) == 2 == plan.charge.epsilon


def test_epsilons_chosen_along_the_way_add(tmp_path: Path) -> None:
    """After an answer at ε 1, whatever is asked next ends where the sum does: one more of 1, or 2 of 0.415."""
    for number, (epsilon, granted) in enumerate([("1", 1), ("2.45", 0), ("0.415", 2)]):
        budget = Budget(Limit(Fraction(2)))
        with Ledger.create(tmp_path / f"{number}.ledger") as ledger:

            def charge(amount: str, ledger: Ledger = ledger, budget: Budget = budget) -> None:
                ledger.charge(PrivacyLoss(Fraction(amount)), analyst="eve", budget=budget, query="")

            charge("1")
            for _ in range(granted):
                charge(epsilon)
            with pytest.raises(BudgetExhausted):
                charge(epsilon)


@pytest.mark.parametrize(("low", "high"), [(2**62, 2**63 - 2), (-(2**63) + 2, -(2**62)), (-(2**61), 2**61 - 1)])
@pytest.mark.parametrize("value", [-(2**31), 2**31 - 1])
def test_bounds_at_the_ends_of_64_bits_overflow_nothing(low: int, high: int, value: int) -> None:
    """A column of 32 bits fits the form that subtracts only as long as its bounds do."""
    table = f"  t: {{source: t.parquet, unit: row, columns: {{x: {{type: integer, bounds: [{low}, {high}]}}}}}}\n"
    made = bench(make_policy(table), {"t": {"x": "INTEGER"}}, ZeroNoise())
    made.engine.set_rows("t", [[str(value)]])
    ((total,),) = made.ask("SELECT SUM(x) FROM t", 10**9).rows
    assert total == pytest.approx(min(max(value, low), high), rel=1e-6, abs=64)
