"""Other processes that tests start."""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.connection
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dpsql.cli import main

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["dpsql.cli", "sqlglot.dialects.duckdb"])


class Forked:
    """A process that runs a function, forked from one that has imported dpsql and done nothing else with it.

    It starts in some milliseconds, where a new interpreter takes a third of a second. It has one thread, its own
    standard output and error, which can be read here as one, and the environment that the first of them found.
    """

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        reading, writing = _SERVER.Pipe(duplex=False)
        self._process = _SERVER.Process(target=_run, args=(writing, function, arguments))
        self._process.start()
        writing.close()
        self.stdout = os.fdopen(os.dup(reading.fileno()), encoding="utf-8")
        reading.close()

    def kill(self) -> None:
        """`kill -9`."""
        self._process.kill()

    def ended(self) -> tuple[str, int]:
        """Wait for the end: all that it printed and wasn't read yet, and its exit code, negative for a signal."""
        with self.stdout:
            printed = self.stdout.read()
        self._process.join(300)
        code = self._process.exitcode
        assert code is not None, "it closed its output and didn't end"
        self._process.close()
        return printed, code


def _run(
    writing: multiprocessing.connection.Connection, function: Callable[..., object], arguments: Sequence[object]
) -> None:
    for descriptor in (1, 2):
        os.dup2(writing.fileno(), descriptor)
    writing.close()
    sys.stdout, sys.stderr = (os.fdopen(descriptor, "w", encoding="utf-8", closefd=False) for descriptor in (1, 2))
    gc.freeze()  # as the process of the command line does
    function(*arguments)


def dpsql(folder: Path, environment: Mapping[str, str], arguments: Sequence[str], reader: str = "") -> Forked:
    """The command line, called there; its output goes to a command of the shell where there is one, as through `|`."""
    return Forked(_dpsql, folder, dict(environment), arguments, reader)


def _dpsql(folder: Path, environment: Mapping[str, str], arguments: Sequence[str], reader: str) -> None:
    os.chdir(folder)
    os.environ |= environment
    if reader:
        reading, writing = os.pipe()
        if os.fork():
            os.close(writing)
            sys.exit(subprocess.run(["sh", "-c", reader], stdin=reading, check=False).returncode)
        os.close(reading)
        os.dup2(writing, 1)
        os.close(writing)
    sys.exit(main(arguments))


def python(folder: Path, environment: Mapping[str, str], code: str) -> Forked:
    """A program of Python, run there."""
    return Forked(_python, folder, dict(environment), code)


def _python(folder: Path, environment: Mapping[str, str], code: str) -> None:
    os.chdir(folder)
    os.environ |= environment
    exec(code, {"__name__": "__main__"})


@contextmanager
def held_for_writing(path: Path, seconds: float) -> Iterator[None]:
    """Another process has the file open read-write, for so many seconds or until the block ends."""
    code = (
        "import sys, duckdb, time; c = duckdb.connect(sys.argv[1]); "
        "print(1, flush=True); time.sleep(float(sys.argv[2]))"
    )
    arguments = [sys.executable, "-c", code, str(path), str(seconds)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()
