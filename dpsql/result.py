"""What a caller gets: rows, their columns, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """One column of a result.

    type        the SQL type, as DuckDB names it
    half_width  the answer ± this holds the exact number in `level` of all releases, where the column is one released
                number as it stands and the half-width is the same for all rows; else None
    half_widths the same, one for each row, where it depends on the answer (AVG)

    Half-widths cover noise, not clipping, and refer to a count before it is shown as 0.
    """

    name: str
    type: str
    half_width: float | None = None
    half_widths: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Privacy:
    """What an answer cost: ε asked for, ε charged, and what is left for this analyst (None: no limit)."""

    analyst: str
    epsilon: Fraction
    epsilon_charged: Fraction
    epsilon_left: Fraction | None
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one statement."""

    columns: tuple[ResultColumn, ...]
    rows: list[tuple[Any, ...]]
    privacy: Privacy
