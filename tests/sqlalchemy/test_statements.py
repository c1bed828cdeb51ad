"""SQLAlchemy's expressions over private rows, in each dialect that a policy may have, with their exact answers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import (
    DECIMAL,
    TIMESTAMP,
    Boolean,
    Column,
    Date,
    DateTime,
    Double,
    Engine,
    Float,
    Integer,
    MetaData,
    Numeric,
    Select,
    String,
    Table,
    and_,
    bindparam,
    case,
    cast,
    column,
    desc,
    distinct,
    exc,
    extract,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    text,
    true,
    try_cast,
    tuple_,
    type_coerce,
    values,
)
from sqlalchemy.orm import Session

from dpsql.sqlalchemy.compiler import words
from tests.sqlalchemy.deployment import DIALECTS, connected, write


@pytest.fixture(scope="module", params=DIALECTS)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with connected(write(tmp_path_factory.mktemp(request.param), request.param)) as made:
        yield made


@pytest.fixture(scope="module")
def tables(engine: Engine) -> MetaData:
    metadata = MetaData()
    metadata.reflect(engine)
    metadata.reflect(engine, schema="wards")
    return metadata


def statements(metadata: MetaData) -> dict[str, tuple[Select[Any], list[tuple[Any, ...]]]]:
    """By name: a statement, and the rows that it gives."""
    visits, codes = metadata.tables["visits"], metadata.tables["codes"]
    patients, stays = metadata.tables["wards.patients"], metadata.tables["wards.stays"]
    v = visits.c
    count = select(func.count()).select_from(visits)
    by_city = select(v.city, func.count().label("n")).group_by(v.city).cte("by_city")
    listed = values(column("a", Integer), column("b", String), name="listed").data([(1, "x"), (2, "y")])
    month = extract("month", v.day)
    return {
        "count": (count, [(4,)]),
        "where": (count.where(v.age > 40, or_(v.smoker, v.city == "Oslo")), [(2,)]),
        "not": (count.where(~and_(v.age > 40, v.smoker)), [(3,)]),
        "between": (count.where(v.age.between(45, 52)), [(2,)]),
        "in": (count.where(v.age.in_([30, 61, 99])), [(2,)]),
        "in nothing": (count.where(v.age.in_([])), [(0,)]),
        "not in": (count.where(v.city.not_in(["Oslo"])), [(2,)]),
        "not in nothing": (count.where(v.age.not_in([])), [(4,)]),
        "is null": (count.where(v.cost.is_(None)), [(1,)]),
        "is distinct": (count.where(v.city.is_distinct_from("Oslo")), [(2,)]),
        "starts with": (count.where(v.city.startswith("Os")), [(2,)]),
        "contains": (count.where(v.city.contains("erg")), [(2,)]),
        "contains, any case": (count.where(v.city.icontains("ERG")), [(2,)]),
        "like, any case": (count.where(v.city.ilike("b%n")), [(2,)]),
        "filter": (select(func.count().filter(v.smoker)), [(2,)]),
        "sum and mean": (
            select(func.sum(v.age), func.avg(v.age), func.sum(v.cost), func.count(v.cost), func.sum(v.weight)),
            [(188, 47.0, Decimal("60.5"), 3, 301.0)],
        ),
        "groups": (
            select(v.city, func.count().label("n"), func.sum(v.age)).group_by(v.city).order_by(desc("n"), v.city),
            [("Bergen", 2, 113), ("Oslo", 2, 75), (None, 0, 0)],
        ),
        "having, limit, offset": (
            select(v.city, func.sum(v.age).label("s")).group_by(v.city).having(func.sum(v.age) > 1)
            .order_by(v.city).limit(1).offset(1),
            [("Oslo", 75)],
        ),
        "fetch": (select(v.smoker, func.count()).group_by(v.smoker).order_by(v.smoker).fetch(1), [(False, 2)]),
        "offset alone": (select(v.smoker, func.count()).group_by(v.smoker).order_by(v.smoker).offset(1), [(True, 2)]),
        "bins": (
            select((v.age // 20).label("bin"), func.count()).group_by("bin").order_by("bin").limit(4),
            [(0, 0), (1, 1), (2, 2), (3, 1)],
        ),
        "an expression twice": (
            select(func.floor(v.age / 50), func.count()).group_by(func.floor(v.age / 50)).order_by(literal_column("1")),
            [(0.0, 2), (1.0, 2), (2.0, 0)],
        ),
        "division": (select(func.sum(v.age / 2), func.sum(v.age % 7)), [(94.0, 13)]),
        "case": (
            select(case((v.age >= 50, "old"), else_="young").label("g"), func.count()).group_by("g").order_by("g"),
            [("old", 2), ("young", 2)],
        ),
        "cast": (
            select(cast(v.smoker, Integer).label("c"), func.sum(cast(v.weight, Numeric(8, 1))))
            .group_by("c").order_by("c"),
            [(0, Decimal("150")), (1, Decimal("151"))],
        ),
        "cast to floats": (select(func.sum(cast(v.age, Float)), func.sum(cast(v.age, Double))), [(188.0, 188.0)]),
        "dates": (count.where(v.day >= dt.date(2024, 2, 2)), [(2,)]),
        "times": (count.where(v.seen > dt.datetime(2024, 1, 15, 12, 30)), [(2,)]),
        "extract": (select(month.label("m"), func.count()).group_by("m").order_by("m").limit(2), [(1, 2), (2, 1)]),
        "distinct values": (select(v.city).distinct().order_by(v.city.nulls_last()), [("Bergen",), ("Oslo",), (None,)]),
        "how many values": (select(func.count(distinct(v.city))), [(2,)]),
        "coalesce": (
            select(func.coalesce(v.city, "none"), func.count()).group_by(v.city).order_by(desc(func.count()), v.city),
            [("Bergen", 2), ("Oslo", 2), ("none", 0)],
        ),
        "cte": (
            select(by_city.c.city, (100.0 * by_city.c.n / func.sum(by_city.c.n).over()).label("percent"))
            .where(by_city.c.n > 1).order_by(by_city.c.city),
            [("Bergen", 50.0), ("Oslo", 50.0)],
        ),
        "subquery": (select(func.max(by_city.c.n)), [(2,)]),
        "scalar subquery": (
            select(func.count() / count.scalar_subquery()).select_from(visits).where(v.smoker),
            [(0.5,)],
        ),
        "exists": (count.where(select(codes).where(codes.c.code > 3).exists()), [(4,)]),
        "union": (
            select(v.city, func.count()).group_by(v.city)
            .union(select(literal("all"), func.count()).select_from(visits))
            .order_by(literal_column("2"), literal_column("1")),
            [(None, 0), ("Bergen", 2), ("Oslo", 2), ("all", 4)],
        ),
        "except": (select(codes.c.code).except_(count.where(v.age > 50)).order_by("code"), [(1,), (3,), (4,)]),
        "public join": (
            select(codes.c.order, by_city.c.n).join(by_city, by_city.c.n == codes.c.code).order_by(by_city.c.city),
            [("it's", 2), ("it's", 2)],
        ),
        "along a foreign key": (
            select(func.count(), func.sum(stays.c.days)).join_from(stays, patients).where(patients.c.Name != "Bob"),
            [(2, 7)],
        ),
        "units": (select(func.count(distinct(patients.c.patient))), [(2,)]),
        "values": (select(listed).order_by(listed.c.a.desc()), [(2, "y"), (1, "x")]),
        "regular expression": (select(codes.c.code).where(codes.c.order.regexp_match("^[0-9]+%")), [(1,)]),
        "no regular expression": (select(codes.c.code).where(~codes.c.order.regexp_match("^[0-9i]")), [(4,)]),
        "escapes": (select(codes.c.code).where(codes.c.order.contains("0%", autoescape=True)), [(1,)]),
        "strings together": (
            select(func.aggregate_strings(codes.c.order, "|")).where(codes.c.code < 3),
            [("50% off|it's",)],
        ),
        "xor": (select(codes.c.code.bitwise_xor(5)).where(codes.c.code == 4), [(1,)]),
        "whole division": (select(codes.c.code // 2).order_by(codes.c.code), [(0,), (1,), (1,), (2,)]),
        "true division": (select(codes.c.code / 2).where(codes.c.code == 3), [(Decimal("1.5"),)]),
        "try": (select(try_cast(codes.c.order, Integer)).where(codes.c.code == 1), [(None,)]),
        "constants": (
            select(
                literal("a'b\\c"), literal(1), literal(-1.25), literal(True), null(), literal(dt.date(2020, 2, 3)),
                literal(dt.datetime(2020, 2, 3, 4, 5, 6, 7)), literal(Decimal("1.50")), true(),
            ),
            [(
                "a'b\\c", 1, -1.25, True, None, dt.date(2020, 2, 3), dt.datetime(2020, 2, 3, 4, 5, 6, 7),
                Decimal("1.50"), True,
            )],
        ),
    }  # fmt: skip


SPARK: dict[str, list[tuple[Any, ...]]] = {
    "bins": [(None, 0), (0, 0), (1, 1), (2, 2)],
    "an expression twice": [(None, 0), (0.0, 2), (1.0, 2), (2.0, 0)],
}
"""There a division by 0 is NULL, so what comes of a division has a group for NULL."""


@pytest.mark.slow
@pytest.mark.parametrize("literal_binds", [False, True])
def test_statements(engine: Engine, tables: MetaData, literal_binds: bool) -> None:
    """With their values as parameters, and written out."""
    wrong = {}
    with engine.connect() as connection:
        for name, (statement, expected) in statements(tables).items():
            try:
                if literal_binds:
                    written = str(statement.compile(engine, compile_kwargs={"literal_binds": True}))
                    assert "?" not in written.replace("?column?", "")
                    rows = connection.exec_driver_sql(written).all()
                else:
                    rows = connection.execute(statement).all()
            except exc.DBAPIError as error:
                wrong[name] = str(error)
                continue
            if rows != (SPARK.get(name, expected) if engine.dialect.written == "spark" else expected):  # type: ignore[attr-defined]
                wrong[name] = f"{rows} of {statement.compile(engine)}"
    assert wrong == {}, wrong


def test_whole_numbers_stay_whole(engine: Engine, tables: MetaData) -> None:
    v, code = tables.tables["visits"].c, tables.tables["codes"].c.code
    with engine.connect() as connection:
        for statement in (select(code // 2), select((v.age // 20).label("b"), func.sum(v.age)).group_by("b")):
            for row in connection.execute(statement):
                assert all(type(value) is int for value in row if value is not None), statement


def test_numbers_come_as_they_are_asked_for(engine: Engine, tables: MetaData) -> None:
    """A noisy sum of decimals is one; a mean is a double, whatever SQLAlchemy thinks of it."""
    v = tables.tables["visits"].c
    asked = select(
        func.sum(v.cost), type_coerce(func.avg(v.cost), Numeric), type_coerce(func.sum(v.cost), Float),
        type_coerce(func.avg(v.age), Double), type_coerce(func.avg(v.age), Float(asdecimal=True)), func.avg(v.cost),
    )  # fmt: skip
    with engine.connect() as connection:
        row = connection.execute(asked).one()
    assert [type(value) for value in row] == [Decimal, Decimal, float, float, Decimal, float]
    assert row[0] == Decimal("60.5") and row[2:] == (60.5, 47.0, 47, row[5])
    assert float(row[1]) == row[5] == pytest.approx(60.5 / 3, abs=1e-3)


def test_parameters_of_text(engine: Engine) -> None:
    """Text is the policy's dialect; its parameters are SQLAlchemy's."""
    asked = text("SELECT COUNT(*) FROM visits WHERE age > :age AND city IN :cities LIMIT :most").bindparams(
        bindparam("cities", expanding=True)
    )
    with engine.connect() as connection:
        for cities, expected in ((["Oslo", "Bergen"], 3), (["Oslo"], 1)):
            assert connection.execute(asked, {"age": 31, "cities": cities, "most": 5}).scalar() == expected
        public = text("SELECT code FROM codes WHERE code NOT IN :c").bindparams(bindparam("c", expanding=True))
        assert len(connection.execute(public, {"c": []}).all()) == 4
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM visits WHERE age > ?", (31,)).scalar() == 3


def test_names_that_are_words(engine: Engine, tables: MetaData) -> None:
    """`order` is a column here; names are in the quotes of the policy's dialect."""
    codes = tables.tables["codes"]
    for name in ("group", "Mixed Case", "count", "date", "filter", "limit", "öre", "x-y"):
        with engine.connect() as connection:
            row = connection.execute(select(codes.c.order.label(name)).where(codes.c.code == 2)).one()
        assert row._mapping[name] == "it's"
    quote = "`" if engine.dialect.written in ("bigquery", "spark") else '"'  # type: ignore[attr-defined]
    assert f"codes.{quote}order{quote}" in str(select(codes.c.order).compile(engine))
    assert {"order", "group", "select"} <= words(engine.dialect.written)  # type: ignore[attr-defined]


