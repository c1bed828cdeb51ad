"""The query that runs on the private engine: scan, filter, clip and sum, nothing else.

One row for each group that occurs, holding the group's key codes, its counts, and two BIGINT limbs for each exact
sum of indices: sum = high·2^63 + low. The number of rows is private, so no sum is ever taken to fit BIGINT: sums are
HUGEINT in the engine (an index is at most 2^62, so 2^64 rows fit) and leave it in limbs, exactly.

The values are computed in nested subqueries, one for each step of `clip`: DuckDB would otherwise compute a step as
often as it is named. Groups whose key isn't declared are dropped after the aggregation, where it costs nothing per
row, in a form that the optimizer doesn't push below it; `release` ignores them once more.

Where rows belong to units, their contributions are bounded by weights (`dpsql.rewrite.bound`), in one of these forms:

    by row    rows with groups: each row joined to the weight of its unit, SUM(w·x)
    by unit   rows without groups: the sums of each unit, then SUM(w·sum), w from the unit's number of rows
    by pair   where the bound is by groups: the sums of each pair of unit and group, then SUM(w·sum)
    units     COUNT(DISTINCT unit): the distinct pairs of unit and group, each counted with its unit's weight
    values    other distinct values: of each unit no more pairs of group and value than its bound, chosen by rank
    cells     the rows of each candidate of a choice: by the group's keys and the candidate; weighted as by row
    keys      the units of each private key; what else is read is then of rows whose unit counts for their key
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from dpsql.aggregates.aggregate import Basis, Grid
from dpsql.aggregates.choice import Candidates
from dpsql.expressions.literals import case_when, cast, decimal_sql, named, not_null, paren
from dpsql.plan import BasisPlan, ReleasePlan
from dpsql.policy import Kind
from dpsql.query import Key, Measure, key_name
from dpsql.rewrite.bound import (
    RANK,
    UNIT_COLUMN,
    WEIGHT_COLUMN,
    gathered_weight,
    joined_weights,
    of_group_and_unit,
    ranked,
    weight,
    weights_by_unit,
)
from dpsql.rewrite.clip import Summand, column, presence, summand
from dpsql.rewrite.rows import Tables, columns_of, physical_type, ranked_keys, rows_sql
from dpsql.rewrite.steps import halved, in_steps, index_total, none_is_zero, select_from
from dpsql.rows import Chosen

CELL = "cell"
"""The column of the candidate, and before that of a row's cell."""
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
    """SQL text, the number of key columns, the terms in the order of their columns, the constants that it needs.

    Where rows are counted by candidate, that is the last of the key columns.
    """

    sql: str
    keys: int
    terms: tuple[Term, ...]
    weighted: bool = False
    constants: tuple[str, ...] = ()

    @property
    def counts(self) -> int:
        """How many of the terms are counts of rows, which come first, as they are. Weighted ones are sums."""
        return 0 if self.weighted else sum(not term.is_sum for term in self.terms)

    @property
    def sums(self) -> int:
        """How many of the terms are sums of indices: they leave the engine in limbs."""
        return len(self.terms) - self.counts

    def position(self, kind: str, basis: BasisPlan) -> int:
        """Where a basis's term stands among the sums."""
        wanted = _term(kind, basis).identity
        return next(i for i, term in enumerate(self.terms) if term.identity == wanted)


def inner_queries(release: ReleasePlan, tables: Tables) -> tuple[Inner, ...]:
    """The inner queries of a release, one for each of its passes. A release of no numbers has none."""
    found = []
    for bases in release.passes:
        builder = _Builder(release, tuple(release.bases[i] for i in bases), tables)
        tree = builder.query()
        text = tree.sql("duckdb", comments=False, copy=False)
        places = tree.find_all(exp.Placeholder) if "$" in text else ()
        constants = tuple(dict.fromkeys(str(place.this) for place in places))
        found.append(Inner(text, len(builder.names), builder.terms, builder.weighted, constants))
    return tuple(found)


