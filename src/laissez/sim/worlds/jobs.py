"""Jobs at work: a batch of samples, and a training job.

Each node of a batch has its own cold start, and loses its own unsaved work when it is taken. All
nodes of a training job run in lockstep, so every change of the set restarts it. The job saves its
work before a change of its own: saving, transforming and loading are the restart. When a node of
the plan is taken, all go back to the last checkpoint and then restart. Nodes that arrive as a
restart begins join it. Later ones wait until no other has arrived for a while, and are added only
if the faster plan makes up for another restart before the deadline.
"""

from __future__ import annotations

import math
from typing import Final

from laissez.sim.worlds.world import World
from laissez.tenants import Leaves
from laissez.tenants.parabricks import Parabricks
from laissez.tenants.paths import without
from laissez.tenants.sailor import Sailor
from laissez.units import HOUR_US, SECOND_US

DONE: Final = 1e-12  # of the work: the remainder that rounding leaves
# several nodes won one after the other are worth one restart, not several
SETTLE_US: Final = 20 * SECOND_US


class BatchWorld(World):
    def __init__(self, app: Parabricks, cold_s: float | None = None) -> None:
        """`cold_s` is the true cold start; by default the one that the application believes."""
        super().__init__(app.deadline.start)
        self.app: Parabricks = app
        self.due = app.deadline.due
        self._cold_us = round((app.cold_s if cold_s is None else cold_s) * SECOND_US)
        self._unsaved: dict[str, int] = {}  # useful time of each node since the last checkpoint

    def is_over(self) -> bool:
        return self.app.batch.done >= 1 or self.at >= self.due

    def performance(self) -> float:
        return self.app.batch.done

    def _pass(self, now: int) -> None:
        """Step from one change to the next: a node becomes warm, or a checkpoint is due."""
        batch = self.app.batch
        while self.at < now:
            warm = self._warm()
            until = min([now, *(at for at in self.nodes.values() if at > self.at)])
            if warm and batch.done < 1:
                to_save_us = max(1, round(batch.until_checkpoint_s(self.at) * SECOND_US))
                until = min(until, self.at + to_save_us)
            self._work(warm, until)
            self.at = until

    def _work(self, warm: Leaves, until: int) -> None:
        batch, span = self.app.batch, until - self.at
        idle = self._idle(warm) if len(warm) > batch.samples_left else ()
        batch.advance(warm, until)
        worked = span if batch.done_at is None else max(0, min(span, batch.done_at - self.at))
        self.node_time.reconfiguring += span * (len(self.nodes) - len(warm))
        for leaf in warm:
            useful = 0 if leaf in idle else worked
            self.node_time.useful += useful
            self.node_time.surplus += span - useful
            self._unsaved[leaf] = self._unsaved.get(leaf, 0) + useful
        if batch.since_checkpoint_s(until) == 0:
            self._unsaved.clear()

    def _warm(self) -> Leaves:
        return tuple(sorted(leaf for leaf, warm in self.nodes.items() if warm <= self.at))

    def _idle(self, warm: Leaves) -> Leaves:
        """The nodes that the last samples do not need."""
        batch, idle = self.app.batch, []
        for leaf in warm:
            rest = without(warm, leaf)
            if batch.speed(rest) >= batch.speed(warm):
                idle.append(leaf)
                warm = rest
        return tuple(idle)

    def _gained(self, leaf: str) -> None:
        self.nodes[leaf] = self.at + self._cold_us

    def _lost(self, leaf: str, voluntary: bool) -> None:
        warm = self._warm()
        del self.nodes[leaf]
        if leaf not in warm:
            return
        unsaved = self._unsaved.pop(leaf, 0)
        if voluntary:
            self.app.batch.released(leaf, warm, self.at)
        else:
            self.node_time.lose(round(unsaved * self.app.batch.lost(leaf, warm, self.at)))


