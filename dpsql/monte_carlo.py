"""Intervals of what is computed from several noisy numbers of one release, by Monte Carlo.

The exact sums of a row are its noisy sums less their noise, whose law is public. So the same arithmetic is done on the
noisy sums less many draws of that law, jointly for the sums of a block, and an interval is what most of the results
lie in: percentiles, as for a parametric bootstrap (Efron, Tibshirani 1993, chapter 13), or for a posterior with a flat
prior. For what is linear in the noise it is exact but for the number of draws; for quotients it holds the exact number
a little less or more often than it says where a divisor is not far from 0 in terms of its noise.

A draw may be where no exact sums can be: a count below 0, a mean beyond its bounds. Counts are taken as they are, or
what is linear in them would be off; where an expression then has no value (LN(−3), 0 / 0), it is worked out again for
the nearest number that can be (LN(0), which is −∞). Means and variances are moved into their bounds in each draw. What
is infinite lies beyond one end only, which then isn't known; the other is: a deviation over a mean that may be 0 has no
upper end, and a lower one.

Privacy: post-processing. It sees noisy numbers, public laws and draws that are no secret, nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpsql.aggregates.aggregate import Basis, Ends, Integers
from dpsql.aggregates.numbers import weighted
from dpsql.columns import Column, Released, cells_of, keys, numbers
from dpsql.errors import EngineError
from dpsql.plan import NumberPlan, ReleasePlan
from dpsql.postprocess import Scratch
from dpsql.privacy.fixed_draws import fixed_draws, fixed_selection_draws, with_opposites
from dpsql.privacy.mechanisms.truncated_geometric import KeySelection
from dpsql.query import interval_names, number_name, numbers_in, release_name
from dpsql.release import NoisyRows
from dpsql.rewrite.outer import render, total

DRAWS = 4_000
"""Of the noise of each row, where rows are few."""
FEWEST = 400
BEYOND = 10
"""So many of the draws lie beyond each end: at high levels more are made."""
MAX_RESULTS = 4_000_000
"""Rows times draws."""
AT_ONCE = 2**20
"""Values at a time, of numbers and of results: 8 MB, a few times over."""
_GOLDEN = (math.sqrt(5) - 1) / 2
"""Its multiples are spread evenly between whole numbers."""
_LEAST = 5e-324
"""The least double above 0."""


def draws_of(rows: int, level: Fraction) -> int:
    """How many draws are made for each of so many rows, an even number; 0 where too few could be: nothing is known.

    At the usual level that is for more than 10,000 rows.
    """
    most = MAX_RESULTS // max(rows, 1)
    fewest = max(FEWEST, math.ceil(2 * BEYOND / (1 - level)))
    return 0 if most < fewest else min(most, max(DRAWS, fewest)) // 2 * 2


def drawn_ends(
    noisy: NoisyRows, plan: ReleasePlan, trees: Sequence[exp.Expr], level: Fraction, rows: Integers | None = None
) -> list[Ends]:
    """The ends of the intervals of expressions over a release's columns, for these of its rows (default: all).

    NaN where an end isn't known. A result that is NULL may be anything: it lies beyond both ends.
    """
    rows = np.arange(cells_of(noisy, plan)) if rows is None else rows
    count = draws_of(len(rows), level)
    if not count:
        return [(np.full(len(rows), np.nan),) * 2 for _ in trees]
    wanted = sorted({number for tree in trees for number in numbers_in(tree)})
    noise = _draws(plan, count)
    labels = keys(noisy, plan)
    low, high = (np.empty((len(trees), len(rows))) for _ in range(2))
    step = max(1, AT_ONCE // (count * (len(trees) + len(wanted))))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        table = {name: np.repeat(label[part], count) for name, label in labels.items()}
        every = _of_draws(trees, table, _without(noisy, noise, part, plan, level), plan, wanted)
        for index, results in enumerate(every):
            found = results.reshape(len(part), count)
            low[index, start : start + step], high[index, start : start + step] = _percentiles(found, level)
    if not _has_weighted_rows(plan):
        return list(zip(low, high, strict=True))
    table = {name: label[rows] for name, label in labels.items()} | numbers(_rows_of(noisy, rows), plan, wanted)
    return [_holding(*found) for found in zip(low, high, _results(trees, table), strict=True)]


def _holding(low: Column, high: Column, shown: Column) -> Ends:
    """Intervals that also hold what is shown: where noise is far below a row, a whole number of weighted rows may be
    further from their fraction than the noise is. A result that isn't known needs no holding.
    """
    return np.where(shown < low, shown, low), np.where(shown > high, shown, high)


def with_drawn(found: Released, noisy: NoisyRows, plan: ReleasePlan) -> Released:
    """A release with the intervals by Monte Carlo that are asked for in the query."""
    levels: dict[Fraction, list[tuple[int, exp.Expr]]] = {}
    for index, (asked, level) in enumerate(plan.query.intervals):
        if isinstance(asked, exp.Expr):
            levels.setdefault(level, []).append((index, asked))
    columns = dict(found.columns)
    for level, several in levels.items():
        for (index, _), ends in zip(
            several, drawn_ends(noisy, plan, [tree for _, tree in several], level), strict=True
        ):
            known = (np.ma.masked_invalid(end) if np.isnan(end).any() else end for end in ends)
            columns |= dict(zip(interval_names(index), known, strict=True))
    return Released(columns) if levels else found


def _of_draws(
    trees: Sequence[exp.Expr], keys: dict[str, Column], drawn: NoisyRows, plan: ReleasePlan, wanted: Sequence[int]
) -> list[Column]:
    """Of each expression in each row of drawn sums, NaN where it has no value even for the nearest that can be.

    Counts of weighted rows are fractions, and not rounded where an expression is arithmetic: anything else may mean
    another thing of a fraction than of a whole number (comparisons, division without rest, text).
    """
    weighted_rows = _has_weighted_rows(plan)
    found: list[Column] = [np.zeros(0)] * len(trees)
    for whole in (False, True):
        some = [i for i, tree in enumerate(trees) if whole != (weighted_rows and _is_arithmetic(tree))]
        if not some:
            continue
        table, every = numbers(drawn, plan, wanted, whole=whole), list[Column]()
        for form in (_signed, _possible):
            if not every or any(np.isnan(results).any() for results in every):
                others = _results([trees[i] for i in some], {**keys, **form(table, plan)})
                every = [np.where(np.isnan(a), b, a) for a, b in zip(every or others, others, strict=True)]
        for i, results in zip(some, every, strict=True):
            found[i] = results
    return found


def _has_weighted_rows(plan: ReleasePlan) -> bool:
    return any(basis.bound.weighted for basis in plan.bases)


_ARITHMETIC = (exp.Column, exp.Identifier, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div)


def _is_arithmetic(tree: exp.Expr) -> bool:
    return all(
        isinstance(node, _ARITHMETIC) or (isinstance(node, exp.Literal) and not node.is_string) for node in tree.walk()
    )


def _results(trees: Sequence[exp.Expr], table: dict[str, Column]) -> list[Column]:
    """Of each expression in each row. One that fails in some row, as what is beyond BIGINT does, is NaN in all: the
    numbers themselves, which are paid for, may be well within.
    """
    released = {release_name(0): Released(table)}
    try:
        return _engine().doubles(_query(trees), released)
    except EngineError:
        if len(trees) == 1:
            return [np.full(len(next(iter(table.values()))), np.nan)]
        return [column for tree in trees for column in _results([tree], table)]


def _signed(drawn: Mapping[str, Column], plan: ReleasePlan) -> dict[str, Column]:
    """The numbers with the 0 of a mean that is below it elsewhere as −0: what is divided by it has the right sign."""
    means = {number_name(i): bounds for i, number in enumerate(plan.numbers) if (bounds := _bounds(number, plan))}
    return {n: np.where(v == 0, -0.0, v) if n in means and means[n][1] == 0 else v for n, v in drawn.items()}


def _possible(drawn: Mapping[str, Column], plan: ReleasePlan) -> dict[str, Column]:
    """The numbers, each the nearest that can be: counts from 0 on, and a mean at a bound of 0 next to that."""
    found = dict(drawn)
    for index, number in enumerate(plan.numbers):
        name, bounds = number_name(index), _bounds(number, plan)
        if name in drawn and number.call.aggregate == "count":
            found[name] = np.maximum(drawn[name], 0)
        elif name in drawn and bounds is not None and 0 in bounds:
            found[name] = np.where(drawn[name] == 0, _LEAST if bounds[0] == 0 else -_LEAST, drawn[name])
    return found


def _bounds(number: NumberPlan, plan: ReleasePlan) -> tuple[Fraction, Fraction] | None:
    """The bounds of a mean; None of any other number."""
    grid = plan.bases[number.basis].grid
    return (grid.lower, grid.upper) if number.call.aggregate == "avg" else None


def _percentiles(results: npt.NDArray[np.float64], level: Fraction) -> Ends:
    """The least and the greatest of all results but the share 1 − level, half of it beyond each end."""
    beyond = int((1 - level) / 2 * results.shape[1])
    known = ~np.isnan(results)
    least, greatest = (results if known.all() else np.where(known, results, end) for end in (-np.inf, np.inf))
    last = results.shape[1] - 1 - beyond
    low, high = np.partition(least, beyond, axis=1)[:, beyond], np.partition(greatest, last, axis=1)[:, last]
    return np.where(np.isfinite(low), low, np.nan), np.where(np.isfinite(high), high, np.nan)


def _draws(plan: ReleasePlan, count: int) -> list[dict[str, Integers]]:
    """The noise of each part of each basis, in the steps of the exact sums. All rows have the same draws.

    An interval is about one row, so nothing is lost by that.
    """
    found: list[dict[str, Integers]] = [{} for _ in plan.bases]
    for block in dict.fromkeys(basis.block for basis in plan.bases if basis.parts):
        parts = [(i, b, part) for i, b in enumerate(plan.bases) if b.block == block for part in b.parts]
        mechanism = plan.bases[parts[0][0]].mechanism
        if plan.selection is not None and parts[0][1].basis is Basis.UNITS:
            drawn = [fixed_selection_draws(plan.selection, count, stream=block)]
        else:
            drawn = fixed_draws(mechanism, [b.scale(part) for _, b, part in parts], count, stream=block)
        for (index, _, part), noise in zip(parts, drawn, strict=True):
            found[index][part.name] = noise
    return found


def _without(
    noisy: NoisyRows, noise: Sequence[dict[str, Integers]], rows: Integers, plan: ReleasePlan, level: Fraction
) -> NoisyRows:
    """The noisy sums of some rows, each less every draw of its noise: the draws of a row follow one another."""
    sums = []
    for basis, parts, drawn in zip(plan.bases, _rows_of(noisy, rows).sums, noise, strict=True):
        if plan.selection is not None and basis.basis is Basis.UNITS:
            sums.append({name: _units(parts[name], z, plan.selection, level) for name, z in drawn.items()})
            continue
        each = {name: np.repeat(parts[name], len(z)) for name, z in drawn.items()}
        sums.append({name: weighted(1, each[name], -1, np.tile(z, len(rows))) for name, z in drawn.items()})
    return replace(noisy, sums=tuple(sums))


def _rows_of(noisy: NoisyRows, rows: Integers) -> NoisyRows:
    """The noisy sums of some rows."""
    sums = tuple({name: values[rows] for name, values in parts.items()} for parts in noisy.sums)
    return replace(noisy, sums=sums)


def _units(shown: Integers, noise: Integers, selection: KeySelection, level: Fraction) -> Integers:
    """Numbers of units that may have been shown as these.

    That a key was shown says something of its noise, the more the nearer its number is to the threshold. So there draws
    are stretched, each to its side, until no more lie beyond the ends of the number's own interval than its level says:
    what rises or falls with it has the interval between its values at these ends.
    """
    half = noise[: len(noise) // 2]  # the other has the opposite signs
    spread = with_opposites(half + (np.arange(len(half)) * _GOLDEN % 1 - 0.5))
    spread /= np.quantile(np.abs(spread), float(level))
    low, high = (end[:, None] for end in selection.interval(shown, level))
    value = shown[:, None]
    drawn = value - np.where(
        spread > 0,
        np.maximum(np.ceil(spread * (value - low)), noise),
        np.minimum(np.floor(spread * (high - value)), noise),
    )
    units: Integers = np.clip(drawn, selection.min_units, 2.0**62).astype(np.int64).ravel()
    return units


def _query(trees: Sequence[exp.Expr]) -> str:
    """The expressions over one release's columns, as numbers: what can't be one is NULL."""
    items = [exp.TryCast(this=exp.Paren(this=tree.copy()), to=exp.DataType.build("DOUBLE")) for tree in trees]
    select = exp.Select(expressions=[exp.alias_(item, f"e{i}", quoted=True) for i, item in enumerate(items)])
    select.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(release_name(0), quoted=True))))
    return render(total(select))


@cache
def _engine() -> Scratch:
    """One scratch engine of no public tables, for all sessions of the process: it outlives them, as results do."""
    return Scratch()
