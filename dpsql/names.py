"""The names of unnamed result columns."""

from __future__ import annotations

from sqlglot import exp


def output_name(node: exp.Expr) -> str:
    """The name of an unnamed result column, as PostgreSQL gives it."""
    match node:
        case exp.Alias():
            return node.alias
        case exp.Column():
            return node.name
        case exp.Paren() | exp.Filter() | exp.Window() | exp.WithinGroup():
            return output_name(node.this)
        case exp.Cast():
            inner = output_name(node.this)
            return inner if inner != "?column?" else node.to.sql("postgres").lower().split("(")[0]
        case exp.Case() | exp.If():
            return "case"
        case exp.Exists():
            return "exists"
        case exp.Subquery() if isinstance(node.this, exp.Select) and len(node.this.expressions) == 1:
            return output_name(node.this.expressions[0])
        case exp.Func() if str(node.meta.get("word", "")).isidentifier() and not isinstance(node, exp.Cast):
            return str(node.meta["word"]).lower()
        case exp.Anonymous():
            return node.name.lower()
        case exp.Func() if not isinstance(node, (exp.Connector, exp.Binary)):
            return type(node).sql_name().lower()
    return "?column?"
