"""Plots: what is drawn of which answers, what stands below them, files, and that none costs anything."""

from __future__ import annotations

import datetime as dt
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import dpsql
from dpsql.cli import main
from dpsql.ledger import Ledger
from dpsql.plot import Chart, plot, roles
from dpsql.plot.layout import MOST_BARS, MOST_POINTS, MOST_ROWS
from dpsql.plot.roles import MOST_NUMBERS, Number, Roles
from dpsql.result import Intervals, Privacy, Rank, Result, ResultColumn, Values

EVIL = "</script></svg><script>alert('x')</script><img src=x onerror=alert(1)>&\"{{}}"


def column_of(name: str, values: Sequence[float], low: Sequence[float], high: Sequence[float]) -> ResultColumn:
    """A column of numbers with an interval for each row."""
    ends = np.array(low, dtype=float), np.array(high, dtype=float)
    made = Intervals(lambda: ends, lambda: np.array(values, dtype=float))
    return ResultColumn(name, "DOUBLE", None, made, noisy=True)


KEY, TEXT = ResultColumn("decade", "BIGINT"), ResultColumn("name", "VARCHAR")
COUNT, MEAN = ResultColumn("n", "BIGINT", 6.0, noisy=True), column_of("mean", (10, 20), (8, 17.5), (11, 23.5))
CHARGED = Privacy("alice", Fraction(1, 2), Fraction(1, 2), Fraction(4))


def answer(columns: Sequence[ResultColumn], rows: Sequence[tuple[Any, ...]], privacy: Privacy = CHARGED) -> Result:
    return Result(tuple(columns), Values(list(rows)), privacy)


def drawn(chart: Chart, *fields: str) -> list[tuple[Any, ...]]:
    """Fields of the rows of the data."""
    return [tuple(row.get(field) for field in fields) for row in chart.spec["data"]["values"]]


def note(chart: Chart) -> str:
    return " ".join(chart.spec["title"]["text"])


def param(chart: Chart, name: str) -> list[str]:
    (value,) = [p["value"] for p in chart.spec["params"] if p["name"] == name]
    return list(value)


def channels(chart: Chart, panel: int = 0) -> dict[str, Any]:
    """The channels of all layers of a panel, those of its first layer last."""
    spec = chart.spec["concat"][panel]
    found = dict(spec["encoding"])
    for layer in reversed(spec["layer"]):
        found |= layer["encoding"]
    return found


def marks(chart: Chart, panel: int = 0) -> list[str]:
    return [layer["mark"]["type"] for layer in chart.spec["concat"][panel]["layer"]]


def nodes(svg: str, layer: int | None = None) -> list[ElementTree.Element]:
    """The elements of a drawing; or the marks of a layer, of all panels."""
    every = list(ElementTree.fromstring(svg).iter())
    if layer is None:
        return every
    return [mark for group in every if f"layer_{layer}_marks" in (group.get("class") or "") for mark in group]


def texts(svg: str) -> list[str]:
    return ["".join(e.itertext()) for e in nodes(svg) if e.tag.endswith("}text")]


# ---------------------------------------------------------------------------------------------- columns

PERCENT = ResultColumn("percent", "DOUBLE")
BEGIN = ResultColumn("since", "DATE")
MEDIAN = ResultColumn("m", "DOUBLE", rank=Rank(3.0, 16.0), noisy=True)
ROUNDED = ResultColumn("rounded", "DOUBLE", noisy=True)
LATEST = ResultColumn("latest", "DATE", rank=Rank(beyond=12.0))
LOW, HIGH = ResultColumn("n_low", "DOUBLE"), ResultColumn("n_high", "BIGINT")


@pytest.mark.parametrize(
    ("columns", "keys", "numbers"),
    [
        ((COUNT,), (), (Number(0),)),
        ((KEY, COUNT), (0,), (Number(1),)),
        ((COUNT, TEXT), (1,), (Number(0),)),
        ((KEY, TEXT, COUNT, MEAN), (0, 1), (Number(2), Number(3))),
        ((KEY, COUNT, replace(PERCENT, noisy=True)), (0,), (Number(1), Number(2))),
        ((KEY, PERCENT), (0,), (Number(1),)),
        ((TEXT, KEY, PERCENT), (0,), (Number(1), Number(2))),
        ((BEGIN, PERCENT), (0,), (Number(1),)),
        ((KEY, COUNT, LOW, HIGH), (0,), (Number(1, 2, 3),)),
        ((KEY, ResultColumn("n", "BIGINT"), LOW, HIGH), (0,), (Number(1, 2, 3),)),
        ((KEY, COUNT, replace(LOW, noisy=True)), (0,), (Number(1), Number(2))),
        ((TEXT, MEDIAN, COUNT), (0,), (Number(1), Number(2))),
        ((KEY, MEDIAN), (0,), (Number(1),)),
        ((MEDIAN, MEDIAN), (), (Number(0), Number(1))),
        ((ROUNDED, KEY, COUNT), (1,), (Number(0), Number(2))),
        ((ROUNDED, KEY, LOW, TEXT), (1, 2, 3), (Number(0),)),
    ],
)
def test_what_columns_are(
    columns: tuple[ResultColumn, ...], keys: tuple[int, ...], numbers: tuple[Number, ...]
) -> None:
    assert roles(columns) == Roles(keys, numbers)


