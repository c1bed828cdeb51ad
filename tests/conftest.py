"""Hypothesis profiles: the same examples in every run of CI; new and many more with --hypothesis-profile=nightly.

What is skipped, and whether it may be: tests/programs.py.

The noise of each test is its own, and the same in every run: where a test could fail by its noise, it fails always,
or never. `--noise-seed=N` gives all of them other noise.
"""

from __future__ import annotations

import gc
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from dpsql.privacy import random_bytes
from tests import programs
from tests.seeded import SeededBytes


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With -n auto: one more than there are processors, since some tests wait for servers, locks and clocks."""
    return (os.cpu_count() or 1) + 1


_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]

settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, print_blob=True, suppress_health_check=_CHECKS
)
settings.register_profile("nightly", deadline=None, max_examples=20_000, suppress_health_check=_CHECKS)
settings.load_profile("ci")

gc.set_threshold(250_000, 20, 100)
"""A syntax tree refers to its nodes' parents, so every compiled statement is garbage that only the collector frees."""
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Of the processes that tests start the first compiles the product's modules, not each of them."""
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""Nor does each start threads for numpy's linear algebra, which nothing here uses."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-refused", action="store_true", help="rewrite tests/refused/*.sql")
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden/*.sql")
    parser.addoption("--noise-seed", type=int, default=0, help="other noise in every test than with another number")


_LONGEST = ("test_generated_statements_", "test_each_planted_fault_is_killed", "test_every_command_of_readme")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest tests begin first: at the end, one worker would run them while the others have nothing to do.

    What wasn't asked for isn't among them.
    """
    left = [item for item in items if not _asked_for(config, item)]
    if left:
        config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]
    items.sort(key=lambda item: not item.name.startswith(_LONGEST))


def _asked_for(config: pytest.Config, item: pytest.Item) -> bool:
    marks = [str(mark.args[0]) for mark in item.iter_markers("asked_for")]
    return all(config.getoption(what) if what.startswith("--") else what in os.environ for what in marks)


_SYSTEM = {source: source.read for source in (random_bytes.SystemRandom, random_bytes.AesCtr)}
_RUNNING = pytest.StashKey[str]()


def _seed(config: pytest.Config, whose: str) -> None:
    """From here on the product's random bytes, in this process, are a function of whose they are."""
    bytes_ = SeededBytes(zlib.crc32(f"{config.getoption('--noise-seed')} {whose}".encode()))
    for source in _SYSTEM:
        source.read = lambda _, size: bytes_.read(size)  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    item.config.stash[_RUNNING] = item.nodeid
    _seed(item.config, item.nodeid)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[object]:
    """What several tests share has noise of its own, whichever of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    _seed(request.config, f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}")
    made = yield
    _seed(request.config, request.config.stash[_RUNNING])
    return made


@pytest.fixture
def system_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product's noise is that of the operating system, as in production."""
    for source, read in _SYSTEM.items():
        monkeypatch.setattr(source, "read", read)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    report = yield
    return _judged(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    return _judged(report)


def _judged(report: Any) -> Any:
    """The report, of a failure where a test was skipped that must not be."""
    if programs.NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which DPSQL_NO_SKIPS=1 forbids: {_reason(report)}"
    return report


def _reason(report: Any) -> str:
    """Why a test was skipped."""
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return str(told).removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was skipped, and for want of what."""
    reasons = Counter(_reason(report) for report in terminalreporter.getreports("skipped"))
    if reasons:
        terminalreporter.section("not tested here")
        for reason, number in sorted(reasons.items()):
            terminalreporter.line(f"{number} test{'s' if number > 1 else ''}: {reason}")


def pytest_collection_finish() -> None:
    """Let the collector look at what tests make, not at modules and collected tests again and again.

    What is garbage by now stays: to find it takes longer than it saves.
    """
    gc.freeze()
