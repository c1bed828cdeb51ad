"""What an answer cost, in words."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest

from dpsql.policy import Budget, Limit
from dpsql.result import Privacy, Result, ResultColumn, Values
from dpsql.wire.feedback import notice
from tests.harness import intervals

HALF = Fraction(1, 2)
THEN = dt.datetime(2026, 11, 30, 14, 2, 11, tzinfo=dt.UTC)
N, MEAN = (
    ResultColumn("n", "BIGINT", 6.0),
    ResultColumn("mean", "DOUBLE", None, intervals((1e4, 2e4, 0.0), (4925.0, 6396.25, float("inf")))),
)
PLAIN = ResultColumn("city", "VARCHAR")
SHARE = ResultColumn("share", "DOUBLE", noisy=True)
BUDGET = Budget(Limit(Fraction(20)), {"alice": Limit(Fraction(5), None, "month"), "free": Limit(None)})


def text(*columns: ResultColumn, analyst: str = "alice", asked: Fraction = HALF, charged: Fraction = HALF,
         left: Fraction | None = Fraction(7, 2), delta: Fraction = Fraction(0),
         stored: dt.datetime | None = None) -> str | None:  # fmt: skip
    privacy = Privacy(analyst, asked, charged, left, delta_charged=delta, stored=stored)
    return notice(Result(columns, Values([]), privacy), BUDGET)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (text(N), "charged ε 0.5, 3.5 of 5 left this month; ± at 95 %: n 6"),
        (text(PLAIN, N, MEAN), "charged ε 0.5, 3.5 of 5 left this month; ± at 95 %: n 6, mean 4,925 to 6,396.25"),
        (text(PLAIN), "charged ε 0.5, 3.5 of 5 left this month"),
        (text(N, SHARE), "charged ε 0.5, 3.5 of 5 left this month; ± at 95 %: n 6; no ± is known of share"),
        (text(N, analyst="bob"), "charged ε 0.5, 3.5 of 20 left; ± at 95 %: n 6"),
        (text(N, analyst="free", left=None), "charged ε 0.5, no limit; ± at 95 %: n 6"),
        (text(delta=Fraction(1, 10**6)), "charged ε 0.5 and δ 0.000001, 3.5 of 5 left this month"),
        (text(N, charged=Fraction(0), stored=THEN),
         "nothing charged (stored 2026-11-30 14:02:11 UTC), 3.5 of 5 left this month; ± at 95 %: n 6"),
        (text(N, stored=THEN),
         "charged ε 0.5 (partly stored 2026-11-30 14:02:11 UTC), 3.5 of 5 left this month; ± at 95 %: n 6"),
        (text(asked=Fraction(0), charged=Fraction(0)), None),
        (text(*[N] * 9), "charged ε 0.5, 3.5 of 5 left this month; ± at 95 %: " + "n 6, " * 8 + "…"),
    ],
)  # fmt: skip
def test_notices(found: str | None, expected: str | None) -> None:
    assert found == expected
