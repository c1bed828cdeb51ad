"""The rows of pg_catalog: the policy's tables, columns, keys and descriptions, as PostgreSQL would hold them.

Privacy: made from the policy and from the columns of public tables. No row of a table is read, and where PostgreSQL
keeps numbers of rows and pages, here is what it says of a table that it never looked at (THREATS H11).
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby

from dpsql.policy import Column, ForeignKey, Kind, Table
from dpsql.policy.shown import column_comment, table_comment
from dpsql.wire.catalogue import facts
from dpsql.wire.catalogue.facts import Attribute, Relation, Row

FIRST = 16_384
"""The first number of what isn't the server's own."""
OWNER, OWNER_NAME, READER = 10, "dpsql", 16_382
"""The role that owns everything, and whoever reads."""
PUBLIC, PG_CATALOG, INFORMATION_SCHEMA, PG_TOAST = 2200, 11, 13_232, 99
PG_CLASS, PG_NAMESPACE, PG_CONSTRAINT = 1259, 2615, 2606
DATABASE, TABLESPACE, HEAP, BTREE, COLLATION = 16_383, 1663, 2, 403, 100


@dataclass(frozen=True, slots=True)
class Shown:
    """A column as PostgreSQL shows it: its type by name, its modifier (-1: none), its description."""

    name: str
    type: str
    modifier: int = -1
    not_null: bool = False
    description: str | None = None


def shown(table: Table, column: Column) -> Shown:
    """A declared column."""
    kind, modifier = _TYPES[column.type.kind], -1
    if column.type.kind is Kind.DECIMAL:
        assert column.type.precision is not None and column.type.scale is not None
        modifier = _modifier(column.type.precision, column.type.scale)
    return Shown(column.name.lower(), kind, modifier, not column.holds_null, column_comment(table, column))


def _modifier(precision: int, scale: int) -> int:
    """Of a numeric type, as in pg_attribute.atttypmod."""
    return (precision << 16 | scale) + 4


_TYPES = {
    Kind.BOOLEAN: "bool", Kind.INTEGER: "int8", Kind.DECIMAL: "numeric", Kind.DOUBLE: "float8", Kind.TEXT: "text",
    Kind.DATE: "date", Kind.TIMESTAMP: "timestamp",
}  # fmt: skip


def read(name: str, engine_type: str) -> Shown:
    """A column of a public table that the policy doesn't declare, by the engine's type of it."""
    decimal = re.fullmatch(r"DECIMAL\(([0-9]+),\s*([0-9]+)\)", engine_type)
    if decimal is not None:
        return Shown(name.lower(), "numeric", _modifier(int(decimal[1]), int(decimal[2])))
    return Shown(name.lower(), _ENGINE_TYPES.get(engine_type, "text"))


_ENGINE_TYPES = {
    "BOOLEAN": "bool", "TINYINT": "int2", "UTINYINT": "int2", "SMALLINT": "int2", "USMALLINT": "int4",
    "INTEGER": "int4", "UINTEGER": "int8", "BIGINT": "int8", "HUGEINT": "numeric", "FLOAT": "float4",
    "DOUBLE": "float8", "DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamptz",
}  # fmt: skip


@dataclass(slots=True)
class Contents:
    """The rows of pg_catalog by relation."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(FIRST))
    schemas: dict[str, int] = field(default_factory=dict)
    relations: dict[tuple[str, str], int] = field(default_factory=dict)
    """Numbers of relations by schema and name."""
    indexes: dict[int, list[tuple[int, frozenset[int]]]] = field(default_factory=dict)
    """The indexes of a relation, and the numbers of their columns."""

    def add(self, relation: str, **row: object) -> None:
        """Add a row; columns that aren't given have their type's empty value."""
        self.rows.setdefault(relation, []).append(row)


