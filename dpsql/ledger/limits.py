"""How much is left: the policy's limits against the sums of the charges. Pure: no file, no clock.

Privacy: a charge is allowed only if, after it, the sum of all charges is within everyone's limit and the sum
of the analyst's charges is within theirs. By composition (privacy/loss.py) everything ever answered is then
together (ε, δ)-differentially private with the limit's ε and δ; with `per`, everything answered in one period
is. All sums are exact whole units; charges were rounded up to units and limits are rounded down, so no
rounding favours the asker.
"""

from __future__ import annotations

import datetime as dt
import shlex
import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from dpsql.errors import AnalystLocked, BudgetExhausted
from dpsql.policy import Budget, Limit, Period
from dpsql.privacy.loss import DELTA_PLACES, EPSILON_PLACES, PrivacyLoss, decimal_text, units_below

MAX_FAILURES = 3
"""An analyst with so many failures since the last unlock is locked."""
_SPANS: tuple[Period | None, ...] = (None, "day", "week", "month")
_ZEROS = (0, 0, 0, 0)


def period_start(per: Period | None, day: dt.date) -> dt.date:
    """The first day of the calendar period (UTC) that `day` lies in. Weeks begin on Monday (ISO 8601)."""
    if per is None:
        return dt.date.min
    if per == "day":
        return day
    if per == "week":
        return day - dt.timedelta(days=day.weekday())
    return day.replace(day=1)


def renewal(per: Period | None, day: dt.date) -> dt.datetime | None:
    """When the period that `day` lies in ends and the next begins: midnight UTC. None: never."""
    if per is None:
        return None
    start = period_start(per, day)
    if per == "month":
        following = (start + dt.timedelta(days=31)).replace(day=1)
    else:
        following = start + dt.timedelta(days=1 if per == "day" else 7)
    return dt.datetime.combine(following, dt.time(), dt.UTC)


@lru_cache(maxsize=64)
def _starts(day: dt.date) -> tuple[dt.date, ...]:
    return tuple(period_start(per, day) for per in _SPANS)


@dataclass(frozen=True, slots=True)
class Tally:
    """What was charged in total and in the newest day, week and month: enough to decide, whatever the limits
    become.

    The times of charges never go back, so an older period can't be asked for again.
    """

    starts: tuple[dt.date, ...] = (dt.date.min,) * len(_SPANS)
    epsilon: tuple[int, ...] = _ZEROS
    delta: tuple[int, ...] = _ZEROS

    def plus(self, day: dt.date, epsilon: int, delta: int) -> Tally:
        """With a charge of that many units on `day`."""
        starts = _starts(day)
        if starts == self.starts:
            return Tally(starts, tuple([e + epsilon for e in self.epsilon]), tuple([d + delta for d in self.delta]))
        kept = [old == new for old, new in zip(self.starts, starts, strict=True)]
        return Tally(
            starts,
            tuple(units * same + epsilon for units, same in zip(self.epsilon, kept, strict=True)),
            tuple(units * same + delta for units, same in zip(self.delta, kept, strict=True)),
        )

    def used(self, per: Period | None, day: dt.date) -> tuple[int, int]:
        """The units of (ε, δ) charged in the period that `day` lies in."""
        span = _SPANS.index(per)
        if self.starts[span] != period_start(per, day):
            return 0, 0
        return self.epsilon[span], self.delta[span]

    @property
    def total(self) -> PrivacyLoss:
        """Everything ever charged."""
        return PrivacyLoss.from_units(self.epsilon[0], self.delta[0])


NOTHING = Tally()
"""Nothing charged yet."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left for one analyst: the least that everyone's and the analyst's own limit leave.

    `epsilon` None: no limit. `delta` is 0 where no limit names delta. `limit` says whose limit leaves the
    least epsilon, and `renews` when that limit begins anew (None: never).
    """

    epsilon: Fraction | None
    delta: Fraction
    limit: Literal["everyone", "analyst"] | None = None
    renews: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """One limit on one day, and the units left of it (None: it does not limit this)."""

    whose: Literal["everyone", "analyst"]
    limit: Limit
    day: dt.date
    epsilon: int | None
    delta: int | None

    @property
    def renews(self) -> dt.datetime | None:
        """When it begins anew. None: never."""
        return renewal(self.limit.per, self.day)

    def less(self, epsilon: int, delta: int) -> Standing:
        """After a charge, which it had enough left for."""
        return replace(
            self,
            epsilon=None if self.epsilon is None else self.epsilon - epsilon,
            delta=None if self.delta is None else self.delta - delta,
        )


Standings = tuple[Standing, Standing]
"""Everyone's limit and the analyst's."""
_NEVER = dt.datetime.max.replace(tzinfo=dt.UTC)


def standings(budget: Budget, analyst: str, everyone: Tally, own: Tally, day: dt.date) -> Standings:
    """The limits as they stand on `day`."""
    return (
        _standing("everyone", budget.everyone, everyone, day),
        _standing("analyst", limit_of(budget, analyst), own, day),
    )


