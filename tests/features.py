"""What the product accepts, found by scan, and what of it a statement uses, by looking on while it is compiled.

Nothing here is told what a statement was meant to hold: the tables of the compiler note what was looked up in them,
and the plan says the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, get_args
from unittest import mock

from sqlglot import exp

import dpsql.parse
import dpsql.session
from dpsql import aggregates
from dpsql.aggregates.aggregate import Basis
from dpsql.analyze import scopes
from dpsql.expressions import casts, compiler, dates
from dpsql.expressions.narrowing import unparenthesised
from dpsql.plan import Plan, ReleasePlan
from dpsql.policy import Kind
from dpsql.privacy import mechanisms
from dpsql.query import Call, Key
from dpsql.rewrite import outer
from dpsql.rows import Chosen, Form, Join, Mark, Rows, Scan
from tests import grammar

Feature = tuple[str, str]
"""A family and a name in it."""

_WATCHED: dict[str, tuple[Any, str]] = {
    "private node": (compiler, "_HANDLERS"),
    "private function": (compiler, "_FUNCTIONS"),
    "cast": (casts, "_CASTERS"),
    "cast to": (casts, "_CAST_TYPES"),
    "part of a date": (dates, "_PARTS"),
    "difference of dates": (dates, "_UNIT_INDEX"),
    "interval": (dates, "_INTERVAL_DAYS"),
    "aggregate's other name": (dpsql.parse, "_OTHER_NAMES"),
}
"""The compiler's tables by family: each entry is a feature, used where it is looked up."""

NEVER: dict[Feature, str] = {
    ("private node", "IsNan"): "SELECT COUNT(*) FROM t WHERE ISNAN(x)",
    ("aggregate", "CountIf DISTINCT"): "SELECT COUNT_IF(DISTINCT b) FROM t",
    ("aggregate", "Median DISTINCT"): "SELECT MEDIAN(DISTINCT n) FROM t",
    ("aggregate", "PercentileCont DISTINCT"): "SELECT QUANTILE_CONT(DISTINCT n, 0.5) FROM t",
    ("aggregate", "PercentileDisc DISTINCT"): "SELECT QUANTILE_DISC(DISTINCT n, 0.5) FROM t",
    ("aggregate", "Quantile DISTINCT"): "SELECT QUANTILE(DISTINCT n, 0.5) FROM t",
    ("aggregate", "ApproxQuantile DISTINCT"): "SELECT APPROX_QUANTILE(DISTINCT n, 0.5) FROM t",
    ("function over noisy numbers", "list_value"): "SELECT LIST_VALUE(a, 1) FROM (SELECT COUNT(*) AS a FROM t) AS q",
    ("node over noisy numbers", "Lambda"): "SELECT list_transform(a, x -> x) FROM (SELECT COUNT(*) AS a FROM t) AS q",
    ("node over noisy numbers", "IntervalSpan"): "SELECT INTERVAL '1-2' YEAR TO MONTH, COUNT(*) FROM t",
}
"""What the scan finds and the product refuses all the same, with a statement that shows it."""
ELSEWHERE: dict[Feature, str] = {
    ("cast to", kind): f"CAST(n AS {kind})" for kind in ("VARCHAR", "DATETIME", "TIMESTAMP")
}
"""Types that DuckDB's dialect reads as others: only other dialects have them."""
SAME = {("aggregate", "Min DISTINCT"), ("aggregate", "Max DISTINCT")}
"""What is the same as without: DISTINCT, where the smallest or the greatest is asked for."""
_KIND_OF_KEY = "kind of group key"
FORM = "form of a relation"
UNITS = "units and private keys"
OVER_NOISY_NUMBERS = frozenset({"function over noisy numbers", "node over noisy numbers", "SELECT part", "clause"})
"""Families of what is done with numbers that are released already."""
OF_GROUP_KEYS = frozenset({"group key", "part of a date in a group key", "truncation in a group key"})
_LOST = frozenset("group_concat listagg mod position quantile_cont quantile_disc string_agg xor".split())
"""Functions whose names the parser forgets: they are looked for in the text, over noisy numbers alone."""


def _name(key: object) -> str:
    if isinstance(key, tuple):
        return " to ".join(map(_name, key))
    if isinstance(key, type):
        return key.__name__
    return key.value if isinstance(key, (Kind, exp.DType)) else str(key)


