"""FROM with several tables: which rows belong together, and why joining them is sound.

A private row may meet rows of the same unit, and rows of public tables. So a private table joins

- another one on the unit: a unit column of each is equal, and one side has one row of each unit (a unit with many rows
  on both sides would make as many pairs as their product, which takes a time that tells);
- another one along a declared foreign key that leads to the unit: the child's row belongs to the unit of its parent's;
- a public one on all columns of a key of it that is kept unique, compared as they are stored: a private row meets at
  most one public row (PROOFS P4).

Everything else is refused with the equality that is missing. Conditions that don't connect tables are filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from dpsql.analyze.filters import compiler_of, filters
from dpsql.analyze.relations import Private
from dpsql.analyze.resolution import Scope, ambiguous
from dpsql.errors import UnknownColumn
from dpsql.expressions import connector_terms, position_of, refuse, show
from dpsql.expressions.narrowing import unparenthesised
from dpsql.policy import ForeignKey, Policy, Unit
from dpsql.privacy.sensitivity import ContributionBound
from dpsql.rows import Join, Known, Rows, identical, join, renamed, select, stands_once

if TYPE_CHECKING:
    from dpsql.analyze.scopes import Analyzer


How = Literal["inner", "left"]
MAX_SOURCES = 100
"""Tables and subqueries of one FROM clause: how they are connected is searched for."""


@dataclass(frozen=True, slots=True)
class Source:
    """A table or subquery of FROM. `how` it is joined: "inner" (a comma too), "left"; `on` its ON conditions."""

    node: exp.Expr
    relation: Private
    how: How = "inner"
    on: tuple[exp.Expr, ...] = ()
    using: tuple[exp.Identifier, ...] = ()

    @property
    def name(self) -> str:
        return self.relation.alias

    @property
    def written(self) -> str:
        """How it stands in FROM, for hints."""
        return f"{self.node.name} AS {self.name}" if isinstance(self.node, exp.Table) and self.node.alias else self.name


@dataclass(frozen=True, slots=True)
class _Equality:
    """A condition `a.x = b.y` on columns as they are stored or were computed: (source, column) of each side."""

    node: exp.Expr
    one: tuple[str, str]
    other: tuple[str, str]

    def towards(self, name: str, known: Mapping[str, object]) -> tuple[tuple[str, str], str] | None:
        """(source and column on the known side, column of source `name`), if it connects the two."""
        for mine, theirs in ((self.one, self.other), (self.other, self.one)):
            if mine[0] == name and theirs[0] in known:
                return theirs, mine[1]
        return None


def conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """The conditions that all hold where one does; what all parts of an OR share stands before it.

    (a AND x) OR (a AND y) is a AND (x OR y), NULL or not: Kleene's logic is distributive.
    """
    plain = unparenthesised(condition)
    if isinstance(plain, exp.And):
        return [found for term in connector_terms(plain, exp.And) for found in conjuncts(term)]
    return _factored(plain) if isinstance(plain, exp.Or) else [condition]


def _factored(node: exp.Or) -> list[exp.Expr]:
    parts = [
        [unparenthesised(t) for t in connector_terms(unparenthesised(part), exp.And)]
        for part in connector_terms(node, exp.Or)
    ]
    shared = [term for term in parts[0] if all(term in part for part in parts[1:])]
    if not shared:
        return [node]
    rest = [[term for term in part if term not in shared] for part in parts]
    if not all(rest):
        return shared
    return [*shared, exp.or_(*(exp.and_(*part) for part in rest))]


def read_join(node: exp.Join) -> tuple[How, tuple[exp.Expr, ...], tuple[exp.Identifier, ...]]:
    """How a join joins, its ON conditions, and the columns of USING."""
    words = [str(node.args.get(part) or "").upper() for part in ("method", "side", "kind")]
    label = " ".join(word for word in words if word)
    if label not in ("", "INNER", "CROSS", "LEFT", "LEFT OUTER"):
        hints = {
            "RIGHT": "write the private table that keeps all its rows first, and LEFT JOIN the other",
            "FULL": "write LEFT JOIN from the table whose rows are counted",
            "NATURAL": "name the columns: JOIN … USING (column)",
            "SEMI": "write WHERE unit IN (SELECT unit FROM …)",
            "ANTI": "write WHERE unit NOT IN (SELECT unit FROM …)",
        }
        hint = next((h for word, h in hints.items() if word in label), "write JOIN … ON, or LEFT JOIN … ON")
        raise refuse(node, f"{label} JOIN with private rows isn't supported", hint)
    for part, value in node.args.items():
        if value and part not in ("this", "on", "using", "side", "kind"):
            raise refuse(node, f"{show(node).strip()} has an option that isn't supported", "write JOIN … ON a.x = b.x")
    on = node.args.get("on")
    conditions = () if on is None else tuple(conjuncts(on))
    using = tuple(node.args.get("using") or ())
    return "left" if words[1] == "LEFT" else "inner", conditions, using


@dataclass(slots=True)
class FromClause:
    """Joins the sources of a FROM clause one after the other, each as soon as it is connected."""

    analyzer: Analyzer
    sources: list[Source]
    where: list[exp.Expr]
    joined: Private = field(init=False)
    parts: dict[str, dict[str, exp.Expr]] = field(default_factory=dict)
    using: dict[str, str] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    _inner: tuple[_Equality, ...] | None = None

    def __post_init__(self) -> None:
        self._check_names()
        self.sources = [self._without_using(index, source) for index, source in enumerate(self.sources)]

    def scope(self) -> tuple[Scope, list[exp.Expr]]:
        """The scope of the whole clause, and the conditions that are filters."""
        waiting = list(self.sources)
        first = next((s for s in waiting if s.relation.rows.bound is not None and s.how == "inner"), None)
        if first is None:
            private = next(s for s in waiting if s.relation.rows.bound is not None)
            raise refuse(
                private.node, f"a LEFT JOIN of the private {private.name} to public rows isn't supported",
                f"write {private.name} first: FROM {private.written} LEFT JOIN … ON …",
            )  # fmt: skip
        waiting.remove(first)
        self.joined = first.relation
        self.parts[first.name] = dict(first.relation.columns)
        while waiting:
            attached = next((s for s in self._next(waiting) if self._attach(s)), None)
            if attached is None:
                raise self._unconnected(waiting)
            waiting.remove(attached)
        parts = {source.name: self.parts[source.name] for source in self.sources}  # as written: what * lists
        columns = self._all_columns(parts)
        scope = Scope(self.analyzer.size, replace(self.joined, columns=columns, alias=""), parts, self._merged())
        return scope, [condition for condition in self._conditions() if id(condition) not in self.used]

    def _next(self, waiting: list[Source]) -> Iterator[Source]:
        """What may be joined now: nothing that stands behind an outer join's table before that table is."""
        for source in waiting:
            yield source
            if source.how == "left":
                return

    def _conditions(self) -> Iterator[exp.Expr]:
        for source in self.sources:
            if source.how == "inner":
                yield from source.on
        yield from self.where

    def _check_names(self) -> None:
        if len(self.sources) > MAX_SOURCES:
            raise refuse(self.sources[MAX_SOURCES].node, f"FROM names more than {MAX_SOURCES} tables", "join fewer")
        names = [source.name for source in self.sources]
        for source in self.sources:
            if names.count(source.name) > 1:
                what = f"the name {source.name} stands twice in FROM" if source.name else "two of FROM have no name"
                raise refuse(source.node, what, "give each an alias of its own")

    def _all_columns(self, parts: Mapping[str, Mapping[str, exp.Expr]]) -> dict[str, exp.Expr]:
        columns = self._merged()
        for part in parts.values():
            for name, expression in part.items():
                columns.setdefault(name, expression)
        return columns

    # ------------------------------------------------------------------------------------------ names

    def _without_using(self, index: int, source: Source) -> Source:
        """USING (c) as the equality it is, of the first source before that has the column."""
        equal = []
        for column in source.using:
            name = column.name.lower()
            left = next((s.name for s in self.sources[:index] if name in s.relation.columns), None)
            if left is None or name not in source.relation.columns:
                lacking = source.name if left is not None else " or ".join(s.name for s in self.sources[:index])
                raise UnknownColumn(
                    f"USING names the column {column.name}, which does not exist in {lacking}",
                    hint="write ON a.x = b.y", position=position_of(source.node),
                )  # fmt: skip
            self.using[name] = left
            one, other = (
                exp.column(column.copy(), table=exp.to_identifier(t, quoted=True)) for t in (left, source.name)
            )
            equal.append(exp.EQ(this=one, expression=other))
        return replace(source, on=(*source.on, *equal))

    def _merged(self) -> dict[str, exp.Expr]:
        """The columns of USING, as far as they are joined: the left one of the two."""
        return {name: self.parts[left][name] for name, left in self.using.items() if left in self.parts}

    def _named(self, node: exp.Expr) -> tuple[str, str] | None:
        """(source, column) of a bare column of this clause, None for anything else."""
        node = unparenthesised(node)
        if not isinstance(node, exp.Column) or node.args.get("db"):
            return None
        name = node.name.lower()
        if not node.table and name in self.using:
            return self.using[name], name
        having = [s.name for s in self.sources if name in s.relation.columns and node.table.lower() in ("", s.name)]
        if len(having) > 1:
            raise ambiguous(node, having)
        return (having[0], name) if having else None

    def _equalities(self, conditions: Iterable[exp.Expr]) -> Iterator[_Equality]:
        for condition in conditions:
            plain = unparenthesised(condition)
            if isinstance(plain, exp.EQ):
                one, other = self._named(plain.this), self._named(plain.expression)
                if one is not None and other is not None and one[0] != other[0]:
                    yield _Equality(condition, one, other)

    # ------------------------------------------------------------------------------------------ joining

    def _attach(self, source: Source) -> bool:
        """Join a source if it is connected to what is joined so far."""
        if source.how != "left" and self._inner is None:  # the same for all of them
            self._inner = tuple(self._equalities(self._conditions()))
        pairs = []
        for equality in self._equalities(source.on) if source.how == "left" else self._inner or ():
            found = equality.towards(source.name, self.parts)
            if found is not None:
                pairs.append((*found, equality.node))
        right = source.relation
        if source.how == "left" and (right.where or not all(isinstance(c, exp.Column) for c in right.columns.values())):
            right = materialised(right, self.analyzer)
        found_pairs = [Pair(self.parts[left[0]][left[1]], right.columns[column], node) for left, column, node in pairs]
        connection = self._connection(right, [p for p in found_pairs if p.plain], source)
        if connection is None:
            return False
        self._join(source, right, connection)
        return True

    def _connection(self, relation: Private, pairs: list[Pair], source: Source) -> _Connection | None:
        left, right = self.joined.rows, relation.rows
        assert left.bound is not None
        types = self.analyzer.catalogue.types
        pairs = [p for p in pairs if identical(left, p.left_name, right, p.right_name, types)]
        if right.bound is None:
            for key in self._unique(right):
                stored = {p: _stored_name(right, p.right_name) for p in pairs}  # whatever they are called here
                chosen = [p for p, column in stored.items() if column in key]
                if {stored[p] for p in chosen} == key:
                    return _Connection(tuple(chosen), left.bound)
            return None
        if left.unit is None or right.unit is None:
            raise refuse(
                source.node, f"a row of {right.name if right.unit is None else left.name} is a unit of its own, so no "
                "row of another private table belongs to it",
                "aggregate each in a subquery, then join the results",
            )  # fmt: skip
        return self._along_key(left, right, pairs, source) or self._on_unit(left, right, pairs, source)

    def _unique(self, right: Rows) -> tuple[frozenset[str], ...]:
        """The keys of a public relation that are kept unique, as sets of its table's columns."""
        if isinstance(right.form, Known):
            return (right.form.keys,)
        tables = {origin.table.name.lower() for origin in right.origins.values()}
        return self.analyzer.catalogue.unique.get(tables.pop(), ()) if len(tables) == 1 else ()

    def _along_key(self, left: Rows, right: Rows, pairs: list[Pair], source: Source) -> _Connection | None:
        """A join of child and parent along the foreign key that leads to the unit.

        A row of the child has one parent at most, so the pairs are as many as the child's rows, unless the parent's
        rows stand in the other relation several times: then they are refused.
        """
        assert left.bound is not None and right.bound is not None
        for child, parent in ((right, left), (left, right)):
            for table in child.tables:
                key = table.via
                chosen = () if key is None else _key_pairs(key, table.name, pairs, left, right, child is right)
                if key is None or not chosen:
                    continue
                owner = self.analyzer.policy.tables[key.parent].unit
                assert isinstance(owner, Unit) and parent.bound is not None and child.bound is not None
                origin = parent.origins[chosen[0].left_name if parent is left else chosen[0].right_name]
                if parent.bound.rows > owner.max_rows or not stands_once(parent, origin.scan):
                    raise self._many_on_both(source)
                bound = child.bound
                if source.how == "left" and parent is left:  # parents without children count beside all children
                    bound = replace(bound, rows=parent.bound.rows + bound.rows - 1)
                return _Connection(
                    chosen, bound, parent is right and source.how == "inner",
                    frozenset({"left" if parent is left else "right"}),
                )  # fmt: skip
        return None

    def _on_unit(self, left: Rows, right: Rows, pairs: list[Pair], source: Source) -> _Connection | None:
        assert left.bound is not None and right.bound is not None
        chosen = next((p for p in pairs if p.left_name in left.own and p.right_name in right.own), None)
        if chosen is None:
            return None
        if min(left.bound.rows, right.bound.rows) > 1:
            raise self._many_on_both(source)
        weighted = left.bound.weighted or right.bound.weighted
        bound = ContributionBound(left.bound.rows * right.bound.rows, weighted)
        repeated: Literal["left", "right"] = "left" if right.bound.rows > 1 else "right"
        return _Connection((chosen,), bound, repeated=frozenset({repeated} if bound.rows > 1 else ()))

    def _many_on_both(self, source: Source) -> Exception:
        unit = unit_column(source.name, source.relation.columns, source.relation.rows)
        table = source.relation.rows.name
        name = "unit" if unit is None else unit.rpartition(".")[2]
        return refuse(
            source.node,
            f"{self.joined.rows.name} and {source.name} both have many rows of one unit, so their join pairs each with "
            "each",
            f"join one row of each unit: (SELECT {name}, COUNT(*) AS n FROM {table} GROUP BY {name}) AS q",
        )

    def _join(self, source: Source, right: Private, connection: _Connection) -> None:
        kind = source.how
        on = tuple((p.left_name, p.right_name) for p in connection.pairs)
        joined, names = join(
            self.joined.rows, right.rows, kind, on,
            bound=connection.bound, unit_of_right=connection.unit_of_right, repeated=connection.repeated,
        )  # fmt: skip
        self.used |= {id(p.node) for p in connection.pairs}
        columns = {name: renamed(c, names) for name, c in right.columns.items()}
        self.parts[source.name] = columns
        where = self.joined.where
        if kind == "inner":
            where += tuple(renamed(c, names) for c in right.where)
        self.joined = replace(self.joined, rows=joined, where=where)
        if kind == "left":
            self._condition(source, joined)

    def _condition(self, source: Source, joined: Rows) -> None:
        """The other conditions of an outer join's ON: they choose among partners, and drop no row of the left."""
        rest = [c for c in source.on if id(c) not in self.used]
        if not rest:
            return
        scope = Scope(self.analyzer.size, replace(self.joined, where=()), self.parts, self._merged())
        compiler = compiler_of(scope.source, self.analyzer)
        condition = exp.and_(*(compiler.predicate(scope.resolved(c)) for c in rest), copy=False)
        form = joined.form
        assert isinstance(form, Join)
        self.joined = replace(self.joined, rows=replace(joined, form=replace(form, condition=condition)))

    # ------------------------------------------------------------------------------------------ refusals

    def _unconnected(self, waiting: list[Source]) -> Exception:
        source = next((s for s in self._next(waiting) if s.relation.rows.bound is not None), waiting[0])
        if source.relation.rows.bound is None:
            return self._public_unconnected(source)
        return refuse(
            source.node,
            f"the join of {self.joined.rows.name} with {source.name} is not on their privacy unit",
            self._missing_equality(source),
        )

    def _public_unconnected(self, source: Source) -> Exception:
        name, keys = source.name, [sorted(key) for key in self._unique(source.relation.rows)]
        if not keys:
            tables = {origin.table.name for origin in source.relation.rows.origins.values()}
            table = tables.pop() if len(tables) == 1 else name
            return refuse(
                source.node, f"the public table {table} has no key that is declared unique, so a private row could "
                "meet many of its rows",
                f"the policy can say which columns are one: tables.{table}.primary_key",
            )  # fmt: skip
        equal = " or ".join(" AND ".join(f"{name}.{column} = …" for column in key) for key in keys)
        what = "released groups" if isinstance(source.relation.rows.form, Known) else "public table"
        return refuse(
            source.node, f"the {what} {name} must be joined on the whole of its key, by plain equality of "
            "columns of the same type",
            f"write JOIN {source.written} ON {equal}",
        )  # fmt: skip

    def _missing_equality(self, source: Source) -> str:
        """The equality of units that a join lacks; where a table reaches its unit through others, that of the key."""
        rows = source.relation.rows
        theirs = unit_column(source.name, source.relation.columns, rows)
        mine = next((u for p, c in self.parts.items() if (u := unit_column(p, c, self.joined.rows)) is not None), None)
        if theirs is not None and mine is not None:
            return f"add the equality {mine} = {theirs}"
        for table in (*rows.tables, *self.joined.rows.tables):
            key = table.via
            if key is not None:
                child = self._name_of(table.name) or table.name
                parent = self._name_of(key.parent)
                equal = equality(key, child, parent or key.parent)
                return (
                    f"add the equality {equal}" if parent else f"join {key.parent} too, along the foreign key: {equal}"
                )
        return "join them on their unit"

    def _name_of(self, table: str) -> str | None:
        """What a private table is called in this clause, if it stands there by itself."""
        named = (s for s in self.sources if isinstance(s.node, exp.Table))
        return next(
            (s.name for s in named if [t.name.lower() for t in s.relation.rows.tables] == [table.lower()]), None
        )


