"""First come, first served: who waits, who is passed, what it costs; and who takes from whom with
preemption."""

from __future__ import annotations

import pytest

from laissez.market import Alternative, AmendOrder, CancelOrder, PlaceOrder, Relinquish, SetLimit
from laissez.units import HOUR_US, SECOND_US
from support.sim_world import A100, DEAR, H100, Guest, at, guests, leaf, lease_of, opened

pytestmark = pytest.mark.once

both_queues = pytest.mark.parametrize("name", ["fcfs", "fcfs-p"])


# -- first come, first served


@both_queues
def test_the_first_order_is_served_first_and_the_others_wait(name: str) -> None:
    cloud = opened(name, h100=1)
    ann, bob, eve = guests(cloud, ("ann", "bob", "eve"))
    for guest in (ann, bob, eve):
        # money buys no place in the queue
        guest.asks("h100", limit=DEAR if guest is not eve else 10 * DEAR)
    assert ([leaf(0)], [], []) == (ann.held, bob.held, eve.held)
    assert (0, 1, 1) == tuple(len(guest.orders) for guest in (ann, bob, eve))
    at(cloud, 3600)
    assert ([leaf(0)], [], []) == (ann.held, bob.held, eve.held)
    cloud.send([Relinquish("ann", lease_of(cloud, "ann", leaf(0)))])
    assert ([], [leaf(0)], []) == (ann.held, bob.held, eve.held)
    cloud.send([Relinquish("bob", lease_of(cloud, "bob", leaf(0)))])
    assert ([], [], [leaf(0)]) == (ann.held, bob.held, eve.held)


@both_queues
def test_an_order_is_passed_only_by_orders_for_other_hardware(name: str) -> None:
    cloud = opened(name, h100=1, a100=1)
    ann, bob, eve, zoe = guests(cloud, ("ann", "bob", "eve", "zoe"))
    ann.asks("h100")
    bob.asks("h100")
    eve.asks("h100", "a100")
    assert ([], [leaf(0, "a100")]) == (bob.held, eve.held)
    zoe.asks("h100", "a100")
    cloud.send([Relinquish("eve", lease_of(cloud, "eve", leaf(0, "a100")))])
    assert ([], [leaf(0, "a100")]) == (bob.held, zoe.held)
    cloud.send([Relinquish("ann", lease_of(cloud, "ann", leaf(0)))])
    assert [leaf(0)] == bob.held


@both_queues
def test_leases_are_never_taken_back(name: str) -> None:
    cloud = opened(name, h100=2)
    ann, bob = guests(cloud, ("ann", "bob"))
    ann.asks("h100")
    ann.asks("h100")
    for _ in range(20):
        bob.asks("h100", limit=100 * DEAR)
    # a list price does not rise, so no limit is ever exceeded
    cloud.send([SetLimit("ann", lease_of(cloud, "ann", leaf(0)), 0)])
    at(cloud, 7200)
    assert ([leaf(0), leaf(1)], []) == (ann.held, bob.held)
    assert [] == ann.told("lost")


@both_queues
def test_no_tenant_pays_more_than_its_limit(name: str) -> None:
    cloud = opened(name, h100=1, a100=1)
    poor, rich = guests(cloud, ("poor", "rich"))
    poor.asks("h100", limit=H100 - 1)
    assert [] == poor.held
    rich.asks("h100", limit=H100)
    assert [leaf(0)] == rich.held
    cloud.send([Relinquish("rich", lease_of(cloud, "rich", leaf(0)))])
    assert [] == poor.held
    cloud.send(
        [
            AmendOrder(
                "poor",
                poor.orders[0].order,
                (Alternative("h100", 0, H100 - 1), Alternative("a100", 0, A100)),
            )
        ]
    )
    assert [(leaf(0, "a100"), A100, A100)] == [
        (one.leaf, one.charged, one.limit) for one in poor.leases
    ]


@both_queues
def test_an_order_gets_the_hardware_on_which_it_saves_most(name: str) -> None:
    cloud = opened(name, h100=1, a100=1)
    (ann,) = guests(cloud, ("ann",))
    cloud.send(
        [PlaceOrder("ann", (Alternative("h100", 0, H100 + 5), Alternative("a100", 0, A100 + 6)))]
    )
    assert [leaf(0, "a100")] == ann.held


@both_queues
def test_amending_an_order_keeps_its_place(name: str) -> None:
    cloud = opened(name, h100=1)
    ann, bob, eve = guests(cloud, ("ann", "bob", "eve"))
    for guest in (ann, bob, eve):
        guest.asks("h100")
    cloud.send([AmendOrder("bob", bob.orders[0].order, (Alternative("h100", 0, H100),))])
    cloud.send([Relinquish("ann", lease_of(cloud, "ann", leaf(0)))])
    assert ([leaf(0)], []) == (bob.held, eve.held)


@both_queues
def test_an_order_that_is_cancelled_gets_nothing(name: str) -> None:
    cloud = opened(name, h100=1)
    ann, bob, eve = guests(cloud, ("ann", "bob", "eve"))
    for guest in (ann, bob, eve):
        guest.asks("h100")
    cloud.send(
        [
            CancelOrder("bob", bob.orders[0].order),
            Relinquish("ann", lease_of(cloud, "ann", leaf(0))),
        ]
    )
    assert ([], (), [leaf(0)]) == (bob.held, bob.orders, eve.held)


