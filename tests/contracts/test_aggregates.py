"""What every aggregate must keep, whichever it is: the package's scan finds them, new ones come in by themselves."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sqlglot

from dpsql import aggregates
from dpsql.aggregates.aggregate import CENTRED, INDEXED, SQUARED, Basis, Grid, Law, Way
from dpsql.audit.replay import RecordingNoise, Run, realised_loss, record
from dpsql.expressions.compiler import Typed
from dpsql.policy import ColumnType, Kind
from dpsql.privacy.mechanisms import cube, laplace
from dpsql.privacy.noise import SystemNoise
from dpsql.privacy.sensitivity import Part, joint_bound, largest_bound
from dpsql.valueset import Interval, ValueSet
from tests.harness import Bench, ZeroNoise, bench, make_policy
from tests.seeded import SeededBytes

pytestmark = pytest.mark.slow

GRIDS = [
    Grid(Fraction(low), Fraction(grain), cells)
    for low, grain, cells in [(0, 1, 7), (100, 1, 10), (-5, 1, 10), (-50, 1, 40), (-3, 1, 1), (-20, 2, 10), (7, 7, 1)]
] + [Grid(Fraction(100), Fraction(1, 4), 40)]
CONSTANTS = [Grid(Fraction(3), Fraction(3), 0), Grid(Fraction(0), Fraction(1), 0), Grid(Fraction(-2), Fraction(2), 0)]
KINDS = [ColumnType(Kind.INTEGER), ColumnType(Kind.DOUBLE)]


def _rows(grid: Grid) -> list[tuple[int, int]]:
    """(present, index) of every row that passes a filter: without a value, or with each index."""
    return [(0, 0), *((1, i) for i in range(grid.cells + 1))]


def _ways(name: str, grid: Grid, kind: ColumnType) -> tuple[Way, ...]:
    argument = Typed(sqlglot.exp.column("x"), ValueSet(kind, Interval(grid.lower, grid.upper)))
    found = list(aggregates.named(name).ways(argument, grid))
    if name == "count":
        found += aggregates.named(name).ways(None, grid)
    return tuple(way for way in found if grid.cells or way.basis not in INDEXED)


LAPLACE = frozenset(Basis) - {b for b in Basis if "moments" in b.value or b is Basis.CENTRE_AND_NULLS}
"""The bases for Laplace noise; the others are for noise that covers each sum by itself."""


def _parts(way: Way, grid: Grid) -> tuple[Part, ...]:
    """What a way reads: its basis, and the count of the rows where another basis has that."""
    return (*(() if way.of_count is None else Basis.TOTAL.parts(grid)), *way.basis.parts(grid))


CHOICES = ("median", "quantile_cont", "quantile_disc", "min", "max")
"""What is answered by one of the values: of no sums. See test_quantiles.py."""
CASES = [
    (name, grid, kind)
    for name in aggregates.found() if name not in CHOICES for grid in (*GRIDS, *CONSTANTS) for kind in KINDS
    if kind.kind is not Kind.INTEGER or grid.grain.denominator == 1  # integers have whole grains
]  # fmt: skip


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("basis", sorted(set(Basis) - {Basis.CELLS}, key=lambda b: b.value))
def test_no_row_moves_a_basis_by_more_than_its_bound(basis: Basis, grid: Grid) -> None:
    parts = basis.parts(grid)
    each = [[Fraction(abs(p.of_row(*row)), p.unit) for p in parts] for row in _rows(grid)]
    moved, most = [sum(row) for row in each], [max(row) for row in each]
    assert max(most) <= 1
    assert largest_bound(parts, grid.cells) == max(most) or (basis in SQUARED and max(most) < 1)
    if basis in LAPLACE:
        assert max(moved) <= 1
        assert joint_bound(parts, grid.cells) == max(moved)
    else:
        assert max(moved) > 1
    if basis not in (Basis.ROWS, Basis.UNITS, Basis.TOTAL) and {"nulls", "valued"}.isdisjoint(p.name for p in parts):
        assert moved[0] == 0, "a row without a value moves nothing"


def _with_value(way: Way, rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The rows that a way is for: those that share a count with whole rows are for columns without NULL."""
    return [row for row in rows if row[0]] if way.basis in (Basis.CENTRE, Basis.MOMENTS) else rows


