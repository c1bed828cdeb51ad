"""The yardstick's queries, with the policy and the dialects in which each is asked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Query:
    """One query of the yardstick.

    origin    whose test it is
    index     its place in its file
    policy    the policy whose tables it asks about
    label     what its file expects: accept or reject
    dialects  in which it is tried, the first that can parse it wins
    """

    origin: str
    index: int
    policy: str
    sql: str
    label: str
    dialects: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A short hash of the text, which stays outside of the repository."""
        return hashlib.sha256(self.sql.encode()).hexdigest()[:10]


_UNBOUNDED = (("smartnoise", 306), ("smartnoise", 307))
"""Queries whose test takes the bounds of a column away: that is why they must be refused."""


def read(directory: Path) -> list[Query]:
    """All queries of the directory's files, in their order."""
    everyday = ("duckdb", "postgres")
    found = []
    for file, dialects in (("smartnoise", everyday), ("googlesql", ("bigquery",)), ("qrlew_uber", everyday)):
        entries = json.loads((directory / f"{file}_queries.json").read_text(encoding="utf-8"))
        for index, entry in enumerate(entries):
            origin = file
            if file == "qrlew_uber":
                origin = "uber" if entry["schema"] == "uber" else "qrlew"
            policy = "unbounded" if (origin, index) in _UNBOUNDED else origin
            found.append(Query(origin, index, policy, entry["sql"], entry["expect"], dialects))
    return found