def test_what_is_computed_from_released_numbers_is_drawn(folder: Path) -> None:
    """Wherever it stands, whatever is known of its error; numbers that are not are keys."""
    asked = "SELECT ROUND(MAX(age)) AS m, FLOOR(age / 50) AS half, COUNT(*) + 0 * half AS n FROM people GROUP BY half"
    with dpsql.connect(folder / "policy.yaml", analyst="alice") as connection:
        chart = connection.cursor().execute(asked).plot()
    assert chart.spec["description"] == "m and n by half"
    ends = "SELECT FLOOR(age / 50) AS half, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high"
    with dpsql.connect(folder / "policy.yaml", analyst="alice") as connection:
        chart = connection.cursor().execute(f"{ends} FROM people GROUP BY half").plot()
    assert chart.spec["description"] == "n, low and high by half"


def test_a_chosen_date_is_no_key() -> None:
    assert roles((TEXT, LATEST, COUNT)) == Roles((0,), (Number(2),), (1,))
    chart = plot(answer((TEXT, LATEST, COUNT), [("a", dt.date(2026, 1, 2), 1)]))
    assert note(chart).startswith("Not drawn: latest, of type DATE.")
    assert "latest: about 12 rows lie beyond. Charged" in note(chart)


def test_columns_that_have_no_plot() -> None:
    with pytest.raises(dpsql.NotSupportedError, match="no column of this answer is a number") as caught:
        roles((TEXT, BEGIN))
    assert caught.value.hint == (
        "select what to count by, and a number: SELECT name, COUNT(*) AS n FROM … GROUP BY name"
    )
    with pytest.raises(dpsql.NotSupportedError, match="9 numbers are too many") as caught:
        roles((KEY, *[COUNT] * (MOST_NUMBERS + 1)))
    assert caught.value.hint == "select at most 8 of them"
    assert len(roles((KEY, *[COUNT] * MOST_NUMBERS)).numbers) == MOST_NUMBERS


# ---------------------------------------------------------------------------------------------- bars


def test_bars_stand_in_the_rows_order_with_their_intervals() -> None:
    chart = plot(answer((KEY, COUNT), [(20, 185), (0, -4), (10, 38)]))
    assert drawn(chart, "place", "value0", "low0", "high0") == [(0, 185, 179, 191), (1, -4, -10, 2), (2, 38, 32, 44)]
    assert param(chart, "labels") == ["20", "0", "10"]
    assert drawn(chart, "text0") == [("20: 185 ± 6",), ("0: -4 ± 6",), ("10: 38 ± 6",)]
    assert marks(chart) == ["bar", "rule", "tick", "tick"]
    assert channels(chart)["x"]["title"] == "decade" and channels(chart)["y"]["title"] == "n"
    assert channels(chart)["y"]["scale"]["zero"] is True


def test_the_drawing_of_bars() -> None:
    """Pixels: a bar ends at its number, and its interval half a width further on either side."""
    svg = plot(answer((KEY, COUNT), [(20, 185), (0, -4), (10, 38)])).svg()
    bars, rules = nodes(svg, 0), nodes(svg, 1)
    assert [bar.get("aria-label") for bar in bars] == ["20: 185 ± 6", "0: -4 ± 6", "10: 38 ± 6"]
    assert texts(svg)[:3] == ["20", "0", "10"] and "decade" in texts(svg)
    shapes = [[float(x) for x in re.findall(r"-?[\d.]+", bar.get("d") or "")] for bar in bars]
    pixels = shapes[0][3] / 185  # M left,top h width v height h -width Z
    assert [shape[3] / pixels for shape in shapes] == pytest.approx([185, 4, 38])
    assert [shape[0] for shape in shapes] == sorted(shape[0] for shape in shapes)
    zero = shapes[0][1] + shapes[0][3]
    for rule, number in zip(rules, (185, -4, 38), strict=True):
        place = re.findall(r"-?[\d.]+", rule.get("transform") or "")
        length = float(rule.get("y2") or 0)
        ends = sorted([float(place[1]), float(place[1]) + length])
        assert [(zero - y) / pixels for y in ends] == pytest.approx([number + 6, number - 6])
    for layer, side in ((2, -6), (3, 6)):
        caps = [re.findall(r"-?[\d.]+", cap.get("d") or "") for cap in nodes(svg, layer)]  # M left,top h width v height
        middles = [(zero - float(cap[1]) - float(cap[3]) / 2) / pixels for cap in caps]
        assert middles == pytest.approx([185 + side, -4 + side, 38 + side])


