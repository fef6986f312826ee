"""Starting from a market as it was: its cluster, who holds what up to which price, and which orders
rest.

A start is the bytes of `Market.snapshot()`. Every run restores a market of its own from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from laissez.market import Market, SnapshotError
from laissez.market.answers import LeaseView, OrderView
from laissez.sim.cluster import Cluster
from laissez.sim.errors import ScenarioError
from laissez.tenants.paths import parent_of
from laissez.units import MICRO_PER_DOLLAR

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
