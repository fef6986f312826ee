"""Work with a deadline, on nodes that do it independently of each other, as cheaply as the time
left allows (`Deadline`: Uniform Progress as prices).

Work counts in hours of a node of speed 1. The job itself tells how much is done (`progressed`), or
else progress is estimated from the nodes held (`elapsed`): a node works once its cold start is
over, and a lost one takes with it what it did since the last checkpoint. The estimate trusts
`work_hours`: a job that takes longer is given up too early, so be generous or let the job tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from laissez.tenants.deadline import Deadline
from laissez.tenants.hooks import Leaves, ProgressApplication, Wish
from laissez.tenants.inputs import NotNegative, Positive, Share, checked
from laissez.tenants.paths import tree_of, without
from laissez.tenants.templates.template import State, Template, TemplateError
from laissez.tenants.view import TenantView
from laissez.units import HOUR_US, SECOND_US

# By default, work is worth a fifth more than it would cost on demand. For less it would hardly be
# done.
MARGIN: Final = 1.2
COLD_START_S: Final = 300.0


class DeadlineState(State, tag="deadline"):
    """The share `done` at `at`, the time of the last checkpoint, and when each node came."""

    done: Share
    at: int
    saved_at: int
    nodes: dict[str, int]


class DeadlineJob(Template, ProgressApplication):
    """`work_hours` of work worth `value`, from `start` to `due`, at a speed per type."""

    probe = "progress"
    learned: DeadlineState

    def __init__(
        self,
        scopes: Wish,
        nodes_max: int,
        *,
        start: int,
        due: int,
        work_hours: float,
        speeds: Mapping[str, float],
        value: float,
        checkpoint_s: float | None = None,
        cold_s: float = COLD_START_S,
        finish_late: bool = True,
    ) -> None:
        super().__init__(scopes, nodes_max)
        self.due, self.finish_late = due, finish_late
        self.speeds = _speeds(scopes, speeds)
        self.work_hours = checked("work_hours", work_hours, Positive, TemplateError)
        self.value = checked("value", value, Positive, TemplateError)
        if checkpoint_s is not None:
            checked("checkpoint_s", checkpoint_s, Positive, TemplateError)
        self.checkpoint_s = checkpoint_s
        self.cold_s = checked("cold_s", cold_s, NotNegative, TemplateError)
        self.adopt(DeadlineState(start=start, done=0.0, at=start, saved_at=start, nodes={}))

    def adopt(self, learned: State) -> None:
        if learned.start >= self.due:
            raise TemplateError(
                f"expected a state that began before the deadline at {self.due}, found"
                f" {learned.start}"
            )
        super().adopt(learned)
        self.deadline = Deadline(self.start, self.due, self.value, self.finish_late)

    @property
    def done(self) -> float:
        return self.learned.done

    def see(self, view: TenantView) -> None:
        super().see(view)
        self.elapsed(tuple(lease.leaf for lease in view.leases), view.now)

    def told(self, number: float, now: int) -> None:
        self.progressed(number, now)

    def is_done(self, now: int) -> bool:
        return self.done >= 1 or (not self.finish_late and now >= self.due)

    def progressed(self, done: float, now: int) -> None:
        """Told by the job that this share of its work is done."""
        if not 0 <= done <= 1:
            raise TemplateError(f"expected progress from 0 to 1, found {done}")
        self.learned.done = done
        self.learned.at = max(self.learned.at, now)

    def checkpointed(self, now: int) -> None:
        self.learned.saved_at = max(self.learned.saved_at, now)

    def elapsed(self, held: Leaves, now: int) -> None:
        """Told that `held` are held now. Nodes that were held before have worked since."""
        learned = self.learned
        now = max(now, learned.at)  # clocks may disagree a little
        if not learned.nodes:
            learned.saved_at = now
        if learned.done < 1:  # finished work cannot be lost
            gained = sum(
                self._worked(leaf, learned.at, now)
                if leaf in held
                else -self._unsaved(leaf, learned.at)
                for leaf in learned.nodes
            )
            learned.done = min(1.0, max(0.0, learned.done + gained))
        learned.nodes = {
            leaf: learned.nodes.get(leaf, now) for leaf in held if self.is_usable(leaf)
        }
        learned.at = now

    def _worked(self, leaf: str, since: int, until: int) -> float:
        """The share of the work that a node did once its cold start was over."""
        warm = self.learned.nodes[leaf] + round(self.cold_s * SECOND_US)
        share_per_hour = self.speeds[tree_of(leaf)] / self.work_hours
        return share_per_hour * max(0, until - max(since, warm)) / HOUR_US

    def _unsaved(self, leaf: str, now: int) -> float:
        return self._worked(leaf, now - round(self.since_checkpoint_s(now) * SECOND_US), now)

    def pace(self, held: Leaves) -> float:
        """The share of the work per hour. Of too many nodes the fastest are used."""
        speeds = [self.speeds[tree_of(leaf)] for leaf in held if self.is_usable(leaf)]
        if len(speeds) > self.nodes_max:
            speeds = sorted(speeds, reverse=True)[: self.nodes_max]
        return sum(speeds) / self.work_hours

    def wishes(self, held: Leaves, now: int) -> list[Wish]:
        best_pace = max(self.speeds.values()) / self.work_hours
        useful = self.deadline.nodes_useful(best_pace, self.done, now, self.cold_s)
        return [self.scopes] * (min(self.nodes_max, useful) - self.usable(held))

    def utility_gap(self, held: Leaves, now: int) -> float:
        return self.deadline.required(self.done, now, 2 * self.cold_s) - self.pace(held)

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        if node in held:
            return self.pace(held) - self.pace(without(held, node))
        return self.pace((*held, node)) - self.pace(held)

    def value_per_utility(self, now: int) -> float:
        return self.deadline.value_of_progress(self.done, now, 2 * self.cold_s)

    def cold_start_s(self, node: str) -> float:
        return self.cold_s

    def since_checkpoint_s(self, now: int) -> float:
        """Time since the last checkpoint, reported or implied by the interval; 0 while nothing runs
        or if the interval is unknown."""
        if self.checkpoint_s is None or not self.learned.nodes:
            return 0.0
        return max(0, now - self.learned.saved_at) / SECOND_US % self.checkpoint_s

    def until_checkpoint_s(self, now: int) -> float:
        if self.checkpoint_s is None:
            return math.inf
        return self.checkpoint_s - self.since_checkpoint_s(now)

    def expected_hold_s(self, now: int) -> float:
        return self.deadline.expected_hold_s(self.hold_times, self.cold_s, now)


def _speeds(scopes: Wish, speeds: Mapping[str, float]) -> dict[str, float]:
    """The speed of each type of hardware that a scope names."""
    trees = dict.fromkeys(map(tree_of, scopes))
    missing = sorted(trees.keys() - speeds.keys())
    if missing:
        raise TemplateError(
            f"expected a speed for each type of hardware, found none for {', '.join(missing)}"
        )
    return {
        tree: checked(f"speed of {tree}", speeds[tree], Positive, TemplateError) for tree in trees
    }
