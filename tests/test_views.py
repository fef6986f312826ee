"""One order, lease or instance, asked for by its id, is what all of them together have, also after
a restart."""

from __future__ import annotations

import pytest

from exchange_histories import draw, with_fees
from laissez.market.money import dollars
from laissez.server.accounts import Account
from laissez.server.exchange import Exchange
from laissez.server.views import (
    instance_view,
    instance_views,
    lease_of_order,
    lease_view,
    lease_views,
    order_view,
    order_views,
)
from laissez.wire.ids import order_of_instance

pytestmark = pytest.mark.once


def check_one_by_one(exchange: Exchange, account: Account) -> int:
    """What is found by its id is what all of them together have; says how many were found."""
    market = exchange.market
    orders = list(order_views(exchange, account))
    assert orders == [order_view(exchange, account, one.id) for one in orders]
    leases = list(lease_views(exchange, account))
    assert leases == [lease_view(exchange, account, one.id) for one in leases]
    lines = {
        account.lease_names[line.lease]: line.charge for line in market.bill(account.name).leases
    }
    # one of this very instant is on no bill yet
    assert [dollars(lines.get(one.id, 0)) for one in leases] == [one.cost for one in leases]
    instances = list(instance_views(exchange, account))
    assert instances == [
        instance_view(exchange, account, order_of_instance(one.id)) for one in instances
    ]
    assert len(orders) + len(leases) == len(instances)
    won = {record.order: name for name, record in account.leases.items()}
    assert {order: won.get(order) for order in account.orders} == {
        order: lease_of_order(exchange, account, order) for order in account.orders
    }
    stopped = [record.order for record in account.leases.values() if record.ended_at is not None]
    assert ["stopped"] * len(stopped) == [
        one.state
        for order in stopped
        if (one := instance_view(exchange, account, order)) is not None
    ]
    return len(orders) + len(account.leases)


@pytest.mark.parametrize("seed", with_fees(8))
def test_each_is_found_by_its_id_also_from_a_snapshot_and_after_the_books_are_closed(
    seed: int,
) -> None:
    drawn = draw(seed)
    exchange = Exchange.begin(drawn.genesis)
    found = 0
    for index, step in enumerate(drawn.steps):
        if index % 40 == 20:
            exchange = Exchange.restore(exchange.snapshot())
        exchange.replay(step.at, step.request)
        found += sum(
            [check_one_by_one(exchange, account) for account in exchange.accounts.values()]
        )
    assert found > len(drawn.steps)
