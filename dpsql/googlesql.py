"""GoogleSQL's words for differential privacy, in every dialect: options of a SELECT, and bounds of an aggregate's rows.

    SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) city, SUM(x, contribution_bounds_per_row => (0, 10)) …

No parser knows them, so they are taken off the list of tokens before it is parsed. The options of a SELECT stay with
it as a first column, and then as a condition that says nothing, until the tree is in DuckDB's meaning; bounds become a
call of CLIP; an ε of an aggregate's own, SUM(x, epsilon => 0.3), stays as a condition of its FILTER. Reference:
GoogleSQL's documentation, "Differentially private aggregate functions" and "Differential privacy clause".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, takewhile

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dpsql.errors import Error, InvalidParameter, ParseError, UnsupportedQuery
from dpsql.privacy.loss import parse_epsilon
from dpsql.rows import RESERVED

_MARK = f"{RESERVED}_options"
_OWN = f"{RESERVED}_epsilon"
_CLAUSE = "DIFFERENTIAL_PRIVACY"
_BOUNDS = ("CONTRIBUTION_BOUNDS_PER_ROW", "CONTRIBUTION_BOUNDS_PER_GROUP")
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_SIGNS = {TokenType.DASH, TokenType.PLUS}
MAX_NAMED = 200
"""Named arguments of a statement, each of which is looked for from its place backward."""


@dataclass(frozen=True, slots=True)
class ReleaseOptions:
    """What a SELECT WITH DIFFERENTIAL_PRIVACY asks for. None: what the policy says.

    epsilon      of its release
    unit_column  the column that it takes for the unit
    position     where the clause begins in the statement
    max_rows     how many rows of a unit count in full
    max_groups   how many groups of a unit count
    delta        of the selection of keys that aren't public
    min_units    how many units such a key must have
    selection_epsilon  of the selection
    strategy           how groups are to be selected
    weights            by how much an error of the columns of these names counts
    quantile_intervals  whether the ends of quantiles' intervals are chosen too, for part of the ε
    """

    epsilon: Fraction | None
    unit_column: exp.Column | None
    position: int
    max_rows: int | None = None
    max_groups: int | None = None
    delta: Fraction | None = None
    min_units: int | None = None
    selection_epsilon: Fraction | None = None
    strategy: str | None = None
    weights: tuple[tuple[str, Fraction], ...] = ()
    quantile_intervals: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """What the words of a statement ask for, in their order: each SELECT with the clause, each aggregate with an ε.

    An aggregate has its ε, and where it is written in the statement.
    """

    selects: tuple[ReleaseOptions, ...] = ()
    aggregates: tuple[tuple[Fraction, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.selects or self.aggregates)


def take_options(tokens: list[Token], offset: int) -> tuple[list[Token], Options]:
    """The tokens in SQL that the parser knows, and the options that were among them.

    `offset` is where the tokens' text begins in the statement. Unknown options and arguments are refused by name.
    """
    kinds = {token.token_type for token in tokens}
    of_aggregates: list[tuple[Fraction, int]] = []
    named, clauses = TokenType.FARROW in kinds, TokenType.WITH in kinds
    clauses = clauses and any(_begins(a, b) for a, b in pairwise(tokens))
    if named or clauses:
        for token in tokens:
            if token.text.lower().startswith(RESERVED):
                raise ParseError(f"names starting with {RESERVED} are reserved", position=token.start + offset)
    if named:
        tokens = _with_clip(_with_filters(tokens, offset, of_aggregates), offset)
    if not clauses:
        return tokens, Options(aggregates=tuple(of_aggregates))
    kept: list[Token] = []
    found: list[ReleaseOptions] = []
    i = 0
    while i < len(tokens):
        kept.append(tokens[i])
        i += 1
        if tokens[i - 1].token_type is not TokenType.SELECT or len(tokens) < i + 2 or not _begins(*tokens[i : i + 2]):
            continue
        clause = tokens[i]
        options, i = _clause(tokens, i + 2, clause.start + offset)
        while i < len(tokens) and tokens[i].token_type in (TokenType.DISTINCT, TokenType.ALL):
            kept.append(tokens[i])
            i += 1
        kept += _marker(len(found), clause)
        found.append(options)
    return kept, Options(tuple(found), tuple(of_aggregates))


def misplaced(tokens: list[Token]) -> tuple[Token, str] | None:
    """Which of these words has another form in a statement that can't be parsed, and what to write instead."""
    for first, second in pairwise(tokens):
        word = first.text.lower()
        if word == "options" and second.token_type is TokenType.L_PAREN:
            return first, "write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) FROM …"
        if word in _ARGUMENTS and second.token_type in (TokenType.EQ, TokenType.COLON_EQ):
            return first, f"write SUM(x, {word} => {_ARGUMENTS[word]})"
    return None


