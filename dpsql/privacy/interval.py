"""Half-widths: how far noise may take a released number. From the noise law alone, so they cost nothing.

A half-width at level 0.95 is the least w with P(|noise| > w) <= 0.05. Nothing here reads data: EXPLAIN
shows it before any budget is spent. Levels are `Fraction` or `float`; a float stands for its shortest
decimal text, so .95 is 19/20. Everything here covers the noise only, not what clipping and contribution
bounds took away.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from dpsql.errors import InvalidParameter

LOWEST_LEVEL, HIGHEST_LEVEL = Fraction(1, 100), 1 - Fraction(1, 10**9)
_LEVEL = re.compile(r"[0-9]{0,2}\.?[0-9]{1,19}(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)
"""As it is written, or as a parameter that is a float: 9.50000000000000000e-01."""

MAX_TERMS = 32
"""Laplaces in one sum: the precision that partial fractions need grows with their number."""

SHRINK = Decimal("0.999999999999999")
"""Scales of a sum are kept this factor apart: equal ones would divide by 0."""


@lru_cache(maxsize=256)
def laplace_half_width(scale: Fraction, level: Fraction | float = 0.95) -> int:
    """The least integer w with P(|X| > w) <= 1 - level, X discrete Laplace of `scale`; all in grid units.

    Summing the law gives P(|X| > w) = 2 a^(w+1) / (1 + a) with a = exp(-1 / scale), hence
    w + 1 = ceil(scale * ln(2 / ((1 + a)(1 - level)))). Computed to 60 digits: right for any scale.
    """
    if scale <= 0:
        raise ValueError("a Laplace scale must be above 0")
    context = _context(60)
    b = _decimal(scale, context)
    a = context.exp(context.divide(Decimal(-1), b))
    both_sides = context.divide(Decimal(2), context.add(a, Decimal(1)))
    log_ratio = context.ln(context.divide(both_sides, _decimal(_miss(level), context)))
    return max(0, int(context.multiply(b, log_ratio).to_integral_value(ROUND_CEILING)) - 1)


def two_laplace_quantile(a: float, b: float, level: Fraction | float = 0.95) -> float:
    """The x with P(|aX + bY| <= x) = level; X, Y independent, continuous Laplace of scale 1; a, b real.

    For a > b > 0 the tail is (a^2 e^(-x/a) - b^2 e^(-x/b)) / (a^2 - b^2), by partial fractions of the
    characteristic function. With a = 1 (by scaling), r = b, phi(y) = (1 - e^-y) / y, s = x phi(x (1 - r) / r)

        tail = e^-x (1 + r s / (1 + r)),        density of |aX + bY| = e^-x (1 + s) / (1 + r),

    where nothing cancels, for r near 1 or near 0. The logarithm of the tail is concave (a convolution of
    log-concave densities), so after the first one Newton's steps come from the right and only ever shrink.
    """
    a, b = abs(a), abs(b)
    large, small = max(a, b), min(a, b)
    if not math.isfinite(large):
        raise ValueError("scales must be finite")
    miss = float(_miss(level))
    x = -math.log(miss)
    if large == 0 or small / large == 0:
        return large * x
    r = small / large
    for _ in range(100):
        s = x * _phi(x * (1 - r) / r)
        tail = 1 + r * s / (1 + r)  # times e^-x
        step = (math.log(tail) - x - math.log(miss)) * tail * (1 + r) / (1 + s)
        x += step
        if abs(step) <= 1e-14 * x:
            break
    return large * x


def _phi(y: float) -> float:
    return -math.expm1(-y) / y if y > 0 else 1.0


def laplace_sum_tail(scales: Sequence[float], x: float) -> float:
    """P(|S| > x) for the sum S of independent, continuous Laplaces of these scales (signs don't matter)."""
    return float(_Sum(scales).tail(Decimal(x))) if x > 0 else 1.0


def laplace_sum_half_width(scales: Sequence[float], level: Fraction | float = 0.95) -> float:
    """The x with P(|S| <= x) = level for the sum S of independent, continuous Laplaces of these scales.

    Right to about 12 digits for any mixture of scales, equal or far apart, 0 included; at most 32 of them.
    Newton's method on the logarithm of the tail, concave as in `two_laplace_quantile`.
    """
    law = _Sum(scales)
    miss = _decimal(_miss(level), law.context)
    if not law.scales:
        return 0.0
    context = law.context
    x = context.multiply(law.scales[0], context.minus(context.ln(miss)))
    while True:
        tail = law.tail(x)
        excess = context.ln(context.divide(tail, miss))
        step = float(context.multiply(excess, context.divide(tail, law.density(x))))
        x = context.add(x, Decimal(step))
        if abs(step) <= 1e-13 * float(x):
            return float(x)


class _Sum:
    """The law of S = sum b_i X_i by partial fractions.

    Its characteristic function prod 1 / (1 + b_i^2 t^2) equals sum w_i / (1 + b_i^2 t^2) with

        w_i = prod_{j != i} b_i^2 / (b_i^2 - b_j^2),

    a mixture of Laplaces with signed weights, so P(|S| > x) = sum w_i e^(-x / b_i). Where scales are close
    the weights are huge and cancel. Scales are kept 1e-15 of themselves apart, so each factor is below 1e15,
    and 16 digits for each scale, with 50 that remain, suffice.
    """

    def __init__(self, scales: Sequence[float]) -> None:
        if not all(map(math.isfinite, scales)):
            raise ValueError("scales must be finite")
        ordered = sorted((Decimal(float(abs(b))) for b in scales if b != 0), reverse=True)
        if len(ordered) > MAX_TERMS:
            raise ValueError(f"at most {MAX_TERMS} Laplaces can be added, not {len(ordered)}")
        self.context = context = _context(50 + 16 * len(ordered))
        self.scales: list[Decimal] = []
        for b in ordered:
            apart = context.multiply(self.scales[-1], SHRINK) if self.scales else b
            self.scales.append(min(b, apart))
        squares = [context.multiply(b, b) for b in self.scales]
        self.weights = [self._weight(i, squares) for i in range(len(squares))]

    def _weight(self, i: int, squares: list[Decimal]) -> Decimal:
        weight = Decimal(1)
        for j, other in enumerate(squares):
            if j != i:
                ratio = self.context.divide(squares[i], self.context.subtract(squares[i], other))
                weight = self.context.multiply(weight, ratio)
        return weight

    def tail(self, x: Decimal) -> Decimal:
        """P(|S| > x)."""
        return self._mix(self.weights, x)

    def density(self, x: Decimal) -> Decimal:
        """The density of |S| at x."""
        return self._mix(list(map(self.context.divide, self.weights, self.scales)), x)

    def _mix(self, weights: list[Decimal], x: Decimal) -> Decimal:
        context, total = self.context, Decimal(0)
        for weight, b in zip(weights, self.scales, strict=True):
            power = context.exp(context.divide(context.minus(x), b))
            total = context.add(total, context.multiply(weight, power))
        return total


def parse_level(value: object) -> Fraction:
    """A level of intervals, exact: from decimal text, a decimal, a float or a fraction. Raises InvalidParameter."""
    text = value.strip() if isinstance(value, str) else str(value)
    level = Fraction(text) if isinstance(value, Fraction) or _LEVEL.fullmatch(text) else Fraction(0)
    if not LOWEST_LEVEL <= level <= HIGHEST_LEVEL:
        raise InvalidParameter("a level is a number from 0.01 to below 1", hint="write 0.95")
    return level


def _miss(level: Fraction | float) -> Fraction:
    """1 - level, above 0 and below 1."""
    exact = level if isinstance(level, Fraction) else Fraction(str(level))
    if not 0 < exact < 1:
        raise ValueError("a confidence level must lie strictly between 0 and 1")
    return 1 - exact


def _context(digits: int) -> Context:
    """Decimal arithmetic that neither traps nor depends on the caller's context."""
    return Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


def _decimal(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))
