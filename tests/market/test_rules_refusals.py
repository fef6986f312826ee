"""Every reason to refuse a command, with its subject, the value found and the bound, as
`docs/reference/market.md` lists them."""

from typing import Any

import msgspec
import pytest

import laissez
from laissez.exchange.refusals import Refusal
from laissez.market import (
    AdvanceTime,
    Alternative,
    AmendOrder,
    Band,
    BooksClosed,
    BringOnline,
    CancelOrder,
    CloseBooks,
    Command,
    ControlsSet,
    LeaseEnded,
    LeaseStarted,
    LimitSet,
    Market,
    OrderPlaced,
    PlaceOrder,
    Reason,
    Refused,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
    Topology,
    at_price,
    commands,
    guards,
)
from laissez.market.commands import PRICE_MAX
from laissez.wire import texts
from support.stories import Story, Why, amend, place

WIDEST = 2**62 - 1  # the largest number that is looked at as one
PRICE = 10_000_000_000
FRACTION = 1_000_000_000
YEAR = 366 * 24 * 3_600 * 1_000_000
TIME = 2**53
NOW = 50


def explain(refused: Refused) -> str:
    numbers = (refused.found, refused.bound)
    return texts.explain(Refusal(refused.reason, refused.subject, numbers), refused.tenant or "")


def crowded() -> Story:
    """Ann holds h/a and bob h/b, each by order and lease 1; both wait with order 2. h/c is offline;
    the time is 50."""
    story = Story("g", "h/a", "h/b", "h/c", orders_per_tenant_max=2)
    story.goes(
        (0, place("own", "g ..99"), "own - - -"),
        (0, TakeOffline("h/c"), "own - - x"),
        (10, place("ann", "h/a ..99"), "own ann - x"),
        (20, place("bob", "h/b ..99"), "own ann bob x"),
        (30, place("ann", "h 4"), "own ann bob x"),
        (40, place("bob", "h 5"), "own ann bob x"),
        (45, CloseBooks(25), "own ann bob x"),
        (NOW, AdvanceTime(), "own ann bob x"),
    )
    return story


