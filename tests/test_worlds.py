"""The main proof: generated statements over generated policies, on neighbouring databases.

Schemas, units, keys, bounds, physical types, rows, victims and statements are all made up. Everything that the product
accepts over private rows, found by scan, is used in several of them, or the test fails: so what is new is covered too.

    python -m tests.test_worlds WORLD INDEX 'SQL'

runs one case again, as a failure prints it. With --hypothesis-profile=nightly there are 20,000 statements, new ones
each time.
"""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from dpsql import release
from dpsql.audit import attack
from dpsql.audit.laboratory import Laboratory
from dpsql.audit.replay import Violated
from dpsql.audit.statements import Statement, Statements
from dpsql.errors import Error
from dpsql.rewrite import inner
from dpsql.session import Compiled
from tests import features
from tests.compare import Differs, same_groups
from tests.features import Feature
from tests.guided import Counts, Even
from tests.harness import NIGHTLY, ZeroNoise, examples
from tests.worlds import World

STATEMENTS = 75
"""Statements that are compared on several pairs of databases each."""
EACH = 8
"""Statements of one world."""
MEANT = 60
"""Statements that are compared with DuckDB."""
QUOTA = 1
"""In how many statements every feature is used, at least."""
PASSED = 0.9
"""How often one is passed over that has no word of what is lacking, once there are enough."""
NO_NOISE = 10**9
ACCEPTED = 0.6


def laboratory(world: int, noise: Any = None) -> Laboratory:
    random = Random(world)
    made = World(world)
    return Laboratory(made.policy(), random, noise, enforced=random.random() < 0.5, declared=noise is not None)


def wanted() -> frozenset[Feature]:
    """All that statements over private rows may use, but for sorts of group keys: test_record_replay has those."""
    private = {f for f in features.required() if f[0] not in features.OVER_NOISY_NUMBERS | features.OF_GROUP_KEYS}
    return frozenset(private) | features.required_of_units()


def compiled(made: Laboratory, world: int, index: int, sql: str) -> Compiled | None:
    """A statement for some ε; None if it is refused, or has so many groups that an audit leaves it out."""
    random = made.twin.random = Random(f"{world} {index}")
    found = made.compiled(sql, random.choice(("1", "0.000001", "0.37", "50")))
    return None if isinstance(found, Error) or attack.cells(found) > attack.MOST_CELLS else found


def replay(made: Laboratory, sql: str, statement: Compiled) -> None:
    """Compare a statement's answers over databases with and without each of some units."""
    for _ in made.cases(sql, statement, *made.twin.neighbours(), statement.plan.epsilon):
        pass


@dataclass
class Coverage(Counts):
    """How many statements were accepted, of which so many compared, and those that were refused."""

    accepted: int = 0
    compared: int = 0
    refused: list[str] = field(default_factory=list)


def _may_use(sql: str, lacking: set[Feature]) -> bool:
    """Whether a statement has the last word of something that is lacking."""
    words = set(re.findall(r"\w+", sql.lower()))
    return not lacking or any(name.lower().split()[-1] in words for _, name in lacking)


