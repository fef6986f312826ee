"""M14: charges over long histories of prices, where sums over many are kept: as if added up by
hand."""

import random
from itertools import pairwise
from time import process_time_ns

import pytest

from laissez.market import (
    AdvanceTime,
    CancelOrder,
    CloseBooks,
    Market,
    Relinquish,
    SetFloor,
    SetLimit,
)
from support.stories import amend, owned_by_all, place


def test_m14_a_bid_amended_repeatedly_is_charged_as_it_was_in_force() -> None:
    """An amended bid leaves its book and comes back within one command; a sum over prices that was
    closed in between must not be closed twice."""
    story = owned_by_all("h own")
    story.at(0, place("ann", "h 1"))
    for step in range(1, 100):
        story.at(10 * step, amend("ann", 1, f"h {1 + step % 30}"))
    story.at(1_000, AdvanceTime())
    assert (
        sum(10 * (1 + step % 30) for step in range(100))
        == story.charge("own")
        == story.market.revenue()
    )
    assert story.charge("own") == sum(
        segment.charge for segment in story.market.price_history("own", 1)
    )


def test_m14_prices_undone_within_a_command_are_not_charged() -> None:
    """Ann's bid at the root is gone in the instant it comes: she wins h/b. It never was a price of
    h/a."""
    story = owned_by_all("h/a own", "h/b bob")
    for step in range(1, 60):
        story.at(10 * step, SetFloor("h", step % 9))
        story.at(10 * step, SetLimit("bob", story.lease("bob", "h/b"), 20))
        story.at(10 * step, place("ann", "h 30"))
        story.at(10 * step, Relinquish("ann", story.lease("ann", "h/b")))
        story.at(10 * step, place("bob", "h/b 0..20"))
    story.at(600, AdvanceTime())
    assert sum(10 * (step % 9) for step in range(60)) == story.market.bill("own").total


def test_m14_any_number_of_prices_is_charged_exactly() -> None:
    """Asked once, after 1, 2, 3, ... prices: sums over many are made at some of these counts, and
    not yet at others."""
    for count in range(1, 140):
        market = owned_by_all("h own").market
        for time in range(1, count + 1):
            market.apply(SetFloor("h", 1 + time % 7), time)
        market.apply(AdvanceTime(), count + 5)
        assert (
            sum(1 + time % 7 for time in range(1, count + 1)) + 4 * (1 + count % 7)
            == market.bill("own").total
        )


class Ledger:
    """The integral of M5 worked out the slow way: every rate after every change, for leaves whose
    owners never change."""

    def __init__(self, owners: dict[str, str]) -> None:
        self.owners = owners
        self.floors: dict[str, int] = {}
        self.bids: dict[str, int] = {}  # at the root, by tenant
        self.rates: dict[str, list[int]] = {leaf: [] for leaf in owners}  # per microsecond

    def wait(self, duration: int) -> None:
        for leaf, owner in self.owners.items():
            foreign = [bid for tenant, bid in self.bids.items() if tenant != owner]
            rate = max([self.floors.get("h", 0), self.floors.get(leaf, 0), *foreign])
            self.rates[leaf] += [rate] * duration

    def charge(self, leaf: str, since: int, until: int) -> int:
        return sum(self.rates[leaf][since:until])


@pytest.fixture(scope="module")
def long_history() -> tuple[bytes, Ledger]:
    """A thousand changes of the root's price, and floors in the midst of its range at two of the
    three leaves."""
    dice = random.Random(11)
    ledger = Ledger({"h/a": "ann", "h/b": "bob", "h/c": "own"})
    market = owned_by_all("h/a ann", "h/b bob", "h/c own").market
    open_orders: dict[str, int] = {}
    time = 0
    for step in range(1_000):
        tenant = dice.choice(["ann", "bob", "cat", "floor"])
        price = dice.randint(1, 20)
        if tenant == "floor":
            price = dice.choice([0, 0, price])
            market.apply(SetFloor("h", price), time)
            ledger.floors["h"] = price
        elif tenant in open_orders:
            market.apply(CancelOrder(tenant, open_orders.pop(tenant)), time)
            del ledger.bids[tenant]
        else:
            market.apply(place(tenant, f"h {price}"), time)
            open_orders[tenant] = market.counts(tenant).orders_placed
            ledger.bids[tenant] = price
        if step % 200 == 0 or step == 333:
            leaf = "h/b" if step % 400 == 0 else "h/a"
            price = dice.randint(2, 16)
            market.apply(SetFloor(leaf, price), time)
            ledger.floors[leaf] = price
        duration = dice.choice([0, 1, 1, 2, 9])
        ledger.wait(duration)
        time += duration
    market.apply(AdvanceTime(), time)
    return market.snapshot(), ledger


