"""Skipped tests are listed at the end of a run, and failures with DPSQL_NO_SKIPS=1; what isn't asked for is neither."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = """
import pytest
from tests.programs import need

def test_that_needs_a_program():
    need("nosuch-15", "nosuch")

@pytest.mark.skipif(True, reason="another reason")
def test_with_a_reason():
    assert False

@pytest.mark.xfail(reason="known")
def test_that_is_known_to_fail():
    assert False

@pytest.mark.asked_for("NOSUCH_VARIABLE")
def test_that_is_not_asked_for():
    assert False

def test_that_passes():
    pass
"""


pytestmark = pytest.mark.slow
MODULE = "import pytest\npytest.skip('all of it', allow_module_level=True)\n"
FORBIDDEN = {"DPSQL_NO_SKIPS": "1"}


@pytest.mark.parametrize(
    ("text", "environment", "code", "end"),
    [
        (TESTS, {}, 0, "1 passed, 2 skipped, 1 deselected, 1 xfailed"),
        (TESTS, {**FORBIDDEN, "NOSUCH_VARIABLE": "x"}, 1, "2 failed, 1 passed, 1 xfailed, 1 error"),
        (MODULE, FORBIDDEN, 2, "1 error"),
    ],
)
def test_skipped_tests(tmp_path: Path, text: str, environment: dict[str, str], code: int, end: str) -> None:
    (tmp_path / "test_some.py").write_text(text)
    plain = {name: value for name, value in os.environ.items() if name not in ("DPSQL_NO_SKIPS", "NOSUCH_VARIABLE")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-o", "addopts=",
         "-c", ROOT / "pyproject.toml", "--confcutdir", tmp_path, tmp_path],
        cwd=ROOT, env={**plain, **environment}, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout
    assert f" {end} in " in done.stdout, done.stdout
    reasons = ["another reason", "missing: nosuch (Debian: nosuch-15)"] if text == TESTS else ["all of it"]
    told = done.stdout.partition(" not tested here ")[2].splitlines()
    for reason in reasons:
        listed = f"1 test: {reason}" in told
        forbidden = f"DPSQL_NO_SKIPS=1 forbids: {reason}" in done.stdout
        assert (listed, forbidden) == (not environment, bool(environment))
