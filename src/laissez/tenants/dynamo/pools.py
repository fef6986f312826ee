"""How far the nodes that are held go: each is put to prefill or to decode, and each pool is served to some share of its need.

A request needs both pools, so what is served in time is what the pool that is worse off serves, and nodes are split so that this is most. Types
differ in what they are comparatively good at. If they stand in the order of how much more of the prefill need than of the decode need one covers, a
good split gives the first ones to prefill and the rest to decode; so there are only as many splits to look at as there are nodes. A further node can
be put into any such split on its own side of the cut, and makes neither pool worse: what is lost never rises with what is held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from laissez.tenants.dynamo.credits import LATE_MIN, Credits
from laissez.tenants.dynamo.planner import Plan


class Step(msgspec.Struct, frozen=True, gc=False):
    """The share of each pool's need that one node covers. A pool that needs nothing gains nothing."""

    prefill: float
    decode: float

    @property
    def advantage(self) -> float:
        """How much rather it is put to prefill, from 0 to 1."""
        return self.prefill / (self.prefill + self.decode) if self.prefill + self.decode > 0 else 0.0


class Standing(msgspec.Struct, frozen=True, gc=False):
    """How some nodes serve: the shares that are late and what that loses; the share beyond need; and how many of each type prefill."""

    prefill_late: float
    decode_late: float
    lost: float
    spare: float
    prefills: tuple[int, ...]

    @property
    def gap(self) -> float:
        """What is lost; if nothing is, minus what is to spare."""
        return self.lost if self.lost > 0 else -self.spare

    def closed_by(self, step: Step) -> float:
        """What a node with this step is worth on the way to the objective.

        A single node often helps nothing, where the other pool would have to grow as well; yet without it the objective is not reached. So each
        node on the way has its share of what all of them together gain: one over how many such nodes are missing.
        """
        prefills, decodes = _missing(self.prefill_late, step.prefill), _missing(self.decode_late, step.decode)
        missing = prefills + decodes
        if missing <= 0:
            return 0.0
        if missing == float("inf"):  # it can do one of the two only: its part of what that pool lacks
            late, covered = (self.decode_late, step.decode) if prefills == missing else (self.prefill_late, step.prefill)
            return self.lost * min(1.0, covered / (self.prefill_late + self.decode_late)) if late > 0 else 0.0
        return self.lost * min(1.0, 1 / missing)


def step_of(plan: Plan, tree: str, gpus: int) -> Step:
    """What one of the `gpus` GPUs of an engine covers."""
    one = plan.capacity[tree]
    return Step(_covered(plan.prefill_need, one.prefill, plan.min_endpoint) / gpus, _covered(plan.decode_need, one.decode, plan.min_endpoint) / gpus)


def stand(counts: Sequence[int], steps: Sequence[Step], wanted: tuple[bool, bool], credits: Credits) -> Standing:
    """How `counts` nodes of each type serve; a pool that is not `wanted` is served as it is."""
    order = sorted(range(len(steps)), key=lambda at: -steps[at].advantage)
    base = (0.0 if wanted[0] else 1.0, 0.0 if wanted[1] else 1.0)
    best, prefills = (-1.0, 0.0, 0.0, 0.0), 0
    for moved, (prefill, decode) in enumerate(_splits([counts[at] for at in order], [steps[at] for at in order], base)):
        served = prefill if prefill < decode else decode
        if served >= best[0] and (found := (served, prefill + decode, prefill, decode)) > best:
            best, prefills = found, moved
    served, _, prefill, decode = best
    late = _late(served)
    return Standing(_late(prefill), _late(decode), credits(late), 0.0 if late else max(0.0, 1 - 1 / served), _taken(counts, order, prefills))


def _splits(counts: Sequence[int], steps: Sequence[Step], base: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """The shares served with none, one, two and so on of the nodes in prefill."""
    prefill, decodes = base[0], [count * step.decode for count, step in zip(counts, steps, strict=True)]
    yield prefill, base[1] + sum(decodes)
    for at, (count, step) in enumerate(zip(counts, steps, strict=True)):
        rest, read, write = base[1] + sum(decodes[at + 1 :]), step.prefill, step.decode
        for moved in range(1, count + 1):
            yield prefill + moved * read, rest + (count - moved) * write
        prefill += count * read


def _taken(counts: Sequence[int], order: Sequence[int], prefills: int) -> tuple[int, ...]:
    """The first `prefills` nodes, by type, in the types' own order."""
    taken = [0] * len(counts)
    for at in order:
        taken[at] = min(counts[at], prefills)
        prefills -= taken[at]
    return tuple(taken)


def _covered(need: float, capacity: float, min_endpoint: int) -> float:
    """The share of a pool that one engine covers: of its need, but never more than of its fewest engines."""
    if capacity <= 0 or (need <= 0 and not min_endpoint):
        return 0.0
    return min(capacity / need if need > 0 else float("inf"), 1 / min_endpoint if min_endpoint else float("inf"))


def _late(served: float) -> float:
    return 1 - served if served < 1 - LATE_MIN else 0.0


def _missing(late: float, covered: float) -> float:
    """How many such nodes a pool lacks."""
    if late <= 0:
        return 0.0
    return late / covered if covered > 0 else float("inf")
