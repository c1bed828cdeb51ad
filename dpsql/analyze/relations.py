"""What a scope can be: private rows, or a tree over noisy and public numbers; and trees in general."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from dpsql.errors import UnsupportedQuery
from dpsql.expressions import refuse, show
from dpsql.names import output_name
from dpsql.policy.problems import similar
from dpsql.rows import RESERVED, Rows

MAX_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Private:
    """A per-unit scope: private rows, each at most once.

    columns  name (lower case) to expression over the rows' own columns
    where    the filters so far, over the rows' own columns
    """

    rows: Rows
    columns: dict[str, exp.Expr]
    where: tuple[exp.Expr, ...] = ()
    alias: str = ""


@dataclass(frozen=True, slots=True)
class Derived:
    """A scope over noisy and public numbers only, as the tree that the scratch engine runs.

    public      of a public table, perhaps filtered: its rows, which private ones may be joined to
    definition  where it is a CTE's name: the CTE
    """

    tree: exp.Expr
    public: Private | None = None
    definition: exp.CTE | None = None


Relation = Private | Derived
Environment = Mapping[str, Relation]


@dataclass(slots=True)
class Size:
    """Bounds the total size of what substitution produces: subqueries that double an expression grow fast."""

    nodes: int = 0

    def add(self, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise UnsupportedQuery("the query is too large once its subqueries are merged", hint="simplify it")


def rebuilt(node: exp.Expr, child: Callable[[exp.Expr], exp.Expr], skip: tuple[str, ...] = ()) -> exp.Expr:
    """A copy of a node with each child passed through a function."""
    arguments: dict[str, object] = {}
    for name, value in node.args.items():
        if name in skip:
            continue
        if isinstance(value, exp.Expr):
            arguments[name] = child(value)
        elif isinstance(value, list):
            arguments[name] = [child(v) if isinstance(v, exp.Expr) else v for v in value]
        else:
            arguments[name] = value
    copy = type(node)(**arguments)
    copy.meta.update(node.meta)
    return copy


def did_you_mean(name: str, known: Iterable[str], what: str) -> str:
    """A hint for a name that doesn't exist: the nearest one first, then all."""
    names = sorted(known)
    near = similar(name, names) or similar(name.rpartition(".")[2], names)
    return (f"did you mean {near}? " if near else "") + f"{what}: {', '.join(names)}"


def check_limits(node: exp.Expr) -> None:
    """LIMIT and OFFSET are whole numbers of rows, written out."""
    for part in ("limit", "offset"):
        clause = node.args.get(part)
        if clause is None:
            continue
        amount = clause.args.get("expression") or clause.args.get("count")
        if not isinstance(amount, exp.Literal) or not amount.name.isdigit() or len(amount.name) > 18:
            raise refuse(clause, f"{show(clause).strip()} isn't a whole number", f"write {part.upper()} 10")
        options = clause.args.get("limit_options")
        if options is not None and options.args.get("percent"):
            raise refuse(clause, "a LIMIT in percent isn't supported", "write LIMIT 10")
        if options is not None and options.args.get("with_ties"):
            hint = "write LIMIT 10, or QUALIFY RANK() OVER (ORDER BY …) <= 10"
            raise refuse(clause, "FETCH … WITH TIES isn't supported", hint)


def named_output(original: exp.Expr, new: exp.Expr) -> exp.Expr:
    if isinstance(original, (exp.Alias, exp.Star)):
        return new
    kept = isinstance(original, exp.Column) and (
        isinstance(original.this, exp.Star) or (isinstance(new, exp.Column) and new.name == original.name)
    )
    if kept:
        return new
    return exp.alias_(new, output_name(original), quoted=True)


def alias_columns(node: exp.Expr | None) -> list[str]:
    """The names that an alias gives columns: q(a, b)."""
    alias = None if node is None else node.args.get("alias")
    return [column.name for column in alias.columns] if alias else []


def alias_name(node: exp.Expr) -> str:
    """What a table or subquery of FROM is called there; "" where it has no name."""
    name = node.alias or (node.name.rpartition(".")[2] if isinstance(node, exp.Table) else "")
    return check_name(node, name)


def renamed_columns(node: exp.Expr, columns: list[str], names: list[str]) -> list[str]:
    """The columns' names where an alias gives the first of them others."""
    if len(names) > len(columns):
        message = f"there are {len(names)} column names for {len(columns)} columns"
        raise refuse(node, message, f"leave names out: the columns are {', '.join(columns)}")
    new = [check_name(node, name) for name in names] + columns[len(names) :]
    if names and len(set(new)) < len(new):
        raise refuse(node, "a column name is given twice", "give each its own name")
    return new


def check_name(node: exp.Expr, name: str) -> str:
    """A name that an analyst gives, in lower case; refused where it begins as our own do."""
    if name.lower().startswith(RESERVED):
        raise refuse(node, f"names starting with {RESERVED} are reserved", "choose another name")
    return name.lower()


def children(node: exp.Expr) -> list[exp.Expr]:
    return list(node.iter_expressions())
