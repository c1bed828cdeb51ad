"""Parameters: what a client sends to Python values, strictly.

Each type has one form in text and one in binary, PostgreSQL's own, and what is neither is refused with PostgreSQL's
SQLSTATE; nothing is guessed. A parameter becomes a literal of the statement, so what is read here is what is asked.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal

from dpsql.wire.refusals import Refusal
from dpsql.wire.types import arrays, oids

Simple = bool | int | float | Decimal | str | dt.date | dt.datetime | None
Value = Simple | list[Simple]

LONGEST = 100_000
"""Bytes of one parameter: a statement has no more."""
_SHOWN = 40
_DAYS = dt.date(2000, 1, 1)
_MOMENTS = dt.datetime(2000, 1, 1)


def value(oid: int, form: int, data: bytes | None, number: int) -> Value:
    """The value of parameter `number`: in text (`form` 0) or binary (1), None for NULL. Raises Refusal."""
    if data is None:
        return None
    if len(data) > LONGEST:
        raise Refusal("54000", f"parameter ${number} has {len(data)} bytes; at most {LONGEST} are allowed")
    if oid not in _BINARY and oid not in oids.ELEMENTS:
        raise unusable(oid, number)
    try:
        if form:
            return _binary_array(data, oids.ELEMENTS[oid]) if oid in oids.ELEMENTS else _BINARY[oid](data)
        text = data.decode("utf-8")
        if "\0" in text:
            raise UnicodeError
        return _array(text, oids.ELEMENTS[oid]) if oid in oids.ELEMENTS else _TEXT[oid](text)
    except _Wrong as wrong:
        raise _refusal(wrong, oid, form, data, number) from None
    except struct.error:
        raise Refusal(
            "22P03", f"parameter ${number} is no binary {oids.name(oid)}: its length is {len(data)} bytes"
        ) from None
    except UnicodeError:
        raise Refusal("22021", f"parameter ${number} is not UTF-8 text") from None


def check_type(oid: int, number: int) -> None:
    """Refuse a type that no parameter can have, before there is a value."""
    if oid and oid not in _BINARY and oid not in oids.ELEMENTS:
        raise unusable(oid, number)


def unusable(oid: int, number: int) -> Refusal:
    """The type can't be compared with anything that a table has here."""
    return Refusal(
        "0A000",
        f"parameter ${number} is {oids.name(oid)}: parameters of that type aren't supported",
        hint="use a number, text, boolean, date or timestamp, or an array of one",
    )


class _Wrong(Exception):
    def __init__(self, sqlstate: str = "22P02") -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


def _refusal(wrong: _Wrong, oid: int, form: int, data: bytes, number: int) -> Refusal:
    if form:
        return Refusal(wrong.sqlstate, f"parameter ${number} is no binary {oids.name(oid)}")
    shown = data[:_SHOWN].decode("utf-8", "replace")
    if wrong.sqlstate in ("22003", "22008"):
        return Refusal(wrong.sqlstate, f"parameter ${number} is out of range for {oids.name(oid)}: {shown!r}")
    return Refusal(wrong.sqlstate, f"parameter ${number} is no {oids.name(oid)}: {shown!r}")


# ---------------------------------------------------------------------------------------------- text

_BLANK = " \t\n\v\f\r"
_INTEGER = re.compile(r"[+-]?[0-9]{1,400}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")
_SPECIAL = re.compile(r"(?P<sign>[+-]?)(?:(?P<nan>nan)|inf|infinity)", re.IGNORECASE)
_DATE = r"(?P<year>[0-9]{4,6})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
_CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{0,6}))?)?"
_ZONE = r"(?P<zone>Z|(?P<sign>[+-])(?P<ahead>[0-9]{1,2})(?::?(?P<minutes>[0-9]{2}))?)"
_MOMENT = re.compile(rf"{_DATE}(?:[T ]{_CLOCK})? ?(?:{_ZONE})?", re.IGNORECASE)
_FAR = re.compile(rf"[+-]?infinity|epoch|{_DATE}.* BC", re.IGNORECASE)


def _integer(low: int, high: int) -> Callable[[str], Simple]:
    def parse(text: str) -> Simple:
        text = text.strip(_BLANK)
        if not _INTEGER.fullmatch(text):
            raise _Wrong
        return _within(int(text), low, high)

    return parse


def _within(number: int, low: int, high: int) -> int:
    if not low <= number <= high:
        raise _Wrong("22003")
    return number


