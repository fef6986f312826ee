"""The progress of a training job: the work done, the part of it that is saved, and the deadline.

A lost node throws the job back to its last checkpoint. A job that has done nothing since (it waits,
or has just restarted) has nothing to lose, however old that checkpoint is. So the time counts since
the job began to do work that is not saved.
"""

from __future__ import annotations

from laissez.tenants.deadline import Deadline
from laissez.tenants.inputs import Positive, checked
from laissez.tenants.sailor.model import SailorError
from laissez.units import HOUR_S, SECOND_US


class Job:
    """`epochs` of `samples_per_epoch` samples by a deadline, saved every `checkpoint_s`."""

    def __init__(
        self, deadline: Deadline, *, epochs: float, samples_per_epoch: float, checkpoint_s: float
    ) -> None:
        self.deadline = deadline
        self.samples = checked("epochs", epochs, Positive, SailorError) * checked(
            "samples_per_epoch", samples_per_epoch, Positive, SailorError
        )
        self.checkpoint_s = checked("checkpoint_s", checkpoint_s, Positive, SailorError)
        self.done = 0.0
        self.saved = 0.0
        self._unsaved_from = deadline.start

    def progressed(self, done: float, now: int) -> None:
        """Told the share of the work that is done, which falls when work is lost. Tell it again and
        again, even while nothing is done."""
        if not 0 <= done <= 1:
            raise SailorError(f"expected the share of the work done, from 0 to 1, found {done}")
        if done <= self.saved:
            self._unsaved_from = now
        self.done = done

    def checkpointed(self, now: int) -> None:
        """Told that all work done is saved."""
        self.saved, self._unsaved_from = self.done, now

    def since_checkpoint_s(self, now: int) -> float:
        """Seconds of work that would be lost now."""
        return max(0, now - self._unsaved_from) / SECOND_US if self.done > self.saved else 0.0

    def until_checkpoint_s(self, now: int) -> float:
        """Seconds until the next checkpoint is due, 0 if it is late."""
        return max(0.0, self.checkpoint_s - self.since_checkpoint_s(now))

    def share_per_hour(self, speed: float) -> float:
        """The share of the whole work that `speed` samples per second do in an hour."""
        return speed * HOUR_S / self.samples
