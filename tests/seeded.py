"""Byte sources that repeat themselves: for tests only. The product has none."""

from __future__ import annotations

import numpy as np


class SeededBytes:
    """Philox under a fixed seed: the same bytes in every run. Not secure."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def read(self, size: int) -> bytes:
        return self._generator.bytes(size)


class ScriptedBytes:
    """Gives exactly the pieces it was made with, each to one read of that very length, and then fails."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    def read(self, size: int) -> bytes:
        if not size:
            return b""
        piece = self.pieces.pop(0)
        assert len(piece) == size, f"a read of {size} bytes where the script has {len(piece)}"
        return piece
