"""Expressions over private columns: the allow-list, the types, the value sets, and SQL that can't fail.

`Compiler.value` turns an analyst's expression over the columns of private rows into a `Typed`: DuckDB SQL that
gives a value on every row, whatever the row holds, with its value set. What has no handler here is refused.

Why it can't fail (an error on one row would tell that the row exists):
- every leaf column is clipped to its value set before anything is computed from it, NaN read as NULL, so the range of
  each operation is known from the policy and the query alone (`ValueSet.machine`);
- integers are added and multiplied in BIGINT where that range fits, else in HUGEINT, else the query is refused;
  decimals in a DECIMAL of proven width, else in DOUBLE, which never raises;
- casts are TRY_CAST, divisors NULLIF(…, 0), and only functions that are total over their whole argument type are here.

A comparison of a column with a constant reads the raw value: it computes nothing that could fail.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from dpsql.errors import DatabaseError, NotReleasable, UnknownColumn, UnsupportedQuery
from dpsql.expressions.literals import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    MAX_DIGITS,
    MAX_LITERAL_CHARACTERS,
    TEXT,
    cast,
    clip,
    double_sql,
    literal_sql,
    paren,
    sql_type,
)
from dpsql.policy import ColumnType, Kind
from dpsql.policy.problems import similar
from dpsql.valueset import (
    EPOCH,
    Literal,
    ValueSet,
    constant,
)


@dataclass(frozen=True, slots=True)
class Typed:
    """Total SQL with what is known of its values. `raw`: the bare column, where the expression is one."""

    sql: exp.Expr
    set: ValueSet
    raw: exp.Expr | None = None

    @property
    def source(self) -> exp.Expr:
        """What to read where the reader clips for itself: the bare column, else the total expression."""
        return self.sql if self.raw is None else self.raw

    def stored(self) -> exp.Expr:
        """What a column is made of that holds the values: as they are stored, where the expression is a column."""
        return cast(self.sql.copy(), sql_type(self.set.type)) if is_null(self) else self.source.copy()

    @property
    def kind(self) -> Kind:
        return self.set.kind

    @property
    def is_constant(self) -> bool:
        return self.set.values is not None and not any(self.sql.find_all(exp.Column))


MAX_STEPS = 40_000
LISTED_IN_A_STEP = 20
"""Values of an expression, each of which takes about 2 µs to list."""
MAX_SQL_NODES = 20_000

Handler = Callable[["Compiler", exp.Expr], Typed]
_HANDLERS: dict[type[exp.Expr], tuple[Handler, frozenset[str]]] = {}


def handles(*classes: type[exp.Expr], args: str = "this expression") -> Callable[[Handler], Handler]:
    """Register a handler for node classes and the arguments that such a node may carry: any other is refused."""

    def register(handler: Handler) -> Handler:
        for cls in classes:
            _HANDLERS[cls] = handler, frozenset(args.split())
        return handler

    return register


_FUNCTIONS: dict[str, Handler] = {}


def handles_function(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler for functions that the parser has no node class for, by lower-case name."""

    def register(handler: Handler) -> Handler:
        _FUNCTIONS.update(dict.fromkeys(names, handler))
        return handler

    return register


def supported() -> tuple[type[exp.Expr], ...]:
    """The node classes of the allow-list, for documentation and tests."""
    return tuple(_HANDLERS)


def position_of(node: exp.Expr) -> int | None:
    """Offset in the SQL text of the first token that the parser tied to this node, to one below it or around it."""
    around: exp.Expr | None = node
    while around is not None:
        starts: list[int] = [n.meta["start"] for n in around.walk() if "start" in n.meta]
        if starts:
            return min(starts)
        around = around.parent
    return None


def refuse(
    node: exp.Expr, message: str, hint: str | None = None, error: type[DatabaseError] = UnsupportedQuery
) -> DatabaseError:
    return error(message, hint=hint or SUPPORTED_HINT, position=position_of(node))


