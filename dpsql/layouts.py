"""Which noisy sums the numbers of a release are computed from, by which mechanism, and how they share ε.

A layout is a function of the query and the policy alone: of which aggregates there are, over which bounds, with which
weights. The variances that it compares are relative to what one row can add, and of noise for as many rows as count of
one unit; how many rows there are doesn't come into it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from dpsql import aggregates
from dpsql.aggregates.aggregate import COUNTING_NULLS, INDEXED, NO_GRID, Basis, Choice, Grid, Way
from dpsql.aggregates.choice import way as choice_way
from dpsql.aggregates.count import PRESENT_WAYS, ROW_WAY, ROWS_FROM_NULLABLE, TOTAL_WAY, VALUED_WAYS
from dpsql.expressions import Typed
from dpsql.expressions.literals import BOOLEAN, case_when
from dpsql.grids import natural_grid
from dpsql.policy import MechanismChoice
from dpsql.privacy.mechanisms import Mechanism, cube, laplace
from dpsql.privacy.sensitivity import ContributionBound
from dpsql.query import Call, Measure, ReleaseQuery
from dpsql.valueset import ValueSet

MAX_SEARCHED = 16
"""Beyond so many measures the bases aren't searched for: the search takes cubic time."""
SHARE_STEPS = 1000
"""In which a block's share of ε is counted: so many has the largest."""
LEAST_STEPS = 10
"""And so many the smallest, also where its numbers have no error at all."""


_SIZES = {basis: len(basis.parts(Grid(Fraction(0), Fraction(1), 1))) for basis in Basis}
"""How many parts each basis has, on whatever grid."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a number is computed from: the number of its basis, how, and the basis that counts its rows, if another.

    rows  how that one counts them
    ends  where the ends of its interval are chosen too: the numbers of their bases
    """

    basis: int
    way: Way
    count: int | None = None
    rows: Way | None = None
    ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Bases that get their noise together, from one mechanism, for one share of ε.

    bound    how much one unit's rows count in them: what all noise of the block is in proportion to
    choices  where nothing gets noise, but values are chosen: what is asked for
    """

    mechanism: Mechanism
    bases: tuple[tuple[Basis, Measure], ...]
    bound: ContributionBound
    choices: tuple[Choice, ...] = ()

    @property
    def sums(self) -> int:
        """How many sums get noise: the parts of all bases."""
        return sum(_SIZES[basis] for basis, _ in self.bases)

    @property
    def factor(self) -> float:
        """The variance of a sum's noise, where that of Laplace noise for one row is 1; of choices, for the levels they
        take.
        """
        rows = float(self.bound.rows) ** 2
        if self.choices:
            return rows * len(self.choices).bit_length() ** 2
        return rows * self.mechanism.variance(self.sums) / laplace.MECHANISM.variance(1)


@dataclass(frozen=True, slots=True)
class Layout:
    """Blocks, and the source of each number. Bases are numbered through all blocks."""

    blocks: tuple[Block, ...]
    sources: tuple[Source, ...]
    weights: tuple[Fraction, ...]
    """By how much an error of each number counts."""

    @property
    def bases(self) -> tuple[tuple[int, Basis, Measure], ...]:
        """Each basis with the number of its block."""
        return tuple((index, *basis) for index, block in enumerate(self.blocks) for basis in block.bases)

    def _loads(self, *, even: bool = False) -> list[float]:
        """c² of each block: Σ over numbers of (weight² · variance) by the block's noise, were it given all of ε.

        Of the worst values, or of those spread evenly between their bounds.
        """
        loads = [0.0] * len(self.blocks)
        of_basis = [block for block, _, _ in self.bases]
        for source, weight in zip(self.sources, self.weights, strict=True):
            square = 1.0 if weight == 1 else float(weight) ** 2
            own, of_count = source.way.loads(even=even)
            for basis in (source.basis, *source.ends):
                loads[of_basis[basis]] += square * own
            if source.count is not None and source.rows is not None:
                loads[of_basis[source.count]] += square * of_count * source.rows.variance
        return [load * block.factor for load, block in zip(loads, self.blocks, strict=True)]

    def shares(self) -> tuple[Fraction, ...]:
        """The part of ε that each block gets: ∝ c^(2/3), for which Σ (c / e)² is least; they add up to 1 exactly.

        Rounded to thousandths of the largest, in which equal blocks get equal shares.
        """
        roots = [math.cbrt(load) for load in self._loads()]
        largest = max(roots) or 1.0
        steps = [max(LEAST_STEPS, round(SHARE_STEPS * root / largest)) for root in roots]
        return tuple(Fraction(step, sum(steps)) for step in steps)

    @property
    def cost(self) -> float:
        """The sum of the numbers' relative variances, with the best shares, for the worst values."""
        return sum(math.cbrt(load) for load in self._loads()) ** 3

    @property
    def even_cost(self) -> float:
        """The same for values that are spread evenly, with the shares that they get."""
        return sum(load / float(e) ** 2 for load, e in zip(self._loads(even=True), self.shares(), strict=True))


