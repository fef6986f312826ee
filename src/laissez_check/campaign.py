"""Many histories, on all cores, until one fails."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from laissez.workers import leave_signals_to_the_parent
from laissez_check.compare import Difference, Options, difference_while_drawn
from laissez_check.histories import Draft, History, draw_history
from laissez_check.protocol import MakeMarket
from laissez_check.scratch import make_folders_in, scratch
from laissez_check.shrink import report, shrink


class Failure(msgspec.Struct, frozen=True):
    """A history that failed, made small, with its report."""

    history: History
    difference: Difference
    report: str


class Outcome(msgspec.Struct, frozen=True):
    """How many histories were played to their end, and the first failure if there is one."""

    histories: int
    failure: Failure | None


def run(
    seeds: range,
    commands: int,
    jobs: int,
    options: Options,
    make_market: MakeMarket,
    tell: Callable[[int], None] = lambda histories: None,
    shrinks: bool = True,
) -> Outcome:
    """Play the history of every seed; stop at the first that fails and make it small, unless told
    not to. `tell` is told how many are done."""
    done = 0
    for seed, difference in in_order(
        seeds, partial(play, commands=commands, options=options, make_market=make_market), jobs
    ):
        if difference is not None:
            return Outcome(
                done, failure_of(seed, commands, difference, options, make_market, shrinks)
            )
        done += 1
        tell(done)
    return Outcome(done, None)


T = TypeVar("T")
# seeds handed to a process: few, because it is told of them only when all of them are done
AT_ONCE = 5


def in_order(seeds: range, play_seed: Callable[[int], T], jobs: int) -> Iterator[T]:
    """What each seed gives, in order, so that the first failure is the same with any number of
    workers. Leaving the loop early ends them."""
    if jobs == 1:
        yield from map(play_seed, seeds)
        return
    with (
        scratch() as folder,
        multiprocessing.get_context("spawn").Pool(jobs, _begin, (folder,)) as pool,
    ):
        yield from pool.imap(
            play_seed, seeds, chunksize=max(1, min(AT_ONCE, len(seeds) // (4 * jobs)))
        )


def _begin(folder: Path) -> None:
    leave_signals_to_the_parent()
    make_folders_in(folder)  # who is ended does not remove what it made there


def way_to_play(seed: int, commands: int, options: Options) -> tuple[int, Options]:
    """How many commands, and how: every fourth history is four times as long and silent: no
    question, no restart, until its end."""
    if seed % 4 == 3:
        return 4 * commands, Options(invariants=options.invariants, silent=True)
    return commands, options


def play(
    seed: int, commands: int, options: Options, make_market: MakeMarket
) -> tuple[int, Difference | None]:
    length, way = way_to_play(seed, commands, options)
    return seed, difference_while_drawn(Draft(seed), length, make_market, way)


def failure_of(
    seed: int,
    commands: int,
    difference: Difference,
    options: Options,
    make_market: MakeMarket,
    shrinks: bool,
) -> Failure:
    length, way = way_to_play(seed, commands, options)
    drawn = draw_history(seed, length)
    history, small = shrink(drawn, difference, make_market, way) if shrinks else (drawn, difference)
    repeat = (
        f"laissez check market --histories 1 --seed {seed} --commands {commands} --snapshot-every"
        f" {options.snapshot_every}"
    )
    return Failure(history, small, report(history, small, repeat))
