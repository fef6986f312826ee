"""M1 to M6: owners, orders, floors, rates and limits."""

import random

import pytest

from laissez.market import (
    AdvanceTime,
    Alternative,
    CancelOrder,
    EndReason,
    FloorSet,
    LeaseEnded,
    LeaseStarted,
    LimitSet,
    OrderPlaced,
    Relinquish,
    SetFloor,
    SetLimit,
    TakeOffline,
    at_market,
    at_price,
)
from laissez.market.answers import OrderView
from support.stories import Story, amend, place


def test_m1_the_operator_owns_every_leaf_until_a_tenant_wins_it() -> None:
    story = Story("g", "h/a", "h/b")
    assert ["-", "-", "-"] == story.owners()
    assert ((), (), ()) == (story.market.leases(), story.market.orders(), story.market.tenants())


def test_m1_a_leaf_has_one_owner_after_another() -> None:
    story = Story("h")
    story.goes(
        (0, place("ann", "h 1"), "ann"),
        (1, place("bob", "h 2"), "bob"),
        (2, place("cat", "h 3"), "cat"),
        (3, Relinquish("cat", 1), "-"),
        (4, TakeOffline("h"), "x"),
    )
    assert ("ann", "bob", "cat") == story.market.tenants()


def test_m1_a_live_lease_is_found_by_leaf_by_tenant_and_by_the_operator() -> None:
    story = Story("h/a", "h/b")
    story.goes((0, place("bob", "h/b ..7"), "- bob"), (2, place("ann", "h 1..5"), "ann bob"))
    bob, ann = story.market.leases()
    assert (1, "bob", "h/b", 1, 0, 7, None, 0, 0) == (
        bob.lease,
        bob.tenant,
        bob.leaf,
        bob.order,
        bob.start,
        bob.limit,
        bob.hold_until,
        bob.rate,
        bob.charged,
    )
    assert (1, "ann", "h/a", 1, 2) == (ann.lease, ann.tenant, ann.leaf, ann.order, ann.start)
    assert (ann,) == story.market.leases("ann")
    assert ann == story.market.lease_on("h/a")
    assert () == story.market.leases("nobody")


def test_m1_a_tenants_leases_are_listed_by_id_and_not_by_path() -> None:
    story = Story("h/a", "h/b", "h/c")
    story.goes(
        (0, place("ann", "h/c 1"), "- - ann"),
        (1, place("ann", "h/a 1"), "ann - ann"),
        (2, place("ann", "h/b 1"), "ann ann ann"),
    )
    assert (
        ["h/c", "h/a", "h/b"]
        == [lease.leaf for lease in story.market.leases("ann")]
        == [lease.leaf for lease in story.market.leases()]
    )


def test_m2_an_order_takes_one_leaf_however_many_are_idle() -> None:
    story = Story("g", "h/a", "h/b")
    story.goes((0, place("ann", "h 5", "g 5"), "ann - -"))
    assert () == story.market.orders()


def test_m2_a_filled_order_leaves_every_book_at_the_same_instant() -> None:
    story = Story("f", "g", "h")
    story.goes(
        (0, place("own", "f ..9"), "own - -"),
        (0, place("own", "g ..9"), "own own -"),
        (0, place("own", "h ..9"), "own own own"),
        (1, place("ann", "f 5", "g 6", "h 7"), "own own own", "5 6 7"),
        (2, Relinquish("own", 2), "own ann own", "0 0 0"),
    )
    assert () == story.market.orders()


def test_m2_an_order_may_name_sixteen_scopes_and_presses_at_each() -> None:
    leaves = [f"h/{number:02}" for number in range(16)]
    story = Story(*leaves)
    for leaf in leaves:
        story.at(0, place("own", f"{leaf} ..99"))
    story.at(1, place("ann", *[f"{leaf} {bid}" for bid, leaf in enumerate(leaves, 1)]))
    assert list(range(1, 17)) == story.rates()
    story.at(2, Relinquish("own", 8))
    assert "ann" == story.market.owner("h/07")
    assert [0] * 16 == story.rates()


