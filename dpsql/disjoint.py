"""Whether two conditions can hold for one row: decided from their SQL alone, and only where it is certain.

A condition holds where it is TRUE; it doesn't where it is FALSE or NULL. Both are looked at over one *subject*, a
condition or a value that stands in both of them, written alike, and so has the same value in both for any row: all
functions over private rows are deterministic. What else is in them may be anything. Over a condition there are three
cases, TRUE, FALSE and NULL; over a value that is compared with literals one for NULL, one for each literal and one for
what lies between two of them, or beyond. Where no case leaves both conditions room to be TRUE, no row meets both.

Literals are told apart only where the engine is certain to do so. The compiler casts both sides of a comparison to one
type (`dpsql.expressions.conditions`), so a value with its cast and the literals' type say how it compares: integers,
decimals and dates exactly. Doubles do if they are well apart; NaN, which is above all others, is as good as any number.
Texts are only equal or not, and only such count as different that are so in any collation, without case and accents.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from sqlglot import exp

from dpsql.expressions import connector_terms
from dpsql.expressions.narrowing import unparenthesised

MAX_NODES = 500
"""Of a condition: of larger ones nothing is certain."""

_Literal = int | Fraction | str
_NUMBER = re.compile(r"[0-9]{1,15}|(?=.{3,16}$)[0-9]+\.[0-9]+")
"""Such as all types have exactly, or to the nearest."""
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(_DATE.pattern + r" [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?")


def _at(places: Iterable[int]) -> int:
    cases = 0
    for place in places:
        cases |= 1 << place
    return cases


def _below(place: int) -> int:
    return (1 << place) - 1


_COMPARISONS: dict[type[exp.Expr], Callable[[list[int]], int]] = {
    exp.EQ: _at,
    exp.In: _at,
    exp.NEQ: lambda places: ~_at(places),
    exp.NullSafeEQ: _at,
    exp.NullSafeNEQ: lambda places: ~_at(places),
    exp.LT: lambda places: _below(places[0]),
    exp.LTE: lambda places: _below(places[0] + 1),
    exp.GT: lambda places: ~_below(places[0] + 1),
    exp.GTE: lambda places: ~_below(places[0]),
    exp.Between: lambda places: _below(places[1] + 1) & ~_below(places[0]),
}
"""In which cases of its value, as bits, a comparison with the literals in these places is TRUE."""
_NULL_SAFE = (exp.NullSafeEQ, exp.NullSafeNEQ)
_ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_MIRROR: dict[type[exp.Expr], type[exp.Expr]] = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}


@dataclass(frozen=True, slots=True)
class _Subject:
    """A value: its SQL, and the type of the literals that it is compared with; that of a condition is BOOLEAN.

    null  the text that says when it is NULL: see `_null`
    """

    text: str
    type: str
    null: str


@dataclass(frozen=True, slots=True)
class _Cases:
    """All cases of a subject, as the bits of a number: the lowest is for NULL.

    Of a condition there are two more, for FALSE and TRUE; of a value one for what lies below its least literal, and for
    each literal, in their order, one for it and one for what lies between it and the next. `places` are the literals'.
    """

    all: int
    places: Mapping[_Literal, int]

    @property
    def known(self) -> int:
        """Those in which it isn't NULL."""
        return self.all & ~_NULL


_NULL, _FALSE, _TRUE = 1, 2, 4
_OF_CONDITION = _Cases(_NULL | _FALSE | _TRUE, {})


