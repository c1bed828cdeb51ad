"""Value sets: what is publicly known of an expression's values, from the policy and the query alone.

A value set biases, it never protects: whatever is concluded from one (clip bounds, group keys, the type that
arithmetic runs in) is enforced again in the SQL that the engine runs, by a clip or a filter that is always emitted.
A wrong value set can therefore move a result, and never a sensitivity.

Numbers are exact fractions. Dates are days and timestamps microseconds since 1970-01-01, as integers.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain

from dpsql.policy import Column, ColumnType, Kind

Number = Fraction | float
"""A fraction, or one of the two float infinities."""

INT64 = 2**63
HUGEINT_SAFE = Fraction(2**126)
"""Integers below this stay inside HUGEINT, with room for one more addition."""

EPOCH = dt.date(1970, 1, 1)
FIRST_DAY = (dt.date(1, 1, 1) - EPOCH).days
LAST_DAY = (dt.date(9999, 12, 31) - EPOCH).days
DAY_MICROSECONDS = 86_400_000_000

Literal = bool | int | Fraction | str | None
"""One value as the model holds it: temporal values are integers since the epoch, None is SQL NULL."""


def _times(a: Number, b: Number) -> Number:
    if a == 0 or b == 0:
        return Fraction(0)  # 0 * inf: the zero is exact
    return a * b


_LARGEST = Fraction(sys.float_info.max)
_SHORT = 1000


def _is_short(value: Fraction) -> bool:
    """Whether a number has few enough digits to be computed with; it then lies between 2^-1000 and 2^1000."""
    return value.numerator.bit_length() + value.denominator.bit_length() <= _SHORT


def _outward(end: Number) -> Number:
    """An upper end of few digits, or a double: a long one is moved to the next double above it, or to infinity."""
    assert isinstance(end, Fraction)
    if _is_short(end):
        return end
    if abs(end) > _LARGEST:
        return math.inf if end > 0 else -_LARGEST
    nearest = float(end)
    moved = nearest if Fraction(nearest) >= end else math.nextafter(nearest, math.inf)
    return moved if math.isinf(moved) else Fraction(moved)


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval; an infinite end means that nothing bounds that side.

    Ends of very many digits, as powers of powers would have, are moved outward to the next double, or to infinity.
    """

    lower: Number = -math.inf
    upper: Number = math.inf

    def __post_init__(self) -> None:
        if self.lower.__class__ is Fraction:
            object.__setattr__(self, "lower", -_outward(-self.lower))
        if self.upper.__class__ is Fraction:
            object.__setattr__(self, "upper", _outward(self.upper))

    @property
    def bounded(self) -> bool:
        return not (math.isinf(self.lower) or math.isinf(self.upper))

    @property
    def empty(self) -> bool:
        return self.lower > self.upper

    @property
    def magnitude(self) -> Number:
        return max(-self.lower, self.upper)

    def contains(self, value: Number) -> bool:
        return self.lower <= value <= self.upper

    def moved_into(self, inside: Interval) -> Interval:
        """Where it comes to lie when each of its points moves to the nearest one inside."""
        lower = min(max(self.lower, inside.lower), inside.upper)
        return Interval(lower, max(min(self.upper, inside.upper), lower))

    def intersect(self, other: Interval) -> Interval:
        return Interval(max(self.lower, other.lower), min(self.upper, other.upper))

    def hull(self, other: Interval) -> Interval:
        if self.empty or other.empty:
            return other if self.empty else self
        return Interval(min(self.lower, other.lower), max(self.upper, other.upper))

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lower + other.lower, self.upper + other.upper)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        corners = [_times(a, b) for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Interval(min(corners), max(corners))

    def __truediv__(self, other: Interval) -> Interval:
        """The quotient; unbounded where the divisor may be 0."""
        if other.contains(0):
            return Interval()
        inverse = Interval(*(Fraction(0) if math.isinf(x) else 1 / Fraction(x) for x in (other.upper, other.lower)))
        return self * inverse

    def map(self, function: Callable[[Number], Number]) -> Interval:
        """The image under a monotone non-decreasing function (infinite ends stay)."""
        ends = (x if math.isinf(x) else function(x) for x in (self.lower, self.upper))
        return Interval(*ends)


POINT_ZERO = Interval(Fraction(0), Fraction(0))


def machine_range(kind: ColumnType) -> Interval:
    """All values that a column of this type can hold in an engine, after the clip that every leaf gets."""
    match kind.kind:
        case Kind.INTEGER:
            return Interval(Fraction(-INT64), Fraction(INT64 - 1))
        case Kind.DECIMAL:
            limit = Fraction(10 ** (kind.precision or 38) - 1, 10 ** (kind.scale or 0))
            return Interval(-limit, limit)
        case Kind.DATE:
            return Interval(Fraction(FIRST_DAY), Fraction(LAST_DAY))
        case Kind.TIMESTAMP:
            last = (LAST_DAY + 1) * DAY_MICROSECONDS - 1
            return Interval(Fraction(FIRST_DAY * DAY_MICROSECONDS), Fraction(last))
        case Kind.BOOLEAN:
            return Interval(Fraction(0), Fraction(1))
        case _:
            return Interval()


def natural_grain(kind: ColumnType) -> Fraction | None:
    """The step between neighbouring values of a type, None where it has none of its own."""
    match kind.kind:
        case Kind.INTEGER | Kind.DATE | Kind.TIMESTAMP | Kind.BOOLEAN:
            return Fraction(1)
        case Kind.DECIMAL:
            return Fraction(1, 10 ** (kind.scale or 0))
        case _:
            return None


@dataclass(frozen=True, slots=True)
class ValueSet:
    """What one expression can be.

    bounds   what the policy and the query say (infinite where they say nothing)
    machine  what its computation can produce, whatever the data: decides the type that arithmetic runs in
    values   the finite list of values in their public order, None where it isn't one (never holds NULL)
    grain    every value is a multiple of this, None where unknown
    nullable whether NULL can occur; `null_key` whether NULL is a declared group key
    """

    type: ColumnType
    bounds: Interval = Interval()
    machine: Interval = Interval()
    values: tuple[Literal, ...] | None = None
    grain: Fraction | None = None
    nullable: bool = False
    null_key: bool = False

    def __post_init__(self) -> None:
        if self.grain is not None and not _is_short(self.grain):
            object.__setattr__(self, "grain", None)

    @property
    def kind(self) -> Kind:
        return self.type.kind

    @property
    def numeric(self) -> bool:
        return self.kind in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)

    def domain_size(self) -> int | None:
        """How many values the set holds (NULL not counted), None where it isn't finite."""
        if self.values is not None:
            return len(self.values)
        if not self.bounds.bounded or self.grain is None or self.kind is Kind.TEXT:
            return None
        first, last = self._multiples()
        return max(0, last - first + 1)

    def domain(self) -> tuple[Literal, ...]:
        """The finite set, in its public order. Call only where `domain_size` is an acceptable number."""
        if self.values is not None:
            return self.values
        assert self.grain is not None
        first, last = self._multiples()
        if self.kind is Kind.BOOLEAN:
            return tuple(bool(i) for i in range(first, last + 1))
        return tuple(_as_literal(i * self.grain) for i in range(first, last + 1))

    def _multiples(self) -> tuple[int, int]:
        assert self.grain is not None
        low, high = Fraction(self.bounds.lower), Fraction(self.bounds.upper)
        return math.ceil(low / self.grain), math.floor(high / self.grain)

    def narrowed(self, interval: Interval) -> ValueSet:
        """This set where the value is known to lie in `interval`. A contradiction narrows nothing.

        Ends are moved inward to values that the type has: beside a literal with more digits the engine would widen the
        column, which can fail.
        """
        interval = _snapped(interval, natural_grain(self.type))
        bounds = self.bounds.intersect(interval)
        machine = self.machine.intersect(interval)
        if bounds.empty or machine.empty:
            return self
        values = self.values
        if values is not None and self.kind is not Kind.TEXT:
            values = tuple(v for v in values if v is not None and bounds.contains(number(v)))
            if self.values and not values:
                return self
        return replace(self, bounds=bounds, machine=machine, values=values)

    def restricted(self, allowed: tuple[Literal, ...]) -> ValueSet:
        """This set where the value is known to be one of `allowed`."""
        step = natural_grain(self.type)
        if step is not None:
            allowed = tuple(v for v in allowed if v is None or isinstance(v, str) or number(v) % step == 0)
        if self.values is not None:
            among = frozenset(allowed)
            kept = tuple(v for v in self.values if v in among)
        else:
            # Of an undeclared column only a written-out list is public; numbers outside the bounds can't occur.
            kept = tuple(v for v in allowed if v is not None and self._admits(v))
        if not kept:
            return self
        result = replace(self, values=kept)
        if self.kind is not Kind.TEXT:
            points = [number(v) for v in kept if v is not None]
            result = replace(
                result,
                bounds=Interval(min(points), max(points)),
                machine=self.machine.intersect(Interval(min(points), max(points))),
            )
        return result

    def _admits(self, value: Literal) -> bool:
        if value is None or isinstance(value, str):
            return value is not None
        step = natural_grain(self.type)
        whole = step is None or number(value) % step == 0
        return whole and self.bounds.contains(number(value)) and self.machine.contains(number(value))

    def stored(self) -> ValueSet:
        """This set as that of a column that holds the values: there a NULL has a type like any other value."""
        return replace(self, values=None) if self.values == () else self

    def not_null(self) -> ValueSet:
        return replace(self, nullable=False, null_key=False)


