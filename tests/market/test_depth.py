"""The operator's questions about books, leaves and standing rates, compared with the market's other
answers and with the oracle."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from laissez.market import (
    AdvanceTime,
    Band,
    CloseBooks,
    Market,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
    Topology,
)
from laissez.market.answers import (
    AsksView,
    BidGroup,
    BookView,
    ControlsView,
    LevelsView,
    RateSegment,
)
from laissez.market.errors import UnknownNode
from laissez_check.histories import draw_history
from laissez_check.oracle import Oracle
from support.stories import Story, amend, place

MANY = 1_000
SEEDS = range(7_000, 7_012)


def covered(node: str, scope: str) -> bool:
    """Whether the scope is on the path of the node."""
    return f"{node}/".startswith(f"{scope}/")


# -- a book


def crowded() -> Story:
    """Every leaf is held whatever the price; orders rest at the root, at a rack and at a leaf."""
    story = Story("h/r/a", "h/r/b", "h/s/c")
    for lease, leaf in enumerate(("h/r/a", "h/r/b", "h/s/c"), 1):
        story.at(0, place("own", f"{leaf} ..1"))
        story.at(0, SetLimit("own", lease, None))
    for tenant, wanted in (
        ("ann", "h 4..9"),
        ("bob", "h/r 5"),
        ("cat", "h/r 2..9"),
        ("dan", "h/r ..9"),
        ("eve", "h/r/a ..3"),
        ("fay", "h/s 8"),
    ):
        story.at(1, place(tenant, wanted))
    return story


def test_bids_are_grouped_by_limit_over_the_whole_path() -> None:
    found = crowded().market.book("h/r", MANY)
    assert (BidGroup(9, 3, 2), BidGroup(5, 1, 1)) == found.bids
    assert (3, 1, 1) == (found.here, found.above, found.below)
    assert (5, 5, 0) == (found.best_bid, found.standing_rate, found.bids_more)


def test_a_leaf_named_by_no_order_has_the_bids_above_it() -> None:
    found = crowded().market.book("h/r/b", MANY)
    assert (BidGroup(9, 3, 0), BidGroup(5, 1, 0)) == found.bids
    assert (0, 4, 0, None) == (found.here, found.above, found.below, found.best_bid)


def test_orders_at_market_do_not_count_as_best_bid() -> None:
    found = crowded().market.book("h/r/a", MANY)
    assert (None, 5, BidGroup(3, 1, 1)) == (found.best_bid, found.standing_rate, found.bids[-1])


def test_only_the_highest_groups_are_listed() -> None:
    found = crowded().market.book("h/r/a", 1)
    assert ((BidGroup(9, 3, 0),), 2) == (found.bids, found.bids_more)


def test_the_book_of_a_node_without_orders_shows_its_settings() -> None:
    story = Story("h/a", "h/b")
    story.goes((0, SetFloor("h", 3), "- -"), (0, SetFloor("h/a", 2), "- -"))
    nothing = ControlsView("h/a", None, None, None, None)
    assert BookView("h/a", 2, 3, 3, None, 0, 0, 0, (), 0, None, nothing) == story.market.book(
        "h/a", MANY
    )


def test_each_control_in_force_comes_from_the_nearest_node_that_sets_it() -> None:
    story = Story("h/r/a", "h/s")
    band = Band(100_000, 60)
    story.at(0, SetControls("h", rise=band, fall=Band(5, 7), hold_us=9))
    story.at(0, SetControls("h/r", fall=band, flash_us=3))
    own, in_force = ControlsView("h/r", None, band, None, 3), ControlsView("h/r", band, band, 9, 3)
    assert (own, in_force) == (
        story.market.book("h/r", MANY).controls,
        story.market.book("h/r", MANY).controls_in_force,
    )
    assert (
        ControlsView("h/r/a", band, band, 9, 3)
        == story.market.book("h/r/a", MANY).controls_in_force
    )
    assert (
        ControlsView("h/s", band, Band(5, 7), 9, None)
        == story.market.book("h/s", MANY).controls_in_force
    )


def test_an_unknown_node_has_no_book_and_no_rate() -> None:
    market = Story("h").market
    for ask in (
        lambda: market.book("h/z", 1),
        lambda: market.standing_rate("h/z"),
        lambda: market.standing_rates("h/z", 0, 1),
    ):
        with pytest.raises(UnknownNode, match="there is no node 'h/z'"):
            ask()


# -- leaves


def test_the_ask_of_a_leaf_is_its_floor_or_its_limit_or_missing() -> None:
    story = Story("h/a", "h/b", "h/c", "h/d", "h/e", "h/f")
    story.goes((0, SetFloor("h", 2), "- - - - - -"), (0, SetFloor("h/b", 4), "- - - - - -"))
    story.at(0, place("ann", "h/c 4"))
    story.at(0, place("ann", "h/d 7"))
    story.at(0, SetLimit("ann", 2, None))
    story.at(0, TakeOffline("h/e"))
    story.at(0, SetControls("h/f", hold_us=10))
    story.at(0, place("bob", "h/f 3"))
    assert AsksView({2: 1, 4: 2}, 3, 5, 3, 6) == story.market.asks(0, 6)
    story.at(10, AdvanceTime())
    assert AsksView({3: 1, 4: 2, 2: 1}, 2, 5, 3, 6) == story.market.asks(0, 6)
    assert AsksView({4: 1}, 0, 1, 1, 2) == story.market.asks(2, 3)
    assert LevelsView(
        [2, 4, 2, 2, 2, 2],
        [None, None, 4, None, None, 3],
        [-1, -1, 0, 0, -2, 1],
        [2, 4, 2, 2, 2, 2],
    ) == story.market.levels(0, 6)
    assert LevelsView([2], [None], [0], [2]) == story.market.levels(3, 4)


def test_a_held_lease_counts_with_its_capped_charge() -> None:
    story = Story("h")
    story.goes(
        (0, SetControls("h", hold_us=10), "-"),
        (0, place("own", "h 2"), "own"),
        (1, place("ann", "h 9"), "own"),
    )
    assert ([9], 2) == (story.market.levels(0, 1).rates, story.market.asks(0, 1).charged)


# -- standing rates


def test_a_standing_rate_is_at_any_time_the_highest_price_on_the_path() -> None:
    story = Story("h/a", "h/b")
    story.at(5, SetFloor("h/a", 3))
    story.at(10, SetFloor("h", 2))
    story.at(20, SetFloor("h", 7))
    story.at(20, SetFloor("h", 4))
    story.at(30, SetFloor("h", None))
    story.at(40, SetFloor("h/a", 9))
    pieces = (
        RateSegment(0, 5, 0),
        RateSegment(5, 20, 3),
        RateSegment(20, 30, 4),
        RateSegment(30, 40, 3),
    )
    assert pieces == story.market.standing_rates("h/a", 0, MANY)
    assert (
        RateSegment(0, 10, 0),
        RateSegment(10, 20, 2),
        RateSegment(20, 30, 4),
        RateSegment(30, 40, 0),
    ) == story.market.standing_rates("h", 0, MANY)
    assert (RateSegment(15, 20, 3), *pieces[2:]) == story.market.standing_rates("h/a", 15, MANY)
    assert pieces[2:] == story.market.standing_rates("h/a", 0, 2)
    assert (9, 0) == (story.market.standing_rate("h/a"), story.market.standing_rate("h/b"))
    assert (
        ()
        == story.market.standing_rates("h/a", 40, MANY)
        == story.market.standing_rates("h/a", 99, MANY)
    )


def test_a_change_of_bidder_at_the_same_price_does_not_change_the_rate() -> None:
    story = Story("h")
    story.goes(
        (0, place("own", "h 9"), "own"),
        (1, place("ann", "h 5"), "own"),
        (2, place("bob", "h 5"), "own"),
        (3, amend("ann", 1, "h 4"), "own"),
    )
    story.at(4, AdvanceTime())
    assert (RateSegment(0, 1, 0), RateSegment(1, 4, 5)) == story.market.standing_rates("h", 0, MANY)


def test_standing_rates_before_the_closing_of_the_books_are_gone() -> None:
    story = Story("h")
    story.at(5, SetFloor("h", 3))
    story.at(9, SetFloor("h", 4))
    story.at(12, CloseBooks(7))
    assert (RateSegment(7, 9, 3), RateSegment(9, 12, 4)) == story.market.standing_rates(
        "h", 0, MANY
    )


def test_very_many_hidden_changes_shorten_the_answer() -> None:
    market = Story("h/a").market
    market.apply(SetFloor("h/a", 5), 0)
    for at in range(1, 30_011):
        market.apply(SetFloor("h", at % 4), at)
    assert (RateSegment(10, 30_010, 5),) == market.standing_rates("h/a", 0, MANY)
    assert (RateSegment(30_000, 30_010, 5),) == market.standing_rates("h/a", 30_000, MANY)


# -- random histories


@pytest.mark.parametrize("seed", SEEDS)
def test_every_answer_agrees_with_the_other_answers_and_the_oracle(seed: int) -> None:
    history = draw_history(seed, 60)
    market = Market(Topology.of(history.world.leaves), history.world.orders_per_tenant_max)
    oracle = Oracle(history.world.leaves, history.world.orders_per_tenant_max)
    closed = 0
    for step in history.steps:
        assert oracle.apply(step.command, step.at) == market.apply(step.command, step.at)
        if (
            isinstance(step.command, CloseBooks)
            and isinstance(step.command.before, int)
            and closed < step.command.before <= market.now
        ):
            closed = step.command.before
    check_leaves(market)
    for node in market.topology.nodes:
        check_book(market, node)
        check_rates(market, oracle, node, closed)


def check_leaves(market: Market) -> None:
    leaves = market.topology.leaves
    found, tenants = market.levels(0, len(leaves)), market.tenants()
    assert [market.rate(leaf) for leaf in leaves] == found.rates
    assert [market.floor(leaf) for leaf in leaves] == found.floors
    leases = [market.lease_on(leaf) for leaf in leaves]
    assert [None if lease is None else lease.limit for lease in leases] == found.limits
    assert [market.owner(leaf) for leaf in leaves] == [
        None if owner < 0 else tenants[owner] for owner in found.owners
    ]
    assert [market.is_online(leaf) for leaf in leaves] == [owner != -2 for owner in found.owners]
    for first, last in [
        (0, len(leaves)),
        *(market.topology.leaf_range(node) for node in market.topology.nodes),
    ]:
        quotes = Counter(market.quote(None, leaf) for leaf in leaves[first:last])
        asks = market.asks(first, last)
        taken = [lease for lease in leases[first:last] if lease is not None]
        assert quotes[None] == asks.never and sum(asks.by_ask.values()) + asks.never == last - first
        assert Counter(
            _ask(market, leaf)
            for leaf in leaves[first:last]
            if market.quote(None, leaf) is not None
        ) == Counter(asks.by_ask)
        assert (len(taken), sum(lease.charged for lease in taken)) == (asks.leased, asks.charged)
        assert sum(market.is_online(leaf) for leaf in leaves[first:last]) == asks.online


def _ask(market: Market, leaf: str) -> int | None:
    """M9's, of a leaf that has a quote."""
    lease = market.lease_on(leaf)
    return market.floor(leaf) if lease is None else lease.limit


