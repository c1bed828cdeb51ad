"""What a policy declares of tables and columns, in words: for `dpsql check` and for comments that tools show."""

from __future__ import annotations

from fractions import Fraction

from dpsql.policy.model import Bound, Column, Key, Kind, Table, Unit

SHOWN_KEYS = 8


def bounds_text(column: Column) -> str:
    """`0 to 100`; "" without bounds."""
    return "" if column.bounds is None else f"{_bound(column.bounds[0])} to {_bound(column.bounds[1])}"


def keys_text(column: Column) -> str:
    """`1, 2, 3`; "" without keys."""
    if column.keys is None:
        return "false, true" if column.type.kind is Kind.BOOLEAN else ""
    shown = ", ".join(_key(key) for key in column.keys[:SHOWN_KEYS])
    more = f", … ({len(column.keys)})" if len(column.keys) > SHOWN_KEYS else ""
    origin = f" from {'.'.join(column.keys_from)}" if column.keys_from else ""
    return shown + more + origin


def fraction_text(value: Fraction) -> str:
    """A number to nine digits."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.9g}"


def column_comment(table: Table, column: Column) -> str | None:
    """The description, and what can be asked of the column: its bounds and keys, or that it names the unit."""
    parts = [column.description]
    if not table.public:
        if isinstance(table.unit, Unit) and table.unit.column == column.name.lower():
            parts.append("names the privacy unit")
        parts += [bounds_text(column), keys_text(column)]
    return "; ".join(filter(None, parts)) or None


def table_comment(table: Table) -> str | None:
    """The description, and of a private table what is protected."""
    parts = [table.description]
    if table.unit == "row":
        parts.append("private: each row is a privacy unit")
    elif isinstance(table.unit, Unit):
        reached = table.unit.column and table.columns[table.unit.column].name
        reached = reached or (f"via {table.unit.via.parent}" if table.unit.via else "")
        parts.append(f"private: privacy unit {reached}")
    return "; ".join(filter(None, parts)) or None


def _key(key: Key) -> str:
    if key is None:
        return "NULL"
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (int, Fraction)):
        return fraction_text(Fraction(key))
    return key if isinstance(key, str) else str(key)


def _bound(bound: Bound) -> str:
    return fraction_text(bound) if isinstance(bound, Fraction) else str(bound)
