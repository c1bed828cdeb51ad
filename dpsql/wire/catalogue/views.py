"""The views of pg_catalog and information_schema, over the tables of pg_catalog.

Of each view those columns are made that say something about the policy's tables; the others are NULL, or no row is
there, as in an empty PostgreSQL. The names of analysts are not among them, but one's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from dpsql.rows import RESERVED
from dpsql.wire.catalogue import facts
from dpsql.wire.catalogue.contents import DATABASE, OWNER, OWNER_NAME, READER, TABLESPACE
from dpsql.wire.catalogue.functions import ANALYST, DATABASE_NAME, PREFIX

SCHEMA = f"{RESERVED}_"
"""Before pg_catalog and information_schema: the engine has schemas of these names itself."""
_YES = "CASE WHEN {} THEN 'YES' ELSE 'NO' END"
_COLUMNS = """#pg_attribute a JOIN #pg_class c ON c.oid = a.attrelid JOIN #pg_namespace n ON n.oid = c.relnamespace
JOIN #pg_type t ON t.oid = a.atttypid WHERE a.attnum > 0 AND c.relkind IN ('r', 'v') AND NOT a.attisdropped"""
_TABLES = "#pg_class c JOIN #pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v')"
_KEYS = """(SELECT k.*, unnest(k.conkey) AS attnum, unnest(range(1, len(k.conkey) + 1)) AS place
FROM #pg_constraint k) k
JOIN #pg_class c ON c.oid = k.conrelid JOIN #pg_namespace n ON n.oid = c.relnamespace
JOIN #pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum"""

_PLACE = {"table_catalog": DATABASE_NAME, "table_schema": "n.nspname", "table_name": "c.relname"}
_NAME = {"constraint_catalog": DATABASE_NAME, "constraint_schema": "n.nspname", "constraint_name": "k.conname"}
_GRANT = {"grantor": f"'{OWNER_NAME}'", "grantee": "'PUBLIC'"}

