"""What PostgreSQL 15's catalogue is made of: its relations with their columns, its types, their functions.

Facts that clients rely on, with PostgreSQL's own numbers. `python -m tests.wire.facts PORT` reads them from a server.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of a relation of the catalogue; `type` is PostgreSQL's name of it, as in pg_type.typname."""

    name: str
    type: str
    not_null: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of the catalogue; `kind` as in pg_class.relkind."""

    oid: int
    schema: str
    name: str
    kind: str
    columns: tuple[Attribute, ...]


@cache
def relations() -> Mapping[tuple[str, str], Relation]:
    """The relations by schema and name."""
    found = (
        Relation(int(row["oid"]), row["schema"], row["name"], row["kind"], tuple(_attributes(row["columns"])))
        for row in _rows("relations")
    )
    return {(relation.schema, relation.name): relation for relation in found}


def _attributes(text: str) -> Iterator[Attribute]:
    for written in text.split("|"):
        name, kind = written.rsplit(" ", 1)
        yield Attribute(name, kind.removesuffix("!"), kind.endswith("!"))


@cache
def column_types() -> Mapping[str, str]:
    """PostgreSQL's type of the columns of pg_catalog by their names, which two relations rarely share."""
    return {
        column.name: column.type
        for (schema, _), relation in relations().items()
        for column in relation.columns
        if schema == "pg_catalog"
    }


@cache
def types() -> Mapping[str, Row]:
    """The rows of pg_type by typname."""
    return {str(row["typname"]): _typed(row, "pg_type") for row in _rows("types")}


@cache
def functions() -> tuple[Row, ...]:
    """The rows of pg_proc: the functions that pg_type names."""
    return tuple(_typed(row, "pg_proc") for row in _rows("functions"))


def _typed(row: Mapping[str, str], relation: str) -> Row:
    """The row with its values as Python's, by the types of the relation's columns."""
    kinds = {column.name: column.type for column in relations()["pg_catalog", relation].columns}
    return {name: _value(text, kinds[name]) for name, text in row.items()}


def _value(text: str, kind: str) -> object:
    if kind == "oidvector":
        return [int(number) for number in text.split()]
    if kind == "bool":
        return text == "t"
    return text if kind in ("name", "char", "text") else int(text)


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = (files(__package__) / f"{name}.csv").read_text(encoding="utf-8")
    yield from csv.DictReader(text.splitlines())


CARRIERS: Mapping[str, str] = {
    "bool": "BOOLEAN", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "float4": "FLOAT", "float8": "DOUBLE",
    "oid": "UINTEGER", "xid": "UINTEGER", "regproc": "UBIGINT", "regtype": "UINTEGER", "timestamptz": "TIMESTAMP",
    "int2vector": "USMALLINT[]", "oidvector": "UBIGINT[]",
    "_int2": "SMALLINT[]", "_oid": "UINTEGER[]", "_regtype": "UINTEGER[]",
    "_text": "VARCHAR[]", "_name": "VARCHAR[]", "_char": "VARCHAR[]", "_aclitem": "VARCHAR[]", "anyarray": "VARCHAR[]",
}  # fmt: skip
"""DuckDB's type in which values of PostgreSQL's types are held; all others are texts.

Each tells what a result is in PostgreSQL: unsigned numbers are oids and the vectors of numbers, which PostgreSQL writes
in ways of its own.
"""


def carrier(kind: str) -> str:
    """DuckDB's type in which values of PostgreSQL's type are held."""
    return CARRIERS.get(kind, "VARCHAR")
