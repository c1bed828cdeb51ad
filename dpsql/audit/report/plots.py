"""The figures of an audit, as SVG: bars against a limit, bars in two parts, columns of counts, points with a band.

Each is an image with a title and a description for those who don't see it; the same numbers stand in tables. Colours
are the page's, by class, so that they follow light, dark and paper. Widths are in the units of the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dpsql.audit.report.markup import Markup, element

_WIDTH = 720
_LABEL = 190
_RIGHT = 130
_ROW = 28
_TOP = 34
_BOTTOM = 30
_COLUMNS = 120
_MARGIN = 20
_LONGEST_LABEL = 24


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar against the limit 1, with what it says at its end."""

    label: str
    value: float
    says: str


@dataclass(frozen=True, slots=True)
class Parts:
    """Two numbers, drawn as one bar."""

    label: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Point:
    """A measured share, the share that is wanted at least, and the range that chance leaves for it."""

    label: str
    value: float
    wanted: float
    band: tuple[float, float]
    says: str
    fault: bool


def against_limit(bars: Sequence[Bar], *, title: str, limit: str) -> Markup:
    """Horizontal bars and a line at 1, named `limit`; what passes it has another colour and pattern, and says so."""
    most = max([1.0, *(bar.value for bar in bars)])
    scale = _Scale(0, most)

    def drawn() -> Iterator[Markup]:
        for index, bar in enumerate(bars):
            y = _y(index)
            over = bar.value > 1
            yield _label(bar.label, y)
            yield element("rect", x=scale(0), y=y - 8, width=max(1.0, scale(bar.value) - scale(0)), height=16, rx=2,
                          class_="over" if over else "bar")  # fmt: skip
            yield _says(bar.says, y, "says over-says" if over else "says")
        yield from _rule(scale(1), len(bars), limit)

    described = "; ".join(f"{bar.label}: {bar.says}" for bar in bars)
    return _svg(_height(len(bars)), title, described, drawn(), _axis(scale, _ticks(0, most), len(bars)))


def in_parts(parts: Sequence[Parts], *, title: str, first: str, second: str) -> Markup:
    """Horizontal bars of two parts each, with a key above."""
    most = max([1, *(part.first + part.second for part in parts)])
    scale = _Scale(0, most)

    def drawn() -> Iterator[Markup]:
        for x, name, kind in ((_LABEL, first, "bar"), (_LABEL + 150, second, "rest")):
            yield element("rect", x=x, y=8, width=12, height=12, rx=2, class_=kind)
            yield _key(x + 18, name)
        for index, part in enumerate(parts):
            y, end = _y(index), scale(part.first)
            yield _label(part.label, y)
            yield element("rect", x=scale(0), y=y - 8, width=end - scale(0), height=16, rx=2, class_="bar")
            yield element("rect", x=end, y=y - 8, width=scale(part.first + part.second) - end, height=16, rx=2,
                          class_="rest")  # fmt: skip
            yield _says(f"{part.first:,} + {part.second:,}", y, "says")

    described = "; ".join(f"{part.label}: {first} {part.first:,}, {second} {part.second:,}" for part in parts)
    return _svg(_height(len(parts)), title, described, drawn(), _axis(scale, _ticks(0, most), len(parts), whole=True))


def columns(counts: Sequence[tuple[str, int]], *, title: str, below: str) -> Markup:
    """Vertical bars, each with its count above and its name below; `below` names them all."""
    most = max([1, *(count for _, count in counts)])
    room, wide = _COLUMNS, (_WIDTH - 2 * _MARGIN) / max(1, len(counts))

    def drawn() -> Iterator[Markup]:
        for index, (name, count) in enumerate(counts):
            middle, high = _MARGIN + wide * (index + 0.5), room * count / most
            top = _TOP + room - high
            yield element("rect", x=middle - wide * 0.38, y=top, width=wide * 0.76, height=high, rx=2, class_="bar")
            yield element("text", f"{count:,}", x=middle, y=top - 6, text_anchor="middle", class_="tick")
            yield element("text", name, x=middle, y=_TOP + room + 18, text_anchor="middle", class_="tick")
        yield element("line", x1=_MARGIN, x2=_WIDTH - _MARGIN, y1=_TOP + room, y2=_TOP + room, class_="axis")
        yield element("text", below, x=_WIDTH / 2, y=_TOP + room + 40, text_anchor="middle", class_="tick")

    described = "; ".join(f"{name}: {count:,}" for name, count in counts)
    return _svg(_TOP + room + 50, title, described, drawn())


