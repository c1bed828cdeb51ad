"""What an analyst may try, by the kinds and numbers of THREATS.md, each with its test or the reason why it has none.

`tests/threats.py` says which test answers which number. Those that nothing else shows are here: on a database and on
the same one with a victim, the SQL, the keys, the draws and all that follows the noise are the same, and the sums that
met the noise differ by no more than was declared.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import duckdb
import pytest
from sqlglot import exp, parse_one

from dpsql.audit.replay import RecordingNoise, Run, realised_loss, record
from dpsql.errors import Error, InvalidParameter
from dpsql.policy import Policy
from dpsql.privacy.noise import SystemNoise
from tests import cases
from tests.harness import Bench, DataTouched, ForbiddenEngine, ZeroNoise, bench, make_policy
from tests.seeded import SeededBytes
from tests.test_refused import PUBLIC as CITIES
from tests.test_refused import TABLES
from tests.test_refused import TYPES as COLUMN_TYPES
from tests.threats import ANSWERED, COUNTEREXAMPLES, OPEN, REASONS

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


KINDS = {"A": 13, "B": 24, "C": 14, "D": 16, "E": 23, "F": 10, "G": 19, "H": 16}
"""How many numbers of each kind THREATS.md has."""


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


def test_every_number_has_a_test_or_a_reason() -> None:
    numbers = [f"{kind}{i}" for kind, last in KINDS.items() for i in range(1, last + 1)]
    assert len(numbers) == 135
    assert sorted([*ANSWERED, *REASONS, *OPEN]) == sorted(numbers)
    assert all(reason.strip() for reason in (*REASONS.values(), *OPEN.values()))
    proofs = ["P1", "P2", "P3", *(f"P4{letter}" for letter in "abcde"), *(f"P{i}" for i in range(5, 17))]
    assert list(COUNTEREXAMPLES) == [*proofs, *(f"A{i}" for i in range(1, 14)), "W6"]
    for number, references in (*ANSWERED.items(), *COUNTEREXAMPLES.items()):
        assert references, number
        for reference in references:
            assert _found(reference), f"{number}: {reference}"


@pytest.mark.parametrize("wrong", ["tests/test_threats.py::test_nothing", "tests/test_threats.py::compare",
                                   "tests/refused/keys.sql: SELECT 1"])  # fmt: skip
def test_a_missing_test_is_seen(wrong: str) -> None:
    assert not _found(wrong)


# ---------------------------------------------------------------------------------------------- A: noise and numbers


def drawing(policy: Policy, seed: int = 7) -> Bench:
    """The policy's tables, without rows, and noise that a seed decides."""
    return bench(policy, TYPES, SystemNoise(SeededBytes(seed)), public=PUBLIC)


