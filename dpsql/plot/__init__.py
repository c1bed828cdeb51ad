"""An answer as a plot: bars with their intervals, lines with bands where there are too many bars.

    chart = plot(result)            # a notebook shows it; chart.spec is Vega-Lite
    chart.save("decades.svg")       # or .png, .html

Vega-Lite draws it, in the package vl-convert-python: one wheel without dependencies that is imported in 5 ms, draws its
first plot in half a second, and needs neither a browser nor a network. (matplotlib is as large on disk with the nine
packages that it needs beside numpy, and is imported in more than a second; plotly wants a browser for PNG, and pygal a
library of the system's; lets-plot is smaller, but puts packages named `test` and `docs` beside ours, and its drawings
have no words for who can't see them.) A specification is plain data, in which keys are data too: no text of an answer
becomes an expression, a tag or a script. An HTML page holds the drawing itself and the rows as a table; it has no
script, and forbids any.

A plot is made of the answer alone, so it costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

from dpsql.errors import InternalError
from dpsql.frames import package
from dpsql.notebook import html
from dpsql.plot.file import SUFFIXES, PlotFile
from dpsql.plot.notes import cost_note
from dpsql.plot.roles import roles
from dpsql.plot.spec import specification
from dpsql.result import Result

_SCALE = 2
"""Pixels of a PNG for each of the drawing's."""
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font-family: Helvetica, Arial, sans-serif; font-size: 13px; margin: 2em; color: #333; background: white }}
svg {{ max-width: 100%; height: auto }}
table {{ border-collapse: collapse; margin-top: 2em }}
th, td {{ border: 0; border-bottom: 1px solid #ddd; padding: 3px 10px; font-variant-numeric: tabular-nums }}
</style>
</head>
<body>
{drawing}
{table}</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot of an answer.

    spec    its Vega-Lite specification, with the data in it: `altair.Chart.from_dict(chart.spec)`
    result  what is drawn
    """

    spec: dict[str, Any] = field(repr=False)
    result: Result = field(repr=False)

    def __repr__(self) -> str:
        """What it shows, in words: all of it would be every row, twice."""
        rows = len(self.result.values)
        return f"<dpsql.Chart of {self.spec['description']!r}, {rows:,} row{'s' * (rows != 1)}>"

    def svg(self) -> str:
        """The drawing as SVG. Raises InterfaceError where vl-convert-python is missing."""
        drawn: str = _drawn(converter().vegalite_to_svg, self.spec)
        return drawn

    def png(self) -> bytes:
        """The drawing as PNG."""
        drawn: bytes = _drawn(converter().vegalite_to_png, self.spec, scale=_SCALE)
        return drawn

    def html(self) -> str:
        """A page of its own: the drawing, and the first rows as a table. It loads nothing and runs nothing."""
        table = html(self.result, cost_note(self.result))
        return _PAGE.format(title=escape(self.spec["description"]), drawing=self.svg(), table=table)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, in the form that the name ends in: .png, .svg or .html.

        A regular file of that name is replaced, all at once. Raises InterfaceError where it can't be written.
        """
        with PlotFile(path) as file:
            file.write(self.encoded(file.suffix))

    def encoded(self, suffix: str) -> bytes:
        """The bytes of a file whose name ends in that."""
        match suffix:
            case ".png":
                return self.png()
            case ".svg":
                return self.svg().encode()
        return self.html().encode()

    def _repr_svg_(self) -> str:
        return self.svg()


def plot(result: Result, path: str | os.PathLike[str] | None = None) -> Chart:
    """The plot of an answer; with `path` it is written there too.

    Raises NotSupportedError where the answer has no number to draw, InterfaceError where the file can't be written or
    vl-convert-python is missing.
    """
    converter()
    found = roles(result.columns)
    chart = Chart(specification(result, found), result)
    if path is not None:
        chart.save(path)
    return chart


def converter() -> Any:
    """vl-convert-python. Raises InterfaceError where it is missing."""
    return package("vl_convert", "plot")


def _drawn(draw: Callable[..., Any], spec: dict[str, Any], **options: Any) -> Any:
    try:
        return draw(spec, allowed_base_urls=[], **options)  # nothing is loaded from anywhere
    except ValueError:
        raise InternalError("the plot could not be drawn", hint="the answer stands; fetch its rows") from None


__all__ = ["SUFFIXES", "Chart", "PlotFile", "converter", "plot", "roles"]
