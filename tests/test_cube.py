"""Cube noise has exactly its law, word by word; its half-widths are those of that law."""

from __future__ import annotations

import ast
import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpsql.privacy import mechanisms
from dpsql.privacy.interval import cube_half_width, cube_tail, cubes_half_width, laplace_sum_half_width
from dpsql.privacy.mechanisms import cube
from dpsql.privacy.mechanisms.cube import CHUNK, CubeNoise, cube_noise, fits_cube, uniform_below
from dpsql.privacy.mechanisms.laplace import DiscreteLaplace
from dpsql.privacy.noise import SystemNoise
from tests.chisquare import Z, chi_square
from tests.seeded import ScriptedBytes, SeededBytes


def words(*numbers: int) -> bytes:
    return np.array(numbers, dtype=np.uint64).tobytes()


# ---------------------------------------------------------------------------------------------- numbers below m


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 2**31 + 11, 2**62 - 1, 2**62])
def test_a_number_below_m_is_the_word_modulo_m_or_the_word_is_drawn_again(limit: int) -> None:
    kept = 2**64 - 2**64 % limit
    fine = [0, 1, limit - 1, limit, limit + 5, kept - 1]
    limits = np.full(len(fine), limit)
    assert uniform_below(limits, ScriptedBytes(words(*fine))).tolist() == [word % limit for word in fine]
    for word in {kept, 2**64 - 1} if kept < 2**64 else ():
        source = ScriptedBytes(words(5, word, word), words(word, 1), words(2))
        assert uniform_below(np.full(3, limit), source).tolist() == [5 % limit, 2 % limit, 1 % limit]
        assert not source.pieces


def test_each_number_has_a_limit_of_its_own_and_is_uniform() -> None:
    limits = np.tile(np.arange(1, 8), 20_000)
    found = uniform_below(limits, SeededBytes(1))
    for limit in range(2, 8):
        counts = np.bincount(found[limits == limit], minlength=limit)
        statistic, critical = chi_square(counts, np.full(limit, 20_000 / limit))
        assert statistic < critical


# ---------------------------------------------------------------------------------------------- the law


@pytest.mark.parametrize(("dimensions", "radius"), [(1, 0), (1, 4), (2, 0), (2, 3), (3, 0), (3, 2), (4, 1)])
def test_of_all_words_those_that_are_given_are_each_point_of_the_cube_once(
    dimensions: int, radius: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of step 2 for a radius r: with the words 0, 1, … for each V, exactly (2r + 1)^d of Π (2r + 2i) are given."""
    every = list(itertools.product(*(range(2 * radius + 2 * i) for i in range(1, dimensions + 1))))
    geometrics = np.zeros((dimensions + 1, len(every)), dtype=np.int64)
    geometrics[-1] = radius
    monkeypatch.setattr(DiscreteLaplace, "geometrics", lambda *_: geometrics.reshape(-1))
    source = ScriptedBytes(words(*(v[i] for i in range(dimensions) for v in every)))
    values, given = CubeNoise(Fraction(1), dimensions)._trial(len(every), source)
    cube_ = list(itertools.product(range(-radius, radius + 1), repeat=dimensions))
    assert sorted(zip(*values[:, given].tolist(), strict=True)) == cube_
    assert len(every) == math.prod(2 * radius + 2 * i for i in range(1, dimensions + 1))


def test_one_is_drawn_anew_until_it_is_given_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two draws at radius 0 in one dimension, V below 2: the second is 1 twice."""
    monkeypatch.setattr(DiscreteLaplace, "geometrics", lambda self, size, source: np.zeros(size, dtype=np.int64))
    source = ScriptedBytes(words(0, 1), words(1), words(0))
    assert CubeNoise(Fraction(1), 1).sample(2, source).tolist() == [[0, 0]]
    assert not source.pieces


def law_of_algorithm(scale: Fraction, dimensions: int, last: int) -> list[Decimal]:
    """P(Z = z) by max|z_i| up to `last`, from the steps as they are written: to 60 digits."""
    with localcontext() as context:
        context.prec = 80
        a = (-Decimal(scale.denominator) / scale.numerator).exp()
        point = []
        for r in range(last + 400):
            accepted = math.prod(Fraction(2 * r + 1, 2 * r + 2 * i) for i in range(1, dimensions + 1))
            of_radius = math.comb(r + dimensions, dimensions) * accepted / (2 * r + 1) ** dimensions
            point.append(Decimal(of_radius.numerator) / of_radius.denominator * a**r)
        beyond = [sum(point[r:], Decimal(0)) for r in range(len(point))]
        total = sum(b * ((2 * r + 1) ** dimensions - max(2 * r - 1, 0) ** dimensions) for r, b in enumerate(beyond))
        return [b / total for b in beyond[: last + 1]]


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(2), Fraction(7, 3)], ids=str)
def test_the_exact_law_on_a_lattice_loses_epsilon_and_no_more(scale: Fraction, dimensions: int) -> None:
    law = law_of_algorithm(scale, dimensions, 12)
    for moved in (1, 2, 5):  # a unit moves each coordinate by at most this: ε = moved / scale
        loss = max(abs(float(law[a].ln() - law[b].ln())) for a in range(13) for b in range(13) if abs(a - b) <= moved)
        assert loss == pytest.approx(moved / scale, rel=1e-12)
    with localcontext() as context:
        context.prec = 50
        a = (-Decimal(scale.denominator) / scale.numerator).exp()
        norm = sum(((2 * r + 1) ** dimensions - max(2 * r - 1, 0) ** dimensions) * a**r for r in range(600))
        assert all(abs(float(p * norm / a**r) - 1) < 1e-12 for r, p in enumerate(law))


