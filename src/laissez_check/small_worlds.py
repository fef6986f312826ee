"""Complete checks of the smallest worlds: two leaves, two tenants, three prices, and every sequence
of a few commands of one alphabet.

Random histories reach far but leave gaps; this check leaves out no sequence of these commands.
Three savings lose no case: the first tenant to act is always the first (they differ in name only);
a refused command is checked but not extended (it changes nothing but the time); and each sequence
is compared with the oracle only at its end (its beginnings are sequences of their own).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator

from laissez.market import commands
from laissez.market.commands import Alternative, Command
from laissez.market.events import Refused
from laissez_check.compare import Difference, MakeMarket, MatchUp, Parted
from laissez_check.finding import Outcome
from laissez_check.histories import History, Step
from laissez_check.oracle import Oracle
from laissez_check.shrink import report
from laissez_check.worlds import World

TENANTS = ("ann", "bob")
LOW, MIDDLE, HIGH = 1, 2, 3
BESIDE = World(("h/x", "h/y"), TENANTS)  # two leaves under one root
APART = World(("g", "h"), TENANTS)  # one tree each
DEPTH = 4


def alphabet(world: World) -> list[Command]:
    """Every command of a small world: scopes of every kind, bids below and at the limit, ties, both
    leaves, both tenants, first and second orders and leases."""
    first, second = world.leaves
    wide = first.split("/")[0]
    ways = (
        (Alternative(wide, LOW, LOW),),
        (Alternative(wide, LOW, HIGH),),
        (Alternative(wide, HIGH, HIGH),),
        (Alternative(first, 0, MIDDLE), Alternative(second, MIDDLE, MIDDLE)),
    )
    found: list[Command] = []
    for tenant in TENANTS:
        found += [commands.PlaceOrder(tenant, way) for way in ways]
        found += [commands.CancelOrder(tenant, order) for order in (1, 2)]
        found += [commands.AmendOrder(tenant, order, ways[1]) for order in (1, 2)]
        found += [commands.SetLimit(tenant, 1, LOW), commands.SetLimit(tenant, 2, None)]
        found += [commands.Relinquish(tenant, 1)]
    found += [commands.SetFloor(wide, MIDDLE), commands.SetFloor(second, HIGH)]
    found += [commands.SetFloor(wide, None)]
    return [*found, commands.TakeOffline(first), commands.BringOnline(first)]


def check_small_worlds(
    make_market: MakeMarket,
    depth: int = DEPTH,
    tell: Callable[[int], None] = lambda sequences: None,
) -> Outcome:
    """Check every sequence. Now and then, `tell` gets the number of sequences done."""
    count = 0
    for world in (BESIDE, APART):
        for history, difference in walk(world, (), depth, make_market):
            count += 1
            if difference is not None:
                again = f"laissez check small-worlds --depth {depth}"
                return Outcome({"sequences": count}, report(history, difference, again))
            if count % 500 == 0:
                tell(count)
    return Outcome({"sequences": count})


def walk(
    world: World, before: tuple[Step, ...], depth_left: int, make_market: MakeMarket
) -> Iterator[tuple[History, Difference | None]]:
    """Every sequence that begins with these steps, depth first."""
    if depth_left == 0:
        return
    oracle = Oracle(world.leaves, world.orders_per_tenant_max)
    for step in before:
        oracle.apply(step.command, step.at)
    reached = pickle.dumps(oracle)  # copying it takes less time than playing the steps again
    nobody_acted = not any(hasattr(step.command, "tenant") for step in before)
    for command in alphabet(world):
        if nobody_acted and getattr(command, "tenant", TENANTS[0]) != TENANTS[0]:
            continue
        history = History(0, world, (*before, Step(len(before), command)))
        difference, refused = difference_at_end(history, make_market, pickle.loads(reached))  # noqa: S301  our own
        yield history, difference
        if difference is None and not refused:
            yield from walk(world, history.steps, depth_left - 1, make_market)


def difference_at_end(
    history: History, make_market: MakeMarket, oracle: Oracle
) -> tuple[Difference | None, bool]:
    """The difference after the last step, and whether that step was refused. The oracle has played
    the steps before, which are known to make no difference."""
    *before, last = history.steps
    try:
        match_up = MatchUp(history.world, make_market, steps=1, oracle=oracle)
        for step in before:
            match_up.market.apply(step.command, step.at)
        events = match_up.play(last)
    except Parted as parted:
        return parted.after(history.steps), False
    return None, any(isinstance(event, Refused) for event in events)
