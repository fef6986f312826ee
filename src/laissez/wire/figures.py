"""Figures: what a change would do, what tenants spend and mean to spend, and how the market has
done lately."""

from __future__ import annotations

import msgspec

from laissez.wire.requests import OperatorCommand


class Preview(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Commands of the operator, as if they were carried out now, in this order; each succeeds or is
    refused by itself."""

    commands: tuple[OperatorCommand, ...]


class PreviewRefused(msgspec.Struct, frozen=True):
    """The command at `index` would be refused."""

    index: int
    code: str
    detail: str


class PreviewTenant(msgspec.Struct, frozen=True):
    """How many leases a tenant would lose and win."""

    tenant: str
    lost: int
    won: int


class PreviewEnded(msgspec.Struct, frozen=True):
    """A lease that would end, as `lease.ended` would tell it."""

    leaf: str
    tenant: str
    reason: str
    rate: str
    limit: str | None


class PreviewDone(msgspec.Struct, frozen=True):
    """What would happen at `at`.

    `transfers` are leaves that change hands from one tenant to another; `ended` are the first
    leases that end. `rate_before` and `rate_after` are what all leases together are charged per
    hour; of the leases that last, `dearer` are charged more and `cheaper` less. Idle leaves are
    online and nobody's.
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
    """Dollars, counted from now on, and what happens when they are spent: `warn`, `no_new_orders`,
    `limits_to_floor` or `relinquish`.

    With `keep` they are counted from when the budget before was set, if there is one: what was
    spent of it is spent of this one too.
    """

    amount: str
    action: str = "warn"
    keep: bool = False


class Budget(msgspec.Struct, frozen=True):
    """What a tenant means to spend from `since` on, and how far it got.

    `left` is never less than 0. `ends_at` is when it is used up at the rate now, or when it was;
    `null` if that is beyond what times can be, or was not noted, as of budgets set before it was.
    `state` is open, or spent once the action was carried out. An `action` of `null` is that of a
    budget set before there were actions.
    """

    amount: str
    since: str
    spent: str
    rate_now: str
    left: str
    ends_at: str | None
    action: str | None
    state: str
    spent_percent: float


class OwnCaps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Caps in dollars per hour; `null`, or left out: none. `rate` bounds what your leases are
    charged now and the limits of your open orders, together, and `worst_rate` the limits of
    both."""

    rate: str | None = None
    worst_rate: str | None = None


class SpendingCaps(msgspec.Struct, frozen=True):
    """Caps of your own, those of the operator, and the lower of each, which is in force; and what
    they bound, as it is now."""

    own: OwnCaps
    operator: OwnCaps
    in_force: OwnCaps
    rate_now: str
    worst_rate_now: str


class Spending(msgspec.Struct, frozen=True):
    """What a tenant owes in all, in dollars, and what its leases are charged per hour now."""

    tenant: str
    total: str
    rate_now: str
    leases: int
    open_orders: int
    budget: Budget | None


class MarketSample(msgspec.Struct, frozen=True):
    """The market at `at`; `transfers`, `started` and `ended` count leases since the sample
    before."""

    at: str
    revenue: str
    rate_now: str
    leaves: int
    online: int
    leased: int
    open_orders: int
    transfers: int
    started: int
    ended: int


class MarketHistory(msgspec.Struct, frozen=True):
    """Oldest first, `every_s` seconds apart."""

    every_s: float
    samples: tuple[MarketSample, ...]
