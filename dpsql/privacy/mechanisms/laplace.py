"""Exact discrete Laplace noise, one number or a million.

**The law.** For a scale b > 0 (a rational, in grid units) and a = exp(-1/b), X has

    P(X = x) = (1 - a) / (1 + a) * a^|x|         for every integer x.

Adding X to an integer that one privacy unit moves by at most D makes the probability of any outcome change
by at most exp(D / b): | |y - u| - |y - v| | <= |u - v|. So b = D / epsilon gives epsilon-differential
privacy, with no term for rounding, as long as X has *exactly* this law. What follows shows that it does.

**1. X is a difference of two geometrics.** Let G, H be independent with P(G = g) = (1 - a) a^g, g >= 0. For
x >= 0, P(G - H = x) = sum_h (1 - a)^2 a^(x + 2h) = (1 - a)^2 a^x / (1 - a^2), which is the law above; x < 0
by symmetry. No sign is drawn and nothing is rejected, so the work does not depend on the outcome.

**2. The binary digits of a geometric are independent.** Write G = sum_{i<B} d_i 2^i + 2^B T. Then

    P(G = g) = (1 - a) * prod_i (a^(2^i))^(d_i) * (a^(2^B))^T

is a product of functions of d_0, ..., d_{B-1} and T, so these are independent; normalising each factor gives

    P(d_i = 1) = a^(2^i) / (1 + a^(2^i)) = 1 / (1 + exp(2^i / b)),
    T geometric with ratio a^(2^B) = exp(-2^B / b).

B is the least with exp(-2^B / b) < 2^-64, so T > 0 almost never happens; T is decided exactly all the same.

**3. Each event is decided exactly.** An event of probability p happens when U < p for U uniform in [0, 1),
whose binary digits are independent fair bits. Read the first n bits of U as the integer u and let f =
floor(p 2^n). If u < f then U < p; if u > f then U > p; only u = f, of probability 2^-n, needs more bits.
Here n is 8 for a vector (one byte settles 255 of 256 cells), then 8 + 64 for the cells in a tie, then 64
more at a time; few draws start with 64. The number f is computed in integers from lower and upper bounds of
exp(-x) (`exp_minus`), to ever higher precision until both bounds give the same floor. This ends: x is
rational and not 0, so exp(-x) is transcendental (Lindemann, 1882), therefore p is irrational and p 2^n is
no integer. The reading of bits ends with probability 1, after n bits but for 2^-n.

**What "exact" means.** If the source's bytes are independent and uniform, the numbers have the law above to
the last digit: no float is used, no probability is rounded, no tail is cut. One reservation, since the
result is an int64: a draw beyond 63 bits raises OverflowError. For the largest scale that is accepted its
probability is below 2^-127, for half of that below 2^-255, and whether it happens depends on the bytes
alone, never on data.

**Sources.** The law: Inusah and Kozubowski, "A discrete analogue of the Laplace distribution" (J. Statist. Plann.
Inference 136, 2006), where it is the difference of two geometrics. The mechanism: Ghosh, Roughgarden, Sundararajan,
"Universally utility-maximizing privacy mechanisms" (STOC 2009). Reading a uniform number only as far as an event needs:
Knuth and Yao, "The complexity of nonuniform random number generation" (1976).

**Time.** Up to 256 draws read a fixed number of words and take a fixed number of comparisons and additions
whatever comes out, save ties, 2^-64 each. More draws at once read more for ties, so only the total time of
such a batch varies, by little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpsql.privacy.interval import laplace_sum_half_width
from dpsql.privacy.mechanisms import Mechanism
from dpsql.privacy.sensitivity import joint_bound

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from dpsql.privacy.noise import NoiseSource
    from dpsql.privacy.random_bytes import ByteSource

    Ints = npt.NDArray[np.int64]
    Bools = npt.NDArray[np.bool_]

LN_2_64 = Fraction(4436142, 100000)
"""A little more than ln(2^64) = 44.3614195...: exp(-LN_2_64) < 2^-64."""

MAX_DIGITS = 62
"""Digits of a geometric that are drawn one by one; with the tail a draw still fits 63 bits."""

FEW = 512
"""Up to this many geometrics, one matrix of 64-bit words is faster than byte by byte."""

CHUNK = 1 << 17
"""Geometrics drawn together: their bytes stay in the processor's cache."""

HEAD = 72
"""Bits of each probability that are computed beforehand: a byte and a 64-bit word."""