_ARGUMENTS = {"epsilon": "0.3", "contribution_bounds_per_row": "(0, 100)", "contribution_bounds_per_group": "(0, 100)"}
"""Of aggregates, each with an example."""


def _begins(first: Token, second: Token) -> bool:
    """Whether two tokens are WITH DIFFERENTIAL_PRIVACY."""
    if first.token_type is not TokenType.WITH:
        return False
    return second.token_type is TokenType.VAR and second.text.upper() == _CLAUSE


def _marker(index: int, place: Token) -> list[Token]:
    """`0 AS _dpsql_options_N,`: a column that the parser ties to its SELECT."""
    column = (TokenType.NUMBER, "0"), (TokenType.ALIAS, "AS"), (TokenType.VAR, f"{_MARK}_{index}")
    return [_like(place, kind, text) for kind, text in (*column, (TokenType.COMMA, ","))]


def _like(place: Token, kind: TokenType, text: str) -> Token:
    """A token that stands where another one does."""
    return Token(kind, text, place.line, place.col, place.start, place.end)


# ---------------------------------------------------------------------------------------------- in the tree


def keep_options(tree: exp.Expr) -> exp.Expr:
    """Turn the marking columns into conditions, which translation leaves alone. Changes the tree."""
    for select in list(tree.find_all(exp.Select)):
        first = select.expressions[0] if select.expressions else None
        if not isinstance(first, exp.Alias) or not first.alias.startswith(_MARK):
            continue
        if len(select.expressions) == 1:
            raise ParseError("a SELECT WITH DIFFERENTIAL_PRIVACY has no columns", hint="write COUNT(*) behind it")
        select.set("expressions", select.expressions[1:])
        number = first.alias.rpartition("_")[2]
        mark = exp.EQ(this=exp.Literal.string(_MARK), expression=exp.Literal.string(number))
        where = select.args.get("where")
        select.set("where", exp.Where(this=mark if where is None else exp.and_(where.this, mark, copy=False)))
    return tree


def attach_options(tree: exp.Expr, options: Options) -> exp.Expr:
    """Take the conditions off again: SELECTs and aggregates have their options in their meta data. Changes the tree."""
    for mark in _marks(tree, _OWN, len(options.aggregates)):
        filtered = mark.find_ancestor(exp.Filter)
        if filtered is None:
            raise UnsupportedQuery("the epsilon of an aggregate could not be read", hint="write it in plainer SQL")
        number = int(mark.expression.name)
        filtered.this.meta["epsilon"] = number, *options.aggregates[number]
        parent = mark.parent
        if isinstance(parent, exp.And):
            parent.replace(parent.this if parent.expression is mark else parent.expression)
        else:
            filtered.replace(filtered.this)
    for mark in _marks(tree, _MARK, len(options.selects)):
        select = mark.find_ancestor(exp.Select)
        above: exp.Expr | None = mark
        while isinstance(above.parent if above else None, exp.Paren):
            above = above.parent if above else None
        if select is None or above is None or above.parent is None:
            raise UnsupportedQuery("the options of this query could not be read", hint="write it in plainer SQL")
        select.meta["options"] = options.selects[int(mark.expression.name)]
        parent = above.parent
        if isinstance(parent, exp.Where):
            select.set("where", None)
        else:
            parent.replace(parent.this if parent.expression is above else parent.expression)
    return tree


def _marks(tree: exp.Expr, text: str, count: int) -> list[exp.EQ]:
    """The conditions that stand for so many options; refused where others look like them."""
    marks = [m for m in tree.find_all(exp.EQ) if isinstance(m.this, exp.Literal) and m.this.name == text]
    if sorted(mark.expression.name for mark in marks) != sorted(map(str, range(count))):
        raise ParseError(f"the text {text} is reserved")  # a parameter holds it
    return marks


# ---------------------------------------------------------------------------------------------- OPTIONS (…)