def _exact(way: Way, grid: Grid, rows: list[tuple[int, int]]) -> dict[str, np.ndarray]:
    return {
        p.name: np.array([sum(p.of_row(*row) for row in rows)], dtype=np.int64) for p in _parts(way, grid)
    }  # fmt: skip


DEVIATIONS = {
    "variance": statistics.variance, "var_pop": statistics.pvariance, "stddev": statistics.stdev,
    "stddev_pop": statistics.pstdev,
}  # fmt: skip


def _deviation(name: str, values: list[Fraction]) -> float | None:
    try:
        return float(DEVIATIONS[name](values))
    except statistics.StatisticsError:
        return None


@pytest.mark.parametrize(("name", "grid", "kind"), CASES)
def test_without_noise_the_number_is_exact(name: str, grid: Grid, kind: ColumnType) -> None:
    for every in [[], [(0, 0)], _rows(grid), _rows(grid)[-1:] * 5, [*_rows(grid), *_rows(grid)[:2]]]:
        values = [grid.lower + i * grid.grain for present, i in every if present]
        for way in _ways(name, grid, kind):
            rows = _with_value(way, every)
            (number,) = way.combine(_exact(way, grid, rows), grid)
            if name == "count":
                assert number == len(rows if way.basis in (Basis.ROWS, Basis.TOTAL) else values)
            elif name == "sum":
                assert Fraction(number) == pytest.approx(sum(values)) if values else number == 0
            elif name in DEVIATIONS:
                wanted = _deviation(name, values)
                assert number == pytest.approx(wanted) if wanted is not None else 0 <= number <= grid.upper - grid.lower
            elif values:
                assert number == pytest.approx(float(sum(values) / len(values)))
            else:
                assert float(grid.lower) <= number <= float(grid.upper)