def contents(
    tables: Mapping[str, Table], columns: Mapping[str, Sequence[Shown]], own: Mapping[str, Sequence[Shown]]
) -> Contents:
    """The catalogue of the policy's tables; `columns` are theirs by lower-case name, `own` those of dpsql's tables."""
    made = Contents()
    _add_server(made)
    placed = [(*split(name), table) for name, table in tables.items()]
    for schema in dict.fromkeys([*(schema for schema, _, _ in placed), "dpsql"]):
        if schema not in made.schemas:
            _add_schema(made, next(made.numbers), schema, None)
    referred = {table.via.parent for table in tables.values() if table.via}
    for schema, name, table in placed:
        referring = table.via is not None or table.name.lower() in referred
        _add_table(made, schema, name, table, columns[table.name.lower()], referring)
    for full, shown_columns in own.items():
        schema, name = split(full)
        _add_relation(made, next(made.numbers), schema, name, "v", shown_columns)
    for schema, name, table in placed:
        _add_keys(made, schema, name, table, columns[table.name.lower()])
    for table in tables.values():
        if table.via is not None:
            _add_foreign_key(made, table, table.via, columns)
    return made


def split(name: str) -> tuple[str, str]:
    """Schema and name of a declared table."""
    schema, _, last = name.lower().rpartition(".")
    return schema or "public", last


# ---------------------------------------------------------------------------------------------- the server's own


def _add_server(made: Contents) -> None:
    for oid, name, description in (
        (PG_TOAST, "pg_toast", "reserved schema for TOAST tables"), (PG_CATALOG, "pg_catalog", "system catalog schema"),
        (PUBLIC, "public", "standard public schema"), (INFORMATION_SCHEMA, "information_schema", None),
    ):  # fmt: skip
        _add_schema(made, oid, name, description)
    for row in facts.types().values():
        made.add("pg_type", **_TYPE_ALIKE, **row)
    for row in facts.functions():
        made.add("pg_proc", **_FUNCTION_ALIKE, **row)
    for relation in facts.relations().values():
        columns = [Shown(c.name, c.type, -1, c.not_null) for c in relation.columns]
        _add_relation(made, relation.oid, relation.schema, relation.name, relation.kind, columns)
    for oid, name in ((2, "heap"), (403, "btree"), (405, "hash"), (783, "gist"), (2742, "gin"), (3580, "brin")):
        made.add("pg_am", oid=oid, amname=name, amtype="t" if oid == HEAP else "i")
    for oid, name, provider, encoding in ((100, "default", "d", -1), (950, "C", "c", -1), (951, "POSIX", "c", -1)):
        made.add(
            "pg_collation", oid=oid, collname=name, collnamespace=PG_CATALOG, collowner=OWNER, collprovider=provider,
            collisdeterministic=True, collencoding=encoding, collcollate=name if provider == "c" else None,
            collctype=name if provider == "c" else None,
        )  # fmt: skip
    for kind, oid in _OPERATORS.items():
        made.add(
            "pg_opclass", oid=oid, opcmethod=BTREE, opcname=f"{kind}_ops", opcnamespace=PG_CATALOG, opcowner=OWNER,
            opcintype=facts.types()[kind]["oid"], opcdefault=True,
        )  # fmt: skip
    for oid, name in ((TABLESPACE, "pg_default"), (1664, "pg_global")):
        made.add("pg_tablespace", oid=oid, spcname=name, spcowner=OWNER)


_TYPE_ALIKE = {"typnamespace": PG_CATALOG, "typowner": OWNER, "typisdefined": True, "typtypmod": -1}
_FUNCTION_ALIKE = {
    "pronamespace": PG_CATALOG, "proowner": OWNER, "prolang": 12, "procost": 1, "prokind": "f", "proisstrict": True,
    "provolatile": "i", "proparallel": "s",
}  # fmt: skip


def _add_schema(made: Contents, oid: int, name: str, description: str | None) -> None:
    made.schemas[name] = oid
    made.add("pg_namespace", oid=oid, nspname=name, nspowner=OWNER)
    if description is not None:
        made.add("pg_description", objoid=oid, classoid=PG_NAMESPACE, objsubid=0, description=description)


