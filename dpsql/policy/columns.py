"""The columns of a table: type, bounds, keys, grain, each checked against the others."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable
from fractions import Fraction

from dpsql.policy.document import Mapping, Node, Scalar, Sequence
from dpsql.policy.model import KEY_KINDS, Bound, Column, ColumnType, Key, Kind
from dpsql.policy.problems import Problems, on_lines, quoted, similar
from dpsql.policy.references import Reference
from dpsql.policy.section import Section, found, is_unusable, number_problem

BIGINT = (-(2**63), 2**63 - 1)
MAX_DOUBLE = Fraction(1.7976931348623157e308)
MAX_PRECISION = 38

_KINDS = {
    "integer": Kind.INTEGER,
    "int": Kind.INTEGER,
    "bigint": Kind.INTEGER,
    "decimal": Kind.DECIMAL,
    "numeric": Kind.DECIMAL,
    "double": Kind.DOUBLE,
    "float": Kind.DOUBLE,
    "text": Kind.TEXT,
    "string": Kind.TEXT,
    "varchar": Kind.TEXT,
    "boolean": Kind.BOOLEAN,
    "bool": Kind.BOOLEAN,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
}
KEY_TYPES = "integer, decimal(p,s), text, date or timestamp"
"""The types of `KEY_KINDS`, for hints."""
_TYPES = "integer, decimal(p,s), double, text, boolean, date or timestamp"
_TYPE = re.compile(r"(?P<name>[A-Za-z]+)\s*(?:\(\s*(?P<p>[0-9]{1,3})\s*(?:,\s*(?P<s>[0-9]{1,3})\s*)?\))?")
_CUT_DECIMAL = re.compile(r"(decimal|numeric)\s*\([^)]*", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    rf"(?P<date>{_DATE.pattern})(?:[Tt ](?P<time>[0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]{{1,6}})?)?)"
    r" ?(?P<zone>[Zz]|[+-][0-9]{2}:?[0-9]{2})?)?"
)


class _Wrong(Exception):
    """The node does not hold a value of the type."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def read_column(section: Section, name: str, problems: Problems) -> tuple[Column | None, Reference | None]:
    """The column, and what `keys: {from: …}` names where its keys come from a public table."""
    column_type = _read_type(section)
    nullable = section.boolean("nullable")
    description = section.text("description", "what it holds") or ""
    if column_type is None:
        return None, None
    reference = _reference(section, column_type, problems)
    keys = None if reference else _read_keys(section, column_type, problems)
    if keys and None in keys and nullable is False:
        section.problem(
            "nullable",
            f"{section.path} has the key null and says nullable: false",
            "write nullable: true, or remove null from the keys",
        )
    column = Column(
        name=name,
        type=column_type,
        bounds=_read_bounds(section, column_type, keys, problems),
        keys=keys,
        grain=_read_grain(section, column_type),
        nullable=bool(nullable) or bool(keys and None in keys),
        description=description,
        line=section.line,
        unique=_read_unique(section, column_type),
    )
    _check_grain(section, column)
    return column, reference


def _read_unique(section: Section, column_type: ColumnType) -> bool:
    unique = section.boolean("unique") is True
    if unique and column_type.kind not in KEY_KINDS:
        section.problem(
            "unique",
            f"{section.path} is {column_type.kind.value} and unique",
            f"only a column of type {KEY_TYPES} can be: remove unique",
        )
    return unique


def _read_type(section: Section) -> ColumnType | None:
    if not section.require("type", f"write type: {_TYPES}"):
        return None
    text = section.text("type", "integer")
    if text is None:
        return None
    match = _TYPE.fullmatch(text.strip())
    kind = _KINDS.get(match["name"].lower()) if match else None
    if match is None or kind is None:
        _refuse_type(section, text)
        return None
    if kind is Kind.DECIMAL:
        return _decimal(section, text, match["p"], match["s"])
    if match["p"] is not None:
        section.problem("type", f"{section.path}: the type {quoted(text)} takes no length", f"write {match['name']}")
        return None
    return ColumnType(kind)


