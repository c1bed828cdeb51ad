"""Half-widths against high-precision arithmetic, simulation and each other."""

from __future__ import annotations

import decimal
import math
import time
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpsql.privacy.interval import (
    laplace_half_width,
    laplace_sum_half_width,
    laplace_sum_tail,
    two_laplace_quantile,
)
from dpsql.privacy.mechanisms.laplace import DiscreteLaplace
from tests.chisquare import Z
from tests.seeded import SeededBytes

F = Fraction
SCALES = [
    F(1, 10**9),
    F(1, 100),
    F(1, 3),
    F(334, 1000),
    F(1),
    F(3, 2),
    F(10),
    F(12345, 7),
    F(2**40),
    F(2**60),
    F(3**37, 2),
]
LEVELS = [0.5, 0.9, 0.95, 0.99, F(999999, 10**6), F(1, 1000)]


def tail(scale: Fraction, w: int) -> Decimal:
    """P(|X| > w), to 100 digits."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 100, decimal.MIN_EMIN, decimal.MAX_EMAX
        b = Decimal(scale.numerator) / Decimal(scale.denominator)
        return 2 * (-Decimal(w + 1) / b).exp() / (1 + (-1 / b).exp())


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_half_width_is_the_least(scale, level):
    w = laplace_half_width(scale, level)
    exact = level if isinstance(level, Fraction) else F(str(level))
    miss = Decimal((1 - exact).numerator) / (1 - exact).denominator
    assert type(w) is int
    assert tail(scale, w) <= miss
    assert w == 0 or tail(scale, w - 1) > miss


def test_half_width_covers():
    draws = np.abs(DiscreteLaplace(F(5)).sample(200_000, SeededBytes(1)))
    w = laplace_half_width(F(5), 0.95)
    assert w == 15
    for width, below in ((w, False), (w - 1, True)):
        share = (draws <= width).mean()
        slack = Z * math.sqrt(0.05 / draws.size)
        assert (share < 0.95 + slack) if below else (share > 0.95 - slack)


def test_half_width_does_not_depend_on_the_callers_decimal_context():
    with localcontext() as context:
        context.prec = 3
        assert laplace_half_width(F(2**60)) == laplace_half_width(F(2**60), F(19, 20)) > 3 * 2**60 // 1.01
        assert laplace_sum_half_width([1, 1, 1]) == pytest.approx(two_and_more(3), rel=1e-10)


def two_and_more(n: int) -> float:
    with localcontext() as context:
        context.prec = 60
        return laplace_sum_half_width([1] * n)


@pytest.mark.parametrize("level", [0, 1, 0.0, 1.0, -0.5, 1.5, math.nan, F(1), F(0)], ids=repr)
def test_levels_that_are_refused(level):
    for call in (lambda: laplace_half_width(F(1), level), lambda: two_laplace_quantile(1, 1, level)):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(ValueError):
        laplace_sum_half_width([1, 2], level)


@pytest.mark.parametrize("scale", [F(0), F(-1)])
def test_scales_that_are_refused(scale):
    with pytest.raises(ValueError, match="scale"):
        laplace_half_width(scale)


# |aX + bY|


def two_tail(a: float, b: float, x: float) -> float:
    """The formula of the source, to 120 digits; a = b by its limit."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 120, decimal.MIN_EMIN, decimal.MAX_EMAX
        a, b, x = Decimal(a), Decimal(b), Decimal(x)
        if a == b:
            return float((1 + x / (2 * a)) * (-x / a).exp())
        return float((a * a * (-x / a).exp() - b * b * (-x / b).exp()) / (a * a - b * b))


NEAR = [1.0, 1 - 1e-3, 1 - 1e-8, 1 - 2**-53, 1 + 2**-52, 0.5, 0.1, 1e-3, 1e-10, 1e-300]


@pytest.mark.parametrize("b", NEAR)
@pytest.mark.parametrize("level", [0.01, 0.5, 0.95, 0.999999])
def test_two_laplace_quantile(b, level):
    x = two_laplace_quantile(1.0, b, level)
    assert two_tail(1.0, b, x) == pytest.approx(1 - level, rel=1e-10)
    assert x == two_laplace_quantile(-b, 1.0, level) == two_laplace_quantile(b, -1.0, level)
    assert two_laplace_quantile(1e200, b * 1e200, level) == pytest.approx(1e200 * x, rel=1e-12)


def test_two_laplace_quantile_at_tiny_levels():
    """Where float64 can't settle the last digits Newton's method stops all the same (density at 0: 1/2)."""
    for level in (1e-6, 1e-9, 1e-12):
        assert two_laplace_quantile(1, 1, level) == pytest.approx(2 * level, rel=1e-3)


def test_two_laplace_quantile_at_zero():
    assert two_laplace_quantile(0, 0) == 0
    assert two_laplace_quantile(2, 0) == pytest.approx(2 * math.log(20))
    assert two_laplace_quantile(5e-324, 2) == pytest.approx(2 * math.log(20))
    with pytest.raises(ValueError, match="finite"):
        two_laplace_quantile(math.inf, 1)


# Sums


def simulate(scales, n=400_000) -> np.ndarray:
    generator = np.random.Generator(np.random.Philox(5))
    return np.abs(sum(b * generator.laplace(size=n) for b in scales))


MIXTURES = [
    [1.0],
    [3.0, 1.0],
    [1.0, 1.0, 1.0],
    [5.0, 1.0, 1.0, 1e-6],
    [1.0] * 8,
    [1, 2, 4, 8, 16],
    [2.0, -2.0, 0.0],
]


@pytest.mark.parametrize("scales", MIXTURES, ids=str)
def test_sum_against_simulation(scales):
    draws = simulate(scales)
    for level in (0.5, 0.95, 0.999):
        x = laplace_sum_half_width(scales, level)
        assert abs((draws <= x).mean() - level) < Z * math.sqrt(level * (1 - level) / draws.size)
        assert laplace_sum_tail(scales, x) == pytest.approx(1 - level, rel=1e-9)


def test_sum_agrees_with_closed_forms():
    assert laplace_sum_half_width([3.0]) == pytest.approx(3 * math.log(20), rel=1e-12)
    for b in NEAR[:-1]:
        assert laplace_sum_half_width([1.0, b]) == pytest.approx(two_laplace_quantile(1.0, b), rel=1e-12)
    # three equal ones: e^-x (1 + 5x/8 + x^2/8), from the third power of 1 / (1 + t^2)
    x = 4.2
    assert laplace_sum_tail([1, 1, 1], x) == pytest.approx(math.exp(-x) * (1 + 5 * x / 8 + x * x / 8), rel=1e-12)
    assert laplace_sum_tail([1, 1, 1], 0.0) == laplace_sum_tail([1, 1], -1.0) == 1.0
    assert laplace_sum_half_width([]) == laplace_sum_half_width([0.0, 0.0]) == 0.0


@pytest.mark.slow
def test_sum_is_near_normal_for_many_and_quick():
    start = time.process_time()
    x = laplace_sum_half_width([1.0] * 32)
    assert x == pytest.approx(1.96 * math.sqrt(64), rel=0.02)
    assert time.process_time() - start < 2
    with pytest.raises(ValueError, match="32"):
        laplace_sum_half_width([1.0] * 33)


@pytest.mark.parametrize("scales", [[math.inf], [1.0, math.nan]])
def test_sum_refuses_what_is_not_finite(scales):
    with pytest.raises(ValueError, match="finite"):
        laplace_sum_half_width(scales)
