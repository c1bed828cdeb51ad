"""What is known without asking about anyone: the server, the policy's tables and columns, one's own budget.

Clients of PostgreSQL look into pg_catalog and information_schema before they show a table. Here is a catalogue that the
policy fills, and whatever they ask of it is run over it:

    facts      PostgreSQL's relations, types and functions
    contents   the rows: the policy's tables, columns, keys, descriptions
    functions  PostgreSQL's functions about its catalogue
    views      information_schema, and the views of pg_catalog
    own        dpsql.budget, dpsql.charges, dpsql.tables, dpsql.columns, dpsql.settings
    rewrite    a statement in the engine's terms

Statements that name nothing else come here, and cost nothing. They run in an engine of their own, which is locked and
limited like the one over released numbers, with the same kind of allow-list.

Privacy: everything here is made from the policy and from the analyst's own charges. Nothing knows a number of rows, or
anything else of the data; nothing of another analyst but what the common budget leaves.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np
import sqlglot
from sqlglot import exp

from dpsql.columns import Released
from dpsql.errors import ParseError
from dpsql.names import declared_table
from dpsql.parse import Parameters
from dpsql.placeholders import wanted_types
from dpsql.postprocess import Outer, Scratch
from dpsql.result import Privacy, Result, ResultColumn, Values
from dpsql.rewrite.outer import Grammar, render, total
from dpsql.session import Session
from dpsql.wire.catalogue import contents, facts, functions, own, rewrite, views
from dpsql.wire.catalogue.rewrite import Known
from dpsql.wire.refusals import Refusal
from dpsql.wire.settings import SERVER_VERSION, Settings

VERSION = f"PostgreSQL {SERVER_VERSION} (dpsql)"
MEMORY, SECONDS, CELLS = "64MB", 10, 2_000_000
"""Of one statement: it costs nothing."""
_GRAMMAR = Grammar(
    nodes=(
        exp.Array, exp.Bracket, exp.Dot, exp.Unnest, exp.Explode, exp.ExplodingGenerateSeries, exp.BitwiseAnd,
        exp.BitwiseOr, exp.Lateral,
    ),
    functions=frozenset(
        {
            "unnest", "generate_series", "generate_subscripts", "array_agg", "json_object", "regexp_replace", "replace",
            "split_part", "concat_ws", "array", "list_value",
            *(f"{functions.PREFIX}{name}" for name in functions.macros()),
        }
    ),
    words=frozenset(
        {"RECURSIVE", "ARRAY", "LATERAL", "UNNEST", "WITH ORDINALITY", "ORDINALITY", "JSON", "BLOB", "UINTEGER"}
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: the analyst, what they call the database, their settings.

    changes  the settings that a statement sets: name, value, and whether only until the transaction ends
    pauses   the seconds that it wants to wait, each call of pg_sleep counted once
    """

    analyst: str
    database: str
    settings: Settings
    changes: list[tuple[str, str, bool]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)


