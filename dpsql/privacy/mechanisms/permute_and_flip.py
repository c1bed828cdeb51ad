"""Choosing one of many public candidates: permute-and-flip, exact; quantiles and extremes by it.

**The mechanism.** Candidate i has an integer score -d_i <= 0, and of two neighbouring databases the scores of one
candidate differ by at most D. Flip a coin for each candidate that shows heads with probability exp(-(d_i - min d) / b),
b = 2 D / epsilon, and choose uniformly among those that showed heads. There is one: the best shows heads for certain.
This is the mechanism of McKenna and Sheldon ("Permute-and-Flip: a new mechanism for differentially private selection",
NeurIPS 2020), who go through the candidates in random order and take the first that shows heads: a uniform choice.
Its expected error is never above that of the exponential mechanism, and up to a half below it.

**Its privacy.** Let G_i be independent geometrics, P(G_i >= t) = exp(-t / b) for whole t >= 0: the coin of i is heads
where G_i >= d_i - min d. Given that it does, G_i - (d_i - min d) is again such a geometric (it has no memory), the same
for all of them. So the choice has the law of the candidate of the greatest G_i - d_i, ties broken by an order that is
drawn beforehand without looking at the data. For any such order and any values of the others' noise, i is chosen where
G_i >= t for a whole number t, the largest of the others' sums plus d_i, plus 1 where the order is against i. From one
database to its neighbour t moves by at most 2 D, and P(G_i >= t + 2 D) >= exp(-2 D / b) P(G_i >= t) = exp(-epsilon)
P(G_i >= t). So the choice is epsilon-differentially private. A unit that moves the scores by s D only, s <= 1, costs
s epsilon: over several groups or ranges, of which a unit has weights that add up to its bound, these costs add up to
at most epsilon, whatever each group's share. Scores must not be rounded for that: a step would cost a whole step in
each group.

**Exact.** A coin is a comparison of whole numbers with an exact geometric (`dpsql.privacy.mechanisms.laplace`). One
geometric is drawn for each candidate, whatever the scores are.

**Quantiles.** The candidates are the cells of a public grid, in each of which the rows are counted (at unit level their
weights are added up). The quantile of the fraction q = a / b lies in cell c exactly if at most q n rows lie below,
and at least q n do with the cell's own, n being all rows. How far c is from that, in rows, times b, is

    d_c = max(0, b below - a n, a n - b (below + equal)).

One row more in a cell adds one of -a, b - a, a - b, a to either difference, so D = max(a, b - a) of a row, times the
bound of a unit's rows. (Smith, "Privacy-preserving statistical estimation with optimal convergence rates", STOC 2011,
with the exponential mechanism.)

**Several quantiles** are chosen by recursion (Kaplan, Schnapp, Stemmer, "Differentially private approximate quantiles",
ICML 2022): the middle one first; those below it then are quantiles of the rows below, those above it of the rows above.
A row is on one side, so that a level costs no more than one choice, and m quantiles have ceil(log2(m + 1)) levels.

Many rows may lie in the very cell that is chosen, so it is chosen together with how many of them count as below: a cut
(c, u) of the cell c, with the share u of its E_c rows below, 0 <= u < 1, by the exponential mechanism
(`dpsql.privacy.mechanisms.exponential`) with the distance

    d(c, u) = max(d_c, |b (below + floor(E_c u)) - a n| - slack)

and all of the level's epsilon. That is as if the rows of a cell were spread evenly over it, and cut by a continuous
value. With many rows of one value, beside a gap of many cells, hardly any of that value's cuts are near the rank: the
slack, as much as the scale, makes twice as many of them count in full, for cuts that are hardly worse.

A unit whose rows weigh w_c in cell c, W in all, adds Σ of w over the cells before c to `below`, and to floor(E_c u)
between 0 and w_c: floor((E + w) u) <= floor(E u) + w for u < 1. So b (below + floor(E_c u)) - a n moves by between -a W
and (b - a) W, either part of d(c, u) by D W at most and so the greater of them: each density, with what it is divided
by, by a factor of exp(2 D W / scale) at most. What the unit adds to the two sides, given c and u, are rows of weights
that add up to W. So from level to level two neighbouring databases still differ by no more than one unit's rows, in all
ranges together, and since a loss is in proportion to W, a level costs no more than one choice among all rows.

**Two quantiles** need two levels either way, and are chosen among all rows each, for half of epsilon: nothing is spent
on sharing rows, and neither has the other's error. Their losses add up. They are put in order afterwards, which looks
at nothing but what was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsql.privacy.interval import laplace_sum_half_width
from dpsql.privacy.mechanisms.exponential import Cuts
from dpsql.privacy.mechanisms.laplace import fits_int64

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpsql.privacy.noise import NoiseSource

    Counts = npt.NDArray[Any]
    """Of rows or weights per cell: int64, or Python integers where some don't fit."""

