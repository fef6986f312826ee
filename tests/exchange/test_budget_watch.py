"""Budgets that act at the exact instant, however late the check, and the effects of each action."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random

import msgspec
import pytest

from laissez.exchange import budget_watch, events
from laissez.exchange.budget_watch import CELL_US
from laissez.exchange.budgets import Meter
from laissez.exchange.commands import OPERATOR, SERVICE, Action, IssueKey, Request, SetBudget
from laissez.exchange.events import Event
from laissez.exchange.exchange import Exchange
from laissez.market import Alternative
from laissez.market import commands as to_market
from laissez.market import events as market_events
from laissez.market.commands import AmendOrder, CancelOrder, SetLimit, at_price
from laissez.server.data_folder import Replaying
from laissez.units import CHARGE_PER_MICRO_DOLLAR
from laissez.wire.rendering import rendered
from laissez.wire.texts import explain
from laissez_check.event_audit import Auditor
from support.budget_world import (
    DOLLAR,
    HOUR_US,
    RATE,
    SECOND_US,
    BudgetWorld,
    code,
    times,
    told,
    with_flash_fees,
)
from support.exchange_histories import draw, requests_of

THRIFTY_SEEDS = (0, 3, 6, 9, 12)


# -- when


@pytest.mark.parametrize("action", list(Action))
def test_thresholds_are_reported_at_their_exact_microsecond_however_late_the_check(
    action: Action,
) -> None:
    world = BudgetWorld("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.budget("ann", 36 * DOLLAR, action)
    since = world.at
    applied = world.wait(1_000 * HOUR_US)
    half, most = told(applied, "ann", events.BudgetWarning)
    (spent,) = told(applied, "ann", events.BudgetSpent)
    ends = since + 10 * HOUR_US
    amount, fifth = 36 * DOLLAR, 7_200_000
    assert (
        events.BudgetWarning(since + 5 * HOUR_US, "ann", 50, amount // 2, amount, RATE, ends)
        == half
    )
    assert (
        events.BudgetWarning(since + 8 * HOUR_US, "ann", 80, 4 * fifth, amount, RATE, ends) == most
    )
    assert events.BudgetSpent(ends, "ann", action, amount, amount) == spent
    assert sorted(times(applied)) == times(applied)


def test_nothing_is_overspent_while_the_server_sleeps() -> None:
    world = BudgetWorld("a/1")
    world.leased_at(7_777_777, 9 * DOLLAR)
    world.budget("ann", 12_345_679, Action.RELINQUISH)
    world.exchange = Exchange.restore(world.exchange.snapshot())
    applied = world.wait(500 * HOUR_US)
    (ended,) = told(applied, "ann", market_events.LeaseEnded)
    assert "budget_spent" == ended.reason
    assert 0 <= world.overspent("ann") < 7_777_777  # less than a microsecond of the rate
    world.wait(500 * HOUR_US)
    assert world.overspent("ann") < 7_777_777


@pytest.mark.parametrize("limit", [9 * DOLLAR, None])
def test_under_load_at_most_a_tenth_of_a_second_of_the_rate_is_overspent(limit: int | None) -> None:
    """Without a limit the worst case is a thousand times the rate, so little is known in
    advance."""
    rng = Random(5)
    for _ in range(4):
        world = BudgetWorld("a/1")
        lease = world.leased_at(RATE, 9 * DOLLAR)
        world.say("ann", SetLimit("ann", lease, limit))
        world.budget("ann", rng.randrange(1_000, 3_000), Action.RELINQUISH)
        order = world.exchange.market.orders("bob")[0].order
        highest = 0
        while world.leases("ann"):
            price = rng.randrange(DOLLAR, 8 * DOLLAR)
            highest = max(highest, price)
            world.say(
                "bob",
                AmendOrder("bob", order, (Alternative("a/1", price, price),)),
                rng.randrange(1, 20_000),
            )
        assert 0 <= world.overspent("ann") <= CELL_US * max(highest, RATE)


def test_a_tenant_with_many_leases_is_checked_less_often_and_overspends_under_a_second() -> None:
    world = BudgetWorld("a/1", "b/1")
    lease = world.leased_at(RATE, 9 * DOLLAR)
    world.say("ann", SetLimit("ann", lease, None))
    world.place("bob", "b", 9 * DOLLAR)
    for _ in range(40):
        world.place("ann", "b", DOLLAR)
    world.budget("ann", 3_000, Action.RELINQUISH)  # three seconds of the rate
    order = world.exchange.market.orders("bob")[0].order
    looks = set()
    while world.leases("ann"):
        world.say("bob", AmendOrder("bob", order, (Alternative("a/1", RATE, RATE),)), 10_000)
        looks.add(world.exchange.accounts["ann"].budget.due)  # type: ignore[union-attr]
        if world.overspent("ann") > -RATE * SECOND_US // 20:  # its rate rises now
            world.say(
                "bob", AmendOrder("bob", order, (Alternative("a/1", 8 * DOLLAR, 8 * DOLLAR),))
            )
    assert 0 <= world.overspent("ann") < 8 * CELL_US * 8 * DOLLAR < SECOND_US * 8 * DOLLAR
    assert len(looks) < 10  # of some 300 commands


def test_the_instant_of_spending_is_the_earliest_even_while_cancelling_gets_cheaper() -> None:
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


def test_thousands_of_bids_with_fees_are_each_examined_once() -> None:
    gone_through = []

    class Watched(tuple[tuple[int, int], ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[tuple[int, int]]:
            gone_through.append(1)
            return super().__iter__()

    owing = Watched((1, 10 + number) for number in range(2_000))
    meter = Meter(0, 0, 3, 3, lambda: owing)
    # at a rate of three, it cannot be reached by then
    assert meter.reaches(10**9, by=10**8) is None and gone_through == []
    assert meter.reaches(10**9) is not None
    assert len(gone_through) <= 2


def transcript(busy: bool, seed: int) -> list[Event]:
    """The events of ann while bob changes her rate. If `busy`, eve trades in scopes of her own."""
    rng, others = Random(seed), Random(7)
    world = BudgetWorld("a/1", "c/1", tenants=("ann", "bob", "eve"))
    lease = world.leased_at(RATE, 9 * DOLLAR)
    world.say("ann", SetLimit("ann", lease, rng.choice((None, 9 * DOLLAR))))
    world.budget("ann", rng.randrange(1_000, 3_000), rng.choice(list(Action)))
    order = world.exchange.market.orders("bob")[0].order
    heard: list[Event] = []
    for _ in range(40):
        then = world.at + rng.randrange(1, 200_000)
        while busy and world.at < then - 20_000:
            world.at += others.randrange(20_000)
            heard += told(world.place("eve", "c", DOLLAR), "ann")
        price = rng.randrange(DOLLAR, 8 * DOLLAR)
        command = AmendOrder("bob", order, (at_price("a/1", price),))
        heard += told(world.say("bob", command, then - world.at), "ann")
    return heard


def test_the_instant_of_spending_does_not_depend_on_other_tenants_activity() -> None:
    heard = [transcript(False, seed) for seed in range(12)]
    assert heard == [transcript(True, seed) for seed in range(12)]
    assert sum(isinstance(event, events.BudgetSpent) for one in heard for event in one) > 8


def test_budgets_act_in_the_order_in_which_they_are_spent() -> None:
    names = tuple(f"t{number:02}" for number in range(12))
    world = BudgetWorld(*(f"a/{name}" for name in names), tenants=(*names, "bob"))
    for name in names:
        world.place(name, f"a/{name}", DOLLAR, 9 * DOLLAR)
        world.place("bob", f"a/{name}", DOLLAR // 2, DOLLAR // 2)
    order = Random(1).sample(names, len(names))
    for place, name in enumerate(order):
        world.budget(name, (place + 1) * DOLLAR, Action.RELINQUISH)
    applied = world.wait(100 * HOUR_US)
    assert order == [
        event.tenant for event in applied.events if isinstance(event, events.BudgetSpent)
    ]
    assert sorted(times(applied)) == times(applied)
    assert all(0 <= world.overspent(name) < DOLLAR for name in names)


def test_a_lease_won_at_the_end_of_a_hold_while_the_server_sleeps_counts_from_then() -> None:
    world = BudgetWorld("a/1")
    world.say(OPERATOR, to_market.SetControls("a", hold_us=HOUR_US))
    world.place("bob", "a", DOLLAR)
    world.place("ann", "a", 5 * DOLLAR)
    world.say(OPERATOR, to_market.SetFloor("a", DOLLAR))
    world.budget("ann", 3 * DOLLAR, Action.RELINQUISH)
    applied = world.wait(100 * HOUR_US)
    (started,), (spent,) = (
        told(applied, "ann", market_events.LeaseStarted),
        told(applied, "ann", events.BudgetSpent),
    )
    assert 3 * HOUR_US == spent.at - started.at
    assert 0 == world.overspent("ann")


def test_another_tenants_hold_end_does_not_affect_a_budget() -> None:
    world = BudgetWorld("a/1", "b/1")
    world.say(OPERATOR, to_market.SetControls("b", hold_us=HOUR_US))
    world.place("bob", "b", DOLLAR)
    world.leased_at(RATE)
    world.budget("ann", 36 * DOLLAR, Action.WARN)
    since = world.at
    applied = world.wait(20 * HOUR_US)
    assert since + 10 * HOUR_US == told(applied, "ann", events.BudgetSpent)[0].at


def test_thresholds_crossed_together_are_reported_once_and_in_order() -> None:
    world = BudgetWorld("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.budget("ann", 1, Action.NO_NEW_ORDERS)  # a millisecond's worth
    order = world.placed("bob", "a", DOLLAR)
    applied = world.say("bob", CancelOrder("bob", order), SECOND_US)
    assert [events.BudgetWarning, events.BudgetWarning, events.BudgetSpent] == [
        type(event) for event in told(applied, "ann")
    ]
    assert not told(world.wait(HOUR_US), "ann")


def test_a_threshold_is_reported_before_a_key_issued_later() -> None:
    """Even a command that does not reach the market comes after thresholds crossed by its time."""
    world = BudgetWorld("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.budget("ann", DOLLAR, Action.WARN)
    applied = world.say(OPERATOR, IssueKey("ann", "key_1", bytes(32), ("read",), "k"), HOUR_US)
    assert events.KeyIssued is type(applied.events[-1]) and 4 == len(applied.events)
    assert sorted(times(applied)) == times(applied)


def test_is_due_is_true_from_the_exact_instant() -> None:
    world = BudgetWorld("a/1")
    lease = world.leased_at(RATE, 9 * DOLLAR)
    world.say("ann", SetLimit("ann", lease, None))
    world.budget("ann", 36 * DOLLAR, Action.RELINQUISH)
    exchange, since = world.exchange, world.at
    before = exchange.snapshot()
    for hours, due in ((1, False), (5, True)):
        assert [False, due] == [
            exchange.is_due(since + hours * HOUR_US - 1),
            exchange.is_due(since + hours * HOUR_US),
        ]
    assert before == exchange.snapshot()
    assert not BudgetWorld().exchange.is_due(100 * HOUR_US)


def test_the_heap_of_checks_is_bounded_however_often_a_budget_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget_watch, "STALE_MAX", 5)
    world = BudgetWorld("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    for amount in range(50):
        world.budget("ann", (36 + amount) * DOLLAR, Action.RELINQUISH)
        world.budget("bob", (36 + amount) * DOLLAR, Action.WARN)
    assert len(world.exchange.budget_watch._heap) <= 2 * 2 + 5
    since = world.at
    (spent,) = told(world.wait(100 * HOUR_US), "ann", events.BudgetSpent)
    assert since + -(-85 * DOLLAR * HOUR_US // RATE) == spent.at


# -- actions


def test_no_new_orders_cancels_open_orders_refuses_new_ones_and_keeps_leases() -> None:
    world = BudgetWorld("a/1", "b/1")
    lease = world.leased_at(RATE, 9 * DOLLAR)
    world.place("bob", "b", 5 * DOLLAR)
    placed = world.placed("ann", "b", DOLLAR)
    world.budget("ann", DOLLAR, Action.NO_NEW_ORDERS)
    applied = world.wait(HOUR_US)
    assert 1 == len(told(applied, "ann", market_events.OrderCancelled)) and 0 == world.open_orders(
        "ann"
    )
    assert 1 == world.leases("ann") and 2 == world.open_orders("bob") + world.leases("bob")
    assert "budget_spent" == code(world.place("ann", "b", DOLLAR))
    assert "not_your_order" == code(world.say("ann", AmendOrder("ann", placed, ())))
    assert code(world.say("ann", SetLimit("ann", lease, 8 * DOLLAR))) is None
    assert code(world.say("ann", SetLimit("ann", lease, None))) is None


def test_limits_to_floor_keeps_only_leases_that_no_other_tenant_wants() -> None:
    world = BudgetWorld("a/1", "b/1")
    world.say(OPERATOR, to_market.SetFloor("b", DOLLAR))
    world.leased_at(RATE, 9 * DOLLAR)
    (started,) = told(world.place("ann", "b", 9 * DOLLAR), "ann", market_events.LeaseStarted)
    world.budget("ann", DOLLAR, Action.LIMITS_TO_FLOOR)
    applied = world.wait(HOUR_US)
    (lost,) = told(applied, "ann", market_events.LeaseEnded)
    assert ("outbid", "a/1") == (lost.reason, lost.leaf)
    (kept,) = world.exchange.market.leases("ann")
    assert ("b/1", DOLLAR) == (kept.leaf, kept.limit)
    for limit in (DOLLAR + 1, None):
        assert "budget_spent" == code(world.say("ann", SetLimit("ann", started.lease, limit)))
    assert code(world.say("ann", SetLimit("ann", started.lease, DOLLAR))) is None
    assert "budget_spent" == code(world.place("ann", "a", DOLLAR))
    world.place("bob", "b", DOLLAR + 1)
    assert 0 == world.leases("ann")


def held(limit: int) -> BudgetWorld:
    """Ann's lease is held for an hour at a floor of 2 $/h, to which its limit falls when her budget
    is spent."""
    world = BudgetWorld("a/1", "b/1")
    world.say(OPERATOR, to_market.SetFloor("a", 2 * DOLLAR))
    world.say(OPERATOR, to_market.SetControls("a", hold_us=HOUR_US))
    world.place("ann", "a", limit)
    world.budget("ann", 5_000, Action.LIMITS_TO_FLOOR)  # nine seconds
    return world


def test_limits_to_floor_relinquishes_a_held_lease_that_could_cost_more() -> None:
    world = held(3_000 * DOLLAR)
    (ended,) = told(world.wait(60 * SECOND_US), "ann", market_events.LeaseEnded)
    assert ("budget_spent", "a/1") == (ended.reason, ended.leaf)
    world.place("bob", "a", 2_900 * DOLLAR)
    world.wait(HOUR_US)
    assert 0 == world.overspent("ann") and 1 == world.leases("bob")


def test_limits_to_floor_keeps_a_held_lease_that_cannot_cost_more() -> None:
    world = held(2 * DOLLAR)
    world.wait(60 * SECOND_US)
    world.place("bob", "a", 2_900 * DOLLAR)
    (kept,) = world.exchange.market.leases("ann")
    assert (2 * DOLLAR, 2 * DOLLAR) == (kept.limit, kept.charged)
    (lost,) = told(world.wait(HOUR_US), "ann", market_events.LeaseEnded)
    assert "outbid" == lost.reason


def test_limits_to_floor_lowers_the_limit_of_a_lease_after_its_hold() -> None:
    world = held(9 * DOLLAR)
    world.budget("ann", 10 * DOLLAR, Action.LIMITS_TO_FLOOR)
    world.wait(6 * HOUR_US)
    (kept,) = world.exchange.market.leases("ann")
    assert 2 * DOLLAR == kept.limit


def test_relinquish_gives_up_every_lease_and_no_resting_order_wins_one_back() -> None:
    world = BudgetWorld("a/1", "a/2")
    world.leased_at(RATE, 9 * DOLLAR)
    world.place("ann", "a", 9 * DOLLAR)
    world.place("ann", "a", 2 * DOLLAR)
    world.budget("ann", DOLLAR, Action.RELINQUISH)
    applied = world.wait(HOUR_US)
    assert ["budget_spent"] * 2 == [
        one.reason for one in told(applied, "ann", market_events.LeaseEnded)
    ]
    assert (0, 0) == (world.leases("ann"), world.open_orders("ann"))
    assert 1 == world.leases("bob")  # it wins the relinquished leaves
    assert "budget_spent" == code(world.place("ann", "a", DOLLAR))


def test_warn_only_reports() -> None:
    world = BudgetWorld("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.place("ann", "a", DOLLAR)
    world.budget("ann", DOLLAR, Action.WARN)
    world.wait(HOUR_US)
    assert (1, 1) == (world.leases("ann"), world.open_orders("ann"))
    assert code(world.place("ann", "a", DOLLAR)) is None


@pytest.mark.parametrize(
    "again", [(50 * DOLLAR, Action.RELINQUISH), (DOLLAR, Action.WARN), (None, Action.WARN)]
)
def test_a_spent_budget_that_is_raised_renewed_or_removed_blocks_nothing(
    again: tuple[int | None, Action],
) -> None:
    world = BudgetWorld("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.budget("ann", DOLLAR, Action.RELINQUISH)
    world.wait(HOUR_US)
    assert "budget_spent" == code(world.place("ann", "a", 9 * DOLLAR))
    world.say("ann", SetBudget(*again))
    assert code(world.place("ann", "a", 9 * DOLLAR)) is None and 1 == world.leases("ann")


# -- fees


def test_fees_for_cancelling_are_paid_from_the_budget() -> None:
    """The fee for withdrawing an order falls as time passes. The budget is spent when charges and
    fee together reach it."""
    fees = []
    for waited_s in (0, 20, 40, 55):
        world = with_flash_fees()
        world.leased_at(RATE, 9 * DOLLAR)
        world.budget("ann", 60_000, Action.RELINQUISH)  # a minute of the rate
        world.wait(waited_s * SECOND_US)
        assert (waited_s == 55) == (code(world.place("ann", "b", DOLLAR // 2)) is not None)
        world.wait(HOUR_US)
        assert (
            0 == world.leases("ann") + world.open_orders("ann")
            and 0 <= world.overspent("ann") < RATE
        )
        fees.append(sum(fee.charge for fee in world.exchange.market.fees("ann")))
    # the first bid is nearly free to withdraw
    assert DOLLAR // 2 == fees[0] < fees[1] < fees[2] and 0 == fees[3]


def test_an_order_whose_fee_could_exceed_the_rest_of_the_budget_is_refused() -> None:
    world = with_flash_fees()
    world.budget("ann", 100_000, Action.RELINQUISH)  # 6 $/h for a minute
    assert "budget_spent" == code(world.place("ann", "b", 6_000_000))
    order = world.placed("ann", "b", 5_999_999)
    assert "budget_spent" == code(world.place("ann", "b", DOLLAR))
    assert "budget_spent" == code(
        world.say("ann", AmendOrder("ann", order, (Alternative("b", 7 * DOLLAR, 7 * DOLLAR),)))
    )
    world.say("ann", CancelOrder("ann", order))
    world.wait(HOUR_US)
    assert -100 * CHARGE_PER_MICRO_DOLLAR < world.overspent("ann") < 0
    assert not told(world.wait(HOUR_US), "ann")


def test_a_bid_may_be_lowered_however_little_is_left() -> None:
    world = with_flash_fees()
    world.budget("ann", 100_000, Action.RELINQUISH)
    order = world.placed("ann", "b", 5_999_999)
    for bid in (5_999_999, 4 * DOLLAR):
        assert (
            code(world.say("ann", AmendOrder("ann", order, (Alternative("b", bid, 6 * DOLLAR),))))
            is None
        )
    assert "budget_spent" == code(
        world.say("ann", AmendOrder("ann", order, (Alternative("b", 4 * DOLLAR + 1, 6 * DOLLAR),)))
    )


def test_a_refusal_for_a_fee_does_not_depend_on_hidden_prices() -> None:
    """Only the rise in price that a bid causes is charged, and a refused tenant must not learn that
    rise."""
    answers = []
    for floor in (0, 1, 5):
        world = with_flash_fees()
        world.say(OPERATOR, to_market.SetFloor("b", floor * DOLLAR))
        world.budget("ann", 100_000, Action.RELINQUISH)
        answers.append(world.place("ann", "b", 6 * DOLLAR).refusal)
    why = (
        "withdrawing this order too soon could cost up to 0.100000 dollars, its full bid for"
        " as long as it must stand, and 0.100000 of"
    )
    assert answers[0] is not None and f"{why} your budget are left" == explain(answers[0], "ann")
    assert answers[0] == answers[1] == answers[2]


def test_a_budget_below_the_fees_of_cancelling_is_refused_unless_it_only_warns() -> None:
    world = with_flash_fees()
    world.place("ann", "b", 60 * DOLLAR)
    assert "budget_spent" == code(world.say("ann", SetBudget(DOLLAR, Action.RELINQUISH), 0))
    assert code(world.say("ann", SetBudget(DOLLAR, Action.WARN), 0)) is None
    assert code(world.say("ann", SetBudget(DOLLAR + 1, Action.RELINQUISH), 0)) is None


def test_fees_charged_before_a_budget_do_not_count() -> None:
    world = with_flash_fees()
    order = world.placed("ann", "b", 61 * DOLLAR)
    world.say("ann", CancelOrder("ann", order), 30 * SECOND_US)
    world.budget("ann", 1_000, Action.RELINQUISH)
    world.wait(HOUR_US)
    assert 0 == world.spent("ann") and code(world.place("ann", "a", DOLLAR)) is None


# -- the same bytes


@pytest.mark.parametrize("seed", THRIFTY_SEEDS)
def test_a_history_with_budgets_gives_the_same_bytes_from_every_snapshot(seed: int) -> None:
    drawn = draw(seed, 60)
    machine = Replaying.begin(drawn.genesis)
    for step in drawn.steps:
        machine = Replaying.restore(machine.snapshot())
        machine.exchange.is_due(step.at)  # a question changes nothing
        assert (step.outcome, step.documents) == machine.apply(step.at, step.request)


@pytest.mark.parametrize("seed", THRIFTY_SEEDS)
def test_events_of_a_history_with_budgets_add_up_to_the_bills(seed: int) -> None:
    drawn = draw(seed)
    exchange = Exchange.begin(drawn.genesis)
    auditor = Auditor(exchange.market.topology.leaves)

    def audit(at: int, request: Request) -> None:
        for one in rendered(exchange.apply(at, request), OPERATOR):
            auditor.take(msgspec.to_builtins(one))

    for at, request, _ in requests_of(drawn):
        audit(at, request)
    now = max(exchange.market.now, auditor.now)  # the last event may be about caps
    audit(now, Request(OPERATOR, SERVICE, "", b"", to_market.AdvanceTime()))
    assert [] == auditor.doubts
    assert {name: exchange.market.bill(name).total for name in exchange.accounts} == {
        name: auditor.owed(name, now) for name in exchange.accounts
    }


@pytest.mark.parametrize("kept", [False, True])
def test_the_auditor_reports_a_held_lease_that_limits_to_floor_kept(kept: bool) -> None:
    world = held(9 * DOLLAR)
    world.wait(60 * SECOND_US)
    world.place("bob", "b", DOLLAR)
    auditor = Auditor(("a/1", "b/1"))
    seen = [one for one in world.rendered if not (kept and one["event"]["type"] == "lease.ended")]
    for n, one in enumerate(seen, 1):
        auditor.take({**one, "n": n})
    assert kept == any(
        "ann can be charged more than the floor" in doubt for doubt in auditor.doubts
    )
    assert kept == (auditor.doubts != [])


def test_closed_books_do_not_change_when_a_budget_acts() -> None:
    ends = []
    for close in (True, False):
        world = BudgetWorld("a/1")
        world.leased_at(RATE, 9 * DOLLAR)
        world.budget("ann", 36 * DOLLAR, Action.RELINQUISH)
        for _ in range(9):
            world.say(
                OPERATOR,
                to_market.CloseBooks(world.at) if close else to_market.AdvanceTime(),
                HOUR_US,
            )
        ends.append(told(world.wait(10 * HOUR_US), "ann", events.BudgetSpent))
        assert 0 == world.overspent("ann")
    assert ends[0] == ends[1] != []


def test_a_request_with_an_earlier_time_is_refused_and_no_budget_acts() -> None:
    world = BudgetWorld("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.budget("ann", DOLLAR, Action.RELINQUISH)
    for at in (world.at - 1, to_market.TIME_MAX_US + 1):
        applied = world.exchange.apply(
            at, Request(OPERATOR, SERVICE, "", b"", to_market.AdvanceTime())
        )
        assert applied.refusal is not None and () == applied.events


def test_a_budget_that_outlasts_the_latest_time_is_never_spent() -> None:
    world = BudgetWorld("a/1")
    world.leased_at(1, 9 * DOLLAR)
    world.budget("ann", 10**15, Action.RELINQUISH)
    world.wait(to_market.TIME_MAX_US - world.at)
    assert 1 == world.leases("ann") and world.overspent("ann") < -(10**14) * CHARGE_PER_MICRO_DOLLAR
