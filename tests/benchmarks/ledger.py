"""What a charge costs: `python tests/benchmarks/ledger.py [DIRECTORY]`.

Prints p50 and p99 of a charge beside a bare write and fdatasync on the same disk, from 1 and 8 threads and
from 4 processes at once, and exits with 1 where a target is missed: one thread at most the sync + 0.3 ms at
the median; at least 300 charges/s in every other case.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from dpsql.ledger import Ledger
from dpsql.policy import Budget, Limit
from dpsql.privacy.loss import PrivacyLoss

BUDGET = Budget(Limit(Fraction(10**6)), {"*": Limit(Fraction(10**6), per="month")})
LOSS = PrivacyLoss(Fraction(1, 10))
QUERY = "SELECT sex, married, COUNT(*), AVG(income) FROM people WHERE age BETWEEN 18 AND 65 GROUP BY 1, 2"


def timed(action: Callable[[], object], times: int) -> list[float]:
    """Milliseconds of each call."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        action()
        taken.append((time.perf_counter() - began) * 1e3)
    return taken


def in_threads(action: Callable[[], object], threads: int, times: int) -> tuple[list[float], float]:
    """Milliseconds of each call, and calls per second."""
    taken: list[float] = []
    workers = [threading.Thread(target=lambda: taken.extend(timed(action, times))) for _ in range(threads)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return taken, len(taken) / (time.perf_counter() - began)


def show(name: str, taken: list[float], rate: float) -> float:
    """Print a line; returns the median."""
    taken = sorted(taken)
    p50, p99 = taken[len(taken) // 2], taken[len(taken) * 99 // 100]
    print(f"{name:32} p50 {p50:7.3f} ms   p99 {p99:7.3f} ms   {rate:8.0f}/s")
    return p50


def charge_in_processes(path: Path, processes: int, times: int) -> tuple[list[float], float]:
    """Milliseconds of each charge, and charges per second, of processes that charge at the same time."""
    command = [sys.executable, __file__, "--charge", str(path), str(times)]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(processes)]
    for each in running:
        assert each.stdout is not None
        each.stdout.readline()  # ready
    began = time.perf_counter()
    for each in running:
        assert each.stdin is not None
        each.stdin.write(b"go\n")
        each.stdin.flush()
    outputs = [each.communicate()[0] for each in running]
    rate = processes * times / (time.perf_counter() - began)
    return [float(word) for output in outputs for word in output.split()], rate


def charge_as_process(path: Path, times: int) -> None:
    with Ledger.open(path) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        print(*timed(lambda: ledger.charge(LOSS, analyst="alice", budget=BUDGET, query=QUERY), times))


def main(directory: str | None) -> int:
    missed = []
    with tempfile.TemporaryDirectory(dir=directory) as place:
        path = Path(place, "a.ledger")
        file = os.open(Path(place, "bare"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def sync() -> None:
            os.write(file, b"x" * 200)
            os.fdatasync(file)

        with Ledger.create(path) as ledger:

            def charge() -> None:
                ledger.charge(LOSS, analyst="alice", budget=BUDGET, query=QUERY)

            bare: list[float] = []
            taken: list[float] = []
            for _ in range(15):  # in turns, so that both see the same disk
                bare += timed(sync, 100)
                taken += timed(charge, 100)
            floor = show("bare write + fdatasync", bare, 1e3 * len(bare) / sum(bare))
            median = show("charge, 1 thread", taken, 1e3 * len(taken) / sum(taken))
            print(f"{'charge - bare':32} p50 {median - floor:7.3f} ms")
            if median > floor + 0.3:
                missed.append("1 thread: more than 0.3 ms above the sync")
            taken, rate = in_threads(charge, 8, 500)
            show("charge, 8 threads", taken, rate)
            if rate < 300:
                missed.append("8 threads: fewer than 300/s")
        taken, rate = charge_in_processes(path, 4, 300)
        show("charge, 4 processes", taken, rate)
        if rate < 300:
            missed.append("4 processes: fewer than 300/s")
        began = time.perf_counter()
        with Ledger.open(path) as ledger:
            count = ledger.totals().count
        print(f"open and check {count} charges: {(time.perf_counter() - began) * 1e3:.0f} ms")
        os.close(file)
    for each in missed:
        print("MISSED", each)
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--charge"]:
        charge_as_process(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