def exp_minus(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers (lower, upper) with lower <= exp(-x) 2^bits <= upper, for a rational x > 0.

    exp(-x) = exp(-y)^(2^k) with y = x / 2^k < 2^-8. exp(-y) is an alternating series of falling terms: what
    is cut off is smaller than the last term taken. Every step rounds the lower bound down and the upper
    bound up.
    """
    halvings = int(x).bit_length() + 8
    y, rest = divmod(x.numerator << bits, x.denominator << halvings)
    y_upper = y + (rest > 0)
    one = 1 << bits
    lower = upper = term_lower = term_upper = one
    n = 0
    while term_upper > 1:
        n += 1
        term_lower = (term_lower * y >> bits) // n
        term_upper = _ceil_div(_ceil_shift(term_upper * y_upper, bits), n)
        if n % 2:
            lower, upper = lower - term_upper, upper - term_lower
        else:
            lower, upper = lower + term_lower, upper + term_upper
    lower, upper = max(lower - 1, 0), min(upper + 1, one)
    for _ in range(halvings):
        lower, upper = lower * lower >> bits, _ceil_shift(upper * upper, bits)
    return lower, upper


def _ceil_shift(number: int, bits: int) -> int:
    return -(-number >> bits)


def _ceil_div(number: int, divisor: int) -> int:
    return -(-number // divisor)


def _odds_to_probability(lower: int, upper: int, bits: int) -> tuple[int, int]:
    """Bounds of q / (1 + q), increasing in q, from bounds of q; all times 2^bits."""
    one = 1 << bits
    return (lower << bits) // (one + lower), _ceil_div(upper << bits, one + upper)


@dataclass(frozen=True, slots=True)
class Event:
    """It happens with probability p = 1 / (1 + exp(x)), a digit, or exp(-x), the tail; x > 0 is rational."""

    x: Fraction
    is_digit: bool
    head: int = -1
    """floor(p 2^72): computed here unless the caller knows it."""

    def __post_init__(self) -> None:
        if self.head < 0:
            object.__setattr__(self, "head", self.floor(HEAD))

    def floor(self, bits: int) -> int:
        """floor(p 2^bits), exactly."""
        extra = 64
        while True:
            precision = bits + extra
            lower, upper = exp_minus(self.x, precision)
            if self.is_digit:
                lower, upper = _odds_to_probability(lower, upper, precision)
            if lower >> extra == upper >> extra:
                return lower >> extra
            extra *= 2

    def settle(self, prefix: int, bits: int, source: ByteSource) -> bool:
        """Whether U < p, where the first `bits` bits of U are `prefix` and the others are yet to be read."""
        while prefix == (floor := self.floor(bits)):
            prefix = (prefix << 64) | int.from_bytes(source.read(8), "big")
            bits += 64
        return prefix < floor

    def draw(self, size: int, source: ByteSource) -> Bools:
        """`size` independent trials: one byte each, 8 more for the 1 in 256 that tie."""
        first, rest = np.uint8(self.head >> 64), np.uint64(self.head & (2**64 - 1))
        byte = np.frombuffer(source.read(size), dtype=np.uint8)
        happens = byte < first
        ties = np.flatnonzero(byte == first)
        words = np.frombuffer(source.read(8 * ties.size), dtype=np.uint64)
        happens[ties] = words < rest
        for i in np.flatnonzero(words == rest):
            happens[ties[i]] = self.settle(self.head, HEAD, source)
        return happens


def digit_events(scale: Fraction, count: int) -> tuple[Event, ...]:
    """The `count` lowest binary digits of a geometric with ratio exp(-1 / scale).

    exp(-2^i / scale) follows from its predecessor by squaring, so one exponential serves all digits. The
    bounds widen on the way; where they no longer agree on 72 bits, the event computes its own.
    """
    bits = HEAD + 64 + count
    lower, upper = exp_minus(1 / scale, bits)
    events = []
    for i in range(count):
        head, head_upper = (bound >> (bits - HEAD) for bound in _odds_to_probability(lower, upper, bits))
        events.append(Event(2**i / scale, is_digit=True, head=head if head == head_upper else -1))
        lower, upper = lower * lower >> bits, _ceil_shift(upper * upper, bits)
    return tuple(events)


def draw_digits(events: tuple[Event, ...], size: int, source: ByteSource) -> Ints:
    """`size` independent numbers sum_i 2^i [event i happens], for at most 62 events."""
    numbers = np.zeros(size, dtype=np.int64)
    for low in range(0, len(events), 8):
        eight = np.zeros(size, dtype=np.uint8)
        for event in reversed(events[low : low + 8]):
            eight += eight
            eight |= event.draw(size, source).view(np.uint8)
        numbers |= eight.astype(np.int64) << np.int64(low)
    return numbers


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """The discrete Laplace law P(x) ∝ exp(-|x| / scale), ready to be drawn from; immutable, safe for threads.

    `scale` is in grid units: any rational > 0 with ln(2^64) * scale < 2^62, else ValueError (`wide_laplace`
    has no such limit). Proof of the law: see the module. Making one takes some 0.2 ms; `discrete_laplace`
    keeps those in use.
    """

    scale: Fraction
    _digits: tuple[Event, ...] = field(init=False, repr=False, compare=False)
    _tail: Event = field(init=False, repr=False, compare=False)
    _floors: npt.NDArray[np.uint64] = field(init=False, repr=False, compare=False)
    _weights: Ints = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (self.scale > 0 and fits_int64(self.scale)):
            raise ValueError("a Laplace scale in grid units must be above 0 and below 2^62 / ln(2^64)")
        count = (math.ceil(LN_2_64 * self.scale) - 1).bit_length()  # the least B with 2^B / scale >= ln(2^64)
        digits = digit_events(self.scale, count)
        tail = Event(2**count / self.scale, is_digit=False)
        floors = np.array([event.head >> (HEAD - 64) for event in (*digits, tail)], dtype=np.uint64)
        weights = np.left_shift(np.int64(1), np.arange(count, dtype=np.int64))
        for name, value in (("_digits", digits), ("_tail", tail), ("_floors", floors), ("_weights", weights)):
            object.__setattr__(self, name, value)

    def sample(self, size: int, source: ByteSource) -> Ints:
        """`size` independent draws."""
        if size < 0:
            raise ValueError("a number of draws can't be negative")
        draws = np.empty(size, dtype=np.int64)
        for start in range(0, size, CHUNK // 2):
            part = draws[start : start + CHUNK // 2]
            geometrics = self.geometrics(2 * part.size, source)
            np.subtract(geometrics[: part.size], geometrics[part.size :], out=part)
        return draws

    def geometrics(self, size: int, source: ByteSource) -> Ints:
        """`size` independent geometrics G >= 0 with ratio exp(-1 / scale): P(G = g) ∝ exp(-g / scale)."""
        numbers, in_tail = self._few(size, source) if size <= FEW else self._many(size, source)
        for i in np.flatnonzero(in_tail):
            numbers[i] = int(numbers[i]) + self._rest_of_tail(source)  # OverflowError from 2^63 on
        return numbers

    def _many(self, size: int, source: ByteSource) -> tuple[Ints, Bools]:
        """The low digits together, and which of the geometrics are 2^B or more; few bytes."""
        return draw_digits(self._digits, size, source), self._tail.draw(size, source)

    def _few(self, size: int, source: ByteSource) -> tuple[Ints, Bools]:
        """The same with one 64-bit word for each event: more bytes, few steps, and always the same ones."""
        columns = self._floors.size
        words = np.frombuffer(source.read(8 * size * columns), dtype=np.uint64).reshape(size, columns)
        happens = words < self._floors
        for row, column in np.argwhere(words == self._floors):
            event = (*self._digits, self._tail)[int(column)]
            happens[row, column] = event.settle(int(words[row, column]), 64, source)
        return happens[:, :-1] @ self._weights, happens[:, -1]

    def _rest_of_tail(self, source: ByteSource) -> int:
        """2^B T, once T > 0 is known: a geometric has no memory, so every further step is one more trial."""
        steps = 1
        while self._tail.settle(0, 0, source):
            steps += 1
        return steps << len(self._digits)


def fits_int64(scale: Fraction) -> bool:
    """Whether draws of this scale (grid units) fit an int64 but for a probability below 2^-127."""
    return bool(LN_2_64 * scale <= 2**MAX_DIGITS)


@lru_cache(maxsize=1024)
def discrete_laplace(scale: Fraction) -> DiscreteLaplace:
    """The law of this scale; the last 1024 in use are kept (some 10 kB each at most)."""
    return DiscreteLaplace(scale)


def wide_laplace(scale: Fraction, size: int, source: ByteSource) -> npt.NDArray[np.object_]:
    """`size` independent draws of discrete Laplace noise of any scale > 0, as Python integers.

    By step 2 of the module text the 32 lowest digits of a geometric are independent of the rest, which is
    itself a geometric, of scale / 2^32. So G - H = (low of G - low of H) + 2^32 X' with X' discrete Laplace
    of scale / 2^32.
    """
    if fits_int64(scale):
        return discrete_laplace(scale).sample(size, source).astype(object)
    events = digit_events(scale, 32)
    low = draw_digits(events, size, source) - draw_digits(events, size, source)
    high = wide_laplace(scale / 2**32, size, source)
    wide: npt.NDArray[np.object_] = high * 2**32 + low
    return wide


def _draw(noise: NoiseSource, scales: Sequence[Fraction], size: int) -> tuple[Ints, ...]:
    return tuple(noise.laplace(scale, size) for scale in scales)


def _total(numbers: Iterable[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0))


MECHANISM = Mechanism(
    "discrete Laplace",
    bound=joint_bound,
    norm=_total,
    draw=_draw,
    one_scale=False,
    fits=lambda scale, parts: fits_int64(scale),
    variance=lambda parts: 2.0,
    half_width=lambda coefficients, parts, level: laplace_sum_half_width(coefficients, level),
    half_width_of_sum=lambda blocks, level: laplace_sum_half_width([c for own, _ in blocks for c in own], level),
)