def test_intervals_that_differ_by_row_and_by_side() -> None:
    chart = plot(answer((TEXT, MEAN), [("a", 10.0), ("b", 20.0)]))
    assert drawn(chart, "low0", "high0") == [(8, 11), (17.5, 23.5)]
    chart = plot(answer((KEY, COUNT, LOW, HIGH), [(1, 5, 4.5, 9)]))
    assert drawn(chart, "value0", "low0", "high0", "value1") == [(5, 4.5, 9, None)]
    assert "The interval of n is that from n_low to n_high." in note(chart) and "95 %" not in note(chart)


def test_numbers_of_any_type_and_none() -> None:
    columns = (TEXT, ResultColumn("s", "DECIMAL(38,2)", 1.5))
    rows = [("a", Decimal("2.50")), ("b", None), ("c", 10**400), ("d", float("nan")), ("e", float("inf"))]
    chart = plot(answer(columns, rows))
    assert drawn(chart, "value0", "low0", "high0") == [(2.5, 1.0, 4.0), *[(None, None, None)] * 4]
    assert note(chart).startswith("Not drawn: 4 values of s, NULL or not finite.")
    assert len(nodes(chart.svg(), 1)) == 1
    unknown = plot(answer((TEXT, column_of("m", [1], [-np.inf], [np.inf])), [("a", 1.0)]))
    assert drawn(unknown, "value0", "low0") == [(1, None)] and marks(unknown) == ["bar"]
    assert marks(plot(answer((TEXT, PERCENT), [("a", 1.0)]))) == ["bar"]


def test_several_numbers_have_axes_of_their_own() -> None:
    chart = plot(answer((TEXT, COUNT, MEAN), [("a", 1000, 10.0), ("b", 2000, 20.0)]))
    assert [channels(chart, panel)["y"]["title"] for panel in (0, 1)] == ["n", "mean"]
    assert [channels(chart, panel)["y"]["field"] for panel in (0, 1)] == ["value0", "value1"]
    assert drawn(chart, "high0", "high1") == [(1006, 11), (2006, 23.5)]
    assert len(nodes(chart.svg(), 0)) == 4
    assert chart.spec["description"] == "n and mean by name"


def test_a_chart_is_shown_in_a_few_words() -> None:
    many = plot(answer((KEY, COUNT, MEAN), [(i, i, 10.0) for i in range(2)]))
    assert repr(many) == str(many) == "<dpsql.Chart of 'n and mean by decade', 2 rows>"
    assert repr(plot(answer((KEY, COUNT), [(1, 2)]))) == "<dpsql.Chart of 'n by decade', 1 row>"
    assert repr(plot(answer((KEY, COUNT), []))).endswith(", 0 rows>")
    assert len(repr(plot(answer((replace(KEY, name="k" * 10_000), COUNT), [(1, 2)])))) < 500


def test_one_row_of_numbers() -> None:
    chart = plot(answer((COUNT, column_of("mean", [10], [8], [11])), [(1700, 10.0)]))
    assert [channels(chart, panel)["x"]["title"] for panel in (0, 1)] == ["n", "mean"]
    svg = chart.svg()
    assert [bar.get("aria-label") for bar in nodes(svg, 0)] == ["1,700 ± 6", "10.0 ± 2.0"]
    assert "1,700 ± 6" in texts(svg)


def test_lists_have_no_place() -> None:
    columns = (TEXT, ResultColumn("quartiles", "DOUBLE[]"), ResultColumn("pair", "STRUCT(a DOUBLE)"), COUNT)
    chart = plot(answer(columns, [("a", [1.0, 2.0], {"a": 1.0}, 5)]))
    assert param(chart, "labels") == ["a"] and drawn(chart, "value0", "value1") == [(5, None)]
    assert note(chart).startswith("Not drawn: quartiles, of type DOUBLE[]. Not drawn: pair, of type STRUCT(a DOUBLE).")
    with pytest.raises(dpsql.NotSupportedError):
        plot(answer(columns[:3], []))


def test_rows_without_a_key_are_numbered() -> None:
    chart = plot(answer((COUNT,), [(1,), (2,)]))
    assert param(chart, "labels") == ["1", "2"] and channels(chart)["x"]["title"] == "row"


