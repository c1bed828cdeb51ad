"""Generated statements over rows of units: bounded whatever a unit's rows are, and meaning what DuckDB says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import Error
from dpsql.rows import Chosen, Form, Join, Mark, Rows, Scan
from tests.harness import Bench, RecordingNoise, ZeroNoise, examples
from tests.people import Database, compare_neighbours, people, person, set_database, strays, united
from tests.unit_grammar import Grammar

UNIQUE = {"customer": (frozenset({"cust"}),)}


@pytest.fixture(scope="module")
def recording() -> tuple[Bench, Bench]:
    """Where nothing is kept unique, and where the engine keeps one row of a customer."""
    return people(RecordingNoise()), people(RecordingNoise(), unique=UNIQUE)


@pytest.fixture(scope="module")
def exact() -> Bench:
    return people(ZeroNoise())


def _accepted(made: Bench, sql: str, epsilon: object = 1) -> bool:
    """Whether a statement is answered; what isn't is refused in so many words."""
    try:
        made.session.plan(sql, epsilon=epsilon)
    except Error:
        return False
    return True


def _forms(rows: Rows) -> Iterator[str]:
    """What a relation is made of: its forms, with the variants of some."""
    form = rows.form
    yield type(form).__name__
    match form:
        case Scan() if form.path:
            yield f"Scan along {len(form.path)} keys"
        case Join():
            yield f"{form.kind} Join with {'public' if form.right.bound is None else 'private'} rows"
        case Mark():
            word = "IN" if form.value is not None else "EXISTS"
            yield f"{word} {'public' if form.right.bound is None else 'private'}"
    for name in ("source", "left", "right"):
        if hasattr(form, name):
            yield from _forms(getattr(form, name))
    for branch in getattr(form, "branches", ()):
        yield from _forms(branch)


def test_the_grammar_reaches_every_form(exact: Bench) -> None:
    """A form that is new must be written by the grammar too."""
    found: Counter[str] = Counter()
    accepted = 0
    for seed in range(250):
        sql = Grammar(Random(seed)).statement()
        try:
            plan = exact.session.plan(sql, epsilon=1).plan
        except Error:
            continue
        accepted += 1
        for release in plan.releases:
            found.update(set(_forms(release.query.rows)))
    assert accepted > 100
    kinds = {form.__name__ for form in get_args(Form)} - {Chosen.__name__}  # of private keys, which cost δ
    kinds |= {f"{kind} Join with {side} rows" for kind in ("inner", "left") for side in ("public", "private")}
    kinds |= {"Scan along 1 keys", "Scan along 2 keys", "IN public", "EXISTS public", "EXISTS private"}
    assert not kinds - found.keys()
    assert min(found[kind] for kind in kinds) > 1


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), random=st.randoms(use_true_random=False))
@examples(300)
def test_no_unit_moves_a_generated_statement_more_than_its_bound(
    recording: tuple[Bench, Bench], seed: int, random: Random
) -> None:
    sql = Grammar(Random(seed)).statement()
    unique = seed % 2 == 1
    made = recording[unique]
    epsilon = random.choice(("1", "0.01"))
    if not _accepted(made, sql, epsilon):
        return
    others = [_kept(person(random, i), unique=unique) for i in range(1, random.choice((1, 2, 5)))]
    victims = [_kept(person(random, 99, most=random.choice((2, 3, 12))), unique=unique) for _ in range(2)]
    compare_neighbours(made, sql, united(*others, strays(random)), victims, epsilon)


def _kept(rows: Database, *, unique: bool) -> Database:
    return {**rows, "customer": rows["customer"][:1]} if unique else rows


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), random=st.randoms(use_true_random=False))
@examples(150)
def test_a_generated_statement_means_what_duckdb_says(exact: Bench, seed: int, random: Random) -> None:
    """Over people within their bounds, whose values are too; groups of undeclared keys apart."""
    grammar = Grammar(Random(seed), plain=True)
    sql = grammar.statement()
    if not _accepted(exact, sql, 10**9):
        return
    set_database(exact, united(*(_proper(random, i) for i in range(1, random.choice((2, 4, 6))))))
    mine = {row[: grammar.keys]: row[grammar.keys :] for row in exact.ask(sql, 10**9).rows}
    plain = {row[: grammar.keys]: row[grammar.keys :] for row in exact.engine.plain(sql)}
    for key, values in plain.items():
        assert key in mine or None in key, (sql, key)
        for a, b in zip(mine.get(key, ()), values, strict=key in mine):
            assert b is None or math.isclose(a, float(b), rel_tol=1e-6, abs_tol=1e-3), (sql, key, a, b)
    for key in mine.keys() - plain.keys():
        assert not any(value for value in mine[key] if isinstance(value, int)), (sql, key)


def _proper(random: Random, cust: int) -> dict[str, list[list[str]]]:
    """A person within all bounds of the policy, with declared values only."""
    pick, unit = random.choice, str(cust)
    orders = [
        [str(cust * 10 + i), unit, pick(("'F'", "'O'", "'P'")), pick(("NULL", "-50", "200", "3.5")),
         pick(("NULL", "DATE '2020-02-29'")), pick("135")]
        for i in range(pick((0, 1, 2)))
    ]  # fmt: skip
    ids = [order[0] for order in orders]
    payments = [[i, str(line), pick(("NULL", "0", "99.5"))] for i in ids for line in range(pick((0, 1, 2)))]
    return {
        "customer": [[unit, pick("1239"), pick(("'A'", "'B'", "NULL")), pick(("NULL", "100", "107.5"))]
                     for _ in range(pick((0, 1, 1)))],
        "orders": orders,
        "item": [[i, pick(("1", "2", "3", "77", "NULL")), pick(("1", "10", "4")), pick(("NULL", "0.5", "99.99"))]
                 for i in ids for _ in range(pick((0, 1, 2)))],
        "visit": [[unit, pick(("'X'", "'Y'")), pick(("NULL", "100", "110"))] for _ in range(pick((0, 1, 2)))],
        "payment": payments,
        "refund": [[*p[:2], pick(("'late'", "'broken'", "NULL")), pick("094")] for p in payments[:1]
                   for _ in range(pick((0, 1, 1, 2)))],
    }  # fmt: skip
