"""A tenant in a cloud: its world goes on, its adapter decides, at its own pace and whenever
something was gained or lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from laissez.sim.clouds.cloud import Cloud
from laissez.sim.kernel import Kernel
from laissez.sim.worlds.world import World
from laissez.tenants import Application, EconAdapter
from laissez.units import SECOND_US

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
        self.world.usage.reconfiguring += self.kernel.now - since
        self.world.gain(leaf, self.kernel.now)
        self._later(REACTION_US)

    def lost(self, leaf: str, since: int, own_will: bool) -> None:
        if leaf not in self.world.nodes:  # it was on its way
            self.world.usage.reconfiguring += self.kernel.now - since
        if self.gone:  # nothing goes on that could be restarted or lost
            self.world.nodes.pop(leaf, None)
            return
        self.revocations += not own_will
        self.world.lose(leaf, self.kernel.now, own_will)
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
