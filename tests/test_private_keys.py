"""Keys that aren't public: which are shown, with which noise, and what a unit can do to them.

The selection is (ε, δ)-private, so what is shown may differ by a little probability: shown here on the exact law of the
noise. Everything else must be the same on neighbouring databases with the same keys, as always.
"""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import dpsql
from dpsql.audit.replay import Draw, RecordingNoise
from dpsql.cli import main
from dpsql.errors import Error
from dpsql.policy import Policy
from dpsql.privacy.mechanisms.truncated_geometric import KeySelection
from dpsql.privacy.noise import SystemNoise
from tests.chisquare import chi_square
from tests.harness import Bench, ZeroNoise, bench, make_policy
from tests.people import PUBLIC, TABLES, TYPES, Database, person, set_database, strays, united
from tests.seeded import SeededBytes

NOTES = """  note:
    source: t.parquet
    unit: row
    columns:
      word: {type: text, nullable: true}
      code: {type: integer}
      amount: {type: "decimal(12,2)"}
      x: {type: integer, bounds: [0, 10]}
      day: {type: date}
      moment: {type: timestamp}
      b: {type: boolean}
"""
NOTE_TYPES = {
    "note": {"word": "VARCHAR", "code": "BIGINT", "amount": "DECIMAL(12,2)", "x": "INTEGER", "day": "DATE",
             "moment": "TIMESTAMP", "b": "BOOLEAN"}
}  # fmt: skip


def granting(tables: str, delta: str = "0.000001") -> Policy:
    policy = make_policy(tables)
    return dataclasses.replace(policy, privacy=dataclasses.replace(policy.privacy, delta=Fraction(delta)))


class NoNoise(ZeroNoise):
    def truncated(self, scale: Fraction, bound: int, size: int) -> np.ndarray:
        assert scale > 0 and bound >= 1
        return np.zeros(size, dtype=np.int64)


class RecordingSelection(RecordingNoise):
    """Selection without noise, so that it is the same where enough units have a key; the counts are noted."""

    def truncated(self, scale: Fraction, bound: int, size: int) -> np.ndarray:
        self.draws.append(Draw(scale, -bound))
        return np.zeros(size, dtype=np.int64)


@pytest.fixture(scope="module")
def notes() -> Bench:
    return bench(granting(NOTES), NOTE_TYPES, NoNoise())


@pytest.fixture(scope="module")
def exact() -> Bench:
    return bench(granting(TABLES), TYPES, NoNoise(), public=PUBLIC)


# ---------------------------------------------------------------------------------------------- the law

SELECTIONS = [
    KeySelection(Fraction(epsilon), Fraction(delta), groups, units)
    for epsilon in ("1", "0.1", "3")
    for delta in ("0.000001", "0.01", "0.3")
    for groups in (1, 3)
    for units in (1, 5)
]


def _law(selection: KeySelection) -> dict[int, Decimal]:
    """The exact probabilities of the noise, to 50 digits."""
    with localcontext() as context:
        context.prec = 50
        e = Decimal(selection.epsilon.numerator) / selection.epsilon.denominator / selection.groups
        weights = {z: (-e * abs(z)).exp() for z in range(-selection.bound, selection.bound + 1)}
        total = sum(weights.values())
        return {z: w / total for z, w in weights.items()}


def _shown(selection: KeySelection, law: np.ndarray, units: int, last: int) -> np.ndarray:
    """The probability of each number that is shown of a key, threshold + 1 to last, and at the end of none."""
    shown = np.zeros(last - selection.threshold + 1)
    if units:
        first = selection.threshold + 1 - units + selection.bound  # the place in the law that gives the first number
        found = law[max(0, first) :]
        shown[max(0, -first) : max(0, -first) + len(found)] = found
    shown[-1] = 1 - shown[:-1].sum()
    return shown


