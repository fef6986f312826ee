"""M17 and M18: holds and flash fees, with values worked out by hand."""

import pytest

from laissez.market import (
    AdvanceTime,
    Band,
    CancelOrder,
    CloseBooks,
    ControlsSet,
    EndReason,
    Event,
    FeeCharged,
    FloorSet,
    LeaseEnded,
    LeaseStarted,
    LimitSet,
    OrderAmended,
    OrderCancelled,
    OrderPlaced,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)
from laissez.market.answers import Bill, FeeLine, LeaseLine, PriceSegment
from support.stories import Story, alternative, amend, owned, place

HALF = 500_000  # millionths


# M17


def held() -> Story:
    """Ann holds h from 10, up to 5, and cannot lose it for price until 110."""
    story = Story("h")
    story.goes((0, SetControls("h", hold_us=100), "-"), (10, place("ann", "h ..5"), "ann"))
    return story


def test_m17_a_lease_shows_the_end_of_its_hold() -> None:
    story = Story("h")
    story.at(0, SetControls("h", hold_us=100))
    assert LeaseStarted(10, "ann", 1, "h", 1, 0, 5, 110) == story.at(10, place("ann", "h ..5"))[1]
    lease = story.market.lease_on("h")
    assert lease is not None and 110 == lease.hold_until
    assert 110 == story.market.next_deadline()


def test_m17_a_held_lease_is_not_lost_for_price_and_is_charged_at_most_its_limit() -> None:
    story = held()
    story.goes(
        (20, place("bob", "h 9"), "ann", "9"),
        (30, SetFloor("h", 8), "ann", "9"),
        (109, AdvanceTime(), "ann", "9"),
    )
    lease = story.market.lease_on("h")
    assert lease is not None and (9, 5) == (lease.rate, lease.charged)
    assert 5 * (109 - 20) == story.charge("ann")


def test_m17_a_hold_ends_when_it_is_due_even_between_commands() -> None:
    story = held()
    story.goes((20, place("bob", "h 9"), "ann"))
    assert [
        LeaseEnded(110, "ann", 1, "h", EndReason.OUTBID, 9, 5),
        LeaseStarted(110, "bob", 1, "h", 1, 0, 9, 210),
    ] == story.at(200, AdvanceTime())
    assert (5 * 90, 0) == (story.charge("ann"), story.charge("bob"))
    assert 210 == story.market.next_deadline()


def test_m17_a_hold_ends_before_any_command_of_that_time() -> None:
    story = held()
    story.goes((20, place("bob", "h 9"), "ann"))
    started, ended = (
        LeaseStarted(110, "bob", 1, "h", 1, 0, 9, 210),
        LeaseEnded(110, "ann", 1, "h", EndReason.OUTBID, 9, 5),
    )
    assert [ended, started, FloorSet(110, "h", 3, False)] == story.at(110, SetFloor("h", 3))


def test_m17_an_owner_may_save_a_held_leaf_until_the_last_microsecond() -> None:
    story = held()
    story.goes(
        (20, place("bob", "h 9"), "ann"),
        (109, SetLimit("ann", 1, 9), "ann"),
        (110, AdvanceTime(), "ann"),
    )
    assert story.market.next_deadline() is None
    assert 5 * 89 + 9 * 1 == story.charge("ann")


def test_m17_a_hold_that_ends_on_a_stable_leaf_has_no_event() -> None:
    story = held()
    story.goes((20, SetFloor("h", 5), "ann"))
    assert [] == story.at(300, AdvanceTime())
    story.goes((310, SetFloor("h", 6), "-"))
    assert (
        PriceSegment(10, 20, 0, 0),
        PriceSegment(20, 310, 5, 1_450),
    ) == story.market.price_history("ann", 1)


def test_m17_after_the_hold_the_full_rate_is_charged() -> None:
    story = held()
    story.goes(
        (20, SetFloor("h", 8), "ann"),
        (100, SetLimit("ann", 1, 8), "ann"),
        (120, AdvanceTime(), "ann"),
    )
    assert (
        PriceSegment(10, 20, 0, 0),
        PriceSegment(20, 100, 5, 400),
        PriceSegment(100, 120, 8, 160),
    ) == story.market.price_history("ann", 1)
    assert 560 == story.charge("ann") == story.market.revenue()


