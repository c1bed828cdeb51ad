"""Answers the requests of one connection: statements, portals, cursors, copies, settings, transactions.

Free of I/O and threads: a request is answered by a generator that gives bytes to send, and jobs that may take time,
whose results it is sent. Whoever drives it runs the jobs elsewhere, and may throw Cancelled in the place of a result.

Privacy: a portal or cursor is one release, however often and in however many parts it is fetched: its rows are kept,
and no request draws them again (THREATS H8). Parse, Bind and Describe compile and nothing else. Command tags count the
rows that are sent, which are noisy (H11). ROLLBACK undoes settings, never a charge (H10).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from dpsql.errors import Error
from dpsql.result import ResultColumn
from dpsql.session import internal_error
from dpsql.wire import messages as m
from dpsql.wire import utility as u
from dpsql.wire.asking import Answered, Asker, Described, table
from dpsql.wire.codec import encode
from dpsql.wire.commands import command
from dpsql.wire.copying import Form
from dpsql.wire.refusals import Farewell, Refusal, check_name, response
from dpsql.wire.settings import BUDGET, EPSILON, KNOWN, LEVEL_OF_MESSAGES, at_first, known_setting
from dpsql.wire.transaction import Transaction
from dpsql.wire.types import inputs, oids
from dpsql.wire.types.rows import data_rows
from dpsql.wire.utility import Utility

CHUNK = 4_096
"""Rows that are written in one job."""
WRITTEN = 1_000_000
"""Characters of texts that are."""
SHORT = 2_000
"""Characters that are read where no other connection is kept waiting by it."""
MOST_STATEMENTS = 1_000
MOST_TEXT = 5_000_000
"""Characters that all prepared statements of a connection have together; each parameter's type counts as some."""
MOST_PORTALS = 100
MOST_BOUND = 5_000_000
"""Bytes of values that all portals of a connection hold together."""
MOST_KEPT = 50_000_000
"""Bytes of answers that its portals and cursors hold when one more is made."""
_ITEM = 8
"""Bytes of one type, format or small value."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work that may take time. `seconds`: how long it is waited for, None: as the server likes. `pause`: so many
    seconds it begins later, and keeps no thread until then.
    """

    run: Callable[[], Any]
    seconds: float | None = None
    pause: float = 0.0


Steps = Generator[bytes | Job, Any, None]


@dataclass(frozen=True, slots=True)
class _Statement:
    """A prepared statement: a query with its parameters' types, or a utility; neither where it is empty."""

    sql: str
    utility: Utility | None = None
    types: tuple[int, ...] = ()
    empty: bool = False
    described: tuple[Described, ...] | None = None

    @property
    def size(self) -> int:
        """Characters, as MOST_TEXT counts them."""
        return len(self.sql) + _ITEM * len(self.types)


@dataclass(slots=True)
class _Portal:
    """A statement with its values; once it runs, its answer, and how much of it was fetched."""

    statement: _Statement
    values: tuple[inputs.Value, ...] = ()
    formats: tuple[int, ...] = ()
    answer: Answered | None = None
    position: int = 0
    hold: bool = False
    bound: int = 0
    """Bytes of its values, as they came, and of their formats."""


