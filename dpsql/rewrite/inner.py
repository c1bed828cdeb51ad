"""The query that runs on the private engine: scan, filter, clip and sum, nothing else.

One row for each group that occurs, holding the group's key codes, its counts, and two BIGINT limbs for each exact
sum of indices: sum = high·2^63 + low. The number of rows is private, so no sum is ever taken to fit BIGINT: sums are
HUGEINT in the engine (an index is at most 2^62, so 2^64 rows fit) and leave it in limbs, exactly.

The values are computed in nested subqueries, one for each step of `clip`: DuckDB would otherwise compute a step as
often as it is named. Groups whose key isn't declared are dropped after the aggregation, where it costs nothing per
row, in a form that the optimizer doesn't push below it; `release` ignores them once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from dpsql.aggregates.aggregate import Grid
from dpsql.expressions.literals import case_when, cast, decimal_sql, named, paren
from dpsql.plan import BasisPlan, ReleasePlan
from dpsql.policy import Kind
from dpsql.query import Key, Measure, key_name
from dpsql.rewrite.clip import Summand, column, presence, summand

KINDS = ("rows", "present", "index", "square")
"""The exact sums that parts are made of."""
LOW_BITS = 63
LOW_MASK = 2**LOW_BITS - 1


@dataclass(frozen=True, slots=True)
class Term:
    """One exact sum that a release needs.

    kind  `rows` that pass the measure's filter, those whose value is `present`, the sum of their `index` or of its
          `square`
    grid  of the index; of the values too where they are counted beside their indices; else None
    """

    kind: str
    measure: Measure
    grid: Grid | None = None

    @property
    def is_sum(self) -> bool:
        """Whether it may be beyond BIGINT."""
        return self.kind in ("index", "square")

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal terms are computed once."""
        argument, condition = self.measure.identity
        return self.kind, condition, "" if self.kind == "rows" else argument, self.grid


@dataclass(frozen=True, slots=True)
class Inner:
    """SQL text, the number of key columns, and the terms in the order of their columns."""

    sql: str
    keys: int
    terms: tuple[Term, ...]

    @property
    def counts(self) -> int:
        """How many of the terms are counts of rows: they come first, as they are."""
        return sum(not term.is_sum for term in self.terms)

    @property
    def sums(self) -> int:
        """How many of the terms are sums of indices: they leave the engine in limbs."""
        return len(self.terms) - self.counts

    def position(self, kind: str, basis: BasisPlan) -> int:
        """Where a basis's term stands among the sums."""
        wanted = _term(kind, basis).identity
        return next(i for i, term in enumerate(self.terms) if term.identity == wanted)


def inner_query(release: ReleasePlan, relation: exp.Expr, physical: Mapping[str, str]) -> Inner:
    """The inner query of a release over `relation`, the engine's name of its table.

    `physical` gives the engine's own type of each column, by lower-case name. A release of no numbers has none.
    """
    if not release.bases:
        return Inner("", 0, ())
    builder = _Builder(release, relation, physical)
    return Inner(builder.query().sql("duckdb", comments=False, copy=False), len(release.query.keys), builder.terms)


class _Builder:
    def __init__(self, release: ReleasePlan, relation: exp.Expr, physical: Mapping[str, str]) -> None:
        self._query = release.query
        self._relation = relation
        self.terms = _terms(release)
        self._summands = _summands(self.terms, physical)
        filters = [t.measure for t in self.terms if t.measure.filter is not None]
        self._filters = {m.identity[1]: f"when_{i}" for i, m in enumerate(filters)}
        self._conditions = {m.identity[1]: m.filter for m in filters}

    def query(self) -> exp.Select:
        """The whole query: limbs of the groups' sums, of the groups whose keys are declared."""
        outside = _from(self._grouped())
        columns: list[exp.Expr] = []
        for index, key in enumerate(self._query.keys):
            code = column(key_name(index))
            text = key.domain.kind is Kind.TEXT
            columns.append(code if text else named(cast(code, "BIGINT"), key_name(index)))
        for index, term in enumerate(self.terms):
            total = column(f"sum_{index}")
            columns += _limbs(total, index) if term.is_sum else [total]
        outside.set("expressions", columns)
        declared = [_declared(key, column(key_name(i))) for i, key in enumerate(self._query.keys)]
        if declared:
            always = exp.GTE(this=column("size"), expression=exp.Literal.number(0))
            only = case_when((always, exp.and_(*declared, copy=False)), default=exp.false())
            outside.set("where", exp.Where(this=only))
        return outside

    def _grouped(self) -> exp.Select:
        select = self._values()
        keys = [column(key_name(i)) for i in range(len(self._query.keys))]
        columns: list[exp.Expr] = [*keys]
        if keys:
            columns.append(named(exp.Count(this=exp.Star()), "size"))
        for index, term in enumerate(self.terms):
            columns.append(named(self._sum(term), f"sum_{index}"))
        select.set("expressions", columns)
        if keys:
            select.set("group", exp.Group(expressions=[k.copy() for k in keys]))
        return select

    def _values(self) -> exp.Select:
        """A SELECT, its list still to be set, FROM the rows with keys, conditions and finished summands."""
        first = _selecting(self._relation.copy())
        conditions = [c.copy() for c in (*self._query.where, *(g for key in self._query.keys for g in key.guards))]
        if conditions:
            first.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
        carried: dict[str, exp.Expr] = {key_name(i): key.code.copy() for i, key in enumerate(self._query.keys)}
        for text, name in self._filters.items():
            condition_ = self._conditions[text]
            assert condition_ is not None
            carried[name] = condition_.copy()
        steps = {name: list(s.steps) for name, s in self._summands.values()}
        select = first
        while True:
            now = {name: remaining.pop(0).copy() for name, remaining in steps.items() if remaining}
            through = {name: column(name) for name in steps if name not in now}
            if select is not first and not now:
                return select
            columns = {**carried, **now, **through} or {"one": exp.Literal.number(1)}
            select.set("expressions", [named(e, n) for n, e in columns.items()])
            select = _from(select)
            carried = {name: column(name) for name in carried}

    def _sum(self, term: Term) -> exp.Expr:
        if term.kind == "rows":
            return self._filtered(exp.Count(this=exp.Star()), term)
        name, value = self._summands[_key(term, self._summands)]
        count = self._filtered(exp.Count(this=_counted(column(name), term)), term)
        if term.kind == "present":
            return count
        if term.kind == "square":
            # an index is at most 2^31 here, so its square fits BIGINT; none is negative, so the square tells them apart
            return self._total(exp.Mul(this=_index(name, value), expression=_index(name, value)), term)
        total = self._total(column(name), term)
        if not value.doubled:
            return total
        wide = cast(count, "HUGEINT")
        return _shifted(exp.Add(this=total, expression=_times(wide, value.cells)))

    def _total(self, value: exp.Expr, term: Term) -> exp.Expr:
        """The sum of a value over the term's rows, or over their distinct values; 0 where there is none."""
        added = self._filtered(exp.Sum(this=_counted(value, term)), term)
        return exp.Coalesce(this=added, expressions=[exp.Literal.number(0)])

    def _filtered(self, aggregate: exp.Expr, term: Term) -> exp.Expr:
        name = self._filters.get(term.measure.identity[1])
        if name is None:
            return aggregate
        return exp.Filter(this=aggregate, expression=exp.Where(this=column(name)))


