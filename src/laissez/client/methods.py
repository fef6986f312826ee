"""Decorators that turn one definition of an operation into a method of every client.

The decorated function builds a message. On a client that blocks, the method sends the message and
returns the answer; on a client that awaits, the method is a coroutine function. The type checker
sees the parameters of the function, and a result that depends on the kind of client.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from laissez.wire.views import Page

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Answerable(Generic[T_co]):
    """A message that the server answers with a `T_co`."""

    __slots__ = ()


class Blocking:
    """A client whose methods return the answer."""


class Asynchronous:
    """A client whose methods are coroutine functions."""


class Pipelined:
    """A client whose methods send at once and return a future of the answer."""


class _Operation(Generic[P, T]):
    """The bound method is cached on the instance, so only its first use pays for the descriptor."""

    _sender: str  # the name of the client's method that sends the message

    def __init__(self, build: Callable[Concatenate[Any, P], Answerable[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def _bind(self, client: object) -> Callable[P, Any]:
        build, send = self._build.__get__(client), getattr(client, self._sender)

        @functools.wraps(build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return send(build(*args, **kwargs))

        client.__dict__[self._build.__name__] = method
        return method


class Method(_Operation[P, T]):
    """A method that sends one message and gives its answer."""

    _sender = "request"

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Asynchronous, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: Pipelined, owner: type) -> Callable[P, asyncio.Future[T]]: ...
    def __get__(self, client: Blocking | Asynchronous | Pipelined | None, owner: type) -> Any:
        return self if client is None else self._bind(client)


class Listing(_Operation[P, Page[T]]):
    """A method that iterates over a list and fetches its pages as needed."""

    _sender = "_paginate"

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: Asynchronous, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Blocking | Asynchronous | None, owner: type) -> Any:
        return self if client is None else self._bind(client)
