"""The common behaviour of all clouds, which a tenant cannot distinguish by their answers; and the
market as a cloud."""

from __future__ import annotations

from itertools import pairwise

import pytest

from laissez.market import (
    AdvanceTime,
    Alternative,
    AmendOrder,
    BringOnline,
    CancelOrder,
    Market,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)
from laissez.market.commands import TenantCommand
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.kernel import random_stream
from laissez.tenants import EconAdapter
from laissez.units import HOUR_US, SECOND_US
from support.sim_world import A100, CLOUDS, DEAR, H100, at, guests, leaf, lease_of, opened
from support.tenant_world import Plain

pytestmark = pytest.mark.once

ALL = sorted(CLOUDS)
QUEUES = ("fcfs", "fcfs-p")
every_cloud = pytest.mark.parametrize("name", ALL)


# -- the same in every cloud


@every_cloud
def test_a_relinquished_gpu_is_granted_at_once(name: str) -> None:
    cloud = opened(name, h100=1)
    ann, bob = guests(cloud, ("ann", "bob"))
    ann.asks("h100", limit=2 * DEAR)
    bob.asks("h100")
    at(cloud, 60)
    cloud.send([Relinquish("ann", lease_of(cloud, "ann", leaf(0)))])
    assert ([], [leaf(0)], 60 * SECOND_US) == (ann.held, bob.held, bob.leases[0].since)
    at(cloud, 61)
    assert ([leaf(0)], [leaf(0)], [leaf(0)]) == (
        ann.told("gained"),
        ann.told("gave"),
        bob.told("gained"),
    )


@every_cloud
def test_a_handoff_takes_10_to_100_ms(name: str) -> None:
    cloud = opened(name, h100=40)
    (ann,) = guests(cloud, ("ann",))
    for second in range(1, 41):
        at(cloud, second)
        ann.asks("h100")
    at(cloud, 50)
    delays = [when - second * SECOND_US for second, (when, _, _) in enumerate(ann.news, 1)]
    assert 40 == len(delays) == len(ann.told("gained"))
    assert 10_000 <= min(delays) < 30_000 and 80_000 < max(delays) <= 100_000


@every_cloud
def test_a_lease_lost_before_the_handoff_is_never_reported_as_gained(name: str) -> None:
    cloud = opened(name, h100=1)
    ann, bob = guests(cloud, ("ann", "bob"))
    ann.asks("h100")
    at(cloud, 0.005)
    cloud.take_offline(leaf(0))
    at(cloud, 1)
    assert [(5_000, "lost", leaf(0))] == ann.news
    cloud.bring_online(leaf(0))
    bob.asks("h100")
    cloud.send([Relinquish("bob", lease_of(cloud, "bob", leaf(0)))])
    at(cloud, 2)
    assert [(SECOND_US, "gave", leaf(0))] == bob.news


@every_cloud
def test_a_grant_is_reported_once_even_if_the_leaf_was_won_before(name: str) -> None:
    """Given up and won again before the first hand-off was over: one is told, and not before the
    second is over."""
    cloud = opened(name, h100=1)
    (ann,) = guests(cloud, ("ann",))
    ann.asks("h100")
    at(cloud, 0.004)
    cloud.send([Relinquish("ann", lease_of(cloud, "ann", leaf(0)))])
    ann.asks("h100")
    at(cloud, 1)
    assert ["gave", "gained"] == [word for _, word, _ in ann.news]
    assert ann.news[-1][0] >= 14_000


@every_cloud
def test_a_grant_is_reported_once_even_if_the_leaf_was_won_in_the_same_instant(name: str) -> None:
    cloud = opened(name, h100=1)
    (ann,) = guests(cloud, ("ann",))
    ann.asks("h100")
    cloud.send([Relinquish("ann", lease_of(cloud, "ann", leaf(0)))])
    ann.asks("h100")
    at(cloud, 1)
    assert ["gave", "gained"] == [word for _, word, _ in ann.news]


@every_cloud
def test_a_failed_node_is_lost_and_a_repaired_one_goes_to_the_queue(name: str) -> None:
    cloud = opened(name, h100=2)
    ann, bob = guests(cloud, ("ann", "bob"))
    ann.asks("h100")
    ann.asks("h100")
    at(cloud, 10)
    bob.asks("h100", limit=H100)  # below what ann is willing to pay, so it cannot take hers
    cloud.take_offline(leaf(0))
    at(cloud, 20)
    assert ([leaf(1)], [leaf(0)], []) == (ann.held, ann.told("lost"), bob.held)
    cloud.bring_online(leaf(0))
    at(cloud, 30)
    assert ([leaf(1)], [leaf(0)], [leaf(0)]) == (ann.held, bob.held, bob.told("gained"))
    failed = next(lease for lease in cloud.leases() if lease.end == 10 * SECOND_US)
    assert (failed.tenant, failed.leaf, failed.reason) == ("ann", leaf(0), "taken_offline")


