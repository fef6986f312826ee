"""Owners and bills computed again from the operator's events alone.

The auditor follows the events by the rules in `event_rules`, and doubts each that contradicts those
before it. Events are plain data, as JSON or MessagePack give them. Neither module shares code with
the market, its bills or the service.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from laissez_check.bills.amounts import HOUR_US, MICRO, decimal, instant, micro
from laissez_check.bills.prices import Fee, path_of
from laissez_check.event_rules import Order, State

Event = dict[str, Any]


@dataclass
class Budget:
    """The limit of a tenant's charges after the budget was set, or first set if it was kept."""

    charge: int
    owed_before: int
    action: str
    set_at: int
    spent_at: int | None = None
    # The latest rates of its tenant, each with its end.
    rates: list[tuple[int, int]] = field(default_factory=list)
    floors: dict[str, int] = field(default_factory=dict)  # of its tenant's leaves when it was spent


class Auditor(State):
    """Give it every event in order. Ask about the time of the last one, or about a later time
    before the next."""

    def __init__(self, leaves: Iterable[str]) -> None:
        super().__init__(leaves)
        self.n = 0  # the number of the last event taken
        self.budgets: dict[str, Budget] = {}
        self.doubts: list[str] = []  # where an event contradicts those before it

    def take(self, numbered: Event) -> bool:
        """Returns whether the event was about the audited leaves."""
        event, tenant, due = numbered["event"], numbered.get("tenant"), self.n + 1
        self.n = numbered["n"]
        if self.n != due:
            self.doubts.append(f"event {due} of the operator was expected next, {self.n} came")
        at = instant(event["at"])
        if at < self.now:
            self._doubt(f"time runs backwards, {at} after {self.now}")
        if at > self.now and (unstable := self.unstable(at)) is not None:
            self._doubt(f"before it, since {self.now}, {unstable}")
        self.prices.pass_time(at)
        for holder, budget in self.budgets.items():
            if budget.action:
                self._watch_budget(holder, budget)
        note = getattr(self, "_" + event["type"].replace(".", "_"), None)
        try:
            if note is not None:
                note(tenant, event)
        except KeyError as error:
            self._doubt(f"{event['type']} is about {error}, which is not there")
        return True

    def compare(self, shown: Event) -> str | None:
        """Compare a leaf as the service shows it after all events. Returns the difference, if
        any."""
        leaf = shown["leaf"]
        lease = self.leases.get(leaf)
        prices = [shown["rate"], shown["floor"], shown["limit"]]
        told = (shown["online"], shown["owner"], *(one and micro(one) for one in prices))
        owner, limit = (None, None) if lease is None else (lease.tenant, lease.limit)
        made = (leaf in self.online, owner, self.rate(leaf), self.floor(leaf), limit)
        if told == made:
            return None
        self.doubts.append(
            f"{leaf} is shown as {told} (online, owner, rate, floor, limit); the events make it"
            f" {made}"
        )
        return self.doubts[-1]

    def _doubt(self, what: str) -> None:
        self.doubts.append(f"event {self.n}: {what}")

    # -- budgets

    def _watch_budget(self, tenant: str, budget: Budget) -> None:
        """A budget with an action may be overspent by a second at most. Then the action follows."""
        leaves = [leaf for leaf, lease in self.leases.items() if lease.tenant == tenant]
        rate, second_ago = sum(map(self.rate, leaves)), self.now - MICRO
        budget.rates = [one for one in budget.rates if one[0] >= second_ago] + [(self.now, rate)]
        if budget.spent_at is None:
            excess = self.committed(tenant) - budget.owed_before - budget.charge
            second = max(rate for _, rate in budget.rates) * MICRO
            if budget.set_at < self.now and excess > second:
                self._doubt(
                    f"{tenant} has spent more than its budget and a second, and nothing was told"
                )
        elif budget.spent_at < self.now:
            if budget.action == "relinquish" and rate:
                self._doubt(
                    f"{tenant} has leases after its budget was spent, and it was to give them up"
                )
            if budget.action == "limits_to_floor" and self._is_dear(tenant, budget):
                self._doubt(
                    f"{tenant} can be charged more than the floor after its budget was spent"
                )

    def _is_dear(self, tenant: str, budget: Budget) -> bool:
        """A held lease is charged up to its cap, even above its limit (M17). Any other lease would
        be lost."""
        return any(
            lease.cap is None or lease.cap > budget.floors[leaf]
            for leaf, lease in self.leases.items()
            if lease.tenant == tenant and lease.held_until > self.now
        )

    def _budget_set(self, tenant: str, event: Event) -> None:
        before = self.budgets.pop(tenant, None)
        if event["amount"] is None:
            return
        action = event.get("action", "")
        owed = self.committed(tenant) if action else self.owed(tenant, self.now)
        budget = Budget(micro(event["amount"]) * HOUR_US, owed, action, self.now)
        if event.get("kept") and before is not None:
            budget.owed_before = before.owed_before
            if (before.charge, before.action) == (budget.charge, budget.action):
                budget = before
        self.budgets[tenant] = budget

    def _budget_spent(self, tenant: str, event: Event) -> None:
        budget = self.budgets[tenant]
        budget.spent_at = self.now
        leaves = (leaf for leaf, lease in self.leases.items() if lease.tenant == tenant)
        budget.floors = {leaf: self.floor(leaf) for leaf in leaves}

    # -- orders and leases

    def _order_placed(self, tenant: str, event: Event) -> None:
        budget = self.budgets.get(tenant)
        if budget is not None and budget.spent_at is not None and budget.action != "warn":
            self._doubt(f"{tenant} has a new order, and its budget is spent")
        alternatives = event["alternatives"]
        wanted = {one["scope"]: (micro(one["bid"]), micro(one["limit"])) for one in alternatives}
        self.add_order(event["order"], Order(tenant, wanted))

    def _order_amended(self, tenant: str, event: Event) -> None:
        """An amended order gets a new number (M10), the last one."""
        if event["order"] in self.orders:
            self.remove_order(event["order"])
        self._order_placed(tenant, event)

    def _order_cancelled(self, tenant: str, event: Event) -> None:
        self.remove_order(event["order"])

    def _lease_started(self, tenant: str, event: Event) -> None:
        id, leaf, order = event["lease"], event["leaf"], event["order"]
        if leaf in self.leases or leaf not in self.online:
            self._doubt(f"a lease of {leaf} starts while it is leased or offline")
        winner = self.winner(leaf)
        if winner != order:
            self._doubt(f"{order} wins {leaf}, and it should have been {winner}")
        limit = micro(event["limit"])
        if order not in self.orders or self.orders[order].tenant != tenant:
            self._doubt(f"{order} is no open order of {tenant}")
        else:
            path, wanted = path_of(leaf), self.remove_order(order).wanted
            offered = [offer for scope, (_, offer) in wanted.items() if scope in path]
            if limit != max(offered, default=None):
                self._doubt(
                    f"{id} starts with the limit {event['limit']}, which {order} did not offer for"
                    f" {leaf}"
                )
        hold, until = self.hold(leaf), event["hold_until"]
        held_until = instant(until) if until is not None else 0
        if held_until != (self.now + hold if hold else 0):
            self._doubt(f"{id} is held until {until}, and should be for {hold} microseconds")
        self.start_lease(id, tenant, leaf, limit, held_until)
        self._compare_rate(event)

    def _lease_ended(self, tenant: str, event: Event) -> None:
        id, leaf, reason = event["lease"], event["leaf"], event["reason"]
        self._compare_rate(event)
        objection = self.why_not_ended(leaf, reason)
        if objection is not None:
            self._doubt(f"{id} ends because it is {reason}, and {objection}")
        lease = self.leases.pop(leaf)
        if (lease.tenant, lease.number) != (tenant, id):
            self._doubt(f"{id} of {tenant} ends, and {lease.name} was there")
        if lease.limit != (None if event["limit"] is None else micro(event["limit"])):
            self._doubt(f"{id} ends with the limit {event['limit']}, which is not its own")
        self.prices.end(lease)

    def _lease_limit_set(self, tenant: str, event: Event) -> None:
        limit = None if event["limit"] is None else micro(event["limit"])
        self.prices.set_limit(self.leases[event["leaf"]], limit)

    def _fee_charged(self, tenant: str, event: Event) -> None:
        rate, until = micro(event["rate"]), instant(event["until"])
        self.fees[tenant].append(Fee(event["order"], event["scope"], rate, self.now, until))

    def _compare_rate(self, event: Event) -> None:
        rate = self.rate(event["leaf"])
        if rate != micro(event["rate"]):
            self._doubt(
                f"{event['type']} tells the rate {event['rate']}, the events before it make it"
                f" {decimal(rate)}"
            )

    # -- the operator's settings

    def _floor_set(self, tenant: None, event: Event) -> None:
        self.prices.set_floor(event["node"], micro(event["price"]))

    def _controls_set(self, tenant: None, event: Event) -> None:
        self.holds.pop(event["node"], None)
        if event["hold_s"] is not None:
            self.holds[event["node"]] = round(event["hold_s"] * MICRO)

    def _resource_offline(self, tenant: None, event: Event) -> None:
        self.online.discard(event["leaf"])

    def _resource_online(self, tenant: None, event: Event) -> None:
        self.online.add(event["leaf"])


