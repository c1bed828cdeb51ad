"""EXPLAIN: what a statement would release, with which noise, at what cost. No data, no charge.

The half-width of a mean or a variance depends on the number of rows with a value, which is private: it is shown as
±c/n; that of a standard deviation s, which depends on that too, as ±c/(n·s). Stored answers fill in n and s.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Protocol

from dpsql.aggregates.aggregate import COUNTING_NULLS, Basis
from dpsql.aggregates.count import PARTS_WAY
from dpsql.layouts import is_whole
from dpsql.plan import BasisPlan, NumberPlan, Plan, ReleasePlan, alternative
from dpsql.policy import MechanismChoice, Unit
from dpsql.privacy.loss import PrivacyLoss
from dpsql.privacy.mechanisms import cube, laplace, permute_and_flip
from dpsql.privacy.sensitivity import Part
from dpsql.query import Key, KeyDomain
from dpsql.result import LEVEL, Rank, moment_text, percent_text
from dpsql.rows import Rows

SHOWN_KEYS = 8


class _Inner(Protocol):
    @property
    def sql(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Known:
    """What stored answers say of a number whose error depends on the data, for each group.

    rows    the noisy number of the rows that it is computed from, at least 1
    itself  of a standard deviation the noisy number; None where it isn't stored
    """

    rows: tuple[int, ...]
    itself: tuple[float, ...] | None = None

    def half_widths(self, times_rows: float, *, of_root: bool) -> tuple[float, ...]:
        """The half-width of each group's number, where that of the mean or the variance is `times_rows` over the rows.

        A variance that is v, give or take w, has a root between those of v − w and v + w: it is at most √w away from
        that of v, whatever v.
        """
        widths = tuple(times_rows / rows for rows in self.rows)
        if not of_root:
            return widths
        if self.itself is None:
            return tuple(map(math.sqrt, widths))
        return tuple(map(_of_root, self.itself, widths))


def _of_root(root: float, width: float) -> float:
    """How far the roots of what lies within `width` of a root's square are from it, at most."""
    square = root * root
    return max(root - math.sqrt(max(square - width, 0.0)), math.sqrt(square + width) - root)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a statement would be charged now, what the budget leaves before it, and which releases cost nothing.

    Those are stored: by number, when they were released. `refused` says why nothing that reads private tables would be
    answered, if so: who asks is locked, or has no budget at all. `known` is what stored answers say of errors, by the
    numbers of a release and of a call in it.
    """

    charge: PrivacyLoss
    left: Fraction | None
    stored: Mapping[int, dt.datetime]
    refused: str | None = None
    known: Mapping[tuple[int, int], Known] = field(default_factory=dict)


def explain(
    plan: Plan,
    inner: Sequence[Sequence[_Inner]],
    outer: str,
    cost: Cost,
    form: Literal["text", "json"] = "text",
    level: Fraction = LEVEL,
    choice: MechanismChoice = "laplace",
) -> str:
    """The plan as text or as one JSON object; half-widths are of that level. `choice`: the policy's, of mechanisms."""
    facts = describe(plan, inner, outer, cost, level, choice)
    return json.dumps(facts, indent=2, ensure_ascii=False) if form == "json" else _text(facts)


def describe(
    plan: Plan, inner: Sequence[Sequence[_Inner]], outer: str, cost: Cost, level: Fraction, choice: MechanismChoice
) -> dict[str, Any]:
    """Everything that EXPLAIN shows, as plain data."""
    before, charged = cost.left, cost.charge.epsilon
    return {
        "epsilon": _number(plan.epsilon),
        "epsilon_charged": _number(charged),
        "delta_charged": float(cost.charge.delta),
        "epsilon_left_before": None if before is None else _number(before),
        "epsilon_left_after": None if before is None else _number(max(before - charged, Fraction(0))),
        "affordable": cost.refused is None and (before is None or charged <= before),
        "refused": cost.refused,
        "releases": [
            _release(
                release, [i.sql for i in queries], {c: n for (r, c), n in cost.known.items() if r == number}, level
            )
            | {"stored": _moment(cost.stored.get(number))}
            for number, (release, queries) in enumerate(zip(plan.releases, inner, strict=True))
        ],
        "outer_sql": outer,
        "mechanism": choice,
    }


def _moment(time: dt.datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="seconds")


def _number(value: Fraction) -> float | int:
    return int(value) if value.denominator == 1 else float(value)