def test_m17_the_cap_is_the_larger_of_the_limit_now_and_at_the_start() -> None:
    story = held()
    story.goes(
        (20, SetFloor("h", 20), "ann"),  # charged 5
        (30, SetLimit("ann", 1, 2), "ann"),  # still 5
        (40, SetLimit("ann", 1, 8), "ann"),  # 8
        (50, SetLimit("ann", 1, None), "ann"),  # no cap: 20
        (60, SetLimit("ann", 1, 7), "ann"),  # 7
    )
    assert [LeaseEnded(110, "ann", 1, "h", EndReason.FLOOR_RAISED, 20, 7)] == story.at(
        200, AdvanceTime()
    )
    segments = [(10, 20, 0), (20, 40, 5), (40, 50, 8), (50, 60, 20), (60, 110, 7)]
    assert tuple(
        PriceSegment(start, end, rate, (end - start) * rate) for start, end, rate in segments
    ) == story.market.price_history("ann", 1)
    assert (
        PriceSegment(10, 50, None, 180),
        PriceSegment(50, 60, 20, 200),
        PriceSegment(60, 110, 7, 350),
    ) == story.market.price_history("ann", 1, 2)
    assert 100 + 80 + 200 + 350 == story.charge("ann")
    assert 15 * 5 + 10 * 8 + 10 * 20 + 5 * 7 == story.market.bill("ann", 25, 65).total
    story.goes((200, CloseBooks(45), "-"))
    assert (
        PriceSegment(10, 45, None, 140),
        PriceSegment(45, 50, 8, 40),
    ) == story.market.price_history("ann", 1)[:2]
    assert 730 == story.charge("ann") == story.market.revenue()


def test_m17_the_last_of_several_limits_at_one_instant_is_the_cap() -> None:
    story = held()
    story.goes(
        (10, SetFloor("h", 20), "ann"),
        (10, SetLimit("ann", 1, 7), "ann"),
        (10, SetLimit("ann", 1, 6), "ann"),
        (40, SetLimit("ann", 1, 9), "ann"),
        (40, SetLimit("ann", 1, 5), "ann"),
        (50, AdvanceTime(), "ann"),
    )
    assert (
        PriceSegment(10, 40, 6, 180),
        PriceSegment(40, 50, 5, 50),
    ) == story.market.price_history("ann", 1)
    assert 230 == story.charge("ann")


def test_m17_a_floor_above_the_cap_is_charged_at_the_cap_while_other_prices_move() -> None:
    story = Story("h/a")
    story.goes(
        (0, SetControls("h", hold_us=100), "-"),
        (10, place("ann", "h ..5"), "ann"),
        (10, SetFloor("h/a", 20), "ann"),
    )
    story.goes(
        (20, SetFloor("h", 3), "ann"),
        (30, SetFloor("h", 30), "ann"),
        (40, SetFloor("h", 1), "ann"),
        (50, AdvanceTime(), "ann"),
    )
    assert 5 * 40 == story.charge("ann")
    assert (PriceSegment(10, 50, 5, 200),) == story.market.price_history("ann", 1)


def test_m17_a_limit_lowered_in_the_hold_counts_when_the_hold_ends() -> None:
    story = held()
    story.goes((20, place("bob", "h 4"), "ann", "4"))
    assert [LimitSet(30, "ann", 1, "h", 3)] == story.at(30, SetLimit("ann", 1, 3))
    story.goes((109, AdvanceTime(), "ann"), (110, AdvanceTime(), "bob"))
    assert 4 * 90 == story.charge("ann")


def test_m17_two_holds_that_end_together_are_cleared_together_lowest_limit_first() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, SetControls("h", hold_us=100), "- -"),
        (10, place("ann", "h/a 5"), "ann -"),
        (10, place("bob", "h/b 3"), "ann bob"),
        (20, place("cat", "h 9"), "ann bob", "9 9"),
    )
    assert [
        LeaseEnded(110, "bob", 1, "h/b", EndReason.OUTBID, 9, 3),
        LeaseStarted(110, "cat", 1, "h/b", 1, 0, 9, 210),
    ] == story.at(150, AdvanceTime())
    assert ["ann", "cat"] == story.owners()  # the bid is gone from h/a before its turn comes


