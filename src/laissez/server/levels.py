"""The owner, rate, limit and floor of every leaf, for the operator's streams.

Streams poll a few times a second, all at the same times. After a command the first one reads the
market; the others share the result. Each sends the rows that changed since its last message, so
nothing queues up. Nothing is shown before it is durable.

Reading a large market takes long, so it happens in pieces with pauses in between: while commands
come in, streams take a twentieth of the event loop and see changes less often.
"""

from __future__ import annotations

import asyncio
from typing import TypeAlias

import msgspec

from laissez.exchange.commands import OPERATOR
from laissez.market.depth import OFFLINE
from laissez.server.background import RESTS, RESTS_LONG, Background
from laissez.server.gateway import Gateway
from laissez.units import format_time
from laissez.wire.books import LevelRow, Levels
from laissez.wire.rendering import optional_price, price

EVERY_S = 0.2
LEAVES_PER_PIECE = 1_024  # read or rendered without a pause: about a millisecond

# owner (an index into `Market.tenants()`, or negative), rate, limit, floor
Level: TypeAlias = tuple[int, int, int | None, int]


class Feed:
    def __init__(self, gateway: Gateway) -> None:
        topology = gateway.exchange.market.topology
        self.every_s = EVERY_S
        self.seen = 0  # the version of the rows, which grows with every change
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
        self._messages: dict[int, bytes] = {}  # the changes since each older version

    def until_next_s(self) -> float:
        """All streams poll at the same times, so that they share one reading."""
        return self.every_s - asyncio.get_running_loop().time() % self.every_s

    async def look_in_turn(self) -> None:
        """Read the market, unless another stream has done so this time."""
        tick = int(asyncio.get_running_loop().time() // self.every_s)
        async with self._looking:
            if tick > self._tick:
                self._tick = tick
                await self._look(RESTS_LONG)

    async def look_now(self) -> None:
        """Read the market for a caller that must see the effect of its own commands."""
        async with self._looking:
            await self._look(RESTS)

    async def _look(self, rests: int) -> None:
        gateway = self._gateway
        gateway.admission.check_journal()
        gateway.end_holds()
        at, n, position = gateway.clock.now(), gateway.latest(OPERATOR), gateway.position
        if position != self._position:
            await self._read(Background(gateway.clock, rests))
            self._position = position
        self._at, self._n = at, n

    async def _read(self, pieces: Background) -> None:
        """Read all leaves and render those that changed, then show the changes all at once."""
        market = self._gateway.exchange.market
        changed: dict[int, Level] = {}
        for first in range(0, len(self._leaves), LEAVES_PER_PIECE):
            view = market.levels(first, first + LEAVES_PER_PIECE)
            levels = zip(view.owners, view.rates, view.limits, view.floors, strict=True)
            changed |= {
                place: level
                for place, level in enumerate(levels, first)
                if level != self._levels[place]
            }
            await pieces.between()
        tenants = market.tenants()  # after the last piece, so that it has every owner
        await self._gateway.all_durable()
        rows = self._rows.copy()
        async for part in pieces.parts(list(changed), LEAVES_PER_PIECE):
            for place in part:
                rows[place] = _row(self._leaves[place], changed[place], tenants)
        if changed:
            self.seen += 1
            self._rows = rows
            self._messages.clear()
            for place, level in changed.items():
                self._levels[place] = level
                self._changed_in[place] = self.seen

    def whole(self) -> Levels:
        return self._message(self._rows)

    def changes(self, seen: int) -> bytes:
        """The changes since an older version, as JSON; encoded once for all streams with that
        version."""
        message = self._messages.get(seen)
        if message is None:
            versions = zip(self._changed_in, self._rows, strict=True)
            rows = [row for changed_in, row in versions if changed_in > seen]
            message = self._messages[seen] = msgspec.json.encode(self._message(rows))
        return message

    def _message(self, rows: list[LevelRow]) -> Levels:
        return Levels(format_time(self._at), self._n, self._names, rows)


def _row(leaf: str, level: Level, tenants: tuple[str, ...]) -> LevelRow:
    owner, rate, limit, floor = level
    holder = tenants[owner] if owner >= 0 else None
    return LevelRow(
        leaf, owner != OFFLINE, holder, price(rate), optional_price(limit), price(floor)
    )
