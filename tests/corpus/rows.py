"""Whether an answer is right: the same rows as plain DuckDB's, but for the differences that are meant.

Those are: groups that are declared but hold no row are shown, with 0 for counts and sums and anything for averages;
a SUM of no rows is 0 where plain SQL has NULL, an average or variance of too few rows is some number.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

Row = tuple[Any, ...]
ANYTHING = object()
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Expected:
    """What plain DuckDB says.

    rows       its rows; where the query has a LIMIT: those without it
    limited    how many rows the LIMIT leaves; None without one
    order      the columns whose order is to be the same
    empty      for each column its value in an empty group, ANYTHING, or None where it is a group key;
               None where no more groups than plain DuckDB's may be shown
    noise      how far what is no whole number may be off for the noise that is left: a share of its column's largest
    """

    rows: list[Row]
    limited: int | None
    order: tuple[int, ...]
    empty: tuple[Any, ...] | None
    noise: float = 0.0

    @cached_property
    def absolute(self) -> list[float]:
        """How far numbers of each column may be off that are not whole, whatever their size."""
        columns = zip(*self.rows, strict=True)
        return [max([1e-9, *(self.noise * abs(float(cell)) for cell in c if _is_number(cell))]) for c in columns]


def difference(answer: list[Row], expected: Expected) -> str | None:
    """What is wrong with an answer, in a few words; None if nothing is."""
    widths = {len(row) for row in (*answer, *expected.rows)}
    if len(widths) > 1:
        return "another number of columns"
    matches, missing = _match(answer, expected)
    extra = [row for row, match in zip(answer, matches, strict=True) if match is None]
    known = _keys(expected)
    if not all(_is_empty_group(row, expected, known) for row in extra):
        return "a row that plain SQL doesn't have"
    if expected.limited is None:
        if missing:
            return "a row is missing"
    elif len(answer) < expected.limited or (not extra and len(answer) > expected.limited):
        return "another number of rows"
    return _order_difference([row for row, match in zip(answer, matches, strict=True) if match is not None], expected)


def _order_difference(found: list[Row], expected: Expected) -> str | None:
    if not expected.order or not expected.rows:
        return None
    sequence = [[row[place] for place in expected.order] for row in found]
    wanted = [[row[place] for place in expected.order] for row in expected.rows]
    absolute = [expected.absolute[place] for place in expected.order]
    starts = range(len(wanted) - len(sequence) + 1)
    near = any(
        all(_cells_agree(a, b, absolute) for a, b in zip(sequence, wanted[start : start + len(sequence)], strict=True))
        for start in (starts if expected.limited is not None else starts[:1])
    )
    return None if near else "another order"


def _match(answer: list[Row], expected: Expected) -> tuple[list[Row | None], bool]:
    """For each row of the answer one of plain DuckDB's that agrees with it; and whether any of those is left."""
    width = len(expected.rows[0]) if expected.rows else 0
    exact = [place for place in range(width) if _exact(answer, expected, place)]
    waiting: dict[Row, list[Row]] = defaultdict(list)
    for row in expected.rows:
        waiting[tuple(_plain(row[place]) for place in exact)].append(row)
    matches: list[Row | None] = []
    for row in answer:
        candidates = waiting.get(tuple(_plain(row[place]) for place in exact), []) if width else []
        match = next((c for c in candidates if _rows_agree(row, c, expected)), None)
        if match is not None:
            candidates.remove(match)
        matches.append(match)
    return matches, any(waiting.values())


def _exact(answer: list[Row], expected: Expected, place: int) -> bool:
    """Whether a column's cells can be compared with `==`: no fractions, no NULL that another number may stand for."""
    if expected.empty is not None and expected.empty[place] is not None:
        return not any(row[place] is None or isinstance(row[place], (float, Decimal)) for row in expected.rows)
    return not any(isinstance(row[place], (float, Decimal)) for row in (*answer, *expected.rows))


def _plain(cell: Any) -> Any:
    if isinstance(cell, (float, Decimal)) and math.isfinite(cell) and cell == int(cell):
        return int(cell)
    return cell


def _rows_agree(answer: Row, wanted: Row, expected: Expected) -> bool:
    empty = expected.empty or (None,) * len(wanted)
    cells = zip(answer, wanted, empty, expected.absolute, strict=True)
    return all(_agree(a, w, e, absolute) for a, w, e, absolute in cells)


def _agree(answer: Any, wanted: Any, empty: Any, absolute: float) -> bool:
    if wanted is None and empty is not None:
        return answer is None or empty is ANYTHING or _near(answer, empty, absolute)
    return _near(answer, wanted, absolute)


def _cells_agree(answer: Sequence[Any], wanted: Sequence[Any], absolute: Sequence[float]) -> bool:
    return all(w is None or _near(a, w, off) for a, w, off in zip(answer, wanted, absolute, strict=True))


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float, Decimal)) and math.isfinite(cell)


def _near(answer: Any, wanted: Any, absolute: float) -> bool:
    numbers = (int, float, Decimal)
    if isinstance(answer, int) and isinstance(wanted, int):
        return answer == wanted
    if isinstance(answer, numbers) and isinstance(wanted, numbers):
        a, w = float(answer), float(wanted)
        return a == w or (math.isnan(a) and math.isnan(w)) or math.isclose(a, w, rel_tol=TOLERANCE, abs_tol=absolute)
    return bool(answer == wanted)


def _is_empty_group(row: Row, expected: Expected, known: set[Row]) -> bool:
    """Whether an extra row shows a group without rows: its counts and sums are 0, its key is none of plain DuckDB's."""
    if expected.empty is None or _key(row, expected) in known:
        return False
    return all(
        value is None or value is ANYTHING or _near(cell, value, absolute)
        for cell, value, absolute in zip(row, expected.empty, expected.absolute or [1e-9] * len(row), strict=True)
    )


def _keys(expected: Expected) -> set[Row]:
    """The group keys that plain DuckDB shows; none where it doesn't show all that tells its groups apart."""
    keys = {_key(row, expected) for row in expected.rows}
    return keys if len(keys) == len(expected.rows) else set()


def _key(row: Row, expected: Expected) -> Row:
    return tuple(_plain(cell) for cell, value in zip(row, expected.empty or (), strict=False) if value is None)
