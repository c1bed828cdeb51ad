"""The scratch engine: an in-memory DuckDB that holds noisy rows and public tables, and runs the outer query.

It never sees a private row, so what happens in it is post-processing and costs nothing (Dwork, Roth 2014,
proposition 2.1). It is locked and limited in memory and time all the same: the analyst's SQL is not to be trusted
with the machine.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import numpy as np
from sqlglot import exp

from dpsql.columns import Released
from dpsql.engines import PublicTable
from dpsql.engines.duckdb_sources.driver import is_interrupt
from dpsql.errors import Cancelled, DatabaseError, EngineError, InternalError, UnknownColumn, UnsupportedQuery
from dpsql.expressions import position_of
from dpsql.query import Constant
from dpsql.result import Array, Values
from dpsql.rows import RESERVED

MEMORY = "1GB"
SECONDS = 30
TICK = 0.25
MAX_ROWS = 5_000_000
MAX_CELLS = 50_000_000
MAX_CHARACTERS = 200_000_000
"""Of all texts of a result together, which `||` makes long: they are in this process's memory, not in the engine's."""
PAGE = 1_000
"""Rows that are fetched at a time."""


@dataclass(frozen=True, slots=True)
class Outer:
    """A bound outer query: its text, the parsed statement, the names and SQL types of its result.

    plain  the columns of the one release that it names and nothing else, in order, for which the engine isn't asked
           and there is no text; None where it does more
    """

    sql: str
    statement: duckdb.Statement | None
    names: tuple[str, ...]
    types: tuple[str, ...]
    plain: tuple[str, ...] | None = None


class Scratch:
    """One scratch engine for a session and a version of the public tables; each thread works on its own cursor.

    A cursor keeps the noisy rows of its last statement until the next one replaces them; no analyst can name them.
    """

    def __init__(
        self,
        public_tables: Iterable[PublicTable] = (),
        *,
        script: Iterable[str] = (),
        memory: str = MEMORY,
        seconds: float | None = None,
        cells: int = MAX_CELLS,
    ) -> None:
        """`script` makes what else it holds, once that is needed; the others are the limits of a query.

        Public tables are read at once: their files go with their version. Without any, the engine itself starts when
        it is first needed, which most statements never do.
        """
        self._cells = cells
        self._script = script
        self._memory = memory
        self._seconds = seconds
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.Lock()
        self._local = threading.local()
        self._deadlines: dict[duckdb.DuckDBPyConnection, float] = {}
        self._closed = threading.Event()
        self._watch: threading.Thread | None = None
        if tables := list(public_tables):
            self._connection = self._started(tables)

    def _started(self, public_tables: Iterable[PublicTable]) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(
            ":memory:",
            config={
                "threads": 1,
                "memory_limit": self._memory,
                "python_enable_replacements": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            },
        )
        for table in public_tables:
            _load(connection, table)
        connection.execute("SET GLOBAL TimeZone = 'UTC'")  # of the cursors too, whatever the machine's is
        connection.execute("SET temp_directory = ''")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        return connection

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        cursor: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if cursor is None:
            with self._lock:
                if self._connection is None:
                    self._connection = self._started(())
                for statement in self._script:
                    self._connection.execute(statement)
                self._script = ()
                cursor = self._local.cursor = self._connection.cursor()
        return cursor

    @contextmanager
    def _limited(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Interrupt what runs on the cursor once its time is over (DuckDB's own limit misses some plans)."""
        if self._watch is None:
            self._watch = threading.Thread(target=self._interrupt_overdue, name="dpsql-scratch", daemon=True)
            self._watch.start()
        self._deadlines[cursor] = time.monotonic() + (SECONDS if self._seconds is None else self._seconds)
        try:
            yield
        finally:
            self._deadlines.pop(cursor, None)

    def _interrupt_overdue(self) -> None:
        while not self._closed.wait(TICK):
            now = time.monotonic()
            for cursor, deadline in list(self._deadlines.items()):
                if deadline < now:
                    cursor.interrupt()

    def let(self, variable: str, value: str) -> None:
        """Set a variable of the engine for what this thread runs next."""
        text = value.replace("'", "''")
        self._cursor().execute(f"SET VARIABLE {variable} = '{text}'")

    def bind(self, sql: str, samples: Mapping[str, Released], tree: exp.Expr) -> Outer:
        """Names and types of the outer query's result, found by running it over sample rows: free, before any charge.

        Whatever is wrong with it (an unknown function or column, a type error, a text that is no number, a subquery of
        many rows) shows here. The engine's words are about the query, the samples and public tables only, since nothing
        private is in this engine. `tree` is the analyst's statement, for positions.
        """
        cursor = self._cursor()
        for name, rows in samples.items():
            cursor.register(name, rows.columns)
        try:
            with self._limited(cursor):
                (statement,) = cursor.extract_statements(sql)
                described = cursor.execute(statement).description or ()
                cursor.fetchone()
                cursor.abort()
        except duckdb.InterruptException:
            raise Cancelled("the query over the released numbers takes too long", hint="ask for less") from None
        except duckdb.OutOfMemoryException:
            raise EngineError(
                "the query over the released numbers takes too much memory", hint="ask for less"
            ) from None
        except duckdb.Error as error:
            raise _binding_error(error, tree) from None
        return Outer(
            sql, statement, tuple(column[0] for column in described), tuple(str(column[1]) for column in described)
        )

    def run(self, outer: Outer, releases: Mapping[str, Released]) -> Values:
        """The values of the outer query's result. After the charge: any failure is one generic error.

        Where the query only names columns of one release, they are read off: what the engine would return.
        """
        if outer.plain is not None:
            (release,) = releases.values()
            return Values(columns=[release.columns[name] for name in outer.plain])
        cursor = self._cursor()
        try:
            for name, rows in releases.items():
                cursor.register(name, rows.columns)
            with self._limited(cursor):
                cursor.execute(outer.statement or outer.sql)
                fetched = _fetched(cursor, outer.types, self._cells)
                cursor.abort()
            return Values(fetched)
        except RuntimeError as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            raise
        except duckdb.InterruptException:
            raise Cancelled("the query over the noisy rows took too long", hint="ask for less") from None
        except duckdb.OutOfMemoryException:
            raise EngineError(
                "the query over the noisy rows took too much memory", hint="ask for less; what was charged stands"
            ) from None
        except duckdb.Error as error:
            raise EngineError(
                f"the query over the noisy rows failed ({type(error).__name__}); the charge stands",
                hint="check casts and divisions outside the aggregates: they see noisy numbers",
            ) from None

    def doubles(self, sql: str, tables: Mapping[str, Released]) -> list[Array]:
        """The columns of a query of doubles over these tables alone, in their rows' order, NaN for NULL."""
        cursor = self._cursor()
        try:
            for name, table in tables.items():
                cursor.register(name, table.columns)
            with self._limited(cursor):
                found = cursor.execute(sql).fetchnumpy()
        except duckdb.InterruptException:
            raise Cancelled("the intervals took too long", hint="ask for fewer rows") from None
        except duckdb.Error as error:
            raise EngineError(
                f"the intervals could not be worked out ({type(error).__name__})", hint="ask without them"
            ) from None
        finally:
            for name in tables:
                cursor.unregister(name)
        return [np.ma.filled(column.astype(np.float64), np.nan) for column in found.values()]

    def value(self, constant: Constant, outer: Outer, releases: Mapping[str, Released]) -> object:
        """The value of a constant, or its rows as a list of dicts. A number that is none (NaN, infinity) is NULL.

        Raises InternalError where two rows have the same keys: a private row could meet both.
        """
        rows = self.run(outer, releases).rows
        if not constant.columns:
            return _finite(rows[0][0])
        if len({tuple(row[i] for i in constant.keys) for row in rows}) < len(rows):
            raise InternalError("a release has a group twice")
        return [dict(zip(constant.columns, map(_finite, row), strict=True)) for row in rows]

    def close(self) -> None:
        """Let the engine go."""
        self._closed.set()
        with self._lock:
            if self._connection is not None:
                self._connection.close()


