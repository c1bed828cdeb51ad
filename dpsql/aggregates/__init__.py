"""Aggregates: one file each, found by a scan of this package.

An aggregate module exports AGGREGATE, or several AGGREGATES. Each says how its SQL is read, which bases can serve it,
and how the basis's noisy sums become its number. Anything else that aggregates is refused.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from dataclasses import replace
from functools import cache

from sqlglot import exp

from dpsql.aggregates.aggregate import Aggregate, CallShape, uncast
from dpsql.expressions import refuse, show

_OTHER_NAMES = frozenset(
    """any_value approx_top_k arbitrary arg_max_null arg_max_nulls_last arg_min_null arg_min_nulls_last argmax
    argmin bitstring_agg combine_aggr covar_pop covar_samp decimal_average entropy favg fsum geomean geometric_mean
    harmonic_mean histogram histogram_exact kahan_sum kurtosis kurtosis_pop list listagg lttb mad max_by min_by
    product quantile regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    reservoir_quantile sem skewness std stdev sum_no_overflow sumkahan total var var_pop var_samp""".split()
)
"""Aggregates, here and elsewhere, that the parser may have no node class for."""
_HINT = "use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN or MAX"


@cache
def found() -> dict[str, Aggregate]:
    """Every aggregate of this package by name."""
    result = {}
    for module in pkgutil.iter_modules(__path__):
        content = vars(importlib.import_module(f"{__name__}.{module.name}"))
        for aggregate in (*content.get("AGGREGATES", ()), content.get("AGGREGATE")):
            if isinstance(aggregate, Aggregate):
                result[aggregate.name] = aggregate
    return result


def named(name: str) -> Aggregate:
    return found()[name]


@cache
def _by_node() -> dict[type[exp.Expr], Aggregate]:
    return {node: aggregate for aggregate in found().values() for node in aggregate.nodes}


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is an aggregate function call, supported or not, with its FILTER if it has one."""
    if isinstance(node, (exp.Filter, exp.WithinGroup)):
        return True
    if isinstance(node, exp.Anonymous) and node.name.lower() in _OTHER_NAMES:
        return True
    return isinstance(node, exp.AggFunc) and not isinstance(node, exp.Window)


def each_of(node: exp.Expr) -> list[exp.Expr] | None:
    """The calls that one with a list of fractions stands for, QUANTILE_CONT(x, [0.1, 0.9]); None where it has none."""
    fractions = uncast(_fractions(node))
    if not isinstance(fractions, exp.Array) or not fractions.expressions:
        return None
    if not all(isinstance(uncast(one), exp.Literal) for one in fractions.expressions):
        return None
    calls, one = [], node.copy()
    for fraction in fractions.expressions:
        place = _fractions(one)
        assert place is not None
        place.replace(fraction.copy())
        calls.append(one)
        one = one.copy()  # not of the whole list
    return calls


def _fractions(node: exp.Expr) -> exp.Expr | None:
    """What stands where a quantile has its fraction."""
    call = node.this if isinstance(node, exp.Filter) else node
    named = call.this if isinstance(call, exp.WithinGroup) else call
    found = _by_node().get(type(named))
    if found is None or not found.name.startswith("quantile"):
        return None
    in_group = named is not call  # PERCENTILE_CONT([0.1, 0.9]) WITHIN GROUP (ORDER BY x)
    place: exp.Expr | None = named.this if in_group else named.args.get("expression") or named.args.get("quantile")
    return place.this if isinstance(place, exp.Order) else place


def _written(call: exp.Expr) -> str:
    """An aggregate of whatever kind as people know it, not as DuckDB's SQL would have it."""
    if isinstance(call, exp.WithinGroup):
        return f"{_written(call.this)} WITHIN GROUP ({show(call.expression).strip()})"
    word = call.meta.get("word")
    shown = show(call)
    return re.sub(r"^\w+(?=\()", word.upper(), shown) if word else shown


def read_call(node: exp.Expr) -> CallShape:
    """The aggregate that a call names, with its argument and condition; refused where there is none."""
    condition = None
    call = node
    if isinstance(node, exp.Filter):
        call, condition = node.this, node.expression.this
    aggregate = _by_node().get(type(call.this if isinstance(call, exp.WithinGroup) else call))
    if aggregate is None:
        raise refuse(call, f"the aggregate {_written(call)} isn't supported", _HINT)
    shape = aggregate.read(call)
    if condition is not None:
        both = condition if shape.condition is None else exp.and_(condition.copy(), shape.condition.copy())
        shape = replace(shape, condition=both)
    return shape
