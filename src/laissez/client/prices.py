"""Prices and alternatives as callers like to write them, turned into the text of the wire. Never
from a float: 2.75 is not always 2.75."""

from __future__ import annotations

from decimal import Decimal
from typing import TypeAlias

from laissez.client.errors import UsageError
from laissez.wire.requests import Alternative

Price: TypeAlias = str | Decimal | int


def price_text(price: Price) -> str:
    """Decimal text in dollars per hour. Text goes as it is: the server judges it."""
    if isinstance(price, str):
        return price
    if isinstance(price, Decimal) and price.is_finite():
        return format(price, "f")
    if isinstance(price, int) and not isinstance(price, bool):
        return str(price)
    raise UsageError(
        'expected a price as text, a finite Decimal or whole dollars, such as "2.75", found'
        f" {price!r}"
    )


def price_or_none(price: Price | None) -> str | None:
    return None if price is None else price_text(price)


def alternative(scope: str, limit: Price, bid: Price | None = None) -> Alternative:
    """Any leaf below `scope`, pressing with `bid` now and following up to `limit`; without a bid,
    the limit is both."""
    return Alternative(scope, price_text(limit), price_or_none(bid))
