"""The attack: statements over a twin of each table, on databases that differ in the rows of one unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib import metadata

from dpsql.audit.chance import Random
from dpsql.audit.coverage import coverage
from dpsql.audit.findings import TENTHS, Audit, Case, QueryAudit, TableAudit, Violation
from dpsql.audit.laboratory import Laboratory
from dpsql.audit.lint import advice
from dpsql.audit.replay import Violated
from dpsql.audit.statements import Statements
from dpsql.audit.twin import VICTIM, Full
from dpsql.engines.twin import Database
from dpsql.errors import Error
from dpsql.policy import Policy, Table, Unit
from dpsql.session import Compiled

CASES = 200
"""Pairs of databases for each table, unless asked otherwise."""
MOST_CELLS = 5_000
"""Generated statements with more groups than that are left out: they take long and show nothing new."""
MOST_ROWS = 1_000
"""Of one unit, to reach its bound with: bounds beyond are tried up to here."""
MOST_VIOLATIONS = 5
"""Of one table: then its attack is over."""
TRIES = 6
"""Databases that each of the owner's queries is compared on."""


@dataclass(slots=True)
class _Tally:
    """What was found of one table or query so far."""

    cases: int = 0
    refused: int = 0
    tightest: Case | None = None
    violations: list[Violation] = field(default_factory=list)
    spread: list[int] = field(default_factory=lambda: [0] * (TENTHS + 1))

    def add(self, case: Case) -> None:
        self.cases += 1
        self.spread[case.tenths] += 1
        if self.tightest is None or case.share > self.tightest.share:
            self.tightest = case


def audit(
    policy: Policy, *, queries: Sequence[tuple[int, str]] = (), cases: int = CASES, seed: int | None = None
) -> Audit:
    """Attack a policy on made-up rows. No private data are read; of the policy's sources only public tables are.

    queries  the owner's own, each with its line, in the policy's dialect
    cases    pairs of databases for each table
    seed     makes the same rows and statements again; None: another one each time

    Raises PolicyError and EngineError for public tables that can't be read.
    """
    seed = Random().randrange(2**32) if seed is None else seed
    random = Random(seed)
    plain = replace(policy, dialect="duckdb")
    with ExitStack() as closing:
        made = [Laboratory(plain, random, enforced=enforced) for enforced in (False, True)[: 1 + _has_keys(policy)]]
        for each in made:
            closing.callback(each.close)
        tables = tuple(_attacked(made, table, cases, seed) for table in made[0].twin.private.values())
        owner = made[0]
        if queries and policy.dialect != "duckdb":
            owner = Laboratory(policy, random)
            closing.callback(owner.close)
        own = tuple(_asked(owner, line, sql, seed) for line, sql in queries)
    shown = policy.shown or str(policy.path)
    return Audit(shown, policy.fingerprint, metadata.version("dpsql"), seed, tables, own, advice(policy))


def _has_keys(policy: Policy) -> bool:
    """Whether an engine may keep something unique in private tables, which some of its SQL rests on."""
    return any(table.unique for table in policy.tables.values() if not table.public)


# ---------------------------------------------------------------------------------------------- tables


