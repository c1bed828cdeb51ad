"""Text functions: those whose work per row is bounded by the text's own length."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from dpsql.expressions.compiler import Compiler, Typed, handles, refuse, show
from dpsql.expressions.conditions import truth
from dpsql.expressions.literals import INTEGER, TEXT, cast, func, paren
from dpsql.policy import Kind
from dpsql.valueset import (
    Interval,
    ValueSet,
)

MAX_PATTERN_WILDCARDS = 5


def text_operands(compiler: Compiler, node: exp.Expr, *operands: exp.Expr) -> list[Typed]:
    typed = [compiler.value(o) for o in operands]
    for operand, t in zip(operands, typed, strict=True):
        if t.kind is not Kind.TEXT:
            raise refuse(operand, f"{show(operand)} is {t.kind.value}, where {show(node)} needs text")
    return typed


def _mapped_text(source: ValueSet, function: Callable[[str], str]) -> ValueSet:
    """The value set of a text function: mapped value by value where all are ASCII (so that engines agree)."""
    values = None
    if source.values is not None and all(isinstance(v, str) and v.isascii() for v in source.values):
        values = tuple(dict.fromkeys(function(str(v)) for v in source.values))
    return ValueSet(TEXT, values=values, nullable=source.nullable, null_key=source.null_key)


@handles(exp.Lower, args="this")
def _lower(compiler: Compiler, node: exp.Expr) -> Typed:
    (text,) = text_operands(compiler, node, node.this)
    return Typed(func("lower", text.sql), _mapped_text(text.set, str.lower))


@handles(exp.Upper, args="this")
def _upper(compiler: Compiler, node: exp.Expr) -> Typed:
    (text,) = text_operands(compiler, node, node.this)
    return Typed(func("upper", text.sql), _mapped_text(text.set, str.upper))


@handles(exp.Trim, args="this")
def _trim(compiler: Compiler, node: exp.Expr) -> Typed:
    (text,) = text_operands(compiler, node, node.this)
    return Typed(func("trim", text.sql), _mapped_text(text.set, lambda v: v.strip(" ")))


@handles(exp.Length, args="this")
def _length(compiler: Compiler, node: exp.Expr) -> Typed:
    (text,) = text_operands(compiler, node, node.this)
    bounds = Interval(Fraction(0), math.inf)
    if text.set.values:
        lengths = [len(str(v)) for v in text.set.values]
        bounds = Interval(Fraction(min(lengths)), Fraction(max(lengths)))
    machine = Interval(Fraction(0), Fraction(2**40))
    new = ValueSet(INTEGER, bounds, machine, None, Fraction(1), text.set.nullable, text.set.null_key)
    return Typed(cast(func("length", text.sql), "BIGINT"), new)


def small_integer(compiler: Compiler, node: exp.Expr, argument: exp.Expr, lowest: int) -> int:
    found = compiler.constant(argument)
    if found is None or not isinstance(found[0], int) or not lowest <= found[0] <= 1_000_000:
        raise refuse(node, f"{show(argument)} in {show(node)} must be a whole number from {lowest} to 1000000")
    return found[0]


@handles(exp.Substring, args="this start length")
def _substring(compiler: Compiler, node: exp.Expr) -> Typed:
    (text,) = text_operands(compiler, node, node.this)
    start = small_integer(compiler, node, node.args["start"], 1)
    arguments, stop = [text.sql, exp.Literal.number(start)], None
    if node.args.get("length"):
        length = small_integer(compiler, node, node.args["length"], 0)
        arguments.append(exp.Literal.number(length))
        stop = start - 1 + length
    return Typed(func("substring", *arguments), _mapped_text(text.set, lambda v: v[start - 1 : stop]))


@handles(exp.Left, exp.Right)
def _left_right(compiler: Compiler, node: exp.Expr) -> Typed:
    (text,) = text_operands(compiler, node, node.this)
    count = small_integer(compiler, node, node.expression, 0)
    left = isinstance(node, exp.Left)

    def part(v: str) -> str:
        return v[:count] if left else v[max(0, len(v) - count) :]

    sql = func("left" if left else "right", text.sql, exp.Literal.number(count))
    return Typed(sql, _mapped_text(text.set, part))


@handles(exp.StartsWith, exp.EndsWith, exp.Contains, args="this expression")
def _text_test(compiler: Compiler, node: exp.Expr) -> Typed:
    text, other = text_operands(compiler, node, node.this, node.expression)
    names: dict[type[exp.Expr], str] = {
        exp.StartsWith: "starts_with",
        exp.EndsWith: "ends_with",
        exp.Contains: "contains",
    }
    sql = func(names[type(node)], text.sql, other.sql)
    return truth(sql, text.set.nullable or other.set.nullable)


@handles(exp.Like, exp.ILike, args="this expression negate")
def _like(compiler: Compiler, node: exp.Expr) -> Typed:
    (text,) = text_operands(compiler, node, node.this)
    pattern = _known_text(compiler, node.expression)
    if pattern is None:
        raise refuse(node, f"the pattern of {show(node)} must be a text literal")
    if pattern.count("%") > MAX_PATTERN_WILDCARDS:
        raise refuse(node, f"the pattern of {show(node)} has more than {MAX_PATTERN_WILDCARDS} wildcards")
    sql: exp.Expr = type(node)(this=paren(text.sql), expression=exp.Literal.string(pattern))
    if node.args.get("negate"):
        sql = exp.Not(this=sql)
    return truth(sql, text.set.nullable)


def _known_text(compiler: Compiler, node: exp.Expr) -> str | None:
    """A text literal, or what is put together of such: `'%' || 'x' || '%'` stands where programs have a parameter."""
    match node:
        case exp.Paren():
            return _known_text(compiler, node.this)
        case exp.DPipe() | exp.Concat():
            parts = node.expressions or [node.this, node.expression]
            texts = [_known_text(compiler, part) for part in parts]
            return None if None in texts else "".join(map(str, texts))
        case exp.Lower() | exp.Upper():
            text = _known_text(compiler, node.this)
            if text is None or not text.isascii():
                return None
            return text.lower() if isinstance(node, exp.Lower) else text.upper()
    known = compiler.constant(node)
    return known[0] if known is not None and isinstance(known[0], str) else None
