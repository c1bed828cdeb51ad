"""What an analyst may try that THREATS.md calls sensitivity (B) and keys and shape (C), each number with its test.

`tests/threats.py` says which test answers which number. Those that nothing else shows are here: on a database and on
the same one with a victim, the SQL, the keys, the draws and all that follows the noise are the same, and the sums that
met the noise differ by no more than was declared.
"""

from __future__ import annotations

import ast
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import pytest
from sqlglot import exp, parse_one

from dpsql.errors import Error
from dpsql.privacy.noise import SystemNoise
from tests import cases
from tests.harness import (
    Bench,
    DataTouched,
    ForbiddenEngine,
    RecordingNoise,
    Run,
    ZeroNoise,
    bench,
    make_policy,
    realised_loss,
    record,
)
from tests.seeded import SeededBytes
from tests.threats import ANSWERED, COUNTEREXAMPLES

TESTS = Path(__file__).parent
POLICY = """  people:
    source: t.parquet
    unit: {column: uid, max_rows: 1}
    columns:
      uid: {type: integer}
      age: {type: integer, bounds: [0, 100]}
      income: {type: double, bounds: [-1000, 5000], nullable: true}
      n: {type: integer, bounds: [0, 10]}
      city: {type: text, keys: [A, B, C]}
      note: {type: text}
      ts: {type: timestamp}
  visits:
    source: t.parquet
    unit: {column: uid, max_rows: 5, max_groups: 2}
    columns:
      uid: {type: integer}
      cost: {type: integer, bounds: [0, 100]}
      clinic: {type: text, keys: [X, Y]}
  cities:
    source: cities.csv
    public: true
    columns:
      city: {type: text, unique: true}
      region: {type: text}
"""
TYPES = {
    "people": {"uid": "BIGINT", "age": "BIGINT", "income": "DOUBLE", "n": "BIGINT", "city": "VARCHAR",
               "note": "VARCHAR", "ts": "TIMESTAMP"},
    "visits": {"uid": "BIGINT", "cost": "BIGINT", "clinic": "VARCHAR"},
}  # fmt: skip
PUBLIC = {"cities": "SELECT * FROM (VALUES ('A', 'north'), ('B', 'south')) AS v(city, region)"}
PLAIN = {"age": "40", "income": "100", "n": "1", "city": "'A'", "note": "'7'", "ts": "TIMESTAMP '2020-01-01'"}
VICTIM = 99


def person(uid: int, **values: str) -> list[str]:
    return [str(uid), *{**PLAIN, **values}.values()]


@pytest.fixture(scope="module")
def recording() -> Bench:
    return bench(make_policy(POLICY), TYPES, RecordingNoise(), public=PUBLIC)


@pytest.fixture(scope="module")
def exact() -> Bench:
    return bench(make_policy(POLICY), TYPES, ZeroNoise(), public=PUBLIC)


@pytest.fixture(scope="module")
def forbidden() -> Bench:
    return bench(make_policy(POLICY), TYPES, ZeroNoise(), ForbiddenEngine, PUBLIC)


def set_people(made: Bench, *more: list[str]) -> None:
    made.engine.set_rows("people", [*(person(uid) for uid in range(1, 51)), *more])


def compare(made: Bench, sql: str, *, visits: list[list[str]] | None = None, **values: str) -> tuple[Run, Run]:
    """The runs without and with the victim, which show the same and differ by no more than is charged."""
    plan = made.session.plan(sql, epsilon=1).plan
    made.engine.set_rows("visits", [])
    set_people(made)
    without = record(made, sql)
    set_people(made, person(VICTIM, **values))
    made.engine.set_rows("visits", visits or [])
    with_victim = record(made, sql)
    assert (with_victim.sql, with_victim.answer) == (without.sql, without.answer)
    assert realised_loss(plan, without, with_victim) <= 1
    return without, with_victim


def moved(runs: tuple[Run, Run]) -> list[int]:
    """By how much each exact sum moved, in its steps."""
    pairs = [zip(a.exact, b.exact, strict=True) for a, b in zip(runs[0].draws, runs[1].draws, strict=True)]
    return [b - a for pair in pairs for a, b in pair]


# ---------------------------------------------------------------------------------------------- every number has a test


