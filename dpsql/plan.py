"""From a query and an ε to the noise of every number: bases, grids, scales, total loss.

The plan is a function of SQL, policy and ε alone (PROOFS: nothing in it may depend on data).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product, starmap

from sqlglot import exp

from dpsql.aggregates.aggregate import NO_GRID, SQUARED, Basis, Grid, Law, Way, finer
from dpsql.aggregates.choice import EVEN_CELLS, FEW_CELLS, TEMPORAL, Candidates, ladder
from dpsql.aggregates.count import UNIT_WAY
from dpsql.disjoint import disjoint, understood
from dpsql.errors import InvalidParameter, UnsupportedQuery
from dpsql.expressions import position_of
from dpsql.grids import widened
from dpsql.layouts import Block, Family, Layout, best_layout, grid_of, is_whole, terms_of, weights_of
from dpsql.policy import Kind, PrivacySettings
from dpsql.privacy.loss import PrivacyLoss
from dpsql.privacy.mechanisms import Mechanism, cube, laplace, permute_and_flip
from dpsql.privacy.mechanisms.permute_and_flip import Extreme, LadderEnd, Quantiles
from dpsql.privacy.mechanisms.truncated_geometric import KeySelection
from dpsql.privacy.sensitivity import ContributionBound, Part
from dpsql.query import MAX_CALLS, Call, Constant, Measure, Query, ReleaseQuery, numbers_in
from dpsql.result import Rank

LN_2_64 = Fraction(4_436_142, 100_000)
"""Just above ln(2^64): a discrete Laplace draw beyond scale·ln(2^64) has probability below 2^-63."""
LARGEST_NOISE = 2**62
LARGEST_THRESHOLD = 2**60
MAX_DOUBLE_CELLS = 2**50
"""Index arithmetic in DOUBLE is exact to the nearest integer up to here."""
MAX_CELLS = 2**62
"""What one row adds at most: a weight times an index or its square. It fits BIGINT, and 2^64 rows of it HUGEINT."""
FINEST_UNEVEN = Fraction(1, 1000)
"""By how much the sensitivity of a sum in a cube may be below the others', of which it is a whole multiple."""
STEPS_OF_CUBE = 2**12
"""At least so many steps make the scale of cube noise: then its law is that of real numbers, as far as can be seen."""
MAX_NUMBERS = 20_000_000
"""Noisy sums of one release: groups times aggregates. They are made in memory."""


@dataclass(frozen=True, slots=True)
class BasisPlan:
    """One basis of a release: noise of scale part.unit / epsilon is added to each part.

    block       bases with the same number get their noise together, from one mechanism: that of their block
    sums        how many parts the block has
    part        which part of which partition of the rows the block reads, by numbers; None: it may read any
    candidates  where no noise is added, but values are chosen: among what, and how
    """

    basis: Basis
    measure: Measure
    grid: Grid
    parts: tuple[Part, ...]
    bound: ContributionBound
    epsilon: Fraction
    mechanism: Mechanism = laplace.MECHANISM
    block: int = 0
    sums: int = 1
    part: tuple[int, int] | None = None
    candidates: Candidates | None = None

    @property
    def moved(self) -> Fraction:
        """The norm of what one unit moves the parts by, at most, in units of their scales: by itself, a privacy loss.

        A row that counts in full adds at most the mechanism's bound of the parts, in their units; all rows of a unit
        add `bound.total` times as much. Of choices it is their privacy loss, from the scales that they are made with.
        """
        if self.candidates is not None:
            return self.candidates.mechanism.loss
        of_unit = self.mechanism.bound(self.parts, self.grid.cells) * self.bound.total
        return of_unit * max(part.unit / self.scale(part) for part in self.parts)

    @property
    def mechanism_name(self) -> str:
        return self.mechanism.name if self.candidates is None else permute_and_flip.NAME

    def scale(self, part: Part) -> Fraction:
        """Of the noise, in the steps of the exact sums."""
        return part.unit * self.bound.total / self.epsilon

    @property
    def row_scale(self) -> Fraction:
        """The noise of a part with unit 1 in rows that count in full: what errors are worked out from."""
        return self.bound.rows / self.epsilon

    @property
    def noisy_grid(self) -> Grid:
        """The grid, with the steps in which noisy sums are counted once their noise is in them."""
        if not self.bound.weighted or not self.parts:
            return self.grid
        return replace(self.grid, fine=finer(min(part.unit for part in self.basis.parts(self.grid))))

    @property
    def reading(self) -> tuple[str, ...]:
        """What tells one inner query from another: bases for which it is equal are read in one pass.

        Rows are weighted alike for all measures. The distinct values of a unit are chosen for each measure apart. The
        units of a key are counted before anything else, since that decides which keys there are. The rows of cells are
        counted for one measure and one set of candidates.
        """
        if self.basis is Basis.UNITS:
            return ("units",)
        if self.candidates is not None:
            return ("cells", *self.measure.identity, repr((self.grid, self.candidates.starts)))
        return self.measure.identity if self.measure.by_unit else ()


