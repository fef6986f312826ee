"""Seeded random histories: a world and its commands, as plain data.

Every seed first draws its own mix (forest, tenants, price grid, weights, controls, pace), so that
some histories are all ties at one instant and others are all holds. The draft plays its steps in
the oracle in order to aim: most commands name an order or a lease that exists. The others are
refused, which is checked, too. A history depends on its seed alone, and stays valid without any of
its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from laissez.market import commands
from laissez.market.commands import ALTERNATIVES_MAX, PRICE_MAX, Alternative, Band, Command
from laissez.market.events import Event
from laissez_check.oracle import Oracle
from laissez_check.spoil import spoil, spoiled_time
from laissez_check.worlds import World, draw_world

HOUR_US = 3_600_000_000
FRACTIONS_PPM = (0, 1, 100_000, 333_333, 500_000, 1_000_000, 3_000_000)


class Step(msgspec.Struct, frozen=True):
    """A command and its time. Either may be malformed on purpose, against its type."""

    at: int
    command: Command


class History(msgspec.Struct, frozen=True):
    seed: int
    world: World
    steps: tuple[Step, ...]


class Draft:
    """A history being drawn: the seed's own mix, and the oracle for aiming."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = rng = Random(seed)
        self.world = draw_world(rng)
        self.nodes = self.world.nodes()
        self.sight = Oracle(self.world.leaves, self.world.orders_per_tenant_max)
        self.happened: list[Event] = []  # at the last step
        self.now = 0
        self.moments: list[int] = []  # when holds and fees may end and intervals begin
        self.prices = draw_prices(rng)
        # Floors above most limits, often moved: idle leaves with orders that wait for a lower one.
        self.dear = rng.random() < 0.3
        ordered = sorted(self.prices)
        half = len(ordered) // 2
        low, high = ordered[:half], [*ordered[half:], 0]
        self.floors = high if self.dear else rng.choice((self.prices, low))
        self.limits = rng.choice((self.prices, self.floors, [*self.prices, 0]))
        self.aimed = rng.choice((0.7, 0.9, 0.97))
        self.tick_us = rng.choice((1, 1_000, 1_000_000))
        self.same_instant = rng.choice((0.1, 0.4, 0.8))
        self.spoiled = rng.choice((0.0, 0.03, 0.15))
        self.alternatives_most = rng.choice((1, 2, 3, 6, ALTERNATIVES_MAX))
        self.at_market = rng.choice((0.0, 0.2, 0.6))
        kinds = ("rise", "fall", "hold_us", "flash_us")
        self.controls = [kind for kind in kinds if rng.random() < 0.5]
        lengths = rng.sample((1, 2, 3, 5, 10, 40, 200), 3)
        self.durations_us = [self.tick_us * length for length in lengths]
        self.weights = self.draw_weights()

    def draw_weights(self) -> dict[Callable[[], Command], float]:
        has_fees = "flash_us" in self.controls  # which take bids that are withdrawn soon
        often = {
            self.place: 10,
            self.amend: 8 if has_fees else 4,
            self.cancel: 4 if has_fees else 2,
            self.set_limit: 4,
            self.relinquish: 3,
            self.set_floor: 8 if self.dear else 2,
            self.set_controls: 1.5 if self.controls else 0.1,
            self.take_offline: 0.6,
            self.bring_online: 1,
            self.advance: 0.7,
            self.close_books: 0.3,
        }
        return {draw: weight * self.rng.choice((0.3, 1, 1, 3)) for draw, weight in often.items()}

    def step(self) -> Step:
        rng = self.rng
        self.now = at = self.next_time()
        command = self.command()
        if rng.random() < self.spoiled:
            command = spoil(rng, command, self.nodes)
        if rng.random() < self.spoiled / 4:
            at = spoiled_time(rng, self.now)
        if isinstance(command, commands.PlaceOrder | commands.AmendOrder) and at == self.now:
            self.moments.extend(at + duration_us for duration_us in self.durations_us)
        self.happened = self.sight.apply(command, at)
        self.now = self.sight.now
        return Step(at, command)

    def command(self) -> Command:
        """The next command: mostly an order if another one had nothing to aim at."""
        draw = self.rng.choices(list(self.weights), list(self.weights.values()))[0]
        nothing_there = (draw in (self.amend, self.cancel) and not self.sight.open_orders) or (
            draw in (self.set_limit, self.relinquish) and not self.sight.live_leases()
        )
        return self.place() if nothing_there and self.rng.random() < self.aimed else draw()

    def next_time(self) -> int:
        rng = self.rng
        if rng.random() < self.same_instant:
            return self.now
        ahead = [moment for moment in self.moments if moment >= self.now]
        kind = rng.random()
        if ahead and kind < 0.4:
            return max(self.now, rng.choice(ahead) + rng.choice((-1, 0, 0, 0, 1)))
        if kind < 0.95:
            return self.now + rng.randint(1, 20) * self.tick_us
        return self.now + rng.choice((1, 24, 8_784)) * HOUR_US

    # -- arguments of commands

    def tenant(self) -> str:
        return self.rng.choice(self.world.tenants)

    def node(self) -> str:
        return self.rng.choice(self.nodes)

    def alternatives(self) -> tuple[Alternative, ...]:
        count = min(self.rng.randint(1, self.alternatives_most), len(self.nodes))
        return tuple(self.alternative(scope) for scope in self.rng.sample(self.nodes, count))

    def alternative(self, scope: str) -> Alternative:
        low, high = sorted((self.rng.choice(self.prices), self.rng.choice(self.prices)))
        bid = self.rng.choice((low, high))
        return Alternative(scope, 0 if self.rng.random() < self.at_market else bid, high)

    def order(self) -> tuple[str, int]:
        orders = list(self.sight.open_orders.values())
        if orders and self.rng.random() < self.aimed:
            order = self.rng.choice(orders[-self.rng.choice((1, 2, 8, 100)) :])
            return order.tenant, order.id
        tenant = self.tenant()
        return tenant, self.rng.randint(0, self.sight.orders_placed[tenant] + 1)

    def lease(self) -> tuple[str, int]:
        leases = self.sight.live_leases()
        if leases and self.rng.random() < self.aimed:
            lease = self.rng.choice(leases)
            return lease.tenant, lease.id
        tenant = self.tenant()
        return tenant, self.rng.randint(0, self.sight.leases_started[tenant] + 1)

    # -- commands

    def place(self) -> Command:
        return commands.PlaceOrder(self.tenant(), self.alternatives())

    def amend(self) -> Command:
        """Half the time the same scopes with other prices, so that bids are raised and lowered
        where they rest."""
        name = self.order()
        resting = self.sight.open_orders.get(name)
        if resting is None or self.rng.random() < 0.5:
            return commands.AmendOrder(*name, self.alternatives())
        changed = (
            self.rng.choice((old, self.alternative(old.scope))) for old in resting.alternatives
        )
        return commands.AmendOrder(*name, tuple(changed))

    def cancel(self) -> Command:
        return commands.CancelOrder(*self.order())

    def set_limit(self) -> Command:
        name = self.lease()
        no_limit = self.rng.random() < 0.15
        return commands.SetLimit(*name, None if no_limit else self.rng.choice(self.limits))

    def relinquish(self) -> Command:
        return commands.Relinquish(*self.lease(), self.rng.random() < 0.3)

    def set_floor(self) -> Command:
        node = self.node()
        if self.dear and self.rng.random() < 0.5:
            node = node.split("/")[0]
        no_floor = self.rng.random() < 0.15
        return commands.SetFloor(node, None if no_floor else self.rng.choice(self.floors))

    def set_controls(self) -> Command:
        kept = {kind: self.control(kind) for kind in self.controls if self.rng.random() < 0.8}
        node = self.rng.choice((self.node(), self.node().split("/")[0]))
        return commands.SetControls(node, **kept)

    def control(self, kind: str) -> Any:
        duration_us = self.rng.choice(self.durations_us)
        if kind in ("hold_us", "flash_us"):
            return duration_us
        self.moments.extend(self.now + duration_us * count for count in (1, 2, 3))
        return Band(self.rng.choice(FRACTIONS_PPM), duration_us)

    def take_offline(self) -> Command:
        return commands.TakeOffline(self.rng.choice(self.world.leaves))

    def bring_online(self) -> Command:
        offline = sorted(self.sight.offline)
        aimed = offline and self.rng.random() < self.aimed
        return commands.BringOnline(self.rng.choice(offline if aimed else self.world.leaves))

    def advance(self) -> Command:
        return commands.AdvanceTime()

    def close_books(self) -> Command:
        now, earlier = self.now, max(0, self.now - 10 * self.tick_us)
        return commands.CloseBooks(self.rng.choice((now, now, now // 2, earlier, 0)))


def draw_prices(rng: Random) -> list[int]:
    """A coarse grid, so that ties happen; in units that make bands round, and sometimes with both
    ends of the range."""
    unit = rng.choice((1, 7, 250_000, 1_000_000))
    prices = [unit * multiple for multiple in rng.sample(range(1, 13), rng.randint(3, 6))]
    return prices + [0] * (rng.random() < 0.4) + [PRICE_MAX] * (rng.random() < 0.1)


def draw_history(seed: int, commands: int = 100) -> History:
    draft = Draft(seed)
    return History(seed, draft.world, tuple(draft.step() for _ in range(commands)))
