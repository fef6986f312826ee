"""The Sailor adapter: what a training job pays, where, and when."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.tenants.deadline import Deadline
from laissez.tenants.pricing import grow_price, keep_price
from laissez.tenants.sailor import HostLayout, Job, Planner, Sailor, WhatIf, builtin_profile
from laissez.tenants.sailor.model import SailorError
from laissez.units import HOUR_US

pytestmark = pytest.mark.once

PLANNER = Planner(builtin_profile("OPT-350", 64))
NEO = Planner(builtin_profile("GPT-Neo-2.7", 64))
RACK = "a100/zone-a/row1/rack1"
HOST = f"{RACK}/host1"
OTHER = f"{RACK}/host2"
HELD = tuple(f"{HOST}/gpu{n}" for n in range(4))
SCOPES = ("h100", "a100")
MINUTE_US = 60_000_000


def make(
    planner: Planner = PLANNER,
    *,
    aware: bool = True,
    nodes_max: int = 32,
    speed: float = 200.0,
    value: float = 100.0,
) -> Sailor:
    """A job of 10 hours that needs `speed` samples per second all the time."""
    job = Job(
        Deadline(0, 10 * HOUR_US, value),
        epochs=20,
        samples_per_epoch=speed * 36_000 / 20,
        checkpoint_s=1800.0,
    )
    return Sailor(
        job, WhatIf(planner, SCOPES, topology_aware=aware), cold_start_s=83.0, nodes_max=nodes_max
    )


def test_a_node_in_the_same_host_is_worth_more_than_one_elsewhere() -> None:
    app = make()
    assert grow_price(app, HOST, HELD, 0) > grow_price(app, OTHER, HELD, 0) > 0
    assert grow_price(app, HOST, HELD, 0) == grow_price(app, f"{HOST}/gpu7", HELD, 0)
    assert (
        grow_price(app, OTHER, HELD, 0)
        >= grow_price(app, RACK, HELD, 0)
        == grow_price(app, "a100", HELD, 0)
        > 0
    )


def test_a_job_that_is_not_topology_aware_pays_the_same_everywhere_and_asks_anywhere() -> None:
    app = make(aware=False)
    assert grow_price(app, HOST, HELD, 0) == grow_price(app, OTHER, HELD, 0) > 0
    assert {SCOPES} == set(app.wishes(HELD, 0))


def test_wishes_go_from_the_hosts_held_upwards() -> None:
    assert (HOST, RACK, "a100/zone-a/row1", "a100/zone-a", "h100", "a100") == make().wishes(
        HELD, 0
    )[0]


def test_a_full_host_is_not_requested() -> None:
    full = tuple(f"{HOST}/gpu{n}" for n in range(8))
    assert RACK == make().wishes(full, 0)[0][0]


def test_a_wish_has_at_most_16_alternatives_and_always_the_scopes() -> None:
    held = tuple(f"a100/zone-a/row1/rack{n}/host1/gpu1" for n in range(20))
    wish = make().wishes(held, 0)[0]
    assert 16 == len(wish)
    assert SCOPES == wish[-2:]


def test_a_job_asks_for_exactly_the_nodes_it_can_use() -> None:
    assert 28 == len(make().wishes(HELD, 0)) == len(make(speed=30.0).wishes(HELD, 0)), (
        "also when it is on schedule"
    )
    assert 2 == len(make(nodes_max=6).wishes(HELD, 0))
    assert () == make(nodes_max=4).wishes(HELD, 0)


def test_a_nearly_done_job_asks_for_no_more_than_can_work_for_two_restarts() -> None:
    app = make()
    # the share of the work that a node does in that time
    one = 2 * 83.0 * app.what_if.speed_per_node() / app.job.samples
    for left, wished in ((2.5, 3), (1.5, 2), (0.9, 1)):
        app.job.progressed(1.0 - left * one, 0)
        assert wished == len(app.wishes((), 0))
    app.job.progressed(1.0, 0)
    assert () == app.wishes((), 0)


def test_a_job_that_may_not_be_late_asks_for_nothing_that_starts_after_its_deadline() -> None:
    job = Job(
        Deadline(0, HOUR_US, 1.0, finish_late=False),
        epochs=20,
        samples_per_epoch=1000.0,
        checkpoint_s=1800.0,
    )
    app = Sailor(job, make().what_if, cold_start_s=100.0)
    assert app.wishes(HELD, HOUR_US - 101 * 1_000_000)
    assert () == app.wishes(HELD, HOUR_US - 100 * 1_000_000) == app.wishes(HELD, HOUR_US)


def test_one_gpu_that_helps_only_with_others_is_worth_its_part_of_the_bundle() -> None:
    """GPT-Neo does not fit on one A100: the first one adds nothing by itself."""
    app = make(NEO)
    assert 0 == app.what_if.speed(("a100",))
    assert app.marginal_utility("a100", (), 0) > 0


def test_losing_a_node_that_halves_the_plan_costs_half_the_speed() -> None:
    app = make()
    pair = HELD[:2]
    lost = app.marginal_utility(pair[0], pair, 0)
    # and no less than its half of both
    assert lost >= app.at_stake(pair[0], pair, 0) - app.at_stake(pair[1], pair[1:], 0)
    assert 0.4 < lost / app.at_stake(pair[0], pair, 0) < 0.6


def spare_node(app: Sailor) -> tuple[str, tuple[str, ...]]:
    """Leaves of which the best plan uses all but one."""
    held = (*HELD, f"{OTHER}/gpu1")
    assert (f"{OTHER}/gpu1",) == app.what_if.unused(held)
    return held[-1], held


def test_an_unused_node_is_redundant_and_priced_lower() -> None:
    app = make(speed=200.0)
    spare, held = spare_node(app)
    assert app.is_redundant(spare, held, 0)
    assert not app.is_redundant(HELD[0], held, 0)
    assert keep_price(app, spare, held, 0) < keep_price(app, HELD[0], held, 0)


def test_an_unused_node_is_worth_half_its_price_on_schedule_and_nothing_once_done() -> None:
    app, late = make(speed=1.0), make(speed=200.0)
    spare, held = spare_node(app)
    assert app.utility_gap(HELD, 0) < 0 < late.utility_gap(held, 0)
    for job, part in ((app, 0.5), (late, 1.0)):
        assert keep_price(job, spare, held, 0) == pytest.approx(
            part * job.value_per_utility(0) * job.marginal_utility(spare, held, 0)
        )
        job.progressed(1.0, 0)
        assert 0 == keep_price(job, spare, held, 0)


def test_progress_that_is_not_required_yet_is_bought_and_kept_for_half() -> None:
    app, late = make(speed=1.0), make(speed=200.0)
    for job, part in ((app, 0.5), (late, 1.0)):
        worth = job.value_per_utility(0) * job.marginal_utility(HOST, HELD, 0)
        stake = job.value_per_utility(0) * job.at_stake(HOST, HELD, 0)
        assert grow_price(job, HOST, HELD, 0) == pytest.approx(
            part * worth - max(part * worth, stake) * 83 / 3600
        )


def test_losing_any_node_restarts_the_job_so_each_is_kept_for_the_whole_restart() -> None:
    app = make()
    worth, stake = app.marginal_utility(HELD[0], HELD, 0), app.at_stake(HELD[0], HELD, 0)
    assert stake > 2 * worth
    assert keep_price(app, HELD[0], HELD, 0) == pytest.approx(
        app.value_per_utility(0) * (worth + stake * 83 / 3600)
    )


def test_a_node_that_waits_for_others_in_other_hosts_is_kept_at_its_bid() -> None:
    """In hosts of one GPU its bundle can only be elsewhere. It was asked for anywhere; where it
    came to be must not make it worth less."""
    app = make(NEO)
    app = Sailor(app.job, WhatIf(NEO, SCOPES, HostLayout(leaf_words=6, gpus_per_host=1)))
    held = ("h100/zone-a/row1/rack1/host1/gpu0",)
    bought = "a100/zone-a/row1/rack1/host1/gpu0"
    assert app.what_if.speed((*held, bought)) == app.what_if.speed(held), (
        "by itself it adds nothing"
    )
    assert (
        0
        < grow_price(app, "a100", held, 0)
        == pytest.approx(keep_price(app, bought, (bought, *held), 0))
    )


def test_a_node_of_an_unfinished_bundle_is_kept_at_its_bid() -> None:
    app = make(NEO)
    assert app.is_redundant("a100", ("a100",), 0)
    assert keep_price(app, "a100", ("a100",), 0) == pytest.approx(grow_price(app, "a100", (), 0))


def test_a_used_node_is_not_worthless_because_an_unused_one_could_take_its_place() -> None:
    app = make()
    _, held = spare_node(app)
    assert app.marginal_utility(HELD[0], held, 0) == app.marginal_utility(HELD[0], HELD, 0) > 0


def test_the_keep_price_climbs_towards_a_checkpoint_and_falls_right_after_it() -> None:
    app = make()
    app.progressed(0.0, 0)
    prices = []
    for minute in (5, 15, 29):
        app.progressed(0.001 * minute, minute * MINUTE_US)
        prices.append(keep_price(app, HELD[0], HELD, minute * MINUTE_US))
    assert prices == sorted(prices)
    app.checkpointed(29 * MINUTE_US)
    assert keep_price(app, HELD[0], HELD, 29 * MINUTE_US) < prices[0]


def test_bids_rise_as_the_deadline_nears_and_nothing_is_done() -> None:
    app = make()
    prices = [grow_price(app, HOST, HELD, hour * HOUR_US) for hour in (0, 2, 4, 6)]
    assert prices == sorted(prices)
    assert prices[0] < prices[-1]


def test_a_job_that_is_done_pays_nothing_and_asks_for_nothing() -> None:
    app = make()
    app.progressed(1.0, HOUR_US)
    assert 0 == grow_price(app, HOST, HELD, HOUR_US) == keep_price(app, HELD[0], HELD, HOUR_US)
    assert () == app.wishes(HELD, HOUR_US)


def test_a_job_that_waits_has_nothing_to_lose() -> None:
    app = make()
    app.progressed(0.0, HOUR_US)
    assert 0 == app.since_checkpoint_s(HOUR_US)
    app.progressed(0.1, HOUR_US + 30_000_000)
    assert (30, 1770) == (
        app.since_checkpoint_s(HOUR_US + 30_000_000),
        app.until_checkpoint_s(HOUR_US + 30_000_000),
    )
    assert 0 == app.until_checkpoint_s(3 * HOUR_US), "a late checkpoint is due at once"


def test_lost_work_is_back_at_the_checkpoint() -> None:
    job = make().job
    job.progressed(0.1, HOUR_US)
    job.checkpointed(HOUR_US)
    job.progressed(0.2, 2 * HOUR_US)
    assert 3600 == job.since_checkpoint_s(2 * HOUR_US)
    job.progressed(0.1, 2 * HOUR_US)
    assert 0 == job.since_checkpoint_s(2 * HOUR_US)


def test_nodes_are_held_no_longer_than_the_deadline() -> None:
    app = make()
    assert 3600 == app.expected_hold_s(0)
    assert 1800 == app.expected_hold_s(10 * HOUR_US - 1800 * 1_000_000)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_invalid_numbers_of_a_job_are_refused(bad: float) -> None:
    deadline = Deadline(0, HOUR_US, 1.0)
    with pytest.raises(SailorError, match="epochs"):
        Job(deadline, epochs=bad, samples_per_epoch=1, checkpoint_s=1)
    with pytest.raises(SailorError, match="from 0 to 1"):
        make().progressed(bad, 0)
    with pytest.raises(SailorError, match="cold_start_s"):
        Sailor(make().job, make().what_if, cold_start_s=bad)


def test_impossible_layouts_and_scopes_are_refused() -> None:
    with pytest.raises(SailorError, match="nodes_max"):
        make(nodes_max=0)
    with pytest.raises(SailorError, match="at most 6 words"):
        make().utility_gap((f"{HOST}/gpu1/part1",), 0)
    with pytest.raises(SailorError, match="found v100"):
        WhatIf(PLANNER, ("v100",))
    with pytest.raises(SailorError, match="1 to 16 scopes"):
        WhatIf(PLANNER, ())
    with pytest.raises(SailorError, match="gpus_per_host"):
        HostLayout(gpus_per_host=0)


places = st.sampled_from(
    [
        *HELD,
        f"{OTHER}/gpu1",
        "h100/zone-a/row1/rack1/host1/gpu1",
        "h100/zone-a/row1/rack1/host1/gpu2",
        HOST,
        RACK,
        "a100",
        "h100",
    ]
)


@settings(max_examples=25)
@given(
    held=st.lists(places, max_size=6).map(
        lambda each: tuple(
            leaf for n, leaf in enumerate(each) if leaf.count("/") < 5 or leaf not in each[:n]
        )
    ),
    node=places,
    done=st.floats(0, 1),
    now=st.integers(0, 12 * HOUR_US),
    aware=st.booleans(),
)
def test_prices_are_never_negative_or_infinite(
    held: tuple[str, ...], node: str, done: float, now: int, aware: bool
) -> None:
    app = make(aware=aware)
    app.progressed(done, now)
    price = keep_price(app, node, held, now) if node in held else grow_price(app, node, held, now)
    assert 0 <= price < math.inf
    assert all(SCOPES == wish[-2:] for wish in app.wishes(held, now))
