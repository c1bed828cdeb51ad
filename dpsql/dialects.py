"""Other dialects in DuckDB's meaning: sqlglot's translation, on a tree whose types are known, and what it leaves out.

`/`, `%`, `||` and casts mean different things for different types and dialects, so every node gets its type first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.schema import MappingSchema

from dpsql.errors import UnsupportedQuery
from dpsql.names import declared_table, output_name

ColumnTypes = Mapping[str, Mapping[str, str]]
"""Table to column to SQL type, all lower case."""


def translate(tree: exp.Expr, dialect: str, types: ColumnTypes) -> tuple[exp.Expr, bool]:
    """The same query in DuckDB's SQL, and whether all types were known (if not, it must not be run)."""
    typed = annotate(tree, dialect, types)
    name_outputs(tree)
    for node in reversed(list(tree.walk())):  # inner nodes first
        meant = _meant(node, dialect)
        if meant is not node:
            node.replace(meant)
    try:
        text = tree.sql("duckdb", comments=False, unsupported_level=ErrorLevel.RAISE)
        return _restored(sqlglot.parse_one(text, read="duckdb", error_level=ErrorLevel.IMMEDIATE)), typed
    except SqlglotError:
        raise UnsupportedQuery(
            f"part of this {dialect} query has no equivalent", hint="write it in plainer SQL"
        ) from None


_QUOTIENT = "_dpsql_quotient"
"""Stands for the `/` of integers, while the tree is text. Whoever writes it themselves gets just that."""
_ROUNDING: dict[str, type[exp.Func]] = {"_dpsql_trunc": exp.Trunc, "_dpsql_round": exp.Round}
"""Stand for how a cast rounds in the other dialect."""


def _restored(tree: exp.Expr) -> exp.Expr:
    """What was added in translation, in DuckDB's SQL, with a note that people know it as it was."""
    for node in reversed(list(tree.find_all(exp.Anonymous))):  # inner ones first
        name = node.name.lower()
        if name == _QUOTIENT and len(node.expressions) == 2:
            whole = exp.Trunc(this=exp.Div(this=node.expressions[0], expression=node.expressions[1]))
            meant = exp.cast(whole, exp.DType.BIGINT)
            meant.meta["is_quotient"] = True
            node.replace(meant)
        elif name in _ROUNDING and len(node.expressions) == 1:
            rounded = _ROUNDING[name](this=node.expressions[0])
            rounded.meta["is_added"] = True
            node.replace(rounded)
    return tree


_ESCAPED = re.compile(
    r"\\([0-7]{1,3}) | \\x([0-9a-fA-F]{1,2}) | \\u([0-9a-fA-F]{4}) | \\U([0-9a-fA-F]{8}) | \\(.) | ''",
    re.DOTALL | re.VERBOSE,
)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def unescaped(text: str) -> str:
    """What PostgreSQL's E'…' means (its documentation, 4.1.2.2), of the text between its quotes.

    Raises ValueError for an escape that stands for no character: a NUL, half of one, a byte that is none in UTF-8.
    """

    def meant(match: re.Match[str]) -> str:
        octal, byte, short, long, other = match.groups()
        if other is not None and other not in "uU":
            return _LETTERS.get(other, other)
        if match[0] == "''":
            return "'"
        number = int(octal, 8) if octal else int(byte or short or long or "0", 16)
        if not 0 < number < (0x80 if octal or byte else 0x110000) or 0xD800 <= number < 0xE000:
            raise ValueError(match[0])
        return chr(number)

    return _ESCAPED.sub(meant, text)


def name_outputs(tree: exp.Expr) -> None:
    """Name unnamed result columns by what the analyst wrote, before translation changes it."""
    for select in list(tree.find_all(exp.Select)):
        for item in select.expressions:
            if not isinstance(item, (exp.Alias, exp.Column, exp.Star)):
                item.replace(exp.alias_(item.copy(), output_name(item), quoted=True))


_SUNDAY_FIRST = {"bigquery": ("DAYOFWEEK", "WEEK", "DOW"), "spark": ("DAYOFWEEK", "DOW")}
"""Date parts that count from Sunday there and from Monday or from another number in DuckDB."""
_DAYS_FROM_SUNDAY = {
    "bigquery": "1 + MOD(DATE_DIFF(x, DATE '1899-12-31', DAY), 7)",
    "spark": "1 + MOD(DATEDIFF(x, DATE '1899-12-31'), 7)",
}