@pytest.mark.parametrize(("epsilon", "delta", "groups", "units"), [
    ("0", "0.1", 1, 1), ("-1", "0.1", 1, 1), ("1", "0", 1, 1), ("1", "1", 1, 1), ("1", "0.1", 0, 1), ("1", "0.1", 1, 0),
])  # fmt: skip
def test_a_selection_that_makes_no_sense_is_refused(epsilon: str, delta: str, groups: int, units: int) -> None:
    with pytest.raises(ValueError, match="key selection"):
        KeySelection(Fraction(epsilon), Fraction(delta), groups, units)
    assert KeySelection(Fraction(1), Fraction(1, 10)) == KeySelection(Fraction(1), Fraction(1, 10), 1, 1)


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_one_unit_more_changes_what_is_shown_by_no_more_than_it_may(selection: KeySelection) -> None:
    exact = _law(selection)
    law = np.array([float(exact[z]) for z in range(-selection.bound, selection.bound + 1)])
    e = float(selection.epsilon / selection.groups)
    d = float(selection.delta / selection.groups)
    most = 2 * selection.bound + selection.min_units + 2
    for units in range(most):
        last = most + selection.bound + 1
        without, with_one = (_shown(selection, law, n, last) for n in (units, units + 1))
        for one, other in ((without, with_one), (with_one, without)):
            beyond = np.maximum(0, one - np.exp(e) * other).sum()
            assert beyond <= d * (1 + 1e-9) + 1e-13, (units, beyond)


