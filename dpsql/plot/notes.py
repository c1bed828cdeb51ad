"""What is written below a plot: what its intervals mean, what the answer cost, what isn't drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpsql.display import charged_text, has_error, rank_notes
from dpsql.plot.roles import Number, Roles
from dpsql.result import Result, ResultColumn, percent_text


def cost_note(result: Result) -> str:
    """`charged ε 0.5, for alice`."""
    privacy = result.privacy
    return f"{charged_text(privacy.epsilon_charged, privacy.delta_charged, privacy.stored)}, for {privacy.analyst}"


def notes(result: Result, roles: Roles) -> Iterator[str]:
    """Sentences about the answer as a whole."""
    columns, privacy = result.columns, result.privacy
    ends = {number: _level(columns, number) for number in roles.numbers if number.low is not None}
    drawn = [number for number in roles.numbers if number not in ends and has_error(columns[number.index])]
    if drawn or privacy.level in ends.values():
        yield (
            f"Intervals hold the exact number in {percent_text(privacy.level)} of all answers; "
            "they cover the noise, not what bounds clip."
        )
    for number, level in ends.items():
        if number.low is not None and number.high is not None:
            low, high = columns[number.low].name, columns[number.high].name
            of_level = "" if level in (None, privacy.level) else f", which holds it in {percent_text(level)}"
            yield f"The interval of {columns[number.index].name} is that from {low} to {high}{of_level}."
    for note in rank_notes(result):
        yield f"{note}."
    cost = cost_note(result)
    yield f"{cost[0].upper()}{cost[1:]}."
    if privacy.threshold is not None:
        yield f"Keys that {privacy.threshold:,} units or fewer have, noise included, are not shown."


def _level(columns: Sequence[ResultColumn], number: Number) -> float | None:
    """The level of the interval whose ends are columns; None where it isn't known."""
    low, high = (None if i is None else columns[i].end_level for i in (number.low, number.high))
    return low if low == high else None
