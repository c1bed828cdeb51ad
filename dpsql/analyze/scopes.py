"""Labels: every SELECT is private rows, released or derived; what gets no label is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from dpsql.analyze.aggregation import ReleaseBuilder, aggregate_calls, lists_keys
from dpsql.analyze.filters import compiler_of
from dpsql.analyze.grouping import UnitGrouping, group_items, is_of_units
from dpsql.analyze.joins import FromClause, Source, conjuncts, read_join
from dpsql.analyze.known import released_rows
from dpsql.analyze.relations import (
    Derived,
    Environment,
    Private,
    Relation,
    Size,
    alias_columns,
    alias_name,
    check_limits,
    check_name,
    did_you_mean,
    named_output,
    rebuilt,
    renamed_columns,
)
from dpsql.analyze.resolution import Scope
from dpsql.analyze.subqueries import GROUPED, Subqueries
from dpsql.analyze.unions import united
from dpsql.errors import Error, NotReleasable, UnknownColumn, UnknownTable, UnsupportedQuery
from dpsql.expressions import Steps, connector_terms, position_of, refuse, show
from dpsql.expressions.narrowing import unparenthesised
from dpsql.names import declared_table, output_name, tables_ending
from dpsql.policy import Policy
from dpsql.query import Constant, ReleaseQuery
from dpsql.result import LEVEL
from dpsql.rows import Catalogue, free_name, scan

_SELECT_PARTS = frozenset(
    "expressions from_ where group having qualify order limit offset distinct with_ joins windows".split()
)
_PART_NAMES = {
    "sample": "TABLESAMPLE", "pivots": "PIVOT", "laterals": "LATERAL", "into": "INTO", "locks": "FOR UPDATE",
    "joins": "a JOIN in brackets",
    "connect": "CONNECT BY", "match": "MATCH_RECOGNIZE", "kind": "SELECT AS", "hint": "a hint",
    "operation_modifiers": "a SELECT modifier", "exclude": "EXCLUDE", "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY", "sort": "SORT BY", "prewhere": "PREWHERE", "settings": "SETTINGS",
    "format": "FORMAT", "options": "OPTIONS", "for_": "FOR",
}  # fmt: skip


@dataclass(slots=True)
class Analyzer:
    """Walks one statement; collects the releases and public tables that it needs."""

    policy: Policy
    catalogue: Catalogue
    today: dt.date
    root: exp.Expr
    delta: Fraction | None = None
    level: Fraction = LEVEL
    releases: list[ReleaseQuery] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    public_tables: set[str] = field(default_factory=set)
    own_epsilons: set[int] = field(default_factory=set)
    """The numbers of the aggregates that got the ε that they ask for."""
    size: Size = field(default_factory=Size)
    steps: Steps = field(default_factory=Steps)

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
            name = check_name(cte, cte.alias)
            if "." in name:
                raise refuse(cte, f"the name {cte.alias} has a dot, as only tables of a schema do", "leave the dot out")
            relation = self.query(cte.this, env)
            columns = alias_columns(cte)
            if isinstance(relation, Private):
                relation = self._renamed(cte, relation, columns)
            else:
                kept.append(exp.CTE(this=relation.tree, alias=cte.args["alias"].copy()))
                public = None if relation.public is None else self._renamed(cte, relation.public, columns)
                relation = Derived(exp.Table(this=exp.to_identifier(cte.alias, quoted=True)), public, kept[-1])
            env[name] = relation
        return env, exp.With(expressions=kept) if kept else None

    def _set_operation(self, node: exp.SetOperation, env: Environment) -> Relation:
        self._only(node, "this expression distinct by_name order limit offset with_ side kind on")
        inner_env, clause = self._with(node, env)
        written = (node.this, node.expression)
        sides = [self.query(side, inner_env) for side in written]
        private = [side for side in sides if isinstance(side, Private)]
        if len(private) == len(sides) and isinstance(node, exp.Union) and not node.args.get("distinct"):
            return self._union(node, private)
        if private:
            raise refuse(
                node,
                f"{type(node).__name__.upper()} over private rows isn't supported",
                "aggregate each side in a subquery, then combine the results",
            )
        trees = [_side(w, side.tree) for w, side in zip(written, sides, strict=True) if isinstance(side, Derived)]
        new = type(node)(this=trees[0], expression=trees[1], distinct=node.args.get("distinct"))
        new.set("by_name", node.args.get("by_name"))
        self._copy_tail(node, new, inner_env)
        new.set("with_", clause)
        return Derived(new)

    def _union(self, node: exp.SetOperation, sides: list[Private]) -> Private:
        for part in ("by_name", "limit", "offset"):
            if node.args.get(part):
                raise refuse(
                    node, f"{part.upper().replace('_', ' ')} over private rows isn't supported", "leave it out"
                )
        return united(node, sides, self)

    def _copy_tail(self, node: exp.Expr, new: exp.Expr, env: Environment) -> None:
        check_limits(node)
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
        joins = node.args.get("joins") or []
        sources = self._sources(node, inner_env)
        if any(isinstance(source, Private) for _, source in sources):
            relation = self._private_select(node, sources, inner_env)
        else:
            derived = [s for _, s in sources if isinstance(s, Derived)]
            relation = self._derived_select(node, derived, joins, inner_env)
            relation = replace(relation, public=self._public_select(node, derived))
            self._check_no_options(node)
        if clause is not None and isinstance(relation, Derived):
            relation.tree.set("with_", clause)
        return relation

    def _sources(self, node: exp.Select, env: Environment) -> list[tuple[exp.Expr, Relation]]:
        return [(source, self._source(source, env)) for source in _in_from(node)]

    def from_clause(self, node: exp.Select, env: Environment) -> tuple[Scope, list[exp.Expr]]:
        """The rows, private or public, that a SELECT reads, and the conditions that are filters."""
        sources = self._sources(node, env)
        where = node.args.get("where")
        conditions = [] if where is None else conjuncts(where.this)
        if len(sources) == 1 and isinstance(only := sources[0][1], Derived) and only.public is not None:
            return Scope(self.size, only.public, {only.public.alias: only.public.columns}), conditions
        if not any(isinstance(source, Private) for _, source in sources):
            raise refuse(node, "this subquery reads several public tables, or none", "read one public table")
        return self._from(sources, node.args.get("joins") or [], conditions)

    def _public_select(self, node: exp.Select, sources: list[Derived]) -> Private | None:
        """The rows of a plain SELECT from one public table: private rows may be joined to them as to the table."""
        plain = {name for name, value in node.args.items() if value} <= {"expressions", "from_", "where"}
        if not plain or len(sources) != 1 or sources[0].public is None:
            return None
        source = sources[0].public
        try:
            scope = Scope(self.size, source, {source.alias: source.columns})
            condition = node.args.get("where")
            where = source.where if condition is None else (*source.where, scope.resolved(condition.this))
            return self._projection(node, replace(scope, source=replace(source, where=where)))
        except Error:
            return None

    def _source(self, node: exp.Expr, env: Environment) -> Relation:
        match node:
            case exp.Table():
                return self._table(node, env)
            case exp.Subquery():
                self._only(node, "this alias with_")
                inner = self._with(node, env)[0]
                bracketed = isinstance(node.this, exp.Table)
                relation = self._table(node.this, inner) if bracketed else self.query(node.this, inner)
                return self._aliased(node, relation) if node.alias or not bracketed else relation
            case exp.Values():
                return Derived(self._values(node))
        raise refuse(node, f"{show(node)} isn't a table", f"declared tables: {', '.join(sorted(self.policy.tables))}")

    def _aliased(self, node: exp.Expr, relation: Relation) -> Relation:
        if isinstance(relation, Private):
            return self._aliased_rows(node, relation)
        public = None if relation.public is None else self._aliased_rows(node, relation.public)
        return replace(self._aliased_tree(node, relation.tree), public=public, definition=relation.definition)

    def _aliased_rows(self, node: exp.Expr, relation: Private) -> Private:
        return replace(self._renamed(node, relation, alias_columns(node)), alias=alias_name(node))

    def _aliased_tree(self, node: exp.Expr, tree: exp.Expr) -> Derived:
        alias = node.args.get("alias")
        if node.alias:
            check_name(node, node.alias)
        if isinstance(tree, (exp.Select, exp.SetOperation)):
            tree = exp.Subquery(this=tree)
        tree = tree.copy()
        if alias is not None:
            tree.set("alias", alias.copy())
        return Derived(tree)

    def _renamed(self, node: exp.Expr, relation: Private, names: list[str]) -> Private:
        new = renamed_columns(node, list(relation.columns), names)
        return replace(relation, columns=dict(zip(new, relation.columns.values(), strict=True)))

    def _table(self, node: exp.Table, env: Environment) -> Relation:
        self._only(node, "this alias")
        if not isinstance(node.this, exp.Identifier):
            raise refuse(
                node, f"{show(node)} is a table function, which isn't supported", "read tables of the policy",
            )  # fmt: skip
        name = node.name.lower()
        if name in env:
            return self._aliased(node, env[name])
        declared = declared_table(name, self.policy.tables)
        if declared is None:
            raise self._unknown_table(node, name)
        table = self.policy.tables[declared]
        columns: dict[str, exp.Expr] = {c: exp.column(c, quoted=True) for c in table.columns}
        rows = self._aliased_rows(node, Private(scan(table, self.policy, self.catalogue), columns))
        if not table.public:
            return rows
        self.public_tables.add(declared)
        return replace(self._aliased_tree(node, _public_table(declared, node)), public=rows)

    def _unknown_table(self, node: exp.Table, name: str) -> UnknownTable:
        ending = sorted(tables_ending(name, self.policy.tables))
        if ending:
            message, hint = f"table {node.name} is in several schemas", f"write {' or '.join(ending)}"
        else:
            message = f"table {node.name} does not exist"
            hint = did_you_mean(name, self.policy.tables, "tables of this policy")
        return UnknownTable(message, hint=hint, position=position_of(node))

    # ------------------------------------------------------------------------------------------ derived scopes

    def _derived_select(
        self, node: exp.Select, sources: list[Derived], joins: list[exp.Join], env: Environment
    ) -> Derived:
        new = exp.Select()
        trees = [source.tree for source in sources]
        if len(trees) > len(joins):
            new.set("from_", exp.From(this=trees.pop(0)))
        new_joins = []
        for join, tree in zip(joins, trees, strict=True):
            copied = self._derived_node(join, env, skip=("this",))
            copied.set("this", tree)
            new_joins.append(copied)
        if new_joins:
            new.set("joins", new_joins)
        check_limits(node)
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
        new.set("expressions", [named_output(e, self.derived(e, env)) for e in node.expressions])
        return Derived(new)

    def derived(self, node: exp.Expr, env: Environment) -> exp.Expr:
        """A copy of an expression of a derived scope, its subqueries analysed in their turn."""
        if isinstance(node, (exp.Select, exp.SetOperation)):
            relation = self._uncorrelated(node, env)
            if isinstance(relation, Private):
                raise self.rows_refused(node, relation)
            return relation.tree
        if isinstance(node, exp.Subquery):
            self._only(node, "this alias with_")
            return exp.Subquery(this=self.derived(node.this, self._with(node, env)[0]))
        if isinstance(node, exp.Table):
            raise refuse(node, f"{show(node)} isn't supported in an expression")
        if isinstance(node, (exp.Alias, exp.TableAlias)):
            check_name(node, node.alias if isinstance(node, exp.Alias) else node.name)
        return self._derived_node(node, env)

    def _uncorrelated(self, node: exp.Expr, env: Environment) -> Relation:
        """A subquery of a scope over public or released rows; told apart where it names a column from around it."""
        try:
            return self.query(node, env)
        except UnknownColumn as error:
            around = node.parent_select
            places = [] if around is None else _in_from(around)
            tables = [self.policy.tables.get(t.name.lower()) for t in places if isinstance(t, exp.Table)]
            columns = {column for table in tables if table is not None for column in table.columns}
            outside = next((c for c in node.find_all(exp.Column) if c.name.lower() in columns), None)
            if outside is None or f"column {outside.name} " not in error.message:
                raise
            raise refuse(
                outside, f"a subquery over private rows can't depend on {outside.name} of the row around it",
                f"group it by what it is compared with, in FROM, and join its result: {GROUPED}",
            ) from None  # fmt: skip

    def _derived_node(self, node: exp.Expr, env: Environment, skip: tuple[str, ...] = ()) -> exp.Expr:
        return rebuilt(node, lambda child: self.derived(child, env), skip)

    # ------------------------------------------------------------------------------------------ private scopes

    def rows_refused(self, node: exp.Expr, relation: Private) -> NotReleasable:
        name = relation.rows.tables[0].name
        return NotReleasable(
            f"this query returns rows of the private table {name}; only aggregates of them can be released",
            hint=f"ask for an aggregate: SELECT COUNT(*) FROM {name}",
            position=position_of(node),
        )

    def _private_select(self, node: exp.Select, sources: list[tuple[exp.Expr, Relation]], env: Environment) -> Relation:
        where = node.args.get("where")
        conditions = [] if where is None else conjuncts(where.this)
        scope, filters = self._from(sources, node.args.get("joins") or [], conditions)
        subqueries = Subqueries(self, scope, env)
        filters = [subqueries.replaced(condition) for condition in filters]
        scope = subqueries.scope
        source = scope.source
        resolved = [term for c in filters for term in connector_terms(unparenthesised(scope.resolved(c)), exp.And)]
        source = replace(source, where=(*source.where, *resolved))
        scope = replace(scope, source=source)
        if node is not self.root and source.rows.unit is not None:
            listed = ReleaseBuilder(self, node, scope, env).group_items()
            items = group_items(listed, scope)
            if items and is_of_units([resolved for resolved, _ in items], source.rows):
                self._check_no_options(node)
                return UnitGrouping(self, node, scope, items).build()
        listing = node is self.root and lists_keys(node)
        if node.args.get("group") or listing or any(True for _ in aggregate_calls(node)):
            return ReleaseBuilder(self, node, scope, env).build()
        self._check_no_options(node)
        return self._projection(node, scope)

    def _from(
        self, sources: list[tuple[exp.Expr, Relation]], joins: list[exp.Join], conditions: list[exp.Expr]
    ) -> tuple[Scope, list[exp.Expr]]:
        """What FROM names, joined; and the conditions of WHERE and ON that are filters."""
        if len(sources) == 1 and isinstance(only := sources[0][1], Private):
            return Scope(self.size, only, {only.alias: only.columns}), conditions
        read = [read_join(join) for join in joins]
        found = []
        for index, (node, relation) in enumerate(sources):
            how, on, using = read[index - 1] if index else ("inner", (), ())
            found.append(Source(node, self._joinable(node, relation, sources), how, on, using))
        return FromClause(self, found, conditions).scope()

    def _joinable(self, node: exp.Expr, relation: Relation, sources: list[tuple[exp.Expr, Relation]]) -> Private:
        """Private rows, or a public table whose rows may be joined to them."""
        if isinstance(relation, Private):
            return relation
        released = None if relation.public else released_rows(node, relation, self.releases, self.constants)
        if released is not None:
            return released
        if relation.public is None:
            private = next(source.rows for _, source in sources if isinstance(source, Private))
            raise refuse(
                node,
                f"a join of the private {private.name} with this result of a query isn't supported: only the groups of "
                "one release with their numbers can be joined to private rows",
                f"aggregate {private.name} in a subquery first, then join its result: "
                f"SELECT … FROM (SELECT key, COUNT(*) AS n FROM {private.tables[0].name} GROUP BY key) AS q JOIN …",
            )
        return relation.public

    def _check_no_options(self, node: exp.Select) -> None:
        """A SELECT that releases nothing has no ε of its own."""
        options = node.meta.get("options")
        if options is not None:
            raise UnsupportedQuery(
                "this SELECT WITH DIFFERENTIAL_PRIVACY aggregates no private table",
                hint="write the clause in the SELECT that has COUNT, SUM or AVG of a private table",
                position=options.position,
            )

    def _projection(self, node: exp.Select, scope: Scope) -> Private:
        if (limit := node.args.get("limit")) is not None and show(limit).strip() == "LIMIT 0":
            source = replace(scope.source, where=(*scope.source.where, exp.false()))
            return self._projection(_without_limit(node), replace(scope, source=source))
        refused = {
            "distinct": "SELECT DISTINCT", "limit": "LIMIT", "offset": "OFFSET", "qualify": "QUALIFY",
            "having": "HAVING", "windows": "WINDOW",
        }  # fmt: skip
        for part, label in refused.items():
            if node.args.get(part):
                name = scope.source.rows.tables[0].name
                raise refuse(
                    node.args[part] if isinstance(node.args[part], exp.Expr) else node,
                    f"{label} over rows of the private table {name} isn't supported",
                    f"rows are never shown, only aggregates of them: SELECT COUNT(*) FROM {name}"
                    if node.parent is None
                    else f"aggregate first: SELECT … COUNT(*) FROM {name} GROUP BY …",
                )
        compiler = compiler_of(scope.source, self)
        columns: dict[str, exp.Expr] = {}
        for item in node.expressions:
            for name, expression in self._projected(item, scope):
                compiler.value(expression)
                if not isinstance(item, (exp.Alias, exp.Column, exp.Star)):
                    name = free_name(name, columns)
                if name in columns:
                    raise refuse(item, f"column {name} appears twice in a subquery", "give each its own name")
                columns[check_name(item, name)] = expression
        return replace(scope.source, columns=columns)

    def _projected(self, item: exp.Expr, scope: Scope) -> Iterator[tuple[str, exp.Expr]]:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            star = item if isinstance(item, exp.Star) else item.this
            if any(star.args.values()):
                raise refuse(item, f"{show(item)} isn't supported", "name the columns")
            if isinstance(item, exp.Column):
                scope.check_qualifier(item)
                yield from scope.parts[item.table.lower()].items()
            else:
                yield from scope.all_columns()
            return
        expression = item.this if isinstance(item, exp.Alias) else item
        yield (item.alias or output_name(item)).lower(), scope.resolved(expression)


def _without_limit(node: exp.Select) -> exp.Select:
    copy = node.copy()
    copy.set("limit", None)
    return copy


def _in_from(node: exp.Select) -> list[exp.Expr]:
    """What stands in FROM, in its order."""
    start = node.args.get("from_")
    return ([start.this] if start else []) + [join.this for join in node.args.get("joins") or []]


def _side(written: exp.Expr, tree: exp.Expr) -> exp.Expr:
    """A side of a set operation, in brackets where it means something else without those that it is written in."""
    needed = isinstance(tree, exp.SetOperation) or any(tree.args.get(p) for p in ("order", "limit", "offset", "with_"))
    return exp.Subquery(this=tree) if needed and isinstance(written, exp.Subquery) else tree


def _public_table(name: str, node: exp.Table) -> exp.Expr:
    return exp.Table(
        this=exp.to_identifier(name, quoted=True),
        alias=exp.TableAlias(this=exp.to_identifier(node.alias or node.name, quoted=True)),
    )
