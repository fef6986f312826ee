"""The tenant whose two transcripts are compared: it trades by REST and in a session, follows a
stream, has a webhook, sets budgets and caps, and reads everything.

Budgets and caps may not change the market that was drawn. So a budget acts only if it was drawn;
the others warn. A cap is so low that every order is refused while it is in force, or so high that
none is.
"""

from __future__ import annotations

import asyncio
import json
import re
from random import Random
from typing import Any

import msgspec

from laissez.market import commands
from laissez.market.commands import PRICE_MAX
from laissez.wire.codec import FRAME_CODECS
from laissez.wire.ids import instance_of_order, lease_id, order_id, tag_of, webhook_id
from laissez.wire.rendering import price
from laissez.wire.session import JSON
from laissez_check.access.pair_service import ELSEWHERE, RECEIVER, Service
from laissez_check.access.pairs import BUDGET, LIMITS_TO_FLOOR, ME, Pair, Spending
from laissez_check.clients.requests import as_rest
from laissez_check.in_process import Wire

READS_PER_MOMENT = 3
HIDDEN_PER_WORLD = 3  # acts of others beside the market, at most
IN_A_BATCH, AS_INSTANCE = 0.2, 0.5  # how often a command goes this way, if it can
BUDGET_SET, CAPS_SET, DELIVERED = 0.15, 0.15, 0.3  # how often, of all moments
BUDGETS = ("0.01", "5", "1000")
NOTHING, EVERYTHING = "0", "1000000000"  # dollars per hour that no tenant goes below or above
CAPS = (
    {"rate": NOTHING},
    {"worst_rate": NOTHING},
    {"rate": NOTHING, "worst_rate": NOTHING},
    {"rate": EVERYTHING, "worst_rate": EVERYTHING},
)
TURNS_MAX = 100_000  # of the event loop, until a session has caught up
# Random parts of a transcript: the token of a sign-in, the secret of a webhook and its signatures.
TOKEN = re.compile(rb"laissez_signin=[\w-]{43}")
RANDOM = (TOKEN, re.compile(rb"whsec_[\w+/=]+"), re.compile(rb"webhook-signature: \S+"))

TAG, BOB = tag_of(ME), tag_of("bob")
THINGS = {"orders", "instances", "leases", "webhooks"}  # that a tenant has
OF_OPERATOR = {"books", "rates", "tenants"}  # refused whatever is named
NEVER = 10**9  # a number that no order and no lease has
# In addition to every path that the OpenAPI document can read.
READS = (
    "/v1/orders?limit=1", "/v1/leases?limit=1", "/v1/instances?limit=1", "/v1/bills?format=csv",
    "/v1/bills?format=focus", "/v1/events?after=9999",
    "/v1/bills?since=2027-01-15T08:00:00Z", "/v1/bills?until=2027-01-15T09:00:00Z",
    "/v1/bills?format=csv&since=2027-01-15T08:00:00Z",
    "/v1/events?after=0&limit=2", "/v1/orders?tenant=bob", "/v1/bills?tenant=bob",
    "/v1/tenants/bob", "/v1/tenants/bob/keys", "/", "/v1/nothing",
)  # fmt: skip
NOWHERE = {"alternatives": [{"scope": "nowhere", "limit": "1"}]}
UNKNOWN = [
    {"type": "cancel_order", "order": "ord_never"},
    {"type": "relinquish", "lease": "lse_never"},
]
# Always refused, and in the same words.
REFUSED: tuple[tuple[str, str, Any], ...] = (
    ("DELETE", "/v1/orders/ord_never", None),
    ("DELETE", f"/v1/orders/{order_id(TAG, NEVER)}", None),
    ("DELETE", f"/v1/leases/{lease_id(TAG, NEVER)}", None),
    ("PUT", "/v1/orders/ord_never", NOWHERE),
    ("POST", "/v1/orders", NOWHERE),
    ("POST", "/v1/orders", {"alternatives": []}),
    ("PATCH", "/v1/leases/lse_never", {"limit": "1"}),
    ("DELETE", "/v1/leases/lse_never", None),
    ("DELETE", "/v1/instances/ins_never", None),
    ("POST", "/v1/instances", {"near": "lse_never", "level": 1, "max_price": "1"}),
    ("POST", "/v1/instances", {"scope": "nowhere", "max_price": "1"}),
    ("POST", "/v1/batch", {"commands": UNKNOWN}),
    ("DELETE", "/v1/webhooks/whk_never", None),
    ("PUT", "/v1/floors/nowhere", {"price": "1"}),
)