@dataclass(frozen=True, slots=True)
class _Truths:
    """In which cases a condition may be TRUE, FALSE, NULL."""

    true: int
    false: int
    null: int

    def negated(self) -> _Truths:
        return _Truths(self.false, self.true, self.null)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as far as it is understood.

    text      its SQL, "" of one that is only part of another's meaning
    operator  how it follows from its parts; "" where it doesn't
    value     what it compares with literals, if it does, and how
    null      where it asks whether a value is NULL: the text that says when that one is
    """

    text: str
    operator: str = ""
    parts: tuple[Condition, ...] = ()
    value: _Subject | None = None
    literals: tuple[_Literal, ...] = ()
    compare: type[exp.Expr] | None = None
    null: str = ""

    def walk(self) -> Iterable[Condition]:
        yield self
        for part in self.parts:
            yield from part.walk()

    def subjects(self) -> Iterable[_Subject]:
        """All that it says something of: conditions first, since they have but three cases."""
        nodes = list(self.walk())
        yield from (_Subject(node.text, "BOOLEAN", node.text) for node in nodes if node.text)
        yield from (node.value for node in nodes if node.value is not None)

    @property
    def size(self) -> int:
        """What it takes to compare it with others: with two of the same size in steps at most twice this."""
        nodes = list(self.walk())
        return len(set(self.subjects())) * len(nodes) + sum(len(node.literals) for node in nodes)

    def truths(self, subject: _Subject, cases: _Cases) -> _Truths:
        """What it may be in each case of the subject."""
        if self.value == subject and self.compare is not None:
            known = cases.all if self.compare in _NULL_SAFE else cases.known
            true = known & _COMPARISONS[self.compare]([cases.places[literal] for literal in self.literals])
            return _Truths(true, known & ~true, cases.all & ~known)
        if self.text == subject.text and subject.type == "BOOLEAN":
            return _Truths(_TRUE, _FALSE, _NULL)
        if self.null and self.null == subject.null:
            return _Truths(_NULL, cases.known, 0)
        of_parts = [part.truths(subject, cases) for part in self.parts]
        match self.operator:
            case "and":
                return _all(of_parts, cases)
            case "or":
                return _all([truths.negated() for truths in of_parts], cases).negated()
            case "not":
                return of_parts[0].negated()
            case "is true":
                return _Truths(of_parts[0].true, of_parts[0].false | of_parts[0].null, 0)
            case "is null":
                return _Truths(of_parts[0].null, of_parts[0].true | of_parts[0].false, 0)
        return _Truths(cases.all, cases.all, cases.all)


def _all(several: list[_Truths], cases: _Cases) -> _Truths:
    """What AND may be: FALSE where one is, else NULL where one is."""
    true, false, null, not_false = cases.all, 0, 0, cases.all
    for truths in several:
        true &= truths.true
        false |= truths.false
        null |= truths.null
        not_false &= truths.true | truths.null
    return _Truths(true, false, null & not_false)


def understood(condition: exp.Expr | None) -> Condition | None:
    """A condition of which something is certain: None where there is none, or it is too large."""
    if condition is None or sum(1 for _ in condition.walk()) > MAX_NODES:
        return None
    return _condition(condition)


def disjoint(one: Condition | None, other: Condition | None) -> bool:
    """Whether no row meets both conditions, whatever it holds; False where that isn't certain."""
    if one is None or other is None:
        return False
    ours, others = dict.fromkeys(one.subjects()), dict.fromkeys(other.subjects())
    nulls = {node.null for tree in (one, other) for node in tree.walk() if node.null}
    texts = {subject.text for subject in ours} & {subject.text for subject in others}
    return any(
        _apart_over(subject, one, other) for subject in ours | others if subject.text in texts or subject.null in nulls
    )


def _apart_over(subject: _Subject, one: Condition, other: Condition) -> bool:
    cases = _OF_CONDITION if subject.type == "BOOLEAN" else _of_value(subject, (one, other))
    return cases is not None and not one.truths(subject, cases).true & other.truths(subject, cases).true


def _of_value(subject: _Subject, conditions: Iterable[Condition]) -> _Cases | None:
    """The cases of a value by all literals that it is compared with; None where these can't be told apart."""
    of_all = [node.literals for condition in conditions for node in condition.walk() if node.value == subject]
    literals = sorted({literal for each in of_all for literal in each}, key=lambda x: (isinstance(x, str), x))
    if not _told_apart(subject, literals):
        return None
    return _Cases(_below(2 * len(literals) + 2), {literal: 2 * i + 2 for i, literal in enumerate(literals)})


def _told_apart(subject: _Subject, literals: list[_Literal]) -> bool:
    if subject.type == "VARCHAR":
        plain = [re.sub("[^0-9a-z]", "", str(literal).lower()) for literal in literals]
        printable = all(str(literal).isascii() and str(literal).isprintable() for literal in literals)
        return printable and all(plain) and len(set(plain)) == len(plain)
    if subject.type == "DOUBLE":
        numbers = [Fraction(literal) for literal in literals]
        return all(y - x > max(abs(x), abs(y)) / 2**40 for x, y in pairwise(numbers))
    return True


# ---------------------------------------------------------------------------------------------- from SQL


def _condition(node: exp.Expr) -> Condition:
    """A condition, in terms of the conditions and values in it."""
    node = unparenthesised(node)
    text = node.sql("duckdb")
    if isinstance(node, (exp.And, exp.Or)):
        terms = tuple(map(_condition, connector_terms(node, type(node))))
        return Condition(text, "and" if isinstance(node, exp.And) else "or", terms)
    if isinstance(node, exp.Not):
        return Condition(text, "not", (_condition(node.this),))
    if isinstance(node, (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)):
        truth = unparenthesised(node.expression)
        if isinstance(truth, exp.Boolean):
            return _compared_with(bool(truth.this), node, text)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return Condition(text, "is null", (_condition(node.this),), null=_null(node.this))
    return _comparison(node, text)


def _compared_with(truth: bool, node: exp.Expr, text: str) -> Condition:
    """A condition that is compared with TRUE or FALSE."""
    found = _condition(node.this)
    found = found if truth else Condition("", "not", (found,))
    if isinstance(node, exp.EQ):
        return Condition(text, "and", (found,))
    if isinstance(node, exp.NEQ):
        return Condition(text, "not", (found,))
    same = Condition("", "is true", (found,))
    return Condition(text, "and" if isinstance(node, exp.NullSafeEQ) else "not", (same,))


