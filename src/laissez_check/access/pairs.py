"""Two histories that look the same to one tenant: its own acts are the same in both, and all
differences are hidden from it.

They are drawn side by side and played in two oracles. After every step the tenant must see the same
in both: its events, its orders and leases, the rates of its leaves, every quote in its pricing
domain (M11, M12), its bill. A step that it could tell apart is undone. So by the rules all
differences are invisible, and the service may not show them either.

The tenant sets a budget only where the oracle can tell when it is spent: the tenant is charged
something, owes no fee for withdrawing its bids (M18), and no hold ends before. Then the charges
alone decide when a budget of a millionth of a dollar is spent.
"""

from __future__ import annotations

import copy
from typing import Any, get_args

import msgspec

from laissez.market.commands import (
    AdvanceTime,
    CancelOrder,
    CloseBooks,
    Command,
    OperatorCommand,
    PlaceOrder,
    Relinquish,
    SetLimit,
    TenantCommand,
)
from laissez.market.events import Event
from laissez_check.histories import Draft
from laissez_check.oracle import Oracle
from laissez_check.worlds import World, draw_world

ME = "ann"
NAMES_NO_ORDER = (PlaceOrder, *get_args(OperatorCommand))
TRIES = 12
LEAVES_LEAST = 4  # with fewer there is little to hide
TENANTS_MOST = 4
OF_TENANT, OF_BOTH = 0.35, 0.5  # below, a moment is the tenant's, or the same in both worlds
IN_SESSION = 0.4
NO_NEW_ORDERS, LIMITS_TO_FLOOR, RELINQUISH = "no_new_orders", "limits_to_floor", "relinquish"
ACTIONS = (NO_NEW_ORDERS, LIMITS_TO_FLOOR, RELINQUISH)
BUDGET = "0.000001"
BUDGET_US = 3_600_000_000  # the same in millionths of a dollar per hour, times microseconds


class Spending(msgspec.Struct, frozen=True):
    """A budget with this action is set, and spent at this time."""

    action: str
    until: int


class Moment(msgspec.Struct, frozen=True):
    """At one time: commands of others in each world, then a command or a budget of the tenant in
    both. Its orders and leases have the same numbers in both worlds (M10)."""

    at: int
    others: tuple[tuple[Command, ...], tuple[Command, ...]] = ((), ())
    mine: Command | None = None
    in_session: bool = False
    spends: Spending | None = None


class Pair(msgspec.Struct, frozen=True):
    seed: int
    world: World
    moments: tuple[Moment, ...]

    @property
    def hidden(self) -> int:
        """The number of commands that are in only one of the worlds."""
        return sum(
            len(set(map(repr, first)) ^ set(map(repr, second)))
            for first, second in (moment.others for moment in self.moments)
        )


