"""Work with a deadline, on nodes that do it independently of each other: as cheap as the time left
allows (`Deadline`: Uniform Progress as prices).

Work counts in hours of a node of speed 1. How much is done is told by the job itself
(`progressed`), or else estimated from what was held how long (`elapsed`): a node works from its
cold start on, and one that is gone takes back what it did since the last checkpoint. The estimate
believes `work_hours`: a job that takes longer than that is given up too early, so be generous, or
let the job tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from laissez.tenants.deadline import Deadline
from laissez.tenants.hooks import Leaves, ProgressApplication, Wish
from laissez.tenants.paths import tree_of, without
from laissez.tenants.templates.errors import TemplateError
from laissez.tenants.templates.template import (
    State,
    Template,
    checked,
    checked_duration,
    read_state,
)
from laissez.tenants.view import TenantView
from laissez.units import HOUR_US, SECOND_US

# work is worth a fifth more than it would cost on demand, if nobody says: else it would hardly be
# done
MARGIN: Final = 1.2
COLD_START_S: Final = 300.0
_Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class DeadlineState(State, frozen=True, tag="deadline"):
    """`done` is a share of the work; `at` the last time anything was told, `saved_at` the last
    checkpoint; `nodes` when each node came."""

    done: _Share
    at: int
    saved_at: int
    nodes: dict[str, int]


class DeadlineJob(Template, ProgressApplication):
    """`work_hours` of work, worth `value` dollars, between `start` and `due`. `speeds` are those of
    the types of hardware it may run on."""

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
        super().__init__(scopes, nodes_max, start)
        if due <= start:
            raise TemplateError(f"expected a deadline after the start at {start}, found {due}")
        self.due, self.finish_late, self.speeds = due, finish_late, _speeds(scopes, speeds)
        self.work_hours = checked("work_hours", work_hours)
        self.value = checked("the value of the work in dollars", value)
        self.checkpoint_s = (
            None
            if checkpoint_s is None
            else checked("the checkpoint interval in seconds", checkpoint_s)
        )
        self.cold_s = checked_duration("the cold start", cold_s)
        self._know(DeadlineState(start=start, done=0.0, at=start, saved_at=start, nodes={}))

    def _know(self, known: DeadlineState) -> None:
        self.start, self.done, self._at, self._saved_at, self._nodes = (
            known.start,
            known.done,
            known.at,
            known.saved_at,
            dict(known.nodes),
        )
        self.deadline = Deadline(self.start, self.due, self.value, self.finish_late)

    def state(self) -> dict[str, object]:
        known = DeadlineState(
            start=self.start,
            done=self.done,
            at=self._at,
            saved_at=self._saved_at,
            nodes=self._nodes,
        )
        written: dict[str, object] = msgspec.to_builtins(known)
        return written

    def restore(self, state: Mapping[str, object]) -> None:
        known = read_state(state, DeadlineState)
        if known.start >= self.due:
            raise TemplateError(
                f"expected a state that began before the deadline at {self.due}, found"
                f" {known.start}"
            )
        self._know(known)

    def see(self, view: TenantView) -> None:
        super().see(view)
        self.elapsed(tuple(lease.leaf for lease in view.leases), view.now)

    def probed(self, probe: str, number: float, now: int) -> None:
        if probe != "progress":
            raise TemplateError(f"expected the probe progress, found {probe}")
        self.progressed(number, now)

    def is_done(self, now: int) -> bool:
        return self.done >= 1 or (not self.finish_late and now >= self.due)

    def progressed(self, done: float, now: int) -> None:
        """The job says that this share of its work is done."""
        if not 0 <= done <= 1:
            raise TemplateError(f"expected progress from 0 to 1, found {done}")
        self.done = done
        self._at = max(self._at, now)

    def checkpointed(self, now: int) -> None:
        self._saved_at = max(self._saved_at, now)

    def elapsed(self, held: Leaves, now: int) -> None:
        """`held` are held now. What was held before and still is has worked since the last time
        told; clocks that disagree a little add nothing."""
        now = max(now, self._at)
        if not self._nodes:
            self._saved_at = now
        if self.done < 1:  # what is finished cannot be lost
            gained = sum(
                (
                    self._worked(leaf, self._at, now)
                    if leaf in held
                    else -self._unsaved(leaf, self._at)
                )
                for leaf in self._nodes
            )
            self.done = min(1.0, max(0.0, self.done + gained))
        self._nodes = {leaf: self._nodes.get(leaf, now) for leaf in held if self.is_usable(leaf)}
        self._at = now

    def pace(self, held: Leaves) -> float:
        """The share of the work per hour; of too many nodes the fastest are used."""
        speeds = [self.speeds[tree_of(leaf)] for leaf in held if self.is_usable(leaf)]
        if len(speeds) > self.nodes_max:
            speeds = sorted(speeds, reverse=True)[: self.nodes_max]
        return sum(speeds) / self.work_hours

    def wishes(self, held: Leaves, now: int) -> list[Wish]:
        useful = self.deadline.nodes_useful(
            max(self.speeds.values()) / self.work_hours, self.done, now, self.cold_s
        )
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
        """By its rhythm, if nothing newer was told; nothing is unsaved while nothing runs, or where
        no rhythm is known."""
        if self.checkpoint_s is None or not self._nodes:
            return 0.0
        return max(0, now - self._saved_at) / SECOND_US % self.checkpoint_s

    def until_checkpoint_s(self, now: int) -> float:
        return (
            math.inf
            if self.checkpoint_s is None
            else self.checkpoint_s - self.since_checkpoint_s(now)
        )

    def expected_hold_s(self, now: int) -> float:
        """No node is kept beyond the deadline; but work that is late already is still worth a
        restart."""
        return min(
            self.hold_times.expected_s(self.cold_s), max(self.deadline.left_s(now), 2 * self.cold_s)
        )

    def _worked(self, leaf: str, since: int, until: int) -> float:
        """The share of the work that a node did; it does nothing during its cold start."""
        warm = self._nodes[leaf] + round(self.cold_s * SECOND_US)
        return (
            self.speeds[tree_of(leaf)]
            / self.work_hours
            * max(0, until - max(since, warm))
            / HOUR_US
        )

    def _unsaved(self, leaf: str, now: int) -> float:
        return self._worked(leaf, now - round(self.since_checkpoint_s(now) * SECOND_US), now)


def worth(on_demand: float, work_hours: float, margin: float = MARGIN) -> float:
    """What work is worth if nobody says: what it would cost on demand on a node of speed 1, times
    `margin`."""
    return (
        checked("the on-demand price", on_demand)
        * checked("work_hours", work_hours)
        * checked("the margin", margin)
    )


def _speeds(scopes: Wish, speeds: Mapping[str, float]) -> dict[str, float]:
    """The speed of every type named by a scope."""
    missing = sorted({tree_of(scope) for scope in scopes} - speeds.keys())
    if missing:
        raise TemplateError(
            f"expected a speed for each type of hardware, found none for {', '.join(missing)}"
        )
    return {
        kind: checked(f"the speed of {kind}", speeds[kind])
        for kind in dict.fromkeys(map(tree_of, scopes))
    }
