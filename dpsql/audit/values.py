"""Values of columns as SQL literals: those that a policy expects, and all that a column of a type can hold."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpsql.engines.declared import fits, literal, value
from dpsql.policy import Column, Key, Kind


def _quoted(*texts: str) -> tuple[str, ...]:
    return tuple(map(literal, texts))


def _typed(kind: str, *texts: str) -> tuple[str, ...]:
    return tuple(f"'{t}'::{kind}" for t in texts)


def _decimals(precision: int, scale: int) -> tuple[str, ...]:
    largest = "9" * (precision - scale) + ("." + "9" * scale if scale else "")
    return ("NULL", "0", largest or "0", f"-{largest or '0'}")


_EXTREMES: Mapping[str, tuple[str, ...]] = {
    "BIGINT": ("NULL", "0", "1", "-1", "5", "9223372036854775807", "(-9223372036854775807 - 1)", "1000000"),
    "INTEGER": ("NULL", "0", "1", "-1", "7", "2147483647", "(-2147483647 - 1)"),
    "SMALLINT": ("NULL", "0", "7", "-5", "32767", "-32768"),
    "TINYINT": ("NULL", "0", "1", "2", "3", "127", "-128"),
    "UTINYINT": ("NULL", "0", "100", "105", "110", "255"),
    "USMALLINT": ("NULL", "0", "100", "65535"),
    "UINTEGER": ("NULL", "0", "100", "4294967295"),
    "DOUBLE": ("NULL", *_typed(
        "DOUBLE", "NaN", "Infinity", "-Infinity", "0.0", "-0.0", "1e308", "-1e308", "1.7976931348623157e308",
        "5e-324", "-5e-324", "2.2250738585072014e-308", "105.5", "99.999", "-1000", "5000", "0.5", "9007199254740993",
    )),
    "FLOAT": ("NULL", *_typed("FLOAT", "NaN", "Infinity", "-Infinity", "0.0", "-0.0", "3.4e38", "1e-45", "0.3", "1")),
    "BOOLEAN": ("NULL", "TRUE", "FALSE"),
    "VARCHAR": (
        "NULL", *_quoted("", "A", "a", "A ", "b", "é", "e\u0301", "7", "-3.5", "1e400", "2020-01-05", "NaN", "inf",
                         "9223372036854775808", "0001-01-01", "infinity", "\u0130\u212a\u00df", "it's", "\u200b"),
        "repeat('x', 1000000)", "chr(0)", "repeat('9', 5000)",
    ),
    "DATE": ("NULL", *_typed("DATE", "2020-01-05", "0001-01-01", "9999-12-31", "5881580-07-10", "infinity",
                             "-infinity", "5877642-06-25 (BC)", "1970-01-01", "275810-09-14")),
    "TIMESTAMP": ("NULL", *_typed("TIMESTAMP", "2020-01-01 03:00:00", "infinity", "-infinity", "0001-01-01",
                                  "294247-01-10 04:00:54.775806", "290309-12-22 (BC) 00:00:00",
                                  "9999-12-31 23:59:59.999999", "2020-01-03 11:59:59.999999", "275810-09-14")),
}  # fmt: skip


def extremes(type_: str) -> tuple[str, ...]:
    """What a column of an engine's type can hold and a policy doesn't think of."""
    if not type_.startswith("DECIMAL"):
        return _EXTREMES[type_]
    precision, scale = map(int, type_.removeprefix("DECIMAL(").removesuffix(")").split(","))
    return _decimals(precision, scale)


def stored_types(column: Column) -> tuple[str, ...]:
    """The engine's types that a column may have, as it is declared, and that hold all values which the policy names."""
    if column.type.kind is Kind.DECIMAL:
        scale = column.type.scale or 0
        whole = max((len(str(abs(int(v)))) for v in _numbers(column)), default=1)
        found = {max(column.type.precision or 18, whole + scale, scale + 1), 38}
        return tuple(f"DECIMAL({min(precision, 38)},{scale})" for precision in sorted(found))
    return tuple(name for name in _EXTREMES if fits(column.type, name) and _holds(name, column))


_RANGES = {
    "TINYINT": (-(2**7), 2**7 - 1), "SMALLINT": (-(2**15), 2**15 - 1), "INTEGER": (-(2**31), 2**31 - 1),
    "UTINYINT": (0, 2**8 - 1), "USMALLINT": (0, 2**16 - 1), "UINTEGER": (0, 2**32 - 1),
}  # fmt: skip


def _holds(type_: str, column: Column) -> bool:
    low, high = _RANGES.get(type_, (-(2**63), 2**63 - 1))
    return column.type.kind is not Kind.INTEGER or all(low <= number <= high for number in _numbers(column))


def _numbers(column: Column) -> list[Fraction]:
    named = [*(column.bounds or ()), *(column.keys or ())]
    return [Fraction(v) for v in named if isinstance(v, int | Fraction) and not isinstance(v, bool)]


def expected(column: Column, *, most: int = 40) -> tuple[str, ...]:
    """What the policy expects in a column, as literals: its keys, its bounds and what lies between; NULL if declared.

    The bounds come first and second.
    """
    found = [value(key, column) for key in (column.keys or ())[:most] if key is not None]
    if column.bounds is not None:
        low, high = column.bounds
        between = [value(v, column) for v in _between(low, high, column)]
        found = [value(v, column) for v in (_inner(low, column, up=True), _inner(high, column, up=False))] + between
    if not found:
        found = list(_USUAL[column.type.kind])
    nulls = column.holds_null
    return (*dict.fromkeys(found), *["NULL"] * nulls)


_USUAL: Mapping[Kind, Sequence[str]] = {
    Kind.BOOLEAN: ("TRUE", "FALSE"), Kind.INTEGER: ("3", "7", "100"), Kind.DECIMAL: ("0", "1"),
    Kind.DOUBLE: ("1.5", "-2.25", "1e10"), Kind.TEXT: ("''", "'abc'", "'7'", "'2020-02-02'", "'Zé'"),
    Kind.DATE: ("DATE '2020-02-29'", "DATE '1999-12-31'"), Kind.TIMESTAMP: ("TIMESTAMP '2021-05-05 05:05:05.5'",),
}  # fmt: skip


def _inner(bound: object, column: Column, *, up: bool) -> Key:
    """A bound as a value that the column can hold: bounds of whole numbers may have decimals."""
    if isinstance(bound, Fraction):
        step = Fraction(1, 10 ** (column.type.scale or 0)) if column.type.kind is Kind.DECIMAL else Fraction(1)
        if column.type.kind in (Kind.INTEGER, Kind.DECIMAL) and bound % step:
            return bound - bound % step + (step if up else 0)
    assert isinstance(bound, Fraction | dt.date)
    return bound


def _between(low: object, high: object, column: Column) -> list[Key]:
    match low, high:
        case Fraction(), Fraction():
            step = (
                Fraction(1, 10 ** (column.type.scale or 0)) if column.type.kind is not Kind.DOUBLE else Fraction(1, 4)
            )
            points = (low + (high - low) * share for share in (Fraction(1, 2), Fraction(1, 3), Fraction(9, 10)))
            kept = (point - point % step for point in points)
            return [point for point in kept if low <= point <= high]
        case dt.date(), dt.date():
            middle = low + (high - low) / 2
            return [middle]
    return []
