"""What hardware does for an inference service: the profiling hooks.

Utility is the share of revenue that is not lost to late requests. The objective is to lose none. An
engine that goes takes only its own share with it, and one that nobody misses can go at any time:
redundancy, and shrink-and-continue. There is nothing to checkpoint; a new engine has to load the
model first.
"""

from __future__ import annotations

from typing import Final

from laissez.tenants.dynamo.credits import LATE_MIN
from laissez.tenants.dynamo.errors import above_zero, from_zero
from laissez.tenants.dynamo.planner import Observation
from laissez.tenants.dynamo.serving import Serving
from laissez.tenants.hold_times import HoldTimes
from laissez.tenants.hooks import HOLD_S, Application, Leaves

COLD_START_S: Final = 60.0  # ServerlessLLM (Fu et al., OSDI 2024) loads 30B in 34 s and 70B in 84 s


class DynamoProfile(Application):
    """Told what it `observe`s, it says how useful nodes are under the plan that follows."""

    def __init__(
        self, serving: Serving, *, cold_start_s: float = COLD_START_S, hold_s: float = HOLD_S
    ) -> None:
        self.serving = serving
        self._cold_start_s = from_zero("cold_start_s", cold_start_s)
        self.hold_times = HoldTimes(above_zero("hold_s", hold_s))

    def observe(self, seen: Observation, held: Leaves) -> None:
        """An interval is over, during which `held` served."""
        self.serving.observe(seen, held)

    def utility_gap(self, held: Leaves, now: int) -> float:
        return self.serving.standing(held).gap

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        """Its share of what is missing; the last one closes all of it, and may leave something to
        spare. The same whether it comes or goes, so that nothing bought is shed again.

        Not what is lost with it and not without it: that jumps with every split of the rest into
        two pools, and prices would jump along. Only a node that cannot do what is missing, and
        frees another for it, is worth just that.
        """
        change = self.serving.change(node, held)
        before, after = change.before, change.after
        if before.lost <= 0 or after.lost <= 0:
            return before.gap - after.gap
        return change.share or before.lost - after.lost

    def is_redundant(self, node: str, held: Leaves, now: int) -> bool:
        """Whether nothing is lost without it."""
        change = self.serving.change(node, held)
        return change.before.lost <= 0 or self.marginal_utility(node, held, now) <= LATE_MIN

    def cold_start_s(self, node: str) -> float:
        return self._cold_start_s
