"""PEP 249: dpsql as a Python database module.

    import dpsql

    with dpsql.connect("config/pums.yaml", analyst="alice") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT married, COUNT(*) FROM people WHERE age > ? GROUP BY married", (40,))
        cursor.fetchall()
        cursor.privacy.half_widths   # (None, 3.0): each count ± 3 holds the exact one in 95 % of all answers

Instead of `fetchall`, `df`, `pl`, `arrow` and `fetchnumpy` give the rows as a data frame (see dpsql.frames); `plot`
draws them (see dpsql.plot).

Where it differs from other databases:

* Every execute is charged before any row is read, and a charge is never refunded: not by `rollback`, not by
  an error, not by closing. There are no transactions; `commit` and `rollback` do nothing.
* The same statement executed twice answers the same, and is charged once: see `answers` in the policy. Where that is
  off it is charged twice and answers differently.
* `executemany` is refused: it would charge for answers that are thrown away.

Code that runs in this process is trusted: it could read the data itself. The promise is about what `execute`
returns.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeVar

from dpsql import errors, frames, notebook
from dpsql.display import charged_text
from dpsql.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    InvalidParameter,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from dpsql.policy import load
from dpsql.privacy.interval import parse_level
from dpsql.result import Array, Pair, Rank, Result, ResultColumn, Row
from dpsql.session import Session, open_session, system_user

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import polars
    import pyarrow  # type: ignore[import-untyped]

    from dpsql.plot import Chart

apilevel = "2.0"
threadsafety = 2
"""Threads may share the module and connections, not cursors."""
paramstyle = "qmark"
"""`?` with a sequence. `$1` with a sequence and `:name` with a mapping work too."""

Parameters = Sequence[object] | Mapping[str, object]
_Frame = TypeVar("_Frame")
Description = tuple[str, str, None, None, int | None, int | None, None]


# ---------------------------------------------------------------------------------------------- types


class TypeObject:
    """A kind of SQL types: equal to the type code (the SQL type's text) of each column of that kind."""

    __slots__ = ("_names", "_title")

    def __init__(self, title: str, *names: str) -> None:
        self._title = title
        self._names = frozenset(names)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other.split("(", 1)[0].strip().upper() in self._names
        return self is other

    def __hash__(self) -> int:
        return hash(self._title)

    def __repr__(self) -> str:
        return f"dpsql.{self._title}"


STRING = TypeObject("STRING", "VARCHAR", "TEXT", "CHAR", "UUID", "ENUM", "JSON")
BINARY = TypeObject("BINARY", "BLOB", "BIT")
NUMBER = TypeObject(
    "NUMBER", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
    "UBIGINT", "UHUGEINT", "DECIMAL", "FLOAT", "DOUBLE", "BOOLEAN",
)  # fmt: skip
DATETIME = TypeObject(
    "DATETIME", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "INTERVAL",
    "TIMESTAMP WITH TIME ZONE", "TIME WITH TIME ZONE",
)  # fmt: skip
ROWID = TypeObject("ROWID")

Date = dt.date
Time = dt.time
Timestamp = dt.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> dt.date:
    """The local date of seconds since 1970."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> dt.time:
    """The local time of day of seconds since 1970."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> dt.datetime:
    """The local date and time of seconds since 1970."""
    return Timestamp(*time.localtime(ticks)[:6])


# ---------------------------------------------------------------------------------------------- privacy


@dataclass(frozen=True, slots=True)
class CursorPrivacy:
    """What the last statement cost, and how exact its answer is.

    epsilon_charged  what the ledger charged: 0 where no private table was read
    epsilon_left     what the budget leaves this analyst after it; None: no limit
    delta_charged    above 0 where the query groups by keys that aren't public
    stored           when the oldest of the answer's numbers were released (UTC), where some were stored: these cost
                     nothing again. None: all are fresh
    level            of half-widths and intervals: 0.95
    """

    analyst: str
    epsilon_charged: Fraction
    epsilon_left: Fraction | None
    level: float
    delta_charged: Fraction = Fraction(0)
    stored: dt.datetime | None = None
    _columns: tuple[ResultColumn, ...] = field(default=(), repr=False, compare=False)

    @property
    def half_widths(self) -> tuple[float | tuple[float | None, ...] | None, ...]:
        """One for each column of `description`: None where none is known, as where it is no noisy number; a number w:
        each exact number lies within answer ± w in `level` of all answers; a tuple of such numbers, one for each row,
        where w depends on the row (AVG, arithmetic on several numbers).

        They cover the noise, not what bounds clip, and refer to counts before those are shown as at least 0.
        """
        widths = ((c.half_width, c.half_widths) for c in self._columns)
        return tuple(same if each is None else each for same, each in widths)

    @property
    def intervals(self) -> tuple[tuple[Pair | None, ...] | None, ...]:
        """One for each column of `description`: None where none is known, else (low, high) for each row, or None.

        In `level` of all answers the exact number lies between the two; where one of them is None, it may be anything
        on that side. They are those of DP_INTERVAL_LOW and DP_INTERVAL_HIGH. Worked out once they are asked for: they
        cost nothing. Raises Error.
        """
        return tuple(None if c.intervals is None else c.intervals.pairs for c in self._columns)

    @property
    def ranks(self) -> tuple[Rank | None, ...]:
        """One for each column of `description`: what is known of the rank of a quantile, or of how many rows lie beyond
        the smallest or the greatest value; None of others.
        """
        return tuple(c.rank for c in self._columns)

    def __str__(self) -> str:
        left = "no limit" if self.epsilon_left is None else f"{float(self.epsilon_left):.9g} left"
        return f"{charged_text(self.epsilon_charged, self.delta_charged, self.stored)}, {left}"


def _privacy(result: Result) -> CursorPrivacy:
    cost = result.privacy
    return CursorPrivacy(
        cost.analyst,
        cost.epsilon_charged,
        cost.epsilon_left,
        cost.level,
        cost.delta_charged,
        cost.stored,
        result.columns,
    )


# ---------------------------------------------------------------------------------------------- sessions


@dataclass(slots=True)
class _Shared:
    """A session and how many connections use it."""

    session: Session
    users: int


_Key = tuple[str, str, int]
_sessions: dict[_Key, _Shared] = {}
_lock = threading.RLock()
"""Reentrant: a connection that is collected as garbage gives its session back in whatever thread runs then."""


def _take(config: str | os.PathLike[str], create_ledger: bool) -> tuple[_Key, Session]:
    """The session of a policy: one for all connections of a process, while it stays the same."""
    policy = load(config)
    key = (str(policy.path), policy.fingerprint, os.getpid())
    with _lock:
        shared = _sessions.get(key)
        if shared is None:
            shared = _sessions[key] = _Shared(open_session(policy, create_ledger=create_ledger), 1)
        else:
            shared.users += 1
        return key, shared.session


def _give_back(key: _Key) -> None:
    """Close a session after its last connection, but not that of a process which this one forked from."""
    if key[2] != os.getpid():
        return
    with _lock:
        shared = _sessions[key]
        shared.users -= 1
        if shared.users:
            return
        del _sessions[key]
        shared.session.close()


# ---------------------------------------------------------------------------------------------- connections


def connect(
    config: str | os.PathLike[str],
    *,
    analyst: str | None = None,
    epsilon: object = None,
    level: object = None,
    create_ledger: bool = False,
) -> Connection:
    """Connect to the data that a policy file protects.

    config         path of the policy (YAML)
    analyst        who is charged; default: the operating system's user
    epsilon        of each statement that asks for none; default: the policy's. Decimal text, a number
    level          of half-widths, and of intervals that name none; default: 0.95
    create_ledger  make the ledger if there is none; else its absence is a LedgerError

    Raises PolicyError for whatever is wrong in the policy or doesn't fit the data, LedgerError, EngineError,
    InvalidParameter for an epsilon or analyst that can't be used.
    """
    key, session = _take(config, create_ledger)
    try:
        name = system_user() if analyst is None else analyst
        if epsilon is not None:
            session.epsilon(epsilon)
        if level is not None:
            parse_level(level)
        session.ledger.remaining(name, session.policy.budget)
        return Connection(session, key, name, epsilon, level)
    except BaseException:
        _give_back(key)
        raise


class Connection:
    """One analyst's connection. Threads may share it. Made by `connect`; a context manager that closes."""

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, session: Session, key: _Key, analyst: str, epsilon: object, level: object = None) -> None:
        self.analyst = analyst
        self.epsilon = epsilon
        self.level = level
        self._session: Session | None = session
        self._finalizer = weakref.finalize(self, _give_back, key)

    def __repr__(self) -> str:
        state = "closed" if self._session is None else "open"
        return f"<dpsql.Connection of {self.analyst!r}, {state}>"

    @property
    def session(self) -> Session:
        """The session behind it. Raises InterfaceError once closed."""
        if self._session is None:
            raise InterfaceError("the connection is closed", hint="connect again")
        return self._session

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._session is None

    def cursor(self) -> Cursor:
        """A new cursor."""
        self.session  # noqa: B018 - raises where closed
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing: a charge is durable before its answer is given."""
        self.session  # noqa: B018

    def rollback(self) -> None:
        """Do nothing: what was released stays released, so no charge is ever refunded."""
        self.session  # noqa: B018

    def close(self) -> None:
        """Close it and its cursors. Closing twice is fine."""
        self._session = None
        self._finalizer()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Cursor:
    """Executes statements and holds the rows of the last one. For one thread at a time; a context manager."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._closed = False
        self._result: Result | None = None
        self._position = 0

    # -- executing

    def execute(self, sql: str, parameters: Parameters = (), *, epsilon: object = None, level: object = None) -> Cursor:
        """Answer one statement, charging `epsilon` (default: the connection's, else the policy's) unless it is stored.

        Returns the cursor. Raises dpsql.Error: refusals before the charge; EngineError, Cancelled and
        InternalError also after it, where it stands.
        """
        session = self._session()
        self._result, self._position = None, 0
        self._result = session.execute(
            _text(sql),
            _parameters(parameters),
            epsilon=self._epsilon(epsilon),
            level=self.connection.level if level is None else level,
            analyst=self.connection.analyst,
        )
        return self

    def executemany(self, sql: str, parameters: Sequence[Parameters]) -> None:
        """Refuse, free: only the last answer could be fetched, and all would be charged."""
        self._session()
        raise NotSupportedError(
            "executemany would charge for answers that can't be fetched",
            hint="call execute for each set of parameters, and fetch",
        )

    def explain(
        self,
        sql: str,
        parameters: Parameters = (),
        *,
        epsilon: object = None,
        level: object = None,
        format: Literal["text", "json"] = "text",
    ) -> str:
        """What a statement would release, how exactly, at what cost. No data is read, nothing charged."""
        session = self._session()
        if format not in ("text", "json"):
            raise InvalidParameter("the format of explain is not known", hint="write 'text' or 'json'")
        return session.explain(
            _text(sql),
            _parameters(parameters),
            epsilon=self._epsilon(epsilon),
            level=self.connection.level if level is None else level,
            analyst=self.connection.analyst,
            form=format,
        )

    def _epsilon(self, asked: object) -> object:
        return self.connection.epsilon if asked is None else asked

    # -- what came back

    @property
    def description(self) -> tuple[Description, ...] | None:
        """Name, type code (the SQL type's text), precision and scale of each column; None before execute."""
        return None if self._result is None else tuple(_described(column) for column in self._result.columns)

    @property
    def rowcount(self) -> int:
        """How many rows the answer has: never the number of private rows. -1 before execute."""
        return -1 if self._result is None else len(self._result.values)

    @property
    def rownumber(self) -> int | None:
        """The 0-based index of the next row; None before execute."""
        return None if self._result is None else self._position

    @property
    def privacy(self) -> CursorPrivacy | None:
        """What the last statement cost, and how exact its answer is; None before execute."""
        return None if self._result is None else _privacy(self._result)

    # -- fetching

    def fetchone(self) -> Row | None:
        """The next row, or None."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next rows: `size` of them (default: `arraysize`), or as many as are left."""
        rows = self._answer().rows
        count = self.arraysize if size is None else size
        if count < 0:
            raise InterfaceError("fetchmany can't fetch a negative number of rows", hint="give a size of at least 0")
        start, self._position = self._position, min(self._position + count, len(rows))
        return rows[start : self._position]

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        rows = self._answer().rows
        start, self._position = self._position, len(rows)
        return rows[start:]

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def nextset(self) -> None:
        """There is never a second set of rows: None."""
        self._answer()

    # -- data frames

    def fetchnumpy(self, *, half_widths: bool = False, intervals: bool = False) -> dict[str, Array]:
        """All rows that are left, as a NumPy array for each column, by name; masked arrays if NULL is in them.

        With `half_widths`, here and below, each noisy number is followed by a column `<name>_half_width`, with
        `intervals` by `<name>_low` and `<name>_high`. Raises
        InterfaceError where two columns have one name, DataError for a value that a frame can't hold (a date before
        year 1); the rows are then still there to be fetched.
        """
        return self._frame(frames.numpy_arrays, frames.Added(half_widths, intervals))

    def df(self, *, half_widths: bool = False, intervals: bool = False) -> pandas.DataFrame:
        """All rows that are left, as a pandas DataFrame; `attrs["privacy"]` says what they cost.

        Raises InterfaceError where pandas is missing, DataError.
        """
        return self._frame(frames.pandas_frame, frames.Added(half_widths, intervals))

    def pl(self, *, half_widths: bool = False, intervals: bool = False) -> polars.DataFrame:
        """All rows that are left, as a polars DataFrame.

        Raises InterfaceError where polars or pyarrow is missing or two columns have one name, NotSupportedError for
        types that Arrow lacks, DataError.
        """
        return self._frame(frames.polars_frame, frames.Added(half_widths, intervals))

    def arrow(self, *, half_widths: bool = False, intervals: bool = False) -> pyarrow.Table:
        """All rows that are left, as a pyarrow Table; the schema's metadata say what they cost, as JSON.

        Raises InterfaceError where pyarrow is missing, NotSupportedError for types that Arrow lacks, DataError.
        """
        return self._frame(frames.arrow_table, frames.Added(half_widths, intervals))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows that are left for any library that reads Arrow streams; they stay to be fetched.

        A reader may ask more than once: first for the schema, then for the rows.
        """
        return frames.arrow_table(self._answer(), self._position, frames.Added()).__arrow_c_stream__(requested_schema)

    def _frame(self, make: Callable[[Result, int, frames.Added], _Frame], added: frames.Added) -> _Frame:
        answer = self._answer()
        frame = make(answer, self._position, added)
        self._position = len(answer.values)
        return frame

    # -- being looked at

    def plot(self, path: str | os.PathLike[str] | None = None) -> Chart:
        """All rows of the answer as a plot, which a notebook shows: bars or lines with their intervals (`dpsql.plot`).

        With `path` it is written there too, as PNG, SVG or HTML, by how the name ends. Rows stay to be fetched, and
        nothing is charged. Raises NotSupportedError where no column is a number, InterfaceError where the file can't
        be written, the path is none or vl-convert-python is missing.
        """
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise errors.InterfaceError(
                f"a plot is written to a path, not to {type(path).__name__}", hint='write cursor.plot("income.png")'
            )
        return self._answer().plot(path)

    def __repr__(self) -> str:
        if self._closed:
            return "<dpsql.Cursor, closed>"
        if self._result is None:
            return "<dpsql.Cursor, nothing executed>"
        return f"<dpsql.Cursor, {len(self._result.values)} rows, {self.privacy}>"

    def _repr_html_(self) -> str | None:
        """The first rows of the answer as a table, and what it cost, for notebooks. Rows stay to be fetched."""
        return None if self._result is None else notebook.html(self._result, str(self.privacy))

    # -- the rest of PEP 249

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Do nothing, as PEP 249 allows."""
        self._session()

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing, as PEP 249 allows."""
        self._session()

    def close(self) -> None:
        """Forget the rows. Closing twice is fine."""
        self._closed, self._result = True, None

    def __enter__(self) -> Cursor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _session(self) -> Session:
        if self._closed:
            raise InterfaceError("the cursor is closed", hint="take a new one from the connection")
        return self.connection.session

    def _answer(self) -> Result:
        self._session()
        if self._result is None:
            raise InterfaceError("nothing was executed", hint="call execute first")
        return self._result


def _described(column: ResultColumn) -> Description:
    exact = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", column.type)
    precision, scale = (int(exact[1]), int(exact[2])) if exact else (None, None)
    return column.name, column.type, None, None, precision, scale, None


def _text(sql: object) -> str:
    if not isinstance(sql, str):
        raise ProgrammingError("the statement is not text", hint="pass it as str")
    return sql


def _parameters(parameters: object) -> Parameters:
    """Lists and mappings as they are; a lone string would be taken for a list of letters."""
    if parameters is None:
        return ()
    if isinstance(parameters, Mapping):
        return parameters
    if isinstance(parameters, Sequence) and not isinstance(parameters, (str, bytes, bytearray)):
        return tuple(parameters)
    raise InvalidParameter(
        f"parameters are a sequence or a mapping, not {type(parameters).__name__}", hint="write (value,)"
    )


__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "CursorPrivacy",
    "Date",
    "DateFromTicks",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "TypeObject",
    "apilevel",
    "connect",
    "errors",
    "paramstyle",
    "threadsafety",
]
