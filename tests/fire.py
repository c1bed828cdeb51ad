"""The ledger under fire: races, kills, full disks, torn writes, clocks and copies, and what is left of it afterwards.

Each scenario does its worst to a ledger of its own, in other processes, and notes who got a receipt. Then the file is
opened as the next process would, and judged:

* what was charged is at least what was released: each receipt is of a charge in the file, and no two are of one;
* nothing is refused that is left: all that the file leaves of the limit can be charged, to the last unit, and no more;
* what can't be trusted is refused: a LedgerError with a hint, until the files are whole again.

`python -m tests.fire` runs all scenarios and prints a table; `--rounds N` repeats those that turn on chance.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from dpsql.errors import BudgetExhausted, LedgerError
from dpsql.ledger import Ledger
from dpsql.ledger import writer as ledger_writer
from dpsql.ledger.head import HeadLock, head_path
from dpsql.ledger.store import Store
from dpsql.policy import Budget, Limit, load
from dpsql.privacy.loss import PrivacyLoss
from dpsql.session import open_session
from dpsql.table import Head, table
from tests.processes import Forked

EACH = Fraction(1, 100)
"""What one charge costs."""
UNIT = Fraction(1, 10**9)
NOW = dt.datetime(2026, 3, 4, 12, tzinfo=dt.UTC)
POINTS: Mapping[str, object] = {
    "Store.begin": Store, "Store._insert": Store, "Store._commit": Store, "HeadLock.read": HeadLock,
    "HeadLock.write": HeadLock, "writer.sealed": ledger_writer,
}  # fmt: skip
"""The steps of the protocol (dpsql/ledger/head.py), by what they are steps of."""


@dataclass
class Outcome:
    """What a scenario did, and what the file says. `released`: the numbers of the charges that callers have receipts
    for; `asked` of them; `exhausted`: refused by the budget; `closed`: refused by a LedgerError."""

    scenario: str
    limit: Fraction
    asked: int = 0
    released: list[int] = field(default_factory=list, repr=False)
    exhausted: int = 0
    closed: int = 0
    charged: int = 0
    left: Fraction = Fraction(0)
    faults: list[str] = field(default_factory=list)

    def judge(self, path: Path) -> Outcome:
        """Open the ledger as the next process does, and hold it to what the module promises."""
        with Ledger.open(path) as ledger:
            totals = ledger.totals()
            self.charged = totals.count
            numbers = {charge.number for charge in ledger.charges()}
            left = ledger.remaining("a", Budget(Limit(self.limit)), now=NOW).epsilon
            assert left is not None
            self.left = left
            self._check(len(set(self.released)) == len(self.released), "two receipts are of one charge")
            self._check(set(self.released) <= numbers, "a receipt is of no charge in the file")
            self._check(totals.everyone.epsilon == self.charged * EACH, "a charge was lost or written twice")
            self._check(left == max(Fraction(0), self.limit - totals.everyone.epsilon), "what is left is wrong")
            if self.exhausted:
                self._check(left < EACH, "a charge was refused that was left")
            if left:
                charge(ledger, self.limit, left)
            try:
                charge(ledger, self.limit, UNIT)
                self._check(False, "more was charged than the limit")
            except BudgetExhausted:
                pass
        return self

    def judged(self, path: Path) -> Outcome:
        """The same where nothing is wrong with the files: no error is right."""
        try:
            return self.judge(path)
        except LedgerError as error:
            self.faults.append(f"it is refused: {error.message}")
            return self

    def _check(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)

    @property
    def row(self) -> tuple[str, ...]:
        return (
            self.scenario, str(self.asked), str(len(self.released)), str(self.charged), f"{float(self.left):g}",
            str(self.exhausted), str(self.closed), "; ".join(self.faults) or "holds",
        )  # fmt: skip


HEADS = [Head("scenario"), *(Head(name, right=True) for name in ("asked", "released", "charged", "ε left", "exhausted",
         "closed")), Head("verdict")]  # fmt: skip


def charge(ledger: Ledger, limit: Fraction, loss: Fraction = EACH, **more: Any) -> int:
    """Charge one analyst; the number of the charge."""
    query = more.pop("query", "SELECT 1")
    return ledger.charge(PrivacyLoss(loss), analyst="a", budget=Budget(Limit(limit, **more)), query=query,
                         now=NOW).number  # fmt: skip


# ---------------------------------------------------------------------------------------------- other processes


@dataclass(frozen=True)
class Attack:
    """What a process does: `threads` that ask for `charges` each, and what happens to it.

    die      the step of the protocol at which it is killed, "before" or "after" it
    passes   how many times the step is passed before
    bytes    to how much its files may grow: a full disk
    nobody   it is another user's, who may not write the files
    policy   it asks queries under this policy, instead of charging the ledger
    """

    path: str
    limit: str
    threads: int = 1
    charges: int = 1
    die: str = ""
    when: str = "before"
    passes: int = 0
    bytes: int = 0
    nobody: bool = False
    policy: str = ""

    def start(self) -> Forked:
        return Forked(self.run)

    def run(self) -> None:
        """In the process: a line for each request, with the number of the charge, or why there is none."""
        ask = self._asking()
        if self.die:
            self._arm()
        if self.nobody and os.geteuid() == 0:
            os.setuid(65534)
        if self.bytes:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.bytes, resource.RLIM_INFINITY))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        threads = [threading.Thread(target=self._thread, args=(ask,)) for _ in range(self.threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _asking(self) -> Callable[[], int]:
        if self.policy:
            session = open_session(load(self.policy))
            sql = "SELECT COUNT(*) FROM t"
            return lambda: session.execute(sql, epsilon=EACH, analyst="a").rows[0][0] * 0
        if self.nobody:  # opens it each time: it can't
            return lambda: charge(Ledger.open(self.path), Fraction(self.limit))
        ledger = Ledger.open(self.path)
        query = "x" * 3_000 if self.bytes else "SELECT 1"
        return lambda: charge(ledger, Fraction(self.limit), query=query)

    def _thread(self, ask: Callable[[], int]) -> None:
        for _ in range(self.charges):
            try:
                line = str(ask())
            except BudgetExhausted:
                line = "exhausted"
            except LedgerError as error:
                line = "closed" if error.hint else "without a hint"
            os.write(1, f"{line}\n".encode())

    def _arm(self) -> None:
        owner, name = POINTS[self.die], self.die.partition(".")[2]
        really, passed = getattr(owner, name), [0]

        def kill(*arguments: Any, **more: Any) -> Any:
            passed[0] += 1
            if passed[0] <= self.passes:
                return really(*arguments, **more)
            if self.when == "after":
                really(*arguments, **more)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(owner, name, kill)


def collect(outcome: Outcome, process: Forked, *, killed: bool = False) -> int:
    """Wait for a process, and count what it printed: how many lines. The last line of a killed one may be cut."""
    printed, code = process.ended()
    lines = printed.split("\n")[:-1]
    if code != (-signal.SIGKILL if killed else 0):
        outcome.faults.append(f"a process ended with {code}")
    for line in lines:
        outcome.exhausted += line == "exhausted"
        outcome.closed += line == "closed"
        if line.isdigit():
            outcome.released.append(int(line))
        elif line not in ("exhausted", "closed"):
            outcome.faults.append(line)
    return len(lines)


@contextmanager
def new_ledger() -> Iterator[Path]:
    """An empty ledger in a folder of its own, which others may look into."""
    with tempfile.TemporaryDirectory(prefix="dpsql-fire-") as folder:
        os.chmod(folder, 0o755)
        path = Path(folder).resolve() / "the.ledger"
        Ledger.create(path).close()
        yield path


# ---------------------------------------------------------------------------------------------- scenarios


def race(processes: int, threads: int, charges: int) -> Outcome:
    """All ask for more than there is."""
    asked = processes * threads * charges
    outcome = Outcome(
        f"{processes} process{'es' * (processes > 1)} of {threads} threads", EACH * (asked * 3 // 4) + UNIT, asked
    )
    with new_ledger() as path:
        attack = Attack(str(path), str(outcome.limit), threads, charges)
        for process in [attack.start() for _ in range(processes)]:
            collect(outcome, process)
        return outcome.judged(path)


def killed_at(point: str, when: str) -> Outcome:
    """`kill -9` at a step of the protocol, in the midst of charges of several threads; then the next goes on."""
    outcome = Outcome(f"kill -9 {when} {point.partition('.')[2].strip('_')}", Fraction(1), 40)
    with new_ledger() as path:
        collect(
            outcome, Attack(str(path), "1", threads=4, charges=10, die=point, when=when, passes=5).start(), killed=True
        )
        return outcome.judged(path)


def killed_at_any_time(rounds: int, seed: int) -> Outcome:
    """`kill -9` of two processes of four threads, at moments that nothing announces."""
    outcome, random = Outcome("kill -9 at any moment", Fraction(10**6)), Random(seed)
    with new_ledger() as path:
        attack = Attack(str(path), str(outcome.limit), threads=4, charges=10**6)
        for _ in range(rounds):
            processes = [attack.start() for _ in range(2)]
            for process in processes:
                outcome.released.append(int(process.stdout.readline()))
            time.sleep(random.uniform(0.01, 0.2))
            for process in processes:
                process.kill()
            for process in processes:
                collect(outcome, process, killed=True)
        outcome.asked = len(outcome.released) + 8 * rounds
        outcome.judged(path)
    if outcome.charged > outcome.asked:  # a charge that no one was told of is one that a thread waited for
        outcome.faults.append("more was charged than asked")
    return outcome


POLICY = """
dpsql: 1
budget: {epsilon: 1000000}
answers: off
ledger: the.ledger
tables: {t: {source: t.csv, unit: row, columns: {n: {type: integer, bounds: [0, 9]}}}}
"""


def killed_answering(rounds: int, seed: int) -> Outcome:
    """The same end to end: sessions that answer queries. A line that came out is an answer that was released."""
    outcome, random = Outcome("kill -9 of sessions that answer", Fraction(10**6)), Random(seed)
    answers = 0
    with new_ledger() as path:
        (path.parent / "t.csv").write_text("n\n1\n2\n")
        (path.parent / "policy.yaml").write_text(POLICY)
        attack = Attack(str(path), "0", threads=3, charges=10**6, policy=str(path.parent / "policy.yaml"))
        for _ in range(rounds):
            _unlock(path)
            processes = [attack.start() for _ in range(2)]
            for process in processes:
                answers += bool(process.stdout.readline())
            time.sleep(random.uniform(0.01, 0.3))
            for process in processes:
                process.kill()
            for process in processes:
                answers += collect(outcome, process, killed=True)
        with Ledger.open(path) as ledger:  # which charge an answer is of is not told: how many there are is
            outcome.released = [charge.number for charge in ledger.charges()][:answers]
        outcome._check(len(outcome.released) == answers, "an answer was not charged")
        outcome.asked = answers + 6 * rounds
        _unlock(path)
        return outcome.judged(path)


def _unlock(path: Path) -> None:
    """As the owner does: each query that was killed while it read counts as a failure."""
    with Ledger.open(path) as ledger:
        if ledger.failures("a"):
            ledger.unlock("a")


def full_disk() -> Outcome:
    """No file may grow: refused, closed; what was answered stands, and with room again it goes on."""
    outcome = Outcome("full disk", Fraction(1), 40)
    with new_ledger() as path:
        collect(outcome, Attack(str(path), "1", charges=40, bytes=40_000).start())
        if not outcome.closed or not outcome.released:
            outcome.faults.append("the disk was not full, or never empty")
        return outcome.judged(path)


def read_only() -> Outcome:
    """Another user, who may read the files and not write them."""
    outcome = Outcome("read-only", Fraction(1), 6)
    with new_ledger() as path:
        with Ledger.open(path) as ledger:
            outcome.released += [charge(ledger, outcome.limit) for _ in range(3)]
        for file in (path, head_path(path)):
            file.chmod(0o444)
        collect(outcome, Attack(str(path), "1", charges=3, nobody=True).start())
        for file in (path, head_path(path)):
            file.chmod(0o600)
        if outcome.closed != 3:
            outcome.faults.append("it was not closed")
        return outcome.judged(path)


def clock_back() -> Outcome:
    """A limit per day, and a clock that goes back by a day, a month, years: nothing renews."""
    outcome = Outcome("clock moved back", Fraction(4, 100), 8)
    with new_ledger() as path, Ledger.open(path) as ledger:
        for days in (0, 0, 0, 0, 1, 31, 400, 15_000):
            budget = Budget(Limit(outcome.limit, per="day"))
            try:
                receipt = ledger.charge(PrivacyLoss(EACH), analyst="a", budget=budget, query="",
                                        now=NOW - dt.timedelta(days=days))  # fmt: skip
                outcome.released.append(receipt.number)
            except BudgetExhausted:
                outcome.exhausted += 1
        return outcome.judged(path)


# ---------------------------------------------------------------------------------------------- files


Files = Mapping[str, bytes]
"""The content of the ledger's files by what their names end in: "" the database, "-wal" its log, ".head"."""


