"""One world of a pair, played through the real service in this process, with a clock that is moved
by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from laissez.market import Topology
from laissez.market import commands as to_market
from laissez.server import commands
from laissez.server.clock import Clock
from laissez.server.commands import OPERATOR
from laissez.server.connection import SELF
from laissez.server.desk import Desk
from laissez.server.http.app import App, make_app
from laissez.server.keyring import NewKey, new_key
from laissez.server.opening import create, open_folder
from laissez.server.places import Places
from laissez.server.sampling import sample
from laissez.server.session import Session
from laissez.server.sessions import Sessions
from laissez.server.settings import Limits, Settings
from laissez.server.settings import Webhooks as WebhookSettings
from laissez.server.webhooks.addresses import Target
from laissez.server.webhooks.dispatcher import Webhooks
from laissez.wire.ids import lease_id, order_id, tag_of
from laissez.wire.requests import Caps
from laissez.wire.times import parse_time
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
        self.desk = Desk(
            self._opened.exchange,
            self._opened.journal,
            self._clock(),
            LIMITS,
            self._opened.history,
            self._opened.remembered,
        )
        places = Places()
        self.sessions = Sessions(self.desk, places)
        self.webhooks = Webhooks(self.desk, WEBHOOKS, chance=lambda: 0.5, gather_s=0)
        self.webhooks.sender._ask = self._received  # type: ignore[method-assign]  # all of it but the connection
        self.app: App = make_app(
            self.desk,
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
        self.desk.end_holds()

    def enter(self, command: to_market.Command) -> None:
        """What others do, given in the market's words."""
        who = self.called(getattr(command, "tenant", OPERATOR))
        self._enter(who, self._translated(who, command))

    def _enter(self, who: str, command: commands.Command) -> None:
        self.desk.enter(who, "", "", command)

    def _translated(self, who: str, command: Any) -> commands.Command:
        match command:
            case to_market.PlaceOrder():
                return commands.PlaceOrder(command.alternatives)
            case to_market.AmendOrder():
                return commands.AmendOrder(self._order(who, command.order), command.alternatives)
            case to_market.CancelOrder():
                return commands.CancelOrder(self._order(who, command.order))
            case to_market.SetLimit():
                return commands.SetLimit(self._lease(who, command.lease), command.limit)
            case to_market.Relinquish():
                return commands.Relinquish(self._lease(who, command.lease), command.budget_spent)
            case to_market.CloseBooks():
                return to_market.CloseBooks(command.before + FOUNDED_US)
            case _:
                return command  # type: ignore[no-any-return]

    def _order(self, who: str, number: int) -> str:
        return order_id(tag_of(who), number)

    def _lease(self, who: str, number: int) -> str:
        return lease_id(tag_of(who), number)

    async def settle(self) -> None:
        """Until all that was done is stored, and all that it set off has been sent; then what
        leases are charged is told, as once a second."""
        await self.desk.all_durable()
        sample(self.desk, ME)
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
        now = self.desk.clock.now()
        views = [self.webhooks.view(record) for record in self.desk.exchange.webhooks.of(ME)]
        later = [
            view.next_attempt_at is not None and parse_time(view.next_attempt_at) > now
            for view in views
        ]
        return all(
            waits or view.delivered == self.desk.latest(ME)
            for view, waits in zip(views, later, strict=True)
        )

    async def _received(self, target: Target, request: bytes) -> int:
        if target.path not in RECEIVER:
            return ANSWERS[0]
        self.received.append(request)
        return self._answers.choice(ANSWERS)

    def close(self) -> None:
        self.desk.close()
        self._opened.journal.close()


class Wire:
    """The tenant's end of one session: keeps what is said to it."""

    is_full = is_gone = False

    def __init__(self, heard: Callable[[bytes], None]) -> None:
        self._heard = heard
        self.session: Session | None = None

    def write(self, payload: bytes, text: bool) -> None:
        self._heard(payload)

    def attach(self, session: Session) -> None:
        self.session = session

    def rest(self, seconds: float) -> None:
        """It goes on as it likes: what it sends is not read over a connection here."""

    def hang_up(self, code: int, reason: str) -> None:
        self._heard(b"hung up %d %b" % (code, reason.encode()))

    async def converse(self, sessions: Sessions, secret: str, hello: str) -> None:
        """Until it is cancelled."""
        coming: list[dict[str, Any]] = [
            {"type": "websocket.connect"},
            {"type": "websocket.receive", "text": hello},
        ]

        async def receive() -> dict[str, Any]:
            if coming:
                return coming.pop(0)
            await asyncio.Event().wait()
            raise AssertionError("never")

        async def send(message: Any) -> None:
            self._heard(repr(message).encode())

        headers = [(b"authorization", f"Bearer {secret}".encode())]
        await sessions.serve(
            {
                "type": "websocket",
                "subprotocols": ["laissez.v1.json"],
                "headers": headers,
                SELF: self,
            },
            receive,
            send,
        )
