"""The policy as values: what the rest of dpsql reads. Frozen, absolute paths, exact numbers."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from dpsql.passwords import Verifier

Key = bool | int | Fraction | str | dt.date | dt.datetime | None
"""One declared key value. None is SQL NULL; a datetime is naive and means UTC."""

Bound = Fraction | dt.date | dt.datetime
"""One end of declared bounds. A datetime is naive and means UTC."""


class Kind(Enum):
    """The kinds of column values that dpsql reasons about."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"


KEY_KINDS = frozenset(Kind) - {Kind.DOUBLE, Kind.BOOLEAN}
"""The kinds whose values can tell rows or units apart."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's declared type; precision and scale only for DECIMAL(precision, scale)."""

    kind: Kind
    precision: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        """As a policy writes it."""
        return f"decimal({self.precision},{self.scale})" if self.kind is Kind.DECIMAL else self.kind.value

    def matches(self, other: ColumnType) -> bool:
        """Whether values of both compare as they are: one kind, decimals of one scale."""
        return (self.kind, self.scale) == (other.kind, other.scale)


@dataclass(frozen=True, slots=True)
class Column:
    """One declared column of a table."""

    name: str
    type: ColumnType
    bounds: tuple[Bound, Bound] | None = None
    keys: tuple[Key, ...] | None = None
    """Declared group keys in their order; None (SQL NULL) is among them only where declared."""
    grain: Fraction | None = None
    nullable: bool = False
    description: str = ""
    line: int = 0
    unique: bool = False
    """Declared: no two rows have the same value (NULL aside)."""
    keys_from: tuple[str, str] | None = None
    """(table, column), in lower case, of the public table whose distinct values are the keys. `keys` is None
    until the data is read."""

    @property
    def holds_null(self) -> bool:
        """Whether NULL may be in it: as declared, or as one of its keys."""
        return self.nullable or (self.keys is not None and None in self.keys)


SourceKind = Literal["csv", "parquet", "table"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table's rows are: absolute path or glob of a file, or the name of a table of the engine."""

    kind: SourceKind
    location: str


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Each row of a table refers to one row of its parent: equal values in `columns` and the parent's columns.

    All names are in lower case. The parent's columns are together a key of it: no two rows have the same values there.
    """

    parent: str
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """Whose a row is: the column that names its privacy unit, or the foreign key to the row whose unit it shares.

    Either `column` (lower case) or `via` is given. Of one unit at most about `max_rows` rows count in full (a
    contribution bound): the rows of a unit with more count in proportion. `max_groups` groups with `max_rows_per_key`
    rows each are another such bound, where both are given.

    All unit columns of a policy name units of one kind: where two of them are equal, it is the same unit.
    """

    column: str | None
    via: ForeignKey | None
    max_rows: int
    max_groups: int | None = None
    max_rows_per_key: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """One declared table. `unit` is "row" where each row is a privacy unit of its own, None where it is public."""

    name: str
    source: Source
    unit: Literal["row"] | Unit | None
    columns: dict[str, Column]
    """By lower-case name. Empty for a public table that declares none: its columns are read from the data."""
    description: str = ""
    line: int = 0
    primary_key: tuple[str, ...] = ()
    """Declared: no two rows have the same values in these columns (lower case)."""

    @property
    def public(self) -> bool:
        return self.unit is None

    @property
    def via(self) -> ForeignKey | None:
        """The foreign key that leads to its unit, where the table has no column that names it."""
        return self.unit.via if isinstance(self.unit, Unit) else None

    @property
    def unique(self) -> tuple[frozenset[str], ...]:
        """The declared sets of columns in which no two rows have the same values."""
        alone = tuple(frozenset({name}) for name, column in self.columns.items() if column.unique)
        return (*alone, frozenset(self.primary_key)) if self.primary_key else alone


MechanismChoice = Literal["laplace", "auto"]
"""Where noise comes from: only ever the Laplace mechanism, or the ε-private mechanism of least variance."""


@dataclass(frozen=True, slots=True)
class PrivacySettings:
    """Epsilon of a query that asks for none, the ceiling (None: no ceiling), the floor of a charge; the mechanism."""

    epsilon: Fraction = Fraction(1)
    max_epsilon: Fraction | None = None
    min_epsilon: Fraction = Fraction(1, 1000)
    delta: Fraction | None = None
    """Of a query that groups by keys that are not public; None: there is no such query."""
    mechanism: MechanismChoice = "laplace"


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


StoredAnswers = Literal["per_analyst", "shared", "off"]
"""Who gets an answer again, free, that was released before: who asked for it, everyone, nobody."""


@dataclass(frozen=True, slots=True)
class Server:
    """How `dpsql serve` serves.

    listen             the IP address
    certificate, key   files for encryption, absolute; then no connection goes without. None: there is none
    users              the verifier of each user's password. Empty: no passwords, and the only analyst is whoever runs
                       the server
    max_connections    of all analysts together; max_connections_per_analyst of one of them, None: see `of_one`
    statement_timeout  seconds that a statement gets
    idle_timeout       seconds after which a silent connection is closed; None: never
    """

    listen: str = "127.0.0.1"
    port: int = 5432
    certificate: Path | None = None
    key: Path | None = None
    users: dict[str, Verifier] = field(default_factory=dict)
    max_connections: int = 100
    statement_timeout: float = 60.0
    idle_timeout: float | None = None
    max_connections_per_analyst: int | None = None
    tls_line: int = field(default=0, compare=False)

    @property
    def of_one(self) -> int:
        """Connections that one analyst may have: their share, but 10 where that leaves half for others. So where ten
        share a hundred, all the others together leave each their own.
        """
        if self.max_connections_per_analyst is not None:
            return self.max_connections_per_analyst
        share = self.max_connections // max(1, len(self.users))
        return max(share, min(10, -(-self.max_connections // 2)))

    @property
    def exposed(self) -> bool:
        """Whether other machines reach it, and it lacks encryption or passwords."""
        safe = self.certificate is not None and bool(self.users)
        return not safe and not ip_address(self.listen).is_loopback


@dataclass(frozen=True, slots=True)
class Policy:
    """A loaded, checked policy."""

    path: Path
    engine: str
    """"duckdb" (in memory) or "duckdb:///" followed by an absolute path."""
    dialect: str
    privacy: PrivacySettings
    budget: Budget
    ledger: Path
    tables: dict[str, Table]
    """By lower-case name."""
    counts: Literal["clamp", "raw"] = "clamp"
    """Whether a count that noise made negative is shown as 0 or as it is."""
    error_columns: bool = False
    """Whether the ends of each known interval stand as columns in the answer."""
    answers: StoredAnswers = "per_analyst"
    data_version: str | None = None
    """The owner's name for the data as they are; None: the engine looks at the files."""
    server: Server = field(default_factory=Server)
    shown: str = field(default="", compare=False)
    """The path as it was given: messages show it."""
    text: str = field(default="", repr=False)
    """The file as read."""
    fingerprint: str = ""
    """SHA-256 of path, text and the environment variables in use: where equal, the policy is the same."""
