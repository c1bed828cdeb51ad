"""Running tests on a copy of the tree with one file changed.

Copy and change leave the tree alone in which this runs. Each run is a fork of a process that has imported all but
dpsql and the tests, so it starts in a fraction of a second; it may take so much CPU and wall time, and a mutant that
hangs is killed by that.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
PARTS = ("dpsql", "tests", "config", "README.md", "pyproject.toml")
_PRELOADED = (
    "cryptography.hazmat.primitives.ciphers.algorithms", "cryptography.hazmat.primitives.ciphers.modes", "duckdb",
    "hypothesis", "numpy", "sqlglot", "sqlglot.dialects.duckdb", "sqlglot.optimizer.annotate_types",
    "sqlglot.optimizer.qualify_columns", "sqlite3", "yaml",
)  # fmt: skip
_OPTIONS = ("-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "-W", "ignore::pytest.PytestWarning")
"""What is preloaded can't have its assertions rewritten any more, of which pytest warns."""
SURVIVED = "survived"
MISSING = "there is no"
_LONGEST = 4000
"""Bytes that are told of an outcome: they fit a pipe."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One exact change of one file: `new` in the place of `old`, at an offset in its text."""

    file: str
    start: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        """The file's text with the change."""
        assert text.startswith(self.old, self.start), self.file
        return text[: self.start] + self.new + text[self.start + len(self.old) :]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: the test that failed first, `survived`, or how else it ended."""

    killer: str
    seconds: float

    @property
    def survived(self) -> bool:
        return self.killer == SURVIVED


class Tree:
    """A copy of the tree. Not for threads; processes have one each."""

    def __init__(self, root: Path, parts: Sequence[str] = PARTS) -> None:
        self.root = root
        self._tick = int(time.time())
        for part in parts:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, root / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, root / part)

    @contextlib.contextmanager
    def changed(self, edit: Edit) -> Iterator[None]:
        """The tree with an edit, until the block ends. Compiled files are told apart by a time of its own."""
        path = self.root / edit.file
        text, stat = path.read_text(encoding="utf-8"), path.stat()
        self._tick += 2
        try:
            path.write_text(edit.applied(text), encoding="utf-8")
            os.utime(path, (self._tick, self._tick))
            yield
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def warm_up(self, tests: Sequence[str] = ("tests",)) -> None:
        """Compile, once, what these tests import."""
        outcome = self._forked([], ["--collect-only", *_files(tests)], 300, 900, write_bytecode=True)
        assert outcome.survived, outcome

    def run(self, tests: Sequence[str], cpu: float = 30, wall: float = 200) -> Outcome:
        """Run tests by their ids, or all of a file, in this order, until one fails. A missing one is told of."""
        return self._forked(tests, _files(tests), cpu, wall)

    def _forked(
        self, tests: Sequence[str], arguments: Sequence[str], cpu: float, wall: float, *, write_bytecode: bool = False
    ) -> Outcome:
        for name in _PRELOADED:
            importlib.import_module(name)
        started = time.monotonic()
        reading, writing = os.pipe()
        gc.freeze()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._child(tests, arguments, cpu, writing, write_bytecode)
        os.close(writing)
        ended = _waited_for(child, wall)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what the tests started
        os.set_blocking(reading, False)
        try:
            killer = os.read(reading, _LONGEST).decode(errors="replace")
        except BlockingIOError:
            killer = ""
        os.close(reading)
        if ended is None:
            killer = "time"
        elif not killer:
            killer = "time" if ended == -signal.SIGXCPU else f"the end of the process ({ended})"
        return Outcome(killer, time.monotonic() - started)

    def _child(
        self, tests: Sequence[str], arguments: Sequence[str], cpu: float, told: int, write_bytecode: bool
    ) -> None:
        """Run pytest and tell what came of it. Never returns."""
        try:
            os.setsid()
            gc.set_threshold(50_000, 20, 100)  # as tests/conftest.py does, from the first import on
            silent = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(silent, descriptor)
            limit = int(time.process_time() + cpu) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            os.chdir(self.root)
            for name in [n for n in sys.modules if n.split(".")[0] in ("dpsql", "tests")]:
                del sys.modules[name]
            sys.path.insert(0, str(self.root))
            os.environ["PYTHONPATH"] = str(self.root)
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            sys.dont_write_bytecode = not write_bytecode
            with tempfile.TemporaryDirectory(dir=self.root) as place:
                os.environ["TMPDIR"] = tempfile.tempdir = place
                chosen = _Chosen(tests)
                code = pytest.main([*_OPTIONS, *arguments], plugins=[chosen])
            if code == 0:
                killer = f"{MISSING} {chosen.missing[0]}" if chosen.missing else SURVIVED
            else:
                killer = chosen.failed or f"pytest's exit code {int(code)}"
        except BaseException as error:  # noqa: BLE001 - told, and the process ends
            killer = type(error).__name__
        os.write(told, killer.encode()[:_LONGEST])
        os._exit(0)


def _names(test: str) -> tuple[str, str, str]:
    """What a test may be called: its id, that without parameters, its file."""
    return test, test.split("[", 1)[0], test.split("::", 1)[0]


def _files(tests: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(test.split("::", 1)[0] for test in tests))


class _Chosen:
    """Keeps the chosen tests, in their order, and notes the first that fails."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._places = {test: i for i, test in enumerate(tests)}
        self.failed = ""
        self.missing: list[str] = []

    def _place(self, test: str) -> int | None:
        """By its id, that without its parameters, or its file."""
        return next((self._places[name] for name in _names(test) if name in self._places), None)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self._places:
            placed = [(place, item) for item in items if (place := self._place(item.nodeid)) is not None]
            items[:] = [item for _, item in sorted(placed, key=lambda pair: pair[0])]
            self.missing = sorted(self._places.keys() - {test for item in items for test in _names(item.nodeid)})

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = f"importing {report.nodeid}"


def _waited_for(child: int, wall: float) -> int | None:
    """The exit code of a process, negative for a signal; None, and it is killed, where it takes too long."""
    until = time.monotonic() + wall
    pause = 0.005
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(pause * 1.3, 0.2)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@contextlib.contextmanager
def copied(parts: Sequence[str] = PARTS) -> Iterator[Tree]:
    """A copy of the tree in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="dpsql-mutants-") as place:
        yield Tree(Path(place), parts)