def _names(classes: Iterable[type]) -> list[str]:
    return [cls.__name__ for cls in classes]


# ---------------------------------------------------------------------------------------------- the scan

CLAUSES = """
    WHERE|GROUP BY column|GROUP BY alias|GROUP BY ordinal|GROUP BY expression|GROUP BY ALL|GROUP BY ROLLUP|GROUP BY CUBE
    GROUP BY GROUPING SETS|HAVING|ORDER BY|ORDER BY ordinal|ORDER BY DESC|ORDER BY NULLS FIRST|ORDER BY NULLS LAST
    ORDER BY ALL|LIMIT|OFFSET|DISTINCT|QUALIFY|WINDOW|OVER ()|OVER name|PARTITION BY|frame ROWS|frame RANGE|frame GROUPS
    EXCLUDE|WITH|WITH inside WITH|WITH column names|FILTER|SELECT *|SELECT q.*|alias of a table|qualified column
    subquery in FROM|scalar subquery|correlated subquery|subquery in WHERE|IN subquery|NOT IN subquery|EXISTS|NOT EXISTS
    JOIN ON|JOIN USING|LEFT JOIN ON|LEFT JOIN USING|RIGHT JOIN ON|RIGHT JOIN USING|FULL JOIN ON|FULL JOIN USING
    CROSS JOIN|NATURAL JOIN|SEMI JOIN ON|ANTI JOIN ON|FROM a, b|JOIN of a public table|VALUES|UNION|UNION ALL
    UNION ALL BY NAME|EXCEPT|EXCEPT ALL|INTERSECT|INTERSECT ALL|CASE over aggregates|SELECT without FROM
    SELECT DISTINCT lists groups|GROUP BY lists groups|two keys
"""
"""Clauses have no table in the product: these are the ones that it documents, told apart in the analyst's tree."""


def chosen() -> frozenset[Feature]:
    """Aggregates whose answer is one of the values: not the one that DuckDB has. Replays have them all the same."""
    nodes = [node for name in grammar.CHOICES for node in aggregates.named(name).nodes]
    return frozenset(("aggregate", f"{name}{how}") for name in _names(nodes) for how in ("", " DISTINCT", " FILTER"))


def required() -> frozenset[Feature]:
    """Every feature that generated statements must use, but for those that are refused."""
    found: set[Feature] = set()
    for family, (module, table) in _WATCHED.items():
        found |= {(family, _name(key)) for key in vars(module)[table]}
    found |= {("truncation", unit) for unit in dates._TRUNCATIONS}
    found |= {("truncation in a group key", unit) for unit in dates._TRUNCATIONS}
    found |= {("part of a date in a group key", part) for part in dates._PARTS}
    called = [node for aggregate in aggregates.found().values() for node in aggregate.nodes]
    found |= {("aggregate", f"{name}{how}") for name in _names(called) for how in ("", " DISTINCT", " FILTER")}
    found |= {("group key", kind.value) for kind in Kind} | {("group key", "NULL")}
    found |= {("function over noisy numbers", name) for name in outer.FUNCTIONS}
    found |= {("node over noisy numbers", name) for name in _names(outer._NODES)}
    found |= {("SELECT part", part) for part in scopes._SELECT_PARTS}
    found |= {("clause", clause.strip()) for line in CLAUSES.splitlines() for clause in line.split("|") if line.strip()}
    return frozenset(found - set(NEVER) - set(ELSEWHERE) - SAME)


# ---------------------------------------------------------------------------------------------- looking on


class _Table(dict[Any, Any]):
    """A table that notes which of its entries were found."""

    def __init__(self, entries: dict[Any, Any], note: Callable[[object], None]) -> None:
        super().__init__(entries)
        self._note = note

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self:
            self._note(key)
        return super().get(key, default)

    def __getitem__(self, key: Any) -> Any:
        self._note(key)
        return super().__getitem__(key)


