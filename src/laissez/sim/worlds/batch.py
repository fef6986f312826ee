"""A batch of samples at work: every node needs its cold start first; one that is taken has done its part since the last checkpoint for nothing."""

from __future__ import annotations

from laissez.sim.worlds.world import World
from laissez.tenants import Leaves
from laissez.tenants.parabricks import Parabricks
from laissez.tenants.paths import without
from laissez.tenants.units import SECOND_US


class BatchWorld(World):
    """The samples themselves are the application's: `Batch` runs them."""

    def __init__(self, app: Parabricks) -> None:
        super().__init__(app.deadline.start)
        self.app: Parabricks = app
        self.due = app.deadline.due
        self._cold_us = round(app.cold_s * SECOND_US)
        self._worked: dict[str, int] = {}  # useful time of each node since the last checkpoint
        self._saved_us = 0

    def is_over(self) -> bool:
        return self.app.batch.done >= 1 or self.at >= self.due

    def performance(self) -> float:
        return self.app.batch.done

    def _pass(self, now: int) -> None:
        """From one node that becomes warm to the next."""
        for instant in (*sorted(warm for warm in self.nodes.values() if self.at < warm < now), now):
            self._work(instant)
            self.at = instant

    def _work(self, until: int) -> None:
        batch, span = self.app.batch, until - self.at
        warm = self._warm()
        was_done = batch.done >= 1
        batch.advance(warm, until)
        if batch.since_checkpoint_s(until) * SECOND_US < span:
            self._worked.clear()
        idle = set(self._idle(warm)) if len(warm) > batch.samples_left else ()
        for leaf in self.nodes:
            if self.nodes[leaf] > self.at:
                self.usage.reconfiguring += span
            elif was_done or leaf in idle:
                self.usage.surplus += span
            else:
                self.usage.useful += span
                self._worked[leaf] = self._worked.get(leaf, 0) + span
        if batch.since_checkpoint_s(until) == 0:
            self._worked.clear()

    def _warm(self) -> Leaves:
        return tuple(sorted(leaf for leaf, warm in self.nodes.items() if warm <= self.at))

    def _idle(self, warm: Leaves) -> Leaves:
        """What the last samples do not need."""
        speed = self.app.batch.speed(warm)
        return tuple(leaf for leaf in warm if self.app.batch.speed(without(warm, leaf)) >= speed)

    def _gained(self, leaf: str) -> None:
        self.nodes[leaf] = self.at + self._cold_us

    def _lost(self, leaf: str, own_will: bool) -> None:
        warm = self._warm()
        del self.nodes[leaf]
        worked = self._worked.pop(leaf, 0)
        if leaf in warm and not own_will:
            self.app.batch.lost(leaf, warm, self.at)
            self.usage.lose(worked)
