"""Virtual time and rng: one course, never backwards, and nothing in common between two
simulations."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from laissez.sim.kernel import Action, Kernel, random_stream
from laissez.sim.simulation import Simulation
from laissez.sim.workloads.population import draw
from laissez.units import SECOND_US
from support.sim_world import PLANNERS, fingerprint, tiny

pytestmark = pytest.mark.once


def test_actions_of_one_instant_run_in_the_order_of_scheduling() -> None:
    kernel, done = Kernel(), list[tuple[int, str]]()

    def to_do(name: str) -> Action:
        return lambda: done.append((kernel.now, name))

    for at, name in ((7, "c"), (5, "a"), (7, "d"), (5, "b"), (7, "e")):
        kernel.at(at, to_do(name))
    kernel.run(8)
    assert done == [(5, "a"), (5, "b"), (7, "c"), (7, "d"), (7, "e")]


def test_an_action_scheduled_for_now_runs_after_those_already_due() -> None:
    kernel, done = Kernel(), list[str]()

    def first() -> None:
        done.append("first")
        kernel.at(kernel.now, lambda: done.append("asked by the first"))

    kernel.at(3, first)
    kernel.at(3, lambda: done.append("second"))
    kernel.run(4)
    assert done == ["first", "second", "asked by the first"]


def test_a_run_stops_before_its_end_and_continues_from_there() -> None:
    kernel, done = Kernel(), list[int]()
    kernel.at(10, lambda: done.append(kernel.now))
    kernel.run(10)
    assert (kernel.now, done) == (10, [])
    kernel.run(11)
    assert (kernel.now, done) == (11, [10])


def test_nothing_can_be_scheduled_in_the_past() -> None:
    kernel = Kernel()
    kernel.run(10)
    with pytest.raises(ValueError, match="expected a time from 10 on, found 9"):
        kernel.at(9, lambda: None)
    kernel.at(10, lambda: None)


def test_time_never_goes_backwards() -> None:
    kernel = Kernel()
    kernel.run(10)
    with suppress(ValueError):
        kernel.run(5)
    assert kernel.now == 10


def test_time_zero_is_a_time_like_any_other() -> None:
    kernel, done = Kernel(), list[int]()
    kernel.at(0, lambda: done.append(kernel.now))
    kernel.run(1)
    assert done == [0]


def test_two_kernels_are_independent() -> None:
    one, other, done = Kernel(), Kernel(100), list[str]()
    one.at(1, lambda: done.append("one"))
    other.at(101, lambda: done.append("other"))
    one.run(50)
    assert (one.now, other.now, done) == (50, 100, ["one"])
    other.run(200)
    assert (one.now, other.now, done) == (50, 200, ["one", "other"])


def test_two_interleaved_simulations_equal_each_alone() -> None:
    """The planners are shared, as they may be; and nothing else is."""
    scenario = tiny(2)
    one, other = draw(scenario, 1, PLANNERS), draw(scenario, 2, PLANNERS)

    def made() -> list[Simulation]:
        return [
            Simulation(scenario, who, cloud, 1, PLANNERS)
            for who, cloud in ((one, "market"), (other, "fcfs-p"), (one, "market"))
        ]

    alone = made()
    for simulation in alone:
        simulation.run()
    together = made()
    for simulation in together:
        simulation.cloud.begin()
    for second in range(0, 3000, 11):
        for simulation in together:
            simulation.kernel.run(min(second * SECOND_US, simulation.until))
    for simulation in together:
        simulation.kernel.run(simulation.until)
    assert [fingerprint(one) for one in alone] == [fingerprint(one) for one in together]
    assert fingerprint(alone[0]) == fingerprint(alone[2]) != fingerprint(alone[1])


def test_a_stream_gives_the_same_numbers_everywhere_and_always() -> None:
    """Fixed numbers: if they change, every published result does."""
    rng = random_stream(3, "tenant", 7)
    assert [rng.randint(0, 10**9) for _ in range(3)] == [630376612, 379853558, 719113039]
    assert [rng.random() for _ in range(2)] == [0.0077990329180727125, 0.06091110702947]
    assert random_stream(0, "cloud").randint(10_000, 100_000) == 65_776


def test_streams_do_not_depend_on_draws_from_other_streams() -> None:
    expected = _numbers(random_stream(1, "a"), 5)
    quiet, noisy = random_stream(1, "a"), random_stream(1, "b")
    drawn = []
    for _ in range(5):
        _numbers(noisy, 100)
        drawn += _numbers(quiet, 1)
    assert drawn == expected


def test_streams_of_other_names_and_seeds_differ() -> None:
    names: tuple[tuple[str | int, ...], ...] = (
        ("tenant", 1),
        ("tenant", 11),
        ("tenant", 1, 1),
        ("tenant", 2),
        ("cloud", 1),
        ("tenant",),
        (),
    )
    firsts = {random_stream(seed, *name).random() for seed in (0, 1, 11) for name in names}
    assert len(firsts) == 3 * len(names)


def _numbers(rng: Random, count: int) -> list[float]:
    return [rng.random() for _ in range(count)]