def limit_of(budget: Budget, analyst: str) -> Limit:
    """The limit of an analyst (a name in Unicode's form NFC): their own, or that of each other, "*"."""
    limits = budget.analysts
    if analyst in limits:
        return limits[analyst]
    if not analyst.isascii():
        for name, limit in limits.items():
            if unicodedata.normalize("NFC", name) == analyst:
                return limit
    return limits.get("*", Limit())


def _standing(whose: Literal["everyone", "analyst"], limit: Limit, tally: Tally, day: dt.date) -> Standing:
    epsilon, delta = tally.used(limit.per, day)
    return Standing(
        whose,
        limit,
        day,
        None if limit.epsilon is None else max(0, units_below(limit.epsilon, EPSILON_PLACES) - epsilon),
        None if limit.delta is None else max(0, units_below(limit.delta, DELTA_PLACES) - delta),
    )


def remaining(limits: Standings) -> Remaining:
    """The least of what the limits leave; of two that leave the same, the one that renews later binds."""
    delta = Fraction(_delta_left(limits), 10**DELTA_PLACES)
    binding = _binding(limits)
    if binding is None:
        return Remaining(None, delta)
    return Remaining(_epsilon_left(binding), delta, binding.whose, binding.renews)


def check(epsilon: int, delta: int, analyst: str, limits: Standings) -> None:
    """Raise BudgetExhausted unless both limits leave that many units. All that is left may be charged."""
    binding = _binding(limits)
    if binding is not None and epsilon > (binding.epsilon or 0):
        raise _epsilon_exhausted(epsilon, analyst, binding, limits)
    left = _delta_left(limits)
    if delta > left:
        raise BudgetExhausted(
            f"the query would charge delta = {_delta(delta)}, and {_delta(left)} is left of the budget",
            hint="group by keys that are declared in the policy: such queries need no delta",
        )


def check_unlocked(analyst: str, failures: int) -> None:
    """Raise AnalystLocked if the analyst has too many failures."""
    if failures >= MAX_FAILURES:
        raise AnalystLocked(
            f"the analyst {analyst} is locked: {failures} queries failed after they were charged,"
            " and each failure may tell something about the data",
            hint=f"the owner looks into the failures, then runs: dpsql budget CONFIG --unlock {shlex.quote(analyst)}",
        )


def check_entitled(analyst: str, budget: Budget) -> None:
    """Raise BudgetExhausted if the policy gives the analyst no budget at all: not one that is used up."""
    if limit_of(budget, analyst).epsilon == 0:
        raise _not_entitled(analyst)


def _not_entitled(analyst: str) -> BudgetExhausted:
    return BudgetExhausted(
        f"{analyst} may not ask: the policy gives this analyst no budget", hint="ask the owner of the data for one"
    )


def _binding(limits: Standings) -> Standing | None:
    """The limit that leaves the least epsilon. None: neither limits it."""
    everyone, own = limits
    if everyone.epsilon is None or own.epsilon is None:
        return own if everyone.epsilon is None and own.epsilon is not None else _if_limited(everyone)
    if everyone.epsilon != own.epsilon:
        return everyone if everyone.epsilon < own.epsilon else own
    return max(limits, key=lambda each: each.renews or _NEVER)


def _if_limited(standing: Standing) -> Standing | None:
    return standing if standing.epsilon is not None else None


def _epsilon_left(binding: Standing) -> Fraction:
    return Fraction(binding.epsilon or 0, 10**EPSILON_PLACES)


def _delta_left(limits: Standings) -> int:
    """Units. No limit on delta means none to charge, unlike epsilon: a policy that wants delta names it."""
    return min((each.delta for each in limits if each.delta is not None), default=0)


def _epsilon_exhausted(epsilon: int, analyst: str, binding: Standing, limits: Standings) -> BudgetExhausted:
    if binding.whose == "analyst" and not binding.limit.epsilon:
        return _not_entitled(analyst)
    asked, left = Fraction(epsilon, 10**EPSILON_PLACES), _epsilon_left(binding)
    whose = "of everyone together" if binding.whose == "everyone" else f"of {analyst}"
    per = f" per {binding.limit.per}" if binding.limit.per else ""
    renews = f"renews at {_moment(binding.renews)}" if binding.renews else "does not renew"
    return BudgetExhausted(
        f"the query would charge epsilon = {decimal_text(asked)}, and {decimal_text(left)} is left of the"
        f" budget {whose} ({decimal_text(binding.limit.epsilon or Fraction(0))}{per}), which {renews}",
        hint=_way_out(left, limits),
    )


def _way_out(left: Fraction, limits: Standings) -> str:
    if left > 0:
        most = decimal_text(left)
        return f"ask for epsilon <= {most}: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {most}) …"
    last = max(each.renews or _NEVER for each in limits if each.epsilon == 0)
    if last == _NEVER:
        return "ask the owner of the data: this budget is used up for good"
    return f"wait until {_moment(last)}"


def _moment(time: dt.datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _delta(units: int) -> str:
    return decimal_text(Fraction(units, 10**DELTA_PLACES), DELTA_PLACES)
