"""Every leaf's owner, rate, limit and floor, for all who follow them.

Followers poll a few times a second, all at the same times. The first to come looks at the market,
if anything has happened; the others share what it saw. Each is told what differs from what it was
told last, so nothing waits in a queue. Nothing is shown before it is durable.
"""

from __future__ import annotations

import asyncio
from typing import TypeAlias

import msgspec

from laissez.exchange.commands import OPERATOR
from laissez.market.depth import OFFLINE
from laissez.server.gateway import Gateway
from laissez.units import format_time
from laissez.wire.books import LevelRow, Levels
from laissez.wire.rendering import optional_price, price

EVERY_S = 0.2
LEAVES_PER_TURN = 2_048  # read or rendered before other work has its turn: about a millisecond

# owner (a place in `Market.tenants()`, or negative), rate, limit, floor
Level: TypeAlias = tuple[int, int, int | None, int]


class Feed:
    def __init__(self, gateway: Gateway) -> None:
        topology = gateway.exchange.market.topology
        self.every_s = EVERY_S
        self.seen = 0  # the version of what is shown; grows with every difference
        self._gateway = gateway
        self._leaves = topology.leaves
        self._names = {root: topology.level_names(root) or None for root in topology.roots}
        self._looking = asyncio.Lock()
        self._tick = -1
        self._position = -1  # of the journal at the last look
        self._at = 0
        self._n = 0
        self._levels: list[Level | None] = [None] * len(self._leaves)
        self._rows: list[LevelRow] = [
            LevelRow(leaf, True, None, "", None, "") for leaf in self._leaves
        ]
        self._changed_in = [0] * len(self._leaves)  # the last version in which each leaf changed
        self._messages: dict[int, bytes] = {}  # what differs from each older version

    def until_next_s(self) -> float:
        """Everybody comes at the same times, so that one look is enough."""
        return self.every_s - asyncio.get_running_loop().time() % self.every_s

    async def look_in_turn(self) -> None:
        """Look, unless another follower has done so in this turn."""
        tick = int(asyncio.get_running_loop().time() // self.every_s)
        async with self._looking:
            if tick > self._tick:
                self._tick = tick
                await self._look()

    async def look_now(self) -> None:
        """For a caller that must see the effect of its own commands."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        gateway, market = self._gateway, self._gateway.exchange.market
        gateway.admission.check_journal()
        gateway.end_holds()
        at, n, position = gateway.clock.now(), gateway.latest(OPERATOR), gateway.position
        if position != self._position:
            found: list[Level] = []
            for first in range(0, len(self._leaves), LEAVES_PER_TURN):
                view = market.levels(first, first + LEAVES_PER_TURN)
                found += zip(view.owners, view.rates, view.limits, view.floors, strict=True)
                await asyncio.sleep(0)
            tenants = market.tenants()  # after the last part, so that every owner is among them
            await gateway.all_durable()
            await self._show(found, tenants)
            self._position = position
        self._at, self._n = at, n

    async def _show(self, found: list[Level], tenants: tuple[str, ...]) -> None:
        """Render what is different, then show it at one instant."""
        rows, changed = self._rows.copy(), []
        for place, level in enumerate(found):
            if level != self._levels[place]:
                rows[place] = _row(self._leaves[place], level, tenants)
                changed.append(place)
            if place % LEAVES_PER_TURN == 0:
                await asyncio.sleep(0)
        if changed:
            self.seen += 1
            for place in changed:
                self._changed_in[place] = self.seen
            self._levels[:] = found
            self._rows = rows
            self._messages.clear()

    def whole(self) -> Levels:
        return self._told(self._rows)

    def changes(self, seen: int) -> bytes:
        """What differs from an older version, as JSON; made once for all who have seen that one."""
        message = self._messages.get(seen)
        if message is None:
            versions = zip(self._changed_in, self._rows, strict=True)
            rows = [row for changed_in, row in versions if changed_in > seen]
            message = self._messages[seen] = msgspec.json.encode(self._told(rows))
        return message

    def _told(self, rows: list[LevelRow]) -> Levels:
        return Levels(format_time(self._at), self._n, self._names, rows)


def _row(leaf: str, level: Level, tenants: tuple[str, ...]) -> LevelRow:
    owner, rate, limit, floor = level
    holder = tenants[owner] if owner >= 0 else None
    return LevelRow(
        leaf, owner != OFFLINE, holder, price(rate), optional_price(limit), price(floor)
    )
