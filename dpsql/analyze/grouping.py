"""GROUP BY that contains the unit: rows of each unit become one, which is a private row again.

    SELECT AVG(total) FROM (SELECT customer_id, SUM(amount) AS total FROM orders GROUP BY customer_id) AS q

Its aggregates never leave the engine, so they get no noise and cost nothing. Each is exact and the same in whatever
order the rows are read (PROOFS P16): integers on a grid are added, clipped values compared, and 0 stands for −0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from dpsql import aggregates
from dpsql.aggregates.aggregate import Grid, one_argument
from dpsql.analyze.filters import compiler_of, filters
from dpsql.analyze.relations import Private, check_name, rebuilt
from dpsql.analyze.resolution import Scope
from dpsql.errors import NotReleasable
from dpsql.expressions import Compiler, Typed, narrow, refuse, show
from dpsql.expressions.literals import DOUBLE, INTEGER, double_sql, paren
from dpsql.expressions.narrowing import unparenthesised
from dpsql.expressions.numbers import unbounded_error
from dpsql.grids import natural_grid
from dpsql.names import output_name
from dpsql.policy import Kind
from dpsql.rows import Rows, Total, free_name, grouped
from dpsql.valueset import INT64, Interval, ValueSet

if TYPE_CHECKING:
    from dpsql.analyze.scopes import Analyzer

MAX_CELLS = 2**62
"""Of the grid of a sum: an index fits BIGINT."""
_FUNCTIONS: dict[type[exp.Expr], Literal["count", "sum", "avg", "min", "max"]] = {
    exp.Count: "count", exp.CountIf: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max",
}  # fmt: skip


def is_of_units(items: list[exp.Expr], rows: Rows) -> bool:
    """Whether one of the resolved group items is the unit itself."""
    plain = [unparenthesised(item) for item in items]
    return any(isinstance(item, exp.Column) and item.name in rows.own for item in plain)


@dataclass(slots=True)
class UnitGrouping:
    """One SELECT … GROUP BY unit, …: its rows as private ones.

    items  the group items, resolved, each with the expression as written
    """

    analyzer: Analyzer
    node: exp.Select
    scope: Scope
    items: list[tuple[exp.Expr, exp.Expr]]
    compiler: Compiler = field(init=False)
    keys: dict[str, exp.Expr] = field(default_factory=dict)
    known: list[tuple[exp.Expr, str]] = field(default_factory=list)
    sets: dict[str, ValueSet] = field(default_factory=dict)
    totals: dict[str, Total] = field(default_factory=dict)
    calls: list[tuple[object, str]] = field(default_factory=list)
    aliases: dict[str, exp.Expr] = field(init=False)

    def __post_init__(self) -> None:
        self.compiler = compiler_of(self.scope.source, self.analyzer)
        self.aliases = {e.alias.lower(): e.this for e in self.node.expressions if isinstance(e, exp.Alias)}

    def build(self) -> Private:
        for part, label in (("qualify", "QUALIFY"), ("windows", "WINDOW"), ("limit", "LIMIT"), ("offset", "OFFSET")):
            if self.node.args.get(part):
                raise refuse(
                    self.node, f"{label} over the rows of units isn't supported", "filter them: HAVING COUNT(*) > 1",
                )  # fmt: skip
        if self.node.args.get("distinct") and self.node.args.get("group"):
            raise refuse(self.node, "DISTINCT beside GROUP BY of the unit isn't supported", "leave DISTINCT out")
        self._add_keys()
        columns: dict[str, exp.Expr] = {}
        for item in self.node.expressions:
            expression = item.this if isinstance(item, exp.Alias) else item
            name = check_name(item, item.alias or output_name(item))
            if name in columns:
                raise refuse(item, f"column {name} appears twice in a subquery", "give each its own name")
            columns[name] = self._replaced(expression)
        having = self.node.args.get("having")
        where = () if having is None else (self._replaced(having.this, aliases=True),)
        source = self.scope.source
        conditions = tuple(filters(source, self.analyzer))
        rows = grouped(source.rows, conditions, self.keys, self.totals, self.sets)
        relation = Private(rows, columns, where)
        compiler = compiler_of(relation, self.analyzer)
        for expression in (*columns.values(), *where):
            compiler.value(expression)
        return relation

    def _add_keys(self) -> None:
        for resolved, written in self.items:
            resolved = unparenthesised(resolved)
            if any(resolved == known for known, _ in self.known):
                continue
            name = free_name(resolved.name if isinstance(resolved, exp.Column) else show(written), self.sets)
            rows = self.scope.source.rows
            is_own = isinstance(resolved, exp.Column) and resolved.name in rows.own
            if not is_own and any(c.name in rows.units for c in resolved.find_all(exp.Column)):
                raise refuse(written, f"{show(written)} is computed from the privacy unit", "group by the unit itself")
            typed = self.compiler.value(resolved)
            self.known.append((resolved, name))
            self.keys[name] = _one_zero(typed.stored(), typed.kind)
            self.sets[name] = typed.set.stored()

    # ------------------------------------------------------------------------------------------ expressions

    def _replaced(self, node: exp.Expr, *, aliases: bool = False) -> exp.Expr:
        """An expression over the grouped rows' columns."""
        if isinstance(node, (exp.Star, exp.Subquery, exp.Select, exp.Window)):
            raise refuse(node, f"{show(node)} isn't supported beside GROUP BY of the unit", "name keys and aggregates")
        if aggregates.is_aggregate(node):
            return self._column(self._total_name(node), node)
        if not isinstance(node, (exp.Literal, exp.Identifier, exp.Var)):
            resolved = self.scope.try_resolved(node)
            if resolved is not None:
                for known, name in self.known:
                    if known == unparenthesised(resolved):
                        return self._column(name, node)
        if isinstance(node, exp.Column):
            named = self.aliases.get(node.name.lower()) if aliases and not node.table else None
            if named is not None and self.scope.lookup(node) is None:
                return exp.Paren(this=self._replaced(named))
            if self.scope.lookup(node) is None:
                raise self.scope.unknown(node)
            raise refuse(
                node, f"column {node.name} must appear in GROUP BY or inside an aggregate",
                f"write SUM({node.name}), MAX({node.name}) or GROUP BY … , {node.name}", NotReleasable,
            )  # fmt: skip
        return rebuilt(node, lambda child: self._replaced(child, aliases=aliases))

    def _column(self, name: str, node: exp.Expr) -> exp.Column:
        column = exp.column(name, quoted=True)
        if "start" in node.meta:
            column.meta["start"] = node.meta["start"]
        return column

    # ------------------------------------------------------------------------------------------ totals

    def _total_name(self, node: exp.Expr) -> str:
        total, value_set, identity = self._total(node)
        for known, name in self.calls:
            if known == identity:
                return name
        name = free_name(show(node), self.sets)  # what a message about it shows
        self.totals[name], self.sets[name] = total, value_set
        self.calls.append((identity, name))
        return name

    def _total(self, node: exp.Expr) -> tuple[Total, ValueSet, object]:
        call, condition = (node.this, node.expression.this) if isinstance(node, exp.Filter) else (node, None)
        function = _FUNCTIONS.get(type(call))
        if function is None:
            raise refuse(
                node, f"{show(node)} of each unit isn't supported", "of a unit's rows use COUNT, SUM, AVG, MIN or MAX",
            )  # fmt: skip
        if function in ("min", "max"):
            shape = one_argument(call, function, function.upper())
        else:
            shape = aggregates.read_call(call)
        if shape.condition is not None:
            condition = shape.condition if condition is None else exp.and_(condition.copy(), shape.condition.copy())
        compiler, predicate = self.compiler, None
        if condition is not None:
            resolved = self.scope.resolved(condition)
            predicate = compiler.predicate(resolved)
            compiler = compiler.with_columns(narrow(compiler, resolved))
        argument = None
        if shape.argument is not None:
            resolved = self.scope.resolved(shape.argument)
            for column in resolved.find_all(exp.Column):
                if function != "count" and column.name in self.scope.source.rows.units:
                    raise refuse(node, f"{show(node)} would show the privacy unit", "count rows: COUNT(*)")
            argument = compiler.value(resolved)
            if function in ("sum", "avg"):
                argument = aggregates.named(function).accept(compiler, resolved, argument)
        grid = None
        if function in ("sum", "avg"):
            assert argument is not None
            grid = self._grid(argument, node)
        if function in ("min", "max") and argument is not None:
            argument = replace(argument, sql=_one_zero(argument.sql, argument.kind))
        identity = (
            function, shape.distinct, None if argument is None else argument.sql.sql("duckdb"),
            None if predicate is None else predicate.sql("duckdb"),
        )  # fmt: skip
        total = Total(function, argument, predicate, shape.distinct, grid)
        value_set = self._set(total)
        return replace(total, whole=function == "sum" and value_set.kind is Kind.INTEGER), value_set, identity

    def _grid(self, argument: Typed, node: exp.Expr) -> Grid:
        grid = natural_grid(argument)
        if not argument.set.bounds.bounded or grid.cells > MAX_CELLS:
            raise unbounded_error(self.compiler, node, f"{show(node)} needs bounds")
        return grid

    def _set(self, total: Total) -> ValueSet:
        """What a total is where a unit has at most as many rows as its bound says; beyond, it is moved there."""
        bound = self.scope.source.rows.bound
        assert bound is not None
        most, optional = bound.rows, total.condition is not None
        if total.function == "count":
            every = total.argument is None and not optional
            return _integers(Interval(Fraction(1 if every else 0), Fraction(most)))
        assert total.argument is not None
        value_set = total.argument.set
        nullable = value_set.nullable or optional
        if total.function in ("min", "max"):
            return replace(value_set.stored(), nullable=nullable)
        assert total.grid is not None
        one = Interval(total.grid.lower, total.grid.upper)
        if total.function == "avg":
            return ValueSet(DOUBLE, one, one, nullable=nullable)
        ends = one.hull(Interval(one.lower * most, one.upper * most))
        if value_set.kind is Kind.INTEGER and total.grid.grain == 1 and ends.magnitude < INT64:
            return replace(_integers(ends), nullable=nullable)
        return ValueSet(DOUBLE, ends, ends, nullable=nullable)


def _integers(ends: Interval) -> ValueSet:
    return ValueSet(INTEGER, ends, ends, grain=Fraction(1))


def _one_zero(value: exp.Expr, kind: Kind) -> exp.Expr:
    """The value, and 0 in the place of −0.

    The two are equal, so the order of rows would decide which of them stands for both, and 1/x tells them apart: a
    unit's total would turn on where other units' rows lie (PROOFS P16). IEEE 754: −0 + 0 is 0.
    """
    return exp.Paren(this=exp.Add(this=paren(value), expression=double_sql(0))) if kind is Kind.DOUBLE else value


def group_items(listed: Iterator[exp.Expr], scope: Scope) -> list[tuple[exp.Expr, exp.Expr]] | None:
    """The group items of a SELECT, resolved and as written; None where one is no expression over private rows."""
    found = []
    for item in listed:
        resolved = scope.try_resolved(item)
        if resolved is None:
            return None
        found.append((resolved, item))
    return found
