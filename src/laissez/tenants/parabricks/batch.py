"""A batch: a queue of samples, the progress of each, and the part of it that is saved.

`advance` gets the nodes that worked and the time. It lets the samples run on, takes a checkpoint at
every interval, and notices a pause. `lost` takes back the work of a node since the last checkpoint,
`released` saves it. A finished sample is written and cannot be lost. Sizes count in samples of 50x
coverage: a sample of size 2 takes twice as long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from laissez.tenants.cache import Cache
from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.inputs import Count, Positive, checked
from laissez.tenants.parabricks.runtime import RUN_TIMES, ParabricksError, RunTime, machines, slots
from laissez.tenants.paths import tree_of, without
from laissez.units import HOUR_US, SECOND_US

# the lost work of "Can't Be Late", Table 4, is 7 to 9 minutes: half of such an interval
CHECKPOINT_S: Final = 900.0
FINISHED: Final = 1e-9  # samples; less than this is rounding
CACHED_MAX: Final = 8_192  # speeds of sets of nodes
Sizes: TypeAlias = Annotated[tuple[Positive, ...], Meta(min_length=1)]
Interval: TypeAlias = Annotated[float, Meta(ge=1, le=1e18)]


class Batch:
    """Samples of these `sizes`, up to `nodes_max` of them at once, below any of `scopes`."""

    def __init__(
        self,
        sizes: Sequence[float],
        scopes: Wish,
        *,
        now: int = 0,
        nodes_max: int = 8,
        checkpoint_s: float = CHECKPOINT_S,
        run_times: Mapping[str, RunTime] = RUN_TIMES,
    ) -> None:
        if not scopes or any(tree_of(scope) not in run_times for scope in scopes):
            raise ParabricksError(
                f"expected scopes of the types {', '.join(sorted(run_times))}, found"
                f" {', '.join(scopes) or 'none'}"
            )
        checked("sizes", tuple(sizes), Sizes, ParabricksError)
        checked("checkpoint_s", checkpoint_s, Interval, ParabricksError)
        self.nodes_max = checked("nodes_max", nodes_max, Count, ParabricksError)
        self.scopes, self.run_times = scopes, run_times
        self.total = math.fsum(sizes)
        self.done = 0.0  # share of the whole work
        self.done_at: int | None = None  # when the last sample was finished
        self._left, self._saved = list(sizes), list(sizes)
        # what each node did since the last checkpoint, in samples
        self._unsaved: dict[str, float] = {}
        self._interval_us = round(checkpoint_s * SECOND_US)
        self._at = self._saved_at = now
        self._alone = {kind: run_time.per_hour(1) for kind, run_time in run_times.items()}
        self._speeds = Cache(CACHED_MAX, self._speed)
        self.samples_left = len(sizes)
        self._working = False

    @property
    def _width(self) -> int:
        """The most samples that run at once."""
        return min(self.samples_left, self.nodes_max)

    @property
    def pace_best(self) -> float:
        """The share of the work per hour that the fastest node does."""
        return max(self._alone[tree_of(scope)] for scope in self.scopes) / self.total

    def speed(self, held: Leaves) -> float:
        """Samples per hour."""
        return self._speeds[held]

    def _speed(self, held: Leaves) -> float:
        if len(held) <= self._width:
            return sum(self._alone.get(tree_of(leaf), 0.0) for leaf in held)
        return sum(slots(machines(held, self.scopes), self._width, self.run_times))

    def pace(self, held: Leaves) -> float:
        """The share of the whole work per hour."""
        return self.speed(held) / self.total

    def pace_of(self, node: str, held: Leaves) -> float:
        """The pace that `node` adds to `held` or, if it is one of them, contributes."""
        if node in held:
            return self.pace(held) - self.pace(without(held, node))
        return self.pace((*held, node)) - self.pace(held)

    def since_checkpoint_s(self, now: int) -> float:
        """Seconds of work that are not saved; none while paused or done."""
        return (
            max(0, now - self._saved_at) / SECOND_US if self.samples_left and self._working else 0.0
        )

    def until_checkpoint_s(self, now: int) -> float:
        return max(0, self._saved_at + self._interval_us - now) / SECOND_US

    def advance(self, held: Leaves, now: int) -> None:
        """Told that `held`, without those still starting, worked since the last call."""
        if now < self._at:
            raise ParabricksError(f"expected a time from {self._at} on, found {now}")
        self._working = bool(held)
        while held and self.samples_left and self._at < now:
            until = min(now, self._saved_at + self._interval_us)
            self._run(held, until - self._at)
            self._at = until
            if until == self._saved_at + self._interval_us:
                self.checkpointed(until)
        self._at = now
        if not held or not self.samples_left:
            self.checkpointed(now)

    def checkpointed(self, now: int) -> None:
        """Told that all work done is saved."""
        self._saved, self._saved_at = self._left.copy(), now
        self._unsaved.clear()

    def lost(self, node: str, held: Leaves, now: int) -> float:
        """Told that `node`, one of the `held` that worked until `now`, was lost.

        Returns the share of its work since the checkpoint that must be repeated: all but the work
        on samples that are finished.
        """
        self.advance(held, now)
        total, part = math.fsum(self._unsaved.values()), self._part_of(node)
        open_work = math.fsum(
            saved - left for left, saved in zip(self._left, self._saved, strict=True) if left
        )
        self._left = [
            left + part * (saved - left) if left else 0.0
            for left, saved in zip(self._left, self._saved, strict=True)
        ]
        self._working = len(held) > 1
        self._recount(now)
        return min(1.0, open_work / total) if total > 0 else 0.0

    def released(self, node: str, held: Leaves, now: int) -> None:
        """Told that `node`, one of the working `held`, was given up with its work saved."""
        self.advance(held, now)
        part = self._part_of(node)
        self._saved = [
            saved - part * (saved - left)
            for left, saved in zip(self._left, self._saved, strict=True)
        ]
        self._working = len(held) > 1

    def _part_of(self, node: str) -> float:
        """Forget the unsaved work of `node`. Returns its share of all unsaved work."""
        total = math.fsum(self._unsaved.values())
        return self._unsaved.pop(node, 0.0) / total if total > 0 else 0.0

    def finished(self, sample: int, now: int) -> None:
        """Told that a sample is done, even if the model predicts otherwise."""
        if not 0 <= sample < len(self._left):
            raise ParabricksError(
                f"expected a sample from 0 to {len(self._left) - 1}, found {sample}"
            )
        self._left[sample] = self._saved[sample] = 0.0
        self._recount(now)
        if not self.samples_left:
            self.checkpointed(now)

    def _run(self, held: Leaves, duration_us: int) -> None:
        """Run the longest samples in the fastest slots. Share GPUs again when one ends."""
        hours = duration_us / HOUR_US
        while hours > 0 and self.samples_left:
            rates = slots(machines(held, self.scopes), self._width, self.run_times)
            if not rates:
                return
            longest = sorted(range(len(self._left)), key=self._left.__getitem__, reverse=True)[
                : len(rates)
            ]
            step = min(
                hours,
                *(self._left[sample] / rate for sample, rate in zip(longest, rates, strict=True)),
            )
            for sample, rate in zip(longest, rates, strict=True):
                left = self._left[sample] - rate * step
                self._left[sample] = left if left > FINISHED else 0.0
            self._did(held, sum(rates) * step)
            hours -= step
            self._recount(self._at + duration_us - round(hours * HOUR_US))

    def _did(self, held: Leaves, samples: float) -> None:
        """Credit the work to the nodes, in proportion to their speeds."""
        total = sum(self._alone.get(tree_of(leaf), 0.0) for leaf in held)
        for leaf in held:
            self._unsaved[leaf] = (
                self._unsaved.get(leaf, 0.0) + samples * self._alone.get(tree_of(leaf), 0.0) / total
            )

    def _recount(self, now: int) -> None:
        unfinished = sum(left > 0 for left in self._left)
        if unfinished != self.samples_left:
            self._speeds.clear()
        self.samples_left = unfinished
        self.done = 1.0 - math.fsum(self._left) / self.total if unfinished else 1.0
        if not unfinished and self.done_at is None:
            self.done_at = now
