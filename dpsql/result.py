"""What a caller gets: rows, their columns, and what they cost."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

Row = tuple[Any, ...]
Array = npt.NDArray[Any]
LEVEL = Fraction(95, 100)
"""Of half-widths, and of intervals that name none."""


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
    """What an answer cost: ε asked for, ε and δ charged, and the ε left for this analyst (None: no limit).

    threshold  where keys aren't public: how many units a key must have more than, noise included, to be shown
    stored     when the oldest of its numbers were released (UTC), where some were stored: they cost nothing again
    """

    analyst: str
    epsilon: Fraction
    epsilon_charged: Fraction
    epsilon_left: Fraction | None
    level: float = float(LEVEL)
    delta_charged: Fraction = Fraction(0)
    threshold: int | None = None
    stored: dt.datetime | None = None


def moment_text(time: dt.datetime) -> str:
    """A moment in UTC for people: `2026-11-30 14:02:11 UTC`."""
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def stored_text(time: dt.datetime, charged: Fraction) -> str:
    """What is stored of an answer, for people: `stored 2026-11-30 14:02:11 UTC`, `partly stored …`."""
    return f"{'partly ' if charged else ''}stored {moment_text(time)}"


class Values:
    """The values of an answer, kept as they came: as rows, or as columns of which rows are made once they are wanted.

    Rows hold Python values, None for NULL. Columns hold numpy's numbers or Python values, masked or None for NULL.
    """

    __slots__ = ("_columns", "_rows")

    def __init__(self, rows: list[Row] | None = None, *, columns: Sequence[Array] = ()) -> None:
        self._rows = rows
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns[0]) if self._rows is None else len(self._rows)

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        if self._rows is None:
            self._rows = _zipped(self._columns)
        return self._rows

    def head(self, count: int) -> list[Row]:
        """The first rows."""
        return _zipped([c[:count] for c in self._columns]) if self._rows is None else self._rows[:count]

    def column(self, index: int, start: int = 0) -> Array:
        """A column from row `start` on."""
        if self._columns:
            return self._columns[index][start:]
        values = map(itemgetter(index), islice(self.rows, start, None))
        return np.fromiter(values, dtype=object, count=max(len(self) - start, 0))

    def without_columns_from(self, width: int) -> Values:
        """The same with its first `width` columns alone."""
        if self._columns:
            return Values(columns=self._columns[:width])
        return Values([row[:width] for row in self.rows])


def _zipped(columns: Sequence[Array]) -> list[Row]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one statement."""

    columns: tuple[ResultColumn, ...]
    values: Values
    privacy: Privacy

    @property
    def rows(self) -> list[Row]:
        """Its rows, of Python values."""
        return self.values.rows
