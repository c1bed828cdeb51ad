"""Parameters, text and binary: what PostgreSQL takes means the same, all else is refused with its SQLSTATE."""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.wire.refusals import Refusal
from dpsql.wire.types import inputs, oids
from tests.harness import examples

UTC = dt.UTC

TEXTS: list[tuple[int, str, object]] = [
    (oids.INT4, "30", 30), (oids.INT4, " +30 ", 30), (oids.INT4, "-2147483648", -(2**31)), (oids.INT2, "007", 7),
    (oids.INT8, "9223372036854775807", 2**63 - 1), (oids.OID, "4294967295", 2**32 - 1),
    (oids.FLOAT8, "1e3", 1000.0), (oids.FLOAT8, " .5 ", 0.5), (oids.FLOAT8, "5.", 5.0), (oids.FLOAT8, "-0", -0.0),
    (oids.FLOAT8, "Infinity", math.inf), (oids.FLOAT8, "-inf", -math.inf), (oids.FLOAT4, "0.1", 0.10000000149011612),
    (oids.NUMERIC, "12.50", Decimal("12.50")), (oids.NUMERIC, "-1e-3", Decimal("-0.001")),
    (oids.BOOL, "TRUE", True), (oids.BOOL, "t", True), (oids.BOOL, " yes ", True), (oids.BOOL, "on", True),
    (oids.BOOL, "1", True), (oids.BOOL, "fal", False), (oids.BOOL, "n", False), (oids.BOOL, "off", False),
    (oids.BOOL, "of", False), (oids.BOOL, "0", False),
    (oids.DATE, "2024-02-29", dt.date(2024, 2, 29)), (oids.DATE, " 2024-2-9 ", dt.date(2024, 2, 9)),
    (oids.DATE, "2024-02-01 +00", dt.date(2024, 2, 1)),  # as JDBC sends it
    (oids.DATE, "2024-02-01 13:30:00", dt.date(2024, 2, 1)),
    (oids.TIMESTAMP, "2024-01-02 00:00:00+05", dt.datetime(2024, 1, 2)),
    (oids.TIMESTAMP, "2024-01-02T03:04", dt.datetime(2024, 1, 2, 3, 4)),
    (oids.TIMESTAMP, "2024-01-02 03:04:05.5", dt.datetime(2024, 1, 2, 3, 4, 5, 500_000)),
    (oids.TIMESTAMP, "2024-01-02", dt.datetime(2024, 1, 2)),
    (oids.TIMESTAMP, "2024-01-02 24:00:00", dt.datetime(2024, 1, 3)),
    (oids.TIMESTAMPTZ, "2024-01-02 03:04:05+05:30", dt.datetime(2024, 1, 1, 21, 34, 5, tzinfo=UTC)),
    (oids.TIMESTAMPTZ, "2024-01-02 03:04:05-0100", dt.datetime(2024, 1, 2, 4, 4, 5, tzinfo=UTC)),
    (oids.TIMESTAMPTZ, "2024-01-02T03:04:05Z", dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
    (oids.TIMESTAMPTZ, "2024-01-02 03:04:05", dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
    (oids.TEXT, "", ""), (oids.VARCHAR, " é\n", " é\n"), (oids.UNKNOWN, "30", "30"), (oids.NAME, "x", "x"),
]  # fmt: skip

WRONG_TEXTS = [
    (oids.INT4, "", "22P02"), (oids.INT4, "3.0", "22P02"), (oids.INT4, "1_000", "22P02"), (oids.INT4, "0x1F", "22P02"),
    (oids.INT4, "３", "22P02"), (oids.INT4, "2147483648", "22003"), (oids.INT2, "-32769", "22003"),
    (oids.INT8, "9223372036854775808", "22003"), (oids.INT8, "1" * 401, "22P02"), (oids.OID, "-1", "22003"),
    (oids.FLOAT8, "", "22P02"), (oids.FLOAT8, "1,5", "22P02"), (oids.FLOAT8, "1e400", "22003"),
    (oids.FLOAT8, "nanx", "22P02"), (oids.FLOAT4, "1e39", "22003"), (oids.NUMERIC, "1e", "22P02"),
    (oids.NUMERIC, "--1", "22P02"), (oids.BOOL, "", "22P02"), (oids.BOOL, "o", "22P02"), (oids.BOOL, "2", "22P02"),
    (oids.BOOL, "truely", "22P02"), (oids.DATE, "2024-02-30", "22008"), (oids.DATE, "30.02.2024", "22007"),
    (oids.DATE, "", "22007"), (oids.DATE, "infinity", "22008"), (oids.DATE, "0044-03-15 BC", "22008"),
    (oids.DATE, "12024-01-01", "22008"), (oids.TIMESTAMP, "2024-01-02 25:00", "22008"),
    (oids.TIMESTAMP, "2024-01-02 10:60", "22008"), (oids.TIMESTAMP, "now", "22007"),
    (oids.TIMESTAMP, "9999-12-31 24:00:00", "22008"), (oids.TIMESTAMPTZ, "2024-01-02 00:00+16", "22009"),
    (oids.TIMESTAMPTZ, "9999-12-31 23:00:00-05", "22008"), (oids.TEXT, "a\0b", "22021"),
]  # fmt: skip
"""SQLSTATEs as PostgreSQL 15 gives them for these. It takes some of them that are refused here: dates that Python
lacks, dates that don't begin with the year, negative OIDs.
"""

BINARIES: list[tuple[int, bytes, object]] = [
    (oids.INT2, struct.pack("!h", -7), -7), (oids.INT4, struct.pack("!i", 30), 30),
    (oids.INT8, struct.pack("!q", -(2**63)), -(2**63)), (oids.OID, struct.pack("!I", 2**32 - 1), 2**32 - 1),
    (oids.FLOAT4, struct.pack("!f", 0.5), 0.5), (oids.FLOAT8, struct.pack("!d", 1e-300), 1e-300),
    (oids.BOOL, b"\1", True), (oids.BOOL, b"\0", False),
    (oids.DATE, struct.pack("!i", 0), dt.date(2000, 1, 1)), (oids.DATE, struct.pack("!i", -1), dt.date(1999, 12, 31)),
    (oids.TIMESTAMP, struct.pack("!q", 1), dt.datetime(2000, 1, 1, 0, 0, 0, 1)),
    (oids.TIMESTAMPTZ, struct.pack("!q", -1_000_000), dt.datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    (oids.TEXT, "é".encode(), "é"),
    (oids.NUMERIC, bytes.fromhex("0002 0000 0000 0001 0001 1388"), Decimal("1.5")),  # as JDBC sends 1.5
    (oids.NUMERIC, bytes.fromhex("0000 0000 0000 0002"), Decimal("0.00")),
    (oids.NUMERIC, bytes.fromhex("0001 0001 4000 0000 0001"), Decimal("-10000")),
    (oids.NUMERIC, bytes.fromhex("0001 ffff 0000 0004 0001"), Decimal("0.0001")),
]  # fmt: skip

WRONG_BINARIES = [
    *((oid, data, "22P03") for oid in (oids.INT2, oids.INT4, oids.INT8, oids.OID, oids.FLOAT4, oids.FLOAT8, oids.BOOL,
                                       oids.DATE, oids.TIMESTAMP, oids.TIMESTAMPTZ, oids.NUMERIC)
      for data in (b"", b"\0\0\0")),
    (oids.BOOL, b"\2", "22P03"), (oids.DATE, struct.pack("!i", 2**31 - 1), "22008"),
    (oids.TIMESTAMP, struct.pack("!q", 2**63 - 1), "22008"), (oids.TIMESTAMPTZ, struct.pack("!q", -(2**63)), "22008"),
    (oids.NUMERIC, bytes.fromhex("0001 0000 0000 0000 2710"), "22P03"),
    (oids.NUMERIC, bytes.fromhex("0001 0000 1234 0000 0001"), "22P03"),
    (oids.NUMERIC, bytes.fromhex("0001 0000 0000 4000 0001"), "22P03"),
    (oids.NUMERIC, bytes.fromhex("0002 0000 0000 0000 0001"), "22P03"),
    (oids.NUMERIC, struct.pack("!HhHH", 1000, 0, 0, 0) + bytes(2000), "22003"),
    (oids.TEXT, b"\xff", "22021"), (oids.TEXT, b"a\0", "22021"),
]  # fmt: skip


def same(one: object, other: object) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)


@pytest.mark.parametrize(("oid", "text", "expected"), TEXTS)
def test_text(oid: int, text: str, expected: object) -> None:
    assert same(inputs.value(oid, 0, text.encode(), 1), expected)


@pytest.mark.parametrize(("oid", "data", "expected"), BINARIES)
def test_binary(oid: int, data: bytes, expected: object) -> None:
    assert same(inputs.value(oid, 1, data, 1), expected)


@pytest.mark.parametrize(("oid", "text", "sqlstate"), WRONG_TEXTS)
def test_wrong_text(oid: int, text: str, sqlstate: str) -> None:
    with pytest.raises(Refusal, match=r"parameter \$3") as refused:
        inputs.value(oid, 0, text.encode(), 3)
    assert refused.value.sqlstate == sqlstate


@pytest.mark.parametrize(("oid", "data", "sqlstate"), WRONG_BINARIES)
def test_wrong_binary(oid: int, data: bytes, sqlstate: str) -> None:
    with pytest.raises(Refusal, match=r"parameter \$3") as refused:
        inputs.value(oid, 1, data, 3)
    assert refused.value.sqlstate == sqlstate


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("oid", [oids.BYTEA, oids.UUID, oids.JSON, oids.TIME, oids.INTERVAL, 2951, 2**32 - 1])
def test_types_that_nothing_has_are_refused(oid: int, form: int) -> None:
    for act in (lambda: inputs.value(oid, form, b"x", 2), lambda: inputs.check_type(oid, 2)):
        with pytest.raises(Refusal, match=r"parameter \$2 is .* aren't supported") as refused:
            act()
        assert refused.value.sqlstate == "0A000"


def test_null_and_sizes() -> None:
    assert inputs.value(oids.UUID, 1, None, 1) is None
    with pytest.raises(Refusal, match="at most") as refused:
        inputs.value(oids.TEXT, 0, b"x" * (inputs.LONGEST + 1), 1)
    assert refused.value.sqlstate == "54000"


KINDS = st.sampled_from(sorted(inputs._BINARY))


@pytest.mark.slow
@given(KINDS, st.sampled_from([0, 1]), st.binary(max_size=24))
@examples(800)
def test_any_bytes_are_a_value_or_refused(oid: int, form: int, data: bytes) -> None:
    try:
        found = inputs.value(oid, form, data, 1)
    except Refusal as refused:
        assert refused.sqlstate[:2] == "22"
    else:
        assert found is not None


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6) | st.decimals(-(10**30), 10**30, places=0))
@examples(200)
def test_a_binary_number_is_read_as_the_client_wrote_it(number: Decimal) -> None:
    """Packed by psycopg's own code for PostgreSQL's format."""
    from psycopg.types.numeric import DecimalBinaryDumper

    packed = bytes(DecimalBinaryDumper(Decimal).dump(number) or b"")
    assert inputs.value(oids.NUMERIC, 1, packed, 1) == number
    assert inputs.value(oids.NUMERIC, 0, str(number).encode(), 1) == number


@given(st.floats(allow_nan=False), st.dates(), st.datetimes().map(lambda m: m.replace(fold=0)))
@examples(200)
def test_text_and_binary_mean_the_same(number: float, day: dt.date, moment: dt.datetime) -> None:
    days = (day - dt.date(2000, 1, 1)).days
    microseconds = (moment - dt.datetime(2000, 1, 1)) // dt.timedelta(microseconds=1)
    for oid, form, packed, text, value in (
        (oids.FLOAT8, "!d", number, repr(number), number),
        (oids.DATE, "!i", days, day.isoformat(), day),
        (oids.TIMESTAMP, "!q", microseconds, moment.isoformat(" "), moment),
    ):
        assert same(inputs.value(oid, 1, struct.pack(form, packed), 1), value)
        assert same(inputs.value(oid, 0, text.encode(), 1), value)
