"""Which types a statement wants of its parameters, before their values are known: what PostgreSQL finds out at Parse.

A parameter gets the type of a cast around it, of what it is compared with or counted among, or of the place it stands
in (LIMIT wants a whole number). Where none of these tells, it is text.
"""

from __future__ import annotations

from sqlglot import exp

MOST = 65_535
"""Parameters, as PostgreSQL's protocol has it."""


def number(node: exp.Expr) -> int | None:
    """The 0-based number of a parameter; None: it has a name."""
    text = node.name
    return int(text) - 1 if text.isdigit() and len(text) < 6 and 0 < int(text) <= MOST else None


def numbered(tree: exp.Expr) -> exp.Expr:
    """The same with each `$1` as one kind of node, whatever the dialect made of it."""
    for node in list(tree.find_all(exp.Parameter)):
        inner = node.this
        if isinstance(inner, exp.Literal) and inner.name.isdigit():
            holder = exp.Placeholder(this=inner.name)
            holder.meta.update(node.meta)
            node.replace(holder)
    return tree


def wanted_types(tree: exp.Expr) -> tuple[str | None, ...]:
    """The SQL type wanted of each parameter, of a tree whose nodes' types are known where they can be.

    Named parameters have no place in the protocol: they are left to the parser, which finds them without a value.
    """
    found: dict[int, str | None] = {}
    for node in tree.find_all(exp.Placeholder, bfs=False):
        index = number(node)
        if index is not None:
            found[index] = found.get(index) or _wanted(node)
    return tuple(found.get(index) for index in range(max(found, default=-1) + 1))


def _is_fraction(node: exp.Expr) -> bool:
    """Whether an argument of a quantile is its fraction: the second, or that before WITHIN GROUP."""
    parent = node.parent
    return node.arg_key != "this" or (parent is not None and isinstance(parent.parent, exp.WithinGroup))


def _wanted(node: exp.Expr) -> str | None:
    parent = node.parent
    while isinstance(parent, (exp.Paren, exp.Neg, exp.Ordered)):
        node, parent = parent, parent.parent
    match parent:
        case exp.Cast():
            return _name(parent.to)
        case exp.Limit() | exp.Offset() | exp.Fetch():
            return "BIGINT"
        case exp.Like() | exp.ILike() | exp.DPipe() | exp.RegexpLike() | exp.StartsWith() | exp.EndsWith():
            return "TEXT"
        case exp.Tuple():
            return _wanted(parent)
        case exp.PercentileCont() | exp.PercentileDisc() | exp.Quantile() | exp.ApproxQuantile() if _is_fraction(node):
            return "DOUBLE"
        case exp.Any() | exp.Anonymous() if isinstance(parent.parent, exp.Binary) and _takes_a_list(parent):
            return f"{_type_beside(parent, parent.parent) or 'TEXT'}[]"
        case exp.Binary() | exp.Between() | exp.In() | exp.Case() | exp.If() | exp.Func():
            if isinstance(parent, (exp.DateTrunc, exp.TimestampTrunc)):
                return "TEXT"
            if isinstance(parent, exp.Anonymous) and parent.name.lower() in _OF_DOUBLES:
                return "DOUBLE"
            if isinstance(parent, exp.Round) and node is not parent.this:
                return "INT"
            return _type_beside(node, parent)
    return None


def _takes_a_list(node: exp.Expr) -> bool:
    return isinstance(node, exp.Any) or node.name.lower() == "all"


_OF_DOUBLES = frozenset(
    "dp_interval_low dp_interval_high quantile quantile_cont quantile_disc percentile_cont percentile_disc".split()
)
"""Functions of a number and a level or a fraction, as dialects have them that don't know them."""


def _type_beside(node: exp.Expr, parent: exp.Expr) -> str | None:
    """The type of the first of its neighbours that has one."""
    beside = [parent.parent] if isinstance(parent, exp.If) and isinstance(parent.parent, exp.Case) else []
    for other in [*parent.iter_expressions(), *(o for b in beside for o in b.iter_expressions())]:
        if other is node or other is parent or (isinstance(parent, exp.If) and other is parent.this):
            continue
        if isinstance(other, exp.If):
            other = other.args.get("true") or other
        if isinstance(other, exp.Tuple):
            other = next((item for item in other.expressions if item is not node and _known(item)), other)
        if (name := _known(other)) is not None:
            return name
    return None


def _known(node: exp.Expr) -> str | None:
    while isinstance(node, (exp.Paren, exp.Neg, exp.Subquery)):
        node = node.this
    if isinstance(node, exp.Select) and node.expressions:
        node = node.expressions[0]
    name = None if node.type is None else _name(node.type)
    if name is None and isinstance(node, (exp.Binary, exp.Func)) and not isinstance(node, exp.Predicate):
        return next(filter(None, map(_known, node.iter_expressions())), None)
    return name


_KINDS = (
    (exp.DType.BOOLEAN, "BOOLEAN"), (exp.DType.SMALLINT, "SMALLINT"), (exp.DType.TINYINT, "SMALLINT"),
    (exp.DType.UINT, "OID"), (exp.DType.INT, "INT"), (exp.DType.BIGINT, "BIGINT"), (exp.DType.INT128, "HUGEINT"),
    (exp.DType.FLOAT, "FLOAT"), (exp.DType.DOUBLE, "DOUBLE"), (exp.DType.DECIMAL, "DECIMAL"),
    (exp.DType.DATE, "DATE"), (exp.DType.DATETIME, "TIMESTAMP"), (exp.DType.TIMESTAMPNTZ, "TIMESTAMP"),
    (exp.DType.TIMESTAMP, "TIMESTAMP"), (exp.DType.TIMESTAMPTZ, "TIMESTAMPTZ"),
    (exp.DType.TIMESTAMPLTZ, "TIMESTAMPTZ"),
)  # fmt: skip


def _name(kind: exp.Expr) -> str | None:
    if kind.is_type(*exp.DataType.TEXT_TYPES):
        return "TEXT"
    if kind.is_type(exp.DType.ARRAY) and kind.expressions:
        element = _name(kind.expressions[0])
        return element and f"{element}[]"
    return next((name for known, name in _KINDS if kind.is_type(known)), None)
