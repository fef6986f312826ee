"""The literal market: slow, obvious, and written from `docs/reference/market.md` alone.

It shares no code with `laissez.market`, only the vocabulary (commands, events, reasons, answers).
Every order is copied to every leaf it covers, every rate is recomputed when asked for, bills are
integrated as time passes. Rule numbers are those of `docs/reference/market.md`.
"""

from __future__ import annotations

from laissez.market import commands, events
from laissez.market.answers import Bill, LeaseView, OrderView, PriceSegment, TenantCounts
from laissez.market.commands import SHOWN_MAX, TIME_MAX_US, Command
from laissez.market.events import Event, Refused
from laissez.market.reasons import EndReason
from laissez_check import oracle_bills as bills
from laissez_check import oracle_controls as controls
from laissez_check.oracle_clearing import Clearing
from laissez_check.oracle_guards import (
    Refusal,
    is_tenant_name,
    refusal,
    refuse_time,
)
from laissez_check.oracle_state import Fee, Lease, Order


class UnknownScope(KeyError):
    """No such node, or none the tenant may see: the same answer (M12)."""


class Oracle(Clearing):
    """A market with the commands and questions of `laissez.market.Market`."""

    def apply(self, command: Command, at: int) -> list[Event]:
        """Let time pass, then judge the command and carry it out."""
        self.happened = []
        wrong_time = refuse_time(self, command, at)
        if wrong_time is not None:
            return [self.refused(command, wrong_time)]
        self.let_time_pass(at)
        why_not = refusal(self, command)
        if why_not is not None:
            self.tell(self.refused(command, why_not))
        else:
            self.carry_out(command)
            controls.write_history(self)
        assert all(self.is_stable(leaf) for leaf in self.topology.leaves), "M7"
        return self.happened

    def refused(self, command: Command, why: Refusal) -> Refused:
        tenant = getattr(command, "tenant", None)
        sender = tenant if isinstance(tenant, str) and is_tenant_name(tenant) else None
        shown = why.subject[:SHOWN_MAX]
        subject = "".join("?" if "\ud800" <= one <= "\udfff" else one for one in shown)
        return Refused(self.now, sender, why.reason, subject, why.found, why.bound)

    def let_time_pass(self, to: int) -> None:
        """M17: holds end at their own time, those of one instant together, and the market clears at
        that time."""
        while (deadline := self.next_deadline()) is not None and deadline <= to:
            bills.let_pass(self, deadline)
            self.clear()
            controls.write_history(self)
        bills.let_pass(self, to)

    def carry_out(self, command: Command) -> None:
        if isinstance(command, commands.TenantCommand):
            self.tenants_seen.add(command.tenant)
        match command:
            case commands.PlaceOrder():
                self.place(command)
            case commands.AmendOrder():
                self.amend(command)
            case commands.CancelOrder():
                self.cancel(command)
            case commands.SetLimit(tenant, number, limit):
                lease = self.leases_on_books[tenant, number]
                lease.limit = limit
                self.tell(events.LimitSet(self.now, tenant, lease.id, lease.leaf, limit))
            case commands.Relinquish(tenant, number, budget_spent):
                reason = EndReason.BUDGET_SPENT if budget_spent else EndReason.RELINQUISHED
                self.open(self.leases_on_books[tenant, number].leaf, reason)
            case commands.SetFloor(node, price):
                asked = price or 0
                self.floors[node] = controls.clip_floor(self, node, asked)
                clipped = self.floors[node] != asked
                self.tell(events.FloorSet(self.now, node, self.floors[node], clipped))
            case commands.SetControls(node, rise, fall, hold_us, flash_us):
                controls.set_controls(self, command)
                self.tell(events.ControlsSet(self.now, node, rise, fall, hold_us, flash_us))
            case commands.TakeOffline(leaf):
                self.tell(events.LeafTakenOffline(self.now, leaf))
                if self.lease_at[leaf] is not None:
                    self.end_lease(leaf, EndReason.TAKEN_OFFLINE)
                self.offline.add(leaf)
            case commands.BringOnline(leaf):
                self.offline.remove(leaf)
                self.tell(events.LeafBroughtOnline(self.now, leaf))
            case commands.CloseBooks(before):
                bills.close_books(self, before)
                self.tell(events.BooksClosed(self.now, before))
        if not isinstance(command, commands.PlaceOrder | commands.AmendOrder):
            self.clear()

    def place(self, command: commands.PlaceOrder) -> None:
        self.orders_placed[command.tenant] += 1
        self.enter(command, self.orders_placed[command.tenant], self.now, None)

    def amend(self, command: commands.AmendOrder) -> None:
        old = self.open_orders[command.tenant, command.order]
        self.enter(command, old.id, old.placed_at, old)

    def enter(
        self,
        command: commands.PlaceOrder | commands.AmendOrder,
        number: int,
        placed_at: int,
        old: Order | None,
    ) -> None:
        """Add an order, or put it in the place of its old self. Either takes the next sequence
        number (M10)."""
        tenant, asked = command.tenant, command.alternatives
        alternatives = tuple(controls.clip_bid(self, alternative) for alternative in asked)
        fees, remaining = ([], {}) if old is None else controls.withdraw(self, old, alternatives)
        liabilities = controls.liabilities_after(self, old, remaining, alternatives)
        self.sequences_used += 1
        order = Order(number, tenant, placed_at, self.sequences_used, alternatives, liabilities)
        if old is not None:
            self.remove_order(old)
        self.add_order(order)
        told = events.OrderPlaced if old is None else events.OrderAmended
        self.tell(told(self.now, tenant, number, alternatives, alternatives != asked))
        self.charge_fees(fees)
        self.clear_for(order)

    def cancel(self, command: commands.CancelOrder) -> None:
        order = self.open_orders[command.tenant, command.order]
        fees, _ = controls.withdraw(self, order, ())
        self.remove_order(order)
        self.tell(events.OrderCancelled(self.now, order.tenant, order.id))
        self.charge_fees(fees)

    def charge_fees(self, fees: list[Fee]) -> None:
        for fee in fees:
            self.fees_on_books.append(fee)
            self.tell(
                events.FeeCharged(self.now, fee.tenant, fee.order, fee.scope, fee.rate, fee.end)
            )

    def next_deadline(self) -> int | None:
        """When the next hold ends, if time can ever get there."""
        ends = [lease.hold_until for lease in self.live_leases() if self.is_held(lease)]
        return min((end for end in ends if end is not None and end <= TIME_MAX_US), default=None)

    def quote(self, tenant: str | None, scope: str) -> int | None:
        """M11, to those who may ask (M12)."""
        if not self.may_see(tenant, scope):
            raise UnknownScope(scope)
        prices = []
        for leaf in self.topology.leaves_below[scope]:
            ask = self.ask(leaf)
            owner = self.owner(leaf)
            if ask is not None and (owner is None or owner != tenant):
                prices.append(ask if owner is None else ask + 1)
        return min(prices, default=None)

    def may_see(self, tenant: str | None, node: str) -> bool:
        """M12: the roots, and the nodes on the path of a leaf it owns now; the operator everything
        there is."""
        if node not in self.topology.path or tenant is None:
            return node in self.topology.path
        return node in self.topology.roots or any(
            self.owner(leaf) == tenant for leaf in self.topology.leaves_below[node]
        )

    def pricing_domain(self, tenant: str) -> tuple[str, ...]:
        return tuple(node for node in self.topology.nodes if self.may_see(tenant, node))

    def orders(self, tenant: str | None = None) -> tuple[OrderView, ...]:
        """All orders by sequence number, or those of one tenant by id."""
        orders = sorted(self.open_orders.values(), key=lambda order: order.sequence)
        if tenant is not None:
            its_own = [order for order in orders if order.tenant == tenant]
            orders = sorted(its_own, key=lambda order: order.id)
        return tuple(
            OrderView(order.id, order.tenant, order.placed_at, order.sequence, order.alternatives)
            for order in orders
        )

    def counts(self, tenant: str) -> TenantCounts:
        return TenantCounts(
            self.orders_placed[tenant],
            sum(order.tenant == tenant for order in self.open_orders.values()),
            self.leases_started[tenant],
            sum(lease.tenant == tenant for lease in self.live_leases()),
        )

    def leases(self, tenant: str | None = None) -> tuple[LeaseView, ...]:
        return tuple(
            self.lease_view(lease)
            for lease in self.live_leases()
            if tenant is None or lease.tenant == tenant
        )

    def lease(self, tenant: str, lease_id: int) -> LeaseView | None:
        lease = self.leases_on_books.get((tenant, lease_id))
        return None if lease is None else self.lease_view(lease)

    def lease_on(self, leaf: str) -> LeaseView | None:
        lease = self.lease_at[leaf]
        return None if lease is None else self.lease_view(lease)

    def lease_view(self, lease: Lease) -> LeaseView:
        is_live = lease.end is None
        return LeaseView(
            lease.id,
            lease.tenant,
            lease.leaf,
            lease.order,
            lease.fence,
            lease.start,
            lease.end,
            lease.limit,
            lease.hold_until,
            self.rate(lease.leaf) if is_live else 0,
            self.charged(lease) if is_live else 0,
        )

    def tenants(self) -> tuple[str, ...]:
        """Everyone who ever had a command carried out."""
        return tuple(sorted(self.tenants_seen))

    def bill(self, tenant: str, since: int | None = None, until: int | None = None) -> Bill:
        return bills.bill(self, tenant, since, until)

    def revenue(self) -> int:
        """M14: added up as time passed, not from the bills."""
        return self.revenue_so_far

    def charge(self, tenant: str, lease_id: int) -> int:
        return bills.lease_charge(self.leases_on_books[tenant, lease_id], 0, self.now)

    def price_history(self, tenant: str, lease_id: int) -> tuple[PriceSegment, ...]:
        return bills.price_history(self.leases_on_books[tenant, lease_id])
