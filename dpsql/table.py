"""Tables of text for terminals and Markdown, and how wide text is on a screen."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from dpsql.policy.problems import printable

Style = Literal["box", "ascii", "spelled", "markdown"]
"""`spelled`: as ascii, for places that lack Greek letters and the like."""
SPELLED = {"ε": "epsilon", "δ": "delta", "Δ": "delta ", "±": "+/-", "…": "...", "−": "-", "–": "-"}
_LONGEST_CELL = 1_000


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column; numbers stand to the right."""

    name: str
    right: bool = False


def width(text: str) -> int:
    """How many columns of a terminal `text` takes: wide East Asian characters two, combining ones none."""
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def table(heads: Sequence[Head], rows: Iterable[Sequence[str]], style: Style) -> str:
    """The table, each line ended by a line break. What a terminal can't show is escaped."""
    shown = [[_cell(text, style) for text in row] for row in ([head.name for head in heads], *rows)]
    widths = [max(width(row[i]) for row in shown) for i in range(len(heads))]
    lines = [_line(row, heads, widths, style) for row in shown]
    if style == "markdown":
        rule = [f"{'-' * max(w - 1, 2)}{':' if h.right else '-'}" for h, w in zip(heads, widths, strict=True)]
        lines.insert(1, f"| {' | '.join(rule)} |")
    elif style == "box":
        lines.insert(1, _rule(widths, "├┼┤", "─"))
        lines = [_rule(widths, "┌┬┐", "─"), *lines, _rule(widths, "└┴┘", "─")]
    else:
        lines.insert(1, _rule(widths, "+++", "-"))
        lines = [_rule(widths, "+++", "-"), *lines, _rule(widths, "+++", "-")]
    return "".join(f"{line}\n" for line in lines)


def _cell(text: str, style: Style) -> str:
    clean = printable(text, _LONGEST_CELL)
    if style == "spelled":
        return "".join(SPELLED.get(character, character) for character in clean)
    return clean.replace("|", "\\|") if style == "markdown" else clean


def _rule(widths: Sequence[int], corners: str, dash: str) -> str:
    return corners[0] + corners[1].join(dash * (w + 2) for w in widths) + corners[2]


def _line(cells: Sequence[str], heads: Sequence[Head], widths: Sequence[int], style: Style) -> str:
    bar = "│" if style == "box" else "|"
    padded = []
    for text, head, wanted in zip(cells, heads, widths, strict=True):
        space = " " * (max(wanted, 3 if style == "markdown" else 0) - width(text))
        padded.append(space + text if head.right else text + space)
    return f"{bar} {f' {bar} '.join(padded)} {bar}"
