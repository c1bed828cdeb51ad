"""From SQL text and parameters to one query tree in DuckDB's meaning.

The analyst's text never reaches an engine: what runs is generated from the tree. Other dialects are translated here,
once, with every column's type known, because `/`, `%`, `||` and casts mean different things for different types.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

import numpy as np
import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from dpsql.dialects import ColumnTypes, annotate, translate, unescaped
from dpsql.errors import InvalidParameter, ParseError, UnsupportedQuery
from dpsql.googlesql import Options, attach_options, bounds_per_group, keep_options, misplaced, take_options
from dpsql.names import join_names
from dpsql.placeholders import numbered, wanted_types

MAX_CHARACTERS = 100_000
MAX_TOKENS = 20_000
MAX_LIST = 1_000
MAX_NESTING = 24
"""Brackets and CASE within one another. The parser recurses some 20 frames for each; Python allows 1000 in all."""
MAX_PREFIXES = 20
MAX_OPEN_JOINS = 8
MAX_TYPED = 6
MAX_SUBSCRIPTS = 100
"""The parser looks through all that a subscript stands behind, again for each."""
_TYPES = sqlglot.Parser.TYPE_TOKENS | {TokenType.ROW}
MAX_TEMPLATES = 256
"""Statements with parameters that a parser remembers."""
MAX_DEPTH = 120
"""Levels of the tree, a chain of ANDs or ORs counting as one."""

Parameters = Sequence[object] | Mapping[str, object]
Format = Literal["text", "json"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One SELECT in DuckDB's meaning.

    explain  the format that EXPLAIN asked for, None without EXPLAIN
    typed    whether every type could be worked out before translation; where not, the tree must not be run
    bounds_per_group  where it bounds a unit's sum in a group, None where it doesn't
    """

    tree: exp.Expr
    explain: Format | None = None
    typed: bool = True
    bounds_per_group: int | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """A statement as it is written: its tree, its tokens without EXPLAIN and options, and where they begin."""

    tree: exp.Expr
    tokens: list[Token]
    offset: int
    explain: Format | None
    options: Options
    per_group: int | None


class Parser:
    """Parses statements of one dialect over tables of the same types. Safe for many threads.

    A statement with parameters is read, and where that can be translated, once for all their values.
    """

    def __init__(self, dialect: str, types: ColumnTypes) -> None:
        self._dialect = dialect
        self._types = types
        self._lock = threading.Lock()
        self._templates: OrderedDict[str, Statement] = OrderedDict()

    def parse(self, sql: str, parameters: Parameters) -> Statement:
        """As the function of that name."""
        with self._lock:
            template = self._templates.get(sql)
            if template is not None:
                self._templates.move_to_end(sql)
        if template is None:
            read = _read(sql, self._dialect, self._types)
            if not _is_template(read.tree, self._dialect):
                return _statement(read, self._dialect, self._types, parameters)
            template = _statement(read, self._dialect, self._types, None)
            with self._lock:
                self._templates[sql] = template
                if len(self._templates) > MAX_TEMPLATES:
                    self._templates.popitem(last=False)
        return replace(template, tree=_without_arrays(_filled(template.tree.copy(), parameters)))

    def placeholder_types(self, sql: str) -> tuple[str | None, ...]:
        """As the function of that name."""
        return placeholder_types(sql, dialect=self._dialect, types=self._types)


def parse(sql: str, *, dialect: str, parameters: Parameters, types: ColumnTypes) -> Statement:
    """Parse one statement; raises ParseError, InvalidParameter or UnsupportedQuery."""
    return Parser(dialect, types).parse(sql, parameters)


def _statement(read: _Read, dialect: str, types: ColumnTypes, parameters: Parameters | None) -> Statement:
    """The statement with its parameters' values, or None: a template, with a mark for each."""
    tree = _without_arrays(_marked(read.tree) if parameters is None else bind(read.tree, parameters))
    if read.offset:
        _shift_positions(tree, read.offset)
    typed = True
    if dialect != "duckdb":
        places = _places(tree, read.tokens, read.offset)
        tree, typed = translate(tree, dialect, types)
        tree = _balanced(tree)
        _locate(tree, places)
    tree = attach_options(tree, read.options) if read.options else tree
    return Statement(tree, read.explain, typed, read.per_group)