def test_what_is_refused(engine: Engine, tables: MetaData) -> None:
    """SQLAlchemy's classes, with dpsql's words, hint and SQLSTATE."""
    visits = tables.tables["visits"]
    cases: list[tuple[Any, type[exc.DBAPIError], str, str]] = [
        (select(visits.c.age), exc.ProgrammingError, "42501", "hint: ask for an aggregate"),
        (select(func.mode(visits.c.age)), exc.NotSupportedError, "0A000", "MODE"),
        (select(func.count(literal_column("nothing"))).select_from(visits), exc.ProgrammingError, "42703", "nothing"),
        (select(func.count()).select_from(text("nothing")), exc.ProgrammingError, "42P01", "nothing"),
        (select(func.count()).where(visits.c.age == b"x"), exc.DataError, "22P02", "bytes"),
        (visits.insert().values(age=3), exc.NotSupportedError, "0A000", "INSERT"),
        (visits.update().values(age=3), exc.NotSupportedError, "0A000", "UPDATE"),
        (visits.delete(), exc.NotSupportedError, "0A000", "DELETE"),
        (select(func.count()).select_from(visits).with_for_update(), exc.NotSupportedError, "0A000", "hint"),
    ]  # fmt: skip
    with engine.connect() as connection:
        for statement, kind, sqlstate, words_of_it in cases:
            with pytest.raises(kind) as caught:
                connection.execute(statement)
            assert caught.value.orig.sqlstate == sqlstate  # type: ignore[union-attr]
            assert words_of_it in str(caught.value)
        with pytest.raises(exc.NotSupportedError, match="executemany would charge"):
            connection.execute(text("SELECT COUNT(*) FROM visits WHERE age > :a"), [{"a": 1}, {"a": 2}])
    with pytest.raises(exc.NotSupportedError, match="CREATE"):
        _with_a_table().create_all(engine)


