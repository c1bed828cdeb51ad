"""Subqueries in the conditions of private rows: IN and EXISTS become marks, released and public numbers constants.

A mark is a boolean column: whether a row has a partner in the subquery. Where that reads private rows, the two must be
of the same unit, by equality of the unit itself or of a foreign key that leads to it: so whether a row is marked turns
on rows of its own unit alone (PROOFS P5). EXISTS compares units by equality, for which NULL is no partner, and the
engine never sees NOT IN over private rows. Where it reads a public table, the mark is a function of one private row.

A constant is a subquery that stands for itself: over released numbers it is planned and charged with all others before
anything is read, and used as an unknown value that narrows nothing (PROOFS A7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from dpsql.analyze.filters import compiler_of
from dpsql.analyze.joins import Pair, connects_units, equality, materialised, unit_column
from dpsql.analyze.relations import Derived, Environment, Private, rebuilt
from dpsql.analyze.resolution import Scope
from dpsql.errors import UnknownColumn, UnknownTable
from dpsql.expressions import Compiler, connector_terms, refuse, show
from dpsql.expressions.literals import DOUBLE, INTEGER, not_null, sql_type, try_cast
from dpsql.expressions.narrowing import unparenthesised
from dpsql.policy import ColumnType, Kind
from dpsql.query import MAX_CONSTANTS, Constant, ReleaseQuery, constant_name, direct_release, number_type, release_name
from dpsql.rows import RESERVED, Mark, Rows, identical, marked, names_beside, with_constant

if TYPE_CHECKING:
    from dpsql.analyze.scopes import Analyzer

GROUPED = "(SELECT key, SUM(x) AS s FROM … GROUP BY key HAVING COUNT(*) > 0) AS q"
"""What takes the place of a subquery for each row."""
_COMPARED = (Kind.INTEGER, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN)
"""Kinds whose stored types compare without a conversion that could fail."""


@dataclass(slots=True)
class Subqueries:
    """Puts columns of the rows in the place of subqueries in conditions, one after the other."""

    analyzer: Analyzer
    scope: Scope
    env: Environment

    def replaced(self, condition: exp.Expr) -> exp.Expr:
        """The condition without subqueries: `scope` then has the columns that stand for them."""
        if not any(isinstance(node, (exp.Query, exp.Exists)) for node in condition.walk()):
            return condition
        match condition:
            case exp.In() if condition.args.get("query") is not None:
                return self._in(condition)
            case exp.Exists():
                return self._exists(condition)
            case exp.Subquery() | exp.Select() | exp.SetOperation():
                return self._constant(condition)
            case exp.Any() | exp.All():
                raise refuse(condition, f"{show(condition)} isn't supported", "write IN or EXISTS")
        return rebuilt(condition, self.replaced)

    def _new_column(self, rows: Rows, name: str) -> exp.Column:
        column = exp.column(name, quoted=True)
        merged = {**self.scope.merged, name: column}
        self.scope = replace(self.scope, source=replace(self.scope.source, rows=rows), merged=merged)
        return column

    # ------------------------------------------------------------------------------------------ IN

    def _in(self, node: exp.In) -> exp.Expr:
        query = node.args["query"]
        inner = query.this if isinstance(query, exp.Subquery) and not query.args.get("with_") else query
        relation = self._uncorrelated(inner, node)
        found = relation if isinstance(relation, Private) else relation.public
        if found is None:
            raise refuse(
                node, "IN over the result of a query that aggregates isn't supported over private rows",
                "write the values themselves, or filter the released rows outside",
            )  # fmt: skip
        if len(found.columns) != 1:
            raise refuse(node, f"the subquery of IN has {len(found.columns)} columns", "name one column")
        right = materialised(found, self.analyzer)
        (name,) = found.columns
        left = self.scope.source.rows
        resolved = unparenthesised(self.scope.resolved(self.replaced(node.this)))
        mark = f"{RESERVED}_mark_{len(left.sets)}"
        if right.rows.bound is not None:
            self._check_units(node, left, right.rows)
            is_unit = isinstance(resolved, exp.Column) and resolved.name in left.own
            if not is_unit or name not in right.rows.own:
                raise refuse(
                    node, "IN over private rows must compare privacy units: both sides must be the unit's column",
                    self._instead_of_in(resolved, right.rows, name),
                )  # fmt: skip
            form = Mark(left, right.rows, mark, ((resolved.name, name),), {})
            column = self._new_column(marked(left, form, nullable=False), mark)
            if resolved.name == left.unit:
                return column
            known = not_null(node.this.copy())  # NULL IN (…) is unknown
            return exp.Case(ifs=[exp.If(this=known, true=column)])
        typed = self._compiler().value(resolved)
        theirs = right.rows.sets[name]
        if typed.kind is not theirs.kind or typed.kind not in _COMPARED:
            raise refuse(
                node, f"{show(node.this)} is {typed.set.type} and the subquery's column {theirs.type}: IN compares "
                "integers, texts, dates or timestamps of one type", "cast one of them",
            )  # fmt: skip
        form = Mark(left, right.rows, mark, (), {}, value=typed.sql, column=name)
        return self._new_column(marked(left, form, nullable=True), mark)

    def _instead_of_in(self, resolved: exp.Expr, right: Rows, name: str) -> str:
        """What to write in the place of IN: EXISTS, where the two columns are a foreign key that leads to the unit."""
        generic = "write unit IN (SELECT unit FROM … WHERE …)"
        left, types = self.scope.source.rows, self.analyzer.catalogue.types
        pairs = [Pair(resolved, exp.column(name, quoted=True), resolved)]
        follows = isinstance(resolved, exp.Column) and identical(left, resolved.name, right, name, types)
        if not follows or len(right.tables) != 1 or not connects_units(left, right, pairs, self.analyzer.policy):
            return generic
        table = right.tables[0].name
        for part, columns in self.scope.parts.items():
            for column, expression in columns.items():
                if isinstance(expression, exp.Column) and expression.name == resolved.name:
                    inner = "q" if part == table.lower() else table
                    named = f"{table} AS q" if part == table.lower() else table
                    return f"write EXISTS (SELECT 1 FROM {named} WHERE {inner}.{name} = {part}.{column})"
        return generic

    def _compiler(self) -> Compiler:
        return compiler_of(self.scope.source, self.analyzer)

    def _uncorrelated(self, query: exp.Expr, node: exp.Expr) -> Private | Derived:
        try:
            return self.analyzer.query(query, self.env)
        except (UnknownColumn, UnknownTable):
            if any(self._is_outer(column) for column in query.find_all(exp.Column)):
                hint = "group it by what it is compared with, in FROM, and join its result: " + GROUPED
                if isinstance(node, exp.In):
                    hint = "write it without columns from outside, or EXISTS with an equality of units"
                raise refuse(node, f"the subquery {show(query)} depends on the row around it", hint) from None
            raise

    def _is_outer(self, column: exp.Column) -> bool:
        try:
            return self.scope.lookup(column) is not None
        except UnknownColumn:
            return True

    def _check_units(self, node: exp.Expr, left: Rows, right: Rows) -> None:
        if left.unit is None or right.unit is None:
            raise refuse(
                node, f"a row of {left.name if left.unit is None else right.name} is a unit of its own, so no row of "
                "another private table belongs to it", "ask a query of each table",
            )  # fmt: skip

    # ------------------------------------------------------------------------------------------ EXISTS

    def _exists(self, node: exp.Exists) -> exp.Expr:
        query = _bare(node.this)
        if not isinstance(query, exp.Select):
            raise refuse(node, f"{show(node)} isn't supported", "write EXISTS (SELECT 1 FROM … WHERE …)")
        for part, value in query.args.items():
            if value and part not in ("expressions", "from_", "joins", "where"):
                raise refuse(
                    node, f"{part.strip('_').upper()} inside EXISTS over rows beside private ones isn't supported",
                    "write unit IN (SELECT unit FROM … GROUP BY unit HAVING …)",
                )  # fmt: skip
        inner, filters = self.analyzer.from_clause(query, self.env)
        nested = Subqueries(self.analyzer, inner, self.env)
        local, correlated = [], []
        for condition in filters:
            plain = nested.replaced(condition)
            resolved = nested.scope.try_resolved(plain)
            if resolved is None:
                correlated.append(plain)
            else:
                local += connector_terms(unparenthesised(resolved), exp.And)
        inner = nested.scope
        columns = self._named(inner)
        columns |= {name: c for name, c in inner.merged.items() if name.startswith(RESERVED)}
        source = replace(inner.source, columns=columns, where=(*inner.source.where, *local))
        return self._partner(node, materialised(source, self.analyzer), inner, correlated)

    def _partner(self, node: exp.Expr, right: Private, inner: Scope, correlated: list[exp.Expr]) -> exp.Expr:
        left = self.scope.source.rows
        places = {id(c): name for name, c in self._named(inner).items()}
        pairs, rest = [], []
        types = self.analyzer.catalogue.types
        for condition in correlated:
            pair = self._pair(unparenthesised(condition), inner, places)
            if pair is not None and identical(left, pair.left_name, right.rows, pair.right_name, types):
                pairs.append(pair)
            else:
                rest.append(condition)
        if right.rows.bound is not None:
            self._check_units(node, left, right.rows)
            if not connects_units(left, right.rows, pairs, self.analyzer.policy):
                raise refuse(
                    node, f"EXISTS over {right.rows.name} must be joined to the row around it on the privacy unit",
                    self._partner_hint(right.rows),
                )  # fmt: skip
        names = names_beside(left, right.rows)
        both = self._condition(rest, inner, right, places, names) if rest else None
        mark = f"{RESERVED}_mark_{len(left.sets)}"
        on = tuple((pair.left_name, pair.right_name) for pair in pairs)
        return self._new_column(marked(left, Mark(left, right.rows, mark, on, names, both), nullable=False), mark)

    def _partner_hint(self, right: Rows) -> str:
        """An EXISTS that is on the unit; where the subquery's table reaches it through another, with that one."""
        left = self.scope.source.rows
        found = (unit_column(part, columns, left) for part, columns in self.scope.parts.items())
        mine = next((unit for unit in found if unit is not None), None)
        theirs = next((right.where_from(c) for c in sorted(right.own) if c in right.origins), None)
        if mine is not None and theirs is not None:
            return f"write EXISTS (SELECT 1 FROM {theirs[0]} AS b WHERE b.{theirs[1]} = {mine} AND …)"
        for table in right.tables:
            key = table.via
            if key is not None:
                equal = equality(key, table.name, key.parent)
                return f"join {key.parent} inside, along the foreign key ({equal}), and compare its unit with the row's"
        return "compare the units of the two"

    def _named(self, inner: Scope) -> dict[str, exp.Expr]:
        return {f"{part}.{name}": c for part, listed in inner.parts.items() for name, c in listed.items()}

    def _inner_name(self, column: exp.Column, inner: Scope, places: Mapping[int, str]) -> str | None:
        """What a column of the subquery is called among its materialised columns."""
        found = inner.lookup(column)
        return None if found is None else places.get(id(found), found.name)

    def _pair(self, node: exp.Expr, inner: Scope, places: Mapping[int, str]) -> Pair | None:
        """An equality of a column of the subquery with one from outside."""
        if not isinstance(node, exp.EQ):
            return None
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            theirs, mine = unparenthesised(one), unparenthesised(other)
            if not isinstance(theirs, exp.Column) or not isinstance(mine, exp.Column):
                return None
            name = self._inner_name(theirs, inner, places)
            if name is None or inner.lookup(mine) is not None:
                continue
            outer = self.scope.lookup(mine)
            if isinstance(outer, exp.Column):
                return Pair(outer, exp.column(name, quoted=True), node)
        return None

    def _condition(
        self, rest: list[exp.Expr], inner: Scope, right: Private, places: Mapping[int, str], names: Mapping[str, str]
    ) -> exp.Expr:
        """Further conditions on a row and its partner, as total SQL over the columns of both."""
        left = self.scope.source.rows

        def resolved(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column):
                name = self._inner_name(node, inner, places)
                if name is not None:
                    return exp.column(names[name], quoted=True)
                return self.scope.resolved(node)
            if isinstance(node, exp.Query):
                raise refuse(node, f"{show(node)} inside EXISTS isn't supported", "write it outside")
            return rebuilt(node, resolved)

        sets = {**left.sets, **{names[name]: value_set for name, value_set in right.rows.sets.items()}}
        compiler = Compiler(sets, left.where_from, self.analyzer.today, self.analyzer.steps)
        return exp.and_(*(compiler.predicate(resolved(condition)) for condition in rest), copy=False)

    # ------------------------------------------------------------------------------------------ constants

    def _constant(self, node: exp.Expr) -> exp.Expr:
        query = node.this if isinstance(node, exp.Subquery) and not node.args.get("with_") else node
        relation = self._uncorrelated(query, node)
        if isinstance(relation, Private):
            raise refuse(
                node, f"the subquery {show(query)} gives rows of the private {relation.rows.name}, not one number",
                "aggregate in it: (SELECT AVG(x) FROM …)",
            )  # fmt: skip
        tree = relation.tree
        if self._reads_release(tree) and not self._is_one_row(tree):
            raise refuse(node, f"the subquery {show(query)} may give many rows", "aggregate in it without GROUP BY")
        if len(self.analyzer.constants) >= MAX_CONSTANTS:
            raise refuse(
                node,
                f"the query has more than {MAX_CONSTANTS} subqueries that stand for a number",
                "ask several queries",
            )
        shown = self._kind(tree)
        kind = shown or DOUBLE
        to = sql_type(kind)
        name = constant_name(len(self.analyzer.constants))
        definitions = self._definitions(tree)
        value = try_cast(exp.Subquery(this=tree), to)
        select = exp.Select(expressions=[exp.alias_(value, "value", quoted=True)])
        if definitions:
            select.set("with_", exp.With(expressions=[cte.copy() for cte in definitions]))
        self.analyzer.constants.append(Constant(name, select, to, guessed=shown is None))
        source = self.scope.source
        return self._new_column(with_constant(source.rows, name, kind, to), name)

    def _definitions(self, tree: exp.Expr) -> list[exp.CTE]:
        """The CTEs from around it that a subquery reads, each after those that it reads itself."""
        found: dict[str, exp.CTE] = {}
        seen: set[str] = set()  # a CTE may be called like the table that it reads

        def add(node: exp.Expr) -> None:
            for table in node.find_all(exp.Table):
                name = table.name.lower()
                relation = self.env.get(name)
                if isinstance(relation, Derived) and relation.definition is not None and name not in seen:
                    seen.add(name)
                    add(relation.definition.this)
                    found[name] = relation.definition

        add(tree)
        return list(found.values())

    def _reads_release(self, tree: exp.Expr) -> bool:
        names = {release_name(i) for i in range(len(self.analyzer.releases))}
        read = [tree, *(cte.this for cte in self._definitions(tree))]
        return any(table.name in names for node in read for table in node.find_all(exp.Table))

    def _is_one_row(self, tree: exp.Expr) -> bool:
        """Whether a query gives one row at most, whatever it reads."""
        if isinstance(tree, exp.Subquery):
            return self._is_one_row(tree.this)
        if not isinstance(tree, exp.Select):
            return False
        start = tree.args.get("from_")
        if start is not None and not tree.args.get("joins"):
            relation = self.env.get(start.this.name.lower()) if isinstance(start.this, exp.Table) else None
            if isinstance(relation, Derived) and relation.definition is not None:
                return self._is_one_row(relation.definition.this)
            if isinstance(start.this, exp.Subquery) and self._is_one_row(start.this):
                return True
        limit = tree.args.get("limit")
        if limit is not None and limit.expression is not None and limit.expression.name == "1":
            return True
        windowed = any(item.find(exp.Window) for item in tree.expressions)
        aggregated = not windowed and any(item.find(exp.AggFunc) for item in tree.expressions)
        index = direct_release(tree)
        return (aggregated and not tree.args.get("group")) or (index is not None and not self._release(index).keys)

    def _release(self, index: int) -> ReleaseQuery:
        return self.analyzer.releases[index]

    def _kind(self, tree: exp.Expr) -> ColumnType | None:
        """The type of a subquery's one column, as far as it shows."""
        items = tree.args.get("expressions") or []
        item = items[0].unalias() if len(items) == 1 else None
        while isinstance(item, (exp.Min, exp.Max, exp.Paren)):
            item = item.this
        if isinstance(item, exp.Count):
            return INTEGER
        index = direct_release(tree)
        if index is not None:
            return number_type(item, self._release(index).calls)
        if not isinstance(item, exp.Column):
            return None
        for table in tree.find_all(exp.Table):
            declared = self.analyzer.policy.tables.get(table.name.lower())
            column = None if declared is None else declared.columns.get(item.name.lower())
            if column is not None:
                return column.type if column.type.kind is not Kind.DECIMAL else DOUBLE
        return None


def _bare(query: exp.Expr) -> exp.Expr:
    while isinstance(query, (exp.Subquery, exp.Paren)):
        query = query.this
    return query
