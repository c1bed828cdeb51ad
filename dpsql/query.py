"""What analysis finds in a statement: the releases that it needs, and what is done with their noisy numbers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from dpsql import aggregates
from dpsql.aggregates.aggregate import Choice
from dpsql.expressions import Shown, Typed
from dpsql.expressions.literals import DATE, DOUBLE, INTEGER, MAX_DIGITS, TIMESTAMP
from dpsql.policy import ColumnType, Kind
from dpsql.rows import RESERVED, Rows
from dpsql.valueset import EPOCH, Literal, ValueSet

MAX_RELEASES = 50
"""SELECTs of one statement that aggregate private rows."""
MAX_CALLS = 200
"""Distinct aggregates of one SELECT."""
MAX_LEVELS = 10
"""Of the intervals of one SELECT."""
MAX_CONSTANTS = 50
"""Subqueries of one statement that stand for one value: each is bound by itself."""


@dataclass(frozen=True, slots=True)
class KeyDomain:
    """The public values of one group key, in the order in which they are printed.

    Either an explicit list, or the arithmetic progression first, first + step, … of `count` numbers; `null` adds SQL
    NULL as the last key. The engine sends a key as its code: text as it is, any other value divided by `step`, as
    an integer.

    Where the keys are `private`, none is listed: they are found in the data, and shown where enough units have them.
    """

    kind: Kind
    values: tuple[Literal, ...] | None
    first: int = 0
    step: Fraction = Fraction(1)
    count: int = 0
    null: bool = False
    private: bool = False

    @property
    def size(self) -> int:
        """How many values are known beforehand; 1, the one at hand, where they are private."""
        return 1 if self.private else self.count + self.null

    def label(self, code: int | str) -> object:
        """A key's value as it is printed, from its code. Decimals as exact text, for the reader to cast."""
        if isinstance(code, str):
            return code
        value = code * self.step
        match self.kind:
            case Kind.BOOLEAN:
                return bool(code)
            case Kind.DATE:
                return EPOCH + dt.timedelta(days=int(value))
            case Kind.TIMESTAMP:
                return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(value))
            case Kind.DECIMAL:
                return decimal_text(Fraction(value))
            case Kind.DOUBLE:
                return float(value)
        return int(value)

    def codes(self) -> tuple[int | str, ...]:
        """The codes of an explicit list, in order (without NULL)."""
        assert self.values is not None
        return tuple(v if isinstance(v, str) else int(Fraction(v or 0) / self.step) for v in self.values)


@dataclass(frozen=True, slots=True)
class Key:
    """One GROUP BY expression over private rows.

    code   SQL of the key's code, NULL where the key is NULL
    guard  SQL conditions without which a row's key is outside the domain; such rows are dropped
    """

    text: Shown
    code: exp.Expr
    guards: tuple[exp.Expr, ...]
    domain: KeyDomain
    set: ValueSet
    origin: str


@dataclass(frozen=True, slots=True)
class Measure:
    """What an aggregate counts or adds: rows that pass `filter`, with the value `argument` (None: whole rows).

    Where it is `distinct` each value counts once. `by_unit`: so it does, and rows belong to units; `of_unit`: so they
    do, and the values are the units themselves.
    """

    argument: Typed | None
    filter: exp.Expr | None
    distinct: bool = False
    by_unit: bool = False
    of_unit: bool = False
    identity: tuple[str, str] = field(init=False)
    """The SQL of argument and filter: equal for equal measures."""

    def __post_init__(self) -> None:
        argument = "*" if self.argument is None else self.argument.sql.sql("duckdb")
        argument = f"DISTINCT {argument}" if self.distinct else argument
        condition = "" if self.filter is None else self.filter.sql("duckdb")
        object.__setattr__(self, "identity", (argument, condition))


@dataclass(frozen=True, slots=True)
class Call:
    """One distinct aggregate call: which aggregate (a name of the `aggregates` package) over which measure.

    epsilon      what it asks for itself; None: a share of its release's
    choice       where one of the values is asked for
    chosen_type  the SQL type of that
    levels       of the intervals of a quantile whose ends are to be chosen too
    """

    aggregate: str
    measure: Measure
    text: Shown
    epsilon: Fraction | None = None
    choice: Choice | None = None
    chosen_type: str = ""
    levels: tuple[Fraction, ...] = ()

    @property
    def type(self) -> ColumnType:
        """Of its number: INTEGER or DOUBLE, or that of dates and times which are chosen."""
        return {"BIGINT": INTEGER, "DATE": DATE, "TIMESTAMP": TIMESTAMP}.get(self.sql_type, DOUBLE)

    @property
    def sql_type(self) -> str:
        return self.chosen_type or aggregates.named(self.aggregate).column(self.measure.argument)

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for equal calls but for their ε."""
        return self.aggregate, self.measure.identity, self.choice


@dataclass(frozen=True, slots=True)
class AskedSelection:
    """What a query says of the selection of its private keys; None: as the policy has it.

    epsilon, delta  of the selection
    min_units       how many units a key must have, as far as the noise lets tell
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    min_units: int | None = None


