"""A tenant in a cloud: its world goes on, its adapter decides, at its own pace and whenever
something was gained or lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from laissez.sim.clouds.cloud import Cloud
from laissez.sim.kernel import Kernel
from laissez.sim.worlds.world import World
from laissez.tenants import AdapterSettings, Application, EconAdapter, Leaves
from laissez.tenants.hooks import Wish
from laissez.tenants.templates import OnDemand, Spot
from laissez.units import MICRO_PER_DOLLAR, SECOND_US

REACTION_US: Final = 1 * SECOND_US  # from news to a decision; more news meanwhile is part of it


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
        self.kernel, self.cloud, self.kind, self.world, self.adapter = (
            kernel,
            cloud,
            kind,
            world,
            adapter,
        )
        self.due = due
        self.revocations = self.decisions = 0
        self.ended = due
        self._pace_us = pace_us
        self._next: int | None = None  # when it decides next
        self.gone = False

    @property
    def name(self) -> str:
        return self.adapter.tenant

    @property
    def app(self) -> Application:
        return self.world.app

    def arrive(self) -> None:
        self.cloud.join(self)
        self._later(0)
        self.kernel.at(self.due, self._leave)

    def gained(self, leaf: str, since: int) -> None:
        self.world.node_time.reconfiguring += self.kernel.now - since
        self.world.gain(leaf, self.kernel.now)
        self._later(REACTION_US)

    def lost(self, leaf: str, since: int, voluntary: bool) -> None:
        if leaf not in self.world.nodes:  # it was on its way
            self.world.node_time.reconfiguring += self.kernel.now - since
        if self.gone:  # nothing goes on that could be restarted or lost
            self.world.nodes.pop(leaf, None)
            return
        self.revocations += not voluntary
        self.world.lose(leaf, self.kernel.now, voluntary)
        self._later(REACTION_US)

    def _later(self, delay_us: int) -> None:
        """Decide after `delay_us`, unless that is to be done sooner anyway."""
        at = self.kernel.now + delay_us
        if self._next is None or at < self._next:
            self._next = at
            self.kernel.at(at, self._turn(at))

    def _turn(self, at: int) -> Callable[[], None]:
        def turn() -> None:
            if self._next == at and not self.gone:
                self._next = None
                self._decide()

        return turn

    def _decide(self) -> None:
        self.world.advance(self.kernel.now)
        if self.world.is_over():
            self._leave()
            return
        self.decisions += 1
        self.cloud.send(self.adapter.decide(self.cloud.view(self.adapter)))
        self._later(self._pace_us)

    def _leave(self) -> None:
        if not self.gone:
            self.world.advance(self.kernel.now)
            self.gone = True
            self.ended = self.kernel.now
            self.cloud.leave(self.name)


class Adaptive(msgspec.Struct, frozen=True, tag="adaptive"):
    """What it runs says what a GPU is worth; `budget` dollars bound what it spends in all."""

    budget: float | None = None


class Fixed(msgspec.Struct, frozen=True, tag="fixed"):
    """`nodes` GPUs, each for up to `price` dollars per hour, for as long as it is there."""

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
    """Who trades for the tenant."""
    match trading:
        case Fixed(nodes, price, template):
            return EconAdapter(
                name, TEMPLATES[template](scopes, nodes, price), AdapterSettings(moves_max=0)
            )
        case Adaptive(budget):
            return EconAdapter(
                name,
                world.app,
                AdapterSettings(
                    moves_max=moves_max,
                    budget=None if budget is None else round(budget * MICRO_PER_DOLLAR),
                ),
            )


STANDING: Final = "standing"


class Content(Application):
    """Wants nothing more, and nothing else."""

    def wishes(self, held: Leaves, now: int) -> tuple[Wish, ...]:
        return ()

    def utility_gap(self, held: Leaves, now: int) -> float:
        return 0.0

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        return 0.0

    def value_per_utility(self, now: int) -> float:
        return 0.0


class StandingWorld(World):
    """Counts the time."""

    def __init__(self) -> None:
        super().__init__(0)
        self.app = Content()

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


class Standing(Tenant):
    def __init__(self, kernel: Kernel, cloud: Cloud, name: str, until: int) -> None:
        super().__init__(
            kernel, cloud, STANDING, StandingWorld(), EconAdapter(name, Content()), until, pace_us=0
        )

    def arrive(self) -> None:
        """It is there already, and stays."""
        self.cloud.join(self)

    def _later(self, delay_us: int) -> None:
        """It never decides."""
