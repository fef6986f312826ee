"""The tenant whose two transcripts are compared: it trades by REST and in a session, follows a
stream, has a webhook, and looks at everything there is."""

from __future__ import annotations

import asyncio
import json
import re
from random import Random
from typing import Any

import msgspec

from laissez.market.commands import AmendOrder, CancelOrder, Relinquish, SetLimit
from laissez.market.market import Market
from laissez.server.http.app import App
from laissez.wire.frames import FRAME_CODECS
from laissez.wire.ids import (
    LEASE,
    instance_of_order,
    lease_id,
    number_of,
    order_id,
    tag_of,
    webhook_id,
)
from laissez.wire.rendering import price
from laissez.wire.session import JSON
from laissez_check.access.pair_asides import Asides
from laissez_check.access.pair_service import ELSEWHERE, Service
from laissez_check.access.pairs import ME, Ask, Pair
from laissez_check.in_process import Exchange, Wire, head_of

READS_PER_MOMENT = 3
HIDDEN_PER_WORLD = 3  # at most, of what others do beside the market
# What is random in a transcript: the token of a new sign-in, the secret of a webhook, and what is
# signed with it.
TOKEN = re.compile(rb"laissez_signin=[\w-]{43}")
RANDOM = (TOKEN, re.compile(rb"whsec_[\w+/=]+"), re.compile(rb"webhook-signature: \S+"))
IN_A_BATCH, AS_INSTANCE = 0.2, 0.5  # how often a command goes this way, of those that can
NEVER = 10**9  # a number that no order and no lease has
TURNS_MAX = 100_000  # of the loop, until a session has caught up

# Beside every address that the service itself says can be read.
READS = (
    "/v1/orders?limit=1", "/v1/leases?limit=1", "/v1/instances?limit=1", "/v1/bills?format=csv",
    "/v1/bills?format=focus", "/v1/events?after=9999",
    "/v1/bills?since=2027-01-15T08:00:00Z", "/v1/bills?until=2027-01-15T09:00:00Z",
    "/v1/bills?format=csv&since=2027-01-15T08:00:00Z",
    "/v1/events?after=0&limit=2", "/v1/orders?tenant=bob", "/v1/bills?tenant=bob",
    "/v1/tenants/bob", "/v1/tenants/bob/keys", "/", "/v1/nothing",
)  # fmt: skip

# What is refused whatever there is: the words must be the same, too.
REFUSED: tuple[tuple[str, str, Any], ...] = (
    ("DELETE", "/v1/orders/ord_never", None),
    ("DELETE", f"/v1/orders/{order_id(tag_of(ME), NEVER)}", None),
    ("DELETE", f"/v1/leases/{lease_id(tag_of(ME), NEVER)}", None),
    ("PUT", "/v1/orders/ord_never", {"alternatives": [{"scope": "nowhere", "limit": "1"}]}),
    ("POST", "/v1/orders", {"alternatives": [{"scope": "nowhere", "limit": "1"}]}),
    ("POST", "/v1/orders", {"alternatives": []}),
    ("PATCH", "/v1/leases/lse_never", {"limit": "1"}),
    ("DELETE", "/v1/leases/lse_never", None),
    ("DELETE", "/v1/instances/ins_never", None),
    ("POST", "/v1/instances", {"near": "lse_never", "level": 1, "max_price": "1"}),
    ("POST", "/v1/instances", {"scope": "nowhere", "max_price": "1"}),
    (
        "POST",
        "/v1/batch",
        {
            "commands": [
                {"type": "cancel_order", "order": "ord_never"},
                {"type": "relinquish", "lease": "lse_never"},
            ]
        },
    ),
    ("DELETE", "/v1/webhooks/whk_never", None),
    ("PUT", "/v1/floors/nowhere", {"price": "1"}),
)


