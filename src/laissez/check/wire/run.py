"""Send a real server what is wrong, by hand and by schemathesis, and see that it answers clearly and comes to no harm: `laissez check wire`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import msgspec

from laissez.check.finding import Finding
from laissez.check.wire import schema as wire_schema
from laissez.check.wire.inputs import send_all
from laissez.check.wire.market import Market, running

SHOWN = 20  # of what was found


class Outcome(msgspec.Struct, frozen=True):
    """How far it came, in numbers, and what was found."""

    counted: dict[str, int]
    failure: str | None


def run(cases: int, seed: int, only: str = "", tell: Callable[[int], None] = lambda done: None) -> Outcome:
    """All bad inputs whose name has `only` in it; then, unless `cases` is 0, at least so many of schemathesis."""
    inputs, found = bad_inputs(only)
    made, more = schema_cases(cases, seed, tell=tell) if cases else (0, [])
    found += more
    again = f"laissez check wire --cases {cases} --seed {seed}" + (f" --only {only!r}" if only else "")
    return Outcome({"bad inputs": inputs, "cases": made}, _report(found, again) if found else None)


def bad_inputs(only: str = "") -> tuple[int, list[str]]:
    """How many were sent, and what was found."""

    async def send() -> tuple[int, list[str]]:
        async with running() as market:
            return await send_all(market, only)

    return asyncio.run(send())


def schema_cases(
    cases: int, seed: int, asking: tuple[str, ...] = wire_schema.ASKING, tell: Callable[[int], None] = lambda done: None
) -> tuple[int, list[str]]:
    """How many requests schemathesis made, and what was found."""
    stopped = threading.Event()

    def go_on(done: int) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt  # for the thread that makes them: it would not hear of it otherwise
        tell(done)

    async def make() -> tuple[int, list[str]]:
        async with running() as market:
            try:
                made, found = await asyncio.to_thread(wire_schema.run, market, cases, seed, go_on, asking)
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


def _report(found: list[str], again: str) -> str:
    more = f"\n... and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return "\n".join(found[:SHOWN]) + f"{more}\n\nagain: {again}"