def _clause(tokens: list[Token], i: int, position: int) -> tuple[ReleaseOptions, int]:
    """The options that follow WITH DIFFERENTIAL_PRIVACY, and the place of the token after them."""
    values: dict[str, list[Token]] = {}
    offset = position - tokens[i - 2].start
    if i + 1 < len(tokens) and tokens[i].text.upper() == "OPTIONS" and tokens[i + 1].token_type is TokenType.L_PAREN:
        end = _closing(tokens, i + 1)
        for name, value in _pairs(tokens[i + 2 : end], offset):
            key = name.text.lower()
            if key not in _READERS:
                hint = _KNOWN_ELSEWHERE.get(key, f"the options are {', '.join(_READERS)}")
                raise UnsupportedQuery(f"the option {name.text} isn't known", hint=hint, position=name.start + offset)
            if key in values:
                raise InvalidParameter(f"the option {name.text} is given twice", position=name.start + offset)
            values[key] = value
        i = end + 1
    for one, other in (("max_groups_contributed", "max_rows_contributed"), ("max_rows", "max_rows_contributed")):
        if {one, other} <= set(values):
            message = f"{one} and {other} are both given"
            raise InvalidParameter(message, hint="give one of them", position=position)
    read = {}
    for key, value in values.items():
        try:
            read[key] = None if value[0].token_type is TokenType.NULL else _READERS[key](value)
        except Error as error:
            raise type(error)(
                f"the option {key}: {error.message}", hint=error.hint, position=value[0].start + offset
            ) from None
    epsilon, column = read.get("epsilon"), read.get("privacy_unit_column")
    assert epsilon is None or isinstance(epsilon, Fraction)
    assert column is None or isinstance(column, exp.Column)
    rows, groups = read.get("max_rows", read.get("max_rows_contributed")), read.get("max_groups_contributed")
    units, delta, selection = (
        read.get(key) for key in ("min_privacy_units_per_group", "delta", "group_selection_epsilon")
    )
    assert (rows is None or isinstance(rows, int)) and (groups is None or isinstance(groups, int))
    assert (units is None or isinstance(units, int)) and (delta is None or isinstance(delta, Fraction))
    assert selection is None or isinstance(selection, Fraction)
    strategy = read.get("group_selection_strategy")
    assert strategy is None or isinstance(strategy, str)
    weights = read.get("weights") or ()
    assert isinstance(weights, tuple)
    ends = read.get("quantile_intervals") is True
    return ReleaseOptions(epsilon, column, position, rows, groups, delta, units, selection, strategy, weights, ends), i


def _closing(tokens: list[Token], opening: int) -> int:
    """The place of the bracket that closes the one at `opening`."""
    depth = 0
    for i in range(opening, len(tokens)):
        kind = tokens[i].token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if not depth:
            return i
    raise ParseError("a bracket isn't closed", hint="close it")


def _pairs(tokens: list[Token], offset: int) -> Iterator[tuple[Token, list[Token]]]:
    """The name and the value of each option."""
    for part in _parts(tokens):
        if len(part) < 3 or part[1].token_type is not TokenType.EQ:
            at = (part or tokens)[0].start + offset if part or tokens else None
            raise ParseError("an option is not written as name = value", hint="OPTIONS(epsilon = 0.5)", position=at)
        yield part[0], part[2:]


def _parts(tokens: list[Token]) -> Iterator[list[Token]]:
    """What stands between commas outside of brackets; nothing where there are no tokens."""
    part: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if token.token_type is TokenType.COMMA and not depth:
            yield part
            part = []
        else:
            part.append(token)
    if tokens:
        yield part


def _text(value: list[Token]) -> str:
    return "".join(f"'{t.text}'" if t.token_type is TokenType.STRING else t.text for t in value)


_SUCH_AS = "write it out, such as 0.5"


def _number(value: list[Token], wanted: str = "a number from 1e-30 to 1e30", hint: str = _SUCH_AS) -> Fraction:
    """The exact number, 0 among them. Which are `wanted` is said of one that is too small, large or long to be read."""
    signs = list(takewhile(lambda token: token.token_type in _SIGNS, value))
    rest = value[len(signs) :]
    digits = all(token.token_type in (TokenType.NUMBER, TokenType.DOT) for token in rest)
    if not rest or not digits or any(b.start != a.end + 1 for a, b in pairwise(rest)):
        apart = [a.end + 1 != b.start for a, b in pairwise(value)]
        written = "".join(
            f"{' ' * blank}{_text([token])}" for blank, token in zip([False, *apart], value, strict=False)
        )
        raise InvalidParameter(f"{written} is not a number", hint=_SUCH_AS)
    text = _text(rest)
    try:
        magnitude = parse_epsilon(text) if text.lower().partition("e")[0].strip("0.") else Fraction(0)
    except InvalidParameter:
        raise _is_not(value, wanted, hint) from None
    return -magnitude if _text(signs).count("-") % 2 else magnitude


