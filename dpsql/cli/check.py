"""`dpsql check`: all that is wrong in a policy, or what it protects and how. For the owner of the data."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dpsql.audit.lint.units import rows_of_persons
from dpsql.cli.budget import budget_table
from dpsql.cli.errors import LEDGER, OK, POLICY, error_text, with_config
from dpsql.cli.output import Output, say
from dpsql.engines import Engine, TableReport, open_engine
from dpsql.errors import EngineError, LedgerError, PolicyError
from dpsql.ledger import Ledger
from dpsql.ledger.faults import was_charged
from dpsql.policy import Column, Kind, Lines, Policy, Table, Unit, at_line, load_partly
from dpsql.policy.shown import bounds_text, fraction_text, keys_text
from dpsql.privacy.loss import decimal_text
from dpsql.session import resolved_policy
from dpsql.table import Head, Style, table


def check(arguments: argparse.Namespace) -> int:
    """List every problem of the policy; if there is none, compare it with the data and describe it."""
    policy, problems = load_partly(arguments.config)
    if policy is None or problems:
        return _tell([*problems, *(_all_misfits(policy) if policy is not None else ())])
    try:
        _check_server(policy)
        with Output(None) as output, open_engine(policy) as engine:
            resolved = resolved_policy(policy, engine)
            reports = engine.report()
            if any(report.unfit for report in reports):
                return _tell(_unfit(policy, reports))
            output.write("".join(_sections(resolved, engine, reports, output.style)))
            code = _ledger(policy, output, arguments.config)
            output.write(f"\nTo attack it, on made-up rows: dpsql audit {shlex.quote(arguments.config)}\n")
            return code
    except PolicyError as first:
        return _tell(_all_misfits(policy) or [first])


def _check_server(policy: Policy) -> None:
    """Raise PolicyError for a certificate and key that the server could not use."""
    server = policy.server
    if server.certificate is not None and server.key is not None:
        from dpsql.wire import tls  # here: policies without need not wait for it

        tls.context(server.certificate, server.key, at_line(policy.shown, server.tls_line))


def _tell(problems: Sequence[PolicyError]) -> int:
    say("".join(error_text(problem) for problem in problems))
    say(f"{len(problems)} problem{'s' * (len(problems) != 1)}\n")
    return POLICY


def _all_misfits(policy: Policy) -> list[PolicyError]:
    """Everything that doesn't fit the data. An engine stops at the first: so each table is tried by itself, each column
    of a table that fails, each public column from which keys are taken, and each table with the one in which its unit
    is found. Data that can't be opened now are skipped.
    """
    found: dict[str, PolicyError] = {}
    sound: dict[str, Table] = {}
    for name, whole in policy.tables.items():
        own = _without_references(whole)
        if not (own.columns or own.public):
            continue  # all its columns are wrong already in the policy
        if not _try(found, policy, {name: own}):
            own = replace(own, primary_key=())
            columns = (replace(own, columns={key: column}) for key, column in own.columns.items())
            own = replace(
                own, columns={k: c for p in columns if _try(found, policy, {name: p}) for k, c in p.columns.items()}
            )
        if own.columns or own.public:
            sound[name] = own
    for name in sound:
        for key in sound[name].columns:
            column = policy.tables[name].columns[key]
            if column.keys_from is not None and column.keys_from[0] in sound:
                public = column.keys_from[0]
                one = replace(sound[name], columns={key: column})
                _try(found, policy, {public: sound[public], name: one})
        unit, via = policy.tables[name].unit, policy.tables[name].via
        if via is not None and via.parent in sound and sound[via.parent].columns.keys() >= set(via.parent_columns):
            _try(found, policy, {via.parent: sound[via.parent], name: replace(sound[name], unit=unit)})
    return list(found.values())


def _without_references(whole: Table) -> Table:
    """The table alone: no keys from another, no unit in another."""
    columns = {key: replace(column, keys_from=None) for key, column in whole.columns.items()}
    return replace(whole, columns=columns, unit=None if whole.public else "row")


def _try(found: dict[str, PolicyError], policy: Policy, tables: dict[str, Table]) -> bool:
    """Open these tables alone. False, and noted in `found`, where they don't fit."""
    alone = replace(policy, tables=tables)
    try:
        with open_engine(alone) as engine:
            resolved_policy(alone, engine)
            for error in _unfit(alone, engine.report()):
                found.setdefault(error.message, error)
    except EngineError:
        return False
    except PolicyError as error:
        found.setdefault(error.message, error)
        return False
    return True