class Tenant:
    """The tenant in one of the worlds, and its transcript."""

    def __init__(self, service: Service, pair: Pair, side: int, secret: str) -> None:
        self._service = service
        self._pair = pair
        self._side = side
        self._secret = secret
        self._draw = Random(pair.seed)  # the same in both worlds
        self._hidden = Random(pair.seed * 2 + side)  # another in each
        self._said: list[bytes] = []
        self._streamed: list[bytes] = []
        self._wire = Wire(self._heard, secret)
        self._asides = Asides(service, pair.seed, self._ask)
        self._ids = 0
        self._known: list[str] = []

    async def live(self) -> list[bytes]:
        tasks = [
            asyncio.create_task(self._open(self._wire, {"type": "hello", "id": "h"})),
            asyncio.create_task(self._follow()),
        ]
        await self._service.settle()
        await self._asides.begin()
        self._known = _read_paths(self._service.app.site.openapi)
        for moment in self._pair.moments:
            self._service.pass_until(moment.at)
            await self._others(moment.others[self._side])
            if moment.mine is not None:
                await self._act(moment.mine)
            await self._asides.now_and_then()
            if moment.spends is not None:
                await self._asides.spend(moment.spends)
            await self._service.settle()
            for path in self._draw.sample(self._reads(), READS_PER_MOMENT):
                await self._ask("GET", path)
            await self._ask(*self._draw.choice(REFUSED))
        await self._service.deliver()
        await self._in_the_end()
        self._ask_in_session()
        await self._service.settle()
        tasks.append(await self._come_back())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return [
            _without_chance(line)
            for line in (*self._said, *self._streamed, *self._service.received)
        ]

    async def _come_back(self) -> asyncio.Task[None]:
        """In another session, which is told all that is still kept, until it has caught up."""
        wire, gateway = Wire(self._heard, self._secret), self._service.gateway
        hello = {
            "type": "hello",
            "id": "again",
            "resume_after": gateway.event_log.gone_until(ME, gateway.latest(ME)),
        }
        task = asyncio.create_task(self._open(wire, hello))
        for _ in range(TURNS_MAX):
            if wire.session is not None or task.done():
                break
            await asyncio.sleep(0)
        else:
            raise AssertionError("a session never caught up")
        await self._service.settle()
        return task

    async def _open(self, wire: Wire, hello: dict[str, Any]) -> None:
        """A session, until it is cancelled."""
        await self._service.sessions.open(wire, FRAME_CODECS[JSON], json.dumps(hello).encode())
        try:
            await asyncio.Event().wait()
        finally:
            if wire.session is not None:
                wire.session.lost()

    @property
    def _market(self) -> Market:
        return self._service.gateway.exchange.market

    # -- what others do

    async def _others(self, others: tuple[Any, ...]) -> None:
        for command in others:
            self._service.enter(command)
        for _ in range(self._hidden.randint(0, HIDDEN_PER_WORLD)):
            await self._beside_the_market()

    async def _beside_the_market(self) -> None:
        """Others come, look, sign in, set budgets and are refused things: more of them in one world
        than in the other."""
        secret = self._service.new_tenant(
            f"extra{len(self._service.gateway.exchange.accounts)}{self._service.suffix}"
        )
        headers = {"authorization": f"Bearer {secret}", "x-laissez-console": "1"}
        asks: list[tuple[str, str, Any]] = [
            ("GET", "/v1/prices", None),
            ("PUT", "/v1/budget", {"amount": "77"}),
            ("POST", "/v1/signin", {"key": secret}),
            ("DELETE", "/v1/orders/ord_none", None),
            ("POST", "/v1/orders", {"alternatives": [{"scope": "nowhere", "limit": "1"}]}),
            ("GET", "/v1/keys", None),
            ("POST", "/v1/webhooks", {"url": ELSEWHERE}),
            ("PUT", "/v1/caps", {"rate": "77"}),
        ]
        method, path, body = self._hidden.choice(asks)
        await exchange(self._service.app, method, path, headers, body)

    # -- what the tenant does

    async def _act(self, ask: Ask) -> None:
        message = self._message(ask)
        self._ids += 1
        if ask.in_session and self._wire.session is not None:
            self._wire.session.receive(json.dumps({**message, "id": f"s{self._ids}"}).encode())
            return
        way = self._way(message, self._draw.random())
        for _ in range(self._draw.choice((1, 1, 2))):  # now and then once more, under the same id
            await self._ask(*way, {"idempotency-key": f"k{self._ids}"})

    def _way(self, message: dict[str, Any], drawn: float) -> tuple[str, str, Any]:
        """By which request: there are up to three for a command, which come to the same."""
        if drawn < IN_A_BATCH:
            return "POST", "/v1/batch", {"commands": [message]}
        if drawn < AS_INSTANCE and (as_instance := self._as_instance(message)) is not None:
            return as_instance
        kind, named = message.pop("type"), str(message.pop("order", message.pop("lease", "")))
        method, path = {
            "place_order": ("POST", "/v1/orders"),
            "amend_order": ("PUT", f"/v1/orders/{named}"),
            "cancel_order": ("DELETE", f"/v1/orders/{named}"),
            "set_limit": ("PATCH", f"/v1/leases/{named}"),
            "relinquish": ("DELETE", f"/v1/leases/{named}"),
        }[kind]
        return method, path, message or None

    def _as_instance(self, message: dict[str, Any]) -> tuple[str, str, Any] | None:
        """For those who only want machines."""
        if message["type"] == "place_order" and len(message["alternatives"]) == 1:
            (wanted,) = message["alternatives"]
            if wanted["bid"] == wanted["limit"]:
                return (
                    "POST",
                    "/v1/instances",
                    {"scope": wanted["scope"], "max_price": wanted["limit"]},
                )
        if message["type"] == "relinquish":
            number = number_of(LEASE, tag_of(ME), message["lease"])
            lease = None if number is None else self._market.lease(ME, number)
            if lease is not None:
                return "DELETE", f"/v1/instances/{instance_of_order(_order(lease.order))}", None
        return None

    def _message(self, ask: Ask) -> dict[str, Any]:
        """In the API's words, by the tenant's own ids."""
        command: Any = ask.command
        if isinstance(command, SetLimit):
            return {
                "type": "set_limit",
                "lease": _lease(command.lease),
                "limit": None if command.limit is None else price(command.limit),
            }
        if isinstance(command, Relinquish):
            return {"type": "relinquish", "lease": _lease(command.lease)}
        named = (
            {"order": _order(command.order)}
            if isinstance(command, AmendOrder | CancelOrder)
            else {}
        )
        if isinstance(command, CancelOrder):
            return {"type": "cancel_order", **named}
        wanted = [
            {"scope": one.scope, "bid": price(one.bid), "limit": price(one.limit)}
            for one in command.alternatives
        ]
        return {"type": "amend_order" if named else "place_order", **named, "alternatives": wanted}

    def _reads(self) -> list[str]:
        """Everything that can be looked at, with things of its own, of others and of nobody."""
        counts = self._market.counts(ME)
        own = [
            path
            for number in range(1, counts.orders_placed + 1)
            for path in (
                f"/v1/orders/{_order(number)}",
                f"/v1/instances/{instance_of_order(_order(number))}",
            )
        ]
        own += [
            path
            for number in range(1, counts.leases_started + 1)
            for path in (f"/v1/leases/{_lease(number)}", f"/v1/leases/{_lease(number)}/prices")
        ]
        own += [f"/v1/webhooks/{webhook_id(tag_of(ME), 1)}{part}" for part in ("", "/dead-letters")]
        theirs = [
            f"/v1/{kind}/{prefix}{tag_of('bob')}1"
            for kind, prefix in (("orders", "ord_"), ("leases", "lse_"), ("instances", "ins_"))
        ]
        nodes = [
            f"/v1/{ask}={node}"
            for node in self._pair.world.nodes()
            for ask in ("prices?scope", "topology?node", "resources?under")
        ]
        return [*self._known, *own, *theirs, *nodes]

    async def _in_the_end(self) -> None:
        """Everything once more, by key and by sign-in, in pages, heads alone, and again with what a
        browser remembers."""
        for path in self._reads():
            answer = await self._ask("GET", path)
            cursor = re.search(rb'"cursor":"([^"]+)"', answer)
            if cursor:
                await self._ask(
                    "GET", f"{path}&cursor={cursor[1].decode()}".replace("after=0&", "")
                )
        for refused in REFUSED:
            await self._ask(*refused)
        await self._ask("HEAD", "/v1/leases")
        await self._ask("OPTIONS", "/v1/orders/ord_x")
        signed = await self._ask(
            "POST", "/v1/signin", {"key": self._secret}, {"x-laissez-console": "1"}
        )
        token = TOKEN.search(signed)
        assert token is not None
        for path in ("/v1/me", "/v1/signin", "/v1/bills"):
            await self._ask("GET", path, None, {"cookie": token[0].decode()}, keyed=False)

    def _ask_in_session(self) -> None:
        session = self._wire.session
        assert session is not None
        asked = [
            {"type": "quote", "scope": node} for node in (*self._pair.world.nodes(), "nowhere")
        ]
        asked += [{"type": "orders"}, {"type": "leases"}, {"type": "ping"}]
        session.beat()
        session.receive(
            json.dumps([{**one, "id": f"q{number}"} for number, one in enumerate(asked)]).encode()
        )

    async def _ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        more: dict[str, str] | None = None,
        keyed: bool = True,
    ) -> bytes:
        headers = {**({"authorization": f"Bearer {self._secret}"} if keyed else {}), **(more or {})}
        answer = await exchange(self._service.app, method, path, headers, body)
        self._said.append(f"{method} {path} ".encode() + answer)
        return answer

    def _heard(self, payload: bytes) -> None:
        """Message by message: which of them go in one frame is a matter of timing."""
        if payload[:1] not in (b"[", b"{") or payload.startswith(b"{'"):
            self._said.append(payload)
            return
        read = json.loads(payload)
        self._said += [
            json.dumps(one).encode() for one in (read if isinstance(read, list) else [read])
        ]

    async def _follow(self) -> None:
        headers = {"authorization": f"Bearer {self._secret}", "accept": "text/event-stream"}
        stream = _Stream(self._service.app, _head("GET", "/v1/events", headers), self._streamed)
        await stream.ended()


