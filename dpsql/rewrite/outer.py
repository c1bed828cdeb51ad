"""The query over noisy numbers, as the scratch engine runs it, and the list of what it may use.

It reads released tables and public tables only, so nothing in it can leak; the list keeps it from reading files,
settings, the catalogue or the clock, and from making rows or long texts out of a number. The check is made on the
words of the generated text: what is checked is what runs.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from dpsql.errors import UnsupportedQuery
from dpsql.expressions import position_of, refuse, show
from dpsql.query import Query, direct_release
from dpsql.rows import RESERVED

_SYNTAX = frozenset(
    """
    ALL AND ANY AS BETWEEN BY CASE CAST CROSS CUBE DECIMAL DISTINCT ELSE END ESCAPE EXCEPT EXCLUDE EXISTS EXTRACT
    FILTER FIRST FROM FULL GROUP GROUPING HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LAST LEFT LIKE LIMIT
    MATERIALIZED NOT NULLS OFFSET ON OR ORDER OUTER OVER PARTITION QUALIFY RIGHT ROLLUP SELECT SETS SOME THEN TRY_CAST
    UNION USING VALUES VARCHAR WHEN WHERE WINDOW WITH
    """.split()
)
"""Words that may stand before a bracket without being a function."""
_BARE_WORDS = _SYNTAX | frozenset(
    """
    ANTI ASC BIGINT BOOLEAN CURRENT DATE DESC DOUBLE FALSE FLOAT FOLLOWING GROUPS HUGEINT IGNORE INT
    INT128 INTEGER NAME NATURAL NO NULL OTHERS PRECEDING RANGE REAL RESPECT ROW ROWS SEMI SMALLINT TEXT
    TIES TIME TIMESTAMP TIMESTAMPTZ TINYINT TO TRUE UBIGINT UINTEGER UNBOUNDED USMALLINT UTINYINT WITHIN SIMILAR
    CENTURY DAY DAYOFWEEK DAYOFYEAR DECADE DOW DOY EPOCH ERA HOUR ISODOW ISOYEAR JULIAN MICROSECOND MICROSECONDS
    MILLENNIUM MILLISECOND MILLISECONDS MINUTE MONTH QUARTER SECOND WEEK YEAR YEARWEEK
    """.split()
)
"""Words that may stand alone: syntax, types, units. Names are quoted, so a bare word of another kind is a function."""

SCALAR_FUNCTIONS = frozenset(
    """
    abs acos acosh ascii asin asinh atan atan2 atanh cbrt ceil ceiling century char_length character_length
    chr coalesce concat concat_ws contains cos cosh cot date_diff date_part date_sub date_trunc datediff
    datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear decade degrees  ends_with
    epoch epoch_ms epoch_ns epoch_us era even exp factorial floor fmod gamma gcd greatest
    greatest_common_divisor  hour if ifnull instr isfinite isinf isnan isodow isoyear 
      julian last_day lcase lcm least least_common_multiple left len
    length  lgamma list_value ln log log10 log2 lower ltrim make_date make_time make_timestamp microsecond
    millennium millisecond minute mod month monthname multiply nextafter nullif ord pi position pow power
    prefix quarter radians regexp_extract regexp_full_match regexp_matches reverse right round round_even
    rtrim second sign signbit sin sinh sqrt starts_with strftime strip_accents strlen strpos subtract substr
    substring suffix tan tanh time_bucket to_days to_hours to_minutes to_months to_seconds to_weeks to_years
    translate trim trunc try_strptime typeof ucase unicode upper week weekday weekofyear xor year yearweek add
    divide
    """.split()
)
AGGREGATE_FUNCTIONS = frozenset(
    """
    any_value approx_count_distinct arbitrary arg_max arg_min argmax argmin avg bit_and bit_or bit_xor
    bool_and bool_or corr count count_if count_star countif covar_pop covar_samp entropy favg first fsum
    kurtosis kurtosis_pop last mad max max_by mean median min min_by mode product quantile quantile_cont
    quantile_disc percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2
    regr_slope regr_sxx regr_sxy regr_syy sem skewness stddev stddev_pop stddev_samp string_agg sum var_pop
    var_samp variance listagg group_concat
    """.split()
)
WINDOW_FUNCTIONS = frozenset(
    """
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
    """.split()
)
FUNCTIONS = SCALAR_FUNCTIONS | AGGREGATE_FUNCTIONS | WINDOW_FUNCTIONS

_NODES = (
    exp.Select, exp.SetOperation, exp.Subquery, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Qualify,
    exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Distinct, exp.With, exp.CTE, exp.TableAlias, exp.Alias,
    exp.Table, exp.Values, exp.Tuple, exp.Column, exp.Identifier, exp.Star, exp.Literal, exp.Boolean, exp.Null,
    exp.Paren, exp.Neg, exp.Not, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe, exp.BitwiseXor,
    exp.Connector, exp.Predicate, exp.Between, exp.In, exp.Is, exp.Escape, exp.Case, exp.If, exp.Interval, exp.Var,
    exp.DataType, exp.DataTypeParam, exp.Window, exp.WindowSpec, exp.Filter, exp.WithinGroup, exp.Exists, exp.Cube,
    exp.Rollup, exp.GroupingSets, exp.IgnoreNulls, exp.RespectNulls, exp.Func,
    exp.Any, exp.All, exp.IntervalSpan, exp.Fetch, exp.LimitOptions, exp.Lambda,
)  # fmt: skip
_REFUSED = (
    exp.Command, exp.UDTF, exp.Lambda, exp.Placeholder, exp.Parameter, exp.SessionParameter, exp.CurrentTimestamp,
    exp.CurrentTime, exp.CurrentDatetime, exp.CurrentUser, exp.Rand, exp.Randn, exp.Unnest, exp.Bracket, exp.Dot,
    exp.Array, exp.Struct, exp.JSONExtract, exp.JSONExtractScalar,
)  # fmt: skip
_BARE_WORD = re.compile(r"\w*")
_NO_WORDS = (TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER)


@dataclass(frozen=True, slots=True)
class Grammar:
    """What a query may use besides what queries over released numbers may: nodes, functions, bare words."""

    nodes: tuple[type[exp.Expr], ...] = ()
    functions: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


def render(tree: exp.Expr, grammar: Grammar = Grammar()) -> str:
    """The text that the scratch engine runs, or a refusal that names what isn't allowed."""
    _check_expansion(tree)
    for node in tree.walk():
        if isinstance(node, exp.Values):
            continue
        if isinstance(node, exp.Column) and node.name.lower() in _VALUE_FUNCTIONS:
            raise refuse(node, f"the name {node.name} stands for a function of the engine", "choose another name")
        refused = isinstance(node, _REFUSED) or not isinstance(node, _NODES)
        if refused and not isinstance(node, grammar.nodes):
            if any(name.name.startswith(f"{RESERVED}_") for name in node.find_all(exp.Identifier)):
                raise refuse(
                    node, "lists and records of released numbers aren't supported", "name each number by itself"
                )
            raise refuse(node, f"{show(node)} isn't supported", "use plain SQL over the released numbers")
        if isinstance(node, exp.Anonymous) and not isinstance(node.this, str):
            raise refuse(node, f"{show(node)} isn't supported", "write the function's name without quotes")
        if isinstance(node, (exp.Limit, exp.Offset)) and not _whole(node.expression):
            raise refuse(node, f"{show(node)} must be a whole number", "write LIMIT 10")
        if isinstance(node, exp.Var) and not _BARE_WORD.fullmatch(node.name):  # it is written as it is, without quotes
            raise refuse(node, f"{node.name[:40]!r} is no word of SQL", "name a unit such as day")
    try:
        text = tree.sql("duckdb", comments=False, identify=True)
    except SqlglotError:  # it writes some nodes by parsing what it has written of their parts
        raise refuse(tree, "part of this query can't be written for the engine", "write it in plainer SQL") from None
    _check_words(tree, text, grammar)
    return text


