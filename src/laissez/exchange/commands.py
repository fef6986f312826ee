"""Requests, as the journal stores them, and their commands.

Trading and operating use the market's own commands. The commands defined here are about accounts,
keys, caps, budgets and webhooks.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, TypeAlias

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

# The only holder of keys that is not a tenant; the market reserves the name.
OPERATOR: Final = "operator"
SERVICE: Final = "service"  # the key of the server's own requests


class Action(IntEnum):
    """The action when a budget is spent."""

    WARN = 0
    NO_NEW_ORDERS = 1
    LIMITS_TO_FLOOR = 2
    RELINQUISH = 3


class Caps(msgspec.Struct, frozen=True, gc=False):
    """The operator's limits on one tenant; None means the server's default. Rates are in millionths
    of a dollar per hour and have no default."""

    open_orders: int | None = None
    commands_per_second: int | None = None
    commands_burst: int | None = None
    sessions: int | None = None
    rate: int | None = None
    worst_rate: int | None = None


class OwnCaps(msgspec.Struct, frozen=True, gc=False):
    """A tenant's caps on its own spending, in millionths of a dollar per hour."""

    rate: int | None = None
    worst_rate: int | None = None


class SetBudget(msgspec.Struct, frozen=True, gc=False):
    """Set a budget in millionths of a dollar; None removes it. Spending counts from now on, or with
    `keep` from the start of the previous budget, if there is one."""

    amount: int | None
    action: Action = Action.WARN
    keep: bool = False


class SetOwnCaps(msgspec.Struct, frozen=True, gc=False):
    """Set a tenant's own caps in millionths of a dollar per hour; None means no cap."""

    rate: int | None
    worst_rate: int | None


class CreateWebhook(msgspec.Struct, frozen=True, gc=False):
    """Send events after number `after` (None: from now on) to `url`. `types` are codes of events
    (None: all)."""

    url: str
    types: tuple[int, ...] | None
    after: int | None


class DeleteWebhook(msgspec.Struct, frozen=True, gc=False):
    webhook: int


class RotateWebhookSecret(msgspec.Struct, frozen=True, gc=False):
    webhook: int


class RestartWebhook(msgspec.Struct, frozen=True, gc=False):
    """Send all events after number `after` again."""

    webhook: int
    after: int


class CreateTenant(msgspec.Struct, frozen=True, gc=False):
    name: str
    caps: Caps


class SetCaps(msgspec.Struct, frozen=True, gc=False):
    tenant: str
    caps: Caps


class IssueKey(msgspec.Struct, frozen=True, gc=False):
    """`digest` is the hash of the secret, which is never stored."""

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

# Commands that do not reach the market, so they do not advance its time.
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
    """A command with the holder `who` that sent it under its key `key`. `id` is the idempotency
    key, and `digest` the hash of the request made under it. An order with `of_session` is cancelled
    when its session ends."""

    who: str
    key: str
    id: str
    digest: bytes
    command: Command
    of_session: bool = False