def _noisy_sums(made: Bench, count: int) -> list[Fraction]:
    return [Fraction(made.ask("SELECT SUM(income) FROM people").rows[0][0]) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("income", [None, "1", "0.3", "5000"])
def test_released_sums_lie_on_the_grid_of_the_plan(income: str | None) -> None:
    made = drawing(make_policy(POLICY))
    (basis,) = made.session.plan("SELECT SUM(income) FROM people", epsilon=1).plan.releases[0].bases
    set_people(made, *([] if income is None else [person(VICTIM, income=income)]))
    steps = {total / basis.grid.grain for total in _noisy_sums(made, 50)}
    assert len(steps) > 45 and all(each.denominator == 1 for each in steps)


def test_the_noise_is_the_same_whatever_it_is_added_to() -> None:
    """No digit of it is lost beside a large sum, or kept beside a small one."""
    noise = []
    for value, rows in (("0", 0), ("1099511627776", 1), ("1e11", 3)):
        made = _column("[0, 1099511627776]")
        made.session._noise = SystemNoise(SeededBytes(11))
        made.engine.set_rows("t", [[value]] * rows)
        (basis,) = made.session.plan("SELECT SUM(x) FROM t", epsilon=1).plan.releases[0].bases
        exact = rows * round(Fraction(float(value)) / basis.grid.grain) * basis.grid.grain
        noise.append([Fraction(made.ask("SELECT SUM(x) FROM t").rows[0][0]) - exact for _ in range(50)])
    assert noise[0] == noise[1] == noise[2] and len(set(noise[0])) > 40


@pytest.mark.parametrize("value", [3, 0, -2])
@pytest.mark.parametrize("call", ["SUM(x)", "AVG(x)", "VARIANCE(x)", "COUNT(x)", "SUM(x * 0)"])
def test_a_column_of_one_value_is_a_noisy_count(value: int, call: str) -> None:
    """What doesn't turn on the data needs no noise, and what does has it: how many rows there are."""
    made = _column(f"[{value}, {value}]", "integer")
    answers = []
    for rows in (5, 6):
        made.engine.set_rows("t", [[str(value)]] * rows)
        run = record(made, f"SELECT {call} FROM t")
        assert [(draw.exact, draw.scale) for draw in run.draws] == [([rows], 1)]
        answers.append(run.answer)
    assert answers[0] == answers[1]


def test_noise_at_a_millionth_has_its_scale() -> None:
    made = _column("[0, 19999]", "integer")
    made.session._noise = SystemNoise(SeededBytes(13))
    counts = [row[1] for row in made.ask("SELECT x, COUNT(*) FROM t GROUP BY x", "0.000001").rows]
    assert len(counts) == 20_000 and {type(count) for count in counts} == {int}
    assert abs(math.sqrt(sum(count**2 for count in counts) / 20_000) / (math.sqrt(2) * 10**6) - 1) < 0.05


@pytest.mark.parametrize("epsilon", [1e9, "inf", "nan", -1, 0, "1e400", True, "1e-40", "", 10.0001])
def test_every_other_epsilon_is_refused_free(epsilon: object) -> None:
    policy = make_policy(POLICY)
    limited = replace(policy, privacy=replace(policy.privacy, max_epsilon=Fraction(10)))
    made = bench(limited, TYPES, ZeroNoise(), ForbiddenEngine, PUBLIC)
    with pytest.raises(InvalidParameter):
        made.ask("SELECT COUNT(*) FROM people", epsilon)
    assert not made.ledger.charges


def test_the_types_of_an_answer_do_not_depend_on_its_numbers() -> None:
    sql = "SELECT COUNT(*), COUNT(income), SUM(age), SUM(income), AVG(age), STDDEV(income), SUM(n) / 2, n FROM (" \
          "SELECT *, 7 AS k FROM people) AS q GROUP BY n HAVING n = 0"  # fmt: skip
    made = drawing(make_policy(POLICY))
    seen = set()
    for victim in (None, {}, {"income": "'nan'::DOUBLE"}, {"income": "NULL", "n": "0"}, {"age": "100", "n": "0"}):
        set_people(made, *([] if victim is None else [person(VICTIM, **victim)]))
        for _ in range(10):
            result = made.ask(sql, "0.01")
            (row,) = result.rows
            seen.add((tuple(map(type, row)), tuple((c.name, c.type) for c in result.columns)))
            assert not any(re.search(r"nan|inf|-0\.0$", repr(value)) for value in row)
    assert len(seen) == 1


def test_what_the_private_engine_runs_has_no_chance_and_no_slow_path() -> None:
    """Noise is never made in the database; TRY takes one slow path for a whole vector where one row of it fails."""
    golden = cases.read(TESTS / "golden")
    inner = [line for case in golden for line in case.outcome if '"memory"."main"' in line]
    assert len(inner) > 50
    for line in inner:
        found = {type(node) for node in parse_one(line.strip(), dialect="duckdb").walk()}
        assert not found & {exp.Rand, exp.Uuid, exp.CurrentTimestamp, exp.CurrentDate, exp.Try}
        assert not re.search(r"random|setseed|uuid|nextval|\bnow\b|\btry\s*\(|tablesample", line, re.I)


def test_the_same_query_again_is_charged_again_and_has_its_own_noise() -> None:
    """Asking again averages the noise away, at its price; two names for one cell are one release of it."""
    made = drawing(make_policy(POLICY))
    set_people(made)
    answers = [made.ask("SELECT COUNT(*) AS a, COUNT(*) AS b FROM people", "0.1").rows[0] for _ in range(100)]
    assert made.ledger.charges == [Fraction(1, 10)] * 100
    assert len(set(answers)) > 20 and all(a == b for a, b in answers)


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
    made.engine.insert("t", [["0.1"]])
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


@pytest.mark.slow
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
    for sum_ in ("SUM(income)", "AVG(income)", "VARIANCE(income)", "SUM(LENGTH(note))", "SUM(-income)"):
        with pytest.raises(Error, match="no bounds"):
            made.ask(f"SELECT {sum_} FROM people")
    with pytest.raises(Error, match="names the privacy unit"):
        made.ask("SELECT AVG(uid) FROM people")
    with pytest.raises(DataTouched):  # with them it is answered
        forbidden.ask("SELECT SUM(income) FROM people")


# ---------------------------------------------------------------------------------------------- D: errors that tell


@pytest.mark.parametrize("sql", [
    "SELECT COUNT(*) FROM people WHERE CAST(note AS INTEGER) > 5",
    "SELECT COUNT(*) FILTER (WHERE city = 'A' AND CAST(note AS INTEGER) > 5) FROM people",
    "SELECT COUNT(*) FROM people WHERE CASE WHEN city = 'A' THEN CAST(note AS INTEGER) END > 5",
    "SELECT COUNT(TRY_CAST(note AS INTEGER)) FROM people", "SELECT COUNT(note::DATE) FROM people",
    "SELECT COUNT(*) FROM people WHERE CAST(note AS DOUBLE) < 5",
])  # fmt: skip
def test_a_text_that_is_no_number_is_none(recording: Bench, sql: str) -> None:
    """Of what a cast leaves out is told with noise alone, also where a condition seems to keep it from those rows."""
    for note in ("'secret'", "''", "'9223372036854775808'", "'1e999'"):
        runs = compare(recording, sql, note=note)
        assert moved(runs) == [0] and len(runs[0].draws) == 1


@pytest.mark.parametrize("sql", ["SELECT SUM(age // n) FROM people", "SELECT SUM(age % n) FROM people",
                                 "SELECT SUM(CLIP(age / n, 0, 100)) FROM people",
                                 "SELECT COUNT(*) FROM people WHERE age // n > 3"])  # fmt: skip
def test_dividing_by_a_row_s_zero_is_no_value(recording: Bench, sql: str) -> None:
    compare(recording, sql, n="0")
    if "CLIP" not in sql:
        assert moved(compare(recording, sql, n="0")) == [0]


@pytest.mark.parametrize("income", ["NULL", "'nan'::DOUBLE", "'-nan'::DOUBLE"])
def test_what_is_no_number_adds_nothing(recording: Bench, income: str) -> None:
    """NaN is as NULL: neither is moved to a bound, and COUNT leaves both out."""
    for call, counted in (("SUM(income)", 0), ("COUNT(income)", 0), ("COUNT(*)", 1)):
        (steps,) = moved(compare(recording, f"SELECT {call} FROM people", income=income))
        assert steps == counted * 2**20  # all of the one row's weight, or nothing
    for infinite in ("'inf'::DOUBLE", "'-inf'::DOUBLE"):
        compare(recording, "SELECT SUM(income), AVG(income) FROM people", income=infinite)


@pytest.mark.parametrize("ts", ["'infinity'::TIMESTAMP", "'-infinity'::TIMESTAMP", "TIMESTAMP '275810-09-14 00:00:00'",
                                "TIMESTAMP '0044-03-15 (BC) 00:00:00'"])  # fmt: skip
def test_a_moment_beyond_the_calendar_is_no_fault(recording: Bench, ts: str) -> None:
    for sql in ("SELECT COUNT(ts), COUNT(DISTINCT ts) FROM people", "SELECT MONTH(ts), COUNT(*) FROM people GROUP BY 1",
                "SELECT COUNT(*) FROM people WHERE DATE_TRUNC('month', ts) > TIMESTAMP '2019-01-01'"):  # fmt: skip
        compare(recording, sql, ts=ts)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "bigquery", "spark"])
