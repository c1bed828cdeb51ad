"""An answer as an HTML table, for notebooks: noisy numbers with their half-widths, and what they cost."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from html import escape
from typing import Any

from dpsql.result import Result, ResultColumn

SHOWN = 50
"""Rows that are shown; a note tells how many there are."""
_LONGEST_CELL = 1_000
_DIGITS = 6
_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BIGNUM|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)")


def html(result: Result, cost: str) -> str:
    """The first rows as a table, with `cost` below it. All text is escaped."""
    rows = result.values.head(SHOWN)
    right = [_NUMBER.fullmatch(column.type) is not None for column in result.columns]
    head = _line("th", (column.name for column in result.columns), right)
    body = "\n".join(_line("td", _cells(result.columns, number, row), right) for number, row in enumerate(rows))
    return (
        f'<table border="1" class="dataframe">\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n'
        f"<p>{escape('; '.join(_notes(result, cost)))}</p>\n"
    )


def _notes(result: Result, cost: str) -> Iterable[str]:
    if len(result.values) > SHOWN:
        yield f"the first {SHOWN} of {len(result.values):,} rows"
    yield cost
    if any(c.half_width is not None or c.half_widths is not None for c in result.columns):
        yield f"each exact number lies within its ± in {result.privacy.level * 100:g} % of all answers"


def _line(tag: str, texts: Iterable[str], right: list[bool]) -> str:
    cells = []
    for text, number in zip(texts, right, strict=True):
        align = "right" if number else "left; white-space: pre-wrap"
        cells.append(f'<{tag} style="text-align: {align}">{escape(_cut(text))}</{tag}>')
    return f"<tr>{''.join(cells)}</tr>"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"


def _cells(columns: tuple[ResultColumn, ...], number: int, row: tuple[Any, ...]) -> Iterable[str]:
    for column, value in zip(columns, row, strict=True):
        width = column.half_width if column.half_widths is None else column.half_widths[number]
        yield _text(value) if width is None or value is None else _noisy(value, width)


def _noisy(value: float, half_width: float) -> str:
    """`1,250 ± 3`: to two digits of the half-width, and that rounded up to as many decimals."""
    if not math.isfinite(half_width):
        return _text(value)
    decimals = 0 if isinstance(value, int) or half_width <= 0 else _decimals(half_width)
    rounded = Fraction(math.ceil(Fraction(half_width) * 10**decimals), 10**decimals)
    return f"{value:z,.{decimals}f} ± {float(rounded):,.{decimals}f}"


def _decimals(half_width: float) -> int:
    return max(0, min(12, 1 - math.floor(math.log10(half_width))))


def _text(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float() if math.isfinite(value) and value != 0 and 1e-9 < abs(value) < 1e15:
            text = f"{value:.{max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))}f}"
            return text.rstrip("0").rstrip(".") if "." in text else text
        case float():
            return f"{value:.{_DIGITS}g}"
    return str(value)
