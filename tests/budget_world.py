"""An exchange at a time that the test moves, with tenants whose budgets act."""

from __future__ import annotations

from laissez.market import Alternative, Market, Topology
from laissez.market.commands import AdvanceTime, SetControls
from laissez.market.exposure import committed
from laissez.market.money import CHARGE_PER_MICRO_DOLLAR
from laissez.server.commands import OPERATOR, Command, CreateTenant, PlaceOrder, Request, SetBudget
from laissez.server.exchange import Exchange
from laissez.server.outcomes import Outcome, Told
from laissez.wire import events as wire
from laissez.wire.requests import Caps
from laissez.wire.times import parse_time

HOUR_US = 3_600_000_000
SECOND_US = 1_000_000
DOLLAR = 1_000_000
RATE = 36 * DOLLAR // 10


class Thrifty:
    def __init__(self, *leaves: str, tenants: tuple[str, ...] = ("ann", "bob")) -> None:
        self.exchange = Exchange(Market(Topology.of(leaves or ("a/1", "a/2"))))
        self.at = HOUR_US
        self.told: list[Told] = []  # everything, to anybody
        for tenant in tenants:
            self.say(OPERATOR, CreateTenant(tenant, Caps()))

    def say(self, who: str, command: Command, after_us: int = 1) -> Outcome:
        self.at += after_us
        outcome = self.exchange.apply(self.at, Request(who, "", "", b"", command)).outcome
        self.told += outcome.told
        return outcome

    def place(self, who: str, scope: str, bid: int, limit: int | None = None) -> Outcome:
        return self.say(
            who, PlaceOrder((Alternative(scope, bid, bid if limit is None else limit),))
        )

    def budget(self, who: str, amount: int, action: str, keep: bool | None = None) -> Outcome:
        done = self.say(who, SetBudget(amount, action, keep), 0)
        assert done.refused is None, done.refused
        return done

    def wait(self, us: int) -> Outcome:
        """The server sleeps, and then time is up."""
        return self.say(OPERATOR, AdvanceTime(), us)

    def leased_at(self, rate: int, limit: int | None = None) -> str:
        """Ann leases a leaf at this rate, with which bob presses; says the lease's id."""
        placed = self.place("ann", "a/1", rate, limit)
        self.place("bob", "a/1", rate, rate)
        return next(
            told.event.lease for told in placed.told if isinstance(told.event, wire.LeaseStarted)
        )

    def spent(self, who: str) -> int:
        """Exactly, in the market's units, with every fee whole."""
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
        assert len(self.exchange.market.orders(who)) == self.exchange.accounts[who].open_orders
        return self.exchange.accounts[who].open_orders


def told(outcome: Outcome, who: str, kind: type) -> list[wire.Event]:
    return [one.event for one in outcome.told if one.tenant == who and type(one.event) is kind]


def times(outcome: Outcome) -> list[int]:
    return [parse_time(one.event.at) for one in outcome.told]


def code(outcome: Outcome) -> str | None:
    return None if outcome.refused is None else outcome.refused.code


def flashing() -> Thrifty:
    """Bids in `b` that are withdrawn within a minute pay for the rest of it. Bob holds the only
    leaf there, whatever it costs."""
    world = Thrifty("a/1", "b/1")
    world.say(OPERATOR, SetControls("b", flash_us=60 * SECOND_US))
    world.place("bob", "b", DOLLAR, 9_000 * DOLLAR)
    return world