# ---------------------------------------------------------------------------------------------- relations


def _add_table(made: Contents, schema: str, name: str, table: Table, columns: Sequence[Shown], referring: bool) -> None:
    """`referring`: a foreign key begins or ends there, which PostgreSQL keeps by triggers."""
    oid, row_type, array = next(made.numbers), next(made.numbers), next(made.numbers)
    namespace = made.schemas[schema]
    indexed = bool(table.primary_key) or any(column.unique for column in table.columns.values())
    _add_relation(made, oid, schema, name, "r", columns, row_type=row_type, indexed=indexed, referring=referring)
    like = {**_TYPE_ALIKE, "typnamespace": namespace, "typdelim": ",", "typlen": -1, "typalign": "d", "typstorage": "x"}
    routines = {r["proname"]: r["oid"] for r in facts.functions()}
    made.add(
        "pg_type", **like, oid=row_type, typname=name, typtype="c", typcategory="C", typrelid=oid, typarray=array,
        typinput=routines["record_in"], typoutput=routines["record_out"], typreceive=routines["record_recv"],
        typsend=routines["record_send"],
    )  # fmt: skip
    made.add(
        "pg_type", **like, oid=array, typname=f"_{name}", typtype="b", typcategory="A", typelem=row_type,
        typsubscript=routines["array_subscript_handler"], typinput=routines["array_in"],
        typoutput=routines["array_out"], typreceive=routines["array_recv"], typsend=routines["array_send"],
    )  # fmt: skip
    for number, hidden in enumerate(_HIDDEN):
        _add_column(made, oid, -1 - number, hidden)
    made.add("pg_description", objoid=oid, classoid=PG_CLASS, objsubid=0, description=table_comment(table))


_HIDDEN = (
    Attribute("ctid", "tid", True), Attribute("xmin", "xid", True), Attribute("cmin", "cid", True),
    Attribute("xmax", "xid", True), Attribute("cmax", "cid", True), Attribute("tableoid", "oid", True),
)  # fmt: skip
"""The columns that each table of PostgreSQL has, with numbers below 0; no client shows them."""


def _add_relation(
    made: Contents, oid: int, schema: str, name: str, kind: str, columns: Sequence[Shown], *, row_type: int = 0,
    indexed: bool = False, referring: bool = False,
) -> None:  # fmt: skip
    made.relations[schema, name] = oid
    index = kind == "i"
    made.add(
        "pg_class", oid=oid, relname=name, relnamespace=made.schemas[schema], reltype=row_type, relowner=OWNER,
        relam={"r": HEAP, "i": BTREE}.get(kind, 0), relpersistence="p", relkind=kind, relnatts=len(columns),
        reltuples=-1.0, relpages=0, relhasindex=indexed, relhastriggers=referring, relispopulated=True,
        relhasrules=kind == "v",
        relreplident="n" if index or kind == "v" or oid < FIRST else "d", relfilenode=0 if kind == "v" else oid,
        relacl=None if index else [f"=r/{OWNER_NAME}"],
    )  # fmt: skip
    for number, column in enumerate(columns, start=1):
        _add_column(made, oid, number, column)
        if column.description is not None:
            made.add(
                "pg_description", objoid=oid, classoid=PG_CLASS, objsubid=number, description=column.description
            )  # fmt: skip


