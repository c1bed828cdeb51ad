"""The DuckDB engine: real files, exact sums, nothing private in any error or log."""

from __future__ import annotations

import datetime as dt
import logging
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.engines import open_engine
from dpsql.engines.duckdb import DuckDBEngine
from dpsql.engines.duckdb_sources import data
from dpsql.engines.exact_rows import ExactRows, KeyColumn, join_limbs, key_column
from dpsql.errors import EngineError, InterfaceError, InternalError, PolicyError
from dpsql.policy import Budget, Column, ColumnType, ForeignKey, Kind, Policy, PrivacySettings, Source, Table, Unit
from dpsql.session import resolved_policy
from tests.processes import held_for_writing

CANARY = "K4N4RY"
LOW = 2**63 - 1

Make = Callable[..., DuckDBEngine]


def column(name: str, kind: Kind, line: int = 7, **more: int) -> Column:
    return Column(name=name, type=ColumnType(kind, **more), line=line)


def table(name: str, kind: str, location: Path | str, *columns: Column, public: bool = False) -> Table:
    source = Source(kind, str(location))  # type: ignore[arg-type]
    return Table(name, source, None if public else "row", {c.name.lower(): c for c in columns}, line=5)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    engines: list[DuckDBEngine] = []

    def build(*tables: Table, engine: str = "duckdb") -> DuckDBEngine:
        policy = Policy(
            path=tmp_path / "policy.yaml",
            engine=engine,
            dialect="duckdb",
            privacy=PrivacySettings(),
            budget=Budget(),
            ledger=tmp_path / "x.ledger",
            tables={t.name.lower(): t for t in tables},
        )
        opened = open_engine(policy)
        assert isinstance(opened, DuckDBEngine)
        engines.append(opened)
        return opened

    yield build
    for engine in engines:
        engine.close()


def limbs(sum_: str) -> str:
    return f"CAST(({sum_}) >> 63 AS BIGINT), CAST(({sum_}) & {LOW} AS BIGINT)"


def count(engine: DuckDBEngine, table_: Table, where: str = "TRUE") -> int:
    with engine.transaction() as tx:
        relation = engine.relation(table_).sql("duckdb")
        return int(tx.fetch(f"SELECT {limbs('COUNT(*)')} FROM {relation} WHERE {where}", 0, 1).sums[0][0])


def values(engine: DuckDBEngine, table_: Table, name: str) -> list[object]:
    """A private column's values, which product code never sees: by the engine's own connection."""
    with engine.transaction():
        relation = engine.relation(table_).sql("duckdb")
        return [row[0] for row in engine._data.connection.execute(f'SELECT "{name}" FROM {relation}').fetchall()]


def write_database(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


def run(path: Path, sql: str) -> int:
    """Run one statement in another process, read-write; its exit code."""
    code = "import sys, duckdb; duckdb.connect(sys.argv[1]).execute(sys.argv[2])"
    return subprocess.run([sys.executable, "-c", code, str(path), sql], capture_output=True).returncode


# -- exact rows


def test_floats_are_refused() -> None:
    with pytest.raises(InternalError):
        ExactRows(keys=(), sums=(np.array([1.0, 2.0]),))
    with pytest.raises(InternalError):
        ExactRows(keys=(), sums=(np.array([1, 2.0], dtype=object),))
    with pytest.raises(InternalError):
        ExactRows(keys=(), sums=(np.array([True, False]),))
    with pytest.raises(InternalError):
        join_limbs(np.array([0.0]), np.array([1]))
    with pytest.raises(InternalError):
        key_column(np.array([0.5]))
    with pytest.raises(InternalError):
        ExactRows(keys=(), sums=(np.array([1]), np.array([1, 2])))


def test_null_limbs_are_refused() -> None:
    with pytest.raises(InternalError):
        join_limbs(np.ma.array([0], mask=[True]), np.array([1]))


def test_repr_shows_the_shape_only() -> None:
    rows = ExactRows(keys=(KeyColumn(np.array([CANARY], dtype=object)),), sums=(np.array([987654321]),))
    assert repr(rows) == "ExactRows(1 rows, 1 keys, 1 sums)"
    assert CANARY not in repr(rows) + repr(rows.keys) + str(rows.keys)


@pytest.mark.parametrize("s", [0, 1, LOW, 2**63, 2**64 + 1, 2**100 + 1, 2**125 + 12345, -1, -(2**80)])
def test_limbs_join_exactly(s: int) -> None:
    joined = join_limbs(np.array([s >> 63, 0]), np.array([s & LOW, 5]))
    assert joined.tolist() == [s, 5]
    assert (joined.dtype == np.int64) == (0 <= s <= LOW)


def test_sums_are_exact_beyond_float_and_beyond_64_bits(make: Make, tmp_path: Path) -> None:
    big = 2**62 + 1
    write_database(
        tmp_path / "d.duckdb",
        "CREATE TABLE t AS SELECT 'a' AS k, 1152921504606846977 AS x",  # 2^60 + 1
        f"INSERT INTO t SELECT 'b', {big} FROM range(9)",
    )
    t = table("t", "table", "t", column("k", Kind.TEXT), column("x", Kind.INTEGER))
    engine = make(t, engine="duckdb:///d.duckdb")
    relation = engine.relation(t).sql("duckdb")
    assert relation == '"source"."main"."t"'
    with engine.transaction() as tx:
        rows = tx.fetch(f"SELECT k, {limbs('SUM(x)')}, {limbs('COUNT(*)')} FROM {relation} GROUP BY k", 1, 2)
    found = dict(zip(rows.keys[0].tolist(), zip(*(s.tolist() for s in rows.sums), strict=True), strict=True))
    assert found == {"a": (2**60 + 1, 1), "b": (9 * big, 9)}
    with engine.transaction() as tx, pytest.raises(InternalError):
        tx.fetch(f"SELECT SUM(x), COUNT(*) FROM {relation}", 0, 1)  # HUGEINT arrives as float64
    with engine.transaction() as tx, pytest.raises(InternalError):
        tx.fetch(f"SELECT COUNT(*) FROM {relation}", 0, 1)


# -- CSV

TYPED = (
    column("i", Kind.INTEGER),
    column("d", Kind.DOUBLE),
    column("n", Kind.DECIMAL, precision=9, scale=2),
    column("b", Kind.BOOLEAN),
    column("s", Kind.TEXT),
    column("day", Kind.DATE),
    column("at", Kind.TIMESTAMP),
)


def test_cells_become_declared_types(make: Make, tmp_path: Path) -> None:
    rows = [
        '12,1.5,12.50,1," a,""b""\nc",2020-02-29,2020-01-01 10:00:00',
        " 12 , -1e3 ,+1,T,,2020-01-01,2020-01-01T10:00Z",
        "12.7,nan,0.001,yes,x,2020-13-01,2020-01-01 25:00",
        "1e3,inf,1.1000,False,x,infinity,infinity",
        "9223372036854775808,1e400,12345678.00,0,x,2020-1-1,2020-01-01",
        "0x1F,1_0,,,x,,",
        "short,row",
        "1,2,3,4,5,6,7,8",
    ]
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(["I,d,N,b,S,day,at", *rows, ""]).encode())
    t = table("T", "csv", path, *TYPED)
    engine = make(t)
    assert values(engine, t, "i") == [12, 12, None, None, None, None]
    assert values(engine, t, "d") == [1.5, -1000.0, None, None, None, None]
    assert values(engine, t, "n") == [Decimal("12.50"), Decimal(1), None, Decimal("1.10"), None, None]
    assert values(engine, t, "b") == [True, True, None, False, False, None]
    assert values(engine, t, "s") == [' a,"b"\nc', None, "x", "x", "x", "x"]
    assert values(engine, t, "day") == [dt.date(2020, 2, 29), dt.date(2020, 1, 1), None, None, None, None]
    ten = dt.datetime(2020, 1, 1, 10)
    assert values(engine, t, "at") == [ten, ten, None, None, dt.datetime(2020, 1, 1), None]
    (report,) = engine.report()
    assert (report.table, report.rows, report.unreadable) == ("T", 6, 2)
    assert report.misfits == {"i": 4, "d": 4, "n": 2, "b": 1, "day": 3, "at": 2}
    assert engine.physical_types(t)["i"] == "BIGINT"


