"""Calls the user's hooks: a lease has started, its price nears its limit, or it has ended.

Every start and every end is delivered at least once, even over restarts of either side: a lease is
recorded only after its hook has finished. So a hook may run a second time for the same lease after
a crash, but it is never skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from laissez.live.memory import TaskMemory
from laissez.live.scripts import ScriptFailed, Scripts
from laissez.tenants.templates.task import Hooks
from laissez.wire.events import Event, LeaseEnded, LeaseStarted, LimitNear, Notice
from laissez.wire.views import Lease

# the reason of an end that is older than the history of the server
UNKNOWN: Final = "unknown"


@dataclass
class LeaseHooks:
    """Calls the hooks of each lease in the order of its events.

    `on_saved` is called when the hook for an approaching limit has succeeded, `on_told` when a
    start or an end has been recorded.
    """

    hooks: Hooks
    scripts: Scripts
    memory: TaskMemory
    tell: Callable[..., None]
    on_saved: Callable[[], None]
    on_told: Callable[[], None]

    def __post_init__(self) -> None:
        self._starting: dict[str, str] = {}  # leases whose start hook has not finished
        self._saving: set[str] = set()
        self._ending: set[str] = set()

    def heard(self, event: Event | Notice) -> None:
        match event:
            case LeaseStarted():
                self._started(event.lease, event.leaf, event.rate, event.limit)
            case LimitNear():
                self._near(event)
            case LeaseEnded():
                self._ended(event.lease, event.leaf, event.reason, event.rate, event.limit)

    def reconcile(self, leases: tuple[Lease, ...]) -> None:
        """Call the hooks for missed starts and ends, given all present leases."""
        listed = {lease.id for lease in leases}
        for lease in leases:
            self._started(lease.id, lease.leaf, lease.charged, lease.limit)
        for id, leaf in list(self.memory.leases.items()):
            if id not in listed:
                self._ended(id, leaf, UNKNOWN, "", None)

    def _started(self, lease: str, leaf: str, rate: str, limit: str | None) -> None:
        if lease in self.memory.leases or lease in self._starting:
            return
        self._starting[lease] = leaf
        self._call(
            "lease_start",
            self.hooks.on_lease_start,
            _facts(lease, leaf, rate, limit),
            lambda failed: self._now_held(lease),
        )

    def _near(self, event: LimitNear) -> None:
        """One at a time: a second checkpoint would only slow down the one being written."""
        facts = _facts(event.lease, event.leaf, event.rate, event.limit)
        if self.hooks.on_limit_near is None:
            self.tell("limit_near", **_shown(facts))
        elif event.lease not in self._saving:
            self._saving.add(event.lease)
            self._call(
                "limit_near",
                self.hooks.on_limit_near,
                facts,
                lambda failed: self._now_saved(event.lease, failed),
            )

    def _ended(self, lease: str, leaf: str, reason: str, rate: str, limit: str | None) -> None:
        if lease in self._ending or not (lease in self.memory.leases or lease in self._starting):
            return
        self._ending.add(lease)
        facts = {**_facts(lease, leaf, rate, limit), "LAISSEZ_REASON": reason}
        self._call(
            "lease_end", self.hooks.on_lease_end, facts, lambda failed: self._now_gone(lease)
        )

    def _call(
        self,
        what: str,
        line: str | None,
        facts: Mapping[str, str],
        then: Callable[[ScriptFailed | None], None],
    ) -> None:
        lease = facts["LAISSEZ_LEASE"]
        self.tell(what, **_shown(facts))

        def through(failed: ScriptFailed | None) -> None:
            if failed is not None:
                self.tell("hook_failed", why=str(failed), lease=lease)
            then(failed)

        if line is None and not self.scripts.is_busy(lease):
            then(None)
        else:
            self.scripts.call(lease, line or ":", {**facts, "LAISSEZ_HOOK": what}, through)

    def _now_held(self, lease: str) -> None:
        self.memory.leases[lease] = self._starting.pop(lease)
        self.on_told()

    def _now_saved(self, lease: str, failed: ScriptFailed | None) -> None:
        self._saving.discard(lease)
        if failed is None:
            self.on_saved()

    def _now_gone(self, lease: str) -> None:
        self.memory.leases.pop(lease, None)
        self._ending.discard(lease)
        self.on_told()


def _facts(lease: str, leaf: str, rate: str, limit: str | None) -> dict[str, str]:
    return {
        "LAISSEZ_LEASE": lease,
        "LAISSEZ_LEAF": leaf,
        "LAISSEZ_RATE": rate,
        "LAISSEZ_LIMIT": "none" if limit is None else limit,
    }


def _shown(facts: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix("LAISSEZ_").lower(): value for name, value in facts.items()}
