"""One style for every message: it begins small and has no full stop, as a part of a line that others complete."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql import errors

ROOT = Path(__file__).parent.parent
KINDS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
KINDS |= {"Usage", "Unusable", "Damaged", "_Wrong", "wrong"}


def texts(module: Path) -> Iterator[tuple[int, str]]:
    """Each message and hint that is written in a call of an error, with the line."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
            for argument in [*node.args, *(k.value for k in node.keywords if k.arg == "hint")]:
                parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
                ends = [p.value if isinstance(p, ast.Constant) and isinstance(p.value, str) else "" for p in parts]
                if any(ends):
                    yield argument.lineno, f"{ends[0] or '?'}…{ends[-1] or '?'}"


@pytest.mark.parametrize(
    "module", sorted((ROOT / "dpsql").rglob("*.py")), ids=lambda module: str(module.relative_to(ROOT))
)
def test_style(module: Path) -> None:
    for line, text in texts(module):
        first, _, last = text.partition("…")
        capital = first[0].isupper() and first.split(None, 1)[0].strip(",:;").islower() is False
        word = first.split(None, 1)[0] if first.split() else ""
        assert not (capital and word[1:].islower()), f"{module}:{line}: {text}"
        assert not last.rstrip().endswith(".") or last.endswith("..."), f"{module}:{line}: {text}"