def _with_a_table() -> MetaData:
    metadata = MetaData()
    Table("another", metadata, Column("id", Integer, primary_key=True))
    return metadata


def test_what_the_compiler_refuses(engine: Engine, tables: MetaData) -> None:
    codes = tables.tables["codes"]
    for statement in (
        select(codes).fetch(5, percent=True),
        select(codes).order_by(codes.c.code).fetch(5, with_ties=True),
        select(codes.c.order.regexp_match("a", flags="i")),
        select(codes.c.order.regexp_replace("a", "b")),
    ):
        with pytest.raises(exc.CompileError):
            statement.compile(engine)


def test_tuples_over_public_rows(engine: Engine, tables: MetaData) -> None:
    codes = tables.tables["codes"]
    asked = select(codes.c.code).where(tuple_(codes.c.code, codes.c.order).in_([(2, "it's"), (4, "x")]))
    with engine.connect() as connection:
        assert connection.execute(asked).scalars().all() == [2]


def test_an_orm_session(engine: Engine, tables: MetaData) -> None:
    visits = tables.tables["visits"]
    with Session(engine) as session:
        asked = select(visits.c.smoker, func.count()).group_by(visits.c.smoker)
        assert session.execute(asked, execution_options={"epsilon": 1000}).all() == [(False, 2), (True, 2)]
        assert session.connection().info["privacy"].epsilon_charged == 1000
        session.rollback()


