"""The public grids on which values are added up: from an argument's type and value set alone."""

from __future__ import annotations

import math
from fractions import Fraction

from dpsql.aggregates.aggregate import NO_GRID, Grid
from dpsql.expressions import Typed
from dpsql.policy import Kind

SMALLEST_GRAIN = Fraction(1, 2**800)
"""Of doubles, unless the policy says otherwise: its inverse is a double too."""


def natural_grid(argument: Typed) -> Grid:
    """The grid of an argument's type, before it is fitted to ε; no cells where it has none or is constant."""
    value_set = argument.set
    if not value_set.numeric or not value_set.bounds.bounded:
        return NO_GRID
    lower, upper = Fraction(value_set.bounds.lower), Fraction(value_set.bounds.upper)
    return widened(lower, upper, _natural_grain(value_set.kind, value_set.grain, argument, upper - lower))


def _natural_grain(kind: Kind, grain: Fraction | None, argument: Typed, width: Fraction) -> Fraction:
    if kind is Kind.INTEGER:
        return Fraction(1)
    if kind is Kind.DECIMAL:
        return Fraction(1, 10 ** (argument.set.type.scale or 0))
    if grain is not None:
        return grain * (1 << max(0, int(width / grain).bit_length() - 62))
    if width == 0:
        return Fraction(1)
    return max(_power_of_two_below(width / 2**30), SMALLEST_GRAIN)


def _power_of_two_below(value: Fraction) -> Fraction:
    """The largest power of two ≤ value."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    power = Fraction(2) ** exponent
    return power if power <= value else power / 2


def widened(lower: Fraction, upper: Fraction, grain: Fraction) -> Grid:
    """The grid of the interval with its ends moved outward to multiples of the grain; no cells for a point."""
    if lower == upper:
        return Grid(lower, abs(lower) or Fraction(1), 0)
    first, last = math.floor(lower / grain), math.ceil(upper / grain)
    return Grid(first * grain, grain, last - first)
