"""dpsql: a SQL proxy that answers aggregate queries over private tables with differential privacy.

    import dpsql

    connection = dpsql.connect("config/pums.yaml")              # PEP 249: see dpsql.dbapi
    dpsql.laplace_mechanism(17, epsilon=0.5, sensitivity=1)     # noise for a number of your own

Everything public is in `__all__`; other modules may change from version to version.
"""

import logging as _logging

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

_logging.getLogger("dpsql").addHandler(_logging.NullHandler())  # silent until the operator asks
_logging.getLogger("sqlglot").addHandler(_logging.NullHandler())  # what it says of odd SQL is in our own errors
