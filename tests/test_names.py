"""Tables of schemas: declared with a dot, found by full name or by its end, in every dialect."""

from __future__ import annotations

import pytest

from dpsql.errors import UnknownTable
from dpsql.names import declared_table
from tests.harness import Bench, ZeroNoise, bench, make_policy

TABLES = """\
  people: {source: t.csv, unit: row, columns: {age: {type: integer, bounds: [0, 100]}}}
  Sales.Orders: {source: t.parquet, unit: row, columns: {n: {type: integer, bounds: [0, 10]}}}
  a.twice: {source: t.parquet, unit: row, columns: {n: {type: integer, bounds: [0, 10]}}}
  b.twice: {source: t.parquet, unit: row, columns: {n: {type: integer, bounds: [0, 10]}}}
  geo.cities: {source: cities.csv, public: true}
"""
TYPES = {
    "people": {"age": "INTEGER"},
    "sales.orders": {"n": "INTEGER"},
    "a.twice": {"n": "INTEGER"},
    "b.twice": {"n": "INTEGER"},
}


@pytest.fixture(scope="module", params=["duckdb", "postgres", "bigquery", "spark"])
def made(request: pytest.FixtureRequest) -> Bench:
    policy = make_policy(TABLES, dialect=request.param)
    found = bench(policy, TYPES, ZeroNoise(), public={"geo.cities": "SELECT 'Bern' AS city, 3 AS n"})
    found.engine.set_rows("sales.orders", [("3",), ("7",)])
    found.engine.set_rows("people", [("40",)])
    return found


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("SELECT SUM(n) FROM sales.orders", 10),
        ("SELECT SUM(n) FROM SALES.orders", 10),
        ("SELECT SUM(n) FROM orders", 10),
        ("SELECT SUM(orders.n) FROM orders", 10),
        ("SELECT SUM(orders.n) FROM sales.orders", 10),
        ("SELECT SUM(sales.orders.n) FROM sales.orders", 10),
        ("SELECT SUM(o.n) FROM sales.orders AS o", 10),
        ("SELECT SUM(o.n) FROM (sales.orders) AS o", 10),
        ("SELECT SUM(n) FROM (SELECT n FROM sales.orders WHERE sales.orders.n > 3) AS q", 7),
        ("SELECT COUNT(*) FROM a.twice", 0),
        ("SELECT COUNT(*) FROM main.people", 1),
        ("SELECT COUNT(people.age) FROM public.people", 1),
        ("SELECT SUM(n) FROM geo.cities", 3),
        ("SELECT SUM(cities.n) FROM cities", 3),
        ("SELECT SUM(geo.cities.n) FROM geo.cities JOIN (SELECT COUNT(*) AS c FROM orders) AS q ON q.c > 0", 3),
        ("WITH orders AS (SELECT 1 AS n) SELECT SUM(n) FROM orders", 1),
        ("WITH orders AS (SELECT 1 AS n) SELECT SUM(n) FROM sales.orders", 10),
    ],
)
def test_a_table_of_a_schema_is_found(made: Bench, sql: str, answer: int) -> None:
    assert made.ask(sql).rows == [(answer,)]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT COUNT(*) FROM twice", "several schemas"),
        ("SELECT COUNT(*) FROM x.people", "x.people does not exist"),
        ("SELECT COUNT(*) FROM db.sales.orders", "db.sales.orders does not exist"),
        ("SELECT COUNT(*) FROM information_schema.tables", "does not exist"),
        ("SELECT SUM(a.orders.n) FROM sales.orders", "a.orders is not in this FROM"),
        ("SELECT SUM(sales.orders.n) FROM sales.orders AS o", "orders is not in this FROM"),
    ],
)
def test_another_is_refused(made: Bench, sql: str, message: str) -> None:
    with pytest.raises(UnknownTable, match=message):
        made.ask(sql)


def test_the_full_name_comes_first() -> None:
    declared = ("orders", "sales.orders", "main.kept", "kept")
    assert declared_table("orders", declared) == "orders"
    assert declared_table("main.orders", declared) == "orders"
    assert declared_table("main.kept", declared) == "main.kept"
    assert declared_table("public.kept", declared) == "kept"
    assert declared_table("ders", declared) is None
