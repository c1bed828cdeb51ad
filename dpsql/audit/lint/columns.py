"""Advice on columns: bounds so wide that noise swamps answers, keys that are people."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from dpsql.audit.findings import Advice
from dpsql.display import short
from dpsql.policy import Bound, Column, Kind, Lines, Policy, Table, Unit
from dpsql.policy.names import is_number_of_something, is_personal, words
from dpsql.policy.problems import printable
from dpsql.privacy.loss import decimal_text

MOST_KEYS = 10_000
"""More are not written by hand."""
FEW_KEYS = 100
"""Up to as many things are numbered that are not people, such as departments."""
MOST_YEARS = 150
"""A life is shorter."""
WIDER = 1000
"""As many times wider than a column of the same name."""
TOO_LARGE = 10**12
"""Nothing about one person is as large."""

_TYPE_LIMITS = frozenset({2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 - 1, 2**53})
_LARGE_DECIMAL = 10**6
_RANGES = {
    "age": (0, 120), "hour": (0, 24), "minute": (0, 60), "second": (0, 60), "weekday": (0, 7), "month": (1, 12),
    "year": (1900, 2100), "latitude": (-90, 90), "longitude": (-180, 180),
}  # fmt: skip
"""What a column can hold whose name ends with the word."""
_WIDER_THAN_RANGE = 2
_CATEGORIES = frozenset(
    "category city class country county department gender group kind nationality nation occupation race region sector "
    "segment sex state status type".split()
)
"""Words with which names end of columns that analysts group by."""


def _private(policy: Policy) -> Iterator[tuple[Table, Column]]:
    for table in policy.tables.values():
        if not table.public:
            for column in table.columns.values():
                yield table, column


def _name(table: Table, column: Column) -> str:
    return printable(f"{table.name}.{column.name}")


def _number(value: Fraction) -> str:
    return short(float(value)) if value < 10**300 else "more than 1e300"


def _numbers(column: Column) -> tuple[Fraction, Fraction] | None:
    """The bounds of a column of numbers."""
    if column.bounds is None:
        return None
    low, high = column.bounds
    return (low, high) if isinstance(low, Fraction) and isinstance(high, Fraction) else None


def _groups(column: Column) -> str | None:
    """Which groups the policy says there are, where they are not those of a public table."""
    if column.keys is not None and column.keys_from is None:
        return f"each of its {len(column.keys):,} keys is a group"
    return "each of its values within the bounds is a group" if column.bounds is not None else None


def groups_of_one(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Columns whose groups are single rows or people, by what is declared of them or by their names."""
    for table, column in _private(policy):
        shown, name = _groups(column), _name(table, column)
        if shown is None:
            continue
        if column.unique or table.primary_key == (column.name.lower(),):
            why = f"{name} has another value in each row, and {shown}: one row"
        elif is_personal(column.name):
            why = f"{name} seems to tell who a person is, and {shown}: perhaps one person"
        elif is_number_of_something(column.name) and (column.keys is None or len(column.keys) > FEW_KEYS):
            why = f"{name} seems to number something, and {shown}"
        else:
            continue
        key = "keys" if column.keys is not None else "bounds"
        yield Advice(
            lines.of("tables", table.name, "columns", column.name, key),
            why,
            f"remove {key} of {printable(column.name)}, and the column itself if no query needs it",
        )


