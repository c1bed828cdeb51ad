"""UNION ALL of private rows: all rows of both, so that a unit has as many as in both together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from dpsql.analyze.joins import materialised
from dpsql.analyze.relations import Private
from dpsql.expressions import refuse
from dpsql.expressions.literals import DOUBLE, cast
from dpsql.policy import ColumnType, Kind
from dpsql.rows import UNIT, Rows, select, union
from dpsql.valueset import Interval, ValueSet, joined

if TYPE_CHECKING:
    from dpsql.analyze.scopes import Analyzer

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)


def united(node: exp.Expr, sides: list[Private], analyzer: Analyzer) -> Private:
    """The union of private relations, its columns named as the first's. Each side's values are cast to one type."""
    first = sides[0]
    if len({len(side.columns) for side in sides}) > 1:
        raise refuse(node, "the sides of UNION ALL have different numbers of columns", "name as many columns in each")
    if len({side.rows.unit is None for side in sides}) > 1:
        raise refuse(
            node, "UNION ALL of a table where each row is a privacy unit with one where a unit has many rows isn't "
            "supported", "ask a query of each",
        )  # fmt: skip
    ready = [materialised(side, analyzer) for side in sides]
    names = [list(side.columns) for side in ready]
    sets: dict[str, ValueSet] = {}
    kinds: dict[str, ColumnType] = {}
    for position, name in enumerate(first.columns):
        found = [side.rows.sets[listed[position]] for side, listed in zip(ready, names, strict=True)]
        kinds[name] = _common(node, name, found)
        sets[name] = _joined(found, kinds[name])
    unit = None
    if first.rows.unit is not None:
        unit = UNIT
        sets[UNIT] = first.rows.sets[first.rows.unit]
    branches = tuple(_branch(side, listed, kinds, sets, unit) for side, listed in zip(ready, names, strict=True))
    rows = union(branches, sets, unit)
    return Private(rows, {name: exp.column(name, quoted=True) for name in first.columns})


def _branch(
    side: Private, listed: list[str], kinds: dict[str, ColumnType], sets: dict[str, ValueSet], unit: str | None
) -> Rows:
    """One side with the union's names and types."""
    rows = side.rows
    columns: dict[str, exp.Expr] = {}
    for old, (name, kind) in zip(listed, kinds.items(), strict=True):
        column = exp.column(old, quoted=True)
        if rows.sets[old].values == ():
            columns[name] = cast(exp.Null(), _sql_type(kind))
        else:
            columns[name] = column if rows.sets[old].type == kind else cast(column, _sql_type(kind))
    if unit is not None:
        assert rows.unit is not None
        columns[unit] = exp.column(rows.unit, quoted=True)
    return replace(select(rows, columns, sets, ()), unit=unit)


def _sql_type(kind: ColumnType) -> str:
    match kind.kind:
        case Kind.DECIMAL:
            return f"DECIMAL({kind.precision}, {kind.scale})"
        case Kind.INTEGER:
            return "BIGINT"
        case Kind.TEXT:
            return "VARCHAR"
    return str(kind.kind.value).upper()


def _common(node: exp.Expr, name: str, sets: list[ValueSet]) -> ColumnType:
    """The type of a column of a union; a literal NULL has any."""
    types = {s.type for s in sets if s.values != ()} or {sets[0].type}
    if len(types) == 1:
        return types.pop()
    if all(kind.kind in _NUMBERS for kind in types):
        return DOUBLE
    raise refuse(node, f"the sides of UNION ALL have different types in column {name}", "cast one of them")


def _joined(sets: list[ValueSet], kind: ColumnType) -> ValueSet:
    known = [s for s in sets if s.values != ()] or sets
    both = joined([replace(s, type=kind) for s in known], kind)
    nullable = any(s.nullable for s in sets)
    both = replace(both, nullable=nullable, null_key=any(s.null_key for s in sets))
    return replace(both, machine=Interval()) if kind.kind is Kind.DOUBLE else both
