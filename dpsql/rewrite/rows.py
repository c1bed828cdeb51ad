"""The SQL of per-unit rows: scans, the joins to the unit, the analyst's joins. Only what is needed is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from dpsql.aggregates.aggregate import Grid
from dpsql.expressions.literals import case_when, cast, decimal_sql, double_sql, func, named, not_null, paren
from dpsql.policy import Table, Unit
from dpsql.query import key_name
from dpsql.rewrite.bound import RANK, UNIT_COLUMN, ranked
from dpsql.rewrite.clip import Summand, column, presence, summand
from dpsql.rewrite.steps import in_steps, index_total, none_is_zero, times
from dpsql.rows import RESERVED, UNIT, Chosen, Constants, Grouped, Join, Known, Mark, Rows, Scan, Select, Total, Union
from dpsql.valueset import INT64


class Tables(Protocol):
    """How the private engine has the declared tables: an `Engine`."""

    def relation(self, table: Table) -> exp.Table: ...

    def physical_types(self, table: Table) -> Mapping[str, str]: ...


def rows_sql(rows: Rows, needed: Iterable[str], tables: Tables) -> exp.Expr:
    """What stands in FROM for a relation: it has at least the needed columns, under their names."""
    needed = set(needed)
    wanted = [name for name in rows.sets if name in needed]  # in one order, whatever the set's is
    match rows.form:
        case Scan():
            return _scan(rows.form, wanted, tables)
        case Select():
            return _select(rows.form, wanted, tables)
        case Join():
            return _join(rows.form, wanted, tables)
        case Union():
            return _union(rows.form, wanted, tables)
        case Grouped():
            return _grouped(rows.form, wanted, tables)
        case Mark():
            return _mark(rows.form, wanted, tables)
        case Constants():
            return _constants(rows.form, wanted, tables)
        case Known():
            return _known(rows.form, wanted)
        case Chosen():
            return _chosen(rows.form, wanted, tables)


def physical_type(rows: Rows, name: str, tables: Tables) -> str:
    """The engine's own type of a column, "" where it is no table's."""
    origin = rows.origins.get(name)
    return "" if origin is None else tables.physical_types(origin.table).get(origin.column, "")


def columns_of(expressions: Iterable[exp.Expr]) -> Iterator[str]:
    """The names of the columns that expressions read."""
    for expression in expressions:
        for found in expression.find_all(exp.Column):
            yield found.name


def _scan(form: Scan, wanted: list[str], tables: Tables) -> exp.Expr:
    if UNIT not in wanted:
        return tables.relation(form.table)
    chain = [form.table, *form.path]
    joins: list[exp.Join] = []
    for index, (child, parent) in enumerate(zip(chain, form.path, strict=False)):
        key = child.via
        assert key is not None
        on = [
            exp.EQ(this=_of(f"t{index}", one), expression=_of(f"t{index + 1}", other))
            for one, other in zip(key.columns, key.parent_columns, strict=True)
        ]
        joins.append(exp.Join(this=_aliased(tables.relation(parent), f"t{index + 1}"), on=exp.and_(*on, copy=False)))
    last = chain[-1].unit
    assert isinstance(last, Unit) and last.column is not None
    columns: list[exp.Expr] = [_of("t0", name) for name in wanted if name != UNIT]
    columns.append(named(_of(f"t{len(chain) - 1}", last.column), UNIT))
    return _subquery(exp.Select(
        expressions=columns, from_=exp.From(this=_aliased(tables.relation(form.table), "t0")), joins=joins,
    ))  # fmt: skip


def _select(form: Select, wanted: list[str], tables: Tables) -> exp.Expr:
    columns: list[exp.Expr] = [named(form.columns[name].copy(), name) for name in wanted]
    read = columns_of([*(form.columns[name] for name in wanted), *form.where])
    select = exp.Select(expressions=columns or [_one()], from_=exp.From(this=rows_sql(form.source, read, tables)))
    if form.where:
        select.set("where", exp.Where(this=exp.and_(*(c.copy() for c in form.where), copy=False)))
    return _subquery(select)


def _join(form: Join, wanted: list[str], tables: Tables) -> exp.Expr:
    places = {name: ("l", name) for name in form.left.sets}
    places |= {new: ("r", old) for old, new in form.names.items()}
    read = {*wanted, *(() if form.condition is None else columns_of([form.condition]))}
    keys = {"l": [one for one, _ in form.on], "r": [other for _, other in form.on]}
    for name in read:
        side, column = places[name]
        keys[side].append(column)
    on: list[exp.Expr] = [exp.EQ(this=_of("l", one), expression=_of("r", other)) for one, other in form.on]
    if form.condition is not None:
        on.append(exp.paren(_placed(form.condition, places), copy=False))
    right = _aliased(rows_sql(form.right, keys["r"], tables), "r")
    join = exp.Join(this=right, on=exp.and_(*on, copy=False), side="LEFT" if form.kind == "left" else None)
    columns: list[exp.Expr] = [named(_of(*places[name]), name) for name in wanted]
    left = _aliased(rows_sql(form.left, keys["l"], tables), "l")
    return _subquery(exp.Select(expressions=columns or [_one()], from_=exp.From(this=left), joins=[join]))


def _union(form: Union, wanted: list[str], tables: Tables) -> exp.Expr:
    selects: list[exp.Expr] = []
    for rows in form.branches:
        columns: list[exp.Expr] = [column(name) for name in wanted]
        selects.append(exp.Select(expressions=columns or [_one()], from_=exp.From(this=rows_sql(rows, wanted, tables))))
    both = selects[0]
    for select in selects[1:]:
        both = exp.Union(this=both, expression=select, distinct=False)
    return _subquery(both)


def _mark(form: Mark, wanted: list[str], tables: Tables) -> exp.Expr:
    read = {name for name in wanted if name != form.name}
    columns: list[exp.Expr] = [named(_of("l", name), name) for name in wanted if name != form.name]
    if form.name in wanted:
        read |= {one for one, _ in form.on}
        columns.append(named(_partner(form, read, tables), form.name))
    left = _aliased(rows_sql(form.left, read, tables), "l")
    return _subquery(exp.Select(expressions=columns or [_one()], from_=exp.From(this=left)))


def _partner(form: Mark, read: set[str], tables: Tables) -> exp.Expr:
    """Whether a row of the left has a partner. Adds the left's columns that it looks at to `read`."""
    places = {name: ("l", name) for name in form.left.sets}
    places |= {new: ("r", old) for old, new in form.names.items()}
    if form.value is not None:
        read |= set(columns_of([form.value]))
        right = _aliased(rows_sql(form.right, [form.column], tables), "r")
        values = exp.Select(expressions=[_of("r", form.column)], from_=exp.From(this=right))
        return exp.In(this=exp.paren(_placed(form.value, places), copy=False), query=exp.Subquery(this=values))
    conditions: list[exp.Expr] = [exp.EQ(this=_of("r", other), expression=_of("l", one)) for one, other in form.on]
    theirs = {other for _, other in form.on}
    if form.condition is not None:
        for name in columns_of([form.condition]):
            side, old = places[name]
            (read if side == "l" else theirs).add(old)
        conditions.append(exp.paren(_placed(form.condition, places), copy=False))
    right = _aliased(rows_sql(form.right, theirs, tables), "r")
    partners = exp.Select(expressions=[exp.Literal.number(1)], from_=exp.From(this=right))
    if conditions:
        partners.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
    return exp.Exists(this=partners)


