"""Events: the market's, and those about accounts, keys, caps, budgets and webhooks.

An event with a tenant is seen by that tenant and the operator, all others by the operator alone.
Events hold integers and names; `laissez.wire.rendering` renders them for the API.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from laissez.exchange.commands import OPERATOR, Action, Caps
from laissez.exchange.refusals import Refusal
from laissez.market import events as market


class BudgetSet(msgspec.Struct, frozen=True, gc=False):
    """A budget in millionths of a dollar. Spending counts from now on, or if `kept` from the start
    of the previous budget. A removal has no amount and no action."""

    at: int
    tenant: str
    amount: int | None
    action: Action | None
    kept: bool


class BudgetWarning(msgspec.Struct, frozen=True, gc=False):
    """At the present rate the budget is spent at `ends_at`; None: never, or later than the latest
    time. Money is in millionths of a dollar, rounded down."""

    at: int
    tenant: str
    percent: int
    spent: int
    amount: int
    rate: int
    ends_at: int | None


class BudgetSpent(msgspec.Struct, frozen=True, gc=False):
    at: int
    tenant: str
    action: Action
    spent: int
    amount: int


class OwnCapsSet(msgspec.Struct, frozen=True, gc=False):
    at: int
    tenant: str
    rate: int | None
    worst_rate: int | None


class WebhookCreated(msgspec.Struct, frozen=True, gc=False):
    at: int
    holder: str
    webhook: int
    url: str
    types: tuple[int, ...] | None
    after: int


class WebhookDeleted(msgspec.Struct, frozen=True, gc=False):
    at: int
    holder: str
    webhook: int


class WebhookSecretRotated(msgspec.Struct, frozen=True, gc=False):
    at: int
    holder: str
    webhook: int


class WebhookRestarted(msgspec.Struct, frozen=True, gc=False):
    at: int
    holder: str
    webhook: int
    after: int


class TenantCreated(msgspec.Struct, frozen=True, gc=False):
    at: int
    name: str
    caps: Caps


class CapsSet(msgspec.Struct, frozen=True, gc=False):
    at: int
    name: str
    caps: Caps


class KeyIssued(msgspec.Struct, frozen=True, gc=False):
    at: int
    key: str
    holder: str
    name: str
    scopes: tuple[str, ...]


class KeyRevoked(msgspec.Struct, frozen=True, gc=False):
    at: int
    key: str
    holder: str


WebhookEvent: TypeAlias = WebhookCreated | WebhookDeleted | WebhookSecretRotated | WebhookRestarted
AccountEvent: TypeAlias = TenantCreated | CapsSet | KeyIssued | KeyRevoked
MoneyEvent: TypeAlias = BudgetSet | BudgetWarning | BudgetSpent | OwnCapsSet
TenantEvent: TypeAlias = market.TenantEvent | MoneyEvent
Event: TypeAlias = TenantEvent | market.OperatorEvent | WebhookEvent | AccountEvent

# The journal and webhooks store these indexes: add new events at the end.
EVENTS: tuple[type, ...] = (
    market.OrderPlaced,
    market.OrderAmended,
    market.OrderCancelled,
    market.LeaseStarted,
    market.LeaseEnded,
    market.LimitSet,
    market.FeeCharged,
    BudgetSet,
    BudgetWarning,
    BudgetSpent,
    OwnCapsSet,
    WebhookCreated,
    WebhookDeleted,
    WebhookSecretRotated,
    WebhookRestarted,
    market.FloorSet,
    market.ControlsSet,
    market.LeafTakenOffline,
    market.LeafBroughtOnline,
    market.BooksClosed,
    TenantCreated,
    CapsSet,
    KeyIssued,
    KeyRevoked,
)
CODES: dict[type, int] = {kind: code for code, kind in enumerate(EVENTS)}

_OF_HOLDER = frozenset((WebhookCreated, WebhookDeleted, WebhookSecretRotated, WebhookRestarted))


def tenant_of(event: Event) -> str | None:
    """The tenant that sees an event beside the operator, if any."""
    tenant: str | None = getattr(event, "tenant", None)
    if tenant is None and type(event) in _OF_HOLDER and event.holder != OPERATOR:  # type: ignore[union-attr]
        return event.holder  # type: ignore[union-attr]
    return tenant


class Document(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A document stored with the journal entry that produced it."""

    name: str
    body: bytes


class Applied(msgspec.Struct, frozen=True, gc=False):
    """The outcome of a request. `first` is the operator's number of the first event. `tenants` has
    the tenant of each event, and `numbers` the event's number in that tenant's stream; None and 0
    for events of the operator alone."""

    first: int
    events: tuple[Event, ...]
    tenants: tuple[str | None, ...]
    numbers: tuple[int, ...]
    refusal: Refusal | None
    documents: tuple[Document, ...] = ()
