"""M7 to M10: who wins which leaf, in which order, and why clearing ends."""

import random
from itertools import permutations

import pytest

from laissez.market import (
    AdvanceTime,
    BringOnline,
    CancelOrder,
    CloseBooks,
    Command,
    ControlsSet,
    EndReason,
    FloorSet,
    LeafBroughtOnline,
    LeafTakenOffline,
    LeaseEnded,
    LeaseStarted,
    OrderAmended,
    OrderCancelled,
    OrderPlaced,
    Reason,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
    at_price,
)
from laissez.market.answers import LeaseView, TenantCounts
from support.stories import Story, amend, place

# M7


def test_m7_a_rate_equal_to_the_limit_is_tolerated_and_one_more_is_not() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h 5"), "own", "0"),
        (1, place("ann", "h 5"), "own", "5"),
        (2, place("bob", "h 6"), "bob", "5"),
    )


def test_m7_a_floor_equal_to_the_limit_is_tolerated_and_one_more_is_not() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h 5"), "own", "0"),
        (1, SetFloor("h", 5), "own", "5"),
        (2, SetFloor("h", 6), "-", "6"),
    )


def test_m7_an_idle_leaf_is_taken_at_its_floor_and_not_below() -> None:
    story = Story("h")
    story.goes(
        (0, SetFloor("h", 5), "-"),
        (1, place("ann", "h 4"), "-", "5"),
        (2, place("bob", "h 5"), "bob", "5"),
    )


# M8


def test_m8_the_highest_limit_wins_then_the_deepest_scope_then_the_lowest_number() -> None:
    story = Story("h/r/a")
    story.goes(
        (0, place("own", "h ..9"), "own"),
        (0, place("ann", "h ..5"), "own"),
        (0, place("bob", "h/r ..5"), "own"),
        (0, place("cat", "h/r/a ..5"), "own"),
        (0, place("dan", "h/r/a ..5"), "own"),
        (0, place("eve", "h ..6"), "own"),
        (1, Relinquish("own", 1), "eve"),
        (2, Relinquish("eve", 1), "cat"),
        (3, Relinquish("cat", 1), "dan"),
        (4, Relinquish("dan", 1), "bob"),
        (5, Relinquish("bob", 1), "ann"),
        (6, Relinquish("ann", 1), "-"),
    )


def test_m8_the_limit_decides_and_not_the_bid() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h ..9"), "own"),
        (0, place("ann", "h 5..6"), "own"),
        (0, place("bob", "h ..7"), "own"),
        (1, Relinquish("own", 1), "bob", "5"),
    )


def test_m8_the_winner_needs_the_floor() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h ..9"), "own"),
        (0, place("ann", "h ..5"), "own"),
        (1, SetFloor("h", 6), "own"),
        (2, Relinquish("own", 1), "-"),
    )
    story.goes((3, SetFloor("h", 5), "ann"))


def test_m8_a_tenant_that_gives_a_leaf_up_may_win_it_again() -> None:
    story = Story("h")
    story.goes((0, place("ann", "h 9"), "ann"), (1, place("ann", "h 7"), "ann"))
    assert [
        LeaseEnded(2, "ann", 1, "h", EndReason.RELINQUISHED, 0, 9),
        LeaseStarted(2, "ann", 2, "h", 2, 0, 7, None),
    ] == story.at(2, Relinquish("ann", 1))


def test_m8_a_tenant_that_is_outbid_may_win_the_leaf_back_with_a_resting_order() -> None:
    story = Story("h")
    story.goes((0, place("ann", "h 2"), "ann"), (1, place("ann", "h 1..9"), "ann"))
    assert [
        OrderPlaced(2, "bob", 1, (at_price("h", 3),), False),
        LeaseEnded(2, "ann", 1, "h", EndReason.OUTBID, 3, 2),
        LeaseStarted(2, "ann", 2, "h", 2, 3, 9, None),
    ] == story.at(2, place("bob", "h 3"))
    assert ["bob"] == [order.tenant for order in story.market.orders()]


def test_m8_a_tenant_evicted_by_a_floor_may_win_the_leaf_back_with_a_resting_order() -> None:
    story = Story("h")
    story.goes(
        (0, place("ann", "h 2"), "ann"),
        (0, place("ann", "h ..9"), "ann"),
        (1, SetFloor("h", 4), "ann", "4"),
    )
    assert [2] == [lease.lease for lease in story.market.leases()]


