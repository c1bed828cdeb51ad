"""A SELECT that aggregates private rows: the release, and the SELECT over its noisy numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from dpsql import aggregates
from dpsql.errors import NotReleasable
from dpsql.expressions import Compiler, Shown, narrow, position_of, refuse, show
from dpsql.expressions.literals import cast
from dpsql.expressions.narrowing import unparenthesised
from dpsql.policy import Kind
from dpsql.query import Call, Key, Measure, ReleaseQuery, key_name, number_name, release_name

if TYPE_CHECKING:
    from dpsql.analyze.scopes import Analyzer
from dpsql.analyze.filters import compiler_of, filters
from dpsql.analyze.keys import MAX_CELLS, key_of
from dpsql.analyze.relations import Derived, Environment, check_limits, children, named_output, rebuilt
from dpsql.analyze.resolution import Scope

MAX_KEYS = 30


def aggregate_calls(node: exp.Select) -> Iterator[exp.Expr]:
    """Aggregate functions of this SELECT itself: not those of its subqueries, not window functions."""
    stack: list[exp.Expr] = [*node.expressions]
    stack += [node.args[part] for part in ("having", "qualify", "order") if node.args.get(part)]
    while stack:
        top = stack.pop()
        if isinstance(top, (exp.Select, exp.SetOperation)):
            continue
        if isinstance(top, exp.Window):
            inner = top.this.this if isinstance(top.this, (exp.Filter, exp.IgnoreNulls)) else top.this
            stack += [*children(inner), *(c for c in children(top) if c is not top.this)]
            continue
        if aggregates.is_aggregate(top):
            yield top
            continue
        stack += children(top)


def lists_keys(node: exp.Select) -> bool:
    """SELECT DISTINCT without aggregates: the same as GROUP BY its columns."""
    distinct = node.args.get("distinct")
    stars = any(isinstance(item, exp.Star) or isinstance(item.this, exp.Star) for item in node.expressions)
    plain = distinct is not None and not distinct.args.get("on") and not stars
    return plain and not any(True for _ in aggregate_calls(node))


@dataclass(slots=True)
class ReleaseBuilder:
    """Splits one aggregating SELECT into a release and the SELECT over its noisy numbers.

    A SELECT without aggregates that stands at the root and names groups only (GROUP BY or DISTINCT) is a release of no
    numbers: it lists the declared keys, from the policy, and reads nothing.
    """

    analyzer: Analyzer
    node: exp.Select
    scope: Scope
    env: Environment
    compiler: Compiler = field(init=False)
    where: list[exp.Expr] = field(init=False)
    keys: list[tuple[exp.Expr, Key]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    aliases: dict[str, exp.Expr] = field(init=False)

    def __post_init__(self) -> None:
        self.compiler = compiler_of(self.scope.source, self.analyzer.today)
        self.where = filters(self.scope.source, self.analyzer.today)
        self.aliases = {e.alias.lower(): e.this for e in self.node.expressions if isinstance(e, exp.Alias)}

    def build(self) -> Derived:
        for item in self._group_items():
            self._add_key(item)
        name = release_name(len(self.analyzer.releases))
        self.analyzer.releases.append(None)  # type: ignore[arg-type]  # hold the place: subqueries add theirs
        index = len(self.analyzer.releases) - 1
        outer = self._outer(name)
        if not self.calls and self.node is not self.analyzer.root:
            raise refuse(
                self.node,
                "a subquery that only lists the groups of a private table would list its public keys",
                "add an aggregate such as COUNT(*)",
            )
        release = ReleaseQuery(
            self.scope.source.table, tuple(self.where), tuple(k for _, k in self.keys), tuple(self.calls)
        )
        if len(self.keys) > MAX_KEYS:
            message = f"GROUP BY has {len(self.keys)} keys; at most {MAX_KEYS} are allowed"
            raise refuse(self.node, message, "group by fewer keys")
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
            if lists_keys(self.node):
                yield from (item.this if isinstance(item, exp.Alias) else item for item in self.node.expressions)
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
                aggregated = any(aggregates.is_aggregate(n) for n in expression.walk())
                if not aggregated and expression.find(exp.Column):  # what is the same for every row is no group
                    yield expression
        for item in group.expressions:
            yield self._group_item(unparenthesised(item))

    def _group_item(self, item: exp.Expr) -> exp.Expr:
        if isinstance(item, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)):
            raise refuse(item, f"GROUP BY {show(item)} isn't supported", "list the keys plainly")
        if isinstance(item, exp.Literal) and not item.is_string:
            number = int(item.name) if item.name.isdigit() and len(item.name) < 6 else 0
            if not 1 <= number <= len(self.node.expressions):
                count = len(self.node.expressions)
                raise refuse(
                    item,
                    f"GROUP BY {item.name} names no column: the SELECT list has {count}",
                    "write a number from 1, or the column's name",
                )
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
        resolved = unparenthesised(self.scope.resolved(item))
        if any(resolved == known for known, _ in self.keys):
            return
        self.keys.append((resolved, key_of(self.compiler, resolved, Shown(item))))

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
            expressions.append(named_output(item, self._released(item, aliases=False)))
        new.set("expressions", expressions)
        having = self.node.args.get("having")
        if having:
            new.set("where", exp.Where(this=self._released(having.this, aliases=True)))
        check_limits(self.node)
        for part in ("distinct", "qualify", "windows", "order", "limit", "offset"):
            value = self.node.args.get(part)
            if isinstance(value, list):
                new.set(part, [self._released(v, aliases=True) for v in value])
            elif value:
                new.set(part, self._released(value, aliases=part != "distinct", prefer_alias=part == "order"))
        return new

    def _released(self, node: exp.Expr, *, aliases: bool, prefer_alias: bool = False) -> exp.Expr:
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
            if aliases and not node.table and node.name.lower() in self.aliases:
                return node.copy()
            raise self._ungrouped(node)
        return rebuilt(node, again)

    def _window(self, node: exp.Window, again: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
        """A window function runs over the released groups: only what stands inside it is aggregated."""
        function = node.this
        if isinstance(function, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
            inner = rebuilt(function, again, skip=("this",))
            inner.set("this", rebuilt(function.this, again))
        else:
            inner = rebuilt(function, again)
        copied = rebuilt(node, again, skip=("this",))
        copied.set("this", inner)
        return copied

    def _key_column(self, node: exp.Expr) -> exp.Expr | None:
        if isinstance(node, (exp.Literal, exp.Star, exp.Identifier, exp.Var)):
            return None
        resolved = self.scope.try_resolved(node)
        if resolved is None:
            return None
        resolved = unparenthesised(resolved)
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
        found = self.scope.lookup(node)
        number = found is not None and self.compiler.value(found).set.numeric
        return NotReleasable(
            f"column {node.name} must appear in GROUP BY or inside an aggregate: its values are private",
            hint=f"write GROUP BY {node.name}, or an aggregate such as {'AVG' if number else 'COUNT'}({node.name})",
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
        return Call(shape.aggregate, Measure(argument, condition, shape.distinct), Shown(node))
