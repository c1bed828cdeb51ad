"""What release computes with, at the ends of 64 bits: exact there too, whatever noise comes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql import columns, release
from dpsql.aggregates.aggregate import INT64_MAX
from dpsql.engines.exact_rows import KeyColumn
from dpsql.policy import Kind
from dpsql.query import KeyDomain
from tests.harness import bench, make_policy

ENDS = (0, 1, -1, 2**31, 2**62 - 1, 2**62, -(2**62), INT64_MAX - 1, INT64_MAX, -INT64_MAX)


def ints(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def test_sums_and_products_are_exact_where_they_pass_64_bits() -> None:
    """numpy would wrap around: a sum at the upper end would become one at the lower."""
    for a in ENDS:
        for b in ENDS:
            for one, other in (
                (ints(a), ints(b)),
                (ints(a).astype(object), ints(b)),
                (ints(a), ints(b).astype(object)),
            ):
                assert release._add(one, other).tolist() == [a + b]
            assert release._add(ints(*[a] * 100), ints(*[b] * 100)).tolist() == [a + b] * 100
            assert release._times(a, ints(b)).tolist() == [a * b]
    assert release._add(ints(1), ints(2)).dtype == release._times(3, ints(2)).dtype == np.int64


@pytest.mark.parametrize("steps", [1, 2, 2**20])
def test_weighted_sums_are_rounded_exactly_where_they_pass_64_bits(steps: int) -> None:
    """To the nearest, halves upward."""
    half = steps // 2
    for value in (*ENDS, half, -half, 3 * half, INT64_MAX - half, min(INT64_MAX, INT64_MAX - half + 1)):
        exact = value if steps == 1 else (2 * value + steps) // (2 * steps)
        assert columns._in_full(ints(value), steps).tolist() == [exact]
        assert columns._in_full(ints(value).astype(object), steps).tolist() == [exact]


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.DOUBLE])
@pytest.mark.parametrize("null", [False, True])
def test_keys_have_places_and_labels(kind: Kind, null: bool) -> None:
    """NULL stands last where it is a key, and its label is no number. What is no key has no place."""
    labels = [4, 6, 8, *[None] * null]
    for domain in (
        KeyDomain(kind, None, 2, Fraction(2), 3, null),
        KeyDomain(kind, (4, 6, 8), step=Fraction(2), count=3, null=null),
    ):
        assert columns._labels(domain).tolist() == labels
        found = KeyColumn(ints(2, 1, 4, 5, 3, -9), np.array([False] * 5 + [True]))
        assert release._places(domain, found).tolist() == [0, -1, 2, -1, 1, 3 if null else -1]
        assert release._places(domain, KeyColumn(ints(0, 4))).tolist() == [-1, 2]


class LowNoise:
    """Takes 3 steps off every sum."""

    def laplace(self, scale: Fraction, size: int) -> Any:
        return np.full(size, -3, dtype=np.int64)


@pytest.mark.parametrize(("counts", "least"), [("clamp", 0), ("raw", -3)])
def test_counts_are_shown_as_at_least_0_where_the_policy_says_so(counts: str, least: int) -> None:
    """Counts alone: a sum below 0 is a sum."""
    table = "  t: {source: t.parquet, unit: row, columns: {x: {type: integer, bounds: [-9, 9]}}}\n"
    made = bench(make_policy(table, counts=counts), {"t": {"x": "INTEGER"}}, LowNoise())
    for sql, shown in (
        ("SELECT COUNT(*) FROM t", least), ("SELECT COUNT(x) FROM t WHERE x > 1", least), ("SELECT SUM(x) FROM t", -3),
        ("SELECT COUNT(*) + 1 FROM t", least + 1),
    ):  # fmt: skip
        assert made.ask(sql).rows == [(shown,)]
    made.engine.set_rows("t", [["1"]] * 10)
    assert made.ask("SELECT COUNT(*) FROM t").rows == [(7,)]


class HighNoise:
    """Adds 1,000 steps to every sum."""

    def laplace(self, scale: Fraction, size: int) -> Any:
        return np.full(size, 1_000, dtype=np.int64)


@pytest.mark.parametrize("counts", ["clamp", "raw"])
def test_no_more_distinct_values_are_shown_than_there_may_be(counts: str) -> None:
    columns = "x: {type: integer, bounds: [-9, 9]}, c: {type: text, keys: [a, b]}, f: {type: double, bounds: [0, 1]}, "
    columns += 'd: {type: "decimal(38,0)", bounds: [0, 1e37]}'
    table = f"  t: {{source: t.parquet, unit: row, columns: {{{columns}}}}}\n"
    types = {"x": "INTEGER", "c": "VARCHAR", "f": "DOUBLE", "d": "DECIMAL(38,0)"}
    made = bench(make_policy(table, counts=counts), {"t": types}, HighNoise())
    for argument, most in (
        ("DISTINCT x", 19), ("DISTINCT c", 2), ("DISTINCT c = 'a'", 2), ("DISTINCT f", 1_000), ("DISTINCT d", 1_000),
        ("x", 1_000), ("*", 1_000),
    ):  # fmt: skip
        assert made.ask(f"SELECT COUNT({argument}) FROM t").rows == [(most if counts == "clamp" else 1_000,)]
