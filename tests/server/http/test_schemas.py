"""The patterns in the OpenAPI document accept exactly the values that the service accepts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.exchange.budgets import AMOUNT_MAX
from laissez.server.http import schemas
from laissez.units import MoneyError, parse_price
from laissez.wire.decoding import read_amount, read_cap
from laissez.wire.problems import ProblemError

pytestmark = pytest.mark.once

whole = st.sampled_from(
    ["", "0", "1", "10000", "9999", "1000000000", "999999999", "9999999999"]
) | st.text("0123456789", max_size=14)
decimals = st.sampled_from(["", ".", ".0", ".000000", ".000001", ".0000000", " ", "e1"]) | st.text(
    "0123456789", max_size=7
).map(lambda text: "." + text)
written = st.builds(
    lambda zeros, number, rest: "0" * zeros + number + rest, st.integers(0, 3), whole, decimals
)


def is_price(text: str) -> bool:
    try:
        parse_price(text)
    except MoneyError:
        return False
    return True


def is_cap(text: str) -> bool:
    try:
        return read_cap(text, "rate") is not None
    except ProblemError:
        return False


def is_amount(text: str) -> bool:
    try:
        return 0 < read_amount(text, "amount") <= AMOUNT_MAX
    except ProblemError:
        return False


@settings(max_examples=250, derandomize=True)
@given(written)
def test_patterns_of_money_match_the_service(text: str) -> None:
    for pattern, takes in (
        (schemas.PRICE, is_price),
        (schemas.PER_HOUR, is_cap),
        (schemas.AMOUNT, is_amount),
    ):
        assert takes(text) is (re.search(pattern["pattern"], text) is not None), pattern
