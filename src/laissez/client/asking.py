"""Each thing that can be asked is written once, as a function that builds it; these descriptors
turn it into a method of every client.

`Method(build)` on a class whose instances block gives a method that returns the answer; on one that
awaits, a method that returns an awaitable of it. The type checker sees the same: the parameters are
those of `build`, the result follows from the kind of client.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from laissez.wire.views import Page

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Asked(Generic[T_co]):
    """Something that is answered with a `T_co`."""

    __slots__ = ()


class Blocking:
    """A client whose methods return when the answer is there."""


class Awaiting:
    """A client whose methods are coroutines."""


class Pipelining:
    """A client whose methods send at once and return a future of the answer."""


class _Described(Generic[P, T]):
    """What `Method` and `Listing` share: the builder, and the bound function kept on the instance
    after its first use."""

    _through: str

    def __init__(self, build: Callable[P, Asked[T]]) -> None:
        self._build = build
        self._name = build.__name__
        self.__doc__ = build.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def _bound(self, client: object) -> Callable[P, Any]:
        build, ask = self._build, getattr(client, self._through)

        @functools.wraps(build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return ask(build(*args, **kwargs))

        client.__dict__[self._name] = method
        return method


class Method(_Described[P, T]):
    """A method that asks once and gives the answer."""

    _through = "_ask"

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: Pipelining, owner: type) -> Callable[P, asyncio.Future[T]]: ...
    def __get__(self, client: Blocking | Awaiting | Pipelining | None, owner: type) -> Any:
        return self if client is None else self._bound(client)


class Listing(_Described[P, Page[T]]):
    """A method that iterates over a list and asks for its pages as they are needed."""

    _through = "_pages"

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Blocking | Awaiting | None, owner: type) -> Any:
        return self if client is None else self._bound(client)
