"""One order, lease or instance, asked for by its id: what it is, also after a restart, and what that costs in a long day."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time_ns

import pytest

from budget_world import DOLLAR, Thrifty
from exchange_histories import draw, with_fees
from laissez.market.money import dollars
from laissez.service.accounts import Account
from laissez.service.commands import Relinquish
from laissez.service.exchange import Exchange
from laissez.service.views import instance_view, instance_views, lease_of_order, lease_view, lease_views, order_view, order_views
from laissez.wire.ids import order_of_instance

pytestmark = pytest.mark.once

FEW, MANY = 20, 2_000


def check_one_by_one(exchange: Exchange, account: Account) -> int:
    """What is found by its id is what all of them together have; says how many were found."""
    market = exchange.market
    orders = list(order_views(exchange, account))
    assert orders == [order_view(exchange, account, one.id) for one in orders]
    leases = list(lease_views(exchange, account))
    assert leases == [lease_view(exchange, account, one.id) for one in leases]
    lines = {account.lease_names[line.lease]: line.charge for line in market.bill(account.name).leases}
    assert [dollars(lines.get(one.id, 0)) for one in leases] == [one.cost for one in leases]  # one of this very instant is on no bill yet
    instances = list(instance_views(exchange, account))
    assert instances == [instance_view(exchange, account, order_of_instance(one.id)) for one in instances]
    assert len(orders) + len(leases) == len(instances)
    won = {record.order: name for name, record in account.leases.items()}
    assert {order: won.get(order) for order in account.orders} == {order: lease_of_order(exchange, account, order) for order in account.orders}
    stopped = [record.order for record in account.leases.values() if record.ended_at is not None]
    assert ["stopped"] * len(stopped) == [one.state for order in stopped if (one := instance_view(exchange, account, order)) is not None]
    return len(orders) + len(account.leases)


@pytest.mark.parametrize("seed", with_fees(8))
def test_each_is_found_by_its_id_also_from_a_snapshot_and_after_the_books_are_closed(seed: int) -> None:
    drawn = draw(seed)
    exchange = Exchange.begin(drawn.genesis)
    found = 0
    for index, step in enumerate(drawn.steps):
        if index % 40 == 20:
            exchange = Exchange.restore(exchange.snapshot())
        exchange.replay(step.at, step.request)
        found += sum([check_one_by_one(exchange, account) for account in exchange.accounts.values()])
    assert found > len(drawn.steps)


def after_a_day_of(leases: int) -> Thrifty:
    """Ann has had so many leases, and holds the first."""
    world = Thrifty("a/1", "b/1")
    world.place("ann", "b", DOLLAR)
    for number in range(2, leases + 2):
        world.place("ann", "a", DOLLAR)
        world.say("ann", Relinquish(f"lse_{world.exchange.accounts['ann'].tag}{number}"))
    assert leases + 1 == len(world.exchange.accounts["ann"].leases)
    return world


def with_orders(orders: int) -> Thrifty:
    """Ann waits for the leaf that bob holds."""
    world = Thrifty("b/1")
    world.place("bob", "b", 9 * DOLLAR)
    for _ in range(orders):
        world.place("ann", "b", DOLLAR)
    assert orders == world.exchange.accounts["ann"].open_orders
    return world


def cost(world: Thrifty, ask: Callable[[Exchange, Account, str], object], id: str) -> int:
    account = world.exchange.accounts["ann"]
    assert ask(world.exchange, account, id + account.tag + "1") is not None
    begun = process_time_ns()
    for _ in range(200):
        ask(world.exchange, account, id + account.tag + "1")
    return process_time_ns() - begun


@pytest.mark.parametrize(("ask", "id"), [(lease_view, "lse_"), (instance_view, "ord_"), (lease_of_order, "ord_")])
def test_a_lease_costs_as_much_after_a_long_day_as_after_a_short_one(ask: Callable[..., object], id: str) -> None:
    assert cost(after_a_day_of(MANY), ask, id) < 5 * cost(after_a_day_of(FEW), ask, id)


@pytest.mark.parametrize(("ask", "id"), [(order_view, "ord_"), (instance_view, "ord_")])
def test_an_order_costs_as_much_among_many_as_among_few(ask: Callable[..., object], id: str) -> None:
    assert cost(with_orders(1_000), ask, id) < 5 * cost(with_orders(FEW), ask, id)
