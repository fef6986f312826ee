"""The cost of a question or a command does not depend on the number of leases, orders and fees
before it. Processor time after a few of them is compared with the time after many."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time_ns

import pytest

from laissez.exchange.accounts import Account
from laissez.exchange.caps import spending
from laissez.exchange.commands import OPERATOR, Action, SetOwnCaps
from laissez.exchange.exchange import Exchange
from laissez.market import commands as to_market
from laissez.market.commands import CancelOrder, Relinquish
from laissez.server.billing import owed_in_all
from laissez.server.rates import RateWatch
from laissez.server.views import instance_view, lease_of_order, lease_view, order_view
from laissez.wire.ids import order_id, tag_of
from laissez.wire.views import Lease, Order
from support.budget_world import DOLLAR, SECOND_US, BudgetWorld

pytestmark = pytest.mark.once

FEW, MANY = 20, 2_000
ORDERS_MAX = 1_000


def after_leases(count: int) -> BudgetWorld:
    """Ann holds one leaf, and has leased another one `count` times."""
    world = BudgetWorld("a/1", "b/1")
    world.place("ann", "b", DOLLAR)
    for _ in range(count):
        world.place("ann", "a", DOLLAR)
        world.say("ann", Relinquish("ann", world.exchange.market.leases("ann")[-1].lease))
    assert count + 1 == world.exchange.market.counts("ann").leases_started
    return world


def after_fees(count: int) -> BudgetWorld:
    """Ann has withdrawn `count` bids too soon, and all fees have run out."""
    world = BudgetWorld("a/1")
    world.say(OPERATOR, to_market.SetControls("a", flash_us=10))
    world.place("bob", "a", 9 * DOLLAR)
    withdraw(world, count)
    assert count == len(world.exchange.market.fees("ann"))
    world.wait(SECOND_US)
    return world


def with_orders(count: int) -> BudgetWorld:
    """Ann waits for the leaf that bob holds."""
    world = BudgetWorld("a/1")
    world.place("bob", "a", 9 * DOLLAR)
    for _ in range(count):
        world.place("ann", "a", DOLLAR)
    assert count == world.open_orders("ann")
    return world


def withdraw(world: BudgetWorld, bids: int) -> None:
    for _ in range(bids):
        order = world.placed("ann", "a", DOLLAR)
        assert world.say("ann", CancelOrder("ann", order)).refusal is None


def cost(act: Callable[[], object]) -> int:
    """The least of several measurements, because other processes disturb some of them."""
    act()
    costs = []
    for _ in range(5):
        begun = process_time_ns()
        act()
        costs.append(process_time_ns() - begun)
    return min(costs)


def fifty(
    world: BudgetWorld, ask: Callable[[Exchange, Account, int], object]
) -> Callable[[], object]:
    """Ask about the tenant's oldest lease or order fifty times."""
    account = world.exchange.accounts["ann"]
    assert ask(world.exchange, account, 1) is not None
    return lambda: [ask(world.exchange, account, 1) for _ in range(50)]


def one_lease(exchange: Exchange, account: Account, number: int) -> Lease | None:
    lease = exchange.market.lease(account.name, number)
    assert lease is not None
    return lease_view(exchange, lease)


def one_order(exchange: Exchange, account: Account, number: int) -> Order | None:
    return order_view(exchange, account, order_id(tag_of(account.name), number))


@pytest.mark.parametrize("ask", [one_lease, instance_view, lease_of_order])
def test_a_lease_is_found_by_number_as_fast_after_many_leases(ask: Callable[..., object]) -> None:
    assert cost(fifty(after_leases(MANY), ask)) < 4 * cost(fifty(after_leases(FEW), ask))


@pytest.mark.parametrize("ask", [one_order, instance_view])
def test_an_order_is_found_by_number_as_fast_among_many_orders(ask: Callable[..., object]) -> None:
    assert cost(fifty(with_orders(ORDERS_MAX), ask)) < 4 * cost(fifty(with_orders(FEW), ask))


@pytest.mark.parametrize("after", [after_leases, after_fees])
def test_the_amount_owed_is_computed_as_fast_after_many_leases_and_fees(
    after: Callable[[int], BudgetWorld],
) -> None:
    def asked(world: BudgetWorld) -> Callable[[], object]:
        account = world.exchange.accounts["ann"]
        return lambda: [owed_in_all(world.exchange, account, world.at) for _ in range(50)]

    assert cost(asked(after(MANY))) < 4 * cost(asked(after(FEW)))


def test_rate_notices_are_computed_as_fast_after_many_leases() -> None:
    def sampled(world: BudgetWorld) -> Callable[[], object]:
        market, watch = world.exchange.market, RateWatch(0)
        return lambda: [watch.notices(world.at, market.leases("ann")) for _ in range(50)]

    assert cost(sampled(after_leases(MANY))) < 4 * cost(sampled(after_leases(FEW)))


def test_spending_caps_are_checked_as_fast_after_many_fees() -> None:
    def asked(world: BudgetWorld) -> Callable[[], object]:
        account = world.exchange.accounts["ann"]
        return lambda: [spending(world.exchange.market, account, world.at) for _ in range(50)]

    assert cost(asked(after_fees(MANY))) < 4 * cost(asked(after_fees(FEW)))


def test_an_order_under_a_cap_is_placed_as_fast_after_many_fees() -> None:
    def ordering(world: BudgetWorld) -> Callable[[], object]:
        world.say("ann", SetOwnCaps(None, 1_000 * DOLLAR))
        return lambda: withdraw(world, 50)

    assert cost(ordering(after_fees(MANY))) < 4 * cost(ordering(after_fees(FEW)))


@pytest.mark.parametrize("after", [after_leases, after_fees])
def test_an_order_under_a_budget_is_placed_as_fast_after_many_leases_and_fees(
    after: Callable[[int], BudgetWorld],
) -> None:
    """An order may cost a fee, so every order checks the rest of the budget."""

    def ordering(world: BudgetWorld) -> Callable[[], object]:
        world.place("bob", "a", 9 * DOLLAR)
        world.say(OPERATOR, to_market.SetControls("a", flash_us=10))
        world.budget("ann", 1_000 * DOLLAR, Action.NO_NEW_ORDERS)
        return lambda: withdraw(world, 50)

    assert cost(ordering(after(MANY))) < 4 * cost(ordering(after(FEW)))
