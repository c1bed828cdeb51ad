"""What an aggregate is, and the bases that aggregates are computed from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpsql.expressions import Compiler, Typed, refuse, show
from dpsql.privacy.mechanisms import Mechanism, laplace
from dpsql.privacy.mechanisms.permute_and_flip import end_name
from dpsql.privacy.mechanisms.truncated_geometric import KeySelection
from dpsql.privacy.sensitivity import Part

Integers = npt.NDArray[Any]
"""An array of exact integers: int64, or Python ints where int64 would not hold them."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The public grid of one measure: values lower + index·grain, index in [0, cells].

    fine   how many steps of the noisy sums make one of their basis: weighted rows need not be rounded to whole ones
    whole  whether counts of rows and sums of integers are rounded to whole numbers; not in draws of weighted rows
    """

    lower: Fraction
    grain: Fraction
    cells: int
    fine: int = field(default=1, repr=False)
    whole: bool = field(default=True, repr=False)

    @property
    def upper(self) -> Fraction:
        return self.lower + self.grain * self.cells

    @property
    def low_steps(self) -> int:
        """The lower end in grains: an integer, because the ends are widened outward to the grid."""
        return int(self.lower / self.grain)

    @property
    def high_steps(self) -> int:
        return self.low_steps + self.cells

    @property
    def magnitude(self) -> int:
        """The largest absolute value of the interval, in grains."""
        return max(abs(self.low_steps), abs(self.high_steps))


_NULLS = Part("nulls", 1, rows=1, present=-1)
FINE = 2**10
"""Steps of a row in a count that other numbers are computed from too: so that it need not be rounded to whole rows."""


def finer(unit: int) -> int:
    """Steps of a sum to which a row adds at most `unit`: where that is little it need not be rounded to whole ones."""
    return max(1, FINE // unit)


NO_GRID = Grid(Fraction(0), Fraction(1), 0)


class Basis(Enum):
    """The sets of noisy sums that numbers are computed from. Each is charged once, whoever uses it.

    UNITS      the units that count for a key which isn't public: each adds 1. Its noise is that of the key's selection.
    ROWS       R: the rows. Each adds 1.
    PRESENT    P: the rows with a value. Each adds 1.
    PRESENT_AND_NULLS  the same and the number of rows without a value: a row adds 1 to one of them, so both get the
               full ε.
    SUM        the values themselves in grains; each adds at most the interval's magnitude.
    ENDPOINTS  low = Σ (cells − i), high = Σ i: a row with a value adds `cells` to the two together, so both get the
               full ε; a row without adds nothing. (ACCURACY: for L = 0 the sum is as exact as alone.)
    ENDPOINTS_AND_NULLS  the same and the number of rows without a value: a row adds either to low and high, or 1 to
               the third, never to both.
    BERNSTEIN  low = Σ (cells − i)², middle = Σ 2i(cells − i), high = Σ i²: a row with a value adds cells² to the three
               together, so all get the full ε.
    BERNSTEIN_AND_NULLS  the same and the number of rows without a value.

    Centred sums, for numbers of several columns, with one count of rows that they share. With t = (2i − cells) / cells,
    the place of a value between −1 at the lower bound and 1 at the upper one, a row adds at most 1 to each of these, so
    with cube noise each gets the full ε:

    TOTAL      the rows: each adds 1, in steps of 1/FINE.
    VALUED     the rows with a value less those without: a row adds 1 or −1.
    CENTRE     Σ t. A row without a value adds nothing.
    MOMENTS    Σ t and Σ (2t² − 1).
    CENTRE_AND_NULLS, MOMENTS_AND_NULLS  the same and VALUED.

    CELLS      the rows of each cell of a grid, among which one is chosen: see `dpsql.aggregates.choice`. No sums.

    Over distinct values (`SUM(DISTINCT x)`) each value counts once: one row more adds at most one value, what it would
    add if it stood alone; a row that adds none is one without a value.
    """

    UNITS = "units"
    ROWS = "rows"
    PRESENT = "present"
    PRESENT_AND_NULLS = "present and nulls"
    SUM = "sum"
    ENDPOINTS = "endpoints"
    ENDPOINTS_AND_NULLS = "endpoints and nulls"
    BERNSTEIN = "Bernstein"
    BERNSTEIN_AND_NULLS = "Bernstein and nulls"
    TOTAL = "total"
    VALUED = "valued"
    CENTRE = "centre"
    CENTRE_AND_NULLS = "centre and nulls"
    MOMENTS = "moments"
    MOMENTS_AND_NULLS = "moments and nulls"
    CELLS = "cells"

    def parts(self, grid: Grid) -> tuple[Part, ...]:
        n = grid.cells
        match self:
            case Basis.UNITS:
                return (Part("units", 1, rows=1),)
            case Basis.ROWS:
                return (Part("rows", 1, rows=1),)
            case Basis.PRESENT:
                return (Part("present", 1, present=1),)
            case Basis.PRESENT_AND_NULLS:
                return (*Basis.PRESENT.parts(grid), _NULLS)
            case Basis.SUM:
                return (Part("sum", grid.magnitude, present=grid.low_steps, index=1),)
            case Basis.ENDPOINTS:
                return Part("low", n, present=n, index=-1), Part("high", n, index=1)
            case Basis.ENDPOINTS_AND_NULLS:
                return (*Basis.ENDPOINTS.parts(grid), _NULLS)
            case Basis.BERNSTEIN:
                return (
                    Part("low", n * n, present=n * n, index=-2 * n, square=1),
                    Part("middle", n * n, index=2 * n, square=-2),
                    Part("high", n * n, square=1),
                )
            case Basis.BERNSTEIN_AND_NULLS:
                return (*Basis.BERNSTEIN.parts(grid), _NULLS)
            case Basis.TOTAL:
                return (Part("count", FINE, rows=FINE),)
            case Basis.VALUED:
                return (Part("valued", FINE, rows=-FINE, present=2 * FINE),)
            case Basis.CENTRE:
                fine = finer(n)
                return (Part("centre", fine * n, present=-fine * n, index=2 * fine),)
            case Basis.CENTRE_AND_NULLS:
                return (*Basis.CENTRE.parts(grid), *Basis.VALUED.parts(grid))
            case Basis.MOMENTS:
                fine = finer(n * n)
                square = Part("square", fine * n * n, present=fine * n * n, index=-8 * fine * n, square=8 * fine)
                return (*Basis.CENTRE.parts(grid), square)
            case Basis.MOMENTS_AND_NULLS:
                return (*Basis.MOMENTS.parts(grid), *Basis.VALUED.parts(grid))
            case Basis.CELLS:
                return ()


SQUARED = frozenset({Basis.BERNSTEIN, Basis.BERNSTEIN_AND_NULLS, Basis.MOMENTS, Basis.MOMENTS_AND_NULLS})
"""The bases that need the squares of indices."""
COUNTING_NULLS = frozenset({Basis.PRESENT_AND_NULLS, Basis.ENDPOINTS_AND_NULLS, Basis.BERNSTEIN_AND_NULLS})
"""The bases that count the rows without a value too."""
CENTRED = frozenset({Basis.TOTAL, Basis.VALUED, Basis.CENTRE, Basis.CENTRE_AND_NULLS}) | SQUARED - {
    Basis.BERNSTEIN, Basis.BERNSTEIN_AND_NULLS
}  # fmt: skip
"""The centred sums."""
INDEXED = (SQUARED | CENTRED | {Basis.SUM, Basis.ENDPOINTS, Basis.ENDPOINTS_AND_NULLS}) - {Basis.TOTAL, Basis.VALUED}
"""The bases that need a grid with at least one cell."""

Noisy = Mapping[str, Integers]
"""A basis's noisy parts by name."""
Ends = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Lower and upper ends of intervals."""
INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Choice:
    """What an aggregate asks for that is answered by one of its argument's possible values.

    fraction  of a quantile; None where an extreme is asked for
    smallest  whether that is the smallest
    between   whether a quantile may lie between values, so that it is a DOUBLE
    even      whether candidates for an extreme lie evenly: dates have no place where they are small
    end       not the quantile itself: the `lower` or the `upper` end of an interval that holds it, of this level
    """

    fraction: Fraction | None = None
    smallest: bool = False
    between: bool = False
    even: bool = False
    end: tuple[Literal["lower", "upper"], Fraction] | None = None

    @property
    def name(self) -> str:
        """Of what is chosen, among that of one measure."""
        if self.fraction is not None:
            return str(self.fraction) if self.end is None else end_name(self.fraction, *self.end)
        return "smallest" if self.smallest else "greatest"


@dataclass(frozen=True, slots=True)
class CallShape:
    """An aggregate call as written: its name, argument (None: whole rows) and condition; are values distinct?

    choice  where one of the values is asked for
    """

    aggregate: str
    argument: exp.Expr | None
    condition: exp.Expr | None = None
    distinct: bool = False
    choice: Choice | None = None


@dataclass(frozen=True, slots=True)
class Law:
    """The law of the noise of the sums that a number is computed from, in rows that count in full.

    scale         of a part of unit 1 of the number's basis: 1 / ε at row level
    sums          how many sums share a block of the mechanism
    count_scales  where the number of rows comes from other bases: of each part that is added to make it
    weighted      whether rows count for fractions, so that exact counts and sums of integers need not be whole
    selection     of the units of a key that isn't public: how it was selected, by that very noise
    added         where sums of other blocks of the same mechanism are added to those: the law of each
    """

    mechanism: Mechanism
    scale: Fraction
    sums: int = 1
    count_scales: tuple[Fraction, ...] = ()
    weighted: bool = False
    selection: KeySelection | None = None
    added: tuple[Law, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether it is of one sum in whole steps: then its half-width is that of the discrete law."""
        return self.sums == 1 and not self.added and not self.weighted

    @property
    def blocks(self) -> tuple[Law, ...]:
        """The law of each noise that is added up in each part, independent of the others."""
        return (self, *self.added)

    def in_units(self, unit: Fraction) -> Law:
        """The same of sums in units of so many rows."""
        counts = tuple(scale / unit for scale in self.count_scales)
        added = tuple(law.in_units(unit) for law in self.added)
        return replace(self, scale=self.scale / unit, count_scales=counts, added=added)

    def half_width(self, own: Sequence[float], level: Fraction | float, *, count: float = 0.0) -> float:
        """Of Σ own coefficient·part + count·(number of rows), parts of the number's basis, each in its units."""
        each = [(law._terms(own, count), law.sums) for law in self.blocks]
        if len(each) > 1:
            return self.mechanism.half_width_of_sum(each, level)
        return self.mechanism.half_width(*each[0], level)

    def _terms(self, own: Sequence[float], count: float) -> list[float]:
        counts = self.count_scales if count else ()
        return [c * float(self.scale) for c in own] + [count * float(scale) for scale in counts]


