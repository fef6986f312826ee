"""A batch of samples at work: every node needs its cold start first; one that is taken has done its
part since the last checkpoint for nothing."""

from __future__ import annotations

from laissez.sim.worlds.world import World
from laissez.tenants import Leaves
from laissez.tenants.parabricks import Parabricks
from laissez.tenants.paths import without
from laissez.units import SECOND_US


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
        self.usage.reconfiguring += span * (len(self.nodes) - len(warm))
        for leaf in warm:
            useful = 0 if leaf in idle else worked
            self.usage.useful += useful
            self.usage.surplus += span - useful
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

    def _lost(self, leaf: str, own_will: bool) -> None:
        warm = self._warm()
        del self.nodes[leaf]
        if leaf not in warm:
            return
        unsaved = self._unsaved.pop(leaf, 0)
        if own_will:
            self.app.batch.released(leaf, warm, self.at)
        else:
            self.usage.lose(round(unsaved * self.app.batch.lost(leaf, warm, self.at)))
