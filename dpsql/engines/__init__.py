"""Engines: where the private data live. `open_engine` finds the module by the scheme of the policy's engine
URL.

An engine is a module `dpsql/engines/<scheme>.py` with a function `open_engine(policy) -> Engine`, and if that
grows long a package `<scheme>_…` beside it. Only these import its driver. Adding an engine is adding a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Protocol

from sqlglot import exp

from dpsql.engines.exact_rows import ExactRows
from dpsql.errors import PolicyError
from dpsql.policy import Column, Key, Policy, Table, at_line


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A public table, read whole: its columns (name, SQL type of DuckDB) in order, and where its rows are.

    `file` is a .duckdb file, private to this process, that holds the rows as main."<name>", with their exact
    types. The scratch engine copies them from there. It lives as long as the engine holds this data version.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: int
    file: Path


@dataclass(frozen=True, slots=True)
class TableReport:
    """What `dpsql check` tells the owner, and nobody else, about how a source fits the policy: exact counts, by
    declared column, of those columns that have any.

    `nulls`: cells that are NULL for dpsql: empty, misfits, NaN, stored NULLs. `outside`: values outside of the
    bounds, or that are none of the keys. Only CSV files have the others. `misfits`: cells that are not empty and
    do not fit the declared type. `unfit`: columns all of whose cells (that are not empty; how many) are misfits, and
    the type that would fit them. `unreadable`: rows that are not rows of the file's shape (too few or too many cells,
    bad quotes or encoding). `repeated`: by the columns of a key that is declared, joined by commas, how many of its
    values stand in several rows of a private table. `units`: how many units it has rows of; `beyond`: how many of them
    have more than `max_rows`.
    """

    table: str
    rows: int
    nulls: Mapping[str, int]
    outside: Mapping[str, int]
    misfits: Mapping[str, int]
    unfit: Mapping[str, tuple[int, str]]
    unreadable: int
    repeated: Mapping[str, int] = field(default_factory=dict)
    units: int = 0
    beyond: int = 0


class Transaction(Protocol):
    """One read transaction: everything fetched in it comes from one data version."""

    @property
    def version(self) -> str:
        """The data version that this transaction reads."""
        ...

    def fetch(
        self, sql: str, keys: int, sums: int, counts: int = 0, constants: Mapping[str, object] | None = None
    ) -> ExactRows:
        """Run one inner query: `keys` key columns, `counts` BIGINT counts, two BIGINT limbs for each of `sums` sums.

        `constants` are the values of its named parameters.

        Raises EngineError, with a reference id and nothing else, whatever goes wrong.
        """
        ...


class Engine(Protocol):
    """The private engine of one policy, shared by all threads of a process."""

    @property
    def version(self) -> str:
        """The data version: changes when any source changes, and is the same in every process while none does.

        Public (that data changed is public).
        """
        ...

    def relation(self, table: Table) -> exp.Table:
        """How inner SQL names a declared table, private or public."""
        ...

    def physical_types(self, table: Table) -> Mapping[str, str]:
        """The engine's own types of the declared columns, of a public table of all columns, by lower-case name.

        Schema, not data: public.
        """
        ...

    def unique_columns(self, table: Table) -> tuple[frozenset[str], ...]:
        """The sets of columns (lower case) in which no two rows have the same values, NULL aside.

        Guaranteed in every data version that this engine serves: of a private table by constraints that the database
        itself enforces, of a public one because what the policy declares was checked when the table was read.
        """
        ...

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a read transaction on the current data. Free: call it before the charge.

        Raises EngineError where the data cannot be opened, or no longer have the declared columns and types.
        """
        ...

    def public_table(self, table: Table) -> PublicTable:
        """A public table for the scratch engine. Raises KeyError for a table that is not public."""
        ...

    def public_columns(self, table: Table) -> Mapping[str, Column]:
        """A public table's columns of types that dpsql knows, by lower-case name, with value sets from the data.

        As they are declared, if they are; see dpsql.engines.duckdb_sources.public_columns. Raises KeyError for a table
        that is not public.
        """
        ...

    def distinct_public(self, table: Table, column: str) -> tuple[Key, ...]:
        """The distinct values of a public table's column in order of value, without NULL."""
        ...

    def report(self) -> tuple[TableReport, ...]:
        """How the source of each table with declared columns fits the policy. For the owner only: exact counts."""
        ...

    def close(self) -> None:
        """Let everything go. Transactions under way end first."""
        ...

    def __enter__(self) -> Engine: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_engine(policy: Policy) -> Engine:
    """Open the engine that the policy names and load its sources.

    Raises PolicyError for an unknown scheme and for whatever in the policy does not fit the data.
    """
    scheme = policy.engine.split(":", 1)[0].strip()
    module = f"{__name__}.{scheme}"
    if not re.fullmatch(r"[a-z]+", scheme) or find_spec(module) is None:
        raise _unknown(policy)
    opener = getattr(import_module(module), "open_engine", None)
    if opener is None:
        raise _unknown(policy)
    engine: Engine = opener(policy)
    return engine


def _unknown(policy: Policy) -> PolicyError:
    return PolicyError(
        f"{at_line(policy.shown or str(policy.path), 0)}: engine is {policy.engine!r}, which dpsql does not know",
        hint="write `engine: duckdb`, or `engine: duckdb:///file.duckdb`",
    )
