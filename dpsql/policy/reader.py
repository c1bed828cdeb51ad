"""From a file to a Policy: the text, the version, privacy and budget; the tables are next door."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping as Environment
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

from dpsql.policy import sources
from dpsql.policy.document import Mapping, Node, Scalar, compose
from dpsql.policy.model import Budget, Limit, MechanismChoice, Period, Policy, PrivacySettings, StoredAnswers, Table
from dpsql.policy.problems import Problems, quoted
from dpsql.policy.section import Section, found, section_of
from dpsql.policy.server import read_server
from dpsql.policy.tables import read_tables

MAX_BYTES = 1_048_576
VERSION = 1
LEDGER_STEP = Fraction(1, 10**9)
"""The ledger's unit of epsilon: a smaller charge can't be written down."""
PERIODS = ("day", "week", "month")
MECHANISMS = ("laplace", "auto")
ANSWERS = ("per_analyst", "shared", "off")
_EXAMPLE = "config/template.yaml shows every key"


def read_policy(path: str, environ: Environment[str, str], problems: Problems) -> Policy | None:
    """The policy in the file. Where `problems` has any: what can be read of it, if that much that its tables can be
    compared with the data, else None.
    """
    text = _read_text(path, problems)
    if text is None:
        return None
    location = os.path.abspath(path)
    root, used = compose(text, environ, problems)
    if root is None or not isinstance(root, Mapping):
        if not len(problems):
            _refuse_root(root, problems)
        return None
    policy = _read_top(Section(root, 1, "the policy", "the policy", problems), location, problems)
    if policy is None:
        return None
    return replace(policy, shown=path, text=text, fingerprint=_fingerprint(location, text, used))


def _refuse_root(root: Node | None, problems: Problems) -> None:
    if root is None or (isinstance(root, Scalar) and root.value is None):
        problems.add(1, "the policy is empty", f"begin with dpsql: {VERSION}; {_EXAMPLE}")
    else:
        problems.add(
            root.line,
            f"a policy is a mapping, found {found(root)}",
            f"begin with dpsql: {VERSION}; {_EXAMPLE}",
        )


def _read_text(path: str, problems: Problems) -> str | None:
    """The file as text; with every way in which it is none."""
    try:
        if os.path.isdir(path):
            problems.add(0, "this is a directory", "give the path of a policy, a .yaml file")
            return None
        if os.path.exists(path) and not os.path.isfile(path):
            problems.add(0, "this is not a regular file", "give the path of a policy, a .yaml file")
            return None
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        problems.add(0, "the policy does not exist", "give the path of a policy, a .yaml file")
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        problems.add(0, f"the policy can't be read: {reason}", "check the path and its permissions")
        return None
    return _decode(data, problems)


def _decode(data: bytes, problems: Problems) -> str | None:
    if len(data) > MAX_BYTES:
        problems.add(0, f"the policy is longer than {MAX_BYTES} bytes", "take long lists of keys from a public table")
        return None
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        problems.add(1, "the policy begins with a byte order mark", "save it as UTF-8 without BOM")
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.add(line, f"the byte 0x{data[error.start]:02x} is not UTF-8", "save the policy as UTF-8")
        return None


def _fingerprint(path: str, text: str, used: dict[str, str]) -> str:
    parts = [path, text, *(part for name in sorted(used) for part in (name, used[name]))]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _read_top(top: Section, path: str, problems: Problems) -> Policy | None:
    base = os.path.dirname(path)
    _check_version(top)
    engine = sources.read_engine(top, base)
    dialect = top.choice("dialect", sources.DIALECTS) if "dialect" in top else "duckdb"
    privacy, counts, error_columns = _read_privacy(top)
    budget = _read_budget(top, problems)
    tables = read_tables(top, base, engine, problems)
    ledger = sources.read_ledger(top, base, _files(path, engine, tables))
    answers = top.choice("answers", ANSWERS) or "per_analyst"
    data_version = top.text("data_version", '"2026-11"')
    server = read_server(top, base, problems)
    if engine is None:
        return None
    return Policy(
        path=Path(path),
        engine=engine,
        dialect=dialect or "duckdb",
        privacy=privacy,
        budget=budget,
        ledger=Path(ledger or os.devnull),
        tables=tables,
        counts="raw" if counts == "raw" else "clamp",
        error_columns=error_columns,
        answers=cast(StoredAnswers, answers),
        data_version=data_version,
        server=server,
    )


def _files(path: str, engine: str | None, tables: dict[str, Table]) -> dict[str, str]:
    """The files that are in use already, and as what."""
    used = {table.source.location: f"the source of {table.name}" for table in tables.values()}
    used[sources.database_file(engine or "") or ""] = "the file of the engine"
    return {**used, path: "the policy itself"}


def _check_version(top: Section) -> None:
    if top.require("dpsql", f"write dpsql: {VERSION} as the first line: the version of this format"):
        version = top.number("dpsql", str(VERSION))
        if version is not None and version != VERSION:
            top.problem(
                "dpsql",
                f"this is a policy of version {version}",
                f"write dpsql: {VERSION}, the version that is known",
            )


def _read_privacy(top: Section) -> tuple[PrivacySettings, str | None, bool]:
    section = top.section("privacy", "privacy", "privacy: {epsilon: 1.0}")
    if section is None:
        return PrivacySettings(), None, False
    written = {key: _positive(section, key, example) for key, example in _EPSILONS.items()}
    written["delta"] = _read_delta(section, top)
    mechanism = cast(MechanismChoice, section.choice("mechanism", MECHANISMS) or "laplace")
    settings = PrivacySettings(
        **{key: value for key, value in written.items() if value is not None},
        mechanism=mechanism,
    )
    _check_epsilons(section, settings)
    return settings, section.choice("counts", ("clamp", "raw")), section.boolean("error_columns") is True


def _read_delta(section: Section, top: Section) -> Fraction | None:
    delta = section.number("delta", "1e-6")
    if delta is None:
        return None
    if not 0 < delta < 1:
        section.problem("delta", "privacy.delta must be above 0 and below 1", "write for example delta: 1e-6")
        return None
    budget = top.node("budget")
    if isinstance(budget, Mapping) and all(name.text != "delta" for name, _ in budget.items):
        section.problem(
            "delta",
            "privacy.delta has no budget: there is no budget.delta",
            "write under budget what all queries together may use, for example delta: 1e-4; or remove privacy.delta",
        )
    return delta


def _check_epsilons(section: Section, settings: PrivacySettings) -> None:
    """epsilon <= max_epsilon, and a floor of the charge that the ledger can hold."""
    epsilon = _decimal(settings.epsilon)
    if settings.max_epsilon is not None and settings.epsilon > settings.max_epsilon:
        highest = _decimal(settings.max_epsilon)
        section.problem(
            "epsilon" if "epsilon" in section else "max_epsilon",
            f"privacy.epsilon {epsilon} is above max_epsilon {highest}",
            f"write epsilon: {highest} or less",
        )
    if settings.min_epsilon < LEDGER_STEP:
        section.problem(
            "min_epsilon", "privacy.min_epsilon is below 1e-9, the unit of the ledger", "write 1e-9 or more"
        )


_EPSILONS = {"epsilon": "1.0", "max_epsilon": "4.0", "min_epsilon": "0.001"}


def _positive(section: Section, key: str, example: str) -> Fraction | None:
    value = section.number(key, example)
    if value is not None and value <= 0:
        section.problem(key, f"{section.where(key)} must be above 0", f"write for example {key}: {example}")
        return None
    return value


def _decimal(number: Fraction) -> str:
    """The number for a message."""
    return f"{float(number):g}" if abs(number) < 10**300 else "a number beyond 1e300"


def _read_budget(top: Section, problems: Problems) -> Budget:
    hint = "write budget: {epsilon: 20}: what all queries together may cost; only the owner can decide it"
    if not top.require("budget", hint):
        return Budget()
    section = top.section("budget", "budget", "budget: {epsilon: 20}")
    if section is None:
        return Budget()
    section.require("epsilon", "write epsilon: and what all analysts together may spend, such as epsilon: 20")
    everyone = _read_limit(section)
    if everyone.epsilon == 0:
        section.problem("epsilon", "budget.epsilon must be above 0", "write for example epsilon: 20")
    analysts: dict[str, Limit] = {}
    node = section.mapping("analysts", "analysts: {alice: {epsilon: 5}}")
    for name, value in node.items if node else ():
        analyst = _read_analyst(name, value, problems)
        if analyst is not None:
            analysts[name.text] = analyst
    return Budget(everyone, analysts)


def _read_analyst(name: Scalar, node: Node, problems: Problems) -> Limit | None:
    if not name.text.strip() or not name.text.isprintable():
        problems.add(
            name.line,
            f"{quoted(name.written)} can't be the name of an analyst",
            'write a name, or "*" for each other',
        )
        return None
    path = f"budget.analysts.{quoted(name.written)[1:-1]}"
    section = section_of(name, node, path, "an analyst", "{epsilon: 5}, or {epsilon: 5, per: month}", problems)
    if section is None:
        return None
    section.require("epsilon", "write for example epsilon: 5; epsilon: 0 allows no query")
    return _read_limit(section)


def _read_limit(section: Section) -> Limit:
    epsilon = section.number("epsilon", "5")
    if epsilon is not None and epsilon < 0:
        section.problem("epsilon", f"{section.where('epsilon')} is negative", "write for example epsilon: 5")
    delta = section.number("delta", "1e-6")
    if delta is not None and not 0 <= delta < 1:
        section.problem(
            "delta",
            f"{section.where('delta')} must be at least 0 and below 1",
            "write for example delta: 1e-6",
        )
    return Limit(epsilon, delta, cast(Period | None, section.choice("per", PERIODS)))
