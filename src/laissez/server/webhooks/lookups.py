"""Names are looked up in threads of their own: a name server that says nothing holds a thread for
half a minute, and whoever chooses the name may choose such a one. The event loop's own threads are
few, and the rest of the service needs them; nor may the process wait for these when it ends.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from threading import Thread


class Lookups:
    """Belongs to one event loop. `places` is how many may be under way; one that nobody waits for
    any more keeps its place until it ends."""

    def __init__(self, places: int) -> None:
        self._places = asyncio.Semaphore(places)

    async def addresses(self, host: str) -> list[str]:
        """Raises OSError or UnicodeError where there are none."""
        with suppress(socket.gaierror):
            # in digits, of whatever form: nobody need be asked
            return _look_up(host, socket.AI_NUMERICHOST)
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[str]] = loop.create_future()
        try:
            Thread(
                target=self._in_thread, args=(loop, found, host), name="webhook-lookup", daemon=True
            ).start()
        except RuntimeError as error:  # no more threads
            self._places.release()
            raise OSError(str(error)) from None
        return await found

    def _in_thread(
        self, loop: asyncio.AbstractEventLoop, found: asyncio.Future[list[str]], host: str
    ) -> None:
        result: list[str] | Exception
        try:
            result = _look_up(host)
        except Exception as error:
            result = error
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(self._ended, found, result)

    def _ended(self, found: asyncio.Future[list[str]], result: list[str] | Exception) -> None:
        self._places.release()
        if found.done():
            return
        if isinstance(result, Exception):
            found.set_exception(result)
        else:
            found.set_result(result)


def _look_up(host: str, flags: int = 0) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return list(dict.fromkeys(str(one[4][0]) for one in found))