def test_m17_successive_holds_end_in_order_of_time() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, SetControls("h", hold_us=100), "- -"),
        (10, place("ann", "h/a 3"), "ann -"),
        (15, place("bob", "h/b 3"), "ann bob"),
        (20, place("cat", "h 9"), "ann bob"),
        (20, place("dan", "h 8"), "ann bob"),
    )
    assert [
        LeaseEnded(110, "ann", 1, "h/a", EndReason.OUTBID, 9, 3),
        LeaseStarted(110, "cat", 1, "h/a", 1, 8, 9, 210),
        LeaseEnded(115, "bob", 1, "h/b", EndReason.OUTBID, 8, 3),
        LeaseStarted(115, "dan", 1, "h/b", 1, 0, 8, 215),
    ] == story.at(150, AdvanceTime())
    assert 8 * 5 == story.charge("cat")


def test_m17_a_new_order_passes_over_a_held_leaf() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, place("ann", "h/a 5"), "ann -"),
        (0, SetControls("h", hold_us=100), "ann -"),
        (0, place("bob", "h/b 1"), "ann bob"),
        (1, place("cat", "h 6"), "cat bob"),
    )


def test_m17_a_held_leaf_may_be_given_up() -> None:
    story = held()
    story.goes((20, place("bob", "h 9"), "ann"))
    assert [
        LeaseEnded(30, "ann", 1, "h", EndReason.RELINQUISHED, 9, 5),
        LeaseStarted(30, "bob", 1, "h", 1, 0, 9, 130),
    ] == story.at(30, Relinquish("ann", 1))
    assert 130 == story.market.next_deadline()
    assert 5 * 10 == story.charge("ann")
    assert [] == story.at(500, AdvanceTime())


def test_m17_a_held_leaf_may_be_taken_offline() -> None:
    story = held()
    assert (
        LeaseEnded(30, "ann", 1, "h", EndReason.TAKEN_OFFLINE, 0, 5)
        == story.at(30, TakeOffline("h"))[1]
    )
    assert [] == story.at(500, AdvanceTime())
    assert story.market.next_deadline() is None


def test_m17_changing_or_removing_the_control_leaves_present_holds_alone() -> None:
    story = held()
    story.goes(
        (20, SetControls("h"), "ann"), (30, place("bob", "h 9"), "ann"), (109, AdvanceTime(), "ann")
    )
    assert [110, 110] == [
        event.at
        for event in story.at(130, AdvanceTime())
        if isinstance(event, LeaseEnded | LeaseStarted)
    ]
    assert story.market.next_deadline() is None  # bob's lease began without the control


def test_m17_the_nearest_control_governs() -> None:
    story = Story("h/a", "h/b")
    story.goes((0, SetControls("h", hold_us=100), "- -"), (0, SetControls("h/a", hold_us=7), "- -"))
    story.goes((10, place("ann", "h/a 1"), "ann -"), (10, place("ann", "h/b 1"), "ann ann"))
    assert [17, 110] == [lease.hold_until for lease in story.market.leases()]
    assert 17 == story.market.next_deadline()


def test_m17_a_hold_of_one_microsecond_ends_one_microsecond_later() -> None:
    story = Story("h")
    story.goes(
        (0, SetControls("h", hold_us=1), "-"),
        (0, place("ann", "h 1"), "ann"),
        (0, place("bob", "h 2"), "ann"),
        (1, AdvanceTime(), "bob"),
    )


def test_m17_a_hold_that_ends_after_the_last_time_is_not_a_deadline() -> None:
    story = Story("h")
    story.goes(
        (2**53 - 10, SetControls("h", hold_us=10), "-"), (2**53 - 10, place("ann", "h 1"), "ann")
    )
    assert 2**53 == story.market.next_deadline()
    story.goes((2**53 - 9, Relinquish("ann", 1), "-"), (2**53 - 9, place("ann", "h 1"), "ann"))
    assert story.market.next_deadline() is None


def test_m17_a_long_hold_of_many_prices_is_charged_exactly() -> None:
    """More prices than are summed up at once, below, around and above what the owner pays at
    most."""
    story = Story("h/a")
    story.goes(
        (0, SetControls("h", hold_us=5_000), "-"),
        (0, SetFloor("h/a", 3), "-"),
        (0, place("ann", "h ..12"), "ann"),
    )
    prices = (
        [1 + 7 * step % 20 for step in range(300)]
        + [15 + step % 5 for step in range(100)]
        + [step % 3 for step in range(100)]
    )
    for step, price in enumerate(prices):
        story.at(10 * step, SetFloor("h", price))
        if step == 400:
            story.at(10 * step, SetLimit("ann", 1, 16))
    story.at(5_000, AdvanceTime())
    charges = [
        10 * min(16 if step >= 400 else 12, max(3, price)) for step, price in enumerate(prices)
    ]
    assert sum(charges) == story.charge("ann") == story.market.revenue()
    assert sum(charges[7:450]) == story.market.bill("ann", 70, 4_500).total
    assert sum(charges) == sum(segment.charge for segment in story.market.price_history("ann", 1))


