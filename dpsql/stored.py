"""What stored answers say of the numbers of a plan whose errors depend on the data, for EXPLAIN."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction

from sqlglot import exp

from dpsql.answers import Answers, asker_of, questions
from dpsql.columns import released
from dpsql.engines import Engine
from dpsql.explain import Known
from dpsql.layouts import Family
from dpsql.plan import Plan, ReleasePlan, TooSmall, alone, count_of
from dpsql.policy import Policy
from dpsql.privacy.loss import PrivacyLoss
from dpsql.query import Call, number_name
from dpsql.rewrite.inner import Inner, inner_queries

MOST_LOOKED_UP = 2**17
"""Groups whose numbers are looked for, for one statement: some tenths of a second. EXPLAIN is free, and so bounded."""
LEAST_LOOKED_UP = 2**7
"""A look-up takes as long as so many groups, however few there are."""


class StoredNumbers:
    """The stored numbers of one analyst, each of which was asked for by itself: one number, one question.

    declared  what each question says of tables and data
    """

    def __init__(
        self, answers: Answers, policy: Policy, engine: Engine, declared: Mapping[str, object], analyst: str
    ) -> None:
        self._answers, self._policy, self._engine, self._declared = answers, policy, engine, declared
        self._asker = asker_of(policy, analyst)
        self._found: dict[Hashable, tuple[float, ...] | None] = {}
        self._left = MOST_LOOKED_UP

    def of(self, plan: Plan, inner: tuple[tuple[Inner, ...], ...]) -> dict[tuple[int, int], Known]:
        """Of each number whose error depends on the data, by the places of its release and of itself: how many rows it
        is of, from a count of just these rows at the same ε or at the policy's; of a standard deviation the number too.

        Those that aren't looked for, because there are too many, are missing, as those that aren't stored.
        """
        if not self._answers.any_of(self._asker):
            return {}
        found: dict[tuple[int, int], Known] = {}
        for index, release in enumerate(plan.releases):
            if release.selection is not None or any(query.constants for query in inner[index]):
                continue
            for position, number in enumerate(release.numbers):
                if number.way.over_rows is None:
                    continue
                rows = self._numbers(index, release, count_of(number.call), "laplace")
                if rows is None:
                    continue
                family = self._policy.privacy.mechanism
                itself = self._numbers(index, release, number.call, family) if number.way.of_root else None
                found[index, position] = Known(tuple(max(int(n), 1) for n in rows), itself)
        return found

    def _numbers(self, index: int, release: ReleasePlan, call: Call, family: Family) -> tuple[float, ...] | None:
        """The stored numbers of one call alone."""
        for epsilon in dict.fromkeys((release.epsilon, self._policy.privacy.epsilon)):
            key = index, call.identity, epsilon
            if key not in self._found:
                self._found[key] = self._look_up(release, call, epsilon, family)
            if (numbers := self._found[key]) is not None:
                return numbers
        return None

    def _look_up(self, release: ReleasePlan, call: Call, epsilon: Fraction, family: Family) -> tuple[float, ...] | None:
        if self._left <= 0:
            return None
        try:
            part = alone(release, call, epsilon, family)
        except TooSmall:  # what can't be asked isn't stored
            return None
        self._left -= max(part.query.cells, LEAST_LOOKED_UP)
        plan = Plan((part,), exp.Select(), frozenset(), part.epsilon, PrivacyLoss(Fraction(0)))
        (question,) = questions(plan, (inner_queries(part, self._engine),), self._declared)
        answer = self._answers.find(self._asker, question)
        if answer is None:
            return None
        return tuple(released(answer.noisy, part, counts="raw").columns[number_name(0)].tolist())
