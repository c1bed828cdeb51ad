"""Which columns of an answer are keys, which are numbers, and which are the ends of a number's interval."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dpsql.display import is_number
from dpsql.errors import NotSupportedError
from dpsql.policy.problems import printable
from dpsql.result import ResultColumn

MOST_NUMBERS = 8
"""More panels than that are no longer one picture."""
_NESTED = re.compile(r"\[\d*\]$|^(STRUCT|MAP|UNION)\b")
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Number:
    """The position of a column that is drawn; of the columns that hold the ends of its interval, where there are any.

    Without such columns the interval is answer ± half-width, where that is known.
    """

    index: int
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns that tell bars apart, those that are their lengths, and those that have no place; in their order."""

    keys: tuple[int, ...]
    numbers: tuple[Number, ...]
    neither: tuple[int, ...] = ()


def roles(columns: Sequence[ResultColumn]) -> Roles:
    """What the columns are. It depends on no values, so it is known before anything is charged.

    What isn't a number is a key; lists and the like have no place, nor have chosen dates (`MAX(day)`), which tell no
    bars apart. Numbers that are computed from released ones are drawn, others are keys (`FLOOR(age / 10)`). Where that
    isn't known, as in joins, numbers with an interval are drawn, as are those that stand after the first of them; where
    none has one, only the first column can be a key. `n_low` and `n_high` beside n are the ends of its interval.

    Raises NotSupportedError where there is no number, or more than `MOST_NUMBERS`.
    """
    ends = _ends(columns)
    taken = {index for pair in ends.values() for index in pair}
    numeric = [i for i, column in enumerate(columns) if is_number(column) and i not in taken]
    noisy = [i for i in numeric if columns[i].noisy]
    if noisy or all(column.noisy is not None for column in columns):
        drawn = [i for i in numeric if i in noisy or i in ends]
    elif ends:
        drawn = [i for i in numeric if i >= min(ends)]
    else:
        drawn = numeric[1:] if numeric and len(numeric) == len(columns) > 1 else numeric
    if not drawn:
        raise NotSupportedError("no column of this answer is a number that could be drawn", hint=_wanted(columns))
    if len(drawn) > MOST_NUMBERS:
        raise NotSupportedError(
            f"{len(drawn)} numbers are too many for one plot", hint=f"select at most {MOST_NUMBERS} of them"
        )
    numbers = tuple(Number(i, *ends.get(i, (None, None))) for i in drawn)
    others = [i for i in range(len(columns)) if i not in taken and i not in drawn]
    neither = tuple(i for i in others if _is_neither(columns[i]))
    return Roles(tuple(i for i in others if i not in neither), numbers, neither)


def _is_neither(column: ResultColumn) -> bool:
    """Whether it has no place: a list, a chosen date, or an end of its interval."""
    return column.rank is not None or column.is_end or _NESTED.search(column.type) is not None


def _wanted(columns: Sequence[ResultColumn]) -> str:
    """SQL that could be drawn, by the first column that may be a key."""
    names = [c.name for c in columns if c.rank is None and _PLAIN_NAME.fullmatch(c.name)]
    key = names[0] if names else "x"
    return f"select what to count by, and a number: SELECT {key}, COUNT(*) AS n FROM … GROUP BY {key}"


def _ends(columns: Sequence[ResultColumn]) -> dict[int, tuple[int, int]]:
    """Of each number the columns of the ends of its interval, where it has both."""
    places = {column.name: index for index, column in enumerate(columns) if is_number(column)}
    found = {}
    for name, index in places.items():
        low, high = places.get(f"{name}_low"), places.get(f"{name}_high")
        if low is not None and high is not None:
            found[index] = (low, high)
    return found


def title(columns: Sequence[ResultColumn], found: Roles) -> str:
    """What the plot shows, in words: `n and mean by married`."""
    numbers = _listed([columns[number.index].name for number in found.numbers])
    keys = _listed([columns[index].name for index in found.keys])
    return printable(f"{numbers} by {keys}" if keys else numbers, 200)


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
