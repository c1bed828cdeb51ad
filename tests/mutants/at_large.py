"""The operators at large: a sample of all mutants, each run against the tests that execute its line.

Which tests those are, and how long they take, comes from one run of the fast suite under coverage, in a copy of the
tree. Of each mutant first a few quick tests are run, then all that fit into `PATIENCE`. The sample is taken by the
mutants' names, so it stays the same while the code does.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tests.mutants.operators import AT_LARGE, Mutant, every
from tests.mutants.trees import MISSING, SURVIVED, Outcome, Tree, copied

SURVIVORS = Path(__file__).with_name("survivors.csv")
SHARE = 0.23
"""Of which all survivors were looked into."""
QUICK = 3.0
PATIENCE = 15.0
"""Seconds of tests that are run first, and in all: as long as they took under coverage."""
_LEFT_OUT = ("tests/test_docs.py", "tests/test_readme.py", "tests/test_public_api.py", "tests/test_mutants.py")
"""They run for long, start other processes, or read the source itself."""
_DURATION = re.compile(r"^([\d.]+)s (?:call|setup|teardown) +(tests/.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tests:
    """Which tests execute a line, by file and line, and how many seconds each takes."""

    lines: Mapping[str, Mapping[int, Sequence[str]]]
    seconds: Mapping[str, float]

    def of(self, mutant: Mutant) -> list[str]:
        """The tests of a mutant's line or of the statement that it is in, else of its file: the quick ones first."""
        lines = self.lines.get(mutant.edit.file, {})
        for line in range(mutant.line, max(0, mutant.line - 12), -1):
            if found := lines.get(line):
                return self._ordered(mutant, found)
        return self._ordered(mutant, sorted({test for found in lines.values() for test in found}))

    def _ordered(self, mutant: Mutant, found: Sequence[str]) -> list[str]:
        """Those of a file that is called as the module, then by time."""
        own = f"test_{Path(mutant.edit.file).stem}"
        package = f"test_{Path(mutant.edit.file).parent.name}"
        return sorted(found, key=lambda t: (own not in t and package not in t, self.seconds.get(t, 0.005), t))

    def first(self, tests: Sequence[str], seconds: float) -> list[str]:
        """As many from the front as take that long, and at least one."""
        chosen, total = [], 0.0
        for test in tests:
            total += self.seconds.get(test, 0.005)
            if total > seconds and chosen:
                break
            chosen.append(test)
        return chosen


def measured(coverage_file: Path, log: Path) -> Tests:
    """What a run of the suite left behind."""
    from coverage import CoverageData

    data = CoverageData(str(coverage_file))
    data.read()
    lines: dict[str, dict[int, Sequence[str]]] = {}
    known: dict[tuple[str, ...], tuple[str, ...]] = {}  # many lines are executed by the same tests
    for path in data.measured_files():
        name = "dpsql/" + path.rsplit("/dpsql/", 1)[1]
        if not name.startswith(AT_LARGE):
            continue
        lines[name] = {}
        for line, contexts in data.contexts_by_lineno(path).items():
            found = tuple(sorted({sys.intern(c.rsplit("|", 1)[0]) for c in contexts if c and not _left_out(c)}))
            lines[name][line] = known.setdefault(found, found)
    seconds: dict[str, float] = {}
    for taken, test in _DURATION.findall(log.read_text(encoding="utf-8")):
        seconds[test] = seconds.get(test, 0.0) + float(taken)
    return Tests(lines, seconds)


def _left_out(test: str) -> bool:
    return test.startswith(_LEFT_OUT)


def measure(folder: Path) -> Tests:
    """Run the fast suite under coverage: some ten minutes of CPU."""
    with copied() as tree:
        command = [
            sys.executable, "-m", "pytest", "-n", "2", "-m", "not slow", "--cov=dpsql", "--cov-context=test",
            "--cov-report=", "--durations=0", "-p", "no:cacheprovider",
            *(f"--ignore={name}" for name in _LEFT_OUT),
        ]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": str(tree.root), "COVERAGE_FILE": str(folder / ".coverage")}
        with (folder / "log").open("w") as log:
            done = subprocess.run(command, cwd=tree.root, env=environment, stdout=log, check=False)
        if done.returncode:
            raise SystemExit(f"the suite fails without any mutant: see {folder / 'log'}")
        return measured(folder / ".coverage", folder / "log")


def sample(share: float) -> list[Mutant]:
    """That share of all mutants."""
    return sorted((m for m in every() if m.draw < share), key=lambda m: m.draw)


def explained() -> dict[str, str]:
    """The reasons of the survivors that are known, by name."""
    with SURVIVORS.open(encoding="utf-8", newline="") as file:
        return {row["mutant"]: row["reason"] for row in csv.DictReader(file)}


def run(mutants: Sequence[Mutant], tests: Tests, workers: int, report: Callable[[Mutant, Outcome], None]) -> None:
    """Run each mutant's tests, in several processes."""
    context = get_context("fork")
    waiting, done = context.SimpleQueue(), context.SimpleQueue()
    for number in range(len(mutants)):
        waiting.put(number)
    for _ in range(workers):
        waiting.put(None)

    def work() -> None:
        with copied() as tree:
            tree.warm_up()
            while (number := waiting.get()) is not None:
                done.put((number, tried(tree, mutants[number], tests)))

    processes = [context.Process(target=work) for _ in range(workers)]
    for process in processes:
        process.start()
    for _ in mutants:
        number, outcome = done.get()
        report(mutants[number], outcome)
    for process in processes:
        process.join()


def tried(tree: Tree, mutant: Mutant, tests: Tests) -> Outcome:
    """Run the tests of a mutant until one fails."""
    wanted = tests.of(mutant)
    if not wanted:
        return Outcome(SURVIVED, 0.0)
    quick = tests.first(wanted[:60], QUICK)
    with tree.changed(mutant.edit):
        outcome = tree.run(quick)
        more = [test for test in tests.first(wanted, PATIENCE) if test not in set(quick)]
        if survived(outcome) and more:
            later = tree.run(more)
            outcome = Outcome(later.killer, outcome.seconds + later.seconds)
    return Outcome(SURVIVED, outcome.seconds) if survived(outcome) else outcome


def survived(outcome: Outcome) -> bool:
    """Also where a test isn't there any more: it was there when the suite was measured."""
    return outcome.survived or outcome.killer.startswith(MISSING)
