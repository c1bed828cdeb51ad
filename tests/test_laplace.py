"""The sampler has exactly the discrete Laplace law, on every path, at every scale."""

from __future__ import annotations

import itertools
import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpsql.privacy.mechanisms import laplace
from dpsql.privacy.mechanisms.laplace import (
    CHUNK,
    FEW,
    HEAD,
    DiscreteLaplace,
    Event,
    digit_events,
    discrete_laplace,
    exp_minus,
    fits_int64,
    wide_laplace,
)
from tests.chisquare import Z, chi_square, laplace_chi_square, upper_tail
from tests.seeded import ScriptedBytes, SeededBytes

LAMBDAS = [
    Fraction(1),
    Fraction(1, 10),
    Fraction(14, 10),
    Fraction(1, 1000),
    Fraction(1, 2**20),
    Fraction(1, 2**40),
]
SCALES = [
    Fraction(1, 10**9),
    Fraction(1, 50),
    Fraction(1),
    Fraction(355, 113),
    Fraction(100),
    Fraction(2**40),
    Fraction(2**56),
]


def decimal_probability(event: Event, digits: int = 140) -> Decimal:
    context = Context(prec=digits, traps=[])
    x = context.divide(Decimal(event.x.numerator), Decimal(event.x.denominator))
    power = context.exp(context.minus(x))
    return context.divide(power, context.add(power, Decimal(1))) if event.is_digit else power


def decimal_floor(event: Event, bits: int) -> int:
    return int(Context(prec=140).multiply(decimal_probability(event), Decimal(2**bits)))


def all_events(scale: Fraction) -> tuple[Event, ...]:
    law = DiscreteLaplace(scale)
    return (*law._digits, law._tail)


# Thresholds


@pytest.mark.parametrize("x", [Fraction(1, 2**60), Fraction(1, 3), Fraction(1), Fraction(44), Fraction(10**9)])
def test_exp_minus_encloses_the_exponential(x):
    lower, upper = exp_minus(x, 200)
    context = Context(prec=140, traps=[])
    exact = context.exp(context.divide(Decimal(-x.numerator), Decimal(x.denominator)))
    assert lower <= context.multiply(exact, Decimal(2**200)) <= upper
    assert upper - lower < 2**40


@pytest.mark.parametrize("bits", [1, 4, 8, 12, 30])
def test_exp_minus_encloses_at_low_precision(bits):
    """Where each rounding and the remainder of the series are a large part of the result."""
    context = Context(prec=60, traps=[])
    for k in range(1, 400):
        x = Fraction(k, 97)
        lower, upper = exp_minus(x, bits)
        exact = context.multiply(context.exp(context.divide(Decimal(-k), Decimal(97))), Decimal(2**bits))
        assert lower <= exact <= upper


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_thresholds_agree_with_140_digit_arithmetic(scale):
    for event in all_events(scale):
        assert event.head == decimal_floor(event, HEAD)
        assert event.floor(200) == decimal_floor(event, 200)


def test_a_probability_whose_floor_is_hard_to_tell_gets_more_precision(monkeypatch):
    """With bounds that start 2^70 apart, floor must go on until they agree."""
    event = Event(Fraction(1, 3), is_digit=True)
    right, calls = event.floor(80), []

    def loose(x, bits):
        calls.append(bits)
        lower, upper = exp_minus(x, bits)
        return lower - 2**70, upper + 2**70

    monkeypatch.setattr(laplace, "exp_minus", loose)
    assert event.floor(80) == right
    assert len(calls) > 1
    assert [e.head for e in digit_events(Fraction(3), 5)] == [
        decimal_floor(e, HEAD) for e in digit_events(Fraction(3), 5)
    ]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_tail_is_rarer_than_2_to_minus_64_and_as_early_as_possible(scale):
    law = DiscreteLaplace(scale)
    assert law._tail.floor(64) == 0
    assert not law._tail.is_digit
    assert all(event.is_digit for event in law._digits)
    assert not law._digits or 2 ** (len(law._digits) - 1) / scale < laplace.LN_2_64
    assert law._tail.x == 2 ** len(law._digits) / scale


