"""Small stories straight from `docs/reference/market.md`, with values worked out by hand. Each
test is named after the rule it tells."""

from __future__ import annotations

from typing import Any

import pytest

from laissez.market.answers import FeeLine, LeaseLine, OrderView, PriceSegment
from laissez.market.commands import (
    DURATION_MAX_US,
    FRACTION_MAX_PPM,
    PRICE_MAX,
    AdvanceTime,
    Alternative,
    AmendOrder,
    Band,
    BringOnline,
    CancelOrder,
    CloseBooks,
    Command,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
    at_market,
    at_price,
)
from laissez.market.events import (
    BooksClosed,
    ControlsSet,
    Event,
    FeeCharged,
    FloorSet,
    LeafBroughtOnline,
    LeafTakenOffline,
    LeaseEnded,
    LeaseStarted,
    LimitSet,
    OrderAmended,
    OrderCancelled,
    OrderPlaced,
    Refused,
)
from laissez.market.reasons import EndReason, Reason
from laissez_check.oracle import Oracle
from laissez_check.oracle_bills import BooksAreClosed

pytestmark = pytest.mark.once

HALF_PPM = 500_000


def two_leaves() -> Oracle:
    return Oracle(["h/a", "h/b"])


def place(market: Oracle, tenant: str, *alternatives: Alternative, at: int = 0) -> list[Event]:
    return market.apply(PlaceOrder(tenant, alternatives), at)


def leased(market: Oracle, tenant: str, leaf: str, limit: int, at: int = 0) -> None:
    """Let the tenant win an idle leaf, pressing nothing."""
    place(market, tenant, at_market(leaf, limit), at=at)
    assert market.owner(leaf) == tenant


def why(market: Oracle, command: Command, at: Any = 0) -> tuple[str, str, int | None, int | None]:
    refused = market.apply(command, at)[-1]
    assert isinstance(refused, Refused)
    return refused.reason, refused.subject, refused.found, refused.bound


# State


def test_m1_a_leaf_is_idle_until_one_tenant_owns_it() -> None:
    market = two_leaves()
    assert market.owner("h/a") is None
    leased(market, "ann", "h/a", 5)
    assert (market.owner("h/a"), market.owner("h/b")) == ("ann", None)


def test_m2_one_alternative_commits_and_the_order_leaves_every_book() -> None:
    market = Oracle(["h/a", "g"])
    market.apply(SetFloor("h", 3), 0)
    assert place(market, "ann", at_price("h", 5), at_price("g", 4)) == [
        OrderPlaced(0, "ann", 1, (at_price("h", 5), at_price("g", 4)), False),
        LeaseStarted(0, "ann", 1, "g", 1, 0, 4, None),  # surplus 4 - 0 beats 5 - 3
    ]
    assert market.orders() == ()
    assert (market.rate("h/a"), market.rate("g")) == (3, 0)


def test_m3_a_bid_at_market_presses_nothing_but_follows() -> None:
    market = two_leaves()
    market.apply(SetFloor("h", 8), 0)
    place(market, "ann", at_market("h", 7))
    assert market.rate("h/a") == 8
    assert market.apply(SetFloor("h", None), 1)[1:] == [
        LeaseStarted(1, "ann", 1, "h/a", 1, 0, 7, None)
    ]


def test_m4_the_highest_floor_on_the_path_counts() -> None:
    market = Oracle(["h/r/a"])
    market.apply(SetFloor("h/r", 2), 0)
    assert market.apply(SetFloor("h", 5), 0) == [FloorSet(0, "h", 5, False)]
    assert [market.floor(node) for node in ("h", "h/r", "h/r/a")] == [5, 5, 5]
    assert market.apply(SetFloor("h", 0), 0) == [FloorSet(0, "h", 0, False)]
    assert [market.floor(node) for node in ("h", "h/r", "h/r/a")] == [0, 2, 2]


