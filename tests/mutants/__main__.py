"""Run mutants and print who killed whom; the exit code is 1 where one survives that may not.

python -m tests.mutants                  the planted faults, each with the tests named for it
python -m tests.mutants G4 "cap off"     those of these threats or with these words
python -m tests.mutants --at-large       a quarter of the operators' mutants, with the tests of their lines
python -m tests.mutants --at-large 1     all of them: hours
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.mutants import at_large
from tests.mutants.operators import Mutant
from tests.mutants.planted import PLANTED, Planted
from tests.mutants.trees import Outcome, copied


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Run mutants of dpsql.")
    parser.add_argument("words", nargs="*", help="planted faults: their threats, or words of their names")
    parser.add_argument(
        "--at-large", nargs="?", const=at_large.SHARE, type=float, metavar="SHARE", help="the operators' mutants"
    )
    parser.add_argument("--measured", type=Path, help="a folder for what the suite covers; used where it is there")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 1)))
    options = parser.parse_args()
    if options.at_large is not None:
        return run_at_large(options.at_large, options.measured, options.workers)
    return run_planted([p for p in PLANTED if _wanted(p, options.words)])


def _wanted(planted: Planted, words: Sequence[str]) -> bool:
    return not words or any(word == planted.threat or (len(word) > 3 and word in planted.name) for word in words)


def run_planted(chosen: Sequence[Planted]) -> int:
    """Run each planted fault against its tests; those that kill must pass without it."""
    survivors, killers = [], set[str]()
    with copied() as tree:
        tests = sorted({test for planted in chosen for test in planted.tests})
        tree.warm_up(tests)
        width = max((len(planted.name) for planted in chosen), default=0)
        for planted in chosen:
            with tree.changed(planted.edit):
                outcome = tree.run(planted.tests)
            print(f"{planted.threat:4} {planted.name:{width}}  {outcome.killer}", flush=True)
            if outcome.survived:
                survivors.append(planted)
            else:
                killers |= {outcome.killer} if outcome.killer.startswith("tests/") else set(planted.tests)
        healthy = tree.run(sorted(killers), cpu=300, wall=1_200)
        if not healthy.survived:
            print(f"without any fault {healthy.killer} fails")
            return 1
    print(f"\n{len(chosen) - len(survivors)} of {len(chosen)} planted faults are killed")
    return 1 if survivors else 0


def run_at_large(share: float, measured: Path | None, workers: int) -> int:
    """Run a share of the operators' mutants: those that survive must be explained."""
    with tempfile.TemporaryDirectory() as place:
        folder = measured or Path(place)
        folder.mkdir(exist_ok=True)
        tests = (
            at_large.measured(folder / ".coverage", folder / "log")
            if (folder / ".coverage").exists()
            else at_large.measure(folder)
        )
    chosen, known = at_large.sample(share), at_large.explained()
    print(f"{len(chosen)} of {len(at_large.every())} mutants", flush=True)
    killers: Counter[str] = Counter()
    unexplained = []

    def report(mutant: Mutant, outcome: Outcome) -> None:
        killers[outcome.killer.split("::", 1)[0] if not outcome.survived else "survived"] += 1
        if outcome.survived:
            reason = known.get(mutant.name)
            print(f"survived: line {mutant.line}, {mutant.name}: {reason or 'NOT EXPLAINED'}", flush=True)
            if reason is None:
                unexplained.append(mutant)

    at_large.run(chosen, tests, workers, report)
    for killer, count in killers.most_common():
        print(f"{count:5}  {killer}")
    print(f"\n{len(unexplained)} survivors are not explained in {at_large.SURVIVORS.name}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
