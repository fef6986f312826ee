"""How far the nodes that are held go: each is put to prefill or to decode, and each pool is served
to some share of its need.

A request needs both pools, so what is served in time is what the pool that is worse off serves, and
nodes are split so that this is most. Types differ in what they are comparatively good at. If they
stand in the order of how much more of the prefill need than of the decode need one covers, a good
split gives the first ones to prefill and the rest to decode; so there are only as many splits to
look at as there are nodes. A further node can be put into any such split on its own side of the
cut, and makes neither pool worse: what is lost never rises with what is held.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from laissez.tenants.dynamo.credits import LATE_MIN, Credits
from laissez.tenants.dynamo.planner import Plan


class Step(msgspec.Struct, frozen=True, gc=False):
    """The share of each pool's need that one node covers. A pool that needs nothing gains
    nothing."""

    prefill: float
    decode: float

    @property
    def advantage(self) -> float:
        """How much rather it is put to prefill, from 0 to 1."""
        return (
            self.prefill / (self.prefill + self.decode) if self.prefill + self.decode > 0 else 0.0
        )


class Standing(msgspec.Struct, frozen=True, gc=False):
    """How some nodes serve: the shares that are late and what that loses; and the share beyond
    need."""

    prefill_late: float
    decode_late: float
    lost: float
    spare: float

    @property
    def gap(self) -> float:
        """What is lost; if nothing is, minus what is to spare."""
        return self.lost if self.lost > 0 else -self.spare

    def closed_by(self, step: Step) -> float:
        """What a node with this step is worth on the way to the objective.

        A single node often helps nothing, where the other pool would have to grow as well; yet
        without it the objective is not reached. So each node on the way has its share of what all
        of them together gain: one over how many such nodes are missing.
        """
        prefills, decodes = (
            _missing(self.prefill_late, step.prefill),
            _missing(self.decode_late, step.decode),
        )
        missing = prefills + decodes
        if missing <= 0:
            return 0.0
        # it can do one of the two only: its part of what that pool lacks
        if missing == float("inf"):
            late, covered = (
                (self.decode_late, step.decode)
                if prefills == missing
                else (self.prefill_late, step.prefill)
            )
            return (
                self.lost * min(1.0, covered / (self.prefill_late + self.decode_late))
                if late > 0
                else 0.0
            )
        return self.lost * min(1.0, 1 / missing)


class Change(msgspec.Struct, frozen=True, gc=False):
    """A node that comes or goes: how all stand without it and with it, and its share of what is
    lost without it."""

    before: Standing
    after: Standing
    share: float


def step_of(plan: Plan, tree: str, gpus: int) -> Step:
    """What one of the `gpus` GPUs of an engine covers."""
    one = plan.capacity[tree]
    return Step(
        _covered(plan.prefill_need, one.prefill, plan.min_endpoint) / gpus,
        _covered(plan.decode_need, one.decode, plan.min_endpoint) / gpus,
    )


class Pools:
    """The two pools of a plan, of which one node of each type covers its step; a pool that is not
    `wanted` is served as it is."""

    def __init__(self, steps: Sequence[Step], wanted: tuple[bool, bool], credits: Credits) -> None:
        self._order = sorted(range(len(steps)), key=lambda at: -steps[at].advantage)
        self._steps = [(at, steps[at].prefill, steps[at].decode) for at in self._order]
        self._base = (0.0 if wanted[0] else 1.0, 0.0 if wanted[1] else 1.0)
        self._credits = credits

    def stand(self, counts: Sequence[int]) -> Standing:
        """How so many nodes of each type serve."""
        (served, _, prefill, decode), _ = self._best(counts)
        late = _late(served)
        return Standing(
            _late(prefill),
            _late(decode),
            self._credits(late),
            0.0 if late else max(0.0, 1 - 1 / served),
        )

    def prefills(self, counts: Sequence[int]) -> tuple[int, ...]:
        """How many of so many nodes of each type prefill."""
        _, left = self._best(counts)
        taken = [0] * len(counts)
        for at in self._order:
            taken[at] = min(counts[at], left)
            left -= taken[at]
        return tuple(taken)

    def _best(self, counts: Sequence[int]) -> tuple[tuple[float, float, float, float], int]:
        """The best split: what it serves, both pools together and each of them, and how many nodes
        prefill."""
        prefill, base = self._base
        decodes = [counts[at] * write for at, _, write in self._steps]
        decode = base + sum(decodes)
        served = prefill if prefill < decode else decode
        best, prefills, before = (served, prefill + decode, prefill, decode), 0, 0
        for position, (at, read, write) in enumerate(self._steps, 1):
            count, rest = counts[at], base + sum(decodes[position:])
            for moved in range(1, count + 1):
                decode = rest + (count - moved) * write
                if decode < best[0]:  # and with every further one even less
                    break
                reads = prefill + moved * read
                served = reads if reads < decode else decode
                if served >= best[0] and (found := (served, reads + decode, reads, decode)) > best:
                    best, prefills = found, before + moved
            prefill += count * read
            before += count
        return best, prefills


def _covered(need: float, capacity: float, min_endpoint: int) -> float:
    """The share of a pool that one engine covers: of its need, but never more than of its fewest
    engines."""
    if capacity <= 0 or (need <= 0 and not min_endpoint):
        return 0.0
    return min(
        capacity / need if need > 0 else float("inf"),
        1 / min_endpoint if min_endpoint else float("inf"),
    )


def _late(served: float) -> float:
    return 1 - served if served < 1 - LATE_MIN else 0.0


def _missing(late: float, covered: float) -> float:
    """How many such nodes a pool lacks."""
    if late <= 0:
        return 0.0
    return late / covered if covered > 0 else float("inf")
