"""Answers as arrays, data frames, Arrow streams and HTML: every type, NULLs, no rows, names that occur twice."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import dpsql
from dpsql import frames, notebook
from dpsql.result import Privacy, Result, ResultColumn, Values
from tests.harness import intervals

POLICY = """\
dpsql: 1
engine: duckdb:///data.duckdb
privacy: {epsilon: 1e6}
budget: {epsilon: 1e15}
ledger: the.ledger
answers: off
tables:
  people:
    source: people
    unit: row
    columns:
      age: {type: integer, bounds: [0, 4]}
      grown: {type: integer, keys: [0, 1, null], nullable: true}
      name: {type: text, keys: [Ann, null], nullable: true}
      ill: {type: boolean, keys: [true, null], nullable: true}
      born: {type: date, keys: ["2020-01-31", null], nullable: true}
      seen: {type: timestamp, keys: ["2020-01-31 10:00:00.5", null], nullable: true}
      size: {type: double, bounds: [0, 1], nullable: true}
      pay: {type: "decimal(10,2)", keys: [10.50, null], nullable: true}
  things:
    source: things
    public: true
"""
"""At ε = 1e6 no count is moved: the chance of any noise at all is below e^-1000000."""

PEOPLE = """
SELECT 1 AS age, 0 AS grown, 'Ann' AS name, true AS ill, DATE '2020-01-31' AS born,
    TIMESTAMP '2020-01-31 10:00:00.5' AS seen, CAST(0.5 AS DOUBLE) AS size, CAST(10.5 AS DECIMAL(10,2)) AS pay
