"""Simulated worlds: 300 of them keep every promise, and every mistake that is put into the service
on purpose is found."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from laissez.client.errors import ApiError
from laissez.server.lifecycle import Service
from laissez_check import scratch
from laissez_check.cli import app
from laissez_check.clients.answers import tells_of_bug
from laissez_check.simulated.bugs import BUGS
from laissez_check.simulated.campaign import run
from laissez_check.simulated.logbook import Logbook
from laissez_check.simulated.loop import PROCESS, Process, SimulatedLoop, Stuck
from laissez_check.simulated.machine import PORT
from laissez_check.simulated.network import CALM, End, Network, Weather
from laissez_check.simulated.promises import PROMISES, numbered
from laissez_check.simulated.world import play
from support.paths import INTERNALS
from support.secrecy import WATCH

pytestmark = pytest.mark.once

WORLDS, AT_ONCE = 300, 30

# Faults that all groups of this many worlds meet. docs/internals/reliability.md counts all faults.
FREQUENT = (
    *(
        "crash",
        "crash while starting",
        "crash at a write",
        "crash at a sync",
        "power failure",
        "write kept",
        "write lost",
        "write torn",
        "no room",
    ),
    *("refuse", "reset", "silent", "half a message", "pieces", "late", "deaf", "clock jump"),
    *("planned stop", "doubled", "client restarted"),
)
RELIABILITY = INTERNALS / "reliability.md"

# The rarest shows in one world of thirty-five. Where to begin only saves time: as the code changes,
# so do the stories.
FOUND_WITHIN = 120
FIRST_SEED = {"holds-end-when-asked": 10, "orders-outlive-sessions": 10, "quote-before-commit": 190}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WORLDS, AT_ONCE))
def test_worlds_keep_every_promise(first: int) -> None:
    outcome = run(range(first, first + AT_ONCE))
    assert outcome.failure is None, outcome.failure
    assert AT_ONCE == outcome.counted["worlds"]
    assert all(
        outcome.counted[what] > 0
        for what in ("answers", "repeats", "events", "bills", "quotes", "deliveries")
    )
    assert [] == [fault for fault in FREQUENT if not outcome.details["faults"].get(fault)]


@pytest.mark.sources
@pytest.mark.parametrize("bug", BUGS)
def test_a_mistake_on_purpose_is_found(bug: str) -> None:
    first = FIRST_SEED.get(bug, 0)
    assert run(range(first, first + FOUND_WITHIN), bug=bug).failure is not None


def test_a_seed_tells_the_same_story_in_any_order_and_under_any_hash_seed() -> None:
    seeds = (3, 5, 8)
    code = (
        "from laissez_check.simulated.world import play; print(*[play(seed).digest for seed in"
        f" {seeds[::-1]}])"
    )
    other = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [play(seed).digest for seed in seeds] == other.stdout.split()[::-1]


@pytest.mark.sources
def test_a_failure_tells_the_promise_the_story_and_how_to_see_it_again() -> None:
    result = CliRunner().invoke(
        app, ["worlds", "--seeds", "20", "--jobs", "1", "--bug", "body-not-compared"]
    )
    assert 1 == result.exit_code
    assert result.stdout.startswith(f"I2: {PROMISES['I2'].text}\nfound: I2: ")
    assert (
        "laissez check worlds --seeds 1 --seed " in result.stdout
        and "--bug body-not-compared" in result.stdout
    )


@pytest.mark.sources
def test_a_campaign_that_ends_early_leaves_no_folder_of_its_workers_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "MEMORY", tmp_path)
    assert run(range(40), jobs=2, bug="ids-of-everybody").failure is not None
    assert [] == list(tmp_path.iterdir())


def test_a_bug_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    result = CliRunner().invoke(app, ["worlds", "--bug", "none"])
    assert 2 == result.exit_code
    assert "body-not-compared" in result.output


def test_every_promise_stands_in_the_documentation() -> None:
    text = RELIABILITY.read_text()
    assert [] == [
        number
        for number, promise in PROMISES.items()
        if f"| {number} | {promise.text} |" not in text
    ]
    assert [] == [bug for bug in BUGS if f"`{bug}`" not in text]


def test_a_finding_without_a_number_gets_that_of_the_promise_it_breaks() -> None:
    assert "I1: the request a of b was carried out twice" == numbered(
        "the request a of b was carried out twice"
    )
    assert "W2: so" == numbered("W2: so")


# -- the edges


def in_loop(loop: SimulatedLoop, story: Awaitable[None]) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(story)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def test_hours_pass_at_once_and_in_order() -> None:
    loop = SimulatedLoop()
    heard: list[float] = []

    async def story() -> None:
        for hours in (5, 1, 3):
            loop.call_later(3600 * hours, heard.append, hours)
        await asyncio.sleep(3600 * 6)

    in_loop(loop, story())
    assert [1, 3, 5] == heard


def test_waiting_for_nothing_is_told_instead_of_waited_for() -> None:
    loop = SimulatedLoop()
    with pytest.raises(Stuck):
        in_loop(loop, loop.create_future())


def test_code_that_never_pauses_is_stopped_and_named() -> None:
    loop = SimulatedLoop()

    async def for_ever() -> None:
        while True:
            with suppress(Exception):
                while True:
                    pass

    async def story() -> None:
        await asyncio.gather(for_ever(), return_exceptions=True)

    with pytest.raises(Stuck, match=r"test_simulated\.py:\d+"), loop.watched(cpu_s_max=0.05):
        in_loop(loop, story())


def test_nothing_of_a_dead_process_happens_any_more() -> None:
    loop = SimulatedLoop()
    process = Process()
    done: list[str] = []

    async def work() -> None:
        done.append("begun")
        await asyncio.sleep(2)
        done.append("ended")

    async def story() -> None:
        loop.begin(process, loop.create_task, work())
        loop.begin(process, loop.call_later, 1.5, done.append, "later")
        await asyncio.sleep(1)
        loop.kill(process)
        loop.begin(process, loop.call_soon, done.append, "on its way out")
        await asyncio.sleep(5)
        loop.bury(process)

    in_loop(loop, story())
    assert ["begun"] == done


class Hearing(asyncio.Protocol):
    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.lost: list[Exception | None] = []

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.lost.append(error)


def with_network(
    weather: Weather,
    story: Callable[[Network, End, Hearing, Hearing], Awaitable[None]],
    seed: int = 1,
) -> None:
    loop = SimulatedLoop()
    network = Network(loop, Random(seed), weather)
    far, near = Hearing(), Hearing()

    async def tale() -> None:
        network.listen(PORT, lambda: far)
        end, _ = await network.connect(lambda: near, "127.0.0.1", PORT)
        await story(network, end, near, far)

    in_loop(loop, tale())


def test_bytes_come_in_pieces_late_and_in_order() -> None:
    async def story(network: Network, end: End, near: Hearing, far: Hearing) -> None:
        for number in range(100):
            end.write(b"%02d" % number)
        end.close()
        await asyncio.sleep(1000)
        assert b"".join(b"%02d" % number for number in range(100)) == b"".join(far.pieces)
        assert len(far.pieces) > 1 and [None] == far.lost == near.lost

    with_network(Weather(pieces=1.0, late=0.5), story)


def test_a_reset_takes_the_rest_and_both_ends_hear_of_it() -> None:
    async def story(network: Network, end: End, near: Hearing, far: Hearing) -> None:
        end.write(bytes(100_000))
        await asyncio.sleep(100)
        assert len(b"".join(far.pieces)) < 100_000
        assert (
            [ConnectionResetError]
            == [type(error) for error in near.lost]
            == [type(error) for error in far.lost]
        )

    with_network(Weather(reset=1.0), story)


def test_silence_is_noticed_by_nobody_but_the_system() -> None:
    async def story(network: Network, end: End, near: Hearing, far: Hearing) -> None:
        end.write(bytes(100_000))
        await asyncio.sleep(1)
        assert len(b"".join(far.pieces)) < 100_000 and [] == near.lost
        await asyncio.sleep(100)
        assert [TimeoutError] == [type(error) for error in near.lost]

    with_network(Weather(silent=1.0), story)


def test_messages_sent_before_a_kill_may_still_arrive_and_then_the_end_is_heard() -> None:
    arrived: list[bytes] = []

    async def story(network: Network, end: End, near: Hearing, far: Hearing) -> None:
        process = Process()
        end.context.run(PROCESS.set, process)
        end.write(b"last words")
        network.cut(process, told=True)
        end.write(b"never said")
        await asyncio.sleep(100)
        assert [ConnectionResetError] == [type(error) for error in far.lost]
        arrived.extend(far.pieces)

    for seed in range(8):
        with_network(CALM, story, seed)
    assert {b"last words"} == set(arrived) and len(arrived) < 8


def test_who_sends_to_a_peer_that_is_gone_unheard_learns_it_from_the_system() -> None:
    async def story(network: Network, end: End, near: Hearing, far: Hearing) -> None:
        end.die(told=False)
        await asyncio.sleep(100)
        assert [] == far.lost
        end.peer.write(b"still there?")
        await asyncio.sleep(100)
        assert [TimeoutError] == [type(error) for error in far.lost]

    with_network(CALM, story)


# -- what a bug leaves behind


def test_an_error_that_nobody_waited_for_is_noted_and_what_a_dying_process_leaves_is_not() -> None:
    loop = SimulatedLoop()
    alive, dying = Process(), Process()

    async def fail(why: str) -> None:
        await asyncio.sleep(1)
        raise RuntimeError(why)

    async def die() -> None:
        loop.kill(dying)
        raise RuntimeError("while it dies")

    async def wait_for(other: asyncio.Task[None]) -> None:
        await other

    async def story() -> None:
        loop.begin(alive, loop.create_task, fail("of the living"))
        for later_dead in (
            fail("before it dies"),
            wait_for(loop.begin(dying, loop.create_task, fail("waited for"))),
            asyncio.sleep(9),
        ):
            loop.begin(dying, loop.create_task, later_dead)
        await asyncio.sleep(1.5)
        last = loop.begin(dying, loop.create_task, asyncio.sleep(0))
        loop.begin(dying, loop.create_task, wait_for(last))
        loop.begin(dying, loop.create_task, die())
        await asyncio.sleep(1)
        loop.bury(alive)
        loop.bury(dying)

    in_loop(loop, story())
    assert ["of the living", "before it dies", "waited for"] == [
        noted.split("'")[1] for noted in loop.unhandled
    ]


def said_by(
    process: Process, may_fail: bool, *arguments: object, error: Exception | None = None
) -> list[str]:
    """The findings from a line in the log of that process."""
    broken: list[str] = []
    of_process = copy_context()
    of_process.run(PROCESS.set, process)
    with Logbook(broken.append, lambda: may_fail).kept():
        of_process.run(logging.getLogger("laissez.server").error, *arguments, exc_info=error)
    return broken


def test_a_traceback_in_the_log_is_a_bug_unless_its_process_is_dead() -> None:
    alive, dead = Process(), Process()
    dead.is_dead = True
    error = RuntimeError("it broke")
    assert [
        "B1: the log of laissez.server tells of a bug: bug in x\nRuntimeError: it broke\n"
    ] == said_by(alive, True, "bug in %s", "x", error=error)
    assert [] == said_by(dead, True, "bug in %s", "x", error=error)


def test_a_failure_in_the_log_is_fair_while_the_disk_fails() -> None:
    assert [] == said_by(Process(), True, "it could not be written")
    assert 1 == len(said_by(Process(), False, "it could not be written"))


def test_the_log_of_a_world_is_watched_for_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Service.begin

    def begin_and_say_too_much(self: Service) -> None:
        begin(self)
        logging.getLogger("laissez.server").info("the key is lz_%s_%s", "0" * 16, "a" * 43)

    monkeypatch.setattr(Service, "begin", begin_and_say_too_much)
    play(1)
    assert any("the log of laissez.server" in found for found in WATCH.new_findings())


@pytest.mark.parametrize(
    ("status", "code", "is_bug"),
    [
        (500, "internal", True),
        (502, "http_502", True),
        (503, "internal", True),
        (503, "http_503", True),
        (503, "overloaded", False),
        (404, "x", False),
    ],
)
def test_every_5xx_is_a_bug_but_a_documented_503(status: int, code: str, is_bug: bool) -> None:
    assert is_bug == tells_of_bug(ApiError(code, "so", status))