class Backend:
    """The server's side of one connection that has logged in."""

    def __init__(self, asker: Asker, parameters: Mapping[str, str]) -> None:
        """Raises Farewell for settings of the startup message that can't be."""
        self._asker = asker
        try:
            settings = at_first(asker.analyst, asker.settings, parameters)
            if settings[EPSILON]:
                asker.check_epsilon(settings[EPSILON])
        except Error as error:
            raise Farewell(error.sqlstate, error.message, hint=error.hint) from None
        self._transaction = Transaction(settings)
        self._statements: dict[str, _Statement] = {}
        self._portals: dict[str, _Portal] = {}
        self._skipping = False
        self._told = dict(settings.reported())

    @property
    def idle(self) -> bool:
        """Whether it is in no transaction, and waits for no Sync."""
        return not self._transaction.in_block and not self._skipping

    def greeting(self, process: int, key: bytes) -> bytes:
        """What follows a login."""
        known = (encode(m.ParameterStatus(name, value)) for name, value in self._told.items())
        return b"".join((*known, encode(m.BackendKeyData(process, key)), self._ready()))

    def answer(self, request: m.Request) -> Steps:
        """Answer one request."""
        if isinstance(request, m.Sync):
            self._skipping = False
            self._end_of_requests()
            yield self._ready()
            return
        if self._skipping or isinstance(request, m.Flush):
            return
        if isinstance(request, m.Query):
            yield from self._query(request.sql)
            return
        try:
            yield from self._extended(request)
        except Exception as error:  # noqa: BLE001 - the boundary: no other exception may leave
            yield self._failed(error, _text_of(request, self._statements, self._portals), 0)
            if isinstance(request, (m.Unreadable, m.Unexpected)) and request.letter in _SIMPLE:
                yield self._ready()
            else:
                self._skipping = True

    # ------------------------------------------------------------------------------------------ simple queries

    def _query(self, sql: str) -> Steps:
        """Statements after one another: the first that fails ends them, and what came before it stands."""
        self._portals.pop("", None)
        spans = yield from self._split(sql)
        if not spans:
            yield encode(m.EmptyQueryResponse())
        for start, end in spans:
            try:
                yield from self._simple(sql[start:end])
            except Exception as error:  # noqa: BLE001 - the boundary
                yield self._failed(error, sql, start)
                break
        self._end_of_requests()
        yield self._ready()

    def _split(self, sql: str) -> Generator[bytes | Job, Any, list[tuple[int, int]]]:
        """Where its statements begin and end; a short text is split at once."""
        if len(sql) <= SHORT:
            return self._asker.split(sql)
        spans: list[tuple[int, int]] = yield Job(partial(self._asker.split, sql))
        return spans

    def _command(self, sql: str) -> Generator[bytes | Job, Any, Utility | None]:
        """The statement where it is no query; a short one is read at once."""
        if len(sql) <= SHORT:
            return command(sql)
        found: Utility | None = yield Job(partial(command, sql))
        return found

    def _simple(self, sql: str) -> Steps:
        statement = _Statement(sql, (yield from self._command(sql)))
        portal = _Portal(statement)
        yield from self._run(portal, 0, describe=True)

    # ------------------------------------------------------------------------------------------ extended queries

    def _extended(self, request: m.Request) -> Steps:
        match request:
            case m.Parse():
                yield from self._parse(request)
            case m.Bind():
                yield from self._bind(request)
            case m.Describe("S", name):
                yield from self._describe_statement(name)
            case m.Describe(_, name):
                yield from self._describe_portal(self._portal(name))
            case m.Execute(name, rows):
                yield from self._run(self._portal(name), rows)
            case m.Close(kind, name):
                (self._statements if kind == "S" else self._portals).pop(name, None)
                yield encode(m.CloseComplete())
            case m.Unreadable(letter, sqlstate, problem):
                raise Refusal(sqlstate, f"a message of type {letter} can't be read: {problem}")
            case m.Unexpected("F"):
                raise Refusal("0A000", "function calls aren't supported", hint="send SELECT")
            case m.Unexpected():
                pass  # what is left of a copy that the client believed in, as PostgreSQL has it
            case _:
                raise Refusal("08P01", "a message came that makes no sense here")

    def _parse(self, request: m.Parse) -> Steps:
        name = request.name
        check_name(name)
        if name and name in self._statements:
            raise Refusal("42P05", f'prepared statement "{name[:80]}" already exists', hint="close it first")
        if len(self._statements) >= MOST_STATEMENTS and name not in self._statements:
            raise Refusal("54000", f"there are {MOST_STATEMENTS} prepared statements", hint="close some")
        self._statements.pop(name, None)
        for number, oid in enumerate(request.types, 1):
            inputs.check_type(oid, number)
        spans = yield from self._split(request.sql)
        if len(spans) > 1:
            raise Refusal("42601", "cannot insert multiple commands into a prepared statement", hint="prepare each")
        if not spans:
            statement = _Statement("", empty=True)
        else:
            start, end = spans[0]
            statement = yield from self._prepared(" " * start + request.sql[start:end], request.types)
        if sum(s.size for s in self._statements.values()) + statement.size > MOST_TEXT:
            raise Refusal("53200", f"the prepared statements have more than {MOST_TEXT} characters", hint="close some")
        self._statements[name] = statement
        yield encode(m.ParseComplete())

    def _prepared(self, sql: str, declared: tuple[int, ...]) -> Generator[bytes | Job, Any, _Statement]:
        found = yield from self._command(sql)
        if isinstance(found, (u.Commit, u.Rollback, u.RollbackTo)):
            return _Statement(sql, found)
        self._transaction.check()
        query = sql if found is None else _at(found.query, found.start) if isinstance(found, u.Declare) else ""
        types = declared
        if query and ("$" in query or "?" in query or declared):
            types = yield Job(partial(self._asker.parameter_types, query, declared))
        statement = _Statement(sql, found, types)
        if found is None and not types:  # what is wrong with it shows now, and running it compiles nothing again
            return replace(statement, described=(yield from self._columns(statement, ())))
        return statement

    def _bind(self, request: m.Bind) -> Steps:
        statement = self._statements.get(request.statement)
        if statement is None:
            raise _no_statement(request.statement)
        check_name(request.portal)
        if request.portal and request.portal in self._portals:
            raise Refusal("42P03", f'portal "{request.portal[:80]}" already exists', hint="close it first")
        if not isinstance(statement.utility, (u.Commit, u.Rollback, u.RollbackTo)):
            self._transaction.check()
        if len(request.values) != len(statement.types):
            raise Refusal(
                "08P01",
                f"bind message supplies {len(request.values)} parameters, but the prepared statement requires "
                f"{len(statement.types)}",
            )
        formats = _each(request.formats, len(request.values), "parameters")
        values = tuple(
            inputs.value(oid, form, data, number)
            for number, (oid, form, data) in enumerate(zip(statement.types, formats, request.values, strict=True), 1)
        )
        self._portals.pop(request.portal, None)
        bound = sum(len(data or b"") + _ITEM for data in request.values) + _ITEM * len(request.result_formats)
        self._check_room(bound)
        self._portals[request.portal] = _Portal(statement, values, request.result_formats, bound=bound)
        yield encode(m.BindComplete())

    def _describe_statement(self, name: str) -> Steps:
        statement = self._statements.get(name)
        if statement is None:
            raise _no_statement(name)
        described = statement.described
        if described is None:
            described = yield from self._columns(statement, None)
            if statement.utility is None:
                self._statements[name] = replace(statement, described=described)
        yield encode(m.ParameterDescription(statement.types)) + _row_description(described, ())

    def _describe_portal(self, portal: _Portal) -> Steps:
        described = portal.answer.described if portal.answer else None
        if described is None:
            described = yield from self._columns(portal.statement, portal.values)
        yield _row_description(described, portal.formats)

    def _columns(
        self, statement: _Statement, values: Sequence[inputs.Value] | None
    ) -> Generator[bytes | Job, Any, tuple[Described, ...]]:
        """The columns that a statement gives; none where it gives no rows."""
        match statement.utility:
            case None if not statement.empty:
                settings = self._transaction.settings
                found: tuple[Described, ...] = yield Job(
                    partial(self._asker.describe, statement.sql, statement.types, values, settings)
                )
                return found
            case u.Show(name):
                return _show_heads(name)
            case u.Fetch(name, move=False):
                return self._cursor(name)[1].described
        return ()

    def _portal(self, name: str) -> _Portal:
        if name not in self._portals:
            raise Refusal("34000", f'portal "{name[:80]}" does not exist')
        return self._portals[name]

    # ------------------------------------------------------------------------------------------ running

    def _run(self, portal: _Portal, most: int, *, describe: bool = False) -> Steps:
        """Run a statement, or fetch more of its rows. `describe`: its columns are told first."""
        statement = portal.statement
        if statement.empty:
            yield encode(m.EmptyQueryResponse())
            return
        if statement.utility is not None:
            yield from self._run_utility(statement.utility, portal, describe)
            return
        self._transaction.check()
        first = portal.answer is None
        if portal.answer is None:
            if len(portal.formats) > 1:  # that they fit is to be known before the charge
                _each(portal.formats, len((yield from self._columns(statement, portal.values))), "columns")
            portal.answer = yield from self._ask(statement, portal.values)
        answer = portal.answer
        if describe:
            yield _row_description(answer.described, portal.formats)
        formats = _each(portal.formats, len(answer.columns), "columns")
        last = answer.rows if not most else min(answer.rows, portal.position + most)
        start, portal.position = portal.position, last
        yield from _rows(answer, formats, start, last)
        if first:
            yield self._notice(answer.notice)
        if most and last - start == most:
            yield encode(m.PortalSuspended())
        else:
            yield encode(m.CommandComplete(f"SELECT {last - start}"))

    def _ask(self, statement: _Statement, values: Sequence[inputs.Value]) -> Generator[bytes | Job, Any, Answered]:
        """The answer to a query: here it is charged."""
        settings = self._transaction.settings
        ask = partial(self._asker.answer, statement.sql, values, settings, statement.described)
        answer: Answered = yield Job(ask, settings.timeout)
        for name, value, local in answer.changes:
            self._set(name, value, local=local)
        if answer.pause:
            yield Job(lambda: None, settings.timeout, answer.pause)
        return answer

    def _set(self, name: str, value: str | None, *, local: bool) -> None:
        if name == EPSILON and value:
            self._asker.check_epsilon(value)
        self._transaction.set(name, value, local=local)

    def _notice(self, text: str | None) -> bytes:
        wanted = self._transaction.settings[LEVEL_OF_MESSAGES] not in ("warning", "error")
        return encode(m.NoticeResponse(text)) if text and wanted else b""

    def _run_utility(self, found: Utility, portal: _Portal, describe: bool) -> Steps:
        match found:
            case u.Begin() | u.Commit() | u.Rollback() | u.Savepoint() | u.Release() | u.RollbackTo():
                tag, warning = self._transaction.run(found)
                if warning:
                    yield encode(m.NoticeResponse(warning, "WARNING", "25P01" if "no" in warning else "25001"))
                if isinstance(found, (u.Commit, u.Rollback)):
                    self._end_transaction()
                yield encode(m.CommandComplete(tag))
                return
        self._transaction.check()
        match found:
            case u.Set(name, value, local):
                self._set(name, value, local=local)
                if local and not self._transaction.in_block:
                    warning = "SET LOCAL can only be used in transaction blocks"
                    yield encode(m.NoticeResponse(warning, "WARNING", "25P01"))
                yield encode(m.CommandComplete("SET"))
            case u.SetTransaction():
                yield encode(m.CommandComplete("SET"))
            case u.Reset(None):
                self._transaction.reset()
                yield encode(m.CommandComplete("RESET"))
            case u.Reset(name):
                assert name is not None
                self._transaction.set(name, None, local=False)
                yield encode(m.CommandComplete("RESET"))
            case u.Show(name):
                yield from self._show(name, portal, describe)
            case u.Discard(what):
                self._discard(what)
                yield encode(m.CommandComplete(f"DISCARD {what.upper()}"))
            case u.Deallocate(name):
                self._deallocate(name)
                yield encode(m.CommandComplete("DEALLOCATE ALL" if name is None else "DEALLOCATE"))
            case u.Declare():
                yield from self._declare(found, portal.values)
            case u.Fetch():
                yield from self._fetch(found, portal, describe)
            case u.CloseCursor(name):
                if name is None:
                    self._portals = {n: p for n, p in self._portals.items() if p is portal}
                elif self._portals.pop(name, None) is None:
                    raise _no_cursor(name)
                yield encode(m.CommandComplete("CLOSE CURSOR ALL" if name is None else "CLOSE CURSOR"))
            case u.Copy():
                yield from self._copy(found)
            case u.Nothing(tag):
                yield encode(m.CommandComplete(tag))

    def _show(self, name: str | None, portal: _Portal, describe: bool) -> Steps:
        settings = self._transaction.settings
        rows: list[tuple[str, ...]]
        if name is None:
            rows = [(known.shown, settings[key], "") for key, known in KNOWN.items()]
        elif name == BUDGET:
            left = yield Job(self._asker.budget)
            rows = [(left,)]
        else:
            rows = [(settings.show(name)[1],)]
        answer = table([ResultColumn(c.name, "VARCHAR") for c in _show_heads(name)], rows)
        if describe:
            yield _row_description(answer.described, portal.formats)
        yield from _rows(answer, _each(portal.formats, len(answer.columns), "columns"), 0, answer.rows)
        yield encode(m.CommandComplete("SHOW"))

    def _discard(self, what: str) -> None:
        if what != "all":
            return
        if self._transaction.in_block:
            raise Refusal("25001", "DISCARD ALL cannot run inside a transaction block")
        self._transaction.reset()
        self._statements.clear()
        self._portals.clear()

    def _deallocate(self, name: str | None) -> None:
        if name is None:
            self._statements.clear()
        elif self._statements.pop(name, None) is None:
            raise _no_statement(name)

    # ------------------------------------------------------------------------------------------ cursors, copies

    def _declare(self, found: u.Declare, values: Sequence[inputs.Value]) -> Steps:
        """A cursor: its query is asked, and charged, now; FETCH and MOVE page what it gave."""
        if not found.hold and not self._transaction.in_block:
            raise Refusal(
                "25P01", "DECLARE CURSOR can only be used in transaction blocks", hint="send BEGIN, or WITH HOLD"
            )
        if found.name in self._portals:
            raise Refusal("42P03", f'cursor "{found.name[:80]}" already exists', hint="close it first")
        self._check_room()
        statement = _Statement(_at(found.query, found.start))
        answer = yield from self._ask(statement, values)
        self._portals[found.name] = _Portal(statement, (), (int(found.binary),), answer, hold=found.hold)
        yield self._notice(answer.notice)
        yield encode(m.CommandComplete("DECLARE CURSOR"))

    def _cursor(self, name: str) -> tuple[_Portal, Answered]:
        """A portal that runs, by whichever way it was made, and its answer."""
        portal = self._portals.get(name)
        if portal is None or portal.answer is None:
            raise _no_cursor(name)
        return portal, portal.answer

    def _fetch(self, found: u.Fetch, portal: _Portal, describe: bool) -> Steps:
        cursor, answer = self._cursor(found.name)
        start = cursor.position
        if found.absolute:
            if found.count <= start:
                raise Refusal("55000", "cursors only go forward", hint="declare it again to begin anew")
            start = min(found.count - 1, answer.rows)
        last = min(answer.rows, start + (1 if found.absolute else found.count))
        if not found.count and not found.absolute:  # the row that it stands on
            start, last = max(0, start - 1), start
        cursor.position = last
        if found.move:
            yield encode(m.CommandComplete(f"MOVE {last - start}"))
            return
        formats = portal.formats or cursor.formats
        if describe:
            yield _row_description(answer.described, formats)
        yield from _rows(answer, _each(formats, len(answer.columns), "columns"), start, last)
        yield encode(m.CommandComplete(f"FETCH {last - start}"))

    def _copy(self, found: u.Copy) -> Steps:
        answer = yield from self._ask(_Statement(_at(found.query, found.start)), ())
        form: Form = found.form
        yield encode(m.CopyOutResponse(form.code, len(answer.columns)))
        head = form.head(answer.columns)
        if not form.code:
            yield head
            head = b""
        for start, end in _pieces(answer, 0, answer.rows):
            yield (yield Job(partial(_copied, form, answer, start, end, head)))
            head = b""
        yield form.tail(head) + encode(m.CopyDone())
        yield self._notice(answer.notice)
        yield encode(m.CommandComplete(f"COPY {answer.rows}"))

    def _check_room(self, bound: int = 0) -> None:
        """Refuse one portal too many, of so many bytes of values."""
        if len(self._portals) >= MOST_PORTALS:
            raise Refusal("54000", f"there are {MOST_PORTALS} portals or cursors", hint="close some")
        portals = self._portals.values()
        if sum(portal.bound for portal in portals) + bound > MOST_BOUND:
            raise Refusal("53200", f"the portals' values have more than {MOST_BOUND} bytes", hint="close some")
        if sum(portal.answer.size for portal in portals if portal.answer is not None) > MOST_KEPT:
            raise Refusal("53200", f"the portals' answers have more than {MOST_KEPT} bytes", hint="close some")

    # ------------------------------------------------------------------------------------------ ends

    def _end_of_requests(self) -> None:
        """Outside of a block, the transaction of the requests so far ends here, and its portals with it."""
        if not self._transaction.in_block:
            self._end_transaction()

    def _end_transaction(self) -> None:
        self._portals = {name: portal for name, portal in self._portals.items() if portal.hold}

    def _failed(self, error: Exception, sql: str, offset: int) -> bytes:
        known = error if isinstance(error, Error) else internal_error(error)
        self._transaction.fail()
        return encode(response(known, sql, offset))

    def _ready(self) -> bytes:
        """That the next request may come, behind those settings that changed by the ones before."""
        now = self._transaction.settings.reported()
        changed = (encode(m.ParameterStatus(n, value)) for n, value in now.items() if self._told[n] != value)
        answer = b"".join((*changed, encode(m.ReadyForQuery(self._transaction.status))))
        self._told = now
        return answer


