"""A tenant's exposure: its present charge, the highest possible charge, and the fees that its bids
may still cost."""

from __future__ import annotations

import pytest

from laissez.market import Alternative, Market, Topology
from laissez.market import commands as to_market
from laissez.market.exposure import at_risk, at_stake, committed, leased, liabilities, most_of
from laissez.server.data_folder import Replaying
from support.exchange_histories import draw, with_fees

MINUTE_US = 60_000_000


def traded() -> Market:
    """Ann holds a/1 at 3, pressed by bob; b/1 is held for a minute, and c/1 is kept at any price.
    What waits of hers counts nothing."""
    market = Market(Topology.of(("a/1", "b/1", "c/1")))
    at = 1
    for command in (
        to_market.SetControls("b", hold_us=MINUTE_US),
        to_market.PlaceOrder("ann", (Alternative("a", 5, 9),)),
        to_market.PlaceOrder("bob", (Alternative("a", 3, 3),)),
        to_market.PlaceOrder("ann", (Alternative("b", 7, 7),)),
        to_market.SetLimit("ann", 2, 2),
        to_market.PlaceOrder("ann", (Alternative("c", 1, 1),)),
        to_market.SetLimit("ann", 3, None),
        to_market.PlaceOrder("ann", (Alternative("a", 1, 2), Alternative("b", 2, 8))),
        to_market.PlaceOrder("ann", (Alternative("b", 4, 4),)),
    ):
        assert not any(type(event).__name__ == "Refused" for event in market.apply(command, at))
        at += 1
    return market


def test_present_and_worst_charges_add_up_and_a_held_lease_counts_with_its_first_limit() -> None:
    assert (3 + 0 + 0, 9 + 7 + to_market.PRICE_MAX) == leased(traded(), "ann")
    assert [9, 7, to_market.PRICE_MAX] == [most_of(traded(), "ann", lease) for lease in (1, 2, 3)]


def test_a_tenant_that_never_placed_an_order_has_no_exposure() -> None:
    market = traded()
    assert ((0, 0), 0, [], ()) == (
        leased(market, "eve"),
        committed(market, "eve"),
        liabilities(market, "eve", 0),
        market.to_settle("eve"),
    )


def test_a_lease_that_ended_is_settled_once() -> None:
    market = traded()
    assert (1, 2, 3) == market.to_settle("ann")
    market.apply(to_market.Relinquish("ann", 1), 20)
    for lease in (1, 2, 99):
        market.settle("ann", lease)
    assert (1, 2, 3) == market.to_settle("ann")
    owed = committed(market, "ann")
    assert (2, 3) == market.to_settle("ann")
    market.apply(to_market.CloseBooks(15), 21)
    assert (1, 2, 3) == market.to_settle("ann")  # what it was charged before is summed up now
    assert owed == market.bill("ann", until=20).total == committed(market, "ann")
    assert (2, 3) == market.to_settle("ann")
    market.apply(to_market.CloseBooks(20), 22)
    assert (2, 3) == market.to_settle("ann") == Market.restore(market.snapshot()).to_settle("ann")
    assert owed == market.bill("ann").total == committed(market, "ann")


def test_a_bid_is_liable_for_a_while_and_cancelling_it_costs_exactly_the_liability() -> None:
    market = Market(Topology.of(("a/1",)))
    wanted = (Alternative("a", 5, 5), Alternative("x", 9, 9))
    assert 0 == at_risk(market, "ann", wanted)  # nobody has set a control
    market.apply(to_market.SetControls("a", flash_us=MINUTE_US), 1)
    market.apply(to_market.PlaceOrder("bob", (Alternative("a", 9, 9),)), 2)
    assert 5 * MINUTE_US == at_risk(market, "ann", wanted)
    market.apply(to_market.PlaceOrder("ann", (Alternative("a", 5, 5),)), 10)
    assert [(5, 10 + MINUTE_US)] == liabilities(market, "ann", 10) and 0 == committed(market, "ann")
    assert (5 * MINUTE_US, 5, 0, 0) == tuple(
        at_stake(market, "ann", at) for at in (10, 9 + MINUTE_US, 10 + MINUTE_US, 11 + MINUTE_US)
    )
    assert (0, 0) == (at_stake(market, "bob", 10), at_stake(market, "eve", 10))
    copy = Market.restore(market.snapshot())
    copy.apply(to_market.CancelOrder("ann", copy.orders("ann")[0].order), 20)
    assert 5 * (MINUTE_US - 10) == committed(copy, "ann") and [] == liabilities(copy, "ann", 20)
    market.apply(to_market.AdvanceTime(), 10 + MINUTE_US)
    assert [] == liabilities(market, "ann", market.now)


def test_only_bids_that_are_new_or_raised_may_bring_new_fees() -> None:
    market = Market(Topology.of(("a/1", "b/1")))
    for scope in ("a", "b"):
        market.apply(to_market.PlaceOrder("bob", (Alternative(scope, 1, 9),)), 1)
        market.apply(to_market.SetControls(scope, flash_us=MINUTE_US), 1)
    market.apply(to_market.PlaceOrder("ann", (Alternative("a", 5, 5),)), 2)
    (order,) = market.orders("ann")
    risks = [
        at_risk(market, "ann", (Alternative(scope, bid, 9),), order.order)
        for scope, bid in (("a", 4), ("a", 5), ("a", 6), ("b", 4))
    ]
    assert [0, 0, 6 * MINUTE_US, 4 * MINUTE_US] == risks
    # no order of hers
    assert 4 * MINUTE_US == at_risk(market, "ann", (Alternative("a", 4, 4),), 99)


@pytest.mark.parametrize("seed", [0, 1, *with_fees(6)])
def test_committed_charges_are_the_bill_and_the_rest_of_all_fees(seed: int) -> None:
    drawn = draw(seed)
    machine = Replaying.begin(drawn.genesis)
    for index, step in enumerate(drawn.steps):
        if index % 40 == 20:
            machine = Replaying.restore(machine.snapshot())
        machine.apply(step.at, step.request)
        market = machine.exchange.market
        for tenant in drawn.tenants:
            to_come = sum(
                fee.rate * (fee.end - max(fee.start, market.now))
                for fee in market.fees(tenant)
                if fee.end > market.now
            )
            assert market.bill(tenant).total + to_come == committed(market, tenant)
            charged, worst = leased(market, tenant)
            assert sum(lease.charged for lease in market.leases(tenant)) == charged <= worst
