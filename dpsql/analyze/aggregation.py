"""A SELECT that aggregates private rows: the release, and the SELECT over its noisy numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeGuard

from sqlglot import exp

from dpsql import aggregates
from dpsql.aggregates.choice import TEMPORAL, result_type
from dpsql.errors import InvalidParameter, NotReleasable, UnsupportedQuery
from dpsql.expressions import Compiler, Shown, Typed, is_known, narrow, position_of, refuse, show, unsupported
from dpsql.expressions.literals import TEXT, case_when, cast, func, not_null, paren
from dpsql.expressions.narrowing import unparenthesised
from dpsql.googlesql import PUBLIC_GROUPS, ReleaseOptions
from dpsql.names import output_name
from dpsql.policy import Kind
from dpsql.privacy.interval import parse_level
from dpsql.privacy.sensitivity import ContributionBound
from dpsql.query import (
    MAX_CALLS,
    MAX_LEVELS,
    MAX_RELEASES,
    AskedSelection,
    Call,
    Key,
    Measure,
    ReleaseQuery,
    end_column,
    interval_names,
    key_name,
    number_name,
    numbers_in,
    release_name,
)
from dpsql.rows import Rows
from dpsql.valueset import ValueSet

if TYPE_CHECKING:
    from dpsql.analyze.scopes import Analyzer
from dpsql.analyze.filters import compiler_of, filters
from dpsql.analyze.keys import MAX_CELLS, key_of
from dpsql.analyze.relations import (
    Derived,
    Environment,
    check_limits,
    check_name,
    children,
    named_output,
    rebuilt,
)
from dpsql.analyze.resolution import Scope

MAX_KEYS = 30
_FINEST = "release the finest GROUP BY in a subquery, and group that: SELECT … SUM(n) FROM (…) AS q GROUP BY ROLLUP (…)"
INTERVAL_ENDS = ("dp_interval_low", "dp_interval_high")
MAX_LATERAL_DEPTH = 40
"""Levels that earlier aliases may add to the tree, one within the other."""


def is_interval(node: exp.Expr) -> TypeGuard[exp.Anonymous]:
    """Whether it is a call of DP_INTERVAL_LOW or DP_INTERVAL_HIGH."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in INTERVAL_ENDS


def interval_level(node: exp.Expr, argument: exp.Expr) -> Fraction:
    """The level that an interval is asked for: a number between 0 and 1, written out."""
    text = argument.name if isinstance(argument, exp.Literal) and not argument.args.get("is_string") else ""
    try:
        return parse_level(text)
    except InvalidParameter:
        raise refuse(
            argument, f"the level of {show(node)} must be a number from 0.01 to below 1", "write 0.95"
        ) from None


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