@cache
def _functions(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS.parent / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@cache
def _statements(file: str) -> frozenset[str]:
    path = TESTS.parent / file
    return frozenset(case.sql for case in cases.read(path.parent) if case.file == path)


def _found(reference: str) -> bool:
    """Whether `file.py::function` is a test, or `file.sql: statement` a case."""
    file, _, name = reference.partition("::" if "::" in reference else ": ")
    known = _functions(file) if file.endswith(".py") else _statements(file)
    return name in known and (not file.endswith(".py") or name.startswith("test_"))


def test_every_number_has_a_test() -> None:
    assert list(ANSWERED) == [f"B{i}" for i in range(1, 25)] + [f"C{i}" for i in range(1, 15)]
    proofs = ["P3", *(f"P4{letter}" for letter in "abcde"), "P5", "P9", "P10", "P11", "P16"]
    assert list(COUNTEREXAMPLES) == [*proofs, *(f"A{i}" for i in range(1, 11))]
    for number, references in (*ANSWERED.items(), *COUNTEREXAMPLES.items()):
        assert references, number
        for reference in references:
            assert _found(reference), f"{number}: {reference}"


@pytest.mark.parametrize("wrong", ["tests/test_threats.py::test_nothing", "tests/test_threats.py::compare",
                                   "tests/refused/keys.sql: SELECT 1"])  # fmt: skip
def test_a_missing_test_is_seen(wrong: str) -> None:
    assert not _found(wrong)


# ---------------------------------------------------------------------------------------------- B: sensitivity


def _column(bounds: str, type_: str = "double") -> Bench:
    columns = f"x: {{type: {type_}, bounds: {bounds}}}"
    policy = make_policy(f"  t: {{source: t.parquet, unit: row, columns: {{{columns}}}}}\n")
    return bench(policy, {"t": {"x": "BIGINT" if type_ == "integer" else "DOUBLE"}}, RecordingNoise())


def test_the_order_of_rows_does_not_show_in_a_sum() -> None:
    """2^53 + 1 + 1 is one double in one order and another in the other."""
    made = _column("[0, 9007199254740992]")
    sums = []
    for rows in (["9007199254740992", "1", "1"], ["1", "1", "9007199254740992"]):
        made.engine.set_rows("t", [[row] for row in rows])
        run = record(made, "SELECT SUM(x) FROM t")
        sums.append([draw.exact for draw in run.draws])
    assert sums[0] == sums[1]
    for total in parse_one(run.sql[0], dialect="duckdb").find_all(exp.Sum):
        added = total.parent_select.args["from_"].this.this
        assert {row[1] for row in made.engine.plain(f"DESCRIBE {added.sql('duckdb')}")} == {"BIGINT"}


def test_a_row_moves_a_long_sum_by_its_own_steps() -> None:
    made = _column("[0, 1]")
    made.engine.set_rows("t", [])
    made.engine.connection.execute("INSERT INTO t SELECT 0.1 FROM range(100000)")
    sql = "SELECT SUM(x) FROM t"
    before = record(made, sql)
    made.engine.add_rows("t", [["0.1"]])
    after = record(made, sql)
    (basis,) = made.session.plan(sql, epsilon=1).plan.releases[0].bases
    assert moved((before, after)) == [round(Fraction(1, 10) / basis.grid.grain)]


@pytest.mark.parametrize("sql", [
    "SELECT SUM(n * n) FROM people", "SELECT COUNT(*) FROM people WHERE n * n > 5",
    "SELECT SUM(n * n * n * n * n * n) FROM people", "SELECT city, AVG(n * age) FROM people GROUP BY city",
])  # fmt: skip
@pytest.mark.parametrize("n", ["9223372036854775807", "(-9223372036854775807 - 1)"])
def test_no_row_overflows_an_expression(recording: Bench, sql: str, n: str) -> None:
    compare(recording, sql, n=n)


@pytest.mark.parametrize(("income", "most"), [("1e9", 5000), ("-1e9", 1000), ("'inf'::DOUBLE", 5000), ("5000", 5000)])
def test_a_value_is_clipped_before_it_is_added(recording: Bench, income: str, most: int) -> None:
    sql = "SELECT SUM(income) FROM people"
    (basis,) = recording.session.plan(sql, epsilon=1).plan.releases[0].bases
    (steps,) = moved(compare(recording, sql, income=income))
    assert abs(steps) * basis.grid.grain / basis.bound.steps <= most


@pytest.mark.parametrize(("bounds", "sensitivity"), [("[-10, 100]", 100), ("[-50, -10]", 50), ("[-100, 10]", 100),
                                                     ("[10, 50]", 50)])  # fmt: skip
def test_the_sensitivity_of_a_sum(bounds: str, sensitivity: int) -> None:
    """A row is there or not: the largest magnitude, neither U − L nor U."""
    made = _column(bounds, "integer")
    (basis,) = made.session.plan("SELECT SUM(x) FROM t", epsilon=1).plan.releases[0].bases
    assert basis.grid.grain == 1
    assert [basis.scale(part) for part in basis.parts] == [sensitivity]


@pytest.mark.parametrize(("sql", "bounds"), [
    ("SELECT SUM(-income) FROM people", (-5000, 1000)), ("SELECT SUM(income - age) FROM people", (-1100, 5000)),
    ("SELECT SUM(age * n) FROM people", (0, 1000)), ("SELECT SUM(ABS(income)) FROM people", (0, 5000)),
    ("SELECT SUM(CASE WHEN age > 50 THEN income ELSE -7 END) FROM people", (-1000, 5000)),
    ("SELECT SUM(income) FROM (SELECT uid, 1000000 * age AS income FROM people) AS q", (0, 100_000_000)),
    ("SELECT SUM(q.age) FROM (SELECT uid, income AS age FROM people) AS q", (-1000, 5000)),
    ('SELECT SUM("INCOME") FROM "PEOPLE"', (-1000, 5000)),
])  # fmt: skip
def test_bounds_belong_to_what_is_computed_not_to_names(recording: Bench, sql: str, bounds: tuple[int, int]) -> None:
    (basis,) = recording.session.plan(sql, epsilon=1).plan.releases[0].bases
    assert basis.grid.lower <= bounds[0] and bounds[1] <= basis.grid.upper
    assert basis.grid.upper - basis.grid.lower <= (bounds[1] - bounds[0]) * Fraction(1001, 1000)
    for values in ({"age": "100", "income": "5000", "n": "10"}, {"age": "-1", "income": "-1e300", "n": "99"}):
        compare(recording, sql, **values)


@pytest.mark.parametrize("aggregate", ["AVG(income)", "VARIANCE(age)", "STDDEV(income)"])
def test_an_average_is_of_noisy_numbers(recording: Bench, aggregate: str) -> None:
    """It has sums with noise of their own for the number of rows too, and shows something where there are none."""
    sql = f"SELECT {aggregate} FROM people WHERE age > 50"
    without, _ = compare(recording, sql, age="60")
    assert len(without.draws) >= 2
    assert all(draw.exact == [0] for draw in without.draws)


@pytest.mark.parametrize("sql", [
    "SELECT AVG(income), STDDEV(income), VARIANCE(age), SUM(income) FROM people WHERE city = 'C'",
    "SELECT STDDEV(age), VARIANCE(n) FROM people",
])  # fmt: skip
@pytest.mark.parametrize("victim", [False, True])
def test_noise_makes_no_nan_and_no_error(sql: str, victim: bool) -> None:
    made = bench(make_policy(POLICY), TYPES, SystemNoise(SeededBytes(5)), public=PUBLIC)
    set_people(made, *([person(VICTIM, city="'C'", income="1e300")] if victim else []))
    for _ in range(25):
        for value in made.ask(sql, "0.01").rows[0]:
            assert isinstance(value, float) and value == value and abs(value) < 1e12
            assert value >= 0 or "STDDEV(age)" not in sql


@pytest.mark.parametrize("sql", ["SELECT COUNT(*) FROM visits", "SELECT clinic, COUNT(*) FROM visits GROUP BY clinic",
                                 "SELECT clinic, SUM(cost) FROM visits GROUP BY clinic"])  # fmt: skip
def test_a_unit_with_thousands_of_rows(recording: Bench, sql: str) -> None:
    visits = [[str(VICTIM), "100", "'X'" if i % 3 else "'Y'"] for i in range(3_000)]
    runs = compare(recording, sql, visits=visits)
    (basis,) = recording.session.plan(sql, epsilon=1).plan.releases[0].bases
    total = sum(abs(steps) for steps in moved(runs))
    assert Fraction(99, 100) * basis.bound.total < total * (1 if "COUNT" in sql else Fraction(1, 100))
    assert total <= basis.bound.total * (1 if "COUNT" in sql else 100)
    assert basis.bound.rows == 5


@pytest.mark.parametrize(("sql", "said"), [
    ("SELECT COUNT(*) FROM people AS a JOIN people AS b USING (city)", "not on their privacy unit"),
    ("SELECT COUNT(*) FROM people AS a JOIN people AS b ON a.city = b.city AND a.age = b.age", "privacy unit"),
    ("SELECT COUNT(*) FROM people, visits", "not on their privacy unit"),
    ("SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.uid = b.uid", "many rows of one unit"),
    ("SELECT COUNT(*) FROM cities LEFT JOIN people ON people.city = cities.city", "LEFT JOIN of the private"),
    ("SELECT COUNT(*) FROM people RIGHT JOIN cities ON people.city = cities.city", "RIGHT JOIN"),
    ("SELECT COUNT(*) FROM people FULL JOIN cities ON people.city = cities.city", "FULL JOIN"),
    ("SELECT COUNT(*) FROM people JOIN cities ON people.city = cities.city OR people.note = cities.city", "its key"),
    ("SELECT COUNT(*) FROM people JOIN cities ON people.city = LOWER(cities.city)", "its key"),
    ("SELECT COUNT(*) FROM people JOIN cities ON people.city = cities.region", "its key"),
    ("SELECT COUNT(*) FROM people CROSS JOIN cities", "its key"),
    ("SELECT COUNT(*) FROM cities WHERE NOT EXISTS (SELECT 1 FROM people WHERE people.city = cities.city)", "cities"),
    ("SELECT COUNT(*) FROM people WHERE city NOT IN (SELECT clinic FROM visits)", "must compare privacy units"),
])  # fmt: skip
def test_joins_that_repeat_rows_are_refused(forbidden: Bench, sql: str, said: str) -> None:
    with pytest.raises(Error, match=said):
        forbidden.ask(sql)


def test_distinct_values_of_a_victim_with_many(recording: Bench) -> None:
    visits = [[str(VICTIM), str(cost), clinic] for cost in range(40) for clinic in ("'X'", "'Y'", "'Z'", "NULL")]
    for sql, most in (("SELECT COUNT(DISTINCT cost) FROM visits", 5), ("SELECT COUNT(DISTINCT clinic) FROM visits", 3),
                      ("SELECT COUNT(DISTINCT uid) FROM visits", 1)):  # fmt: skip
        assert moved(compare(recording, sql, visits=visits)) == [most]
    calls = recording.session.plan("SELECT COUNT(DISTINCT uid), COUNT(uid) FROM visits", epsilon=1).plan.releases[0]
    assert len(calls.bases) == 2  # two cells, each with noise of its own


# ---------------------------------------------------------------------------------------------- C: keys and shape


@pytest.mark.parametrize("city", ["'D'", "NULL", "'a'", "'A '", "'A\u200b'", "'\u00c0'", "''"])
def test_the_keys_are_those_of_the_policy(recording: Bench, exact: Bench, city: str) -> None:
    """Whatever the victim's key is: no row of it is shown, and it is counted with no other."""
    sql = "SELECT city, COUNT(*) FROM people GROUP BY city"
    assert moved(compare(recording, sql, city=city)) == [0, 0, 0]
    set_people(exact, person(VICTIM, city=city))
    assert exact.ask(sql, 10**9).rows == [("A", 50), ("B", 0), ("C", 0)]


def test_an_empty_group_has_noise(recording: Bench) -> None:
    sql = "SELECT city, COUNT(*) FROM people GROUP BY city"
    without, with_victim = compare(recording, sql, city="'C'")
    assert [draw.size for draw in without.draws] == [draw.size for draw in with_victim.draws] == [3]
    made = bench(make_policy(POLICY), TYPES, SystemNoise(SeededBytes(3)), public=PUBLIC)
    set_people(made)
    assert len({made.ask(sql).rows[2][1] for _ in range(40)}) > 3


def test_a_key_computed_from_a_row_has_all_its_values(recording: Bench, forbidden: Bench) -> None:
    sql = "SELECT age = 99 AS k, COUNT(*) FROM people GROUP BY k"
    runs = compare(recording, sql, age="99")
    assert sum(abs(steps) for steps in moved(runs)) == 2**20 and "False" in runs[0].answer and "True" in runs[0].answer
    with pytest.raises(Error, match="names the privacy unit"):
        forbidden.ask("SELECT uid = 99 AS k, COUNT(*) FROM people GROUP BY k")


@pytest.mark.parametrize("clause", ["HAVING COUNT(*) > 50", "ORDER BY COUNT(*) DESC", "ORDER BY 2 LIMIT 1",
                                    "HAVING COUNT(*) > 50 ORDER BY city LIMIT 2 OFFSET 1"])  # fmt: skip
def test_what_filters_groups_reads_noisy_numbers(recording: Bench, clause: str) -> None:
    runs = compare(recording, f"SELECT city, COUNT(*) FROM people GROUP BY city {clause}")
    tree = parse_one(runs[0].sql[0], dialect="duckdb")
    assert not list(tree.find_all(exp.Having, exp.Limit, exp.Offset, exp.Order))


def test_the_order_of_rows_does_not_show_in_that_of_groups(exact: Bench) -> None:
    rows = [person(uid, city=f"'{city}'", age=str(uid)) for uid, city in enumerate("ABCCBAABCD" * 3)]
    answers = set()
    for seed in range(10):
        Random(seed).shuffle(rows)
        exact.engine.set_rows("people", rows)
        sql = "SELECT city, n > 3, COUNT(*), SUM(age) FROM people GROUP BY ALL"
        answers.add(repr(exact.ask(sql, 10**9).rows))
    assert len(answers) == 1


@pytest.mark.parametrize("sql", [
    "SELECT uid, COUNT(*) FROM people GROUP BY uid", "SELECT uid AS u, COUNT(*) FROM people GROUP BY u",
    "SELECT uid, COUNT(*) FROM people GROUP BY 1", "SELECT uid, COUNT(*) FROM people GROUP BY ALL",
    "SELECT COUNT(*) FROM people GROUP BY uid", "SELECT uid + 0, COUNT(*) FROM people GROUP BY 1",
    "SELECT uid, city, COUNT(*) FROM people GROUP BY uid, city", "SELECT uid // 10, COUNT(*) FROM people GROUP BY 1",
    "SELECT DISTINCT uid FROM people", "SELECT u, COUNT(*) FROM (SELECT uid + 0 AS u FROM people) AS q GROUP BY u",
    "SELECT CAST(uid AS TEXT), COUNT(*) FROM people GROUP BY 1", "SELECT MAX(uid) FROM people",
    "SELECT COUNT(*) FROM people WHERE uid = 99 GROUP BY uid", "SELECT SUM(uid) FROM people",
])  # fmt: skip
def test_units_are_no_keys(forbidden: Bench, sql: str) -> None:
    with pytest.raises(Error, match=r"names the privacy unit|MAX\(uid\) isn't supported"):
        forbidden.ask(sql)


@pytest.mark.parametrize("call", ["COUNT(*)", "COUNT(income)", "COUNT(DISTINCT uid)", "SUM(income)", "SUM(n)"])
def test_a_number_of_no_rows_is_a_noisy_number(recording: Bench, call: str) -> None:
    sql = f"SELECT {call} FROM people WHERE age > 50"
    compare(recording, sql, age="60")
    made = bench(make_policy(POLICY), TYPES, SystemNoise(SeededBytes(9)), public=PUBLIC)
    set_people(made)
    values = [made.ask(sql).rows[0][0] for _ in range(40)]
    assert None not in values and len(set(values)) > 3


def test_bounds_that_are_missing_are_not_looked_up(forbidden: Bench) -> None:
    policy = make_policy(POLICY.replace("income: {type: double, bounds: [-1000, 5000], nullable: true}",
                                        "income: {type: double, nullable: true}"))  # fmt: skip
    made = bench(policy, TYPES, ZeroNoise(), ForbiddenEngine, PUBLIC)
    with pytest.raises(Error, match="no bounds"):
        made.ask("SELECT SUM(income) FROM people")
    with pytest.raises(DataTouched):  # with them it is answered
        forbidden.ask("SELECT SUM(income) FROM people")
