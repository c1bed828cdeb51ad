"""`dpsql audit` finds what is planted, says how close the tightest case came, and repeats itself from its seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpsql import plan
from dpsql.aggregates.aggregate import Basis
from dpsql.audit import attack, audit, coverage
from dpsql.audit.findings import Audit
from dpsql.audit.values import extremes
from dpsql.engines import duckdb as engine
from dpsql.policy import Policy, load
from dpsql.privacy.mechanisms.laplace import DiscreteLaplace
from dpsql.rewrite import inner
from tests.people import TABLES
from tests.worlds import World

pytestmark = pytest.mark.slow

PUBLIC = {
    "product.csv": "id,kind,mass\n1,pen,2.5\n2,ink,1\n3,pen,\n",
    "nation.csv": "key,name,region\n1,DE,EU\n2,FR,EU\n3,JP,ASIA\n",
    "tag.csv": "product,tag\n1,a\n1,b\n2,c\n",
}


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Customers with orders, items, visits and payments. The private sources don't exist: nothing may open them."""
    directory = tmp_path_factory.mktemp("people")
    text = TABLES.replace("source: t.parquet", "source: missing.parquet")
    for name, rows in PUBLIC.items():
        (directory / name).write_text(rows, encoding="utf-8")
        text = text.replace(f"  {name[:-4]}:\n    source: cities.csv", f"  {name[:-4]}:\n    source: {name}")
    path = directory / "policy.yaml"
    head = "dpsql: 1\nengine: duckdb\nprivacy: {epsilon: 1}\nbudget: {epsilon: 10}\nledger: ledger\ntables:\n"
    path.write_text(head + text, encoding="utf-8")
    (directory / "missing.parquet").write_bytes(b"")
    loaded = load(path)
    (directory / "missing.parquet").unlink()
    return loaded


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coverage is looked at with 400 draws for each aggregate in one test alone."""
    monkeypatch.setattr(coverage, "DRAWS", 8)


def test_a_sound_product_holds_and_reaches_every_bound(policy: Policy) -> None:
    found = audit(policy, cases=18, seed=1)
    assert [table.name for table in found.tables] == [n for n, t in policy.tables.items() if not t.public]
    for table in found.tables:
        assert table.held and table.cases >= 18, table.violations
        assert table.tightest is not None and table.tightest.share == 1
        assert sum(table.spread) == table.cases
        assert {c.aggregate.partition("(")[0] for c in table.coverage} == {"COUNT", "SUM", "AVG", "VARIANCE", "STDDEV"}
    assert found.tables[0].unit == "cust"
    assert [t.unit for t in found.tables if t.name == "refund"] == ["via payment.order_id, payment.line"]


def test_the_same_seed_makes_the_same_audit(policy: Policy) -> None:
    def without_chance(found: Audit) -> Audit:
        return replace(found, tables=tuple(replace(table, coverage=()) for table in found.tables))

    few = replace(policy, tables={"visit": policy.tables["visit"]})
    one, again, other = (without_chance(audit(few, cases=12, seed=seed)) for seed in (5, 5, 6))
    assert one == again
    assert [t.spread for t in one.tables] != [t.spread for t in other.tables]


def test_without_a_seed_one_is_chosen(policy: Policy) -> None:
    few = replace(policy, tables={"customer": policy.tables["customer"]})
    assert audit(few, cases=1).seed != audit(few, cases=1).seed


def test_a_policy_with_cube_noise_is_attacked_as_well(policy: Policy) -> None:
    """Its answers come from cubes, which lose no more than they say; and their intervals hold as often."""
    auto = replace(policy, privacy=replace(policy.privacy, mechanism="auto"))
    few = replace(auto, tables={n: auto.tables[n] for n in ("customer", "orders")})
    own = "SELECT COUNT(*), AVG(total), VARIANCE(total) FROM orders"
    found = audit(few, cases=20, seed=3, queries=[(1, own)])
    assert found.held
    (query,) = found.queries
    assert query.tightest is not None and query.tightest.share > Fraction(3, 4)
    assert {c.aggregate.partition("(")[0] for c in found.tables[0].coverage} == {
        "COUNT",
        "SUM",
        "AVG",
        "VARIANCE",
        "STDDEV",
    }


# ---------------------------------------------------------------------------------------------- planted faults


def _half_unit(real: Any) -> Any:
    """The plan believes that a row adds half of what it does."""
    return lambda self, grid: tuple(replace(part, unit=(part.unit + 1) // 2) for part in real(self, grid))


def _halved(real: Any) -> Any:
    return property(lambda self: real.fget(self) / 2)


Fault = tuple[Any, str, Callable[[Any], Any]]
FAULTS: dict[str, tuple[str, tuple[Fault, ...]]] = {
    "a wrong bound in the plan": (
        "of its bound", ((Basis, "parts", _half_unit), (plan.BasisPlan, "moved", _halved)),
    ),
    "one row more than max_rows counts": (
        "of its bound", ((inner, "weight", lambda real: lambda n, *a: real(n + 1, *a)),),
    ),
    "an error that rows decide on": (
        "failed on some rows", ((inner, "none_is_zero", lambda real: lambda node: node),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(policy: Policy, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    words, faults = FAULTS[name]
    for module, attribute, fault in faults:
        monkeypatch.setattr(module, attribute, fault(getattr(module, attribute)))
    engine._parsed.cache_clear()
    orders = replace(policy, tables={n: policy.tables[n] for n in ("customer", "orders")})
    found = audit(orders, cases=20, seed=1, queries=[(3, "SELECT SUM(total) FROM orders")])
    assert not found.held
    assert any(words in violation.what for violation in found.violations), [v.what for v in found.violations]
    assert all(len(table.violations) <= attack.MOST_VIOLATIONS for table in found.tables)


def test_noise_of_another_scale_shows_in_the_intervals(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Record and replay looks at no sampler: the intervals do."""
    monkeypatch.setattr(coverage, "DRAWS", 400)
    real = DiscreteLaplace.sample
    monkeypatch.setattr(DiscreteLaplace, "sample", lambda self, *args: 2 * real(self, *args))
    found = audit(replace(policy, tables={"customer": policy.tables["customer"]}), cases=1, seed=1)
    assert not found.tables[0].held
    assert not found.tables[0].violations


