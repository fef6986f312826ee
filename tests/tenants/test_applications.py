"""All applications in one market: they come to rest when nothing changes, and give up what they
have when it is worth nothing to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from laissez.live.sample.worlds import batches, training_jobs
from laissez.market import SetFloor
from laissez.tenants import AdapterSettings, Application, Deadline, EconAdapter
from laissez.tenants.dynamo import Dynamo, Observation, Serving, Sla, built_in
from laissez.tenants.parabricks import Batch, Parabricks
from laissez.tenants.paths import is_below, tree_of
from laissez.tenants.sailor import HostLayout, Job, Planner, Sailor, WhatIf, builtin_profile
from laissez.tenants.templates import DeadlineJob, OnDemand, SloService, Spot
from support.tenant_world import HOUR, MINUTE, World

pytestmark = pytest.mark.once

FLOORS = {"h100": 4_820_000, "a100": 2_400_000}  # 0.7 of what AWS asked on demand in August 2026
TREES = tuple(FLOORS)
LEAVES = [
    f"{tree}/zone-a/rack{rack}/host{host}/gpu{gpu}"
    for tree in TREES
    for rack in (1, 2)
    for host in (1, 2)
    for gpu in range(4)
]


def inference(now: int) -> Dynamo:
    app = Dynamo(
        Serving(built_in("llama-3.1-8b", 1), Sla(2048, 256, 200, 20)), TREES, revenue_per_hour=100.0
    )
    for _ in range(6):
        app.observe(
            Observation(
                2400, 1155, 211, ttft_ms=60.0, itl_ms=12.0, request_duration_s=3.0, interval_s=60.0
            ),
            (),
        )
    return app


def training(now: int) -> Sailor:
    job = Job(
        Deadline(now, now + 10 * HOUR, 400.0),
        epochs=20,
        samples_per_epoch=20_000,
        checkpoint_s=600.0,
    )
    return Sailor(
        job,
        WhatIf(
            Planner(builtin_profile("GPT-Neo-2.7")),
            TREES,
            HostLayout(leaf_words=5, gpus_per_host=4),
        ),
        nodes_max=12,
    )


def batch(now: int) -> Parabricks:
    return Parabricks(
        Batch([1.0] * 10, TREES, now=now), Deadline(now, now + 10 * HOUR, 120.0), cold_s=240.0
    )


def job(now: int) -> DeadlineJob:
    return DeadlineJob(
        TREES,
        4,
        start=now,
        due=now + 5 * HOUR,
        work_hours=12,
        speeds={"h100": 1.0, "a100": 0.5},
        value=90.0,
        checkpoint_s=900.0,
        cold_s=120.0,
    )


APPLICATIONS: dict[str, Callable[[int], Application]] = {
    "dynamo": inference,
    "sailor": training,
    "parabricks": batch,
    "deadline": job,
    "slo": lambda now: SloService(TREES, 4, penalty=40.0, spares=1),
    "on_demand": lambda now: OnDemand(TREES, 4, 7.0),
    "spot": lambda now: Spot(TREES, 6, 2.6),
}


def world(*names: str) -> World:
    made = World(*LEAVES)
    for tree, floor in FLOORS.items():
        made.apply(SetFloor(tree, floor))
    made.join(
        *(
            EconAdapter(
                name,
                APPLICATIONS[name](0),
                AdapterSettings(moves_max=0 if name in ("on_demand", "spot") else 1),
            )
            for name in names
        )
    )
    return made


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application_alone_gets_all_nodes_worth_their_price_and_comes_to_rest(name: str) -> None:
    alone = world(name)
    alone.settle(0)
    assert alone.held(name)
    waiting = [
        alternative for order in alone.market.orders(name) for alternative in order.alternatives
    ]
    free = {leaf for leaf in LEAVES if leaf not in alone.held(name)}
    buyable = [
        alternative
        for alternative in waiting
        if any(is_below(leaf, alternative.scope) for leaf in free)
    ]
    assert all(alternative.limit < FLOORS[tree_of(alternative.scope)] for alternative in buyable)


def test_all_applications_together_come_to_rest() -> None:
    crowd = world(*APPLICATIONS)
    crowd.settle(0)
    assert [] == crowd.step(1)
    held = {name: len(crowd.held(name)) for name in APPLICATIONS}
    assert sum(held.values()) <= len(LEAVES)
    assert all(held[name] for name in ("dynamo", "sailor", "on_demand")), held


def test_all_applications_leave_when_floors_exceed_their_worth_and_return_when_they_fall() -> None:
    crowd = world(*APPLICATIONS)
    crowd.settle(0)
    for price in (9_999_000_000, 2_000_000):
        crowd.now += MINUTE
        for tree in TREES:
            crowd.apply(SetFloor(tree, price))
        crowd.settle(crowd.now)
        assert all(bool(crowd.held(name)) == (price == 2_000_000) for name in APPLICATIONS), price


@pytest.mark.parametrize(
    ("work_hours", "due_hours", "value", "cold_s", "checkpoint_s"),
    [(1, 2, 8.2, 300.0, 900.0), (20, 24, 165.0, 300.0, None), (2, 6, 30.0, 60.0, 600.0)],
)
def test_a_job_runs_to_its_end_without_giving_up_nodes_that_it_needs_again(
    work_hours: float, due_hours: int, value: float, cold_s: float, checkpoint_s: float | None
) -> None:
    made = World(*LEAVES)
    made.apply(SetFloor("h100", 2_200_000))
    made.apply(SetFloor("a100", 1_100_000))
    speeds = {"h100": 1.0, "a100": 0.5}
    app = DeadlineJob(
        TREES,
        4,
        start=0,
        due=due_hours * HOUR,
        work_hours=work_hours,
        speeds=speeds,
        value=value,
        checkpoint_s=checkpoint_s,
        cold_s=cold_s,
    )
    made.join(EconAdapter("job", app))
    starts = 0
    for half_minute in range(due_hours * 120 + 1):
        before = made.held("job")
        made.step(half_minute * MINUTE // 2)
        starts += len(set(made.held("job")) - set(before))
        if app.done >= 1 and not made.held("job"):
            break
    assert 1.0 == app.done and made.now < due_hours * HOUR
    assert starts <= 4


def test_no_application_flaps_while_only_progress_changes() -> None:
    """Two hours of all applications, whose work goes on: hardly a lease is over within ten
    minutes."""
    crowd = World(*LEAVES)
    for tree, floor in FLOORS.items():
        crowd.apply(SetFloor(tree, floor // 2))
    worlds = {"sailor": training_jobs(0), "parabricks": batches(0)}
    for name in ("dynamo", "slo", "on_demand", "deadline"):
        crowd.join(
            EconAdapter(
                name, APPLICATIONS[name](0), AdapterSettings(moves_max=int(name != "on_demand"))
            )
        )
    for name, each in worlds.items():
        crowd.join(EconAdapter(name, each.app))
    started: dict[str, int] = {}
    short = []
    for minute in range(120):
        for adapter in crowd.adapters:
            if adapter.tenant in worlds:
                worlds[adapter.tenant].live(crowd.held(adapter.tenant), minute * MINUTE)
                adapter.app = worlds[adapter.tenant].app
        crowd.step(minute * MINUTE)
        owners = {
            f"{name} {leaf}"
            for name in (adapter.tenant for adapter in crowd.adapters)
            for leaf in crowd.held(name)
        }
        # first all find a place
        short += [
            (minute, lease)
            for lease, at in started.items()
            if lease not in owners and minute - at < 10 <= at
        ]
        started = {lease: started.get(lease, minute) for lease in owners}
    assert len(short) <= 2, short