@both_queues
def test_commands_for_ended_orders_and_leases_do_nothing(name: str) -> None:
    cloud = opened(name, h100=1)
    ann, bob = guests(cloud, ("ann", "bob"))
    ann.asks("h100")
    cloud.send(
        [
            Relinquish("bob", lease_of(cloud, "bob", leaf(0))),
            SetLimit("bob", lease_of(cloud, "bob", leaf(0)), 1),
            CancelOrder("bob", 99),
            AmendOrder("bob", 99, ()),
        ]
    )
    assert ([leaf(0)], []) == (ann.held, bob.held)


@both_queues
def test_a_list_price_is_charged_by_the_microsecond(name: str) -> None:
    cloud = opened(name, h100=1)
    ann, bob = guests(cloud, ("ann", "bob"))
    ann.asks("h100")
    at(cloud, 1800)
    bob.asks("h100")
    cloud.send([Relinquish("ann", lease_of(cloud, "ann", leaf(0)))])
    at(cloud, 3600)
    mine, yours = cloud.leases()
    assert (mine.tenant, mine.start, mine.end, mine.reason, mine.charge) == (
        "ann",
        0,
        HOUR_US // 2,
        "relinquished",
        H100 * HOUR_US // 2,
    )
    assert (yours.tenant, yours.start, yours.end, yours.reason, yours.charge) == (
        "bob",
        HOUR_US // 2,
        HOUR_US,
        "lasting",
        H100 * HOUR_US // 2,
    )


# -- with preemption


def test_inference_takes_from_training_without_warning_when_nothing_is_free() -> None:
    cloud = opened("fcfs-p", h100=2)
    sid, ida = Guest("sid", cloud, "training"), Guest("ida", cloud, "inference")
    sid.asks("h100")
    ida.asks("h100")
    assert ([leaf(0)], [leaf(1)]) == (sid.held, ida.held)
    at(cloud, 10)
    ida.asks("h100")
    assert ([], [leaf(0), leaf(1)]) == (sid.held, sorted(ida.held))
    at(cloud, 20)
    assert ([(10 * SECOND_US, "lost", leaf(0))], 2) == (sid.news[1:], len(ida.told("gained")))
    assert ["preempted"] == [lease.reason for lease in cloud.leases() if lease.tenant == "sid"]


@pytest.mark.parametrize("victim", ["batch", "inference"])
def test_inference_preempts_only_training(victim: str) -> None:
    cloud = opened("fcfs-p", h100=1)
    vic, ida = Guest("vic", cloud, victim), Guest("ida", cloud, "inference")
    vic.asks("h100")
    ida.asks("h100")
    at(cloud, 60)
    assert ([leaf(0)], []) == (vic.held, ida.held)


@pytest.mark.parametrize("kind", ["batch", "training"])
def test_only_inference_preempts_training(kind: str) -> None:
    cloud = opened("fcfs-p", h100=1)
    sid, bob = Guest("sid", cloud, "training"), Guest("bob", cloud, kind)
    sid.asks("h100")
    bob.asks("h100")
    at(cloud, 60)
    assert ([leaf(0)], []) == (sid.held, bob.held)


def test_inference_preempts_only_gpus_that_it_can_use_and_pay_for() -> None:
    cloud = opened("fcfs-p", h100=1, a100=1)
    sid, ida = Guest("sid", cloud, "training"), Guest("ida", cloud, "inference")
    sid.asks("h100")
    sid.asks("a100")
    ida.asks("h100", limit=H100 - 1)
    assert [] == ida.held
    ida.asks("a100")
    assert ([leaf(0)], [leaf(0, "a100")]) == (sid.held, ida.held)


def test_without_preemption_inference_waits_too() -> None:
    cloud = opened("fcfs", h100=1)
    sid, ida = Guest("sid", cloud, "training"), Guest("ida", cloud, "inference")
    sid.asks("h100")
    ida.asks("h100")
    assert ([leaf(0)], []) == (sid.held, ida.held)


def test_the_victim_is_the_latest_lease() -> None:
    cloud = opened("fcfs-p", h100=3)
    sid, tom, ida = (
        Guest("sid", cloud, "training"),
        Guest("tom", cloud, "training"),
        Guest("ida", cloud, "inference"),
    )
    for at_s, guest in ((0, sid), (10, tom), (20, sid)):
        at(cloud, at_s)
        guest.asks("h100")
    at(cloud, 30)
    for taken in ([leaf(2)], [leaf(1), leaf(2)], [leaf(0), leaf(1), leaf(2)]):
        ida.asks("h100")
        assert taken == sorted(ida.held)


def test_waiting_inference_goes_before_training() -> None:
    cloud = opened("fcfs-p", h100=1)
    bob, sid, ida = (
        Guest("bob", cloud),
        Guest("sid", cloud, "training"),
        Guest("ida", cloud, "inference"),
    )
    for guest in (bob, sid, ida):
        guest.asks("h100")
    cloud.send([Relinquish("bob", lease_of(cloud, "bob", leaf(0)))])
    at(cloud, 60)
    assert ([], [leaf(0)]) == (sid.held, ida.held)
