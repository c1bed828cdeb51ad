"""The same query in plain DuckDB: which answer is the right one, and of which shape the query is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dpsql.policy import Policy
from tests.corpus.rows import ANYTHING, Expected

_MACROS = "CREATE MACRO var(x) AS var_samp(x); CREATE MACRO std(x) AS stddev_samp(x);"
"""Names that other engines have for what DuckDB has too."""
_RANDOM = (exp.TableSample, exp.Rand, exp.Uuid, exp.CurrentTimestamp)


def engine(policy: Policy) -> duckdb.DuckDBPyConnection:
    """DuckDB over the policy's tables; those of a schema are found without it too, as in the policy."""
    connection = duckdb.connect(config={"python_enable_replacements": "false"})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(_MACROS)
    schemas = ["main"]
    for table in policy.tables.values():
        schema, _, name = table.name.rpartition(".")
        schema = schema or "main"
        if schema not in schemas:
            connection.execute(f'CREATE SCHEMA "{schema}"')
            schemas.append(schema)
        connection.execute(f'CREATE TABLE "{schema}"."{name}" AS FROM \'{table.source.location}\'')
    connection.execute(f"SET search_path = '{','.join(schemas)}'")
    return connection


@dataclass(frozen=True, slots=True)
class Shape:
    """What the text of a query says about its result.

    sql         the query in DuckDB's SQL
    unlimited   the same without the outermost LIMIT and OFFSET; None where it has neither
    aggregated  whether its outermost rows are aggregates or groups, be it of a subquery
    single      whether it names one table, once, and joins it with nothing
    certain     whether it has one value: it isn't random, and no recursion that might not end
    order       the output columns that it is ordered by; empty where it isn't or by something else
    empty       for each output column its value in a group without rows, as SQL; None: a group key, ANYTHING: no matter
    """

    sql: str
    unlimited: str | None
    aggregated: bool
    single: bool
    certain: bool
    order: tuple[int, ...]
    empty: tuple[object, ...] | None


def dialect_of(sql: str, dialects: tuple[str, ...]) -> str | None:
    """The first dialect that can parse the text as one query."""
    for dialect in dialects:
        if _tree(sql, dialect) is not None:
            return dialect
    return None


def _tree(sql: str, dialect: str) -> exp.Query | None:
    try:
        trees = [t for t in sqlglot.parse(sql, read=dialect, error_level=ErrorLevel.IMMEDIATE) if t is not None]
    except (SqlglotError, RecursionError):
        return None
    return trees[0] if len(trees) == 1 and isinstance(trees[0], exp.Query) else None


def shape(sql: str, dialect: str) -> Shape:
    """What can be told from the text of a query that the dialect parses."""
    tree = _tree(sql, dialect)
    assert tree is not None
    text = sql.strip().rstrip(";") if dialect == "duckdb" else tree.sql("duckdb")
    unlimited = None
    if tree.args.get("limit") or tree.args.get("offset"):
        copy = tree.copy()
        copy.set("limit", None)
        copy.set("offset", None)
        unlimited = copy.sql("duckdb")
    recursive = any(clause.args.get("recursive") for clause in tree.find_all(exp.With))
    certain = not recursive and not any(True for _ in tree.find_all(*_RANDOM))
    root = tree if isinstance(tree, exp.Select) else None
    aggregated = root is not None and _aggregated(root, {})
    return Shape(text, unlimited, aggregated, _single(tree), certain, _order(root), _empty_group(root))


def _single(tree: exp.Query) -> bool:
    named = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    tables = [t for t in tree.find_all(exp.Table) if t.db or t.name.lower() not in named]
    return len(tables) == 1 and not tree.find(exp.Join, exp.Unnest)


def _aggregated(select: exp.Select, outer: dict[str, exp.Expr]) -> bool:
    """Whether its rows are aggregates or groups, be it of a subquery in FROM."""
    named = {**outer, **{cte.alias.lower(): cte.this for cte in select.ctes}}
    if select.args.get("group") or any(True for _ in _aggregates(select)):
        return True
    source = select.args.get("from_")
    inner = source.this if source is not None else None
    if isinstance(inner, exp.Table):
        inner = named.pop(inner.name.lower(), None) if not inner.db else None  # what it reads itself is another table
    elif isinstance(inner, exp.Subquery):
        inner = inner.this
    return isinstance(inner, exp.Select) and _aggregated(inner, named)


def _aggregates(select: exp.Select) -> Iterator[exp.Expr]:
    """The aggregate calls of a SELECT's own list and HAVING."""
    having = select.args.get("having")
    for part in (*select.expressions, *([having] if having is not None else [])):
        for call in part.find_all(exp.AggFunc):
            if call.find_ancestor(exp.Query) is select and not isinstance(call.parent, exp.Window):
                yield call


def _order(select: exp.Select | None) -> tuple[int, ...]:
    clause = select.args.get("order") if select is not None else None
    if select is None or clause is None:
        return ()
    places = []
    for key in clause.expressions:
        wanted = key.this
        for place, item in enumerate(select.expressions):
            named = isinstance(wanted, exp.Column) and wanted.name.lower() == item.alias_or_name.lower()
            counted = isinstance(wanted, exp.Literal) and wanted.name == str(place + 1)
            if named or counted or wanted == item.unalias():
                places.append(place)
                break
        else:
            return ()
    return tuple(places)


def _empty_group(select: exp.Select | None) -> tuple[object, ...] | None:
    if select is None or select.is_star:
        return None
    return tuple(_over_no_rows(item.unalias()) for item in select.expressions)


def _over_no_rows(item: exp.Expr) -> object:
    """COUNT and SUM are 0; what else is made of them follows."""
    calls = list(item.find_all(exp.AggFunc))
    if not calls:
        return None
    zero = exp.Paren(this=item.copy()).transform(
        lambda node: exp.Literal.number(0) if isinstance(node, exp.AggFunc) else node
    )
    counted = all(isinstance(call, (exp.Count, exp.Sum, exp.CountIf)) for call in calls)
    return zero.sql("duckdb") if counted and not zero.find(exp.Column) else ANYTHING


def expected(connection: duckdb.DuckDBPyConnection, query: Shape) -> Expected | None:
    """What DuckDB says, or None where it can't run the query or might say something else each time."""
    if not query.certain:
        return None
    try:
        limited = connection.execute(query.sql).fetchall()
        rows = connection.execute(query.unlimited).fetchall() if query.unlimited else limited
        empty = None if query.empty is None else tuple(_value(connection, value) for value in query.empty)
    except duckdb.Error:
        return None
    return Expected(rows, len(limited) if query.unlimited else None, query.order, empty)


def _value(connection: duckdb.DuckDBPyConnection, value: object) -> object:
    if not isinstance(value, str):
        return value
    row = connection.execute(f"SELECT {value}").fetchone()
    assert row is not None
    unknown = row[0] is None or row[0] != row[0]
    return ANYTHING if unknown else row[0]
