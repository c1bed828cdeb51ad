"""Half-widths: how far noise may take a released number. From the noise law alone, so they cost nothing.

A half-width at level 0.95 is the least w with P(|noise| > w) <= 0.05. Nothing here reads data: EXPLAIN
shows it before any budget is spent. Levels are `Fraction` or `float`; a float stands for its shortest
decimal text, so .95 is 19/20. Everything here covers the noise only, not what clipping and contribution
bounds took away.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dpsql.errors import InvalidParameter

LOWEST_LEVEL, HIGHEST_LEVEL = Fraction(1, 100), 1 - Fraction(1, 10**9)
_LEVEL = re.compile(r"[0-9]{0,2}\.?[0-9]{1,19}(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)
"""As it is written, or as a parameter that is a float: 9.50000000000000000e-01."""

MAX_TERMS = 32
"""Laplaces in one sum: the precision that partial fractions need grows with their number."""

Doubles = npt.NDArray[np.float64]

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
    """
    ordered = sorted(map(abs, scales), reverse=True)
    if not all(map(math.isfinite, ordered)):
        raise ValueError("scales must be finite")
    if not ordered or ordered[0] == 0:
        return 0.0
    relative = tuple(b / ordered[0] for b in ordered)
    return ordered[0] * _laplace_sum_half_width(relative, _miss(level))


@lru_cache(maxsize=4096)
def _laplace_sum_half_width(scales: tuple[float, ...], miss: Fraction) -> float:
    """Newton's method on the logarithm of the tail, concave as in `two_laplace_quantile`; the largest scale is 1."""
    law = _Sum(scales)
    context = law.context
    wanted = _decimal(miss, context)
    x = context.minus(context.ln(wanted))
    while True:
        tail = law.tail(x)
        excess = context.ln(context.divide(tail, wanted))
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


def cube_tail(coefficients: Sequence[float], dimensions: int, x: float) -> float:
    """P(|Σ c_i Z_i| > x) for continuous cube noise Z of scale 1: density ∝ exp(-max|z_i|) on R^dimensions.

    Z is R·U with R of the gamma law of shape d + 1, and U uniform on the cube [-1, 1]^d, independent. For k
    coefficients above 0 the volume of a cube beyond a plane gives

        P(Σ c_i U_i > y) = Σ over signs s of (Π s_i) max(0, s·c - y)^k / (k! Π 2 c_i),

    and with y = x / R, binomial terms and E[R^-j; R > t] = (d - j)! / d! Q(d + 1 - j, t), Q the regularised upper
    incomplete gamma function, at whole numbers Q(m, t) = e^-t Σ_{i < m} t^i / i!,

        E[max(0, A - x / R)^k] = Σ_j C(k, j) A^(k - j) (-x)^j (d - j)! / d! Q(d + 1 - j, x / A)        for A > 0.

    For one coefficient it is Q(d + 1, x) - (x / d) Q(d, x).
    """
    scales = _distinct(coefficients, dimensions)
    if x <= 0 or not scales:
        return float(x <= 0)
    return min(1.0, max(0.0, _beyond(scales, dimensions, x, math.exp)))


Number = TypeVar("Number", float, Doubles)
"""One number, or several at once."""


def _beyond(scales: Sequence[float], dimensions: int, x: Number, exp: Callable[[Number], Number]) -> Number:
    """The formula of `cube_tail`, rounding errors included."""
    k, total = len(scales), 0 * x
    for signs in itertools.product((1.0, -1.0), repeat=k):
        a = math.fsum(map(operator.mul, signs, scales))
        if a > 0:
            factor = math.prod(signs) + 0 * x  # and (-x)^j (d - j)! / d!
            for j in range(k + 1):
                gamma = _upper_gamma(dimensions + 1 - j, x / a, exp)
                total = total + math.comb(k, j) * a ** (k - j) * factor * gamma
                factor = factor * (-x / max(dimensions - j, 1))
    return 2 * total / (math.factorial(k) * math.prod(2 * c for c in scales))


def _upper_gamma(shape: int, x: Number, exp: Callable[[Number], Number]) -> Number:
    """Q(shape, x), for a whole shape from 1."""
    term, total = exp(-x), 0 * x
    for i in range(shape):
        total = total + term
        term = term * x / (i + 1)
    return total