# Law


@pytest.mark.slow
@pytest.mark.parametrize("rate", LAMBDAS, ids=str)
def test_law(rate):
    draws = DiscreteLaplace(1 / rate).sample(2_000_000, SeededBytes(int(rate.denominator)))
    statistic, critical = laplace_chi_square(draws, float(1 / rate))
    assert statistic < critical


@pytest.mark.parametrize("scale", [Fraction(2**20), Fraction(2**40), Fraction(2**56)], ids=str)
def test_low_digits_at_large_scales(scale):
    """Residues of X are uniform there, to within 2^-19."""
    draws = DiscreteLaplace(scale).sample(200_000, SeededBytes(7))
    for shift in range(0, int(scale).bit_length() - 10, 6):
        counts = np.bincount((draws >> shift) & 63, minlength=64)
        statistic, critical = chi_square(counts, np.full(64, draws.size / 64))
        assert statistic < critical, shift


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10), Fraction(2**40)], ids=str)
def test_law_of_few_draws(scale, monkeypatch):
    """The path of single draws: 64-bit words, fixed in number."""
    monkeypatch.setattr(laplace, "FEW", CHUNK)
    draws = DiscreteLaplace(scale).sample(400_000 if scale < 100 else 100_000, SeededBytes(3))
    statistic, critical = laplace_chi_square(draws, float(scale))
    assert statistic < critical


def test_law_one_by_one():
    law, source = DiscreteLaplace(Fraction(3, 2)), SeededBytes(4)
    draws = np.array([law.sample(1, source)[0] for _ in range(20_000)])
    statistic, critical = laplace_chi_square(draws, 1.5)
    assert statistic < critical


@pytest.mark.slow
def test_law_when_every_event_is_settled_exactly(monkeypatch):
    """Nothing but the arbitrary-precision path: it must have the law by itself."""
    monkeypatch.setattr(
        Event, "draw", lambda self, size, source: np.array([self.settle(0, 0, source) for _ in range(size)])
    )
    monkeypatch.setattr(laplace, "FEW", -1)
    draws = DiscreteLaplace(Fraction(1, 2)).sample(3_000, SeededBytes(5))
    statistic, critical = laplace_chi_square(draws, 0.5)
    assert statistic < critical


def test_wide_law():
    """Scales beyond int64, and the same code where int64 would do, compared with the law."""
    scale = Fraction(2**60)
    assert not fits_int64(scale)
    draws = wide_laplace(scale, 100_000, SeededBytes(6))
    assert all(type(draw) is int for draw in draws[:100])
    coarse = np.array([round(draw / 2**40) for draw in draws], dtype=np.int64)
    statistic, critical = laplace_chi_square(coarse, 2.0**20)
    assert statistic < critical
    counts = np.bincount(np.array([draw & 63 for draw in draws]), minlength=64)
    statistic, critical = chi_square(counts, np.full(64, draws.size / 64))
    assert statistic < critical


def test_wide_law_at_a_small_scale(monkeypatch):
    real = fits_int64
    monkeypatch.setattr(laplace, "fits_int64", lambda scale: scale < 2 and real(scale))
    draws = wide_laplace(Fraction(5), 200_000, SeededBytes(8)).astype(np.int64)
    statistic, critical = laplace_chi_square(draws, 5.0)
    assert statistic < critical


def test_mass_at_zero_and_ratio_of_neighbours():
    scale, n = 2.0, 2_000_000
    draws = DiscreteLaplace(Fraction(2)).sample(n, SeededBytes(9))
    zero = 1 - 2 * float(upper_tail(1, scale))
    assert abs(np.count_nonzero(draws == 0) - n * zero) < Z * math.sqrt(n * zero * (1 - zero))
    counts = np.bincount(draws + 100, minlength=201)[100:112]
    for here, there in itertools.pairwise(counts):
        assert abs(math.log(here / there) - 1 / scale) < Z * math.sqrt(1 / here + 1 / there)