@pytest.mark.parametrize("selection", [s for s in SELECTIONS if s.min_units == 1], ids=str)
def test_the_threshold_is_the_least_there_is(selection: KeySelection) -> None:
    d = Decimal(selection.delta.numerator) / selection.delta.denominator / selection.groups
    assert _law(selection)[selection.bound] <= d
    if selection.bound > 1:

        class Smaller(KeySelection):
            bound = selection.bound - 1

        smaller = Smaller(selection.epsilon, selection.delta, selection.groups)
        assert _law(smaller)[smaller.bound] > d


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.1"), ("0.1", "0.3")], ids=["few outside", "most outside"])
@pytest.mark.parametrize("size", [1, 200, 200_000])
def test_the_noise_is_the_laplace_noise_that_is_not_beyond_the_bound(epsilon: str, delta: str, size: int) -> None:
    selection = KeySelection(Fraction(epsilon), Fraction(delta))
    draws = 200_000 if size > 1 else 3_000
    law, source = _law(selection), SystemNoise(SeededBytes(7))
    noise = [source.truncated(selection.scale, selection.bound, size) for _ in range(draws // size)]
    values, counts = np.unique(np.concatenate(noise), return_counts=True)
    assert set(values) == set(law)
    statistic, critical = chi_square(counts, [draws * float(law[int(v)]) for v in values])
    assert statistic < critical


@pytest.mark.parametrize("wrong", [Fraction(26, 25), Fraction(24, 25)], ids=["4 % more", "4 % less"])
def test_a_wrong_scale_of_the_noise_is_caught(wrong: Fraction) -> None:
    selection = KeySelection(Fraction(1), Fraction(1, 10_000))
    noise = SystemNoise(SeededBytes(7)).truncated(selection.scale * wrong, selection.bound, 200_000)
    counts = np.bincount(noise + selection.bound, minlength=2 * selection.bound + 1)
    statistic, critical = chi_square(counts, [200_000 * float(p) for p in _law(selection).values()])
    assert statistic > critical


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_a_number_of_units_that_is_shown_is_held_as_often_as_its_interval_says(
    selection: KeySelection, level: float
) -> None:
    """In `level` of the releases that show it, however many units there are: by the law, for each number of them."""
    exact = _law(selection)
    law = np.array([float(exact[z]) for z in range(-selection.bound, selection.bound + 1)])
    first, last = selection.threshold + 1, selection.threshold + 5 * selection.bound
    shown = np.arange(first, last + 1)
    low, high = selection.interval(shown, level)
    assert np.all((selection.min_units <= low) & (low <= shown) & (shown <= high))
    assert np.all(np.diff(low) >= 0) and np.all(np.diff(high) >= 0)
    half_width = selection.half_width(level)
    assert low[-1] == shown[-1] - half_width and high[-1] == shown[-1] + half_width
    least, least_of_narrower = 1.0, 1.0
    for units in range(selection.min_units, selection.threshold + 3 * selection.bound):
        chances = _shown(selection, law, units, last)[:-1]
        chances /= chances.sum()
        least = min(least, chances[(low <= units) & (units <= high)].sum())
        least_of_narrower = min(least_of_narrower, chances[(low < units) & (units < high)].sum())
    assert least >= level - 1e-9
    assert least_of_narrower < level


def test_intervals_of_large_noise_are_found_at_once() -> None:
    selection = KeySelection(Fraction(1, 10**12), Fraction(1, 10**30), 3)
    shown = selection.threshold + 1 + np.arange(1000, dtype=np.int64) * (selection.bound // 100)
    low, high = selection.interval(shown, 0.95)
    assert low[0] == 1 and high[-1] - shown[-1] == shown[-1] - low[-1] == selection.half_width(0.95)
    assert selection.half_width(0.95) == pytest.approx(3 * 10**12 * math.log(20), rel=1e-4)


# ---------------------------------------------------------------------------------------------- what a unit can do

STATEMENTS = (
    "SELECT product, COUNT(DISTINCT orders.cust) FROM item JOIN orders ON order_id = id GROUP BY product",
    "SELECT product, COUNT(*), SUM(qty), AVG(price) FROM item GROUP BY product",
    "SELECT product, qty, COUNT(*) FROM item GROUP BY product, qty",
    "SELECT nation, status, COUNT(DISTINCT cust), SUM(total) FROM customer JOIN orders USING (cust) GROUP BY 1, 2",
    "SELECT product, COUNT(DISTINCT qty) FROM item GROUP BY product",
    "SELECT DISTINCT product FROM item",
    "SELECT nation, COUNT(*) FROM customer JOIN orders USING (cust) GROUP BY nation",
    "SELECT n, product, COUNT(*) FROM item JOIN orders ON order_id = id JOIN (SELECT cust, COUNT(*) AS n FROM visit "
    "GROUP BY cust) AS v USING (cust) GROUP BY n, product",
)


@pytest.mark.slow
@pytest.mark.parametrize("sql", STATEMENTS)
def test_on_the_same_keys_no_unit_moves_more_than_its_bound(sql: str) -> None:
    made = bench(granting(TABLES), TYPES, RecordingSelection(), public=PUBLIC)
    random = Random(sql)
    compared = 0
    for _ in range(3):
        database = united(*(person(random, i) for i in range(1, 30)), strays(random))
        for _ in range(3):
            compared += _compare(made, sql, database, person(random, 99))
    assert compared


def _compare(made: Bench, sql: str, database: Database, victim: Database) -> bool:
    """Whether the same keys are shown without and with the victim: then nothing moves by more than it may."""
    plan = made.session.plan(sql, epsilon=40).plan
    (release,) = plan.releases
    runs = []
    for rows in (database, united(database, victim)):
        set_database(made, rows)
        made.engine.executed.clear()
        made.noise.draws.clear()
        answer = made.ask(sql, 40)
        runs.append((tuple(made.engine.executed), list(made.noise.draws), answer.rows))
    (first_sql, first, one), (second_sql, second, other) = runs
    assert first_sql == second_sql
    assert release.selection is not None and first[0].scale == second[0].scale == release.selection.scale
    if [r[:1] for r in one] != [r[:1] for r in other]:
        return False  # the law above bounds how often
    draws = iter(zip(first[1:], second[1:], strict=True))
    for basis in release.bases[1:]:
        moved = Fraction(0)
        for _ in basis.parts:
            a, b = next(draws, (None, None))
            if a is None or b is None:
                return False  # no key is shown
            assert a.scale == b.scale
            moved += sum(abs(x - y) for x, y in zip(a.exact, b.exact, strict=True)) / a.scale
        assert moved <= basis.epsilon, (sql, float(moved / basis.epsilon))
    return True


def test_a_unit_counts_for_no_more_keys_than_it_may(exact: Bench) -> None:
    heavy = {"orders": [["1", "9", "'F'", "1", "NULL", "1"]], "item": [["1", str(p), "2", "1"] for p in range(40)] * 3}
    crowd = {
        "orders": [[str(i), str(i), "'F'", "1", "NULL", "1"] for i in range(100, 200)],
        "item": [[str(i), str(i % 2), "2", "1"] for i in range(100, 200)],
    }
    sql = "SELECT product, COUNT(DISTINCT cust) FROM item JOIN orders ON order_id = id GROUP BY product"
    set_database(exact, united(heavy, crowd))
    shown = dict(exact.ask(sql, 50).rows)
    assert set(shown) <= set(range(40)) and {0, 1} <= set(shown)
    (query,) = exact.session.plan(sql, epsilon=50).inner[0]
    counts = {row[0]: row[1] for row in exact.engine.connection.execute(query.sql).fetchall()}
    assert sum(counts.values()) == 105  # 100 units with a key each, and one with the 5 that it may have
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1)"
    (query,) = exact.session.plan(sql.replace("SELECT", options, 1), epsilon=50).inner[0]
    assert sum(row[1] for row in exact.engine.connection.execute(query.sql).fetchall()) == 101


def test_other_aggregates_read_rows_of_chosen_keys_alone(exact: Bench) -> None:
    """A unit has its whole bound for the keys that it counts for (PROOFS A2)."""
    rows = {"orders": [["1", "9", "'F'", "1", "NULL", "1"]], "item": [["1", str(p), "2", "1"] for p in range(40)]}
    set_database(exact, rows)
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 2)"
    _, query = exact.session.plan(f"{options} product, COUNT(*) FROM item GROUP BY product", epsilon=1).inner[0]
    found = exact.engine.connection.execute(query.sql).fetchall()
    assert len(found) == 2 and all(low == 2**20 for _, _, low in found)


RECEIPTS = """  receipt:
    source: t.parquet
    unit: {column: person, max_rows: 2}
    columns:
      person: {type: integer}
      unit: {type: integer, bounds: [0, 1000]}
      word: {type: text}
      rank: {type: integer, bounds: [0, 10]}
      weight: {type: integer, bounds: [0, 10]}
"""
RECEIPT_TYPES = {
    "receipt": {"person": "BIGINT", "unit": "INTEGER", "word": "VARCHAR", "rank": "INTEGER", "weight": "INTEGER"}
}


def test_a_column_may_be_called_as_those_of_the_engines_query() -> None:
    """Rows go with their own unit's keys, whatever a column called `unit` holds: here the name of another unit."""
    made = bench(granting(RECEIPTS), RECEIPT_TYPES, NoNoise())
    made.engine.set_rows("receipt", [[str(i), str((i + 1) % 100), f"'{'ab'[i % 2]}'", "7", "3"] for i in range(100)])
    for column in ("unit", "rank", "weight"):
        sql = f"SELECT word, COUNT(*), SUM({column}), COUNT(DISTINCT {column}) FROM receipt GROUP BY word"
        assert made.ask(sql, 50).rows == made.engine.plain(f"{sql} ORDER BY word")


@pytest.mark.parametrize("name", ["value_SUM(weight)", "SUM(weight)", "when_SUM(weight)", "size", "of_unit"])
def test_a_key_of_units_may_be_called_as_a_total_in_the_engines_query(name: str) -> None:
    made = bench(granting(RECEIPTS), RECEIPT_TYPES, ZeroNoise())
    made.engine.set_rows("receipt", [[str(i), "900", "'a'", "7", "3"] for i in range(100)])
    rows = f'SELECT person, unit AS "{name}", weight FROM receipt'
    both = f"{rows} UNION ALL {rows} WHERE rank < 7"
    totals = f'SELECT person, "{name}", SUM(weight) AS t FROM ({both}) AS q GROUP BY person, "{name}"'
    sql = f'SELECT SUM(t), SUM("{name}") FROM ({totals}) AS z'
    assert made.ask(sql, 10**9).rows == made.engine.plain(sql) == [(300, 90_000)]


# ---------------------------------------------------------------------------------------------- answers


def _note(word: str, code: int, x: int, day: str, b: str) -> list[str]:
    return [word, str(code), f"{code}.25", str(x), f"DATE '{day}'", f"TIMESTAMP '{day} 01:02:03.5'", b]


ROWS = [
    *[_note("'a'", 5, 1, "2020-01-01", "TRUE")] * 40, *[_note("'é'", -7, 2, "2021-01-01", "FALSE")] * 30,
    *[_note("NULL", 7, 2, "2022-02-02", "NULL")] * 35, _note("'rare'", 9, 3, "1999-01-01", "TRUE"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT word, COUNT(*) FROM note GROUP BY word", [("a", 40), ("é", 30), (None, 35)]),
        ("SELECT word, COUNT(*), SUM(x) FROM note GROUP BY word", [("a", 40, 40), ("é", 30, 60), (None, 35, 70)]),
        ("SELECT code, AVG(x) FROM note GROUP BY code", [(-7, 2.0), (5, 1.0), (7, 2.0)]),
        ("SELECT DISTINCT word FROM note", [("a",), ("é",), (None,)]),
        ("SELECT word FROM note GROUP BY word ORDER BY word DESC LIMIT 1", [("é",)]),
        ("SELECT word, code, COUNT(*) FROM note GROUP BY ALL", [("a", 5, 40), ("é", -7, 30), (None, 7, 35)]),
        ("SELECT code // 10 AS c, COUNT(*) FROM note GROUP BY c", [(0, 106)]),
        ("SELECT FLOOR(code / 10) AS c, COUNT(*) FROM note GROUP BY c", [(-1.0, 30), (0.0, 76)]),
        ("SELECT UPPER(word) AS w, COUNT(*) FROM note WHERE x < 2 GROUP BY w", [("A", 40)]),
        ("SELECT YEAR(day) AS y, COUNT(*) FROM note GROUP BY y HAVING COUNT(*) > 36", [(2020, 40)]),
        ("SELECT b, word, COUNT(*) FROM note WHERE word <> 'zz' GROUP BY b, word",
         [(False, "a", 0), (True, "a", 40), (False, "é", 30), (True, "é", 0)]),
        ("SELECT word, b, COUNT(*), SUM(x) FROM note WHERE x = 1 GROUP BY word, b",
         [("a", False, 0, 0), ("a", True, 40, 40)]),
        ("SELECT SUM(n) FROM (SELECT word, COUNT(*) AS n FROM note GROUP BY word) AS q", [(105,)]),
        ("SELECT word, COUNT(*) FROM note WHERE x > 5 GROUP BY word", []),
    ],
)  # fmt: skip
def test_keys_that_enough_units_have_are_shown(notes: Bench, sql: str, rows: list[Any]) -> None:
    notes.engine.set_rows("note", ROWS)
    assert notes.ask(sql, 2).rows == rows


class Shifted(NoNoise):
    """Noise of the selection that is the same for every key."""

    def __init__(self, shift: int) -> None:
        self.shift = shift

    def truncated(self, scale: Fraction, bound: int, size: int) -> np.ndarray:
        assert abs(self.shift) <= bound
        return np.full(size, self.shift, dtype=np.int64)


@pytest.mark.parametrize(("shift", "shown"), [(-14, [("a", 26), (None, 21)]), (9, [("a", 49), ("é", 39), (None, 44)])])
def test_keys_are_selected_by_their_noisy_numbers(shift: int, shown: list[Any]) -> None:
    """And shown with these: of 40, 30 and 35 units, where more than 19 are needed."""
    made = bench(granting(NOTES), NOTE_TYPES, Shifted(shift))
    made.engine.set_rows("note", ROWS)
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (min_privacy_units_per_group = 6)"
    assert made.ask(f"{options} word, COUNT(*) FROM note GROUP BY word", 1).rows == shown


def test_keys_keep_their_types(notes: Bench) -> None:
    notes.engine.set_rows("note", ROWS)
    for column in ("amount", "day", "moment", "code", "word"):
        sql = f"SELECT {column}, COUNT(*) AS n FROM note GROUP BY {column}"
        plain = notes.engine.plain(f"{sql} HAVING n > 20 ORDER BY {column} NULLS LAST")
        answer = notes.ask(sql, 2)
        assert answer.rows == plain
        assert [type(v) for row in answer.rows for v in row] == [type(v) for row in plain for v in row]


def test_no_key_is_shown_where_there_are_no_rows(notes: Bench) -> None:
    notes.engine.set_rows("note", [])
    assert notes.ask("SELECT word, b, COUNT(*), AVG(x) FROM note GROUP BY word, b", 1).rows == []


@pytest.mark.parametrize("item", ["day + INTERVAL 1 DAY", "YEAR(moment)", "DATE_TRUNC('month', moment)", "amount * 2",
                                  "code + 1", "LENGTH(word)", "COALESCE(word, 'none')"])  # fmt: skip
def test_keys_have_their_type_where_none_is_shown(notes: Bench, item: str) -> None:
    notes.engine.set_rows("note", [])
    for shown in ("word", "code", "amount", "day", "moment"):
        if shown in item:
            assert notes.ask(f"SELECT {item}, COUNT(*) FROM note GROUP BY {shown}", 1).rows == []


@pytest.mark.parametrize(
    ("units", "words"), [(1, ["a", "é", None]), (16, ["a", "é", None]), (17, ["a", None]), (25, ["a"]), (41, [])]
)
def test_a_key_may_be_asked_to_have_more_units(notes: Bench, units: int, words: list[str]) -> None:
    notes.engine.set_rows("note", ROWS)
    options = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (min_privacy_units_per_group = {units})"
    shown = [row[0] for row in notes.ask(f"{options} word, COUNT(*) FROM note GROUP BY word", 1).rows]
    assert shown == words


@pytest.mark.parametrize(
    ("options", "epsilon", "delta"),
    [("", "1", "0.000001"), ("delta = 1e-8", "1", "0.00000001"), ("group_selection_epsilon = 0.25", "0.25", "0.000001"),
     ("group_selection_strategy = LAPLACE_THRESHOLD", "1", "0.000001")],
)  # fmt: skip
def test_what_the_selection_costs(notes: Bench, options: str, epsilon: str, delta: str) -> None:
    sql = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) word, SUM(x) FROM note GROUP BY word"
    plan = notes.session.plan(sql, epsilon=2).plan
    selection = plan.releases[0].selection
    assert selection is not None
    assert (selection.epsilon, selection.delta) == (Fraction(epsilon), Fraction(delta))
    assert plan.charge.epsilon == 2 and plan.charge.delta == Fraction(delta)
    assert plan.releases[0].loss == 2


