"""The parts of README that are made from the product, each between `<!-- generated: name -->` and its end.

`python -m tests.test_docs` writes them; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_END = "<!-- generated: end -->"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown; a bar inside a cell is escaped."""
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines)


def code(text: str) -> str:
    return f"`{text}`"


def with_generated(text: str, made: dict[str, str]) -> str:
    """README with each generated part as it should be; every part has exactly one place, and every place its part."""
    places = re.findall(r"<!-- generated: (?!end -->)(.*?) -->\n", text)
    assert sorted(places) == sorted(made), (places, list(made))
    for name, content in made.items():
        before, _, rest = text.partition(f"<!-- generated: {name} -->\n")
        text = f"{before}<!-- generated: {name} -->\n{content}{rest[rest.index(_END) :]}"
    return text
