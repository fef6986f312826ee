"""What the service knows of a tenant beside the market: its caps, its keys, and its own ids for
orders and leases.

Ids are kept while the market can still answer for them: those of an open order, and of a lease
until the books are closed over its end.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from laissez.market.commands import Alternative
from laissez.server.running_fees import RunningFees
from laissez.wire.ids import lease_id, order_id, tag_of
from laissez.wire.requests import Caps


class KeyRecord(msgspec.Struct):
    id: str
    holder: str
    name: str
    scopes: tuple[str, ...]
    digest: bytes
    issued_at: int
    revoked_at: int | None = None


class OrderRecord(msgspec.Struct, gc=False):
    number: int  # the market's id
    placed_at: int
    of_session: bool = False  # waits, and is to be cancelled when the session that placed it ends


class LeaseRecord(msgspec.Struct, gc=False):
    number: int  # the market's id
    leaf: str
    order: str
    started_at: int
    ended_at: int | None = None


NEVER_LOOKED_AT = 2**62  # later than any time


class BudgetRecord(msgspec.Struct, gc=False, omit_defaults=True):
    """What a tenant means to spend, and what it owed by then: what it owes later, less that, is
    spent.

    An `action` of "" is that of budgets set before there were actions: nothing watches them. While
    one is watched, nothing of it can be crossed before `look_at`, as long as the tenant is charged
    at most `pace` per hour. Both are part of the state: when a budget acts must not depend on what
    a process happens to remember.
    """

    amount: int  # millionths of a dollar
    since: int
    owed: str  # the exact charge, as text because it outgrows 64 bits
    action: str = ""
    reached: int = 0  # how many of its thresholds
    look_at: int = NEVER_LOOKED_AT
    pace: int = 0
    # 0 until it is; None if that is not noted, as of budgets set before it was
    spent_at: int | None = None


class OwnCaps(msgspec.Struct, frozen=True, gc=False):
    """What a tenant allows itself at most, in millionths of a dollar per hour."""

    rate: int | None
    worst_rate: int | None


class Waiting:
    """What the open orders of a tenant would follow up to at most, in all. It follows from the
    market, and is kept so that caps are quick."""

    __slots__ = ("limits", "orders")

    def __init__(self) -> None:
        self.orders: dict[int, int] = {}
        self.limits = 0

    def put(self, number: int, alternatives: Sequence[Alternative]) -> None:
        self.take_out(number)
        limit = self.orders[number] = highest_limit(alternatives)
        self.limits += limit

    def take_out(self, number: int) -> None:
        self.limits -= self.orders.pop(number, 0)


def highest_limit(alternatives: Sequence[Alternative]) -> int:
    """An order wins one leaf, at this price at most."""
    return max([one.limit for one in alternatives], default=0)


class Account:
    """One tenant."""

    __slots__ = (
        "billed",
        "budget",
        "caps",
        "created_at",
        "ended",
        "events",
        "fees",
        "lease_names",
        "leases",
        "leases_numbered",
        "name",
        "open_orders",
        "order_names",
        "orders",
        "orders_numbered",
        "own_caps",
        "rate_max",
        "running_fees",
        "tag",
        "waiting",
        "worst_rate_max",
    )

    def __init__(self, name: str, created_at: int, caps: Caps) -> None:
        self.name = name
        self.tag = tag_of(name)
        self.created_at = created_at
        self.caps = caps
        self.events = 0  # the number of its latest event
        self.open_orders = 0
        self.orders_numbered = 0
        self.leases_numbered = 0
        self.orders: dict[str, OrderRecord] = {}  # open, or filled and its lease still on the books
        self.order_names: dict[int, str] = {}
        self.leases: dict[str, LeaseRecord] = {}  # lasting, or ended and still on the books
        self.lease_names: dict[int, str] = {}
        self.ended: list[str] = []  # leases that ended and are still on the books, oldest first
        # orders of the market that a fee names, and until when; their names are kept so long
        self.fees: dict[int, int] = {}
        self.running_fees = RunningFees()
        # what statements have charged so far for each line that goes on
        self.billed: dict[str, int] = {}
        self.budget: BudgetRecord | None = None
        self.own_caps: OwnCaps | None = None
        self.waiting: Waiting | None = None  # once a cap was looked at
        # what follows from the caps of both, kept by `caps.put_in_force`
        self.rate_max: int | None = None
        self.worst_rate_max: int | None = None

    @property
    def is_capped(self) -> bool:
        return self.rate_max is not None or self.worst_rate_max is not None

    @property
    def held(self) -> int:
        """How many leases last."""
        return len(self.leases) - len(self.ended)

    def order_placed(self, number: int, at: int) -> str:
        self.orders_numbered += 1
        self.open_orders += 1
        name = order_id(self.tag, self.orders_numbered)
        self.orders[name] = OrderRecord(number, at)
        self.order_names[number] = name
        return name

    def order_rests(self, number: int, alternatives: Sequence[Alternative]) -> None:
        if self.waiting is not None:
            self.waiting.put(number, alternatives)

    def order_cancelled(self, number: int) -> str:
        """Its name is kept until `forget_order`: a fee for cancelling it may still come."""
        self.open_orders -= 1
        if self.waiting is not None:
            self.waiting.take_out(number)
        name = self.order_names[number]
        del self.orders[name]
        return name

    def forget_order(self, number: int) -> None:
        if number not in self.fees:
            self.order_names.pop(number, None)

    def fee_charged(self, number: int, until: int, rate: int, at: int) -> str:
        self.fees[number] = max(until, self.fees.get(number, 0))
        self.running_fees.add(until, rate, at)
        return self.order_names[number]

    def lease_started(self, number: int, leaf: str, order: int, at: int) -> str:
        self.open_orders -= 1
        if self.waiting is not None:
            self.waiting.take_out(order)
        self.leases_numbered += 1
        name = lease_id(self.tag, self.leases_numbered)
        order_name = self.order_names[order]
        self.orders[order_name].of_session = False
        self.leases[name] = LeaseRecord(number, leaf, order_name, at)
        self.lease_names[number] = name
        return name

    def lease_ended(self, number: int, at: int) -> str:
        name = self.lease_names[number]
        self.leases[name].ended_at = at
        self.ended.append(name)
        return name

    def books_closed(self, before: int) -> None:
        """Forget the leases that the market has forgotten, and the orders that won them."""
        closed = 0
        for name in self.ended:
            record = self.leases[name]
            assert record.ended_at is not None
            if record.ended_at > before:
                break
            closed += 1
            del self.leases[name]
            del self.lease_names[record.number]
            self.forget_order(self.orders.pop(record.order).number)
            self.billed.pop(name, None)
        del self.ended[:closed]
        self._forget_fees([number for number, until in self.fees.items() if until <= before])

    def _forget_fees(self, over: list[int]) -> None:
        names = {self.order_names[number] for number in over}
        # What is billed is gone through once for all of them: an order's lines begin with its name,
        # and there may be many of both.
        for line in (
            [line for line in self.billed if line.partition(" ")[0] in names] if names else []
        ):
            del self.billed[line]
        for number in over:
            del self.fees[number]
            if self.order_names[number] not in self.orders:
                del self.order_names[number]

    def live_lease(self, name: str) -> LeaseRecord | None:
        record = self.leases.get(name)
        return record if record is not None and record.ended_at is None else None
