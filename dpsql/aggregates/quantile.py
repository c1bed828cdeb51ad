"""MEDIAN(x), QUANTILE_CONT(x, q), QUANTILE_DISC(x, q), PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) and their like.

The answer is a value that the column may have, chosen so that about as many rows lie below it as should. It needn't be
the value of a row, so QUANTILE_DISC and QUANTILE_CONT differ in the type of their answers alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from dpsql.aggregates.aggregate import Aggregate, CallShape, Choice, uncast
from dpsql.aggregates.choice import accepting
from dpsql.expressions import refuse, show
from dpsql.privacy.mechanisms.permute_and_flip import FINEST, nearest

_NUMBER = re.compile(r"(\d{1,40}\.?\d{0,40}|\.\d{1,40})(e[+-]?\d{1,3})?", re.IGNORECASE)
"""Small enough to be worked out exactly."""
_FORMS = "write MEDIAN(x), QUANTILE_CONT(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)"


def _fraction(node: exp.Expr, written: exp.Expr | None) -> Fraction:
    """The fraction that a quantile is asked for: a number that is written out, above 0 and below 1."""
    written = uncast(written)
    text = written.name if isinstance(written, exp.Literal) and not written.is_string else ""
    if written is None or not _NUMBER.fullmatch(text):
        if written is None and isinstance(uncast(node.this), (exp.Literal, exp.Array)):
            name = str(node.meta.get("word") or "PERCENTILE_CONT").upper()
            of = f"{name}({show(node.this)})"
            instead = f"{of} WITHIN GROUP (ORDER BY x)" if name.startswith("P") else f"{name}(x, {show(node.this)})"
            raise refuse(node, f"{of} names no column", f"write {instead}")
        raise refuse(node, f"{show(node)} names no fraction: one number from above 0 to below 1", _FORMS)
    fraction = Fraction(text)
    if not Fraction(1, FINEST) <= fraction <= 1 - Fraction(1, FINEST):
        other = "MIN(x)" if fraction < Fraction(1, 2) else "MAX(x)"
        raise refuse(
            written, f"the fraction {text} of {show(node)} is not above 0 and below 1, by a millionth at least",
            f"write {other}, or a fraction such as 0.5",
        )  # fmt: skip
    return nearest(fraction)


def _read_as(name: str, *, between: bool) -> Callable[[exp.Expr], CallShape]:
    def read(node: exp.Expr) -> CallShape:
        value, written, order = _written(node)
        if value is None or isinstance(value, exp.Distinct):
            raise refuse(node, f"{show(node)} isn't supported", _FORMS)
        fraction = _fraction(node, written)
        if order is not None and order.args.get("desc"):
            fraction = 1 - fraction
        return CallShape(name, value, choice=Choice(fraction, between=between))

    return read


def _written(node: exp.Expr) -> tuple[exp.Expr | None, exp.Expr | None, exp.Ordered | None]:
    """Value, fraction and order of a call; no value where it has another form."""
    call = node.this if isinstance(node, exp.WithinGroup) else node
    if any(v for k, v in call.args.items() if k not in ("this", "expression", "quantile")):
        return None, None, None
    first, second = call.this, call.args.get("expression") or call.args.get("quantile")
    if isinstance(call, exp.Median):
        second = exp.Literal.number("0.5")
    if isinstance(node, exp.WithinGroup):
        orders = node.expression.expressions
        return (orders[0].this, first, orders[0]) if len(orders) == 1 and second is None else (None, None, None)
    if isinstance(second, exp.Order):  # QUANTILE_CONT(x, 0.9 ORDER BY x), as DuckDB writes it
        orders = second.expressions
        return (first, second.this, orders[0]) if [o.this for o in orders] == [first] else (None, None, None)
    return first, second, None


def _aggregate(name: str, nodes: tuple[type[exp.Expr], ...], *, between: bool) -> Aggregate:
    kind = "DOUBLE" if between else "BIGINT"
    return Aggregate(
        name, nodes, _read_as(name, between=between), accepting(name.upper()), lambda argument, grid: (), lambda _: kind
    )


AGGREGATES = (
    _aggregate("median", (exp.Median,), between=True),
    _aggregate("quantile_cont", (exp.PercentileCont,), between=True),
    _aggregate("quantile_disc", (exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile), between=False),
)