def test_m5_an_owner_is_not_pressed_by_its_own_resting_bid() -> None:
    market = Oracle(["h"])
    leased(market, "ann", "h", 9)
    place(market, "ann", at_price("h", 7))
    assert market.rate("h") == 0
    place(market, "bob", at_price("h", 4))
    assert market.rate("h") == 4


def test_m6_the_limit_is_the_winning_alternatives_until_its_owner_changes_it() -> None:
    market = Oracle(["h"])
    leased(market, "ann", "h", 9)
    assert market.leases()[0].limit == 9
    assert market.apply(SetLimit("ann", 1, None), 3) == [LimitSet(3, "ann", 1, "h", None)]
    assert market.leases()[0].limit is None


# Stability and clearing


def test_m7_a_rate_equal_to_the_limit_is_tolerated() -> None:
    market = Oracle(["h"])
    leased(market, "ann", "h", 5)
    place(market, "bob", at_price("h", 5))
    assert (market.owner("h"), market.rate("h")) == ("ann", 5)
    assert market.apply(SetLimit("ann", 1, 4), 2) == [
        LimitSet(2, "ann", 1, "h", 4),
        LeaseEnded(2, "ann", 1, "h", EndReason.OUTBID, 5, 4),
        LeaseStarted(2, "bob", 1, "h", 1, 0, 5, None),
    ]


def test_m8_highest_limit_then_deepest_scope_then_lowest_number_wins() -> None:
    market = Oracle(["h/a"])
    leased(market, "own", "h/a", 9)
    place(market, "ann", Alternative("h", 1, 5))
    place(market, "bob", Alternative("h/a", 1, 5))
    place(market, "cid", Alternative("h/a", 1, 5))
    place(market, "dee", at_market("h", 6))
    winners = []
    for at, owner in enumerate(("own", "dee", "bob", "cid", "ann")):
        ended, *started = market.apply(Relinquish(owner, 1), at)
        assert isinstance(ended, LeaseEnded) and ended.reason == EndReason.RELINQUISHED
        winners.append(market.owner("h/a"))
        assert len(started) == (winners[-1] is not None)
    assert winners == ["dee", "bob", "cid", "ann", None]


def test_m8_who_gives_a_leaf_up_may_win_it_again() -> None:
    market = Oracle(["h"])
    leased(market, "ann", "h", 9)
    place(market, "ann", at_price("h", 7))
    assert market.apply(Relinquish("ann", 1), 1) == [
        LeaseEnded(1, "ann", 1, "h", EndReason.RELINQUISHED, 0, 9),
        LeaseStarted(1, "ann", 2, "h", 2, 0, 7, None),
    ]


def test_m9_an_order_goes_for_the_largest_surplus() -> None:
    market = Oracle(["h/a", "h/b", "h/c"])
    leased(market, "own", "h/a", 1)  # h/a, h/b, h/c in path order, all floors 0
    market.apply(SetFloor("h/b", 3), 0)
    market.apply(SetFloor("h/c", 3), 0)
    place(market, "ann", at_price("h", 9))  # 9 - 1 on h/a beats 9 - 3
    assert market.owner("h/a") == "ann"
    place(market, "bob", at_market("h", 9))  # an equal surplus on h/b and h/c: path order
    assert (market.owner("h/b"), market.owner("h/c")) == ("bob", None)


def test_m9_idle_goes_before_leased_on_equal_surplus() -> None:
    market = two_leaves()
    leased(market, "own", "h/a", 3)
    market.apply(SetFloor("h/b", 3), 0)
    place(market, "ann", at_price("h", 5))
    assert (market.owner("h/a"), market.owner("h/b")) == ("own", "ann")