class PartAudit(Auditor):
    """An audit of a few leaves of a market that is too large and too busy to audit all of them.

    The winner, the charge and the stability of a leaf follow from the orders, floors and leases on
    its own path alone. So these leaves are audited as strictly as in an audit of all. An order that
    wins elsewhere counts as cancelled. Budgets and fees belong to tenants, not to leaves, and are
    left out. After the first doubt it takes no more events, since other doubts would follow.
    """

    OF_LEAVES = frozenset({"lease.ended", "lease.limit_set", "resource.offline", "resource.online"})
    OF_NODES = frozenset({"floor.set", "controls.set"})

    def __init__(self, leaves: Iterable[str]) -> None:
        super().__init__(leaves)
        self._nodes = {node for leaf in self.leaves for node in path_of(leaf)}

    def take(self, numbered: Event) -> bool:
        event = None if self.doubts else self._concerning(numbered["event"])
        if event is None:
            return False
        self.n = numbered["n"] - 1  # those in between are about other leaves
        return super().take({**numbered, "event": event})

    def _concerning(self, event: Event) -> Event | None:
        """The event as far as it is about these leaves; None if it is not."""
        kind = event["type"]
        if kind in ("order.placed", "order.amended"):
            wanted = [one for one in event["alternatives"] if one["scope"] in self._nodes]
            return {**event, "alternatives": wanted} if wanted else self._gone(event)
        if kind == "order.cancelled" or (
            kind == "lease.started" and event["leaf"] not in self.leaves
        ):
            return self._gone(event)
        if kind in self.OF_NODES:
            return event if event["node"] in self._nodes else None
        if kind == "lease.started" or kind in self.OF_LEAVES:
            return event if event["leaf"] in self.leaves else None
        return None

    def _gone(self, event: Event) -> Event | None:
        if event["order"] not in self.orders:
            return None
        return {"type": "order.cancelled", "order": event["order"], "at": event["at"]}
