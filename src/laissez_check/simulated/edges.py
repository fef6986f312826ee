"""The edges of a world: where the code would ask the machine for chance, for time or for a
connection, it gets the world's."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
from httpcore import _synchronization
from httpcore._async import connection_pool
from httpcore._backends.base import AsyncNetworkBackend, AsyncNetworkStream

from laissez_check.simulated.loop import SimulatedLoop
from laissez_check.simulated.network import End

EPOCH_US = 1_700_000_000_000_000  # when worlds begin, unless their wall clock is wrong
READ_AHEAD_BYTES = 65_536


class Wall:
    """A wall clock, which may be set wrong or jump."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.wrong_us = 0

    def now_ns(self) -> int:
        return (EPOCH_US + self.wrong_us) * 1_000 + self.passed_ns()

    def passed_ns(self) -> int:
        """Since the world began. A machine's clock never reads the same twice in a row, or hardly
        ever: ties come from elsewhere."""
        return round(self._loop.time() * 1e9)


@contextmanager
def patched(loop: SimulatedLoop, wall: Wall, seed: int) -> Iterator[None]:
    """Chance and time are the world's, and connections of httpx go through its network."""
    chance = random.Random(f"{seed} chance")
    state = random.getstate()
    random.seed(f"{seed} jitter")
    replaced: list[tuple[Any, str, Any]] = [
        (os, "urandom", chance.randbytes),
        (random, "_urandom", chance.randbytes),
        (time, "monotonic", loop.time),
        (time, "perf_counter", loop.time),
        (time, "time_ns", wall.now_ns),
        (connection_pool, "AutoBackend", Backend),
        # which it would look for, each time, among the installed packages
        (_synchronization, "current_async_library", lambda: "asyncio"),
    ]
    usual = [(module, name, getattr(module, name)) for module, name, _ in replaced]
    try:
        for module, name, value in replaced:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in usual:
            setattr(module, name, value)
        random.setstate(state)


class Backend(AsyncNetworkBackend):
    """httpcore's connections, made by the running loop."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: Any = None,
        socket_options: Any = None,
    ) -> Stream:
        try:
            async with asyncio.timeout(timeout):
                _, protocol = await asyncio.get_running_loop().create_connection(
                    Incoming, host, port
                )
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        return Stream(protocol)

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Any = None
    ) -> AsyncNetworkStream:
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Incoming(asyncio.Protocol):
    """What has come and was not read yet."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.is_over = False
        self.error: Exception | None = None
        self.moved = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: Any) -> None:
        self.transport: End = transport

    def data_received(self, data: bytes) -> None:
        self.content += data
        self.moved.set()
        if len(self.content) > READ_AHEAD_BYTES:
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        self.is_over = True
        self.moved.set()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self.is_over = True
        self.error = error
        self.moved.set()
        self.writable.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()


class Stream(AsyncNetworkStream):
    def __init__(self, incoming: Incoming) -> None:
        self._in = incoming

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        incoming = self._in
        if not incoming.content and not incoming.is_over:
            incoming.moved.clear()
            try:
                async with asyncio.timeout(timeout):
                    await incoming.moved.wait()
            except TimeoutError as error:
                raise httpcore.ReadTimeout("no answer in time") from error
        if not incoming.content and incoming.error is not None:
            raise httpcore.ReadError(str(incoming.error)) from incoming.error
        piece = bytes(incoming.content[:max_bytes])
        del incoming.content[:max_bytes]
        incoming.transport.resume_reading()
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._in.is_over:
            raise httpcore.WriteError(str(self._in.error or "the connection is closed"))
        self._in.transport.write(buffer)
        try:
            async with asyncio.timeout(timeout):
                await self._in.writable.wait()
        except TimeoutError as error:
            raise httpcore.WriteTimeout("not taken in time") from error

    async def aclose(self) -> None:
        self._in.transport.close()

    async def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> AsyncNetworkStream:
        raise NotImplementedError

    def get_extra_info(self, info: str) -> Any:
        """Whether an idle connection has something to say, which can only be its end."""
        return bool(self._in.content) or self._in.is_over if info == "is_readable" else None
