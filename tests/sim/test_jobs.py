"""Batches and training jobs, against answers worked out by hand."""

from __future__ import annotations

import pytest

from laissez.sim.worlds.jobs import SETTLE_US
from laissez.units import SECOND_US as S
from support.sim_world import accounts, batch, leaf, passes, speed, training

pytestmark = pytest.mark.once

A, B, C, D = (leaf(number, "a100") for number in range(4))
ELSEWHERE = "a100/zone2/row1/rack1/host1/gpu0"
SAMPLE_S = 11_053  # a sample of size 1 on one A100


# -- batch


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


@pytest.mark.parametrize(
    ("voluntary", "kept_s", "expected"),
    [(False, 300, (300, 60, 100, 0)), (True, 400, (400, 60, 0, 0))],
)
def test_a_taken_node_repeats_its_work_since_the_checkpoint(
    voluntary: bool, kept_s: int, expected: tuple[int, ...]
) -> None:
    """Warm at 60 s, saved at 360 s, gone at 460 s; back at 1000 s."""
    world = batch(1.0)
    world.gain(A, 0)
    passes(world, 460)
    world.lose(A, 460 * S, voluntary)
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
    world.lose(B, 150 * S, voluntary=False)
    assert world.performance() == pytest.approx(90 / (2 * SAMPLE_S))
    assert (90, 60 + 50, 0, 0) == accounts(world)


def test_samples_share_the_nodes() -> None:
    """Two samples on two GPUs of one host, then a third GPU elsewhere: two join for one sample,
    T(2) = 957 + 10,096 / 2."""
    world = batch(1.0, 1.0, cold_s=0.0)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 500)
    assert world.performance() == pytest.approx(500 / SAMPLE_S)
    world.gain(ELSEWHERE, 500 * S)
    passes(world, 1000)
    assert world.performance() == pytest.approx(500 / SAMPLE_S + (500 / 6005 + 500 / SAMPLE_S) / 2)
    assert (2 * 500 + 3 * 500, 0, 0, 0) == accounts(world)


def test_of_three_nodes_for_two_samples_one_is_surplus() -> None:
    world = batch(1.0, 1.0, cold_s=0.0)
    for node in (A, ELSEWHERE, "a100/zone1/row2/rack1/host1/gpu0"):
        world.gain(node, 0)
    passes(world, 500)
    assert world.performance() == pytest.approx(500 / SAMPLE_S)
    assert (1000, 0, 0, 500) == accounts(world)


def test_a_large_step_over_a_checkpoint_loses_no_more_than_small_ones() -> None:
    world = batch(1.0)
    world.gain(A, 0)
    world.lose(A, 460 * S, voluntary=False)
    assert world.performance() == pytest.approx(300 / SAMPLE_S)
    assert (300, 60, 100, 0) == accounts(world)


def test_a_node_of_a_batch_is_surplus_after_the_last_sample() -> None:
    world = batch(0.1, cold_s=100.0)
    world.gain(A, 0)
    world.advance(2000 * S)
    assert (1105.3, 100, 0, 2000 - 100 - 1105.3) == pytest.approx(accounts(world))


def test_a_taken_newcomer_repeats_only_its_own_work() -> None:
    """Two nodes, one from 60 s and one from 200 s on; the second is taken at 210 s: 10 s are
    lost."""
    world = batch(1.0, 1.0)
    world.gain(A, 0)
    passes(world, 140)
    world.gain(B, 140 * S)
    passes(world, 210)
    world.lose(B, 210 * S, voluntary=False)
    assert (150, 120, 10, 0) == accounts(world)
    assert world.performance() == pytest.approx(150 / (2 * SAMPLE_S))


def test_work_of_a_relinquished_node_is_not_lost_with_another_node() -> None:
    """Both work from 60 s on; one is given up at 160 s, the other is taken at 260 s: its own 200 s
    are lost, and no more."""
    world = batch(1.0, 1.0, checkpoint_s=1000.0)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 160)
    world.lose(A, 160 * S, voluntary=True)
    passes(world, 260)
    world.lose(B, 260 * S, voluntary=False)
    assert (100, 120, 200, 0) == accounts(world)
    assert world.performance() == pytest.approx(100 / (2 * SAMPLE_S))


