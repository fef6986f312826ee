"""A real market with adapters that trade in it, one step at a time, and an application with
adjustable numbers.

    world = World("h/a", "h/b")
    world.join(EconAdapter("ann", Plain(want=1, value=3.0)))
    world.step(0)
    assert "ann" == world.market.owner("h/a")
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from laissez.market import AdvanceTime, Command, Event, Market, Refused, Topology
from laissez.tenants import Application, EconAdapter, Held, Leaves, Resting, TenantView, Wish
from laissez.tenants.sailor.iteration import Plan, memory_bytes
from laissez.tenants.sailor.model import Profile
from laissez.units import micro_dollars

MINUTE = 60_000_000
HOUR = 60 * MINUTE


class World:
    def __init__(self, *leaves: str) -> None:
        self.market = Market(Topology.of(leaves))
        self.adapters: list[EconAdapter] = []
        self.now = 0
        # by sequence number: when an order was placed or amended
        self._since: dict[int, int] = {}

    def join(self, *adapters: EconAdapter) -> None:
        self.adapters.extend(adapters)

    def apply(self, command: Command) -> list[Event]:
        events = self.market.apply(command, self.now)
        assert not any(isinstance(event, Refused) for event in events), (command, events)
        return events

    def view(self, adapter: EconAdapter) -> TenantView:
        leases = tuple(
            Held(one.lease, one.leaf, one.start, one.charged, one.limit)
            for one in self.market.leases(adapter.tenant)
        )
        orders = tuple(
            Resting(
                one.order,
                self._since.setdefault(one.sequence, self.now),
                one.alternatives,
            )
            for one in self.market.orders(adapter.tenant)
        )
        bare = TenantView(
            self.now, leases, orders, spent=micro_dollars(self.market.bill(adapter.tenant).total)
        )
        quotes = {
            scope: self.market.quote(adapter.tenant, scope) for scope in adapter.watches(bare)
        }
        return TenantView(self.now, leases, orders, quotes, bare.spent)

    def step(self, now: int) -> list[Command]:
        """Let every adapter decide once; returns the commands sent."""
        self.now = now
        self.apply(AdvanceTime())
        sent: list[Command] = []
        for adapter in self.adapters:
            for command in adapter.decide(self.view(adapter)):
                self.apply(command)
                sent.append(command)
        return sent

    def settle(self, now: int, steps_max: int = 50) -> int:
        """Step until no adapter sends commands; returns the number of steps."""
        for step in range(steps_max):
            if not self.step(now):
                return step
        raise AssertionError(f"still trading after {steps_max} steps: {self.step(now)}")

    def held(self, tenant: str) -> tuple[str, ...]:
        return tuple(sorted(lease.leaf for lease in self.market.leases(tenant)))

    def limits(self, tenant: str) -> dict[str, int | None]:
        return {lease.leaf: lease.limit for lease in self.market.leases(tenant)}


class Plain(Application):
    """Wants `want` nodes among `scopes`; each is worth `value` dollars per hour, times the speed of
    its tree in `speeds`."""

    def __init__(
        self, want: int = 1, value: float = 3.0, scopes: Wish = ("h",), **more: Any
    ) -> None:
        self.want = want
        self.value = value
        self.scopes = scopes
        self.speeds: dict[str, float] = more.get("speeds", {})
        self.cold_s: float = more.get("cold_s", 0.0)
        self.since_s: float = more.get("since_s", 0.0)
        self.until_s: float = more.get("until_s", math.inf)
        self.redundant: bool = more.get("redundant", False)
        self.restarts: bool = more.get("restarts", False)

    def speed(self, node: str) -> float:
        return self.speeds.get(node.partition("/")[0], 1.0)

    def wishes(self, held: Leaves, now: int) -> Sequence[Wish]:
        return [self.scopes] * math.ceil(max(0.0, self.utility_gap(held, now)))

    def utility_gap(self, held: Leaves, now: int) -> float:
        return self.want - sum(map(self.speed, held))

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        return self.speed(node)

    def value_per_utility(self, now: int) -> float:
        return self.value

    def at_stake(self, node: str, held: Leaves, now: int) -> float | None:
        return sum(map(self.speed, held)) if self.restarts else None

    def is_redundant(self, node: str, held: Leaves, now: int) -> bool:
        return self.redundant

    def cold_start_s(self, node: str) -> float:
        return self.cold_s

    def since_checkpoint_s(self, now: int) -> float:
        return self.since_s

    def until_checkpoint_s(self, now: int) -> float:
        return self.until_s


def fits(profile: Profile, plan: Plan) -> bool:
    """Whether every GPU of a training plan has the memory for its part."""
    count = len(plan.stages)
    return all(
        memory_bytes(profile, group.tp, plan.microbatch, count, at, layers)
        <= profile.gpus[group.gpu].memory_bytes
        for at, (stage, layers) in enumerate(zip(plan.stages, plan.slices, strict=True))
        for group in stage.replicas
    )