@pytest.mark.parametrize(
    "leavers",
    [
        leavers
        for count in range(4)
        for leavers in permutations(["ann", "bob", "cat", "dan"], count)
    ],
)
def test_m8_orders_that_leave_the_queue_do_not_change_the_order_of_the_others(
    leavers: tuple[str, ...],
) -> None:
    story = Story("h")
    story.at(0, place("own", "h ..9"))
    names = ["ann", "bob", "cat", "dan"]
    for name in names:
        story.at(0, place(name, "h 2..5"))
    for name in leavers:
        story.at(1, CancelOrder(name, 1))
    story.at(2, place("eve", "h 3..5"))
    owner = "own"
    for winner in [*[name for name in names if name not in leavers], "eve"]:
        story.goes((3, Relinquish(owner, 1), winner))
        owner = winner


def test_m8_the_earliest_of_equal_orders_wins_after_many_have_left() -> None:
    """Dead entries pile up in a book behind and before those that wait; they must not change who is
    first."""
    story = Story("h")
    story.goes(
        (0, place("own", "h ..99"), "own"),
        (0, place("ann", "h ..50"), "own"),
        (0, place("bob", "h ..50"), "own"),
    )
    for time in range(120):
        for limit in (50, 60 + time % 7, 1 + time):
            order = story.at(time, place("cat", f"h 1..{limit}"))[0]
            assert isinstance(order, OrderPlaced)
            story.at(time, CancelOrder("cat", order.order))
    story.goes(
        (200, Relinquish("own", 1), "ann"),
        (201, Relinquish("ann", 1), "bob"),
        (202, Relinquish("bob", 1), "-"),
    )


# M9: after place and amend


def test_m9_an_order_takes_the_cheapest_idle_leaf() -> None:
    story = Story("h/a", "h/b", "h/c")
    story.goes(
        (0, SetFloor("h/a", 4), "- - -"),
        (0, SetFloor("h/b", 2), "- - -"),
        (0, SetFloor("h/c", 3), "- - -"),
        (1, place("ann", "h 5"), "- ann -"),
    )


def test_m9_an_order_takes_the_leased_leaf_with_the_lowest_limit() -> None:
    story = Story("h/a", "h/b", "h/c")
    story.goes(
        (0, place("own", "h/a ..4"), "own - -"),
        (0, place("own", "h/b ..2"), "own own -"),
        (0, place("own", "h/c ..3"), "own own own"),
        (1, place("ann", "h 5"), "own ann own"),
        (2, place("bob", "h 5"), "own ann bob"),
    )


def test_m9_a_leased_leaf_is_taken_by_a_bid_above_its_limit_and_not_by_a_limit() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h 4"), "own"),
        (1, place("ann", "h 4..9"), "own", "4"),
        (2, place("bob", "h 5..6"), "ann", "5"),
    )
    assert ["bob"] == [order.tenant for order in story.market.orders()]


@pytest.mark.parametrize("alternatives", [("g 5", "h 8"), ("h 8", "g 5")])
def test_m9_the_surplus_counts_from_the_limit_of_each_alternative(
    alternatives: tuple[str, ...],
) -> None:
    idle, leased = Story("g", "h"), Story("g", "h")
    idle.goes((0, SetFloor("g", 1), "- -"), (0, SetFloor("h", 3), "- -"))
    leased.goes((0, place("own", "g 1"), "own -"), (0, place("own", "h 3"), "own own"))
    idle.goes((1, place("ann", *alternatives), "- ann"))  # 5 - 1 against 8 - 3
    leased.goes((1, place("ann", *alternatives), "own ann"))


@pytest.mark.parametrize("alternatives", [("g 8", "h 5"), ("h 5", "g 8")])
def test_m9_the_larger_surplus_is_taken_whichever_comes_first_in_path_order(
    alternatives: tuple[str, ...],
) -> None:
    idle, leased = Story("g", "h"), Story("g", "h")
    idle.goes((0, SetFloor("g", 3), "- -"), (0, SetFloor("h", 1), "- -"))
    leased.goes((0, place("own", "g 3"), "own -"), (0, place("own", "h 1"), "own own"))
    idle.goes((1, place("ann", *alternatives), "ann -"))
    leased.goes((1, place("ann", *alternatives), "ann own"))


