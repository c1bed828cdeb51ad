"""PostgreSQL's arrays as it writes them: `{a,"b c",NULL}`. One dimension, which is all that anything here has."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ELEMENT = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*(,|$)|((?:[^{},"\\]|\\.)+)(,|$)', re.DOTALL)
_PLAIN = re.compile(r'[^\s{}",\\]+')


def parse(text: str) -> list[str | None]:
    """The elements, None for NULL. Raises ValueError where the text is no array of one dimension."""
    match = re.fullmatch(r"\s*\{(.*)\}\s*", text, re.DOTALL)
    if match is None:
        raise ValueError
    inner, found, at = match[1], list[str | None](), 0
    if not inner.strip():
        return found
    while True:
        element = _ELEMENT.match(inner, at)
        if element is None:
            raise ValueError
        text = element[3].strip() if element[1] is None else element[1]
        if element[1] is None and not text:
            raise ValueError
        is_null = element[1] is None and text.upper() == "NULL"
        found.append(None if is_null else re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL))
        at = element.end()
        if not (element[2] or element[4]):
            return found


def written(elements: Iterable[str | None]) -> str:
    """The array as PostgreSQL writes it."""
    return "{" + ",".join(map(_written, elements)) + "}"


def _written(element: str | None) -> str:
    if element is None:
        return "NULL"
    if _PLAIN.fullmatch(element) and element.upper() != "NULL":
        return element
    return '"' + element.replace("\\", "\\\\").replace('"', '\\"') + '"'
