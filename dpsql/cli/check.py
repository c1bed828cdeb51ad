"""`dpsql check`: all that is wrong in a policy, or what it protects and how. For the owner of the data."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.cli.budget import budget_table
from dpsql.cli.errors import LEDGER, OK, POLICY, error_text
from dpsql.cli.output import Output, say
from dpsql.engines import Engine, TableReport, open_engine
from dpsql.errors import LedgerError, PolicyError
from dpsql.ledger import Ledger
from dpsql.policy import Bound, Column, Key, Kind, Policy, load_all_errors
from dpsql.privacy.loss import decimal_text
from dpsql.session import with_public_keys
from dpsql.table import Head, Style, table

_SHOWN_KEYS = 8


def check(arguments: argparse.Namespace) -> int:
    """List every problem of the policy; if there is none, compare it with the data and describe it."""
    policy, problems = load_all_errors(arguments.config)
    if policy is None:
        return _tell(problems)
    try:
        with Output(None) as output, open_engine(policy) as engine:
            resolved = with_public_keys(policy, engine)
            output.write("".join(_sections(resolved, engine, output.style)))
            return _ledger(policy, output)
    except PolicyError as first:
        return _tell(_all_misfits(policy, first))


def _tell(problems: Sequence[PolicyError]) -> int:
    say("".join(error_text(problem) for problem in problems))
    say(f"{len(problems)} problem{'s' * (len(problems) != 1)}\n")
    return POLICY


def _all_misfits(policy: Policy, first: PolicyError) -> list[PolicyError]:
    """Everything that doesn't fit the data. An engine stops at the first: so each table is tried by itself, and each
    column of a table that fails."""
    found = {first.message: first}
    public = {name: replace(t, columns={}) for name, t in policy.tables.items() if t.public}
    for name, whole in policy.tables.items():
        for part in (whole, *(replace(whole, columns={c: column}) for c, column in whole.columns.items())):
            try:
                alone = replace(policy, tables={**public, name: part})
                with open_engine(alone) as engine:
                    with_public_keys(alone, engine)
            except PolicyError as error:
                found.setdefault(error.message, error)
            else:
                if part is whole:
                    break
    return list(found.values())


def _sections(policy: Policy, engine: Engine, style: Style) -> Iterator[str]:
    privacy = policy.privacy
    ceiling = "no ceiling" if privacy.max_epsilon is None else f"at most {decimal_text(privacy.max_epsilon)}"
    yield (
        f"The policy is right. Analysts write {policy.dialect}; ε of a query: {decimal_text(privacy.epsilon)}"
        f" unless asked, {ceiling}, charged at least {decimal_text(privacy.min_epsilon)}.\n"
    )
    yield "\nPrivate columns; no others exist for analysts:\n" + _protected(policy, style)
    if any(t.public for t in policy.tables.values()):
        yield "\nPublic tables, shown as they are:\n" + _public(policy, engine, style)
    reports = engine.report()
    if reports:
        yield "\nHow the files fit (exact: for the owner alone); a cell that doesn't fit is NULL:\n" + _fit(
            reports, style
        )


# ---------------------------------------------------------------------------------------------- tables


def _protected(policy: Policy, style: Style) -> str:
    heads = [Head(n) for n in ("table", "unit", "column", "type", "bounds", "keys", "grain", "NULL")]
    rows = [
        [
            t.name,
            f"each {t.unit}",
            column.name,
            _type(column),
            "" if column.bounds is None else f"{_bound(column.bounds[0])} to {_bound(column.bounds[1])}",
            _keys(column),
            "" if column.grain is None else _fraction(column.grain),
            "may occur" if column.nullable else "",
        ]
        for t in policy.tables.values()
        if not t.public
        for column in t.columns.values()
    ]
    return table(heads, rows, style)


def _type(column: Column) -> str:
    kind = column.type
    return f"decimal({kind.precision},{kind.scale})" if kind.kind is Kind.DECIMAL else kind.kind.value


def _keys(column: Column) -> str:
    if column.keys is None:
        return "false, true" if column.type.kind is Kind.BOOLEAN else ""
    shown = ", ".join(_key(key) for key in column.keys[:_SHOWN_KEYS])
    more = f", … ({len(column.keys)})" if len(column.keys) > _SHOWN_KEYS else ""
    origin = f" from {'.'.join(column.keys_from)}" if column.keys_from else ""
    return shown + more + origin


def _key(key: Key) -> str:
    if key is None:
        return "NULL"
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (int, Fraction)):
        return _fraction(Fraction(key))
    return key if isinstance(key, str) else str(key)


def _bound(bound: Bound) -> str:
    return _fraction(bound) if isinstance(bound, Fraction) else str(bound)


def _fraction(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.9g}"


def _public(policy: Policy, engine: Engine, style: Style) -> str:
    tables = [engine.public_table(t) for t in policy.tables.values() if t.public]
    rows = [[t.name, f"{t.rows:,}", ", ".join(f"{name} {type_}" for name, type_ in t.columns)] for t in tables]
    return table([Head("table"), Head("rows", True), Head("columns")], rows, style)


def _fit(reports: tuple[TableReport, ...], style: Style) -> str:
    heads = [
        Head("table"),
        Head("rows", True),
        Head("rows that can't be read", True),
        Head("cells that don't fit"),
    ]
    rows = [
        [
            report.table,
            f"{report.rows:,}",
            f"{report.unreadable:,}",
            ", ".join(f"{column}: {count:,}" for column, count in report.misfits.items()) or "none",
        ]
        for report in reports
    ]
    return table(heads, rows, style)


# ---------------------------------------------------------------------------------------------- ledger


def _ledger(policy: Policy, output: Output) -> int:
    """The budget and the state of the ledger. A ledger not yet made is no fault of the policy."""
    name = os.path.relpath(policy.ledger, policy.path.parent)
    try:
        with Ledger.open(policy.ledger) as ledger:
            count = ledger.totals().count
            output.write("\nBudget:\n" + budget_table(policy, ledger, output.style))
            output.write(f"\nLedger {name}: whole, {count:,} charge{'s' * (count != 1)}.\n")
            return OK
    except LedgerError as error:
        output.write("\nBudget:\n" + budget_table(policy, None, output.style))
        if policy.ledger.exists():
            say(error_text(error))
            return LEDGER
        output.write(f"\n{error.message} Queries are refused until it does.\nhint: {error.hint}\n")
        return OK