def test_tables_without_rows_are_answered(dialect: str) -> None:
    made = bench(make_policy(TABLES, dialect=dialect), COLUMN_TYPES, SystemNoise(SeededBytes(1)), public=CITIES)
    golden = [case for case in cases.read(TESTS / "golden") if case.option("policy", "rows") == "rows"]
    golden = [case for case in golden if case.option("dialect", "duckdb") == dialect]
    assert golden
    for case in golden:
        result = made.ask(case.sql, case.option("epsilon", "1"))
        assert result.columns


# ---------------------------------------------------------------------------------------------- E: what SQL can say

ODD = [
    "SELECT COUNT(*) /* a /* nested */ b */ FROM people", "SELECT COUNT(*)\u00a0FROM\u00a0people",
    "SELECT COUNT(*) FROM people WHERE note = '7' -- '; SELECT note FROM people", "FROM people SELECT COUNT(*)",
    "SELECT count(*)FROM people WHERE age=40OR 1=0", "SELECT COUNT(*) FROM people WHERE age = 40;;",
    "SELECT COUNT(*) FROM people AS p(a, b) WHERE b = 40", 'SELECT COUNT(*) FROM "PEOPLE" WHERE "AGE" = 40',
]  # fmt: skip
ODD += [f"SELECT COUNT(*) FROM people WHERE {condition}" for condition in (
    "note = $$7$$", "note = E'7'", "note = E'\\x37'", "note = x'37'", "note = U&'\\0037'", 'note = "7"', "note = ''''",
    "age = 0x28", "age = 4_0", "age = 040", "age = 40.", "age = .4e2", "age = 0b101000", "age < 1e400", "age = '40'",
    f"age < {'1' * 44}", "age = 18446744073709551616 - 18446744073709551576", "income > -0.0", "0.0 = -0.0", "note = 7",
    "note LIKE '7!' ESCAPE '!'", "note LIKE '_'", "note LIKE '7\\'", "note ~ '7'", "note SIMILAR TO '7'",
    "city ILIKE 'a'",
    "- -age = 40", "-age = -40", "age ^ 2 = 1600", "age ** 2 = 1600", "-2 ** 2 = 4", "-7 % 3 = -1", "-7 // 2 = -3",
    "7 // 2 * 2 = 6", "age == 40", "NOT age = 41", "age IN (40, NULL)", "age NOT IN (41, NULL)",
    "age BETWEEN 50 AND 30",
    "(age, n) = (40, 1)", "note IS DISTINCT FROM '7'", "city COLLATE NOCASE = 'a'", "age = '4' || '0'", "age > TRUE",
    "CAST(2.5 AS INT) = 3", "CAST(3.5 AS INT) = 4", "ROUND(2.5) = 3", "ROUND(-2.5) = -3", "age::TINYINT = 40",
    "ts > '2019-1-1'", "ts::DATE = '2020-01-01'", "LENGTH('e\u0301') = 1", "LENGTH('\u00e9') = 1", "age / 3 * 3 = 40",
    "1 / 2 = 0.5", "age # 1 = 41", "age & 8 = 8", "age = 40 AND NULL", "NULL OR age = 40", "age = 41 XOR TRUE",
    "LOWER('\u0130') = 'i\u0307'", "UPPER('\u00df') = 'SS'", "note < 'A'", "'a' < 'B'", "'a ' = 'a'",
    "TRIM(' 7 ') = note",
    "n // 0 > 0", "n % 0 >= 0", "1 / 0 > 5", "LN(0) IS NULL", "SQRT(-1) IS NULL", "YEAR(ts) = 2020",
)]  # fmt: skip
ANSWERED_OTHERWISE = {  # NaN, -Infinity and no value are all no value here
    "SELECT COUNT(*) FROM people WHERE LN(0) IS NULL", "SELECT COUNT(*) FROM people WHERE SQRT(-1) IS NULL",
}  # fmt: skip


