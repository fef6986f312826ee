"""The profiling hooks of inference: the utility of hardware for a service.

Utility is the share of revenue that is not lost to late requests; the objective is to lose none. A
lost engine takes only its own share with it, and a redundant one can go at any time. There is
nothing to checkpoint; a new engine has to load the model first.
"""

from __future__ import annotations

from typing import Final

from laissez.tenants.dynamo.credits import LATE_MIN
from laissez.tenants.dynamo.planner import Observation
from laissez.tenants.dynamo.profile import DynamoError
from laissez.tenants.dynamo.serving import Serving
from laissez.tenants.hold_times import HoldTimes
from laissez.tenants.hooks import HOLD_S, Application, Leaves
from laissez.tenants.inputs import NotNegative, Positive, checked

COLD_START_S: Final = 60.0  # ServerlessLLM (Fu et al., OSDI 2024) loads 30B in 34 s and 70B in 84 s


class DynamoProfile(Application):
    """Says how useful nodes are under the plan that follows from what it `observe`s."""

    def __init__(
        self, serving: Serving, *, cold_start_s: float = COLD_START_S, hold_s: float = HOLD_S
    ) -> None:
        self.serving = serving
        self._cold_start_s = checked("cold_start_s", cold_start_s, NotNegative, DynamoError)
        self.hold_times = HoldTimes(checked("hold_s", hold_s, Positive, DynamoError))

    def observe(self, seen: Observation, held: Leaves) -> None:
        """Told that an interval is over, during which `held` served."""
        self.serving.observe(seen, held)

    def utility_gap(self, held: Leaves, now: int) -> float:
        return self.serving.service_level(held).gap

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        """The node's share of the missing capacity. The last node closes all of it, and may leave
        spare capacity. The share is the same for a node that comes and for one that goes, so that
        no node is bought and shed again.

        The difference of the losses with and without the node would jump with every split of the
        rest into two pools, and prices would jump along. Only a node that cannot close the gap
        itself, but frees another for it, is worth that difference.
        """
        change = self.serving.change(node, held)
        before, after = change.before, change.after
        if before.lost <= 0 or after.lost <= 0:
            return before.gap - after.gap
        return change.share or before.lost - after.lost

    def is_redundant(self, node: str, held: Leaves, now: int) -> bool:
        """Whether nothing is lost without `node`."""
        change = self.serving.change(node, held)
        return change.before.lost <= 0 or self.marginal_utility(node, held, now) <= LATE_MIN

    def cold_start_s(self, node: str) -> float:
        return self._cold_start_s
