"""PostgreSQL's functions about its catalogue, as macros of the engine.

A macro's own names begin with a prefix that no statement can use: else an alias of the caller would mean another table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from dpsql.rows import RESERVED
from dpsql.wire.catalogue.contents import OWNER, OWNER_NAME, READER, relation_named

DATABASE_VARIABLE, ANALYST_VARIABLE = f"{RESERVED}_database", f"{RESERVED}_analyst"
"""The engine's variables that hold what a reader calls the database, and who they are."""
DATABASE_NAME, ANALYST = (f"getvariable('{name}')::VARCHAR" for name in (DATABASE_VARIABLE, ANALYST_VARIABLE))
PREFIX = f"{RESERVED}_fn_"
"""Of the macros' names."""
HIDDEN = f"{RESERVED}_in_"
"""Of the names within them."""

_MACROS = r"""
quote_ident(t) := CASE WHEN regexp_full_match(t, '[a-z_][a-z0-9_]*') THEN t ELSE '"' || replace(t, '"', '""') || '"' END
quote_literal(t) := '''' || replace(t, '''', '''''') || ''''
parse_ident(t, s := true) := list_transform(regexp_extract_all(t, '"(?:[^"]|"")*"|[^."]+'), lambda x:
  CASE WHEN x[1] = '"' THEN replace(x[2:-2], '""', '"') ELSE lower(x) END)
format_type(o, m) := (SELECT CASE WHEN o IS NULL THEN NULL ELSE coalesce(any_value(
  CASE t.typname
    WHEN 'bool' THEN 'boolean' WHEN 'int2' THEN 'smallint' WHEN 'int4' THEN 'integer' WHEN 'int8' THEN 'bigint'
    WHEN 'float4' THEN 'real' WHEN 'float8' THEN 'double precision' WHEN 'char' THEN '"char"'
    WHEN 'varchar' THEN 'character varying' || CASE WHEN m > 4 THEN '(' || (m - 4) || ')' ELSE '' END
    WHEN 'bpchar' THEN CASE WHEN m > 4 THEN 'character(' || (m - 4) || ')' ELSE 'character' END
    WHEN 'numeric' THEN 'numeric' || CASE WHEN m > 4 THEN '(' || ((m - 4) >> 16) || ',' || ((m - 4) & 65535) || ')'
      ELSE '' END
    WHEN 'timestamp' THEN 'timestamp without time zone' WHEN 'timestamptz' THEN 'timestamp with time zone'
    WHEN 'time' THEN 'time without time zone' WHEN 'timetz' THEN 'time with time zone' WHEN 'bit' THEN 'bit'
    WHEN 'varbit' THEN 'bit varying'
    ELSE CASE WHEN n.nspname IN ('pg_catalog', 'public') THEN '' ELSE $quote_ident(n.nspname) || '.' END
      || $quote_ident(t.typname) END
  || CASE WHEN e.oid IS NULL THEN '' ELSE '[]' END), '???') END
  FROM #pg_type z LEFT JOIN #pg_type e ON z.typcategory = 'A' AND e.oid = z.typelem AND z.typlen = -1
  JOIN #pg_type t ON t.oid = coalesce(e.oid, z.oid) JOIN #pg_namespace n ON n.oid = t.typnamespace WHERE z.oid = o)
pg_get_userbyid(o) := CASE o WHEN {OWNER} THEN '{OWNER_NAME}' WHEN {READER} THEN {ANALYST}
  ELSE 'unknown (OID=' || o || ')' END
pg_table_is_visible(o) := (SELECT any_value(n.nspname NOT IN ('information_schema', 'pg_toast', 'dpsql'))
  FROM #pg_class c JOIN #pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = o)
pg_type_is_visible(o) := (SELECT any_value(n.nspname NOT IN ('information_schema', 'pg_toast', 'dpsql'))
  FROM #pg_type t JOIN #pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = o)
pg_function_is_visible(o) := o IS NOT NULL
pg_collation_is_visible(o) := o IS NOT NULL
pg_opclass_is_visible(o) := o IS NOT NULL
pg_opfamily_is_visible(o) := o IS NOT NULL
pg_conversion_is_visible(o) := o IS NOT NULL
pg_statistics_obj_is_visible(o) := o IS NOT NULL
pg_ts_config_is_visible(o) := o IS NOT NULL
pg_ts_dict_is_visible(o) := o IS NOT NULL
pg_ts_parser_is_visible(o) := o IS NOT NULL
pg_ts_template_is_visible(o) := o IS NOT NULL
pg_operator_is_visible(o) := o IS NOT NULL
obj_description(o, k := '') := (SELECT any_value(d.description) FROM #pg_description d JOIN #pg_class c
  ON c.oid = d.classoid WHERE d.objoid = o AND d.objsubid = 0 AND (k = '' OR c.relname = k))
shobj_description(o, k) := NULL::VARCHAR
col_description(o, n) := (SELECT any_value(d.description) FROM #pg_description d
  WHERE d.objoid = o AND d.objsubid = n AND d.classoid = 1259)
pg_get_constraintdef(o, p := false) := (SELECT any_value(d.definition) FROM #_definitions d WHERE d.oid = o)
pg_get_indexdef(o, n := 0, p := false) := (SELECT CASE WHEN n = 0 THEN
  (SELECT any_value(d.definition) FROM #_definitions d WHERE d.oid = o) ELSE
  (SELECT any_value($quote_ident(a.attname)) FROM #pg_attribute a WHERE a.attrelid = o AND a.attnum = n) END)
pg_get_expr(e, r, p := false) := e::VARCHAR
pg_get_viewdef(o, p := false) := NULL::VARCHAR
pg_get_ruledef(o, p := false) := NULL::VARCHAR
pg_get_triggerdef(o, p := false) := NULL::VARCHAR
pg_get_functiondef(o) := NULL::VARCHAR
pg_get_function_sqlbody(o) := NULL::VARCHAR
pg_get_function_result(o) := (SELECT any_value($format_type(p.prorettype, NULL)) FROM #pg_proc p WHERE p.oid = o)
pg_get_function_arguments(o) := (SELECT coalesce(string_agg($format_type(_dpsql_in_u._dpsql_in_oid, NULL), ', '), '')
  FROM (SELECT unnest(p.proargtypes) AS _dpsql_in_oid FROM #pg_proc p WHERE p.oid = o) _dpsql_in_u)
pg_get_function_identity_arguments(o) := $pg_get_function_arguments(o)
pg_get_serial_sequence(t, c) := NULL::VARCHAR
pg_partition_ancestors(o) := unnest([]::UINTEGER[])
pg_get_partkeydef(o) := NULL::VARCHAR
pg_get_statisticsobjdef_columns(o) := NULL::VARCHAR
pg_get_statisticsobjdef(o) := NULL::VARCHAR
pg_relation_is_publishable(o) := false
pg_encoding_to_char(n) := CASE n WHEN 6 THEN 'UTF8' ELSE '' END
pg_size_pretty(n) := n || ' bytes'
pg_table_size(o) := 0::BIGINT
pg_relation_size(o, f := 'main') := 0::BIGINT
pg_total_relation_size(o) := 0::BIGINT
pg_indexes_size(o) := 0::BIGINT
pg_database_size(o) := 0::BIGINT
pg_tablespace_size(o) := 0::BIGINT
pg_tablespace_location(o) := ''
pg_stat_get_numscans(o) := 0::BIGINT
pg_stat_get_live_tuples(o) := NULL::BIGINT
pg_is_in_recovery() := false
pg_is_other_temp_schema(o) := false
pg_my_temp_schema() := 0::UINTEGER
pg_backend_pid() := 0
pg_postmaster_start_time() := NULL::TIMESTAMP
pg_conf_load_time() := NULL::TIMESTAMP
pg_advisory_unlock_all() := NULL::VARCHAR
pg_relation_filenode(o) := 0::UINTEGER
pg_filenode_relation(s, o) := NULL::UINTEGER
getdatabaseencoding() := 'UTF8'
pg_char_to_encoding(n) := CASE WHEN upper(n) IN ('UTF8', 'UNICODE') THEN 6 ELSE -1 END
has_table_privilege(a, b, c := NULL) := lower(coalesce(c, b::VARCHAR)) = 'select'
has_any_column_privilege(a, b, c := NULL) := lower(coalesce(c, b::VARCHAR)) = 'select'
has_column_privilege(a, b, c, d := NULL) := lower(coalesce(d, c::VARCHAR)) = 'select'
has_schema_privilege(a, b, c := NULL) := lower(coalesce(c, b::VARCHAR)) = 'usage'
has_database_privilege(a, b, c := NULL) := lower(coalesce(c, b::VARCHAR)) = 'connect'
has_function_privilege(a, b, c := NULL) := true
has_sequence_privilege(a, b, c := NULL) := false
has_type_privilege(a, b, c := NULL) := true
pg_has_role(a, b, c := NULL) := false
row_security_active(o) := false
array_upper(a, d) := CASE WHEN d = 1 AND len(a) > 0 THEN len(a)::INTEGER END
array_lower(a, d) := CASE WHEN d = 1 AND len(a) > 0 THEN 1 END
array_length(a, d) := CASE WHEN d = 1 AND len(a) > 0 THEN len(a)::INTEGER END
cardinality(a) := len(a)::INTEGER
array_position(a, v) := list_position(a, v)
array_remove(a, v) := list_filter(a, lambda x: x IS DISTINCT FROM v)
array_to_string(a, s, n := NULL) := CASE WHEN a IS NULL THEN NULL ELSE array_to_string(list_filter(
  list_transform(a, lambda x: coalesce(x::VARCHAR, n)), lambda x: x IS NOT NULL), s) END
string_to_array(t, s) := string_split(t, s)
_pg_expandarray(a) := unnest(list_transform(a, lambda x, i: {'x': x, 'n': i}))
_pg_truetypid(a, t) := a
_pg_truetypmod(a, t) := a
regclass_text(o) := CASE WHEN o = 0 THEN '-' ELSE coalesce((SELECT any_value(CASE
  WHEN n.nspname IN ('information_schema', 'dpsql') THEN $quote_ident(n.nspname) || '.' ELSE '' END
  || $quote_ident(c.relname)) FROM #pg_class c JOIN #pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = o),
  o::VARCHAR) END
regtype_text(o) := CASE WHEN o = 0 THEN '-' ELSE $format_type(o, -1) END
regnamespace_text(o) := CASE WHEN o = 0 THEN '-' ELSE coalesce((SELECT any_value($quote_ident(n.nspname))
  FROM #pg_namespace n WHERE n.oid = o), o::VARCHAR) END
regproc_text(o) := CASE WHEN o = 0 THEN '-' ELSE coalesce((SELECT any_value(p.proname) FROM #pg_proc p
  WHERE p.oid = o), o::VARCHAR) END
regtypes_text(a) := (SELECT array_agg($format_type(_dpsql_in_u._dpsql_in_oid, NULL)) FROM
  (SELECT unnest(a) AS _dpsql_in_oid) _dpsql_in_u)
regrole_text(o) := $pg_get_userbyid(o)
to_regclass(t) := coalesce(TRY_CAST(t AS UINTEGER), (SELECT arg_min(c.oid, n.nspname <> 'pg_catalog') FROM #pg_class c
  JOIN #pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = $parse_ident(t)[-1]
  AND (n.nspname = $parse_ident(t)[-2] OR (len($parse_ident(t)) = 1
    AND n.nspname NOT IN ('information_schema', 'dpsql')))))
to_regtype(t) := coalesce(TRY_CAST(t AS UINTEGER), (SELECT min(y.oid) FROM #pg_type y
  WHERE y.typname = $parse_ident(t)[-1] OR $format_type(y.oid, -1) = lower(t)))
to_regnamespace(t) := coalesce(TRY_CAST(t AS UINTEGER), (SELECT min(n.oid) FROM #pg_namespace n
  WHERE n.nspname = $parse_ident(t)[1]))
to_regproc(t) := coalesce(TRY_CAST(t AS UINTEGER), (SELECT min(p.oid) FROM #pg_proc p
  WHERE p.proname = $parse_ident(t)[-1]))
to_regrole(t) := coalesce(TRY_CAST(t AS UINTEGER), CASE $parse_ident(t)[1] WHEN '{OWNER_NAME}' THEN {OWNER}
  WHEN {ANALYST} THEN {READER} END)
format(f, a := NULL, b := NULL) := replace(replace(replace(replace(f, '%I.%I', $quote_ident(a::VARCHAR) || '.'
  || coalesce($quote_ident(b::VARCHAR), '')), '"%s"."%s"', '"' || a || '"."' || coalesce(b::VARCHAR, '') || '"'),
  '%I', coalesce($quote_ident(a::VARCHAR), '')), '%s', coalesce(a::VARCHAR, ''))
divided(a, b) := CASE WHEN typeof(a) LIKE '%INT%' AND typeof(b) LIKE '%INT%' THEN trunc(a / b) ELSE a / b END
"""
"""name(parameters) := expression. `$f` is another macro, `#t` a table of pg_catalog."""


