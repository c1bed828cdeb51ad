"""Random bits and noise: the only place where dpsql is random."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt


class NoiseSource(Protocol):
    """Adds noise to exact integers. Production uses exactly one implementation; tests may record and replay."""

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws of discrete Laplace noise, P(x) ∝ exp(-|x| / scale), scale in grid units."""
        ...
