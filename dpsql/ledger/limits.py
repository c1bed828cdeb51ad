"""How much is left: the policy's limits against the sums of the charges. Pure: no file, no clock.

Privacy: a charge is allowed only if, after it, the sum of all charges is within everyone's limit and the sum of the
analyst's charges is within theirs. By composition (privacy/loss.py) everything ever answered is then together
(ε, δ)-differentially private with the limit's ε and δ; with `per`, everything answered in one period is. All sums are
exact whole units; charges were rounded up to units and limits are rounded down, so no rounding favours the asker.
"""

from __future__ import annotations

import datetime as dt
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from dpsql.errors import BudgetExhausted
from dpsql.policy import Budget, Limit, Period
from dpsql.privacy.loss import DELTA_PLACES, EPSILON_PLACES, PrivacyLoss, decimal_text, units_below

_SPANS: tuple[Period | None, ...] = (None, "day", "week", "month")
_NOTHING = (0, 0, 0, 0)


def period_start(per: Period | None, day: dt.date) -> dt.date:
    """The first day of the calendar period (UTC) that `day` lies in. Weeks begin on Monday (ISO 8601)."""
    match per:
        case None:
            return dt.date.min
        case "day":
            return day
        case "week":
            return day - dt.timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)


def renewal(per: Period | None, day: dt.date) -> dt.datetime | None:
    """When the period that `day` lies in ends and the next begins: midnight UTC. None: never."""
    start = period_start(per, day)
    match per:
        case None:
            return None
        case "day":
            following = start + dt.timedelta(days=1)
        case "week":
            following = start + dt.timedelta(days=7)
        case "month":
            following = (start + dt.timedelta(days=31)).replace(day=1)
    return dt.datetime.combine(following, dt.time(), dt.UTC)


@lru_cache(maxsize=64)
def _starts(day: dt.date) -> tuple[dt.date, ...]:
    return tuple(period_start(per, day) for per in _SPANS)


@dataclass(frozen=True, slots=True)
class Tally:
    """What was charged in total and in the newest day, week and month: enough to decide, whatever the limits become.

    The times of charges never go back, so an older period can't be asked for again.
    """

    starts: tuple[dt.date, ...] = (dt.date.min,) * len(_SPANS)
    epsilon: tuple[int, ...] = _NOTHING
    delta: tuple[int, ...] = _NOTHING

    def plus(self, day: dt.date, epsilon: int, delta: int) -> Tally:
        """With a charge of that many units on `day`."""
        starts = _starts(day)
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


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left for one analyst: the least that everyone's and the analyst's own limit leave.

    `epsilon` None: no limit. `delta` is 0 where no limit names delta. `limit` says whose limit leaves the least epsilon,
    and `renews` when that limit begins anew (None: never).
    """

    epsilon: Fraction | None
    delta: Fraction
    limit: Literal["everyone", "analyst"] | None = None
    renews: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """One limit on one day: the units left of it (None: it does not limit this)."""

    whose: Literal["everyone", "analyst"]
    limit: Limit
    epsilon: int | None
    delta: int | None
    renews: dt.datetime | None


_NEVER = dt.datetime.max.replace(tzinfo=dt.UTC)


def standings(
    budget: Budget, analyst: str, everyone: Tally, own: Tally, day: dt.date
) -> tuple[Standing, Standing]:
    """Everyone's limit and the analyst's, as they stand on `day`."""
    return (
        _standing("everyone", budget.everyone, everyone, day),
        _standing("analyst", limit_of(budget, analyst), own, day),
    )


def limit_of(budget: Budget, analyst: str) -> Limit:
    """The limit of an analyst (a name in Unicode's form NFC): their own, or that of each other analyst, "*"."""
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
        None if limit.epsilon is None else max(0, units_below(limit.epsilon, EPSILON_PLACES) - epsilon),
        None if limit.delta is None else max(0, units_below(limit.delta, DELTA_PLACES) - delta),
        renewal(limit.per, day),
    )


def remaining(limits: tuple[Standing, Standing]) -> Remaining:
    """The least of what the limits leave; of two that leave the same, the one that renews later binds."""
    delta = Fraction(_delta_left(limits), 10**DELTA_PLACES)
    binding = _binding(limits)
    if binding is None or binding.epsilon is None:
        return Remaining(None, delta)
    return Remaining(Fraction(binding.epsilon, 10**EPSILON_PLACES), delta, binding.whose, binding.renews)


def _binding(limits: tuple[Standing, Standing]) -> Standing | None:
    bounded = [each for each in limits if each.epsilon is not None]
    return min(bounded, key=lambda each: (each.epsilon, -(each.renews or _NEVER).timestamp()), default=None)


def _delta_left(limits: tuple[Standing, Standing]) -> int:
    """Delta has no natural amount to fall back on: where no limit names it, none may be charged."""
    return min((each.delta for each in limits if each.delta is not None), default=0)


def check(loss: PrivacyLoss, analyst: str, limits: tuple[Standing, Standing]) -> None:
    """Raise BudgetExhausted unless every limit leaves at least `loss`. Charging exactly what is left is allowed."""
    binding = _binding(limits)
    if binding is not None and binding.epsilon is not None and loss.epsilon_units > binding.epsilon:
        raise _epsilon_exhausted(loss, analyst, binding, limits)
    left = _delta_left(limits)
    if loss.delta_units > left:
        raise BudgetExhausted(
            f"The query would charge delta = {_delta(loss.delta)}, and {_delta(Fraction(left, 10**DELTA_PLACES))} is"
            f" left of the budget.",
            hint="group by keys that are declared in the policy: such queries need no delta",
        )


def _epsilon_exhausted(
    loss: PrivacyLoss, analyst: str, binding: Standing, limits: tuple[Standing, Standing]
) -> BudgetExhausted:
    left = Fraction(binding.epsilon or 0, 10**EPSILON_PLACES)
    whose = "of everyone together" if binding.whose == "everyone" else f"of {analyst}"
    per = f" per {binding.limit.per}" if binding.limit.per else ""
    renews = f"renews at {_moment(binding.renews)}" if binding.renews else "does not renew"
    return BudgetExhausted(
        f"The query would charge epsilon = {decimal_text(loss.epsilon)}, and {decimal_text(left)} is left of the"
        f" budget {whose} ({decimal_text(binding.limit.epsilon or Fraction(0))}{per}), which {renews}.",
        hint=_way_out(left, limits),
    )


def _way_out(left: Fraction, limits: tuple[Standing, Standing]) -> str:
    if left > 0:
        return f"ask for epsilon <= {decimal_text(left)}"
    renewals = [each.renews for each in limits if each.epsilon == 0]
    if None in renewals:
        return "ask the owner of the data: this budget is used up for good"
    return f"wait until {_moment(max(moment for moment in renewals if moment is not None))}"


def _moment(time: dt.datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC" if time else "never"


def _delta(value: Fraction) -> str:
    return decimal_text(value, DELTA_PLACES)
