"""README's tables of errors at the same ε: dpsql's by the law of its noise, those of others as they were measured."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from tests.benchmarks.accuracy import data, law, measure
from tests.benchmarks.accuracy.recorded import PEERS, RECORDED, WEAKER, Line, measured, names_of
from tests.readme import table

ONCE = "‡"
"""Marks those that this repository can't measure."""


def tables() -> dict[str, str]:
    """A table for each data set, by its name."""
    lines = measured()
    with tempfile.TemporaryDirectory() as folder:
        return {f"errors of {each.name}": _table(each, Path(folder), lines) for each in data.DATA_SETS}


def _table(each: data.DataSet, folder: Path, lines: Sequence[Line]) -> str:
    found = {(line.query, line.number, line.peer): line.error for line in lines if line.data == each.name}
    own = {mechanism: _laws(each, folder, mechanism) for mechanism in ("laplace", "auto")}
    names = [name for name in PEERS[each.name] if any(peer == name for _, _, peer in found)]
    once = [name for name in PEERS[each.name] if name not in names]
    rows = []
    for query, figures in RECORDED[each.name].items():
        for index, (number, figure) in enumerate(zip(names_of(query), figures, strict=True)):
            errors = [
                *(errors[query][index] for errors in own.values()),
                *(found.get((query, number, name)) for name in names),
                *(figure.peers.get(name) for name in once),
            ]
            several = len(figures) > 1
            label = f"{'and its' if index else 'one query:'} {number}" if several else number
            rows.append([label, *("" if error is None else measure.shown(error) for error in errors)])
    header = [f"{name}{WEAKER.get(name, '')}{'' if name in names else ONCE}" for name in (*names, *once)]
    return table(["", "dpsql", "dpsql, `auto`", *(name.replace("*", r"\*") for name in header)], rows)


def _laws(each: data.DataSet, folder: Path, mechanism: str) -> Mapping[str, Sequence[float]]:
    source = folder / f"{each.name}.csv"
    if not source.exists():
        each.write(source)
    with data.opened(each, source, mechanism) as session:
        fetched = {q: measure.fetched(session, f"SELECT {q} FROM people", Fraction(1)) for q in RECORDED[each.name]}
        return {query: law.errors(once) for query, once in fetched.items()}
