"""The privacy line: exact rows in, noisy rows out. Nothing else turns one into the other."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpsql.aggregates.aggregate import INT64_MAX, Integers
from dpsql.aggregates.numbers import largest
from dpsql.engines.exact_rows import ExactRows, KeyColumn
from dpsql.plan import BasisPlan, ReleasePlan
from dpsql.policy import Kind
from dpsql.privacy.key_selection import KeySelection
from dpsql.privacy.noise import NoiseSource
from dpsql.privacy.sensitivity import Part
from dpsql.query import KeyDomain, half_width_name, interval_names, key_name, number_name
from dpsql.result import LEVEL
from dpsql.rewrite.inner import KINDS, Inner

Column = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class NoisyRows:
    """One release as columns of equal length, one row for each cell: of the declared keys, in declared order.

    Where some keys are private there are these cells for each of those that were selected, in the order of the keys.
    """

    columns: dict[str, Column]


def release(
    exact: tuple[ExactRows, ...],
    plan: ReleasePlan,
    inner: tuple[Inner, ...],
    noise: NoiseSource,
    *,
    counts: Literal["clamp", "raw"],
) -> NoisyRows:
    """Add the planned noise to the exact sums of every declared cell: `exact` are the answers of the inner queries.

    Privacy: the cells are the declared keys, in their order, whatever rows came back; a key that isn't declared is
    ignored, a cell without rows has the sums 0 and gets its noise like any other. Each part of each basis gets
    independent discrete Laplace noise of scale unit / ε. A ReleasePlan works its loss out from those very parts and
    can't be made where that exceeds its ε. All that follows works on noisy numbers only: the noisy sums of weighted
    rows are rounded to whole rows and grains. Private keys are selected first; from then on they are as good as
    declared, since the selection is private and paid for.
    """
    noisy: dict[int, dict[str, Integers]] = {}
    passes = list(zip(plan.passes, exact, inner, strict=True))
    selected: tuple[Code, ...] | None = None
    if plan.selection is not None:
        (_, rows, _), *passes = passes
        selected, counts_of_units = _select(rows, plan.selection, noise)
        noisy[0] = {"units": counts_of_units}
    cells = plan.query.cells * (1 if selected is None else len(selected))
    for bases, rows, query in passes:
        positions = _positions(rows, plan, selected)
        for index in bases:
            noisy[index] = _noisy_parts(plan.bases[index], rows, query, positions, cells, noise)
    columns = key_columns(plan) if selected is None else _selected_columns(plan, selected)
    for index, number in enumerate(plan.numbers):
        basis, parts = plan.bases[number.basis], noisy[number.basis]
        values = number.way.combine(parts, basis.grid)
        if number.call.aggregate == "count" and counts == "clamp":
            values = np.maximum(values, 0)
        columns[number_name(index)] = values
        if number.way.interval is not None:
            low, high = number.way.interval(parts, basis.row_scale, basis.grid, LEVEL)
            columns[half_width_name(index)] = np.maximum(np.maximum(values - low, high - values), 0.0)
    for index, (asked, level) in enumerate(plan.query.intervals):
        number = plan.numbers[asked]
        basis, parts = plan.bases[number.basis], noisy[number.basis]
        ends = number.way.ends(parts, basis.row_scale, basis.grid, float(level))
        columns |= dict(zip(interval_names(index), ends, strict=True))
    return NoisyRows(columns)


Code = tuple[int | str | None, ...]
"""The codes of one combination of private keys."""


def _select(exact: ExactRows, selection: KeySelection, noise: NoiseSource) -> tuple[tuple[Code, ...], Integers]:
    """The private keys that are shown, in order, and their noisy numbers of units.

    Privacy: see `KeySelection`. Only keys of at least one unit come back from the engine; each gets noise of its own,
    whatever their order. The order in which they are shown is that of the keys themselves.
    """
    if not len(exact):
        return (), np.zeros(0, dtype=np.int64)
    (counts,) = exact.sums
    noisy = _add(counts, noise.truncated(selection.scale, selection.bound, len(exact)))
    found = zip(*(key.tolist() for key in exact.keys), strict=True)
    shown = [(code, number) for code, number in zip(found, noisy.tolist(), strict=True) if number > selection.threshold]
    shown.sort(key=lambda pair: _order(pair[0]))
    return tuple(code for code, _ in shown), np.array([number for _, number in shown], dtype=np.int64)


def _order(code: Code) -> tuple[tuple[bool, int | bytes], ...]:
    """Numbers by size, texts by their bytes, NULL last."""
    return tuple((c is None, 0 if c is None else c.encode() if isinstance(c, str) else int(c)) for c in code)


def listed(plan: ReleasePlan) -> NoisyRows:
    """A release of no numbers: the declared keys, from the policy alone."""
    return NoisyRows(key_columns(plan))


def _noisy_parts(
    basis: BasisPlan,
    exact: ExactRows,
    inner: Inner,
    positions: npt.NDArray[np.int64],
    cells: int,
    noise: NoiseSource,
) -> dict[str, Integers]:
    noisy = {}
    for part in basis.parts:
        sums = _cells(_part(part, basis, exact, inner), positions, cells)
        found = _add(sums, noise.laplace(basis.scale(part), cells)) if cells else sums
        noisy[part.name] = narrowest(_in_full(found, basis.bound.steps))
    return noisy


def _in_full(noisy: Integers, steps: int) -> Integers:
    """Noisy sums of weighted rows in rows that count in full, to the nearest."""
    if steps == 1:
        return noisy
    half = steps // 2
    if noisy.dtype != object and largest(noisy) > INT64_MAX - half:
        noisy = noisy.astype(object)
    return (noisy + half) // steps


def narrowest(noisy: Integers) -> Integers:
    """int64 where all values fit, whatever they were computed in.

    Privacy: which of the two an exact sum needed is private, and the two are rounded differently further on. After
    this, the type is a function of the noisy values.
    """
    return noisy.astype(np.int64) if noisy.dtype == object and largest(noisy) <= INT64_MAX else noisy


def _part(part: Part, basis: BasisPlan, exact: ExactRows, inner: Inner) -> Integers:
    """rows·R + present·P + index·I + square·Q of each group, exact."""
    total: Integers | None = None
    for kind in KINDS:
        coefficient = getattr(part, kind)
        if not coefficient:
            continue
        term = _times(coefficient, exact.sums[inner.position(kind, basis)])
        total = term if total is None else _add(total, term)
    assert total is not None
    return total


def _times(coefficient: int, values: Integers) -> Integers:
    if abs(coefficient) * max(largest(values), 1) > INT64_MAX:
        values = values.astype(object)
    return values * coefficient


def _add(a: Integers, b: Integers) -> Integers:
    if a.dtype == object or b.dtype == object or largest(a) + largest(b) > INT64_MAX:
        a, b = a.astype(object), b.astype(object)
    return a + b


# ---------------------------------------------------------------------------------------------- cells


def _cells(values: Integers, positions: npt.NDArray[np.int64], cells: int) -> Integers:
    """The groups' sums at their places among the declared cells; groups of undeclared keys (place -1) fall out."""
    result: Integers = np.zeros(cells, dtype=values.dtype)
    known = positions >= 0
    result[positions[known]] = values[known]
    return result


