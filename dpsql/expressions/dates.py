"""Dates and times: parts, truncation, differences, + and - (which numbers share)."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator
from fractions import Fraction

from sqlglot import exp

from dpsql.errors import MissingBounds
from dpsql.expressions.choices import as_timestamp, literal_as
from dpsql.expressions.compiler import Compiler, Typed, handles, handles_function, refuse, show
from dpsql.expressions.literals import DATE, INTEGER, TEXT, TIMESTAMP, cast, clip, func, literal_sql
from dpsql.expressions.numbers import Operation, arithmetic, binary
from dpsql.policy import Kind
from dpsql.valueset import (
    DAY_MICROSECONDS,
    EPOCH,
    Interval,
    Literal,
    Number,
    ValueSet,
    common_grain,
    constant,
    machine_range,
    number,
)

_PARTS: dict[str, tuple[int, int] | None] = {
    "year": None,
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "dow": (0, 6),
    "isodow": (1, 7),
    "dayofyear": (1, 366),
    "doy": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
_TIME_PARTS = ("hour", "minute", "second")


def _as_day(value: Number, kind: Kind) -> dt.date:
    days = math.floor(value) if kind is Kind.DATE else math.floor(value / DAY_MICROSECONDS)
    return EPOCH + dt.timedelta(days=days)


def _temporal(compiler: Compiler, node: exp.Expr, operand: exp.Expr) -> Typed:
    """A date or timestamp; a text literal is read as one."""
    typed = compiler.value(operand)
    if typed.kind is Kind.TEXT and typed.is_constant:
        typed = literal_as(node, typed, TIMESTAMP)
    if typed.kind not in (Kind.DATE, Kind.TIMESTAMP):
        raise refuse(operand, f"{show(operand)} is {typed.kind.value}, where {show(node)} needs a date")
    return typed


def _part(compiler: Compiler, node: exp.Expr, part: str, operand: exp.Expr) -> Typed:
    part = part.lower()
    if part not in _PARTS:
        raise refuse(node, f"the date part {part} isn't supported", f"use one of {', '.join(_PARTS)}")
    typed = _temporal(compiler, node, operand)
    if part in _TIME_PARTS and typed.kind is Kind.DATE:
        typed = as_timestamp(typed)
    span = _PARTS[part]
    if span is not None:
        bounds = machine = Interval(Fraction(span[0]), Fraction(span[1]))
    else:
        bounds, machine = (
            i.map(lambda x: Fraction(_as_day(x, typed.kind).year)) for i in (typed.set.bounds, typed.set.machine)
        )
    new = ValueSet(INTEGER, bounds, machine, None, Fraction(1), typed.set.nullable, typed.set.null_key)
    return Typed(cast(func("date_part", exp.Literal.string(part), typed.sql), "BIGINT"), new)


@handles(exp.Extract)
def _extract(compiler: Compiler, node: exp.Expr) -> Typed:
    return _part(compiler, node, node.this.name, node.expression)


@handles(
    exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear, exp.Hour,
    exp.Minute, exp.Second, args="this",
)  # fmt: skip
def _named_part(compiler: Compiler, node: exp.Expr) -> Typed:
    name = {"dayofmonth": "day"}.get(type(node).__name__.lower(), type(node).__name__.lower())
    return _part(compiler, node, name, node.this)


@handles_function("date_part", "datepart")
def _date_part(compiler: Compiler, node: exp.Expr) -> Typed:
    part = node.expressions[0] if len(node.expressions) == 2 else None
    if not isinstance(part, exp.Literal) or not part.is_string:
        raise refuse(node, f"{show(node)} isn't supported", "write date_part('year', column)")
    return _part(compiler, node, part.name, node.expressions[1])


_TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour", "minute")


def _truncate(day: dt.date, unit: str) -> dt.date:
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=3 * ((day.month - 1) // 3) + 1, day=1)
        case "month":
            return day.replace(day=1)
        case "day":
            return day
        case _:
            # the week of year 1's first days starts before year 1 has begun
            return max(dt.date.min, day - dt.timedelta(days=day.weekday())) if day.toordinal() > 7 else dt.date.min


MAX_PERIODS = 100_000
_DIRECTIVES = {"%Y": DAY_MICROSECONDS, "%m": DAY_MICROSECONDS, "%d": DAY_MICROSECONDS, "%H": 3_600_000_000,
               "%M": 60_000_000}  # fmt: skip
"""What STRFTIME may write, and the microseconds after which it may change."""


@handles(exp.TimeToStr, args="this format")
def _strftime(compiler: Compiler, node: exp.Expr) -> Typed:
    """STRFTIME(d, '%Y-%m'), TO_CHAR(d, 'YYYY-MM'): a text for each period between the bounds, which are needed."""
    pattern = node.args["format"]
    text = pattern.name if isinstance(pattern, exp.Literal) and pattern.is_string else "%"
    found = re.findall(r"%.?", text)
    if not found or not set(found) <= _DIRECTIVES.keys() or re.search("[A-Za-z]", re.sub("%[A-Za-z]", "", text)):
        raise refuse(node, f"{show(node)} isn't supported", "write a format of %Y, %m, %d, %H and %M: '%Y-%m'")
    typed = as_timestamp(_temporal(compiler, node, node.this))
    bounds, machine = typed.set.bounds, typed.set.machine
    safe = Interval(*(Fraction((dt.date(year, 1, 1) - EPOCH).days * DAY_MICROSECONDS) for year in (1000, 9999)))
    if not (safe.contains(machine.lower) and safe.contains(machine.upper)):
        raise refuse(
            node, f"{show(node)} needs bounds", "bound the date, in the policy or by WHERE", MissingBounds
        )  # fmt: skip
    step = min(_DIRECTIVES[d] for d in found)
    first, last = math.floor(bounds.lower / step), math.floor(bounds.upper / step)
    values: tuple[Literal, ...] | None = None
    if last - first < MAX_PERIODS:
        moments = (dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=i * step) for i in range(first, last + 1))
        texts = (moment.strftime(text) for moment in moments)
        values = compiler.steps.listed(texts, last - first, (text, first, last))
    new = ValueSet(TEXT, values=values, nullable=typed.set.nullable, null_key=typed.set.null_key)
    return Typed(func("strftime", typed.sql, exp.Literal.string(text)), new)


@handles(exp.TimestampTrunc, exp.DateTrunc, args="this unit zone input_type_preserved")
def _date_trunc(compiler: Compiler, node: exp.Expr) -> Typed:
    unit = node.args["unit"].name.lower()
    if node.args.get("zone") or unit not in _TRUNCATIONS:
        raise refuse(node, f"{show(node)} isn't supported", f"truncate to one of {', '.join(_TRUNCATIONS)}")
    typed = as_timestamp(_temporal(compiler, node, node.this))  # DuckDB truncates a DATE to a TIMESTAMP
    per_day = Fraction(DAY_MICROSECONDS)
    seconds = {"hour": 3600, "minute": 60}.get(unit)

    def floor(x: Number) -> Number:
        if seconds:
            return Fraction(math.floor(x / (seconds * 10**6)) * seconds * 10**6)
        return Fraction((_truncate(_as_day(x, typed.kind), unit) - EPOCH).days) * per_day

    bounds, machine = typed.set.bounds.map(floor), typed.set.machine.map(floor)
    values: tuple[Literal, ...] | None = None
    grain: Fraction | None = per_day
    if seconds:
        grain = Fraction(seconds * 10**6)
    elif unit != "day" and bounds.bounded:
        values = _periods(compiler, bounds, unit, typed.kind)
        grain = per_day if values is not None else None  # too many to list: no finite set, and not one of days
    new = ValueSet(typed.set.type, bounds, machine, values, grain, typed.set.nullable, typed.set.null_key)
    truncated = func("date_trunc", exp.Literal.string(unit), typed.sql)
    return Typed(cast(truncated, typed.kind.value.upper()), new)


def _periods(compiler: Compiler, bounds: Interval, unit: str, kind: Kind) -> tuple[Literal, ...] | None:
    """The starts of all periods in the bounds, in microseconds."""
    first, last = _as_day(bounds.lower, kind), _as_day(bounds.upper, kind)
    step = {"year": 366, "quarter": 92, "month": 31, "week": 7}[unit]
    size = (last - first).days // step
    if size > MAX_PERIODS:
        return None

    def starts() -> Iterator[int]:
        day = _truncate(first, unit)
        while day <= last:
            yield (day - EPOCH).days * DAY_MICROSECONDS
            if (dt.date.max - day).days <= step:
                break
            day = _truncate(day + dt.timedelta(days=step), unit)

    return compiler.steps.listed(starts(), size, (unit, first, last))


@handles(exp.DateDiff, args="this expression unit date_part_boundary big_int")
def _date_diff(compiler: Compiler, node: exp.Expr) -> Typed:
    """Boundaries of a unit between two moments; like DuckDB, counted from the second argument of the node."""
    unit = node.args["unit"].name.lower() if node.args.get("unit") else "day"
    index = _UNIT_INDEX.get(unit)
    if index is None:
        raise refuse(node, f"{show(node)} isn't supported", f"use one of {', '.join(_UNIT_INDEX)}")
    end, start = _temporal(compiler, node, node.this), _temporal(compiler, node, node.expression)

    def indexed(typed: Typed, i: Interval) -> Interval:
        return i.map(lambda x: Fraction(index(_as_day(x, typed.kind))))

    bounds = indexed(end, end.set.bounds) - indexed(start, start.set.bounds)
    machine = indexed(end, end.set.machine) - indexed(start, start.set.machine)
    nullable = end.set.nullable or start.set.nullable
    sql = func("date_diff", exp.Literal.string(unit), as_timestamp(start).sql, as_timestamp(end).sql)
    return Typed(sql, ValueSet(INTEGER, bounds, machine, None, Fraction(1), nullable, nullable))


_UNIT_INDEX: dict[str, Callable[[dt.date], int]] = {
    "day": lambda d: d.toordinal(),
    "month": lambda d: d.year * 12 + d.month,
    "quarter": lambda d: d.year * 4 + (d.month - 1) // 3,
    "year": lambda d: d.year,
}

_INTERVAL_DAYS: dict[str, tuple[int, int]] = {
    "day": (1, 1), "week": (7, 7), "month": (28, 31), "quarter": (89, 92), "year": (365, 366),
}  # fmt: skip
MAX_INTERVAL = 10_000


def _temporal_shift(node: exp.Expr, left: Typed, right: Typed, sign: int) -> Typed:
    """date - date, date ± days."""
    if left.kind is right.kind is Kind.DATE and sign == -1:
        bounds, machine = left.set.bounds - right.set.bounds, left.set.machine - right.set.machine
        nullable = left.set.nullable or right.set.nullable
        sql = cast(binary(node, left.sql, right.sql), "BIGINT")
        return Typed(sql, ValueSet(INTEGER, bounds, machine, None, Fraction(1), nullable, nullable))
    days = right.set.values[0] if right.is_constant and right.set.values else None
    if left.kind is Kind.DATE and isinstance(days, int) and abs(days) <= 366 * MAX_INTERVAL:
        return _shifted(node, left, sign * days, sign * days, exp.Literal.number(abs(days)), days < 0)
    raise refuse(node, f"{show(node)} isn't supported", "subtract two dates, or add INTERVAL n DAY")


def _shifted(node: exp.Expr, typed: Typed, low: int, high: int, amount: exp.Expr, negative: bool = False) -> Typed:
    unit = 1 if typed.kind is Kind.DATE else DAY_MICROSECONDS
    shift = Interval(Fraction(min(low, high) * unit), Fraction(max(low, high) * unit))
    full = machine_range(typed.set.type)
    bounds, machine = (typed.set.bounds + shift), (typed.set.machine + shift)
    if typed.is_constant and low == high and typed.set.values:
        value = int(number(typed.set.values[0])) + low * unit
        if full.contains(Fraction(value)):
            return Typed(literal_sql(value, typed.set.type), constant(value, typed.set.type))
    if negative:
        node = exp.Sub() if isinstance(node, exp.Add) else exp.Add()
    raw = binary(node, typed.sql, amount)
    new = ValueSet(
        typed.set.type, bounds.moved_into(full), machine.moved_into(full), None, Fraction(unit), typed.set.nullable,
        typed.set.null_key,
    )  # fmt: skip
    sql = cast(raw, typed.kind.value.upper())
    return Typed(clip(sql, new) if machine != new.machine else sql, new)


def _plus_interval(compiler: Compiler, node: exp.Expr, operand: exp.Expr, interval: exp.Interval, sign: int) -> Typed:
    typed = as_timestamp(_temporal(compiler, node, operand))  # a DATE and an INTERVAL make a TIMESTAMP
    amount = compiler.constant(interval.this) if interval.this is not None else None
    text = str(amount[0]) if amount and amount[0] is not None else ""
    unit = interval.args["unit"].name.lower().removesuffix("s") if interval.args.get("unit") else ""
    days = _INTERVAL_DAYS.get(unit)
    if days is None or not text.lstrip("-").isdigit() or abs(int(text)) > MAX_INTERVAL:
        raise refuse(node, f"{show(interval)} isn't supported", "write INTERVAL 30 DAY (or WEEK, MONTH, QUARTER, YEAR)")
    count = int(text)
    literal = exp.Interval(this=exp.Literal.string(str(abs(count))), unit=exp.Var(this=unit.upper()))
    total = sign * count
    if typed.is_constant and unit in ("month", "quarter", "year") and typed.set.values:
        months = total * {"month": 1, "quarter": 3, "year": 12}[unit]
        moved = _add_months(_as_day(number(typed.set.values[0]), typed.kind), months)
        if moved is not None and typed.kind is Kind.DATE:
            value = (moved - EPOCH).days
            return Typed(literal_sql(value, DATE), constant(value, DATE))
    return _shifted(node, typed, total * days[0], total * days[1], literal, count < 0)


def _add_months(day: dt.date, months: int) -> dt.date | None:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        return None
    for last in (day.day, 30, 29, 28):
        try:
            return dt.date(year, month + 1, min(day.day, last))
        except ValueError:
            continue
    return None


@handles(exp.Add)
def _add(compiler: Compiler, node: exp.Expr) -> Typed:
    return _added(compiler, node, 1, Interval.__add__)


@handles(exp.Sub)
def _sub(compiler: Compiler, node: exp.Expr) -> Typed:
    return _added(compiler, node, -1, Interval.__sub__)


def _added(compiler: Compiler, node: exp.Expr, sign: int, operation: Operation) -> Typed:
    """Each operand is compiled once: twice would double the work with each level of a chain."""
    if isinstance(node.expression, exp.Interval):
        return _plus_interval(compiler, node, node.this, node.expression, sign)
    if isinstance(node.this, exp.Interval) and sign == 1:
        return _plus_interval(compiler, node, node.expression, node.this, sign)
    left, right = compiler.value(node.this), compiler.value(node.expression)
    if left.kind in (Kind.DATE, Kind.TIMESTAMP):
        return _temporal_shift(node, left, right, sign)
    return arithmetic(compiler, node, operation, lambda a, b: common_grain(a, b) or a, left, right)
