"""The tables: source, unit, columns, and the keys that one takes from another."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, field, replace
from typing import Literal

from dpsql.policy import sources
from dpsql.policy.columns import read_column
from dpsql.policy.document import Mapping
from dpsql.policy.model import Column, ColumnType, Kind, Table
from dpsql.policy.problems import Problems, one_of, quoted, similar
from dpsql.policy.section import Section, section_of, unique_names


@dataclass(slots=True)
class _Tables:
    """What is read of the tables, and what must wait until all are."""

    read: dict[str, Table] = field(default_factory=dict)
    references: list[_Reference] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Reference:
    """`keys: {from: table.column}` as written, and the column it stands at (names in lower case)."""

    table: str
    column: str
    line: int
    text: str


def read_tables(top: Section, base: str, engine: str | None, problems: Problems) -> dict[str, Table]:
    example = "tables: {people: {source: people.csv, unit: row, columns: {age: {type: integer}}}}"
    if not top.require("tables", f"write {example}"):
        return {}
    node = top.mapping("tables", example)
    tables = _Tables()
    for name, value in unique_names(node.items if node else (), "a table", problems):
        shown = quoted(name.written)[1:-1]
        section = section_of(name, value, shown, "a table", "source, unit and columns below it", problems)
        if section is not None:
            _read_table(name.text, section, base, engine, tables, problems)
    for reference in tables.references:
        _resolve(reference, tables.read, node, problems)
    _check_disjoint(tables.read, problems)
    return tables.read


def _check_disjoint(tables: dict[str, Table], problems: Problems) -> None:
    """A file that is private in one table must not be public in another: all of it would be shown."""
    private = {path: table.name for table in tables.values() if not table.public for path in _places(table)}
    for table in tables.values():
        shared = [path for path in _places(table) if path in private] if table.public else []
        if shared:
            problems.add(
                table.line,
                f"the public table {quoted(table.name)} reads the source of the private {quoted(private[shared[0]])}",
                "everything in a public table is shown: give it a file of its own, or leave it out",
            )


def _places(table: Table) -> list[str]:
    """The files of a table, links resolved; of a table of the engine its name."""
    if table.source.kind == "table":
        return [repr(tuple(part.lower() for part in sources.schema_and_name(table.source.location)))]
    return [os.path.realpath(file) for file in glob.glob(table.source.location, recursive=True)]


def _read_table(
    name: str, section: Section, base: str, engine: str | None, tables: _Tables, problems: Problems
) -> None:
    source = sources.read_source(section, base, engine)
    public = _read_unit(section)
    description = section.text("description", "what a row is") or ""
    columns: dict[str, Column] = {}
    example = "columns: {age: {type: integer, bounds: [0, 100]}}"
    if public is False:
        section.require("columns", f"write {example}: columns that are not named don't exist for analysts")
    node = section.mapping("columns", example)
    for column_name, value in unique_names(node.items if node else (), "a column", problems):
        path = f"{section.path}.{quoted(column_name.written)[1:-1]}"
        inner = section_of(column_name, value, path, "a column", "{type: integer, bounds: [0, 100]}", problems)
        column, reference = read_column(inner, column_name.text, problems) if inner else (None, None)
        if column is not None:
            columns[column_name.text.lower()] = column
        if reference is not None:
            tables.references.append(_Reference(name.lower(), column_name.text.lower(), *reference))
    if source is not None:
        unit: Literal["row"] | None = "row" if public is False else None
        tables.read[name.lower()] = Table(name, source, unit, columns, description, section.line)


def _read_unit(section: Section) -> bool | None:
    """Whether the table is public; None where it can't be told."""
    public = section.boolean("public") if "public" in section else False
    if public and "unit" in section:
        section.problem("unit", f"{section.path} is public and has a unit", "remove unit: or public:")
    elif "unit" in section:
        _check_unit(section)
    elif public is False:
        section.require(
            "unit",
            "write unit: row where each row is one person, or public: true where nothing in it is private",
        )
    return public


def _check_unit(section: Section) -> None:
    unit = section.text("unit", "row")
    if unit is not None and unit != "row":
        section.problem(
            "unit",
            f"{section.path} has the unit {quoted(unit)}, but the only unit yet is row",
            "write unit: row if no two rows are of one person; otherwise this table can't be protected yet",
        )


def _resolve(reference: _Reference, tables: dict[str, Table], declared: Mapping | None, problems: Problems) -> None:
    """Look up the public column that the keys come from, and note it in the column."""
    splits = _splits(reference.text)
    if not splits:
        problems.add(
            reference.line,
            f"{quoted(reference.text)} names no table and column",
            "write keys: {from: regions.region}",
        )
        return
    names = [name.text.lower() for name, _ in declared.items] if declared else []
    target = next((split for split in splits if split[0] in names), None)
    if target is None:
        meant = similar(splits[-1][0], names)
        hint = f"did you mean {quoted(meant)}?" if meant else "declare it under tables, with public: true"
        problems.add(reference.line, f"keys come from the unknown table {quoted(splits[-1][0])}", hint)
    elif reference.table in tables and target[0] in tables:
        _check_target(reference, target, tables, problems)


def _splits(text: str) -> list[tuple[str, str]]:
    """Each way to read the text as table.column."""
    dots = [i for i, character in enumerate(text) if character == "."][:8]
    return [(text[:i].lower(), text[i + 1 :].lower()) for i in dots if text[:i] and text[i + 1 :]]


def _check_target(reference: _Reference, target: tuple[str, str], tables: dict[str, Table], problems: Problems) -> None:
    table, owner = tables[target[0]], tables[reference.table]
    column = owner.columns[reference.column]
    source = table.columns.get(target[1])
    if not table.public:
        problems.add(
            reference.line,
            f"keys come from {quoted(reference.text)}, but {quoted(table.name)} is private",
            "list the keys, or take them from a table with public: true",
        )
    elif table.columns and source is None:
        meant = similar(target[1], table.columns)
        known = one_of(table.columns)
        hint = f"did you mean {quoted(meant)}?" if meant else f"write one of its columns: {known}"
        problems.add(reference.line, f"{quoted(table.name)} declares no column {quoted(target[1])}", hint)
    elif source is not None and not _same_kind(source.type, column.type):
        problems.add(
            reference.line,
            f"{quoted(reference.text)} is {source.type.kind.value}, "
            f"but {quoted(column.name)} is {column.type.kind.value}",
            "give both columns the same type",
        )
    else:
        owner.columns[reference.column] = replace(column, keys_from=target)


def _same_kind(one: ColumnType, other: ColumnType) -> bool:
    return one.kind is other.kind and one.kind is not Kind.DOUBLE
