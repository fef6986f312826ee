"""Counts of durable commands, events and leases since the start of the process, for the metrics."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from laissez.exchange.commands import Request
from laissez.exchange.events import Applied, BudgetSpent
from laissez.exchange.refusals import AnyReason
from laissez.market.events import (
    LeafBroughtOnline,
    LeafTakenOffline,
    LeaseEnded,
    LeaseStarted,
    LimitSet,
    OrderAmended,
    OrderCancelled,
    OrderPlaced,
)
from laissez.market.reasons import EndReason

# the most frequent events, counted only in total
_PLAIN: Final = frozenset((OrderPlaced, OrderAmended, OrderCancelled, LimitSet))


class Counts:
    """A transfer is one outcome that ends a tenant's lease of a leaf and starts another
    tenant's."""

    def __init__(self, offline: set[str]) -> None:
        self.done: dict[type, int] = {}  # commands that were carried out, by kind
        self.refused: Counter[tuple[type, AnyReason]] = Counter()
        self.events = 0
        self.leases_started = 0
        # Every reason is present from the start: a rate over a missing counter misses its first
        # step.
        self.leases_ended: dict[str, int] = {str(reason): 0 for reason in EndReason}
        self.transfers = 0
        self.budgets_spent = 0
        self.offline = offline  # leaves

    def add(self, request: Request, applied: Applied) -> None:
        refusal, events = applied.refusal, applied.events
        kind = type(request.command)
        if refusal is None:
            self.done[kind] = self.done.get(kind, 0) + 1
        else:
            self.refused[kind, refusal.reason] += 1
        self.events += len(events)
        if len(events) != 1 or type(events[0]) not in _PLAIN:
            self._add_events(events)

    def _add_events(self, events: tuple[Any, ...]) -> None:
        lost: dict[str, str] = {}
        for event in events:
            kind = type(event)
            if kind is LeaseEnded:
                self.leases_ended[event.reason] += 1
                lost[event.leaf] = event.tenant
            elif kind is LeaseStarted:
                self.leases_started += 1
                self.transfers += lost.pop(event.leaf, event.tenant) != event.tenant
            elif kind is BudgetSpent:
                self.budgets_spent += 1
            elif kind is LeafTakenOffline:
                self.offline.add(event.leaf)
            elif kind is LeafBroughtOnline:
                self.offline.discard(event.leaf)
