"""What a caller gets: rows, their columns, and what they cost."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import os

    from dpsql.plot import Chart

Row = tuple[Any, ...]
Array = npt.NDArray[Any]
Ends = tuple[Array, Array]
Pair = tuple[float | None, float | None]
"""The ends of an interval, None for one that isn't known: it may be anything on that side."""
LEVEL = Fraction(95, 100)
"""Of half-widths, and of intervals that name none."""


def percent_text(level: float | Fraction) -> str:
    """`99.9 %`: a level as people read it."""
    return f"{float(Fraction(str(level)) * 100):g} %"


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


_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BIGNUM|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)", re.IGNORECASE)


def is_number_type(sql_type: str) -> bool:
    """Whether values of a SQL type, as DuckDB names it, are numbers."""
    return _NUMBER.fullmatch(sql_type) is not None


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
        return Values(list(map(itemgetter(slice(width)), self.rows)))


def _zipped(columns: Sequence[Array]) -> list[Row]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


class Intervals:
    """The intervals of a column, one for each row, worked out once they are looked at.

    By Monte Carlo (`drawn`) that takes some milliseconds and more; else it is done at once.
    """

    __slots__ = ("_ends", "_make", "_values", "drawn")

    def __init__(self, make: Callable[[], Ends], values: Callable[[], Array], *, drawn: bool = False) -> None:
        """`make` gives the ends, NaN where none are known; `values` the column."""
        self._make: Callable[[], Ends] | None = make
        self._ends: Ends | None = None
        self._values = values
        self.drawn = drawn

    @property
    def ends(self) -> Ends:
        """Lower and upper ends, NaN where none are known."""
        if self._ends is None:
            make = self._make
            if make is not None:  # else another thread was quicker
                self._ends, self._make = make(), None
        assert self._ends is not None
        return self._ends

    @property
    def pairs(self) -> tuple[Pair | None, ...]:
        """(low, high) for each row, None for an end that isn't known, or for both."""
        low, high = ([None if end != end else end for end in ends.tolist()] for ends in self.ends)
        return tuple(None if a is None and b is None else (a, b) for a, b in zip(low, high, strict=True))

    @property
    def half_widths(self) -> tuple[float | None, ...]:
        """The longer side of each interval, seen from the value; None where it isn't known."""
        low, high = (end.astype(np.float64) for end in self.ends)
        values = [math.nan if value is None else float(value) for value in self._values().tolist()]
        with np.errstate(invalid="ignore"):  # of infinite values
            longer: Array = np.maximum(np.maximum(values - low, high - values), 0.0)
        return tuple(None if width != width else width for width in longer.tolist())


@dataclass(frozen=True, slots=True)
class Rank:
    """What is known of the rank of a value that was chosen, in rows.

    Of a list of quantiles it holds for each of them.

    half_width  how far it is at most, in `level` of all releases, from that of the quantile that was asked for,
                whatever the data; None for an extreme
    usual       the same where the values lie close together, about
    beyond      about how many rows lie beyond an extreme
    """

    half_width: float | None = None
    usual: float | None = None
    beyond: float | None = None

    def text(self, level: float) -> str:
        """`within 42 rows of its rank at 95 %, about 7.8 among close values`, `about 25 rows lie beyond`."""
        if self.half_width is None or self.usual is None:
            beyond = _rows(self.beyond or 0.0)
            return "about 1 row lies beyond" if beyond == "1" else f"about {beyond} rows lie beyond"
        most, usual = _rows(self.half_width), _rows(self.usual)
        rows = "row" if most == "1" else "rows"
        return f"within {most} {rows} of its rank at {percent_text(level)}, about {usual} among close values"

    def facts(self, level: float) -> dict[str, Any]:
        """The same as plain values, with the text."""
        return {**asdict(self), "text": self.text(level)}


def largest(ranks: Iterable[Rank | None]) -> Rank | None:
    """What holds for each of several quantiles; None where it isn't known of one of them."""
    half_widths, usual = [], []
    for rank in ranks:
        if rank is None or rank.half_width is None or rank.usual is None:
            return None
        half_widths.append(rank.half_width)
        usual.append(rank.usual)
    return Rank(max(half_widths), max(usual))


def _rows(number: float) -> str:
    """A number of rows, to two digits below a hundred."""
    return f"{number:.2g}" if number < 100 else f"{number:,.0f}"


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """One column of a result.

    type        the SQL type, as DuckDB names it
    half_width  the answer ± this holds the exact number in `level` of all releases, where the column is one released
                number as it stands and the half-width is the same for all rows; else None
    intervals   of the exact numbers, one for each row; None where none are known
    rank        what is known of the rank of a quantile, or of the smallest or the greatest value
    noisy       whether it is computed from released numbers; None where that doesn't show: in joins and set operations
    end_level   the level of the interval of which it is an end; None where it is none, or that doesn't show
    is_end      whether it is an end of an interval, or computed from some
    written     the aggregate as people know it, where it is one released number

    They cover noise, not clipping, and refer to a count before it is shown as 0.
    """

    name: str
    type: str
    half_width: float | None = None
    intervals: Intervals | None = field(default=None, compare=False, repr=False)
    rank: Rank | None = None
    noisy: bool | None = None
    end_level: float | None = None
    is_end: bool = False
    written: str = field(default="", compare=False, repr=False)

    @property
    def half_widths(self) -> tuple[float | None, ...] | None:
        """The half-widths where they depend on the answer (AVG, arithmetic): the longer side of each interval."""
        return self.intervals.half_widths if self.half_width is None and self.intervals is not None else None


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

    def plot(self, path: str | os.PathLike[str] | None = None) -> Chart:
        """Its plot, see `dpsql.plot`; with `path` it is written there too."""
        from dpsql.plot import plot  # the layers' one exception: what is drawn of a result is asked of the result

        return plot(self, path)