def _files(path: Path) -> dict[str, bytes]:
    named = {end: path.with_name(path.name + end) for end in ("", "-wal", ".head")}
    return {end: file.read_bytes() for end, file in named.items() if file.exists()}


def _put(path: Path, files: Files) -> None:
    for end in ("", "-wal", "-shm", ".head"):
        file = path.with_name(path.name + end)
        file.unlink(missing_ok=True)
        if end in files:
            file.write_bytes(files[end])


def _crashed(path: Path, charges: int) -> list[dict[str, bytes]]:
    """The files as they are on the disk after each of so many charges, their log not yet moved into the database."""
    found = []
    with Ledger.open(path) as ledger:
        for _ in range(charges):
            charge(ledger, Fraction(1))
            found.append(_files(path))
    return found


def _tried(name: str, path: Path, broken: Iterable[Files], whole: Files, released: int = 6) -> Outcome:
    """Put each state on the disk: it is refused, or all that was released is in it and it goes on. So it does once the
    files are whole again.

    In the table stand the number of states, and the least that any of them holds that isn't refused.
    """
    outcome = Outcome(name, Fraction(1), CHARGES, list(range(1, released + 1)))
    fewest: Outcome | None = None
    ways = 0
    for files in (*broken, whole):
        _put(path, files)
        each = Outcome("", outcome.limit, released=outcome.released)
        try:
            each.judge(path)
        except LedgerError as error:
            outcome.closed += 1
            outcome._check(bool(error.hint) and files is not whole, f"refused without a reason or hint: {error}")
            continue
        finally:
            ways += 1
        outcome.faults += each.faults
        if fewest is None or each.charged < fewest.charged:
            fewest = each
    if fewest is not None:
        outcome.charged, outcome.left = fewest.charged, fewest.left
    outcome.scenario += f", {ways - 1} ways"
    outcome.faults = sorted(set(outcome.faults))
    return outcome


