"""The index of a value on its grid, run on DuckDB over the extremes of its type: in range, total, and right."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import duckdb
import pytest
from sqlglot import exp

from dpsql.aggregates.aggregate import Grid
from dpsql.expressions import Typed
from dpsql.expressions.numbers import _whole_quotient
from dpsql.policy import ColumnType, Kind
from dpsql.rewrite.clip import summand
from dpsql.valueset import Interval, ValueSet, machine_range

INTEGER, DOUBLE, WIDE = ColumnType(Kind.INTEGER), ColumnType(Kind.DOUBLE), ColumnType(Kind.DECIMAL, 38, 30)
INTEGERS = ("0", "1", "-1", "7", "8", "100", "101", str(2**63 - 1), str(-(2**63)), "NULL")
DOUBLES = ("0.0", "-0.0", "0.3", "7.5", "1e308", "-1e308", "5e-324", "'nan'", "'inf'", "'-inf'", "NULL")
DECIMALS = ("0", "0.01", "-0.01", "49.99", "50.005", "999999.99", "-999999.99", "NULL")


def indices(kind: ColumnType, physical: str, grid: Grid, values: tuple[str, ...], bare: bool = True) -> list[object]:
    """The index of each value as DuckDB computes it; for the doubled form, put back from 2i − cells."""
    bounds = Interval(grid.lower, grid.upper)
    column = exp.column("x", quoted=True)
    machine = machine_range(kind) if not bare else bounds
    typed = Typed(column.copy(), ValueSet(kind, bounds, machine), column if bare else None)
    made = summand(typed, grid, "v", physical)
    rows = ", ".join(f"({i}, CAST({v} AS {physical}))" for i, v in enumerate(values))
    sql = f"SELECT n, x FROM (VALUES {rows}) AS t(n, x)"
    for number, step in enumerate(made.steps):
        kept = "n, x" if number == 0 else "n"
        sql = f"SELECT {kept.replace(', x', '')}, {step.sql('duckdb')} AS v FROM ({sql}) AS q"
    with duckdb.connect() as connection:
        found = [row[1] for row in connection.execute(f"{sql} ORDER BY n").fetchall()]
    return [v if v is None or not made.doubled else (v + made.cells) // 2 for v in found]


def expected(value: str, grid: Grid, finite_only: bool) -> object:
    """(lowest, highest) index that rounding of the clipped value may give, None for NULL."""
    if value == "NULL" or "nan" in value or (finite_only and ("inf" in value or value == "-1e308")):
        return None  # the arithmetic form takes what lies below -2^1023 for infinite
    if "inf" in value:
        return (0, 0) if "-" in value else (grid.cells, grid.cells)
    exact = (min(max(Fraction(value), grid.lower), grid.upper) - grid.lower) / grid.grain
    return math.floor(exact), math.ceil(exact)


FORMS = [
    (INTEGER, "INTEGER", Grid(Fraction(0), Fraction(1), 100), (*INTEGERS[:7], "NULL"), True),
    (INTEGER, "BIGINT", Grid(Fraction(0), Fraction(1), 100), INTEGERS, True),
    (INTEGER, "BIGINT", Grid(Fraction(-8), Fraction(4), 27), INTEGERS, True),
    (INTEGER, "BIGINT", Grid(Fraction(-(2**62)), Fraction(2**10), 2**53), INTEGERS, True),
    (INTEGER, "BIGINT", Grid(Fraction(-(2**62)), Fraction(1), 2**62), INTEGERS, False),
    (DOUBLE, "DOUBLE", Grid(Fraction(0), Fraction(1, 2**20), 8 * 2**20), DOUBLES, True),
    (DOUBLE, "DOUBLE", Grid(Fraction(-3), Fraction(1, 10), 110), DOUBLES, False),
    (DOUBLE, "DOUBLE", Grid(-(Fraction(2) ** 970), Fraction(2) ** 930, 2**41), DOUBLES, True),
    (ColumnType(Kind.DECIMAL, 9, 2), "DECIMAL(9,2)", Grid(Fraction(0), Fraction(1, 100), 5000), DECIMALS, True),
    (ColumnType(Kind.DECIMAL, 9, 2), "DECIMAL(18,2)", Grid(Fraction(-64), Fraction(4), 32), DECIMALS, True),
    (
        ColumnType(Kind.DECIMAL, 38, 30),
        "DECIMAL(38,30)",
        Grid(Fraction(0), Fraction(1, 10**15), 10**15),
        DECIMALS[:4],
        True,
    ),
    (ColumnType(Kind.DECIMAL, 9, 2), "DECIMAL(9,2)", Grid(Fraction(0), Fraction(1, 100), 5000), DECIMALS, False),
]


@pytest.mark.parametrize(("kind", "physical", "grid", "values", "bare"), FORMS)
def test_the_index_is_total_in_range_and_right(
    kind: ColumnType, physical: str, grid: Grid, values: tuple[str, ...], bare: bool
) -> None:
    found = indices(kind, physical, grid, values, bare)
    reflected = kind.kind is Kind.DOUBLE and grid.magnitude * grid.grain < Fraction(2) ** 960
    for value, index in zip(values, found, strict=True):
        wanted = expected(value, grid, finite_only=reflected)
        if wanted is None or index is None:
            assert index is None and wanted is None, value
            continue
        assert isinstance(index, int) and 0 <= index <= grid.cells
        assert wanted[0] <= index <= wanted[1], value  # type: ignore[index]


def test_a_quotient_of_integers_is_within_its_bounds_and_reaches_them() -> None:
    """Whatever the divisor, but 0, of which it is NULL."""
    ends = [(low, high) for low in range(-4, 5) for high in range(low, 5)]
    for (a, b), (c, d) in itertools.product(ends, ends):
        found = _whole_quotient(Interval(Fraction(a), Fraction(b)), Interval(Fraction(c), Fraction(d)))
        divisors = [y for y in range(c, d + 1) if y]
        exact = [math.trunc(Fraction(x, y)) for x in range(a, b + 1) for y in divisors] or [0]
        assert (found.lower, found.upper) == (min(exact), max(exact))
    unbounded = _whole_quotient(Interval(Fraction(-5), math.inf), Interval())
    assert (unbounded.lower, unbounded.upper) == (-math.inf, math.inf)