@pytest.mark.parametrize(("name", "grid", "kind"), CASES)
@pytest.mark.parametrize("added", [(), (Fraction(3), Fraction(3, 2))], ids=["alone", "added"])
def test_half_widths_hold_what_they_promise(
    added: tuple[Fraction, ...], name: str, grid: Grid, kind: ColumnType
) -> None:
    """Of a number by itself, and of one that is added up from the sums of several bases."""
    draws, epsilon, level = 4_000, Fraction(1, 3), 0.95
    for number, way in enumerate(_ways(name, grid, kind)):
        rows = _with_value(way, _rows(grid) * (150 if name in DEVIATIONS else 30))
        source = SystemNoise(SeededBytes(number + 1))
        exact = _exact(way, grid, rows)
        parts, scales, of_cube = _parts(way, grid), (1 / epsilon, *added), way.basis in CENTRED
        noisy = exact
        for scale in scales:
            if of_cube:
                fine = source.cube(1024 * scale, len(parts), draws)
                noises = [(z * part.unit + 512) // 1024 for part, z in zip(parts, fine, strict=True)]
            else:
                noises = [source.laplace(part.unit * scale, draws) for part in parts]
            noisy = {part.name: noisy[part.name] + noise for part, noise in zip(parts, noises, strict=True)}
        mechanism = cube.MECHANISM if of_cube else laplace.MECHANISM
        laws = [Law(mechanism, scale, len(parts), (scale,) if of_cube else ()) for scale in scales]
        law = replace(laws[0], added=tuple(laws[1:]))
        values = way.combine(noisy, grid)
        truth = float(way.combine(exact, grid)[0])
        assert way.has_interval
        low, high = way.ends(noisy, law, grid, level)
        assert low.dtype == high.dtype == values.dtype
        inside = (low <= values + 1e-9) & (values <= high + 1e-9)
        if name in DEVIATIONS:  # the interval is of what was clamped to what is possible
            greatest = float(grid.upper - grid.lower) / 2
            greatest = greatest if "stddev" in name else greatest**2
            inside |= (values == 0) & (high < 0) | (values >= greatest * (1 - 1e-9)) & (low > values)
        assert inside.all()
        covered = float(np.mean((low <= truth) & (truth <= high)))
        assert covered >= 0.94, (way.basis, covered)
        at_its_end = name in DEVIATIONS and grid.cells == 1  # no values vary more: the interval never lies above
        most = 0.985 if at_its_end else 0.975 if name in DEVIATIONS else 0.965
        assert covered <= most or values.dtype == np.int64 or not grid.cells, (way.basis, covered)


# ---------------------------------------------------------------------------------------------- in SQL

BOUNDS = [(100, 110), (-5, 20), (-50, -10), (3, 3), (0, 0)]
TYPES = {"integer": "BIGINT", "double": "DOUBLE", '"decimal(10,2)"': "DECIMAL(38,2)"}
VICTIMS = {
    "integer": ("NULL", "0", "9223372036854775807", "(-9223372036854775807 - 1)", "105", "-7", "3", "100", "110"),
    "double": ("NULL", "'NaN'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "0", "-0.0", "1e308", "-1e308", "105.3",
               "99.9999", "5e-324", "-20", "3"),
    '"decimal(10,2)"': ("NULL", "0", "9" * 36 + ".99", "-" + "9" * 36 + ".99", "105.55", "-20.01", "3"),
}  # fmt: skip


@pytest.mark.parametrize(("bounds", "type_"), list(itertools.product(BOUNDS, TYPES)))
def test_no_value_moves_a_release_by_more_than_it_is_charged(bounds: tuple[int, int], type_: str) -> None:
    """Each joins those before it. Sums move alike whoever was there, but for DISTINCT: many are moved to one bound."""
    policy = make_policy(
        f"  t:\n    source: t.parquet\n    unit: row\n    columns:\n"
        f"      v: {{type: {type_}, bounds: [{bounds[0]}, {bounds[1]}], nullable: true}}\n"
    )
    made = bench(policy, {"t": {"v": TYPES[type_]}}, RecordingNoise())
    sums = [name.upper() for name in aggregates.found() if name not in CHOICES]
    calls = [f"{name}({once}v)" for name in sums for once in ("", "DISTINCT ")]
    calls += ["MEDIAN(v)", "QUANTILE_CONT(v, 0.9)", "QUANTILE_DISC(v, [0.1, 0.25, 0.75])", "MIN(v)", "MAX(DISTINCT v)"]
    lists = [*calls, ", ".join(calls), "COUNT(*), " + ", ".join(calls), "COUNT(*), SUM(v)", "AVG(v * v - v), SUM(-v)"]
    statements = [f"SELECT {listed} FROM t" for listed in lists]

    def runs(*rows: str) -> list[Run]:
        made.engine.set_rows("t", [(row,) for row in rows])
        return [record(made, sql, "0.5") for sql in statements]

    plans = [made.session.plan(sql, epsilon="0.5").plan for sql in statements]
    victims = VICTIMS[type_]
    databases = [runs(*victims[:number]) for number in range(len(victims) + 1)]
    for before, after in itertools.pairwise(databases):
        for plan, none, one in zip(plans, before, after, strict=True):
            assert one.answer == none.answer
            assert realised_loss(plan, none, one) <= Fraction("0.5")


def _zero() -> Bench:
    policy = make_policy(
        "  t:\n    source: t.parquet\n    unit: row\n    columns:\n"
        "      v: {type: integer, bounds: [100, 110], nullable: true}\n"
    )
    return bench(policy, {"t": {"v": "BIGINT"}}, ZeroNoise())


def test_a_value_outside_its_bounds_counts_as_the_nearer_bound() -> None:
    made = _zero()
    made.engine.set_rows("t", [("NULL",), ("0",), ("9223372036854775807",), ("105",)])
    row = made.ask("SELECT SUM(v), COUNT(v), COUNT(*), AVG(v) FROM t", 10**9).rows[0]
    assert row[:3] == (315, 3, 4)
    assert math.isclose(row[3], 105)