def cover(seed: int, statements: int, quota: int) -> Coverage:
    """Compare so many statements, and of more those that use what is lacking, until nothing is; or give up."""
    coverage = Coverage(wanted())
    random = Even(seed)
    with features.watching() as watch:
        for world in range(seed * 1_000_000, seed * 1_000_000 + 6 * statements // EACH):
            made = laboratory(world)
            for index in range(EACH):
                private = World(world).delta and random.random() < 0.6
                written = Statements(random, made.policy, made.public, private=private)
                lacking = coverage.lacking(quota) if coverage.compared >= statements else set()
                sql = written.statement().sql()
                while lacking and not _may_use(sql, lacking) and random.random() < PASSED:
                    sql = written.statement().sql()
                watch.clear()
                try:
                    statement = compiled(made, world, index, sql)
                    if statement is None:
                        coverage.refused.append(sql)
                        continue
                    coverage.accepted += 1
                    used = watch.used(sql, statement.plan)
                    if coverage.compared >= statements and coverage.lacking(quota).isdisjoint(used):
                        continue
                    replay(made, sql, statement)
                except Violated as found:
                    raise AssertionError(f"{found}: python -m tests.test_worlds {world} {index} {sql!r}") from None
                coverage.compared += 1
                coverage.counts.update(used)
            made.close()
            if coverage.compared >= statements and not coverage.lacking(quota):
                break
    return coverage


def _seed() -> int:
    """The same in every run of CI."""
    return secrets.randbits(32) if NIGHTLY else 0


@pytest.mark.slow
def test_generated_statements_replay_in_generated_worlds() -> None:
    seed, statements = _seed(), examples(STATEMENTS).max_examples
    coverage = cover(seed, statements, QUOTA)
    print(f"\nseed {seed}: {coverage.compared} compared, {len(coverage.refused)} refused")
    assert coverage.lacking(QUOTA) == set(), "dpsql.audit writes too few of these, or they are always refused"
    assert coverage.compared >= statements
    assert coverage.accepted >= ACCEPTED * (coverage.accepted + len(coverage.refused))


def _again(real: Any) -> Any:
    """Draws noise once more where a sum is large."""

    def noisy_block(bases: Any, exact: Any, inner: Any, positions: Any, cells: int, noise: Any) -> Any:
        if any(abs(int(total)) > 40 for sums in exact.sums for total in sums):
            noise.laplace(Fraction(1), 1)
        return real(bases, exact, inner, positions, cells, noise)

    return noisy_block


def _less(real: Any) -> Any:
    """Draws half of the noise."""

    class Halved:
        def __init__(self, noise: Any) -> None:
            self.noise = noise

        def laplace(self, scale: Fraction, size: int) -> Any:
            return self.noise.laplace(scale / 2, size)

        def cube(self, scale: Fraction, dimensions: int, size: int) -> Any:
            return self.noise.cube(scale / 2, dimensions, size)

    return lambda *args: real(*args[:-1], Halved(args[-1]))


FAULTS: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "half the noise": (release, "_noisy_block", _less),
    "one row more than the bound": (inner, "weight", lambda real: lambda full, *rest: real(full + 1, *rest)),
    "noise depends on a sum": (release, "_noisy_block", _again),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module, attribute, fault = FAULTS[name]
    monkeypatch.setattr(module, attribute, fault(getattr(module, attribute)))
    with pytest.raises(AssertionError, match=r"python -m tests\.test_worlds"):
        cover(3, 300, QUOTA)


# ---------------------------------------------------------------------------------------------- meaning


def means(made: Laboratory, world: int, index: int, statement: Statement) -> int | None:
    """Compare an answer without noise with DuckDB's own; None if it is refused. Returns how many groups are in both.

    The rows keep to all bounds, and each unit has a double, so that no group is of one unit alone: its key is shown.
    """
    compiled = made.compiled(statement.sql(), NO_NOISE)
    if isinstance(compiled, Error):
        return None
    random = made.twin.random = Random(f"{world} {index}")
    database = made.twin.doubled(random.choice((1, 3, 5)))
    made.engine.load(database)
    answer = made.session.execute(statement.sql(), epsilon=NO_NOISE, analyst="anyone").rows
    plain = made.engine.connection.execute(statement.sql(plain=True)).fetchall()
    return same_groups(statement, compiled, answer, plain, sum(map(len, database.values())))


@pytest.mark.slow
def test_generated_statements_mean_what_duckdb_says_in_generated_worlds() -> None:
    seed, statements = _seed(), examples(MEANT).max_examples
    random = Even(seed)
    coverage = Counts(features.required_forms())
    compared = met = refused = 0
    with features.watching() as watch:
        for world in range(seed * 1_000_000, seed * 1_000_000 + 6 * statements // EACH):
            made = laboratory(world, ZeroNoise())
            for index in range(EACH):
                private = World(world).delta and random.random() < 0.5
                statement = Statements(random, made.policy, made.public, private=private, plain=True).statement()
                watch.clear()
                try:
                    found = means(made, world, index, statement)
                except Differs as difference:
                    raise AssertionError(f"world {world}, {index}: {statement.sql()}\n{difference}") from None
                if found is None:
                    refused += 1
                    continue
                compared += 1
                met += found > 0
                coverage.counts.update(watch.used(statement.sql(), made.session.plan(statement.sql(), epsilon=1).plan))
            made.close()
            if compared >= statements and not coverage.lacking(1):
                break
    assert coverage.lacking(1) == set()
    assert compared >= statements
    assert met >= compared / 2
    assert compared >= ACCEPTED * (compared + refused)


if __name__ == "__main__":
    _world, _index, _sql = sys.argv[1:]
    print(World(int(_world)).text())
    _made = laboratory(int(_world))
    _statement = compiled(_made, int(_world), int(_index), _sql)
    if _statement is not None:
        replay(_made, _sql, _statement)
    print("refused" if _statement is None else "held")