def test_several_releases_share_delta(notes: Bench) -> None:
    sql = (
        "SELECT * FROM (SELECT word, COUNT(*) FROM note GROUP BY word), (SELECT code, COUNT(*) FROM note GROUP BY code)"
    )
    plan = notes.session.plan(sql, epsilon=1).plan
    assert [r.delta for r in plan.releases] == [Fraction(1, 2_000_000)] * 2
    assert plan.charge.delta == Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (delta = 0.5) word, COUNT(*) FROM note GROUP BY 1", "privacy.delta"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (delta = 0) word, COUNT(*) FROM note GROUP BY word", "delta is 0"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_epsilon = 3) word, SUM(x) FROM note GROUP BY word",
         "leaves nothing"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = PUBLIC_GROUPS) word, SUM(x) FROM note "
         "GROUP BY word", "private"),
        ("SELECT w, COUNT(*) FROM (SELECT word AS w FROM note UNION ALL SELECT word FROM note) AS q GROUP BY w",
         "repeats"),
        ("SELECT SQRT(x), COUNT(*) FROM note GROUP BY 1", "no finite set"),
        *((f"SELECT {key} AS k, COUNT(*) FROM note GROUP BY k", "beyond 64 bits")  # of one row, at an end of BIGINT
          for key in ("-code", "ABS(code)", "code + 1", "CASE WHEN x > 5 THEN code ELSE -code END")),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT word FROM note) AS q", "DISTINCT"),
    ],
)  # fmt: skip
def test_what_is_refused(notes: Bench, sql: str, said: str) -> None:
    with pytest.raises(Error, match=said):
        notes.ask(sql, 1)