def joint_chi_square(draws: np.ndarray, scale: Fraction, most: int) -> tuple[float, float]:
    """Of the points with coordinates up to `most`, each a cell, and all others together."""
    dimensions, size = draws.shape
    law = law_of_algorithm(scale, dimensions, most)
    inside = (np.abs(draws) <= most).all(axis=0)
    index = np.zeros(size, dtype=np.int64)
    for coordinate in draws:
        index = index * (2 * most + 1) + coordinate + most
    observed = np.bincount(index[inside], minlength=(2 * most + 1) ** dimensions)
    points = itertools.product(range(-most, most + 1), repeat=dimensions)
    expected = np.array([size * float(law[max(map(abs, point))]) for point in points])
    return chi_square([*observed, size - inside.sum()], [*expected, size - expected.sum()])


@pytest.mark.parametrize(("dimensions", "most"), [(1, 6), (2, 5), (3, 3)])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(355, 113)], ids=str)
def test_law(scale: Fraction, dimensions: int, most: int) -> None:
    draws = CubeNoise(scale, dimensions).sample(150_000, SeededBytes(17 * dimensions))
    statistic, critical = joint_chi_square(draws, scale, most if scale >= 1 else 1)
    assert statistic < critical


@pytest.mark.parametrize("dimensions", [2, 3, 6])
@pytest.mark.parametrize("scale", [Fraction(2**12), Fraction(2**40)], ids=str)
def test_marginal_law_and_low_digits_at_large_scales(scale: Fraction, dimensions: int) -> None:
    draws = CubeNoise(scale, dimensions).sample(100_000, SeededBytes(5))
    edges = np.linspace(0, 8, 17)
    expected = 100_000 * np.diff([1 - cube_tail([1.0], dimensions, x) for x in edges], append=1)
    for coordinate in draws:
        observed = np.histogram(np.abs(coordinate) / float(scale), [*edges, np.inf])[0]
        observed[-1], expected[-1] = draws.shape[1] - observed[:-1].sum(), draws.shape[1] - expected[:-1].sum()
        statistic, critical = chi_square(observed, expected)
        assert statistic < critical
        statistic, critical = chi_square(np.bincount(coordinate & 63, minlength=64), np.full(64, 100_000 / 64))
        assert statistic < critical
    signs = np.array([c > 0 for c in draws[:2]]).T @ [1, 2]
    statistic, critical = chi_square(np.bincount(signs, minlength=4), np.full(4, 25_000))
    assert statistic < critical


@pytest.mark.parametrize("wrong", [Fraction(26, 25), Fraction(24, 25), Fraction(1, 2)], ids=str)
def test_a_wrong_scale_is_caught(wrong: Fraction) -> None:
    draws = CubeNoise(wrong * 2, 2).sample(300_000, SeededBytes(8))
    statistic, critical = joint_chi_square(draws, Fraction(2), 4)
    assert statistic > critical