def _from(select: exp.Select) -> exp.Select:
    return _selecting(exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier("q"))))


def _selecting(source: exp.Expr) -> exp.Select:
    """A SELECT from a source, its list still to be set."""
    return exp.Select(from_=exp.From(this=source))


def _counted(value: exp.Expr, term: Term) -> exp.Expr:
    return exp.Distinct(expressions=[value]) if term.measure.distinct else value


def _times(value: exp.Expr, factor: int) -> exp.Expr:
    return exp.Mul(this=value, expression=decimal_sql(Fraction(factor)))


def _shifted(value: exp.Expr) -> exp.Expr:
    """Half of an even number."""
    return exp.BitwiseRightShift(this=exp.Paren(this=value), expression=exp.Literal.number(1))


def _index(name: str, value: Summand) -> exp.Expr:
    """The index as BIGINT, from the column that holds it, or 2i − cells."""
    held = cast(column(name), "BIGINT")
    if not value.doubled:
        return held
    return exp.Paren(this=_shifted(exp.Add(this=held, expression=decimal_sql(Fraction(value.cells)))))


def _limbs(total: exp.Expr, index: int) -> list[exp.Expr]:
    high = exp.Paren(this=exp.BitwiseRightShift(this=total, expression=exp.Literal.number(LOW_BITS)))
    low = exp.Paren(this=exp.BitwiseAnd(this=total.copy(), expression=exp.Literal.number(LOW_MASK)))
    return [
        named(cast(high, "BIGINT"), f"high_{index}"),
        named(cast(low, "BIGINT"), f"low_{index}"),
    ]


def _declared(key: Key, code: exp.Expr) -> exp.Expr:
    """Whether a group's key code is one of the declared ones."""
    domain = key.domain
    if domain.values is not None:
        listed = [exp.Literal.string(c) if isinstance(c, str) else decimal_sql(Fraction(c)) for c in domain.codes()]
        inside: exp.Expr = exp.In(this=code, expressions=listed) if listed else exp.false()
    else:
        last = domain.first + domain.count - 1
        inside = exp.Between(this=code, low=decimal_sql(Fraction(domain.first)), high=decimal_sql(Fraction(last)))
    if domain.null:
        return exp.Paren(this=exp.or_(inside, exp.Is(this=code.copy(), expression=exp.Null()), copy=False))
    return paren(inside)


def _terms(release: ReleasePlan) -> tuple[Term, ...]:
    found: dict[tuple[object, ...], Term] = {}
    for basis in release.bases:
        for kind in KINDS:
            if any(getattr(part, kind) for part in basis.parts):
                term = _term(kind, basis)
                found.setdefault(term.identity, term)
    return tuple(sorted(found.values(), key=lambda term: term.is_sum))


def _term(kind: str, basis: BasisPlan) -> Term:
    """A basis that adds indices counts the values of the very same summand: present and index go together."""
    on_grid = kind in ("index", "square") or (kind == "present" and any(part.index for part in basis.parts))
    return Term(kind, basis.measure, basis.grid if on_grid else None)


_Summands = dict[tuple[str, Grid | None], tuple[str, Summand]]


def _summands(terms: tuple[Term, ...], physical: Mapping[str, str]) -> _Summands:
    """The column and steps of each distinct argument on each of its grids; values are counted on any of them."""
    found: _Summands = {}
    for term in sorted(terms, key=lambda t: t.grid is None):
        argument, text = term.measure.argument, term.measure.identity[0]
        if term.kind == "rows" or argument is None or _key(term, found) in found:
            continue
        name = f"value_{len(found)}"
        bare = physical.get(argument.raw.name, "") if argument.raw is not None else ""
        if term.grid is None:
            found[text, None] = name, presence(argument, distinct=term.measure.distinct)
        else:
            found[text, term.grid] = name, summand(argument, term.grid, name, bare)
    return found


def _key(term: Term, found: _Summands) -> tuple[str, Grid | None]:
    text = term.measure.identity[0]
    if term.grid is None and not term.measure.distinct:
        return next((key for key in found if key[0] == text), (text, None))
    return text, term.grid
