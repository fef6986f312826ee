"""The pricing hooks of inference: the revenue at risk, and the nodes that would save it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from laissez.tenants.dynamo.profile import DynamoError
from laissez.tenants.dynamo.profiling import DynamoProfile
from laissez.tenants.dynamo.serving import Serving
from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.inputs import NotNegative, checked
from laissez.tenants.paths import tree_of

# the worth of an idle service as a share: its customers come back and should find it warm
LOAD_MIN: Final = 0.1


class Dynamo(DynamoProfile):
    """A service that can run below `scopes` and earns `revenue_per_hour`: always, or at
    `nominal_req_per_s` and in proportion otherwise."""

    def __init__(
        self,
        serving: Serving,
        scopes: Sequence[str],
        revenue_per_hour: float,
        nominal_req_per_s: float = 0.0,
        **settings: float,
    ) -> None:
        super().__init__(serving, **settings)
        self.scopes = serving.scopes(scopes)
        self.revenue_per_hour = checked(
            "revenue_per_hour", revenue_per_hour, NotNegative, DynamoError
        )
        self.nominal_req_per_s = checked(
            "nominal_req_per_s", nominal_req_per_s, NotNegative, DynamoError
        )

    def value_per_utility(self, now: int) -> float:
        if not self.nominal_req_per_s:
            return self.revenue_per_hour
        return self.revenue_per_hour * max(
            LOAD_MIN, self.serving.plan.req_per_s / self.nominal_req_per_s
        )

    def wishes(self, held: Leaves, now: int) -> Sequence[Wish]:
        """First what completes an engine, then a node for each engine that is short."""
        wished: list[Wish] = [(host,) for host in self.serving.unfinished_hosts(held)]
        for short in self.serving.shortages(held, [tree_of(scope) for scope in self.scopes]):
            able = tuple(
                scope for tree in short.trees for scope in self.scopes if tree_of(scope) == tree
            )
            wished += [able] * short.engines
        return wished
