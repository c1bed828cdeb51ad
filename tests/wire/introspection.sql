SELECT n.nspname AS "Schema", c.relname AS "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' END AS "Type",
  pg_catalog.pg_get_userbyid(c.relowner) AS "Owner", pg_catalog.obj_description(c.oid, 'pg_class') AS "Description"
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1, 2
--
SELECT oid, relname FROM "pg_catalog"."pg_class" WHERE relname OPERATOR(pg_catalog.~) '^({name})$' COLLATE pg_catalog.default
--
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relispartition,
  CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, am.amname
FROM pg_class c LEFT JOIN pg_am am ON c.relam = am.oid WHERE c.oid = '{oid}'
--
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage, a.attidentity,
  (SELECT pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum),
  pg_catalog.col_description(a.attrelid, a.attnum), a.atttypid::regtype, a.atttypid::regtype::text AS again
FROM pg_attribute a WHERE a.attrelid = '{table}'::regclass AND NOT a.attisdropped AND a.attnum > 0 ORDER BY a.attnum
--
SELECT a.*, t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = {oid}::oid ORDER BY attnum
--
SELECT c.oid::regclass, c.oid::regclass::text, ('{table}'::regclass)::oid = c.oid AS same, '{table}'::text::regclass
FROM pg_class c WHERE c.oid = to_regclass('{table}')
--
SELECT table_schema, table_name, table_type FROM information_schema.tables
WHERE table_catalog = current_database() AND table_schema = ANY (current_schemas(false)) ORDER BY 1, 2
--
SELECT table_name, column_name, ordinal_position, is_nullable, data_type, udt_name, numeric_precision, numeric_scale,
  numeric_precision_radix, datetime_precision, character_octet_length, column_default, is_identity, is_generated
FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema', 'dpsql') ORDER BY 1, 3
--
SELECT c.column_name, col_description(CAST(CAST(FORMAT('%I.%I', c.table_schema, c.table_name) AS REGCLASS) AS OID),
  c.ordinal_position::int) AS note FROM information_schema.columns c WHERE c.table_name = '{name}' ORDER BY c.ordinal_position
--
SELECT k.conname, k.contype, pg_get_constraintdef(k.oid, true), k.conkey, k.confkey, k.confrelid::regclass, k.conindid <> 0 AS i
FROM pg_constraint k WHERE k.conrelid = '{oid}' ORDER BY k.conname
--
SELECT conrelid, array_agg(CAST(attname AS TEXT) ORDER BY ord) AS columns, conname FROM (
  SELECT k.conrelid, k.conname, unnest(k.conkey) AS attnum, generate_subscripts(k.conkey, 1) AS ord
  FROM pg_catalog.pg_constraint AS k WHERE k.contype = ANY (ARRAY['p', 'u', 'f'])) AS k
JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.attnum GROUP BY conrelid, conname ORDER BY 1, 3
--
SELECT i.indrelid, c.relname, i.indisunique, i.indisprimary, i.indkey, i.indclass, pg_get_indexdef(i.indexrelid),
  pg_get_indexdef(i.indexrelid, 1, true) AS first, am.amname
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam
WHERE i.indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = {oid}))
--
SELECT tc.constraint_type, kc.table_name, kc.column_name, kc.ordinal_position, tc.constraint_name
FROM information_schema.table_constraints tc JOIN information_schema.key_column_usage kc USING (constraint_schema, constraint_name)
WHERE tc.constraint_type <> 'CHECK' ORDER BY 5, 4
--
SELECT r.constraint_name, r.unique_constraint_name, r.update_rule, u.table_name, u.column_name
FROM information_schema.referential_constraints r JOIN information_schema.constraint_column_usage u USING (constraint_name)
--
SELECT t.typname, t.typtype, t.typcategory, t.typlen, t.typelem = 0 AS simple, t.typrelid, t.typarray, t.typinput, t.typoutput::text
FROM pg_type t WHERE t.typname IN ('{name}', '_{name}', 'int8', 'text', '_text', 'numeric') ORDER BY 1
--
SELECT attrelid, attname, atttypid FROM pg_catalog.pg_attribute ORDER BY attrelid, attnum
--
SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME, d.description AS REMARKS
FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c
LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass)
WHERE c.relnamespace = n.oid AND c.relkind = 'r' AND n.nspname NOT LIKE 'pg/_%' ESCAPE '/' AND n.nspname <> 'information_schema'
--
SELECT result.key_seq, result.pk_name, a.attname FROM (
  SELECT ct.oid, (information_schema._pg_expandarray(i.indkey)).n AS KEY_SEQ, ci.relname AS PK_NAME,
    information_schema._pg_expandarray(i.indkey) AS KEYS
  FROM pg_class ct JOIN pg_index i ON ct.oid = i.indrelid JOIN pg_class ci ON ci.oid = i.indexrelid
  WHERE i.indisprimary) AS result JOIN pg_attribute a ON a.attrelid = result.oid AND a.attnum = (result.KEYS).x
