"""Trace one order through a real server on real sockets: prints as JSON, for each way of sending
it, the functions of `laissez` that each thread called, in order.

Run with LAISSEZ_MARKET=interpreted: a profiler does not see compiled functions.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import httpx

import laissez
from support.live_world import Live, place, with_live

SOURCES = Path(laissez.__file__).parent
LOOP, JOURNAL = "loop", "journal"

Calls = dict[str, list[tuple[str, str]]]


class Tracer:
    """A profile function for every thread; it records calls only while it is switched on."""

    def __init__(self) -> None:
        self.is_on = False
        self.calls: Calls = {LOOP: [], JOURNAL: []}
        self._names: dict[CodeType, tuple[str, str] | None] = {}
        self._loop = threading.get_ident()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if self.is_on and event == "call":
            name = self._name(frame.f_code)
            if name is not None:
                thread = LOOP if threading.get_ident() == self._loop else JOURNAL
                self.calls[thread].append(name)

    def _name(self, code: CodeType) -> tuple[str, str] | None:
        if code not in self._names:
            path = Path(code.co_filename)
            # the client's imports in this process pass through `_form`
            own = path.is_relative_to(SOURCES) and path.name != "_form.py"
            self._names[code] = (
                (path.relative_to(SOURCES).as_posix(), code.co_qualname) if own else None
            )
        return self._names[code]

    async def during(self, work: Callable[[], Awaitable[object]]) -> Calls:
        self.calls = {LOOP: [], JOURNAL: []}
        self.is_on = True
        await work()
        self.is_on = False
        return self.calls


async def trace(live: Live, tracer: Tracer) -> dict[str, Calls]:
    """Trace the second order of each way, which omits one-time work."""
    world = live.world
    found: dict[str, Calls] = {}
    order = {"alternatives": [{"scope": "h100", "limit": "1"}]}
    headers = {"Authorization": f"Bearer {world.secrets['ann']}"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}", headers=headers) as rest:
        await rest.post("/v1/orders", json=order)
        found["rest"] = await tracer.during(lambda: rest.post("/v1/orders", json=order))
        batch = {"commands": [{"type": "place_order", **order}]}
        await rest.post("/v1/batch", json=batch)
        found["batch"] = await tracer.during(lambda: rest.post("/v1/batch", json=batch))
    async with live.peer("ann") as peer:
        await peer.ask(**place("a", "h100", "1"))
        await asyncio.sleep(0)
        found["session"] = await tracer.during(lambda: peer.ask(**place("b", "h100", "1")))
    return found


def main() -> None:
    tracer = Tracer()
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    found: dict[str, Calls] = {}

    async def tale(live: Live) -> None:
        found.update(await trace(live, tracer))

    with tempfile.TemporaryDirectory() as folder:
        with_live(Path(folder), tale)
    sys.setprofile(None)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
