"""Model literals as SQL, casts, and the clip of a leaf column."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction

from sqlglot import exp

from dpsql.policy import ColumnType, Kind
from dpsql.valueset import (
    DAY_MICROSECONDS,
    EPOCH,
    FIRST_DAY,
    LAST_DAY,
    Interval,
    Literal,
    Number,
    ValueSet,
    machine_range,
)

BOOLEAN, INTEGER, DOUBLE = ColumnType(Kind.BOOLEAN), ColumnType(Kind.INTEGER), ColumnType(Kind.DOUBLE)
TEXT, DATE, TIMESTAMP = ColumnType(Kind.TEXT), ColumnType(Kind.DATE), ColumnType(Kind.TIMESTAMP)
TRUTH = Interval(Fraction(0), Fraction(1))
MAX_DIGITS = 38
MAX_LITERAL_CHARACTERS = 10_000


def literal_sql(value: Literal, kind: ColumnType) -> exp.Expr:
    """A model literal as DuckDB SQL of its type."""
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    match kind.kind:
        case Kind.DATE:
            days = min(max(int(value), FIRST_DAY), LAST_DAY)  # an end of a value set may be no date
            return cast(exp.Literal.string((EPOCH + dt.timedelta(days=days)).isoformat()), "DATE")
        case Kind.TIMESTAMP:
            first, last = FIRST_DAY * DAY_MICROSECONDS, (LAST_DAY + 1) * DAY_MICROSECONDS - 1
            moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=min(max(int(value), first), last))
            return cast(exp.Literal.string(moment.isoformat(sep=" ")), "TIMESTAMP")
        case Kind.DOUBLE:
            return double_sql(Fraction(value))
        case _:
            return decimal_sql(Fraction(value))


def double_sql(value: Number) -> exp.Expr:
    """A DOUBLE literal: the exponent makes DuckDB read it as one."""
    return _signed(f"{float(value if value >= 0 else -value):.17e}" if value else "0e0", negative=value < 0)


def decimal_sql(value: Fraction) -> exp.Expr:
    """An integer or decimal literal, exact. Values that are no finite decimal are written as DOUBLE."""
    scale = decimal_scale(value)
    if scale is None:
        return double_sql(value)
    digits = str(abs(value.numerator) * 10**scale // value.denominator).rjust(scale + 1, "0")
    return _signed(f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits, negative=value < 0)


def _signed(text: str, *, negative: bool) -> exp.Expr:
    literal = exp.Literal.number(text)
    return exp.Paren(this=exp.Neg(this=literal)) if negative else literal


def decimal_scale(value: Fraction) -> int | None:
    """Digits after the point of a finite decimal, None where it has too many."""
    for scale in range(MAX_DIGITS):
        if (value * 10**scale).denominator == 1:
            return scale
    return None


def case_when(*branches: tuple[exp.Expr, exp.Expr], default: exp.Expr | None = None) -> exp.Case:
    ifs = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(ifs=ifs, default=default)


def func(name: str, *args: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(args))


def paren(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Is)) else node


def not_null(node: exp.Expr) -> exp.Not:
    """NOT node IS NULL; the node is not copied."""
    return exp.Not(this=exp.Is(this=node, expression=exp.Null()))


def data_type(name: str) -> exp.DataType:
    """A DuckDB type by name; DECIMAL with its digits: "DECIMAL(10, 2)". (Parsing the name would cost 20 times more.)"""
    base, _, rest = name.partition("(")
    kind = _TYPES[base]
    sizes = [exp.DataTypeParam(this=exp.Literal.number(n.strip())) for n in rest.rstrip(")").split(",")] if rest else []
    return exp.DataType(this=kind, expressions=sizes, nested=False)


_TYPES = {
    "BOOLEAN": exp.DType.BOOLEAN,
    "TINYINT": exp.DType.TINYINT,
    "SMALLINT": exp.DType.SMALLINT,
    "USMALLINT": exp.DType.USMALLINT,
    "INTEGER": exp.DType.INT,
    "BIGINT": exp.DType.BIGINT,
    "HUGEINT": exp.DType.INT128,
    "DECIMAL": exp.DType.DECIMAL,
    "DOUBLE": exp.DType.DOUBLE,
    "DATE": exp.DType.DATE,
    "TIMESTAMP": exp.DType.TIMESTAMP,
    "VARCHAR": exp.DType.TEXT,
}


def named(node: exp.Expr, name: str) -> exp.Alias:
    """`node AS "name"`, without the copy that sqlglot's own helper makes."""
    return exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))