@dataclass(slots=True)
class Watch:
    """Notes what is looked up since `clear`, and the analyst's tree."""

    seen: set[Feature] = field(default_factory=set)
    trees: list[exp.Expr] = field(default_factory=list)

    def clear(self) -> None:
        self.seen.clear()
        self.trees.clear()

    def used(self, sql: str, plan: Plan) -> set[Feature]:
        """The features of the statement that was compiled since `clear`, whose plan this is."""
        found = set(self.seen)
        words = {word.lower() for word in re.findall(r"\b(\w+) ?\(", sql)}
        found |= {("function over noisy numbers", word) for word in words & _LOST}
        for release in plan.releases:
            found |= set(_of_release(release)) | set(forms(release.query.rows)) | set(of_bases(release))
            if release.selection is not None:  # whose rows are chosen when the inner queries are written
                found.add((FORM, Chosen.__name__))
        found |= set(_of_outer(plan.outer))
        for tree in self.trees:
            found |= {("clause", clause) for clause in _clauses(tree)}
            found |= {("SELECT part", p) for s in tree.find_all(exp.Select) for p in s.args if s.args[p]}
        if not plan.epsilon and plan.releases:
            distinct = plan.outer.args.get("distinct")
            found.add(("clause", "SELECT DISTINCT lists groups" if distinct else "GROUP BY lists groups"))
        return found


@contextmanager
def watching() -> Iterator[Watch]:
    """Look on while statements are compiled."""
    watch = Watch()

    def note(family: str) -> Callable[[object], None]:
        return lambda key: watch.seen.add((family, _name(key)))

    def analyze(tree: exp.Expr, *args: Any, **options: Any) -> Any:
        watch.trees.append(tree)
        return analysed(tree, *args, **options)

    analysed = dpsql.session.analyze
    patches = [mock.patch.object(dpsql.session, "analyze", analyze)]
    for family, (module, table) in _WATCHED.items():
        patches.append(mock.patch.object(module, table, _Table(vars(module)[table], note(family))))
    for patch in patches:
        patch.start()
    try:
        yield watch
    finally:
        for patch in patches:
            patch.stop()


def forms(rows: Rows) -> Iterator[Feature]:
    """What a relation is made of: its forms, with the variants of some."""
    form = rows.form
    yield FORM, type(form).__name__
    match form:
        case Scan() if form.path:
            yield FORM, f"Scan along {len(form.path)} keys"
        case Join():
            yield FORM, f"{form.kind} Join with {'public' if form.right.bound is None else 'private'} rows"
        case Mark():
            word = "IN" if form.value is not None else "EXISTS"
            yield FORM, f"{word} {'public' if form.right.bound is None else 'private'}"
    for name in ("source", "left", "right"):
        if hasattr(form, name):
            yield from forms(getattr(form, name))
    for branch in getattr(form, "branches", ()):
        yield from forms(branch)


def of_bases(release: ReleasePlan) -> Iterator[Feature]:
    """From which noisy sums the numbers come, and whose values they count."""
    for basis in release.bases:
        yield "basis", basis.basis.name
        yield "mechanism", basis.mechanism.name
        if basis.measure.by_unit:
            yield UNITS, "units" if basis.measure.of_unit else "distinct values of units"
    if release.selection is not None:
        private, keys = len(release.query.private_keys), len(release.query.keys)
        yield UNITS, "several private keys" if private > 1 else "a private key"
        if private < keys:
            yield UNITS, "private keys beside public ones"


def required_of_units() -> frozenset[Feature]:
    """What only rows of units have, and private keys."""
    names = ("units", "distinct values of units", "a private key", "several private keys")
    bases = {("basis", basis.name) for basis in Basis} | {("mechanism", name) for name in mechanisms.found()}
    return required_forms() | bases | {(UNITS, name) for name in (*names, "private keys beside public ones")}


def required_forms() -> frozenset[Feature]:
    """Every form of a relation over private rows. IN over units is an equality of units: no IN over private rows."""
    kinds = {form.__name__ for form in get_args(Form)}
    kinds |= {f"{kind} Join with {side} rows" for kind in ("inner", "left") for side in ("public", "private")}
    kinds |= {"Scan along 1 keys", "Scan along 2 keys", "IN public", "EXISTS public", "EXISTS private"}
    return frozenset((FORM, kind) for kind in kinds)


def kinds_of_keys(plan: Plan) -> set[Feature]:
    """What kinds of group keys a statement with this plan has."""
    used = (feature for release in plan.releases for key in release.query.keys for feature in _of_key(key))
    return {feature for feature in used if feature[0] == _KIND_OF_KEY}


def _of_release(release: ReleasePlan) -> Iterator[Feature]:
    for key in release.query.keys:
        yield from _of_key(key)
    if len(release.query.keys) > 1:
        yield "clause", "two keys"
    for number in release.numbers:
        yield from _of_call(number.call)


