"""The market under load in process: one tree, every leaf leased, thousands of orders waiting at its
root."""

from __future__ import annotations

import random

from laissez.market import (
    Alternative,
    Command,
    Market,
    OrderPlaced,
    PlaceOrder,
    Refused,
    SetFloor,
    Topology,
    at_price,
)

GPUS_PER_HOST, HOSTS_PER_RACK, RACKS_PER_ROW, ROWS_PER_ZONE = 8, 4, 10, 4
TENANTS = 500
FLOOR = 1_000_000
BIDS = (1_000_000, 4_900_000)  # of waiting orders: below every limit, so that they keep waiting
LIMITS = (5_000_000, 9_000_000)  # of leases and of waiting orders
PLACES = 256  # leaves that a load names: 32 hosts


def tree(leaves: int) -> Topology:
    """An H100 tree of zones, rows, racks, hosts and GPUs with exactly this many leaves."""
    return Topology.of(
        [_path(i) for i in range(leaves)], {"h100": ("type", "zone", "row", "rack", "host", "gpu")}
    )


def _path(i: int) -> str:
    host = i // GPUS_PER_HOST
    rack = host // HOSTS_PER_RACK
    row = rack // RACKS_PER_ROW
    zone = row // ROWS_PER_ZONE
    return f"h100/zone{zone:03}/row{row:03}/rack{rack:04}/host{host:05}/gpu{i % GPUS_PER_HOST}"


class Crowd:
    """A filled market, and a seeded source of commands that keep its numbers of leases and about
    those of resting orders.

    The commands name `places` leaves: those of as many whole hosts, drawn once from the whole tree.
    The number of leaves and of hosts does not depend on the tree's size, so that only the work of
    the market grows with the tree, and not the memory that a processor's cache has to hold.
    """

    def __init__(self, leaves: int, resting: int, places: int = PLACES, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.tenants = [f"tenant{i:03}" for i in range(TENANTS)]
        self.market = Market(tree(leaves), orders_per_tenant_max=max(1_000, leaves))
        self.now = 0
        self.resting: dict[tuple[str, int], None] = {}  # by tenant and order, in order of arrival
        drawn = min(places, leaves) // GPUS_PER_HOST
        hosts = self.random.sample(range(leaves // GPUS_PER_HOST), drawn)
        gpus = [host * GPUS_PER_HOST + gpu for host in hosts for gpu in range(GPUS_PER_HOST)]
        self.places = [_path(gpu) for gpu in gpus]
        self.do(SetFloor("h100", FLOOR))
        for i in range(leaves):
            limit = at_price("h100", self.random.randint(*LIMITS))
            self.do(PlaceOrder(self.tenants[i % TENANTS], (limit,)))
        for _ in range(resting):
            self.place_one("h100")

    def do(self, command: Command) -> list[object]:
        self.now += 1
        events: list[object] = [*self.market.apply(command, self.now)]
        assert not isinstance(events[-1], Refused), events
        return events

    def tenant(self) -> str:
        return self.random.choice(self.tenants)

    def leaf(self) -> str:
        return self.random.choice(self.places)

    def lease(self, leaf: str) -> tuple[str, int]:
        """The tenant and its number for the lease of a leaf."""
        lease = self.market.lease_on(leaf)
        assert lease is not None
        return lease.tenant, lease.lease

    def waiting(self, scope: str) -> Alternative:
        """An alternative that will rest: its bid is below every limit."""
        return Alternative(scope, self.random.randint(*BIDS), self.random.randint(*LIMITS))

    def place_one(self, scope: str) -> None:
        tenant = self.tenant()
        placed = self.do(PlaceOrder(tenant, (self.waiting(scope),)))[0]
        assert isinstance(placed, OrderPlaced)
        self.resting[tenant, placed.order] = None
