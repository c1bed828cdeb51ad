"""The error that the law of the noise gives: no noise is drawn.

**Of what is computed from noisy sums**, by the delta method. A number is computed from noisy sums. To first order its
error is Σ (its derivative by a sum)·(noise of that sum), and the noises of different sums have no correlation, also
those of a cube, which is symmetric in each. So its mean square is Σ derivative²·variance, with the variances of the
scales and mechanisms that the plan has. The derivatives are those of the product's own arithmetic, by differences
around the exact sums. For a count or a sum this is no approximation; for a mean or a variance of n rows what is left
out is smaller by a factor of about 1 / (ε n).

**Of what is chosen by permute-and-flip.** Candidate c shows heads with probability p_c = exp(−d_c / b), d_c its
distance from the best, and the choice is uniform among the heads. With 1 / (1 + k) = ∫ t^k dt from 0 to 1, where k of
the others show heads,

    P(c) = p_c ∫ Π_{j ≠ c} (1 − p_j + p_j t) dt,

in which candidates of one distance are one factor to a power.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dpsql.columns import released
from dpsql.plan import BasisPlan, ReleasePlan
from dpsql.privacy.mechanisms.permute_and_flip import Quantiles
from dpsql.privacy.sensitivity import Part
from dpsql.query import number_name
from dpsql.release import NoisyRows, release
from tests.benchmarks.accuracy.measure import Fetched
from tests.harness import ZeroNoise

FAR, NEAR = 1024, 1
"""How many standard deviations of the noise a difference reaches: of numbers that are linear in the sums, so far that
rounding to whole ones isn't seen, and of others."""
LINEAR = frozenset({"count", "sum"})


def errors(fetched: Fetched) -> list[float]:
    """The root mean squared error of each number of a release: of noisy sums, or of one median and nothing else."""
    if fetched.plan.bases[0].candidates is not None:
        return [_median_error(fetched)]
    return _summed_errors(fetched)


def _summed_errors(fetched: Fetched) -> list[float]:
    plan = fetched.plan
    without = release(fetched.rows, plan, fetched.inner, ZeroNoise())
    squares = [0.0] * len(plan.numbers)
    for index, basis in enumerate(plan.bases):
        for part in basis.parts:
            deviation = math.sqrt(variance(basis, part))
            for span in (FAR, NEAR):
                step = max(1, round(span * deviation))
                up, down = (_numbers(plan, _moved(without, index, part, by)) for by in (step, -step))
                for number, planned in enumerate(plan.numbers):
                    if (planned.call.aggregate in LINEAR) == (span == FAR):
                        squares[number] += ((up[number] - down[number]) / (2 * step) * deviation) ** 2
    return [math.sqrt(square + rounding(plan, n)) for n, square in enumerate(squares)]


def variance(basis: BasisPlan, part: Part) -> float:
    """Of the noise of a part, in its steps: of discrete Laplace noise 2a / (1 − a)², a = exp(−1 / scale).

    That of a cube has many steps, so that it is the variance of the continuous law.
    """
    scale = basis.scale(part)
    if basis.mechanism.one_scale:
        return float(scale) ** 2 * basis.mechanism.variance(basis.sums)
    a = math.exp(-1 / scale)
    return 2 * a / math.expm1(-1 / scale) ** 2


def rounding(plan: ReleasePlan, number: int) -> float:
    """The variance of rounding to whole numbers: 1/12 where a whole number is computed from finer noise."""
    planned = plan.numbers[number]
    finer = any(part.unit > 1 for part in plan.bases[planned.basis].parts)
    return 1 / 12 if planned.call.sql_type == "BIGINT" and finer else 0.0


def _moved(noisy: NoisyRows, index: int, part: Part, by: int) -> NoisyRows:
    sums: list[Mapping[str, np.ndarray]] = list(noisy.sums)
    sums[index] = {**sums[index], part.name: sums[index][part.name] + by}
    return replace(noisy, sums=tuple(sums))


def _numbers(plan: ReleasePlan, noisy: NoisyRows) -> list[float]:
    columns = released(noisy, plan, counts="raw").columns
    return [float(columns[number_name(n)][0]) for n in range(len(plan.numbers))]


def _median_error(fetched: Fetched) -> float:
    (basis,), (rows,) = fetched.plan.bases, fetched.rows
    candidates = basis.candidates
    assert candidates is not None and isinstance(candidates.mechanism, Quantiles)
    counts = np.zeros(candidates.count, dtype=np.int64)
    counts[rows.keys[-1].values] = rows.sums[0]
    grid = candidates.grid
    values = float(grid.lower) + float(grid.grain) * np.arange(candidates.count)
    right = float(np.median(np.repeat(values, counts)))
    through = np.cumsum(counts)
    distances = np.maximum(np.maximum(2 * (through - counts) - through[-1], through[-1] - 2 * through), 0)
    apart, place, many = np.unique(distances, return_inverse=True, return_counts=True)
    scale = 2 * candidates.mechanism.bound / candidates.mechanism.epsilon  # 2 D / ε: twice a row's place moves by 1
    chances = chances_of((apart - apart[0]) / float(scale), many)
    return math.sqrt(float(chances @ np.bincount(place, (values - right) ** 2)))


def chances_of(distances: np.ndarray, many: np.ndarray) -> np.ndarray:
    """How likely each of `many` candidates that are so far from the best, in units of b, is chosen.

    The integral is taken over y with t = 1 − exp(−y), which is wide where the integrand is: near 1.
    """
    near = distances < 50
    chance, many = np.exp(-distances[near]), many[near]
    step = 0.01
    missing = np.exp(-step * (np.arange(4_000) + 0.5))[:, None]  # 1 - t
    tails = 1 - chance * missing
    together = np.exp((many * np.log(tails)).sum(axis=1))[:, None]
    found = np.zeros(len(distances))
    found[near] = chance * step * (together / tails * missing).sum(axis=0)
    return found
