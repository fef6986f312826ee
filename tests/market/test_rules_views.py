"""M11 to M13: what a tenant may see, and what it is told."""

import pytest

from laissez.market import (
    AdvanceTime,
    Band,
    BringOnline,
    CancelOrder,
    CloseBooks,
    Command,
    EndReason,
    Event,
    LeaseEnded,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)
from laissez.market.answers import ControlsView, FeeLine, FloorView
from laissez.market.errors import UnknownNode, UnknownScope
from support.stories import Story, amend, place

# M11


def test_m11_the_quote_of_an_idle_leaf_is_its_floor() -> None:
    story = Story("h/a", "h/b")
    assert 0 == story.market.quote("ann", "h")
    story.goes((0, SetFloor("h/a", 3), "- -"), (0, SetFloor("h/b", 5), "- -"))
    assert 3 == story.market.quote("ann", "h")
    story.goes((1, SetFloor("h", 4), "- -"))
    assert (4, 4, 5) == tuple(story.market.quote(None, scope) for scope in ("h", "h/a", "h/b"))


def test_m11_the_quote_of_a_leased_leaf_is_one_more_than_its_limit() -> None:
    story = Story("h")
    story.goes((0, place("own", "h 2..5"), "own"))
    assert 6 == story.market.quote("ann", "h") == story.market.quote(None, "h")
    story.goes((1, place("ann", "h 5"), "own"), (2, place("ann", "h 6"), "ann"))


def test_m11_the_quote_of_a_scope_is_the_least_over_its_leaves() -> None:
    story = Story("h/a", "h/b", "h/c")
    story.goes(
        (0, place("own", "h/a 4"), "own - -"),
        (0, SetFloor("h/b", 7), "own - -"),
        (0, place("own", "h/c 2"), "own - own"),
    )
    assert 3 == story.market.quote("ann", "h")
    story.goes((1, SetLimit("own", 2, 9), "own - own"))
    assert 5 == story.market.quote("ann", "h")
    story.goes((2, SetLimit("own", 1, None), "own - own"))
    assert 7 == story.market.quote("ann", "h")


def test_m11_a_tenants_own_leaves_are_left_out_of_its_quotes() -> None:
    story = Story("h/a", "h/b")
    story.goes((0, place("ann", "h/a 1"), "ann -"), (0, place("bob", "h/b 4"), "ann bob"))
    assert (5, 2, 2) == (
        story.market.quote("ann", "h"),
        story.market.quote("bob", "h"),
        story.market.quote(None, "h"),
    )
    assert story.market.quote("ann", "h/a") is None


def test_m11_the_quote_skips_the_tenants_own_leaf_wherever_it_is() -> None:
    story = Story("h/a", "h/r/b", "h/r/c", "h/s")
    story.goes(
        (0, place("bob", "h/a 9"), "bob - - -"),
        (0, place("ann", "h/r/b 1"), "bob ann - -"),
        (0, place("cat", "h/r/c 4"), "bob ann cat -"),
        (0, place("dan", "h/s 7"), "bob ann cat dan"),
    )
    assert [5, 2, 2, 2] == [
        story.market.quote(tenant, "h") for tenant in ("ann", "bob", "cat", "dan")
    ]
    story.goes((1, place("ann", "h 5"), "bob ann ann dan"))
    assert [8, 2, 2, 2] == [
        story.market.quote(tenant, "h") for tenant in ("ann", "bob", "cat", "dan")
    ]
    story.goes((2, TakeOffline("h/s"), "bob ann ann x"))
    assert 10 == story.market.quote("ann", "h")


def test_m11_there_is_no_quote_where_no_price_would_win() -> None:
    story = Story("h")
    story.goes((0, place("own", "h 1"), "own"), (0, SetLimit("own", 1, None), "own"))
    assert story.market.quote("ann", "h") is None
    story.goes((1, TakeOffline("h"), "x"))
    assert story.market.quote("ann", "h") is None is story.market.quote(None, "h")
    story.goes((2, BringOnline("h"), "-"))
    assert 0 == story.market.quote("ann", "h")


def test_m11_a_held_leaf_has_no_quote_until_its_hold_ends() -> None:
    story = Story("h")
    story.goes((0, SetControls("h", hold_us=10), "-"), (0, place("own", "h 1"), "own"))
    assert story.market.quote("ann", "h") is None
    story.goes((10, AdvanceTime(), "own"))
    assert 2 == story.market.quote("ann", "h")


def test_m11_a_bid_at_the_quote_opens_a_leaf_that_a_resting_order_may_still_win() -> None:
    story = Story("h")
    story.goes((0, place("own", "h 2"), "own"), (0, place("rob", "h ..9"), "own"))
    assert 3 == story.market.quote("ann", "h")
    story.goes((1, place("ann", "h 3"), "rob"))


def test_m11_a_bid_below_the_quote_opens_nothing() -> None:
    story = Story("h/a", "h/b")
    story.goes((0, place("own", "h/a 4"), "own -"), (0, SetFloor("h/b", 6), "own -"))
    assert 5 == story.market.quote("ann", "h")
    story.goes((1, place("ann", "h 4"), "own -"), (2, place("bob", "h 5"), "bob -"))


