"""The policy: everything that a deployment decides, read from one YAML file.

`load` gives a checked `Policy` or raises; `load_all_errors` gives every problem at once. Both look at the
text of the policy and at whether its files are there. Comparing it with the data is done by `dpsql.session`.

    document   text to nodes: YAML events, line numbers, ${NAME}
    scalars    the core schema of YAML 1.2, numbers exact
    section    typed access to nodes, unknown keys
    decisions  DECIDE, where the owner has yet to decide
    draft      a policy drafted from the schema of data
    sources    engine, files, ledger
    columns    types, bounds, keys
    references what is declared, for what refers to it
    units      units, foreign and primary keys
    tables     tables, and keys taken from one another
    reader     the file, privacy, budget
    lines      where in the file a key is written
    names      what the name of a column suggests
    shown      what is declared, in words
    server     how the server listens, and to whom
    model      the result
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from dpsql.errors import PolicyError
from dpsql.policy.lines import Lines
from dpsql.policy.model import (
    Bound,
    Budget,
    Column,
    ColumnType,
    ForeignKey,
    Key,
    Kind,
    Limit,
    MechanismChoice,
    Period,
    Policy,
    PrivacySettings,
    Server,
    Source,
    SourceKind,
    StoredAnswers,
    Table,
    Unit,
)
from dpsql.policy.problems import Problem, Problems, printable
from dpsql.policy.reader import read_policy

__all__ = [
    "Bound",
    "Budget",
    "Column",
    "ColumnType",
    "ForeignKey",
    "Key",
    "Kind",
    "Limit",
    "Lines",
    "MechanismChoice",
    "Period",
    "Policy",
    "PrivacySettings",
    "Server",
    "Source",
    "SourceKind",
    "StoredAnswers",
    "Table",
    "Unit",
    "at_line",
    "load",
    "load_all_errors",
    "load_partly",
]


def load(path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None) -> Policy:
    """The policy in the file; a PolicyError for its first problem, which says how many more there are."""
    policy, errors = load_all_errors(path, environ=environ)
    if policy is not None:
        return policy
    first, more = errors[0], len(errors) - 1
    if not more:
        raise first
    others = "1 more problem" if more == 1 else f"{more} more problems"
    shown = printable(os.fspath(path), 200)
    raise PolicyError(first.message, hint=f"{first.hint} ({others}: dpsql check {shown} lists all)")


def load_all_errors(
    path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None
) -> tuple[Policy | None, list[PolicyError]]:
    """The policy and no errors, or None and every problem in the order of the file."""
    policy, errors = load_partly(path, environ=environ)
    return (None if errors else policy), errors


def load_partly(
    path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None
) -> tuple[Policy | None, list[PolicyError]]:
    """As `load_all_errors`, but with errors the policy is what could be read: good for comparing its tables with the
    data, and for nothing else. None where not even that.
    """
    problems = Problems()
    name = os.fspath(path)
    policy = read_policy(name, os.environ if environ is None else environ, problems)
    return policy, [_error(name, problem) for problem in problems.by_line()]


def at_line(path: str, line: int) -> str:
    """Where something is wrong, as every message about a policy begins; line 0: in the file as a whole."""
    return f"{printable(path, 200)}:{line}" if line else printable(path, 200)


def _error(path: str, problem: Problem) -> PolicyError:
    return PolicyError(f"{at_line(path, problem.line)}: {problem.message}", hint=problem.hint)
