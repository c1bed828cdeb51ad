"""Advice on whose rows they are, and how many of one unit count."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from dpsql.audit.findings import Advice
from dpsql.policy import Kind, Lines, Policy, Table, Unit
from dpsql.policy.names import is_generic, names_person
from dpsql.policy.problems import printable
from dpsql.privacy.interval import laplace_half_width
from dpsql.privacy.loss import decimal_text

LARGEST_SCALE = 1000
"""Of a count's noise, at the policy's ε: with more, groups below thousands of rows can't be told from empty ones."""
LOOSER = 10
"""How many times max_rows may be above what max_groups and max_rows_per_key let count."""


def _unit_columns(policy: Policy) -> dict[str, Table]:
    """The telling names of unit columns, in lower case, each with the first table that has it."""
    found: dict[str, Table] = {}
    for table in policy.tables.values():
        if isinstance(table.unit, Unit) and table.unit.column is not None and not is_generic(table.unit.column):
            found.setdefault(table.unit.column, table)
    return found


def rows_of_persons(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Rows that are protected one by one, where a column seems to say that several are one person's."""
    units = _unit_columns(policy)
    for table in policy.tables.values():
        if table.unit != "row":
            continue
        for name, column in table.columns.items():
            names_unit = column.type.kind in (Kind.INTEGER, Kind.TEXT) and names_person(column.name)
            if frozenset({name}) in table.unique or not (name in units or names_unit):
                continue
            shown = printable(column.name)
            like = f", as the rows of {printable(units[name].name)} are" if name in units else ""
            yield Advice(
                lines.of("tables", table.name, "unit"),
                f"each row of {printable(table.name)} is protected by itself, but {shown} seems to say whose it is"
                f"{like}: a person with k rows is promised k times the ε",
                f"write unit: {{column: {shown}, max_rows: 20}}; or, if nobody has two rows, unique: true at {shown}",
            )
            break


def public_units(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Public tables that name units: whoever is in them is shown."""
    units = _unit_columns(policy)
    for table in policy.tables.values():
        if table.public:
            name = next((name for name in (*table.columns, *table.primary_key) if name in units), None)
            if name is not None:
                yield Advice(
                    lines.of("tables", table.name, "public"),
                    f"{printable(table.name)} is public and has {printable(name)}, which in "
                    f"{printable(units[name].name)} names the privacy unit: all its rows are shown as they are",
                    f"write unit: {{column: {printable(name)}, max_rows: 20}} in the place of public, or give the "
                    "column another name if it means something else",
                )


def wide_max_rows(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Contribution bounds so large that noise swamps every count."""
    epsilon = policy.privacy.epsilon
    for table in policy.tables.values():
        if not isinstance(table.unit, Unit) or table.unit.max_rows <= LARGEST_SCALE * epsilon:
            continue
        half_width = laplace_half_width(Fraction(table.unit.max_rows) / epsilon)
        yield Advice(
            lines.of("tables", table.name, "unit", "max_rows"),
            f"one unit may count with {table.unit.max_rows:,} rows, so at ε {decimal_text(epsilon)} a count of "
            f"{printable(table.name)} is known to ± {half_width:,}: smaller groups can't be told from empty ones",
            "write as max_rows what nearly all units stay below: those with more count in proportion",
        )


def loose_groups(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """A max_rows far above what the other two bounds let count."""
    for table in policy.tables.values():
        unit = table.unit
        if not isinstance(unit, Unit) or unit.max_groups is None or unit.max_rows_per_key is None:
            continue
        product = unit.max_groups * unit.max_rows_per_key
        if unit.max_rows > LOOSER * product:
            yield Advice(
                lines.of("tables", table.name, "unit", "max_rows"),
                f"{printable(table.name)} has max_rows {unit.max_rows:,}, but max_groups and max_rows_per_key let "
                f"{product:,} rows count: without groups an answer has {math.floor(unit.max_rows / product):,} times "
                "the noise that it has with them",
                f"write max_rows: {product}, or more groups and rows in each",
            )


RULES = (rows_of_persons, public_units, wide_max_rows, loose_groups)
