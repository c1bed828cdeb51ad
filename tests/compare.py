"""Whether two answers are the same: rows of exact numbers, or groups whose numbers were rounded to a grid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from dpsql.aggregates.aggregate import Grid
from dpsql.rewrite.intervals import direct_numbers
from dpsql.rewrite.lineage import lineage
from dpsql.session import Compiled
from tests.grammar import Aggregate, Statement

Row = tuple[Any, ...]


class Differs(AssertionError):
    """The answers are not the same."""


# ---------------------------------------------------------------------------------------------- rows


def same_rows(answer: Sequence[Row], plain: Sequence[Row], *, ordered: bool) -> int:
    """The same rows with values of the same types; doubles may differ in their last digits. Returns their number."""
    if len(answer) != len(plain):
        raise Differs(f"{len(answer)} rows, where DuckDB gives {len(plain)}")
    if not ordered:
        answer, plain = sorted(answer, key=_place), sorted(plain, key=_place)
    for mine, other in zip(answer, plain, strict=True):
        if len(mine) != len(other) or not all(map(_same, mine, other)):
            raise Differs(f"{mine}, where DuckDB gives {other}")
    return len(plain)


def _place(row: Row) -> tuple[list[str], list[float]]:
    """What sorts rows: first by exact values, then by doubles, so that a last digit can't part equal rows."""
    inexact = [isinstance(value, float) and math.isfinite(value) for value in row]
    exact = [repr(value) for value, no in zip(row, inexact, strict=True) if not no]
    return exact, [value for value, yes in zip(row, inexact, strict=True) if yes]


def _same(mine: Any, other: Any) -> bool:
    if type(mine) is not type(other):
        return False
    if isinstance(mine, float) and not math.isnan(mine):
        return math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-9)
    return repr(mine) == repr(other)


# ---------------------------------------------------------------------------------------------- groups


def same_groups(
    statement: Statement, compiled: Compiled, answer: Iterable[Row], plain: Sequence[Row], rows: int
) -> int:
    """The same groups with the same numbers, but for the differences that are meant. Returns how many are in both.

    Meant: groups that don't occur are there, with the numbers of no rows; groups of a NULL that isn't declared, or of
    a text that isn't, are not; sums and means are off by up to half a grain for each row.
    """
    width = len(statement.keys)
    expected = {row[:width]: row[width:] for row in plain}  # equal numbers are equal keys, whatever their types
    if len(expected) != len(plain):
        raise Differs("DuckDB gives a group twice")
    found = lineage(compiled.plan.outer)
    assert found is not None
    columns = dict(direct_numbers(found))
    release = compiled.plan.releases[-1]  # those before it are constants of it
    grids = [release.bases[release.numbers[columns[width + i]].basis].grid for i in range(len(statement.aggregates))]
    seen = set()
    for row in answer:
        key = row[:width]
        if key in seen:
            raise Differs(f"the group {key} comes twice")
        seen.add(key)
        wanted = expected.get(key, (None,) * len(grids))
        for call, grid, value, other in zip(statement.aggregates, grids, row[width:], wanted, strict=True):
            if not _near(call, grid, value, other, rows):
                raise Differs(f"{call.sql()} of group {key} is {value}, where DuckDB gives {other}")
    for key in expected.keys() - seen:
        if not any(value is None or (isinstance(value, str) and value.lower().startswith("z")) for value in key):
            raise Differs(f"the group {key} is missing")
    return len(expected.keys() & seen)


def _near(call: Aggregate, grid: Grid, value: Any, wanted: Any, rows: int) -> bool:
    if value is None:
        return False
    if call.function.startswith("COUNT"):
        return type(value) is int and value == (wanted or 0)
    if wanted is None:
        return _of_no_rows(call, grid, value)
    if not math.isfinite(wanted):
        return math.isfinite(value)
    half = grid.grain / 2 + max(abs(grid.lower), abs(grid.upper)) * Fraction(1, 2**44)
    mine, other = Fraction(value), Fraction(wanted)
    if call.function == "SUM":
        return abs(mine - other) <= half * (rows + 1)
    if call.function in ("AVG", "MEAN"):
        return abs(mine - other) <= half
    if call.function.startswith("STD"):
        mine, other = mine**2, other**2
    return abs(mine - other) <= 4 * (max(abs(grid.lower), abs(grid.upper)) + 1) * half


def _of_no_rows(call: Aggregate, grid: Grid, value: Any) -> bool:
    """SUM is 0, a mean anything within the bounds, a variance or deviation of too few rows anything from 0 on."""
    if call.function == "SUM":
        return value == 0
    if call.function in ("AVG", "MEAN"):
        return float(grid.lower) <= value <= float(grid.upper)
    return math.isfinite(value) and value >= 0
