"""Typed access to the nodes of a policy: each accessor gives the value, or notes a problem and gives None."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from dpsql.policy.decisions import is_undecided, undecided
from dpsql.policy.document import Mapping, Node, Scalar, Sequence
from dpsql.policy.problems import Problems, one_of, printable, quoted, similar
from dpsql.policy.scalars import UNUSABLE, has_leading_zero

KEYS: dict[str, tuple[str, ...]] = {
    "the policy": (
        "dpsql",
        "engine",
        "dialect",
        "privacy",
        "budget",
        "ledger",
        "answers",
        "data_version",
        "server",
        "tables",
    ),
    "privacy": ("epsilon", "max_epsilon", "min_epsilon", "delta", "mechanism", "counts", "error_columns"),
    "budget": ("epsilon", "delta", "per", "analysts"),
    "an analyst": ("epsilon", "delta", "per"),
    "server": (
        "listen",
        "port",
        "tls",
        "users",
        "max_connections",
        "max_connections_per_analyst",
        "statement_timeout",
        "idle_timeout",
    ),
    "tls": ("certificate", "key"),
    "a table": ("source", "unit", "public", "primary_key", "description", "columns"),
    "a unit": ("column", "via", "max_rows", "max_groups", "max_rows_per_key"),
    "a column": ("type", "bounds", "keys", "grain", "nullable", "unique", "description"),
    "keys": ("from",),
}
"""Every key of the format, by the kind of section."""

RESERVED = ("dpsql_", "_dpsql")
MAX_NAME = 255


def found(node: Node) -> str:
    """What stands there, as a message says it. Text that came from the environment is shown as `${NAME}`."""
    match node:
        case Sequence():
            return "a list"
        case Mapping():
            return "a mapping"
        case Scalar(value=None):
            return "nothing"
        case Scalar() if node.text != node.written:
            return f"the value of {quoted(node.written)}"
        case Scalar(value=bool() | int() | Fraction() | float()):
            return printable(node.written)
    return f"the text {quoted(node.written)}"


def is_unusable(node: Node) -> bool:
    """Whether the node was already reported."""
    return isinstance(node, Scalar) and node.value is UNUSABLE


def is_null(node: Node) -> bool:
    """Whether nothing (or null) stands there."""
    return isinstance(node, Scalar) and node.value is None


def number_problem(node: Node, where: str, example: str) -> tuple[str, str]:
    """Message and hint for a node that is not a finite number."""
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, float):
        return f"{where} must be finite, found {found(node)}", f"write a finite number, for example {example}"
    message = f"{where} must be a number, found {found(node)}"
    if isinstance(value, str) and isinstance(node, Scalar):
        if has_leading_zero(node.text):
            return message, "write the number without leading zeros: with them it is text"
        if node.text == node.written and as_number(node.text) is not None:
            return message, f"write it without quotes: {printable(node.text)}"
    return message, f"write a number, for example {example}"


def text_of(node: Node, where: str, example: str, problems: Problems) -> str | None:
    """The text that stands there, if it is one that is not empty."""
    if is_unusable(node):
        return None
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value.strip():
        return node.value
    typed = isinstance(node, Scalar) and node.value is not None and not isinstance(node.value, str)
    hint = "put it in quotes" if typed else f"write for example {example}"
    what = "nothing" if isinstance(node, Scalar) and not node.text.strip() else found(node)
    problems.add(node.line, f"{where} must be a text, found {what}", hint)
    return None


def as_number(text: str) -> Fraction | None:
    """The number that the text shows, if it shows a short one."""
    try:
        return Fraction(text) if len(text) < 20 and "/" not in text and "e" not in text.lower() else None
    except ValueError:
        return None


def check_name(name: Scalar, what: str, problems: Problems) -> bool:
    """Whether the text can name a table or column: any text that can be seen and is not reserved."""
    text = name.text
    shown = quoted(name.written)
    if not text.strip():
        problems.add(name.line, f"{what} has an empty name", "write a name before the colon")
    elif text != text.strip() or any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text):
        problems.add(
            name.line,
            f"the name {shown} of {what} contains invisible characters or blanks at an end",
            "write the name without them",
        )
    elif len(text) > MAX_NAME:
        problems.add(name.line, f"the name {shown} is longer than {MAX_NAME} characters", "write a shorter one")
    elif text.lower().startswith(RESERVED):
        problems.add(
            name.line,
            f"the name {shown} of {what} is reserved",
            f"choose a name that does not begin with {one_of(RESERVED)}",
        )
    else:
        return True
    return False


def folded(name: str) -> str:
    """What two names that differ only in case or in Unicode form have in common."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def unique_names(items: Iterable[tuple[Scalar, Node]], what: str, problems: Problems) -> list[tuple[Scalar, Node]]:
    """The items whose names can be used, without those that differ from an earlier one in case only."""
    first: dict[str, Scalar] = {}
    kept: list[tuple[Scalar, Node]] = []
    for name, node in items:
        if not check_name(name, what, problems):
            continue
        earlier = first.setdefault(folded(name.text), name)
        if earlier is name:
            kept.append((name, node))
        else:
            both = f"{quoted(name.written)} and {quoted(earlier.written)} on line {earlier.line}"
            problems.add(
                name.line,
                f"{both} are the same name",
                "names match without case: keep or rename one of them",
            )
    return kept


