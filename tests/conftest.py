"""Hypothesis profiles: the same examples in every run of CI; new and many more with --hypothesis-profile=nightly."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]

settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, print_blob=True, suppress_health_check=_CHECKS
)
settings.register_profile("nightly", deadline=None, max_examples=20_000, suppress_health_check=_CHECKS)
settings.load_profile("ci")

gc.set_threshold(50_000, 20, 100)
"""A syntax tree refers to its nodes' parents, so every compiled statement is garbage that only the collector frees."""
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Of the processes that tests start the first compiles the product's modules, not each of them."""
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""Nor does each start threads for numpy's linear algebra, which nothing here uses."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-refused", action="store_true", help="rewrite tests/refused/*.sql")
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden/*.sql")


_LONGEST = ("test_generated_statements_", "test_each_planted_fault_is_killed", "test_every_command_of_readme")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests begin first: at the end, one worker would run them while the others have nothing to do."""
    items.sort(key=lambda item: not item.name.startswith(_LONGEST))


def pytest_collection_finish() -> None:
    """Let the collector look at what tests make, not at modules and collected tests again and again."""
    gc.collect()
    gc.freeze()