def _of_key(key: Key) -> Iterator[Feature]:
    root, domain = key.text.node, key.domain
    yield "group key", domain.kind.value
    if domain.null:
        yield "group key", "NULL"
    form = "listed" if domain.values is not None else "range"
    made_by = "column" if isinstance(root, exp.Column) else _module_of(unparenthesised(root))
    if domain.kind is Kind.BOOLEAN and made_by != "column":
        made_by = "conditions"
    yield _KIND_OF_KEY, f"{made_by}: {domain.kind.value}, {form}{', NULL' if domain.null else ''}"
    for node in root.walk():
        if isinstance(node, (exp.DateTrunc, exp.TimestampTrunc)):
            yield "truncation", node.args["unit"].name.lower()
            yield "truncation in a group key", node.args["unit"].name.lower()
        if isinstance(node, exp.Extract):
            yield "part of a date in a group key", node.this.name.lower()


def _module_of(node: exp.Expr) -> str:
    """The module of the allow-list that handles a node: what sort of expression it is."""
    entry = compiler._HANDLERS.get(type(node))
    return "nothing" if entry is None else entry[0].__module__.rpartition(".")[2]


def _of_call(call: Call) -> Iterator[Feature]:
    node = call.text.node
    filtered = isinstance(node, exp.Filter)
    name = type(node.this if filtered else node).__name__
    yield "aggregate", name
    if filtered:
        yield "aggregate", f"{name} FILTER"
    if call.measure.distinct:
        yield "aggregate", f"{name} DISTINCT"
    for inner in node.find_all(exp.DateTrunc, exp.TimestampTrunc):
        yield "truncation", inner.args["unit"].name.lower()


def _of_outer(tree: exp.Expr) -> Iterator[Feature]:
    for node in tree.walk():
        yield from (("node over noisy numbers", name) for name in _listed(type(node)))
        if isinstance(node, exp.Func):
            yield from (("function over noisy numbers", name) for name in _called(node) - _LOST)


@cache
def _listed(cls: type[exp.Expr]) -> tuple[str, ...]:
    return tuple(known.__name__ for known in outer._NODES if issubclass(cls, known))


def _called(node: exp.Func) -> set[str]:
    """The function's name as the analyst wrote it; where the parser didn't keep it, any of its names."""
    word = node.name if isinstance(node, exp.Anonymous) else str(node.meta.get("word", ""))
    return {word.lower()} & outer.FUNCTIONS or {name.lower() for name in type(node).sql_names()} & outer.FUNCTIONS


# ---------------------------------------------------------------------------------------------- clauses


def _clauses(tree: exp.Expr) -> Iterator[str]:
    for node in tree.walk():
        labels = _LABELS.get(type(node)) or (_set_operation if isinstance(node, exp.SetOperation) else None)
        if labels is not None:
            yield from labels(node)


def _select(node: exp.Select) -> Iterator[str]:
    for part, label in (
        ("having", "HAVING"), ("limit", "LIMIT"), ("offset", "OFFSET"), ("distinct", "DISTINCT"),
        ("qualify", "QUALIFY"), ("windows", "WINDOW"), ("where", "WHERE"),
    ):  # fmt: skip
        if node.args.get(part):
            yield label
    if node.args.get("from_") is None:
        yield "SELECT without FROM"
    for item in node.expressions:
        yield from ("SELECT *" for _ in [0] if isinstance(item, exp.Star))
        yield from ("SELECT q.*" for _ in [0] if isinstance(item, exp.Column) and isinstance(item.this, exp.Star))
    if any(c.find(exp.AggFunc) for item in node.expressions for c in item.find_all(exp.Case)):
        yield "CASE over aggregates"


def _group(node: exp.Group) -> Iterator[str]:
    if node.args.get("all"):
        yield "GROUP BY ALL"
    select = node.parent
    aliases = {item.alias for item in select.expressions if isinstance(item, exp.Alias)} if select else set()
    for item in node.expressions:
        if type(item) in _GROUPINGS:
            yield _GROUPINGS[type(item)]
        elif isinstance(item, exp.Literal):
            yield "GROUP BY ordinal"
        elif isinstance(item, exp.Column):
            yield "GROUP BY alias" if item.name in aliases and not item.table else "GROUP BY column"
        else:
            yield "GROUP BY expression"