@cache
def macros() -> Mapping[str, str]:
    """The statements that make the macros, by the functions' names."""
    found: dict[str, str] = {}
    texts = _MACROS.replace("{ANALYST}", ANALYST).replace("{READER}", str(READER))
    texts = texts.replace("{OWNER_NAME}", OWNER_NAME).replace("{OWNER}", str(OWNER))
    for text in re.split(r"\n(?=[a-z_]+\([^\n]*?\) := )", texts.strip()):
        match = re.fullmatch(r"(\w+)\((.*?)\) := (.*)", text, re.DOTALL)
        assert match is not None, text
        name, parameters, body = match.groups()
        body = re.sub(r"\$(\w+)\(", rf"{PREFIX}\1(", body)
        body = re.sub(r"(?<![\w.])([a-z])\.([a-z]+)", rf"{HIDDEN}\1.{HIDDEN}\2", body)
        body = re.sub(r"#(\w+) ([a-z])\b", rf"{HIDDEN}\1 {HIDDEN}\2", body)
        found[name] = f"CREATE MACRO {PREFIX}{name}({parameters}) AS {body}"
    return found


def script(schema: str) -> Iterator[str]:
    """What makes the functions, over the tables of a schema.

    A macro's argument is put where its parameter stands, so a column that it names without its table would be one of
    the macro's own tables: those are views whose columns have names that no statement can use.
    """
    for name in sorted(set(re.findall(r"#(\w+)", _MACROS))):
        columns = relation_named(name).columns
        listed = ", ".join(f"{column.name} AS {HIDDEN}{column.name}" for column in columns)
        yield f"CREATE VIEW {HIDDEN}{name} AS SELECT {listed} FROM {schema}.{name}"
    yield from macros().values()
