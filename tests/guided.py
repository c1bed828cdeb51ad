"""Chance that is led: statements are made until all that must be used was used often enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.features import Feature


@dataclass
class Counts:
    """How often each feature was used, of those that are wanted."""

    wanted: frozenset[Feature]
    counts: Counter[Feature] = field(default_factory=Counter)

    def lacking(self, quota: int) -> set[Feature]:
        """What was used less often than that."""
        return {feature for feature in self.wanted if self.counts[feature] < quota}


_Option = tuple[int, int]
"""The number of a list of options, and a place in it."""


class Guided(Random):
    """Chooses what leads to features that are still lacking.

    What an option leads to is learned: what every statement used for which it was chosen. Where nothing of that is
    lacking any more, it may lead to what is lacking and was used with it the last time.
    """

    CANDIDATES = 30
    EXPLORED = 0.1
    """How often it chooses any option all the same."""

    def __init__(self, seed: int, counts: Counter[Feature], quota: int) -> None:
        super().__init__(seed)
        self._counts, self._quota = counts, quota
        self._numbers: dict[Sequence[Any], int] = {}
        self._needy: list[list[int]] = []
        self._leads_to: dict[_Option, set[Feature]] = {}
        self._failed: Counter[_Option] = Counter()
        self._chosen: set[_Option] = set()

    def choice(self, options: Sequence[Any]) -> Any:
        """One of the options: the neediest of some, or any where none is needed more."""
        number = self._numbers.setdefault(options, len(self._needy))
        if number == len(self._needy):
            self._needy.append(self.sample(range(len(options)), len(options)))
        needy = self._needy[number]
        start = int(self.random() * len(needy))
        counts = {place: self._count((number, place)) for place in needy[start : start + self.CANDIDATES]}
        for place in [place for place, count in counts.items() if count >= self._quota]:
            needy.remove(place)  # what it leads to is lacking no more: counts only grow
            del counts[place]
        tried = {place: count + self._failed[number, place] for place, count in counts.items()}
        guided = tried and self.random() >= self.EXPLORED
        place = min(tried, key=tried.__getitem__) if guided else int(self.random() * len(options))
        self._chosen.add((number, place))
        return options[place]

    def _count(self, option: _Option) -> int:
        """How often the least used feature was used that an option leads to."""
        if option not in self._leads_to:
            return 0
        return min((self._counts[feature] for feature in self._leads_to[option]), default=self._quota)

    def learn(self, used: set[Feature] | None, lacking: set[Feature]) -> None:
        """Tell what the statement used that was made of all choices since the last call; None where it failed."""
        for option in self._chosen:
            if used is None:
                self._failed[option] += 1
                continue
            leads_to = used & self._leads_to.get(option, used)
            if leads_to.isdisjoint(lacking) and not used.isdisjoint(lacking):
                leads_to = used & lacking
                number, place = option
                if place not in self._needy[number]:
                    self._needy[number].append(place)
            self._leads_to[option] = leads_to
        self._chosen.clear()


class Even(Random):
    """Chooses each option of a tuple as often as any other: in another order each time round.

    What isn't a tuple is a list of columns or the like, which is another one each time.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._left: dict[Sequence[Any], list[Any]] = {}

    def choice(self, options: Sequence[Any]) -> Any:
        if not isinstance(options, tuple):
            return options[int(self.random() * len(options))]
        left = self._left.setdefault(options, [])
        if not left:
            left += self.sample(options, len(options))
        return left.pop()
