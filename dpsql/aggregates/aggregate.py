"""What an aggregate is, and the bases that aggregates are computed from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpsql.expressions import Compiler, Typed, refuse, show
from dpsql.privacy.sensitivity import Part

Integers = npt.NDArray[Any]
"""An array of exact integers: int64, or Python ints where int64 would not hold them."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The public grid of one measure: values lower + index·grain, index in [0, cells]."""

    lower: Fraction
    grain: Fraction
    cells: int

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
NO_GRID = Grid(Fraction(0), Fraction(1), 0)


class Basis(Enum):
    """The sets of noisy sums that numbers are computed from. Each is charged once, whoever uses it.

    UNITS      the units that count for a key which isn't public: each adds 1. Its noise is that of the key's selection.
    ROWS       R: the rows. Each adds 1.
    PRESENT    P: the rows with a value. Each adds 1.
    SUM        the values themselves in grains; each adds at most the interval's magnitude.
    ENDPOINTS  low = Σ (cells − i), high = Σ i: a row with a value adds `cells` to the two together, so both get the
               full ε; a row without adds nothing. (ACCURACY: for L = 0 the sum is as exact as alone.)
    ENDPOINTS_AND_NULLS  the same and the number of rows without a value: a row adds either to low and high, or 1 to
               the third, never to both.
    BERNSTEIN  low = Σ (cells − i)², middle = Σ 2i(cells − i), high = Σ i²: a row with a value adds cells² to the three
               together, so all get the full ε.
    BERNSTEIN_AND_NULLS  the same and the number of rows without a value.

    Over distinct values (`SUM(DISTINCT x)`) each value counts once: one row more adds at most one value, what it would
    add if it stood alone; a row that adds none is one without a value.
    """

    UNITS = "units"
    ROWS = "rows"
    PRESENT = "present"
    SUM = "sum"
    ENDPOINTS = "endpoints"
    ENDPOINTS_AND_NULLS = "endpoints and nulls"
    BERNSTEIN = "Bernstein"
    BERNSTEIN_AND_NULLS = "Bernstein and nulls"

    def parts(self, grid: Grid) -> tuple[Part, ...]:
        n = grid.cells
        match self:
            case Basis.UNITS:
                return (Part("units", 1, rows=1),)
            case Basis.ROWS:
                return (Part("rows", 1, rows=1),)
            case Basis.PRESENT:
                return (Part("present", 1, present=1),)
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


SQUARED = frozenset({Basis.BERNSTEIN, Basis.BERNSTEIN_AND_NULLS})
"""The bases that need the squares of indices."""
COUNTING_NULLS = frozenset({Basis.ENDPOINTS_AND_NULLS, Basis.BERNSTEIN_AND_NULLS})
"""The bases that count the rows without a value too."""
INDEXED = SQUARED | {Basis.SUM, Basis.ENDPOINTS, Basis.ENDPOINTS_AND_NULLS}
"""The bases that need a grid with at least one cell."""

Noisy = Mapping[str, Integers]
"""A basis's noisy parts by name."""
Ends = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Lower and upper ends of intervals."""
INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CallShape:
    """An aggregate call as written: its name, argument (None: whole rows) and condition; are values distinct?"""

    aggregate: str
    argument: exp.Expr | None
    condition: exp.Expr | None = None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """One way to compute an aggregate: from which basis, how, and with what error.

    variance     of the number at ε = 1, relative to what one row can add at most (squared): compares ways
    combine      noisy parts and grid to the numbers (int64 or float64), one per key
    half_width   (1/ε, grid, level) to the half-width of the number's interval, None where it depends on the answer
    interval     where it does: (noisy parts, 1/ε, grid, level) to the lower and the upper end for each number

    An interval holds the exact number, of clipped values, in `level` of all releases. Without either none is known.
    """

    basis: Basis
    variance: float
    combine: Callable[[Noisy, Grid], npt.NDArray[Any]]
    half_width: Callable[[Fraction, Grid, float], float] | None
    interval: Callable[[Noisy, Fraction, Grid, float], Ends] | None = None

    @property
    def has_interval(self) -> bool:
        return self.half_width is not None or self.interval is not None

    def ends(self, noisy: Noisy, scale: Fraction, grid: Grid, level: float) -> Ends:
        """The ends of each number's interval, of the type of the numbers, whole ones rounded outward."""
        if self.interval is not None:
            return self.interval(noisy, scale, grid, level)
        assert self.half_width is not None
        values, width = self.combine(noisy, grid), self.half_width(scale, grid, level)
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
