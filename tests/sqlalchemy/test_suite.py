"""SQLAlchemy's own suite for dialects, in a process of its own: it needs its own plugin for pytest.

By hand: `python -m pytest -c tests/sqlalchemy/suite/setup.cfg`. What is left out, and why, is in suite/requirements.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.testing.exclusions import compound
from sqlalchemy.testing.requirements import SuiteRequirements

from tests.sqlalchemy.suite.requirements import CLOSED, OPEN, Requirements

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_suite_passes() -> None:
    command = [sys.executable, "-m", "pytest", "-c", "tests/sqlalchemy/suite/setup.cfg", "--tb=short"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
    counts = re.search(r"^(\d+) passed, (\d+) skipped in", done.stdout, re.MULTILINE)
    assert counts is not None, done.stdout[-500:]
    assert int(counts[1]) >= 550


def test_nothing_is_closed_without_a_reason() -> None:
    """What SQLAlchemy itself takes for closed has its reason here too, or is open."""
    named = [name for names in CLOSED.values() for name in names.split()]
    assert len(named) == len(set(named)) and not set(named) & set(OPEN)
    requirements = Requirements()
    closed = set()
    for name in dir(SuiteRequirements):
        if isinstance(getattr(SuiteRequirements, name), property) and not name.startswith("_"):
            found = getattr(requirements, name)
            if isinstance(found, compound) and any(getattr(rule, "value", None) is True for rule in found.skips):
                closed.add(name)
    assert closed == set(named)
