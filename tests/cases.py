"""Files of cases: SQL with its outcome below it, rewritten on request.

A block is what stands between blank lines: comment lines that start with `--`, a statement, and the outcome, each
line of which starts with `-->`. A block of comments alone is text. `-- dialect: postgres` chooses a dialect,
`-- epsilon: 0.5` an ε, `-- policy: people` another policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MARK = "-->"


@dataclass(frozen=True)
class Case:
    file: Path
    comments: tuple[str, ...]
    sql: str
    outcome: tuple[str, ...]

    def option(self, name: str, default: str) -> str:
        start = f"-- {name}:"
        return next((c.removeprefix(start).strip() for c in self.comments if c.startswith(start)), default)

    @property
    def id(self) -> str:
        return f"{self.file.stem}: {' '.join(self.sql.split())[:60]}"


def _blocks(path: Path) -> Iterator[list[str]]:
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        yield block.splitlines()


def _case(path: Path, lines: list[str]) -> Case | None:
    comments = tuple(line for line in lines if line.startswith("--") and not line.startswith(MARK))
    sql = "\n".join(line for line in lines if not line.startswith("--"))
    outcome = tuple(line.removeprefix(MARK).removeprefix(" ") for line in lines if line.startswith(MARK))
    return Case(path, comments, sql, outcome) if sql else None


def read(directory: Path) -> list[Case]:
    """All cases of the directory's files."""
    found = []
    for path in sorted(directory.glob("*.sql")):
        found += [case for lines in _blocks(path) if (case := _case(path, lines)) is not None]
    return found


def rewrite(directory: Path, outcome: Callable[[Case], list[str]]) -> None:
    """Write every case's outcome as it is now."""
    for path in sorted(directory.glob("*.sql")):
        blocks = []
        for lines in _blocks(path):
            case = _case(path, lines)
            if case is None:
                blocks.append("\n".join(lines))
            else:
                marked = [f"{MARK} {line}".rstrip() for line in outcome(case)]
                blocks.append("\n".join([*case.comments, case.sql, *marked]))
        path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
