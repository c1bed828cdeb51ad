"""Labels every SELECT of a statement as private rows, released or derived, and refuses what gets no label.

A private scope (filters and projections of one private table) is kept as what it is in terms of that table: each of
its columns is an expression over the table's own columns. A fact is thus always a fact about an expression, never
about a name that a subquery might have given to something else.

Everything is decided from the SQL, the policy and the public tables: no private row is read here.
"""

from __future__ import annotations

import datetime as dt

from sqlglot import exp

from dpsql.analyze.relations import Private
from dpsql.analyze.scopes import Analyzer
from dpsql.policy import Policy
from dpsql.query import Query

__all__ = ["analyze"]


def analyze(tree: exp.Expr, policy: Policy, *, today: dt.date) -> Query:
    """The releases and the outer query of one statement, or a refusal."""
    analyzer = Analyzer(policy, today)
    relation = analyzer.query(tree, {})
    if isinstance(relation, Private):
        raise analyzer.rows_refused(tree, relation)
    return Query(tuple(analyzer.releases), relation.tree, frozenset(analyzer.public_tables))
