"""An audit for programs, in the format of dpsql/audit.schema.json."""

from __future__ import annotations

import json
from typing import Any

from dpsql.audit.findings import Audit, Case, Coverage, QueryAudit, TableAudit, Violation
from dpsql.display import json_number

FORMAT = 1
"""Of the shape: it changes where a program that reads it would have to."""


def as_json(audit: Audit, *, command: str) -> str:
    """The whole report as one object."""
    facts = {
        "dpsql_audit": FORMAT,
        "held": audit.held,
        "policy": audit.policy,
        "fingerprint": audit.fingerprint,
        "version": audit.version,
        "seed": audit.seed,
        "command": command,
        "tables": [_table(table) for table in audit.tables],
        "statements": [_query(query) for query in audit.queries],
        "advice": [{"line": each.line, "what": each.what, "hint": each.hint} for each in audit.advice],
    }
    return json.dumps(facts, ensure_ascii=False, indent=1) + "\n"


def _table(table: TableAudit) -> dict[str, Any]:
    return {
        "name": table.name,
        "unit": table.unit,
        "bounds": dict(table.bounds),
        "keys": dict(table.keys),
        "held": table.held,
        "cases": table.cases,
        "refused": table.refused,
        "tightest": _case(table.tightest),
        "spread": list(table.spread),
        "violations": [_violation(each) for each in table.violations],
        "coverage": [_coverage(each) for each in table.coverage],
    }


def _query(query: QueryAudit) -> dict[str, Any]:
    return {
        "line": query.line,
        "sql": query.sql,
        "held": query.held,
        "refused": query.refused,
        "cases": query.cases,
        "tightest": _case(query.tightest),
        "violations": [_violation(each) for each in query.violations],
    }


def _case(case: Case | None) -> dict[str, Any] | None:
    if case is None:
        return None
    return {
        "sql": case.sql,
        "epsilon": json_number(case.epsilon),
        "loss": json_number(case.loss),
        "share": case.share,
    }


def _violation(violation: Violation) -> dict[str, Any]:
    return {
        "sql": violation.sql,
        "epsilon": json_number(violation.epsilon),
        "seed": violation.seed,
        "what": violation.what,
    }


def _coverage(coverage: Coverage) -> dict[str, Any]:
    return {
        "aggregate": coverage.aggregate,
        "level": coverage.level,
        "draws": coverage.draws,
        "inside": coverage.inside,
        "least": coverage.band[0],
        "held": coverage.held,
    }
