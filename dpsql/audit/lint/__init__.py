"""What a policy allows that is seldom wise: read from the policy and from the metadata of files, never from data.

    budget     what all answers together may tell
    columns    bounds and keys
    units      whose rows they are
    files      who may read and write the files

A rule is a function from the policy and its lines to what it finds. It is listed in `RULES` of its module.
"""

from __future__ import annotations

from dpsql.audit.findings import Advice
from dpsql.audit.lint import budget, columns, files, units
from dpsql.policy import Lines, Policy

RULES = (*budget.RULES, *columns.RULES, *units.RULES, *files.RULES)


def advice(policy: Policy) -> tuple[Advice, ...]:
    """What the rules find, in the order of the policy's lines."""
    lines = Lines(policy.text)
    found = [each for rule in RULES for each in rule(policy, lines)]
    return tuple(sorted(found, key=lambda each: each.line))
