"""The hooks through which an application tells its adapter what hardware is worth to it. This is
all that an application has to write.

Most autoscalers know the answers already. *Utility* is whatever the application counts: requests
served in time, progress per hour. The hooks that describe utility are profiling; the one that puts
dollars on it is pricing. Instants (`now`) are microseconds, durations (`..._s`) are seconds. `held`
are the leaves that the tenant has or would have: the adapter also asks about sets of nodes that it
does not hold, and an entry may be a scope, which stands for some leaf below it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Final, TypeAlias

from laissez.tenants.hold_times import HoldTimes
from laissez.tenants.view import TenantView

Leaves: TypeAlias = tuple[str, ...]
Wish: TypeAlias = tuple[str, ...]  # the scopes in any of which one more node is wanted

HOLD_S: Final = 3600.0  # how long a node is expected to be kept before anything is known


class HookError(ValueError):
    """A hook gave a number that no price can be made from. The message names the hook."""


class Application(ABC):
    """An application as its adapter sees it. It must give the same answer for the same `held` and
    `now` until it learns something new, because the adapter caches answers within a decision.

    `is_storable` says that utility beyond the objective counts later: progress does, requests
    served in time do not.
    """

    is_storable: ClassVar[bool] = False

    @abstractmethod
    def wishes(self, held: Leaves, now: int) -> Sequence[Wish]:
        """The nodes that the autoscaler would add to `held` now, the most useful first."""

    @abstractmethod
    def utility_gap(self, held: Leaves, now: int) -> float:
        """The utility that `held` lacks to meet the objective; negative if it exceeds it."""

    @abstractmethod
    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        """The utility that `node` adds to `held`, or takes away with it if it is one of them."""

    @abstractmethod
    def value_per_utility(self, now: int) -> float:
        """Dollars per hour that one unit of utility is worth."""

    @cached_property
    def hold_times(self) -> HoldTimes:
        """The times for which nodes were kept so far."""
        return HoldTimes(HOLD_S)

    def see(self, view: TenantView) -> None:
        """Told the view before every decision. A repeated view must change nothing."""
        self.hold_times.see(view)

    def at_stake(self, node: str, held: Leaves, now: int) -> float | None:
        """The other utility lost while `node` comes or goes: all of it in a restart."""
        return None

    def is_redundant(self, node: str, held: Leaves, now: int) -> bool:
        """Whether `node` can come or go without moving, restarting or repeating anything."""
        return False

    def cold_start_s(self, node: str) -> float:
        """The time that `node` takes to become useful."""
        return 0.0

    def since_checkpoint_s(self, now: int) -> float:
        """The work, in seconds, that would be lost if a node went now."""
        return 0.0

    def until_checkpoint_s(self, now: int) -> float:
        """The time until no work would be lost."""
        return math.inf

    def expected_hold_s(self, now: int) -> float:
        """The expected time for which a node is kept. The cost of a change is spread over it."""
        return self.hold_times.expected_s()


class ProgressApplication(Application):
    """An application whose utility is progress: work done today need not be done tomorrow."""

    is_storable = True