UNION ALL SELECT 3, 1, NULL, NULL, NULL, NULL, NULL, NULL
"""
COUNT = "SELECT age, COUNT(*) AS n FROM people GROUP BY age"
MEAN = "SELECT grown, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY grown"
NUMBERS = (0, 1, 0, 1, 0)
"""How many people there are of each age."""


class Type:
    """A value in SQL and Python; the dtype, the Arrow type, pandas' dtype without and with NULL, polars' dtype.

    The values of Arrow and polars are given where they differ from Python's.
    """

    def __init__(
        self, sql: str, value: object, dtype: str, arrow: Any, pandas: str, polars: Any, *,
        nullable: str | None = None, arrow_value: object = None, numpy_value: object = None,
    ) -> None:  # fmt: skip
        self.sql, self.value = sql, value
        self.dtype, self.arrow, self.pandas, self.polars = dtype, arrow, pandas, polars
        self.nullable = pandas if nullable is None else nullable
        self.arrow_value = value if arrow_value is None else arrow_value
        self.numpy_value = value if numpy_value is None else numpy_value


_UUID = uuid.UUID("12345678-1234-5678-1234-567812345678")
_MOMENT = dt.datetime(2020, 1, 31, 10, 0, 0, 500_000)
_ZONED = _MOMENT.replace(tzinfo=dt.UTC)
_TIME_ZONED = dt.time(10, tzinfo=dt.timezone(dt.timedelta(hours=2)))
_US, _PA_US = pl.Datetime("us"), pa.timestamp("us")
TYPES = {
    "BOOLEAN": Type("true", True, "bool", pa.bool_(), "bool", pl.Boolean, nullable="boolean"),
    "TINYINT": Type("-128", -128, "int8", pa.int8(), "int8", pl.Int8, nullable="Int8"),
    "SMALLINT": Type("-32768", -32768, "int16", pa.int16(), "int16", pl.Int16, nullable="Int16"),
    "INTEGER": Type("-2147483648", -(2**31), "int32", pa.int32(), "int32", pl.Int32, nullable="Int32"),
    "BIGINT": Type("9223372036854775807", 2**63 - 1, "int64", pa.int64(), "int64", pl.Int64, nullable="Int64"),
    "UTINYINT": Type("255", 255, "uint8", pa.uint8(), "uint8", pl.UInt8, nullable="UInt8"),
    "USMALLINT": Type("65535", 65535, "uint16", pa.uint16(), "uint16", pl.UInt16, nullable="UInt16"),
    "UINTEGER": Type("4294967295", 2**32 - 1, "uint32", pa.uint32(), "uint32", pl.UInt32, nullable="UInt32"),
    "UBIGINT": Type("18446744073709551615", 2**64 - 1, "uint64", pa.uint64(), "uint64", pl.UInt64, nullable="UInt64"),
    "HUGEINT": Type(
        "1152921504606846977", 2**60 + 1, "object", pa.decimal128(38), "object", pl.Decimal(38, 0),
        arrow_value=Decimal(2**60 + 1),
    ),
    "UHUGEINT": Type("7", 7, "object", pa.decimal128(38), "object", pl.Decimal(38, 0), arrow_value=Decimal(7)),
    "FLOAT": Type("1.5", 1.5, "float32", pa.float32(), "float32", pl.Float32),
    "DOUBLE": Type("0.1", 0.1, "float64", pa.float64(), "float64", pl.Float64),
    "DECIMAL(38,4)": Type(
        "1234567890123456789012345678901234.5678", Decimal("1234567890123456789012345678901234.5678"), "object",
        pa.decimal128(38, 4), "object", pl.Decimal(38, 4),
    ),
    "DATE": Type(
        "'2020-01-31'", dt.date(2020, 1, 31), "datetime64[D]", pa.date32(), "datetime64[s]", pl.Date,
        numpy_value=np.datetime64("2020-01-31"),
    ),
    "TIME": Type("'10:00:00.5'", dt.time(10, 0, 0, 500_000), "object", pa.time64("us"), "object", pl.Time),
    "TIMESTAMP": Type("'2020-01-31 10:00:00.5'", _MOMENT, "datetime64[us]", _PA_US, "datetime64[us]", _US),
    "TIMESTAMP_S": Type(
        "'2020-01-31 10:00:00'", _MOMENT.replace(microsecond=0), "datetime64[us]", _PA_US, "datetime64[us]", _US
    ),
    "TIMESTAMP_MS": Type("'2020-01-31 10:00:00.5'", _MOMENT, "datetime64[us]", _PA_US, "datetime64[us]", _US),
    "TIMESTAMP_NS": Type("'2020-01-31 10:00:00.5'", _MOMENT, "datetime64[us]", _PA_US, "datetime64[us]", _US),
    "TIMESTAMP WITH TIME ZONE": Type(
        "'2020-01-31 12:00:00.5+02'", _ZONED, "datetime64[us]", pa.timestamp("us", "UTC"), "datetime64[us, UTC]",
        pl.Datetime("us", "UTC"), numpy_value=np.datetime64(_MOMENT),
    ),
    "INTERVAL": Type(
        "'1 month 2 days 3 microseconds'", dt.timedelta(days=32, microseconds=3), "timedelta64[us]",
        pa.duration("us"), "timedelta64[us]", pl.Duration("us"),
    ),
    "VARCHAR": Type("'a\"é'", 'a"é', "object", pa.string(), "str", pl.String),
    "ENUM('a', 'b')": Type("'b'", "b", "object", pa.string(), "str", pl.String),
    "JSON": Type("'{}'", "{}", "object", pa.string(), "str", pl.String),
    "BIT": Type("'101'", "101", "object", pa.string(), "str", pl.String),
    "BIGNUM": Type("5", "5", "object", pa.string(), "str", pl.String),
    "UUID": Type(f"'{_UUID}'", _UUID, "object", pa.string(), "object", pl.String, arrow_value=str(_UUID)),
    "TIME WITH TIME ZONE": Type(
        "'10:00:00+02'", _TIME_ZONED, "object", pa.string(), "object", pl.String, arrow_value="10:00:00+02:00"
    ),
    "BLOB": Type("'ab'", b"ab", "object", pa.binary(), "object", pl.Binary),
    "INTEGER[]": Type("[1, NULL]", [1, None], "object", pa.list_(pa.int32()), "object", pl.List(pl.Int32)),
    "INTEGER[2]": Type(
        "[1, 2]", (1, 2), "object", pa.list_(pa.int32(), 2), "object", pl.Array(pl.Int32, 2), arrow_value=[1, 2]
    ),
    "DECIMAL(3,1)[][]": Type(
        "[[1.5], []]", [[Decimal("1.5")], []], "object", pa.list_(pa.list_(pa.decimal128(3, 1))), "object",
        pl.List(pl.List(pl.Decimal(3, 1))),
    ),
}  # fmt: skip
"""Each type that a result can have, but those that Arrow lacks."""
NOT_IN_ARROW = {
    "STRUCT(a INTEGER)": ("{'a': 1}", {"a": 1}),
    "MAP(INTEGER, VARCHAR)": ("MAP {1: 'a'}", {1: "a"}),
    "STRUCT(a INTEGER)[]": ("[{'a': 1}]", [{"a": 1}]),
}


def _name(type_: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in type_.lower())


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpsql.Connection]:
    folder = tmp_path_factory.mktemp("frames")
    with duckdb.connect(str(folder / "data.duckdb")) as database:
        database.execute(f"CREATE TABLE people AS {PEOPLE}")
        values = {t: case.sql for t, case in TYPES.items()} | {t: sql for t, (sql, _) in NOT_IN_ARROW.items()}
        listed = ", ".join(f'CAST({sql} AS {t}) AS "{_name(t)}"' for t, sql in values.items())
        database.execute(f"CREATE TABLE things AS SELECT {listed}")
    (folder / "policy.yaml").write_text(POLICY)
    with dpsql.connect(folder / "policy.yaml", analyst="alice", create_ledger=True) as connection:
        yield connection


@pytest.fixture
def cursor(connection: dpsql.Connection) -> dpsql.Cursor:
    return connection.cursor()


FORMS = ("fetchnumpy", "df", "pl", "arrow")


def _values(cursor: dpsql.Cursor, form: str, **options: bool) -> dict[str, list[object]]:
    """The frame as lists of Python values by name, None for NULL and for pandas' missing values."""
    frame = getattr(cursor, form)(**options)
    match form:
        case "fetchnumpy":
            return {name: array.tolist() for name, array in frame.items()}
        case "df":
            return {str(name): [None if v is pd.NA else v for v in frame[name].tolist()] for name in frame.columns}
        case "pl":
            return frame.to_dict(as_series=False)
    return frame.to_pydict()


