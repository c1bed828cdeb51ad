"""Policies for the dialect's tests: with ε = 1e7, at which no number moves: the chance is below e^-100."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, create_engine

DIALECTS = ["duckdb", "postgres", "bigquery", "spark"]
POLICY = """\
dpsql: 1
dialect: {dialect}
privacy: {{epsilon: 1e7}}
budget:
  epsilon: 1e12
  analysts: {{poor: {{epsilon: 1}}, "*": {{epsilon: 1e11}}}}
ledger: the.ledger
answers: "{answers}"
tables:
  visits:
    source: visits.csv
    unit: row
    description: One row per visit
    columns:
      age: {{type: integer, bounds: [0, 100], description: in years}}
      city: {{type: text, keys: [Oslo, Bergen, null]}}
      cost: {{type: "decimal(10,2)", bounds: [0, 100], nullable: true}}
      weight: {{type: double, bounds: [0, 500], grain: 0.5}}
      day: {{type: date, bounds: [2024-01-01, 2024-12-31]}}
      seen: {{type: timestamp, bounds: ["2024-01-01 00:00:00", "2024-12-31 00:00:00"]}}
      smoker: {{type: boolean}}
  wards.patients:
    source: patients.csv
    unit: {{column: patient}}
    columns:
      patient: {{type: text, unique: true}}
      Name: {{type: text}}
  wards.stays:
    source: stays.csv
    unit: {{via: {{who: wards.patients.patient}}, max_rows: 5}}
    columns:
      who: {{type: text}}
      days: {{type: integer, bounds: [0, 30]}}
  codes:
    source: codes.csv
    public: true
    primary_key: code
    description: What the codes mean
    columns:
      code: {{type: integer, description: as billed}}
      order: {{type: text, nullable: true}}
"""
VISITS = """\
age,city,cost,weight,day,seen,smoker
30,Oslo,10.50,60.5,2024-01-01,2024-01-01 08:00:00,true
45,Oslo,,70,2024-01-15,2024-01-15 12:30:00,false
52,Bergen,20,80,2024-02-02,2024-02-02 08:00:00,false
61,Bergen,30,90.5,2024-03-03,2024-03-03 23:59:59,true
"""
FILES = {
    "visits.csv": VISITS,
    "patients.csv": "patient,Name\np,Ann\nq,Bob\n",
    "stays.csv": "who,days\np,3\np,4\nq,10\n",
    "codes.csv": "code,order\n1,50% off\n2,it's\n3,\n4,a\\b\n",
}


def write(folder: Path, dialect: str = "duckdb", answers: str = "off") -> Path:
    """The policy, whose answers are not stored unless asked for, and its data."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(dialect=dialect, answers=answers))
    return path


@contextmanager
def connected(path: Path, query: str = "analyst=alice", **options: object) -> Iterator[Engine]:
    """An engine of it, whose ledger is made."""
    engine = create_engine(f"dpsql:///{path}?create_ledger=true&{query}", **options)
    try:
        yield engine
    finally:
        engine.dispose()
