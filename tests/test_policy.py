"""The policy: what loads and what it means; every way to be wrong, with its line, message and hint."""

from __future__ import annotations

import cProfile
import datetime as dt
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql.errors import PolicyError
from dpsql.policy import (
    Budget,
    Column,
    ColumnType,
    ForeignKey,
    Kind,
    Limit,
    Policy,
    PrivacySettings,
    Source,
    Table,
    Unit,
    load,
    load_all_errors,
    sources,
)
from dpsql.policy.document import Mapping, Node, Scalar, Sequence, compose
from dpsql.policy.problems import Problems
from dpsql.policy.scalars import NumberTooLong, resolve

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((ROOT / "dpsql/policy.schema.json").read_text("utf-8"))

ISSUE = """\
dpsql: 1                          # version of this format
engine: duckdb                    # in memory; or duckdb:///clinic.duckdb (relative to this file; four slashes: absolute)
dialect: duckdb                   # what analysts write: duckdb, postgres, bigquery, spark
privacy:
  epsilon: 1.0                    # per query, unless the analyst asks for another
  max_epsilon: 4.0                # the owner's ceiling; no built-in limit
  min_epsilon: 0.001              # the floor of a charge (this is its default)
budget:                           # epsilon and, where used, delta; for everyone together
  epsilon: 20
  analysts:
    alice: {epsilon: 5, per: month}
    "*": {epsilon: 1}             # each other analyst
ledger: var/pums.ledger           # every path is relative to this file
tables:
  people:
    source: PUMS.csv              # csv, parquet (globs too), or a table of the engine
    unit: row                     # each row is one privacy unit
    columns:
      age:     {type: integer, bounds: [0, 100]}
      sex:     {type: integer, keys: [0, 1]}
      educ:    {type: integer, bounds: [1, 16]}
      income:  {type: double, bounds: [0, 500000], grain: 1, nullable: true}
      married: {type: boolean}
  regions:
    source: regions.csv
    public: true
"""  # noqa: E501

HEAD = """\
dpsql: 1
budget: {epsilon: 20}
ledger: var/a.ledger
tables:
"""
PEOPLE = """\
  people:
    source: people.csv
    unit: row
    columns:
"""
COLUMN_LINE = 9
REGIONS = """\
  regions:
    source: regions.csv
    public: true
    columns: {region: {type: text}, code: {type: integer}, area: {type: double}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files that the policies here name."""
    made = tmp_path_factory.mktemp("policies")
    for name in (
        "PUMS.csv",
        "regions.csv",
        "people.csv",
        "part-1.parquet",
        "clinic.duckdb",
        "notes.txt",
        "UP.CSV",
    ):
        (made / name).write_bytes(b"")
    (made / "folder.csv").mkdir()
    for name in ("parts/a.csv", "parts/b.parquet", "parts/_SUCCESS", "odd[1]/a.csv"):
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_bytes(b"")
    return made


Check = Callable[..., tuple[Policy | None, list[PolicyError]]]


@pytest.fixture
def check(folder: Path) -> Check:
    """Write the text beside the files and load it."""

    def run(text: str | bytes, **environ: str) -> tuple[Policy | None, list[PolicyError]]:
        path = folder / "policy.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_all_errors(path, environ=environ)

    return run


@pytest.fixture
def good(check: Check) -> Callable[..., Policy]:
    def run(text: str | bytes, **environ: str) -> Policy:
        policy, errors = check(text, **environ)
        assert not errors, [str(error) for error in errors]
        assert policy is not None
        return policy

    return run


def with_column(column: str, more: str = "") -> str:
    return f"{HEAD}{PEOPLE}      x: {column}\n{more}"


# What loads


def test_the_sample_means_what_it_says(folder: Path, good: Callable[..., Policy]) -> None:
    integer, double = ColumnType(Kind.INTEGER), ColumnType(Kind.DOUBLE)
    policy = good(ISSUE)
    assert policy == Policy(
        path=folder / "policy.yaml",
        engine="duckdb",
        dialect="duckdb",
        privacy=PrivacySettings(Fraction(1), Fraction(4), Fraction(1, 1000)),
        budget=Budget(Limit(Fraction(20)), {"alice": Limit(Fraction(5), None, "month"), "*": Limit(Fraction(1))}),
        ledger=folder / "var/pums.ledger",
        tables={
            "people": Table(
                name="people",
                source=Source("csv", str(folder / "PUMS.csv")),
                unit="row",
                columns={
                    "age": Column("age", integer, bounds=(Fraction(0), Fraction(100)), line=19),
                    "sex": Column("sex", integer, keys=(0, 1), line=20),
                    "educ": Column("educ", integer, bounds=(Fraction(1), Fraction(16)), line=21),
                    "income": Column(
                        "income",
                        double,
                        bounds=(Fraction(0), Fraction(500000)),
                        grain=Fraction(1),
                        nullable=True,
                        line=22,
                    ),
                    "married": Column("married", ColumnType(Kind.BOOLEAN), line=23),
                },
                line=15,
            ),
            "regions": Table("regions", Source("csv", str(folder / "regions.csv")), None, {}, line=24),
        },
        text=ISSUE,
        fingerprint=policy.fingerprint,
    )
    assert policy.tables["regions"].public
    assert not policy.tables["people"].public


@pytest.mark.parametrize("name", ["config/pums.yaml", "config/template.yaml", "dpsql/demo/pums.yaml"])
def test_shipped_policies_load(name: str) -> None:
    assert load(ROOT / name).tables["people"].columns["age"].bounds == (0, 100)


