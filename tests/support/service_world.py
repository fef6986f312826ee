"""A small service to test against: a gateway on its own folder, the operator and two tenants with
keys, and the REST API in front of it.

`with_service(tmp_path, story)` runs the story, an async function that gets a `World`, in its own
event loop.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from laissez.exchange.commands import OPERATOR, SERVICE, Caps, CreateTenant, IssueKey
from laissez.journal import GroupCommit
from laissez.market import Topology
from laissez.market.commands import CloseBooks
from laissez.server import catch_up
from laissez.server.auth import Principal, new_key
from laissez.server.beside import FILE, Beside
from laissez.server.clock import Clock
from laissez.server.data_folder import create, open_folder
from laissez.server.gateway import Gateway
from laissez.server.http.app import App, make_app
from laissez.server.rate_limits import StreamQuota
from laissez.server.settings import Limits, Server, Settings
from laissez.server.signins import SignIns
from laissez.server.websocket import sessions
from laissez.server.websocket.session import Session
from laissez.wire.codec import FRAME_CODECS
from laissez.wire.ids import order_id, tag_of
from laissez.wire.requests import Hello
from laissez.wire.session import JSON
from laissez_check.in_process import Wire
from support.in_process import InProcess

HOUR_US = 3_600_000_000
LEAVES = [
    f"h100/{zone}/rack{rack}/gpu{gpu}"
    for zone in ("east", "west")
    for rack in (1, 2)
    for gpu in (1, 2)
] + ["a100/east/rack1/gpu1"]
LEVELS = {"h100": ("type", "zone", "rack", "gpu")}
TOPOLOGY = Topology.of(LEAVES, LEVELS)
GENEROUS = Limits(
    commands_per_second=100_000,
    commands_burst=100_000,
    refusals_per_second=100_000,
    refusals_burst=100_000,
)


class Replaced:
    """An exchange or a market with some attributes replaced: compiled classes accept no new
    ones."""

    def __init__(self, real: object, **replaced: object) -> None:
        self._real = real
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class HeldCommit(GroupCommit):
    """Stores as usual. While it is held, it reports nothing to the gateway."""

    is_held = False

    def _report(self) -> None:
        if self.is_held:
            self.durable = self._journal.last
        else:
            super()._report()


@contextmanager
def journal_held(gateway: Gateway) -> Iterator[None]:
    """In the block the journal stores, but the gateway learns of it only at the end."""
    commit = gateway._commit
    assert isinstance(commit, HeldCommit)
    commit.is_held = True
    try:
        yield
    finally:
        commit.is_held = False
        gateway._release(commit.durable)


def unknown_order(who: str) -> str:
    """The id of an order that `who` never placed. The market refuses it, in the journal. Other ids
    are refused before the journal."""
    return order_id(tag_of(who), 999)


class Written(Wire):
    """A session's connection that keeps the messages written to it."""

    def __init__(self) -> None:
        super().__init__(self._keep)
        self.said: list[Any] = []

    def _keep(self, payload: bytes) -> None:
        read = msgspec.json.decode(payload)
        self.said += read if isinstance(read, list) else [read]

    def close(self, code: int, reason: str) -> None:
        self.closed = code, reason


def session_on(
    wire: Wire, gateway: Gateway, principal: Principal, hello: Hello | None = None
) -> Session:
    return Session(
        gateway, principal, FRAME_CODECS[JSON], hello or Hello(), wire, on_left=lambda _: None
    )


class MovingClock:
    """A clock that the test moves. Each reading also advances it by a microsecond, as real time
    does."""

    def __init__(self) -> None:
        self._ns = 0

    def __call__(self) -> int:
        self._ns += 1_000
        return self._ns

    def pass_us(self, us: int) -> None:
        self._ns += us * 1_000