def test_bounded_integers_are_narrow(make: Make, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n5,5\n5000000000,5000000000\n-5000000000,\nx,1\n")
    bounds = Fraction(0), Fraction(2**30)
    columns = (
        Column("a", ColumnType(Kind.INTEGER), bounds=bounds),
        Column("b", ColumnType(Kind.INTEGER), keys=(1, 2**31, None)),
    )
    t = table("t", "csv", tmp_path / "t.csv", *columns)
    engine = make(t)
    assert dict(engine.physical_types(t)) == {"a": "INTEGER", "b": "BIGINT"}
    assert values(engine, t, "a") == [5, 2**31 - 1, -(2**31), None]
    assert values(engine, t, "b") == [5, 5 * 10**9, None, 1]
    assert engine.report()[0].misfits == {"a": 3}


def test_only_declared_columns_exist(make: Make, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tsecret\n1\t2\n")
    t = table("t", "csv", tmp_path / "t.tsv", column("A", Kind.INTEGER))
    engine = make(t)
    with engine.transaction() as tx, pytest.raises(EngineError):
        tx.fetch("SELECT secret FROM memory.main.t", 1, 0)
    assert count(engine, t) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("b\n1\n", "has no column a"),
        ("", "has no column a"),
        ("a,A\n1,2\n", "2 columns named a"),
        (None, "does not exist"),
    ],
)
def test_a_csv_that_does_not_fit_the_policy(make: Make, tmp_path: Path, text: str | None, found: str) -> None:
    path = tmp_path / "t.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(PolicyError) as caught:
        make(table("t", "csv", path, column("a", Kind.INTEGER, line=9)))
    assert found in caught.value.message
    assert f"policy.yaml:{5 if text is None else 9}" in caught.value.message
    assert caught.value.hint
    assert caught.value.__context__ is None or CANARY not in str(caught.value.__context__)


def test_rows_that_are_no_text_do_not_hide_the_header(make: Make, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,s\n1,x\n2,\xff\n3,z\n")
    t = table("t", "csv", tmp_path / "t.csv", column("a", Kind.INTEGER), column("s", Kind.TEXT))
    assert values(make(t), t, "a") == [1, 3]


def test_csv_globs_are_one_table(make: Make, tmp_path: Path) -> None:
    (tmp_path / "part1.csv").write_text("a,b,more\n1,x,9\nbad,y,9\n")
    (tmp_path / "part2.csv").write_text("B,A\nz,3\nshort\n")
    t = table("t", "csv", tmp_path / "part*.csv", column("a", Kind.INTEGER), column("b", Kind.TEXT))
    (tmp_path / "open1.csv").write_text("a,b\n1,x\n")
    (tmp_path / "open2.csv").write_text("B,A,more\ny,1.5,9\n")
    public = table("p", "csv", tmp_path / "open?.csv", public=True)
    engine = make(t, public)
    assert values(engine, t, "a") == [1, None, 3] and values(engine, t, "b") == ["x", "y", "z"]
    (report,) = engine.report()
    assert (report.rows, report.unreadable, report.misfits) == (3, 1, {"a": 1})
    assert engine.public_table(public).columns == (("a", "DOUBLE"), ("b", "VARCHAR"), ("more", "BIGINT"))
    (tmp_path / "part3.csv").write_text("a,b\n4,x\n")
    assert count(engine, t) == 4
    (tmp_path / "part4.csv").write_text("a\n4\n")
    with pytest.raises(PolicyError, match=r"part4\.csv has no column b"):
        make(t)
    with pytest.raises(PolicyError, match="no file matches"):
        make(table("t", "csv", tmp_path / "none*.csv", column("a", Kind.INTEGER)))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", [1]),
        ("**/*", [1, 2, 3]),
        ("*/**/*", [2, 3]),
        ("[a-c]", [1]),
        ("?", [1]),
        ("**/.*", [4]),
        ("x/../*", [1]),
    ],
)
def test_what_globs_match(make: Make, tmp_path: Path, kind: str, pattern: str, found: list[int]) -> None:
    """Hidden files and folders only where the dot is written; files of the other kind, and folders, never."""
    for number, name in enumerate(("a", "x/b", "x/y/c", ".d", ".hidden/e"), 1):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        duckdb.execute(f"COPY (SELECT {number}::BIGINT AS n) TO '{path}.{kind}'")
        path.with_name(f"{path.name}.{'csv' if kind == 'parquet' else 'parquet'}").write_text("other")
        path.with_name(f"{path.name}.{kind}.gz").write_text("other")
    (tmp_path / f"z.{kind}").mkdir()
    t = table("t", kind, tmp_path / f"{pattern}.{kind}", column("n", Kind.INTEGER))
    assert sorted(values(make(t), t, "n")) == found


def test_a_name_with_brackets_is_a_file(make: Make, tmp_path: Path) -> None:
    (tmp_path / "t[1].csv").write_text("a\n1\n")
    (tmp_path / "t1.csv").write_text("a\n2\n")
    t = table("t", "csv", tmp_path / "t[1].csv", column("a", Kind.INTEGER))
    assert values(make(t), t, "a") == [1]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"a,s\r\n1,x\n2,y\r\n3,z", ["x", "y", "z"]),
        (b"a,s\n1,x\r\n2,y\n3,z\r\n", ["x", "y", "z"]),
        (b"a,s\n1,x\r2,y\r\n3,z\r", ["x", "y", "z"]),
        (b'a,s\r\n1,"x\r\n""\ny"\n2,"\r"\r\n', ['x\r\n"\ny', "\r"]),
    ],
)
@pytest.mark.parametrize("chunk", [1, 2, 1 << 20])
def test_mixed_line_ends(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, found: list[str], chunk: int
) -> None:
    monkeypatch.setattr("dpsql.engines.duckdb_sources.line_ends._CHUNK", chunk)
    (tmp_path / "t.csv").write_bytes(data)
    t = table("t", "csv", tmp_path / "t.csv", column("a", Kind.INTEGER), column("s", Kind.TEXT))
    public = table("p", "csv", tmp_path / "t.csv", public=True)
    engine = make(t, public)
    assert values(engine, t, "s") == found
    assert engine.public_table(public).rows == len(found)
    assert engine.report()[0].unreadable == 0