REFUSALS: list[tuple[Command, Why]] = [
    (place("", "h 1"), (Reason.TENANT_INVALID, "", None, None)),
    (place("operator", "h 1"), (Reason.TENANT_INVALID, "operator", None, None)),
    (place("x" * 201, "h 1"), (Reason.TENANT_INVALID, "x" * 200, None, None)),
    (place("new\nline", "h 1"), (Reason.TENANT_INVALID, "new\nline", None, None)),
    (place("next\x85line", "h 1"), (Reason.TENANT_INVALID, "next\x85line", None, None)),
    (amend("", 1, "h 1"), (Reason.TENANT_INVALID, "", None, None)),
    (CancelOrder("", 1), (Reason.TENANT_INVALID, "", None, None)),
    (SetLimit("", 1, 1), (Reason.TENANT_INVALID, "", None, None)),
    (Relinquish("", 1), (Reason.TENANT_INVALID, "", None, None)),
    (place("ann"), (Reason.ALTERNATIVES_COUNT, "alternatives", 0, 16)),
    (place("ann", *["h 1"] * 17), (Reason.ALTERNATIVES_COUNT, "alternatives", 17, 16)),
    (amend("ann", 2), (Reason.ALTERNATIVES_COUNT, "alternatives", 0, 16)),
    (place("ann", "h/z 1"), (Reason.SCOPE_UNKNOWN, "h/z", None, None)),
    (place("ann", "h/ 1"), (Reason.SCOPE_UNKNOWN, "h/", None, None)),
    (place("ann", "h 1", "g 1", "h 2"), (Reason.SCOPE_REPEATED, "h", None, None)),
    (place("ann", "h -1..5"), (Reason.PRICE_OUT_OF_RANGE, "h", -1, PRICE)),
    (place("ann", f"g 1..{PRICE + 1}"), (Reason.PRICE_OUT_OF_RANGE, "g", PRICE + 1, PRICE)),
    (place("ann", f"g {WIDEST}"), (Reason.PRICE_OUT_OF_RANGE, "g", WIDEST, PRICE)),
    (place("ann", "g 0..-1"), (Reason.PRICE_OUT_OF_RANGE, "g", -1, PRICE)),
    (place("ann", "g 5..4"), (Reason.LIMIT_BELOW_BID, "g", 4, 5)),
    (amend("ann", 2, "g 5..4"), (Reason.LIMIT_BELOW_BID, "g", 4, 5)),
    (amend("ann", 5, "g 5"), (Reason.NOT_YOUR_ORDER, "5", None, None)),
    (CancelOrder("ann", 5), (Reason.NOT_YOUR_ORDER, "5", None, None)),
    (CancelOrder("ann", -1), (Reason.NOT_YOUR_ORDER, "-1", None, None)),
    (CancelOrder("ann", WIDEST), (Reason.NOT_YOUR_ORDER, str(WIDEST), None, None)),
    (CancelOrder("newcomer", 5), (Reason.NOT_YOUR_ORDER, "5", None, None)),
    (CancelOrder("ann", 1), (Reason.ALREADY_FILLED, "h/a", None, None)),
    (amend("ann", 1, "g 5"), (Reason.ALREADY_FILLED, "h/a", None, None)),
    (CancelOrder("bob", 3), (Reason.NOT_YOUR_ORDER, "3", None, None)),
    (SetLimit("ann", 2, 1), (Reason.NOT_YOUR_LEASE, "2", None, None)),
    (SetLimit("ann", 1, PRICE + 1), (Reason.PRICE_OUT_OF_RANGE, "h/a", PRICE + 1, PRICE)),
    (SetLimit("ann", 1, -1), (Reason.PRICE_OUT_OF_RANGE, "h/a", -1, PRICE)),
    (Relinquish("ann", 2), (Reason.NOT_YOUR_LEASE, "2", None, None)),
    (Relinquish("ann", 0), (Reason.NOT_YOUR_LEASE, "0", None, None)),
    (Relinquish("ann", -1), (Reason.NOT_YOUR_LEASE, "-1", None, None)),
    (Relinquish("newcomer", 1), (Reason.NOT_YOUR_LEASE, "1", None, None)),
    (SetFloor("h/z", 1), (Reason.SCOPE_UNKNOWN, "h/z", None, None)),
    (SetFloor("h", -1), (Reason.PRICE_OUT_OF_RANGE, "h", -1, PRICE)),
    (SetFloor("h", PRICE + 1), (Reason.PRICE_OUT_OF_RANGE, "h", PRICE + 1, PRICE)),
    (SetControls("h/z"), (Reason.SCOPE_UNKNOWN, "h/z", None, None)),
    (SetControls("h", rise=Band(-1, 1)), (Reason.CONTROLS_INVALID, "rise", -1, FRACTION)),
    (
        SetControls("h", rise=Band(FRACTION + 1, 1)),
        (Reason.CONTROLS_INVALID, "rise", FRACTION + 1, FRACTION),
    ),
    (SetControls("h", rise=Band(1, 0)), (Reason.CONTROLS_INVALID, "rise", 0, YEAR)),
    (SetControls("h", rise=Band(1, YEAR + 1)), (Reason.CONTROLS_INVALID, "rise", YEAR + 1, YEAR)),
    (SetControls("h", fall=Band(-1, 1)), (Reason.CONTROLS_INVALID, "fall", -1, FRACTION)),
    (SetControls("h", fall=Band(1, 0)), (Reason.CONTROLS_INVALID, "fall", 0, YEAR)),
    (SetControls("h", hold_us=0), (Reason.CONTROLS_INVALID, "hold_us", 0, YEAR)),
    (SetControls("h", hold_us=YEAR + 1), (Reason.CONTROLS_INVALID, "hold_us", YEAR + 1, YEAR)),
    (SetControls("h", flash_us=0), (Reason.CONTROLS_INVALID, "flash_us", 0, YEAR)),
    (SetControls("h", flash_us=-WIDEST), (Reason.CONTROLS_INVALID, "flash_us", -WIDEST, YEAR)),
    (TakeOffline("h/z"), (Reason.SCOPE_UNKNOWN, "h/z", None, None)),
    (TakeOffline("h"), (Reason.NOT_A_LEAF, "h", None, None)),
    (TakeOffline("h/c"), (Reason.ALREADY_OFFLINE, "h/c", None, None)),
    (BringOnline("h/z"), (Reason.SCOPE_UNKNOWN, "h/z", None, None)),
    (BringOnline("h"), (Reason.NOT_A_LEAF, "h", None, None)),
    (BringOnline("h/a"), (Reason.ALREADY_ONLINE, "h/a", None, None)),
    (CloseBooks(NOW + 1_000), (Reason.BOOKS_CLOSED, "before", NOW + 1_000, NOW)),
    (CloseBooks(24), (Reason.BOOKS_CLOSED, "before", 24, 25)),
    (CloseBooks(-1), (Reason.BOOKS_CLOSED, "before", -1, 25)),
]

