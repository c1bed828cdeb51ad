"""How far one privacy unit moves the exact sums of a basis: the one place where sensitivity is worked out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Part:
    """One integer sum that gets noise: rows·R + present·P + index·I.

    R is the number of rows that pass the filter, P how many of them have a value, I the sum of their grid indices.
    `unit` is the part's share: the noise scale in integer steps is unit / ε.
    """

    name: str
    unit: int
    rows: int = 0
    present: int = 0
    index: int = 0

    def __post_init__(self) -> None:
        if self.unit < 1:
            raise ValueError("a part's unit is a positive integer")

    def of_row(self, present: int, index: int) -> int:
        """What one row adds to this part."""
        return self.rows + self.present * present + self.index * index


def joint_bound(parts: tuple[Part, ...], cells: int) -> Fraction:
    """The largest Σ |what one row adds to a part| / the part's unit.

    A row that passes the filter has either no value (present 0, index 0) or a value with an index in [0, cells]; a row
    that doesn't adds nothing. For a present row each term is the absolute value of an affine function of the index,
    so the sum is convex and its maximum lies at an end of [0, cells].

    With Laplace noise of scale unit / ε on each part, adding or removing one row changes the log density of the joint
    output by at most ε times this bound (Dwork, McSherry, Nissim, Smith 2006, applied to the rescaled vector).
    """
    rows = [(0, 0), (1, 0), (1, cells)]
    return max(sum((Fraction(abs(part.of_row(*row)), part.unit) for part in parts), Fraction(0)) for row in rows)