def test_without_delta_the_two_ways_are_named() -> None:
    made = bench(make_policy(NOTES), NOTE_TYPES, NoNoise())
    for column in ("word", "code", "day"):
        with pytest.raises(Error) as error:
            made.ask(f"SELECT {column}, COUNT(*) FROM note GROUP BY {column}")
        assert "privacy.delta" in error.value.hint and ("keys" in error.value.hint or "bounds" in error.value.hint)


def test_explain_says_how_keys_are_selected(notes: Bench) -> None:
    text = notes.session.explain("SELECT word, SUM(x) FROM note GROUP BY word", epsilon=2, analyst="a")
    assert "charged 2 and delta 1e-06" in text
    assert "keys are shown where more than 14 units have them" in text


def test_an_empty_answer_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.csv").write_text("word\na\nb\n")
    (tmp_path / "policy.yaml").write_text(
        "dpsql: 1\nprivacy: {epsilon: 1, delta: 1e-6}\nbudget: {epsilon: 100, delta: 1e-5}\nledger: the.ledger\n"
        "tables:\n  notes: {source: notes.csv, unit: row, columns: {word: {type: text}}}\n"
    )
    config = str(tmp_path / "policy.yaml")
    assert main(["budget", config, "--create"]) == 0
    assert main(["query", config, "SELECT word, COUNT(*) FROM notes GROUP BY word"]) == 0
    assert "keys are shown where more than 14 units have them" in capsys.readouterr().out


def test_delta_is_charged_and_ends(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("word\n" + "a\n" * 500 + "b\n")
    (tmp_path / "policy.yaml").write_text(
        "dpsql: 1\nprivacy: {epsilon: 1, delta: 1e-6}\nbudget: {epsilon: 100, delta: 2e-6}\nledger: the.ledger\n"
        "answers: off\n"
        "tables:\n  notes: {source: notes.csv, unit: row, columns: {word: {type: text}}}\n"
    )
    with dpsql.connect(tmp_path / "policy.yaml", create_ledger=True) as connection:
        cursor = connection.cursor()
        for _ in range(2):
            rows = cursor.execute("SELECT word, COUNT(*) FROM notes GROUP BY word").fetchall()
            assert [row[0] for row in rows] == ["a"] and abs(rows[0][1] - 500) <= 14
            assert cursor.privacy is not None and cursor.privacy.delta_charged == Fraction(1, 10**6)
            assert str(cursor.privacy).startswith("charged ε 1 and δ 0.000001")
        with pytest.raises(dpsql.Error, match="delta"):
            cursor.execute("SELECT word, COUNT(*) FROM notes GROUP BY word")
        assert cursor.execute("SELECT COUNT(*) FROM notes").fetchall()
