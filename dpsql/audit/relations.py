"""FROM clauses over a policy's tables: joins, subqueries and marks, far beyond what anyone would write by hand.

Most are accepted. Whatever is accepted must hold to its bound, and mean what DuckDB says. Written for any policy: what
a column is good for follows from its table's unit and keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from dpsql.audit.chance import Random
from dpsql.audit.expressions import LITERALS, Expressions
from dpsql.engines.declared import quoted
from dpsql.engines.declared import value as literal_of
from dpsql.policy import Column, Kind, Policy, Table, Unit

T = TypeVar("T")
NUMBERS = (Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL)
UNIT, PERHAPS, PUBLIC = "unit", "perhaps", "public"
"""Roles: names the row's unit; names a unit or is NULL; may equal a key of a public table."""
SLOTS = {
    Kind.INTEGER: "int", Kind.DOUBLE: "dbl", Kind.DECIMAL: "dec", Kind.BOOLEAN: "bool", Kind.TEXT: "text",
    Kind.DATE: "date", Kind.TIMESTAMP: "ts",
}  # fmt: skip
"""The slot of templates that columns of a kind fill."""
_NOTHING = {
    "int": "3", "dbl": "0.5e0", "dec": "1.25", "bool": "TRUE", "text": "LOWER('x')", "date": "DATE '2020-01-15'",
    "ts": "TIMESTAMP '2020-01-02 00:00:00'",
}  # fmt: skip
MOST_VALUES = 50
"""A column with no more different values than these is a group key of its own."""
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Use:
    """What a column is good for: its kind, its role (above, or `parent.column` for what refers to a row of parent)
    and, of a private table's column as it is declared, that.
    """

    kind: Kind
    role: str = ""
    column: Column | None = None
    few: bool = False
    """It has few different values."""


@dataclass(slots=True)
class Source:
    """What stands in FROM: its SQL, its name, its columns; has a unit one row at most?"""

    sql: str
    name: str
    columns: dict[str, Use]
    single: bool = False


@dataclass(slots=True)
class Scope:
    """A FROM clause with its columns as they are written, and conditions that belong to it."""

    sql: str
    columns: dict[str, Use]
    single: bool
    where: list[str] = field(default_factory=list)
    commas: bool = False
    """Whether tables stand after a comma: USING of a later join doesn't see those before it."""

    def of(self, *roles: str) -> list[str]:
        return [column for column, use in self.columns.items() if use.role in roles]

    def kinds(self, *kinds: Kind) -> list[str]:
        """Columns of these kinds that don't name a unit."""
        return [c for c, use in self.columns.items() if use.kind in kinds and use.role not in (UNIT, PERHAPS)]