@dataclass(frozen=True, slots=True)
class NumberPlan:
    """One distinct aggregate call: computed in `way` from basis number `basis` of its release.

    added        where other bases' sums are added to those of its own: the numbers of these, which are of its kind
    counts       where other bases count its rows: the numbers of those, whose counts are added up
    count_terms  how many noisy parts of each are added to make its count
    ends         where the ends of its interval are chosen: the numbers of their bases
    """

    call: Call
    basis: int
    way: Way
    counts: tuple[int, ...] = ()
    count_terms: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    added: tuple[int, ...] = ()


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
        for bases in self.blocks:
            if len({(b.mechanism, b.bound, b.epsilon, b.reading) for b in bases}) > 1:
                raise AssertionError("the bases of a block have one mechanism, contribution bound and share of epsilon")
            scales = {b.scale(part) for b in bases for part in b.parts}
            if bases[0].mechanism.one_scale and len(scales) > 1:
                raise AssertionError("the sums of such a block have noise of one scale")
        for number in self.numbers:
            own, *others = (self.bases[index] for index in (number.basis, *number.added))
            if any((b.basis, b.noisy_grid, b.mechanism) != (own.basis, own.noisy_grid, own.mechanism) for b in others):
                raise AssertionError("sums that are added are of one kind")
        if not all(_are_apart(parts) for parts in self._partitions()):
            raise AssertionError("what isn't known to read other rows is no other part of a partition")
        if self.loss > self.epsilon:
            raise AssertionError("a release would lose more than its share of epsilon")

    @property
    def blocks(self) -> tuple[tuple[BasisPlan, ...], ...]:
        """The bases that get their noise together."""
        found: dict[int, list[BasisPlan]] = {}
        for basis in self.bases:
            found.setdefault(basis.block, []).append(basis)
        return tuple(map(tuple, found.values()))

    def _partitions(self) -> Iterable[Sequence[Sequence[BasisPlan]]]:
        """The bases of each part of each partition of the rows."""
        found: dict[int, dict[int, list[BasisPlan]]] = {}
        for basis in self.bases:
            if basis.part is not None:
                found.setdefault(basis.part[0], {}).setdefault(basis.part[1], []).append(basis)
        return [list(parts.values()) for parts in found.values()]

    @property
    def loss(self) -> Fraction:
        """Blocks add (each reads all rows); the groups of one release don't, nor do the parts of a partition.

        A row is in one group; a unit may be in many, but its bound holds for the sum over all groups. Within a block
        the mechanism's norm says what its bases lose together.

        Of a partition's parts the one counts that loses most. The noise of a block is independent of all other; its
        density changes by a factor of exp(ε · W / B) at most, where the unit's rows that it reads have the weight W and
        B is the bound: norms add up over rows, and a row that doesn't meet the FILTER adds 0. (So it is of choices,
        whose scores move by the weights of the rows.) A row meets the FILTER of one part at most (`disjoint`), and each
        part's weights are made for a number that counts at least all of the unit's rows which any part reads, or all
        rows have the weight 1 and the unit no more than B: so the W of all parts add up to B at most, and their losses
        to Σ W / B · (what the blocks of a part lose for a whole unit), which is no more than the largest of these. For
        distinct values of a unit that doesn't hold, since each measure keeps as many as B.
        """
        lost: dict[object, dict[object, Fraction]] = {}
        for bases in self.blocks:
            one = bases[0]
            parts = lost.setdefault(("block", one.block) if one.part is None else one.part[0], {})
            parts[one.part] = parts.get(one.part, Fraction(0)) + one.mechanism.norm(b.moved for b in bases)
        return sum((max(parts.values()) for parts in lost.values()), Fraction(0))

    def law(self, number: NumberPlan) -> Law:
        """The law of the noise of the sums that a number is computed from."""
        own, *others = (self._law(index, number) for index in (number.basis, *number.added))
        return replace(own, added=tuple(others))

    def _law(self, index: int, number: NumberPlan) -> Law:
        """That of one basis of a number, with the counts of the rows that are its part of the number's."""
        basis = self.bases[index]
        counted = [
            (self.bases[count], terms) for count, terms in zip(number.counts, number.count_terms, strict=True)
            if not number.added or self.bases[count].part == basis.part
        ]  # fmt: skip
        scales = tuple(count.row_scale for count, terms in counted for _ in range(terms))
        selection = self.selection if basis.basis is Basis.UNITS else None
        return Law(basis.mechanism, basis.row_scale, basis.sums, scales, basis.bound.weighted, selection)

    def rank_of(self, number: NumberPlan, level: Fraction | float) -> Rank | None:
        """What is known of the rank of a value that was chosen, in rows that count in full; None of other numbers."""
        basis, choice = self.bases[number.basis], number.call.choice
        if basis.candidates is None or choice is None:
            return None
        mechanism, steps = basis.candidates.mechanism, basis.bound.steps
        if isinstance(mechanism, Extreme):
            return Rank(beyond=float(mechanism.beyond / steps))
        assert choice.fraction is not None and isinstance(mechanism, Quantiles)
        half_width = mechanism.rank_half_width(choice.fraction, level, basis.candidates.count)
        return Rank(half_width / steps, mechanism.usual_rank_half_width(choice.fraction, level) / steps)

    @property
    def delta(self) -> Fraction:
        return Fraction(0) if self.selection is None else self.selection.delta

    def parts_of(self, number: NumberPlan) -> int:
        """How many parts the partition of the rows has that a number is of; 1 where there is none."""
        own = self.bases[number.basis].part
        return 1 if own is None else len({b.part for b in self.bases if b.part is not None and b.part[0] == own[0]})

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