# Python accepts these values although the types forbid them.
ANY: Any = object()
MALFORMED: list[tuple[Any, str]] = [
    (PlaceOrder(ANY, (at_price("h", 1),)), "tenant"),
    (PlaceOrder("ann", ANY), "alternatives"),
    (PlaceOrder("ann", [at_price("h", 1)]), "alternatives"),  # type: ignore[arg-type]
    (PlaceOrder("ann", (at_price("h", 1), ANY)), "alternatives"),
    (PlaceOrder("ann", (Alternative(ANY, 1, 1),)), "scope"),
    (PlaceOrder("ann", (Alternative("h", 1.0, 1),)), "bid"),  # type: ignore[arg-type]
    (PlaceOrder("ann", (Alternative("h", True, 1),)), "bid"),
    (PlaceOrder("ann", (Alternative("h", 1, ANY),)), "limit"),
    (PlaceOrder("ann", (at_price("h", 1), Alternative("g", 1, True))), "limit"),
    (AmendOrder(ANY, 1, (at_price("h", 1),)), "tenant"),
    (AmendOrder("ann", ANY, (at_price("h", 1),)), "order"),
    (AmendOrder("ann", True, (at_price("h", 1),)), "order"),
    (AmendOrder("ann", 1, ANY), "alternatives"),
    (CancelOrder(ANY, 1), "tenant"),
    (CancelOrder("ann", ANY), "order"),
    (SetLimit(ANY, 1, 1), "tenant"),
    (SetLimit("ann", ANY, 1), "lease"),
    (SetLimit("ann", 1, ANY), "limit"),
    (SetLimit("ann", 1, False), "limit"),
    (Relinquish(ANY, 1), "tenant"),
    (Relinquish("ann", ANY), "lease"),
    (Relinquish("ann", True), "lease"),
    (Relinquish("ann", 1, ANY), "budget_spent"),
    (Relinquish("ann", 1, 1), "budget_spent"),  # type: ignore[arg-type]
    (SetFloor(ANY, 1), "node"),
    (SetFloor("h", 2.5), "price"),  # type: ignore[arg-type]
    (SetControls(ANY), "node"),
    (SetControls("h", rise=ANY), "rise"),
    (SetControls("h", fall=ANY), "fall"),
    (SetControls("h", rise=Band(ANY, 1)), "fraction_ppm"),
    (SetControls("h", fall=Band(1, ANY)), "interval_us"),
    (SetControls("h", hold_us=ANY), "hold_us"),
    (SetControls("h", flash_us=ANY), "flash_us"),
    (TakeOffline(ANY), "leaf"),
    (BringOnline(ANY), "leaf"),
    (CloseBooks(ANY), "before"),
    # Whole numbers, but wider than a computer's word: nothing the market says may be impossible to
    # encode.
    (place("ann", f"h {WIDEST + 1}"), "bid"),
    (place("ann", f"h 1..{-WIDEST - 1}"), "limit"),
    (CancelOrder("ann", WIDEST + 1), "order"),
    (amend("ann", 10**30, "h 1"), "order"),
    (SetLimit("ann", 1, WIDEST + 1), "limit"),
    (SetLimit("ann", WIDEST + 1, 1), "lease"),
    (SetFloor("h", WIDEST + 1), "price"),
    (SetControls("h", rise=Band(WIDEST + 1, 1)), "fraction_ppm"),
    (SetControls("h", fall=Band(1, WIDEST + 1)), "interval_us"),
    (SetControls("h", hold_us=WIDEST + 1), "hold_us"),
    (SetControls("h", flash_us=-WIDEST - 1), "flash_us"),
    (CloseBooks(WIDEST + 1), "before"),
]

