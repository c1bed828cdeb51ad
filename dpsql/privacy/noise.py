"""Where noise comes from: what `release` asks for, and the one implementation that production has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from dpsql.privacy.mechanisms.cube import cube_noise, uniform_below
from dpsql.privacy.mechanisms.exponential import Cuts, cut
from dpsql.privacy.mechanisms.laplace import discrete_laplace
from dpsql.privacy.mechanisms.truncated_geometric import truncated_geometric
from dpsql.privacy.random_bytes import ByteSource, best_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    import numpy as np
    import numpy.typing as npt


class NoiseSource(Protocol):
    """Adds noise to exact integers. Production uses exactly one implementation; tests may record and
    replay."""

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws of discrete Laplace noise, P(x) ∝ exp(-|x| / scale), scale in grid
        units."""
        ...

    def cube(self, scale: Fraction, dimensions: int, size: int) -> Sequence[npt.NDArray[np.int64]]:
        """`size` independent draws of cube noise, P(z) ∝ exp(-max|z_i| / scale): one array for each dimension."""
        ...

    def truncated(self, scale: Fraction, bound: int, size: int) -> npt.NDArray[np.int64]:
        """Discrete Laplace noise conditioned to [-bound, bound], for the selection of keys."""
        ...

    def geometric(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent geometrics, P(x) ∝ exp(-x / scale) for x >= 0, for a choice among so many."""
        ...

    def below(self, limits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For each limit m >= 1 an independent number that is uniform on {0, …, m - 1}."""
        ...

    def cut(self, cuts: Cuts, scale: Fraction) -> tuple[int, int]:
        """A cell, and how many of its rows lie below the cut: P ∝ exp(-how far it is from its rank / scale)."""
        ...


@dataclass(frozen=True, slots=True)
class SystemNoise:
    """Exact noise from the operating system's randomness: fresh for every call, safe for threads."""

    source: ByteSource = field(default_factory=best_source)

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        """As `NoiseSource.laplace`; ValueError for a scale that is not above 0 or whose noise doesn't fit
        an int64."""
        return discrete_laplace(scale).sample(size, self.source)

    def cube(self, scale: Fraction, dimensions: int, size: int) -> Sequence[npt.NDArray[np.int64]]:
        """As `NoiseSource.cube`; ValueError as for `laplace`."""
        return tuple(cube_noise(scale, dimensions).sample(size, self.source))

    def truncated(self, scale: Fraction, bound: int, size: int) -> npt.NDArray[np.int64]:
        """As `NoiseSource.truncated`."""
        return truncated_geometric(scale, bound, size, self.source)

    def geometric(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        """As `NoiseSource.geometric`; ValueError as for `laplace`."""
        return discrete_laplace(scale).geometrics(size, self.source)

    def below(self, limits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """As `NoiseSource.below`."""
        return uniform_below(limits, self.source)

    def cut(self, cuts: Cuts, scale: Fraction) -> tuple[int, int]:
        """As `NoiseSource.cut`; ValueError as for `laplace`."""
        return cut(cuts, scale, self.source)
