"""Chi-square against the discrete Laplace law, at a level of 1e-6: written out, so that the tests need no
scipy."""

from __future__ import annotations

import math

import numpy as np

Z = 4.753424
"""Normal quantile of 1 - 1e-6."""


def critical_value(df: int) -> float:
    """The chi-square value exceeded with probability 1e-6 (Wilson-Hilferty; right to 1 % from df = 3)."""
    return df * (1 - 2 / (9 * df) + Z * math.sqrt(2 / (9 * df))) ** 3


def chi_square(observed, expected) -> tuple[float, float]:
    """The statistic and its critical value."""
    observed, expected = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    assert expected.min() >= 5
    return float(((observed - expected) ** 2 / expected).sum()), critical_value(observed.size - 1)


def upper_tail(k, scale: float):
    """P(X >= k) for the discrete Laplace law, k >= 0."""
    return np.exp(-np.asarray(k, dtype=float) / scale) / (1 + math.exp(-1 / scale))


def laplace_chi_square(draws: np.ndarray, scale: float) -> tuple[float, float]:
    """Bins: {0}, then each side in steps of about scale / 8 out to where 20 draws are expected."""
    n = draws.size
    last = scale * math.log(n / 20)
    edges = np.unique(np.ceil(np.arange(1, last, max(1.0, scale / 8))).astype(np.int64))
    tails = np.append(upper_tail(edges, scale), 0.0)
    side = tails[:-1] - tails[1:]
    zero = 1 - 2 * upper_tail(1, scale)
    bins = np.searchsorted(edges, np.abs(draws), side="right")  # 0: |x| < edges[0] = 1
    positive = np.bincount(bins[draws > 0], minlength=edges.size + 1)[1:]
    negative = np.bincount(bins[draws < 0], minlength=edges.size + 1)[1:]
    observed = np.concatenate([positive, negative, [np.count_nonzero(draws == 0)]])
    expected = n * np.concatenate([side, side, [zero]])
    keep = expected >= 5  # at large scales {0} alone is too rare to count
    return chi_square(observed[keep], expected[keep])