def _refuse_type(section: Section, text: str) -> None:
    meant = similar(text.partition("(")[0].strip(), _KINDS)
    if _CUT_DECIMAL.fullmatch(text):
        hint = 'between { and } a comma ends a value: put quotes around the type, type: "decimal(10,2)"'
    else:
        hint = f"did you mean {quoted(meant)}?" if meant else f"write {_TYPES}"
    section.problem("type", f"{section.path} has the unknown type {quoted(text)}", hint)


def _decimal(section: Section, text: str, p: str | None, s: str | None) -> ColumnType | None:
    if p is not None and 1 <= int(p) <= MAX_PRECISION and int(s or 0) <= int(p):
        return ColumnType(Kind.DECIMAL, int(p), int(s or 0))
    section.problem(
        "type",
        f"{section.path}: {quoted(text)} needs a precision of 1 to {MAX_PRECISION} and a scale up to that",
        'write for example type: "decimal(10,2)": ten digits, two of them after the point',
    )
    return None


def _read_bounds(
    section: Section, column_type: ColumnType, keys: tuple[Key, ...] | None, problems: Problems
) -> tuple[Bound, Bound] | None:
    node = section.node("bounds")
    if node is None:
        return None
    if column_type.kind in (Kind.TEXT, Kind.BOOLEAN):
        section.problem(
            "bounds",
            f"{section.path} is {column_type.kind.value} and has bounds",
            "remove them; list the possible values as keys: [...]",
        )
        return None
    example = _EXAMPLES[column_type.kind]
    if not isinstance(node, Sequence) or len(node.items) != 2:
        what = f"a list of {len(node.items)}" if isinstance(node, Sequence) else found(node)
        problems.add(
            node.line,
            f"{section.path}: bounds must be a list of two, found {what}",
            f"write bounds: {example}",
        )
        return None
    ends = [_bound(item, column_type, section.path, problems) for item in node.items]
    lower, upper = ends
    if lower is None or upper is None:
        return None
    if _after(lower, upper):
        low, high = (quoted(item.written).strip("'") if isinstance(item, Scalar) else "" for item in node.items)
        problems.add(
            node.line,
            f"{section.path}: the lower bound is above the upper one, {low} > {high}",
            f"write the smaller one first: bounds: [{high}, {low}]",
        )
        return None
    if "keys" in section:
        _refuse_both(section, keys, lower, upper)
    return lower, upper


def _refuse_both(section: Section, keys: tuple[Key, ...] | None, lower: Bound, upper: Bound) -> None:
    message = f"{section.path} has both keys and bounds"
    outside = [key for key in keys or () if key is not None and _outside(key, lower, upper)]
    if outside:
        message += f", and the key {outside[0]} lies outside the bounds"
    section.problem("bounds", message, "keep the keys: bounds follow from them; or keep the bounds alone")


def _outside(key: Key, lower: Bound, upper: Bound) -> bool:
    bound: Bound = Fraction(key) if isinstance(key, int) else key  # type: ignore[assignment]
    return _after(lower, bound) or _after(bound, upper)


def _after(one: Bound, other: Bound) -> bool:
    """Whether `one` > `other`. Both are ends of one column, so both have one type."""
    return one > other  # type: ignore[operator]


def _bound(node: Node, column_type: ColumnType, path: str, problems: Problems) -> Bound | None:
    value = _typed(node, column_type, f"a bound of {path}", problems)
    if isinstance(value, int):
        return Fraction(value)
    return value if isinstance(value, Fraction | dt.date) else None