def laplace_law(scale: Fraction) -> Law:
    """Of a basis of its own with Laplace noise."""
    return Law(laplace.MECHANISM, scale)


OverRows = Callable[[Law, Grid, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to compute an aggregate: from which basis, how, and with what error.

    variance     of the number with Laplace noise of scale 1, relative to what one row can add at most (squared): of a
                 mean to the bounds' half distance, of a variance to its square, both times the rows; where it depends
                 on the values, the largest
    combine      noisy parts and grid to the numbers (int64 or float64), one per key
    half_width   (law, grid, level) to the half-width of the number's interval, None where it depends on the answer
    interval     where it does: (noisy parts, law, grid, level) to the lower and the upper end for each number; beside
                 this a half-width is that of most answers
    even         `variance` where values are spread evenly between their bounds, if that is less
    of_count     where the number of rows comes from another basis, as the part "count": what is added to `variance` for
                 each unit of that number's variance; None: it doesn't
    even_of_count  the same of `even`
    over_rows    of a mean or a variance: (law, grid, level) to half-widths c for which its error is about ±c / n, where
                 n rows have a value: of values that are spread evenly, and of the worst
    of_root      whether the number is the root of that variance: then half of it over the number itself is its error
    answer       (noisy parts, law, grid) to the answers, where they depend on the law too; None: those
                 of `combine`

    An interval holds the exact number, of clipped values, in `level` of all releases. Without either none is known.
    """

    basis: Basis
    variance: float
    combine: Callable[[Noisy, Grid], npt.NDArray[Any]]
    half_width: Callable[[Law, Grid, float], float] | None
    interval: Callable[[Noisy, Law, Grid, float], Ends] | None = None
    even: float | None = None
    of_count: float | None = None
    even_of_count: float | None = None
    over_rows: OverRows | None = None
    of_root: bool = False
    answer: Callable[[Noisy, Law, Grid], npt.NDArray[Any]] | None = None

    def loads(self, *, even: bool) -> tuple[float, float]:
        """`variance` and `of_count`, or what they are for values that are spread evenly."""
        of_count = self.of_count or 0.0
        if not even:
            return self.variance, of_count
        return (
            self.variance if self.even is None else self.even,
            of_count if self.even_of_count is None else self.even_of_count,
        )

    @property
    def has_interval(self) -> bool:
        return self.half_width is not None or self.interval is not None

    @property
    def has_noise(self) -> bool:
        """Whether the number comes from sums with noise, of which more can be drawn: not where a value is chosen."""
        return self.basis is not Basis.CELLS

    def ends(self, noisy: Noisy, law: Law, grid: Grid, level: float) -> Ends:
        """The ends of each number's interval, of the type of the numbers, whole ones rounded outward."""
        if self.interval is not None:
            return self.interval(noisy, law, grid, level)
        assert self.half_width is not None
        values, width = self.combine(noisy, grid), self.half_width(law, grid, level)
        if values.dtype == np.float64:
            return values - width, values + width
        whole, far = values.astype(object), math.ceil(width)
        low, high = np.maximum(whole - far, -INT64_MAX), np.minimum(whole + far, INT64_MAX)
        return low.astype(np.int64), high.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One SQL aggregate.

    read    a call's node to its shape, or a refusal
    accept  checks (and where needed converts) the typed argument
    ways    (the typed argument, None for whole rows; the grid at ε = 1) to the ways to compute it, best
            known first
    column  the SQL type of the result, given the argument
    """

    name: str
    nodes: tuple[type[exp.Expr], ...]
    read: Callable[[exp.Expr], CallShape]
    accept: Callable[[Compiler, exp.Expr, Typed], Typed]
    ways: Callable[[Typed | None, Grid], tuple[Way, ...]]
    column: Callable[[Typed | None], str]


def uncast(node: exp.Expr | None) -> exp.Expr | None:
    """A number or a list of numbers as it is written, without casts to DOUBLE and brackets around it."""
    while isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and _is_double(node.to)):
        node = node.this
    return node


def _is_double(kind: exp.DataType) -> bool:
    if kind.is_type(exp.DType.ARRAY, exp.DType.LIST) and kind.expressions:
        kind = kind.expressions[0]
    return kind.is_type(exp.DType.DOUBLE)


def one_argument(node: exp.Expr, aggregate: str, name: str) -> CallShape:
    """The shape of a call with a single argument, DISTINCT or not; ORDER BY and extra arguments are refused."""
    extra = [k for k, v in node.args.items() if v and k not in ("this", "big_int")]
    argument: exp.Expr | None = node.this
    distinct = isinstance(argument, exp.Distinct)
    if isinstance(argument, exp.Distinct):
        if len(argument.expressions) != 1 or argument.args.get("on"):
            raise refuse(node, f"{name}(DISTINCT …) has more than one argument", f"write {name}(DISTINCT x)")
        argument = argument.expressions[0]
    if extra or argument is None or isinstance(argument, (exp.Order, exp.Star)):
        raise refuse(node, f"{show(node)} isn't supported", f"write {name}(expression)")
    return CallShape(aggregate, argument, distinct=distinct)
