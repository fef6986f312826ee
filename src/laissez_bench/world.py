"""The market under the service's load: every leaf leased, every tenant with orders that wait. It is
made on disk once, before any server starts; each server gets a copy. And the process of the load
generator."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, cast

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
from laissez.workers import deaf_to_interrupts
from laissez_bench.crowd import tree
from laissez_bench.generator import Phase, Plan, generate
from laissez_bench.mix import HOLD_LIMITS, WAITING_BIDS, Held
from laissez_bench.processes import OPERATOR_KEY, Server, ServerDied
from laissez_bench.statistics import Counted

LEAVES = 10_000
TENANTS = 1_000
FLOOR = 2_000_000
WAITING_PER_TENANT = 5
GROUP = 32  # orders that are stored together, where that matters
# One tenant sends the load of many real ones, so its cap must not hold it up.
UNCAPPED = Caps(commands_per_second=1_000_000, commands_burst=1_000_000)

Run = Callable[[Phase], Counted]


class World(NamedTuple):
    base: Path
    held: list[Held]
    scopes: list[str]
    leaves: int

    @property
    def folder(self) -> Path:
        return self.base / "made"

    def plan(self, load: str, at: Server, connections: int, watched: bool = False) -> Plan:
        """With `watched`, an operator follows the events and a console is open."""
        key = at.operator_key if watched else ""
        tenants = self.held[:connections]
        seed = time.time_ns()
        return Plan(load, at.host, at.port, connections, seed, tenants, self.scopes, at.pid, key)

    def copy(self, name: str) -> Path:
        return Path(shutil.copytree(self.folder, self.base / name))


@contextmanager
def make_world(
    step: Callable[[str], None], leaves: int, tenants: int, capped: int = 0
) -> Iterator[World]:
    """The last `capped` tenants have the default caps, and a long history with others' commands in
    between."""
    step("making the market")
    base = Path(tempfile.mkdtemp(prefix="laissez-bench-"))
    try:
        held = asyncio.run(_make_market(base / "made", leaves, tenants, capped))
        yield World(base, held, scopes_of(tree(leaves)), leaves)
    finally:
        shutil.rmtree(base)


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


@contextmanager
def generating(plan: Plan) -> Iterator[Run]:
    """A generator process, which carries out phases."""
    spawn = multiprocessing.get_context("spawn")
    pipe, its_pipe = spawn.Pipe()
    process = spawn.Process(target=generate, args=(plan, its_pipe), daemon=True)
    with deaf_to_interrupts():
        process.start()
    its_pipe.close()

    def run(phase: Phase) -> Counted:
        try:
            pipe.send(phase)
            return cast(Counted, pipe.recv())
        except (EOFError, OSError):
            process.join()
            raise ServerDied(f"the load generator ended with {process.exitcode}") from None

    try:
        yield run
        pipe.close()
    except BaseException:
        process.kill()
        raise
    finally:
        process.join()
