"""Events and notices, as tenants and the operator receive them.

Each tenant's events are numbered without gaps. The operator's stream has its own numbers for all
events, and names the `tenant` of each. An event is sent as
`{"n": 17, "event": {"type": "lease.started", ...}}`. Notices report a current level and have no
number.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from laissez.wire.requests import Alternative, Caps


class _Event(msgspec.Struct, frozen=True, gc=False, tag_field="type"):
    at: str


class OrderPlaced(_Event, frozen=True, tag="order.placed"):
    order: str
    alternatives: tuple[Alternative, ...]
    clipped: bool


class OrderAmended(_Event, frozen=True, tag="order.amended"):
    order: str
    alternatives: tuple[Alternative, ...]
    clipped: bool


class OrderCancelled(_Event, frozen=True, tag="order.cancelled"):
    order: str


class LeaseStarted(_Event, frozen=True, tag="lease.started"):
    """`order` is filled: you hold the leaf from `at` on, and `rate` is its price at that time."""

    lease: str
    leaf: str
    order: str
    rate: str
    limit: str
    hold_until: str | None


class LeaseEnded(_Event, frozen=True, tag="lease.ended"):
    """A lease ended for `reason`. A lease that was lost on price had a `rate` above its `limit`."""

    lease: str
    leaf: str
    reason: str
    rate: str
    limit: str | None


class LimitSet(_Event, frozen=True, tag="lease.limit_set"):
    lease: str
    leaf: str
    limit: str | None


class FeeCharged(_Event, frozen=True, tag="fee.charged"):
    order: str
    scope: str
    rate: str
    until: str


class BudgetSet(_Event, frozen=True, tag="budget.set", omit_defaults=True):
    """A budget of `amount` dollars, counted from now, or from the previous budget's start if
    `kept`. `action` happens when the budget is spent. `amount` is `null` if the budget was
    removed."""

    amount: str | None
    action: str = ""
    kept: bool = False


class BudgetWarning(_Event, frozen=True, tag="budget.warning"):
    """The budget is `percent` spent. At the present rate it is all spent at `ends_at`; `null` means
    never, or later than the latest time."""

    percent: int
    spent: str
    amount: str
    rate: str
    ends_at: str | None


class BudgetSpent(_Event, frozen=True, tag="budget.spent"):
    """The whole budget is spent, and `action` takes effect at this instant."""

    action: str
    spent: str
    amount: str


class OwnCapsSet(_Event, frozen=True, tag="caps.set"):
    """A tenant set caps on its own spending, in dollars per hour; `null` means no cap."""

    rate: str | None
    worst_rate: str | None


class WebhookCreated(_Event, frozen=True, tag="webhook.created"):
    """The webhook receives the events after number `after`. Events never contain the secret."""

    webhook: str
    url: str
    types: tuple[str, ...] | None
    after: int


class WebhookDeleted(_Event, frozen=True, tag="webhook.deleted"):
    webhook: str


class WebhookSecretRotated(_Event, frozen=True, tag="webhook.secret_rotated"):
    webhook: str


class WebhookRestarted(_Event, frozen=True, tag="webhook.restarted"):
    """The webhook receives all events after number `after` again."""

    webhook: str
    after: int


class FloorSet(_Event, frozen=True, tag="floor.set"):
    node: str
    price: str
    clipped: bool


class Band(msgspec.Struct, frozen=True, gc=False):
    fraction: str
    seconds: float


class ControlsSet(_Event, frozen=True, tag="controls.set"):
    node: str
    rise: Band | None
    fall: Band | None
    hold_s: float | None
    flash_s: float | None


class ResourceOffline(_Event, frozen=True, tag="resource.offline"):
    leaf: str


class ResourceOnline(_Event, frozen=True, tag="resource.online"):
    leaf: str


class BooksClosed(_Event, frozen=True, tag="books.closed"):
    before: str


class TenantCreated(_Event, frozen=True, tag="tenant.created"):
    name: str
    caps: Caps


class CapsSet(_Event, frozen=True, tag="tenant.caps_set"):
    name: str
    caps: Caps


class KeyIssued(_Event, frozen=True, tag="key.issued"):
    """`holder` is a tenant's name, or "operator". Events never contain the secret."""

    key: str
    holder: str
    name: str
    scopes: tuple[str, ...]


class KeyRevoked(_Event, frozen=True, tag="key.revoked"):
    key: str
    holder: str


MoneyEvent: TypeAlias = BudgetSet | BudgetWarning | BudgetSpent | OwnCapsSet
TenantEvent: TypeAlias = (
    OrderPlaced
    | OrderAmended
    | OrderCancelled
    | LeaseStarted
    | LeaseEnded
    | LimitSet
    | FeeCharged
    | MoneyEvent
)
OperatorEvent: TypeAlias = (
    FloorSet
    | ControlsSet
    | ResourceOffline
    | ResourceOnline
    | BooksClosed
    | TenantCreated
    | CapsSet
    | KeyIssued
    | KeyRevoked
)
# these belong to the holder of the webhook
WebhookEvent: TypeAlias = WebhookCreated | WebhookDeleted | WebhookSecretRotated | WebhookRestarted
Event: TypeAlias = TenantEvent | OperatorEvent | WebhookEvent


class Numbered(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """An event with its number in a stream. A tenant's stream has its own numbers and no `tenant`.
    The operator's stream has all events, and `tenant` is the tenant of an event, if it has one."""

    n: int
    event: Event
    tenant: str | None = None


class RateChanged(_Event, frozen=True, tag="rate.changed"):
    """The current charge of a lease; sent at most once per second and lease."""

    lease: str
    leaf: str
    rate: str
    limit: str | None


class LimitNear(_Event, frozen=True, tag="limit.near"):
    """The rate is within the session's `warn_within` of the limit: the next bid may end the
    lease."""

    lease: str
    leaf: str
    rate: str
    limit: str


Notice: TypeAlias = RateChanged | LimitNear
