"""From a query and an ε to the noise of every number: bases, grids, scales, total loss.

The plan is a function of SQL, policy and ε alone (PROOFS: nothing in it may depend on data).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from dpsql import aggregates
from dpsql.aggregates.aggregate import COUNTING_NULLS, INDEXED, NO_GRID, SQUARED, Basis, Grid, Way
from dpsql.aggregates.count import PRESENT_WAYS, ROW_WAY, ROWS_FROM_NULLABLE, UNIT_WAY
from dpsql.errors import InvalidParameter, UnsupportedQuery
from dpsql.expressions import Typed, position_of
from dpsql.grids import natural_grid, widened
from dpsql.policy import Kind, PrivacySettings
from dpsql.privacy.key_selection import KeySelection
from dpsql.privacy.loss import PrivacyLoss
from dpsql.privacy.sensitivity import ContributionBound, Part, joint_bound
from dpsql.query import Call, Constant, Measure, Query, ReleaseQuery

LN_2_64 = Fraction(4_436_142, 100_000)
"""Just above ln(2^64): a discrete Laplace draw beyond scale·ln(2^64) has probability below 2^-63."""
LARGEST_NOISE = 2**62
LARGEST_THRESHOLD = 2**60
MAX_DOUBLE_CELLS = 2**50
"""Index arithmetic in DOUBLE is exact to the nearest integer up to here."""
MAX_CELLS = 2**62
"""What one row adds at most: a weight times an index or its square. It fits BIGINT, and 2^64 rows of it HUGEINT."""
MAX_CALLS = 200
MAX_SEARCHED = 16
"""Beyond so many measures the bases aren't searched for: the search takes cubic time."""
MAX_NUMBERS = 20_000_000
"""Noisy sums of one release: groups times aggregates. They are made in memory."""


@dataclass(frozen=True, slots=True)
class BasisPlan:
    """One basis of a release: noise of scale part.unit / epsilon is added to each part."""

    basis: Basis
    measure: Measure
    grid: Grid
    parts: tuple[Part, ...]
    bound: ContributionBound
    epsilon: Fraction

    @property
    def loss(self) -> Fraction:
        """The privacy loss of releasing all parts: of one unit's rows, worked out from parts, bound and scales.

        A row that counts in full adds at most the joint bound of the parts, in their units; all rows of a unit add
        `bound.total` times as much.
        """
        of_unit = joint_bound(self.parts, self.grid.cells) * self.bound.total
        return of_unit * max(part.unit / self.scale(part) for part in self.parts)

    def scale(self, part: Part) -> Fraction:
        """Of the discrete Laplace noise, in the steps of the exact sums."""
        return part.unit * self.bound.total / self.epsilon

    @property
    def row_scale(self) -> Fraction:
        """The noise of a part with unit 1 in rows that count in full: what errors are worked out from."""
        return self.bound.rows / self.epsilon

    @property
    def reading(self) -> tuple[str, ...]:
        """What tells one inner query from another: bases for which it is equal are read in one pass.

        Rows are weighted alike for all measures. The distinct values of a unit are chosen for each measure apart. The
        units of a key are counted before anything else, since that decides which keys there are.
        """
        if self.basis is Basis.UNITS:
            return ("units",)
        return self.measure.identity if self.measure.by_unit else ()


