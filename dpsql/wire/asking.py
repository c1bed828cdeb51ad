"""One analyst's questions: what a statement wants, which columns it will give, its answer.

Everything here may take time, and nothing else of the protocol does. A question about private tables goes to the
session, which charges before it reads; a question about the deployment to the catalogue, which is free. Describing
compiles a statement and does no more: no data is read, nothing is charged (THREATS H8).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from sqlglot import exp

from dpsql.errors import Error, UnknownTable
from dpsql.parse import split
from dpsql.privacy.loss import decimal_text
from dpsql.result import Result, ResultColumn, Values
from dpsql.session import Prepared, Session
from dpsql.wire import feedback
from dpsql.wire.catalogue import Catalogue, Reader, search_path
from dpsql.wire.refusals import Refusal
from dpsql.wire.settings import DRY_RUN, EPSILON, LEVEL, SEARCH_PATH, Settings
from dpsql.wire.types import oids
from dpsql.wire.types.columns import Column, columns
from dpsql.wire.types.inputs import Value

_PLAN = ResultColumn("QUERY PLAN", "VARCHAR")


@dataclass(frozen=True, slots=True)
class Described:
    """A column to come: its name, and the number of its type."""

    name: str
    oid: int


@dataclass(frozen=True, slots=True)
class Answered:
    """The rows of a statement, and what the analyst is to know of them. All rows are here: there is one release,
    however they are fetched. `changes`: the settings that the statement changed (name, value, whether only until the
    transaction ends). `pause`: seconds until they are given. `size`: bytes that they take.
    """

    columns: Sequence[Column]
    rows: int
    notice: str | None = None
    changes: tuple[tuple[str, str, bool], ...] = ()
    pause: float = 0.0
    size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sum(column.size for column in self.columns))

    @property
    def described(self) -> tuple[Described, ...]:
        return tuple(Described(column.name, column.oid) for column in self.columns)


class Asker:
    """One analyst, who has logged in. `database` is what they call it."""

    def __init__(self, session: Session, catalogue: Catalogue, analyst: str, database: str) -> None:
        self.analyst = analyst
        self._session = session
        self._catalogue = catalogue
        self._database = database

    def split(self, sql: str) -> list[tuple[int, int]]:
        """Where the statements of a text begin and end."""
        return split(sql, dialect=self._session.policy.dialect)

    def check_epsilon(self, text: str) -> None:
        """Refuse an ε that no query may ask for. Raises dpsql.Error."""
        self._session.epsilon(text)

    @property
    def settings(self) -> dict[str, str]:
        """What the policy sets at first: the ε of a query that asks for none, the schemas of its tables."""
        policy = self._session.policy
        return {EPSILON: decimal_text(policy.privacy.epsilon), SEARCH_PATH: ", ".join(search_path(policy.tables))}

    def budget(self) -> str:
        """What is left, in words."""
        budget = self._session.policy.budget
        return feedback.remaining(self.analyst, self._session.ledger.remaining(self.analyst, budget), budget)

    def parameter_types(self, sql: str, declared: Sequence[int]) -> tuple[int, ...]:
        """The types of a statement's parameters: those that the client declared, else what the statement wants, else
        text.
        """
        owner = self._catalogue if self._catalogue.answers(sql) else self._session
        wanted = owner.parameter_types(sql)
        if len(declared) > len(wanted):
            raise Refusal("42P18", f"the statement has no place for parameter ${len(declared)}")
        own = tuple(oids.OF_SQL.get(name or "TEXT", oids.TEXT) for name in wanted)
        return tuple(oid or own[index] for index, oid in enumerate((*declared, *(0,) * (len(own) - len(declared)))))

    def describe(
        self, sql: str, types: Sequence[int], values: Sequence[Value] | None, settings: Settings
    ) -> tuple[Described, ...]:
        """The columns of the answer. Before its values are known, values of the parameters' types stand for them."""
        if values is not None:
            return self._columns(sql, values, settings)
        refused: Error | None = None
        for samples in zip(*(_SAMPLES[oid] for oid in types), strict=True) if types else [()]:
            try:
                return self._columns(sql, samples, settings, samples=True)
            except Error as error:
                refused = refused or error
        assert refused is not None
        raise refused

    def _columns(
        self, sql: str, values: Sequence[Value], settings: Settings, *, samples: bool = False
    ) -> tuple[Described, ...]:
        if self._catalogue.answers(sql):
            found = self._catalogue.columns(sql, values, self._reader(settings), samples=samples)
            return _described(found, oids.of_catalogue)
        return _columns(self._prepared(sql, values, settings), settings)

    def _prepared(self, sql: str, values: Sequence[Value], settings: Settings) -> Prepared:
        try:
            return self._session.prepare(
                sql, values, epsilon=settings[EPSILON], level=settings[LEVEL], analyst=self.analyst
            )
        except UnknownTable as error:
            named = self._catalogue.named(sql)
            if not named:
                raise
            raise UnknownTable(
                f"{named[0]} is of the catalogue, which can't be read together with tables of the policy",
                hint="ask for each in a statement of its own", position=error.position,
            ) from None  # fmt: skip

    def answer(
        self, sql: str, values: Sequence[Value], settings: Settings, expected: Sequence[Described] | None = None
    ) -> Answered:
        """The answer: charged, if private tables are in it. `expected` is what the client was told to expect."""
        if self._catalogue.answers(sql):
            if expected is not None:
                _check_expected(self._columns(sql, values, settings), expected)
            reader = self._reader(settings)
            found = self._catalogue.answer(sql, values, reader)
            shown = columns(found.columns, found.values, oids.of_catalogue)
            return Answered(shown, len(found.values), changes=tuple(reader.changes), pause=sum(reader.pauses))
        prepared = self._prepared(sql, values, settings)
        if expected is not None:
            _check_expected(_columns(prepared, settings), expected)
        if settings[DRY_RUN] == "on":
            return self._explained(sql, values, settings)
        compiled = prepared.compiled
        explained = compiled.explain is not None
        if not explained and _wants_no_rows(compiled.plan.outer):
            return table(compiled.columns, [])
        result = self._session.answer(prepared, analyst=self.analyst)
        return _answered(result, None if explained else feedback.notice(result, self._session.policy.budget))

    def _explained(self, sql: str, values: Sequence[Value], settings: Settings) -> Answered:
        """What the statement would release and cost."""
        plan = self._session.explain(
            sql, values, epsilon=settings[EPSILON], level=settings[LEVEL], analyst=self.analyst
        )
        return table((_PLAN,), [(line,) for line in plan.splitlines()], "dpsql.dry_run is on: nothing was asked")

    def _reader(self, settings: Settings) -> Reader:
        return Reader(self.analyst, self._database, settings)


