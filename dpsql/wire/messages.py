"""The messages of PostgreSQL's protocol 3 (PostgreSQL documentation, chapter 55.7 "Message Formats").

The server never receives a copy and knows no function calls: such messages of a client are all `Unexpected`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["S", "P"]
"""What Describe and Close name: a prepared statement or a portal."""
Status = Literal["I", "T", "E"]
"""Outside of a transaction, in one, in one that failed."""

# ---------------------------------------------------------------------------------------------- before the session


@dataclass(frozen=True, slots=True)
class SslRequest:
    """May the connection be encrypted by TLS?"""


@dataclass(frozen=True, slots=True)
class GssRequest:
    """May the connection be encrypted by GSSAPI?"""


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """End the statement that another connection waits for."""

    process: int
    key: bytes


@dataclass(frozen=True, slots=True)
class Startup:
    """Who wants to connect, with which settings; `minor` is the version's part behind the 3."""

    minor: int
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Password:
    """An answer to a question of the login: its meaning depends on the question."""

    data: bytes


# ---------------------------------------------------------------------------------------------- requests


@dataclass(frozen=True, slots=True)
class Query:
    """Run statements, separated by semicolons."""

    sql: str


@dataclass(frozen=True, slots=True)
class Parse:
    """Prepare a statement. `types` are OIDs, 0 where the server is to find the parameter's type."""

    name: str
    sql: str
    types: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Bind:
    """Make a portal: a prepared statement with values. Formats are 0 (text) and 1 (binary)."""

    portal: str
    statement: str
    formats: tuple[int, ...] = ()
    values: tuple[bytes | None, ...] = ()
    result_formats: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Describe:
    """Which columns will come."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """The next rows of a portal; 0: all."""

    portal: str
    max_rows: int = 0


@dataclass(frozen=True, slots=True)
class Close:
    """Forget a prepared statement or portal."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class Flush:
    """Send what there is."""


@dataclass(frozen=True, slots=True)
class Sync:
    """The end of requests that fail together."""


@dataclass(frozen=True, slots=True)
class Terminate:
    """Goodbye."""


@dataclass(frozen=True, slots=True)
class Unexpected:
    """A message that makes no sense here: a function call, the rows of a copy. `letter` is its type."""

    letter: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A message whose length is right and whose content is not; `sqlstate` and `problem` say why."""

    letter: str
    sqlstate: str
    problem: str


Request = (
    Query | Parse | Bind | Describe | Execute | Close | Flush | Sync | Terminate | Password | Unexpected | Unreadable
)
Opening = SslRequest | GssRequest | CancelRequest | Startup

# ---------------------------------------------------------------------------------------------- answers


@dataclass(frozen=True, slots=True)
class AuthenticationOk:
    """The client is who it says."""


@dataclass(frozen=True, slots=True)
class AuthenticationSasl:
    """Prove who you are by one of these mechanisms."""

    mechanisms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuthenticationSaslContinue:
    """The next question."""

    data: bytes


@dataclass(frozen=True, slots=True)
class AuthenticationSaslFinal:
    """The server's own proof."""

    data: bytes


@dataclass(frozen=True, slots=True)
class NegotiateProtocolVersion:
    """The newest minor version that the server speaks, and the options of the protocol that it doesn't know."""

    minor: int
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BackendKeyData:
    """What a CancelRequest must name."""

    process: int
    key: bytes


@dataclass(frozen=True, slots=True)
class ParameterStatus:
    """A setting that drivers care about."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ReadyForQuery:
    """The server waits for requests."""

    status: Status


@dataclass(frozen=True, slots=True)
class Field:
    """One column to come: its name, its type's OID and size (-1: varies), its format."""

    name: str
    type: int
    size: int
    format: int = 0


@dataclass(frozen=True, slots=True)
class RowDescription:
    """The columns of the rows that follow."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class ParameterDescription:
    """The OIDs of a prepared statement's parameters."""

    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NoData:
    """There will be no rows."""


@dataclass(frozen=True, slots=True)
class ParseComplete:
    """The statement is prepared."""


@dataclass(frozen=True, slots=True)
class BindComplete:
    """The portal is made."""


@dataclass(frozen=True, slots=True)
class CloseComplete:
    """It is forgotten."""


@dataclass(frozen=True, slots=True)
class PortalSuspended:
    """There are more rows."""


@dataclass(frozen=True, slots=True)
class EmptyQueryResponse:
    """There was nothing to run."""


@dataclass(frozen=True, slots=True)
class CommandComplete:
    """A statement is done."""

    tag: str


@dataclass(frozen=True, slots=True)
class CopyOutResponse:
    """The rows of a copy follow, in this format, with so many columns."""

    format: int
    columns: int


@dataclass(frozen=True, slots=True)
class CopyData:
    """A part of a copy."""

    data: bytes


@dataclass(frozen=True, slots=True)
class CopyDone:
    """The copy is complete."""


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """What went wrong. `position` counts characters of the statement from 1."""

    sqlstate: str
    message: str
    hint: str | None = None
    position: int | None = None
    severity: Literal["ERROR", "FATAL"] = "ERROR"


@dataclass(frozen=True, slots=True)
class NoticeResponse:
    """Something that is worth knowing."""

    message: str
    severity: Literal["NOTICE", "WARNING"] = "NOTICE"
    sqlstate: str = "00000"


Answer = (
    AuthenticationOk | AuthenticationSasl | AuthenticationSaslContinue | AuthenticationSaslFinal
    | NegotiateProtocolVersion | BackendKeyData | ParameterStatus | ReadyForQuery | RowDescription
    | ParameterDescription | NoData | ParseComplete | BindComplete | CloseComplete | PortalSuspended
    | EmptyQueryResponse | CommandComplete | CopyOutResponse | CopyData | CopyDone | ErrorResponse | NoticeResponse
)  # fmt: skip
"""Every message of the server but the rows themselves, which `types.columns` writes many at a time."""