def test_the_policy_of_tpch_loads(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/tpch.duckdb").touch()  # in a new clone there is no data
    (tmp_path / "tpch.yaml").write_bytes((ROOT / "config/tpch.yaml").read_bytes())
    tables = load(tmp_path / "tpch.yaml").tables
    assert [name for name, table in tables.items() if not table.public] == ["customer", "orders", "lineitem"]


def test_the_template_shows_every_key_of_the_schema() -> None:
    text = (ROOT / "config/template.yaml").read_text("utf-8")
    root, _ = compose(text, {}, Problems())
    assert root is not None
    missing = set(_properties(SCHEMA)) - set(_names(root))
    assert not missing


def _properties(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for value in schema.values():
            yield from _properties(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _properties(value)


def _names(node: Node) -> Iterator[str]:
    if isinstance(node, Mapping):
        for name, value in node.items:
            yield name.text
            yield from _names(value)
    elif isinstance(node, Sequence):
        for value in node.items:
            yield from _names(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", Fraction(1, 10**6)),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("+1.5E+1", Fraction(15)),
        ("-7", -7),
        ("+7", 7),
        ("0", 0),
        ("0x1F", 31),
        ("0o17", 15),
        ("010", "010"),
        ("02139", "02139"),
        ("-01.5", "-01.5"),
        ("NO", "NO"),
        ("yes", "yes"),
        ("on", "on"),
        ("12:30:00", "12:30:00"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("2020-01-01", "2020-01-01"),
        ("1e", "1e"),
        ("١٢", "١٢"),
        ("inf", "inf"),
        ("nan", "nan"),
        ("=", "="),
        ("true", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("~", None),
        ("", None),
        ("NULL", None),
        ("nULL", "nULL"),
        ("-.INF", float("-inf")),
    ],
)
def test_scalars_follow_the_core_schema(text: str, value: object) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


def test_nan_is_a_number() -> None:
    assert str(resolve(".NaN")) == "nan"


@pytest.mark.parametrize("text", ["1e999999", "1e-999999999999", "9" * 5000, "0x" + "f" * 5000, "1e" + "9" * 5000])
def test_absurd_numbers_are_never_computed(text: str) -> None:
    with pytest.raises(NumberTooLong):
        resolve(text)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("{type: INT, bounds: [-1e3, 0x10]}", {"bounds": (Fraction(-1000), Fraction(16))}),
        ("{type: bigint, keys: [3, 1, 2.0]}", {"keys": (3, 1, 2)}),
        ("{type: integer, bounds: [3, 3]}", {"bounds": (3, 3)}),
        (
            '{type: "decimal(10, 2)", bounds: [0, 99.99]}',
            {"type": ColumnType(Kind.DECIMAL, 10, 2), "bounds": (Fraction(0), Fraction(9999, 100))},
        ),
        ("{type: numeric(5), keys: [1]}", {"type": ColumnType(Kind.DECIMAL, 5, 0), "keys": (Fraction(1),)}),
        ("{type: float, grain: 1e-3}", {"type": ColumnType(Kind.DOUBLE), "grain": Fraction(1, 1000)}),
        (
            "{type: varchar, keys: [a, A, 'a ', NO, 010, '1', \"\"]}",
            {"keys": ("a", "A", "a ", "NO", "010", "1", "")},
        ),
        ("{type: text, keys: [a, null]}", {"keys": ("a", None), "nullable": True}),
        ("{type: text, keys: [a, 'null'], nullable: true}", {"keys": ("a", "null"), "nullable": True}),
        ("{type: bool, keys: [true]}", {"keys": (True,), "nullable": False}),
        ("{type: boolean, nullable: true}", {"keys": None, "nullable": True}),
        (
            "{type: date, bounds: [2020-01-01, 2020-12-31]}",
            {"bounds": (dt.date(2020, 1, 1), dt.date(2020, 12, 31))},
        ),
        (
            "{type: timestamp, bounds: [2020-01-01, 2020-12-31 23:59:59.5]}",
            {"bounds": (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31, 23, 59, 59, 500000))},
        ),
        (
            "{type: timestamp, bounds: [2020-01-01T00:00Z, '2020-01-01 00:00:00 -02:00']}",
            {"bounds": (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 2))},
        ),
        (
            "{type: date, keys: [2020-01-01, 2020-02-29]}",
            {"keys": (dt.date(2020, 1, 1), dt.date(2020, 2, 29))},
        ),
        ("{type: text, keys: {from: regions.Region}}", {"keys": None, "keys_from": ("regions", "region")}),
        ("{type: text, keys: {from: REGIONS.region}}", {"keys": None, "keys_from": ("regions", "region")}),
        ("{type: text, description: free words}", {"description": "free words"}),
        ("{type: text, keys: &k [a, b]}\n      y: {type: text, keys: *k}", {"keys": ("a", "b")}),
    ],
)
def test_columns(good: Callable[..., Policy], column: str, expected: dict[str, object]) -> None:
    read = good(with_column(column, REGIONS)).tables["people"].columns["x"]
    assert {name: getattr(read, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("engine", "source", "kind", "location"),
    [
        ("duckdb", "people.csv", "csv", "{folder}/people.csv"),
        ("duckdb", "./UP.CSV", "csv", "{folder}/UP.CSV"),
        ("duckdb", "part-*.parquet", "parquet", "{folder}/part-*.parquet"),
        ("duckdb", "{folder}/people.csv", "csv", "{folder}/people.csv"),
        ("duckdb:///clinic.duckdb", "main.people", "table", "main.people"),
        ("duckdb:///{folder}/clinic.duckdb", "'\"My table\"'", "table", '"My table"'),
        ("duckdb:///clinic.duckdb", "'sales.\"2020.csv\"'", "table", 'sales."2020.csv"'),
    ],
)
def test_sources(good: Callable[..., Policy], folder: Path, engine: str, source: str, kind: str, location: str) -> None:
    text = with_column("{type: text}").replace("people.csv", source) + f"engine: {engine}\n"
    policy = good(text.replace("{folder}", str(folder)))
    assert policy.tables["people"].source == Source(kind, location.format(folder=folder))  # type: ignore[arg-type]
    assert policy.engine in ("duckdb", f"duckdb:///{folder}/clinic.duckdb")


@pytest.mark.parametrize(
    ("schema", "name", "written"),
    [
        ("main", "people", "main.people"),
        ("Sales", "größe", "Sales.größe"),
        ("main", "csv", 'main."csv"'),
        ("main", "db", 'main."db"'),
        ("2020", 'a "b".c/d', '"2020"."a ""b"".c/d"'),
    ],
)
def test_names_of_tables_of_the_engine(good: Callable[..., Policy], schema: str, name: str, written: str) -> None:
    assert sources.table_source(schema, name) == written
    text = with_column("{type: text}").replace("people.csv", json.dumps(written)) + "engine: duckdb:///clinic.duckdb\n"
    source = good(text).tables["people"].source
    assert source == Source("table", written)
    assert sources.schema_and_name(source.location) == (schema, name)


@pytest.mark.parametrize(("public", "same"), [('main."people"', True), ("Main.People", True), ("ref.people", False)])
def test_a_table_of_the_engine_is_private_or_public(check: Check, public: str, same: bool) -> None:
    text = with_column("{type: text}", f"  ref: {{source: '{public}', public: true}}\n").replace("people.csv", "people")
    _, errors = check(text + "engine: duckdb:///clinic.duckdb\n")
    assert ["reads the source of the private 'people'" in e.message for e in errors] == [True] * same


def test_a_catalogue_is_no_part_of_a_source(check: Check) -> None:
    text = with_column("{type: text}").replace("people.csv", "clinic.main.people")
    _, (error,) = check(text + "engine: duckdb:///clinic.duckdb\n")
    assert "'clinic.main.people', a table with a catalogue" in error.message
    assert "such as main.people" in (error.hint or "")


def test_defaults(good: Callable[..., Policy]) -> None:
    policy = good(with_column("{type: text}"))
    assert (policy.engine, policy.dialect, policy.counts) == ("duckdb", "duckdb", "clamp")
    assert policy.privacy.mechanism == "laplace"
    assert (policy.answers, policy.data_version) == ("per_analyst", None)
    assert policy.privacy == PrivacySettings()
    assert policy.budget == Budget(Limit(Fraction(20)))


def test_every_section_is_read(good: Callable[..., Policy]) -> None:
    policy = good(
        with_column("{type: text}").replace("{epsilon: 20}", "{epsilon: 20, delta: 1e-6, per: day}")
        + "dialect: spark\nprivacy: {epsilon: 1e-6, min_epsilon: 1e-6, counts: raw, mechanism: auto}\n"
        + "answers: off\ndata_version: 2026-11-30\n"
    )
    assert (policy.answers, policy.data_version) == ("off", "2026-11-30")
    assert policy.budget.everyone == Limit(Fraction(20), Fraction(1, 10**6), "day")
    assert (policy.dialect, policy.counts, policy.privacy.min_epsilon) == ("spark", "raw", Fraction(1, 10**6))
    assert policy.privacy.mechanism == "auto"


def test_names_are_kept_and_found_in_lower_case(good: Callable[..., Policy]) -> None:
    table = good(f"{HEAD}  People:\n    {{source: people.csv, unit: row, columns: {{NO: {{type: text}}}}}}\n").tables[
        "people"
    ]
    assert table.name == "People"
    assert table.columns["no"].name == "NO"


def test_analysts_are_texts(good: Callable[..., Policy]) -> None:
    text = with_column("{type: text}").replace("{epsilon: 20}", "{epsilon: 20, analysts: {1001: {epsilon: 0}}}")
    assert good(text).budget.analysts == {"1001": Limit(Fraction(0))}


# Units and keys

SHOP = (
    HEAD
    + """\
  customer:
    source: people.csv
    unit: {column: id}
    columns:
      id: {type: integer, unique: true}
      code: {type: "decimal(5,2)"}
      rate: {type: double}
      size: {type: integer, bounds: [0, 9]}
  sales.orders:
    source: people.csv
    unit: {column: buyer, max_rows: 20}
    columns:
      Order: {type: integer}
      line: {type: text}
      buyer: {type: integer}
  clinic: {source: people.csv, unit: row, columns: {id: {type: integer}}}
  regions: {source: regions.csv, public: true, columns: {id: {type: integer}}}
  items:
    source: people.csv
"""
)
"""Before the unit of `items`; its columns are added behind."""
ITEMS_LINE = SHOP.count("\n") + 1


def with_unit(unit: str, columns: str = "order: {type: integer}, line: {type: text}, id: {type: integer}") -> str:
    return f"{SHOP}    unit: {unit}\n    columns: {{{columns}}}\n"


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("row", "row"),
        ("{column: id, max_rows: 20}", Unit("id", None, 20)),
        ("{column: ID, max_rows: 1073741824}", Unit("id", None, 2**30)),
        ("{column: id, max_rows: 20, max_groups: 5}", Unit("id", None, 20, 5)),
        ("{column: id, max_rows: 20, max_groups: 5, max_rows_per_key: 4}", Unit("id", None, 20, 5, 4)),
        ("{via: customer.id, max_rows: 3}", Unit(None, ForeignKey("customer", ("id",), ("id",)), 3)),
        ("{via: sales.orders.order, max_rows: 3}", Unit(None, ForeignKey("sales.orders", ("order",), ("order",)), 3)),
        (
            "{via: {ID: Sales.Orders.ORDER}, max_rows: 60, max_groups: 9}",
            Unit(None, ForeignKey("sales.orders", ("id",), ("order",)), 60, 9),
        ),
        (
            "{via: {line: sales.orders.line, id: sales.orders.order}, max_rows: 60}",
            Unit(None, ForeignKey("sales.orders", ("line", "id"), ("line", "order")), 60),
        ),
    ],
)
def test_units(good: Callable[..., Policy], unit: str, expected: object) -> None:
    text = with_unit(unit)
    assert good(text).tables["items"].unit == expected
    assert valid(text)


@pytest.mark.parametrize(
    "more", ["", ", max_rows: 1", ", max_groups: 1"], ids=["left out", "the only one", "beside others"]
)
def test_a_unique_unit_has_one_row(good: Callable[..., Policy], more: str) -> None:
    unique = good(with_unit(f"{{column: id{more}}}", "id: {type: integer, unique: true}")).tables["items"]
    keyed = good(with_unit(f"{{column: id{more}}}\n    primary_key: ID", "id: {type: integer}")).tables["items"]
    assert unique.unit == keyed.unit == Unit("id", None, 1, 1 if "groups" in more else None)
    assert unique.unique == keyed.unique == (frozenset({"id"}),)


