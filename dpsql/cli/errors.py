"""How errors look on the command line, and the exit code of each kind."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence

from dpsql.errors import (
    AnalystLocked,
    BudgetExhausted,
    Error,
    InterfaceError,
    InternalError,
    LedgerError,
    OperationalError,
    PolicyError,
)
from dpsql.policy.problems import printable
from dpsql.table import width

OK = 0
REFUSED = 1
USAGE = 2
POLICY = 3
BUDGET = 4
LEDGER = 5
FAILED = 6
VIOLATED = 7
INTERRUPTED = 130
BROKEN_PIPE = 141

EXIT_CODES = """\
exit codes:
    0  done
    1  the query is refused: its SQL, its parameters or its epsilon; nothing was charged
    2  the command line is wrong, or a file named on it can't be read or written
    3  the policy is wrong, or doesn't fit the data; or audit --strict has advice on it
    4  the budget doesn't allow the charge, or the analyst is locked; nothing was charged
    5  the ledger is missing, damaged or can't be written; nothing is answered
    6  the engine or dpsql failed; a charge that was made stands
    7  the audit found that a promise doesn't hold
  130  interrupted; a charge that was made stands
  141  the reader of the output went away; a charge that was made stands
"""

_KINDS: tuple[tuple[type[Error], int], ...] = (
    (PolicyError, POLICY),
    (BudgetExhausted, BUDGET),
    (AnalystLocked, BUDGET),
    (LedgerError, LEDGER),
    (OperationalError, FAILED),
    (InternalError, FAILED),
    (InterfaceError, USAGE),
)
_INDENT = "  "
_LONGEST_MESSAGE = 2_000


class Usage(Exception):
    """The command line can't be carried out as it stands: one sentence, and what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def exit_code(error: Error) -> int:
    """The exit code of an error's kind."""
    return next((code for kind, code in _KINDS if isinstance(error, kind)), REFUSED)


def error_text(error: Error, sql: str | None = None, columns: int | None = None, *, config: str | None = None) -> str:
    """One line with the SQLSTATE, the line of the SQL with a caret under the position, the hint."""
    lines = [f"error {error.sqlstate}: {printable(error.message, _LONGEST_MESSAGE)}"]
    if sql is not None and error.position is not None:
        lines += excerpt(sql, error.position, columns or shutil.get_terminal_size().columns)
    if error.hint:
        lines.append(f"hint: {printable(with_config(error.hint, config), _LONGEST_MESSAGE)}")
    return "".join(f"{line}\n" for line in lines)


def with_config(hint: str, config: str | None) -> str:
    """The hint with the policy's path, quoted for the shell, in the commands that name CONFIG."""
    if config is None:
        return hint
    return re.sub(r"\b(dpsql [a-z]+) CONFIG\b", lambda found: f"{found[1]} {shlex.quote(config)}", hint)


def usage_text(error: Usage, config: str | None = None) -> str:
    """The same for a wrong command line."""
    message, hint = (printable(text, _LONGEST_MESSAGE) for text in (error.message, with_config(error.hint, config)))
    return f"error: {message}\nhint: {hint}\n"


def excerpt(sql: str, position: int, columns: int) -> list[str]:
    """The line that `position` lies in, cut to `columns`, and a caret under it."""
    position = max(0, min(position, len(sql)))
    start = sql.rfind("\n", 0, position) + 1
    end = sql.find("\n", position)
    line = sql[start : end if end >= 0 else len(sql)].rstrip("\r")
    label = f"line {sql.count(chr(10), 0, start) + 1}: " if "\n" in sql.strip() else ""
    cells = [" " if c == "\t" else printable(c) for c in line]
    at = min(position - start, len(cells))
    room = max(columns - width(_INDENT + label) - 1, 20)
    first, last = _window([width(cell) for cell in cells], at, room)
    before = ("…" if first else "") + "".join(cells[first:at])
    after = "".join(cells[at:last]) + ("…" if last < len(cells) else "")
    return [f"{_INDENT}{label}{before}{after}", f"{_INDENT}{' ' * width(label + before)}^"]


def _window(widths: Sequence[int], at: int, room: int) -> tuple[int, int]:
    """The longest range around `at` that fits in `room`, with dots where it is cut."""
    if sum(widths) <= room:
        return 0, len(widths)
    room -= 2
    first = last = at
    used = 0
    while first > 0 and used + widths[first - 1] <= room // 2:
        first -= 1
        used += widths[first]
    while last < len(widths) and used + widths[last] <= room:
        used += widths[last]
        last += 1
    while first > 0 and used + widths[first - 1] <= room:
        first -= 1
        used += widths[first]
    return first, last