_GROUPINGS: dict[type[exp.Expr], str] = {
    exp.Rollup: "GROUP BY ROLLUP",
    exp.Cube: "GROUP BY CUBE",
    exp.GroupingSets: "GROUP BY GROUPING SETS",
}


def _ordered(node: exp.Ordered) -> Iterator[str]:
    yield "ORDER BY"
    if isinstance(node.this, exp.Literal):
        yield "ORDER BY ordinal"
    if isinstance(node.this, exp.Var):
        yield "ORDER BY ALL"
    if node.args.get("desc"):
        yield "ORDER BY DESC"
    yield "ORDER BY NULLS FIRST" if node.args.get("nulls_first") else "ORDER BY NULLS LAST"


def _window(node: exp.Window) -> Iterator[str]:
    if node.args.get("partition_by"):
        yield "PARTITION BY"
    if node.args.get("alias"):
        yield "OVER name"
    if not any(node.args.get(part) for part in ("partition_by", "order", "spec", "alias")):
        yield "OVER ()"


def _frame(node: exp.WindowSpec) -> Iterator[str]:
    yield f"frame {node.args.get('kind')}"
    if node.args.get("exclude"):
        yield "EXCLUDE"


def _with(node: exp.With) -> Iterator[str]:
    yield "WITH"
    if node.parent is not None and node.parent.find_ancestor(exp.CTE):
        yield "WITH inside WITH"


def _cte(node: exp.CTE) -> Iterator[str]:
    if node.args["alias"].columns:
        yield "WITH column names"


def _subquery(node: exp.Subquery) -> Iterator[str]:
    if isinstance(node.parent, (exp.From, exp.Join)):
        yield "subquery in FROM"
    elif not isinstance(node.parent, (exp.In, exp.SetOperation)):
        yield "scalar subquery"
        yield from _inside(node)


def _inside(node: exp.Expr) -> Iterator[str]:
    """Where a subquery in an expression stands, and whether it names columns from around it."""
    if node.find_ancestor(exp.Where, exp.Having, exp.Qualify):
        yield "subquery in WHERE"
    known = {t.alias_or_name for t in (*node.find_all(exp.Table), *node.find_all(exp.Subquery)) if t is not node}
    if any(column.table and column.table not in known for column in node.find_all(exp.Column)):
        yield "correlated subquery"


def _in(node: exp.In) -> Iterator[str]:
    query = node.args.get("query")
    if query is not None:
        yield "NOT IN subquery" if isinstance(node.parent, exp.Not) else "IN subquery"
        yield from _inside(query)


def _exists(node: exp.Exists) -> Iterator[str]:
    yield "NOT EXISTS" if isinstance(node.parent, exp.Not) else "EXISTS"
    yield from _inside(node)


def _join(node: exp.Join) -> Iterator[str]:
    words = [node.args.get(part) or "" for part in ("method", "side", "kind")]
    how = " USING" if node.args.get("using") else " ON" if node.args.get("on") else ""
    label = " ".join(w for w in words if w and w not in ("OUTER", "INNER"))
    yield f"{label} JOIN{how}".strip() if label or how else "FROM a, b"
    if isinstance(node.this, exp.Table) and node.this.name == "cities":
        yield "JOIN of a public table"


def _set_operation(node: exp.SetOperation) -> Iterator[str]:
    every = "" if node.args.get("distinct") else " ALL"
    yield f"{type(node).__name__.upper()}{every}{' BY NAME' * bool(node.args.get('by_name'))}"


def _table(node: exp.Table) -> Iterator[str]:
    if node.alias:
        yield "alias of a table"


def _column(node: exp.Column) -> Iterator[str]:
    if node.table:
        yield "qualified column"


_LABELS: dict[type[exp.Expr], Callable[[Any], Iterator[str]]] = {
    exp.Select: _select,
    exp.Group: _group,
    exp.Ordered: _ordered,
    exp.Window: _window,
    exp.WindowSpec: _frame,
    exp.With: _with,
    exp.CTE: _cte,
    exp.Subquery: _subquery,
    exp.In: _in,
    exp.Exists: _exists,
    exp.Join: _join,
    exp.Table: _table,
    exp.Column: _column,
    exp.Filter: lambda node: iter(["FILTER"]),
    exp.Values: lambda node: iter(["VALUES"]),
}
