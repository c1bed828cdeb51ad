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


def response(error: Error, sql: str = "", offset: int = 0) -> ErrorResponse:
    """The error as a client gets it. `offset` is where the statement begins in the text that the client sent."""
    position = None if error.position is None else min(error.position + offset, len(sql)) + 1
    fatal = isinstance(error, Farewell)
    return ErrorResponse(error.sqlstate, error.message, error.hint, position, "FATAL" if fatal else "ERROR")
