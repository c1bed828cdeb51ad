"""Errors of the protocol: of PostgreSQL's classes that no other front end of dpsql has."""

from __future__ import annotations

from dpsql.errors import DatabaseError, Error
from dpsql.wire.messages import ErrorResponse


class Refusal(DatabaseError):
    """A request that the server doesn't do. `sqlstate` is PostgreSQL's for this case."""

    def __init__(self, sqlstate: str, message: str, *, hint: str | None = None, position: int | None = None) -> None:
        super().__init__(message, hint=hint, position=position)
        self.sqlstate = sqlstate


class Farewell(Refusal):
    """A refusal that ends the connection."""


STOPPED = "57P01", "the server is being stopped"
"""What all are told then."""
LONGEST_NAME = 255
"""Characters of the name of a prepared statement, a portal, a cursor, a savepoint: many are kept."""


def check_name(name: str) -> None:
    """Refuse a name that is too long to be kept. Raises Refusal."""
    if len(name) > LONGEST_NAME:
        raise Refusal("42622", f"a name has {len(name)} characters; at most {LONGEST_NAME} are allowed")


def response(error: Error, sql: str = "", offset: int = 0) -> ErrorResponse:
    """The error as a client gets it. `offset` is where the statement begins in the text that the client sent."""
    position = None if error.position is None else min(error.position + offset, len(sql)) + 1
    fatal = isinstance(error, Farewell)
    return ErrorResponse(error.sqlstate, error.message, error.hint, position, "FATAL" if fatal else "ERROR")
