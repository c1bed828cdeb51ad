"""The rows of `COPY (query) TO STDOUT`, in PostgreSQL's text, CSV and binary formats (its documentation of COPY)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpsql.wire import codec
from dpsql.wire import messages as m
from dpsql.wire.types import oids
from dpsql.wire.types.columns import Bytes, Cells, Column, binary, escaped
from dpsql.wire.types.rows import Sizes, constant, fixed, interleave, with_lengths

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_ESCAPES = (("\\", "\\\\"), ("\b", "\\b"), ("\f", "\\f"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\v", "\\v"))


@dataclass(frozen=True, slots=True)
class Form:
    """How a copy is written. `null` None: the format's own."""

    format: Literal["text", "csv", "binary"] = "text"
    delimiter: str | None = None
    null: str | None = None
    header: bool = False
    quote: str = '"'
    escape: str | None = None
    force_quote: bool = False

    @property
    def code(self) -> int:
        """As CopyOutResponse tells it."""
        return 1 if self.format == "binary" else 0

    def head(self, columns: Sequence[Column]) -> bytes:
        """What stands before the rows: in the binary format the signature, which rides with the first row."""
        if self.format == "binary":
            return _SIGNATURE
        if not self.header:
            return b""
        names = [self._name(column.name) for column in columns]
        return codec.encode(m.CopyData((self._between.join(names) + "\n").encode("utf-8", "replace")))

    def rows(self, columns: Sequence[Column], rows: int, head: bytes = b"") -> bytes:
        """A CopyData message for each row. `head` is put into the first."""
        if not rows:
            return b""
        parts, sizes = self._binary(columns, rows) if self.code else self._text(columns, rows)
        lead = np.zeros(rows, dtype=np.int64)
        lead[0] = len(head)
        start: list[tuple[Bytes, Sizes]] = [
            constant(b"d", rows),
            fixed(sizes + lead + 4, ">i4"),
            (np.frombuffer(head, dtype=np.uint8), lead),
        ]
        return interleave([*start, *parts])

    def tail(self, head: bytes) -> bytes:
        """What stands behind them: `head` is what no row has taken."""
        return codec.encode(m.CopyData(head + _END)) if self.code else b""

    def _binary(self, columns: Sequence[Column], rows: int) -> tuple[list[tuple[Bytes, Sizes]], Sizes]:
        parts, sizes = with_lengths([binary(column) for column in columns])
        count = fixed(np.full(rows, len(columns)), ">i2")
        return [count, *parts], (sizes if columns else np.zeros(rows, dtype=np.int64)) + 2

    def _text(self, columns: Sequence[Column], rows: int) -> tuple[list[tuple[Bytes, Sizes]], Sizes]:
        parts: list[tuple[Bytes, Sizes]] = []
        sizes = np.full(rows, max(len(columns), 1), dtype=np.int64)  # of the delimiters and the end of the line
        for index, column in enumerate(columns):
            if index:
                parts.append(constant(self._between.encode(), rows))
            found = self._with_null(self._cells(column))
            parts.append((found.data, found.sizes))
            sizes += found.sizes
        return [*parts, constant(b"\n", rows)], sizes

    @property
    def _between(self) -> str:
        return self.delimiter or ("," if self.format == "csv" else "\t")

    @property
    def _null(self) -> str:
        return self.null if self.null is not None else ("" if self.format == "csv" else "\\N")

    def _cells(self, column: Column) -> Cells:
        if self.format == "text":
            extra = [] if self._between == "\t" else [(self._between, f"\\{self._between}")]
            return escaped(column, [*_ESCAPES, *extra])
        of_texts = column.oid == oids.TEXT or column.oid in oids.ELEMENTS
        if not (of_texts or self.force_quote or self._between in "-+.:0123456789 eE"):
            return escaped(column, ())
        plain = escaped(column, ())
        if self._none_is_special(plain):
            return plain
        pieces = np.split(plain.data, np.cumsum(plain.sizes)[:-1])
        return _joined([self._quoted(piece.tobytes().decode()) for piece in pieces], column)

    def _none_is_special(self, cells: Cells) -> bool:
        """Whether all stand there as they are: then no cell is looked at alone."""
        together = cells.data.tobytes()
        special = (self._between, self.quote, "\n", "\r", "\\.", self._null)
        found = any(text.encode() in together for text in special if text)
        return not (self.force_quote or found) and bool((cells.sizes[~cells.null] > 0).all())

    def _quoted(self, text: str) -> str:
        """In quotes where a reader could take it for something else."""
        special = (self._between, self.quote, "\n", "\r")
        if not self.force_quote and text != self._null and text != "\\." and not any(s in text for s in special):
            return text
        escape = self.escape or self.quote
        inner = re.sub(f"[{re.escape(self.quote)}{re.escape(escape)}]", lambda found: escape + found[0], text)
        return f"{self.quote}{inner}{self.quote}"

    def _name(self, name: str) -> str:
        return self._quoted(name) if self.format == "csv" else name

    def _with_null(self, cells: Cells) -> Cells:
        written = self._null.encode()
        if not cells.null.any() or not written:
            return cells
        null = Cells(*constant(written, int(cells.null.sum())), cells.null)
        sizes = np.where(cells.null, len(written), cells.sizes)
        data = np.empty(int(sizes.sum()), dtype=np.uint8)
        of_null = np.repeat(cells.null, sizes)
        data[of_null], data[~of_null] = null.data, cells.data
        return Cells(data, sizes, cells.null)


def _joined(texts: list[str], column: Column) -> Cells:
    """The cells of texts; NULLs have none."""
    encoded = [b"" if null else text.encode() for text, null in zip(texts, column.null.tolist(), strict=True)]
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return Cells(data, np.array([len(text) for text in encoded], dtype=np.int64), column.null)
