"""M15 and M16: rise and fall bands, with values worked out by hand."""

import pytest

from laissez.market import (
    Band,
    CloseBooks,
    ControlsSet,
    FloorSet,
    LeaseStarted,
    OrderAmended,
    OrderPlaced,
    SetControls,
    SetFloor,
)
from support.stories import Story, alternative, amend, in_force, owned, place

HALF = 500_000  # millionths
FIFTH = 200_000
TENTH = 100_000


def bid(story: Story, at: int, alternative: str) -> int:
    """The bid in force of a new order of someone who never owns anything."""
    return in_force(story.at(at, place("bidder", alternative)))[0][0][0]


# M15


def test_m15_a_bid_above_the_band_is_lowered_and_its_limit_stays() -> None:
    story = owned("h")
    story.goes((0, SetFloor("h", 10), "own"), (0, SetControls("h", rise=Band(HALF, 100)), "own"))
    assert [OrderPlaced(1, "ann", 1, (alternative("h 15..99"),), True)] == story.at(
        1, place("ann", "h 99")
    )
    assert [15] == story.rates()
    assert (alternative("h 15..99"),) == story.market.orders()[0].alternatives
    assert [OrderPlaced(1, "ann", 2, (alternative("h 15"),), False)] == story.at(
        1, place("ann", "h 15")
    )


def test_m15_the_band_is_rounded_down() -> None:
    story = owned("h")
    story.goes((0, SetFloor("h", 15), "own"), (0, SetControls("h", rise=Band(HALF, 100)), "own"))
    assert 22 == bid(story, 1, "h 99")  # 15 + 7.5


def test_m15_the_anchor_is_renewed_exactly_when_the_interval_ends() -> None:
    story = owned("h")
    story.goes((0, SetFloor("h", 10), "own"), (10, SetControls("h", rise=Band(HALF, 100)), "own"))
    assert 15 == bid(story, 20, "h 99")
    assert 15 == bid(story, 109, "h 99")
    assert 22 == bid(story, 110, "h 99")  # from 15, the rate before 110
    assert 22 == bid(story, 111, "h 99")
    assert 22 == bid(story, 209, "h 99")
    assert 33 == bid(story, 210, "h 99")


def test_m15_changes_at_the_start_of_an_interval_do_not_move_its_anchor() -> None:
    story = owned("h")
    story.goes(
        (0, SetFloor("h", 10), "own"),
        (0, SetControls("h", rise=Band(HALF, 100)), "own"),
        (100, SetFloor("h", 40), "own"),
    )
    assert 15 == bid(story, 100, "h 99")
    assert 15 == bid(story, 199, "h 99")
    assert 60 == bid(story, 200, "h 99")


def test_m15_the_first_anchor_is_the_value_right_after_the_controls_were_set() -> None:
    story = owned("h")
    story.goes(
        (5, SetFloor("h", 10), "own"),
        (5, SetControls("h", rise=Band(HALF, 100)), "own"),
        (5, SetFloor("h", 40), "own"),
    )
    assert 15 == bid(story, 5, "h 99")
    assert 15 == bid(story, 104, "h 99")
    assert 60 == bid(story, 105, "h 99")


def test_m15_intervals_without_a_bid_count_too() -> None:
    story = owned("h")
    story.goes(
        (0, SetFloor("h", 10), "own"),
        (7, SetControls("h", rise=Band(HALF, 100)), "own"),
        (30, SetFloor("h", 20), "own"),
    )
    assert 30 == bid(story, 7 + 3 * 100 - 1, "h 99")
    assert 45 == bid(story, 7 + 3 * 100, "h 99")


def test_m15_an_interval_may_be_one_microsecond_long() -> None:
    story = owned("h")
    story.goes(
        (0, SetFloor("h", 10), "own"),
        (0, SetControls("h", rise=Band(HALF, 1), fall=Band(HALF, 1)), "own"),
    )
    assert [15, 22, 22, 33] == [bid(story, at, "h 99") for at in (0, 1, 1, 2)]
    assert [FloorSet(2, "h", 5, True)] == story.at(2, SetFloor("h", 1))
    assert [FloorSet(3, "h", 3, True)] == story.at(3, SetFloor("h", 1))  # 5 - 2.5 rounded down to 2


def test_m15_an_anchor_of_zero_clips_nothing() -> None:
    story = owned("h")
    story.goes((0, SetControls("h", rise=Band(0, 100)), "own"))
    assert 99 == bid(story, 0, "h 99")
    assert 500 == bid(story, 99, "h 500")
    assert 500 == bid(story, 100, "h 900")


def test_m15_a_fraction_of_zero_freezes_the_price() -> None:
    story = owned("h")
    story.goes((0, SetFloor("h", 10), "own"), (0, SetControls("h", rise=Band(0, 100)), "own"))
    assert 10 == bid(story, 1, "h 11")
    assert 9 == bid(story, 1, "h 9")