def _release(plan: ReleasePlan, sql: list[str], known: Mapping[int, Known], level: Fraction) -> dict[str, Any]:
    instead = alternative(plan)
    others = [None] * len(plan.numbers) if instead is None else instead.numbers
    return {
        "table": plan.query.rows.name,
        "unit": _unit(plan.query.rows),
        "epsilon": _number(plan.epsilon),
        "groups": plan.query.cells,
        "keys": [_key(key) for key in plan.query.keys],
        "selection": _selection(plan),
        "numbers": [
            _planned(number, plan, other, instead, known.get(position), level)
            for position, (number, other) in enumerate(zip(plan.numbers, others, strict=True))
        ],
        "inner_sql": sql,
    }


def _unit(rows: Rows) -> str:
    """The unit as the policy names it: a row, or a column of the table that the rows reach it through."""
    if rows.unit is None:
        return "row"
    for table in rows.tables:
        if isinstance(table.unit, Unit) and table.unit.column is not None:
            return f"{table.name}.{table.unit.column}"
    for origin in rows.origins.values():
        end = (origin.table, *origin.scan.path)[-1]
        if isinstance(end.unit, Unit):
            return f"{end.name}.{end.unit.column}"
    return "unit"


def _selection(plan: ReleasePlan) -> dict[str, Any] | None:
    """How private keys are selected, None where there are none."""
    if plan.selection is None:
        return None
    selection = plan.selection
    return {
        "epsilon": _number(selection.epsilon),
        "delta": float(selection.delta),
        "max_groups": selection.groups,
        "min_units": selection.min_units,
        "threshold": selection.threshold,
    }


def _key(key: Key) -> dict[str, Any]:
    return {
        "expression": str(key.text),
        "from": key.origin,
        "count": None if key.domain.private else key.domain.size,
        "values": _shown(key.domain),
    }


def _shown(domain: KeyDomain) -> list[Any]:
    """The first keys, as JSON values; of private ones none."""
    if domain.private:
        return []
    if domain.values is not None:
        codes: Iterable[int | str] = domain.codes()[:SHOWN_KEYS]
    else:
        codes = range(domain.first, domain.first + min(domain.count, SHOWN_KEYS))
    labels = [domain.label(code) for code in codes]
    shown = [str(v) if isinstance(v, dt.date) else v for v in labels]
    return shown + ([None] if domain.null and domain.size <= SHOWN_KEYS else [])


def _planned(
    number: NumberPlan,
    plan: ReleasePlan,
    other: NumberPlan | None,
    instead: ReleasePlan | None,
    known: Known | None,
    level: Fraction,
) -> dict[str, Any]:
    basis = plan.bases[number.basis]
    grid = basis.grid
    facts: dict[str, Any] = {
        "call": str(number.call.text),
        "mechanism": _mechanism(basis),
        "basis": basis.basis.value,
        "epsilon": _number(basis.epsilon),
        "parts_of_rows": plan.parts_of(number),
        "parts_added": len(_added(number)),
        "epsilon_of_parts": [_number(plan.bases[index].epsilon) for index in _added(number)],
        "bound": _bound(basis, plan.query.rows),
        **_error(number, plan, level),
        **_stored_error(number, plan, known, level),
        "epsilon_of_ends": [_number(plan.bases[end].epsilon) for end in number.ends],
        "counted_by": _counted_by(number, plan),
        "alternative": None,
    }
    if other is not None and instead is not None:
        own = instead.bases[other.basis]
        facts["alternative"] = {
            "mechanism": _mechanism(own), "epsilon": _number(own.epsilon), "others": _new_mechanism(plan),
            **_error(other, instead, level),
        }  # fmt: skip
    if grid.cells and number.call.sql_type in _MOMENTS:
        facts |= {"bounds": _moments(number), "grain": _number(grid.grain / _MOMENTS[number.call.sql_type])}
    elif grid.cells:
        facts |= {
            "bounds": [_number(grid.lower), _number(grid.upper)],
            "grain": _number(grid.grain),
        }
    bases = [plan.bases[index] for index in dict.fromkeys((*_added(number), *number.counts))]
    facts["parts"] = [
        {
            "name": part.name,
            "sensitivity": _number(_worth(part, each) * each.bound.rows),
            "scale": _number(_worth(part, each) * each.row_scale),
        }
        for each in bases
        for part in each.parts
    ]
    return facts


