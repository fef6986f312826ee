"""The orders to have in the market: one for each node that is wanted (`grow`) and for each better
place (`move`), and the fewest commands that bring the open orders in step (`reconcile`).

Each order lists every place that would do as an alternative, at the price that the node is worth
there.

`move` exchanges a node by asking for another one first. Once that arrives the old node is surplus
and is given up, unless it holds unsaved work and waits for its checkpoint. The price asked is the
one at which the move gains exactly what it costs, so it cannot lose. It is asked only where the
quote is lower by more than the tolerance, so that prices which hardly differ cause no moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from laissez.market.commands import (
    ALTERNATIVES_MAX,
    Alternative,
    AmendOrder,
    CancelOrder,
    PlaceOrder,
    at_price,
)
from laissez.tenants.hooks import Application, HookError, Leaves, Wish
from laissez.tenants.paths import parent_of, without
from laissez.tenants.pricing import Valuation
from laissez.tenants.settings import PRICE_MIN, AdapterSettings
from laissez.tenants.view import Held, Resting
from laissez.units import MICRO_PER_DOLLAR, SECOND_US

Alternatives: TypeAlias = tuple[Alternative, ...]  # of one order, the dearest first
Quotes: TypeAlias = Mapping[str, int | None]


def grow(here: Valuation, wishes: Sequence[Wish], settings: AdapterSettings) -> list[Alternatives]:
    """One order for each wish, the most useful first.

    Each is valued as if the best alternatives of those before it were filled, but never above what
    the node is worth without them: the order may be the only one that is filled, and the node would
    be given up at once.
    """
    orders: list[Alternatives] = []
    held = here.held
    alone: dict[str, int] = {}
    for wish in wishes[: settings.orders_max]:
        if isinstance(wish, str):
            raise HookError(
                f"expected wishes to give a tuple of scopes for each node, found {wish!r}"
            )
        for scope in wish:
            if scope not in alone:
                alone[scope] = settings.price(here.grow(scope))
        prices = {scope: alone[scope] for scope in wish if alone[scope] >= PRICE_MIN}
        if orders and prices:
            after = here.moment.holding(held)
            prices = {
                scope: min(price, settings.price(after.grow(scope)))
                for scope, price in prices.items()
            }
        if alternatives := dearest_first(prices):
            orders.append(alternatives)
            held = (*held, alternatives[0].scope)
    return orders


def dearest_first(prices: Mapping[str, int]) -> Alternatives:
    """Alternatives at these prices, without those below the lowest price worth asking."""
    ranked = sorted([(-price, scope) for scope, price in prices.items() if price >= PRICE_MIN])
    return tuple([at_price(scope, -price) for price, scope in ranked[:ALTERNATIVES_MAX]])


def move(
    here: Valuation, leases: Sequence[Held], quotes: Quotes, settings: AdapterSettings
) -> list[Alternatives]:
    """Orders for better places than those of `leases`, the one that gains most first."""
    if not leases or not settings.moves_max or not quotes:
        return []
    found = [
        _better_place(here, lease, wish, quotes, settings)
        for lease, wish in replacements(here.app, here.held, leases, here.now)
    ]
    best = sorted((one for one in found if one[1]), key=lambda one: -one[0])
    return [alternatives for _, alternatives in best[: settings.moves_max]]


def replacements(
    app: Application, held: Leaves, leases: Sequence[Held], now: int
) -> Iterator[tuple[Held, Wish]]:
    """Leases with the wish that would replace each; one of those that share parent and price."""
    distinct = {(parent_of(lease.leaf), lease.charged): lease for lease in reversed(leases)}
    for lease in distinct.values():
        for wish in app.wishes(without(held, lease.leaf), now)[:1]:
            yield lease, wish


def _better_place(
    here: Valuation, lease: Held, wish: Wish, quotes: Quotes, settings: AdapterSettings
) -> tuple[int, Alternatives]:
    """The gain per hour of exchanging a lease, and the order that would do it."""
    offered = [(scope, quote) for scope in wish if (quote := quotes.get(scope)) is not None]
    if not offered:
        return 0, ()
    rest = here.without(lease.leaf)
    charged, margin = lease.charged / MICRO_PER_DOLLAR, settings.tolerance * lease.charged
    saved = charged - rest.grow_worth(lease.leaf)
    prices = {}
    gain = 0
    for scope, quote in offered:
        # Most places are too dear even if moving cost nothing, which is quick to see.
        if (saved + rest.grow_worth(scope)) * MICRO_PER_DOLLAR + 1 <= quote + margin:
            continue
        price = settings.price(here.move(scope, lease.leaf, charged))
        if price - quote > margin and _would_be_surplus(here, lease, scope, quote):
            prices[scope] = price
            gain = max(gain, price - quote)
    return gain, dearest_first(prices)


def _would_be_surplus(here: Valuation, lease: Held, scope: str, quote: int) -> bool:
    """Whether this lease would be the one given up beside a new node at `scope` for `quote`."""
    both = here.moment.holding((*here.held, scope))
    surplus = both.keep(lease.leaf) * MICRO_PER_DOLLAR - lease.charged
    return surplus < 0 and surplus < both.keep(scope) * MICRO_PER_DOLLAR - quote


def reconcile(
    tenant: str,
    resting: Sequence[Resting],
    wanted: Sequence[Alternatives],
    now: int,
    settings: AdapterSettings,
) -> list[CancelOrder | AmendOrder | PlaceOrder]:
    """The commands that turn the open orders into the wanted ones.

    Orders differ only in their alternatives, so any open order may serve any wish. One that is near
    enough to a wanted one is left alone and keeps its place in the queue (M10). Of the rest as many
    as possible are amended. Cancelling comes first: what is no longer wanted must not be won
    meanwhile.
    """
    stale, missing = list(resting), []
    for alternatives in wanted:
        serving = next(
            (order for order in stale if _serves(order, alternatives, now, settings)), None
        )
        if serving is None:
            missing.append(alternatives)
        else:
            stale.remove(serving)
    amended = min(len(stale), len(missing))
    return [
        *(CancelOrder(tenant, order.order) for order in stale[amended:]),
        *(
            AmendOrder(tenant, order.order, alternatives)
            for order, alternatives in zip(stale, missing, strict=False)
        ),
        *(PlaceOrder(tenant, alternatives) for alternatives in missing[amended:]),
    ]


def _serves(order: Resting, wanted: Alternatives, now: int, settings: AdapterSettings) -> bool:
    """Whether an open order has the wanted places at nearly the wanted prices, and no bid that a
    rise band cut down and that is due to be tried again."""
    limits = {one.scope: one.limit for one in order.alternatives}
    if limits.keys() != {one.scope for one in wanted}:
        return False
    if not all(settings.is_near(one.limit, limits[one.scope]) for one in wanted):
        return False
    cut_down = any(one.bid < one.limit for one in order.alternatives)
    return not cut_down or now - order.since < settings.retry_s * SECOND_US
