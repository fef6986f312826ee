"""An exchange at a time that the test moves, with tenants whose budgets act."""

from __future__ import annotations

from typing import Any

import msgspec

from laissez.exchange.commands import (
    OPERATOR,
    SERVICE,
    Action,
    Caps,
    Command,
    CreateTenant,
    Request,
    SetBudget,
)
from laissez.exchange.events import Applied, tenant_of
from laissez.exchange.exchange import Exchange
from laissez.market import Alternative, Market, Topology
from laissez.market.commands import AdvanceTime, PlaceOrder, SetControls
from laissez.market.events import LeaseStarted
from laissez.market.exposure import committed
from laissez.units import CHARGE_PER_MICRO_DOLLAR
from laissez.wire.rendering import rendered
from laissez.wire.texts import code_of, explain

HOUR_US = 3_600_000_000
SECOND_US = 1_000_000
DOLLAR = 1_000_000
RATE = 36 * DOLLAR // 10


class BudgetWorld:
    def __init__(self, *leaves: str, tenants: tuple[str, ...] = ("ann", "bob")) -> None:
        self.exchange = Exchange(Market(Topology.of(leaves or ("a/1", "a/2"))))
        self.at = HOUR_US
        self.rendered: list[Any] = []  # every event as the operator sees it
        for tenant in tenants:
            self.say(OPERATOR, CreateTenant(tenant, Caps()))

    def say(self, who: str, command: Command, after_us: int = 1) -> Applied:
        self.at += after_us
        applied = self.exchange.apply(self.at, Request(who, SERVICE, "", b"", command))
        self.rendered += [msgspec.to_builtins(one) for one in rendered(applied, OPERATOR)]
        return applied

    def place(self, who: str, scope: str, bid: int, limit: int | None = None) -> Applied:
        return self.say(
            who, PlaceOrder(who, (Alternative(scope, bid, bid if limit is None else limit),))
        )

    def placed(self, who: str, scope: str, bid: int, limit: int | None = None) -> int:
        """Place an order; returns its number."""
        applied = self.place(who, scope, bid, limit)
        assert applied.refusal is None, applied.refusal
        return self.exchange.market.counts(who).orders_placed

    def budget(self, who: str, amount: int, action: Action, keep: bool = False) -> Applied:
        done = self.say(who, SetBudget(amount, action, keep), 0)
        assert done.refusal is None, done.refusal
        return done

    def wait(self, us: int) -> Applied:
        """Let time pass without commands, then advance the market."""
        return self.say(OPERATOR, AdvanceTime(), us)

    def leased_at(self, rate: int, limit: int | None = None) -> int:
        """Ann leases a leaf at the rate that bob bids for it; returns the lease's number."""
        (started,) = told(self.place("ann", "a/1", rate, limit), "ann", LeaseStarted)
        self.place("bob", "a/1", rate, rate)
        assert isinstance(started, LeaseStarted)
        return started.lease

    def spent(self, who: str) -> int:
        """The exact spending, in the market's units, with every fee in full."""
        budget = self.exchange.accounts[who].budget
        assert budget is not None
        return committed(self.exchange.market, who) - int(budget.owed)

    def overspent(self, who: str) -> int:
        budget = self.exchange.accounts[who].budget
        assert budget is not None
        return self.spent(who) - budget.amount * CHARGE_PER_MICRO_DOLLAR

    def leases(self, who: str) -> int:
        return len(self.exchange.market.leases(who))

    def open_orders(self, who: str) -> int:
        found = len(self.exchange.market.orders(who))
        assert found == self.exchange.market.counts(who).orders_open
        return found


def told(applied: Applied, who: str, kind: type | None = None) -> list[Any]:
    """The events of one tenant, of one kind or all."""
    return [
        event for event in applied.events if tenant_of(event) == who and kind in (None, type(event))
    ]


def times(applied: Applied) -> list[int]:
    return [event.at for event in applied.events]


def code(applied: Applied) -> str | None:
    return None if applied.refusal is None else code_of(applied.refusal.reason)


def detail(applied: Applied, who: str) -> str:
    assert applied.refusal is not None
    return explain(applied.refusal, who)


def with_flash_fees() -> BudgetWorld:
    """Bids in `b` withdrawn within a minute pay for the rest of it. Bob holds its only leaf at any
    price."""
    world = BudgetWorld("a/1", "b/1")
    world.say(OPERATOR, SetControls("b", flash_us=60 * SECOND_US))
    world.place("bob", "b", DOLLAR, 9_000 * DOLLAR)
    return world