@pytest.mark.parametrize("wrong", [Fraction(1, 2), Fraction(101, 100)], ids=["halved", "1 % off"])
def test_a_wrong_scale_is_caught(wrong):
    draws = DiscreteLaplace(wrong * 10).sample(2_000_000, SeededBytes(10))
    statistic, critical = laplace_chi_square(draws, 10.0)
    assert statistic > critical


@pytest.mark.slow
@pytest.mark.parametrize("path", ["few draws", "wide"])
@pytest.mark.parametrize(
    ("factor", "right"), [(Fraction(1), True), (Fraction(26, 25), False), (Fraction(24, 25), False)]
)
def test_a_wrong_scale_is_caught_on_every_path(path, factor, right, monkeypatch):
    """4 % off, by as many draws as the tests of these paths have."""
    if path == "few draws":
        monkeypatch.setattr(laplace, "FEW", CHUNK)
        draws = DiscreteLaplace(factor * 10).sample(100_000, SeededBytes(20))
    else:
        wide = wide_laplace(factor * Fraction(2**60), 100_000, SeededBytes(21))
        draws = np.array([round(draw / Fraction(2**60, 10)) for draw in wide], dtype=np.int64)
    statistic, critical = laplace_chi_square(draws, 10.0)
    assert (statistic < critical) is right


def test_tiny_scale_gives_zero():
    assert not DiscreteLaplace(Fraction(1, 10**9)).sample(100_000, SeededBytes(11)).any()