@every_cloud
def test_a_failed_idle_node_is_not_granted_until_it_is_repaired(name: str) -> None:
    cloud = opened(name, h100=1)
    (ann,) = guests(cloud, ("ann",))
    cloud.take_offline(leaf(0))
    ann.asks("h100")
    at(cloud, 10)
    assert ([], []) == (ann.held, ann.news)
    cloud.bring_online(leaf(0))
    assert [leaf(0)] == ann.held


@every_cloud
def test_a_leaving_tenant_frees_everything(name: str) -> None:
    cloud = opened(name, h100=2, a100=1)
    ann, bob, eve = guests(cloud, ("ann", "bob", "eve"))
    for _ in range(5):
        ann.asks("h100", limit=2 * DEAR)
    ann.asks("a100", limit=2 * DEAR)
    for guest in (bob, eve):
        guest.asks("h100")
    at(cloud, 1)
    assert (3, 3) == (len(ann.held), len(ann.orders))
    cloud.leave("ann")
    at(cloud, 2)
    assert ([], ()) == (ann.held, ann.orders)
    assert [leaf(0), leaf(1)] == sorted(bob.held + eve.held)
    assert [leaf(0, "a100"), leaf(0), leaf(1)] == sorted(ann.told("gave"))
    cloud.leave("ann")
    cloud.leave("nobody")
    bob.asks("a100")
    assert [leaf(0, "a100"), leaf(0)] == sorted(bob.held)


def test_all_clouds_show_the_same_view() -> None:
    """One lease, one order that waits, quotes for what the adapter watches: alike but for the
    prices."""
    shapes = []
    for name in ALL:
        cloud = opened(name, h100=1, a100=1)
        (ann,) = guests(cloud, ("ann",))
        ann.adapter = EconAdapter(
            "ann", Plain(want=2, scopes=("h100", "a100"), speeds={"a100": 2.0})
        )
        ann.asks("h100")
        ann.asks("h100")
        cloud.send([SetLimit("ann", lease_of(cloud, "ann", leaf(0)), 7 * H100)])
        view = ann.view
        held = [(one.leaf, one.since, one.limit, type(one.charged)) for one in view.leases]
        resting = [(one.order, one.since, one.alternatives) for one in view.orders]
        shapes.append((view.now, held, resting, sorted(view.quotes), view.spent))
    assert shapes[0] == shapes[1] == shapes[2]
    assert ([(leaf(0), 0, 7 * H100, int)], ["a100", "h100"]) == (shapes[0][1], shapes[0][3])


@pytest.mark.parametrize("name", ["market", *QUEUES])
def test_the_age_of_an_order_counts_from_its_placing(name: str) -> None:
    cloud = opened(name, h100=1)
    (ann,) = guests(cloud, ("ann",))
    at(cloud, 5)
    ann.asks("h100")
    ann.asks("h100")
    at(cloud, 9)
    assert [5 * SECOND_US] == [one.since for one in ann.orders]


@pytest.mark.parametrize("name", ["market", *QUEUES])
def test_the_age_of_an_order_counts_from_its_last_amendment(name: str) -> None:
    cloud = opened(name, h100=1)
    (ann,) = guests(cloud, ("ann",))
    ann.asks("h100")
    ann.asks("h100")
    at(cloud, 5)
    cloud.send([AmendOrder("ann", ann.orders[0].order, (Alternative("h100", H100, H100),))])
    assert [5 * SECOND_US] == [one.since for one in ann.orders]


# -- the market


