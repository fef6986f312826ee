"""The edges of a world: the code gets its chance, its time and its connections from the world
instead of the machine."""

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
from httpcore._exceptions import map_exceptions

from laissez_check.patches import Patch, replaced
from laissez_check.simulated.loop import SimulatedLoop

EPOCH_US = 1_700_000_000_000_000  # when worlds begin, unless their wall clock is wrong


class Wall:
    """A wall clock that may be wrong or jump."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.wrong_us = 0

    def now_ns(self) -> int:
        return (EPOCH_US + self.wrong_us) * 1_000 + self.passed_ns()

    def passed_ns(self) -> int:
        """Nanoseconds since the world began."""
        return round(self._loop.time() * 1e9)


@contextmanager
def patched(loop: SimulatedLoop, wall: Wall, seed: int) -> Iterator[None]:
    """Use the world's chance and time, and its network for connections of httpx."""
    chance = random.Random(f"{seed} chance")
    state = random.getstate()
    random.seed(f"{seed} jitter")
    patches: list[Patch] = [
        (os, "urandom", chance.randbytes),
        (random, "_urandom", chance.randbytes),
        (time, "monotonic", loop.time),
        (time, "perf_counter", loop.time),
        (time, "time_ns", wall.now_ns),
        (connection_pool, "AutoBackend", Backend),
        # httpcore would look for it among the installed packages each time.
        (_synchronization, "current_async_library", lambda: "asyncio"),
    ]
    try:
        with replaced(patches):
            yield
    finally:
        random.setstate(state)


class Backend(AsyncNetworkBackend):
    """Connections of httpcore, made by the running loop."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: Any = None,
        socket_options: Any = None,
    ) -> Stream:
        with map_exceptions(
            {TimeoutError: httpcore.ConnectTimeout, OSError: httpcore.ConnectError}
        ):
            async with asyncio.timeout(timeout):
                return await _connected(host, port)


class Writer(asyncio.StreamWriter):
    def __del__(self) -> None:
        """Say nothing of connections that are open when a world ends."""


async def _connected(host: str, port: int) -> Stream:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.create_connection(lambda: protocol, host, port)
    return Stream(reader, Writer(transport, protocol, reader, loop))


class Stream(AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with map_exceptions({TimeoutError: httpcore.ReadTimeout, OSError: httpcore.ReadError}):
            async with asyncio.timeout(timeout):
                return await self._reader.read(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with map_exceptions({TimeoutError: httpcore.WriteTimeout, OSError: httpcore.WriteError}):
            self._writer.write(buffer)
            async with asyncio.timeout(timeout):
                await self._writer.drain()

    async def aclose(self) -> None:
        self._writer.close()

    def get_extra_info(self, info: str) -> Any:
        """Whether an idle connection can be read, which can only be its end."""
        reader: Any = self._reader
        ended = reader._buffer or reader._eof or reader._exception is not None
        return bool(ended) if info == "is_readable" else None
