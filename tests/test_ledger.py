"""The ledger: exact, durable, never refunded, closed on every fault."""

from __future__ import annotations

import csv
import datetime as dt
import gc
import io
import json
import logging
import os
import shutil
import signal
import sqlite3
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

import dpsql.ledger.head as head_module
from dpsql.errors import (
    AnalystLocked,
    BudgetExhausted,
    InterfaceError,
    InternalError,
    InvalidParameter,
    LedgerError,
)
from dpsql.ledger import Failure, Ledger, Receipt, Remaining, Unlock, charges_csv, charges_json, writer
from dpsql.ledger.head import head_path, read_head
from dpsql.ledger.limits import Tally, period_start, renewal
from dpsql.ledger.store import Store
from dpsql.policy import Budget, Limit, Period
from dpsql.privacy.loss import PrivacyLoss
from tests import fire
from tests.harness import NIGHTLY
from tests.processes import Forked

NOW = dt.datetime(2026, 3, 4, 12, tzinfo=dt.UTC)  # a Wednesday
TENTH = PrivacyLoss(Fraction(1, 10))


def everyone(epsilon: int | Fraction | None, per: Period | None = None, delta: Fraction | None = None) -> Budget:
    return Budget(Limit(None if epsilon is None else Fraction(epsilon), delta, per))


def charge(
    ledger: Ledger,
    budget: Budget,
    loss: PrivacyLoss = TENTH,
    analyst: str = "alice",
    now: dt.datetime | None = NOW,
    query: str = "SELECT 1",
) -> Receipt:
    return ledger.charge(loss, analyst=analyst, budget=budget, query=query, now=now)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.create(path) as ledger:
        yield ledger


def spent(path: Path) -> Fraction:
    with Ledger.open(path) as ledger:
        return ledger.totals().everyone.epsilon


def refused(path: Path, words: str) -> None:
    """Opening refuses, in one sentence with a hint, without naming a path or quoting a stack."""
    with pytest.raises(LedgerError, match=words) as caught:
        Ledger.open(path)
    assert caught.value.hint
    assert str(path.parent) not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


# Charging


def test_ten_tenths_of_one_fit_exactly(ledger: Ledger) -> None:
    for count in range(1, 11):
        receipt = charge(ledger, everyone(1))
        assert receipt.number == count
        assert receipt.loss == TENTH
        assert receipt.time == NOW
        assert receipt.remaining == Remaining(1 - count * Fraction(1, 10), Fraction(0), "everyone", None)
    with pytest.raises(BudgetExhausted) as caught:
        charge(ledger, everyone(1), PrivacyLoss(Fraction(1, 10**9)))
    assert caught.value.message == (
        "the query would charge epsilon = 0.000000001, and 0 is left of the budget of everyone together (1),"
        " which does not renew"
    )
    assert caught.value.hint == "ask the owner of the data: this budget is used up for good"
    assert ledger.totals().count == 10


def test_losses_are_rounded_up_and_limits_down(ledger: Ledger) -> None:
    tiny = PrivacyLoss(Fraction(1, 10**12))
    budget = everyone(Fraction(29, 10**10))  # 2.9 units
    assert charge(ledger, budget, tiny).loss.epsilon == Fraction(1, 10**9)
    assert charge(ledger, budget, tiny).remaining.epsilon == 0
    with pytest.raises(BudgetExhausted):
        charge(ledger, budget, tiny)


def test_a_thousand_thirds_are_never_less_than_their_sum(ledger: Ledger) -> None:
    third = PrivacyLoss(Fraction(1, 3))
    for _ in range(30):
        charge(ledger, everyone(None), third)
    assert 10 <= ledger.totals().everyone.epsilon <= 10 + Fraction(30, 10**9)


def test_sums_beyond_64_bits(ledger: Ledger, path: Path) -> None:
    huge = PrivacyLoss(Fraction(2**62, 10**9) * 3, Fraction(7, 10))
    budget = everyone(10**12, delta=Fraction(5))
    for count in range(1, 5):
        assert charge(ledger, budget, huge).remaining.epsilon == 10**12 - count * huge.epsilon
    charge(ledger, everyone(10**31), PrivacyLoss(Fraction(10**30)))
    expected = 4 * huge.epsilon + 10**30
    assert ledger.totals().everyone == PrivacyLoss(expected, Fraction(28, 10))
    ledger.close()
    assert spent(path) == expected


@pytest.mark.parametrize("loss", [PrivacyLoss(Fraction(0)), PrivacyLoss(Fraction(10**32))])
def test_losses_that_cannot_be_charged(ledger: Ledger, loss: PrivacyLoss) -> None:
    with pytest.raises(InvalidParameter):
        charge(ledger, everyone(None), loss)
    assert ledger.totals().count == 0


def test_delta_needs_a_limit_that_names_it(ledger: Ledger) -> None:
    loss = PrivacyLoss(Fraction(1), Fraction(1, 10**6))
    with pytest.raises(BudgetExhausted, match=r"delta = 0\.000001, and 0 is left") as caught:
        charge(ledger, everyone(10), loss)
    assert caught.value.hint
    budget = everyone(10, delta=Fraction(2, 10**6))
    assert charge(ledger, budget, loss).remaining.delta == Fraction(1, 10**6)
    charge(ledger, budget, loss)
    with pytest.raises(BudgetExhausted):
        charge(ledger, budget, PrivacyLoss(Fraction(1), Fraction(1, 10**30)))
    own = Budget(Limit(Fraction(10)), {"bob": Limit(delta=Fraction(1, 10**6))})
    assert charge(ledger, own, loss, "bob").remaining.delta == 0
    for everyones, bobs in ((5, 9), (9, 5)):  # the lesser of the two binds
        both = Budget(Limit(None, Fraction(everyones, 10**6)), {"eve": Limit(delta=Fraction(bobs, 10**6))})
        left = ledger.remaining("eve", both).delta
        assert left == min(Fraction(everyones, 10**6) - ledger.totals().everyone.delta, Fraction(bobs, 10**6))


def test_each_analyst_and_everyone_together(ledger: Ledger) -> None:
    budget = Budget(Limit(Fraction(1)), {"alice": Limit(Fraction(1, 2)), "*": Limit(Fraction(3, 10))})
    loss = PrivacyLoss(Fraction(3, 10))
    assert ledger.remaining("alice", budget, now=NOW) == Remaining(Fraction(1, 2), Fraction(0), "analyst", None)
    assert charge(ledger, budget, loss, "bob").remaining.epsilon == 0
    with pytest.raises(BudgetExhausted, match=r"of bob \(0\.3\)"):
        charge(ledger, budget, loss, "bob")
    charge(ledger, budget, loss, "carol")
    charge(ledger, budget, loss, "alice")
    assert ledger.remaining("alice", budget, now=NOW) == Remaining(Fraction(1, 10), Fraction(0), "everyone", None)
    with pytest.raises(BudgetExhausted, match="everyone together") as caught:
        charge(ledger, budget, loss, "dora")
    assert caught.value.hint == "ask for epsilon <= 0.1: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1) …"
    totals = ledger.totals()
    assert totals.analysts == dict.fromkeys(["alice", "bob", "carol"], loss)
    assert totals.everyone == PrivacyLoss(Fraction(9, 10))