def check_book(market: Market, node: str) -> None:
    resting = [alternative for order in market.orders() for alternative in order.alternatives]
    here = [one for one in resting if one.scope == node]
    taking = [one for one in resting if covered(node, one.scope)]
    below = [one for one in resting if covered(one.scope, node) and one.scope != node]
    groups, own = Counter(one.limit for one in taking), Counter(one.limit for one in here)
    found = market.book(node, 2)
    expected = [
        BidGroup(limit, groups[limit], own[limit]) for limit in sorted(groups, reverse=True)
    ]
    assert (tuple(expected[:2]), max(0, len(expected) - 2)) == (found.bids, found.bids_more)
    assert (len(here), len(taking) - len(here), len(below)) == (
        found.here,
        found.above,
        found.below,
    )
    assert (max((one.bid for one in here), default=0) or None) == found.best_bid
    assert (
        max([market.floor(node), *(one.bid for one in taking)])
        == found.standing_rate
        == market.standing_rate(node)
    )
    floors = {floor.node: floor.own for floor in market.floors()}
    assert (floors.get(node, 0), market.floor(node)) == (found.floor, found.floor_in_force)
    check_controls(market, node, found)


def check_controls(market: Market, node: str, found: BookView) -> None:
    by_node = {controls.node: controls for controls in market.controls()}
    assert by_node.get(node) == found.controls
    names = node.split("/")
    on_path = ["/".join(names[:depth]) for depth in range(len(names), 0, -1)]
    nearest = [by_node[above] for above in on_path if above in by_node]
    for kind in ("rise", "fall", "hold_us", "flash_us"):
        settings = [
            getattr(controls, kind) for controls in nearest if getattr(controls, kind) is not None
        ]
        assert (settings or [None])[0] == getattr(found.controls_in_force, kind)


def check_rates(market: Market, oracle: Oracle, node: str, closed: int) -> None:
    found = market.standing_rates(node, 0, MANY)
    log = oracle.standing_log[node]
    edges = sorted({0, closed, market.now, *(at for at, _ in log)})
    assert (closed, market.now) == (
        (found[0].start, found[-1].end) if found else (market.now, market.now)
    )
    assert all(one.end == after.start and one.rate != after.rate for one, after in pairwise(found))
    for at in edges:
        if closed <= at < market.now:
            (rate,) = [segment.rate for segment in found if segment.start <= at < segment.end]
            assert [0, *(value for when, value in log if when <= at)][-1] == rate