class Relations:
    """Writes FROM clauses and conditions.

    public     the columns of each public table, by lower-case name: with value sets or without
    plain      simple expressions, and no group of the rows whose unit is NULL, which dpsql drops and DuckDB shows
    """

    def __init__(
        self, random: Random, policy: Policy, public: Mapping[str, Mapping[str, Column]], *, plain: bool = False
    ) -> None:
        self.random, self.policy, self.plain = random, policy, plain
        self.public = public
        self.private = {name: table for name, table in policy.tables.items() if not table.public}
        self.referred = {
            (via.parent, column) for t in self.private.values() if (via := t.via) for column in via.parent_columns
        }
        self.names = 0
        self.ctes: dict[str, tuple[str, dict[str, Use], bool]] = {}
        self.rowwise = False
        """Whether the statement reads a table each of whose rows is a unit."""

    # ------------------------------------------------------------------------------------------ tables

    def table(self, table: str) -> Source:
        """A private table under a name of its own."""
        name, declared = self._name("t"), self.private[table]
        columns = {self.written(c.name): self._use(declared, own, c) for own, c in declared.columns.items()}
        unit = declared.unit
        single = isinstance(unit, Unit) and unit.column is not None and frozenset({unit.column}) in declared.unique
        return Source(f"{self.written(declared.name)} AS {name}", name, columns, single)

    def _use(self, table: Table, own: str, column: Column) -> Use:
        role = PUBLIC if column.bounds is None and column.keys is None and self._is_public_key(column) else ""
        if (table.name.lower(), own) in self.referred:
            role = f"{table.name.lower()}.{own}"
        via = table.via
        if via is not None and own in via.columns:
            role = f"{via.parent}.{via.parent_columns[via.columns.index(own)]}"
        if isinstance(table.unit, Unit) and table.unit.column == own:
            role = UNIT
        few = column.keys is not None or column.type.kind is Kind.BOOLEAN or _narrow(column)
        return Use(column.type.kind, role, column, few and role != UNIT)

    def _is_public_key(self, column: Column) -> bool:
        return any(column.type.kind is key.type.kind for _, keys in self._public_keys() for key in keys)

    def _public_keys(self) -> list[tuple[str, tuple[Column, ...]]]:
        """Public tables with the columns of each of their keys."""
        return [
            (name, tuple(columns[c] for c in sorted(key)))
            for name, columns in self.public.items()
            for key in self.policy.tables[name].unique
            if key <= columns.keys()
        ]

    def siblings(self) -> list[str]:
        """The tables whose rows are units, or belong to units: as the statement's do."""
        return [name for name, table in self.private.items() if (table.unit == "row") == self.rowwise]

    def written(self, name: str) -> str:
        """A name as it stands in a statement."""
        return name if _PLAIN.fullmatch(name) and name not in _WORDS else quoted(name)

    # ------------------------------------------------------------------------------------------ FROM

    def scope(self, depth: int, table: str | None = None) -> Scope:
        """A FROM clause of up to so many levels; where a table is given, it is read first."""
        first = self.table(table) if table is not None else self._source(depth)
        rows = Scope(first.sql, {f"{first.name}.{c}": use for c, use in first.columns.items()}, first.single)
        for _ in range(self.pick(_JOINS)):
            self._join(rows, depth)
        return rows

    def _source(self, depth: int) -> Source:
        if self.ctes and self.chance(0.2):
            name, (_, columns, single) = self.pick(list(self.ctes.items()))
            alias = self._name("w")
            return Source(f"{name} AS {alias}", alias, dict(columns), single)
        if depth <= 0 or self.chance(0.3):
            return self.table(self.pick(self.siblings()))
        return self.pick(_SUBQUERIES)(self, depth - 1)

    def _named(self, sql: str, columns: dict[str, Use], single: bool) -> Source:
        name = self._name("q")
        if self.chance(0.1):
            columns = {f"c{i}": use for i, use in enumerate(columns.values())}
            return Source(f"({sql}) AS {name}({', '.join(columns)})", name, columns, single)
        if self.chance(0.1):
            self.ctes[cte := self._name("cte")] = sql, columns, single
            return Source(f"{cte} AS {name}", name, columns, single)
        return Source(f"({sql}) AS {name}", name, columns, single)

    def _public_source(self, table: str, key: Sequence[Column]) -> Source:
        name = self._name("p")
        declared = self.policy.tables[table]
        keys = {c.name: Use(c.type.kind, PUBLIC) for c in key}
        others = [c for c in self.public[table].values() if c.name not in keys]
        columns = keys | {c.name: Use(c.type.kind, few=True) for c in others}
        shown = {self.written(c): use for c, use in columns.items()}
        texts = [c for c in others if c.type.kind is Kind.TEXT]
        first = key[0]
        match self.random.randrange(4):
            case 0 if len(key) == 1:
                renamed = {"k": shown[self.written(first.name)]}
                items = f"{self.written(first.name)} AS k"
                if texts:
                    items += f", {self.written(texts[0].name)} AS label"
                    renamed["label"] = Use(Kind.TEXT, few=True)
                where = f" WHERE {self.written(first.name)} < 3" if first.type.kind is Kind.INTEGER else ""
                return Source(f"(SELECT {items} FROM {self.written(declared.name)}{where}) AS {name}", name, renamed)
            case 1 if len(key) == 1 and texts:  # a column that isn't unique under the name of the one that is
                mine, other = self.written(first.name), self.written(texts[0].name)
                posing = {mine: Use(Kind.TEXT, few=True), "k": shown[mine]}
                return Source(
                    f"(SELECT {other} AS {mine}, {mine} AS k FROM {self.written(declared.name)}) AS {name}",
                    name,
                    posing,
                )
        return Source(f"{self.written(declared.name)} AS {name}", name, shown)

    # ------------------------------------------------------------------------------------------ joins

    def _join(self, rows: Scope, depth: int) -> None:
        """Another source on the unit, along a foreign key, on a public key, or the groups of a release."""
        joined = self.pick(_WAYS)(self, rows, depth)
        if joined is not None:
            other, pairs, single = joined
            self._written_join(rows, other, pairs)
            rows.single = single

    def _join_released(self, rows: Scope, depth: int) -> _Joined | None:
        del depth
        keyed = [c for c, use in rows.columns.items() if use.column is not None and use.column.keys]
        if not keyed:
            return None
        column = self.pick(keyed)
        table = self._table_of(rows.columns[column])
        if table is None:
            return None
        declared = rows.columns[column].column
        assert declared is not None
        number = self._number_of(table)
        name, own = self._name("r"), self.written(declared.name)
        released = (
            f"(SELECT {own} AS k, COUNT(*) AS n{number} FROM {self.written(table.name)} GROUP BY {own}) AS {name}"
        )
        columns = {"k": Use(declared.type.kind), "n": Use(Kind.INTEGER)}
        if number:
            columns["a"] = Use(Kind.DOUBLE)
        return Source(released, name, columns), [(column, "k")], rows.single

    def _table_of(self, use: Use) -> Table | None:
        return next((t for t in self.private.values() if any(c is use.column for c in t.columns.values())), None)

    def _number_of(self, table: Table) -> str:
        found = [c for c in table.columns.values() if c.bounds is not None and c.type.kind in NUMBERS]
        return f", SUM({self.written(self.pick(found).name)}) / 9 AS a" if found else ""

    def _join_public(self, rows: Scope, depth: int) -> _Joined | None:
        del depth
        options = []
        for table, key in self._public_keys():
            candidates = [[c for c in rows.kinds(k.type.kind) if self._may_equal(rows.columns[c])] for k in key]
            if all(candidates):
                options.append((table, key, candidates))
        if not options:
            return None
        table, key, candidates = self.pick(options)
        other = self._public_source(table, key)
        theirs = [c for c, use in other.columns.items() if use.role == PUBLIC]
        if self.chance(0.1):
            theirs = [c for c, use in other.columns.items() if use.kind is key[0].type.kind][:1]  # perhaps no key
        pairs = [(self.pick(mine), their) for mine, their in zip(candidates, theirs, strict=False)]
        return (other, pairs, rows.single) if pairs else None

    def _may_equal(self, use: Use) -> bool:
        return use.role == PUBLIC or self.chance(0.2)

    def _join_unit(self, rows: Scope, depth: int) -> _Joined | None:
        other = self._source(depth - 1)
        units = rows.of(UNIT, PERHAPS)
        theirs = [c for c, use in other.columns.items() if use.role in (UNIT, PERHAPS)]
        if units and theirs and (rows.single or other.single or self.chance(0.1)):
            return other, [(self.pick(units), self.pick(theirs))], rows.single and other.single
        return None

    def _join_key(self, rows: Scope, depth: int) -> _Joined | None:
        """A table that refers to the same rows, or the rows themselves."""
        del depth
        options = []
        for parent, key in {(via.parent, via.parent_columns) for t in self.private.values() if (via := t.via)}:
            roles = [f"{parent}.{column}" for column in key]
            if all(rows.of(role) for role in roles):
                relatives = [n for n, t in self.private.items() if t.via is not None and t.via.parent == parent]
                options += [(name, roles) for name in (parent, *relatives)]
        if not options:
            return None
        name, roles = self.pick(sorted(options))
        other = self.table(name)
        pairs = [(self.pick(rows.of(r)), self.pick([c for c, u in other.columns.items() if u.role == r] or [""]))
                 for r in roles]  # fmt: skip
        return (other, pairs, False) if all(their for _, their in pairs) else None

    def _written_join(self, rows: Scope, other: Source, pairs: Sequence[tuple[str, str]]) -> None:
        on = [f"{a} = {other.name}.{b}" if self.chance(0.5) else f"{other.name}.{b} = {a}" for a, b in pairs]
        left = self.chance(0.4)
        using = self._using(rows, other, pairs)
        added = {f"{other.name}.{c}": self._joined(use, left) for c, use in other.columns.items()}
        both = Scope("", {**rows.columns, **added}, False)
        if using is not None and not rows.commas and self.chance(0.5):
            rows.sql += f"{' LEFT' if left else ''} JOIN {other.sql} USING ({using})"
        elif left:
            on += [self.condition(both, 0) for _ in range(self.pick((0, 0, 1)))]
            rows.sql += f" LEFT JOIN {other.sql} ON {' AND '.join(on)}"
        elif self.chance(0.3) and " LEFT JOIN " not in rows.sql:
            rows.sql += f", {other.sql}"
            rows.where += on
            rows.commas = True
        else:
            on += [self.condition(both, 0) for _ in range(self.pick((0, 0, 1)))]
            rows.sql += f" JOIN {other.sql} ON {' AND '.join(on)}"
        rows.columns |= added

    def _joined(self, use: Use, left: bool) -> Use:
        return Use(use.kind, PERHAPS) if left and use.role == UNIT else use

    def _using(self, rows: Scope, other: Source, pairs: Sequence[tuple[str, str]]) -> str | None:
        """The column that both sides have in common, where one table alone has it on the left."""
        (one, two), *more = pairs
        name = one.partition(".")[2]
        once = [c for c in rows.columns if c.partition(".")[2] == name]
        return name if not more and name == two and len(once) == 1 and name in other.columns else None

    # ------------------------------------------------------------------------------------------ subqueries

    def _selected(self, depth: int) -> Source:
        rows = self.scope(depth)
        columns: dict[str, Use] = {}
        items = []
        for column, use in self._some(rows):
            name, text = self._name("c"), column
            if use.kind in NUMBERS and not use.role and self.chance(0.2):
                text = f"COALESCE({column}, 2)"
            elif not use.role and not self.plain and self.chance(0.2):
                kind = SLOTS[use.kind]
                text, use = self.expressions(rows).expression(kind, 1), Use(use.kind)
            items.append(f"{text} AS {name}")
            columns[name] = use
        return self._named(f"SELECT {', '.join(items)} FROM {self._filtered(rows, depth)}", columns, rows.single)

    def _starred(self, depth: int) -> Source:
        """All columns of a table, and one more."""
        del depth
        inner = self.table(self.pick(self.siblings()))
        rows = Scope(inner.sql, {f"{inner.name}.{c}": use for c, use in inner.columns.items()}, inner.single)
        added = self._name("x")
        numbers = rows.kinds(*NUMBERS) or ["1"]
        number = f"{self.pick(numbers)} + 1" if self.plain else self.expressions(rows).expression("num", 1)
        item = f", {number} AS {added}"
        star = self.pick(("*", f"{inner.name}.*"))
        columns = inner.columns | {added: Use(Kind.DOUBLE)}
        return self._named(f"SELECT {star}{item} FROM {self._filtered(rows, 0)}", columns, inner.single)

    def _grouped(self, depth: int) -> Source:
        rows = self.scope(depth)
        units = rows.of(UNIT) or ([] if self.plain else rows.of(PERHAPS))
        if not units:
            return self._selected(depth) if self.rowwise else self.table(self.pick(self.siblings()))
        keys = [self.pick(units)]
        others = [c for c, use in rows.columns.items() if c not in keys and (use.few or use.role)]
        again = [c for c in rows.of(PERHAPS, UNIT) if c not in keys]
        if again and self.chance(0.4):
            keys += again
        elif others and self.chance(0.4):
            keys += self.random.sample(others, min(len(others), self.random.randint(1, 2)))
        columns = {}
        for i, key in enumerate(keys):
            use = rows.columns[key]
            columns[self._name("k")] = Use(use.kind, PERHAPS) if use.role == UNIT and i else use
        items = [f"{key} AS {name}" for key, name in zip(keys, columns, strict=True)]
        for _ in range(self.random.randint(0, 2)):
            call, use = self._total(rows)
            columns[self._name("n")] = use
            items.append(f"{call} AS {list(columns)[-1]}")
        having = self.pick(("", "", " HAVING COUNT(*) > 0", " HAVING COUNT(*) > 1"))
        group = ", ".join(keys if self.chance(0.7) else map(str, range(1, len(keys) + 1)))
        sql = f"SELECT {', '.join(items)} FROM {self._filtered(rows, depth)} GROUP BY {group}{having}"
        return self._named(sql, columns, len(keys) == 1)

    def _total(self, rows: Scope) -> tuple[str, Use]:
        numbers = rows.kinds(*NUMBERS)
        options = [("COUNT(*)", Use(Kind.INTEGER, few=True))]
        if numbers:
            column = self.pick(numbers)
            use = Use(rows.columns[column].kind)
            options += [(f"{name}({column})", use) for name in ("MAX", "MIN", "SUM")]
            options += [(f"AVG({column})", Use(Kind.DOUBLE)), (f"COUNT({column})", Use(Kind.INTEGER, few=True))]
            options += [(f"COUNT(DISTINCT {column})", Use(Kind.INTEGER, few=True))]
            options += [(f"SUM({column}) FILTER (WHERE {self.condition(rows, 0)})", use)]
        return self.pick(options)

    def _united(self, depth: int) -> Source:
        sides = [self.scope(depth) for _ in range(self.random.randint(2, 3))]
        columns: dict[str, Use] = {}
        lists: list[list[str]] = [[] for _ in sides]
        wanted = [UNIT] * (not self.rowwise and self.chance(0.8)) + [Kind.DOUBLE, Kind.INTEGER, Kind.TEXT, Kind.DATE]
        for what in wanted:
            name = self._name("u")
            kinds = {use.kind for side in sides for use in side.columns.values() if use.role == UNIT}
            use = Use(what) if isinstance(what, Kind) else Use(min(kinds, key=str, default=Kind.INTEGER), UNIT)
            columns[name] = use
            for listed, rows in zip(lists, sides, strict=True):
                found = rows.kinds(what) if isinstance(what, Kind) else rows.of(UNIT)
                if what == UNIT and (not found or self.chance(0.05)):
                    columns[name] = Use(use.kind, PERHAPS)
                    found = rows.kinds(use.kind) or ["NULL"]  # a column that isn't the unit in the unit's place
                value = self.pick(found) if found else "NULL"
                listed.append(f"{value} AS {name}" if listed is lists[0] else value)
        selects = [f"SELECT {', '.join(listed)} FROM {self._filtered(rows, depth)}"
                   for listed, rows in zip(lists, sides, strict=True)]  # fmt: skip
        return self._named(" UNION ALL ".join(selects), columns, False)

    def _distinct(self, depth: int) -> Source:
        rows = self.scope(depth)
        units = rows.of(UNIT)
        if not units:
            return self._selected(depth)
        chosen = [self.pick(units), *(c for c, use in rows.columns.items() if use.few and self.chance(0.2))]
        columns = {self._name("d"): rows.columns[c] for c in chosen}
        items = ", ".join(f"{c} AS {name}" for c, name in zip(chosen, columns, strict=True))
        sql = f"SELECT DISTINCT {items} FROM {self._filtered(rows, depth)}"
        return self._named(sql, columns, len(chosen) == 1)

    # ------------------------------------------------------------------------------------------ conditions

    def where(self, rows: Scope, depth: int) -> str | None:
        """What stands in a WHERE clause, or nothing."""
        conditions = [*rows.where, *(self.condition(rows, depth) for _ in range(self.pick(_CONDITIONS)))]
        return " AND ".join(conditions) or None

    def _filtered(self, rows: Scope, depth: int) -> str:
        where = self.where(rows, depth)
        return f"{rows.sql} WHERE {where}" if where else rows.sql

    @property
    def start(self) -> str:
        """The WITH clause of what was written so far."""
        ctes = [f"{name} AS ({query})" for name, (query, _, _) in self.ctes.items()]
        return f"WITH {', '.join(ctes)} " if ctes else ""

    def condition(self, rows: Scope, depth: int) -> str:
        """A condition on a row, in parentheses where it needs them; with a subquery where there are levels left."""
        if depth > 0 and self.chance(0.5):
            condition = self.pick(_MARKS)(self, rows, depth - 1)
            if self.chance(0.3):
                return f"({condition} OR {self.condition(rows, 0)})"
            return f"NOT {condition}" if self.chance(0.2) else condition
        told = self.plain or self.chance(0.5)
        return f"({self._told(rows) if told else self.expressions(rows).expression('bool', 1)})"

    def _told(self, rows: Scope) -> str:
        """A condition that rows of the expected values tell apart."""
        options = []
        for column, use in rows.columns.items():
            if use.column is None:
                continue
            options.append(f"{column} IS NOT NULL")
            for value in (use.column.keys or use.column.bounds or ())[:4]:
                if value is not None:
                    written = literal_of(value, use.column)
                    options += [f"{column} {sign} {written}" for sign in ("=", "<>", "<=")]
        return self.pick(options) if options else "1 = 1"

    def _in_unit(self, rows: Scope, depth: int) -> str:
        other = self.scope(depth)
        mine, theirs = rows.of(UNIT, PERHAPS), other.of(UNIT, PERHAPS)
        if not mine or not theirs:
            return self.condition(rows, 0)
        word = self.pick(("IN", "IN", "NOT IN"))
        column = self.pick(theirs)
        conditions = [*other.where, *[f"{column} IS NOT NULL"] * (word == "NOT IN")]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        written = f"SELECT {column} FROM {other.sql}{where}"
        return f"{self.pick(mine)} {word} ({written})"

    def _in_public(self, rows: Scope, depth: int) -> str:
        del depth
        options = []
        for name, key in self._public_keys():
            if len(key) == 1 and (mine := [c for c in rows.kinds(key[0].type.kind) if rows.columns[c].role == PUBLIC]):
                options.append((name, key[0], mine))
        if not options:
            return self.condition(rows, 0)
        name, column, mine = self.pick(options)
        written = self.written(self.policy.tables[name].name)
        other = Scope("", {self.written(c.name): Use(c.type.kind, "", c) for c in self.public[name].values()}, False)
        read = f"SELECT {self.written(column.name)} FROM {written} WHERE {self._told(other)}"
        return f"{self.pick(mine)} {self.pick(('IN', 'NOT IN'))} ({read})"

    def _exists(self, rows: Scope, depth: int) -> str:
        keys = [(n, k[0]) for n, k in self._public_keys() if len(k) == 1 and rows.kinds(k[0].type.kind)]
        if keys and self.chance(0.3):
            name, key = self.pick(keys)
            other = self._public_source(name, (key,))
            theirs = [c for c, use in other.columns.items() if use.kind is key.type.kind]
            if theirs:
                both = Scope("", {**rows.columns, **{f"{other.name}.{c}": u for c, u in other.columns.items()}}, False)
                on = f"{other.name}.{self.pick(theirs)} = {self.pick(rows.kinds(key.type.kind))}"
                return f"EXISTS (SELECT 1 FROM {other.sql} WHERE {on} AND {self.condition(both, 0)})"
        inner = self.scope(depth)
        roles = {use.role for use in rows.columns.values() if use.role == UNIT or "." in use.role}
        pairs = [(a, b) for role in sorted(roles) for a in rows.of(role) for b in inner.of(role)]
        if not pairs:
            return self.condition(rows, 0)
        one, two = self.pick(pairs)
        both = Scope("", {**rows.columns, **inner.columns}, False)
        conditions = [*inner.where, f"{two} = {one}", self.condition(both, 0), self.condition(inner, depth)]
        return f"EXISTS (SELECT * FROM {inner.sql} WHERE {' AND '.join(conditions)})"

    def _constant(self, rows: Scope, depth: int) -> str:
        del depth
        numbers = rows.kinds(*NUMBERS)
        tables = [t for t in self.private.values() if self._number_of(t)]
        if not numbers or not tables:
            return self.condition(rows, 0)
        table = self.pick(tables)
        column = self.pick([c for c in table.columns.values() if c.bounds is not None and c.type.kind in NUMBERS])
        read = f"FROM {self.written(table.name)}"
        options = [f"(SELECT AVG({self.written(column.name)}) {read})", f"(SELECT COUNT(*) {read})"]
        for name, key in self._public_keys():
            if key[0].type.kind in NUMBERS:
                written = self.written(self.policy.tables[name].name)
                options += [f"(SELECT {call}({self.written(key[0].name)}) FROM {written})" for call in ("MIN", "MAX")]
        return f"{self.pick(numbers)} {self.pick(('>', '<=', '<>'))} {self.pick(options)}"

    # ------------------------------------------------------------------------------------------ choices

    def expressions(self, rows: Scope) -> Expressions:
        """Expressions over the columns of a scope."""
        found: dict[str, Sequence[str]] = dict(LITERALS)
        for kind, leaf in SLOTS.items():
            found[leaf] = rows.kinds(kind) or [_NOTHING[leaf]]
        return Expressions(self.random, found)

    def _some(self, rows: Scope) -> list[tuple[str, Use]]:
        kept = [(c, use) for c, use in rows.columns.items() if self.chance(0.7)]
        return kept or list(rows.columns.items())

    def _name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)


