"""Send a real server what is wrong, by hand and by schemathesis, and see that it answers clearly
and comes to no harm: `laissez check wire`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from laissez_check.finding import Finding
from laissez_check.wire import schema as wire_schema
from laissez_check.wire.inputs import send_all
from laissez_check.wire.market import Market, running

SHOWN = 20  # of what was found


def bad_inputs(
    only: str = "", tell: Callable[[int], None] = lambda done: None
) -> tuple[int, list[str]]:
    """How many of those whose name has `only` in it were sent, and what was found."""

    async def send() -> tuple[int, list[str]]:
        async with running() as market:
            return await send_all(market, only, tell)

    return asyncio.run(send())


def schema_cases(
    cases: int,
    seed: int,
    asking: tuple[str, ...] = wire_schema.ASKING,
    tell: Callable[[int], None] = lambda done: None,
) -> tuple[int, list[str]]:
    """How many requests schemathesis made, and what was found."""
    stopped = threading.Event()

    def go_on(done: int) -> None:
        if stopped.is_set():
            # for the thread that makes them: it would not hear of it otherwise
            raise KeyboardInterrupt
        tell(done)

    async def make() -> tuple[int, list[str]]:
        async with running() as market:
            try:
                made, found = await asyncio.to_thread(
                    wire_schema.run, market, cases, seed, go_on, asking
                )
            finally:
                stopped.set()
            return made, found + await _harmed(market)

    return asyncio.run(make())


async def _harmed(market: Market) -> list[str]:
    try:
        market.check_log()
        await market.state()
    except Finding as finding:
        return [f"in the end: {finding}"]
    return []


def report(found: list[str], cases: int, seed: int, only: str) -> str:
    more = f"\n... and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    again = f"laissez check wire --cases {cases} --seed {seed}" + (
        f" --only {only!r}" if only else ""
    )
    return "\n".join(found[:SHOWN]) + f"{more}\n\nagain: {again}"
