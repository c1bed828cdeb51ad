"""Exact cube noise: several integers at once, none of which a unit moves by more than a bound.

**The law.** For a scale b > 0 (a rational, in grid units), a = exp(-1/b) and d dimensions, Z has

    P(Z = z) ∝ a^max|z_i|         for every z in Z^d.

Adding Z to integers of which one privacy unit moves each by at most D makes the probability of any outcome change by at
most exp(D / b): | max|y_i - u_i| - max|y_i - v_i| | <= max|u_i - v_i|. So b = D / epsilon gives epsilon-differential
privacy for all d numbers together, however many there are; with no term for rounding, as long as Z has *exactly* this
law. It is the K-norm mechanism of the cube (Hardt and Talwar, "On the geometry of differential privacy", STOC 2010)
on integers.

**Its error.** The noise of one number has a standard deviation of about b √((d + 1)(d + 2) / 3), where d numbers with
Laplace noise that share epsilon have b d √2 each: more from d = 2 on.

**How it is drawn.** Let R be the radius with P(R = r) ∝ (2r + 1)^d a^r and, given R, Z uniform on {-R, …, R}^d. Then

    P(Z = z) = Σ_{r >= max|z_i|} P(R = r) / (2r + 1)^d ∝ Σ_{r >= max|z_i|} a^r ∝ a^max|z_i|.

1. Let R' be the sum of d + 1 independent geometrics with ratio a: P(R' = r) ∝ (r + 1)(r + 2)…(r + d) a^r.
2. For i = 1, …, d let V_i be uniform on {0, …, 2R' + 2i - 1}. Where each V_i is at most 2R', give Z_i = V_i - R'; else
   begin again.

Given R' = r, the probability that all V_i are at most 2r is Π (2r + 1) / (2r + 2i), so those that are given have
P(r) ∝ (r + 1)…(r + d) a^r (2r + 1)^d / (2^d (r + 1)…(r + d)) ∝ (2r + 1)^d a^r, as wanted; and then each V_i is uniform
on {0, …, 2r}, independent of the others. The geometrics are exact (`dpsql.privacy.mechanisms.laplace`, steps 2 and 3).

**A number below m, exactly.** Of a uniform 64-bit word w, w mod m is uniform below m where w is below the largest
multiple of m that is at most 2^64; any other word is drawn again.

**What "exact" means** is said in `dpsql.privacy.mechanisms.laplace`: integers alone, nothing rounded, no tail cut.
Draws beyond 62 bits raise OverflowError; for the scales that are accepted they are rarer than 2^-63 (d + 1).

**Time.** How often step 2 begins again is independent of what is given in the end (each trial is a fresh one). That a
word is drawn again has a probability below 2^-64 (2R + 2d).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpsql.privacy.interval import cube_half_width, cubes_half_width
from dpsql.privacy.mechanisms import Mechanism
from dpsql.privacy.mechanisms.laplace import LN_2_64, DiscreteLaplace, discrete_laplace
from dpsql.privacy.sensitivity import largest_bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsql.privacy.mechanisms.laplace import Bools, Ints
    from dpsql.privacy.noise import NoiseSource
    from dpsql.privacy.random_bytes import ByteSource

LARGEST_RADIUS = 2**61
"""Of a cube: 2R + 2d fits an int64."""

CHUNK = 1 << 16
"""Coordinates drawn together: their bytes stay in the processor's cache."""

WORDS = np.uint64(2**64 - 1)


@dataclass(frozen=True, slots=True)
class CubeNoise:
    """The law P(z) ∝ exp(-max|z_i| / scale) on Z^dimensions, ready to be drawn from; immutable, safe for threads.

    `scale` is in grid units; ValueError where `fits_cube` says no. Proof of the law: see the module.
    """

    scale: Fraction
    dimensions: int
    _geometric: DiscreteLaplace = field(init=False, repr=False, compare=False)
    _widths: Ints = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.dimensions < 1 or not (self.scale > 0 and fits_cube(self.scale, self.dimensions)):
            raise ValueError("cube noise needs dimensions from 1, and a scale above 0 whose draws fit an int64")
        object.__setattr__(self, "_geometric", discrete_laplace(self.scale))
        object.__setattr__(self, "_widths", 2 * np.arange(1, self.dimensions + 1, dtype=np.int64))

    def sample(self, size: int, source: ByteSource) -> Ints:
        """`size` independent draws, one in each column."""
        if size < 0:
            raise ValueError("a number of draws can't be negative")
        draws = np.empty((self.dimensions, size), dtype=np.int64)
        step = max(1, CHUNK // self.dimensions)
        for start in range(0, size, step):
            part = draws[:, start : start + step]
            open_ = np.arange(part.shape[1])
            while open_.size:
                found, given = self._trial(open_.size, source)
                part[:, open_[given]] = found[:, given]
                open_ = open_[~given]
        return draws

    def _trial(self, size: int, source: ByteSource) -> tuple[Ints, Bools]:
        """One trial of step 2 for each of `size` draws, and which of them are given."""
        geometrics = self._geometric.geometrics((self.dimensions + 1) * size, source)
        radii = np.zeros(size, dtype=np.int64)
        for summand in geometrics.reshape(self.dimensions + 1, size):
            if summand.max(initial=0) > LARGEST_RADIUS - radii.max(initial=0):
                raise OverflowError("a draw of cube noise does not fit an int64")
            radii += summand
        below = 2 * radii + self._widths[:, None]
        values = uniform_below(below.reshape(-1), source).reshape(below.shape)
        return values - radii, np.asarray((values <= 2 * radii).all(axis=0))


def uniform_below(limits: Ints, source: ByteSource) -> Ints:
    """For each limit m >= 1 an independent number that is uniform on {0, …, m - 1}."""
    divisors = limits.astype(np.uint64)
    last = WORDS - (WORDS % divisors + np.uint64(1)) % divisors  # the largest multiple of m up to 2^64, less 1
    words = np.frombuffer(source.read(8 * divisors.size), dtype=np.uint64).copy()
    while (again := np.flatnonzero(words > last)).size:
        words[again] = np.frombuffer(source.read(8 * again.size), dtype=np.uint64)
    return (words % divisors).astype(np.int64)


def fits_cube(scale: Fraction, dimensions: int) -> bool:
    """Whether radii of this scale (grid units) stay below 2^61 but for a probability below 2^-63 (d + 1)."""
    return bool(LN_2_64 * scale * (dimensions + 1) <= LARGEST_RADIUS)


@lru_cache(maxsize=256)
def cube_noise(scale: Fraction, dimensions: int) -> CubeNoise:
    """The law of this scale and number of dimensions; the last 256 in use are kept."""
    return CubeNoise(scale, dimensions)


def _draw(noise: NoiseSource, scales: Sequence[Fraction], size: int) -> tuple[Ints, ...]:
    (scale,) = set(scales)  # the sums of a block have one scale, or the norm would be another
    return tuple(noise.cube(scale, len(scales), size))


MECHANISM = Mechanism(
    "cube",
    bound=largest_bound,
    norm=max,
    draw=_draw,
    one_scale=True,
    fits=fits_cube,
    variance=lambda parts: (parts + 1) * (parts + 2) / 3,
    half_width=cube_half_width,
    half_width_of_sum=cubes_half_width,
)
