"""Arrays as PostgreSQL writes and reads them; what it said to each is in the cases."""

from __future__ import annotations

import pytest

from dpsql.wire.refusals import Refusal
from dpsql.wire.types import arrays, inputs, oids

TEXTS = [
    ("{}", []), (" { } ", []), ("{a}", ["a"]), ("{a,b c, d }", ["a", "b c", "d"]), ('{"a,b","}"}', ["a,b", "}"]),
    ('{"a\\"b","c\\\\"}', ['a"b', "c\\"]), ("{NULL,null,\"NULL\"}", [None, None, "NULL"]), ("{a\\,b}", ["a,b"]),
    ('{""}', [""]), ("{ä,\n}", None), ('{ "x" ,y}', ["x", "y"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_reading(text: str, expected: list[str | None] | None) -> None:
    if expected is None:
        with pytest.raises(ValueError):
            arrays.parse(text)
    else:
        assert arrays.parse(text) == expected


@pytest.mark.parametrize("text", ["", "a", "{a", "a}", "{a,}", "{,a}", "{{a}}", '{"a}', '{"a"b}', "{a\\}", "{a}b"])
def test_what_is_no_array_of_one_dimension(text: str) -> None:
    with pytest.raises(ValueError):
        arrays.parse(text)


@pytest.mark.parametrize(
    "elements", [[], ["a"], ["a b", "c,d", "{", "}", '"', "\\", "", "NULL", "null", None, "ä", "\n", "x\ty"]]
)
def test_what_is_written_is_read(elements: list[str | None]) -> None:
    assert arrays.parse(arrays.written(elements)) == elements


def test_how_it_is_written() -> None:
    assert arrays.written(["a", None, "b c", "NULL", "", 'q"\\']) == '{a,NULL,"b c","NULL","","q\\"\\\\"}'


@pytest.mark.parametrize(
    ("oid", "form", "data", "expected"),
    [
        (1007, 0, b"{1,-2,NULL}", [1, -2, None]),
        (1009, 0, b'{"a b",c}', ["a b", "c"]),
        (1000, 0, b"{t,f}", [True, False]),
        (1007, 1, bytes.fromhex("00000001 00000001 00000017 00000002 00000001 00000004 00000007 ffffffff"), [7, None]),
        (1009, 1, bytes.fromhex("00000001 00000000 00000019 00000001 00000001 00000002") + b"hi", ["hi"]),
        (1016, 1, bytes.fromhex("00000000 00000000 00000014"), []),
    ],
)
def test_parameters(oid: int, form: int, data: bytes, expected: list[object]) -> None:
    assert inputs.value(oid, form, data, 1) == expected


@pytest.mark.parametrize(
    ("oid", "form", "data", "sqlstate"),
    [
        (1007, 0, b"{1,x}", "22P02"), (1007, 0, b"1", "22P02"), (1007, 0, b"{{1}}", "22P02"),
        (1005, 0, b"{99999}", "22003"), (1007, 1, b"\0" * 11, "22P03"),
        (1007, 1, bytes.fromhex("00000001 00000000 00000019 00000000 00000001"), "22P03"),
        (1007, 1, bytes.fromhex("00000002 00000000 00000017 00000000 00000001"), "22P03"),
        (1007, 1, bytes.fromhex("00000001 00000000 00000017 00000002 00000001 00000004 00000007"), "22P03"),
        (1007, 1, bytes.fromhex("00000001 00000000 00000017 00000001 00000001 00000009 00000007"), "22P03"),
        (1007, 1, bytes.fromhex("00000001 00000000 00000017 00000001 00000001 fffffffe"), "22P03"),
    ],
)  # fmt: skip
def test_wrong_parameters(oid: int, form: int, data: bytes, sqlstate: str) -> None:
    with pytest.raises(Refusal) as refused:
        inputs.value(oid, form, data, 1)
    assert refused.value.sqlstate == sqlstate


def test_every_array_has_elements_that_parameters_have() -> None:
    for array in oids.ELEMENTS:
        assert inputs.value(array, 0, b"{}", 1) == []