NAME = "permute-and-flip"
MOST_ROWS = 2**30
"""So many rows, of a unit's bound each, are thought of where a bound for any data hangs on the logarithm of how many
there are."""
FINEST = 10**6
"""The largest denominator of a fraction: others are moved to the nearest, which is less than a millionth away."""
CERTAINTY = Fraction(1, 20)
"""How likely it is, at most, that nothing lies beyond an extreme."""
INWARD = 8
"""By how many b, in rows, candidates for an extreme are worse the further out they are, from the first to the last.

With 1,000 ages or incomes and an ε of 1 it takes about 20 % off the error, with 50 still 10 %."""
INT64_MAX = 2**63 - 1


def fits(scales: Sequence[Fraction]) -> bool:
    """Whether the noise of each choice fits an int64."""
    return all(map(fits_int64, scales))


def nearest(fraction: Fraction) -> Fraction:
    """The fraction with a denominator that scores can be multiplied by; above 0 and below 1, as it was."""
    least = Fraction(1, FINEST)
    return min(max(fraction.limit_denominator(FINEST), least), 1 - least)


def choose(distances: Counts, scale: Fraction, noise: NoiseSource) -> int:
    """The index of a candidate, by permute-and-flip: `distances` are whole numbers, the least is the best.

    `scale` is 2 D / epsilon, where one unit moves each distance by at most D.
    """
    return int(choose_each(distances[None, :], scale, noise)[0])


def choose_each(distances: Counts, scale: Fraction, noise: NoiseSource) -> npt.NDArray[np.int64]:
    """The same for each row of an array, one by one: every candidate of each has a coin of its own."""
    beyond = distances - distances.min(axis=1, keepdims=True)
    if beyond.dtype == object:  # no geometric is above that
        beyond = np.minimum(beyond, INT64_MAX).astype(np.int64)
    heads = noise.geometric(scale, beyond.size).reshape(beyond.shape) >= beyond
    showing = np.count_nonzero(heads, axis=1)
    first = np.cumsum(showing) - showing
    chosen: npt.NDArray[np.int64] = np.flatnonzero(heads)[first + noise.below(showing)] % beyond.shape[1]
    return chosen


