"""Line ends of CSV files: CRLF, LF and CR in one file become LF, in a copy. DuckDB refuses a mixture.

Only line ends between quoted cells count: those within quotes belong to the cell. So a file means the same whether it
was copied or not, and no row is read differently because another one ends differently.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_CHUNK = 1 << 20
_LINE_END = re.compile(rb"\r\n?")


def with_one_line_end(file: Path, directory: Path) -> Path:
    """The file itself where its lines all end alike, else a copy in `directory` with LF. Raises OSError."""
    if not _is_mixed(file):
        return file
    with file.open("rb") as source, tempfile.NamedTemporaryFile("wb", dir=directory, suffix=".csv", delete=False) as to:
        to.writelines(_unified(_chunks(source)))
    return Path(to.name)


def has_open_quote(file: Path) -> bool:
    """Whether a quote is opened and never closed: the cell would swallow every row behind it. Raises OSError."""
    with file.open("rb") as source:
        return sum(chunk.count(b'"') for chunk in _chunks(source)) % 2 == 1


def _is_mixed(file: Path) -> bool:
    """Whether more than one kind of line end is in the file, be it within quotes."""
    both = returns = feeds = 0
    with file.open("rb") as source:
        for chunk in _chunks(source):
            both, returns, feeds = both + chunk.count(b"\r\n"), returns + chunk.count(b"\r"), feeds + chunk.count(b"\n")
    return sum(kind > 0 for kind in (both, returns - both, feeds - both)) > 1


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    """The file in pieces, none of which ends between CR and LF."""
    while chunk := source.read(_CHUNK):
        while chunk.endswith(b"\r") and (more := source.read(1)):
            chunk += more
        yield chunk


def _unified(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """A quote within quotes is written twice, so each quote opens or closes."""
    within = False
    for chunk in chunks:
        parts = chunk.split(b'"')
        for index in range(len(parts)):
            if index:
                within = not within
            if not within:
                parts[index] = _LINE_END.sub(b"\n", parts[index])
        yield b'"'.join(parts)
