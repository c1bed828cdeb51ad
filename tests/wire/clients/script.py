"""The conversation that every client has, and what must come of it.

The statements' parameters are `{}` here; each client writes them in its own way. What a step gives is what the client
shows: names and types of columns, values as Python's, the SQLSTATE or, where it shows none, the message alone.
"""

from __future__ import annotations

import datetime as dt
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.wire.clients.servers import Address

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Answer:
    """Rows as a client shows them; each column with its name and the client's word for its type."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Failure:
    """An error as a client shows it. The SQLSTATE is None where the client keeps it to itself."""

    sqlstate: str | None
    message: str


Outcome = Answer | Failure


@dataclass(frozen=True)
class Step:
    """A statement with its parameters, and what must come of it: rows with these names, or a SQLSTATE and a word of
    the message. `of_dpsql` marks what PostgreSQL has nothing like.
    """

    name: str
    sql: str
    values: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    sqlstate: str = ""
    word: str = ""
    of_dpsql: bool = False

    def check(self, outcome: Outcome) -> None:
        """Compare an outcome with what must come."""
        if isinstance(outcome, Failure):
            assert outcome.sqlstate in (None, self.sqlstate) and self.word in outcome.message, (self.name, outcome)
            assert self.sqlstate, (self.name, outcome)
        else:
            assert not self.sqlstate, (self.name, outcome)
            assert tuple(name for name, _ in outcome.columns) == self.names, (self.name, outcome)
            assert same(outcome.rows, self.rows), (self.name, outcome)


_GROUPS = "SELECT sex, COUNT(*) AS n, AVG(income) AS mean FROM people WHERE age > {} AND married = {} AND income < {} GROUP BY sex ORDER BY sex"  # noqa: E501
_FOUND = ((0, 172, 8_873_270 / 172), (1, 155, 3_235_250 / 155))
_KINDS = (
    (-9007199254740993, "none", 1e300, True, dt.date(2024, 3, 1), dt.datetime(2024, 1, 1)),
    (1, "Åse", 0.5, True, dt.date(2024, 2, 29), dt.datetime(2024, 1, 1, 1, 2, 3, 500_000)),
    (2, 'it\'s "two", \\ and\ttabs', -1e-7, False, dt.date(1900, 1, 1), dt.datetime(1999, 12, 31, 23, 59, 59, 999_999)),
    (4, None, None, None, None, None),
)
TYPES = Step(
    "values of every type", "SELECT code, name, ratio, flag, day, moment FROM kinds ORDER BY code",
    names=("code", "name", "ratio", "flag", "day", "moment"), rows=_KINDS,
)  # fmt: skip
PARAMETERS = Step(
    "parameters of every type",
    "SELECT code FROM kinds WHERE code < {} AND name = {} AND ratio > {} AND flag = {} AND day <= {} AND moment >= {}",
    (3, _KINDS[2][1], -0.5, False, dt.date(1900, 1, 1), dt.datetime(1999, 12, 31, 23, 59, 59, 999_999)),
    names=("code",), rows=((2,),),
)  # fmt: skip
LIST = Step(
    "a list", "SELECT code, name FROM kinds WHERE code = ANY({}) AND name <> ALL({}) ORDER BY code",
    ([1, 2, 4], ["two", "none"]), names=("code", "name"), rows=(_KINDS[1][:2], _KINDS[2][:2]),
)  # fmt: skip
"""For clients that have lists among their parameters."""
AGGREGATE = Step("aggregate", _GROUPS, (40, True, 250_000.5), names=("sex", "n", "mean"), rows=_FOUND)
SYNTAX = Step("syntax", "SELECT FROM WHERE", sqlstate="42601", word="WHERE")
TABLE = Step("unknown table", "SELECT COUNT(*) FROM nobody", sqlstate="42P01", word="nobody")
COLUMN = Step("unknown column", "SELECT COUNT(*) FROM people WHERE nothing > 1", sqlstate="42703", word="nothing")
REFUSED = Step("refused", "SELECT age, income FROM people", sqlstate="42501", word="only aggregates", of_dpsql=True)
CANCELLED = Step("cancelled", "SELECT COUNT(*) AS n FROM people WHERE age > 20", sqlstate="57014", word="canceling")
EXHAUSTED = Step(
    "exhausted", "SELECT COUNT(*) AS n FROM people WHERE age > 30", sqlstate="53400", word="budget", of_dpsql=True
)
LEFT = Step(
    "left", "SELECT epsilon_left FROM dpsql.budget", names=("epsilon_left",), rows=((0.0,),), of_dpsql=True
)  # fmt: skip
AGAIN = Step("aggregate, again", AGGREGATE.sql, AGGREGATE.values, names=AGGREGATE.names, rows=AGGREGATE.rows)
BEFORE = (TYPES, PARAMETERS, AGGREGATE, SYNTAX, TABLE, COLUMN, REFUSED)
AFTER = (EXHAUSTED, LEFT, AGAIN)
STEPS = (*BEFORE, LIST, CANCELLED, *AFTER)


_CATALOGUE = (
    "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1",
    "SELECT table_name, column_name, data_type, is_nullable, numeric_precision FROM information_schema.columns "
    "WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
    "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum) "
    "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = 'public' AND a.attnum > 0 AND c.relkind = 'r' ORDER BY c.relname, a.attnum",
)


FOUND = "introspection"


class Client(ABC):
    """A client that is connected."""

    name: str
    lists = False
    """Whether a list can be a parameter."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect."""

    @abstractmethod
    def ask(self, sql: str, values: Sequence[Any]) -> Answer:
        """Run a statement in which parameters are `{}`. Raises the client's own errors."""

    @abstractmethod
    def cancel(self, sql: str) -> None:
        """Run a statement that takes for ever, and cut it short. Raises the client's own error."""

    def introspect(self) -> dict[str, Any]:
        """What it finds out of tables and types by its own means; with SQL, where it has none."""
        return {step: self.ask(step, ()).rows for step in _CATALOGUE}

    def failure(self, error: Exception) -> Failure:
        """What an error shows. Raises it where it is no server's."""
        while (state := self.sqlstate(error)) is None and error.__cause__ is not None:
            error = error.__cause__  # type: ignore[assignment]
        return Failure(state, str(error))

    def sqlstate(self, error: BaseException) -> str | None:
        """The SQLSTATE that an error shows."""
        found = getattr(error, "sqlstate", None)
        return None if found is None else str(found)


