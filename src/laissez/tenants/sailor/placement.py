"""From the shape that the planner chose to a plan: the role of every leaf.

The largest hosts are used first, so that the leaves which a plan does not need are left over in the
small ones. Along the pipeline the largest come last: the last stages have the extra layers, and
crossing hosts before them costs less. Names decide among hosts of one size and leaves of one host,
so the same leaves always give the same plan.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

import msgspec

from laissez.tenants.sailor.hosts import Hosts
from laissez.tenants.sailor.iteration import Group, Plan, Stage, split_layers
from laissez.tenants.sailor.model import Profile

# the groups of one replica of a segment, in the order of its stages
Slot: TypeAlias = tuple[Group, ...]


class Shape(msgspec.Struct, frozen=True, gc=False):
    """A plan without names: the number of segments of the slower type, of both and of the faster
    one. `sides` are these types, each with its tp."""

    microbatch: int
    length: int
    counts: tuple[int, int, int]
    replicas: int
    sides: tuple[tuple[str, int], ...]
    packed: bool

    @property
    def stages(self) -> int:
        return sum(self.counts) * self.length


def slots_used(shape: Shape, slower: int) -> tuple[int, int]:
    """The slots of the slower and of the faster type that a shape takes if there are `slower` of
    the slower type. Mixed segments take these first."""
    slow, mixed, _ = shape.counts
    used = min(slower, (slow + mixed) * shape.replicas)
    return used, sum(shape.counts) * shape.replicas - used


def place(profile: Profile, shape: Shape, hosts: Hosts) -> Plan:
    """The plan of that shape over `hosts`, which must have room for it."""
    slots = [
        _cut(hosts, gpu, tp, shape.length, shape.replicas if shape.packed else 1)
        for gpu, tp in shape.sides
    ]
    used = slots_used(shape, len(slots[0]))
    queue = [
        slot for side, count in zip(slots, used, strict=False) for slot in reversed(side[:count])
    ]
    segments = [queue[at : at + shape.replicas] for at in range(0, len(queue), shape.replicas)]
    layers = split_layers(profile.layers, shape.stages)
    stages = [
        Stage(count, tuple(slot[at % shape.length] for slot in segments[at // shape.length]))
        for at, count in enumerate(layers)
    ]
    return Plan(shape.microbatch, tuple(stages), _left_over(hosts, queue))


def _left_over(hosts: Hosts, queue: list[Slot]) -> tuple[str, ...]:
    """The leaves in no group, counted, since scopes that stand for leaves may repeat."""
    left = Counter(leaf for leaves in hosts.values() for leaf in leaves)
    left.subtract(leaf for slot in queue for group in slot for leaf in group.leaves)
    return tuple(sorted(left.elements()))


def _cut(hosts: Hosts, gpu: str, tp: int, length: int, together: int) -> list[Slot]:
    """All slots of `length` groups of `tp` GPUs. Each run of `together` slots shares a host."""
    mine = sorted(
        ((host, sorted(leaves)) for (kind, host), leaves in hosts.items() if kind == gpu),
        key=lambda entry: (-len(entry[1]), entry[0]),
    )
    slots = []
    for host, leaves in mine:
        groups = [
            Group(gpu, host, tuple(leaves[at : at + tp]))
            for at in range(0, len(leaves) - tp + 1, tp)
        ]
        count = len(groups) // (length * together) * together
        slots += [tuple(groups[at * length : (at + 1) * length]) for at in range(count)]
    return slots