def test_m15_the_anchor_is_the_standing_rate_of_the_scope_itself() -> None:
    story = owned("h/a", "h/b")
    story.goes(
        (0, SetFloor("h", 10), "own own"),
        (0, SetFloor("h/a", 20), "own own"),
        (0, place("ann", "h/b 14"), "own own"),
        (0, SetControls("h", rise=Band(HALF, 100)), "own own", "20 14"),
    )
    assert [15, 30, 21] == [bid(story, 1, f"{scope} 99") for scope in ("h", "h/a", "h/b")]


def test_m15_the_anchor_counts_the_bids_of_every_tenant() -> None:
    story = owned("h")
    story.goes(
        (0, place("ann", "h 20"), "own", "20"), (0, SetControls("h", rise=Band(HALF, 100)), "own")
    )
    assert ([(30, 99)], True) == in_force(story.at(1, place("ann", "h 99")))
    assert ([(30, 99)], True) == in_force(story.at(1, place("own", "h 99")))


def test_m15_an_amended_bid_is_clipped_too() -> None:
    story = owned("h")
    story.goes(
        (0, SetFloor("h", 10), "own"),
        (0, SetControls("h", rise=Band(HALF, 100)), "own"),
        (1, place("ann", "h 12"), "own"),
    )
    assert [OrderAmended(2, "ann", 1, (alternative("h 15..40"),), True)] == story.at(
        2, amend("ann", 1, "h 40")
    )
    assert [OrderAmended(100, "ann", 1, (alternative("h 22..40"),), True)] == story.at(
        100, amend("ann", 1, "h 40")
    )


def test_m15_each_alternative_is_clipped_on_its_own() -> None:
    story = owned("g", "h")
    story.goes(
        (0, SetFloor("g", 10), "own own"),
        (0, SetFloor("h", 10), "own own"),
        (0, SetControls("h", rise=Band(HALF, 100)), "own own"),
    )
    assert ([(50, 60), (15, 60)], True) == in_force(
        story.at(1, place("ann", "g 50..60", "h 50..60"))
    )


def test_m15_a_clipped_bid_may_still_take_an_idle_leaf_by_its_limit() -> None:
    story = Story("h")
    story.goes((0, SetFloor("h", 10), "-"), (0, SetControls("h", rise=Band(0, 100)), "-"))
    assert [
        OrderPlaced(1, "ann", 1, (alternative("h 10..99"),), True),
        LeaseStarted(1, "ann", 1, "h", 1, 10, 99, None),
    ] == story.at(1, place("ann", "h 99"))


def test_m15_a_clipped_bid_does_not_take_a_leased_leaf_that_it_no_longer_beats() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h 12"), "own"),
        (0, SetFloor("h", 10), "own"),
        (0, SetControls("h", rise=Band(TENTH, 100)), "own"),
    )
    story.goes(
        (1, place("ann", "h 99"), "own", "11"),
        (100, amend("ann", 1, "h 99"), "own", "12"),
        (200, amend("ann", 1, "h 99"), "ann"),
    )


def test_m15_the_nearest_control_governs() -> None:
    story = owned("h/r/a", "h/r/b")
    story.goes(
        (0, SetFloor("h", 100), "own own"),
        (0, SetControls("h", rise=Band(HALF, 100)), "own own"),
        (0, SetControls("h/r/a", rise=Band(TENTH, 100)), "own own"),
    )
    assert [150, 150, 110, 150] == [
        bid(story, 1, f"{scope} 999") for scope in ("h", "h/r", "h/r/a", "h/r/b")
    ]


def test_m15_each_kind_of_control_is_looked_up_on_its_own() -> None:
    story = owned("h/a")
    story.goes(
        (0, SetFloor("h", 100), "own"),
        (0, SetControls("h", rise=Band(HALF, 100)), "own"),
        (0, SetControls("h/a", hold_us=5, flash_us=5, fall=Band(HALF, 5)), "own"),
    )
    assert 150 == bid(story, 1, "h/a 999")


def test_m15_intervals_count_from_the_control_that_governs() -> None:
    story = owned("h/a")
    story.goes(
        (0, SetFloor("h", 10), "own"),
        (0, SetControls("h", rise=Band(HALF, 100)), "own"),
        (30, SetControls("h/a", rise=Band(HALF, 100)), "own"),
        (99, SetFloor("h", 20), "own"),
    )
    assert 15 == bid(story, 110, "h/a 99")
    assert 30 == bid(story, 110, "h 99")
    assert 45 == bid(story, 130, "h/a 99")  # from the 30 at the root


def test_m15_removing_a_control_stops_clipping_and_leaves_resting_bids_alone() -> None:
    story = owned("h")
    story.goes(
        (0, SetFloor("h", 10), "own"),
        (0, SetControls("h", rise=Band(HALF, 100)), "own"),
        (1, place("ann", "h 99"), "own", "15"),
    )
    assert [ControlsSet(2, "h", None, None, None, None)] == story.at(2, SetControls("h"))
    assert [15] == story.rates()
    assert 99 == bid(story, 3, "h 99")


def test_m15_a_control_set_later_does_not_clip_resting_bids() -> None:
    story = owned("h")
    story.goes(
        (0, SetFloor("h", 10), "own"),
        (1, place("ann", "h 99"), "own"),
        (2, SetControls("h", rise=Band(0, 100)), "own", "99"),
    )


