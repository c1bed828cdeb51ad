"""What is known without asking about anyone: the server, the policy's tables and columns, one's own budget.

Statements that name nothing else come here. They are compiled like queries over public tables (the same allow-list of
functions, the same locked scratch engine) and cost nothing.

Privacy: the tables are made from the policy and from the analyst's own charges. Nothing here knows a number of rows, or
anything else of the data; nothing of another analyst but what the common budget leaves.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from sqlglot import exp

from dpsql.columns import Released
from dpsql.errors import ParseError
from dpsql.ledger import Ledger
from dpsql.names import declared_table, output_name
from dpsql.parse import Parameters, parse, placeholder_types, trees
from dpsql.policy import Column, Key, Policy, Table, Unit
from dpsql.postprocess import Outer, Scratch
from dpsql.result import Privacy, Result, ResultColumn
from dpsql.rewrite.outer import render, total, without_clock
from dpsql.wire.feedback import limit_of
from dpsql.wire.refusals import Refusal
from dpsql.wire.settings import SERVER_VERSION, Settings

VERSION = f"PostgreSQL {SERVER_VERSION} (dpsql)"
MOST_CHARGES = 10_000
"""Newest charges that dpsql.charges shows."""
_PREFIX, _WITH = "_dpsql_catalogue_", "_dpsql_with_"


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: the analyst, what they call the database, their settings."""

    analyst: str
    database: str
    settings: Settings


_TABLES: dict[str, dict[str, str]] = {
    "dpsql.budget": {
        "analyst": "VARCHAR", "epsilon_limit": "DOUBLE", "per": "VARCHAR", "epsilon_charged": "DOUBLE",
        "epsilon_left": "DOUBLE", "delta_left": "DOUBLE", "renews": "TIMESTAMP",
    },
    "dpsql.charges": {
        "charge": "BIGINT", "time": "TIMESTAMP", "epsilon": "DOUBLE", "delta": "DOUBLE", "query": "VARCHAR",
    },
    "dpsql.tables": {"name": "VARCHAR", "unit": "VARCHAR", "description": "VARCHAR"},
    "dpsql.columns": {
        "table_name": "VARCHAR", "name": "VARCHAR", "type": "VARCHAR", "lower": "VARCHAR", "upper": "VARCHAR",
        "keys": "VARCHAR", "nullable": "BOOLEAN", "description": "VARCHAR",
    },
}  # fmt: skip
"""The tables and their columns' SQL types."""
_DTYPES = {
    "VARCHAR": "object",
    "DOUBLE": "float64",
    "BIGINT": "int64",
    "BOOLEAN": "bool",
    "TIMESTAMP": "datetime64[us]",
}