def _are_apart(parts: Sequence[Sequence[BasisPlan]]) -> bool:
    """Whether the parts of a partition read disjoint rows, each of which counts alike: see `ReleasePlan.loss`."""
    every = [basis for part in parts for basis in part]
    by_rows = not any(basis.measure.by_unit or basis.measure.of_unit for basis in every)
    filters = [{basis.measure.identity[1]: basis.measure.filter for basis in part} for part in parts]
    conditions = [[understood(condition) for condition in each.values()] for each in filters]
    apart = (all(starmap(disjoint, product(*two))) for two in combinations(conditions, 2))
    return by_rows and len({basis.bound for basis in every}) == 1 and all(apart)


def charge_of(releases: Iterable[ReleasePlan], settings: PrivacySettings) -> PrivacyLoss:
    """What releases are charged together: the sums of ε and δ, ε at least the policy's floor; nothing for none."""
    releases = tuple(releases)
    epsilon = sum((r.epsilon for r in releases), Fraction(0))
    delta = sum((r.delta for r in releases), Fraction(0))
    return PrivacyLoss(max(epsilon, settings.min_epsilon) if epsilon else epsilon, delta)


def plan_query(query: Query, settings: PrivacySettings, *, epsilon: Fraction) -> Plan:
    """Split ε over the statement's releases, and each share over the bases of least total variance.

    A release whose SELECT asks for an ε of its own gets it, beside the statement's. What aggregates ask for is out of
    that of their SELECT, so of the statement's where it names none; the releases that are left share the rest equally.
    All together are charged, and must not exceed the policy's max_epsilon.
    """
    check_epsilon(settings, epsilon)
    asked = [_asked(release) for release in query.releases if not release.is_free]
    if not asked:
        listed = tuple(ReleasePlan(release, (), (), Fraction(0)) for release in query.releases)
        charge = charge_of(listed, settings)
        return Plan(listed, query.outer, query.public_tables, Fraction(0), charge, query.constants)
    sharing = asked.count(None)
    left = _left(query.releases, epsilon)
    share = left / sharing if sharing else Fraction(0)
    shares = [share if e is None else e for e in asked]
    epsilon = sum(shares, Fraction(0))
    check_epsilon(settings, min(shares))
    check_epsilon(settings, epsilon)
    deltas = _deltas(query.releases, settings)
    releases = tuple(
        plan_release(r, share if (own := _asked(r)) is None else own, delta, settings.mechanism)
        for r, delta in zip(query.releases, deltas, strict=True)
    )
    charge = charge_of(releases, settings)
    return Plan(releases, query.outer, query.public_tables, epsilon, charge, query.constants)


