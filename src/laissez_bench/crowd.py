"""The market that the benchmarks load: one tree, every leaf leased, thousands of orders waiting at
its root."""

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
BIDS = (1_000_000, 4_900_000)  # of those who wait: below every limit, so that they keep waiting
LIMITS = (5_000_000, 9_000_000)  # of those who hold, and how far those who wait would follow
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
    """A filled market, and a seeded source of commands that keep it as it is: as many leases, about
    as many resting orders.

    The commands name `places` leaves: those of as many whole hosts, drawn once from the whole tree.
    That is the same number of leaves and of hosts whatever the tree's size, so that what grows with
    the tree is the work of the market and not the share of it that a processor's cache can hold.
    """

    def __init__(self, leaves: int, resting: int, places: int = PLACES, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.tenants = [f"tenant{i:03}" for i in range(TENANTS)]
        self.market = Market(tree(leaves), orders_per_tenant_max=max(1_000, leaves))
        self.now = 0
        self.resting: dict[tuple[str, int], None] = {}  # by tenant and order, in order of arrival
        hosts = self.random.sample(
            range(leaves // GPUS_PER_HOST), min(places, leaves) // GPUS_PER_HOST
        )
        self.places = [
            _path(host * GPUS_PER_HOST + gpu) for host in hosts for gpu in range(GPUS_PER_HOST)
        ]
        self.do(SetFloor("h100", FLOOR))
        for i in range(leaves):
            self.do(
                PlaceOrder(
                    self.tenants[i % TENANTS], (at_price("h100", self.random.randint(*LIMITS)),)
                )
            )
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
        """An alternative that will rest: it presses below every limit."""
        return Alternative(scope, self.random.randint(*BIDS), self.random.randint(*LIMITS))

    def place_one(self, scope: str) -> None:
        tenant = self.tenant()
        placed = self.do(PlaceOrder(tenant, (self.waiting(scope),)))[0]
        assert isinstance(placed, OrderPlaced)
        self.resting[tenant, placed.order] = None
