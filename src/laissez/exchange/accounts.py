"""What the exchange knows of a holder beside the market: keys, caps, a budget, and what has been
billed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

import msgspec

from laissez.exchange.commands import Action, Caps
from laissez.market.commands import Alternative

NEVER_DUE = 2**62  # later than any time


class KeyRecord(msgspec.Struct):
    id: str
    holder: str
    name: str
    scopes: tuple[str, ...]
    digest: bytes
    issued_at: int
    revoked_at: int | None = None


class BudgetRecord(msgspec.Struct, gc=False):
    """What a tenant means to spend, and what it owed when that began: what it owes later, less
    that, is spent.

    While the budget is watched, no threshold can be crossed before `due`, as long as the tenant is
    charged at most `pace` per hour. Both are part of the state: when a budget acts must not depend
    on what one process happens to know.
    """

    amount: int  # millionths of a dollar
    since: int
    owed: str  # the exact charge, as text because it outgrows 64 bits
    action: Action
    reached: int = 0  # how many of its thresholds
    due: int = NEVER_DUE
    pace: int = 0
    spent_at: int = 0  # 0 until it is


class OwnCaps(msgspec.Struct, frozen=True, gc=False):
    """What a tenant allows itself at most, in millionths of a dollar per hour."""

    rate: int | None = None
    worst_rate: int | None = None


class OpenLimits:
    """The highest limit of each open order of a tenant, and their sum. It follows from the market,
    and is kept so that checking caps is quick."""

    __slots__ = ("orders", "total")

    def __init__(self) -> None:
        self.orders: dict[int, int] = {}
        self.total = 0

    def put(self, order: int, alternatives: Sequence[Alternative]) -> None:
        self.remove(order)
        limit = self.orders[order] = highest_limit(alternatives)
        self.total += limit

    def remove(self, order: int) -> None:
        self.total -= self.orders.pop(order, 0)


def highest_limit(alternatives: Sequence[Alternative]) -> int:
    """An order wins one leaf, at this price at most."""
    return max([one.limit for one in alternatives], default=0)


class RunningFees:
    """The flash fees (M18) of one tenant that still run, and their sum. It follows from the market,
    and is kept because there may be tens of thousands.

    Time never falls: a fee that is over at the time asked about is forgotten.
    """

    __slots__ = ("_by_end", "_per_hour", "_until_end")

    def __init__(self, fees: Iterable[tuple[int, int]] = ()) -> None:
        self._by_end = list(fees)  # a heap: until when each runs, and its rate
        heapify(self._by_end)
        self._per_hour = sum([rate for _, rate in self._by_end])
        # as if all had run since time began
        self._until_end = sum([rate * until for until, rate in self._by_end])

    def add(self, until: int, rate: int, at: int) -> None:
        self._forget(at)  # else they would pile up where nobody asks
        heappush(self._by_end, (until, rate))
        self._per_hour += rate
        self._until_end += rate * until

    def per_hour(self, at: int) -> int:
        self._forget(at)
        return self._per_hour

    def to_come(self, at: int) -> int:
        """What they will be charged from then on, exactly."""
        self._forget(at)
        return self._until_end - self._per_hour * at

    def _forget(self, at: int) -> None:
        while self._by_end and self._by_end[0][0] <= at:
            until, rate = heappop(self._by_end)
            self._per_hour -= rate
            self._until_end -= rate * until

    def __len__(self) -> int:
        return len(self._by_end)


class Account:
    """One tenant."""

    __slots__ = (
        "billed",
        "billed_fees",
        "budget",
        "caps",
        "created_at",
        "events",
        "is_capped",
        "name",
        "open_limits",
        "own_caps",
        "rate_max",
        "running_fees",
        "session_orders",
        "worst_rate_max",
    )

    def __init__(self, name: str, created_at: int, caps: Caps) -> None:
        self.name = name
        self.created_at = created_at
        self.caps = caps
        self.events = 0  # the number of its latest event
        self.session_orders: set[int] = set()  # open, and to be cancelled with their session
        self.running_fees = RunningFees()
        # What statements have charged so far for each lease that goes on, and for each fee, which
        # is told from all others by its order, scope, start and end.
        self.billed: dict[int, int] = {}
        self.billed_fees: dict[tuple[int, str, int, int], int] = {}
        self.budget: BudgetRecord | None = None
        self.own_caps = OwnCaps()
        self.open_limits: OpenLimits | None = None  # once a cap was checked
        # the lower of the operator's caps and its own, kept by `caps.put_in_force`
        self.rate_max: int | None = None
        self.worst_rate_max: int | None = None
        self.is_capped = False  # by either
