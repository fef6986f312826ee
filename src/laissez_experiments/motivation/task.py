"""A task of the paper's example: its application, with the hours of the work on each machine, and
its world. It runs on one machine at a time.

Both tasks are of this one class. A is worth the same at every hour and is saved at its checkpoints;
B has a deadline, so it is worth the more the later it gets (`Deadline`), and writes its results as
it goes, so it has nothing to lose but a restart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from laissez.sim.worlds.world import World
from laissez.tenants import Deadline, Leaves, ProgressApplication, Wish
from laissez.tenants.paths import tree_of, without
from laissez.units import HOUR_S, HOUR_US, SECOND_US

DONE: Final = 1 - 1e-9  # of the work: the rest is rounding
HOLD_S_MIN: Final = 60.0


class Task(ProgressApplication):
    """`hours` is the time of all its work on each machine it can use. It asks for the machines in
    `asks`, and the work is worth `value` dollars."""

    def __init__(
        self,
        hours: Mapping[str, float],
        asks: Wish,
        value: float,
        *,
        deadline: Deadline | None = None,
        checkpoint_s: float = 0.0,
        restart_s: float,
    ) -> None:
        self.hours, self.asks, self.value, self.deadline = hours, asks, value, deadline
        self.checkpoint_s, self.restart_s = checkpoint_s, restart_s
        self.done = 0.0  # share of the work
        self.unsaved_s = 0.0
        self.on: str | None = None  # where it runs
        self.has_begun = False  # the first start is part of the hours

    def speed(self, held: Leaves) -> float:
        """The share of the work per hour, on the fastest."""
        return max((1 / self.hours[tree_of(node)] for node in held), default=0.0)

    def wishes(self, held: Leaves, now: int) -> list[Wish]:
        """Any machine that is faster than what it has."""
        own = self.speed(held)
        faster = tuple(machine for machine in self.asks if self.speed((machine,)) > own)
        return [faster] if faster and self.done < 1 else []

    def utility_gap(self, held: Leaves, now: int) -> float:
        return self.speed(self.asks) - self.speed(held)

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        if node in held:
            return self.speed(held) - self.speed(without(held, node))
        return self.speed((*held, node)) - self.speed(held)

    def value_per_utility(self, now: int) -> float:
        if self.deadline is None:
            return self.value
        return self.deadline.value_of_progress(self.done, now, 2 * self.restart_s)

    def at_stake(self, node: str, held: Leaves, now: int) -> float:
        return self.speed(held)

    def is_redundant(self, node: str, held: Leaves, now: int) -> bool:
        """A machine that it has, but does not run on."""
        return node in held and self.on in held and node != self.on

    def cold_start_s(self, node: str) -> float:
        return self.restart_s if self.has_begun else 0.0

    def since_checkpoint_s(self, now: int) -> float:
        return self.unsaved_s

    def until_checkpoint_s(self, now: int) -> float:
        return max(0.0, self.checkpoint_s - self.unsaved_s)

    def expected_hold_s(self, now: int) -> float:
        """Until the work is done."""
        return max(HOLD_S_MIN, (1 - self.done) / self.speed(self.asks) * HOUR_S)


class Piece(msgspec.Struct, frozen=True):
    """A stretch of a task on a machine: it `works` or `restarts`; or the work of that time is
    `lost`."""

    machine: str
    start: int
    end: int
    what: str


class TaskWorld(World):
    """It runs on the fastest machine that it has. Each change is a restart from the last
    checkpoint, so while it has one it changes only if what it did since then took less than a
    restart does.
    """

    def __init__(self, app: Task, start: int) -> None:
        super().__init__(start)
        self.app: Task = app
        self.pieces: list[Piece] = []
        self.checkpoints: list[tuple[str, int]] = []  # on which machine, and when
        self._runs_from = start

    def is_over(self) -> bool:
        return self.app.done >= 1

    def performance(self) -> float:
        return self.app.done

    def next_change(self) -> int | None:
        """When a restart is over, a checkpoint taken or the work done."""
        if self.app.on is None or self.is_over():
            return None
        if self._runs_from > self.at:
            return self._runs_from
        ends = self.at + math.ceil((1 - self.app.done) / self.app.speed((self.app.on,)) * HOUR_US)
        if not self.app.checkpoint_s:
            return ends
        return min(ends, self.at + round(self.app.until_checkpoint_s(self.at) * SECOND_US))

    def _pass(self, now: int) -> None:
        while self.at < now:
            change = self.next_change()
            until = now if change is None else min(now, max(self.at + 1, change))
            self._run(until)
            self.at = until
            self._change_over()

    def _run(self, until: int) -> None:
        app, span = self.app, until - self.at
        if self.app.on is None or self.is_over():
            self.node_time.surplus += span * len(self.nodes)
            return
        self.node_time.surplus += span * (len(self.nodes) - 1)
        if self.at < self._runs_from:
            self.node_time.reconfiguring += span
            self._note("restarts", until)
            return
        self.node_time.useful += span
        self._note("works", until)
        app.done = _rounded(app.done + app.speed((self.app.on,)) * span / HOUR_US)
        app.unsaved_s += span / SECOND_US if app.checkpoint_s else 0.0
        if app.checkpoint_s and app.unsaved_s >= app.checkpoint_s and not self.is_over():
            app.unsaved_s = 0.0
            self.checkpoints.append((tree_of(self.app.on), until))

    def _note(self, what: str, until: int) -> None:
        machine = tree_of(self.app.on or "")
        last = self.pieces[-1] if self.pieces else None
        if last is not None and (last.machine, last.what, last.end) == (machine, what, self.at):
            self.pieces[-1] = msgspec.structs.replace(last, end=until)
        else:
            self.pieces.append(Piece(machine, self.at, until, what))

    def _gained(self, leaf: str) -> None:
        self.nodes[leaf] = self.at
        self._change_over()

    def _lost(self, leaf: str, voluntary: bool) -> None:
        """The work since the last checkpoint is lost, also if the task gave the machine up itself:
        it saves nothing in between."""
        del self.nodes[leaf]
        if leaf == self.app.on:
            self._back_to_checkpoint()
            self._change_over()

    def _change_over(self) -> None:
        app = self.app
        fastest = max(self.nodes, key=lambda node: app.speed((node,)), default=None)
        if fastest is None or fastest == app.on or app.unsaved_s > app.restart_s or self.is_over():
            return
        self._back_to_checkpoint()
        self._runs_from = self.at + round(app.cold_start_s(fastest) * SECOND_US)
        app.on, app.has_begun = fastest, True

    def _back_to_checkpoint(self) -> None:
        app, lost_us = self.app, round(self.app.unsaved_s * SECOND_US)
        if app.on is not None and lost_us and not self.is_over():
            app.done -= app.speed((app.on,)) * app.unsaved_s / HOUR_S
            self.node_time.lose(lost_us)
            self.pieces.append(Piece(tree_of(app.on), self.at - lost_us, self.at, "lost"))
        app.unsaved_s, app.on = 0.0, None


def _rounded(done: float) -> float:
    return 1.0 if done >= DONE else done
