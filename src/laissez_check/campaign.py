"""Campaigns: the case of every seed, on all cores, until one fails."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from laissez.workers import leave_signals_to_the_parent
from laissez_check.compare import Difference, MakeMarket, Options, difference_while_drawn
from laissez_check.finding import Outcome
from laissez_check.histories import Draft, draw_history
from laissez_check.scratch import make_folders_in, scratch
from laissez_check.shrink import report, shrink

T = TypeVar("T")
# Seeds handed to a process at once: few, because their results come only when all are done.
CHUNK = 5


class Campaign(msgspec.Struct, frozen=True):
    commands: int
    options: Options
    make_market: MakeMarket

    def way_to_play(self, seed: int) -> tuple[int, Options]:
        """The number of commands, and the options. Every fourth history is four times as long and
        silent: no question and no restart until its end."""
        if seed % 4 == 3:
            return 4 * self.commands, Options(invariants=self.options.invariants, silent=True)
        return self.commands, self.options

    def play(self, seed: int) -> Difference | None:
        length, way = self.way_to_play(seed)
        return difference_while_drawn(Draft(seed), length, self.make_market, way)

    def report(self, seed: int, difference: Difference, shrinks: bool) -> str:
        length, way = self.way_to_play(seed)
        history = draw_history(seed, length)
        if shrinks:
            history, difference = shrink(history, difference, self.make_market, way)
        repeat = (
            f"laissez check market --histories 1 --seed {seed} --commands {self.commands}"
            f" --snapshot-every {self.options.snapshot_every}"
        )
        return report(history, difference, repeat)


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
    `shrinks` is False. `tell` gets the number of histories done."""
    campaign = Campaign(commands, options, make_market)
    for done, difference in enumerate(in_order(seeds, campaign.play, jobs)):
        if difference is not None:
            counted = {"histories": done, "commands": done * commands}
            return Outcome(counted, campaign.report(seeds[done], difference, shrinks))
        tell(done + 1)
    return Outcome({"histories": len(seeds), "commands": len(seeds) * commands})


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
