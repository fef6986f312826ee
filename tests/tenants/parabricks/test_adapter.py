"""The worth of nodes to a batch: prices through the hooks, for growing, keeping, pausing, resuming
and trading down."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.tenants import Deadline, grow_price, keep_price, move_price
from laissez.tenants.parabricks import RUN_TIMES, Batch, Parabricks

pytestmark = pytest.mark.once

MINUTE = 60_000_000
HOUR = 60 * MINUTE
SCOPES = ("h100", "a100")
H_LEAF = "h100/zone-a/rack1/host1/gpu0"
A_LEAF = "a100/zone-a/rack1/host1/gpu0"
ALONE = RUN_TIMES["a100"].per_hour(1)


def tenant(
    samples: int = 10, hours: int = 36, value: float = 120.0, finish_late: bool = True
) -> Parabricks:
    batch = Batch([1.0] * samples, SCOPES, checkpoint_s=1800.0)
    return Parabricks(batch, Deadline(0, hours * HOUR, value, finish_late))


def test_the_bid_rises_as_the_deadline_nears() -> None:
    idle = tenant()
    bids = [grow_price(idle, "h100", (), hour * HOUR) for hour in (0, 12, 24, 30)]
    assert bids == sorted(set(bids)) and bids[0] > 0


def test_an_h100_is_worth_more_than_an_a100_by_its_speed_to_a_batch_that_is_short_of_both() -> None:
    short = tenant(samples=40)
    assert grow_price(short, "h100", (), 0) == pytest.approx(
        1.45 * grow_price(short, "a100", (), 0)
    )


def test_keeping_is_worth_more_than_asking() -> None:
    app = tenant()
    app.batch.advance((A_LEAF,), 10 * MINUTE)
    assert keep_price(app, A_LEAF, (A_LEAF,), 10 * MINUTE) > grow_price(
        app, "a100", (), 10 * MINUTE
    )


def test_the_price_of_keeping_climbs_with_unsaved_work_and_falls_after_a_checkpoint() -> None:
    app = tenant()
    prices = []
    for minutes in (5, 15, 25):
        app.batch.advance((A_LEAF,), minutes * MINUTE)
        prices.append(keep_price(app, A_LEAF, (A_LEAF,), minutes * MINUTE))
    app.batch.checkpointed(25 * MINUTE)
    assert prices == sorted(set(prices))
    assert keep_price(app, A_LEAF, (A_LEAF,), 25 * MINUTE) < prices[0]


def test_a_batch_ahead_of_schedule_pauses_at_high_prices_and_resumes_when_time_runs_short() -> None:
    app, held = tenant(hours=72), (H_LEAF,)
    high = grow_price(app, "h100", (), 36 * HOUR)
    app.batch.advance(held, 12 * HOUR)
    app.batch.checkpointed(12 * HOUR)
    assert app.batch.done > 12 / 72
    assert keep_price(app, H_LEAF, held, 12 * HOUR) < high
    app.batch.advance((), 13 * HOUR)
    asked = [grow_price(app, "h100", (), hour * HOUR) for hour in (13, 40, 60, 66)]
    assert asked == sorted(set(asked)) and asked[0] < high < asked[-1]


def test_an_idle_batch_with_work_asks_for_cheap_nodes() -> None:
    app = tenant(hours=720)
    assert [SCOPES] * 8 == app.wishes((), 0)
    required, pace = app.utility_gap((), 0), ALONE / 10
    assert 0 < required < pace / 10, "hardly anything of it is required now"
    worth = app.value_per_utility(0) * (required + (pace - required) / 2)
    assert grow_price(app, "a100", (), 0) == pytest.approx(worth * (1 - 480 / 3600))


def test_it_trades_down_when_the_h100_is_dear_and_the_a100_cheap_not_when_alike() -> None:
    app, held = tenant(), (H_LEAF,)
    app.batch.advance(held, 4 * HOUR)
    app.batch.checkpointed(4 * HOUR)
    assert [SCOPES] * 8 == app.wishes((), 4 * HOUR)
    assert move_price(app, "a100", held, H_LEAF, 6.88, 4 * HOUR) > 2.40
    assert move_price(app, "a100", held, H_LEAF, 2.50, 4 * HOUR) < 2.40


def test_moving_right_before_a_checkpoint_costs_more_than_right_after_it() -> None:
    app, held = tenant(), (H_LEAF,)
    app.batch.advance(held, 15 * MINUTE)
    before = move_price(app, "a100", held, H_LEAF, 6.88, 15 * MINUTE)
    app.batch.checkpointed(15 * MINUTE)
    assert move_price(app, "a100", held, H_LEAF, 6.88, 15 * MINUTE) > before


def test_a_batch_that_is_done_wishes_nothing_and_pays_nothing() -> None:
    app = tenant(samples=1)
    app.batch.finished(0, HOUR)
    assert [] == app.wishes((), HOUR)
    assert 0.0 == grow_price(app, "h100", (), HOUR) == keep_price(app, A_LEAF, (A_LEAF,), HOUR)


def test_it_wants_as_many_as_it_can_use_and_pays_half_for_those_not_needed_yet() -> None:
    app = tenant(samples=40)
    needed = next(count for count in range(8) if app.utility_gap(("h100",) * count, 0) <= 0)
    assert 1 < needed < 7
    assert 8 - needed == len(app.wishes(("h100",) * needed, 0))
    assert [] == app.wishes(("a100",) * 8, 0), "it runs no more samples at once"
    full = grow_price(app, "h100", (), 0)
    prices = [grow_price(app, "h100", ("h100",) * count, 0) for count in range(8)]
    assert [full] * (needed - 1) == pytest.approx(prices[: needed - 1])
    assert full > prices[needed - 1] > full / 2, "it is needed in part"
    assert [full / 2] * (8 - needed) == pytest.approx(prices[needed:])


def test_nodes_not_needed_yet_go_first_and_needed_ones_are_kept_for_more() -> None:
    app = tenant(samples=40)
    held = tuple(f"h100/zone-a/rack1/host{at}/gpu0" for at in range(8))
    assert keep_price(app, held[0], held, 0) == pytest.approx(
        keep_price(app, held[0], held[:1], 0) / 2
    )


def test_nodes_are_requested_only_if_they_find_work_for_two_cold_starts() -> None:
    app = tenant(samples=1)
    one_h = 2 * app.cold_s / 3600.0 * app.batch.pace_best  # what a node does in that time
    for left, wished in ((2.5, 3), (1.5, 2), (0.9, 1)):
        app.batch.done = 1.0 - left * one_h
        assert wished == len(app.wishes((), HOUR))


def test_after_the_deadline_only_a_batch_that_may_be_late_continues() -> None:
    late, lost = tenant(), tenant(finish_late=False)
    assert late.wishes((), 37 * HOUR) and grow_price(late, "a100", (), 37 * HOUR) > 0
    assert [] == lost.wishes((), 37 * HOUR) and 0.0 == grow_price(lost, "a100", (), 37 * HOUR)
    assert [] == lost.wishes((), 36 * HOUR - 7 * MINUTE), (
        "a node could not start before the deadline"
    )


def test_a_node_won_shortly_before_the_deadline_has_less_time_to_pay_for_its_start() -> None:
    app = tenant()
    assert 3600.0 == app.expected_hold_s(30 * HOUR)
    assert 1200.0 == app.expected_hold_s(36 * HOUR - 20 * MINUTE)
    assert 960.0 == app.expected_hold_s(37 * HOUR), "late work is still worth a restart"


def test_losing_one_node_of_many_puts_only_that_node_at_stake() -> None:
    app = tenant()
    assert app.at_stake(A_LEAF, (A_LEAF, H_LEAF), 0) is None


def test_a_machine_without_a_sample_is_worth_nothing_at_the_end() -> None:
    app = tenant(samples=1, hours=2)
    other = "a100/zone-a/rack1/host2/gpu0"
    held = (A_LEAF, A_LEAF.replace("gpu0", "gpu1"), other)
    assert 0.0 == keep_price(app, other, held, 0) < keep_price(app, A_LEAF, held, 0)


@settings(max_examples=40)
@given(st.integers(1, 30), st.integers(0, 50), st.integers(0, 3), st.integers(0, 60))
def test_prices_are_never_negative_or_boundless(
    samples: int, hour: int, count: int, more: int
) -> None:
    app = tenant(samples)
    held = tuple(f"a100/zone-a/rack1/host1/gpu{at}" for at in range(count))
    app.batch.advance(held, hour * HOUR)
    now = hour * HOUR + more * MINUTE
    prices = [
        grow_price(app, "h100", held, now),
        *(keep_price(app, leaf, held, now) for leaf in held),
    ]
    assert all(0.0 <= price < 1e6 for price in prices)
