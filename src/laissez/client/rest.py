"""The REST clients: `Client` blocks, `AsyncClient` awaits. Both know the same methods, written
once, and differ only in how they wait.

What to send and how to read the answer is in `calls`, when to send it again in `attempts`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from laissez import __version__
from laissez.client import calls, webhook_calls
from laissez.client.access import find_access
from laissez.client.asking import Awaiting, Blocking, Listing, Method
from laissez.client.attempts import Attempts
from laissez.client.call import Call
from laissez.client.errors import UsageError
from laissez.client.following import Following, Told
from laissez.wire.views import Page

T = TypeVar("T")

USER_AGENT = f"laissez-python/{__version__}"


class Api:
    """Everything the API can be asked over REST. Lists are iterators that fetch pages as they are
    needed."""

    me = Method(calls.me)
    run = Method(calls.run)
    instances = Listing(calls.instances)
    instance = Method(calls.instance)
    stop = Method(calls.stop)
    place = Method(calls.place)
    amend = Method(calls.amend)
    cancel = Method(calls.cancel)
    orders = Listing(calls.orders)
    order = Method(calls.order)
    batch = Method(calls.batch)
    leases = Listing(calls.leases)
    lease = Method(calls.lease)
    set_limit = Method(calls.set_limit)
    relinquish = Method(calls.relinquish)
    price_history = Method(calls.price_history)
    quote = Method(calls.quote)
    quotes = Listing(calls.quotes)
    bill = Method(calls.bill)
    bills = Listing(calls.bills)
    bill_csv = Method(calls.bill_csv)
    budget = Method(calls.budget)
    set_budget = Method(calls.set_budget)
    remove_budget = Method(calls.remove_budget)
    own_caps = Method(calls.own_caps)
    set_own_caps = Method(calls.set_own_caps)
    spending = Listing(calls.spending)
    events = Listing(calls.events)
    create_webhook = Method(webhook_calls.create_webhook)
    webhooks = Listing(webhook_calls.webhooks)
    webhook = Method(webhook_calls.webhook)
    delete_webhook = Method(webhook_calls.delete_webhook)
    rotate_webhook_secret = Method(webhook_calls.rotate_webhook_secret)
    redeliver = Method(webhook_calls.redeliver)
    dead_letters = Listing(webhook_calls.dead_letters)
    topology = Listing(calls.topology)
    market = Method(calls.market)
    market_history = Method(calls.market_history)
    preview = Method(calls.preview)
    resources = Listing(calls.resources)
    set_online = Method(calls.set_online)
    levels = Method(calls.levels)
    book = Method(calls.book)
    rates = Method(calls.rates)
    floors = Listing(calls.floors)
    set_floor = Method(calls.set_floor)
    remove_floor = Method(calls.remove_floor)
    controls = Listing(calls.controls)
    set_controls = Method(calls.set_controls)
    remove_controls = Method(calls.remove_controls)
    report_inframaps = Method(calls.report_inframaps)
    inframaps = Method(calls.inframaps)
    tenants = Listing(calls.tenants)
    tenant = Method(calls.tenant)
    create_tenant = Method(calls.create_tenant)
    set_caps = Method(calls.set_caps)
    keys = Listing(calls.keys)
    issue_key = Method(calls.issue_key)
    revoke_key = Method(calls.revoke_key)
    health = Method(calls.health)
    ready = Method(calls.ready)

    def __init__(
        self, url: str | None, key: str | None, timeout: float, retries: int, insecure: bool
    ) -> None:
        if retries < 0 or timeout <= 0:
            raise UsageError(
                f"expected retries of 0 or more and a timeout above 0, found {retries} and"
                f" {timeout}"
            )
        self._access = find_access(url, key, insecure)
        self._retries = retries
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._access.url!r})"

    def _options(self) -> dict[str, Any]:
        """For httpx's clients. A proxy is for servers elsewhere: through one, a key for this
        machine would leave it."""
        headers = {"User-Agent": USER_AGENT, **self._access.headers}
        return {
            "base_url": self._access.url,
            "headers": headers,
            "timeout": self._timeout,
            "trust_env": not self._access.is_local,
        }


def _arguments(call: Call[Any]) -> dict[str, Any]:
    return {
        "method": call.method,
        "url": call.path,
        "params": call.params or None,
        "content": call.body,
        "headers": call.headers,
    }


class _Paging:
    """How far through a list: which page to ask for next, and how many of its items are wanted."""

    def __init__(self, call: Call[Page[T]]) -> None:
        self.call: Call[Page[Any]] | None = None if call.items_max == 0 else call
        self._left = call.items_max

    def wanted(self, page: Page[T]) -> tuple[T, ...]:
        items = page.data if self._left is None else page.data[: self._left]
        if self._left is not None:
            self._left -= len(items)
        is_done = not page.has_more or not page.data or self._left == 0
        self.call = None if is_done or self.call is None else self.call.next_page(page.cursor)
        return items


class Client(Api, Blocking):
    """Speaks to a server and waits for its answers. Use it in a `with` block, or `close()` it. Safe
    to share between threads."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 4,
        insecure: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`url` and `key` default to the environment. `timeout` is in seconds for each attempt;
        `insecure` lets a key travel over plain http."""
        super().__init__(url, key, timeout, retries, insecure)
        self._http = httpx.Client(**self._options(), transport=transport)

    def follow(self, after: int | None = None, *, patience_s: float = 60.0) -> Iterator[Told]:
        """Events as they happen, after number `after` or from now on; connects again and resumes by
        itself, unless that fails for `patience_s`."""
        following = Following(after, patience_s)
        while True:
            outcome: httpx.Response | httpx.RequestError
            try:
                with self._http.stream(**following.request()) as outcome:  # type: ignore[arg-type]  # arguments by name
                    if not outcome.is_success:
                        outcome.read()
                    else:
                        for chunk in outcome.iter_bytes():
                            yield from following.feed(chunk)
            except httpx.RequestError as lost:
                outcome = lost
            time.sleep(following.pause_after(outcome))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, call: Call[T]) -> T:
        request, attempts = (
            self._http.build_request(**_arguments(call)),
            Attempts(call, self._retries),
        )
        while (pause := attempts.pause_after(self._attempt(request))) is not None:
            time.sleep(pause)
        return attempts.answer

    def _attempt(self, request: httpx.Request) -> httpx.Response | httpx.RequestError:
        try:
            return self._http.send(request)
        except httpx.RequestError as lost:
            return lost

    def _pages(self, call: Call[Page[T]]) -> Iterator[T]:
        paging = _Paging(call)
        while paging.call is not None:
            yield from paging.wanted(self._ask(paging.call))


class AsyncClient(Api, Awaiting):
    """The same for asyncio: methods are awaited, lists and `follow` are async iterators. Use it in
    an `async with` block, or `await close()`."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 4,
        insecure: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, key, timeout, retries, insecure)
        self._http = httpx.AsyncClient(**self._options(), transport=transport)

    async def follow(
        self, after: int | None = None, *, patience_s: float = 60.0
    ) -> AsyncIterator[Told]:
        """As `Client.follow`."""
        following = Following(after, patience_s)
        while True:
            outcome: httpx.Response | httpx.RequestError
            try:
                async with self._http.stream(**following.request()) as outcome:  # type: ignore[arg-type]  # arguments by name
                    if not outcome.is_success:
                        await outcome.aread()
                    else:
                        async for chunk in outcome.aiter_bytes():
                            for told in following.feed(chunk):
                                yield told
            except httpx.RequestError as lost:
                outcome = lost
            await asyncio.sleep(following.pause_after(outcome))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _ask(self, call: Call[T]) -> T:
        request, attempts = (
            self._http.build_request(**_arguments(call)),
            Attempts(call, self._retries),
        )
        while (pause := attempts.pause_after(await self._attempt(request))) is not None:
            await asyncio.sleep(pause)
        return attempts.answer

    async def _attempt(self, request: httpx.Request) -> httpx.Response | httpx.RequestError:
        try:
            return await self._http.send(request)
        except httpx.RequestError as lost:
            return lost

    async def _pages(self, call: Call[Page[T]]) -> AsyncIterator[T]:
        paging = _Paging(call)
        while paging.call is not None:
            for item in paging.wanted(await self._ask(paging.call)):
                yield item