def placeholder_types(sql: str, *, dialect: str, types: ColumnTypes) -> tuple[str | None, ...]:
    """The SQL type that the statement wants of each of its parameters ($1, $2, … or ?), None where it wants none.

    Raises as `parse` does, before the values are known.
    """
    tree = _read(sql, dialect, types).tree
    annotate(tree, dialect, types)
    return wanted_types(tree)


def split(sql: str, *, dialect: str) -> list[tuple[int, int]]:
    """Where each of the statements begins and ends that semicolons separate; of a text without words none.

    A text that can't be split into words is one statement: whoever parses it says what is wrong.
    """
    try:
        tokens = _tokens(sql, dialect) if len(sql) <= MAX_CHARACTERS else None
    except ParseError:
        tokens = None
    if tokens is None:
        return [(0, len(sql))]
    spans: list[tuple[int, int]] = []
    start: int | None = None
    end = 0
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            start = token.start if start is None else start
            end = token.end + 1
        elif start is not None:
            spans.append((start, end))
            start = None
    return spans if start is None else [*spans, (start, len(sql))]


def _read(sql: str, dialect: str, types: ColumnTypes) -> _Read:
    if not sql.isprintable() and any("\ud800" <= c <= "\udfff" for c in sql):
        raise ParseError("the statement holds half a character (a lone surrogate)", hint="send valid Unicode text")
    _check_length(sql)
    tokens, explain, offset = _take_explain(_tokens(sql, dialect), sql, dialect)
    _check_nesting(tokens)
    per_group = bounds_per_group(tokens, offset)
    tokens, options = take_options(tokens, offset)
    trees = [t for t in _trees(tokens, sql, dialect, offset) if t is not None]
    if len(trees) != 1:
        what = "the statement is empty" if not trees else f"there are {len(trees)} statements"
        raise ParseError(f"{what}; send one SELECT", hint="SELECT COUNT(*) FROM …")
    tree = trees[0]
    _check_is_query(tree, sql, types)
    tree = keep_options(tree) if options.selects else tree
    _check_depth(tree)
    tree = numbered(tree)
    tree = _known_names(tree, sql[offset:])
    tree = join_names(tree, types) if "." in sql else tree
    return _Read(_balanced(tree), tokens, offset, explain, options, per_group)


def trees(sql: str, dialect: str, edit: Callable[[list[Token]], list[Token]]) -> list[exp.Expr]:
    """The statements of a text by their grammar alone, under the limits of `parse`, once its words are edited.

    Raises ParseError.
    """
    _check_length(sql)
    tokens = edit(_tokens(sql, dialect))
    _check_nesting(tokens)
    found = [tree for tree in _trees(tokens, sql, dialect) if tree is not None]
    for tree in found:
        _check_depth(tree)
    return [_balanced(_known_names(tree, sql)) for tree in found]


def statements(text: str, dialect: str) -> tuple[tuple[int, str], ...]:
    """The statements of a text, which `;` divides, each with the line on which it begins; empty ones are left out.

    Comments before a statement are not part of it. Raises ParseError where a quote or comment isn't closed.
    """
    found: list[tuple[int, str]] = []
    first: int | None = None
    line, counted = 1, 0
    for kind, start in (*((t.token_type, t.start) for t in _tokens(text, dialect)), (TokenType.SEMICOLON, len(text))):
        if kind is not TokenType.SEMICOLON:
            first = start if first is None else first
        elif first is not None:
            line, counted = line + text.count("\n", counted, first), first
            found.append((line, text[first:start].rstrip()))
            first = None
    return tuple(found)


# ---------------------------------------------------------------------------------------------- tokens


def _check_length(sql: str) -> None:
    if len(sql) > MAX_CHARACTERS:
        raise ParseError(f"the statement has {len(sql)} characters; at most {MAX_CHARACTERS} are allowed")


def _tokens(sql: str, dialect: str) -> list[Token]:
    if "\x00" in sql:
        raise ParseError("the statement holds a NUL character")
    marked = _NUMBERED.sub(_MARK, sql) if _MARK not in sql else sql
    try:
        tokens = sqlglot.Dialect.get_or_raise(dialect).tokenize(marked)
    except SqlglotError:
        raise ParseError(
            "the statement can't be split into words: a quote or comment isn't closed", hint="close it"
        ) from None
    found = tokens if marked == sql else [token for found in tokens for token in _unmarked(found)]
    return _counted([_plain(token, sql) if token.token_type is TokenType.BYTE_STRING else token for token in found])


