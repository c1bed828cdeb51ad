"""What is written below a plot: what its intervals mean, what the answer cost, what isn't drawn."""

from __future__ import annotations

from collections.abc import Iterator

from dpsql.display import charged_text, has_error, rank_notes
from dpsql.plot.roles import Roles
from dpsql.result import Result


def cost_note(result: Result) -> str:
    """`charged ε 0.5, for alice`."""
    privacy = result.privacy
    return f"{charged_text(privacy.epsilon_charged, privacy.delta_charged, privacy.stored)}, for {privacy.analyst}"


def notes(result: Result, roles: Roles) -> Iterator[str]:
    """Sentences about the answer as a whole."""
    columns, privacy = result.columns, result.privacy
    drawn = [number for number in roles.numbers if number.low is None and has_error(columns[number.index])]
    if drawn:
        yield (
            f"Intervals hold the exact number in {privacy.level * 100:g} % of all answers; "
            "they cover the noise, not what bounds clip."
        )
    for number in roles.numbers:
        if number.low is not None and number.high is not None:
            low, high = columns[number.low].name, columns[number.high].name
            yield f"The interval of {columns[number.index].name} is that from {low} to {high}."
    for note in rank_notes(result):
        yield f"{note}."
    cost = cost_note(result)
    yield f"{cost[0].upper()}{cost[1:]}."
    if privacy.threshold is not None:
        yield f"Keys that {privacy.threshold:,} units or fewer have, noise included, are not shown."
