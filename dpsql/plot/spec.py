"""The Vega-Lite specification of a plot.

Bars begin at 0, so that their lengths can be compared, and stand in the rows' order. Each number has a panel and an
axis of its own, for their units differ. The data are one row for each of the answer's: `place` along the axis of keys,
`series`, the number of its colour, and of each panel `value0`, `low0`, `high0`, and `text0`, what the table shows.
Labels are looked up by their number. So keys that look alike stay apart, and no text of an answer is part of an
expression. Every text is printable: a control character would end the process that draws it (vl-convert 1.9).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from dpsql.display import cells
from dpsql.plot.layout import Layout, layout, number
from dpsql.plot.notes import notes
from dpsql.plot.roles import Number, Roles, title
from dpsql.policy.problems import printable
from dpsql.result import Result, ResultColumn

Spec = dict[str, Any]

_COLORS = (
    "#7da7d9", "#f2a65a", "#7fbf7b", "#d98880", "#a89cc8", "#b8a07e", "#e3a3c8", "#a6a6a6", "#c9c95e", "#6fc3c9",
)  # fmt: skip
_LINE, _INK = "#3f75b5", "#333333"
_CHARACTER = 6.2
"""How wide a character of a label is, in pixels, on average; of a note, less."""
_CHARACTER_OF_NOTE = 4.9
_WIDEST_LABEL = 84
_WIDTH, _HEIGHT, _PANEL = 480, 260, 150
_MILLION = 10**6
_MOST_DOTS = 500
"""On a line of more numbers none is marked."""
_CONFIG: Spec = {
    "font": "Helvetica, Arial, Liberation Sans, sans-serif",
    "background": "white",
    "padding": 12,
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 10, "labelColor": _INK,
        "titleColor": _INK, "domainColor": "#999999", "tickColor": "#999999", "labelLimit": 260,
    },
    "legend": {
        "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelColor": _INK, "titleColor": _INK,
        "labelLimit": 200,
    },
    "title": {"fontSize": 10, "fontWeight": "normal", "color": "#666666", "lineHeight": 13},
}  # fmt: skip


def specification(result: Result, roles: Roles) -> Spec:
    """The specification of the plot of these keys and numbers."""
    drawn = layout(result, roles)
    rows: list[Spec] = [{"place": place} for place in drawn.places]
    for row, series in zip(rows, drawn.series, strict=False):
        row["series"] = series
    for panel, each in enumerate(roles.numbers):
        for row, values in zip(rows, _numbers(result, drawn, each), strict=True):
            row |= {f"{name}{panel}": value for name, value in values.items()}
    names = [result.columns[each.index] for each in roles.numbers]
    panels, columns, width = (_bars if drawn.axis == "ordinal" else _lines)(drawn, rows, names)
    remarks = [*_left_out(result, drawn, rows, roles), *notes(result, roles)]
    letters = max(int(width / _CHARACTER_OF_NOTE), 70)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": title(result.columns, roles),
        "data": {"values": rows},
        "params": [{"name": "labels", "value": [*drawn.labels]}, {"name": "colors", "value": [*drawn.colors]}],
        "title": {
            "text": [printable(line, 200) for remark in remarks for line in textwrap.wrap(remark, letters)],
            "orient": "bottom", "anchor": "start", "offset": 14,
        },
        "concat": panels, "columns": columns, "spacing": 24,
        "config": _CONFIG,
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------- numbers


def ends(column: ResultColumn, values: Sequence[Any]) -> tuple[list[float | None], list[float | None]]:
    """The lower and the upper end of the interval of each of the first values; None where it isn't known."""
    if column.intervals is not None:
        known = [pair or (None, None) for pair in column.intervals.pairs[: len(values)]]
    else:
        width = column.half_width
        known = [(None, None) if v is None or width is None else (v - width, v + width) for v in map(number, values)]
    finite = [(a, b) if number(a) is not None and number(b) is not None else (None, None) for a, b in known]
    return [low for low, _ in finite], [high for _, high in finite]


def _numbers(result: Result, drawn: Layout, of: Number) -> list[Spec]:
    """Of each row the number, the ends of its interval, and both in words."""
    column, values = result.columns[of.index], [row[of.index] for row in drawn.rows]
    if of.low is None or of.high is None:
        low, high = ends(column, values)
    else:
        low, high = ([number(row[i]) for row in drawn.rows] for i in (of.low, of.high))
    shown = [
        f"{key}: {text.strip()}" if key else text for key, text in zip(drawn.texts, cells(column, values), strict=True)
    ]
    return [
        {"value": number(v), **_seen(number(v), lower, upper), "text": printable(text, 200)}
        for v, lower, upper, text in zip(values, low, high, shown, strict=True)
    ]


