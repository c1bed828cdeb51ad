"""A small deployment whose noise is 0 in practice: at ε = 1e6 the chance that a count moves is below e^-1000000."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakKeyDictionary

from dpsql.policy import load
from dpsql.session import Session, open_session
from dpsql.wire.asking import Asker
from dpsql.wire.backend import Backend
from dpsql.wire.catalogue import Catalogue
from tests.wire.client import Client

POLICY = """\
dpsql: 1
dialect: {dialect}
privacy: {{epsilon: 1e6}}
budget:
  epsilon: 1e12
  analysts: {{alice: {{epsilon: 4e6, per: month}}, poor: {{epsilon: 1}}, "*": {{epsilon: 1e9}}}}
ledger: the.ledger
answers: "{answers}"
tables:
  visits:
    source: visits.csv
    unit: row
    description: one row per visit
    columns:
      age: {{type: integer, bounds: [0, 100], description: in years}}
      city: {{type: text, keys: [Oslo, Bergen]}}
      charge: {{type: "decimal(10,2)", bounds: [0, 1000], nullable: true}}
      visited: {{type: date, bounds: [2024-01-01, 2024-01-10]}}
      smoker: {{type: boolean}}
  codes:
    source: codes.csv
    public: true
"""
VISITS = """\
age,city,charge,visited,smoker
30,Oslo,10.50,2024-01-01,true
40,Oslo,,2024-01-02,false
50,Bergen,20,2024-01-02,false
60,Bergen,30,2024-01-03,true
"""
CODES = "code,name\n1,one\n2,two\n3,\n"


def write(folder: Path, dialect: str = "postgres", extra: str = "", answers: str = "off") -> Path:
    """The policy and its data in a folder; the policy's path. Unless asked for, no answer is stored."""
    (folder / "visits.csv").write_text(VISITS)
    (folder / "codes.csv").write_text(CODES)
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(dialect=dialect, answers=answers) + extra)
    return path


@contextmanager
def opened(folder: Path, dialect: str = "postgres", extra: str = "", answers: str = "off") -> Iterator[Session]:
    """A session under it."""
    session = open_session(load(write(folder, dialect, extra, answers)), create_ledger=True)
    try:
        yield session
    finally:
        session.close()


_CATALOGUES: WeakKeyDictionary[Session, Catalogue] = WeakKeyDictionary()
"""One for a session, as a server has it."""


def connect(session: Session, analyst: str = "bob", catalogue: Catalogue | None = None, **parameters: str) -> Client:
    """A client of a backend, logged in."""
    if catalogue is None:
        catalogue = _CATALOGUES.get(session) or _CATALOGUES.setdefault(session, Catalogue(session))
    return Client(Backend(Asker(session, catalogue, analyst, "clinic"), {"user": analyst, **parameters}))


def charges(session: Session, analyst: str | None = None) -> int:
    """How many charges there are."""
    return len(list(session.ledger.charges(analyst)))
