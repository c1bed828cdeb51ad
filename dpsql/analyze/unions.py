"""UNION ALL of private rows: all rows of both, so that a unit has as many as in both together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from dpsql.analyze.filters import compiler_of
from dpsql.analyze.joins import materialised
from dpsql.analyze.relations import Private
from dpsql.expressions import is_null, refuse
from dpsql.expressions.literals import DOUBLE, cast, sql_type
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
    blank = [_nulls(side, analyzer) for side in sides]
    ready = [materialised(side, analyzer) for side in sides]
    names = [list(side.columns) for side in ready]
    sets: dict[str, ValueSet] = {}
    kinds: dict[str, ColumnType] = {}
    for position, name in enumerate(first.columns):
        found = [side.rows.sets[listed[position]] for side, listed in zip(ready, names, strict=True)]
        known = [s for s, listed, nulls in zip(found, names, blank, strict=True) if listed[position] not in nulls]
        kinds[name] = _common(node, name, known or found)
        sets[name] = _joined(known or found, kinds[name], nullable=len(known) < len(found))
    unit = None
    if first.rows.unit is not None:
        unit = UNIT
        sets[UNIT] = first.rows.sets[first.rows.unit]
    branches = tuple(
        _branch(side.rows, listed, nulls, kinds, sets, unit)
        for side, listed, nulls in zip(ready, names, blank, strict=True)
    )
    rows = union(branches, sets, unit)
    return Private(rows, {name: exp.column(name, quoted=True) for name in first.columns})


def _nulls(side: Private, analyzer: Analyzer) -> frozenset[str]:
    """The columns that hold nothing but a literal NULL: it takes the type of what stands in its place elsewhere."""
    compiler = compiler_of(side, analyzer)
    return frozenset(name for name, column in side.columns.items() if is_null(compiler.value(column)))


def _branch(
    rows: Rows, listed: list[str], nulls: frozenset[str], kinds: dict[str, ColumnType], sets: dict[str, ValueSet],
    unit: str | None,
) -> Rows:  # fmt: skip
    """One side with the union's names and types."""
    columns: dict[str, exp.Expr] = {}
    for old, (name, kind) in zip(listed, kinds.items(), strict=True):
        column: exp.Expr = exp.Null() if old in nulls else exp.column(old, quoted=True)
        columns[name] = column if old not in nulls and rows.sets[old].type == kind else cast(column, sql_type(kind))
    if unit is not None:
        assert rows.unit is not None
        columns[unit] = exp.column(rows.unit, quoted=True)
    return replace(select(rows, columns, sets, ()), unit=unit)


def _common(node: exp.Expr, name: str, sets: list[ValueSet]) -> ColumnType:
    """The type of a column of a union."""
    types = {s.type for s in sets}
    if len(types) == 1:
        return types.pop()
    if all(kind.kind in _NUMBERS for kind in types):
        return DOUBLE
    raise refuse(node, f"the sides of UNION ALL have different types in column {name}", "cast one of them")


def _joined(sets: list[ValueSet], kind: ColumnType, *, nullable: bool) -> ValueSet:
    both = joined([replace(s, type=kind) for s in sets], kind)
    nullable = nullable or any(s.nullable for s in sets)
    both = replace(both, nullable=nullable, null_key=any(s.null_key for s in sets))
    return replace(both, machine=Interval()) if kind.kind is Kind.DOUBLE else both
