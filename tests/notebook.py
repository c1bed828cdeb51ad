"""A notebook's shell, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_SHELL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
told = []
for cell in json.load(sys.stdin):
    ran = shell.run_cell(cell)
    error = ran.error_before_exec or ran.error_in_exec
    told.append({"value": str(ran.result), "error": error and str(error)})
print("\\ntold: " + json.dumps(told))
"""


def run_cells(folder: Path, cells: Sequence[str], environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """What each cell gives there: its value as text, or its error."""
    own = {"HOME": str(folder), "PLOOMBER_STATS_ENABLED": "false", "IPYTHONDIR": str(folder / ".ipython")}
    done = subprocess.run(
        [sys.executable, "-c", _SHELL], input=json.dumps(cells), cwd=folder, env={**environment, **own},
        capture_output=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("told: ")]
    told: list[dict[str, Any]] = json.loads(line.removeprefix("told: "))
    return told
