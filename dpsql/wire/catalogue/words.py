"""What the policy says of tables and columns, in words: their comments in PostgreSQL, and dpsql's own tables."""

from __future__ import annotations

from fractions import Fraction

from dpsql.policy import Column, Key, Table, Unit

MOST_KEYS = 20
"""Keys of a column that its comment lists."""


def shown(value: Key | Fraction) -> str:
    """A bound or key."""
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else repr(float(value))
    return "NULL" if value is None else str(value)


def unit(table: Table) -> str:
    """Whose a table's rows are: `public`, `row`, a column, or the table that knows."""
    found = table.unit
    if found is None:
        return "public"
    if isinstance(found, Unit):
        return found.column or (f"via {found.via.parent}" if found.via else "")
    return found


def comment_on_table(table: Table) -> str:
    """Its description, and its privacy unit."""
    found = table.unit
    if found is None:
        whose = "public: answered exactly, at no cost"
    elif isinstance(found, Unit):
        whose = f"privacy unit: {unit(table)}, about {found.max_rows} rows of each count in full"
    else:
        whose = "privacy unit: each row"
    return "; ".join(filter(None, (table.description, whose)))


def comment_on_column(table: Table, column: Column) -> str | None:
    """Its description, bounds, keys, and whether it names the privacy unit."""
    parts = [column.description]
    if column.bounds is not None:
        parts.append(f"bounds {shown(column.bounds[0])} to {shown(column.bounds[1])}")
    if column.keys is not None:
        more = len(column.keys) - MOST_KEYS
        parts.append(f"keys {', '.join(map(shown, column.keys[:MOST_KEYS]))}{f' and {more} more' if more > 0 else ''}")
    if isinstance(table.unit, Unit) and table.unit.column == column.name.lower():
        parts.append("names the privacy unit")
    return "; ".join(filter(None, parts)) or None