CHARGES = 6
STEP = 61
"""Bytes between two places at which a file is cut: few enough to meet every field of a frame in some of them."""


def cut_in_a_commit() -> Outcome:
    """Power fails while the last charge is written: its part of the log is cut short, zero, or noise. Nobody got it."""

    def broken(states: list[dict[str, bytes]]) -> Iterator[Files]:
        before, after = states[-2], states[-1]
        start, end = len(before["-wal"]), len(after["-wal"])
        for place in range(start, end + 1, STEP):
            whole, rest = after["-wal"][:place], end - place
            for tail in (b"", bytes(rest), b"\xa5" * rest):
                yield {**before, "": before[""], "-wal": whole + tail}

    with new_ledger() as path:
        states = _crashed(path, CHARGES)
        outcome = _tried("power cut in a commit", path, broken(states), states[-1], CHARGES - 1)
    outcome._check(not outcome.closed, "a ledger that has all that was released was refused")
    return outcome


def cut_in_the_head() -> Outcome:
    """Power fails while the head is written: each number of its bytes is new; or it is as old as any charge."""

    def broken(states: list[dict[str, bytes]]) -> Iterator[Files]:
        before, after = states[-2][".head"], states[-1][".head"]
        for place in range(len(after) + 1):
            for mixed in (after[:place] + before[place:], before[:place] + after[place:]):
                yield {**states[-1], ".head": mixed}
        for older in states:
            yield {**states[-1], ".head": older[".head"]}

    with new_ledger() as path:
        states = _crashed(path, CHARGES)
        outcome = _tried("power cut in the head", path, broken(states), states[-1])
    outcome._check(not outcome.closed, "a ledger that is whole was refused")
    return outcome