Family = MechanismChoice | Literal["cube"]
"""Which layouts there are to choose from: a policy's choice, or those with cube noise, to compare with."""


def best_layout(query: ReleaseQuery, family: Family) -> Layout:
    """The layout of least variance: of those with Laplace noise alone; where the family is `auto`, of all.

    Where no cube is possible, or `auto` finds none better, the Laplace layout. Values are chosen in blocks apart.
    """
    chosen = [i for i, call in enumerate(query.calls) if call.choice is not None]
    others = [i for i, call in enumerate(query.calls) if call.choice is None]
    if not chosen:
        return _of_sums(query, family)
    sums = _of_sums(_picked(query, others), family) if others else Layout((), (), ())
    return _joined(query, (others, sums), (chosen, _choices(_picked(query, chosen))))


def _picked(query: ReleaseQuery, indices: Sequence[int]) -> ReleaseQuery:
    """A query of some of its calls."""
    weights = weights_of(query)
    return replace(query, calls=tuple(query.calls[i] for i in indices), weights=tuple(weights[i] for i in indices))


def weights_of(query: ReleaseQuery) -> tuple[Fraction, ...]:
    return query.weights or (Fraction(1),) * len(query.calls)


def _joined(query: ReleaseQuery, *parts: tuple[Sequence[int], Layout]) -> Layout:
    """The layout of a query from those of parts of its calls, which are given by their indices."""
    blocks: list[Block] = []
    sources: dict[int, Source] = {}
    bases = 0
    for indices, layout in parts:
        blocks += layout.blocks
        sources |= {i: _moved(source, bases) for i, source in zip(indices, layout.sources, strict=True)}
        bases += len(layout.bases)
    return Layout(tuple(blocks), tuple(sources[i] for i in range(len(query.calls))), weights_of(query))


def _moved(source: Source, by: int) -> Source:
    count = None if source.count is None else source.count + by
    return replace(source, basis=source.basis + by, count=count, ends=tuple(end + by for end in source.ends))


def _block(
    query: ReleaseQuery, mechanism: Mechanism, bases: Sequence[tuple[Basis, Measure]], choices: tuple[Choice, ...] = ()
) -> Block:
    basis, measure = bases[0]
    return Block(mechanism, tuple(bases), bound_of(query, measure, basis), choices)


def bound_of(query: ReleaseQuery, measure: Measure, basis: Basis) -> ContributionBound:
    """How much of one unit's rows a measure counts: the least of the bounds that the policy gives.

    A unit is counted once in each group that it has rows in (COUNT(DISTINCT unit)): as often as it has groups, or rows.
    Of other distinct values it has as many pairs of group and value as rows; the inner query keeps no more (PROOFS
    P10).
    """
    bound, (groups, per_group) = query.rows.bound, query.rows.groups
    assert bound is not None
    if measure.of_unit and query.private_keys:
        return ContributionBound(bound.rows if groups is None else min(groups, bound.rows), weighted=True)
    if measure.of_unit:
        most = min(query.cells, bound.rows, query.cells if groups is None else groups)
        return ContributionBound(most, weighted=most < query.cells and (bound.weighted or most < bound.rows))
    if measure.by_unit:
        return ContributionBound(bound.rows)
    if basis is Basis.CELLS:  # the cells of a group are no groups, so rows are weighted by unit
        return bound
    if query.keys and groups is not None and per_group is not None and groups * per_group < bound.rows:
        return ContributionBound(groups * per_group, weighted=True, groups=groups)
    return bound


