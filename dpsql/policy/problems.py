"""What is wrong in a policy: collected, so that the owner sees all of it at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

MAX_PROBLEMS = 200
"""More are not kept: a file with that many is not a policy."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where (line 0: the file as a whole), what was found, what to write."""

    line: int
    message: str
    hint: str


class Problems:
    """The problems found so far. The same one, reached twice through an alias, counts once."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], Problem] = {}

    def add(self, line: int, message: str, hint: str) -> None:
        """Note one problem."""
        if len(self._found) < MAX_PROBLEMS:
            self._found.setdefault((line, message), Problem(line, message, hint))

    def __len__(self) -> int:
        return len(self._found)

    def by_line(self) -> list[Problem]:
        """All of them, in the order of the file."""
        return sorted(self._found.values(), key=lambda problem: problem.line)


def printable(text: str, limit: int = 80) -> str:
    """The text with everything that a terminal can't show escaped, and cut where it is long."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in cut)


def quoted(text: str) -> str:
    """The text as a message shows it."""
    return f"'{printable(text)}'"


def similar(word: str, options: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The option that was probably meant; `cutoff`: how alike it has to be, from 0 to 1."""
    if len(word) > 64:
        return None
    by_lower = {option.lower(): option for option in options}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[found[0]] if found else None


def one_of(options: Iterable[str]) -> str:
    """`a, b or c`."""
    *first, last = options
    return f"{', '.join(first)} or {last}" if first else last


def on_lines(first: int, second: int) -> str:
    """Where the two of something are."""
    return f"on line {first}" if first == second else f"on lines {first} and {second}"