def equality(key: ForeignKey, child: str, parent: str) -> str:
    """A foreign key as a condition between two tables as they are called."""
    pairs = zip(key.columns, key.parent_columns, strict=True)
    return " AND ".join(f"{child}.{one} = {parent}.{other}" for one, other in pairs)


def unit_column(part: str, columns: Mapping[str, exp.Expr], rows: Rows) -> str | None:
    """How an analyst writes the unit of a table or subquery of FROM."""
    for name, expression in columns.items():
        if isinstance(expression, exp.Column) and expression.name in rows.own:
            return f"{part}.{name}"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two columns that are equal: an expression over what is joined so far, one over the source to be joined."""

    left_column: exp.Expr
    right: exp.Expr
    node: exp.Expr

    @property
    def plain(self) -> bool:
        """Whether both are columns as they stand."""
        return isinstance(self.left_column, exp.Column) and isinstance(self.right, exp.Column)

    @property
    def left_name(self) -> str:
        return self.left_column.name

    @property
    def right_name(self) -> str:
        return self.right.name


@dataclass(frozen=True, slots=True)
class _Connection:
    pairs: tuple[Pair, ...]
    bound: ContributionBound
    unit_of_right: bool = False
    repeated: frozenset[Literal["left", "right"]] = frozenset()


def connects_units(left: Rows, right: Rows, pairs: list[Pair], policy: Policy) -> bool:
    """Whether rows with these equal columns are of one unit: by the unit's own columns, or by a foreign key to it.

    That is a child's and its parent's, or that of two children: rows of one parent.
    """
    if any(p.left_name in left.own and p.right_name in right.own for p in pairs):
        return True
    for child, other in ((right, left), (left, right)):
        for table in child.tables:
            key = table.via
            if key is None:
                continue
            if _key_pairs(key, table.name, pairs, left, right, child is right):
                return True
            siblings = ForeignKey(table.name.lower(), key.columns, key.columns)
            if table in other.tables and _key_pairs(siblings, table.name, pairs, left, right, child is right):
                return True
    return False


def _key_pairs(
    key: ForeignKey, child: str, pairs: list[Pair], left: Rows, right: Rows, child_is_right: bool
) -> tuple[Pair, ...]:
    """The pairs that equate all columns of a foreign key of the table `child` in one row of each; () if they don't."""
    by_scans: dict[tuple[object, object], dict[tuple[str, str], Pair]] = {}
    for pair in pairs:
        one, other = left.origins.get(pair.left_name), right.origins.get(pair.right_name)
        if one is None or other is None:
            continue
        low, high = (other, one) if child_is_right else (one, other)
        if low.table.name == child and high.table.name.lower() == key.parent:
            by_scans.setdefault((low.scan, high.scan), {})[low.column, high.column] = pair
    wanted = list(zip(key.columns, key.parent_columns, strict=True))
    for found in by_scans.values():
        if all(columns in found for columns in wanted):
            return tuple(found[columns] for columns in wanted)
    return ()


def _stored_name(rows: Rows, column: str) -> str:
    origin = rows.origins.get(column)
    return column if origin is None else origin.column


def materialised(relation: Private, analyzer: Analyzer) -> Private:
    """The same rows with their filters applied and their columns computed: what stands below an outer join."""
    compiler = compiler_of(relation, analyzer)
    columns, sets = {}, {}
    for name, expression in relation.columns.items():
        typed = compiler.value(expression)
        columns[name], sets[name] = typed.stored(), typed.set.stored()
    rows = select(relation.rows, columns, sets, tuple(filters(relation, analyzer)))
    return replace(relation, rows=rows, columns={c: exp.column(c, quoted=True) for c in columns}, where=())