def test_m9_a_resting_order_with_a_higher_claim_wins_the_leaf_and_the_order_goes_on() -> None:
    market = two_leaves()
    leased(market, "own", "h/a", 2)
    leased(market, "own", "h/b", 4)
    place(market, "rob", at_market("h/a", 9))
    assert place(market, "ann", at_price("h", 6), at=7) == [
        OrderPlaced(7, "ann", 1, (at_price("h", 6),), False),
        LeaseEnded(7, "own", 1, "h/a", EndReason.OUTBID, 6, 2),
        LeaseStarted(7, "rob", 1, "h/a", 1, 6, 9, None),
        LeaseEnded(7, "own", 2, "h/b", EndReason.OUTBID, 6, 4),
        LeaseStarted(7, "ann", 1, "h/b", 1, 0, 6, None),
    ]


def test_m9_unstable_leaves_open_lowest_ask_first() -> None:
    market = Oracle(["h/a", "h/b", "h/c"])
    leased(market, "ann", "h/a", 4)
    leased(market, "bob", "h/b", 2)
    leased(market, "cid", "h/c", 4)
    ended = market.apply(SetFloor("h", 5), 1)[1:]
    assert [
        (event.leaf, event.rate, event.reason) for event in ended if isinstance(event, LeaseEnded)
    ] == [
        ("h/b", 5, EndReason.FLOOR_RAISED),
        ("h/a", 5, EndReason.FLOOR_RAISED),
        ("h/c", 5, EndReason.FLOOR_RAISED),
    ]


def test_m9_a_leaf_that_an_earlier_step_made_stable_stays_closed() -> None:
    market = two_leaves()
    market.apply(SetFloor("h", 9), 0)
    place(market, "ann", at_market("h", 5))
    assert market.apply(SetFloor("h", 1), 1)[1:] == [
        LeaseStarted(1, "ann", 1, "h/a", 1, 1, 5, None)
    ]
    assert market.owner("h/b") is None


def test_m10_amending_takes_a_new_sequence_number_and_refusals_take_none() -> None:
    market = Oracle(["h"])
    leased(market, "own", "h", 9)
    place(market, "ann", at_price("h", 3))
    place(market, "ann", at_price("nowhere", 3))
    place(market, "bob", at_price("h", 3))
    assert market.apply(AmendOrder("ann", 1, (at_price("h", 4),)), 1) == [
        OrderAmended(1, "ann", 1, (at_price("h", 4),), False)
    ]
    assert market.orders() == (
        OrderView(1, "bob", 0, 3, (at_price("h", 3),)),
        OrderView(1, "ann", 0, 4, (at_price("h", 4),)),
    )


# Commands


def test_offline_and_online_again() -> None:
    market = Oracle(["h"])
    leased(market, "ann", "h", 9)
    place(market, "bob", at_price("h", 4))
    assert market.apply(TakeOffline("h"), 5) == [
        LeafTakenOffline(5, "h"),
        LeaseEnded(5, "ann", 1, "h", EndReason.TAKEN_OFFLINE, 4, 9),
    ]
    assert (market.owner("h"), market.quote(None, "h"), market.rate("h")) == (None, None, 4)
    assert market.apply(BringOnline("h"), 6) == [
        LeafBroughtOnline(6, "h"),
        LeaseStarted(6, "bob", 1, "h", 1, 0, 4, None),
    ]


def test_time_passes_with_a_refused_command_unless_the_time_is_wrong() -> None:
    market = Oracle(["h"])
    assert market.apply(CancelOrder("ann", 1), 5) == [
        Refused(5, "ann", Reason.NOT_YOUR_ORDER, "1", None, None)
    ]
    assert market.now == 5
    assert market.apply(AdvanceTime(), 4) == [Refused(5, None, Reason.TIME_BACKWARDS, "at", 4, 5)]
    assert market.apply(AdvanceTime(), 2**53 + 1) == [
        Refused(5, None, Reason.TIME_OUT_OF_RANGE, "at", 2**53 + 1, 2**53)
    ]
    wrong: Any = 6.0
    assert market.apply(AdvanceTime(), wrong) == [
        Refused(5, None, Reason.MALFORMED, "at", None, None)
    ]
    assert market.now == 5