def _wide(counts: Counts, factor: int) -> Counts:
    """The counts in a type in which their sum, of each row if there are some, times the factor, doesn't overflow."""
    if counts.dtype == object or not counts.size:
        return counts
    if int(counts.max()) * counts.shape[-1] * 2 * factor <= INT64_MAX:
        return counts
    exact = counts.astype(object)
    return counts if int(np.max(exact.sum(axis=-1))) * 2 * factor <= INT64_MAX else exact


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Several quantiles of one measure's values: of the given fractions, above 0 and below 1, in ascending order.

    bound    how much all rows of a unit weigh together, in steps of the counts
    epsilon  of all of them together
    """

    fractions: tuple[Fraction, ...]
    bound: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        if not self.fractions or sorted(set(self.fractions)) != list(self.fractions) or self.bound < 1:
            raise ValueError("quantiles have fractions in ascending order, and a bound from 1")
        if not all(0 < f < 1 for f in self.fractions) or self.epsilon <= 0:
            raise ValueError("fractions lie above 0 and below 1, and epsilon above 0")

    @property
    def names(self) -> tuple[str, ...]:
        """Of what is chosen: the fractions as text."""
        return tuple(map(str, self.fractions))

    @property
    def loss(self) -> Fraction:
        """The privacy loss, from the scales that choices are made with: of each recursion the largest sum along a way
        down.
        """
        return sum(map(self._loss, _roots(self.fractions, self.epsilon)), Fraction(0))

    def _loss(self, node: _Node | None) -> Fraction:
        if node is None:
            return Fraction(0)
        own = 2 * _sensitivity(node.fraction) * self.bound / self._scale(node)
        return own + max(self._loss(node.below), self._loss(node.above))

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """Of each choice that is made in a group: 2 D / its epsilon."""
        return tuple(map(self._scale, self._all))

    @property
    def cuts(self) -> int:
        """How many of the choices are followed by others, on both sides of where the rows are cut."""
        return sum(not node.is_leaf for node in self._all)

    @property
    def _all(self) -> Iterator[_Node]:
        return (node for root in _roots(self.fractions, self.epsilon) for node in _nodes(root))

    def _scale(self, node: _Node) -> Fraction:
        return 2 * _sensitivity(node.fraction) * self.bound / node.epsilon

    def _in_rank(self, node: _Node) -> float:
        """The scale of a choice's error in rank, in steps of the counts."""
        return float(self._scale(node) / node.fraction.denominator)

    def usual_rank_half_width(self, fraction: Fraction, level: Fraction | float) -> float:
        """How far from its rank a quantile is at most in `level` of all releases, about, where values lie close by;
        in steps of the counts.

        The error in rank of one choice then has about the tail exp(-w / scale), scale = 2 D / (b epsilon) (PROOFS W1).
        Where its range ends at quantiles that were chosen before, their errors move it in proportion.
        """
        depth = len(self.fractions).bit_length()
        lower, upper, own = ([0.0] * depth for _ in range(3))
        for level_, node in enumerate(self._way(fraction)):
            place = float(node.fraction)
            own = [place * u + (1 - place) * low for low, u in zip(lower, upper, strict=True)]
            own[level_] = self._in_rank(node)
            lower, upper = (lower, own) if fraction < node.of else (own, upper)
        return laplace_sum_half_width(own, level)

    def rank_half_width(self, fraction: Fraction, level: Fraction | float, cells: int) -> float:
        """How far from its rank a quantile is at most in `level` of all releases, whatever the data.

        A choice among m candidates misses the best by no more than scale ln(m / alpha) but for the probability alpha:
        where a wide gap lies beside many rows of one value, each of its cells may be chosen instead. A cut at its best
        lies in one of that value's rows, beside m whole cells. Of E rows in the cell, E / 2 at least lie on one side of
        the rank: with y = b E / scale these weigh Σ exp(-b i / scale) / E >= exp(-b / scale) (1 - exp(-y / 2)) / y, i
        from 1 to E / 2, and those at a distance of more than b w m exp(-b w / scale) at most. That is alpha times as
        much for w = 1 + scale / b ln(m y / (alpha (1 - exp(-y / 2)))), which grows with E by its logarithm. No cut is
        further from its rank than that and the slack.
        """
        roots = _roots(self.fractions, self.epsilon)
        if len(roots) > 1:  # after they are put in order each is as near as the farther one was, or nearer
            return max(map(self._in_rank, roots)) * math.log(cells * len(roots) / (1 - float(level)))
        lower = upper = own = 0.0
        miss = (1 - float(level)) / len(self.fractions).bit_length()  # of each choice on the way
        for node in self._way(fraction):
            place, scale = float(node.fraction), self._in_rank(node)
            own = place * upper + (1 - place) * lower + scale * math.log(cells / miss)
            if not node.is_leaf:
                y = MOST_ROWS * self.bound / scale
                own += 1 + scale * math.log(y / -math.expm1(-y / 2))
            end = own + scale  # with the slack
            lower, upper = (lower, end) if fraction < node.of else (end, upper)
        return own

    def _way(self, fraction: Fraction) -> Iterator[_Node]:
        """The choices from the first one to that of a fraction."""
        roots = _roots(self.fractions, self.epsilon)
        node: _Node | None = next((root for root in roots if root.of == fraction), roots[0])
        while node is not None:
            yield node
            if fraction == node.of:
                return
            node = node.below if fraction < node.of else node.above

    def choose(self, counts: Counts, noise: NoiseSource) -> tuple[int, ...]:
        """The cell of each quantile, in order, from the number of rows in each cell of one group."""
        found: dict[Fraction, int] = {}
        open_: list[tuple[_Node, int, Counts]] = [(root, 0, counts) for root in _roots(self.fractions, self.epsilon)]
        while open_:
            node, first, within = open_.pop()
            within = _wide(within, node.fraction.denominator)
            below = np.cumsum(within) - within
            total = int(within.sum())
            a, b = node.fraction.as_integer_ratio()
            if node.is_leaf:
                distances = _distances(below, below + within, a * total, b)
                found[node.of] = first + choose(distances, self._scale(node), noise)
                continue
            scale = self._scale(node)
            chosen, lower = noise.cut(Cuts(b * below - a * total, within, b, slack=int(scale)), scale)
            found[node.of] = first + chosen
            if node.below is not None:
                open_.append((node.below, first, _ending(within[: chosen + 1], -1, lower)))
            if node.above is not None:
                rest = int(within[chosen]) - lower
                open_.append((node.above, first + chosen, _ending(within[chosen:], 0, rest)))
        return tuple(sorted(found.values()))

    def choose_each(self, counts: Counts, noise: NoiseSource) -> npt.NDArray[np.int64]:
        """The same for several groups, each a row of the counts; of each quantile a row."""
        roots = _roots(self.fractions, self.epsilon)
        if all(root.is_leaf for root in roots):
            return np.sort([self._leaf(root, counts, noise) for root in roots], axis=0)
        return np.array([self.choose(group, noise) for group in counts], dtype=np.int64).T

    def _leaf(self, node: _Node, counts: Counts, noise: NoiseSource) -> npt.NDArray[np.int64]:
        """The cell of a quantile in each group, where no other is looked for around it."""
        a, b = node.fraction.as_integer_ratio()
        counts = _wide(counts, b)
        through, rank = np.cumsum(counts, axis=1), a * counts.sum(axis=1, keepdims=True)
        return choose_each(_distances(through - counts, through, rank, b), self._scale(node), noise)


