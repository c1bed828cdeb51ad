"""WHERE: a private scope's filters as total SQL, and what they say of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from dpsql.analyze.relations import Private
from dpsql.expressions import Compiler, narrow

if TYPE_CHECKING:
    from dpsql.analyze.scopes import Analyzer

_BARE = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Is)


def _computes(condition: exp.Expr) -> bool:
    """Whether a condition does more than compare single bare columns with constants."""
    for column in condition.find_all(exp.Column):
        parent = column.parent
        while isinstance(parent, exp.Paren):
            parent = parent.parent
        if not isinstance(parent, _BARE) or sum(1 for _ in parent.find_all(exp.Column)) > 1:
            return True
    return False


def filters(source: Private, analyzer: Analyzer) -> list[exp.Expr]:
    """The scope's filters as total SQL.

    A computed condition sees columns clipped to what the conditions before it leave, never to what it says itself:
    a row that it should drop would be moved to where it holds. Comparisons of bare columns read raw values, so
    they come first.
    """
    now, predicates = _declared(source, analyzer), []
    for condition in sorted(source.where, key=_computes):
        predicates.append(now.predicate(condition))
        now = now.with_columns(narrow(now, condition))
    return predicates


def _declared(source: Private, analyzer: Analyzer) -> Compiler:
    return Compiler(source.rows.sets, source.rows.where_from, analyzer.today, analyzer.steps, source.rows.moved)


def compiler_of(source: Private, analyzer: Analyzer) -> Compiler:
    """The compiler for expressions over a private scope, its value sets narrowed by the scope's filters."""
    now = _declared(source, analyzer)
    for _ in range(2):  # a second pass lets later conditions tighten what earlier ones compared with
        for condition in source.where:
            now = now.with_columns(narrow(now, condition))
    return now