def _constants(form: Constants, wanted: list[str], tables: Tables) -> exp.Expr:
    columns: list[exp.Expr] = []
    for name in wanted:
        constant = form.types.get(name)
        value = exp.Placeholder(this=name)
        columns.append(column(name) if constant is None else named(cast(value, constant), name))
    read = [name for name in wanted if name not in form.types]
    source = rows_sql(form.source, read, tables)
    return _subquery(exp.Select(expressions=columns or [_one()], from_=exp.From(this=source)))


def _known(form: Known, wanted: list[str]) -> exp.Expr:
    rows = exp.Cast(this=exp.Placeholder(this=form.name), to=exp.DataType.build(form.sql_type, dialect="duckdb"))
    each = exp.Select(expressions=[named(exp.Explode(this=rows), "row")])
    fields = dict(zip(form.types, form.fields, strict=True))
    columns: list[exp.Expr] = [
        named(exp.Dot(this=column("row"), expression=exp.to_identifier(fields[name])), name) for name in wanted
    ]
    return _subquery(exp.Select(expressions=columns or [_one()], from_=exp.From(this=_subquery(each))))


# ---------------------------------------------------------------------------------------------- private keys


def ranked_keys(form: Chosen, tables: Tables) -> exp.Select:
    """The keys of each unit, each once, with their ranks among the unit's: the same wherever it is asked for."""
    codes = {key_name(i): code for i, (code, _) in enumerate(form.keys)}
    pairs = _with_keys(form, [], UNIT_COLUMN, tables)
    pairs.set("distinct", exp.Distinct())
    return ranked(pairs, tuple(codes), " ".join(code.sql("duckdb") for code in codes.values()))


