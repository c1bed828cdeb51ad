"""Narrowing: what a filter says about the columns' values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from dpsql.expressions.compiler import Compiler, connector_terms
from dpsql.expressions.literals import parse_text
from dpsql.policy import ColumnType, Kind
from dpsql.valueset import (
    DAY_MICROSECONDS,
    Interval,
    Literal,
    ValueSet,
    joined,
    natural_grain,
    number,
)


def narrow(compiler: Compiler, node: exp.Expr, *, negate: bool = False) -> Mapping[str, ValueSet]:
    """The columns' value sets on the rows where a condition is true (or, negated, false).

    Knowledge for accuracy only: nothing rests on it that the SQL doesn't enforce. Conditions it can't read change
    nothing.
    """
    while isinstance(node, (exp.Paren, exp.Not)):
        negate ^= isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, exp.Or if negate else exp.And):
        for term in connector_terms(node, type(node)):
            compiler = compiler.with_columns(narrow(compiler, term, negate=negate))
        return compiler.columns
    if isinstance(node, (exp.And, exp.Or)):
        terms = connector_terms(node, type(node))
        return _either([narrow(compiler, term, negate=negate) for term in terms])
    return _narrow_atom(compiler, node, negate)


def _either(alternatives: list[Mapping[str, ValueSet]]) -> Mapping[str, ValueSet]:
    result = dict(alternatives[0])
    for other in alternatives[1:]:
        for name, value_set in other.items():
            if value_set != result[name]:
                mine = result[name]
                merged = joined([mine, value_set], value_set.type)
                result[name] = replace(merged, null_key=mine.null_key or value_set.null_key)
    return result


_MIRROR: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip
_NEGATION: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GTE, exp.LTE: exp.GT, exp.GT: exp.LTE, exp.GTE: exp.LT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
}  # fmt: skip


def _narrow_atom(compiler: Compiler, node: exp.Expr, negate: bool) -> Mapping[str, ValueSet]:
    columns = compiler.columns
    if isinstance(node, exp.Column) and node.name in columns and columns[node.name].kind is Kind.BOOLEAN:
        return _put(columns, node.name, columns[node.name].restricted((not negate,)).not_null())
    if isinstance(node, exp.Is) and isinstance(node.this, exp.Column) and node.this.name in columns:
        is_not_null = isinstance(node.expression, exp.Not) and isinstance(node.expression.this, exp.Null)
        is_null_test = isinstance(node.expression, exp.Null)
        if (is_not_null and not negate) or (is_null_test and negate):
            return _put(columns, node.this.name, columns[node.this.name].not_null())
        return columns
    if isinstance(node, exp.Between) and not negate:
        lower = exp.GTE(this=node.this, expression=node.args["low"])
        upper = exp.LTE(this=node.this, expression=node.args["high"])
        return narrow(compiler.with_columns(narrow(compiler, lower)), upper)
    if isinstance(node, exp.In) and node.expressions and not negate:
        return _narrow_in(compiler, node)
    if type(node) in _MIRROR:
        return _narrow_comparison(compiler, node, negate)
    return columns


def _put(columns: Mapping[str, ValueSet], name: str, value_set: ValueSet) -> Mapping[str, ValueSet]:
    return {**columns, name: value_set}


def _narrow_in(compiler: Compiler, node: exp.In) -> Mapping[str, ValueSet]:
    found = [compiler.constant(item) for item in node.expressions]
    if not isinstance(node.this, exp.Column) or any(f is None for f in found):
        return compiler.columns
    value_set = compiler.columns.get(node.this.name)
    if value_set is None:
        return compiler.columns
    values = [_comparable(f, value_set) for f in found if f is not None and f[0] is not None]
    if any(v is None for v in values):
        return compiler.columns
    ordered = tuple(dict.fromkeys(values))
    return _put(compiler.columns, node.this.name, value_set.restricted(ordered).not_null())


def _comparable(found: tuple[Literal, ColumnType], value_set: ValueSet) -> Literal:
    """A constant as a value of the column's type, None where that can't be said."""
    value, kind = found
    if isinstance(value, str) and value_set.kind is not Kind.TEXT:
        return parse_text(value, value_set.type)
    if isinstance(value, str) or value is None:
        return value
    if value_set.kind is Kind.TEXT:
        return None
    if kind.kind is Kind.DATE and value_set.kind is Kind.TIMESTAMP:
        return int(value) * DAY_MICROSECONDS
    if kind.kind is Kind.TIMESTAMP and value_set.kind is Kind.DATE:
        return Fraction(int(value), DAY_MICROSECONDS)
    if value_set.kind is Kind.BOOLEAN:
        return bool(value) if value in (0, 1) else None
    return value


def _narrow_comparison(compiler: Compiler, node: exp.Expr, negate: bool) -> Mapping[str, ValueSet]:
    operator = _NEGATION[type(node)] if negate else type(node)
    left, right = node.this, node.expression
    value = compiler.constant(right)
    if value is None:
        value, left, operator = compiler.constant(left), right, _MIRROR[operator]
    if value is None or value[0] is None:
        return compiler.columns
    if operator is exp.EQ and isinstance(left, exp.Column) and left.name in compiler.columns:
        allowed = _comparable(value, compiler.columns[left.name])
        if allowed is not None:
            value_set = compiler.columns[left.name].restricted((allowed,)).not_null()
            return _put(compiler.columns, left.name, value_set)
    return _narrow_inverted(compiler, left, operator, value)


def _narrow_inverted(
    compiler: Compiler,
    node: exp.Expr,
    operator: type[exp.Expr],
    value: tuple[Literal, ColumnType],
) -> Mapping[str, ValueSet]:
    """Undo monotone steps (± constant, * or / constant, parentheses) down to a column, then cut its interval."""
    if operator is exp.NEQ:
        return compiler.columns
    if value[1].kind in (Kind.DATE, Kind.TIMESTAMP) and not isinstance(unparenthesised(node), exp.Column):
        return compiler.columns  # days and microseconds don't mix
    interval: Interval | None = None
    while not isinstance(node, exp.Column):
        if isinstance(node, exp.Paren):
            node = node.this
            continue
        interval = interval or _half_line(operator, value)
        step = _undo(compiler, node, interval) if interval else None
        if step is None:
            return compiler.columns
        node, interval = step
        operator = exp.LTE  # the interval carries the direction from here on
    value_set = compiler.columns.get(node.name)
    if value_set is None or value_set.kind is Kind.TEXT:
        return compiler.columns
    if interval is None:
        point = _comparable(value, value_set)
        if point is None or isinstance(point, str):
            return compiler.columns
        interval = _half_line(operator, (point, value_set.type), strict_step=_whole_step(value_set, point))
    if interval is None:
        return compiler.columns
    if value_set.kind in (Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP):
        lower = interval.lower if math.isinf(interval.lower) else Fraction(math.ceil(interval.lower))
        upper = interval.upper if math.isinf(interval.upper) else Fraction(math.floor(interval.upper))
        interval = Interval(lower, upper)
    return _put(compiler.columns, node.name, value_set.narrowed(interval).not_null())


def _whole_step(value_set: ValueSet, point: Literal) -> Fraction:
    """How far a strict comparison moves the end: one step where values and constant are on a natural grain."""
    step = natural_grain(value_set.type)
    return step if step is not None and number(point) % step == 0 else Fraction(0)


def _half_line(
    operator: type[exp.Expr], value: tuple[Literal, ColumnType], strict_step: Fraction = Fraction(0)
) -> Interval | None:
    if isinstance(value[0], str) or value[0] is None:
        return None
    x = number(value[0])
    match operator:
        case exp.EQ:
            return Interval(x, x)
        case exp.LT:
            return Interval(-math.inf, x - strict_step)
        case exp.LTE:
            return Interval(-math.inf, x)
        case exp.GT:
            return Interval(x + strict_step, math.inf)
        case exp.GTE:
            return Interval(x, math.inf)
    return None


def unparenthesised(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _loosened(interval: Interval) -> Interval:
    """A little wider than exact arithmetic says, since the engine may compute in DOUBLE."""
    lower, upper = interval.lower, interval.upper
    slack = Fraction(1, 2**48)
    return Interval(
        lower if math.isinf(lower) else lower - max(lower, -lower) * slack,
        upper if math.isinf(upper) else upper + max(upper, -upper) * slack,
    )


def _undo(compiler: Compiler, node: exp.Expr, interval: Interval) -> tuple[exp.Expr, Interval] | None:
    if isinstance(node, exp.Neg):
        return node.this, -interval
    if not isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div)):
        return None
    left, right = compiler.constant(node.this), compiler.constant(node.expression)
    found = right or left
    if (left is None) == (right is None) or found is None or not isinstance(found[0], (int, Fraction)):
        return None
    if found[1].kind not in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE):
        return None
    c = Interval(number(found[0]), number(found[0]))
    other = node.this if right is not None else node.expression
    interval = _loosened(interval)
    match node:
        case exp.Add():
            return other, interval - c
        case exp.Sub():
            return other, (interval + c if right is not None else c - interval)
        case exp.Mul() if c.lower != 0:
            return other, interval / c
        case exp.Div() if right is not None and c.lower != 0:
            return other, interval * c
    return None
