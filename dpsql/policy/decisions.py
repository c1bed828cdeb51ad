"""DECIDE: the word that stands in a draft where the owner of the data must decide. Nothing that holds it loads."""

from __future__ import annotations

from typing import TypeGuard

from dpsql.policy.document import Node, Scalar

DECIDE = "DECIDE"

_HINTS = {
    ("budget", "epsilon"): "write epsilon: and what all queries together may cost, for example epsilon: 20",
    ("an analyst", "epsilon"): "write epsilon: and what this analyst may spend, for example epsilon: 5",
    ("a table", "unit"): "write unit: row if each row is one person and nobody has two; "
    "unit: {column: person_id, max_rows: 20} if a column tells whose a row is; "
    "or public: true if nothing in the table is private",
    ("a unit", "column"): "write column: and the column that tells whose a row is, for example column: person_id",
    ("a unit", "via"): "write via: and the column of another table that a row refers to, "
    "for example via: orders.order_id",
    ("a unit", "max_rows"): "write max_rows: and how many rows of one person count in full, for example max_rows: 20",
    ("a column", "type"): "write type: integer, decimal(p,s), double, text, boolean, date or timestamp",
    ("a column", "bounds"): "write bounds: [lower, upper], for example bounds: [0, 120] or "
    "bounds: [2020-01-01, 2020-12-31], from what is known about the subject; or delete the line",
    ("a column", "keys"): "write keys: and all values that may be shown as groups, for example keys: [a, b]",
}


def is_undecided(node: Node) -> TypeGuard[Scalar]:
    """Whether nothing but the word stands there."""
    return isinstance(node, Scalar) and node.written == DECIDE == node.value


def undecided(where: str, kind: str, key: str) -> tuple[str, str]:
    """Message and hint for a place that is still to be decided; `kind` is the kind of its section."""
    hint = _HINTS.get((kind, key), f"write the value in the place of {DECIDE}; config/template.yaml shows every key")
    return f"{where} is still to be decided", hint
