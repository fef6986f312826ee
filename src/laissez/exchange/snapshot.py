"""Snapshots of the exchange: the market's own snapshot, and the accounts, keys and webhooks.

Equal states give equal bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import astuple

from laissez.exchange.accounts import Account, RunningFees
from laissez.exchange.budgets import BudgetRecord
from laissez.exchange.caps import put_in_force
from laissez.exchange.commands import Caps, OwnCaps
from laissez.exchange.keys import KeyRecord
from laissez.exchange.webhooks import Registry, WebhookRecord
from laissez.market import Market

if TYPE_CHECKING:
    from laissez.exchange.exchange import Exchange


class SavedAccount(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    name: str
    created_at: int
    caps: Caps
    events: int
    session_orders: set[int]
    budget: BudgetRecord | None
    own_caps: OwnCaps


class _Exchange(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    market: bytes
    events: int
    closed_before: int
    accounts: list[SavedAccount]
    keys: list[KeyRecord]
    webhooks: list[WebhookRecord]
    webhooks_created: dict[str, int]


def dump(exchange: Exchange) -> bytes:
    """Accounts and keys are written in order of age, which gives their numbers in the journal."""
    fields = SavedAccount.__struct_fields__
    return msgspec.msgpack.encode(
        _Exchange(
            exchange.market.snapshot(),
            exchange.events,
            exchange.closed_before,
            [
                SavedAccount(*[getattr(account, field) for field in fields])
                for account in exchange.accounts.values()
            ],
            list(exchange.keys.values()),
            list(exchange.webhooks.live.values()),
            exchange.webhooks.created,
        ),
        order="deterministic",
    )


def load(data: bytes, exchange_of: type[Exchange]) -> Exchange:
    saved = msgspec.msgpack.decode(data, type=_Exchange)
    exchange = exchange_of(Market.restore(saved.market))
    for one in saved.accounts:
        exchange.add_account(_restored(one, exchange.market))
    for key in saved.keys:
        exchange.add_key(key)
    exchange.webhooks = Registry(saved.webhooks, saved.webhooks_created)
    exchange.events = saved.events
    exchange.closed_before = saved.closed_before
    exchange.budget_watch.watch_all()
    return exchange


def _restored(saved: SavedAccount, market: Market) -> Account:
    account = Account(*astuple(saved))
    account.running_fees = RunningFees(
        (fee.end, fee.rate) for fee in market.fees(account.name) if fee.end > market.now
    )
    put_in_force(account)
    return account
