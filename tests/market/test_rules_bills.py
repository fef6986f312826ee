"""M14: what leases are charged, to the last unit."""

import random
from typing import Any

import pytest

from laissez.market import (
    AdvanceTime,
    BooksClosed,
    CancelOrder,
    CloseBooks,
    Market,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)
from laissez.market.answers import Bill, LeaseLine, PriceSegment
from laissez.market.errors import BooksAreClosed, EmptyPeriod, TimeNotReached, UnknownLease
from laissez.units import CHARGE_PER_MICRO_DOLLAR, dollars
from support.stories import Story, amend, owned_by_all, place

PRICE = 10_000_000_000
LAST_TIME = 2**53


def fifty_microseconds() -> Story:
    """Own holds h from 10 to 60 and is charged 0, 3, 5, 0 and 2 for ten microseconds each."""
    story = Story("h")
    story.goes(
        (10, place("own", "h ..9"), "own", "0"),
        (20, place("ann", "h 3"), "own", "3"),
        (30, amend("ann", 1, "h 5"), "own", "5"),
        (40, CancelOrder("ann", 1), "own", "0"),
        (50, SetFloor("h", 2), "own", "2"),
        (60, Relinquish("own", 1), "-", "2"),
        (70, AdvanceTime(), "-"),
    )
    return story


def test_m14_a_charge_is_the_sum_of_rate_times_duration() -> None:
    story = fifty_microseconds()
    assert Bill("own", 0, 70, (LeaseLine(1, "h", 10, 60, 100),), (), 0, 100) == story.market.bill(
        "own"
    )
    assert Bill("ann", 0, 70, (), (), 0, 0) == story.market.bill("ann")
    assert 100 == story.market.revenue()


def test_m14_a_price_history_lists_every_charged_rate_with_its_period() -> None:
    assert (
        PriceSegment(10, 20, 0, 0),
        PriceSegment(20, 30, 3, 30),
        PriceSegment(30, 40, 5, 50),
        PriceSegment(40, 50, 0, 0),
        PriceSegment(50, 60, 2, 20),
    ) == fifty_microseconds().market.price_history("own", 1)


def test_m14_a_price_history_has_the_newest_pieces_and_one_for_all_before() -> None:
    market = fifty_microseconds().market
    assert (
        PriceSegment(10, 40, None, 80),
        PriceSegment(40, 50, 0, 0),
        PriceSegment(50, 60, 2, 20),
    ) == market.price_history("own", 1, 2)
    assert (
        PriceSegment(10, 20, None, 0),
        *market.price_history("own", 1)[1:],
    ) == market.price_history("own", 1, 4)
    assert market.price_history("own", 1) == market.price_history("own", 1, 5)


def test_m14_charges_of_closed_books_and_pieces_not_listed_are_one_piece() -> None:
    story = fifty_microseconds()
    story.at(70, CloseBooks(25))
    assert (
        PriceSegment(10, 50, None, 80),
        PriceSegment(50, 60, 2, 20),
    ) == story.market.price_history("own", 1, 1)


def test_m14_a_price_history_reads_only_a_few_hidden_changes_for_each_piece() -> None:
    story = Story("h/a")
    story.goes(
        (0, place("own", "h/a ..9"), "own"),
        (0, SetFloor("h", 9), "own"),
        (0, place("ann", "h/a 1"), "own", "9"),
    )
    for time in range(1, 21):
        story.at(time, amend("ann", 1, f"h/a {1 + time % 2}"))
    assert (PriceSegment(0, 20, 9, 180),) == story.market.price_history("own", 1)
    assert (
        PriceSegment(0, 16, None, 144),
        PriceSegment(16, 20, 9, 36),
    ) == story.market.price_history("own", 1, 1)


def test_m14_adjacent_pieces_of_equal_rate_are_joined_even_if_the_bidder_changes() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h ..9"), "own", "0"),
        (10, place("ann", "h 3"), "own", "3"),
        (20, place("bob", "h 3"), "own", "3"),
        (30, SetFloor("h", 3), "own", "3"),
        (40, CancelOrder("ann", 1), "own", "3"),
        (50, AdvanceTime(), "own"),
    )
    assert (PriceSegment(0, 10, 0, 0), PriceSegment(10, 50, 3, 120)) == story.market.price_history(
        "own", 1
    )