def many_keys(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Lists of keys so long that they were probably copied from the data."""
    for table, column in _private(policy):
        if column.keys is not None and column.keys_from is None and len(column.keys) > MOST_KEYS:
            yield Advice(
                lines.of("tables", table.name, "columns", column.name, "keys"),
                f"{_name(table, column)} lists {len(column.keys):,} keys: such lists are mostly copied from data, and "
                "what is in a policy is public",
                "take them from a table of public knowledge, keys: {from: table.column}; or list fewer, or remove keys",
            )


def type_limits(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Bounds that say what a type can hold, not what can be."""
    for table, column in _private(policy):
        if _as_wide_as_a_type(column):
            yield Advice(
                lines.of("tables", table.name, "columns", column.name, "bounds"),
                f"{_name(table, column)} has bounds as wide as a type: {_swamped(policy, table, column)}",
                "write the lowest and the highest value that can be, from what is known about the subject",
            )


def _largest(column: Column) -> Fraction:
    return max(map(abs, _numbers(column) or (Fraction(0),)))


def _as_wide_as_a_type(column: Column) -> bool:
    largest = _largest(column)
    if largest in _TYPE_LIMITS or largest >= TOO_LARGE:
        return True
    if column.type.kind is not Kind.DECIMAL or largest < _LARGE_DECIMAL:
        return False
    precision, scale = column.type.precision or 0, column.type.scale or 0
    return largest == Fraction(10**precision - 1, 10**scale)


def _swamped(policy: Policy, table: Table, column: Column) -> str:
    """How large values would have to be for noise not to swamp their sum."""
    rows = table.unit.max_rows if isinstance(table.unit, Unit) else 1
    scale = _largest(column) * rows / policy.privacy.epsilon
    return (
        f"at ε {decimal_text(policy.privacy.epsilon)} the noise of SUM({printable(column.name)}) has the scale "
        f"{_number(scale)}, as much as 1,000 rows of {_number(scale / 1000)} each"
    )


def known_ranges(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Bounds that are wider than what is known of ages, hours and the like."""
    for table, column in _private(policy):
        bounds, known = _numbers(column), _RANGES.get(words(column.name)[-1:][0] if words(column.name) else "")
        if bounds is None or known is None or bounds[0] > known[1]:
            continue  # of another kind, such as 202412
        times = (bounds[1] - bounds[0]) / (known[1] - known[0])
        if times > _WIDER_THAN_RANGE:
            yield Advice(
                lines.of("tables", table.name, "columns", column.name, "bounds"),
                f"{_name(table, column)} has bounds {_number(times)} times as wide as {known[0]} to {known[1]}, "
                "and its averages that much more noise",
                f"write bounds: [{known[0]}, {known[1]}]",
            )


def wider_namesakes(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Bounds a thousand times wider than those of a column of the same name elsewhere."""
    widths: dict[str, list[tuple[Fraction, Table, Column]]] = defaultdict(list)
    for table in policy.tables.values():
        for column in table.columns.values():
            bounds = _numbers(column)
            if bounds is not None and bounds[0] < bounds[1]:
                widths[column.name.lower()].append((bounds[1] - bounds[0], table, column))
    for found in widths.values():
        least, narrow, same = min(found, key=lambda each: each[0])
        for width, table, column in found:
            if not table.public and width >= WIDER * least and not _as_wide_as_a_type(column):
                yield Advice(
                    lines.of("tables", table.name, "columns", column.name, "bounds"),
                    f"{_name(table, column)} has bounds {_number(width / least)} times as wide as "
                    f"{_name(narrow, same)}, and its averages that much more noise",
                    "write the same bounds for both, if they hold the same; else give the columns other names",
                )


def centuries(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Dates over more than a life: nearly all groups are empty, and show noise alone."""
    for table, column in _private(policy):
        if column.bounds is None or column.type.kind not in (Kind.DATE, Kind.TIMESTAMP):
            continue
        years = _year(column.bounds[1]) - _year(column.bounds[0])
        if years > MOST_YEARS:
            yield Advice(
                lines.of("tables", table.name, "columns", column.name, "bounds"),
                f"{_name(table, column)} has bounds over {years:,} years: groups by month are {years * 12:,}, "
                "each with noise, most of them with nothing else",
                "write the first and the last day that the data are about, such as bounds: [2015-01-01, 2030-12-31]",
            )


def _year(bound: Bound) -> int:
    return bound.year if isinstance(bound, dt.date) else 0


def categories_without_keys(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Text by which analysts will want to group, and can't."""
    for table, column in _private(policy) if policy.privacy.delta is None else ():
        of_unit = isinstance(table.unit, Unit) and table.unit.column == column.name.lower()
        no_keys = column.keys is None and column.keys_from is None and column.type.kind is Kind.TEXT
        if no_keys and not of_unit and words(column.name)[-1:] and words(column.name)[-1] in _CATEGORIES:
            yield Advice(
                lines.of("tables", table.name, "columns", column.name),
                f"no query can group by {_name(table, column)}: it has no keys, and there is no privacy.delta",
                "write all its values as keys: [a, b, c], from what is known about the subject; or remove the column",
            )


RULES = (
    groups_of_one, many_keys, type_limits, known_ranges, wider_namesakes, centuries, categories_without_keys,
)  # fmt: skip
