"""Names: an analyst's column as an expression over the private table's own columns."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from dpsql.analyze.relations import (
    Private,
    Size,
    did_you_mean,
    rebuilt,
)
from dpsql.errors import UnknownColumn, UnknownTable
from dpsql.expressions import position_of, unsupported


@dataclass(frozen=True, slots=True)
class Scope:
    """Resolves an analyst's column names to expressions over the private table's own columns."""

    size: Size
    source: Private

    def lookup(self, node: exp.Column) -> exp.Expr | None:
        if node.args.get("db") or node.args.get("catalog"):
            return None
        if node.table and node.table.lower() != self.source.alias:
            return None
        return self.source.columns.get(node.name.lower())

    def check_qualifier(self, node: exp.Column) -> None:
        if node.table.lower() != self.source.alias:
            raise self._not_in_from(node)

    def _not_in_from(self, node: exp.Column) -> UnknownTable:
        known = self.source.alias or self.source.table.name
        return UnknownTable(
            f"table {'.'.join(p.name for p in node.parts[:-1])} is not in this FROM clause",
            hint=f"it has {known}",
            position=position_of(node),
        )

    def resolved(self, node: exp.Expr) -> exp.Expr:
        """A copy over the table's own columns; an unknown column is an error."""

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
        sizes: dict[str, int] = {}
        for child in node.walk():
            found = self.lookup(child) if isinstance(child, exp.Column) else None
            if found is None:
                self.size.add(1)
                continue
            if child.name not in sizes:
                sizes[child.name] = sum(1 for _ in found.walk())
            self.size.add(sizes[child.name] + 1)

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
        if node.args.get("db") or (node.table and node.table.lower() != self.source.alias):
            return self._not_in_from(node)
        hint = did_you_mean(node.name, self.source.columns, "columns")
        if node.this.args.get("quoted"):
            hint = f"text stands in single quotes: '{node.name}'; {hint}"
        return UnknownColumn(
            f"column {node.name} does not exist in {self.source.alias or self.source.table.name}",
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
