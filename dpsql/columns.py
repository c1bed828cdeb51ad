"""What is computed from a release's noisy integers: its keys and numbers as columns, for the outer query to read.

Post-processing: of released numbers and public facts alone, so it costs nothing, whether they are fresh or stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpsql.aggregates.aggregate import INT64_MAX, Ends, Integers, Noisy
from dpsql.aggregates.numbers import rounded_quotient, shared_count, weighted
from dpsql.plan import NumberPlan, ReleasePlan
from dpsql.policy import Kind
from dpsql.query import ROW, KeyDomain, interval_names, key_name, number_name
from dpsql.release import Code, NoisyRows, narrowest

Column = npt.NDArray[Any]
_DTYPES = {"BIGINT": "int64", "DOUBLE": "float64", "DATE": "datetime64[us]", "TIMESTAMP": "datetime64[us]"}
"""Of numbers, and of dates and times that are chosen, by their SQL types: the scratch engine reads no other dates."""


@dataclass(frozen=True, slots=True)
class Released:
    """One release as columns of equal length, one row for each cell, in the cells' order."""

    columns: dict[str, Column]


def released(noisy: NoisyRows, plan: ReleasePlan, *, counts: Literal["clamp", "raw"]) -> Released:
    """The keys and numbers of a release, and the intervals that are asked for by formula; counts that can't be as they
    are (`raw`), or as the nearest that can (`clamp`).
    """
    sums = _in_rows(noisy, plan)
    columns = _key_columns(plan, noisy.selected)
    for index, number in enumerate(plan.numbers):
        values = _answer(number, plan, sums)
        if number.call.aggregate == "count" and counts == "clamp":
            values = np.clip(values, 0, _most(number))
        columns[number_name(index)] = values
    for index, (asked, level) in enumerate(plan.query.intervals):
        if isinstance(asked, int):
            columns |= dict(zip(interval_names(index), _ends(plan.numbers[asked], plan, sums, level), strict=True))
    columns[ROW] = np.arange(cells_of(noisy, plan))
    return Released(columns)


def _most(number: NumberPlan) -> int | None:
    """The greatest that a count can be, None where that isn't known: of distinct values, as many as there may be."""
    measure = number.call.measure
    if not measure.distinct or measure.of_unit or measure.argument is None or measure.argument.kind is Kind.DOUBLE:
        return None  # doubles are not moved to their grain where they are told apart
    size = measure.argument.set.domain_size()
    return size if size is not None and size <= INT64_MAX else None


def cells_of(noisy: NoisyRows, plan: ReleasePlan) -> int:
    """How many rows a release has."""
    return plan.query.cells * (1 if noisy.selected is None else len(noisy.selected))


def ends(noisy: NoisyRows, plan: ReleasePlan, number: int, level: Fraction) -> Ends:
    """The ends of the intervals of a number. A count's are those of the count before it is shown as 0."""
    return _ends(plan.numbers[number], plan, _in_rows(noisy, plan), level)


def numbers(noisy: NoisyRows, plan: ReleasePlan, wanted: Sequence[int], *, whole: bool = True) -> dict[str, Column]:
    """Some numbers of a release, by name, negative counts as they are; where they come from weighted rows and aren't to
    be `whole`, also counts are not rounded.
    """
    sums = _in_rows(noisy, plan)
    return {number_name(index): _combined(plan.numbers[index], plan, sums, whole=whole) for index in wanted}


def keys(noisy: NoisyRows, plan: ReleasePlan) -> dict[str, Column]:
    """The keys of a release, by name."""
    return _key_columns(plan, noisy.selected)


def _in_rows(noisy: NoisyRows, plan: ReleasePlan) -> list[Noisy]:
    """The noisy sums of each basis in the steps of its noisy grid, of rows that count in full.

    Those of weighted rows, and of those with finer noise, are rounded to that. What was chosen stays as it is.
    """
    found: list[Noisy] = []
    for basis, parts in zip(plan.bases, noisy.sums, strict=True):
        steps = Fraction(basis.bound.steps, basis.noisy_grid.fine)
        full = {part.name: narrowest(_in_full(parts[part.name], steps * part.fine)) for part in basis.parts}
        found.append(full if basis.candidates is None else parts)
    return found