def test_refusals_of_orders() -> None:
    market = Oracle(["h/a", "h/b"], orders_per_tenant_max=1)
    wrong: Any = 1.0
    assert why(market, PlaceOrder("ann", ())) == (Reason.ALTERNATIVES_COUNT, "alternatives", 0, 16)
    assert why(market, PlaceOrder("ann", (at_price("h", 1),) * 17)) == (
        Reason.ALTERNATIVES_COUNT,
        "alternatives",
        17,
        16,
    )
    assert why(market, PlaceOrder("ann", (at_price("h", 1), at_price("x", 1)))) == (
        Reason.SCOPE_UNKNOWN,
        "x",
        None,
        None,
    )
    assert why(market, PlaceOrder("ann", (at_price("h", 1), at_price("h", 2)))) == (
        Reason.SCOPE_REPEATED,
        "h",
        None,
        None,
    )
    assert why(market, PlaceOrder("ann", (at_price("h", -1),))) == (
        Reason.PRICE_OUT_OF_RANGE,
        "h",
        -1,
        PRICE_MAX,
    )
    assert why(market, PlaceOrder("ann", (Alternative("h", 1, PRICE_MAX + 1),))) == (
        Reason.PRICE_OUT_OF_RANGE,
        "h",
        PRICE_MAX + 1,
        PRICE_MAX,
    )
    assert why(market, PlaceOrder("ann", (Alternative("h", 3, 2),))) == (
        Reason.LIMIT_BELOW_BID,
        "h",
        2,
        3,
    )
    assert why(market, PlaceOrder("ann", (Alternative("h", 3, wrong),))) == (
        Reason.MALFORMED,
        "limit",
        None,
        None,
    )
    market.apply(SetFloor("h", 5), 0)
    place(market, "ann", at_price("h", 1))
    assert why(market, PlaceOrder("ann", (at_price("h", 1),))) == (
        Reason.TOO_MANY_ORDERS,
        "ann",
        1,
        1,
    )
    assert why(market, AmendOrder("bob", 1, ())) == (Reason.NOT_YOUR_ORDER, "1", None, None)
    assert why(market, AmendOrder("ann", 1, ())) == (
        Reason.ALTERNATIVES_COUNT,
        "alternatives",
        0,
        16,
    )
    market.apply(SetFloor("h", 0), 0)
    assert why(market, CancelOrder("ann", 1)) == (Reason.ALREADY_FILLED, "h/a", None, None)
    assert why(market, CancelOrder("bob", 1)) == (Reason.NOT_YOUR_ORDER, "1", None, None)


def test_refusals_of_tenants_and_leases() -> None:
    market = two_leaves()
    leased(market, "ann", "h/a", 5)
    for name in ("", "operator", "a\nb", "\x85"):
        assert why(market, CancelOrder(name, 1)) == (Reason.TENANT_INVALID, name, None, None)
    assert why(market, Relinquish("x" * 201, 1)) == (
        Reason.TENANT_INVALID,
        "x" * 200,
        None,
        None,
    )
    assert why(market, Relinquish("x" * 200, 1)) == (Reason.NOT_YOUR_LEASE, "1", None, None)
    assert why(market, Relinquish("ann", 0)) == (Reason.NOT_YOUR_LEASE, "0", None, None)
    assert why(market, SetLimit("ann", 2, -1)) == (Reason.NOT_YOUR_LEASE, "2", None, None)
    assert why(market, SetLimit("ann", 1, -1)) == (
        Reason.PRICE_OUT_OF_RANGE,
        "h/a",
        -1,
        PRICE_MAX,
    )


