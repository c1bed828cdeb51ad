"""Labels every SELECT of a statement as private rows, released or derived, and refuses what gets no label.

A private scope (filters and projections of one private table) is kept as what it is in terms of that table: each of
its columns is an expression over the table's own columns. A fact is thus always a fact about an expression, never
about a name that a subquery might have given to something else.

Everything is decided from the SQL, the policy and the public tables: no private row is read here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from dpsql import aggregates
from dpsql.errors import MissingBounds, NotReleasable, UnknownColumn, UnknownTable, UnsupportedQuery
from dpsql.expressions import Compiler, Typed, connector_terms, narrow, position_of, refuse, show, unsupported
from dpsql.expressions.literals import DATE, INTEGER, cast, double_sql, literal_sql, paren, try_cast
from dpsql.expressions.numbers import unbounded_error
from dpsql.names import output_name
from dpsql.policy import Kind, Policy, Table
from dpsql.query import (
    Call,
    Key,
    KeyDomain,
    Measure,
    Query,
    ReleaseQuery,
    key_name,
    number_name,
    release_name,
)
from dpsql.valueset import INT64, ValueSet, column_set

MAX_CELLS = 4_000_000
MAX_NODES = 20_000
MAX_LISTED_KEYS = 100_000
RESERVED = "_dpsql"
SCHEMAS = ("", "main", "public")


@dataclass(frozen=True, slots=True)
class Private:
    """A per-unit scope: rows of one private table, each row at most once.

    columns  name (lower case) to expression over the table's own columns
    where    the filters so far, over the table's own columns
    """

    table: Table
    columns: dict[str, exp.Expr]
    where: tuple[exp.Expr, ...] = ()
    alias: str = ""


@dataclass(frozen=True, slots=True)
class Derived:
    """A scope over noisy and public numbers only, as the tree that the scratch engine runs."""

    tree: exp.Expr


Relation = Private | Derived
Environment = Mapping[str, Relation]


def analyze(tree: exp.Expr, policy: Policy, *, today: dt.date) -> Query:
    """The releases and the outer query of one statement, or a refusal."""
    analyzer = _Analyzer(policy, today)
    relation = analyzer.query(tree, {})
    if isinstance(relation, Private):
        raise analyzer.rows_refused(tree, relation)
    return Query(tuple(analyzer.releases), relation.tree, frozenset(analyzer.public_tables))


_SELECT_PARTS = frozenset(
    "expressions from_ where group having qualify order limit offset distinct with_ joins windows".split()
)
_PART_NAMES = {
    "sample": "TABLESAMPLE", "pivots": "PIVOT", "laterals": "LATERAL", "into": "INTO", "locks": "FOR UPDATE",
    "connect": "CONNECT BY", "match": "MATCH_RECOGNIZE", "kind": "SELECT AS", "hint": "a hint",
    "operation_modifiers": "a SELECT modifier", "exclude": "EXCLUDE", "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY", "sort": "SORT BY", "prewhere": "PREWHERE", "settings": "SETTINGS",
    "format": "FORMAT", "options": "OPTIONS", "for_": "FOR",
}  # fmt: skip


@dataclass(slots=True)
class _Analyzer:
    policy: Policy
    today: dt.date
    releases: list[ReleaseQuery] = field(default_factory=list)
    public_tables: set[str] = field(default_factory=set)
    nodes: int = 0

    # ------------------------------------------------------------------------------------------ queries

    def query(self, node: exp.Expr, env: Environment) -> Relation:
        match node:
            case exp.Subquery():
                self._only(node, "this alias with_")
                return self.query(node.this, self._with(node, env)[0])
            case exp.Select():
                return self._select(node, env)
            case exp.SetOperation():
                return self._set_operation(node, env)
            case exp.Values():
                return Derived(self._values(node))
        raise refuse(node, f"{show(node)} isn't a query", "write one SELECT statement")

    def _only(self, node: exp.Expr, allowed: str) -> None:
        for name, value in node.args.items():
            if value and name not in allowed.split():
                label = _PART_NAMES.get(name, name.strip("_").upper())
                raise refuse(node, f"{label} isn't supported here", "leave it out")

    def _with(self, node: exp.Expr, env: Environment) -> tuple[Environment, exp.With | None]:
        """The environment with the CTEs of a node, and the WITH clause of those that the scratch engine needs."""
        clause = node.args.get("with_")
        if clause is None:
            return env, None
        if clause.args.get("recursive"):
            raise refuse(clause, "WITH RECURSIVE isn't supported", "write plain CTEs")
        env, kept = dict(env), []
        for cte in clause.expressions:
            self._only(cte, "this alias materialized")
            name = self._identifier(cte, cte.alias)
            relation = self.query(cte.this, env)
            columns = [c.name for c in cte.args["alias"].columns]
            if isinstance(relation, Private):
                relation = self._renamed(cte, relation, columns)
            else:
                kept.append(exp.CTE(this=relation.tree, alias=cte.args["alias"].copy()))
                relation = Derived(exp.Table(this=exp.to_identifier(cte.alias, quoted=True)))
            env[name] = relation
        return env, exp.With(expressions=kept) if kept else None

    def _identifier(self, node: exp.Expr, name: str) -> str:
        if name.lower().startswith(RESERVED):
            raise refuse(node, f"names starting with {RESERVED} are reserved", "choose another name")
        return name.lower()

    def _set_operation(self, node: exp.SetOperation, env: Environment) -> Relation:
        self._only(node, "this expression distinct by_name order limit offset with_ side kind on")
        inner_env, clause = self._with(node, env)
        sides = [self.query(side, inner_env) for side in (node.this, node.expression)]
        if any(isinstance(side, Private) for side in sides):
            raise refuse(
                node,
                f"{type(node).__name__.upper()} over private rows isn't supported",
                "aggregate each side in a subquery, then combine the results",
            )
        trees = [side.tree for side in sides if isinstance(side, Derived)]
        new = type(node)(this=trees[0], expression=trees[1], distinct=node.args.get("distinct"))
        new.set("by_name", node.args.get("by_name"))
        self._copy_tail(node, new, inner_env)
        new.set("with_", clause)
        return Derived(new)

    def _copy_tail(self, node: exp.Expr, new: exp.Expr, env: Environment) -> None:
        for part in ("order", "limit", "offset"):
            if node.args.get(part):
                new.set(part, self.derived(node.args[part], env))

    def _values(self, node: exp.Values) -> exp.Expr:
        self._only(node, "expressions alias")
        if any(node.find_all(exp.Column, exp.Subquery, exp.Select)):
            raise refuse(node, "VALUES holds something that is not a literal", "write literals")
        return node.copy()

    # ------------------------------------------------------------------------------------------ SELECT

    def _select(self, node: exp.Select, env: Environment) -> Relation:
        for name, value in node.args.items():
            if value and name not in _SELECT_PARTS:
                raise refuse(node, f"{_PART_NAMES.get(name, name.upper())} isn't supported", "leave it out")
        inner_env, clause = self._with(node, env)
        start = node.args.get("from_")
        joins = node.args.get("joins") or []
        first = self._source(start.this, inner_env) if start else None
        if isinstance(first, Private) and not joins:
            relation = self._private_select(node, first, inner_env)
        else:
            relation = self._derived_select(node, first, joins, inner_env)
        if clause is not None and isinstance(relation, Derived):
            relation.tree.set("with_", clause)
        return relation

    def _source(self, node: exp.Expr, env: Environment) -> Relation:
        match node:
            case exp.Table():
                return self._table(node, env)
            case exp.Subquery():
                self._only(node, "this alias with_")
                relation = self.query(node.this, self._with(node, env)[0])
                return self._aliased(node, relation)
            case exp.Values():
                return Derived(self._values(node))
        raise refuse(node, f"{show(node)} isn't a table", f"declared tables: {', '.join(sorted(self.policy.tables))}")

    def _aliased(self, node: exp.Expr, relation: Relation) -> Relation:
        alias = node.args.get("alias")
        name = self._identifier(node, node.alias) if node.alias else ""
        if isinstance(relation, Private):
            renamed = self._renamed(node, relation, [c.name for c in alias.columns] if alias else [])
            return replace(renamed, alias=name)
        tree = relation.tree
        if isinstance(tree, (exp.Select, exp.SetOperation)):
            tree = exp.Subquery(this=tree)
        tree = tree.copy()
        if alias is not None:
            tree.set("alias", alias.copy())
        return Derived(tree)

    def _renamed(self, node: exp.Expr, relation: Private, names: list[str]) -> Private:
        if not names:
            return relation
        if len(names) > len(relation.columns):
            raise refuse(node, f"there are {len(names)} column names for {len(relation.columns)} columns")
        kept = list(relation.columns)[len(names) :]
        lowered = [self._identifier(node, n) for n in names] + kept
        if len(set(lowered)) < len(lowered):
            raise refuse(node, "a column name is given twice")
        return replace(relation, columns=dict(zip(lowered, relation.columns.values(), strict=True)))

    def _table(self, node: exp.Table, env: Environment) -> Relation:
        self._only(node, "this alias db")
        if not isinstance(node.this, exp.Identifier):
            raise refuse(
                node, f"{show(node)} is a table function, which isn't supported", "read tables of the policy",
            )  # fmt: skip
        name = node.name.lower()
        if not node.db and name in env:
            return self._aliased(node, _named(env[name], node))
        table = self.policy.tables.get(name) if node.db.lower() in SCHEMAS else None
        if table is None:
            raise UnknownTable(
                f"table {node.sql('duckdb')} does not exist",
                hint=f"tables of this policy: {', '.join(sorted(self.policy.tables))}",
                position=position_of(node),
            )
        if table.public:
            self.public_tables.add(name)
            return self._aliased(node, Derived(_public_table(name, node)))
        columns: dict[str, exp.Expr] = {c: exp.column(c, quoted=True) for c in table.columns}
        relation = self._aliased(node, Private(table, columns))
        return relation if node.alias or not isinstance(relation, Private) else replace(relation, alias=name)

    # ------------------------------------------------------------------------------------------ derived scopes

    def _derived_select(
        self, node: exp.Select, first: Relation | None, joins: list[exp.Join], env: Environment
    ) -> Derived:
        new = exp.Select()
        sources = []
        if first is not None:
            sources.append((node.args["from_"].this, first))
        sources += [(join.this, self._source(join.this, env)) for join in joins]
        for source, relation in sources:
            if isinstance(relation, Private):
                raise self._join_refused(source, relation)
        trees = [relation.tree for _, relation in sources if isinstance(relation, Derived)]
        if first is not None:
            new.set("from_", exp.From(this=trees.pop(0)))
        new_joins = []
        for join, tree in zip(joins, trees, strict=True):
            copied = self._derived_node(join, env, skip=("this",))
            copied.set("this", tree)
            new_joins.append(copied)
        if new_joins:
            new.set("joins", new_joins)
        for part in (
            "distinct",
            "where",
            "group",
            "having",
            "qualify",
            "windows",
            "order",
            "limit",
            "offset",
        ):
            value = node.args.get(part)
            if isinstance(value, list):
                new.set(part, [self.derived(v, env) for v in value])
            elif value:
                new.set(part, self.derived(value, env))
        new.set("expressions", [_named_output(e, self.derived(e, env)) for e in node.expressions])
        return Derived(new)

    def _join_refused(self, source: exp.Expr, relation: Private) -> Exception:
        return refuse(
            source,
            f"a join with the private table {relation.table.name} isn't supported",
            f"aggregate {relation.table.name} in a subquery first, then join its result: "
            f"SELECT … FROM (SELECT key, COUNT(*) AS n FROM {relation.table.name} GROUP BY key) AS q JOIN …",
        )

    def derived(self, node: exp.Expr, env: Environment) -> exp.Expr:
        """A copy of an expression of a derived scope, its subqueries analysed in their turn."""
        if isinstance(node, (exp.Select, exp.SetOperation)):
            relation = self.query(node, env)
            if isinstance(relation, Private):
                raise self.rows_refused(node, relation)
            return relation.tree
        if isinstance(node, exp.Subquery):
            self._only(node, "this alias with_")
            return exp.Subquery(this=self.derived(node.this, self._with(node, env)[0]))
        if isinstance(node, exp.Table):
            raise refuse(node, f"{show(node)} isn't supported in an expression")
        return self._derived_node(node, env)

    def _derived_node(self, node: exp.Expr, env: Environment, skip: tuple[str, ...] = ()) -> exp.Expr:
        return _rebuilt(node, lambda child: self.derived(child, env), skip)

    # ------------------------------------------------------------------------------------------ private scopes

    def rows_refused(self, node: exp.Expr, relation: Private) -> NotReleasable:
        name = relation.table.name
        return NotReleasable(
            f"this query returns rows of the private table {name}; only aggregates of them can be released",
            hint=f"ask for an aggregate: SELECT COUNT(*) FROM {name}",
            position=position_of(node),
        )

    def _private_select(self, node: exp.Select, source: Private, env: Environment) -> Relation:
        scope = _Scope(self, source)
        where = source.where
        if node.args.get("where"):
            condition = scope.resolved(node.args["where"].this)
            where = (*where, *connector_terms(_unparenthesised(condition), exp.And))
        source = replace(source, where=where)
        if node.args.get("group") or any(True for _ in _aggregate_calls(node)):
            return _ReleaseBuilder(self, node, replace(scope, source=source), env).build()
        return self._projection(node, replace(scope, source=source))

    def _projection(self, node: exp.Select, scope: _Scope) -> Private:
        refused = {
            "distinct": "SELECT DISTINCT", "limit": "LIMIT", "offset": "OFFSET", "qualify": "QUALIFY",
            "having": "HAVING", "windows": "WINDOW",
        }  # fmt: skip
        for part, label in refused.items():
            if node.args.get(part):
                raise refuse(
                    node.args[part] if isinstance(node.args[part], exp.Expr) else node,
                    f"{label} over rows of the private table {scope.source.table.name} isn't supported",
                    f"aggregate first: SELECT … COUNT(*) FROM {scope.source.table.name} GROUP BY …",
                )
        compiler = self.compiler(scope.source)
        columns: dict[str, exp.Expr] = {}
        for item in node.expressions:
            for name, expression in self._projected(item, scope):
                compiler.value(expression)
                if name in columns:
                    raise refuse(item, f"column {name} appears twice in a subquery", "give each its own name")
                columns[self._identifier(item, name)] = expression
        return replace(scope.source, columns=columns)

    def _projected(self, item: exp.Expr, scope: _Scope) -> Iterator[tuple[str, exp.Expr]]:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            star = item if isinstance(item, exp.Star) else item.this
            if any(star.args.values()):
                raise refuse(item, f"{show(item)} isn't supported", "name the columns")
            if isinstance(item, exp.Column):
                scope.check_qualifier(item)
            yield from scope.source.columns.items()
            return
        expression = item.this if isinstance(item, exp.Alias) else item
        yield (item.alias or output_name(item)).lower(), scope.resolved(expression)

    def filters(self, source: Private) -> list[exp.Expr]:
        """The scope's filters as total SQL.

        A computed condition sees columns clipped to what the conditions before it leave, never to what it says itself:
        a row that it should drop would be moved to where it holds. Comparisons of bare columns read raw values, so
        they come first.
        """
        compiler, predicates = self._declared(source), []
        for condition in sorted(source.where, key=_computes):
            predicates.append(compiler.predicate(condition))
            compiler = compiler.with_columns(narrow(compiler, condition))
        return predicates

    def _declared(self, source: Private) -> Compiler:
        sets = {name: column_set(c) for name, c in source.table.columns.items()}
        return Compiler(sets, source.table.name, self.today)

    def compiler(self, source: Private) -> Compiler:
        """The compiler for expressions over a private scope, its value sets narrowed by the scope's filters."""
        compiler = self._declared(source)
        for _ in range(2):  # a second pass lets later conditions tighten what earlier ones compared with
            for condition in source.where:
                compiler = compiler.with_columns(narrow(compiler, condition))
        return compiler

    def count_nodes(self, node: exp.Expr) -> None:
        """Bound the total size of what substitution produces: subqueries that double an expression grow fast."""
        self.nodes += sum(1 for _ in node.walk())
        if self.nodes > MAX_NODES:
            raise UnsupportedQuery("the query is too large once its subqueries are merged", hint="simplify it")


