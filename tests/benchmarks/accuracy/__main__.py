"""The command: see the package."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import accuracy
from tests.benchmarks.accuracy import data, peers
from tests.benchmarks.accuracy.report import SECTIONS, Options, Report, record


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables that are asked for, and what is missed; 1 where anything is."""
    defaults = Options()
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.accuracy",
        description=accuracy.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", nargs="*", choices=[*SECTIONS, []], metavar="what", help=", ".join(SECTIONS))
    parser.add_argument("--releases", type=int, default=defaults.releases, help="of each fetched query")
    parser.add_argument("--statements", type=int, default=defaults.statements, help="of each query")
    parser.add_argument("--mechanism", choices=data.MECHANISMS, action="append", help="of the policy (default: both)")
    parser.add_argument("--peers", action="store_true", help="install the other libraries, and measure them too")
    parser.add_argument("--peer", choices=[peer.name for peer in peers.PEERS], action="append", help="this one alone")
    parser.add_argument("--peer-answers", type=int, default=defaults.peer_answers, help="of each of their queries")
    parser.add_argument("--cache", type=Path, default=defaults.cache, help="where their environments are")
    parser.add_argument("--record", action="store_true", help="keep what is measured of them, for README")
    given = parser.parse_args(arguments)
    chosen = tuple(p for p in peers.PEERS if p.name in given.peer) if given.peer else peers.PEERS
    options = Options(
        releases=given.releases,
        statements=given.statements,
        mechanisms=tuple(given.mechanism or data.MECHANISMS),
        others=chosen if given.peers or given.peer or given.record else (),
        peer_answers=given.peer_answers,
        cache=given.cache.absolute(),
    )
    with tempfile.TemporaryDirectory() as folder:
        report = Report(options, Path(folder))
        for name in given.what or SECTIONS:
            SECTIONS[name](report)
        if given.record:
            record(report)
    for missed in report.missed:
        print(f"missed: {missed}")
    if not report.missed:
        print("nothing is missed")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