def test_m17_books_closed_in_a_hold_leave_its_charge_unchanged() -> None:
    story = held()
    story.goes((20, SetFloor("h", 20), "ann"), (50, CloseBooks(50), "ann"))
    assert (PriceSegment(10, 50, None, 150),) == story.market.price_history("ann", 1)
    story.goes((120, AdvanceTime(), "-"))
    assert Bill("ann", 0, 120, (LeaseLine(1, "h", 10, 110, 450),), (), 0, 450) == story.market.bill(
        "ann"
    )
    assert 5 * 60 == story.market.bill("ann", 50).total


# M18


def flashy(*leaves: str) -> Story:
    """Own holds all leaves for good; the floor is 4, and a bid above the standing rate must stay
    for 100."""
    story = owned(*leaves)
    for root in story.market.topology.roots:
        story.at(0, SetFloor(root, 4))
        story.at(0, SetControls(root, flash_us=100))
    return story


def fees(events: list[Event]) -> list[tuple[str, int, int]]:
    return [
        (event.scope, event.rate, event.until) for event in events if isinstance(event, FeeCharged)
    ]


def test_m18_a_bid_cancelled_too_soon_is_charged_for_the_rise_it_caused() -> None:
    story = flashy("h")
    story.at(10, place("ann", "h 10"))
    assert [OrderCancelled(30, "ann", 1), FeeCharged(30, "ann", 1, "h", 6, 110)] == story.at(
        30, CancelOrder("ann", 1)
    )


def test_m18_a_fee_is_a_line_of_its_own_that_grows_until_its_end() -> None:
    story = flashy("h")
    story.at(10, place("ann", "h 10"))
    story.at(30, CancelOrder("ann", 1))
    assert () == story.market.bill("ann").fees
    story.at(40, AdvanceTime())
    assert Bill("ann", 0, 40, (), (FeeLine(1, "h", 6, 30, 110, 60),), 0, 60) == story.market.bill(
        "ann"
    )
    story.at(500, AdvanceTime())
    assert Bill(
        "ann", 0, 500, (), (FeeLine(1, "h", 6, 30, 110, 480),), 0, 480
    ) == story.market.bill("ann")
    assert Bill(
        "ann", 100, 200, (), (FeeLine(1, "h", 6, 30, 110, 60),), 0, 60
    ) == story.market.bill("ann", 100, 200)
    assert () == story.market.bill("ann", 110, 200).fees == story.market.bill("ann", 0, 30).fees
    assert 480 + story.charge("own") == story.market.revenue()


def test_m18_a_fee_may_begin_at_time_zero() -> None:
    story = flashy("h")
    story.at(0, place("ann", "h 10"))
    assert [("h", 6, 100)] == fees(story.at(0, CancelOrder("ann", 1)))
    story.at(7, AdvanceTime())
    assert (42, 42 + 7 * 4) == (story.charge("ann"), story.market.revenue())


def test_m18_a_liability_that_has_run_out_costs_no_fee() -> None:
    last, late = flashy("h"), flashy("h")
    for story in (last, late):
        story.at(10, place("ann", "h 10"))
    assert [("h", 6, 110)] == fees(last.at(109, CancelOrder("ann", 1)))
    assert [] == fees(late.at(110, CancelOrder("ann", 1)))


def test_m18_a_bid_that_adds_nothing_to_the_standing_rate_is_free_to_leave() -> None:
    story = flashy("h")
    story.goes(
        (10, place("ann", "h 4"), "own", "4"),
        (10, place("bob", "h 10"), "own", "10"),
        (10, place("cat", "h 10"), "own", "10"),
    )
    assert [] == fees(story.at(11, CancelOrder("ann", 1)))
    assert [] == fees(story.at(11, CancelOrder("cat", 1)))
    assert [("h", 6, 110)] == fees(story.at(11, CancelOrder("bob", 1)))


