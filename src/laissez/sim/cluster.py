"""The hardware: one tree per type, as zones, rows, racks, hosts and GPUs, and what it costs on
demand."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, product
from typing import Final

import msgspec

from laissez.market import Topology
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
