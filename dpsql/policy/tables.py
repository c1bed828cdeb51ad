"""The tables: source, columns, and the keys that one takes from another."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, field, replace

from dpsql.policy import sources
from dpsql.policy.columns import read_column
from dpsql.policy.model import Column, ColumnType, Kind, Table
from dpsql.policy.problems import Problems, quoted
from dpsql.policy.references import Declared, Reference
from dpsql.policy.section import Section, section_of, unique_names
from dpsql.policy.units import WrittenUnit, read_primary_key, read_unit, resolve_primary_key, resolve_units


@dataclass(frozen=True, slots=True)
class _Keys:
    """`keys: {from: table.column}`, and the column it stands at (names in lower case)."""

    table: str
    column: str
    source: Reference


@dataclass(slots=True)
class _Pending:
    """What names other tables, or columns of its own: looked up when all tables are read."""

    keys: list[_Keys] = field(default_factory=list)
    primary_keys: dict[str, tuple[tuple[str, ...], int]] = field(default_factory=dict)
    """With their lines."""
    units: dict[str, WrittenUnit] = field(default_factory=dict)


def read_tables(top: Section, base: str, engine: str | None, problems: Problems) -> dict[str, Table]:
    example = "tables: {people: {source: people.csv, unit: row, columns: {age: {type: integer}}}}"
    if not top.require("tables", f"write {example}"):
        return {}
    node = top.mapping("tables", example)
    items = node.items if node else ()
    declared = Declared(problems, tuple(name.text.lower() for name, _ in items))
    pending = _Pending()
    for name, value in unique_names(items, "a table", problems):
        shown = quoted(name.written)[1:-1]
        section = section_of(name, value, shown, "a table", "source, unit and columns below it", problems)
        if section is not None:
            _read_table(name.text, section, base, engine, declared, pending)
    for keys in pending.keys:
        _resolve_keys(keys, declared)
    for table, (columns, line) in pending.primary_keys.items():
        if table in declared.tables:
            resolve_primary_key(table, columns, line, declared)
    resolve_units(pending.units, declared)
    _check_disjoint(declared.tables, problems)
    return declared.tables


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
    name: str, section: Section, base: str, engine: str | None, declared: Declared, pending: _Pending
) -> None:
    problems, key = declared.problems, name.lower()
    source = sources.read_source(section, base, engine)
    public = _read_protection(key, section, pending, problems)
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
        else:
            declared.wrong.add((key, column_name.text.lower()))
        if reference is not None:
            pending.keys.append(_Keys(key, column_name.text.lower(), reference))
    if "primary_key" in section:
        pending.primary_keys[key] = read_primary_key(section, problems), section.line_of("primary_key")
    if source is not None:
        declared.tables[key] = Table(
            name, source, "row" if public is False else None, columns, description, section.line
        )


def _read_protection(name: str, section: Section, pending: _Pending, problems: Problems) -> bool | None:
    """Whether the table is public, and its unit if not; None where it can't be told."""
    public = section.boolean("public") if "public" in section else False
    if public and "unit" in section:
        section.problem("unit", f"{section.path} is public and has a unit", "remove unit: or public:")
    elif "unit" in section:
        unit = read_unit(section, problems)
        if unit != "row":
            pending.units[name] = unit
    elif not public:
        pending.units[name] = WrittenUnit(section)
        if public is False:
            section.require(
                "unit",
                "write unit: row where each row is one person and nobody has two, else unit: {column: person_id, "
                "max_rows: 20}; or public: true where nothing in it is private",
            )
    return public


def _resolve_keys(keys: _Keys, declared: Declared) -> None:
    """Look up the public column that the keys come from, and note it in the column."""
    target = declared.target(
        keys.source,
        leads="keys come from",
        example="keys: {from: regions.region}",
        declare="declare it under tables, with public: true",
    )
    if target is None or keys.table not in declared.tables or target[0] not in declared.tables:
        return
    table, owner = declared.tables[target[0]], declared.tables[keys.table]
    column, text, line = owner.columns[keys.column], quoted(keys.source.text), keys.source.line
    if not table.public:
        declared.problems.add(
            line,
            f"keys come from {text}, but {quoted(table.name)} is private",
            "list the keys, or take them from a table with public: true",
        )
        return
    source = declared.column(table, target[1], line) if table.columns else None
    if table.columns and source is None:
        return
    if source is not None and not _same_kind(source.type, column.type):
        declared.problems.add(
            line,
            f"{text} is {source.type.kind.value}, but {quoted(column.name)} is {column.type.kind.value}",
            "give both columns the same type",
        )
        return
    owner.columns[keys.column] = replace(column, keys_from=target)


def _same_kind(one: ColumnType, other: ColumnType) -> bool:
    return one.kind is other.kind and one.kind is not Kind.DOUBLE
