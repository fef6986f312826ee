"""One world of a pair, played through the real service in this process, with a clock that is moved
by hand."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

from msgspec.structs import replace

from laissez.exchange import commands
from laissez.exchange.commands import OPERATOR, SERVICE, Caps
from laissez.market import Topology
from laissez.market import commands as to_market
from laissez.server.auth import NewKey, new_key
from laissez.server.clock import Clock
from laissez.server.data_folder import create, open_folder
from laissez.server.gateway import Gateway
from laissez.server.http.app import App, make_app
from laissez.server.rate_limits import StreamQuota
from laissez.server.rates import notify_rates
from laissez.server.settings import Limits, Settings
from laissez.server.settings import Webhooks as WebhookSettings
from laissez.server.webhooks.addresses import Target
from laissez.server.webhooks.dispatcher import Webhooks
from laissez.server.websocket.sessions import Sessions
from laissez.units import parse_time
from laissez_check.access.pairs import ME, Pair

# of every world: what the wall says is no part of the comparison
FOUNDED_US = 1_800_000_000_000_000
LIMITS = Limits(commands_per_second=50, commands_burst=5_000)
WEBHOOKS = WebhookSettings(allow_http=True, allow_addresses=("127.0.0.1/32",))
RECEIVER = "http://127.0.0.1:8080/hook?of=mine"  # of the tenant's webhook; nobody is connected to
ELSEWHERE = "http://127.0.0.1:8080/hook?of=others"
ANSWERS = (200, 204, 204, 500)  # of receivers
TURNS = 6  # of the loop, for what one request sets off to have come out
TURNS_OF_DELIVERY_MAX = 10_000


class Service:
    """`suffix` is what the others' names end with: how they are called is nothing that the tenant
    may learn."""

    def __init__(self, folder: Path, pair: Pair, key: NewKey, suffix: str) -> None:
        create(folder, Topology.of(pair.world.leaves), pair.world.orders_per_tenant_max)
        self._opened = open_folder(folder, LIMITS)
        self._passed_us = 0
        self.gateway = Gateway(
            self._opened.exchange,
            self._opened.journal,
            self._clock(),
            LIMITS,
            self._opened.event_log,
        )
        places = StreamQuota()
        self.sessions = Sessions(self.gateway, places)
        self.webhooks = Webhooks(self.gateway, WEBHOOKS, chance=lambda: 0.5, gather_s=0)
        self.webhooks.sender._ask = self._received  # type: ignore[method-assign]  # all of it but the connection
        self.app: App = make_app(
            self.gateway,
            Settings(limits=LIMITS, webhooks=WEBHOOKS),
            places,
            self.sessions,
            webhooks=self.webhooks,
        )
        self.suffix = suffix
        self.root = pair.world.leaves[0].partition("/")[0]
        self.received: list[bytes] = []  # by the tenant's receiver
        self._answers = Random(f"{pair.seed} answers")  # the same in both worlds
        self._enter(OPERATOR, commands.CreateTenant(ME, Caps()))
        self._enter(
            OPERATOR, commands.IssueKey(ME, key.id, key.digest, ("read", "trade"), "default")
        )
        for tenant in pair.world.tenants[1:]:
            self.new_tenant(self.called(tenant))

    def _clock(self) -> Clock:
        return Clock(
            FOUNDED_US, wall=lambda: FOUNDED_US * 1000, passed=lambda: self._passed_us * 1000
        )

    def called(self, tenant: str) -> str:
        return tenant if tenant == ME else tenant + self.suffix

    def new_tenant(self, name: str) -> str:
        """With a key of its own, whose secret is returned."""
        made = new_key()
        self._enter(OPERATOR, commands.CreateTenant(name, Caps()))
        self._enter(
            OPERATOR, commands.IssueKey(name, made.id, made.digest, ("read", "trade"), "default")
        )
        return made.secret

    def pass_until(self, at: int) -> None:
        """What is due by then happens, as it does twenty times a second: who notices it first is a
        matter of timing."""
        self._passed_us = at
        self.gateway.end_holds()

    def enter(self, command: to_market.Command) -> None:
        """What others do, given in the market's words."""
        who = OPERATOR
        if isinstance(command, to_market.CloseBooks):
            command = to_market.CloseBooks(command.before + FOUNDED_US)
        elif isinstance(command, to_market.TenantCommand):
            who = self.called(command.tenant)
            command = replace(command, tenant=who)
        self._enter(who, command)

    def _enter(self, who: str, command: commands.Command) -> None:
        self.gateway.enter(who, SERVICE, "", command)

    async def settle(self) -> None:
        """Until all that was done is stored, and all that it set off has been sent; then what
        leases are charged is told, as once a second."""
        await self.gateway.all_durable()
        notify_rates(self.gateway, ME)
        for _ in range(TURNS):
            await asyncio.sleep(0)

    async def deliver(self) -> None:
        """What the tenant's webhook is owed, as far as its receiver takes it. Nothing is sent
        otherwise: what goes together is a matter of timing."""
        await self.settle()
        running = asyncio.create_task(self.webhooks.run())
        for _ in range(TURNS_OF_DELIVERY_MAX):
            await asyncio.sleep(0)
            if self._is_delivered():
                break
        else:
            raise AssertionError("a webhook is never delivered to")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    def _is_delivered(self) -> bool:
        """All there is, or it was tried and is to be tried later."""
        now = self.gateway.clock.now()
        views = [self.webhooks.view(record) for record in self.gateway.exchange.webhooks.of(ME)]
        later = [
            view.next_attempt_at is not None and parse_time(view.next_attempt_at) > now
            for view in views
        ]
        return all(
            waits or view.delivered == self.gateway.latest(ME)
            for view, waits in zip(views, later, strict=True)
        )

    async def _received(self, target: Target, request: bytes) -> int:
        if target.path not in RECEIVER:
            return ANSWERS[0]
        self.received.append(request)
        return self._answers.choice(ANSWERS)

    def close(self) -> None:
        self.gateway.close()
        self._opened.journal.close()