def torn_files() -> Outcome:
    """A disk that loses what it said was written: log and database cut or spoilt anywhere, the head whole."""

    def broken(states: list[dict[str, bytes]], closed: dict[str, bytes]) -> Iterator[Files]:
        for state, end in ((states[-1], "-wal"), (closed, "")):
            data = state[end]
            for place in range(0, len(data), STEP * 4):
                yield {**state, end: data[:place]}
                yield {**state, end: data[:place] + bytes(len(data) - place)}
                yield {**state, end: data[:place] + b"\xa5" * 512 + data[place + 512 :]}
        for place in range(0, len(closed[".head"]), 16):
            yield {**closed, ".head": closed[".head"][:place]}
        yield {end: data for end, data in states[-1].items() if end != "-wal"}
        yield {end: data for end, data in closed.items() if end != ".head"}

    with new_ledger() as path:
        states = _crashed(path, CHARGES)
        return _tried("torn and spoilt files", path, broken(states, _files(path)), states[-1])


def older_copy(what: str) -> Outcome:
    """An older copy of some of the files is put back. A head that is behind is none the wiser, and none the worse."""
    ends = {"ledger": ("",), "ledger and log": ("", "-wal"), "head": (".head",)}[what]

    def broken(states: list[dict[str, bytes]]) -> Iterator[Files]:
        for older in states[:-1]:
            kept = {end: data for end, data in states[-1].items() if end == ".head" or what == "head"}
            yield {**kept, **{end: older[end] for end in ends if end in older}}

    with new_ledger() as path:
        states = _crashed(path, CHARGES)
        outcome = _tried(f"older copy of the {what}", path, broken(states), states[-1])
    noticed = 0 if what == "head" else CHARGES - 1
    outcome._check(outcome.closed == noticed, "an older copy was not noticed, or the newest was refused")
    return outcome


