"""Whose a row is, and which columns tell rows apart: `unit` and `primary_key`.

They are read with their table and looked up when all tables are known.
"""

from __future__ import annotations

from collections.abc import Mapping as Named
from dataclasses import dataclass, field, replace
from typing import Literal

from dpsql.policy.columns import KEY_TYPES
from dpsql.policy.document import Mapping, Scalar, Sequence
from dpsql.policy.model import KEY_KINDS, Column, ForeignKey, Table, Unit
from dpsql.policy.problems import Problems, quoted, similar
from dpsql.policy.references import Declared, Reference
from dpsql.policy.section import Section, found, text_of, unique_names

MAX_ROWS = 2**30

_BY_COLUMN = "unit: {column: customer_id, max_rows: 20}"
_BY_KEY = "unit: {via: orders.order_id, max_rows: 60}"
_VIA = "via: orders.order_id, or via: {my_order: orders.order_id}"
_NUMBERS = {"max_rows": "20", "max_groups": "5", "max_rows_per_key": "4"}
_MAX_ROWS = "write for example max_rows: 20: of one unit at most about so many rows count in full"


@dataclass(frozen=True, slots=True)
class WrittenUnit:
    """`unit: {…}` as it is written. Where it is wrong, it has neither column nor via."""

    section: Section
    column: str | None = None
    via: tuple[tuple[str | None, Reference], ...] = ()
    """Column and what it refers to; None for the column of the same name."""
    numbers: Named[str, int] = field(default_factory=dict)


# ---------------------------------------------------------------------------------------------- reading


def read_unit(table: Section, problems: Problems) -> Literal["row"] | WrittenUnit:
    """What is written as the unit of a private table."""
    node = table.node("unit")
    if isinstance(node, Mapping):
        section = table.section("unit", "a unit", f"{_BY_COLUMN}, or unit: row if no two rows are of one person")
        return WrittenUnit(table) if section is None else _read_unit(section, problems)
    if isinstance(node, Scalar) and node.value == "row":
        return "row"
    if node is not None:
        text = node.text if isinstance(node, Scalar) and isinstance(node.value, str) else ""
        column = text if text.isidentifier() else "customer_id"
        hint = f"write unit: row if no two rows are of one person, else unit: {{column: {column}, max_rows: 20}}"
        columns = table.node("columns")
        named = [name.text.lower() for name, _ in columns.items] if isinstance(columns, Mapping) else []
        if text and column.lower() not in named:
            hint += f" and {column}: {{type: integer}} among the columns"
        if similar(text, ("row",)):
            hint = "did you mean 'row'?"
        table.problem("unit", f"{table.where('unit')} must be row or a mapping, found {found(node)}", hint)
    return WrittenUnit(table)


def _read_unit(section: Section, problems: Problems) -> WrittenUnit:
    numbers = {key: number for key in _NUMBERS if (number := _whole_number(section, key)) is not None}
    if "max_rows_per_key" in section and "max_groups" not in section:
        section.problem(
            "max_rows_per_key",
            f"{section.path} has max_rows_per_key, but no max_groups",
            "write how many groups of one unit count, for example max_groups: 5; or remove max_rows_per_key",
        )
    if "column" in section and "via" in section:
        section.problem(
            "via",
            f"{section.path} has both column and via",
            "keep column where a column of this table names the unit, via where the row it refers to does",
        )
        return WrittenUnit(section)
    if not section.require_any(("column", "via"), f"write {_BY_COLUMN}, or {_BY_KEY}"):
        return WrittenUnit(section)
    if "via" in section:
        section.require("max_rows", _MAX_ROWS)
    return WrittenUnit(section, section.text("column", "customer_id"), _read_via(section, problems), numbers)


def _whole_number(section: Section, key: str) -> int | None:
    number = section.number(key, _NUMBERS[key])
    if number is None:
        return None
    if number.denominator == 1 and 1 <= number <= MAX_ROWS:
        return int(number)
    message = f"{section.where(key)} must be a whole number from 1 to 2^30"
    section.problem(key, message, f"write for example {key}: {_NUMBERS[key]}")
    return None