def test_m18_a_lowered_bid_pays_for_the_drop_and_stays_liable_for_the_rest() -> None:
    story = flashy("h")
    story.at(10, place("ann", "h 10"))
    assert [
        OrderAmended(30, "ann", 1, (alternative("h 8"),), False),
        FeeCharged(30, "ann", 1, "h", 2, 110),
    ] == story.at(30, amend("ann", 1, "h 8"))
    # a drop of 5, liable for 4
    assert [("h", 4, 110)] == fees(story.at(40, amend("ann", 1, "h 3")))
    assert [] == fees(story.at(50, CancelOrder("ann", 1)))
    story.at(200, AdvanceTime())
    assert (
        FeeLine(1, "h", 2, 30, 110, 160),
        FeeLine(1, "h", 4, 40, 110, 280),
    ) == story.market.bill("ann").fees


def test_m18_an_equal_bid_leaves_the_liability_as_it_is() -> None:
    story = flashy("h")
    story.at(10, place("ann", "h 10"))
    assert [] == fees(story.at(50, amend("ann", 1, "h 10..20")))
    assert [("h", 6, 110)] == fees(story.at(60, CancelOrder("ann", 1)))


def test_m18_a_raised_bid_is_liable_anew() -> None:
    story = flashy("h")
    story.at(10, place("ann", "h 10"))
    assert [] == fees(story.at(50, amend("ann", 1, "h 12")))
    assert [("h", 8, 150)] == fees(story.at(120, CancelOrder("ann", 1)))


@pytest.mark.parametrize("standing", [12, 20])
def test_m18_a_raised_bid_that_adds_nothing_keeps_its_old_liability(standing: int) -> None:
    story = flashy("h")
    story.at(10, place("ann", "h 10"))
    story.at(20, place("bob", f"h {standing}"))
    assert [] == fees(story.at(50, amend("ann", 1, "h 12")))
    assert [("h", 6, 110)] == fees(story.at(60, CancelOrder("ann", 1)))


def test_m18_a_bid_raised_after_the_control_is_gone_keeps_its_old_liability() -> None:
    story = flashy("h")
    story.at(10, place("ann", "h 10"))
    story.at(20, SetControls("h"))
    story.at(50, amend("ann", 1, "h 12"))
    assert [("h", 6, 110)] == fees(story.at(60, CancelOrder("ann", 1)))


def test_m18_a_liability_that_ran_out_is_forgotten_when_the_bid_falls() -> None:
    story = flashy("h")
    story.at(10, place("ann", "h 10"))
    assert [] == fees(story.at(110, amend("ann", 1, "h 5")))
    story.at(120, amend("ann", 1, "h 9"))
    assert [("h", 5, 220)] == fees(story.at(130, CancelOrder("ann", 1)))


def test_m18_a_scope_left_out_pays_and_a_scope_added_becomes_liable() -> None:
    story = flashy("f", "g", "h")
    story.at(10, place("ann", "f 10", "g 7"))
    assert [("g", 3, 110)] == fees(story.at(20, amend("ann", 1, "f 10", "h 9")))
    assert [("f", 6, 110), ("h", 5, 120)] == fees(story.at(30, CancelOrder("ann", 1)))


def test_m18_fees_are_charged_in_the_order_of_the_old_alternatives() -> None:
    story = flashy("f", "g", "h")
    story.at(10, place("ann", "h 7", "f 6", "g 5"))
    assert [("h", 3, 110), ("f", 1, 110), ("g", 1, 110)] == fees(
        story.at(20, amend("ann", 1, "g 4", "f 5"))
    )


def test_m18_the_standing_rate_counts_without_any_alternative_of_the_order() -> None:
    story = flashy("h/a")
    story.at(10, place("ann", "h 10", "h/a 12"))
    assert [("h", 6, 110), ("h/a", 8, 110)] == fees(story.at(20, CancelOrder("ann", 1)))


def test_m18_fees_come_before_the_leases_that_move() -> None:
    story = flashy("g", "h")
    story.goes((0, SetLimit("own", 1, 9), "own own"), (10, place("ann", "h 10"), "own own"))
    kinds = [type(event) for event in story.at(20, amend("ann", 1, "g 10"))]
    assert [OrderAmended, FeeCharged, LeaseEnded, LeaseStarted] == kinds


def test_m18_a_filled_order_pays_no_fee() -> None:
    story = flashy("h")
    story.goes(
        (10, place("ann", "h 10"), "own"),
        (20, Relinquish("own", 1), "ann"),
        (30, Relinquish("ann", 1), "-"),
        (200, AdvanceTime(), "-"),
    )
    assert () == story.market.bill("ann").fees


