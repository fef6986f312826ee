"""The market that the service's benchmark loads: every leaf leased, every tenant with orders that
wait. Made on disk, before the server starts."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import msgspec

from laissez.journal import Journal
from laissez.market import Alternative
from laissez.market.commands import SetFloor
from laissez.server import opening
from laissez.server.accounts import Account
from laissez.server.commands import (
    OPERATOR,
    CancelOrder,
    Command,
    CreateTenant,
    IssueKey,
    PlaceOrder,
)
from laissez.server.desk import Desk
from laissez.server.keyring import OPERATOR_SCOPES, TENANT_SCOPES, new_key
from laissez.server.settings import Journal as JournalSettings
from laissez.server.settings import Limits
from laissez.server.snapshotter import Snapshotter
from laissez.wire.requests import Caps
from laissez_bench.crowd import tree

FLOOR = 2_000_000
HOLD_LIMITS = (4_000_000, 9_000_000)  # how far those who hold follow
WAITING_BIDS = (1_500_000, 3_500_000)  # of those who wait: below the limits of those who hold
WAITING_PER_TENANT = 5
GROUP = 32  # orders that are stored together, where that matters
OPERATOR_KEY = "operator.key"  # in the folder
# One tenant sends what in life many would: it must not be held up by its own cap.
UNCAPPED = Caps(commands_per_second=1_000_000, commands_burst=1_000_000)


class Held(msgspec.Struct):
    """What a tenant starts with."""

    key: str
    leases: list[str]
    orders: list[str]


def found(folder: Path, leaves: int, tenants: int, seed: int = 1, capped: int = 0) -> list[Held]:
    """The last `capped` tenants have no caps of their own, and so those that everybody has; and
    each has much behind it, with others' in between."""
    return asyncio.run(_found(folder, leaves, tenants, random.Random(seed), capped))


async def _found(
    folder: Path, leaves: int, tenants: int, draw: random.Random, capped: int
) -> list[Held]:
    opening.create(folder, tree(leaves), 1_000)
    opened = opening.open_folder(folder, Limits())
    desk = Desk(
        opened.exchange, opened.journal, opened.clock, Limits(), opened.history, opened.remembered
    )
    names = [f"tenant{i:04}" for i in range(tenants)]
    operator = new_key()
    _enter(
        desk, OPERATOR, IssueKey(OPERATOR, operator.id, operator.digest, OPERATOR_SCOPES, "bench")
    )
    (folder / OPERATOR_KEY).write_text(operator.secret)
    keys = [
        _new_tenant(desk, name, Caps() if index >= tenants - capped else UNCAPPED)
        for index, name in enumerate(names)
    ]
    _enter(desk, OPERATOR, SetFloor("h100", FLOOR))
    for i in range(leaves):
        limit = draw.randint(*HOLD_LIMITS)
        _enter(desk, names[i % tenants], PlaceOrder((Alternative("h100", FLOOR, limit),)))
        for name in names[tenants - capped :]:
            _come_and_go(desk, name)
        if capped and not i % GROUP:
            await desk.all_durable()
    scopes = [
        path for path in opened.exchange.market.topology.nodes if path.count("/") in (1, 2, 3)
    ]
    for _ in range(WAITING_PER_TENANT):
        for name in names:
            bid = draw.randint(*WAITING_BIDS)
            _enter(desk, name, PlaceOrder((Alternative(draw.choice(scopes), bid, bid),)))
    await desk.all_durable()
    accounts = opened.exchange.accounts
    held = [_held(key, accounts[name]) for name, key in zip(names, keys, strict=True)]
    desk.close()
    _leave_snapshot(desk, opened.journal)
    return held


def _held(key: str, account: Account) -> Held:
    filled = {lease.order for lease in account.leases.values()}
    return Held(
        key, list(account.leases), [order for order in account.orders if order not in filled]
    )


def _come_and_go(desk: Desk, name: str) -> None:
    """Two events that leave everything as it was."""
    _enter(desk, name, PlaceOrder((Alternative("h100", 0, 0),)))
    _enter(desk, name, CancelOrder(next(reversed(desk.exchange.accounts[name].orders))))


def _new_tenant(desk: Desk, name: str, caps: Caps) -> str:
    key = new_key()
    _enter(desk, OPERATOR, CreateTenant(name, caps))
    _enter(desk, OPERATOR, IssueKey(name, key.id, key.digest, TENANT_SCOPES, "bench"))
    return key.secret


def _enter(desk: Desk, who: str, command: Command) -> None:
    refused = desk.enter(who, "bench", "", command).applied.outcome.refused
    assert refused is None, refused


def _leave_snapshot(desk: Desk, journal: Journal) -> None:
    Snapshotter(desk, journal, JournalSettings()).take_last()
    journal.close()
