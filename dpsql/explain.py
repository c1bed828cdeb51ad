"""EXPLAIN: what a statement would release, with which noise, at what cost. No data, no charge."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, Protocol

from dpsql.plan import NumberPlan, Plan, ReleasePlan
from dpsql.policy import Kind
from dpsql.query import Key, KeyDomain
from dpsql.valueset import EPOCH

LEVEL = 0.95
SHOWN_KEYS = 8


class _Remaining(Protocol):
    @property
    def epsilon(self) -> Fraction | None: ...


class _Inner(Protocol):
    @property
    def sql(self) -> str: ...


def explain(
    plan: Plan, inner: Sequence[_Inner], outer: str, left: _Remaining, form: Literal["text", "json"] = "text"
) -> str:
    """The plan as text or as one JSON object. `left` is what the budget holds before this query."""
    facts = describe(plan, inner, outer, left)
    return json.dumps(facts, indent=2, ensure_ascii=False) if form == "json" else _text(facts)


def describe(plan: Plan, inner: Sequence[_Inner], outer: str, left: _Remaining) -> dict[str, Any]:
    """Everything that EXPLAIN shows, as plain data."""
    before = left.epsilon
    charged = plan.charge.epsilon
    return {
        "epsilon": _number(plan.epsilon),
        "epsilon_charged": _number(charged),
        "epsilon_left_before": None if before is None else _number(before),
        "epsilon_left_after": None if before is None else _number(max(before - charged, Fraction(0))),
        "affordable": before is None or charged <= before,
        "releases": [_release(r, i.sql) for r, i in zip(plan.releases, inner, strict=True)],
        "outer_sql": outer,
    }


def _number(value: Fraction) -> float | int:
    return int(value) if value.denominator == 1 else float(value)


def _release(plan: ReleasePlan, sql: str) -> dict[str, Any]:
    return {
        "table": plan.query.table.name,
        "unit": "row",
        "epsilon": _number(plan.epsilon),
        "groups": plan.query.cells,
        "keys": [_key(key) for key in plan.query.keys],
        "numbers": [_planned(number, plan) for number in plan.numbers],
        "inner_sql": sql,
    }


def _key(key: Key) -> dict[str, Any]:
    return {
        "expression": key.text,
        "from": key.origin,
        "count": key.domain.size,
        "values": _shown(key.domain),
    }


def _shown(domain: KeyDomain) -> list[Any]:
    """The first keys, as one would write them."""
    if domain.values is not None:
        values = list(domain.values[:SHOWN_KEYS])
    else:
        values = [i * domain.step for i in range(domain.first, domain.first + min(domain.count, SHOWN_KEYS))]
    return [_key_text(v, domain.kind) for v in values] + [None] * (domain.null and domain.size <= SHOWN_KEYS)


def _key_text(value: bool | int | Fraction | str | None, kind: Kind) -> Any:
    if value is None or isinstance(value, (str, bool)):
        return value
    if kind is Kind.DATE:
        return (EPOCH + dt.timedelta(days=int(value))).isoformat()
    if kind is Kind.TIMESTAMP:
        return (dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(value))).isoformat(sep=" ")
    return _number(Fraction(value))


def _planned(number: NumberPlan, plan: ReleasePlan) -> dict[str, Any]:
    basis = plan.bases[number.basis]
    grid = basis.grid
    half_width: float | str | None = None
    if number.way.half_width is not None:
        half_width = number.way.half_width(1 / basis.epsilon, grid, LEVEL)
    elif grid.cells:
        half_width = f"about {_significant(_avg_constant(number, plan))} / n, for n rows with a value"
    else:
        half_width = 0.0
    facts: dict[str, Any] = {
        "call": number.call.text,
        "mechanism": "discrete Laplace",
        "basis": basis.basis.value,
        "epsilon": _number(basis.epsilon),
        "half_width_95": half_width,
    }
    if grid.cells:
        facts |= {
            "bounds": [_number(grid.lower), _number(grid.upper)],
            "grain": _number(grid.grain),
        }
    facts["parts"] = [
        {
            "name": part.name,
            "sensitivity": _number(_step(part.name, grid.grain) * part.unit),
            "scale": _number(_step(part.name, grid.grain) * basis.scale(part)),
        }
        for part in basis.parts
    ]
    return facts


def _step(name: str, grain: Fraction) -> Fraction:
    """What one integer step of a part means: a row, or a grain."""
    return Fraction(1) if name in ("rows", "present", "nulls") else grain


def _avg_constant(number: NumberPlan, plan: ReleasePlan) -> float:
    """The mean's half-width times n, at the middle of the bounds times √2: an upper bound over all means."""
    basis = plan.bases[number.basis]
    width = float(basis.grid.upper - basis.grid.lower)
    return width * math.log(20) / float(basis.epsilon)


def _significant(value: float) -> str:
    return f"{value:.3g}"


def _text(facts: dict[str, Any]) -> str:
    lines = [f"epsilon {facts['epsilon']:g}, charged {facts['epsilon_charged']:g}"]
    if facts["epsilon_left_before"] is not None:
        after = f"{facts['epsilon_left_after']:g} after" if facts["affordable"] else "not enough for this query"
        lines[0] += f"; {facts['epsilon_left_before']:g} left, {after}"
    if not facts["releases"]:
        lines.append("no private table is read: nothing is charged")
    for number, release in enumerate(facts["releases"]):
        lines += _release_text(number, release)
    lines += ["outer SQL (over noisy rows):", f"  {facts['outer_sql']}"]
    return "\n".join(lines)


def _release_text(index: int, release: dict[str, Any]) -> list[str]:
    lines = [
        f"release {index} of {release['table']}: {release['groups']} group{'s' * (release['groups'] != 1)}, "
        f"epsilon {release['epsilon']:g}, unit {release['unit']}"
    ]
    for key in release["keys"]:
        values = ", ".join("NULL" if v is None else str(v) for v in key["values"])
        more = ", …" if key["count"] > len(key["values"]) else ""
        lines.append(f"  key {key['expression']}: {key['count']} values from {key['from']}: {values}{more}")
    for number in release["numbers"]:
        width = number["half_width_95"]
        shown = f"±{width:.6g}" if isinstance(width, float) else f"± {width}"
        bounds = ""
        if "bounds" in number:
            low, high = number["bounds"]
            bounds = f", bounds [{low:g}, {high:g}], grain {number['grain']:g}"
        lines.append(
            f"  {number['call']}: {shown} at 95 %{bounds}; {number['mechanism']}, basis {number['basis']}, "
            f"epsilon {number['epsilon']:g}"
        )
        for part in number["parts"]:
            lines.append(f"    {part['name']}: Δf {part['sensitivity']:g}, scale {part['scale']:g}")
    lines += ["  inner SQL (on the private engine):", f"    {release['inner_sql']}"]
    return lines
