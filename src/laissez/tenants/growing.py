"""What to ask for: one order per node the autoscaler wants, with every place that would do as an
alternative at its own price."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from laissez.market.commands import ALTERNATIVES_MAX, Alternative, at_price
from laissez.tenants.hooks import HookError, Wish
from laissez.tenants.pricing import Situation
from laissez.tenants.terms import PRICE_MIN, Terms

Asked: TypeAlias = tuple[Alternative, ...]


def grow(bare: Situation, wishes: Sequence[Wish], terms: Terms) -> list[Asked]:
    """The orders to have in the market, the most useful first. Each is valued as if those before it
    were filled with their best alternative.

    But not above what it is worth without them: it may be filled when they are not, and would only
    be given up again.
    """
    orders: list[Asked] = []
    held = bare.held
    alone: dict[str, int] = {}
    for wish in wishes[: terms.orders_max]:
        if isinstance(wish, str):
            raise HookError(
                f"expected wishes to give a tuple of scopes for each node, found {wish!r}"
            )
        for scope in wish:
            if scope not in alone:
                alone[scope] = terms.price(bare.grow(scope))
        prices = {scope: alone[scope] for scope in wish if alone[scope] >= PRICE_MIN}
        if orders and prices:
            here = bare.moment.holding(held)
            prices = {
                scope: min(price, terms.price(here.grow(scope))) for scope, price in prices.items()
            }
        asked = best_first(prices.items())
        if asked:
            orders.append(asked)
            held = (*held, asked[0].scope)
    return orders


def best_first(prices: Iterable[tuple[str, int]]) -> Asked:
    """Alternatives at these prices, the dearest first; those worth nothing are left out."""
    ranked = sorted([(-price, scope) for scope, price in prices if price >= PRICE_MIN])
    return tuple([at_price(scope, -price) for price, scope in ranked[:ALTERNATIVES_MAX]])
