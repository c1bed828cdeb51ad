"""`dpsql explain`: what a query would release and cost, and the table with which an analyst chooses ε."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpsql.cli.arguments import analyst, parameters, statement
from dpsql.cli.errors import OK, Usage
from dpsql.cli.output import Output
from dpsql.display import short
from dpsql.errors import InvalidParameter
from dpsql.ledger import Remaining
from dpsql.policy import load
from dpsql.privacy.interval import parse_level
from dpsql.privacy.loss import PrivacyLoss, decimal_text, parse_epsilon
from dpsql.result import LEVEL, percent_text
from dpsql.session import Session, open_session
from dpsql.table import Head, Style, table


@dataclass(frozen=True, slots=True)
class Choice:
    """One noisy number at one ε; a mean's half-width is known up to the number of rows n, and shown as c/n, that of a
    standard deviation s as c/(n·s); where n is stored the half-widths by that are shown, the least and the greatest of
    all groups.

    Of a quantile that of its rank is, in rows, about among close values and at most; of MIN and MAX about how many rows
    lie beyond.
    `refused` says why there is none; `queries` None: no limit.
    """

    epsilon: str
    number: str
    scales: tuple[float, ...] = ()
    half_width: float | None = None
    half_width_times_rows: float | None = None
    half_width_times_rows_and_itself: float | None = None
    half_width_stored: tuple[float, ...] | None = None
    rank_half_width_usual: float | None = None
    rank_half_width: float | None = None
    rows_beyond: float | None = None
    is_count: bool = False
    queries: int | None = None
    refused: str | None = None


def explain(arguments: argparse.Namespace) -> int:
    """Explain the query, free."""
    arguments.sql = statement(arguments.sql, arguments.file)
    given = parameters(arguments.parameters)
    asker = analyst(arguments.analyst)
    with Output(arguments.output) as output:
        session = open_session(load(arguments.config))
        try:
            if arguments.epsilons is None:
                text = session.explain(
                    arguments.sql,
                    given,
                    epsilon=arguments.epsilon,
                    level=arguments.level,
                    analyst=asker,
                    form=arguments.format,
                )
                output.write(text + "\n")
                return OK
            level = LEVEL if arguments.level is None else parse_level(arguments.level)
            choices = [
                choice
                for epsilon in _epsilons(arguments.epsilons)
                for choice in _choices(session, arguments.sql, given, epsilon, level, asker)
            ]
        finally:
            session.close()
        output.write(_json(choices, level) if arguments.format == "json" else _table(choices, level, output.style))
    return OK


def _epsilons(text: str) -> list[str]:
    """Each ε as it was written. Raises Usage, InvalidParameter."""
    values = [part.strip() for part in text.split(",") if part.strip()]
    if not 1 <= len(values) <= 100:
        raise Usage("--epsilons has no ε, or more than 100", "write --epsilons 0.01,0.1,1")
    for value in values:
        parse_epsilon(value)
    return values


def _choices(session: Session, sql: str, given: Any, epsilon: str, level: Fraction, asker: str) -> list[Choice]:
    """The query's numbers at `epsilon`; where the policy doesn't allow that much, one line that says so."""
    ceiling = session.policy.privacy.max_epsilon
    if ceiling is not None and parse_epsilon(epsilon) > ceiling:
        return [Choice(epsilon, "", refused=f"above max_epsilon {decimal_text(ceiling)}")]
    facts = json.loads(session.explain(sql, given, epsilon=epsilon, level=level, analyst=asker, form="json"))
    charge = session.plan(sql, given, epsilon=epsilon).plan.charge
    queries = _queries(session.ledger.remaining(asker, session.policy.budget), charge)
    numbers = [number for release in facts["releases"] for number in release["numbers"]]
    if not numbers and charge.epsilon:
        selections = [release["selection"] for release in facts["releases"] if release["selection"]]
        scales = tuple(dict.fromkeys(float(s["max_groups"] / s["epsilon"]) for s in selections))
        return [Choice(epsilon, "keys", scales, queries=queries)]
    if not numbers:
        raise InvalidParameter(
            "this query reads no private table: its answer is exact and free", hint="run it with dpsql query"
        )
    return [
        Choice(
            epsilon,
            number["call"],
            tuple(dict.fromkeys(float(part["scale"]) for part in number["parts"])),
            number["half_width"],
            number["half_width_times_rows"],
            number["half_width_times_rows_and_itself"],
            None if number["half_width_stored"] is None else tuple(dict.fromkeys(number["half_width_stored"])),
            number["rank_half_width_usual"],
            number["rank_half_width"],
            number["rows_beyond"],
            number["call"].upper().startswith("COUNT("),
            queries,
        )
        for number in numbers
    ]


def _queries(left: Remaining, charge: PrivacyLoss) -> int | None:
    """How many such queries the budget allows, of ε and of δ."""
    charged = PrivacyLoss.from_units(charge.epsilon_units, charge.delta_units)
    allowed = [] if left.epsilon is None or not charged.epsilon else [left.epsilon // charged.epsilon]
    if charged.delta:
        allowed.append(left.delta // charged.delta)
    return min(allowed, default=None)


def _table(choices: list[Choice], level: Fraction, style: Style) -> str:
    heads = [
        Head("ε", True),
        Head("number"),
        Head("scale", True),
        Head(f"± {percent_text(level)}", True),
        Head("queries left", True),
    ]
    return table(heads, [_row(choice) for choice in choices], style)


def _row(choice: Choice) -> list[str]:
    if choice.refused is not None:
        return [choice.epsilon, choice.refused, "", "", "0"]
    return [
        choice.epsilon,
        choice.number,
        ", ".join(short(scale) for scale in choice.scales),
        _width(choice),
        "no limit" if choice.queries is None else f"{choice.queries:,}",
    ]


def _width(choice: Choice) -> str:
    if choice.half_width is not None:
        return short(math.ceil(choice.half_width) if choice.is_count else choice.half_width)
    if choice.rank_half_width is not None and choice.rank_half_width_usual is not None:
        return f"{short(choice.rank_half_width_usual)} to {short(choice.rank_half_width)} in rank"
    if choice.rows_beyond is not None:
        return f"{short(choice.rows_beyond)} beyond"
    if choice.half_width_stored is not None:
        return " to ".join(map(short, choice.half_width_stored))
    if choice.half_width_times_rows_and_itself is not None:
        return f"{short(choice.half_width_times_rows_and_itself)}/(n·s)"
    return "" if choice.half_width_times_rows is None else f"{short(choice.half_width_times_rows)}/n"


def _json(choices: list[Choice], level: Fraction) -> str:
    rows = [
        {
            "epsilon": choice.epsilon,
            "number": choice.number or None,
            "scales": list(choice.scales),
            "level": float(level),
            "half_width": choice.half_width,
            "half_width_times_rows": choice.half_width_times_rows,
            "half_width_times_rows_and_itself": choice.half_width_times_rows_and_itself,
            "half_width_stored": None if choice.half_width_stored is None else list(choice.half_width_stored),
            "rank_half_width_usual": choice.rank_half_width_usual,
            "rank_half_width": choice.rank_half_width,
            "rows_beyond": choice.rows_beyond,
            "queries_left": 0 if choice.refused else choice.queries,
            "refused": choice.refused,
        }
        for choice in choices
    ]
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