def _is_not(value: list[Token], wanted: str, hint: str) -> InvalidParameter:
    text = _text(value)
    return InvalidParameter(f"{text if len(text) <= 40 else f'{text[:40]}…'} is not {wanted}", hint=hint)


def _epsilon(value: list[Token]) -> Fraction:
    number = _number(value)
    if number <= 0:
        raise InvalidParameter(f"{_text(value)} is not above 0", hint="write epsilon = 0.5")
    return number


def _delta(value: list[Token]) -> Fraction:
    """Where all groups are declared none is spent, so any δ that is granted is enough."""
    wanted, hint = "0, nor a number from 1e-30 to 1", "write delta = 1e-6, or leave it out"
    number = _number(value, wanted, hint)
    if not 0 <= number <= 1:
        raise _is_not(value, wanted, hint)
    return number


MAX_WEIGHT = 1000
"""As much as shares of ε can tell apart."""
MAX_ROWS = 2**30
"""As in a policy."""


def _count(value: list[Token]) -> int:
    """How many rows or groups of a unit count. Where each row is a unit, any such bound holds."""
    wanted, hint = f"a whole number from 1 to {MAX_ROWS}", "leave it out"
    number = _number(value, wanted, hint)
    if number < 1 or number.denominator != 1 or number > MAX_ROWS:
        raise _is_not(value, wanted, hint)
    return int(number)


PUBLIC_GROUPS = "PUBLIC_GROUPS"
_STRATEGIES = (PUBLIC_GROUPS, "LAPLACE_THRESHOLD")


def _strategy(value: list[Token]) -> str:
    """Whether groups must be public, or are found by a threshold: which is dpsql's own, the best known."""
    if _text(value).upper() not in _STRATEGIES:
        raise InvalidParameter(
            f"{_text(value)} isn't supported", hint=f"write {' or '.join(_STRATEGIES)}, or leave it out"
        )
    return _text(value).upper()


def _path(value: list[Token]) -> exp.Column:
    names, dots = value[::2], value[1::2]
    quoted = [t.token_type is TokenType.IDENTIFIER for t in names]
    plain = all(q or t.text.isidentifier() for q, t in zip(quoted, names, strict=True))
    joined = all(t.token_type is TokenType.DOT for t in dots) and len(names) == len(dots) + 1 <= 2
    if not plain or not joined or any(t.token_type is TokenType.STRING for t in names):
        raise InvalidParameter(f"{_text(value)} is not the name of a column", hint="write privacy_unit_column = id")
    column = exp.column(names[-1].text, names[0].text if len(names) == 2 else None, quoted=True)
    column.meta["start"] = value[0].start
    return column


_WEIGHTS = "write weights = (n: 2, total: 1), of columns of the SELECT list"


def _weights(value: list[Token]) -> tuple[tuple[str, Fraction], ...]:
    """By how much an error of each column counts, which is 1 for those that aren't named."""
    if value[0].token_type is not TokenType.L_PAREN or _closing(value, 0) != len(value) - 1:
        raise InvalidParameter(f"{_text(value)} is not a list in brackets", hint=_WEIGHTS)
    found: dict[str, Fraction] = {}
    for part in _parts(value[1:-1]):
        if len(part) < 3 or part[1].token_type is not TokenType.COLON or part[0].token_type is TokenType.STRING:
            raise InvalidParameter(f"{_text(part)} is not a name and its weight", hint=_WEIGHTS)
        name = part[0].text.lower()
        wanted = f"a weight from 1e-30 to {MAX_WEIGHT}"
        weight = _number(part[2:], wanted, _WEIGHTS)
        if not 0 < weight <= MAX_WEIGHT:
            raise _is_not(part[2:], wanted, _WEIGHTS)
        if name in found:
            raise InvalidParameter(f"{part[0].text} is weighted twice", hint="give one weight")
        found[name] = weight
    if not found:
        raise InvalidParameter("no weight is given", hint=_WEIGHTS)
    return tuple(found.items())


