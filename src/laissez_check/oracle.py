"""The literal market: slow, obvious, and written from `docs/market.md` alone.

It shares no code with `laissez.market`, only the vocabulary (commands, events, reasons, answers).
Every order is copied to every leaf it covers, every rate is recomputed when asked for, bills are
integrated as time passes. Rule numbers are those of `docs/market.md`.
"""

from __future__ import annotations

from laissez.market.answers import Bill, LeaseView, OrderView, PriceSegment, TenantCounts
from laissez.market.commands import (
    SHOWN_MAX,
    TIME_MAX_US,
    AdvanceTime,
    AmendOrder,
    BringOnline,
    CancelOrder,
    CloseBooks,
    Command,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)
from laissez.market.events import (
    BooksClosed,
    ControlsSet,
    Event,
    FeeCharged,
    FloorSet,
    LeafBroughtOnline,
    LeafTakenOffline,
    LimitSet,
    OrderAmended,
    OrderCancelled,
    OrderPlaced,
    Refused,
)
from laissez.market.reasons import EndReason
from laissez_check import oracle_bills as bills
from laissez_check import oracle_controls as controls
from laissez_check.oracle_clearing import Clearing
from laissez_check.oracle_guards import (
    TENANT_COMMANDS,
    Refusal,
    is_tenant_name,
    refusal,
    refuse_time,
)
from laissez_check.oracle_state import Fee, Lease, Order


class UnknownScope(KeyError):
    """No such node, or none the tenant may see: the same answer (M12)."""


