"""An order, lease or instance found by its id equals its row in the list, also after a restart."""

from __future__ import annotations

import pytest

from laissez.exchange.accounts import Account
from laissez.exchange.exchange import Exchange
from laissez.server.data_folder import Replaying
from laissez.server.views import (
    instance_view,
    instance_views,
    lease_of_order,
    lease_view,
    lease_views,
    order_view,
    order_views,
    own_number,
)
from laissez.units import dollars
from laissez.wire.ids import lease_id, tag_of
from support.exchange_histories import draw, with_fees

pytestmark = pytest.mark.once


def check_one_by_one(exchange: Exchange, account: Account) -> int:
    """Compare each object found by its id with its row in the list; returns their number."""
    market, tag = exchange.market, tag_of(account.name)
    orders = list(order_views(exchange, account))
    assert orders == [order_view(exchange, account, one.id) for one in orders]
    leases = list(lease_views(exchange, account))
    assert leases == [lease_view(exchange, one) for one in market.leases(account.name)]
    lines = {lease_id(tag, line.lease): line.charge for line in market.bill(account.name).leases}
    # a lease of this instant is on no bill yet
    assert [dollars(lines.get(one.id, 0)) for one in leases] == [one.cost for one in leases]
    instances = list(instance_views(exchange, account))
    assert instances == [instance_view(exchange, account, own_number(one.id)) for one in instances]
    assert len(orders) + len(leases) == len(instances)
    counts = market.counts(account.name)
    known = [
        lease
        for number in range(1, counts.leases_started + 1)
        if (lease := market.lease(account.name, number)) is not None
    ]
    won = {lease.order: lease for lease in known}
    for order in range(1, counts.orders_placed + 1):
        assert won.get(order) == lease_of_order(exchange, account, order)
    for lease in known:
        instance = instance_view(exchange, account, lease.order)
        assert instance is not None
        assert ("running" if lease.end is None else "stopped") == instance.state
        assert (lease.end is None) == (lease_view(exchange, lease) is not None)
    return len(orders) + len(known)


@pytest.mark.parametrize("seed", with_fees(8))
def test_each_is_found_by_its_id_even_from_a_snapshot_and_after_closed_books(seed: int) -> None:
    drawn = draw(seed)
    machine = Replaying.begin(drawn.genesis)
    found = 0
    for index, step in enumerate(drawn.steps):
        if index % 40 == 20:
            machine = Replaying.restore(machine.snapshot())
        machine.apply(step.at, step.request)
        exchange = machine.exchange
        found += sum(
            [check_one_by_one(exchange, account) for account in exchange.accounts.values()]
        )
    assert found > len(drawn.steps)
