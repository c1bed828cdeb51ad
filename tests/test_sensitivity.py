"""Joint bounds against every row that there is, and bounds of units that make no sense."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from dpsql.privacy.sensitivity import WEIGHT, ContributionBound, Part, joint_bound


def brute(parts: tuple[Part, ...], cells: int) -> Fraction:
    """The most that a row adds: one without a value, or with any index."""
    rows = [(0, 0), *((1, i) for i in range(cells + 1))]
    return max(sum((Fraction(abs(p.of_row(*row)), p.unit) for p in parts), Fraction(0)) for row in rows)


def random_part(random: Random, *, square: bool) -> Part:
    numbers = {name: random.randint(-9, 9) for name in ("rows", "present", "index")}
    return Part("any", random.randint(1, 9), **numbers, square=random.randint(-3, 3) if square else 0)


def test_no_row_adds_more_than_the_joint_bound() -> None:
    """For any parts: no less than the most that a row adds, and no more than each part's most together."""
    random = Random(1)
    for _ in range(2_000):
        cells = random.randint(1, 12)
        parts = tuple(random_part(random, square=random.random() < 0.7) for _ in range(random.randint(1, 3)))
        bound = joint_bound(parts, cells)
        assert brute(parts, cells) <= bound
        if not any(part.square for part in parts):
            assert bound == brute(parts, cells)
        if len(parts) == 1 and not (vertex := abs(parts[0].index) % (2 * abs(parts[0].square or 1))):
            assert vertex == 0 and bound == brute(parts, cells)  # the vertex is a whole index, or none


@pytest.mark.parametrize(("cells", "bound"), [(2, Fraction(1, 2)), (10, Fraction(1, 2)), (3, Fraction(1, 2))])
def test_a_part_may_be_largest_between_the_ends(cells: int, bound: Fraction) -> None:
    """2i(n − i) is 0 at both ends and n²/2 between; on an odd grid its vertex is no index, and is taken too."""
    middle = Part("middle", cells * cells, index=2 * cells, square=-2)
    assert joint_bound((middle,), cells) == bound
    less = Part("less", cells * cells, index=-2 * cells, square=2)  # never positive: its own most counts
    assert joint_bound((less,), cells) == bound
    assert joint_bound((middle, less), cells) == 2 * bound


def test_bounds_that_make_no_sense_are_refused() -> None:
    for rows, weighted, groups in ((0, False, None), (-1, True, None), (4, True, 3), (4, False, 2)):
        with pytest.raises(ValueError, match="contribution bound"):
            ContributionBound(rows, weighted, groups)
    with pytest.raises(ValueError, match="unit"):
        Part("none", 0)
    assert ContributionBound(3).total == 3
    assert ContributionBound(4, weighted=True, groups=2).total == 4 * WEIGHT
