"""Tables whose rows belong to people: customers with orders with items, visits, and public tables to join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from dpsql.audit.replay import Run, compare, record
from tests.harness import Bench, bench, make_policy

UNIQUE = {"customer": (frozenset({"cust"}),)}
"""What an engine says that keeps one row of a customer."""

TABLES = """  customer:
    source: t.parquet
    unit: {column: cust}
    columns:
      cust: {type: integer, unique: true}
      nation: {type: integer}
      segment: {type: text, keys: [A, B, null]}
      balance: {type: double, bounds: [100, 110], nullable: true}
  orders:
    source: t.parquet
    unit: {column: cust, max_rows: 3}
    primary_key: id
    columns:
      id: {type: integer}
      cust: {type: integer}
      status: {type: text, keys: [F, O, P]}
      total: {type: double, bounds: [-50, 200], nullable: true}
      day: {type: date, bounds: [2020-01-01, 2020-03-31], nullable: true}
      priority: {type: integer, bounds: [1, 5]}
  item:
    source: t.parquet
    unit: {via: {order_id: orders.id}, max_rows: 5}
    columns:
      order_id: {type: integer}
      product: {type: integer}
      qty: {type: integer, bounds: [1, 10]}
      price: {type: "decimal(10,2)", bounds: [0, 100], nullable: true}
  visit:
    source: t.parquet
    unit: {column: cust, max_rows: 12, max_groups: 2, max_rows_per_key: 3}
    columns:
      cust: {type: integer}
      clinic: {type: text, keys: [X, Y, Z]}
      cost: {type: integer, bounds: [100, 110], nullable: true}
  payment:
    source: t.parquet
    unit: {via: {order_id: orders.id}, max_rows: 4}
    primary_key: [order_id, line]
    columns:
      order_id: {type: integer}
      line: {type: integer}
      amount: {type: double, bounds: [0, 100], nullable: true}
  refund:
    source: t.parquet
    unit: {via: {order_id: payment.order_id, line: payment.line}, max_rows: 2}
    columns:
      order_id: {type: integer}
      line: {type: integer}
      why: {type: text, keys: [late, broken, null]}
      unit: {type: integer, bounds: [0, 9]}
  product:
    source: cities.csv
    public: true
    primary_key: id
  nation:
    source: cities.csv
    public: true
    columns:
      key: {type: integer, unique: true}
      name: {type: text}
      region: {type: text}
  tag:
    source: cities.csv
    public: true
