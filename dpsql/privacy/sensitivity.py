"""How far one privacy unit moves the exact sums of a basis: the one place where sensitivity is worked out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

WEIGHT = 2**20
"""The weight of a row that counts in full, where rows are weighted."""


@dataclass(frozen=True, slots=True)
class ContributionBound:
    """How much the rows of one unit count together, over all groups: as much as `rows` rows that count in full.

    Either no unit has more rows than that, by the structure of what is read, or they are `weighted`: a unit with n
    rows gives each the integer weight w = rows·2^20 // max(n, rows) and counts w·x where a row alone counts x. Since
    n·w ≤ rows·2^20, the contributions of a unit add up to at most rows·2^20·max|x|, for any norm, any number of groups
    and any filters of single aggregates, as long as n counts at least the rows that are added up (PROOFS, "Verified
    right"). Units with at most `rows` rows have the weight 2^20 and lose nothing.
    """

    rows: int
    weighted: bool = False
    groups: int | None = None
    """Where given, rows are weighted by groups: as many groups of a unit count in full, with rows/groups rows each.

    A row's weight is then (w1·w2) // 2^20, with w1 = per·2^20 // max(rows of the unit in the group, per), per =
    rows/groups, and w2 = groups·2^20 // max(groups of the unit, groups): over a group these add up to at most per·w2,
    and over all groups to per·groups·2^20.
    """

    def __post_init__(self) -> None:
        if self.rows < 1 or (self.groups is not None and (self.rows % self.groups or not self.weighted)):
            raise ValueError("a contribution bound is a positive number of rows")

    @property
    def steps(self) -> int:
        """How many integer steps of a sum make what one unweighted row adds."""
        return WEIGHT if self.weighted else 1

    @property
    def total(self) -> int:
        """The largest sum of the weights of one unit's rows, in steps: what a joint bound is multiplied by."""
        return self.rows * self.steps


@dataclass(frozen=True, slots=True)
class Part:
    """One integer sum that gets noise: rows·R + present·P + index·I + square·Q.

    R is the number of rows that pass the filter, P how many of them have a value, I the sum of their grid indices and
    Q that of their indices' squares; over distinct values P, I and Q take each value once. `unit` is the part's share:
    the noise scale in integer steps is unit / ε. `fine` integer steps make one of its basis: for the parts of a
    block to have one unit.
    """

    name: str
    unit: int
    rows: int = 0
    present: int = 0
    index: int = 0
    square: int = 0
    fine: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.unit < 1:
            raise ValueError("a part's unit is a positive integer")

    @property
    def primitive(self) -> Part:
        """The part without the common divisor of what it counts."""
        by = math.gcd(self.unit, self.rows, self.present, self.index, self.square)
        return self._times(Fraction(1, by))

    def on_unit(self, unit: int) -> Part:
        """A multiple of the part, of which one row adds at most `unit`, as near to that as may be."""
        part = self.primitive
        return replace(part._times(Fraction(unit // part.unit)), unit=unit)

    def _times(self, by: Fraction) -> Part:
        return Part(
            self.name,
            int(by * self.unit),
            rows=int(by * self.rows),
            present=int(by * self.present),
            index=int(by * self.index),
            square=int(by * self.square),
            fine=by * self.fine,
        )

    def of_row(self, present: int, index: int) -> int:
        """What one row adds to this part."""
        return self.rows + self.present * present + self.index * index + self.square * index * index


def joint_bound(parts: tuple[Part, ...], cells: int) -> Fraction:
    """The largest Σ |what one row adds to a part| / the part's unit.

    A row that passes the filter has either no value (present 0, index 0) or a value with an index in [0, cells]; a row
    that doesn't adds nothing. Over distinct values a row with a value that is there already is like one without.
    Times a `ContributionBound`'s total it bounds what a whole unit adds.

    For a present row each term is |p(i)| / unit, p a polynomial of degree 2 at most in the index i. Where all are
    affine the sum is convex, so its maximum lies at an end of [0, cells]. Where none is negative on [0, cells], the sum
    is itself such a polynomial, whose maximum lies at an end or at its vertex. Else the terms' own maxima are added,
    which is no less.

    With Laplace noise of scale unit / ε on each part, adding or removing one row changes the log density of the joint
    output by at most ε times this bound (Dwork, McSherry, Nissim, Smith 2006, applied to the rescaled vector).
    """
    absent = sum((Fraction(abs(part.rows), part.unit) for part in parts), Fraction(0))
    if not any(part.square for part in parts):
        ends = [sum((Fraction(abs(p.of_row(1, i)), p.unit) for p in parts), Fraction(0)) for i in (0, cells)]
        return max(absent, *ends)
    terms = [_Quadratic.of(part) for part in parts]
    if all(term.extremes(cells)[0] >= 0 for term in terms):
        return max(absent, _Quadratic.total(terms).extremes(cells)[1])
    return max(absent, sum((max(map(abs, term.extremes(cells))) for term in terms), Fraction(0)))


def largest_bound(parts: tuple[Part, ...], cells: int) -> Fraction:
    """The largest |what one row adds to a part| / the part's unit, over rows and parts.

    As `joint_bound`, of the norm max instead of the sum: times a `ContributionBound`'s total it bounds Σ over a unit's
    rows of the norm of what a row adds, whatever groups they are in. With cube noise of scale unit / ε, adding or
    removing one row changes the log density of the joint output by at most ε times this bound.
    """
    absent = max((Fraction(abs(part.rows), part.unit) for part in parts), default=Fraction(0))
    extremes = (_Quadratic.of(part).extremes(cells) for part in parts)
    return max([absent, *(max(map(abs, ends)) for ends in extremes)])


@dataclass(frozen=True, slots=True)
class _Quadratic:
    """a·i² + b·i + c."""

    a: Fraction
    b: Fraction
    c: Fraction

    @classmethod
    def of(cls, part: Part) -> _Quadratic:
        """What a present row adds to a part in terms of its index, divided by the part's unit."""
        a, b, c = part.square, part.index, part.rows + part.present
        return cls(Fraction(a, part.unit), Fraction(b, part.unit), Fraction(c, part.unit))

    @classmethod
    def total(cls, terms: list[_Quadratic]) -> _Quadratic:
        zero = Fraction(0)
        return cls(sum((t.a for t in terms), zero), sum((t.b for t in terms), zero), sum((t.c for t in terms), zero))

    def at(self, i: Fraction) -> Fraction:
        return (self.a * i + self.b) * i + self.c

    def extremes(self, cells: int) -> tuple[Fraction, Fraction]:
        """Its least and its largest value on [0, cells]."""
        points = [Fraction(0), Fraction(cells)]
        if self.a and 0 < (vertex := -self.b / (2 * self.a)) < cells:
            points.append(vertex)
        values = [self.at(point) for point in points]
        return min(values), max(values)