@pytest.mark.parametrize(
    ("data", "found", "hint"),
    [
        (b"\xff\xfe,a\n", "is not UTF-8 text", "UTF-8"),
        (b'a,"b\n', "is not a CSV file", "commas"),
        (b"directory", "is not a regular file", "path of a file"),
        (b"locked", "is not readable for this user", "permission"),
    ],
)
def test_what_is_wrong_with_a_file(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, found: str, hint: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    if data == b"directory":
        path.unlink()
        path.mkdir()
    if data == b"locked":
        monkeypatch.setattr(os, "access", lambda *_: False)

        def header(_: Path) -> list[str]:
            raise PermissionError

        monkeypatch.setattr("dpsql.engines.declared.header", header)
    with pytest.raises(PolicyError, match=f"t.csv {found}") as caught:
        make(table("t", "csv", path, column("a", Kind.INTEGER)))
    assert hint in (caught.value.hint or "")


def test_the_report_of_every_kind_of_source(make: Make, tmp_path: Path) -> None:
    sql = (
        "SELECT * FROM (VALUES (5, 'x', 'nan'::DOUBLE, DATE '2020-05-01', 1.50::DECIMAL(4,2), TRUE), "
        "(-5, 'y', 200.0, DATE '2019-01-01', 2.25, NULL), (NULL, NULL, 1.0, NULL, NULL, NULL)) t(i, s, d, day, n, b)"
    )
    write_database(tmp_path / "x.duckdb", f"CREATE TABLE t AS {sql}", f"COPY ({sql}) TO '{tmp_path}/t.parquet'")
    duckdb.execute(f"COPY ({sql}) TO '{tmp_path}/t.csv'")
    columns = (
        Column("i", ColumnType(Kind.INTEGER), bounds=(Fraction(0), Fraction(9))),
        Column("s", ColumnType(Kind.TEXT), keys=("x", "it's", None)),
        Column("d", ColumnType(Kind.DOUBLE), bounds=(Fraction(0), Fraction(3, 2))),
        Column("day", ColumnType(Kind.DATE), bounds=(dt.date(2020, 1, 1), dt.date(2020, 12, 31))),
        Column("n", ColumnType(Kind.DECIMAL, 4, 2), keys=(Fraction(3, 2),)),
        Column("b", ColumnType(Kind.BOOLEAN)),
    )
    engine = make(
        table("a", "csv", tmp_path / "t.csv", *columns),
        table("b", "parquet", tmp_path / "t.parquet", *columns),
        table("c", "table", "t", *columns),
        engine="duckdb:///x.duckdb",
    )
    for report in engine.report():
        assert report.rows == 3
        assert report.nulls == {"i": 1, "s": 1, "d": 1, "day": 1, "n": 1, "b": 2}, report.table
        assert report.outside == {"i": 1, "s": 1, "d": 1, "day": 1, "n": 1}, report.table


def test_a_column_that_is_of_another_type(make: Make, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n1.5,,x\n2.5,,2020-01-01\n")
    t = table(
        "t", "csv", tmp_path / "t.csv", *(column("a", Kind.INTEGER), column("b", Kind.DATE), column("c", Kind.DATE))
    )
    engine = make(t)  # never an error at load
    (report,) = engine.report()
    assert report.unfit == {"a": (2, "double")}


def test_masked_and_wide_keys(make: Make, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("i,b,s\n1,t,x\n,,\n3,f,z\n")
    t = table("t", "csv", tmp_path / "t.csv", *(TYPED[i] for i in (0, 3, 4)))
    engine = make(t)
    with engine.transaction() as tx:
        rows = tx.fetch("SELECT i, b, s, CAST(i AS TINYINT) FROM memory.main.t ORDER BY i NULLS LAST", 4, 0)
    assert [key.tolist() for key in rows.keys] == [
        [1, 3, None],
        [True, False, None],
        ["x", "z", None],
        [1, 3, None],
    ]
    assert rows.keys[3].values.dtype == np.int64
    with engine.transaction() as tx:
        empty = tx.fetch("SELECT i, s, 0::BIGINT, 0::BIGINT FROM memory.main.t WHERE i < 0", 2, 1)
    assert len(empty) == 0
    assert empty.sums[0].dtype == np.int64


# -- Parquet


def write_parquet(path: Path, query: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def test_parquet_globs_are_scanned_in_place(make: Make, tmp_path: Path) -> None:
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        write_parquet(
            tmp_path / f"year={year}" / "p.parquet",
            f"SELECT range::INTEGER AS I, {year}.5::FLOAT AS d, now() AS at FROM range(3)",
        )
    columns = column("i", Kind.INTEGER), column("d", Kind.DOUBLE), column("at", Kind.TIMESTAMP)
    t = table("p", "parquet", tmp_path / "*" / "*.parquet", *columns)
    engine = make(t)
    assert count(engine, t) == 6
    assert dict(engine.physical_types(t)) == {"i": "INTEGER", "d": "FLOAT", "at": "TIMESTAMP"}
    (tmp_path / "year=2022").mkdir()
    write_parquet(tmp_path / "year=2022" / "p.parquet", "SELECT 1::INTEGER AS i, 1::FLOAT AS d, now() AS at")
    assert count(engine, t) == 7


@pytest.mark.parametrize(
    ("sql", "kind", "hint"),
    [
        ("'1' AS a", Kind.INTEGER, "write `type: text`"),
        ("1.5::DOUBLE AS a", Kind.INTEGER, "write `type: double`"),
        ("1.25::DECIMAL(9,3) AS a", Kind.DOUBLE, "write `type: decimal(9,3)`"),
        ("1::HUGEINT AS a", Kind.TEXT, "write `type: double`"),  # Parquet has no HUGEINT
        ("[1] AS a", Kind.INTEGER, "store the column"),
        ("1 AS b", Kind.INTEGER, "its columns are: b"),
    ],
)
def test_parquet_types_are_checked(make: Make, tmp_path: Path, sql: str, kind: Kind, hint: str) -> None:
    write_parquet(tmp_path / "p.parquet", f"SELECT {sql}")
    with pytest.raises(PolicyError) as caught:
        make(table("t", "parquet", tmp_path / "p.parquet", column("a", kind, line=9)))
    assert hint in str(caught.value)
    assert ":9: " in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [("TIMESTAMP", "TIMESTAMPTZ", False), ("TIMESTAMPTZ", "TIMESTAMP", False), ("TIMESTAMP_NS", "TIMESTAMP", False),
     ("TIMESTAMPTZ", "TIMESTAMP_NS", False), ("TIMESTAMP_NS", "TIMESTAMP_NS", True)],
)  # fmt: skip
def test_timestamps_of_several_types(make: Make, tmp_path: Path, first: str, second: str, fits: bool) -> None:
    """One type is converted to the other: a moment that this can't hold would make every query fail."""
    write_parquet(tmp_path / "1.parquet", f"SELECT '1970-01-01'::{first} AS a")
    write_parquet(tmp_path / "2.parquet", f"SELECT '1970-01-01'::{second} AS a")
    t = table("t", "parquet", tmp_path / "*.parquet", column("a", Kind.TIMESTAMP, line=9))
    if fits:
        assert count(make(t), t) == 2
        return
    with pytest.raises(PolicyError, match="in some files and") as caught:
        make(t)
    assert ":9: " in caught.value.message and caught.value.hint


@pytest.mark.parametrize("public", [False, True])
def test_a_parquet_file_with_the_name_of_a_pattern(make: Make, tmp_path: Path, public: bool) -> None:
    """DuckDB reads t1.parquet in its place."""
    write_parquet(tmp_path / "t[1].parquet", "SELECT 1 AS a")
    write_parquet(tmp_path / "t1.parquet", "SELECT 2 AS a")
    t = table("t", "parquet", tmp_path / "t[1].parquet", column("a", Kind.INTEGER), public=public)
    with pytest.raises(PolicyError, match=r"t\[1\]\.parquet has one of") as caught:
        make(t)
    assert caught.value.hint == "rename the Parquet file, or its folder"


def test_no_file_matches(make: Make, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no file matches"):
        make(table("t", "parquet", tmp_path / "*.parquet", column("a", Kind.INTEGER)))
    (tmp_path / "x.parquet").write_text(CANARY)
    with pytest.raises(PolicyError, match="is not a Parquet file") as caught:
        make(table("t", "parquet", tmp_path / "*.parquet", column("a", Kind.INTEGER)))
    assert CANARY not in str(caught.value)


# -- .duckdb files


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    statements = (
        "CREATE TABLE people AS SELECT range::INTEGER AS age, 'x' AS name FROM range(10)",
        "CREATE VIEW v AS FROM people",
        "COPY (SELECT 1 AS a) TO '{folder}/file.csv'; CREATE VIEW files AS FROM '{folder}/file.csv'",
        "ATTACH '{folder}/other.duckdb'; CREATE TABLE other.t AS SELECT 1 AS a; CREATE VIEW elsewhere AS FROM other.t",
        "CREATE TABLE odd(a INTEGER, g INTEGER GENERATED ALWAYS AS (a * 2), c VARCHAR COLLATE NOCASE)",
        "CREATE SCHEMA s; CREATE TABLE s.deep AS SELECT 1 AS a",
        "CREATE TABLE regions AS SELECT * FROM (VALUES ('b', 2.50), ('a', 1.25), (NULL, 3)) t(name, rate)",
    )
    write_database(path, *(statement.replace("{folder}", str(tmp_path)) for statement in statements))
    return path


PEOPLE = table("people", "table", "people", column("age", Kind.INTEGER))


@pytest.mark.parametrize(
    ("source", "name", "kind", "found"),
    [
        ("v", "age", Kind.INTEGER, "main.v of {folder}/clinic.duckdb is a view"),
        ("elsewhere", "a", Kind.INTEGER, "main.elsewhere of {folder}/clinic.duckdb is a view"),
        ("files", "a", Kind.INTEGER, "main.files of {folder}/clinic.duckdb is a view"),
        ("nothing", "age", Kind.INTEGER, "has no table main.nothing"),
        ("deep", "a", Kind.INTEGER, "has no table main.deep"),
        ("s.people", "age", Kind.INTEGER, "has no table s.people"),
        ("odd", "g", Kind.INTEGER, "GENERATED INTEGER"),
        ("odd", "c", Kind.TEXT, "has a collation"),
        ("people", "name", Kind.INTEGER, "the data have VARCHAR"),
        ("people", "nobody", Kind.INTEGER, "has no column nobody"),
    ],
)
def test_only_base_tables(make: Make, clinic: Path, source: str, name: str, kind: Kind, found: str) -> None:
    with pytest.raises(PolicyError) as caught:
        make(table("t", "table", source, column(name, kind)), engine=f"duckdb:///{clinic.name}")
    assert found.format(folder=clinic.parent) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("v", "declare the table that it reads, or make it a table: CREATE TABLE main.v_table AS FROM main.v"),
        ("deep", "did you mean s.deep?"),
        ("s.people", "did you mean main.people?"),
        ("peopel", "did you mean main.people?"),
        ("nothing", "write the name of a table of the file"),
    ],
)
def test_what_to_write_in_the_place_of_no_table(make: Make, clinic: Path, source: str, hint: str) -> None:
    with pytest.raises(PolicyError) as caught:
        make(table("t", "table", source, column("a", Kind.INTEGER)), engine=f"duckdb:///{clinic.name}")
    assert caught.value.hint == hint


def test_names_in_quotes(make: Make, clinic: Path) -> None:
    write_database(clinic, 'CREATE SCHEMA "a.b"; CREATE TABLE "a.b"."c ""d" AS SELECT range AS a FROM range(3)')
    odd = table("t", "table", '"a.b"."c ""d"', column("a", Kind.INTEGER))
    assert count(make(odd, engine="duckdb:///clinic.duckdb"), odd) == 3


def test_engine_urls(make: Make, clinic: Path, tmp_path: Path) -> None:
    assert count(make(PEOPLE, engine=f"duckdb:///{clinic}"), PEOPLE) == 10
    deep = table("d", "table", "s.deep", column("a", Kind.INTEGER))
    assert count(make(deep, engine="duckdb:///clinic.duckdb"), deep) == 1
    for url in ("duckdb:clinic.duckdb", "oracle", "duckdb:///none.duckdb", "declared", "../x:"):
        with pytest.raises(PolicyError):
            make(PEOPLE, engine=url)
    with pytest.raises(PolicyError, match="engine in memory has no table"):
        make(PEOPLE)


@pytest.mark.slow
def test_an_idle_file_can_be_written_and_the_change_is_seen(make: Make, clinic: Path) -> None:
    engine = make(PEOPLE, engine="duckdb:///clinic.duckdb")
    assert count(engine, PEOPLE) == 10
    before = engine.version
    with engine.transaction():
        assert run(clinic, "SELECT 1") != 0
        time.sleep(1.2)
        assert run(clinic, "SELECT 1") != 0  # not idle, however long it takes
    time.sleep(1.3)
    assert run(clinic, "INSERT INTO people VALUES (99, 'y')") == 0
    assert engine.version != before
    assert count(engine, PEOPLE) == 11
    with engine.transaction() as tx:
        assert tx.version == engine.version


@pytest.mark.slow
def test_a_writer_is_waited_for_then_refused(make: Make, clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make(PEOPLE, engine="duckdb:///clinic.duckdb")
    time.sleep(1.3)
    with held_for_writing(clinic, 0.5):
        assert count(engine, PEOPLE) == 10  # waited
    time.sleep(1.3)
    monkeypatch.setattr("dpsql.engines.duckdb.BUSY_SECONDS", 0.3)
    with held_for_writing(clinic, 30), pytest.raises(EngineError, match="is being written"):
        count(engine, PEOPLE)
    assert count(engine, PEOPLE) == 10


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE people ALTER age TYPE BIGINT",
        "ALTER TABLE people ALTER age TYPE VARCHAR",
        "ALTER TABLE people RENAME age TO years",
        "DROP VIEW v; DROP TABLE people",
    ],
)
def test_drift_is_refused(make: Make, clinic: Path, change: str) -> None:
    engine = make(PEOPLE, engine="duckdb:///clinic.duckdb")
    with engine._changed:
        engine._data.detach()
    write_database(clinic, change)
    for _ in range(2):
        with pytest.raises(EngineError, match="no longer fit the policy"):
            count(engine, PEOPLE)


def test_a_replaced_file_is_seen(make: Make, clinic: Path, tmp_path: Path) -> None:
    engine = make(PEOPLE, engine="duckdb:///clinic.duckdb")
    write_database(tmp_path / "new.duckdb", "CREATE TABLE people AS SELECT 1::INTEGER AS age")
    os.replace(tmp_path / "new.duckdb", clinic)
    assert count(engine, PEOPLE) == 1


# -- public tables


def test_public_tables(make: Make, clinic: Path, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("code,label,since\n2,b,2020-01-01\n1,a,\n1,,2021-01-01\n")
    file = table("r", "csv", tmp_path / "r.csv", public=True)
    inside = table("Regions", "table", "regions", public=True)
    engine = make(file, inside, PEOPLE, engine="duckdb:///clinic.duckdb")
    assert engine.public_table(file).columns == (("code", "BIGINT"), ("label", "VARCHAR"), ("since", "DATE"))
    assert engine.distinct_public(file, "CODE") == (1, 2)
    assert engine.distinct_public(file, "label") == ("a", "b")
    assert engine.distinct_public(file, "since") == (dt.date(2020, 1, 1), dt.date(2021, 1, 1))
    assert engine.distinct_public(inside, "rate") == (Fraction(5, 4), Fraction(5, 2), Fraction(3))
    public = engine.public_table(inside)
    assert public.rows == 3
    with duckdb.connect(str(public.file), read_only=True) as scratch:
        assert scratch.execute('SELECT COUNT(*) FROM main."Regions"').fetchone() == (3,)
    assert count(engine, inside) == 3
    assert engine.relation(inside).sql("duckdb") == '"memory"."main"."Regions"'
    with pytest.raises(PolicyError):
        engine.distinct_public(file, "nothing")
    with pytest.raises(KeyError):
        engine.public_table(PEOPLE)


def test_doubles_are_no_keys(make: Make, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("x\n1.5\n")
    t = table("r", "csv", tmp_path / "r.csv", public=True)
    with pytest.raises(PolicyError, match="can't be keys"):
        make(t).distinct_public(t, "x")


def test_public_tables_are_small(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsql.engines.duckdb_sources.public_tables.MAX_PUBLIC_ROWS", 2)
    (tmp_path / "r.csv").write_text("x\n1\n2\n3\n")
    with pytest.raises(PolicyError, match="at most 2 rows"):
        make(table("r", "csv", tmp_path / "r.csv", public=True))


def test_inner_sql_reads_public_tables(make: Make, clinic: Path, tmp_path: Path) -> None:
    """Whatever they are read from; with all their columns, in DuckDB's own types."""
    write_database(clinic, 'CREATE SCHEMA sales; CREATE TABLE sales.orders AS SELECT 7 AS "Id", [1] AS l, \'É\' AS "É"')
    (tmp_path / "r.csv").write_text("Code,since\n1,2020-01-01\n")
    write_parquet(tmp_path / "p.parquet", "SELECT 1::UTINYINT AS n, now() AS at")
    found = {
        table("r", "csv", tmp_path / "r.csv", public=True).name: {"code": "BIGINT", "since": "DATE"},
        "p": {"n": "UTINYINT", "at": "TIMESTAMP WITH TIME ZONE"},
        "sales.orders": {"id": "INTEGER", "l": "INTEGER[]", "é": "VARCHAR"},
        "Declared": {"code": "INTEGER"},
    }
    declared = Column("code", ColumnType(Kind.INTEGER), bounds=(Fraction(0), Fraction(9)))
    tables = (
        table("r", "csv", tmp_path / "r.csv", public=True),
        table("p", "parquet", tmp_path / "p.parquet", public=True),
        table("sales.orders", "table", "sales.orders", public=True),
        table("Declared", "csv", tmp_path / "r.csv", declared, public=True),
    )
    engine = make(*tables, PEOPLE, engine="duckdb:///clinic.duckdb")
    for t in tables:
        assert count(engine, t) == 1
        assert dict(engine.physical_types(t)) == found[t.name]
    people, orders = (engine.relation(t).sql("duckdb") for t in (PEOPLE, tables[2]))
    with engine.transaction() as tx:
        rows = tx.fetch(
            f"SELECT o.id, {limbs('COUNT(*)')} FROM {people} p JOIN {orders} o ON p.age = o.id GROUP BY 1", 1, 1
        )
    assert rows.keys[0].tolist() == [7] and rows.sums[0].tolist() == [1]
    assert "é" not in engine.public_columns(tables[2])


def test_public_columns(make: Make, tmp_path: Path) -> None:
    write_parquet(
        tmp_path / "p.parquet",
        "SELECT range AS \"Id\", range % 3 AS few, (range % 2000)::FLOAT / 2 AS x, 'k' || range AS name, "
        "'k' || range % 1000 AS k, (range / 4)::DECIMAL(9, 2) AS price, (range % 4 / 4)::DECIMAL(9, 2) AS rate, "
        "range > 5 AS b, nullif(range, 5)::INTEGER AS gap, DATE '2020-01-01' + (range % 2)::INTEGER AS day, "
        "TIMESTAMP '2020-01-01' + to_seconds(range) AS at, now() AS zoned, [1] AS l, range::HUGEINT AS h "
        "FROM range(1001)",
    )
    t = table("p", "parquet", tmp_path / "p.parquet", public=True)
    columns = make(t).public_columns(t)
    sets = {name: (c.type.kind, c.bounds, c.keys, c.nullable) for name, c in columns.items()}
    start = dt.datetime(2020, 1, 1)
    assert sets == {
        "id": (Kind.INTEGER, (0, 1000), None, False),
        "few": (Kind.INTEGER, None, (0, 1, 2), False),
        "x": (Kind.DOUBLE, (0, 500), None, False),
        "name": (Kind.TEXT, None, None, False),
        "k": (Kind.TEXT, None, tuple(sorted(f"k{i}" for i in range(1000))), False),
        "price": (Kind.DECIMAL, (0, 250), None, False),
        "rate": (Kind.DECIMAL, None, (0, Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), False),
        "b": (Kind.BOOLEAN, None, None, False),
        "gap": (Kind.INTEGER, None, tuple(i for i in range(1001) if i != 5), True),
        "day": (Kind.DATE, None, (dt.date(2020, 1, 1), dt.date(2020, 1, 2)), False),
        "at": (Kind.TIMESTAMP, (start, start + dt.timedelta(seconds=1000)), None, False),
        "h": (Kind.DOUBLE, (0, 1000), None, False),  # Parquet has no HUGEINT
    }
    assert columns["id"].name == "Id" and columns["price"].type == ColumnType(Kind.DECIMAL, 9, 2)
    assert all(isinstance(key, Fraction) for key in columns["rate"].keys or ())


def test_public_values_that_python_does_not_have(make: Make, tmp_path: Path) -> None:
    write_database(
        tmp_path / "x.duckdb",
        'CREATE TABLE t(x DOUBLE, y FLOAT, d DATE, "at" TIMESTAMP, n INTEGER)',
        "INSERT INTO t VALUES ('nan', 'inf', 'infinity', 'infinity', NULL), "
        "(1.5, NULL, '20000-01-01', '-infinity', NULL), "
        "('-inf', 'nan', '2020-01-01', '2020-01-01', NULL), (-2, NULL, '2021-01-01', '0044-03-15 (BC)', NULL)",
    )
    t = table("t", "table", "t", public=True)
    columns = make(t, engine="duckdb:///x.duckdb").public_columns(t)
    assert {name: (c.bounds, c.keys, c.nullable) for name, c in columns.items()} == {
        "x": ((-2, Fraction(3, 2)), None, True),
        "y": (None, None, True),
        "d": ((dt.date(2020, 1, 1), dt.date(2021, 1, 1)), None, False),
        "at": ((dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1)), None, False),
        "n": (None, (), True),
    }


def test_declared_public_columns(make: Make, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a,b,c,d,e\n1,1,1.5,x,\n2,,2.5,y,z\n")
    other = table("o", "csv", tmp_path / "r.csv", column("d", Kind.TEXT), public=True)
    columns = (
        Column("A", ColumnType(Kind.INTEGER), bounds=(Fraction(0), Fraction(9)), unique=True, description="code"),
        Column("b", ColumnType(Kind.INTEGER), keys=(1, 2)),
        Column("c", ColumnType(Kind.DECIMAL, 9, 2), nullable=True),
        Column("d", ColumnType(Kind.TEXT), keys_from=("o", "d")),
    )
    t = table("r", "csv", tmp_path / "r.csv", *columns, public=True)
    engine = make(t, other, PRIVATE := small(tmp_path))
    a, b, c, d = engine.public_columns(t).values()
    assert a == columns[0] and d == columns[3]
    assert b == replace(columns[1], nullable=True)
    assert c == replace(columns[2], keys=(Fraction(3, 2), Fraction(5, 2)))
    resolved = resolved_policy(engine._policy, engine)
    assert resolved.tables["r"].columns == {"a": a, "b": b, "c": c, "d": replace(d, keys=("x", "y"))}
    assert resolved.tables["o"].columns["d"].keys == ("x", "y")
    assert resolved.tables["t"] == PRIVATE
    with pytest.raises(KeyError):
        engine.public_columns(PRIVATE)


def test_public_columns_are_those_of_the_data_now(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    t = table("r", "csv", path, public=True)
    path.write_text("a\n1\n")
    engine = make(t)
    assert engine.public_columns(t)["a"].keys == (1,)
    path.write_text("a\n1\n3\n")
    assert count(engine, t) == 2
    assert engine.public_columns(t)["a"].keys == (1, 3)


# -- unique columns


def test_what_a_database_keeps_unique(make: Make, tmp_path: Path) -> None:
    write_database(
        tmp_path / "x.duckdb",
        'CREATE TABLE t(a INTEGER PRIMARY KEY, "B" VARCHAR UNIQUE, c INTEGER, d INTEGER, e INTEGER, f INTEGER, '
        'g INTEGER, hidden INTEGER UNIQUE, k VARCHAR COLLATE NOCASE UNIQUE, "É" INTEGER UNIQUE, "é" INTEGER, '
        "UNIQUE (c, d), UNIQUE (c, hidden), CHECK (f > 0))",
        "CREATE UNIQUE INDEX one ON t(f); CREATE UNIQUE INDEX two ON t(e, d); CREATE INDEX plain ON t(g)",
        "CREATE UNIQUE INDEX expression ON t((g + 1)); CREATE UNIQUE INDEX part ON t(g, (lower(b)))",
        'INSERT INTO t(a, "B") VALUES (1, NULL), (2, NULL)',
        "CREATE SCHEMA s; CREATE TABLE s.t(a INTEGER)",
        "CREATE TABLE orders(id INTEGER, line INTEGER, PRIMARY KEY (id, line)); CREATE VIEW v AS FROM orders",
    )
    whole = table("whole", "table", "t", column("b", Kind.TEXT), *(column(n, Kind.INTEGER) for n in "acdefgé"))
    orders = table("o", "table", "main.orders", column("id", Kind.INTEGER), column("line", Kind.INTEGER))
    part = table("part", "table", "orders", column("id", Kind.INTEGER))
    other = table("other", "table", "s.t", column("a", Kind.INTEGER))
    public = table("p", "table", "t", column("a", Kind.INTEGER), column("b", Kind.TEXT), public=True)
    public = replace(
        public, primary_key=("a", "b"), columns={n: replace(c, unique=n == "a") for n, c in public.columns.items()}
    )
    engine = make(whole, orders, part, other, public, small(tmp_path), engine="duckdb:///x.duckdb")
    assert set(engine.unique_columns(whole)) == {frozenset(key) for key in ("a", "b", "cd", "f", "de")}
    assert engine.unique_columns(orders) == (frozenset({"id", "line"}),)
    assert engine.unique_columns(part) == engine.unique_columns(other) == ()
    assert engine.unique_columns(public) == (frozenset("a"), frozenset("ab"))
    assert engine.unique_columns(small(tmp_path)) == ()


@pytest.mark.parametrize("in_place", [True, False])
def test_a_constraint_that_goes_is_drift(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, in_place: bool
) -> None:
    path = tmp_path / "x.duckdb"
    write_database(path, "CREATE TABLE t(a INTEGER UNIQUE, b INTEGER)")
    t = table("t", "table", "t", column("a", Kind.INTEGER), column("b", Kind.INTEGER))
    engine = make(t, engine="duckdb:///x.duckdb")
    with engine._changed:
        engine._data.detach()
    changes = ("CREATE TABLE n(a INTEGER, b INTEGER)", "DROP TABLE t", "ALTER TABLE n RENAME TO t")
    if in_place:
        write_database(path, *changes)
    else:
        write_database(tmp_path / "new.duckdb", "CREATE TABLE t(a INTEGER, b INTEGER)")
        os.replace(tmp_path / "new.duckdb", path)
    for _ in range(2):
        with pytest.raises(EngineError, match="no longer fit the policy"):
            count(engine, t)
    assert "table t: a no longer has a PRIMARY KEY or UNIQUE constraint" in caplog.text
    with engine._changed:
        engine._data.detach()
    write_database(path, "DROP TABLE t", "CREATE TABLE t(a INTEGER UNIQUE, b INTEGER UNIQUE)")
    assert count(engine, t) == 0
    assert engine.unique_columns(t) == (frozenset("a"),)


def keyed(public: Table, *primary_key: str, unique: str = "") -> Table:
    columns = {n: replace(c, unique=n == unique) for n, c in public.columns.items()}
    return replace(public, primary_key=primary_key, columns=columns)


@pytest.mark.parametrize(
    ("text", "key", "found"),
    [
        ("a,b\n1,x\n1,y\n", ("a",), "5: table r: rows have the same values in a, which is its primary_key"),
        ("a,b\n1,x\n1,y\n", ("a", "b"), None),
        ("a,b\n1,x\n1,x\n", ("b", "a"), "5: table r: rows have the same values in a, b, which is its primary_key"),
        ("a,b\n,x\n,x\n", ("a", "b"), None),  # NULL matches nothing
        ("a,b\n1.50,x\n1.5,y\n", ("a",), "rows have the same values in a"),
        ("a,b\n0.0,x\n-0.0,y\n", ("a",), "rows have the same values in a"),
        ("a,b\n1,x\n2,X\n3, x\n", ("b",), None),
        ("Code,b\n1,x\n", ("codes",), "5: table r has no column codes, which its primary_key names"),
    ],
)
def test_declared_keys_of_public_tables(
    make: Make, tmp_path: Path, text: str, key: tuple[str, ...], found: str | None
) -> None:
    (tmp_path / "r.csv").write_text(text)
    t = keyed(table("r", "csv", tmp_path / "r.csv", public=True), *key)
    if found is None:
        assert make(t).unique_columns(t) == (frozenset(key),)
        return
    with pytest.raises(PolicyError) as caught:
        make(t)
    assert found in caught.value.message and "policy.yaml:5: " in caught.value.message
    assert caught.value.hint == (
        "did you mean code?" if "Code" in text else "remove `primary_key`, or the rows that repeat"
    )


def test_keys_are_compared_as_they_are_stored(make: Make, tmp_path: Path) -> None:
    """'1' and '01' are two texts and one integer."""
    (tmp_path / "r.csv").write_text("a\n1\n01\n")
    text = keyed(table("r", "csv", tmp_path / "r.csv", column("a", Kind.TEXT), public=True), unique="a")
    assert make(text).unique_columns(text) == (frozenset("a"),)
    number = table("r", "csv", tmp_path / "r.csv", column("a", Kind.INTEGER, line=9), public=True)
    with pytest.raises(PolicyError, match=r":9: table r: rows have the same values in a, which is declared unique"):
        make(keyed(number, unique="a"))


def test_collations_are_dropped_from_public_tables(make: Make, tmp_path: Path) -> None:
    write_database(
        tmp_path / "x.duckdb",
        'CREATE TABLE t("Name" VARCHAR COLLATE NOCASE, n INTEGER)',
        "INSERT INTO t VALUES ('a', 1), ('A', 2), (NULL, 3), ('é', 4)",
    )
    t = keyed(table("t", "table", "t", public=True), "name")
    engine = make(t, engine="duckdb:///x.duckdb")
    assert count(engine, t, "name = 'A'") == 1
    assert engine.public_table(t).columns == (("Name", "VARCHAR"), ("n", "INTEGER"))
    assert engine.public_columns(t)["name"].keys == ("A", "a", "é")


def test_a_public_key_that_repeats_later(make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "r.csv"
    path.write_text("a\n1\n2\n")
    t = keyed(table("r", "csv", path, public=True), "a")
    engine = make(t)
    path.write_text("a\n1\n1\n")
    for _ in range(2):
        with pytest.raises(EngineError, match="no longer fit the policy") as caught:
            count(engine, t)
        assert "nothing was charged" in (caught.value.hint or "")
    assert "table r: rows have the same values in a" in caplog.text
    path.write_text("a\n5\n6\n7\n")
    assert count(engine, t) == 3


@pytest.mark.parametrize("kind", ["csv", "parquet", "table"])
def test_the_parent_of_a_unit_has_a_key(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    """A row that belonged to two units would move the sums of both."""

    def write(*orders: str) -> None:
        rows = " UNION ALL ".join(
            f"SELECT {order}" for order in ("NULL::BIGINT AS id, NULL AS person", "NULL, 'z'", *orders)
        )
        if kind == "table":
            write_database(
                tmp_path / "x.duckdb",
                f"CREATE OR REPLACE TABLE orders AS {rows}",
                "CREATE OR REPLACE TABLE items AS SELECT 1::BIGINT AS id",
            )
        else:
            duckdb.execute(f"COPY ({rows}) TO '{tmp_path}/orders.{kind}'")
            duckdb.execute(f"COPY (SELECT 1::BIGINT AS id) TO '{tmp_path}/items.{kind}'")

    def place(name: str) -> str:
        return name if kind == "table" else f"{tmp_path}/{name}.{kind}"

    orders = table("Orders", kind, place("orders"), column("id", Kind.INTEGER), column("person", Kind.TEXT))
    orders = replace(orders, unit=Unit("person", None, 10))
    via = ForeignKey("orders", ("id",), ("id",))
    items = replace(table("items", kind, place("items"), column("id", Kind.INTEGER)), unit=Unit(None, via, 10), line=8)
    url = "duckdb:///x.duckdb" if kind == "table" else "duckdb"

    write(f"8675309, '{CANARY}'", f"8675309, '{CANARY}2'")
    make(orders, engine=url).close()
    with pytest.raises(PolicyError) as caught:
        make(items, orders, engine=url)
    assert ":8: table items: its unit is found through Orders (id), where rows have" in caught.value.message
    assert caught.value.hint and CANARY not in str(caught.value) + caplog.text and "8675309" not in str(caught.value)

    write("8675309, 'a'", "8675310, 'a'")
    engine = make(items, orders, engine=url)
    assert count(engine, orders) == 4
    with engine._changed:
        engine._data.detach()
    write(f"8675309, '{CANARY}'", "8675310, 'b'", "8675309, 'c'")
    with pytest.raises(EngineError, match="no longer fit the policy"):
        count(engine, items)
    assert "its unit is found through Orders (id)" in caplog.text and CANARY not in caplog.text


def test_a_key_that_the_database_keeps_is_not_checked(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_database(
        tmp_path / "x.duckdb", "CREATE TABLE o(id INTEGER UNIQUE, n INTEGER)", "CREATE TABLE i(id INTEGER, n INTEGER)"
    )
    columns = column("id", Kind.INTEGER), column("n", Kind.INTEGER)
    orders = replace(table("o", "table", "o", *columns), unit=Unit("n", None, 10))
    items = replace(table("i", "table", "i", *columns), unit=Unit(None, ForeignKey("o", ("n", "id"), ("n", "id")), 10))
    checked: list[frozenset[str]] = []
    monkeypatch.setattr(
        "dpsql.engines.duckdb_sources.uniqueness._repeats", lambda *given: bool(checked.append(given[-1]))
    )
    make(orders, items, engine="duckdb:///x.duckdb")
    assert checked == []
    by_n = replace(items, unit=Unit(None, ForeignKey("o", ("n",), ("n",)), 10))
    make(orders, by_n, replace(by_n, name="again"), engine="duckdb:///x.duckdb")
    assert checked == [frozenset("n")]
    nowhere = replace(items, unit=Unit(None, ForeignKey("o", ("n",), ("m",)), 10))
    with pytest.raises(PolicyError, match="table o has no column m, which the unit of i names"):
        make(orders, nowhere, engine="duckdb:///x.duckdb")


# -- walls, errors, versions, threads


def small(tmp_path: Path, text: str = "a,s\n1,x\n2,y\n") -> Table:
    (tmp_path / "t.csv").write_text(text)
    return table("t", "csv", tmp_path / "t.csv", column("a", Kind.INTEGER), column("s", Kind.TEXT))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{path}')",
        "SELECT * FROM '{path}'",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM glob('/*')",
        "COPY (SELECT 1) TO '{path}.out'",
        "ATTACH '{path}.db'",
        "INSTALL spatial",
        "SET threads = 3",
        "SET enable_external_access = true",
        "SELECT * FROM secret_array",
        "CREATE TABLE memory.main.z (a INTEGER)",
        "DELETE FROM memory.main.t",
    ],
)
def test_the_instance_is_locked(make: Make, tmp_path: Path, sql: str) -> None:
    secret_array = {"a": np.array([1])}
    engine = make(small(tmp_path))
    with engine.transaction() as tx, pytest.raises(EngineError):
        tx.fetch(sql.format(path=tmp_path / "t.csv"), 1, 0)
    assert not list(tmp_path.glob("*.out"))
    assert secret_array


def test_the_private_directory(make: Make, tmp_path: Path) -> None:
    engine = make(small(tmp_path))
    directory = engine._data.directory
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    engine.close()
    assert not directory.exists()
    with pytest.raises(InterfaceError), engine.transaction():
        pass


def test_failures_say_nothing(make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = make(small(tmp_path, f"a,s\n1,{CANARY}\n"))
    with caplog.at_level(logging.DEBUG), engine.transaction() as tx, pytest.raises(EngineError) as caught:
        tx.fetch("SELECT CAST(s AS BIGINT) FROM memory.main.t", 1, 0)
    error = caught.value
    assert error.__context__ is None
    assert error.__cause__ is None
    assert CANARY not in str(error) + caplog.text
    assert [record.name for record in caplog.records] == ["dpsql.engine"]
    assert "ConversionException" in caplog.text
    assert error.message.rsplit(" ", 1)[1] in caplog.text


def test_a_slow_statement_is_stopped(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsql.engines.duckdb.STATEMENT_SECONDS", 0.2)
    engine = make(small(tmp_path))
    begun = time.monotonic()
    with engine.transaction() as tx, pytest.raises(EngineError):
        tx.fetch("SELECT COUNT(*) FROM range(1000000000) a, range(1000) b WHERE a.range + b.range = 7", 1, 0)
    assert time.monotonic() - begun < 5


def test_a_statement_may_end_while_its_time_is_looked_at(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cursor may be closed by then, too. The thread that looks goes on: else no statement would be stopped."""
    engine = make(small(tmp_path))
    with engine.transaction() as tx:
        tx._deadline = 0.0

        def ended() -> float:
            tx._deadline = None
            tx.cursor.close()
            return 1.0

        with monkeypatch.context() as patch:
            patch.setattr("dpsql.engines.duckdb.time.monotonic", ended)
            tx.stop_if_overdue()
        assert tx._deadline is None


def test_changed_data_are_read_again(make: Make, tmp_path: Path) -> None:
    t = small(tmp_path)
    engine = make(t)
    assert count(engine, t) == 2
    with engine.transaction() as old:
        small(tmp_path, "a,s\n1,x\n")
        assert count(engine, t) == 1
        assert old.fetch(f"SELECT {limbs('COUNT(*)')} FROM memory.main.t", 0, 1).sums[0].tolist() == [2]
        assert old.version != engine.version
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(EngineError, match="no longer fit"):
        count(engine, t)
    (tmp_path / "t.csv").unlink()
    with pytest.raises(EngineError):
        count(engine, t)
    small(tmp_path, "a,s\n1,x\n2,y\n3,z\n")
    assert count(engine, t) == 3


def test_a_source_that_goes_away(
    make: Make, clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    t = small(tmp_path)
    duckdb.execute(f"COPY (SELECT 1::BIGINT AS a) TO '{tmp_path}/t.parquet'")
    scanned = table("s", "parquet", tmp_path / "t.parquet", column("a", Kind.INTEGER))
    loaded, in_place, database = make(t), make(scanned), make(PEOPLE, engine="duckdb:///clinic.duckdb")

    def refused(engine: DuckDBEngine, of: Table) -> None:
        caplog.clear()
        with pytest.raises(EngineError, match="the data source can't be opened") as caught:
            count(engine, of)
        assert str(tmp_path) not in str(caught.value) and "operator's log" in str(caught.value)
        assert str(tmp_path) in caplog.text

    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda *_: False)
        refused(in_place, scanned)
    (tmp_path / "t.csv").unlink()
    refused(loaded, t)
    (tmp_path / "t.parquet").unlink()
    refused(in_place, scanned)
    with database._changed:
        database._data.detach()
    clinic.rename(tmp_path / "elsewhere")
    refused(database, PEOPLE)


def test_a_file_that_is_no_database(make: Make, tmp_path: Path) -> None:
    (tmp_path / "x.duckdb").write_text("no database")
    with pytest.raises(PolicyError, match=r"x\.duckdb can't be opened as a DuckDB database"):
        make(PEOPLE, engine="duckdb:///x.duckdb")


@pytest.mark.parametrize(("small_bytes", "memory", "bits"), [(0, "8GB", 21), (0, "100MB", 15), (1 << 30, "8GB", 12)])
def test_big_sources_are_grouped_by_arrays_that_fit_the_memory(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_bytes: int, memory: str, bits: int
) -> None:
    monkeypatch.setattr(data, "SMALL_BYTES", small_bytes)
    monkeypatch.setitem(data.CONFIG, "memory_limit", memory)
    monkeypatch.setitem(data.CONFIG, "threads", 2)
    engine = make(small(tmp_path))
    with engine.transaction() as tx:
        found = tx.fetch("SELECT CAST(current_setting('perfect_ht_threshold') AS BIGINT)", 0, 0, 1)
    assert found.sums[0].tolist() == [bits]


@pytest.mark.slow
def test_threads(make: Make, clinic: Path, tmp_path: Path) -> None:
    t = small(tmp_path)
    engine = make(t, PEOPLE, engine="duckdb:///clinic.duckdb")
    stop, wrong = time.monotonic() + 1.5, []

    def work() -> None:
        while time.monotonic() < stop:
            try:
                if count(engine, PEOPLE) != 10 or count(engine, t) not in {2, 3}:
                    wrong.append("count")
            except Exception as error:  # noqa: BLE001
                wrong.append(repr(error))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for i in range(4):
        time.sleep(0.3)
        (tmp_path / "t.new").write_text("a,s\n1,x\n2,y\n" + "3,z\n" * (i % 2))
        os.replace(tmp_path / "t.new", tmp_path / "t.csv")
    for thread in threads:
        thread.join()
    assert wrong == []
    assert not engine._data.running


# -- the row forms of the module's docstring: total, and as exact arithmetic says

NASTY = [
    None,
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-300,
    0.1,
    9.999,
    10.0,
    10.25,
    20.0,
    29.9999999,
    30.0,
    30.000000001,
]
NASTY += [2.0**53, -(2.0**53), 1e18, 1e20, -1e20, 1e300, 1e308, -8e307, float("nan")]


def exact_index(x: float | None, low: Fraction, high: Fraction, grain: Fraction) -> int | None:
    if x is None or x != x:
        return None
    return round((min(max(Fraction(x), low), high) - low) / grain)


@pytest.mark.parametrize(
    ("low", "high", "grain"), [(10, 30, Fraction(1)), (0, 30, Fraction(1, 2**20)), (-20, 10, Fraction(2))]
)
def test_the_double_form(low: int, high: int, grain: Fraction) -> None:
    steps = float(1 / grain)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t(n INTEGER, x DOUBLE)")
        nasty = [*NASTY, float("inf"), float("-inf"), -1.7e308]
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(nasty)))
        rows = connection.execute(
            f"""SELECT n, x, TRY_CAST((z + abs(z)) * {steps / 4!r}::DOUBLE AS BIGINT)
            FROM (SELECT *, (w - abs(w)) + {2.0 * (high - low)!r}::DOUBLE AS z
            FROM (SELECT *, x - {float(high)!r}::DOUBLE AS w FROM t)) ORDER BY n"""
        ).fetchall()
    for n, x, index in rows:
        if n >= len(NASTY):
            assert index is None  # infinite, or too far down to subtract
            continue
        expected = exact_index(x, Fraction(low), Fraction(high), grain)
        if expected is None or index is None:
            assert index is expected
        else:
            assert abs(index - expected) <= 1  # the subtraction may round across one half
            assert 0 <= index <= (high - low) / grain


@pytest.mark.parametrize(("low", "high"), [(0, 100), (-5, 7), (10, 30), (-(2**31), 2**31 - 1)])
def test_the_integer_form(low: int, high: int) -> None:
    nasty = [None, 0, 1, -1, 15, 100, 101, 2**31 - 1, -(2**31)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t(n INTEGER, x INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(nasty)))
        rows = connection.execute(
            f"""SELECT x, COUNT(b),
            (COALESCE(SUM(abs(b - {low}) - abs(b - {high})), 0) + {high - low} * COUNT(b)) >> 1
            FROM (SELECT *, CAST(x AS BIGINT) AS b FROM t) GROUP BY n, x ORDER BY n"""
        ).fetchall()
    for x, present, total in rows:
        expected = exact_index(x, Fraction(low), Fraction(high), Fraction(1))
        assert (present, total) == ((0, 0) if expected is None else (1, expected))


def test_milliseconds_are_refused(make: Make, tmp_path: Path) -> None:
    """A millisecond beyond DuckDB's timestamps makes its reader fail: a row could tell that it is there."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for unit in ("us", "ms"):
        parquet.write_table(arrow.table({"a": arrow.array([0], arrow.timestamp(unit))}), tmp_path / f"{unit}.parquet")
    make(table("t", "parquet", tmp_path / "us.parquet", column("a", Kind.TIMESTAMP)))
    with pytest.raises(PolicyError, match="milliseconds") as caught:
        make(table("t", "parquet", tmp_path / "ms.parquet", column("a", Kind.TIMESTAMP, line=9)))
    assert ":9: " in caught.value.message


def test_a_column_that_the_reader_renames_does_not_exist(make: Make, tmp_path: Path) -> None:
    """Of two names that differ only in case DuckDB changes one, and what the file says of it can't be found."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    twice = arrow.table([arrow.array([1]), arrow.array([0], arrow.timestamp("ms"))], names=["A", "a"])
    parquet.write_table(twice, tmp_path / "twice.parquet")
    make(table("t", "parquet", tmp_path / "twice.parquet", column("A", Kind.INTEGER)))
    with pytest.raises(PolicyError, match="a_1"):
        make(table("t", "parquet", tmp_path / "twice.parquet", column("a_1", Kind.TIMESTAMP)))