_CHOSEN_UNIT = f"{RESERVED}_chosen_unit"
"""The unit beside columns of the source, one of which may have any name that isn't reserved."""


def _with_keys(form: Chosen, wanted: list[str], unit_name: str, tables: Tables) -> exp.Select:
    """The source's rows that belong to a unit and have keys, with their unit under a name and the codes of the keys."""
    assert form.source.unit is not None
    unit = column(form.source.unit)
    codes = [code for code, _ in form.keys]
    where = [*form.where, not_null(unit.copy())]
    where += [not_null(paren(code.copy())) for code, null in form.keys if not null]
    columns: list[exp.Expr] = [column(name) for name in wanted]
    columns += [named(unit.copy(), unit_name), *(named(code.copy(), key_name(i)) for i, code in enumerate(codes))]
    read = columns_of([*columns, *where])
    select = exp.Select(expressions=columns, from_=exp.From(this=rows_sql(form.source, read, tables)))
    select.set("where", exp.Where(this=exp.and_(*(c.copy() for c in where), copy=False)))
    return select


def _chosen(form: Chosen, wanted: list[str], tables: Tables) -> exp.Expr:
    names = [key_name(i) for i in range(len(form.keys))]
    on: list[exp.Expr] = [exp.NullSafeEQ(this=_of("l", name), expression=_of("r", name)) for name in names]
    on.append(exp.EQ(this=_of("l", _CHOSEN_UNIT), expression=_of("r", UNIT_COLUMN)))
    on.append(exp.LTE(this=_of("r", RANK), expression=exp.Literal.number(form.groups)))
    left = _aliased(_subquery(_with_keys(form, wanted, _CHOSEN_UNIT, tables)), "l")
    right = _aliased(_subquery(ranked_keys(form, tables)), "r")
    columns: list[exp.Expr] = [_of("l", name) for name in wanted]
    join = exp.Join(this=right, on=exp.and_(*on, copy=False))
    return _subquery(exp.Select(expressions=columns or [_one()], from_=exp.From(this=left), joins=[join]))


# ---------------------------------------------------------------------------------------------- one row per unit


def _value(name: str) -> str:
    """The column that a total is made of: beside the keys, which may have any name that isn't reserved."""
    return f"{RESERVED}_value_{name}"


def _when(name: str) -> str:
    """The column that says which rows count for a total."""
    return f"{RESERVED}_when_{name}"


def _grouped(form: Grouped, wanted: list[str], tables: Tables) -> exp.Expr:
    """The totals of each unit: of integers, exact, in whatever order the engine reads the rows."""
    totals = {name: total for name, total in form.totals.items() if name in wanted}
    values = {_value(name): _summand(form, name, total, tables) for name, total in totals.items()}
    summands = {name: value for name, value in values.items() if value is not None}
    carried = dict(form.keys)
    carried |= {_when(name): total.condition for name, total in totals.items() if total.condition is not None}
    unit = next(key for key in form.keys.values() if isinstance(key, exp.Column) and key.name in form.source.own)
    where = [*form.where, not_null(unit.copy())]
    read = columns_of([*carried.values(), *where, *(value.steps[0] for value in summands.values())])
    first = exp.Select(from_=exp.From(this=rows_sql(form.source, read, tables)))
    first.set("where", exp.Where(this=exp.and_(*(c.copy() for c in where), copy=False)))
    select = in_steps(first, carried, summands)
    columns: list[exp.Expr] = [column(name) for name in form.keys if name in wanted]
    for name, total in totals.items():
        columns.append(named(_total(name, total, summands.get(_value(name))), name))
    select.set("expressions", columns or [_one()])
    select.set("group", exp.Group(expressions=[column(name) for name in form.keys]))
    return _subquery(select)