def test_refusals_of_the_operator() -> None:
    market = two_leaves()
    market.apply(TakeOffline("h/a"), 10)
    market.apply(CloseBooks(6), 10)
    band, wrong = Band(0, 1), Band(-1, 0)
    refusals: list[tuple[Command, tuple[str, str, int | None, int | None]]] = [
        (SetFloor("x", -1), (Reason.SCOPE_UNKNOWN, "x", None, None)),
        (SetFloor("h", -1), (Reason.PRICE_OUT_OF_RANGE, "h", -1, PRICE_MAX)),
        (SetControls("x"), (Reason.SCOPE_UNKNOWN, "x", None, None)),
        (SetControls("h", rise=wrong), (Reason.CONTROLS_INVALID, "rise", -1, FRACTION_MAX_PPM)),
        (
            SetControls("h", rise=band, fall=Band(0, 0)),
            (Reason.CONTROLS_INVALID, "fall", 0, DURATION_MAX_US),
        ),
        (
            SetControls("h", hold_us=0, flash_us=0),
            (Reason.CONTROLS_INVALID, "hold_us", 0, DURATION_MAX_US),
        ),
        (
            SetControls("h", flash_us=DURATION_MAX_US + 1),
            (Reason.CONTROLS_INVALID, "flash_us", DURATION_MAX_US + 1, DURATION_MAX_US),
        ),
        (TakeOffline("x"), (Reason.SCOPE_UNKNOWN, "x", None, None)),
        (TakeOffline("h"), (Reason.NOT_A_LEAF, "h", None, None)),
        (TakeOffline("h/a"), (Reason.ALREADY_OFFLINE, "h/a", None, None)),
        (BringOnline("h/b"), (Reason.ALREADY_ONLINE, "h/b", None, None)),
        (CloseBooks(11), (Reason.BOOKS_CLOSED, "before", 11, 10)),
        (CloseBooks(5), (Reason.BOOKS_CLOSED, "before", 5, 6)),
    ]
    for command, expected in refusals:
        assert why(market, command, 10) == expected


# Views of others


def test_m11_a_quote_is_the_least_price_that_opens_a_leaf() -> None:
    market = Oracle(["h/a", "h/b"])
    leased(market, "ann", "h/a", 4)
    market.apply(SetFloor("h/b", 7), 0)
    assert market.quote("bob", "h") == 5  # one more than ann's limit; 7 for the idle leaf
    assert market.quote("ann", "h") == 7
    market.apply(SetLimit("ann", 1, None), 0)
    market.apply(TakeOffline("h/b"), 0)
    assert market.quote("bob", "h") is None


def test_m12_a_tenant_sees_roots_and_the_paths_of_its_leaves() -> None:
    market = Oracle(["h/r/a", "h/s", "g"])
    leased(market, "ann", "h/r/a", 4)
    assert market.pricing_domain("ann") == ("g", "h", "h/r", "h/r/a")
    assert market.pricing_domain("bob") == ("g", "h")
    assert market.quote("ann", "h/r/a") is None
    assert market.quote(None, "h/s") == 0
    for tenant, scope in (("ann", "h/s"), ("bob", "h/r"), ("ann", "x"), (None, "x")):
        with pytest.raises(KeyError):
            market.quote(tenant, scope)


def test_m13_the_owner_is_told_why_with_both_prices() -> None:
    market = Oracle(["h"])
    leased(market, "ann", "h", 4)
    assert market.apply(Relinquish("ann", 1, budget_spent=True), 1) == [
        LeaseEnded(1, "ann", 1, "h", EndReason.BUDGET_SPENT, 0, 4)
    ]
    leased(market, "ann", "h", 6, at=1)
    place(market, "bob", at_price("h", 5), at=1)
    market.apply(SetFloor("h", 5), 1)  # floor and bid are equal: the floor alone makes the rate
    assert market.apply(SetLimit("ann", 2, 3), 2)[1] == LeaseEnded(
        2, "ann", 2, "h", EndReason.FLOOR_RAISED, 5, 3
    )


# Bills