def test_m9_a_leased_leaf_with_a_larger_surplus_goes_before_an_idle_one() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, SetFloor("h/a", 3), "- -"),
        (0, place("own", "h/b 2"), "- own"),
        (1, place("ann", "h 5"), "- ann"),
    )


def test_m9_an_idle_leaf_with_a_larger_surplus_goes_before_a_leased_one() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, place("own", "h/a 3"), "own -"),
        (0, SetFloor("h/b", 2), "own -"),
        (1, place("ann", "h 5"), "own ann"),
    )


def test_m9_on_a_surplus_tie_idle_goes_before_leased() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, place("own", "h/a 3"), "own -"),
        (0, SetFloor("h/b", 3), "own -"),
        (1, place("ann", "h 5"), "own ann"),
    )


@pytest.mark.parametrize("first", ["a 5", "b 5"])
@pytest.mark.parametrize("leased", ["a", "b"])
def test_m9_on_a_surplus_tie_idle_goes_before_leased_whichever_alternative_is_named_first(
    first: str, leased: str
) -> None:
    story = Story("a", "b")
    idle = "b" if leased == "a" else "a"
    story.at(0, place("own", f"{leased} 3"))
    story.at(0, SetFloor(idle, 3))
    story.at(1, place("ann", first, "b 5" if first == "a 5" else "a 5"))
    assert ("own", "ann") == (story.market.owner(leased), story.market.owner(idle))


@pytest.mark.parametrize("alternatives", [("a 5", "b 5"), ("b 5", "a 5")])
def test_m9_on_a_tie_the_first_idle_leaf_in_path_order_over_all_trees_is_taken(
    alternatives: tuple[str, ...],
) -> None:
    story = Story("b/x", "a/y", "a/x")
    story.goes(
        (0, place("ann", *alternatives), "ann - -"),
        (0, place("bob", *alternatives), "ann bob -"),
        (0, place("cat", *alternatives), "ann bob cat"),
    )


@pytest.mark.parametrize("alternatives", [("a 5", "b 5"), ("b 5", "a 5")])
def test_m9_on_a_tie_the_first_leased_leaf_in_path_order_over_all_trees_is_taken(
    alternatives: tuple[str, ...],
) -> None:
    story = Story("b/x", "a/y", "a/x")
    for leaf in ("b/x", "a/x", "a/y"):
        story.at(0, place("own", f"{leaf} 2"))
    story.goes(
        (1, place("ann", *alternatives), "ann own own"),
        (1, place("bob", *alternatives), "ann bob own"),
        (1, place("cat", *alternatives), "ann bob cat"),
    )


@pytest.mark.parametrize("alternatives", [("h/b 5", "h 5"), ("h 5", "h/b 5")])
def test_m9_nested_scopes_with_the_same_best_leaf_take_it_once(
    alternatives: tuple[str, ...],
) -> None:
    idle, leased = Story("h/a", "h/b"), Story("h/a", "h/b")
    idle.goes((0, place("own", "h/a 9"), "own -"), (1, place("ann", *alternatives), "own ann"))
    leased.goes(
        (0, place("own", "h/a 9"), "own -"),
        (0, place("own", "h/b 2"), "own own"),
        (1, place("ann", *alternatives), "own ann"),
    )


def test_m9_on_a_tie_between_nested_scopes_the_leaf_decides_and_not_the_scope() -> None:
    """Both alternatives leave 3; the root comes before h/b, but the leaf it finds comes after."""
    idle, leased = Story("h/a", "h/b", "h/c"), Story("h/a", "h/b", "h/c")
    idle.goes(
        (0, place("own", "h/a 9"), "own - -"),
        (0, SetFloor("h/b", 2), "own - -"),
        (0, SetFloor("h/c", 1), "own - -"),
    )
    leased.goes(
        (0, place("own", "h/a 9"), "own - -"),
        (0, place("own", "h/b 2"), "own own -"),
        (0, place("own", "h/c 1"), "own own own"),
    )
    idle.goes((1, place("ann", "h/b 5", "h 4"), "own ann -"))
    leased.goes((1, place("ann", "h/b 5", "h 4"), "own ann own"))