def with_band(points: Sequence[Point], *, title: str) -> Markup:
    """Points on one axis of shares; behind each the band that chance leaves, and a tick at what is wanted."""
    least = min(min(point.value, point.band[0], point.wanted) for point in points)
    low = max(0.0, least - (1 - least) / 10)
    scale = _Scale(low, 1.0)

    def drawn() -> Iterator[Markup]:
        yield element("rect", x=_LABEL, y=8, width=24, height=12, rx=2, class_="band")
        yield _key(_LABEL + 30, "left by chance")
        yield element("line", x1=_LABEL + 150, x2=_LABEL + 150, y1=6, y2=22, class_="wanted")
        yield _key(_LABEL + 158, "level")
        yield _mark(_LABEL + 220, 14, False)
        yield _key(_LABEL + 232, "found")
        for index, point in enumerate(points):
            y = _y(index)
            left, right = (scale(end) for end in point.band)
            yield _label(point.label, y)
            yield element("rect", x=left, y=y - 8, width=max(1.0, right - left), height=16, rx=2, class_="band")
            yield element("line", x1=scale(point.wanted), x2=scale(point.wanted), y1=y - 10, y2=y + 10, class_="wanted")
            yield _mark(scale(point.value), y, point.fault)
            yield _says(point.says, y, "says over-says" if point.fault else "says")

    described = "; ".join(f"{point.label}: {point.says}, wanted {point.wanted:.0%}" for point in points)
    return _svg(
        _height(len(points)), title, described, drawn(), _axis(scale, _ticks(low, 1.0), len(points), percent=True)
    )


# ---------------------------------------------------------------------------------------------- parts


@dataclass(frozen=True, slots=True)
class _Scale:
    """From numbers to places between the labels and what is said."""

    low: float
    high: float

    def __call__(self, value: float) -> float:
        span = (self.high - self.low) or 1
        return _LABEL + (_WIDTH - _LABEL - _RIGHT) * (value - self.low) / span


def _y(index: int) -> float:
    """The middle of a row."""
    return _TOP + _ROW * index + _ROW / 2


def _height(rows: int) -> float:
    return _TOP + _ROW * rows + _BOTTOM


def _svg(height: float, title: str, described: str, *parts: Iterable[Markup]) -> Markup:
    return element(
        "svg", element("title", title), element("desc", described), *parts,
        viewBox=f"0 0 {_WIDTH} {height:g}", role="img", aria_label=title, xmlns="http://www.w3.org/2000/svg",
    )  # fmt: skip


def _label(name: str, y: float) -> Markup:
    short = name if len(name) <= _LONGEST_LABEL else f"{name[: _LONGEST_LABEL - 1]}…"
    return element("text", element("title", name), short, x=_LABEL - 10, y=y + 4, text_anchor="end", class_="name")


def _key(x: float, what: str) -> Markup:
    return element("text", what, x=x, y=18, class_="tick")


def _says(what: str, y: float, kind: str) -> Markup:
    return element("text", what, x=_WIDTH - _RIGHT + 10, y=y + 4, class_=kind)


def _rule(x: float, rows: int, name: str) -> Iterator[Markup]:
    yield element("line", x1=x, x2=x, y1=_TOP - 6, y2=_TOP + _ROW * rows + 4, class_="limit")
    yield element("text", name, x=x, y=_TOP - 12, text_anchor="middle", class_="tick")


def _mark(x: float, y: float, fault: bool) -> Markup:
    """A point; a cross where it is a fault."""
    if not fault:
        return element("circle", cx=x, cy=y, r=5, class_="dot")
    return element("path", d=f"M{x - 5:g} {y - 5:g} l10 10 m0 -10 l-10 10", class_="cross")


def _axis(
    scale: _Scale, ticks: Sequence[float], rows: int, *, percent: bool = False, whole: bool = False
) -> Iterator[Markup]:
    bottom = _TOP + _ROW * rows + 4
    yield element("line", x1=scale(scale.low), x2=scale(scale.high), y1=bottom, y2=bottom, class_="axis")
    for tick in ticks:
        name = f"{tick * 100:g} %" if percent else f"{tick:,.0f}" if whole else f"{tick:g}"
        yield element("line", x1=scale(tick), x2=scale(tick), y1=bottom, y2=bottom + 4, class_="axis")
        yield element("text", name, x=scale(tick), y=bottom + 18, text_anchor="middle", class_="tick")


def _ticks(low: float, high: float) -> list[float]:
    """At most six round numbers within the range."""
    power = 10.0 ** math.floor(math.log10((high - low) / 6))
    step = next(power * factor for factor in (1, 2, 5, 10) if (high - low) / (power * factor) <= 5)
    return [round(step * count, 9) for count in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]
