"""The mechanisms: ways of adding noise to the sums of a block, so that the whole block is ε-differentially private.

A mechanism is a module here that exports MECHANISM, found by a scan. Each adds independent noise to every group of a
release; within a group its law belongs to a norm: where one unit's contributions to a block have at most the norm 1, in
units of each sum, noise of density ∝ exp(-ε ‖z‖) makes it ε-differentially private (Hardt and Talwar 2010): by the
triangle inequality the density changes by a factor of at most exp(ε ‖contributions‖). What one row's norm can be is
worked out in `dpsql.privacy.sensitivity`; over rows and groups of one unit they add up.

    discrete Laplace     L1: independent noise of each sum. For one sum, or several that no row adds to in full together
    cube                 the largest absolute value: for several sums to which one row may add in full
    truncated geometric  not among them: it selects keys that aren't public, at the price of a δ
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dpsql.privacy.noise import NoiseSource
    from dpsql.privacy.sensitivity import Part


@dataclass(frozen=True, slots=True, eq=False)
class Mechanism:
    """How a block of sums gets its noise.

    name        as EXPLAIN and stored answers have it
    bound       (parts of one basis, cells of its grid) to the largest norm of what one row adds
    norm        of several numbers: the parts of a block that one unit moves, or the bases that it is made of
    draw        (source, the scale of each part in integer steps, number of groups) to the noise of each part
    one_scale   whether all parts of a block must have one scale, in integer steps
    fits        (largest scale, number of parts): whether the noise fits an int64 but for a probability below 2^-56
    variance    of one sum's noise at scale 1, for a number of sums in a block
    half_width  (coefficients, number of sums in the block, level) of Σ coefficient·noise at scale 1
    half_width_of_sum  (the coefficients and the number of sums of each of several blocks, level) of all together
    """

    name: str
    bound: Callable[[tuple[Part, ...], int], Fraction]
    norm: Callable[[Iterable[Fraction]], Fraction]
    draw: Callable[[NoiseSource, Sequence[Fraction], int], tuple[npt.NDArray[np.int64], ...]]
    one_scale: bool
    fits: Callable[[Fraction, int], bool]
    variance: Callable[[int], float]
    half_width: Callable[[Sequence[float], int, Fraction | float], float]
    half_width_of_sum: Callable[[Sequence[tuple[Sequence[float], int]], Fraction | float], float]


@cache
def found() -> dict[str, Mechanism]:
    """Every mechanism of this package by name."""
    modules = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    listed = [vars(module).get("MECHANISM") for module in modules]
    return {mechanism.name: mechanism for mechanism in listed if mechanism is not None}
