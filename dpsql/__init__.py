"""dpsql: a SQL proxy that answers aggregate queries over private tables with differential privacy.

    import dpsql

    connection = dpsql.connect("config/pums.yaml")              # PEP 249: see dpsql.dbapi
    dpsql.laplace_mechanism(17, epsilon=0.5, sensitivity=1)     # noise for a number of your own

Everything public is in `__all__`; other modules may change from version to version.
"""

import logging as _logging
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from dpsql.dbapi import (
        BINARY,
        DATETIME,
        NUMBER,
        ROWID,
        STRING,
        Binary,
        Connection,
        Cursor,
        CursorPrivacy,
        Date,
        DateFromTicks,
        Time,
        TimeFromTicks,
        Timestamp,
        TimestampFromTicks,
        apilevel,
        connect,
        paramstyle,
        threadsafety,
    )
    from dpsql.errors import (
        AnalystLocked,
        BudgetExhausted,
        Cancelled,
        DatabaseError,
        DataError,
        EngineError,
        Error,
        FileError,
        IntegrityError,
        InterfaceError,
        InternalError,
        InvalidParameter,
        LedgerError,
        MissingBounds,
        NotReleasable,
        NotSupportedError,
        OperationalError,
        ParseError,
        PolicyError,
        ProgrammingError,
        UnknownColumn,
        UnknownTable,
        UnsupportedQuery,
        Warning,
    )
    from dpsql.privacy.mechanism import laplace_mechanism

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "AnalystLocked",
    "Binary",
    "BudgetExhausted",
    "Cancelled",
    "Connection",
    "Cursor",
    "CursorPrivacy",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "EngineError",
    "Error",
    "FileError",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "InvalidParameter",
    "LedgerError",
    "MissingBounds",
    "NotReleasable",
    "NotSupportedError",
    "OperationalError",
    "ParseError",
    "PolicyError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "UnknownColumn",
    "UnknownTable",
    "UnsupportedQuery",
    "Warning",
    "apilevel",
    "connect",
    "laplace_mechanism",
    "paramstyle",
    "threadsafety",
]


def __getattr__(name: str) -> object:
    """What is public, imported once it is used: a command takes Ctrl-C before it has imported all."""
    if name in __all__:
        for module in ("dpsql.errors", "dpsql.dbapi", "dpsql.privacy.mechanism"):
            found = vars(_import_module(module))
            if name in found:
                return globals().setdefault(name, found[name])
    raise AttributeError(f"module 'dpsql' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_logging.getLogger("dpsql").addHandler(_logging.NullHandler())  # silent until the operator asks
_logging.getLogger("sqlglot").addHandler(_logging.NullHandler())  # what it says of odd SQL is in our own errors