def test_m9_names_are_compared_part_by_part() -> None:
    story = Story("h/a-b/x", "h/a/x", "h/a.b")
    story.at(0, place("ann", "h 5"))
    assert "ann" == story.market.owner("h/a/x")


def test_m9_an_order_never_takes_its_own_tenants_leaf() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, place("ann", "h/a 1"), "ann -"),
        (0, place("bob", "h/b 3"), "ann bob"),
        (1, place("ann", "h 2"), "ann bob", "0 2"),
        (2, place("ann", "h 4"), "ann ann", "0 0"),
    )


def test_m9_the_tenants_own_leaf_is_skipped_where_other_leases_cost_the_same() -> None:
    story = Story("h/r/a", "h/r/b", "h/s/c", "h/s/d")
    story.goes(
        (0, place("ann", "h/r/a 2"), "ann - - -"),
        (0, place("ann", "h/r/b 1"), "ann ann - -"),
        (0, place("bob", "h/s/c 2"), "ann ann bob -"),
        (0, place("cat", "h/s/d 2"), "ann ann bob cat"),
        (1, place("ann", "h 3"), "ann ann ann cat"),
        (2, place("ann", "h 3"), "ann ann ann ann"),
        (3, place("dan", "h 3"), "ann dan ann ann"),
        (4, place("bob", "h 3"), "bob dan ann ann"),
    )


def test_m9_a_resting_order_with_a_higher_limit_wins_the_leaf_that_a_new_bid_opened() -> None:
    story = Story("h")
    story.goes((0, place("own", "h 2"), "own"), (1, place("rob", "h 1..9"), "own", "1"))
    assert [
        OrderPlaced(2, "ann", 1, (at_price("h", 5),), False),
        LeaseEnded(2, "own", 1, "h", EndReason.OUTBID, 5, 2),
        LeaseStarted(2, "rob", 1, "h", 1, 5, 9, None),
    ] == story.at(2, place("ann", "h 5"))
    assert ["ann"] == [order.tenant for order in story.market.orders()]


def test_m9_a_new_order_clears_until_it_wins_a_leaf_or_none_is_left() -> None:
    story = Story("h/a", "h/b", "h/c")
    story.goes(
        (0, place("own", "h/a 1"), "own - -"),
        (0, place("own", "h/b 2"), "own own -"),
        (0, place("own", "h/c 3"), "own own own"),
        (1, place("rob", "h/a ..9"), "own own own"),
        (1, place("sue", "h/b ..9"), "own own own"),
    )
    assert [
        OrderPlaced(2, "ann", 1, (at_price("h", 5),), False),
        LeaseEnded(2, "own", 1, "h/a", EndReason.OUTBID, 5, 1),
        LeaseStarted(2, "rob", 1, "h/a", 1, 5, 9, None),
        LeaseEnded(2, "own", 2, "h/b", EndReason.OUTBID, 5, 2),
        LeaseStarted(2, "sue", 1, "h/b", 1, 5, 9, None),
        LeaseEnded(2, "own", 3, "h/c", EndReason.OUTBID, 5, 3),
        LeaseStarted(2, "ann", 1, "h/c", 1, 0, 5, None),
    ] == story.at(2, place("ann", "h 5"))


def test_m9_a_new_order_rests_when_others_won_all_it_opened() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, place("own", "h/a 1"), "own -"),
        (0, place("own", "h/b 2"), "own own"),
        (1, place("rob", "h ..9"), "own own"),
        (1, place("sue", "h ..8"), "own own"),
        (2, place("ann", "h 5"), "rob sue", "5 5"),
    )


def test_m9_a_filled_resting_order_stops_pressing_elsewhere_while_clearing_goes_on() -> None:
    story = Story("g", "h")
    story.goes(
        (0, place("own", "g 6"), "own -"),
        (0, place("own", "h 2"), "own own"),
        (1, place("rob", "g 6", "h 1..9"), "own own", "6 1"),
        (2, place("ann", "h 3"), "own rob", "0 3"),
    )


def test_m9_a_lease_lost_to_one_order_does_not_cost_its_owner_another() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, place("own", "h 2"), "own -"),
        (0, place("own", "h 2"), "own own"),
        (1, place("ann", "h 3"), "ann own", "0 0"),
    )