def total(tree: exp.Expr) -> exp.Expr:
    """The outer query with casts that give NULL and divisors that are not 0, so that no noisy number makes it fail.

    It would tell nothing, but the answer is paid for.
    """

    if tree.find(exp.Cast, exp.IntDiv, exp.Mod) is None:
        return tree
    tree = tree.copy()
    for node in reversed(list(tree.walk())):  # inner nodes first
        if type(node) is exp.Cast:
            node.replace(exp.TryCast(this=node.this, to=node.to))
        elif isinstance(node, (exp.IntDiv, exp.Mod)):
            divisor = node.expression
            if not isinstance(divisor, exp.Literal) or not divisor.name.strip("0."):
                node.set("expression", exp.Nullif(this=divisor, expression=exp.Literal.number(0)))
    return tree


_VALUE_FUNCTIONS = frozenset(
    """current_date current_time current_timestamp localtime localtimestamp current_user session_user user current_role
    current_catalog current_schema""".split()
)
"""Names that DuckDB reads as functions of clock or session where there is no such column, even quoted."""
MAX_TABLES = 100
"""Tables that a query reads, each CTE counted as often as it is named, and SELECTs without FROM.

To order their joins takes the engine's planner about the cube of their number, in which it can't be interrupted: a
second for 100, minutes for 300.
"""