def _asked(release: ReleaseQuery) -> Fraction | None:
    """The ε that a release asks for: its own, or what its aggregates want; None: a share of the statement's."""
    own = release.own_epsilon
    if own is not None and release.epsilon is not None and own > release.epsilon:
        raise _too_much(own, f"their SELECT for {float(release.epsilon):g}", release)
    return release.epsilon if own is None else own


def _left(releases: Sequence[ReleaseQuery], epsilon: Fraction) -> Fraction:
    """What aggregates with an ε of their own leave of the statement's: they never make a statement cost more."""
    of_statement = [r for r in releases if r.epsilon is None and not r.is_free]
    wanting = [r for r in of_statement if r.own_epsilon is not None]
    own = sum((r.own_epsilon or Fraction(0) for r in wanting), Fraction(0))
    if own > epsilon or (own == epsilon and len(wanting) < len(of_statement)):
        rest = "" if own > epsilon else ", which leaves nothing for the other SELECTs"
        raise _too_much(own, f"the query for {float(epsilon):g}{rest}", wanting[0])
    return epsilon - own


def _too_much(own: Fraction, of: str, release: ReleaseQuery) -> InvalidParameter:
    return InvalidParameter(
        f"the aggregates ask for epsilon {float(own):g}, and {of}",
        hint=f"write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {float(own):g}) …, or ask for less in the "
        "aggregates",
        position=position_of(release.calls[0].text.node),
    )


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


# ---------------------------------------------------------------------------------------------- releases


class TooSmall(InvalidParameter):
    """An ε for which the noise of some sums would not fit an int64."""


def plan_release(query: ReleaseQuery, epsilon: Fraction, delta: Fraction, family: Family) -> ReleasePlan:
    """Bases, noise and shares of ε of one release. Raises UnsupportedQuery, InvalidParameter.

    Where the noise of a cube wouldn't fit, Laplace noise is taken: it does for a smaller ε.
    """
    if query.is_free:
        return ReleasePlan(query, (), (), Fraction(0))
    _check_size(query)
    try:
        return _planned(query, epsilon, delta, family)
    except TooSmall:
        if family == "laplace":
            raise
        return _planned(query, epsilon, delta, "laplace")


