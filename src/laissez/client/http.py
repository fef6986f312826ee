"""The REST clients: `Client` blocks, `AsyncClient` awaits. Their methods are the same; only how
they wait differs.

`operations` builds the requests; `retries` decides when to send one again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any, Self, TypeVar

import httpx

from laissez import __version__
from laissez.client import operations
from laissez.client.endpoint import find_endpoint
from laissez.client.errors import UsageError
from laissez.client.methods import Asynchronous, Blocking, Listing, Method
from laissez.client.request import Request
from laissez.client.retries import Retries
from laissez.client.sse import EventOrNotice, EventStream
from laissez.wire.views import Page

T = TypeVar("T")

USER_AGENT = f"laissez-python/{__version__}"


class _RestApi:
    """Every operation of the REST API. Lists are iterators that fetch pages as needed."""

    me = Method(operations.me)
    run = Method(operations.run)
    instances = Listing(operations.instances)
    instance = Method(operations.instance)
    stop = Method(operations.stop)
    place = Method(operations.place)
    amend = Method(operations.amend)
    cancel = Method(operations.cancel)
    orders = Listing(operations.orders)
    order = Method(operations.order)
    batch = Method(operations.batch)
    leases = Listing(operations.leases)
    lease = Method(operations.lease)
    set_limit = Method(operations.set_limit)
    relinquish = Method(operations.relinquish)
    price_history = Method(operations.price_history)
    quote = Method(operations.quote)
    quotes = Listing(operations.quotes)
    bill = Method(operations.bill)
    bills = Listing(operations.bills)
    bill_csv = Method(operations.bill_csv)
    budget = Method(operations.budget)
    set_budget = Method(operations.set_budget)
    remove_budget = Method(operations.remove_budget)
    own_caps = Method(operations.own_caps)
    set_own_caps = Method(operations.set_own_caps)
    spending = Listing(operations.spending)
    events = Listing(operations.events)
    create_webhook = Method(operations.create_webhook)
    webhooks = Listing(operations.webhooks)
    webhook = Method(operations.webhook)
    delete_webhook = Method(operations.delete_webhook)
    rotate_webhook_secret = Method(operations.rotate_webhook_secret)
    redeliver = Method(operations.redeliver)
    dead_letters = Listing(operations.dead_letters)
    topology = Listing(operations.topology)
    market = Method(operations.market)
    market_history = Method(operations.market_history)
    preview = Method(operations.preview)
    resources = Listing(operations.resources)
    set_online = Method(operations.set_online)
    levels = Method(operations.levels)
    book = Method(operations.book)
    rates = Method(operations.rates)
    floors = Listing(operations.floors)
    set_floor = Method(operations.set_floor)
    remove_floor = Method(operations.remove_floor)
    controls = Listing(operations.controls)
    set_controls = Method(operations.set_controls)
    remove_controls = Method(operations.remove_controls)
    report_inframaps = Method(operations.report_inframaps)
    inframaps = Method(operations.inframaps)
    tenants = Listing(operations.tenants)
    tenant = Method(operations.tenant)
    create_tenant = Method(operations.create_tenant)
    set_caps = Method(operations.set_caps)
    keys = Listing(operations.keys)
    issue_key = Method(operations.issue_key)
    revoke_key = Method(operations.revoke_key)
    health = Method(operations.health)
    ready = Method(operations.ready)

    _connect: Callable[..., Any]  # httpx's client class

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 4,
        insecure: bool = False,
        transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`url` and `key` default to the environment. `timeout` is in seconds for each attempt;
        `insecure` allows a key to be sent over plain http."""
        if retries < 0 or timeout <= 0:
            raise UsageError(
                f"expected retries of 0 or more and a timeout above 0, found {retries} and"
                f" {timeout}"
            )
        self._endpoint = find_endpoint(url, key, insecure)
        self._retries = retries
        self._http = self._connect(
            base_url=self._endpoint.url,
            headers={"User-Agent": USER_AGENT, **self._endpoint.headers},
            timeout=timeout,
            # A proxy is only for remote servers: through one, a local key would leave the machine.
            trust_env=not self._endpoint.is_local,
            transport=transport,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._endpoint.url!r})"


