"""All applications in one market: they come to rest when nothing changes, and give up what they have when it is worth nothing to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from laissez.market import SetFloor
from laissez.tenants import Application, Deadline, EconAdapter, Terms
from laissez.tenants.dynamo import Dynamo, Observation, Serving, Sla, built_in
from laissez.tenants.parabricks import Batch, Parabricks
from laissez.tenants.sailor import Job, Planner, Sailor, Shadow, Site, builtin_profile
from laissez.tenants.templates import DeadlineJob, OnDemand, SloService, Spot
from tenant_world import HOUR, MINUTE, World

pytestmark = pytest.mark.once

FLOORS = {"h100": 4_820_000, "a100": 2_400_000}  # 0.7 of what AWS asked on demand in August 2026
TREES = tuple(FLOORS)
LEAVES = [f"{tree}/zone-a/rack{rack}/host{host}/gpu{gpu}" for tree in TREES for rack in (1, 2) for host in (1, 2) for gpu in range(4)]


def inference(now: int) -> Dynamo:
    app = Dynamo(Serving(built_in("llama-3.1-8b", 1), Sla(2048, 256, 200, 20)), TREES, revenue_per_hour=100.0)
    for _ in range(6):
        app.observe(Observation(2400, 1155, 211, ttft_ms=60.0, itl_ms=12.0, request_duration_s=3.0, interval_s=60.0), ())
    return app


def training(now: int) -> Sailor:
    job = Job(Deadline(now, now + 10 * HOUR, 400.0), epochs=20, samples_per_epoch=20_000, checkpoint_s=600.0)
    return Sailor(job, Shadow(Planner(builtin_profile("GPT-Neo-2.7")), TREES, Site(leaf_words=5, gpus_per_host=4)), nodes_max=12)


def batch(now: int) -> Parabricks:
    return Parabricks(Batch([1.0] * 10, TREES, now=now), Deadline(now, now + 10 * HOUR, 120.0), cold_s=240.0)


def job(now: int) -> DeadlineJob:
    return DeadlineJob(
        TREES, 4, start=now, due=now + 5 * HOUR, work_hours=12, speeds={"h100": 1.0, "a100": 0.5}, value=90.0, checkpoint_s=900.0, cold_s=120.0
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
    made.join(*(EconAdapter(name, APPLICATIONS[name](0), Terms(moves_max=0 if name in ("on_demand", "spot") else 1)) for name in names))
    return made


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application_alone_gets_all_that_is_worth_its_price_and_is_still(name: str) -> None:
    alone = world(name)
    alone.settle(0)
    assert alone.held(name)
    waiting = [alternative for order in alone.market.orders(name) for alternative in order.alternatives]
    assert all(alternative.limit < FLOORS[alternative.scope] for alternative in waiting)


def test_all_applications_together_come_to_rest() -> None:
    crowd = world(*APPLICATIONS)
    crowd.settle(0)
    assert [] == crowd.step(1)
    held = {name: len(crowd.held(name)) for name in APPLICATIONS}
    assert sum(held.values()) <= len(LEAVES)
    assert all(held[name] for name in ("dynamo", "sailor", "on_demand")), held


def test_when_floors_rise_beyond_all_worth_everybody_leaves_and_when_they_fall_they_come_back() -> None:
    crowd = world(*APPLICATIONS)
    crowd.settle(0)
    for price in (9_999_000_000, 2_000_000):
        crowd.now += MINUTE
        for tree in TREES:
            crowd.apply(SetFloor(tree, price))
        crowd.settle(crowd.now)
        assert all(bool(crowd.held(name)) == (price == 2_000_000) for name in APPLICATIONS), price