def test_two_keys_make_groups() -> None:
    rows = [("a", True, 1), ("a", False, 2), ("b", True, 3), ("b", False, 4)]
    chart = plot(answer((TEXT, ResultColumn("married", "BOOLEAN"), COUNT), rows))
    assert drawn(chart, "place", "series", "value0") == [(0, 0, 1), (0, 1, 2), (1, 0, 3), (1, 1, 4)]
    assert (param(chart, "labels"), param(chart, "colors")) == (["a", "b"], ["true", "false"])
    found = channels(chart)
    assert found["xOffset"]["field"] == found["color"]["field"] == "series" and found["color"]["title"] == "married"
    svg = chart.svg()
    bars = nodes(svg, 0)
    assert [bar.get("aria-label") for bar in bars][1] == "a, false: 2 ± 6"
    assert [bar.get("fill") for bar in bars] == [bars[0].get("fill"), bars[1].get("fill")] * 2
    assert bars[0].get("fill") != bars[1].get("fill")
    left = [float(re.findall(r"[\d.]+", bar.get("d") or "")[0]) for bar in bars]
    assert left == sorted(left) and left[1] - left[0] < left[2] - left[1]
    assert {"true", "false", "married", "a", "b"} <= set(texts(svg))


def test_keys_that_make_no_groups_are_named_together() -> None:
    many = [("a", f"s{i}", i) for i in range(11)]
    chart = plot(answer((TEXT, ResultColumn("s", "VARCHAR"), COUNT), many))
    assert param(chart, "labels")[:2] == ["a, s0", "a, s1"] and channels(chart)["y"]["title"] == "name, s"
    twice = [("a", "s", 1), ("a", "s", 2)]
    chart = plot(answer((TEXT, ResultColumn("s", "VARCHAR"), COUNT), twice))
    assert param(chart, "labels") == ["a, s", "a, s"] and drawn(chart, "place") == [(0,), (1,)]
    three = [("a", "b", 3, 1)]
    chart = plot(answer((TEXT, ResultColumn("s", "VARCHAR"), KEY, COUNT), three))
    assert param(chart, "labels") == ["a, b, 3"]


@pytest.mark.parametrize(("ages", "mark"), [(7, "bar"), (61, "line")])
def test_of_two_keys_the_numbers_stand_along_the_axis(ages: int, mark: str) -> None:
    rows = [(married, age, age) for married in (True, False) for age in range(ages)]
    married = ResultColumn("married", "BOOLEAN")
    chart = plot(answer((married, KEY, COUNT), rows))
    assert param(chart, "colors") == ["true", "false"] and channels(chart)["x"]["title"] == KEY.name
    turned = plot(answer((KEY, married, COUNT), [(age, m, n) for m, age, n in rows]))
    assert drawn(chart, "place", "series", "value0") == drawn(turned, "place", "series", "value0")
    assert nodes(chart.svg(), 0) if mark == "bar" else "strokeJoin" in str(chart.spec)
    assert len(chart.result.rows) == len(drawn(chart, "place"))


def test_an_interval_below_zero_beside_a_zero_is_drawn_at_the_axis() -> None:
    low, high = (ResultColumn(f"n_{end}", "BIGINT", end_level=0.9) for end in ("low", "high"))
    chart = plot(answer((TEXT, ResultColumn("n", "BIGINT"), low, high), [("a", 0, -9, -3), ("b", 2, -1, 5)]))
    assert drawn(chart, "low0", "high0") == [(0, 0), (-1, 5)]


@pytest.mark.parametrize(
    ("level", "words"),
    [(0.95, "Intervals hold the exact number in 95 %"), (0.9, "n_low to n_high, which holds it in 90 %."), (None, "")],
)
def test_the_level_of_ends_that_are_columns_is_named(level: float | None, words: str) -> None:
    low, high = (ResultColumn(f"n_{end}", "BIGINT", end_level=level) for end in ("low", "high"))
    chart = plot(answer((TEXT, ResultColumn("n", "BIGINT"), low, high), [("a", 4, 1, 7)]))
    caption = " ".join(chart.spec["title"]["text"])
    assert words in caption and "The interval of n is that from n_low to n_high" in caption
    assert ("%" in caption) == (level is not None)


def test_an_answer_of_no_rows_has_a_plain_axis() -> None:
    chart = plot(answer((TEXT, COUNT), []))
    assert channels(chart)["y"]["axis"]["values"] == [0] and chart.spec["concat"][0]["width"] == 150
    assert "The answer has no rows." in chart.svg()


def test_keys_that_look_alike_stay_apart() -> None:
    svg = plot(answer((TEXT, COUNT), [(None, 1), ("NULL", 2), ("NULL", 3)])).svg()
    assert len({bar.get("d", "").split("h")[0].split(",")[0] for bar in nodes(svg, 0)}) == 3
    assert texts(svg).count("NULL") == 3
    chart = plot(answer((KEY, TEXT, COUNT), [(1, None, 1), (1, "NULL", 2)]))
    assert drawn(chart, "series") == [(0,), (1,)] and param(chart, "colors") == ["NULL", "NULL"]


