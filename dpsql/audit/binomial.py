"""How far chance takes the number of successes of independent trials."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate


@lru_cache(maxsize=256)
def binomial_band(trials: int, probability: float, *, miss: float) -> tuple[int, int]:
    """The narrowest range of successes with at most miss/2 beyond each end, where each trial succeeds with that
    probability, above 0 and below 1.
    """
    law = [math.exp(_log_of(trials, probability, successes)) for successes in range(trials + 1)]
    return _beyond(law, miss / 2), trials - _beyond(reversed(law), miss / 2)


def _log_of(n: int, p: float, k: int) -> float:
    """The logarithm of the probability of k successes."""
    choices = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return choices + k * math.log(p) + (n - k) * math.log1p(-p)


def _beyond(law: Iterable[float], most: float) -> int:
    """How many of the first outcomes have at most so much probability together."""
    return next(count for count, total in enumerate(accumulate(law)) if total > most)
