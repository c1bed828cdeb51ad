"""Other processes that tests start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held_for_writing(path: Path, seconds: float) -> Iterator[None]:
    """Another process has the file open read-write, for so many seconds or until the block ends."""
    code = (
        "import sys, duckdb, time; c = duckdb.connect(sys.argv[1]); "
        "print(1, flush=True); time.sleep(float(sys.argv[2]))"
    )
    arguments = [sys.executable, "-c", code, str(path), str(seconds)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()
