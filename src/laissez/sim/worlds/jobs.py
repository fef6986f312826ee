"""A batch of samples at work: every node needs its cold start first; one that is taken has done its
part since the last checkpoint for nothing."""

from __future__ import annotations

import math
from typing import Final

from laissez.sim.worlds.world import World
from laissez.tenants import Leaves
from laissez.tenants.parabricks import Parabricks
from laissez.tenants.paths import without
from laissez.tenants.sailor import Sailor
from laissez.units import HOUR_US, SECOND_US


class BatchWorld(World):
    """The samples themselves are the application's: `Batch` runs them."""

    def __init__(self, app: Parabricks, cold_s: float | None = None) -> None:
        """`cold_s` is what a cold start takes in truth; what the application believes, unless
        given."""
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
        """From one change to the next: a node becomes warm, or what is done is saved."""
        while self.at < now:
            warm = self._warm()
            until = min([now, *(at for at in self.nodes.values() if at > self.at)])
            if warm and self.app.batch.done < 1:
                until = min(
                    until,
                    self.at + max(1, round(self.app.batch.until_checkpoint_s(self.at) * SECOND_US)),
                )
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
        """What the last samples do not need."""
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


DONE: Final = 1e-12  # of the work: less is left by rounding
# several nodes won one after the other are worth one restart, not several
SETTLE_US: Final = 20 * SECOND_US


class TrainingWorld(World):
    def __init__(self, app: Sailor, restart_s: float | None = None) -> None:
        """`restart_s` is what a restart takes in truth; what the application believes, unless
        given."""
        super().__init__(app.job.deadline.start)
        self.app: Sailor = app
        self.due = app.job.deadline.due
        self._restart_us = round((app.restart_s if restart_s is None else restart_s) * SECOND_US)
        self._working: Leaves = ()  # what the plan runs on
        self._running_from = 0
        self._changed_at: int | None = None  # when a node came that the plan does not have yet
        self._unsaved = 0  # useful node-time since the last checkpoint

    def is_over(self) -> bool:
        return self.app.job.done >= 1 or self.at >= self.due

    def performance(self) -> float:
        return self.app.job.done

    def _pass(self, now: int) -> None:
        while self.at < now:
            until = min(now, self._next_change())
            self._run(until)
            self.at = until
            if self._changed_at is not None and until >= max(
                self._running_from, self._changed_at + SETTLE_US
            ):
                self._take_in()

    def _next_change(self) -> int:
        """When a restart is over, a checkpoint due, the work done or the newcomers complete."""
        job = self.app.job
        if self._running_from > self.at:
            due = [self._running_from]
        elif self._working and job.done < 1 and (share := job.share_per_hour(self._speed())):
            to_save, to_end = (
                job.until_checkpoint_s(self.at) * SECOND_US,
                (1 - job.done) / share * HOUR_US,
            )
            due = [self.at + max(1, round(to_save)), self.at + max(1, math.ceil(to_end))]
        else:
            due = [self.due + HOUR_US]
        if self._changed_at is not None:
            due.append(max(self.at + 1, self._running_from, self._changed_at + SETTLE_US))
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
        return self.app.shadow.speed(self._working)

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

    def _take_in(self) -> None:
        """The nodes that came are used from now on, if there is time to profit from them."""
        self._changed_at = None
        left_us = self.due - self.at
        if (
            self._planned() * (left_us - round(self.app.restart_s * SECOND_US))
            > self._speed() * left_us
            and self.app.job.done < 1
        ):
            self._save(self.at)
            self._restart()

    def _planned(self) -> float:
        return self.app.shadow.speed(tuple(sorted(self.nodes)))

    def _save(self, now: int) -> None:
        self.app.checkpointed(now)
        self._unsaved = 0

    def _restart(self) -> None:
        """With what the best plan over all nodes uses."""
        held = tuple(sorted(self.nodes))
        spare = set(self.app.shadow.unused(held)) if held else set()
        self._working = tuple(leaf for leaf in held if leaf not in spare)
        self._running_from = self.at + self._restart_us if self._working else self.at
        self._changed_at = None