def _combined(number: NumberPlan, plan: ReleasePlan, sums: Sequence[Noisy], *, whole: bool = True) -> Column:
    basis = plan.bases[number.basis]
    grid = replace(basis.noisy_grid, whole=whole or not basis.bound.weighted)
    return number.way.combine(_parts(number, plan, sums), grid)


def _answer(number: NumberPlan, plan: ReleasePlan, sums: Sequence[Noisy]) -> Column:
    if number.way.answer is None:
        return _combined(number, plan, sums)
    return number.way.answer(_parts(number, plan, sums), plan.law(number), plan.bases[number.basis].noisy_grid)


def _ends(number: NumberPlan, plan: ReleasePlan, sums: Sequence[Noisy], level: Fraction) -> Ends:
    grid = plan.bases[number.basis].noisy_grid
    return number.way.ends(_parts(number, plan, sums), plan.law(number), grid, float(level))


def _parts(number: NumberPlan, plan: ReleasePlan, sums: Sequence[Noisy]) -> Noisy:
    """The noisy sums that a number is computed from: of its basis and those added to it, and a count of others where it
    has none.
    """
    own = sums[number.basis]
    for basis in number.added:
        own = {name: weighted(1, values, 1, sums[basis][name]) for name, values in own.items()}
    if number.ends:
        return {name: chosen for basis in (number.basis, *number.ends) for name, chosen in sums[basis].items()}
    if not number.counts:
        return own
    first, *others = (shared_count(sums[basis], plan.bases[basis].noisy_grid) for basis in number.counts)
    return {**own, "count": reduce(lambda x, y: weighted(1, x, 1, y), others, first)}


def listed(plan: ReleasePlan) -> Released:
    """A release of no numbers: the declared keys, from the policy alone."""
    return Released({**_key_columns(plan), ROW: np.arange(plan.query.cells)})


def sample(plan: ReleasePlan) -> Released:
    """At most two rows of a release's types with made-up keys and numbers, for binding."""
    rows = 2 if plan.query.private_keys else min(plan.query.cells, 2)
    columns = _key_columns(plan, sample=rows)
    for index, number in enumerate(plan.numbers):
        columns[number_name(index)] = np.ones(rows, dtype=np.int64).astype(_DTYPES[number.call.sql_type])
    for index, (asked, _) in enumerate(plan.query.intervals):
        for name in interval_names(index):
            columns[name] = columns[number_name(asked)] if isinstance(asked, int) else np.ones(rows)
    columns[ROW] = np.arange(rows)
    return Released(columns)


def _in_full(noisy: Integers, steps: Fraction) -> Integers:
    """Noisy sums in steps of their basis, of rows that count in full, to the nearest: `steps` of theirs make one."""
    if steps == 1:
        return noisy
    return rounded_quotient(weighted(steps.denominator, noisy, 0, noisy), steps.numerator)


def _key_columns(
    plan: ReleasePlan, selected: tuple[Code, ...] | None = None, *, sample: int | None = None
) -> dict[str, Column]:
    """The keys of every cell: declared ones are printed from the policy, never from the data; others were selected.

    With `sample`, that many rows of keys of the right types, in any combination.
    """
    columns: dict[str, Column] = {}
    inside = after = plan.query.cells
    cells = inside * (1 if selected is None else len(selected))
    for index, key in enumerate(plan.query.keys):
        after //= key.domain.size
        if sample is not None:
            few = _labels(_few(key.domain, sample))
            columns[key_name(index)] = few[np.arange(sample) % len(few)]
        elif key.domain.private:
            assert selected is not None
            codes = [code[plan.query.private_keys.index(index)] for code in selected]
            labels = [None if code is None else key.domain.label(code) for code in codes for _ in range(inside)]
            columns[key_name(index)] = _label_array(key.domain, labels)
        else:
            every = _labels(key.domain)
            columns[key_name(index)] = (
                every if key.domain.size == cells else every[(np.arange(cells) // after) % key.domain.size]
            )
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
