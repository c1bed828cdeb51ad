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
from hypothesis import event, given, settings
from tests import grammar
from tests.harness import Bench, ZeroNoise, bench, make_policy

from dpsql.errors import Error, InternalError
from dpsql.plan import ReleasePlan

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
    return per_row if call.function == "AVG" else per_row * (rows + 1)


def _check_value(call: grammar.Aggregate, value: Any, wanted: Any, tolerance: Fraction, compiled: Any) -> None:
    assert value is not None
    if call.function == "COUNT":
        assert value == (wanted or 0) and type(value) is int
    elif wanted is None:
        assert value == 0 or call.function == "AVG"
        assert math.isfinite(value)
    elif math.isfinite(wanted):
        assert abs(Fraction(value) - Fraction(wanted)) <= tolerance, (value, wanted)


@given(random=grammar.randoms)
@settings(max_examples=600)
def test_generated_statements_answer_as_duckdb_does(made: Bench, random: Random) -> None:
    statement = grammar.statement(random, tails=False)
    rows = [grammar.modest_row(random) for _ in range(random.choice((0, 1, 5, 12)))]
    if rows and random.random() < 0.3:
        rows += [rows[0]] * 3
    event(check_against_duckdb(made, statement, rows))


@pytest.mark.parametrize("key", grammar.KEYS)
def test_every_key_groups_as_duckdb_does(made: Bench, key: str) -> None:
    random = Random(key)
    rows = [grammar.modest_row(random) for _ in range(40)]
    calls = (grammar.Aggregate("COUNT"), grammar.Aggregate("SUM", "m"), grammar.Aggregate("AVG", "y"))
    assert check_against_duckdb(made, grammar.Statement((key,), calls), rows) == "compared"
