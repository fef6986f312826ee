"""Inference services against answers worked out by hand; and that no node's time is counted twice
or not at all, in any world."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import pytest

from laissez.sim.kernel import random_stream
from laissez.sim.worlds.inference import InferenceWorld, Load
from laissez.sim.worlds.world import NodeTime, World
from laissez.tenants import Leaves
from laissez.tenants.dynamo import Dynamo, EngineProfile, Observation, Serving, Sla
from laissez.tenants.dynamo.credits import in_proportion
from laissez.units import SECOND_US as S
from support.sim_world import accounts, batch, leaf, passes, speed, training

pytestmark = pytest.mark.once

A, B, C, D = (leaf(number, "a100") for number in range(4))
ELSEWHERE = "a100/zone2/row1/rack1/host1/gpu0"


# -- inference: an engine reads 10 requests per second; n requests at once write a token each in 5 +
# n/10 ms


class Watched(Dynamo):
    """An application that keeps what its planner is told."""

    def __init__(self, serving: Serving, cold_s: float) -> None:
        super().__init__(serving, ("a100",), 100.0, cold_start_s=cold_s)
        self.seen: list[tuple[Observation, Leaves]] = []

    def observe(self, seen: Observation, held: Leaves) -> None:
        self.seen.append((seen, held))
        super().observe(seen, held)


def service(
    per_s: float, bins: int = 60, cold_s: float = 0.0, itl_ms: float = 10.0, osl: float = 200.0
) -> tuple[InferenceWorld, Watched]:
    """Requests with a context of 1000 tokens in the mean, in bins of 10 s; a planner that looks
    every 20 s; objectives of 500 ms and 10 ms."""
    isl = 1000.0 - osl / 2
    profile = EngineProfile(
        "a100", 1, 100_000, [(1000.0, 100.0)], {1000.0: [(0.01, 5.1), (1.0, 15.0)]}
    )
    serving = Serving(
        {"a100": profile}, Sla(isl, osl, 500.0, itl_ms), correct=False, credits=in_proportion
    )
    app = Watched(serving, cold_s)
    return InferenceWorld(app, 0, [Load(per_s * 10, isl, osl)] * bins, 10 * S, 20 * S), app


def test_enough_engines_serve_everything_after_the_cold_start() -> None:
    world, _ = service(per_s=8, cold_s=60.0)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 600)
    assert world.performance() == pytest.approx(540 / 600)
    assert world.is_over() and (1080, 120, 0, 0) == accounts(world)


def test_without_engines_nothing_is_served() -> None:
    world, app = service(per_s=8)
    passes(world, 600)
    assert (0.0, True, 30) == (world.performance(), world.is_over(), len(app.seen))
    assert (160.0, 0.0, 0.0, ()) == (
        app.seen[-1][0].num_req,
        app.seen[-1][0].ttft_ms,
        app.seen[-1][0].itl_ms,
        app.seen[-1][1],
    )


def test_one_engine_cannot_both_read_and_write() -> None:
    world, _ = service(per_s=8)
    world.gain(A, 0)
    passes(world, 600)
    assert world.performance() == 0.0


def test_half_of_the_needed_prefill_serves_half_and_late() -> None:
    """20 requests/s come, 10 are read. Those that would wait longer than twice 500 ms are turned
    away: 10 requests can wait.

    In the first second all 20 are taken in, and the wait grows evenly to 1000 ms; later 10 a
    second, which wait 1000 ms. Each takes 100 ms itself. All are written within the objective.
    """
    world, _ = service(per_s=20)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 600, step_s=600)
    rising = (500 - 100 + 500 * math.log(1100 / 500)) / 1000
    assert world.performance() == pytest.approx(
        (20 * (rising + 1) / 2 + 5990 * (500 / 1100 + 1) / 2) / 12_000
    )


@pytest.mark.parametrize("step_s", [0.3, 7, 60])
def test_the_number_of_observations_does_not_matter(step_s: float) -> None:
    def performance(step_s: float) -> float:
        world, _ = service(per_s=20)
        world.gain(A, 0)
        world.gain(B, 0)
        passes(world, 200, step_s)
        world.gain(C, 200 * S)
        passes(world, 400, step_s)
        world.lose(C, 400 * S, voluntary=True)
        passes(world, 600, step_s)
        return world.performance()

    assert performance(step_s) == pytest.approx(performance(600))


@pytest.mark.parametrize(
    ("per_s", "itl_ms"), [(8.0, 5 / (1 - 0.16)), (2.0, 5 / (1 - 0.04)), (10.0, 5 / (1 - 0.2))]
)
def test_the_planner_observes_the_interval_and_itl_follows_from_littles_law(
    per_s: float, itl_ms: float
) -> None:
    """r tokens/s at an ITL of t ms keep n = r t / 1000 at once, and t = 5 + n / 10: t = 5 / (1 - r
    / 10,000)."""
    world, app = service(per_s)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 100)
    assert 5 == len(app.seen)
    for seen, held in app.seen:
        assert (A, B) == held
        assert (per_s * 20, 900, 200, 20) == pytest.approx(
            (seen.num_req, seen.isl, seen.osl, seen.interval_s)
        )
        assert seen.ttft_ms == pytest.approx(100)
        assert seen.itl_ms == pytest.approx(itl_ms, rel=1e-3)
        assert seen.request_duration_s == pytest.approx((100 + 200 * itl_ms) / 1000, rel=1e-3)


def test_a_slow_itl_counts_in_proportion_to_the_missed_objective() -> None:
    """8 requests/s are written at 5 / (1 - 0.16) ms, and 5.5 ms are promised; the first token is in
    time."""
    world, _ = service(per_s=8, itl_ms=5.5)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 600)
    assert world.performance() == pytest.approx((1 + 5.5 / (5 / 0.84)) / 2, rel=1e-3)


def test_requests_that_cannot_be_decoded_are_not_served() -> None:
    """100 at once write 100 / 15 ms = 6667 tokens/s, so 13.3 answers of 500 tokens per second: of
    the 20 requests/s that two engines read."""
    world, _ = service(per_s=20, osl=500.0)
    for node in (A, B, C):
        world.gain(node, 0)
    passes(world, 20)
    assert world.performance() == pytest.approx(
        100 / 0.015 / 500 / 20 * (1 + 10 / 15) / 2, rel=1e-3
    )


def test_an_engine_serves_from_the_second_at_which_it_is_warm() -> None:
    world, _ = service(per_s=8, cold_s=33.0)
    world.gain(A, 0)
    world.gain(B, 14 * S)
    passes(world, 600)
    assert world.performance() == pytest.approx((600 - 47) / 600)
    assert 66 == accounts(world)[1]


# -- accounts


def a_batch() -> World:
    return batch(0.1, 0.3, 0.2, 0.05, cold_s=47.3, checkpoint_s=111.1, due_s=4000.0)


def a_job() -> World:
    return training(speed(2) * 2000, restart_s=47.3, checkpoint_s=111.1, due_s=4000.0)


def a_service() -> World:
    return service(per_s=12, bins=400, cold_s=47.3)[0]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("make", [a_batch, a_job, a_service])
def test_every_nodes_time_is_in_exactly_one_account(make: Callable[[], World], seed: int) -> None:
    """Nodes come and go at random. The accounts sum to the time held, counted independently, to the
    microsecond."""
    world, rng = make(), random_stream(seed, "accounts")
    held, tally, now = set[str](), 0, 0
    for _ in range(80):
        later = now + rng.choice((0, 1, 999_999, rng.randint(0, 90 * S)))
        tally += len(held) * (later - now)
        now = later
        node = rng.choice((A, B, C, D, ELSEWHERE))
        lot = rng.random()
        if lot < 0.4 and node not in held:
            held.add(node)
            world.gain(node, now)
        elif lot < 0.75 and node in held:
            held.remove(node)
            world.lose(node, now, voluntary=rng.random() < 0.5)
        else:
            world.advance(now)
            assert tally == world.node_time.held
        assert min(msgspec.structs.astuple(world.node_time)) >= 0
    world.advance(now + 1)
    assert tally + len(held) == world.node_time.held
    assert set(world.nodes) == held and world.node_time.useful > 0


def test_lost_work_was_counted_as_useful_before() -> None:
    usage = NodeTime(useful=10, surplus=3)
    usage.lose(4)
    assert (6, 4, 13) == (usage.useful, usage.lost, usage.held)


def test_losing_an_unknown_node_changes_nothing() -> None:
    for make in (a_batch, a_job, a_service):
        world = make()
        world.gain(A, 0)
        world.lose(B, 100 * S, voluntary=False)
        assert ([A], 100 * S, 0) == (list(world.nodes), world.node_time.held, world.node_time.lost)