class Tenant:
    """The tenant in one of the worlds, and its transcript."""

    def __init__(self, service: Service, pair: Pair, side: int, secret: str) -> None:
        self._service = service
        self._market = service.gateway.exchange.market
        self._pair = pair
        self._side = side
        self._secret = secret
        self._draw = Random(pair.seed)  # the same in both worlds
        self._draw_asides = Random(f"{pair.seed} asides")  # the same in both worlds
        self._hidden = Random(pair.seed * 2 + side)  # another in each
        self._said: list[bytes] = []
        self._streamed: list[bytes] = []
        self._wire = Wire(self._heard, secret)
        self._commands = 0
        paths = msgspec.json.decode(service.app.site.openapi)["paths"]
        readable = [path for path, by in paths.items() if "get" in by and "{" not in path]
        self._known = list(dict.fromkeys([*READS, *readable]))
        # the readable paths of one thing, by its kind, with {} for its id
        self._of_thing: dict[str, list[str]] = {}
        for path in [path for path, by in paths.items() if "get" in by and "{" in path]:
            kind = path.split("/")[2]
            if kind not in OF_OPERATOR:
                self._of_thing.setdefault(kind, []).append(re.sub(r"{\w+}", "{}", path))
        assert self._of_thing.keys() == THINGS, "name the new kind of thing in `_reads`"

    async def live(self) -> list[bytes]:
        stream = {**self._bearer(), "accept": "text/event-stream"}
        tasks = [
            asyncio.create_task(self._open(self._wire, {"type": "hello", "id": "h"})),
            asyncio.create_task(self._service.follow("/v1/events", stream, self._streamed.append)),
        ]
        await self._service.settle()
        await self._service.deliver()  # there is nothing yet: as when a service starts
        made = await self._ask("POST", "/v1/webhooks", {"url": RECEIVER})
        assert b"(201, " in made, made
        for moment in self._pair.moments:
            self._service.pass_until(moment.at)
            await self._let_others(moment.others[self._side])
            if moment.mine is not None:
                await self._trade(moment.mine, moment.in_session)
            await self._do_asides()
            if moment.spends is not None:
                await self._spend(moment.spends)
            await self._service.settle()
            for path in self._draw.sample(self._reads(), READS_PER_MOMENT):
                await self._ask("GET", path)
            await self._ask(*self._draw.choice(REFUSED))
        await self._service.deliver()
        await self._look_at_everything()
        self._ask_in_session()
        await self._service.settle()
        tasks.append(await self._resume())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        lines = (*self._said, *self._streamed, *self._service.received)
        return [_without_chance(line) for line in lines]

    def _bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._secret}"}

    async def _ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> bytes:
        sent = headers or {}
        if "cookie" not in sent:
            sent = {**self._bearer(), **sent}
        answer = await self._service.ask(method, path, sent, body)
        self._said.append(f"{method} {path} ".encode() + answer)
        return answer

    # -- sessions

    async def _open(self, wire: Wire, hello: dict[str, Any]) -> None:
        """A session, until it is cancelled."""
        await self._service.sessions.open(wire, FRAME_CODECS[JSON], json.dumps(hello).encode())
        try:
            await asyncio.Event().wait()
        finally:
            if wire.session is not None:
                wire.session.lost()

    async def _resume(self) -> asyncio.Task[None]:
        """Open another session, which is sent everything that is still kept."""
        wire, gateway = Wire(self._heard, self._secret), self._service.gateway
        gone = gateway.event_log.gone_until(ME, gateway.latest(ME))
        hello = {"type": "hello", "id": "again", "resume_after": gone}
        task = asyncio.create_task(self._open(wire, hello))
        for _ in range(TURNS_MAX):
            if wire.session is not None or task.done():
                break
            await asyncio.sleep(0)
        else:
            raise AssertionError("a session never caught up")
        await self._service.settle()
        return task

    def _heard(self, payload: bytes) -> None:
        """Note message by message, because timing decides which messages share a frame."""
        read = json.loads(payload)
        messages = read if isinstance(read, list) else [read]
        self._said += [json.dumps(one).encode() for one in messages]

    def _ask_in_session(self) -> None:
        session = self._wire.session
        assert session is not None
        scopes = (*self._pair.world.nodes(), "nowhere")
        asked = [{"type": "quote", "scope": scope} for scope in scopes]
        asked += [{"type": "orders"}, {"type": "leases"}, {"type": "ping"}]
        session.beat()
        messages = [{**one, "id": f"q{number}"} for number, one in enumerate(asked)]
        session.receive(json.dumps(messages).encode())

    # -- others

    async def _let_others(self, others: tuple[Any, ...]) -> None:
        """Other tenants come, look, sign in, set budgets and are refused: more often in one world
        than in the other."""
        for command in others:
            self._service.enter(command)
        for _ in range(self._hidden.randint(0, HIDDEN_PER_WORLD)):
            secret = self._service.new_tenant()
            headers = {"authorization": f"Bearer {secret}", "x-laissez-console": "1"}
            asks: list[tuple[str, str, Any]] = [
                ("GET", "/v1/prices", None),
                ("PUT", "/v1/budget", {"amount": "77"}),
                ("POST", "/v1/signin", {"key": secret}),
                ("DELETE", "/v1/orders/ord_none", None),
                ("POST", "/v1/orders", NOWHERE),
                ("GET", "/v1/keys", None),
                ("POST", "/v1/webhooks", {"url": ELSEWHERE}),
                ("PUT", "/v1/caps", {"rate": "77"}),
            ]
            method, path, body = self._hidden.choice(asks)
            await self._service.ask(method, path, headers, body)

    # -- the acts of the tenant

    async def _trade(self, command: commands.Command, in_session: bool) -> None:
        message = _message(command)
        self._commands += 1
        if in_session and self._wire.session is not None:
            message["id"] = f"s{self._commands}"
            self._wire.session.receive(json.dumps(message).encode())
            return
        request = self._request(command, message, self._draw.random())
        for _ in range(self._draw.choice((1, 1, 2))):  # sometimes twice with the same key
            await self._ask(*request, {"idempotency-key": f"k{self._commands}"})

    def _request(
        self, command: commands.Command, message: dict[str, Any], drawn: float
    ) -> tuple[str, str, Any]:
        """One of up to three requests that mean the same command."""
        if drawn < IN_A_BATCH:
            return "POST", "/v1/batch", {"commands": [message]}
        if drawn < AS_INSTANCE and (as_instance := self._as_instance(command)) is not None:
            return as_instance
        return as_rest(message)

    def _as_instance(self, command: commands.Command) -> tuple[str, str, Any] | None:
        if isinstance(command, commands.PlaceOrder) and len(command.alternatives) == 1:
            (wanted,) = command.alternatives
            if wanted.bid == wanted.limit:
                body = {"scope": wanted.scope, "max_price": price(wanted.limit)}
                return "POST", "/v1/instances", body
        if isinstance(command, commands.Relinquish):
            lease = self._market.lease(ME, command.lease)
            if lease is not None:
                return "DELETE", f"/v1/instances/{_instance(lease.order)}", None
        return None

    async def _do_asides(self) -> None:
        draw = self._draw_asides
        if draw.random() < BUDGET_SET:
            budget = {"amount": draw.choice(BUDGETS), "action": "warn", "keep": draw.random() < 0.5}
            await self._ask("PUT", "/v1/budget", budget)
        if draw.random() < CAPS_SET:
            await self._cap(draw.choice(CAPS))
        if draw.random() < DELIVERED:
            await self._service.deliver()

    async def _cap(self, caps: dict[str, str]) -> None:
        await self._ask("PUT", "/v1/caps", caps)
        if NOTHING not in caps.values():
            return
        await self._try_order()
        if "worst_rate" in caps:
            await self._try_limits()
        await self._ask("GET", "/v1/caps")
        await self._ask("PUT", "/v1/caps", {})

    async def _spend(self, spending: Spending) -> None:
        """Set a budget and wait until it is spent. Two warnings come before it acts; then it stops
        new orders."""
        await self._ask("PUT", "/v1/budget", {"amount": BUDGET, "action": spending.action})
        await self._service.settle()
        self._service.pass_until(spending.until)
        await self._service.settle()
        await self._try_order()
        if spending.action == LIMITS_TO_FLOOR:
            await self._try_limits()
        for path in ("/v1/budget", "/v1/spending", "/v1/leases", "/v1/orders", "/v1/bills"):
            await self._ask("GET", path)
        await self._ask("DELETE", "/v1/budget")

    async def _try_order(self) -> None:
        tree = self._pair.world.leaves[0].partition("/")[0]
        order = {"alternatives": [{"scope": tree, "limit": "1"}]}
        await self._ask("POST", "/v1/orders", order)

    async def _try_limits(self) -> None:
        """Raise every limit that is not the highest: an unchanged limit would be accepted."""
        for lease in self._market.leases(ME):
            if lease.limit is not None and lease.limit < PRICE_MAX:
                path = f"/v1/leases/{lease_id(TAG, lease.lease)}"
                await self._ask("PATCH", path, {"limit": None})

    # -- reads

    def _reads(self) -> list[str]:
        """Every readable path: things of its own, of others, and unknown ones."""
        counts = self._market.counts(ME)
        things = []
        for number in range(1, counts.orders_placed + 1):
            things += [("orders", order_id(TAG, number)), ("instances", _instance(number))]
        things += [
            ("leases", lease_id(TAG, number)) for number in range(1, counts.leases_started + 1)
        ]
        things.append(("webhooks", webhook_id(TAG, 1)))
        things += [
            ("orders", order_id(BOB, 1)),
            ("leases", lease_id(BOB, 1)),
            ("instances", instance_of_order(order_id(BOB, 1))),
            ("webhooks", webhook_id(BOB, 1)),
        ]
        of_things = [path.format(id) for kind, id in things for path in self._of_thing[kind]]
        nodes = [
            f"/v1/{ask}={node}"
            for node in self._pair.world.nodes()
            for ask in ("prices?scope", "topology?node", "resources?under")
        ]
        return [*self._known, *of_things, *nodes]

    async def _look_at_everything(self) -> None:
        """Read by key and by sign-in, in pages, and with HEAD."""
        for path in self._reads():
            answer = await self._ask("GET", path)
            cursor = re.search(rb'"cursor":"([^"]+)"', answer)
            if cursor:
                page = f"{path}&cursor={cursor[1].decode()}".replace("after=0&", "")
                await self._ask("GET", page)
        for refused in REFUSED:
            await self._ask(*refused)
        await self._ask("HEAD", "/v1/leases")
        await self._ask("OPTIONS", "/v1/orders/ord_x")
        console = {"x-laissez-console": "1"}
        token = TOKEN.search(await self._ask("POST", "/v1/signin", {"key": self._secret}, console))
        assert token is not None
        for path in ("/v1/me", "/v1/signin", "/v1/bills"):
            await self._ask("GET", path, None, {"cookie": token[0].decode()})


def _message(command: commands.Command) -> dict[str, Any]:
    """The command as a message of a session."""
    message: dict[str, Any] = msgspec.to_builtins(command)
    del message["tenant"]
    for name, id in (("order", order_id), ("lease", lease_id)):
        if name in message:
            message[name] = id(TAG, message[name])
    for one in (message, *message.get("alternatives", ())):
        for name in ("bid", "limit"):
            if one.get(name) is not None:
                one[name] = price(one[name])
    return message


def _instance(order: int) -> str:
    return instance_of_order(order_id(TAG, order))


def _without_chance(line: bytes) -> bytes:
    for random in RANDOM:
        line = random.sub(b"...", line)
    return line
