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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from sqlglot import exp

from dpsql.expressions import connector_terms
from dpsql.expressions.narrowing import unparenthesised

MAX_NODES = 500
"""Of a condition: of larger ones nothing is certain."""

_Truth = bool | None
_ANY: frozenset[_Truth] = frozenset((True, False, None))
_Literal = Fraction | str
_Compare = Callable[[int | None, list[int]], _Truth]
_NUMBER = re.compile(r"[0-9]{1,15}|(?=.{3,16}$)[0-9]+\.[0-9]+")
"""Such as all types have exactly, or to the nearest."""
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(_DATE.pattern + r" [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?")
_COMPARISONS: dict[type[exp.Expr], _Compare] = {
    exp.EQ: lambda x, others: None if x is None else x in others,
    exp.In: lambda x, others: None if x is None else x in others,
    exp.NEQ: lambda x, others: None if x is None else x not in others,
    exp.NullSafeEQ: lambda x, others: x in others,
    exp.NullSafeNEQ: lambda x, others: x not in others,
    exp.LT: lambda x, others: None if x is None else x < others[0],
    exp.LTE: lambda x, others: None if x is None else x <= others[0],
    exp.GT: lambda x, others: None if x is None else x > others[0],
    exp.GTE: lambda x, others: None if x is None else x >= others[0],
    exp.Between: lambda x, others: None if x is None else others[0] <= x <= others[1],
}
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
class Condition:
    """A condition as far as it is understood.

    text      its SQL, "" of one that is only part of another's meaning
    operator  how it follows from its parts; "" where it doesn't
    value     what it compares with literals, if it does
    compare   (place of the value, None for NULL; those of the literals) to its truth. The places of the literals are
              1, 3, 5, … in their order, what lies between them has even ones
    null      where it asks whether a value is NULL: the text that says when that one is
    """

    text: str
    operator: str = ""
    parts: tuple[Condition, ...] = ()
    value: _Subject | None = None
    literals: tuple[_Literal, ...] = ()
    compare: _Compare | None = None
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

    def truths(self, subject: _Subject, place: int | None, places: dict[_Literal, int]) -> frozenset[_Truth]:
        """What it may be where the subject is in some place: a condition in 1 where it is TRUE, in 0 where FALSE."""
        if self.value == subject and self.compare is not None:
            return frozenset((self.compare(place, [places[literal] for literal in self.literals]),))
        if self.text == subject.text and subject.type == "BOOLEAN":
            return frozenset((None if place is None else place > 0,))
        if self.null and self.null == subject.null:
            return frozenset((place is None,))
        of_parts = [part.truths(subject, place, places) for part in self.parts]
        match self.operator:
            case "and":
                return _all(of_parts)
            case "or":
                return _negated(_all([_negated(truths) for truths in of_parts]))
            case "not":
                return _negated(of_parts[0])
            case "is true":
                return frozenset(truth is True for truth in of_parts[0])
            case "is null":
                return frozenset(truth is None for truth in of_parts[0])
        return _ANY


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


def _negated(truths: frozenset[_Truth]) -> frozenset[_Truth]:
    return frozenset(None if truth is None else not truth for truth in truths)


def _all(several: list[frozenset[_Truth]]) -> frozenset[_Truth]:
    """What AND may be: FALSE where one is, else NULL where one is."""
    found: frozenset[_Truth] = frozenset((True,))
    for truths in several:
        found = frozenset(False if False in (x, y) else None if None in (x, y) else True for x in found for y in truths)
    return found


def _apart_over(subject: _Subject, one: Condition, other: Condition) -> bool:
    if subject.type == "BOOLEAN":
        literals: list[_Literal] = []
        cases: list[int | None] = [None, 0, 1]
    else:
        of_both = [node.literals for tree in (one, other) for node in tree.walk() if node.value == subject]
        literals = sorted({literal for each in of_both for literal in each}, key=lambda x: (isinstance(x, str), x))
        cases = [None, *range(2 * len(literals) + 1)]
        if not _told_apart(subject, literals):
            return False
    places = {literal: 2 * i + 1 for i, literal in enumerate(literals)}
    return not any(
        True in one.truths(subject, case, places) and True in other.truths(subject, case, places) for case in cases
    )


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
    of_type = tuple(each[1] for each in found if each)
    return Condition(text, value=subject, literals=of_type, compare=_COMPARISONS[operator])


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
