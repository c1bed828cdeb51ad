"""Data for the policies: values inside the declared bounds and keys, so that a right answer is DuckDB's own.

`python -m tests.corpus.data DIRECTORY` writes the policies there, each with its tables as Parquet files. The same in
every run. A column takes what its declaration allows: its keys, values inside its bounds, NULLs only where they may
occur; what has neither keys nor bounds is a serial number or one of a few words.
"""

from __future__ import annotations

import csv
import datetime as dt
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib import resources
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from dpsql.policy import Column, Kind, Policy, Table, load

POLICIES = Path(__file__).parent / "policies"
NAMES = tuple(sorted(path.stem for path in POLICIES.glob("*.yaml")))

ROWS = {
    "extract.census": 8000,
    "large_user_table": 6000,
    "library.loans": 5000,
    "orders": 8000,
    "retail_transactions": 6000,
    "table_1": 3000,
    "user_table": 4000,
}
"""Where queries sum over groups, so many that none is empty: a sum over declared groups counts empty ones as 0."""
USUAL_ROWS = 600
NULLS = 0.1
"""The share of NULLs where they may occur."""

WORDS = ("almond", "Bamboo", "cabin", "Dabble", "elm", "Barley", "fir", "grab bag")
TYPES = {
    Kind.INTEGER: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}
PUBLIC: Mapping[str, Mapping[str, list[Any]]] = {
    "branches": {"branch": ["north", "south", "harbour"], "seats": [40, 25, 60]},
    "products": {
        "product_id": [1, 2, 3, 4, 5, 6],
        "name": ["pen", "cup", "hat", "bag", "map", "pen"],
        "price": [1.5, 4.0, 12.25, 30.0, 7.75, 2.5],
    },
    "retail_products": {
        "product_id": [11, 12, 13, 14, 15],
        "brand": ["National", "Private", "National", "Private", "National"],
        "department": ["GROCERY", "GROCERY", "DRUG", "PRODUCE", "DRUG"],
        "product_category": ["TEA", "RICE", "SOAP", "APPLES", "SOAP"],
    },
    "simpletypes": {
        "int32": [1, 2, 2, 5],
        "int64": [3, 4, 4, 9],
        "double": [0.5, 1.5, 2.5, 3.5],
        "string": ["abc", "abd", "abc", "xyz"],
        "bool": [True, False, True, True],
    },
    "testtablewithoutuid": {"int64_val": [0, 2, 5], "double_val": [0.5, 2.5, 5.5]},
    "primary_public_table": {"id": [1, 2, 3], "integer": [10, 20, 30], "text": ["one", "two", "three"]},
    "secondary_public_table": {"id": [2, 3, 4], "integer": [5, 6, 7]},
}


def write(directory: Path, name: str) -> Policy:
    """Write one policy and the data of its tables into the directory, and load it."""
    path = directory / f"{name}.yaml"
    text = (POLICIES / path.name).read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    (directory / name).mkdir(parents=True, exist_ok=True)
    for table in yaml.safe_load(text)["tables"].values():
        (directory / table["source"]).touch()
    policy = load(path)
    for table in policy.tables.values():
        pq.write_table(_contents(table), table.source.location)
    return policy


def _contents(table: Table) -> pa.Table:
    name = table.name.lower()
    if table.public:
        return pa.table(dict(PUBLIC[name]))
    random = Random(name)
    if name.startswith("pums."):
        values = _people(random, table)
    else:
        rows = ROWS.get(name, USUAL_ROWS)
        values = {c.name: [_value(random, c, row) for row in range(rows)] for c in table.columns.values()}
    return pa.table({c.name: pa.array(values[c.name], TYPES[c.type.kind]) for c in table.columns.values()})


def _people(random: Random, table: Table) -> dict[str, list[Any]]:
    """The demo's 1000 people with a serial number; where a column may be NULL, some cells are."""
    text = resources.files("dpsql.demo").joinpath("PUMS.csv").read_text(encoding="utf-8")
    people = list(csv.DictReader(text.splitlines()))
    values: dict[str, list[Any]] = {"pid": list(range(1, len(people) + 1))}  # its serial number, where it is declared
    for name in people[0]:
        column = table.columns[name]
        kind: Callable[[str], Any] = _truth if column.type.kind is Kind.BOOLEAN else _whole
        values[name] = [
            None if column.nullable and random.random() < NULLS else kind(person[name] or "0") for person in people
        ]
    return values


def _truth(cell: str) -> bool:
    return cell == "1"


def _whole(cell: str) -> int:
    return int(float(cell))


def _value(random: Random, column: Column, row: int) -> Any:
    kind = column.type.kind
    if column.keys_from is not None:
        return random.choice(PUBLIC[column.keys_from[0]][column.keys_from[1]])
    if column.keys is not None:
        return random.choice(column.keys)
    if column.nullable and random.random() < NULLS:
        return None
    if kind is Kind.BOOLEAN:
        return random.random() < 0.5
    if kind is Kind.TEXT:
        return random.choice(WORDS)
    if column.bounds is None:
        return dt.date(2020, 1, 1) + dt.timedelta(days=row) if kind is Kind.DATE else row + 1
    lower, upper = column.bounds
    if isinstance(lower, dt.datetime) and isinstance(upper, dt.datetime):
        return lower + random.randrange(int((upper - lower).total_seconds()) + 1) * dt.timedelta(seconds=1)
    if isinstance(lower, dt.date) and isinstance(upper, dt.date):
        return lower + random.randrange((upper - lower).days + 1) * dt.timedelta(days=1)
    assert isinstance(lower, Fraction) and isinstance(upper, Fraction)
    if kind is Kind.INTEGER:
        return random.randint(int(lower), int(upper))
    return round(random.uniform(float(lower), float(upper)), 2)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for each in NAMES:
        print(f"wrote {write(target, each).path}")