@pytest.mark.parametrize("sql", ODD)
def test_odd_texts_mean_what_duckdb_takes_them_for_or_are_refused(exact: Bench, sql: str) -> None:
    set_people(exact)
    try:
        answer = exact.ask(sql, 10**9).rows
    except Error as error:
        assert error.sqlstate != "XX000"
        return
    try:
        assert answer == exact.engine.plain(sql) or sql in ANSWERED_OTHERWISE
    except duckdb.Error:  # where some row makes DuckDB fail, that row has no value here
        assert answer == [(0,)]


def test_the_words_of_an_analyst_reach_no_engine(exact: Bench) -> None:
    """SQL is made anew from the tree: no comment, no name of the analyst's; what day it is becomes a literal."""
    sql = "SELECT /* canary */ COUNT(*) AS n FROM people AS canary -- canary\nWHERE canary.ts < CURRENT_DATE"
    set_people(exact)
    exact.engine.executed.clear()
    assert exact.ask(sql, 10**9).rows == [(50,)]
    (inner,) = exact.engine.executed
    assert "canary" not in inner and "current" not in inner.lower() and re.search(r"'20\d\d-\d\d-\d\d' AS DATE", inner)
    released = (
        "SELECT /* canary */ n + 1 FROM (SELECT COUNT(*) AS n FROM people) AS q -- canary\nORDER BY /* canary */ n"
    )
    assert "canary" not in exact.session.plan(released, epsilon=1).outer_sql


