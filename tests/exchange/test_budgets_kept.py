"""Budgets that keep counting: raised, lowered, or given another action, without losing their
spending."""

from __future__ import annotations

import pytest

from laissez.exchange import events
from laissez.exchange.commands import SERVICE, Action, Request, SetBudget
from laissez.market import commands as to_market
from laissez_check.event_audit import Auditor
from support.budget_world import DOLLAR, HOUR_US, RATE, BudgetWorld, code, told, with_flash_fees


def half_spent(action: Action = Action.RELINQUISH) -> BudgetWorld:
    """A budget of 36 dollars, of which 18 are spent after five hours, with both thresholds
    reported."""
    world = BudgetWorld("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.budget("ann", 36 * DOLLAR, action, keep=False)
    world.wait(5 * HOUR_US)
    return world


@pytest.mark.parametrize("amount", [20, 36, 100])
def test_a_kept_budget_is_spent_as_if_set_at_the_beginning(amount: int) -> None:
    world = half_spent()
    since = world.at - 5 * HOUR_US
    (set_,) = told(
        world.budget("ann", amount * DOLLAR, Action.RELINQUISH, keep=True), "ann", events.BudgetSet
    )
    assert events.BudgetSet(world.at, "ann", amount * DOLLAR, Action.RELINQUISH, True) == set_
    (spent,) = told(world.wait(100 * HOUR_US), "ann", events.BudgetSpent)
    assert since + amount * 10 * HOUR_US // 36 == spent.at
    assert 0 <= world.overspent("ann") < RATE


def test_a_budget_that_is_not_kept_counts_from_zero() -> None:
    world = half_spent()
    (set_,) = told(world.budget("ann", 3 * DOLLAR, Action.RELINQUISH), "ann", events.BudgetSet)
    assert events.BudgetSet(world.at, "ann", 3 * DOLLAR, Action.RELINQUISH, False) == set_
    assert 0 == world.spent("ann") and 1 == world.leases("ann")


@pytest.mark.parametrize("action", list(Action))
def test_a_budget_lowered_below_its_spending_acts_at_once(action: Action) -> None:
    world = half_spent(action)
    world.place("ann", "a", DOLLAR)
    applied = world.budget("ann", 3 * DOLLAR, action, keep=True)
    kinds = [type(event) for event in told(applied, "ann")]
    assert [
        events.BudgetSet,
        events.BudgetWarning,
        events.BudgetWarning,
        events.BudgetSpent,
    ] == kinds[:4]
    assert {world.at} == {event.at for event in applied.events}
    assert world.exchange.events == applied.first + len(applied.events) - 1
    assert (0 if action in (Action.RELINQUISH, Action.LIMITS_TO_FLOOR) else 1) == world.leases(
        "ann"
    )
    assert (1 if action == Action.WARN else 0) == world.open_orders("ann")
    assert (None if action == Action.WARN else "budget_spent") == code(
        world.place("ann", "a", DOLLAR)
    )


def test_a_spent_budget_that_is_raised_continues_and_reports_its_own_thresholds() -> None:
    world = half_spent(Action.NO_NEW_ORDERS)
    world.wait(6 * HOUR_US)
    assert "budget_spent" == code(world.place("ann", "a", DOLLAR))
    world.budget("ann", 100 * DOLLAR, Action.NO_NEW_ORDERS, keep=True)
    assert code(world.place("ann", "a", DOLLAR)) is None
    applied = world.wait(100 * HOUR_US)
    assert [50, 80] == [one.percent for one in told(applied, "ann", events.BudgetWarning)]
    assert 1 == len(told(applied, "ann", events.BudgetSpent))


@pytest.mark.parametrize("hours", [0, 6])
def test_a_budget_set_again_unchanged_reports_nothing_twice_and_stays_spent(hours: int) -> None:
    """A client that sets its budget at every start does this."""
    world = half_spent()
    world.wait(hours * HOUR_US)
    before = world.exchange.accounts["ann"].budget
    assert [events.BudgetSet] == [
        type(event)
        for event in world.budget("ann", 36 * DOLLAR, Action.RELINQUISH, keep=True).events
    ]
    assert before == world.exchange.accounts["ann"].budget
    assert ("budget_spent" if hours else None) == code(world.place("ann", "a", DOLLAR))


def test_a_new_action_of_a_spent_budget_is_carried_out_at_once() -> None:
    world = half_spent(Action.WARN)
    world.wait(6 * HOUR_US)
    assert 1 == world.leases("ann")
    world.budget("ann", 36 * DOLLAR, Action.RELINQUISH, keep=True)
    assert 0 == world.leases("ann")


def test_a_kept_budget_does_not_act_at_an_invalid_time() -> None:
    world = half_spent()
    command = SetBudget(3 * DOLLAR, Action.RELINQUISH, True)
    applied = world.exchange.apply(
        to_market.TIME_MAX_US + 1, Request("ann", SERVICE, "", b"", command)
    )
    assert applied.refusal is not None and () == applied.events and 1 == world.leases("ann")


def test_keeping_without_a_previous_budget_counts_from_now() -> None:
    world = BudgetWorld("a/1")
    world.leased_at(RATE, 9 * DOLLAR)
    world.wait(5 * HOUR_US)
    (set_,) = told(
        world.budget("ann", 36 * DOLLAR, Action.RELINQUISH, keep=True), "ann", events.BudgetSet
    )
    assert not set_.kept and 0 == world.spent("ann")


def test_a_kept_budget_is_not_refused_for_cancellation_fees_but_acts() -> None:
    world = with_flash_fees()
    world.budget("ann", 10 * DOLLAR, Action.RELINQUISH)
    world.place("ann", "b", 60 * DOLLAR)
    world.budget("ann", DOLLAR // 2, Action.RELINQUISH, keep=True)
    assert 0 == world.open_orders("ann") and "budget_spent" == code(world.place("ann", "b", DOLLAR))


def test_the_events_of_a_kept_budget_can_be_followed() -> None:
    for amount, action in (
        (3, Action.RELINQUISH),
        (20, Action.LIMITS_TO_FLOOR),
        (36, Action.RELINQUISH),
        (90, Action.WARN),
    ):
        world = half_spent()
        world.budget("ann", amount * DOLLAR, action, keep=True)
        world.wait(200 * HOUR_US)
        world.place("bob", "a", DOLLAR)
        auditor = Auditor(("a/1",))
        for one in world.rendered:
            auditor.take(one)
        assert [] == auditor.doubts and auditor.budgets["ann"].spent_at is not None
