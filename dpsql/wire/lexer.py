"""PostgreSQL's words, names, strings, numbers and signs (its documentation, chapter 4.1), for statements that are no
queries. Queries are split and parsed in the policy's dialect, not by this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from dpsql.dialects import unescaped
from dpsql.parse import NO_CHARACTER
from dpsql.wire.refusals import Refusal

Kind = Literal["word", "name", "string", "number", "sign"]
_TOKEN = re.compile(
    r"""
      (?P<blank> [\s\x00]+ | --[^\n]* )
    | (?P<comment> /\* )
    | (?P<string> [eE]'(?P<escaped>(?:[^'\\]|''|\\.)*)' | '(?P<body>(?:[^']|'')*)' )
    | (?P<dollar> \$(?P<tag>(?:[^\W\d]\w*)?)\$ )
    | (?P<name> "(?P<inner>(?:[^"]|"")+)" )
    | (?P<number> \d+(?:\.\d*)?(?:[eE][+-]?\d+)? | \.\d+(?:[eE][+-]?\d+)? )
    | (?P<word> [^\W\d][\w$]* )
    | (?P<sign> .)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text. `value` is what it means: words in lower case, names and strings without quotes."""

    kind: Kind
    value: str
    start: int
    end: int


def first_word(sql: str) -> str:
    """The first word of a statement, in lower case; "" where it begins otherwise. Never raises."""
    at = 0
    while match := _TOKEN.match(sql, at):
        if match["comment"]:
            at = _after_comment(sql, match.end())
            if at < 0:
                return ""
        elif match["blank"]:
            at = match.end()
        else:
            return (match["word"] or "").lower()
    return ""


def tokens(sql: str) -> list[Token]:
    """All of them. Raises Refusal for what doesn't end."""
    found: list[Token] = []
    at = 0
    while match := _TOKEN.match(sql, at):
        start, at = at, match.end()
        if match["blank"]:
            continue
        if match["comment"]:
            at = _after_comment(sql, at)
            if at < 0:
                raise Refusal("42601", "a comment isn't closed", position=start)
        elif match["string"]:
            found.append(Token("string", _string(match, start), start, at))
        elif match["dollar"]:
            end = sql.find(match["dollar"], at)
            if end < 0:
                raise Refusal("42601", "a text between $$ isn't closed", position=start)
            found.append(Token("string", sql[at:end], start, end + len(match["dollar"])))
            at = found[-1].end
        elif match["name"]:
            found.append(Token("name", match["inner"].replace('""', '"'), start, at))
        elif match["word"]:
            found.append(Token("word", match["word"].lower(), start, at))
        elif match["number"]:
            found.append(Token("number", match["number"], start, at))
        elif match["sign"] in "'\"":
            raise Refusal("42601", "a quote isn't closed", position=start)
        else:
            found.append(Token("sign", match["sign"], start, at))
    return found


def _after_comment(sql: str, at: int) -> int:
    """Behind the end of a comment, which may hold others; -1 where it has none."""
    depth = 1
    while depth:
        match = _COMMENT.search(sql, at)
        if match is None:
            return -1
        depth += 1 if match[0] == "/*" else -1
        at = match.end()
    return at


def _string(match: re.Match[str], start: int) -> str:
    if match["escaped"] is None:
        return match["body"].replace("''", "'")
    try:
        return unescaped(match["escaped"])
    except ValueError:
        raise Refusal("42601", NO_CHARACTER, position=start) from None
