"""What a question or a command costs does not depend on how much there was before it that day. In
processor time, few against many."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time_ns

import pytest

from budget_world import DOLLAR, SECOND_US, Thrifty
from laissez.market import commands as to_market
from laissez.server.accounts import Account
from laissez.server.billing import owed_in_all
from laissez.server.budgets import NO_NEW_ORDERS
from laissez.server.caps import caps_view
from laissez.server.commands import OPERATOR, CancelOrder, Relinquish, SetOwnCaps
from laissez.server.exchange import Exchange
from laissez.server.rates import levels
from laissez.server.views import instance_view, lease_of_order, lease_view, order_view

pytestmark = pytest.mark.once

FEW, MANY = 20, 2_000
ORDERS_MAX = 1_000


def after_leases(count: int) -> Thrifty:
    """Ann holds one leaf, and had another one so many times."""
    world = Thrifty("a/1", "b/1")
    world.place("ann", "b", DOLLAR)
    for _ in range(count):
        world.place("ann", "a", DOLLAR)
        world.say("ann", Relinquish(next(reversed(world.exchange.accounts["ann"].leases))))
    assert count + 1 == len(world.exchange.accounts["ann"].leases)
    return world


def after_fees(count: int) -> Thrifty:
    """Ann has withdrawn so many bids too soon, and all of that is over."""
    world = Thrifty("a/1")
    world.say(OPERATOR, to_market.SetControls("a", flash_us=10))
    world.place("bob", "a", 9 * DOLLAR)
    withdraw(world, count)
    assert count == len(world.exchange.market.fees("ann"))
    world.wait(SECOND_US)
    return world


def with_orders(count: int) -> Thrifty:
    """Ann waits for the leaf that bob holds."""
    world = Thrifty("a/1")
    world.place("bob", "a", 9 * DOLLAR)
    for _ in range(count):
        world.place("ann", "a", DOLLAR)
    assert count == world.exchange.accounts["ann"].open_orders
    return world


def withdraw(world: Thrifty, bids: int) -> None:
    for _ in range(bids):
        world.place("ann", "a", DOLLAR)
        assert (
            world.say(
                "ann", CancelOrder(next(reversed(world.exchange.accounts["ann"].orders)))
            ).refused
            is None
        )


def cost(act: Callable[[], object]) -> int:
    """Of the cheapest of some times: now and then something else is done in between."""
    act()
    costs = []
    for _ in range(5):
        begun = process_time_ns()
        act()
        costs.append(process_time_ns() - begun)
    return min(costs)


def fifty(
    world: Thrifty, ask: Callable[[Exchange, Account, str], object], id: str
) -> Callable[[], object]:
    account = world.exchange.accounts["ann"]
    assert ask(world.exchange, account, id + account.tag + "1") is not None
    return lambda: [ask(world.exchange, account, id + account.tag + "1") for _ in range(50)]


@pytest.mark.parametrize(
    ("ask", "id"), [(lease_view, "lse_"), (instance_view, "ord_"), (lease_of_order, "ord_")]
)
def test_a_lease_by_its_id_after_many_leases(ask: Callable[..., object], id: str) -> None:
    assert cost(fifty(after_leases(MANY), ask, id)) < 4 * cost(fifty(after_leases(FEW), ask, id))


@pytest.mark.parametrize("ask", [order_view, instance_view])
def test_an_order_by_its_id_among_many_orders(ask: Callable[..., object]) -> None:
    assert cost(fifty(with_orders(ORDERS_MAX), ask, "ord_")) < 4 * cost(
        fifty(with_orders(FEW), ask, "ord_")
    )


@pytest.mark.parametrize("after", [after_leases, after_fees])
def test_what_is_owed_in_all(after: Callable[[int], Thrifty]) -> None:
    def asked(world: Thrifty) -> Callable[[], object]:
        account = world.exchange.accounts["ann"]
        return lambda: [owed_in_all(world.exchange, account, world.at) for _ in range(50)]

    assert cost(asked(after(MANY))) < 4 * cost(asked(after(FEW)))


def test_the_rates_that_followers_are_told_after_many_leases() -> None:
    def sampled(world: Thrifty) -> Callable[[], object]:
        account = world.exchange.accounts["ann"]
        return lambda: [levels(world.exchange.market, account) for _ in range(50)]

    assert cost(sampled(after_leases(MANY))) < 4 * cost(sampled(after_leases(FEW)))


def test_what_is_capped_after_many_fees() -> None:
    def asked(world: Thrifty) -> Callable[[], object]:
        account = world.exchange.accounts["ann"]
        return lambda: [caps_view(world.exchange.market, account, world.at) for _ in range(50)]

    assert cost(asked(after_fees(MANY))) < 4 * cost(asked(after_fees(FEW)))


def test_an_order_of_a_tenant_with_a_cap_after_many_fees() -> None:
    def ordering(world: Thrifty) -> Callable[[], object]:
        world.say("ann", SetOwnCaps(None, 1_000 * DOLLAR))
        return lambda: withdraw(world, 50)

    assert cost(ordering(after_fees(MANY))) < 4 * cost(ordering(after_fees(FEW)))


@pytest.mark.parametrize("after", [after_leases, after_fees])
def test_an_order_of_a_tenant_with_a_budget(after: Callable[[int], Thrifty]) -> None:
    """That could cost a fee, so what is left of the budget is looked at."""

    def ordering(world: Thrifty) -> Callable[[], object]:
        world.place("bob", "a", 9 * DOLLAR)
        world.say(OPERATOR, to_market.SetControls("a", flash_us=10))
        world.budget("ann", 1_000 * DOLLAR, NO_NEW_ORDERS)
        return lambda: withdraw(world, 50)

    assert cost(ordering(after(MANY))) < 4 * cost(ordering(after(FEW)))
