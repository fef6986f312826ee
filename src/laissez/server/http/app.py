"""The application: routes made from the table of operations, and all that connections share."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Coroutine
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from laissez.server.gateway import Gateway
from laissez.server.http.docs_page import docs_page
from laissez.server.http.endpoint import Endpoint, refuse
from laissez.server.http.openapi import openapi
from laissez.server.http.operation import Operation
from laissez.server.http.operations import OPERATIONS
from laissez.server.http.protocol import HttpConnection
from laissez.server.http.request import Request
from laissez.server.http.response import encode
from laissez.server.http.site import Site
from laissez.server.http.static import FOLDER, File, console
from laissez.server.metrics import Metrics
from laissez.server.rate_limits import StreamQuota
from laissez.server.settings import Settings
from laissez.server.signins import SignIns
from laissez.server.webhooks.dispatcher import Webhooks
from laissez.server.websocket.connection import Connection
from laissez.wire.problems import Code, ProblemError

PATH = ":path"  # of a parameter that may hold slashes


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
        self.sessions = sessions
        self.connections: dict[HttpConnection | Connection, None] = {}  # in order of arrival
        self.tasks: set[asyncio.Task[None]] = set()
        networks = tuple([ip_network(one) for one in site.settings.server.trusted_proxies])
        self.trusts = functools.lru_cache(1_000)(lambda host: _is_within(host, networks))
        self._exact: dict[str, Endpoint | File] = {**files}
        # by what comes before and after the one parameter of a path
        self._patterns: dict[tuple[str, str], tuple[str, Endpoint]] = {}
        by_path: dict[str, list[Operation]] = {}
        for operation in operations:
            by_path.setdefault(operation.path, []).append(operation)
        for path, found in by_path.items():
            self._add(path, Endpoint(site, found))

    def _add(self, path: str, endpoint: Endpoint) -> None:
        before, _, rest = path.partition("{")
        name, _, after = rest.partition("}")
        if not name:
            self._exact[path] = endpoint
        elif name.endswith(PATH):
            self._patterns[before, PATH] = name.removesuffix(PATH), endpoint
        else:
            self._patterns[before, after] = name, endpoint

    def serve(self, request: Request) -> Coroutine[Any, Any, None]:
        endpoint = self._exact.get(request.path) or self._matching(request)
        return self._nothing_there(request) if endpoint is None else endpoint.serve(request)

    def _matching(self, request: Request) -> Endpoint | None:
        """The endpoint of a path with a parameter: `/v1/noun/{parameter}` and what follows it."""
        parts = request.path.split("/", 3)
        if len(parts) < 4:
            return None
        before, rest = f"/{parts[1]}/{parts[2]}/", parts[3]
        found = self._patterns.get((before, PATH))
        if found is not None:
            request.path_params = {found[0]: rest}
            return found[1]
        value, slash, after = rest.partition("/")
        found = self._patterns.get((before, slash + after))
        if found is None or not value:
            return None
        request.path_params = {found[0]: value}
        return found[1]

    async def _nothing_there(self, request: Request) -> None:
        words = f"there is nothing at {request.path[:200]!r}: /docs lists what there is"
        await refuse(self.site, ProblemError(Code.NOT_FOUND, words), request, [])

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run what outlasts the arrival of its request."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


def make_app(
    gateway: Gateway,
    settings: Settings,
    places: StreamQuota,
    sessions: ServesSessions | None = None,
    metrics: Metrics | None = None,
    signins: SignIns | None = None,
    files: Path = FOLDER,
    webhooks: Webhooks | None = None,
) -> App:
    """The whole API over a gateway. `sessions` serves WebSockets at /v1/session; `files` are the
    console's. Without `signins`, a restart ends them; without `webhooks`, none is sent anything."""
    metrics = metrics or Metrics(gateway, places)
    webhooks = webhooks or Webhooks(gateway, settings.webhooks)
    metrics.webhooks = webhooks.tally
    signins = signins or SignIns(gateway)
    site = Site(gateway, settings, metrics, places, signins, webhooks)
    operations, site.openapi, site.docs = _described(settings.server.metrics_open)
    return App(site, operations, sessions, console(files, site))


@functools.cache
def _described(metrics_open: bool) -> tuple[tuple[Operation, ...], bytes, bytes]:
    """The operations, the OpenAPI document and the page: the same for every service of this
    process, so they are made once."""
    operations = tuple(
        [
            replace(one, scopes=None, of_operator=False)
            if metrics_open and one.name == "getMetrics"
            else one
            for one in OPERATIONS
        ]
    )
    return operations, encode(openapi(operations)), docs_page(operations).encode()


def _is_within(host: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    """Whether an address is in one of the networks; anything else is in none."""
    try:
        found = ip_address(host)
    except ValueError:
        return False
    return any([found in network for network in networks])