# ---------------------------------------------------------------------------------------------- types


def test_every_type_is_tested() -> None:
    tested = {t.split("(")[0] for t in TYPES} | {'"NULL"'}
    assert set(frames._TYPES) <= tested


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("rows", ["one", "null", "none"])
def test_types(cursor: dpsql.Cursor, type_: str, rows: str) -> None:
    case, column = TYPES[type_], _name(type_)
    more = {"one": "", "null": " UNION ALL SELECT NULL", "none": " LIMIT 0"}[rows]
    sql = f'SELECT "{column}" AS v FROM things{more}'
    null = rows == "null"

    def expected(value: object) -> list[object]:
        return [] if rows == "none" else [value, None] if null else [value]

    assert cursor.execute(sql).fetchall() == [(v,) for v in expected(case.value)]
    assert cursor.description is not None and cursor.description[0][1] == type_

    array = cursor.execute(sql).fetchnumpy()["v"]
    assert array.dtype == np.dtype(case.dtype) and array.ndim == 1
    assert isinstance(array, np.ma.MaskedArray) == null
    if null:
        assert np.ma.getmaskarray(array).tolist() == [False, True]
    if rows != "none":
        assert array[0] == case.numpy_value and type(array[0]) in (type(case.value), array.dtype.type)

    frame = cursor.execute(sql).df()
    assert str(frame["v"].dtype) == (case.nullable if null else case.pandas)
    assert frame.shape == (len(expected(None)), 1) and frame["v"].isna().tolist() == [False, True][: len(frame)]
    if rows != "none":
        found = frame["v"].iloc[0]
        assert (found.date() if type_ == "DATE" else found) == case.value

    table = cursor.execute(sql).arrow()
    assert table.schema.field("v").type == case.arrow
    assert table.column("v").to_pylist() == expected(case.arrow_value)

    polars = cursor.execute(sql).pl()
    assert polars.schema == {"v": case.polars}
    assert polars["v"].to_list() == expected(case.arrow_value)


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("SUM(n)", "HUGEINT"), ("AVG(n)", "DOUBLE"), ("COUNT(*)", "BIGINT"), ("MAX(n, 2)", "BIGINT[]"),
        ("CAST(MAX(n) AS REAL)", "FLOAT"), ("CAST(MAX(n) AS DECIMAL(5,1))", "DECIMAL(5,1)"), ("1.5", "DECIMAL(2,1)"),
        ("MAX(n) > 0", "BOOLEAN"), ("TYPEOF(MAX(n))", "VARCHAR"), ("TO_DAYS(MAX(n))", "INTERVAL"),
        ("MAKE_DATE(2020, 1, 31)", "DATE"), ("MAKE_TIME(10, 0, 0)", "TIME"),
        ("MAKE_TIMESTAMP(2020, 1, 31, 10, 0, 0)", "TIMESTAMP"), ("NULL", '"NULL"'),
        ("CAST('2020-01-31 10:00:00+02' AS TIMESTAMPTZ)", "TIMESTAMP WITH TIME ZONE"),
        ("DATE '2020-01-31' - DATE '2020-01-30'", "BIGINT"), ("CAST(MAX(n) AS UTINYINT)", "UTINYINT"),
    ],
)  # fmt: skip
def test_types_of_what_is_computed_from_noisy_numbers(cursor: dpsql.Cursor, expression: str, type_: str) -> None:
    sql = f"SELECT {expression} AS v FROM ({COUNT}) AS t LIMIT 1"
    [(value,)] = cursor.execute(sql).fetchall()
    assert cursor.description is not None and cursor.description[0][1] == type_
    for form in FORMS:
        [found] = _values(cursor.execute(sql), form)["v"]
        if form == "df" and type_ == "DATE":
            found = found.date()  # type: ignore[attr-defined]
        assert found == value or (type_.startswith("TIMESTAMP WITH") and found == value.replace(tzinfo=None))


