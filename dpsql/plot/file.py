"""The file that a plot is written to: found to be writable before anything is asked, replaced all at once."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from types import TracebackType

from dpsql.errors import FileError

SUFFIXES = (".png", ".svg", ".html")
"""The forms of a plot, as the file's name ends."""


class PlotFile:
    """A place for a plot. A context manager.

    When this is made, a file is made beside it. `write` puts that into its place; without it, nothing stays of it, and
    what was there is left as it was. Raises FileError for another ending, where no file can be made, and where
    something stands that isn't a regular file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.suffix = self.path.suffix.lower()
        if self.suffix not in SUFFIXES:
            raise FileError(
                f"no plot is called {self.path}: what it is to hold follows from its ending",
                hint="end the plot's name in .png, .svg or .html",
            )
        try:
            self._place = self.path.resolve()  # where a link leads, the file that it leads to is replaced
            self._mode = self._mode_of_old()
            self._new = self._place.with_name(f".{secrets.token_hex(8)}{self.suffix}")
            self._file = open(self._new, "xb")  # noqa: SIM115 - closed by __exit__
        except (OSError, ValueError, RuntimeError) as error:
            raise self._unwritable(error) from None

    def _mode_of_old(self) -> int | None:
        try:
            found = os.lstat(self._place).st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found):
            raise FileError(f"{self.path} is not a regular file", hint="name a file, or one that isn't there yet")
        return stat.S_IMODE(found)

    def _unwritable(self, error: Exception) -> FileError:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        return FileError(f"{self.path} can't be written: {reason}", hint="name a file in a folder that is there")

    def write(self, data: bytes) -> None:
        """Put a file with that in its place. Raises FileError."""
        try:
            self._file.write(data)
            self._file.close()
            if self._mode is not None:
                os.chmod(self._new, self._mode)
            os.replace(self._new, self._place)
        except OSError as error:
            failure = self._unwritable(error)
            failure.hint = "the answer stands; asked again, what is stored costs nothing"
            raise failure from None

    def __enter__(self) -> PlotFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
            self._new.unlink(missing_ok=True)
        except OSError:
            pass