def _truth(value: list[Token]) -> bool:
    if len(value) != 1 or value[0].text.lower() not in ("true", "false"):
        raise InvalidParameter(f"{_text(value)} is neither true nor false", hint="quantile_intervals = true")
    return value[0].text.lower() == "true"


_READERS = {
    "epsilon": _epsilon,
    "delta": _delta,
    "privacy_unit_column": _path,
    "max_rows": _count,
    "max_groups_contributed": _count,
    "max_rows_contributed": _count,
    "group_selection_strategy": _strategy,
    "group_selection_epsilon": _epsilon,
    "min_privacy_units_per_group": _count,
    "weights": _weights,
    "quantile_intervals": _truth,
}
_KNOWN_ELSEWHERE = {
    "kappa": "the option is called max_groups_contributed",
}


# ---------------------------------------------------------------------------------------------- arguments


def bounds_per_group(tokens: Sequence[Token], offset: int) -> int | None:
    """Where in the statement the bounds of a unit's sum in a group are given, None where nowhere.

    Where a unit is one row, which is in one group, they are bounds of the row; elsewhere they are not.
    """
    for token, following in pairwise(tokens):
        if following.token_type is TokenType.FARROW and token.text.upper() == _BOUNDS[1]:
            return token.start + offset
    return None


def _with_filters(tokens: list[Token], offset: int, found: list[tuple[Fraction, int]]) -> list[Token]:
    """`SUM(x, epsilon => 0.3)` as `SUM(x) FILTER (WHERE <mark>)`; `found` gets the ε and where it is written."""
    _check_named(tokens, offset)
    tokens = list(tokens)
    places = [i for i in range(1, len(tokens)) if tokens[i].token_type is TokenType.FARROW]
    done: set[int] = set()
    for i in reversed(places):
        name = tokens[i - 1]
        if name.text.upper() != _EPSILON:
            continue
        opening = _call(tokens[: i - 1])
        if opening < 1 or tokens[i - 2].token_type is not TokenType.COMMA:
            raise ParseError("epsilon doesn't stand behind a value", hint=_OWN_EXAMPLE, position=name.start + offset)
        closing = _closing(tokens, opening)
        value = next(_parts(tokens[i + 1 : closing]), [])
        try:
            epsilon = _epsilon(value)
        except Error as error:
            raise type(error)(f"epsilon: {error.message}", hint=_OWN_EXAMPLE, position=name.start + offset) from None
        if tokens[opening].start in done:
            raise InvalidParameter("an aggregate has two epsilons", hint="give one", position=name.start + offset)
        done.add(tokens[opening].start)
        mark = _mark(len(found), name)
        found.append((epsilon, name.start + offset))
        closing = _closing_of_order(tokens, closing)
        opened = (TokenType.FILTER, "FILTER"), (TokenType.L_PAREN, "("), (TokenType.WHERE, "WHERE")
        after = tokens[closing + 1 : closing + 4]
        if [t.token_type for t in after] == [kind for kind, _ in opened]:
            start, end = closing + 4, _closing(tokens, closing + 2)
            both = (TokenType.AND, "AND"), (TokenType.L_PAREN, "(")
            mark += [*(_like(name, kind, text) for kind, text in both), *tokens[start:end]]
        else:
            start = end = closing + 1
            mark = [*(_like(name, kind, text) for kind, text in opened), *mark]
        tokens[start:end] = [*mark, _like(name, TokenType.R_PAREN, ")")]
        del tokens[i - 2 : i + 1 + len(value)]
    return tokens


def _closing_of_order(tokens: list[Token], closing: int) -> int:
    """The place of the bracket that closes WITHIN GROUP (ORDER BY x) behind a call; of the call's own without it."""
    behind = [token.text.upper() for token in tokens[closing + 1 : closing + 4]]
    return _closing(tokens, closing + 3) if behind == ["WITHIN", "GROUP", "("] else closing


_EPSILON = "EPSILON"
_OWN_EXAMPLE = "write it out, such as SUM(x, epsilon => 0.3)"


def _mark(index: int, place: Token) -> list[Token]:
    """`'<mark>' = 'N'`."""
    return [
        _like(place, TokenType.STRING, _OWN), _like(place, TokenType.EQ, "="),
        _like(place, TokenType.STRING, str(index)),
    ]  # fmt: skip