def test_work_on_a_finished_sample_is_not_lost() -> None:
    """Two nodes did 100 s each, of which half was for a sample that is finished: so half of what
    the one that is taken did is lost."""
    world = batch(100 / SAMPLE_S, 2000 / SAMPLE_S, cold_s=0.0, checkpoint_s=1000.0)
    world.gain(A, 0)
    world.gain(ELSEWHERE, 0)
    world.lose(ELSEWHERE, 100 * S, voluntary=False)
    assert world.performance() == pytest.approx(150 / 2100)
    assert (150, 0, 50, 0) == pytest.approx(accounts(world))


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


@pytest.mark.parametrize(
    ("voluntary", "kept_s", "expected"),
    [(False, 300, (600, 120, 200, 0)), (True, 400, (800, 120, 0, 0))],
)
def test_losing_one_node_sends_all_back_to_the_checkpoint_and_restarts_them(
    voluntary: bool, kept_s: int, expected: tuple[int, ...]
) -> None:
    """Two nodes run from 60 s, saved at 360 s; one is gone at 460 s; the other runs again from 520
    s."""
    samples = speed(2) * 10_000
    world = training(samples)
    world.gain(A, 0)
    world.gain(B, 0)
    passes(world, 460)
    world.lose(B, 460 * S, voluntary)
    assert world.performance() == pytest.approx(kept_s / 10_000)
    assert expected == accounts(world)
    passes(world, 520)
    assert world.performance() == pytest.approx(kept_s / 10_000)
    assert expected[1] + 60 == accounts(world)[1]
    passes(world, 620)
    assert world.performance() == pytest.approx(kept_s / 10_000 + 100 * speed(1) / samples)


def test_a_checkpoint_follows_an_interval_of_work_and_not_of_restarts() -> None:
    world = training(speed(1) * 10_000, restart_s=100, checkpoint_s=300)
    world.gain(A, 0)
    passes(world, 100 + 299, step_s=7)
    assert world.app.job.saved == 0
    passes(world, 100 + 301, step_s=7)
    assert world.app.job.saved == pytest.approx(0.03)
    passes(world, 100 + 601, step_s=7)
    assert world.app.job.saved == pytest.approx(0.06)


def test_a_node_that_comes_as_a_restart_begins_joins_it() -> None:
    """The restart begins anew with it: from 10 s until 70 s."""
    samples = speed(2) * 1000
    world = training(samples)
    world.gain(A, 0)
    passes(world, 10)
    world.gain(B, 10 * S)
    passes(world, 170)
    assert world.performance() == pytest.approx(100 / 1000)
    assert (200, 10 + 120, 0, 0) == accounts(world)


def test_nodes_that_trickle_in_do_not_keep_a_job_from_running() -> None:
    """One every 50 s, a restart of 60 s: those that come too late for one restart wait for the
    next."""
    world = training(speed(4) * 10_000)
    for at_s, node in ((0, A), (50, B), (100, C), (150, D)):
        passes(world, at_s)
        world.gain(node, at_s * S)
    passes(world, 400)
    assert world.performance() > 0.01


def test_nodes_that_arrive_during_work_join_together_once_arrivals_stop() -> None:
    """They come at 200, 210 and 220 s; it restarts at 240 s without losing anything and runs on at
    300 s."""
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
def test_a_newcomer_that_cannot_pay_back_before_the_deadline_is_not_used(
    early_s: float, is_taken_in: bool
) -> None:
    """With speeds v and w it pays if w (left - restart) > v left, so if more than restart w / (w -
    v) is left when it is settled."""
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


def test_a_newcomer_that_leaves_before_it_joined_changes_nothing() -> None:
    world = training(speed(1) * 10_000)
    world.gain(A, 0)
    passes(world, 200)
    world.gain(B, 200 * S)
    passes(world, 210)
    world.lose(B, 210 * S, voluntary=False)
    passes(world, 260)
    assert world.performance() == pytest.approx(200 / 10_000)
    assert (200, 60, 0, 10) == accounts(world)


def test_a_node_of_a_job_is_surplus_from_its_end_on() -> None:
    world = training(speed(1) * 100)
    world.gain(A, 0)
    world.advance(1000 * S)
    assert (100, 60, 0, 840) == pytest.approx(accounts(world))
