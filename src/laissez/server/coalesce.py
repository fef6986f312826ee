"""What comes about together leaves together: whoever has several answers is written to once, at the
end of the work that brought them about.

To leave that to the loop's next turn would do as well while the service keeps up. When it is
behind, each turn is as long as may be, and an answer that has waited its time in line would wait
for one more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class CoalescedWrites:
    """Belongs to one event loop; used in a `with` around the work."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._sends: list[Callable[[], None]] | None = None

    def send_soon(self, send: Callable[[], None]) -> None:
        """At the end of the work that goes on; in the loop's next turn if there is none."""
        if self._sends is None:
            self._loop.call_soon(send)
        else:
            self._sends.append(send)

    def __enter__(self) -> None:
        assert self._sends is None
        self._sends = []

    def __exit__(self, *raised: object) -> None:
        sends, self._sends = self._sends, None
        for send in sends or ():
            send()
