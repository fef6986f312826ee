"""A tenant of a cloud: its world runs, and its adapter decides, regularly and after each change of
its leases.

Incumbents are the tenants of the market that a run starts from. Their work is unknown: they keep
their leases up to their limits, leave their orders as they are, and decide nothing. All their time
counts as useful. Their performance is unknown, so means over tenants skip them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from laissez.sim.clouds.cloud import Cloud
from laissez.sim.kernel import Kernel
from laissez.sim.worlds.world import World
from laissez.tenants import AdapterSettings, Application, EconAdapter, Leaves
from laissez.tenants.hooks import Wish
from laissez.tenants.templates import OnDemand, Spot
from laissez.units import MICRO_PER_DOLLAR, SECOND_US

REACTION_US: Final = 1 * SECOND_US  # from a change to the decision; further changes join it
INCUMBENT: Final = "incumbent"


class Adaptive(msgspec.Struct, frozen=True, tag="adaptive"):
    """Trade through the adapter of the application; `budget` dollars bound what it spends."""

    budget: float | None = None


class Fixed(msgspec.Struct, frozen=True, tag="fixed"):
    """Hold `nodes` GPUs all the time, each for up to `price` dollars per hour."""

    nodes: int
    price: float
    template: str = "on-demand"  # or `spot`


Trading = Adaptive | Fixed
TEMPLATES: dict[str, Callable[[tuple[str, ...], int, float], OnDemand | Spot]] = {
    "on-demand": OnDemand,
    "spot": Spot,
}


def trader(
    name: str, trading: Trading, world: World, scopes: tuple[str, ...], moves_max: int
) -> EconAdapter:
    """The adapter that trades for the tenant."""
    match trading:
        case Fixed(nodes, price, template):
            return EconAdapter(
                name, TEMPLATES[template](scopes, nodes, price), AdapterSettings(moves_max=0)
            )
        case Adaptive(budget):
            budget_micro = None if budget is None else round(budget * MICRO_PER_DOLLAR)
            settings = AdapterSettings(moves_max=moves_max, budget=budget_micro)
            return EconAdapter(name, world.app, settings)


class Tenant:
    def __init__(
        self,
        kernel: Kernel,
        cloud: Cloud,
        kind: str,
        world: World,
        adapter: EconAdapter,
        due: int,
        pace_us: int,
    ) -> None:
        self.kernel, self.cloud, self.kind = kernel, cloud, kind
        self.world, self.adapter, self.due = world, adapter, due
        self.revocations = self.decisions = 0
        self.ended = due
        self.gone = False
        self._pace_us = pace_us
        self._next: int | None = None  # the time of the next decision

    @property
    def name(self) -> str:
        return self.adapter.tenant

    @property
    def app(self) -> Application:
        return self.world.app

    def arrive(self) -> None:
        self.cloud.join(self)
        self._decide_after(0)
        self.kernel.at(self.due, self._leave)

    def gained(self, leaf: str, since: int) -> None:
        self.world.node_time.reconfiguring += self.kernel.now - since
        self.world.gain(leaf, self.kernel.now)
        self._decide_after(REACTION_US)

    def lost(self, leaf: str, since: int, voluntary: bool) -> None:
        if leaf not in self.world.nodes:  # it was still being handed over
            self.world.node_time.reconfiguring += self.kernel.now - since
        if self.gone:  # there is no work left to restart
            self.world.nodes.pop(leaf, None)
            return
        self.revocations += not voluntary
        self.world.lose(leaf, self.kernel.now, voluntary)
        self._decide_after(REACTION_US)

    def _decide_after(self, delay_us: int) -> None:
        """Decide after `delay_us`, unless a decision is due sooner."""
        at = self.kernel.now + delay_us
        if self._next is None or at < self._next:
            self._next = at
            self.kernel.at(at, partial(self._decide_at, at))

    def _decide_at(self, at: int) -> None:
        if self._next == at and not self.gone:
            self._next = None
            self._decide()

    def _decide(self) -> None:
        self.world.advance(self.kernel.now)
        if self.world.is_over():
            self._leave()
            return
        self.decisions += 1
        self.cloud.send(self.adapter.decide(self.cloud.view(self.adapter)))
        self._decide_after(self._pace_us)

    def _leave(self) -> None:
        if not self.gone:
            self.world.advance(self.kernel.now)
            self.gone = True
            self.ended = self.kernel.now
            self.cloud.leave(self.name)


class _NoDemand(Application):
    """Never wants more than it has."""

    def wishes(self, held: Leaves, now: int) -> tuple[Wish, ...]:
        return ()

    def utility_gap(self, held: Leaves, now: int) -> float:
        return 0.0

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        return 0.0

    def value_per_utility(self, now: int) -> float:
        return 0.0


class _UnknownWorld(World):
    """Counts all time as useful."""

    def __init__(self) -> None:
        super().__init__(0)
        self.app = _NoDemand()

    def is_over(self) -> bool:
        return False

    def performance(self) -> float:
        return 0.0

    def _pass(self, now: int) -> None:
        self.node_time.useful += (now - self.at) * len(self.nodes)

    def _gained(self, leaf: str) -> None:
        self.nodes[leaf] = self.at

    def _lost(self, leaf: str, voluntary: bool) -> None:
        del self.nodes[leaf]


class Incumbent(Tenant):
    def __init__(self, kernel: Kernel, cloud: Cloud, name: str, until: int) -> None:
        adapter = EconAdapter(name, _NoDemand())
        super().__init__(kernel, cloud, INCUMBENT, _UnknownWorld(), adapter, until, pace_us=0)

    def arrive(self) -> None:
        self.cloud.join(self)

    def _decide_after(self, delay_us: int) -> None:
        """Decide never."""
