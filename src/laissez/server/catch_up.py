"""Send missed events a page at a time, as fast as the caller takes them and its rate limit pays for
them: there may be a million. The last page is left to the stream or session that follows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from laissez.server.auth import Principal
from laissez.server.gateway import Gateway, Opened
from laissez.wire.events import Numbered

PAGE = 500  # events


async def catch_up(
    gateway: Gateway,
    opened: Opened,
    principal: Principal,
    n: int,
    send: Callable[[list[Numbered]], Awaitable[bool]],
) -> int:
    """Send pages of the holder's events after `n` while `send` returns true; returns the number of
    the last event sent, after which at most a page is left. Revoking the key ends `opened`
    meanwhile, too."""
    gateway.keep(opened)
    try:
        goes_on = True
        while goes_on and gateway.latest(principal.holder) - n > PAGE:
            await gateway.admission.wait_for_question(principal, PAGE)
            page = await gateway.events_after(principal.holder, n, PAGE)
            goes_on = await send(page)
            n = page[-1].n
        return n
    finally:
        gateway.let_go(opened)