def _seen(value: float | None, low: float | None, high: float | None) -> Spec:
    """The ends as they are drawn: of an interval below 0 beside a number that was moved to 0, at the axis."""
    below = value is not None and high is not None and high < 0 <= value
    return {"low": 0.0, "high": 0.0} if below else {"low": low, "high": high}


def _left_out(result: Result, drawn: Layout, rows: Sequence[Spec], roles: Roles) -> list[str]:
    """What isn't drawn of the answer."""
    found = []
    if not rows:
        found.append("The answer has no rows.")
    if len(rows) < len(result.values):
        found.append(f"The first {len(rows):,} of {len(result.values):,} rows.")
    if None in drawn.places:
        found.append(f"The row where {drawn.name} is NULL has no place here.")
    for index in roles.neither:
        column = result.columns[index]
        found.append(f"Not drawn: {printable(column.name, 40)}, of type {printable(column.type, 40)}.")
    for panel, each in enumerate(roles.numbers):
        count = sum(row[f"value{panel}"] is None for row in rows)
        if count:
            name = printable(result.columns[each.index].name, 40)
            values = "1 value" if count == 1 else f"{count:,} values"
            found.append(f"Not drawn: {values} of {name}, NULL or not finite.")
    return found


def _has_ends(rows: Sequence[Spec], panel: int) -> bool:
    return any(row[f"low{panel}"] is not None for row in rows)


def _measure(rows: Sequence[Spec], panel: int, column: ResultColumn, *, zero: bool, upright: bool) -> Spec:
    """The channel of a panel's numbers; the name of an upright axis stands above it."""
    zero_line = {"test": "datum.value === 0", "value": "#999999"}
    axis: Spec = {"tickCount": 5, "gridColor": {"condition": zero_line, "value": "#e8e8e8"}}
    if upright:
        axis |= {"titleAngle": 0, "titleAlign": "left", "titleX": -2, "titleY": -12, "titleBaseline": "bottom"}
    if "INT" in column.type:
        axis["tickMinStep"] = 1
    if max((abs(row[f"value{panel}"] or 0) for row in rows), default=0) >= _MILLION:
        axis["labelExpr"] = "replace(format(datum.value, '~s'), 'G', 'B')"  # 30M
    scale: Spec = {"zero": zero}
    if not rows:
        axis |= {"values": [0], "format": "d"}
        scale["domain"] = [0, 1]
    name = printable(column.name, 60)
    return {"field": f"value{panel}", "type": "quantitative", "title": name, "axis": axis, "scale": scale}


