"""DuckDB as it is driven here: its settings, and its faults, none of whose words may leave."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

import duckdb

from dpsql.engines.duckdb_sources.catalogue import unreadable
from dpsql.errors import EngineError
from dpsql.policy import Policy, Table

CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}
FAULTS = (duckdb.Error, RuntimeError, MemoryError, OSError, ValueError, TypeError)
"""What the driver may raise."""
_INTERRUPTED = "Query interrupted"
"""What the driver says, in a RuntimeError, where Ctrl-C stopped it."""
_log = logging.getLogger("dpsql.engine")
_T = TypeVar("_T")


def quietly(call: Callable[[], _T]) -> _T:
    """Run `call`; whatever the driver raises becomes an EngineError that says nothing about it.

    A driver's message may quote a private value. So the log gets the kind of the exception and a reference,
    the caller the reference; and the error is raised outside the handler, so that not even its context holds
    the cause. Ctrl-C is KeyboardInterrupt, as everywhere.
    """
    try:
        return call()
    except FAULTS as fault:
        kind, interrupted = type(fault).__name__, is_interrupt(fault)
    if interrupted:
        raise KeyboardInterrupt
    reference = secrets.token_hex(4)
    _log.error("engine failure %s: %s", reference, kind)
    raise EngineError(f"the engine failed; the operator's log has it under {reference}")


def is_interrupt(fault: BaseException) -> bool:
    """Whether it is Ctrl-C that came while the driver was at work."""
    return isinstance(fault, RuntimeError) and str(fault) == _INTERRUPTED


def read_source(
    connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, sql: str, file: str = ""
) -> list[Any]:
    """Run SQL that reads a source, or one `file` of it; one that can't be read is the policy's fault. Quotes nothing
    of it.
    """
    try:
        return connection.execute(sql).fetchall()
    except FAULTS as fault:
        kind = type(fault).__name__
    _log.error("table %s can't be read: %s", table.name, kind)
    raise unreadable(policy, table, file or table.source.location)