EVERY: list[tuple[Command, Why]] = [
    *REFUSALS,
    *[(command, (Reason.MALFORMED, field, None, None)) for command, field in MALFORMED],
]
# 201 letters and an object's address are no test names.
NAMES = [
    f"{number:02}-{type(command).__name__}-{why[0]}" for number, (command, why) in enumerate(EVERY)
]


@pytest.mark.parametrize(("command", "why"), EVERY, ids=NAMES)
def test_a_refusal_has_reason_subject_found_value_and_bound(command: Command, why: Why) -> None:
    assert why == crowded().why(NOW, command)


def test_typed_commands_get_the_same_answers_without_type_checks() -> None:
    for at in (NOW - 1, NOW, TIME + 1):
        for command, _ in REFUSALS:
            assert crowded().market.apply(command, at) == crowded().market.apply_typed(command, at)
    checked, typed = crowded().market, crowded().market
    for accepted in (place("cat", "h 3"), SetLimit("ann", 1, 5), Relinquish("bob", 1)):
        assert checked.apply(accepted, NOW) == typed.apply_typed(accepted, NOW)
    assert checked.digest() == typed.digest()


@pytest.mark.parametrize(("command", "why"), EVERY, ids=NAMES)
def test_a_refused_command_changes_nothing(command: Command, why: Why) -> None:
    story = crowded()
    before = story.market.digest()
    story.why(NOW, command)
    assert before == story.market.digest()


@pytest.mark.parametrize(("command", "why"), EVERY, ids=NAMES)
def test_a_refusal_changes_only_the_time(command: Command, why: Why) -> None:
    refused, waited = crowded(), crowded()
    refused.at(NOW + 7, command)
    waited.at(NOW + 7, AdvanceTime())
    assert NOW + 7 == refused.market.now
    assert waited.market.digest() == refused.market.digest()


@pytest.mark.parametrize(("command", "why"), EVERY, ids=NAMES)
def test_a_refusal_is_explained_with_subject_found_value_and_bound(
    command: Command, why: Why
) -> None:
    refused = crowded().at(NOW, command)[-1]
    assert isinstance(refused, Refused)
    words = explain(refused)
    assert refused.subject in words or repr(refused.subject) in words
    for number in (refused.found, refused.bound):
        if number is not None:
            sign = "-" if number < 0 else ""
            digits = f"{sign}{abs(number) // 1_000_000}.{abs(number) % 1_000_000:06}"
            dollars = digits.rstrip("0").rstrip(".")
            assert str(number) in words or f"{dollars} $/h" in words


@pytest.mark.parametrize(("command", "why"), EVERY, ids=NAMES)
def test_a_refusal_can_be_encoded(command: Command, why: Why) -> None:
    events = crowded().at(NOW, command)
    assert events == msgspec.msgpack.decode(msgspec.msgpack.encode(events), type=list[Refused])


def test_a_refusal_repeats_only_printable_text_up_to_a_length() -> None:
    story = crowded()
    assert (Reason.SCOPE_UNKNOWN, "z" * 200, None, None) == story.why(
        NOW, SetFloor("z" * 100_000, 1)
    )
    for name in ("lone\ud800surrogate", "\ud800" * 300):
        refused = story.at(NOW, place(name, "h 1"))[-1]
        assert isinstance(refused, Refused) and refused.tenant is None
        assert Reason.TENANT_INVALID == refused.reason
        assert len(msgspec.json.encode(refused)) < 400


def test_every_reason_has_a_test_here() -> None:
    met = {why[0] for _, why in EVERY} | {
        Reason.TOO_MANY_ORDERS,
        Reason.TOO_MANY_TENANTS,
        Reason.TIME_BACKWARDS,
        Reason.TIME_OUT_OF_RANGE,
    }
    assert set(Reason) == met