def _read_via(section: Section, problems: Problems) -> tuple[tuple[str | None, Reference], ...]:
    node = section.node("via")
    if not isinstance(node, Mapping):
        text = section.text("via", "orders.order_id")
        return () if text is None else ((None, Reference(text, section.line_of("via"))),)
    section.mapping("via", _VIA)
    links: list[tuple[str, Reference]] = []
    for name, value in unique_names(node.items, "a column", problems):
        shown = quoted(name.written)[1:-1]
        text = text_of(value, f"{section.where('via')}.{shown}", f"{shown}: orders.order_id", problems)
        if text is not None:
            links.append((name.text, Reference(text, name.line)))
    return tuple(links) if len(links) == len(node.items) else ()


def read_primary_key(table: Section, problems: Problems) -> tuple[str, ...]:
    """The columns of the primary key, as they are written."""
    node = table.node("primary_key")
    if not isinstance(node, Sequence):
        name = table.text("primary_key", "order_id, or primary_key: [order_id, line]")
        return () if name is None else (name,)
    if not node.items:
        table.problem(
            "primary_key", f"{table.where('primary_key')} is empty", "write primary_key: order_id, or remove it"
        )
    names: dict[str, str] = {}
    for item in node.items:
        name = text_of(item, f"a column of {table.where('primary_key')}", "primary_key: [order_id, line]", problems)
        if name is not None and names.setdefault(name.lower(), name) is not name:
            message = f"{table.where('primary_key')} has the column {quoted(name)} twice"
            problems.add(item.line, message, "keep one of the two")
    return tuple(names.values())


# ---------------------------------------------------------------------------------------------- looking up


def resolve_primary_key(name: str, written: tuple[str, ...], line: int, declared: Declared) -> None:
    """Note the primary key in the table. Where a public table declares no columns, the data must have them."""
    table = declared.tables[name]
    for each in written if table.columns else ():
        column = declared.column(table, each, line)
        if column is not None:
            _check_key_kind(column, f"the primary key of {quoted(table.name)}", line, declared.problems)
    declared.tables[name] = replace(table, primary_key=tuple(each.lower() for each in written))


def resolve_units(written: Named[str, WrittenUnit], declared: Declared) -> None:
    """Note in each table its unit. Primary keys must be there."""
    for name, unit in written.items():
        table = declared.tables.get(name)
        found = None if table is None else _resolve(table, unit, written, declared)
        if table is not None and found is not None:
            declared.tables[name] = replace(table, unit=found)
    _check_cycles(written, declared)
    _check_one_space(written, declared)


def _resolve(table: Table, unit: WrittenUnit, units: Named[str, WrittenUnit], declared: Declared) -> Unit | None:
    if unit.column is not None:
        column = _unit_column(table, unit.column, unit.section, declared)
        max_rows = None if column is None else _max_rows(table, column, unit)
        via = None
    else:
        column, max_rows = None, unit.numbers.get("max_rows")
        via = _foreign_key(table, unit, units, declared)
    if max_rows is None or (column is None and via is None):
        return None
    return Unit(
        column=None if column is None else column.name.lower(),
        via=via,
        max_rows=max_rows,
        max_groups=unit.numbers.get("max_groups"),
        max_rows_per_key=unit.numbers.get("max_rows_per_key"),
    )


def _unit_column(table: Table, name: str, section: Section, declared: Declared) -> Column | None:
    column = declared.column(table, name, section.line_of("column"))
    if column is None:
        return None
    where = f"the unit column {quoted(column.name)} of {quoted(table.name)}"
    if column.type.kind not in KEY_KINDS:
        section.problem("column", f"{where} is {column.type}", f"a unit is named by a column of type {KEY_TYPES}")
        return None
    for key, value in (("bounds", column.bounds), ("keys", column.keys or column.keys_from)):
        if value is not None:
            hint = f"remove {key}: units are never shown or grouped by"
            declared.problems.add(column.line, f"{where} can't have {key}", hint)
    return column


def _max_rows(table: Table, column: Column, unit: WrittenUnit) -> int | None:
    """At most so many rows of one unit; one, where the unit column is unique."""
    if frozenset({column.name.lower()}) not in table.unique:
        unit.section.require("max_rows", f"{_MAX_ROWS}; or unique: true at the column where no unit has two rows")
        return unit.numbers.get("max_rows")
    if unit.numbers.get("max_rows", 1) > 1:
        unit.section.problem(
            "max_rows",
            f"{unit.section.where('max_rows')} is {unit.numbers['max_rows']}, "
            f"but no unit has two rows: {quoted(column.name)} is unique",
            "remove max_rows, or what says that the column is unique",
        )
    return 1


