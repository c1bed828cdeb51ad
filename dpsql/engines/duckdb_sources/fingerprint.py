"""The source files of a policy: which they are, their version, their size. Looks at names and sizes, opens none."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dpsql.policy import Policy

COMPANIONS = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
"""What may be appended to a .duckdb file's name: itself and the files of its log."""


def matches(location: str) -> list[str]:
    """The files that a source's location names: one, or all of a pattern, in order."""
    if os.path.isfile(location):
        return [location]
    return sorted(path for path in glob.glob(location, recursive=True) if os.path.isfile(path))


def fingerprint(policy: Policy, file: Path | None) -> str:
    """A hash of path, inode, size and mtime of each source file: the same in every process. A missing file counts
    too.

    Not the device, whose number may be another one after a restart of the machine.
    """
    seen: list[str] = []
    for path in _source_files(policy, file):
        try:
            stat = os.stat(path)
        except OSError:
            continue
        seen.append(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ino}")
    return hashlib.sha256("\1".join(seen).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def total_bytes(policy: Policy, file: Path | None) -> int:
    """The size of all source files together."""
    total = 0
    for path in _source_files(policy, file):
        with suppress(OSError):
            total += os.stat(path).st_size
    return total


def _source_files(policy: Policy, file: Path | None) -> Iterator[str]:
    """Each file of the data."""
    if file is not None:
        yield from (str(file) + suffix for suffix in COMPANIONS[:2])
    for table in policy.tables.values():
        if table.source.kind != "table":
            yield from matches(table.source.location)
