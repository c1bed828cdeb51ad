"""The chance of an audit: rows and statements are made from a seed, so that a finding can be made again.

Noise never comes from here: an audit's noise is recorded, or it is the operating system's as everywhere.
"""

from __future__ import annotations

from random import Random  # noqa: TID251 - see above

__all__ = ["Random"]