def _foreign_key(
    table: Table, unit: WrittenUnit, units: Named[str, WrittenUnit], declared: Declared
) -> ForeignKey | None:
    leads, problems = f"{unit.section.where('via')} leads to", declared.problems
    parent = ""
    columns: dict[str, str] = {}
    for local, reference in unit.via:
        target = declared.target(
            reference, leads=leads, example=_VIA, declare="declare it under tables, with a unit of its own"
        )
        if target is None or not _is_parent(target[0], reference, leads, units, declared):
            return None
        parent = parent or target[0]
        if target[0] != parent:
            one, other = (quoted(declared.tables[name].name) for name in (parent, target[0]))
            hint = "a row shares its unit with one row of one table: name columns of one"
            problems.add(reference.line, f"{leads} {one} and {other}", hint)
            return None
        column = _linked(table, local, target, reference, declared)
        if column is None:
            return None
        if target[1] in columns.values():
            hint = "name each column of the parent once"
            problems.add(reference.line, f"{leads} {quoted(reference.text)} twice", hint)
            return None
        columns[column] = target[1]
    return ForeignKey(parent, tuple(columns), tuple(columns.values())) if columns else None


def _is_parent(name: str, reference: Reference, leads: str, units: Named[str, WrittenUnit], declared: Declared) -> bool:
    """Whether rows of the table have a unit that can be shared."""
    table = declared.tables.get(name)
    if table is None or name in units:
        return table is not None
    what = "is public" if table.public else "has the unit row"
    declared.problems.add(
        reference.line,
        f"{leads} {quoted(table.name)}, which {what}",
        f"name a private table whose rows have a unit to share, such as {_BY_COLUMN}",
    )
    return False


def _linked(
    table: Table, local: str | None, target: tuple[str, str], reference: Reference, declared: Declared
) -> str | None:
    """The column of the table that refers to the target, in lower case."""
    parent = declared.tables[target[0]]
    theirs = declared.column(parent, target[1], reference.line)
    if theirs is None:
        return None
    hint = f"write via: {{my_column: {reference.text}}}, with the column that refers to it" if local is None else ""
    ours = declared.column(table, local or theirs.name, reference.line, hint)
    if ours is None:
        return None
    if not ours.type.matches(theirs.type):
        declared.problems.add(
            reference.line,
            f"{quoted(table.name)}: {quoted(ours.name)} is {ours.type}, "
            f"but {quoted(reference.text)}, to which it refers, is {theirs.type}",
            "give both columns the same type",
        )
        return None
    _check_key_kind(ours, f"{quoted(table.name)}: via", reference.line, declared.problems)
    return ours.name.lower()


def _check_key_kind(column: Column, what: str, line: int, problems: Problems) -> None:
    if column.type.kind not in KEY_KINDS:
        message = f"{what} has the column {quoted(column.name)}, which is {column.type}"
        problems.add(line, message, f"a key is of columns of type {KEY_TYPES}")


def _check_cycles(written: Named[str, WrittenUnit], declared: Declared) -> None:
    """Each way along `via` must end at a table whose unit is a column."""
    seen: set[str] = set()
    for start in written:
        path: list[str] = []
        name: str | None = start
        while name is not None and name not in seen:
            seen.add(name)
            path.append(name)
            via = declared.tables[name].via if name in declared.tables else None
            name = None if via is None else via.parent
        if name in path:
            cycle = [*path[path.index(name) :], name]
            section = written[cycle[0]].section
            section.problem(
                "via",
                f"{section.where('via')} leads back to its own table: "
                + " → ".join(quoted(declared.tables[each].name)[1:-1] for each in cycle),
                f"one of these tables must name its unit by a column: {_BY_COLUMN}",
            )


def _check_one_space(written: Named[str, WrittenUnit], declared: Declared) -> None:
    """Equal values of two unit columns are one unit: they must be of one kind."""
    first: tuple[str, Column] | None = None
    for name, unit in written.items():
        resolved = declared.tables[name].unit if name in declared.tables else None
        if not isinstance(resolved, Unit) or resolved.column is None:
            continue
        table = declared.tables[name]
        column = table.columns[resolved.column]
        place = f"{quoted(table.name)[1:-1]}.{quoted(column.name)[1:-1]}"
        first = first or (place, column)
        if not column.type.matches(first[1].type):
            unit.section.problem(
                "column",
                f"the unit columns {first[0]} and {place} have different types, {first[1].type} and {column.type}",
                "there is one unit space per policy, so that equal values are one unit: give both the same type",
            )
