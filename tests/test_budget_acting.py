"""Budgets that act: at the very instant, whoever looks how late; what each action does, and what it
never does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random

import msgspec
import pytest

from budget_world import DOLLAR, HOUR_US, RATE, SECOND_US, Thrifty, code, flashing, times, told
from exchange_histories import draw
from laissez.market import Alternative
from laissez.market import commands as to_market
from laissez.market.money import CHARGE_PER_MICRO_DOLLAR
from laissez.server.acting import CELL_US
from laissez.server.budgets import ACTIONS, LIMITS_TO_FLOOR, NO_NEW_ORDERS, RELINQUISH, WARN, Meter
from laissez.server.commands import (
    OPERATOR,
    AmendOrder,
    CancelOrder,
    IssueKey,
    Request,
    SetBudget,
    SetLimit,
)
from laissez.server.exchange import Exchange
from laissez.server.outcomes import numbered, pack, read_outcome
from laissez.wire import events as wire
from laissez.wire.times import format_time, parse_time
from laissez_check.event_audit import Auditor

pytestmark = pytest.mark.once

THRIFTY_SEEDS = (0, 3, 6, 9, 12)


# -- when


@pytest.mark.parametrize("action", ACTIONS)
def test_each_threshold_is_told_at_its_own_microsecond_however_late_anybody_looks(
    action: str,
) -> None:
    world = Thrifty("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.budget("ann", 36 * DOLLAR, action)
    since = world.at
    outcome = world.wait(1_000 * HOUR_US)
    half, most = told(outcome, "ann", wire.BudgetWarning)
    (spent,) = told(outcome, "ann", wire.BudgetSpent)
    ends = format_time(since + 10 * HOUR_US)
    assert (
        wire.BudgetWarning(
            format_time(since + 5 * HOUR_US), 50, "18.000000", "36.000000", "3.6", ends
        )
        == half
    )
    assert (
        wire.BudgetWarning(
            format_time(since + 8 * HOUR_US), 80, "28.800000", "36.000000", "3.6", ends
        )
        == most
    )
    assert wire.BudgetSpent(ends, action, "36.000000", "36.000000") == spent
    assert sorted(times(outcome)) == times(outcome)


def test_nothing_at_all_is_overspent_when_the_server_sleeps_through_it() -> None:
    world = Thrifty("a/1")
    world.leased_at(7_777_777, 9 * DOLLAR)
    world.budget("ann", 12_345_679, RELINQUISH)
    world.exchange = Exchange.restore(world.exchange.snapshot())
    outcome = world.wait(500 * HOUR_US)
    (ended,) = told(outcome, "ann", wire.LeaseEnded)
    assert "budget_spent" == ended.reason  # type: ignore[union-attr]
    assert 0 <= world.overspent("ann") < 7_777_777  # less than a microsecond of the rate
    world.wait(500 * HOUR_US)
    assert world.overspent("ann") < 7_777_777


@pytest.mark.parametrize("limit", [9 * DOLLAR, None])
def test_under_a_storm_of_commands_a_tenth_of_a_second_of_the_rate_is_overspent_at_most(
    limit: int | None,
) -> None:
    """Without a limit the worst case is a thousand times the rate, and what is known in advance is
    little."""
    rng = Random(5)
    for _ in range(4):
        world = Thrifty("a/1")
        lease = world.leased_at(RATE, 9 * DOLLAR)
        world.say("ann", SetLimit(lease, limit))
        world.budget("ann", rng.randrange(1_000, 3_000), RELINQUISH)
        (order,) = [name for name, one in world.exchange.accounts["bob"].orders.items()]
        highest = 0
        while world.leases("ann"):
            price = rng.randrange(DOLLAR, 8 * DOLLAR)
            highest = max(highest, price)
            world.say(
                "bob",
                AmendOrder(order, (Alternative("a/1", price, price),)),
                rng.randrange(1, 20_000),
            )
        assert 0 <= world.overspent("ann") <= CELL_US * max(highest, RATE)


def test_a_tenant_with_many_leases_is_checked_less_often_and_overspends_under_a_second() -> None:
    world = Thrifty("a/1", "b/1")
    lease = world.leased_at(RATE, 9 * DOLLAR)
    world.say("ann", SetLimit(lease, None))
    world.place("bob", "b", 9 * DOLLAR)
    for _ in range(40):
        world.place("ann", "b", DOLLAR)
    world.budget("ann", 3_000, RELINQUISH)  # three seconds of the rate
    (order,) = [name for name, one in world.exchange.accounts["bob"].orders.items()][:1]
    looks = set()
    while world.leases("ann"):
        world.say("bob", AmendOrder(order, (Alternative("a/1", RATE, RATE),)), 10_000)
        looks.add(world.exchange.accounts["ann"].budget.look_at)  # type: ignore[union-attr]
        if world.overspent("ann") > -RATE * SECOND_US // 20:  # now it rises
            world.say("bob", AmendOrder(order, (Alternative("a/1", 8 * DOLLAR, 8 * DOLLAR),)))
    assert 0 <= world.overspent("ann") < 8 * CELL_US * 8 * DOLLAR < SECOND_US * 8 * DOLLAR
    assert len(looks) < 10  # of some 300 commands


def test_the_instant_of_spending_is_the_first_also_while_the_cost_of_cancelling_falls() -> None:
    rng = Random(2)
    for _ in range(300):
        owing = tuple(
            (rng.randrange(1, 9), 5 + rng.randrange(1, 12)) for _ in range(rng.randrange(5))
        )
        rate, spent = rng.randrange(12), rng.randrange(1, 200)
        spent_by = {
            at: rate * (at - 5) + sum(rate * max(0, until - at) for rate, until in owing)
            for at in range(5, 300)
        }
        first = next((at for at in range(5, 300) if spent_by[at] >= spent), None)
        meter = Meter(5, spent_by[5], rate, 0, partial(tuple, owing))
        assert first == meter.reaches(spent)
        soonest = meter.soonest(spent)
        assert first is None or (soonest is not None and soonest <= first)
        for by in range(5, 40):
            assert (first if first is not None and first <= by else None) == (
                found if (found := meter.reaches(spent, by)) is not None and found <= by else None
            )


def test_thousands_of_bids_that_are_liable_are_each_looked_at_once() -> None:
    gone_through = []

    class Watched(tuple[tuple[int, int], ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[tuple[int, int]]:
            gone_through.append(1)
            return super().__iter__()

    owing = Watched((1, 10 + number) for number in range(2_000))
    meter = Meter(0, 0, 3, 3, lambda: owing)
    # at three a microsecond it cannot be reached by then
    assert meter.reaches(10**9, by=10**8) is None and gone_through == []
    assert meter.reaches(10**9) is not None
    assert len(gone_through) <= 2


def transcript(busy: bool, seed: int) -> list[wire.Event]:
    """What ann is told while bob changes its rate, and eve, if she is busy, trades where nobody
    else does."""
    rng, others = Random(seed), Random(7)
    world = Thrifty("a/1", "c/1", tenants=("ann", "bob", "eve"))
    lease = world.leased_at(RATE, 9 * DOLLAR)
    world.say("ann", SetLimit(lease, rng.choice((None, 9 * DOLLAR))))
    world.budget("ann", rng.randrange(1_000, 3_000), rng.choice(ACTIONS))
    (order,) = world.exchange.accounts["bob"].orders
    heard: list[wire.Event] = []
    for _ in range(40):
        then = world.at + rng.randrange(1, 200_000)
        while busy and world.at < then - 20_000:
            world.at += others.randrange(20_000)
            heard += [
                one.event for one in world.place("eve", "c", DOLLAR).told if one.tenant == "ann"
            ]
        price = rng.randrange(DOLLAR, 8 * DOLLAR)
        command = AmendOrder(order, (Alternative("a/1", price, price),))
        heard += [
            one.event
            for one in world.say("bob", command, then - world.at).told
            if one.tenant == "ann"
        ]
    return heard


def test_when_a_budget_acts_does_not_tell_whether_others_are_busy_elsewhere() -> None:
    heard = [transcript(False, seed) for seed in range(12)]
    assert heard == [transcript(True, seed) for seed in range(12)]
    assert sum(isinstance(event, wire.BudgetSpent) for events in heard for event in events) > 8


def test_budgets_that_are_used_up_one_after_the_other_act_in_that_order() -> None:
    names = tuple(f"t{number:02}" for number in range(12))
    world = Thrifty(*(f"a/{name}" for name in names), tenants=(*names, "bob"))
    for name in names:
        world.place(name, f"a/{name}", DOLLAR, 9 * DOLLAR)
        world.place("bob", f"a/{name}", DOLLAR // 2, DOLLAR // 2)
    order = Random(1).sample(names, len(names))
    for place, name in enumerate(order):
        world.budget(name, (place + 1) * DOLLAR, RELINQUISH)
    outcome = world.wait(100 * HOUR_US)
    assert order == [one.tenant for one in outcome.told if isinstance(one.event, wire.BudgetSpent)]
    assert sorted(times(outcome)) == times(outcome)
    assert all(0 <= world.overspent(name) < DOLLAR for name in names)


def test_a_lease_won_at_the_end_of_a_hold_while_the_server_sleeps_counts_from_then_on() -> None:
    world = Thrifty("a/1")
    world.say(OPERATOR, to_market.SetControls("a", hold_us=HOUR_US))
    world.place("bob", "a", DOLLAR)
    world.place("ann", "a", 5 * DOLLAR)
    world.say(OPERATOR, to_market.SetFloor("a", DOLLAR))
    world.budget("ann", 3 * DOLLAR, RELINQUISH)
    outcome = world.wait(100 * HOUR_US)
    (started,), (spent,) = (
        told(outcome, "ann", wire.LeaseStarted),
        told(outcome, "ann", wire.BudgetSpent),
    )
    assert 3 * HOUR_US == parse_time(spent.at) - parse_time(started.at)
    assert 0 == world.overspent("ann")


def test_a_hold_that_ends_for_somebody_else_changes_nothing_for_a_budget() -> None:
    world = Thrifty("a/1", "b/1")
    world.say(OPERATOR, to_market.SetControls("b", hold_us=HOUR_US))
    world.place("bob", "b", DOLLAR)
    world.leased_at(RATE)
    world.budget("ann", 36 * DOLLAR, WARN)
    since = world.at
    outcome = world.wait(20 * HOUR_US)
    assert format_time(since + 10 * HOUR_US) == told(outcome, "ann", wire.BudgetSpent)[0].at


def test_thresholds_that_are_crossed_at_once_are_told_once_and_in_order() -> None:
    world = Thrifty("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.budget("ann", 1, NO_NEW_ORDERS)  # a millisecond's worth
    outcome = world.place("bob", "a", DOLLAR)
    outcome = world.say("bob", CancelOrder(outcome.told[-1].event.order), SECOND_US)  # type: ignore[union-attr]
    assert [wire.BudgetWarning, wire.BudgetWarning, wire.BudgetSpent] == [
        type(one.event) for one in outcome.told if one.tenant == "ann"
    ]
    assert not [one for one in world.wait(HOUR_US).told if one.tenant == "ann"]


def test_a_threshold_is_told_before_the_key_that_is_issued_after_it() -> None:
    """Also a command that the market hears nothing of comes after what is over by its time."""
    world = Thrifty("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.budget("ann", DOLLAR, WARN)
    outcome = world.say(OPERATOR, IssueKey("ann", "key_1", bytes(32), ("read",), "k"), HOUR_US)
    assert wire.KeyIssued is type(outcome.told[-1].event) and 4 == len(outcome.told)
    assert sorted(times(outcome)) == times(outcome)


def test_asking_whether_something_is_due_says_so_at_the_instant_and_not_before() -> None:
    world = Thrifty("a/1")
    lease = world.leased_at(RATE, 9 * DOLLAR)
    world.say("ann", SetLimit(lease, None))
    world.budget("ann", 36 * DOLLAR, RELINQUISH)
    exchange, since = world.exchange, world.at
    before = exchange.snapshot()
    for hours, due in ((1, False), (5, True)):
        assert [False, due] == [
            exchange.is_due(since + hours * HOUR_US - 1),
            exchange.is_due(since + hours * HOUR_US),
        ]
    assert before == exchange.snapshot()
    assert not Thrifty().exchange.is_due(100 * HOUR_US)


# -- what it does


def test_spent_with_no_new_orders_cancels_those_that_wait_and_takes_none_and_keeps_leases() -> None:
    world = Thrifty("a/1", "b/1")
    lease = world.leased_at(RATE, 9 * DOLLAR)
    world.place("bob", "b", 5 * DOLLAR)
    placed = world.place("ann", "b", DOLLAR)
    world.budget("ann", DOLLAR, NO_NEW_ORDERS)
    outcome = world.wait(HOUR_US)
    assert 1 == len(told(outcome, "ann", wire.OrderCancelled)) and 0 == world.open_orders("ann")
    assert 1 == world.leases("ann") and 2 == world.open_orders("bob") + world.leases("bob")
    assert "budget_spent" == code(world.place("ann", "b", DOLLAR))
    assert "not_your_order" == code(world.say("ann", AmendOrder(placed.told[0].event.order, ())))  # type: ignore[union-attr]
    assert code(world.say("ann", SetLimit(lease, 8 * DOLLAR))) is None
    assert code(world.say("ann", SetLimit(lease, None))) is None


def test_spent_with_limits_to_floor_keeps_only_what_nobody_else_wants() -> None:
    world = Thrifty("a/1", "b/1")
    world.say(OPERATOR, to_market.SetFloor("b", DOLLAR))
    world.leased_at(RATE, 9 * DOLLAR)
    (started,) = told(world.place("ann", "b", 9 * DOLLAR), "ann", wire.LeaseStarted)
    world.budget("ann", DOLLAR, LIMITS_TO_FLOOR)
    outcome = world.wait(HOUR_US)
    (lost,) = told(outcome, "ann", wire.LeaseEnded)
    assert ("outbid", "a/1") == (lost.reason, lost.leaf)  # type: ignore[union-attr]
    (kept,) = world.exchange.market.leases("ann")
    assert ("b/1", DOLLAR) == (kept.leaf, kept.limit)
    for limit in (DOLLAR + 1, None):
        assert "budget_spent" == code(world.say("ann", SetLimit(started.lease, limit)))  # type: ignore[union-attr]
    assert code(world.say("ann", SetLimit(started.lease, DOLLAR))) is None  # type: ignore[union-attr]
    assert "budget_spent" == code(world.place("ann", "a", DOLLAR))
    world.place("bob", "b", DOLLAR + 1)
    assert 0 == world.leases("ann")


def held(limit: int) -> Thrifty:
    """Ann's lease is held for an hour, at a floor of 2 $/h; when her budget is spent, its limits
    are to fall to that."""
    world = Thrifty("a/1", "b/1")
    world.say(OPERATOR, to_market.SetFloor("a", 2 * DOLLAR))
    world.say(OPERATOR, to_market.SetControls("a", hold_us=HOUR_US))
    world.place("ann", "a", limit)
    world.budget("ann", 5_000, LIMITS_TO_FLOOR)  # nine seconds
    return world


def test_spent_with_limits_to_floor_gives_up_a_held_lease_that_could_cost_more() -> None:
    world = held(3_000 * DOLLAR)
    (ended,) = told(world.wait(60 * SECOND_US), "ann", wire.LeaseEnded)
    assert ("budget_spent", "a/1") == (ended.reason, ended.leaf)  # type: ignore[union-attr]
    world.place("bob", "a", 2_900 * DOLLAR)
    world.wait(HOUR_US)
    assert 0 == world.overspent("ann") and 1 == world.leases("bob")


def test_spent_with_limits_to_floor_keeps_a_held_lease_that_cannot_cost_more() -> None:
    world = held(2 * DOLLAR)
    world.wait(60 * SECOND_US)
    world.place("bob", "a", 2_900 * DOLLAR)
    (kept,) = world.exchange.market.leases("ann")
    assert (2 * DOLLAR, 2 * DOLLAR) == (kept.limit, kept.charged)
    (lost,) = told(world.wait(HOUR_US), "ann", wire.LeaseEnded)
    assert "outbid" == lost.reason  # type: ignore[union-attr]


def test_spent_with_limits_to_floor_lowers_the_limit_of_a_lease_whose_hold_is_over() -> None:
    world = held(9 * DOLLAR)
    world.budget("ann", 10 * DOLLAR, LIMITS_TO_FLOOR)
    world.wait(6 * HOUR_US)
    (kept,) = world.exchange.market.leases("ann")
    assert 2 * DOLLAR == kept.limit


def test_spent_with_relinquish_gives_up_every_lease_and_no_resting_order_wins_one_back() -> None:
    world = Thrifty("a/1", "a/2")
    world.leased_at(RATE, 9 * DOLLAR)
    world.place("ann", "a", 9 * DOLLAR)
    world.place("ann", "a", 2 * DOLLAR)
    world.budget("ann", DOLLAR, RELINQUISH)
    outcome = world.wait(HOUR_US)
    assert ["budget_spent"] * 2 == [one.reason for one in told(outcome, "ann", wire.LeaseEnded)]  # type: ignore[union-attr]
    assert (0, 0) == (world.leases("ann"), world.open_orders("ann"))
    assert 1 == world.leases("bob")  # it wins what was given up
    assert "budget_spent" == code(world.place("ann", "a", DOLLAR))


def test_spent_with_warn_tells_and_stops_nothing() -> None:
    world = Thrifty("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.place("ann", "a", DOLLAR)
    world.budget("ann", DOLLAR, WARN)
    world.wait(HOUR_US)
    assert (1, 1) == (world.leases("ann"), world.open_orders("ann"))
    assert code(world.place("ann", "a", DOLLAR)) is None


@pytest.mark.parametrize("again", [(50 * DOLLAR, RELINQUISH), (DOLLAR, WARN), (None, "")])
def test_a_spent_budget_that_is_raised_renewed_or_removed_stands_against_nothing_any_more(
    again: tuple[int | None, str],
) -> None:
    world = Thrifty("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.budget("ann", DOLLAR, RELINQUISH)
    world.wait(HOUR_US)
    assert "budget_spent" == code(world.place("ann", "a", 9 * DOLLAR))
    world.say("ann", SetBudget(*again))
    assert code(world.place("ann", "a", 9 * DOLLAR)) is None and 1 == world.leases("ann")


def test_a_budget_from_before_there_were_actions_tells_nothing_and_is_stored_as_it_was() -> None:
    assert {"type": "set_budget", "amount": DOLLAR} == msgspec.msgpack.decode(
        pack(SetBudget(DOLLAR))
    )
    assert {"type": "set_budget", "amount": DOLLAR, "action": WARN} == msgspec.msgpack.decode(
        pack(SetBudget(DOLLAR, WARN))
    )
    world = Thrifty("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    set_ = world.budget("ann", DOLLAR, "")
    assert {"type", "at", "amount"} == set(msgspec.msgpack.decode(pack(set_.told[-1].event)))
    assert {"amount", "since", "owed"} == set(
        msgspec.msgpack.decode(world.exchange.snapshot())[3][0][13]
    )
    assert () == world.wait(HOUR_US).told and code(world.place("ann", "a", DOLLAR)) is None


def test_an_action_that_there_is_not_is_refused() -> None:
    assert "bad_request" == code(Thrifty().say("ann", SetBudget(DOLLAR, "explode")))


# -- fees


def test_the_fees_that_cancelling_brings_are_paid_out_of_the_budget() -> None:
    """What withdrawing an order costs falls as time passes, and the budget is used up when both
    together come to all of it."""
    fees = []
    for waited_s in (0, 20, 40, 55):
        world = flashing()
        world.leased_at(RATE, 9 * DOLLAR)
        world.budget("ann", 60_000, RELINQUISH)  # a minute of the rate
        world.wait(waited_s * SECOND_US)
        assert (waited_s == 55) == (code(world.place("ann", "b", DOLLAR // 2)) is not None)
        world.wait(HOUR_US)
        assert (
            0 == world.leases("ann") + world.open_orders("ann")
            and 0 <= world.overspent("ann") < RATE
        )
        fees.append(sum(fee.charge for fee in world.exchange.market.fees("ann")))
    # the first is free to go but for a microsecond
    assert DOLLAR // 2 == fees[0] < fees[1] < fees[2] and 0 == fees[3]


def test_an_order_whose_fee_could_exceed_what_is_left_is_refused() -> None:
    world = flashing()
    world.budget("ann", 100_000, RELINQUISH)  # 6 $/h for a minute
    assert "budget_spent" == code(world.place("ann", "b", 6_000_000))
    order = world.place("ann", "b", 5_999_999).told[-1].event.order  # type: ignore[union-attr]
    assert "budget_spent" == code(world.place("ann", "b", DOLLAR))
    assert "budget_spent" == code(
        world.say("ann", AmendOrder(order, (Alternative("b", 7 * DOLLAR, 7 * DOLLAR),)))
    )
    world.say("ann", CancelOrder(order))
    world.wait(HOUR_US)
    assert -100 * CHARGE_PER_MICRO_DOLLAR < world.overspent("ann") < 0
    assert not [one for one in world.wait(HOUR_US).told if one.tenant == "ann"]


def test_a_bid_is_lowered_however_little_is_left() -> None:
    world = flashing()
    world.budget("ann", 100_000, RELINQUISH)
    order = world.place("ann", "b", 5_999_999).told[-1].event.order  # type: ignore[union-attr]
    for bid in (5_999_999, 4 * DOLLAR):
        assert (
            code(world.say("ann", AmendOrder(order, (Alternative("b", bid, 6 * DOLLAR),)))) is None
        )
    assert "budget_spent" == code(
        world.say("ann", AmendOrder(order, (Alternative("b", 4 * DOLLAR + 1, 6 * DOLLAR),)))
    )


def test_a_refusal_for_a_fee_does_not_depend_on_prices_outside_the_pricing_domain() -> None:
    """Of a bid, only what it lifts the price by is charged; a tenant that is refused need not learn
    how much that is."""
    answers = []
    for floor in (0, 1, 5):
        world = flashing()
        world.say(OPERATOR, to_market.SetFloor("b", floor * DOLLAR))
        world.budget("ann", 100_000, RELINQUISH)
        answers.append(world.place("ann", "b", 6 * DOLLAR).refused)
    why = (
        "withdrawing this order too soon could cost up to 0.100000 dollars, which is all that it"
        " bids for as long as it must stand, and 0.100000 of"
    )
    assert answers[0] is not None and f"{why} your budget are left" == answers[0].detail
    assert answers[0] == answers[1] == answers[2]


def test_a_budget_below_the_fees_of_cancelling_is_refused_unless_it_only_warns() -> None:
    world = flashing()
    world.place("ann", "b", 60 * DOLLAR)
    assert "budget_spent" == code(world.say("ann", SetBudget(DOLLAR, RELINQUISH), 0))
    assert code(world.say("ann", SetBudget(DOLLAR, WARN), 0)) is None
    assert code(world.say("ann", SetBudget(DOLLAR + 1, RELINQUISH), 0)) is None


def test_fees_that_were_charged_before_a_budget_are_none_of_it() -> None:
    world = flashing()
    order = world.place("ann", "b", 61 * DOLLAR).told[0].event.order  # type: ignore[union-attr]
    world.say("ann", CancelOrder(order), 30 * SECOND_US)
    world.budget("ann", 1_000, RELINQUISH)
    world.wait(HOUR_US)
    assert 0 == world.spent("ann") and code(world.place("ann", "a", DOLLAR)) is None


# -- the same bytes


@pytest.mark.parametrize("seed", THRIFTY_SEEDS)
def test_a_thrifty_history_gives_the_same_bytes_from_every_snapshot_on_the_way(seed: int) -> None:
    drawn = draw(seed, 60)
    exchange = Exchange.begin(drawn.genesis)
    for step in drawn.steps:
        exchange = Exchange.restore(exchange.snapshot())
        exchange.is_due(step.at)  # a question in between changes nothing
        assert (step.outcome, step.documents) == exchange.replay(step.at, step.request)


@pytest.mark.parametrize("seed", THRIFTY_SEEDS)
def test_whoever_adds_up_the_events_of_a_thrifty_history_comes_to_the_same_bills(seed: int) -> None:
    drawn = draw(seed)
    exchange = Exchange.begin(drawn.genesis)
    auditor = Auditor(exchange.market.topology.leaves)
    for step in drawn.steps:
        exchange.replay(step.at, step.request)
        for one in numbered(read_outcome(step.outcome), OPERATOR):
            auditor.take(msgspec.to_builtins(one))
    now = max(exchange.market.now, auditor.now)
    # the last may be of caps
    for one in numbered(
        exchange.apply(now, Request(OPERATOR, "", "", b"", to_market.AdvanceTime())).outcome,
        OPERATOR,
    ):
        auditor.take(msgspec.to_builtins(one))
    assert [] == auditor.doubts
    assert {name: exchange.market.bill(name).total for name in exchange.accounts} == {
        name: auditor.owed(name, now) for name in exchange.accounts
    }


@pytest.mark.parametrize("kept", [False, True])
def test_whoever_reads_the_events_doubts_a_held_lease_that_is_kept_when_limits_were_to_fall(
    kept: bool,
) -> None:
    world = held(9 * DOLLAR)
    world.wait(60 * SECOND_US)
    world.place("bob", "b", DOLLAR)
    auditor = Auditor(("a/1", "b/1"))
    for n, one in enumerate(
        [one for one in world.told if not (kept and isinstance(one.event, wire.LeaseEnded))], 1
    ):
        auditor.take({"n": n, "tenant": one.tenant, "event": msgspec.to_builtins(one.event)})
    assert kept == any(
        "ann can be charged more than the floor" in doubt for doubt in auditor.doubts
    )
    assert kept == (auditor.doubts != [])


def test_closed_books_change_nothing_about_when_it_acts() -> None:
    ends = []
    for close in (True, False):
        world = Thrifty("a/1")
        world.leased_at(RATE, 9 * DOLLAR)
        world.budget("ann", 36 * DOLLAR, RELINQUISH)
        for _ in range(9):
            world.say(
                OPERATOR,
                to_market.CloseBooks(world.at) if close else to_market.AdvanceTime(),
                HOUR_US,
            )
        ends.append(told(world.wait(10 * HOUR_US), "ann", wire.BudgetSpent))
        assert 0 == world.overspent("ann")
    assert ends[0] == ends[1] != []


def test_a_request_of_an_earlier_time_is_refused_and_no_budget_acts() -> None:
    world = Thrifty("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.budget("ann", DOLLAR, RELINQUISH)
    for at in (world.at - 1, to_market.TIME_MAX_US + 1):
        outcome = world.exchange.apply(
            at, Request(OPERATOR, "", "", b"", to_market.AdvanceTime())
        ).outcome
        assert outcome.refused is not None and () == outcome.told


def test_a_budget_that_lasts_beyond_what_times_can_be_is_never_used_up() -> None:
    world = Thrifty("a/1")
    world.leased_at(1, 9 * DOLLAR)
    world.budget("ann", 10**15, RELINQUISH)
    world.wait(to_market.TIME_MAX_US - world.at)
    assert 1 == world.leases("ann") and world.overspent("ann") < -(10**14) * CHARGE_PER_MICRO_DOLLAR
