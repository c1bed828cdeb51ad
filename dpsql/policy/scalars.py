"""Scalars by the core schema of YAML 1.2 (section 10.3.2), numbers kept exact.

PyYAML's own resolver follows YAML 1.1: `1e-6` is text to it, `010` is 8, `12:30:00` is 45000, `NO` is false.

One deviation from the core schema: a number with leading zeros (`010`, `02139`) is text, not 10 and 2139. It
is a code (a postcode, an article number); where a number is wanted, the text is refused rather than misread.
"""

from __future__ import annotations

import re
from enum import Enum
from fractions import Fraction
from typing import Final


class Unusable(Enum):
    """The value of a scalar that was already reported: whoever reads it stays silent."""

    UNUSABLE = "unusable"


UNUSABLE: Final = Unusable.UNUSABLE

Value = None | bool | int | Fraction | float | str | Unusable
"""A typed scalar. A float is only ever NaN or infinite: finite numbers are int or Fraction."""

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}

MAX_DIGITS = 400
"""Digits of a number, and its exponent: beyond the range of a double (1e308) nothing is meant."""

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_BASED = re.compile(r"0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE](?P<exponent>[-+]?[0-9]+))?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)")
_NAN = re.compile(r"\.(nan|NaN|NAN)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+(\.[0-9]*)?")


class NumberTooLong(ValueError):
    """The number has more digits, or a larger exponent, than anything that can be meant."""


def resolve(text: str) -> Value:
    """The value of a plain (unquoted) scalar."""
    if text in NULLS:
        return None
    if text in BOOLEANS:
        return BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(_limited(text))
    if _BASED.fullmatch(text):
        return int(_limited(text), 0)
    if match := _FLOAT.fullmatch(text):
        return _exact(text, match["exponent"] or "0")
    if _NAN.fullmatch(text) or _INFINITE.fullmatch(text):
        return float(text.replace(".", ""))
    return text


def has_leading_zero(text: str) -> bool:
    """Whether the text is a number but for its leading zeros."""
    return _LEADING_ZERO.fullmatch(text) is not None


def _limited(text: str) -> str:
    if len(text) > MAX_DIGITS:
        raise NumberTooLong
    return text


def _exact(text: str, exponent: str) -> Fraction:
    """The decimal text as a fraction. The exponent is looked at first: 10**999999 is never computed."""
    if abs(int(_limited(exponent))) > MAX_DIGITS:
        raise NumberTooLong
    return Fraction(_limited(text))
