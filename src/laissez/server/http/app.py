"""The ASGI application: routes made from the table of operations, and the session beside them."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from msgspec.structs import replace
from starlette.routing import Route, Router

from laissez.server.desk import Desk
from laissez.server.http.call import Receive, Scope, Send
from laissez.server.http.docs_page import docs_page
from laissez.server.http.endpoint import OTHER, Endpoint, refuse
from laissez.server.http.openapi import openapi
from laissez.server.http.operation import Operation
from laissez.server.http.operations import OPERATIONS
from laissez.server.http.outgoing import encode
from laissez.server.http.site import Site
from laissez.server.http.static import FOLDER, File, console
from laissez.server.metrics import Metrics
from laissez.server.places import Places
from laissez.server.settings import Settings
from laissez.server.signins import SignIns
from laissez.server.webhooks.dispatcher import Webhooks
from laissez.wire.problems import Code, ProblemError

SESSION = "/v1/session"
Serves: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class ServesSessions(Protocol):
    def serve(self, scope: Any, receive: Any, send: Any) -> Awaitable[None]: ...


class App:
    def __init__(
        self,
        site: Site,
        operations: tuple[Operation, ...],
        sessions: ServesSessions | None,
        files: dict[str, File],
    ) -> None:
        self.site = site
        self._sessions = sessions
        by_path: dict[str, list[Operation]] = {}
        for operation in operations:
            by_path.setdefault(operation.path, []).append(operation)
        endpoints = {path: Endpoint(site, found) for path, found in by_path.items()}
        self._exact: dict[str, Serves] = {
            **files,
            **{path: endpoint for path, endpoint in endpoints.items() if "{" not in path},
        }
        routes = [Route(path, endpoint) for path, endpoint in endpoints.items() if "{" in path]
        self._router = Router(
            routes, redirect_slashes=False, default=functools.partial(_nothing_there, site)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._serve(scope, receive, send)
        except asyncio.CancelledError:
            if not self.site.desk.stopping:
                raise
            # The server has hung up, and nobody is there to be answered.

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            endpoint = self._exact.get(scope["path"], self._router.app)
            await endpoint(scope, receive, send)
        elif kind == "websocket" and scope["path"] == SESSION and self._sessions is not None:
            await self._sessions.serve(scope, receive, send)
        elif kind == "websocket":
            self.site.desk.refusals.note(
                ProblemError(Code.NOT_FOUND, "no session there"), OTHER, None, scope
            )
            # before it was accepted: answered with status 403
            await send({"type": "websocket.close", "code": 1000})
        else:
            await _lifespan(receive, send)


def make_app(
    desk: Desk,
    settings: Settings,
    places: Places,
    sessions: ServesSessions | None = None,
    metrics: Metrics | None = None,
    signins: SignIns | None = None,
    files: Path = FOLDER,
    webhooks: Webhooks | None = None,
) -> App:
    """The whole API over a desk. `sessions` serves WebSockets at /v1/session; `files` are the
    console's. Without `signins`, a restart ends them; without `webhooks`, none is sent anything."""
    metrics = Metrics(desk, places) if metrics is None else metrics
    webhooks = Webhooks(desk, settings.webhooks) if webhooks is None else webhooks
    metrics.webhooks = webhooks.tally
    site = Site(
        desk, settings, metrics, places, SignIns(desk) if signins is None else signins, webhooks
    )
    operations, site.openapi, site.docs = _described(settings.server.metrics_open)
    return App(site, operations, sessions, console(files, site))


@functools.cache
def _described(metrics_open: bool) -> tuple[tuple[Operation, ...], bytes, bytes]:
    """The operations, the OpenAPI document and the page: made once, since they are the same for
    every service of this process."""
    operations = tuple(
        [_opened(operation) if metrics_open else operation for operation in OPERATIONS]
    )
    return operations, encode(openapi(operations)), docs_page(operations).encode()


def _opened(operation: Operation) -> Operation:
    return (
        replace(operation, scopes=None, of_operator=False)
        if operation.name == "getMetrics"
        else operation
    )


async def _nothing_there(site: Site, scope: Any, receive: Any, send: Any) -> None:
    problem = ProblemError(
        Code.NOT_FOUND, f"there is nothing at {scope['path'][:200]!r}: /docs lists what there is"
    )
    await refuse(site, problem, scope, send, [])


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