def test_without_limits_nothing_runs_out(ledger: Ledger) -> None:
    assert charge(ledger, Budget()).remaining == Remaining(None, Fraction(0))
    assert ledger.remaining("alice", Budget()) == Remaining(None, Fraction(0))


def test_a_limit_lowered_below_what_was_charged(ledger: Ledger) -> None:
    charge(ledger, everyone(5), PrivacyLoss(Fraction(5)))
    assert ledger.remaining("alice", everyone(1), now=NOW).epsilon == 0
    with pytest.raises(BudgetExhausted):
        charge(ledger, everyone(1))


def test_the_file_is_the_budget(ledger: Ledger, path: Path) -> None:
    charge(ledger, everyone(1), PrivacyLoss(Fraction(9, 10)))
    with Ledger.open(path) as other:
        charge(other, everyone(1))
        charge(other, everyone(2))  # another policy
    with pytest.raises(BudgetExhausted):
        charge(ledger, everyone(1))
    assert ledger.remaining("alice", everyone(2), now=NOW).epsilon == Fraction(9, 10)


# Analysts, times, queries


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x00", "\ud800", "a\x7f", "*", "x" * 201, "a\u2028b", None])
def test_names_that_are_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(InvalidParameter):
        charge(ledger, Budget(), analyst=name)
    with pytest.raises(InvalidParameter):
        ledger.remaining(name, Budget())


def test_a_name_is_the_same_however_it_is_composed(ledger: Ledger) -> None:
    budget = Budget(analysts={"Rene\u0301": Limit(Fraction(1, 10)), "*": Limit(Fraction(9))})
    charge(ledger, budget, analyst="Ren\u00e9")
    with pytest.raises(BudgetExhausted):
        charge(ledger, budget, analyst="Rene\u0301")
    assert len(list(ledger.charges("Rene\u0301"))) == 1
    assert ledger.remaining("Zoë", budget).epsilon == 9


def test_times_that_are_refused(ledger: Ledger) -> None:
    far = dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14)))
    for now in (NOW.replace(tzinfo=None), NOW.replace(year=9500), NOW.replace(year=1969), far):
        with pytest.raises(InvalidParameter):
            charge(ledger, Budget(), now=now)


@pytest.mark.parametrize("query", ["", "SELECT 'ü', '\x00', '\n'", "SELECT '\ud800'", "x" * 20_000, "𝄞" * 9_999])
def test_any_query_text_is_kept(ledger: Ledger, path: Path, query: str) -> None:
    charge(ledger, Budget(), query=query)
    ledger.close()
    with Ledger.open(path) as again:
        (found,) = again.charges()
    assert found.query == query[:10_000].replace("\ud800", "\\ud800")
    assert found.version


def test_charges_by_analyst_and_time(ledger: Ledger, path: Path) -> None:
    days = [NOW + dt.timedelta(days=day) for day in range(4)]
    for day, analyst in zip(days, ["a", "b", "a", "b"], strict=True):
        charge(ledger, Budget(), analyst=analyst, now=day)
    assert [each.number for each in ledger.charges()] == [1, 2, 3, 4]
    assert [each.number for each in ledger.charges("a")] == [1, 3]
    assert [each.number for each in ledger.charges("b", days[2])] == [4]
    assert [each.loss for each in ledger.charges(since=days[3])] == [TENTH]


def test_many_pages_of_charges(path: Path, ledger: Ledger) -> None:
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda _: charge(ledger, Budget()), range(2_100)))
    assert [each.number for each in ledger.charges()] == list(range(1, 2_101))
    assert read_head(head_path(path)).count == 2_100


def test_export(ledger: Ledger) -> None:
    charge(ledger, everyone(9, delta=Fraction(1)), PrivacyLoss(Fraction(1, 8), Fraction(1, 10**9)), query="=1+1")
    charge(ledger, Budget(), analyst="@ü", query="SELECT 1,\n'x'")
    text = io.StringIO()
    charges_csv(ledger.charges(), text)
    header, first, second = csv.reader(io.StringIO(text.getvalue()))
    assert header == ["number", "time", "analyst", "epsilon", "delta", "query", "version", "hash"]
    assert first[:6] == ["1", "2026-03-04T12:00:00+00:00", "alice", "0.125", "0.000000001", "'=1+1"]
    assert second[2] == "'@ü" and second[5] == "SELECT 1,\n'x'"
    text = io.StringIO()
    charges_json(ledger.charges(), text)
    rows = json.loads(text.getvalue())
    assert [row["epsilon"] for row in rows] == ["0.125", "0.1"]
    assert rows[1]["analyst"] == "@ü" and rows[0]["query"] == "=1+1"
    text = io.StringIO()
    charges_json([], text)
    assert json.loads(text.getvalue()) == []


# Periods


@pytest.mark.parametrize(
    ("per", "day", "start", "end"),
    [
        ("day", "2028-02-28", "2028-02-28", "2028-02-29"),
        ("day", "2027-12-31", "2027-12-31", "2028-01-01"),
        ("week", "2026-01-01", "2025-12-29", "2026-01-05"),  # ISO week 1 of 2026 begins in 2025
        ("week", "2027-01-03", "2026-12-28", "2027-01-04"),  # ISO week 53 of 2026 ends in 2027
        ("week", "2026-03-02", "2026-03-02", "2026-03-09"),
        ("month", "2028-02-29", "2028-02-01", "2028-03-01"),
        ("month", "2027-02-28", "2027-02-01", "2027-03-01"),
        ("month", "2026-12-31", "2026-12-01", "2027-01-01"),
        ("month", "2026-01-31", "2026-01-01", "2026-02-01"),
    ],
)
def test_calendar_periods(per: Period, day: str, start: str, end: str) -> None:
    date = dt.date.fromisoformat(day)
    assert period_start(per, date) == dt.date.fromisoformat(start)
    assert renewal(per, date) == dt.datetime.fromisoformat(end + "T00:00:00+00:00")


@pytest.mark.parametrize("per", ["day", "week", "month"])
def test_a_period_renews_at_its_boundary_and_not_before(ledger: Ledger, per: Period) -> None:
    budget = Budget(analysts={"alice": Limit(Fraction(1, 10), per=per)})
    assert charge(ledger, budget).remaining.epsilon == 0
    end = renewal(per, NOW.date())
    assert end is not None
    with pytest.raises(BudgetExhausted) as caught:
        charge(ledger, budget, now=end - dt.timedelta(microseconds=1))
    assert caught.value.hint == f"wait until {end:%Y-%m-%d} 00:00 UTC"
    assert f"per {per}" in caught.value.message
    west = end.astimezone(dt.timezone(dt.timedelta(hours=-7)))
    assert ledger.remaining("alice", budget, now=west).epsilon == Fraction(1, 10)
    charge(ledger, budget, now=west)
    with pytest.raises(BudgetExhausted):
        charge(ledger, budget, now=west)