def outcome(client: Client, step: Step) -> Outcome:
    """What a client gets for a step."""
    try:
        return client.ask(step.sql, step.values)
    except AssertionError:
        raise
    except Exception as error:  # noqa: BLE001 - clients have their own
        return client.failure(error)


def talk(kind: Callable[[Address], Client], address: Address) -> dict[str, Any]:
    """The whole conversation: what came of each step, and what was found out."""
    client = kind(address)
    found: dict[str, Any] = {}
    try:
        found[FOUND] = client.introspect()
        asked = [step for step in BEFORE if address.kind == "dpsql" or not step.of_dpsql]
        asked += [LIST] if client.lists else []
        found |= {step.name: outcome(client, step) for step in asked}
        with address.wait():
            try:
                client.cancel(CANCELLED.sql)
            except AssertionError:
                raise
            except Exception as error:  # noqa: BLE001
                found[CANCELLED.name] = client.failure(error)
        asked = [step for step in AFTER if address.kind == "dpsql" or not step.of_dpsql]
        found |= {step.name: outcome(client, step) for step in asked}
    finally:
        client.close()
    return found


def same(one: Any, other: Any) -> bool:
    """Whether values are equal: floats but for their last digits, which the order of summing may change."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def rows(found: Iterable[Iterable[Any]]) -> tuple[Row, ...]:
    """Rows whose values are Python's own."""
    return tuple(tuple(row) for row in found)


def dollars(sql: str) -> str:
    """The statement with $1, $2, … for its parameters."""
    return sql.format(*(f"${n}" for n in range(1, sql.count("{}") + 1)))