@dataclass(frozen=True, slots=True)
class Shown:
    """An expression as text for people, written out only when it is shown: most never are."""

    node: exp.Expr

    def __str__(self) -> str:
        return show(self.node)


_STANDS_FOR = re.compile(r'"?_dpsql_(constant|mark)_[0-9]+"?')
"""Columns that stand for what the analyst wrote as a subquery."""
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def show(node: exp.Expr, limit: int = 60) -> str:
    """The analyst's expression, shortened, for a message."""
    if any(_as_written(part) is not part for part in node.walk()):
        node = exp.Paren(this=node.copy())
        for part in reversed(list(node.walk())):  # inner ones first
            part.replace(_as_written(part))
        node = node.this
    if any(identifier.args.get("quoted") for identifier in node.find_all(exp.Identifier)):
        node = node.copy()
        for identifier in node.find_all(exp.Identifier):
            identifier.set("quoted", not _PLAIN_NAME.fullmatch(identifier.name))
    text = _STANDS_FOR.sub("the subquery", node.sql("duckdb"))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _as_written(node: exp.Expr) -> exp.Expr:
    """What a translation added, as it was written: CAST(TRUNC(a / b) AS BIGINT) is a / b, TRUNC(x) in a cast is x."""
    if "is_quotient" in node.meta:
        return node.this.this  # type: ignore[no-any-return]
    return node.this if "is_added" in node.meta else node


def quotient_of(node: exp.Expr) -> exp.IntDiv | None:
    """What the a / b of integers of another dialect is over private rows: a // b, which is exact, and has bounds also
    where b may be 0. None of other nodes.
    """
    if "is_quotient" not in node.meta:
        return None
    written = _as_written(node)
    return exp.IntDiv(this=written.this.copy(), expression=written.expression.copy())


@dataclass(slots=True)
class Steps:
    """How many expressions of a statement were compiled so far, each as often as it was: bounds the work on it.

    Each subquery of a chain compiles the filters of those that it reads, so their number alone bounds nothing. Listing
    the values of an expression takes steps too, once in a statement.
    """

    count: int = 0
    lists: dict[Hashable, tuple[Literal, ...]] = field(default_factory=dict)

    def listed(self, values: Iterable[Literal], size: int, key: Hashable) -> tuple[Literal, ...]:
        """The different values of the expression with that key, of which there are about so many."""
        if key not in self.lists:
            self.count += size // LISTED_IN_A_STEP
            self.lists[key] = tuple(dict.fromkeys(values))
        return self.lists[key]

    @property
    def exhausted(self) -> bool:
        return self.count > MAX_STEPS


@dataclass(frozen=True, slots=True)
class Compiler:
    """Compiles expressions over the columns of private rows.

    columns   value set of each column by name, as narrowed by the query's filters
    origin    what a column is called in the policy, (table, column), for messages
    today     what CURRENT_DATE means
    steps     how much was compiled so far, shared by all compilers of a statement
    moved     the columns whose values are moved into their value set also where they are group keys
    """

    columns: Mapping[str, ValueSet]
    origin: Callable[[str], tuple[str, str]]
    today: dt.date
    steps: Steps
    moved: frozenset[str] = frozenset()

    def value(self, node: exp.Expr) -> Typed:
        """The total SQL and value set of an expression, or a refusal."""
        entry = _HANDLERS.get(type(node))
        if entry is None:
            raise unsupported(node)
        handler, allowed = entry
        for name, argument in node.args.items():
            if argument and name not in allowed:
                raise refuse(node, f"{show(node)} has an option that isn't supported over private rows")
        self.steps.count += 1
        if self.steps.exhausted:
            raise refuse(node, "the query's expressions are too large", "simplify it")
        typed = handler(self, node)
        if isinstance(typed.sql, exp.Case) and sum(1 for _ in typed.sql.walk()) > MAX_SQL_NODES:
            raise refuse(node, "the query's expressions are too large", "simplify it")  # a CASE repeats its operand
        return typed

    def predicate(self, node: exp.Expr) -> exp.Expr:
        """A condition as total SQL, NULL where it is unknown."""
        typed = self.value(node)
        if typed.kind is not Kind.BOOLEAN:
            raise refuse(node, f"{show(node)} is used as a condition but is not boolean", "compare it with a value")
        return typed.sql

    def with_columns(self, columns: Mapping[str, ValueSet]) -> Compiler:
        return replace(self, columns=columns)

    def constant(self, node: exp.Expr) -> tuple[Literal, ColumnType] | None:
        """The value of an expression without columns where it is known here, else None."""
        if any(node.find_all(exp.Column)):
            return None
        try:
            typed = self.value(node)
        except DatabaseError:
            if self.steps.exhausted:
                raise
            return None
        values = typed.set.values
        if values is None or len(values) > 1:
            return None
        return (values[0] if values else None), typed.set.type


