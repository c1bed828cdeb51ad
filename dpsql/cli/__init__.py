"""The command line: `dpsql query`, `explain`, `init`, `check`, `audit`, `budget`, `serve`, `password`, `demo`.

One function for each command, in a module of its name; each takes the parsed arguments and returns an exit
code. What goes wrong is told here, in one way: never a traceback.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from dpsql.cli.arguments import parse
from dpsql.cli.audit import audit
from dpsql.cli.budget import budget
from dpsql.cli.check import check
from dpsql.cli.demo import demo
from dpsql.cli.errors import (
    BROKEN_PIPE,
    FAILED,
    INTERRUPTED,
    USAGE,
    Usage,
    error_text,
    exit_code,
    usage_text,
)
from dpsql.cli.explain import explain
from dpsql.cli.init import init
from dpsql.cli.output import prepare_streams, say, silence_stdout
from dpsql.cli.password import password
from dpsql.cli.query import query
from dpsql.cli.serve import serve
from dpsql.errors import Error

_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "query": query,
    "explain": explain,
    "init": init,
    "check": check,
    "audit": audit,
    "budget": budget,
    "serve": serve,
    "password": password,
    "demo": demo,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code of the process."""
    arguments = argparse.Namespace(sql=None, config=None)
    try:
        prepare_streams()
        code = _run(sys.argv[1:] if argv is None else list(argv), arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except Usage as error:
        say(usage_text(error, arguments.config))
        return USAGE
    except Error as error:
        say(error_text(error, arguments.sql, config=arguments.config))
        return exit_code(error)
    except BrokenPipeError:
        silence_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        say("interrupted; a charge that was made stands, and counts as a failure if private rows were being read\n")
        return INTERRUPTED
    except OSError as error:
        silence_stdout()
        say(f"error: the answer could not be written: {error.strerror}; a charge that was made stands\n")
        return USAGE
    except Exception as error:  # noqa: BLE001 - the boundary: what an exception says may hold values
        say(f"error XX000: internal error ({type(error).__name__}); a charge that was made stands\n")
        return FAILED


def _run(argv: list[str], arguments: argparse.Namespace) -> int:
    try:
        parse(argv, arguments)
    except SystemExit as done:  # argparse has told all
        return done.code if isinstance(done.code, int) else USAGE
    with _log_on_stderr(arguments.verbose):
        return _COMMANDS[arguments.command](arguments)


@contextmanager
def _log_on_stderr(verbose: bool) -> Iterator[None]:
    """Show the operator's log, where asked for: kinds of faults and references, never values."""
    log, handler = logging.getLogger("dpsql"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("log: %(name)s: %(message)s"))
    if verbose:
        log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


__all__ = ["main"]
