"""Make a failing history small: leave out steps, alternatives, tenants and leaves while the same
question still fails."""

from __future__ import annotations

from msgspec.structs import replace

from laissez.market import commands
from laissez.market.commands import Command
from laissez.market.events import OrderPlaced
from laissez_check.compare import NO_OPTIONS, Difference, MakeMarket, Options, first_difference
from laissez_check.histories import History, Step
from laissez_check.oracle import Oracle
from laissez_check.oracle_guards import malformed_field

OrderName = tuple[str, int]  # tenant and id
# Questions that are no methods of a market.
OURS = ("make_market", "events", "invariants", "snapshot", "digest")


def shrink(
    history: History, difference: Difference, make_market: MakeMarket, options: Options = NO_OPTIONS
) -> tuple[History, Difference]:
    """The smallest history found that still fails on the same kind of question, with its
    difference."""
    shrinking = Shrinking(history, difference, make_market, options)
    before = None
    while shrinking.history != before:
        before = shrinking.history
        shrinking.leave_out_steps()
        shrinking.leave_out_alternatives()
        shrinking.leave_out_tenants_and_leaves()
    return shrinking.history, shrinking.difference


class Shrinking:
    """The smallest failing history so far, and its difference."""

    def __init__(
        self, history: History, difference: Difference, make_market: MakeMarket, options: Options
    ) -> None:
        self.history = replace(history, steps=difference.steps)
        self.difference = difference
        self.make_market = make_market
        self.options = options

    def accepts(self, smaller: History) -> bool:
        """Keep a smaller history if it fails the same way, up to its failure."""
        difference = first_difference(smaller, self.make_market, self.options)
        if difference is None or difference.kind != self.difference.kind:
            return False
        self.history = replace(smaller, steps=difference.steps)
        self.difference = difference
        return True

    def leave_out_steps(self) -> None:
        """Delta debugging: leave out runs of steps, halving the length of the runs until single
        steps are tried."""
        length = max(1, len(self.history.steps) // 2)
        while length:
            start = 0
            while start < len(self.history.steps):
                if not self.accepts(without_steps(self.history, start, start + length)):
                    start += length
            length //= 2

    def leave_out_alternatives(self) -> None:
        for place in range(len(self.history.steps)):
            number = 0
            while (smaller := without_alternative(self.history, place, number)) is not None:
                if not self.accepts(smaller):
                    number += 1

    def leave_out_tenants_and_leaves(self) -> None:
        for kind in ("tenants", "leaves"):
            for one in getattr(self.history.world, kind):
                world = self.history.world
                if rest := tuple(other for other in getattr(world, kind) if other != one):
                    self.accepts(replace(self.history, world=replace(world, **{kind: rest})))


def without_alternative(history: History, place: int, number: int) -> History | None:
    """The history with one alternative less in one command; `None` if it is not there."""
    if place >= len(history.steps):
        return None
    step = history.steps[place]
    alternatives = getattr(step.command, "alternatives", None)
    if not isinstance(alternatives, tuple) or number >= len(alternatives):
        return None
    fewer = (*alternatives[:number], *alternatives[number + 1 :])
    changed = Step(step.at, replace(step.command, alternatives=fewer))
    return replace(history, steps=(*history.steps[:place], changed, *history.steps[place + 1 :]))


def without_steps(history: History, start: int, end: int) -> History:
    """The history without these steps, and with the right ids of orders and leases in the others.

    Ids are given in order, so a removed step changes all later ones. Both versions are played in
    the oracle to match the ids.
    """
    long, short = oracle_of(history), oracle_of(history)
    new_id: dict[OrderName, int] = {}
    steps = []
    for place, step in enumerate(history.steps):
        kept = Step(step.at, renamed(step.command, new_id, long, short))
        placed = placed_order(long, step)
        if start <= place < end:
            continue
        placed_now = placed_order(short, kept)
        if placed is not None and placed_now is not None:
            new_id[placed] = placed_now[1]
        steps.append(kept)
    return replace(history, steps=tuple(steps))


def oracle_of(history: History) -> Oracle:
    return Oracle(history.world.leaves, history.world.orders_per_tenant_max)


def placed_order(market: Oracle, step: Step) -> OrderName | None:
    """Apply the step; the tenant and the id of the order it placed, if it did."""
    happened = market.apply(step.command, step.at)
    placed = (event for event in happened if isinstance(event, OrderPlaced))
    return next(((event.tenant, event.order) for event in placed), None)


def renamed(command: Command, new_id: dict[OrderName, int], long: Oracle, short: Oracle) -> Command:
    """The command for the short history: a lease becomes the tenant's lease of the same leaf."""
    if malformed_field(command) is not None:
        return command
    if isinstance(command, commands.AmendOrder | commands.CancelOrder):
        return replace(command, order=new_id.get((command.tenant, command.order), command.order))
    if isinstance(command, commands.SetLimit | commands.Relinquish):
        lease = long.leases_on_books.get((command.tenant, command.lease))
        now = None if lease is None else short.lease_at[lease.leaf]
        if now is not None and now.tenant == command.tenant:
            return replace(command, lease=now.id)
    return command


def report(history: History, difference: Difference, repeat: str) -> str:
    """The history as Python that runs, the expected and the found answer, and the command line that
    repeats it."""
    used = {"Alternative", "Band", *(type(step.command).__name__ for step in history.steps)}
    leaves, orders_max = list(history.world.leaves), history.world.orders_per_tenant_max
    last = f"# {difference.question}"
    if difference.kind not in OURS:
        last = f"print(market.{difference.question.replace('now()', 'now')})"
    return "\n".join(
        [
            f"# after command {difference.step + 1} of {len(history.steps)}, {difference.question}",
            f"# expected {difference.expected}",
            f"# found    {difference.found}",
            f"# again:   {repeat}",
            "from laissez.market import Market, Topology",
            f"from laissez.market.commands import {', '.join(sorted(used))}",
            "",
            f"market = Market(Topology.of({leaves!r}), orders_per_tenant_max={orders_max})",
            *(f"print(market.apply({step.command!r}, {step.at!r}))" for step in history.steps),
            last,
        ]
    )
