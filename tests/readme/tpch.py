"""README's table of TPC-H: how many of its queries are answered, and why the others are not."""

from __future__ import annotations

from tests.readme import table
from tests.tpch.outcomes import OUTCOMES, Outcome, read


def tables() -> dict[str, str]:
    """The table by its name, made of the checked-in outcomes."""
    found, lines = read(), []
    for outcome, meaning in OUTCOMES.items():
        alike = [one for one in found if one.outcome == outcome]
        reasons = dict.fromkeys(one.why for one in alike)
        for number, why in enumerate(reasons):
            queries = [one for one in alike if one.why == why]
            lines.append((meaning if not number else "", str(len(alike)) if not number else "", _names(queries), why))
    return {"tpch": table(("of the 22 queries", "number", "which", "change or reason"), lines)}


def _names(queries: list[Outcome]) -> str:
    return ", ".join(f"Q{one.query}" for one in queries)
