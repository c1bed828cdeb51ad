"""A PostgreSQL 15 of the benchmark's own, on a socket in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

BIN = Path("/usr/lib/postgresql/15/bin")
"""Where Debian's postgresql-15 puts its programs."""
USER = "postgres"
"""Who runs it where this process is root's: PostgreSQL refuses to."""


@contextlib.contextmanager
def postgres() -> Iterator[str | None]:
    """The connection string of a fresh server; None where the machine has none."""
    if not (BIN / "initdb").exists():
        yield None
        return
    folder = tempfile.mkdtemp(prefix="dpsql-pg-")
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        data = f"{folder}/data"
        _run("initdb", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "-U", USER, "-D", data)
        options = f"-k {folder} -c listen_addresses= -c fsync=off -c shared_buffers=256MB"
        _run("pg_ctl", "-D", data, "-o", options, "-w", "-l", f"{folder}/log", "start")
        try:
            yield f"host={folder} user={USER} dbname=postgres"
        finally:
            _run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(program: str, *arguments: str) -> None:
    other = None if os.geteuid() else pwd.getpwnam(USER)
    subprocess.run(
        [BIN / program, *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/",
        user=other and other.pw_uid, group=other and other.pw_gid,
    )  # fmt: skip