class World:
    def __init__(
        self,
        gateway: Gateway,
        app: App,
        quota: StreamQuota,
        passing: MovingClock,
        secrets: dict[str, str],
        beside: Beside,
    ) -> None:
        self.beside = beside
        self.gateway = gateway
        self.app = app
        self.quota = quota
        self.passing = passing
        self.secrets = secrets
        self.http = httpx.AsyncClient(
            transport=InProcess(app),
            base_url="http://test",
        )
        self._keys = itertools.count(1)

    async def ask(
        self,
        who: str | None,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        **more: Any,
    ) -> httpx.Response:
        """Send a request as `ann`, `bob`, `operator`, with a secret, or without a key."""
        headers = dict(more.pop("headers", {}))
        if who is not None:
            headers["Authorization"] = f"Bearer {self.secrets.get(who, who)}"
        if key is not None:
            headers["Idempotency-Key"] = key
        if body is not None:
            more["json"] = body
        return await self.http.request(method, path, headers=headers, **more)

    async def place(
        self, who: str, scope: str, limit: str, bid: str | None = None
    ) -> dict[str, Any]:
        wanted = {"scope": scope, "limit": limit, **({} if bid is None else {"bid": bid})}
        answer = await self.ask(who, "POST", "/v1/orders", {"alternatives": [wanted]})
        assert answer.status_code == 201, answer.text
        done: dict[str, Any] = answer.json()
        return done

    def new_secret(self, holder: str, *scopes: str, name: str | None = None) -> str:
        made = new_key()
        issued = self.gateway.enter(
            OPERATOR,
            SERVICE,
            "",
            IssueKey(holder, made.id, made.digest, scopes, name or f"k{next(self._keys)}"),
        )
        assert issued.refusal is None, issued.refusal
        return made.secret

    def close_books(self, before: int | None = None) -> int:
        """Close the books until `before`, by default now; returns that time."""
        before = self.gateway.clock.now() if before is None else before
        closed = self.gateway.enter(OPERATOR, SERVICE, "", CloseBooks(before))
        assert closed.refusal is None
        return before


def with_page_size(monkeypatch: pytest.MonkeyPatch, events: int) -> None:
    """Sets the page size of the catch-up."""
    for module in (catch_up, sessions):
        monkeypatch.setattr(module, "PAGE", events)


Story = Callable[[World], Awaitable[None]]


def with_service(
    folder: Path,
    story: Story,
    limits: Limits = GENEROUS,
    metrics_open: bool = False,
    secrets: dict[str, str] | None = None,
    topology: Topology = TOPOLOGY,
) -> None:
    """Run a story on the service in the folder, which is created if it is missing. `secrets` are
    kept across a restart."""
    asyncio.run(
        _run(
            folder,
            story,
            Settings(limits=limits, server=Server(metrics_open=metrics_open)),
            {} if secrets is None else secrets,
            topology,
        )
    )


async def _run(
    folder: Path, story: Story, settings: Settings, secrets: dict[str, str], topology: Topology
) -> None:
    is_new = not (folder / "journal.db").exists()
    if is_new:
        create(folder, topology, settings.limits.open_orders_max)
    opened = open_folder(folder, settings.limits)
    passing = MovingClock()
    clock = Clock(max(opened.journal.last_at, opened.exchange.market.now) + 1, passed=passing)
    gateway = Gateway(
        opened.exchange,
        opened.journal,
        clock,
        settings.limits,
        opened.event_log,
        HeldCommit,
    )
    quota = StreamQuota()
    beside = Beside(folder / FILE, gateway.identity)
    world = World(
        gateway,
        make_app(gateway, settings, quota, signins=SignIns(gateway, beside)),
        quota,
        passing,
        secrets,
        beside,
    )
    try:
        if is_new:
            for tenant in ("ann", "bob"):
                gateway.enter(OPERATOR, SERVICE, "", CreateTenant(tenant, Caps()))
                secrets[tenant] = world.new_secret(tenant, "read", "trade")
            secrets[OPERATOR] = world.new_secret(OPERATOR, "read", "operate")
            await gateway.all_durable()
        await story(world)
    finally:
        await world.http.aclose()
        gateway.close()
        opened.journal.close()
        beside.close()