def _add_column(made: Contents, relation: int, number: int, column: Shown | Attribute) -> None:
    kind = facts.types().get(column.type) or facts.types()["text"]
    array = kind["typcategory"] == "A" and kind["typelem"] != 0
    made.add(
        "pg_attribute", attrelid=relation, attname=column.name, atttypid=kind["oid"],
        atttypmod=column.modifier if isinstance(column, Shown) else -1, attnum=number, attlen=kind["typlen"],
        attbyval=kind["typbyval"], attalign=kind["typalign"], attstorage=kind["typstorage"], attnotnull=column.not_null,
        attstattarget=-1 if number > 0 else 0, attcacheoff=-1, attislocal=True, attcollation=kind["typcollation"],
        attndims=int(array),
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------- keys


def _add_keys(made: Contents, schema: str, name: str, table: Table, columns: Sequence[Shown]) -> None:
    """The primary key and the unique columns, each with the index that PostgreSQL would have for it."""
    numbers = {column.name: number for number, column in enumerate(columns, start=1)}
    keys = [("p", f"{name}_pkey", table.primary_key)] if table.primary_key else []
    keys += [("u", f"{name}_{c}_key", (c,)) for c, column in table.columns.items() if column.unique]
    for kind, key, names in keys:
        index, constraint = next(made.numbers), next(made.numbers)
        chosen = [columns[numbers[c] - 1] for c in names]
        _add_relation(made, index, schema, key, "i", chosen)
        relation = made.relations[schema, name]
        made.indexes.setdefault(relation, []).append((index, frozenset(numbers[c] for c in names)))
        made.add(
            "pg_index", indexrelid=index, indrelid=relation, indnatts=len(names), indnkeyatts=len(names),
            indisunique=True, indisprimary=kind == "p", indimmediate=True, indisvalid=True, indisready=True,
            indislive=True, indkey=[numbers[c] for c in names], indcollation=[COLLATION if c.type == "text" else 0
            for c in chosen], indclass=[_OPERATORS.get(c.type, 0) for c in chosen], indoption=[0] * len(names),
        )  # fmt: skip
        listed = ", ".join(map(quoted, names))
        made.add(
            "pg_constraint", **_CONSTRAINT_ALIKE, **_UNREFERRED, oid=constraint, conname=key,
            connamespace=made.schemas[schema], contype=kind, conrelid=relation, conindid=index,
            conkey=[numbers[c] for c in names], connoinherit=True,
        )  # fmt: skip
        word = "PRIMARY KEY" if kind == "p" else "UNIQUE"
        made.add("_definitions", oid=constraint, definition=f"{word} ({listed})")
        place = f"{quoted(schema)}.{quoted(name)}"
        made.add(
            "_definitions", oid=index,
            definition=f"CREATE UNIQUE INDEX {quoted(key)} ON {place} USING btree ({listed})",
        )  # fmt: skip


_CONSTRAINT_ALIKE = {"convalidated": True, "conislocal": True}
_UNREFERRED = {"confupdtype": " ", "confdeltype": " ", "confmatchtype": " "}
_EQUALITY = {"int2": 94, "int4": 96, "int8": 410, "numeric": 1752, "text": 98, "date": 1093, "timestamp": 2060}
"""The operators that compare values of the types, by their numbers in pg_operator."""
_OPERATORS = {
    "int2": 1979, "int4": 1978, "int8": 3124, "numeric": 3125, "float4": 1970, "float8": 3123, "text": 3126,
    "bool": 424, "date": 3122, "timestamp": 3128, "timestamptz": 3127,
}  # fmt: skip
"""The operator classes of b-trees over the types, by their numbers in pg_opclass."""


def _add_foreign_key(made: Contents, table: Table, key: ForeignKey, columns: Mapping[str, Sequence[Shown]]) -> None:
    """The key that leads to the row whose unit a row shares."""
    (schema, name), (parent_schema, parent) = split(table.name), split(key.parent)
    own, theirs = ({c.name: n for n, c in enumerate(columns[of], start=1)} for of in (table.name.lower(), key.parent))
    relation, other = made.relations[schema, name], made.relations[parent_schema, parent]
    conkey, confkey = [own[c] for c in key.columns], [theirs[c] for c in key.parent_columns]
    index = next((i for i, columns in made.indexes.get(other, ()) if columns == frozenset(confkey)), 0)
    kinds = {c.name: c.type for c in columns[table.name.lower()]}
    equal = [_EQUALITY.get(kinds[c], 0) for c in key.columns]
    oid = next(made.numbers)
    made.add(
        "pg_constraint", **_CONSTRAINT_ALIKE, oid=oid, conname=f"{name}_{'_'.join(key.columns)}_fkey",
        connamespace=made.schemas[schema], contype="f", conrelid=relation, confrelid=other, conindid=index,
        conkey=conkey, confkey=confkey, conpfeqop=equal, conppeqop=equal, conffeqop=equal, confupdtype="a",
        confdeltype="a", confmatchtype="s", connoinherit=True,
    )  # fmt: skip
    listed, referred = (", ".join(map(quoted, names)) for names in (key.columns, key.parent_columns))
    hidden = parent_schema != "public" and sum(split(declared)[1] == parent for declared in columns) > 1
    place = f"{quoted(parent_schema)}.{quoted(parent)}" if hidden else quoted(parent)
    made.add("_definitions", oid=oid, definition=f"FOREIGN KEY ({listed}) REFERENCES {place}({referred})")


def quoted(name: str) -> str:
    """A name as PostgreSQL writes it in SQL."""
    return name if re.fullmatch("[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'


# ---------------------------------------------------------------------------------------------- as SQL


DEFINITIONS = Relation(
    0, "pg_catalog", "_definitions", "r", (Attribute("oid", "oid", True), Attribute("definition", "text", True))
)
"""A table of our own: how constraints and indexes are written in SQL."""


def relation_named(name: str) -> Relation:
    """The relation of pg_catalog of this name, our own among them."""
    return DEFINITIONS if name == DEFINITIONS.name else facts.relations()["pg_catalog", name]


def script(made: Contents, prefix: str, without: Container[tuple[str, str]]) -> Iterator[str]:
    """The statements that make the relations as tables, but for those of `without`, and fill them.

    `prefix` stands before the names of the schemas. Rows come as one text: VALUES of as many cells take five times as
    long.
    """
    for schema in ("pg_catalog", "information_schema"):
        yield f"CREATE SCHEMA {prefix}{schema}"
    for relation in (*facts.relations().values(), DEFINITIONS):
        if (relation.schema, relation.name) not in without:
            columns = ", ".join(f'"{c.name}" {facts.carrier(c.type)}{_default(c)}' for c in relation.columns)
            yield f'CREATE TABLE {prefix}{relation.schema}."{relation.name}" ({columns})'
    for name, rows in made.rows.items():
        kinds = {column.name: facts.carrier(column.type) for column in relation_named(name).columns}
        for heads, alike in groupby(sorted(rows, key=tuple), key=tuple):
            shape = [{head: kinds[head] for head in heads}]
            found = f"unnest(from_json({_json(list(alike))}, {_json(shape)}), max_depth := 2)"
            listed = ", ".join(f'"{head}"' for head in heads)
            yield f'INSERT INTO {prefix}pg_catalog."{name}" ({listed}) SELECT {listed} FROM (SELECT {found})'


def _default(column: Attribute) -> str:
    empty = _EMPTY.get(facts.carrier(column.type), "''") if column.not_null else None
    return "" if empty is None else f" DEFAULT {empty}"


def _json(value: object) -> str:
    return "'" + json.dumps(value, ensure_ascii=False).replace("'", "''") + "'"


_EMPTY = {
    "BOOLEAN": "FALSE", "SMALLINT": "0", "INTEGER": "0", "BIGINT": "0", "FLOAT": "0", "DOUBLE": "0", "UINTEGER": "0",
    "UBIGINT": "0", "USMALLINT[]": "[]", "UBIGINT[]": "[]", "VARCHAR[]": "[]", "UINTEGER[]": "[]", "TIMESTAMP": "NULL",
}  # fmt: skip
"""What stands in columns that are never NULL where a row doesn't say."""