def test_m2_an_open_order_is_shown_with_its_alternatives_in_the_order_given() -> None:
    story = Story("g", "h")
    story.goes(
        (0, SetFloor("h", 9), "- -"),
        (0, SetFloor("g", 9), "- -"),
        (0, place("ann", "h 2..4", "g 1"), "- -"),
    )
    view = OrderView(1, "ann", 0, 1, (Alternative("h", 2, 4), Alternative("g", 1, 1)))
    assert (view,) == story.market.orders() == story.market.orders("ann")
    assert () == story.market.orders("nobody")


def test_m3_one_number_is_both_bid_and_limit() -> None:
    assert Alternative("h", 5, 5) == at_price("h", 5)


def test_m3_an_order_at_market_presses_nothing_and_follows_to_its_limit() -> None:
    assert Alternative("h", 0, 5) == at_market("h", 5)
    story = Story("h")
    story.goes(
        (0, SetFloor("h", 6), "-", "6"),
        (0, place("ann", "h ..5"), "-", "6"),
        (1, SetFloor("h", 5), "ann", "5"),
    )


def test_m3_a_bid_below_its_limit_presses_with_the_bid_alone() -> None:
    story = Story("h")
    story.goes((0, place("own", "h ..9"), "own", "0"), (1, place("ann", "h 3..20"), "own", "3"))


def test_m3_a_limit_of_zero_takes_a_leaf_that_costs_nothing() -> None:
    story = Story("h")
    story.goes((0, place("ann", "h 0"), "ann", "0"), (1, place("bob", "h 1"), "bob", "0"))


def test_m4_the_highest_floor_on_the_path_is_the_floor() -> None:
    story = Story("h/r/a", "h/r/b", "h/s")
    story.goes(
        (0, SetFloor("h/r", 2), "- - -", "2 2 0"),
        (0, SetFloor("h", 1), "- - -", "2 2 1"),
        (0, SetFloor("h/r/b", 3), "- - -", "2 3 1"),
        (0, SetFloor("h", 5), "- - -", "5 5 5"),
    )
    assert [5, 5, 5] == [story.market.floor(node) for node in ("h", "h/r", "h/r/b")]
    story.goes((1, SetFloor("h", None), "- - -", "2 3 0"))
    assert [0, 2, 3, 0] == [story.market.floor(node) for node in ("h", "h/r", "h/r/b", "h/s")]


def test_m4_a_floor_of_zero_and_no_floor_are_the_same() -> None:
    with_zero, without = Story("h"), Story("h")
    assert (
        [FloorSet(0, "h", 0, False)]
        == with_zero.at(0, SetFloor("h", 0))
        == without.at(0, SetFloor("h", None))
    )
    assert with_zero.market.digest() == without.market.digest()
    for story in (with_zero, without):
        story.at(1, SetFloor("h", 4))
    assert (
        [FloorSet(2, "h", 0, False)]
        == with_zero.at(2, SetFloor("h", 0))
        == without.at(2, SetFloor("h", None))
    )
    assert with_zero.market.digest() == without.market.digest()


def test_m4_floors_are_never_consumed() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, SetFloor("h", 3), "- -", "3 3"),
        (1, place("ann", "h 4"), "ann -", "3 3"),
        (2, place("bob", "h 5"), "ann bob", "3 3"),
        (3, Relinquish("ann", 1), "- bob", "3 3"),
    )


def test_m4_a_floor_set_twice_has_two_events_and_changes_nothing() -> None:
    story = Story("h")
    assert [FloorSet(0, "h", 3, False)] == story.at(0, SetFloor("h", 3))
    assert [FloorSet(1, "h", 3, False)] == story.at(1, SetFloor("h", 3))
    assert [3] == story.rates()


