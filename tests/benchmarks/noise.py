"""CPU time of the noise, against its targets: `python -m tests.benchmarks.noise`.

Exits with 1 where a target is missed. The `fast` rows need the `fast` extra (cryptography);
without it they are left out.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from statistics import median

import numpy as np

from dpsql.privacy.mechanism import laplace_mechanism
from dpsql.privacy.mechanisms.cube import cube_noise
from dpsql.privacy.mechanisms.laplace import DiscreteLaplace, discrete_laplace
from dpsql.privacy.random_bytes import HAS_AES, AesCtr, SystemRandom

CELLS = 10**6
SMALL_SCALES = [Fraction(1, 10**9), Fraction(1), Fraction(100)]
LARGE_SCALES = [Fraction(2**20), Fraction(2**40), Fraction(2**56)]
SOURCES = [("core", SystemRandom(), 1.0)] + ([("fast", AesCtr(), 0.25)] if HAS_AES else [])
"""Name, source, share of the core packages' target."""


def cpu_time(action, repetitions: int = 7, inner: int = 1) -> float:
    """Median CPU seconds of one `action`."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        for _ in range(inner):
            action()
        times.append((time.process_time() - start) / inner)
    return median(times)


def measurements():
    """(what, CPU seconds, target in seconds), one after the other."""
    for name, source, share in SOURCES:
        for scale in SMALL_SCALES + LARGE_SCALES:
            law = DiscreteLaplace(scale)
            target = share * (0.2 if scale <= 100 else 0.8)
            seconds = cpu_time(lambda law=law, source=source: law.sample(CELLS, source))
            yield f"{name}: 1e6 cells at scale {float(scale):g}", seconds, target
    for scale in (Fraction(1), Fraction(100)):
        seconds = cpu_time(lambda scale=scale: DiscreteLaplace(scale), inner=200)
        yield f"making the law of scale {float(scale):g}", seconds, 1e-3
    for scale in (Fraction(1), Fraction(2**40)):
        law = discrete_laplace(scale)
        seconds = cpu_time(lambda law=law: law.sample(1, SystemRandom()), inner=2000)
        yield f"one draw at scale {float(scale):g}", seconds, 100e-6
    yield from cubes((2, 3, 10))
    yield (
        "laplace_mechanism of one number",
        cpu_time(lambda: laplace_mechanism(3.5, 1.0, 1.0), inner=1000),
        1e-3,
    )
    values = np.linspace(-1e3, 1e3, CELLS)
    yield "laplace_mechanism of 1e6 entries", cpu_time(lambda: laplace_mechanism(values, 1.0, 1.0), 3), 1.0


def cubes(dimensions):
    """The same of cube noise, of so many dimensions each."""
    for number in dimensions:
        law = cube_noise(Fraction(2**20), number)
        for name, source, _ in SOURCES:
            seconds = cpu_time(lambda law=law, source=source: law.sample(CELLS // 10, source), 3)
            yield f"{name}: 1e5 draws of a cube of {number} dimensions", seconds, 2.0


def main() -> int:
    """Print every figure beside its target."""
    missed = 0
    for what, seconds, target in measurements():
        missed += seconds > target
        verdict = "missed" if seconds > target else ""
        print(f"{what:40}{seconds * 1e3:12.4f} ms   target {target * 1e3:8.3f} ms   {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