NO_CHARACTER = "an escape in E'…' stands for no character"


def _plain(token: Token, sql: str) -> Token:
    """E'…', which libpq writes where a text holds a backslash, as the text that it means."""
    written = sql[token.start : token.end + 1]
    if written[:2] not in ("E'", "e'"):
        return token
    try:
        text = unescaped(written[2:-1])
    except ValueError:
        raise ParseError(NO_CHARACTER, hint="write the character itself", position=token.start) from None
    return _token(token, TokenType.STRING, text, token.start)


_NUMBERED = re.compile(r"(?<![\w$])\$(?=[0-9]+(?!\w))", re.ASCII)
_MARK = "\x01"
"""Stands for the $ of `$1` while the text is split into words: `$1,$` would be taken for the opening of a text, and
some dialects know no such parameter. No position changes by it.
"""


def _unmarked(token: Token) -> list[Token]:
    """`$1` as the two tokens that mean a parameter in every dialect; other tokens with their own text."""
    text = token.text
    if _MARK not in text:
        return [token]
    if token.token_type not in (TokenType.VAR, TokenType.UNKNOWN) or not text.startswith(_MARK):
        return [_token(token, token.token_type, text.replace(_MARK, "$"), token.start)]
    sign = Token(TokenType.PARAMETER, "$", line=token.line, col=token.col, start=token.start, end=token.start)
    return [sign, _token(token, TokenType.NUMBER, text[1:], token.start + 1)]


def _counted(tokens: list[Token]) -> list[Token]:
    """Each `?` as the tokens of `$1`, `$2`, …: the tree has LIMIT before WHERE, so it doesn't tell their order."""
    found: list[Token] = []
    count = 0
    for token in tokens:
        if token.token_type is not TokenType.PLACEHOLDER or token.text != "?":
            found.append(token)
            continue
        count += 1
        found += [
            _token(token, TokenType.PARAMETER, "$", token.start),
            _token(token, TokenType.NUMBER, str(count), token.start),
        ]
    return found


def _token(place: Token, kind: TokenType, text: str, start: int) -> Token:
    return Token(kind, text, line=place.line, col=place.col, start=start, end=place.end, comments=place.comments)


def _take_explain(tokens: list[Token], sql: str, dialect: str) -> tuple[list[Token], Format | None, int]:
    """Take EXPLAIN off the front of the token list.

    Where the dialect knows no EXPLAIN its tokenizer gives the rest of the text as one token: that text is tokenized
    again. The offset is where it starts.
    """
    if not tokens or tokens[0].text.upper() != "EXPLAIN" or tokens[0].token_type is TokenType.STRING:
        return tokens, None, 0
    offset = 0
    rest = tokens[1:]
    if tokens[0].token_type is TokenType.COMMAND:
        offset = tokens[0].end + 1
        rest = _tokens(sql[offset:], dialect)
    chosen: Format = "text"
    words = [t.text.upper() for t in rest[:4]]
    option = next((word for word in words if word != "("), "")
    if words[:2] == ["(", "FORMAT"] and words[3:] != [","]:
        if len(words) < 4 or words[2] not in ("JSON", "TEXT") or words[3] != ")":
            raise ParseError("EXPLAIN's format is JSON or TEXT", hint="EXPLAIN (FORMAT json) SELECT …")
        chosen = "json" if words[2] == "JSON" else "text"
        rest = rest[4:]
    elif option in ("ANALYZE", "ANALYSE"):
        raise UnsupportedQuery("EXPLAIN ANALYZE would run the query", hint="write EXPLAIN SELECT …")
    elif option in _OPTIONS_OF_EXPLAIN:
        raise UnsupportedQuery(
            "EXPLAIN has no options here but FORMAT alone",
            hint="write EXPLAIN SELECT …, or EXPLAIN (FORMAT json) SELECT …",
        )
    return rest, chosen, offset


_OPTIONS_OF_EXPLAIN = frozenset(
    {
        "FORMAT",
        "VERBOSE",
        "COSTS",
        "SETTINGS",
        "GENERIC_PLAN",
        "BUFFERS",
        "SERIALIZE",
        "WAL",
        "TIMING",
        "SUMMARY",
        "MEMORY",
    }
)
"""PostgreSQL's, which its tools write."""