def test_long_labels_stand_beside_lying_bars() -> None:
    chart = plot(answer((TEXT, COUNT), [("a rather long name", 1), ("y" * 300, 2)]))
    assert channels(chart)["y"]["field"] == "place" and channels(chart)["x"]["field"] == "value0"
    assert param(chart, "labels") == ["a rather long name", "y" * 40 + "…"]
    assert channels(plot(answer((TEXT, COUNT), [("a", 1), ("b", 2)])))["x"]["field"] == "place"
    assert channels(plot(answer((TEXT, COUNT), [(f"g{i}", 1) for i in range(26)])))["y"]["field"] == "place"
    days = [(dt.date(2024, 1, day), 1) for day in range(1, 13)]
    turned = channels(plot(answer((BEGIN, COUNT), days)))["x"]
    assert turned["axis"]["labelAngle"] == -45 and turned["field"] == "place"


def test_no_more_bars_than_can_be_read() -> None:
    chart = plot(answer((TEXT, COUNT), [(f"g{i}", i) for i in range(MOST_ROWS + 1)]))
    assert len(drawn(chart)) == MOST_ROWS and note(chart).startswith("The first 100 of 101 rows.")
    chart = plot(answer((TEXT, COUNT), [(f"g{i}", i) for i in range(MOST_ROWS)]))
    assert len(drawn(chart)) == MOST_ROWS and "rows" not in note(chart)


def test_an_answer_of_no_rows() -> None:
    chart = plot(answer((TEXT, COUNT), []))
    assert note(chart).startswith("The answer has no rows.") and nodes(chart.svg(), 0) == []


# ---------------------------------------------------------------------------------------------- lines


def test_many_numbers_are_a_line_with_a_band() -> None:
    bars = plot(answer((KEY, COUNT), [(i, i) for i in range(MOST_BARS)]))
    assert marks(bars)[0] == "bar"
    chart = plot(answer((KEY, COUNT), [(i * 10, i) for i in range(MOST_BARS + 1)]))
    assert marks(chart) == ["area", "line", "point"]
    assert drawn(chart, "place", "value0", "low0", "high0")[:2] == [(0, 0, -6, 6), (10, 1, -5, 7)]
    assert channels(chart)["x"]["type"] == "quantitative" and channels(chart)["x"]["title"] == "decade"
    svg = chart.svg()
    points = nodes(svg, 2)
    assert len(points) == MOST_BARS + 1 and points[1].get("aria-label") == "10: 1 ± 6"
    heights = [float(re.findall(r"-?[\d.]+", point.get("transform") or "")[1]) for point in points]
    pixels = (heights[0] - heights[-1]) / MOST_BARS
    (area,) = nodes(svg, 0)  # its outline runs along one end of the intervals, and back along the other
    outline = [float(y) for y in re.findall(r",(-?[\d.]+)", area.get("d") or "")]
    there, back = outline[: MOST_BARS + 1], outline[:MOST_BARS:-1]
    for height, *ends in zip(heights, there, back, strict=True):
        assert sorted((height - end) / pixels for end in ends) == pytest.approx([-6, 6], abs=1e-3)