def test_m5_an_owner_is_not_pressed_by_its_own_resting_bid() -> None:
    story = Story("h/a")
    story.goes(
        (0, place("ann", "h ..9"), "ann", "0"),
        (1, place("ann", "h 7"), "ann", "0"),
        (2, place("ann", "h/a 8"), "ann", "0"),
        (3, place("bob", "h 4"), "ann", "4"),
    )


def test_m5_an_idle_leaf_is_pressed_by_everyone() -> None:
    story = Story("h")
    story.goes(
        (0, SetFloor("h", 9), "-", "9"),
        (0, TakeOffline("h"), "x", "9"),
        (0, SetFloor("h", 2), "x", "2"),
    )
    story.goes(
        (1, place("ann", "h 5"), "x", "5"),
        (2, place("bob", "h 6"), "x", "6"),
        (3, CancelOrder("bob", 1), "x", "5"),
    )


def test_m5_the_best_bid_presses_all_others_and_the_second_best_presses_its_tenant() -> None:
    story = Story("h/a", "h/b", "h/c")
    story.goes(
        (0, place("ann", "h/a ..9"), "ann - -", "0 0 0"),
        (0, place("bob", "h/b ..9"), "ann bob -", "0 0 0"),
        (0, place("cat", "h/c ..9"), "ann bob cat", "0 0 0"),
        (1, place("ann", "h 5"), "ann bob cat", "0 5 5"),
        (1, place("bob", "h 3"), "ann bob cat", "3 5 5"),
        # two tenants bid the same, so the price belongs to neither
        (1, place("cat", "h 5"), "ann bob cat", "5 5 5"),
        (2, CancelOrder("ann", 2), "ann bob cat", "5 5 3"),
        (3, CancelOrder("cat", 2), "ann bob cat", "3 0 3"),
        (4, CancelOrder("bob", 2), "ann bob cat", "0 0 0"),
    )


def test_m5_the_highest_price_on_the_path_counts_wherever_it_rests() -> None:
    story = Story("h/r/a", "h/r/b")
    story.goes(
        (0, place("own", "h/r/a ..99"), "own -", "0 0"),
        (0, place("own", "h/r/b ..99"), "own own", "0 0"),
        (1, place("ann", "h 3"), "own own", "3 3"),
        (1, place("bob", "h/r 4"), "own own", "4 4"),
        (1, place("cat", "h/r/a 2"), "own own", "4 4"),
        (2, SetFloor("h/r/b", 6), "own own", "4 6"),
        (3, amend("cat", 1, "h/r/a 7"), "own own", "7 6"),
        (4, CancelOrder("bob", 1), "own own", "7 6"),
    )


def test_m5_a_floor_above_every_bid_is_the_rate_and_a_floor_below_is_not() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h ..9"), "own", "0"),
        (1, place("ann", "h 4"), "own", "4"),
        (2, SetFloor("h", 5), "own", "5"),
        (3, SetFloor("h", 4), "own", "4"),
        (4, SetFloor("h", 3), "own", "4"),
        (5, CancelOrder("ann", 1), "own", "3"),
    )


def test_m5_one_tenant_may_press_with_several_bids_and_its_best_counts() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h ..9"), "own", "0"),
        (1, place("ann", "h 4"), "own", "4"),
        (1, place("ann", "h 6"), "own", "6"),
        (1, place("ann", "h 6"), "own", "6"),
        (2, CancelOrder("ann", 2), "own", "6"),
        (3, CancelOrder("ann", 3), "own", "4"),
        (4, CancelOrder("ann", 1), "own", "0"),
    )


