"""Mutants: each planted fault applies and is killed; the operators find what they are for; survivors are explained.

Here each planted fault meets the tests named for it. The operators' mutants take hours: see `tests/mutants`.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants import at_large, operators
from tests.mutants.planted import PLANTED, Planted
from tests.mutants.trees import ROOT, Edit, Tree, copied

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_fault_applies(planted: Planted) -> None:
    """Once, to what still is a program; and the tests named for it exist."""
    text = (ROOT / planted.file).read_text(encoding="utf-8")
    mutated = planted.edit.applied(text)
    assert ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(text))
    for test in planted.tests:
        file, _, name = test.partition("::")
        assert not name or f"def {name.split('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8"), test


def test_every_kind_of_threat_is_planted() -> None:
    assert {planted.threat[0] for planted in PLANTED} == set("ABCDEFGH")
    names = Counter(planted.name for planted in PLANTED)
    assert max(names.values()) == 1


@pytest.mark.slow
def test_each_planted_fault_is_killed() -> None:
    """By the tests named for it, one at a time, in a copy of the tree; without a fault they pass."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutants"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(PLANTED)} of {len(PLANTED)} planted faults are killed" in done.stdout
    assert len(PLANTED) == 69, "README says how many there are"


# ---------------------------------------------------------------------------------------------- the machinery


@pytest.fixture(scope="module")
def small() -> Tree:
    """A tree of one module and its tests."""
    with copied(parts=()) as tree:
        (tree.root / "dpsql").mkdir()
        (tree.root / "dpsql/__init__.py").write_text("def half(x):\n    return x // 2\n")
        (tree.root / "tests").mkdir()
        (tree.root / "tests/test_half.py").write_text(
            "from dpsql import half\n\n\ndef test_small():\n    assert half(0) == 0\n\n\n"
            "def test_large():\n    assert half(8) == 4\n"
        )
        yield tree


@pytest.mark.parametrize(
    ("new", "tests", "killer"),
    [
        ("x // 3", ["tests/test_half.py::test_small"], "survived"),
        (
            "x // 3",
            ["tests/test_half.py::test_small", "tests/test_half.py::test_large"],
            "tests/test_half.py::test_large",
        ),
        ("x // 3", ["tests/test_half.py"], "tests/test_half.py::test_large"),
        (
            "x - 1",
            ["tests/test_half.py::test_large", "tests/test_half.py::test_small"],
            "tests/test_half.py::test_large",
        ),
        (
            "x // 2",
            ["tests/test_half.py::test_gone", "tests/test_half.py::test_small"],
            "there is no tests/test_half.py::test_gone",
        ),
        ("x //", ["tests/test_half.py"], "importing tests/test_half.py"),
        ("__import__('os')._exit(3)", ["tests/test_half.py"], "the end of the process (3)"),
        ("half(x) if [None for _ in iter(int, 1)] else 0", ["tests/test_half.py"], "time"),
        ("__import__('time').sleep(600)", ["tests/test_half.py"], "time"),
    ],
)
def test_who_kills_whom(small: Tree, new: str, tests: list[str], killer: str) -> None:
    text = (small.root / "dpsql/__init__.py").read_text()
    with small.changed(Edit("dpsql/__init__.py", text.index("x // 2"), "x // 2", new)):
        assert small.run(tests, cpu=0.5, wall=30 if "sleep" not in new else 3).killer == killer
    assert (small.root / "dpsql/__init__.py").read_text() == text


def test_the_operators() -> None:
    """One of each kind, from a module of a few lines."""
    text = (
        "def f(a, b):\n    if a < b + 1:\n        raise ValueError\n    if not a:\n        a += 1\n"
        "    g(a, b)\n    c.d = max(a, abs(b))\n    return a and True\n"
    )
    found = operators.of_text("dpsql/x.py", text)
    changed = {(m.operator, m.edit.applied(text).splitlines()[m.line - 1].strip()) for m in found}
    assert changed == {
        ("flip a comparison", "if a <= b + 1:"), ("swap an operator", "if a < b - 1:"), ("off by one", "if a < b + 2:"),
        ("drop a check", "pass"), ("drop a sign", "if a:"), ("drop a branch", "if False:"),
        ("drop a statement", "pass"), ("off by one", "a += 2"),
        ("swap arguments", "g(b, a)"), ("larger for smaller", "c.d = min(a, abs(b))"),
        ("drop a sign", "c.d = max(a, (b))"), ("and for or", "return a or True"), ("drop a condition", "return a"),
        ("flip a constant", "return a and False"),
    }  # fmt: skip


def test_mutants_at_large_are_programs_with_names_of_their_own() -> None:
    every = operators.every()
    assert len({mutant.name for mutant in every}) == len(every) > 1_000
    assert {mutant.edit.file for mutant in every} >= {
        "dpsql/release.py", "dpsql/privacy/mechanisms/laplace.py", "dpsql/rewrite/inner.py", "dpsql/ledger/writer.py"
    }  # fmt: skip
    sample = at_large.sample(0.1)
    assert 0.05 < len(sample) / len(every) < 0.15
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in operators.modules()}
    for mutant in sample:
        ast.parse(mutant.edit.applied(texts[mutant.edit.file]))


def test_explained_survivors_exist() -> None:
    """A survivor whose line has changed is to be looked at again."""
    names = {mutant.name for mutant in operators.every()}
    explained = at_large.explained()
    assert set(explained) <= names, sorted(set(explained) - names)
    assert all(explained.values())
    assert at_large.SURVIVORS.is_relative_to(Path(__file__).parent)
