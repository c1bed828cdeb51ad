"""Does a query tell two databases apart by more than ε? Decided from answers alone, as an attacker would.

A pair is a statement and two databases that differ by one unit. Every answer becomes a `Sample`: all of it that can
be seen, its types, the number and order of its rows, its NULLs, its SQLSTATE where it failed, as one hashable shape,
and its numbers. One half of the samples chooses at most three events that tell the databases apart best; the other
half, which knows nothing of the choice, bounds their probabilities (Clopper and Pearson 1934). Where

    ln((p_low - δ) / q_high) > ε

for an event's probabilities p on one database and q on the other, the claim is false: a right product is called wrong
with probability below ALPHA.

One statement gives many samples where its groups are copies of each other: there each group has a victim of its own
in the second database. Rows of one group move no other group's sums and each has noise of its own, so each is an
answer about its own victim.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpsql import dbapi
from dpsql.errors import Error

ALPHA = 1e-6
EVENTS = 3
LEVELS = 24
"""Thresholds that are tried for each number."""
ATOMS = 40
"""Shapes and single outcomes that are tried."""
SCREEN = 3.0
"""Standard deviations that the choice of events allows for: it need not be right, only good."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What is seen of one answer, or of one group of it."""

    shape: Hashable
    numbers: tuple[float, ...] = ()


# ---------------------------------------------------------------------------------------------- answers

Rows = list[tuple[object, ...]]
Samples = Callable[[tuple[object, ...], Rows], Iterable[Sample]]
"""From the types of the columns and the rows to the samples of one answer."""


def whole(types: tuple[object, ...], rows: Rows) -> Iterable[Sample]:
    """The answer as one sample: everything but the numbers in its shape, the numbers in their order."""
    shape = tuple(tuple(_shape(value) for value in row) for row in rows)
    yield Sample((types, shape), tuple(float(v) for row in rows for v in row if _is_number(v)))


def by_group(expected: Sequence[Sequence[object]]) -> Samples:
    """Samples of groups of rows: row's first column is the key, each of `expected` names the keys of one sample.

    That rows of other keys came, or that they came in another order, is seen in every sample.
    """
    place = {key: i for i, keys in enumerate(expected) for key in keys}
    order = {key: i for i, key in enumerate(place)}

    def samples(types: tuple[object, ...], rows: Rows) -> Iterable[Sample]:
        parts: list[Rows] = [[] for _ in expected]
        others = []
        for row in rows:
            if row[0] in place:
                parts[place[row[0]]].append(row)
            else:
                others.append(_shape(row[0]))
        known = [order[row[0]] for row in rows if row[0] in place]
        seen = (types, tuple(others), known == sorted(known))
        for part in parts:
            shape = tuple(tuple(_shape(value) for value in row[1:]) for row in part)
            yield Sample((seen, shape), tuple(float(v) for row in part for v in row[1:] if _is_number(v)))

    return samples


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shape(value: object) -> Hashable:
    """A number's type, and whether it is a NaN or a negative zero; any other value itself."""
    if not _is_number(value):
        return value if value is None else (type(value).__name__, repr(value))
    assert isinstance(value, (int, float))
    return type(value).__name__, repr(value) if value != value or repr(value) == "-0.0" else ""


def ask(cursor: dbapi.Cursor, sql: str, samples: Samples, epsilon: object) -> list[Sample]:
    """Execute once; an error is an answer too."""
    try:
        rows = cursor.execute(sql, epsilon=epsilon).fetchall()
    except Error as error:
        return [Sample(("ERR", error.sqlstate, str(error)))]
    assert cursor.description is not None
    return list(samples(tuple(column[:2] for column in cursor.description), rows))


# ---------------------------------------------------------------------------------------------- Clopper-Pearson


def log_tail(hits: int, of: int, p: float) -> float:
    """ln P(X >= hits), X binomial."""
    if hits <= 0:
        return 0.0
    k = np.arange(hits, of + 1)
    logs = _log_choose(of)[hits:] + k * math.log(p) + (of - k) * math.log1p(-p)
    largest = float(logs.max())
    return largest + math.log(float(np.exp(logs - largest).sum()))


_choices: dict[int, np.ndarray] = {}


def _log_choose(of: int) -> np.ndarray:
    """ln C(of, k) for every k."""
    found = _choices.get(of)
    if found is None:
        factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, of + 1)))])
        found = _choices[of] = factorials[-1] - factorials - factorials[::-1]
    return found


def at_least(hits: int, of: int, alpha: float) -> float:
    """The lower end of Clopper and Pearson's one-sided interval: the p with P(X >= hits) = alpha."""
    if hits == 0:
        return 0.0
    low, high, wanted = 0.0, hits / of, math.log(alpha)
    for _ in range(60):
        middle = (low + high) / 2
        if middle > 0 and log_tail(hits, of, middle) >= wanted:
            high = middle
        else:
            low = middle
    return low


def at_most(hits: int, of: int, alpha: float) -> float:
    """The upper end: by symmetry one minus the lower end for the misses."""
    return 1.0 - at_least(of - hits, of, alpha)


# ---------------------------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Event:
    """A set of samples, with words for it."""

    words: str
    holds: Callable[[_Columns], np.ndarray]