def is_known(node: exp.Anonymous) -> bool:
    """Whether a function that the parser has no class for is on the list."""
    return node.name.lower() in _FUNCTIONS


def unsupported(node: exp.Expr) -> DatabaseError:
    if isinstance(node, (exp.Query, exp.Exists)):
        return refuse(node, "a subquery inside an expression over private rows isn't supported", _SUBQUERY_HINT)
    if isinstance(node, exp.AggFunc):
        return refuse(
            node,
            f"{show(node)} stands where a value of one row is needed",
            "compute the aggregate in a subquery in FROM, and use it outside",
        )
    if isinstance(node, exp.Window):
        return refuse(
            node,
            f"the window function {show(node)} would read private rows",
            "aggregate in a subquery, then use the window function on its result",
        )
    if isinstance(node, exp.Star):
        return refuse(
            node, "* stands for private rows, which are never returned", "name columns inside COUNT, SUM or AVG",
            NotReleasable,
        )  # fmt: skip
    name = node.name if isinstance(node, exp.Anonymous) else show(node)
    what = f"the function {name}" if isinstance(node, exp.Func) else name
    return refuse(node, f"{what} isn't on the list of expressions allowed over private rows", _hint_for(node))


def _hint_for(node: exp.Expr) -> str:
    """What was probably meant by a function that isn't on the list, before all that could be."""
    name = show(node).partition("(")[0].strip().lower()
    if name in _INSTEAD:
        return f"write {_INSTEAD[name]}; {SUPPORTED_HINT}"
    near = similar(name, _NAMES, cutoff=0.75) if isinstance(node, exp.Anonymous) else None
    return SUPPORTED_HINT if near is None or near.lower() == name else f"did you mean {near}? {SUPPORTED_HINT}"


_INSTEAD = {
    **dict.fromkeys(
        ("now", "current_timestamp", "get_current_timestamp", "getdate", "sysdate", "today", "localtimestamp"),
        "CURRENT_DATE, the day in UTC",
    ),
    **dict.fromkeys(("width_bucket", "equi_width_bins", "bin"), "FLOOR(x / 10) * 10 for bins of 10"),
}
"""What to write for functions that are often tried."""
_SUBQUERY_HINT = "write the value itself, or filter in a subquery in FROM: SELECT COUNT(*) FROM (SELECT … WHERE …) AS q"
SUPPORTED_HINT = (
    "over private rows use comparisons, AND/OR/NOT, IN, BETWEEN, LIKE, + - * / // %, CASE, COALESCE, NULLIF, ABS, "
    "ROUND, FLOOR, CEIL, LEAST, GREATEST, CLIP, SQRT, LN, LOG, EXP, CAST, EXTRACT, DATE_TRUNC, CURRENT_DATE, LOWER, "
    "UPPER, LENGTH"
)
_NAMES = (
    "COUNT", "SUM", "AVG", "VARIANCE", "STDDEV", "MEDIAN", "QUANTILE_CONT", "QUANTILE_DISC", "PERCENTILE_CONT", "MIN",
    "MAX", *re.findall("[A-Z_]{3,}", SUPPORTED_HINT),
)  # fmt: skip
"""What may have been meant."""