class Section:
    """A mapping with known keys. `path` says where it stands, such as `privacy` or `people.age`."""

    def __init__(self, node: Mapping, line: int, path: str, kind: str, problems: Problems) -> None:
        self.line = line
        self.path = path
        self._problems = problems
        self._nodes: dict[str, tuple[Scalar, Node]] = {}
        self._misspelt: set[str] = set()
        for name, value in node.items:
            if name.text in KEYS[kind]:
                self._nodes[name.text] = (name, self._decided(name.text, value, kind))
            else:
                self._unknown(name, kind)

    def __contains__(self, key: str) -> bool:
        return key in self._nodes

    def _decided(self, key: str, value: Node, kind: str) -> Node:
        """The value; where it is still to be decided, this is reported here, once for all that read it."""
        if not is_undecided(value):
            return value
        self._problems.add(value.line, *undecided(self.where(key), kind, key))
        return replace(value, value=UNUSABLE)

    def _unknown(self, name: Scalar, kind: str) -> None:
        known = KEYS[kind]
        meant = similar(name.text, known)
        elsewhere = [other for other, keys in KEYS.items() if name.text in keys]
        if meant:
            self._misspelt.add(meant)
            hint = f"did you mean {quoted(meant)}?"
        elif elsewhere:
            hint = f"{quoted(name.text)} is a key of {one_of(elsewhere)}"
        else:
            hint = f"the keys here are {', '.join(known)}"
        self._problems.add(name.line, f"{self.path} has an unknown key {quoted(name.written)}", hint)

    def where(self, key: str) -> str:
        """The key with its place, for messages."""
        return f"{self.path}.{key}" if self.path != "the policy" else key

    def line_of(self, key: str) -> int:
        """The line of the key; of the section where it isn't written."""
        return self._nodes[key][0].line if key in self._nodes else self.line

    def problem(self, key: str, message: str, hint: str) -> None:
        """Note what is wrong at this key."""
        self._problems.add(self.line_of(key), message, hint)

    def require(self, key: str, hint: str) -> bool:
        """Whether the key is written; a problem where it is not, unless a misspelt one was noted."""
        return self.require_any((key,), hint)

    def require_any(self, keys: tuple[str, ...], hint: str) -> bool:
        """Whether one of the keys is written; a problem where none is, unless a misspelt one was noted."""
        written = any(key in self._nodes for key in keys)
        if not written and self._misspelt.isdisjoint(keys):
            self._problems.add(self.line, f"{self.path} has no {one_of(map(quoted, keys))}", hint)
        return written

    def node(self, key: str) -> Node | None:
        """What is written there, unless it was already reported."""
        node = self._nodes[key][1] if key in self._nodes else None
        return None if node is None or is_unusable(node) else node

    def number(self, key: str, example: str) -> Fraction | None:
        """A finite number."""
        node = self.node(key)
        if node is None:
            return None
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, int | Fraction) and not isinstance(value, bool):
            return Fraction(value)
        message, hint = number_problem(node, self.where(key), example)
        self._problems.add(node.line, message, hint)
        return None

    def text(self, key: str, example: str) -> str | None:
        """A text that is not empty."""
        node = self.node(key)
        return None if node is None else text_of(node, self.where(key), f"{key}: {example}", self._problems)

    def boolean(self, key: str) -> bool | None:
        """true or false."""
        node = self.node(key)
        if node is None:
            return None
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        self._problems.add(
            node.line, f"{self.where(key)} must be true or false, found {found(node)}", "write true or false"
        )
        return None

    def choice(self, key: str, options: tuple[str, ...]) -> str | None:
        """One of a few words."""
        node = self.node(key)
        if node is None:
            return None
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value in options:
            return node.value
        meant = similar(node.text, options) if isinstance(node, Scalar) else None
        hint = f"did you mean {quoted(meant)}?" if meant else f"write {one_of(options)}"
        self._problems.add(node.line, f"{self.where(key)} must be {one_of(options)}, found {found(node)}", hint)
        return None

    def mapping(self, key: str, example: str) -> Mapping | None:
        """A mapping that is not empty."""
        node = self.node(key)
        if node is None:
            return None
        if isinstance(node, Mapping) and node.items:
            return node
        what = "nothing" if isinstance(node, Mapping) else found(node)
        self.problem(key, f"{self.where(key)} must be a mapping, found {what}", f"write {example}")
        return None

    def section(self, key: str, kind: str, example: str) -> Section | None:
        """A mapping with known keys."""
        node = self.mapping(key, example)
        if node is None:
            return None
        return Section(node, self.line_of(key), self.where(key), kind, self._problems)


def section_of(name: Scalar, node: Node, path: str, kind: str, example: str, problems: Problems) -> Section | None:
    """The section that stands under a name of the owner's choice."""
    if is_unusable(node):
        return None
    if isinstance(node, Mapping):
        return Section(node, name.line, path, kind, problems)
    if is_undecided(node):
        problems.add(name.line, f"{path} is still to be decided", f"write {example}")
        return None
    problems.add(name.line, f"{path} must be a mapping, found {found(node)}", f"write {example}")
    return None
