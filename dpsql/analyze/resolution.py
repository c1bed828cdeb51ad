"""Names: an analyst's column as an expression over the private rows' own columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count

from sqlglot import exp

from dpsql.analyze.relations import (
    Private,
    Size,
    did_you_mean,
    rebuilt,
)
from dpsql.errors import UnknownColumn, UnknownTable
from dpsql.expressions import position_of, unsupported


def ambiguous(node: exp.Column, having: list[str]) -> UnknownColumn:
    """The error of a column without table that several tables have."""
    return UnknownColumn(
        f"column {node.name} is in {' and '.join(having)}",
        hint=f"write {having[0]}.{node.name} or {having[1]}.{node.name}",
        position=position_of(node),
    )


@dataclass(frozen=True, slots=True)
class Scope:
    """Resolves an analyst's column names to expressions over the columns of private rows.

    source  the rows of the whole FROM clause, with all their columns
    parts   the columns of each table or subquery of FROM, by its name
    merged  the columns that USING made one of two: they need no table before them
    """

    size: Size
    source: Private
    parts: Mapping[str, Mapping[str, exp.Expr]]
    merged: Mapping[str, exp.Expr] = field(default_factory=dict)

    def lookup(self, node: exp.Column) -> exp.Expr | None:
        """What a name stands for; None where it stands for nothing here. Raises UnknownColumn where for several."""
        if node.args.get("db") or node.args.get("catalog"):
            return None
        name = node.name.lower()
        if node.table:
            return self.parts.get(node.table.lower(), {}).get(name)
        if name in self.merged:
            return self.merged[name]
        having = [part for part, columns in self.parts.items() if name in columns]
        if len(having) > 1:
            raise ambiguous(node, having)
        return self.parts[having[0]][name] if having else None

    def all_columns(self) -> Iterator[tuple[str, exp.Expr]]:
        """What * stands for: each table's columns in turn, those of USING once. Names that come again are numbered."""
        names: set[str] = set()
        for part in self.parts.values():
            for name, column in part.items():
                if self.merged.get(name, column) is not column:
                    continue
                free = next(n for n in chain([name], (f"{name}_{i}" for i in count(1))) if n not in names)
                names.add(free)
                yield free, column

    def check_qualifier(self, node: exp.Column) -> None:
        if node.table.lower() not in self.parts:
            raise self._not_in_from(node)

    def _not_in_from(self, node: exp.Column) -> UnknownTable:
        return UnknownTable(
            f"table {'.'.join(p.name for p in node.parts[:-1])} is not in this FROM clause",
            hint=f"it has {', '.join(self.parts) or self.source.rows.name}",
            position=position_of(node),
        )

    def resolved(self, node: exp.Expr) -> exp.Expr:
        """A copy over the rows' own columns; an unknown column is an error."""

        def replaced(child: exp.Expr) -> exp.Expr:
            if isinstance(child, exp.Column):
                return self._required(child)
            if isinstance(child, exp.Query):
                raise unsupported(child)
            return rebuilt(child, replaced)

        self._reserve(node)
        return replaced(node)

    def _reserve(self, node: exp.Expr) -> None:
        """Count what the copy will hold before it is made."""
        sizes: dict[tuple[str, str], int] = {}
        for child in node.walk():
            found = self.lookup(child) if isinstance(child, exp.Column) else None
            if found is None or not isinstance(child, exp.Column):
                self.size.add(1)
                continue
            name = child.table, child.name
            if name not in sizes:
                sizes[name] = sum(1 for _ in found.walk())
            self.size.add(sizes[name] + 1)

    def _required(self, node: exp.Column) -> exp.Expr:
        if isinstance(node.this, exp.Star):
            return exp.Star()
        found = self.lookup(node)
        if found is None:
            raise self.unknown(node)
        located = found.copy()
        start = position_of(node)
        if start is not None:
            located.meta["start"] = start
        return exp.Paren(this=located) if isinstance(located, (exp.Binary, exp.Unary)) else located

    def unknown(self, node: exp.Column) -> Exception:
        if node.args.get("db") or (node.table and node.table.lower() not in self.parts):
            return self._not_in_from(node)
        parts = {node.table.lower(): self.parts[node.table.lower()]} if node.table else self.parts
        hint = did_you_mean(node.name, {name for part in parts.values() for name in part}, "columns")
        if node.this.args.get("quoted"):
            hint = f"text stands in single quotes: '{node.name}'; {hint}"
        return UnknownColumn(
            f"column {node.name} does not exist in {' or '.join(parts) or self.source.rows.name}",
            hint=hint,
            position=position_of(node),
        )

    def try_resolved(self, node: exp.Expr) -> exp.Expr | None:
        """Like `resolved`, but None where a column is not of this scope or a subquery or aggregate is inside."""
        for child in node.walk():
            if isinstance(child, (exp.Subquery, exp.Select, exp.Window, exp.AggFunc)):
                return None
            if isinstance(child, exp.Column) and self.lookup(child) is None:
                return None
        return self.resolved(node)