# ---- leaves


@handles(exp.Column, args="this table")
def _column(compiler: Compiler, node: exp.Expr) -> Typed:
    value_set = _column_set(compiler, node)
    column = exp.column(node.name, quoted=True)
    return Typed(clip(column, value_set), value_set, column)


def _column_set(compiler: Compiler, node: exp.Expr) -> ValueSet:
    value_set = compiler.columns.get(node.name)
    if value_set is None:
        table, name = compiler.origin(node.name)
        raise UnknownColumn(f"column {name} does not exist in {table}", position=position_of(node))
    return value_set


@handles(exp.Literal, args="this is_string")
def _literal(_: Compiler, node: exp.Expr) -> Typed:
    text = node.name
    if len(text) > MAX_LITERAL_CHARACTERS:
        raise refuse(node, "a literal is too long")
    if node.args.get("is_string"):
        return Typed(exp.Literal.string(text), constant(text, TEXT))
    return _number_literal(node, text)


_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]*)(e[+-]?[0-9]+)?", re.ASCII)


def _number_literal(node: exp.Expr, text: str) -> Typed:
    lowered = text.lower()
    if not _NUMBER.fullmatch(lowered) or len(text) > 400:
        hint = "write spaces around + and -" if "+" in text or "-" in text else None  # 1e9+1 is read as one number
        raise refuse(node, f"the number {text[:20]} isn't written in plain decimal digits", hint)
    if "e" in lowered:
        if math.isinf(float(text)):
            raise refuse(node, f"the number {text} is too large")
        return Typed(double_sql(Fraction(float(text))), constant(Fraction(float(text)), DOUBLE))
    whole, _, part = text.partition(".")
    value = Fraction(text if whole else "0" + text) if text != "." else Fraction(0)
    if len(whole.lstrip("0")) + len(part) > MAX_DIGITS - 1:
        raise refuse(node, f"the number {text[:20]}… has too many digits", "use at most 37 digits, or an exponent")
    kind = ColumnType(Kind.DECIMAL, MAX_DIGITS, len(part)) if part else INTEGER
    sql = exp.Literal.number(text if whole else "0" + text)
    return Typed(sql, constant(int(value) if value.denominator == 1 else value, kind))


@handles(exp.Boolean, args="this")
def _boolean(_: Compiler, node: exp.Expr) -> Typed:
    value = bool(node.this)
    return Typed(exp.Boolean(this=value), constant(value, BOOLEAN))


@handles(exp.Null, args="")
def _null(_: Compiler, node: exp.Expr) -> Typed:
    return Typed(exp.Null(), constant(None, INTEGER))


@handles(exp.CurrentDate, args="")
def _current_date(compiler: Compiler, node: exp.Expr) -> Typed:
    value = (compiler.today - EPOCH).days
    return Typed(literal_sql(value, DATE), constant(value, DATE))


@handles(exp.Paren, args="this")
def _paren(compiler: Compiler, node: exp.Expr) -> Typed:
    inner = compiler.value(node.this)
    return Typed(paren(inner.sql), inner.set)


@handles(exp.Anonymous, args="this expressions")
def _function(compiler: Compiler, node: exp.Expr) -> Typed:
    handler = _FUNCTIONS.get(node.name.lower())
    if handler is None:
        raise unsupported(node)
    return handler(compiler, node)


def is_null(typed: Typed) -> bool:
    """Whether an expression is a NULL of no type of its own. A column has a type, whatever is known of its values."""
    return typed.set.values == () and not any(typed.sql.find_all(exp.Column))


def connector_terms(node: exp.Expr, cls: type[exp.Expr]) -> list[exp.Expr]:
    """The terms of a chain of AND or OR, in order, whatever its depth."""
    terms, stack = [], [node]
    while stack:
        top = stack.pop()
        if isinstance(top, cls):
            stack += [top.args["expression"], top.this]
        else:
            terms.append(top)
    return terms