def test_everyone_may_have_a_period_too(ledger: Ledger) -> None:
    budget = Budget(Limit(Fraction(1, 10), per="day"), {"*": Limit(Fraction(3, 10), per="month")})
    charge(ledger, budget)
    left = ledger.remaining("bob", budget, now=NOW)
    assert (left.epsilon, left.limit, left.renews) == (0, "everyone", renewal("day", NOW.date()))
    for day in (1, 2):
        charge(ledger, budget, now=NOW + dt.timedelta(days=day))
    with pytest.raises(BudgetExhausted) as caught:  # both are used up: the later renewal counts
        charge(ledger, budget, now=NOW + dt.timedelta(days=2))
    assert caught.value.hint == "wait until 2026-04-01 00:00 UTC"
    assert ledger.remaining("alice", budget, now=NOW).limit == "analyst"


def test_total_limit_outlives_periods(ledger: Ledger) -> None:
    budget = Budget(Limit(Fraction(2, 10)), {"*": Limit(Fraction(1, 10), per="day")})
    charge(ledger, budget)
    charge(ledger, budget, now=NOW + dt.timedelta(days=40))
    with pytest.raises(BudgetExhausted) as caught:
        charge(ledger, budget, now=NOW + dt.timedelta(days=80))
    assert caught.value.hint == "ask the owner of the data: this budget is used up for good"


def test_a_clock_moved_back_renews_nothing(ledger: Ledger, path: Path) -> None:
    budget = Budget(analysts={"*": Limit(Fraction(1, 10), per="day")})
    charge(ledger, budget)
    back = NOW - dt.timedelta(days=1)
    with pytest.raises(BudgetExhausted):
        charge(ledger, budget, now=back)
    assert ledger.remaining("alice", budget, now=back).epsilon == 0
    assert charge(ledger, budget, analyst="bob", now=back).time == NOW
    ledger.close()
    with Ledger.open(path) as again, pytest.raises(BudgetExhausted):
        charge(again, budget, now=back)


def test_a_tally_forgets_older_periods_only() -> None:
    tally = Tally().plus(dt.date(2026, 3, 1), 1, 10).plus(dt.date(2026, 3, 2), 2, 20)
    day = dt.date(2026, 3, 2)
    assert [tally.used(per, day) for per in (None, "day", "week", "month")] == [
        (3, 30),
        (2, 20),
        (2, 20),
        (3, 30),
    ]
    assert tally.used("month", dt.date(2026, 4, 1)) == (0, 0)


# Failures after the charge


def locked(path: Path, analyst: str = "alice") -> Ledger:
    """An open ledger in which the analyst has three failures."""
    ledger = Ledger.create(path)
    for _ in range(3):
        ledger.record_failure(charge(ledger, Budget(), analyst=analyst), analyst, now=NOW)
    return ledger


def test_three_failures_lock_an_analyst(ledger: Ledger) -> None:
    for count in range(3):
        assert ledger.failures("alice") == count
        ledger.record_failure(charge(ledger, Budget()), "alice", now=NOW)
    for _ in range(2):
        with pytest.raises(AnalystLocked) as caught:
            charge(ledger, Budget())
    assert caught.value.message == (
        "the analyst alice is locked: 3 queries failed after they were charged,"
        " and each failure may tell something about the data"
    )
    assert caught.value.hint == "the owner looks into the failures, then runs: dpsql budget CONFIG --unlock alice"
    assert caught.value.sqlstate == "55000"
    charge(ledger, Budget(), analyst="bob")
    assert ledger.failures("alice") == 3 and ledger.failures("bob") == 0


def test_a_locked_analyst_hears_of_the_lock_before_the_budget(path: Path) -> None:
    with locked(path) as ledger, pytest.raises(AnalystLocked):
        charge(ledger, everyone(0))


def test_the_owner_unlocks(path: Path) -> None:
    with locked(path) as ledger:
        ledger.unlock("alice", now=NOW)
        assert ledger.failures("alice") == 0
        ledger.record_failure(charge(ledger, Budget()).number, "alice", now=NOW)
        assert ledger.failures("alice") == 1
        ledger.unlock("alice", now=NOW)
        with pytest.raises(InvalidParameter, match="alice has no failures"):
            ledger.unlock("alice")
        with pytest.raises(InvalidParameter, match="alcie has no failures"):
            ledger.unlock("alcie")
        assert charge(ledger, Budget()).number == 11


def test_a_lock_outlives_the_process(path: Path) -> None:
    locked(path, "Rene\u0301 X").close()
    with Ledger.open(path) as ledger:
        with pytest.raises(AnalystLocked) as caught:
            charge(ledger, Budget(), analyst="Ren\u00e9 X")
        assert caught.value.hint and caught.value.hint.endswith("--unlock 'Ren\u00e9 X'")
        ledger.unlock("Rene\u0301 X")
    with Ledger.open(path) as ledger:
        charge(ledger, Budget(), analyst="Ren\u00e9 X")


@pytest.mark.slow
def test_a_lock_binds_other_processes(path: Path) -> None:
    failing = """
    ledger = Ledger.open(path)
    for _ in range(3):
        ledger.record_failure(charge(ledger), "a")
    """
    unlocking = """
    ledger = Ledger.open(path)
    try:
        charge(ledger)
    except AnalystLocked:
        ledger.unlock("a")
    """
    with Ledger.create(path) as ledger:
        charge(ledger, Budget(), analyst="a")
        finish(child(failing, path))
        with pytest.raises(AnalystLocked):
            charge(ledger, Budget(), analyst="a")
        assert ledger.failures("a") == 3
        finish(child(unlocking, path))
        assert charge(ledger, Budget(), analyst="a").number == 9


def test_failures_charge_nothing_and_are_no_charges(path: Path) -> None:
    with locked(path) as ledger:
        ledger.record_failure(charge(ledger, Budget(), analyst="bob"), "bob")
        ledger.unlock("alice")
        totals = ledger.totals()
        assert totals.count == 4
        assert totals.everyone == PrivacyLoss(Fraction(4, 10))
        assert totals.analysts == {"alice": PrivacyLoss(Fraction(3, 10)), "bob": PrivacyLoss(Fraction(1, 10))}
        assert totals.failures == {"bob": 1}
        assert [each.number for each in ledger.charges()] == [1, 3, 5, 7]
        assert [(each.number, each.analyst) for each in ledger.charges("bob")] == [(7, "bob")]
        failures = [each for each in ledger.events() if isinstance(each, Failure)]
        assert [(each.number, each.analyst, each.charge) for each in failures] == [
            (2, "alice", 1),
            (4, "alice", 3),
            (6, "alice", 5),
            (8, "bob", 7),
        ]
        (unlock,) = ledger.events("alice", failures[-1].time)
        assert isinstance(unlock, Unlock) and unlock.number == 9 and unlock.version
        assert read_head(head_path(path)) == head_module.Head(9, unlock.hash)