_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_PREFIX = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.ARROW, TokenType.DARROW}


def _check_nesting(tokens: list[Token]) -> None:
    """Refuse what would make a recursive parser recurse too deep, by counting."""
    if len(tokens) > MAX_TOKENS:
        raise ParseError(f"the statement has more than {MAX_TOKENS} words", hint="ask for less at a time")
    depth = prefixes = 0
    _check_guesses(tokens)
    for token in tokens:
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        prefixes = prefixes + 1 if kind in _PREFIX else 0
        if depth > MAX_NESTING or prefixes > MAX_PREFIXES:
            raise ParseError(
                f"the statement nests deeper than {MAX_NESTING} levels",
                hint="use WITH to name the inner parts",
                position=token.start,
            )
    if sum(t.token_type is TokenType.L_BRACKET for t in tokens) > MAX_SUBSCRIPTS:
        raise ParseError(
            f"the statement has more than {MAX_SUBSCRIPTS} lists and subscripts",
            hint="leave them out: none is supported",
        )
    repeated = sum(t.token_type in (TokenType.NOT, TokenType.INTERVAL, TokenType.DISTINCT) for t in tokens)
    if repeated > 2_000:
        raise ParseError("the statement is too complex")


def _check_guesses(tokens: list[Token]) -> None:
    """Refuse what would make the parser guess, go back and guess again: its work doubles with each level.

    It takes a bracket behind a type's name for a type first, and a JOIN for one within the table that stands before it
    until it finds no ON.
    """
    typed: list[bool] = []
    joins, conditioned = 0, True
    before: TokenType | None = None
    for token in tokens:
        kind = token.token_type
        if kind in _OPENING:
            typed.append(before in _TYPES)
        elif kind in _CLOSING and typed:
            typed.pop()
        elif kind in (TokenType.CROSS, TokenType.NATURAL):
            conditioned = False
        elif kind is TokenType.JOIN:
            joins, conditioned = joins + conditioned, True
        elif kind in (TokenType.ON, TokenType.USING):
            joins = max(0, joins - 1)
        if joins > MAX_OPEN_JOINS:
            raise ParseError(f"more than {MAX_OPEN_JOINS} JOINs have no ON yet", hint="write ON behind each")
        if kind in _OPENING and typed[-1] and sum(typed) > MAX_TYPED:
            raise ParseError(
                f"more than {MAX_TYPED} types or constructors nest within one another",
                hint="use WITH to name the inner parts",
                position=token.start,
            )
        before = kind


def _trees(tokens: list[Token], sql: str, dialect: str, offset: int = 0) -> list[exp.Expr | None]:
    """The statements of the tokens, which begin at an offset in the text. Raises ParseError."""
    parser = sqlglot.Dialect.get_or_raise(dialect).parser(error_level=ErrorLevel.IMMEDIATE)
    try:
        found = list(parser.parse(tokens, sql[offset:]))
    except SqlglotError as error:
        raise _parse_error(error, sql, tokens, offset) from None
    except RecursionError:
        raise ParseError("the statement nests too deep", hint="use WITH to name the inner parts") from None
    except Exception:  # noqa: BLE001 - a parser fault on odd text is a refusal, whatever its class
        raise ParseError("the statement can't be parsed", hint="SELECT COUNT(*) FROM …") from None
    for tree in found:
        _check_bare_words(tree)
    return found


def _check_bare_words(tree: exp.Expr | None) -> None:
    """Refuse a text where a bare word stands: it is written without quotes later, and would be read as SQL.

    The parser takes the first argument of `date_part('day', x)` for such a word, whatever is in it.
    """
    for node in () if tree is None else tree.find_all(exp.Var):
        if not _BARE_WORD.fullmatch(node.name):
            raise ParseError(
                f"{node.name[:40]!r} is no word of SQL, such as the name of a unit of time", hint="DATE_PART('day', x)"
            )


_BARE_WORD = re.compile(r"\w*")