def _counted_by(number: NumberPlan, plan: ReleasePlan) -> str | None:
    """The number of one column whose rows a count of whole rows counts: all of them, as the policy says that the column
    is never NULL. None of other counts.
    """
    if number.call.aggregate != "count" or number.call.measure.argument is not None:
        return None
    texts = {call.measure.identity[0]: call.text for call in reversed(plan.query.calls)}
    for index in _added(number):
        basis, measure = plan.bases[index].basis, plan.bases[index].measure
        if measure.argument is not None and is_whole(measure) and basis not in COUNTING_NULLS:
            return str(texts[measure.identity[0]])
    return None


def _added(number: NumberPlan) -> tuple[int, ...]:
    """The bases that a number's sums come from, one of each part of the rows where they are added up."""
    if number.way is PARTS_WAY:
        return number.counts
    return (number.basis, *number.added)


_MOMENTS = {"DATE": 1, "TIMESTAMP": 10**6}
"""Types of dates and times that are chosen: the steps of their grids in a day, or in a second."""


def _moments(number: NumberPlan) -> list[str]:
    """The bounds of dates or times."""
    call = number.call
    assert call.measure.argument is not None
    bounds = call.measure.argument.set.bounds
    return [str(KeyDomain(call.type.kind, None).label(int(Fraction(end)))) for end in (bounds.lower, bounds.upper)]


def _new_mechanism(plan: ReleasePlan) -> str:
    """The mechanism that its alternative has for some numbers."""
    uses_cube = any(basis.mechanism is cube.MECHANISM for basis in plan.bases)
    other = laplace.MECHANISM if uses_cube else cube.MECHANISM
    return other.name


def _mechanism(basis: BasisPlan) -> str:
    return _OF_SELECTION if basis.basis is Basis.UNITS else basis.mechanism_name


_OF_SELECTION = "truncated geometric"
"""The noise of the units of a key that isn't public: shown where it is above a threshold."""


def _error(number: NumberPlan, plan: ReleasePlan, asked: Fraction) -> dict[str, float | None]:
    """The half-width of a number; where it depends on the number of rows with a value, about that, times those.

    That is of the worst values, and of those that are spread evenly between their bounds. Of a quantile the half-width
    is known in rank, of an extreme how many rows lie beyond. Of a standard deviation s it is about that of the variance
    over 2s, so what is known is that times the rows and s.
    """
    grid, law, way, level = plan.bases[number.basis].grid, plan.law(number), number.way, float(asked)
    even, worst = (None, None) if way.over_rows is None else way.over_rows(law, grid, level)
    rank = plan.rank_of(number, level)
    return {
        "level": level,
        "half_width": None if way.half_width is None else way.half_width(law, grid, level),
        "half_width_times_rows": None if way.of_root else worst,
        "half_width_times_rows_even": None if way.of_root else even,
        "half_width_times_rows_and_itself": worst / 2 if way.of_root and worst is not None else None,
        "half_width_times_rows_and_itself_even": even / 2 if way.of_root and even is not None else None,
        "rank_half_width": None if rank is None else rank.half_width,
        "rank_half_width_usual": None if rank is None else rank.usual,
        "rows_beyond": None if rank is None else rank.beyond,
    }


def _stored_error(
    number: NumberPlan, plan: ReleasePlan, known: Known | None, asked: Fraction
) -> dict[str, list[float] | None]:
    """What is stored of a number whose error depends on it, and the half-width by that for the worst values; in the
    groups where they are least and greatest.

    That of a standard deviation that isn't stored is the most that it can be.
    """
    over_rows, grid = number.way.over_rows, plan.bases[number.basis].grid
    found: dict[str, Sequence[float] | None] = dict.fromkeys(("rows_stored", "itself_stored", "half_width_stored"))
    if known is not None and over_rows is not None:
        _, worst = over_rows(plan.law(number), grid, float(asked))
        widths = known.half_widths(worst, of_root=number.way.of_root)
        found |= {"rows_stored": known.rows, "itself_stored": known.itself, "half_width_stored": widths}
    return {name: None if values is None else _ends(values) for name, values in found.items()}


def _ends(values: Sequence[float]) -> list[float]:
    """The least and the greatest."""
    return [min(values), max(values)]