def scenarios(rounds: int, seed: int = 0) -> dict[str, Callable[[], Outcome]]:
    """All of them, by name."""
    found: dict[str, Callable[[], Outcome]] = {
        "race of processes": lambda: race(8, 8, 4),
        "race of threads": lambda: race(1, 64, 8),
        "any time": lambda: killed_at_any_time(rounds, seed),
        "answering": lambda: killed_answering(rounds, seed),
        "full disk": full_disk,
        "read-only": read_only,
        "commit": cut_in_a_commit,
        "head": cut_in_the_head,
        "files": torn_files,
        "clock": clock_back,
    }
    for what in ("ledger", "ledger and log", "head"):
        found[f"copy of {what}"] = lambda what=what: older_copy(what)  # type: ignore[misc]
    for point in POINTS:
        for when in ("before", "after"):
            found[f"{when} {point}"] = lambda point=point, when=when: killed_at(point, when)  # type: ignore[misc]
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the ledger under fire")
    parser.add_argument("scenarios", nargs="*", help="their names (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="of those that turn on chance (default: 3)")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    found = scenarios(chosen.rounds, chosen.seed)
    outcomes = [found[name]() for name in chosen.scenarios or found]
    print(table(HEADS, [outcome.row for outcome in outcomes], "ascii"), end="")
    return int(any(outcome.faults for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
