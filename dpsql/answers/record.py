"""A stored answer as bytes: what was asked, and the noisy integers as they were released.

The bytes are zlib of one line of JSON, and after it the sums that fit int64, little-endian, one column after the other.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np

from dpsql.aggregates.aggregate import Integers
from dpsql.answers.question import Question
from dpsql.release import NoisyRows

_FAST = 1


def encode(question: Question, noisy: NoisyRows) -> bytes:
    """The record of a released answer."""
    columns: list[bytes] = []
    head = {
        "question": question.text,
        "selected": noisy.selected,
        "sums": [{name: _described(values, columns) for name, values in parts.items()} for parts in noisy.sums],
    }
    return zlib.compress(json.dumps(head).encode() + b"\n" + b"".join(columns), _FAST)


def _described(values: Integers, columns: list[bytes]) -> int | list[int]:
    """How many integers of the columns it is; or itself, where some don't fit there."""
    if values.dtype == object:
        return [int(value) for value in values]
    columns.append(values.astype("<i8").tobytes())
    return len(values)


def decode(record: bytes) -> tuple[str, NoisyRows]:
    """The text of the question, and the answer. Raises ValueError, LookupError or zlib.error if it is none."""
    head, _, columns = zlib.decompress(record).partition(b"\n")
    facts: dict[str, Any] = json.loads(head)
    sums: list[dict[str, Integers]] = []
    start = 0
    for parts in facts["sums"]:
        found: dict[str, Integers] = {}
        for name, described in parts.items():
            if isinstance(described, list):
                found[name] = np.array(described, dtype=object)
            else:
                found[name] = np.frombuffer(columns, "<i8", described, start).astype(np.int64, copy=False)
                start += 8 * described
        sums.append(found)
    selected = facts["selected"]
    return facts["question"], NoisyRows(
        tuple(sums), None if selected is None else tuple(tuple(code) for code in selected)
    )
