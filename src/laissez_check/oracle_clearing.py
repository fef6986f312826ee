"""Opening leaves until the market is stable (M7 to M9), by looking at every leaf before every
step."""

from __future__ import annotations

from laissez.market.commands import Alternative
from laissez.market.events import Event, LeaseEnded, LeaseStarted
from laissez.market.reasons import EndReason
from laissez_check import oracle_controls as controls
from laissez_check.oracle_state import Claim, Lease, Order, State


class Clearing(State):
    """The state, and the one way leases begin and end. `happened` collects the events of the
    command under way."""

    happened: list[Event]

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
        return max(
            able,
            key=lambda claim: (
                claim.alternative.limit,
                claim.alternative.scope.count("/"),
                -claim.order.sequence,
            ),
            default=None,
        )

    def open(self, leaf: str, reason: EndReason | None = None) -> None:
        """M8. Without a reason the lease is lost for price (M13)."""
        if self.lease_at[leaf] is not None:
            self.end_lease(leaf, reason or self.reason_for_price(leaf))
        winner = self.winner(leaf)
        if winner is not None:
            self.remove_order(winner.order)
            self.start_lease(leaf, winner.order, winner.alternative)

    def reason_for_price(self, leaf: str) -> EndReason:
        """M13."""
        return (
            EndReason.FLOOR_RAISED
            if self.floor(leaf) >= self.foreign_bid(leaf)
            else EndReason.OUTBID
        )

    def end_lease(self, leaf: str, reason: EndReason) -> None:
        lease = self.lease_at[leaf]
        assert lease is not None
        self.happened.append(
            LeaseEnded(self.now, lease.tenant, lease.id, leaf, reason, self.rate(leaf), lease.limit)
        )
        lease.end = self.now
        self.lease_at[leaf] = None

    def start_lease(self, leaf: str, order: Order, alternative: Alternative) -> None:
        """M6, M10, M17."""
        hold_us = controls.governing(self, self.holds_us, leaf)
        hold_until = None if hold_us is None else self.now + hold_us
        self.fences_used += 1
        number = self.leases_started.get(order.tenant, 0) + 1
        self.leases_started[order.tenant] = number
        lease = Lease(
            number,
            order.tenant,
            leaf,
            order.id,
            self.fences_used,
            self.now,
            alternative.limit,
            alternative.limit,
            hold_until,
        )
        self.lease_at[leaf] = self.leases_on_books[lease.tenant, lease.id] = lease
        self.happened.append(
            LeaseStarted(
                self.now,
                order.tenant,
                lease.id,
                leaf,
                order.id,
                self.rate(leaf),
                alternative.limit,
                hold_until,
            )
        )

    def clear_for(self, order: Order) -> None:
        """M9 after *place* and *amend*: while the order is open and can take a leaf, the leaf with
        the largest surplus opens."""
        steps_left = len(self.open_orders) + len(self.claims)
        while (order.tenant, order.id) in self.open_orders and (takes := self.can_take(order)):
            assert steps_left > 0, "clearing does not end"
            steps_left -= 1
            self.open(
                max(
                    takes,
                    key=lambda leaf: (
                        takes[leaf],
                        self.lease_at[leaf] is None,
                        -self.topology.leaves.index(leaf),
                    ),
                )
            )

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
            self.open(
                min(
                    unstable,
                    key=lambda leaf: (
                        self.ask(leaf) or 0,
                        self.lease_at[leaf] is not None,
                        self.topology.leaves.index(leaf),
                    ),
                )
            )