def _ending(counts: Counts, place: int, value: int) -> Counts:
    """A copy with another count at one end."""
    counts = counts.copy()
    counts[place] = value
    return counts


def _distances(below: Counts, through: Counts, rank: int | Counts, b: int) -> Counts:
    """How far from a rank each candidate is, below which and up to which so many rows lie; b times, as the rank is."""
    found: Counts = np.maximum(np.maximum(b * below - rank, rank - b * through), 0)
    return found


def _sensitivity(fraction: Fraction) -> int:
    """D for one row: see the module."""
    a, b = fraction.as_integer_ratio()
    return max(a, b - a)


@dataclass(frozen=True, slots=True)
class _Node:
    """One choice of the recursion.

    of        the fraction of all rows that it is the quantile of
    fraction  the fraction of the rows in its range
    epsilon   of the choice
    """

    of: Fraction
    fraction: Fraction
    epsilon: Fraction
    below: _Node | None
    above: _Node | None

    @property
    def is_leaf(self) -> bool:
        return self.below is None and self.above is None


@lru_cache(maxsize=256)
def _tree(
    fractions: tuple[Fraction, ...], epsilon: Fraction, start: Fraction = Fraction(0), end: Fraction = Fraction(1)
) -> _Node:
    """The choices that give these quantiles, of the rows between the fractions `start` and `end` of all.

    Each way down has `epsilon` together; what is chosen last on its way has all that is left of it. Kept, since each
    group has the same.
    """
    middle = len(fractions) // 2
    of, levels = fractions[middle], len(fractions).bit_length()
    lower, upper = fractions[:middle], fractions[middle + 1 :]
    share = epsilon / levels
    left = epsilon - share
    return _Node(
        of,
        nearest((of - start) / (end - start)),
        share,
        _tree(lower, left, start, of) if lower else None,
        _tree(upper, left, of, end) if upper else None,
    )


@lru_cache(maxsize=256)
def _roots(fractions: tuple[Fraction, ...], epsilon: Fraction) -> tuple[_Node, ...]:
    """The first choices, each among all rows: of one recursion, but for two quantiles, which are chosen apart."""
    if len(fractions) == 2:
        return tuple(_tree((fraction,), epsilon / 2) for fraction in fractions)
    return (_tree(fractions, epsilon),)


