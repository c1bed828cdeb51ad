"""What soundness rests on: no two rows of a table have the same values in the columns of a key.

Of public tables the policy declares keys, and a join on one must not repeat a private row. A row that finds its privacy
unit through a parent table must find one row of it, or it would belong to two units. Both are checked against each data
version, with the types and the comparison that a join has; rows with a NULL in the key match nothing and don't count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import duckdb
from sqlglot import exp

from dpsql.engines.declared import quoted
from dpsql.engines.duckdb_sources.catalogue import wrong
from dpsql.engines.duckdb_sources.driver import read_source
from dpsql.errors import PolicyError
from dpsql.policy import Policy, Table
from dpsql.policy.problems import similar

Guaranteed = Mapping[str, tuple[frozenset[str], ...]]
"""The sets of columns that the engine itself keeps unique, by lower-case name of the table."""


def check(
    connection: duckdb.DuckDBPyConnection,
    policy: Policy,
    relation: Callable[[Table], exp.Table],
    types: Mapping[str, Collection[str]],
    guaranteed: Guaranteed,
) -> None:
    """Check all keys that the policy relies on. `types` has the columns of each table by lower-case name.

    Raises PolicyError, which names columns and never a value, for the first that isn't one.
    """
    found = {(name, key) for name, keys in guaranteed.items() for key in keys}
    for own, table in policy.tables.items():
        if table.public:
            for key in table.unique:
                _check_columns(policy, table, key, types[own], "its primary_key", table.line)
                if _repeats(connection, policy, table, relation(table), key):
                    raise _not_unique(policy, table, key)
        elif table.via is not None:
            above, key = table.via.parent, frozenset(table.via.parent_columns)
            parent = policy.tables.get(above)
            # A policy tried table by table, see dpsql.cli.check, may lack the parent.
            if parent is None or any(name == above and unique <= key for name, unique in found):
                continue
            _check_columns(policy, parent, key, types[above], f"the unit of {table.name}", table.line)
            if _repeats(connection, policy, parent, relation(parent), key):
                raise _two_parents(policy, table, parent, table.via.parent_columns)
            found.add((above, key))


def _repeats(
    connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, relation: exp.Table, key: Iterable[str]
) -> bool:
    """Whether two rows have the same values. With 5M rows this takes about a second."""
    return bool(read_source(connection, policy, table, f"{repeated(relation.sql('duckdb'), key)} LIMIT 1"))


def repeated(relation: str, key: Iterable[str]) -> str:
    """SQL: a row for each value of a key that several rows have."""
    columns = [quoted(name) for name in sorted(key)]
    known = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    return f"SELECT 1 FROM {relation} WHERE {known} GROUP BY {', '.join(columns)} HAVING COUNT(*) > 1"


def _check_columns(
    policy: Policy, table: Table, key: Iterable[str], names: Collection[str], by: str, line: int
) -> None:
    for column in sorted(key):
        if column not in names:
            meant = similar(column, names)
            raise wrong(
                policy,
                line,
                f"table {table.name} has no column {column}, which {by} names",
                f"did you mean {meant}?" if meant else f"its columns are: {', '.join(names)}",
            )


def _not_unique(policy: Policy, table: Table, key: frozenset[str]) -> PolicyError:
    alone = table.columns.get(min(key)) if len(key) == 1 else None
    by_column = alone is not None and alone.unique
    return wrong(
        policy,
        alone.line if alone is not None and by_column else table.line,
        f"table {table.name}: rows have the same values in {', '.join(sorted(key))}, "
        f"which is {'declared unique' if by_column else 'its primary_key'}",
        f"remove `{'unique' if by_column else 'primary_key'}`, or the rows that repeat",
    )


def _two_parents(policy: Policy, table: Table, parent: Table, key: Iterable[str]) -> PolicyError:
    listed = ", ".join(key)
    return wrong(
        policy,
        table.line,
        f"table {table.name}: its unit is found through {parent.name} ({listed}), where rows have the same values",
        f"refer to a key of {parent.name}; where it is a table of a database, make it the PRIMARY KEY there",
    )
