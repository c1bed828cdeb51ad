"""Which keys may be shown that are not public: a noisy count of units with a threshold, in one spend.

The number n of units of a key gets noise Z from the two-sided geometric law conditioned to [-k, k], p(z) ∝ a^|z| with
a = exp(-e), and is published where it is above T = k + m − 1: what a unit must join to be seen are `min_units` m − 1
others. k is such that p(k) <= d. Keys without units never appear, which is as if they got noise: 0 + k is not above T.

**Why one key costs (e, d).** Let one unit more make n into n + 1. A number y above T comes out of n with p(y − n) and
out of n + 1 with p(y − n − 1); inside [-k, k] the two differ by the factor exp(e) at most, conditioning included, since
both are divided by the same sum. Outside, one of them is 0:

* y = n + 1 + k comes out of n + 1 alone, with p(k) <= d;
* y = n − k comes out of n alone, with p(-k) <= d. It is published only where n − k > T, and then both are published
  always: no other outcome differs by more than the factor.

The key is hidden with H(n) = P(Z <= T − n). H(n + 1) <= H(n), as fewer z do; and H(n) = sum of p(z + 1) over z <=
T − n − 1, plus p(-k), is at most exp(e) H(n + 1) + d. Where p(-k) is in it, n − k <= T, so that y = n − k isn't
published and d isn't spent twice. So for every set of outcomes P(n) <= exp(e) P(n + 1) + d, and the other way round.

**Why all keys cost (ε, δ).** A unit counts for at most L0 keys, with e = ε / L0 and d = δ / L0 each: basic composition.

Source: Desfontaines, Voss, Gipson, Mandayam, "Differentially private partition selection" (PoPETs 2022): thresholding a
count with noise of the k-truncated symmetric geometric distribution.

**What is known of n.** That a key is shown says that its noise was above T − n: of keys with few units those are seen
whose noise was high. So an interval must hold n in `level` of the releases that show it (Fithian, Sun, Taylor, "Optimal
inference after model selection", 2014: by the law of y given that it is above T). Each n has the noise that it takes to
be likely then: |Z| <= r(n), the least with P(|Z| <= r, n + Z > T) >= level P(n + Z > T). The interval of y holds each n
with |y − n| <= r(n): it holds the true one as often as that is likely, whatever that is. Well above T it is y ± r with
P(|Z| <= r) >= level. Near T it goes down to m: a key of few units is as likely to be seen there as one of many.

**How the noise is drawn.** From the discrete Laplace law of the same scale; what lies outside [-k, k] is drawn again.
So it has that law given that it lies inside, exactly; how often it is drawn again is independent of what is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpsql.privacy.mechanisms.laplace import discrete_laplace

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpsql.privacy.mechanisms.laplace import Ints
    from dpsql.privacy.random_bytes import ByteSource

_DIGITS = 80
_MARGIN = Decimal(1).scaleb(-40)


@dataclass(frozen=True, slots=True)
class KeySelection:
    """How keys are selected: for (epsilon, delta) in all, of which a unit counts for at most `groups` keys."""

    epsilon: Fraction
    delta: Fraction
    groups: int = 1
    min_units: int = 1

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or not 0 < self.delta < 1 or self.groups < 1 or self.min_units < 1:
            raise ValueError("key selection needs epsilon above 0, delta between 0 and 1, groups and units from 1")

    @property
    def scale(self) -> Fraction:
        """Of the noise, P(z) ∝ exp(-|z| / scale)."""
        return self.groups / self.epsilon

    @property
    def bound(self) -> int:
        """k: the least with P(noise = k) ≤ d, or one more."""
        return _bound(self.epsilon, self.delta, self.groups)

    @property
    def threshold(self) -> int:
        """A key is published where its noisy number of units is above this."""
        return self.bound + self.min_units - 1

    def half_width(self, level: Fraction | float) -> int:
        """The least r with P(|noise| <= r) >= level: of a number that is well above the threshold."""
        far = np.array([self.threshold + 2 * self.bound + 1], dtype=np.int64)
        (low,), _ = self.interval(far, level)
        return int(far[0] - low)

    def interval(self, shown: Ints, level: Fraction | float) -> tuple[Ints, Ints]:
        """The ends of the numbers of units that may have been shown as these, all above the threshold: see the module.

        Of the numbers on each side those up to the end are plausible, so it is found by bisection.
        """
        ends = []
        for farthest in (np.maximum(shown - self.bound, self.min_units), shown + self.bound):
            inside, outside = shown.copy(), farthest + np.sign(farthest - shown)
            while (apart := np.abs(outside - inside) > 1).any():
                middle = np.where(apart, inside + (outside - inside) // 2, inside)
                plausible = self._is_plausible(middle, shown, float(level))
                inside, outside = np.where(plausible, middle, inside), np.where(plausible, outside, middle)
            ends.append(inside)
        return ends[0], ends[1]

    def _is_plausible(self, units: Ints, shown: Ints, level: float) -> npt.NDArray[np.bool_]:
        """Whether |shown − units| <= r(units): noise that is nearer to 0 is less likely than `level`, given the key."""
        least = self.threshold + 1 - units  # what noise must be at least
        apart = np.abs(shown - units)
        nearer = self._tail(np.maximum(1 - apart, least)) - self._tail(np.maximum(apart, least))
        plausible: npt.NDArray[np.bool_] = (apart == 0) | (nearer < level * self._tail(least))
        return plausible

    def _tail(self, least: Ints) -> npt.NDArray[np.float64]:
        """P(noise >= least), from its sum from max(least, 1 − least) on: (a^x − a^(k+1)) / (1 + a − 2 a^(k+1))."""
        scale, after = float(self.scale), self.bound + 1
        x = np.minimum(np.maximum(least, 1 - least), after)
        beyond = np.exp(-x / scale) * -np.expm1((x - after) / scale)
        beyond /= 1 + math.exp(-1 / scale) - 2 * math.exp(-after / scale)
        return np.where(least > 0, beyond, 1 - beyond)


@lru_cache(maxsize=1024)
def _bound(epsilon: Fraction, delta: Fraction, groups: int) -> int:
    """See `KeySelection.bound`; kept, since each answer asks for it several times.

    With a = exp(−e), P(k) = a^k (1 − a) / (1 + a − 2 a^(k+1)), which is at most d from
    k = ln((1 + (2d − 1) a) / ((1 + a) d)) / e on.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        e = _decimal(epsilon) / groups
        d = _decimal(delta) / groups
        a = (-e).exp()
        k = ((1 + (2 * d - 1) * a) / ((1 + a) * d)).ln() / e
        least = max(1, math.ceil(k * (1 + _MARGIN)))
        while a**least * (1 - a) * (1 + _MARGIN) > d * (1 + a - 2 * a ** (least + 1)):
            least += 1  # rounding of the closed form: once, if ever
        return least


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def truncated_geometric(scale: Fraction, bound: int, size: int, source: ByteSource) -> Ints:
    """`size` independent draws of P(z) ∝ exp(-|z| / scale) on [-bound, bound], see the module."""
    law = discrete_laplace(scale)
    noise = law.sample(size, source)
    outside = np.flatnonzero(np.abs(noise) > bound)
    while len(outside):
        noise[outside] = law.sample(len(outside), source)
        outside = outside[np.abs(noise[outside]) > bound]
    return noise