def _load(connection: duckdb.DuckDBPyConnection, table: PublicTable) -> None:
    name = '"' + table.name.lower().replace('"', '""') + '"'
    source = str(table.file).replace("'", "''")
    original = '"' + table.name.replace('"', '""') + '"'
    connection.execute(f"ATTACH '{source}' AS _dpsql_public (READ_ONLY)")
    connection.execute(f"CREATE TABLE {name} AS FROM _dpsql_public.main.{original}")
    connection.execute("DETACH _dpsql_public")


_SHORT = frozenset({"BOOLEAN", "INTEGER", "BIGINT", "HUGEINT", "DOUBLE", "DATE", "TIMESTAMP"})
"""Types whose values are small; of the others those that are texts are measured."""


def _fetched(cursor: duckdb.DuckDBPyConnection, types: Sequence[str], cells: int) -> list[tuple[object, ...]]:
    """All rows of what the cursor executed, of at most so many cells, each element of a list being one.

    Raises EngineError for more than this process should hold: were it killed for its memory, the queries of others that
    are under way in it would count as failures.
    """
    long = [i for i, type_ in enumerate(types) if type_ not in _SHORT]
    lists = [i for i, type_ in enumerate(types) if type_.endswith("]")]
    rows: list[tuple[object, ...]] = []
    characters = held = 0
    size = 1 if lists else PAGE
    while True:
        page = cursor.fetchmany(size)
        rows += page
        characters += sum(len(row[i]) for row in page for i in long if isinstance(row[i], str | bytes))
        held += len(page) * len(types) + sum(_elements(row[i]) for row in page for i in lists)
        if len(rows) > MAX_ROWS or characters > MAX_CHARACTERS or held > cells:
            much = f"{MAX_CHARACTERS:,} characters of text" if characters > MAX_CHARACTERS else f"{cells:,} cells"
            much = f"{MAX_ROWS:,} rows" if len(rows) > MAX_ROWS else much
            raise EngineError(f"the result has more than {much}", hint="add a LIMIT; what was charged stands")
        if len(page) < size:
            return rows


def _elements(value: object) -> int:
    return sum(1 + _elements(item) for item in value) if isinstance(value, list) else 0


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


_MISSING = re.compile(r'(?:Referenced column |does not have a column named )"([^"]+)"')


def _binding_error(error: duckdb.Error, tree: exp.Expr) -> DatabaseError:
    """A refusal in our own words where the engine's are known, else in its first line without internal names."""
    text = str(error).split("\n", 1)[0]
    missing = _MISSING.search(text)
    if missing is not None and not missing[1].startswith(RESERVED):
        return UnknownColumn(
            f"column {missing[1]} does not exist in this part of the query",
            hint="in SQL, text stands in single quotes, names in double quotes",
            position=_position(tree, missing[1]),
        )
    text = text.split(": ", 1)[-1].split("LINE 1")[0].strip()
    if RESERVED in text:
        text = "its types don't fit together"
    return UnsupportedQuery(
        f"this query can't be answered: {text[:200]}",
        hint="check the names and types of columns in its SELECT, GROUP BY and ORDER BY",
    )


def _position(tree: exp.Expr, name: str) -> int | None:
    found = (c for c in tree.find_all(exp.Column) if c.name.lower() == name.lower())
    return next((position_of(c) for c in found), None)