def _planned(query: ReleaseQuery, epsilon: Fraction, delta: Fraction, family: Family) -> ReleasePlan:
    counted = [c for c in query.calls if c.epsilon is None and _is_count_of_units(query, c)]
    weights = dict(zip(map(id, query.calls), weights_of(query), strict=True))
    sharing = tuple(c for c in query.calls if c.epsilon is None and c not in counted)
    layouts: list[tuple[Layout, tuple[Call, ...], Fraction]] = []
    for call in query.calls:
        if call.epsilon is not None:
            layouts.append((best_layout(replace(query, calls=(call,), weights=()), family), (call,), call.epsilon))
    left = epsilon - sum((e for *_, e in layouts), Fraction(0))
    if (sharing or query.private_keys) and left <= 0:
        asked = float(epsilon - left)
        rest = str(sharing[0].text) if sharing else "the selection of keys"
        raise InvalidParameter(
            f"aggregates that ask for an epsilon ask for {asked:g} of {float(epsilon):g}: nothing is left for {rest}",
            hint=f"ask for less in them, or for more than {asked:g} in all: "
            f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {2 * asked:g}) …",
            position=position_of(sharing[0].text.node) if sharing else None,
        )
    of_each = tuple(weights[id(call)] for call in sharing)
    shared = best_layout(replace(query, calls=sharing, weights=of_each), family) if sharing else None
    blocks = 0 if shared is None else len(shared.partitions)
    selection = _selection(query, left, delta, blocks) if query.private_keys else None
    bases: list[BasisPlan] = []
    if selection is not None:
        everyone = Measure(None, None)
        bound = ContributionBound(selection.groups)
        bases.append(BasisPlan(Basis.UNITS, everyone, NO_GRID, Basis.UNITS.parts(NO_GRID), bound, selection.epsilon))
        left -= selection.epsilon
    if shared is not None:
        layouts.append((shared, sharing, left))
    numbers: dict[int, NumberPlan] = {}
    for layout, calls, share in layouts:
        for call, source in zip(calls, layout.sources, strict=True):
            source = source.moved(len(bases))
            terms = tuple(map(terms_of, source.rows))
            numbers[id(call)] = NumberPlan(
                call, source.basis, source.way, source.counts, terms, source.ends, source.added
            )
        bases += _basis_plans(query, layout, share, 1 + max((b.block for b in bases), default=-1))
    _check_draws(query, bases)
    listed = tuple(numbers.get(id(call)) or NumberPlan(call, 0, UNIT_WAY) for call in query.calls)
    check_intervals(query, listed)
    return ReleasePlan(query, tuple(bases), listed, epsilon, selection)


def alternative(plan: ReleasePlan) -> ReleasePlan | None:
    """The same release by the other mechanisms, to compare with: with cube noise, or if it has that without.

    None where there is no other.
    """
    uses_cube = any(basis.mechanism is cube.MECHANISM for basis in plan.bases)
    found = plan_release(plan.query, plan.epsilon, plan.delta, "laplace" if uses_cube else "cube")
    return None if [b.mechanism for b in found.bases] == [b.mechanism for b in plan.bases] else found


def count_of(call: Call) -> Call:
    """The count of nothing but the rows that a number is computed from."""
    measure = Measure(None, call.measure.filter) if is_whole(call.measure) else call.measure
    return Call("count", measure, call.text)


def alone(plan: ReleasePlan, call: Call, epsilon: Fraction, family: Family) -> ReleasePlan:
    """The release of nothing but a number, by the same groups."""
    call = replace(call, epsilon=None, levels=())
    query = replace(plan.query, calls=(call,), intervals=(), weights=(), epsilon=None)
    return plan_release(query, epsilon, Fraction(0), family)


def _check_size(query: ReleaseQuery) -> None:
    if len(query.intervals) > MAX_CALLS:
        raise UnsupportedQuery(f"the query has more than {MAX_CALLS} intervals", hint="ask several queries")
    if (len(query.calls) + 2 * len(query.intervals)) * query.cells > MAX_NUMBERS:
        raise UnsupportedQuery(
            f"{len(query.calls)} aggregates and {len(query.intervals)} intervals for {query.cells} groups make too "
            f"many numbers (over {MAX_NUMBERS})",
            hint="group by fewer or coarser keys, or ask for fewer aggregates",
        )