def test_via_may_lead_over_several_tables_in_any_order(good: Callable[..., Policy]) -> None:
    hops = (
        "  a: {source: people.csv, unit: {via: b.id, max_rows: 9}, columns: {id: {type: integer}}}\n"
        "  b: {source: people.csv, unit: {via: items.id, max_rows: 9}, columns: {id: {type: integer}}}\n"
    )
    tables = good(with_unit("{via: sales.orders.order, max_rows: 3}") + hops).tables
    units = [tables[name].unit for name in ("a", "b", "items")]
    assert [unit.via.parent for unit in units if isinstance(unit, Unit) and unit.via] == ["b", "items", "sales.orders"]


def test_a_unit_column_may_be_a_key_too(good: Callable[..., Policy]) -> None:
    child = "  a: {source: people.csv, unit: {via: items.id, max_rows: 9}, columns: {id: {type: integer}}}\n"
    table = good(with_unit("{column: id, max_rows: 5}\n    primary_key: [ID, line]") + child).tables["items"]
    assert table.primary_key == ("id", "line")
    assert table.unique == (frozenset({"id", "line"}),)


@pytest.mark.parametrize(
    ("table", "primary_key", "unique"),
    [
        ("{unit: row, columns: {A: {type: text, unique: true}, b: {type: date}}, primary_key: B}", ("b",), {"a"}),
        ("{unit: row, columns: {a: {type: text, unique: false}}}", (), set()),
        ("{public: true, primary_key: [A, b]}", ("a", "b"), set()),
        ("{public: true, primary_key: a, columns: {a: {type: integer, unique: true}}}", ("a",), {"a"}),
    ],
)
def test_keys_of_rows(good: Callable[..., Policy], table: str, primary_key: tuple[str, ...], unique: set[str]) -> None:
    text = f"{HEAD}  t: {table.replace('{', '{source: people.csv, ', 1)}\n"
    read = good(text).tables["t"]
    assert read.primary_key == primary_key
    assert {name for name, column in read.columns.items() if column.unique} == unique
    assert valid(text)


def test_the_delta_of_a_query(good: Callable[..., Policy]) -> None:
    text = swapped("{epsilon: 20}", "{epsilon: 20, delta: 1e-4}") + "privacy: {delta: 1e-6}\n"
    assert good(text).privacy == PrivacySettings(delta=Fraction(1, 10**6))
    assert valid(text)


# The environment


def test_variables_are_replaced_then_typed(good: Callable[..., Policy]) -> None:
    policy = good(
        with_column("{type: text, keys: ['${A}', '$${A}', \"x${A}y${B}\"], description: '$1 {A} $'}")
        + "privacy:\n  epsilon: ${A}\ndialect: ${D}\n",
        A="0.1",
        B="{}: ${A}",
        D="spark",
    )
    assert policy.privacy.epsilon == Fraction(1, 10)
    assert policy.dialect == "spark"
    assert policy.tables["people"].columns["x"].keys == ("0.1", "${A}", "x0.1y{}: ${A}")


def test_the_fingerprint_covers_the_environment(good: Callable[..., Policy]) -> None:
    text = with_column("{type: text, keys: ['${A}']}")
    first, second, third = (good(text, A=a, B=b).fingerprint for a, b in [("1", "1"), ("2", "1"), ("1", "2")])
    assert first != second
    assert first == third


def test_values_of_variables_are_not_shown(check: Check) -> None:
    _, errors = check(
        with_column("{type: text}") + "dialect: ${SECRET}\nprivacy:\n  epsilon: ${SECRET}\n", SECRET="hunter2"
    )
    assert len(errors) == 2
    assert not [error for error in errors if "hunter2" in str(error)]


# What is wrong: (text, line, part of the message, part of the hint); each has exactly one problem

COLUMNS = [
    ("{tpe: integer, type: integer}", "people.x has an unknown key 'tpe'", "did you mean 'type'?"),
    ("{type: integer, zzz: 1}", "unknown key 'zzz'", "the keys here are type, bounds"),
    ("{type: integer, epsilon: 1}", "unknown key 'epsilon'", "is a key of privacy"),
    ("{bounds: [0, 1]}", "people.x has no 'type'", "integer, decimal(p,s)"),
    ("integer", "people.x must be a mapping, found the text 'integer'", "{type: integer"),
    ("", "people.x must be a mapping, found nothing", "{type: integer"),
    ("{type: [integer]}", "people.x.type must be a text, found a list", "type: integer"),
    ("{type: 5}", "people.x.type must be a text, found 5", "quotes"),
    ("{type: intger}", "unknown type 'intger'", "did you mean 'integer'?"),
    ("{type: blob}", "unknown type 'blob'", "integer, decimal(p,s)"),
    ("{type: varchar(10)}", "'varchar(10)' takes no length", "write varchar"),
    ("{type: decimal}", "'decimal' needs a precision", "decimal(10,2)"),
    ('{type: "decimal(39,2)"}', "needs a precision of 1 to 38", "decimal(10,2)"),
    ('{type: "decimal(2,3)"}', "a scale up to that", "decimal(10,2)"),
    (
        "{type: integer, bounds: [100, 0]}",
        "the lower bound is above the upper one, 100 > 0",
        "bounds: [0, 100]",
    ),
    ("{type: double, bounds: [0, .nan]}", "a bound of people.x must be finite, found .nan", "finite number"),
    ("{type: double, bounds: [-.inf, 0]}", "must be finite, found -.inf", "finite number"),
    ("{type: double, bounds: ['0', 1]}", "must be a number, found the text '0'", "without quotes: 0"),
    ("{type: integer, bounds: [010, 20]}", "must be a number, found the text '010'", "leading zeros"),
    ("{type: integer, bounds: [0, yes]}", "must be a number, found the text 'yes'", "write a number"),
    ("{type: integer, bounds: [0, true]}", "must be a number, found true", "write a number"),
    ("{type: integer, bounds: [0, null]}", "must be a number, found nothing", "write a number"),
    ("{type: integer, bounds: [0, [1]]}", "must be a number, found a list", "write a number"),
    ("{type: double, bounds: [0, 1e309]}", "beyond the range of a double", "1.79e308"),
    ("{type: double, bounds: [0, 1e999999]}", "the number 1e999999 is too long", "400 digits"),
    ("{type: text, bounds: [0, 1]}", "people.x is text and has bounds", "keys: [...]"),
    ("{type: boolean, bounds: [0, 1]}", "people.x is boolean and has bounds", "keys: [...]"),
    ("{type: integer, bounds: [0, 1.5]}", "must be a whole number, found 1.5", "another type"),
    ("{type: integer, bounds: [0, 9223372036854775808]}", "beyond BIGINT", "9223372036854775807"),
    ('{type: "decimal(4,1)", bounds: [0, 0.25]}', "more decimals than 1", "round it"),
    ('{type: "decimal(4,1)", bounds: [0, 1000]}', "beyond decimal(4,1)", "below 10^3"),
    ("{type: integer, bounds: 100}", "bounds must be a list of two, found 100", "bounds: [0, 100]"),
    ("{type: integer, bounds: [0, 1, 2]}", "found a list of 3", "bounds: [0, 100]"),
    ("{type: date, bounds: {lower: 1}}", "found a mapping", "bounds: [2020-01-01, 2020-12-31]"),
    ("{type: date, bounds: [2020, 2021-01-01]}", "must be a date, found 2020", "year-month-day"),
    (
        "{type: date, bounds: [2021-02-29, 2021-03-01]}",
        "must be a date, found the text '2021-02-29'",
        "year-month-day",
    ),
    ("{type: date, bounds: [20210228, 2021-03-01]}", "must be a date, found 20210228", "year-month-day"),
    ("{type: date, bounds: [2021-03-01, 2021-02-01]}", "2021-03-01 > 2021-02-01", "[2021-02-01, 2021-03-01]"),
    (
        "{type: timestamp, bounds: [2020-01-01 25:00, 2020-01-02]}",
        "must be a timestamp",
        "2020-12-31 23:59:59",
    ),
    ("{type: timestamp, bounds: [0001-01-01T00:00+10:00, 2020-01-02]}", "must be a timestamp", "UTC"),
    ("{type: double, grain: 0}", "the grain must be above 0", "grain: 0.01"),
    ("{type: double, grain: -1}", "the grain must be above 0", "grain: 0.01"),
    ("{type: double, grain: .inf}", "people.x.grain must be finite", "finite number"),
    ("{type: double, bounds: [0, 1], grain: 2}", "the grain is wider than the bounds", "small part"),
    ("{type: integer, grain: 1}", "people.x is integer and has a grain", "the grain of integer is 1"),
    ('{type: "decimal(4,1)", grain: 1}', "people.x is decimal and has a grain", "10^-s"),
    ("{type: text, grain: 1}", "people.x is text and has a grain", "remove it"),
    ("{type: double, keys: [1.5]}", "people.x is double and has keys", "decimal(p,s)"),
    ("{type: double, keys: {from: regions.area}}", "people.x is double and has keys", "decimal(p,s)"),
    ("{type: integer, keys: [1, 2], bounds: [1, 2]}", "has both keys and bounds", "keep the keys"),
    ("{type: integer, keys: [1, 7], bounds: [1, 2]}", "the key 7 lies outside the bounds", "keep the keys"),
    ("{type: integer, keys: {from: regions.code}, bounds: [1, 2]}", "both keys and bounds", "keep the keys"),
    ("{type: integer, keys: []}", "the list of keys is empty", "at least one"),
    ("{type: integer, keys: 1}", "keys must be a list, found 1", "keys: [a, b, c]"),
    ("{type: integer, keys: [[1]]}", "must be a value, found a list", "one value"),
    ("{type: integer, keys: [1, 1.0]}", "the key '1.0' is listed twice, on line 9", "keep one"),
    ("{type: text, keys: [a, null, ~]}", "the key '~' is listed twice", "keep one"),
    ('{type: text, keys: ["\\u00e9", "e\\u0301"]}', "listed twice after Unicode normalisation", "keep one"),
    ("{type: text, keys: [1]}", "a key of people.x must be a text, found 1", 'in quotes: "1"'),
    ("{type: text, keys: [a, true]}", "must be a text, found true", 'in quotes: "true"'),
    ("{type: integer, keys: [a]}", "must be a number, found the text 'a'", "write a number"),
    ("{type: integer, keys: ['1']}", "must be a number, found the text '1'", "without quotes: 1"),
    ("{type: boolean, keys: [0]}", "must be true or false, found 0", "without quotes"),
    ("{type: date, keys: [x]}", "a key of people.x must be a date", "year-month-day"),
    (
        "{type: text, keys: [a, null], nullable: false}",
        "has the key null and says nullable: false",
        "nullable: true",
    ),
    ("{type: text, keys:\n [a,\n  \n b, a]}", "on lines 10 and 12", "keep one"),
    (
        "\n        type: text\n        keys:\n          - a\n          -",
        "a key of people.x is empty",
        "null for NULL",
    ),
    (
        "{type: text, nullable: yes}",
        "people.x.nullable must be true or false, found the text 'yes'",
        "true or false",
    ),
    ("{type: text, description: 5}", "description must be a text, found 5", "quotes"),
    ("{type: text, keys: {form: a.b}}", "people.x.keys has an unknown key 'form'", "did you mean 'from'?"),
    ("{type: text, keys: {from: region}}", "'region' names no table and column", "regions.region"),
    ("{type: text, keys: {from: region.region}}", "unknown table 'region'", "did you mean 'regions'?"),
    ("{type: text, keys: {from: q.region}}", "unknown table 'q'", "public: true"),
    ("{type: text, keys: {from: people.x}}", "'people' is private", "public: true"),
    ("{type: text, keys: {from: regions.regio}}", "declares no column 'regio'", "did you mean 'region'?"),
    ("{type: text, keys: {from: regions.q}}", "declares no column 'q'", "region, code or area"),
    ("{type: text, keys: {from: regions.code}}", "'regions.code' is integer, but 'x' is text", "same type"),
    (
        "{type: !!python/name:os.system text}",
        "the tag 'tag:yaml.org,2002:python/name:os.system'",
        "remove the tag",
    ),
    ("{type: !!str text}", "the tag 'tag:yaml.org,2002:str'", "remove the tag"),
    ("{type: text, description: *a}", "no anchor &a", "write &a"),
    ("{type: text, description: *a, keys: &a [a]}", "no anchor &a", "write &a"),
    ("{type: text, description: '${UNSET}'}", "the environment variable UNSET is not set", "$${UNSET}"),
    ("{type: text, description: '${A'}", "'${A' is not the name of an environment variable", "$${"),
    ("{type: text, description: '${A:-b}'}", "'${A:-b' is not the name", "$${"),
    ('{type: text, keys: ["\\ud800"]}', "half a surrogate pair", "remove it"),
    ('{type: text, keys: ["\\0"]}', "contains a NUL", "remove it"),
    ("{<<: {type: text}, type: text}", "'<<' (merge) is not part of YAML 1.2", "alias"),
    ("{type: text, [a]: b}", "a list or mapping stands where a name should", "name: value"),
]


