"""The hardware: one tree per type, as zones, rows, racks, hosts and GPUs, and what it costs on
demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice, product
from pathlib import Path
from typing import Final

import msgspec

from laissez.market import Market, SnapshotError, Topology
from laissez.market.answers import LeaseView, OrderView
from laissez.sim.scenario import ScenarioError
from laissez.tenants.paths import parent_of
from laissez.units import MICRO_PER_DOLLAR

LEVELS: Final = ("type", "zone", "row", "rack", "host", "gpu")
# of the level above, in the clusters that a scenario describes by a count; zones grow as needed
ZONES, ROWS, RACKS, HOSTS = 2, 2, 4, 4


class Cluster(msgspec.Struct, frozen=True):
    """`prices` are on demand, in micro-dollars per GPU-hour, by type; `floors` are what the market
    starts at."""

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
    """So many GPUs of each type, host by host; the last host of a type may have fewer."""
    leaves = [
        leaf for tree, count in counts.items() for leaf in _leaves(tree, count, gpus_per_host)
    ]
    dear = {tree: round(prices[tree] * MICRO_PER_DOLLAR) for tree in counts}
    return Cluster(
        Topology.of(leaves, dict.fromkeys(counts, LEVELS)),
        dear,
        {tree: round(price * floor_share) for tree, price in dear.items()},
        gpus_per_host,
    )


def _leaves(tree: str, count: int, gpus_per_host: int) -> list[str]:
    """Hosts are filled one after the other, in both zones by turns of a row, so that even a small
    cluster has some of each."""
    zones = max(ZONES, -(-count // (gpus_per_host * ROWS * RACKS * HOSTS)))
    width = len(str(zones))
    hosts = (
        f"{tree}/zone{zone:0{width}}/row{row}/rack{rack}/host{host}"
        for row, rack, host, zone in product(
            range(1, ROWS + 1), range(1, RACKS + 1), range(1, HOSTS + 1), range(1, zones + 1)
        )
    )
    return list(
        islice((f"{host}/gpu{gpu}" for host in hosts for gpu in range(gpus_per_host)), count)
    )


SERVERS: Final = b"LZSNAP"  # how the snapshots of a server begin, which hold more than its market
SERVERS_HINT: Final = (
    " (this is the snapshot of a server: `laissez sim from-journal` makes a start from it)"
)


class Start(msgspec.Struct, frozen=True):
    """Where a run begins, for clouds that are no market too."""

    data: bytes
    cluster: Cluster
    tenants: tuple[str, ...]  # that hold or ask for something, by first appearance
    known: frozenset[str]  # all that ever asked: their names are taken
    leases: tuple[LeaseView, ...]
    orders: tuple[OrderView, ...]  # in the order of their places in the queue
    offline: tuple[str, ...]

    def market(self) -> Market:
        return Market.restore(self.data)


def read_start(path: str, prices: Mapping[str, float]) -> Start:
    """The market in a file. `prices` are what other clouds ask for the types that they list; for
    others they ask the floor of the tree."""
    try:
        data = Path(path).read_bytes()
        market = Market.restore(data)
    except OSError as error:
        raise ScenarioError(
            f"start: expected a market that can be read from {path}: {error.strerror}"
        ) from None
    except SnapshotError as error:
        raise ScenarioError(
            f"start: {path}: {error}{SERVERS_HINT if data.startswith(SERVERS) else ''}"
        ) from None
    return start_of(market, data, prices)


def start_of(market: Market, data: bytes, prices: Mapping[str, float]) -> Start:
    leases, orders = market.leases(), market.orders()
    busy = {one.tenant for one in leases} | {one.tenant for one in orders}
    return Start(
        data=data,
        cluster=_cluster(market, prices),
        tenants=tuple(tenant for tenant in market.tenants() if tenant in busy),
        known=frozenset(market.tenants()),
        leases=leases,
        orders=orders,
        offline=tuple(leaf for leaf in market.topology.leaves if not market.is_online(leaf)),
    )


def _cluster(market: Market, prices: Mapping[str, float]) -> Cluster:
    topology = market.topology
    floors = {tree: market.floor(tree) for tree in topology.roots}
    listed = {
        tree: round(prices[tree] * MICRO_PER_DOLLAR) for tree in topology.roots if tree in prices
    }
    hosts = Counter(map(parent_of, topology.leaves))
    deepest = max(leaf.count("/") + 1 for leaf in topology.leaves)
    return Cluster(
        topology,
        floors | listed,
        floors,
        gpus_per_host=max(hosts.values()),
        leaf_words=max(3, deepest),
    )