def test_m14_a_charge_is_the_integral_of_the_rate() -> None:
    market = Oracle(["h"])
    leased(market, "ann", "h", 9)
    market.apply(SetFloor("h", 2), 10)
    place(market, "bob", at_price("h", 5), at=20)
    market.apply(CancelOrder("bob", 1), 26)
    market.apply(Relinquish("ann", 1), 30)
    market.apply(AdvanceTime(), 40)
    segments = (
        PriceSegment(0, 10, 0, 0),
        PriceSegment(10, 20, 2, 20),
        PriceSegment(20, 26, 5, 30),
        PriceSegment(26, 30, 2, 8),
    )
    assert market.price_history("ann", 1) == segments
    assert market.bill("ann").leases == (LeaseLine(1, "h", 0, 30, 58),)
    assert market.bill("ann", 15, 22).leases == (LeaseLine(1, "h", 0, 30, 5 * 2 + 2 * 5),)
    assert market.bill("ann", 30, 40).leases == ()
    assert (market.bill("ann").total, market.revenue()) == (58, 58)


def test_m14_closing_the_books_changes_no_total() -> None:
    market = two_leaves()
    market.apply(SetFloor("h", 1), 0)
    leased(market, "ann", "h/a", 9)
    leased(market, "ann", "h/b", 9)
    market.apply(Relinquish("ann", 1), 10)
    market.apply(SetFloor("h", 3), 20)
    assert market.apply(CloseBooks(25), 30) == [BooksClosed(30, 25)]
    bill = market.bill("ann")
    assert (bill.carried, bill.leases) == (10, (LeaseLine(2, "h/b", 0, None, 20 + 30),))
    assert (bill.total, market.revenue()) == (60, 60)
    assert market.price_history("ann", 2) == (
        PriceSegment(0, 25, None, 20 + 15),
        PriceSegment(25, 30, 3, 15),
    )
    assert market.bill("ann", 25, 30).total == 15
    with pytest.raises(BooksAreClosed):
        market.bill("ann", 24, 30)
    assert why(market, CancelOrder("ann", 1), 30)[0] == Reason.NOT_YOUR_ORDER
    assert why(market, CancelOrder("ann", 2), 30)[0] == Reason.ALREADY_FILLED


# Volatility controls


def test_the_nearest_control_on_the_path_governs() -> None:
    market = Oracle(["h/r/a", "h/b"])
    assert market.apply(SetControls("h", hold_us=5), 0) == [
        ControlsSet(0, "h", None, None, 5, None)
    ]
    market.apply(SetControls("h/r", hold_us=7, flash_us=1), 0)
    leased(market, "ann", "h/r/a", 5)
    leased(market, "ann", "h/b", 5)
    assert [lease.hold_until for lease in market.leases()] == [7, 5]


def test_m15_a_bid_is_clipped_at_the_band_above_the_intervals_anchor() -> None:
    market = Oracle(["h"])
    leased(market, "own", "h", PRICE_MAX)
    market.apply(SetControls("h", rise=Band(HALF_PPM, 10)), 5)
    place(market, "ann", at_price("h", 9), at=5)  # the anchor is 0: no reference
    assert market.orders("ann")[0].alternatives == (at_price("h", 9),)
    place(market, "bob", at_price("h", 90), at=14)  # still the first interval
    market.apply(CancelOrder("bob", 1), 15)  # the second begins, with the 90 that stood before 15
    assert place(market, "cid", at_price("h", 999), at=24) == [
        OrderPlaced(24, "cid", 1, (Alternative("h", 135, 999),), True)
    ]
    market.apply(CancelOrder("cid", 1), 24)
    # 9 + 4.5, down
    assert place(market, "dee", at_price("h", 999), at=25) == [
        OrderPlaced(25, "dee", 1, (Alternative("h", 13, 999),), True)
    ]


