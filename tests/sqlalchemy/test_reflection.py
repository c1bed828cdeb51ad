"""What SQLAlchemy finds out about tables and columns is what the policy declares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, Inspector, MetaData, Table, exc, inspect, select, types

from dpsql.sqlalchemy import kinds
from tests.sqlalchemy.deployment import connected, write


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with connected(write(tmp_path_factory.mktemp("clinic"))) as made:
        yield made


@pytest.fixture
def inspector(engine: Engine) -> Inspector:
    return inspect(engine)


def test_schemas_and_tables(inspector: Inspector) -> None:
    assert inspector.default_schema_name == "public"
    assert inspector.get_schema_names() == ["public", "wards"]
    assert inspector.get_table_names() == inspector.get_table_names("public") == ["visits", "codes"]
    assert inspector.get_table_names("wards") == ["patients", "stays"]
    assert inspector.get_table_names("nowhere") == inspector.get_view_names() == inspector.get_sequence_names() == []


@pytest.mark.parametrize(
    ("name", "schema", "there"),
    [
        ("visits", None, True), ("VISITS", None, True), ("visits", "public", True), ("visits", "main", True),
        ("visits", "wards", False), ("stays", "wards", True), ("stays", None, True), ("nothing", None, False),
    ],
)  # fmt: skip
def test_tables_are_found_as_queries_find_them(
    engine: Engine, inspector: Inspector, name: str, schema: str | None, there: bool
) -> None:
    assert inspector.has_table(name, schema) is there
    if there:
        full = f"{schema}.{name}" if schema else name
        with engine.connect() as connection:
            assert connection.exec_driver_sql(f"SELECT COUNT(*) FROM {full}").scalar() is not None


def test_columns(inspector: Inspector) -> None:
    columns = {column["name"]: column for column in inspector.get_columns("visits")}
    assert list(columns) == ["age", "city", "cost", "weight", "day", "seen", "smoker"]
    assert [str(column["type"]) for column in columns.values()] == [
        "BIGINT", "VARCHAR", "NUMERIC(10, 2)", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN",
    ]  # fmt: skip
    assert [name for name, column in columns.items() if column["nullable"]] == ["city", "cost"]
    assert columns["age"]["comment"] == "in years; bounds 0 to 100"
    assert columns["city"]["comment"] == "keys Oslo, Bergen, NULL"
    assert columns["day"]["comment"] == "bounds 2024-01-01 to 2024-12-31"
    assert columns["smoker"]["comment"] is None


def test_public_columns(inspector: Inspector) -> None:
    code, order = inspector.get_columns("codes")
    assert (code["name"], str(code["type"]), code["nullable"], code["comment"]) == (
        "code", "BIGINT", False, "as billed",
    )  # fmt: skip
    assert (order["name"], order["nullable"], order["comment"]) == ("order", True, None)


def test_keys(inspector: Inspector) -> None:
    assert inspector.get_pk_constraint("codes")["constrained_columns"] == ["code"]
    assert inspector.get_pk_constraint("visits")["constrained_columns"] == []
    assert [u["column_names"] for u in inspector.get_unique_constraints("patients", "wards")] == [["patient"]]
    assert inspector.get_unique_constraints("visits") == []
    (key,) = inspector.get_foreign_keys("stays", "wards")
    assert (key["constrained_columns"], key["referred_schema"], key["referred_table"], key["referred_columns"]) == (
        ["who"], "wards", "patients", ["patient"],
    )  # fmt: skip
    assert inspector.get_foreign_keys("visits") == inspector.get_indexes("visits") == []
    assert inspector.get_check_constraints("visits") == []


def test_comments(inspector: Inspector) -> None:
    assert inspector.get_table_comment("visits")["text"] == "One row per visit; privacy unit: each row"
    assert inspector.get_table_comment("codes")["text"] == "What the codes mean; public: answered exactly, at no cost"
    assert (
        inspector.get_table_comment("stays", "wards")["text"]
        == "privacy unit: via wards.patients, about 5 rows of each count in full"
    )
    assert inspector.get_table_comment("patients", "wards")["text"] == "privacy unit: patient"
    patient, name = inspector.get_columns("patients", "wards")
    assert patient["comment"] == "names the privacy unit"
    assert (name["name"], name["comment"]) == ("Name", None)


@pytest.mark.parametrize(
    "method",
    [
        "get_columns", "get_pk_constraint", "get_foreign_keys", "get_unique_constraints", "get_indexes",
        "get_check_constraints", "get_table_comment", "get_view_definition",
    ],
)  # fmt: skip
def test_a_table_that_is_not_declared(inspector: Inspector, method: str) -> None:
    with pytest.raises(exc.NoSuchTableError, match="nothing"):
        getattr(inspector, method)("nothing")


def test_tables_as_a_whole(engine: Engine) -> None:
    metadata = MetaData()
    metadata.reflect(engine, schema="wards")
    stays = metadata.tables["wards.stays"]
    (key,) = stays.foreign_keys
    assert (key.parent.name, key.column.table.fullname, key.column.name) == ("who", "wards.patients", "patient")
    codes = Table("codes", MetaData(), autoload_with=engine)
    assert [column.name for column in codes.primary_key] == ["code"]
    with engine.connect() as connection:
        rows = connection.execute(select(codes).order_by(codes.c.code)).all()
    assert rows == [(1, "50% off"), (2, "it's"), (3, None), (4, "a\\b")]


def test_nothing_is_charged(engine: Engine) -> None:
    with connected(engine.url.database, "analyst=poor") as poor:  # type: ignore[arg-type]
        MetaData().reflect(poor)
        with poor.connect() as connection:
            connection.exec_driver_sql("SELECT * FROM codes")
            assert connection.info["privacy"].epsilon_left == 1


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ("DECIMAL(7,3)", "NUMERIC(7, 3)"), ("UBIGINT", "BIGINT"), ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP"),
        ("TIMESTAMP_NS", "TIMESTAMP"), ("INTEGER[]", "NULL"), ("STRUCT(a INTEGER)", "NULL"), ("TIME", "TIME"),
    ],
)  # fmt: skip
def test_types_of_public_columns(stored: str, expected: str) -> None:
    found = kinds.stored_type(stored)
    assert str(found) == expected
    assert not isinstance(found, types.TIMESTAMP) or found.timezone is ("ZONE" in stored)