def _meant(node: exp.Expr, dialect: str) -> exp.Expr:
    """What sqlglot doesn't translate: rounding of casts, ROUND of a double in PostgreSQL, weeks from Sunday."""
    if isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.INTEGER_TYPES) and _fractional(node.this):
        rounding = {"spark": "_dpsql_trunc", "bigquery": "_dpsql_round"}.get(dialect)
        if rounding is not None:
            node.set("this", exp.Anonymous(this=rounding, expressions=[node.this]))
    if dialect == "bigquery" and isinstance(node, (exp.Bracket, exp.ApproxQuantiles)):
        return _approximate(node)
    if isinstance(node, exp.Div) and node.args.get("typed"):
        integers = exp.DataType.INTEGER_TYPES
        if node.this.is_type(*integers) and node.expression.is_type(*integers):
            return exp.Anonymous(this=_QUOTIENT, expressions=[node.this.copy(), node.expression.copy()])
    like = isinstance(node, (exp.Like, exp.ILike))
    if like and any("\\" in text.name for text in node.expression.find_all(exp.Literal)):
        raise UnsupportedQuery(
            "a backslash in a LIKE pattern isn't supported",
            hint="use STARTS_WITH or =",
            position=node.meta.get("start"),
        )
    if dialect == "postgres" and isinstance(node, exp.TimeToStr):
        check_pattern(node)
    whole = isinstance(node, exp.Round) and not node.args.get("decimals") and not isinstance(node.this, exp.Literal)
    if dialect == "postgres" and whole and node.this.is_type(exp.DType.DOUBLE, exp.DType.FLOAT):
        return exp.Anonymous(this="ROUND_EVEN", expressions=[node.this.copy(), exp.Literal.number(0)])
    if dialect == "bigquery" and isinstance(node, exp.DateTrunc) and node.this.is_type(exp.DType.DATE):
        return exp.cast(node, exp.DType.DATE)
    unit = node.args.get("unit") if isinstance(node, (exp.DateTrunc, exp.TimestampTrunc)) else None
    unit = node.this if isinstance(node, exp.Extract) else unit
    name = unit.name.upper() if isinstance(unit, exp.Expr) else ""
    if name in _SUNDAY_FIRST.get(dialect, ()) or (isinstance(node, exp.DayOfWeek) and dialect in _SUNDAY_FIRST):
        raise UnsupportedQuery(
            f"weeks that start on Sunday aren't supported ({name or 'DAYOFWEEK'} in {dialect})",
            hint=f"count days from a Sunday: {_DAYS_FROM_SUNDAY[dialect]}",
            position=node.meta.get("start"),
        )
    return node


def _approximate(node: exp.Expr) -> exp.Expr:
    """One of BigQuery's APPROX_QUANTILES(x, n), by its place in the list: it begins with the smallest value."""
    call = node.this if isinstance(node, exp.Bracket) else node
    if not isinstance(call, exp.ApproxQuantiles) or (call is node and isinstance(node.parent, exp.Bracket)):
        return node
    number, places = call.args.get("expression"), node.expressions if call is not node else []
    digits = [part.name for part in (number, *places) if isinstance(part, exp.Literal) and part.name.isdigit()]
    count, place = map(int, digits) if len(digits) == 2 else (0, -1)
    place -= node.args.get("offset") or 0
    if not 0 <= place <= count or count == 0 or isinstance(call.this, exp.Distinct):
        raise UnsupportedQuery(
            "APPROX_QUANTILES is answered for one of its quantiles, by its place in the list",
            hint=f"write APPROX_QUANTILES({call.this.sql('bigquery')}, 4)[OFFSET(2)], which is the median",
            position=call.meta.get("start"),
        )
    if place in (0, count):
        return (exp.Max if place else exp.Min)(this=call.this.copy())
    return exp.Quantile(this=call.this.copy(), quantile=exp.Literal.number(f"{place / count:.12f}"))


_PATTERNS = "Y, y, m, d, j, H, I, M, S, f, b, p".split(", ")
"""The directives of strftime that mean what sqlglot takes them for in a pattern of TO_CHAR."""


def check_pattern(node: exp.TimeToStr) -> None:
    """Refuse a pattern of TO_CHAR of which a part is left as it is, or means something else: 'Day', 'MS', 'Q'."""
    pattern = node.args["format"]
    text = pattern.name if isinstance(pattern, exp.Literal) and pattern.is_string else "Q"
    found = re.findall(r"%-?(.?)", text)
    if not found or not set(found) <= set(_PATTERNS) or re.search("[A-Za-z]", re.sub("%-?[A-Za-z]", "", text)):
        raise UnsupportedQuery(
            "this pattern of TO_CHAR isn't supported",
            hint="write it with YYYY, MM, DD, HH24, MI and SS: TO_CHAR(d, 'YYYY-MM')",
            position=node.meta.get("start"),
        )


def _fractional(node: exp.Expr) -> bool:
    return node.is_type(exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.DECIMAL)


def annotate(tree: exp.Expr, dialect: str, types: ColumnTypes) -> bool:
    """Set every node's type, worked out on a qualified copy and carried over node by node; False where that fails."""
    for number, node in enumerate(tree.walk()):
        node.meta["node"] = number
    known: dict[str, object] = {t: dict(c) for t, c in types.items()}
    for name in types:
        last = name.rpartition(".")[2]
        if declared_table(last, types) == name:
            known[last] = known[name]
    schema = MappingSchema(known or None, dialect=dialect, normalize=False)
    copy = tree.copy()
    for identifier in copy.find_all(exp.Identifier):
        identifier.set("this", identifier.this.lower())
        identifier.set("quoted", True)
    for call in copy.find_all(exp.PercentileCont):  # of a fraction alone sqlglot finds no type in BigQuery
        if isinstance(call.parent, exp.WithinGroup) and call.expression is None:
            call.set("expression", call.parent.expression.expressions[0].this.copy())
    try:
        copy = qualify_tables(copy, dialect=dialect)
        copy = qualify_columns(
            copy, schema, expand_alias_refs=False, expand_stars=False, allow_partial_qualification=True
        )
        copy = annotate_types(copy, schema=schema, dialect=dialect)
    except Exception:  # noqa: BLE001 - whatever sqlglot raises on odd text; often a name is unknown: analysis says which
        return False
    kinds = {n.meta["node"]: n.type for n in copy.walk() if n.type is not None and "node" in n.meta}
    for node in tree.walk():
        kind = kinds.get(node.meta.get("node"))
        if kind is not None:
            node.type = kind
    return True