def _nodes(node: _Node) -> Iterator[_Node]:
    yield node
    for child in (node.below, node.above):
        if child is not None:
            yield from _nodes(child)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The smallest or the greatest of the values, nearly: a value beyond which about `rows` rows lie.

    The extreme itself is one row's value, so the value is looked for up to which the r-th row from the end lies. With
    `beyond` rows in the cells beyond a candidate's and `equal` in its own, its distance is that of r from the interval
    between those strictly beyond it and those at or beyond it,

        d = max(0, beyond - r, r - (beyond + equal)):

    a value that many rows share is the best where the r-th is among them, however many they are. One row more adds its
    weight to both numbers of rows, to `beyond + equal` alone, or to neither; r is fixed. So a unit whose rows weigh w
    together moves each distance by at most w <= bound: D = bound, and over several groups the costs of its weights
    add up to at most epsilon, as they do for quantiles.

    Each of the m candidates pays b t / m more than the one inside of it, whatever the data (t = INWARD). A candidate of
    the distance s, j further out than one with the distance 0, as there is where there are r rows, is chosen with a
    probability of exp(-s / b - j t / m) at most. So with r = b ln(m / (t p)) those beyond all rows, s = r, are chosen
    with the probability p at most, all of them together, since the sum of exp(-j t / m) is below m / t: bounds that are
    much too wide don't show. Without that payment r were b ln(m / p). A candidate further in gains b t at most by it,
    in rows, and less the nearer it is.

    smallest  whether it is the smallest
    cells     how many candidates there are
    bound, epsilon  as of `Quantiles`
    fine      how many steps of a distance make one of the counts: what candidates pay is less than a row each
    """

    smallest: bool
    cells: int
    bound: int
    epsilon: Fraction
    fine: int

    def __post_init__(self) -> None:
        if self.cells < 1 or self.bound < 1 or self.epsilon <= 0 or self.fine < 1:
            raise ValueError("an extreme has candidates, a bound from 1, and epsilon above 0")

    @property
    def names(self) -> tuple[str, ...]:
        return ("smallest" if self.smallest else "greatest",)

    @property
    def loss(self) -> Fraction:
        return 2 * self.bound * self.fine / self.scale

    @property
    def scales(self) -> tuple[Fraction, ...]:
        return (self.scale,)

    @property
    def scale(self) -> Fraction:
        """b, in steps of distances."""
        return 2 * self.bound * self.fine / self.epsilon

    @property
    def beyond(self) -> Fraction:
        """r: about how many rows lie beyond, in steps of the counts; fewer where many share a value."""
        return Fraction(self._rank, self.fine)

    @property
    def _rank(self) -> int:
        """r in steps of distances, of which what is paid is rounded to one at most."""
        least = float(self.scale) * math.log(self.cells / (INWARD * float(CERTAINTY)))
        return max(math.ceil(least) + 1, self.fine)

    def choose(self, counts: Counts, noise: NoiseSource) -> tuple[int, ...]:
        """The cell in which about that row from the end lies, from the number of rows in each cell of one group."""
        return tuple(self.choose_each(counts[None, :], noise)[:, 0].tolist())

    def choose_each(self, counts: Counts, noise: NoiseSource) -> npt.NDArray[np.int64]:
        """The same for several groups, each a row of the counts; in one row."""
        if self.smallest:
            counts = counts[:, ::-1]
        counts = _wide(counts, self.fine) * self.fine
        beyond = counts.sum(axis=1, keepdims=True) - np.cumsum(counts, axis=1)
        distances = _distances(beyond, beyond + counts, self._rank, 1) + _paid(self.scale, self.cells)
        chosen = choose_each(distances, self.scale, noise)[None, :]
        return counts.shape[1] - 1 - chosen if self.smallest else chosen


@lru_cache(maxsize=64)
def _paid(scale: Fraction, cells: int) -> npt.NDArray[np.int64]:
    """What each candidate for an extreme pays, in steps of distances, from the innermost one outward."""
    of_all, each = (INWARD * scale).as_integer_ratio()
    return np.array([place * of_all // (each * cells) for place in range(cells)], dtype=np.int64)


@lru_cache(maxsize=64)
def _rungs(cells: int) -> tuple[int, ...]:
    """0, 1 and the powers of the root of 2 that lie above, rounded up, to the first that leads out of the grid."""
    found, power = [0, 1], 1
    while found[-1] <= cells:
        power *= 2
        rung = math.isqrt(power - 1) + 1
        if rung > found[-1]:
            found.append(rung)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class LadderEnd:
    """An end of an interval that holds the exact quantile, in at least `level` of all releases, whatever the data.

    The lower end is a quantile as well, of a rank that is s rows less than that of the one in question (Drechsler et
    al., "Nonparametric differentially private confidence intervals for the median", 2022, aim the ends likewise). It is
    chosen once the quantile itself is, and known: no higher than that, on a ladder that leads down from it. Each rung
    is a range of cells and stands for its outer end; the first is all from the quantile on upward, the last ends beyond
    the grid. So for any data the rank lies in one rung, whose distance is 0. A rung that lies above the exact quantile
    has all rows below it that the quantile has, so its distance is b s at least.

    Each rung pays scale ln 2 less than the one inside of it, whatever the data. So the j-th rung above that of the rank
    is chosen with a probability of exp(-b s / scale) / 2^j at most, and all those that are too high together with
    exp(-b s / scale). Only where the chosen quantile is above the exact one there are such, and only where it is below
    that the upper end, the mirror image, can be too low. So of the two no more than one can fail, and
    b s = scale ln(1 / (1 - level)) will do for both.

    Privacy: of the second of two choices, the first being known (adaptive composition). What a rung pays, and where the
    rungs are, is the same for all databases, so distances move as those of a quantile do.

    around  the quantile that was chosen, of each group
    """

    fraction: Fraction
    upper: bool
    level: Fraction
    cells: int
    bound: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        if not (0 < self.fraction < 1 and 0 < self.level < 1) or self.cells < 0 or self.bound < 1 or self.epsilon <= 0:
            raise ValueError("an end has a fraction and a level below 1, cells, a bound from 1, and epsilon above 0")

    @property
    def names(self) -> tuple[str, ...]:
        return (end_name(self.fraction, "upper" if self.upper else "lower", self.level),)

    @property
    def loss(self) -> Fraction:
        return 2 * _sensitivity(self.fraction) * self.bound / self.scale

    @property
    def scales(self) -> tuple[Fraction, ...]:
        return (self.scale,)

    @property
    def scale(self) -> Fraction:
        return 2 * _sensitivity(self.fraction) * self.bound / self.epsilon

    @property
    def rungs(self) -> tuple[int, ...]:
        """How far their outer ends are from the quantile, in cells."""
        return _rungs(self.cells)

    @property
    def shift(self) -> int:
        """b s: see above."""
        return math.ceil(float(self.scale) * -math.log(1 - self.level))

    def choose(self, counts: Counts, noise: NoiseSource, around: int) -> tuple[int, ...]:
        """The cell of the end; one that lies outside of the grid stands for the end of the bounds."""
        return tuple(self.choose_each(counts[None, :], noise, np.array([around]))[:, 0].tolist())

    def choose_each(self, counts: Counts, noise: NoiseSource, around: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The same for several groups, each a row of the counts; in one row."""
        last = counts.shape[1] - 1
        a, b = self.fraction.as_integer_ratio()
        if self.upper:  # seen from above
            counts, around, a = counts[:, ::-1], last - around, b - a
        counts = _wide(counts, b)
        sums = np.hstack((np.zeros_like(counts[:, :1]), np.cumsum(counts, axis=1)))
        ends = np.maximum(around[:, None] - np.array(self.rungs), -1)
        outermost, rung = np.argmax(ends < 0, axis=1)[:, None], np.arange(ends.shape[1])
        below, total = np.take_along_axis(sums, np.maximum(ends, 0), axis=1), sums[:, -1:]
        through, rank = np.hstack((total, below[:, :-1])), a * total - self.shift
        inside = _distances(below, through, rank, b)
        distances = np.where(rung < outermost, inside, np.maximum(rank - b * through, 0))
        distances += np.maximum(outermost - rung, 0) * math.ceil(float(self.scale) * math.log(2))
        distances[rung > outermost] = INT64_MAX  # there are none
        chosen = choose_each(distances, self.scale, noise)[:, None]
        cells = np.take_along_axis(ends, chosen, axis=1).T
        return last - cells if self.upper else cells


def end_name(fraction: Fraction, end: str, level: Fraction | float) -> str:
    """Of an end, among what is chosen for a measure."""
    return f"{fraction} {end} {float(level)!r}"
