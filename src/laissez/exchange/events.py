"""What the exchange says happened: the market's events, and those about accounts, keys, caps,
budgets and webhooks.

Events with a tenant are that tenant's (and the operator's); all others are the operator's alone.
They hold integers and names. `laissez.wire.rendering` makes of them what a viewer is sent.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from laissez.exchange.commands import OPERATOR, Action, Caps
from laissez.exchange.refusals import Refusal
from laissez.market import events as market


class BudgetSet(msgspec.Struct, frozen=True, gc=False):
    """Millionths of a dollar from now on, or if it is `kept` since the budget before was set; None:
    there is no budget any more."""

    at: int
    tenant: str
    amount: int | None
    action: Action
    kept: bool


class BudgetWarning(msgspec.Struct, frozen=True, gc=False):
    """`ends_at` is when all of it is spent at the rate now; None: never, or later than times can
    be. Money is in millionths of a dollar, rounded down."""

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

# As the journal and a webhook's types number them: new ones are added at the end.
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

OF_TENANT = frozenset(kind for kind in EVENTS if "tenant" in kind.__struct_fields__)  # type: ignore[attr-defined]
_OF_HOLDER = frozenset((WebhookCreated, WebhookDeleted, WebhookSecretRotated, WebhookRestarted))


def tenant_of(event: Event) -> str | None:
    """Whose stream an event belongs to; None: the operator's alone."""
    kind = type(event)
    if kind in OF_TENANT:
        return event.tenant  # type: ignore[union-attr]
    if kind in _OF_HOLDER:
        return None if event.holder == OPERATOR else event.holder  # type: ignore[union-attr]
    return None


class Document(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A document filed with the entry that made it."""

    name: str
    body: bytes


class Applied(msgspec.Struct, frozen=True, gc=False):
    """What came of a request. `first` is the operator's number of the first event, and the others
    follow. `tenants` has whose each event is, and `numbers` its number in that tenant's own
    stream; None and 0 where it is the operator's alone."""

    first: int
    events: tuple[Event, ...]
    tenants: tuple[str | None, ...]
    numbers: tuple[int, ...]
    refusal: Refusal | None
    documents: tuple[Document, ...] = ()
