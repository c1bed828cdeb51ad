"""What a policy declares of tables and columns, in words: for `dpsql check` and for comments that tools show."""

from __future__ import annotations

from fractions import Fraction

from dpsql.policy.model import Bound, Column, Key, Kind, Table, Unit


def bounds_text(column: Column) -> str:
    """`0 to 100`; "" without bounds."""
    return "" if column.bounds is None else f"{_bound(column.bounds[0])} to {_bound(column.bounds[1])}"


def keys_text(column: Column, most: int = 8) -> str:
    """`1, 2, 3`, of many keys the first ones; "" without keys."""
    if column.keys is None:
        return "false, true" if column.type.kind is Kind.BOOLEAN else ""
    shown = ", ".join(_key(key) for key in column.keys[:most])
    more = f", … ({len(column.keys)})" if len(column.keys) > most else ""
    origin = f" from {'.'.join(column.keys_from)}" if column.keys_from else ""
    return shown + more + origin


def fraction_text(value: Fraction) -> str:
    """A number to nine digits."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.9g}"


def column_comment(table: Table, column: Column) -> str | None:
    """What it holds, its bounds and keys, and whether it names the privacy unit."""
    parts = [column.description]
    if column.bounds is not None:
        parts.append(f"bounds {bounds_text(column)}")
    if column.keys is not None:
        parts.append(f"keys {keys_text(column, most=20)}")
    if isinstance(table.unit, Unit) and table.unit.column == column.name.lower():
        parts.append("names the privacy unit")
    return "; ".join(filter(None, parts)) or None


def table_comment(table: Table) -> str:
    """What a row is, and whose."""
    return f"{table.description}; {_whose(table)}" if table.description else _whose(table)


def _whose(table: Table) -> str:
    unit = table.unit
    if unit is None:
        return "public: answered exactly, at no cost"
    if not isinstance(unit, Unit):
        return "privacy unit: each row"
    named = table.columns[unit.column].name if unit.column else f"via {unit.via.parent}" if unit.via else ""
    many = f", about {unit.max_rows} rows of each count in full" if unit.max_rows > 1 else ""
    return f"privacy unit: {named}{many}"


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
