"""Record and replay: a statement on neighbouring databases, with what the mechanisms give frozen.

Everything that can be seen or measured from outside must be the same byte for byte: the SQL that ran, the parameters of
each draw of noise, names, types, rows and order of the answer. The exact integers that met the noise may differ by no
more than the charge pays for. One run on each side finds what thousands of samples would miss. (The idea is that of
the tool Re:cord-play, which replays the randomness.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpsql.engines.exact_rows import ExactRows
from dpsql.engines.twin import TwinEngine
from dpsql.plan import BasisPlan, Plan, ReleasePlan
from dpsql.privacy.mechanisms import cube, exponential, laplace, permute_and_flip
from dpsql.privacy.mechanisms.exponential import Cuts
from dpsql.release import _part
from dpsql.result import Result
from dpsql.rewrite.inner import Inner


class Violated(AssertionError):
    """A unit changed more than was paid for: one sentence."""


# ---------------------------------------------------------------------------------------------- noise


@dataclass(slots=True)
class Draw:
    """One array of noise: its parameters and the exact integers that met it; `together` so many were drawn at once.

    Where it is for choices, `exact` are the distances of the candidates of each.
    """

    scale: Fraction
    size: int
    exact: list[Any] = field(default_factory=list)
    mechanism: str = laplace.MECHANISM.name
    together: int = 1


class _Probe(np.ndarray[Any, np.dtype[np.int64]]):
    """An array of noise that sees what it is added to, and answers with a sum that doesn't depend on it."""

    draw: Draw | None = None
    frozen: npt.NDArray[np.int64] | None = None

    def __array_finalize__(self, source: Any) -> None:
        self.draw = getattr(source, "draw", None)
        self.frozen = getattr(source, "frozen", None)

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, np.ndarray) else x for x in inputs]
        if ufunc is np.add and method == "__call__":
            draw, frozen = self.draw, self.frozen
            assert draw is not None and frozen is not None
            if draw.exact:
                raise Violated("one draw of noise was used for two sums")
            other = next(p for p, x in zip(plain, inputs, strict=True) if not isinstance(x, _Probe))
            draw.exact = other.tolist()
            assert len(draw.exact) == draw.size
            return frozen
        if ufunc is np.greater_equal and method == "__call__":  # choices: coins that show heads for one candidate each
            assert self.draw is not None and self.frozen is not None and not self.draw.exact
            choices, candidates = plain[1].shape
            assert plain[0].shape == plain[1].shape
            self.draw.exact = plain[1].tolist()
            places = (int(self.frozen[0]) + 104_729 * np.arange(choices)) % candidates
            return np.arange(candidates) == places[:, None]
        return getattr(ufunc, method)(*plain, **options)


