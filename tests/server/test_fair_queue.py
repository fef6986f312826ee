"""The order of service, load shedding, and delayed answers. The test moves the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from laissez.exchange.commands import OPERATOR
from laissez.server.clock import Clock
from laissez.server.fair_queue import (
    BAD_FOR_US,
    PIECE_US,
    REQUESTS_MAX,
    TURN_US,
    CoalescedWrites,
    FairQueue,
)
from laissez.server.rate_limits import DELAY_S_MAX, KEPT_MAX, RefusalPace
from laissez.server.settings import Limits

pytestmark = pytest.mark.once

WAIT_US_MAX = 50_000


class ManualClock:
    """Moves a clock."""

    def __init__(self) -> None:
        self.us = 0
        self.clock = Clock(0, wall=lambda: 0, passed=lambda: self.us * 1_000)


class FakeWork:
    """Work that takes a while, or raises `bug`."""

    def __init__(
        self, hand: ManualClock, log: list[str], name: str, us: int = PIECE_US, bug: bool = False
    ) -> None:
        self._hand, self._log, self._name, self._left, self._bug = hand, log, name, us, bug

    def carry_out(self, may_go_on: Callable[[], bool]) -> bool:
        self._log.append(self._name)
        if self._bug:
            raise ZeroDivisionError
        while self._left:
            self._hand.us += 100
            self._left -= 100
            if not may_go_on():
                break
        return not self._left

    def turn_away(self) -> int:
        self._log.append(f"{self._name} away")
        return 1


class World:
    def __init__(self) -> None:
        self.hand = ManualClock()
        self.together = CoalescedWrites()
        self.turns = FairQueue(self.hand.clock, WAIT_US_MAX, self.together)
        self.log: list[str] = []

    def come(self, line: str, name: str, us: int = PIECE_US, bug: bool = False) -> None:
        self.turns.wait(line, FakeWork(self.hand, self.log, name, us, bug))

    async def turn(self) -> list[str]:
        """The work done in the next turn of the loop."""
        self.log.clear()
        await asyncio.sleep(0)
        return self.log.copy()


def run(story: Callable[[World], Coroutine[None, None, None]]) -> None:
    async def main() -> None:
        await story(World())

    asyncio.run(main())


def test_work_is_done_at_once_while_nothing_waits_and_the_turn_lasts() -> None:
    async def story(world: World) -> None:
        turns, hand = world.turns, world.hand
        assert turns.may_go_on()
        hand.us += TURN_US - 1
        assert turns.may_go_on() and turns.in_time()
        hand.us += 1
        assert not turns.may_go_on() and not turns.in_time()
        await world.turn()
        assert turns.may_go_on()

    run(story)


class RequestWork:
    """An HTTP request: begun in its turn, it takes its time later."""

    def __init__(self, world: World, name: str) -> None:
        self._world, self._name = world, name

    def carry_out(self, may_go_on: Callable[[], bool]) -> bool:
        self._world.turns.begun()
        self._world.log.append(self._name)
        return True

    def turn_away(self) -> int:
        self._world.log.append(f"{self._name} away")
        return 1


def test_requests_begun_per_turn_are_limited() -> None:
    async def story(world: World) -> None:
        for _ in range(REQUESTS_MAX):
            assert world.turns.may_begin() and world.turns.may_begin()
            world.turns.begun()
        assert not world.turns.may_begin()
        await world.turn()
        for number in range(REQUESTS_MAX + 2):
            world.turns.wait("noisy", RequestWork(world, f"n{number}"))
        world.turns.wait("ann", RequestWork(world, "a"))
        # the next ones are read before more arrive
        assert ["n0", "a", "n1", "n2"] == await world.turn()
        assert ["n3", "n4", "n5"] == await world.turn()

    run(story)


class AnsweredWork(FakeWork):
    """Work whose answer is sent together with the other answers."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world.hand, world.log, name)
        self._together = world.together

    def carry_out(self, may_go_on: Callable[[], bool]) -> bool:
        self._together.send_soon(lambda: self._log.append(f"{self._name} sent"))
        return super().carry_out(may_go_on)


def test_answers_leave_at_the_end_of_their_turn() -> None:
    async def story(world: World) -> None:
        for number in range(2):
            world.turns.wait("ann", AnsweredWork(world, f"a{number}"))
        world.come("bob", "long", TURN_US)
        first = await world.turn()
        assert ["a0", "long", "a1"] == first[:3] and ["a0 sent", "a1 sent"] == first[-2:]
        assert {"long"} == set(await world.turn())

    run(story)


def test_an_answer_outside_of_work_leaves_in_the_next_turn_of_the_loop() -> None:
    async def story(world: World) -> None:
        world.together.send_soon(lambda: world.log.append("sent"))
        assert [] == world.log
        assert ["sent"] == await world.turn()

    run(story)


def test_finished_work_is_answered_even_if_a_bug_follows() -> None:
    async def story(world: World) -> None:
        with pytest.raises(ZeroDivisionError), world.together:
            world.together.send_soon(lambda: world.log.append("sent"))
            raise ZeroDivisionError
        assert ["sent"] == world.log

    run(story)


def test_refusing_many_takes_no_longer_than_a_turn() -> None:
    class Dear(FakeWork):
        def turn_away(self) -> int:
            self._hand.us += TURN_US
            return super().turn_away()

    async def story(world: World) -> None:
        for number in range(3):
            world.turns.wait("noisy", Dear(world.hand, world.log, f"n{number}"))
        world.come("ann", "a")
        world.hand.us += WAIT_US_MAX + BAD_FOR_US + 1
        assert [["n0 away"], ["a away", "n1 away"], ["n2 away"]] == [
            await world.turn() for _ in range(3)
        ]

    run(story)