def _choices(query: ReleaseQuery) -> Layout:
    """The quantiles of one measure in a block, in ascending order; each of its extremes in one, and each end of an
    interval.
    """
    blocks: dict[object, Block] = {}
    sources = []
    for call in query.calls:
        assert call.choice is not None and call.measure.argument is not None
        choice = replace(call.choice, between=False)  # the same choice, whatever its type
        key = (call.measure.identity, "quantiles" if choice.fraction is not None else choice.smallest)
        own = ((Basis.CELLS, call.measure),)
        known = blocks.get(key) or _block(query, laplace.MECHANISM, own)
        asked = sorted({*known.choices, choice}, key=lambda c: c.fraction or 0)
        blocks[key] = replace(known, choices=tuple(asked))
        aims = [replace(choice, end=end) for end in itertools.product(_ENDS, call.levels)]
        blocks |= {(call.measure.identity, aim): _block(query, laplace.MECHANISM, own, (aim,)) for aim in aims}
        places = {key: place for place, key in enumerate(blocks)}
        ends = tuple(places[call.measure.identity, aim] for aim in aims)
        way = choice_way(call.choice, call.measure.argument, call.sql_type, call.levels)
        sources.append(Source(places[key], way, ends=ends))
    return Layout(tuple(blocks.values()), tuple(sources), weights_of(query))


_ENDS: tuple[Literal["lower", "upper"], ...] = ("lower", "upper")


def _of_sums(query: ReleaseQuery, family: Family) -> Layout:
    plain = _with_laplace(query)
    if family == "laplace":
        return plain
    cubes = list(_with_cube(query))
    return min(cubes if family == "cube" and cubes else [plain, *cubes], key=lambda layout: layout.even_cost)


def grid_of(measure: Measure) -> Grid:
    """The grid of a measure before it is fitted to ε."""
    return NO_GRID if measure.argument is None else natural_grid(measure.argument)


def _ways(name: str, measure: Measure) -> tuple[Way, ...]:
    ways = aggregates.named(name).ways(measure.argument, grid_of(measure))
    if name == "count" and measure.distinct:
        return tuple(way for way in ways if way.basis is Basis.PRESENT)  # places on a grid are not the values
    return ways


# ---------------------------------------------------------------------------------------------- Laplace noise


def _with_laplace(query: ReleaseQuery) -> Layout:
    """Each basis a block of its own. Found by improving one measure at a time from two starting points."""
    measures = {c.measure.identity: c.measure for c in query.calls if c.measure.argument is not None}
    ways = {(c.aggregate, c.measure.identity): _ways(c.aggregate, c.measure) for c in query.calls}
    modes = {identity: list(_modes(measure, ways)) for identity, measure in measures.items()}
    best: Layout | None = None
    for start in (0, -1):
        chosen = {identity: options[start] for identity, options in modes.items()}
        current = _assign(query, measures, ways, chosen)
        improved = len(measures) <= MAX_SEARCHED
        while improved:
            improved = False
            for identity, options in modes.items():
                for option in options:
                    candidate = _assign(query, measures, ways, {**chosen, identity: option})
                    if candidate.cost < current.cost * (1 - 1e-9):
                        chosen[identity], current, improved = option, candidate, True
        if best is None or current.cost < best.cost * (1 - 1e-9):
            best = current
    assert best is not None
    return best


_Mode = tuple[Basis, ...]
_Ways = dict[tuple[str, tuple[str, str]], tuple[Way, ...]]
"""The ways of each call, by its aggregate and its measure's identity."""