class TrainingWorld(World):
    def __init__(self, app: Sailor, restart_s: float | None = None) -> None:
        """`restart_s` is the true restart; by default the one that the application believes."""
        super().__init__(app.job.deadline.start)
        self.app: Sailor = app
        self.due = app.job.deadline.due
        self._restart_us = round((app.restart_s if restart_s is None else restart_s) * SECOND_US)
        self._working: Leaves = ()  # the nodes of the plan
        self._running_from = 0
        self._changed_at: int | None = None  # when the latest node outside the plan arrived
        self._unsaved = 0  # useful node time since the last checkpoint

    def is_over(self) -> bool:
        return self.app.job.done >= 1 or self.at >= self.due

    def performance(self) -> float:
        return self.app.job.done

    def _pass(self, now: int) -> None:
        while self.at < now:
            until = min(now, self._next_change())
            self._run(until)
            self.at = until
            if self._changed_at is not None and until >= self._settled_at(self._changed_at):
                self._add_arrivals()

    def _settled_at(self, changed_at: int) -> int:
        return max(self._running_from, changed_at + SETTLE_US)

    def _next_change(self) -> int:
        """The end of a restart, a checkpoint, the end of the work, or the end of the arrivals."""
        job = self.app.job
        if self._running_from > self.at:
            due = [self._running_from]
        elif self._working and job.done < 1 and (share := job.share_per_hour(self._speed())):
            to_save_us = job.until_checkpoint_s(self.at) * SECOND_US
            to_end_us = (1 - job.done) / share * HOUR_US
            due = [self.at + max(1, round(to_save_us)), self.at + max(1, math.ceil(to_end_us))]
        else:
            due = [self.due + HOUR_US]
        if self._changed_at is not None:
            due.append(max(self.at + 1, self._settled_at(self._changed_at)))
        return min(due)

    def _run(self, until: int) -> None:
        job, span = self.app.job, until - self.at
        busy = len(self._working)
        if self.at < self._running_from:
            self.node_time.reconfiguring += span * busy
            self.app.progressed(job.done, until)
        elif not busy or job.done >= 1 or not (speed := self._speed()):
            self.node_time.surplus += span * busy
            self.app.progressed(job.done, until)
        else:
            self.node_time.useful += span * busy
            self._unsaved += span * busy
            done = job.done + job.share_per_hour(speed) * span / HOUR_US
            self.app.progressed(1.0 if done > 1 - DONE else done, until)
            if job.until_checkpoint_s(until) <= 0 or job.done >= 1:
                self._save(until)
        self.node_time.surplus += span * (len(self.nodes) - busy)

    def _speed(self) -> float:
        return self.app.what_if.speed(self._working)

    def _gained(self, leaf: str) -> None:
        self.nodes[leaf] = self.at
        if not self._working or self.at < self._running_from - self._restart_us + SETTLE_US:
            self._restart()
        else:
            self._changed_at = self.at

    def _lost(self, leaf: str, voluntary: bool) -> None:
        del self.nodes[leaf]
        if leaf not in self._working:
            if not set(self.nodes) - set(self._working):
                self._changed_at = None
            return
        if voluntary:
            self._save(self.at)
        else:
            self.app.progressed(self.app.job.saved, self.at)
            self.node_time.lose(self._unsaved)
            self._unsaved = 0
        self._restart()

    def _add_arrivals(self) -> None:
        """Restart with the nodes that arrived, if there is time to profit from them."""
        self._changed_at = None
        left_us = self.due - self.at
        productive_us = left_us - round(self.app.restart_s * SECOND_US)
        faster = self.app.what_if.speed(tuple(sorted(self.nodes)))
        if faster * productive_us > self._speed() * left_us and self.app.job.done < 1:
            self._save(self.at)
            self._restart()

    def _save(self, now: int) -> None:
        self.app.checkpointed(now)
        self._unsaved = 0

    def _restart(self) -> None:
        """Restart on the nodes that the best plan uses."""
        held = tuple(sorted(self.nodes))
        spare = set(self.app.what_if.unused(held)) if held else set()
        self._working = tuple(leaf for leaf in held if leaf not in spare)
        self._running_from = self.at + self._restart_us if self._working else self.at
        self._changed_at = None