class Catalogue:
    """Answers statements about the deployment. Safe for many threads."""

    def __init__(self, policy: Policy, ledger: Ledger) -> None:
        self._policy = policy
        self._ledger = ledger
        self._scratch = Scratch()

    def close(self) -> None:
        """Let its engine go."""
        self._scratch.close()

    def answers(self, sql: str) -> bool:
        """Whether the statement is one for the catalogue: it names tables of the catalogue alone, or none and a
        function of the server.
        """
        lowered = sql.lower()
        if not any(word in lowered for word in _WORDS):
            return False
        try:
            found = trees(sql, "postgres")
        except ParseError:
            return False
        named: set[str] = set()
        for tree in found:
            inner = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
            tables = (t for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier))
            named |= {".".join(p.name for p in t.parts).lower() for t in tables} - inner
        if any(declared_table(name, self._policy.tables) for name in named):
            return False
        if named:
            return all(name.startswith(_SCHEMAS) for name in named)
        return any(_function(node) is not None for tree in found for node in tree.walk())

    def parameter_types(self, sql: str) -> tuple[str | None, ...]:
        """The SQL type that a statement wants of each of its parameters, None where any would do."""
        return placeholder_types(sql, dialect=self._policy.dialect, types=_TABLES)

    def columns(self, sql: str, parameters: Parameters, reader: Reader) -> tuple[ResultColumn, ...]:
        """The columns that the answer will have."""
        outer, _ = self._bound(sql, parameters, reader)
        return tuple(ResultColumn(n, t) for n, t in zip(outer.names, outer.types, strict=True))

    def answer(self, sql: str, parameters: Parameters, reader: Reader) -> Result:
        """The answer. Free."""
        outer, rows = self._bound(sql, parameters, reader)
        columns = tuple(ResultColumn(n, t) for n, t in zip(outer.names, outer.types, strict=True))
        left = self._ledger.remaining(reader.analyst, self._policy.budget)
        privacy = Privacy(reader.analyst, Fraction(0), Fraction(0), left.epsilon)
        return Result(columns, self._scratch.run(outer, rows), privacy)

    def _bound(self, sql: str, parameters: Parameters, reader: Reader) -> tuple[Outer, dict[str, Released]]:
        statement = parse(sql, dialect=self._policy.dialect, parameters=parameters, types=_TABLES)
        tree = self._known(statement.tree, reader)
        used: dict[str, Released] = {}
        inner = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        for cte in tree.find_all(exp.CTE):
            cte.args["alias"].this.replace(_inner(cte.alias))
        for table in list(tree.find_all(exp.Table)):
            name = table.name.lower()
            shown = name.removeprefix("dpsql.")
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(shown, quoted=True)))
            if name in inner and not table.db:
                table.this.replace(_inner(name))
                continue
            if name not in _TABLES:
                raise Refusal(
                    "42P01", f"the catalogue has no table {name}", hint=f"there are {', '.join(_TABLES)}",
                )  # fmt: skip
            registered = _PREFIX + shown
            table.this.set("this", registered)
            used.setdefault(registered, self._rows(name, reader))
        text = render(total(without_clock(tree, dt.datetime.now(dt.UTC).date())))
        return self._scratch.bind(text, used, statement.tree), used

    def _known(self, tree: exp.Expr, reader: Reader) -> exp.Expr:
        """The tree with each function of the server replaced by what it says."""
        for node in [n for n in tree.walk() if not isinstance(n.parent, exp.Dot)]:
            function = _function(node)
            if function is None:
                continue
            value = exp.convert(_FUNCTIONS[function](_arguments(node), reader))
            if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
                value = exp.alias_(value, output_name(node) if isinstance(node, exp.Column) else function, quoted=True)
            node.replace(value)
        return tree

    def _rows(self, name: str, reader: Reader) -> Released:
        """A table's rows. A table without rows has one less than none: DuckDB wants a type of each column."""
        makers: dict[str, Callable[[Reader], Sequence[Sequence[object]]]] = {
            "dpsql.budget": self._budget,
            "dpsql.charges": self._charges,
            "dpsql.tables": lambda _: [_table_row(t) for t in self._policy.tables.values()],
            "dpsql.columns": lambda _: [
                _column_row(t, c) for t in self._policy.tables.values() for c in t.columns.values()
            ],
        }
        rows = makers[name](reader)
        types = _TABLES[name]
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
        return Released({c: _array(v, types[c]) for c, v in zip(types, columns, strict=True)})

    def _budget(self, reader: Reader) -> list[Sequence[object]]:
        budget = self._policy.budget
        found, limit = self._ledger.remaining(reader.analyst, budget), limit_of(reader.analyst, budget)
        total = self._ledger.totals().analysts.get(reader.analyst)
        row = (
            reader.analyst,
            _float(limit.epsilon),
            limit.per,
            _float(total.epsilon) if total else 0.0,
            _float(found.epsilon),
            _float(found.delta),
            None if found.renews is None else found.renews.replace(tzinfo=None),
        )
        return [row]

    def _charges(self, reader: Reader) -> list[Sequence[object]]:
        charges = list(self._ledger.charges(reader.analyst))
        newest = islice(charges, max(0, len(charges) - MOST_CHARGES), None)
        return [
            (c.number, c.time.replace(tzinfo=None), float(c.loss.epsilon), float(c.loss.delta), c.query) for c in newest
        ]


