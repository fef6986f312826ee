"""What the journal keeps: a request with who made it, and the command itself.

Trading and operating use the market's own commands. Beside them are those about accounts, keys,
caps, budgets and webhooks, of which the market hears nothing.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

import msgspec

from laissez.market.commands import (
    AdvanceTime,
    AmendOrder,
    BringOnline,
    CancelOrder,
    CloseBooks,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)

# the one holder of keys that is no tenant; the market lets no tenant have this name
OPERATOR = "operator"
SERVICE = "service"  # the key of a request that the server made by itself


class Action(IntEnum):
    """What happens when a budget is spent."""

    WARN = 0
    NO_NEW_ORDERS = 1
    LIMITS_TO_FLOOR = 2
    RELINQUISH = 3


class Caps(msgspec.Struct, frozen=True, gc=False):
    """The operator's bounds on one tenant; None leaves the server's default in force. Rates are
    millionths of a dollar per hour and have no default."""

    open_orders: int | None = None
    commands_per_second: int | None = None
    commands_burst: int | None = None
    sessions: int | None = None
    rate: int | None = None
    worst_rate: int | None = None


class SetBudget(msgspec.Struct, frozen=True, gc=False):
    """Millionths of a dollar, counted from now on, or with `keep` from when the budget before was
    set, if there is one; None removes the budget."""

    amount: int | None
    action: Action = Action.WARN
    keep: bool = False


class SetOwnCaps(msgspec.Struct, frozen=True, gc=False):
    """Millionths of a dollar per hour; None: no cap of one's own."""

    rate: int | None
    worst_rate: int | None


class CreateWebhook(msgspec.Struct, frozen=True, gc=False):
    """It is sent events after number `after`; None: from its own creation on. `types` are codes of
    events; None: all."""

    url: str
    types: tuple[int, ...] | None
    after: int | None


class DeleteWebhook(msgspec.Struct, frozen=True, gc=False):
    webhook: int


class RotateWebhookSecret(msgspec.Struct, frozen=True, gc=False):
    webhook: int


class RestartWebhook(msgspec.Struct, frozen=True, gc=False):
    """It is sent everything after event `after` again."""

    webhook: int
    after: int


class CreateTenant(msgspec.Struct, frozen=True, gc=False):
    name: str
    caps: Caps


class SetCaps(msgspec.Struct, frozen=True, gc=False):
    tenant: str
    caps: Caps


class IssueKey(msgspec.Struct, frozen=True, gc=False):
    """`digest` is the hash of a secret that was made elsewhere and is stored nowhere."""

    holder: str
    key: str
    digest: bytes
    scopes: tuple[str, ...]
    name: str


class RevokeKey(msgspec.Struct, frozen=True, gc=False):
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

# The market hears nothing of these, so its time stands still.
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


class Request(msgspec.Struct, frozen=True, gc=False):
    """`who` holds the key `key`. `id` is the client's idempotency key, and `digest` stands for all
    that was asked for under it. An order with `of_session` is cancelled when the session that
    placed it ends."""

    who: str
    key: str
    id: str
    digest: bytes
    command: Command
    of_session: bool = False
