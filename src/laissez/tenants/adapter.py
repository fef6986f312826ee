"""EconAdapter: turns what an application says about itself into orders, limits and leases given up.

`decide` looks at one instant and returns the commands that bring the market in step with it, and no
others. It remembers nothing: everything it needs is in the view or in the application, so it can be
stopped and started again at any moment, and runs the same live, simulated and in tests.
"""

from __future__ import annotations

from collections.abc import Mapping

from laissez.market.commands import Relinquish, SetLimit, TenantCommand
from laissez.tenants.budget import affordable, rate_max, within
from laissez.tenants.growing import Asked, grow
from laissez.tenants.hooks import Application
from laissez.tenants.keeping import Kept, consistent, keep
from laissez.tenants.moving import move, substitutes
from laissez.tenants.paths import is_below
from laissez.tenants.pricing import Moment
from laissez.tenants.standing import in_step
from laissez.tenants.terms import Terms
from laissez.tenants.view import Held, TenantView, leaves


class EconAdapter:
    """Trades for one tenant and one application. Raises `HookError`, and does nothing, where a hook
    gives a number that is none."""

    def __init__(self, tenant: str, app: Application, terms: Terms | None = None) -> None:
        self.tenant = tenant
        self.app = app
        self.terms = terms or Terms()

    def watches(self, view: TenantView) -> tuple[str, ...]:
        """The scopes whose quotes `decide` would use, so that only those need be asked for: roots,
        and what lies above a leaf that is held (M12)."""
        if not self.terms.moves_max:
            return ()
        self.app.see(view)
        held = leaves(view.leases)
        useful = {
            scope
            for _, wish in substitutes(self.app, held, view.leases, view.now)
            for scope in wish
        }
        return tuple(
            sorted(
                scope
                for scope in useful
                if "/" not in scope or any(is_below(leaf, scope) for leaf in held)
            )
        )

    def decide(self, view: TenantView) -> list[TenantCommand]:
        self.app.see(view)
        bound = rate_max(self.terms, view.spent)
        moment = Moment(self.app, view.now)
        wanted = keep(moment, view.leases, self.terms)
        paid = affordable(wanted, bound)
        asked = self._asked(moment, [one.lease for one in paid], view.quotes)
        kept, orders = within(consistent(paid, asked), asked, bound)
        return [
            *in_step(self.tenant, view.orders, orders, view.now, self.terms),
            *self._given_up(view.leases, wanted, kept),
            *self._limits(kept),
        ]

    def _asked(
        self, moment: Moment, leases: list[Held], quotes: Mapping[str, int | None]
    ) -> list[Asked]:
        """More nodes, and better ones."""
        here = moment.holding(leaves(leases))
        return [
            *grow(here, self.app.wishes(here.held, here.now), self.terms),
            *move(here, leases, quotes, self.terms),
        ]

    def _given_up(
        self, leases: tuple[Held, ...], wanted: list[Kept], kept: list[Kept]
    ) -> list[Relinquish]:
        worthwhile = {one.lease.leaf for one in wanted}
        paid = {one.lease.leaf for one in kept}
        return [
            Relinquish(self.tenant, lease.lease, budget_spent=lease.leaf in worthwhile)
            for lease in leases
            if lease.leaf not in paid
        ]

    def _limits(self, kept: list[Kept]) -> list[SetLimit]:
        moved = [one for one in kept if not self.terms.is_near(one.limit, one.lease.limit)]
        return [SetLimit(self.tenant, one.lease.lease, one.limit) for one in moved]
