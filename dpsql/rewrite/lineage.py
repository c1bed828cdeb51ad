"""Which release the rows of a SELECT over noisy numbers are of, and what its columns are in terms of that release's.

    SELECT t.s / t.n AS mean FROM (SELECT sex, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY sex) AS t WHERE n > 0

A SELECT that only chooses, computes, orders and cuts what one subquery or CTE gives has rows each of which is one row
of that; so, any number of levels deep, each is one row of the release below them all. Joins, set operations and
aggregates have rows that are of several, and are not followed.

It reads trees alone: neither what is released nor its noise depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from dpsql.analyze.aggregation import aggregate_calls
from dpsql.query import direct_release, reads_numbers
from dpsql.rewrite.outer import AGGREGATE_FUNCTIONS
from dpsql.rows import RESERVED

MAX_NODES = 500
"""Of a column's expression over the release: what doubles at each level grows fast."""
_PROJECTING = frozenset("expressions from_ where qualify windows order limit offset distinct with_".split())


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a SELECT.

    tree   what it is over the release's columns; None where it is more than that, such as a subquery
    noisy  whether it is computed from released numbers
    """

    name: str
    tree: exp.Expr | None
    noisy: bool


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where the rows of a SELECT come from.

    release  the number of the release that each of its rows is a row of
    items    its columns as they are written, those that a * stands for by name
    columns  what these are, in their order
    source   the name in FROM, and the columns that stand there; none where it reads the release itself
    apart    whether no row of it stands for several (DISTINCT)
    """

    release: int
    items: tuple[exp.Expr, ...]
    columns: tuple[Output, ...]
    source: tuple[str, Mapping[str, Output]]
    apart: bool

    def output(self, item: exp.Expr, earlier: Mapping[str, Output] = {}) -> Output:
        """What an expression of the SELECT is; `earlier` are the columns before it, by name."""
        qualifier, known = self.source
        found: dict[int, Output | None] = {}
        for column in item.find_all(exp.Column):
            ours = not column.table or column.table.lower() == qualifier
            own = known.get(column.name.lower()) if ours else None
            found[id(column)] = own if own is not None or column.table else earlier.get(column.name.lower())
        noisy = any(output is not None and output.noisy for output in found.values())
        trees = {
            place: output.tree for place, output in found.items() if output is not None and output.tree is not None
        }
        plain = len(trees) == len(found) and item.find(exp.Query) is None
        if not plain or sum(1 for tree in (item, *trees.values()) for _ in tree.walk()) > MAX_NODES:
            return Output(item.alias_or_name, None, noisy)
        return Output(item.alias_or_name, _with(item.unalias(), trees), noisy)


def _with(node: exp.Expr, trees: Mapping[int, exp.Expr]) -> exp.Expr:
    """A copy of an expression with other trees in the place of its columns."""
    if id(node) in trees:
        return trees[id(node)].copy()
    copy = node.copy()
    for old, new in zip(list(node.find_all(exp.Column)), list(copy.find_all(exp.Column)), strict=True):
        tree = trees[id(old)].copy()
        new.replace(tree if isinstance(tree, (exp.Column, exp.Literal)) else exp.Paren(this=tree))
    return copy


def lineage(select: exp.Expr) -> Lineage | None:
    """The lineage of a SELECT; None where its rows are not those of one release. CTEs are looked for around it."""
    if not isinstance(select, exp.Select) or not {name for name, value in select.args.items() if value} <= _PROJECTING:
        return None
    apart = not select.args.get("distinct")
    release = direct_release(select)
    if release is not None:
        columns = tuple(Output(i.alias_or_name, i.unalias(), reads_numbers(i)) for i in select.expressions)
        return Lineage(release, tuple(select.expressions), columns, ("", {}), apart)
    below = None if _is_aggregating(select) else _below(select)
    found = None if below is None else lineage(below)
    if found is None:
        return None
    names = _names(select, [output.name for output in found.columns])
    known = {name.lower(): output for name, output in zip(names, found.columns, strict=True)}
    qualifier = select.args["from_"].this.alias_or_name.lower()
    items = list(_named(select, qualifier, names))
    if len(known) < len(names) or any(item.is_star for item in items):
        return None
    one = Lineage(found.release, tuple(items), (), (qualifier, known), apart and found.apart)
    earlier: dict[str, Output] = {}
    outputs = []
    for item in items:
        outputs.append(one.output(item, earlier))
        if isinstance(item, exp.Alias):
            earlier.setdefault(item.alias.lower(), outputs[-1])
    return Lineage(one.release, one.items, tuple(outputs), one.source, one.apart)


