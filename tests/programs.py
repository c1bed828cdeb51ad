"""Programs that tests need and pip can't install: without one, what needs it is skipped, and the run's end says so.

`.ci/run` installs them. With DPSQL_NO_SKIPS=1 a skip is a failure: what is left out by mistake would look like success.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

MISSING = "missing: "
NO_SKIPS = os.environ.get("DPSQL_NO_SKIPS") == "1"


def absent(*programs: str | Path) -> list[str]:
    """Which of these programs (names) and files (paths) aren't on this machine."""
    return [str(p) for p in programs if not (p.exists() if isinstance(p, Path) else shutil.which(p))]


def need(packages: str, *programs: str | Path) -> None:
    """Skip a test where one of these isn't there; `packages` of Debian have them."""
    if found := absent(*programs):
        skip(f"{', '.join(found)} (Debian: {packages})")


def skip(what: str) -> None:
    """Skip a test for what is missing."""
    pytest.skip(MISSING + what)
