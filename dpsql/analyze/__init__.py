"""Labels every SELECT of a statement as private rows, released or derived, and refuses what gets no label.

A private scope (private tables joined, filtered and projected) is kept as what it is in terms of `dpsql.rows`: each of
its columns is an expression over the columns of the rows. A fact is thus always a fact about an expression, never
about a name that a subquery might have given to something else.

Everything is decided from the SQL, the policy and the public tables: no private row is read here.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

from sqlglot import exp

from dpsql.analyze.emptiness import columns_alone, is_empty
from dpsql.analyze.relations import Private
from dpsql.analyze.scopes import Analyzer
from dpsql.errors import InvalidParameter, UnsupportedQuery
from dpsql.policy import Policy
from dpsql.query import Query, ReleaseQuery
from dpsql.result import LEVEL
from dpsql.rows import Catalogue

__all__ = ["analyze"]


def analyze(tree: exp.Expr, policy: Policy, catalogue: Catalogue, *, today: dt.date, level: Fraction = LEVEL) -> Query:
    """The releases and the outer query of one statement, or a refusal. `level`: of intervals that name none."""
    analyzer = Analyzer(policy, catalogue, today, tree, policy.privacy.delta, level)
    relation = analyzer.query(tree, {})
    if isinstance(relation, Private):
        if not is_empty(relation) or analyzer.releases:
            raise analyzer.rows_refused(tree, relation)
        relation = columns_alone(relation, analyzer)
    _check_one_unit(analyzer.releases)
    _check_epsilons(tree, analyzer.own_epsilons)
    return Query(tuple(analyzer.releases), relation.tree, frozenset(analyzer.public_tables), tuple(analyzer.constants))


def _check_epsilons(tree: exp.Expr, used: set[int]) -> None:
    """An ε belongs to an aggregate that is released: nothing else has noise."""
    for node in tree.walk():
        number, epsilon, position = node.meta.get("epsilon", (None, None, None))
        if number is not None and number not in used:
            raise InvalidParameter(
                f"an epsilon of {float(epsilon):g} is asked for something that isn't released with noise",
                hint="write it in an aggregate over private rows, such as SUM(x, epsilon => 0.3)",
                position=position,
            )


def _check_one_unit(releases: list[ReleaseQuery]) -> None:
    """One statement protects one kind of unit: its ε is said of that."""
    of_rows = next((r.rows for r in releases if r.rows.unit is None), None)
    of_units = next((r.rows for r in releases if r.rows.unit is not None), None)
    if of_rows is not None and of_units is not None:
        raise UnsupportedQuery(
            f"the query reads {of_rows.name}, where each row is a privacy unit, and {of_units.name}, where a unit has "
            "many rows",
            hint="ask a query of each",
        )