def _inner(name: str) -> exp.Identifier:
    """The name in the engine of what WITH names: nothing else there begins so. Where the WITH is out of reach, the name
    is unknown, and not the engine's own table nor what was put there for another analyst.
    """
    return exp.to_identifier(f"{_WITH}{name.lower()}", quoted=True)


def _float(number: Fraction | None) -> float | None:
    return None if number is None else float(number)


def _array(values: Sequence[Any], sql_type: str) -> np.ndarray[Any, Any]:
    dtype = np.dtype(_DTYPES[sql_type])
    null = np.array([value is None for value in values], dtype=np.bool_)
    if dtype.hasobject:
        return np.array([*values, None], dtype=object)[:-1]
    filled = np.array([np.zeros(1, dtype)[0] if value is None else value for value in values], dtype=dtype)
    return np.ma.masked_array(filled, null) if null.any() else filled


def _table_row(table: Table) -> Sequence[object]:
    unit = table.unit
    if unit is None:
        shown = "public"
    elif isinstance(unit, Unit):
        shown = unit.column or (f"via {unit.via.parent}" if unit.via else "")
    else:
        shown = unit
    return table.name, shown, table.description or None


def _column_row(table: Table, column: Column) -> Sequence[object]:
    low, high = (None, None) if column.bounds is None else map(_shown, column.bounds)
    keys = None if column.keys is None else ", ".join(map(_shown, column.keys))
    kept = column.nullable or (column.keys is not None and None in column.keys)
    return table.name, column.name, str(column.type), low, high, keys, kept, column.description or None


def _shown(value: Key | Fraction) -> str:
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else repr(float(value))
    return "NULL" if value is None else str(value)


# ---------------------------------------------------------------------------------------------- functions


def _setting(arguments: list[str], reader: Reader) -> str | None:
    return reader.settings.show(arguments[0].lower())[1] if arguments else None


_FUNCTIONS: Mapping[str, Callable[[list[str], Reader], object]] = {
    "version": lambda arguments, reader: VERSION,
    "current_schema": lambda arguments, reader: "public",
    "current_database": lambda arguments, reader: reader.database,
    "current_catalog": lambda arguments, reader: reader.database,
    "current_user": lambda arguments, reader: reader.analyst,
    "session_user": lambda arguments, reader: reader.analyst,
    "current_role": lambda arguments, reader: reader.analyst,
    "user": lambda arguments, reader: reader.analyst,
    "current_setting": _setting,
    "pg_is_in_recovery": lambda arguments, reader: False,
    "pg_advisory_unlock_all": lambda arguments, reader: None,
}
"""What the server says of itself. None of them depends on the data, nor does what they say change an answer."""
_SCHEMAS = ("dpsql.", "pg_catalog.", "information_schema.", "pg_")
_WORDS = (*_SCHEMAS, *_FUNCTIONS, "pg_catalog")
_NODES: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.CurrentSchema, "current_schema"), (exp.CurrentDatabase, "current_database"),
    (exp.CurrentCatalog, "current_catalog"), (exp.CurrentUser, "current_user"), (exp.SessionUser, "session_user"),
    (exp.CurrentRole, "current_role"), (exp.CurrentVersion, "version"),
)  # fmt: skip


def _function(node: exp.Expr) -> str | None:
    """The name of the function of the server that a node calls, None where it calls none."""
    if isinstance(node, exp.Dot):
        schema = node.this
        if not isinstance(schema, (exp.Identifier, exp.Column)) or schema.name.lower() != "pg_catalog":
            return None
        node = node.expression
    for kind, name in _NODES:
        if isinstance(node, kind):
            return name
    if isinstance(node, exp.Anonymous) and node.name.lower() in _FUNCTIONS:
        return node.name.lower()
    bare = isinstance(node, exp.Column) and not node.table
    return node.name.lower() if bare and node.name.lower() in _BARE else None


_BARE = frozenset({"user", "current_user", "session_user", "current_role", "current_catalog", "current_schema"})


def _arguments(node: exp.Expr) -> list[str]:
    called = node.expression if isinstance(node, exp.Dot) else node
    found = called.expressions if isinstance(called, exp.Anonymous) else []
    return [item.name for item in found if isinstance(item, exp.Literal)]