class Catalogue:
    """Answers statements about the deployment. Safe for many threads."""

    def __init__(self, session: Session) -> None:
        self._policy, self._ledger = session.policy, session.ledger
        made = _contents(session)
        self._relations = made.relations
        self._scratch = Scratch(script=_script(made), memory=MEMORY, seconds=SECONDS, cells=CELLS)

    def close(self) -> None:
        """Let its engine go."""
        self._scratch.close()

    def answers(self, sql: str) -> bool:
        """Whether the statement is one for the catalogue: it names relations of the catalogue alone, or none and a
        function of the server.
        """
        if not _MAY_BE.search(sql):
            return False
        try:
            found = rewrite.read(sql)
        except ParseError:
            return False
        named = {name for tree in found for name in rewrite.relations_named(tree)}
        if any(declared_table(name, self._policy.tables) for name in named):
            return False
        if named:
            return all(rewrite.is_relation(name, own.TABLES) for name in named)
        return any(rewrite.is_about_the_server(tree, _VALUES) for tree in found)

    def named(self, sql: str) -> list[str]:
        """The relations of the catalogue that a statement names, for one that isn't for the catalogue alone."""
        try:
            found = {name for tree in rewrite.read(sql) for name in rewrite.relations_named(tree)}
        except ParseError:
            return []
        return sorted(
            name for name in found
            if rewrite.is_relation(name, own.TABLES) and not declared_table(name, self._policy.tables)
        )  # fmt: skip

    def parameter_types(self, sql: str) -> tuple[str | None, ...]:
        """The SQL type that a statement wants of each of its parameters, None where any would do."""
        return wanted_types(rewrite.parameter_types(_one(sql)))

    def columns(
        self, sql: str, parameters: Parameters, reader: Reader, *, samples: bool = False
    ) -> tuple[ResultColumn, ...]:
        """The columns that the answer will have; `samples`: the parameters only stand for those to come."""
        outer, _ = self._bound(sql, parameters, reader, samples)
        return tuple(_shown(name, kind) for name, kind in zip(outer.names, outer.types, strict=True))

    def answer(self, sql: str, parameters: Parameters, reader: Reader) -> Result:
        """The answer. Free."""
        outer, rows = self._bound(sql, parameters, reader)
        values = _named(self._scratch.run(outer, rows), outer.types)
        columns = tuple(_shown(name, kind) for name, kind in zip(outer.names, outer.types, strict=True))
        left = self._ledger.remaining(reader.analyst, self._policy.budget)
        return Result(columns, values, Privacy(reader.analyst, Fraction(0), Fraction(0), left.epsilon))

    def _bound(
        self, sql: str, parameters: Parameters, reader: Reader, samples: bool = False
    ) -> tuple[Outer, dict[str, Released]]:
        tree = _one(sql)
        made = rewrite.rewrite(tree, parameters, self._known(reader, samples))
        used = {
            rewrite.own_table(name): own.rows(name, self._policy, self._ledger, reader.analyst, reader.settings)
            for name in made.own
        }
        self._scratch.let(functions.DATABASE_VARIABLE, reader.database)
        self._scratch.let(functions.ANALYST_VARIABLE, reader.analyst)
        return self._scratch.bind(render(total(made.tree), _GRAMMAR), used, tree), used

    def _known(self, reader: Reader, samples: bool) -> Known:
        schemas = search_path(self._policy.tables)
        values = {name: partial(_VALUES[name], reader, schemas, samples) for name in _VALUES}
        return Known(own.TABLES, values, self._relations, samples)


def search_path(tables: Iterable[str]) -> tuple[str, ...]:
    """The schemas whose tables need no schema before their names: all of the policy."""
    return tuple(dict.fromkeys(["public", *(contents.split(name)[0] for name in tables)]))


def _contents(session: Session) -> contents.Contents:
    tables = session.policy.tables
    columns = {name: [contents.shown(t, c) for c in t.columns.values()] for name, t in tables.items()}
    for name, found in session.public_columns().items():
        declared = {column.name for column in columns[name]}
        columns[name] += [contents.read(c, kind) for c, kind in found.items() if c.lower() not in declared]
    return contents.contents(tables, columns, own.TABLES)


def _one(sql: str) -> exp.Expr:
    found = rewrite.read(sql)
    if len(found) != 1:
        raise ParseError(f"there are {len(found)} statements; send one", hint="SELECT * FROM dpsql.tables")
    return found[0]


def _script(made: contents.Contents) -> Iterator[str]:
    yield f"SET VARIABLE {functions.DATABASE_VARIABLE} = ''"
    yield f"SET VARIABLE {functions.ANALYST_VARIABLE} = ''"
    yield from contents.script(made, views.SCHEMA, views.names())
    yield from _keywords()
    yield from functions.script(f"{views.SCHEMA}pg_catalog")
    yield from views.script()


def _keywords() -> Iterator[str]:
    """The words that mean something to the parser, as PostgreSQL's function gives those of its own."""
    words = sorted({word.lower() for word in sqlglot.Dialect.get_or_raise("postgres").tokenizer_class.KEYWORDS})
    rows = ", ".join(f"('{word}', 'U', TRUE, 'unreserved', 'can be bare label')" for word in words if word.isalpha())
    heads = "(word, catcode, barelabel, catdesc, baredesc)"
    yield f"CREATE TABLE {views.SCHEMA}pg_catalog.{rewrite.KEYWORDS} AS FROM (VALUES {rows}) AS t{heads}"