def test_work_that_arrives_while_others_wait_is_queued() -> None:
    async def story(world: World) -> None:
        world.come("ann", "a")
        assert 1 == len(world.turns) and not world.turns.may_go_on() and not world.turns.may_begin()
        assert ["a"] == await world.turn()
        assert 0 == len(world.turns)

    run(story)


def test_a_busy_holder_does_not_delay_others() -> None:
    async def story(world: World) -> None:
        for name in ("n1", "n2", "n3"):
            world.come("noisy", name)
        world.come("ann", "a")
        world.come("bob", "b")
        assert ["n1", "a", "b", "n2", "n3"] == await world.turn()

    run(story)


def test_long_work_is_done_in_parts_and_keeps_its_place() -> None:
    async def story(world: World) -> None:
        world.come("noisy", "long", 2 * PIECE_US)
        world.come("noisy", "next")
        world.come("ann", "a")
        assert ["long", "a", "long", "next"] == await world.turn()

    run(story)


def test_a_turn_ends_on_time_and_returns_to_the_loop() -> None:
    async def story(world: World) -> None:
        fit = TURN_US // PIECE_US
        for number in range(fit + 2):
            world.come(f"t{number}", f"{number}", PIECE_US)
        assert fit == len(await world.turn())
        assert [f"{fit}", f"{fit + 1}"] == await world.turn()

    run(story)


def test_the_operator_is_served_first() -> None:
    async def story(world: World) -> None:
        world.come("ann", "a")
        world.come(OPERATOR, "o1")
        world.come(OPERATOR, "o2")
        assert ["o1", "o2", "a"] == await world.turn()

    run(story)


def test_a_burst_is_waited_out() -> None:
    async def story(world: World) -> None:
        world.come("ann", "a")
        world.hand.us += WAIT_US_MAX + 1  # late, but the line is young
        assert ["a"] == await world.turn()
        assert 0 == world.turns.shed

    run(story)


def test_a_standing_line_sheds_work_that_waited_too_long() -> None:
    async def story(world: World) -> None:
        world.come("ann", "too long")
        world.hand.us += BAD_FOR_US - WAIT_US_MAX
        world.come("ann", "just in time")
        world.come(OPERATOR, "the operator's")
        world.hand.us += WAIT_US_MAX - PIECE_US  # the operator's work takes that long
        assert ["the operator's", "too long away", "just in time"] == await world.turn()
        assert 1 == world.turns.shed
        world.come("ann", "soon after")
        world.hand.us += WAIT_US_MAX + 1
        assert ["soon after"] == await world.turn()  # the line was empty in between

    run(story)


def test_the_operator_is_never_shed() -> None:
    async def story(world: World) -> None:
        world.come(OPERATOR, "o")
        world.hand.us += 10 * BAD_FOR_US
        assert ["o"] == await world.turn()

    run(story)


def test_when_all_lines_are_late_young_lines_are_shed_too() -> None:
    async def story(world: World) -> None:
        # in every turn new work waits too long in a line of its own, while another line never
        # empties
        for number in range(8):
            world.come(f"t{number}", f"{number}", TURN_US)
            world.come(f"u{number}", f"u{number}", TURN_US)
            world.hand.us += WAIT_US_MAX + 1
            done = await world.turn()
            if any(name.endswith("away") for name in done):
                break
        else:
            pytest.fail("nobody was ever turned away")
        while len(world.turns):
            await world.turn()
        world.come("last", "burst")
        world.hand.us += WAIT_US_MAX + 1
        assert ["burst"] == await world.turn()

    run(story)


def test_a_bug_in_one_answer_does_not_block_others() -> None:
    async def story(world: World) -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: world.log.append(type(context["exception"]).__name__)
        )
        world.come("ann", "bad", bug=True)
        world.come("ann", "good")
        world.come("bob", "b")
        assert ["bad", "ZeroDivisionError"] == await world.turn()
        assert ["b", "good"] == await world.turn()

    run(story)


# -- pacing


def test_refusals_are_immediate_up_to_the_burst_and_then_paced() -> None:
    paces = RefusalPace(Limits(refusals_per_second=10, refusals_burst=3))
    assert [0, 0, 0, 0.1, 0.2] == [paces.delay_s("ann", 0) for _ in range(5)]
    assert 0 == paces.delay_s("bob", 0)
    assert 2 == paces.delayed
    assert 0 == paces.delay_s("ann", 300_000)  # two tokens were owed, and one more was earned
    assert 0.5 == paces.delay_s("ann", 300_000, 5)


def test_delays_are_never_longer_than_clients_wait() -> None:
    paces = RefusalPace(Limits(refusals_per_second=10, refusals_burst=1))
    assert DELAY_S_MAX == paces.delay_s("ann", 0, 10_000)
    assert DELAY_S_MAX == paces.delay_s("ann", 0, 1)
    assert 0 == paces.delay_s("ann", round(DELAY_S_MAX * 1e6) + 100_000)


def test_paces_are_bounded_and_the_least_recently_used_is_dropped() -> None:
    paces = RefusalPace(Limits(refusals_per_second=1, refusals_burst=1))
    for number in range(KEPT_MAX):
        paces.delay_s(str(number), 0)
    paces.delay_s("0", 0)
    paces.delay_s("one more", 0)
    assert KEPT_MAX == len(paces)
    assert 2 == paces.delay_s("0", 0)
    assert 0 == paces.delay_s("1", 0)