def _attacked(laboratories: Sequence[Laboratory], table: Table, cases: int, seed: int) -> TableAudit:
    """First what every analyst asks, with units that reach their bounds; then whatever the grammar gives."""
    name = table.name.lower()
    tally = _Tally()
    for index, made in enumerate(laboratories):
        random, private = made.twin.random, made.policy.privacy.delta is not None
        simple = list(Statements(random, made.policy, made.public).simple(name))
        plain, all_ = (cases * (2 * index + half) // (2 * len(laboratories)) for half in (1, 2))
        for sql in random.sample(simple, len(simple)):
            if tally.cases < plain:
                _try(made, sql, tally, seed, _reaching(made, table))
        for number in range(cases):
            if tally.cases < all_:
                writer = Statements(random, made.policy, made.public, private=private and number % 3 == 0)
                _try(made, writer.statement(name).sql(), tally, seed, [made.twin.neighbours()])
    covered = tuple(coverage(laboratories[0], table))
    keys = tuple((c.name, len(c.keys)) for c in table.columns.values() if c.keys is not None)
    return TableAudit(
        table.name, _unit(table), _bounds(table), keys, tally.cases, tally.refused, tally.tightest,
        tuple(tally.violations), covered, tuple(tally.spread),
    )  # fmt: skip


_Pair = tuple[Database, Sequence[Database]]
"""A database, and the victims that it is compared with and without."""


def _try(made: Laboratory, sql: str, tally: _Tally, seed: int, pairs: Iterable[_Pair]) -> None:
    """Compare the answers of a generated statement; count it where it is refused or has too many groups."""
    if len(tally.violations) >= MOST_VIOLATIONS:
        return
    compiled = _compiled(made, sql, tally, seed)
    if isinstance(compiled, Error) or (compiled is not None and cells(compiled) > MOST_CELLS):
        tally.refused += 1
    elif compiled is not None:
        _compare(made, sql, compiled, tally, seed, pairs)


def _compiled(made: Laboratory, sql: str, tally: _Tally, seed: int) -> Compiled | Error | None:
    """The compiled statement, why it is refused, or None for a violation that is noted."""
    try:
        return made.compiled(sql)
    except Violated as found:
        tally.violations.append(Violation(sql, made.policy.privacy.epsilon, seed, str(found)))
        return None


def _compare(made: Laboratory, sql: str, compiled: Compiled, tally: _Tally, seed: int, pairs: Iterable[_Pair]) -> None:
    """Compare the answers on each database with and without each of its victims, until one shows too much."""
    try:
        for database, victims in pairs:
            for case in made.cases(sql, compiled, database, victims):
                tally.add(case)
    except Violated as found:
        tally.violations.append(Violation(sql, made.policy.privacy.epsilon, seed, str(found)))


def cells(compiled: Compiled) -> int:
    """How many groups a statement's largest release has."""
    return max((release.query.cells for release in compiled.plan.releases), default=0)


def _reaching(made: Laboratory, table: Table) -> Iterator[_Pair]:
    """Nobody else, and a unit that reaches its bound: as many rows as it allows, and many more, all at one end."""
    name = table.name.lower()
    if table.unit == "row":
        ends = (Full(name, 1, upper, spread=False) for upper in (True, False))
        yield {}, [made.twin.row(name, full=full) for full in ends]
        return
    assert isinstance(table.unit, Unit)
    cap = min(table.unit.max_rows, MOST_ROWS)
    fulls = [
        Full(name, rows, upper, spread)
        for rows in (cap, 3 * cap)
        for upper in (True, False)
        for spread in (True, False)
    ]
    yield {}, [made.twin.unit(VICTIM, full=full) for full in fulls]


def _unit(table: Table) -> str:
    if not isinstance(table.unit, Unit):
        return "row"
    via = table.via
    if via is None:
        return str(table.columns[table.unit.column or ""].name)
    return "via " + ", ".join(f"{via.parent}.{column}" for column in via.parent_columns)


def _bounds(table: Table) -> tuple[tuple[str, int], ...]:
    if not isinstance(table.unit, Unit):
        return ()
    unit = table.unit
    named = (("max_rows", unit.max_rows), ("max_groups", unit.max_groups), ("max_rows_per_key", unit.max_rows_per_key))
    return tuple((name, number) for name, number in named if number is not None)


# ---------------------------------------------------------------------------------------------- the owner's queries


def _asked(made: Laboratory, line: int, sql: str, seed: int) -> QueryAudit:
    tally = _Tally()
    compiled = _compiled(made, sql, tally, seed)
    if isinstance(compiled, Error):
        return QueryAudit(sql, line, compiled.message, 0, None, ())
    if compiled is not None:
        read = {t.name.lower(): t for release in compiled.plan.releases for t in release.query.rows.tables}
        pairs = [pair for table in read.values() for pair in _reaching(made, table)]
        _compare(made, sql, compiled, tally, seed, [*pairs, *(made.twin.neighbours() for _ in range(TRIES))])
    return QueryAudit(sql, line, None, tally.cases, tally.tightest, tuple(tally.violations))
