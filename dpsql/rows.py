"""Per-unit rows: the relations that inner queries read, and whose their rows are.

A relation is a tree of scans, filters, joins, unions and per-unit groupings. Each node knows its columns, which of them
holds the row's privacy unit, and how many rows of one unit it counts in full: what sensitivity is worked out from. The
tree holds no SQL of joins or scans: `dpsql.rewrite.rows` writes that.

Soundness (PROOFS): the rows of a relation that belong to one unit are a function of that unit's own rows and of public
tables. A scan's are by definition. A filter or projection looks at one row. A join of private relations holds only
pairs of one unit; an outer one keeps rows of the left side only, whose partners are the same unit's. A join with a
public relation looks at one private row. So removing a unit removes its rows of the relation and changes no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlglot import exp

from dpsql.aggregates.aggregate import Grid
from dpsql.errors import UnsupportedQuery
from dpsql.expressions import Typed
from dpsql.policy import Column, ColumnType, Kind, Policy, Table, Unit
from dpsql.privacy.sensitivity import ContributionBound
from dpsql.valueset import ValueSet, column_set

RESERVED = "_dpsql"
"""No name of an analyst's begins so: those of releases, their columns and what dpsql adds to rows do."""
UNIT = f"{RESERVED}_unit"
"""The column that holds the unit where a table reaches it through others."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the private engine's catalogue says of the declared tables: of their schema, not of their data.

    types   the engine's type of each column, by table and column in lower case
    unique  the sets of columns of each table that the engine itself keeps free of equal rows
    """

    types: Mapping[str, Mapping[str, str]]
    unique: Mapping[str, tuple[frozenset[str], ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """The rows of a table; `path` leads to its unit: the parents, one foreign key after the other."""

    table: Table
    path: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """A column as its table holds it. Columns of one scan stand in one row of the table."""

    scan: Scan
    column: str

    @property
    def table(self) -> Table:
        return self.scan.table


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """The rows of `source` for which all of `where` holds, with `columns` computed from its columns: total SQL."""

    source: Rows
    columns: Mapping[str, exp.Expr]
    where: tuple[exp.Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """Pairs of rows with equal values in the pairs of columns `on`, for which `condition` holds.

    left      keeps the left rows without a partner
    names     what the right's columns are called in the join; the left's keep their names
    repeated  the sides whose rows may stand in several pairs
    """

    left: Rows
    right: Rows
    kind: Literal["inner", "left"]
    on: tuple[tuple[str, str], ...]
    names: Mapping[str, str]
    condition: exp.Expr | None = None
    repeated: frozenset[Literal["left", "right"]] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """The rows of all branches, which have columns of the same names and types."""

    branches: tuple[Rows, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """What a unit's rows come to: of those that pass `condition` (None: all), over the values of `argument`.

    count  how many there are, or have a value, or how many `distinct` values
    sum    of integers on `grid`, exact; a `whole` number of 64 bits, or DOUBLE; avg: divided by how many have a value
    min    and max, of clipped values

    Nothing else: each is the same whatever the order of the rows (PROOFS P16).
    """

    function: Literal["count", "sum", "avg", "min", "max"]
    argument: Typed | None
    condition: exp.Expr | None
    distinct: bool
    grid: Grid | None
    whole: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """One row for each group of the source's rows for which `where` holds: the unit is one of the `keys`."""

    source: Rows
    where: tuple[exp.Expr, ...]
    keys: Mapping[str, exp.Expr]
    totals: Mapping[str, Total]


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """The left's rows with a further boolean column `name`: whether the right has a partner of the row.

    value  IN: a partner's `column` equals this; NULL where only the unknown could be equal, as in SQL. Else EXISTS:
    on     a partner has equal values in these pairs of columns, and `condition` holds of the two
    names  what the right's columns are called in `condition`
    """

    left: Rows
    right: Rows
    name: str
    on: tuple[tuple[str, str], ...]
    names: Mapping[str, str]
    condition: exp.Expr | None = None
    value: exp.Expr | None = None
    column: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """The source's rows, each with further columns of values that are known only when the query runs, and their type.

    They are noisy or public, computed before from noisy and public numbers alone.
    """

    source: Rows
    types: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The rows of a release: noisy numbers with their keys, known when the query runs; no two have the same `keys`.

    name   of the constant that holds them
    types  the SQL type of each column
    """

    name: str
    types: Mapping[str, str]
    keys: frozenset[str]

    @property
    def fields(self) -> tuple[str, ...]:
        """What the columns are called in the structs that the engine gets."""
        return tuple(f"c{index}" for index in range(len(self.types)))

    @property
    def sql_type(self) -> str:
        listed = ", ".join(f"{name} {kind}" for name, kind in zip(self.fields, self.types.values(), strict=True))
        return f"STRUCT({listed})[]"


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The source's rows whose unit counts for their keys: of each unit at most `groups` keys, chosen by a hash.

    `where` are the filters on rows, `keys` the codes of the keys and whether NULL is one of them.
    """

    source: Rows
    where: tuple[exp.Expr, ...]
    keys: tuple[tuple[exp.Expr, bool], ...]
    groups: int


MAX_FORMS = 150
"""Of one relation: its SQL has so many subqueries, some of them several times."""

Form = Scan | Select | Join | Union | Grouped | Mark | Constants | Known | Chosen


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A relation.

    sets     the value set of each column, by name
    origins  of the columns that are a table's as it holds them
    unit     the column that holds the row's unit; None where each row is a unit of its own, and in public relations
    units    all columns that may hold names of units: none of their values is ever shown
    own      those that hold the row's own unit, or NULL, in every row: what an equality of units may be read off
    bound    how many rows of one unit count in full; None: the rows are public
    groups   another such bound: how many groups of a unit count, and how many rows in each; None: not declared
    tables   the private tables that it reads
    moved    the columns whose values are moved into their value set also where they are group keys, since the set is
             what a unit's rows come to if they are as few as its bound says (PROOFS W6)
    size     how many forms its tree has: a subquery that is named twice stands in it twice
    """

    form: Form
    sets: Mapping[str, ValueSet]
    origins: Mapping[str, Origin]
    unit: str | None
    units: frozenset[str]
    own: frozenset[str]
    bound: ContributionBound | None
    tables: tuple[Table, ...]
    groups: tuple[int | None, int | None] = (None, None)
    moved: frozenset[str] = frozenset()
    size: int = field(init=False)

    def __post_init__(self) -> None:
        size = 1 + sum(rows.size for rows in _read(self.form))
        object.__setattr__(self, "size", size)
        if size > MAX_FORMS:
            raise UnsupportedQuery(
                f"the query reads more than {MAX_FORMS} tables and subqueries, counting those named twice as two",
                hint="ask for less at a time",
            )

    @property
    def name(self) -> str:
        """For messages: the private tables."""
        return " and ".join(dict.fromkeys(table.name for table in self.tables))

    def where_from(self, column: str) -> tuple[str, str]:
        """The table and the column that a column comes from, for messages."""
        origin = self.origins.get(column)
        return (self.name, column) if origin is None else (origin.table.name, origin.column)


def _read(form: Form) -> tuple[Rows, ...]:
    """The relations that a form reads."""
    match form:
        case Scan() | Known():
            return ()
        case Union():
            return form.branches
        case Join() | Mark():
            return form.left, form.right
    return (form.source,)


def scan(table: Table, policy: Policy, catalogue: Catalogue) -> Rows:
    """A declared table's rows.

    Where the engine itself has no two rows of one unit, nothing needs to be bounded; that the policy says so is not
    enough, since a private table that doesn't keep to it must cost no more.
    """
    sets = {name: column_set(column) for name, column in table.columns.items()}
    path = tuple(_path(table, policy))
    form = Scan(table, path)
    origins = {name: Origin(form, name) for name in table.columns}
    if table.unit is None:
        return Rows(form, sets, origins, None, frozenset(), frozenset(), None, ())
    if table.unit == "row":
        return Rows(form, sets, origins, None, frozenset(), frozenset(), ContributionBound(1), (table,))
    unit = table.unit
    end = path[-1] if path else table
    assert isinstance(end.unit, Unit) and end.unit.column is not None
    if path:
        sets[UNIT] = column_set(end.columns[end.unit.column])
        name = UNIT
    else:
        name = end.unit.column
    alone = unit.column is not None and frozenset({unit.column}) in catalogue.unique[table.name.lower()]
    bound = ContributionBound(1) if alone else ContributionBound(unit.max_rows, weighted=True)
    groups = unit.max_groups, unit.max_rows_per_key
    return Rows(form, sets, origins, name, frozenset({name}), frozenset({name}), bound, (table,), groups)


def _path(table: Table, policy: Policy) -> Iterator[Table]:
    """The parents that lead to the unit, nearest first."""
    while table.via is not None:
        table = policy.tables[table.via.parent]
        yield table


def select(
    source: Rows, columns: Mapping[str, exp.Expr], sets: Mapping[str, ValueSet], where: tuple[exp.Expr, ...]
) -> Rows:
    """Computed columns of some of the rows; a column that is one of the source's keeps its origin, the unit stays."""
    kept = {name: c.name for name, c in columns.items() if isinstance(c, exp.Column)}
    origins, units, own = _kept(source, kept)
    moved = frozenset(name for name, old in kept.items() if old in source.moved)
    unit = next((name for name, old in kept.items() if old == source.unit), None)
    if source.unit is not None and unit is None:
        unit = free_name(source.unit, columns)
        columns = {**columns, unit: exp.column(source.unit, quoted=True)}
        sets = {**sets, unit: source.sets[source.unit]}
        units, own = units | {unit}, own | {unit}
    form = Select(source, columns, where)
    return replace(source, form=form, sets=sets, origins=origins, unit=unit, units=units, own=own, moved=moved)


def _kept(source: Rows, names: Mapping[str, str]) -> tuple[Mapping[str, Origin], frozenset[str], frozenset[str]]:
    """`origins`, `units` and `own` of columns that are the source's as they stand, by their new names."""
    origins = {name: source.origins[old] for name, old in names.items() if old in source.origins}
    units = frozenset(name for name, old in names.items() if old in source.units)
    return origins, units, frozenset(name for name, old in names.items() if old in source.own)


def join(
    left: Rows,
    right: Rows,
    kind: Literal["inner", "left"],
    on: tuple[tuple[str, str], ...],
    *,
    bound: ContributionBound | None,
    unit_of_right: bool = False,
    repeated: frozenset[Literal["left", "right"]] = frozenset(),
) -> tuple[Rows, Mapping[str, str]]:
    """The join of two relations, and what the right's columns are called in it."""
    names = names_beside(left, right)
    added = {names[name]: replace(s, nullable=True) if kind == "left" else s for name, s in right.sets.items()}
    unit = names[right.unit] if unit_of_right and right.unit is not None else left.unit
    joined = Rows(
        Join(left, right, kind, on, names, repeated=repeated),
        {**left.sets, **added},
        {**left.origins, **{names[name]: origin for name, origin in right.origins.items()}},
        unit,
        left.units | {names[name] for name in right.units},
        left.own | {names[name] for name in right.own},
        bound,
        left.tables + right.tables,
        next((rows.groups for rows in (right, left) if rows.bound is not None and bound == rows.bound), (None, None)),
        left.moved | {names[name] for name in right.moved},
    )
    return joined, names


def names_beside(left: Rows, right: Rows) -> dict[str, str]:
    """What the right's columns are called beside the left's, which keep their names."""
    names: dict[str, str] = {}
    taken: dict[str, object] = dict(left.sets)
    for name in right.sets:
        names[name] = free_name(name, taken)
        taken[names[name]] = None
    return names


def renamed(node: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    """An expression over the columns' new names."""

    def new(column: exp.Expr) -> exp.Expr:
        if isinstance(column, exp.Column) and names.get(column.name, column.name) != column.name:
            column.set("this", exp.to_identifier(names[column.name], quoted=True))
        return column

    return node.copy().transform(new, copy=False)


def union(branches: tuple[Rows, ...], sets: Mapping[str, ValueSet], unit: str | None) -> Rows:
    """All rows of the branches: a unit has the rows that it has in each, so their bounds add up (PROOFS P4, A3)."""
    bounds = [rows.bound for rows in branches]
    most = sum(bound.rows for bound in bounds if bound is not None)
    weighted = any(bound is not None and bound.weighted for bound in bounds)
    tables = tuple(table for rows in branches for table in rows.tables)
    units = frozenset(name for name in sets if any(name in rows.units for rows in branches))
    own = frozenset(name for name in sets if all(name in rows.own for rows in branches))
    moved = frozenset(name for name in sets if any(name in rows.moved for rows in branches))
    bound = ContributionBound(most, weighted)
    return Rows(Union(branches), sets, {}, unit, units, own, bound, tables, moved=moved)


def grouped(
    source: Rows, where: tuple[exp.Expr, ...], keys: Mapping[str, exp.Expr], totals: Mapping[str, Total],
    sets: Mapping[str, ValueSet],
) -> Rows:  # fmt: skip
    """One row for each unit, or for each unit and further keys: then at most as many as the unit has rows.

    Another column that holds the unit is a further key too: after an outer join it is NULL in some rows of a unit.
    """
    names = {name: key.name for name, key in keys.items() if isinstance(key, exp.Column)}
    unit = next(name for name, old in names.items() if old in source.own)
    origins, units, own = _kept(source, names)
    assert source.bound is not None
    alone = ContributionBound(1) if len(keys) == 1 else replace(source.bound, weighted=True, groups=None)
    return replace(
        source, form=Grouped(source, where, keys, totals), sets=sets, origins=origins, unit=unit, units=units, own=own,
        bound=alone, groups=(None, None), moved=frozenset(totals),
    )  # fmt: skip


def marked(left: Rows, mark: Mark, *, nullable: bool) -> Rows:
    """The left's rows with a mark: their own unit's rows and public ones decide it, so no other unit does."""
    value_set = column_set(Column(mark.name, ColumnType(Kind.BOOLEAN), nullable=nullable))
    return replace(left, form=mark, sets={**left.sets, mark.name: value_set}, tables=left.tables + mark.right.tables)


def with_constant(source: Rows, name: str, kind: ColumnType, sql_type: str) -> Rows:
    """The rows with a constant. It narrows nothing: its value set is all that its type holds (PROOFS A7)."""
    value_set = replace(column_set(Column(name, kind)), nullable=True)
    form = source.form
    under, types = (form.source, form.types) if isinstance(form, Constants) else (source, {})
    return replace(source, form=Constants(under, {**types, name: sql_type}), sets={**source.sets, name: value_set})


def stands_once(rows: Rows, scan: Scan) -> bool:
    """Whether no row of a table stands in several rows of a relation that has columns of it."""
    form = rows.form
    match form:
        case Scan():
            return True
        case Join():
            in_left = any(origin.scan is scan for origin in form.left.origins.values())
            side: Literal["left", "right"] = "left" if in_left else "right"
            return side not in form.repeated and stands_once(form.left if in_left else form.right, scan)
        case Mark():
            return stands_once(form.left, scan)
        case Select() | Constants():
            return stands_once(form.source, scan)
        case Grouped():
            names = {key.name for key in form.keys.values() if isinstance(key, exp.Column)}
            stored = {name for name, origin in form.source.origins.items() if origin.scan is scan}
            others = names - stored  # one that holds the unit is the same in all of a row's groups, two may not be
            return len(names) == len(form.keys) and len(others) <= 1 and others <= form.source.own
    return False


def known(form: Known, sets: Mapping[str, ValueSet]) -> Rows:
    """The rows of a release: as good as public, since they are paid for before anything is read (PROOFS A7)."""
    return Rows(form, sets, {}, None, frozenset(), frozenset(), None, ())


def free_name(name: str, taken: Mapping[str, object]) -> str:
    """The name, or one made of it that isn't taken, in upper or lower case: to the engine they are the same."""
    lower = {other.lower() for other in taken}
    if name.lower() not in lower:
        return name
    number = 2
    while f"{name}_{number}".lower() in lower:
        number += 1
    return f"{name}_{number}"


def identical(left: Rows, one: str, right: Rows, other: str, types: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether two columns are of types that compare exactly, without a conversion that could merge or fail values.

    `types` are the engine's own, by table and column. Two integer types are as good as one: the narrower is widened,
    which keeps different numbers different (PROOFS P4b). All names of units are of one kind, stored or not.
    """
    kind = left.sets[one].kind
    if one in left.own and other in right.own and kind not in (Kind.DOUBLE, Kind.DECIMAL):
        return kind is right.sets[other].kind
    a, b = (_stored(rows, column, types) for rows, column in ((left, one), (right, other)))
    if a is None or b is None or kind is Kind.DOUBLE:
        return False
    return a == b or {a, b} <= _INTEGERS


_INTEGERS = frozenset("TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER".split())


def _stored(rows: Rows, column: str, types: Mapping[str, Mapping[str, str]]) -> str | None:
    if isinstance(rows.form, Known):
        return rows.form.types.get(column)
    origin = rows.origins.get(column)
    return None if origin is None else types[origin.table.name.lower()].get(origin.column)