def table(heads: Sequence[ResultColumn], rows: Sequence[Sequence[object]], notice: str | None = None) -> Answered:
    """Rows that come from no query."""
    found = [_column(head, [row[i] for row in rows]) for i, head in enumerate(heads)]
    return Answered(found, len(rows), notice)


def _columns(prepared: Prepared, settings: Settings) -> tuple[Described, ...]:
    compiled = prepared.compiled
    return _described((_PLAN,) if compiled.explain is not None or settings[DRY_RUN] == "on" else compiled.columns)


def _check_expected(found: Sequence[Described], expected: Sequence[Described]) -> None:
    if [c.oid for c in found] != [c.oid for c in expected]:
        raise Refusal("0A000", "cached plan must not change result type", hint="prepare the statement again")


def _wants_no_rows(outer: exp.Expr) -> bool:
    """Whether the statement ends in LIMIT 0: so tools ask which columns it has. Whatever the data, no row is shown."""
    limit = outer.args.get("limit")
    return isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Literal) and limit.expression.name == "0"


def _column(head: ResultColumn, values: list[object]) -> Column:
    one = Values([(value,) for value in values])
    (column,) = columns((head,), one)
    return column


def _described(found: Sequence[ResultColumn], of: Callable[[str], int] = oids.of_answer) -> tuple[Described, ...]:
    return tuple(Described(column.name, of(column.type)) for column in found)


def _answered(result: Result, notice: str | None) -> Answered:
    return Answered(columns(result.columns, result.values), len(result.values), notice)


_TEXTS = ("", "day", "1")
_DAY, _LATER = dt.date(2000, 1, 1), dt.date(2020, 1, 1)
_MOMENT, _ZONED = dt.datetime(2000, 1, 1), dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_SAMPLES: dict[int, tuple[Value, Value, Value]] = {
    **dict.fromkeys((oids.INT2, oids.INT4, oids.INT8, oids.OID), (1, 10, 0)),
    **dict.fromkeys((oids.FLOAT4, oids.FLOAT8), (1.0, 0.5, 0.0)),
    oids.NUMERIC: (Decimal(1), Decimal("0.5"), Decimal(0)),
    oids.BOOL: (True, False, True),
    oids.DATE: (_DAY, _LATER, _DAY),
    oids.TIMESTAMP: (_MOMENT, _MOMENT, _MOMENT),
    oids.TIMESTAMPTZ: (_ZONED, _ZONED, _ZONED),
    **dict.fromkeys((oids.TEXT, oids.VARCHAR, oids.BPCHAR, oids.NAME, oids.CHAR, oids.UNKNOWN), _TEXTS),
}
_SAMPLES |= {array: tuple([value] for value in _SAMPLES[element]) for array, element in oids.ELEMENTS.items()}  # type: ignore[misc]
"""Values that stand for those to come, of each type: where one is refused, the next may do."""
