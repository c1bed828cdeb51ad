"""Privacy loss (ε, δ): exact numbers, their sums, and the whole units that a ledger counts in.

Privacy: an answer that is (ε₁, δ₁)-differentially private and one that is (ε₂, δ₂)-differentially private are
together (ε₁ + ε₂, δ₁ + δ₂)-differentially private, also when the second question was chosen after seeing the
first answer (basic adaptive composition). So losses add, and nothing else is ever done with them. The sum
must not be too small: it is exact here (`Fraction`, int), and where a loss becomes a number of units it is
rounded up. With floats 1.0 + 1e-17 would be 1.0 for ever, and NaN would pass every comparison with a budget.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from dpsql.errors import InvalidParameter

EPSILON_PLACES = 9
"""A ledger counts ε in units of 1e-9."""
DELTA_PLACES = 18
"""A ledger counts δ in units of 1e-18."""

_LARGEST = 30
"""Epsilon lies between 1e-30 and 1e30: far outside of every use, and near enough that no number gets long."""
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
_LONGEST_TEXT = 100


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """What answers cost: (ε, δ), both at least 0. Losses add up (basic composition).

    Whole numbers are accepted and kept as `Fraction`; floats are not: `parse_epsilon` reads those.
    Raises InvalidParameter for anything else.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | Fraction):
                found = type(value).__name__
                raise InvalidParameter(f"the {name} of a privacy loss is a Fraction, not {found}")
            if value < 0:
                raise InvalidParameter(f"the {name} of a privacy loss can't be negative")
            object.__setattr__(self, name, Fraction(value))

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        return PrivacyLoss(self.epsilon + other.epsilon, self.delta + other.delta)

    @property
    def epsilon_units(self) -> int:
        """ε in units of 1e-9, rounded up: never less than the loss."""
        return units_above(self.epsilon, EPSILON_PLACES)

    @property
    def delta_units(self) -> int:
        """δ in units of 1e-18, rounded up: never less than the loss."""
        return units_above(self.delta, DELTA_PLACES)

    @classmethod
    def from_units(cls, epsilon: int, delta: int) -> PrivacyLoss:
        """The loss of `epsilon` units of 1e-9 and `delta` units of 1e-18."""
        return cls(Fraction(epsilon, 10**EPSILON_PLACES), Fraction(delta, 10**DELTA_PLACES))


def units_above(value: Fraction, places: int) -> int:
    """The least whole number of units of 10**-places that is not below `value`: for what is charged."""
    unit: int = 10**places
    return -(-value.numerator * unit // value.denominator)


def units_below(value: Fraction, places: int) -> int:
    """The greatest whole number of units of 10**-places that is not above `value`: for limits."""
    unit: int = 10**places
    return value.numerator * unit // value.denominator


def decimal_text(value: Fraction, places: int = EPSILON_PLACES) -> str:
    """`value` (at least 0) as plain decimal text with at most `places` digits after the point, rounded up."""
    whole, rest = divmod(units_above(value, places), 10**places)
    return f"{whole}.{rest:0{places}d}".rstrip("0").rstrip(".")


def parse_epsilon(value: object) -> Fraction:
    """The exact epsilon that `value` writes in decimal: "0.1", 0.1 and Decimal("0.1") are all 1/10.

    Takes str, int, Decimal, Fraction and float; a float means the decimal text that it prints as. Raises
    InvalidParameter for all else: booleans, NaN, infinity, hexadecimal, "1_000", "1 0", zero, negative
    numbers, and numbers outside of 1e-30 to 1e30, which are refused before a long integer is made of them.
    """
    number = _exact(value)
    if number <= 0:
        raise _refusal(value, "epsilon must be greater than 0")
    if not Fraction(1, 10**_LARGEST) <= number <= 10**_LARGEST:
        raise _refusal(value, f"epsilon must lie between 1e-{_LARGEST} and 1e{_LARGEST}")
    return number


def _exact(value: object) -> Fraction:
    if isinstance(value, bool):
        raise _refusal(value, "true and false are not numbers")
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, float):
        return _of_text(float.__repr__(value), value)
    if isinstance(value, Decimal):
        return _of_decimal(value, value)
    if isinstance(value, str):
        return _of_text(value.strip(" \t\r\n"), value)
    raise _refusal(value, f"{type(value).__name__} is not a number")


def _of_text(text: str, value: object) -> Fraction:
    if len(text) > _LONGEST_TEXT or not _DECIMAL.fullmatch(text):
        raise _refusal(value, "it is not a decimal number")
    return _of_decimal(Decimal(text), value)


def _of_decimal(number: Decimal, value: object) -> Fraction:
    if not number.is_finite():
        raise _refusal(value, "epsilon must be finite")
    if number and abs(number.adjusted()) > _LARGEST:
        raise _refusal(value, f"epsilon must lie between 1e-{_LARGEST} and 1e{_LARGEST}")
    if len(number.as_tuple().digits) > _LONGEST_TEXT:
        raise _refusal(value, f"it has more than {_LONGEST_TEXT} digits")
    return Fraction(number) if number else Fraction(0)


def _refusal(value: object, reason: str) -> InvalidParameter:
    if isinstance(value, str | bool):
        shown = repr(value[:40] if isinstance(value, str) else value)
    elif isinstance(value, float):
        shown = float.__repr__(value)
    elif isinstance(value, Decimal) or (isinstance(value, int | Fraction) and abs(value) < 10**_LARGEST):
        shown = str(value)[:40]
    else:
        shown = f"this {type(value).__name__}"
    return InvalidParameter(
        f"{shown} can't be used as epsilon: {reason}",
        hint="write epsilon as a decimal number greater than 0, such as 0.5 or 1e-3",
    )
