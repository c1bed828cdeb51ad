"""Where noise comes from: what `release` asks for, and the one implementation that production has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpsql.privacy.laplace import discrete_laplace
from dpsql.privacy.random_bytes import ByteSource, best_source

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt


class NoiseSource(Protocol):
    """Adds noise to exact integers. Production uses exactly one implementation; tests may record and
    replay."""

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws of discrete Laplace noise, P(x) ∝ exp(-|x| / scale), scale in grid
        units."""
        ...

    def truncated(self, scale: Fraction, bound: int, size: int) -> npt.NDArray[np.int64]:
        """The same noise conditioned to [-bound, bound], for the selection of keys."""
        ...


@dataclass(frozen=True, slots=True)
class SystemNoise:
    """Exact discrete Laplace noise from the operating system's randomness: fresh for every call, safe for
    threads."""

    source: ByteSource = field(default_factory=best_source)

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        """As `NoiseSource.laplace`; ValueError for a scale that is not above 0 or whose noise doesn't fit
        an int64."""
        return discrete_laplace(scale).sample(size, self.source)

    def truncated(self, scale: Fraction, bound: int, size: int) -> npt.NDArray[np.int64]:
        """As `NoiseSource.truncated`: what lies outside is drawn again, which is exact."""
        noise = self.laplace(scale, size)
        outside = np.flatnonzero(np.abs(noise) > bound)
        while len(outside):
            noise[outside] = self.laplace(scale, len(outside))
            outside = outside[np.abs(noise[outside]) > bound]
        return noise