def test_m9_an_amended_order_takes_what_it_can_take_now() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h 5"), "own"),
        (1, place("ann", "h 3"), "own", "3"),
        (2, amend("ann", 1, "h 5"), "own", "5"),
    )
    assert [
        OrderAmended(3, "ann", 1, (at_price("h", 6),), False),
        LeaseEnded(3, "own", 1, "h", EndReason.OUTBID, 6, 5),
        LeaseStarted(3, "ann", 1, "h", 1, 0, 6, None),
    ] == story.at(3, amend("ann", 1, "h 6"))


def test_m9_an_amended_order_may_move_to_another_tree() -> None:
    story = Story("g", "h")
    story.goes(
        (0, place("own", "h 5"), "- own"),
        (1, place("ann", "h 3"), "- own", "0 3"),
        (2, amend("ann", 1, "g 1"), "ann own", "0 0"),
    )


def test_m9_the_first_filled_alternative_cancels_the_other() -> None:
    story = Story("g", "h")
    story.goes(
        (0, place("own", "g 5"), "own -"),
        (0, place("own", "h 5"), "own own"),
        (1, place("ann", "g 4", "h 3"), "own own", "4 3"),
        (2, Relinquish("own", 2), "own ann", "0 0"),
        (3, Relinquish("own", 1), "- ann", "0 0"),
    )


# M9: after other commands


def test_m9_a_raised_floor_evicts_the_lowest_limit_first_then_in_path_order() -> None:
    story = Story("h/a", "h/b", "h/c", "h/d")
    story.goes(
        (0, place("ann", "h/a 4"), "ann - - -"),
        (0, place("bob", "h/b 3"), "ann bob - -"),
        (0, place("cat", "h/c 3"), "ann bob cat -"),
        (0, place("dan", "h/d 5"), "ann bob cat dan"),
    )
    assert [
        FloorSet(1, "h", 5, False),
        LeaseEnded(1, "bob", 1, "h/b", EndReason.FLOOR_RAISED, 5, 3),
        LeaseEnded(1, "cat", 1, "h/c", EndReason.FLOOR_RAISED, 5, 3),
        LeaseEnded(1, "ann", 1, "h/a", EndReason.FLOOR_RAISED, 5, 4),
    ] == story.at(1, SetFloor("h", 5))
    assert ["-", "-", "-", "dan"] == story.owners()


def test_m9_a_leaf_emptied_by_a_floor_goes_to_a_resting_order_that_reaches_it() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, place("ann", "h/a 2"), "ann -"),
        (0, place("bob", "h/b 3"), "ann bob"),
        (0, place("cat", "h 1..9"), "ann bob"),
    )
    assert [
        FloorSet(1, "h", 4, False),
        LeaseEnded(1, "ann", 1, "h/a", EndReason.FLOOR_RAISED, 4, 2),
        LeaseStarted(1, "cat", 1, "h/a", 1, 4, 9, None),
        LeaseEnded(1, "bob", 1, "h/b", EndReason.FLOOR_RAISED, 4, 3),
    ] == story.at(1, SetFloor("h", 4))


def test_m9_a_raised_floor_at_one_node_leaves_others_alone() -> None:
    story = Story("h/r/a", "h/r/b", "h/s/c")
    story.goes(
        (0, place("ann", "h/r/a 2"), "ann - -"),
        (0, place("ann", "h/s/c 2"), "ann - ann"),
        (1, SetFloor("h/r", 3), "- - ann"),
        (2, SetFloor("h/s/c", 3), "- - -"),
    )


def test_m9_a_lowered_floor_fills_resting_orders_lowest_floor_first() -> None:
    story = Story("h/a", "h/b", "h/c")
    story.goes(
        (0, SetFloor("h", 9), "- - -"),
        (0, SetFloor("h/a", 3), "- - -"),
        (0, SetFloor("h/b", 1), "- - -"),
        (0, SetFloor("h/c", 3), "- - -"),
        (0, place("ann", "h ..3"), "- - -"),
        (0, place("bob", "h ..5"), "- - -"),
        (0, place("cat", "h ..2"), "- - -"),
    )
    assert [
        FloorSet(1, "h", 0, False),
        LeaseStarted(1, "bob", 1, "h/b", 1, 1, 5, None),
        LeaseStarted(1, "ann", 1, "h/a", 1, 3, 3, None),
    ] == story.at(1, SetFloor("h", None))
    assert ["cat"] == [order.tenant for order in story.market.orders()]


