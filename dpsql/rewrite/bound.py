"""Bounding what one unit adds: integer weights, in the forms that cost the engine least (SPEED, templates U1 to U4).

A unit with n rows, of which k count in full, gives each the weight w = k·2^20 // max(n, k). n counts all rows that the
query reads, those of undeclared groups and those that a FILTER drops too: a superset of what any sum adds up, so no sum
exceeds its bound (see `ContributionBound`). No row is left out, nothing is drawn at random, so the exact sums are the
same in every run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sqlglot import exp

from dpsql.expressions.literals import cast, func, named
from dpsql.privacy.sensitivity import WEIGHT
from dpsql.rewrite.clip import column

UNIT_COLUMN = "unit"
OF_UNIT = "of_unit"
WEIGHT_COLUMN = "weight"
RANK = "rank"


def weight(full: int, size: exp.Expr, kind: str = "BIGINT") -> exp.Expr:
    """The weight of each of `size` things of which `full` count in full. It is at most 2^20."""
    most = func("greatest", size, exp.Literal.number(full))
    return cast(exp.Paren(this=exp.IntDiv(this=exp.Literal.number(full * WEIGHT), expression=most)), kind)


def weights_by_unit(source: exp.Expr, unit: exp.Expr, full: int, where: exp.Where | None = None) -> exp.Select:
    """The weight of each unit's rows in a relation: INTEGER, so that the engine's array of them stays in its caches."""
    select = exp.Select(
        expressions=[named(unit, OF_UNIT), named(weight(full, exp.Count(this=exp.Star()), "INTEGER"), WEIGHT_COLUMN)],
        from_=exp.From(this=source),
        group=exp.Group(expressions=[unit.copy()]),
    )
    if where is not None:
        select.set("where", where)
    return select


def joined_weights(select: exp.Select, weights: exp.Select) -> None:
    """Give each row of a SELECT that has the unit's column its unit's weight. Rows without a unit fall out."""
    subquery = exp.Subquery(this=weights, alias=exp.TableAlias(this=exp.to_identifier("w")))
    select.append("joins", exp.Join(this=subquery, on=exp.EQ(this=column(UNIT_COLUMN), expression=column(OF_UNIT))))


def gathered_weight() -> exp.Expr:
    """The weight of a joined row, to be carried from one subquery level to the next: it is never negative.

    DuckDB leaves a joined column as references into the build side. Every expression that reads it then looks each
    row's weight up again, and a plain cast is moved below the join. ABS is not: it looks the weights up once.
    """
    return cast(func("abs", column(WEIGHT_COLUMN)), "BIGINT")


def ranked(rows: exp.Select, columns: Sequence[str], salt: str) -> exp.Select:
    """Distinct rows (the unit's column and `columns`) with their rank among those of their unit.

    The rank is that of a row's hash, then of the row itself: a total order, so that never more than m rows have a rank
    up to m, whatever the hash does (PROOFS P11). Privacy holds for every order that looks at one unit alone; the hash
    only makes the choice fair. It is hashed twice because DuckDB's hash of several arguments permutes few orders
    (SPEED, the warning in section 2). The salt is a function of the query: the same query chooses the same rows.
    """
    number = int.from_bytes(hashlib.sha256(salt.encode()).digest()[:8], "big") >> 1
    held = [column(name) for name in (UNIT_COLUMN, *columns)]
    mixed = func("hash", func("hash", exp.Literal.number(number), *held))
    order = [exp.Ordered(this=node) for node in (mixed, *(column(name) for name in columns))]
    window = exp.Window(
        this=exp.RowNumber(), partition_by=[column(UNIT_COLUMN)], order=exp.Order(expressions=order), over="OVER"
    )
    return exp.Select(
        expressions=[column(UNIT_COLUMN), *(column(name) for name in columns), named(window, RANK)],
        from_=exp.From(this=exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("q")))),
    )


def of_group_and_unit(size: exp.Expr, full: int, unit_weight: exp.Expr) -> exp.Expr:
    """The weight of a row whose unit has `size` rows in its group, `full` of which count in full."""
    product = exp.Mul(this=weight(full, size), expression=unit_weight)
    shift = WEIGHT.bit_length() - 1
    return exp.Paren(this=exp.BitwiseRightShift(this=exp.Paren(this=product), expression=exp.Literal.number(shift)))
