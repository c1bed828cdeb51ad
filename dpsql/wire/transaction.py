"""Transactions where nothing can be undone: what was released stays released, and its charge stands.

BEGIN, COMMIT, SAVEPOINT and their kin are answered so that drivers and people find what they know: a block that failed
refuses everything until it ends, and settings that were made in it are undone with it. Charges are not: they are the
ledger's, which no transaction touches.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dpsql.wire.messages import Status
from dpsql.wire.refusals import Refusal
from dpsql.wire.settings import Settings
from dpsql.wire.utility import Begin, Commit, Release, Rollback, RollbackTo, Savepoint

Statement = Begin | Commit | Rollback | Savepoint | Release | RollbackTo
MOST_SAVEPOINTS = 1_000


@dataclass(slots=True)
class Transaction:
    """The state of one connection, and its settings, which follow transactions."""

    settings: Settings
    status: Status = "I"
    _before: Settings | None = None
    _after: Settings | None = None
    """What SET (not SET LOCAL) made of them in this block."""
    _savepoints: list[tuple[str, Settings, Settings | None]] = field(default_factory=list)

    @property
    def in_block(self) -> bool:
        return self.status != "I"

    def set(self, name: str, value: str | None, *, local: bool) -> None:
        """Change a setting; `local`: until the block ends. Raises Refusal."""
        changed = self.settings.with_value(name, value)
        if local and not self.in_block:
            return
        if not local and self._after is not None:
            self._after = self._after.with_value(name, value)
        self.settings = changed

    def reset(self) -> None:
        """RESET ALL."""
        self.settings = self.settings.reset()
        if self._after is not None:
            self._after = self._after.reset()

    def check(self) -> None:
        """Refuse whatever doesn't end a block that failed. Raises Refusal."""
        if self.status == "E":
            raise Refusal(
                "25P02", "current transaction is aborted, commands ignored until end of transaction block",
                hint="send ROLLBACK; what was charged in it stands",
            )  # fmt: skip

    def fail(self) -> None:
        """A statement failed."""
        if self.in_block:
            self.status = "E"

    def run(self, statement: Statement) -> tuple[str, str | None]:
        """Do it: the command's tag, and a warning. Raises Refusal."""
        match statement:
            case Begin():
                self.check()
                if self.in_block:
                    return "BEGIN", "there is already a transaction in progress"
                self._open()
                return "BEGIN", None
            case Commit(chain):
                failed = self.status == "E"
                warning = None if self.in_block else "there is no transaction in progress"
                self._close(undo=failed, chain=chain)
                return ("ROLLBACK" if failed else "COMMIT"), warning
            case Rollback(chain):
                warning = None if self.in_block else "there is no transaction in progress"
                self._close(undo=True, chain=chain)
                return "ROLLBACK", warning
            case Savepoint(name):
                self.check()
                self._need_block("SAVEPOINT")
                if len(self._savepoints) >= MOST_SAVEPOINTS:
                    raise Refusal("54000", f"there are more than {MOST_SAVEPOINTS} savepoints", hint="release some")
                self._savepoints.append((name, self.settings, self._after))
                return "SAVEPOINT", None
            case Release(name):
                self.check()
                self._need_block("RELEASE SAVEPOINT")
                del self._savepoints[self._find(name) :]
                return "RELEASE", None
            case RollbackTo(name):
                self._need_block("ROLLBACK TO SAVEPOINT")
                index = self._find(name)
                _, self.settings, self._after = self._savepoints[index]
                del self._savepoints[index + 1 :]
                self.status = "T"
                return "ROLLBACK", None

    def _open(self) -> None:
        self.status, self._before, self._after = "T", self.settings, self.settings

    def _close(self, *, undo: bool, chain: bool) -> None:
        if self._before is not None and self._after is not None:
            self.settings = self._before if undo else self._after
        was_open = self.in_block
        self.status, self._before, self._after = "I", None, None
        self._savepoints.clear()
        if chain and was_open:
            self._open()

    def _need_block(self, what: str) -> None:
        if not self.in_block:
            raise Refusal("25P01", f"{what} can only be used in transaction blocks", hint="send BEGIN first")

    def _find(self, name: str) -> int:
        for index in range(len(self._savepoints) - 1, -1, -1):
            if self._savepoints[index][0] == name:
                return index
        raise Refusal("3B001", f'savepoint "{name[:80]}" does not exist')
