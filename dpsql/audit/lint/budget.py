"""Advice on what all answers together may tell: ε, δ and how many queries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from dpsql.audit.findings import Advice
from dpsql.policy import Lines, Period, Policy
from dpsql.privacy.loss import DELTA_PLACES, decimal_text

MOST_OF_A_QUERY = Fraction(10)
"""The largest ε of one answer that still means something: the chance of an answer may turn on one person by 22,026."""
MOST_IN_A_YEAR = Fraction(20)
"""The largest ε of all answers of a year. The redistricting data of the US census of 2020 have 19.61."""
MOST_DELTA = Fraction(1, 10**5)
"""The largest δ of all answers of a year. It has to be far below one in the number of people."""
MOST_QUERIES = 10**6
"""More queries than people and dashboards ask in a year."""

_PERIODS: dict[Period, int] = {"day": 366, "week": 53, "month": 12}
_SMALL: dict[Period | None, str] = {"day": "0.05", "week": "0.35", "month": "1.5"}
"""Of an ε that renews: what stays below MOST_IN_A_YEAR."""


def _a_year(limit: Fraction, per: Period | None) -> Fraction:
    """What a limit allows within a year."""
    return limit if per is None else limit * _PERIODS[per]


def _allowed(limit: Fraction, per: Period | None, text: str) -> str:
    """`ε 5 each month, ε 60 a year`; `text` has a place for the number."""
    year = text.format(decimal_text(_a_year(limit, per), DELTA_PLACES))
    return year if per is None else f"{text.format(decimal_text(limit, DELTA_PLACES))} each {per}, {year} a year"


def _factor(epsilon: Fraction) -> str:
    """e^ε, in figures where these can be read."""
    return f"{math.exp(epsilon):,.0f}" if epsilon <= 20 else f"e^{decimal_text(epsilon)}"


def query_epsilon(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """One answer that tells nearly all: a default or a ceiling of ε above 10, or no ceiling."""
    settings, budget = policy.privacy, policy.budget
    if settings.epsilon > MOST_OF_A_QUERY:
        yield Advice(
            lines.of("privacy", "epsilon"),
            f"a query that asks for no ε has ε {decimal_text(settings.epsilon)}: one person may change the chance of "
            f"its answer by a factor of {_factor(settings.epsilon)}",
            "write epsilon: 1 under privacy, and let analysts ask for more where they need it",
        )
    own = [limit.epsilon for limit in budget.analysts.values()] if "*" in budget.analysts else [None]
    largest = None if None in own else max(limit for limit in own if limit is not None)
    at_once = min((limit for limit in (budget.everyone.epsilon, largest) if limit is not None), default=None)
    if at_once is not None and at_once <= MOST_OF_A_QUERY:
        return  # the budget is the ceiling
    if settings.max_epsilon is None:
        what = "any ε" if at_once is None else f"ε {decimal_text(at_once)}, all that the budget has,"
        yield Advice(
            lines.of("privacy"),
            f"without max_epsilon one query may ask for {what} and have next to no noise",
            "write max_epsilon: 4 under privacy, or what one answer may tell at most",
        )
    elif settings.max_epsilon > MOST_OF_A_QUERY:
        yield Advice(
            lines.of("privacy", "max_epsilon"),
            f"one query may ask for ε {decimal_text(settings.max_epsilon)}: one person may change the chance of its "
            f"answer by a factor of {_factor(settings.max_epsilon)}",
            "write max_epsilon: 4, or another that is not above 10",
        )


def yearly_epsilon(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """A budget of everyone that is no limit, or so large within a year that it promises little."""
    limit = policy.budget.everyone
    line = lines.of("budget", "epsilon")
    if limit.epsilon is None:
        yield Advice(
            line,
            "there is no budget for everyone: analysts who work together learn what all their queries tell",
            "write epsilon: 20 under budget, for everyone together",
        )
    elif (year := _a_year(limit.epsilon, limit.per)) > MOST_IN_A_YEAR:
        together = ", whatever single analysts may spend" if policy.budget.analysts else ""
        renewing = f", or epsilon: {_SMALL[limit.per]} with per: {limit.per}" if limit.per else ""
        yield Advice(
            line,
            f"everyone together may spend {_allowed(limit.epsilon, limit.per, 'ε {}')}{together}: a person is promised "
            f"a factor of {_factor(year)}, which is next to nothing",
            f"write epsilon: 20 or less, without per{renewing}",
        )


def unnamed_analysts(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Limits of analysts that another name evades."""
    budget = policy.budget
    limits = [limit.epsilon for limit in budget.analysts.values() if limit.epsilon is not None]
    common = budget.everyone.epsilon
    if limits and "*" not in budget.analysts and (common is None or min(limits) < common):
        shown = "no limit" if common is None else f"all of ε {decimal_text(common)}"
        yield Advice(
            lines.of("budget", "analysts"),
            f"an analyst who is not named here has {shown}: whoever calls themselves by another name is not bound by "
            "the limits of those who are named",
            'write "*": {epsilon: 0} under analysts if nobody else may ask, else what each other may spend',
        )


def many_queries(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Charges so small that a query can be repeated without end: so what no charge pays for, time, is averaged."""
    limit, least = policy.budget.everyone, policy.privacy.min_epsilon
    year = MOST_IN_A_YEAR if limit.epsilon is None else min(MOST_IN_A_YEAR, _a_year(limit.epsilon, limit.per))
    if year > least * MOST_QUERIES:
        yield Advice(
            lines.of("privacy", "min_epsilon"),
            f"at min_epsilon {decimal_text(least)} the budget allows {int(year / least):,} queries a year: what "
            "noise doesn't hide, the time that a query takes, can be averaged over as many",
            f"write min_epsilon: {decimal_text(year / MOST_QUERIES)} or more under privacy",
        )


def floor_above_default(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """A default ε that is charged more than it gives."""
    settings = policy.privacy
    if settings.min_epsilon > settings.epsilon:
        yield Advice(
            lines.of("privacy", "min_epsilon"),
            f"a query that asks for no ε has the noise of ε {decimal_text(settings.epsilon)} and is charged "
            f"min_epsilon, {decimal_text(settings.min_epsilon)}",
            f"write epsilon: {decimal_text(settings.min_epsilon)} under privacy, or a smaller min_epsilon",
        )


def delta(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """A δ that shows people: each has that probability of being seen among keys that are not public."""
    limit = policy.budget.everyone
    if limit.delta is not None and (year := _a_year(limit.delta, limit.per)) > MOST_DELTA:
        yield Advice(
            lines.of("budget", "delta"),
            f"everyone together may spend {_allowed(limit.delta, limit.per, 'δ {}')}: of {math.ceil(1 / year):,} "
            "people, each with a key of their own, one is to be expected among the keys that are shown",
            "write a delta far below 1 / (number of people), such as delta: 1e-6, and a smaller privacy.delta",
        )


def averaging(policy: Policy, lines: Lines) -> Iterator[Advice]:
    """Without stored answers a question may be repeated, and its noise averaged, for as long as the budget lasts."""
    if policy.answers == "off":
        yield Advice(
            lines.of("answers"),
            "no answer is stored: each time the same question is asked it has new noise, so repeating it averages the "
            "noise away, at the cost of the budget alone",
            "remove answers: off: then who asks the same again gets the same answer, free",
        )


RULES = (query_epsilon, yearly_epsilon, unnamed_analysts, many_queries, floor_above_default, delta, averaging)