def test_several_chunks_are_independent():
    draws = DiscreteLaplace(Fraction(1000)).sample(3 * CHUNK // 2, SeededBytes(12))
    first, second, third = draws.reshape(3, -1)
    assert (first == second).mean() < 0.01
    assert (second == third).mean() < 0.01


# Ties


def _words(event, level):
    """The first words of p behind its first byte."""
    floor = event.floor(HEAD + 192)
    return [(floor >> shift) & (2**64 - 1) for shift in (192, 128, 64, 0)][:level]


TIES = [
    (event, difference, level)
    for event in (Event(Fraction(1, 7), is_digit=True), Event(Fraction(50), is_digit=False))
    for difference in (-1, 1)
    for level in (1, 2, 3, 4)
    if 0 <= _words(event, level)[-1] + difference < 2**64
]


def test_there_are_ties_on_both_sides_at_each_level():
    assert {(difference, level) for _, difference, level in TIES} == {(d, n) for d in (-1, 1) for n in (1, 2, 3, 4)}


@pytest.mark.parametrize(("event", "difference", "level"), TIES)
def test_ties_are_settled_by_later_bits(event, difference, level):
    """U agrees with p on 8, 72, 136 or 200 bits and differs in the next word by one."""
    words = _words(event, level)
    words[-1] += difference
    first = np.array([words[0]], dtype=np.uint64).tobytes()
    later = [word.to_bytes(8, "big") for word in words[1:]]
    source = ScriptedBytes(bytes([event.floor(HEAD + 192) >> 256]), first, *later)
    assert event.draw(1, source).tolist() == [difference < 0]
    assert not source.pieces


def test_only_ties_cost_more_bytes():
    event = Event(Fraction(1, 7), is_digit=True)
    tie = event.head >> 64
    source = ScriptedBytes(bytes([tie - 1, tie, tie + 1, tie]), np.array([0, 2**64 - 1], dtype=np.uint64).tobytes())
    assert event.draw(4, source).tolist() == [True, True, False, False]


def few_words(law: DiscreteLaplace, first: list[int]) -> bytes:
    """Words of one draw by the path of few: `first` for G, and a G' of 0."""
    return np.array([first, [2**64 - 1] * len(first)], dtype=np.uint64).tobytes()


@pytest.mark.parametrize(("below", "expected"), [(True, 1), (False, 0)])
def test_ties_of_few_draws(below, expected):
    law = DiscreteLaplace(Fraction(3))
    words = [2**64 - 1] * law._floors.size
    words[0] = int(law._floors[0])
    more = (law._digits[0].floor(128) & (2**64 - 1)) + (-1 if below else 1)
    source = ScriptedBytes(few_words(law, words), more.to_bytes(8, "big"))
    assert law.sample(1, source).tolist() == [expected]


@pytest.mark.parametrize("steps", [1, 3])
def test_tail(steps):
    """Below 2^-64: the tail happens; then every further step is one more trial."""
    law = DiscreteLaplace(Fraction(3))
    words = [2**64 - 1] * (law._floors.size - 1) + [0]
    yes, no = bytes(8), bytes([255] * 8)
    settled = [
        yes,
        *[yes, yes] * (steps - 1),
        no,
    ]  # the first after a tie on 64 bits, the others from scratch
    source = ScriptedBytes(few_words(law, words), *settled)
    assert law.sample(1, source).tolist() == [steps * 2 ** len(law._digits)]


@pytest.mark.parametrize(("below", "steps"), [(True, 2), (False, 1)])
def test_steps_of_the_tail_are_decided_exactly(below, steps):
    """Of 64 bits 0 are still a tie; the next ones decide, one below or above the tail's probability."""
    law = DiscreteLaplace(Fraction(3))
    words = [2**64 - 1] * (law._floors.size - 1) + [0]
    deciding = (law._tail.floor(128) + (-1 if below else 1)).to_bytes(8, "big")
    happens = [bytes(8), bytes(8), deciding, *[bytes([255] * 8)] * below]
    assert law.sample(1, ScriptedBytes(few_words(law, words), *happens)).tolist() == [steps * 2 ** len(law._digits)]


def test_a_draw_beyond_int64_raises():
    law = DiscreteLaplace(Fraction(2**56))
    words = [2**64 - 1] * (law._floors.size - 1) + [0]
    yes, no = bytes(8), bytes([255] * 8)
    with pytest.raises(OverflowError):
        law.sample(1, ScriptedBytes(few_words(law, words), yes, *[yes, yes] * 3, no))


def test_few_draws_read_a_fixed_number_of_bytes():
    """All zeros would be a tie, all ones is the draw 0; anything else reads exactly this much as well."""
    law = DiscreteLaplace(Fraction(1000))
    size = 2 * law._floors.size * 8
    for seed in range(200):
        law.sample(1, ScriptedBytes(SeededBytes(seed).read(size)))


# Limits


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**57), Fraction(2**62)], ids=str)
def test_scales_that_are_refused(scale):
    with pytest.raises(ValueError, match="scale"):
        DiscreteLaplace(scale)


def test_largest_scale():
    largest = Fraction(2**62) / laplace.LN_2_64
    law = DiscreteLaplace(largest)
    assert len(law._digits) == 62
    assert np.abs(law.sample(100_000, SeededBytes(13))).max() < 2**62
    with pytest.raises(ValueError, match="scale"):
        DiscreteLaplace(largest + 1)
    assert math.exp(-float(laplace.LN_2_64)) < 2.0**-64


@pytest.mark.parametrize("size", [0, 1, FEW // 2, FEW // 2 + 1, 1000])
def test_sizes(size):
    draws = discrete_laplace(Fraction(5)).sample(size, SeededBytes(14))
    assert draws.shape == (size,)
    assert draws.dtype == np.int64


def test_negative_size():
    with pytest.raises(ValueError, match="draws"):
        DiscreteLaplace(Fraction(1)).sample(-1, SeededBytes(0))


def test_laws_are_kept():
    assert discrete_laplace(Fraction(17, 3)) is discrete_laplace(Fraction(34, 6))
    assert discrete_laplace.cache_info().maxsize == 1024