def test_a_refusal_names_the_sender_and_the_time_of_the_market() -> None:
    story = crowded()
    assert [Refused(NOW + 1, "ann", Reason.NOT_YOUR_ORDER, "77", None, None)] == story.at(
        NOW + 1, CancelOrder("ann", 77)
    )
    assert [Refused(NOW + 2, None, Reason.SCOPE_UNKNOWN, "z", None, None)] == story.at(
        NOW + 2, SetFloor("z", 1)
    )
    assert [Refused(NOW + 3, None, Reason.MALFORMED, "tenant", None, None)] == story.at(
        NOW + 3, CancelOrder(ANY, 1)
    )


# the time


@pytest.mark.parametrize("at", [NOW - 1, 0, -1, -WIDEST])
def test_time_never_runs_backwards(at: int) -> None:
    story = crowded()
    before = story.market.digest()
    assert (Reason.TIME_BACKWARDS, "at", at, NOW) == story.why(at, AdvanceTime())
    assert NOW == story.market.now
    assert before == story.market.digest()


def test_negative_times_are_refused() -> None:
    story = Story("h")
    assert (Reason.TIME_BACKWARDS, "at", -1, 0) == story.why(-1, AdvanceTime())
    assert [] == story.at(0, AdvanceTime())


@pytest.mark.parametrize("at", [None, "51", 51.0, True, WIDEST + 1, -WIDEST - 1])
def test_a_time_that_is_not_a_whole_number_is_malformed_and_does_not_move_the_market(
    at: Any,
) -> None:
    story = crowded()
    before = story.market.digest()
    assert (Reason.MALFORMED, "at", None, None) == story.why(at, place("ann", "nowhere 1"))
    assert before == story.market.digest()


def test_the_last_time_is_accepted_and_one_past_it_is_refused() -> None:
    story = crowded()
    before = story.market.digest()
    assert (Reason.TIME_OUT_OF_RANGE, "at", TIME + 1, TIME) == story.why(TIME + 1, AdvanceTime())
    assert (Reason.TIME_OUT_OF_RANGE, "at", WIDEST, TIME) == story.why(
        WIDEST, place("ann", "nowhere 1")
    )
    assert NOW == story.market.now
    assert before == story.market.digest()
    assert [] == story.at(TIME, AdvanceTime())
    assert TIME == story.market.now


@pytest.mark.parametrize("at", [NOW - 1, TIME + 1])
def test_refusals_of_the_time_are_explained(at: int) -> None:
    refused = crowded().at(at, CancelOrder("ann", 1))[-1]
    assert isinstance(refused, Refused)
    assert "ann" == refused.tenant
    assert str(refused.found) in explain(refused) and str(refused.bound) in explain(refused)


def held_until_15() -> Story:
    """Ann holds h until 15, although bob bids more than she is willing to pay."""
    story = Story("h")
    story.goes(
        (0, SetControls("h", hold_us=10), "-"),
        (5, place("ann", "h 1"), "ann"),
        (6, place("bob", "h 2"), "ann"),
    )
    return story


def test_holds_do_not_end_when_the_time_is_refused() -> None:
    story = held_until_15()
    assert [Refused(6, None, Reason.TIME_OUT_OF_RANGE, "at", TIME + 1, TIME)] == story.at(
        TIME + 1, AdvanceTime()
    )
    assert "ann" == story.market.owner("h")


@pytest.mark.parametrize(
    "command", [CancelOrder("cat", 1), CancelOrder(ANY, 1)], ids=["not_your_order", "malformed"]
)
def test_holds_end_on_the_way_to_a_refusal(command: Command) -> None:
    ended, started, refused = held_until_15().at(20, command)
    assert (
        isinstance(ended, LeaseEnded)
        and isinstance(started, LeaseStarted)
        and isinstance(refused, Refused)
    )
    assert (15, 15, 20) == (ended.at, started.at, refused.at)


# at the maximum, and one past it


