"""Names: which declared table a reference means, and what unnamed result columns are called."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

_DEFAULT_SCHEMAS = ("main.", "public.")


def declared_table(reference: str, declared: Collection[str]) -> str | None:
    """The declared table that a reference (lower case, its parts joined by dots) means, None where there is none.

    Its full name; its full name behind the default schema; or the end of the full name of just one table, so that
    `orders` and `sales.orders` both mean `sales.orders`.
    """
    if reference in declared:
        return reference
    for schema in _DEFAULT_SCHEMAS:
        if reference.startswith(schema) and reference.removeprefix(schema) in declared:
            return reference.removeprefix(schema)
    ending = tables_ending(reference, declared)
    return ending[0] if len(ending) == 1 else None


def tables_ending(reference: str, declared: Collection[str]) -> list[str]:
    """The declared tables in whose full names a schema stands before the reference."""
    return [name for name in declared if name.endswith(f".{reference}")]


def join_names(tree: exp.Expr, declared: Collection[str]) -> exp.Expr:
    """Give each qualified table a name of one part (`sales.orders` in one identifier), and its columns its last part.

    Changes the tree. A table keeps the name by which its columns are qualified as its alias.
    """
    for node in list(tree.find_all(exp.Table, exp.Column)):
        qualifiers = [node.args.get(part) for part in ("catalog", "db")]
        parts = [*qualifiers, node.this if isinstance(node, exp.Table) else node.args.get("table")]
        if not any(qualifiers) or not all(isinstance(part, exp.Identifier) for part in parts if part):
            continue
        joined = ".".join(part.name for part in parts if part).lower()
        known = declared_table(joined, declared)
        if isinstance(node, exp.Table):
            if not node.alias:
                last = exp.to_identifier(node.name, quoted=True)
                columns = node.args["alias"].columns if node.args.get("alias") else None
                node.set("alias", exp.TableAlias(this=last, columns=columns))
            node.this.set("this", known or joined)
            node.this.set("quoted", True)
            first = next(part for part in qualifiers if part)
            if "start" in first.meta:
                node.this.meta["start"] = first.meta["start"]
        elif known is None:
            continue
        node.set("catalog", None)
        node.set("db", None)
    return tree


def output_name(node: exp.Expr) -> str:
    """The name of an unnamed result column, as PostgreSQL gives it."""
    return _figured(node)[0]


def _figured(node: exp.Expr) -> tuple[str, bool]:
    """The name, and whether it is that of a column or a function, which a cast or CASE around it takes over."""
    match node:
        case exp.Alias():
            return node.alias, True
        case exp.Column():
            return node.name, True
        case exp.Paren() | exp.Filter() | exp.Window() | exp.WithinGroup() | exp.Bracket():
            return _figured(node.this)
        case exp.Cast():
            inner, strong = _figured(node.this)
            return (inner, True) if strong else (_type_name(node.to), False)
        case exp.Case():
            default = node.args.get("default")
            inner, strong = _figured(default) if default is not None else ("", False)
            return (inner, True) if strong else ("case", False)
        case exp.If():
            return "case", False
        case exp.Exists():
            return "exists", True
        case exp.Subquery() if isinstance(node.this, exp.Select) and len(node.this.expressions) == 1:
            return _figured(node.this.expressions[0])
        case exp.GroupConcat():
            return "string_agg", True
        case exp.Func() if str(node.meta.get("word", "")).isidentifier() and not isinstance(node, exp.Cast):
            return str(node.meta["word"]).lower(), True
        case exp.Anonymous():
            return node.name.lower(), True
        case exp.PercentileCont() | exp.PercentileDisc():  # sqlglot's, of DuckDB's QUANTILE_CONT and QUANTILE_DISC
            return type(node).sql_name().lower().replace("percentile", "quantile"), True
        case exp.Func() if not isinstance(node, (exp.Connector, exp.Binary)):
            return type(node).sql_name().lower(), True
    return "?column?", False


_SHORT = {
    "int": "int4", "integer": "int4", "bigint": "int8", "smallint": "int2", "double precision": "float8",
    "real": "float4", "boolean": "bool", "decimal": "numeric", "char": "bpchar",
}  # fmt: skip
"""PostgreSQL's own names of types that SQL calls otherwise."""


def _type_name(kind: exp.Expr) -> str:
    name = kind.sql("postgres").lower().split("(")[0].strip()
    return _SHORT.get(name, name)