def test_m9_a_leaf_that_an_earlier_step_made_stable_stays_closed() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, SetFloor("h", 9), "- -"),
        (0, place("ann", "h 5"), "- -"),
        (1, SetFloor("h", 5), "ann -"),
    )


def test_m9_a_lowered_floor_that_no_limit_reaches_fills_nothing() -> None:
    story = Story("h/a", "h/r/b")
    story.goes(
        (0, SetFloor("h", 9), "- -"),
        (0, place("ann", "h/r 3"), "- -"),
        (1, SetFloor("h", 4), "- -"),
        (2, SetFloor("h", 3), "- ann"),
    )


def test_m9_a_lowered_floor_finds_orders_that_rest_above_at_and_below_it() -> None:
    story = Story("h/r/a", "h/r/b", "h/r/c", "h/s/d")
    story.goes(
        (0, place("own", "h/s/d ..99"), "- - - own"),
        (0, SetFloor("h/r", 9), "- - - own"),
        (0, place("ann", "h ..5"), "- - - own"),
        (0, place("bob", "h/r ..6"), "- - - own"),
        (0, place("cat", "h/r/c ..7"), "- - - own"),
        (1, SetFloor("h/r", 5), "bob ann cat own"),
    )


@pytest.mark.parametrize("node", ["h", "h/r", "h/r/a"])
def test_m9_a_floor_removed_fills_an_order_that_pays_nothing(node: str) -> None:
    story = Story("h/r/a")
    story.goes(
        (0, SetFloor(node, 1), "-"), (0, place("ann", "h 0"), "-"), (1, SetFloor(node, None), "ann")
    )


def test_m9_a_lowered_floor_of_a_leaf_fills_that_leaf() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, SetFloor("h/a", 9), "- -"),
        (0, SetFloor("h/b", 9), "- -"),
        (0, place("ann", "h ..5"), "- -"),
        (1, SetFloor("h/b", 4), "- ann"),
    )


def test_m9_a_lowered_floor_stays_ineffective_below_a_higher_one() -> None:
    story = Story("h/r/a")
    story.goes(
        (0, SetFloor("h", 9), "-"),
        (0, SetFloor("h/r", 8), "-"),
        (0, place("ann", "h ..5"), "-"),
        (1, SetFloor("h/r", 1), "-", "9"),
    )


def test_m9_a_lowered_floor_does_not_fill_offline_leaves() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, SetFloor("h", 9), "- -"),
        (0, TakeOffline("h/a"), "x -"),
        (0, place("ann", "h 5"), "x -"),
        (1, SetFloor("h", 5), "x ann"),
    )


def test_m9_a_wide_node_is_walked_in_path_order() -> None:
    """A node keeps very many children in bundles of bundles, which must not change any answer."""
    leaves = [f"h/{number:03}" for number in range(100)]
    story = Story(*leaves)
    story.at(0, SetFloor("h/000", 1))
    for number in range(1, 100):
        story.at(0, place("own", f"h {2 + number % 5}"))
        assert "own" == story.market.owner(leaves[number])
    story.goes((1, place("ann", "h 4"), " ".join(["ann"] + ["own"] * 99)))
    for number in (5, 10, 15):  # limit 2, the lowest there is
        story.at(2, place("bob", "h 3..9"))
        assert "bob" == story.market.owner(leaves[number])
    story.at(3, SetFloor("h", 9))
    assert ["-"] * 5 + ["bob"] == story.owners()[:6]
    assert 3 == len(story.market.leases())
    story.at(4, place("cat", "h/050 8"))
    story.at(4, place("cat", "h 7"))
    story.at(5, SetFloor("h", 7))
    assert "cat" == story.market.owner("h/050") == story.market.owner("h/000")
    assert 5 == len(story.market.leases())


# offline and online


def test_m9_taking_a_leaf_offline_ends_its_lease_and_nobody_wins_it() -> None:
    story = Story("h")
    story.goes((0, place("own", "h 5"), "own"), (1, place("ann", "h 3"), "own"))
    assert [
        LeafTakenOffline(2, "h"),
        LeaseEnded(2, "own", 1, "h", EndReason.TAKEN_OFFLINE, 3, 5),
    ] == story.at(2, TakeOffline("h"))
    story.goes((3, place("bob", "h 9"), "x"))
    assert [LeafBroughtOnline(4, "h"), LeaseStarted(4, "bob", 1, "h", 1, 3, 9, None)] == story.at(
        4, BringOnline("h")
    )


