"""The auditor of events on a part of a market that is too large and too busy for it.

`event_audit` asks every leaf about every order whenever time passes. But who wins a leaf, what it
is charged and whether it is at rest follow from the orders, floors and leases on its own path
alone. So a few leaves are audited as strictly as all of them would be, by telling an auditor of
them what concerns them; an order that wins elsewhere is gone for them, as if it had been cancelled.
Budgets and fees, which are a tenant's and not a leaf's, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import accumulate
from typing import Any

from laissez_check.event_audit import Auditor

OF_LEAVES = frozenset({"lease.ended", "lease.limit_set", "resource.offline", "resource.online"})
OF_NODES = frozenset({"floor.set", "controls.set"})


class PartAudit:
    """Give it every event of the operator in order. After the first doubt it takes no more: others
    would follow from it."""

    def __init__(self, leaves: Iterable[str]) -> None:
        self.leaves = frozenset(leaves)
        self._nodes = {node for leaf in self.leaves for node in _path(leaf)}
        self.orders: set[str] = set()  # that want one of these leaves
        self._auditor = Auditor(self.leaves)

    @property
    def doubts(self) -> list[str]:
        return self._auditor.doubts

    def take(self, numbered: dict[str, Any]) -> bool:
        """Says whether it was about these leaves."""
        event = None if self.doubts else self._concerning(numbered["event"])
        if event is None:
            return False
        self._auditor.n = numbered["n"] - 1  # those in between were none of its business
        try:
            self._auditor.take({**numbered, "event": event})
        except KeyError as error:
            self.doubts.append(
                f"event {numbered['n']}: {event['type']} is about {error}, which is not there"
            )
        return True

    def _concerning(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """The event as far as it is about these leaves; None if it is not."""
        kind = event["type"]
        if kind in {"order.placed", "order.amended"}:
            wanted = [one for one in event["alternatives"] if one["scope"] in self._nodes]
            if not wanted:
                return self._gone(event)
            self.orders.add(event["order"])
            return {**event, "alternatives": wanted}
        if kind == "order.cancelled":
            return self._gone(event)
        if kind == "lease.started":
            gone = self._gone(event)
            return event if event["leaf"] in self.leaves else gone
        if kind in OF_NODES:
            return event if event["node"] in self._nodes else None
        return event if kind in OF_LEAVES and event["leaf"] in self.leaves else None

    def _gone(self, event: dict[str, Any]) -> dict[str, Any] | None:
        if event["order"] not in self.orders:
            return None
        self.orders.discard(event["order"])
        return {"type": "order.cancelled", "order": event["order"], "at": event["at"]}

    def compare(self, shown: dict[str, Any]) -> None:
        """With a leaf as the service shows it, when all events have been taken."""
        auditor, leaf = self._auditor, shown["leaf"]
        lease = auditor.leases.get(leaf)
        told = (
            shown["online"],
            shown["owner"],
            _micro(shown["rate"]),
            _micro(shown["floor"]),
            shown["limit"] and _micro(shown["limit"]),
        )
        made = (
            leaf in auditor.online,
            lease and lease.tenant,
            auditor.rate(leaf),
            auditor.floor(leaf),
            lease and lease.limit,
        )
        if told != made:
            self.doubts.append(
                f"{leaf} is shown as {told} (online, owner, rate, floor, limit); the events make it"
                f" {made}"
            )


def _path(leaf: str) -> Iterator[str]:
    """The nodes from the root to the leaf."""
    return accumulate(leaf.split("/"), lambda node, part: f"{node}/{part}")


def _micro(text: str) -> int:
    """Millionths from decimal text."""
    return int(Decimal(text) * 1_000_000)
