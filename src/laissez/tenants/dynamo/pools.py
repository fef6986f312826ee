"""The service level of the nodes held: each node works in the prefill or the decode pool, and each
pool serves some share of its need.

A request needs both pools, so the worse pool decides how many requests are served in time, and
nodes are split so that this number is largest. Types have different comparative advantages. With
types in the order of how much more of the prefill need than of the decode need one node covers, a
best split gives the first nodes to prefill and the rest to decode; so there are only as many splits
to look at as there are nodes. A further node can be put into any such split on its own side of the
cut, and makes neither pool worse: the loss never rises with the nodes held.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from laissez.tenants.dynamo.credits import LATE_MIN, Credits
from laissez.tenants.dynamo.planner import Plan


class Coverage(msgspec.Struct, frozen=True, gc=False):
    """The share of each pool's need that one node covers; 0 for a pool that needs nothing."""

    prefill: float
    decode: float

    @property
    def advantage(self) -> float:
        """The comparative advantage at prefill over decode, from 0 to 1."""
        both = self.prefill + self.decode
        return self.prefill / both if both > 0 else 0.0


class ServiceLevel(msgspec.Struct, frozen=True, gc=False):
    """The late shares of the needs, the share of revenue lost, and that of spare capacity."""

    prefill_late: float
    decode_late: float
    lost: float
    spare: float

    @property
    def gap(self) -> float:
        """The loss or, without a loss, minus the spare capacity."""
        return self.lost if self.lost > 0 else -self.spare

    def closed_by(self, node: Coverage) -> float:
        """The worth of a node on the way to the objective.

        A single node often helps nothing, where the other pool would have to grow as well; yet
        without it the objective is not reached. So each node on the way has an equal share of what
        all of them together gain: one over the number of such nodes that are missing.
        """
        prefills = _missing(self.prefill_late, node.prefill)
        decodes = _missing(self.decode_late, node.decode)
        missing = prefills + decodes
        if missing <= 0:
            return 0.0
        if missing < math.inf:
            return self.lost * min(1.0, 1 / missing)
        # It can work in one pool only, and covers its part of what both pools lack.
        late, covered = (
            (self.decode_late, node.decode)
            if prefills == missing
            else (self.prefill_late, node.prefill)
        )
        if late <= 0:
            return 0.0
        return self.lost * min(1.0, covered / (self.prefill_late + self.decode_late))


class Change(msgspec.Struct, frozen=True, gc=False):
    """The service level without a node and with it, and the node's share of the loss without it."""

    before: ServiceLevel
    after: ServiceLevel
    share: float


def coverage(plan: Plan, tree: str, gpus: int) -> Coverage:
    """The coverage of one of the `gpus` GPUs of an engine."""
    one = plan.capacity[tree]
    return Coverage(
        _covered(plan.prefill_need, one.prefill, plan.min_endpoint) / gpus,
        _covered(plan.decode_need, one.decode, plan.min_endpoint) / gpus,
    )


class Pools:
    """The two pools of a plan. A pool that is not `wanted` counts as served."""

    def __init__(
        self, nodes: Sequence[Coverage], wanted: tuple[bool, bool], credits: Credits
    ) -> None:
        self._order = sorted(range(len(nodes)), key=lambda at: -nodes[at].advantage)
        self._nodes = [(at, nodes[at].prefill, nodes[at].decode) for at in self._order]
        self._base = (0.0 if wanted[0] else 1.0, 0.0 if wanted[1] else 1.0)
        self._credits = credits

    def service_level(self, counts: Sequence[int]) -> ServiceLevel:
        """The service level with these numbers of nodes, by type."""
        (served, _, prefill, decode), _ = self._best(counts)
        late = _late(served)
        spare = 0.0 if late else max(0.0, 1 - 1 / served)
        return ServiceLevel(_late(prefill), _late(decode), self._credits(late), spare)

    def prefills(self, counts: Sequence[int]) -> tuple[int, ...]:
        """The numbers of nodes that prefill, by type."""
        _, left = self._best(counts)
        taken = [0] * len(counts)
        for at in self._order:
            taken[at] = min(counts[at], left)
            left -= taken[at]
        return tuple(taken)

    def _best(self, counts: Sequence[int]) -> tuple[tuple[float, float, float, float], int]:
        """The best split: the shares served by the worse pool, by both together and by each, and
        how many nodes prefill."""
        prefill, base = self._base
        decodes = [counts[at] * decode for at, _, decode in self._nodes]
        decode = base + sum(decodes)
        served = prefill if prefill < decode else decode
        best, prefills, before = (served, prefill + decode, prefill, decode), 0, 0
        for position, (at, node_prefill, node_decode) in enumerate(self._nodes, 1):
            count, rest = counts[at], base + sum(decodes[position:])
            for moved in range(1, count + 1):
                decode = rest + (count - moved) * node_decode
                if decode < best[0]:  # and with every further one even less
                    break
                reads = prefill + moved * node_prefill
                served = reads if reads < decode else decode
                if served >= best[0] and (found := (served, reads + decode, reads, decode)) > best:
                    best, prefills = found, before + moved
            prefill += count * node_prefill
            before += count
        return best, prefills


def _covered(need: float, capacity: float, min_endpoint: int) -> float:
    """The covered share of a pool's need, at most that of its fewest engines."""
    if capacity <= 0 or (need <= 0 and not min_endpoint):
        return 0.0
    return min(
        capacity / need if need > 0 else math.inf, 1 / min_endpoint if min_endpoint else math.inf
    )


def _late(served: float) -> float:
    return 1 - served if served < 1 - LATE_MIN else 0.0


def _missing(late: float, covered: float) -> float:
    """The number of such nodes that a pool lacks."""
    if late <= 0:
        return 0.0
    return late / covered if covered > 0 else math.inf