@dataclass(frozen=True, slots=True)
class ReleaseQuery:
    """One SELECT that aggregates private rows.

    epsilon    what it asks for itself; None: a share of the statement's
    intervals  (index of a call, or arithmetic on several over this release's columns; level) of each interval that is
               asked for
    selection  how its private keys are to be selected
    weights    by how much an error of each call counts; none: all alike
    """

    rows: Rows
    where: tuple[exp.Expr, ...]
    keys: tuple[Key, ...]
    calls: tuple[Call, ...]
    epsilon: Fraction | None = None
    intervals: tuple[tuple[int | exp.Expr, Fraction], ...] = ()
    selection: AskedSelection = AskedSelection()
    weights: tuple[Fraction, ...] = ()

    @property
    def own_epsilon(self) -> Fraction | None:
        """What its calls ask for in all, where each asks for itself and nothing else needs any; None where not."""
        if self.private_keys or not self.calls:
            return None
        asked = [call.epsilon for call in self.calls]
        return None if None in asked else sum((e for e in asked if e is not None), Fraction(0))

    @property
    def private_keys(self) -> tuple[int, ...]:
        """The numbers of the keys that aren't public."""
        return tuple(index for index, key in enumerate(self.keys) if key.domain.private)

    @property
    def is_free(self) -> bool:
        """Whether it only lists declared keys, so that nothing is read."""
        return not self.calls and not self.private_keys

    @property
    def cells(self) -> int:
        """How many groups there are; where some keys are private, for each of those."""
        size = 1
        for key in self.keys:
            size *= key.domain.size
        return size


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that an inner query uses and that is known only when it runs: of noisy and public numbers.

    `tree` gives it in the scratch engine, as one row of one column of the SQL type; it reads releases that come before
    the one that uses it. Or, with `columns`, it gives the rows of a table, which the engine gets as a list of structs;
    no two of them have the same values in the columns `keys`.

    Where its type is `guessed`, it is a number's, which shows once the tree is bound.
    """

    name: str
    tree: exp.Expr
    sql_type: str
    columns: tuple[str, ...] = ()
    keys: tuple[int, ...] = ()
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """An analysed statement: `outer` reads the tables `release_name(0)`, … and public tables, in the scratch engine."""

    releases: tuple[ReleaseQuery, ...]
    outer: exp.Expr
    public_tables: frozenset[str]
    constants: tuple[Constant, ...] = ()


def decimal_text(value: Fraction) -> str:
    """A finite decimal with all its digits."""
    scale = next(s for s in range(MAX_DIGITS + 1) if (value * 10**s).denominator == 1)
    return f"{Decimal(int(value * 10**scale)).scaleb(-scale):f}"


def release_name(index: int) -> str:
    """The scratch table that holds a release."""
    return f"{RESERVED}_release_{index}"


def direct_release(root: exp.Expr) -> int | None:
    """The number of the release that a SELECT reads directly, None where it reads anything else."""
    start = root.args.get("from_")
    if start is None or root.args.get("joins") or not isinstance(start.this, exp.Table):
        return None
    number = start.this.name.rpartition("_")[2]
    return int(number) if number.isdecimal() and start.this.name == release_name(int(number)) else None


def constant_name(index: int) -> str:
    return f"{RESERVED}_constant_{index}"


def key_name(index: int) -> str:
    return f"{RESERVED}_key_{index}"


def number_name(index: int) -> str:
    return f"{RESERVED}_number_{index}"


def number_type(node: exp.Expr | None, calls: Sequence[Call]) -> ColumnType | None:
    """The type of a released number, named as it is or as a date, which it is a timestamp until then; else None."""
    column = node.this if isinstance(node, exp.Cast) and node.to.is_type(exp.DType.DATE) else node
    found = {number_name(i): call.type for i, call in enumerate(calls)}
    kind = found.get(column.name) if isinstance(column, exp.Column) else None
    if column is node:
        return kind
    return DATE if kind in (DATE, TIMESTAMP) else None


_NUMBERS = number_name(0).removesuffix("0")
ROW = f"{RESERVED}_row"
"""The column of a release that numbers its rows from 0."""


def interval_names(index: int) -> tuple[str, str]:
    """The columns of an interval's lower and upper ends."""
    return f"{RESERVED}_interval_low_{index}", f"{RESERVED}_interval_high_{index}"


def end_column(name: str, asked: int | exp.Expr, calls: Sequence[Call]) -> exp.Expr:
    """The end of an interval of that name, of a number of these calls or of an expression; a date's is one."""
    column = exp.column(name, quoted=True)
    return exp.cast(column, "DATE") if isinstance(asked, int) and calls[asked].sql_type == "DATE" else column


def numbers_in(tree: exp.Expr) -> tuple[int, ...]:
    """The released numbers that an expression over one release computes with; none where it does more than that.

    That is where it reads anything else than numbers and keys, or other rows too: a subquery, a window.
    """
    if isinstance(tree, exp.Column):  # what most are, at a tenth of the time
        text = tree.name.removeprefix(_NUMBERS)
        return (int(text),) if text.isdecimal() and tree.name == number_name(int(text)) and not tree.table else ()
    found: set[int] = set()
    for node in tree.walk():
        if isinstance(node, (exp.Query, exp.Window, exp.AggFunc)):
            return ()
        if isinstance(node, exp.Column):
            prefix, _, index = node.name.rpartition("_")
            if node.table or not index.isdecimal() or node.name not in (key_name(int(index)), number_name(int(index))):
                return ()
            if f"{prefix}_" == _NUMBERS:
                found.add(int(index))
    return tuple(sorted(found))


_ENDS = tuple(name.removesuffix("0") for name in interval_names(0))


def reads_ends(tree: exp.Expr) -> bool:
    """Whether an expression over one release reads an end of an interval."""
    return any(column.name.startswith(_ENDS) for column in tree.find_all(exp.Column))


def reads_numbers(tree: exp.Expr) -> bool:
    """Whether an expression over one release reads a released number of it anywhere, or an end of one's interval."""
    return any(column.name.startswith((_NUMBERS, *_ENDS)) for column in tree.find_all(exp.Column))