def _modes(measure: Measure, ways: _Ways) -> Iterator[_Mode]:
    """The sets of bases that can serve all calls over one measure, fewest noisy sums first."""
    wanted = {name: found for (name, identity), found in ways.items() if identity == measure.identity}
    indexed = grid_of(measure).cells > 0
    for mode in (
        (Basis.PRESENT,),
        (Basis.SUM,),
        (Basis.SUM, Basis.PRESENT),
        *(((Basis.CENTRE,),) if len({identity for _, identity in ways}) > 1 else ()),
        (Basis.ENDPOINTS,),
        (Basis.ENDPOINTS_AND_NULLS,),
        (Basis.BERNSTEIN,),
        (Basis.BERNSTEIN_AND_NULLS,),
        *(((Basis.ENDPOINTS, Basis.PRESENT), (Basis.BERNSTEIN, Basis.PRESENT)) if measure.distinct else ()),
    ):
        if not indexed and not INDEXED.isdisjoint(mode):
            continue
        if measure.by_unit and not COUNTING_NULLS.isdisjoint(mode):
            continue  # rows without a value are not read where the distinct values of units are
        if Basis.CENTRE in mode and not is_whole(measure):
            continue
        if all(
            any(way.basis in mode for way in each) or (name == "count" and Basis.CENTRE in mode)
            for name, each in wanted.items()
        ):
            yield mode


def is_whole(measure: Measure) -> bool:
    """Whether each row that passes the filter has a value, which is counted: then all of them count the same rows."""
    return not measure.distinct and (measure.argument is None or not measure.argument.set.nullable)


def _assign(
    query: ReleaseQuery,
    measures: dict[tuple[str, str], Measure],
    ways: _Ways,
    modes: dict[tuple[str, str], _Mode],
) -> Layout:
    bases = [(basis, measures[identity]) for identity, mode in modes.items() for basis in mode]

    def rows(measure: Measure) -> Source:
        """The best count of the rows that pass a measure's filter: of those that are there, else one of its own."""
        if not (options := list(_counts(measure, bases))):
            bases.append((Basis.ROWS, Measure(None, measure.filter)))
            options = [Source(len(bases) - 1, ROW_WAY)]
        return min(options, key=lambda source: source.way.variance)

    sources = []
    for call in query.calls:
        measure = call.measure
        options = [
            Source(index, way)
            for index, (basis, known) in enumerate(bases)
            if known.identity == measure.identity
            for way in ways[call.aggregate, measure.identity]
            if way.basis is basis
        ]
        if not options and call.aggregate == "count":
            options = [rows(measure)]
        best = min(options, key=lambda source: source.way.variance)
        if best.way.of_count is not None:
            counted = rows(measure)
            best = Source(best.basis, best.way, counted.basis, counted.way)
        sources.append(best)
    blocks = tuple(_block(query, laplace.MECHANISM, [basis]) for basis in bases)
    return Layout(blocks, tuple(sources), weights_of(query))


def _counts(measure: Measure, bases: Sequence[tuple[Basis, Measure]]) -> Iterator[Source]:
    """The ways in which the bases at hand give the number of rows that pass a measure's filter."""
    for index, (basis, known) in enumerate(bases):
        if known.identity[1] != measure.identity[1] or known.by_unit:
            continue
        if basis is Basis.ROWS:
            yield Source(index, ROW_WAY)
        elif basis in ROWS_FROM_NULLABLE:
            yield Source(index, ROWS_FROM_NULLABLE[basis])
        elif known.argument is not None and is_whole(known):
            yield from (Source(index, way) for way in PRESENT_WAYS if way.basis is basis)


# ---------------------------------------------------------------------------------------------- cube noise


