"""The others, measured: each in an environment of its own, on the same files, by one script for each.

An environment is made once, by the first interpreter here for which pip finds what is wanted and the library can be
imported. `job.py` runs in it, isolated from this repository, and calls `answers` of the other's script: the ways in
which that library answers each query, the best that its documentation shows, for the same ε in all, with the same
bounds and, where it can, for one row more or less. Nothing of theirs is copied here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.accuracy.data import DataSet, exact
from tests.benchmarks.accuracy.measure import Measured, measured

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "dpsql" / "peers"
SECONDS_PER_WAY, LEAST_ANSWERS = 40.0, 10
"""A way of answering is asked until it has given all answers, or for so long; fewer answers are not judged."""
SECONDS_TO_INSTALL = 600
VERSIONS = ("3.11", "3.12", "3.10", "3.13", "3.9", "3.8")
"""Of Python, beside the one that runs, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A library: its name in tables, its script, what pip installs, and what is imported to see that it is there."""

    name: str
    script: str
    requirements: tuple[str, ...]
    module: str


PEERS = (
    Peer("SmartNoise", "smartnoise_sql.py", ("smartnoise-sql==1.0.10",), "snsql"),
    Peer("OpenDP", "opendp.py", ("opendp==0.16.0",), "opendp.prelude"),
    Peer("Google", "python_dp.py", ("python-dp==1.1.5",), "pydp.algorithms.laplacian"),
    Peer("PipelineDP", "pipeline_dp.py", ("pipeline-dp==0.3.1",), "pipeline_dp"),
    Peer("diffprivlib", "diffprivlib.py", ("diffprivlib==0.6.6", "scikit-learn==1.5.2"), "diffprivlib.tools"),
)
"""Of scikit-learn, diffprivlib 0.6.6 can't be imported with the newest. Google's C++ library is measured as PyDP."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a library did with a query: how, and the error of each of its numbers."""

    how: str
    errors: tuple[Measured, ...]


class NotThere(Exception):
    """A library that can't be measured here; the text says why."""


def interpreters() -> Iterator[str]:
    """The Pythons of this machine, the one that runs first."""
    yield sys.executable
    for version in VERSIONS:
        found = shutil.which(f"python{version}")
        kept = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
        yield from (str(path) for path in (*([found] if found else []), *kept))


def environment(peer: Peer, cache: Path) -> Path:
    """The interpreter of the library's environment, which is made if it isn't there. Raises NotThere."""
    folder = cache / "-".join(requirement.replace("==", "-") for requirement in peer.requirements)
    python = folder / "bin" / "python"
    if _works(python, peer):
        return python
    why = "no interpreter was found"
    for base in interpreters():
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _run([base, "-m", "venv", str(folder)], 120)
            _run([str(python), "-m", "pip", "install", "-q", *peer.requirements], SECONDS_TO_INSTALL)
            _run([str(python), "-I", "-c", f"import {peer.module}"], 120)
        except NotThere as error:
            why = str(error)
            continue
        return python
    shutil.rmtree(folder, ignore_errors=True)
    raise NotThere(f"{' '.join(peer.requirements)} can't be installed here: {why}")


def _works(python: Path, peer: Peer) -> bool:
    try:
        _run([str(python), "-I", "-c", f"import {peer.module}"], 120)
    except NotThere:
        return False
    return True


def _run(command: Sequence[str], seconds: float, given: str = "") -> str:
    """What a command prints. Raises NotThere with its last line where it fails."""
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, timeout=seconds, encoding="utf-8", check=False
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotThere(f"{type(error).__name__} of {' '.join(command[:4])}") from None
    if done.returncode:
        raise NotThere((done.stderr.strip().splitlines() or ["it failed"])[-1])
    return done.stdout


def answers(
    peer: Peer, python: Path, data: DataSet, source: Path, epsilon: float, queries: Sequence[str], number: int
) -> Mapping[str, list[Answered]]:
    """What the library answers to each query, in each of its ways. Raises NotThere."""
    job = {
        "script": str(HERE / peer.script),
        "file": str(source),
        "income": data.income,
        "age": data.age,
        "epsilon": epsilon,
        "queries": list(queries),
        "answers": number,
        "seconds": SECONDS_PER_WAY,
    }
    limit = 60 + 4 * SECONDS_PER_WAY * len(queries)
    printed = _run([str(python), "-I", str(HERE / "job.py")], limit, json.dumps(job))
    found: dict[str, list[Answered]] = {}
    for way in json.loads(printed.splitlines()[-1]):
        if way["failed"]:
            print(f"{peer.name} doesn't answer {way['query']} at ε {epsilon:g}: {way['failed']}\n", flush=True)
        if len(way["values"]) < LEAST_ANSWERS:
            continue
        columns = zip(*way["values"], strict=True)
        right = exact(source, way["query"])
        errors = tuple(measured(column, number) for column, number in zip(columns, right, strict=True))
        found.setdefault(way["query"], []).append(Answered(way["how"], errors))
    return found
