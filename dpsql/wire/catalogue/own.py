"""dpsql's own tables: the budget, one's own charges, the policy's tables and columns.

Privacy: made from the policy and from the analyst's own charges. Nothing here knows a number of rows, or anything else
of the data; nothing of another analyst but what the common budget leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from dpsql.columns import Released
from dpsql.ledger import Ledger
from dpsql.policy import Column, Key, Policy, Table, Unit
from dpsql.wire.catalogue.contents import Shown
from dpsql.wire.feedback import limit_of
from dpsql.wire.settings import KNOWN, Settings

MOST_CHARGES = 10_000
"""Newest charges that dpsql.charges shows."""

TABLES: dict[str, tuple[Shown, ...]] = {
    "dpsql.budget": (
        Shown("analyst", "text"), Shown("epsilon_limit", "float8"), Shown("per", "text"),
        Shown("epsilon_charged", "float8"), Shown("epsilon_left", "float8"), Shown("delta_left", "float8"),
        Shown("renews", "timestamp"),
    ),
    "dpsql.charges": (
        Shown("charge", "int8"), Shown("time", "timestamp"), Shown("epsilon", "float8"), Shown("delta", "float8"),
        Shown("query", "text"),
    ),
    "dpsql.tables": (Shown("name", "text"), Shown("unit", "text"), Shown("description", "text")),
    "dpsql.columns": (
        Shown("table_name", "text"), Shown("name", "text"), Shown("type", "text"), Shown("lower", "text"),
        Shown("upper", "text"), Shown("keys", "text"), Shown("nullable", "bool"), Shown("description", "text"),
    ),
    "dpsql.settings": (Shown("name", "text"), Shown("setting", "text")),
}  # fmt: skip
"""The tables and their columns."""
_DTYPES = {"text": "object", "float8": "float64", "int8": "int64", "bool": "bool", "timestamp": "datetime64[us]"}


def rows(name: str, policy: Policy, ledger: Ledger, analyst: str, settings: Settings) -> Released:
    """The rows of a table as one analyst sees them."""
    found: Sequence[Sequence[object]]
    match name:
        case "dpsql.budget":
            found = _budget(policy, ledger, analyst)
        case "dpsql.charges":
            found = _charges(ledger, analyst)
        case "dpsql.tables":
            found = [(t.name, _unit(t), t.description or None) for t in policy.tables.values()]
        case "dpsql.columns":
            found = [_column(t, c) for t in policy.tables.values() for c in t.columns.values()]
        case _:
            found = [(known.shown, settings[key]) for key, known in KNOWN.items()]
    heads = TABLES[name]
    columns = list(zip(*found, strict=True)) if found else [()] * len(heads)
    return Released({h.name: _array(v, h.type) for h, v in zip(heads, columns, strict=True)})


def _budget(policy: Policy, ledger: Ledger, analyst: str) -> list[Sequence[object]]:
    budget = policy.budget
    found, limit = ledger.remaining(analyst, budget), limit_of(analyst, budget)
    total = ledger.totals().analysts.get(analyst)
    row = (
        analyst,
        _float(limit.epsilon),
        limit.per,
        _float(total.epsilon) if total else 0.0,
        _float(found.epsilon),
        _float(found.delta),
        None if found.renews is None else found.renews.replace(tzinfo=None),
    )
    return [row]


def _charges(ledger: Ledger, analyst: str) -> list[Sequence[object]]:
    charges = list(ledger.charges(analyst))
    newest = islice(charges, max(0, len(charges) - MOST_CHARGES), None)
    return [
        (c.number, c.time.replace(tzinfo=None), float(c.loss.epsilon), float(c.loss.delta), c.query) for c in newest
    ]


def _column(table: Table, column: Column) -> Sequence[object]:
    low, high = (None, None) if column.bounds is None else map(_said, column.bounds)
    keys = None if column.keys is None else ", ".join(map(_said, column.keys))
    return table.name, column.name, str(column.type), low, high, keys, column.holds_null, column.description or None


def _said(value: Key | Fraction) -> str:
    """A bound or key."""
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else repr(float(value))
    return "NULL" if value is None else str(value)


def _unit(table: Table) -> str:
    """Whose a table's rows are: `public`, `row`, a column, or the table that knows."""
    found = table.unit
    if found is None:
        return "public"
    if isinstance(found, Unit):
        return found.column or (f"via {found.via.parent}" if found.via else "")
    return found


def _float(number: Fraction | None) -> float | None:
    return None if number is None else float(number)


def _array(values: Sequence[Any], kind: str) -> np.ndarray[Any, Any]:
    dtype = np.dtype(_DTYPES[kind])
    null = np.array([value is None for value in values], dtype=np.bool_)
    if dtype.hasobject:
        return np.array([*values, None], dtype=object)[:-1]
    filled = np.array([np.zeros(1, dtype)[0] if value is None else value for value in values], dtype=dtype)
    return np.ma.masked_array(filled, null) if null.any() else filled
