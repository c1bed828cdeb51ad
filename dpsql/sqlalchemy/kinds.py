"""Types: those of columns for SQLAlchemy, and what is done with values that come back."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlalchemy import types
from sqlalchemy.engine import Dialect

from dpsql.policy import ColumnType, Kind

_DECLARED: dict[Kind, type[types.TypeEngine[Any]]] = {
    Kind.BOOLEAN: types.BOOLEAN,
    Kind.INTEGER: types.BIGINT,
    Kind.DOUBLE: types.DOUBLE,
    Kind.TEXT: types.VARCHAR,
    Kind.DATE: types.DATE,
    Kind.TIMESTAMP: types.TIMESTAMP,
}
_STORED: dict[str, type[types.TypeEngine[Any]]] = {
    "BOOLEAN": types.BOOLEAN,
    "TINYINT": types.SMALLINT,
    "UTINYINT": types.SMALLINT,
    "SMALLINT": types.SMALLINT,
    "USMALLINT": types.INTEGER,
    "INTEGER": types.INTEGER,
    "UINTEGER": types.BIGINT,
    "BIGINT": types.BIGINT,
    "UBIGINT": types.BIGINT,
    "HUGEINT": types.BIGINT,
    "UHUGEINT": types.BIGINT,
    "FLOAT": types.REAL,
    "DOUBLE": types.DOUBLE,
    "VARCHAR": types.VARCHAR,
    "BLOB": types.BLOB,
    "UUID": types.UUID,
    "DATE": types.DATE,
    "TIME": types.TIME,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMP_S": types.TIMESTAMP,
    "TIMESTAMP_MS": types.TIMESTAMP,
    "TIMESTAMP_NS": types.TIMESTAMP,
    "INTERVAL": types.Interval,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


def declared_type(declared: ColumnType) -> types.TypeEngine[Any]:
    """The type of a column that the policy declares."""
    if declared.kind is Kind.DECIMAL:
        return types.NUMERIC(declared.precision, declared.scale)
    return _DECLARED[declared.kind]()


def stored_type(stored: str) -> types.TypeEngine[Any]:
    """The type of a public column, of its type's text in DuckDB; NullType where SQLAlchemy has none like it."""
    exact = _DECIMAL.fullmatch(stored)
    if exact is not None:
        return types.NUMERIC(int(exact[1]), int(exact[2]))
    if stored == "TIMESTAMP WITH TIME ZONE":
        return types.TIMESTAMP(timezone=True)
    return _STORED.get(stored, types.NullType)()


class _Returned:
    """Numbers as SQLAlchemy was asked for them, by what came back: a noisy sum of decimals is a double."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        if self.asdecimal:  # type: ignore[attr-defined]
            return None if _DECIMAL.match(str(coltype)) else _decimal
        return None if str(coltype) in ("DOUBLE", "FLOAT") else _float


class Numeric(_Returned, types.Numeric[Any]):
    """A Decimal, unless asked for floats."""


class Float(_Returned, types.Float[Any]):
    """A float, unless asked for decimals."""


class Double(_Returned, types.Double[Any]):
    """A float, unless asked for decimals."""


def _decimal(value: Any) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