def _snapped(interval: Interval, step: Fraction | None) -> Interval:
    """The interval between the outermost multiples of a step that it holds."""
    if step is None:
        return interval
    lower = interval.lower if math.isinf(interval.lower) else math.ceil(Fraction(interval.lower) / step) * step
    upper = interval.upper if math.isinf(interval.upper) else math.floor(Fraction(interval.upper) / step) * step
    return Interval(lower, upper)


def number(value: Literal) -> Fraction:
    """A non-text literal as a number (booleans are 0 and 1)."""
    assert not isinstance(value, str) and value is not None
    return Fraction(int(value)) if isinstance(value, bool) else Fraction(value)


def _as_literal(value: Fraction) -> Literal:
    return int(value) if value.denominator == 1 else value


def constant(value: Literal, kind: ColumnType) -> ValueSet:
    """The set of one literal."""
    if value is None:
        return ValueSet(kind, machine=POINT_ZERO, bounds=POINT_ZERO, values=(), nullable=True)
    if isinstance(value, str):
        return ValueSet(kind, values=(value,))
    point = Interval(number(value), number(value))
    grain = abs(number(value)) or natural_grain(kind)
    return ValueSet(kind, bounds=point, machine=point, values=(value,), grain=grain)


def temporal(value: dt.date | dt.datetime) -> int:
    """Days of a date, microseconds of a timestamp (read as UTC), since 1970-01-01."""
    if isinstance(value, dt.datetime):
        delta = value.replace(tzinfo=None) - dt.datetime(1970, 1, 1)
        return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    return (value - EPOCH).days


