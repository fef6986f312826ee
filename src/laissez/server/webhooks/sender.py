"""One delivery: a connection of its own, one request, the status of the answer, and nothing else.
No redirects, no proxies, no cookies.

Why it failed is told to whoever has the webhook, in words that tell nothing about what is inside:
no addresses, nothing that was answered.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from contextlib import suppress

from laissez import __version__
from laissez.server.settings import Webhooks
from laissez.server.webhooks.addresses import Guard, NotAllowed, Target, read_url
from laissez.wire.problems import ProblemError

ADDRESSES_TRIED = 4
ANSWER_BYTES_MAX = 16 * 1024  # of the head of an answer; its body is not read
INTERIM_MAX = 4  # answers such as 103, before the one that counts
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?\r\n")


class NotDelivered(Exception):
    """Why, in words for whoever has the webhook."""


class Sender:
    def __init__(self, guard: Guard, settings: Webhooks) -> None:
        self.guard = guard
        self._allow_http = settings.allow_http
        self._timeout_s = settings.timeout_s
        # made when it is first needed: reading all certificates takes a while
        self.tls: ssl.SSLContext | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Returns if the receiver took it: any status from 200 to 299."""
        try:
            target = read_url(url, self._allow_http)
            async with asyncio.timeout(self._timeout_s):
                status = await self._ask(target, _head(target, headers, len(body)) + body)
        except ProblemError:  # it was allowed when it was registered
            raise NotDelivered("the url is not allowed") from None
        except TimeoutError:
            raise NotDelivered("timed out") from None
        except NotAllowed:
            raise NotDelivered("the host has no address, or one that is not allowed") from None
        except ssl.SSLCertVerificationError:
            raise NotDelivered("the certificate is not valid for this host") from None
        except ssl.SSLError:
            raise NotDelivered("no TLS connection") from None
        except OSError:
            raise NotDelivered("no connection") from None
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

    async def _connect(self, target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To an address that was checked: it is written in digits, so it is not resolved again."""
        *others, last = (await self.guard.addresses(target.host))[:ADDRESSES_TRIED]
        for address in others:
            # a TimeoutError is one: an address that says nothing leaves time for the next
            with suppress(OSError):
                async with asyncio.timeout(self._timeout_s / ADDRESSES_TRIED):
                    return await self._open(target, address)
        return await self._open(target, last)

    async def _open(
        self, target: Target, address: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tls, name = (self._tls(), target.host) if target.is_encrypted else (None, None)
        return await asyncio.open_connection(
            address, target.port, limit=ANSWER_BYTES_MAX, ssl=tls, server_hostname=name
        )

    def _tls(self) -> ssl.SSLContext:
        if self.tls is None:
            self.tls = ssl.create_default_context()
        return self.tls


def _head(target: Target, headers: Mapping[str, str], length: int) -> bytes:
    lines = {
        "Host": target.authority,
        "User-Agent": f"laissez-webhooks/{__version__}",
        "Content-Type": "application/json",
        "Content-Length": str(length),
        "Connection": "close",
        **headers,
    }
    return "\r\n".join(
        [
            f"POST {target.path} HTTP/1.1",
            *(f"{name}: {value}" for name, value in lines.items()),
            "",
            "",
        ]
    ).encode("ascii")


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
