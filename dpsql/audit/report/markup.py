"""HTML and SVG as values. Text becomes markup in one way, escaped: what came from a policy can't be taken for tags."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from dpsql.policy.problems import printable

_VOID = frozenset(("meta", "br", "rect", "line", "circle", "path", "col"))


class Markup(str):
    """Text that is markup already. Made by this module alone."""

    __slots__ = ()


Content: TypeAlias = "str | Iterable[Content]"
"""What an element holds: text, markup, or some of these."""


def text(value: str) -> Markup:
    """The text, escaped; what can't be shown is escaped as in a terminal, but line breaks stand."""
    shown = "\n".join(printable(line, len(line)) for line in value.split("\n"))
    return Markup(escape(shown))


def element(tag: str, *content: Content, **attributes: str | float | bool) -> Markup:
    """`<tag …>content</tag>`. An attribute's name has - for _, and no _ at its end; True stands alone, False is left
    out. Strings are escaped, unless they are markup; a string in an iterable too.
    """
    shown = "".join(_attribute(name, value) for name, value in attributes.items() if value is not False)
    if tag in _VOID and not content:
        return Markup(f"<{tag}{shown}>" if tag in ("meta", "br", "col") else f"<{tag}{shown}/>")
    inner = "".join(_inner(each) for each in content)
    return Markup(f"<{tag}{shown}>{inner}</{tag}>")


def style(css: str) -> Markup:
    """A style sheet of ours."""
    return Markup(f"<style>{css}</style>")


def _inner(content: Content) -> str:
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return text(content)
    return "".join(_inner(each) for each in content)


def _attribute(name: str, value: str | float | bool) -> str:
    key = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {key}"
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return f' {key}="{text(shown)}"'
