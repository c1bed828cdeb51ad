"""Conditions: comparisons, IN, BETWEEN, IS, LIKE, AND, OR, NOT."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from dpsql.expressions.choices import unified
from dpsql.expressions.compiler import (
    Compiler,
    Typed,
    connector_terms,
    handles,
    is_null,
    refuse,
    show,
    unsupported,
)
from dpsql.expressions.literals import BOOLEAN, TRUTH, clip, paren
from dpsql.expressions.numbers import binary
from dpsql.policy import Kind
from dpsql.valueset import (
    ValueSet,
    machine_range,
)


def truth(sql: exp.Expr, nullable: bool) -> Typed:
    new = ValueSet(BOOLEAN, TRUTH, TRUTH, (False, True), Fraction(1), nullable, null_key=nullable)
    return Typed(exp.Paren(this=sql), new)


@handles(exp.And, exp.Or)
def _connector(compiler: Compiler, node: exp.Expr) -> Typed:
    typed = [compiler.value(term) for term in connector_terms(node, type(node))]
    for term, t in zip(connector_terms(node, type(node)), typed, strict=True):
        if t.kind is not Kind.BOOLEAN and not is_null(t):
            raise refuse(term, f"{show(term)} is used as a condition but is not boolean", "compare it with a value")
    combine = exp.and_ if isinstance(node, exp.And) else exp.or_
    return truth(combine(*(t.sql for t in typed)), any(t.set.nullable for t in typed))


@handles(exp.Not, args="this")
def _not(compiler: Compiler, node: exp.Expr) -> Typed:
    inner = compiler.value(node.this)
    if inner.kind is not Kind.BOOLEAN:
        raise refuse(node, f"{show(node.this)} is used as a condition but is not boolean", "compare it with a value")
    return truth(exp.Not(this=paren(inner.sql)), inner.set.nullable)


def _compared(compiler: Compiler, node: exp.Expr, operands: list[exp.Expr]) -> list[Typed]:
    """Operands of a comparison, a bare integer, decimal, text or temporal column read raw beside constants.

    Doubles keep their clip unless unbounded, since NaN must read as NULL. Exact and floating numbers of different
    types meet in DOUBLE or in a DECIMAL that holds both, so that no implicit cast can overflow.
    """
    typed = [compiler.value(o) for o in operands]
    constants = [t.is_constant or is_null(t) for t in typed]
    raw = []
    for operand, t in zip(operands, typed, strict=True):
        others = all(c for c, o in zip(constants, operands, strict=True) if o is not operand)
        raw.append(_raw(operand, t, {o.kind for o in typed}) if others else t)
    return unified(compiler, node, raw)


def _raw(operand: exp.Expr, typed: Typed, others: set[Kind]) -> Typed:
    """The bare column, clipped to its type's range where comparing it with such others needs a cast."""
    while isinstance(operand, exp.Paren):
        operand = operand.this
    if not isinstance(operand, exp.Column):
        return typed
    column = exp.column(operand.name, quoted=True)
    full = replace(typed.set, machine=machine_range(typed.set.type))
    cast_next = typed.kind in (Kind.DOUBLE, Kind.DECIMAL) or (typed.kind is Kind.DATE and Kind.TIMESTAMP in others)
    return Typed(clip(column, full) if cast_next else column, full)


@handles(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
def _comparison(compiler: Compiler, node: exp.Expr) -> Typed:
    left, right = _compared(compiler, node, [node.this, node.expression])
    nullable = left.set.nullable or right.set.nullable
    return truth(binary(node, left.sql, right.sql), nullable)


@handles(exp.NullSafeEQ, exp.NullSafeNEQ)
def _distinct_from(compiler: Compiler, node: exp.Expr) -> Typed:
    left, right = _compared(compiler, node, [node.this, node.expression])
    return truth(binary(node, left.sql, right.sql), False)


@handles(exp.Between, args="this low high")
def _between(compiler: Compiler, node: exp.Expr) -> Typed:
    value, low, high = _compared(compiler, node, [node.this, node.args["low"], node.args["high"]])
    nullable = value.set.nullable or low.set.nullable or high.set.nullable
    return truth(exp.Between(this=paren(value.sql), low=low.sql, high=high.sql), nullable)


@handles(exp.In, args="this expressions query field unnest")
def _in(compiler: Compiler, node: exp.Expr) -> Typed:
    if not node.expressions:
        raise unsupported(node.args.get("query") or node)
    value, *items = _compared(compiler, node, [node.this, *node.expressions])
    nullable = value.set.nullable or any(i.set.nullable for i in items)
    return truth(exp.In(this=paren(value.sql), expressions=[i.sql for i in items]), nullable)


@handles(exp.Is)
def _is(compiler: Compiler, node: exp.Expr) -> Typed:
    inner, right = compiler.value(node.this), node.expression
    negated = isinstance(right, exp.Not)
    target = right.this if negated else right
    if isinstance(target, exp.Null):
        sql: exp.Expr = exp.Is(this=paren(inner.sql), expression=exp.Null())
    elif isinstance(target, exp.Boolean) and inner.kind is Kind.BOOLEAN:
        sql = exp.NullSafeEQ(this=paren(inner.sql), expression=exp.Boolean(this=target.this))
    else:
        raise refuse(node, f"{show(node)} isn't supported", "use IS NULL, IS NOT NULL, IS TRUE or IS FALSE")
    return truth(exp.Not(this=exp.Paren(this=sql)) if negated else sql, False)


@handles(exp.IsNan, args="this")
def _is_nan(compiler: Compiler, node: exp.Expr) -> Typed:
    raise refuse(node, f"{show(node)} isn't needed: dpsql reads NaN as NULL", f"write {show(node.this)} IS NULL")
