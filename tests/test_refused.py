"""What is refused: each statement with its SQLSTATE, message, hint and position, before any data and any charge.

`pytest tests/test_refused.py --update-refused` rewrites the outcomes; the diff is to be reviewed.
"""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import Error, InternalError
from dpsql.rewrite.outer import FUNCTIONS
from tests import cases
from tests.harness import NIGHTLY, Bench, DataTouched, ForbiddenEngine, ZeroNoise, bench, make_policy

DIRECTORY = Path(__file__).parent / "refused"
TABLES = """  people:
    source: t.parquet
    unit: row
    columns:
      age: {type: integer, bounds: [0, 100]}
      income: {type: double, bounds: [-1000, 5000], nullable: true}
      wealth: {type: double}
      n: {type: integer, bounds: [0, 10]}
      serial: {type: integer}
      vip: {type: boolean}
      city: {type: text, keys: [A, B, C]}
      note: {type: text, nullable: true}
      day: {type: date, bounds: [1990-01-01, 2029-12-31]}
      moment: {type: timestamp}
  visits:
    source: t.parquet
    unit: row
    columns:
      cost: {type: integer, bounds: [0, 100]}
      clinic: {type: text, keys: [X, Y]}
  cities:
    source: t.csv
    public: true
"""
TYPES = {
    "people": {
        "age": "BIGINT", "income": "DOUBLE", "wealth": "DOUBLE", "n": "BIGINT", "serial": "BIGINT", "vip": "BOOLEAN",
        "city": "VARCHAR", "note": "VARCHAR", "day": "DATE", "moment": "TIMESTAMP",
    },
    "visits": {"cost": "BIGINT", "clinic": "VARCHAR"},
}  # fmt: skip
PUBLIC = {"cities": "SELECT * FROM (VALUES ('A', 'north'), ('B', 'south')) AS v(city, region)"}


def _bench(dialect: str) -> Bench:
    return bench(make_policy(TABLES, dialect=dialect), TYPES, ZeroNoise(), ForbiddenEngine, PUBLIC)


@pytest.fixture(scope="module")
def benches() -> dict[str, Bench]:
    return {dialect: _bench(dialect) for dialect in ("duckdb", "postgres", "bigquery", "spark")}


def outcome(made: Bench, sql: str) -> list[str]:
    """What a refusal says, line by line."""
    try:
        made.ask(sql)
    except Error as error:
        assert not isinstance(error, InternalError)
        assert not made.ledger.charges and not made.engine.executed
        lines = [f"{error.sqlstate} {error.message}"]
        if error.hint:
            lines.append(f"hint: {error.hint}")
        if error.position is not None:
            assert 0 <= error.position <= len(sql)
            lines.append(f"at {error.position}: {' '.join(sql[error.position :].split())[:30]}".rstrip())
        return lines
    except DataTouched:
        made.ledger.charges.clear()
    return ["ACCEPTED"]


@pytest.mark.asked_for("--update-refused")
def test_update(benches: dict[str, Bench]) -> None:
    cases.rewrite(DIRECTORY, lambda case: outcome(benches[case.option("dialect", "duckdb")], case.sql))


@pytest.mark.parametrize("case", cases.read(DIRECTORY), ids=lambda c: c.id)
def test_refused(benches: dict[str, Bench], case: cases.Case) -> None:
    said = outcome(benches[case.option("dialect", "duckdb")], case.sql)
    assert said == list(case.outcome)
    assert said != ["ACCEPTED"]
    first = said[0]
    assert re.match(r"[0-9A-Z]{5} \S", first)
    assert "\n" not in first and len(first) < 400
    assert "_dpsql_release" not in " ".join(said).replace(case.sql, "") or "_dpsql" in case.sql
    assert len(said) > 1, "a refusal needs a hint"


# ---------------------------------------------------------------------------------------------- every function


def _functions(kind: str) -> set[str]:
    rows = duckdb.connect().execute(
        "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type = ? AND schema_name = 'main'",
        [kind],
    )
    return {name for (name,) in rows.fetchall() if re.fullmatch(r"[a-z_][a-z0-9_]*", name)}


