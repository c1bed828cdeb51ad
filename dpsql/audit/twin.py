"""A synthetic twin of a policy's tables: rows that nobody has, of the declared types, units and keys.

Nothing private is read. Rows keep to what soundness rests on (a parent's key is one; what the engine keeps unique is),
and to nothing else that a policy says: values may be anything that their columns can hold, units may have any number of
rows, and some rows belong to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from dpsql.audit.chance import Random
from dpsql.audit.values import expected, extremes, stored_types
from dpsql.engines import PublicTable
from dpsql.engines.declared import quoted
from dpsql.engines.twin import Database, Row, TwinEngine
from dpsql.policy import Column, Kind, Policy, Table, Unit

VICTIM = 99
"""The number of the unit that comes and goes. The others are numbered from 1."""
MOST_ROWS = 12
"""Of one unit in one table, where nothing else is asked for."""
Style = Literal["any", "expected"]
"""How a value is made up: of all that its column can hold, or of what the policy expects there."""


@dataclass(frozen=True, slots=True)
class Full:
    """Rows of a unit that reach its bound: so many in this table, all values at one end of their bounds."""

    table: str
    rows: int
    upper: bool
    spread: bool
    """Over the group keys, instead of in one group."""


class Twin:
    """Makes rows up. The same `random` and policy make the same rows.

    types    the type of each column, by private table and column in lower case: one of those that it may be stored in
    unique   what the engine says that it keeps unique, by table
    """

    def __init__(
        self, policy: Policy, public: Iterable[PublicTable], random: Random, *, enforced: bool = False,
        declared: bool = False,
    ) -> None:  # fmt: skip
        """`enforced`: the engine keeps unique what is declared so. `declared`: columns are stored as they are declared.

        `policy` has its public tables' columns filled in (`resolved_policy`).
        """
        self.policy = policy
        self.random = random
        self._declared = declared
        self.private = {name: table for name, table in policy.tables.items() if not table.public}
        self.types = {name: self._types(table) for name, table in self.private.items()}
        self.unique = {name: table.unique if enforced else () for name, table in self.private.items()}
        self.engine = TwinEngine(policy, self.types, public, self.unique)
        self._expected: dict[int, tuple[str, ...]] = {}

    def _types(self, table: Table) -> dict[str, str]:
        links = self._links(table)
        found = {}
        for name, column in table.columns.items():
            options = stored_types(column)
            wide = column.type.kind is Kind.INTEGER and (name in links or self._declared)
            found[name] = "BIGINT" if wide else options[0] if self._declared else self.random.choice(options)
        return found

    def _links(self, table: Table) -> frozenset[str]:
        """The columns whose values refer to units or rows."""
        found = {name for key in table.unique for name in key}
        match table.unit:
            case Unit(column=str() as column):
                found.add(column)
            case Unit(via=via) if via is not None:
                found.update(via.columns)
        name = table.name.lower()
        for other in self.private.values():
            if other.via is not None and other.via.parent == name:
                found.update(other.via.parent_columns)
        return frozenset(found)

    # ------------------------------------------------------------------------------------------ databases

    @cached_property
    def _of_units(self) -> tuple[str, ...]:
        """The tables whose rows belong to units of several rows, parents before their children."""
        names = [name for name, table in self.private.items() if isinstance(table.unit, Unit)]
        done: list[str] = []
        while names:
            ready = [n for n in names if (via := self.private[n].via) is None or via.parent in done]
            done += ready
            names = [n for n in names if n not in ready]
        return tuple(done)

    @cached_property
    def of_rows(self) -> tuple[str, ...]:
        """The tables each of whose rows is a unit of its own."""
        return tuple(name for name, table in self.private.items() if table.unit == "row")

    def unit(self, number: int, *, most: int = MOST_ROWS, style: Style = "any", full: Full | None = None) -> Database:
        """All rows of one unit, whose names and keys no other number has."""
        found: dict[str, list[Row]] = {}
        for name in self._of_units:
            table = self.private[name]
            count = self._count(table, most, style, full)
            rows = [row for i in range(count) if (row := self._row(table, number, i, found, style, full)) is not None]
            found[name] = self._distinct(table, rows)
        return found

    def row(self, table: str, *, style: Style = "any", full: Full | None = None) -> Database:
        """A row of a table each of whose rows is a unit of its own."""
        columns = self.private[table].columns
        return {table: [[self._value(table, name, style, full) for name in columns]]}

    def strays(self) -> Database:
        """Rows that belong to nobody: their unit is NULL, or can't be reached."""
        found: dict[str, list[Row]] = {}
        for name in self._of_units:
            table = self.private[name]
            rows: list[Row] = []
            for i in range(3):
                row = self._row(table, -1 - i, 0, {}, "any", None, stray=True)
                assert row is not None
                rows.append(row)
            found[name] = self._distinct(table, rows)
        return found

    def database(self, units: int, *, most: int = MOST_ROWS, style: Style = "any") -> Database:
        """Rows of so many units, numbered from 1, some rows of tables without units, and, if any are, strays."""
        parts = [self.unit(number, most=most, style=style) for number in range(1, units + 1)]
        parts += [
            self.row(name, style=style) for name in self.of_rows for _ in range(self.random.randint(0, 2 * units))
        ]
        return united(*parts, *[self.strays()] * (style == "any"))

    def neighbours(self) -> tuple[Database, list[Database]]:
        """Some units with any rows, and victims that it is compared with and without: two of each sort."""
        pick = self.random.choice
        database = self.database(pick((0, 1, 2, 4)))
        victims = [self.unit(VICTIM, most=pick((3, 12, 30))) for _ in range(2)]
        victims += [self.row(table) for table in self.of_rows for _ in range(2)]
        return database, [victim for victim in victims if victim]

    def doubled(self, units: int) -> Database:
        """Rows of so many units and of a double of each, which differs in its name and keys alone: no strays."""
        parts = []
        for number in range(1, units + 1):
            state = self.random.getstate()
            parts.append(self.unit(number, style="expected"))
            self.random.setstate(state)
            parts.append(self.unit(1000 + number, style="expected"))
        rows = [self.row(name, style="expected") for name in self.of_rows for _ in range(self.random.randint(0, units))]
        return united(*parts, *rows, *rows)

    # ------------------------------------------------------------------------------------------ rows

    def _count(self, table: Table, most: int, style: Style, full: Full | None) -> int:
        assert isinstance(table.unit, Unit)
        if full is not None:
            return full.rows if full.table == table.name.lower() else 1
        cap = table.unit.max_rows
        if style == "expected":  # within every bound, however the rows are grouped
            others = (n for n in (table.unit.max_groups, table.unit.max_rows_per_key) if n is not None)
            return self.random.choice((0, 1, 1, min(cap, 3, most, *others)))
        return min(most, self.random.choice((0, 1, 1, 2, cap, cap + 1, most)))

    def _row(
        self, table: Table, number: int, index: int, found: Mapping[str, Sequence[Row]], style: Style,
        full: Full | None, *, stray: bool = False,
    ) -> Row | None:  # fmt: skip
        """One row of a unit; None where it has no parent to refer to."""
        name = table.name.lower()
        given: dict[str, str] = {}
        assert isinstance(table.unit, Unit)
        if table.unit.column is not None:
            column = table.columns[table.unit.column]
            given[table.unit.column] = "NULL" if stray else identity(column, number, 0)
        via = table.via
        if via is not None and stray:
            lost = self.random.random() < 0.5
            for own in via.columns:
                given[own] = "NULL" if lost else identity(table.columns[own], number, 7)
        elif via is not None:
            parents = found.get(via.parent, ())
            if not parents:
                return None
            parent = parents[0] if full is not None else self.random.choice(parents)
            order = list(self.private[via.parent].columns)
            given |= {a: parent[order.index(b)] for a, b in zip(via.columns, via.parent_columns, strict=True)}
        for key in self._kept(table):
            free = sorted(key - given.keys())
            if free:
                given |= {own: identity(table.columns[own], number, index) for own in free}
        soft = self.random.random() < 0.7
        for key in table.unique if soft or full is not None else ():
            given |= {own: identity(table.columns[own], number, index) for own in sorted(key - given.keys())}
        return [given.get(c) or self._value(name, c, style, full, index) for c in table.columns]

    def _kept(self, table: Table) -> list[frozenset[str]]:
        """The sets of columns in which no two rows are equal, whatever else is made up."""
        name = table.name.lower()
        children = (t.via for t in self.private.values() if t.via is not None and t.via.parent == name)
        return [*(frozenset(via.parent_columns) for via in children), *self.unique[name]]

    def _distinct(self, table: Table, rows: Sequence[Row]) -> list[Row]:
        """The rows without those that would repeat a key."""
        order = list(table.columns)
        kept: list[Row] = []
        seen: set[tuple[int, tuple[str, ...]]] = set()
        for row in rows:
            found = {(i, tuple(row[order.index(c)] for c in sorted(key))) for i, key in enumerate(self._kept(table))}
            if not found & seen:
                seen |= found
                kept.append(row)
        return kept

    def _value(self, table: str, name: str, style: Style, full: Full | None, index: int = 0) -> str:
        column = self.private[table].columns[name]
        usual = self._usual(column)
        if full is not None:
            if column.bounds is not None and column.keys is None:
                return usual[1] if full.upper and len(usual) > 1 else usual[0]
            return usual[index % len(usual)] if full.spread else usual[0]
        if style == "expected" or self.random.random() < 0.55:
            return self.random.choice(usual)
        return self.random.choice(extremes(self.types[table][name]))

    def _usual(self, column: Column) -> tuple[str, ...]:
        known = self._expected.get(id(column))
        if known is None:
            known = expected(column)
            if column.bounds is None and column.keys is None:
                known += self._public_values(column)
            self._expected[id(column)] = known
        return known

    def _public_values(self, column: Column) -> tuple[str, ...]:
        """Some keys of public tables that a column may refer to."""
        found: list[str] = []
        for table in (t for t in self.policy.tables.values() if t.public):
            relation = self.engine.relation(table).sql("duckdb")
            for key in table.unique:
                for name in sorted(key & table.columns.keys()):
                    if table.columns[name].type.kind is column.type.kind:
                        read = f"SELECT DISTINCT {quoted(name)} FROM {relation} WHERE {quoted(name)} IS NOT NULL"
                        rows = self.engine.connection.execute(f"{read} ORDER BY 1 LIMIT 5").fetchall()
                        found += [_literal(row[0]) for row in rows]
        return tuple(found)


def _literal(found: object) -> str:
    text = str(found).replace("'", "''")
    return text if isinstance(found, int) else f"'{text}'"


def identity(column: Column, unit: int, index: int) -> str:
    """The literal that names a unit, or the row number `index` of it: another for each."""
    number = unit * 1000 + index
    match column.type.kind:
        case Kind.INTEGER:
            return str(number)
        case Kind.DECIMAL:
            scale = column.type.scale or 0
            return f"({number}::DECIMAL(38,{scale}) / {10**scale})" if scale else str(number)
        case Kind.DATE:
            return f"(DATE '2000-01-01' + {number})"
        case Kind.TIMESTAMP:
            return f"(TIMESTAMP '2000-01-01 00:00:00' + INTERVAL {number} HOUR)"
    return f"'{number}'"


def united(*databases: Database) -> dict[str, list[Row]]:
    """The rows of all."""
    names = dict.fromkeys(name for database in databases for name in database)
    return {name: [row for database in databases for row in database.get(name, ())] for name in names}