def test_m14_the_last_of_several_prices_at_one_instant_is_charged() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h ..9"), "own", "0"),
        (10, SetFloor("h", 8), "own", "8"),
        (10, SetFloor("h", 1), "own", "1"),
        (10, SetFloor("h", 4), "own", "4"),
        (20, AdvanceTime(), "own"),
    )
    assert (PriceSegment(0, 10, 0, 0), PriceSegment(10, 20, 4, 40)) == story.market.price_history(
        "own", 1
    )
    assert 40 == story.charge("own")


def test_m14_a_price_history_ends_now_while_the_lease_lasts_and_has_no_empty_pieces() -> None:
    story = Story("h")
    story.goes((5, place("own", "h ..9"), "own"))
    assert () == story.market.price_history("own", 1)
    story.goes((7, SetFloor("h", 1), "own"))
    assert (PriceSegment(5, 7, 0, 0),) == story.market.price_history("own", 1)


def test_m14_a_lease_that_never_existed_has_no_history() -> None:
    with pytest.raises(UnknownLease, match="no lease 2 of 'own' in the open books") as error:
        fifty_microseconds().market.price_history("own", 2)
    assert ("own", 2) == (error.value.tenant, error.value.id)


def test_m14_the_number_of_lines_is_known_without_the_bill() -> None:
    story = Story("h")
    story.goes(
        (0, SetControls("h", flash_us=50), "-"),
        (0, place("own", "h 1"), "own"),
        (1, place("own", "h 9"), "own"),
        (2, CancelOrder("own", 2), "own"),
    )
    story.at(3, AdvanceTime())
    bill = story.market.bill("own")
    assert (1, 1, 2, 0) == (
        len(bill.leases),
        len(bill.fees),
        story.market.bill_lines("own"),
        story.market.bill_lines("eve"),
    )


def test_m14_the_charge_of_a_lease_is_that_of_its_line_on_the_bill() -> None:
    story = fifty_microseconds()
    story.goes((70, place("own", "h ..9"), "own"), (75, AdvanceTime(), "own"))
    assert (
        [100, 10]
        == [story.market.charge("own", 1), story.market.charge("own", 2)]
        == [line.charge for line in story.market.bill("own").leases]
    )
    story.at(75, CloseBooks(60))
    with pytest.raises(UnknownLease, match="no lease 1 of 'own' in the open books"):
        story.market.charge("own", 1)


def test_m14_an_owner_is_not_charged_by_its_own_resting_bid() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h ..9"), "own", "0"),
        (0, place("own", "h 7"), "own", "0"),
        (10, place("ann", "h 4"), "own", "4"),
        (20, CancelOrder("ann", 1), "own", "0"),
        (30, AdvanceTime(), "own"),
    )
    assert 40 == story.charge("own")


def test_m14_the_best_bidder_pays_the_second_price_and_the_others_the_first() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, place("ann", "h/a ..9"), "ann -"),
        (0, place("bob", "h/b ..9"), "ann bob"),
        (10, place("ann", "h 5"), "ann bob", "0 5"),
        (20, place("bob", "h 3"), "ann bob", "3 5"),
        (30, amend("bob", 2, "h 8"), "ann bob", "8 5"),
        (40, AdvanceTime(), "ann bob"),
    )
    assert 3 * 10 + 8 * 10 == story.charge("ann")
    assert 5 * 10 + 5 * 10 + 5 * 10 == story.charge("bob")


def test_m14_a_bill_has_a_line_per_lease_in_order_of_id() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, SetFloor("h/a", 2), "- -"),
        (0, SetFloor("h/b", 3), "- -"),
        (10, place("own", "h/b ..9"), "- own"),
        (20, place("own", "h/a ..9"), "own own"),
        (30, Relinquish("own", 1), "own -"),
        (40, place("own", "h/b ..9"), "own own"),
        (50, AdvanceTime(), "own own"),
    )
    bill = story.market.bill("own")
    assert (
        LeaseLine(1, "h/b", 10, 30, 60),
        LeaseLine(2, "h/a", 20, None, 60),
        LeaseLine(3, "h/b", 40, None, 30),
    ) == bill.leases
    assert 150 == bill.total == story.market.revenue()


def test_m14_a_lease_that_moves_is_charged_to_each_owner_for_its_own_time() -> None:
    story = Story("h")
    story.goes(
        (0, SetFloor("h", 2), "-"),
        (0, place("ann", "h 3"), "ann"),
        (10, place("bob", "h 5"), "bob"),
        (25, TakeOffline("h"), "x"),
        (99, AdvanceTime(), "x"),
    )
    assert (20, 30, 50) == (story.charge("ann"), story.charge("bob"), story.market.revenue())


