"""What a release is a release of: where two questions are equal, a stored answer to one is an answer to the other.

A question holds everything that the law of the released integers depends on: the SQL that runs on the private engine,
with its constants, what the policy says of tables, the data version, the keys, and each part with the law of its noise.
It holds nothing of what is done with the numbers afterwards, nor how the analyst wrote it. So statements that differ in
whitespace, comments, aliases, ORDER BY or arithmetic on aggregates share releases; another ε, parameter, bound, day
(CURRENT_DATE is a literal by then) or data version is another question (THREATS G10).

It is text, JSON, made of public things alone. It is stored with the answer: with the law of its noise beside them the
integers can be added up, or made more exact for the difference in ε, by whoever reads them later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dpsql.aggregates.aggregate import Basis
from dpsql.plan import BasisPlan, Plan, ReleasePlan
from dpsql.policy import Policy, Table
from dpsql.query import Key
from dpsql.rewrite.inner import Inner

FORMAT = 1
"""Raised when the same question would be answered by other integers: what was stored before is then not found."""


@dataclass(frozen=True, slots=True)
class Question:
    """The text of a question, and its SHA-256, by which it is found."""

    text: str
    digest: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", hashlib.sha256(self.text.encode()).digest())

    def with_constants(self, values: Mapping[str, object]) -> Question:
        """The question of inner queries that use these values, released or public, of earlier subqueries.

        A value may be a whole table, so the text holds its hash.
        """
        if not values:
            return self
        used = hashlib.sha256(repr(sorted(values.items())).encode("utf-8", "surrogatepass")).hexdigest()
        return Question(f'{self.text}\n{{"constants": "{used}"}}')


def declarations(policy: Policy, data_version: str) -> dict[str, object]:
    """What every question under a policy says, for one data version."""
    return {"format": FORMAT, "tables": _tables(policy), "data_version": data_version}


def questions(plan: Plan, inner: Sequence[Sequence[Inner]], declared: Mapping[str, object]) -> tuple[Question, ...]:
    """The question of each release of a statement, still without the values of constants. `declared`: see there.

    Privacy: releases of one statement that are equal otherwise are numbered. Each has noise of its own, which is paid
    for, and none stands in for the other (THREATS A13).
    """
    found: list[Question] = []
    seen: dict[str, int] = {}
    for release, queries in zip(plan.releases, inner, strict=True):
        facts = {**declared, **_release(release, queries)}
        text = json.dumps(facts, sort_keys=True)
        seen[text] = copy = seen.get(text, -1) + 1
        found.append(Question(json.dumps(facts | {"copy": copy}, sort_keys=True)))
    return tuple(found)


def _tables(policy: Policy) -> str:
    """A hash of what the policy says of engine and tables, but for descriptions and the order of columns.

    The rest of a policy (ε, budgets, dialect, how counts are shown) changes no release, or shows in its plan.
    """
    declared = [policy.engine, *(repr(_declared(table)) for _, table in sorted(policy.tables.items()))]
    return hashlib.sha256("\0".join(declared).encode("utf-8", "surrogateescape")).hexdigest()


def _declared(table: Table) -> Table:
    columns = {name: replace(column, description="", line=0) for name, column in sorted(table.columns.items())}
    return replace(table, columns=columns, description="", line=0)


def _release(plan: ReleasePlan, inner: Sequence[Inner]) -> dict[str, Any]:
    selection = plan.selection
    return {
        "inner": [query.sql for query in inner],
        "epsilon": str(plan.epsilon),
        "delta": str(plan.delta),
        "keys": [_key(key) for key in plan.query.keys],
        "selection": selection
        and {
            "epsilon": str(selection.epsilon),
            "delta": str(selection.delta),
            "groups": selection.groups,
            "min_units": selection.min_units,
            "bound": selection.bound,
        },
        "bases": [_basis(basis) for basis in plan.bases],
    }


def _key(key: Key) -> dict[str, Any]:
    domain = key.domain
    return {
        "code": key.code.sql("duckdb"),
        "kind": domain.kind.value,
        "codes": None if domain.values is None else domain.codes(),
        "first": domain.first,
        "step": str(domain.step),
        "count": domain.count,
        "null": domain.null,
        "private": domain.private,
    }


def _basis(plan: BasisPlan) -> dict[str, Any]:
    """One basis: what is counted or added, and for each part the law of its noise, in steps of the exact sums.

    A part is rows·R + present·P + index·I + square·Q; an index counts `grain`s from `lower`; a row that counts in full
    adds `steps` times what is said there. Bases of one block have their noise from one draw of the mechanism.
    """
    argument, condition = plan.measure.identity
    return {
        "basis": plan.basis.value,
        "argument": argument,
        "filter": condition,
        "lower": str(plan.grid.lower),
        "grain": str(plan.grid.grain),
        "cells": plan.grid.cells,
        "epsilon": str(plan.epsilon),
        "rows": plan.bound.rows,
        "groups": plan.bound.groups,
        "steps": plan.bound.steps,
        "mechanism": "truncated discrete Laplace" if plan.basis is Basis.UNITS else plan.mechanism_name,
        "block": plan.block,
        "parts": [
            {
                "name": part.name,
                "rows": part.rows,
                "present": part.present,
                "index": part.index,
                "square": part.square,
                "unit": part.unit,
                "scale": str(plan.scale(part)),
            }
            for part in plan.parts
        ],
    } | ({} if plan.candidates is None else {"candidates": repr(plan.candidates)})
