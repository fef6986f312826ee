"""Campaigns: the case of every seed, on all cores, until one fails."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from laissez.workers import leave_signals_to_the_parent
from laissez_check.compare import MakeMarket, Options, difference_while_drawn
from laissez_check.finding import Outcome
from laissez_check.histories import Draft, draw_history
from laissez_check.scratch import make_folders_in, scratch
from laissez_check.shrink import report, shrink

T = TypeVar("T")
# Seeds handed to a process at once: few, because their results come only when all are done.
CHUNK = 5


def play_all(
    seeds: range,
    play: Callable[[int], Outcome],
    jobs: int = 1,
    tell: Callable[[int], None] = lambda done: None,
) -> Outcome:
    """Play the case of every seed, stop at the first failure, and add up all numbers. `tell` gets
    the number of cases done."""
    counted: dict[str, int] = {}
    details: dict[str, Any] = {}
    for done, outcome in enumerate(in_order(seeds, play, jobs), 1):
        add(counted, outcome.counted)
        add(details, outcome.details)
        if outcome.failure is not None:
            return Outcome(counted, outcome.failure, details)
        tell(done)
    return Outcome(counted, None, details)


def add(total: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(value, dict):
            add(total.setdefault(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value


def in_order(seeds: range, play_seed: Callable[[int], T], jobs: int) -> Iterator[T]:
    """The result of each seed, in order, so that the first failure is the same with any number of
    workers. Leaving the loop early ends them."""
    if jobs == 1:
        yield from map(play_seed, seeds)
        return
    workers = multiprocessing.get_context("spawn")
    chunk = max(1, min(CHUNK, len(seeds) // (4 * jobs)))
    with scratch() as folder, workers.Pool(jobs, _begin, (folder,)) as pool:
        yield from pool.imap(play_seed, seeds, chunksize=chunk)


def _begin(folder: Path) -> None:
    leave_signals_to_the_parent()
    make_folders_in(folder)  # a worker that is ended does not remove its own


# -- histories of the market


def run(
    seeds: range,
    commands: int,
    jobs: int,
    options: Options,
    make_market: MakeMarket,
    tell: Callable[[int], None] = lambda histories: None,
    shrinks: bool = True,
) -> Outcome:
    """Play the history of every seed, and stop at the first that fails. Shrink it, unless
    `shrinks` is False."""
    play = partial(_play_history, commands, options, make_market, shrinks)
    return play_all(seeds, play, jobs, tell)


def _play_history(
    commands: int, options: Options, make_market: MakeMarket, shrinks: bool, seed: int
) -> Outcome:
    """Every fourth history is four times as long and silent: no question and no restart until its
    end."""
    again = (
        f"laissez check market --histories 1 --seed {seed} --commands {commands}"
        f" --snapshot-every {options.snapshot_every}"
    )
    length, way = commands, options
    if seed % 4 == 3:
        length, way = 4 * commands, Options(invariants=options.invariants, silent=True)
    difference = difference_while_drawn(Draft(seed), length, make_market, way)
    if difference is None:
        return Outcome({"histories": 1, "commands": commands})
    history = draw_history(seed, length)
    if shrinks:
        history, difference = shrink(history, difference, make_market, way)
    return Outcome({"histories": 0, "commands": 0}, report(history, difference, again))
