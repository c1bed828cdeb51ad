"""The columns of a result whose intervals are known, and the query over noisy numbers with what they need.

An interval follows from the noisy sums of one row of a release and from the law of their noise. So it is known of a
column where each row of the result is one row of a release, through any number of subqueries and CTEs (see `lineage`),
and the column is a number of that or computed from some. Privacy: that is post-processing, and free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from dpsql.aggregates.choice import TEMPORAL
from dpsql.analyze.aggregation import INTERVAL_ENDS, interval_level, is_interval
from dpsql.expressions import refuse, show
from dpsql.expressions.narrowing import unparenthesised
from dpsql.plan import Plan, check_intervals
from dpsql.query import MAX_LEVELS, ROW, end_column, interval_names, numbers_in
from dpsql.rewrite.lineage import Lineage, carry, lineage, with_names
from dpsql.rewrite.outer import plain_columns


@dataclass(frozen=True, slots=True)
class Errors:
    """The columns of a result whose errors follow from the noise of one release.

    release      its number
    numbers      (position in the result, number) of each column that is a released number as it stands
    moments      the same of dates and times, whose intervals have ends and no half-width
    expressions  (position, tree over the release's columns) of each that is computed from some
    ends         of some of these the positions of the columns that hold the ends of their intervals
    """

    release: int
    numbers: tuple[tuple[int, int], ...]
    expressions: tuple[tuple[int, exp.Expr], ...]
    moments: tuple[tuple[int, int], ...] = ()
    ends: Mapping[int, tuple[int, int]] = field(default_factory=dict)


def errors_of(plan: Plan) -> Errors | None:
    """The columns of the outer query of which errors are known; None for none.

    Only where each row of the result is one of a release, and no other (no DISTINCT). For what an expression computes
    see `numbers_in`.
    """
    found = lineage(plan.outer)
    if found is None or not found.apart:
        return None
    planned = plan.releases[found.release].numbers
    numbers: list[tuple[int, int]] = []
    moments: list[tuple[int, int]] = []
    expressions = []
    for position, tree in _trees(found):
        used = numbers_in(tree)
        ways = [planned[number].way for number in used]
        if _is_number(tree) and ways[0].has_interval:
            of_moment = planned[used[0]].call.sql_type in TEMPORAL.values()
            (moments if of_moment else numbers).append((position, used[0]))
        elif not _is_number(tree) and used and all(way.has_noise for way in ways):
            expressions.append((position, tree))
    if not (numbers or expressions or moments):
        return None
    return Errors(found.release, tuple(numbers), tuple(expressions), tuple(moments))


def with_ends(plan: Plan, errors: Errors, found: Lineage, level: Fraction) -> Errors:
    """The errors with the columns that are the ends of intervals at that level: those need not be worked out again."""
    intervals = plan.releases[errors.release].query.intervals
    places = {tree.name: position for position, tree in _trees(found) if isinstance(tree, exp.Column)}
    asked = {p: interval_names(intervals.index((t, level))) for p, t in errors.expressions if (t, level) in intervals}
    ends = {p: (places[low], places[high]) for p, (low, high) in asked.items() if low in places and high in places}
    return replace(errors, ends=ends)


def with_rows(plan: Plan) -> tuple[exp.Expr, Errors | None]:
    """The outer query as it runs, and the columns of which errors are known.

    Where it does more than list the columns of the only release it gets one more, at its end: which row of the release
    each row is.
    """
    errors = errors_of(plan)
    if errors is None or (plain_columns(plan.outer) is not None and len(plan.releases) == 1):
        return plan.outer, errors
    root = plan.outer.copy()
    assert isinstance(root, exp.Select)
    carry(root, ROW)
    root.append("expressions", exp.column(ROW, quoted=True))
    return root, errors


def with_asked_intervals(plan: Plan, level: Fraction) -> Plan:
    """The plan with names of columns for * where a SELECT is followed, and the intervals that DP_INTERVAL_LOW and
    DP_INTERVAL_HIGH ask for in a SELECT over a released subquery. `level` is of those that name none.
    """
    for constant in plan.constants:
        for node in _calls(constant.tree):
            raise refuse(
                node, f"{show(node)} stands in a subquery that private rows are compared with",
                f"write it beside the aggregate: SELECT COUNT(*) AS n, {node.name}(n) FROM …",
            )  # fmt: skip
    plan = replace(plan, outer=with_names(plan.outer))
    if not any(True for _ in _calls(plan.outer)):
        return plan
    root, releases = plan.outer.copy(), list(plan.releases)
    for node in list(_calls(root)):
        select = node.find_ancestor(exp.Select)
        found = None if select is None else lineage(select)
        if select is None or found is None or not found.apart:
            raise refuse(
                node, f"{show(node)} stands in a SELECT whose rows are not those of one SELECT of aggregates",
                f"write it beside the aggregate: SELECT COUNT(*) AS n, {node.name}(n) FROM …",
            )  # fmt: skip
        argument = _argument(node)
        asked = _asked(node, argument, found)
        wanted = (asked, interval_level(node, node.expressions[1]) if len(node.expressions) == 2 else level)
        release = releases[found.release]
        intervals = release.query.intervals
        if wanted not in intervals:
            query = replace(release.query, intervals=(*intervals, wanted))
            if len({level for _, level in query.intervals}) > MAX_LEVELS:
                raise refuse(node, f"there are intervals of more than {MAX_LEVELS} levels", "ask for fewer")
            call = None if isinstance(asked, exp.Expr) else query.calls[asked]
            if call is not None and call.levels and wanted[1] not in call.levels:
                raise refuse(
                    node, f"the interval of {call.text} isn't known at that level", "ask for it beside the aggregate"
                )
            check_intervals(query, release.numbers)
            releases[found.release] = replace(release, query=query)
            intervals = query.intervals
        column = interval_names(intervals.index(wanted))[INTERVAL_ENDS.index(node.name.lower())]
        carry(select, column)
        node.replace(end_column(column, asked, release.query.calls))
    return replace(plan, outer=root, releases=tuple(releases))


def _calls(tree: exp.Expr) -> Iterator[exp.Anonymous]:
    return (node for node in tree.find_all(exp.Anonymous) if is_interval(node))


def _argument(node: exp.Anonymous) -> exp.Expr:
    if not 1 <= len(node.expressions) <= 2:
        raise refuse(node, f"{show(node)} needs an alias and perhaps a level", f"write {node.name}(n, 0.95)")
    argument: exp.Expr = unparenthesised(node.expressions[0])
    return argument


def _asked(node: exp.Anonymous, argument: exp.Expr, found: Lineage) -> int | exp.Expr:
    """What an interval is asked of: a number of the release, or an expression over its columns, which says in its meta
    how it was asked for. An alias of the SELECT comes before a column that it reads.
    """
    named = {item.alias.lower(): item for item in found.items if isinstance(item, exp.Alias)}
    own = named.get(argument.name.lower()) if isinstance(argument, exp.Column) and not argument.table else None
    earlier = {output.name.lower(): output for output in found.columns if output.name.lower() in named}
    tree = found.output(argument if own is None else own, {} if own is argument.parent else earlier).tree
    tree = None if tree is None else unparenthesised(tree)
    if tree is None or not numbers_in(tree):
        raise refuse(
            argument, f"{show(argument)} is not a released number of one row, nor arithmetic on some",
            f"name a column of the subquery: SELECT {node.name}(n) FROM (SELECT COUNT(*) AS n FROM …) AS q",
        )  # fmt: skip
    if _is_number(tree):
        return numbers_in(tree)[0]
    tree.meta["asked"] = argument
    return tree


def _trees(found: Lineage) -> list[tuple[int, exp.Expr]]:
    """(position, tree over the release's columns) of each column of which that is known."""
    trees = ((i, column.tree) for i, column in enumerate(found.columns))
    return [(i, unparenthesised(tree)) for i, tree in trees if tree is not None]


def with_error_columns(plan: Plan, errors: Errors, names: Sequence[str], level: Fraction) -> Plan:
    """The plan whose result has the ends of each known interval after its column, called <name>_low and <name>_high.

    Not where the query has a column of that name itself.
    """
    assert isinstance(plan.outer, exp.Select)
    release = plan.releases[errors.release]
    intervals = list(release.query.intervals)
    taken = {name.lower() for name in names}
    asked: dict[int, int | exp.Expr] = {**dict(errors.numbers), **dict(errors.moments), **dict(errors.expressions)}
    items: list[exp.Expr] = []
    added: list[str] = []
    places: list[int] = []
    for position, (item, name) in enumerate(zip(plan.outer.expressions, names, strict=True)):
        items.append(item.copy())
        places.append(len(items))
        if position not in asked:
            continue
        wanted = (asked[position], level)
        if wanted not in intervals:
            intervals.append(wanted)
        for column, end in zip(interval_names(intervals.index(wanted)), ("low", "high"), strict=True):
            if (own := f"{name}_{end}").lower() not in taken:
                taken.add(own.lower())
                added.append(column)
                items.append(exp.alias_(end_column(column, wanted[0], release.query.calls), own, quoted=True))
    root = plan.outer.copy()
    assert isinstance(root, exp.Select)
    root.set("expressions", items)
    for column in added:
        carry(root, column)
    for ordered in (root.args.get("order") or exp.Order()).expressions:
        place = ordered.this
        number = int(place.name) if isinstance(place, exp.Literal) and place.name.isdecimal() else 0
        if 1 <= number <= len(places) and not place.is_string:
            place.replace(exp.Literal.number(places[number - 1]))
    query = replace(release.query, intervals=tuple(intervals))
    releases = list(plan.releases)
    releases[errors.release] = replace(release, query=query)
    return replace(plan, outer=root, releases=tuple(releases))


def direct_numbers(found: Lineage) -> tuple[tuple[int, int], ...]:
    """(position, number) of each result column that is a released number as it stands, or a date."""
    return tuple((i, numbers_in(tree)[0]) for i, tree in _trees(found) if _is_number(tree))


def direct_ends(found: Lineage) -> tuple[tuple[int, int], ...]:
    """(position, number of the interval) of each result column that is an end of an interval as it stands."""
    plain = ((i, _without_cast(tree)) for i, tree in _trees(found))
    names = [(i, tree.name) for i, tree in plain if isinstance(tree, exp.Column)]
    numbered = [(i, name, name.rpartition("_")[2]) for i, name in names]
    return tuple((i, int(n)) for i, name, n in numbered if n.isdecimal() and name in interval_names(int(n)))


def direct_lists(found: Lineage) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """(position, numbers) of each result column that is a list of released numbers, or dates, as they stand."""
    return tuple(
        (i, tuple(numbers_in(one)[0] for one in tree.expressions))
        for i, tree in _trees(found)
        if isinstance(tree, exp.Anonymous) and tree.name == "list_value" and all(map(_is_number, tree.expressions))
    )


def _without_cast(tree: exp.Expr) -> exp.Expr:
    """A date as the release has it: a timestamp."""
    return tree.this if isinstance(tree, exp.Cast) and tree.is_type("date") else tree


def _is_number(tree: exp.Expr) -> bool:
    tree = _without_cast(tree)
    return isinstance(tree, exp.Column) and bool(numbers_in(tree))
