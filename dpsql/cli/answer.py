"""A result as a table, CSV, JSON or Markdown."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from dpsql.privacy.loss import decimal_text
from dpsql.result import Privacy, Result, ResultColumn
from dpsql.table import Head, Style, table

Format = Literal["table", "csv", "json", "markdown"]
FORMATS: tuple[Format, ...] = ("table", "csv", "json", "markdown")
_NUMBERS = ("INT", "DECIMAL", "DOUBLE", "FLOAT")
_DIGITS = 6


def answer(result: Result, form: Format, style: Style, *, half_widths: bool = False) -> str:
    """The rows in that format; `half_widths` adds them to CSV, the other formats always have them."""
    match form:
        case "table":
            return _table(result, style)
        case "markdown":
            return _table(result, "markdown")
        case "csv":
            return _csv(result, half_widths)
        case "json":
            return _json(result)


def error_note(result: Result) -> str:
    """`± at 95 %`: what the errors in a table mean; "" where it has none."""
    percent = f"{Fraction(str(result.privacy.level)) * 100}"
    return f"± at {percent} %" if any(map(_has_width, result.columns)) else ""


def cost(privacy: Privacy) -> str:
    """`charged ε 0.5, 3.5 left`."""
    charged = f"charged ε {decimal_text(privacy.epsilon_charged)}" if privacy.epsilon_charged else "nothing charged"
    left = "no limit" if privacy.epsilon_left is None else f"{decimal_text(privacy.epsilon_left)} left"
    return f"{charged}, {left}"


# ---------------------------------------------------------------------------------------------- for people


def _table(result: Result, style: Style) -> str:
    heads: list[Head] = []
    columns: list[list[str]] = []
    separators = style != "markdown"
    for index, column in enumerate(result.columns):
        values = [row[index] for row in result.rows]
        widths = _widths(column, len(values))
        heads.append(Head(column.name, _is_number(column)))
        cells = [_shown(v, w, separators) for v, w in zip(values, widths, strict=True)]
        if _has_width(column):
            errors = [_shown_width(v, w, separators) for v, w in zip(values, widths, strict=True)]
            cells = _with_errors(cells, errors)
        columns.append(cells)
    rows = [[column[i] for column in columns] for i in range(len(result.rows))]
    return table(heads, rows, style)


def _with_errors(cells: list[str], errors: list[str]) -> list[str]:
    """`1,250 ± 3`, the signs below one another; without the second part where no error is known."""
    longest = max(map(len, errors), default=0)
    return [f"{c} ± {e:>{longest}}" if e else c + " " * (longest + 3) for c, e in zip(cells, errors, strict=True)]


def _is_number(column: ResultColumn) -> bool:
    return any(word in column.type.upper() for word in _NUMBERS) and "[" not in column.type


def _has_width(column: ResultColumn) -> bool:
    return column.half_width is not None or column.half_widths is not None


def _widths(column: ResultColumn, rows: int) -> list[float | None]:
    if column.half_widths is not None:
        return list(column.half_widths)
    return [column.half_width] * rows


def _shown(value: Any, half_width: float | None, separators: bool) -> str:
    """A value as people read it: a noisy number to two digits of its half-width, others to six digits."""
    comma = "," if separators and half_width is not None else ""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:{comma}d}"
    if isinstance(value, float):
        return _shown_float(value, half_width, comma)
    return "NULL" if value is None else _plain(value)


def _shown_float(value: float, half_width: float | None, comma: str) -> str:
    if not math.isfinite(value):
        return _plain(value)
    if half_width is not None and half_width > 0:
        return f"{value:{comma}.{_decimals(half_width)}f}"
    if value == 0 or not 1e-9 < abs(value) < 1e15:
        return f"{value:.{_DIGITS}g}"
    text = f"{value:{comma}.{max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _decimals(half_width: float) -> int:
    """Decimals that show two digits of the half-width."""
    if not math.isfinite(half_width):
        return 0
    return max(0, min(12, 1 - math.floor(math.log10(half_width))))


def _shown_width(value: Any, half_width: float | None, separators: bool) -> str:
    """A half-width, rounded up, with as many decimals as its number."""
    if half_width is None or not math.isfinite(half_width) or value is None or value != value:
        return ""
    decimals = 0 if isinstance(value, int) or half_width <= 0 else _decimals(half_width)
    rounded = Fraction(math.ceil(Fraction(half_width) * 10**decimals), 10**decimals)
    return f"{float(rounded):{',' if separators else ''}.{decimals}f}"


# ---------------------------------------------------------------------------------------------- for programs


def _csv(result: Result, half_widths: bool) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    added = [half_widths and _has_width(column) for column in result.columns]
    header: list[str] = []
    for column, more in zip(result.columns, added, strict=True):
        header += [column.name, f"{column.name}_half_width"] if more else [column.name]
    writer.writerow(header)
    widths = [_widths(column, len(result.rows)) for column in result.columns]
    for number, row in enumerate(result.rows):
        cells: list[str] = []
        for value, more, own in zip(row, added, widths, strict=True):
            cells += [_plain(value), _plain(own[number])] if more else [_plain(value)]
        writer.writerow(cells)
    return file.getvalue()


def _plain(value: Any) -> str:
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
            return json.dumps(_json_value(value), ensure_ascii=False)
    return str(value)


def _json(result: Result) -> str:
    privacy = result.privacy
    left = privacy.epsilon_left
    facts: dict[str, Any] = {
        "columns": [{"name": column.name, "type": _type(column)} for column in result.columns],
        "rows": [[_json_value(value) for value in row] for row in result.rows],
        "half_widths": [_json_value(c.half_width if c.half_widths is None else c.half_widths) for c in result.columns],
        "privacy": {
            "analyst": privacy.analyst,
            "epsilon_charged": number(privacy.epsilon_charged),
            "epsilon_left": None if left is None else number(left),
            "level": privacy.level,
        },
    }
    return "{\n" + ",\n".join(f'"{key}": {_lines(value)}' for key, value in facts.items()) + "\n}\n"


def _type(column: ResultColumn) -> str:
    """The type; DuckDB writes that of a column of nothing but NULL as a quoted name."""
    return "NULL" if column.type == '"NULL"' else column.type


def _lines(value: Any) -> str:
    """JSON text with one row or column on each line."""
    if not isinstance(value, list) or not value:
        return json.dumps(value, ensure_ascii=False)
    return "[\n " + ",\n ".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n]"


def number(value: Fraction) -> int | float:
    """A fraction as a JSON number."""
    return int(value) if value.denominator == 1 else float(value)


def _json_value(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else _plain(value)
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case list() | tuple():
            return [_json_value(item) for item in value]
        case dict():
            return {_plain(key): _json_value(item) for key, item in value.items()}
    return _plain(value)