def test_a_wrong_acceptance_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every radius were given: the law of the sum of geometrics."""
    real = CubeNoise._trial

    def all_given(self: CubeNoise, size: int, source: SeededBytes) -> tuple[np.ndarray, np.ndarray]:
        values, given = real(self, size, source)
        return values, np.ones_like(given)

    monkeypatch.setattr(CubeNoise, "_trial", all_given)
    statistic, critical = joint_chi_square(CubeNoise(Fraction(2), 2).sample(300_000, SeededBytes(8)), Fraction(2), 4)
    assert statistic > critical


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 6, 10])
def test_standard_deviation(dimensions: int) -> None:
    """√((d + 1)(d + 2) / 3) at scale 1."""
    draws = CubeNoise(Fraction(4096), dimensions).sample(60_000, SeededBytes(4))
    wanted = math.sqrt((dimensions + 1) * (dimensions + 2) / 3)
    assert mechanisms.found()["cube"].variance(dimensions) == pytest.approx(wanted**2)
    error = Z * wanted * math.sqrt(5 / 60_000)  # the kurtosis is below 6 in every dimension
    assert all(abs(np.std(c) / 4096 - wanted) < error for c in draws)


def test_in_one_dimension_it_is_laplace_noise() -> None:
    assert cube_tail([1.0], 1, 3.0) == pytest.approx(math.exp(-3))
    law = law_of_algorithm(Fraction(3), 1, 4)
    q = math.exp(-1 / 3)
    assert [float(p) for p in law] == pytest.approx([(1 - q) / (1 + q) * q**x for x in range(5)])


# ---------------------------------------------------------------------------------------------- limits


def test_what_is_refused() -> None:
    for scale, dimensions in ((Fraction(0), 2), (Fraction(-1), 2), (Fraction(1), 0), (Fraction(2**60), 2)):
        with pytest.raises(ValueError, match="cube noise"):
            CubeNoise(scale, dimensions)
    with pytest.raises(ValueError, match="draws"):
        CubeNoise(Fraction(1), 2).sample(-1, SeededBytes(0))
    assert cube_noise(Fraction(2), 3) is cube_noise(Fraction(4, 2), 3)


@pytest.mark.parametrize("dimensions", [1, 3])
def test_the_largest_scale_fits(dimensions: int) -> None:
    largest = Fraction(cube.LARGEST_RADIUS) / cube.LN_2_64 / (dimensions + 1)
    assert fits_cube(largest, dimensions) and not fits_cube(largest + 1, dimensions)
    draws = CubeNoise(largest, dimensions).sample(20_000, SeededBytes(13))
    assert 2**55 < np.abs(draws).max() < 2**61


def test_a_draw_beyond_62_bits_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiscreteLaplace, "geometrics", lambda self, size, source: np.full(size, 2**60))
    with pytest.raises(OverflowError):
        CubeNoise(Fraction(1), 2).sample(1, SeededBytes(0))


@pytest.mark.parametrize("size", [0, 1, 2, CHUNK // 3 + 1])
def test_sizes(size: int) -> None:
    draws = SystemNoise(SeededBytes(3)).cube(Fraction(5), 3, size)
    assert len(draws) == 3
    assert all(each.shape == (size,) and each.dtype == np.int64 for each in draws)


def test_chunks_are_independent() -> None:
    first, second = CubeNoise(Fraction(1000), 1).sample(2 * CHUNK, SeededBytes(12)).reshape(2, -1)
    assert (first == second).mean() < 0.01


def test_there_is_no_float_in_the_sampler() -> None:
    tree = ast.parse(Path(cube.__file__).read_text())
    samplers = [n for n in tree.body if getattr(n, "name", "") in ("CubeNoise", "uniform_below")]
    nodes = [node for part in samplers for node in ast.walk(part)]
    assert len(samplers) == 2
    assert not any(isinstance(n, ast.Div) for n in nodes)
    assert not any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in nodes)
    named = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    assert not named & {"float", "float64", "float32", "exp", "log", "divide", "true_divide", "random"}


# ---------------------------------------------------------------------------------------------- half-widths


@pytest.mark.parametrize(("dimensions", "width"), [(2, 4.11), (3, 5.19), (4, 6.23), (6, 8.28), (10, 12.28)])
def test_half_widths_that_are_known(dimensions: int, width: float) -> None:
    assert cube_half_width([1.0], dimensions) == pytest.approx(width, abs=0.01)
    assert cube_half_width([-250.0, 0.0], dimensions, 0.95) == pytest.approx(250 * cube_half_width([1.0], dimensions))


COMBINED = [(2, (1.0, 0.7)), (2, (1.0, 0.01)), (3, (1.0, 0.3, 0.5)), (3, (1.0, -1.0, 1.0)), (5, (0.5, 0.25, 0.25))]


@pytest.mark.slow
@pytest.mark.parametrize(("dimensions", "coefficients"), COMBINED)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_half_width_of_a_combination_holds_as_often_as_it_says(
    dimensions: int, coefficients: tuple[float, ...], level: float
) -> None:
    draws = CubeNoise(Fraction(2**20), dimensions).sample(200_000, SeededBytes(dimensions)) / 2**20
    combined = np.abs(np.array(coefficients) @ draws[: len(coefficients)])
    width = cube_half_width(coefficients, dimensions, level)
    assert cubes_half_width([(coefficients, dimensions), ([0.0], 2)], level) == pytest.approx(width, rel=1e-3)
    assert cube_tail(coefficients, dimensions, width) == pytest.approx(1 - level, rel=1e-5)
    assert abs((combined <= width).mean() - level) < Z * math.sqrt(level * (1 - level) / 200_000)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("blocks", [
    [((1.0, 0.5), 3), ((1.0, 0.5), 3)], [((1.0,), 3), ((0.4, -0.2), 4), ((200.0,), 2)], [((0.5, 0.5, 0.1), 5)] * 4,
])  # fmt: skip
def test_the_half_width_of_a_sum_of_cubes_holds_as_often_as_it_says(
    blocks: list[tuple[tuple[float, ...], int]], level: float
) -> None:
    total = np.zeros(200_000)
    for number, (coefficients, dimensions) in enumerate(blocks):
        draws = CubeNoise(Fraction(2**20), dimensions).sample(200_000, SeededBytes(30 + number)) / 2**20
        total += np.array(coefficients) @ draws[: len(coefficients)]
    width = cubes_half_width(blocks, level)
    assert abs((np.abs(total) <= width).mean() - level) < Z * math.sqrt(level * (1 - level) / 200_000)
    assert cubes_half_width(blocks[::-1], level) == pytest.approx(width)


def test_half_widths_at_the_edges() -> None:
    assert cubes_half_width([]) == cubes_half_width([([], 3), ([0.0], 1)]) == 0
    assert cubes_half_width([([1e-9], 1), ([1.0], 1)]) == pytest.approx(cube_half_width([1.0], 1), rel=1e-3)
    assert cubes_half_width([([1.0], 1)], 0.01) == pytest.approx(cube_half_width([1.0], 1, 0.01), rel=0.02)
    assert cube_half_width([], 3) == cube_half_width([0.0, 0.0], 3) == 0
    assert cube_tail([], 2, 1.0) == 0 and cube_tail([1.0], 2, 0.0) == cube_tail([1.0], 2, -1.0) == 1
    assert cube_half_width([1.0], 1) == pytest.approx(laplace_sum_half_width([1.0]))
    assert cube_half_width([1.0, 1e-6], 2) == cube_half_width([1.0], 2)
    for coefficients in ([1.0, 1.0], [math.inf], [math.nan]):
        with pytest.raises(ValueError, match="coefficients"):
            cube_half_width(coefficients, 1)
    assert cube_half_width([1.0], 3, 1 - 1e-9) > 20


def test_mechanisms_are_found() -> None:
    assert set(mechanisms.found()) == {"cube", "discrete Laplace"}
    for name, mechanism in mechanisms.found().items():
        assert mechanism.name == name
        assert mechanism.variance(1) == 2
        assert mechanism.half_width([2.0], 1, 0.95) == pytest.approx(2 * math.log(20))
        assert mechanism.norm([Fraction(1), Fraction(2)]) == (3 if name == "discrete Laplace" else 2)


def test_a_block_of_several_scales_is_no_cube() -> None:
    with pytest.raises(ValueError, match="unpack"):
        cube.MECHANISM.draw(SystemNoise(SeededBytes(1)), [Fraction(1), Fraction(2)], 3)