@lru_cache(maxsize=4096)
def _cube_half_width(scales: tuple[float, ...], dimensions: int, miss: float) -> float:
    """The x with tail `miss`, by the secant method on the logarithm of the tail, kept within a bracket."""

    def excess(x: float) -> float:
        return math.log(max(cube_tail(scales, dimensions, x), 1e-300) / miss)

    low, high = 0.0, sum(scales) * dimensions
    above, below = -math.log(miss), excess(high)
    while below > 0:
        low, above, high = high, below, 2 * high
        below = excess(high)
    for _ in range(100):
        x = high - below * (high - low) / (below - above)
        found = excess(x)
        if abs(found) < 1e-7:
            break
        if found > 0:
            low, above, below = x, found, below / 2
        else:
            high, below, above = x, found, above / 2
    return x


def cube_half_width(coefficients: Sequence[float], dimensions: int, level: Fraction | float = 0.95) -> float:
    """The x with P(|Σ c_i Z_i| <= x) = level for continuous cube noise Z of scale 1; right to about 5 digits."""
    scales = _distinct(coefficients, dimensions)
    if not scales:
        return 0.0
    largest = scales[0]
    relative = tuple(c / largest for c in scales)
    return largest * _cube_half_width(relative, dimensions, float(_miss(level)))


CELLS = 2**10
"""On each side of 0, of the grid on which the laws of several cubes are added."""


def cubes_half_width(blocks: Sequence[tuple[Sequence[float], int]], level: Fraction | float = 0.95) -> float:
    """The same for a sum over independent cubes, each with its coefficients and its dimensions; to about 3 digits.

    The law of each is put on a grid that all share, where they are convolved.
    """
    known = [(_distinct(coefficients, dimensions), dimensions) for coefficients, dimensions in blocks]
    known = [(scales, dimensions) for scales, dimensions in known if scales]
    if not known:
        return 0.0
    largest = max(scales[0] for scales, _ in known)
    relative = tuple((tuple(c / largest for c in scales), dimensions) for scales, dimensions in known)
    return largest * _cubes_half_width(tuple(sorted(relative)), float(_miss(level)))


@lru_cache(maxsize=4096)
def _cubes_half_width(blocks: tuple[tuple[tuple[float, ...], int], ...], miss: float) -> float:
    step = max(math.fsum(scales) * (dimensions + 40) for scales, dimensions in blocks) / CELLS  # beyond it lies e^-40
    size = 2 ** (2 * CELLS * len(blocks) + 1).bit_length()
    law = np.ones(size // 2 + 1, dtype=np.complex128)
    for block in blocks:
        law *= np.fft.rfft(_cube_on_grid(*block, step), size)
    centre = CELLS * len(blocks)
    found = np.fft.irfft(law, size)[centre : 2 * centre + 1]
    tail = 2 * np.maximum(np.cumsum(found[::-1])[::-1][1:], 1e-300)  # beyond the cells' ends
    beyond = int(np.argmax(tail < miss))
    if not beyond:
        return step / 2 * (1 - miss) / (1 - float(tail[0]))
    before, after = np.log(tail[beyond - 1 : beyond + 1])
    return step * (beyond - 0.5 + float((before - math.log(miss)) / (before - after)))


def _cube_on_grid(scales: tuple[float, ...], dimensions: int, step: float) -> Doubles:
    """How likely Σ c_i Z_i lies in each of 2·CELLS + 1 cells of a grid, the middle one around 0: see `cube_tail`."""
    x: Doubles = (np.arange(CELLS + 1, dtype=np.float64) + 0.5) * step
    tail = np.clip(_beyond(scales, dimensions, x, np.exp), 0.0, 1.0)
    half = -np.diff(tail) / 2
    return np.concatenate((half[::-1], [1 - tail[0]], half))


def _distinct(coefficients: Sequence[float], dimensions: int) -> list[float]:
    """The absolute coefficients, largest first, without those below a thousandth of it: their noise is not seen."""
    if not all(map(math.isfinite, coefficients)) or len(coefficients) > dimensions:
        raise ValueError("coefficients must be finite, at most one for each dimension")
    ordered = sorted(map(abs, coefficients), reverse=True)
    return [c for c in ordered if c > 1e-3 * ordered[0]]


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
