"""PostgreSQL's types by their numbers (pg_type.oid), and which one a column of an answer has.

Answers have six types, whatever the engine's are: bool, int8, float8, text, date, timestamp; and arrays of these, where
quantiles are asked for by a list. A noisy sum is float8
where PostgreSQL would have numeric: every driver reads float8 as a plain number.
"""

from __future__ import annotations

import re

BOOL, BYTEA, INT8, INT2, INT4, TEXT, OID, UNKNOWN = 16, 17, 20, 21, 23, 25, 26, 705
CHAR, NAME, JSON, FLOAT4, FLOAT8, BPCHAR, VARCHAR = 18, 19, 114, 700, 701, 1042, 1043
DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, TIMETZ, NUMERIC, UUID = 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2950

ELEMENTS = {
    1000: BOOL, 1002: CHAR, 1003: NAME, 1005: INT2, 1007: INT4, 1009: TEXT, 1014: BPCHAR, 1015: VARCHAR, 1016: INT8,
    1021: FLOAT4, 1022: FLOAT8, 1028: OID, 1115: TIMESTAMP, 1182: DATE, 1185: TIMESTAMPTZ, 1231: NUMERIC,
}  # fmt: skip
"""The types of arrays, and the types of their elements."""
ARRAYS = {element: array for array, element in ELEMENTS.items()}

NAMES = {
    BOOL: "boolean", BYTEA: "bytea", INT8: "bigint", INT2: "smallint", INT4: "integer", TEXT: "text", OID: "oid",
    UNKNOWN: "unknown", CHAR: '"char"', NAME: "name", JSON: "json", FLOAT4: "real", FLOAT8: "double precision",
    BPCHAR: "character", VARCHAR: "character varying", DATE: "date", TIME: "time without time zone",
    TIMESTAMP: "timestamp without time zone", TIMESTAMPTZ: "timestamp with time zone", INTERVAL: "interval",
    TIMETZ: "time with time zone", NUMERIC: "numeric", UUID: "uuid",
}  # fmt: skip
NAMES |= {array: f"{NAMES[element]}[]" for array, element in ELEMENTS.items()}
"""As PostgreSQL writes them in messages."""

SIZES = {
    BOOL: 1, INT2: 2, INT4: 4, INT8: 8, OID: 4, FLOAT8: 8, DATE: 4, TIMESTAMP: 8, TEXT: -1, JSON: -1, BYTEA: -1,
    **dict.fromkeys(ELEMENTS, -1),
}  # fmt: skip
"""The types of results, and the bytes of a value; -1: it varies."""

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
    if sql_type.endswith("[]"):
        element = of_answer(sql_type.removesuffix("[]"))
        return TEXT if element in ELEMENTS else ARRAYS[element]
    return TIMESTAMP if sql_type.startswith("TIMESTAMP") else TEXT


def of_catalogue(sql_type: str) -> int:
    """The type on the wire of a column of the catalogue, whose numbers are as wide as PostgreSQL's.

    An unsigned number of 32 bits is an oid: nothing else there is one.
    """
    element = sql_type.removesuffix("[]")
    oid = _CATALOGUE[element] if element in _CATALOGUE else of_answer(element)
    return ARRAYS[oid] if sql_type.endswith("[]") and not element.endswith("[]") else oid


_CATALOGUE = {"UINTEGER": OID, "SMALLINT": INT2, "INTEGER": INT4, "JSON": JSON, "BLOB": BYTEA}

OF_SQL = {
    "OID": OID, "BOOLEAN": BOOL, "TINYINT": INT2, "SMALLINT": INT2, "INT": INT4, "BIGINT": INT8, "HUGEINT": NUMERIC,
    "FLOAT": FLOAT4, "DOUBLE": FLOAT8, "DECIMAL": NUMERIC, "TEXT": TEXT, "VARCHAR": TEXT, "DATE": DATE,
    "TIMESTAMP": TIMESTAMP, "TIMESTAMPTZ": TIMESTAMPTZ,
}  # fmt: skip
OF_SQL |= {f"{name}[]": ARRAYS[oid] for name, oid in OF_SQL.items()}
"""The type of a parameter where the statement wants this SQL type."""
