"""The source files of a policy: which they are, their version, their size. Looks at names and sizes, opens none."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
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
    seen = [f"{path}\0{s.st_size}\0{s.st_mtime_ns}\0{s.st_ino}" for path, s in _source_files(policy, file)]
    return hashlib.sha256("\1".join(seen).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def total_bytes(policy: Policy, file: Path | None) -> int:
    """The size of all source files together."""
    return sum(found.st_size for _, found in _source_files(policy, file))


def _source_files(policy: Policy, file: Path | None) -> Iterator[tuple[str, os.stat_result]]:
    """Each file of the data that is there. Where a source is one file, the system is asked once: this runs often."""
    if file is not None:
        yield from _found(str(file) + suffix for suffix in COMPANIONS[:2])
    for table in policy.tables.values():
        if table.source.kind == "table":
            continue
        location = table.source.location
        one = list(_found([location]))
        yield from one if one and stat.S_ISREG(one[0][1].st_mode) else _found(matches(location))


def _found(paths: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    for path in paths:
        with suppress(OSError):
            yield path, os.stat(path)