def _is_aggregating(select: exp.Select) -> bool:
    """Whether rows are put together: an aggregate stands in it that is no window's."""
    named = (node for item in select.expressions for node in item.find_all(exp.Anonymous))
    return any(node.name.lower() in AGGREGATE_FUNCTIONS for node in named) or any(True for _ in aggregate_calls(select))


def _named(select: exp.Select, qualifier: str, names: list[str]) -> Iterator[exp.Expr]:
    """The columns of a SELECT, those that a plain * stands for by name."""
    for item in select.expressions:
        star = item.this if isinstance(item, exp.Column) else item
        mine = not isinstance(item, exp.Column) or item.table.lower() == qualifier
        if isinstance(star, exp.Star) and mine and not any(star.args.values()):
            yield from (exp.column(name, quoted=True) for name in names)
        else:
            yield item


def _names(select: exp.Select, names: list[str]) -> list[str]:
    """What the columns below are called in a SELECT: its FROM may give the first of them other names, as a CTE may."""
    node = select.args["from_"].this
    for named in (_definition(node), node):
        alias = None if named is None else named.args.get("alias")
        given = [column.name for column in alias.columns] if alias else []
        names = given + names[len(given) :]
    return names


def _below(select: exp.Select) -> exp.Expr | None:
    """The query that a SELECT reads in FROM: a subquery or a CTE."""
    start = select.args.get("from_")
    node: exp.Expr | None = None if start is None else start.this
    if isinstance(node, exp.Table):
        cte = _definition(node)
        node = None if cte is None else cte.this
    while isinstance(node, exp.Subquery) and (node is select.args["from_"].this or not node.alias):
        node = node.this
    return node


def _definition(table: exp.Expr) -> exp.CTE | None:
    """The CTE that a table's name means, where it does: the nearest around it that is defined before it is read."""
    if not isinstance(table, exp.Table):
        return None
    name = table.name.lower()
    node: exp.Expr = table
    while node.parent is not None:
        child, node = node, node.parent
        clause = node if isinstance(node, exp.With) else node.args.get("with_")
        defined = [] if clause is None or clause is child else clause.expressions
        before = defined[: next((i for i, cte in enumerate(defined) if cte is child), len(defined))]
        for cte in reversed(before):
            if cte.alias.lower() == name:
                assert isinstance(cte, exp.CTE)
                return cte
    return None


def with_names(root: exp.Expr) -> exp.Expr:
    """A query whose SELECTs name their columns where they are followed: a column more below is then none above."""
    if not root.find(exp.Star):
        return root
    root = root.copy()
    for select in list(root.find_all(exp.Select)):
        if any(item.is_star for item in select.expressions) and (found := lineage(select)) is not None:
            select.set("expressions", list(found.items))
    return root


def carry(select: exp.Select, column: str) -> None:
    """Have a column of the release reach what a SELECT reads, through all SELECTs below it. Changes the tree.

    The SELECT has a lineage, and no * where it is followed. A CTE that others read too stays as it is for them.
    """
    while direct_release(select) is None:
        below = _own_source(select)
        if all(item.alias_or_name != column for item in below.expressions):
            below.append("expressions", exp.column(column, quoted=True))
        select = below


def _own_source(select: exp.Select) -> exp.Select:
    """The SELECT that another reads, and no other does: of a CTE that is read more than once, one like it."""
    table = select.args["from_"].this
    cte, root = _definition(table), select.root()
    if cte is not None:
        named = (one for one in root.find_all(exp.Table) if one.name.lower() == cte.alias.lower())
        read = sum(1 for one in named if _definition(one) is cte)
        if read > 1:
            _give_twin(table, cte, sum(1 for _ in root.find_all(exp.CTE)))
    below = _below(select)
    assert isinstance(below, exp.Select)
    return below


def _give_twin(table: exp.Table, cte: exp.CTE, number: int) -> None:
    clause = cte.parent
    assert isinstance(clause, exp.With)
    twin, name = cte.copy(), exp.to_identifier(f"{RESERVED}_cte_{number}", quoted=True)
    twin.args["alias"].set("this", name)
    place = next(i for i, one in enumerate(clause.expressions) if one is cte)
    # Before it: what the twin reads by names is then what it reads by them.
    clause.set("expressions", [*clause.expressions[:place], twin, *clause.expressions[place:]])
    if not table.alias:
        columns = table.args["alias"].columns if table.args.get("alias") else None
        table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True), columns=columns))
    table.set("this", name.copy())
