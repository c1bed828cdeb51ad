"""Draws of the noise laws that are the same each time: to work out errors with, never to protect anything.

Where no formula gives the error of what is computed from noisy numbers, it is found by computing it again and again
with more noise of the same law (Monte Carlo). That is post-processing: the law is public, and these draws are too. They
come from the mechanisms' own samplers, fed with a fixed stream of bytes, so that one stored answer has one interval.

No release may use them: `dpsql.release` takes noise from a `NoiseSource` alone, of which production has one, and may
not import this module (import-linter).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsql.privacy.mechanisms.truncated_geometric import KeySelection, truncated_geometric
from dpsql.privacy.noise import SystemNoise

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpsql.privacy.mechanisms import Mechanism
    from dpsql.privacy.mechanisms.laplace import Ints

_KEY = b"dpsql: draws that are no secret"


@dataclass(slots=True)
class _Stream:
    """The bytes of SHAKE-256 over a fixed key and a counter of what was read so far: as good as random, and public."""

    number: int
    _reads: int = field(default=0, init=False)

    def read(self, size: int) -> bytes:
        self._reads += 1
        key = _KEY + self.number.to_bytes(8, "big") + self._reads.to_bytes(8, "big")
        return hashlib.shake_256(key).digest(size)


def fixed_draws(mechanism: Mechanism, scales: Sequence[Fraction], count: int, *, stream: int) -> list[Ints]:
    """An even number of draws of a block's noise, one array for each part; other streams are independent of this one.

    The second half is the first with the other sign. The law is symmetric, so each draw has it, and what is linear in
    the noise has an average error of 0.
    """
    noise = SystemNoise(_Stream(stream))
    return [with_opposites(part) for part in mechanism.draw(noise, list(scales), count // 2)]


def fixed_selection_draws(selection: KeySelection, count: int, *, stream: int) -> Ints:
    """The same of the noise of a key's units, whether it is selected or not."""
    return with_opposites(truncated_geometric(selection.scale, selection.bound, count // 2, _Stream(stream)))


def with_opposites(half: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The draws, and each with the other sign."""
    return np.concatenate((half, -half))