def _parse_error(error: SqlglotError, sql: str, tokens: list[Token], offset: int = 0) -> ParseError:
    details = getattr(error, "errors", None) or [{}]
    word = str(details[0].get("highlight") or "").strip()
    line, column = details[0].get("line"), details[0].get("col")
    position = None
    if line is not None and column is not None:
        starts = [offset, *(i + 1 for i, c in enumerate(sql) if c == "\n" and i >= offset)]
        position = max(0, min(starts[min(line, len(starts)) - 1] + column - len(word), len(sql)))
    near = f" near {word[:40]}" if word else ""
    if (found := misplaced(tokens)) is not None:
        place, hint = found
        return ParseError(f"{place.text} can't be written like this", hint=hint, position=place.start + offset)
    return ParseError(f"the statement isn't valid SQL{near}", hint="SELECT COUNT(*) FROM …", position=position)


def _check_is_query(tree: exp.Expr, sql: str, types: ColumnTypes) -> None:
    if isinstance(tree, (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)):
        return
    word = sql.split(None, 1)[0].upper()[:20] if sql.split() else ""
    raise UnsupportedQuery(
        f"{word} is not a query: only SELECT and EXPLAIN SELECT are answered",
        hint=_listing(types) if word in ("SHOW", "DESCRIBE", "DESC", "SUMMARIZE") else "write SELECT COUNT(*) FROM …",
        position=0,
    )


def _listing(types: ColumnTypes) -> str:
    """The declared tables and columns, which are public."""
    return "; ".join(f"{table} ({', '.join(columns)})" for table, columns in types.items())


def _check_depth(tree: exp.Expr) -> None:
    stack = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise ParseError("the statement nests too deep", hint="use WITH to name the inner parts")
        if isinstance(node, (exp.Select, exp.Order, exp.Group)) and len(node.expressions) > MAX_LIST:
            raise ParseError(f"the statement has a list of more than {MAX_LIST} columns", hint="ask for fewer")
        for child in node.iter_expressions():
            same_chain = type(child) is type(node) and isinstance(node, exp.Connector)
            stack.append((child, depth if same_chain else depth + 1))


def _balanced(tree: exp.Expr) -> exp.Expr:
    """The same tree, its long chains of AND or OR balanced, so that what recurses over it doesn't get deep."""
    for node in list(tree.find_all(exp.And, exp.Or)):
        kind = type(node)
        if isinstance(node.parent, kind):
            continue
        terms: list[exp.Expr] = []
        stack: list[exp.Expr] = [node]
        while stack:
            top = stack.pop()
            if isinstance(top, kind):
                stack += [top.args["expression"], top.this]
            else:
                terms.append(top)
        if len(terms) > 8:
            node.replace(_joined(kind, terms))
    return tree


def _joined(kind: type[exp.Expr], terms: list[exp.Expr]) -> exp.Expr:
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return kind(this=_joined(kind, terms[:half]), expression=_joined(kind, terms[half:]))


def _known_names(tree: exp.Expr, text: str) -> exp.Expr:
    """Each function remembers how it was written, for the name of its column; MEAN is AVG, VAR and STD as elsewhere."""
    for node in list(tree.find_all(exp.Func)):
        if isinstance(node, exp.GroupConcat) and "start" not in node.meta:
            _find_word(node, text)
        start, end = node.meta.get("start"), node.meta.get("end")
        if start is not None and end is not None:
            node.meta["word"] = text[start : end + 1]
        meant = _OTHER_NAMES.get(node.name.lower()) if isinstance(node, exp.Anonymous) else None
        if meant is not None and len(node.expressions) == (0 if meant is exp.Count else 1):
            known = meant(this=node.expressions[0] if node.expressions else exp.Star())
            known.meta.update(node.meta)
            if node is tree:
                return known
            node.replace(known)
    return tree


_BEFORE_ARGUMENT = re.compile(r"(\w+)\s*\(\s*(?:DISTINCT\s+)?$", re.IGNORECASE)


def _find_word(node: exp.Expr, text: str) -> None:
    """Where the name of a call stands, of which the parser keeps nothing: before its first argument."""
    first = min((part.meta["start"] for part in node.walk() if "start" in part.meta), default=0)
    found = _BEFORE_ARGUMENT.search(text, max(0, first - 60), first)
    if found is not None:
        node.meta.update(start=found.start(), end=found.end(1) - 1)


_OTHER_NAMES: dict[str, type[exp.Func]] = {
    "mean": exp.Avg,
    "var": exp.Variance,
    "std": exp.Stddev,
    "count_star": exp.Count,
}