def test_many_dates_are_lines_of_two_colors() -> None:
    days = [dt.date(2024, 1, 1) + dt.timedelta(i) for i in range(60)]
    rows = [(day, sex, i) for i, day in enumerate(days) for sex in ("f", "m")]
    chart = plot(answer((BEGIN, ResultColumn("sex", "VARCHAR"), COUNT), rows))
    assert marks(chart) == ["area", "line", "point"] and channels(chart)["x"]["scale"] == {"type": "utc"}
    assert drawn(chart, "place", "series")[:3] == [
        ("2024-01-01T00:00:00Z", 0), ("2024-01-01T00:00:00Z", 1), ("2024-01-02T00:00:00Z", 0),
    ]  # fmt: skip
    svg = chart.svg()
    assert param(chart, "colors") == ["f", "m"] and len(nodes(svg, 1)) == 2
    symbols = [e for group in nodes(svg) if "role-legend-symbol" in (group.get("class") or "") for e in group]
    assert [symbol.get("opacity") for symbol in symbols] == ["1", "1"]
    columns = (KEY, ResultColumn("region", "VARCHAR"), COUNT)
    for decades, mark in ((10, "bar"), (11, "area")):
        rows = [(decade, f"r{region}", 1) for decade in range(decades) for region in range(10)]
        assert marks(plot(answer(columns, rows)))[0] == mark
    months = [dt.datetime(2022 + month // 12, 1 + month % 12, 1) for month in range(24)]
    month = ResultColumn("month", "TIMESTAMP")
    for number, mark in ((12, "bar"), (13, "area")):
        rows = [(begin, sex, 1) for begin in months[:number] for sex in ("f", "m")]
        assert marks(plot(answer((month, ResultColumn("sex", "VARCHAR"), COUNT), rows)))[0] == mark
    at = dt.datetime(2024, 1, 1, 13, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    hours = [(at + dt.timedelta(hours=i), 1) for i in range(60)]
    chart = plot(answer((ResultColumn("at", "TIMESTAMP WITH TIME ZONE"), COUNT), hours))
    assert drawn(chart, "place")[0] == ("2024-01-01T11:00:00Z",)


def test_rows_that_have_no_place_on_a_line() -> None:
    rows: list[tuple[object, int]] = [(None, 5), *((i, 1) for i in range(60))]
    assert "The row where decade is NULL has no place here." in note(plot(answer((KEY, COUNT), rows)))
    beyond = [("5000000-01-01", 5), *((dt.date(2024, 1, 1) + dt.timedelta(i), 1) for i in range(60))]
    assert marks(plot(answer((BEGIN, COUNT), beyond)))[0] == "bar"
    twice = [(i // 2, 1) for i in range(120)]
    assert marks(plot(answer((KEY, COUNT), twice)))[0] == "bar"
    long = plot(answer((KEY, COUNT), [(i, 1) for i in range(MOST_POINTS + 1)]))
    assert marks(long) == ["area", "line"] and note(long).startswith("The first 5,000 of 5,001 rows.")


def test_midnight_is_left_out_where_all_moments_are_days() -> None:
    month, days = ResultColumn("month", "TIMESTAMP"), [dt.datetime(2024, 1 + i, 1) for i in range(3)]
    labels = texts(plot(answer((month, COUNT), [*((day, 5) for day in days), (None, 1)])).svg())
    assert {"2024-01-01", "2024-03-01"} <= set(labels)
    hours = texts(plot(answer((month, COUNT), [(days[0], 5), (days[1].replace(hour=7), 5)])).svg())
    assert {"2024-01-01 00:00:00", "2024-02-01 07:00:00"} <= set(hours)


def test_more_lines_than_colors_are_bars() -> None:
    rows = [(i, f"s{series}", 1) for i in range(60) for series in range(11)]
    chart = plot(answer((KEY, ResultColumn("s", "VARCHAR"), COUNT), rows))
    assert marks(chart)[0] == "bar" and note(chart).startswith("The first 100 of 660 rows.")


def test_labels_of_axes() -> None:
    years = texts(plot(answer((KEY, COUNT), [(year, 5) for year in range(1950, 2020)])).svg())
    assert "1980" in years and "1,980" not in years
    money = ResultColumn("total", "DOUBLE", 2e6)
    assert {"0", "10M", "20M"} <= set(texts(plot(answer((TEXT, money), [("a", 2.6e7), ("b", 1e7)])).svg()))
    assert {"0", "2B"} <= set(texts(plot(answer((TEXT, money), [("a", 4e9)])).svg()))
    few = texts(plot(answer((TEXT, ResultColumn("n", "BIGINT", 0.5)), [("a", 1)])).svg())
    assert {"0", "1"} <= set(few) and "0.5" not in few and "0.2" not in few


# ---------------------------------------------------------------------------------------------- notes


def test_what_stands_below_a_plot() -> None:
    stored = dt.datetime(2026, 11, 30, 9, 21, 35, tzinfo=dt.UTC)
    privacy = Privacy("bob", Fraction(1, 2), Fraction(0), None, 0.9, Fraction(0), 53, stored)
    assert note(plot(answer((TEXT, COUNT), [("a", 1)], privacy))) == (
        "Intervals hold the exact number in 90 % of all answers; they cover the noise, not what bounds clip. "
        "Nothing charged (stored 2026-11-30 09:21:35 UTC), for bob. "
        "Keys that 53 units or fewer have, noise included, are not shown."
    )
    public = Privacy("bob", Fraction(1, 2), Fraction(0), None)
    assert note(plot(answer((TEXT, PERCENT), [("a", 1.0)], public))) == "Nothing charged, for bob."
    delta = Privacy("bob", Fraction(1, 2), Fraction(1, 2), None, delta_charged=Fraction(1, 10**6))
    assert "Charged ε 0.5 and δ 0.000001, for bob." in note(plot(answer((TEXT, COUNT), [("a", 1)], delta)))


# ---------------------------------------------------------------------------------------------- forms


def test_text_is_never_markup() -> None:
    columns = (
        ResultColumn(EVIL, "VARCHAR"),
        ResultColumn(EVIL + "2", "VARCHAR"),
        ResultColumn("\0" + EVIL, "BIGINT", 6.0),
    )
    control = "a\x00\x1b\u202e\ud800b\nc"
    rows = [(EVIL, EVIL, 1), (control, EVIL, 2), ("datum.value", "labels[0]", 3)]
    chart = plot(answer(columns, rows, Privacy(EVIL, Fraction(1), Fraction(1), None)))
    svg = chart.svg()
    names = {node.tag.rpartition("}")[2] for node in nodes(svg)}
    assert names <= {"svg", "g", "rect", "path", "line", "text", "tspan"}
    assert not [name for node in nodes(svg) for name in node.attrib if name.startswith("on")]
    assert r"a\x00\x1b\u202e\ud800b\nc" in texts(svg) and "datum.value" in texts(svg)
    assert [e for e in texts(svg) if e.startswith("</script></svg><script>")]
    page = chart.html()
    assert "<script" not in page and "<img" not in page
    assert page.count("</svg>") == 1 and "Content-Security-Policy" in page and "default-src 'none'" in page
    assert not re.findall(r"""(?:src|href|url)\s*[=(]["']?[a-z]+:""", page)


def test_forms_of_a_plot(tmp_path: Path) -> None:
    result = answer((TEXT, COUNT), [("a", 1250), ("b", 2)])
    assert result.plot() == plot(result)
    for name in ("p.png", "p.svg", "P.HTML"):
        assert result.plot(tmp_path / name) == plot(result)
    png = (tmp_path / "p.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
    root = nodes((tmp_path / "p.svg").read_text("utf-8"))[0]
    assert [width, height] == pytest.approx([2 * float(root.get(side) or 0) for side in ("width", "height")], abs=2)
    assert plot(result)._repr_svg_() == (tmp_path / "p.svg").read_text("utf-8")
    page = (tmp_path / "P.HTML").read_text("utf-8")
    assert "<title>n by name</title>" in page and page.count("<svg") == 1 and ">1,250 ± 6</td>" in page


def test_a_file_is_replaced_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, old = answer((TEXT, COUNT), [("a", 1)]), tmp_path / "old.svg"
    old.write_text("old")
    old.chmod(0o640)
    (tmp_path / "link.svg").symlink_to(old)
    result.plot(tmp_path / "link.svg")
    assert (tmp_path / "link.svg").is_symlink() and old.read_text("utf-8").startswith("<svg")
    assert old.stat().st_mode & 0o777 == 0o640
    old.write_text("old")
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(dpsql.FileError, match=r"old\.svg can't be written: No space left") as caught:
            result.plot(old)
    assert caught.value.hint == "the answer stands; asked again, what is stored costs nothing"
    assert old.read_text() == "old" and sorted(p.name for p in tmp_path.iterdir()) == ["link.svg", "old.svg"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plot.pdf", r"no plot is called \S*plot\.pdf: what"),
        ("plot", r"no plot is called \S*plot: what"),
        ("nowhere/plot.svg", r"plot\.svg can't be written: No such file or directory"),
        ("folder.svg", r"folder\.svg is not a regular file"),
        ("pipe.svg", r"pipe\.svg is not a regular file"),
        ("loop.svg", r"loop\.svg can't be written"),
        ("nul\0.svg", r"can't be written: not a path"),
    ],
)
def test_what_is_no_file_for_a_plot(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.svg").mkdir()
    os.mkfifo(tmp_path / "pipe.svg")
    (tmp_path / "loop.svg").symlink_to("loop.svg")
    there = sorted(tmp_path.iterdir())
    with pytest.raises(dpsql.FileError, match=message) as caught:
        answer((TEXT, COUNT), [("a", 1)]).plot(tmp_path / name)
    assert caught.value.hint and caught.value.sqlstate == "58030"
    assert sorted(tmp_path.iterdir()) == there


def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(dpsql.InterfaceError, match="the package vl_convert, which this needs") as caught:
        answer((TEXT, COUNT), [("a", 1)]).plot()
    assert caught.value.hint == "pip install 'dpsql[plot]'"


def test_nothing_is_loaded_to_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: list[object] = []

    def draw(spec: object, *, allowed_base_urls: list[str], scale: int = 1) -> str:
        allowed.append(allowed_base_urls)
        return ""

    monkeypatch.setattr("vl_convert.vegalite_to_svg", draw)
    monkeypatch.setattr("vl_convert.vegalite_to_png", draw)
    chart = plot(answer((TEXT, COUNT), [("a", 1)]))
    assert (chart.svg(), chart.png()) == ("", "") and allowed == [[], []]


def test_what_vega_refuses_is_no_traceback_of_its() -> None:
    with pytest.raises(dpsql.InternalError, match="the plot could not be drawn"):
        Chart({"mark": "nothing"}, answer((COUNT,), [(1,)])).svg()


# ---------------------------------------------------------------------------------------------- asking

POLICY = """\
dpsql: 1
privacy: {epsilon: 1}
budget: {epsilon: 1000}
ledger: the.ledger
answers: off
tables:
  people:
    source: people.csv
    unit: row
    columns:
      married: {type: boolean}
      age: {type: integer, bounds: [0, 100]}
  drinks: {source: drinks.csv, public: true}
"""
ASKED = "SELECT married, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY married"

MANY = f"SELECT {', '.join(f'AVG(age + {i}) AS mean{i}' for i in range(8))}, COUNT(*) AS n FROM people"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "people.csv").write_text("married,age\ntrue,30\nfalse,40\n")
    (tmp_path / "drinks.csv").write_text("drink,price\ntea,1.5\nwine,4\n")
    (tmp_path / "plots").mkdir()
    Ledger.create(tmp_path / "the.ledger").close()
    yield tmp_path


def charges(folder: Path) -> int:
    with Ledger.open(folder / "the.ledger") as ledger:
        return ledger.totals().count


def ask(folder: Path, sql: str, *options: str) -> int:
    return main(["query", str(folder / "policy.yaml"), sql, *options])


def test_query_draws_what_it_prints(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(folder, ASKED, "--plot", str(folder / "plots" / "p.svg"), "--epsilon", "2", "--level", "0.9") == 0
    out, err = capsys.readouterr()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in out.splitlines()[3:5]]
    svg = (folder / "plots" / "p.svg").read_text("utf-8")
    assert [bar.get("aria-label") for bar in nodes(svg, 0)] == [
        *(f"{key}: {n}" for key, n, _ in cells), *(f"{key}: {mean}" for key, _, mean in cells),
    ]  # fmt: skip
    assert "in 90 % of all answers" in " ".join(texts(svg)) and "Charged ε 2" in svg
    assert err == "" and charges(folder) == 1
    assert ask(folder, ASKED, "--plot", str(folder / "plots" / "p.png"), "--format", "csv") == 0
    assert capsys.readouterr().out.startswith("married,n,mean\nfalse,")
    assert charges(folder) == 2 and sorted(p.name for p in (folder / "plots").iterdir()) == ["p.png", "p.svg"]


@pytest.mark.parametrize(
    ("sql", "options", "code", "message"),
    [
        (ASKED, ["--plot", "plots/p.pdf"], 2, "end the plot's name in .png, .svg or .html"),
        (ASKED, ["--plot", "nowhere/p.svg"], 2, "nowhere/p.svg can't be written: No such file or directory"),
        (ASKED, ["--plot", "plots/old.svg", "-o", "./plots/old.svg"], 2, "-o and --plot name the same file"),
        (ASKED, ["--plot", "plots/p.svg", "-o", "nowhere/a.csv"], 2, "nowhere/a.csv can't be written"),
        (ASKED + " HAVING", ["--plot", "plots/p.svg"], 1, "error 42601"),
        ("SELECT married FROM people GROUP BY married", ["--plot", "plots/p.svg"], 1, "no column of this answer"),
        ("SELECT DISTINCT age FROM people", ["--plot", "plots/p.svg"], 1, "no column of this answer"),
        (MANY, ["--plot", "plots/p.svg"], 1, "9 numbers are too many for one plot"),
        (f"EXPLAIN {ASKED}", ["--plot", "plots/p.svg"], 1, "error 0A000: an EXPLAIN has nothing to draw"),
        (ASKED, ["--plot", "plots/old.svg", "--epsilon", "5000"], 4, "error 53400"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_costs_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, sql: str, options: list[str],
    code: int, message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    (folder / "plots" / "old.svg").write_text("old")
    assert ask(folder, sql, *options) == code
    out, err = capsys.readouterr()
    assert message in err and "Traceback" not in err and out == ""
    assert charges(folder) == 0
    assert [p.name for p in (folder / "plots").iterdir()] == ["old.svg"]
    assert (folder / "plots" / "old.svg").read_text() == "old"


def test_a_missing_package_costs_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert ask(folder, ASKED, "--plot", str(folder / "p.svg")) == 2
    assert "hint: pip install 'dpsql[plot]'" in capsys.readouterr().err
    assert charges(folder) == 0 and not (folder / "p.svg").exists()
    assert ask(folder, ASKED) == 0


def test_a_plot_of_a_cursor(folder: Path) -> None:
    with dpsql.connect(folder / "policy.yaml", analyst="alice") as connection:
        cursor = connection.cursor()
        with pytest.raises(dpsql.InterfaceError, match="nothing was executed"):
            cursor.plot()
        cursor.execute(ASKED)
        first = cursor.fetchone()
        with pytest.raises(dpsql.InterfaceError, match="written to a path, not to int"):
            cursor.plot(3)  # type: ignore[arg-type]
        chart = cursor.plot(folder / "plots" / "p.svg")
        assert first is not None and drawn(chart, "value0", "value1")[0] == first[1:]
        assert cursor.privacy is not None
        n, mean = cursor.privacy.intervals[1:]
        assert n is not None and mean is not None
        assert drawn(chart, "low0", "high0") == list(n) and drawn(chart, "low1", "high1") == list(mean)
        assert len(cursor.fetchall()) == 1 and (folder / "plots" / "p.svg").exists()
        cursor.execute("SELECT drink, price FROM drinks ORDER BY price DESC")
        assert drawn(cursor.plot(), "value0") == [(4,), (1.5,)]
    assert charges(folder) == 1


def test_nothing_is_imported_until_something_is_drawn() -> None:
    code = "import sys, dpsql, dpsql.cli; print([p for p in ('vl_convert',) if p in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