"""
TYPES = {
    "customer": {"cust": "BIGINT", "nation": "INTEGER", "segment": "VARCHAR", "balance": "DOUBLE"},
    "orders": {"id": "BIGINT", "cust": "BIGINT", "status": "VARCHAR", "total": "DOUBLE", "day": "DATE",
               "priority": "INTEGER"},
    "item": {"order_id": "BIGINT", "product": "BIGINT", "qty": "INTEGER", "price": "DECIMAL(10,2)"},
    "visit": {"cust": "BIGINT", "clinic": "VARCHAR", "cost": "BIGINT"},
    "payment": {"order_id": "BIGINT", "line": "INTEGER", "amount": "DOUBLE"},
    "refund": {"order_id": "BIGINT", "line": "SMALLINT", "why": "VARCHAR", "unit": "INTEGER"},
}  # fmt: skip
PUBLIC = {
    "product": "SELECT * FROM (VALUES (1::BIGINT, 'pen', 2.5), (2, 'ink', 1.0), (3, 'pen', NULL)) AS v(id, kind, mass)",
    "nation": "SELECT * FROM (VALUES (1, 'DE', 'EU'), (2, 'FR', 'EU'), (3, 'JP', 'ASIA')) AS v(key, name, region)",
    "tag": "SELECT * FROM (VALUES (1::BIGINT, 'a'), (1, 'b'), (2, 'c')) AS v(product, tag)",
}
Database = Mapping[str, Sequence[Sequence[str]]]
"""Rows as SQL literals, by table."""


def people(noise: Any, **options: Any) -> Bench:
    return bench(make_policy(TABLES), TYPES, noise, public=PUBLIC, **options)


def set_database(made: Bench, database: Database) -> None:
    for table in TYPES:
        made.engine.set_rows(table, database.get(table, ()))


def united(*databases: Database) -> dict[str, list[Sequence[str]]]:
    return {table: [row for database in databases for row in database.get(table, ())] for table in TYPES}


_CUSTOMER = {
    "nation": ("1", "2", "3", "9", "NULL"), "segment": ("'A'", "'B'", "NULL", "'EU'"),
    "balance": ("NULL", "'NaN'::DOUBLE", "100", "110", "105.5", "1e308", "'-Infinity'::DOUBLE"),
}  # fmt: skip
_ORDER = {
    "status": ("'F'", "'O'", "'P'", "NULL", "'?'"), "total": ("NULL", "-50", "200", "0", "1e300", "'NaN'::DOUBLE"),
    "day": ("NULL", "DATE '2020-01-01'", "DATE '2020-02-29'", "DATE '9999-12-31'", "'infinity'::DATE"),
    "priority": ("1", "5", "-7", "2147483647"),
}  # fmt: skip
_ITEM = {
    "product": ("1", "2", "3", "77", "NULL"), "qty": ("1", "10", "-2147483648", "4", "NULL"),
    "price": ("NULL", "0", "100", "12.34", "99999999.99"),
}  # fmt: skip
_PAYMENT = {"amount": ("0", "100", "12.5", "NULL", "1e308", "'NaN'::DOUBLE")}
_REFUND = {"why": ("'late'", "'broken'", "NULL", "'?'"), "unit": ("0", "9", "4", "1", "99", "NULL", "-2147483648")}
_VISIT = {"clinic": ("'X'", "'Y'", "'Z'", "NULL", "'W'"), "cost": ("NULL", "100", "110", "9223372036854775807", "105")}


def _row(random: Random, columns: Mapping[str, Sequence[str]]) -> list[str]:
    return [random.choice(values) for values in columns.values()]


def person(random: Random, cust: int, *, most: int = 6, modest: bool = False) -> dict[str, list[list[str]]]:
    """All rows of one unit: up to so many in each table. `modest`: a row of customer, and few others."""
    orders = range(random.choice((0, 1, 2, most) if not modest else (0, 1, 2)))
    ids = [cust * 1000 + i for i in orders]
    unit = str(cust)
    payments = [(str(i), str(line)) for i in ids for line in range(random.choice((0, 1, 1, most)))]
    return {
        "customer": [[unit, *_row(random, _CUSTOMER)] for _ in range(1 if modest else random.choice((0, 1, 1, most)))],
        "orders": [[str(i), unit, *_row(random, _ORDER)] for i in ids],
        "item": [[str(i), *_row(random, _ITEM)] for i in ids for _ in range(random.choice((0, 1, 2, most)))],
        "visit": [[unit, *_row(random, _VISIT)] for _ in range(random.choice((0, 1, 3, most)))],
        "payment": [[*key, *_row(random, _PAYMENT)] for key in payments],
        "refund": [[*key, *_row(random, _REFUND)] for key in payments for _ in range(random.choice((0, 0, 1, 2)))],
    }


def strays(random: Random) -> dict[str, list[list[str]]]:
    """Rows that belong to nobody: their unit is NULL, or can't be reached."""
    return {
        "customer": [["NULL", *_row(random, _CUSTOMER)] for _ in range(2)],
        "orders": [["-1", "NULL", *_row(random, _ORDER)], ["-2", "NULL", *_row(random, _ORDER)]],
        "item": [[i, *_row(random, _ITEM)] for i in ("NULL", "-1", "-3", "-3")],
        "visit": [["NULL", *_row(random, _VISIT)] for _ in range(3)],
        "payment": [["-1", "1", *_row(random, _PAYMENT)], ["-9", "1", *_row(random, _PAYMENT)]],
        "refund": [[i, line, *_row(random, _REFUND)] for i, line in (("-1", "1"), ("-9", "1"), ("NULL", "0"))],
    }


def compare_neighbours(
    made: Bench, sql: str, database: Database, victims: Sequence[Database], epsilon: str = "1"
) -> list[tuple[Run, Run]]:
    """Run a statement without and with each victim; all that can be seen is the same, and no unit costs more than ε."""
    plan = made.session.plan(sql, epsilon=epsilon).plan
    set_database(made, database)
    without = record(made, sql, epsilon)
    pairs = []
    for victim in victims:
        with made.engine.adding(victim):
            with_victim = record(made, sql, epsilon)
        compare(plan, without, with_victim)
        pairs.append((without, with_victim))
    return pairs
