"""Figures: previews of the operator's commands, spending, budgets and caps, the market's recent
history."""

from __future__ import annotations

import msgspec

from laissez.wire.requests import OperatorCommand


class Preview(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Commands of the operator to try in this order; each succeeds or is refused by itself."""

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
    """A lease that would end, with the fields of `lease.ended`."""

    leaf: str
    tenant: str
    reason: str
    rate: str
    limit: str | None


class PreviewDone(msgspec.Struct, frozen=True):
    """What would happen at `at`.

    `transfers` counts leaves that pass from one tenant to another; `ended` lists the first leases
    that end. `rate_before` and `rate_after` are the sums of all charges per hour; of the leases
    that stay, `dearer` are charged more and `cheaper` less. Idle leaves are online without a lease.
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
    """Dollars, counted from now on, and the action when they are spent: `warn`, `no_new_orders`,
    `limits_to_floor` or `relinquish`. With `keep`, counted from when the previous budget was set.
    """

    amount: str
    action: str = "warn"
    keep: bool = False


class Budget(msgspec.Struct, frozen=True):
    """A tenant's budget from `since` on, and what is spent of it.

    `left` is never below 0. `ends_at` is when it is used up at the current rate, or was used up;
    `null`: never, or beyond the range of times. `state` is open, or spent once the action was
    carried out.
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
    """Caps in dollars per hour; `null` or left out: none. `rate` bounds the sum of what your leases
    are charged now and the limits of your open orders, `worst_rate` the sum of the limits of
    both."""

    rate: str | None = None
    worst_rate: str | None = None


class SpendingCaps(msgspec.Struct, frozen=True):
    """Your own caps, the operator's, and the lower of each, which is in force; and the rates that
    they bound."""

    own: OwnCaps
    operator: OwnCaps
    in_force: OwnCaps
    rate_now: str
    worst_rate_now: str


class Spending(msgspec.Struct, frozen=True):
    """The dollars that a tenant owes in all, and the sum of its charges per hour now."""

    tenant: str
    total: str
    rate_now: str
    leases: int
    open_orders: int
    budget: Budget | None


class MarketSample(msgspec.Struct, frozen=True):
    """The market at `at`; `transfers`, `started` and `ended` count leases since the previous
    sample."""

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
