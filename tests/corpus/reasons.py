"""Why a query isn't answered, in our own words, and what that says about the product."""

from __future__ import annotations

import re
from dataclasses import dataclass

import sqlglot
from sqlglot.errors import ErrorLevel, SqlglotError

from dpsql.errors import Error, InternalError


@dataclass(frozen=True, slots=True)
class Reason:
    """A class of refusals.

    verdict  of a query that could be answered soundly: right (not with what the policy and the query say), later (once
             more of joins, and the selection of keys, are there) or gap (it should be mended)
    """

    text: str
    verdict: str


@dataclass(frozen=True, slots=True)
class _Pattern:
    message: str
    reason: Reason


_PATTERNS = tuple(
    _Pattern(message, Reason(text, verdict))
    for message, text, verdict in (
        (r"returns rows of the private table", "rows of a private table", "right"),
        (r"^\* stands for private rows", "rows of a private table", "right"),
        (r"must appear in (the )?GROUP BY", "a column that is neither grouped nor aggregated", "right"),
        (r"^the window function .* would read private rows", "a window over private rows", "right"),
        (r"LIMIT over rows", "LIMIT over rows of a private table", "right"),
        (r"^table .* does not exist", "no table of this name in the project's schemas", "right"),
        (r"^column .* (does not exist|is in \w+ and )|not in this FROM clause|^USING names", "no such column in this place", "right"),  # noqa: E501
        (r"can't be answered: Referenced table .* not found", "no such column in this place", "right"),
        (r"is a unit of its own, so no row", "a join of private rows that are units of their own", "right"),
        (r"is not on their privacy unit$", "a join of private tables on something else than the unit", "right"),
        (r"both have many rows of one unit", "a join of tables that both have many rows of one unit", "right"),
        (r"has no key that is declared unique", "a join with a public table without a declared key", "right"),
        (r"(RIGHT|FULL|NATURAL)\b.* JOIN with private rows|LEFT JOIN of the private .* to public", "a join that keeps rows without a private one", "later"),  # noqa: E501
        (r"with this result of a query isn't supported$|^the released groups ", "a join of private with released rows", "later"),  # noqa: E501
        (r"with this result of a query isn't supported: |^two of FROM have no name", "a join of private with released rows", "later"),  # noqa: E501
        (r"JOIN in brackets", "a JOIN in brackets", "later"),
        (r"names the privacy unit, so it can't stand in GROUP BY$", "groups that are single units", "right"),
        (r"depends on the row around it$", "a subquery that depends on the row around it", "later"),
        (r"(UNION|EXCEPT|INTERSECT) over private rows", "a set operation over private rows", "right"),
        (r"the aggregate (MAX|MIN)", "an extreme value is one row's value", "right"),
        (r"the aggregate .* isn't supported", "an aggregate that isn't known", "later"),
        (r"RANDOM\(\) isn't supported", "a random value", "right"),
        (r"isn't on the list of expressions allowed|casts .* which isn't|^the date part", "a function that isn't allowed over private rows", "gap"),  # noqa: E501
        (r"floating-point numbers, which can't be group keys", "groups not known beforehand: of floating-point numbers", "later"),  # noqa: E501
        (r"the values of column .* private", "groups not known beforehand: of text without keys", "later"),
        (r"has no finite set of values that follows", "groups not known beforehand: of an expression", "later"),
        (r"has no finite set of values", "groups not known beforehand: of numbers without bounds", "later"),
        (r"make \d+ groups|has [\d,]+ values; at most", "more groups than can be shown", "right"),
        (r"^TABLESAMPLE", "a sample of private rows", "later"),
        (r"nests aggregates", "an aggregate of an aggregate", "right"),
        (r"^a subquery inside an expression", "a subquery inside an expression over private rows", "later"),
        (r"needs bounds", "a sum without bounds", "right"),
        (r"is a table function, which isn't supported$", "a table function", "right"),
        (r"isn't a table$|names no column|different numbers of columns$|^DB isn't supported", "no valid query in this dialect", "right"),  # noqa: E501
        (r"^AVG\(\*\) isn't supported", "no valid query in this dialect", "right"),
        (r"above the policy's max_epsilon", "an ε above the policy's ceiling", "right"),
        (r"of a count holds no 1$", "bounds of a count without 1", "right"),
        (r"^a subquery can't be part of a group key", "a subquery inside a group key", "later"),
        (r"the argument \w+ isn't supported", "an argument that isn't taken", "right"),
        (r"^the option | are both given$| says nothing here: ", "an option that isn't taken", "right"),
        (r"WITH DIFFERENTIAL_PRIVACY aggregates no private table", "WITH DIFFERENTIAL_PRIVACY where nothing private is aggregated", "right"),  # noqa: E501
        (r"query has no equivalent$", "no equivalent in DuckDB", "later"),
        (r"^(GROUP BY (ROLLUP|GROUPING SETS)|WITH RECURSIVE)", "ROLLUP, GROUPING SETS or RECURSIVE", "later"),
        (r"^SELECT DISTINCT over rows", "rows of a private table", "right"),
        (r"^a subquery that only lists the groups", "a subquery that only lists groups", "later"),
        (r"needs a date$|^\S.* compares \S+ with ", "a value of the wrong type", "right"),
    )
)  # fmt: skip

NOT_A_QUERY = Reason("a statement that is no query", "right")
INTERNAL = Reason("an internal error", "gap")


def refused(error: Error) -> Reason | None:
    """The class of a refusal; None where nobody has judged its kind yet."""
    if isinstance(error, InternalError):
        return INTERNAL
    return next((p.reason for p in _PATTERNS if re.search(p.message, error.message)), None)


def not_expressible(sql: str) -> Reason:
    """Why no dialect of the product can say it."""
    if "WITH DIFFERENTIAL_PRIVACY" in " ".join(sql.upper().split()):
        return Reason("GoogleSQL's WITH DIFFERENTIAL_PRIVACY", "later")
    for dialect, text in (("tsql", "brackets or TOP as in T-SQL"), ("mysql", "quotes as in MySQL")):
        try:
            trees = sqlglot.parse(sql, read=dialect, error_level=ErrorLevel.IMMEDIATE)
        except SqlglotError:
            continue
        if len(trees) == 1:
            return Reason(text, "right")
    return Reason("no valid query in any dialect", "right")
