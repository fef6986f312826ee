"""Telling the user's hooks what happened to each lease: that it started, that its price comes near
its limit, that it ended and why.

Every start and every end is told at least once, over restarts of either side: a lease counts as
told only when its hook is through. After a crash a hook may therefore be called a second time for
the same lease, never not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from laissez.live.scripts import ScriptFailed, Scripts
from laissez.live.task_memory import TaskMemory
from laissez.tenants.templates.task import Hooks
from laissez.wire.events import Event, LeaseEnded, LeaseStarted, LimitNear, Notice
from laissez.wire.views import Lease

# why a lease ended while nobody listened for longer than the server remembers
UNKNOWN: Final = "unknown"


class LeaseHooks:
    """Calls hooks in the order in which things happened to each lease; `on_saved` is told when a
    hook on an approaching limit has done its work."""

    def __init__(
        self,
        hooks: Hooks,
        scripts: Scripts,
        memory: TaskMemory,
        tell: Callable[..., None],
        on_saved: Callable[[], None],
        on_told: Callable[[], None],
    ) -> None:
        self._hooks = hooks
        self._scripts = scripts
        self._memory = memory
        self._tell = tell
        self._on_saved = on_saved
        self._on_told = on_told
        self._starting: dict[str, str] = {}  # leases whose start is being told
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
        """Tell what was missed, given all leases there are."""
        listed = {lease.id for lease in leases}
        for lease in leases:
            self._started(lease.id, lease.leaf, lease.charged, lease.limit)
        for id, leaf in list(self._memory.leases.items()):
            if id not in listed:
                self._ended(id, leaf, UNKNOWN, "", None)

    def _started(self, lease: str, leaf: str, rate: str, limit: str | None) -> None:
        if lease in self._memory.leases or lease in self._starting:
            return
        self._starting[lease] = leaf
        self._call(
            "lease_start",
            self._hooks.on_lease_start,
            _facts(lease, leaf, rate, limit),
            lambda failed: self._now_held(lease),
        )

    def _near(self, event: LimitNear) -> None:
        """One at a time: while a checkpoint is being written another one would only slow it
        down."""
        facts = _facts(event.lease, event.leaf, event.rate, event.limit)
        if self._hooks.on_limit_near is None:
            self._tell("limit_near", **_shown(facts))
        elif event.lease not in self._saving:
            self._saving.add(event.lease)
            self._call(
                "limit_near",
                self._hooks.on_limit_near,
                facts,
                lambda failed: self._now_saved(event.lease, failed),
            )

    def _ended(self, lease: str, leaf: str, reason: str, rate: str, limit: str | None) -> None:
        if lease in self._ending or not (lease in self._memory.leases or lease in self._starting):
            return
        self._ending.add(lease)
        facts = {**_facts(lease, leaf, rate, limit), "LAISSEZ_REASON": reason}
        self._call(
            "lease_end", self._hooks.on_lease_end, facts, lambda failed: self._now_gone(lease)
        )

    def _call(
        self,
        what: str,
        line: str | None,
        facts: Mapping[str, str],
        then: Callable[[ScriptFailed | None], None],
    ) -> None:
        lease = facts["LAISSEZ_LEASE"]
        self._tell(what, **_shown(facts))

        def through(failed: ScriptFailed | None) -> None:
            if failed is not None:
                self._tell("hook_failed", why=str(failed), lease=lease)
            then(failed)

        if line is None and not self._scripts.is_busy(lease):
            then(None)
        else:
            self._scripts.call(lease, line or ":", {**facts, "LAISSEZ_HOOK": what}, through)

    def _now_held(self, lease: str) -> None:
        self._memory.leases[lease] = self._starting.pop(lease)
        self._on_told()

    def _now_saved(self, lease: str, failed: ScriptFailed | None) -> None:
        self._saving.discard(lease)
        if failed is None:
            self._on_saved()

    def _now_gone(self, lease: str) -> None:
        self._memory.leases.pop(lease, None)
        self._ending.discard(lease)
        self._on_told()


def _facts(lease: str, leaf: str, rate: str, limit: str | None) -> dict[str, str]:
    return {
        "LAISSEZ_LEASE": lease,
        "LAISSEZ_LEAF": leaf,
        "LAISSEZ_RATE": rate,
        "LAISSEZ_LIMIT": "none" if limit is None else limit,
    }


def _shown(facts: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix("LAISSEZ_").lower(): value for name, value in facts.items()}