def _double(text: str) -> Simple:
    text = text.strip(_BLANK)
    if special := _SPECIAL.fullmatch(text):
        return math.nan if special["nan"] else float(f"{special['sign']}inf")
    if not _NUMBER.fullmatch(text):
        raise _Wrong
    return _finite(float(text))


def _single(text: str) -> Simple:
    number = _double(text)
    assert isinstance(number, float)
    try:
        return float(struct.unpack("!f", struct.pack("!f", number))[0])
    except OverflowError:
        raise _Wrong("22003") from None


def _finite(number: float) -> float:
    if math.isinf(number):
        raise _Wrong("22003")
    return number


def _numeric(text: str) -> Simple:
    text = text.strip(_BLANK)
    if special := _SPECIAL.fullmatch(text):
        return Decimal("NaN") if special["nan"] else Decimal(f"{special['sign']}Infinity")
    if not _NUMBER.fullmatch(text):
        raise _Wrong
    return Decimal(text)


def _boolean(text: str) -> Simple:
    """As PostgreSQL: any beginning of a word that no other word has."""
    word = text.strip(_BLANK).lower()
    if word and (any(w.startswith(word) for w in ("true", "yes")) or word in ("on", "1")):
        return True
    if word and (any(w.startswith(word) for w in ("false", "no")) or word in ("of", "off", "0")):
        return False
    raise _Wrong


def _moment(text: str) -> tuple[dt.datetime, dt.timedelta | None]:
    """Date and time, and how far the zone is ahead of UTC where one is written."""
    text = text.strip(_BLANK)
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise _Wrong("22008" if _FAR.fullmatch(text) else "22007")
    clock = [int(match[part] or 0) for part in ("hour", "minute", "second")]
    if clock[0] > 24 or clock[1] > 59 or clock[2] > 60 or (clock[0] == 24 and any(clock[1:])):
        raise _Wrong("22008")
    try:
        day = dt.datetime(int(match["year"]), int(match["month"]), int(match["day"]))
        fraction = int((match["fraction"] or "").ljust(6, "0"))
        moment = day + dt.timedelta(hours=clock[0], minutes=clock[1], seconds=clock[2], microseconds=fraction)
    except (ValueError, OverflowError):
        raise _Wrong("22008") from None
    if match["zone"] is None:
        return moment, None
    ahead = dt.timedelta(hours=int(match["ahead"] or 0), minutes=int(match["minutes"] or 0))
    if ahead >= dt.timedelta(hours=16):
        raise _Wrong("22009")
    return moment, -ahead if match["sign"] == "-" else ahead


def _date(text: str) -> Simple:
    """A zone or a time of day behind it means nothing, as in PostgreSQL; JDBC sends one."""
    return _moment(text)[0].date()


def _timestamp(text: str) -> Simple:
    """A zone means nothing, as in PostgreSQL."""
    return _moment(text)[0]


def _timestamptz(text: str) -> Simple:
    """Without a zone it is UTC, in which this server works."""
    moment, ahead = _moment(text)
    try:
        return (moment - (ahead or dt.timedelta(0))).replace(tzinfo=dt.UTC)
    except OverflowError:
        raise _Wrong("22008") from None


def _array(text: str, element: int) -> list[Simple]:
    try:
        found = arrays.parse(text)
    except ValueError:
        raise _Wrong from None
    return [None if item is None else _TEXT[element](item) for item in found]


_TEXT: dict[int, Callable[[str], Simple]] = {
    oids.INT2: _integer(-(2**15), 2**15 - 1),
    oids.INT4: _integer(-(2**31), 2**31 - 1),
    oids.INT8: _integer(-(2**63), 2**63 - 1),
    oids.OID: _integer(0, 2**32 - 1),
    oids.FLOAT4: _single,
    oids.FLOAT8: _double,
    oids.NUMERIC: _numeric,
    oids.BOOL: _boolean,
    oids.DATE: _date,
    oids.TIMESTAMP: _timestamp,
    oids.TIMESTAMPTZ: _timestamptz,
    **dict.fromkeys((oids.TEXT, oids.VARCHAR, oids.BPCHAR, oids.NAME, oids.CHAR, oids.UNKNOWN), str),
}

# ---------------------------------------------------------------------------------------------- binary


def _packed(form: str) -> Callable[[bytes], Simple]:
    unpack = struct.Struct(form).unpack
    return lambda data: unpack(data)[0]