class _Stream(Exchange):
    """A stream whose pieces are kept."""

    def __init__(self, app: App, head: bytes, streamed: list[bytes]) -> None:
        self._streamed = streamed
        super().__init__(app, head, client=None)

    def on_body(self, piece: bytes) -> None:
        self._streamed += [line for line in piece.split(b"\n\n") if line]


def _order(number: int) -> str:
    return order_id(tag_of(ME), number)


def _lease(number: int) -> str:
    return lease_id(tag_of(ME), number)


def _without_chance(line: bytes) -> bytes:
    for random in RANDOM:
        line = random.sub(b"...", line)
    return line


def _read_paths(document: bytes) -> list[str]:
    """What the service itself says can be read, and what is asked beside that."""
    paths = msgspec.json.decode(document)["paths"]
    return list(
        dict.fromkeys(
            [
                *READS,
                *(path for path, methods in paths.items() if "get" in methods and "{" not in path),
            ]
        )
    )


async def exchange(
    app: App, method: str, address: str, headers: dict[str, str], body: Any = None
) -> bytes:
    """One request to the application; all that is answered, as bytes."""
    content = b"" if body is None else json.dumps(body).encode()
    described = (
        {"content-type": "application/json", "content-length": str(len(content))} if content else {}
    )
    asked = Exchange(app, _head(method, address, {**described, **headers}), content, client=None)
    await asked.ended()
    return repr((asked.status, asked.headers)).encode() + b" " + asked.body


def _head(method: str, address: str, headers: dict[str, str]) -> bytes:
    sent = {"host": "pair", **headers}
    return head_of(
        method, address, [(name.encode(), value.encode()) for name, value in sent.items()]
    )
