"""Send every bad input to a running market, and look after each whether the answer is clear, the
refusal recorded and the server unharmed."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable

import msgspec

from laissez_check.finding import Finding
from laissez_check.wire import bad_bodies, bad_frames, bad_requests
from laissez_check.wire.bad_inputs import OPERATOR_KEY, TENANT_KEY, Closed, Frames, Refused, Request
from laissez_check.wire.market import Market
from laissez_check.wire.peers import Answer, answers_to, heard_after, session

SHOWN = 300  # bytes of what was sent and answered
# are looked up in the record at once: to do so for each would take half as long again
TOGETHER = 10
PROBLEM = "application/problem+json"
Input = Request | Frames


def inputs(only: str = "") -> tuple[list[Input], list[Input]]:
    """Those that are answered at once, and those that take their time; all whose name has `only` in
    it."""
    quick: list[Input] = [*bad_bodies.bodies(), *bad_requests.requests(), *bad_frames.sessions()]
    slow: list[Input] = [*bad_requests.slow(), *bad_frames.slow()]
    return [one for one in quick if only in one.name], [one for one in slow if only in one.name]


async def send_all(
    market: Market, only: str = "", tell: Callable[[int], None] = lambda done: None
) -> tuple[int, list[str]]:
    """How many were sent, and what is wrong with them. The slow ones are under way meanwhile: they
    take nobody else's time."""
    quick, slow = inputs(only)
    before = await market.state()
    under_way = [asyncio.create_task(_wrong(market, one)) for one in slow]
    found: list[str] = []
    recorded = await market.recorded()
    for done, one in enumerate(quick, 1):
        found += [wrong] if (wrong := await _wrong(market, one)) else []
        found += await _harmed(market, one.name, before)
        if done % TOGETHER == 0 or done == len(quick):
            sent = done % TOGETHER or TOGETHER
            recorded, before_them = await market.recorded(), recorded
            if recorded - before_them < sent:
                found.append(
                    f"after {one.name!r}: of the last {sent}, the log of refusals and the journal"
                    f" have {recorded - before_them:g}"
                )
        tell(done)
    found += [wrong for wrong in await asyncio.gather(*under_way) if wrong]
    found += await _harmed(market, "the slow ones", before)
    return len(quick) + len(slow), found


async def _harmed(market: Market, name: str, before: dict[str, object]) -> list[str]:
    """A healthy request is answered, the market is as it was, and the log tells of nothing."""
    try:
        market.check_log()
        now = await market.state()
    except Finding as finding:
        return [f"after {name!r}: {finding}"]
    if now == before:
        return []
    changed = {
        field: (before[field], value) for field, value in now.items() if value != before[field]
    }
    before.update(now)
    return [f"after {name!r} the market has changed: {str(changed)[:SHOWN]}"]


async def _wrong(market: Market, one: Input) -> str | None:
    try:
        if isinstance(one, Request):
            await _check_request(market, one)
        else:
            await _check_frames(market, one)
    except (Finding, TimeoutError, OSError) as error:
        sent = b"".join(one.pieces if isinstance(one, Request) else one.sent)
        words = (
            str(error)
            if isinstance(error, Finding)
            else f"nothing came in time: {type(error).__name__}"
        )
        again = f"laissez check wire --cases 0 --only {shlex.quote(one.name)}"
        return (
            f"{one.name}: expected {_shown(one.wanted)}, {words}\n  sent: {sent[:SHOWN]!r}\n "
            f" again: {again}"
        )
    return None


async def _check_request(market: Market, one: Request) -> None:
    answers = await answers_to(market.port, tuple(map(market.fill, one.pieces)), one)
    if [200] * one.good_before != [answer.status for answer in answers[: one.good_before]] or len(
        answers
    ) != one.good_before + 1:
        raise Finding(f"found the answers {[answer.status for answer in answers]}")
    answer = answers[-1]
    shown = f"found {answer.status} {answer.body[:SHOWN].decode(errors='replace')}"
    if answer.headers.get("content-type") != PROBLEM:
        raise Finding(f"{shown}, which is no problem but {answer.headers.get('content-type')}")
    problem = msgspec.json.decode(answer.body)
    if (answer.status, problem["status"], problem["code"]) != (
        one.wanted.status,
        one.wanted.status,
        one.wanted.code,
    ):
        raise Finding(shown)
    _check_words(problem["detail"], one.wanted.word, shown)
    _check_headers(answer)


def _check_headers(answer: Answer) -> None:
    if answer.headers.get("x-content-type-options") != "nosniff" or "set-cookie" in answer.headers:
        raise Finding(f"found the headers {answer.headers}")


async def _check_frames(market: Market, one: Frames) -> None:
    async with session(
        market.port,
        market.words[OPERATOR_KEY if one.of_operator else TENANT_KEY],
        one.packed,
        one.greets,
    ) as made:
        heard = await heard_after(made, tuple(map(market.fill, one.sent)), one)
        said = heard.messages[0] if heard.messages else {}
        shown = f"found {said or 'no refusal'}, closed with {heard.code} {heard.reason!r}"
        if isinstance(one.wanted, Closed):
            if heard.code != one.wanted.code:
                raise Finding(shown)
            if one.wanted.word:
                _check_words(f"{heard.reason} {said.get('detail', '')}", one.wanted.word, shown)
            return
        if said.get("code") != one.wanted.code:
            raise Finding(shown)
        _check_words(str(said["detail"]), one.wanted.word, shown)
        await made.say({"type": "ping", "id": "still"})
        if await made.hear("pong") is None:
            raise Finding(f"{shown}; and then the session did not go on")


def _check_words(detail: str, word: str, shown: str) -> None:
    if word.lower() not in detail.lower():
        raise Finding(shown)


def _shown(wanted: object) -> str:
    if isinstance(wanted, Refused):
        return f"to be refused with {wanted.code} and {wanted.word!r}"
    if isinstance(wanted, Closed):
        return f"to be closed with {wanted.code} and {wanted.word!r}"
    return str(wanted)
