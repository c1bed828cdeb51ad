"""PostgreSQL's types by their numbers (pg_type.oid), and which one a column of an answer has.

Answers have six types, whatever the engine's are: bool, int8, float8, text, date, timestamp. A noisy sum is float8
where PostgreSQL would have numeric: every driver reads float8 as a plain number.
"""

from __future__ import annotations

import re

BOOL, BYTEA, INT8, INT2, INT4, TEXT, OID, UNKNOWN = 16, 17, 20, 21, 23, 25, 26, 705
CHAR, NAME, JSON, FLOAT4, FLOAT8, BPCHAR, VARCHAR = 18, 19, 114, 700, 701, 1042, 1043
DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, TIMETZ, NUMERIC, UUID = 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2950

NAMES = {
    BOOL: "boolean", BYTEA: "bytea", INT8: "bigint", INT2: "smallint", INT4: "integer", TEXT: "text", OID: "oid",
    UNKNOWN: "unknown", CHAR: '"char"', NAME: "name", JSON: "json", FLOAT4: "real", FLOAT8: "double precision",
    BPCHAR: "character", VARCHAR: "character varying", DATE: "date", TIME: "time without time zone",
    TIMESTAMP: "timestamp without time zone", TIMESTAMPTZ: "timestamp with time zone", INTERVAL: "interval",
    TIMETZ: "time with time zone", NUMERIC: "numeric", UUID: "uuid",
}  # fmt: skip
"""As PostgreSQL writes them in messages."""

SIZES = {BOOL: 1, INT8: 8, FLOAT8: 8, DATE: 4, TIMESTAMP: 8, TEXT: -1}
"""The types of answers, and the bytes of a value; -1: it varies."""

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})
_NUMBERS = re.compile(r"HUGEINT|UHUGEINT|UBIGINT|BIGNUM|FLOAT|DOUBLE|DECIMAL\(.*\)")


def name(oid: int) -> str:
    """The type's name, for messages."""
    return NAMES.get(oid, f"the type with number {oid}")


def of_answer(sql_type: str) -> int:
    """The type that a column has on the wire; `sql_type` is DuckDB's. What has no type of its own there is text.

    Integers beyond 64 bits are float8: a sum of counts is one, and its noise is far above what that loses.
    """
    if sql_type == "BOOLEAN":
        return BOOL
    if sql_type in _INTEGERS:
        return INT8
    if _NUMBERS.fullmatch(sql_type):
        return FLOAT8
    if sql_type == "DATE":
        return DATE
    return TIMESTAMP if sql_type.startswith("TIMESTAMP") else TEXT


OF_SQL = {
    "BOOLEAN": BOOL, "TINYINT": INT2, "SMALLINT": INT2, "INT": INT4, "BIGINT": INT8, "HUGEINT": NUMERIC,
    "FLOAT": FLOAT4, "DOUBLE": FLOAT8, "DECIMAL": NUMERIC, "TEXT": TEXT, "VARCHAR": TEXT, "DATE": DATE,
    "TIMESTAMP": TIMESTAMP, "TIMESTAMPTZ": TIMESTAMPTZ,
}  # fmt: skip
"""The type of a parameter where the statement wants this SQL type."""
