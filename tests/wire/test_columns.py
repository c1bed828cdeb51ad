"""Answers in bytes: text exactly as PostgreSQL's, binary, rows put together from columns, and copies."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.result import ResultColumn, Values
from dpsql.wire.copying import Form
from dpsql.wire.types import oids
from dpsql.wire.types.columns import Column, _with_more_digits, cells, columns, float_text
from dpsql.wire.types.rows import data_rows
from tests.harness import examples
from tests.wire.client import Row, replies

TYPES = ["BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP"]
VALUES: dict[str, Any] = {
    "BOOLEAN": st.booleans(),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": st.floats(),
    "VARCHAR": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    "DATE": st.dates(),
    "TIMESTAMP": st.datetimes().map(lambda moment: moment.replace(fold=0)),
}


def made(types: list[str], rows: list[tuple[Any, ...]]) -> list[Column]:
    return columns([ResultColumn(f"c{i}", kind) for i, kind in enumerate(types)], Values(rows))


def column(kind: str, values: list[Any]) -> Column:
    return made([kind], [(value,) for value in values])[0]


def texts(kind: str, values: list[Any], form: int = 0) -> list[bytes | None]:
    one = column(kind, values)
    found = replies(data_rows([one], [form], len(values)))
    return [row.values[0] for row in found if isinstance(row, Row)]


# ---------------------------------------------------------------------------------------------- text

FLOATS = [
    (0.0, "0"), (-0.0, "-0"), (1.0, "1"), (-1.5, "-1.5"), (0.1, "0.1"), (1e-5, "1e-05"), (0.0001, "0.0001"),
    (999999999999999.0, "999999999999999"), (1e15, "1e+15"), (1e16, "1e+16"), (123456789012345.6, "123456789012345.6"),
    (1234567890123456.5, "1.2345678901234565e+15"), (9007199254740993.0, "9.007199254740992e+15"),
    (1e23, "9.999999999999999e+22"), (2.0**89, "6.189700196426902e+26"), (5e-324, "5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308"), (-1e300, "-1e+300"), (math.nan, "NaN"),
    (math.inf, "Infinity"), (-math.inf, "-Infinity"), (10.0, "10"), (100.5, "100.5"),
    (2.0**63, "9.223372036854776e+18"),
]  # fmt: skip
"""As PostgreSQL 15 writes them."""


def test_floats_are_written_as_postgresql_writes_them() -> None:
    assert texts("DOUBLE", [value for value, _ in FLOATS]) == [text.encode() for _, text in FLOATS]
    for value, text in FLOATS:
        assert texts("DOUBLE", [value]) == [text.encode()]


@given(st.floats(min_value=1e15, allow_infinity=False))
@examples(300)
def test_large_floats_are_read_back_as_they_were_and_never_lie_midway(value: float) -> None:
    text = float_text(value)
    assert float(text) == value
    exact = Decimal(text)
    for neighbour in (math.nextafter(value, 0), math.nextafter(value, math.inf)):
        if math.isfinite(neighbour):
            assert abs(exact - Decimal(value)) < abs(exact - Decimal(neighbour))


@pytest.mark.parametrize(
    ("kind", "value", "text", "binary"),
    [
        ("BOOLEAN", True, "t", b"\1"), ("BOOLEAN", False, "f", b"\0"),
        ("TINYINT", 1, "1", struct.pack("!q", 1)), ("INTEGER", -7, "-7", struct.pack("!q", -7)),
        ("HUGEINT", 2**70, "1.1805916207174113e+21", struct.pack("!d", 2**70)),
        ("UBIGINT", 2**64 - 1, "1.8446744073709552e+19", struct.pack("!d", 2**64)),
        ("DECIMAL(10,2)", Decimal("12.50"), "12.5", struct.pack("!d", 12.5)),
        ("FLOAT", 0.5, "0.5", struct.pack("!d", 0.5)),
        ("VARCHAR", "é\n", "é\n", "é\n".encode()), ("VARCHAR", "", "", b""),
        ("VARCHAR", "a\0b", "a\ufffdb", "a\ufffdb".encode()),
        ("DATE", dt.date(2020, 2, 29), "2020-02-29", struct.pack("!i", 7364)),
        ("DATE", dt.date(99, 1, 1), "0099-01-01", struct.pack("!i", -694325)),
        ("DATE", "0044-03-15 (BC)", "0044-03-15 BC", struct.pack("!i", -746117)),
        ("DATE", "12000-01-01", "12000-01-01", struct.pack("!i", 3652425)),
        ("TIMESTAMP", dt.datetime(2020, 1, 1), "2020-01-01 00:00:00", struct.pack("!q", 631152000 * 10**6)),
        ("TIMESTAMP", dt.datetime(2000, 1, 1, 0, 0, 0, 500_000), "2000-01-01 00:00:00.5", struct.pack("!q", 500_000)),
        ("TIMESTAMP", dt.datetime(2000, 1, 1, 0, 0, 0, 120), "2000-01-01 00:00:00.00012", struct.pack("!q", 120)),
        ("TIMESTAMP", "0044-03-15 (BC) 01:02:03.5", "0044-03-15 01:02:03.5 BC", None),
        ("TIMESTAMP WITH TIME ZONE", dt.datetime(2000, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
         "2000-01-01 00:00:00", struct.pack("!q", 0)),
        ("TIME", dt.time(1, 2, 3), "01:02:03", b"01:02:03"), ("INTEGER[]", [1, 2], "{1,2}", None),
        ("BLOB", b"\xff", "ff", b"ff"), ('"NULL"', None, None, None),
    ],
)  # fmt: skip
def test_values(kind: str, value: Any, text: str | None, binary: bytes | None) -> None:
    encoded = None if text is None else text.encode()
    assert texts(kind, [value, None]) == [encoded, None]
    assert texts(kind, [value]) == [encoded]
    if binary is not None:
        assert texts(kind, [value, None], 1) == [binary, None]


LISTS = [
    ("DOUBLE[]", [1.5, 2.0, -1e300], "{1.5,2,-1e+300}", "float8", ">d"),
    ("BIGINT[]", [5, -7], "{5,-7}", "int8", ">q"),
    ("DATE[]", [dt.date(2020, 5, 5)], "{2020-05-05}", "date", ">i"),
    ("TIMESTAMP[]", [dt.datetime(2020, 5, 5, 12, 0, 0, 500_000)], '{"2020-05-05 12:00:00.5"}', "timestamp", ">q"),
]


@pytest.mark.parametrize(("kind", "value", "text", "element", "form"), LISTS)
def test_lists_are_arrays(kind: str, value: list[Any], text: str, element: str, form: str) -> None:
    of = getattr(oids, element.upper())
    assert oids.of_answer(kind) == oids.ARRAYS[of] and oids.of_answer(f"{kind}[]") == oids.TEXT
    assert texts(kind, [value, None]) == [text.encode(), None]
    packed, null = texts(kind, [value, None], 1)
    assert packed is not None and null is None
    assert struct.unpack("!iiiii", packed[:20]) == (1, 0, of, len(value), 1)
    since = {"date": dt.date(2000, 1, 1), "timestamp": dt.datetime(2000, 1, 1)}.get(element)
    unit = dt.timedelta(days=1) if element == "date" else dt.timedelta(microseconds=1)
    wanted = value if since is None else [(one - since) // unit for one in value]
    size = struct.calcsize(form)
    assert [struct.unpack(form, packed[i + 4 : i + 4 + size])[0] for i in range(20, len(packed), 4 + size)] == wanted


def test_lists_are_quoted_in_copies() -> None:
    assert copied(Form("csv"), ["BIGINT[]", "BIGINT"], [([5, -7], 3)]) == b'"{5,-7}",3\n'
    assert copied(Form(delimiter=","), ["BIGINT[]", "BIGINT"], [([5, -7], 3)]) == b"{5\\,-7},3\n"


def test_columns_of_numpy_are_written_as_rows_of_python_are() -> None:
    heads = [ResultColumn("k", "BOOLEAN"), ResultColumn("n", "BIGINT"), ResultColumn("m", "DOUBLE"),
             ResultColumn("t", "VARCHAR")]  # fmt: skip
    masked = np.ma.masked_array(np.array([1.5, 0.0]), np.array([False, True]))
    arrays = [np.array([False, True]), np.array([3, -4]), masked, np.array(["a", None], dtype=object)]
    rows: list[tuple[Any, ...]] = [(False, 3, 1.5, "a"), (True, -4, None, None)]
    for form in (0, 1):
        written = [data_rows(columns(heads, v), [form] * 4, 2) for v in (Values(columns=arrays), Values(rows))]
        assert written[0] == written[1]


def test_every_type_of_answers_is_announced_with_its_size() -> None:
    known = {"INTEGER": oids.INT8, "HUGEINT": oids.FLOAT8, "DECIMAL(10,2)": oids.FLOAT8, "ENUM('a')": oids.TEXT,
             "UUID": oids.TEXT, "TIMESTAMP_NS": oids.TIMESTAMP}  # fmt: skip
    assert {kind: oids.of_answer(kind) for kind in known} == known
    for kind in TYPES:
        size = oids.SIZES[oids.of_answer(kind)]
        value = {"BOOLEAN": True, "VARCHAR": "x", "DATE": dt.date(2020, 1, 1), "TIMESTAMP": dt.datetime(2020, 1, 1)}
        (packed,) = texts(kind, [value.get(kind, 1)], 1)
        assert packed is not None and len(packed) == (1 if size < 0 else size)


# ---------------------------------------------------------------------------------------------- rows

TABLES = st.lists(st.sampled_from(TYPES), min_size=1, max_size=5).flatmap(
    lambda types: st.tuples(
        st.just(types), st.lists(st.tuples(*(st.none() | VALUES[kind] for kind in types)), max_size=6)
    )
)


def read(kind: str, data: bytes | None, form: int) -> object:
    """What a client makes of it."""
    if data is None:
        return None
    if form:
        packed = {"BIGINT": "!q", "DOUBLE": "!d", "DATE": "!i", "TIMESTAMP": "!q", "BOOLEAN": "!?"}
        number = struct.unpack(packed[kind], data)[0] if kind in packed else None
        if kind == "DATE":
            return dt.date(2000, 1, 1) + dt.timedelta(days=number)
        if kind == "TIMESTAMP":
            return dt.datetime(2000, 1, 1) + dt.timedelta(microseconds=number)
        return data.decode() if kind == "VARCHAR" else number
    text = data.decode()
    parse: dict[str, Any] = {"BIGINT": int, "DOUBLE": float, "DATE": dt.date.fromisoformat,
                             "TIMESTAMP": lambda t: dt.datetime.fromisoformat(f"{t}00000"[:26] if "." in t else t),
                             "BOOLEAN": lambda t: {"t": True, "f": False}[t], "VARCHAR": str}  # fmt: skip
    return parse[kind](text)


@pytest.mark.slow
@given(TABLES, st.data())
@examples(120)
def test_rows_are_read_as_they_were(table: tuple[list[str], list[tuple[Any, ...]]], data: st.DataObject) -> None:
    types, rows = table
    formats = data.draw(st.lists(st.sampled_from([0, 1]), min_size=len(types), max_size=len(types)))
    found = replies(data_rows(made(types, rows), formats, len(rows)))
    assert len(found) == len(rows)
    for row, expected in zip(found, rows, strict=True):
        assert isinstance(row, Row)
        values = [read(k, v, f) for k, v, f in zip(types, row.values, formats, strict=True)]
        assert repr(values) == repr(list(expected))


def test_rows_without_columns() -> None:
    assert replies(data_rows([], [], 2)) == [Row(()), Row(())]
    assert data_rows(made(["BIGINT"], []), [0], 0) == b""


def test_a_part_of_a_column_has_its_own_bytes() -> None:
    one = column("VARCHAR", ["a", None, "ccc", "dd"])
    assert cells(one.part(1, 3), 0).data.tobytes() == b"ccc"


# ---------------------------------------------------------------------------------------------- copies


def copied(form: Form, types: list[str], rows: list[tuple[Any, ...]]) -> bytes:
    found = made(types, rows)
    head = form.head(found)
    ridden = head if form.code else b""
    data = (b"" if form.code else head) + form.rows(found, len(rows), ridden) + form.tail(b"" if rows else ridden)
    return b"".join(message.data for message in replies(data))  # type: ignore[union-attr]


def test_a_copy_as_text() -> None:
    rows = [("a\tb\\\n", 1, None), ("\\N", -2, 1.5), ("", 3, math.nan)]
    assert copied(Form(), ["VARCHAR", "BIGINT", "DOUBLE"], rows) == b"a\\tb\\\\\\n\t1\t\\N\n\\\\N\t-2\t1.5\n\t3\tNaN\n"
    form = Form(delimiter="|", null="-")
    assert copied(form, ["VARCHAR", "DOUBLE"], [("a|b", None)]) == b"a\\|b|-\n"


@given(st.lists(st.tuples(st.none() | VALUES["VARCHAR"], st.none() | VALUES["DOUBLE"]), max_size=6), st.booleans())
@examples(150)
def test_a_copy_as_csv_is_read_by_csv_readers(rows: list[tuple[Any, ...]], header: bool) -> None:
    data = copied(Form("csv", header=header), ["VARCHAR", "DOUBLE"], rows).decode()
    found = list(csv.reader(io.StringIO(data, newline="")))
    if header:
        assert found.pop(0) == ["c0", "c1"]
    expected = [[t or "", "" if v is None else texts("DOUBLE", [v])[0].decode()] for t, v in rows]  # type: ignore[union-attr]
    assert found == expected
    assert sum(line.startswith('""') for line in data.splitlines()) >= sum(t == "" for t, _ in rows)


@pytest.mark.parametrize("form", [Form("csv"), Form("csv", delimiter="|", quote="'", null="-"), Form("csv", null="ab")])
@given(st.lists(st.none() | st.text("ab,|\"'\\.\n-\u00e9", max_size=3), min_size=1, max_size=4))
@examples(100)
def test_a_copy_as_csv_looks_at_single_cells_only_where_one_is_special(form: Form, texts: list[str | None]) -> None:
    rows = [(text,) for text in texts]
    found = copied(form, ["VARCHAR"], rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Form, "_none_is_special", lambda *_: False)
        assert copied(form, ["VARCHAR"], rows) == found


def test_a_copy_of_plain_texts_looks_at_none_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Form, "_quoted", lambda *_: pytest.fail("a cell is looked at alone"))
    assert copied(Form("csv"), ["VARCHAR"], [("Oslo",), (None,), ("\u00c5s",)]) == "Oslo\n\n\u00c5s\n".encode()


def test_a_copy_as_csv_tells_empty_from_null_and_quotes_what_it_must() -> None:
    rows = [("", 1), (None, 2), ('a"b', 3), ("x,y", 4), ("\\.", 5), ("l\nm", 6)]
    assert copied(Form("csv"), ["VARCHAR", "BIGINT"], rows) == (b'"",1\n,2\n"a""b",3\n"x,y",4\n"\\.",5\n"l\nm",6\n')
    assert copied(Form("csv", force_quote=True), ["BIGINT"], [(1,), (None,)]) == b'"1"\n\n'
    assert copied(Form("csv", delimiter=".", quote="'"), ["DOUBLE"], [(1.5,)]) == b"'1.5'\n"


@pytest.mark.parametrize("rows", [[], [(1, "é", None)], [(1, "é", None), (2, "", 1.5)]])
def test_a_copy_in_binary(rows: list[tuple[Any, ...]]) -> None:
    found = made(["BIGINT", "VARCHAR", "DOUBLE"], rows)
    form = Form("binary")
    head = form.head(found)
    messages = replies(form.rows(found, len(rows), head) + form.tail(b"" if rows else head))
    assert len(messages) == len(rows) + 1  # the head rides with the first row, as connectorx wants it
    data = b"".join(message.data for message in messages)  # type: ignore[union-attr]
    assert data[:19] == b"PGCOPY\n\xff\r\n\0" + bytes(8) and data[-2:] == b"\xff\xff"
    at = 19
    for expected in rows:
        assert struct.unpack_from("!h", data, at) == (3,)
        at += 2
        values: list[object] = []
        for kind in ("BIGINT", "VARCHAR", "DOUBLE"):
            (size,) = struct.unpack_from("!i", data, at)
            at += 4
            values.append(read(kind, None if size < 0 else data[at : at + size], 1))
            at += max(size, 0)
        assert tuple(values) == expected
    assert at == len(data) - 2


def test_what_takes_long_to_write_is_worked_out_once() -> None:
    """A column may hold a number that is midway between two floats in each of a million rows, at no cost."""
    _with_more_digits.cache_clear()
    assert {float_text(value) for value in [1e22, 1e23] * 100} == {"1e+22", "9.999999999999999e+22"}
    assert _with_more_digits.cache_info().misses == 1
