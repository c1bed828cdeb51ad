"""README's tables of functions: what the allow-lists hold, over private rows and over noisy numbers."""

from __future__ import annotations

from collections.abc import Iterable

from dpsql.rewrite import outer
from tests.readme import table

NO_FUNCTIONS = {"Column", "Literal", "Null", "Boolean", "Paren", "If", "Anonymous"}
"""Of the allow-list: parts of other expressions."""
PRIVATE = {
    "operators": {
        "Add": "+", "Sub": "-", "Neg": "-", "Mul": "*", "Div": "/", "IntDiv": "//", "Mod": "%", "EQ": "=", "NEQ": "<>",
        "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "And": "AND", "Or": "OR", "Not": "NOT", "In": "IN",
        "Between": "BETWEEN", "Is": "IS NULL", "Like": "LIKE", "ILike": "ILIKE", "NullSafeEQ": "IS NOT DISTINCT FROM",
        "NullSafeNEQ": "IS DISTINCT FROM",
    },
    "choices and types": {
        "Case": "CASE", "Coalesce": "COALESCE", "Nullif": "NULLIF", "Greatest": "GREATEST", "Least": "LEAST",
        "clip": "CLIP", "Cast": "CAST", "TryCast": "TRY_CAST",
    },
    "numbers": {
        "Abs": "ABS", "Sign": "SIGN", "Ceil": "CEIL", "Floor": "FLOOR", "Round": "ROUND", "Trunc": "TRUNC",
        "round_even": "ROUND_EVEN", "roundbankers": "ROUNDBANKERS", "Sqrt": "SQRT", "Exp": "EXP", "Ln": "LN",
        "Log": "LOG` `LOG10` `LOG2", "Pow": "POW", "IsNan": "ISNAN",
    },
    "text": {
        "Lower": "LOWER", "Upper": "UPPER", "Length": "LENGTH", "Left": "LEFT", "Right": "RIGHT",
        "Substring": "SUBSTRING", "Trim": "TRIM", "Contains": "CONTAINS", "StartsWith": "STARTS_WITH",
        "EndsWith": "ENDS_WITH",
    },
    "dates": {
        "Extract": "EXTRACT", "date_part": "DATE_PART", "datepart": "DATEPART", "Year": "YEAR", "Quarter": "QUARTER",
        "Month": "MONTH", "Week": "WEEK", "Day": "DAY", "DayOfMonth": "DAYOFMONTH", "DayOfWeek": "DAYOFWEEK",
        "DayOfYear": "DAYOFYEAR", "Hour": "HOUR", "Minute": "MINUTE", "Second": "SECOND", "DateTrunc": "DATE_TRUNC",
        "TimestampTrunc": "DATE_TRUNC", "TimeToStr": "STRFTIME", "DateDiff": "DATE_DIFF",
        "CurrentDate": "CURRENT_DATE",
    },
}  # fmt: skip
"""How README writes each entry of the allow-list."""


def tables() -> dict[str, str]:
    """The two tables, by name."""
    released = {
        "scalar": outer.SCALAR_FUNCTIONS,
        "aggregates": outer.AGGREGATE_FUNCTIONS,
        "windows": outer.WINDOW_FUNCTIONS,
    }
    assert frozenset().union(*released.values()) == outer.FUNCTIONS
    return {
        "functions over private rows": _listed(
            (kind, dict.fromkeys(names.values())) for kind, names in PRIVATE.items()
        ),
        "functions over noisy numbers": _listed(
            (kind, sorted(name.upper() for name in names)) for kind, names in released.items()
        ),
    }


def _listed(rows: Iterable[tuple[str, Iterable[str]]]) -> str:
    return table(["", ""], ((kind, f"`{'` `'.join(names)}`") for kind, names in rows))
