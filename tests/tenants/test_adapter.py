"""The adapter in a real market: it asks for wanted nodes, keeps those that are worth their price,
and sends nothing when nothing changes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.market import (
    AmendOrder,
    Band,
    CancelOrder,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    at_price,
)
from laissez.tenants import AdapterSettings, EconAdapter, HookError, Leaves, Wish
from laissez.units import dollars
from support.tenant_world import HOUR, MINUTE, Plain, World

pytestmark = pytest.mark.once

SIX = ("h/r1/a", "h/r1/b", "h/r2/c", "h/r2/d", "a/x", "a/y")


def of(sent: list[Any], *kinds: type) -> list[Any]:
    return [command for command in sent if isinstance(command, kinds)]


def test_one_order_per_wanted_node_each_at_its_own_price() -> None:
    world = World("h/a")
    world.apply(SetFloor("h", 9_000_000))
    world.join(EconAdapter("ann", Plain(want=3, value=2.0, scopes=("h", "h/a"))))
    sent = world.step(0)
    assert 3 == len(of(sent, PlaceOrder)) == len(sent)
    assert (at_price("h", 2_000_000), at_price("h/a", 2_000_000)) == sent[0].alternatives  # type: ignore[union-attr]


def test_several_types_are_alternatives_of_one_order_each_at_its_own_price() -> None:
    world = World(*SIX)
    world.apply(SetFloor("h", 9_000_000))
    world.apply(SetFloor("a", 9_000_000))
    world.join(EconAdapter("ann", Plain(want=1, value=4.0, scopes=("a", "h"), speeds={"a": 0.5})))
    sent = world.step(0)
    assert [(at_price("h", 4_000_000), at_price("a", 2_000_000))] == [
        command.alternatives for command in of(sent, PlaceOrder)
    ]


class Together(Plain):
    """A second node adds four times what the first does, as where two make up an engine."""

    def utility_gap(self, held: Leaves, now: int) -> float:
        return 5.0 - (0.0, 1.0, 5.0)[min(2, len(held))]

    def wishes(self, held: Leaves, now: int) -> list[Wish]:
        return [self.scopes] * (2 - len(held))

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        return (1.0, 4.0, 0.0)[min(2, len(held) - (node in held))]


def test_an_order_asks_no_more_than_its_node_is_worth_alone() -> None:
    world = World("h/a")
    world.apply(SetFloor("h", 9_000_000))
    world.join(EconAdapter("ann", Together(value=2.0)))
    assert [2_000_000, 2_000_000] == [
        command.alternatives[0].limit for command in of(world.step(0), PlaceOrder)
    ]


def test_an_order_that_is_filled_alone_is_not_given_up_again() -> None:
    """Only one node is free. At 8 dollars the second order would win it, for what it is worth
    beside another one."""
    world = World("h/a", "h/b")
    world.apply(SetFloor("h", 3_000_000))
    world.apply(PlaceOrder("bob", (at_price("h/b", 50_000_000),)))
    world.join(EconAdapter("ann", Together(value=2.0)))
    world.settle(0)
    assert () == world.held("ann")


def test_nothing_is_sent_when_nothing_changes() -> None:
    world = World(*SIX)
    world.join(EconAdapter("ann", Plain(want=3)))
    assert world.step(0)
    world.settle(0)
    assert 3 == len(world.held("ann"))
    assert [] == world.step(MINUTE)


def test_a_price_that_hardly_moved_is_left_alone_and_one_that_moved_is_amended() -> None:
    world = World("h/a")
    world.apply(SetFloor("h", 9_000_000))
    app = Plain(value=2.0)
    world.join(EconAdapter("ann", app))
    world.step(0)
    app.value = 2.05
    assert [] == world.step(1)
    app.value = 2.5
    assert [AmendOrder("ann", 1, (at_price("h", 2_500_000),))] == world.step(2)


def test_unwanted_orders_are_cancelled_and_the_rest_amended() -> None:
    world = World("h/a")
    world.apply(SetFloor("h", 9_000_000))
    app = Plain(want=3, value=2.0)
    world.join(EconAdapter("ann", app))
    world.step(0)
    app.want, app.value = 2, 3.0
    assert [CancelOrder, AmendOrder, AmendOrder] == [type(command) for command in world.step(1)]


def test_surplus_nodes_are_given_up_by_lowest_worth_beyond_their_cost() -> None:
    world = World(*SIX)
    app = Plain(want=3, scopes=("h/r1", "a"), speeds={"a": 1.0})
    world.join(EconAdapter("ann", app))
    world.settle(0)
    world.apply(SetFloor("a", 500_000))
    app.want = 2
    # it costs more than the other type and does the same
    held = {lease.lease: lease.leaf for lease in world.market.leases("ann")}
    assert ["a/y"] == [held[command.lease] for command in of(world.step(1), Relinquish)]
    assert ("a/x", "h/r1/a") == world.held("ann")


def test_a_node_that_costs_more_than_it_is_worth_is_given_up() -> None:
    world = World("h/a")
    world.join(EconAdapter("ann", Plain(value=2.0, cold_s=360.0)))
    world.settle(0)
    assert {"h/a": 2_200_000} == world.limits("ann")
    world.apply(SetFloor("h", 2_100_000))
    assert ("h/a",) == world.held("ann")  # more than it would pay anew, less than it costs to move
    world.settle(1)
    assert ("h/a",) == world.held("ann")
    world.apply(SetFloor("h", 2_300_000))
    assert () == world.held("ann")


def test_it_keeps_a_node_through_unsaved_work_and_gives_it_up_at_the_checkpoint() -> None:
    world = World("h/a")
    app = Plain(value=2.0)
    world.join(EconAdapter("ann", app))
    world.settle(0)
    app.since_s, app.until_s = 500.0, 100.0
    world.settle(1)
    world.apply(PlaceOrder("bob", (at_price("h", 4_000_000),)))
    world.settle(2)
    assert ("h/a",) == world.held("ann")
    app.since_s, app.until_s = 0.0, 600.0
    world.settle(3)
    assert ("h/a",) == world.held("bob")


def test_it_moves_to_a_cheaper_place_only_if_the_gain_exceeds_the_cost_of_moving() -> None:
    world = World(*SIX)
    world.apply(SetFloor("a", 1_000_000))
    world.apply(SetFloor("h", 500_000))
    # moving costs a dollar per hour, over an hour
    app = Plain(value=5.0, scopes=("h", "a"), cold_s=720.0)
    world.join(EconAdapter("ann", app))
    world.settle(0)
    assert ("h/r1/a",) == world.held("ann")
    world.apply(SetFloor("h", 1_900_000))
    world.settle(1)
    assert ("h/r1/a",) == world.held("ann")
    world.apply(SetFloor("h", 2_500_000))
    world.settle(2)
    assert ("a/x",) == world.held("ann")
    world.apply(SetFloor("h", 500_000))  # not so much cheaper that moving back would pay
    world.settle(3)
    assert ("a/x",) == world.held("ann")


def test_moves_can_be_switched_off() -> None:
    world = World(*SIX)
    adapter = EconAdapter("ann", Plain(value=5.0, scopes=("h", "a")), AdapterSettings(moves_max=0))
    world.join(adapter)
    world.settle(0)
    (before,) = world.held("ann")
    world.apply(SetFloor(before.partition("/")[0], 4_000_000))
    assert () == adapter.watches(world.view(adapter))
    world.settle(1)
    assert (before,) == world.held("ann")


def test_one_of_two_equal_moves_is_made() -> None:
    world = World(*SIX)
    app = Plain(want=2, value=5.0, scopes=("h/r1", "h/r2"))
    world.join(EconAdapter("ann", app))
    world.apply(SetFloor("a", 500_000))
    world.settle(0)
    app.scopes = ("h", "a")
    world.apply(SetFloor("h", 3_000_000))
    assert 1 == len(of(world.step(1), PlaceOrder))
    world.settle(2)
    assert ("a/x", "a/y") == world.held("ann")


def test_no_bid_or_limit_exceeds_the_most_it_may_pay() -> None:
    world = World(*SIX)
    app = Plain(want=4, value=50.0, since_s=500.0, until_s=1.0)
    world.join(EconAdapter("ann", app, AdapterSettings(price_max=3_000_000)))
    sent = world.step(0) + world.step(1)
    assert {3_000_000} == {
        alternative.limit
        for command in of(sent, PlaceOrder)
        for alternative in command.alternatives
    }
    assert {3_000_000} == set(world.limits("ann").values())


def test_a_bid_that_a_band_cut_down_is_tried_again_but_not_at_every_step() -> None:
    world = World("h/a")
    world.apply(SetFloor("h", 1_000_000))
    world.apply(PlaceOrder("bob", (at_price("h", 9_000_000),)))
    world.apply(SetControls("h", rise=Band(100_000, 10 * MINUTE)))
    world.join(EconAdapter("ann", Plain(value=5.0), AdapterSettings(retry_s=60.0)))
    world.step(0)
    assert 1_100_000 == world.market.orders("ann")[0].alternatives[0].bid
    assert [] == world.step(1)
    assert [AmendOrder] == [type(command) for command in world.step(MINUTE + 1)]
    assert [] == world.step(MINUTE + 2)


def test_it_never_spends_more_than_its_budget() -> None:
    world = World(*SIX)
    world.apply(SetFloor("h", 6_000_000))
    world.join(
        EconAdapter(
            "ann", Plain(want=3, value=20.0), AdapterSettings(budget=5_000_000, guard_s=60.0)
        )
    )
    for minute in range(60):
        if minute == 10:
            world.apply(PlaceOrder("bob", (at_price("h", 11_000_000),)))
        world.step(minute * MINUTE)
    spent = float(dollars(world.market.bill("ann").total))
    assert 4.0 < spent <= 5.0
    assert () == world.held("ann")
    # the rest of the budget buys nothing
    assert all(order.alternatives[0].limit < 6_000_000 for order in world.market.orders("ann"))


def test_a_budget_too_small_for_all_still_buys_one() -> None:
    world = World(*SIX)
    world.apply(SetFloor("h", 2_000_000))
    world.join(
        EconAdapter("ann", Plain(want=3, value=6.88), AdapterSettings(budget=50_000, guard_s=60.0))
    )
    world.settle(0)
    assert 1 == len(world.held("ann"))


def test_limits_come_down_before_a_node_that_is_needed_is_forgone() -> None:
    world = World(*SIX)
    world.apply(SetFloor("h", 1_100_000))
    world.join(
        EconAdapter("ann", Plain(want=4, value=10.0), AdapterSettings(budget=200_000, guard_s=60.0))
    )
    world.settle(0)
    assert 4 == len(world.held("ann"))


def test_leases_given_up_for_the_budget_are_marked() -> None:
    world = World(*SIX)
    world.apply(SetFloor("h", 6_000_000))
    world.join(
        EconAdapter(
            "ann", Plain(want=2, value=20.0), AdapterSettings(budget=1_000_000, guard_s=60.0)
        )
    )
    sent = [command for minute in range(10) for command in world.step(minute * MINUTE)]
    assert [True, True] == [command.budget_spent for command in of(sent, Relinquish)]


def test_a_hook_that_gives_no_number_stops_the_decision_and_changes_nothing() -> None:
    world = World("h/a")
    app = Plain()
    world.join(EconAdapter("ann", app))
    world.settle(0)
    app.value = math.nan
    with pytest.raises(HookError, match="value_per_utility"):
        world.step(1)
    assert {"h/a": 3_000_000} == world.limits("ann")


def test_a_limit_that_follows_unsaved_work_is_set_in_steps_not_at_every_look() -> None:
    world = World("h/a")
    app = Plain()
    world.join(EconAdapter("ann", app, AdapterSettings(tolerance=0.1)))
    world.settle(0)
    sent = []
    for second in range(1, 600):
        app.since_s, app.until_s = float(second), 600.0 - second
        sent += world.step(second * 1_000_000)
    assert {SetLimit} == {type(command) for command in sent}
    assert len(sent) < 80


apps = st.builds(
    Plain,
    want=st.integers(0, 4),
    value=st.sampled_from([0.0, 1.0, 2.0, 2.5, 4.0, 1e4]),
    scopes=st.sampled_from([("h",), ("a",), ("h", "a"), ("h/r1", "h"), ("a", "h", "h/r2")]),
    speeds=st.sampled_from([{}, {"a": 0.5}, {"h": 2.5}]),
    cold_s=st.sampled_from([0.0, 60.0, 600.0]),
    since_s=st.sampled_from([0.0, 300.0]),
    until_s=st.sampled_from([math.inf, 1.0, 300.0]),
    redundant=st.booleans(),
    restarts=st.booleans(),
)


@settings(max_examples=150)
@given(
    st.lists(apps, min_size=1, max_size=3),
    st.sampled_from([0, 500_000, 2_000_000]),
    st.sampled_from([0, 900_000]),
    st.none() | st.integers(0, 10**7),
)
def test_at_constant_inputs_all_come_to_rest_with_at_most_one_order_per_wanted_node(
    several: list[Plain], floor_h: int, floor_a: int, budget: int | None
) -> None:
    world = World(*SIX)
    world.apply(SetFloor("h", floor_h))
    world.apply(SetFloor("a", floor_a))
    terms = AdapterSettings(budget=budget, price_max=100_000_000)
    world.join(*(EconAdapter(f"t{number}", app, terms) for number, app in enumerate(several)))
    world.settle(HOUR)
    for adapter, app in zip(world.adapters, several, strict=True):
        held = world.held(adapter.tenant)
        wished = len(app.wishes(held, HOUR)) + terms.moves_max
        assert len(world.market.orders(adapter.tenant)) <= wished
        for order in world.market.orders(adapter.tenant):
            assert all(0 <= one.bid <= one.limit <= terms.price_max for one in order.alternatives)