def _summand(form: Grouped, name: str, total: Total, tables: Tables) -> Summand | None:
    if total.argument is None:
        return None
    argument, column_name = total.argument, _value(name)
    if total.grid is not None and total.grid.cells:
        raw = argument.raw
        return summand(
            argument, total.grid, column_name, "" if raw is None else physical_type(form.source, raw.name, tables)
        )
    if total.function in ("min", "max"):
        return Summand((argument.sql.copy(),), 0)
    return presence(argument, distinct=total.distinct)


def _total(name: str, total: Total, value: Summand | None) -> exp.Expr:
    def over(aggregate: exp.Expr) -> exp.Expr:
        if total.condition is None:
            return aggregate
        return exp.Filter(this=aggregate, expression=exp.Where(this=column(_when(name))))

    if value is None:
        return over(exp.Count(this=exp.Star()))
    held = column(_value(name))
    counted: exp.Expr = exp.Distinct(expressions=[held]) if total.distinct else held
    match total.function:
        case "count":
            return over(exp.Count(this=counted))
        case "min":
            return over(exp.Min(this=held))
        case "max":
            return over(exp.Max(this=held))
    assert total.grid is not None
    count = over(exp.Count(this=counted))
    steps = index_total(over(exp.Sum(this=counted)), count.copy(), value) if total.grid.cells else _ZERO.copy()
    amount = _amount(none_is_zero(steps), count, total.grid, whole=total.whole)
    if total.function == "avg":
        amount = exp.Div(this=exp.paren(amount, copy=False), expression=cast(count.copy(), "DOUBLE"))
    return case_when((exp.GT(this=count.copy(), expression=exp.Literal.number(0)), amount))


def _amount(steps: exp.Expr, count: exp.Expr, grid: Grid, *, whole: bool) -> exp.Expr:
    """A sum of indices as the sum of what they stand for: an integer of 64 bits or a DOUBLE.

    Total, however many rows a unit has: what is added up is exact as long as HUGEINT holds it whatever the count, and
    added up in DOUBLE where it might not; a whole number is moved into BIGINT, as a column of integers holds none
    beyond.
    """
    grain = double_sql(grid.grain)
    if abs(grid.low_steps) >= INT64:
        lowest = exp.Mul(this=cast(count.copy(), "DOUBLE"), expression=double_sql(grid.lower))
        return exp.Paren(this=exp.Add(this=exp.Mul(this=cast(steps, "DOUBLE"), expression=grain), expression=lowest))
    in_grains = exp.Paren(
        this=exp.Add(this=steps, expression=times(cast(count.copy(), "HUGEINT"), grid.low_steps)),
    )
    if not whole:
        return exp.Mul(this=cast(in_grains, "DOUBLE"), expression=grain)
    least, greatest = (decimal_sql(Fraction(end)) for end in (-INT64, INT64 - 1))
    return cast(func("least", func("greatest", in_grains, least), greatest), "BIGINT")


_ZERO = exp.Literal.number(0)


def _placed(condition: exp.Expr, places: Mapping[str, tuple[str, str]]) -> exp.Expr:
    """A condition over the columns of a join, over those of its two sides."""
    return condition.copy().transform(
        lambda node: _of(*places[node.name]) if isinstance(node, exp.Column) else node, copy=False
    )


def _of(alias: str, column: str) -> exp.Column:
    return exp.column(column, table=alias, quoted=True)


def _one() -> exp.Expr:
    """A column for a relation of which only the number of rows is needed."""
    return named(exp.Literal.number(1), "one")


def _aliased(source: exp.Expr, alias: str) -> exp.Expr:
    """A table, which the engine may keep, or a subquery made here, under a name: copying that would be quadratic."""
    if not isinstance(source, exp.Subquery):
        source = source.copy()
    source.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return source


def _subquery(select: exp.Expr) -> exp.Subquery:
    return exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier("q")))
