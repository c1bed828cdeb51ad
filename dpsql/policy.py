"""The policy: everything that a deployment decides, read from one YAML file.

This module holds the text of the policy only. Comparing it with the data is the session's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Literal

import datetime as dt

Key = bool | int | Fraction | str | dt.date | dt.datetime | None
"""One declared key value. None is SQL NULL."""


class Kind(Enum):
    """The kinds of column values that dpsql reasons about."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's declared type; precision and scale only for DECIMAL(precision, scale)."""

    kind: Kind
    precision: int | None = None
    scale: int | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One declared column of a table."""

    name: str
    type: ColumnType
    bounds: tuple[Fraction | dt.date | dt.datetime, Fraction | dt.date | dt.datetime] | None = None
    keys: tuple[Key, ...] | None = None
    """Declared group keys in their order; None (SQL NULL) is among them only where declared."""
    grain: Fraction | None = None
    nullable: bool = False
    description: str = ""
    line: int = 0


SourceKind = Literal["csv", "parquet", "table"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table's rows are: absolute path or glob of a file, or the name of a table of the engine."""

    kind: SourceKind
    location: str


@dataclass(frozen=True, slots=True)
class Table:
    """One declared table. `unit` is "row" for private tables (each row is one privacy unit), None for public."""

    name: str
    source: Source
    unit: Literal["row"] | None
    columns: dict[str, Column]
    """By lower-case name. Empty for a public table that declares none: its columns are read from the data."""
    description: str = ""
    line: int = 0

    @property
    def public(self) -> bool:
        return self.unit is None


@dataclass(frozen=True, slots=True)
class PrivacySettings:
    """Epsilon of a query that asks for none, the owner's ceiling (None: no ceiling), the floor of a charge."""

    epsilon: Fraction = Fraction(1)
    max_epsilon: Fraction | None = None
    min_epsilon: Fraction = Fraction(1, 1000)


Period = Literal["day", "week", "month"]


@dataclass(frozen=True, slots=True)
class Limit:
    """A budget: epsilon and delta in total, or per calendar period (UTC)."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    per: Period | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """`everyone` together, and each analyst by name; "*" is each analyst who is not named."""

    everyone: Limit = Limit()
    analysts: dict[str, Limit] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """A loaded, checked policy."""

    path: Path
    engine: str
    dialect: str
    privacy: PrivacySettings
    budget: Budget
    ledger: Path
    tables: dict[str, Table]
    """By lower-case name."""
    counts: Literal["clamp", "raw"] = "clamp"
    """Whether a count that noise made negative is shown as 0 or as it is."""
    text: str = ""
    """The file as read: its hash is part of every plan's cache key."""
