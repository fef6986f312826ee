"""The REST clients: `Client` blocks, `AsyncClient` awaits. Their methods are the same; only how
they wait differs.

The operations build the requests; `retries` decides when to send one again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Self, TypeVar

import httpx

from laissez import __version__
from laissez.client.endpoint import find_endpoint
from laissez.client.errors import UsageError
from laissez.client.methods import Asynchronous, Blocking
from laissez.client.operations import Operations
from laissez.client.operator_operations import OperatorOperations
from laissez.client.request import Request, next_page
from laissez.client.retries import Outcome, Retries
from laissez.client.sse import EventOrNotice, EventStream
from laissez.wire.views import Page

T = TypeVar("T")

USER_AGENT = f"laissez-python/{__version__}"


class _RestClient(Operations, OperatorOperations):
    """Every operation of the REST API. Lists are iterators that fetch pages as needed.

    A change takes an `idempotency_key`, by default a new one. A second call with the same key and
    arguments repeats the first outcome and changes nothing.
    """

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
        """`url` and `key` default to the environment (see `endpoint`). `timeout` is in seconds, for
        each attempt. A request is sent again up to `retries` times. `insecure` allows a key to be
        sent over plain http."""
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


class Client(_RestClient, Blocking):
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
            outcome: Outcome
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
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def request(self, request: Request[T]) -> T:
        """Send a request, and again after a transient error. Returns the decoded answer."""
        sent = self._http.build_request(**request.arguments())
        retries = Retries(request, self._retries)
        while (delay := retries.delay_after(self._attempt(sent))) is not None:
            time.sleep(delay)
        return retries.answer

    def _attempt(self, request: httpx.Request) -> Outcome:
        try:
            return self._http.send(request)
        except httpx.RequestError as error:
            return error

    def _paginate(self, request: Request[Page[T]]) -> Iterator[T]:
        following: Request[Page[T]] | None = request
        while following is not None:
            page = self.request(following)
            yield from page.data[: following.items_max]
            following = next_page(following, page)


class AsyncClient(_RestClient, Asynchronous):
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
            outcome: Outcome
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
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def request(self, request: Request[T]) -> T:
        """As `Client.request`."""
        sent = self._http.build_request(**request.arguments())
        retries = Retries(request, self._retries)
        while (delay := retries.delay_after(await self._attempt(sent))) is not None:
            await asyncio.sleep(delay)
        return retries.answer

    async def _attempt(self, request: httpx.Request) -> Outcome:
        try:
            return await self._http.send(request)
        except httpx.RequestError as error:
            return error

    async def _paginate(self, request: Request[Page[T]]) -> AsyncIterator[T]:
        following: Request[Page[T]] | None = request
        while following is not None:
            page = await self.request(following)
            for item in page.data[: following.items_max]:
                yield item
            following = next_page(following, page)
