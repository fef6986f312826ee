"""EconAdapter: turns what an application says about itself into orders, limits and leases given up.

How it decides. `decide` looks at one instant and returns the commands that bring the market in step
with what the hooks say now, and no others:

1. `leases.keep` values each lease held (`pricing.keep`) and gives up those that cost more than they
   are worth.
2. `orders.grow` and `orders.move` price each node that the application wishes for, and each place
   where a node held would gain more than a move costs.
3. `leases.within_rate` lowers limits and orders until the budget can bear them.
4. `orders.reconcile` and `_limits` compare the result with the orders and limits in force, and
   become commands only where these differ by more than the tolerance.

The adapter remembers nothing: all it needs is in the view or in the application. So it can be
stopped and started at any moment, and behaves the same live, simulated and in tests.

Why it comes to rest. At constant hooks and prices a decision differs from the one before only by
the nodes won or lost since. A node that was bought is not given up again at the same price, because
the price of keeping is never below that of growing; because an order is priced no higher than its
node is worth alone; and because a lease is kept for at least what is offered for a node in the same
place. A move is asked for only if it gains more than it costs, and only if the node that is left
will then be the surplus one. So every step is a gain, and there are finitely many nodes. Prices
that only wobble within the tolerance cause no commands.

What must never happen, and is asserted: a lease is both kept and given up, or neither; a limit is
below the present cost, so that the market would take the node that the adapter means to keep; a bid
or limit exceeds `price_max`; or all limits and orders together could cost more per hour than what
is left of the budget in `guard_s` seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from laissez.market.commands import Relinquish, SetLimit, TenantCommand
from laissez.tenants.hooks import Application
from laissez.tenants.leases import (
    Kept,
    affordable,
    keep,
    raised_to_offers,
    rate_max,
    within_rate,
    worst_rate,
)
from laissez.tenants.orders import Alternatives, Quotes, grow, move, reconcile, replacements
from laissez.tenants.paths import is_below
from laissez.tenants.pricing import Moment
from laissez.tenants.settings import PRICE_MIN, AdapterSettings
from laissez.tenants.view import Held, TenantView, leaves


class EconAdapter:
    """Trades for one tenant and one application. Raises `HookError`, and does nothing, if a hook
    gives a number that no price can be made from."""

    def __init__(
        self, tenant: str, app: Application, settings: AdapterSettings | None = None
    ) -> None:
        self.tenant = tenant
        self.app = app
        self.settings = settings or AdapterSettings()

    def watches(self, view: TenantView) -> tuple[str, ...]:
        """The scopes whose quotes `decide` would use: roots, and scopes above a leaf that is held,
        since a tenant may see no others (M12)."""
        if not self.settings.moves_max:
            return ()
        self.app.see(view)
        held = leaves(view.leases)
        found = replacements(self.app, held, view.leases, view.now)
        scopes = {scope for _, wish in found for scope in wish}
        return tuple(
            sorted(
                scope
                for scope in scopes
                if "/" not in scope or any(is_below(leaf, scope) for leaf in held)
            )
        )

    def decide(self, view: TenantView) -> list[TenantCommand]:
        self.app.see(view)
        rate = rate_max(self.settings, view.spent)
        moment = Moment(self.app, view.now)
        worthwhile = keep(moment, view.leases, self.settings)
        paid = affordable(worthwhile, rate)
        wanted = self._wanted(moment, [one.lease for one in paid], view.quotes)
        kept, orders = within_rate(raised_to_offers(paid, wanted), wanted, rate)
        self._check(kept, orders, rate)
        relinquished = self._relinquished(view.leases, worthwhile, kept)
        assert len(kept) + len(relinquished) == len(view.leases)
        return [
            *reconcile(self.tenant, view.orders, orders, view.now, self.settings),
            *relinquished,
            *self._limits(kept),
        ]

    def _wanted(self, moment: Moment, leases: list[Held], quotes: Quotes) -> list[Alternatives]:
        here = moment.holding(leaves(leases))
        return [
            *grow(here, self.app.wishes(here.held, here.now), self.settings),
            *move(here, leases, quotes, self.settings),
        ]

    def _relinquished(
        self, leases: Sequence[Held], worthwhile: list[Kept], kept: list[Kept]
    ) -> list[Relinquish]:
        worth_their_cost = {one.lease.leaf for one in worthwhile}
        still_held = {one.lease.leaf for one in kept}
        return [
            Relinquish(self.tenant, lease.lease, budget_spent=lease.leaf in worth_their_cost)
            for lease in leases
            if lease.leaf not in still_held
        ]

    def _limits(self, kept: list[Kept]) -> list[SetLimit]:
        return [
            SetLimit(self.tenant, one.lease.lease, one.limit)
            for one in kept
            if not self.settings.is_near(one.limit, one.lease.limit)
        ]

    def _check(self, kept: list[Kept], orders: list[Alternatives], rate: int | None) -> None:
        settings = self.settings
        assert all(one.lease.charged <= one.limit <= settings.price_max for one in kept)
        assert all(
            PRICE_MIN <= one.bid <= one.limit <= settings.price_max
            for order in orders
            for one in order
        )
        assert len(orders) <= settings.orders_max + settings.moves_max
        assert rate is None or worst_rate(kept, orders) <= rate
