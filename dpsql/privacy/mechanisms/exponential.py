"""The exponential mechanism, exact: where a range of rows is cut in two, at a cell and at one of its rows.

**The law.** Rows lie in cells, in a public order; cell c has E_c of them (or so many steps of weight). A cut is a cell
and a fraction u of its rows, 0 <= u < 1, uniform but for how far it is from the rank that is wanted: its density is

    p(c, u) ∝ exp(-d(c, floor(E_c u)) / b),    d(c, t) = max(d_c, |first_c + step t| - slack),

where `first_c` is how far a cut below the cell's first row is beyond the rank, each further row adds `step`, and d_c is
how far the rank is from all that lies between the cell's ends, max(0, first_c, -(first_c + step E_c)). What is given is
the cell and t = floor(E_c u), the number of its rows that lie below the cut; the fraction isn't drawn any further than
t needs:

    P(c, t) ∝ exp(-d(c, t) / b) / E_c for t = 0, …, E_c - 1, or 1 instead of E_c for t = 0 of an empty cell.

It is the exponential mechanism of McSherry and Talwar ("Mechanism design via differential privacy", FOCS 2007) over
the cells and the places within them, among which equal values are spread evenly. Why it is private stands with those
who use it (`dpsql.privacy.mechanisms.permute_and_flip`).

**How it is drawn**: by rejection. Let m be the least distance d(c, t).

1. Cells are halved into blocks, each of the length 2^-k of its cell, i 2^-k <= u < (i + 1) 2^-k. A block has a level
   s <= 64 with exp(-(d - m) / b) <= 2^-s for all distances d in it: d - m is at least s b times a little more than
   ln 2.
2. A block is drawn with a probability proportional to 2^-(k + s): in whole numbers, all times one power of 2. In it t
   is drawn: with u = (i + v) 2^-k, v uniform in [0, 1), floor(E u) = floor((E i + floor(E v)) 2^-k), and floor(E v) is
   uniform below E.
3. It is given with the probability 2^s exp(-(d - m) / b) <= 1; else all begins again from step 2.

So each (c, t) is given with a probability proportional to the length of its u, times exp(-(d - m) / b), as wanted.
Step 3 is an event of `dpsql.privacy.mechanisms.laplace`: of a uniform number U, whether U < exp(-(d - m) / b) given
that its first s binary digits are 0. Integers alone are used, nothing is rounded and no tail is cut.

**Blocks.** One is halved while its level is below 64, its distances are more than b apart, and it is longer than half
of a row, 1 / 2E. What is at a level below 64 lies within 45 b of the best, so of any one length no more than some 90
blocks are halved (for a slack of b or less), the fewer the longer they are: some hundreds in all, whatever the cells.

**Tries.** s is the greatest level that a block may have. So one whose distances are b apart at most is given with a
probability of exp(-1) / 2 = 0.18 at least. One that was not halved for its length reaches over the border of two rows;
the two such blocks at the ends of a row's own 1 / E are no longer than that together, so that they weigh no more than
twice what the row has of the law. The blocks of level 64 weigh no more than 2^-64 for each cell, the law of all cells a
third of b / (step n) at least, of n rows in all, for n step > 2 b (see `Quantiles.rank_half_width`). So while cells
times step n / b is below 2^60, there are fewer than 8 tries on average; with incomes there are some 2. How many there
were is independent of what is given in the end.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpsql.privacy.mechanisms.laplace import LN_2_64, Event, fits_int64

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from dpsql.privacy.random_bytes import ByteSource

    Counts = npt.NDArray[Any]
    """Of rows or weights per cell: int64, or Python integers where some don't fit."""

NAME = "exponential"
LEVELS = 64
"""The greatest s: blocks that are less likely are taken for so likely, and rejected the more often."""
INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where rows may be cut: all sums and products of these numbers fit their type.

    first  of each cell: how far a cut below its first row is beyond the rank that is wanted
    rows   of each cell
    step   what each row adds
    slack  how far cuts within a cell may be from the rank and yet be as good as it
    """

    first: Counts
    rows: Counts
    step: int
    slack: int

    def reach(self) -> tuple[Counts, Counts]:
        """The least and the greatest distance of each cell's cuts."""
        last = self.first + self.step * np.maximum(self.rows - 1, 0)
        near = np.maximum(self.first, -last)
        around = np.flatnonzero(near < 0)  # the rank is between two cuts, or at one
        near[around] = np.minimum(self.first[around] % self.step, -self.first[around] % self.step)
        cell = np.maximum(np.maximum(self.first, -(self.first + self.step * self.rows)), 0)
        return np.maximum(cell, near - self.slack), np.maximum(cell, np.maximum(-self.first, last) - self.slack)

    def of_cell(self, cell: int) -> int:
        """How far the rank is from what lies between a cell's ends."""
        return max(0, self.beyond(cell, 0), -self.beyond(cell, int(self.rows[cell])))

    def beyond(self, cell: int, below: int) -> int:
        """How far a cut is beyond the rank that is wanted, of a cell of whose rows so many lie below it."""
        return int(self.first[cell]) + self.step * below

    def distance(self, cell: int, below: int) -> int:
        """d(cell, below): see the module."""
        return max(self.of_cell(cell), abs(self.beyond(cell, below)) - self.slack)


