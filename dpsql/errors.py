"""Every error that leaves dpsql.

One tree (PEP 249, section "Exceptions"), one SQLSTATE for each class:

    Error
    ├── InterfaceError                      08003
    └── DatabaseError
        ├── ProgrammingError                42000
        │   ├── ParseError                  42601
        │   ├── UnknownTable                42P01
        │   ├── UnknownColumn               42703
        │   └── NotReleasable               42501
        ├── NotSupportedError               0A000
        │   └── UnsupportedQuery            0A000
        ├── DataError                       22000
        │   ├── PolicyError                 F0000
        │   ├── MissingBounds               22023
        │   └── InvalidParameter            22P02
        ├── OperationalError                58000
        │   ├── BudgetExhausted             53400
        │   ├── AnalystLocked               55000
        │   ├── LedgerError                 58030
        │   ├── EngineError                 58000
        │   └── Cancelled                   57014
        ├── IntegrityError                  23000
        └── InternalError                   XX000

An instance carries ``message`` (one sentence: what was found and where), ``hint`` (what to write instead) and
``position`` (0-based offset into the SQL text, or None): the fields of a PostgreSQL ErrorResponse.

Privacy: refusals are made from SQL and policy alone, before any data is read. Whatever an engine says may quote a
private value, so it never becomes part of an error here: see EngineError.
"""

from __future__ import annotations


class Warning(Exception):
    """Required by PEP 249; dpsql never raises it."""


class Error(Exception):
    """The root: catch this one to catch everything that dpsql raises."""

    sqlstate = "XX000"

    def __init__(self, message: str, *, hint: str | None = None, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.position = position

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class InterfaceError(Error):
    """The connection or cursor was used wrongly (closed, nothing executed), or a package that it needs is missing."""

    sqlstate = "08003"


class FileError(InterfaceError):
    """A file can't be written where the caller wants one."""

    sqlstate = "58030"


class DatabaseError(Error):
    """Anything about the query, the policy, the budget or the engine."""


class ProgrammingError(DatabaseError):
    """The SQL is wrong or asks for something that must not be released."""

    sqlstate = "42000"


class ParseError(ProgrammingError):
    """The text is not one SELECT statement of the policy's dialect."""

    sqlstate = "42601"


class UnknownTable(ProgrammingError):
    """The table is not declared in the policy; undeclared tables do not exist."""

    sqlstate = "42P01"


class UnknownColumn(ProgrammingError):
    """The column is not declared in the policy; undeclared columns do not exist."""

    sqlstate = "42703"


class NotReleasable(ProgrammingError):
    """The query asks for private rows or values rather than for aggregates over them."""

    sqlstate = "42501"


class NotSupportedError(DatabaseError):
    """dpsql can't answer this."""

    sqlstate = "0A000"


class UnsupportedQuery(NotSupportedError):
    """The query can't be proven private, so it is refused."""

    sqlstate = "0A000"


class DataError(DatabaseError):
    """A value given to dpsql (in the policy, as a parameter, as epsilon) is not usable."""

    sqlstate = "22000"


class PolicyError(DataError):
    """The policy file is wrong: the message names file, line, what was found; the hint what to write."""

    sqlstate = "F0000"


class MissingBounds(DataError):
    """An aggregate needs bounds that neither the policy nor the query gives."""

    sqlstate = "22023"


class InvalidParameter(DataError):
    """A query parameter, an epsilon or an option is not usable."""

    sqlstate = "22P02"


class OperationalError(DatabaseError):
    """Not about the query: budget, ledger, engine, time."""

    sqlstate = "58000"


class BudgetExhausted(OperationalError):
    """The charge would exceed a budget. Nothing was charged."""

    sqlstate = "53400"


class AnalystLocked(OperationalError):
    """Too many of the analyst's queries failed after their charge; the owner must look. Nothing was charged."""

    sqlstate = "55000"


class LedgerError(OperationalError):
    """The ledger is missing, corrupt, read-only or full: nothing is answered until it is mended."""

    sqlstate = "58030"


class EngineError(OperationalError):
    """The engine failed. Its own words may quote private data: the caller gets a reference id instead."""

    sqlstate = "58000"


class Cancelled(OperationalError):
    """The caller cancelled. A charge that was made stands."""

    sqlstate = "57014"


class IntegrityError(DatabaseError):
    """Required by PEP 249; dpsql never raises it."""

    sqlstate = "23000"


class InternalError(DatabaseError):
    """A fault in dpsql itself."""

    sqlstate = "XX000"