# M12

PATHS = ("g/x", "h/r/a", "h/r/b", "h/s/c")


def zones() -> Story:
    """Ann holds h/r/a, bob h/s/c."""
    story = Story(*PATHS)
    story.goes(
        (0, place("ann", "h/r/a 5"), "- ann - -"), (0, place("bob", "h/s/c 7"), "- ann - bob")
    )
    return story


def test_m12_a_pricing_domain_is_the_roots_and_the_paths_of_leased_leaves() -> None:
    market = zones().market
    assert ("g", "h", "h/r", "h/r/a") == market.pricing_domain("ann")
    assert ("g", "h", "h/s", "h/s/c") == market.pricing_domain("bob")
    assert ("g", "h") == market.pricing_domain("newcomer")


def test_m12_a_pricing_domain_follows_the_present_leases() -> None:
    story = zones()
    story.goes((1, place("ann", "h/s 9"), "- ann - ann"), (2, place("ann", "g 1"), "ann ann - ann"))
    assert ("g", "g/x", "h", "h/r", "h/r/a", "h/s", "h/s/c") == story.market.pricing_domain("ann")
    assert ("g", "h") == story.market.pricing_domain("bob")
    story.goes((3, Relinquish("ann", 1), "ann - - ann"))
    assert ("g", "g/x", "h", "h/s", "h/s/c") == story.market.pricing_domain("ann")


def test_m12_quotes_are_answered_inside_the_domain_and_nowhere_else() -> None:
    market = zones().market
    for tenant in ("ann", "bob", "newcomer"):
        for node in market.topology.nodes:
            if node in market.pricing_domain(tenant):
                market.quote(tenant, node)
            else:
                with pytest.raises(UnknownScope):
                    market.quote(tenant, node)


def test_m12_the_operator_may_see_every_quote() -> None:
    market = zones().market
    assert {"g": 0, "g/x": 0, "h": 0, "h/r": 0, "h/r/a": 6, "h/r/b": 0, "h/s": 8, "h/s/c": 8} == {
        node: market.quote(None, node) for node in market.topology.nodes
    }


def unknown(story: Story, tenant: str | None, scope: str) -> str:
    with pytest.raises(UnknownScope) as error:
        story.market.quote(tenant, scope)
    assert scope == error.value.path
    return str(error.value)


def test_m12_a_hidden_scope_answers_exactly_like_one_that_does_not_exist() -> None:
    story = zones()
    nonexistent = unknown(story, "ann", "h/z")
    assert (
        "no scope 'h/z' in your pricing domain; expected a root, or a node above a leaf you own"
        == nonexistent
    )
    for hidden in ("h/s", "h/s/c", "h/r/b", "g/x"):
        assert nonexistent.replace("h/z", hidden) == unknown(story, "ann", hidden)
    assert nonexistent == unknown(story, None, "h/z") == unknown(story, "newcomer", "h/z")


@pytest.mark.parametrize("question", ["owner", "is_online", "rate", "lease_on"])
@pytest.mark.parametrize("path", ["h", "h/z", ""])
def test_questions_about_a_leaf_refuse_other_paths(question: str, path: str) -> None:
    with pytest.raises(UnknownNode, match=f"there is no leaf '{path}'") as error:
        getattr(zones().market, question)(path)
    assert path == error.value.path


def test_an_unknown_node_has_no_floor() -> None:
    with pytest.raises(UnknownNode, match="there is no node 'h/z'"):
        zones().market.floor("h/z")


def test_a_market_has_a_topology_and_a_time() -> None:
    story = zones()
    assert PATHS == story.market.topology.leaves
    assert 0 == story.market.now
    story.at(9, AdvanceTime())
    assert 9 == story.market.now


def test_m12_events_of_a_tenant_name_no_other_tenant() -> None:
    """Everybody presses on everybody; whatever is sent to one tenant names none of the others."""
    story = Story("h/a", "h/b")
    commands: list[Command] = [
        place("ann", "h 3"),
        place("bob", "h 4"),
        place("cat", "h ..9"),
        place("dan", "h 5"),
        amend("dan", 1, "h 6"),
        SetFloor("h", 5),
        SetLimit("cat", 1, 6),
        place("ann", "h 7"),
        Relinquish("cat", 1),
        Relinquish("ann", 2),
        CancelOrder("bob", 1),
        TakeOffline("h/a"),
    ]
    told = [event for time, command in enumerate(commands) for event in story.at(time, command)]
    names = {"ann", "bob", "cat", "dan"}
    for event in told:
        tenant = getattr(event, "tenant", None)
        if tenant is not None:
            assert not [name for name in names - {tenant} if name in str(event)]
    assert 5 == len([event for event in told if isinstance(event, LeaseEnded)])


# M13


def ended(events: list[Event]) -> tuple[EndReason, int, int | None]:
    (event,) = [event for event in events if isinstance(event, LeaseEnded)]
    return event.reason, event.rate, event.limit