def _unfit(policy: Policy, reports: Sequence[TableReport]) -> list[PolicyError]:
    """Columns of CSV files of which not one cell fits: the declared type must be wrong. An error here and nowhere else:
    whether it is so depends on private values, and an analyst must not learn it.
    """
    return [
        PolicyError(
            f"{at_line(policy.shown, column.line)}: column {column.name} of {report.table} is declared "
            + f"{column.type}, "
            + (f"but none of its {cells:,} cells is one" if cells > 1 else "but its only cell is none"),
            hint=f"write type: {fitting}",
        )
        for report in reports
        for column in policy.tables[report.table.lower()].columns.values()
        if column.name in report.unfit
        for cells, fitting in (report.unfit[column.name],)
    ]


def _warnings(whole: Table, report: TableReport) -> Iterator[str]:
    """What happens to rows in a way that the owner may not have meant."""
    if report.unreadable:
        yield (
            f"{report.table}: {_many(report.unreadable, 'row')} can't be read and {_are(report.unreadable)} left out: "
            "save the file as UTF-8, each row with as many cells as the header"
        )
    yield from _repeats(whole, report)
    for column in () if whole.public else whole.columns.values():
        name, grouped = column.name, column.keys is not None or column.type.kind is Kind.BOOLEAN
        nulls, outside = report.nulls.get(name, 0), report.outside.get(name, 0)
        misfits = report.misfits.get(name, 0)
        if misfits:
            yield (
                f"{report.table}: {_many(misfits, 'cell')} of {name} {_are(misfits)} no {column.type.kind.value} and "
                f"{'count' if misfits > 1 else 'counts'} as NULL: {_FORMATS[column.type.kind]}"
            )
        nulls -= misfits
        if nulls > 0 and not column.nullable:
            numeric = column.type.kind in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE) and not grouped
            place = f"COUNT(*) beside AVG({name})" if numeric else f"GROUP BY {name}" if grouped else f"COUNT({name})"
            keep = _keep_nulls(column)
            if isinstance(whole.unit, Unit) and name.lower() in _of_unit(whole.unit):
                place, keep = "everything, being of no unit", "write nullable: true if that is meant"
            yield (
                f"{report.table}: {_many(nulls, 'cell')} of {name} {_are(nulls)} NULL but nullable is false: "
                f"{'those rows drop' if nulls > 1 else 'that row drops'} out of {place}; {keep}"
            )
        if outside and column.keys is not None:
            yield (
                f"{report.table}: {_many(outside, 'row')} {'have' if outside > 1 else 'has'} a {name} that is not "
                f"a key: dropped from GROUP BY {name}"
            )
        elif outside and column.bounds is not None:
            dropped = f"; GROUP BY {name} drops them" if column.type.kind in (Kind.INTEGER, Kind.DATE) else ""
            yield (
                f"{report.table}: {_many(outside, 'value')} of {name} {_are(outside)} outside "
                f"{bounds_text(column)} and {_are(outside)} moved to the nearer bound{dropped}"
            )


def _repeats(whole: Table, report: TableReport) -> Iterator[str]:
    """Keys that are none, and units with more rows than count in full."""
    unit = whole.unit if isinstance(whole.unit, Unit) else None
    for key, repeated in report.repeated.items():
        of_unit = unit is not None and unit.column == key
        declared = "primary_key" if set(key.split(", ")) == set(whole.primary_key) else "unique: true"
        yield (
            f"{report.table}: {_many(repeated, 'value')} of {key} {'stand' if repeated > 1 else 'stands'} in several "
            f"rows: remove {declared}{', and write max_rows at its unit' * of_unit}"
        )
    if unit is not None and report.beyond:
        yield (
            f"{report.table}: {report.beyond:,} of {_many(report.units, 'unit')} have more than "
            f"{_many(unit.max_rows, 'row')}: their rows count in proportion, all of one as {unit.max_rows:,}"
        )


def _of_unit(unit: Unit) -> tuple[str | None, ...]:
    """The columns without which a row is of no unit."""
    return (unit.column,) if unit.via is None else unit.via.columns


_FORMATS = {
    Kind.BOOLEAN: "0, 1, t, f, true and false are read",
    Kind.INTEGER: "digits are read, such as 42",
    Kind.DECIMAL: "numbers with a point are read, such as 1.25",
    Kind.DOUBLE: "numbers with a point are read, such as 1.25",
    Kind.TEXT: "text is read as it is",
    Kind.DATE: "dates are read as 2020-12-31",
    Kind.TIMESTAMP: "timestamps are read as 2020-12-31 23:59:59",
}


