"""What is declared, for what refers to it: tables and columns by name, `table.column` as `keys` and `via` write it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpsql.policy.model import Column, Table
from dpsql.policy.problems import Problems, one_of, quoted, similar


@dataclass(frozen=True, slots=True)
class Reference:
    """`table.column` as it is written, and where."""

    text: str
    line: int


@dataclass(slots=True)
class Declared:
    """The tables of a policy, by lower-case name. Nothing more is said of those that are declared, but wrongly."""

    problems: Problems
    names: tuple[str, ...] = ()
    """Of all tables that are written, also of those that could not be read."""
    tables: dict[str, Table] = field(default_factory=dict)
    wrong: set[tuple[str, str]] = field(default_factory=set)
    """(table, column) of the columns that are written and could not be read."""

    def target(self, reference: Reference, *, leads: str, example: str, declare: str) -> tuple[str, str] | None:
        """The table and column that are meant, the table one of `names`; a problem where none is.

        A name may contain dots. `leads` begins the message, such as "keys come from".
        """
        dots = [i for i, character in enumerate(reference.text) if character == "."][:8]
        splits = [(reference.text[:i].lower(), reference.text[i + 1 :].lower()) for i in dots]
        splits = [(table, column) for table, column in splits if table and column]
        if not splits:
            message = f"{quoted(reference.text)} names no table and column"
            self.problems.add(reference.line, message, f"write {example}")
            return None
        found = next((split for split in splits if split[0] in self.names), None)
        if found is None:
            meant = similar(splits[-1][0], self.names)
            hint = f"did you mean {quoted(meant)}?" if meant else declare
            self.problems.add(reference.line, f"{leads} the unknown table {quoted(splits[-1][0])}", hint)
        return found

    def column(self, table: Table, name: str, line: int, hint: str = "") -> Column | None:
        """The column of this name; a problem where the table declares none."""
        column = table.columns.get(name.lower())
        if column is None and (table.name.lower(), name.lower()) not in self.wrong:
            meant = similar(name, table.columns)
            known = f"write one of its columns: {one_of(table.columns)}" if table.columns else "declare it"
            hint = hint or (f"did you mean {quoted(meant)}?" if meant else known)
            self.problems.add(line, f"{quoted(table.name)} declares no column {quoted(name)}", hint)
        return column
