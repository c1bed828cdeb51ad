"""Where rows are cut by the exponential mechanism: its law, exactly drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.privacy.mechanisms import exponential
from dpsql.privacy.mechanisms.exponential import Block, Cuts, cut
from tests.chisquare import Z, chi_square
from tests.harness import ZeroNoise
from tests.seeded import SeededBytes

F = Fraction


def cuts_at(rows: list[int], fraction: Fraction, slack: Fraction | int = 0, dtype: Any = np.int64) -> Cuts:
    """For the quantile of that fraction."""
    a, b = fraction.as_integer_ratio()
    counts = np.array(rows, dtype=dtype)
    return Cuts(b * (np.cumsum(counts) - counts) - a * sum(rows), counts, b, int(slack))


def law_of_cuts(cuts: Cuts, scale: Fraction) -> dict[tuple[int, int], float]:
    """The probability of each cell and number of its rows below, by the definition."""
    found = {
        (cell, below): math.exp(-float(cuts.distance(cell, below) / scale)) / max(rows, 1)
        for cell, rows in enumerate(cuts.rows.tolist()) for below in range(max(rows, 1))
    }  # fmt: skip
    together = sum(found.values())
    return {place: weight / together for place, weight in found.items()}


@pytest.mark.parametrize(("rows", "fraction", "scale"), [
    ([0, 2, 7, 0, 40, 1, 0], F(1, 2), F(8)), ([3, 0, 1, 5, 0, 0], F(1, 3), F(3, 2)), ([90], F(9, 10), F(37, 5)),
    ([0, 0, 0], F(1, 2), F(1)), ([1, 1, 6, 2, 0], F(3, 7), F(3)),
])  # fmt: skip
def test_law(rows: list[int], fraction: Fraction, scale: Fraction) -> None:
    """Of rows in either type, with slack and without; those that are expected less than 5 times are seldom."""
    source, size = SeededBytes(7), 800
    for dtype, slack in ((np.int64, scale), (object, 0)):
        cuts = cuts_at(rows, fraction, slack, dtype)
        expected = {place: size * p for place, p in law_of_cuts(cuts, scale).items()}
        found = dict.fromkeys(expected, 0)
        for _ in range(size):
            found[cut(cuts, scale, source)] += 1
        likely = [place for place, number in expected.items() if number >= 5]
        rest = [place for place in expected if place not in likely]
        few = sum(expected[place] for place in rest)
        assert sum(found[place] for place in rest) <= few + Z * math.sqrt(few) + 5
        statistic, critical = chi_square([found[p] for p in likely], [expected[p] for p in likely])
        assert statistic < critical


def test_a_scale_that_is_4_percent_off_is_noticed() -> None:
    """One cell at the rank, beside 3,000 that are e^8 times less likely each."""
    cuts = Cuts(np.array([64] * 1_500 + [0] + [64] * 1_500), np.array([0] * 1_500 + [1] + [0] * 1_500), 2, 8)
    likely, size = 1 / (1 + 3_000 * math.exp(-8)), 5_000
    for scale, right in ((F(8), True), (F(832, 100), False)):
        source = SeededBytes(3)
        hits = sum(cut(cuts, scale, source)[0] == 1_500 for _ in range(size))
        assert (abs(hits / size - likely) < Z * math.sqrt(likely * (1 - likely) / size)) == right


@pytest.mark.parametrize(("rows", "first", "scale"), [
    (40, -37, F(8)), (10**9, -(10**9), F(8)), (10**9, -2 * 10**9, F(8)), (10**9, -5, F(1, 3)), (2**60, -(2**60), F(2)),
    (7, 10**6, F(8)), (3, -1, F(10**6)), (1000, -999, F(1, 10)),
])  # fmt: skip
def test_blocks_make_up_their_cell_and_none_is_likelier_than_its_level(rows: int, first: int, scale: Fraction) -> None:
    """No further below it than by a factor of 2 e, but for those that reach over the border of two rows alone."""
    cuts = Cuts(np.array([first]), np.array([rows]), 2, int(scale))
    near, far = (int(number[0]) for number in cuts.reach())
    starts = exponential._starts(scale)
    blocks = list(exponential._halved(cuts, 0, near, int(scale), starts))
    assert sum(F(1, 2**block.halvings) for block in blocks) == 1 and len(blocks) < 600
    assert len({F(block.start, 2**block.halvings) for block in blocks}) == len(blocks)
    for block in blocks:
        low = rows * block.start >> block.halvings
        high = rows * (block.start + 1) - 1 >> block.halvings
        ends = [cuts.distance(0, below) for below in (low, high)]
        if cuts.beyond(0, low) < 0 < cuts.beyond(0, high):
            ends.append(near)
        nearest, farthest = (float((distance - near) / scale) for distance in (min(ends), max(ends)))
        assert nearest >= block.level * math.log(2) and max(ends) <= far
        if block.level < exponential.LEVELS and high - low > 1:
            assert farthest < (block.level + 1) * math.log(2) + 1 + 1e-6


class Counted:
    """Counts what is read."""

    def __init__(self) -> None:
        self.source, self.reads = SeededBytes(9), 0

    def read(self, size: int) -> bytes:
        self.reads += 1
        return self.source.read(size)


@pytest.mark.parametrize(("rows", "scale"), [
    ([0] * 999, F(8)), ([1] * 999, F(8)), ([0] * 5_000 + [100] + [0] * 5_000, F(8)), ([10**6, 10**6], F(1, 100)),
    ([2, 4096, 1, 0], F(1, 4)), ([3 * 10**8, 4 * 10**9, 3 * 10**8], F(8)), ([2**59] * 3, F(5)), ([1], F(1, 10**6)),
])  # fmt: skip
def test_few_tries_are_enough(rows: list[int], scale: Fraction) -> None:
    """Each reads three numbers at most, seldom one of them again."""
    source = Counted()
    for _ in range(50):
        cut(cuts_at(rows, F(1, 2), scale), scale, source)
    assert source.reads < 50 * 3 * 8


def test_the_best_are_known() -> None:
    """How near and how far each cell's cuts are, and which cut is chosen without noise."""
    random = np.random.default_rng(5)
    for _ in range(200):
        rows = random.integers(0, 4, 5).tolist()
        cuts = cuts_at(rows, F(int(random.integers(1, 7)), 7), int(random.integers(0, 9)))
        distances = [[cuts.distance(cell, below) for below in range(max(n, 1))] for cell, n in enumerate(rows)]
        near, far = cuts.reach()
        assert near.tolist() == [min(d) for d in distances] and far.tolist() == [max(d) for d in distances]
        cell, below = ZeroNoise().cut(cuts, F(1))
        assert distances[cell][below] == min(map(min, distances))


@pytest.mark.parametrize("scale", [F(0), F(-1), F(2**62)])
def test_a_scale_that_does_not_fit_is_refused(scale: Fraction) -> None:
    with pytest.raises(ValueError, match="the scale of a cut must be above 0 and below"):
        cut(cuts_at([1, 2], F(1, 2)), scale, SeededBytes(1))


def test_a_block_is_what_it_says() -> None:
    """Far from the rank a whole cell is one block, of the last level."""
    (block,) = exponential._halved(Cuts(np.array([10**6]), np.array([9]), 2, 8), 0, 0, 8, exponential._starts(F(8)))
    assert block == Block(cell=0, start=0, halvings=0, level=64)