def cut(cuts: Cuts, scale: Fraction, source: ByteSource) -> tuple[int, int]:
    """A cell, and how many of its rows lie below the cut: see the module for the law, of b = `scale`."""
    starts = _starts(scale)
    near, far = cuts.reach()
    least, apart = int(near.min()), scale.numerator // scale.denominator
    levels = np.searchsorted(starts, np.minimum(near - least, INT64_MAX).astype(np.int64), side="right") - 1
    wide = (levels < LEVELS) & (far - near > apart)
    levels[wide] = -1
    blocks = [block for cell in np.flatnonzero(wide) for block in _halved(cuts, int(cell), least, apart, starts)]
    whole = np.bincount(levels + 1, minlength=LEVELS + 2)[1:].tolist()
    depth = LEVELS + max((block.halvings for block in blocks), default=0)
    weights = [many << depth - level for level, many in enumerate(whole)]
    ends = list(accumulate(weights + [1 << depth - block.level - block.halvings for block in blocks]))
    while True:
        drawn = _below(ends[-1], source)
        way = bisect_right(ends, drawn)
        if way <= LEVELS:
            place = (ends[way] - 1 - drawn) >> depth - way
            block = Block(int(np.flatnonzero(levels == way)[place]), 0, 0, way)
        else:
            block = blocks[way - LEVELS - 1]
        rows = int(cuts.rows[block.cell])
        below = (rows * block.start + _below(rows, source)) >> block.halvings if rows else 0
        beyond = cuts.distance(block.cell, below) - least
        # less likely than 2^-level, so that many digits are 0; what isn't beyond the best is certain
        if not beyond or Event(beyond / scale, is_digit=False, head=0).settle(0, block.level, source):
            return block.cell, below


def _below(limit: int, source: ByteSource) -> int:
    """A number that is uniform on {0, …, limit - 1}, however large the limit."""
    bits = (limit - 1).bit_length()
    size = -(-bits // 8)
    while (drawn := int.from_bytes(source.read(size), "big") >> 8 * size - bits) >= limit:
        pass
    return drawn


class Block(NamedTuple):
    """A part of a cell's rows, from `start` 2^-halvings on, of the length 2^-halvings; see the module."""

    cell: int
    start: int
    halvings: int
    level: int


def _halved(cuts: Cuts, cell: int, least: int, apart: int, starts: Sequence[int]) -> Iterator[Block]:
    """The blocks that make up a cell whose distances are more than `apart` apart."""
    rows, of_cell, open_ = int(cuts.rows[cell]), cuts.of_cell(cell), [(0, 0)]
    while open_:
        start, halvings = open_.pop()
        first = cuts.beyond(cell, rows * start >> halvings)
        last = cuts.beyond(cell, rows * (start + 1) - 1 >> halvings)
        near, far = max(first, -last), max(of_cell, max(-first, last) - cuts.slack)
        near = max(of_cell, (near if near >= 0 else min(first % cuts.step, -first % cuts.step)) - cuts.slack)
        level = bisect_right(starts, near - least) - 1
        if level == LEVELS or far - near <= apart or 1 << halvings >= 2 * rows:
            yield Block(cell, start, halvings, level)
        else:
            open_ += [(2 * start, halvings + 1), (2 * start + 1, halvings + 1)]


@lru_cache(maxsize=256)
def _starts(scale: Fraction) -> tuple[int, ...]:
    """From which distance on exp(-distance / scale) is at most 2^-s: s times a little more than scale times ln 2."""
    if not (scale > 0 and fits_int64(scale)):
        raise ValueError("the scale of a cut must be above 0 and below 2^62 / ln(2^64)")
    return tuple(math.ceil(scale * LN_2_64 * level / LEVELS) for level in range(LEVELS + 1))
