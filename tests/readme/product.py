"""All parts of README that are made from the product, and the product that makes them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dpsql
from tests.readme import accuracy, functions, policy, sql, tpch
from tests.tpch import generate

ROOT = Path(__file__).parents[2]


def copy_policies(folder: Path) -> Path:
    """A copy of config/ and of the demo's data; returns the path of config/pums.yaml."""
    for name in ("config", "dpsql/demo"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("data", "var"))
    return folder / "config" / "pums.yaml"


@contextmanager
def compilers(folder: Path) -> Iterator[sql.Compilers]:
    """Compile statements under config/pums.yaml and under config/tpch.yaml, over a little data of its shape."""
    policies = copy_policies(folder)
    generate.write(policies.parent / "data", scale=0.001)
    with (
        dpsql.connect(policies, analyst="alice", create_ledger=True) as rows,
        dpsql.connect(policies.with_name("tpch.yaml"), create_ledger=True) as units,
    ):
        yield sql.Compilers(rows.cursor().explain, units.cursor().explain)


def generated(compilers: sql.Compilers) -> dict[str, str]:
    """Each part by its name."""
    return {**policy.tables(), **sql.tables(compilers), **functions.tables(), **tpch.tables(), **accuracy.tables()}