def owned() -> Story:
    story = Story("h")
    story.goes((0, place("own", "h 5"), "own"))
    return story


def test_m13_a_relinquished_lease_ends_at_its_rate() -> None:
    story = owned()
    story.at(1, place("ann", "h 3"))
    assert (EndReason.RELINQUISHED, 3, 5) == ended(story.at(2, Relinquish("own", 1)))


def test_m13_a_lease_may_be_given_up_because_the_budget_is_spent() -> None:
    assert (EndReason.BUDGET_SPENT, 0, 5) == ended(
        owned().at(1, Relinquish("own", 1, budget_spent=True))
    )


def test_m13_a_lease_without_a_limit_ends_without_one() -> None:
    story = owned()
    story.at(1, SetLimit("own", 1, None))
    assert (EndReason.TAKEN_OFFLINE, 0, None) == ended(story.at(2, TakeOffline("h")))


def test_m13_a_lease_lost_to_a_bid_ends_as_outbid_at_that_bid() -> None:
    assert (EndReason.OUTBID, 7, 5) == ended(owned().at(1, place("ann", "h 7..9")))


def test_m13_a_lease_lost_to_a_floor_ends_at_that_floor() -> None:
    story = owned()
    story.at(1, place("ann", "h 4"))
    assert (EndReason.FLOOR_RAISED, 6, 5) == ended(story.at(2, SetFloor("h", 6)))


def test_m13_a_floor_is_the_reason_when_a_bid_is_equal() -> None:
    story = owned()
    story.goes((1, SetFloor("h", 4), "own"), (1, place("ann", "h 4"), "own"))
    assert (EndReason.FLOOR_RAISED, 4, 3) == ended(story.at(2, SetLimit("own", 1, 3)))


def test_m13_a_bid_above_the_floor_is_the_reason_when_a_limit_is_lowered() -> None:
    story = owned()
    story.goes((1, SetFloor("h", 4), "own"), (1, place("ann", "h 5"), "own"))
    assert (EndReason.OUTBID, 5, 3) == ended(story.at(2, SetLimit("own", 1, 3)))


def test_m13_the_owners_own_bid_is_never_the_reason() -> None:
    story = owned()
    story.goes((1, place("own", "h 9"), "own"))
    assert (EndReason.FLOOR_RAISED, 6, 5) == ended(story.at(2, SetFloor("h", 6)))


# -- what the operator has set


def test_an_order_or_its_lease_is_found_by_number() -> None:
    story = Story("h/a", "h/b")
    story.goes(
        (0, place("ann", "h/a 3"), "ann -"),
        (1, place("bob", "h/b 3"), "ann bob"),
        (2, place("ann", "h 1", "h/b 2"), "ann bob"),
    )
    market = story.market
    assert market.orders("ann")[0] == market.order("ann", 2)
    assert [None] * 3 == [market.order("ann", 1), market.order("bob", 2), market.order("eve", 2)]
    assert [1, 1] == [market.lease_won("ann", 1), market.lease_won("bob", 1)]
    assert [None] * 3 == [
        market.lease_won("ann", 2),
        market.lease_won("bob", 2),
        market.lease_won("eve", 1),
    ]
    story.goes((10, Relinquish("ann", 1), "ann bob"))
    assert (1, 2) == (market.lease_won("ann", 1), market.lease_won("ann", 2)) and market.order(
        "ann", 2
    ) is None
    story.at(20, CloseBooks(10))
    assert (None, 2) == (market.lease_won("ann", 1), market.lease_won("ann", 2))


def test_floors_are_listed_where_they_are_set_with_the_floor_in_force() -> None:
    story = Story("h/a", "h/b", "t")
    story.goes(
        (0, SetFloor("h", 5), "- - -"),
        (0, SetFloor("h/a", 3), "- - -"),
        (0, SetFloor("h/b", 7), "- - -"),
    )
    assert (
        FloorView("h", 5, 5),
        FloorView("h/a", 3, 5),
        FloorView("h/b", 7, 7),
    ) == story.market.floors()
    story.at(1, SetFloor("h", None))
    assert (FloorView("h/a", 3, 3), FloorView("h/b", 7, 7)) == story.market.floors()


def test_controls_are_listed_where_they_are_set() -> None:
    story = Story("h/a", "h/b")
    band = Band(100_000, 60)
    story.at(0, SetControls("h/b", hold_us=9))
    story.at(0, SetControls("h", rise=band, fall=Band(0, 5), flash_us=7))
    assert (
        ControlsView("h", band, Band(0, 5), None, 7),
        ControlsView("h/b", None, None, 9, None),
    ) == story.market.controls()


def test_fees_are_listed_in_full_from_their_first_instant() -> None:
    story = Story("h")
    story.at(0, SetControls("h", flash_us=100))
    story.at(10, place("ann", "h ..9"))
    story.at(10, place("bob", "h 5"))
    story.at(20, CancelOrder("bob", 1))
    assert () == story.market.bill("bob").fees
    assert (FeeLine(1, "h", 5, 20, 110, 450),) == story.market.fees("bob")
    assert () == story.market.fees("nobody")