def _shift_positions(tree: exp.Expr, offset: int) -> None:
    for node in tree.walk():
        for key in ("start", "end"):
            if key in node.meta:
                node.meta[key] += offset


# ---------------------------------------------------------------------------------------------- parameters


def bind(tree: exp.Expr, parameters: Parameters) -> exp.Expr:
    """Replace ?, $1 and :name by literals, before anything is analysed. Every parameter must be used, and given."""
    return _with_values(tree, _holders(tree), parameters)


Key = int | str
"""What a parameter is called: its 0-based number, or its name."""


def _holders(tree: exp.Expr) -> list[tuple[exp.Expr, Key]]:
    """The places of parameters, each with what it is called."""
    return [(node, int(node.name) - 1 if node.name.isdigit() else node.name) for node in tree.find_all(exp.Placeholder)]


def _with_values(tree: exp.Expr, holders: Sequence[tuple[exp.Expr, Key]], parameters: Parameters) -> exp.Expr:
    for node, key in holders:
        node.replace(literal(_lookup(parameters, key)))
    given: set[Key] = set(parameters) if isinstance(parameters, Mapping) else set(range(len(parameters)))
    if unused := given - {key for _, key in holders}:
        names = ", ".join(sorted(k if isinstance(k, str) else str(k + 1) for k in unused))
        raise InvalidParameter(f"the statement has no place for parameter {names}")
    return tree


def _without_arrays(tree: exp.Expr) -> exp.Expr:
    """`x = ANY(ARRAY[a, b])` as `x IN (a, b)`, and `x <> ALL(ARRAY[a, b])` as `x NOT IN (a, b)`: they mean the same.

    So a list of values can be a single parameter. Over an empty one the first is false for each x, NULL too.
    """
    for node in list(tree.find_all(exp.EQ, exp.NEQ)):
        right, equal = node.expression, isinstance(node, exp.EQ)
        if isinstance(right, exp.Any) and equal:
            values = right.this
        elif isinstance(right, exp.Anonymous) and right.name.lower() == "all" and not equal and right.expressions:
            values = right.expressions[0]
        elif isinstance(right, exp.All) and not equal:
            values = right.this
        else:
            continue
        while isinstance(values, exp.Paren):
            values = values.this
        if not isinstance(values, exp.Array) or isinstance(next(iter(values.expressions), None), exp.Query):
            continue
        meant: exp.Expr = exp.Boolean(this=not equal)
        if values.expressions:
            inside = exp.In(this=node.this, expressions=values.expressions)
            meant = inside if equal else exp.Not(this=inside)
        meant.meta.update(node.meta)
        if node is tree:
            return meant
        node.replace(meant)
    return tree


_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
_TEMPLATE_MARK = f"\x02{secrets.token_hex(8)}"
"""Begins the texts that stand for parameters. Nobody can know it: a text of the statement may be written in escapes."""


def _is_template(tree: exp.Expr, dialect: str) -> bool:
    """Whether the statement has parameters and means the same whenever their values are put in.

    A translation looks at literals: at their types in arithmetic and casts, at their values in intervals and names of
    units. What a column, or whatever else, is compared with is copied as it is.
    """
    holders = _holders(tree)
    if not holders:
        return False
    return dialect == "duckdb" or all(type(node.parent) in _COMPARISONS for node, _ in holders)


def _marked(tree: exp.Expr) -> exp.Expr:
    """The tree with a text in the place of each parameter, which no statement holds. Changes the tree."""
    for node, key in _holders(tree):
        kind = "#" if isinstance(key, int) else ":"
        node.replace(exp.Literal.string(f"{_TEMPLATE_MARK}{kind}{key}"))
    return tree


def _filled(tree: exp.Expr, parameters: Parameters) -> exp.Expr:
    """The template's tree with values in the places of its marks. Changes the tree."""
    holders: list[tuple[exp.Expr, Key]] = []
    for node in tree.find_all(exp.Literal):
        if node.is_string and node.name.startswith(_TEMPLATE_MARK):
            kind, name = node.name[len(_TEMPLATE_MARK)], node.name[len(_TEMPLATE_MARK) + 1 :]
            holders.append((node, int(name) if kind == "#" else name))
    return _with_values(tree, holders, parameters)


