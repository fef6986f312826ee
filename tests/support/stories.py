"""Market stories as tables: time, command, then the owners of the leaves and the rates.

    story = Story("h/a", "h/b")
    story.goes(
        (0, place("ann", "h 5"), "ann -", "0 0"),
        (7, SetFloor("h", 3), "ann -", "3 3"),
    )

Owners and rates are in path order; `-` is an idle leaf, `x` an offline one. An alternative is
written `scope price`, `scope bid..limit`, or `scope ..limit` at market. In every story, each rate
must be that of M5 and each step must leave a stable market (M7).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from laissez.market import (
    Alternative,
    AmendOrder,
    Command,
    Event,
    Market,
    OrderAmended,
    OrderPlaced,
    PlaceOrder,
    Reason,
    Refused,
    SetLimit,
    Topology,
)
from laissez.market.answers import OrderView

Row: TypeAlias = tuple[int, Command, str] | tuple[int, Command, str, str]
Why: TypeAlias = tuple[Reason, str, int | None, int | None]


def alternative(text: str) -> Alternative:
    scope, _, price = text.partition(" ")
    bid, dots, limit = price.rpartition("..")
    return Alternative(scope, int(bid or "0") if dots else int(limit), int(limit))


def place(tenant: str, *alternatives: str) -> PlaceOrder:
    return PlaceOrder(tenant, tuple(alternative(text) for text in alternatives))


def amend(tenant: str, order: int, *alternatives: str) -> AmendOrder:
    return AmendOrder(tenant, order, tuple(alternative(text) for text in alternatives))


class Story:
    def __init__(self, *leaves: str, orders_per_tenant_max: int = 1_000) -> None:
        self.market = Market(Topology.of(leaves), orders_per_tenant_max)

    def at(self, time: Any, command: Command) -> list[Event]:
        """Apply one command; the market must be stable after it."""
        events = self.market.apply(command, time)
        orders = self.market.orders()
        for leaf in self.market.topology.leaves:
            self._check_leaf(leaf, orders)
        return events

    def goes(self, *rows: Row) -> None:
        """Apply one accepted command per row. After each, compare the owners, and the given
        rates."""
        for time, command, *expected in rows:
            events = self.at(time, command)
            assert not isinstance(events[-1] if events else None, Refused), (
                f"{command} was refused: {events}"
            )
            assert (expected[0].split(), command) == (self.owners(), command)
            if len(expected) > 1:
                assert ([int(rate) for rate in expected[1].split()], command) == (
                    self.rates(),
                    command,
                )

    def why(self, time: Any, command: Command) -> Why:
        """Apply a command that must be refused; returns the reason."""
        refused = self.at(time, command)[-1]
        assert isinstance(refused, Refused), f"{command} was not refused"
        return refused.reason, refused.subject, refused.found, refused.bound

    def owners(self) -> list[str]:
        market = self.market
        return [
            market.owner(leaf) or ("-" if market.is_online(leaf) else "x")
            for leaf in market.topology.leaves
        ]

    def rates(self) -> list[int]:
        return [self.market.rate(leaf) for leaf in self.market.topology.leaves]

    def lease(self, tenant: str, leaf: str) -> int:
        """The tenant's number for its lease of a leaf; 0 if it holds none."""
        lease = self.market.lease_on(leaf)
        return lease.lease if lease is not None and lease.tenant == tenant else 0

    def charge(self, tenant: str) -> int:
        return self.market.bill(tenant).total

    def _check_leaf(self, leaf: str, orders: tuple[OrderView, ...]) -> None:
        """Check M5 and M7 literally."""
        owner, floor, lease = (
            self.market.owner(leaf),
            self.market.floor(leaf),
            self.market.lease_on(leaf),
        )
        covering = [
            (order.tenant, each)
            for order in orders
            for each in order.alternatives
            if f"{leaf}/".startswith(f"{each.scope}/")
        ]
        rate = max([floor, *[each.bid for tenant, each in covering if tenant != owner]])
        assert rate == self.market.rate(leaf)
        if lease is not None:
            held = lease.hold_until is not None and self.market.now < lease.hold_until
            assert held or lease.limit is None or rate <= lease.limit
        elif self.market.is_online(leaf):
            assert all(each.limit < floor for _, each in covering)


def in_force(events: list[Event]) -> tuple[list[tuple[int, int]], bool]:
    """The bids and limits in force after place or amend, and whether a bid was clipped."""
    event = events[0]
    assert isinstance(event, OrderPlaced | OrderAmended)
    return [(each.bid, each.limit) for each in event.alternatives], event.clipped


def owned(*leaves: str) -> Story:
    """The tenant `own` holds every leaf at any price."""
    story = Story(*leaves)
    for lease, leaf in enumerate(leaves, 1):
        story.at(0, place("own", f"{leaf} 0"))
        story.at(0, SetLimit("own", lease, None))
    return story


def owned_by_all(*leases: str) -> Story:
    """Leaves and their owners, who hold them at any price."""
    pairs = [lease.split() for lease in leases]
    story = Story(*[leaf for leaf, _ in pairs])
    for leaf, owner in pairs:
        story.at(0, place(owner, f"{leaf} 0"))
        story.at(0, SetLimit(owner, story.lease(owner, leaf), None))
    return story
