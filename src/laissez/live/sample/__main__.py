"""Run the sample's tenants and its maps beside a server until standard input is closed, which
happens when the parent process ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol

from laissez.client import AsyncClient, AsyncSession, LaissezError
from laissez.live.operator_runner import OperatorRunner
from laissez.live.sample.maps import make_operator
from laissez.live.sample.worlds import InferenceWorld, batches, training_jobs
from laissez.live.trader import Trader, wall_clock
from laissez.tenants import AdapterSettings, Application, EconAdapter, Leaves

SPEED: Final = 60  # a minute of theirs in a second of ours
PACE_S: Final = 1.0
AGAIN_S: Final = 2.0  # after a failure

log = logging.getLogger("laissez.sample")


class World(Protocol):
    """An application and the work that it runs."""

    @property
    def app(self) -> Application: ...

    def live(self, held: Leaves, now: int) -> None: ...


WORLDS: Final[dict[str, Callable[[int], World]]] = {
    "dynamo": InferenceWorld,
    "sailor": training_jobs,
    "parabricks": batches,
}


def sped_up() -> Callable[[], int]:
    """A clock that runs faster from now on, and never backwards."""
    start, began_ns = wall_clock(), time.monotonic_ns()
    return lambda: start + (time.monotonic_ns() - began_ns) // 1000 * SPEED


async def trade(url: str, key: str, tenant: str, make: Callable[[int], World]) -> None:
    clock = sped_up()
    world = make(clock())
    async with AsyncSession(url, key) as session:
        # at this pace a smaller tolerance would change prices all the time
        adapter = EconAdapter(tenant, world.app, AdapterSettings(tolerance=0.2))
        trader = Trader(session, adapter, clock=clock)
        while True:
            view = await trader.look()
            world.live(tuple(sorted(lease.leaf for lease in view.leases)), view.now)
            adapter.app = world.app
            await trader.send(adapter.decide(view), view.now)
            await asyncio.sleep(PACE_S)


async def press(url: str, key: str) -> None:
    operator = make_operator(wall_clock())
    async with AsyncClient(url, key) as client:
        runner = OperatorRunner(
            operator,
            client,
            lambda what, **facts: log.debug("%s %s", what, facts),
            name="sample",
            pace_s=PACE_S,
        )
        while True:
            await runner.turn()
            await asyncio.sleep(PACE_S)


async def again(what: Callable[[], Awaitable[None]]) -> None:
    """Start again after a lost connection."""
    while True:
        with contextlib.suppress(LaissezError):
            await what()
        await asyncio.sleep(AGAIN_S)


async def main(url: str, keys: Path) -> None:
    def key(holder: str) -> str:
        return (keys / f"{holder}.key").read_text().strip()

    work = [
        again(lambda tenant=tenant, make=make: trade(url, key(tenant), tenant, make))  # type: ignore[misc]
        for tenant, make in WORLDS.items()
    ]
    running = asyncio.gather(*work, again(lambda: press(url, key("operator"))))
    left_alone = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    await asyncio.wait([running, left_alone], return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        await running  # only a bug ends it: raise it
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
