"""Previews of the operator's changes, tenants' spending with budgets and caps, market history."""

from __future__ import annotations

import msgspec

from laissez.wire.requests import OperatorCommand
from laissez.wire.views import MarketSummary


class Preview(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Commands of the operator to try out now, in this order. Each succeeds or is refused by
    itself."""

    commands: tuple[OperatorCommand, ...]


class PreviewRefused(msgspec.Struct, frozen=True):
    """The command at `index` would be refused."""

    index: int
    code: str
    detail: str


class PreviewTenant(msgspec.Struct, frozen=True):
    """The numbers of leases that a tenant would lose and win."""

    tenant: str
    lost: int
    won: int


class PreviewEnded(msgspec.Struct, frozen=True):
    """A lease that would end, with the fields of its `lease.ended` event."""

    leaf: str
    tenant: str
    reason: str
    rate: str
    limit: str | None


class PreviewDone(msgspec.Struct, frozen=True):
    """The effect that the commands would have at `at`.

    `transfers` counts leaves that pass from one tenant to another. `ended` lists the first leases
    that end. `rate_before` and `rate_after` are the hourly charges of all leases together. Of the
    leases that continue, `dearer` are charged more and `cheaper` less. Idle leaves are online and
    have no owner.
    """

    at: str
    refused: tuple[PreviewRefused, ...]
    leases_ended: int
    leases_started: int
    transfers: int
    tenants: tuple[PreviewTenant, ...]
    ended: tuple[PreviewEnded, ...]
    rate_before: str
    rate_after: str
    dearer: int
    cheaper: int
    idle_before: int
    idle_after: int


class BudgetBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A budget in dollars, and the action when it is spent: `warn`, `no_new_orders`,
    `limits_to_floor` or `relinquish`.

    Spending counts from now on. With `keep` it counts from the start of the previous budget, if
    there is one.
    """

    amount: str
    action: str = "warn"
    keep: bool = False


class Budget(msgspec.Struct, frozen=True):
    """A tenant's budget since `since`, and how much of it is spent.

    `left` is never below 0. `ends_at` is when the budget was spent, or will be at the present rate;
    `null` means never, or later than the latest time. `state` is open, or spent once the action
    took effect.
    """

    amount: str
    since: str
    spent: str
    rate_now: str
    left: str
    ends_at: str | None
    action: str
    state: str
    spent_percent: float


class OwnCaps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Caps in dollars per hour; `null` or omitted means no cap. `rate` bounds the present charges
    of your leases plus the limits of your open orders. `worst_rate` bounds the limits of both."""

    rate: str | None = None
    worst_rate: str | None = None


class SpendingCaps(msgspec.Struct, frozen=True):
    """Your own caps, the operator's, and the lower of each, which is in force. `rate_now` and
    `worst_rate_now` are the amounts that the caps bound."""

    own: OwnCaps
    operator: OwnCaps
    in_force: OwnCaps
    rate_now: str
    worst_rate_now: str


class Spending(msgspec.Struct, frozen=True):
    """A tenant's total charges in dollars, and the present hourly charge of its leases."""

    tenant: str
    total: str
    rate_now: str
    leases: int
    open_orders: int
    budget: Budget | None


class MarketSample(MarketSummary, frozen=True):
    """The market at `at`. `transfers`, `started` and `ended` count leases since the previous
    sample."""

    transfers: int
    started: int
    ended: int


class MarketHistory(msgspec.Struct, frozen=True):
    """Samples of the market, oldest first, `every_s` seconds apart."""

    every_s: float
    samples: tuple[MarketSample, ...]
