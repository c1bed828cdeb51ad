"""What is to be reached, and what was measured of others before: root mean squared errors at ε 1 for the whole query.

RECORDED has the targets, which are those of `mechanism: auto`, and what was measured of the others once, each on 400
releases or more, on the same data with the same bounds; of which version is not known. `measured.csv` has what this
benchmark measured of them itself, written with `--record`. diffprivlib takes the number of rows to be public and
replaces a row, a weaker promise; Qrlew is (ε, δ)-differentially private with δ = 1e-6.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tests.benchmarks.accuracy.data import INC10K, PUMS

RELATIVE_ERROR = 0.056
"""Of a recorded figure: that of the root mean square of 400 draws of Laplace noise, sqrt(5 / 1600)."""
WEAKER = {"diffprivlib": "*", "Qrlew": "†"}
"""Those whose promise is another one, and what marks them."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one number of a query: the target, and the errors of others by their names.

    least  where the record's own formula of cube noise, sd √((d + 1)(d + 2) / 3) / ε, gives more than the target, which
           was measured on 400 draws and lies below by less than their standard error: what it gives
    """

    target: float
    peers: Mapping[str, float]
    least: float = 0.0

    @property
    def goal(self) -> float:
        """What the error is held to."""
        return max(self.target, self.least)


Table = Mapping[str, tuple[Figures, ...]]
"""The figures of the numbers of each query."""
INC10K_PEERS = ("SmartNoise", "OpenDP", "Google", "PipelineDP", "diffprivlib", "Qrlew")
PUMS_PEERS = ("SmartNoise", "OpenDP", "Google", "PipelineDP", "Tumult", "diffprivlib", "Qrlew")
PEERS = {INC10K.name: INC10K_PEERS, PUMS.name: PUMS_PEERS}


def _of(names: tuple[str, ...], target: float, errors: Iterable[float | None], least: float) -> Figures:
    peers = {name: error for name, error in zip(names, errors, strict=True) if error is not None}
    return Figures(target, peers, least)


def _inc10k(target: float, *errors: float | None, least: float = 0.0) -> Figures:
    return _of(INC10K_PEERS, target, errors, least)


def _pums(target: float, *errors: float | None, least: float = 0.0) -> Figures:
    return _of(PUMS_PEERS, target, errors, least)


RECORDED: Mapping[str, Table] = {
    PUMS.name: {
        "AVG(income)": (_pums(662, 1400, 1320, 903, 1010, 972, 816, 5460),),
        "AVG(age)": (_pums(0.099, 0.311, 0.305, 0.138, 0.140, 0.149, 0.132, 1.16),),
        "VARIANCE(age)": (_pums(4.4, 58.2, None, 28.7, 21.9, 31.4, 22.9, 1990),),
        "MEDIAN(income)": (_pums(133, None, 272, 669, 1110, 131, 293, None),),
        "COUNT(*), AVG(income), AVG(age)": (
            _pums(2.6, 7.3, 8.1, 5.4, None, None, None, 23),
            _pums(865, 3630, 4410, 3600, None, None, None, 16800),
            _pums(0.126, 0.82, 0.90, 0.55, None, None, None, 4.1, least=0.1298),
        ),
    },
    INC10K.name: {
        "COUNT(*)": (_inc10k(1.34, 1.54, 1.32, 1.39, 1.30, None, 4.02),),
        "SUM(income)": (_inc10k(2.86e5, 2.63e5, 3.03e5, 3.02e5, 3.00e5, 2.95e5, 1.07e6),),
        "AVG(income)": (_inc10k(22.2, 52.4, 58.2, 32.6, 29.3, 30.0, 230),),
        "AVG(age)": (_inc10k(0.0123, 0.0351, 0.0343, 0.0178, 0.0187, 0.0174, 0.135),),
        "VARIANCE(age)": (_inc10k(0.777, 6.94, None, 3.85, 3.25, 3.38, 2010),),
        "MEDIAN(income)": (_inc10k(7.8, None, 7.15, 41.5, 331, 17.8, None),),
        "COUNT(*), SUM(income), AVG(income), AVG(age)": (
            _inc10k(2.5, 7.50, 8.16, 5.86, None, None, 23.0, least=2.582),
            _inc10k(3.6e5, 1.41e6, 1.63e6, 1.02e6, None, None, 6.93e6),
            _inc10k(29, 145, 176, 135, None, None, 700),
            _inc10k(0.0154, 0.0886, 0.118, 0.0682, None, None, 0.418, least=0.0159),
        ),
    },
}
"""By data set and query. OpenDP's MEDIAN(income) of inc10k is that over a fine grid of candidates (83.6 over a coarse
one)."""


MEASURED = Path(__file__).with_name("measured.csv")


@dataclass(frozen=True, slots=True)
class Line:
    """Of `measured.csv`: the error of one number of a query by one of the others, and how it was answered."""

    data: str
    query: str
    number: str
    peer: str
    versions: str
    how: str
    error: float
    deviation: float
    answers: int


def measured() -> list[Line]:
    """What was measured of the others by this benchmark."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        return [
            Line(**{f.name: _READ.get(f.type, str)(row[f.name]) for f in fields(Line)}) for row in csv.DictReader(file)
        ]


_READ: Mapping[object, Callable[[str], object]] = {"float": float, "int": int}


def write(lines: Iterable[Line]) -> None:
    """Keep what was measured, in the place of what was before."""
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Line)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, lines))


def names_of(query: str) -> list[str]:
    """The numbers of a query, as they are written."""
    return query.split(", ")