MAX_DEPTH = 200
"""Levels of the tree with each CTE where it is named. The engine recurses some kilobytes deep for each, and a thread's
stack that overflows ends the process: a thread has as little as 512 kB.
"""


def _check_expansion(tree: exp.Expr) -> None:
    tables, depth = _expansion(tree, {})
    if tables > MAX_TABLES:
        raise refuse(
            tree, f"the query reads more than {MAX_TABLES} tables, counting its CTEs where they are used",
            "join fewer, and use each CTE less often",
        )  # fmt: skip
    if depth > MAX_DEPTH:
        raise refuse(
            tree, "the query nests too deep, counting its CTEs where they are used", "read fewer CTEs through others"
        )


def _expansion(node: exp.Expr, known: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """How many tables a tree reads, and how deep it is, once its CTEs are put in where they are named.

    A SELECT without FROM is a table too.
    """
    clause = node.args.get("with_")
    if clause is not None:
        known = dict(known)
        for cte in clause.expressions:
            known[cte.alias.lower()] = _expansion(cte.this, known)
    if isinstance(node, exp.Table):
        return known.get(node.name.lower(), (1, 1))
    alone = isinstance(node, exp.Values) or (isinstance(node, exp.Select) and not node.args.get("from_"))
    found = [_expansion(child, known) for child in node.iter_expressions() if child is not clause]
    return alone + sum(tables for tables, _ in found), 1 + max((depth for _, depth in found), default=0)


def _whole(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Literal) and node.name.isdigit() and len(node.name) < 19


def _check_words(tree: exp.Expr, text: str, grammar: Grammar) -> None:
    """Every bare word of the text is syntax, a type, a unit, or a function of the list with its bracket."""
    tokens = sqlglot.Dialect.get_or_raise("duckdb").tokenize(text)
    for token, following in itertools.zip_longest(tokens, tokens[1:]):
        word = token.text
        if token.token_type in _NO_WORDS or not (word[:1].isalpha() or word[:1] == "_"):
            continue
        called = following is not None and following.token_type is TokenType.L_PAREN
        if set(word.upper().split()) <= (_SYNTAX if called else _BARE_WORDS) | grammar.words:
            continue
        if called and (word.lower() in FUNCTIONS or word.lower() in grammar.functions):
            continue
        raise UnsupportedQuery(
            f"the function {word.lower()} isn't on the list of functions allowed over released numbers",
            hint="use arithmetic, CASE, ROUND, COALESCE, window functions, or compute it after fetching",
            position=_position(tree, word),
        )


def _position(tree: exp.Expr, word: str) -> int | None:
    for node in tree.find_all(exp.Func):
        if node.sql("duckdb").upper().startswith(word.upper() + "("):
            return position_of(node)
    return None


def without_clock(query: Query, today: dt.date) -> Query:
    """The query with CURRENT_DATE over noisy numbers as the literal that the compiler was given: in the outer query, in
    constants and in arithmetic whose intervals are asked for.
    """
    literal = exp.cast(exp.Literal.string(today.isoformat()), "DATE")

    def dated(tree: exp.Expr) -> exp.Expr:
        if tree.find(exp.CurrentDate) is None:
            return tree
        return tree.transform(lambda n: literal.copy() if isinstance(n, exp.CurrentDate) else n)

    releases = tuple(
        replace(r, intervals=tuple((dated(of) if isinstance(of, exp.Expr) else of, at) for of, at in r.intervals))
        for r in query.releases
    )
    constants = tuple(replace(constant, tree=dated(constant.tree)) for constant in query.constants)
    return replace(query, releases=releases, outer=dated(query.outer), constants=constants)


def plain_columns(root: exp.Expr) -> tuple[str, ...] | None:
    """The release's columns that a query lists, where it does nothing else."""
    used = {name for name, value in root.args.items() if value}
    if used != {"expressions", "from_"} or direct_release(root) is None:
        return None
    items = [item.this if isinstance(item, exp.Alias) else item for item in root.expressions]
    if not all(isinstance(item, exp.Column) for item in items):
        return None
    return tuple(item.name for item in items)
