"""Send missed events in pages, as fast as the client reads and its rate limit allows. There may be
a million. The stream or session that follows sends the last page itself."""

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
    """Send pages of the holder's events after `n` while `send` returns true. Returns the number of
    the last event sent; at most a page is left after it. Revoking the key ends `opened` meanwhile,
    too."""
    gateway.keep(opened)
    try:
        is_open = True
        while is_open and gateway.latest(principal.holder) - n > PAGE:
            await gateway.admission.wait_for_read(principal, PAGE)
            page = await gateway.events_after(principal.holder, n, PAGE)
            is_open = await send(page)
            n = page[-1].n
        return n
    finally:
        gateway.let_go(opened)