def test_an_unlock_of_someone_who_never_charged_is_not_a_charge(ledger: Ledger) -> None:
    charge(ledger, Budget())
    ledger.record_failure(1, "bob")
    ledger.unlock("bob")
    assert list(ledger.totals().analysts) == ["alice"]


@pytest.mark.parametrize("number", [-1, 0, 2])
def test_failures_of_no_charge_are_refused(ledger: Ledger, number: int) -> None:
    charge(ledger, Budget())
    with pytest.raises(InvalidParameter, match=f"no charge {number}"):
        ledger.record_failure(number, "alice")
    assert ledger.failures("alice") == 0


FORGIVEN = {
    "deleted": "DELETE FROM record WHERE kind = 'failure'",
    "last deleted": "DELETE FROM record WHERE number = 6",
    "another analyst's": "UPDATE record SET analyst = 'bob' WHERE number = 6",
    "an unlock": "UPDATE record SET kind = 'unlock', charge = NULL WHERE number = 6",
    "a charge": "UPDATE record SET kind = 'charge', charge = NULL WHERE number = 6",
    "another charge's": "UPDATE record SET charge = 1 WHERE number = 6",
    "unlocked": "INSERT INTO record SELECT 7, time, 'unlock', analyst, '0', '0', '', NULL, version, hash"
    " FROM record WHERE number = 6",
}  # fmt: skip


@pytest.mark.parametrize("name", FORGIVEN)
def test_failures_cannot_be_edited_away(path: Path, name: str) -> None:
    with locked(path) as ledger:
        edit(path, FORGIVEN[name])
        if "deleted" in name or name == "unlocked":
            with pytest.raises(LedgerError):
                charge(ledger, Budget())
    refused(path, "is refused")


