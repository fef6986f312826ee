"""Snapshots of the exchange: the market's own snapshot, and the accounts, keys and webhooks.

Equal states give equal bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from laissez.exchange.accounts import Account, BudgetRecord, KeyRecord, OwnCaps, RunningFees
from laissez.exchange.caps import put_in_force
from laissez.exchange.commands import Caps
from laissez.exchange.webhooks import Registry, WebhookRecord
from laissez.market import Market

if TYPE_CHECKING:
    from laissez.exchange.exchange import Exchange


class _Account(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Exact charges are text: they outgrow 64 bits."""

    name: str
    created_at: int
    caps: Caps
    events: int
    session_orders: list[int]
    billed: list[tuple[int, str]]
    billed_fees: list[tuple[tuple[int, str, int, int], str]]
    budget: BudgetRecord | None
    own_caps: OwnCaps


class _Exchange(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    market: bytes
    events: int
    closed_before: int
    accounts: list[_Account]
    keys: list[KeyRecord]
    webhooks: list[WebhookRecord]
    webhooks_created: list[tuple[str, int]]


def dump(exchange: Exchange) -> bytes:
    """Accounts and keys are written in order of age, which gives their numbers in the journal."""
    return msgspec.msgpack.encode(
        _Exchange(
            exchange.market.snapshot(),
            exchange.events,
            exchange.closed_before,
            [_saved(account) for account in exchange.accounts.values()],
            list(exchange.keys.values()),
            list(exchange.webhooks.live.values()),
            sorted(exchange.webhooks.created.items()),
        )
    )


def _saved(account: Account) -> _Account:
    return _Account(
        account.name,
        account.created_at,
        account.caps,
        account.events,
        sorted(account.session_orders),
        sorted((line, str(charge)) for line, charge in account.billed.items()),
        sorted((line, str(charge)) for line, charge in account.billed_fees.items()),
        account.budget,
        account.own_caps,
    )


def load(data: bytes, exchange_of: type[Exchange]) -> Exchange:
    saved = msgspec.msgpack.decode(data, type=_Exchange)
    exchange = exchange_of(Market.restore(saved.market))
    for one in saved.accounts:
        exchange.add_account(_restored(one, exchange.market))
    for key in saved.keys:
        exchange.add_key(key)
    exchange.webhooks = Registry(saved.webhooks, dict(saved.webhooks_created))
    exchange.events = saved.events
    exchange.closed_before = saved.closed_before
    exchange.budget_watch.watch_all()
    return exchange


def _restored(saved: _Account, market: Market) -> Account:
    account = Account(saved.name, saved.created_at, saved.caps)
    account.events = saved.events
    account.session_orders = set(saved.session_orders)
    account.billed = {line: int(charge) for line, charge in saved.billed}
    account.billed_fees = {line: int(charge) for line, charge in saved.billed_fees}
    account.budget = saved.budget
    account.own_caps = saved.own_caps
    account.running_fees = RunningFees(
        (fee.end, fee.rate) for fee in market.fees(account.name) if fee.end > market.now
    )
    put_in_force(account)
    return account
