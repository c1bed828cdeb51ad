"""The facts about PostgreSQL's catalogue that dpsql's own is made with: relations and their columns, types, functions.

`python -m tests.wire.facts PORT` asks a PostgreSQL 15 on this machine and writes them beside the catalogue's code.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import psycopg

import dpsql.wire.catalogue

FOLDER = Path(dpsql.wire.catalogue.__file__).parent

_LEFT_OUT = """pg_authid pg_statistic pg_user_mapping pg_largeobject pg_largeobject_metadata pg_statistic_ext_data
pg_subscription pg_subscription_rel pg_replication_origin pg_init_privs pg_parameter_acl pg_shadow pg_stats
pg_stats_ext pg_stats_ext_exprs pg_hba_file_rules pg_ident_file_mappings pg_file_settings pg_config
pg_backend_memory_contexts pg_shmem_allocations pg_replication_origin_status pg_replication_slots""".split()
"""Statistics, secrets, and how a server of another kind is run."""
_MONITORING = """pg_stat_activity pg_stat_all_tables pg_stat_user_tables pg_stat_all_indexes pg_stat_user_indexes
pg_stat_database""".split()
"""The views of what goes on that tools read; there are more."""

RELATIONS = """
SELECT c.oid, n.nspname AS schema, c.relname AS name, c.relkind AS kind,
       string_agg(a.attname || ' ' || coalesce(d.typname, t.typname) || CASE WHEN a.attnotnull THEN '!' ELSE '' END,
                  '|' ORDER BY a.attnum) AS columns
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type d ON d.oid = nullif(t.typbasetype, 0)
WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v') AND c.relname <> ALL (%s)
  AND (c.relname !~ '^pg_stat(io)?_' OR c.relname = 'pg_statistic_ext' OR c.relname = ANY (%s))
  AND c.relname !~ '^(_pg_|sql_)'
GROUP BY 1, 2, 3, 4 ORDER BY 2, 3
"""
TYPES = """
SELECT oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typdelim, typelem, typarray,
       typsubscript::oid, typinput::oid, typoutput::oid, typreceive::oid, typsend::oid, typmodin::oid, typmodout::oid,
       typalign, typstorage, typcollation
FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typrelid = 0 AND typtype IN ('b', 'p', 'r', 'm')
  AND (typelem = 0 OR (SELECT e.typrelid FROM pg_type e WHERE e.oid = pg_type.typelem) = 0)
ORDER BY oid
"""
FUNCTIONS = """
SELECT oid, proname, prorettype, pronargs, array_to_string(proargtypes, ' ') AS proargtypes
FROM pg_proc WHERE oid IN (SELECT unnest(ARRAY[typsubscript, typinput, typoutput, typreceive, typsend, typmodin,
                                                typmodout]::oid[]) FROM pg_type
                           WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'p', 'r', 'm'))
ORDER BY oid
"""


def main(port: int) -> None:
    """Write the tables."""
    questions = {
        "relations": (RELATIONS, (_LEFT_OUT, _MONITORING)),
        "types": (TYPES, ()),
        "functions": (FUNCTIONS, ()),
    }
    with psycopg.connect(host="127.0.0.1", port=port, user="postgres") as connection:
        for name, (question, values) in questions.items():
            cursor = connection.execute(question, values)
            with (FOLDER / f"{name}.csv").open("w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(column.name for column in cursor.description or ())
                writer.writerows([_plain(value) for value in row] for row in cursor)


def _plain(value: object) -> object:
    if isinstance(value, bytes):  # "char"
        return value.decode()
    return {True: "t", False: "f"}.get(value, value) if isinstance(value, bool) else value


if __name__ == "__main__":
    main(int(sys.argv[1]))