class Side:
    """One of the two worlds: its oracle, and the events of the tenant."""

    def __init__(self, world: World) -> None:
        self.oracle = Oracle(world.leaves, world.orders_per_tenant_max)
        self.told: list[Event] = []  # to the tenant, since the last look

    def copied(self) -> Side:
        """A copy. The forest never changes, so it is shared."""
        return copy.deepcopy(self, {id(self.oracle.topology): self.oracle.topology})

    def play(self, moment: Moment, others: tuple[Command, ...]) -> bool:
        """Returns whether a budget of the moment is spent at its time."""
        for command in (*others, moment.mine, AdvanceTime()):  # holds that are over end
            if command is not None:
                self._apply(command, moment.at)
        spends = moment.spends
        if spends is not None:
            if spends != self.spending(spends.action, moment.at):
                return False
            self._act_on(spends)
        return True

    def _apply(self, command: Command, at: int) -> None:
        events = self.oracle.apply(command, at)
        self.told += [event for event in events if getattr(event, "tenant", None) == ME]

    def look(self) -> Any:
        """Everything that the tenant may see now."""
        oracle = self.oracle
        quotes = {scope: oracle.quote(ME, scope) for scope in oracle.pricing_domain(ME)}
        leases = [msgspec.structs.replace(one, fence=0) for one in oracle.leases(ME)]
        orders = [msgspec.structs.replace(one, sequence=0) for one in oracle.orders(ME)]
        told, self.told = self.told, []
        return told, quotes, leases, orders, self._owed(oracle.now), oracle.bill(ME).total

    def _owed(self, at: int) -> list[tuple[str, int, int]]:
        """The fees for withdrawing the tenant's bids now (M18). They count towards a budget, and
        they depend on bids of others."""
        return sorted(
            (scope, owed.rate, owed.end)
            for order in self.oracle.open_orders.values()
            if order.tenant == ME
            for scope, owed in order.liabilities.items()
            if owed.end > at
        )

    def spending(self, action: str, at: int) -> Spending | None:
        """A budget set at this time, or None if its end cannot be told."""
        rate = sum(lease.charged for lease in self.oracle.leases(ME))
        if not rate or self._owed(at):
            return None
        until = at + -(-BUDGET_US // rate)
        deadline = self.oracle.next_deadline()
        return Spending(action, until) if deadline is None or deadline > until else None

    def _act_on(self, spent: Spending) -> None:
        """Act as the service does by `docs/reference/api.md`. Orders go first, so that none of them
        wins a relinquished leaf."""
        oracle = self.oracle
        self._apply(AdvanceTime(), spent.until)
        for order in oracle.orders(ME):
            self._apply(CancelOrder(ME, order.order), spent.until)
        for view in oracle.leases(ME) if spent.action != NO_NEW_ORDERS else ():
            lease, floor = oracle.lease_at[view.leaf], oracle.floor(view.leaf)
            assert lease is not None
            # while it is held, it is charged up to its first limit (M17)
            is_dear = oracle.is_held(lease) and lease.limit_first > floor
            if spent.action == RELINQUISH or is_dear:
                self._apply(Relinquish(ME, view.lease, True), spent.until)
            else:
                limit = floor if lease.limit is None else min(lease.limit, floor)
                self._apply(SetLimit(ME, view.lease, limit), spent.until)


class Drawing(Draft):
    """A draft of both worlds, for the tenant and for others."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        drawn = self.world
        while len(drawn.leaves) < LEAVES_LEAST:
            drawn = draw_world(self.rng)
        tenants = tuple(dict.fromkeys((ME, *drawn.tenants)))[:TENANTS_MOST]
        self.world = World(drawn.leaves, tenants, drawn.orders_per_tenant_max)
        self.nodes = self.world.nodes()
        self.aimed = max(self.aimed, 0.9)
        self.sides = Side(self.world), Side(self.world)
        self.kept: list[Moment] = []

    def keep(self, moment: Moment) -> bool:
        """Play the moment in both worlds, unless the tenant could tell them apart then."""
        after = self.sides[0].copied(), self.sides[1].copied()
        played = [side.play(moment, one) for side, one in zip(after, moment.others, strict=True)]
        looks_alike = all(played) and bool(after[0].look() == after[1].look())
        if looks_alike:
            self.sides = after
            self.kept.append(moment)
        self.now = self.sides[0].oracle.now
        return looks_alike

    def moment(self) -> Moment:
        kind = self.rng.random()
        if kind < OF_TENANT:
            mine = self._drawn(self.sides[0], is_mine=True)
            return Moment(self.now, mine=mine, in_session=self.rng.random() < IN_SESSION)
        if kind < OF_BOTH:
            both = self._drawn(self.sides[0], is_mine=False, only=NAMES_NO_ORDER)
            return Moment(self.now, ((both,), (both,)))
        first, second = (
            tuple(self._drawn(side, is_mine=False) for _ in range(self.rng.choice((0, 1, 1, 2))))
            for side in self.sides
        )
        return Moment(self.now, (_without_closing(first), _without_closing(second)))

    def _drawn(self, side: Side, is_mine: bool, only: tuple[type, ...] = ()) -> Command:
        """A command of the tenant, or one of others or of the operator."""
        self.sight = side.oracle
        for _ in range(TRIES):
            command = self.command()
            of_me = isinstance(command, TenantCommand) and command.tenant == ME
            if of_me == is_mine and (not only or isinstance(command, only)):
                return command
        who = ME if is_mine else self.rng.choice(self.world.tenants[1:])
        return PlaceOrder(who, self.alternatives())


def _without_closing(commands: tuple[Command, ...]) -> tuple[Command, ...]:
    return tuple(one for one in commands if not isinstance(one, CloseBooks))


def draw_pair(seed: int, moments: int = 40) -> Pair:
    """Draw moments, then up to half as many more until a budget was spent with each action."""
    drawing = Drawing(seed)
    for _ in range(moments):
        drawing.now = drawing.next_time()
        drawing.keep(drawing.moment())
    actions = drawing.rng.sample(ACTIONS, len(ACTIONS))
    for _ in range(moments // 2):
        if not actions:
            break
        drawing.now = drawing.next_time()
        spends = drawing.sides[0].spending(actions[-1], drawing.now)
        if spends is not None and drawing.keep(Moment(drawing.now, spends=spends)):
            actions.pop()
        else:
            drawing.keep(drawing.moment())
    return Pair(seed, drawing.world, tuple(drawing.kept))