def _binary_boolean(data: bytes) -> Simple:
    if len(data) != 1 or data[0] > 1:
        raise _Wrong("22P03")
    return bool(data[0])


def _binary_date(data: bytes) -> Simple:
    try:
        return _DAYS + dt.timedelta(days=struct.unpack("!i", data)[0])
    except OverflowError:
        raise _Wrong("22008") from None


def _binary_timestamp(data: bytes) -> dt.datetime:
    try:
        return _MOMENTS + dt.timedelta(microseconds=struct.unpack("!q", data)[0])
    except OverflowError:
        raise _Wrong("22008") from None


def _binary_text(data: bytes) -> Simple:
    text = data.decode("utf-8")
    if "\0" in text:
        raise UnicodeError
    return text


_NAN, _INFINITE, _NEGATIVE_INFINITE = 0xC000, 0xD000, 0xF000
_SIGNS = {0: 0, 0x4000: 1}
_MOST_DIGITS = 64
"""To the base 10,000: more than a statement's literal may have."""


def _binary_numeric(data: bytes) -> Simple:
    """Digits to the base 10,000, the first of them at 10,000^weight; `scale` decimals are shown."""
    count, weight, sign, scale = struct.unpack("!HhHH", data[:8])
    if len(data) != 8 + 2 * count or scale > 0x3FFF:
        raise _Wrong("22P03")
    if sign in (_NAN, _INFINITE, _NEGATIVE_INFINITE):
        return Decimal({_NAN: "NaN", _INFINITE: "Infinity"}.get(sign, "-Infinity"))
    if count > _MOST_DIGITS:
        raise _Wrong("22003")
    digits = struct.unpack(f"!{count}H", data[8:])
    if sign not in _SIGNS or any(digit > 9999 for digit in digits):
        raise _Wrong("22P03")
    together = int("".join(f"{digit:04d}" for digit in digits) or "0")
    number = Decimal((_SIGNS[sign], tuple(map(int, str(together))), 4 * (weight + 1 - count)))
    return _scaled(number, scale)


def _scaled(number: Decimal, scale: int) -> Decimal:
    """The same number with `scale` decimals, as far as it has no others."""
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent > -scale and number.adjusted() + scale < 1000:
        digits = number.as_tuple().digits + (0,) * (exponent + scale)
        return Decimal((number.as_tuple().sign, digits, -scale))
    while exponent < -scale and number.as_tuple().digits[-1] == 0 and len(number.as_tuple().digits) > 1:
        number = Decimal((number.as_tuple().sign, number.as_tuple().digits[:-1], exponent + 1))
        exponent += 1
    return number


def _binary_array(data: bytes, element: int) -> list[Simple]:
    """Dimensions, a flag that a NULL is there, the elements' type; the length of the dimension and where it begins;
    then each element behind its length, -1 for NULL.
    """
    dimensions, flag, kind = struct.unpack("!iii", data[:12])
    if kind != element or flag not in (0, 1) or dimensions not in (0, 1):
        raise _Wrong("22P03")
    if not dimensions:
        if len(data) != 12:
            raise _Wrong("22P03")
        return []
    (length,), at = struct.unpack("!i4x", data[12:20]), 20
    found: list[Simple] = []
    while at < len(data):
        (size,) = struct.unpack("!i", data[at : at + 4])
        at += 4
        if size < -1 or at + max(size, 0) > len(data):
            raise _Wrong("22P03")
        found.append(None if size == -1 else _BINARY[element](data[at : at + size]))
        at += max(size, 0)
    if length != len(found):
        raise _Wrong("22P03")
    return found


_BINARY: dict[int, Callable[[bytes], Simple]] = {
    oids.INT2: _packed("!h"),
    oids.INT4: _packed("!i"),
    oids.INT8: _packed("!q"),
    oids.OID: _packed("!I"),
    oids.FLOAT4: _packed("!f"),
    oids.FLOAT8: _packed("!d"),
    oids.NUMERIC: _binary_numeric,
    oids.BOOL: _binary_boolean,
    oids.DATE: _binary_date,
    oids.TIMESTAMP: _binary_timestamp,
    oids.TIMESTAMPTZ: lambda data: _binary_timestamp(data).replace(tzinfo=dt.UTC),
    **dict.fromkeys((oids.TEXT, oids.VARCHAR, oids.BPCHAR, oids.NAME, oids.CHAR, oids.UNKNOWN), _binary_text),
}