_Joined = tuple[Source, list[tuple[str, str]], bool]
"""What is joined, on which pairs of columns, and whether a unit has one row at most then."""
_JOINS = (0, 0, 1, 1, 2)
_CONDITIONS = (0, 1, 1, 2)
_SUBQUERIES: tuple[Callable[[Relations, int], Source], ...] = (
    Relations._selected, Relations._starred, Relations._grouped, Relations._grouped, Relations._united,
    Relations._distinct,
)  # fmt: skip
_WAYS: tuple[Callable[[Relations, Scope, int], _Joined | None], ...] = (
    Relations._join_unit, Relations._join_unit, Relations._join_key, Relations._join_key, Relations._join_public,
    Relations._join_public, Relations._join_released,
)  # fmt: skip
_MARKS: tuple[Callable[[Relations, Scope, int], str], ...] = (
    Relations._in_unit, Relations._in_unit, Relations._in_public, Relations._exists, Relations._exists,
    Relations._constant,
)  # fmt: skip
_WORDS = frozenset(
    "all and any as asc between case cast check column constraint create cross date default desc distinct do else end "
    "except exists false filter for foreign from full group having in inner intersect interval into is join key left "
    "like limit natural not null offset on or order outer over partition primary range references right row rows "
    "select set table then time timestamp to true union unique unit using values when where window with year month day "
    "first last position qualify pivot unpivot sample show describe".split()
)
"""Words that a name in a statement may be taken for: such names are quoted."""


def _narrow(column: Column) -> bool:
    if column.bounds is None or column.type.kind is not Kind.INTEGER:
        return False
    low, high = column.bounds
    return isinstance(low, Fraction) and isinstance(high, Fraction) and high - low <= MOST_VALUES
