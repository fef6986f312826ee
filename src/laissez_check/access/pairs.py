"""Two histories that look the same to one tenant: what it does is the same in both, and all that
differs is what it may not see.

They are drawn side by side and played in two oracles, the literal reading of `docs/market.md`.
After every step the two must look alike to the tenant: its events, its orders and leases, the rates
of its leaves, every quote in its pricing domain (M11, M12), its bill. A step that would make them
look different is taken back. So what is left is invisible by the rules, and the service may not
show it either.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import msgspec

from laissez.market.commands import (
    AdvanceTime,
    AmendOrder,
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
from laissez.market.events import Event
from laissez_check.access.pair_spending import ACTIONS, Spending, act, spending
from laissez_check.histories import Draft
from laissez_check.oracle import Oracle
from laissez_check.worlds import World, draw_world

ME = "ann"
NAMES_NO_ORDER = (
    PlaceOrder,
    SetFloor,
    SetControls,
    TakeOffline,
    BringOnline,
    AdvanceTime,
    CloseBooks,
)
OF_TENANTS = (PlaceOrder, AmendOrder, CancelOrder, SetLimit, Relinquish)
TRIES = 12
LEAVES_LEAST = 4  # with fewer there is little to hide
TENANTS_MOST = 4


class Ask(msgspec.Struct, frozen=True):
    """What the tenant does. Its orders and leases have the same numbers in both worlds (M10)."""

    command: Command
    in_session: bool = False


class Moment(msgspec.Struct, frozen=True):
    """What happens at one time: what others do in each world, then what the tenant does in both; or
    a budget of the tenant's, until it is spent."""

    at: int
    others: tuple[tuple[Command, ...], tuple[Command, ...]]
    mine: Ask | None
    spends: Spending | None = None


class Pair(msgspec.Struct, frozen=True):
    seed: int
    world: World
    moments: tuple[Moment, ...]

    @property
    def hidden(self) -> int:
        """How many commands are in one of the worlds alone."""
        return sum(
            len(set(map(repr, first)) ^ set(map(repr, second)))
            for first, second in (moment.others for moment in self.moments)
        )


class Side:
    """One of the two worlds: its oracle, and what the tenant is told."""

    def __init__(self, world: World) -> None:
        self.oracle = Oracle(world.leaves, world.orders_per_tenant_max)
        self.told: list[Event] = []  # to the tenant, since the last look

    def copied(self) -> Side:
        """The forest never changes, so it is not copied."""
        return copy.deepcopy(self, {id(self.oracle.topology): self.oracle.topology})

    def apply(self, command: Command, at: int) -> None:
        for event in self.oracle.apply(command, at):
            if getattr(event, "tenant", None) == ME:
                self.told.append(event)

    def look(self) -> Any:
        """All that the tenant may see now."""
        oracle = self.oracle
        quotes = {scope: oracle.quote(ME, scope) for scope in oracle.pricing_domain(ME)}
        leases = [msgspec.structs.replace(one, fence=0) for one in oracle.leases(ME)]
        orders = [msgspec.structs.replace(one, sequence=0) for one in oracle.orders(ME)]
        told, self.told = self.told, []
        return told, quotes, leases, orders, self._at_stake(), oracle.bill(ME).total

    def _at_stake(self) -> list[tuple[str, int, int]]:
        """What withdrawing its bids would cost it (M18): its own, though others' bids decide it,
        and a budget counts it."""
        mine = [order for order in self.oracle.open_orders.values() if order.tenant == ME]
        owing = [
            (scope, one.rate, one.end) for order in mine for scope, one in order.liabilities.items()
        ]
        return sorted(one for one in owing if one[2] > self.oracle.now)


class Drawing(Draft):
    """A draft that aims in either world, and for the tenant or for others."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        drawn = self.world
        while len(drawn.leaves) < LEAVES_LEAST:
            drawn = draw_world(self.rng)
        tenants = tuple(dict.fromkeys((ME, *drawn.tenants)))[:TENANTS_MOST]
        self.world = World(drawn.leaves, tenants, drawn.orders_per_tenant_max)
        self.nodes = self.world.nodes()
        self.aimed = max(self.aimed, 0.9)

    def drawn(self, side: Side, mine: bool, only: tuple[type, ...] = ()) -> Command:
        """A command of the tenant's, or one of others and of the operator."""
        self.sight = side.oracle
        for _ in range(TRIES):
            command = self.command()
            is_mine = isinstance(command, OF_TENANTS) and command.tenant == ME
            if (
                is_mine == mine
                and (mine is False or isinstance(command, OF_TENANTS))
                and (not only or isinstance(command, only))
            ):
                return command
        who = ME if mine else self.rng.choice(self.world.tenants[1:])
        return PlaceOrder(who, self.alternatives())


def draw_pair(seed: int, moments: int = 40) -> Pair:
    """So many moments, then as many as it takes for a budget to be spent with each action, and not
    too many."""
    drawing = Drawing(seed)
    sides = Side(drawing.world), Side(drawing.world)
    kept: list[Moment] = []

    def go_on(moment: Moment) -> bool:
        nonlocal sides
        after = sides[0].copied(), sides[1].copied()
        looks_alike = _looks_alike(moment, after)
        if looks_alike:
            sides = after
            kept.append(moment)
        drawing.now = sides[0].oracle.now
        return looks_alike

    for _ in range(moments):
        drawing.now = drawing.next_time()
        go_on(_drawn(drawing, sides))
    actions = drawing.rng.sample(ACTIONS, len(ACTIONS))
    for _ in range(moments // 2):
        if not actions:
            break
        drawing.now = drawing.next_time()
        spends = spending(sides[0].oracle, ME, actions[-1], drawing.now)
        if spends is not None and go_on(Moment(drawing.now, ((), ()), None, spends)):
            actions.pop()
        else:
            go_on(_drawn(drawing, sides))
    return Pair(seed, drawing.world, tuple(kept))


def _drawn(drawing: Drawing, sides: tuple[Side, Side]) -> Moment:
    rng: Random = drawing.rng
    kind = rng.random()
    if kind < 0.35:
        command = drawing.drawn(sides[0], mine=True)
        return Moment(drawing.now, ((), ()), Ask(command, rng.random() < 0.4))
    if kind < 0.5:
        both = drawing.drawn(sides[0], mine=False, only=NAMES_NO_ORDER)
        return Moment(drawing.now, ((both,), (both,)), None)
    first, second = (
        [drawing.drawn(side, mine=False) for _ in range(rng.choice((0, 1, 1, 2)))] for side in sides
    )
    one_sided = [
        tuple(one for one in found if not isinstance(one, CloseBooks)) for found in (first, second)
    ]
    return Moment(drawing.now, (one_sided[0], one_sided[1]), None)


def _looks_alike(moment: Moment, sides: tuple[Side, Side]) -> bool:
    for side, others in zip(sides, moment.others, strict=True):
        for command in others:
            side.apply(command, moment.at)
        if moment.mine is not None:
            side.apply(moment.mine.command, moment.at)
        side.apply(AdvanceTime(), moment.at)  # as when somebody looks: holds that are over end
        if moment.spends is not None:
            if moment.spends != spending(side.oracle, ME, moment.spends.action, moment.at):
                return False
            act(side.oracle, side.apply, ME, moment.spends)
    return bool(sides[0].look() == sides[1].look())
