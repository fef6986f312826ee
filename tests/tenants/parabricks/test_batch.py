"""A batch of samples: how fast it goes on what it has, how far it gets, and what a lost node takes
with it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.tenants.parabricks import RUN_TIMES, Batch
from laissez.tenants.parabricks.batch import CACHED_MAX
from laissez.tenants.parabricks.runtime import ParabricksError, machines, slots

pytestmark = pytest.mark.once

MINUTE = 60_000_000
HOUR = 60 * MINUTE
SCOPES = ("h100", "a100")
A100, H100 = RUN_TIMES["a100"], RUN_TIMES["h100"]


def gpus(host: str, count: int) -> tuple[str, ...]:
    return tuple(f"{host}/gpu{at}" for at in range(count))


A_HOST = gpus("a100/zone-a/rack1/host1", 4)
B_HOST = gpus("a100/zone-a/rack1/host2", 4)


def batch(samples: int = 20, checkpoint_s: float = 600.0) -> Batch:
    return Batch([1.0] * samples, SCOPES, checkpoint_s=checkpoint_s)


def test_with_enough_samples_every_gpu_takes_its_own() -> None:
    assert batch().speed(A_HOST) == pytest.approx(4 * A100.per_hour(1))
    assert batch().speed((*A_HOST, "h100")) == pytest.approx(
        4 * A100.per_hour(1) + H100.per_hour(1)
    )


def test_the_last_sample_takes_all_gpus_of_one_machine_and_none_of_another() -> None:
    assert batch(1).speed(A_HOST) == pytest.approx(A100.per_hour(4))
    assert batch(1).speed(A_HOST + B_HOST) == pytest.approx(A100.per_hour(4))
    assert batch(2).speed(A_HOST + B_HOST) == pytest.approx(2 * A100.per_hour(4))
    assert batch(3).speed(A_HOST) == pytest.approx(A100.per_hour(2) + 2 * A100.per_hour(1))


def test_speeds_stay_right_when_the_cache_is_full() -> None:
    one = batch()
    assert all(
        one.speed((f"a100/host{at}/gpu0", "h100"))
        == pytest.approx(A100.per_hour(1) + H100.per_hour(1))
        for at in range(CACHED_MAX + 1)
    )


def test_no_more_samples_run_at_once_than_nodes_are_wanted() -> None:
    one = Batch([1.0] * 20, SCOPES, nodes_max=2)
    assert one.speed((A_HOST[0], B_HOST[0], "h100")) == pytest.approx(
        A100.per_hour(1) + H100.per_hour(1)
    )


def test_scopes_stand_for_gpus_in_machines_of_their_own() -> None:
    assert [("a100", 4), ("h100", 1), ("h100", 1)] == machines((*A_HOST, "h100", "h100"), SCOPES)
    assert batch(1).speed(("a100", "a100")) == pytest.approx(A100.per_hour(1))


def test_hardware_it_cannot_run_on_is_of_no_use() -> None:
    assert 0.0 == batch().speed(("tpu/zone-a/host1/chip0",))
    assert 0.0 == batch(1).speed(("tpu/zone-a/host1/chip0", "tpu/zone-a/host1/chip1"))
    one = batch()
    one.advance(("tpu/zone-a/host1/chip0",), HOUR)
    assert 0.0 == one.done


def parts(count: int, most: int) -> list[tuple[int, ...]]:
    """Every way to share `count` GPUs of a machine out among at most `most` samples."""
    ways = itertools.chain.from_iterable(
        itertools.combinations_with_replacement(range(1, count + 1), number)
        for number in range(1, most + 1)
    )
    return [(), *(way for way in ways if sum(way) == count)]


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a100", "h100"]), st.integers(1, 5)), min_size=1, max_size=3
    ),
    st.integers(1, 6),
)
def test_no_other_way_to_share_out_the_gpus_is_faster(
    found: list[tuple[str, int]], samples: int
) -> None:
    best = 0.0
    for ways in itertools.product(*(parts(count, samples) for _, count in found)):
        if sum(map(len, ways)) <= samples:
            best = max(
                best,
                sum(
                    RUN_TIMES[kind].per_hour(n)
                    for (kind, _), way in zip(found, ways, strict=True)
                    for n in way
                ),
            )
    shared = slots(found, samples, RUN_TIMES)
    assert len(shared) <= samples and shared == sorted(shared, reverse=True)
    assert sum(shared) == pytest.approx(best)


def test_a_batch_that_runs_is_done_when_the_model_says() -> None:
    one = batch(4)
    one.advance(A_HOST, round(A100.seconds(1) * 1e6) // 2)
    assert one.done == pytest.approx(0.5)
    one.advance(A_HOST, round(A100.seconds(1) * 1e6) + 1)
    assert (1.0, 0) == (one.done, one.samples_left)
    assert 0.0 == one.since_checkpoint_s(3 * HOUR) and 0.0 == one.speed(A_HOST)


def test_the_gpus_of_a_finished_sample_join_those_of_the_last() -> None:
    one = Batch([1.0, 0.25], SCOPES)
    first_s = 0.25 * A100.seconds(1)
    rest_s = (1.0 - first_s / A100.seconds(1)) * A100.seconds(2)
    one.advance(A_HOST[:2], round((first_s + rest_s - 1) * 1e6))
    assert 1 == one.samples_left
    one.advance(A_HOST[:2], round((first_s + rest_s + 1) * 1e6))
    assert 1.0 == one.done


def test_checkpoints_come_at_every_interval() -> None:
    one = batch()
    one.advance(A_HOST, 25 * MINUTE)
    assert (300.0, 300.0) == (
        one.since_checkpoint_s(25 * MINUTE),
        one.until_checkpoint_s(25 * MINUTE),
    )
    one.checkpointed(26 * MINUTE)
    assert (0.0, 600.0) == (
        one.since_checkpoint_s(26 * MINUTE),
        one.until_checkpoint_s(26 * MINUTE),
    )


def test_a_lost_node_takes_back_only_its_own_work_since_the_checkpoint() -> None:
    one = batch()
    one.advance(A_HOST, 20 * MINUTE)
    saved = one.done
    one.advance(A_HOST, 28 * MINUTE)
    new = one.done - saved
    one.lost(A_HOST[0], A_HOST, 28 * MINUTE)
    assert one.done == pytest.approx(saved + 0.75 * new)
    one.lost(A_HOST[1], A_HOST[1:], 28 * MINUTE)
    assert one.done == pytest.approx(saved + 0.5 * new)
    assert 480.0 == one.since_checkpoint_s(28 * MINUTE)


def test_a_node_given_up_in_good_order_loses_nothing_and_saves_only_what_it_did() -> None:
    one = batch()
    one.advance(A_HOST, 20 * MINUTE)
    saved = one.done
    one.advance(A_HOST, 28 * MINUTE)
    before = one.done
    one.released(A_HOST[0], A_HOST, 28 * MINUTE)
    assert one.done == pytest.approx(before)
    for at in (1, 2, 3):
        one.lost(A_HOST[at], A_HOST[at:], 28 * MINUTE)
    assert one.done == pytest.approx(saved + 0.25 * (before - saved))


def test_a_node_that_came_late_has_little_to_lose() -> None:
    one = batch(checkpoint_s=7200.0)
    one.advance(A_HOST[:1], 30 * MINUTE)
    one.advance(A_HOST[:2], 40 * MINUTE)
    before, per_hour = one.done, A100.per_hour(1) / 20
    one.lost(A_HOST[1], A_HOST[:2], 40 * MINUTE)
    assert before - one.done == pytest.approx(per_hour * 10 / 60)
    one.lost(A_HOST[0], A_HOST[:1], 40 * MINUTE)
    assert one.done == pytest.approx(0.0)


def test_work_on_a_sample_that_was_finished_meanwhile_is_not_taken_from_the_others() -> None:
    """Each of two nodes did half, part of it on a sample that cannot be lost any more: each has
    half of the rest to lose."""
    one = Batch([0.2, 3.0], SCOPES, checkpoint_s=36_000.0)
    held = (A_HOST[0], B_HOST[0])
    one.advance(held, 60 * MINUTE)
    rest = one.done * one.total - 0.2
    assert 1 == one.samples_left and rest > 0.1
    one.lost(held[0], held, 60 * MINUTE)
    assert one.done * one.total == pytest.approx(0.2 + rest / 2)
    one.lost(held[1], held[1:], 60 * MINUTE)
    assert one.done * one.total == pytest.approx(0.2)


def test_a_batch_without_nodes_pauses_at_its_checkpoint_and_resumes_from_there() -> None:
    one = batch()
    one.advance(A_HOST[:1], 28 * MINUTE)
    one.lost(A_HOST[0], A_HOST[:1], 28 * MINUTE)
    assert one.done == pytest.approx(20 / 60 * A100.per_hour(1) / 20)
    assert 0.0 == one.since_checkpoint_s(40 * MINUTE)
    one.advance((), 60 * MINUTE)
    paused = one.done
    assert 0.0 == one.since_checkpoint_s(60 * MINUTE)
    one.advance(A_HOST[:1], 65 * MINUTE)
    assert one.done > paused and 300.0 == one.since_checkpoint_s(65 * MINUTE)


def test_a_finished_sample_cannot_be_lost() -> None:
    one = Batch([0.01, 1.0], SCOPES, checkpoint_s=3600.0)
    one.advance(A_HOST[:2], 30 * MINUTE)
    one.lost(A_HOST[0], A_HOST[:2], 30 * MINUTE)
    one.lost(A_HOST[1], A_HOST[1:2], 30 * MINUTE)
    assert one.done == pytest.approx(0.01 / 1.01) and 1 == one.samples_left


def test_a_sample_told_to_be_finished_counts_as_done() -> None:
    one = batch(2)
    one.finished(1, MINUTE)
    assert (0.5, 1) == (one.done, one.samples_left)
    one.finished(0, MINUTE)
    assert 1.0 == one.done
    with pytest.raises(ParabricksError, match="a sample from 0 to 1, found 2"):
        one.finished(2, MINUTE)


def test_time_does_not_go_back() -> None:
    one = batch()
    one.advance((), HOUR)
    with pytest.raises(ParabricksError, match=f"expected a time from {HOUR} on, found 0"):
        one.advance((), 0)


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 4), st.integers(0, 90), st.sampled_from(["kept", "lost", "released"])
        ),
        max_size=12,
    )
)
def test_progress_always_stays_within_bounds(steps: list[tuple[int, int, str]]) -> None:
    one, now = batch(5), 0
    for count, minutes, fate in steps:
        now += minutes * MINUTE
        held = A_HOST[:count]
        one.advance(held, now)
        before = one.done
        if fate == "lost" and held:
            one.lost(held[0], held, now)
        if fate == "released" and held:
            one.released(held[0], held, now)
            assert one.done == pytest.approx(before)
        assert (
            0.0 <= one.done <= before + 1e-12 <= 1.0 + 1e-12
            and one.since_checkpoint_s(now) <= 600.0
        )


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 30)), min_size=1, max_size=6),
    st.permutations(range(4)),
)
def test_all_nodes_together_lose_all_unsaved_work_in_any_order(
    steps: list[tuple[int, int]], order: list[int]
) -> None:
    one, now = Batch([1.0, 0.3, 0.2, 0.1, 1.0], SCOPES, checkpoint_s=36_000.0), 0
    for count, minutes in steps:
        now += minutes * MINUTE
        one.advance(A_HOST[:count], now)
    finished = sum(
        size for size, left in zip((1.0, 0.3, 0.2, 0.1, 1.0), one._left, strict=True) if left == 0
    )
    held = tuple(A_HOST[at] for at in order)
    while held:
        one.lost(held[0], held, now)
        held = held[1:]
    assert one.done * one.total == pytest.approx(
        finished if one.samples_left else one.total, abs=1e-9
    )


@pytest.mark.parametrize(
    ("sizes", "scopes", "nodes_max", "checkpoint_s", "message"),
    [
        ([], SCOPES, 8, 600.0, "sizes: expected a list that is not empty"),
        ([1.0, 0.0], SCOPES, 8, 600.0, r"sizes\[1\]: expected a number above 0"),
        ([float("nan")], SCOPES, 8, 600.0, r"sizes\[0\]: expected a number above 0"),
        ([1.0], (), 8, 600.0, "scopes of the types a100, h100, found none"),
        ([1.0], ("tpu",), 8, 600.0, "scopes of the types a100, h100, found tpu"),
        ([1.0], SCOPES, 0, 600.0, "nodes_max: expected an integer from 1 on, found 0"),
        ([1.0], SCOPES, 8, 0.0, "checkpoint_s: expected a number from 1 .*, found 0.0"),
        ([1.0], SCOPES, 8, float("inf"), "checkpoint_s: .* found inf"),
    ],
)
def test_an_impossible_batch_is_refused(
    sizes: list[float], scopes: tuple[str, ...], nodes_max: int, checkpoint_s: float, message: str
) -> None:
    with pytest.raises(ParabricksError, match=message):
        Batch(sizes, scopes, nodes_max=nodes_max, checkpoint_s=checkpoint_s)