def test_sixteen_alternatives_are_accepted_and_seventeen_refused() -> None:
    leaves = [f"h/{number:02}" for number in range(17)]
    story = Story(*leaves)
    assert (Reason.ALTERNATIVES_COUNT, "alternatives", 17, 16) == story.why(
        0, place("ann", *[f"{leaf} 1" for leaf in leaves])
    )
    story.goes((0, place("ann", *[f"{leaf} 1" for leaf in leaves[:16]]), "ann" + " -" * 16))


def test_the_highest_price_is_accepted_as_bid_limit_and_floor() -> None:
    assert PRICE == PRICE_MAX
    story = Story("h")
    story.goes(
        (0, SetFloor("h", PRICE), "-"),
        (0, place("ann", f"h {PRICE}"), "ann"),
        (1, SetLimit("ann", 1, PRICE), "ann", str(PRICE)),
    )
    assert (Reason.PRICE_OUT_OF_RANGE, "h", PRICE + 1, PRICE) == story.why(
        1, place("ann", f"h {PRICE + 1}")
    )
    assert (Reason.PRICE_OUT_OF_RANGE, "h", PRICE + 1, PRICE) == story.why(
        1, place("ann", f"h {PRICE}..{PRICE + 1}")
    )


def test_a_thousand_open_orders_are_accepted_and_one_more_refused() -> None:
    story = Story("h")
    market = story.market
    market.apply(place("own", "h 9"), 0)
    for _ in range(1_000):
        assert isinstance(market.apply(place("ann", "h 1"), 0)[-1], OrderPlaced)
    assert (Reason.TOO_MANY_ORDERS, "ann", 1_000, 1_000) == story.why(0, place("ann", "h 1"))
    assert isinstance(market.apply(place("bob", "h 1"), 0)[-1], OrderPlaced)
    market.apply(amend("ann", 1, "h 2"), 0)
    market.apply(CancelOrder("ann", 1), 0)
    assert isinstance(market.apply(place("ann", "h 1"), 0)[-1], OrderPlaced)


def test_the_bound_on_open_orders_is_a_setting_of_the_market() -> None:
    story = Story("h", orders_per_tenant_max=2)
    story.goes(
        (0, place("own", "h 9"), "own"),
        (0, place("ann", "h 1"), "own"),
        (0, place("ann", "h 1"), "own"),
    )
    refused = story.at(0, place("ann", "h 1"))[0]
    assert Refused(0, "ann", Reason.TOO_MANY_ORDERS, "ann", 2, 2) == refused
    assert "ann has 2 open orders and may have 2" == explain(refused)
    story.goes((1, Relinquish("own", 1), "ann"), (1, place("ann", "h 1"), "ann"))


@pytest.mark.parametrize("most", [0, -1, 1_000_001, True, 2.0, None])
def test_a_market_needs_a_sensible_bound_on_orders(most: Any) -> None:
    with pytest.raises(
        ValueError,
        match="orders_per_tenant_max: expected a whole number from 1 to 1,000,000, found ",
    ):
        Market(Topology.of(["h"]), most)


def test_a_hundred_thousand_tenants_are_accepted_and_one_more_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert 100_000 == commands.TENANTS_MAX
    most = 100_000
    # a hundred thousand take the interpreted form very long, even more under coverage
    if laissez.market_form() == "interpreted":
        most = 1_000
        monkeypatch.setattr(guards, "TENANTS_MAX", most)
    story = Story("h")
    market = story.market
    market.apply(SetFloor("h", 9), 0)
    for number in range(most):
        market.apply(place(str(number), "h ..1"), 0)
        market.apply(CancelOrder(str(number), 1), 0)
    refused = market.apply(place("one more", "h 1"), 0)[0]
    assert Refused(0, "one more", Reason.TOO_MANY_TENANTS, "one more", most, most) == refused
    assert (
        f"there is no room for one more: the market has {most} tenants and may have {most}"
        == explain(refused)
    )
    assert [OrderPlaced(0, "7", 2, (at_price("h", 1),), False)] == market.apply(
        place("7", "h 1"), 0
    )
    assert Reason.SCOPE_UNKNOWN == story.why(0, place("one more", "nowhere 1"))[0]


