"""The exchange as bytes, and back. The market has a form of its own; accounts and keys stand beside
it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from laissez.market import Market
from laissez.server.accounts import (
    Account,
    BudgetRecord,
    KeyRecord,
    LeaseRecord,
    OrderRecord,
    OwnCaps,
)
from laissez.server.caps import put_in_force
from laissez.server.running_fees import RunningFees
from laissez.server.webhooks.registry import Saved as SavedWebhooks
from laissez.wire.requests import Caps

if TYPE_CHECKING:
    from laissez.server.exchange import Exchange


class _Account(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    name: str
    created_at: int
    caps: Caps
    events: int
    open_orders: int
    orders_numbered: int
    leases_numbered: int
    orders: list[tuple[str, OrderRecord]]
    order_names: list[tuple[int, str]]
    leases: list[tuple[str, LeaseRecord]]
    ended: list[str]
    fees: list[tuple[int, int]]
    billed: list[tuple[str, str]]


class _Budgeted(_Account, array_like=True, forbid_unknown_fields=True):
    """An account with a budget has one more field; others are written as they were before there
    were budgets, and such snapshots are read."""

    budget: BudgetRecord | None = None


class _Capped(_Budgeted, array_like=True, forbid_unknown_fields=True):
    """The same of an account with caps of its own."""

    own_caps: OwnCaps | None = None


class _Exchange(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    market: bytes
    events: int
    closed_before: int
    accounts: list[_Capped]
    keys: list[KeyRecord]
    # left out where nobody ever had one, as in snapshots from before there were any
    webhooks: SavedWebhooks | None = None


class Loaded(msgspec.Struct):
    accounts: dict[str, Account]
    keys: dict[str, KeyRecord]
    events: int
    closed_before: int
    webhooks: SavedWebhooks | None


def dump(exchange: Exchange) -> bytes:
    # by age, and so are the keys
    accounts = [_describe(account) for account in exchange.accounts.values()]
    # of an _Exchange
    fields = (
        exchange.market.snapshot(),
        exchange.events,
        exchange.closed_before,
        accounts,
        list(exchange.keys.values()),
    )
    webhooks = exchange.webhooks.saved()
    return msgspec.msgpack.encode(fields if webhooks is None else (*fields, webhooks))


def _describe(account: Account) -> _Account:
    fields = (
        account.name,
        account.created_at,
        account.caps,
        account.events,
        account.open_orders,
        account.orders_numbered,
        account.leases_numbered,
        sorted(account.orders.items()),
        sorted(account.order_names.items()),
        sorted(account.leases.items()),
        account.ended,
        sorted(account.fees.items()),
        sorted((line, str(charge)) for line, charge in account.billed.items()),
    )
    if account.own_caps is not None:
        return _Capped(*fields, account.budget, account.own_caps)
    return _Account(*fields) if account.budget is None else _Budgeted(*fields, account.budget)


def load(data: bytes) -> tuple[Market, Loaded]:
    saved = msgspec.msgpack.decode(data, type=_Exchange)
    accounts = {account.name: _rebuild(account) for account in saved.accounts}
    market = Market.restore(saved.market)
    for account in accounts.values():
        if account.fees:
            account.running_fees = RunningFees(
                (fee.end, fee.rate) for fee in market.fees(account.name)
            )
    return market, Loaded(
        accounts,
        {key.id: key for key in saved.keys},
        saved.events,
        saved.closed_before,
        saved.webhooks,
    )


def _rebuild(saved: _Capped) -> Account:
    account = Account(saved.name, saved.created_at, saved.caps)
    account.events = saved.events
    account.open_orders = saved.open_orders
    account.orders_numbered = saved.orders_numbered
    account.leases_numbered = saved.leases_numbered
    account.orders = dict(saved.orders)
    account.order_names = dict(saved.order_names)
    account.leases = dict(saved.leases)
    account.lease_names = {record.number: name for name, record in saved.leases}
    account.ended = saved.ended
    account.fees = dict(saved.fees)
    account.budget = saved.budget
    account.own_caps = saved.own_caps
    put_in_force(account)
    account.billed = {line: int(charge) for line, charge in saved.billed}
    return account