# ---------------------------------------------------------------------------------------------- the owner's queries


def test_the_owner_s_queries(policy: Policy) -> None:
    queries = [(2, "SELECT status, AVG(total) FROM orders GROUP BY status"), (9, "SELECT * FROM orders"), (11, "SELEC")]
    few = replace(policy, tables={n: policy.tables[n] for n in ("customer", "orders")})
    held, refused, wrong = audit(few, cases=1, seed=1, queries=queries).queries
    assert (held.line, held.refused, held.violations) == (2, None, ())
    assert held.cases > 10 and held.tightest is not None and held.tightest.share == 1
    assert (refused.line, refused.cases) == (9, 0) and refused.refused
    assert wrong.refused is not None


def test_the_owner_s_queries_are_in_the_policy_s_dialect(policy: Policy) -> None:
    few = replace(policy, tables={"customer": policy.tables["customer"]}, dialect="bigquery")
    (query,) = audit(few, cases=1, seed=1, queries=[(1, "SELECT COUNTIF(`segment` = 'A') FROM customer")]).queries
    assert query.refused is None and query.cases


# ---------------------------------------------------------------------------------------------- any policy


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_any_policy_can_be_audited(seed: int) -> None:
    found = audit(World(seed).policy(), cases=8, seed=seed)
    assert found.held, list(found.violations)
    assert all(table.cases for table in found.tables)


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("DOUBLE", ("NaN", "Infinity", "-Infinity", "-0.0", "0.0", "1e308", "5e-324")),
        ("BIGINT", ("NULL", "9223372036854775807", "-9223372036854775807 - 1")),
        ("VARCHAR", ("NULL", "''", "é", "e\u0301", "repeat('x', 1000000)")),
        ("DATE", ("NULL", "infinity", "-infinity", "275810")),
        ("TIMESTAMP", ("NULL", "infinity", "-infinity", "275810")),
        ("DECIMAL(5,2)", ("NULL", "999.99", "-999.99")),
    ],
)
def test_values_that_a_policy_does_not_think_of(type_: str, values: tuple[str, ...]) -> None:
    assert all(any(value in found for found in extremes(type_)) for value in values)


def test_nothing_is_written(policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(policy.path.parent.iterdir())
    audit(replace(policy, tables={"customer": policy.tables["customer"]}), cases=2, seed=1)
    assert sorted(policy.path.parent.iterdir()) == before and not list(tmp_path.iterdir())