@pytest.mark.parametrize(
    ("since", "until", "charge"),
    [
        (10, 60, 100),
        (0, 70, 100),
        (20, 40, 80),
        (25, 35, 15 + 25),
        (29, 31, 3 + 5),
        (39, 51, 5 + 2),
        (59, 60, 2),
        (30, 30, 0),
        (45, 46, 0),
    ],
)
def test_m14_a_bill_of_a_period_has_the_charges_within_it(
    since: int, until: int, charge: int
) -> None:
    assert Bill(
        "own", since, until, (LeaseLine(1, "h", 10, 60, charge),), (), 0, charge
    ) == fifty_microseconds().market.bill("own", since, until)


@pytest.mark.parametrize(
    ("since", "until"), [(0, 10), (60, 70), (0, 0), (10, 10), (70, 70), (60, 60)]
)
def test_m14_a_lease_outside_the_period_has_no_line(since: int, until: int) -> None:
    assert Bill("own", since, until, (), (), 0, 0) == fifty_microseconds().market.bill(
        "own", since, until
    )


@pytest.mark.parametrize(("since", "until"), [(50, 49), (-1, 10), (None, -1)])
def test_m14_a_period_begins_at_zero_or_later_and_does_not_end_before_it_begins(
    since: int | None, until: int
) -> None:
    with pytest.raises(EmptyPeriod, match=f"no bill begins at {since or 0} and ends at {until}; "):
        fifty_microseconds().market.bill("own", since, until)


def test_m14_bills_of_adjacent_periods_sum_to_the_whole_bill() -> None:
    market = fifty_microseconds().market
    for step in (1, 3, 7, 70):
        assert 100 == sum(
            market.bill("own", since, min(70, since + step)).total for since in range(0, 70, step)
        )


def test_m14_a_bill_without_a_beginning_or_an_end_runs_from_zero_or_until_now() -> None:
    market = fifty_microseconds().market
    assert market.bill("own", 0, 35) == market.bill("own", until=35)
    assert market.bill("own", 35, 70) == market.bill("own", since=35)
    assert (55, 45) == (market.bill("own", until=35).total, market.bill("own", since=35).total)


def test_m14_bills_do_not_depend_on_the_order_of_questions() -> None:
    market = fifty_microseconds().market
    assert [100, 30, 80, 0, 100, 55] == [
        market.bill("own", until=until).total for until in (70, 30, 40, 20, 60, 35)
    ]


def test_m14_a_lease_of_no_duration_has_a_line_without_a_charge() -> None:
    story = Story("h")
    story.goes(
        (5, SetFloor("h", 3), "-"),
        (5, place("own", "h 9"), "own"),
        (5, Relinquish("own", 1), "-"),
        (6, AdvanceTime(), "-"),
    )
    assert (LeaseLine(1, "h", 5, 5, 0),) == story.market.bill("own").leases
    assert () == story.market.price_history("own", 1)


def test_m14_a_lease_that_ended_at_time_zero_has_ended() -> None:
    story = Story("h")
    story.goes(
        (0, SetControls("h", hold_us=5), "-"),
        (0, SetFloor("h", 3), "-"),
        (0, place("own", "h 9"), "own"),
        (0, Relinquish("own", 1), "-"),
    )
    restored = Market.restore(story.market.snapshot())
    story.at(10, AdvanceTime())
    restored.apply(AdvanceTime(), 10)
    for market in (story.market, restored):
        assert (None, (), (), 0) == (
            market.owner("h"),
            market.leases(),
            market.price_history("own", 1),
            market.revenue(),
        )
        assert () == market.bill("own").leases
        market.apply(CloseBooks(0), 10)
        with pytest.raises(UnknownLease):
            market.price_history("own", 1)


def test_m14_a_bid_that_changes_hands_within_a_command_changes_who_is_charged() -> None:
    """Bob's order opens h/a, where ann's has the higher claim; so ann's bid at the root goes as
    bob's equal one comes."""
    story = owned_by_all("h/a own", "h/b bob", "h/c ann")
    story.goes(
        (0, SetLimit("own", 1, 6), "own bob ann"),
        (10, place("ann", "h 5..9"), "own bob ann", "5 5 0"),
        (20, place("bob", "h 5", "h/a 7..8"), "ann bob ann", "7 0 5"),
        (30, AdvanceTime(), "ann bob ann"),
    )
    assert (50, 50) == (story.charge("own"), story.charge("bob"))
    assert 70 + 50 == story.charge("ann")


