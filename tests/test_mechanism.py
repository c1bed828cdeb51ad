"""laplace_mechanism: exact on every kind of input, private at its edges, refusing what is no number."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.privacy import mechanism
from dpsql.privacy.mechanism import add_laplace, grid_exponent, laplace_mechanism
from dpsql.privacy.mechanisms.laplace import discrete_laplace, fits_int64, wide_laplace
from tests.chisquare import Z
from tests.seeded import SeededBytes

F = Fraction


def to_float(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator  # int / int is correctly rounded
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def oracle(values, epsilon: Fraction, sensitivity: Fraction, seed: int, first: int | None = None) -> list[float]:
    """The definition, in fractions: round to the grid, add the noise that this seed gives, round once.

    Only the `first` so many entries, where that is given.
    """
    d = len(values)
    g = F(2) ** grid_exponent(d, epsilon=epsilon, sensitivity=sensitivity)
    scale = (sensitivity / g + d) / epsilon
    draw = discrete_laplace(scale).sample if fits_int64(scale) else lambda n, s: wide_laplace(scale, n, s)
    pairs = list(zip(values, draw(d, SeededBytes(seed)), strict=True))[:first]
    return [to_float((math.floor(F(v) / g + F(1, 2)) + int(z)) * g) for v, z in pairs]


def noisy(values, epsilon=1, sensitivity=1, seed=1):
    return add_laplace(values, epsilon=F(epsilon), sensitivity=F(sensitivity), source=SeededBytes(seed))


class NoNoise:
    def sample(self, size, source):
        return np.zeros(size, dtype=np.int64)


@pytest.fixture
def no_noise(monkeypatch):
    monkeypatch.setattr(mechanism, "discrete_laplace", lambda scale: NoNoise())


# The definition

EXTREMES = [0.0, -0.0, 0.1, -0.1, 1e-300, 5e-324, -5e-324, 2.0**53 + 2, -(2.0**62), 2.0**62, 1e18, 1e100]
EXTREMES += [-1e308, 1.7976931348623157e308, -1.7976931348623157e308, 1 / 3, 123456789.125, -0.5, 0.5, 1.5]
PARAMETERS = [
    (epsilon, sensitivity)
    for epsilon in (F(1, 10**6), F(1), F(math.log(2)), F(10**6))
    for sensitivity in (F(1), F(1, 3), F(5e-324), F(1e-300), F(1e300), F(10**6))
]


@pytest.mark.parametrize(("epsilon", "sensitivity"), PARAMETERS, ids=lambda x: f"{float(x):g}")
def test_every_float_is_the_correctly_rounded_exact_sum(epsilon, sensitivity):
    values = EXTREMES + [float(sensitivity) * factor for factor in (0.5, 1.0, -(2.0**-30), 1e3)]
    result = noisy(np.array(values), epsilon, sensitivity)
    assert result.tolist() == oracle(values, epsilon, sensitivity, 1)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5),
    st.fractions(F(1, 10**6), F(10**6)),
    st.floats(min_value=5e-324, max_value=1e308),
    st.integers(0, 2**32),
)
def test_any_floats(values, epsilon, sensitivity, seed):
    result = noisy(values, epsilon, F(sensitivity), seed)
    assert result.tolist() == oracle(values, epsilon, F(sensitivity), seed)


@pytest.mark.parametrize("epsilon", [F(1, 10**6), F(1)], ids=["1e-6", "1"])
def test_large_arrays(epsilon):
    """At epsilon 1e-6 and this many entries the noise needs more than 63 bits."""
    values = np.linspace(-1000, 1000, 200_000)
    g = F(2) ** grid_exponent(values.size, epsilon=epsilon, sensitivity=F(1))
    assert values.size * g < F(1, 10**6)
    assert fits_int64((1 / g + values.size) / epsilon) == (epsilon == 1)
    result = noisy(values, epsilon, 1)
    assert result[:2000].tolist() == oracle(values.tolist(), epsilon, F(1), 1, first=2000)


INTEGERS = [0, 1, -1, 127, -128]
DTYPES = [
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "longdouble",
    "object",
    ">f8",
    ">i4",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    result = noisy(np.array(INTEGERS, dtype=dtype))
    assert result.dtype == np.float64
    assert result.tolist() == oracle(INTEGERS, F(1), F(1), 1)


@pytest.mark.parametrize("values", [np.array([2**63 - 1, -(2**63)]), np.array([2**64 - 1, 3], dtype=np.uint64)])
def test_large_integers_are_not_rounded_on_the_way_in(values):
    for epsilon in (F(1), F(10**6)):
        assert noisy(values, epsilon).tolist() == oracle(values.tolist(), epsilon, F(1), 1)


def test_neighbouring_large_integers_differ_by_one_before_noise(no_noise):
    """A float64 list would move by 256 or by 0 here."""
    grid = F(2) ** grid_exponent(2, epsilon=F(1), sensitivity=F(1))
    seen = []
    for value in (2**60 + 64, 2**60 + 65):
        entries = mechanism._entries([value, 0.5])
        seen.append([F(entry) / grid for entry in entries])
    assert seen[1][0] - seen[0][0] == 1 / grid


def test_longdouble_is_not_rounded_on_the_way_in():
    value = np.longdouble(1) + np.finfo(np.longdouble).eps
    assert mechanism._entries(np.array([value])).tolist() == [F(*value.as_integer_ratio())]


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**60 + 1])
def test_integers_that_are_no_float64_stay_exact(value):
    for query_result in (np.array([value]), [value], [value, 0.5], np.array([value], dtype=object)):
        assert F(mechanism._entries(query_result)[0]) == value


def test_noise_near_the_edge_of_int64(monkeypatch):
    """Entry and noise both just fit, their sum does not."""
    edge = 2**63 - 1

    class Edge:
        def sample(self, size, source):
            return np.array([edge, -edge, 2**62, 5])

    monkeypatch.setattr(mechanism, "discrete_laplace", lambda scale: Edge())
    g = F(2) ** grid_exponent(4, epsilon=F(1), sensitivity=F(1))
    value = float(g * 2**61)
    expected = [float((2**61 + noise) * g) for noise in (edge, -edge, 2**62, 5)]
    assert noisy([value] * 4).tolist() == expected


# Shapes


@pytest.mark.parametrize(
    "number",
    [3, 3.0, np.float64(3), np.float32(3), np.int16(3), np.uint64(3), F(3), Decimal(3)],
    ids=lambda x: repr(x),
)
def test_a_number_gives_a_float(number):
    result = noisy(number)
    assert type(result) is float
    assert result == oracle([3], F(1), F(1), 1)[0]


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 4), (2, 1, 3)])
@pytest.mark.parametrize("dtype", ["float64", "int64", "object"])
def test_an_array_keeps_its_shape(shape, dtype):
    result = laplace_mechanism(np.zeros(shape, dtype=dtype), 1, 1)
    assert isinstance(result, np.ndarray)
    assert (result.shape, result.dtype) == (shape, np.float64)


def test_lists():
    for values in ([1, 2, -3], [2**60 + 1, 2**53 + 1], [2**64, 2**70 + 1], [0.5, 0.25], [1, 0.5]):
        assert noisy(values).tolist() == oracle(values, F(1), F(1), 1)
    assert noisy([1, 2.5, F(1, 3), Decimal("0.1")]).tolist() == oracle([1, F(5, 2), F(1, 3), F(1, 10)], F(1), F(1), 1)
    assert laplace_mechanism([[1, 2], [3, 4]], 1, 1).shape == (2, 2)
    assert laplace_mechanism([], 1, 1).shape == (0,)
    assert laplace_mechanism((1, 2), 1, 1).shape == (2,)


def test_memory_layout_does_not_matter():
    values = np.arange(12.0).reshape(3, 4)
    assert (noisy(values.T) == noisy(np.ascontiguousarray(values.T))).all()


def test_the_input_is_left_alone():
    values = np.arange(5.0)
    laplace_mechanism(values, 1, 1)
    assert values.tolist() == [0, 1, 2, 3, 4]


# Privacy


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e-3, 1e-3)), min_size=1, max_size=6),
    st.sampled_from([F(1, 10**6), F(1), F(10**6)]),
)
def test_what_enters_the_noise_moves_by_at_most_the_sensitivity_used(pairs, epsilon):
    """sum |r(x) - r(y)| <= sensitivity / g + d: the scale of the noise, times epsilon."""
    x, y = [a for a, _ in pairs], [a + b for a, b in pairs]
    sensitivity = sum((abs(F(a) - F(b)) for a, b in zip(x, y, strict=True)), F(1, 10**9))
    g = F(2) ** grid_exponent(len(x), epsilon=epsilon, sensitivity=sensitivity)
    rounded = [[math.floor(F(v) / g + F(1, 2)) for v in values] for values in (x, y)]
    assert sum(abs(a - b) for a, b in zip(*rounded, strict=True)) <= sensitivity / g + len(x)


@pytest.mark.parametrize("entries", [0, 1, 5, 1000])
@pytest.mark.parametrize("epsilon", [F(1, 10**6), F(1), F(10**6)], ids=float)
def test_scale_covers_the_rounding_of_every_entry(entries, epsilon, monkeypatch):
    asked = []
    monkeypatch.setattr(mechanism, "discrete_laplace", lambda scale: asked.append(scale) or NoNoise())
    noisy([0.5] * entries, epsilon, F(3))
    g = F(2) ** grid_exponent(entries, epsilon=epsilon, sensitivity=F(3))
    assert asked == [(F(3) + entries * g) / g / epsilon]


def test_rounding_is_half_up(no_noise):
    g = F(2) ** grid_exponent(6, epsilon=F(1), sensitivity=F(1))
    values = [float(g * half) for half in (F(-3, 2), F(-1, 2), F(1, 2), F(3, 2))] + [
        float(g) * 0.49999999999999994,
        -5e-324,
    ]
    expected = [float(g * n) for n in (-1, 0, 1, 2, 0, 0)]
    assert noisy(values).tolist() == noisy([F(v) for v in values]).tolist() == expected


def test_outputs_lie_on_a_grid_that_does_not_depend_on_the_data():
    for value in (0.0, 1.0, 1 / 3, 2.0**40, 1e15):
        g = F(2) ** grid_exponent(1, epsilon=F(1), sensitivity=F(1))
        assert all((F(laplace_mechanism(value, 1.0, 1.0)) / g).denominator == 1 for _ in range(200))


@pytest.mark.parametrize("entries", [1, 7, 1000, 10**6])
@pytest.mark.parametrize(("epsilon", "sensitivity"), PARAMETERS[:12], ids=lambda x: f"{float(x):g}")
def test_grid(entries, epsilon, sensitivity):
    g = F(2) ** grid_exponent(entries, epsilon=epsilon, sensitivity=sensitivity)
    assert entries * g < sensitivity / 10**6
    assert g <= sensitivity / epsilon / 2**40
    assert 2 * g > sensitivity / epsilon / 2**40 or 2 * g * entries > sensitivity / 2**20


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("sensitivity", [1.0, 3e-5])
def test_noise_has_the_textbook_scale(epsilon, sensitivity):
    """E|X| = b, with standard deviation b."""
    n = 20_000
    result = np.array([noisy(np.zeros(1), F(epsilon), F(sensitivity), seed)[0] for seed in range(200)])
    scale = sensitivity / epsilon
    assert abs(np.abs(result).mean() / scale - 1) < Z / math.sqrt(200)
    result = noisy(np.zeros(n), F(epsilon), F(sensitivity))
    assert abs(np.abs(result).mean() / scale - 1) < Z / math.sqrt(n)
    assert abs(np.abs(result / 2).mean() / scale - 1) > Z / math.sqrt(n)  # half the noise is noticed


def test_fresh_noise_every_time():
    assert laplace_mechanism(0, 1, 1) != laplace_mechanism(0, 1, 1)
    result = laplace_mechanism(np.zeros(1000), 1, 1)
    assert np.unique(result).size == 1000


@pytest.mark.parametrize("value", [mechanism.LARGEST, -mechanism.LARGEST, Fraction(mechanism.LARGEST)])
def test_the_largest_number_there_is_is_no_infinity(value):
    assert noisy([value, 0], 10**6, F(1, 10**6))[0] == math.copysign(float(mechanism.LARGEST), value)


def test_overflow_after_the_noise_is_an_infinity_not_an_error():
    result = np.array([laplace_mechanism(1.7976931348623157e308, 1, 1e308) for _ in range(50)])
    assert np.isposinf(result).any()
    assert laplace_mechanism(0.0, 1e-300, 1e300) in (math.inf, -math.inf)


# Refusals

BAD_PARAMETERS = [
    0,
    -1,
    0.0,
    -0.0,
    -1e-9,
    math.nan,
    math.inf,
    -math.inf,
    True,
    False,
    np.True_,
    "1",
    None,
    1j,
]
BAD_PARAMETERS += [
    Decimal("NaN"),
    Decimal("Infinity"),
    np.float64("nan"),
    np.complex128(1),
    np.timedelta64(1),
]
BAD_PARAMETERS += [[1], np.array([1.0])]


@pytest.mark.parametrize("name", ["epsilon", "sensitivity"])
@pytest.mark.parametrize("bad", BAD_PARAMETERS, ids=repr)
def test_parameters_that_are_refused(name, bad):
    parameters = {"epsilon": 1.0, "sensitivity": 1.0, name: bad}
    with pytest.raises(ValueError, match=name):
        laplace_mechanism(1.0, **parameters)


@pytest.mark.parametrize(
    "good",
    [1, 1.0, F(1, 3), Decimal("0.1"), np.float32(0.5), np.int64(2), 1e-6, 1e6, 5e-324, 1e308],
    ids=repr,
)
def test_parameters_that_are_accepted(good):
    assert isinstance(laplace_mechanism(1.0, good, 1.0), float)
    assert isinstance(laplace_mechanism(1.0, 1.0, good), float)


ODD = [
    True,
    False,
    np.True_,
    1j,
    np.complex64(1),
    "1",
    b"1",
    None,
    math.nan,
    math.inf,
    -math.inf,
    Decimal("NaN"),
]
ODD += [
    Decimal("sNaN"),
    Decimal("-Infinity"),
    np.float32("inf"),
    np.longdouble("nan"),
    np.timedelta64(1, "s"),
]
ODD += [np.datetime64("2020-01-01"), 10**400, Decimal("1e400"), {}, {1}, object(), {"a": 1}]


@pytest.mark.parametrize("odd", ODD, ids=lambda x: f"{type(x).__name__}")
def test_values_that_are_refused(odd):
    boxed = np.empty(2, dtype=object)
    boxed[:] = [1.0, odd]
    for query_result in (odd, [odd], [1.0, odd], [[1.0], [odd]], boxed):
        with pytest.raises(ValueError):
            laplace_mechanism(query_result, 1, 1)


@pytest.mark.parametrize("dtype", ["bool", "complex128", "U3", "S3", "m8[s]", "M8[s]", [("a", "f8")]], ids=str)
def test_dtypes_that_are_refused(dtype):
    for shape in (0, 3):
        with pytest.raises(ValueError, match="array of numbers"):
            laplace_mechanism(np.zeros(shape, dtype=dtype), 1, 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_arrays_with_nan_or_infinity(dtype, bad):
    with pytest.raises(ValueError):
        laplace_mechanism(np.array([1, bad], dtype=dtype), 1, 1)


def test_ragged_lists():
    with pytest.raises(ValueError):
        laplace_mechanism([[1, 2], [3]], 1, 1)
    with pytest.raises(ValueError):
        laplace_mechanism([[1, 2], 3], 1, 1)


def test_parameters_are_checked_for_an_empty_array_too():
    with pytest.raises(ValueError, match="epsilon"):
        laplace_mechanism([], 0, 1)