def _bound(basis: BasisPlan, rows: Rows) -> str | None:
    """How much of one unit's rows counts, and why so much; None where each row is a unit of its own."""
    if rows.unit is None:
        return None
    bound = basis.bound
    assert rows.bound is not None
    if basis.measure.of_unit:
        return (
            _many(bound.rows, "group")
            + " of a unit"
            + (", of which more count in proportion" if bound.weighted else "")
        )
    if basis.measure.by_unit:
        return f"{_many(bound.rows, 'value')} of a unit in all groups, chosen by a hash where it has more"
    if bound.groups is not None:
        pairs = f"{_many(bound.groups, 'group')} of a unit with {_many(bound.rows // bound.groups, 'row')} each"
        return f"{pairs}, which is less than {_many(rows.bound.rows, 'row')}"
    return _many(bound.rows, "row") + " of a unit" + (", of which more count in proportion" if bound.weighted else "")


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _worth(part: Part, basis: BasisPlan) -> Fraction:
    """What a part's unit means: so many rows, or what they add in the column's terms.

    A centre is Σ (x − the middle of the bounds), a square Σ 2(x − the middle)² less what makes it lie evenly around 0.
    """
    half = (basis.grid.upper - basis.grid.lower) / 2
    match part.name:
        case "count" | "valued":
            return Fraction(1)
        case "centre":
            return half
        case "square":
            return half * half
    grain = basis.grid.grain
    return part.unit * (grain * grain if part.square else grain if part.index else Fraction(1)) / part.fine


def plain(value: float) -> str:
    """A number with thousands separators and at most six significant digits behind them."""
    size = abs(value)
    if size != 0 and not 1e-4 <= size < 1e15:
        return f"{value:.6g}"
    places = max(0, 6 - len(str(int(size)))) if size >= 1 else 6
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _text(facts: dict[str, Any]) -> str:
    lines = [f"epsilon {facts['epsilon']:g}, charged {facts['epsilon_charged']:g}"]
    if facts["delta_charged"]:
        lines[0] += f" and delta {facts['delta_charged']:g}"
    if facts["epsilon_left_before"] is not None:
        after = f"{facts['epsilon_left_after']:g} after" if facts["affordable"] else "not enough for this query"
        lines[0] += f"; {facts['epsilon_left_before']:g} left, {after}"
    if facts["refused"] is not None:
        lines.append(f"it would be refused: {facts['refused']}")
    if not facts["releases"]:
        lines.append("no private table is read: nothing is charged")
    compared = facts["mechanism"] == "auto"
    for number, release in enumerate(facts["releases"]):
        lines += _release_text(number, release, compared=compared)
    lines += ["outer SQL (over noisy rows):", f"  {facts['outer_sql']}"]
    return "\n".join(lines)


def _release_text(index: int, release: dict[str, Any], *, compared: bool) -> list[str]:
    groups = _many(release["groups"], "group")
    if release["selection"]:
        groups = "groups found in the data" + ("" if release["groups"] == 1 else f", {groups} of each")
    lines = [f"release {index} of {release['table']}: {groups}, epsilon {release['epsilon']:g}, unit {release['unit']}"]
    for key in release["keys"]:
        if key["count"] is None:
            lines.append(f"  key {key['expression']}: from {key['from']}")
            continue
        values = ", ".join(_sql_value(v) for v in key["values"])
        more = ", …" if key["count"] > len(key["values"]) else ""
        lines.append(f"  key {key['expression']}: {key['count']} values from {key['from']}: {values}{more}")
    if release["selection"]:
        lines.append(_selection_text(release["selection"]))
    for number in release["numbers"]:
        bounds = ""
        if "bounds" in number:
            low, high = (end if isinstance(end, str) else plain(end) for end in number["bounds"])
            unit = "" if not isinstance(number["bounds"][0], str) else " s" if ":" in low else " d"
            bounds = f", bounds [{low}, {high}], grain {number['grain']:g}{unit}"
        error = f" {_error_text(number) or 'error depends on the data'}{bounds};"
        lines.append(
            f"  {number['call']}:{error} {number['mechanism']}, basis {number['basis']}, epsilon "
            f"{_range_text(_ends(number['epsilon_of_parts']), sign='', text='{:g}'.format)}{_partition_text(number)}"
        )
        if number["epsilon_of_ends"]:
            shares = ", ".join(f"{epsilon:g}" for epsilon in number["epsilon_of_ends"])
            lines.append(f"    ends of its interval: {permute_and_flip.NAME}, epsilon {shares}")
        if number["rows_stored"]:
            lines.append(f"    {_stored_text(number)}")
        lines.append(f"    {_instead_text(number)}")
        if number["counted_by"]:
            lines.append(
                f"    counts the rows with a value, as {number['counted_by']} does: all of them, by the policy"
            )
        if number["bound"]:
            lines.append(f"    counted in full: {number['bound']}")
        for part in number["parts"]:
            lines.append(f"    {part['name']}: Δf {plain(part['sensitivity'])}, scale {plain(part['scale'])}")
    if compared and any(number["alternative"] for number in release["numbers"]):
        lines.append("  mechanisms are compared by the errors of all numbers together, for values spread evenly")
    if release["stored"]:
        lines.append(
            f"  stored {moment_text(dt.datetime.fromisoformat(release['stored']))}: given again, it costs nothing"
        )
    if not release["inner_sql"]:
        return [*lines, "  the declared keys are listed: nothing is read, nothing is charged"]
    return [*lines, "  inner SQL (on the private engine):", *(f"    {sql}" for sql in release["inner_sql"])]