@pytest.mark.parametrize(("column", "message", "hint"), COLUMNS)
def test_wrong_columns(check: Check, column: str, message: str, hint: str) -> None:
    policy, errors = check(with_column(column, REGIONS))
    assert policy is None
    assert len(errors) == 1 or "bounds: [0, [1]]" in column, [str(error) for error in errors]
    line = COLUMN_LINE + (column.rstrip("]}").count("\n") if "\n" in column else 0)
    assert f"policy.yaml:{line}: " in errors[0].message
    assert message in errors[0].message
    assert hint in (errors[0].hint or "")


def test_a_cut_decimal_type_is_explained(check: Check) -> None:
    _, errors = check(with_column("{type: decimal(10,2)}"))
    assert any("put quotes around the type" in (error.hint or "") for error in errors)


TABLE = "{source: people.csv, unit: row, columns: {x: {type: text}}}"

TABLES = [
    ("t: 5", "t must be a mapping, found 5", "source, unit and columns"),
    ("t: {unit: row, columns: {x: {type: text}}}", "t has no 'source'", ".parquet file"),
    (
        "t: {source: people.csv, columns: {x: {type: text}}}",
        "t has no 'unit'",
        "unit: row where each row is one",
    ),
    ("t: {source: people.csv, unit: row}", "t has no 'columns'", "columns: {age:"),
    (
        "t: {source: people.csv, unit: row, columns: {}}",
        "t.columns must be a mapping, found nothing",
        "columns: {age:",
    ),
    (
        "t: {source: people.csv, unit: row, columns: [x]}",
        "t.columns must be a mapping, found a list",
        "columns: {age:",
    ),
    (
        "t: {source: people.csv, unit: pid, columns: {x: {type: text}}}",
        "t.unit must be row or a mapping, found the text 'pid'",
        "else unit: {column: pid, max_rows: 20} and pid: {type: integer} among the columns",
    ),
    (
        "t: {source: people.csv, unit: row, public: true}",
        "t is public and has a unit",
        "remove unit: or public:",
    ),
    ("t: {source: people.csv, public: yes}", "t.public must be true or false", "true or false"),
    (
        "t: {source: people.csv, public: true, description: ''}",
        "t.description must be a text, found nothing",
        "what a row",
    ),
    (f"T: {TABLE}\n  t: {TABLE}", "'t' and 'T' on line 5 are the same name", "without case"),
    (
        "t: {source: people.csv, unit: row, columns: {X: {type: text}, x: {type: text}}}",
        "'x' and 'X'",
        "without case",
    ),
    (f"é: {TABLE}\n  e\u0301: {TABLE}", "are the same name", "rename"),
    (f"'': {TABLE}", "a table has an empty name", "before the colon"),
    (f'"a\\tb": {TABLE}', "'a\\tb' of a table contains invisible", "without them"),
    (f'"a\\u200bb": {TABLE}', "invisible", "without them"),
    (f"'a ': {TABLE}", "blanks at an end", "without them"),
    (f"{'a' * 256}: {TABLE}", "longer than 255", "shorter"),
    (f"DPSQL_a: {TABLE}", "'DPSQL_a' of a table is reserved", "dpsql_ or _dpsql"),
    (f"_dpsql: {TABLE}", "reserved", "dpsql_ or _dpsql"),
    (
        "t: {source: people.csv, unit: row, columns: {dpsql_x: {type: text}}}",
        "of a column is reserved",
        "choose",
    ),
    ("t: {source: gone.csv, public: true}", "t.source: /", "relative to the policy"),
    ("t: {source: gone.csv, public: true}", "gone.csv does not exist", "relative to the policy"),
    ("t: {source: folder.csv, public: true}", "is the directory 'folder.csv'", "holds no .csv or .parquet file"),
    ("t: {source: parts, public: true}", "is the directory 'parts'", "source: parts/*.csv or parts/*.parquet, if"),
    ("t: {source: 'odd[1]/', public: true}", "is the directory 'odd[1]/'", "write source: odd[[]1]/*.csv, if"),
    ("t: {source: clinic.duckdb, public: true}", "a database", "write engine: duckdb:///clinic.duckdb at the top"),
    ("t: {source: gone-*.csv, public: true}", "no file matches", "correct the glob"),
    ("t: {source: fold*.csv, public: true}", "no file matches", "correct the glob"),
    ("t: {source: 'parts/.*.csv', public: true}", "no file matches", "correct the glob"),
    ("t: {source: 'parts/*', public: true}", "'parts/*': no .csv or .parquet file", "ends in .csv"),
    ("t: {source: '**/**/a.csv', public: true}", "more than one **", "keep one"),
    ("t: {source: notes.txt, public: true}", "'notes.txt': no .csv or .parquet file", "ends in .csv"),
    ("t: {source: people.xlsx, public: true}", "'people.xlsx': no .csv or .parquet file", "ends in .csv"),
    ("t: {source: a b, public: true}", "no table name", "ends in .csv"),
    ("t: {source: 's3://a/b.csv', public: true}", "is a URL", "local file"),
    ("t: {source: main.people, public: true}", "an engine in memory has no tables", "duckdb:///file.duckdb"),
    ("t: {source: 7, public: true}", "t.source must be a text, found 7", "quotes"),
    ("t: {source: , public: true}", "t.source must be a text, found nothing", "people.csv"),
    (f"t: {TABLE}\n  t: {TABLE}", "the key 't' is written twice, on lines 5 and 6", "keep one"),
]


