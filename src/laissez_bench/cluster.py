"""The market that the service's benchmark loads: every leaf leased, every tenant with orders that
wait. Made on disk, before the server starts."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import msgspec

from laissez.exchange.commands import (
    OPERATOR,
    SERVICE,
    Caps,
    Command,
    CreateTenant,
    IssueKey,
)
from laissez.exchange.keys import OPERATOR_SCOPES, TENANT_SCOPES
from laissez.journal import Journal
from laissez.market import Alternative, Market
from laissez.market.commands import CancelOrder, PlaceOrder, SetFloor
from laissez.server import data_folder
from laissez.server.auth import new_key
from laissez.server.gateway import Gateway
from laissez.server.retention import Snapshotter
from laissez.server.settings import Journal as JournalSettings
from laissez.server.settings import Limits
from laissez.wire.ids import lease_id, order_id, tag_of
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
    data_folder.create(folder, tree(leaves), 1_000)
    opened = data_folder.open_folder(folder, Limits())
    gateway = Gateway(
        opened.exchange,
        opened.journal,
        opened.clock,
        Limits(),
        opened.event_log,
        opened.idempotency_keys,
    )
    names = [f"tenant{i:04}" for i in range(tenants)]
    operator = new_key()
    _enter(
        gateway,
        OPERATOR,
        IssueKey(OPERATOR, operator.id, operator.digest, OPERATOR_SCOPES, "bench"),
    )
    (folder / OPERATOR_KEY).write_text(operator.secret)
    keys = [
        _new_tenant(gateway, name, Caps() if index >= tenants - capped else UNCAPPED)
        for index, name in enumerate(names)
    ]
    _enter(gateway, OPERATOR, SetFloor("h100", FLOOR))
    for i in range(leaves):
        limit = draw.randint(*HOLD_LIMITS)
        _enter(
            gateway,
            names[i % tenants],
            PlaceOrder(names[i % tenants], (Alternative("h100", FLOOR, limit),)),
        )
        for other in names[tenants - capped :]:
            _come_and_go(gateway, other)
        if capped and not i % GROUP:
            await gateway.all_durable()
    scopes = [
        path for path in opened.exchange.market.topology.nodes if path.count("/") in (1, 2, 3)
    ]
    for _ in range(WAITING_PER_TENANT):
        for name in names:
            bid = draw.randint(*WAITING_BIDS)
            _enter(gateway, name, PlaceOrder(name, (Alternative(draw.choice(scopes), bid, bid),)))
    await gateway.all_durable()
    market = opened.exchange.market
    held = [_held(key, name, market) for name, key in zip(names, keys, strict=True)]
    gateway.close()
    _leave_snapshot(gateway, opened.journal)
    return held


def _held(key: str, name: str, market: Market) -> Held:
    tag = tag_of(name)
    return Held(
        key,
        [lease_id(tag, lease.lease) for lease in market.leases(name)],
        [order_id(tag, order.order) for order in market.orders(name)],
    )


def _come_and_go(gateway: Gateway, name: str) -> None:
    """Two events that leave everything as it was."""
    _enter(gateway, name, PlaceOrder(name, (Alternative("h100", 0, 0),)))
    _enter(gateway, name, CancelOrder(name, gateway.exchange.market.counts(name).orders_placed))


def _new_tenant(gateway: Gateway, name: str, caps: Caps) -> str:
    key = new_key()
    _enter(gateway, OPERATOR, CreateTenant(name, caps))
    _enter(gateway, OPERATOR, IssueKey(name, key.id, key.digest, TENANT_SCOPES, "bench"))
    return key.secret


def _enter(gateway: Gateway, who: str, command: Command) -> None:
    refused = gateway.enter(who, SERVICE, "", command).applied.refusal
    assert refused is None, refused


def _leave_snapshot(gateway: Gateway, journal: Journal) -> None:
    Snapshotter(gateway, journal, JournalSettings()).take_last()
    journal.close()