def _arguments(request: Request[Any]) -> dict[str, Any]:
    """Arguments of httpx's `build_request`."""
    return {
        "method": request.method,
        "url": request.path,
        "params": request.params or None,
        "content": request.body,
        "headers": request.headers,
    }


def _next_page(request: Request[Page[T]], page: Page[T]) -> Request[Page[T]] | None:
    """The request for the page after `page`, or None if the list is complete."""
    left = None if request.items_max is None else max(0, request.items_max - len(page.data))
    if not page.has_more or not page.data or left == 0:
        return None
    params = {**request.params, "cursor": page.cursor or ""}
    return replace(request, params=params, items_max=left)


class Client(_RestApi, Blocking):
    """A client that waits for its answers. Use it in a `with` block, or `close()` it. Threads may
    share it."""

    _connect = httpx.Client
    _http: httpx.Client

    def follow(
        self, after: int | None = None, *, reconnect_timeout_s: float = 60.0
    ) -> Iterator[EventOrNotice]:
        """Events as they happen, after number `after` or from now on. Reconnects and resumes by
        itself, and gives up when that fails for `reconnect_timeout_s`."""
        stream = EventStream(after, reconnect_timeout_s)
        while True:
            outcome: httpx.Response | httpx.RequestError
            try:
                with self._http.stream(**stream.request()) as outcome:
                    if not outcome.is_success:
                        outcome.read()
                    else:
                        for chunk in outcome.iter_bytes():
                            yield from stream.feed(chunk)
            except httpx.RequestError as error:
                outcome = error
            time.sleep(stream.delay_after(outcome))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def request(self, request: Request[T]) -> T:
        sent = self._http.build_request(**_arguments(request))
        retries = Retries(request, self._retries)
        while (delay := retries.delay_after(self._attempt(sent))) is not None:
            time.sleep(delay)
        return retries.answer

    def _attempt(self, request: httpx.Request) -> httpx.Response | httpx.RequestError:
        try:
            return self._http.send(request)
        except httpx.RequestError as error:
            return error

    def _paginate(self, request: Request[Page[T]]) -> Iterator[T]:
        following = None if request.items_max == 0 else request
        while following is not None:
            page = self.request(following)
            yield from page.data[: following.items_max]
            following = _next_page(following, page)


class AsyncClient(_RestApi, Asynchronous):
    """The same for asyncio: methods are awaited, lists and `follow` are async iterators. Use it in
    an `async with` block, or `await close()`."""

    _connect = httpx.AsyncClient
    _http: httpx.AsyncClient

    async def follow(
        self, after: int | None = None, *, reconnect_timeout_s: float = 60.0
    ) -> AsyncIterator[EventOrNotice]:
        """As `Client.follow`."""
        stream = EventStream(after, reconnect_timeout_s)
        while True:
            outcome: httpx.Response | httpx.RequestError
            try:
                async with self._http.stream(**stream.request()) as outcome:
                    if not outcome.is_success:
                        await outcome.aread()
                    else:
                        async for chunk in outcome.aiter_bytes():
                            for event in stream.feed(chunk):
                                yield event
            except httpx.RequestError as error:
                outcome = error
            await asyncio.sleep(stream.delay_after(outcome))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def request(self, request: Request[T]) -> T:
        sent = self._http.build_request(**_arguments(request))
        retries = Retries(request, self._retries)
        while (delay := retries.delay_after(await self._attempt(sent))) is not None:
            await asyncio.sleep(delay)
        return retries.answer

    async def _attempt(self, request: httpx.Request) -> httpx.Response | httpx.RequestError:
        try:
            return await self._http.send(request)
        except httpx.RequestError as error:
            return error

    async def _paginate(self, request: Request[Page[T]]) -> AsyncIterator[T]:
        following = None if request.items_max == 0 else request
        while following is not None:
            page = await self.request(following)
            for item in page.data[: following.items_max]:
                yield item
            following = _next_page(following, page)