@pytest.mark.parametrize(("table", "message", "hint"), TABLES)
def test_wrong_tables(check: Check, table: str, message: str, hint: str) -> None:
    policy, errors = check(f"{HEAD}  {table}\n")
    assert policy is None
    assert len(errors) == 1, [str(error) for error in errors]
    assert f"policy.yaml:{5 + table.count(chr(10))}: " in errors[0].message
    assert message in errors[0].message
    assert hint in (errors[0].hint or "")


UNITS = [
    # unit of `items`, message, hint
    ("Row", "items.unit must be row or a mapping, found the text 'Row'", "did you mean 'row'?"),
    ("id", "found the text 'id'", "else unit: {column: id, max_rows: 20}"),
    ("[id]", "items.unit must be row or a mapping, found a list", "else unit: {column: customer_id, max_rows: 20}"),
    ("", "items.unit must be row or a mapping, found nothing", "unit: row if no two"),
    ("{}", "items.unit must be a mapping, found nothing", "unit: {column: customer_id, max_rows: 20}"),
    ("{max_rows: 20}", "items.unit has no 'column' or 'via'", "or unit: {via: orders.order_id, max_rows: 60}"),
    ("{colum: id, max_rows: 20}", "items.unit has an unknown key 'colum'", "did you mean 'column'?"),
    ("{column: id, max_row: 20}", "items.unit has an unknown key 'max_row'", "did you mean 'max_rows'?"),
    ("{column: id, max_rows: 20, bounds: 1}", "unknown key 'bounds'", "is a key of a column"),
    ("{column: id, via: customer.id, max_rows: 20}", "items.unit has both column and via", "keep column where"),
    ("{column: 5, max_rows: 20}", "items.unit.column must be a text, found 5", "quotes"),
    ("{column: [id], max_rows: 20}", "items.unit.column must be a text, found a list", "column: customer_id"),
    ("{column: i, max_rows: 20}", "'items' declares no column 'i'", "did you mean 'id'?"),
    ("{column: who, max_rows: 20}", "'items' declares no column 'who'", "order, line or id"),
    ("{column: who}", "'items' declares no column 'who'", "order, line or id"),
    ("{column: id}", "no 'max_rows'", "max_rows: 20: of one unit at most about so many"),
    ("{via: customer.id}", "items.unit has no 'max_rows'", "max_rows: 20: of one unit at most about so many"),
    ("{column: id, max_rows: 0}", "items.unit.max_rows must be a whole number from 1 to 2^30", "max_rows: 20"),
    ("{column: id, max_rows: 1.5}", "items.unit.max_rows must be a whole number", "max_rows: 20"),
    ("{column: id, max_rows: 1073741825}", "items.unit.max_rows must be a whole number", "max_rows: 20"),
    ("{column: id, max_rows: many}", "items.unit.max_rows must be a number, found the text 'many'", "20"),
    ("{column: id, max_rows: 9, max_groups: -1}", "items.unit.max_groups must be a whole number", "max_groups: 5"),
    ("{column: id, max_rows: 9, max_groups: 1, max_rows_per_key: 0}", "max_rows_per_key must be a whole", "key: 4"),
    ("{column: id, max_rows: 9, max_rows_per_key: 3}", "max_rows_per_key, but no max_groups", "max_groups: 5; or"),
    ("{via: [customer.id], max_rows: 3}", "items.unit.via must be a text, found a list", "via: orders.order_id"),
    ("{via: {}, max_rows: 3}", "items.unit.via must be a mapping, found nothing", "via: {my_order: orders.order_id}"),
    ("{via: {id: [a]}, max_rows: 3}", "items.unit.via.id must be a text, found a list", "id: orders.order_id"),
    ("{via: {id: customer.id, ID: customer.size}, max_rows: 3}", "'ID' and 'id'", "without case"),
    ("{via: id, max_rows: 3}", "'id' names no table and column", "write via: orders.order_id, or via: {my_order:"),
    ("{via: customers.id, max_rows: 3}", "via leads to the unknown table 'customers'", "did you mean 'customer'?"),
    ("{via: qq.id, max_rows: 3}", "items.unit.via leads to the unknown table 'qq'", "declare it under tables"),
    ("{via: clinic.id, max_rows: 3}", "leads to 'clinic', which has the unit row", "such as unit: {column:"),
    ("{via: regions.id, max_rows: 3}", "leads to 'regions', which is public", "such as unit: {column:"),
    ("{via: customer.idd, max_rows: 3}", "'customer' declares no column 'idd'", "did you mean 'id'?"),
    ("{via: sales.orders.who, max_rows: 3}", "'sales.orders' declares no column 'who'", "order, line or buyer"),
    ("{via: sales.orders.buyer, max_rows: 3}", "'items' declares no column 'buyer'", "{my_column: sales.orders.buyer}"),
    ("{via: {ids: customer.id}, max_rows: 3}", "'items' declares no column 'ids'", "did you mean 'id'?"),
    ("{via: {id: customer.id, order: sales.orders.order}, max_rows: 3}", "to 'customer' and 'sales.orders'", "one"),
    ("{via: {id: customer.id, order: customer.id}, max_rows: 3}", "leads to 'customer.id' twice", "once"),
    (
        "{via: {line: customer.id}, max_rows: 3}",
        "'line' is text, but 'customer.id', to which it refers, is integer",
        "",
    ),
    ("{via: {id: items.order}, max_rows: 3}", "leads back to its own table: items → items", "by a column: unit:"),
    ("{column: line, max_rows: 3}", "customer.id and items.line have different types, integer and text", "one unit"),
    ("row\n    primary_key: lin", "'items' declares no column 'lin'", "did you mean 'line'?"),
    ("row\n    primary_key: 5", "items.primary_key must be a text, found 5", "quotes"),
    ("row\n    primary_key: {a: b}", "items.primary_key must be a text, found a mapping", "primary_key: order_id, or"),
    ("row\n    primary_key: []", "items.primary_key is empty", "primary_key: order_id, or remove"),
    ("row\n    primary_key: [id, [line]]", "a column of items.primary_key must be a text", "primary_key: [order_id"),
    ("row\n    primary_key: [id, ID]", "items.primary_key has the column 'ID' twice", "keep one"),
    ("row\n    max_rows: 3", "items has an unknown key 'max_rows'", "is a key of a unit"),
]


@pytest.mark.parametrize(("unit", "message", "hint"), UNITS)
def test_wrong_units(check: Check, unit: str, message: str, hint: str) -> None:
    policy, errors = check(with_unit(unit))
    assert policy is None
    assert len(errors) == 1, [str(error) for error in errors]
    assert f"policy.yaml:{ITEMS_LINE + unit.count(chr(10))}: " in errors[0].message
    assert message in errors[0].message
    assert hint in (errors[0].hint or "")


UNIT_COLUMNS = [
    # unit of `items`, its columns, lines below it, message, hint
    (
        "{column: a, max_rows: 3}",
        "a: {type: double}",
        0,
        "column 'a' of 'items' is double",
        "named by a column of type",
    ),
    ("{column: a, max_rows: 3}", "a: {type: boolean}", 0, "column 'a' of 'items' is boolean", "integer, decimal(p,s),"),
    (
        "{column: a, max_rows: 3}",
        "a: {type: integer, bounds: [0, 1]}",
        1,
        "can't have bounds",
        "never shown or grouped",
    ),
    ("{column: a, max_rows: 3}", "a: {type: integer, keys: [1]}", 1, "can't have keys", "remove keys: units"),
    ("{column: a, max_rows: 3}", "a: {type: integer, keys: {from: regions.id}}", 1, "can't have keys", "remove keys"),
    ("{column: a, max_rows: 3}", "a: {type: intger}", 1, "unknown type 'intger'", "integer"),
    ("{column: a, max_rows: 3}", "a: {type: text}", 0, "customer.id and items.a have different types", "the same type"),
    ("{column: a, max_rows: 2}", "a: {type: integer, unique: true}", 0, "max_rows is 2, but no unit has two", "remove"),
    (
        "{via: {a: customer.rate}, max_rows: 3}",
        "a: {type: double}",
        0,
        "via has the column 'a', which is double",
        "key",
    ),
    ("{via: {a: customer.code}, max_rows: 3}", 'a: {type: "decimal(5,1)"}', 0, "decimal(5,1), but 'customer.code'", ""),
    ("{via: {a: customer.id}, max_rows: 3}", "a: {type: intger}", 1, "unknown type 'intger'", "integer"),
    ("{via: customer.id, max_rows: 3}", "id: {type: intger}", 1, "unknown type 'intger'", "integer"),
    ("row", "a: {type: double, unique: true}", 1, "items.a is double and unique", "remove unique"),
    ("row", "a: {type: boolean, unique: true}", 1, "items.a is boolean and unique", "remove unique"),
    ("row", "a: {type: integer, unique: 1}", 1, "items.a.unique must be true or false", "true or false"),
    ("row\n    primary_key: a", "a: {type: double}", 0, "the primary key of 'items' has the column 'a', which", "key"),
]