_SIMPLE = ("Q", "F")
"""Requests after which the server is ready at once, and waits for no Sync."""


def _text_of(request: m.Request, statements: Mapping[str, _Statement], portals: Mapping[str, _Portal]) -> str:
    """The text that the position of an error refers to: of the statement that the request is about."""
    match request:
        case m.Parse(_, sql):
            return sql
        case m.Bind(_, name) | m.Describe("S", name):
            return statements[name].sql if name in statements else ""
        case m.Execute(name) | m.Describe("P", name):
            return portals[name].statement.sql if name in portals else ""
    return ""


def _at(query: str, start: int) -> str:
    """The query where it stands in its statement: so its positions are those of the statement."""
    return " " * start + query


def _show_heads(name: str | None) -> tuple[Described, ...]:
    """The columns of SHOW. Raises Refusal."""
    if name is None:
        return tuple(Described(head, oids.TEXT) for head in ("name", "setting", "description"))
    if name == BUDGET:
        return (Described(BUDGET, oids.TEXT),)
    return (Described(known_setting(name).shown, oids.TEXT),)


def _no_statement(name: str) -> Refusal:
    return Refusal("26000", f'prepared statement "{name[:80]}" does not exist')


def _no_cursor(name: str) -> Refusal:
    return Refusal("34000", f'cursor "{name[:80]}" does not exist')


