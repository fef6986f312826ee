"""Standing tenants: those who were in the market that a run starts from. Nothing is known of what
they run.

They keep what they hold up to the limits they had, leave their orders as they are, and decide
nothing. All their time counts as useful. They have no performance, so nothing of it can be lost: in
results they are of the kind `standing`, and the mean over tenants passes over them.
"""

from __future__ import annotations

from typing import Final

from laissez.sim.clouds.cloud import Cloud
from laissez.sim.kernel import Kernel
from laissez.sim.tenant import Tenant
from laissez.sim.worlds.world import World
from laissez.tenants import Application, EconAdapter, Leaves
from laissez.tenants.hooks import Wish

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
        self.usage.useful += (now - self.at) * len(self.nodes)

    def _gained(self, leaf: str) -> None:
        self.nodes[leaf] = self.at

    def _lost(self, leaf: str, own_will: bool) -> None:
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