@dataclass(frozen=True, slots=True)
class NumberPlan:
    """One distinct aggregate call: computed in `way` from basis number `basis` of its release."""

    call: Call
    basis: int
    way: Way


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """One release. Where it has private keys, `selection` says how they are selected: basis number 0 counts the units.

    The selection is (ε₀, δ)-private and publishes keys and noisy counts. Given these, each other basis reads only rows
    whose unit counts for their key, and is private for its own ε: so they add up (PROOFS A2).
    """

    query: ReleaseQuery
    bases: tuple[BasisPlan, ...]
    numbers: tuple[NumberPlan, ...]
    epsilon: Fraction
    selection: KeySelection | None = None

    def __post_init__(self) -> None:
        if self.loss > self.epsilon:
            raise AssertionError("a release would lose more than its share of epsilon")

    @property
    def loss(self) -> Fraction:
        """Bases add (each reads all rows); the groups of one release don't.

        A row is in one group; a unit may be in many, but its bound holds for the sum over all groups.
        """
        return sum((b.loss for b in self.bases), Fraction(0))

    @property
    def delta(self) -> Fraction:
        return Fraction(0) if self.selection is None else self.selection.delta

    @property
    def passes(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the bases whose exact sums are read together, for each inner query."""
        found: dict[tuple[str, ...], list[int]] = {}
        for index, basis in enumerate(self.bases):
            found.setdefault(basis.reading, []).append(index)
        return tuple(tuple(bases) for bases in found.values())


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole statement: what is released with which noise, what is charged, and what is done with the numbers."""

    releases: tuple[ReleasePlan, ...]
    outer: exp.Expr
    public_tables: frozenset[str]
    epsilon: Fraction
    charge: PrivacyLoss
    constants: tuple[Constant, ...] = ()


def charge_of(releases: Iterable[ReleasePlan], settings: PrivacySettings) -> PrivacyLoss:
    """What releases are charged together: the sums of ε and δ, ε at least the policy's floor; nothing for none."""
    releases = tuple(releases)
    epsilon = sum((r.epsilon for r in releases), Fraction(0))
    delta = sum((r.delta for r in releases), Fraction(0))
    return PrivacyLoss(max(epsilon, settings.min_epsilon) if epsilon else epsilon, delta)


def plan_query(query: Query, settings: PrivacySettings, *, epsilon: Fraction) -> Plan:
    """Split ε over the statement's releases, and each share over the bases of least total variance.

    A release that asks for an ε of its own gets it; the others share the statement's equally. All together are charged,
    and must not exceed the policy's max_epsilon.
    """
    check_epsilon(settings, epsilon)
    asked = [release.epsilon for release in query.releases if not release.is_free]
    if not asked:
        listed = tuple(_plan_release(release, Fraction(0), Fraction(0)) for release in query.releases)
        charge = charge_of(listed, settings)
        return Plan(listed, query.outer, query.public_tables, Fraction(0), charge, query.constants)
    sharing = asked.count(None)
    share = epsilon / sharing if sharing else Fraction(0)
    shares = [share if e is None else e for e in asked]
    epsilon = sum(shares, Fraction(0))
    check_epsilon(settings, min(shares))
    check_epsilon(settings, epsilon)
    deltas = _deltas(query.releases, settings)
    releases = tuple(
        _plan_release(r, share if r.epsilon is None else r.epsilon, delta)
        for r, delta in zip(query.releases, deltas, strict=True)
    )
    charge = charge_of(releases, settings)
    return Plan(releases, query.outer, query.public_tables, epsilon, charge, query.constants)


def _deltas(releases: tuple[ReleaseQuery, ...], settings: PrivacySettings) -> list[Fraction]:
    """The δ of each release: what it asks for, or an equal share of the policy's, which all together keep to."""
    private = [r for r in releases if r.private_keys]
    if not private:
        return [Fraction(0)] * len(releases)
    assert settings.delta is not None
    asked = sum((r.selection.delta or Fraction(0) for r in private), Fraction(0))
    if any(r.selection.delta == 0 for r in private):
        raise InvalidParameter("delta is 0, and the query groups by keys that aren't public", hint="write delta = 1e-6")
    if asked > settings.delta:
        raise InvalidParameter(
            f"delta {float(asked):g} is above the policy's privacy.delta {float(settings.delta):g}",
            hint=f"ask for delta {float(settings.delta):g} or less",
        )
    sharing = sum(r.selection.delta is None for r in private)
    share = (settings.delta - asked) / sharing if sharing else Fraction(0)
    if sharing and not share:
        raise InvalidParameter("no delta is left for the other releases of this query", hint="ask for less in each")
    return [
        Fraction(0) if not r.private_keys else share if r.selection.delta is None else r.selection.delta
        for r in releases
    ]


SMALLEST_EPSILON = Fraction(1, 10**9)
"""The unit of the ledger. Noise of less would not fit its integers, however a query shares it out."""


def check_epsilon(settings: PrivacySettings, epsilon: Fraction) -> None:
    if epsilon <= 0:
        raise InvalidParameter(f"epsilon must be positive, not {epsilon}")
    if epsilon < SMALLEST_EPSILON:
        raise InvalidParameter("epsilon is below 1e-9, the least there is", hint="ask for epsilon 1e-9 or more")
    if settings.max_epsilon is not None and epsilon > settings.max_epsilon:
        ceiling = float(settings.max_epsilon)
        raise InvalidParameter(
            f"epsilon {float(epsilon):g} is above the policy's max_epsilon {ceiling:g}",
            hint=f"ask for epsilon {ceiling:g} or less",
        )


# ---------------------------------------------------------------------------------------------- bases


@dataclass(frozen=True, slots=True)
class _Choice:
    """A set of bases with the way and basis of each call."""

    bases: tuple[tuple[Basis, Measure], ...]
    numbers: tuple[tuple[int, Way], ...]

    @property
    def cost(self) -> float:
        """Total relative variance when ε is shared equally: each basis gets ε / their number."""
        return sum(way.variance for _, way in self.numbers) * len(self.bases) ** 2


def _plan_release(query: ReleaseQuery, epsilon: Fraction, delta: Fraction) -> ReleasePlan:
    if query.is_free:
        return ReleasePlan(query, (), (), Fraction(0))
    if len(query.calls) > MAX_CALLS:
        raise UnsupportedQuery(
            f"the query has {len(query.calls)} aggregates; at most {MAX_CALLS} are allowed", hint="ask several queries"
        )
    if len(query.intervals) > MAX_CALLS:
        raise UnsupportedQuery(f"the query has more than {MAX_CALLS} intervals", hint="ask several queries")
    if (len(query.calls) + 2 * len(query.intervals)) * query.cells > MAX_NUMBERS:
        raise UnsupportedQuery(
            f"{len(query.calls)} aggregates and {len(query.intervals)} intervals for {query.cells} groups make too "
            f"many numbers (over {MAX_NUMBERS})",
            hint="group by fewer or coarser keys, or ask for fewer aggregates",
        )
    counted = [call for call in query.calls if _is_count_of_units(query, call)]
    others = tuple(call for call in query.calls if call not in counted)
    choice = _choose(others) if others else _Choice((), ())
    selection = _selection(query, epsilon, delta, len(choice.bases)) if query.private_keys else None
    first: tuple[BasisPlan, ...] = ()
    if selection is not None:
        everyone = Measure(None, None)
        bound = ContributionBound(selection.groups)
        first = (BasisPlan(Basis.UNITS, everyone, NO_GRID, Basis.UNITS.parts(NO_GRID), bound, selection.epsilon),)
        epsilon_left = epsilon - selection.epsilon
    else:
        epsilon_left = epsilon
    share = epsilon_left / max(1, len(choice.bases))
    bases = first + tuple(_basis_plan(basis, measure, _bound(query, measure), share) for basis, measure in choice.bases)
    ways = {id(call): (len(first) + index, way) for call, (index, way) in zip(others, choice.numbers, strict=True)}
    numbers = tuple(NumberPlan(call, *ways.get(id(call), (0, UNIT_WAY))) for call in query.calls)
    for asked, _ in query.intervals:
        if not numbers[asked].way.has_interval:
            call = numbers[asked].call
            raise UnsupportedQuery(
                f"the interval of {call.text} isn't known",
                hint="intervals are known of COUNT, SUM and AVG",
                position=position_of(call.text.node),
            )
    return ReleasePlan(query, bases, numbers, epsilon, selection)


def _is_count_of_units(query: ReleaseQuery, call: Call) -> bool:
    """Whether the selection of private keys gives the very number: the units of a key, which are its rows at row level.

    Not beside public keys, since units are selected for all values of those together.
    """
    measure = call.measure
    if len(query.private_keys) < len(query.keys) or not query.keys or measure.filter is not None:
        return False
    if query.rows.unit is None:
        return measure.argument is None and query.rows.bound == ContributionBound(1)
    return measure.of_unit


def _selection(query: ReleaseQuery, epsilon: Fraction, delta: Fraction, bases: int) -> KeySelection:
    """The selection of a release's private keys: for as much ε as each basis, unless the query says otherwise."""
    rows, asked = query.rows, query.selection
    assert rows.bound is not None
    if rows.unit is None and rows.bound.rows > 1:  # a row that counts twice for a key is seen too easily
        raise UnsupportedQuery(
            "the query repeats rows and groups them by keys that aren't public",
            hint="group each side of UNION ALL in a subquery, then combine the results",
        )
    groups = rows.bound.rows if rows.unit is None or rows.groups[0] is None else min(rows.groups[0], rows.bound.rows)
    share = epsilon / (1 + bases) if asked.epsilon is None or not bases else asked.epsilon
    if bases and share >= epsilon:
        raise InvalidParameter(
            f"group_selection_epsilon {float(share):g} leaves nothing of the release's {float(epsilon):g}",
            hint=f"write less than {float(epsilon):g}",
        )
    selection = KeySelection(share, delta, groups, asked.min_units or 1)
    if selection.threshold >= LARGEST_THRESHOLD or LN_2_64 * selection.scale >= LARGEST_NOISE:
        raise InvalidParameter(
            f"an epsilon of {float(share):g} is too small to select keys with", hint="ask for a larger epsilon"
        )
    return selection


def _choose(calls: tuple[Call, ...]) -> _Choice:
    """The bases of least total variance, found by improving one measure at a time from two starting points."""
    measures = {c.measure.identity: c.measure for c in calls if c.measure.argument is not None}
    ways = {(c.aggregate, c.measure.identity): _ways(c.aggregate, c.measure) for c in calls}
    modes = {identity: list(_modes(measure, ways)) for identity, measure in measures.items()}
    best: _Choice | None = None
    for start in (0, -1):
        chosen = {identity: options[start] for identity, options in modes.items()}
        current = _assign(calls, measures, ways, chosen)
        improved = len(measures) <= MAX_SEARCHED
        while improved:
            improved = False
            for identity, options in modes.items():
                for option in options:
                    candidate = _assign(calls, measures, ways, {**chosen, identity: option})
                    if candidate.cost < current.cost:
                        chosen[identity], current, improved = option, candidate, True
        if best is None or current.cost < best.cost:
            best = current
    assert best is not None
    return best


_Mode = tuple[Basis, ...]
_Ways = dict[tuple[str, tuple[str, str]], tuple[Way, ...]]
"""The ways of each call, by its aggregate and its measure's identity."""


def _modes(measure: Measure, ways: _Ways) -> Iterator[_Mode]:
    """The sets of bases that can serve all calls over one measure, fewest noisy sums first."""
    wanted = [found for (_, identity), found in ways.items() if identity == measure.identity]
    indexed = _grid(measure).cells > 0
    for mode in (
        (Basis.PRESENT,),
        (Basis.SUM,),
        (Basis.SUM, Basis.PRESENT),
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
        if all(any(way.basis in mode for way in each) for each in wanted):
            yield mode


def _ways(name: str, measure: Measure) -> tuple[Way, ...]:
    ways = aggregates.named(name).ways(measure.argument, _grid(measure))
    if name == "count" and measure.distinct:
        return tuple(way for way in ways if way.basis is Basis.PRESENT)  # places on a grid are not the values
    return ways


def _grid(measure: Measure) -> Grid:
    return NO_GRID if measure.argument is None else natural_grid(measure.argument)


def _assign(
    calls: tuple[Call, ...],
    measures: dict[tuple[str, str], Measure],
    ways: _Ways,
    modes: dict[tuple[str, str], _Mode],
) -> _Choice:
    bases = [(basis, measures[identity]) for identity, mode in modes.items() for basis in mode]
    numbers = []
    for call in calls:
        options = list(_options(call, ways[call.aggregate, call.measure.identity], bases))
        if not options:
            bases.append((Basis.ROWS, call.measure))
            options = [(len(bases) - 1, ROW_WAY)]
        numbers.append(min(options, key=lambda option: option[1].variance))
    return _Choice(tuple(bases), tuple(numbers))


def _options(call: Call, ways: tuple[Way, ...], bases: list[tuple[Basis, Measure]]) -> Iterator[tuple[int, Way]]:
    """The ways in which the bases at hand give a call's number."""
    for index, (basis, measure) in enumerate(bases):
        if measure.identity == call.measure.identity:
            yield from ((index, way) for way in ways if way.basis is basis)
        elif call.measure.argument is None and measure.argument is not None:
            if measure.identity[1] != call.measure.identity[1] or measure.by_unit:
                continue
            # COUNT(*) beside a measure under the same filter: a column that is declared not NULL counts all rows.
            if basis in ROWS_FROM_NULLABLE:
                yield index, ROWS_FROM_NULLABLE[basis]
            elif not measure.argument.set.nullable and not measure.distinct:
                yield from ((index, way) for way in PRESENT_WAYS if way.basis is basis)


# ---------------------------------------------------------------------------------------------- grids


def _bound(query: ReleaseQuery, measure: Measure) -> ContributionBound:
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
    if query.keys and groups is not None and per_group is not None and groups * per_group < bound.rows:
        return ContributionBound(groups * per_group, weighted=True, groups=groups)
    return bound


def _basis_plan(basis: Basis, measure: Measure, bound: ContributionBound, epsilon: Fraction) -> BasisPlan:
    grid = _grid(measure)
    if measure.argument is not None and grid.cells:
        grid = _fitted(basis, measure.argument, grid, bound, epsilon)
    plan = BasisPlan(basis, measure, grid, basis.parts(grid), bound, epsilon)
    if LN_2_64 * max(plan.scale(part) for part in plan.parts) >= LARGEST_NOISE:
        raise InvalidParameter(
            f"an epsilon of {float(epsilon):g} is too small for {bound.rows} rows of one unit",
            hint="ask for a larger epsilon",
        )
    return plan


def _fitted(basis: Basis, argument: Typed, grid: Grid, bound: ContributionBound, epsilon: Fraction) -> Grid:
    """The grid, coarser by powers of two until indices, sums and noise fit their types: what is added up is w·i."""
    limit = MAX_CELLS // bound.steps
    if argument.kind is Kind.DOUBLE:
        limit = min(limit, MAX_DOUBLE_CELLS)
    if basis in SQUARED:
        limit = min(limit, math.isqrt(MAX_CELLS // bound.steps))
    lower, upper = Fraction(argument.set.bounds.lower), Fraction(argument.set.bounds.upper)
    grain = grid.grain
    while True:
        grid = widened(lower, upper, grain)
        widest = max((part.unit for part in basis.parts(grid)), default=1)
        if grid.cells <= limit and LN_2_64 * widest * bound.total / epsilon < LARGEST_NOISE:
            return grid
        grain *= 2