@pytest.mark.parametrize("seed", range(5))
def test_the_market_cloud_behaves_as_the_market(seed: int) -> None:
    """The same commands at the same times to a bare market: the same owners all the time, and the
    same bill to the last unit."""
    cloud = opened("market", h100=3, a100=3)
    assert isinstance(cloud, MarketCloud)
    bare = Market(cloud.cluster.topology)
    for tree, floor in cloud.cluster.floors.items():
        bare.apply(SetFloor(tree, floor), 0)
    rng, names = random_stream(seed, "commands"), ("ann", "bob", "eve")
    customers = {guest.name: guest for guest in guests(cloud, names)}
    leaves = cloud.cluster.topology.leaves
    for step in range(150):
        at(cloud, step * 7.3)
        name = rng.choice(names)
        command = _drawn(
            rng.random(), name, bare, [A100 * rng.randint(1, 9) // 4 for _ in range(4)]
        )
        if rng.random() < 0.06:
            node = rng.choice(leaves)
            if bare.is_online(node):
                cloud.take_offline(node)
                bare.apply(TakeOffline(node), cloud.kernel.now)
            else:
                cloud.bring_online(node)
                bare.apply(BringOnline(node), cloud.kernel.now)
        elif command is not None:
            cloud.send([command])
            bare.apply(command, cloud.kernel.now)
        for tenant in names if step % 10 == 0 else (name,):
            assert [one.leaf for one in bare.leases(tenant)] == customers[tenant].held
            assert [one.alternatives for one in bare.orders(tenant)] == [
                one.alternatives for one in customers[tenant].orders
            ]
    at(cloud, 2000)
    bare.apply(AdvanceTime(), cloud.kernel.now)
    assert (
        bare.revenue()
        == sum(lease.charge for lease in cloud.leases())
        == cloud.market.revenue()
        > 0
    )
    for tenant in bare.tenants():
        assert bare.bill(tenant).total == sum(
            lease.charge for lease in cloud.leases() if lease.tenant == tenant
        )
        told = customers[tenant].news
        assert set(customers[tenant].held) == {
            node for node in leaves if _last(told, node) == "gained"
        }


def _drawn(lot: float, name: str, bare: Market, prices: list[int]) -> TenantCommand | None:
    """Something that `name` may do now."""
    ways = tuple(
        Alternative(scope, min(pair), max(pair))
        for scope, pair in (("h100", prices[:2]), ("a100", prices[2:]))
    )
    orders, leases = (bare.orders(name), bare.leases(name)) if name in bare.tenants() else ((), ())
    if lot < 0.5:
        return PlaceOrder(name, ways if lot < 0.2 else ways[:1] if lot < 0.35 else ways[1:])
    if lot < 0.6 and orders:
        return AmendOrder(name, orders[0].order, ways)
    if lot < 0.75 and orders:
        return CancelOrder(name, orders[-1].order)
    if lot < 0.85 and leases:
        return SetLimit(name, leases[0].lease, prices[0])
    return Relinquish(name, leases[-1].lease) if leases else None


def _last(news: list[tuple[int, str, str]], node: str) -> str | None:
    return next((word for _, word, about in reversed(news) if about == node), None)


def test_an_outbid_lease_is_a_loss_and_a_relinquished_one_is_not() -> None:
    cloud = opened("market", h100=1)
    ann, bob = guests(cloud, ("ann", "bob"))
    ann.asks("h100", limit=H100)
    at(cloud, 60)
    bob.asks("h100", limit=H100 + 1)
    assert ([], [leaf(0)]) == (ann.held, bob.held)
    at(cloud, 61)
    cloud.send([Relinquish("bob", lease_of(cloud, "bob", leaf(0)))])
    assert (["gained", "lost"], ["gained", "gave"]) == tuple(
        [word for _, word, _ in guest.news] for guest in (ann, bob)
    )


def test_a_lease_outbid_before_the_handoff_is_never_reported_as_gained() -> None:
    cloud = opened("market", h100=1)
    ann, bob = guests(cloud, ("ann", "bob"))
    ann.asks("h100", limit=H100)
    bob.asks("h100", limit=H100 + 1)
    at(cloud, 1)
    assert ([(0, "lost", leaf(0))], ["gained"]) == (ann.news, [word for _, word, _ in bob.news])


def test_a_lease_in_the_market_costs_what_others_would_pay() -> None:
    """The floor without other bids; then the bid of the other tenant."""
    cloud = opened("market", h100=1)
    ann, bob = guests(cloud, ("ann", "bob"))
    ann.asks("h100", limit=DEAR)
    at(cloud, 1800)
    bob.asks("h100", limit=2 * H100)
    at(cloud, 3600)
    floor = round(0.7 * H100)
    (lease,) = cloud.leases()
    assert ((0, floor), (HOUR_US // 2, 2 * H100)) == lease.prices
    assert (floor + 2 * H100) * HOUR_US // 2 == lease.charge
    assert {"h100": [2 * H100]} == cloud.charged()


def test_a_hold_ends_when_it_is_due_and_not_with_the_next_command() -> None:
    cloud = opened("market", h100=1)
    assert isinstance(cloud, MarketCloud)
    cloud.operate(SetControls("h100", hold_us=60 * SECOND_US))
    ann, bob = guests(cloud, ("ann", "bob"))
    ann.asks("h100", limit=H100)
    at(cloud, 10)
    bob.asks("h100", limit=2 * H100)
    at(cloud, 59)
    assert ([leaf(0)], []) == (ann.held, bob.held)
    at(cloud, 300)
    assert [(60 * SECOND_US, "lost", leaf(0))] == ann.news[1:]
    assert [leaf(0)] == bob.told("gained")


def test_leases_of_one_leaf_never_overlap() -> None:
    for name in ALL:
        cloud = opened(name, h100=1)
        crowd = guests(cloud, ("ann", "bob", "eve"))
        for step in range(30):
            at(cloud, step * 10)
            guest = crowd[step % 3]
            guest.asks("h100", limit=H100 * (1 + step % 4))
            cloud.send(
                [
                    Relinquish(guest.name, lease_of(cloud, guest.name, node))
                    for node in guest.held[:1]
                ]
            )
        at(cloud, 400)
        times = [(lease.start, lease.end) for lease in cloud.leases()]
        assert (
            all(start <= end <= later for (start, end), (later, _) in pairwise(times))
            and len(times) > 5
        )
