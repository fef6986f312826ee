"""Hypothesis plays the market against the oracle: it looks for the shortest history on which the
two part."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from laissez.market import (
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
)
from laissez_check.compare import MatchUp, Options, real_market
from laissez_check.histories import Step
from laissez_check.worlds import World

FORESTS = (
    ("h/x", "h/y"),
    ("h/r/x", "h/r/y", "h/z"),
    ("g", "h/r/x", "h/r/y", "h/s"),
    tuple(f"h/{leaf:02}" for leaf in range(11)),
)
TENANTS = ("ann", "bob", "cid")
PRICES = st.sampled_from((0, 1, 2, 3, 5))
LIMITS = st.one_of(st.none(), PRICES)
PAUSES = st.sampled_from((0, 0, 1, 2, 10, 1_000_000))
DURATIONS = st.sampled_from((1, 2, 10))
BANDS = st.one_of(st.none(), st.builds(Band, st.sampled_from((0, 400_000, 1_000_000)), DURATIONS))
WHO = st.sampled_from(TENANTS)
WHICH = st.integers(0, 1_000)  # taken modulo how many there are


def by_scope(
    alternatives: list[tuple[int, int, int]], nodes: tuple[str, ...]
) -> tuple[Alternative, ...]:
    chosen = {nodes[which % len(nodes)]: (bid, limit) for which, bid, limit in alternatives}
    return tuple(Alternative(scope, min(prices), max(prices)) for scope, prices in chosen.items())


ALTERNATIVES = st.lists(st.tuples(WHICH, PRICES, PRICES), min_size=1, max_size=4)


class MarketAndOracle(RuleBasedStateMachine):
    @initialize(forest=st.sampled_from(FORESTS), most=st.sampled_from((2, 1_000)))
    def open_market(self, forest: tuple[str, ...], most: int) -> None:
        self.world = World(forest, TENANTS, most)
        self.nodes = tuple(self.world.nodes())
        options = Options(snapshot_every=5, invariants=True)
        self.match_up = MatchUp(self.world, real_market, options)

    def play(self, command: Command, pause: int) -> None:
        self.match_up.play(Step(self.match_up.oracle.now + pause, command))

    def order(self, which: int) -> tuple[str, int]:
        orders = self.match_up.oracle.orders()
        return (
            (orders[which % len(orders)].tenant, orders[which % len(orders)].order)
            if orders
            else (TENANTS[0], which)
        )

    def leaf(self, which: int) -> str:
        return self.world.leaves[which % len(self.world.leaves)]

    def node(self, which: int) -> str:
        return self.nodes[which % len(self.nodes)]

    def lease(self, which: int) -> tuple[str, int]:
        lease = self.match_up.oracle.lease_on(self.leaf(which))
        return (TENANTS[0], which) if lease is None else (lease.tenant, lease.lease)

    @rule(pause=PAUSES, who=WHO, alternatives=ALTERNATIVES)
    def place(self, pause: int, who: str, alternatives: list[tuple[int, int, int]]) -> None:
        self.play(PlaceOrder(who, by_scope(alternatives, self.nodes)), pause)

    @rule(pause=PAUSES, which=WHICH, alternatives=ALTERNATIVES)
    def amend(self, pause: int, which: int, alternatives: list[tuple[int, int, int]]) -> None:
        self.play(AmendOrder(*self.order(which), by_scope(alternatives, self.nodes)), pause)

    @rule(pause=PAUSES, which=WHICH)
    def cancel(self, pause: int, which: int) -> None:
        self.play(CancelOrder(*self.order(which)), pause)

    @rule(pause=PAUSES, which=WHICH, limit=LIMITS)
    def set_limit(self, pause: int, which: int, limit: int | None) -> None:
        self.play(SetLimit(*self.lease(which), limit), pause)

    @rule(pause=PAUSES, which=WHICH, budget_spent=st.booleans())
    def relinquish(self, pause: int, which: int, budget_spent: bool) -> None:
        self.play(Relinquish(*self.lease(which), budget_spent), pause)

    @rule(pause=PAUSES, which=WHICH, price=LIMITS)
    def set_floor(self, pause: int, which: int, price: int | None) -> None:
        self.play(SetFloor(self.node(which), price), pause)

    @rule(
        pause=PAUSES,
        which=WHICH,
        rise=BANDS,
        fall=BANDS,
        hold=st.one_of(st.none(), DURATIONS),
        flash=st.one_of(st.none(), DURATIONS),
    )
    def set_controls(
        self,
        pause: int,
        which: int,
        rise: Band | None,
        fall: Band | None,
        hold: int | None,
        flash: int | None,
    ) -> None:
        self.play(SetControls(self.node(which), rise, fall, hold, flash), pause)

    @rule(pause=PAUSES, which=WHICH, switch=st.sampled_from((TakeOffline, BringOnline)))
    def switch(self, pause: int, which: int, switch: Callable[[str], Command]) -> None:
        self.play(switch(self.leaf(which)), pause)

    @rule(pause=PAUSES)
    def advance(self, pause: int) -> None:
        self.play(AdvanceTime(), pause)

    @rule(pause=PAUSES, back=st.sampled_from((0, 1, 10)))
    def close_books(self, pause: int, back: int) -> None:
        self.play(CloseBooks(max(0, self.match_up.oracle.now - back)), pause)


TestMarketAndOracle = MarketAndOracle.TestCase
TestMarketAndOracle.settings = settings(max_examples=40, stateful_step_count=40, derandomize=True)