def test_a_name_of_two_hundred_characters_is_accepted_and_one_more_refused() -> None:
    story = Story("h")
    story.goes((0, place("é" * 200, "h 1"), "é" * 200))
    assert (Reason.TENANT_INVALID, "é" * 200, None, None) == story.why(0, place("é" * 201, "h 1"))


@pytest.mark.parametrize(
    "name", ["Operator", "a b", "0", "ann/bob", "名前", "'", "zero\u200bwidth", "\xa0"]
)
def test_any_other_printable_name_is_accepted(name: str) -> None:
    assert isinstance(Story("h").at(0, place(name, "h 1"))[0], OrderPlaced)


@pytest.mark.parametrize("band", [Band(0, 1), Band(FRACTION, YEAR)])
def test_the_ends_of_every_control_are_accepted(band: Band) -> None:
    command = SetControls("h", band, band, band.interval_us, band.interval_us)
    assert [ControlsSet(0, "h", band, band, band.interval_us, band.interval_us)] == Story("h").at(
        0, command
    )


def test_a_limit_of_zero_and_none_are_accepted() -> None:
    story = Story("h")
    story.at(0, place("ann", "h 1"))
    assert [LimitSet(0, "ann", 1, "h", 0)] == story.at(0, SetLimit("ann", 1, 0))
    assert [LimitSet(0, "ann", 1, "h", None)] == story.at(0, SetLimit("ann", 1, None))


def test_books_may_be_closed_up_to_now_and_again_at_the_same_time() -> None:
    story = crowded()
    assert (Reason.BOOKS_CLOSED, "before", NOW + 1, NOW) == story.why(NOW, CloseBooks(NOW + 1))
    for _ in range(2):
        assert [BooksClosed(NOW, NOW)] == story.at(NOW, CloseBooks(NOW))
    assert (Reason.BOOKS_CLOSED, "before", NOW - 1, NOW) == story.why(NOW, CloseBooks(NOW - 1))


# which guard speaks first


@pytest.mark.parametrize(
    ("at", "command", "reason"),
    [
        (NOW - 1, PlaceOrder("", ANY), Reason.MALFORMED),
        (TIME + 1, PlaceOrder("", ANY), Reason.MALFORMED),
        (NOW - 1, place(""), Reason.TIME_BACKWARDS),
        (TIME + 1, place(""), Reason.TIME_OUT_OF_RANGE),
        (NOW, place(""), Reason.TENANT_INVALID),
        (NOW, place("ann"), Reason.ALTERNATIVES_COUNT),
        (NOW, place("ann", *["z -1"] * 17), Reason.ALTERNATIVES_COUNT),
        (NOW, place("ann", "g 5..4", "z 1"), Reason.LIMIT_BELOW_BID),
        (NOW, place("ann", "z -1", "g 5..4"), Reason.SCOPE_UNKNOWN),
        (NOW, place("ann", "g 1", "g -1"), Reason.SCOPE_REPEATED),
        (NOW, place("ann", "g 1", "z -1", "z -1"), Reason.SCOPE_UNKNOWN),
        (NOW, place("ann", "g 9..-1"), Reason.PRICE_OUT_OF_RANGE),
        (NOW, place("ann", f"g {PRICE + 2}..{PRICE + 1}"), Reason.PRICE_OUT_OF_RANGE),
        (NOW, amend("", 99), Reason.TENANT_INVALID),
        (NOW, amend("ann", 99), Reason.NOT_YOUR_ORDER),
        (NOW, amend("ann", 1), Reason.ALREADY_FILLED),
        (NOW, SetLimit("", 99, -1), Reason.TENANT_INVALID),
        (NOW, SetLimit("ann", 99, -1), Reason.NOT_YOUR_LEASE),
        (NOW, SetFloor("z", -1), Reason.SCOPE_UNKNOWN),
        (NOW, SetControls("z", hold_us=0), Reason.SCOPE_UNKNOWN),
    ],
)
def test_the_first_guard_that_fails_gives_the_reason(
    at: int, command: Command, reason: Reason
) -> None:
    assert reason == crowded().why(at, command)[0]


