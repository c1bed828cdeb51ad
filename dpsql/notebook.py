"""An answer as an HTML table, for notebooks: noisy numbers with their half-widths, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from dpsql.display import cells, has_error, is_number, rank_notes
from dpsql.result import Result, percent_text

SHOWN = 50
"""Rows that are shown; a note tells how many there are."""
_LONGEST_CELL = 1_000


def html(result: Result, cost: str) -> str:
    """The first rows as a table, with `cost` below it. All text is escaped."""
    rows = result.values.head(SHOWN)
    right = [is_number(column) for column in result.columns]
    head = _line("th", (column.name for column in result.columns), right)
    columns = [cells(column, [row[i] for row in rows]) for i, column in enumerate(result.columns)]
    body = "\n".join(_line("td", (column[i] for column in columns), right) for i in range(len(rows)))
    return (
        f'<table border="1" class="dataframe">\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n'
        f"<p>{escape('; '.join(_notes(result, cost)))}</p>\n"
    )


def _notes(result: Result, cost: str) -> Iterable[str]:
    if len(result.values) > SHOWN:
        yield f"the first {SHOWN} of {len(result.values):,} rows"
    yield cost
    if any(map(has_error, result.columns)):
        yield f"each exact number lies within its ± in {percent_text(result.privacy.level)} of all answers"
    yield from rank_notes(result)


def _line(tag: str, texts: Iterable[str], right: list[bool]) -> str:
    shown = []
    for text, number in zip(texts, right, strict=True):
        align = "right" if number else "left; white-space: pre-wrap"
        shown.append(f'<{tag} style="text-align: {align}">{escape(_cut(text.strip() if number else text))}</{tag}>')
    return f"<tr>{''.join(shown)}</tr>"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"