def test_nothing_but_null(cursor: dpsql.Cursor) -> None:
    sql = f"SELECT NULL AS v, CAST(NULL AS BIGINT) AS i, CAST(NULL AS VARCHAR) AS t FROM ({COUNT}) AS q LIMIT 2"
    arrays = cursor.execute(sql).fetchnumpy()
    assert all(np.ma.getmaskarray(a).all() for a in arrays.values())
    assert [str(a.dtype) for a in arrays.values()] == ["object", "int64", "object"]
    frame = cursor.execute(sql).df()
    assert frame.isna().all(axis=None) and [str(d) for d in frame.dtypes] == ["object", "Int64", "str"]
    assert [f.type for f in cursor.execute(sql).arrow().schema] == [pa.null(), pa.int64(), pa.string()]
    assert cursor.execute(sql).pl().schema == {"v": pl.Null, "i": pl.Int64, "t": pl.String}


def test_nan_is_not_null(cursor: dpsql.Cursor) -> None:
    sql = "SELECT CAST('NaN' AS DOUBLE) AS v UNION ALL SELECT NULL UNION ALL SELECT CAST('Infinity' AS DOUBLE)"
    array = cursor.execute(sql).fetchnumpy()["v"]
    assert np.ma.getmaskarray(array).tolist() == [False, True, False] and np.isnan(array[0]) and array[2] == np.inf
    assert cursor.execute(sql).arrow().column("v").null_count == 1
    assert cursor.execute(sql).pl()["v"].null_count() == 1
    assert cursor.execute(sql).df()["v"].isna().tolist() == [True, True, False]


@pytest.mark.parametrize("type_", NOT_IN_ARROW)
def test_types_that_arrow_lacks(cursor: dpsql.Cursor, type_: str) -> None:
    sql, value = f'SELECT "{_name(type_)}" AS v FROM things', NOT_IN_ARROW[type_][1]
    assert cursor.execute(sql).fetchnumpy()["v"].tolist() == [value]
    assert cursor.execute(sql).df()["v"].tolist() == [value]
    for form in ("arrow", "pl"):
        with pytest.raises(dpsql.NotSupportedError, match="the column v has the type") as caught:
            getattr(cursor.execute(sql), form)()
        assert caught.value.hint is not None and "fetchall()" in caught.value.hint
        assert cursor.fetchall() == [(value,)]


@pytest.mark.parametrize(
    ("expression", "forms"),
    [
        ("CAST('0044-03-15 (BC)' AS DATE)", FORMS),
        ("CAST('0044-03-15 (BC) 10:00:00' AS TIMESTAMP)", FORMS),
        ("CAST('22020-01-31 10:00:00+00' AS TIMESTAMPTZ)", FORMS),
        ("TO_YEARS(300000)", FORMS),  # as microseconds beyond 64 bits
        ("CAST('24:00:00' AS TIME)", ("arrow", "pl")),
        ("CAST('100000000000000000000000000000000000000' AS HUGEINT)", ("arrow", "pl")),
    ],
)
def test_values_beyond_a_frame_stay_to_be_fetched(cursor: dpsql.Cursor, expression: str, forms: tuple[str]) -> None:
    sql = f"SELECT {expression} AS v"
    rows = cursor.execute(sql).fetchall()
    for form in forms:
        with pytest.raises(dpsql.DataError, match="a value of the column v is beyond") as caught:
            getattr(cursor.execute(sql), form)()
        assert caught.value.__cause__ is None and caught.value.hint is not None
        assert cursor.fetchall() == rows


