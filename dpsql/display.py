"""An answer's values as people read them: `1,250 ± 3`."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dpsql.privacy.loss import DELTA_PLACES, decimal_text
from dpsql.result import Result, ResultColumn, is_number_type, percent_text, stored_text

_DIGITS = 6


def is_number(column: ResultColumn) -> bool:
    """Whether a column holds numbers, which stand to the right."""
    return is_number_type(column.type)


def has_error(column: ResultColumn) -> bool:
    """Whether half-widths are known of its values."""
    return column.half_width is not None or column.intervals is not None


def error_note(result: Result) -> str:
    """`± at 95 %`: what the errors in a table mean; "" where it has none."""
    return f"± at {percent_text(result.privacy.level)}" if any(map(has_error, result.columns)) else ""


def rank_notes(result: Result) -> list[str]:
    """`median: within 42 rows of its rank at 95 %, …` of each column of values that were chosen."""
    level = result.privacy.level
    return [f"{_title(result, i)}: {c.rank.text(level)}" for i, c in enumerate(result.columns) if c.rank is not None]


def unknown_note(result: Result) -> str:
    """`no ± is known of share`: the columns of released numbers of which nothing is known; "" where there is none."""
    unknown = [
        _title(result, i)
        for i, c in enumerate(result.columns)
        if c.noisy and is_number(c) and not (has_error(c) or c.rank or c.is_end)
    ]
    return f"no ± is known of {', '.join(unknown)}" if unknown else ""


def _title(result: Result, index: int) -> str:
    """What a column is called in a note: its name, where no other has it."""
    column = result.columns[index]
    alone = [each.name for each in result.columns].count(column.name) == 1 and column.name != "?column?"
    return column.name if alone else column.written or f"column {index + 1}"


def half_widths(column: ResultColumn, rows: int) -> list[float | None]:
    """The half-width of each of the first values, None where none is known."""
    widths = column.half_widths
    return [column.half_width] * rows if widths is None else list(widths[:rows])


def cells(column: ResultColumn, values: Sequence[Any], *, separators: bool = True) -> list[str]:
    """Each value as text: a noisy number to two digits of its half-width, with that; others to six digits.

    The signs stand below one another if the cells are aligned to the right.
    """
    widths = half_widths(column, len(values))
    comma = "," if separators and (has_error(column) or column.noisy) else ""  # keys may be years
    shown = [_shown(v, w, comma) for v, w in zip(values, widths, strict=True)]
    if not has_error(column):
        return shown
    errors = [_error(v, w, separators) for v, w in zip(values, widths, strict=True)]
    longest = max(map(len, errors), default=0)
    return [f"{s} ± {e:>{longest}}" if e else s + " " * (longest + 3) for s, e in zip(shown, errors, strict=True)]


def _shown(value: Any, half_width: float | None, comma: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:{comma}d}"
    if isinstance(value, float):
        return _shown_float(value, half_width, comma)
    return "NULL" if value is None else plain(value)


def _shown_float(value: float, half_width: float | None, comma: str) -> str:
    if not math.isfinite(value):
        return plain(value)
    if half_width is not None and half_width > 0:
        return f"{value:z{comma}.{_decimals(half_width)}f}"
    if value == 0 or not 1e-9 < abs(value) < 1e15:
        return f"{value:.{_DIGITS}g}"
    text = f"{value:{comma}.{max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _decimals(half_width: float) -> int:
    """Decimals that show two digits of the half-width."""
    if not math.isfinite(half_width):
        return 0
    return max(0, min(12, 1 - math.floor(math.log10(half_width))))


def _error(value: Any, half_width: float | None, separators: bool) -> str:
    """A half-width, rounded up, with as many decimals as its number; "" where there is none."""
    if half_width is None or not math.isfinite(half_width) or value is None or value != value:
        return ""
    decimals = 0 if isinstance(value, int) or half_width <= 0 else _decimals(half_width)
    rounded = Fraction(math.ceil(Fraction(half_width) * 10**decimals), 10**decimals)
    return f"{float(rounded):{',' if separators else ''}.{decimals}f}"


def short(value: float) -> str:
    """Three digits, more of whole numbers; without an exponent where it would be short without one."""
    if isinstance(value, int) and value < 10**6:
        return f"{value:,}"
    text = f"{value:.3g}"
    return f"{float(text):,.0f}" if 100 <= value < 1e12 else text


def plain(value: Any) -> str:
    """A value as text that a program reads; NULL is empty."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN" if value != value else repr(value))
        case Decimal():
            return f"{value:f}"
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date() | dt.time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case list() | tuple() | dict():
            return json.dumps(json_value(value), ensure_ascii=False)
    return str(value)


def json_value(value: Any) -> Any:
    """A value as JSON has it; numbers that JSON lacks as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else plain(value)
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case list() | tuple():
            return [json_value(item) for item in value]
        case dict():
            return {plain(key): json_value(item) for key, item in value.items()}
    return plain(value)


def json_number(value: Fraction) -> int | float:
    """A fraction as a JSON number."""
    return int(value) if value.denominator == 1 else float(value)


def charged_text(epsilon: Fraction, delta: Fraction, stored: dt.datetime | None) -> str:
    """`charged ε 0.5`; `charged ε 0.5 and δ 0.000001`; `nothing charged (stored …)`. In the same words everywhere."""
    charged = f"charged ε {decimal_text(epsilon)}" if epsilon else "nothing charged"
    if delta:
        charged += f" and δ {decimal_text(delta, DELTA_PLACES)}"
    if stored is not None:
        charged += f" ({stored_text(stored, epsilon)})"
    return charged