def _partition_text(number: dict[str, Any]) -> str:
    """Whether a number is of one of several parts of the rows, each of which has that ε, or of all of them."""
    if number["parts_of_rows"] == 1:
        return ""
    parts = f"{number['parts_of_rows']} parts of the rows"
    return f" in each of {parts}, added up" if number["parts_added"] > 1 else f" for one of {parts}"


def _instead_text(number: dict[str, Any]) -> str:
    """What the error would be with the other mechanism, if there is one.

    The number itself may keep its mechanism, and have another share of ε for the other numbers' sake.
    """
    other = number["alternative"]
    if other is None:
        return "no other mechanism for it"
    error = _error_text(other)
    if error == _error_text(number):
        error = "the same"
    if other["mechanism"] != number["mechanism"]:
        return f"instead with {other['mechanism']} noise: {error}"
    share = "" if other["epsilon"] == number["epsilon"] else f", epsilon {other['epsilon']:g} for this one"
    return f"instead with {other['others']} noise for other numbers{share}: {error}"


def _selection_text(selection: dict[str, Any]) -> str:
    groups = _many(selection["max_groups"], "group")
    return (
        f"  keys are shown where more than {selection['threshold']} units have them, noise included; a unit counts for "
        f"{groups}; truncated geometric noise, epsilon {selection['epsilon']:g}, delta {selection['delta']:g}"
    )


def _stored_text(number: dict[str, Any]) -> str:
    """The half-width by a stored count of a number's rows, for the worst values; of a standard deviation s that isn't
    stored as a formula, and the most that it can be.
    """
    least, most = number["rows_stored"]
    rows, widths = f"{least:,}", _range_text(number["half_width_stored"])
    if least != most:
        rows += f" to {most:,} of a group"
    times = number["half_width_times_rows_and_itself"]
    if times is None:
        return f"by the stored noisy number of rows, {rows}: {widths}"
    if number["itself_stored"] is None:
        widths, largest = _range_text((times / most, times / least), "/s"), plain(number["half_width_stored"][1])
        return f"by the stored noisy number of rows, {rows}: {widths}, at most ±{largest}"
    itself = _range_text(number["itself_stored"], sign="")
    return f"by the stored noisy number of rows, {rows}, and s, {itself}: {widths}"


def _range_text(ends: Sequence[float], over: str = "", sign: str = "±", text: Callable[[float], str] = plain) -> str:
    """One number, or two."""
    return " to ".join(f"{sign}{end}{over}" for end in dict.fromkeys(map(text, ends)))


def _error_text(number: dict[str, Any]) -> str:
    """The half-width of a described number; as formulas in n where it depends on the number of rows; "" if unknown."""
    at = f"at {percent_text(number['level'])}"
    if number["half_width"] is not None:
        more = ", more near the threshold" if number["mechanism"] == _OF_SELECTION else ""
        return f"±{plain(number['half_width'])} {at}{more}"
    rank = Rank(*(number[key] for key in ("rank_half_width", "rank_half_width_usual", "rows_beyond")))
    if rank != Rank():
        return rank.text(number["level"])
    worst, even = number["half_width_times_rows_and_itself"], number["half_width_times_rows_and_itself_even"]
    if worst is not None:
        return f"±{plain(worst)}/(n·s) {at}, s the number itself, ±{plain(even)}/(n·s) for values spread evenly"
    worst, even = number["half_width_times_rows"], number["half_width_times_rows_even"]
    if worst is None:
        return ""
    return f"±{plain(worst)}/n {at}, ±{plain(even)}/n for values spread evenly"


def _sql_value(value: object) -> str:
    if value is None:
        return "NULL"
    return str(value).lower() if isinstance(value, bool) else str(value)
