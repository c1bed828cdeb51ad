"""What an answer cost and how exact it is, in words, and what is left: for notices, and for `SHOW dpsql.budget`."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpsql.display import charged_text, rank_notes, unknown_note
from dpsql.explain import plain
from dpsql.ledger import Remaining
from dpsql.policy import Budget, Limit
from dpsql.privacy.loss import decimal_text
from dpsql.result import Result, ResultColumn, percent_text

_PERIODS = {"day": " today", "week": " this week", "month": " this month", None: ""}
MOST_NUMBERS = 8


def notice(result: Result, budget: Budget) -> str | None:
    """`charged ε 0.5, 3.5 of 5 left this month; ± at 95 %: n 6`. None where no private table was asked about.

    Of an answer that was stored it says when it was released: it costs nothing again.
    """
    privacy = result.privacy
    if not privacy.epsilon:
        return None
    cost = charged_text(privacy.epsilon_charged, privacy.delta_charged, privacy.stored)
    exact = _half_widths(result)
    level = f"± at {percent_text(privacy.level)}: {exact}" if exact else ""
    charged = f"{cost}, {left(privacy.analyst, privacy.epsilon_left, budget)}"
    return "; ".join(filter(None, (charged, level, *rank_notes(result)[:MOST_NUMBERS], unknown_note(result))))


def left(analyst: str, epsilon: Fraction | None, budget: Budget) -> str:
    """`3.5 of 5 left this month`; the limit is the analyst's own where there is one."""
    if epsilon is None:
        return "no limit"
    limit = limit_of(analyst, budget)
    of = "" if limit.epsilon is None else f" of {decimal_text(limit.epsilon)}"
    return f"{decimal_text(epsilon)}{of} left{_PERIODS[limit.per]}"


def limit_of(analyst: str, budget: Budget) -> Limit:
    """The limit of an analyst: their own, that of each other, else everyone's."""
    return budget.analysts.get(analyst) or budget.analysts.get("*") or budget.everyone


def remaining(analyst: str, found: Remaining, budget: Budget) -> str:
    """The same for what the ledger says."""
    return left(analyst, found.epsilon, budget)


def _half_widths(result: Result) -> str:
    known = [text for text in map(_half_width, result.columns) if text]
    more = ", …" if len(known) > MOST_NUMBERS else ""
    return ", ".join(known[:MOST_NUMBERS]) + more


def _half_width(column: ResultColumn) -> str:
    """`n 6`, or of a mean, whose error differs from row to row, `mean 4,925 to 6,396`.

    Nothing of what takes many draws: a notice is made with each answer, whether someone reads it or not.
    """
    if column.half_width is not None:
        return f"{column.name} {plain(column.half_width)}"
    drawn = column.intervals is not None and column.intervals.drawn
    widths = np.array(() if drawn else column.half_widths or (), dtype=np.float64)
    widths = widths[np.isfinite(widths)]
    if not len(widths):
        return ""
    low, high = plain(float(widths.min())), plain(float(widths.max()))
    return f"{column.name} {low}" if low == high else f"{column.name} {low} to {high}"