_VIEWS: dict[str, tuple[dict[str, str], str]] = {
    "pg_catalog.pg_database": (
        {
            "oid": str(DATABASE), "datname": DATABASE_NAME, "datdba": str(OWNER), "encoding": "6",
            "datlocprovider": "'c'",
            "datistemplate": "false", "datallowconn": "true", "datconnlimit": "-1", "datfrozenxid": "0",
            "datminmxid": "0", "dattablespace": str(TABLESPACE), "datcollate": "'C.UTF-8'", "datctype": "'C.UTF-8'",
        }, "",
    ),
    "pg_catalog.pg_roles": (
        {
            "oid": "r.oid", "rolname": "r.name", "rolsuper": "r.oid = 10", "rolinherit": "true",
            "rolcreaterole": "r.oid = 10", "rolcreatedb": "r.oid = 10", "rolcanlogin": "r.oid <> 10",
            "rolreplication": "false", "rolconnlimit": "-1", "rolpassword": "'********'", "rolbypassrls": "r.oid = 10",
        }, f"(VALUES ({OWNER}, '{OWNER_NAME}'), ({READER}, {ANALYST})) r(oid, name)",
    ),
    "pg_catalog.pg_user": (
        {
            "usename": "r.rolname", "usesysid": "r.oid", "usecreatedb": "r.rolcreatedb", "usesuper": "r.rolsuper",
            "userepl": "false", "usebypassrls": "r.rolbypassrls", "passwd": "'********'",
        }, "#pg_roles r WHERE r.rolcanlogin",
    ),
    "pg_catalog.pg_tables": (
        {
            "schemaname": "n.nspname", "tablename": "c.relname", "tableowner": f"'{OWNER_NAME}'",
            "hasindexes": "c.relhasindex", "hasrules": "false", "hastriggers": "false", "rowsecurity": "false",
        }, "#pg_class c JOIN #pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r'",
    ),
    "pg_catalog.pg_views": (
        {"schemaname": "n.nspname", "viewname": "c.relname", "viewowner": f"'{OWNER_NAME}'"},
        "#pg_class c JOIN #pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'v'",
    ),
    "pg_catalog.pg_indexes": (
        {"schemaname": "n.nspname", "tablename": "c.relname", "indexname": "i.relname", "indexdef": "d.definition"},
        """#pg_index x JOIN #pg_class c ON c.oid = x.indrelid JOIN #pg_class i ON i.oid = x.indexrelid
        JOIN #pg_namespace n ON n.oid = c.relnamespace LEFT JOIN #_definitions d ON d.oid = i.oid""",
    ),
    "information_schema.information_schema_catalog_name": ({"catalog_name": DATABASE_NAME}, ""),
    "information_schema.enabled_roles": ({"role_name": ANALYST}, ""),
    "information_schema.schemata": (
        {"catalog_name": DATABASE_NAME, "schema_name": "n.nspname", "schema_owner": f"'{OWNER_NAME}'"},
        "#pg_namespace n",
    ),
    "information_schema.tables": (
        {
            **_PLACE,
            "table_type": "CASE c.relkind WHEN 'r' THEN 'BASE TABLE' ELSE 'VIEW' END", "is_insertable_into": "'NO'",
            "is_typed": "'NO'",
        }, _TABLES,
    ),
    "information_schema.views": (
        {
            **_PLACE, "check_option": "'NONE'",
            "is_updatable": "'NO'", "is_insertable_into": "'NO'", "is_trigger_updatable": "'NO'",
            "is_trigger_deletable": "'NO'", "is_trigger_insertable_into": "'NO'",
        }, "#pg_class c JOIN #pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'v'",
    ),
    "information_schema.columns": (
        {
            **_PLACE,
            "column_name": "a.attname", "ordinal_position": "a.attnum",
            "is_nullable": _YES.format("NOT a.attnotnull"),
            "data_type": """CASE WHEN t.typcategory = 'A' AND t.typlen = -1 THEN 'ARRAY'
                ELSE $format_type(t.oid, NULL) END""",
            "character_octet_length": "CASE WHEN t.typname IN ('text', 'varchar', 'bpchar') THEN 1073741824 END",
            "numeric_precision": """CASE t.typname WHEN 'int2' THEN 16 WHEN 'int4' THEN 32 WHEN 'int8' THEN 64
                WHEN 'float4' THEN 24 WHEN 'float8' THEN 53 WHEN 'numeric' THEN
                CASE WHEN a.atttypmod > 4 THEN (a.atttypmod - 4) >> 16 END END""",
            "numeric_precision_radix": """CASE WHEN t.typname IN ('int2', 'int4', 'int8', 'float4', 'float8') THEN 2
                WHEN t.typname = 'numeric' THEN 10 END""",
            "numeric_scale": """CASE WHEN t.typname IN ('int2', 'int4', 'int8') THEN 0 WHEN t.typname = 'numeric'
                AND a.atttypmod > 4 THEN (a.atttypmod - 4) & 65535 END""",
            "datetime_precision": """CASE WHEN t.typname = 'date' THEN 0 WHEN t.typname IN ('timestamp', 'timestamptz')
                THEN 6 END""",
            "udt_catalog": DATABASE_NAME, "udt_schema": "'pg_catalog'", "udt_name": "t.typname",
            "dtd_identifier": "a.attnum", "is_self_referencing": "'NO'", "is_identity": "'NO'",
            "identity_cycle": "'NO'", "is_generated": "'NEVER'", "is_updatable": "'NO'",
        }, _COLUMNS,
    ),
    "information_schema.table_constraints": (
        {
            **_NAME,
            **_PLACE,
            "constraint_type": """CASE k.contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE'
                ELSE 'FOREIGN KEY' END""",
            "is_deferrable": "'NO'", "initially_deferred": "'NO'", "enforced": "'YES'",
            "nulls_distinct": "CASE k.contype WHEN 'u' THEN 'YES' END",
        }, "#pg_constraint k JOIN #pg_class c ON c.oid = k.conrelid JOIN #pg_namespace n ON n.oid = c.relnamespace",
    ),
    "information_schema.key_column_usage": (
        {
            **_NAME,
            **_PLACE,
            "column_name": "a.attname", "ordinal_position": "k.place",
            "position_in_unique_constraint": "CASE k.contype WHEN 'f' THEN k.place END",
        }, _KEYS,
    ),
    "information_schema.constraint_column_usage": (
        {
            **_PLACE,
            "column_name": "a.attname", "constraint_catalog": DATABASE_NAME, "constraint_schema": "s.nspname",
            "constraint_name": "k.conname",
        }, """(SELECT k.*, unnest(CASE k.contype WHEN 'f' THEN k.confkey ELSE k.conkey END) AS attnum
        FROM #pg_constraint k) k
        JOIN #pg_class c ON c.oid = CASE k.contype WHEN 'f' THEN k.confrelid ELSE k.conrelid END
        JOIN #pg_namespace n ON n.oid = c.relnamespace JOIN #pg_namespace s ON s.oid = k.connamespace
        JOIN #pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum""",
    ),
    "information_schema.referential_constraints": (
        {
            **_NAME,
            "unique_constraint_catalog": DATABASE_NAME, "unique_constraint_schema": "m.nspname",
            "unique_constraint_name": "i.relname", "match_option": "'NONE'", "update_rule": "'NO ACTION'",
            "delete_rule": "'NO ACTION'",
        }, """#pg_constraint k JOIN #pg_namespace n ON n.oid = k.connamespace
        LEFT JOIN #pg_class i ON i.oid = k.conindid LEFT JOIN #pg_namespace m ON m.oid = i.relnamespace
        WHERE k.contype = 'f'""",
    ),
    "information_schema.table_privileges": (
        {
            **_GRANT, **_PLACE, "privilege_type": "'SELECT'", "is_grantable": "'NO'", "with_hierarchy": "'YES'",
        }, _TABLES,
    ),
    "information_schema.column_privileges": (
        {
            **_GRANT, **_PLACE, "column_name": "a.attname", "privilege_type": "'SELECT'", "is_grantable": "'NO'",
        }, _COLUMNS,
    ),
    "information_schema.routines": (
        {
            "specific_catalog": DATABASE_NAME, "specific_schema": "'pg_catalog'",
            "specific_name": "p.proname || '_' || p.oid", "routine_catalog": DATABASE_NAME,
            "routine_schema": "'pg_catalog'", "routine_name": "p.proname", "routine_type": "'FUNCTION'",
        }, "#pg_proc p",
    ),
}  # fmt: skip
"""View to what its columns are, and where from. `#t` is a table of pg_catalog, `$f` a function."""


def script() -> Iterator[str]:
    """The statements that make the views; the tables of these names have no rows."""
    for view, (columns, source) in _VIEWS.items():
        schema, _, name = view.partition(".")
        relation = facts.relations()[schema, name]
        items = ", ".join(
            f'CAST({columns.get(c.name, "NULL")} AS {facts.carrier(c.type)}) AS "{c.name}"' for c in relation.columns
        )
        text = f"SELECT {items}{' FROM ' + source if source else ''}"
        text = text.replace("#", f"{SCHEMA}pg_catalog.").replace("$", PREFIX)
        yield f"CREATE VIEW {SCHEMA}{view} AS {text}"


def names() -> frozenset[tuple[str, str]]:
    """Schema and name of the views that are made."""
    return frozenset((view.split(".")[0], view.split(".")[1]) for view in _VIEWS)