def test_m9_an_idle_leaf_goes_offline_and_comes_back_without_a_lease() -> None:
    story = Story("h/a", "h/b")
    assert [LeafTakenOffline(0, "h/a")] == story.at(0, TakeOffline("h/a"))
    assert not story.market.is_online("h/a")
    story.goes((1, place("ann", "h 1"), "x ann"), (2, SetFloor("h/a", 5), "x ann"))
    assert [LeafBroughtOnline(3, "h/a")] == story.at(3, BringOnline("h/a"))
    assert story.market.is_online("h/a")
    story.goes((4, place("bob", "h/a 4"), "- ann"), (5, place("bob", "h/a 5"), "bob ann"))


def test_m9_an_order_passes_over_offline_leaves_and_takes_a_leased_one() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, TakeOffline("h/a"), "x -"),
        (0, place("own", "h 2"), "x own"),
        (1, place("ann", "h 3"), "x ann"),
    )


# M10


def test_m10_each_tenants_orders_and_leases_are_numbered_as_they_come() -> None:
    story = Story("h/a", "h/b", "h/c")
    placed = [
        story.at(0, place(tenant, f"{leaf} 9"))[1]
        for tenant, leaf in (("ann", "h/b"), ("bob", "h/a"), ("ann", "h/c"))
    ]
    assert [("ann", 1, 1), ("bob", 1, 1), ("ann", 2, 2)] == [
        (event.tenant, event.order, event.lease)
        for event in placed
        if isinstance(event, LeaseStarted)
    ]
    rested = story.at(1, place("ann", "h 1"))[0]
    assert isinstance(rested, OrderPlaced) and 3 == rested.order
    assert TenantCounts(3, 1, 2, 2) == story.market.counts("ann")
    story.at(2, Relinquish("ann", 1))
    assert TenantCounts(3, 0, 3, 2) == story.market.counts("ann")
    assert TenantCounts(0, 0, 0, 0) == story.market.counts("nobody")


def test_m10_numbers_never_name_orders_or_leases_of_another_tenant() -> None:
    story = Story("h/a", "h/b")
    story.goes((0, place("ann", "h/a 9"), "ann -"), (0, place("bob", "h/b 9"), "ann bob"))
    story.goes((1, Relinquish("bob", 1), "ann -"))
    assert (Reason.NOT_YOUR_LEASE, "1", None, None) == story.why(2, Relinquish("bob", 1))
    assert ["ann", "-"] == story.owners()


def test_a_later_lease_of_a_leaf_has_a_higher_fence() -> None:
    story = Story("h/a", "h/b")
    fences = []
    for time, tenant in enumerate(("ann", "bob", "ann")):
        story.at(time, place(tenant, f"h/a {time + 1}"))
        lease = story.market.lease_on("h/a")
        assert lease is not None
        fences.append((lease.tenant, lease.lease, lease.fence))
    assert [("ann", 1, 1), ("bob", 1, 2), ("ann", 2, 3)] == fences


def test_an_ended_lease_is_visible_until_the_books_close_over_it() -> None:
    story = Story("h")
    story.goes((3, SetFloor("h", 2), "-"), (5, place("ann", "h 4"), "ann"))
    lasting = LeaseView(1, "ann", "h", 1, 1, 5, None, 4, None, 2, 2)
    assert lasting == story.market.lease("ann", 1) == story.market.lease_on("h")
    story.goes((9, Relinquish("ann", 1), "-"))
    assert LeaseView(1, "ann", "h", 1, 1, 5, 9, 4, None, 0, 0) == story.market.lease("ann", 1)
    assert story.market.lease_on("h") is None
    assert [None] * 3 == [story.market.lease(*of) for of in (("ann", 2), ("bob", 1), ("ann", 0))]
    story.at(10, CloseBooks(9))
    assert story.market.lease("ann", 1) is None


