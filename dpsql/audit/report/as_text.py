"""An audit for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpsql.audit.findings import Advice, Audit, QueryAudit, TableAudit, Violation
from dpsql.audit.report import words
from dpsql.policy import at_line
from dpsql.table import Head, Style, table

_LONGEST_SQL = 60


def as_text(audit: Audit, style: Style, *, command: str) -> str:
    """The whole report. The first line says whether everything held; `command` is what makes it again."""
    return "".join(_parts(audit, style, command))


def _parts(audit: Audit, style: Style, command: str) -> Iterator[str]:
    yield f"{words.verdict(audit)}\n"
    yield f"Made-up statements, asked of made-up rows: no private row was read. Seed {audit.seed}.\n"
    for violation in audit.violations:
        yield "\n" + _violation(violation)
    yield "\nTables:\n" + _tables(audit.tables, style)
    tightest = list(words.tightest(audit.tables))
    if tightest:
        yield "\nThe tightest case of each, the one that needed most of its ε:\n"
        for name, case in tightest:
            yield f"  {words.clean(name)}: {words.of_epsilon(case)}\n{_sql(case.sql)}"
    if any(each.coverage for each in audit.tables):
        yield "\nHow often intervals held the number without noise:\n" + _coverage(audit.tables, style)
    if audit.queries:
        yield "\nYour statements:\n" + _queries(audit.queries, style)
    if audit.advice:
        yield "\n" + "".join(_advice(audit.policy, each) for each in audit.advice)
    yield f"\nThe same again: {command}\n"


def _violation(violation: Violation) -> str:
    facts = f"{words.epsilon(violation.epsilon)}, seed {violation.seed}"
    return f"violation: {words.clean(violation.what)} ({facts})\n{_sql(violation.sql)}"


def _advice(policy: str, advice: Advice) -> str:
    what, hint = words.clean(advice.what), words.clean(advice.hint)
    return f"advice: {at_line(policy, advice.line)}: {what}\nhint: {hint}\n"


def _sql(sql: str) -> str:
    return "".join(f"    {line}\n" for line in words.lines(sql))


def _tables(tables: Sequence[TableAudit], style: Style) -> str:
    heads = [
        Head("table"), Head("unit"), Head("contribution bounds"), Head("declared keys"), Head("cases", True),
        Head("refused", True), Head("tightest", True), Head("held"),
    ]  # fmt: skip
    rows = [
        [
            each.name, each.unit, words.bounds(each), words.keys_in_short(each), f"{each.cases:,}", f"{each.refused:,}",
            words.of_epsilon(each.tightest), words.held(each),
        ]
        for each in tables
    ]  # fmt: skip
    return table(heads, rows, style)


def _coverage(tables: Sequence[TableAudit], style: Style) -> str:
    heads = [
        Head("table"), Head("aggregate"), Head("level", True), Head("held", True), Head("of draws", True),
        Head("at least, but for chance", True), Head("verdict"),
    ]  # fmt: skip
    rows = [
        [
            each.name, coverage.aggregate, words.level(coverage), f"{coverage.inside:,}", f"{coverage.draws:,}",
            f"{coverage.band[0]:,}", words.often(coverage),
        ]
        for each in tables
        for coverage in each.coverage
    ]  # fmt: skip
    return table(heads, rows, style)


def _queries(queries: Sequence[QueryAudit], style: Style) -> str:
    heads = [Head("line", True), Head("statement"), Head("cases", True), Head("tightest", True), Head("outcome")]
    rows = [
        [
            f"{each.line:,}", words.first_line(each.sql, _LONGEST_SQL), f"{each.cases:,}",
            words.of_epsilon(each.tightest) if each.tightest else "", words.outcome(each),
        ]
        for each in queries
    ]  # fmt: skip
    return table(heads, rows, style)
