"""Charges as CSV and JSON, for the owner's reports. Amounts are exact decimal text, times ISO 8601, UTC."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import TextIO

from dpsql.ledger.record import Charge
from dpsql.privacy.loss import DELTA_PLACES, decimal_text

FIELDS = ("number", "time", "analyst", "epsilon", "delta", "query", "version", "hash")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def charges_csv(charges: Iterable[Charge], file: TextIO) -> None:
    """Write charges as CSV with a header line.

    The SQL text is the analyst's and the reader may be a spreadsheet: text that it would take for a formula
    gets an apostrophe in front.
    """
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(FIELDS)
    for charge in charges:
        cells = map(str, _values(charge))
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])


def charges_json(charges: Iterable[Charge], file: TextIO) -> None:
    """Write charges as a JSON array of objects; epsilon and delta are strings, which no reader rounds."""
    file.write("[")
    for index, charge in enumerate(charges):
        file.write(",\n " if index else "\n ")
        file.write(json.dumps(dict(zip(FIELDS, _values(charge), strict=True)), ensure_ascii=False))
    file.write("\n]\n")


def _values(charge: Charge) -> tuple[int | str, ...]:
    return (
        charge.number,
        charge.time.isoformat(),
        charge.analyst,
        decimal_text(charge.loss.epsilon),
        decimal_text(charge.loss.delta, DELTA_PLACES),
        charge.query,
        charge.version,
        charge.hash,
    )