def _depth(node: exp.Expr) -> int:
    """How many levels a tree has."""
    depth, level = 0, [node]
    while level:
        depth, level = depth + 1, [child for parent in level for child in children(parent)]
    return depth


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
    intervals: list[tuple[int | exp.Expr, Fraction]] = field(default_factory=list)
    weights: dict[int, Fraction] = field(default_factory=dict)
    aliases: dict[str, exp.Expr] = field(init=False)
    lateral_depth: int = 0

    def __post_init__(self) -> None:
        self.compiler = compiler_of(self.scope.source, self.analyzer)
        self.where = filters(self.scope.source, self.analyzer)
        self.aliases = {e.alias.lower(): e.this for e in self.node.expressions if isinstance(e, exp.Alias)}

    def build(self) -> Derived:
        for item in self.group_items():
            self._add_key(item)
        if len(self.analyzer.releases) >= MAX_RELEASES:
            raise refuse(
                self.node,
                f"the query aggregates private rows in more than {MAX_RELEASES} places",
                "ask several queries",
            )
        name = release_name(len(self.analyzer.releases))
        self.analyzer.releases.append(None)  # type: ignore[arg-type]  # hold the place: subqueries add theirs
        index = len(self.analyzer.releases) - 1
        outer = self._outer(name)
        private = any(key.domain.private for _, key in self.keys)
        if not self.calls and not private and self.node is not self.analyzer.root:
            raise refuse(
                self.node,
                "a subquery that only lists the groups of a private table would list its public keys",
                "add an aggregate such as COUNT(*)",
            )
        options: ReleaseOptions | None = self.node.meta.get("options")
        if options is not None and options.unit_column is not None:
            self._check_unit(options.unit_column)
        if options is not None and not private:
            _check_public(options)
        if options is not None:
            self._weigh(options)
            self._choose_ends(options)
        release = ReleaseQuery(
            self._bounded(options),
            tuple(self.where),
            tuple(k for _, k in self.keys),
            tuple(self.calls),
            None if options is None else options.epsilon,
            tuple(self.intervals),
            AskedSelection()
            if options is None
            else AskedSelection(options.selection_epsilon, options.delta, options.min_units),
            tuple(self.weights.get(number, Fraction(1)) for number in range(len(self.calls))),
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

    def _check_unit(self, node: exp.Column) -> None:
        """A privacy_unit_column must be the policy's unit; where that is each row, a column that could tell it.

        It changes nothing: what is protected is the policy's to say.
        """
        found = self.scope.lookup(node)
        if found is None:
            raise self.scope.unknown(node)
        rows = self.scope.source.rows
        if rows.unit is not None:
            if not self._is_unit(found):
                raise refuse(
                    node, f"privacy_unit_column {node.name} is not the unit of {rows.name}", "leave the option out",
                )  # fmt: skip
            return
        declared = rows.tables[0].columns.get(found.name) if isinstance(found, exp.Column) else None
        if declared is None or declared.keys is not None or declared.type.kind is Kind.BOOLEAN:
            raise refuse(
                node, f"privacy_unit_column {node.name} can't be the unit of {rows.name}: "
                "the policy says that each row is one", "leave the option out",
            )  # fmt: skip

    def _weigh(self, options: ReleaseOptions) -> None:
        """The weights of columns, by name, as weights of the aggregates in them: of one in several, the largest."""
        named: dict[str, exp.Expr] = {}
        for item in self.node.expressions:
            named.setdefault(output_name(item).lower(), item)
        for name, weight in options.weights:
            item = named.get(name)
            found = () if item is None else [n for n in item.walk() if aggregates.is_aggregate(n)]
            numbers = {self._call_number(n) for n in found if not isinstance(n.parent, exp.Filter)}
            if not numbers:
                known = [n for n, e in named.items() if any(aggregates.is_aggregate(part) for part in e.walk())]
                raise InvalidParameter(
                    f"weights names {name}, which is no column of an aggregate in this SELECT",
                    hint=f"name {' or '.join(known[:3])}" if known else "leave the weights out",
                    position=options.position,
                )
            for number in numbers:
                if self.calls[number].epsilon is not None:
                    raise InvalidParameter(
                        f"{name} has a weight and an epsilon of its own", hint="give one of them",
                        position=options.position,
                    )  # fmt: skip
                self.weights[number] = max(weight, self.weights.get(number, weight))

    def _choose_ends(self, options: ReleaseOptions) -> None:
        """Have the ends of quantiles' intervals chosen: of the statement's level, and of those that are asked for.

        Only of those that stand as columns: the ends of others couldn't be seen, and would cost part of the ε. Nor
        could those of dates, which have no ±, but by DP_INTERVAL_LOW or in columns of their own.
        """
        if not options.quantile_intervals:
            return
        chosen = [(i, c) for i, c in enumerate(self.calls) if c.choice is not None and c.choice.fraction is not None]
        items = [unparenthesised(item.unalias()) for item in self.node.expressions]
        columns = [item for item in items if aggregates.is_aggregate(item) and aggregates.each_of(item) is None]
        seen = {self._call_number(item) for item in columns} | {call for call, _ in self.intervals}
        shown = self.analyzer.policy.error_columns or any(map(is_interval, self.analyzer.root.find_all(exp.Anonymous)))
        quantiles = [i for i, call in chosen if i in seen and (shown or call.sql_type not in TEMPORAL.values())]
        if not quantiles:
            raise InvalidParameter(
                "quantile_intervals says nothing here: the SELECT has no quantile of numbers as a column, nor asks for "
                "the interval of one of dates",
                hint="leave it out, or ask for each quantile by itself: MEDIAN(x) AS m, DP_INTERVAL_LOW(m)",
                position=options.position,
            )  # fmt: skip
        for index in quantiles:
            asked = [level for call, level in self.intervals if call == index]
            self.calls[index] = replace(self.calls[index], levels=tuple(sorted({*asked, self.analyzer.level})))

    # -------------------------------------------------------------------- units

    def _bounded(self, options: ReleaseOptions | None) -> Rows:
        """The rows with the contribution bounds that the analyst asks for: any public number is sound.

        Where the rows themselves hold to a bound, asking for another changes nothing.
        """
        rows = self.scope.source.rows
        if options is None or rows.bound is None or not rows.bound.weighted:
            return rows
        if options.max_rows is not None:
            rows = replace(rows, bound=ContributionBound(options.max_rows, weighted=True), groups=(None, None))
        if options.max_groups is not None:
            rows = replace(rows, groups=(options.max_groups, rows.groups[1]))
        return rows

    def _is_unit(self, node: exp.Expr) -> bool:
        node = unparenthesised(node)
        return isinstance(node, exp.Column) and node.name in self.scope.source.rows.own

    def _no_units(self, resolved: exp.Expr, shown: exp.Expr, where: str) -> None:
        """Refuse an expression from which something of the units could be read off."""
        for column in resolved.find_all(exp.Column):
            if column.name in self.scope.source.rows.units:
                name = self.scope.source.rows.where_from(column.name)[1]
                raise refuse(
                    shown, f"{name} names the privacy unit, so it can't stand {where}",
                    f"count units with COUNT(DISTINCT {name}), or rows with COUNT(*)", NotReleasable,
                )  # fmt: skip

    # -------------------------------------------------------------------- keys

    def group_items(self) -> Iterator[exp.Expr]:
        group = self.node.args.get("group")
        if group is None:
            if lists_keys(self.node):
                yield from (item.this if isinstance(item, exp.Alias) else item for item in self.node.expressions)
            return
        for part in ("rollup", "cube", "grouping_sets", "totals"):
            if group.args.get(part):
                raise refuse(
                    group, f"GROUP BY {part.replace('_', ' ').upper()} isn't supported", _FINEST,
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
            raise refuse(item, f"GROUP BY {show(item)} isn't supported", _FINEST)
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
        self._no_units(resolved, item, "in GROUP BY")
        if any(resolved == known for known, _ in self.keys):
            return
        self._no_row_names(resolved, item)
        where = [unparenthesised(condition) for condition in self.scope.source.where]
        self.keys.append(
            (resolved, key_of(self.compiler, resolved, Shown(item), where, private=self._may_be_private()))
        )

    def _may_be_private(self) -> bool:
        """Whether keys may be found in the data: the policy grants a δ, and the query doesn't insist on public ones."""
        options: ReleaseOptions | None = self.node.meta.get("options")
        return self.analyzer.delta is not None and (options is None or options.strategy != PUBLIC_GROUPS)

    def _no_row_names(self, resolved: exp.Expr, item: exp.Expr) -> None:
        """A key of a private table has one value for each row of it: better said than that it has no bounds."""
        origin = self.scope.source.rows.origins.get(resolved.name) if isinstance(resolved, exp.Column) else None
        if origin is None or origin.table.public or self.compiler.columns[resolved.name].domain_size() is not None:
            return
        table = origin.table
        via = () if table.via is None else table.via.columns
        if origin.column in via or any(origin.column in key for key in table.unique):
            raise refuse(
                item, f"{origin.column} tells single rows of {table.name} apart, so it can't be a group key",
                "count them with COUNT(*), or group by something that many rows share", NotReleasable,
            )  # fmt: skip

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
            check_name(node, node.alias)
            return exp.alias_(again(node.this), node.alias, quoted=True)
        if isinstance(node, exp.Ordered) and isinstance(node.this, exp.Literal):
            return node.copy()
        if prefer_alias and isinstance(node, exp.Column) and not node.table and node.name.lower() in self.aliases:
            return node.copy()
        if self.keys and (key := self._key_column(node)) is not None:
            return key
        if aggregates.is_aggregate(node):
            return self._call_column(node)
        if is_interval(node):
            return self._interval_column(node)
        if isinstance(node, exp.Window):
            return self._window(node, again)
        if isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation)):
            return self.analyzer.derived(node, self.env)
        if isinstance(node, exp.Column):
            if aliases and not node.table and node.name.lower() in self.aliases:
                return node.copy()
            if (named := self._lateral_alias(node)) is not None:
                return self._lateral(node, named, again)
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
                if kind.kind is Kind.DECIMAL:
                    return cast(column, f"DECIMAL({kind.precision}, {kind.scale})")
                if key.domain.private and kind.kind in (Kind.DATE, Kind.TIMESTAMP):
                    return cast(column, kind.kind.value.upper())  # without it, where none is shown, it has no type
                return column
        return None

    def _lateral(self, node: exp.Column, named: exp.Expr, again: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
        """What an earlier alias stands for, in its place; refused where that would nest too deep."""
        depth = _depth(named)
        if self.lateral_depth + depth > MAX_LATERAL_DEPTH:
            raise refuse(node, f"{node.name} stands for too deep an expression", "use a subquery in FROM")
        self.lateral_depth += depth
        try:
            return exp.Paren(this=again(named))
        finally:
            self.lateral_depth -= depth

    def _lateral_alias(self, node: exp.Column) -> exp.Expr | None:
        """What an earlier column of the SELECT list is called: `SELECT COUNT(*) AS n, n + 1`."""
        if node.table or self.scope.lookup(node) is not None:
            return None
        for item in self.node.expressions:
            if any(part is node for part in item.walk()):
                return None
            if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                self.scope.size.add(sum(1 for _ in item.walk()))
                named: exp.Expr = item.this
                return named
        return None

    def _ungrouped(self, node: exp.Column) -> Exception:
        if self.scope.lookup(node) is None:
            return self.scope.unknown(node)
        call = node.find_ancestor(exp.Anonymous, exp.Select)
        if isinstance(call, exp.Anonymous) and not is_known(call):
            return unsupported(call)
        found = self.scope.lookup(node)
        number = found is not None and self.compiler.value(found).set.numeric
        return NotReleasable(
            f"column {node.name} must appear in GROUP BY or inside an aggregate: its values are private",
            hint=f"write GROUP BY {node.name}, or an aggregate such as {'AVG' if number else 'COUNT'}({node.name})",
            position=position_of(node),
        )

    # -------------------------------------------------------------------- intervals

    def _interval_column(self, node: exp.Anonymous) -> exp.Expr:
        """DP_INTERVAL_LOW(n) and DP_INTERVAL_HIGH(n, 0.9): an end of the interval of a number of this SELECT, which is
        an aggregate or arithmetic on several.

        Privacy: it follows from the noisy sums and the noise's law alone, so it is post-processing and free.
        """
        if not 1 <= len(node.expressions) <= 2:
            raise refuse(node, f"{show(node)} needs an alias and perhaps a level", f"write {node.name}(n, 0.95)")
        asked = self._interval_of(node, node.expressions[0])
        level = interval_level(node, node.expressions[1]) if len(node.expressions) == 2 else self.analyzer.level
        wanted = (asked, level)
        if wanted not in self.intervals:
            self.intervals.append(wanted)
        if len({level for _, level in self.intervals}) > MAX_LEVELS:
            raise refuse(node, f"there are intervals of more than {MAX_LEVELS} levels", "ask for fewer")
        names = interval_names(self.intervals.index(wanted))
        return end_column(names[INTERVAL_ENDS.index(node.name.lower())], asked, self.calls)

    def _interval_of(self, node: exp.Expr, argument: exp.Expr) -> int | exp.Expr:
        """What an interval is asked of, by alias or written out: an aggregate, by number, or an expression over the
        release's columns, which says in its meta how it was asked for.
        """
        found: exp.Expr | None = unparenthesised(argument)
        if isinstance(found, exp.Column) and not found.table:
            unnamed = {output_name(e).lower(): e for e in self.node.expressions if not isinstance(e, exp.Alias)}
            found = self.aliases.get(found.name.lower()) or unnamed.get(found.name.lower())
        found = None if found is None else unparenthesised(found)
        if found is not None and aggregates.each_of(found) is not None:
            raise refuse(
                argument, f"{show(argument)} has no interval: it is a list",
                "ask for each quantile by itself: QUANTILE_CONT(x, 0.9) AS q",
            )  # fmt: skip
        if found is not None and aggregates.is_aggregate(found):
            return self._call_number(found)
        if found is not None and any(map(self._has_number, found.walk())):
            _check_arithmetic(found, argument)
            tree = unparenthesised(self._released(found, aliases=False))
            _check_arithmetic(tree, argument)  # earlier aliases stand in it as what they name
            if numbers_in(tree):
                tree.meta["asked"] = argument
                return tree
        known = [e.alias for e in self.node.expressions if aggregates.is_aggregate(unparenthesised(e.unalias()))]
        known = [name for name in known if name]
        hint = f"write {node.name}({known[0]})" if known else f"write {self._with_interval(node.name)}"
        raise refuse(argument, f"{show(argument)} is not an aggregate of this SELECT, nor arithmetic on some", hint)

    def _with_interval(self, name: str) -> str:
        """This SELECT with a count that has an interval, in the place of what has none."""
        example = self.node.copy()
        kept = [item for item in example.expressions if not any(map(is_interval, item.walk()))]
        count = exp.alias_(exp.Count(this=exp.Star()), "n")
        example.set("expressions", [*kept, count, func(name, exp.column("n"))])
        return show(example, 300)

    def _has_number(self, part: exp.Expr) -> bool:
        """Whether part of an expression is an aggregate, or an earlier alias, which may stand for one."""
        return aggregates.is_aggregate(part) or (isinstance(part, exp.Column) and self._lateral_alias(part) is not None)

    # -------------------------------------------------------------------- aggregate calls

    def _call_column(self, node: exp.Expr) -> exp.Expr:
        if (several := aggregates.each_of(node)) is not None:
            return func("list_value", *(self._number_column(self._call_number(one)) for one in several))
        return self._number_column(self._call_number(node))

    def _number_column(self, number: int) -> exp.Expr:
        column = exp.column(number_name(number), quoted=True)
        return cast(column, "DATE") if self.calls[number].sql_type == "DATE" else column

    def _call_number(self, node: exp.Expr) -> int:
        """The number of an aggregate call among the distinct ones of this SELECT."""
        call = self._call(node)
        epsilon = self._own_epsilon(node)
        if epsilon is not None:
            call = replace(call, epsilon=epsilon)
        for index, known in enumerate(self.calls):
            if known.identity == call.identity and call.epsilon in (None, known.epsilon):
                return index
        if len(self.calls) == MAX_CALLS:
            raise refuse(node, f"the query has more than {MAX_CALLS} aggregates", "ask several queries")
        self.calls.append(call)
        return len(self.calls) - 1

    def _own_epsilon(self, node: exp.Expr) -> Fraction | None:
        """The ε that an aggregate asks for itself."""
        asked = (node.this if isinstance(node, exp.Filter) else node).meta.get("epsilon")
        if asked is None:
            return None
        number, epsilon, _ = asked
        self.analyzer.own_epsilons.add(number)
        assert isinstance(epsilon, Fraction)
        return epsilon

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
        if shape.argument is None:
            return Call(shape.aggregate, Measure(None, condition, shape.distinct), Shown(node))
        resolved = self.scope.resolved(shape.argument)
        counts_units = shape.aggregate == "count" and self._is_unit(resolved)
        of_unit = counts_units and shape.distinct
        if not counts_units:
            self._no_units(resolved, node, f"in {show(node)}")
        elif unparenthesised(resolved).name != self.scope.source.rows.unit:  # NULL where an outer join found no partner
            known = compiler.predicate(not_null(resolved.copy()))
            condition = known if condition is None else exp.and_(condition, known, copy=False)
        if counts_units and not of_unit:  # each row has a unit: COUNT(unit) counts rows
            return Call(shape.aggregate, Measure(None, condition, distinct=False), Shown(node))
        by_unit = shape.distinct and self.scope.source.rows.unit is not None
        several = resolved.args.get("default") if isinstance(resolved, exp.Case) else resolved
        if isinstance(several, exp.Tuple) and shape.distinct and shape.aggregate == "count":
            argument = _tuple(compiler, several, null_where_one_is=several is not resolved)
        else:
            typed = compiler.value(resolved)
            argument = aggregates.named(shape.aggregate).accept(compiler, resolved, typed)
        measure = Measure(argument, condition, shape.distinct, by_unit, of_unit)
        if shape.choice is None:
            return Call(shape.aggregate, measure, Shown(node))
        kind = result_type(shape.choice, typed)
        choice = replace(shape.choice, even=kind in TEMPORAL.values())
        return Call(shape.aggregate, measure, Shown(node), choice=choice, chosen_type=kind)


def _check_arithmetic(tree: exp.Expr, argument: exp.Expr) -> None:
    """Refuse the interval of what depends on other rows."""
    for part in tree.walk():
        if isinstance(part, (exp.Query, exp.Window)):
            what = "a window function" if isinstance(part, exp.Window) else "a subquery"
            raise refuse(
                argument, f"{show(argument)} has no interval: {what} is part of it",
                "ask for the interval of arithmetic on this SELECT's aggregates: SUM(x) / COUNT(*)",
            )  # fmt: skip


def _check_public(options: ReleaseOptions) -> None:
    """Refuse options that only say something of groups that aren't public."""
    refused = (
        (options.min_units, "min_privacy_units_per_group", "filter small groups: HAVING COUNT(*) > 10"),
        (options.selection_epsilon, "group_selection_epsilon", "leave it out: finding them costs nothing"),
        (options.strategy not in (None, PUBLIC_GROUPS), f"the strategy {options.strategy}", "write PUBLIC_GROUPS"),
    )
    for given, name, hint in refused:
        if given:
            raise UnsupportedQuery(
                f"{name} says nothing here: all groups are declared, and each is shown", hint=hint,
                position=options.position,
            )  # fmt: skip


def _tuple(compiler: Compiler, node: exp.Tuple, *, null_where_one_is: bool) -> Typed:
    """Several values as one, to count how many different there are.

    COUNT(DISTINCT x, y) leaves out rows where one of them is NULL; COUNT(DISTINCT (x, y)) counts a row value, which is
    something even if all in it are NULL.
    """
    parts = [compiler.value(part) for part in node.expressions]
    values = func("row", *(part.sql.copy() for part in parts))
    if not null_where_one_is:
        return Typed(values, ValueSet(TEXT))
    known = [not_null(paren(part.sql.copy())) for part in parts]
    return Typed(case_when((exp.and_(*known, copy=False), values)), ValueSet(TEXT, nullable=True))
