"""Where the rows of an answer stand in a plot: a place along the axis of keys, and a colour."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from dpsql.display import cells, is_number
from dpsql.plot.roles import Roles
from dpsql.policy.problems import printable
from dpsql.result import Result, ResultColumn, Row

MOST_BARS = 50
"""Where a number or a date has more values than that, or more rows than `MOST_ROWS`, a line is drawn along them."""
MOST_GROUPED = 12
"""Where more dates than that have several bars each, lines are drawn along them."""
MOST_ROWS = 100
"""Of rows that have no place on a line, as many are drawn, the first ones."""
MOST_POINTS = 5_000
"""The same of rows on a line."""
MOST_SERIES = 10
"""As many colours can be told apart."""
_LONGEST_LABEL = 40
_MIDNIGHT = " 00:00:00"
"""What is left out where all moments are days."""
_DATES = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows that are drawn, and where.

    axis     ordinal: bars, at numbered places; quantitative, temporal: a line along numbers or dates
    name     what stands along the axis
    places   of each row, the number of its place, or its number or date; None where it has none
    labels   of the numbered places
    ordered  whether the places are numbers, dates or truth values, whose labels are short
    legend   what colours mean
    series   of each row, the number of its colour; empty where there is one for all
    colors   the labels of the colours
    texts    of each row, its keys in words
    """

    rows: list[Row]
    axis: Literal["ordinal", "quantitative", "temporal"]
    name: str
    places: Sequence[float | str | None]
    texts: Sequence[str]
    labels: Sequence[str] = ()
    ordered: bool = False
    legend: str = ""
    series: Sequence[int] = ()
    colors: Sequence[str] = ()

    @property
    def single(self) -> bool:
        """Whether it is one row of numbers, with no key."""
        return not self.name


def layout(result: Result, roles: Roles) -> Layout:
    """Bars in the rows' order, in groups of colours if there are two keys; a line where there are too many."""
    rows = result.values.head(MOST_POINTS)
    roles = _turned(result, roles, rows)
    keys = [_labels(result.columns[index], [row[index] for row in rows]) for index in roles.keys]
    line = _line(result, roles, rows, keys)
    if line is not None:
        return line
    rows = rows[:MOST_ROWS]
    keys = [labels[:MOST_ROWS] for labels in keys]
    names = [printable(result.columns[index].name, _LONGEST_LABEL) for index in roles.keys]
    if not keys:
        labels = [""] if len(rows) == 1 else [str(i + 1) for i in range(len(rows))]
        return Layout(rows, "ordinal", "" if len(rows) == 1 else "row", range(len(rows)), labels, labels, True)
    texts = [", ".join(parts) for parts in zip(*keys, strict=True)]
    ordered = is_ordered(result.columns[roles.keys[0]])
    if len(keys) == 2:
        places, labels = _numbered([row[roles.keys[0]] for row in rows], keys[0])
        series, colors = _numbered([row[roles.keys[1]] for row in rows], keys[1])
        if len(colors) <= MOST_SERIES and _all_differ(places, series):
            return Layout(rows, "ordinal", names[0], places, texts, labels, ordered, names[1], series, colors)
    ordered = ordered and len(keys) == 1
    return Layout(rows, "ordinal", ", ".join(names), range(len(rows)), texts, texts, ordered)


def _turned(result: Result, roles: Roles, rows: list[Row]) -> Roles:
    """The roles with the key that is to stand along the axis first: of two, one of more numbers or dates than the other
    has values, whose values then are colours.
    """
    if len(roles.keys) != 2:
        return roles
    column = result.columns[roles.keys[1]]
    pairs = [tuple(repr(row[index]) for index in roles.keys) for row in rows]
    first, second = ({pair[i] for pair in pairs} for i in range(2))
    fewer = len(first) < len(second) and len(first) <= MOST_SERIES and len(set(pairs)) == len(pairs)
    if fewer and (is_number(column) or column.type in _DATES):
        return replace(roles, keys=roles.keys[::-1])
    return roles


def _line(result: Result, roles: Roles, rows: list[Row], keys: list[list[str]]) -> Layout | None:
    """A line along the first key, or one for each value of the second; None where bars are better."""
    if not 1 <= len(roles.keys) <= 2:
        return None
    first, *others = (result.columns[index] for index in roles.keys)
    if not (is_number(first) or first.type in _DATES):
        return None
    most = MOST_GROUPED if others and first.type in _DATES else MOST_BARS
    if len(set(keys[0])) <= most and len(rows) <= MOST_ROWS:
        return None
    values = [row[roles.keys[0]] for row in rows]
    places: list[float | str | None] = [number(v) if is_number(first) else _moment(v) for v in values]
    if any(place is None and value is not None for place, value in zip(places, values, strict=True)):
        return None  # dates before year 1, infinity
    series, colors = _numbered([row[roles.keys[1]] for row in rows], keys[1]) if others else ([], [])
    if len(colors) > MOST_SERIES or not _all_differ(places, series or [0] * len(rows)):
        return None
    texts = [", ".join(parts) for parts in zip(*keys, strict=True)]
    legend = printable(others[0].name, _LONGEST_LABEL) if others else ""
    return Layout(
        rows, "quantitative" if is_number(first) else "temporal", printable(first.name, _LONGEST_LABEL), places, texts,
        ordered=True, legend=legend, series=series, colors=colors,
    )  # fmt: skip


def is_ordered(column: ResultColumn) -> bool:
    """Whether the values have an order that everyone knows."""
    return is_number(column) or column.type in _DATES or column.type == "BOOLEAN"


def number(value: object) -> float | None:
    """A value as a number of a drawing; None where it has no place there."""
    if isinstance(value, (int, float, Decimal)):
        try:
            found = float(value)
        except OverflowError:
            return None
        return found if math.isfinite(found) else None
    return None


def _moment(value: object) -> str | None:
    """A date, or a moment in UTC, as Vega reads it."""
    if isinstance(value, dt.datetime):
        return (value.astimezone(dt.UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat() + "Z"
    return value.isoformat() + "T00:00:00Z" if isinstance(value, dt.date) else None


def _labels(column: ResultColumn, values: Sequence[Any]) -> list[str]:
    texts = [text.strip() for text in cells(column, values)]
    if all(value is None or text.endswith(_MIDNIGHT) for value, text in zip(values, texts, strict=True)):
        texts = [text.removesuffix(_MIDNIGHT) for text in texts]
    return [printable(text, _LONGEST_LABEL) for text in texts]


def _numbered(values: Sequence[Any], labels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Of each value its number among those that differ, in their order; the labels of these."""
    known: dict[str, int] = {}
    kept: list[str] = []
    numbers = []
    for value, label in zip(values, labels, strict=True):
        key = repr(value)  # lists and the like can't be looked up by themselves
        if key not in known:
            known[key] = len(kept)
            kept.append(label)
        numbers.append(known[key])
    return numbers, kept


def _all_differ(places: Sequence[Any], series: Sequence[int]) -> bool:
    return len(set(zip(places, series, strict=True))) == len(places)
