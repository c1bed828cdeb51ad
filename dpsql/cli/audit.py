"""`dpsql audit`: dpsql attacks a policy on made-up rows, and advises on what is seldom wise in it. For the owner."""

from __future__ import annotations

import argparse
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dpsql.cli.arguments import queries
from dpsql.cli.errors import OK, POLICY, VIOLATED
from dpsql.cli.output import Output, say
from dpsql.policy import load
from dpsql.policy.problems import printable

_SECONDS = 1.0


def audit(arguments: argparse.Namespace) -> int:
    """Write the report; whether everything held is the exit code."""
    from dpsql.audit import audit as attack  # here: other commands need not wait for it
    from dpsql.audit.report import words
    from dpsql.audit.report.as_html import as_html
    from dpsql.audit.report.as_json import as_json
    from dpsql.audit.report.as_text import as_text

    policy = load(arguments.config)
    own = () if arguments.queries is None else queries(arguments.queries, policy.dialect)
    with Output(arguments.output) as output:
        with _telling_time(f"auditing {printable(arguments.config, 200)}"):
            found = attack(policy, queries=own, cases=arguments.cases, seed=arguments.seed)
        again = _command(arguments, found.seed)
        match arguments.format:
            case "json":
                output.write(as_json(found, command=again))
            case "html":
                output.write(as_html(found, command=again))
            case _:
                output.write(as_text(found, output.style, command=again))
        if not output.is_stdout:
            say(f"{words.verdict(found)}\n")
    if not found.held:
        return VIOLATED
    return POLICY if arguments.strict and found.advice else OK


def _command(arguments: argparse.Namespace, seed: int) -> str:
    """The command that makes the same audit again."""
    own = [] if arguments.queries is None else ["--queries", arguments.queries]
    numbers = ["--cases", str(arguments.cases), "--seed", str(seed)]
    return shlex.join(["dpsql", "audit", arguments.config, *own, *numbers])


@contextmanager
def _telling_time(what: str) -> Iterator[None]:
    """Tell on a terminal how long it takes, and clear the line at the end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    done, began = threading.Event(), time.monotonic()

    def tell() -> None:
        while not done.wait(_SECONDS):
            say(f"\r{what}: {time.monotonic() - began:.0f} s")

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
        say("\r\x1b[K")
