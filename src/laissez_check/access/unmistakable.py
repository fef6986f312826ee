"""Prices that are found wherever they get to: nobody else asks, pays or is told anything like
them."""

from __future__ import annotations

ORDER, LEASE, BUDGET = "4183.275916", "5839.217463", "7261.839405"
PRICES = (ORDER, LEASE, BUDGET)


def forms(price: str) -> tuple[str, ...]:
    """How a price may be written: dollars, millionths, and as figures are, which have no more than
    one digit before their point."""
    digits = price.replace(".", "")
    return price, digits, f"{digits[0]}.{digits[1:]}e+"


NEEDLES = tuple(form for price in PRICES for form in forms(price))


def told(text: str) -> bool:
    return any(needle in text for needle in NEEDLES)