class Oracle(Clearing):
    """The market, told by commands and asked by questions, as `laissez.market.Market` is."""

    def apply(self, command: Command, at: int) -> list[Event]:
        """Let time pass, then judge the command and carry it out."""
        self.happened = []
        wrong_time = refuse_time(self, command, at)
        if wrong_time is not None:
            return [self.refused(command, wrong_time)]
        self.let_time_pass(at)
        why_not = refusal(self, command)
        if why_not is not None:
            self.happened.append(self.refused(command, why_not))
        else:
            self.carry_out(command)
            controls.write_history(self)
        assert all(self.is_stable(leaf) for leaf in self.topology.leaves), "M7"
        return self.happened

    def refused(self, command: Command, why: Refusal) -> Refused:
        tenant = getattr(command, "tenant", None)
        sender = tenant if isinstance(tenant, str) and is_tenant_name(tenant) else None
        subject = "".join(
            "?" if "\ud800" <= character <= "\udfff" else character
            for character in why.subject[:SHOWN_MAX]
        )
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
        if isinstance(command, TENANT_COMMANDS):
            self.tenants_seen.add(command.tenant)
        match command:
            case PlaceOrder():
                self.place(command)
            case AmendOrder():
                self.amend(command)
            case CancelOrder():
                self.cancel(command)
            case SetLimit():
                self.set_limit(command)
            case Relinquish():
                self.open(
                    self.leases_on_books[command.tenant, command.lease].leaf,
                    EndReason.BUDGET_SPENT if command.budget_spent else EndReason.RELINQUISHED,
                )
            case SetFloor():
                self.set_floor(command)
            case SetControls():
                controls.set_controls(self, command)
                self.happened.append(
                    ControlsSet(
                        self.now,
                        command.node,
                        command.rise,
                        command.fall,
                        command.hold_us,
                        command.flash_us,
                    )
                )
            case TakeOffline():
                self.take_offline(command.leaf)
            case BringOnline():
                self.offline.remove(command.leaf)
                self.happened.append(LeafBroughtOnline(self.now, command.leaf))
            case AdvanceTime():
                pass
            case CloseBooks():
                bills.close_books(self, command.before)
                self.happened.append(BooksClosed(self.now, command.before))
        if not isinstance(command, PlaceOrder | AmendOrder):
            self.clear()

    def next_sequence(self) -> int:
        """M10: placing and amending draw from one count, whoever the tenant."""
        self.sequences_used += 1
        return self.sequences_used

    def place(self, command: PlaceOrder) -> None:
        alternatives = tuple(
            controls.clip_bid(self, alternative) for alternative in command.alternatives
        )
        liabilities = controls.liabilities_after(self, None, {}, alternatives)
        number = self.orders_placed.get(command.tenant, 0) + 1
        self.orders_placed[command.tenant] = number
        order = Order(
            number, command.tenant, self.now, self.next_sequence(), alternatives, liabilities
        )
        self.add_order(order)
        self.happened.append(
            OrderPlaced(
                self.now, order.tenant, order.id, alternatives, alternatives != command.alternatives
            )
        )
        self.clear_for(order)

    def amend(self, command: AmendOrder) -> None:
        old = self.open_orders[command.tenant, command.order]
        alternatives = tuple(
            controls.clip_bid(self, alternative) for alternative in command.alternatives
        )
        fees, remaining = controls.withdraw(self, old, alternatives)
        liabilities = controls.liabilities_after(self, old, remaining, alternatives)
        order = Order(
            old.id, old.tenant, old.placed_at, self.next_sequence(), alternatives, liabilities
        )
        self.remove_order(old)
        self.add_order(order)
        self.happened.append(
            OrderAmended(
                self.now, order.tenant, order.id, alternatives, alternatives != command.alternatives
            )
        )
        self.charge_fees(fees)
        self.clear_for(order)

    def cancel(self, command: CancelOrder) -> None:
        order = self.open_orders[command.tenant, command.order]
        fees, _ = controls.withdraw(self, order, ())
        self.remove_order(order)
        self.happened.append(OrderCancelled(self.now, order.tenant, order.id))
        self.charge_fees(fees)

    def charge_fees(self, fees: list[Fee]) -> None:
        for fee in fees:
            self.fees_on_books.append(fee)
            self.happened.append(
                FeeCharged(self.now, fee.tenant, fee.order, fee.scope, fee.rate, fee.end)
            )

    def set_limit(self, command: SetLimit) -> None:
        lease = self.leases_on_books[command.tenant, command.lease]
        lease.limit = command.limit
        self.happened.append(LimitSet(self.now, lease.tenant, lease.id, lease.leaf, lease.limit))

    def set_floor(self, command: SetFloor) -> None:
        asked = command.price or 0
        price = controls.clip_floor(self, command.node, asked)
        self.floors[command.node] = price
        self.happened.append(FloorSet(self.now, command.node, price, price != asked))

    def take_offline(self, leaf: str) -> None:
        self.happened.append(LeafTakenOffline(self.now, leaf))
        if self.lease_at[leaf] is not None:
            self.end_lease(leaf, EndReason.TAKEN_OFFLINE)
        self.offline.add(leaf)

    def next_deadline(self) -> int | None:
        """When the next hold ends, if time can ever get there."""
        ends = [
            lease.hold_until
            for lease in self.live_leases()
            if lease.hold_until is not None and self.is_held(lease)
        ]
        return min((end for end in ends if end <= TIME_MAX_US), default=None)

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
        """Of all by sequence, of one tenant by id."""
        chosen = (
            sorted(self.open_orders.values(), key=lambda order: order.sequence)
            if tenant is None
            else sorted(
                (order for order in self.open_orders.values() if order.tenant == tenant),
                key=lambda order: order.id,
            )
        )
        return tuple(
            OrderView(order.id, order.tenant, order.placed_at, order.sequence, order.alternatives)
            for order in chosen
        )

    def counts(self, tenant: str) -> TenantCounts:
        return TenantCounts(
            self.orders_placed.get(tenant, 0),
            sum(order.tenant == tenant for order in self.open_orders.values()),
            self.leases_started.get(tenant, 0),
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
        rate, charged = (
            (self.rate(lease.leaf), self.charged(lease)) if lease.end is None else (0, 0)
        )
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
            rate,
            charged,
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
