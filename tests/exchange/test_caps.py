"""Caps on spending per hour: at and above each cap, the lower of two caps, and no effect on running
leases."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from laissez.exchange import events
from laissez.exchange.accounts import highest_limit
from laissez.exchange.caps import PER_HOUR_MAX, open_limits
from laissez.exchange.commands import OPERATOR, Action, Caps, SetCaps, SetOwnCaps
from laissez.exchange.exchange import Exchange
from laissez.market import Alternative
from laissez.market import commands as to_market
from laissez.market.commands import (
    AmendOrder,
    CancelOrder,
    PlaceOrder,
    Relinquish,
    SetLimit,
)
from laissez.server.data_folder import Replaying
from laissez.wire import requests
from laissez.wire.decoding import read_caps
from laissez.wire.problems import ProblemError
from support.budget_world import DOLLAR, HOUR_US, BudgetWorld, code, detail, told
from support.exchange_histories import draw, with_fees
from support.live_world import Live, place, with_live
from support.service_world import World, with_service

MINUTE_US = 60_000_000


def capped(rate: int | None, worst_rate: int | None) -> BudgetWorld:
    world = BudgetWorld("a/1", "b/1")
    world.say("ann", SetOwnCaps(rate, worst_rate))
    return world


def lease_of(world: BudgetWorld, who: str) -> int:
    return world.exchange.market.leases(who)[0].lease


# -- bounds


def test_charges_and_order_limits_may_add_up_to_the_rate_cap_and_no_more() -> None:
    world = BudgetWorld("a/1", "b/1")
    world.leased_at(2 * DOLLAR, 50 * DOLLAR)
    world.say("ann", SetOwnCaps(9 * DOLLAR, None))
    world.place("bob", "b", 9 * DOLLAR)
    refused = world.place("ann", "b", DOLLAR, 7 * DOLLAR + 1)
    why = (
        "you are charged, with your open orders at their limits, 2 dollars per hour, and with this"
        " it would be 9.000001; your cap is 9"
    )
    assert ("cap_exceeded", f"rate: {why}") == (code(refused), detail(refused, "ann"))
    assert code(world.place("ann", "b", DOLLAR, 7 * DOLLAR)) is None
    assert "cap_exceeded" == code(world.place("ann", "b", 0, 1))
    # its charge does not change
    assert code(world.say("ann", SetLimit("ann", lease_of(world, "ann"), 60 * DOLLAR))) is None


@pytest.mark.parametrize(("bid", "limit", "won"), [(0, 9, 1), (0, 4, 4), (1, 2, 5), (2, 2, 5)])
def test_no_more_leases_are_won_than_the_operators_rate_cap_allows(
    bid: int, limit: int, won: int
) -> None:
    world = BudgetWorld(*(f"a/{number}" for number in range(12)))
    world.say(OPERATOR, to_market.SetFloor("a", 2 * DOLLAR))
    world.say(OPERATOR, SetCaps("ann", Caps(rate=10 * DOLLAR)))
    refused = [code(world.place("ann", "a", bid * DOLLAR, limit * DOLLAR)) for _ in range(12)]
    assert [None] * won + ["cap_exceeded"] * (12 - won) == refused
    assert won == world.leases("ann")


def test_open_orders_that_all_win_at_once_do_not_exceed_the_rate_cap() -> None:
    world = BudgetWorld(*(f"a/{number}" for number in range(6)))
    world.say(OPERATOR, to_market.SetFloor("a", 9 * DOLLAR))
    world.say("ann", SetOwnCaps(10 * DOLLAR, None))
    assert [None, None, None, "cap_exceeded"] == [
        code(world.place("ann", "a", 0, 3 * DOLLAR)) for _ in range(4)
    ]
    world.say(OPERATOR, to_market.SetFloor("a", 3 * DOLLAR))
    assert (3, 9 * DOLLAR) == (
        world.leases("ann"),
        sum(lease.charged for lease in world.exchange.market.leases("ann")),
    )


def test_winning_never_takes_a_tenant_above_its_rate_cap() -> None:
    """Bob comes and goes and never bids, so that only winning makes ann pay more."""
    rng = Random(8)
    world = BudgetWorld(*(f"a/{number}" for number in range(8)))
    for number in range(8):
        world.say(OPERATOR, to_market.SetFloor(f"a/{number}", rng.randrange(2, 8) * DOLLAR))
    world.say("ann", SetOwnCaps(20 * DOLLAR, None))
    most = 0
    for _ in range(300):
        who = rng.choice(("ann", "ann", "bob"))
        limit = rng.randrange(1, 9) * DOLLAR
        world.place(
            who,
            rng.choice(("a", f"a/{rng.randrange(8)}")),
            rng.choice((0, limit // 3)) if who == "ann" else 0,
            limit,
        )
        for one, chance in (("bob", 0.5), ("ann", 0.05)):
            started = world.exchange.market.counts(one).leases_started
            if rng.random() < chance:
                world.say(one, Relinquish(one, rng.randint(1, max(1, started))))
        for order in world.exchange.market.orders("ann")[1:]:  # open orders count too: make room
            world.say("ann", CancelOrder("ann", order.order))
        charged = sum(lease.charged for lease in world.exchange.market.leases("ann"))
        assert charged <= 20 * DOLLAR
        most = max(most, charged)
    assert most > 12 * DOLLAR


def test_a_refusal_does_not_depend_on_hidden_prices() -> None:
    """Otherwise a tenant could probe any floor with its own caps, without trading."""
    answers = []
    for floor in (2, 4, 7):
        world = capped(5 * DOLLAR, None)
        world.say(OPERATOR, to_market.SetFloor("b", floor * DOLLAR))
        answers.append(
            [
                world.place("ann", "b", bid * DOLLAR, limit * DOLLAR).refusal
                for bid, limit in ((0, 6), (1, 9), (6, 6), (0, 1))
            ]
        )
    assert answers[0] == answers[1] == answers[2]
    assert [True, True, True, False] == [refused is not None for refused in answers[0]]


def test_a_limit_that_raises_a_held_leases_charge_is_bounded_by_the_rate_cap() -> None:
    world = capped(6 * DOLLAR, None)
    world.say(OPERATOR, to_market.SetControls("a", hold_us=HOUR_US))
    world.place("ann", "a", 5 * DOLLAR)
    world.place("bob", "a", 8 * DOLLAR)  # it is charged 5, because it is held
    lease = lease_of(world, "ann")
    for limit in (6 * DOLLAR + 1, None):
        assert "cap_exceeded" == code(world.say("ann", SetLimit("ann", lease, limit)))
    assert code(world.say("ann", SetLimit("ann", lease, 6 * DOLLAR))) is None
    assert code(world.say("ann", SetLimit("ann", lease, DOLLAR))) is None


def test_limits_may_add_up_to_the_worst_rate_exactly() -> None:
    world = capped(None, 10 * DOLLAR)
    world.leased_at(2 * DOLLAR, 6 * DOLLAR)
    lease = lease_of(world, "ann")
    world.place("bob", "b", 9 * DOLLAR)
    assert "cap_exceeded" == code(world.place("ann", "b", 1, 4 * DOLLAR + 1))
    assert code(world.place("ann", "b", 1, 3 * DOLLAR)) is None
    for limit in (7 * DOLLAR + 1, None):
        assert "cap_exceeded" == code(world.say("ann", SetLimit("ann", lease, limit)))
    assert code(world.say("ann", SetLimit("ann", lease, 7 * DOLLAR))) is None
    assert "cap_exceeded" == code(world.place("ann", "b", 0, 1))


@pytest.mark.parametrize("own", [SetOwnCaps(8 * DOLLAR, None), SetOwnCaps(None, 8 * DOLLAR)])
def test_an_order_counts_with_its_highest_limit_and_an_amended_one_as_it_will_be(
    own: SetOwnCaps,
) -> None:
    world = BudgetWorld("a/1", "b/1")
    world.say("ann", own)
    for leaf in ("a", "b"):
        world.place("bob", leaf, 9 * DOLLAR)
    both = (Alternative("a", 3 * DOLLAR, 8 * DOLLAR), Alternative("b", 4 * DOLLAR, 5 * DOLLAR))
    world.say("ann", PlaceOrder("ann", both))
    order = world.exchange.market.counts("ann").orders_placed
    assert (
        code(
            world.say("ann", AmendOrder("ann", order, (Alternative("a", 8 * DOLLAR, 8 * DOLLAR),)))
        )
        is None
    )
    assert "cap_exceeded" == code(
        world.say("ann", AmendOrder("ann", order, (Alternative("a", 4 * DOLLAR, 8 * DOLLAR + 1),)))
    )
    assert "alternatives_count" == code(world.say("ann", AmendOrder("ann", order, ())))


def test_amending_a_filled_order_is_refused_as_filled_not_for_a_cap() -> None:
    world = capped(6 * DOLLAR, 6 * DOLLAR)
    order = world.placed("ann", "a", 5 * DOLLAR)
    assert "already_filled" == code(
        world.say("ann", AmendOrder("ann", order, (Alternative("a", 4 * DOLLAR, 4 * DOLLAR),)))
    )


def test_a_held_lease_counts_with_its_highest_charge_after_its_limit_was_lowered() -> None:
    world = capped(None, 10 * DOLLAR)
    world.say(OPERATOR, to_market.SetControls("a", hold_us=HOUR_US))
    world.place("ann", "a", 6 * DOLLAR)
    world.say("ann", SetLimit("ann", lease_of(world, "ann"), DOLLAR))
    assert "cap_exceeded" == code(world.place("ann", "b", 5 * DOLLAR))
    world.wait(HOUR_US)
    assert code(world.place("ann", "b", 5 * DOLLAR)) is None


def test_a_lease_without_a_limit_counts_with_the_highest_possible_price() -> None:
    world = BudgetWorld("a/1", "b/1")
    world.leased_at(DOLLAR)
    world.say("ann", SetLimit("ann", lease_of(world, "ann"), None))
    world.say("ann", SetOwnCaps(None, 10_001 * DOLLAR))
    assert "cap_exceeded" == code(world.place("ann", "b", DOLLAR + 1))
    assert code(world.place("ann", "b", DOLLAR)) is None


def with_flash_fees() -> BudgetWorld:
    """Bids withdrawn within a minute pay for the rest of it. Bob holds both leaves at any price."""
    world = BudgetWorld("a/1", "b/1")
    for scope in ("a", "b"):
        world.say(OPERATOR, to_market.SetControls(scope, flash_us=MINUTE_US))
        world.place("bob", scope, DOLLAR, 9_000 * DOLLAR)
    return world


@pytest.mark.parametrize("own", [SetOwnCaps(10 * DOLLAR, None), SetOwnCaps(None, 10 * DOLLAR)])
def test_running_fees_count_so_bidding_and_withdrawing_cannot_exceed_a_cap(own: SetOwnCaps) -> None:
    world = with_flash_fees()
    world.say("ann", own)
    order = world.placed("ann", "a", 6 * DOLLAR)
    world.say("ann", CancelOrder("ann", order))
    world.exchange = Exchange.restore(world.exchange.snapshot())
    assert "cap_exceeded" == code(world.place("ann", "a", 4 * DOLLAR + 1))
    assert code(world.place("ann", "a", 4 * DOLLAR)) is None
    world.at += MINUTE_US  # without commands meanwhile
    assert code(world.place("ann", "a", 6 * DOLLAR)) is None


def test_a_bid_moved_back_and_forth_at_the_cap_is_stopped_by_its_fees() -> None:
    for there, back in ((("b", 9), ("a", 9)), (("a", 1), ("a", 9))):
        world = with_flash_fees()
        world.say("ann", SetOwnCaps(None, 10 * DOLLAR))
        order = world.placed("ann", "a", 9 * DOLLAR, 10 * DOLLAR)
        refused = [
            code(
                world.say(
                    "ann",
                    AmendOrder("ann", order, (Alternative(scope, bid * DOLLAR, 10 * DOLLAR),)),
                )
            )
            for scope, bid in (there, back, (there[0], 1))
        ]
        assert [None, "cap_exceeded", None] == refused  # a lower bid in place is always accepted
        world.say("ann", CancelOrder("ann", order))
        # the fees of the bid and of its only move
        assert sum(fee.rate for fee in world.exchange.market.fees("ann")) <= 2 * 9 * DOLLAR


@pytest.mark.parametrize("others_budget", [True, False])
def test_an_ended_hold_is_over_for_caps_with_or_without_budgets(others_budget: bool) -> None:
    world = capped(None, 10 * DOLLAR)
    world.say(OPERATOR, to_market.SetControls("a", hold_us=HOUR_US))
    if others_budget:
        world.budget("bob", DOLLAR, Action.WARN)
    world.place("ann", "a", 6 * DOLLAR)
    world.say("ann", SetLimit("ann", lease_of(world, "ann"), DOLLAR))
    world.at += HOUR_US
    assert code(world.place("ann", "b", 5 * DOLLAR)) is None


# -- the lower of two caps


def test_the_lower_of_both_caps_is_in_force_and_removing_ones_own_leaves_the_operators() -> None:
    world = BudgetWorld("a/1")
    world.place("bob", "a", 9 * DOLLAR)
    world.say(OPERATOR, SetCaps("ann", Caps(rate=5 * DOLLAR)))
    world.say("ann", SetOwnCaps(3 * DOLLAR, None))
    assert "cap_exceeded" == code(world.place("ann", "a", 4 * DOLLAR))
    world.say("ann", SetOwnCaps(6 * DOLLAR, None))
    assert "cap_exceeded" == code(world.place("ann", "a", 5 * DOLLAR + 1))
    world.say("ann", SetOwnCaps(None, None))
    assert code(world.place("ann", "a", 5 * DOLLAR)) is None
    world.say(OPERATOR, SetCaps("ann", Caps()))
    assert code(world.place("ann", "a", 8 * DOLLAR)) is None


def test_a_cap_below_present_spending_ends_nothing_and_allows_no_growth() -> None:
    world = BudgetWorld("a/1", "b/1")
    world.leased_at(2 * DOLLAR, 9 * DOLLAR)
    lease = lease_of(world, "ann")
    world.place("bob", "b", 9 * DOLLAR)
    order = world.placed("ann", "b", 3 * DOLLAR)
    world.say(OPERATOR, SetCaps("ann", Caps(rate=0, worst_rate=0)))
    assert (1, 1) == (world.leases("ann"), world.open_orders("ann"))
    assert "cap_exceeded" == code(world.place("ann", "b", 1))
    assert "cap_exceeded" == code(world.say("ann", SetLimit("ann", lease, 10 * DOLLAR)))
    assert code(world.say("ann", SetLimit("ann", lease, 8 * DOLLAR))) is None
    assert (
        code(
            world.say("ann", AmendOrder("ann", order, (Alternative("b", 2 * DOLLAR, 2 * DOLLAR),)))
        )
        is None
    )


def test_caps_are_kept_in_snapshots() -> None:
    world = capped(5 * DOLLAR, None)
    saved = world.exchange.snapshot()
    world.exchange = Exchange.restore(saved)
    assert saved == world.exchange.snapshot()
    assert "cap_exceeded" == code(world.place("ann", "a", 6 * DOLLAR))


def test_caps_out_of_range_are_refused() -> None:
    world = BudgetWorld()
    for wrong in (-1, PER_HOUR_MAX + 1):
        for field in ("rate", "worst_rate"):
            refused = world.say(OPERATOR, SetCaps("ann", Caps(**{field: wrong})))
            assert "bad_request" == code(refused)
            assert f"caps.{field}: expected 0 to 1000000000 dollars" in detail(refused, OPERATOR)
    assert code(world.say(OPERATOR, SetCaps("ann", Caps(rate=PER_HOUR_MAX, worst_rate=0)))) is None
    assert code(world.say("ann", SetOwnCaps(PER_HOUR_MAX, 0))) is None
    for own in (SetOwnCaps(PER_HOUR_MAX + 1, 0), SetOwnCaps(0, -1)):
        assert "bad_request" == code(world.say("ann", own))


@pytest.mark.parametrize(
    "text", ["", "-1", "1e3", "0.0000001", "1000000000.000001", "9" * 11, "\u0661"]
)
def test_invalid_texts_of_caps_are_refused(text: str) -> None:
    with pytest.raises(ProblemError, match=r"caps\.worst_rate: expected 0 to 1000000000") as error:
        read_caps(requests.Caps(worst_rate=text))
    assert "bad_request" == error.value.code


def test_a_tenant_never_pays_more_than_its_worst_rate_whatever_others_bid() -> None:
    rng = Random(3)
    world = BudgetWorld(*(f"a/{number}" for number in range(6)))
    world.say("ann", SetOwnCaps(None, 20 * DOLLAR))
    world.say(OPERATOR, to_market.SetFloor("a", 3 * DOLLAR))
    most = 0
    for _ in range(150):
        who = rng.choice(("ann", "ann", "bob"))
        limit = rng.randrange(1, 9) * DOLLAR
        world.place(who, f"a/{rng.randrange(6)}", rng.randrange(limit), limit)
        for order in world.exchange.market.orders("ann"):  # open orders count too: make room
            world.say("ann", CancelOrder("ann", order.order))
        for lease in world.exchange.market.leases("ann")[:2]:
            world.say("ann", SetLimit("ann", lease.lease, rng.choice((None, limit, 3 * DOLLAR))))
        charged = sum(lease.charged for lease in world.exchange.market.leases("ann"))
        assert charged <= 20 * DOLLAR
        most = max(most, charged)
    assert most > 10 * DOLLAR


@pytest.mark.parametrize("seed", [0, 3, *(seed for seed in with_fees(8) if seed % 3)])
def test_cached_limits_of_open_orders_match_the_market_even_from_a_snapshot(seed: int) -> None:
    drawn = draw(seed)
    machine = Replaying.begin(drawn.genesis)
    most = 0
    for index, step in enumerate(drawn.steps):
        if index == len(drawn.steps) // 2:
            machine = Replaying.restore(machine.snapshot())
        machine.apply(step.at, step.request)
        market = machine.exchange.market
        for name, account in machine.exchange.accounts.items():
            found = {
                order.order: highest_limit(order.alternatives) for order in market.orders(name)
            }
            kept = open_limits(market, account)
            assert (found, sum(found.values())) == (kept.orders, kept.total)
            most = max(most, len(kept.orders))
            to_run = sum(fee.rate for fee in market.fees(name) if fee.end > market.now)
            assert to_run == account.running_fees.per_hour(market.now)
    assert most > 1


def test_ended_fees_are_dropped_even_if_nothing_asks() -> None:
    world = BudgetWorld("a/1")
    world.say(OPERATOR, to_market.SetControls("a", flash_us=10))
    world.place("bob", "a", 9 * DOLLAR)
    for _ in range(30):
        world.say("ann", CancelOrder("ann", world.placed("ann", "a", DOLLAR)))
    assert 30 == len(world.exchange.market.fees("ann"))
    # each fee runs for ten microseconds, and the next begins two later
    assert len(world.exchange.accounts["ann"].running_fees) <= 5


# -- over HTTP and in a session


async def caps(world: World, who: str = "ann", **query: str) -> dict[str, Any]:
    found: dict[str, Any] = (await world.ask(who, "GET", "/v1/caps", params=query)).json()
    return found


def test_caps_are_shown_set_and_exceeded_over_http(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        none = {"rate": None, "worst_rate": None}
        assert {
            "own": none,
            "operator": none,
            "in_force": none,
            "rate_now": "0",
            "worst_rate_now": "0",
        } == await caps(world)
        await world.ask("operator", "PATCH", "/v1/tenants/ann", {"caps": {"worst_rate": "8"}})
        await world.place("ann", "a100", "5", "2")
        await world.place("bob", "a100", "3")
        found = await world.ask("ann", "PUT", "/v1/caps", {"rate": "4.50"}, key="c-1")
        expected = {
            "own": {"rate": "4.5", "worst_rate": None},
            "operator": {"rate": None, "worst_rate": "8"},
        }
        expected |= {
            "in_force": {"rate": "4.5", "worst_rate": "8"},
            "rate_now": "3",  # type: ignore[dict-item]
            "worst_rate_now": "5",  # type: ignore[dict-item]
        }
        assert (
            expected
            == found.json()
            == await caps(world)
            == await caps(world, "operator", tenant="ann")
        )
        for limit, bid in (("2", "2"), ("4", "1")):
            answer = await world.ask(
                "ann",
                "POST",
                "/v1/orders",
                {"alternatives": [{"scope": "a100", "limit": limit, "bid": bid}]},
            )
            assert (402, "cap_exceeded") == (answer.status_code, answer.json()["code"]), answer.text
        again = await world.ask("ann", "PUT", "/v1/caps", {"rate": "4.50"}, key="c-1")
        assert "true" == again.headers["idempotency-replayed"]
        wanted = {"type": "place_order", "alternatives": [{"scope": "h100", "limit": "9"}]}
        batch = await world.ask("ann", "POST", "/v1/batch", {"commands": [wanted]})
        assert (402, "cap_exceeded") == (
            batch.json()["results"][0]["status"],
            batch.json()["results"][0]["code"],
        )
        run = await world.ask("ann", "POST", "/v1/instances", {"type": "h100", "max_price": "9"})
        assert (402, "cap_exceeded") == (run.status_code, run.json()["code"])
        told = [
            one["event"]
            for one in (await world.ask("ann", "GET", "/v1/events")).json()["data"]
            if one["event"]["type"] == "caps.set"
        ]
        assert [("4.5", None)] == [(one["rate"], one["worst_rate"]) for one in told]
        assert 400 == (await world.ask("ann", "PUT", "/v1/caps", {"rate": "four"})).status_code
        assert 400 == (await world.ask("operator", "GET", "/v1/caps")).status_code
        assert 403 == (await world.ask("operator", "PUT", "/v1/caps", {})).status_code
        assert 403 == (await world.ask("bob", "GET", "/v1/caps?tenant=ann")).status_code
        removed = await world.ask("ann", "PUT", "/v1/caps", {"rate": None})
        assert none == removed.json()["own"]

    with_service(tmp_path / "data", story)


def test_a_session_refuses_exceeded_caps_in_the_same_way(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        await live.world.ask("ann", "PUT", "/v1/caps", {"worst_rate": "2"})
        async with live.peer("ann") as ann:
            refused = await ann.ask(**place("1", "a100", "3"))
            assert "cap_exceeded" == refused["code"], refused

    with_live(tmp_path / "data", tale)


def test_the_event_names_the_new_caps() -> None:
    applied = BudgetWorld().say("ann", SetOwnCaps(2_500_000, None))
    (event,) = told(applied, "ann", events.OwnCapsSet)
    assert (2_500_000, None) == (event.rate, event.worst_rate)
