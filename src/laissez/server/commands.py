"""What the journal keeps: a request with who made it, and the command itself, with prices as whole
numbers and ids as the sender wrote them.

The operator's commands are the market's own. A tenant's are not: they name orders and leases by the
tenant's own ids, which the exchange looks up.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from laissez.market.commands import (
    AdvanceTime,
    Alternative,
    BringOnline,
    CloseBooks,
    SetControls,
    SetFloor,
    TakeOffline,
)
from laissez.wire.requests import Caps

# the one holder of keys that is no tenant; the market lets no tenant have this name
OPERATOR = "operator"


SERVICE = "service"  # who made a request that nobody's key made


class PlaceOrder(msgspec.Struct, frozen=True, gc=False, tag="place_order", omit_defaults=True):
    """`of_session`: it is cancelled when the session that placed it ends."""

    alternatives: tuple[Alternative, ...]
    of_session: bool = False


class AmendOrder(msgspec.Struct, frozen=True, gc=False, tag="amend_order"):
    order: str
    alternatives: tuple[Alternative, ...]


class CancelOrder(msgspec.Struct, frozen=True, gc=False, tag="cancel_order"):
    order: str


class SetLimit(msgspec.Struct, frozen=True, gc=False, tag="set_limit"):
    lease: str
    limit: int | None


class Relinquish(msgspec.Struct, frozen=True, gc=False, tag="relinquish"):
    lease: str
    budget_spent: bool = False


class SetBudget(msgspec.Struct, frozen=True, gc=False, tag="set_budget", omit_defaults=True):
    """Millionths of a dollar, counted from now on, or with `keep` from when the one before was set,
    if there is one; None: no budget.

    `action` is "" in journals from before there were actions, `keep` None in those from before a
    budget could be kept.
    """

    amount: int | None
    action: str = ""
    keep: bool | None = None


class SetOwnCaps(msgspec.Struct, frozen=True, gc=False, tag="set_own_caps"):
    """Millionths of a dollar per hour; None: no cap of one's own."""

    rate: int | None
    worst_rate: int | None


class CreateWebhook(msgspec.Struct, frozen=True, gc=False, tag="create_webhook"):
    """It is sent events after number `after`; None: from its own creation on. `types` None: all."""

    url: str
    types: tuple[str, ...] | None
    after: int | None


class DeleteWebhook(msgspec.Struct, frozen=True, gc=False, tag="delete_webhook"):
    webhook: str


class RotateWebhookSecret(msgspec.Struct, frozen=True, gc=False, tag="rotate_webhook_secret"):
    webhook: str


class RestartWebhook(msgspec.Struct, frozen=True, gc=False, tag="restart_webhook"):
    """It is sent everything after event `after` again."""

    webhook: str
    after: int


class CreateTenant(msgspec.Struct, frozen=True, gc=False, tag="create_tenant"):
    name: str
    caps: Caps


class SetCaps(msgspec.Struct, frozen=True, gc=False, tag="set_caps"):
    tenant: str
    caps: Caps


class IssueKey(msgspec.Struct, frozen=True, gc=False, tag="issue_key"):
    """`digest` is the hash of a secret that was made elsewhere and is stored nowhere."""

    holder: str
    key: str
    digest: bytes
    scopes: tuple[str, ...]
    name: str


class RevokeKey(msgspec.Struct, frozen=True, gc=False, tag="revoke_key"):
    key: str


TenantCommand: TypeAlias = (
    PlaceOrder | AmendOrder | CancelOrder | SetLimit | Relinquish | SetBudget | SetOwnCaps
)
AccountCommand: TypeAlias = CreateTenant | SetCaps | IssueKey | RevokeKey
WebhookCommand: TypeAlias = CreateWebhook | DeleteWebhook | RotateWebhookSecret | RestartWebhook
MarketCommand: TypeAlias = (
    SetFloor | SetControls | TakeOffline | BringOnline | AdvanceTime | CloseBooks
)
Command: TypeAlias = TenantCommand | AccountCommand | WebhookCommand | MarketCommand


# The market hears nothing of these, and its time stands still.
BESIDE_THE_MARKET: frozenset[type] = frozenset(
    (
        SetOwnCaps,
        CreateWebhook,
        DeleteWebhook,
        RotateWebhookSecret,
        RestartWebhook,
        CreateTenant,
        SetCaps,
        IssueKey,
        RevokeKey,
    )
)


class Request(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`who` holds the key `by`; `id` is the client's own for this request, and `body` a digest of
    all it asked for under that id."""

    who: str
    by: str
    id: str
    body: bytes
    command: Command


class Asker(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A request of which only matters who made it and under which id: the rest of its bytes is
    skipped, not read."""

    who: str
    by: str
    id: str
