"""Make a failing history small: leave out steps, alternatives, tenants and leaves while the same
question still fails."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from laissez.market.commands import AmendOrder, CancelOrder, Command, Relinquish, SetLimit
from laissez.market.events import OrderPlaced
from laissez_check.compare import NO_OPTIONS, Difference, Options, first_difference
from laissez_check.histories import History, Step
from laissez_check.oracle import Oracle
from laissez_check.oracle_guards import malformed_field
from laissez_check.protocol import MakeMarket
from laissez_check.worlds import World

OrderName: TypeAlias = tuple[str, int]  # tenant and id


def shrink(
    history: History, difference: Difference, make_market: MakeMarket, options: Options = NO_OPTIONS
) -> tuple[History, Difference]:
    """The smallest history found that still fails on the same kind of question, with its
    difference."""
    attempts = Shrinking(history, difference, make_market, options)
    before = None
    while attempts.history != before:
        before = attempts.history
        attempts.leave_out_steps()
        attempts.leave_out_alternatives()
        attempts.leave_out_tenants()
        attempts.leave_out_leaves()
    return attempts.history, attempts.difference


class Shrinking:
    """The smallest failing history so far, and what fails in it."""

    def __init__(
        self, history: History, difference: Difference, make_market: MakeMarket, options: Options
    ) -> None:
        self.history = msgspec.structs.replace(history, steps=difference.steps)
        self.difference = difference
        self.make_market = make_market
        self.options = options

    def accepts(self, smaller: History) -> bool:
        """Keep a smaller history if it fails the same way, without what comes after the failure."""
        difference = first_difference(smaller, self.make_market, self.options)
        if difference is None or difference.kind != self.difference.kind:
            return False
        self.history = msgspec.structs.replace(smaller, steps=difference.steps)
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
            while place < len(self.history.steps) and number < alternatives_count(
                self.history.steps[place].command
            ):
                if not self.accepts(without_alternative(self.history, place, number)):
                    number += 1

    def leave_out_tenants(self) -> None:
        for tenant in self.history.world.tenants:
            self.accepts(
                with_world(self.history, tenants=without(self.history.world.tenants, tenant))
            )

    def leave_out_leaves(self) -> None:
        for leaf in self.history.world.leaves:
            if len(self.history.world.leaves) > 1:
                self.accepts(
                    with_world(self.history, leaves=without(self.history.world.leaves, leaf))
                )


def without_steps(history: History, start: int, end: int) -> History:
    """The history without these steps, the orders and leases of the others still being called by
    the right ids.

    They are numbered as they come, so leaving one out renames all that follow: both versions are
    played in the oracle to see who is who.
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
    return msgspec.structs.replace(history, steps=tuple(steps))


def oracle_of(history: History) -> Oracle:
    return Oracle(history.world.leaves, history.world.orders_per_tenant_max)


def placed_order(market: Oracle, step: Step) -> OrderName | None:
    """Apply the step; the tenant and the id of the order it placed, if it did."""
    return next(
        (
            (event.tenant, event.order)
            for event in market.apply(step.command, step.at)
            if isinstance(event, OrderPlaced)
        ),
        None,
    )


def renamed(command: Command, new_id: dict[OrderName, int], long: Oracle, short: Oracle) -> Command:
    """The command for the short history: a lease becomes the tenant's lease of the same leaf."""
    if malformed_field(command) is not None:
        return command
    if isinstance(command, AmendOrder | CancelOrder):
        name = (command.tenant, command.order)
        return msgspec.structs.replace(command, order=new_id.get(name, command.order))
    if isinstance(command, SetLimit | Relinquish):
        lease = long.leases_on_books.get((command.tenant, command.lease))
        now = None if lease is None else short.lease_at[lease.leaf]
        if now is not None and now.tenant == command.tenant:
            return msgspec.structs.replace(command, lease=now.id)
    return command


def alternatives_count(command: Command) -> int:
    alternatives = getattr(command, "alternatives", None)
    return len(alternatives) if isinstance(alternatives, tuple) else 0


def without_alternative(history: History, place: int, number: int) -> History:
    step = history.steps[place]
    alternatives = getattr(step.command, "alternatives", ())
    fewer = msgspec.structs.replace(
        step.command, alternatives=(*alternatives[:number], *alternatives[number + 1 :])
    )
    return msgspec.structs.replace(
        history, steps=(*history.steps[:place], Step(step.at, fewer), *history.steps[place + 1 :])
    )


def with_world(history: History, **changes: tuple[str, ...]) -> History:
    return msgspec.structs.replace(history, world=msgspec.structs.replace(history.world, **changes))


def without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(other for other in names if other != name)


def report(history: History, difference: Difference, repeat: str) -> str:
    """The history as Python that runs, what was expected and found after it, and the command line
    that finds it again."""
    commands = sorted({type(step.command).__name__ for step in history.steps})
    return "\n".join(
        [
            f"# after command {difference.step + 1} of {len(history.steps)}, {difference.question}",
            f"# expected {difference.expected}",
            f"# found    {difference.found}",
            f"# again:   {repeat}",
            "from laissez.market import Market, Topology",
            (
                "from laissez.market.commands import"
                f" {', '.join(sorted({'Alternative', 'Band', *commands}))}"
            ),
            "",
            build(history.world),
            *(f"print(market.apply({step.command!r}, {step.at!r}))" for step in history.steps),
            ask(difference),
        ]
    )


def build(world: World) -> str:
    return (
        f"market = Market(Topology.of({list(world.leaves)!r}),"
        f" orders_per_tenant_max={world.orders_per_tenant_max})"
    )


def ask(difference: Difference) -> str:
    if difference.kind in ("make_market", "events", "invariants", "snapshot", "digest"):
        return f"# {difference.question}"
    return f"print(market.{difference.question.replace('now()', 'now')})"
