"""YAML text to a tree of nodes with line numbers; `${NAME}` replaced and scalars typed.

The tree is built from PyYAML's events, which come one by one from a state machine. PyYAML's composer and
constructor recurse, expand aliases without limit and know tags that make Python objects: neither is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as Environment
from dataclasses import dataclass, field

import yaml

from dpsql.policy.problems import Problems, on_lines, printable, quoted
from dpsql.policy.scalars import MAX_DIGITS, UNUSABLE, NumberTooLong, Value, resolve

MAX_DEPTH = 32
"""The format itself needs 6 levels."""
MAX_NODES = 200_000
"""Counted with aliases written out, so that nested aliases can't stand for billions of values."""
MAX_SUBSTITUTED = 1_000_000
"""Characters that environment variables may add."""

_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<name>[^{}]*)(?P<end>\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, number, boolean or null. `written` is the text before substitution: messages show that one."""

    line: int
    text: str
    written: str
    value: Value

    @property
    def size(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    line: int
    items: tuple[Node, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Mapping:
    """Names and values, in the order of the file. Names are texts, whatever they look like."""

    line: int
    items: tuple[tuple[Scalar, Node], ...]
    size: int


Node = Scalar | Sequence | Mapping


@dataclass(slots=True)
class _Open:
    """A list or mapping that has begun and not ended."""

    line: int
    anchor: str | None
    is_mapping: bool
    nodes: list[Node] = field(default_factory=list)
    size: int = 1


class _Stop(Exception):
    """What follows can't be read."""


def compose(text: str, environ: Environment[str, str], problems: Problems) -> tuple[Node | None, dict[str, str]]:
    """The tree of the one document in the text, and the environment variables that it uses."""
    builder = _Builder(environ, problems)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            builder.take(event)
    except _Stop:
        return None, builder.used
    except yaml.MarkedYAMLError as error:
        _report_syntax(error, text, problems)
        return None, builder.used
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        shown = printable(text[error.position : error.position + 1])
        problems.add(
            line,
            f"the character {shown} can't be in a YAML file",
            "remove it, or write it as an escape in double quotes",
        )
        return None, builder.used
    except (ValueError, OverflowError):  # PyYAML's chr() and int() of an escape or a directive
        problems.add(
            builder.line,
            "not valid YAML: a number in an escape or directive is out of range",
            "check the escapes (\\u, \\U) in double quotes",
        )
        return None, builder.used
    return builder.root, builder.used


def _report_syntax(error: yaml.MarkedYAMLError, text: str, problems: Problems) -> None:
    mark = error.problem_mark or error.context_mark
    what = error.problem or error.context or "this can't be read"
    lines = text.split("\n")
    if "but got '{'" in what and mark and mark.line < len(lines) and "${" in lines[mark.line]:
        hint = "{ } can't hold an unquoted ${NAME}: write it on a line of its own, key: ${NAME}"
    elif "\\t" in what:
        hint = "indent with spaces, never with tabs"
    elif "mapping values are not allowed" in what or "could not find expected ':'" in what:
        hint = "check the indentation, write a space after each colon, and quote text that contains ': '"
    else:
        hint = "check indentation, brackets and quotes; quote text that begins with one of @ ` % & * ! | > { ["
    problems.add(mark.line + 1 if mark else 0, f"not valid YAML: {printable(what, 120)}", hint)


class _Builder:
    """Takes events, keeps what is open on a stack of its own."""

    def __init__(self, environ: Environment[str, str], problems: Problems) -> None:
        self.root: Node | None = None
        self.used: dict[str, str] = {}
        self.line = 1
        self._environ = environ
        self._problems = problems
        self._open: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._documents = 0
        self._nodes = 0
        self._added = 0

    def take(self, event: yaml.Event) -> None:
        """Take the next event."""
        self.line = event.start_mark.line + 1 if event.start_mark else self.line
        match event:
            case yaml.DocumentStartEvent():
                self._begin_document(event)
            case yaml.ScalarEvent():
                self._refuse_tag(event.tag)
                self._finish(self._scalar(event), event.anchor)
            case yaml.AliasEvent():
                self._finish(self._aliased(event.anchor or ""), None)
            case yaml.CollectionStartEvent():
                self._refuse_tag(event.tag)
                self._begin(event.anchor, isinstance(event, yaml.MappingStartEvent))
            case yaml.CollectionEndEvent():
                self._end()

    def _begin_document(self, event: yaml.DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            self._problems.add(
                self.line,
                "a second YAML document begins here",
                "keep one document: remove the --- and what follows",
            )
            raise _Stop
        if event.version and tuple(event.version) < (1, 2):
            self._problems.add(self.line, "the file asks for YAML 1.1", "remove the %YAML line: a policy is YAML 1.2")

    def _refuse_tag(self, tag: str | None) -> None:
        if tag is not None:
            self._problems.add(
                self.line,
                f"the tag {quoted(tag)} is not allowed",
                "remove the tag: types follow from the policy format",
            )

    def _begin(self, anchor: str | None, is_mapping: bool) -> None:
        if len(self._open) >= MAX_DEPTH:
            self._problems.add(
                self.line,
                f"lists and mappings are nested more than {MAX_DEPTH} deep",
                "write the policy as in config/template.yaml",
            )
            raise _Stop
        self._open.append(_Open(self.line, anchor, is_mapping))

    def _end(self) -> None:
        done = self._open.pop()
        node: Node
        if done.is_mapping:
            node = Mapping(done.line, self._pairs(done.nodes), done.size)
        else:
            node = Sequence(done.line, tuple(done.nodes), done.size)
        self._count(1)
        self._place(node, done.anchor)

    def _finish(self, node: Node, anchor: str | None) -> None:
        self._count(node.size)
        self._place(node, anchor)

    def _count(self, size: int) -> None:
        self._nodes += size
        if self._nodes > MAX_NODES:
            self._problems.add(
                self.line,
                f"the policy has more than {MAX_NODES} values",
                "shorten it, or take keys from a public table: keys: {from: table.column}",
            )
            raise _Stop

    def _place(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if self._open:
            self._open[-1].nodes.append(node)
            self._open[-1].size += node.size
        else:
            self.root = node

    def _aliased(self, anchor: str) -> Node:
        node = self._anchors.get(anchor)
        if node is None:
            self._problems.add(
                self.line,
                f"no anchor &{printable(anchor)} ends before this alias",
                f"write &{printable(anchor)} before the value that is meant",
            )
            return Scalar(self.line, "", "", UNUSABLE)
        return node

    def _pairs(self, nodes: list[Node]) -> tuple[tuple[Scalar, Node], ...]:
        """Names with their values; a name that can't be one, or comes again, is reported and left out."""
        pairs: dict[str, tuple[Scalar, Node]] = {}
        for name, node in zip(nodes[::2], nodes[1::2], strict=True):
            if not isinstance(name, Scalar):
                self._problems.add(
                    name.line,
                    "a list or mapping stands where a name should",
                    "write name: value; quote text that contains { or [",
                )
            elif name.text == "<<" and name.written == "<<":
                self._problems.add(
                    name.line,
                    "'<<' (merge) is not part of YAML 1.2",
                    "write the keys out; an alias (*name) may stand for a whole value",
                )
            elif name.value is UNUSABLE:
                continue
            elif name.text in pairs:
                first = pairs[name.text][0].line
                self._problems.add(
                    name.line,
                    f"the key {quoted(name.written)} is written twice, {on_lines(first, name.line)}",
                    "keep one of the two",
                )
            else:
                pairs[name.text] = (name, node)
        return tuple(pairs.values())

    def _is_name(self) -> bool:
        """Whether the next node is the name in a pair."""
        return bool(self._open) and self._open[-1].is_mapping and len(self._open[-1].nodes) % 2 == 0

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        text = self._substitute(event.value)
        plain = event.style is None
        value: Value
        if text is None:
            value = UNUSABLE
        elif not plain or self._is_name():
            value = text
        else:
            value = self._resolve(text, event.value)
        return Scalar(self.line, text or "", event.value, value)

    def _resolve(self, text: str, written: str) -> Value:
        try:
            return resolve(text)
        except NumberTooLong:
            self._problems.add(
                self.line,
                f"the number {printable(written, 40)} is too long",
                f"write at most {MAX_DIGITS} digits and exponents up to {MAX_DIGITS}",
            )
            return UNUSABLE

    def _substitute(self, written: str) -> str | None:
        """The text with `${NAME}` replaced and `$${` as `${`; None where it can't be used."""
        parts: list[str] = []
        end, usable = 0, True
        for match in _REFERENCE.finditer(written):
            parts.append(written[end : match.start()])
            end = match.end()
            found = "${" if match["name"] is None else self._variable(match["name"], bool(match["end"]))
            usable = usable and found is not None
            parts.append(found or "")
        text = "".join([*parts, written[end:]])
        if _UNSTORABLE.search(text):
            self._problems.add(self.line, f"{quoted(written)} contains a NUL or half a surrogate pair", "remove it")
            usable = False
        return text if usable else None

    def _variable(self, name: str, closed: bool) -> str | None:
        if not closed or not _NAME.fullmatch(name):
            self._problems.add(
                self.line,
                f"'${{{printable(name)}' is not the name of an environment variable",
                "write ${NAME}, or $${ for the text ${",
            )
            return None
        value = self._environ.get(name)
        if value is None:
            self._problems.add(
                self.line,
                f"the environment variable {name} is not set",
                f"set {name}, or write $${{{name}}} for the text ${{{name}}}",
            )
            return None
        self.used[name] = value
        self._added += len(value)
        if self._added > MAX_SUBSTITUTED:
            self._problems.add(
                self.line, f"environment variables add more than {MAX_SUBSTITUTED} characters", "shorten them"
            )
            raise _Stop
        return value
