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
from dpsql.aggregates.count import PARTS_WAY, PRESENT_WAYS, ROW_WAY, ROWS_FROM_NULLABLE, TOTAL_WAY, VALUED_WAYS
from dpsql.disjoint import disjoint, understood
from dpsql.expressions import Typed
from dpsql.expressions.literals import BOOLEAN, case_when, paren
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
    """What a number is computed from: the number of its basis, how, and the bases that count its rows, if others.

    added   where other bases' sums are added to those of its own: the numbers of these
    counts  the numbers of those that count its rows; their counts are added up
    rows    how each counts them
    ends    where the ends of its interval are chosen too: the numbers of their bases
    """

    basis: int
    way: Way
    counts: tuple[int, ...] = ()
    rows: tuple[Way, ...] = ()
    ends: tuple[int, ...] = ()
    added: tuple[int, ...] = ()

    def moved(self, by: int) -> Source:
        """The same, where so many bases stand before."""
        counts, ends, added = (tuple(b + by for b in bases) for bases in (self.counts, self.ends, self.added))
        return replace(self, basis=self.basis + by, counts=counts, ends=ends, added=added)


@dataclass(frozen=True, slots=True)
class Block:
    """Bases that get their noise together, from one mechanism, for one share of ε.

    bound    how much one unit's rows count in them: what all noise of the block is in proportion to
    choices  where nothing gets noise, but values are chosen: what is asked for
    part     which part of which partition of the rows it reads, by numbers: blocks of other parts of that read none of
             its rows, so they don't share ε with it; None: it shares with all
    """

    mechanism: Mechanism
    bases: tuple[tuple[Basis, Measure], ...]
    bound: ContributionBound
    choices: tuple[Choice, ...] = ()
    part: tuple[int, int] | None = None

    def moved(self, by: int) -> Block:
        """The same, where so many blocks stand before."""
        return self if self.part is None else replace(self, part=(self.part[0] + by, self.part[1]))

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
            for basis in (source.basis, *source.added, *source.ends):
                loads[of_basis[basis]] += square * own
            for basis, rows in zip(source.counts, source.rows, strict=True):
                loads[of_basis[basis]] += square * of_count * rows.variance
        return [load * block.factor for load, block in zip(loads, self.blocks, strict=True)]

    @property
    def partitions(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """The blocks by number: in each partition of the rows those of each part; a block of no part stands alone."""
        found: dict[tuple[bool, int], dict[int, list[int]]] = {}
        for index, block in enumerate(self.blocks):
            partition, part = ((True, index), 0) if block.part is None else ((False, block.part[0]), block.part[1])
            found.setdefault(partition, {}).setdefault(part, []).append(index)
        return tuple(tuple(map(tuple, parts.values())) for parts in found.values())

    def shares(self) -> tuple[Fraction, ...]:
        """The part of ε that each block gets: ∝ c^(2/3), for which Σ (c / e)² is least; they add up to 1 exactly.

        Of a partition each part gets the same share, and splits it among its blocks; c² of a part is what it comes to
        with all of ε, and that of a partition the sum of these.
        """
        loads, partitions = self._loads(), self.partitions
        found: dict[int, Fraction] = {}
        for parts, share in zip(partitions, _split([_of_parts(loads, parts) for parts in partitions]), strict=True):
            for part in parts:
                within = _split([loads[block] for block in part])
                found |= {block: share * e for block, e in zip(part, within, strict=True)}
        return tuple(found[block] for block in range(len(loads)))

    @property
    def cost(self) -> float:
        """The sum of the numbers' relative variances, with the best shares, for the worst values."""
        loads = self._loads()
        return _least([_of_parts(loads, parts) for parts in self.partitions])

    @property
    def even_cost(self) -> float:
        """The same for values that are spread evenly, with the shares that they get."""
        return sum(load / float(e) ** 2 for load, e in zip(self._loads(even=True), self.shares(), strict=True))


def _split(loads: Sequence[float]) -> list[Fraction]:
    """Shares ∝ load^(1/3), rounded to thousandths of the largest, in which equal loads have equal shares."""
    roots = [math.cbrt(load) for load in loads]
    largest = max(roots, default=0.0) or 1.0
    steps = [max(LEAST_STEPS, round(SHARE_STEPS * root / largest)) for root in roots]
    return [Fraction(step, sum(steps)) for step in steps]


def _least(loads: Iterable[float]) -> float:
    """The least Σ load / e² of shares e that add up to 1."""
    return sum(map(math.cbrt, loads)) ** 3


def _of_parts(loads: Sequence[float], parts: Iterable[Iterable[int]]) -> float:
    """The load of a partition, whose parts each have all of its share for their blocks."""
    return sum(_least(loads[block] for block in part) for part in parts)


Family = MechanismChoice | Literal["cube"]
"""Which layouts there are to choose from: a policy's choice, or those with cube noise, to compare with."""


def best_layout(query: ReleaseQuery, family: Family) -> Layout:
    """The layout of least variance: of those with Laplace noise alone; where the family is `auto`, of all.

    Where no cube is possible, or `auto` finds none better, the Laplace layout. Numbers of rows that are apart by their
    FILTERs don't share ε, where that is better; not where cubes are wanted.
    """
    best = _sharing(query, family)
    for layout in _partitioned(query, family) if family != "cube" else ():
        if layout.even_cost < best.even_cost * (1 - 1e-9):
            best = layout
    return best


def _sharing(query: ReleaseQuery, family: Family) -> Layout:
    """The layout of least variance in which all blocks share ε. Values are chosen in blocks apart."""
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
        before = len(blocks)
        blocks += [block.moved(before) for block in layout.blocks]
        sources |= {i: source.moved(bases) for i, source in zip(indices, layout.sources, strict=True)}
        bases += len(layout.bases)
    return Layout(tuple(blocks), tuple(sources[i] for i in range(len(query.calls))), weights_of(query))


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
    of_rows = {c.measure.identity[1]: Measure(None, c.measure.filter) for c in query.calls}
    ways = {(c.aggregate, c.measure.identity): _ways(c.aggregate, c.measure) for c in query.calls}
    modes = {identity: list(_modes(measure, ways)) for identity, measure in measures.items()}
    found: list[tuple[float, Layout]] = []
    for start in (0, -1):
        chosen = {identity: options[start] for identity, options in modes.items()}
        current = _assign(query, measures, ways, chosen, of_rows)
        cost = current.cost
        improved = len(measures) <= MAX_SEARCHED
        while improved:
            improved = False
            for identity, options in modes.items():
                for option in options:
                    candidate = _assign(query, measures, ways, {**chosen, identity: option}, of_rows)
                    if (less := candidate.cost) < cost * (1 - 1e-9):
                        chosen[identity], current, cost, improved = option, candidate, less, True
        found.append((cost, current))
    (first, layout), (other, instead) = found
    return instead if other < first * (1 - 1e-9) else layout


_Mode = tuple[Basis, ...]
_Ways = dict[tuple[str, tuple[str, str]], tuple[Way, ...]]
"""The ways of each call, by its aggregate and its measure's identity."""


def _modes(measure: Measure, ways: _Ways) -> Iterator[_Mode]:
    """The sets of bases that can serve all calls over one measure, fewest noisy sums first."""
    wanted = {name: found for (name, identity), found in ways.items() if identity == measure.identity}
    indexed = grid_of(measure).cells > 0
    for mode in (
        (Basis.PRESENT,),
        (Basis.PRESENT_AND_NULLS,),
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
    of_rows: dict[str, Measure],
) -> Layout:
    bases = [(basis, measures[identity]) for identity, mode in modes.items() for basis in mode]
    of_measure: dict[tuple[str, str], list[int]] = {}
    counts: dict[str, Source] = {}  # the best of each filter's rows
    for index, (basis, known) in enumerate(bases):
        of_measure.setdefault(known.identity, []).append(index)
        for source in _counts(index, basis, known):
            best = counts.get(known.identity[1], source)
            counts[known.identity[1]] = min(best, source, key=_variance)

    def rows(measure: Measure) -> Source:
        """The best count of the rows that pass a measure's filter: of those that are there, else one of its own."""
        condition = measure.identity[1]
        if condition not in counts:
            bases.append((Basis.ROWS, of_rows[condition]))
            counts[condition] = Source(len(bases) - 1, ROW_WAY)
        return counts[condition]

    sources = []
    for call in query.calls:
        identity = call.measure.identity
        options = [
            Source(index, way)
            for index in of_measure.get(identity, ())
            for way in ways[call.aggregate, identity]
            if way.basis is bases[index][0]
        ]
        if not options and call.aggregate == "count":
            options = [rows(call.measure)]
        best = min(options, key=_variance)
        if best.way.of_count is not None:
            counted = rows(call.measure)
            best = Source(best.basis, best.way, (counted.basis,), (counted.way,))
        sources.append(best)
    blocks = tuple(_block(query, laplace.MECHANISM, [basis]) for basis in bases)
    return Layout(blocks, tuple(sources), weights_of(query))


def _variance(source: Source) -> float:
    return source.way.variance


def _counts(index: int, basis: Basis, known: Measure) -> Iterator[Source]:
    """The ways in which a basis gives the number of rows that pass its filter."""
    if known.by_unit:
        return
    if basis is Basis.ROWS:
        yield Source(index, ROW_WAY)
    elif basis in ROWS_FROM_NULLABLE:
        yield Source(index, ROWS_FROM_NULLABLE[basis])
    elif known.argument is not None and is_whole(known):
        yield from (Source(index, way) for way in PRESENT_WAYS if way.basis is basis)


# ---------------------------------------------------------------------------------------------- partitions

MAX_ADDED = 16
"""Noisy sums that are added to make a count of all rows: what a half-width takes grows with their square."""
MAX_IN_PARTS = 64
"""And numbers of all rows times the parts that they may be made of: each of them is laid out in each part."""
MAX_COUNTED = 4
"""Partitions of whose parts a count of all rows is tried: for each, all other numbers are laid out again."""
MAX_FILTERS = 64
"""Beyond so many it isn't searched for those that are disjoint: each is compared with all others."""
MAX_COMPARED = 300_000
"""Nor where that takes more steps, of which a second has about two million."""


_Part = tuple[Sequence[int], exp.Expr]
"""A part of the rows: the calls of numbers that are of it alone, by index, and its condition."""


def _partitioned(query: ReleaseQuery, family: Family) -> Iterator[Layout]:
    """Layouts in which numbers under disjoint FILTERs have the same ε, each its own: no row is in two of them.

    All other numbers share with the partitions. What is asked of all rows may be what the parts of one partition and a
    part for the rest come to together: the counts alone, or sums, means and variances too.
    """
    of_filter: dict[str, list[int]] = {}
    for index, call in enumerate(query.calls):
        if _may_be_part(query, call):
            of_filter.setdefault(call.measure.identity[1], []).append(index)
    everyone = [i for i, call in enumerate(query.calls) if _is_of_everyone(call)]
    if len(of_filter) > MAX_FILTERS or len(of_filter) + bool(everyone) < 2:
        return
    groups = _apart(query, of_filter.values())
    counts = [i for i in everyone if _counts_everyone(query.calls[i])]
    added = [each for each in (counts, everyone) if each][: 2 if len(counts) < len(everyone) else 1]
    alone = [_partition(query, parts, (), family) if len(parts) > 1 else None for parts in groups]
    tried: list[tuple[int | None, Sequence[_Part], Sequence[int], Family]] = [(None, (), (), family)]
    for number, parts in enumerate(groups[:MAX_COUNTED] if everyone else ()):
        all_parts = _with_rest(query, parts) if len(parts) <= MAX_ADDED else None
        if all_parts is not None:
            few = [of_all for of_all in added if len(of_all) * len(all_parts) <= MAX_IN_PARTS]
            noises = dict.fromkeys(("laplace", family))
            tried += [(number, all_parts, of_all, noise) for of_all in few for noise in noises]
    for counted, all_parts, of_all, noise in tried:
        partitions = [
            _partition(query, all_parts, of_all, noise) if number == counted else alone[number]
            for number, parts in enumerate(groups)
            if len(parts) > 1 or number == counted
        ]
        known = [found for found in partitions if found is not None]
        if not known or len(known) < len(partitions):
            continue
        taken = {index for indices, _ in known for index in indices}
        others = [index for index in range(len(query.calls)) if index not in taken]
        rest = [(others, _sharing(_picked(query, others), family))] if others else []
        yield _joined(query, *known, *rest)


def _may_be_part(query: ReleaseQuery, call: Call) -> bool:
    """Whether a number is one of the rows under its FILTER alone, and each counts as much as for all other numbers.

    Of a unit's distinct values each measure keeps as many as the bound says, whatever others keep.
    """
    measure = call.measure
    if measure.filter is None or (measure.distinct and query.rows.unit is not None):
        return False
    basis = Basis.ROWS if call.choice is None else Basis.CELLS
    return bound_of(query, measure, basis) == bound_of(query, Measure(None, measure.filter), Basis.ROWS)


def _is_of_everyone(call: Call) -> bool:
    """Whether a number is made of sums over all rows, each of which counts as much as in every part of them."""
    return call.measure.filter is None and not call.measure.distinct and call.choice is None


def _counts_everyone(call: Call) -> bool:
    return call.aggregate == "count" and call.measure.filter is None and is_whole(call.measure)


def _apart(query: ReleaseQuery, of_filter: Iterable[list[int]]) -> list[list[_Part]]:
    """The calls of each filter, in groups of filters that are disjoint, as large as they come."""
    parts = [(calls, where) for calls in of_filter if (where := query.calls[calls[0]].measure.filter) is not None]
    known = [understood(where) for _, where in parts]
    if len(known) * sum(condition.size for condition in known if condition is not None) > MAX_COMPARED:
        known = [None] * len(known)
    groups: list[list[int]] = []
    for index, condition in enumerate(known):
        fitting = (group for group in groups if all(disjoint(condition, known[other]) for other in group))
        if (group := next(fitting, None)) is None:
            groups.append(group := [])
        group.append(index)
    return [[parts[index] for index in group] for group in groups]


def _with_rest(query: ReleaseQuery, parts: Sequence[_Part]) -> Sequence[_Part] | None:
    """The parts and one for the rest, if there may be one; None where that isn't known to be apart from them."""
    conditions = [condition for _, condition in parts]
    if _leave_none(query, conditions):
        return parts
    rest = _rest(conditions)
    of_rest = understood(rest)
    return [*parts, ((), rest)] if all(disjoint(of_rest, understood(each)) for each in conditions) else None


def _partition(
    query: ReleaseQuery, parts: Sequence[_Part], everyone: Sequence[int], family: Family
) -> tuple[list[int], Layout] | None:
    """The calls, by index, whose numbers come from a partition of the rows, and its layout.

    With those that are of `everyone` the parts are of all rows; None where one of these would be made of too many noisy
    sums, or of such as can't be added.
    """
    blocks: list[Block] = []
    sources: dict[int, Source] = {}
    of_parts: dict[int, list[Source]] = {index: [] for index in everyone}
    for number, (calls, condition) in enumerate(parts):
        asked = _picked(query, [*calls, *everyone])
        of_part = (*asked.calls[: len(calls)], *(_in_part(query.calls[i], condition) for i in everyone))
        layout = _sharing(replace(asked, calls=of_part), family)
        found = [source.moved(sum(len(block.bases) for block in blocks)) for source in layout.sources]
        sources |= zip(calls, found, strict=False)
        for index, source in zip(everyone, found[len(calls) :], strict=True):
            of_parts[index].append(source)
        blocks += [replace(block, part=(0, number)) for block in layout.blocks]
    mechanisms = [block.mechanism for block in blocks for _ in block.bases]
    for index, each in of_parts.items():
        kinds = {mechanisms[source.basis] for source in each}
        if _counts_everyone(query.calls[index]) and cube.MECHANISM not in kinds:
            added = _added_counts(each)
        else:
            added = _added(each) if len(kinds) == 1 else None
        if added is None:
            return None
        sources[index] = added
    listed = sorted(sources)
    return listed, Layout(tuple(blocks), tuple(sources[i] for i in listed), weights_of(_picked(query, listed)))


def _in_part(call: Call, condition: exp.Expr) -> Call:
    """What is asked of all rows, of those that meet a condition; of counts of whole rows there is but one of these."""
    argument = None if _counts_everyone(call) else call.measure.argument
    return replace(call, measure=Measure(argument, condition))


def _added_counts(parts: Sequence[Source]) -> Source | None:
    """The rows of all parts, however each counts them."""
    if sum(terms_of(source.way) for source in parts) > MAX_ADDED:
        return None
    bases, ways = tuple(source.basis for source in parts), tuple(source.way for source in parts)
    return Source(bases[-1], PARTS_WAY, bases, ways)


def _added(parts: Sequence[Source]) -> Source | None:
    """A number of all rows, from the sums of all parts, if each has the same."""
    first, *others = parts
    counts = tuple(basis for source in parts for basis in source.counts)
    rows = tuple(way for source in parts for way in source.rows)
    terms = len(parts) * _SIZES[first.way.basis] + sum(map(terms_of, rows))
    if terms > MAX_ADDED or any(source.way.basis is not first.way.basis for source in others):
        return None
    return replace(first, counts=counts, rows=rows, added=tuple(source.basis for source in others))


_NEVER_NULL = (
    exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Neg,
)  # fmt: skip


def _leave_none(query: ReleaseQuery, conditions: Sequence[exp.Expr]) -> bool:
    """Whether one of the conditions holds for each row, if columns have NULL where the policy says so alone.

    As a count of rows with a value is one of all rows then: a matter of what is counted, not of privacy.
    """
    sets = query.rows.sets
    for node in itertools.chain.from_iterable(condition.walk() for condition in conditions):
        known = not isinstance(node, exp.Column) or (node.name in sets and not sets[node.name].nullable)
        if not isinstance(node, _NEVER_NULL) or not known:
            return False
    *first, last = (exp.Not(this=exp.Paren(this=condition.copy())) for condition in conditions)
    return bool(first) and disjoint(understood(exp.and_(*first, copy=False)), understood(last))


def terms_of(way: Way) -> int:
    """How many noisy sums are added to make a count."""
    return round(way.variance / 2)


def _rest(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """That none of the conditions holds: each is FALSE or NULL."""
    holding = [exp.NullSafeEQ(this=paren(condition.copy()), expression=exp.true()) for condition in conditions]
    return exp.and_(*(exp.Not(this=exp.Paren(this=each)) for each in holding), copy=False)


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
            sources.append(Source(halves, VALUED_WAYS[0], (everyone,), (TOTAL_WAY,)))
            continue
        total = place(Basis.TOTAL, Measure(None, measure.filter))
        if call.aggregate == "count" and is_whole(measure):
            sources.append(Source(total, TOTAL_WAY))
            continue
        basis = _centred_basis(calls, measure)
        way = next(way for way in _ways(call.aggregate, measure) if way.basis is basis)
        counted = ((total,), (TOTAL_WAY,)) if way.of_count is not None else ()
        sources.append(Source(place(basis, measure), way, *counted))
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