def _with_cube(query: ReleaseQuery) -> Iterator[Layout]:
    """One block of cube noise for all numbers but those of distinct values, which have Laplace noise.

    Its bases are a count of the rows under each filter, and centred sums; or, where only counts and sums are asked for,
    the sums themselves.
    """
    joint = [i for i, call in enumerate(query.calls) if not call.measure.distinct]
    others = [i for i, call in enumerate(query.calls) if call.measure.distinct]
    if not joint:
        return
    together = _picked(query, joint)
    plain = _with_laplace(_picked(query, others)) if others else Layout((), (), ())
    for build in (_centred, _halved, _direct):
        if (found := build(together.calls)) is not None:
            bases, sources = found
            block = _block(query, cube.MECHANISM, bases)
            yield _joined(query, (joint, Layout((block,), tuple(sources), weights_of(together))), (others, plain))


_Found = tuple[list[tuple[Basis, Measure]], list[Source]]
"""The bases of a cube and the sources of the numbers."""


def _halved(calls: tuple[Call, ...]) -> _Found | None:
    """The same, but a count of rows under a filter is half of all rows and what they are more than the others.

    A row adds 1 or −1 to that, where it would add 1 or nothing to the count: half the noise, and half of all rows'.
    """
    if not any(_is_filtered_count(call) for call in calls):
        return None
    return _centred(calls, halved=True)


def _is_filtered_count(call: Call) -> bool:
    return call.aggregate == "count" and call.measure.argument is None and call.measure.filter is not None


def _as_values(condition: exp.Expr) -> Measure:
    """The rows that meet a condition as those of all rows that have a value."""
    return Measure(Typed(case_when((condition.copy(), exp.true())), ValueSet(BOOLEAN, nullable=True)), None)


def _centred(calls: tuple[Call, ...], *, halved: bool = False) -> _Found | None:
    """Centred sums, beside the number of rows under each filter."""
    bases: list[tuple[Basis, Measure]] = []

    def place(basis: Basis, measure: Measure) -> int:
        if (basis, measure.identity) not in (known := [(b, m.identity) for b, m in bases]):
            bases.append((basis, measure))
            return len(bases) - 1
        return known.index((basis, measure.identity))

    sources = []
    for call in calls:
        measure = call.measure
        if halved and _is_filtered_count(call):
            assert measure.filter is not None
            everyone = place(Basis.TOTAL, Measure(None, None))
            halves = place(Basis.VALUED, _as_values(measure.filter))
            sources.append(Source(halves, VALUED_WAYS[0], everyone, TOTAL_WAY))
            continue
        total = place(Basis.TOTAL, Measure(None, measure.filter))
        if call.aggregate == "count" and is_whole(measure):
            sources.append(Source(total, TOTAL_WAY))
            continue
        basis = _centred_basis(calls, measure)
        way = next(way for way in _ways(call.aggregate, measure) if way.basis is basis)
        sources.append(Source(place(basis, measure), way, *((total, TOTAL_WAY) if way.of_count is not None else ())))
    return bases, sources


def _centred_basis(calls: Iterable[Call], measure: Measure) -> Basis:
    """The centred basis that serves all calls over a measure."""
    names = {call.aggregate for call in calls if call.measure.identity == measure.identity}
    nulls = not is_whole(measure)
    if not grid_of(measure).cells:
        return Basis.VALUED if names == {"count"} else Basis.PRESENT
    if not names <= {"count", "sum", "avg"}:
        return Basis.MOMENTS_AND_NULLS if nulls else Basis.MOMENTS
    if names == {"count"}:
        return Basis.VALUED
    return Basis.CENTRE_AND_NULLS if nulls else Basis.CENTRE


def _direct(calls: tuple[Call, ...]) -> _Found | None:
    """The counts and sums themselves, where nothing else is asked for."""
    if not {call.aggregate for call in calls} <= {"count", "sum"}:
        return None
    bases: list[tuple[Basis, Measure]] = []
    sources = []
    for call in calls:
        if call.measure.argument is None:
            basis = Basis.TOTAL
        else:
            indexed = call.aggregate == "sum" and grid_of(call.measure).cells
            basis = Basis.SUM if indexed else Basis.PRESENT
        way = next(way for way in _ways(call.aggregate, call.measure) if way.basis is basis)
        sources.append(Source(len(bases), way))
        bases.append((basis, call.measure))
    return bases, sources
