"""The hardware of a run: built from counts of GPUs, or taken from the snapshot of a market."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice, product
from pathlib import Path
from typing import Final

import msgspec

from laissez.market import Market, Topology
from laissez.market.answers import LeaseView, OrderView
from laissez.market.errors import SnapshotError
from laissez.sim.scenario import ScenarioError
from laissez.tenants.paths import parent_of
from laissez.units import MICRO_PER_DOLLAR

LEVELS: Final = ("type", "zone", "row", "rack", "host", "gpu")
# of the level above, in a cluster that a scenario describes by counts; zones grow as needed
ZONES, ROWS, RACKS, HOSTS = 2, 2, 4, 4
SERVER_SNAPSHOT: Final = b"LZSNAP"  # first bytes of a server's snapshot, which holds more
SERVER_HINT: Final = (
    " (this is the snapshot of a server: `laissez sim from-journal` makes a start from it)"
)


class Cluster(msgspec.Struct, frozen=True):
    """One tree per type. `prices` on demand and the market's first `floors` are in micro-dollars
    per GPU-hour, by type."""

    topology: Topology
    prices: Mapping[str, int]
    floors: Mapping[str, int]
    gpus_per_host: int = 8
    leaf_words: int = len(LEVELS)

    @property
    def gpus(self) -> int:
        return len(self.topology.leaves)


def build(
    counts: Mapping[str, int],
    prices: Mapping[str, float],
    floor_share: float,
    gpus_per_host: int = 8,
) -> Cluster:
    """A cluster with these counts of GPUs by type; the last host of a type may have fewer."""
    leaves = [
        leaf for tree, count in counts.items() for leaf in _leaves(tree, count, gpus_per_host)
    ]
    on_demand = {tree: round(prices[tree] * MICRO_PER_DOLLAR) for tree in counts}
    floors = {tree: round(price * floor_share) for tree, price in on_demand.items()}
    topology = Topology.of(leaves, dict.fromkeys(counts, LEVELS))
    return Cluster(topology, on_demand, floors, gpus_per_host)


def _leaves(tree: str, count: int, gpus_per_host: int) -> list[str]:
    """Fill host after host in alternate zones, so that even small clusters use each."""
    zones = max(ZONES, -(-count // (gpus_per_host * ROWS * RACKS * HOSTS)))
    width = len(str(zones))
    hosts = (
        f"{tree}/zone{zone:0{width}}/row{row}/rack{rack}/host{host}"
        for row, rack, host, zone in product(
            range(1, ROWS + 1), range(1, RACKS + 1), range(1, HOSTS + 1), range(1, zones + 1)
        )
    )
    gpus = (f"{host}/gpu{gpu}" for host in hosts for gpu in range(gpus_per_host))
    return list(islice(gpus, count))


class Start(msgspec.Struct, frozen=True):
    """A market to start from: its cluster, leases and resting orders.

    `data` is `Market.snapshot()`; every run restores a market of its own from it.
    """

    data: bytes
    cluster: Cluster
    tenants: tuple[str, ...]  # with leases or orders, by first appearance
    known: frozenset[str]  # all that ever sent a command: their names are taken
    leases: tuple[LeaseView, ...]
    orders: tuple[OrderView, ...]  # in the order of the queue
    offline: tuple[str, ...]

    def market(self) -> Market:
        return Market.restore(self.data)


def read_start(path: str, prices: Mapping[str, float]) -> Start:
    """Read a snapshot. Types without a list price in `prices` cost the floor of their tree."""
    data = b""
    try:
        data = Path(path).read_bytes()
        market = Market.restore(data)
    except OSError as error:
        raise ScenarioError(
            f"start: expected a market that can be read from {path}: {error.strerror}"
        ) from None
    except SnapshotError as error:
        hint = SERVER_HINT if data.startswith(SERVER_SNAPSHOT) else ""
        raise ScenarioError(f"start: {path}: {error}{hint}") from None
    leases, orders = market.leases(), market.orders()
    busy = {*(one.tenant for one in leases), *(one.tenant for one in orders)}
    return Start(
        data=data,
        cluster=_cluster_of(market, prices),
        tenants=tuple(tenant for tenant in market.tenants() if tenant in busy),
        known=frozenset(market.tenants()),
        leases=leases,
        orders=orders,
        offline=tuple(leaf for leaf in market.topology.leaves if not market.is_online(leaf)),
    )


def _cluster_of(market: Market, prices: Mapping[str, float]) -> Cluster:
    topology = market.topology
    floors = {tree: market.floor(tree) for tree in topology.roots}
    listed = {
        tree: round(prices[tree] * MICRO_PER_DOLLAR) for tree in topology.roots if tree in prices
    }
    return Cluster(
        topology,
        floors | listed,
        floors,
        gpus_per_host=max(Counter(map(parent_of, topology.leaves)).values()),
        leaf_words=max(3, *(leaf.count("/") + 1 for leaf in topology.leaves)),
    )
