"""What tenants run, against answers worked out by hand; and that no node's time is counted twice or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from laissez.sim.chance import stream
from laissez.sim.usage import Usage
from laissez.sim.worlds.batch import BatchWorld
from laissez.sim.worlds.inference import InferenceWorld, Load
from laissez.sim.worlds.training import SETTLE_US, TrainingWorld
from laissez.sim.worlds.world import World
from laissez.tenants import Deadline, Leaves
from laissez.tenants.dynamo import Dynamo, EngineProfile, Observation, Serving, Sla
from laissez.tenants.dynamo.credits import in_proportion
from laissez.tenants.parabricks import Batch, Parabricks
from laissez.tenants.sailor import Job, Planner, Sailor, Shadow, Site, builtin_profile
from laissez.tenants.units import SECOND_US as S
from sim_world import leaf

pytestmark = pytest.mark.once

A, B, C, D = (leaf(number, "a100") for number in range(4))
ELSEWHERE = "a100/zone2/row1/rack1/host1/gpu0"
SAMPLE_S = 11_053  # a sample of size 1 on one A100
PLANNER = Planner(builtin_profile("OPT-350"))


def passes(world: World, until_s: float, step_s: float = 10.0) -> None:
    """Time passes in the small steps in which tenants decide."""
    until = round(until_s * S)
    while world.at < until:
        world.advance(min(until, world.at + round(step_s * S)))


def accounts(world: World) -> tuple[float, float, float, float]:
    """Useful, reconfiguring, lost, surplus: node-seconds."""
    usage = world.usage
    return usage.useful / S, usage.reconfiguring / S, usage.lost / S, usage.surplus / S


# -- batch


def batch(*sizes: float, cold_s: float = 60.0, checkpoint_s: float = 300.0, due_s: float = 36_000.0) -> BatchWorld:
    samples = Batch(sizes, ("a100", "h100"), nodes_max=8, checkpoint_s=checkpoint_s)
    return BatchWorld(Parabricks(samples, Deadline(0, round(due_s * S), 100.0), cold_s))


def test_a_batch_on_one_node_is_done_at_the_exact_second() -> None:
    world = batch(0.1, cold_s=100.0)
    world.gain(A, 50 * S)
    passes(world, 150)
    assert (0.0, (0, 100, 0, 0)) == (world.performance(), accounts(world))
    passes(world, 150 + 500)
    assert world.performance() == pytest.approx(500 / 1105.3)
    passes(world, 150 + 1105)
    assert (False, (1105, 100, 0, 0)) == (world.is_over(), accounts(world))
    passes(world, 150 + 1105.3)
    assert (True, 1.0) == (world.is_over(), world.performance())


def test_a_batch_without_nodes_does_nothing_and_is_over_when_it_is_due() -> None:
    world = batch(0.1, due_s=1000)
    passes(world, 999)
    assert (False, 0.0) == (world.is_over(), world.performance())
    passes(world, 1000)
    assert (True, 0.0, (0, 0, 0, 0)) == (world.is_over(), world.performance(), accounts(world))


@pytest.mark.parametrize(("own_will", "kept_s", "expected"), [(False, 300, (300, 60, 100, 0)), (True, 400, (400, 60, 0, 0))])
def test_a_node_that_is_taken_repeats_what_it_did_since_the_checkpoint(own_will: bool, kept_s: int, expected: tuple[int, ...]) -> None:
    """Warm at 60 s, saved at 360 s, gone at 460 s; back at 1000 s."""
    world = batch(1.0)
    world.gain(A, 0)
    passes(world, 460)
    world.lose(A, 460 * S, own_will)
    assert world.performance() == pytest.approx(kept_s / SAMPLE_S)
    assert expected == accounts(world)
    passes(world, 1000)
    world.gain(A, 1000 * S)
    passes(world, 1000 + 60 + 200)
    assert world.performance() == pytest.approx((kept_s + 200) / SAMPLE_S)


def test_a_node_that_is_taken_while_it_starts_loses_nothing() -> None:
    world = batch(1.0, 1.0)
    world.gain(A, 0)
    passes(world, 100)
    world.gain(B, 100 * S)
    passes(world, 150)
    world.lose(B, 150 * S, own_will=False)
    assert world.performance() == pytest.approx(90 / (2 * SAMPLE_S))
    assert (90, 60 + 50, 0, 0) == accounts(world)


def test_samples_share_the_nodes_that_there_are() -> None:
    """Two samples on two GPUs of one host, then a third GPU elsewhere: two join for one sample, T(2) = 957 + 10,096 / 2."""
    world = batch(1.0, 1.0, cold_s=0.0)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 500)
    assert world.performance() == pytest.approx(500 / SAMPLE_S)
    world.gain(ELSEWHERE, 500 * S)
    passes(world, 1000)
    assert world.performance() == pytest.approx(500 / SAMPLE_S + (500 / 6005 + 500 / SAMPLE_S) / 2)
    assert (2 * 500 + 3 * 500, 0, 0, 0) == accounts(world)


@pytest.mark.xfail(
    reason="each of several nodes of which one is too many is called idle: BatchWorld._idle asks for each alone", raises=AssertionError
)
def test_of_three_nodes_for_two_samples_one_is_surplus() -> None:
    world = batch(1.0, 1.0, cold_s=0.0)
    for node in (A, ELSEWHERE, "a100/zone1/row2/rack1/host1/gpu0"):
        world.gain(node, 0)
    passes(world, 500)
    assert world.performance() == pytest.approx(500 / SAMPLE_S)
    assert (1000, 0, 0, 500) == accounts(world)


@pytest.mark.xfail(reason="a leap over a checkpoint counts all of it as not saved: BatchWorld._work adds the whole span", raises=AssertionError)
def test_a_leap_over_a_checkpoint_loses_no_more_than_small_steps_do() -> None:
    world = batch(1.0)
    world.gain(A, 0)
    world.lose(A, 460 * S, own_will=False)
    assert world.performance() == pytest.approx(300 / SAMPLE_S)
    assert (300, 60, 100, 0) == accounts(world)


@pytest.mark.xfail(reason="the step in which the last sample ends counts as surplus from its beginning", raises=AssertionError)
def test_a_node_of_a_batch_is_surplus_from_the_end_of_the_last_sample_on() -> None:
    world = batch(0.1, cold_s=100.0)
    world.gain(A, 0)
    world.advance(2000 * S)
    assert (1105.3, 100, 0, 2000 - 100 - 1105.3) == pytest.approx(accounts(world))


@pytest.mark.xfail(reason="Batch.lost shares out all that is not saved by speed, whoever did it", raises=AssertionError)
def test_a_newcomer_that_is_taken_repeats_only_what_it_did_itself() -> None:
    """Two nodes, one from 60 s and one from 200 s on; the second is taken at 210 s: 10 s are lost."""
    world = batch(1.0, 1.0)
    world.gain(A, 0)
    passes(world, 140)
    world.gain(B, 140 * S)
    passes(world, 210)
    world.lose(B, 210 * S, own_will=False)
    assert (150, 120, 10, 0) == accounts(world)
    assert world.performance() == pytest.approx(150 / (2 * SAMPLE_S))


@pytest.mark.xfail(reason="what a node did that was given up in good order is not saved with it", raises=AssertionError)
def test_what_was_given_up_in_good_order_is_not_lost_with_another_node() -> None:
    """Both work from 60 s on; one is given up at 160 s, the other is taken at 260 s: its own 200 s are lost, and no more."""
    world = batch(1.0, 1.0, checkpoint_s=1000.0)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 160)
    world.lose(A, 160 * S, own_will=True)
    passes(world, 260)
    world.lose(B, 260 * S, own_will=False)
    assert (100, 120, 200, 0) == accounts(world)
    assert world.performance() == pytest.approx(100 / (2 * SAMPLE_S))


# -- training


def speed(*counts: int) -> float:
    """Samples per second on A100s, so many in each host."""
    return PLANNER.speed((("a100", counts),))


def training(samples: float, restart_s: float = 60.0, checkpoint_s: float = 300.0, due_s: float = 36_000.0) -> TrainingWorld:
    job = Job(Deadline(0, round(due_s * S), 100.0), epochs=1, samples_per_epoch=samples, checkpoint_s=checkpoint_s)
    return TrainingWorld(Sailor(job, Shadow(PLANNER, ("a100",), Site(6, 8)), restart_s))


def test_a_job_trains_at_the_speed_of_its_plan() -> None:
    world = training(samples=speed(2) * 1000)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 60)
    assert (0.0, (0, 120, 0, 0)) == (world.performance(), accounts(world))
    passes(world, 60 + 250)
    assert world.performance() == pytest.approx(0.25)
    passes(world, 60 + 999)
    assert not world.is_over()
    passes(world, 60 + 1000.001)
    assert (True, 1.0) == (world.is_over(), world.performance())


@pytest.mark.parametrize(("own_will", "kept_s", "expected"), [(False, 300, (600, 120, 200, 0)), (True, 400, (800, 120, 0, 0))])
def test_all_nodes_go_back_to_the_checkpoint_when_one_is_taken_and_restart_in_any_case(
    own_will: bool, kept_s: int, expected: tuple[int, ...]
) -> None:
    """Two nodes run from 60 s, saved at 360 s; one is gone at 460 s; the other runs again from 520 s."""
    samples = speed(2) * 10_000
    world = training(samples)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 460)
    world.lose(B, 460 * S, own_will)
    assert world.performance() == pytest.approx(kept_s / 10_000)
    assert expected == accounts(world)
    passes(world, 520)
    assert world.performance() == pytest.approx(kept_s / 10_000)
    assert expected[1] + 60 == accounts(world)[1]
    passes(world, 620)
    assert world.performance() == pytest.approx(kept_s / 10_000 + 100 * speed(1) / samples)


def test_a_checkpoint_is_taken_after_so_much_work_and_not_while_it_restarts() -> None:
    world = training(speed(1) * 10_000, restart_s=100, checkpoint_s=300)
    world.gain(A, 0)
    passes(world, 100 + 299, step_s=7)
    assert world.app.job.saved == 0
    passes(world, 100 + 301, step_s=7)
    assert world.app.job.saved == pytest.approx(0.03)
    passes(world, 100 + 601, step_s=7)
    assert world.app.job.saved == pytest.approx(0.06)


def test_a_node_that_comes_while_it_restarts_joins_that_restart() -> None:
    """The restart begins anew with it: from 30 s until 90 s."""
    samples = speed(2) * 1000
    world = training(samples)
    world.gain(A, 0)
    passes(world, 30)
    world.gain(B, 30 * S)
    passes(world, 190)
    assert world.performance() == pytest.approx(100 / 1000)
    assert (200, 30 + 120, 0, 0) == accounts(world)


def test_nodes_that_come_while_it_runs_are_taken_in_together_once_no_more_come() -> None:
    """They come at 200, 210 and 220 s; it restarts at 240 s without losing anything and runs on at 300 s."""
    samples = speed(4) * 10_000
    world = training(samples)
    world.gain(A, 0)
    for at, node in ((200, B), (210, C), (220, D)):
        passes(world, at)
        world.gain(node, at * S)
    settled = 220 + SETTLE_US / S
    assert settled == 240
    passes(world, 240)
    before = (240 - 60) * speed(1) / samples
    assert world.performance() == pytest.approx(before)
    assert (180, 60, 0, 40 + 30 + 20) == accounts(world)
    passes(world, 300)
    assert (180, 60 + 4 * 60, 0, 90) == accounts(world)
    passes(world, 400)
    assert world.performance() == pytest.approx(before + 100 / 10_000)
    assert (180 + 400, 300, 0, 90) == accounts(world)


@pytest.mark.parametrize(("early_s", "is_taken_in"), [(5, True), (-5, False)])
def test_a_newcomer_that_cannot_pay_back_before_the_deadline_is_not_taken_in(early_s: float, is_taken_in: bool) -> None:
    """With speeds v and w it pays if w (left - restart) > v left, so if more than restart w / (w - v) is left when it is settled."""
    enough_s = 60 * speed(2) / (speed(2) - speed(1))
    samples, due_s = speed(2) * 10_000, 2000.0
    world = training(samples, due_s=due_s)
    world.gain(A, 0)
    comes = due_s - enough_s - SETTLE_US / S - early_s
    passes(world, comes)
    world.gain(B, round(comes * S))
    passes(world, due_s)
    alone = (due_s - 60) * speed(1)
    both = (comes + 20 - 60) * speed(1) + (due_s - comes - 20 - 60) * speed(2)
    assert world.performance() * samples == pytest.approx(both if is_taken_in else alone)
    assert (both > alone) == is_taken_in
    assert world.is_over()


def test_a_newcomer_that_goes_again_before_it_was_taken_in_changes_nothing() -> None:
    world = training(speed(1) * 10_000)
    world.gain(A, 0)
    passes(world, 200)
    world.gain(B, 200 * S)
    passes(world, 210)
    world.lose(B, 210 * S, own_will=False)
    passes(world, 260)
    assert world.performance() == pytest.approx(200 / 10_000)
    assert (200, 60, 0, 10) == accounts(world)


@pytest.mark.xfail(reason="the time after the end within a step counts as useful", raises=AssertionError)
def test_a_node_of_a_job_is_surplus_from_its_end_on() -> None:
    world = training(speed(1) * 100)
    world.gain(A, 0)
    world.advance(1000 * S)
    assert (100, 60, 0, 840) == pytest.approx(accounts(world))


# -- inference: an engine reads 10 requests per second; n requests at once write a token each in 5 + n/10 ms


class Watched(Dynamo):
    """An application that keeps what its planner is told."""

    def __init__(self, serving: Serving, cold_s: float) -> None:
        super().__init__(serving, ("a100",), 100.0, cold_start_s=cold_s)
        self.seen: list[tuple[Observation, Leaves]] = []

    def observe(self, seen: Observation, held: Leaves) -> None:
        self.seen.append((seen, held))
        super().observe(seen, held)


def service(per_s: float, bins: int = 60, cold_s: float = 0.0, itl_ms: float = 10.0, osl: float = 200.0) -> tuple[InferenceWorld, Watched]:
    """Requests with a context of 1000 tokens in the mean, in bins of 10 s; a planner that looks every 20 s; objectives of 500 ms and 10 ms."""
    isl = 1000.0 - osl / 2
    profile = EngineProfile("a100", 1, 100_000, [(1000.0, 100.0)], {1000.0: [(0.01, 5.1), (1.0, 15.0)]})
    serving = Serving({"a100": profile}, Sla(isl, osl, 500.0, itl_ms), correct=False, credits=in_proportion)
    app = Watched(serving, cold_s)
    return InferenceWorld(app, 0, [Load(per_s * 10, isl, osl)] * bins, 10 * S, 20 * S), app


def test_with_enough_engines_all_is_served_but_for_the_cold_start() -> None:
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
    assert (160.0, 0.0, 0.0, ()) == (app.seen[-1][0].num_req, app.seen[-1][0].ttft_ms, app.seen[-1][0].itl_ms, app.seen[-1][1])


def test_one_engine_cannot_both_read_and_write() -> None:
    world, _ = service(per_s=8)
    world.gain(A, 0)
    passes(world, 600)
    assert world.performance() == 0.0


def test_with_half_of_the_prefill_it_needs_half_is_served_and_late() -> None:
    """20 requests/s come, 10 are read. Those that would wait longer than twice 500 ms are turned away: 10 requests can wait.

    In the first 10 s these are taken in beside the 100 that are read, and wait 500 ms in the mean; later 100 in 10 s, which wait 1000 ms. Each takes
    100 ms itself. All are written within the objective.
    """
    world, _ = service(per_s=20)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 600, step_s=600)
    first, later = 110 * (500 / 600 + 1) / 2, 100 * (500 / 1100 + 1) / 2
    assert world.performance() == pytest.approx((first + 59 * later) / 12_000)


@pytest.mark.parametrize(("per_s", "itl_ms"), [(8.0, 5 / (1 - 0.16)), (2.0, 5 / (1 - 0.04)), (10.0, 5 / (1 - 0.2))])
def test_the_planner_is_told_what_happened_and_itl_follows_from_littles_law(per_s: float, itl_ms: float) -> None:
    """r tokens/s at an ITL of t ms keep n = r t / 1000 at once, and t = 5 + n / 10: t = 5 / (1 - r / 10,000)."""
    world, app = service(per_s)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 100)
    assert 5 == len(app.seen)
    for seen, held in app.seen:
        assert (A, B) == held
        assert (per_s * 20, 900, 200, 20) == pytest.approx((seen.num_req, seen.isl, seen.osl, seen.interval_s))
        assert seen.ttft_ms == pytest.approx(100)
        assert seen.itl_ms == pytest.approx(itl_ms, rel=1e-3)
        assert seen.request_duration_s == pytest.approx((100 + 200 * itl_ms) / 1000, rel=1e-3)


def test_a_slow_itl_counts_as_far_as_the_objective_is_missed() -> None:
    """8 requests/s are written at 5 / (1 - 0.16) ms, and 5.5 ms are promised; the first token is in time."""
    world, _ = service(per_s=8, itl_ms=5.5)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 600)
    assert world.performance() == pytest.approx((1 + 5.5 / (5 / 0.84)) / 2, rel=1e-3)


def test_what_cannot_be_written_is_not_served() -> None:
    """100 at once write 100 / 15 ms = 6667 tokens/s, so 13.3 answers of 500 tokens per second: of the 20 requests/s that two engines read."""
    world, _ = service(per_s=20, osl=500.0)
    for node in (A, B, C):
        world.gain(node, 0)
    passes(world, 20)
    assert world.performance() == pytest.approx(100 / 0.015 / 500 / 20 * (1 + 10 / 15) / 2, rel=1e-3)


def test_an_engine_is_of_use_from_the_second_on_that_it_is_warm() -> None:
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
    """Nodes come and go at random: what is held, counted independently, is what the accounts sum up to, to the microsecond."""
    world, chance = make(), stream(seed, "accounts")
    held, tally, now = set[str](), 0, 0
    for _ in range(80):
        later = now + chance.choice((0, 1, 999_999, chance.randint(0, 90 * S)))
        tally += len(held) * (later - now)
        now = later
        node = chance.choice((A, B, C, D, ELSEWHERE))
        lot = chance.random()
        if lot < 0.4 and node not in held:
            held.add(node)
            world.gain(node, now)
        elif lot < 0.75 and node in held:
            held.remove(node)
            world.lose(node, now, own_will=chance.random() < 0.5)
        else:
            world.advance(now)
            assert tally == world.usage.held
        assert min(world.usage.useful, world.usage.reconfiguring, world.usage.lost, world.usage.surplus) >= 0
    world.advance(now + 1)
    assert tally + len(held) == world.usage.held
    assert set(world.nodes) == held and world.usage.useful > 0


def test_what_was_lost_was_useful_before() -> None:
    usage = Usage(useful=10, surplus=3)
    usage.lose(4)
    assert (6, 4, 13) == (usage.useful, usage.lost, usage.held)


def test_a_node_that_was_never_there_is_not_missed() -> None:
    for make in (a_batch, a_job, a_service):
        world = make()
        world.gain(A, 0)
        world.lose(B, 100 * S, own_will=False)
        assert ([A], 100 * S, 0) == (list(world.nodes), world.usage.held, world.usage.lost)