@pytest.mark.parametrize("sql", ["SELECT city, COUNT(*), AVG(income) FROM people GROUP BY city",
                                 "SELECT COUNT(*) FROM people JOIN visits USING (uid)"])  # fmt: skip
def test_explaining_touches_no_data_and_is_free(forbidden: Bench, sql: str) -> None:
    charged = len(forbidden.ledger.charges)
    assert forbidden.ask(f"EXPLAIN {sql}").rows[0] == ("epsilon 1, charged 1",)
    assert forbidden.session.explain(sql, epsilon=1, analyst="eve").startswith("epsilon 1, charged 1")
    assert len(forbidden.ledger.charges) == charged
    with pytest.raises(DataTouched):
        forbidden.ask(sql)


@pytest.mark.parametrize(("condition", "values", "count"), [
    ("age = ?", (40,), 50), ("age = ?", ("40",), 50), ("note = ?", ("7' OR '1' = '1",), 0), ("age = ?", (None,), 0),
    ("note = ?", ("x" * 5_000,), 0), ("income < $1", (1e300,), 50), ("age = :a AND n = :b", {"a": 40, "b": 1}, 50),
])  # fmt: skip
def test_parameters_are_literals(exact: Bench, condition: str, values: object, count: int) -> None:
    """They are put into the tree as values before it is checked: none is SQL, and none comes to an engine later."""
    set_people(exact)
    assert exact.ask(f"SELECT COUNT(*) FROM people WHERE {condition}", 10**9, values).rows == [(count,)]
    for wrong in ((float("nan"),), (float("inf"),), ([1],), ("a\0b",), (10**40,)):
        with pytest.raises(Error):
            exact.ask("SELECT COUNT(*) FROM people WHERE age > ? LIMIT 1", 10**9, wrong)


# ---------------------------------------------------------------------------------------------- G: the budget


def test_numbers_of_one_statement_share_its_epsilon(recording: Bench) -> None:
    """Also those that need two noisy sums; what each is charged adds up to no more than what was asked for."""
    sql = "SELECT COUNT(*), SUM(age), AVG(income), STDDEV(n), COUNT(DISTINCT city) FROM people"
    plan = recording.session.plan(sql, epsilon=1).plan
    assert len(plan.releases[0].bases) > 3
    assert sum(basis.epsilon for basis in plan.releases[0].bases) <= plan.charge.epsilon == 1
    runs = compare(recording, sql, age="100", income="5000", n="10")
    assert realised_loss(plan, *runs) > Fraction(1, 2)
    assert recording.ledger.charges[-1] == 1


def test_a_difference_of_two_answers_has_the_noise_of_both() -> None:
    """All but one unit is a question like others: both are charged, and their noise doesn't cancel."""
    made = drawing(make_policy(POLICY))
    set_people(made, person(VICTIM))
    differences = []
    for _ in range(60):
        (everyone,), (others,) = (made.ask(f"SELECT COUNT(*) FROM people{where}").rows[0]
                                  for where in ("", f" WHERE uid <> {VICTIM}"))  # fmt: skip
        differences.append(everyone - others)
    assert made.ledger.charges == [1] * 120
    assert len(set(differences)) > 4 and 1 < sum(abs(d - 1) for d in differences) / 60 < 3  # 1.5 for two of scale 1


# ---------------------------------------------------------------------------------------------- H: the process


def test_no_module_has_another_source_of_randomness() -> None:
    """`random` and `numpy.random` are nowhere but where an audit makes rows up; os.urandom is read in one place."""
    readers = set()
    for path in (TESTS.parent / "dpsql").rglob("*.py"):
        if path.relative_to(TESTS.parent).as_posix() == "dpsql/audit/chance.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}
                assert not names & {"random", "numpy.random"}, path
            elif isinstance(node, ast.Attribute):
                assert not (node.attr == "random" and ast.unparse(node.value) in ("np", "numpy")), path
                if node.attr == "urandom":
                    readers.add(path.name)
    assert readers == {"random_bytes.py"}
