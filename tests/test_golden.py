"""What statements compile to: EXPLAIN's whole text, with bounds, Δf, scales, keys, inner and outer SQL.

`pytest tests/test_golden.py --update-golden` rewrites the files; the diff is to be reviewed line by line, since it is
the sensitivity and the SQL that privacy rests on.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import cases, people
from tests.harness import Bench, ForbiddenEngine, ZeroNoise, bench, make_policy
from tests.test_private_keys import granting
from tests.test_refused import PUBLIC, TABLES, TYPES

DIRECTORY = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def benches() -> dict[tuple[str, str], Bench]:
    """By policy and dialect: rows are units; people are; they are and the engine keeps one row of a customer."""
    rows = {
        ("rows", dialect): bench(make_policy(TABLES, dialect=dialect), TYPES, ZeroNoise(), ForbiddenEngine, PUBLIC)
        for dialect in ("duckdb", "postgres", "bigquery", "spark")
    }
    of_people = {
        (name, "duckdb"): bench(
            granting(people.TABLES), people.TYPES, ZeroNoise(), ForbiddenEngine, people.PUBLIC, unique
        )
        for name, unique in (("people", {}), ("unique people", people.UNIQUE))
    }
    return rows | of_people


def compiled(benches: dict[tuple[str, str], Bench], case: cases.Case) -> list[str]:
    made = benches[case.option("policy", "rows"), case.option("dialect", "duckdb")]
    text = made.session.explain(case.sql, epsilon=case.option("epsilon", "1"), analyst="anyone")
    assert not made.engine.executed and not made.ledger.charges
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.asked_for("--update-golden")
def test_update(benches: dict[tuple[str, str], Bench]) -> None:
    cases.rewrite(DIRECTORY, lambda case: compiled(benches, case))


@pytest.mark.parametrize("case", cases.read(DIRECTORY), ids=lambda c: c.id)
def test_golden(benches: dict[tuple[str, str], Bench], case: cases.Case) -> None:
    assert compiled(benches, case) == list(case.outcome)