def test_a_failure_is_written_even_if_nobody_waits(ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unlike a charge or an unlock: what failed has failed."""
    receipt = charge(ledger, Budget())
    other = head_module.HeadLock(head_path(path))
    monkeypatch.setattr(writer, "PATIENCE", 0.05)
    with other.held():
        for ask in (lambda: ledger.record_failure(receipt, "alice"), lambda: ledger.unlock("alice")):
            with pytest.raises(LedgerError, match="locked by another process"):
                ask()
    other.close()
    monkeypatch.undo()
    charge(ledger, Budget(), analyst="bob")  # after what waited
    assert ledger.failures("alice") == 1


def test_failures_of_many_threads(ledger: Ledger) -> None:
    def run(_: int) -> int:
        try:
            ledger.record_failure(charge(ledger, Budget()), "alice")
        except AnalystLocked:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        failed = sum(pool.map(run, range(50)))
    assert 3 <= failed <= 3 + 7  # and one for each query under way
    assert ledger.failures("alice") == failed
    assert ledger.totals().count == failed


# Creation and absence


def test_creation(path: Path) -> None:
    deep = path.parent / "var" / "deep" / "a b?#%.ledger"
    with Ledger.create(deep) as ledger:
        assert ledger.path == deep
        charge(ledger, Budget())
        modes = {each.name: each.stat().st_mode & 0o777 for each in deep.parent.iterdir()}
    assert set(modes.values()) == {0o600}, modes
    assert sorted(each.name for each in deep.parent.iterdir()) == [deep.name, deep.name + ".head"]
    with pytest.raises(LedgerError, match="exists"):
        Ledger.create(deep)
    assert spent(deep) == Fraction(1, 10)


def test_opening_never_creates(path: Path) -> None:
    with pytest.raises(LedgerError, match=r"the ledger clinic\.ledger does not exist") as caught:
        Ledger.open(path)
    assert caught.value.hint == "make it once with: dpsql budget CONFIG --create"
    assert list(path.parent.iterdir()) == []


def test_paths_that_cannot_be(path: Path) -> None:
    with pytest.raises(LedgerError):
        Ledger.open("a\0b")
    with pytest.raises(LedgerError):
        Ledger.open(path.parent)
    path.write_text("")
    with pytest.raises(LedgerError):
        Ledger.create(path / "below")


def test_a_symbolic_link_is_the_same_ledger(ledger: Ledger, path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    with Ledger.open(link) as other:
        charge(other, Budget())
    assert ledger.totals().count == 1
    assert not head_path(link).exists()


def test_half_made_ledgers_can_be_made_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def replace(source: object, target: object, really: Callable[..., None] = os.replace) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        really(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(LedgerError, match="disk is full"):
        Ledger.create(path)
    refused(path, "does not exist")
    Ledger.create(path).close()
    assert sorted(each.name for each in path.parent.iterdir()) == ["clinic.ledger", "clinic.ledger.head"]


def test_closing(ledger: Ledger) -> None:
    ledger.close()
    ledger.close()
    for use in (lambda: charge(ledger, Budget()), ledger.totals, lambda: ledger.remaining("a", Budget())):
        with pytest.raises(InterfaceError):
            use()


def test_a_forgotten_ledger_is_closed(path: Path) -> None:
    ledger = Ledger.create(path)
    charge(ledger, Budget())
    threads = threading.active_count()
    del ledger
    assert threading.active_count() == threads - 1
    assert not path.with_name(path.name + "-wal").exists()


def test_no_thread_to_be_had(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> None:
        raise RuntimeError("can't start new thread")

    Ledger.create(path).close()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        refused(path, "could not start a thread")
    assert spent(path) == 0


def test_closing_while_another_process_holds_the_lock(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_FAREWELL", 0.05)
    monkeypatch.setattr(writer, "PATIENCE", 0.05)
    other = head_module.HeadLock(head_path(path))
    with other.held():
        with pytest.raises(LedgerError, match="locked by another process"):
            charge(ledger, Budget())
        ledger.close()
    other.close()
    assert ledger._writer._thread is not None
    ledger._writer._thread.join(10)
    monkeypatch.undo()
    assert spent(path) == 0


def test_closing_finishes_what_waits(ledger: Ledger, path: Path) -> None:
    other = head_module.HeadLock(head_path(path))
    with ThreadPoolExecutor(9) as pool:
        with other.held():
            waiting = [pool.submit(charge, ledger, Budget()) for _ in range(8)]
            while ledger._writer._requests.qsize() < 7:
                threading.Event().wait(0.001)
            closing = pool.submit(ledger.close)
            while not ledger._writer._closed:
                threading.Event().wait(0.001)
        assert sorted(each.result().number for each in waiting) == list(range(1, 9))
        closing.result()
    other.close()
    assert spent(path) == Fraction(8, 10)


def test_closing_from_within_its_thread(ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the garbage collector runs there."""
    really = writer.sealed

    def sealed(*arguments: object, **more: object) -> object:
        ledger._writer.close()
        return really(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(writer, "sealed", sealed)
    assert charge(ledger, Budget()).number == 1
    assert ledger._writer._thread is not None
    ledger._writer._thread.join(10)
    assert not path.with_name(path.name + "-wal").exists()


def test_a_large_queue_takes_several_commits(ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_LARGEST_BATCH", 3)
    with ThreadPoolExecutor(10) as pool:
        assert len(list(pool.map(lambda _: charge(ledger, Budget()), range(10)))) == 10
    assert spent(path) == 1


# Tampering


def edit(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for name in ("records_stand", "records_stay"):
        connection.execute(f"DROP TRIGGER IF EXISTS {name}")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.fixture
def charged(path: Path) -> Path:
    with Ledger.create(path) as ledger:
        for _ in range(3):
            charge(ledger, Budget())
    return path


EDITS = {
    "amount": "UPDATE record SET epsilon = '1' WHERE number = 2",
    "analyst": "UPDATE record SET analyst = 'mallory' WHERE number = 1",
    "time": "UPDATE record SET time = '2020-01-01T00:00:00+00:00' WHERE number = 3",
    "query": "UPDATE record SET query = '' WHERE number = 3",
    "type": "UPDATE record SET analyst = x'00' WHERE number = 1",
    "number as amount": "UPDATE record SET epsilon = 'NaN' WHERE number = 1",
    "hash": "UPDATE record SET hash = 'x' WHERE number = 3",
    "last deleted": "DELETE FROM record WHERE number = 3",
    "first deleted": "DELETE FROM record WHERE number = 1",
    "all deleted": "DELETE FROM record",
    "inserted": "INSERT INTO record SELECT 0, time, kind, analyst, epsilon, delta, query, charge, version, hash"
    " FROM record WHERE number = 1",
    "appended": "INSERT INTO record SELECT 4, time, kind, analyst, epsilon, delta, query, charge, version, hash"
    " FROM record WHERE number = 3",
    "id": "UPDATE ledger SET id = 'x'",
    "no id": "DELETE FROM ledger",
    "format": "PRAGMA user_version = 9",
    "application": "PRAGMA application_id = 9",
    "table": "DROP TABLE record",
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_ledger_is_refused(charged: Path, name: str) -> None:
    edit(charged, EDITS[name])
    refused(charged, r"is refused|can't be read")


@pytest.mark.parametrize("name", ["last deleted", "all deleted", "hash", "appended", "table"])
def test_an_edit_while_open_refuses_to_charge(charged: Path, name: str) -> None:
    with Ledger.open(charged) as ledger:
        edit(charged, EDITS[name])
        for _ in range(2):
            with pytest.raises(LedgerError):
                charge(ledger, Budget())
            with pytest.raises(LedgerError):
                ledger.totals()
            with pytest.raises(LedgerError):
                list(ledger.charges())


def test_sql_cannot_take_charges_back(charged: Path) -> None:
    connection = sqlite3.connect(charged)
    for statement in ("DELETE FROM record", "UPDATE record SET epsilon = '0'"):
        with pytest.raises(sqlite3.IntegrityError, match="a record is never"):
            connection.execute(statement)
    connection.close()


def test_a_forged_row_of_wrong_content_is_refused(charged: Path) -> None:
    """Also a row whose hash is right must hold units, UTC and an order of time."""
    from dpsql.ledger.record import _hash

    with Ledger.open(charged) as ledger:
        last = list(ledger.charges())[-1]
    time = "2027-01-01T00:00:00.000000+00:00"
    good = [4, time, "charge", "a", "1", "0", "q", None, "v"]
    failure = [4, time, "failure", "a", "0", "0", "", 3, "v"]
    unlock = [4, time, "unlock", "a", "0", "0", "", None, "v"]
    for start, column, value in [
        (good, 1, "x"), (good, 1, "2027-01-01T00:00:00"), (good, 1, "2020-01-01T00:00:00+00:00"), (good, 4, "-1"),
        (good, 4, "1" * 65), (good, 5, "1.5"), (good, 4, "١"), (good, 2, "refund"), (good, 7, 3),
        (failure, 7, None), (failure, 7, 4), (failure, 7, "x"), (failure, 4, "1"), (unlock, 7, 3), (unlock, 6, "q"),
    ]:  # fmt: skip
        row = [*start]
        row[column] = value
        copy = charged.with_name("copy.ledger")
        shutil.copy(charged, copy)
        shutil.copy(head_path(charged), head_path(copy))
        connection = sqlite3.connect(copy)
        connection.execute(f"INSERT INTO record VALUES ({', '.join('?' * 10)})", (*row, _hash(last.hash, row)))
        connection.commit()
        connection.close()
        refused(copy, "is refused")


def test_an_older_copy_is_refused(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    charge(ledger, Budget())
    ledger.close()
    old = shutil.copy(path, tmp_path / "old")
    with Ledger.open(path) as again:
        charge(again, Budget())
        os.replace(shutil.copy(old, tmp_path / "older"), path)  # while it is open
        with pytest.raises(LedgerError, match="was replaced"):
            charge(again, Budget())
        assert charge(again, Budget()).number == 3  # SQLite's log was left: it makes the copy whole again
        os.replace(shutil.copy(old, tmp_path / "older"), path)
        with pytest.raises(LedgerError, match="was replaced"):
            again.totals()
        for rest in ("-wal", "-shm"):
            path.with_name(path.name + rest).unlink()
        for _ in range(2):
            with pytest.raises(LedgerError, match="older copy"):
                charge(again, Budget())
            with pytest.raises(LedgerError, match="older copy"):
                again.remaining("alice", Budget())
    refused(path, "it holds 1 records and its head knows 3: it may be an older copy")


def test_the_hint_where_only_the_head_is_left(path: Path) -> None:
    with Ledger.create(path) as ledger:
        charge(ledger, Budget())
    path.unlink()
    for attempt in (Ledger.open, Ledger.create):
        with pytest.raises(LedgerError, match="but it was charged") as caught:
            attempt(path)
        assert caught.value.hint == (
            "the head clinic.ledger.head of a charged ledger is still there: restore the ledger from a backup; "
            "to begin anew, which forgets earlier charges, remove the head"
        )
    head_path(path).write_bytes(b"spoilt")
    with pytest.raises(LedgerError, match="but it was charged"):
        Ledger.create(path)
    head_path(path).unlink()
    with pytest.raises(LedgerError, match="does not exist") as caught:
        Ledger.open(path)
    assert "--create" in (caught.value.hint or "")
    Ledger.create(path).close()


def test_a_budget_of_nothing(ledger: Ledger) -> None:
    with pytest.raises(BudgetExhausted, match="alice may not ask") as caught:
        charge(ledger, Budget(Limit(Fraction(5)), {"alice": Limit(Fraction(0))}))
    assert caught.value.hint == "ask the owner of the data for one"


def test_a_ledger_deleted_while_open(ledger: Ledger, path: Path) -> None:
    charge(ledger, Budget())
    path.unlink()
    for _ in range(2):
        with pytest.raises(LedgerError, match="does not exist"):
            charge(ledger, Budget())
    with pytest.raises(LedgerError, match="does not exist"):
        ledger.remaining("alice", Budget())
    with pytest.raises(LedgerError, match="does not exist, but it was charged"):  # its charges would be forgotten
        Ledger.create(path)
    head_path(path).unlink()
    refused(path, "does not exist")
    with pytest.raises(LedgerError, match="does not exist"):
        charge(ledger, Budget())


def test_another_ledger_in_its_place(ledger: Ledger, path: Path) -> None:
    other = path.with_name("other")
    Ledger.create(other).close()
    ledger._writer._store.close()
    os.replace(other, path)
    os.replace(head_path(other), head_path(path))
    with pytest.raises(LedgerError, match="another ledger"):
        charge(ledger, Budget())
    assert spent(path) == 0


def test_a_lost_head_is_refused(charged: Path) -> None:
    with Ledger.open(charged) as ledger:
        charge(ledger, Budget())
        head_path(charged).unlink()
        for _ in range(2):
            with pytest.raises(LedgerError, match=r"lost its head, the file clinic\.ledger\.head"):
                charge(ledger, Budget())
        with pytest.raises(LedgerError, match="lost its head"):
            ledger.totals()
    refused(charged, "lost its head")
    assert not head_path(charged).exists()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the list of open files")
def test_what_is_closed_holds_no_file(path: Path) -> None:
    """Nor does a ledger that could not be opened, or one that lost its head."""

    def held() -> list[str]:
        links = []
        for entry in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                links.append(os.readlink(entry))
        return [link for link in links if link.startswith(str(path))]

    with Ledger.create(path) as ledger:
        charge(ledger, Budget())
        assert held()
    assert not held()
    whole = head_path(path).read_bytes()
    with Ledger.open(path) as ledger:
        charge(ledger, Budget())
        head_path(path).unlink()
        with pytest.raises(LedgerError, match="lost its head"):
            charge(ledger, Budget())
        assert not any(".head" in link for link in held())
    head_path(path).write_bytes(whole.replace(b" 1 ", b" 9 "))
    with pytest.raises(LedgerError):
        Ledger.open(path)
    gc.collect()
    assert not held()


def test_the_format_of_the_file_is_the_one_that_older_versions_made(path: Path) -> None:
    Ledger.create(path).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (0x64707371,)  # "dpsq"
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_head_from_before_the_first_charge(path: Path) -> None:
    """Someone died between the first commit and its head: the ledger holds more than the head vouches for."""
    with Ledger.create(path) as ledger:
        first = head_path(path).read_bytes()
        charge(ledger, Budget())
    head_path(path).write_bytes(first)
    assert spent(path) == Fraction(1, 10)
    with Ledger.open(path) as ledger:
        charge(ledger, Budget())
    assert (spent(path), read_head(head_path(path)).count) == (Fraction(2, 10), 2)


def test_damaged_heads(charged: Path) -> None:
    head = head_path(charged)
    whole = head.read_bytes()
    newest = 0 if b" 3 " in whole[:128] else 1
    other = charged.with_name("other")
    Ledger.create(other).close()
    for data in (
        b"",
        b"\0" * 256,
        whole[:50],
        b"x" * 256,
        whole.replace(b" 3 ", b" 4 ").replace(b" 2 ", b" 9 "),
        whole.replace(b" 3 ", b" x ").replace(b" 2 ", b" y "),
    ):
        head.write_bytes(data)
        refused(charged, "head can't be read")
    head.write_bytes(head_path(other).read_bytes())
    refused(charged, "its head is another's")
    torn = bytearray(whole)
    torn[newest * 128 + 20 : newest * 128 + 60] = b"\0" * 40
    head.write_bytes(torn)  # a torn write spoils one line: the other is behind, and true
    assert spent(charged) == Fraction(3, 10)
    assert read_head(head).count == 3
    head.write_bytes(whole)
    assert spent(charged) == Fraction(3, 10)


def test_a_head_that_was_put_back_by_another_file(charged: Path) -> None:
    head = head_path(charged)
    with Ledger.open(charged) as ledger:
        copy = shutil.copy(head, head.with_name("copy"))
        charge(ledger, Budget())
        os.replace(copy, head)  # behind, but of this chain
        charge(ledger, Budget())
    assert read_head(head).count == 5


# Faults: closed and free


def test_garbage_is_refused(charged: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = bytearray(charged.read_bytes())
    charged.write_bytes(b"this is no database at all" * 100)
    with caplog.at_level(logging.ERROR, "dpsql.ledger"):
        refused(charged, "not an SQLite file")
    assert "DatabaseError" in caplog.text  # the operator's log has the cause
    charged.write_bytes(b"")
    refused(charged, "not a ledger of dpsql")
    charged.write_bytes(data[: len(data) // 2])
    refused(charged, r"is damaged|is refused")
    data[3_000:] = os.urandom(len(data) - 3_000)
    charged.write_bytes(data)
    refused(charged, r"is damaged|is refused|be read")


@pytest.mark.parametrize(
    ("number", "words"),
    [(5, "can't be read or written"), (13, "read-only"), (30, "read-only"), (122, "full")],
)
def test_faults_of_the_system(charged: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, "words of the system", "/secret")

    with Ledger.open(charged) as ledger:
        monkeypatch.setattr(os, "pread", fail)
        with pytest.raises(LedgerError, match=words) as caught:
            charge(ledger, Budget())
    assert "secret" not in str(caught.value) and "system" not in str(caught.value)


@pytest.mark.parametrize("step", ["_insert", "_commit", "begin"])
@pytest.mark.parametrize("fault", [sqlite3.OperationalError("disk I/O error: /secret"), OSError(28, "no /secret")])
def test_a_fault_before_the_commit_is_free(
    charged: Path, monkeypatch: pytest.MonkeyPatch, step: str, fault: Exception
) -> None:
    def fail(*_: object) -> None:
        raise fault

    with Ledger.open(charged) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(Store, step, fail)
            with pytest.raises(LedgerError) as caught:
                charge(ledger, everyone(1))
        assert "secret" not in str(caught.value) and caught.value.hint
        assert ledger.remaining("alice", everyone(1), now=NOW).epsilon == Fraction(7, 10)
        assert charge(ledger, everyone(1)).number == 4  # it recovers by itself
    assert spent(charged) == Fraction(4, 10)


def test_a_fault_of_ours_reaches_the_caller_and_not_the_thread(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(writer, "sealed", lambda *_, **__: 1 / 0)
        with pytest.raises(InternalError):
            charge(ledger, Budget())
    assert charge(ledger, Budget()).number == 1


def test_a_head_that_cannot_be_written(charged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first charge stands, unanswered; later ones fail before charging, until the head is mended."""
    with Ledger.open(charged) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", lambda *_: 7)
            for _ in range(3):
                with pytest.raises(LedgerError):
                    charge(ledger, Budget())
        assert ledger.totals().count == 4
        assert charge(ledger, Budget()).number == 5
    assert read_head(head_path(charged)).count == 5


def test_locked_by_another_process(charged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = head_module.HeadLock(head_path(charged))
    with Ledger.open(charged) as ledger:
        monkeypatch.setattr(writer, "PATIENCE", 0.2)
        with lock.held():
            with pytest.raises(LedgerError, match="locked by another process"):
                charge(ledger, Budget())
            assert ledger.totals().count == 3  # readers don't wait
        monkeypatch.setattr(writer, "PATIENCE", 10)
        assert charge(ledger, Budget()).number == 4  # what was given up is not charged
    lock.close()


def test_locked_by_an_sqlite_program(charged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsql.ledger.store._BUSY_SECONDS", 0.1)
    with Ledger.open(charged) as ledger:
        other = sqlite3.connect(charged)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked by another program"):
            charge(ledger, Budget())
        other.close()
        assert charge(ledger, Budget()).number == 4


def child(code: str, path: Path) -> Forked:
    """A process that runs the code, with what PRELUDE imports and the ledger's `path`."""
    return Forked(exec, PRELUDE + textwrap.dedent(code), {"path": str(path)})


PRELUDE = """
import os, resource, signal, sys
from fractions import Fraction
from dpsql.errors import *
from dpsql.ledger import *
from dpsql.ledger import writer
from dpsql.ledger.head import HeadLock
from dpsql.ledger.store import Store
from dpsql.policy import *
from dpsql.privacy.loss import PrivacyLoss
def charge(ledger, limit=None, loss=Fraction(1, 10), query="SELECT 1"):
    return ledger.charge(PrivacyLoss(loss), analyst="a", budget=Budget(Limit(limit)), query=query)
"""


def finish(process: Forked) -> str:
    output, code = process.ended()
    assert code == 0, output
    return output


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_read_only_files_as_another_user(tmp_path: Path) -> None:
    place = Path(tempfile.gettempdir()) / f"dpsql-test-{os.getpid()}"  # where any user may look
    place.mkdir(mode=0o755)
    try:
        path = place / "clinic.ledger"
        with Ledger.create(path) as ledger:
            charge(ledger, Budget())
        code = """
        os.setuid(65534)
        try:
            charge(Ledger.open(path))
        except LedgerError as error:
            print(error)
        """
        for mode in (0o000, 0o444):
            for file in (path, head_path(path)):
                file.chmod(mode)
            assert "writable" in finish(child(code, path))
        head_path(path).chmod(0o666)  # only the ledger itself is read-only
        assert "writable" in finish(child(code, path))
        assert spent(path) == Fraction(1, 10)
    finally:
        shutil.rmtree(place)


def test_read_only_database(charged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root no mode bits forbid: open the file read-only instead."""
    really = sqlite3.connect

    def connect(name: str, **options: object) -> sqlite3.Connection:
        return really(name.replace("mode=rw", "mode=ro"), **options)  # type: ignore

    monkeypatch.setattr(sqlite3, "connect", connect)
    refused(charged, "it is read-only")


# Crashes


@pytest.mark.slow
@pytest.mark.parametrize("point", fire.POINTS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_what_a_killed_process_leaves(charged: Path, point: str, when: str) -> None:
    """A charge is in the file from its COMMIT on, and in the head from the head's write on; the next goes on."""
    attack = fire.Attack(str(charged), "9", charges=2, die=point, when=when, passes=1)
    output, code = attack.start().ended()
    assert code == -signal.SIGKILL, output
    answered = len(output.split())
    durable = point == "HeadLock.write" or (point, when) == ("Store._commit", "after")
    with Ledger.open(charged) as ledger:
        assert ledger.totals().count == 3 + answered + durable
        assert charge(ledger, Budget()).number == 4 + answered + durable
    assert read_head(head_path(charged)).count == 4 + answered + durable


@pytest.mark.slow
@pytest.mark.parametrize("name", fire.scenarios(1))
def test_under_fire(name: str) -> None:
    """The scenarios of `python -m tests.fire`; those that turn on chance longer at night, and never the same."""
    seed = Random().getrandbits(32) if NIGHTLY else 1
    outcome = fire.scenarios(100 if NIGHTLY else 2, seed)[name]()
    assert not outcome.faults, f"seed {seed}: {outcome}"


def test_a_spoilt_name_that_is_no_text(charged: Path) -> None:
    """SQLite quotes it in a message, which Python's module can't decode: no sqlite3.Error."""
    data = charged.read_bytes()
    place = data.index(b"CREATE TABLE record")
    charged.write_bytes(data[:place] + b"\xa5" * 512 + data[place + 512 :])
    refused(charged, "is damaged")


# Races


def test_threads_share_one_budget(ledger: Ledger, path: Path) -> None:
    budget, granted = everyone(1), []
    loss = PrivacyLoss(Fraction(1, 100))

    def run(_: int) -> None:
        for _ in range(25):
            with suppress(BudgetExhausted):
                granted.append(ledger.charge(loss, analyst="a", budget=budget, query=""))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    assert sorted(each.number for each in granted) == list(range(1, 101))
    assert sorted(each.remaining.epsilon for each in granted) == [Fraction(left, 100) for left in range(100)]
    ledger.close()
    assert spent(path) == 1


RACE = """
ledger = Ledger.open(path)
granted = 0
for _ in range(50):
    try:
        charge(ledger, limit=Fraction(1), loss=Fraction(1, 100))
        granted += 1
    except BudgetExhausted:
        pass
print(granted)
"""


@pytest.mark.slow
def test_two_processes_share_one_budget(path: Path) -> None:
    with Ledger.create(path) as ledger:
        processes = [child(RACE, path) for _ in range(2)]
        ours = 0
        for _ in range(50):
            try:
                charge(ledger, everyone(1), PrivacyLoss(Fraction(1, 100)), now=None)
                ours += 1
            except BudgetExhausted:
                pass
        assert ours + sum(int(finish(process)) for process in processes) == 100
        assert ledger.totals().everyone.epsilon == 1


def test_creators_race(path: Path) -> None:
    def create(_: int) -> bool:
        try:
            Ledger.create(path).close()
        except LedgerError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(8))) == 1
    assert spent(path) == 0


def test_readers_beside_writers(ledger: Ledger) -> None:
    budget = everyone(5)
    with ThreadPoolExecutor(4) as pool:
        charges = [pool.submit(charge, ledger, budget) for _ in range(50)]
        for _ in range(50):
            left = ledger.remaining("alice", budget, now=NOW).epsilon
            total = ledger.totals()
            assert left is not None and total.everyone.epsilon >= 5 - left
            assert total.everyone.epsilon == Fraction(total.count, 10)
        assert len({each.result().number for each in charges}) == 50


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forks(ledger: Ledger, path: Path) -> None:
    """Parent and children charge through the ledger that was open at the fork, while threads charge too."""
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            charge(ledger, Budget())

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(4):
        if (pid := os.fork()) == 0:
            try:
                for _ in range(10):
                    charge(ledger, Budget(), analyst="child")
                ledger.close()
                os._exit(0)
            finally:
                os._exit(1)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
    stop.set()
    for thread in threads:
        thread.join()
    totals = ledger.totals()
    assert totals.analysts["child"] == PrivacyLoss(Fraction(4))
    assert [each.number for each in ledger.charges()] == list(range(1, totals.count + 1))
    ledger.close()
    assert spent(path) == totals.everyone.epsilon


def test_a_child_survives_its_parent(path: Path) -> None:
    code = """
    import time
    ledger = Ledger.open(path)
    charge(ledger)
    parent = os.getpid()
    if os.fork() == 0:
        charge(ledger)
        while os.getppid() == parent:
            time.sleep(0.01)
        print(charge(ledger).number, flush=True)
        os._exit(0)
    """
    Ledger.create(path).close()
    assert finish(child(code, path)).split() == ["3"]
    assert spent(path) == Fraction(3, 10)


# Against a model


class Model(RuleBasedStateMachine):
    """Any sequence of charges, clocks, limits, reopenings: the ledger is a list of Fractions."""

    analysts = st.sampled_from(["alice", "bob", "carol"])
    amounts = st.one_of(
        st.fractions(min_value=Fraction(1, 10**10), max_value=2, max_denominator=10**10),
        st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(1, 10**9), Fraction(2**64)]),
    )
    limits = st.builds(
        Limit,
        st.one_of(st.none(), st.fractions(min_value=0, max_value=5, max_denominator=100), st.just(Fraction(2**66))),
        st.one_of(st.none(), st.fractions(min_value=0, max_value=1, max_denominator=100)),
        st.sampled_from([None, "day", "week", "month"]),
    )
    budgets = Bundle("budgets")

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.path = Path(self.place.name, "a.ledger")
        self.ledger = Ledger.create(self.path)
        self.charges: list[tuple[dt.datetime, str, Fraction, Fraction]] = []
        self.failed = dict.fromkeys(["alice", "bob", "carol"], 0)
        self.records = 0
        self.newest = NOW - dt.timedelta(days=10**4)
        self.clock = NOW

    @initialize(target=budgets)
    def first(self) -> Budget:
        return everyone(1, delta=Fraction(1))

    @rule(target=budgets, all=limits, alice=limits, others=st.one_of(st.none(), limits))
    def budget(self, all: Limit, alice: Limit, others: Limit | None) -> Budget:
        return Budget(all, {"alice": alice} | ({"*": others} if others else {}))

    @rule(days=st.integers(-3, 40))
    def wait(self, days: int) -> None:
        self.clock += dt.timedelta(days=days, seconds=1)

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = Ledger.open(self.path)

    def now(self) -> dt.datetime:
        return max(self.clock, self.newest)

    def recorded(self) -> None:
        self.records += 1
        self.newest = self.now()

    def left(self, limit: Limit, who: str | None) -> tuple[Fraction | None, Fraction | None]:
        def begins(time: dt.datetime) -> object:
            match limit.per:
                case "day":
                    return time.date()
                case "week":
                    return time.isocalendar()[:2]
                case "month":
                    return time.year, time.month
            return None

        mine = [each for each in self.charges if who in (None, each[1]) and begins(each[0]) == begins(self.now())]
        return (
            None if limit.epsilon is None else max(Fraction(0), limit.epsilon - sum(each[2] for each in mine)),
            None if limit.delta is None else max(Fraction(0), limit.delta - sum(each[3] for each in mine)),
        )

    def lefts(self, budget: Budget, who: str) -> tuple[Fraction | None, Fraction]:
        own = budget.analysts.get(who, budget.analysts.get("*", Limit()))
        both = [self.left(budget.everyone, None), self.left(own, who)]
        epsilons = [each[0] for each in both if each[0] is not None]
        deltas = [each[1] for each in both if each[1] is not None]
        return min(epsilons, default=None), min(deltas, default=Fraction(0))

    @rule(budget=budgets, who=analysts, epsilon=amounts, delta=st.sampled_from([0, 0, 0, Fraction(1, 10**19)]))
    def charge(self, budget: Budget, who: str, epsilon: Fraction, delta: Fraction) -> None:
        up = Fraction(-(-epsilon * 10**9 // 1), 10**9)
        delta_up = Fraction(-(-delta * 10**18 // 1), 10**18)
        left, delta_left = self.lefts(budget, who)
        fits = (left is None or up <= left) and delta_up <= delta_left
        try:
            receipt = charge(self.ledger, budget, PrivacyLoss(epsilon, Fraction(delta)), who, self.clock)
        except AnalystLocked:
            assert self.failed[who] >= 3
            return
        except BudgetExhausted:
            assert not fits and self.failed[who] < 3
            return
        assert fits and self.failed[who] < 3
        self.charges.append((self.now(), who, up, delta_up))
        self.recorded()
        assert receipt.number == self.records
        assert receipt.time == self.now()
        self.agree(receipt.remaining, budget, who)

    @precondition(lambda self: self.records)
    @rule(who=analysts)
    def fail(self, who: str) -> None:
        self.ledger.record_failure(self.records, who, now=self.clock)
        self.failed[who] += 1
        self.recorded()

    @rule(who=analysts)
    def unlock(self, who: str) -> None:
        try:
            self.ledger.unlock(who, now=self.clock)
        except InvalidParameter:
            assert not self.failed[who]
            return
        self.failed[who] = 0
        self.recorded()

    @rule(budget=budgets, who=analysts)
    def ask(self, budget: Budget, who: str) -> None:
        self.agree(self.ledger.remaining(who, budget, now=self.clock), budget, who)

    def agree(self, found: Remaining, budget: Budget, who: str) -> None:
        left, delta_left = self.lefts(budget, who)
        if left is None:
            assert found.epsilon is None
        else:
            assert found.epsilon == Fraction(left * 10**9 // 1, 10**9)
        assert found.delta == Fraction(delta_left * 10**18 // 1, 10**18)

    @invariant()
    def sums(self) -> None:
        totals = self.ledger.totals()
        assert totals.count == len(self.charges)
        assert totals.everyone.epsilon == sum(each[2] for each in self.charges)
        assert totals.everyone.delta == sum(each[3] for each in self.charges)
        assert totals.failures == {who: count for who, count in self.failed.items() if count}
        assert read_head(head_path(self.path)).count == self.records

    def teardown(self) -> None:
        self.ledger.close()
        self.place.cleanup()


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
