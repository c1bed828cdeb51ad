"""Where an audit asks: the product's own session, over a twin, with recorded noise and a ledger that is not one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import cast

from dpsql.audit.chance import Random
from dpsql.audit.findings import Case
from dpsql.audit.replay import RecordingNoise, Violated, compare, compare_selected, read, record, selected_by
from dpsql.audit.twin import Twin
from dpsql.engines import Engine, open_engine
from dpsql.engines.twin import Database, TwinEngine
from dpsql.errors import EngineError, Error, InternalError
from dpsql.ledger import Ledger, Receipt, Remaining
from dpsql.policy import Column, Policy
from dpsql.privacy.loss import PrivacyLoss
from dpsql.privacy.noise import NoiseSource
from dpsql.result import Result
from dpsql.session import Compiled, Session, resolved_policy

ANALYST = "audit"
_NOW = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


class Unlimited:
    """In a ledger's place: remembers what was charged, and refuses nothing. Nothing is written."""

    def __init__(self) -> None:
        self.charges: list[Fraction] = []
        """The ε of each."""

    def charge(self, loss: PrivacyLoss, **_: object) -> Receipt:
        self.charges.append(loss.epsilon)
        return Receipt(len(self.charges), loss, _NOW, self.remaining())

    def remaining(self, *_: object) -> Remaining:
        return Remaining(None, Fraction(0))

    def admit(self, *_: object) -> Remaining:
        return self.remaining()

    def reading(self, *_: object) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        pass


class Laboratory:
    """A policy's twin, and statements asked of it with and without the rows of one unit.

    Only the public tables of the policy are read. Raises what opening an engine raises, about those.
    """

    def __init__(
        self, policy: Policy, random: Random, noise: NoiseSource | None = None, *, enforced: bool = False,
        declared: bool = False,
    ) -> None:  # fmt: skip
        """`enforced` and `declared`: see Twin. Other noise than recorded one is for answers that are looked at."""
        public = {name: table for name, table in policy.tables.items() if table.public}
        self._public = open_engine(replace(policy, tables=public))
        self.policy = resolved_policy(policy, self._public)
        self.public: dict[str, Mapping[str, Column]] = {name: self.policy.tables[name].columns for name in public}
        tables = [self._public.public_table(table) for table in public.values()]
        self.twin = Twin(self.policy, tables, random, enforced=enforced, declared=declared)
        self.noise = RecordingNoise() if noise is None else noise
        self.ledger = Unlimited()
        engine, ledger = cast(Engine, self.engine), cast(Ledger, self.ledger)
        self.session = Session(policy, engine, ledger, self.noise)

    @property
    def engine(self) -> TwinEngine:
        return self.twin.engine

    def close(self) -> None:
        self.session.close()
        self._public.close()

    def ask(self, sql: str, epsilon: object = None) -> Result:
        """The answer over the rows that the twin has now, with recorded noise. Raises Violated: it must not fail."""
        try:
            return self.session.execute(sql, epsilon=epsilon, analyst=ANALYST)
        except (EngineError, InternalError) as error:
            raise Violated(f"the accepted statement failed on some rows: {error.message}") from None

    def compiled(self, sql: str, epsilon: object = None) -> Compiled | Error:
        """The compiled statement, or why it is refused. Raises Violated where compiling or EXPLAIN fails otherwise."""
        try:
            compiled = self.session.plan(sql, epsilon=epsilon)
            self.session.explain(sql, epsilon=epsilon, analyst=ANALYST)
            return compiled
        except Error as refusal:
            if not isinstance(refusal, InternalError):
                return refusal
            raise Violated(f"the statement was neither accepted nor refused: {refusal.message}") from None
        except Exception as error:  # noqa: BLE001 - a fault of dpsql's: a finding, not the end of the audit
            raise Violated(f"the statement was neither accepted nor refused: {type(error).__name__}, {error}") from None

    def cases(
        self, sql: str, compiled: Compiled, database: Database, victims: Sequence[Database], epsilon: object = None
    ) -> Iterator[Case]:
        """Compare the answers over a database with and without each victim. Raises Violated."""
        plan = compiled.plan
        if not plan.epsilon:
            return
        self.engine.load(database)
        if any(release.selection is not None for release in plan.releases):
            yield from self._selected(sql, compiled, victims)
            return
        without = record(self, sql, epsilon)
        for victim in victims:
            with self.engine.adding(victim):
                loss = compare(plan, without, record(self, sql, epsilon))
            if self.ledger.charges[-1] < plan.epsilon:
                raise Violated("less was charged than the statement loses")
            yield Case(sql, plan.charge.epsilon, loss)

    def _selected(self, sql: str, compiled: Compiled, victims: Sequence[Database]) -> Iterator[Case]:
        found = selected_by(compiled.plan, compiled.inner)
        without = [read(self.engine, queries) for _, queries in found]
        for victim in victims:
            loss = Fraction(0)
            with self.engine.adding(victim):
                for (release, queries), before in zip(found, without, strict=True):
                    loss += compare_selected(release, queries, before, read(self.engine, queries))
            yield Case(sql, compiled.plan.charge.epsilon, loss)