MAX_DRAWS = 2**26
"""Geometrics that the choices of a release draw, or what takes as long: some seconds. As many rows may come from the
engine."""
LEAST_DRAWS, LEAST_TOGETHER = 2**9, 2**3
"""A choice takes as long as so many, however few candidates it has: one of a recursion, and one that is made for many
groups together."""
LEAST_DRAWS_OF_CUT = 2**12
"""So does a choice of a recursion that others follow."""


def draws_of_group(bases: Iterable[BasisPlan]) -> int:
    """How many geometrics the choices in one group draw, at most."""
    return sum(_draws(basis.candidates) for basis in bases if basis.candidates is not None)


def _draws(candidates: Candidates) -> int:
    """One for each candidate of each choice."""
    mechanism = candidates.mechanism
    if isinstance(mechanism, LadderEnd):
        return max(len(mechanism.rungs), LEAST_TOGETHER)
    cuts = mechanism.cuts if isinstance(mechanism, Quantiles) else 0
    single, least = len(mechanism.names) - cuts, LEAST_DRAWS if cuts else LEAST_TOGETHER
    return single * max(candidates.count, least) + cuts * max(candidates.count, LEAST_DRAWS_OF_CUT)


def _check_draws(query: ReleaseQuery, bases: Sequence[BasisPlan]) -> None:
    if query.cells * draws_of_group(bases) > MAX_DRAWS:
        raise UnsupportedQuery(
            f"quantiles, MIN and MAX in {query.cells} groups take too long",
            hint="group by fewer or coarser keys, or ask for fewer of them",
        )


def check_intervals(query: ReleaseQuery, numbers: Sequence[NumberPlan]) -> None:
    """Refuse intervals that a query asks for of numbers that have none."""
    for asked, _ in query.intervals:
        arithmetic = isinstance(asked, exp.Expr)
        for number in numbers_in(asked) if isinstance(asked, exp.Expr) else (asked,):
            call, way = numbers[number].call, numbers[number].way
            if not (way.has_noise if arithmetic else way.has_interval):
                raise UnsupportedQuery(
                    f"the interval of {'arithmetic on ' * arithmetic}{call.text} isn't known",
                    hint=_interval_hint(query, call, arithmetic=arithmetic),
                    position=position_of(call.text.node),
                )


def _interval_hint(query: ReleaseQuery, call: Call, *, arithmetic: bool) -> str:
    if call.choice is None or arithmetic:
        return "intervals are known of COUNT, SUM, AVG, VARIANCE and STDDEV, and of arithmetic on these"
    if call.choice.fraction is None:
        known = f"about how many rows lie beyond it is known: EXPLAIN SELECT {call.text} FROM {query.rows.name}"
        near = 0.01 if call.choice.smallest else 0.99
        name = "QUANTILE_DISC" if call.sql_type in TEMPORAL.values() else "QUANTILE_CONT"
        return f"{known}; {name}(x, {near}) has an interval, with OPTIONS(quantile_intervals = true)"
    return "have its ends chosen too: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(quantile_intervals = true) …"


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


def _selection(query: ReleaseQuery, epsilon: Fraction, delta: Fraction, blocks: int) -> KeySelection:
    """The selection of a release's private keys: for as much ε as each block, unless the query says otherwise."""
    rows, asked = query.rows, query.selection
    assert rows.bound is not None
    if rows.unit is None and rows.bound.rows > 1:  # a row that counts twice for a key is seen too easily
        raise UnsupportedQuery(
            "the query repeats rows and groups them by keys that aren't public",
            hint="group each side of UNION ALL in a subquery, then combine the results",
        )
    groups = rows.bound.rows if rows.unit is None or rows.groups[0] is None else min(rows.groups[0], rows.bound.rows)
    share = epsilon / (1 + blocks) if asked.epsilon is None or not blocks else asked.epsilon
    if blocks and share >= epsilon:
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


