"""A release in FROM beside private rows: its groups' numbers, joined to the rows of each group.

    SELECT COUNT(*) FROM lineitem JOIN (SELECT l_partkey AS k, AVG(l_quantity) AS a FROM lineitem GROUP BY k) AS q
    ON l_partkey = k WHERE l_quantity < 0.2 * a

Its rows are known only when the query runs, as those of a constant are: all is planned and charged before anything is
read, and they narrow nothing (PROOFS A7). A row of a group is unique by its keys, so a private row meets at most one;
that it is so is checked again when the rows are there (PROOFS P4): they are noisy, so a failure would tell nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpsql.analyze.relations import Derived, Private, alias_columns, alias_name, renamed_columns
from dpsql.expressions.literals import DOUBLE, INTEGER, sql_type
from dpsql.names import output_name
from dpsql.policy import Column, ColumnType, Kind
from dpsql.query import Constant, ReleaseQuery, constant_name, direct_release, key_name, number_name, number_type
from dpsql.rows import Known, known
from dpsql.valueset import ValueSet, column_set

MAX_ROWS = 200_000
"""Groups of a release that private rows are joined to: each is handed to the engine as a value."""
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Literal, exp.Column, exp.Identifier)


def released_rows(
    node: exp.Expr, relation: Derived, releases: Sequence[ReleaseQuery], constants: list[Constant]
) -> Private | None:
    """The rows of a subquery that names a release's groups and numbers; None for any other. Adds the constant.

    `node` is what stands in FROM: it gives the rows a name, and perhaps the columns, as the CTE that it names may.
    """
    tree = relation.tree if relation.definition is None else relation.definition.this
    select = tree.this if isinstance(tree, exp.Subquery) else tree
    index = direct_release(select) if isinstance(select, exp.Select) else None
    if index is None or select.args.get("group") or select.args.get("distinct") or select.args.get("with_"):
        return None
    release = releases[index]
    if release.cells > MAX_ROWS:
        return None
    names = [(item.alias or output_name(item)).lower() for item in select.expressions]
    for given in (relation.definition, node):
        names = renamed_columns(node, names, alias_columns(given))
    types: dict[str, ColumnType] = {}
    keys: dict[str, str] = {}
    columns: list[exp.Expr] = []
    for place, (name, item) in enumerate(zip(names, select.expressions, strict=True)):
        found = item.unalias()
        kind = _kind(found, release)
        if kind is not None and name not in types:
            types[name] = kind
            columns.append(exp.column(f"c{place}", quoted=True))
            keys |= {found.name: name} if isinstance(found, exp.Column) else {}
    named = [key_name(i) for i in range(len(release.keys))]
    if not named or not all(name in keys for name in named):
        return None
    sql_types = {name: sql_type(kind) for name, kind in types.items()}
    form = Known(constant_name(len(constants)), sql_types, frozenset(keys[key] for key in named))
    places = [exp.to_identifier(f"c{place}", quoted=True) for place in range(len(names))]
    q = exp.TableAlias(this=exp.to_identifier("q", quoted=True), columns=places)
    rows = exp.Select(expressions=columns, from_=exp.From(this=exp.Subquery(this=select.copy(), alias=q)))
    sets = {column: _set(column, kind) for column, kind in types.items()}
    key_places = tuple(list(types).index(key) for key in form.keys)
    constants.append(Constant(form.name, rows, form.sql_type, form.fields, key_places))
    return Private(known(form, sets), {c: exp.column(c, quoted=True) for c in types}, alias=alias_name(node))


def _kind(node: exp.Expr, release: ReleaseQuery) -> ColumnType | None:
    """The type of a column of a release, or of arithmetic on its numbers; None where it isn't known or usable."""
    if (kind := number_type(node, release.calls)) is not None:
        return kind
    numbers = {number_name(i) for i, call in enumerate(release.calls) if call.type in (INTEGER, DOUBLE)}
    keys = {key_name(i): key for i, key in enumerate(release.keys)}
    if isinstance(node, exp.Column):
        if node.name in keys:
            kind = keys[node.name].set.type
            return None if kind.kind is Kind.DECIMAL else kind
        return None
    plain = all(isinstance(part, _ARITHMETIC) for part in node.walk())
    texts = any(literal.is_string for literal in node.find_all(exp.Literal))
    return DOUBLE if plain and not texts and all(c.name in numbers for c in node.find_all(exp.Column)) else None


def _set(name: str, kind: ColumnType) -> ValueSet:
    """All that a type holds: nothing is known of a noisy number."""
    return column_set(Column(name, kind, nullable=True))