def test_m15_setting_a_control_again_starts_its_intervals_anew() -> None:
    story = owned("h")
    story.goes(
        (0, SetFloor("h", 10), "own"),
        (0, SetControls("h", rise=Band(HALF, 100)), "own"),
        (50, SetFloor("h", 20), "own"),
    )
    assert 15 == bid(story, 60, "h 99")
    story.goes((70, SetControls("h", rise=Band(HALF, 100)), "own"))
    assert 30 == bid(story, 169, "h 99")
    assert 45 == bid(story, 170, "h 99")


def test_m15_closing_the_books_does_not_lose_the_anchor() -> None:
    story = owned("h")
    story.goes(
        (0, SetFloor("h", 10), "own"),
        (0, SetControls("h", rise=Band(HALF, 100), fall=Band(FIFTH, 50)), "own"),
        (130, SetFloor("h", 20), "own"),
        (140, SetFloor("h", 30), "own"),
        (190, CloseBooks(190), "own"),
    )
    assert 15 == bid(story, 190, "h 99")
    # the interval of 50 began at 150
    assert [FloorSet(190, "h", 24, True)] == story.at(190, SetFloor("h", 0))
    assert 36 == bid(story, 200, "h 99")


# M16


def falling() -> Story:
    story = Story("h/a")
    story.goes((0, SetFloor("h", 10), "-"), (10, SetControls("h", fall=Band(FIFTH, 100)), "-"))
    return story


@pytest.mark.parametrize(
    ("price", "in_force"),
    [(10, 10), (9, 9), (8, 8), (7, 8), (0, 8), (None, 8), (99, 99)],
    ids=["same", "above", "at", "below", "zero", "none", "up"],
)
def test_m16_a_floor_below_the_band_is_raised_to_it(price: int | None, in_force: int) -> None:
    assert [FloorSet(11, "h", in_force, in_force != (price or 0))] == falling().at(
        11, SetFloor("h", price)
    )


def test_m16_the_anchor_is_renewed_exactly_when_the_interval_ends() -> None:
    story = falling()
    assert [FloorSet(109, "h", 8, True)] == story.at(109, SetFloor("h", 1))
    # 8 - 1.6 rounded down to 1
    assert [FloorSet(110, "h", 7, True)] == story.at(110, SetFloor("h", 1))
    assert [FloorSet(111, "h", 7, True)] == story.at(111, SetFloor("h", 1))
    assert [FloorSet(210, "h", 6, True)] == story.at(210, SetFloor("h", 1))


def test_m16_a_fall_is_measured_from_the_anchor_and_not_from_a_later_rise() -> None:
    story = falling()
    story.goes((20, SetFloor("h", 50), "-"))
    assert [FloorSet(30, "h", 8, True)] == story.at(30, SetFloor("h", 1))
    story.goes((40, SetFloor("h", 50), "-"))
    assert [FloorSet(110, "h", 40, True)] == story.at(110, SetFloor("h", 1))


def test_m16_the_anchor_is_the_nodes_own_floor() -> None:
    story = falling()
    assert [FloorSet(11, "h/a", 5, False)] == story.at(11, SetFloor("h/a", 5))
    # it had none when the interval began
    assert [FloorSet(12, "h/a", 0, False)] == story.at(12, SetFloor("h/a", None))
    story.goes((13, SetFloor("h/a", 5), "-"))
    assert [FloorSet(110, "h/a", 4, True)] == story.at(110, SetFloor("h/a", None))


def test_m16_the_nearest_control_governs() -> None:
    story = Story("h/a")
    story.goes(
        (0, SetFloor("h", 10), "-"),
        (0, SetFloor("h/a", 10), "-"),
        (0, SetControls("h", fall=Band(FIFTH, 100)), "-"),
        (0, SetControls("h/a", fall=Band(HALF, 100), rise=Band(0, 1)), "-"),
    )
    assert [FloorSet(1, "h", 8, True)] == story.at(1, SetFloor("h", 0))
    assert [FloorSet(1, "h/a", 5, True)] == story.at(1, SetFloor("h/a", 0))


@pytest.mark.parametrize("fraction_ppm", [1_000_000, 1_000_001, 1_000_000_000])
def test_m16_a_band_of_100_percent_or_more_lets_a_floor_fall_to_zero(fraction_ppm: int) -> None:
    story = Story("h")
    story.goes(
        (0, SetFloor("h", 10), "-"), (0, SetControls("h", fall=Band(fraction_ppm, 100)), "-")
    )
    assert [FloorSet(1, "h", 0, False)] == story.at(1, SetFloor("h", None))


def test_m16_a_band_removed_lets_a_floor_fall_freely() -> None:
    story = falling()
    story.goes((11, SetControls("h"), "-"))
    assert [FloorSet(12, "h", 1, False)] == story.at(12, SetFloor("h", 1))


def test_m16_a_floor_held_up_by_a_band_fills_no_order_below_it() -> None:
    story = falling()
    story.goes(
        (11, place("ann", "h 7"), "-"),
        (12, SetFloor("h", 0), "-", "8"),
        (110, SetFloor("h", 0), "ann"),
    )