# ---------------------------------------------------------------------------------------------- grids


MOST_CELLS = 2**19
"""Of the grids of all groups together, where values are chosen: noise is drawn for each of them."""
LEAST_CELLS = 2**12
"""Of each group, if its values allow, however many groups there are."""
FINE_CELLS, DOUBLE_CELLS = 2**19, 2**16 - 1
"""The most cells of one group: of whole numbers, and such as have a grain; of other doubles."""


def _choosing(plan: BasisPlan, block: Block, query: ReleaseQuery) -> BasisPlan:
    """The basis with its candidates.

    Extremes are chosen on the grid of the values' type, in ranges of its cells; quantiles on one of as many cells as
    may be, by the number of declared groups: of groups that are found in the data none is known.
    """
    argument = plan.measure.argument
    assert argument is not None
    if not plan.grid.cells:  # a constant: one cell more, which clipping takes it out of again
        plan = replace(plan, grid=Grid(plan.grid.lower, Fraction(1), 1))
    extreme = next((c for c in block.choices if c.fraction is None), None)
    total, epsilon = plan.bound.total, plan.epsilon
    if extreme is not None:
        most = EVEN_CELLS if extreme.even else MAX_DOUBLE_CELLS
        grid = next(grid for grid in _grids(plan) if grid.cells <= most or grid.magnitude <= 1)
        starts = () if extreme.even or grid.cells <= FEW_CELLS else ladder(grid.low_steps, grid.cells)
        mechanism = Extreme(extreme.smallest, len(starts) or grid.cells + 1, total, epsilon, finer(total))
        candidates = Candidates(mechanism, grid, starts)
    else:
        groups = MOST_CELLS // LEAST_CELLS if query.private_keys else query.cells
        finest = DOUBLE_CELLS if argument.kind is Kind.DOUBLE and argument.set.grain is None else FINE_CELLS
        most = min(max(MOST_CELLS // groups, LEAST_CELLS), finest)
        grid = next(grid for grid in _grids(plan) if grid.cells <= most or grid.magnitude <= 1)
        fractions = tuple(c.fraction for c in block.choices if c.fraction is not None)
        if (end := block.choices[0].end) is not None:
            aim = LadderEnd(fractions[0], end[0] == "upper", end[1], grid.cells, total, epsilon)
            candidates = Candidates(aim, grid)
        else:
            candidates = Candidates(Quantiles(fractions, total, epsilon), grid)
    if not permute_and_flip.fits(candidates.mechanism.scales):
        raise _too_small(plan)
    return replace(plan, grid=grid, candidates=candidates)


def _basis_plans(query: ReleaseQuery, layout: Layout, epsilon: Fraction, first: int) -> list[BasisPlan]:
    """The bases of a layout, whose blocks are numbered from `first` on and share ε.

    Those whose sums are added have one grid, on which the noise of all fits.
    """
    found: list[BasisPlan] = []
    for index, (block, share) in enumerate(zip(layout.blocks, layout.shares(), strict=True)):
        planned = [
            BasisPlan(
                basis, measure, grid_of(measure), (), block.bound, share * epsilon,
                block.mechanism, first + index, block.sums, block.moved(first).part,
            )
            for basis, measure in block.bases
        ]  # fmt: skip
        if block.choices:
            found += [_choosing(plan, block, query) for plan in planned]
        else:
            found += _on_one_scale(planned) if block.mechanism is cube.MECHANISM else map(_fitted, planned)
    for together in dict.fromkeys((source.basis, *source.added) for source in layout.sources if source.added):
        least = min((found[index] for index in together), key=lambda plan: plan.epsilon)
        if least.mechanism is cube.MECHANISM:
            if any(found[index].grid != least.grid for index in together):
                raise _too_small(least)
            continue  # their parts are on the scales of their blocks
        for index in together:
            found[index] = replace(found[index], grid=least.grid, parts=least.parts)
    return found


def _with_grid(plan: BasisPlan, grid: Grid) -> BasisPlan:
    return replace(plan, grid=grid, parts=plan.basis.parts(grid))


def _grids(plan: BasisPlan) -> Iterator[Grid]:
    """The grids of a basis's measure, coarser by powers of two each, on which indices and sums fit their types.

    What is added up is w·i. A measure of no grid has but one.
    """
    argument, grid = plan.measure.argument, plan.grid
    if argument is None or not grid.cells:
        yield grid
        return
    limit = MAX_CELLS // plan.bound.steps
    if argument.kind is Kind.DOUBLE:
        limit = min(limit, MAX_DOUBLE_CELLS)
    if plan.basis in SQUARED:
        limit = min(limit, math.isqrt(MAX_CELLS // plan.bound.steps))
    lower, upper = Fraction(argument.set.bounds.lower), Fraction(argument.set.bounds.upper)
    grain = grid.grain
    while True:
        grid = widened(lower, upper, grain)
        if grid.cells <= limit:
            yield grid
        if grid.magnitude <= 1:
            return
        grain *= 2


def _too_small(plan: BasisPlan) -> TooSmall:
    return TooSmall(
        f"an epsilon of {float(plan.epsilon):g} is too small for {plan.bound.rows} rows of one unit",
        hint="ask for a larger epsilon",
    )


def _fitted(plan: BasisPlan) -> BasisPlan:
    """The basis on the finest grid on which its noise fits, in its own steps or in as large ones as may be."""
    for grid in _grids(plan):
        found = _with_grid(plan, grid)
        for parts in (found.parts, tuple(part.primitive for part in found.parts)):
            if plan.mechanism.fits(max(found.scale(part) for part in parts), plan.sums):
                return replace(found, parts=parts)
    raise _too_small(plan)


def _on_one_scale(plans: Sequence[BasisPlan]) -> list[BasisPlan]:
    """The bases of a cube, each part a whole multiple of its primitive one, so that all have one unit, which fits.

    Where the unit is M and a primitive part's own is m, its multiple is M // m: a row then adds at most M to it. M is a
    multiple of the largest m, for which no other part falls short of it by more than a thousandth; so nothing need
    divide anything. Where the noise wouldn't fit, the basis of the largest m goes to a coarser grid.
    """
    grids = [_grids(plan) for plan in plans]
    fitted = [_with_grid(plan, next(grid)) for plan, grid in zip(plans, grids, strict=True)]
    one = plans[0]

    def fits(unit: int) -> bool:
        return one.mechanism.fits(unit * one.bound.total / one.epsilon, one.sums)

    own = [[part.primitive.unit for part in plan.parts] for plan in fitted]
    while True:
        units = list(map(max, own))
        least = max(1, math.ceil(STEPS_OF_CUBE * one.epsilon / (max(units) * one.bound.total)))
        if fits(max(units) * least):  # else no larger multiple does, and none is looked for
            unit = max(units) * _multiple({unit for each in own for unit in each}, least)
            if fits(unit):
                return [replace(plan, parts=tuple(part.on_unit(unit) for part in plan.parts)) for plan in fitted]
        widest = units.index(max(units))
        coarser = next(grids[widest], None)
        if coarser is None:
            raise _too_small(one)
        fitted[widest] = _with_grid(fitted[widest], coarser)
        own[widest] = [part.primitive.unit for part in fitted[widest].parts]


def _multiple(units: Collection[int], least: int) -> int:
    """The smallest whole number, at least `least`, by which the largest unit is nearly a multiple of each.

    What is so small that any multiple is good enough needn't be looked at; at the latest that is so of all.
    """
    largest, k = max(units), least
    few, many = FINEST_UNEVEN.as_integer_ratio()
    coarse = [unit for unit in units if unit * many > few * largest * k]
    while any(largest * k % unit * many > few * largest * k for unit in coarse):
        k += 1
    return k