def _check_named(tokens: Sequence[Token], offset: int) -> None:
    named = [token for token in tokens if token.token_type is TokenType.FARROW]
    if len(named) > MAX_NAMED:
        raise ParseError(f"the statement has more than {MAX_NAMED} named arguments", position=named[0].start + offset)


def _with_clip(tokens: list[Token], offset: int) -> list[Token]:
    """`SUM(x, contribution_bounds_per_row => (l, u))` as `SUM(CLIP(x, l, u))`; other named arguments are refused.

    So are bounds per group, see `bounds_per_group`.
    """
    kept: list[Token] = []
    bounded: set[int] = set()
    i = 0
    while i < len(tokens):
        if tokens[i].token_type is not TokenType.FARROW:
            kept.append(tokens[i])
            i += 1
            continue
        name, opening = tokens[max(i - 1, 0)], _call(kept)
        bounds = _bounds(tokens, i, name, kept, opening, offset)
        if kept[opening].start in bounded:
            raise InvalidParameter("an aggregate has bounds twice", hint="give them once", position=name.start + offset)
        bounded.add(kept[opening].start)
        if _counts(kept, opening):
            del kept[-2:]  # the comma and the name
            i += len(bounds) + 3
            continue
        if kept[opening - 1].text.upper().startswith(_QUANTILES):
            comma, clip = _first_comma(kept, opening), [_like(name, TokenType.VAR, "CLIP"), _like(name, *_OPENED)]
            behind, closed = kept[comma:-2], _like(name, TokenType.R_PAREN, ")")
            kept[opening + 1 :] = [*clip, *kept[opening + 1 : comma], kept[comma], *bounds, closed, *behind]
            i += len(bounds) + 3
            continue
        kept.pop()  # the name; the bracket behind the bounds closes CLIP
        at = opening + 1 + (kept[opening + 1].token_type is TokenType.DISTINCT)
        kept[at:at] = [_like(name, TokenType.VAR, "CLIP"), _like(name, TokenType.L_PAREN, "(")]
        i += 2
    return kept


_QUANTILES = ("PERCENTILE", "QUANTILE", "APPROX_PERCENTILE", "APPROX_QUANTILE")
"""How functions begin that have something else behind the value."""
_OPENED = TokenType.L_PAREN, "("


def _first_comma(kept: list[Token], opening: int) -> int:
    """The place of the first comma of a call's own behind its bracket."""
    depth = 0
    for i in range(opening + 1, len(kept)):
        depth += (kept[i].token_type in _OPENING) - (kept[i].token_type in _CLOSING)
        if depth == 0 and kept[i].token_type is TokenType.COMMA:
            return i
    return len(kept) - 2


def _call(kept: list[Token]) -> int:
    """The place of the bracket that is open at the end."""
    depth = 0
    for i in range(len(kept) - 1, -1, -1):
        depth += (kept[i].token_type in _CLOSING) - (kept[i].token_type in _OPENING)
        if depth < 0:
            return i
    return -1


def _counts(kept: list[Token], opening: int) -> bool:
    return kept[opening - 1].text.upper().startswith("COUNT")


_EXAMPLE = "SUM(x, contribution_bounds_per_row => (0, 10))"


def _bounds(tokens: list[Token], i: int, name: Token, kept: list[Token], opening: int, offset: int) -> list[Token]:
    """The tokens between the brackets of a pair of bounds; anything else is refused by name."""
    position = name.start + offset
    if name.text.upper() not in _BOUNDS or opening < 1:
        raise UnsupportedQuery(
            f"the argument {name.text} isn't supported",
            hint="leave it out: aggregates take epsilon and contribution_bounds_per_row alone", position=position,
        )  # fmt: skip
    arguments = [t for t in kept[opening:] if t.token_type is TokenType.COMMA]
    if i + 1 >= len(tokens) or tokens[i + 1].token_type is not TokenType.L_PAREN or not arguments:
        raise ParseError(f"{name.text} is not a pair of bounds behind a value", hint=_EXAMPLE, position=position)
    bounds = tokens[i + 2 : _closing(tokens, i + 1)]
    parts = list(_parts(bounds))
    if len(parts) != 2:
        raise ParseError(f"{name.text} is not a pair of bounds", hint=_EXAMPLE, position=position)
    if _counts(kept, opening) and not _number(parts[0]) <= 1 <= _number(parts[1]):
        raise InvalidParameter(
            f"{name.text} of a count holds no 1", hint="leave it out: a row counts 1", position=position
        )
    return bounds
