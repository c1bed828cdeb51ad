"""All parts of README that are made from the product, and the product that makes them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dpsql
from tests.readme import functions, policy, sql, tpch

ROOT = Path(__file__).parents[2]


def copy_policies(folder: Path) -> Path:
    """A copy of config/ and of the demo's data; returns the path of config/pums.yaml."""
    for name in ("config", "dpsql/demo"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("var"))
    return folder / "config" / "pums.yaml"


@contextmanager
def compiler_of_pums(folder: Path) -> Iterator[sql.Compile]:
    """Compiles a statement under config/pums.yaml."""
    with dpsql.connect(copy_policies(folder), analyst="alice", create_ledger=True) as connection:
        yield connection.cursor().explain


def generated(compiles: sql.Compile) -> dict[str, str]:
    """Each part by its name."""
    return {**policy.tables(), **sql.tables(compiles), **functions.tables(), **tpch.tables()}
