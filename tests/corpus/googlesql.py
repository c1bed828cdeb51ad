"""GoogleSQL's queries without their words for differential privacy: what plain SQL asks for.

The clause and its options go; so do named arguments, but for the bounds of a row's or a unit's contribution: where each
row is a unit of its own, both move the values of SUM and AVG into them, which a CASE does.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET}

Edit = tuple[int, int, str]
"""From where to where the text is replaced by what."""


def without_privacy(sql: str) -> str:
    """The plain query; the text itself where it has none of those words, or can't be split into words."""
    if "DIFFERENTIAL_PRIVACY" not in sql.upper():
        return sql
    try:
        tokens = sqlglot.Dialect.get_or_raise("bigquery").tokenize(sql)
    except SqlglotError:
        return sql
    edits: list[Edit] = []
    for place, token in enumerate(tokens):
        if token.text.upper() == "DIFFERENTIAL_PRIVACY" and place and tokens[place - 1].token_type is TokenType.WITH:
            edits.append((tokens[place - 1].start, _end_of_clause(tokens, place), ""))
        elif token.token_type is TokenType.FARROW:
            edits += _named_argument(tokens, place, sql)
    for start, end, text in sorted(edits, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql


def _end_of_clause(tokens: Sequence[Token], place: int) -> int:
    following = [token.text.upper() for token in tokens[place + 1 : place + 3]]
    last = _closing(tokens, place + 2) if following == ["OPTIONS", "("] else place
    return tokens[last].end + 1


def _closing(tokens: Sequence[Token], opening: int) -> int:
    """The place of the bracket that closes the one that opens there; the last token where none does."""
    depth = 0
    for place in range(opening, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if not depth:
            return place
    return len(tokens) - 1


def _named_argument(tokens: Sequence[Token], arrow: int, sql: str) -> list[Edit]:
    """Leave out `, name => value`; a bound on what is added up moves the first argument."""
    name, value = tokens[arrow - 1], arrow + 1
    last = _closing(tokens, value) if tokens[value].token_type in _OPENING else value
    edits = [(tokens[arrow - 2].start, tokens[last].end + 1, "")]
    first = _opening(tokens, arrow)
    bounds = sql[tokens[value].start + 1 : tokens[last].end].split(",")
    summed = tokens[first - 1].text.upper() in ("SUM", "AVG")
    if name.text.lower().startswith("contribution_bounds") and summed and len(bounds) == 2:
        low, high = bounds
        start, end = tokens[first].end + 1, tokens[arrow - 2].start
        x = sql[start:end]
        edits.append((start, end, f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"))
    return edits


def _opening(tokens: Sequence[Token], place: int) -> int:
    """The place of the bracket around a token."""
    depth = 1
    while depth and place:
        place -= 1
        kind = tokens[place].token_type
        depth += (kind in _CLOSING) - (kind in _OPENING)
    return place
