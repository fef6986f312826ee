"""A lease: one tenant's ownership of one leaf, with its limit, its hold, and the part of its charge
that is computed already."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from laissez.market.node import NEVER

if TYPE_CHECKING:
    from laissez.market.node import Node
    from laissez.market.tenant import Tenant


class Lease:
    __slots__ = (
        "cap_times",
        "caps",
        "carried",
        "carried_to",
        "end",
        "fence",
        "held",
        "hold_until",
        "id",
        "leaf",
        "limit",
        "order",
        "settled",
        "settled_to",
        "start",
        "start_limit",
        "tenant",
    )

    def __init__(
        self,
        id: int,
        leaf: Node,
        tenant: Tenant,
        order: int,
        fence: int,
        start: int,
        limit: int,
        hold_until: int,
    ) -> None:
        self.id = id  # counts the tenant's own leases
        self.leaf = leaf
        self.tenant = tenant
        self.order = order
        self.fence = fence  # counts the leases of all tenants
        self.start = start
        self.end = -1  # -1 while it lasts
        self.limit = limit  # NEVER if there is none
        self.start_limit = limit
        self.hold_until = hold_until  # -1 if it was never held
        self.held = hold_until > start
        self.cap_times: list[int] | None = None  # the history of the cap, for a lease that was held
        self.caps: list[int] | None = None
        if self.held:
            self.cap_times = [start]
            self.caps = [limit]

        self.carried = 0  # its charge until carried_to; the books before that are closed
        self.carried_to = start
        # Its charge until settled_to: a cache, not part of the state.
        self.settled = 0
        self.settled_to = start

    def cap(self) -> int:
        """The most it can be charged now. Lowering the limit during the hold does not make the
        lease cheaper (M17)."""
        return max(self.limit, self.start_limit) if self.held else NEVER

    def cap_before(self, time: int) -> tuple[int, int]:
        """The most it could be charged just before `time`, and since when. `time` is after its
        start."""
        if self.caps is None or self.cap_times is None or time > self.hold_until:
            return NEVER, self.hold_until
        index = bisect_left(self.cap_times, time) - 1
        return self.caps[index], self.cap_times[index]

    def set_limit(self, limit: int, now: int) -> None:
        self.limit = limit
        if (
            self.held
            and self.caps is not None
            and self.cap_times is not None
            and self.cap() != self.caps[-1]
        ):
            if self.cap_times[-1] == now:
                self.cap_times.pop()
                self.caps.pop()
            self.cap_times.append(now)
            self.caps.append(self.cap())

    def carry_forward(self, charge: int, before: int) -> None:
        """Keep its charge until `before` as one amount, and drop the caps that led to it."""
        self.carried = charge
        self.carried_to = before
        if self.caps is not None and self.cap_times is not None:
            past = bisect_right(self.cap_times, before) - 1
            del self.cap_times[:past]
            del self.caps[:past]

    def last_moment(self, now: int) -> int:
        """Its end, or now if it lasts."""
        return now if self.end < 0 else self.end
