"""One data version: everything that the policy names, loaded into an instance of its own, which is then locked."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import duckdb
from sqlglot import exp

from dpsql.engines import PublicTable
from dpsql.engines.declared import literal, quoted
from dpsql.engines.duckdb_sources import (
    csv_files,
    database_file,
    parquet_files,
    public_columns,
    public_tables,
    uniqueness,
)
from dpsql.engines.duckdb_sources.catalogue import stored_types
from dpsql.engines.duckdb_sources.driver import CONFIG, FAULTS, read_source
from dpsql.engines.duckdb_sources.fingerprint import COMPANIONS, total_bytes
from dpsql.policy import Column, Policy, Table

SMALL_BYTES = 16 << 20
"""Sources smaller than this are queried by one thread: a second one makes a query over 1000 rows 20 % slower. They
aren't grouped by arrays either: to clear one takes up to 10 ms.
"""
MAX_ARRAY_BITS = 21
"""Integers in a range of two million are grouped in an array. Far beyond, at 26 bits, that is slower than a hash table.
"""
ARRAY_ENTRY_BYTES = 1 << 10
"""Room in each entry of an array: 40 sums."""


def relation(table: Table) -> exp.Table:
    """The name of a loaded or attached table, quoted and with its catalogue: it can't mean anything else."""
    if table.source.kind == "table" and not table.public:
        return database_file.relation(table)
    return exp.table_(table.name, db="main", catalog="memory", quoted=True)


class Running(Protocol):
    """A transaction under way."""

    def stop_if_overdue(self) -> None:
        """Interrupt its statement if it takes too long."""
        ...


class Data:
    """One data version: a locked in-memory instance. The engine's lock guards every attribute."""

    def __init__(self, policy: Policy, file: Path | None) -> None:
        self._policy = policy
        self.file = file
        self.directory = Path(tempfile.mkdtemp(prefix="dpsql-"))  # mode 0700
        self._remove = weakref.finalize(self, shutil.rmtree, self.directory, ignore_errors=True)
        self.connection = duckdb.connect(config=CONFIG)
        self.version = ""
        self.running: set[Running] = set()
        self.attached = False
        self.retired = False
        self.last_use = 0.0
        self.public: dict[str, PublicTable] = {}
        self.types: dict[str, dict[str, str]] = {}
        self.unique: dict[str, tuple[frozenset[str], ...]] = {}
        self._public_columns: dict[str, dict[str, Column]] = {}
        self._public_file = self.directory / "public.duckdb"
        self.scanned: list[str] = []

    # -- loading

    def load(self) -> None:
        """Load every declared table, then lock. Expects the .duckdb file, if any, to be attached."""
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute(f"SET temp_directory = {literal(str(self.directory / 'spill'))}")
        for table in self._policy.tables.values():
            self._load_table(table)
        uniqueness.check(self.connection, self._policy, relation, self.types, self.unique)
        if self.public:
            public_tables.write(self.connection, self.public.values(), self._public_file)
        self.connection.execute("CHECKPOINT")  # compresses what was loaded: queries need a third of the CPU
        self._lock()

    def _load_table(self, table: Table) -> None:
        match table.source.kind:
            case "csv":
                self._create("TABLE", table, csv_files.select(self._policy, table, self.directory))
            case "parquet":
                files = parquet_files.found(self._policy, table)
                select = parquet_files.select(self.connection, self._policy, table, files)
                self.scanned += files
                self._create("TABLE" if table.public else "VIEW", table, select)
            case "table":
                types = self.check_table(table)
                if table.public:
                    self._create("TABLE", table, database_file.select(self.connection, table))
                else:
                    self.types[table.name.lower()] = types  # read in place
                    self.unique[table.name.lower()] = self.unique_columns(table)

    def _create(self, kind: str, table: Table, select: str) -> None:
        """Make the table or view main."<name>" of what `select` reads."""
        wanted = public_tables.limited(select) if table.public else select
        read_source(self.connection, self._policy, table, f"CREATE {kind} main.{quoted(table.name)} AS {wanted}")
        name = table.name.lower()
        self.types[name] = stored_types(self.connection, "memory", "main", table.name)
        if table.public:
            self.public[name] = public_tables.loaded(self.connection, self._policy, table, self._public_file)

    def _lock(self) -> None:
        """From here on the instance reads its own sources and nothing else, and keeps its settings.

        This is the second wall, not the first: inner SQL is generated from an allow-list.
        """
        paths = [str(self.file) + suffix for suffix in COMPANIONS] if self.file else []
        listed = ", ".join(literal(path) for path in paths + self.scanned)
        if total_bytes(self._policy, self.file) < SMALL_BYTES:
            self.connection.execute("SET threads = 1")
        else:
            self.connection.execute(f"SET GLOBAL perfect_ht_threshold = {self._array_bits()}")
        self.connection.execute(f"SET allowed_paths = [{listed}]")
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def _array_bits(self) -> int:
        """How wide a range of integers, in bits, is grouped in an array instead of a hash table: that halves the CPU of
        grouping by unit. Each thread has an array, which can't be spilled, so all of them must fit the memory.
        """
        read = "SELECT parse_formatted_bytes(current_setting('memory_limit')) // current_setting('threads')"
        ((each,),) = self.connection.execute(read).fetchall()
        return min(MAX_ARRAY_BITS, max(int(each) // ARRAY_ENTRY_BYTES, 1).bit_length() - 1)

    # -- public tables

    def public_columns(self, table: Table, cursor: duckdb.DuckDBPyConnection) -> dict[str, Column]:
        """The columns of a public table, read once; see the module public_columns."""
        found = self._public_columns.get(table.name.lower())
        if found is None:
            found = public_columns.read(cursor, relation(table).sql("duckdb"), table)
            self._public_columns[table.name.lower()] = found
        return found

    # -- the .duckdb file

    def check_table(self, table: Table) -> dict[str, str]:
        """The types of a table of the attached file. Raises PolicyError if they don't fit: see database_file."""
        return database_file.check(self.connection, self._policy, table, self.file)

    def unique_columns(self, table: Table) -> tuple[frozenset[str], ...]:
        """The sets of columns that a table of the attached file itself keeps unique."""
        return database_file.unique_columns(self.connection, table)

    def attach(self) -> bool:
        """Attach the .duckdb file, if there is one. False if another process holds it for writing."""
        if self.file is None or self.attached:
            return True
        self.attached = database_file.attach(self.connection, self.file)
        return self.attached

    def detach(self) -> None:
        """Let the file go."""
        if self.attached:
            self.attached = False
            database_file.detach(self.connection)

    def close(self) -> None:
        """Forget everything of this data version."""
        with suppress(*FAULTS):
            self.connection.close()
        self.attached = False
        self._remove()