class RecordingNoise:
    """Records each draw, and freezes the noisy sums: they are the same whatever the exact ones are.

    So everything that happens after the noise must come out byte for byte the same on neighbouring databases.
    """

    def __init__(self) -> None:
        self.draws: list[Draw] = []

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        return self._probe(Draw(scale, size))

    def cube(self, scale: Fraction, dimensions: int, size: int) -> list[npt.NDArray[np.int64]]:
        draws = [Draw(scale, size, [], cube.MECHANISM.name, dimensions) for _ in range(dimensions)]
        return [self._probe(draw) for draw in draws]

    def _probe(self, draw: Draw) -> npt.NDArray[np.int64]:
        size = draw.size
        self.draws.append(draw)
        probe = np.zeros(size, dtype=np.int64).view(_Probe)
        probe.draw = draw
        probe.frozen = (np.arange(size, dtype=np.int64) * 7919 + 104_729 * len(self.draws)) % 97 - 11
        return probe

    def geometric(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        probe = self._probe(Draw(scale, size, [], permute_and_flip.NAME))
        assert isinstance(probe, _Probe)
        probe.frozen = np.full(size, 104_729 * len(self.draws), dtype=np.int64)
        return probe

    def below(self, limits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if (limits != 1).any():
            raise Violated("it was chosen among other candidates than those whose coins showed heads")
        return np.zeros_like(limits)

    def cut(self, cuts: Cuts, scale: Fraction) -> tuple[int, int]:
        """The same cell and the same share of its rows, whatever they are; seen are both ends of each cell."""
        size = cuts.rows.size
        ends = np.concatenate((cuts.first, cuts.first + cuts.step * cuts.rows))
        self.draws.append(Draw(scale, size, ends.tolist(), exponential.NAME))
        cell = 104_729 * len(self.draws) % size
        return cell, int(cuts.rows[cell]) * (7919 * len(self.draws) % 97) // 97

    def truncated(self, scale: Fraction, bound: int, size: int) -> npt.NDArray[np.int64]:
        raise NotImplementedError("which keys there are depends on the rows: see `selected_by`")


# ---------------------------------------------------------------------------------------------- recording


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that one execution shows or does."""

    sql: tuple[str, ...]
    draws: tuple[Draw, ...]
    answer: str


class Asks(Protocol):
    """Answers a statement over the rows that the twin has now."""

    def ask(self, sql: str, epsilon: object = 1) -> Result: ...

    @property
    def engine(self) -> TwinEngine: ...

    @property
    def noise(self) -> Any: ...


def record(made: Asks, sql: str, epsilon: object = 1) -> Run:
    """Execute a statement with the recording noise."""
    made.engine.executed.clear()
    made.noise.draws.clear()
    result = made.ask(sql, epsilon)
    return Run(tuple(made.engine.executed), tuple(made.noise.draws), repr((result.columns, result.rows)))


def blocks_of(plan: Plan) -> list[tuple[ReleasePlan, tuple[BasisPlan, ...]]]:
    """The bases that get their noise together, in the order in which they are released, with their releases."""
    found = []
    for release in plan.releases:
        order = {block: None for bases in release.passes for block in (release.bases[i].block for i in bases)}
        found += [(release, tuple(b for b in release.bases if b.block == block)) for block in order]
    return found


def realised_loss(plan: Plan, one: Run, other: Run) -> Fraction:
    """The privacy loss between two runs: Σ over groups of the norm of the differences of the exact sums / their scales.

    Checks block by block. Raises Violated.
    """
    draws = iter(zip(one.draws, other.draws, strict=True))
    total = Fraction(0)
    for release, bases in blocks_of(plan):
        if bases[0].candidates is not None:
            total += _lost_in_choices(bases[0], release.query.cells, draws)
            continue
        mechanism = bases[0].mechanism
        moved: list[dict[object, Fraction]] = []
        for basis in bases:
            for part in basis.parts:
                a, b = next(draws)
                if not (a.scale, a.size) == (b.scale, b.size) == (basis.scale(part), a.size):
                    raise Violated(f"noise of scale {a.scale} was drawn where the plan says {basis.scale(part)}")
                if not a.mechanism == b.mechanism == mechanism.name:
                    raise Violated(f"{a.mechanism} noise was drawn where the plan says {mechanism.name}")
                if mechanism.one_scale and not a.together == b.together == basis.sums:
                    raise Violated(
                        f"{mechanism.name} noise of {a.together} sums was drawn where a block has {basis.sums}"
                    )
                pairs = enumerate(zip(a.exact, b.exact, strict=True)) if a.exact != b.exact else ()
                moved.append({group: abs(x - y) / a.scale for group, (x, y) in pairs if x != y})
        total += _lost(bases, moved)
    if next(draws, None) is not None:
        raise Violated("more noise was drawn than the plan says")
    return total


def _lost_in_choices(basis: BasisPlan, cells: int, draws: Iterator[tuple[Draw, Draw]]) -> Fraction:
    """The loss of the choices of one basis in all cells. Raises Violated.

    Of a choice it is how far apart the candidates' distances move, in units of its scale: that bounds how the
    probability of any candidate changes (`dpsql.privacy.mechanisms.permute_and_flip`). Of a cut it is twice how far any
    moves: the cuts within a cell move by what its ends move, or by something between. Over the ranges of a recursion,
    and over cells, the losses add up.
    """
    assert basis.candidates is not None
    scales, loss = basis.candidates.mechanism.scales, Fraction(0)
    left = cells * len(scales)
    while left > 0:
        a, b = next(draws)
        named = a.mechanism == b.mechanism and a.mechanism in (permute_and_flip.NAME, exponential.NAME)
        if (a.scale, a.size) != (b.scale, b.size) or a.scale not in scales or not named:
            raise Violated(f"a choice was made with the scale {a.scale}, which the plan doesn't have")
        if a.mechanism == exponential.NAME:
            left -= 1
            loss += 2 * max(abs(y - x) for x, y in zip(a.exact, b.exact, strict=True)) / a.scale
            continue
        if sum(map(len, a.exact)) != a.size:
            raise Violated("a choice was made without a coin for each candidate")
        left -= len(a.exact)
        for one, other in zip(a.exact, b.exact, strict=True) if a.exact != b.exact else ():
            apart = [y - x for x, y in zip(one, other, strict=True)]
            loss += (max(apart) - min(apart)) / a.scale
    if left < 0:
        raise Violated("more was chosen than the plan says")
    if loss > basis.epsilon:
        raise Violated(f"one unit moved a choice by {float(loss / basis.epsilon):.3g} of its bound")
    return loss


def _lost(bases: Sequence[BasisPlan], moved: Sequence[Mapping[object, Fraction]]) -> Fraction:
    """The loss of one block: what moved of each of its parts, by group, in units of its scale. Raises Violated."""
    groups = dict.fromkeys(group for part in moved for group in part)
    norm = bases[0].mechanism.norm
    loss = sum((norm([part.get(group, Fraction(0)) for part in moved]) for group in groups), Fraction(0))
    if loss > bases[0].epsilon:
        raise Violated(f"one unit moved a basis by {float(loss / bases[0].epsilon):.3g} of its bound")
    return loss


def compare(plan: Plan, without: Run, with_victim: Run) -> Fraction:
    """The privacy loss that two runs of a statement without private keys show. Raises Violated."""
    if with_victim.sql != without.sql:
        raise Violated("what the engine is asked depends on the rows of one unit")
    if with_victim.answer != without.answer:
        raise Violated("the answer shows the rows of one unit apart from the noisy numbers")
    loss = realised_loss(plan, without, with_victim)
    if loss > plan.epsilon:
        raise Violated(f"the loss is {float(loss):.6g}, of an ε of {float(plan.epsilon):.6g}")
    return loss


# ---------------------------------------------------------------------------------------------- private keys


def selected_by(plan: Plan, inner: Sequence[tuple[Inner, ...]]) -> tuple[tuple[ReleasePlan, tuple[Inner, ...]], ...]:
    """The releases that select private keys, with their queries; but for those that need numbers of others first."""
    found = zip(plan.releases, inner, strict=True)
    return tuple((r, q) for r, q in found if r.selection is not None and not any(i.constants for i in q))


def read(engine: TwinEngine, queries: Sequence[Inner]) -> list[ExactRows]:
    """What the inner queries of a release give over the rows that the twin has now."""
    with engine.transaction() as transaction:
        return [transaction.fetch(i.sql, i.keys, i.sums, i.counts, {}) for i in queries]


def compare_selected(
    release: ReleasePlan, queries: Sequence[Inner], without: Sequence[ExactRows], with_victim: Sequence[ExactRows]
) -> Fraction:
    """The privacy loss of the sums of a release with private keys, whichever keys are selected.

    A unit counts for at most so many keys, for one each: what the threshold is made for (`KeySelection`). The other
    sums move within their bounds over all keys together. Raises Violated.
    """
    assert release.selection is not None
    units, more = (_by_key(rows[0], rows[0].sums[0]) for rows in (without, with_victim))
    moved = [more.get(key, 0) - units.get(key, 0) for key in more | units]
    if not set(moved) <= {0, 1} or sum(moved) > release.selection.groups:
        raise Violated(f"one unit counts for {sum(map(abs, moved))} keys, and {release.selection.groups} were declared")
    total = sum(map(abs, moved)) / release.selection.scale
    for bases, inner, one, other in list(zip(release.passes, queries, without, with_victim, strict=True))[1:]:
        for block in dict.fromkeys(release.bases[i].block for i in bases):
            together = [release.bases[i] for i in bases if release.bases[i].block == block]
            if together[0].candidates is not None:
                total += _lost_in_counts(together[0], one, other)
                continue
            moves: list[dict[object, Fraction]] = []
            for basis in together:
                for part in basis.parts:
                    a, b = (_by_key(rows, _part(part, basis, rows, inner)) for rows in (one, other))
                    moves.append({key: abs(a.get(key, 0) - b.get(key, 0)) / basis.scale(part) for key in a | b})
            total += _lost(together, moves)
    return total


def _lost_in_counts(basis: BasisPlan, one: ExactRows, other: ExactRows) -> Fraction:
    """The loss of choices, whatever is chosen: as much of ε as the counts of candidates move of their bound."""
    a, b = (_by_key(rows, rows.sums[0]) for rows in (one, other))
    moved = Fraction(sum(abs(a.get(key, 0) - b.get(key, 0)) for key in a | b), basis.bound.total)
    if moved > 1:
        raise Violated(f"one unit moved the counts of a choice by {float(moved):.3g} of their bound")
    return moved * basis.epsilon


def _by_key(rows: ExactRows, sums: npt.NDArray[Any]) -> dict[object, int]:
    keys: Iterator[object] = zip(*(key.tolist() for key in rows.keys), strict=True)
    listed = list(keys)
    found = dict(zip(listed, map(int, sums), strict=True))
    if len(found) != len(listed):
        raise Violated("a key came twice")
    return found