@pytest.mark.parametrize("leaf", ["h/a", "h/b", "h/c"])
def test_m14_a_long_price_history_is_charged_as_summed_piece_by_piece(
    long_history: tuple[bytes, Ledger], leaf: str
) -> None:
    snapshot, ledger = long_history
    market = Market.restore(snapshot)
    owner = ledger.owners[leaf]
    assert ledger.charge(leaf, 0, market.now) == market.bill(owner).total
    lease = market.lease_on(leaf)
    assert lease is not None
    for segment in market.price_history(lease.tenant, lease.lease):
        assert {segment.rate} == set(ledger.rates[leaf][segment.start : segment.end])


@pytest.mark.parametrize("most", [1, 2, 30, 1_000])
def test_m14_the_newest_part_of_a_long_history_agrees_with_the_whole(
    long_history: tuple[bytes, Ledger], most: int
) -> None:
    market = Market.restore(long_history[0])
    for lease in market.leases():
        whole, told = (
            market.price_history(lease.tenant, lease.lease),
            market.price_history(lease.tenant, lease.lease, most),
        )
        rated = [segment for segment in told if segment.rate is not None]
        assert 1 <= len(rated) <= most
        assert len(rated) + 1 >= len(told) and told[-len(rated) :] == tuple(rated)
        assert rated[1:] == list(whole[len(whole) - len(rated) + 1 :])
        assert (whole[-len(rated)].rate, whole[-len(rated)].end) == (rated[0].rate, rated[0].end)
        assert lease.start == told[0].start and all(
            one.end == after.start for one, after in pairwise(told)
        )
        assert sum(segment.charge for segment in whole) == sum(segment.charge for segment in told)


def test_m14_the_newest_part_of_a_long_history_costs_no_more_than_itself(
    long_history: tuple[bytes, Ledger],
) -> None:
    market = Market.restore(long_history[0])
    (lease, *_) = market.leases()

    def cost(*most: int) -> int:
        market.price_history(lease.tenant, lease.lease, *most)
        begun = process_time_ns()
        for _ in range(20):
            market.price_history(lease.tenant, lease.lease, *most)
        return process_time_ns() - begun

    assert 10 * cost(5) < cost()


@pytest.mark.parametrize("leaf", ["h/a", "h/b", "h/c"])
def test_m14_any_period_of_a_long_history_is_charged_exactly(
    long_history: tuple[bytes, Ledger], leaf: str
) -> None:
    snapshot, ledger = long_history
    market = Market.restore(snapshot)
    dice = random.Random(12)
    for _ in range(100):
        since = dice.randint(0, market.now)
        until = dice.randint(since, market.now)
        assert (
            ledger.charge(leaf, since, until)
            == market.bill(ledger.owners[leaf], since, until).total
        )
        assert ledger.charge(leaf, 0, until) == market.bill(ledger.owners[leaf], until=until).total


def test_m14_a_long_history_is_charged_the_same_after_the_books_are_closed_over_parts_of_it(
    long_history: tuple[bytes, Ledger],
) -> None:
    snapshot, ledger = long_history
    market = Market.restore(snapshot)
    for before in (100, 777, 778, market.now - 500, market.now):
        market.apply(CloseBooks(before), market.now)
        for leaf, owner in ledger.owners.items():
            assert ledger.charge(leaf, 0, market.now) == market.bill(owner).total
            assert ledger.charge(leaf, before, market.now) == market.bill(owner, before).total
    assert sum(map(sum, ledger.rates.values())) == market.revenue()


def test_m14_a_long_history_is_charged_correctly_while_it_grows() -> None:
    """The same without a restart in between: the sums over many prices are made as the prices
    come."""
    ledger = Ledger({"h/a": "own"})
    market = owned_by_all("h/a own").market
    market.apply(SetFloor("h/a", 10), 0)
    ledger.floors["h/a"] = 10
    for time in range(0, 1_300, 2):
        price = 1 + time * 7 % 20
        market.apply(SetFloor("h", price), time)
        ledger.floors["h"] = price
        ledger.wait(2)
        market.apply(AdvanceTime(), time + 1)
        assert ledger.charge("h/a", 1, time + 1) == market.bill("own", 1, time + 1).total
    market.apply(AdvanceTime(), 1_300)
    assert ledger.charge("h/a", 0, 1_300) == market.bill("own").total == market.revenue()


def test_m14_a_charge_computed_in_advance_is_the_same(
    long_history: tuple[bytes, Ledger],
) -> None:
    snapshot, ledger = long_history
    market = Market.restore(snapshot)
    for lease in market.leases():
        market.settle(lease.tenant, lease.lease)
    market.settle("ann", 999_999)  # one that never was, or whose books are closed
    assert market.snapshot() == snapshot
    for leaf, owner in ledger.owners.items():
        assert ledger.charge(leaf, 0, market.now) == market.bill(owner).total
        assert ledger.charge(leaf, 0, 500) == market.bill(owner, until=500).total
