"""Queries of private rows of which there are none, whatever the data: so programs ask which columns there are.

`SELECT * FROM people WHERE 1 = 0`, and with LIMIT 0. The answer is a matter of the policy alone: it is a query over no
table, whose columns have the names and types of the private rows' columns. Nothing is read, and nothing charged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from dpsql.analyze.filters import compiler_of
from dpsql.analyze.relations import Derived, Private
from dpsql.expressions.literals import cast, sql_type

if TYPE_CHECKING:
    from dpsql.analyze.scopes import Analyzer


def is_empty(relation: Private) -> bool:
    """Whether a filter holds for no row: FALSE, or whole numbers written out that compare so."""
    return any(_never_holds(condition) for condition in relation.where)


def columns_alone(relation: Private, analyzer: Analyzer) -> Derived:
    """No rows, with the columns of these."""
    compiler = compiler_of(relation, analyzer)
    columns = [
        exp.alias_(cast(exp.Null(), sql_type(compiler.value(expression).set.type)), name, quoted=True)
        for name, expression in relation.columns.items()
    ]
    return Derived(exp.Select(expressions=columns, where=exp.Where(this=exp.false())))


def _never_holds(condition: exp.Expr) -> bool:
    if isinstance(condition, exp.Boolean):
        return not condition.this
    if not isinstance(condition, (exp.EQ, exp.NEQ)):
        return False
    sides = (condition.this.name, condition.expression.name)
    literals = all(isinstance(side, exp.Literal) and not side.is_string for side in condition.iter_expressions())
    if not literals or not all(side.isdecimal() and len(side) < 19 for side in sides):
        return False
    return (int(sides[0]) != int(sides[1])) is isinstance(condition, exp.EQ)