def test_m16_a_floor_falls_no_further_than_the_band() -> None:
    market = Oracle(["h/a"])
    market.apply(SetFloor("h/a", 9), 0)
    market.apply(SetControls("h", fall=Band(HALF_PPM, 10)), 0)
    assert market.apply(SetFloor("h/a", None), 0) == [FloorSet(0, "h/a", 5, True)]  # 9 - 4
    assert market.apply(SetFloor("h/a", 2), 9) == [FloorSet(9, "h/a", 5, True)]
    assert market.apply(SetFloor("h/a", 2), 10) == [FloorSet(10, "h/a", 3, True)]  # 5 - 2
    # its own floor is its anchor
    assert market.apply(SetFloor("h", 0), 10) == [FloorSet(10, "h", 0, False)]


def test_m17_a_held_lease_is_lost_only_when_the_hold_ends_and_pays_at_most_its_cap() -> None:
    market = Oracle(["h"])
    market.apply(SetControls("h", hold_us=10), 0)
    leased(market, "ann", "h", 4)
    place(market, "bob", at_price("h", 6), at=2)
    market.apply(SetLimit("ann", 1, 1), 3)
    assert (market.owner("h"), market.rate("h"), market.leases()[0].charged) == ("ann", 6, 4)
    assert (market.next_deadline(), market.quote("bob", "h")) == (10, None)
    market.apply(SetLimit("ann", 1, 5), 5)
    assert market.apply(CancelOrder("bob", 1), 12) == [
        LeaseEnded(10, "ann", 1, "h", EndReason.OUTBID, 6, 5),
        LeaseStarted(10, "bob", 1, "h", 1, 0, 6, 20),
        Refused(12, "bob", Reason.ALREADY_FILLED, "h", None, None),
    ]
    assert market.price_history("ann", 1) == (
        PriceSegment(0, 2, 0, 0),
        PriceSegment(2, 5, 4, 12),
        PriceSegment(5, 10, 5, 25),
    )
    assert market.next_deadline() == 20


def test_m18_a_bid_withdrawn_too_soon_costs_what_it_added() -> None:
    market = Oracle(["h"])
    leased(market, "own", "h", 9)
    place(market, "ann", at_price("h", 2))
    market.apply(SetControls("h", flash_us=10), 0)
    place(market, "bob", at_price("h", 7))  # liable for 7 - 2 = 5 until 10
    lowered = (at_price("h", 4),)
    assert market.apply(AmendOrder("bob", 1, lowered), 4) == [
        OrderAmended(4, "bob", 1, lowered, False),
        FeeCharged(4, "bob", 1, "h", 3, 10),
    ]
    assert market.apply(CancelOrder("bob", 1), 6) == [
        OrderCancelled(6, "bob", 1),
        FeeCharged(6, "bob", 1, "h", 2, 10),
    ]
    market.apply(AdvanceTime(), 8)
    assert market.bill("bob").fees == (FeeLine(1, "h", 3, 4, 10, 12), FeeLine(1, "h", 2, 6, 10, 4))
    market.apply(AdvanceTime(), 99)
    assert market.bill("bob").total == 3 * 6 + 2 * 4


def test_m18_a_raised_bid_renews_the_liability_and_a_late_withdrawal_is_free() -> None:
    market = Oracle(["h"])
    leased(market, "own", "h", 9)
    market.apply(SetControls("h", flash_us=10), 0)
    place(market, "bob", at_price("h", 3))
    market.apply(AmendOrder("bob", 1, (at_price("h", 5),)), 8)  # liable for 5 until 18
    assert market.apply(AmendOrder("bob", 1, (at_price("h", 5),)), 9)[1:] == []
    assert market.apply(CancelOrder("bob", 1), 17)[1:] == [FeeCharged(17, "bob", 1, "h", 5, 18)]
    place(market, "bob", at_price("h", 3), at=20)
    assert market.apply(CancelOrder("bob", 2), 30) == [OrderCancelled(30, "bob", 2)]
