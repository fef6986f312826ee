"""Attack a real server with bad inputs by hand and with schemathesis; every answer must be clear,
and the server must come to no harm: `laissez check wire`."""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import Callable, Iterable, Sequence

import msgspec

from laissez_check.finding import Finding
from laissez_check.wire import schema as wire_schema
from laissez_check.wire.bad_inputs import Bad, BadFrames, BadRequest, all_bad_inputs
from laissez_check.wire.market import Market, running
from laissez_check.wire.peers import Answer, answers_to, session

FINDINGS_SHOWN, SHOWN = 20, 300  # findings; bytes of what was sent and answered
# Inputs between two looks at the record. A look after each would take half as long again.
PER_RECORD = 10
PROBLEM = "application/problem+json"


def chosen(only: str) -> list[Bad]:
    return [one for one in all_bad_inputs() if only in one.name]


def bad_inputs(inputs: Sequence[Bad], tell: Callable[[int], None] = lambda done: None) -> list[str]:
    async def send() -> list[str]:
        async with running() as market:
            return await send_all(market, inputs, tell)

    return asyncio.run(send())


def schema_cases(
    cases: int,
    seed: int,
    asking: tuple[str, ...] = wire_schema.ASKING,
    tell: Callable[[int], None] = lambda done: None,
) -> tuple[int, list[str]]:
    """The number of requests that schemathesis made, and the findings."""
    stopped = threading.Event()

    def go_on(done: int) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt  # which Python delivers to the main thread only
        tell(done)

    async def make() -> tuple[int, list[str]]:
        async with running() as market:
            try:
                made, found = await asyncio.to_thread(
                    wire_schema.run, market, cases, seed, go_on, asking
                )
            finally:
                stopped.set()
            return made, found + await _harmed(market, "the last case", {})

    return asyncio.run(make())


def report(found: list[str], cases: int, seed: int, only: str) -> str:
    hidden = len(found) - FINDINGS_SHOWN
    more = [f"... and {hidden} more"] if hidden > 0 else []
    again = f"again: laissez check wire --cases {cases} --seed {seed}"
    if only:
        again += f" --only {only!r}"
    return "\n".join([*found[:FINDINGS_SHOWN], *more, "", again])


async def send_all(
    market: Market, inputs: Iterable[Bad], tell: Callable[[int], None] = lambda done: None
) -> list[str]:
    """Send the inputs one by one. Slow ones go in the background, and must not delay others."""
    quick = [one for one in inputs if not one.slow]
    before = await market.state()
    slow = [asyncio.create_task(_try(market, one)) for one in inputs if one.slow]
    found: list[str] = []
    recorded = await market.recorded()
    for done, one in enumerate(quick, 1):
        found += [*await _try(market, one), *await _harmed(market, one.name, before)]
        if done % PER_RECORD == 0 or done == len(quick):
            sent = done % PER_RECORD or PER_RECORD
            recorded, recorded_before = await market.recorded(), recorded
            if recorded - recorded_before < sent:
                found.append(
                    f"after {one.name!r}: of the last {sent}, the log of refusals and the journal"
                    f" have {recorded - recorded_before:g}"
                )
        tell(done)
    for findings in await asyncio.gather(*slow):
        found += findings
    return found + await _harmed(market, "the slow ones", before)


async def _harmed(market: Market, name: str, before: dict[str, object]) -> list[str]:
    """Signs of harm: in the answer to a good request, the market and the log. Updates `before`."""
    try:
        market.check_log()
        now = await market.state()
    except Finding as finding:
        return [f"after {name!r}: {finding}"]
    changed = {
        field: (before[field], value)
        for field, value in now.items()
        if value != before.get(field, value)
    }
    before.update(now)
    return [f"after {name!r} the market has changed: {str(changed)[:SHOWN]}"] if changed else []


async def _try(market: Market, one: Bad) -> list[str]:
    try:
        if isinstance(one, BadRequest):
            await _check_request(market, one)
        else:
            await _check_frames(market, one)
    except (Finding, TimeoutError, OSError) as error:
        expected = f"{one.status} {one.code}" if isinstance(one, BadRequest) else one.code
        if isinstance(one, BadFrames) and one.closes is not None:
            expected = f"close code {one.closes}"
        finding = isinstance(error, Finding)
        words = error if finding else f"nothing came in time: {type(error).__name__}"
        lines = (
            f"{one.name}: expected {expected} with {one.detail!r}, {words}",
            f"  sent: {b''.join(one.pieces)[:SHOWN]!r}",
            f"  again: laissez check wire --cases 0 --only {shlex.quote(one.name)}",
        )
        return ["\n".join(lines)]
    return []


async def _check_request(market: Market, one: BadRequest) -> None:
    answers = await answers_to(
        market.port, map(market.fill, one.pieces), one.pause_s, one.good_before + 1
    )
    statuses = [answer.status for answer in answers]
    if not statuses or statuses[:-1] != [200] * one.good_before:
        raise Finding(f"found the answers {statuses}")
    answer = answers[-1]
    shown = f"found {answer.status} {answer.body[:SHOWN].decode(errors='replace')}"
    _check_headers(answer, shown)
    problem = msgspec.json.decode(answer.body)
    if not answer.status == problem["status"] == one.status or problem["code"] != one.code:
        raise Finding(shown)
    _check_detail(problem["detail"], one.detail, shown)


def _check_headers(answer: Answer, shown: str) -> None:
    headers = answer.headers
    if headers.get("content-type") != PROBLEM:
        raise Finding(f"{shown}, which is no problem but {headers.get('content-type')}")
    if headers.get("x-content-type-options") != "nosniff" or "set-cookie" in headers:
        raise Finding(f"found the headers {headers}")


async def _check_frames(market: Market, one: BadFrames) -> None:
    key = market.operator_key if one.operator else market.tenant_key
    async with session(market.port, key.encode(), one.packed, one.greets) as made:
        await made.send(map(market.fill, one.pieces), one.pause_s)
        refused = await made.hear("refused") or {}
        if not one.greets:
            await made.read_to_end()
        shown = f"found {refused or 'no refusal'}, closed with {made.close_code}"
        shown += f" {made.close_reason!r}"
        if one.closes is not None:
            if made.close_code != one.closes:
                raise Finding(shown)
            _check_detail(f"{made.close_reason} {refused.get('detail', '')}", one.detail, shown)
            return
        if refused.get("code") != one.code:
            raise Finding(shown)
        _check_detail(str(refused["detail"]), one.detail, shown)
        await made.say({"type": "ping", "id": "still"})
        if await made.hear("pong") is None:
            raise Finding(f"{shown}; and then the session did not go on")


def _check_detail(detail: str, expected: str, shown: str) -> None:
    if expected.lower() not in detail.lower():
        raise Finding(shown)
