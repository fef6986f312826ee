"""How long nodes are kept, learned from how long they were; and what that does to prices."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.market import SetFloor
from laissez.tenants import EconAdapter, Held, TenantView, grow_price, keep_price
from laissez.tenants.hold_times import HoldTimes
from support.tenant_world import HOUR, MINUTE, Plain, World

pytestmark = pytest.mark.once


def view(now: int, **since: int) -> TenantView:
    return TenantView(
        now, tuple(Held(n, f"h/{leaf}", at, 0, None) for n, (leaf, at) in enumerate(since.items()))
    )


def test_the_first_estimate_is_one_lease_of_an_hour() -> None:
    assert 3600.0 == HoldTimes(3600.0).expected_s()


def test_lasting_leases_count_as_well_as_ended_ones() -> None:
    holding = HoldTimes(3600.0)
    holding.see(view(0, a=0, b=0))
    holding.see(view(2 * HOUR, a=0, b=0))
    assert 3600.0 + 2 * 7200.0 == holding.expected_s(), "nothing ended yet"
    holding.see(view(3 * HOUR, a=0))
    assert (3600.0 + 2 * 3600.0 + 3 * 3600.0) / 2 == holding.expected_s(), (
        "b was last seen at two hours"
    )


def test_nodes_that_come_and_go_every_minute_are_expected_to_go_soon() -> None:
    holding = HoldTimes(3600.0)
    for minute in range(120):
        holding.see(view(minute * MINUTE, **({"a": minute * MINUTE} if minute % 2 == 0 else {})))
    assert holding.expected_s() < 120.0


def test_a_node_that_was_lost_and_won_back_between_two_looks_ended_once() -> None:
    holding = HoldTimes(3600.0)
    holding.see(view(HOUR, a=0))
    holding.see(view(2 * HOUR, a=HOUR + MINUTE))
    assert (3600.0 + 3600.0 + 59 * 60.0) / 2 == holding.expected_s()


def test_a_clock_that_is_behind_does_not_shorten_leases() -> None:
    holding = HoldTimes(3600.0)
    holding.see(view(0, **{f"n{at}": 2 * HOUR for at in range(100)}))
    assert 3600.0 == holding.expected_s()


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, HOUR), st.sets(st.sampled_from("abcd"))), max_size=12))
def test_the_same_view_twice_changes_nothing_and_a_node_is_always_kept_for_some_time(
    steps: list[tuple[int, set[str]]],
) -> None:
    once, twice = HoldTimes(3600.0), HoldTimes(3600.0)
    since: dict[str, int] = {}
    now = 0
    for passed, leaves in steps:
        now += passed
        since = {leaf: since.get(leaf, now) for leaf in sorted(leaves)}
        once.see(view(now, **since))
        for _ in range(2):
            twice.see(view(now, **since))
        assert once.expected_s() == twice.expected_s() > 0


def test_every_application_learns_through_its_adapter_and_prices_by_it() -> None:
    world, app = World("h/a"), Plain(cold_s=360.0)
    world.join(EconAdapter("ann", app))
    before = grow_price(app, "h", (), 0), keep_price(app, "h/a", ("h/a",), 0)
    assert (2.7, 3.3) == pytest.approx(before)
    for minute in range(60):
        world.now = minute * MINUTE
        world.apply(SetFloor("h", 9_000_000 if minute % 2 else 1_000_000))
        world.step(world.now)
    assert app.expected_hold_s(world.now) < 600.0
    assert grow_price(app, "h", (), world.now) < 1.0 < before[0], (
        "a cold start is not paid back within minutes"
    )
    assert keep_price(app, "h/a", ("h/a",), world.now) > before[1], (
        "and it is worth paying more not to have another one"
    )
