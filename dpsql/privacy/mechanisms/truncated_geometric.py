"""Which keys may be shown that are not public: a noisy count of units with a threshold, in one spend.

The number of units of a key gets noise from the two-sided geometric distribution conditioned to [-k, k], and is
published where it is above the threshold k. A key of one unit is published with the probability of the noise k alone,
which is at most d. So publishing key and noisy count costs (e, d) for each key that a unit counts for, where e = ε/L0
and d = δ/L0 for at most L0 keys: (ε, δ) together, by basic composition. Keys without units never appear.
With `min_units` m the threshold is k + m − 1: what a unit must join to be seen are m − 1 others.

Source: Desfontaines, Voss, Gipson, Mandayam, "Differentially private partition selection" (PoPETs 2022): thresholding a
count with noise of the k-truncated symmetric geometric distribution.

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
