"""MIN(x) and MAX(x): a value beyond which few rows lie, since the extreme itself is one row's value."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dpsql.aggregates.aggregate import Aggregate, CallShape, Choice, one_argument
from dpsql.aggregates.choice import accepting
from dpsql.expressions import refuse, show


def _read_as(name: str, *, smallest: bool) -> Callable[[exp.Expr], CallShape]:
    def read(node: exp.Expr) -> CallShape:
        if node.args.get("count") or node.args.get("expressions"):
            raise refuse(node, f"{show(node)} isn't supported", f"write {name.upper()}(x)")
        shape = one_argument(node, name, name.upper())
        return CallShape(name, shape.argument, choice=Choice(smallest=smallest))  # DISTINCT changes nothing

    return read


AGGREGATES = tuple(
    Aggregate(
        name, (node,), _read_as(name, smallest=name == "min"), accepting(name.upper()), lambda argument, grid: (),
        lambda _: "BIGINT",
    )
    for name, node in (("min", exp.Min), ("max", exp.Max))
)  # fmt: skip
