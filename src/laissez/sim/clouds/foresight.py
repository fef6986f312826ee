"""What an omniscient cloud knows of its tenants: what each has left to do, what each will be asked,
and what hardware does for it.

Everybody's performance counts the same, from 0 to 1. For a job that is the share of its work done
at the deadline, for a service the share of all its requests served in time.
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

LEVELS: Final = 3  # of load within a while: peaks need more than the mean does
SLOT_US: Final = HOUR_US // 12
UNABLE: Final = 1e6  # engines: as good as never
SURE: Final = 0.97  # of a job's rate is counted on: the last restart is not foreseen


@runtime_checkable
class Transparent(Customer, Protocol):
    """A customer into which an omniscient cloud can look: not only what it believes, but how things
    really are with it."""

    world: World


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """`rates` are the shares of the work that one GPU of each type does per hour; one that comes or
    goes costs so many hours of a GPU."""

    due: int
    done: float
    rates: Mapping[str, float]
    nodes_min: Mapping[str, int]  # fewer of that type do nothing
    nodes_max: int
    come_h: float
    go_h: float
    one_type: bool  # types do not mix


class Level(msgspec.Struct, frozen=True, gc=False):
    """A level of load: engines of each type that it takes to prefill and to decode; `weight` is its
    part of all requests, `bins` how long it is."""

    weight: float
    prefill: Mapping[str, float]
    decode: Mapping[str, float]
    bins: int = 1


class Service:
    """What a service will be asked until it ends."""

    def __init__(self, world: InferenceWorld) -> None:
        self.start, self.due, self._bin_us = world.start, world.due, world.bin_us
        self.trees = tuple(tree_of(scope) for scope in world.app.scopes)
        self.come_h = world.app.cold_start_s("") / HOUR_S
        requests = sum(load.requests for load in world.loads) or 1.0
        self._bins = [self._level(world.app, load, requests) for load in world.loads]
        size = max(1, SLOT_US // self._bin_us)
        self._slots = [
            _levels(self._bins[at : at + size]) for at in range(0, len(self._bins), size)
        ]

    def between(self, since: int, until: int) -> list[Level]:
        """The levels of a while, the lowest first. A long one is put together from slots, each of
        which has its levels already."""
        if until - since <= SLOT_US:
            return _levels(self._bins[self._part(since, until, self._bin_us)])
        return _levels(
            [level for slot in self._slots[self._part(since, until, SLOT_US)] for level in slot]
        )

    def _part(self, since: int, until: int, width: int) -> slice:
        return slice(max(0, since - self.start) // width, -(-max(0, until - self.start) // width))

    def _level(self, app: Dynamo, load: Load, requests: float) -> Level:
        plan = planned(
            app.serving.profiles,
            app.serving.sla,
            load.requests / self._bin_us * SECOND_US,
            load.isl,
            load.osl,
        )
        return Level(
            load.requests / requests,
            {
                tree: plan.prefill_need / one.prefill if one.prefill else UNABLE
                for tree, one in plan.capacity.items()
            },
            {
                tree: plan.decode_need / one.decode if one.decode else UNABLE
                for tree, one in plan.capacity.items()
            },
        )


Outlook: TypeAlias = Job | Service


def outlook(world: World, now: int) -> Outlook | None:
    """What is ahead of a tenant; nothing is known of those that run something else. A service's
    outlook stays the same."""
    if isinstance(world, InferenceWorld):
        return Service(world)
    if isinstance(world.app, Sailor):
        return _training(world.app, now)
    if isinstance(world.app, Parabricks):
        return _batch(world.app, now)
    return None


def _training(app: Sailor, now: int) -> Job:
    """All of it restarts when a node comes or goes: twice its own part is what a node costs, in the
    mean."""
    job, speed, host = app.job, app.shadow.planner.speed, app.shadow.site.gpus_per_host
    trees = [tree_of(scope) for scope in app.shadow.scopes]
    return Job(
        due=job.deadline.due,
        done=job.done,
        rates={tree: SURE * job.share_per_hour(speed(((tree, (host,)),)) / host) for tree in trees},
        nodes_min={
            tree: next((count for count in range(1, host) if speed(((tree, (count,)),)) > 0), host)
            for tree in trees
        },
        nodes_max=app.nodes_max,
        come_h=2 * app.restart_s / HOUR_S,
        go_h=(app.restart_s + min(job.since_checkpoint_s(now), job.until_checkpoint_s(now)))
        / HOUR_S,
        one_type=True,
    )


def _batch(app: Parabricks, now: int) -> Job:
    batch = app.batch
    trees = [tree_of(scope) for scope in batch.scopes]
    return Job(
        due=app.deadline.due,
        done=batch.done,
        rates={tree: SURE * batch.run_times[tree].per_hour(1) / batch.total for tree in trees},
        nodes_min=dict.fromkeys(trees, 1),
        nodes_max=min(batch.samples_left, batch.nodes_max),
        come_h=app.cold_s / HOUR_S,
        go_h=min(batch.since_checkpoint_s(now), batch.until_checkpoint_s(now)) / HOUR_S,
        one_type=False,
    )


def _levels(levels: Sequence[Level]) -> list[Level]:
    ranked = sorted(levels, key=lambda one: one.weight / one.bins)
    size = max(1, -(-len(ranked) // LEVELS))
    return [_mean(ranked[at : at + size]) for at in range(0, len(ranked), size)]


def _mean(some: Sequence[Level]) -> Level:
    bins = sum(one.bins for one in some)
    return Level(
        sum(one.weight for one in some),
        {
            tree: sum(one.prefill[tree] * one.bins for one in some) / bins
            for tree in some[0].prefill
        },
        {tree: sum(one.decode[tree] * one.bins for one in some) / bins for tree in some[0].decode},
        bins,
    )