def test_m10_amending_gives_a_new_time_priority_and_keeps_the_number() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h ..9"), "own"),
        (0, place("ann", "h 1"), "own"),
        (1, amend("ann", 1, "h 2"), "own"),
        (2, place("bob", "h 1"), "own"),
    )
    assert [("ann", 1, 0, 3), ("bob", 1, 2, 4)] == places(story)
    story.goes((3, amend("ann", 1, "h 2"), "own"))
    assert [("bob", 1, 2, 4), ("ann", 1, 0, 5)] == places(story)


def places(story: Story) -> list[tuple[str, int, int, int]]:
    return [
        (order.tenant, order.order, order.placed_at, order.sequence)
        for order in story.market.orders()
    ]


def test_m10_an_amended_order_loses_its_place_in_the_queue() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h ..9"), "own"),
        (0, place("ann", "h ..5"), "own"),
        (0, place("bob", "h ..5"), "own"),
        (1, amend("ann", 1, "h ..5"), "own"),
        (2, Relinquish("own", 1), "bob"),
        (3, Relinquish("bob", 1), "ann"),
    )


def test_m10_a_refused_command_uses_no_number() -> None:
    story = Story("h")
    story.goes((0, place("own", "h ..9"), "own"))
    story.why(0, place("ann", "nowhere 1"))
    story.why(0, amend("ann", 1, "h 1"))
    assert [OrderPlaced(0, "ann", 1, (at_price("h", 1),), False)] == story.at(
        0, place("ann", "h 1")
    )


# the events of each command


def test_commands_that_move_no_lease_have_one_event() -> None:
    story = Story("h")
    story.goes((0, place("own", "h 9"), "own"))
    assert [OrderPlaced(1, "ann", 1, (at_price("h", 1),), False)] == story.at(
        1, place("ann", "h 1")
    )
    assert [OrderAmended(2, "ann", 1, (at_price("h", 3),), False)] == story.at(
        2, amend("ann", 1, "h 3")
    )
    assert [OrderCancelled(3, "ann", 1)] == story.at(3, CancelOrder("ann", 1))
    assert [ControlsSet(4, "h", None, None, 7, None)] == story.at(4, SetControls("h", hold_us=7))
    assert [] == story.at(5, AdvanceTime())
    assert [LeaseEnded(6, "own", 1, "h", EndReason.BUDGET_SPENT, 0, 9)] == story.at(
        6, Relinquish("own", 1, True)
    )


def test_other_objects_than_commands_raise_a_type_error() -> None:
    story = Story("h")
    with pytest.raises(TypeError, match="expected a command of the market, found str"):
        story.market.apply("place", 0)  # type: ignore[arg-type]


def test_m7_every_step_of_a_long_random_history_is_stable() -> None:
    """Prices from a coarse grid, so that ties happen; the story checks M5 and M7 after every
    step."""
    dice = random.Random(2)
    leaves = ["g/x", "g/y", "h/r/a", "h/r/b", "h/r/c", "h/s/d", "h/s/e"]
    nodes = [*leaves, "g", "h", "h/r", "h/s"]
    tenants = ["ann", "bob", "cat"]
    story = Story(*leaves, orders_per_tenant_max=4)
    for time in range(1_500):
        tenant, node, leaf = dice.choice(tenants), dice.choice(nodes), dice.choice(leaves)
        bid = dice.randint(0, 6)
        alternatives = [
            f"{scope} {bid}..{bid + dice.randint(0, 3)}"
            for scope in dice.sample(nodes, dice.randint(1, 3))
        ]
        open_ids = [order.order for order in story.market.orders(tenant)] or [0]
        commands: list[Command] = [
            place(tenant, *alternatives),
            amend(tenant, dice.choice(open_ids), *alternatives),
            CancelOrder(tenant, dice.choice(open_ids)),
            SetLimit(tenant, story.lease(tenant, leaf), dice.choice([None, 1, 3, 5])),
            Relinquish(tenant, story.lease(tenant, leaf)),
            SetFloor(node, dice.choice([None, 1, 2, 4])),
            TakeOffline(leaf),
            BringOnline(leaf),
            CloseBooks(max(0, time - 50)),
        ]
        story.at(time, dice.choices(commands, weights=[8, 3, 2, 2, 2, 2, 1, 2, 1])[0])
    assert sum(story.charge(tenant) for tenant in tenants) == story.market.revenue()
