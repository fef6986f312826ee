"""Nothing that was bought is given up again at the same prices, whatever is held beside it: what a
node is kept for is never less than what it was asked for, and an application that is alone comes to
rest.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from laissez.market import Relinquish, SetFloor
from laissez.tenants import (
    AdapterSettings,
    Application,
    Deadline,
    EconAdapter,
    Leaves,
    grow_price,
    keep_price,
)
from laissez.tenants.dynamo import Dynamo, Observation, Serving, Sla, built_in
from laissez.tenants.dynamo.credits import Credits, in_proportion, service_credits
from laissez.tenants.dynamo.predictors import Constant
from laissez.tenants.parabricks import Batch, Parabricks
from laissez.tenants.paths import is_below, tree_of
from laissez.tenants.sailor import HostLayout, Job, Planner, Sailor, WhatIf, builtin_profile
from laissez.tenants.templates import DeadlineJob
from support.tenant_world import HOUR, World

pytestmark = pytest.mark.once

TREES = ("h100", "a100")
GPUS = {"in hosts of four": 4, "in hosts of their own": 1}
LEAVES = {
    gpus: [
        f"{tree}/zone-a/rack{host // 2}/host{host}/gpu{gpu}"
        for tree in TREES
        for host in range(8 // gpus + 1)
        for gpu in range(gpus)
    ]
    for gpus in GPUS.values()
}
# an A100 does both, only prefill, only decode
SLAS = [Sla(2000, 200, ttft_ms, itl_ms) for ttft_ms, itl_ms in ((500, 50), (500, 11), (100, 50))]
PLANNERS = {model: Planner(builtin_profile(model, 64)) for model in ("OPT-350", "GPT-Neo-2.7")}


def inference(req_per_s: float, sla: Sla, min_endpoint: int, credits: Credits) -> Dynamo:
    serving = Serving(
        built_in("llama-3.1-8b", 1),
        sla,
        predictor=Constant,
        min_endpoint=min_endpoint,
        correct=False,
        credits=credits,
    )
    app = Dynamo(serving, TREES, revenue_per_hour=100.0)
    app.observe(Observation(req_per_s * 10, sla.isl, sla.osl, 100, 20, 5, 10), ())
    return app


def training(
    gpus: int, model: str, per_s: float, done: float, value: float, urgency_max: float
) -> Sailor:
    deadline = Deadline(0, 10 * HOUR, value, urgency_max=urgency_max)
    job = Job(deadline, epochs=20, samples_per_epoch=per_s * 1800, checkpoint_s=1800.0)
    job.progressed(done, 0)
    return Sailor(
        job,
        WhatIf(PLANNERS[model], TREES, HostLayout(leaf_words=5, gpus_per_host=gpus)),
        nodes_max=16,
    )


def batch(samples: int, hours: int, value: float, cold_s: float, nodes_max: int) -> Parabricks:
    return Parabricks(
        Batch([1.0] * samples, TREES, nodes_max=nodes_max), Deadline(0, hours * HOUR, value), cold_s
    )


def job(work_hours: float, hours: int, value: float, cold_s: float, nodes_max: int) -> DeadlineJob:
    speeds = {"h100": 1.0, "a100": 0.5}
    return DeadlineJob(
        TREES,
        nodes_max,
        start=0,
        due=hours * HOUR,
        work_hours=work_hours,
        speeds=speeds,
        value=value,
        cold_s=cold_s,
    )


loads = st.sampled_from([0.0, 5.0, 20.0, 60.0]) | st.floats(0, 150)
values = st.sampled_from([20.0, 100.0, 500.0])
colds = st.sampled_from([0.0, 120.0, 480.0])
shares = st.sampled_from([0.0, 0.5, 0.95]) | st.floats(0, 1)


def applications(name: str, gpus: int) -> st.SearchStrategy[Application]:
    drawn: dict[str, st.SearchStrategy[Application]] = {
        "dynamo": st.builds(
            inference,
            loads,
            st.sampled_from(SLAS),
            st.integers(0, 2),
            st.sampled_from([service_credits, in_proportion]),
        ),
        "sailor": st.builds(
            training,
            st.just(gpus),
            st.sampled_from(list(PLANNERS)),
            st.sampled_from([1.0, 30.0, 200.0]),
            shares,
            values,
            st.sampled_from([1.0, 4.0]),
        ),
        "parabricks": st.builds(
            batch, st.integers(1, 12), st.integers(2, 24), values, colds, st.sampled_from([2, 8])
        ),
        "deadline": st.builds(
            job, st.floats(0.2, 40), st.integers(2, 24), values, colds, st.sampled_from([1, 4, 8])
        ),
    }
    return drawn[name]


def some(leaves: list[str]) -> st.SearchStrategy[Leaves]:
    return st.lists(st.sampled_from(leaves), min_size=1, max_size=8, unique=True).map(tuple)


every_application = pytest.mark.parametrize("name", ["dynamo", "sailor", "parabricks", "deadline"])
everywhere = pytest.mark.parametrize("gpus", GPUS.values(), ids=list(GPUS))


@every_application
@everywhere
@settings(max_examples=12, derandomize=True)
@given(data=st.data())
def test_a_node_is_kept_at_its_bid_wherever_it_was_requested(
    name: str, gpus: int, data: st.DataObject
) -> None:
    app, leaves = data.draw(applications(name, gpus)), data.draw(some(LEAVES[gpus]))
    bought, held = leaves[0], tuple(sorted(leaves[1:]))
    kept = keep_price(app, bought, tuple(sorted(leaves)), 0)
    wished = {scope for wish in app.wishes(held, 0) for scope in wish if is_below(bought, scope)}
    for scope in {bought, tree_of(bought), *wished}:
        assert grow_price(app, scope, held, 0) <= kept + 1e-9, scope


@every_application
@settings(max_examples=12, derandomize=True)
@given(data=st.data())
def test_no_node_has_negative_worth(name: str, data: st.DataObject) -> None:
    app, held = data.draw(applications(name, 4)), data.draw(some(LEAVES[4]))
    assert all(-1e-12 <= app.marginal_utility(node, held, 0) < math.inf for node in (*held, *TREES))


floors = st.tuples(*[st.sampled_from([200_000, 1_000_000, 2_400_000, 5_000_000])] * 2)


def world(gpus: int, floors: tuple[int, ...], app: Application, moves_max: int) -> World:
    made = World(*LEAVES[gpus])
    for tree, floor in zip(TREES, floors, strict=True):
        made.apply(SetFloor(tree, floor))
    made.join(EconAdapter("ann", app, AdapterSettings(moves_max=moves_max)))
    return made


@every_application
@everywhere
@settings(max_examples=6, derandomize=True)
@given(data=st.data(), floors=floors)
def test_an_application_alone_comes_to_rest_at_any_prices(
    name: str, gpus: int, data: st.DataObject, floors: tuple[int, ...]
) -> None:
    world(gpus, floors, data.draw(applications(name, gpus)), moves_max=1).settle(0)


@everywhere
@settings(max_examples=12, derandomize=True)
@given(data=st.data(), floors=floors)
def test_a_batch_gives_up_nothing_that_it_buys_at_once(
    gpus: int, data: st.DataObject, floors: tuple[int, ...]
) -> None:
    """While there is a sample for each GPU. With fewer, GPUs of one host join for one, and what an
    order wins may be of less use than it could be."""
    app = data.draw(applications("parabricks", gpus))
    assert isinstance(app, Parabricks)
    assume(app.batch.samples_left >= app.batch.nodes_max)
    alone = world(gpus, floors, app, moves_max=0)
    sent = [command for _ in range(6) for command in alone.step(0)]
    assert not [command for command in sent if isinstance(command, Relinquish)]