def test_moments_of_any_zone_are_in_utc() -> None:
    moment = dt.datetime(2020, 1, 31, 10, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
    columns = (ResultColumn("v", "TIMESTAMP WITH TIME ZONE"),)
    result = Result(columns, Values([(moment,)]), Privacy("a", Fraction(1), Fraction(0), None))
    assert frames.numpy_arrays(result, 0, frames.Added())["v"][0] == np.datetime64("2020-01-31T15:00:00")
    assert frames.arrow_table(result, 0, frames.Added()).to_pydict() == {"v": [moment]}
    assert frames.pandas_frame(result, 0, frames.Added())["v"][0] == moment


def test_years_beyond_9999(cursor: dpsql.Cursor) -> None:
    sql = "SELECT CAST('22020-01-31 10:00:00.5' AS TIMESTAMP) AS t, CAST('22020-01-31' AS DATE) AS d"
    assert isinstance(cursor.execute(sql).fetchall()[0][0], str)
    arrays = cursor.execute(sql).fetchnumpy()
    assert arrays["t"][0] == np.datetime64("22020-01-31T10:00:00.500000") and arrays["d"][0] == np.datetime64(
        "22020-01-31"
    )
    assert str(cursor.execute(sql).df()["t"][0]) == "22020-01-31 10:00:00.500000"
    assert cursor.execute(sql).arrow().column("d").cast(pa.int32())[0].as_py() == int(arrays["d"][0].astype(int))


# ---------------------------------------------------------------------------------------------- both ways to rows


@pytest.mark.parametrize("key", ["age", "grown", "name", "ill", "born", "seen", "FLOOR(size)", "pay"])
@pytest.mark.parametrize("form", FORMS)
def test_columns_and_rows_give_the_same(cursor: dpsql.Cursor, key: str, form: str) -> None:
    """A query that lists a release comes as columns, the same with ORDER BY from the engine as rows."""
    sql = f"SELECT {key} AS k, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY {key}"
    rows = cursor.execute(f"{sql} ORDER BY k NULLS LAST").fetchall()
    assert cursor.execute(sql).fetchall() == rows
    one = getattr(cursor.execute(f"{sql} ORDER BY k NULLS LAST"), form)(half_widths=True)
    other = getattr(cursor.execute(sql), form)(half_widths=True)
    match form:
        case "fetchnumpy":
            assert list(one) == list(other)
            for name in one:
                assert one[name].dtype == other[name].dtype and one[name].tolist() == other[name].tolist()
        case "df":
            pd.testing.assert_frame_equal(one, other)
        case "pl":
            assert one.schema == other.schema and one.equals(other)
        case "arrow":
            assert one.equals(other)


@pytest.mark.parametrize("form", FORMS)
def test_frames_take_the_rows_that_are_left(cursor: dpsql.Cursor, form: str) -> None:
    for sql in (COUNT, f"{COUNT} ORDER BY age"):
        cursor.execute(sql)
        assert cursor.fetchmany(2) == [(0, 0), (1, 1)]
        assert _values(cursor, form) == {"age": [2, 3, 4], "n": [0, 1, 0]}
        assert cursor.fetchall() == [] and (cursor.rowcount, cursor.rownumber) == (5, 5)
        assert _values(cursor, form) == {"age": [], "n": []}


def test_arrays_are_the_callers_own(cursor: dpsql.Cursor) -> None:
    cursor.execute(COUNT)
    html = cursor._repr_html_()
    arrays = cursor.fetchnumpy()
    arrays["n"][:] = 77
    assert cursor._repr_html_() == html


@pytest.mark.parametrize("form", [*FORMS, "__arrow_c_stream__"])
def test_frames_before_execute_and_after_close(connection: dpsql.Connection, form: str) -> None:
    cursor = connection.cursor()
    with pytest.raises(dpsql.InterfaceError, match="nothing was executed"):
        getattr(cursor, form)()
    cursor.execute("SELECT 1")
    cursor.close()
    with pytest.raises(dpsql.InterfaceError, match="closed"):
        getattr(cursor, form)()


@pytest.mark.parametrize("form", FORMS)
def test_frames_are_free(cursor: dpsql.Cursor, form: str) -> None:
    cursor.execute(COUNT)
    before = cursor.connection.session.ledger.totals().count
    getattr(cursor, form)()
    cursor._repr_html_()
    assert cursor.connection.session.ledger.totals().count == before


# ---------------------------------------------------------------------------------------------- names


def test_names_that_occur_twice(cursor: dpsql.Cursor) -> None:
    sql = "SELECT COUNT(*) AS n, SUM(age) AS n FROM people"
    for form in ("fetchnumpy", "pl"):
        with pytest.raises(dpsql.InterfaceError, match="two columns have the name n") as caught:
            getattr(cursor.execute(sql), form)()
        assert caught.value.hint is not None and " AS n" in caught.value.hint
        assert cursor.fetchall() == [(2, 4)]
    frame = cursor.execute(sql).df()
    assert frame.columns.tolist() == ["n", "n"] and frame.values.tolist() == [[2, 4]]
    table = cursor.execute(sql).arrow()
    assert table.column_names == ["n", "n"] and [c.to_pylist() for c in table.columns] == [[2], [4]]
    assert pa.table(cursor.execute(sql)).column_names == ["n", "n"]
    half_widths = cursor.execute(sql, epsilon=2).df().attrs["privacy"]["half_widths"]
    assert cursor.privacy is not None and len(set(cursor.privacy.half_widths)) == 2 and half_widths == {}
    same = cursor.execute("SELECT COUNT(*), COUNT(*) FROM people").df()
    assert list(same.attrs["privacy"]["half_widths"]) == ["count"]


def test_names_that_half_widths_take(cursor: dpsql.Cursor) -> None:
    sql = "SELECT COUNT(*) AS n, 1 AS n_half_width FROM people"
    with pytest.raises(dpsql.InterfaceError, match="n_half_width"):
        cursor.execute(sql).fetchnumpy(half_widths=True)
    assert list(cursor.fetchnumpy()) == ["n", "n_half_width"]


def test_odd_names(cursor: dpsql.Cursor) -> None:
    names = ["A", "a", "", "ü |", "x" * 200]
    sql = "SELECT " + ", ".join(f'{i} AS "{name}"' for i, name in enumerate(names) if name)
    for form in FORMS:
        assert list(_values(cursor.execute(sql), form)) == [name for name in names if name]


# ---------------------------------------------------------------------------------------------- privacy


@pytest.mark.parametrize("form", FORMS)
def test_half_widths(cursor: dpsql.Cursor, form: str) -> None:
    cursor.execute(MEAN, epsilon=2)
    assert cursor.privacy is not None
    _, count, means = cursor.privacy.half_widths
    assert isinstance(means, tuple) and len(means) == 3
    cursor.fetchone()
    found = _values(cursor, form, half_widths=True)
    assert list(found) == ["grown", "n", "n_half_width", "mean", "mean_half_width"]
    assert found["n_half_width"] == [count, count] and found["mean_half_width"] == list(means[1:])
    assert list(_values(cursor.execute(MEAN), form)) == ["grown", "n", "mean"]
    assert list(_values(cursor.execute("SELECT 1 AS one"), form, half_widths=True)) == ["one"]
    empty = _values(cursor.execute(f"{MEAN} LIMIT 0"), form, half_widths=True)
    assert empty == {name: [] for name in found}


@pytest.mark.parametrize("form", FORMS)
def test_intervals(cursor: dpsql.Cursor, form: str) -> None:
    cursor.execute(MEAN, epsilon=2)
    assert cursor.privacy is not None
    nothing, counts, means = cursor.privacy.intervals
    assert nothing is None and counts is not None and means is not None
    cursor.fetchone()
    found = _values(cursor, form, intervals=True)
    assert list(found) == ["grown", "n", "n_low", "n_high", "mean", "mean_low", "mean_high"]
    assert list(zip(found["n_low"], found["n_high"], strict=True)) == list(counts[1:])
    assert list(zip(found["mean_low"], found["mean_high"], strict=True)) == list(means[1:])
    assert all(isinstance(low, int) for low in found["n_low"])
    both = _values(cursor.execute(MEAN), form, half_widths=True, intervals=True)
    assert list(both)[1:5] == ["n", "n_half_width", "n_low", "n_high"]


def test_privacy_of_pandas_frames(cursor: dpsql.Cursor, tmp_path: Path) -> None:
    cursor.execute(MEAN, epsilon="0.5")
    privacy = cursor.privacy
    assert privacy is not None and privacy.epsilon_left is not None
    frame = cursor.df(half_widths=True)
    facts = frame.attrs["privacy"]
    assert facts == {
        "analyst": "alice",
        "epsilon_charged": 0.5,
        "delta_charged": 0,
        "epsilon_left": float(privacy.epsilon_left),
        "level": 0.95,
        "stored": None,
        "half_widths": {"n": privacy.half_widths[1]},
    }
    assert json.loads(json.dumps(facts)) == facts
    assert frame.copy().attrs == frame[frame["n"] > 0].attrs == frame["n"].attrs == {"privacy": facts}
    assert pd.concat([frame, frame]).attrs == {"privacy": facts}
    assert pd.concat([frame, cursor.execute(MEAN).df()]).attrs == {}
    frame.to_parquet(tmp_path / "frame.parquet")
    assert pd.read_parquet(tmp_path / "frame.parquet").attrs == {"privacy": facts}


def test_privacy_of_arrow_tables(cursor: dpsql.Cursor, tmp_path: Path) -> None:
    facts = cursor.execute(MEAN, epsilon="0.5").df().attrs["privacy"]
    for table in (cursor.execute(MEAN, epsilon="0.5").arrow(), pa.table(cursor.execute(MEAN, epsilon="0.5"))):
        facts["epsilon_left"] -= 0.5
        assert json.loads(table.schema.metadata[b"dpsql.privacy"]) == facts
        pyarrow.parquet.write_table(table, tmp_path / "table.parquet")
        assert pyarrow.parquet.read_table(tmp_path / "table.parquet").equals(table, check_metadata=True)


def test_privacy_of_public_answers_without_a_limit() -> None:
    result = Result((ResultColumn("v", "INTEGER"),), Values([(1,)]), Privacy("é", Fraction(1), Fraction(0), None))
    facts = frames.privacy_facts(result)
    assert facts == {
        "analyst": "é",
        "epsilon_charged": 0,
        "delta_charged": 0,
        "epsilon_left": None,
        "level": 0.95,
        "stored": None,
        "half_widths": {},
    }
    assert json.loads(frames.arrow_table(result, 0, frames.Added()).schema.metadata[frames.METADATA]) == facts


# ---------------------------------------------------------------------------------------------- readers of streams


def test_readers_of_arrow_streams(cursor: dpsql.Cursor) -> None:
    cursor.execute(COUNT)
    cursor.fetchone()
    left = {"age": [1, 2, 3, 4], "n": [1, 0, 1, 0]}
    assert pa.table(cursor).to_pydict() == left
    assert pa.RecordBatchReader.from_stream(cursor).read_all().to_pydict() == left
    assert pl.DataFrame(cursor).to_dict(as_series=False) == left
    assert pd.DataFrame.from_arrow(cursor).to_dict("list") == left
    assert duckdb.sql("SELECT COUNT(*), SUM(n) FROM cursor").fetchall() == [(4, 2)]
    assert duckdb.sql("SELECT COUNT(*) FROM cursor AS a JOIN cursor AS b USING (age)").fetchall() == [(4,)]
    assert duckdb.from_arrow(cursor).fetchall() == [(1, 1), (2, 0), (3, 1), (4, 0)]
    assert cursor.fetchall() == [(1, 1), (2, 0), (3, 1), (4, 0)]
    assert pa.table(cursor).num_rows == 0


def test_a_stream_of_another_schema(cursor: dpsql.Cursor) -> None:
    cursor.execute(COUNT)
    wanted = pa.schema([("age", pa.int32()), ("n", pa.float64())])
    assert pa.table(cursor, schema=wanted).schema.types == [pa.int32(), pa.float64()]


# ---------------------------------------------------------------------------------------------- missing packages


@pytest.mark.parametrize(
    ("missing", "form", "extra"),
    [
        ("pandas", "df", "pandas"),
        ("polars", "pl", "polars"),
        ("pyarrow", "pl", "polars"),
        ("pyarrow", "arrow", "arrow"),
        ("pyarrow", "__arrow_c_stream__", "arrow"),
    ],
)
def test_a_package_is_missing(
    cursor: dpsql.Cursor, monkeypatch: pytest.MonkeyPatch, missing: str, form: str, extra: str
) -> None:
    cursor.execute(COUNT)
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, missing, None)
        with pytest.raises(dpsql.InterfaceError, match=f"the package {missing}") as caught:
            getattr(cursor, form)()
    assert caught.value.hint == f"pip install 'dpsql[{extra}]'"
    assert len(cursor.fetchall()) == 5


