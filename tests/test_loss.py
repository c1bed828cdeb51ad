"""Privacy loss: exact arithmetic, rounding up, and what is read as an epsilon."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import InvalidParameter
from dpsql.privacy.loss import PrivacyLoss, decimal_text, parse_epsilon, units_above, units_below

amounts = st.fractions(min_value=0, max_value=10**30)


@pytest.mark.parametrize("value", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), "1e-1", ".1", "+0.10", " 0.1\n"])
def test_one_tenth_is_one_tenth(value: object) -> None:
    assert parse_epsilon(value) == Fraction(1, 10)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3),
        ("5.", 5),
        (1e22, 10**22),
        ("1E+9", 10**9),
        (np.float64(0.25), Fraction(1, 4)),
        (np.int64(2), 2),
        (1e-7, Fraction(1, 10**7)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_numbers(value: object, expected: Fraction) -> None:
    assert parse_epsilon(value) == expected
    assert type(parse_epsilon(value)) is Fraction


REFUSED: list[object] = [
    True, False, np.bool_(True), None, b"1", [1], 1 + 0j,
    float("nan"), float("inf"), -float("inf"), "nan", "inf", "Infinity",
    Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"),
    0, 0.0, -0.0, "0", "0e5", "-1", -1, -0.5, Fraction(-1, 2), Decimal(0), "0e-9999",
    "0x10", "1_000", "1 0", "1e", "e5", ".", "", " ", "1/3", "1,5", "１", "٣",
    "1e+-5", "--1", "1\x00", "1\u00a0",
    "1e400", "1e9999", "1e-400", "1e99999999999", 5e-324, 1e300,
    Decimal("1e999999"), 10**400, Fraction(1, 10**400),
    "9" * 101, "0." + "1" * 200, Decimal("1." + "1" * 150),
]  # fmt: skip


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: repr(value)[:20])
def test_refused_with_a_hint(value: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        parse_epsilon(value)
    assert caught.value.hint and "0.5" in caught.value.hint
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-1, "-1"), (Decimal("-0.5"), "-0.5"), (Fraction(-1, 2), "-1/2"), ("-1", "'-1'"), (-0.5, "-0.5"),
        (10**300, "this int"), (None, "this NoneType"),
    ],
)  # fmt: skip
def test_refusals_show_the_value(value: object, shown: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{shown} can't be used as epsilon: "):
        parse_epsilon(value)


def test_absurd_exponents_cost_nothing() -> None:
    began = time.perf_counter()
    for value in ("1e9999", Decimal("1e999999999"), Decimal("1e-999999999")):
        with pytest.raises(InvalidParameter):
            parse_epsilon(value)
    assert time.perf_counter() - began < 0.1


@given(st.text(alphabet="0123456789.eE+-_ xnaif\t", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value = parse_epsilon(text)
    except InvalidParameter:
        return
    assert value == Fraction(Decimal(text.strip(" \t")))


@given(st.floats(min_value=1e-29, max_value=1e29))
def test_a_float_is_the_decimal_that_it_prints_as(value: float) -> None:
    assert parse_epsilon(value) == Fraction(repr(value)) == parse_epsilon(repr(value))


@given(amounts, amounts, amounts, amounts)
def test_losses_add_exactly(a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> None:
    assert PrivacyLoss(a, b) + PrivacyLoss(c, d) == PrivacyLoss(a + c, b + d)


@given(amounts, amounts)
def test_units_are_rounded_up(epsilon: Fraction, delta: Fraction) -> None:
    loss = PrivacyLoss(epsilon, delta)
    charged = PrivacyLoss.from_units(loss.epsilon_units, loss.delta_units)
    assert epsilon <= charged.epsilon < epsilon + Fraction(1, 10**9)
    assert delta <= charged.delta < delta + Fraction(1, 10**18)
    assert units_below(epsilon, 9) <= epsilon * 10**9 <= units_above(epsilon, 9) <= units_below(epsilon, 9) + 1


def test_the_smallest_loss_costs_a_unit() -> None:
    assert PrivacyLoss(Fraction(1, 10**12), Fraction(1, 10**30)).epsilon_units == 1
    assert PrivacyLoss(Fraction(1, 10**12), Fraction(1, 10**30)).delta_units == 1
    assert PrivacyLoss(Fraction(0)).epsilon_units == 0


@pytest.mark.parametrize("value", [0.5, True, "1", None, -1, Fraction(-1, 3)])
def test_a_loss_is_made_of_exact_amounts(value: object) -> None:
    with pytest.raises(InvalidParameter):
        PrivacyLoss(value)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        PrivacyLoss(Fraction(1), value)  # type: ignore[arg-type]


def test_whole_numbers_become_fractions() -> None:
    assert type(PrivacyLoss(2).epsilon) is Fraction  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [(Fraction(0), "0"), (Fraction(1, 10), "0.1"), (Fraction(20), "20"), (Fraction(1, 3), "0.333333334"),
     (Fraction(100), "100"), (Fraction(10**21, 10**9), "1000000000000")],
)  # fmt: skip
def test_decimal_text(value: Fraction, text: str) -> None:
    assert decimal_text(value) == text


@given(st.integers(1, 10**39))
def test_decimal_text_of_units_is_exact(units: int) -> None:
    assert parse_epsilon(decimal_text(Fraction(units, 10**9))) == Fraction(units, 10**9)


def test_the_ends_of_what_epsilon_may_be():
    for text in ("1e-30", "1e30"):
        assert parse_epsilon(text) == Fraction(text)
    for text in ("0.99e-30", "1.000001e30"):
        with pytest.raises(InvalidParameter, match="between 1e-30 and 1e30"):
            parse_epsilon(text)
