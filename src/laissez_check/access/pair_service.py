"""One world of a pair: the real service in this process, with a clock that is moved by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

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
from laissez_check.in_process import Exchange, head_of

FOUNDED_US = 1_800_000_000_000_000  # of every world: the wall clock is not compared
LIMITS = Limits(commands_per_second=50, commands_burst=5_000)
WEBHOOKS = WebhookSettings(allow_http=True, allow_addresses=("127.0.0.1/32",))
RECEIVER = "http://127.0.0.1:8080/hook?of=mine"  # of the tenant's webhook; nothing is connected to
ELSEWHERE = "http://127.0.0.1:8080/hook?of=others"
STATUSES = (200, 204, 204, 500)  # that the tenant's receiver answers with
TURNS = 6  # of the event loop, until everything that a request sets off has come out
TURNS_OF_DELIVERY_MAX = 10_000


class Service:
    """Names of other tenants end with `suffix`, because the tenant may not learn them."""

    def __init__(self, folder: Path, pair: Pair, key: NewKey, suffix: str) -> None:
        create(folder, Topology.of(pair.world.leaves), pair.world.orders_per_tenant_max)
        self._opened = opened = open_folder(folder, LIMITS)
        self._passed_us = 0
        clock = Clock(
            FOUNDED_US, wall=lambda: FOUNDED_US * 1000, passed=lambda: self._passed_us * 1000
        )
        self.gateway = Gateway(opened.exchange, opened.journal, clock, LIMITS, opened.event_log)
        quota = StreamQuota()
        self.sessions = Sessions(self.gateway, quota)
        self.webhooks = Webhooks(self.gateway, WEBHOOKS, chance=lambda: 0.5, gather_s=0)
        # everything but the connection
        self.webhooks.sender._ask = self._received  # type: ignore[method-assign]
        settings = Settings(limits=LIMITS, webhooks=WEBHOOKS)
        self.app: App = make_app(
            self.gateway, settings, quota, self.sessions, webhooks=self.webhooks
        )
        self.suffix = suffix
        self.received: list[bytes] = []  # by the tenant's receiver
        self._statuses = Random(f"{pair.seed} answers")  # the same in both worlds
        self._add_tenant(ME, key)
        for tenant in pair.world.tenants[1:]:
            self._add_tenant(tenant + suffix, new_key())

    def _add_tenant(self, name: str, key: NewKey) -> None:
        issue = commands.IssueKey(name, key.id, key.digest, ("read", "trade"), "default")
        self._enter(OPERATOR, commands.CreateTenant(name, Caps()))
        self._enter(OPERATOR, issue)

    def new_tenant(self) -> str:
        """The secret of its key."""
        key = new_key()
        self._add_tenant(f"extra{len(self.gateway.exchange.accounts)}{self.suffix}", key)
        return key.secret

    def pass_until(self, at: int) -> None:
        """Let time pass and end holds, as a server does twenty times a second. Otherwise timing
        would decide which request ends them."""
        self._passed_us = at
        self.gateway.end_holds()

    def enter(self, command: to_market.Command) -> None:
        """Carry out a command of another tenant or of the operator."""
        who = OPERATOR
        if isinstance(command, to_market.CloseBooks):
            command = to_market.CloseBooks(command.before + FOUNDED_US)
        elif isinstance(command, to_market.TenantCommand):
            who = command.tenant if command.tenant == ME else command.tenant + self.suffix
            command = replace(command, tenant=who)
        self._enter(who, command)

    def _enter(self, who: str, command: commands.Command) -> None:
        self.gateway.enter(who, SERVICE, "", command)

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: Any = None
    ) -> bytes:
        """Send one request. Returns the whole answer as bytes."""
        content = b"" if body is None else json.dumps(body).encode()
        if content:
            framed = {"content-type": "application/json", "content-length": str(len(content))}
            headers = {**framed, **headers}
        asked = Exchange(self.app, _head(method, path, headers), content, client=None)
        await asked.ended()
        return repr((asked.status, asked.headers)).encode() + b" " + asked.body

    async def follow(
        self, path: str, headers: Mapping[str, str], hear: Callable[[bytes], None]
    ) -> None:
        """A stream of events, until it is cancelled."""
        stream = _Stream(self.app, _head("GET", path, headers), hear)
        await stream.ended()

    async def settle(self) -> None:
        """Wait until everything is stored and its effects are sent. Then sample rates, as the
        service does once a second."""
        await self.gateway.all_durable()
        notify_rates(self.gateway, ME)
        for _ in range(TURNS):
            await asyncio.sleep(0)

    async def deliver(self) -> None:
        """Deliver the tenant's events to its webhook, as far as the receiver takes them. Nothing is
        delivered at other times, when timing would decide which events share a request."""
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
        """Everything was delivered or waits for its next attempt."""
        now, latest = self.gateway.clock.now(), self.gateway.latest(ME)
        views = [self.webhooks.view(record) for record in self.gateway.exchange.webhooks.of(ME)]
        return all(
            view.delivered == latest
            or (view.next_attempt_at is not None and parse_time(view.next_attempt_at) > now)
            for view in views
        )

    async def _received(self, target: Target, request: bytes) -> int:
        if target.path not in RECEIVER:
            return STATUSES[0]
        self.received.append(request)
        return self._statuses.choice(STATUSES)

    def close(self) -> None:
        self.gateway.close()
        self._opened.journal.close()


class _Stream(Exchange):
    def __init__(self, app: App, head: bytes, hear: Callable[[bytes], None]) -> None:
        self._hear = hear
        super().__init__(app, head, client=None)

    def on_body(self, piece: bytes) -> None:
        for line in piece.split(b"\n\n"):
            if line:
                self._hear(line)


def _head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    sent = {"host": "pair", **headers}
    return head_of(method, path, [(name.encode(), value.encode()) for name, value in sent.items()])