def test_numpy_and_html_need_no_package(cursor: dpsql.Cursor, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    cursor.execute(COUNT)
    assert cursor._repr_html_() is not None
    assert cursor.fetchnumpy()["n"].tolist() == list(NUMBERS)


def test_packages_are_imported_when_needed() -> None:
    code = "import sys, dpsql; print([p for p in ('pandas', 'polars', 'pyarrow') if p in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---------------------------------------------------------------------------------------------- notebooks


def test_repr(connection: dpsql.Connection) -> None:
    cursor = connection.cursor()
    assert repr(cursor) == "<dpsql.Cursor, nothing executed>" and cursor._repr_html_() is None
    cursor.execute(COUNT, epsilon=1000)
    assert repr(cursor).startswith("<dpsql.Cursor, 5 rows, charged ε 1000, ")
    with pytest.raises(dpsql.NotReleasable):
        cursor.execute("SELECT age FROM people")
    assert repr(cursor) == "<dpsql.Cursor, nothing executed>" and cursor._repr_html_() is None
    cursor.close()
    assert repr(cursor) == "<dpsql.Cursor, closed>" and cursor._repr_html_() is None


def _cells(html: str) -> list[list[tuple[str, str]]]:
    """The alignment and the text of each cell, by rows."""
    cell = re.compile(r'<t[hd] style="text-align: (left|right)[^>]*>(.*?)</t[hd]>', re.DOTALL)
    return [cell.findall(row) for row in html.split("<tr>")[1:]]


def test_html(cursor: dpsql.Cursor) -> None:
    html = cursor.execute(MEAN, epsilon=2)._repr_html_()
    assert html is not None and cursor.privacy is not None
    rows = _cells(html)
    assert [text for _, text in rows[0]] == ["grown", "n", "mean"]
    assert [row[0] for row in rows[1:]] == [("right", "0"), ("right", "1"), ("right", "NULL")]
    for row in rows[1:]:
        assert all(align == "right" and re.fullmatch(r"[\d.,]+ ± +[\d.,]+", text) for align, text in row[1:])
    assert f"<p>{cursor.privacy}; each exact number lies within its ± in 95 % of all answers</p>" in html
    assert len(cursor.fetchall()) == 3
    assert cursor._repr_html_() == html
    names = _cells(cursor.execute("SELECT name, COUNT(*) FROM people GROUP BY name")._repr_html_() or "")
    assert [row[0] for row in names] == [("left", "name"), ("left", "Ann"), ("left", "NULL")]


def test_html_of_noisy_numbers() -> None:
    columns = (
        ResultColumn("n", "BIGINT", 2.4),
        ResultColumn("s", "DOUBLE", 343.0),
        ResultColumn("m", "DOUBLE", None, intervals((12.34567, 5.0), (0.0344, float("inf")))),
        ResultColumn("z", "DOUBLE", 0.0),
    )
    rows = [(1250, 47983308.4, 12.34567, 2.0), (None, -0.4, 5.0, None)]
    result = Result(columns, Values(rows), Privacy("a", Fraction(1), Fraction(1), None))
    assert [[text for _, text in row] for row in _cells(notebook.html(result, ""))[1:]] == [
        ["1,250 ± 3", "47,983,308 ± 343", "12.346 ± 0.035", "2 ± 0"],
        ["NULL", "0 ± 343", "5", "NULL"],
    ]


def test_html_says_what_is_known_of_ranks(cursor: dpsql.Cursor) -> None:
    html = cursor.execute("SELECT MEDIAN(age) AS m FROM people")._repr_html_() or ""
    (rank,) = cursor.privacy.ranks if cursor.privacy is not None else ()
    assert rank is not None and html.endswith(f"; m: {rank.text(0.95)}</p>\n")


def test_frames_say_what_is_known_of_ranks(cursor: dpsql.Cursor) -> None:
    """In the words that stand below a table, and as numbers; not of names that several columns share."""
    facts = cursor.execute("SELECT MAX(age) AS m, MIN(age) AS m, MEDIAN(age) AS q, COUNT(*) AS n FROM people").df()
    assert cursor.privacy is not None
    last, _, median, none = cursor.privacy.ranks
    assert last is not None and median is not None and none is None
    ranks = facts.attrs["privacy"]["ranks"]
    assert ranks["m"]["text"] == last.text(0.95) and ranks["m"]["beyond"] == last.beyond
    assert ranks == {"m": last.facts(0.95), "q": median.facts(0.95)} and json.dumps(ranks)
    cursor.execute("SELECT MAX(age) AS m, MEDIAN(age) AS m FROM people")
    assert cursor.df().attrs["privacy"].get("ranks") is None
    assert "ranks" not in cursor.execute("SELECT COUNT(*) FROM people").df().attrs["privacy"]


def test_errors_that_are_not_known_are_null() -> None:
    column = ResultColumn("r", "DOUBLE", None, intervals((1.0, -math.inf), (0.5, math.nan)))
    result = Result((column,), Values([(1.0,), (-math.inf,)]), Privacy("a", Fraction(1), Fraction(1), None))
    added = frames.Added(half_widths=True, intervals=True)
    table = frames.arrow_table(result, 0, added)
    assert [table.column(f"r_{what}").to_pylist() for what in ("half_width", "low", "high")] == [
        [0.5, None], [0.5, None], [1.25, None]
    ]  # fmt: skip
    assert frames.polars_frame(result, 0, added)["r_low"].null_count() == 1
    assert frames.pandas_frame(result, 0, added)["r_low"].isna().tolist() == [False, True]


def test_html_of_values_without_noise(cursor: dpsql.Cursor) -> None:
    sql = """SELECT true, 1.50, 1e300, 1234.56789e0, CAST('NaN' AS DOUBLE), DATE '2020-01-31', 12345, 1e-12, 0.1e0 * 3,
        TO_DAYS(2), 0e0"""
    [_, row] = _cells(cursor.execute(sql)._repr_html_() or "")
    assert [text for _, text in row] == [
        "true", "1.50", "1e+300", "1234.57", "NaN", "2020-01-31", "12345", "1e-12", "0.3", "2 days, 0:00:00", "0",
    ]  # fmt: skip
    assert [align == "right" for align, _ in row] == [
        False,
        True,
        True,
        True,
        True,
        False,
        True,
        True,
        True,
        False,
        True,
    ]
    assert "±" not in (cursor._repr_html_() or "")


def test_html_is_escaped_and_cut(cursor: dpsql.Cursor) -> None:
    evil = '<script>alert("x")</script>\'&'
    html = cursor.execute(f"""SELECT ? AS "{evil.replace('"', '""')}", ? AS long""", (evil, "y" * 5000))._repr_html_()
    assert html is not None and "<script" not in html and "&lt;script&gt;" in html
    assert html.count("&#x27;&amp;") == 2
    assert "y" * 999 + "…" in html and "y" * 1000 not in html


def test_html_of_many_rows_and_of_none(cursor: dpsql.Cursor) -> None:
    values = ", ".join(f"({i})" for i in range(1234))
    html = cursor.execute(f"SELECT x FROM (VALUES {values}) AS t(x)")._repr_html_()
    assert html is not None and len(_cells(html)) == notebook.SHOWN + 1
    assert "<p>the first 50 of 1,234 rows; " in html
    assert len(cursor.fetchall()) == 1234
    empty = cursor.execute(f"{COUNT} HAVING COUNT(*) > 100")._repr_html_()
    assert empty is not None and len(_cells(empty)) == 1 and "first" not in empty
