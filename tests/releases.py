"""Many releases of the same exact sums, and what is exact of them: to count how often intervals hold it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from sqlglot import exp

from dpsql import monte_carlo
from dpsql.plan import ReleasePlan
from dpsql.privacy.noise import SystemNoise
from dpsql.release import NoisyRows, release
from dpsql.session import Compiled
from tests.harness import Bench, ZeroNoise
from tests.seeded import SeededBytes


def exact_release(one: Bench, compiled: Compiled) -> NoisyRows:
    """The first release of a statement, without noise."""
    with one.engine.transaction() as transaction:
        exact = tuple(transaction.fetch(q.sql, q.keys, q.sums, q.counts, {}) for q in compiled.inner[0])
    return release(exact, compiled.plan.releases[0], compiled.inner[0], ZeroNoise())


def many_releases(plan: ReleasePlan, exact: NoisyRows, releases: int) -> NoisyRows:
    """So many releases of the same exact sums, one for each row."""
    noise = SystemNoise(SeededBytes(releases))
    sums: list[Mapping[str, np.ndarray]] = [{} for _ in plan.bases]
    for block in dict.fromkeys(basis.block for basis in plan.bases):
        parts = [(i, b, p) for i, b in enumerate(plan.bases) if b.block == block for p in b.parts]
        drawn = parts[0][1].mechanism.draw(noise, [b.scale(p) for _, b, p in parts], releases)
        for (i, _, p), z in zip(parts, drawn, strict=True):
            value = exact.sums[i][p.name][0]
            sums[i] = {**sums[i], p.name: (z if abs(value) < 2**62 else z.astype(object)) + value}
    return NoisyRows(tuple(sums))


def exact_value(tree: exp.Expr, plan: ReleasePlan, exact: NoisyRows) -> float:
    """Of an expression over exact sums: what two draws without noise give."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(monte_carlo, "_draws", lambda plan, count: [
            {p.name: np.zeros(count, dtype=np.int64) for p in basis.parts} for basis in plan.bases
        ])  # fmt: skip
        patch.setattr(monte_carlo, "_holding", lambda low, high, shown: (low, high))  # which may be rounded
        ((low, high),) = monte_carlo.drawn_ends(exact, plan, [tree], Fraction(95, 100))
    assert low == high
    return float(low[0])
