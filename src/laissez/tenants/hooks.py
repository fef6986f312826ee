"""The hooks through which an application tells its adapter what hardware is worth to it. This is
all that an application has to write.

Most autoscalers know the answers already. *Utility* is whatever the application counts: requests
served in time, progress per hour. The hooks that describe it are profiling; the one that puts
dollars on it is pricing. Times are microseconds where they are instants (`now`) and seconds where
they are durations (`..._s`). `held` are the leaves the tenant has, or would have: the adapter also
asks about what could be, and then an entry may be a scope, which stands for some leaf below it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Final, TypeAlias

from laissez.tenants.holding import Holding
from laissez.tenants.view import TenantView

Leaves: TypeAlias = tuple[str, ...]
Wish: TypeAlias = tuple[str, ...]  # scopes of which any one would do

HOLD_S: Final = 3600.0  # how long a node is kept, before an application knows better


class HookError(ValueError):
    """A hook gave a number that no price can be made from; the message says which one."""


class Application(ABC):
    """An application as its adapter sees it. It must answer the same for the same `held` and `now`
    until it is told something new: what it has answered once in a decision it may not be asked
    again.

    `is_storable` says that utility beyond the objective counts later: progress does, requests
    served in time do not.
    """

    is_storable: ClassVar[bool] = False

    @abstractmethod
    def wishes(self, held: Leaves, now: int) -> Sequence[Wish]:
        """What the autoscaler would add to `held` now: one wish per node, the most useful first."""

    @abstractmethod
    def utility_gap(self, held: Leaves, now: int) -> float:
        """How much utility `held` lacks to meet the objective; negative if there is more than
        enough."""

    @abstractmethod
    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        """What `node` adds to `held`; if it is one of them, what its loss takes away."""

    @abstractmethod
    def value_per_utility(self, now: int) -> float:
        """Dollars per hour for one unit of utility."""

    @cached_property
    def holding(self) -> Holding:
        """How long nodes were kept so far."""
        return Holding(HOLD_S)

    def see(self, view: TenantView) -> None:
        """What is held now and what it costs: told before every decision. The same view told twice
        changes nothing."""
        self.holding.see(view)

    def at_stake(self, node: str, held: Leaves, now: int) -> float | None:
        """The utility that stands still when `node` comes or goes, beside its own: all of it, where
        the application restarts."""
        return None

    def is_redundant(self, node: str, held: Leaves, now: int) -> bool:
        """Whether `node` can come or go without anything having to be moved, restarted or done
        again."""
        return False

    def cold_start_s(self, node: str) -> float:
        """From getting `node` until it is of use."""
        return 0.0

    def since_checkpoint_s(self, now: int) -> float:
        """How much work would be lost now."""
        return 0.0

    def until_checkpoint_s(self, now: int) -> float:
        """When nothing would be lost the next time."""
        return math.inf

    def expected_hold_s(self, now: int) -> float:
        """How long a node is likely to be kept: what it costs to move is spread over it."""
        return self.holding.expected_s()


class ProgressApplication(Application):
    """An application whose utility is progress: what is done today need not be done tomorrow."""

    is_storable = True