def try_cast(node: exp.Expr, to: str) -> exp.Expr:
    return exp.TryCast(this=node, to=data_type(to))


def cast(node: exp.Expr, to: str) -> exp.Expr:
    """A cast that is known not to fail."""
    return exp.Cast(this=node, to=data_type(to))


def sql_type(kind: ColumnType) -> str:
    """The engine's type of a computed value."""
    match kind.kind:
        case Kind.DECIMAL:
            return f"DECIMAL({kind.precision}, {kind.scale})"
        case Kind.INTEGER:
            return "BIGINT"
        case Kind.TEXT:
            return "VARCHAR"
    return str(kind.kind.value).upper()


def clip(column: exp.Expr, value_set: ValueSet) -> exp.Expr:
    """A leaf column moved into its machine range, NULL where it is NULL or NaN; can't fail in any evaluation order."""
    interval = value_set.machine
    if value_set.kind in (Kind.TEXT, Kind.BOOLEAN):
        return column
    if value_set.kind is Kind.DOUBLE:
        return _clip_double(column, value_set)
    if interval == machine_range(value_set.type) and value_set.kind is Kind.INTEGER:
        return column  # a stored DECIMAL may have more digits than the declared one
    lower, upper = (
        literal_sql_at(interval.lower, value_set.type),
        literal_sql_at(interval.upper, value_set.type),
    )
    return case_when(
        (exp.LT(this=column.copy(), expression=lower), lower.copy()),
        (exp.GT(this=column.copy(), expression=upper), upper.copy()),
        default=column,
    )


def literal_sql_at(value: Number, kind: ColumnType) -> exp.Expr:
    return literal_sql(int(value) if Fraction(value).denominator == 1 else Fraction(value), kind)


def _clip_double(column: exp.Expr, value_set: ValueSet) -> exp.Expr:
    interval = value_set.machine
    branches: list[tuple[exp.Expr, exp.Expr]] = []
    if not math.isinf(interval.lower):
        low = double_sql(interval.lower)
        branches.append((exp.LT(this=column.copy(), expression=low), low.copy()))
    if math.isinf(interval.upper):
        top: exp.Expr = cast(exp.Literal.string("Infinity"), "DOUBLE")
        branches.append((exp.LTE(this=column.copy(), expression=top), column))
        return case_when(*branches)  # NaN sorts above infinity: no branch, so NULL
    high = double_sql(interval.upper)
    branches.append((exp.LTE(this=column.copy(), expression=high), column))
    top = cast(exp.Literal.string("Infinity"), "DOUBLE")
    branches.append((exp.LTE(this=column.copy(), expression=top), high.copy()))
    return case_when(*branches)


def parse_text(text: str, kind: ColumnType) -> Literal:
    """A text literal as a value of a type, None where it is none."""
    text = text.strip()
    try:
        match kind.kind:
            case Kind.INTEGER:
                return int(text) if len(text) <= 19 and text.isascii() and "_" not in text else None
            case Kind.DECIMAL | Kind.DOUBLE:
                value = float(text)
                if not math.isfinite(value) or len(text) > 40 or "_" in text:
                    return None
                exact = kind.kind is Kind.DECIMAL and "e" not in text.lower()  # an exponent may stand for any length
                return Fraction(text) if exact else Fraction(value)
            case Kind.BOOLEAN:
                return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}.get(text.lower())
            case Kind.DATE:
                return (dt.date.fromisoformat(text) - EPOCH).days
            case Kind.TIMESTAMP:
                moment = dt.datetime.fromisoformat(text)
                if moment.tzinfo is not None:
                    moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
                delta = moment - dt.datetime(1970, 1, 1)
                return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
            case _:
                return text
    except (ValueError, ArithmeticError):
        return None