def _comparison(node: exp.Expr, text: str) -> Condition:
    """What compares a value with literals of one type; any other condition is only known by itself."""
    operator, value, literals = type(node), node.this, []
    if isinstance(node, exp.In):
        literals = node.expressions
    elif isinstance(node, exp.Between):
        literals = [node.args["low"], node.args["high"]]
    elif operator in _COMPARISONS:
        literals = [node.expression]
        if _literal(value) is not None:
            operator, value, literals = _MIRROR.get(operator, operator), node.expression, [value]
    found = [_literal(literal) for literal in literals]
    types = {each[0] for each in found if each is not None}
    if None in found or len(types) != 1 or (operator in _ORDERED and "VARCHAR" in types):
        return Condition(text)
    (of_all,) = types
    subject = _Subject(unparenthesised(value).sql("duckdb"), of_all, _null(value))
    of_type = tuple(_plain(each[1]) for each in found if each)
    return Condition(text, value=subject, literals=of_type, compare=operator)


def _null(node: exp.Expr) -> str:
    """A text that two values share only where both are NULL for the same rows: of a column that is clipped or cast,
    which it stays NULL by, that of the column, marked where NaN is NULL too (`dpsql.expressions.literals.clip`).
    """
    node = unparenthesised(node)
    if type(node) is exp.Cast:
        return _null(node.this)
    if type(node) is not exp.Case or node.this is not None:
        return node.sql("duckdb")
    columns = {column.sql("duckdb") for column in node.find_all(exp.Column)}
    ifs, default = node.args["ifs"], node.args.get("default")
    if len(columns) == 1 and all(_clips(each.this, each.args["true"]) for each in ifs):
        (column,) = columns
        if isinstance(default, exp.Column):
            return column
        of_nan = any(isinstance(each.this, exp.GT) for each in ifs)  # NaN is above all others
        if default is None and not of_nan and ifs[-1].this.sql("duckdb") == f"{column} <= CAST('Infinity' AS DOUBLE)":
            return f"{column} or NaN"
    return node.sql("duckdb")


def _clips(condition: exp.Expr, result: exp.Expr) -> bool:
    """Whether an arm of a CASE is taken only where a column is known, and then gives it or a literal."""
    known = isinstance(condition, (exp.LT, exp.LTE, exp.GT)) and isinstance(condition.this, exp.Column)
    return known and _constant(condition.expression) and (isinstance(result, exp.Column) or _constant(result))


def _constant(node: exp.Expr) -> bool:
    """A literal with its casts, which is not NULL."""
    while isinstance(node, (exp.Paren, exp.Neg)) or type(node) is exp.Cast:
        node = node.this
    return isinstance(node, exp.Literal)


def _plain(literal: _Literal) -> _Literal:
    """The same value; whole numbers are integers, whose hashes take no time."""
    return literal.numerator if isinstance(literal, Fraction) and literal.denominator == 1 else literal


def _literal(node: exp.Expr) -> tuple[str, _Literal] | None:
    """The type and the value of a literal with its casts, None where that isn't certain."""
    node = unparenthesised(node)
    if isinstance(node, exp.Literal) and node.is_string:
        return "VARCHAR", str(node.this)
    if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
        return _cast(unparenthesised(node.this), node.to)
    number = _number(node)
    if number is None or number.denominator != 1:
        return None
    return "INTEGER", number


def _number(node: exp.Expr) -> Fraction | None:
    node, negative = unparenthesised(node), False
    if isinstance(node, exp.Neg):
        node, negative = unparenthesised(node.this), True
    if not isinstance(node, exp.Literal) or node.is_string or not _NUMBER.fullmatch(node.name):
        return None
    return -Fraction(node.name) if negative else Fraction(node.name)


def _cast(inner: exp.Expr, to: exp.DataType) -> tuple[str, _Literal] | None:
    if to.is_type(exp.DType.DATE, exp.DType.TIMESTAMP):
        if isinstance(inner, exp.Cast):  # a date as a timestamp
            of_date = _cast(unparenthesised(inner.this), inner.to)
            days = of_date[1] if of_date is not None and of_date[0] == "DATE" else None
            return None if not isinstance(days, Fraction) else (to.sql("duckdb"), days)
        return _moment(inner, to)
    number = _number(inner)
    if number is None:
        return None
    if to.is_type(exp.DType.DOUBLE):
        return "DOUBLE", Fraction(float(number))
    if to.is_type(exp.DType.BIGINT) and number.denominator == 1:
        return "INTEGER", number
    scale = int(to.expressions[1].name) if to.is_type(exp.DType.DECIMAL) and len(to.expressions) == 2 else -1
    return (to.sql("duckdb"), number) if scale >= 0 and (number * 10**scale).denominator == 1 else None


def _moment(inner: exp.Expr, to: exp.DataType) -> tuple[str, _Literal] | None:
    """A date or a time as days since 1970."""
    known = _DATE if to.is_type(exp.DType.DATE) else _TIMESTAMP
    if not isinstance(inner, exp.Literal) or not inner.is_string or not known.fullmatch(inner.name):
        return None
    try:
        moment = dt.datetime.fromisoformat(inner.name)
    except ValueError:
        return None
    return to.sql("duckdb"), Fraction(
        (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1), 86_400 * 10**6
    )
