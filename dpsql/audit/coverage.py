"""How often intervals hold the number without noise: real noise, over made-up rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from dpsql.audit.findings import Coverage
from dpsql.audit.laboratory import ANALYST, Laboratory, Unlimited
from dpsql.audit.relations import NUMBERS, Relations
from dpsql.engines import Engine
from dpsql.errors import Error
from dpsql.ledger import Ledger
from dpsql.policy import Table
from dpsql.privacy.noise import SystemNoise
from dpsql.result import LEVEL
from dpsql.session import Session

DRAWS = 400
"""Answers of each aggregate."""
OF_NUMBERS = ("SUM", "AVG", "VARIANCE", "STDDEV")
UNITS = 30
"""In the table that is asked, where all rows are as the policy expects them: then DuckDB knows the exact numbers."""


def coverage(made: Laboratory, table: Table) -> Iterator[Coverage]:
    """Ask for COUNT, SUM, AVG, VARIANCE and STDDEV again and again."""
    engine, ledger = cast(Engine, made.engine), cast(Ledger, Unlimited())
    session = Session(made.policy, engine, ledger, SystemNoise())
    made.engine.load(made.twin.database(UNITS, style="expected"))
    relations = Relations(made.twin.random, made.policy, made.public)
    numbered = {*(table.via.columns if table.via else ()), *(name for key in table.unique for name in key)}
    numbers = [
        c
        for name, c in table.columns.items()
        if c.bounds is not None and c.type.kind in NUMBERS and name not in numbered  # a key is numbered, bounds or not
    ]
    column = relations.written(numbers[0].name) if numbers else None
    for call in ("COUNT(*)", *([f"{name}({column})" for name in OF_NUMBERS] if column else ())):
        sql = f"SELECT {call} FROM {relations.written(table.name)}"
        ((exact,),) = made.engine.connection.execute(sql).fetchall()
        if exact is None:
            continue
        try:
            with made.engine.unchanged():
                inside = sum(_holds(session, sql, float(exact)) for _ in range(DRAWS))
        except Error:
            continue
        yield Coverage(call, float(LEVEL), DRAWS, inside)


def _holds(session: Session, sql: str, exact: float) -> bool:
    result = session.execute(sql, analyst=ANALYST)
    (column,) = result.columns
    width = abs(exact) * 1e-12
    if column.intervals is None:
        return False
    ((low, high),) = (pair or (None, None) for pair in column.intervals.pairs)
    return (low is None or low - width <= exact) and (high is None or exact <= high + width)