def test_m18_the_bid_in_force_counts_and_not_the_bid_asked_for() -> None:
    story = owned("h")
    story.goes(
        (0, SetFloor("h", 4), "own"),
        (0, SetControls("h", rise=Band(HALF, 1_000), flash_us=100), "own"),
    )
    story.goes((10, place("ann", "h 99"), "own", "6"))
    assert [("h", 2, 110)] == fees(story.at(20, CancelOrder("ann", 1)))


def test_m18_a_control_set_later_makes_no_resting_bid_liable() -> None:
    story = owned("h")
    story.goes((0, place("ann", "h 10"), "own"), (1, SetControls("h", flash_us=100), "own"))
    assert [] == fees(story.at(2, CancelOrder("ann", 1)))


def test_m18_changing_the_control_leaves_present_liabilities_alone() -> None:
    story = flashy("h")
    story.goes((10, place("ann", "h 10"), "own"), (11, SetControls("h", flash_us=1), "own"))
    assert [("h", 6, 110)] == fees(story.at(20, CancelOrder("ann", 1)))


def test_m18_the_nearest_control_governs() -> None:
    story = flashy("h/a", "h/b")
    story.goes(
        (0, SetControls("h/a", flash_us=7), "own own"),
        (10, place("ann", "h/a 5", "h/b 5"), "own own"),
    )
    assert [("h/a", 1, 17), ("h/b", 1, 110)] == fees(story.at(11, CancelOrder("ann", 1)))


def test_m18_closing_the_books_carries_ended_fees_and_keeps_the_others() -> None:
    story = flashy("h")
    story.at(10, place("ann", "h 10"))
    story.at(30, CancelOrder("ann", 1))
    story.at(300, AdvanceTime())
    story.at(300, CloseBooks(109))
    assert Bill(
        "ann", 0, 300, (), (FeeLine(1, "h", 6, 30, 110, 480),), 0, 480
    ) == story.market.bill("ann")
    assert 6 == story.market.bill("ann", 109, 300).total
    story.at(300, CloseBooks(110))
    assert Bill("ann", 0, 300, (), (), 480, 480) == story.market.bill("ann")
    assert 480 + story.charge("own") == story.market.revenue()


# controls that are not set


@pytest.mark.parametrize(
    "controls",
    [
        SetControls("h", rise=Band(HALF, 10)),
        SetControls("h", fall=Band(HALF, 10)),
        SetControls("h", hold_us=10),
        SetControls("h", flash_us=10),
    ],
    ids=["rise", "fall", "hold", "flash"],
)
def test_setting_one_control_sets_no_other(controls: SetControls) -> None:
    story = Story("g", "h")
    story.goes((0, SetFloor("h", 8), "- -"), (0, SetFloor("g", 9), "- -"), (0, controls, "- -"))
    placed, started = story.at(0, place("own", "h 20"))
    assert isinstance(placed, OrderPlaced) and isinstance(started, LeaseStarted)
    assert (controls.rise is not None) == placed.clipped
    assert controls.hold_us == started.hold_until
    assert (controls.flash_us is not None) == (
        1 == len(fees([*story.at(0, place("ann", "h 9")), *story.at(0, CancelOrder("ann", 1))]))
    )
    floor_set = story.at(0, SetFloor("h", 0))[0]
    assert isinstance(floor_set, FloorSet) and (controls.fall is not None) == floor_set.clipped


def test_controls_set_and_removed_leave_a_market_without_controls() -> None:
    story = Story("h/a", "h/b")
    everything = SetControls("h", Band(HALF, 10), Band(HALF, 10), 10, 10)
    assert [ControlsSet(0, "h", Band(HALF, 10), Band(HALF, 10), 10, 10)] == story.at(0, everything)
    story.goes(
        (0, SetControls("h"), "- -"),
        (0, SetControls("h/a"), "- -"),
        (0, SetFloor("h", 9), "- -"),
        (1, SetFloor("h", 1), "- -", "1 1"),
    )
    story.goes(
        (2, place("own", "h/a ..50"), "own -"),
        (2, place("own", "h/b ..60"), "own own"),
        (3, place("ann", "h 51"), "ann own"),
    )
    story.goes(
        (4, place("bob", "h 40"), "ann own", "40 40"), (5, CancelOrder("bob", 1), "ann own", "1 1")
    )
    assert () == story.market.bill("bob").fees
    assert story.market.next_deadline() is None