def model_literal(value: object) -> Literal:
    """A policy key or bound as the model holds it."""
    if isinstance(value, (dt.date, dt.datetime)):
        return temporal(value)
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    assert value is None or isinstance(value, (bool, int, Fraction, str))
    return value


@lru_cache(maxsize=4096)
def column_set(column: Column) -> ValueSet:
    """The value set that the policy declares for a column: looked up in each statement that names its table."""
    grain = column.grain or natural_grain(column.type)
    machine = machine_range(column.type)
    bounds = Interval()
    values: tuple[Literal, ...] | None = None
    if column.type.kind is Kind.BOOLEAN:
        bounds, values = machine, (False, True)
    if column.bounds is not None:
        lower, upper = (number(model_literal(x)) for x in column.bounds)
        bounds = Interval(lower, upper)
    null_key = column.nullable
    if column.keys is not None:
        values = tuple(model_literal(k) for k in column.keys if k is not None)
        null_key = None in column.keys
        if column.type.kind is not Kind.TEXT and values:
            points = [number(v) for v in values]
            bounds = Interval(min(points), max(points))
    return ValueSet(
        column.type,
        bounds=bounds,
        machine=machine.intersect(bounds) if bounds.bounded else machine,
        values=values,
        grain=grain,
        nullable=column.nullable or null_key,
        null_key=null_key,
    )


def joined(sets: list[ValueSet], kind: ColumnType) -> ValueSet:
    """The union of several branches (CASE, COALESCE) of one type."""
    bounds, machine, grain = sets[0].bounds, sets[0].machine, sets[0].grain
    for other in sets[1:]:
        bounds, machine = bounds.hull(other.bounds), machine.hull(other.machine)
        grain = common_grain(grain, other.grain)
    listed = [s.values for s in sets if s.values is not None]
    values = tuple(dict.fromkeys(chain.from_iterable(listed))) if len(listed) == len(sets) else None
    nullable = any(s.nullable for s in sets)
    return ValueSet(kind, bounds, machine, values, grain, nullable, null_key=nullable)


def common_grain(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    """The largest step of which both are multiples."""
    if a is None or b is None:
        return None
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)