class _Builder:
    def __init__(self, release: ReleasePlan, bases: tuple[BasisPlan, ...], tables: Tables) -> None:
        self._query = release.query
        self._rows = release.query.rows
        self._selects = bases[0].basis is Basis.UNITS
        private = release.query.private_keys
        self.keys = private if self._selects else tuple(range(len(release.query.keys)))
        self._chosen: Chosen | None = None
        if release.selection is not None and self._rows.unit is not None:
            keys = tuple((k.code, k.domain.null) for k in (release.query.keys[i] for i in private))
            self._chosen = Chosen(self._rows, release.query.where, keys, release.selection.groups)
            if not self._selects:
                self._rows = replace(self._rows, form=self._chosen)
        self._tables = tables
        self._bound = bases[0].bound
        self._of_unit = bases[0].measure.of_unit
        self._by_unit_values = bases[0].measure.by_unit and not self._of_unit
        self.weighted = self._bound.weighted
        self.terms = _terms(bases)
        self._summands = (
            {} if self._of_unit else _summands(self.terms, lambda name: physical_type(self._rows, name, tables))
        )
        filters = [t.measure for t in self.terms if t.measure.filter is not None]
        self._filters = {m.identity[1]: f"when_{i}" for i, m in enumerate(filters)}
        self._conditions = {m.identity[1]: m.filter for m in filters}
        self._kept: exp.Expr | None = None
        self._candidates = bases[0].candidates
        self.names = [key_name(i) for i in self.keys] + [CELL] * (self._candidates is not None)

    def query(self) -> exp.Select:
        """The whole query: limbs of the groups' sums, of the groups whose keys are declared."""
        grouped = self._grouped()
        with_ = grouped.args.pop("with_", None)
        outside = select_from(grouped)
        outside.set("with_", with_)
        columns: list[exp.Expr] = []
        for index in self.keys:
            code = column(key_name(index))
            text = self._query.keys[index].domain.kind is Kind.TEXT
            columns.append(code if text else named(cast(code, "BIGINT"), key_name(index)))
        if self._candidates is not None:
            columns.append(named(cast(column(CELL), "BIGINT"), CELL))
        for index, term in enumerate(self.terms):
            total = column(f"sum_{index}")
            columns += _limbs(total, index) if term.is_sum or self.weighted else [total]
        outside.set("expressions", columns)
        keys = [(index, self._query.keys[index]) for index in self.keys]
        declared = [_declared(key, column(key_name(i))) for i, key in keys if not key.domain.private]
        if self._candidates is not None:  # rows without a value: a group of its own costs less than a filter before it
            declared.append(not_null(column(CELL)))
        if self._selects:
            outside.set("where", exp.Where(this=exp.GT(this=column("sum_0"), expression=exp.Literal.number(0))))
        elif declared:
            always = exp.GTE(this=column("size"), expression=exp.Literal.number(0))
            only = case_when((always, exp.and_(*declared, copy=False)), default=exp.false())
            outside.set("where", exp.Where(this=only))
        return outside

    # ------------------------------------------------------------------------------------------ grouping

    def _grouped(self) -> exp.Select:
        """The exact sums of each group."""
        if self._selects:
            return self._selected()
        if self._candidates is not None:
            return self._by_cell(self._candidates)
        if self._of_unit:
            return self._units()
        if self._by_unit_values:
            return self._distinct_values()
        if not self.weighted:
            return self._by_group(self._values(), self._sum)
        if self._bound.groups is not None:
            return self._by_pair(self._bound.groups)
        return self._by_row() if self.names else self._by_unit()

    def _by_group(self, select: exp.Select, total: Callable[[Term], exp.Expr]) -> exp.Select:
        """A SELECT from rows or parts of groups, with its list: keys and the total of each term."""
        keys = [column(name) for name in self.names]
        columns: list[exp.Expr] = [*keys]
        if keys:
            columns.append(named(exp.Count(this=exp.Star()), "size"))
            select.set("group", exp.Group(expressions=[k.copy() for k in keys]))
        columns += [named(total(term), f"sum_{index}") for index, term in enumerate(self.terms)]
        select.set("expressions", columns)
        return select

    def _weighted_values(self) -> exp.Select:
        """The values, each row joined to the weight of its unit."""
        select = self._values()
        unit = self._unit()
        read = self._read([], unit)
        weights = weights_by_unit(rows_sql(self._rows, read, self._tables), unit, self._bound.rows, self._where())
        joined_weights(select, weights)
        return select

    def _by_cell(self, candidates: Candidates) -> exp.Select:
        """How many rows with a value each group has in each candidate, or their weight.

        Weights are those of all rows of a unit, whatever their values: so what one unit adds to all candidates of all
        groups together is within its bound (PROOFS P9).
        """
        ((name, value),) = self._summands.values()
        select = self._weighted_values() if self.weighted else self._values()
        conditions: list[exp.Expr] = [column(condition) for condition in self._filters.values()]
        if candidates.starts:  # comparisons would take NULL for something large
            conditions.append(not_null(column(name)))
        if conditions:
            select.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
        keys: list[exp.Expr] = [column(key) for key in self.names[:-1]]
        index = _index(name, value)
        weight: list[exp.Expr] = [named(gathered_weight(), WEIGHT_COLUMN)] if self.weighted else []
        if candidates.starts:
            select.set("expressions", [*keys, named(index, CELL), *weight])
            index, select = _place(candidates.starts), select_from(select)
            keys, weight = [key.copy() for key in keys], [column(WEIGHT_COLUMN)] if self.weighted else []
        if candidates.count <= 2**16:  # the engine then knows how many groups there are at most
            index = cast(index, "USMALLINT")
        select.set("expressions", [*keys, named(index, CELL), *weight])

        def total(term: Term) -> exp.Expr:
            return none_is_zero(exp.Sum(this=column(WEIGHT_COLUMN))) if self.weighted else exp.Count(this=exp.Star())

        return self._by_group(select_from(select), total)

    def _by_row(self) -> exp.Select:
        select = self._weighted_values()
        carried = [*self.names, *self._filters.values(), *(name for name, _ in self._summands.values())]
        columns = [*(column(name) for name in carried), named(gathered_weight(), WEIGHT_COLUMN)]
        select.set("expressions", columns)
        return self._by_group(select_from(select), self._sum)

    def _by_unit(self) -> exp.Select:
        return self._by_group(select_from(self._parts()), self._weighted_part(weight(self._bound.rows, column("size"))))

    def _by_pair(self, groups: int) -> exp.Select:
        of_row = of_group_and_unit(column("size"), self._bound.rows // groups, column(WEIGHT_COLUMN))
        return self._of_weighted_pairs(self._parts(), groups, self._weighted_part(of_row))

    def _of_weighted_pairs(self, pairs: exp.Select, most: int, total: Callable[[Term], exp.Expr]) -> exp.Select:
        """The totals of each group from pairs of unit and group, with the weights of units of `most` pairs."""
        name = exp.to_identifier("pairs")
        select = select_from(exp.Table(this=name.copy()))
        joined_weights(select, weights_by_unit(exp.Table(this=name.copy()), column(UNIT_COLUMN), most))
        grouped = self._by_group(select, total)
        cte = exp.CTE(this=pairs, alias=exp.TableAlias(this=name), materialized=True)  # read twice, computed once
        grouped.set("with_", exp.With(expressions=[cte]))
        return grouped

    def _parts(self) -> exp.Select:
        """The size and the sums of each unit, or of each pair of unit and group."""
        select = self._values()
        by = [column(UNIT_COLUMN), *(column(name) for name in self.names)]
        columns = [*by, named(exp.Count(this=exp.Star()), "size")]
        columns += [named(self._sum(term, weighted=False), f"sum_{i}") for i, term in enumerate(self.terms)]
        select.set("expressions", columns)
        select.set("group", exp.Group(expressions=[b.copy() for b in by]))
        return select

    def _weighted_part(self, of_row: exp.Expr) -> Callable[[Term], exp.Expr]:
        def total(term: Term) -> exp.Expr:
            part = cast(column(f"sum_{self.terms.index(term)}"), "HUGEINT")
            return none_is_zero(exp.Sum(this=exp.Mul(this=of_row.copy(), expression=part)))

        return total

    def _units(self) -> exp.Select:
        """Of each group the number of its units: as many as there are distinct pairs, or the sum of their weights."""
        (term,) = self.terms
        values = self._values()
        if (name := self._filters.get(term.measure.identity[1])) is not None:
            values.set("where", exp.Where(this=column(name)))
        values.set("expressions", [column(UNIT_COLUMN), *(column(name) for name in self.names)])
        values.set("distinct", exp.Distinct())
        if not self.weighted:
            return self._by_group(select_from(values), lambda _: exp.Count(this=exp.Star()))
        return self._of_weighted_pairs(
            values, self._bound.rows, lambda _: none_is_zero(exp.Sum(this=column(WEIGHT_COLUMN)))
        )

    def _selected(self) -> exp.Select:
        """How many units count for each private key; of a unit for no more keys than the selection allows for."""
        if self._chosen is None:  # each row is a unit of its own, with one key
            return self._by_group(self._values(), self._sum)
        pairs = select_from(ranked_keys(self._chosen, self._tables))
        names = [named(column(key_name(i)), name) for i, name in enumerate(self.names)]
        pairs.set("expressions", [*names, column(RANK)])
        self._kept = exp.LTE(this=column(RANK), expression=exp.Literal.number(self._chosen.groups))
        return self._by_group(select_from(pairs), self._sum)

    def _distinct_values(self) -> exp.Select:
        """Sums over distinct values, of which a unit has at most as many as its bound, over all groups together."""
        values = self._values()
        names = [name for name, _ in self._summands.values()]
        known = [not_null(column(name)) for name in names]
        conditions: list[exp.Expr] = [exp.paren(exp.or_(*known, copy=False), copy=False)]
        if self._filters:
            conditions.append(column(self._filters.pop(next(iter(self._filters)))))
        values.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
        values.set("expressions", [column(name) for name in (UNIT_COLUMN, *self.names, *names)])
        values.set("distinct", exp.Distinct())
        chosen = ranked(values, (*self.names, *names), " ".join(self.terms[0].measure.identity))
        self._kept = exp.LTE(this=column(RANK), expression=exp.Literal.number(self._bound.rows))
        return self._by_group(select_from(chosen), self._sum)

    # ------------------------------------------------------------------------------------------ rows

    def _unit(self) -> exp.Column:
        assert self._rows.unit is not None
        return column(self._rows.unit)

    def _where(self) -> exp.Where | None:
        """The conditions on rows. Rows whose unit is NULL belong to nobody; a join to weights drops them for itself."""
        conditions = [c.copy() for c in self._query.where]
        return exp.Where(this=exp.and_(*conditions, copy=False)) if conditions else None

    def _read(self, expressions: Iterable[exp.Expr], unit: exp.Expr | None) -> set[str]:
        """The columns of the rows that the query reads."""
        needed = [*expressions, *self._query.where]
        return set(columns_of(needed if unit is None else [*needed, unit]))

    def _values(self) -> exp.Select:
        """A SELECT, its list still to be set, FROM the rows with keys, conditions and finished summands."""
        keys = {key_name(i): self._query.keys[i] for i in self.keys}
        conditions = [c.copy() for c in (*self._query.where, *(g for key in keys.values() for g in key.guards))]
        for key in keys.values():
            if key.domain.private and not key.domain.null:
                conditions.append(not_null(paren(key.code.copy())))
        carried: dict[str, exp.Expr] = {name: key.code.copy() for name, key in keys.items()}
        for text, name in self._filters.items():
            condition_ = self._conditions[text]
            assert condition_ is not None
            carried[name] = condition_.copy()
        if self._rows.unit is not None:
            if self.weighted or self._of_unit or self._by_unit_values:
                carried[UNIT_COLUMN] = self._unit()
            conditions.append(not_null(self._unit()))
        firsts = [s.steps[0] for _, s in self._summands.values()]
        read = self._read([*carried.values(), *firsts, *conditions], None)
        first = select_from(rows_sql(self._rows, read, self._tables))
        if conditions:
            first.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
        return in_steps(first, carried, dict(self._summands.values()))

    def _sum(self, term: Term, *, weighted: bool | None = None) -> exp.Expr:
        """The total of a term over rows: each with its weight where rows have one."""
        weighted = self.weighted if weighted is None else weighted
        if term.kind == "rows":
            return self._count(None, term, weighted)
        name, value = self._summands[_key(term, self._summands)]
        count = self._count(column(name), term, weighted)
        if term.kind == "present":
            return count
        if term.kind == "square":
            # an index is at most 2^31 here, so its square fits BIGINT; none is negative, so the square tells them apart
            return self._total(exp.Mul(this=_index(name, value), expression=_index(name, value)), term, weighted)
        return index_total(self._total(column(name), term, weighted), count, value)

    def _count(self, value: exp.Expr | None, term: Term, weighted: bool) -> exp.Expr:
        """How many of the term's rows there are, or have a value."""
        if not weighted:
            what = exp.Star() if value is None else _counted(value, term)
            return self._filtered(exp.Count(this=what), term)
        of_row: exp.Expr = column(WEIGHT_COLUMN)
        if value is not None:
            of_row = case_when((not_null(value), of_row))
        return none_is_zero(self._filtered(exp.Sum(this=of_row), term))

    def _total(self, value: exp.Expr, term: Term, weighted: bool) -> exp.Expr:
        """The sum of a value over the term's rows, or over their distinct values; 0 where there is none."""
        if weighted:
            value = exp.Mul(this=column(WEIGHT_COLUMN), expression=cast(value, "BIGINT"))
        return none_is_zero(self._filtered(exp.Sum(this=_counted(value, term)), term))

    def _filtered(self, aggregate: exp.Expr, term: Term) -> exp.Expr:
        name = self._filters.get(term.measure.identity[1])
        condition = self._kept if name is None else column(name)
        if condition is None:
            return aggregate
        return exp.Filter(this=aggregate, expression=exp.Where(this=condition.copy()))


def _counted(value: exp.Expr, term: Term) -> exp.Expr:
    return exp.Distinct(expressions=[value]) if term.measure.distinct else value


def _index(name: str, value: Summand) -> exp.Expr:
    """The index as BIGINT, from the column that holds it, or 2i − cells."""
    held = cast(column(name), "BIGINT")
    if not value.doubled:
        return held
    return exp.Paren(this=halved(exp.Add(this=held, expression=decimal_sql(Fraction(value.cells)))))


def _place(starts: tuple[int, ...]) -> exp.Expr:
    """Which of the ranges that begin at these cells a cell is in: by halving, so that few are compared for a row."""

    def within(first: int, last: int) -> exp.Expr:
        if last - first == 1:
            return exp.Literal.number(first)
        middle = (first + last) // 2
        below = exp.LT(this=column(CELL), expression=exp.Literal.number(starts[middle]))
        return case_when((below, within(first, middle)), default=within(middle, last))

    return within(0, len(starts))


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


def _terms(bases: tuple[BasisPlan, ...]) -> tuple[Term, ...]:
    found: dict[tuple[object, ...], Term] = {}
    for basis in bases:
        for kind in KINDS:
            if any(getattr(part, kind) for part in basis.parts) or (basis.candidates is not None and kind == "present"):
                term = _term(kind, basis)
                found.setdefault(term.identity, term)
    return tuple(sorted(found.values(), key=lambda term: term.is_sum))


def _term(kind: str, basis: BasisPlan) -> Term:
    """A basis that adds indices counts the values of the very same summand: present and index go together."""
    beside = basis.candidates is not None or any(part.index for part in basis.parts)
    on_grid = kind in ("index", "square") or (kind == "present" and beside)
    return Term(kind, basis.measure, basis.grid if on_grid else None)


_Summands = dict[tuple[str, Grid | None], tuple[str, Summand]]


def _summands(terms: tuple[Term, ...], physical_type: Callable[[str], str]) -> _Summands:
    """The column and steps of each distinct argument on each of its grids; values are counted on any of them."""
    found: _Summands = {}
    for term in sorted(terms, key=lambda t: t.grid is None):
        argument, text = term.measure.argument, term.measure.identity[0]
        if term.kind == "rows" or argument is None or _key(term, found) in found:
            continue
        name = f"value_{len(found)}"
        bare = "" if argument.raw is None else physical_type(argument.raw.name)
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
