"""The error that the law of the noise gives, by the delta method: no noise is drawn.

A number is computed from noisy sums. To first order its error is Σ (its derivative by a sum)·(noise of that sum), and
the noises of different sums have no correlation, also those of a cube, which is symmetric in each. So its mean square
is Σ derivative²·variance, with the variances of the scales and mechanisms that the plan has. The derivatives are those
of the product's own arithmetic, by differences around the exact sums. For a count or a sum this is no approximation;
for a mean or a variance of n rows what is left out is smaller by a factor of about 1 / (ε n).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dpsql.columns import released
from dpsql.plan import BasisPlan, ReleasePlan
from dpsql.privacy.sensitivity import Part
from dpsql.query import number_name
from dpsql.release import NoisyRows, release
from tests.benchmarks.accuracy.measure import Fetched
from tests.harness import ZeroNoise

FAR, NEAR = 1024, 1
"""How many standard deviations of the noise a difference reaches: of numbers that are linear in the sums, so far that
rounding to whole ones isn't seen, and of others."""
LINEAR = frozenset({"count", "sum"})


def is_known(fetched: Fetched) -> bool:
    """Whether the numbers are computed from noisy sums, rather than chosen."""
    return all(number.call.aggregate != "median" for number in fetched.plan.numbers)


def errors(fetched: Fetched) -> list[float]:
    """The root mean squared error of each number of a release whose numbers are computed from noisy sums."""
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