class _Columns:
    """Samples by columns: shapes and outcomes as their places in `codes`, and the numbers, filled up with NaN."""

    def __init__(self, samples: Sequence[Sample], width: int, codes: dict[Hashable, int]) -> None:
        self.shapes = np.array([codes.setdefault(s.shape, len(codes)) for s in samples])
        self.outcomes = np.array([codes.setdefault(s, len(codes)) for s in samples])
        self.numbers = np.full((len(samples), width), np.nan)
        for i, sample in enumerate(samples):
            self.numbers[i, : len(sample.numbers)] = sample.numbers


def _candidates(one: _Columns, other: _Columns, codes: dict[Hashable, int]) -> Iterable[Event]:
    """Shapes, single outcomes, and thresholds of numbers, of their sums and differences in units of their spread."""
    named = list(codes)
    for code in _apart(one.shapes, other.shapes):
        yield Event(f"shape {named[code]}", lambda c, code=code: c.shapes == code)
    for code in _apart(one.outcomes, other.outcomes):
        yield Event(f"outcome {named[code]}", lambda c, code=code: c.outcomes == code)
    both = np.vstack([one.numbers, other.numbers])
    for name, weights in _projections(both):
        values = _projected(both, weights)
        values = values[np.isfinite(values)]
        if not len(values):
            continue
        for level in np.unique(np.quantile(values, np.linspace(0, 1, LEVELS), method="nearest")):
            for sign, word in ((1, ">="), (-1, "<=")):
                yield Event(
                    f"{name} {word} {level:.6g}",
                    lambda c, w=weights, t=level, s=sign: s * _projected(c.numbers, w) >= s * t,
                )


def _apart(one: np.ndarray, other: np.ndarray) -> list[int]:
    """The codes whose frequencies differ most."""
    a, b = Counter(one.tolist()), Counter(other.tolist())
    return sorted(a | b, key=lambda code: (-abs(a[code] - b[code]), code))[:ATOMS]


def _projected(numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    used = np.flatnonzero(weights)
    return numbers[:, used[0]] if len(used) == 1 else numbers @ weights


def _projections(both: np.ndarray) -> Iterable[tuple[str, np.ndarray]]:
    """Each number; of at most four also each pair's sum and difference, and the sum of all, in units of spread."""
    width = both.shape[1]
    spread = np.ones(width)
    for i in range(width):
        finite = both[np.isfinite(both[:, i]), i]
        if len(finite) and np.std(finite) > 0:
            spread[i] = np.std(finite)
    for i in range(width):
        yield f"number {i}", np.eye(width)[i]
    if 1 < width <= 4:
        for i, j in combinations(range(width), 2):
            for sign, word in ((1, "+"), (-1, "-")):
                yield f"number {i} {word} {j}", np.eye(width)[i] / spread[i] + sign * np.eye(width)[j] / spread[j]
        yield "all numbers", 1 / spread


def _score(hits: int, of: int, others: int, of_others: int, delta: float) -> float:
    """About how large a loss the event would show: by Wilson's interval, which is quick."""
    low, high = _wilson(hits, of, -SCREEN), _wilson(others, of_others, SCREEN)
    return math.log((low - delta) / high) if low > delta else -math.inf


def _wilson(hits: int, of: int, z: float) -> float:
    p, zz = hits / of, z * z / of
    return (p + zz / 2 + z / math.sqrt(of) * math.sqrt(p * (1 - p) + zz / 4)) / (1 + zz)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The largest loss that is proven, and by which event."""

    loss: float
    event: str
    samples: int

    def exceeds(self, epsilon: float) -> bool:
        return self.loss > epsilon


def judge(one: Sequence[Sample], other: Sequence[Sample], delta: float = 0.0) -> Verdict:
    """The loss that the samples of two databases prove, in either direction, wrong with probability below ALPHA.

    At most three events in two directions, each from two bounds: each bound may fail with ALPHA / 12.
    """
    width = max((len(s.numbers) for s in (*one, *other)), default=0)
    codes: dict[Hashable, int] = {}
    halves = [(_Columns(s[::2], width, codes), _Columns(s[1::2], width, codes)) for s in (one, other)]
    (choose_one, test_one), (choose_other, test_other) = halves
    scored = []
    for event in _candidates(choose_one, choose_other, codes):
        a, b = event.holds(choose_one), event.holds(choose_other)
        counts = (int(a.sum()), len(a), int(b.sum()), len(b))
        scored.append((max(_score(*counts, delta), _score(*counts[2:], *counts[:2], delta)), event))
    scored.sort(key=lambda pair: -pair[0])
    best = Verdict(-math.inf, "none", len(one) + len(other))
    for _, event in scored[:EVENTS]:
        a, b = event.holds(test_one), event.holds(test_other)
        for p, q in ((a, b), (b, a)):
            low = at_least(int(p.sum()), len(p), ALPHA / (4 * EVENTS)) - delta
            high = at_most(int(q.sum()), len(q), ALPHA / (4 * EVENTS))
            loss = math.log(low / high) if low > 0 else -math.inf
            if loss > best.loss:
                best = Verdict(loss, event.words, best.samples)
    return best