def test_statements_are_compiled_once(engine: Engine, tables: MetaData) -> None:
    visits = tables.tables["visits"]
    cache: dict[Any, Any] = {}
    with engine.connect().execution_options(compiled_cache=cache) as connection:
        for age, expected in ((31, 3), (50, 2), (60, 1)):
            asked = select(func.count()).select_from(visits).where(visits.c.age > age).limit(age)
            assert connection.execute(asked).scalar() == expected
    assert len(cache) == 1


def test_types_mean_what_they_mean_in_sqlalchemy(engine: Engine) -> None:
    """DuckDB's FLOAT has 32 bits and its NUMERIC three decimals; a TIMESTAMP of Spark's and BigQuery's has a zone."""
    moment = dt.datetime(2020, 2, 3, 4, 5, 6)
    for kind, value, expected in (
        (Float, "0.1", 0.1), (Double, "0.1", 0.1), (Numeric, "0.123456", Decimal("0.123456")),
        (DECIMAL, "0.123456", Decimal("0.123456")), (Numeric(5, 1), "2.34", Decimal("2.3")), (Integer, "7", 7),
        (DateTime, "2020-02-03 04:05:06", moment), (TIMESTAMP, "2020-02-03 04:05:06", moment),
        (TIMESTAMP(timezone=True), "2020-02-03 04:05:06+00", moment.replace(tzinfo=dt.UTC)),
        (DateTime(timezone=True), "2020-02-03 04:05:06+00", moment.replace(tzinfo=dt.UTC)),
        (Date, "2020-02-03", moment.date()), (String(4), "text", "text"), (Boolean, "true", True),
    ):  # fmt: skip
        with engine.connect() as connection:
            found = connection.scalar(select(cast(literal(value), kind)))
            written = select(cast(literal(value), kind)).compile(engine, compile_kwargs={"literal_binds": True})
            assert connection.exec_driver_sql(str(written)).scalar() == expected, written
        assert (found, type(found)) == (expected, type(expected)), written


@pytest.mark.filterwarnings("ignore:Passing expression to")
def test_distinct_on_is_not_left_out(engine: Engine, tables: MetaData) -> None:
    codes = tables.tables["codes"]
    asked = select(codes.c.code).distinct(codes.c.code % 2).order_by(codes.c.code % 2, codes.c.code)
    assert "DISTINCT ON (" in str(asked.compile(engine))
    if engine.dialect.written in ("duckdb", "postgres"):  # type: ignore[attr-defined]
        with engine.connect() as connection:
            assert connection.execute(asked).scalars().all() == [2, 1]