def _lookup(parameters: Parameters, key: Key) -> object:
    if isinstance(parameters, Mapping):
        if isinstance(key, str) and key in parameters:
            return parameters[key]
    elif isinstance(key, int) and 0 <= key < len(parameters):
        return parameters[key]
    label = key + 1 if isinstance(key, int) else key
    raise InvalidParameter(f"parameter {label} has no value", hint="give one value for each placeholder")


def literal(value: object) -> exp.Expr:
    """A Python value, or a numpy scalar, as a SQL literal of the same type."""
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            return _number(str(abs(value)), value < 0)
        case float() if math.isfinite(value):
            return _number(f"{abs(value):.17e}", math.copysign(1, value) < 0)
        case Decimal() if value.is_finite() and abs(value.adjusted()) < 40 and len(value.as_tuple().digits) < 40:
            return _number(f"{abs(value):f}", value < 0)
        case list() if len(value) > MAX_LIST:
            raise InvalidParameter(f"a parameter has {len(value)} values; at most {MAX_LIST} are allowed")
        case list() if not any(isinstance(item, list) for item in value):
            return exp.Array(expressions=[literal(item) for item in value])
        case str() if "\x00" not in value:
            return exp.Literal.string(value)
        case dt.datetime():
            moment = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
            return exp.cast(exp.Literal.string(moment.isoformat(sep=" ")), exp.DType.TIMESTAMPNTZ)
        case dt.date():
            return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    raise InvalidParameter(
        f"a parameter of type {type(value).__name__} can't be used, or has no finite value",
        hint="use None, bool, int, float, Decimal, str, date or datetime",
    )


def _number(text: str, negative: bool) -> exp.Expr:
    number = exp.Literal.number(text)
    return exp.Paren(this=exp.Neg(this=number)) if negative else number


_FUNCTIONS = {kind.sql_name(): kind for kind in exp.ALL_FUNCTIONS}
_Name = tuple[object, str]
"""What is found again after a translation: what kind of node it is, and what it is called."""


def _name(node: exp.Expr) -> _Name | None:
    match node:
        case exp.Literal() | exp.Anonymous():
            return type(node), node.name.lower()
        case exp.Identifier():
            return node.arg_key if node.arg_key == "alias" else type(node), node.name.lower()
        case exp.Func():
            return type(node), ""
    return None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where something stands in the text, and the word that is written there, if it is a function's."""

    start: int
    word: str | None = None


def _places(tree: exp.Expr, tokens: list[Token], offset: int) -> dict[_Name, list[_Place]]:
    """Where the text has each name, in its order.

    From the tokens come those that no parser keeps: of literals, and of functions with a grammar of their own.
    """
    found: dict[_Name, list[_Place]] = {}
    for node in tree.walk():
        name = _name(node)
        if name is not None and "start" in node.meta:
            found.setdefault(name, []).append(_Place(node.meta["start"], node.meta.get("word")))
    for token in tokens:
        if token.token_type in (TokenType.NUMBER, TokenType.STRING):
            found.setdefault((exp.Literal, token.text.lower()), []).append(_Place(token.start + offset))
    of_nodes = set(found)
    for token in tokens:
        kind = _FUNCTIONS.get(token.text.upper())
        if kind is not None and (kind, "") not in of_nodes:
            found.setdefault((kind, ""), []).append(_Place(token.start + offset, token.text))
    for places in found.values():
        places.sort(key=lambda place: place.start)
    return found


def _locate(tree: exp.Expr, places: dict[_Name, list[_Place]]) -> None:
    """Positions for a translated tree, which has only those of its own text: names keep their order in a translation.

    Where it writes a name more or less often than the text, the nearest in that order is taken.
    """
    named: dict[_Name, list[exp.Expr]] = {}
    for node in tree.walk(bfs=False):
        name = _name(node)
        if name in places:
            named.setdefault(name, []).append(node)
    for name, nodes in named.items():
        nodes.sort(key=lambda node: node.meta.get("start", 0))
        known = places[name]
        for index, node in enumerate(nodes):
            node.meta["place"] = known[index * len(known) // len(nodes)]
    for node in tree.walk():
        for key in ("start", "end", "line", "col"):
            node.meta.pop(key, None)
        place = node.meta.pop("place", None)
        if place is not None:
            node.meta["start"] = place.start
            if place.word is not None:
                node.meta["word"] = place.word
