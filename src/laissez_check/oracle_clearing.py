"""Opening leaves until the market is stable (M7 to M9), by looking at every leaf before every
step."""

from __future__ import annotations

from laissez.market.commands import Alternative
from laissez.market.events import Event, LeaseEnded, LeaseStarted
from laissez.market.reasons import EndReason
from laissez_check import oracle_controls as controls
from laissez_check.oracle_state import Claim, Lease, Order, State


class Clearing(State):
    """The state, and the one way in which leases begin and end."""

    happened: list[Event]  # the events of the command under way

    def tell(self, event: Event) -> None:
        self.happened.append(event)

    def ask(self, leaf: str) -> int | None:
        """M9: the floor of an idle leaf, the limit of a leased one; `None` if no price opens it."""
        lease = self.lease_at[leaf]
        if lease is not None:
            return None if self.is_held(lease) else lease.limit
        return self.floor(leaf) if self.is_online(leaf) else None

    def is_stable(self, leaf: str) -> bool:
        """M7."""
        ask = self.ask(leaf)
        if ask is None:
            return True
        if self.lease_at[leaf] is not None:
            return self.rate(leaf) <= ask
        return all(claim.alternative.limit < ask for claim in self.claims[leaf])

    def winner(self, leaf: str) -> Claim | None:
        """M8: the highest limit, then the deepest scope, then the lowest sequence number."""
        able = [claim for claim in self.claims[leaf] if claim.alternative.limit >= self.floor(leaf)]

        def precedence(claim: Claim) -> tuple[int, int, int]:
            wanted = claim.alternative
            return wanted.limit, wanted.scope.count("/"), -claim.order.sequence

        return max(able, key=precedence, default=None)

    def open(self, leaf: str, reason: EndReason | None = None) -> None:
        """M8. Without a reason the lease is lost for price (M13)."""
        if self.lease_at[leaf] is not None:
            self.end_lease(leaf, reason or self.reason_for_price(leaf))
        winner = self.winner(leaf)
        if winner is not None:
            self.remove_order(winner.order)
            self.start_lease(leaf, winner.order, winner.alternative.limit)

    def reason_for_price(self, leaf: str) -> EndReason:
        """M13."""
        by_floor = self.floor(leaf) >= self.foreign_bid(leaf)
        return EndReason.FLOOR_RAISED if by_floor else EndReason.OUTBID

    def end_lease(self, leaf: str, reason: EndReason) -> None:
        lease = self.lease_at[leaf]
        assert lease is not None
        rate = self.rate(leaf)
        self.tell(LeaseEnded(self.now, lease.tenant, lease.id, leaf, reason, rate, lease.limit))
        lease.end = self.now
        self.lease_at[leaf] = None

    def start_lease(self, leaf: str, order: Order, limit: int) -> None:
        """M6, M10, M17."""
        hold_us = controls.governing(self, self.holds_us, leaf)
        until = None if hold_us is None else self.now + hold_us
        self.fences_used += 1
        self.leases_started[order.tenant] += 1
        id, fence = self.leases_started[order.tenant], self.fences_used
        lease = Lease(id, order.tenant, leaf, order.id, fence, self.now, limit, limit, until)
        self.lease_at[leaf] = self.leases_on_books[lease.tenant, id] = lease
        rate = self.rate(leaf)
        self.tell(LeaseStarted(self.now, lease.tenant, id, leaf, order.id, rate, limit, until))

    def clear_for(self, order: Order) -> None:
        """M9 after *place* and *amend*: while the order is open and can take a leaf, the leaf with
        the largest surplus opens; of equals idle ones first, then the first in path order."""
        steps_left = len(self.open_orders) + len(self.claims)
        while (order.tenant, order.id) in self.open_orders and (surplus := self.can_take(order)):
            assert steps_left > 0, "clearing does not end"
            steps_left -= 1
            *_, leaf = max(
                (surplus[leaf], self.lease_at[leaf] is None, -place, leaf)
                for place, leaf in enumerate(self.topology.leaves)
                if leaf in surplus
            )
            self.open(leaf)

    def can_take(self, order: Order) -> dict[str, int]:
        """M9: the leaves the order can take, each with its largest surplus."""
        surplus: dict[str, int] = {}
        for alternative in order.alternatives:
            for leaf in self.topology.leaves_below[alternative.scope]:
                ask = self.ask(leaf)
                if ask is not None and self.takes(order, alternative, leaf, ask):
                    surplus[leaf] = max(surplus.get(leaf, 0), alternative.limit - ask)
        return surplus

    def takes(self, order: Order, alternative: Alternative, leaf: str, ask: int) -> bool:
        """M9: an idle leaf by the limit, a leaf of another tenant by the bid."""
        owner = self.owner(leaf)
        if owner is None:
            return alternative.limit >= ask
        return owner != order.tenant and alternative.bid > ask

    def clear(self) -> None:
        """M9 after any other command: unstable leaves open, lowest ask first, idle before leased,
        then in path order."""
        steps_left = len(self.open_orders) + len(self.claims)
        while unstable := [leaf for leaf in self.topology.leaves if not self.is_stable(leaf)]:
            assert steps_left > 0, "clearing does not end"
            steps_left -= 1
            *_, leaf = min(
                (self.ask(leaf) or 0, self.lease_at[leaf] is not None, place, leaf)
                for place, leaf in enumerate(unstable)
            )
            self.open(leaf)
