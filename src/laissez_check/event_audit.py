"""Owners and bills worked out a second time, from nothing but the operator's events: what anyone
with that stream could do at home.

It follows the events by the rules in `event_rules`, and doubts each that contradicts those before
it. Events are plain data, as JSON or MessagePack give them. Neither module shares any code with the
market, its bills or the service.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from laissez_check.event_rules import (
    HOUR_US,
    MICRO,
    Books,
    Fee,
    Lease,
    State,
    instant,
    micro,
    path,
    printed,
)


@dataclass
class Budget:
    """What a tenant means to spend, beyond what was owed when it said so, or said so first."""

    charge: int
    owed_before: int
    action: str
    set_at: int
    spent_at: int | None = None
    # what its tenant was charged lately, each until when
    rates: list[tuple[int, int]] = field(default_factory=list)
    floors: dict[str, int] = field(default_factory=dict)  # of its tenant's leaves when it was spent


class Auditor(State):
    """Give it every event in order; then ask about the time of the last one, or a later one before
    the next."""

    def __init__(self, leaves: Iterable[str]) -> None:
        super().__init__(leaves)
        self.n = 0  # the number of the last event taken
        self.budgets: dict[str, Budget] = {}
        self.doubts: list[str] = []  # where an event contradicts those before it

    def take(self, numbered: dict[str, Any]) -> None:
        event, tenant = numbered["event"], numbered.get("tenant")
        if numbered["n"] != self.n + 1:
            self.doubts.append(
                f"event {self.n + 1} of the operator was expected next, {numbered['n']} came"
            )
        self.n = numbered["n"]
        at = instant(event["at"])
        if at < self.now:
            self.doubts.append(f"event {self.n}: time runs backwards, {at} after {self.now}")
        self._pass_time(at)
        self._watch_budgets()
        note = getattr(self, "_" + event["type"].replace(".", "_"), None)
        if note is not None:
            note(tenant, event)

    def _pass_time(self, to: int) -> None:
        unstable = self.unstable(to) if to > self.now else None
        if unstable is not None:
            self.doubts.append(f"event {self.n}: before it, since {self.now}, {unstable}")
        charges = {leaf: self._charge(leaf, lease, to) for leaf, lease in self.leases.items()}
        for leaf, lease in self.leases.items():
            lease.charge = charges[leaf]
        self.now = max(self.now, to)

    def _watch_budgets(self) -> None:
        """None with an action is overspent by more than a second: then it is told, and acted on."""
        for tenant, budget in [
            (tenant, budget) for tenant, budget in self.budgets.items() if budget.action
        ]:
            rates = sum(
                self.rate(leaf) for leaf, lease in self.leases.items() if lease.tenant == tenant
            )
            budget.rates = [
                (until, rate) for until, rate in budget.rates if until >= self.now - MICRO
            ] + [(self.now, rates)]
            second = max(rate for _, rate in budget.rates) * MICRO
            if (
                budget.spent_at is None
                and budget.set_at < self.now
                and self.committed(tenant) - budget.owed_before > budget.charge + second
            ):
                self.doubts.append(
                    f"event {self.n}: {tenant} has spent more than its budget and a second, and"
                    " nothing was told"
                )
            if (
                budget.spent_at is not None
                and budget.spent_at < self.now
                and budget.action == "relinquish"
                and rates
            ):
                self.doubts.append(
                    f"event {self.n}: {tenant} has leases after its budget was spent, and it was to"
                    " give them up"
                )
            if (
                budget.spent_at is not None
                and budget.spent_at < self.now
                and budget.action == "limits_to_floor"
                and self._is_dear(tenant, budget)
            ):
                self.doubts.append(
                    f"event {self.n}: {tenant} can be charged more than the floor after its budget"
                    " was spent"
                )

    def _is_dear(self, tenant: str, budget: Budget) -> bool:
        """A lease that is held is charged up to its cap, whatever its limit (M17); one that is not
        is lost."""
        caps = [
            (lease.cap, budget.floors[leaf])
            for leaf, lease in self.leases.items()
            if lease.tenant == tenant and lease.held_until > self.now
        ]
        return any(cap is None or cap > floor for cap, floor in caps)

    def _budget_set(self, tenant: str, event: dict[str, Any]) -> None:
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

    def _budget_spent(self, tenant: str, event: dict[str, Any]) -> None:
        budget = self.budgets[tenant]
        budget.spent_at = self.now
        budget.floors = {
            leaf: self.floor(leaf) for leaf, lease in self.leases.items() if lease.tenant == tenant
        }

    def _order_placed(self, tenant: str, event: dict[str, Any]) -> None:
        budget = self.budgets.get(tenant)
        if budget is not None and budget.spent_at is not None and budget.action != "warn":
            self.doubts.append(f"event {self.n}: {tenant} has a new order, and its budget is spent")
        self.orders[event["order"]] = (
            tenant,
            {
                one["scope"]: (micro(one["bid"]), micro(one["limit"]))
                for one in event["alternatives"]
            },
        )
        self.books.setdefault(tenant, Books())

    def _order_amended(self, tenant: str, event: dict[str, Any]) -> None:
        """Which gives it a new number (M10), the last one."""
        self.orders.pop(event["order"], None)
        self._order_placed(tenant, event)

    def _order_cancelled(self, tenant: str, event: dict[str, Any]) -> None:
        del self.orders[event["order"]]

    def _lease_started(self, tenant: str, event: dict[str, Any]) -> None:
        leaf, limit = event["leaf"], micro(event["limit"])
        if leaf in self.leases or leaf not in self.online:
            self.doubts.append(
                f"event {self.n}: a lease of {leaf} starts while it is leased or offline"
            )
        if self.winner(leaf) != event["order"]:
            self.doubts.append(
                f"event {self.n}: {event['order']} wins {leaf}, and it should have been"
                f" {self.winner(leaf)}"
            )
        owner, wanted = self.orders.pop(event["order"], (None, {}))
        if owner != tenant:
            self.doubts.append(f"event {self.n}: {event['order']} is no open order of {tenant}")
        elif limit != max(
            (offered for scope, (_, offered) in wanted.items() if scope in path(leaf)), default=None
        ):
            self.doubts.append(
                f"event {self.n}: {event['lease']} starts with the limit {event['limit']}, which"
                f" {event['order']} did not offer for {leaf}"
            )
        held_until = 0 if event["hold_until"] is None else instant(event["hold_until"])
        if held_until != (self.now + self.hold(leaf) if self.hold(leaf) else 0):
            self.doubts.append(
                f"event {self.n}: {event['lease']} is held until {event['hold_until']}, and should"
                f" be for {self.hold(leaf)} microseconds"
            )
        self.leases[leaf] = Lease(event["lease"], tenant, limit, limit, held_until)
        self._compare_rate(event)

    def _lease_ended(self, tenant: str, event: dict[str, Any]) -> None:
        leaf, reason = event["leaf"], event["reason"]
        self._compare_rate(event)
        why_not = self.why_not_ended(leaf, reason)
        if why_not is not None:
            self.doubts.append(
                f"event {self.n}: {event['lease']} ends because it is {reason}, and {why_not}"
            )
        lease = self.leases.pop(leaf)
        if (lease.tenant, lease.id) != (tenant, event["lease"]):
            self.doubts.append(
                f"event {self.n}: {event['lease']} of {tenant} ends, and {lease.id} of"
                f" {lease.tenant} was there"
            )
        if (None if event["limit"] is None else micro(event["limit"])) != lease.limit:
            self.doubts.append(
                f"event {self.n}: {event['lease']} ends with the limit {event['limit']}, which is"
                " not its own"
            )
        self.books[tenant].ended[lease.id] = lease.charge

    def _lease_limit_set(self, tenant: str, event: dict[str, Any]) -> None:
        self.leases[event["leaf"]].limit = None if event["limit"] is None else micro(event["limit"])

    def _fee_charged(self, tenant: str, event: dict[str, Any]) -> None:
        self.books[tenant].fees.append(Fee(micro(event["rate"]), self.now, instant(event["until"])))

    def _floor_set(self, tenant: None, event: dict[str, Any]) -> None:
        self.floors[event["node"]] = micro(event["price"])

    def _controls_set(self, tenant: None, event: dict[str, Any]) -> None:
        self.holds.pop(event["node"], None)
        if event["hold_s"] is not None:
            self.holds[event["node"]] = round(event["hold_s"] * MICRO)

    def _resource_offline(self, tenant: None, event: dict[str, Any]) -> None:
        self.online.discard(event["leaf"])

    def _resource_online(self, tenant: None, event: dict[str, Any]) -> None:
        self.online.add(event["leaf"])

    def _compare_rate(self, event: dict[str, Any]) -> None:
        rate = self.rate(event["leaf"])
        if rate != micro(event["rate"]):
            self.doubts.append(
                f"event {self.n}: {event['type']} tells the rate {event['rate']}, the events before"
                f" it make it {printed(rate)}"
            )
