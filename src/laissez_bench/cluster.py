"""The market under the service's load: every leaf leased, every tenant with orders that wait. It is
made on disk, before the server starts."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import msgspec

from laissez.exchange.commands import OPERATOR, SERVICE, Caps, Command, CreateTenant, IssueKey
from laissez.exchange.keys import OPERATOR_SCOPES, TENANT_SCOPES
from laissez.market import Alternative, Market, Topology
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
HOLD_LIMITS = (4_000_000, 9_000_000)  # of leases
WAITING_BIDS = (1_500_000, 3_500_000)  # of waiting orders: below the limits of leases
WAITING_PER_TENANT = 5
GROUP = 32  # orders that are stored together, where that matters
OPERATOR_KEY = "operator.key"  # in the folder
# One tenant sends the load of many real ones, so its cap must not hold it up.
UNCAPPED = Caps(commands_per_second=1_000_000, commands_burst=1_000_000)


class Held(msgspec.Struct):
    """The key, leases and orders that a tenant starts with."""

    key: str
    leases: list[str]
    orders: list[str]


def make_market(folder: Path, leaves: int, tenants: int, capped: int = 0) -> list[Held]:
    """The last `capped` tenants have the default caps, and a long history with others' commands in
    between."""
    return asyncio.run(_make_market(folder, leaves, tenants, capped))


async def _make_market(folder: Path, leaves: int, tenants: int, capped: int) -> list[Held]:
    draw = random.Random(1)
    data_folder.create(folder, tree(leaves), 1_000)
    opened = data_folder.open_folder(folder, Limits())
    exchange, market = opened.exchange, opened.exchange.market
    gateway = Gateway(exchange, opened.journal, opened.clock, Limits(), opened.event_log)

    def enter(who: str, command: Command) -> None:
        refused = gateway.enter(who, SERVICE, "", command).refusal
        assert refused is None, refused

    def issue_key(who: str, scopes: tuple[str, ...]) -> str:
        key = new_key()
        enter(OPERATOR, IssueKey(who, key.id, key.digest, scopes, "bench"))
        return key.secret

    (folder / OPERATOR_KEY).write_text(issue_key(OPERATOR, OPERATOR_SCOPES))
    names = [f"tenant{i:04}" for i in range(tenants)]
    busy = names[tenants - capped :]
    keys = {}
    for name in names:
        enter(OPERATOR, CreateTenant(name, Caps() if name in busy else UNCAPPED))
        keys[name] = issue_key(name, TENANT_SCOPES)
    enter(OPERATOR, SetFloor("h100", FLOOR))
    for i in range(leaves):
        name, limit = names[i % tenants], draw.randint(*HOLD_LIMITS)
        enter(name, PlaceOrder(name, (Alternative("h100", FLOOR, limit),)))
        for other in busy:
            enter(other, PlaceOrder(other, (Alternative("h100", 0, 0),)))
            enter(other, CancelOrder(other, market.counts(other).orders_placed))
        if busy and not i % GROUP:
            await gateway.all_durable()
    scopes = scopes_of(market.topology)
    for name in names * WAITING_PER_TENANT:
        bid = draw.randint(*WAITING_BIDS)
        enter(name, PlaceOrder(name, (Alternative(draw.choice(scopes), bid, bid),)))
    await gateway.all_durable()
    held = [_held(keys[name], name, market) for name in names]
    gateway.close()
    Snapshotter(gateway, opened.journal, JournalSettings()).take_last()
    opened.journal.close()
    return held


def scopes_of(topology: Topology) -> list[str]:
    """The scopes that orders name: zones, rows and racks."""
    return [path for path in topology.nodes if path.count("/") in (1, 2, 3)]


def _held(key: str, name: str, market: Market) -> Held:
    tag = tag_of(name)
    leases = [lease_id(tag, lease.lease) for lease in market.leases(name)]
    orders = [order_id(tag, order.order) for order in market.orders(name)]
    return Held(key, leases, orders)
