"""Expressions over private rows: everything that the allow-list holds, as templates to be filled.

Each template has slots for columns, literals or further templates. Whether they cover every node class of
`dpsql.expressions.supported()` is tested, so a new handler needs a template here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpsql.audit.chance import Random

LITERALS: Mapping[str, tuple[str, ...]] = {
    "ilit": ("0", "1", "2", "7", "-3", "100", "1000000000000", "9223372036854775808"),
    "nlit": ("0", "1.5", "-2", "105", "1e3", "0.25", "3", "'5'"),
    "tlit": ("'A'", "'b'", "''", "'é'", "'x''y'", "'7'"),
    "dlit": ("DATE '2020-01-15'", "DATE '2019-12-31'", "CURRENT_DATE", "DATE '0002-01-01'"),
    "tlit2": ("TIMESTAMP '2020-01-02 00:00:00'", "TIMESTAMP '2020-01-01 12:30:00.5'"),
}
"""Constants for slots, by the name of the slot: integers, numbers, texts, dates, timestamps."""

_GROUPS = {
    "num": ("int", "int", "dbl", "dec"),
    "day": ("date", "ts"),
    "any": ("int", "dbl", "dec", "bool", "text", "date", "ts"),
}

_TEXT = {
    "int": """
        {int} + {int} | {int} - {int} | {int} * {int} | -{int} | {int} // {int} | {int} // {ilit} | {int} % {int}
        {int} % {ilit} | ABS({int}) | SIGN({num}) | CASE WHEN {bool} THEN {int} ELSE {int} END
        CASE WHEN {bool} THEN {int} END | CASE {int} WHEN {ilit} THEN {int} ELSE {int} END
        CASE WHEN {bool} THEN {int} WHEN {bool} THEN {ilit} ELSE {int} END
        IF({bool}, {int}, {ilit}) | COALESCE({int}, {int}) | COALESCE(NULL, {int}, {ilit}) | NULLIF({int}, {ilit})
        GREATEST({int}, {int}) | LEAST({int}, {ilit}) | LEAST(GREATEST({int}, 0), 50)
        CAST({dbl} AS INTEGER) | CAST({int} AS BIGINT) | CAST({dec} AS BIGINT) | CAST({num} AS SMALLINT)
        CAST({num} AS TINYINT) | CAST({bool} AS INTEGER) | CAST({text} AS BIGINT) | TRY_CAST({text} AS INTEGER)
        EXTRACT(YEAR FROM {day}) | EXTRACT(DOW FROM {day}) | EXTRACT(ISODOW FROM {day}) | YEAR({day}) | QUARTER({day})
        MONTH({day}) | WEEK({day}) | DAY({day}) | DAYOFMONTH({day}) | DAYOFWEEK({day}) | DAYOFYEAR({day}) | HOUR({ts})
        MINUTE({ts}) | SECOND({ts}) | EXTRACT(HOUR FROM {date}) | DATE_PART('month', {day})
        DATE_DIFF('day', {day}, {day}) | DATE_DIFF('month', {day}, {day}) | DATE_DIFF('year', {day}, {dlit})
        DATE_DIFF('quarter', {day}, {day}) | DATEPART('dow', {day})
        {date} - {date} | LENGTH({text}) | ({int})
    """,
    "dbl": """
        {num} / {num} | {num} / {ilit} | {dbl} + {num} | {dbl} - {num} | {dbl} * {num} | -{dbl} | ROUND({num})
        ROUND({num}, 1) | ROUND({num}, -2) | ROUND_EVEN({num}, 0) | ROUNDBANKERS({num}, 0)
        FLOOR({num}) | CEIL({num}) | TRUNC({num}) | SQRT({num}) | LN({num})
        CLIP({num}, 0, 100) | CLIP({dbl}, -2.5, 1e3) | LOG({num}) | LOG2({num}) | LOG10({num}) | LOG(3, {num})
        EXP({num}) | POWER({num}, 2) | POW({num}, 3) | ABS({dbl}) | CASE WHEN {bool} THEN {dbl} ELSE {int} END
        COALESCE({dbl}, {nlit}) | NULLIF({dbl}, 0.5) | LEAST(GREATEST({num}, 0), 100) | GREATEST({dbl}, {num})
        CAST({int} AS DOUBLE) | CAST({dbl} AS DOUBLE) | CAST({dec} AS DOUBLE) | CAST({bool} AS DOUBLE)
        CAST({num} AS FLOAT) | TRY_CAST({text} AS DOUBLE) | {dbl} * 0.2 | FLOOR({num} / 10)
        LEAST(GREATEST({num} / {num}, -5), 5)
    """,
    "dec": """
        {dec} + {dec} | {dec} - {int} | {dec} * {dec} | -{dec} | ABS({dec}) | {dec} * 1.25 | {int} + 0.5
        CASE WHEN {bool} THEN {dec} ELSE 0 END | COALESCE({dec}, {int}) | CAST({num} AS DECIMAL(10, 2))
        CLIP({dec}, -1.5, 60)
        CAST({num} AS DECIMAL(4, 3)) | CAST({num} AS DECIMAL) | LEAST({dec}, 3.14159) | NULLIF({dec}, 0)
    """,
    "bool": """
        {num} = {num} | {num} <> {nlit} | {num} < {nlit} | {num} <= {num} | {num} > {nlit} | {num} >= {num}
        {nlit} < {num} | {num} * 2 >= {nlit} | {num} + 1 < {nlit} | 10 - {num} > {nlit} | {num} / 2 <= {nlit}
        {text} = {tlit} | {text} <> {tlit} | {text} < {tlit} | {text} = {text} | {date} < {dlit} | {day} >= {dlit}
        {day} = {dlit} | {ts} > {tlit2} | {day} < {tlit2} | {date} < '2020-02-01' | {bool} = {bool} | {bool} = TRUE
        {num} BETWEEN {nlit} AND {nlit} | {num} NOT BETWEEN 1 AND 5 | {int} BETWEEN {int} AND {int}
        {day} BETWEEN {dlit} AND {dlit} | {num} IN ({nlit}, {nlit}) | {num} NOT IN (1, 2, {nlit}) | {int} IN (1, NULL)
        {text} IN ({tlit}, {tlit}) | {date} IN ({dlit}) | {any} IS NULL | {any} IS NOT NULL | {bool} IS TRUE
        {bool} IS NOT FALSE | {num} IS NOT DISTINCT FROM {nlit} | {text} IS DISTINCT FROM {tlit} | {bool} AND {bool}
        {bool} OR {bool} | NOT {bool} | ({bool} AND {bool}) OR {bool} | STARTS_WITH({text}, {tlit})
        ENDS_WITH({text}, {tlit}) | CONTAINS({text}, {text}) | {text} LIKE 'a%' | {text} NOT LIKE '%b_%'
        {text} ILIKE 'A%'
        CAST({int} AS BOOLEAN) | CAST({dbl} AS BOOLEAN) | CAST({dec} AS BOOLEAN) | CAST({bool} AS BOOLEAN)
        CASE WHEN {bool} THEN {bool} ELSE {bool} END | COALESCE({bool}, FALSE) | TRUE | FALSE
        {num} > NULL | NOT ({num} > {nlit} OR {num} < {nlit})
    """,
    "text": """
        LOWER({text}) | UPPER({text}) | TRIM({text}) | SUBSTRING({text}, 2, 3) | SUBSTR({text}, 2) | LEFT({text}, 2)
        RIGHT({text}, 1) | CASE WHEN {bool} THEN {tlit} ELSE {text} END | CASE WHEN {bool} THEN {tlit} ELSE {tlit} END
        STRFTIME({day}, '%Y-%m') | STRFTIME({ts}, '%H:%M') | COALESCE({text}, {tlit}) | NULLIF({text}, {tlit})
        CAST({text} AS VARCHAR)
    """,
    "date": """
        DATE_TRUNC('month', DATE '2020-01-15') | DATE_TRUNC('month', {date})
        DATE_TRUNC('week', {date}) | DATE_TRUNC('year', {date})
        {date} + 3 | {date} - 40
        CAST({date} + INTERVAL 3 DAY AS DATE) | CAST({ts} AS DATE) | CAST({date} AS DATE) | CAST({text} AS DATE)
        COALESCE({date}, {dlit})
        CASE WHEN {bool} THEN {date} ELSE {dlit} END | GREATEST({date}, {dlit}) | LEAST({date}, {date}) | CURRENT_DATE
        DATE '2020-01-01' + INTERVAL 1 MONTH | CAST({date} - INTERVAL 2 MONTH AS DATE)
    """,
    "ts": """
        DATE_TRUNC('hour', {ts}) | DATE_TRUNC('day', {ts}) | DATE_TRUNC('quarter', {ts}) | DATE_TRUNC('minute', {ts})
        {ts} - INTERVAL 1 MONTH | {ts} + INTERVAL 5 DAY | {day} + INTERVAL 2 WEEK | {ts} - INTERVAL 1 QUARTER
        {date} + INTERVAL '1' YEAR | CAST({ts} AS TIMESTAMP) | CAST({date} AS TIMESTAMP) | CAST({text} AS TIMESTAMP)
        COALESCE({ts}, {tlit2}) | GREATEST({ts}, {tlit2})
    """,
}


TEMPLATES: Mapping[str, tuple[str, ...]] = {
    kind: tuple(p.strip() for line in text.splitlines() for p in line.split(" | ") if p.strip())
    for kind, text in _TEXT.items()
}
"""The templates by the kind of what they give."""
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Expressions:
    """Fills templates. `leaves`: what may stand in a slot without further templates, by kind: columns and literals."""

    random: Random
    leaves: Mapping[str, Sequence[str]]

    def expression(self, kind: str, depth: int) -> str:
        """A random expression; parenthesised unless it is a leaf."""
        kind = self.random.choice(_GROUPS[kind]) if kind in _GROUPS else kind
        if depth <= 0 or kind not in TEMPLATES or self.random.random() < 0.25:
            return self.random.choice(self.leaves[kind])
        return "(" + self.fill(self.random.choice(TEMPLATES[kind]), depth - 1) + ")"

    def fill(self, template: str, depth: int) -> str:
        """The template with an expression of at most that depth in each slot."""
        return _SLOT.sub(lambda slot: self.expression(slot[1], depth), template)