def _positions(exact: ExactRows, plan: ReleasePlan, selected: tuple[Code, ...] | None) -> npt.NDArray[np.int64]:
    """Where each group that came back stands among the cells, or -1 for undeclared keys and those not selected.

    The selected keys vary slowest, then the declared ones, the last of them fastest.
    """
    keys = plan.query.keys
    if not keys:
        return np.zeros(len(exact), dtype=np.int64)
    positions = np.zeros(len(exact), dtype=np.int64)
    known = np.ones(len(exact), dtype=np.bool_)
    if selected is not None:
        places = {code: i for i, code in enumerate(selected)}
        codes = zip(*(exact.keys[i].tolist() for i in plan.query.private_keys), strict=True)
        positions = np.fromiter((places.get(code, -1) for code in codes), dtype=np.int64, count=len(exact))
        known, positions = positions >= 0, np.maximum(positions, 0)
    for key, column in zip(keys, exact.keys, strict=True):
        if key.domain.private:
            continue
        place = _places(key.domain, column)
        known &= place >= 0
        positions = positions * key.domain.size + np.maximum(place, 0)
    return np.where(known, positions, -1)


def _places(domain: KeyDomain, column: KeyColumn) -> npt.NDArray[np.int64]:
    if domain.values is None:
        place = column.values.astype(np.int64) - domain.first
        place = np.where((place >= 0) & (place < domain.count), place, -1)
    else:
        table = {code: i for i, code in enumerate(domain.codes())}
        values = column.values.tolist()
        place = np.fromiter((table.get(v, -1) for v in values), dtype=np.int64, count=len(values))
    if column.null is not None:
        place = np.where(column.null, domain.count if domain.null else -1, place)
    return place