def test_alternatives_are_checked_before_the_number_of_orders() -> None:
    story = Story("h", orders_per_tenant_max=1)
    story.goes((0, SetFloor("h", 9), "-"), (0, place("ann", "h 1"), "-"))
    assert Reason.LIMIT_BELOW_BID == story.why(0, place("ann", "h 2..1"))[0]
    assert (Reason.TOO_MANY_ORDERS, "ann", 1, 1) == story.why(0, place("ann", "h 1"))


def test_the_bid_is_checked_before_the_limit() -> None:
    assert (Reason.PRICE_OUT_OF_RANGE, "g", PRICE + 2, PRICE) == crowded().why(
        NOW, place("ann", f"g {PRICE + 2}..{PRICE + 1}")
    )


def test_controls_are_checked_in_order_the_fraction_before_the_interval() -> None:
    bad, worse = Band(-1, 0), Band(-2, 0)
    story = crowded()
    assert ("rise", -1) == story.why(NOW, SetControls("h", bad, worse, 0, 0))[1:3]
    assert ("fall", -2) == story.why(NOW, SetControls("h", None, worse, 0, 0))[1:3]
    assert ("fall", 0) == story.why(NOW, SetControls("h", None, Band(0, 0), 0, 0))[1:3]
    assert ("hold_us", 0) == story.why(NOW, SetControls("h", None, None, 0, -1))[1:3]
    assert ("flash_us", -1) == story.why(NOW, SetControls("h", None, None, 1, -1))[1:3]


def test_an_inner_node_is_refused_as_not_a_leaf_before_its_state_is_checked() -> None:
    assert Reason.NOT_A_LEAF == crowded().why(NOW, BringOnline("h"))[0]


# nothing about others (M12)


@pytest.mark.parametrize("tenant", ["ann", "newcomer"])
@pytest.mark.parametrize(
    "command",
    [CancelOrder, lambda who, id: amend(who, id, "g 1")],
    ids=["cancel", "amend"],
)
def test_m12_another_tenants_order_answers_exactly_like_one_that_never_existed(
    tenant: str, command: Any
) -> None:
    story = crowded()
    story.at(NOW, CancelOrder("bob", 2))
    story.at(NOW, place("bob", "h 5"))
    story.goes((NOW, BringOnline("h/c"), "own ann bob bob"))
    story.at(NOW, place("bob", "h 5"))
    bobs_open, bobs_filled, nobodys = (story.at(NOW, command(tenant, id)) for id in (4, 3, 999))
    assert [Refused(NOW, tenant, Reason.NOT_YOUR_ORDER, "999", None, None)] == nobodys
    assert str(nobodys).replace("999", "4") == str(bobs_open)
    assert str(nobodys).replace("999", "3") == str(bobs_filled)


@pytest.mark.parametrize("tenant", ["ann", "newcomer"])
@pytest.mark.parametrize(
    "command",
    [Relinquish, lambda who, id: SetLimit(who, id, -1)],
    ids=["relinquish", "set_limit"],
)
def test_m12_another_tenants_lease_answers_exactly_like_one_that_never_existed(
    tenant: str, command: Any
) -> None:
    story = crowded()
    story.goes((NOW, BringOnline("h/c"), "own ann bob bob"))  # bob's lease 2
    nobodys = story.at(NOW, command(tenant, 999))
    assert [Refused(NOW, tenant, Reason.NOT_YOUR_LEASE, "999", None, None)] == nobodys
    assert str(nobodys).replace("999", "2") == str(story.at(NOW, command(tenant, 2)))


def test_a_cancelled_order_is_refused_as_not_yours() -> None:
    story = crowded()
    story.at(NOW, CancelOrder("ann", 2))
    assert (Reason.NOT_YOUR_ORDER, "2", None, None) == story.why(NOW, CancelOrder("ann", 2))


def test_a_filled_order_is_known_until_the_books_close_over_its_lease() -> None:
    story = crowded()
    story.at(NOW, Relinquish("ann", 1))
    assert (Reason.ALREADY_FILLED, "h/a", None, None) == story.why(NOW, CancelOrder("ann", 1))
    story.at(NOW + 1, CloseBooks(NOW))
    assert (Reason.NOT_YOUR_ORDER, "1", None, None) == story.why(NOW + 1, CancelOrder("ann", 1))
