"""Values computed step by step, each step in a subquery level of its own: the engine would else compute one twice."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from dpsql.expressions.literals import cast, decimal_sql, named
from dpsql.rewrite.clip import Summand, column


def in_steps(first: exp.Select, carried: Mapping[str, exp.Expr], values: Mapping[str, Summand]) -> exp.Select:
    """A SELECT, its list still to be set, FROM rows with the carried columns and the finished values.

    `first` is a SELECT without a list from the rows that the expressions are over.
    """
    steps = {name: list(value.steps) for name, value in values.items()}
    select, now_carried = first, {name: node.copy() for name, node in carried.items()}
    while True:
        now = {name: remaining.pop(0).copy() for name, remaining in steps.items() if remaining}
        if select is not first and not now:
            return select
        through: dict[str, exp.Expr] = {name: column(name) for name in steps if name not in now}
        columns = {**now_carried, **now, **through} or {"one": exp.Literal.number(1)}
        select.set("expressions", [named(e, n) for n, e in columns.items()])
        select = select_from(select)
        now_carried = {name: column(name) for name in now_carried}


def select_from(source: exp.Expr) -> exp.Select:
    """A SELECT from a source or another SELECT, its list still to be set."""
    if isinstance(source, exp.Select):
        source = exp.Subquery(this=source, alias=exp.TableAlias(this=exp.to_identifier("q")))
    return exp.Select(from_=exp.From(this=source))


def index_total(total: exp.Expr, count: exp.Expr, value: Summand) -> exp.Expr:
    """The sum of indices, from the sum of a value's last steps and the number of values: exact."""
    if not value.doubled:
        return total
    both = exp.Add(this=total, expression=times(cast(count, "HUGEINT"), value.cells))
    return halved(both)


def times(value: exp.Expr, factor: int) -> exp.Expr:
    return exp.Mul(this=value, expression=decimal_sql(Fraction(factor)))


def halved(value: exp.Expr) -> exp.Expr:
    """Half of an even number."""
    return exp.BitwiseRightShift(this=exp.Paren(this=value), expression=exp.Literal.number(1))


def none_is_zero(total: exp.Expr) -> exp.Expr:
    """A sum of no rows is NULL to the engine."""
    return exp.Coalesce(this=total, expressions=[exp.Literal.number(0)])