def _color(drawn: Layout) -> Spec:
    """The channel of colours, with a legend."""
    count = len(drawn.colors)
    return {
        "field": "series", "type": "nominal", "title": drawn.legend,
        "scale": {"domain": [*range(count)], "range": _COLORS[:count]},
        "legend": {"labelExpr": "colors[datum.value]", "symbolOpacity": 1},
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------- bars


def _bars(drawn: Layout, rows: Sequence[Spec], numbers: Sequence[ResultColumn]) -> tuple[list[Spec], int, float]:
    """The panels of bars, how many stand side by side, and how wide they are together.

    Labels that would overlap below standing bars stand beside lying ones; those of numbers and dates are left out, or
    turned. One row of numbers lies, too, a bar below the other.
    """
    bars, count = len(drawn.labels), len(numbers)
    step: float = next(wide for most, wide in ((6, 56), (12, 44), (25, 28), (10**9, 18)) if bars <= most)
    if drawn.colors:
        step = max(step, 18 * len(drawn.colors) + 10)
    longest = max(map(len, drawn.labels), default=0) * _CHARACTER + 8
    if longest <= _WIDEST_LABEL and longest * bars <= _WIDTH:
        step = max(step, longest)
    if drawn.single or (not drawn.ordered and (longest > step or bars > 25)):
        columns = 1 if drawn.single else min(count, 3)
        width: float = _WIDTH if columns == 1 else 240
        step = max(22, 14 * len(drawn.colors) + 8)
        size = {"width": width, "height": {"step": step, "for": "position"}}
        places = ("y", drawn.single, 0)
    else:
        columns = 1 if bars * step > 240 else min(count, 3)
        width = bars * step
        size = {
            "width": {"step": step, "for": "position"} if bars else _PANEL,
            "height": _HEIGHT if count <= columns else _PANEL,
        }
        places = ("x", False, -45 if longest > max(step, 52) else 0)
    panels = []
    for panel, column in enumerate(numbers):
        labelled = places[0] == "x" or panel % columns == 0
        panels.append({**size, **_bar_panel(drawn, rows, panel, column, *places, labelled)})
    return panels, columns, (width + 70) * columns


def _bar_panel(
    drawn: Layout, rows: Sequence[Spec], panel: int, column: ResultColumn, along: str, single: bool, angle: int,
    labelled: bool,
) -> Spec:  # fmt: skip
    """Bars along x or y, and on each the interval of its number."""
    across = "y" if along == "x" else "x"
    axis: Spec = {"labels": False, "title": None}
    if labelled:
        axis = {"labelExpr": "labels[datum.value]", "labelAngle": angle, "labelOverlap": True}
    place = {
        "field": "place", "type": "ordinal", "title": drawn.name or None,
        "scale": {"domain": [*range(len(drawn.labels))], "paddingInner": 0.28, "paddingOuter": 0.16},
        "axis": None if single else {**axis, "grid": False, "ticks": False, "labelPadding": 6},
    }  # fmt: skip
    shared: Spec = {along: place, "description": {"field": f"text{panel}"}, "tooltip": {"field": f"text{panel}"}}
    if drawn.colors:
        shared[f"{along}Offset"] = {"field": "series", "type": "nominal",
                                    "scale": {"domain": [*range(len(drawn.colors))]}}  # fmt: skip
    measure = _measure(rows, panel, column, zero=True, upright=across == "y")
    color = _color(drawn) if drawn.colors else {"value": _COLORS[0]}
    layers: list[Spec] = [{"mark": {"type": "bar"}, "encoding": {across: measure, "color": color}}]
    if _has_ends(rows, panel):
        stroke = {"color": _INK, "strokeWidth": 1.2, "aria": False}
        low, high = {**measure, "field": f"low{panel}"}, {"field": f"high{panel}"}
        layers.append({"mark": {"type": "rule", **stroke}, "encoding": {across: low, f"{across}2": high}})
        for end in ("low", "high"):
            tick = {
                "type": "tick",
                "orient": "horizontal" if across == "y" else "vertical",
                "size": 8,
                "thickness": 1.2,
            }
            layers.append(
                {
                    "mark": {**tick, "color": _INK, "opacity": 1, "aria": False},
                    "encoding": {across: {**measure, "field": f"{end}{panel}"}},
                }
            )
    if single:
        text = {
            "type": "text",
            "align": "left",
            "baseline": "bottom",
            "color": _INK,
            "dy": -14,
            "fontSize": 12,
            "aria": False,
        }
        layers.append({"mark": text, "encoding": {"x": {"datum": 0}, "text": {"field": f"text{panel}"}}})
    return {"encoding": shared, "layer": layers}


# ---------------------------------------------------------------------------------------------- lines


def _lines(drawn: Layout, rows: Sequence[Spec], numbers: Sequence[ResultColumn]) -> tuple[list[Spec], int, float]:
    """The panels of lines with bands, one below the other."""
    count = len(numbers)
    size = {"width": 560, "height": _HEIGHT if count == 1 else _PANEL}
    panels = [{**size, **_line_panel(drawn, rows, panel, column)} for panel, column in enumerate(numbers)]
    return panels, 1, 620


def _line_panel(drawn: Layout, rows: Sequence[Spec], panel: int, column: ResultColumn) -> Spec:
    """A line through the numbers, and the band of their intervals."""
    axis: Spec = {"grid": False}
    place: Spec = {
        "field": "place",
        "type": drawn.axis,
        "title": drawn.name,
        "axis": axis,
        "scale": {"zero": False, "nice": False},
    }
    if drawn.axis == "temporal":
        place["scale"] = {"type": "utc"}
    elif max((abs(row["place"]) for row in rows if row["place"] is not None), default=0) < 10_000:
        axis["format"] = "~r"  # years have no commas
    shared: Spec = {"x": place}
    if drawn.colors:
        shared["color"] = _color(drawn)
    color: Spec = {} if drawn.colors else {"color": _LINE}
    measure = _measure(rows, panel, column, zero=False, upright=True)
    layers: list[Spec] = []
    if _has_ends(rows, panel):
        band = {"y": {**measure, "field": f"low{panel}"}, "y2": {"field": f"high{panel}"}}
        layers.append({"mark": {"type": "area", "opacity": 0.3, "aria": False, **color}, "encoding": band})
    layers.append(
        {
            "mark": {"type": "line", "strokeWidth": 1.5, "strokeJoin": "round", "aria": False, **color},
            "encoding": {"y": measure},
        }
    )
    if len(rows) <= _MOST_DOTS:
        point = {"type": "point", "filled": True, "size": 12, "opacity": 1, **color}
        texts = {"description": {"field": f"text{panel}"}, "tooltip": {"field": f"text{panel}"}}
        layers.append({"mark": point, "encoding": {"y": measure, **texts}})
    return {"encoding": shared, "layer": layers}
