"""When to exchange a node for a better one: only when what is gained exceeds what it costs to move.

A node is exchanged by asking for another one first; when that is there, the old one is surplus and
is given up, if it can be spared then: an application that would lose unsaved work with it waits for
its checkpoint. The price asked is the one at which moving is worth just what it costs, so it cannot
be a loss; and it is asked only where the quote is lower by more than the tolerance, so that prices
which hardly differ do not send anyone back and forth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from laissez.tenants.growing import Asked, best_first
from laissez.tenants.hooks import Application, Leaves, Wish
from laissez.tenants.paths import parent_of, without
from laissez.tenants.pricing import Situation, moved
from laissez.tenants.terms import Terms
from laissez.tenants.view import Held
from laissez.units import MICRO_PER_DOLLAR


def move(
    here: Situation, leases: Sequence[Held], quotes: Mapping[str, int | None], terms: Terms
) -> list[Asked]:
    """Orders for better places than those of `leases`, which are all that there is `here`, the most
    worthwhile first."""
    if not leases or not terms.moves_max or not quotes:
        return []
    found = [
        _better(here, lease, wish, quotes, terms)
        for lease, wish in substitutes(here.app, here.held, leases, here.now)
    ]
    # of equal gains the first
    best = sorted((one for one in found if one[1]), key=lambda one: -one[0])
    return [asked for _, asked in best[: terms.moves_max]]


def substitutes(
    app: Application, held: Leaves, leases: Sequence[Held], now: int
) -> Iterator[tuple[Held, Wish]]:
    """Each lease with what the application would ask for in its place; of several that are alike in
    place and cost, the first."""
    alike = {(parent_of(lease.leaf), lease.charged): lease for lease in reversed(leases)}
    for lease in alike.values():
        for wish in app.wishes(without(held, lease.leaf), now)[:1]:
            yield lease, wish


def _better(
    here: Situation, lease: Held, wish: Wish, quotes: Mapping[str, int | None], terms: Terms
) -> tuple[int, Asked]:
    """What is gained per hour by moving, and the order that would do it; nothing, if nothing is
    gained."""
    offered = [(scope, quote) for scope in wish if (quote := quotes.get(scope)) is not None]
    if not offered:
        return 0, ()
    rest = here.without(lease.leaf)
    charged, worth_moving = lease.charged / MICRO_PER_DOLLAR, terms.tolerance * lease.charged
    left = charged - rest.grow_worth(lease.leaf)
    prices = {}
    gain = 0
    for scope, quote in offered:
        if _is_too_dear(rest, left, scope, quote + worth_moving):
            continue
        price = terms.price(moved(here, rest, scope, lease.leaf, charged))
        if price - quote > worth_moving and _would_be_left(here, lease, scope, quote):
            prices[scope] = price
            gain = max(gain, price - quote)
    return gain, best_first(prices.items())


def _is_too_dear(rest: Situation, left: float, scope: str, price_min: float) -> bool:
    """Whether moving to `scope` is not worth `price_min` even if the move itself cost nothing: that
    of nearly all places is quickly told."""
    return (left + rest.grow_worth(scope)) * MICRO_PER_DOLLAR + 1 <= price_min


def _would_be_left(here: Situation, lease: Held, scope: str, quote: int) -> bool:
    """Whether, with another node at `scope` for `quote`, it is this lease that would be given
    up."""
    both = here.moment.holding((*here.held, scope))
    surplus = both.keep(lease.leaf) * MICRO_PER_DOLLAR - lease.charged
    return surplus < 0 and surplus < both.keep(scope) * MICRO_PER_DOLLAR - quote