def test_m14_a_bill_cannot_end_in_the_future() -> None:
    market = fifty_microseconds().market
    with pytest.raises(
        TimeNotReached,
        match="a bill can end at 70 at the latest, asked for 71; apply AdvanceTime first",
    ):
        market.bill("own", 0, 71)


@pytest.mark.parametrize(
    ("since", "until"), [(0.5, None), (None, 3.0), (True, 3), ("0", None), (0, 2**62)]
)
def test_m14_periods_must_be_whole_microseconds(since: Any, until: Any) -> None:
    with pytest.raises(
        TypeError, match="expected whole microseconds for the period of a bill, found "
    ):
        fifty_microseconds().market.bill("own", since, until)


def test_m14_an_unknown_tenant_owes_nothing() -> None:
    assert Bill("stranger", 3, 7, (), (), 0, 0) == fifty_microseconds().market.bill(
        "stranger", 3, 7
    )


def test_m14_bills_sum_to_the_revenue_at_every_instant() -> None:
    dice = random.Random(5)
    story = Story("h/a", "h/b", "h/c")
    tenants = ["ann", "bob", "cat"]
    for time in range(200):
        tenant = dice.choice(tenants)
        story.at(time, place(tenant, f"h {dice.randint(0, 9)}..{dice.randint(9, 12)}"))
        if time % 3 == 0:
            story.at(
                time, Relinquish(tenant, story.lease(tenant, dice.choice(["h/a", "h/b", "h/c"])))
            )
        assert sum(story.charge(each) for each in tenants) == story.market.revenue()
    assert story.market.revenue() > 0


def test_m14_asking_changes_no_bill() -> None:
    asked, left_alone = fifty_microseconds(), fifty_microseconds()
    for until in range(71):
        asked.market.bill("own", until=until)
    for story in (asked, left_alone):
        story.goes((80, place("own", "h 9"), "own"), (90, AdvanceTime(), "own"))
    assert left_alone.market.digest() == asked.market.digest()
    assert left_alone.market.bill("own") == asked.market.bill("own")


def test_m14_charges_beyond_64_bits_are_exact() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, SetFloor("h", PRICE), "- -"),
        (0, place("own", f"h/a {PRICE}"), "own -"),
        (0, place("own", f"h/b {PRICE}"), "own own"),
        (3, Relinquish("own", 2), "own -"),
        (LAST_TIME, AdvanceTime(), "own -"),
    )
    charge = PRICE * (LAST_TIME + 3)
    assert charge > 2**64
    assert charge == story.charge("own") == story.market.revenue()
    # ten thousand dollars an hour for 2,501,999.7929836088... hours
    assert "25019997929.836088" == dollars(PRICE * LAST_TIME)
    story.goes((LAST_TIME, CloseBooks(LAST_TIME - 1), "own -"))
    assert charge == story.charge("own") == story.market.revenue()
    assert charge == Market.restore(story.market.snapshot()).revenue()


def test_m14_amounts_too_small_to_print_are_kept() -> None:
    """Three leases of a third of a micro-dollar each print as nothing, and together as one."""
    story = Story("h/a", "h/b", "h/c")
    story.goes(
        (0, SetFloor("h", 4), "- - -"),
        *[
            (0, place(who, "h 9"), owners)
            for who, owners in zip("abc", ["a - -", "a b -", "a b c"], strict=True)
        ],
    )
    story.at(300_000_000, AdvanceTime())
    assert 1_200_000_000 == story.charge("a") < CHARGE_PER_MICRO_DOLLAR
    assert "0.000000" == dollars(story.charge("a"))
    assert CHARGE_PER_MICRO_DOLLAR == story.market.revenue()
    assert "0.000001" == dollars(story.market.revenue())


# closing the books


def two_leases() -> Story:
    """Own holds h/a from 10 to 30 at 2, and h/b from 20 on at 3."""
    story = Story("h/a", "h/b")
    story.goes(
        (0, SetFloor("h/a", 2), "- -"),
        (0, SetFloor("h/b", 3), "- -"),
        (10, place("own", "h/a ..9"), "own -"),
        (20, place("own", "h/b ..9"), "own own"),
        (30, Relinquish("own", 1), "- own"),
        (45, place("ann", "h/b 5"), "- own", "2 5"),
        (50, AdvanceTime(), "- own"),
    )
    return story


