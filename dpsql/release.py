"""The privacy line: exact rows in, noisy rows out. Nothing else turns one into the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsql.aggregates.aggregate import INT64_MAX, Integers
from dpsql.aggregates.numbers import largest
from dpsql.engines.exact_rows import ExactRows, KeyColumn
from dpsql.errors import EngineError
from dpsql.plan import MAX_DRAWS, MAX_NUMBERS, BasisPlan, ReleasePlan, draws_of_group
from dpsql.privacy.mechanisms.permute_and_flip import LadderEnd
from dpsql.privacy.mechanisms.truncated_geometric import KeySelection
from dpsql.privacy.noise import NoiseSource
from dpsql.privacy.sensitivity import Part
from dpsql.query import KeyDomain
from dpsql.rewrite.inner import KINDS, Inner

Code = tuple[int | str | None, ...]
"""The codes of one combination of private keys."""


@dataclass(frozen=True, slots=True)
class NoisyRows:
    """One release: the noisy integers of every cell, before anything is computed from them.

    sums      of each basis, the noisy sums of each part by name: one for each cell, in steps of the exact sums. The law
              of their noise is the plan's: that of BasisPlan.scale, of the selection's for the units of private keys.
              Where values are chosen, the indices of the grid that were chosen
    selected  the private keys that are shown, in their order; None where all keys are declared

    The cells are the declared keys, in declared order, and where some keys are private these for each of those.
    """

    sums: tuple[Mapping[str, Integers], ...] = ()
    selected: tuple[Code, ...] | None = None


def release(exact: tuple[ExactRows, ...], plan: ReleasePlan, inner: tuple[Inner, ...], noise: NoiseSource) -> NoisyRows:
    """Add the planned noise to the exact sums of every declared cell: `exact` are the answers of the inner queries.

    Privacy: the cells are the declared keys, in their order, whatever rows came back; a key that isn't declared is
    ignored, a cell without rows has the sums 0 and gets its noise like any other. The parts of each block get noise
    from its mechanism, of scale unit / ε, independent of all other noise. A ReleasePlan works its loss out from those
    very parts and can't be made where that exceeds its ε. Private keys are selected first; from then on they are as
    good as declared, since the selection is private and paid for. What leaves are the noisy integers: all that follows,
    in `columns`, works on these alone.
    """
    noisy: dict[int, Mapping[str, Integers]] = {}
    quantiles = {end: (n.basis, n.call.choice.name) for n in plan.numbers for end in n.ends if n.call.choice}
    passes = list(zip(plan.passes, exact, inner, strict=True))
    selected: tuple[Code, ...] | None = None
    if plan.selection is not None:
        (_, rows, _), *passes = passes
        selected, counts_of_units = _select(rows, plan.selection, noise)
        noisy[0] = {"units": counts_of_units}
    cells = plan.query.cells * (1 if selected is None else len(selected))
    if cells * max(1, len(plan.numbers)) > MAX_NUMBERS or cells * draws_of_group(plan.bases) > MAX_DRAWS:
        raise EngineError(
            "the query has too many groups", hint="ask for keys that more units have, or fewer aggregates"
        )
    for bases, rows, query in passes:
        if (candidates := plan.bases[bases[0]].candidates) is not None:
            within = _in_candidates(rows, plan, selected, candidates.count)
            for index in bases:  # an end of an interval stands after its quantile
                around = noisy[quantiles[index][0]][quantiles[index][1]] if index in quantiles else None
                noisy[index] = _chosen(plan.bases[index], within, cells, noise, around)
            continue
        positions = _positions(rows, plan, selected)
        numbers: dict[int, list[int]] = {}
        for index in bases:
            numbers.setdefault(plan.bases[index].block, []).append(index)
        for block in numbers.values():
            found = _noisy_block([plan.bases[i] for i in block], rows, query, positions, cells, noise)
            noisy.update(zip(block, found, strict=True))
    return NoisyRows(tuple(noisy[index] for index in range(len(plan.bases))), selected)


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


def _noisy_block(
    bases: Sequence[BasisPlan],
    exact: ExactRows,
    inner: Inner,
    positions: npt.NDArray[np.int64],
    cells: int,
    noise: NoiseSource,
) -> list[dict[str, Integers]]:
    """The noisy sums of bases that get their noise together."""
    noisy: list[dict[str, Integers]] = [{} for _ in bases]
    parts = [(index, basis, part) for index, basis in enumerate(bases) for part in basis.parts]
    scales = [basis.scale(part) for _, basis, part in parts]
    drawn = bases[0].mechanism.draw(noise, scales, cells) if cells else [np.zeros(0, dtype=np.int64)] * len(parts)
    for (index, basis, part), added in zip(parts, drawn, strict=True):
        sums = _cells(_part(part, basis, exact, inner), positions, cells)
        noisy[index][part.name] = narrowest(_add(sums, added))
    return noisy


@dataclass(frozen=True, slots=True)
class _Within:
    """How many rows each candidate has in each cell that has rows with a value, by cells in ascending order."""

    cells: npt.NDArray[np.int64]
    candidates: npt.NDArray[np.int64]
    counts: Integers

    def of(self, first: int, last: int, candidates: int) -> Integers:
        """Of all candidates in the cells from the first up to the last, which isn't among them: a row for each."""
        every: Integers = np.zeros((last - first, candidates), dtype=self.counts.dtype)
        here = slice(*np.searchsorted(self.cells, (first, last)))
        every[self.cells[here] - first, self.candidates[here]] = self.counts[here]
        return every


def _in_candidates(exact: ExactRows, plan: ReleasePlan, selected: tuple[Code, ...] | None, count: int) -> _Within:
    """The exact rows of each cell, whose last key is the candidate. What isn't declared falls out, as in sums."""
    *keys, places = exact.keys
    positions = _positions(ExactRows(tuple(keys), exact.sums), plan, selected)
    candidates, (counts,) = places.values.astype(np.int64), exact.sums
    known = np.flatnonzero((positions >= 0) & (candidates >= 0) & (candidates < count))
    order = known[np.argsort(positions[known], kind="stable")]
    return _Within(positions[order], candidates[order], counts[order])


CHUNK = 2**17
"""Candidates of all groups that are chosen among together: so many numbers stay in the processor's cache."""


def _chosen(
    basis: BasisPlan, within: _Within, cells: int, noise: NoiseSource, around: Integers | None
) -> dict[str, Integers]:
    """What is chosen in each cell, as indices of the grid, by name; of the end of an interval, `around` a quantile.

    Privacy: see the mechanism; each cell is chosen in on its own, an empty one like any other. A unit that has rows in
    several cells moves the counts of all of them together by no more than its bound.
    """
    assert basis.candidates is not None
    candidates, mechanism = basis.candidates, basis.candidates.mechanism
    found = np.empty((len(mechanism.names), cells), dtype=np.int64)
    together = max(1, CHUNK // candidates.count)
    for first in range(0, cells, together):
        last = min(first + together, cells)
        counts = within.of(first, last, candidates.count)
        if isinstance(mechanism, LadderEnd):
            assert around is not None
            chosen = mechanism.choose_each(counts, noise, around[first:last])
        else:
            chosen = mechanism.choose_each(counts, noise)
        found[:, first:last] = candidates.indices(chosen)
    return dict(zip(mechanism.names, found, strict=True))


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