--
SELECT s[i] AS place, quote_ident(s[i]) AS quoted FROM generate_series(1, array_upper(current_schemas(false), 1)) AS i,
  string_to_array(array_to_string(current_schemas(false), ','), ',') AS s
--
SELECT n.nspname, has_table_privilege(c.oid, 'SELECT') AS readable, pg_table_is_visible(c.oid), c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|info)'
--
WITH named AS (SELECT oid, relname FROM pg_class WHERE relkind = 'r'), pg_type AS (SELECT 'mine' AS typname)
SELECT named.relname, pg_type.typname FROM named CROSS JOIN pg_type WHERE relname = '{name}'
--
SELECT c.relname, array(SELECT attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND attnum > 0 ORDER BY attnum) AS names
FROM pg_class c WHERE c.relname <> ALL ('{{pg_class,"x y"}}') AND c.relkind = ANY ('{{r,p,""}}') AND c.oid > 16383
--
SELECT json_build_object('name', c.relname, 'indexed', c.relhasindex) AS shown, length(c.relname::text) / 2 AS half
FROM pg_class c WHERE c.oid = {oid}
--
SELECT schemaname, tablename, hasindexes FROM pg_tables WHERE schemaname !~ '^(pg_|info)' ORDER BY tablename
--
SELECT c.relname, row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS place, nullif(a.attidentity, '') AS identity
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relkind IN ('r') AND a.attnum > 0 AND c.oid >= 16384
--
SELECT relname, NULL::pg_catalog.text FROM pg_class WHERE relname LIKE '{name}%' AND relkind = 'r'
UNION ALL SELECT NULL::pg_catalog.text, nspname FROM pg_namespace WHERE nspname LIKE E'pg\\_%' LIMIT 1000
--
SELECT * FROM pg_catalog.pg_trigger WHERE false
--
SELECT conname, conrelid::pg_catalog.regclass AS ontable, pg_catalog.pg_get_constraintdef(oid, true) AS condef
FROM pg_catalog.pg_constraint c WHERE confrelid IN (SELECT pg_catalog.pg_partition_ancestors('{oid}')
  UNION ALL VALUES ('{oid}'::pg_catalog.regclass)) AND contype = 'f' AND conparentid = 0 ORDER BY conname
--
SELECT t.tgname, pg_catalog.pg_get_triggerdef(t.oid, true), t.tgenabled, t.tgisinternal, CASE WHEN t.tgparentid != 0 THEN
  (SELECT u.tgrelid::pg_catalog.regclass FROM pg_catalog.pg_trigger AS u,
     pg_catalog.pg_partition_ancestors(t.tgrelid) WITH ORDINALITY AS a(relid, depth)
   WHERE u.tgname = t.tgname AND u.tgrelid = a.relid AND u.tgparentid = 0 ORDER BY a.depth LIMIT 1) END AS parent
FROM pg_catalog.pg_trigger t
WHERE t.tgrelid = '{oid}' AND (NOT t.tgisinternal OR (t.tgisinternal AND t.tgenabled = 'D')) ORDER BY 1
--
SELECT c.relname, obj_description(c.oid), obj_description(c.oid, 'pg_class') FROM pg_class c WHERE c.relkind = 'r'
