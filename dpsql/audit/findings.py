"""What an audit found: values that text, JSON and HTML are written from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dpsql.audit.binomial import binomial_band

TENTHS = 10
"""Of ε: in so many parts cases are counted by how much of it they needed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A statement asked with and without the rows of one privacy unit.

    `loss` is the privacy loss that these two databases show (Σ |difference of the exact sums| / scale of the noise over
    all noisy numbers), `epsilon` what the statement was charged.
    """

    sql: str
    epsilon: Fraction
    loss: Fraction

    @property
    def share(self) -> float:
        """How much of what was charged was needed: 1 where the declared sensitivity was reached."""
        return float(self.loss / self.epsilon)

    @property
    def tenths(self) -> int:
        """The same in whole tenths, rounded down: 10 where all was needed, or more."""
        return min(TENTHS, int(TENTHS * self.loss / self.epsilon))


@dataclass(frozen=True, slots=True)
class Violation:
    """A statement whose answer one unit changed by more than was charged, or in a way that nothing pays for.

    `what` is one sentence. The same `seed` finds it again.
    """

    sql: str
    epsilon: Fraction
    seed: int
    what: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often intervals held the number without noise: `inside` of `draws`, at `level` (0.95)."""

    aggregate: str
    level: float
    draws: int
    inside: int

    @property
    def share(self) -> float:
        return self.inside / self.draws

    @property
    def band(self) -> tuple[int, int]:
        """The least and the greatest `inside` that chance leaves where the level is right, but for one in a million."""
        return binomial_band(self.draws, self.level, miss=1e-6)

    @property
    def held(self) -> bool:
        """Whether chance can be why so few are inside. More than the level says is no fault: noise is whole steps."""
        return self.inside >= self.band[0]


@dataclass(frozen=True, slots=True)
class TableAudit:
    """One private table.

    unit        whose its rows are, in the policy's words: `row`, `cust`, `via orders.id`
    bounds      the contribution bounds by their names in the policy: max_rows, max_groups, max_rows_per_key
    keys        the columns that have declared keys, and how many
    cases       compared pairs of databases of accepted statements that read the table
    refused     generated statements that were refused
    tightest    the case that came closest to its ε; None where there was none
    spread      how many cases needed less than a tenth of their ε, less than two tenths, ..., all of it: eleven
                numbers; none where they weren't counted
    """

    name: str
    unit: str
    bounds: tuple[tuple[str, int], ...]
    keys: tuple[tuple[str, int], ...]
    cases: int
    refused: int
    tightest: Case | None
    violations: tuple[Violation, ...]
    coverage: tuple[Coverage, ...]
    spread: tuple[int, ...] = ()

    @property
    def held(self) -> bool:
        """Whether the declared sensitivity held in every case, and the intervals their level."""
        return not self.violations and all(coverage.held for coverage in self.coverage)


@dataclass(frozen=True, slots=True)
class QueryAudit:
    """One of the owner's own queries: its first line in their file; refused (the reason), or its cases."""

    sql: str
    line: int
    refused: str | None
    cases: int
    tightest: Case | None
    violations: tuple[Violation, ...]

    @property
    def held(self) -> bool:
        """Whether what was charged bounded the privacy loss in every case; also where there was none."""
        return not self.violations


@dataclass(frozen=True, slots=True)
class Advice:
    """Something in the policy that is allowed and seldom wise: where (line 0: the file as a whole), what, and what to
    write instead.
    """

    line: int
    what: str
    hint: str


@dataclass(frozen=True, slots=True)
class Audit:
    """The whole report. `policy` is the path as it was given, `fingerprint` the policy's, `version` that of dpsql."""

    policy: str
    fingerprint: str
    version: str
    seed: int
    tables: tuple[TableAudit, ...]
    queries: tuple[QueryAudit, ...]
    advice: tuple[Advice, ...]

    @property
    def held(self) -> bool:
        """Whether everything that was tested is as it is declared."""
        return all(table.held for table in self.tables) and all(query.held for query in self.queries)

    @property
    def cases(self) -> int:
        """How many pairs of databases were compared."""
        return sum(table.cases for table in self.tables) + sum(query.cases for query in self.queries)

    @property
    def violations(self) -> Iterator[Violation]:
        """Everything that must not be: of generated statements and of the owner's."""
        for table in self.tables:
            yield from table.violations
        for query in self.queries:
            yield from query.violations
