"""The application: routes made from the table of operations, and what all requests share."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from msgspec.structs import replace

from laissez.server.auth import NOBODY
from laissez.server.gateway import Gateway
from laissez.server.http.docs_page import docs_page
from laissez.server.http.endpoint import Endpoint, answer_at_pace, refuse
from laissez.server.http.messages import JSON, Request, encode, head_of
from laissez.server.http.openapi import openapi
from laissez.server.http.operation import Operation
from laissez.server.http.operations import OPERATIONS
from laissez.server.http.protocol import HttpConnection
from laissez.server.http.static import FOLDER, console_files
from laissez.server.inframaps import Board
from laissez.server.levels import Feed
from laissez.server.metrics import Metrics
from laissez.server.preview import Previews
from laissez.server.rate_limits import StreamQuota
from laissez.server.samples import MarketSamples
from laissez.server.settings import Settings
from laissez.server.signins import SignIns
from laissez.server.statements import FiledStatements
from laissez.server.webhooks.dispatcher import Webhooks
from laissez.server.websocket.connection import Connection
from laissez.server.websocket.sessions import Sessions
from laissez.wire.problems import Code, ProblemError

PATH = ":path"  # of a parameter that may hold slashes


class Serves(Protocol):
    """An operation, or a file of the console."""

    def serve(self, request: Request) -> None: ...


Methods: TypeAlias = Mapping[str, Serves]


@dataclass(eq=False)
class Site:
    """The state that all operations of one server share."""

    gateway: Gateway
    settings: Settings
    metrics: Metrics
    quota: StreamQuota
    signins: SignIns
    webhooks: Webhooks
    openapi: bytes
    docs: bytes

    def __post_init__(self) -> None:
        gateway = self.gateway
        self.inframaps = Board()
        self.levels = Feed(gateway)
        self.previews = Previews(gateway)
        self.statements = FiledStatements(gateway)
        # children of nodes, some of which have very many
        self.children = functools.lru_cache(1_000)(gateway.exchange.market.topology.children)
        self.samples = MarketSamples(gateway)
        self.count = self.metrics.answered


class App:
    def __init__(
        self,
        site: Site,
        operations: tuple[Operation, ...],
        sessions: Sessions | None,
        files: Mapping[str, Serves],
    ) -> None:
        self.site = site
        self.sessions = sessions
        self.connections: dict[HttpConnection | Connection, None] = {}  # in order of arrival
        self.tasks: set[asyncio.Task[None]] = set()
        networks = tuple([ip_network(one) for one in site.settings.server.trusted_proxies])
        self.trusts = functools.lru_cache(1_000)(lambda host: _is_within(host, networks))
        self._exact: dict[str, Methods] = {path: {"GET": files[path]} for path in files}
        # by the parts of a path before and after its parameter
        self._patterns: dict[tuple[str, str], tuple[str, Methods]] = {}
        by_path: dict[str, dict[str, Serves]] = {}
        for one in operations:
            by_path.setdefault(one.path, {})[one.method] = Endpoint(one, site)
        for path, methods in by_path.items():
            self._add(path, methods)

    def _add(self, path: str, methods: Methods) -> None:
        before, _, rest = path.partition("{")
        name, _, after = rest.partition("}")
        if not name:
            self._exact[path] = methods
        elif name.endswith(PATH):
            self._patterns[before, PATH] = name.removesuffix(PATH), methods
        else:
            self._patterns[before, after] = name, methods

    def serve(self, request: Request) -> None:
        methods = self._exact.get(request.path) or self._matching(request)
        if methods is None:
            words = f"there is nothing at {request.path[:200]!r}: /docs lists all paths"
            refuse(self.site, ProblemError(Code.NOT_FOUND, words), request)
            return
        found = methods.get("GET" if request.method == "HEAD" else request.method)
        if found is not None:
            found.serve(request)
        else:
            self._serve_method(request, methods)

    def _serve_method(self, request: Request, methods: Methods) -> None:
        """Answer a method that the path does not support."""
        names = [*methods, "OPTIONS", *(["HEAD"] if "GET" in methods else [])]
        allowed = ", ".join(sorted(names))
        allow = f"allow: {allowed}\r\n"
        if request.method == "OPTIONS":
            answer_at_pace(self.site, NOBODY, request, head_of(200, JSON, 0, allow), b"")
        else:
            words = f"expected {allowed}, found {request.method[:20]}"
            refuse(self.site, ProblemError(Code.METHOD_NOT_ALLOWED, words), request, allow)

    def _matching(self, request: Request) -> Methods | None:
        """The methods at a path with a parameter: `/v1/noun/{parameter}`, perhaps with more after
        it."""
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

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work that outlasts the arrival of its request."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


def make_app(
    gateway: Gateway,
    settings: Settings,
    quota: StreamQuota,
    sessions: Sessions | None = None,
    signins: SignIns | None = None,
    files: Path = FOLDER,
    webhooks: Webhooks | None = None,
) -> App:
    """The whole API over a gateway. `sessions` serves WebSockets at /v1/session; `files` are the
    console's. Without `signins` they are in memory only; without `webhooks` nothing is
    delivered."""
    metrics = Metrics(gateway, quota)
    webhooks = webhooks or Webhooks(gateway, settings.webhooks)
    metrics.webhooks = webhooks.tally
    signins = signins or SignIns(gateway)
    operations, *documents = _described(settings.server.metrics_open)
    site = Site(gateway, settings, metrics, quota, signins, webhooks, *documents)
    return App(site, operations, sessions, console_files(files, site))


@functools.cache
def _described(metrics_open: bool) -> tuple[tuple[Operation, ...], bytes, bytes]:
    """The operations, the OpenAPI document and the page: the same for every service of this
    process, so they are made once."""
    operations = tuple(
        [
            replace(one, scopes=None) if metrics_open and one.name == "getMetrics" else one
            for one in OPERATIONS
        ]
    )
    return operations, encode(openapi(operations)), docs_page(operations).encode()


def _is_within(host: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    """Whether `host` is an address in one of the networks."""
    try:
        found = ip_address(host)
    except ValueError:
        return False
    return any([found in network for network in networks])