def _public_table(name: str, node: exp.Table) -> exp.Expr:
    return exp.Table(
        this=exp.to_identifier(name, quoted=True),
        alias=exp.TableAlias(this=exp.to_identifier(node.alias or node.name, quoted=True)),
    )


def _named(relation: Relation, node: exp.Table) -> Relation:
    """A CTE where it is used: known by its own name unless the FROM clause gives another."""
    return replace(relation, alias=node.name.lower()) if isinstance(relation, Private) else relation


def _rebuilt(node: exp.Expr, child: Callable[[exp.Expr], exp.Expr], skip: tuple[str, ...] = ()) -> exp.Expr:
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


_BARE = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Is)


def _computes(condition: exp.Expr) -> bool:
    """Whether a condition does more than compare single bare columns with constants."""
    for column in condition.find_all(exp.Column):
        parent = column.parent
        while isinstance(parent, exp.Paren):
            parent = parent.parent
        if not isinstance(parent, _BARE) or sum(1 for _ in parent.find_all(exp.Column)) > 1:
            return True
    return False


def _unparenthesised(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _named_output(original: exp.Expr, new: exp.Expr) -> exp.Expr:
    if isinstance(original, (exp.Alias, exp.Star)):
        return new
    kept = isinstance(original, exp.Column) and (
        isinstance(original.this, exp.Star) or (isinstance(new, exp.Column) and new.name == original.name)
    )
    if kept:
        return new
    return exp.alias_(new, output_name(original), quoted=True)


# ---------------------------------------------------------------------------------------------- name resolution


@dataclass(frozen=True, slots=True)
class _Scope:
    """Resolves an analyst's column names to expressions over the private table's own columns."""

    analyzer: _Analyzer
    source: Private

    def lookup(self, node: exp.Column) -> exp.Expr | None:
        if node.args.get("db") or node.args.get("catalog"):
            return None
        if node.table and node.table.lower() != self.source.alias:
            return None
        return self.source.columns.get(node.name.lower())

    def check_qualifier(self, node: exp.Column) -> None:
        if node.table.lower() != self.source.alias:
            raise self._not_in_from(node)

    def _not_in_from(self, node: exp.Column) -> UnknownTable:
        known = self.source.alias or self.source.table.name
        return UnknownTable(
            f"table {node.table} is not in this FROM clause", hint=f"it has {known}", position=position_of(node)
        )

    def resolved(self, node: exp.Expr) -> exp.Expr:
        """A copy over the table's own columns; an unknown column is an error."""

        def replaced(child: exp.Expr) -> exp.Expr:
            if isinstance(child, exp.Column):
                return self._required(child)
            if isinstance(child, exp.Query):
                raise unsupported(child)
            return _rebuilt(child, replaced)

        result = replaced(node)
        self.analyzer.count_nodes(result)
        return result

    def _required(self, node: exp.Column) -> exp.Expr:
        if isinstance(node.this, exp.Star):
            return exp.Star()
        found = self.lookup(node)
        if found is None:
            raise self.unknown(node)
        located = found.copy()
        start = position_of(node)
        if start is not None:
            located.meta["start"] = start
        return exp.Paren(this=located) if isinstance(located, (exp.Binary, exp.Unary)) else located

    def unknown(self, node: exp.Column) -> Exception:
        if node.table and node.table.lower() != self.source.alias:
            return self._not_in_from(node)
        return UnknownColumn(
            f"column {node.name} does not exist in {self.source.alias or self.source.table.name}",
            hint=f"columns: {', '.join(self.source.columns)}",
            position=position_of(node),
        )

    def try_resolved(self, node: exp.Expr) -> exp.Expr | None:
        """Like `resolved`, but None where a column is not of this scope or a subquery or aggregate is inside."""
        for child in node.walk():
            if isinstance(child, (exp.Subquery, exp.Select, exp.Window, exp.AggFunc)):
                return None
            if isinstance(child, exp.Column) and self.lookup(child) is None:
                return None
        return self.resolved(node)


# ---------------------------------------------------------------------------------------------- aggregates found


def _aggregate_calls(node: exp.Select) -> Iterator[exp.Expr]:
    """Aggregate functions of this SELECT itself: not those of its subqueries, not window functions."""
    stack: list[exp.Expr] = [*node.expressions]
    stack += [node.args[part] for part in ("having", "qualify", "order") if node.args.get(part)]
    while stack:
        top = stack.pop()
        if isinstance(top, (exp.Select, exp.SetOperation)):
            continue
        if isinstance(top, exp.Window):
            inner = top.this.this if isinstance(top.this, (exp.Filter, exp.IgnoreNulls)) else top.this
            stack += [*_children(inner), *(c for c in _children(top) if c is not top.this)]
            continue
        if aggregates.is_aggregate(top):
            yield top
            continue
        stack += _children(top)


def _children(node: exp.Expr) -> list[exp.Expr]:
    return list(node.iter_expressions())


# ---------------------------------------------------------------------------------------------- releases


@dataclass(slots=True)
class _ReleaseBuilder:
    """Splits one aggregating SELECT into a release and the SELECT over its noisy numbers."""

    analyzer: _Analyzer
    node: exp.Select
    scope: _Scope
    env: Environment
    compiler: Compiler = field(init=False)
    where: list[exp.Expr] = field(init=False)
    keys: list[tuple[exp.Expr, Key]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    aliases: dict[str, exp.Expr] = field(init=False)

    def __post_init__(self) -> None:
        self.compiler = self.analyzer.compiler(self.scope.source)
        self.where = self.analyzer.filters(self.scope.source)
        self.aliases = {e.alias.lower(): e.this for e in self.node.expressions if isinstance(e, exp.Alias)}

    def build(self) -> Derived:
        for item in self._group_items():
            self._add_key(item)
        name = release_name(len(self.analyzer.releases))
        self.analyzer.releases.append(None)  # type: ignore[arg-type]  # hold the place: subqueries add theirs
        index = len(self.analyzer.releases) - 1
        outer = self._outer(name)
        if not self.calls:
            raise refuse(
                self.node,
                "this GROUP BY has no aggregate, so it would only list public keys",
                "add an aggregate such as COUNT(*)",
            )
        release = ReleaseQuery(
            self.scope.source.table, tuple(self.where), tuple(k for _, k in self.keys), tuple(self.calls)
        )
        if release.cells > MAX_CELLS:
            raise refuse(
                self.node, f"the keys of this GROUP BY make {release.cells} groups; at most {MAX_CELLS} are allowed",
                "group by fewer or coarser keys",
            )  # fmt: skip
        self.analyzer.releases[index] = release
        return Derived(outer)

    # -------------------------------------------------------------------- keys

    def _group_items(self) -> Iterator[exp.Expr]:
        group = self.node.args.get("group")
        if group is None:
            return
        for part in ("rollup", "cube", "grouping_sets", "totals"):
            if group.args.get(part):
                raise refuse(
                    group, f"GROUP BY {part.replace('_', ' ').upper()} isn't supported",
                    "release the finest GROUP BY in a subquery and add it up outside",
                )  # fmt: skip
        if group.args.get("all"):
            for item in self.node.expressions:
                expression = item.this if isinstance(item, exp.Alias) else item
                if not any(aggregates.is_aggregate(n) for n in expression.walk()):
                    yield expression
        for item in group.expressions:
            yield self._group_item(_unparenthesised(item))

    def _group_item(self, item: exp.Expr) -> exp.Expr:
        if isinstance(item, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)):
            raise refuse(item, f"GROUP BY {show(item)} isn't supported", "list the keys plainly")
        if isinstance(item, exp.Literal) and not item.is_string:
            number = int(item.name) if item.name.isdigit() and len(item.name) < 6 else 0
            if not 1 <= number <= len(self.node.expressions):
                raise refuse(item, f"GROUP BY {item.name} names no column of the SELECT list")
            chosen: exp.Expr = self.node.expressions[number - 1]
            return chosen.this if isinstance(chosen, exp.Alias) else chosen
        if isinstance(item, exp.Column) and not item.table and self.scope.lookup(item) is None:
            return self.aliases.get(item.name.lower(), item)
        return item

    def _add_key(self, item: exp.Expr) -> None:
        for node in item.walk():
            if aggregates.is_aggregate(node):
                raise refuse(node, f"the aggregate {show(node)} can't be a group key", "group by columns")
            if isinstance(node, (exp.Subquery, exp.Select)):
                raise refuse(node, "a subquery can't be part of a group key", "group by columns")
        resolved = _unparenthesised(self.scope.resolved(item))
        if any(resolved == known for known, _ in self.keys):
            return
        self.keys.append((resolved, key_of(self.compiler, resolved, show(item))))

    # -------------------------------------------------------------------- the outer SELECT

    def _outer(self, name: str) -> exp.Select:
        new = exp.Select()
        new.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(name, quoted=True))))
        expressions = []
        for item in self.node.expressions:
            if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
                raise refuse(
                    item, "* in an aggregating SELECT would return private rows",
                    "name the group keys and aggregates", NotReleasable,
                )  # fmt: skip
            expressions.append(_named_output(item, self._released(item, aliases=False)))
        new.set("expressions", expressions)
        having = self.node.args.get("having")
        if having:
            new.set("where", exp.Where(this=self._released(having.this, aliases=True)))
        for part in ("distinct", "qualify", "windows", "order", "limit", "offset"):
            value = self.node.args.get(part)
            if isinstance(value, list):
                new.set(part, [self._released(v, aliases=True) for v in value])
            elif value:
                new.set(part, self._released(value, aliases=part != "distinct", prefer_alias=part == "order"))
        return new

    def _released(self, node: exp.Expr, *, aliases: bool, prefer_alias: bool = False, window: bool = False) -> exp.Expr:
        """An expression of the aggregating SELECT over the release's columns instead of private ones."""

        def again(child: exp.Expr) -> exp.Expr:
            return self._released(child, aliases=aliases, prefer_alias=prefer_alias)

        if isinstance(node, exp.Alias):
            return exp.alias_(again(node.this), node.alias, quoted=True)
        if isinstance(node, exp.Ordered) and isinstance(node.this, exp.Literal):
            return node.copy()
        if prefer_alias and isinstance(node, exp.Column) and not node.table and node.name.lower() in self.aliases:
            return node.copy()
        if self.keys and (key := self._key_column(node)) is not None:
            return key
        if aggregates.is_aggregate(node):
            return self._call_column(node)
        if isinstance(node, exp.Window):
            return self._window(node, again)
        if isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation)):
            return self.analyzer.derived(node, self.env)
        if isinstance(node, exp.Column):
            if aliases and not node.table and node.name.lower() in self.aliases and self.scope.lookup(node) is None:
                return node.copy()
            raise self._ungrouped(node)
        return _rebuilt(node, again)

    def _window(self, node: exp.Window, again: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
        """A window function runs over the released groups: only what stands inside it is aggregated."""
        function = node.this
        if isinstance(function, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
            inner = _rebuilt(function, again, skip=("this",))
            inner.set("this", _rebuilt(function.this, again))
        else:
            inner = _rebuilt(function, again)
        copied = _rebuilt(node, again, skip=("this",))
        copied.set("this", inner)
        return copied

    def _key_column(self, node: exp.Expr) -> exp.Expr | None:
        if isinstance(node, (exp.Literal, exp.Star, exp.Identifier, exp.Var)):
            return None
        resolved = self.scope.try_resolved(node)
        if resolved is None:
            return None
        resolved = _unparenthesised(resolved)
        for index, (known, key) in enumerate(self.keys):
            if known == resolved:
                column = exp.column(key_name(index), quoted=True)
                kind = key.set.type
                if kind.kind is not Kind.DECIMAL:
                    return column
                return cast(column, f"DECIMAL({kind.precision}, {kind.scale})")
        return None

    def _ungrouped(self, node: exp.Column) -> Exception:
        if self.scope.lookup(node) is None:
            return self.scope.unknown(node)
        return NotReleasable(
            f"column {node.name} must appear in GROUP BY or inside an aggregate: its values are private",
            hint=f"write GROUP BY {node.name}, or an aggregate such as AVG({node.name})",
            position=position_of(node),
        )

    # -------------------------------------------------------------------- aggregate calls

    def _call_column(self, node: exp.Expr) -> exp.Expr:
        call = self._call(node)
        for index, known in enumerate(self.calls):
            if known.aggregate == call.aggregate and known.measure.identity == call.measure.identity:
                return exp.column(number_name(index), quoted=True)
        self.calls.append(call)
        return exp.column(number_name(len(self.calls) - 1), quoted=True)

    def _call(self, node: exp.Expr) -> Call:
        shape = aggregates.read_call(node)
        for part in (shape.argument, shape.condition):
            if part is not None and any(aggregates.is_aggregate(n) for n in part.walk()):
                raise refuse(node, f"{show(node)} nests aggregates", "aggregate in a subquery first")
        condition, compiler = None, self.compiler
        if shape.condition is not None:
            resolved = self.scope.resolved(shape.condition)
            condition = compiler.predicate(resolved)
            compiler = compiler.with_columns(narrow(compiler, resolved))
        argument = None
        if shape.argument is not None:
            resolved = self.scope.resolved(shape.argument)
            argument = compiler.value(resolved)
            argument = aggregates.named(shape.aggregate).accept(compiler, resolved, argument)
        return Call(shape.aggregate, Measure(argument, condition), show(node))


# ---------------------------------------------------------------------------------------------- keys


def key_of(compiler: Compiler, node: exp.Expr, text: str) -> Key:
    """A GROUP BY expression with its public domain, or a refusal where the domain isn't finite.

    Rows that hold a value outside a column's value set are dropped, not moved into the set: the column's guard sees
    the raw value. Computations see clipped values, so they can't fail.
    """
    leaves = {c.name: compiler.columns[c.name] for c in node.find_all(exp.Column) if c.name in compiler.columns}
    if not leaves:
        compiler.value(node)
        raise refuse(node, f"the group key {text} is the same for every row", "leave it out of GROUP BY")
    as_key = compiler.with_columns({**compiler.columns, **{n: _key_leaf(s) for n, s in leaves.items()}})
    typed = compiler.value(node)
    null = as_key.value(node).set.nullable  # not where NULL only follows from a column whose NULL is no key
    typed = Typed(typed.sql, replace(typed.set, nullable=null), typed.raw)
    size = typed.set.domain_size()
    if size is None or size > MAX_CELLS:
        raise _infinite_key(as_key, node, text, typed.set, size)
    domain = _domain(node, text, typed.set)
    raw = isinstance(node, exp.Column) and typed.kind in (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN)
    # A bare column's domain is its value set: that its code is in the domain is checked once, after the aggregation.
    guards = [] if raw else [g for n, s in leaves.items() if (g := _leaf_guard(n, s)) is not None]
    value = exp.column(node.name, quoted=True) if raw else typed.sql
    return Key(text, _code(value, domain), tuple(guards), domain, typed.set, _origin(node, compiler))


def _key_leaf(value_set: ValueSet) -> ValueSet:
    """A column's value set inside a group key: NULL only where it is a key, and floating-point values on no grain."""
    grain = None if value_set.kind is Kind.DOUBLE else value_set.grain
    return replace(value_set, nullable=value_set.null_key, grain=grain)


def _leaf_guard(name: str, value_set: ValueSet) -> exp.Expr | None:
    """Raw column inside its value set, or NULL where it may be: a key such as COALESCE(x, 0) has a value there."""
    column = exp.column(name, quoted=True)
    if value_set.values is not None and value_set.kind is not Kind.BOOLEAN:
        if len(value_set.values) > MAX_LISTED_KEYS:
            raise UnsupportedQuery(f"column {name} has too many keys to list", hint="group by a bounded integer")
        listed = [literal_sql(v, value_set.type) for v in value_set.values]
        inside: exp.Expr = exp.In(this=column, expressions=listed)
    elif value_set.kind is Kind.BOOLEAN:
        if value_set.values is not None and len(value_set.values) < 2:
            inside = exp.In(this=column, expressions=[literal_sql(v, value_set.type) for v in value_set.values])
        else:
            return None if value_set.nullable else exp.Not(this=exp.Is(this=column, expression=exp.Null()))
    elif value_set.bounds.bounded and value_set.kind is not Kind.TEXT:
        lower, upper = Fraction(value_set.bounds.lower), Fraction(value_set.bounds.upper)
        inside = exp.Between(
            this=column,
            low=literal_sql(_plain(lower), value_set.type),
            high=literal_sql(_plain(upper), value_set.type),
        )
    else:
        return None
    if not value_set.nullable:
        return inside
    return exp.Paren(this=exp.or_(inside, exp.Is(this=column.copy(), expression=exp.Null())))


def _plain(value: Fraction) -> int | Fraction:
    return int(value) if value.denominator == 1 else value


def _domain(node: exp.Expr, text: str, value_set: ValueSet) -> KeyDomain:
    null, kind = value_set.nullable, value_set.kind
    step = value_set.grain or Fraction(1)
    if kind is not Kind.TEXT and value_set.bounds.magnitude >= INT64:
        raise refuse(node, f"the group key {text} takes values beyond 64 bits", "group by something smaller")
    if kind is Kind.DOUBLE and step.denominator != 1:
        raise refuse(
            node,
            f"the group key {text} takes fractional floating-point values",
            "use FLOOR to get whole numbers",
        )
    if value_set.values is not None:
        if kind is Kind.TEXT:
            return KeyDomain(kind, value_set.values, count=len(value_set.values), null=null)
        step = Fraction(1, 10 ** (value_set.type.scale or 0))
        return KeyDomain(kind, value_set.values, 0, step, len(value_set.values), null)
    size = value_set.domain_size() or 0
    first = -(-Fraction(value_set.bounds.lower) // step)
    return KeyDomain(kind, None, int(first), step, size, null)


def _code(value: exp.Expr, domain: KeyDomain) -> exp.Expr:
    """A key as an integer in units of the domain's step; text as it is. Total: NULL where there is no such number."""
    match domain.kind:
        case Kind.TEXT:
            return value
        case Kind.DATE:
            return _in_steps(exp.Sub(this=paren(value), expression=literal_sql(0, DATE)), domain)
        case Kind.TIMESTAMP:
            return _in_steps(exp.Anonymous(this="epoch_us", expressions=[value]), domain)
        case Kind.INTEGER:
            return _in_steps(value, domain)
        case Kind.DECIMAL | Kind.DOUBLE:
            in_steps = exp.Div(this=paren(value), expression=double_sql(domain.step))
            return try_cast(in_steps, "BIGINT")
    return value


def _in_steps(value: exp.Expr, domain: KeyDomain) -> exp.Expr:
    """An integer in units of the domain's step, of which it is a multiple."""
    if domain.step == 1:
        return value
    return try_cast(exp.IntDiv(this=paren(value), expression=literal_sql(int(domain.step), INTEGER)), "BIGINT")


def _origin(node: exp.Expr, compiler: Compiler) -> str:
    """Where a key's values come from, for EXPLAIN."""
    if isinstance(node, exp.Column):
        value_set = compiler.columns[node.name]
        if value_set.kind is Kind.BOOLEAN:
            return "boolean"
        return "listed values" if value_set.values is not None else "bounds"
    return "value set of the expression"


def _infinite_key(compiler: Compiler, node: exp.Expr, text: str, value_set: ValueSet, size: int | None) -> Exception:
    table = compiler.table
    if size is not None:
        return refuse(node, f"the group key {text} has {size} values; at most {MAX_CELLS} are allowed",
                      f"group by something coarser, such as FLOOR({text} / 1000)")  # fmt: skip
    if isinstance(node, exp.Column) and value_set.kind is Kind.TEXT:
        return refuse(
            node, f"the values of column {node.name} of {table} are private, so they can't be group keys",
            f"the policy can list tables.{table}.columns.{node.name}.keys, or list them in the query: "
            f"WHERE {node.name} IN ('a', 'b')", MissingBounds,
        )  # fmt: skip
    if isinstance(node, exp.Column) and value_set.kind is Kind.DOUBLE:
        return refuse(node, f"column {node.name} of {table} holds floating-point numbers, which can't be group keys",
                      f"group by bins: FLOOR({node.name} / 1000) * 1000")  # fmt: skip
    for column in node.find_all(exp.Column):
        leaf = compiler.columns[column.name]
        if leaf.kind not in (Kind.TEXT, Kind.BOOLEAN) and not leaf.bounds.bounded:
            return unbounded_error(compiler, node, f"the group key {text} has no finite set of values")
    return refuse(node, f"the group key {text} has no finite set of values that follows from the policy",
                  "use FLOOR(x / n) * n, DATE_TRUNC, CASE with literals, or a column with declared keys")  # fmt: skip