@pytest.mark.parametrize(("unit", "columns", "below", "message", "hint"), UNIT_COLUMNS)
def test_wrong_columns_of_units(check: Check, unit: str, columns: str, below: int, message: str, hint: str) -> None:
    _, errors = check(with_unit(unit, columns))
    assert len(errors) == 1, [str(error) for error in errors]
    assert f"policy.yaml:{ITEMS_LINE + unit.count(chr(10)) + below}: " in errors[0].message
    assert message in errors[0].message
    assert hint in (errors[0].hint or "")


def test_a_wider_decimal_fits_and_another_scale_does_not(check: Check) -> None:
    one = 'a: {source: people.csv, unit: {column: x, max_rows: 2}, columns: {x: {type: "decimal(5,2)"}}}'
    two = 'b: {source: people.csv, unit: {column: x, max_rows: 2}, columns: {x: {type: "decimal(9,2)"}}}'
    policy, _ = check(f"{HEAD}  {one}\n  {two}\n")
    assert policy is not None
    _, (error,) = check(f"{HEAD}  {one}\n  {two.replace('(9,2)', '(9,3)')}\n")
    assert "a.x and b.x have different types, decimal(5,2) and decimal(9,3)" in error.message


def test_a_cycle_is_told_once(check: Check) -> None:
    def table(name: str, parent: str) -> str:
        unit = f"{{via: {parent}.x, max_rows: 2}}"
        return f"  {name}: {{source: people.csv, unit: {unit}, columns: {{x: {{type: text}}}}}}\n"

    _, (error,) = check(HEAD + table("a", "b") + table("B", "c") + table("c", "d") + table("d", "b"))
    assert error.message.endswith("policy.yaml:6: B.unit.via leads back to its own table: B → c → d → B")
    assert "one of these tables must name its unit by a column" in (error.hint or "")


def test_what_refers_to_a_wrong_unit_is_not_wrong_too(check: Check) -> None:
    for wrong in ("unit: {column: who, max_rows: 3}", "unit: {}", "unit: DECIDE", "unt: row", "public: 5"):
        parent = f"  p: {{source: PUMS.csv, {wrong}, columns: {{x: {{type: text}}}}}}\n"
        child = "  c: {source: people.csv, unit: {via: p.x, max_rows: 2}, columns: {x: {type: text}}}\n"
        _, errors = check(HEAD + parent + child)
        assert [error.message.partition("policy.yaml:")[2][:2] for error in errors] == ["5:"], wrong
    _, errors = check(f"{HEAD}  p: 5\n{child}")
    assert len(errors) == 1


GOOD = with_column("{type: text}")


def swapped(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


TOPS: list[tuple[str | bytes, int, str, str]] = [
    ("", 1, "the policy is empty", "dpsql: 1"),
    ("# only words\n", 1, "the policy is empty", "dpsql: 1"),
    ("---\n...\n", 1, "the policy is empty", "dpsql: 1"),
    ("hello", 1, "a policy is a mapping, found the text 'hello'", "dpsql: 1"),
    ("- a", 1, "a policy is a mapping, found a list", "dpsql: 1"),
    (b"\xef\xbb\xbf" + GOOD.encode(), 1, "byte order mark", "without BOM"),
    (GOOD.encode("utf-16"), 1, "byte order mark", "without BOM"),
    (GOOD.encode() + b"# caf\xe9\n", 10, "the byte 0xe9 is not UTF-8", "UTF-8"),
    (GOOD + "# \x00", 10, "the character \\x00 can't be in a YAML file", "escape"),
    (GOOD + "privacy:\n\tepsilon: 1\n", 11, "'\\t' that cannot start any token", "never with tabs"),
    (GOOD + "privacy: epsilon: 1\n", 10, "mapping values are not allowed here", "colon"),
    (GOOD + "privacy: {epsilon: 1\n", 11, "not valid YAML", "brackets"),
    (GOOD + "privacy: @x\n", 10, "not valid YAML", "quote"),
    (GOOD + "privacy: {epsilon: ${A}}\n", 10, "not valid YAML", "on a line of its own"),
    (GOOD + 'x: "\\UFFFFFFFF"\n', 10, "not valid YAML", "escapes"),
    (GOOD + "---\n" + GOOD, 10, "a second YAML document begins here", "one document"),
    ("%YAML 1.1\n---\n" + GOOD, 1, "the file asks for YAML 1.1", "remove the %YAML line"),
    (GOOD + "x: " + "[" * 1000 + "]" * 1000, 10, "nested more than 32 deep", "template"),
    (GOOD + "dpsql: 1\n", 10, "the key 'dpsql' is written twice, on lines 1 and 10", "keep one"),
    (
        GOOD + "Privacy: {epsilon: 1}\n",
        10,
        "the policy has an unknown key 'Privacy'",
        "did you mean 'privacy'?",
    ),
    (GOOD + "counts: raw\n", 10, "unknown key 'counts'", "is a key of privacy"),
    (GOOD + "? [a]\n: b\n", 10, "a list or mapping stands where a name", "name: value"),
    (GOOD + "${NO_SUCH}: 1\n", 10, "NO_SUCH is not set", "set NO_SUCH"),
    (swapped("dpsql: 1\n", "# none\n"), 1, "the policy has no 'dpsql'", "dpsql: 1 as the first line"),
    (swapped("dpsql: 1\n", "dpsql: 2\n"), 1, "a policy of version 2", "dpsql: 1"),
    (
        swapped("dpsql: 1\n", "dpsql: '1'\n"),
        1,
        "dpsql must be a number, found the text '1'",
        "without quotes: 1",
    ),
    (swapped("budget: {epsilon: 20}\n", "\n"), 1, "the policy has no 'budget'", "only the owner"),
    (
        swapped("{epsilon: 20}", "unlimited"),
        2,
        "budget must be a mapping, found the text 'unlimited'",
        "epsilon: 20",
    ),
    (swapped("{epsilon: 20}", "{per: day}"), 2, "budget has no 'epsilon'", "epsilon: 20"),
    (swapped("{epsilon: 20}", "{epsilon: 0}"), 2, "budget.epsilon must be above 0", "epsilon: 20"),
    (swapped("{epsilon: 20}", "{epsilon: -1}"), 2, "budget.epsilon is negative", "epsilon: 5"),
    (
        swapped("{epsilon: 20}", "{epsilon: 1, delta: 1}"),
        2,
        "budget.delta must be at least 0 and below 1",
        "1e-6",
    ),
    (swapped("{epsilon: 20}", "{epsilon: 1, delta: -0.1}"), 2, "budget.delta must be at least 0", "1e-6"),
    (
        swapped("{epsilon: 20}", "{epsilon: 1, per: moth}"),
        2,
        "budget.per must be day, week or month",
        "'month'?",
    ),
    (
        swapped("{epsilon: 20}", "{epsilon: 1, analysts: [alice]}"),
        2,
        "budget.analysts must be a mapping",
        "alice:",
    ),
    (
        swapped("{epsilon: 20}", "{epsilon: 1, analysts: {bob: 5}}"),
        2,
        "budget.analysts.bob must be a mapping",
        "per: month",
    ),
    (
        swapped("{epsilon: 20}", "{epsilon: 1, analysts: {bob: {per: day}}}"),
        2,
        "bob has no 'epsilon'",
        "epsilon: 0",
    ),
    (swapped("{epsilon: 20}", "{epsilon: 1, analysts: {'': {epsilon: 1}}}"), 2, "can't be the name", '"*"'),
    (
        swapped("{epsilon: 20}", "{epsilon: 1, analysts: {bob: {epsilon: 1, pr: day}}}"),
        2,
        "'pr'",
        "did you mean 'per'?",
    ),
    (swapped("ledger: var/a.ledger\n", "\n"), 1, "the policy has no 'ledger'", "ledger: var/name.ledger"),
    (swapped("var/a.ledger", "."), 3, "ledger '.' is a directory", "a file"),
    (swapped("var/a.ledger", "policy.yaml"), 3, "is also the policy itself", "of its own"),
    (swapped("var/a.ledger", "./people.csv"), 3, "is also the source of people", "of its own"),
    (
        swapped("var/a.ledger", "clinic.duckdb") + "engine: duckdb:///clinic.duckdb\n",
        3,
        "is also the file of the engine",
        "of its own",
    ),
    (swapped("var/a.ledger", "[a]"), 3, "ledger must be a text, found a list", "var/name.ledger"),
    ("dpsql: 1\nbudget: {epsilon: 1}\nledger: a\n", 1, "the policy has no 'tables'", "tables: {people:"),
    (
        "dpsql: 1\nbudget: {epsilon: 1}\nledger: a\ntables:\n",
        4,
        "tables must be a mapping, found nothing",
        "people",
    ),
    (
        GOOD + "dialect: postgresql\n",
        10,
        "dialect must be duckdb, postgres, bigquery or spark",
        "'postgres'?",
    ),
    (GOOD + "dialect: cobol\n", 10, "found the text 'cobol'", "write duckdb, postgres"),
    (GOOD + "engine: duckdb://a.duckdb\n", 10, "is not a URL that can be read", "three slashes"),
    (GOOD + "engine: duckdb:///\n", 10, "names no file", "duckdb:///file.duckdb"),
    (GOOD + "engine: duckdb:///a.duckdb?x=1\n", 10, "names no file", "no options"),
    (GOOD + "engine: duckdb:///gone.duckdb\n", 10, "gone.duckdb does not exist", "correct the path"),
    (GOOD + "engine: duckbd\n", 10, "the engine 'duckbd' is unknown", "did you mean 'duckdb'?"),
    (GOOD + "engine: postgresql://u:p@h/d\n", 10, "the engine 'postgresql' is unknown", "write duckdb"),
    (GOOD + "engine: 1\n", 10, "engine must be a text, found 1", "quotes"),
    (GOOD + "privacy: {epsilon: 0}\n", 10, "privacy.epsilon must be above 0", "epsilon: 1.0"),
    (GOOD + "privacy: {epsilon: -1e-6}\n", 10, "privacy.epsilon must be above 0", "epsilon: 1.0"),
    (GOOD + "privacy: {epsilon: .inf}\n", 10, "privacy.epsilon must be finite, found .inf", "finite"),
    (
        GOOD + "privacy: {epsilon: '1.0'}\n",
        10,
        "must be a number, found the text '1.0'",
        "without quotes: 1.0",
    ),
    (GOOD + "privacy: {epsilon: }\n", 10, "privacy.epsilon must be a number, found nothing", "1.0"),
    (
        GOOD + "privacy: {epsilon: 5, max_epsilon: 4}\n",
        10,
        "privacy.epsilon 5 is above max_epsilon 4",
        "epsilon: 4",
    ),
    (
        GOOD + "privacy:\n  max_epsilon: 0.5\n",
        11,
        "privacy.epsilon 1 is above max_epsilon 0.5",
        "epsilon: 0.5",
    ),
    (GOOD + "privacy: {min_epsilon: 1e-10}\n", 10, "below 1e-9, the unit of the ledger", "1e-9"),
    (GOOD + "privacy: {delta: 0}\n", 10, "privacy.delta must be above 0 and below 1", "delta: 1e-6"),
    (GOOD + "privacy: {delta: 1}\n", 10, "privacy.delta must be above 0 and below 1", "delta: 1e-6"),
    (GOOD + "privacy: {delta: x}\n", 10, "privacy.delta must be a number, found the text 'x'", "1e-6"),
    (GOOD + "privacy:\n  delta: 1e-6\n", 11, "privacy.delta has no budget", "for example delta: 1e-4"),
    (GOOD + "privacy: {counts: round}\n", 10, "privacy.counts must be clamp or raw", "clamp or raw"),
    (GOOD + "privacy: {mechanism: gauss}\n", 10, "privacy.mechanism must be laplace or auto", "laplace or auto"),
    (GOOD + "mechanism: auto\n", 10, "unknown key 'mechanism'", "is a key of privacy"),
    (
        GOOD + "answers: of\n",
        10,
        "answers must be per_analyst, shared or off, found the text 'of'",
        "did you mean 'off'?",
    ),
    (GOOD + "answers: true\n", 10, "answers must be per_analyst, shared or off, found true", "shared or off"),
    (GOOD + "data_version: 7\n", 10, "data_version must be a text, found 7", "put it in quotes"),
    (GOOD + "data_version: ''\n", 10, "data_version must be a text", 'data_version: "2026-11"'),
    (GOOD + "privacy: {epsilom: 1}\n", 10, "privacy has an unknown key 'epsilom'", "did you mean 'epsilon'?"),
    (GOOD + "privacy: 1\n", 10, "privacy must be a mapping, found 1", "epsilon: 1.0"),
    (b"# " + b"x" * 1_048_576, 0, "longer than 1048576 bytes", "public table"),
]


@pytest.mark.parametrize(("text", "line", "message", "hint"), TOPS)
def test_wrong_policies(check: Check, text: str | bytes, line: int, message: str, hint: str) -> None:
    policy, errors = check(text)
    assert policy is None
    assert len(errors) == 1, [str(error) for error in errors]
    assert (f"policy.yaml:{line}: " if line else "policy.yaml: ") in errors[0].message
    assert message in errors[0].message
    assert hint in (errors[0].hint or "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder.csv", "is a directory"),
        ("gone.yaml", "does not exist"),
        ("people.csv/x", "can't be read: Not a directory"),
        ("a\0b", "can't be read: not a path"),
        ("x" * 5000, "can't be read: File name too long"),
    ],
)
def test_wrong_paths(folder: Path, name: str, message: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(message)) as caught:
        load(folder / name)
    assert caught.value.hint


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PolicyError, match="not a regular file"):
        load(tmp_path / "pipe")


