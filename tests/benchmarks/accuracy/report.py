"""The tables, and what is missed in them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from dpsql.errors import Error
from tests.benchmarks import noise
from tests.benchmarks.accuracy import coverage, data, law, measure, peers, recorded
from tests.benchmarks.accuracy.data import DataSet
from tests.benchmarks.accuracy.measure import Measured, shown
from tests.benchmarks.accuracy.recorded import PEERS, RECORDED, RELATIVE_ERROR, WEAKER, Figures, Line, names_of
from tests.readme import table

EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1))
TARGET_SLACK, PEER_SLACK, DEVIATIONS = 0.02, 0.03, 3
"""How far an error may be above its target, and above that of the best of the others, beside its standard errors."""
NOT_YET = "not supported yet"


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured: releases of fetched sums, statements, and answers of each of the others, if any."""

    releases: int = 20_000
    statements: int = 400
    mechanisms: tuple[str, ...] = data.MECHANISMS
    others: tuple[peers.Peer, ...] = ()
    peer_answers: int = 2_000
    cache: Path = peers.CACHE


Answers = dict[str, list[peers.Answered]]
"""What one of the others answers to each query, in each of its ways."""


@dataclass
class Report:
    """Measures, prints tables as they are made, and keeps what is missed. Its files are in `folder`."""

    options: Options
    folder: Path
    missed: list[str] = field(default_factory=list)
    _answers: dict[tuple[str, Fraction], dict[str, Answers]] = field(default_factory=dict)
    _numbers: dict[tuple[str, ...], measure.Numbers] = field(default_factory=dict)

    def print(self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        print(f"{title}\n\n{table(header, rows)}", flush=True)

    def source(self, each: DataSet) -> Path:
        path = self.folder / f"{each.name}.csv"
        return path if path.exists() else each.write(path)

    def numbers(self, each: DataSet, mechanism: str, query: str, fetched: measure.Fetched) -> measure.Numbers:
        """Of releases of fetched sums, made once. What is chosen, and not computed from sums, hasn't the noise that the
        policy's mechanism says.
        """
        chosen = any(basis.candidates is not None for basis in fetched.plan.bases)
        key = (each.name, "" if chosen else mechanism, query, str(fetched.plan.epsilon))
        if key not in self._numbers:
            self._numbers[key] = fetched.numbers(self.options.releases)
        return self._numbers[key]

    @cached_property
    def pythons(self) -> dict[peers.Peer, Path]:
        """The environments of the others that are to be measured; of those that can't be, why not is printed."""
        found = {}
        for peer in self.options.others:
            try:
                found[peer] = peers.environment(peer, self.options.cache)
            except peers.NotThere as reason:
                print(f"{peer.name} isn't measured: {reason}\n", flush=True)
        return found

    def answers(self, each: DataSet, epsilon: Fraction) -> dict[str, Answers]:
        """Of the others, by their names."""
        key = (each.name, epsilon)
        if key not in self._answers:
            self._answers[key] = found = {}
            for peer, python in self.pythons.items():
                queries, number = list(RECORDED[each.name]), self.options.peer_answers
                try:
                    found[peer.name] = dict(
                        peers.answers(peer, python, each, self.source(each), float(epsilon), queries, number)
                    )
                except peers.NotThere as reason:
                    print(f"{peer.name} failed: {reason}\n", flush=True)
        return self._answers[key]


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a query with one mechanism: errors of fetched sums that are released, and of statements (none
    where the query is refused); by the law of the noise, where that is known."""

    released: tuple[Measured, ...] = ()
    stated: tuple[Measured, ...] = ()
    law: tuple[float, ...] = ()


def measured(report: Report, each: DataSet, mechanism: str, epsilon: Fraction, *, fully: bool) -> dict[str, Found]:
    """Of each query of the record; without statements and laws unless `fully`."""
    found = {}
    options, source = report.options, report.source(each)
    with data.opened(each, source, mechanism) as session:
        for query in RECORDED[each.name]:
            sql = f"SELECT {query} FROM people"
            try:
                fetched = measure.fetched(session, sql, epsilon)
            except Error:
                found[query] = Found()
                continue
            exact = data.exact(source, query)

            def errors(numbers: measure.Numbers, exact: tuple[float, ...] = exact) -> tuple[Measured, ...]:
                return tuple(measure.measured(column, right) for column, right in zip(numbers.T, exact, strict=True))

            released = errors(report.numbers(each, mechanism, query, fetched))
            if not fully:
                found[query] = Found(released)
                continue
            stated = errors(measure.asked(session, sql, epsilon, options.statements))
            found[query] = Found(released, stated, tuple(law.errors(fetched)))
    return found


def _labels(query: str) -> list[str]:
    """What the rows of a query's numbers are called."""
    first, *others = names_of(query)
    return [f"one query: {first}", *(f"and its {name}" for name in others)] if others else [first]


def _above(found: Measured, goal: float, slack: float, other: float = 0.0) -> bool:
    """Whether an error is above its goal by more than the slack and the standard errors of both."""
    return found.error > goal * (1 + slack) + DEVIATIONS * math.hypot(found.deviation, other)


# ---------------------------------------------------------------------------------------------- tables


def tables(report: Report) -> None:
    """At ε 1, of each data set: every number's error with each mechanism, beside its target and the others."""
    mechanisms, peer_names = report.options.mechanisms, [peer.name for peer in report.pythons]
    for each in data.DATA_SETS:
        found = {m: measured(report, each, m, Fraction(1), fully=True) for m in mechanisms}
        answers = report.answers(each, Fraction(1))
        rows, now, below = [], [], []
        for query, figures in RECORDED[each.name].items():
            for index, (label, figure) in enumerate(zip(_labels(query), figures, strict=True)):
                own = [cell for m in mechanisms for cell in _cells(found[m][query], index)]
                others = [shown(figure.peers[p]) if p in figure.peers else "–" for p in PEERS[each.name]]
                rows.append([label, *own, shown(figure.target), *others])
                released = [_cells(found[m][query], index)[1] for m in mechanisms]
                bests = (_best(answers.get(name, {}).get(query, []), index) for name in peer_names)
                now.append([label, *released, *map(_with_deviation, bests)])
                if "auto" in found:
                    _hold(report, f"{label} of {each.name}", figure, found["auto"][query], index)
                if figure.least:
                    below.append(f"{label} ({shown(figure.target)}, by the formula {shown(figure.least)})")
        ways = [f"`{m}`, {way}" for m in mechanisms for way in ("by law", "releases", "statements")]
        marked = [f"{p}{WEAKER.get(p, '')}" for p in PEERS[each.name]]
        made = [cell.draws for m in mechanisms for query in found[m].values() for cell in query.released]
        fewest = min(made, default=report.options.releases)
        amount = f"{report.options.releases:,} releases of fetched sums, {report.options.statements:,} statements"
        if fewest < report.options.releases:
            amount = f"{amount}, {fewest:,} releases of what takes longer than {measure.SECONDS} s"
        title = f"Root mean squared error at ε 1, {each.name}: {amount}; the others as recorded"
        report.print(title, [each.name, *ways, "target of `auto`", *marked], rows)
        if below:
            print(f"Below what the formula of cube noise gives, to which they are held: {'; '.join(below)}\n")
        if peer_names:
            names = [f"{name}{WEAKER.get(name, '')}" for name in peer_names]
            own = [f"dpsql, `{m}`" for m in mechanisms]
            report.print(f"The same, the others as measured now, {each.name}", [each.name, *own, *names], now)
        for name, by_query in answers.items():
            hows = (f"{query} by {_best_way(ways, 0).how}" for query, ways in by_query.items())
            print(f"* {name}: {'; '.join(hows)}")
        print("\n\\* n is public and a row is replaced: a weaker promise. † (ε, δ) with δ = 1e-6\n")


def record(report: Report) -> None:
    """Keep what was measured of the others at ε 1; of those that weren't, what was measured before."""
    now = {peer.name for peer in report.pythons}
    lines = [line for line in recorded.measured() if line.peer not in now]
    for each in data.DATA_SETS:
        for peer in report.pythons:
            for query, ways in report.answers(each, Fraction(1)).get(peer.name, {}).items():
                for index, number in enumerate(names_of(query)):
                    way = _best_way(ways, index)
                    found, versions = way.errors[index], " ".join(peer.requirements)
                    error, deviation = float(f"{found.error:.4g}"), float(f"{found.deviation:.2g}")
                    lines.append(
                        Line(each.name, query, number, peer.name, versions, way.how, error, deviation, found.draws)
                    )
    recorded.write(lines)


def _cells(found: Found, index: int) -> tuple[str, str, str]:
    """Of a number: by the law of the noise, of releases, of statements."""
    if not found.released:
        return NOT_YET, NOT_YET, NOT_YET
    by_law = shown(found.law[index]) if found.law else "–"
    return by_law, str(found.released[index]), str(found.stated[index]) if found.stated else "–"


def _best_way(ways: Sequence[peers.Answered], index: int) -> peers.Answered:
    return min(ways, key=lambda way: way.errors[index].error)


def _best(ways: Sequence[peers.Answered], index: int) -> Measured | None:
    """The least error of a number in any of the ways."""
    return _best_way(ways, index).errors[index] if ways else None


def _with_deviation(found: Measured | None) -> str:
    return "–" if found is None else f"{found} ± {shown(found.deviation, 2)}"


def _hold(report: Report, what: str, figure: Figures, found: Found, index: int) -> None:
    """Note where a number's error is above its target: by the law, of releases, of statements."""
    if not found.released:
        report.missed.append(f"{what}: {NOT_YET}")
        return
    goal = figure.goal
    for way, errors in (("releases", found.released), ("statements", found.stated)):
        if _above(errors[index], goal, TARGET_SLACK):
            report.missed.append(f"{what}: {errors[index]} in {errors[index].draws} {way}, target {shown(goal)}")
    if found.law and found.law[index] > goal * (1 + TARGET_SLACK):
        report.missed.append(f"{what}: {shown(found.law[index])} by the law of the noise, target {shown(goal)}")


# ---------------------------------------------------------------------------------------------- epsilons


def epsilons(report: Report) -> None:
    """At ε up to 1: whether dpsql is worse than the best of the others; those of the record are known at ε 1 alone."""
    for each in data.DATA_SETS:
        for epsilon in EPSILONS:
            found = {m: measured(report, each, m, epsilon, fully=False) for m in report.options.mechanisms}
            answers = report.answers(each, epsilon)
            rows = []
            for query, figures in RECORDED[each.name].items():
                for index, (label, figure) in enumerate(zip(_labels(query), figures, strict=True)):
                    others = dict(_others(figure, answers, query, index, with_record=epsilon == 1))
                    name = min(others, key=lambda name: others[name].error, default=None)
                    cells = [_cells(found[m][query], index)[1] for m in report.options.mechanisms]
                    if name is None:
                        rows.append([label, *cells, "–", "nobody to compare with"])
                        continue
                    best, verdicts = others[name], []
                    for mechanism in report.options.mechanisms:
                        released = found[mechanism][query].released
                        if not released:
                            verdicts.append(f"`{mechanism}` {NOT_YET}")
                            continue
                        worse = _above(released[index], best.error, PEER_SLACK, best.deviation)
                        ratio = released[index].error / best.error
                        verdicts.append(f"`{mechanism}` {'worse' if worse else 'not worse'}: {ratio:.2f}")
                        if worse and mechanism == "auto":
                            report.missed.append(
                                f"{label} of {each.name} at ε {float(epsilon):g}: {released[index]}, {name} has {best}"
                            )
                    rows.append([label, *cells, f"{name} {_with_deviation(best)}", ", ".join(verdicts)])
            header = ["", *(f"dpsql, `{m}`" for m in report.options.mechanisms), "best of the others", "dpsql is"]
            report.print(f"Against the best of the others at ε {float(epsilon):g}, {each.name}", header, rows)


def _others(
    figure: Figures, answers: Mapping[str, Answers], query: str, index: int, *, with_record: bool
) -> Iterator[tuple[str, Measured]]:
    """The errors of the others: as measured now, and of those that weren't as recorded."""
    for name, by_query in answers.items():
        if (best := _best(by_query.get(query, []), index)) is not None:
            yield f"{name}{WEAKER.get(name, '')}", best
    if with_record:
        for name, error in figure.peers.items():
            if name not in answers:
                yield f"{name}{WEAKER.get(name, '')} (recorded)", Measured(error, RELATIVE_ERROR * error, 400)


# ---------------------------------------------------------------------------------------------- intervals, sampler


def intervals(report: Report) -> None:
    """How often intervals hold the exact number."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    columns: dict[str, None] = {}
    for found in coverage.coverage(report.options.releases, report.options.mechanisms):
        column = f"{found.rows:,} rows, ε {float(found.epsilon):g}"
        columns[column] = None
        label = found.number if found.number == found.query else f"{found.number} beside others"
        rows.setdefault((f"{label}, {found.data}", found.mechanism), {})[column] = f"{found.share:.3f}"
        if found.is_missed:
            wrong = f"below {coverage.LEAST}" if found.share < coverage.LEAST else f"above {coverage.MOST}: too wide"
            report.missed.append(f"coverage of {found}, {wrong}")
    filled = [[label, f"`{m}`", *(cells.get(c, "") for c in columns)] for (label, m), cells in rows.items()]
    report.print("The share of 95 % intervals that hold the exact number", ["", "mechanism", *columns], filled)


def sampler(report: Report) -> None:
    """The time of cube noise."""
    rows = []
    for what, seconds, target in noise.cubes((3,)):
        rows.append([what, f"{seconds:.3f} s", f"{target:g} s"])
        if seconds > target:
            report.missed.append(f"{what}: {seconds:.2f} s, target {target:g} s")
    report.print("CPU time of noise", ["", "measured", "at most"], rows)


SECTIONS = {"tables": tables, "epsilons": epsilons, "coverage": intervals, "sampler": sampler}
