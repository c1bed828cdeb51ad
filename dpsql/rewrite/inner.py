"""The query that runs on the private engine: scan, filter, clip and sum, nothing else.

One row per group that occurs, holding the group's key codes, then two BIGINT limbs for each exact sum:
sum = high·2^63 + low. The number of rows is private, so no sum is ever taken to fit BIGINT (PROOFS P3): sums are
HUGEINT in the engine (at most 2^62 per row, so 2^64 rows fit) and leave it in limbs, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from dpsql.expressions.literals import case_when, cast, paren
from dpsql.plan import BasisPlan, ReleasePlan
from dpsql.policy import Kind
from dpsql.query import Measure, key_name
from dpsql.rewrite.clip import index_sql

LOW_BITS = 63
LOW_MASK = 2**LOW_BITS - 1


@dataclass(frozen=True, slots=True)
class Term:
    """One exact sum that a release needs: the `rows`, the `present` values or the `index` sum of a measure."""

    kind: str
    measure: Measure
    basis: BasisPlan

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal terms are computed once."""
        _, condition = self.measure.identity
        if self.kind == "rows":
            return self.kind, condition
        if self.kind == "present":
            return self.kind, self.measure.identity
        return self.kind, self.measure.identity, self.basis.grid


@dataclass(frozen=True, slots=True)
class Inner:
    """SQL text, the number of key columns, and the position of each term among the sums."""

    sql: str
    keys: int
    terms: tuple[Term, ...]

    def position(self, kind: str, basis: BasisPlan) -> int:
        wanted = Term(kind, basis.measure, basis).identity
        return next(i for i, term in enumerate(self.terms) if term.identity == wanted)


def inner_query(release: ReleasePlan, relation: exp.Expr) -> Inner:
    """The inner query of a release over `relation`, the engine's name of its table."""
    terms = _terms(release)
    grouped = _grouped(release, terms, relation)
    outside = exp.Select().from_(exp.Subquery(this=grouped, alias=exp.TableAlias(this=exp.to_identifier("g"))))
    keys = [exp.column(key_name(i), quoted=True) for i in range(len(release.query.keys))]
    columns: list[exp.Expr] = [
        key if domain_key.domain.kind is Kind.TEXT else exp.alias_(cast(key.copy(), "BIGINT"), key.name, quoted=True)
        for key, domain_key in zip(keys, release.query.keys, strict=True)
    ]
    for index, _ in enumerate(terms):
        columns += _limbs(exp.column(f"sum_{index}", quoted=True), index)
    outside.set("expressions", columns)
    return Inner(outside.sql("duckdb", comments=False), len(keys), terms)


def _limbs(total: exp.Expr, index: int) -> list[exp.Expr]:
    high = cast(exp.Paren(this=exp.BitwiseRightShift(this=total, expression=exp.Literal.number(LOW_BITS))), "BIGINT")
    low = cast(exp.Paren(this=exp.BitwiseAnd(this=total.copy(), expression=exp.Literal.number(LOW_MASK))), "BIGINT")
    return [exp.alias_(high, f"high_{index}", quoted=True), exp.alias_(low, f"low_{index}", quoted=True)]


def _terms(release: ReleasePlan) -> tuple[Term, ...]:
    found: dict[tuple[object, ...], Term] = {}
    for basis in release.bases:
        for kind in ("rows", "present", "index"):
            if any(getattr(part, kind) for part in basis.parts):
                term = Term(kind, basis.measure, basis)
                found.setdefault(term.identity, term)
    return tuple(found.values())


def _grouped(release: ReleasePlan, terms: tuple[Term, ...], relation: exp.Expr) -> exp.Select:
    select = exp.Select().from_(relation.copy())
    query = release.query
    conditions = [*query.where, *(guard for key in query.keys for guard in key.guards)]
    for condition in conditions:
        select = select.where(condition.copy(), copy=False)
    columns: list[exp.Expr] = []
    for index, key in enumerate(query.keys):
        columns.append(exp.alias_(key.code.copy(), key_name(index), quoted=True))
    for index, term in enumerate(terms):
        columns.append(exp.alias_(_sum(term), f"sum_{index}", quoted=True))
    select.set("expressions", columns)
    if query.keys:
        positions = [exp.Literal.number(i + 1) for i in range(len(query.keys))]
        select.set("group", exp.Group(expressions=positions))
    return select


def _sum(term: Term) -> exp.Expr:
    condition = term.measure.filter
    if term.kind == "rows":
        counted: exp.Expr = exp.Count(this=exp.Star())
    elif term.kind == "present":
        counted = exp.Count(this=_present(term))
    else:
        counted = exp.Sum(this=_index(term))
    if condition is not None:
        counted = exp.Filter(this=counted, expression=exp.Where(this=condition.copy()))
    if term.kind != "index":
        return cast(counted, "HUGEINT")
    return exp.Coalesce(this=cast(counted, "HUGEINT"), expressions=[exp.Literal.number(0)])


def _index(term: Term) -> exp.Expr:
    assert term.measure.argument is not None
    return index_sql(term.measure.argument, term.basis.grid)


def _present(term: Term) -> exp.Expr:
    """NULL exactly where the index is NULL: where the value is NULL or NaN."""
    value = term.measure.argument
    assert value is not None
    if term.basis.grid.cells:
        return _index(term)
    if value.kind is Kind.DOUBLE:
        return case_when(
            (exp.Not(this=exp.Anonymous(this="isnan", expressions=[value.sql.copy()])), exp.Literal.number(1))
        )
    return paren(value.sql.copy())
