"""Where answers go: standard output or a file, found to be writable before anything is charged."""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
from pathlib import Path
from types import TracebackType
from typing import TextIO

from dpsql.cli.errors import Usage
from dpsql.table import SPELLED, Style


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Write what the terminal's encoding lacks in other words."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    spelled = (SPELLED.get(c) or c.encode("unicode_escape", "surrogatepass").decode() for c in text)
    return "".join(spelled), error.end


codecs.register_error("dpsql", _spell)


def prepare_streams() -> None:
    """Let no character stop the program: what the encoding lacks is spelled out."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="dpsql")


def silence_stdout() -> None:
    """After a failed write: what is still buffered goes nowhere, so that the interpreter can end in peace."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError, AttributeError):
        pass


def say(text: str) -> None:
    """Write to standard error, if there is one."""
    if sys.stderr is not None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass


def _write_all(stream: TextIO, text: str) -> None:
    """Write all of it or raise OSError. Where standard output has no buffer (PYTHONUNBUFFERED), a write to a pipe whose
    reader goes away tells how much it wrote, and nothing more.
    """
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        stream.write(text)
        stream.flush()
        return
    stream.flush()
    data = memoryview(text.encode(stream.encoding, stream.errors or "strict"))
    while data:
        data = data[raw.write(data) or 0 :]


def terminal_style(stream: TextIO) -> Style:
    """Lines of boxes on a terminal that has the characters, else plain ones."""
    encoding = (stream.encoding or "").lower().replace("-", "")
    if not encoding.startswith("utf"):
        return "spelled"
    return "box" if stream.isatty() else "ascii"


class Output:
    """The place that -o names, or standard output. A context manager.

    The file is opened for writing when this is made, and left as it was unless `write` is called: a query
    that is refused costs nobody an old answer.
    """

    def __init__(self, path: str | None) -> None:
        self._path = None if path in (None, "-") else Path(str(path))
        self._created = False
        self._written = False
        self._file: TextIO = self._stdout() if self._path is None else self._open(self._path)

    @staticmethod
    def _stdout() -> TextIO:
        if sys.stdout is None:
            raise Usage("standard output is closed", "write -o FILE")
        return sys.stdout

    def _open(self, path: Path) -> TextIO:
        try:
            self._created = not path.exists()
            return open(path, "a", encoding="utf-8", errors="dpsql", newline="")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a path"
            raise Usage(f"{path} can't be written: {reason}", "name a file with -o that can be written") from None

    @property
    def is_stdout(self) -> bool:
        """Whether it is standard output."""
        return self._path is None

    @property
    def style(self) -> Style:
        """How tables look there."""
        return terminal_style(self._file)

    def write(self, text: str) -> None:
        """Write the whole answer; in a file, in the place of what was there.

        Where the file can't take it after all, standard output gets it: it was paid for.
        """
        self._written = True
        try:
            if self._path is not None and stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                self._file.truncate(0)
            _write_all(self._file, text)
        except OSError as error:
            if self._path is None or sys.stdout is None:
                raise
            sys.stdout.write(text)
            raise Usage(
                f"{self._path} could not be written: {error.strerror}", "the answer is on standard output"
            ) from None

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is None:
            return
        try:
            self._file.close()
            if self._created and not self._written:
                self._path.unlink()
        except OSError:
            pass