def key_columns(plan: ReleasePlan, sample: int | None = None) -> dict[str, Column]:
    """The declared keys of every cell, printed from the policy, never from the data.

    With `sample`, that many rows of keys of the right types, in any combination: for binding.
    """
    columns: dict[str, Column] = {}
    cells = after = plan.query.cells
    for index, key in enumerate(plan.query.keys):
        after //= key.domain.size
        if sample is not None:
            few = _labels(_few(key.domain, sample))
            columns[key_name(index)] = few[np.arange(sample) % len(few)]
            continue
        labels = _labels(key.domain)
        if key.domain.size < cells:
            labels = labels[(np.arange(cells) // after) % key.domain.size]
        columns[key_name(index)] = labels
    return columns


def _selected_columns(plan: ReleasePlan, selected: tuple[Code, ...]) -> dict[str, Column]:
    """The keys of every cell: the declared ones, for each combination of selected ones."""
    inside = plan.query.cells
    columns = {}
    declared = key_columns(plan)
    for index, key in enumerate(plan.query.keys):
        if not key.domain.private:
            columns[key_name(index)] = (
                np.ma.concatenate([declared[key_name(index)]] * len(selected))
                if selected
                else (declared[key_name(index)][:0])
            )
            continue
        codes = [code[plan.query.private_keys.index(index)] for code in selected]
        labels = [None if code is None else key.domain.label(code) for code in codes for _ in range(inside)]
        columns[key_name(index)] = _label_array(key.domain, labels)
    return columns


def _few(domain: KeyDomain, count: int) -> KeyDomain:
    """The first values of a domain; of private keys, made-up ones."""
    if domain.private:
        made_up = ("a", "b")[:count] if domain.kind is Kind.TEXT else None
        return replace(
            domain, values=made_up, first=1, count=count, step=Fraction(math.ceil(domain.step)), private=False
        )
    count = min(count, domain.count)
    values = None if domain.values is None else domain.values[:count]
    return replace(domain, values=values, count=count)


def _labels(domain: KeyDomain) -> Column:
    """One label for each key value, as an array that the scratch engine reads with the right type."""
    if domain.values is None and domain.kind in (Kind.INTEGER, Kind.DOUBLE):
        numbers = np.arange(domain.first, domain.first + domain.count, dtype=np.int64) * int(domain.step)
        labels = numbers.astype(np.float64) if domain.kind is Kind.DOUBLE else numbers
        if not domain.null:
            return labels
        masked = np.ma.masked_array(np.append(labels, 0), mask=False)
        masked[-1] = np.ma.masked
        return masked
    if domain.values is None:
        codes: list[Any] = list(range(domain.first, domain.first + domain.count))
    else:
        codes = list(domain.codes())
    return _label_array(domain, [domain.label(code) for code in codes] + [None] * domain.null)


def _label_array(domain: KeyDomain, values: list[Any]) -> Column:
    if domain.kind in (Kind.INTEGER, Kind.DOUBLE):
        filled = np.array([0 if v is None else v for v in values], np.int64 if domain.kind is Kind.INTEGER else float)
        return np.ma.masked_array(filled, mask=[v is None for v in values]) if domain.null else filled
    if domain.kind is Kind.BOOLEAN and not domain.null:
        return np.array(values, dtype=np.bool_)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
