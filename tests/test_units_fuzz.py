"""Generated statements over rows of units: bounded whatever a unit's rows are, and meaning what DuckDB says."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.engines.exact_rows import ExactRows
from dpsql.errors import Error
from dpsql.plan import ReleasePlan
from dpsql.release import _part
from dpsql.rewrite.inner import Inner
from dpsql.rows import Chosen, Form, Join, Mark, Rows, Scan
from tests.harness import Bench, RecordingNoise, ZeroNoise, bench, examples
from tests.people import (
    PUBLIC,
    TABLES,
    TYPES,
    UNIQUE,
    Database,
    compare_neighbours,
    people,
    person,
    set_database,
    strays,
    united,
)
from tests.test_private_keys import granting
from tests.unit_grammar import Grammar

pytestmark = pytest.mark.slow


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
@examples(200)
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


# ---------------------------------------------------------------------------------------------- private keys

UNDECLARED = re.sub(r", keys: \[[^]]*]", ", nullable: true", TABLES)
"""The tables with no text whose values are declared."""


@pytest.fixture(scope="module")
def undeclared() -> tuple[Bench, Bench]:
    policy = granting(UNDECLARED)
    return tuple(bench(policy, TYPES, ZeroNoise(), public=PUBLIC, unique=unique) for unique in ({}, UNIQUE))  # type: ignore[return-value]


def _private(made: Bench, sql: str) -> tuple[tuple[ReleasePlan, tuple[Inner, ...]], ...]:
    """The releases of a statement that have private keys, with their queries, where these need no constants."""
    try:
        compiled = made.session.plan(sql, epsilon=1)
    except Error:
        return ()
    found = zip(compiled.plan.releases, compiled.inner, strict=True)
    return tuple((r, q) for r, q in found if r.selection is not None and not any(i.constants for i in q))


def test_the_grammar_writes_private_keys(undeclared: tuple[Bench, Bench]) -> None:
    found: Counter[str] = Counter()
    for seed in range(200):
        for release, _ in _private(undeclared[0], Grammar(Random(seed), private=True).statement()):
            found.update({*_forms(release.query.rows), "release"})
            found["several"] += len(release.query.private_keys) > 1
            found["mixed"] += len(release.query.private_keys) < len(release.query.keys)
            found.update(basis.basis.name for basis in release.bases)
            found["values of units"] += any(b.measure.by_unit and not b.measure.of_unit for b in release.bases)
    assert found["release"] > 60
    assert min(found[kind] for kind in ("several", "mixed", "UNITS", "PRESENT", "values of units")) > 5
    assert min(found[kind] for kind in ("Join", "Union", "Grouped", "Mark", "Select")) > 1


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), random=st.randoms(use_true_random=False))
@examples(150)
def test_no_unit_moves_private_keys_more_than_it_may(
    undeclared: tuple[Bench, Bench], seed: int, random: Random
) -> None:
    """Whichever keys are selected: it counts for at most so many of them, and moves all sums within their bounds."""
    made = undeclared[seed % 2]
    releases = _private(made, Grammar(Random(seed), private=True).statement())
    if not releases:
        return
    unique = seed % 2 == 1
    others = [_kept(person(random, i), unique=unique) for i in range(1, random.choice((1, 2, 5)))]
    database = united(*others, strays(random))
    victim = _kept(person(random, 99, most=random.choice((2, 3, 12))), unique=unique)
    for release, queries in releases:
        without, with_victim = (_read(made, rows, queries) for rows in (database, united(database, victim)))
        assert release.selection is not None
        units, more = (_by_key(rows[0], rows[0].sums[0]) for rows in (without, with_victim))
        moved = [more.get(key, 0) - units.get(key, 0) for key in more | units]
        assert set(moved) <= {0, 1} and sum(moved) <= release.selection.groups
        for bases, inner, one, other in list(zip(release.passes, queries, without, with_victim, strict=True))[1:]:
            for basis in (release.bases[i] for i in bases):
                loss = Fraction(0)
                for part in basis.parts:
                    a, b = (_by_key(rows, _part(part, basis, rows, inner)) for rows in (one, other))
                    loss += sum(abs(a.get(key, 0) - b.get(key, 0)) for key in a | b) / basis.scale(part)
                assert loss <= basis.epsilon, f"one unit moved a basis by {float(loss / basis.epsilon)} of its bound"


def _read(made: Bench, database: Database, queries: tuple[Inner, ...]) -> list[ExactRows]:
    set_database(made, database)
    with made.engine.transaction() as transaction:
        return [transaction.fetch(inner.sql, inner.keys, inner.sums, inner.counts, {}) for inner in queries]


def _by_key(rows: ExactRows, sums: object) -> dict[object, int]:
    keys = list(zip(*(key.tolist() for key in rows.keys), strict=True))
    found = dict(zip(keys, map(int, sums), strict=True))  # type: ignore[call-overload]
    assert len(found) == len(keys)
    return found


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