def test_an_alias_bomb_is_stopped(check: Check) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
    )
    _, errors = check(GOOD + bomb)
    assert "more than 200000 values" in errors[0].message


def test_variables_cannot_flood_the_memory(check: Check) -> None:
    _, errors = check(with_column("{type: text, description: '" + "${A}" * 20 + "'}"), A="x" * 100_000)
    assert "add more than" in errors[0].message


def test_all_problems_come_at_once_in_order(check: Check, folder: Path) -> None:
    text = ISSUE.replace("[0, 100]", "[100, 0]").replace("epsilon: 1.0 ", "epsilon: 9.0 ").replace("unit:", "unt:")
    _, errors = check(text.replace("regions.csv", "gone.csv"))
    lines = [int(error.message.split("policy.yaml:")[1].split(":")[0]) for error in errors]
    assert lines == [5, 17, 19, 25]
    with pytest.raises(PolicyError, match=re.escape("policy.yaml:5: privacy.epsilon 9 is above")) as caught:
        load(folder / "policy.yaml")
    assert "3 more problems: dpsql check" in (caught.value.hint or "")


def test_messages_are_one_printable_line(check: Check) -> None:
    _, errors = check(HEAD + '  "a\\u202e\\e[31m\\nb": {}\n  "\\u200b": []\n')
    assert errors
    assert all(error.message.isprintable() for error in errors)


# The schema


def plain(node: Node) -> Any:
    """What a JSON reader sees."""
    if isinstance(node, Mapping):
        return {name.text: plain(value) for name, value in node.items}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    assert isinstance(node, Scalar)
    value = resolve(node.written) if node.value == node.text and node.text != node.written else node.value
    return float(value) if isinstance(value, Fraction) else value


def valid(text: str) -> bool:
    problems = Problems()
    root, _ = compose(text, {}, problems)
    assert root is not None
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(plain(root))


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "name", ["config/pums.yaml", "config/template.yaml", "config/tpch.yaml", "dpsql/demo/pums.yaml"]
)
def test_shipped_policies_are_valid(name: str) -> None:
    assert valid((ROOT / name).read_text("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        ISSUE,
        GOOD,
        with_column("{type: INTEGER, keys: [1, null], description: x}"),
        with_column('{type: "Decimal(10, 2)", bounds: [0, 0.5]}'),
        with_column("{type: date, bounds: [2020-01-01, 2020-12-31], nullable: true}"),
        with_column("{type: text, keys: {from: regions.region}}", REGIONS),
        with_column("{type: float, grain: 1e-3}") + "privacy: {epsilon: 1, counts: raw}\n",
        GOOD + "engine: duckdb:///clinic.duckdb\ndialect: bigquery\n",
        swapped("{epsilon: 20}", "{epsilon: 20, delta: 0, per: week, analysts: {'*': {epsilon: 0, per: day}}}"),
    ],
)
def test_good_policies_are_valid_and_load(good: Callable[..., Policy], text: str) -> None:
    assert valid(text)
    assert good(text)


STRUCTURAL = re.compile(
    r"unknown|version 2| has no '|must be (?!finite|a whole|a date|a timestamp)|negative|below 1e-9|takes no"
    r"|has (both|a grain|bounds|keys)|is public and|reserved|longer than 255|empty name|blanks"
    r"|list of keys is empty"
)
"""What the schema sees; the rest needs the files, the environment or a comparison of two values."""
BEYOND = re.compile("unknown table|the policy is|is above|a timestamp")


def structural() -> Iterator[str]:
    for column, message, _ in COLUMNS:
        if STRUCTURAL.search(message) and not BEYOND.search(message):
            yield with_column(column, REGIONS)
    for table, message, _ in TABLES:
        if STRUCTURAL.search(message):
            yield f"{HEAD}  {table}\n"
    for unit, message, _ in UNITS:
        if STRUCTURAL.search(message) and not BEYOND.search(message):
            yield with_unit(unit)
    for unit, columns, _, message, _ in UNIT_COLUMNS:
        if STRUCTURAL.search(message) and not BEYOND.search(message):
            yield with_unit(unit, columns)
    for text, _, message, _ in TOPS:
        if isinstance(text, str) and STRUCTURAL.search(message) and not BEYOND.search(message):
            yield text


@pytest.mark.parametrize("text", list(structural()))
def test_bad_policies_are_invalid_and_do_not_load(check: Check, text: str) -> None:
    assert not valid(text)
    assert check(text)[0] is None


def test_variables_are_valid_where_numbers_are() -> None:
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(
        {
            "dpsql": 1,
            "budget": {"epsilon": "${B}"},
            "ledger": "${HOME}/a.ledger",
            "tables": {"t": {"source": "${S}", "public": "${P}"}},
            "dialect": "${D}",
        }
    )


# Any text


