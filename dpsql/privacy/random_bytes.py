"""Random bytes: the only place where dpsql takes entropy from the world.

There is no seed, no switch and no buffer. Every batch of bytes comes fresh from the operating system, or
from a keystream whose 256-bit key came fresh from it, so nothing that a fork, a thread or a copied virtual
machine could share outlives one call.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CTR
except ImportError:  # the `fast` extra is not installed
    HAS_AES = False
else:
    HAS_AES = True


class ByteSource(Protocol):
    """Gives independent, uniformly distributed bytes; may be called from any thread."""

    def read(self, size: int) -> bytes:
        """`size` fresh bytes (size >= 0)."""
        ...


class SystemRandom:
    """The operating system's generator (getrandom(2) on Linux): no state of ours, so fork and threads are
    its affair."""

    def read(self, size: int) -> bytes:
        """`size` bytes of os.urandom."""
        return os.urandom(size)


class AesCtr:
    """AES-256-CTR keystreams, each under a new key from os.urandom: some ten times faster than it.

    A key serves one call and is dropped. That makes the source stateless: threads need no lock, a forked
    child can't repeat its parent, and each batch is re-keyed. The counter may start at 0 because no key is
    used twice. Below `SMALL` bytes the system's own generator is as fast as a new key.
    """

    SMALL = 4096

    def read(self, size: int) -> bytes:
        """`size` bytes: a keystream is the encryption of zeros."""
        if size < self.SMALL:
            return os.urandom(size)
        encrypt: Callable[[bytes], bytes] = Cipher(AES(os.urandom(32)), CTR(bytes(16))).encryptor().update
        return encrypt(bytes(size))


def best_source() -> ByteSource:
    """The fastest source that is installed: AES-256-CTR with the `fast` extra, else the operating system."""
    return AesCtr() if HAS_AES else SystemRandom()
