"""What the policy says of tables and columns, in words, for dpsql's own tables."""

from __future__ import annotations

from fractions import Fraction

from dpsql.policy import Key, Table, Unit


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