def _each(formats: Sequence[int], count: int, what: str) -> tuple[int, ...]:
    """A format for each: all text where none is given, all the same where one is."""
    if len(formats) <= 1:
        return tuple(formats or (0,)) * count
    if len(formats) != count:
        raise Refusal("08P01", f"bind message has {len(formats)} formats but {count} {what}")
    return tuple(formats)


def _row_description(described: Sequence[Described], formats: Sequence[int]) -> bytes:
    if not described:
        return encode(m.NoData())
    chosen = _each(formats, len(described), "columns")
    fields = (m.Field(d.name, d.oid, oids.SIZES[d.oid], f) for d, f in zip(described, chosen, strict=True))
    return encode(m.RowDescription(tuple(fields)))


def _rows(answer: Answered, formats: Sequence[int], start: int, end: int) -> Steps:
    """The rows as DataRow messages; many of them in jobs of their own."""
    if end - start <= 100 and len(list(_pieces(answer, start, end))) == 1:
        yield _written(answer, formats, start, end)
        return
    for at, last in _pieces(answer, start, end):
        data = yield Job(partial(_written, answer, formats, at, last))
        yield data


def _pieces(answer: Answered, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Rows that are written at once: fewer where their texts are long, since writing takes many times their size."""
    while start < end:
        last = min(end, start + CHUNK)
        texts = (column.values[start:last] for column in answer.columns if column.oid == oids.TEXT)
        longest = sum(max(map(len, values)) for values in texts)
        last = min(last, start + max(1, WRITTEN // max(longest, 1)))
        yield start, last
        start = last


def _written(answer: Answered, formats: Sequence[int], start: int, end: int) -> bytes:
    return data_rows([column.part(start, end) for column in answer.columns], formats, end - start)


def _copied(form: Form, answer: Answered, start: int, end: int, head: bytes) -> bytes:
    return form.rows([column.part(start, end) for column in answer.columns], end - start, head)
