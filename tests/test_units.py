import pytest
from hypothesis import given
from hypothesis import strategies as st

from laissez.market.commands import PRICE_MAX
from laissez.units import (
    CHARGE_PER_MICRO_DOLLAR,
    MoneyError,
    dollars,
    format_price,
    micro_dollars,
    parse_price,
)


@pytest.mark.parametrize(
    ("text", "micro"),
    [
        ("0", 0),
        ("2.75", 2_750_000),
        ("2.750000", 2_750_000),
        ("0.000001", 1),
        ("10000", PRICE_MAX),
        ("10000.000000", PRICE_MAX),
        ("007.5", 7_500_000),
    ],
)
def test_price_is_read_exactly(text: str, micro: int) -> None:
    assert micro == parse_price(text)


NOT_PRICES = [
    "",
    ".",
    ".5",
    "5.",
    "-1",
    "+1",
    "1e3",
    "1_000",
    " 1",
    "1 ",
    "1\n",
    "1,5",
    "1.0000000",
    "0x1",
    "nan",
    "\u0663",
    "1.\u0663",
    "1.2.3",
    "$1",
]


@pytest.mark.parametrize("text", NOT_PRICES)
def test_text_that_is_not_a_plain_decimal_is_refused(text: str) -> None:
    with pytest.raises(MoneyError) as error:
        parse_price(text)
    assert f'such as "2.75", found {text!r}' in str(error.value)


@pytest.mark.parametrize("text", ["10000.000001", "10001", "1" + "0" * 11, "9" * 5_000])
def test_price_above_the_maximum_is_refused(text: str) -> None:
    with pytest.raises(
        MoneyError, match=r"expected at most 10000 dollars per hour, found '[0-9.]+'"
    ):
        parse_price(text)


def test_leading_zeros_do_not_make_a_price_large() -> None:
    assert 1_000_000 == parse_price("0" * 5_000 + "1")


def test_long_text_is_cut_in_the_message() -> None:
    with pytest.raises(MoneyError) as error:
        parse_price("x" * 10_000)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("micro", "text"),
    [
        (0, "0"),
        (1, "0.000001"),
        (2_750_000, "2.75"),
        (10_000_000, "10"),
        (PRICE_MAX, "10000"),
        (2 * PRICE_MAX, "20000"),
        (-1_500_000, "-1.5"),
    ],
)
def test_price_is_written_as_short_as_possible(micro: int, text: str) -> None:
    assert text == format_price(micro)


@given(st.integers(0, PRICE_MAX))
def test_every_price_reads_back_as_written(micro: int) -> None:
    assert micro == parse_price(format_price(micro))


@given(st.integers(0, 10**30))
def test_a_charge_is_its_micro_dollars_rounded_down(charge: int) -> None:
    remainder = charge - micro_dollars(charge) * CHARGE_PER_MICRO_DOLLAR
    assert 0 <= remainder < CHARGE_PER_MICRO_DOLLAR


@pytest.mark.parametrize(
    ("charge", "text"),
    [
        (0, "0.000000"),
        (CHARGE_PER_MICRO_DOLLAR - 1, "0.000000"),
        (CHARGE_PER_MICRO_DOLLAR, "0.000001"),
        (2_750_000 * CHARGE_PER_MICRO_DOLLAR, "2.750000"),
        (PRICE_MAX * CHARGE_PER_MICRO_DOLLAR * 8_760, "87600000.000000"),
        (-1, "-0.000001"),
    ],
)
def test_charge_is_printed_in_dollars_rounded_down(charge: int, text: str) -> None:
    assert text == dollars(charge)


@given(st.integers(0, 10**24))
def test_printed_charge_is_less_than_a_micro_dollar_below_the_exact_one(charge: int) -> None:
    printed = int(dollars(charge).replace(".", "")) * CHARGE_PER_MICRO_DOLLAR
    assert 0 <= charge - printed < CHARGE_PER_MICRO_DOLLAR