def _read_grain(section: Section, column_type: ColumnType) -> Fraction | None:
    if "grain" not in section:
        return None
    if column_type.kind is not Kind.DOUBLE:
        natural = "10^-s" if column_type.kind is Kind.DECIMAL else "1"
        numeric = column_type.kind in (Kind.DECIMAL, Kind.INTEGER)
        hint = f"remove it: the grain of {column_type.kind.value} is {natural}" if numeric else "remove it"
        section.problem("grain", f"{section.path} is {column_type.kind.value} and has a grain", hint)
        return None
    grain = section.number("grain", "0.01")
    if grain is not None and grain <= 0:
        section.problem("grain", f"{section.path}: the grain must be above 0", "write for example grain: 0.01")
        return None
    return grain


def _check_grain(section: Section, column: Column) -> None:
    if column.grain is None or column.bounds is None:
        return
    lower, upper = column.bounds
    if isinstance(lower, Fraction) and isinstance(upper, Fraction) and lower < upper and column.grain > upper - lower:
        section.problem(
            "grain",
            f"{section.path}: the grain is wider than the bounds",
            "write a grain that is a small part of upper minus lower, or leave it out",
        )


def _reference(section: Section, column_type: ColumnType, problems: Problems) -> Reference | None:
    node = section.node("keys")
    if not isinstance(node, Mapping):
        return None
    if _refuse_double(section, column_type):
        return None
    if "bounds" in section:
        section.problem("bounds", f"{section.path} has both keys and bounds", "keep the keys: bounds follow from them")
    inner = section.section("keys", "keys", "keys: {from: regions.region}")
    if inner is None or not inner.require("from", "write keys: {from: regions.region}"):
        return None
    text = inner.text("from", "regions.region")
    return None if text is None else Reference(text, inner.line_of("from"))


def _refuse_double(section: Section, column_type: ColumnType) -> bool:
    if column_type.kind is not Kind.DOUBLE:
        return False
    section.problem(
        "keys",
        f"{section.path} is double and has keys",
        "declare it as integer or decimal(p,s), or group by an expression such as FLOOR(x / 10)",
    )
    return True


def _read_keys(section: Section, column_type: ColumnType, problems: Problems) -> tuple[Key, ...] | None:
    node = section.node("keys")
    if node is None or isinstance(node, Mapping) or _refuse_double(section, column_type):
        return None
    if not isinstance(node, Sequence):
        problems.add(node.line, f"{section.path}: keys must be a list, found {found(node)}", "write keys: [a, b, c]")
        return None
    if not node.items:
        problems.add(node.line, f"{section.path}: the list of keys is empty", "list at least one key, or remove keys")
        return None
    seen: dict[Key, tuple[Scalar, Key]] = {}
    for item in node.items:
        if isinstance(item, Scalar):
            _add_key(seen, item, column_type, section.path, problems)
        else:
            problems.add(item.line, f"a key of {section.path} must be a value, found {found(item)}", "write one value")
    return tuple(key for _, key in seen.values()) or None


def _add_key(
    seen: dict[Key, tuple[Scalar, Key]], item: Scalar, column_type: ColumnType, path: str, problems: Problems
) -> None:
    """Add the key, unless it is none of the column's type or is there already."""
    key: Key = None
    if item.value is not None:
        key = _typed(item, column_type, f"a key of {path}", problems)
        if key is None:
            return
    elif not item.written:
        problems.add(item.line, f"a key of {path} is empty", 'write null for NULL, or "" for the empty text')
        return
    same = unicodedata.normalize("NFC", key) if isinstance(key, str) else key
    earlier, _ = seen.setdefault(same, (item, key))
    if earlier is not item:
        other_form = " after Unicode normalisation (NFC)" if isinstance(key, str) and earlier.text != key else ""
        problems.add(
            item.line,
            f"{path}: the key {quoted(item.written)} is listed twice{other_form}, {on_lines(earlier.line, item.line)}",
            "keep one of the two",
        )


def _typed(node: Node, column_type: ColumnType, what: str, problems: Problems) -> Key:
    """The value, typed by the column; None with a problem where it does not fit."""
    if is_unusable(node):
        return None
    try:
        return _READERS[column_type.kind](node, column_type, what)
    except _Wrong as wrong:
        problems.add(node.line, wrong.message, wrong.hint)
        return None


