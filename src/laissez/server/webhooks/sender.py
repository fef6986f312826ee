"""Send one delivery: one connection, one request, and only the status of the response. There are no
redirects, proxies or cookies.

The webhook's owner sees why a delivery failed, but no address and nothing of the response, which
could reveal the operator's network.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeAlias

from laissez import __version__
from laissez.server.settings import Webhooks
from laissez.server.webhooks.addresses import Guard, NotAllowed, Target, read_url
from laissez.wire.problems import ProblemError

ADDRESSES_TRIED = 4
ANSWER_BYTES_MAX = 16 * 1024  # of a response's head; the body is not read
INTERIM_MAX = 4  # interim responses, such as 103
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?\r\n")

# The first match counts: timeouts and TLS errors are OSErrors, too.
_REASONS: dict[type[Exception], str] = {
    ProblemError: "the url is not allowed",  # it was when the webhook was registered
    TimeoutError: "timed out",
    NotAllowed: "the host has no address, or one that is not allowed",
    ssl.SSLCertVerificationError: "the certificate is not valid for this host",
    ssl.SSLError: "no TLS connection",
    OSError: "no connection",
}

Connection: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NotDelivered(Exception):
    """The delivery failed. The message is for the webhook's owner."""


class Sender:
    def __init__(self, guard: Guard, settings: Webhooks) -> None:
        self.guard = guard
        self._allow_http = settings.allow_http
        self._timeout_s = settings.timeout_s
        # made on first use: loading all certificates is slow
        self.tls: ssl.SSLContext | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Send a delivery. Raises `NotDelivered` unless the status is 200 to 299."""
        try:
            target = read_url(url, self._allow_http)
            async with asyncio.timeout(self._timeout_s):
                status = await self._ask(target, _head(target, headers, len(body)) + body)
        except tuple(_REASONS) as error:
            why = next(why for kind, why in _REASONS.items() if isinstance(error, kind))
            raise NotDelivered(why) from None
        if not 200 <= status <= 299:
            raise NotDelivered(f"status {status}")

    async def _ask(self, target: Target, request: bytes) -> int:
        reader, writer = await self._connect(target)
        try:
            writer.write(request)
            await writer.drain()
            return await _status(reader)
        finally:
            writer.transport.abort()

    async def _connect(self, target: Target) -> Connection:
        """Connect to a checked address. It is numeric, so the name is not resolved again."""
        *others, last = (await self.guard.addresses(target.host))[:ADDRESSES_TRIED]
        for address in others:
            # a silent address must leave time for the next one
            with suppress(OSError):
                async with asyncio.timeout(self._timeout_s / ADDRESSES_TRIED):
                    return await self._open(target, address)
        return await self._open(target, last)

    async def _open(self, target: Target, address: str) -> Connection:
        if target.scheme == "http":
            return await asyncio.open_connection(address, target.port, limit=ANSWER_BYTES_MAX)
        self.tls = self.tls or ssl.create_default_context()
        return await asyncio.open_connection(
            address, target.port, limit=ANSWER_BYTES_MAX, ssl=self.tls, server_hostname=target.host
        )


def _head(target: Target, headers: Mapping[str, str], length: int) -> bytes:
    lines = {
        "Host": target.authority,
        "User-Agent": f"laissez-webhooks/{__version__}",
        "Content-Type": "application/json",
        "Content-Length": str(length),
        "Connection": "close",
        **headers,
    }
    written = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST {target.path} HTTP/1.1\r\n{written}\r\n".encode("ascii")


async def _status(reader: asyncio.StreamReader) -> int:
    for _ in range(INTERIM_MAX):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            break
        found = _STATUS.match(head)
        if found is None:
            break
        if found[1] >= b"200":
            return int(found[1])
    raise NotDelivered("the answer was not HTTP/1.1")