@pytest.mark.parametrize("highest", [3, 40])
def test_m5_rates_stay_right_while_tenants_change_their_minds(highest: int) -> None:
    """The story checks every rate against M5 after every step; few prices make ties, many make long
    books of dead entries."""
    dice = random.Random(highest)
    tenants = ["ann", "bob", "cat", "dan"]
    story = Story("h/a", "h/b", "h/c", "h/d")
    for leaf, tenant in zip("abcd", tenants, strict=True):
        story.at(0, place(tenant, f"h/{leaf} 0"))
        story.at(0, SetLimit(tenant, 1, None))
    for _ in range(700):
        tenant = dice.choice(tenants)
        ids = [order.order for order in story.market.orders(tenant)]
        bid = f"{dice.choice(['h', 'h', 'h/a'])} {dice.randint(0, highest)}"
        if len(ids) < 2:
            story.at(0, place(tenant, bid))
        elif dice.random() < 0.5:
            story.at(0, amend(tenant, dice.choice(ids), bid))
        else:
            story.at(0, CancelOrder(tenant, dice.choice(ids)))
    assert tenants == story.owners()


def test_m5_rates_stay_right_while_a_tenant_below_the_best_comes_and_goes() -> None:
    story = Story("h/a", "h/b")
    story.goes((0, place("ann", "h/a ..99"), "ann -"), (0, place("bob", "h/b ..99"), "ann bob"))
    story.goes(
        (0, place("ann", "h 9"), "ann bob", "0 9"),
        (0, place("cat", "h 5"), "ann bob", "5 9"),
        (0, place("bob", "h 4"), "ann bob", "5 9"),
    )
    for time in range(60):
        bob = story.at(time, place("bob", f"h {1 + time % 3}"))[0]
        dan = story.at(time, place("dan", f"h {1 + time % 4}..{10 + time}"))[0]
        assert isinstance(bob, OrderPlaced) and isinstance(dan, OrderPlaced)
        story.goes(
            (time, CancelOrder("bob", bob.order), "ann bob", "5 9"),
            (time, CancelOrder("dan", dan.order), "ann bob", "5 9"),
        )
    story.goes(
        (99, CancelOrder("cat", 1), "ann bob", "4 9"), (99, CancelOrder("ann", 2), "ann bob", "4 0")
    )


def test_m6_a_lease_starts_with_the_limit_of_the_winning_alternative() -> None:
    story = Story("g", "h")
    events = story.at(0, place("ann", "g 3", "h 1..8"))
    assert LeaseStarted(0, "ann", 1, "h", 1, 0, 8, None) == events[1]


def test_m6_an_owner_may_change_its_limit_at_any_time() -> None:
    story = Story("h")
    story.goes((0, place("ann", "h 5"), "ann"))
    assert [LimitSet(1, "ann", 1, "h", 9)] == story.at(1, SetLimit("ann", 1, 9))
    story.goes((2, place("bob", "h 9"), "ann", "9"), (3, SetLimit("ann", 1, 10), "ann", "9"))
    assert [
        LimitSet(4, "ann", 1, "h", 8),
        LeaseEnded(4, "ann", 1, "h", EndReason.OUTBID, 9, 8),
        LeaseStarted(4, "bob", 1, "h", 1, 0, 9, None),
    ] == story.at(4, SetLimit("ann", 1, 8))


def test_m6_a_lease_without_a_limit_is_never_lost_for_price() -> None:
    story = Story("h")
    story.goes(
        (0, place("ann", "h 5"), "ann"),
        (1, SetLimit("ann", 1, None), "ann"),
        (2, place("bob", "h 10000000000"), "ann", "10000000000"),
        (3, SetFloor("h", 10_000_000_000), "ann", "10000000000"),
    )
    lease = story.market.lease_on("h")
    assert lease is not None and lease.limit is None


def test_m6_a_limit_may_be_lowered_to_the_rate_without_loss() -> None:
    story = Story("h")
    story.goes(
        (0, place("ann", "h 5"), "ann"),
        (1, SetFloor("h", 3), "ann"),
        (2, SetLimit("ann", 1, 3), "ann"),
        (3, AdvanceTime(), "ann"),
        (4, SetLimit("ann", 1, 2), "-"),
    )
