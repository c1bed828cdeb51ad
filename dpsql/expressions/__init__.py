"""Expressions over private columns: the allow-list, the types, the value sets, and SQL that can't fail.

Importing the package fills the allow-list: each module registers the handlers of its node classes.
"""

from dpsql.expressions import casts, choices, conditions, dates, numbers, text  # registers handlers
from dpsql.expressions.compiler import (
    Compiler,
    Shown,
    Steps,
    Typed,
    connector_terms,
    is_known,
    is_null,
    position_of,
    refuse,
    show,
    supported,
    unsupported,
)
from dpsql.expressions.narrowing import narrow

__all__ = [
    "Compiler",
    "Shown",
    "Steps",
    "Typed",
    "casts",
    "choices",
    "conditions",
    "connector_terms",
    "dates",
    "is_known",
    "is_null",
    "narrow",
    "numbers",
    "position_of",
    "refuse",
    "show",
    "supported",
    "text",
    "unsupported",
]