ANSWERED = set(
    """
    count count_star count_if countif sum avg mean variance var_samp var_pop stddev stddev_samp stddev_pop
    max median min
    """.split()
)
"""DuckDB's aggregates that dpsql answers, under all their names; quantiles need a fraction besides."""
OVER_ROWS = set(
    """
    abs ceil ceiling char_length character_length contains date_diff date_part date_trunc datediff datepart datetrunc
    day dayofmonth dayofweek dayofyear ends_with even exp floor greatest hour if ifnull isodow lcase least left len
    length ln log log10 log2 lower minute
    mod month nullif position pow power prefix quarter right round second sign sqrt
    starts_with strftime substr substring suffix trim trunc ucase upper week weekofyear year current_date today
    """.split()
)
"""DuckDB's scalar functions that may be allowed over private rows."""
MEANT = {"coalesce", "today", "current_date", "to_binary"}
"""Names for something else in the scratch engine's SQL: CURRENT_DATE becomes a literal, to_binary NULL."""
ARGUMENTS = ("", "age", "income", "note", "day", "age, 2", "note, 'x'", "income, 2", "'day', day", "'day', day, day",
             "note, 1, 2", "age, age", "note, 'x', 'y'", "vip, 1, 2")  # fmt: skip
NOISY_ARGUMENTS = ("", "a", "'x', a", "'x', 'y', a", "a, 2", "'x'", "DATE '2020-01-01'")
if not NIGHTLY:  # by day fewer, though from none to three in a call
    ARGUMENTS_TRIED, NOISY_ARGUMENTS_TRIED = ARGUMENTS[::2], NOISY_ARGUMENTS[:4]
else:
    ARGUMENTS_TRIED, NOISY_ARGUMENTS_TRIED = ARGUMENTS, NOISY_ARGUMENTS


def _accepted(made: Bench, sql: str) -> bool:
    return outcome(made, sql) == ["ACCEPTED"]


@pytest.mark.parametrize("name", sorted(_functions("aggregate") - ANSWERED))
def test_every_other_aggregate_is_refused(benches: dict[str, Bench], name: str) -> None:
    for arguments in ARGUMENTS:
        assert not _accepted(benches["duckdb"], f"SELECT {name}({arguments}) FROM people")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(_functions("scalar") - _functions("aggregate") - OVER_ROWS))
def test_every_other_scalar_function_is_refused_over_private_rows(benches: dict[str, Bench], name: str) -> None:
    for arguments in ARGUMENTS_TRIED:
        assert not _accepted(benches["duckdb"], f"SELECT COUNT({name}({arguments})) FROM people")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(_functions("scalar") - FUNCTIONS - MEANT))
def test_every_scalar_function_off_the_list_is_refused_over_noisy_rows(benches: dict[str, Bench], name: str) -> None:
    made = benches["duckdb"]
    for arguments in NOISY_ARGUMENTS_TRIED:
        sql = f"SELECT {name}({arguments}) FROM (SELECT COUNT(*) AS a FROM people) AS q"
        assert not _accepted(made, sql), arguments


@pytest.mark.parametrize("kind", ["table", "table_macro", "pragma"])
def test_every_table_function_is_refused(benches: dict[str, Bench], kind: str) -> None:
    for name in sorted(_functions(kind)):
        for arguments in ("", "'people'", "1"):
            assert not _accepted(benches["duckdb"], f"SELECT * FROM {name}({arguments})"), name


def test_the_inventory_of_functions_is_the_one_that_was_looked_at() -> None:
    """A new release of DuckDB brings functions that nobody has judged: this says which.

    They are refused already; look at each, then write the new list with `--update-refused`.
    """
    inventory = DIRECTORY / "functions.txt"
    now = sorted(f"{kind} {name}" for kind in ("aggregate", "scalar", "macro", "table") for name in _functions(kind))
    if not inventory.exists():
        inventory.write_text("\n".join(now) + "\n", encoding="utf-8")
    known = inventory.read_text(encoding="utf-8").split("\n")
    assert sorted(set(now) - set(known)) == []