def loads_or_refuses(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    policy, errors = load_all_errors(path, environ={"A": "1", "B": "${A}\udcff"})
    assert (policy is None) == bool(errors)
    for error in errors:
        assert type(error) is PolicyError
        assert error.hint
        str(error).encode()


fuzz = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = [
    *sorted(set(re.findall(r"[\w*]+|[^\w\s]", ISSUE))),
    *"null ~ << !!str ! &a *a ${A} ${B} $${ --- ... |\n >\n 1e999999 -.inf decimal(3,1) from date".split(" "),
    *"2020-01-01 timestamp bounds grain ' \" \\ 0x1f é \u2028 \x85".split(" "),
    *"unit column via max_rows primary_key unique people.age".split(" "),
    *("%YAML 1.2", "? ", ": ", "- ", "\n", "\n  ", "\n      ", "\t", '"\\UFFFFFFFF"', '"\\ud800"'),
]


@pytest.mark.slow
@fuzz
@given(st.binary(max_size=300))
def test_any_bytes_load_or_are_refused(tmp_path: Path, data: bytes) -> None:
    loads_or_refuses(tmp_path / "p.yaml", data)


@pytest.mark.slow
@fuzz
@given(st.text(max_size=300))
def test_any_text_loads_or_is_refused(tmp_path: Path, text: str) -> None:
    loads_or_refuses(tmp_path / "p.yaml", text.encode("utf-8", "replace"))


@pytest.mark.slow
@fuzz
@given(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
def test_any_words_load_or_are_refused(tmp_path: Path, text: str) -> None:
    loads_or_refuses(tmp_path / "p.yaml", text.encode())


@pytest.mark.slow
@fuzz
@given(st.integers(0, len(ISSUE)), st.integers(0, 30), st.sampled_from(WORDS))
def test_any_edit_of_the_sample_loads_or_is_refused(folder: Path, start: int, cut: int, word: str) -> None:
    loads_or_refuses(folder / "edit.yaml", (ISSUE[:start] + word + ISSUE[start + cut :]).encode())


POLICIES = [ISSUE, *(path.read_text("utf-8") for path in sorted((ROOT / "config").glob("*.yaml")))]
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
ODD = [
    "&a ", "*a", "*a, *a", "<<: *a\n", "!!python/object:os.system ", "!<x> ", "0b1", "0o7", "1_000", "1:30", ".5", "-0",
    "+.inf", ".NaN", "1e400", "-1e-400", "9" * 400, "0." + "9" * 400, "9999-12-31", "0000-00-00", "2020-02-30",
    "2020-01-01T00:00:00Z", "yes", "NO", "Null", "=", "'", '"', "|2-\n", ">+\n", "{", "}", "[", "]", "? ", "\n\t",
    "\ufeff", "\u2028", "${HOME}", "${", "#", "%TAG ! x\n", "{a: " * 40, "[[[[", "\\", "e\u0301", "\x7f",
]  # fmt: skip


@pytest.mark.slow
@fuzz
@given(st.integers(0, 2**32))
def test_any_mutant_of_a_policy_loads_or_is_refused(tmp_path: Path, seed: int) -> None:
    """Of the policies in config/: words moved, doubled, dropped, taken from another or odd; and one spliced with
    another."""
    random = Random(seed)
    words = _TOKEN.findall(random.choice(POLICIES))
    for _ in range(random.choice((1, 1, 2, 4, 8))):
        other = _TOKEN.findall(random.choice(POLICIES))
        i, j, k = random.randrange(len(words)), random.randrange(len(words)), random.randrange(len(other))
        match random.randrange(7):
            case 0:
                words[i], words[j] = words[j], words[i]
            case 1:
                words[i:i] = words[i : i + random.randrange(40)]
            case 2:
                del words[i : i + random.randrange(1, 20)]
            case 3:
                words[i] = other[k]
            case 4:
                words[i:] = other[k:]
            case _:
                words[i:i] = [random.choice(ODD)]
        words = words or [""]
    loads_or_refuses(tmp_path / "p.yaml", "".join(words).encode("utf-8", "surrogatepass"))


_ONE_TABLE = ISSUE.split("  regions:")[0]
LONG = {
    "columns": _ONE_TABLE + "".join(f"      c{i}: {{type: integer}}\n" for i in range(1_000)),
    "keys": _ONE_TABLE + f"      c: {{type: integer, keys: [{', '.join(map(str, range(4_000)))}]}}\n",
    "anchors": _ONE_TABLE + "".join(f"      c{i}: &a{i} {{type: integer}}\n" for i in range(1_000)),
    "aliases": _ONE_TABLE + "      c: &a {type: integer}\n" + "".join(f"      c{i}: *a\n" for i in range(1_000)),
    "unknown keys": _ONE_TABLE + "".join(f"      c{i}: {{tipe: integer}}\n" for i in range(1_000)),
    "one key": "a: 1\n" * 4_000,
    "flow": f"[{'a, ' * 4_000}]",
    "tags": "!x a: 1\n" * 4_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_the_work_on_a_policy_grows_no_faster_than_its_length(tmp_path: Path, name: str) -> None:
    """Counted in calls, for a quarter of its lines or words and for all."""

    def calls(text: str) -> int:
        with cProfile.Profile() as profile:
            loads_or_refuses(tmp_path / "p.yaml", text.encode())
        return sum(entry.callcount for entry in profile.getstats())  # type: ignore[attr-defined]

    words = LONG[name].split(" ")
    assert calls(LONG[name]) <= 6.5 * calls(" ".join(words[: len(words) // 4])) + 20_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
PLACES = ["dpsql", "engine", "dialect", "privacy", "budget", "ledger", "tables", "source", "unit", "columns"]
KEYS = [
    "type",
    "bounds",
    "keys",
    "grain",
    "nullable",
    "description",
    "epsilon",
    "analysts",
    "per",
    "counts",
    "mechanism",
    "answers",
    "data_version",
    "public",
    "unique",
    "primary_key",
    "column",
    "via",
    "max_rows",
    "max_groups",
]


@pytest.mark.slow
@fuzz
@given(
    st.dictionaries(st.sampled_from(KEYS + PLACES), json_values, max_size=6),
    st.sampled_from(["top", "table", "unit", "column"]),
)
def test_any_structure_loads_or_is_refused(folder: Path, values: dict[str, Any], level: str) -> None:
    column: dict[str, Any] = {"type": "integer"}
    unit: dict[str, Any] = {"column": "x", "max_rows": 3}
    table: dict[str, Any] = {"source": "people.csv", "unit": unit, "columns": {"x": column}}
    top: dict[str, Any] = {"dpsql": 1, "budget": {"epsilon": 1}, "ledger": "l", "tables": {"people": table}}
    {"top": top, "table": table, "unit": unit, "column": column}[level].update(values)
    loads_or_refuses(folder / "structure.yaml", json.dumps(top).encode())


DRAFT = """\
dpsql: 1
budget:
  epsilon: DECIDE
  analysts: {alice: {epsilon: DECIDE}, bob: DECIDE}
ledger: DECIDE
tables:
  people:
    source: people.csv
    unit: DECIDE
    columns:
      age: {type: DECIDE, bounds: DECIDE}
      born: {type: date, bounds: DECIDE}
      name: {type: text, keys: DECIDE}
      sex: DECIDE
"""


def test_everything_to_be_decided_is_told_at_once(check: Check) -> None:
    _, errors = check(DRAFT)
    places = [(e.message.rpartition("policy.yaml:")[2].split(" is ")[0], e.hint) for e in errors]
    assert all(e.message.endswith(" is still to be decided") for e in errors)
    assert [place for place, _ in places] == [
        "3: budget.epsilon",
        "4: budget.analysts.alice.epsilon",
        "4: budget.analysts.bob",
        "5: ledger",
        "9: people.unit",
        "11: people.age.type",
        "11: people.age.bounds",
        "12: people.born.bounds",
        "13: people.name.keys",
        "14: people.sex",
    ]
    hints = dict(places)
    assert "write unit: row if each row is one person" in hints["9: people.unit"]
    assert "unit: {column: person_id, max_rows: 20}" in hints["9: people.unit"]
    assert hints["11: people.age.bounds"].startswith("write bounds: [lower, upper], for example bounds: [0, 120]")
    assert hints["11: people.age.type"].startswith("write type: integer, decimal(p,s), double")


def test_decide_is_a_word_like_others_within_values(good: Callable[..., Policy]) -> None:
    policy = good(with_column("{type: text, keys: [DECIDE, b]}").replace("      x:", "      DECIDE:"))
    assert policy.tables["people"].columns["decide"].keys == ("DECIDE", "b")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{a: " * 20_000,
        "- " * 50_000,
        "? " * 50_000,
        "\n".join(" " * i + "a:" for i in range(1000)),
    ],
)
def test_deep_nesting_is_refused_at_once(check: Check, text: str) -> None:
    _, errors = check(text)
    assert "nested more than 32 deep" in errors[0].message


def test_a_copy_elsewhere_has_its_own_paths(tmp_path: Path, folder: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "p.yaml").write_text(ISSUE, "utf-8")
    assert load(tmp_path / "copy" / "p.yaml").ledger == tmp_path / "copy/var/pums.ledger"
