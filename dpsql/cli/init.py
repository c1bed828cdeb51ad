"""`dpsql init`: a policy drafted from the schema of data, for the owner to decide."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from dpsql.cli.errors import OK, Usage
from dpsql.cli.output import Output, say
from dpsql.engines.duckdb_sources import schemas
from dpsql.policy.draft import Draft, DraftColumn, DraftTable, draft_policy
from dpsql.policy.reader import MAX_BYTES


def init(arguments: argparse.Namespace) -> int:
    """Write a draft, to a new file or standard output, and what to do next."""
    output = None if arguments.output in (None, "-") else Path(arguments.output)
    if output is not None and os.path.lexists(output):
        raise Usage(f"{output} exists, and a policy is never overwritten", "name another file with -o")
    draft = _draft(list(dict.fromkeys(arguments.data)), output)
    decisions = f"{draft.decisions} decision{'s' * (draft.decisions != 1)} to make"
    if output is None:
        Output(None).write(draft.text)
        say(f"{decisions}: save it as a .yaml file here, decide, then run dpsql check on it\n")
        return OK
    _write_new(output, draft.text)
    name = shlex.quote(str(output))
    say(f"wrote {output}: {decisions}; then: dpsql check {name}; dpsql budget {name} --create\n")
    return OK


def _draft(data: list[str], output: Path | None) -> Draft:
    try:
        schema = schemas.read(data, str(output.parent) if output else os.curdir)
    except schemas.Unusable as error:
        raise Usage(error.message, error.hint) from None
    ledger = f"var/{output.stem if output else schema.tables[0].name}.ledger"
    try:
        draft = draft_policy(schema.tables, engine=schema.engine, ledger=ledger, left_out=schema.left_out)
    except ValueError:
        raise Usage("no column of these data can be declared", "store the columns as types that dpsql knows") from None
    if len(draft.text.encode()) > MAX_BYTES:
        raise Usage("these data have too many columns for one policy", "name fewer files")
    _tell_twins(schema.tables)
    return draft


def _tell_twins(tables: Sequence[DraftTable]) -> None:
    """Files with the same columns may be one table, whose glob the shell has written out."""
    first: dict[tuple[DraftColumn, ...], str] = {}
    files = (table for table in tables if table.source.lower().endswith((".csv", ".parquet")))
    twin = next((t for t in files if first.setdefault(t.columns, t.source) != t.source), None)
    if twin is not None:
        both = f"{first[twin.columns]} and {twin.source}"
        say(f"note: {both} have the same columns; to make files one table, give a glob in quotes: 'data/*.csv'\n")


def _write_new(path: Path, text: str) -> None:
    try:
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise Usage(f"{path} can't be written: {reason}", "name a new file with -o, in a folder that exists") from None
