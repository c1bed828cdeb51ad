"""The bytes of rows, put together from their columns: no row is looked at alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpsql.wire.types.columns import Bytes, Cells, Column, cells

Sizes = npt.NDArray[np.int64]


def interleave(parts: Sequence[tuple[Bytes, Sizes]]) -> bytes:
    """Of each part its first piece, then of each its second, and so on: a part is its pieces' bytes and their sizes."""
    sizes = np.array([part[1] for part in parts])
    ends = np.cumsum(sizes.T.ravel()).reshape(-1, len(parts)).T
    out = np.empty(int(ends[-1, -1]) if ends.size else 0, dtype=np.uint8)
    for (data, of_part), end in zip(parts, ends, strict=True):
        if len(data):
            shift = end - np.cumsum(of_part)  # how far behind its place in `data` each piece stands
            out[np.arange(len(data)) + np.repeat(shift, of_part)] = data
    return out.tobytes()


def fixed(values: npt.ArrayLike, form: str) -> tuple[Bytes, Sizes]:
    """Integers of one size as a part."""
    packed = np.asarray(values).astype(form)
    return packed.view(np.uint8), np.full(len(packed), packed.itemsize, dtype=np.int64)


def constant(data: bytes, rows: int) -> tuple[Bytes, Sizes]:
    """The same bytes in each row."""
    return np.tile(np.frombuffer(data, dtype=np.uint8), rows), np.full(rows, len(data), dtype=np.int64)


def with_lengths(found: Sequence[Cells]) -> tuple[list[tuple[Bytes, Sizes]], Sizes]:
    """The parts of rows whose values each stand behind their length (-1: NULL), and the sizes of the rows."""
    parts: list[tuple[Bytes, Sizes]] = []
    total = np.zeros(len(found[0].sizes) if found else 0, dtype=np.int64)
    for column in found:
        parts.append(fixed(np.where(column.null, -1, column.sizes), ">i4"))
        parts.append((column.data, column.sizes))
        total += column.sizes + 4
    return parts, total


def data_rows(columns: Sequence[Column], formats: Sequence[int], rows: int) -> bytes:
    """DataRow messages: of each column the values in its format."""
    if not rows:
        return b""
    parts, sizes = with_lengths([cells(c, f) for c, f in zip(columns, formats, strict=True)])
    sizes = sizes if columns else np.zeros(rows, dtype=np.int64)
    head = [constant(b"D", rows), fixed(sizes + 6, ">i4"), fixed(np.full(rows, len(columns)), ">i2")]
    return interleave([*head, *parts])
