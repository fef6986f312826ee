"""Perfect foresight: the remaining work of each tenant, its future load, and the speed of hardware
for it.

The performance of every tenant counts the same, from 0 to 1: the share of a job's work that is done
at its deadline, and the share of a service's requests that are served in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypeAlias, runtime_checkable

import msgspec

from laissez.sim.clouds.cloud import Customer
from laissez.sim.worlds.inference import InferenceWorld, Load
from laissez.sim.worlds.world import World
from laissez.tenants.dynamo import Dynamo
from laissez.tenants.dynamo.planner import planned
from laissez.tenants.parabricks import Parabricks
from laissez.tenants.paths import tree_of
from laissez.tenants.sailor import Sailor
from laissez.units import HOUR_S, HOUR_US, SECOND_US

LEVELS: Final = 3  # of load within a period: peaks need more than the mean does
SLOT_US: Final = HOUR_US // 12
NEVER: Final = 1e6  # engines, for a type that cannot meet the objective
EXPECTED: Final = 0.97  # of a job's rate, since its last restart is not foreseen


@runtime_checkable
class Transparent(Customer, Protocol):
    """A customer that an omniscient cloud can look into, beyond what its application believes."""

    world: World


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """`rates` are the shares of the work that one GPU of a type does per hour. Gaining and losing a
    GPU costs hours of a GPU."""

    due: int
    done: float
    rates: Mapping[str, float]
    nodes_min: Mapping[str, int]  # fewer of that type do nothing
    nodes_max: int
    gain_h: float
    loss_h: float
    one_type: bool  # types do not mix


class Level(msgspec.Struct, frozen=True, gc=False):
    """A level of load and the engines of each type that it takes to prefill and to decode. `weight`
    is its share of all requests, `bins` its length."""

    weight: float
    prefill: Mapping[str, float]
    decode: Mapping[str, float]
    bins: int = 1


class Service:
    """The load of a service until it ends."""

    def __init__(self, world: InferenceWorld) -> None:
        self.start, self.due, self._bin_us = world.start, world.due, world.bin_us
        self.trees = tuple(tree_of(scope) for scope in world.app.scopes)
        self.gain_h = world.app.cold_start_s("") / HOUR_S
        requests = sum(load.requests for load in world.loads) or 1.0
        self._bins = [self._level(world.app, load, requests) for load in world.loads]
        size = max(1, SLOT_US // self._bin_us)
        self._slots = [
            _levels(self._bins[at : at + size]) for at in range(0, len(self._bins), size)
        ]

    def between(self, since: int, until: int) -> list[Level]:
        """The levels of a period, the lowest first. A long one is summarised from slots."""
        if until - since <= SLOT_US:
            return _levels(self._bins[self._part(since, until, self._bin_us)])
        slots = self._slots[self._part(since, until, SLOT_US)]
        return _levels([level for slot in slots for level in slot])

    def _part(self, since: int, until: int, width: int) -> slice:
        return slice(max(0, since - self.start) // width, -(-max(0, until - self.start) // width))

    def _level(self, app: Dynamo, load: Load, requests: float) -> Level:
        per_s = load.requests / self._bin_us * SECOND_US
        plan = planned(app.serving.profiles, app.serving.sla, per_s, load.isl, load.osl)
        prefill, decode = {}, {}
        for tree, one in plan.capacity.items():
            prefill[tree] = plan.prefill_need / one.prefill if one.prefill else NEVER
            decode[tree] = plan.decode_need / one.decode if one.decode else NEVER
        return Level(load.requests / requests, prefill, decode)


Outlook: TypeAlias = Job | Service


def outlook(world: World, now: int) -> Outlook | None:
    """The outlook of a tenant; None for an unknown application. That of a service never changes."""
    if isinstance(world, InferenceWorld):
        return Service(world)
    if isinstance(world.app, Sailor):
        return _training(world.app, now)
    if isinstance(world.app, Parabricks):
        return _batch(world.app, now)
    return None


def _training(app: Sailor, now: int) -> Job:
    """Every gain or loss restarts all nodes, which costs each twice its share on average."""
    job, speed, host = app.job, app.what_if.planner.speed, app.what_if.layout.gpus_per_host
    trees = [tree_of(scope) for scope in app.what_if.scopes]
    at_risk_s = min(job.since_checkpoint_s(now), job.until_checkpoint_s(now))
    return Job(
        due=job.deadline.due,
        done=job.done,
        rates={
            tree: EXPECTED * job.share_per_hour(speed(((tree, (host,)),)) / host) for tree in trees
        },
        nodes_min={
            tree: next((count for count in range(1, host) if speed(((tree, (count,)),)) > 0), host)
            for tree in trees
        },
        nodes_max=app.nodes_max,
        gain_h=2 * app.restart_s / HOUR_S,
        loss_h=(app.restart_s + at_risk_s) / HOUR_S,
        one_type=True,
    )


def _batch(app: Parabricks, now: int) -> Job:
    batch = app.batch
    trees = [tree_of(scope) for scope in batch.scopes]
    return Job(
        due=app.deadline.due,
        done=batch.done,
        rates={tree: EXPECTED * batch.run_times[tree].per_hour(1) / batch.total for tree in trees},
        nodes_min=dict.fromkeys(trees, 1),
        nodes_max=min(batch.samples_left, batch.nodes_max),
        gain_h=app.cold_s / HOUR_S,
        loss_h=min(batch.since_checkpoint_s(now), batch.until_checkpoint_s(now)) / HOUR_S,
        one_type=False,
    )


def _levels(levels: Sequence[Level]) -> list[Level]:
    ranked = sorted(levels, key=lambda one: one.weight / one.bins)
    size = max(1, -(-len(ranked) // LEVELS))
    return [_mean(ranked[at : at + size]) for at in range(0, len(ranked), size)]


def _mean(some: Sequence[Level]) -> Level:
    bins, trees = sum(one.bins for one in some), some[0].prefill
    return Level(
        sum(one.weight for one in some),
        {tree: sum(one.prefill[tree] * one.bins for one in some) / bins for tree in trees},
        {tree: sum(one.decode[tree] * one.bins for one in some) / bins for tree in trees},
        bins,
    )