def _keep_nulls(column: Column) -> str:
    """What to write so that rows with NULL count."""
    if column.keys is None:
        return "write nullable: true"
    return "to keep them, list its keys, null among them" if column.keys_from else "to keep them, add null to its keys"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _sections(policy: Policy, engine: Engine, reports: Sequence[TableReport], style: Style) -> Iterator[str]:
    privacy = policy.privacy
    ceiling = "no ceiling" if privacy.max_epsilon is None else f"at most {decimal_text(privacy.max_epsilon)}"
    yield (
        f"The policy is right. Analysts write {policy.dialect}; ε of a query: {decimal_text(privacy.epsilon)}"
        f" unless asked, {ceiling}, charged at least {decimal_text(privacy.min_epsilon)}.\n"
    )
    yield "\nPrivate columns; no others exist for analysts:\n" + _protected(policy, style)
    if any(t.public for t in policy.tables.values()):
        yield "\nPublic tables, shown as they are:\n" + _public(policy, engine, style)
    if reports:
        yield "\nHow the data fit (exact: for the owner alone); a cell that doesn't fit is NULL:\n" + _fit(
            policy, reports, style
        )
    warnings = [warning for report in reports for warning in _warnings(policy.tables[report.table.lower()], report)]
    warnings += [f"{advice.what}; {advice.hint}" for advice in rows_of_persons(policy, Lines(policy.text))]
    if warnings:
        yield "\n" + "".join(f"warning: {warning}\n" for warning in warnings)


# ---------------------------------------------------------------------------------------------- tables


def _protected(policy: Policy, style: Style) -> str:
    heads = [Head(n) for n in ("table", "unit", "column", "type", "bounds", "keys", "grain", "NULL")]
    rows = [
        [
            t.name,
            _unit(policy, t),
            column.name,
            _with_key(t, column.name, str(column.type)),
            bounds_text(column),
            keys_text(column),
            "" if column.grain is None else fraction_text(column.grain),
            "may occur" if column.nullable else "",
        ]
        for t in policy.tables.values()
        if not t.public
        for column in t.columns.values()
    ]
    return table(heads, rows, style)


def _unit(policy: Policy, whole: Table) -> str:
    """Whose a row is, and how many rows of one unit count."""
    unit = whole.unit
    if not isinstance(unit, Unit):
        return "each row"
    parts = [whole.columns[unit.column].name] if unit.column is not None else []
    if unit.via is not None:
        parent = policy.tables[unit.via.parent]
        parts.append(f"via {' and '.join(f'{parent.name}.{parent.columns[c].name}' for c in unit.via.parent_columns)}")
    parts.append(_many(unit.max_rows, "row"))
    if unit.max_groups is not None:
        parts.append(_many(unit.max_groups, "group"))
    if unit.max_rows_per_key is not None:
        parts[-1] += f" of {_many(unit.max_rows_per_key, 'row')}"
    return ", ".join(parts)


def _with_key(whole: Table, name: str, shown: str) -> str:
    """A column's type, and whether it tells rows apart."""
    column = whole.columns.get(name.lower())
    if name.lower() in whole.primary_key:
        return f"{shown} primary key"
    return f"{shown} unique" if column is not None and column.unique else shown


def _public(policy: Policy, engine: Engine, style: Style) -> str:
    rows = []
    for whole in (t for t in policy.tables.values() if t.public):
        read = engine.public_table(whole)
        columns = ", ".join(_with_key(whole, name, f"{name} {type_}") for name, type_ in read.columns)
        rows.append([read.name, f"{read.rows:,}", columns])
    return table([Head("table"), Head("rows", True), Head("columns")], rows, style)


def _fit(policy: Policy, reports: Sequence[TableReport], style: Style) -> str:
    heads = [
        Head("table"),
        Head("rows", True),
        Head("rows that can't be read", True),
        Head("cells that don't fit"),
        Head("NULL"),
        Head("outside bounds or keys"),
    ]
    rows = [
        [
            report.table,
            f"{report.rows:,}",
            f"{report.unreadable:,}" if policy.tables[report.table.lower()].source.kind == "csv" else "",
            *(_by_column(counts) for counts in (report.misfits, report.nulls, report.outside)),
        ]
        for report in reports
    ]
    return table(heads, rows, style)


def _by_column(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{column}: {count:,}" for column, count in counts.items()) or "none"


# ---------------------------------------------------------------------------------------------- ledger


def _ledger(policy: Policy, output: Output, config: str) -> int:
    """The budget and the state of the ledger. A ledger not yet made is no fault of the policy."""
    name = os.path.relpath(policy.ledger, policy.path.parent)
    try:
        with Ledger.open(policy.ledger) as ledger:
            count = ledger.totals().count
            output.write("\nBudget:\n" + budget_table(policy, ledger, output.style))
            output.write(f"\nLedger {name}: whole, {count:,} charge{'s' * (count != 1)}.\n")
            return OK
    except LedgerError as error:
        unborn = not policy.ledger.exists() and not was_charged(policy.ledger)
        output.write("\nBudget:\n" + budget_table(policy, None, output.style, nothing_charged=unborn))
        if not unborn:
            say(error_text(error, config=config))
            return LEDGER
        hint = with_config(error.hint or "", config)
        output.write(f"\n{error.message}; queries are refused until it does\nhint: {hint}\n")
        return OK