def test_m14_closing_the_books_carries_ended_leases_and_keeps_live_ones() -> None:
    story = two_leases()
    before = story.market.bill("own")
    assert (
        Bill(
            "own",
            0,
            50,
            (LeaseLine(1, "h/a", 10, 30, 40), LeaseLine(2, "h/b", 20, None, 100)),
            (),
            0,
            140,
        )
        == before
    )
    assert [BooksClosed(50, 40)] == story.at(50, CloseBooks(40))
    assert Bill(
        "own", 0, 50, (LeaseLine(2, "h/b", 20, None, 100),), (), 40, 140
    ) == story.market.bill("own")
    assert 140 == story.market.revenue()
    assert (
        PriceSegment(20, 40, None, 60),
        PriceSegment(40, 45, 3, 15),
        PriceSegment(45, 50, 5, 25),
    ) == story.market.price_history("own", 2)


def test_m14_a_lease_that_ended_exactly_where_the_books_close_is_carried() -> None:
    story = two_leases()
    story.at(50, CloseBooks(29))
    assert 0 == story.market.bill("own").carried
    assert (
        PriceSegment(10, 29, None, 38),
        PriceSegment(29, 30, 2, 2),
    ) == story.market.price_history("own", 1)
    story.at(50, CloseBooks(30))
    assert 40 == story.market.bill("own").carried
    with pytest.raises(UnknownLease, match="no lease 1 of 'own' in the open books"):
        story.market.price_history("own", 1)


def test_m14_a_lease_that_starts_where_the_books_close_keeps_its_detail() -> None:
    story = two_leases()
    story.at(50, CloseBooks(20))
    assert (PriceSegment(20, 45, 3, 75), PriceSegment(45, 50, 5, 25)) == story.market.price_history(
        "own", 2
    )


def test_m14_closed_periods_have_no_bill_but_count_in_the_whole_bill() -> None:
    story = two_leases()
    story.at(50, CloseBooks(40))
    with pytest.raises(BooksAreClosed, match="the books are closed before 40, asked for 39"):
        story.market.bill("own", 39, 50)
    with pytest.raises(BooksAreClosed, match="the books are closed before 40, asked for 39"):
        story.market.bill("own", until=39)
    with pytest.raises(BooksAreClosed, match="the books are closed before 40, asked for 0"):
        story.market.bill("own", 0, 50)
    assert Bill(
        "own", 40, 50, (LeaseLine(2, "h/b", 20, None, 40),), (), 0, 40
    ) == story.market.bill("own", 40)
    assert 25 == story.market.bill("own", 45, 50).total
    assert (100, 140) == (story.market.bill("own", until=40).total, story.market.bill("own").total)


def test_m14_closing_the_books_repeatedly_changes_no_total() -> None:
    open_books, closed = two_leases(), two_leases()
    for time in range(50, 90):
        for story in (open_books, closed):
            story.at(time, place("own", f"h {time % 7}..9"))
            story.at(time, SetFloor("h", time % 5))
            story.at(time, Relinquish("own", story.lease("own", ["h/a", "h/b"][time % 2])))
        closed.at(time, CloseBooks(time - time % 4))
        assert open_books.charge("own") == closed.charge("own")
        assert (
            open_books.market.revenue()
            == closed.market.revenue()
            == closed.charge("own") + closed.charge("ann")
        )
        assert (
            open_books.market.bill("own", time - time % 4).total
            == closed.market.bill("own", time - time % 4).total
        )


@pytest.mark.parametrize("before", [5, 10, 19, 20, 25, 30, 35, 40])
def test_m14_books_may_be_closed_at_any_price(before: int) -> None:
    story = owned_by_all("h own")
    for time, floor in [(10, 5), (20, 0), (30, 7), (35, 9)]:
        story.at(time, SetFloor("h", floor))
    story.at(40, CloseBooks(before))
    assert 5 * 10 + 7 * 5 + 9 * 5 == story.charge("own") == story.market.revenue()
    prices = [0] * 10 + [5] * 10 + [0] * 10 + [7] * 5 + [9] * 5
    assert sum(prices[before:]) == story.market.bill("own", before).total


def test_m14_closing_the_books_bounds_memory() -> None:
    story = Story("h")
    story.at(0, place("own", "h ..99"))
    for time in range(1, 500):
        story.at(time, SetFloor("h", 1 + time % 50))
    full = len(story.market.snapshot())
    story.at(500, CloseBooks(500))
    assert len(story.market.snapshot()) < full / 10
    story.at(501, AdvanceTime())
    assert sum(1 + time % 50 for time in range(1, 500)) + 1 + 499 % 50 == story.charge("own")
