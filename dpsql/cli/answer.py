"""A result as a table, CSV, JSON or Markdown."""

from __future__ import annotations

import csv
import io
import json
from typing import Any, Literal

from dpsql.display import cells, charged_text, has_error, is_number, json_number, json_value, plain
from dpsql.display import half_widths as half_widths_of
from dpsql.privacy.loss import decimal_text
from dpsql.result import Privacy, Result, ResultColumn
from dpsql.table import Head, Style, table

Format = Literal["table", "csv", "json", "markdown"]
FORMATS: tuple[Format, ...] = ("table", "csv", "json", "markdown")


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


def cost(privacy: Privacy) -> str:
    """`charged ε 0.5, 3.5 left`; `charged ε 0.5 and δ 0.000001, 3.5 left`; `nothing charged (stored …), 3.5 left`."""
    left = "no limit" if privacy.epsilon_left is None else f"{decimal_text(privacy.epsilon_left)} left"
    return f"{charged_text(privacy.epsilon_charged, privacy.delta_charged, privacy.stored)}, {left}"


def selection_note(result: Result) -> str:
    """Why no key that isn't public is shown, where none is."""
    threshold = result.privacy.threshold
    if threshold is None or len(result.rows):
        return ""
    return (
        f"keys are shown where more than {threshold:,} units have them: fewer groups of a unit lower that (max_groups)"
    )


# ---------------------------------------------------------------------------------------------- for people


def _table(result: Result, style: Style) -> str:
    heads = [Head(column.name, is_number(column)) for column in result.columns]
    columns = [
        cells(column, [row[index] for row in result.rows], separators=style != "markdown")
        for index, column in enumerate(result.columns)
    ]
    rows = [[column[i] for column in columns] for i in range(len(result.rows))]
    return table(heads, rows, style)


# ---------------------------------------------------------------------------------------------- for programs


def _csv(result: Result, half_widths: bool) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    added = [half_widths and has_error(column) for column in result.columns]
    header: list[str] = []
    for column, more in zip(result.columns, added, strict=True):
        header += [column.name, f"{column.name}_half_width"] if more else [column.name]
    writer.writerow(header)
    widths = [
        half_widths_of(column, len(result.rows)) if more else []
        for column, more in zip(result.columns, added, strict=True)
    ]
    for number, row in enumerate(result.rows):
        line: list[str] = []
        for value, more, own in zip(row, added, widths, strict=True):
            line += [plain(value), plain(own[number])] if more else [plain(value)]
        writer.writerow(line)
    return file.getvalue()


def _json(result: Result) -> str:
    privacy = result.privacy
    left = privacy.epsilon_left
    facts: dict[str, Any] = {
        "columns": [{"name": column.name, "type": _type(column)} for column in result.columns],
        "rows": [[json_value(value) for value in row] for row in result.rows],
        "half_widths": [
            json_value(same if each is None else each)
            for same, each in ((c.half_width, c.half_widths) for c in result.columns)
        ],
        "intervals": [
            None if c.intervals is None else [json_value(pair) for pair in c.intervals.pairs] for c in result.columns
        ],
        "privacy": {
            "analyst": privacy.analyst,
            "epsilon_charged": json_number(privacy.epsilon_charged),
            "delta_charged": json_number(privacy.delta_charged),
            "epsilon_left": None if left is None else json_number(left),
            "level": privacy.level,
            "stored": None if privacy.stored is None else privacy.stored.isoformat(timespec="seconds"),
        },
    }
    if any(column.rank for column in result.columns):
        ranks = (column.rank for column in result.columns)
        facts["ranks"] = [None if rank is None else rank.facts(privacy.level) for rank in ranks]
    return "{\n" + ",\n".join(f'"{key}": {_lines(value)}' for key, value in facts.items()) + "\n}\n"


def _type(column: ResultColumn) -> str:
    """The type; DuckDB writes that of a column of nothing but NULL as a quoted name."""
    return "NULL" if column.type == '"NULL"' else column.type


def _lines(value: Any) -> str:
    """JSON text with one row or column on each line."""
    if not isinstance(value, list) or not value:
        return json.dumps(value, ensure_ascii=False)
    return "[\n " + ",\n ".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n]"