def _boolean(node: Node, _: ColumnType, what: str) -> bool:
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return node.value
    raise _Wrong(f"{what} must be true or false, found {found(node)}", "write true or false, without quotes")


def _number(node: Node, what: str) -> Fraction:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    raise _Wrong(*number_problem(node, what, "0 or 100"))


def _integer(node: Node, _: ColumnType, what: str) -> int:
    number = _number(node, what)
    if number.denominator != 1:
        raise _Wrong(f"{what} must be a whole number, found {found(node)}", "write a whole number, or another type")
    if not BIGINT[0] <= number <= BIGINT[1]:
        raise _Wrong(f"{what} is {found(node)}, beyond BIGINT", f"stay between {BIGINT[0]} and {BIGINT[1]}")
    return int(number)


def _exact_decimal(node: Node, column_type: ColumnType, what: str) -> Fraction:
    number = _number(node, what)
    precision, scale = column_type.precision or 0, column_type.scale or 0
    if (number * 10**scale).denominator != 1:
        raise _Wrong(f"{what} is {found(node)}, which has more decimals than {scale}", "round it, or change the type")
    if abs(number) >= 10 ** (precision - scale):
        name = f"decimal({precision},{scale})"
        raise _Wrong(
            f"{what} is {found(node)}, beyond {name}",
            f"stay below 10^{precision - scale}, or change the type",
        )
    return number


def _double(node: Node, _: ColumnType, what: str) -> Fraction:
    number = _number(node, what)
    if abs(number) > MAX_DOUBLE:
        raise _Wrong(f"{what} is {found(node)}, beyond the range of a double", "stay within ±1.79e308")
    return number


def _text(node: Node, _: ColumnType, what: str) -> str:
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return node.value
    hint = f'put it in quotes: "{node.text}"' if isinstance(node, Scalar) and node.text else "write a text"
    raise _Wrong(f"{what} must be a text, found {found(node)}", hint)


def _date(node: Node, _: ColumnType, what: str) -> dt.date:
    text = node.value if isinstance(node, Scalar) else None
    try:
        if isinstance(text, str) and _DATE.fullmatch(text):
            return dt.date.fromisoformat(text)
    except ValueError:
        pass
    raise _Wrong(f"{what} must be a date, found {found(node)}", "write year-month-day, for example 2020-12-31")


def _timestamp(node: Node, _: ColumnType, what: str) -> dt.datetime:
    """A point in time, in UTC unless an offset says otherwise; naive, as the engine's TIMESTAMP is."""
    text = node.value if isinstance(node, Scalar) else None
    match = _TIMESTAMP.fullmatch(text) if isinstance(text, str) else None
    try:
        if match:
            iso = f"{match['date']}T{match['time'] or '00:00'}{(match['zone'] or '').upper()}"
            point = dt.datetime.fromisoformat(iso)
            return point.astimezone(dt.UTC).replace(tzinfo=None) if point.tzinfo else point
    except (ValueError, OverflowError):
        pass
    raise _Wrong(
        f"{what} must be a timestamp, found {found(node)}",
        "write for example 2020-12-31 23:59:59; without offset it is UTC",
    )


_READERS: dict[Kind, Callable[[Node, ColumnType, str], Key]] = {
    Kind.BOOLEAN: _boolean,
    Kind.INTEGER: _integer,
    Kind.DECIMAL: _exact_decimal,
    Kind.DOUBLE: _double,
    Kind.TEXT: _text,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
}
_EXAMPLES = {
    Kind.INTEGER: "[0, 100]",
    Kind.DECIMAL: "[0, 99.99]",
    Kind.DOUBLE: "[0, 1.5]",
    Kind.DATE: "[2020-01-01, 2020-12-31]",
    Kind.TIMESTAMP: "[2020-01-01 00:00:00, 2020-12-31 23:59:59]",
}