def _setting(arguments: Sequence[str | None], reader: Reader, samples: bool) -> str | None:
    name, *missing = arguments or [None]
    if name is None:
        raise Refusal("0A000", "current_setting wants the name of a setting as a text", hint="SHOW search_path")
    try:
        return reader.settings.show(name.lower())[1]
    except Refusal:
        if samples or missing == ["true"]:
            return None
        raise


def _change(arguments: Sequence[str | None], reader: Reader, samples: bool) -> str | None:
    """Set a setting, as SET does, once the statement is answered. Gives the value that it then has."""
    name, value, local = arguments if len(arguments) == 3 else (None, None, None)
    if samples:
        return value
    if name is None or value is None or local not in ("true", "false"):
        raise Refusal(
            "0A000", "set_config wants a name and a value as texts, and true or false",
            hint="SELECT set_config('search_path', 'public', false)",
        )  # fmt: skip
    changed = reader.settings.with_value(name.lower(), value)
    reader.changes.append((name.lower(), value, local == "true"))
    return changed[name.lower()]


def _pause(arguments: Sequence[str | None], reader: Reader) -> str:
    (seconds,) = arguments if len(arguments) == 1 else (None,)
    if seconds is None or re.fullmatch(r"[0-9]{1,9}(\.[0-9]{0,9})?", seconds) is None:
        raise Refusal("0A000", "pg_sleep wants a number of seconds that is written out", hint="SELECT pg_sleep(0.5)")
    reader.pauses.append(float(seconds))
    return ""


def _shown(name: str, kind: str) -> ResultColumn:
    return ResultColumn(name, "VARCHAR" if kind in _WRITTEN else kind)


_WRITTEN = ("UBIGINT", "USMALLINT[]", "UBIGINT[]")
"""What holds the numbers of functions and PostgreSQL's vectors: results show names, and numbers with blanks between."""


def _named(values: Values, kinds: Sequence[str]) -> Values:
    """The values with those that PostgreSQL writes in ways of its own as texts."""
    if not any(kind in _WRITTEN for kind in kinds):
        return values
    names = {row["oid"]: str(row["proname"]) for row in facts.functions()}
    rows = [
        tuple(_written(value, names) if kind in _WRITTEN and value is not None else value
              for value, kind in zip(row, kinds, strict=True))
        for row in values.rows
    ]  # fmt: skip
    return Values(rows)


def _written(value: object, names: dict[object, str]) -> str:
    if isinstance(value, list | np.ndarray):
        return " ".join(map(str, value))
    return names.get(value, "-" if value == 0 else str(value))


_Value = Callable[[Reader, Sequence[str], bool, Sequence[str | None]], object]
_VALUES: dict[str, _Value] = {
    "version": lambda reader, schemas, samples, arguments: VERSION,
    "now": lambda reader, schemas, samples, arguments: dt.datetime.now(dt.UTC).replace(tzinfo=None),
    "current_schema": lambda reader, schemas, samples, arguments: "public",
    "current_schemas": lambda reader, schemas, samples, arguments: [
        *(["pg_catalog"] if arguments == ["true"] else []), *schemas,
    ],
    **dict.fromkeys(
        ("current_database", "current_catalog"), lambda reader, schemas, samples, arguments: reader.database
    ),
    **dict.fromkeys(
        ("current_user", "session_user", "current_role", "user"),
        lambda reader, schemas, samples, arguments: reader.analyst,
    ),
    "current_setting": lambda reader, schemas, samples, arguments: _setting(arguments, reader, samples),
    "set_config": lambda reader, schemas, samples, arguments: _change(arguments, reader, samples),
    "pg_sleep": lambda reader, schemas, samples, arguments: _pause(arguments, reader),
}  # fmt: skip
"""The functions whose value is known before a statement runs: (who reads, the search path, whether samples stand for
parameters, the arguments) to the value.
"""
_MAY_BE = re.compile(
    rf"\b(pg_|information_schema\b|dpsql\b|reg(class|type|proc|procedure|namespace|role)\b"
    rf"|({'|'.join(sorted((functions.macros().keys() | _VALUES.keys()) - rewrite.COMMON))})\b|current_timestamp\b)",
    re.IGNORECASE,
)
"""What a statement has in it if it may be one for the catalogue: others aren't read here."""
