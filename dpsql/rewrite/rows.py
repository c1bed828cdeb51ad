"""The SQL of per-unit rows: scans, the joins to the unit, the analyst's joins. Only what is needed is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from sqlglot import exp

from dpsql.expressions.literals import named
from dpsql.policy import Table, Unit
from dpsql.rows import UNIT, Join, Rows, Scan, Select

Relation = Callable[[Table], exp.Table]
"""The engine's name of a declared table."""


def rows_sql(rows: Rows, needed: Iterable[str], relation: Relation) -> exp.Expr:
    """What stands in FROM for a relation: it has at least the needed columns, under their names."""
    wanted = [name for name in rows.sets if name in set(needed)]  # in one order, whatever the set's is
    match rows.form:
        case Scan():
            return _scan(rows.form, wanted, relation)
        case Select():
            return _select(rows.form, wanted, relation)
        case Join():
            return _join(rows.form, wanted, relation)


def columns_of(expressions: Iterable[exp.Expr]) -> Iterator[str]:
    """The names of the columns that expressions read."""
    for expression in expressions:
        for column in expression.find_all(exp.Column):
            yield column.name


def _scan(form: Scan, wanted: list[str], relation: Relation) -> exp.Expr:
    if UNIT not in wanted:
        return relation(form.table)
    tables = [form.table, *form.path]
    joins: list[exp.Join] = []
    for index, (child, parent) in enumerate(zip(tables, form.path, strict=False)):
        key = child.unit.via if isinstance(child.unit, Unit) else None
        assert key is not None
        on = [
            exp.EQ(this=_of(f"t{index}", one), expression=_of(f"t{index + 1}", other))
            for one, other in zip(key.columns, key.parent_columns, strict=True)
        ]
        joins.append(exp.Join(this=_aliased(relation(parent), f"t{index + 1}"), on=exp.and_(*on, copy=False)))
    last = tables[-1].unit
    assert isinstance(last, Unit) and last.column is not None
    columns: list[exp.Expr] = [_of("t0", name) for name in wanted if name != UNIT]
    columns.append(named(_of(f"t{len(tables) - 1}", last.column), UNIT))
    return _subquery(exp.Select(
        expressions=columns, from_=exp.From(this=_aliased(relation(form.table), "t0")), joins=joins,
    ))  # fmt: skip


def _select(form: Select, wanted: list[str], relation: Relation) -> exp.Expr:
    columns: list[exp.Expr] = [named(form.columns[name].copy(), name) for name in wanted]
    read = columns_of([*(form.columns[name] for name in wanted), *form.where])
    select = exp.Select(expressions=columns or [_one()], from_=exp.From(this=rows_sql(form.source, read, relation)))
    if form.where:
        select.set("where", exp.Where(this=exp.and_(*(c.copy() for c in form.where), copy=False)))
    return _subquery(select)


def _join(form: Join, wanted: list[str], relation: Relation) -> exp.Expr:
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
    right = _aliased(rows_sql(form.right, keys["r"], relation), "r")
    join = exp.Join(this=right, on=exp.and_(*on, copy=False), side="LEFT" if form.kind == "left" else None)
    columns: list[exp.Expr] = [named(_of(*places[name]), name) for name in wanted]
    left = _aliased(rows_sql(form.left, keys["l"], relation), "l")
    return _subquery(exp.Select(expressions=columns or [_one()], from_=exp.From(this=left), joins=[join]))


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
    source = source.copy()
    source.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return source


def _subquery(select: exp.Select) -> exp.Subquery:
    return exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier("q")))
